//! Finds where the table in delimited text starts, and whether it has a header row.

use std::collections::{HashMap, HashSet};

use super::super::evidence::{CellKind, kind, kind_of};

/// The layout of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLayout {
    /// Lines before the first data row.
    pub skip: usize,
    pub names: Vec<String>,
    /// Whether the file names its columns; otherwise they are numbered.
    pub named: bool,
    /// Index of the first data row among the rows.
    pub first: usize,
    /// Texts of the lines before the header.
    pub preamble: Vec<String>,
}

/// A row with its line number, counting from 0.
pub(crate) type NumberedRow = (usize, Vec<String>);

/// Maximum number of lines inspected.
const LOOKED: usize = 60;

/// Detects the layout of the rows; `None` without rows.
pub(crate) fn text_layout(rows: &[NumberedRow]) -> Option<TextLayout> {
    let width = mode(rows)?;
    let begin = rows.iter().position(|(_, row)| row.len() == width)?;
    if let Some(laid) = yfinance(rows) {
        return Some(laid);
    }
    let preamble = |to: usize| rows[..to].iter().flat_map(|(_, row)| row.iter().filter(|cell| !cell.is_empty()).cloned()).collect();
    // The header lacks a name for the first column, or the rows end with a delimiter.
    if let Some(before) = begin.checked_sub(1)
        && rows[before].1.len() + 1 == width
        && width > 2
        && rows[before].1.iter().all(|cell| kind_of(cell) == CellKind::Text)
    {
        let mut names = rows[before].1.clone();
        let empty_end = rows[begin..].iter().take(LOOKED).all(|(_, row)| row.last().is_none_or(String::is_empty));
        names.insert(if empty_end { names.len() } else { 0 }, String::new());
        return Some(TextLayout { skip: rows[begin].0, names: unique(&names), named: true, first: begin, preamble: preamble(before) });
    }
    let head = &rows[begin].1;
    let data: Vec<&Vec<String>> = rows[begin + 1..].iter().map(|(_, row)| row).filter(|row| row.len() == width).take(LOOKED).collect();
    let counted = head.iter().skip_while(|cell| cell.is_empty()).enumerate().all(|(i, cell)| *cell == i.to_string()) && width > 2;
    let (mut header, mut headless) = (0, 0);
    for (i, cell) in head.iter().enumerate() {
        let below = kind(data.iter().filter_map(|row| row.get(i)).map(String::as_str));
        if matches!(below, CellKind::Text | CellKind::Empty) {
            continue;
        }
        match kind_of(cell) {
            same if same == below => headless += 1,
            CellKind::Text => header += 2,
            _ => {}
        }
    }
    let numbers = head.iter().filter(|cell| kind_of(cell) == CellKind::Number).count();
    let named = if data.is_empty() { numbers * 2 < width } else { header > 0 || headless == 0 };
    let numbered = || (1..=width).map(|i| i.to_string()).collect();
    if named && !counted {
        let skip = rows.get(begin + 1).map_or(rows[begin].0 + 1, |(line, _)| *line);
        return Some(TextLayout { skip, names: unique(head), named: true, first: begin + 1, preamble: preamble(begin) });
    }
    let first = if counted { begin + 1 } else { begin };
    let skip = rows.get(first).map_or(rows[begin].0 + 1, |(line, _)| *line);
    Some(TextLayout { skip, names: numbered(), named: false, first, preamble: preamble(begin) })
}

/// The most frequent number of cells per row.
fn mode(rows: &[NumberedRow]) -> Option<usize> {
    let mut widths: Vec<usize> = rows.iter().take(500).map(|(_, row)| row.len()).collect();
    widths.sort_unstable();
    widths.chunk_by(|a, b| a == b).max_by_key(|same| (same.len(), same[0])).map(|same| same[0])
}

/// yfinance writes three header lines: price names, tickers, and the name of the index.
fn yfinance(rows: &[NumberedRow]) -> Option<TextLayout> {
    let [(_, first), (_, second), rest @ ..] = rows else { return None };
    let starts = |row: &[String], word: &str| row.first().is_some_and(|cell| cell.eq_ignore_ascii_case(word));
    if !(starts(first, "price") || starts(first, "")) || !(starts(second, "ticker") || starts(second, "")) || first.len() != second.len() {
        return None;
    }
    let index = rest.first().filter(|(_, row)| row.iter().skip(1).all(String::is_empty))?;
    let tickers: Vec<&String> = second.iter().skip(1).collect();
    if tickers.is_empty() || tickers.iter().any(|ticker| *ticker != tickers[0]) || rest.len() < 2 {
        return None;
    }
    let names: Vec<String> = std::iter::once(index.1[0].clone()).chain(first.iter().skip(1).cloned()).collect();
    Some(TextLayout {
        skip: rest[1].0,
        names: unique(&names),
        named: true,
        first: 3,
        preamble: vec!["yfinance".to_owned(), tickers[0].clone()],
    })
}

/// Makes names unique: a second `From` becomes `From (2)`.
fn unique(names: &[String]) -> Vec<String> {
    let mut known: HashSet<String> = HashSet::with_capacity(names.len());
    // Where counting goes on: of thousands of equal names each would else be compared with all before it.
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut unique = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        let name = match name.trim_start_matches('\u{feff}').trim() {
            "" => format!("column {}", i + 1),
            name => name.to_owned(),
        };
        let count = counts.entry(name.clone()).or_insert(1);
        let mut one = name.clone();
        while !known.insert(one.clone()) {
            *count += 1;
            one = format!("{name} ({count})");
        }
        unique.push(one);
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered_in_time_that_grows_with_their_number() {
        let names = |names: &[&str]| unique(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["x", "x (2)", "x", "x", ""]), ["x", "x (2)", "x (3)", "x (4)", "column 5"]);
        let many = unique(&vec!["x".to_owned(); 200_000]);
        assert_eq!((many.len(), many[199_999].as_str()), (200_000, "x (200000)"));
    }

    fn rows(text: &str) -> Vec<NumberedRow> {
        text.lines().enumerate().map(|(i, line)| (i, line.split(',').map(str::to_owned).collect())).collect()
    }

    #[test]
    fn the_header_is_told_from_data_and_from_what_stands_before() {
        for (text, skip, named, names) in [
            ("a,b\n1,x\n2,y", 1, true, &["a", "b"][..]),
            ("1,2.5\n2,3.5", 0, false, &["1", "2"]),
            ("https://www.example.com\nunix,close\n1,2\n3,4", 2, true, &["unix", "close"]),
            (",0,1,2\n0,5,6,7\n1,8,9,1", 1, false, &["1", "2", "3", "4"]),
            ("0,1,2\n5,6,7\n8,9,1", 1, false, &["1", "2", "3"]),
            ("open,close\n7,1,2\n8,3,4", 1, true, &["column 1", "open", "close"]),
            ("0x1111111111111111111111111111111111111111,5\n0x2111111111111111111111111111111111111111,6", 0, false, &["1", "2"]),
            ("name,name\nx,y\nz,w", 1, true, &["name", "name (2)"]),
            ("Price,Close,Open\nTicker,BTC-USD,BTC-USD\nDate,,\n2024-01-01,5,6\n2024-01-02,5,6", 3, true, &["Date", "Close", "Open"]),
        ] {
            let laid = text_layout(&rows(text)).unwrap();
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!((laid.skip, laid.named, &laid.names), (skip, named, &names), "{text}");
        }
    }
}
