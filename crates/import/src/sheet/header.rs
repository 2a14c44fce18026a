//! Finds where the table in delimited text starts, and whether it has a header row.

use std::collections::{HashMap, HashSet};

use super::super::{
    evidence::{CellKind, kind, kind_of},
    names::{is_one_of, plain},
    pair,
};

/// The layout of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// The tickers whose prices are side by side, each after the names of its columns.
    pub tickers: Vec<String>,
    /// Whether the row below the header names types.
    pub types: bool,
    /// Whether the first two cells of a row are one date, with the delimiter in it and no quotes around it.
    pub joins_first: bool,
}

impl TextLayout {
    /// The row with its date in one cell.
    pub(crate) fn joined(&self, mut row: Vec<String>) -> Vec<String> {
        if self.joins_first && row.len() == self.names.len() + 1 {
            let second = row.remove(1);
            row[0] = format!("{}, {second}", row[0]);
        }
        row
    }
}

/// A row with its line number, counting from 0.
pub(crate) type NumberedRow = (usize, Vec<String>);

/// Maximum number of columns that are looked for in groups.
const GROUPED_MAX: usize = 200;

/// Maximum number of lines inspected.
const LOOKED: usize = 60;

/// Detects the layout of the rows; `None` without rows.
pub(crate) fn text_layout(rows: &[NumberedRow]) -> Option<TextLayout> {
    let width = mode(rows)?;
    let titles = titles(rows);
    let begin = rows
        .iter()
        .skip(titles)
        .position(|(_, row)| row.len() == width)?
        + titles;
    if let Some(laid) = yfinance(rows) {
        return Some(laid);
    }
    let preamble = |to: usize| {
        rows[..to]
            .iter()
            .flat_map(|(_, row)| row.iter().filter(|cell| !cell.is_empty()).cloned())
            .collect()
    };
    // The header lacks a name for the first column, or the rows end with a delimiter.
    if let Some(before) = begin.checked_sub(1)
        && rows[before].1.len() + 1 == width
        && width > 2
        && rows[before]
            .1
            .iter()
            .all(|cell| kind_of(cell) == CellKind::Text)
    {
        let mut names = rows[before].1.clone();
        let data: Vec<&Vec<String>> = rows[begin..]
            .iter()
            .map(|(_, row)| row)
            .filter(|row| row.len() == width)
            .take(LOOKED)
            .collect();
        let joins_first = !data.is_empty() && data.iter().all(|row| is_split_date(row));
        let empty_end = data
            .iter()
            .all(|row| row.last().is_none_or(String::is_empty));
        if !joins_first {
            let at_end = empty_end || fit(&names, &data, 0) > fit(&names, &data, 1);
            names.insert(if at_end { names.len() } else { 0 }, String::new());
        }
        return Some(TextLayout {
            joins_first,
            skip: rows[begin].0,
            names: unique(&names),
            named: true,
            first: begin,
            preamble: preamble(before),
            ..TextLayout::default()
        });
    }
    let head = &rows[begin].1;
    let types = rows
        .get(begin + 1)
        .is_some_and(|(_, row)| row.len() > 1 && row.iter().all(|cell| is_type(cell)));
    let below = begin + 1 + usize::from(types);
    let data: Vec<&Vec<String>> = rows[below..]
        .iter()
        .map(|(_, row)| row)
        .filter(|row| row.len() == width)
        .take(LOOKED)
        .collect();
    let counted = head
        .iter()
        .skip_while(|cell| cell.is_empty())
        .enumerate()
        .all(|(i, cell)| *cell == i.to_string())
        && width > 2;
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
    let numbers = head
        .iter()
        .filter(|cell| kind_of(cell) == CellKind::Number)
        .count();
    let named = types
        || if data.is_empty() {
            numbers * 2 < width
        } else {
            header > 0 || headless == 0
        };
    let numbered = || (1..=width).map(|i| i.to_string()).collect();
    if named && !counted {
        let skip = rows
            .get(below)
            .map_or(rows[below - 1].0 + 1, |(line, _)| *line);
        let above = begin
            .checked_sub(1)
            .filter(|&at| at < titles && rows[at].0 + 1 == rows[begin].0)
            .map(|at| &rows[at].1);
        let (names, tickers) = above.map_or_else(
            || (head.clone(), Vec::new()),
            |groups| in_groups(groups, head),
        );
        return Some(TextLayout {
            skip,
            names: unique(&names),
            tickers,
            named: true,
            first: below,
            preamble: preamble(begin),
            types,
            ..TextLayout::default()
        });
    }
    let first = if counted { begin + 1 } else { begin };
    let skip = rows.get(first).map_or(rows[begin].0 + 1, |(line, _)| *line);
    Some(TextLayout {
        skip,
        names: numbered(),
        named: false,
        first,
        preamble: preamble(begin),
        ..TextLayout::default()
    })
}

