//! Rows of a JSON file: one array of objects. It is read whole, as an array has no line ends to resume at.

use serde_json::value::RawValue;

use super::{
    ColumnFilter, RowSource, SourceBatch, SourceError, SourceFormat, ndjson::put_object,
    records::Records, text::Input,
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
