//! Hive partitioning: columns in folder names, as in `symbol=ETH/interval=1d/part-0.parquet`.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use polars::prelude::{ChunkFull, Column, IntoColumn, StringChunked};

use super::{RowSource, SourceBatch, SourceError};

/// Rows of a file with the columns of its partition.
pub struct Partitioned {
    rows: Box<dyn RowSource>,
    parts: Vec<(String, String)>,
    columns: Vec<String>,
}

/// Partition keys and values in a file's path; if a key occurs twice, the innermost folder wins.
pub fn parts(path: &str) -> Vec<(String, String)> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let mut parts: Vec<(String, String)> = Vec::new();
    for folder in folders.split('/') {
        let Some((name, value)) = folder.split_once('=').filter(|(name, _)| !name.is_empty())
        else {
            continue;
        };
        // Hive's value for null.
        let value = if value == "__HIVE_DEFAULT_PARTITION__" {
            String::new()
        } else {
            unescaped(value)
        };
        parts.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        parts.push((name.to_owned(), value));
    }
    parts
}

/// Percent-decodes a text, such as `%3A`.
fn unescaped(text: &str) -> String {
    percent_decode_str(text)
        .decode_utf8()
        .map_or_else(|_| text.to_owned(), Cow::into_owned)
}

impl Partitioned {
    /// Adds the partition's columns to the rows; a column of the file takes precedence.
    pub fn over(rows: Box<dyn RowSource>, parts: Vec<(String, String)>) -> Box<dyn RowSource> {
        if parts.is_empty() {
            rows
        } else {
            Box::new(Self {
                rows,
                parts,
                columns: Vec::new(),
            })
        }
    }

    fn given(&self) -> impl Iterator<Item = &(String, String)> {
        self.parts.iter().filter(|(name, _)| {
            !self
                .rows
                .columns()
                .iter()
                .any(|own| own.trim().eq_ignore_ascii_case(name))
        })
    }
}

impl RowSource for Partitioned {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let batch = self.rows.next_batch()?;
        self.columns = self
            .rows
            .columns()
            .iter()
            .cloned()
            .chain(self.given().map(|(name, _)| name.clone()))
            .collect();
        Ok(batch.map(|mut batch| {
            let column = |(name, value): &(String, String)| {
                StringChunked::full(name.as_str().into(), value, batch.height).into_column()
            };
            let given: Vec<Column> = self.given().map(column).collect();
            batch.columns.extend(given);
            batch
        }))
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn notes(&self) -> Vec<String> {
        self.rows.notes()
    }

    fn stopped_at(&self) -> Option<u64> {
        self.rows.stopped_at()
    }

    fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_named_key_and_value_are_partitions() {
        for (path, expected) in [
            (
                "klines/symbol=ETH/interval=1d/part-0.parquet",
                &[("symbol", "ETH"), ("interval", "1d")][..],
            ),
            ("a=1/a=2/x.csv", &[("a", "2")]),
            (
                "day=2024-01-01%2000%3A00/x.csv",
                &[("day", "2024-01-01 00:00")],
            ),
            ("chain=__HIVE_DEFAULT_PARTITION__/x.csv", &[("chain", "")]),
            ("a=b.csv", &[]),
            ("=x/y.csv", &[]),
        ] {
            let expected: Vec<_> = expected
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(parts(path), expected, "{path}");
        }
    }
}
