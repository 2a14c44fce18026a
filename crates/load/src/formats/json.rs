//! Rows of a JSON file: one array of objects. It is read whole, as an array has no line ends to resume at.

use std::collections::HashMap;

use polars::prelude::{Column, IntoColumn, PlSmallStr, StringChunkedBuilder};
use serde_json::value::RawValue;

use super::{
    BATCH_ROWS, ColumnFilter, RowSource, SourceBatch, SourceError, SourceFormat,
    ndjson::put_object, text::Input,
};

/// Maximum size of a JSON file in bytes, decompressed.
const JSON_MAX: u64 = 2 << 30;

const NOT_AN_OBJECT: &str = "the element is not a JSON object; it is rejected";

/// Words that are no JSON, and that Python and others write for a number that there is none.
const NO_NUMBERS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// The text with each non-number (such as NaN) replaced by null, and how many were replaced; `None` if there are none.
pub fn without_nan(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut plain, mut count, mut at, mut quoted) = (Vec::new(), 0, 0, false);
    while let Some(byte) = text.get(at) {
        let word = NO_NUMBERS
            .iter()
            .find(|word| !quoted && text[at..].starts_with(word));
        if let Some(word) = word {
            plain.extend_from_slice(b"null");
            (at, count) = (at + word.len(), count + 1);
            continue;
        }
        let length = if quoted && *byte == b'\\' { 2 } else { 1 };
        quoted ^= *byte == b'"';
        plain.extend_from_slice(&text[at..text.len().min(at + length)]);
        at += length;
    }
    (count > 0).then_some((plain, count))
}

/// The note about non-numbers that were read as null.
pub fn note_on_nan(count: usize) -> Option<String> {
    let note = || {
        format!("{count} values are NaN or Infinity, which are not numbers; they are read as empty")
    };
    (count > 0).then(note)
}

pub(super) struct JsonRows {
    input: Option<Input>,
    elements: std::vec::IntoIter<Box<RawValue>>,
    records: Records,
    bytes: u64,
    /// Number of non-numbers.
    nan: usize,
}

impl JsonRows {
    pub(super) fn new(input: Input, wanted: ColumnFilter) -> Self {
        Self {
            input: Some(input),
            elements: Vec::new().into_iter(),
            records: Records::new(wanted),
            bytes: 0,
            nan: 0,
        }
    }

    /// Rows of objects that were already extracted from a text of `bytes` bytes.
    pub(super) fn of(elements: Vec<Box<RawValue>>, bytes: u64, wanted: ColumnFilter) -> Self {
        Self {
            input: None,
            elements: elements.into_iter(),
            records: Records::new(wanted),
            bytes,
            nan: 0,
        }
    }
}

impl RowSource for JsonRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let first = self.input.is_some();
        if let Some(input) = self.input.take() {
            let text = input.whole(JSON_MAX)?;
            self.bytes = text.len() as u64;
            let read = |text: &[u8]| serde_json::from_slice::<Vec<Box<RawValue>>>(text);
            let elements = read(&text).or_else(|error| {
                let (plain, count) = without_nan(&text).ok_or(error)?;
                self.nan = count;
                read(&plain)
            });
            self.elements = elements
                .map_err(|error| SourceError::Json(error.to_string()))?
                .into_iter();
        }
        while !self.records.full() {
            let Some(element) = self.elements.next() else {
                break;
            };
            put_object(
                &mut self.records,
                element.get(),
                NOT_AN_OBJECT,
                &mut self.nan,
            )?;
        }
        let batch = self.records.take();
        if first && batch.height == 0 {
            return Err(SourceError::Empty(Some(SourceFormat::Json)));
        }
        Ok((batch.height > 0).then_some(batch))
    }

    fn columns(&self) -> &[String] {
        self.records.names()
    }

    fn notes(&self) -> Vec<String> {
        note_on_nan(self.nan).into_iter().collect()
    }

    fn bytes_read(&self) -> u64 {
        self.bytes
    }
}

// Builds batches from records of text cells, whatever their order and number of columns.

/// Maximum number of columns of a file.
pub(super) const COLUMNS_MAX: usize = 10_000;

