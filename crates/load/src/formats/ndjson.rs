//! Rows of newline-delimited JSON, one object per line. A number keeps its digits as text, as it may be larger than any integer type.

use super::{
    ColumnFilter, RowSource, SourceBatch, SourceError, SourceFormat,
    json::{COLUMNS_MAX, Records, note_on_nan, without_nan},
    text::Input,
};
use model::json_members::JsonMembers;

const NOT_AN_OBJECT: &str = "the line is not a JSON object; it is rejected";
const NOT_UTF8: &str = "the line is not UTF-8; it is rejected";

pub(super) struct NdjsonRows {
    input: Input,
    records: Records,
    started: bool,
    /// Number of non-numbers.
    nan: usize,
}

impl NdjsonRows {
    pub(super) fn new(input: Input, wanted: ColumnFilter) -> Self {
        Self {
            input,
            records: Records::new(wanted),
            started: false,
            nan: 0,
        }
    }

    /// Like `new`, for the part of a file after its first `rows` rows.
    pub(super) fn going_on(input: Input, rows: u64, wanted: ColumnFilter) -> Self {
        let mut more = Self::new(input, wanted);
        more.records.follow(rows);
        more
    }
}

/// Adds the record of an object: strings without quotes, `null` as null, anything else as written. A text that is no object is `malformed`;
/// `nan` counts values that are no numbers, which are null.
pub(super) fn put_object(
    records: &mut Records,
    text: &str,
    malformed: &'static str,
    nan: &mut usize,
) -> Result<(), SourceError> {
    let Ok(object) = serde_json::from_str::<JsonMembers<'_>>(text) else {
        let plain = without_nan(text.as_bytes())
            .and_then(|(plain, count)| Some((String::from_utf8(plain).ok()?, count)));
        return if let Some((plain, count)) = plain {
            *nan += count;
            put_object(records, &plain, malformed, nan)
        } else {
            records.malformed(malformed);
            Ok(())
        };
    };
    // Of members with one name the last wins, as everywhere in JSON.
    for (name, value) in object.0.iter().take(COLUMNS_MAX).rev() {
        let column = records.column(name)?;
        if !records.is_wanted(column) {
            continue;
        }
        let raw = value.get();
        match raw.as_bytes().first() {
            Some(b'n') => records.put(column, None),
            Some(b'"') => match serde_json::from_str::<std::borrow::Cow<'_, str>>(raw) {
                Ok(text) => records.put(column, Some(&text)),
                // An unpaired surrogate: the cell is not valid text.
                Err(_) => records.put(column, Some(raw)),
            },
            _ => records.put(column, Some(raw)),
        }
    }
    records.end_record();
    Ok(())
}

impl RowSource for NdjsonRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        while !self.records.full() {
            let length = self.input.line()?;
            if length == 0 {
                break;
            }
            match std::str::from_utf8(&self.input.data()[..length]) {
                Err(_) => self.records.malformed(NOT_UTF8),
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => put_object(&mut self.records, line, NOT_AN_OBJECT, &mut self.nan)?,
            }
            self.input.consume(length);
        }
        let batch = self.records.take();
        let first = !std::mem::replace(&mut self.started, true);
        if first && batch.height == 0 {
            return Err(SourceError::Empty(Some(SourceFormat::Ndjson)));
        }
        Ok((batch.height > 0).then_some(batch))
    }

    fn columns(&self) -> &[String] {
        self.records.names()
    }

    fn notes(&self) -> Vec<String> {
        self.input
            .notes()
            .into_iter()
            .chain(note_on_nan(self.nan))
            .collect()
    }

    fn stopped_at(&self) -> Option<u64> {
        // A file without any row was read to its end.
        Some(self.records.next_row()).filter(|row| !self.started || *row > 1)
    }

    fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }
}
