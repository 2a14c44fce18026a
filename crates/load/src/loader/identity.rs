//! Cheap identity of a source file: name, size, a hash of its head and tail, and the modification time if these are not the whole file.
//! Equal identities mean equal data.

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use sha2::{Digest, Sha256};

use crate::{
    TableFile,
    formats::locate::{FileOrigin, LocatedFile},
};
use model::{
    field_hash::FieldHash,
    schema::{TABLES, TableSchema},
    time::Time,
};
use wire::UrlPattern;

/// Bytes hashed at each end of a file.
const END: u64 = 64 << 10;

/// Bytes hashed at each end to tell whether a file was appended to.
const TIP: u64 = 4 << 10;

/// Identity of the dataset as it was known at some time.
pub fn at(identity: &[u8; 32], time: Time) -> [u8; 32] {
    Sha256::new_with_prefix(identity)
        .chain_update(time.0.to_le_bytes())
        .finalize()
        .into()
}

/// Hash of a file's head and tail; for a remote file, of its ETag; for the rows of a query, of their count and checksum.
pub fn ends(file: &LocatedFile) -> io::Result<[u8; 32]> {
    match &file.origin {
        FileOrigin::Local => hashed(&file.path, u64::MAX, END),
        FileOrigin::Object(object) => {
            Ok(Sha256::digest(object.version_tag.as_deref().unwrap_or_default()).into())
        }
        FileOrigin::Answer(answer) => Ok(Sha256::digest(&answer.mark).into()),
    }
}

/// Like `ends`, for a local file's first `size` bytes.
pub fn beginning(path: &Path, size: u64) -> io::Result<[u8; 32]> {
    hashed(path, size, END)
}

/// Hash of the short head and tail of the file's first `size` bytes.
pub fn tips(path: &Path, size: u64) -> io::Result<[u8; 32]> {
    hashed(path, size, TIP)
}

fn hashed(path: &Path, size: u64, end: u64) -> io::Result<[u8; 32]> {
    let mut file = model::private_files::open_regular(path)?;
    let size = file.metadata()?.len().min(size);
    let mut hash = Sha256::new();
    let mut bytes = Vec::new();
    file.by_ref().take(end.min(size)).read_to_end(&mut bytes)?;
    hash.update(&bytes);
    if size > end {
        bytes.clear();
        let start = size.saturating_sub(end).max(end);
        file.seek(SeekFrom::Start(start))?;
        file.take(size - start).read_to_end(&mut bytes)?;
        hash.update(&bytes);
    }
    Ok(hash.finalize().into())
}

/// Identity of the dataset: hash of the schema, `dataset.toml` and every file.
pub(super) fn of<'a>(manifest: &str, files: impl Iterator<Item = &'a TableFile>) -> [u8; 32] {
    let mut hash = FieldHash::of(TABLES.iter().map(TableSchema::text));
    hash.add(manifest);
    for source in files {
        hash.add(&source.file);
        // Equal rows of a query may arrive in more or fewer bytes.
        let bytes = if crate::engine::is_answer(&source.file) {
            0
        } else {
            source.bytes
        };
        hash.add(bytes.to_le_bytes());
        // Where the ends are the whole file, a mere touch changes nothing.
        let is_whole = bytes <= 2 * END && !UrlPattern::is_url(&source.file);
        hash.add(
            source
                .modified
                .filter(|_| !is_whole)
                .map_or(0, |time| time.0)
                .to_le_bytes(),
        );
        hash.add(source.ends);
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touched_file_is_the_same_where_all_of_it_is_hashed() {
        let file = |bytes, modified, of: &str, ends| TableFile {
            file: of.to_owned(),
            bytes,
            modified: Some(Time(modified)),
            ends,
            rows: 0,
        };
        let of = |file: TableFile| super::of("", std::iter::once(&file));
        for (bytes, name, is_same) in [
            (2 * END, "a.csv", true),
            (2 * END + 1, "a.csv", false),
            (9, "https://host/a.csv", false),
        ] {
            let touched = of(file(bytes, 1, name, [0; 32])) == of(file(bytes, 2, name, [0; 32]));
            assert_eq!(touched, is_same, "{bytes} {name}");
            assert_ne!(
                of(file(bytes, 1, name, [0; 32])),
                of(file(bytes, 1, name, [1; 32]))
            );
        }
    }
}