/// Whether the first two cells are halves of a date: `Jan 19` and `2018`.
fn is_split_date(row: &[String]) -> bool {
    let [first, second, ..] = row else {
        return false;
    };
    kind_of(first) == CellKind::Text
        && kind_of(second) == CellKind::Number
        && kind_of(&format!("{first}, {}", second.trim())) == CellKind::Time
}

/// How well the names fit the cells, if the first name is that of the column `from`: by times, numbers and the order of prices.
fn fit(names: &[String], rows: &[&Vec<String>], from: usize) -> i32 {
    const TIMES: &str = "date time timestamp datetime opentime unix unixtime day";
    const NUMBERS: &str = "open high low close volume price balance amount value";
    let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let cells = |at: usize| {
        rows.iter()
            .filter_map(move |row| row.get(at + from))
            .map(String::as_str)
    };
    let is_time = |cell: &str| {
        let number = cell.parse::<f64>().unwrap_or_default();
        kind_of(cell) == CellKind::Time || number > 1e8 || (1.9e7..2.2e7).contains(&number)
    };
    let one = |(at, name): (usize, &String)| {
        let good = match () {
            () if is_one_of(name, TIMES) => cells(at).all(is_time),
            () if is_one_of(name, NUMBERS) => kind(cells(at)) == CellKind::Number,
            () => return 0,
        };
        if good { 1 } else { -1 }
    };
    let of = |name: &str| names.iter().position(|known| known == name);
    let prices = || {
        let places = [of("open")?, of("high")?, of("low")?, of("close")?];
        let figures = |row: &&Vec<String>| {
            places.map(|at| {
                row.get(at + from)
                    .and_then(|cell| cell.parse::<f64>().ok())
                    .unwrap_or(f64::NAN)
            })
        };
        let good = rows.iter().filter(|row| {
            let [open, high, low, close] = figures(row);
            high >= open.max(close) && low <= open.min(close) && low > 0.0
        });
        Some(if good.count() * 10 >= rows.len() * 9 {
            2
        } else {
            -2
        })
    };
    names.iter().enumerate().map(one).sum::<i32>() + prices().unwrap_or_default()
}

/// The names below those of groups, and the groups if they are several series of prices with the same names. A name takes its group where it
/// is not enough on its own: an empty one below the name of a single column, currencies of volumes, names of several groups, and those in a
/// group of prices in a currency.
fn in_groups(groups: &[String], head: &[String]) -> (Vec<String>, Vec<String>) {
    let filled = groups.iter().filter(|group| !group.is_empty()).count();
    let is_comment = groups
        .first()
        .is_some_and(|first| first.starts_with(['#', ';']));
    if filled < 2 || head.len() > GROUPED_MAX || is_comment {
        return (head.to_vec(), Vec::new());
    }
    let mut group = "";
    let all: Vec<(&str, &str, &str)> = (groups
        .iter()
        .map(String::as_str)
        .chain(std::iter::repeat(""))
        .zip(head))
    .map(|(above, name)| {
        group = if above.is_empty() { group } else { above };
        (above, group, name.as_str())
    })
    .collect();
    let of = |wanted: &str| -> Vec<&str> {
        all.iter()
            .filter(|(_, group, _)| *group == wanted)
            .map(|(.., name)| *name)
            .collect()
    };
    let is_of_prices = |group: &str| {
        of(group)
            .iter()
            .any(|name| is_one_of(&plain(name), "open close price"))
    };
    let mut several: Vec<String> = groups
        .iter()
        .filter(|group| !group.is_empty() && of(group).len() > 1 && is_of_prices(group))
        .cloned()
        .collect();
    several.dedup();
    let are_series = several.len() > 1 && several.iter().all(|group| of(group) == of(&several[0]));
    let currency = |group: &str| {
        let words: Vec<String> = group
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_uppercase)
            .collect();
        words
            .last()
            .filter(|last| words.len() > 1 && pair::is_money(last) && !pair::is_dollar(last))
            .cloned()
    };
    let name = |(above, group, name): &(&str, &str, &str)| match () {
        // A row of a key and its value names no column, unless it is that of times.
        () if name.is_empty()
            && (filled > 2
                || is_one_of(&plain(above), "date time datetime timestamp day datum")) =>
        {
            (*above).to_owned()
        }
        () if all
            .iter()
            .any(|(_, other, known)| known == name && other != group) =>
        {
            format!("{name} {group}")
        }
        () if plain(group).starts_with("vol") && pair::is_quote(&name.to_uppercase()) => {
            format!("{group} {name}")
        }
        () => currency(group).filter(|_| !name.is_empty()).map_or_else(
            || (*name).to_owned(),
            |currency| format!("{name} {currency}"),
        ),
    };
    (
        all.iter().map(name).collect(),
        if are_series { several } else { Vec::new() },
    )
}