/// Builder of batches.
pub(super) struct Records {
    wanted: ColumnFilter,
    /// All columns seen, in order of first appearance.
    names: Vec<String>,
    index: HashMap<String, usize>,
    /// Cells of each selected column; shorter than `rows` where the last records lack it.
    cells: Vec<Option<StringChunkedBuilder>>,
    lengths: Vec<usize>,
    rows: usize,
    first_row: u64,
    malformed: Vec<(usize, &'static str)>,
}

impl Records {
    pub(super) fn new(wanted: ColumnFilter) -> Self {
        Self {
            wanted,
            names: Vec::new(),
            index: HashMap::new(),
            cells: Vec::new(),
            lengths: Vec::new(),
            rows: 0,
            first_row: 1,
            malformed: Vec::new(),
        }
    }

    /// Sets the number of rows before the first one.
    pub(super) fn follow(&mut self, rows: u64) {
        self.first_row = rows + 1;
    }

    /// Number of the next row.
    pub(super) fn next_row(&self) -> u64 {
        self.first_row + self.rows as u64
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn full(&self) -> bool {
        self.rows >= BATCH_ROWS
    }

    /// Adds a column, even if one of that name exists; returns its index.
    pub(super) fn add_column(&mut self, name: &str) -> Result<usize, SourceError> {
        if self.names.len() >= COLUMNS_MAX {
            return Err(SourceError::TooManyColumns { max: COLUMNS_MAX });
        }
        let position = self.names.len();
        self.cells.push((self.wanted)(name).then(|| builder(name)));
        self.names.push(name.to_owned());
        self.lengths.push(0);
        self.index.entry(name.to_owned()).or_insert(position);
        Ok(position)
    }

    /// Index of the column of that name, which is added if it is new.
    pub(super) fn column(&mut self, name: &str) -> Result<usize, SourceError> {
        match self.index.get(name) {
            Some(&position) => Ok(position),
            None => self.add_column(name),
        }
    }

    pub(super) fn is_wanted(&self, column: usize) -> bool {
        self.cells[column].is_some()
    }

    /// Sets a cell of the current record; the first value of a column wins.
    pub(super) fn put(&mut self, column: usize, text: Option<&str>) {
        let (rows, length) = (self.rows, &mut self.lengths[column]);
        if let Some(cells) = &mut self.cells[column]
            && *length <= rows
        {
            while *length < rows {
                cells.append_null();
                *length += 1;
            }
            cells.append_option(text);
            *length += 1;
        }
    }

    /// Completes the record.
    pub(super) fn end_record(&mut self) {
        self.rows += 1;
    }

    /// Completes the record as malformed.
    pub(super) fn malformed(&mut self, reason: &'static str) {
        self.malformed.push((self.rows, reason));
        self.rows += 1;
    }

    /// Returns the batch built so far, and begins the next one.
    pub(super) fn take(&mut self) -> SourceBatch {
        let height = self.rows;
        let mut columns: Vec<Column> = Vec::new();
        for ((cells, length), name) in self
            .cells
            .iter_mut()
            .zip(&mut self.lengths)
            .zip(&self.names)
        {
            if let Some(cells) = cells {
                while *length < height {
                    cells.append_null();
                    *length += 1;
                }
                columns.push(
                    std::mem::replace(cells, builder(name))
                        .finish()
                        .into_column(),
                );
            }
            *length = 0;
        }
        let malformed = std::mem::take(&mut self.malformed);
        let batch = SourceBatch {
            columns,
            height,
            first_row: self.first_row,
            malformed,
            ..SourceBatch::default()
        };
        self.first_row += height as u64;
        self.rows = 0;
        batch
    }
}

fn builder(name: &str) -> StringChunkedBuilder {
    StringChunkedBuilder::new(PlSmallStr::from_str(name), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_no_number_are_null_outside_texts() {
        for (text, expected) in [
            (
                r#"[1,NaN, -Infinity,{"a":Infinity}]"#,
                Some((r#"[1,null, null,{"a":null}]"#, 3)),
            ),
            (
                r#"["NaN","a\\\"NaN",NaN]"#,
                Some((r#"["NaN","a\\\"NaN",null]"#, 1)),
            ),
            (r#"["NaN", "Infinity", 1]"#, None),
            (r#"["cut NaN"#, None),
        ] {
            let plain = without_nan(text.as_bytes())
                .map(|(plain, count)| (String::from_utf8(plain).unwrap(), count));
            assert_eq!(
                plain
                    .as_ref()
                    .map(|(plain, count)| (plain.as_str(), *count)),
                expected,
                "{text}"
            );
        }
    }
}
