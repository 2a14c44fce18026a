//! Small texts, cached by a digest of their inputs so that they are not computed twice. Their owners define the contents.

use std::{
    fs::{self, DirEntry},
    path::Path,
};

use crate::disk_lru;

use crate::private_files::{read_text, write_atomic};

/// Most texts kept; beyond it the oldest are deleted.
const TEXTS_MAX: u64 = 64;
/// Size of a text; a larger one is none.
const BYTES_MAX: u64 = 1 << 20;

/// The text with this digest in `folder` of the cache.
pub fn kept_text(cache: &Path, folder: &str, digest: &[u8; 32]) -> Option<String> {
    read_text(&cache.join(folder).join(name(digest)), BYTES_MAX).ok()
}

/// Stores a text. If that fails, the text is only computed again.
pub fn keep_text(cache: &Path, folder: &str, digest: &[u8; 32], text: &str) {
    let folder = cache.join(folder);
    if let Err(reason) = write_atomic(&folder.join(name(digest)), text.as_bytes()) {
        return tracing::warn!("cannot cache a result: {reason}");
    }
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let written = |file: &DirEntry| file.metadata().and_then(|meta| meta.modified()).ok();
    disk_lru::evict(
        files.collect(),
        TEXTS_MAX,
        |file| (written(file), 1),
        |file| fs::remove_file(file.path()).is_ok(),
    );
}

fn name(digest: &[u8; 32]) -> String {
    format!("{}.json", const_hex::encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_by_its_digest_and_only_so_many_stay() {
        let cache = tempfile::tempdir().expect("a folder");
        assert_eq!(kept_text(cache.path(), "records", &[7; 32]), None);
        for nth in 0..70 {
            keep_text(cache.path(), "records", &[nth; 32], &format!("{nth}"));
        }
        assert_eq!(
            kept_text(cache.path(), "records", &[69; 32]).as_deref(),
            Some("69")
        );
        assert_eq!(
            fs::read_dir(cache.path().join("records"))
                .expect("a folder")
                .count() as u64,
            TEXTS_MAX
        );
    }
}
