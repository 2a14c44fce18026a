//! Rows of CSV and TSV (RFC 4180). A malformed record costs that record only: after an unclosed quote, reading resumes with the next line,
//! which no CSV library does.

use super::{
    ColumnFilter, RowSource, SourceBatch, SourceError, SourceFormat,
    json::Records,
    text::{Input, LONG_LINE, RECORD_MAX},
    without_formula,
};

/// Maximum bytes that are read twice because of unclosed quotes.
const REREAD_MAX: usize = 256 << 20;

/// Bytes of the beginning that tell how quotes inside quotes are written.
const LOOKED: usize = 32 << 10;
/// Said of a file of MySQL.
const BACKSLASHED: &str = "assumed: a backslash before a quote or a separator inside quotes is not part of the cell, as the first rows show";
/// Separators behind a backslash that show by themselves how a file is written.
const ESCAPED_MIN: u32 = 2;

const RAGGED: &str = "the row has more or fewer fields than the header; it is rejected";
const UNCLOSED: &str = "a quote is never closed; the row is rejected";
const AFTER_QUOTE: &str = "text follows a closing quote; the row is rejected";
const NOT_UTF8: &str =
    "the row is not UTF-8; it is rejected (save the file as UTF-8, or use `tokendeck import`)";

pub(super) struct CsvRows {
    input: Input,
    delimiter: u8,
    records: Records,
    width: usize,
    fields: Vec<Field>,
    reread: usize,
    started: bool,
    /// Whether quotes and separators inside quotes are written `\"` and `\,`, as by MySQL.
    backslashed: bool,
    /// Whether the first two fields of a row with one too many are one, a date with the delimiter in it.
    pub(super) joins_first: bool,
}

/// Range of a field in the record, without quotes.
#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    /// Whether it contains doubled quotes, or ones behind a backslash.
    doubled: bool,
}

/// A record found in the buffer.
struct Scan {
    /// Bytes up to the next record.
    length: usize,
    problem: Option<&'static str>,
    /// End of its first line, where it spans several.
    first_line: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a backslash inside quotes, in a file that escapes quotes this way.
    Backslash,
    /// After a quote inside quotes: the closing one, or the first of a doubled one.
    Quote,
    /// After blanks that follow a closing quote.
    Closed,
}

impl CsvRows {
    /// Rows under these column names; without names under those of the header, and with an empty list under numbers from 1. Without
    /// `delimiter`, the first of comma, semicolon, tab and vertical bar in the first line is used.
    pub(super) fn open(
        input: Input,
        names: Option<&[String]>,
        delimiter: Option<u8>,
        wanted: ColumnFilter,
    ) -> Result<Self, SourceError> {
        let mut rows = Self::begin(input, delimiter, wanted)?;
        let names = match names {
            Some([]) => {
                rows.scan()?;
                (1..=rows.fields.len())
                    .map(|number| number.to_string())
                    .collect()
            }
            Some(names) => names.to_vec(),
            None => rows.header()?,
        };
        for name in &names {
            rows.records.add_column(name)?;
        }
        rows.width = names.len();
        Ok(rows)
    }

    fn header(&mut self) -> Result<Vec<String>, SourceError> {
        let scan = self.scan()?;
        let header: Option<Vec<String>> = (0..self.fields.len())
            .map(|i| self.field(i).map(|text| text.trim().to_owned()))
            .collect();
        let header = header.filter(|_| scan.problem.is_none());
        self.input.consume(scan.length);
        header.ok_or(SourceError::BadHeader)
    }

    /// Rows of `input`, which was appended to a file with this header, after its first `rows` rows.
    pub(super) fn going_on(
        &self,
        input: Input,
        rows: u64,
        wanted: ColumnFilter,
    ) -> Result<Self, SourceError> {
        let mut more = Self::open(
            input,
            Some(self.records.names()),
            Some(self.delimiter),
            wanted,
        )?;
        (more.backslashed, more.joins_first) = (self.backslashed, self.joins_first);
        more.records.follow(rows);
        Ok(more)
    }

