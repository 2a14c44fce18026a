//! Text tables: columns aligned by terminal width, numbers to the right.

use unicode_width::UnicodeWidthStr;

use super::outcome::printable;

/// Maximum cell width: wider cells are truncated, so that one long text does not push the rest out of sight.
const CELL_WIDTH_MAX: usize = 72;

/// Renders the table, one line feed per line. Rows shorter than `header` are padded.
pub(super) fn aligned(header: &[&str], rows: &[Vec<String>]) -> String {
    lines(header, rows, header.len())
}

/// Like `aligned`, without truncating the last column, a sentence to be read in full.
pub(super) fn aligned_to_the_end(header: &[&str], rows: &[Vec<String>]) -> String {
    lines(header, rows, header.len().saturating_sub(1))
}

/// Like `aligned_to_the_end`, followed by an empty line; empty without rows.
pub(super) fn section(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    if rows.is_empty() {
        String::new()
    } else {
        aligned_to_the_end(header, &rows) + "\n"
    }
}

/// Renders the table with its first `cut_columns` columns truncated.
fn lines(header: &[&str], rows: &[Vec<String>], cut_columns: usize) -> String {
    let shown = |(i, cell): (usize, &String)| {
        if i < cut_columns {
            cut(&printable(cell))
        } else {
            printable(cell)
        }
    };
    let mut lines: Vec<Vec<String>> = vec![header.iter().map(ToString::to_string).collect()];
    lines.extend(
        rows.iter()
            .map(|row| row.iter().enumerate().map(shown).collect()),
    );
    let cell = |line: usize, column: usize| lines[line].get(column).map_or("", String::as_str);
    let column = |column: usize| (0..lines.len()).map(move |line| cell(line, column));
    let widths: Vec<usize> = (0..header.len())
        .map(|i| column(i).map(UnicodeWidthStr::width).max().unwrap_or(0))
        .collect();
    let numbers: Vec<bool> = (0..header.len())
        .map(|i| is_numbers(column(i).skip(1)))
        .collect();
    let mut text = String::new();
    for line in 0..lines.len() {
        let start = text.len();
        for (i, (width, is_number)) in widths.iter().zip(&numbers).enumerate() {
            let space = " ".repeat(width - cell(line, i).width());
            text.push_str(if i == 0 { "" } else { "  " });
            text.extend(if *is_number {
                [&space, cell(line, i)]
            } else {
                [cell(line, i), &space]
            });
        }
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    }
    text
}

/// Whether every non-empty cell is a number, and there is one.
fn is_numbers<'a>(mut cells: impl Iterator<Item = &'a str> + Clone) -> bool {
    cells.clone().any(|cell| !cell.is_empty())
        && cells.all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok())
}

fn cut(text: &str) -> String {
    if text.width() <= CELL_WIDTH_MAX {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        if cut.width() + UnicodeWidthStr::width(c.encode_utf8(&mut [0; 4])) >= CELL_WIDTH_MAX {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_the_width_of_their_characters() {
        let rows = [
            vec!["漢字".to_owned(), "7".to_owned()],
            vec!["a".to_owned(), "1000.5".to_owned(), "x\x07".to_owned()],
        ];
        assert_eq!(
            aligned(&["name", "n", "note"], &rows),
            "name       n  note\n漢字       7\na     1000.5  x\u{fffd}\n"
        );
    }

    #[test]
    fn long_cells_are_cut_but_for_a_last_sentence() {
        let text = aligned(&["c"], &[vec!["é".repeat(500)]]);
        assert_eq!(
            text.lines().nth(1).map(UnicodeWidthStr::width),
            Some(CELL_WIDTH_MAX)
        );
        let long = "é".repeat(500);
        let text = aligned_to_the_end(&["c", "why"], &[vec![long.clone(), long.clone()]]);
        assert_eq!(
            text.lines().nth(1).map(UnicodeWidthStr::width),
            Some(CELL_WIDTH_MAX + 2 + 500)
        );
    }
}
