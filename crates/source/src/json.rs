//! Rows of a JSON file: one array of objects. It is read whole, as an array has no line ends to resume at.

use serde_json::value::RawValue;

use super::{ColumnFilter, RowSource, SourceBatch, ndjson::put_object, records::Records, text::Input};

/// Maximum size of a JSON file in bytes, decompressed.
const JSON_MAX: u64 = 2 << 30;

const NOT_AN_OBJECT: &str = "the element is not a JSON object; it is rejected";

pub(super) struct JsonRows {
    input: Option<Input>,
    elements: std::vec::IntoIter<Box<RawValue>>,
    records: Records,
    bytes: u64,
}

impl JsonRows {
    pub(super) fn new(input: Input, wanted: ColumnFilter) -> Self {
        Self { input: Some(input), elements: Vec::new().into_iter(), records: Records::new(wanted), bytes: 0 }
    }

    /// Rows of objects that were already extracted from a text of `bytes` bytes.
    pub(super) fn of(elements: Vec<Box<RawValue>>, bytes: u64, wanted: ColumnFilter) -> Self {
        Self { input: None, elements: elements.into_iter(), records: Records::new(wanted), bytes }
    }
}

impl RowSource for JsonRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, String> {
        let first = self.input.is_some();
        if let Some(input) = self.input.take() {
            let text = input.whole(JSON_MAX)?;
            self.bytes = text.len() as u64;
            let elements: Vec<Box<RawValue>> =
                serde_json::from_slice(&text).map_err(|error| format!("is not a JSON array of objects: {error}"))?;
            self.elements = elements.into_iter();
        }
        while !self.records.full() {
            let Some(element) = self.elements.next() else { break };
            put_object(&mut self.records, element.get(), NOT_AN_OBJECT)?;
        }
        let batch = self.records.take();
        if first && batch.height == 0 {
            return Err("is empty: expected an array of objects".to_owned());
        }
        Ok((batch.height > 0).then_some(batch))
    }

    fn columns(&self) -> &[String] {
        self.records.names()
    }

    fn bytes_read(&self) -> u64 {
        self.bytes
    }
}