    fn begin(
        mut input: Input,
        delimiter: Option<u8>,
        wanted: ColumnFilter,
    ) -> Result<Self, SourceError> {
        let end = input.line()?;
        if end == 0 {
            return Err(SourceError::Empty(Some(SourceFormat::Csv)));
        }
        // A fault behind the beginning costs the rows behind it: it is met again when they are read.
        while input.data().len() < LOOKED && input.fill().unwrap_or_default() {}
        let line = &input.data()[..end];
        let sniffed = [b',', b';', b'\t', b'|']
            .into_iter()
            .find(|byte| line.contains(byte))
            .unwrap_or(b',');
        let delimiter = delimiter.unwrap_or(sniffed);
        Ok(Self {
            delimiter,
            backslashed: has_backslashed_quotes(input.data(), delimiter),
            input,
            records: Records::new(wanted),
            width: 0,
            fields: Vec::new(),
            reread: 0,
            started: false,
            joins_first: false,
        })
    }

    /// Finds the next record and its fields without consuming it; its length is 0 at the end of the file.
    fn scan(&mut self) -> Result<Scan, SourceError> {
        // Some programs write `a, "b"`. A text may also begin with a blank and a quote, which then is no pair around the whole of it.
        match self.scan_by(true)? {
            Some(scan) => Ok(scan),
            None => self.scan_by(false).map(|scan| {
                scan.unwrap_or(Scan {
                    length: 0,
                    problem: None,
                    first_line: None,
                })
            }),
        }
    }

    /// As `scan`; with `blanks`, a quote behind blanks opens a field too, and none is returned where such a field does not end on its line.
    fn scan_by(&mut self, blanks: bool) -> Result<Option<Scan>, SourceError> {
        self.fields.clear();
        let mut after_blanks = false;
        let (mut at, mut start, mut state) = (0, 0, State::Start);
        let (mut doubled, mut problem, mut first_line) = (false, None, None);
        loop {
            let data = self.input.data();
            while let Some(&byte) = data.get(at) {
                match (state, byte) {
                    (State::Quoted, b'"') => state = State::Quote,
                    (State::Quoted, b'\\') if self.backslashed => {
                        (state, doubled) = (State::Backslash, true);
                    }
                    (State::Quoted, b'\n') if after_blanks => return Ok(None),
                    (State::Quoted | State::Backslash, _) => {
                        state = State::Quoted;
                        if byte == b'\n' && first_line.is_none() {
                            first_line = Some(at + 1);
                        }
                    }
                    (State::Quote, b'"') => (state, doubled) = (State::Quoted, true),
                    (_, b'\n') => {
                        self.fields
                            .push(field(data, start, at, state, doubled, true));
                        return Ok(Some(Scan {
                            length: at + 1,
                            problem,
                            first_line,
                        }));
                    }
                    (_, _) if byte == self.delimiter => {
                        self.fields
                            .push(field(data, start, at, state, doubled, false));
                        (start, state, doubled, after_blanks) =
                            (at + 1, State::Start, false, false);
                    }
                    (State::Start, b' ') if blanks => {}
                    (State::Start, b'"') => {
                        (state, start, after_blanks) = (State::Quoted, at + 1, at > start);
                    }
                    (State::Start, _) => state = State::Plain,
                    (State::Quote | State::Closed, b' ') if blanks => state = State::Closed,
                    (State::Quote | State::Closed, b'\r') | (State::Plain, _) => {}
                    (State::Quote | State::Closed, _) if after_blanks => return Ok(None),
                    (State::Quote | State::Closed, _) => problem = Some(AFTER_QUOTE),
                }
                at += 1;
            }
            if at > RECORD_MAX && state != State::Quoted {
                return Err(LONG_LINE);
            }
            if at > RECORD_MAX || !self.input.fill()? {
                break;
            }
        }
        let data = self.input.data();
        if at > 0 {
            self.fields
                .push(field(data, start, at, state, doubled, true));
        }
        let is_open = matches!(state, State::Quoted | State::Backslash);
        if is_open && after_blanks {
            return Ok(None);
        }
        if is_open {
            problem = Some(UNCLOSED);
        }
        Ok(Some(Scan {
            length: at,
            problem,
            first_line,
        }))
    }

