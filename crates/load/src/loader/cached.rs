//! The place of a table in the cache, and the key by which it is found there.

use std::{collections::HashMap, path::PathBuf};

use super::{
    identity,
    task::{TableLoad, total_bytes},
};
use crate::{
    formats::{
        lines_of,
        locate::{FileStamp, LocatedFile},
    },
    manifest::{ColumnManifest, TableManifest, Unit},
};
use frames::{
    cache::{EntryLocation, Key},
    report::TableFile,
};
use model::{address::Address, field_hash::FieldHash, schema::TableSchema};

/// Typical bytes per row in files with more rows than a table in memory may have.
const ROW_BYTES: u64 = 100;

/// Whether the table is large, judging by its files, and not yet in the cache.
pub(super) fn takes_a_while(load: &TableLoad<'_>, files: &[LocatedFile]) -> bool {
    let bytes = total_bytes(files);
    let large = |location: &EntryLocation| {
        location.is_begun() || bytes >= load.context.cache.rows_min.saturating_mul(ROW_BYTES)
    };
    cache_location(load, files)
        .is_some_and(|cached| !cached.location.exists() && large(&cached.location))
}

/// Location of a table in the cache.
pub(crate) struct CacheLocation {
    pub(crate) location: EntryLocation,
    /// Its cache key without its files.
    pub(super) stem: Key,
    pub(super) files: Vec<KeyFile>,
}

/// Location of the table in the cache, if it may be large and there is a cache.
pub(crate) fn cache_location(load: &TableLoad<'_>, files: &[LocatedFile]) -> Option<CacheLocation> {
    let TableLoad {
        context,
        schema,
        manifest,
    } = *load;
    let cache = context.cache.folder.as_deref()?;
    if !schema.mapped {
        return None;
    }
    let keys: Option<Vec<KeyFile>> = files
        .iter()
        .map(|file| key_file(file, context.growing))
        .collect();
    let keys = keys?;
    // A row takes a byte at least, except in repetitive columns, which fit into memory as well.
    if keys.iter().map(|file| file.bytes).sum::<u64>() < context.cache.rows_min {
        return None;
    }
    let key = |files: &[KeyFile]| {
        key_of(
            schema,
            manifest,
            &context.decimals,
            &context.blocks.files,
            files,
        )
    };
    match EntryLocation::new(cache, &key(&keys), context.cache.sorting) {
        Ok(location) => Some(CacheLocation {
            location,
            stem: key(&[]),
            files: keys,
        }),
        Err(error) => {
            tracing::warn!(
                "cannot use the cache `{}`; `{}` is read into memory: {error}",
                cache.display(),
                schema.name
            );
            None
        }
    }
}

/// The file as part of the cache key; none where it cannot be read, or is no regular file.
fn key_file(file: &LocatedFile, growing: bool) -> Option<KeyFile> {
    let (
        local,
        FileStamp {
            bytes,
            nanoseconds: modified,
            ..
        },
    ) = (file.is_local(), file.stamp().ok()?);
    if local && !file.path.is_file() {
        return None;
    }
    let path = if local {
        file.path.canonicalize().ok()?
    } else {
        file.path.clone()
    };
    let lines = if local && growing {
        lines_of(&file.path, bytes).unwrap_or(bytes)
    } else {
        bytes
    };
    Some(KeyFile {
        path,
        bytes,
        modified,
        ends: identity::ends(file).ok()?,
        lines,
    })
}

// The cache key of a table: all inputs that its rows depend on.

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