/// Number of rows above the header: in a workbook, and in the CSV that it is saved as, titles are as wide as the table. Half of their cells
/// are empty, or they name groups of the columns below, and have gaps.
fn titles(rows: &[NumberedRow]) -> usize {
    let filled = |row: &Vec<String>| row.iter().filter(|cell| !cell.is_empty()).count();
    let Some(full) = most_frequent(rows, |row| {
        row.iter().filter(|cell| !cell.is_empty()).count()
    }) else {
        return 0;
    };
    let is_header = |at: usize| {
        let texts = |row: &Vec<String>| {
            row.iter()
                .all(|cell| matches!(kind_of(cell), CellKind::Text | CellKind::Empty))
        };
        rows.get(at)
            .is_some_and(|(_, row)| filled(row) * 2 > full && texts(row))
    };
    let is_title = |at: usize| {
        let row = &rows[at].1;
        let names_groups = || {
            let gaps = row.iter().skip(1).any(String::is_empty)
                && row.first().is_some_and(|cell| !cell.is_empty());
            let repeats = row
                .windows(2)
                .any(|two| two[0] == two[1] && !two[0].is_empty());
            let both = |below: &Vec<String>| {
                row.iter()
                    .zip(below)
                    .filter(|(above, name)| !above.is_empty() || !name.is_empty())
                    .count()
            };
            // A row of texts may be the first below a header in which a name stands twice.
            let below = at + 2..at + if gaps { 3 } else { 6 };
            (gaps || repeats)
                && is_header(at)
                && is_header(at + 1)
                && both(&rows[at + 1].1) >= full
                && !below.into_iter().any(is_header)
        };
        filled(row) * 2 <= full && (full > 2 || row.first().is_some_and(|cell| !cell.is_empty()))
            || names_groups()
    };
    // Without a header below them they are rows.
    (0..rows.len().min(LOOKED))
        .find(|&at| !is_title(at))
        .filter(|&at| is_header(at))
        .unwrap_or(0)
}

/// Whether a cell is a type of databases, as `Nullable(UInt256)` and `decimal(38, 18)`.
fn is_type(cell: &str) -> bool {
    const TYPES: &str = "string text varchar char bool boolean date datetime timestamp timestamptz time uuid int integer uint bigint \
                         smallint tinyint long short float double real numeric decimal number nullable lowcardinality fixedstring enum array map \
                         tuple bytes binary varbinary object json address";
    let word = cell
        .trim()
        .split(['(', '<', '[', ' '])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    TYPES.split_whitespace().any(|known| known == word)
}

/// The most frequent number of cells per row.
fn mode(rows: &[NumberedRow]) -> Option<usize> {
    most_frequent(rows, std::vec::Vec::len)
}

fn most_frequent(rows: &[NumberedRow], count: fn(&Vec<String>) -> usize) -> Option<usize> {
    let mut widths: Vec<usize> = rows.iter().take(500).map(|(_, row)| count(row)).collect();
    widths.sort_unstable();
    widths
        .chunk_by(|a, b| a == b)
        .max_by_key(|same| (same.len(), same[0]))
        .map(|same| same[0])
}

