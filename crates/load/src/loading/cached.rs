//! The place of a table in the cache, and the key by which it is found there.

use super::{
    cache_key::{KeyFile, key_of},
    identity,
    task::{TableLoad, total_bytes},
};
use crate::read::{
    lines_of,
    locate::{FileStamp, LocatedFile},
};
use frames::cache::{EntryLocation, Key};

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
