//! A table of text for people: columns aligned by the width characters take on a terminal, numbers to the right.

use unicode_width::UnicodeWidthStr;

use super::outcome::printable;

/// Wider cells are cut, so that one long text does not push the rest out of sight.
const CELL_WIDTH_MAX: usize = 72;

/// The lines of the table, each ended by a line feed. Rows shorter than `header` are filled with nothing.
pub(super) fn aligned(header: &[&str], rows: &[Vec<String>]) -> String {
    lines(header, rows, header.len())
}

/// As `aligned`, but the last column, a sentence to be read to its end, is not cut.
pub(super) fn aligned_to_the_end(header: &[&str], rows: &[Vec<String>]) -> String {
    lines(header, rows, header.len().saturating_sub(1))
}

/// As `aligned_to_the_end`, followed by an empty line; nothing without rows.
pub(super) fn section(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    if rows.is_empty() { String::new() } else { aligned_to_the_end(header, &rows) + "\n" }
}

/// The table with its first `cut_columns` columns cut to the width.
fn lines(header: &[&str], rows: &[Vec<String>], cut_columns: usize) -> String {
    let shown = |(i, cell): (usize, &String)| if i < cut_columns { cut(&printable(cell)) } else { printable(cell) };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().enumerate().map(shown).collect()).collect();
    let cell = |row: &[String], column: usize| row.get(column).map_or("", String::as_str).to_owned();
    let column = |i: usize| rows.iter().map(move |row| row.get(i).map_or("", String::as_str));
    let widths: Vec<usize> =
        header.iter().enumerate().map(|(i, name)| column(i).map(UnicodeWidthStr::width).max().unwrap_or(0).max(name.width())).collect();
    let numbers: Vec<bool> = (0..header.len()).map(|i| is_numbers(column(i))).collect();
    let line = |cells: &dyn Fn(usize) -> String| {
        let mut line = String::new();
        for (i, (&width, &right)) in widths.iter().zip(&numbers).enumerate() {
            let text = cells(i);
            let space = " ".repeat(width - text.width().min(width));
            let (before, after) = if right { (space.as_str(), "") } else { ("", space.as_str()) };
            if i > 0 {
                line.push_str("  ");
            }
            line.extend([before, &text, after]);
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    };
    let mut text = line(&|i| header[i].to_owned());
    for row in &rows {
        text.push_str(&line(&|i| cell(row, i)));
    }
    text
}

/// Whether every cell that is not empty is a number.
fn is_numbers<'a>(mut cells: impl Iterator<Item = &'a str> + Clone) -> bool {
    cells.clone().any(|cell| !cell.is_empty()) && cells.all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok())
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
        let rows = [vec!["漢字".to_owned(), "7".to_owned()], vec!["a".to_owned(), "1000.5".to_owned(), "x\x07".to_owned()]];
        assert_eq!(aligned(&["name", "n", "note"], &rows), "name       n  note\n漢字       7\na     1000.5  x\u{fffd}\n");
    }

    #[test]
    fn long_cells_are_cut_but_for_a_last_sentence() {
        let text = aligned(&["c"], &[vec!["é".repeat(500)]]);
        assert_eq!(text.lines().nth(1).map(UnicodeWidthStr::width), Some(CELL_WIDTH_MAX));
        let long = "é".repeat(500);
        let text = aligned_to_the_end(&["c", "why"], &[vec![long.clone(), long.clone()]]);
        assert_eq!(text.lines().nth(1).map(UnicodeWidthStr::width), Some(CELL_WIDTH_MAX + 2 + 500));
    }
}