    fn field(&self, i: usize) -> Option<std::borrow::Cow<'_, str>> {
        let field = self.fields[i];
        let text = std::str::from_utf8(&self.input.data()[field.start..field.end]).ok()?;
        Some(if field.doubled {
            self.undoubled(text).into()
        } else {
            text.into()
        })
    }

    /// The text of a quoted cell. Behind a backslash, other characters than quotes, separators and backslashes mean what they do with it.
    fn undoubled(&self, text: &str) -> String {
        if !self.backslashed {
            return text.replace("\"\"", "\"");
        }
        let mut plain = String::with_capacity(text.len());
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let is_escaped =
                |next: &char| matches!(next, '"' | '\\') || *next == char::from(self.delimiter);
            let next = characters.next_if(|next| {
                character == '\\' && is_escaped(next) || (character, *next) == ('"', '"')
            });
            plain.push(next.unwrap_or(character));
        }
        plain
    }

    /// Whether the record is an empty line, which is no row.
    fn blank(&self) -> bool {
        self.fields.len() == 1 && self.width > 0 && self.fields[0].start == self.fields[0].end && {
            let first = self.input.data().first();
            matches!(first, Some(b'\n' | b'\r'))
        }
    }

    fn read_record(&mut self, scan: &Scan) -> Result<(), &'static str> {
        if let Some(problem) = scan.problem {
            return Err(problem);
        }
        if let [first, second, ..] = self.fields[..]
            && self.joins_first
            && self.fields.len() == self.width + 1
            && second.start == first.end + 1
        {
            self.fields.remove(1);
            self.fields[0].end = second.end;
        }
        if self.fields.len() != self.width {
            return Err(RAGGED);
        }
        let data = self.input.data();
        // The whole row is validated, so that the result does not depend on the selected columns.
        if std::str::from_utf8(&data[..scan.length]).is_err() {
            return Err(NOT_UTF8);
        }
        for (column, field) in self.fields.iter().enumerate() {
            if self.records.is_wanted(column) {
                let text =
                    std::str::from_utf8(&data[field.start..field.end]).map_err(|_| NOT_UTF8)?;
                if field.doubled {
                    let text = self.undoubled(text);
                    self.records.put(column, Some(without_formula(&text)));
                } else {
                    self.records.put(column, Some(without_formula(text)));
                }
            }
        }
        Ok(())
    }
}

/// Whether quotes inside quoted cells are written `\"`, as MySQL does, and none is doubled, or separators in them are written `\,`, and none
/// stands alone. A backslash before the quote that closes a cell (`"C:\"`) shows that backslashes are text.
pub(super) fn has_backslashed_quotes(text: &[u8], delimiter: u8) -> bool {
    let text = &text[..text.len().min(LOOKED)];
    let (mut at, mut found, mut escaped, mut alone) = (0, false, 0, false);
    while let Some(byte) = text.get(at) {
        at += 1;
        if *byte != b'"' {
            continue;
        }
        let before = text[..at - 1].iter().rev().find(|byte| **byte != b' ');
        if before.is_some_and(|byte| *byte != delimiter && *byte != b'\n') {
            continue;
        }
        let has_blanks = text[..at - 1].ends_with(b" ");
        let ends = |at: usize| {
            let blanks = text
                .get(at..)
                .unwrap_or_default()
                .iter()
                .take_while(|byte| has_blanks && **byte == b' ')
                .count();
            text.get(at + blanks)
                .is_none_or(|byte| *byte == delimiter || matches!(byte, b'\r' | b'\n'))
        };
        loop {
            match text.get(at..).unwrap_or_default() {
                // `"a \"b\""` ends in one too, which with doubled quotes would be the first of two.
                [b'\\', b'"', b'"', ..] if !ends(at + 3) => return false,
                [b'\\', b'"', ..] if !ends(at + 2) => (at, found) = (at + 2, true),
                [b'\\', b'\\', ..] => at += 2,
                [b'\\', next, ..] if *next == delimiter => (at, escaped) = (at + 2, escaped + 1),
                [b'\\', b'"', ..] => (at, alone) = (at + 1, true),
                [next, ..] if *next == delimiter => (at, alone) = (at + 1, true),
                [b'"', b'"', ..] => return false,
                [b'"', ..] | [] => break,
                _ => at += 1,
            }
        }
        at += 1;
    }
    found || escaped >= ESCAPED_MIN && !alone
}

