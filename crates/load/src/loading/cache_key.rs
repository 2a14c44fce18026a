//! The cache key of a table: all inputs that its rows depend on.

use std::{collections::HashMap, path::PathBuf};

use crate::manifest::{ColumnManifest, TableManifest, Unit};
use frames::{cache::Key, report::TableFile};
use model::{address::Address, field_hash::FieldHash, schema::TableSchema};

/// A source file in the cache key: path, length, modification time in nanoseconds, hash of head and tail, length of the part that is read.
pub(crate) struct KeyFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: u128,
    pub ends: [u8; 32],
    /// Bytes that are read: fewer where the file is being appended to and its last line is incomplete.
    pub lines: u64,
}

impl KeyFile {
    /// Whether the file is as it was.
    pub(super) fn is(&self, before: &TableFile) -> bool {
        let modified = i64::try_from(self.modified / 1_000_000).ok();
        self.bytes == before.bytes
            && self.ends == before.ends
            && (before.modified.map(|time| time.0) == modified || self.modified == 0)
    }
}

/// The key of a table with these files.
pub(crate) fn key_of(
    schema: &TableSchema,
    manifest: &TableManifest,
    decimals: &HashMap<Address, Option<i64>>,
    blocks: &[[u8; 32]],
    files: &[KeyFile],
) -> Key {
    let mut hash = FieldHash::default();
    // The parsing of cells may change with the program's version.
    hash.add(env!("CARGO_PKG_VERSION"));
    hash.add(schema.text());
    hash.add(manifest_text(schema, manifest));
    let whole = manifest
        .columns
        .get("value")
        .is_some_and(|value| value.unit == Some(Unit::Whole));
    let mut decimals: Vec<_> = decimals
        .iter()
        .filter(|_| schema.name == "holders" || whole)
        .collect();
    decimals.sort_unstable();
    for pair in decimals {
        hash.add(format!("{pair:?}"));
    }
    for block in blocks.iter().filter(|_| schema.name == "transfers") {
        hash.add(block);
    }
    for file in files {
        hash.add(file.path.as_os_str().as_encoded_bytes());
        hash.add(file.bytes.to_le_bytes());
        hash.add(file.modified.to_le_bytes());
        hash.add(file.ends);
        hash.add(file.lines.to_le_bytes());
    }
    Key::new(hash)
}

/// Canonical text of the table's section of `dataset.toml`: equal for equal meaning.
fn manifest_text(schema: &TableSchema, manifest: &TableManifest) -> String {
    let mut text = format!(
        "{:?} {:?} {} {}",
        manifest.path, manifest.filters, manifest.headless, manifest.skip
    );
    for column in schema.columns {
        if let Some(constant) = manifest.set.get(column.name) {
            text.push_str(&format!(" {}={constant:?}", column.name));
        }
        if let Some(rule) = manifest.columns.get(column.name) {
            let mut values: Vec<_> = rule.values.iter().collect();
            values.sort_unstable();
            let plain = ColumnManifest {
                values: HashMap::new(),
                ..rule.clone()
            };
            text.push_str(&format!(" {}:{plain:?}{values:?}", column.name));
        }
    }
    text
}