/// yfinance writes two header lines, price names and tickers in either order, and mostly a third with the name of the index. With several
/// tickers, each stands behind the names of its columns.
fn yfinance(rows: &[NumberedRow]) -> Option<TextLayout> {
    const PRICES: &[&str] = &[
        "open",
        "high",
        "low",
        "close",
        "adj close",
        "volume",
        "dividends",
        "stock splits",
        "capital gains",
    ];
    let [(_, first), (_, second), rest @ ..] = rows else {
        return None;
    };
    let starts = |row: &[String], word: &str| {
        row.first()
            .is_some_and(|cell| cell.is_empty() || cell.eq_ignore_ascii_case(word))
    };
    let are_prices = |row: &[String]| {
        row.len() > 1
            && row[1..]
                .iter()
                .all(|cell| PRICES.contains(&cell.to_lowercase().as_str()))
    };
    let (prices, tickers) = if are_prices(first) {
        (first, second)
    } else {
        (second, first)
    };
    let index = rest
        .first()
        .filter(|(_, row)| row.iter().skip(1).all(String::is_empty));
    let begins = starts(prices, "price") && starts(tickers, "ticker")
        || index.is_none() && starts(second, "ticker");
    if !begins
        || !are_prices(prices)
        || prices.len() != tickers.len()
        || tickers[1..]
            .iter()
            .any(|cell| kind_of(cell) != CellKind::Text)
    {
        return None;
    }
    let mut known: Vec<String> = tickers[1..].to_vec();
    known.sort_unstable();
    known.dedup();
    let several = known.len() > 1;
    let name = |(price, ticker): (&String, &String)| {
        if several {
            format!("{price} {ticker}")
        } else {
            price.clone()
        }
    };
    let index_name = index.map_or(&first[0], |(_, row)| &row[0]).clone();
    let names: Vec<String> = std::iter::once(index_name)
        .chain(prices.iter().zip(tickers).skip(1).map(name))
        .collect();
    let above = 2 + usize::from(index.is_some());
    let mut preamble = vec!["yfinance".to_owned()];
    preamble.extend(known.first().filter(|_| !several).cloned());
    let tickers = if several { known } else { Vec::new() };
    Some(TextLayout {
        skip: rows.get(above)?.0,
        names: unique(&names),
        named: true,
        first: above,
        preamble,
        tickers,
        ..TextLayout::default()
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
        let names = |names: &[&str]| {
            unique(
                &names
                    .iter()
                    .map(|&name| name.to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            names(&["x", "x (2)", "x", "x", ""]),
            ["x", "x (2)", "x (3)", "x (4)", "column 5"]
        );
        let many = unique(&vec!["x".to_owned(); 200_000]);
        assert_eq!(
            (many.len(), many[199_999].as_str()),
            (200_000, "x (200000)")
        );
    }

    fn rows(text: &str) -> Vec<NumberedRow> {
        text.lines()
            .enumerate()
            .map(|(i, line)| (i, line.split(',').map(str::to_owned).collect()))
            .collect()
    }

    #[test]
    fn the_header_is_told_from_data_and_from_what_stands_before() {
        for (text, skip, named, names) in [
            ("a,b\n1,x\n2,y", 1, true, &["a", "b"][..]),
            ("1,2.5\n2,3.5", 0, false, &["1", "2"]),
            (
                "https://www.example.com\nunix,close\n1,2\n3,4",
                2,
                true,
                &["unix", "close"],
            ),
            (",0,1,2\n0,5,6,7\n1,8,9,1", 1, false, &["1", "2", "3", "4"]),
            ("0,1,2\n5,6,7\n8,9,1", 1, false, &["1", "2", "3"]),
            (
                "open,close\n7,1,2\n8,3,4",
                1,
                true,
                &["column 1", "open", "close"],
            ),
            // The name of the last column is missing, or that of an index.
            (
                "date,open,note\n2024-01-01,5,x,1\n2024-01-02,6,y,1",
                1,
                true,
                &["date", "open", "note", "column 4"],
            ),
            (
                "open,high,low,close\n2024-01-01,5,6,4,5\n2024-01-02,5,6,4,5",
                1,
                true,
                &["column 1", "open", "high", "low", "close"],
            ),
            (
                "open,high,low,close\n5,6,4,5,90\n5,6,4,5,80",
                1,
                true,
                &["open", "high", "low", "close", "column 5"],
            ),
            // A date with a comma and no quotes.
            (
                "Date,Price\nJan 19, 2018,5\nJan 20, 2018,6",
                1,
                true,
                &["Date", "Price"],
            ),
            (
                "0x1111111111111111111111111111111111111111,5\n0x2111111111111111111111111111111111111111,6",
                0,
                false,
                &["1", "2"],
            ),
            ("name,name\nx,y\nz,w", 1, true, &["name", "name (2)"]),
            (
                "Price,Close,High,Low,Open\nTicker,BTC-USD,BTC-USD,BTC-USD,BTC-USD\nDate,,,,\n2024-01-01,5,6,4,5\n2024-01-02,5,6,4,5",
                3,
                true,
                &["Date", "Close", "High", "Low", "Open"],
            ),
            (
                "Ticker,A,A,B,B\nPrice,Open,Close,Open,Close\nDate,,,,\n2024-01-01,5,6,7,8",
                3,
                true,
                &["Date", "Open A", "Close A", "Open B", "Close B"],
            ),
            (
                "Date,Close,Close,Open,Open\n,A,B,A,B\n2024-01-01,5,6,7,8",
                2,
                true,
                &["Date", "Close A", "Close B", "Open A", "Open B"],
            ),
            // Titles as wide as the table, as a workbook has them, and names of groups of columns.
            ("Mine,,\na,b,c\n1,2,3\n4,5,6", 2, true, &["a", "b", "c"]),
            (
                "Mine,,,\nOf,PEPE,,\na,b,c,d\n1,2,3,\n4,5,6,",
                3,
                true,
                &["a", "b", "c", "d"],
            ),
            (
                "Mine,,,\nTime,Price,,More\na,b,c,d\n1,2,3,4\n4,5,6,7",
                3,
                true,
                &["a", "b", "c", "d"],
            ),
            (
                "Date,Price (USD),,,,Volume,\n,Open,High,Low,Close,BTC,USD\n2024-01-01,4,6,3,5,9,45\n2024-01-02,5,6,4,5,9,45",
                2,
                true,
                &[
                    "Date",
                    "Open",
                    "High",
                    "Low",
                    "Close",
                    "Volume BTC",
                    "Volume USD",
                ],
            ),
            (
                "Date,Price,Price,Price,Price,Volume\n,Open,High,Low,Close,BTC\n2024-01-01,4,6,3,5,9\n2024-01-02,5,6,4,5,9",
                2,
                true,
                &["Date", "Open", "High", "Low", "Close", "Volume BTC"],
            ),
            (
                "Day,Kurs (EUR),\n,Open,Close\n2024-01-01,4,5\n2024-01-02,5,5",
                2,
                true,
                &["Day", "Open EUR", "Close EUR"],
            ),
            (
                ",BTC,,ETH,\nDate,Open,Close,Open,Close\n2024-01-01,5,6,7,8\n2024-01-02,5,6,7,8",
                2,
                true,
                &["Date", "Open BTC", "Close BTC", "Open ETH", "Close ETH"],
            ),
            (
                "Mine,,,\n,Open,High,Close\n2024-01-01,1,2,3\n2024-01-02,4,5,6",
                2,
                true,
                &["column 1", "Open", "High", "Close"],
            ),
            (
                "Symbol,BTC,,\n,Open,High,Close\n2024-01-01,1,2,3\n2024-01-02,4,5,6",
                2,
                true,
                &["column 1", "Open", "High", "Close"],
            ),
            ("a,b,\n1,2,x\n4,5,y", 1, true, &["a", "b", "column 3"]),
            (",b\nx,1\ny,2", 1, true, &["column 1", "b"]),
            ("5,,\n1,2,3\n4,5,6", 0, false, &["1", "2", "3"]),
            ("a,b\nString,Nullable(UInt256)\nx,1", 2, true, &["a", "b"]),
            ("a,b\nString,x\ny,z", 1, true, &["a", "b"]),
        ] {
            let laid = text_layout(&rows(text)).unwrap();
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(
                (laid.skip, laid.named, &laid.names),
                (skip, named, &names),
                "{text}"
            );
        }
    }
}