/// The field from `start` to `at`, without its closing quote and, at the end of a line, without a carriage return.
fn field(data: &[u8], start: usize, at: usize, state: State, doubled: bool, last: bool) -> Field {
    let mut end = at;
    if last && end > start && data[end - 1] == b'\r' {
        end -= 1;
    }
    if state == State::Closed {
        end -= data[start..end]
            .iter()
            .rev()
            .take_while(|byte| **byte == b' ')
            .count();
    }
    if matches!(state, State::Quote | State::Closed) && end > start && data[end - 1] == b'"' {
        end -= 1;
    }
    Field {
        start,
        end,
        doubled,
    }
}

impl RowSource for CsvRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        while !self.records.full() {
            let scan = self.scan()?;
            if scan.length == 0 {
                break;
            }
            let mut length = scan.length;
            if !self.blank() {
                match self.read_record(&scan) {
                    Ok(()) => self.records.end_record(),
                    Err(problem) => {
                        // A record of several lines because of a stray quote: only its first line is rejected.
                        if let Some(first_line) = scan.first_line {
                            self.reread += scan.length;
                            if self.reread > REREAD_MAX {
                                return Err(SourceError::UnclosedQuotes);
                            }
                            length = first_line;
                        }
                        self.records.malformed(if scan.first_line.is_some() {
                            UNCLOSED
                        } else {
                            problem
                        });
                    }
                }
            }
            self.input.consume(length);
        }
        let batch = self.records.take();
        let first = !std::mem::replace(&mut self.started, true);
        Ok((batch.height > 0 || first).then_some(batch))
    }

    fn columns(&self) -> &[String] {
        self.records.names()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.input.notes();
        notes.extend(self.backslashed.then(|| BACKSLASHED.to_owned()));
        notes
    }

    fn stopped_at(&self) -> Option<u64> {
        Some(self.records.next_row())
    }

    fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use frames::raw_cell::{RawCell, cells};

    #[test]
    fn blanks_around_quotes_are_no_part_of_a_field() {
        for (text, expected) in [
            ("a, b\n1, \"x, y\"\n", "1|x, y"),
            ("a,b\n \"1\" , \"5 \"\"x\" \r\n", "1|5 \"x"),
            // A number that Excel is to read as text; other formulas stay.
            ("a,b\n\"=\"\"12\"\"\",=\"34\"\n", "12|34"),
            ("a,b\n=A1+B1,=\"a\"&\"b\"\n", "=A1+B1|=\"a\"&\"b\""),
            // Texts that begin with a quote, or have one, stay whole.
            ("a,b\n1, \"x\" he said\n", "1| \"x\" he said"),
            ("a,b\n1, \"x\n", "1| \"x"),
            ("a,b\n1, 5\" pipe\n", "1| 5\" pipe"),
            ("a,b\n1,  \n", "1|  "),
            // A backslash before a quote inside a cell, as MySQL writes; before the quote that closes a cell it is one.
            (
                "a,b\n\"the \\\"x\\\"\",\"c\\\\d\\n\"\n",
                "the \"x\"|c\\d\\n",
            ),
            ("a,b\n\"C:\\\",\"\"\n", "C:\\|"),
            // Before a separator too, and in cells behind blanks.
            ("a,b\n \"x\\, y\", \"the \\\"z\\\"\"\n", "x, y|the \"z\""),
            ("a;b\n\"x\\; y\";\"z\\;\"\n", "x; y|z;"),
            // Where another stands alone, or a cell ends in a backslash, backslashes are text.
            ("a,b\n\"C:\\, D:\\, x\",\"1, 2\"\n", "C:\\, D:\\, x|1, 2"),
            ("a,b\n\"C:\\, D:\\, x\", \"E:\\\" \n", "C:\\, D:\\, x|E:\\"),
            ("a,b\n\"C:\\\"\" x\",\"5 \"\" y\"\n", "C:\\\" x|5 \" y"),
        ] {
            let input = Input::new(std::io::Cursor::new(text), &[]).unwrap();
            let mut rows = CsvRows::open(input, None, None, Arc::new(|_: &str| true)).unwrap();
            let batch = rows.next_batch().unwrap().unwrap();
            let cell = |column: &polars::prelude::Column| match cells(column).first() {
                Some(RawCell::Text(text)) => text.to_string(),
                other => format!("{other:?}"),
            };
            assert_eq!(
                batch.columns.iter().map(cell).collect::<Vec<_>>().join("|"),
                expected,
                "{text}"
            );
        }
    }
}
