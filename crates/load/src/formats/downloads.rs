//! Downloaded parts of remote objects, on disk: the bytes at their offsets in a sparse file, and a list of the parts, each with a checksum.
//! They are kept between runs; parts that do not match their checksum are downloaded again.

use std::{
    fs::{self, File, OpenOptions},
    io,
    ops::Range,
    path::{Path, PathBuf},
    time::SystemTime,
};

use model::{disk_lru, system::FileAt as _};
use serde::{Deserialize, Serialize};

use model::field_hash::FieldHash;
use wire::Object;

const BYTES: &str = "bytes";
const PARTS: &str = "parts";

/// A downloaded byte range with its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    #[serde(flatten)]
    range: Range<u64>,
    sum: u32,
}

/// The parts listed in the folder.
fn listed(folder: &Path) -> Vec<Part> {
    fs::read(folder.join(PARTS))
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// The downloaded parts of one object.
#[derive(Debug)]
pub struct ObjectParts {
    /// None without a cache: the parts then last as long as the program.
    folder: Option<PathBuf>,
    file: File,
    parts: Vec<Part>,
    /// Ranges being downloaded, each with the position reached and the checksum so far.
    begun: Vec<(Range<u64>, u64, crc32fast::Hasher)>,
}

/// File name from a hash of these texts.
pub fn name_of(texts: &[&str]) -> String {
    FieldHash::of(texts).file_name()
}

/// Folder of the downloaded objects, inside the cache folder.
pub fn folder(cache: &Path) -> PathBuf {
    cache.join("objects")
}

fn folder_of(cache: &Path, object: &Object) -> PathBuf {
    folder(cache).join(name_of(&[
        &object.url,
        &object.bytes.to_string(),
        object.version_tag.as_deref().unwrap_or_default(),
    ]))
}

impl ObjectParts {
    /// Opens the parts of the object that are on disk; those that do not match their checksum are dropped.
    pub fn open(cache: Option<&Path>, object: &Object) -> io::Result<Self> {
        let Some(cache) = cache else {
            let file = tempfile::tempfile()?;
            file.set_len(object.bytes)?;
            return Ok(Self {
                folder: None,
                file,
                parts: Vec::new(),
                begun: Vec::new(),
            });
        };
        let folder = folder_of(cache, object);
        // User-only permissions, as the data may be private.
        model::system::create_private_folder(&folder)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = model::system::private(&mut options).open(folder.join(BYTES))?;
        file.set_len(object.bytes)?;
        // The modification time records the last use, for LRU eviction.
        file.set_modified(SystemTime::now()).ok();
        let mut kept = Self {
            parts: listed(&folder),
            folder: Some(folder),
            file,
            begun: Vec::new(),
        };
        let mut parts = std::mem::take(&mut kept.parts);
        parts.retain(|part| {
            part.range.end <= object.bytes && kept.sum(&part.range).ok() == Some(part.sum)
        });
        Ok(Self { parts, ..kept })
    }

    /// Bytes of the object that are not on disk, according to the list of its parts.
    pub fn missing_of(cache: &Path, object: &Object) -> u64 {
        let parts = listed(&folder_of(cache, object));
        gaps(parts.iter().map(|part| &part.range), &(0..object.bytes))
            .iter()
            .map(|gap| gap.end - gap.start)
            .sum()
    }

    /// Removes the parts of the object.
    pub fn forget(cache: &Path, object: &Object) {
        fs::remove_dir_all(folder_of(cache, object)).ok();
    }

    fn sum(&self, range: &Range<u64>) -> io::Result<u32> {
        let mut hash = crc32fast::Hasher::new();
        let mut bytes = vec![0; 1 << 20];
        let mut at = range.start;
        while at < range.end {
            let take = (range.end - at).min(bytes.len() as u64) as usize;
            self.file.read_exact_at(&mut bytes[..take], at)?;
            hash.update(&bytes[..take]);
            at += take as u64;
        }
        Ok(hash.finalize())
    }

    /// Missing ranges within the range.
    pub fn missing(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        gaps(self.parts.iter().map(|part| &part.range), range)
    }

    /// Reads bytes that are on disk.
    pub fn read(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)
    }

    /// Stores bytes received for the offset `at`.
    pub fn take(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)?;
        let end = at + bytes.len() as u64;
        if let Some((_, next, hash)) = self
            .begun
            .iter_mut()
            .find(|(range, next, _)| *next == at && end <= range.end)
        {
            *next = end;
            hash.update(bytes);
        } else {
            // Outside of every begun range: the server sends the whole file.
            let mut hash = crc32fast::Hasher::new();
            hash.update(bytes);
            self.begun.push((at..u64::MAX, end, hash));
        }
        Ok(())
    }

    /// Begins the download of a range.
    pub fn begin(&mut self, range: Range<u64>) {
        self.begun
            .push((range.clone(), range.start, crc32fast::Hasher::new()));
    }

    /// Ends the download of the range: the bytes received become a part.
    pub fn end(&mut self, range: &Range<u64>) {
        let (ended, begun): (Vec<_>, Vec<_>) = self
            .begun
            .drain(..)
            .partition(|(begun, ..)| begun == range || begun.end == u64::MAX);
        self.begun = begun;
        for (begun, end, hash) in ended
            .into_iter()
            .filter(|(begun, end, _)| *end > begun.start)
        {
            self.parts.push(Part {
                range: begun.start..end,
                sum: hash.finalize(),
            });
        }
        self.note();
    }

    /// Writes the list of parts. Where that fails, the next program fetches them again.
    fn note(&self) {
        let Some(folder) = &self.folder else { return };
        let Ok(text) = serde_json::to_vec(&self.parts) else {
            return;
        };
        let beside = folder.join("parts.new");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, folder.join(PARTS)))
            .ok();
    }
}

/// Gaps in the range that none of the others covers.
pub(super) fn gaps<'a>(
    others: impl IntoIterator<Item = &'a Range<u64>>,
    range: &Range<u64>,
) -> Vec<Range<u64>> {
    let mut covered: Vec<_> = others
        .into_iter()
        .filter(|other| other.start < range.end && other.end > range.start)
        .collect();
    covered.sort_by_key(|other| other.start);
    let (mut gaps, mut at) = (Vec::new(), range.start);
    for other in covered {
        if other.start > at {
            gaps.push(at..other.start);
        }
        at = at.max(other.end);
    }
    if at < range.end {
        gaps.push(at..range.end);
    }
    gaps
}

/// The downloaded objects, each with the time of its last use and its bytes on disk.
fn all(cache: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entries = fs::read_dir(folder(cache)).into_iter().flatten().flatten();
    let about = |path: PathBuf| {
        let meta = fs::metadata(path.join(BYTES)).ok()?;
        Some((
            meta.modified().ok()?,
            model::system::bytes_on_disk(&meta),
            path,
        ))
    };
    entries.filter_map(|entry| about(entry.path())).collect()
}

/// Bytes on disk of all downloaded objects.
pub fn bytes(cache: &Path) -> u64 {
    all(cache).iter().map(|(_, bytes, _)| bytes).sum()
}

/// Removes all downloaded objects and listings; returns the bytes freed.
pub fn clear(cache: &Path) -> u64 {
    let before = bytes(cache);
    fs::remove_dir_all(folder(cache)).ok();
    before - bytes(cache)
}

/// Evicts the least recently used objects until the others fit into `bytes_max`. Objects used in the last day stay.
pub fn evict(cache: &Path, bytes_max: u64) {
    let is_old = |used: &SystemTime| !used.elapsed().is_ok_and(|age| age.as_secs() < 86_400);
    disk_lru::evict(
        all(cache),
        bytes_max,
        |(used, bytes, _)| (*used, *bytes),
        |(used, _, path)| is_old(used) && disk_lru::remove(path),
    );
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "a list of ranges may have one"
)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_no_part_covers() {
        for (others, range, expected) in [
            (&[][..], 0..10, &[0..10][..]),
            (&[0..10], 2..5, &[]),
            (&[0..9], 3..5, &[]),
            (&[5..7, 0..2], 0..10, &[2..5, 7..10]),
            (&[0..6, 4..8], 5..9, &[8..9]),
            (&[0..3], 3..3, &[]),
            (&[2..4, 3..6, 20..30], 0..10, &[0..2, 6..10]),
        ] {
            assert_eq!(gaps(others, &range), expected, "{others:?} {range:?}");
        }
    }

    #[test]
    fn parts_are_kept_on_disk_unless_they_are_damaged() {
        let cache = tempfile::tempdir().expect("a folder");
        let object: Object =
            serde_json::from_str(r#"{"url":"s3://b/x","source":"b","bytes":10,"mark":"\"e\"","modified":null,"pinned":false}"#)
                .expect("an object");
        let mut kept = ObjectParts::open(Some(cache.path()), &object).expect("kept");
        kept.begin(0..4);
        kept.begin(6..10);
        kept.take(0, b"ab").expect("written");
        kept.take(6, b"ghij").expect("written");
        kept.take(2, b"c").expect("written");
        kept.end(&(0..4));
        kept.end(&(6..10));
        assert_eq!(kept.missing(&(0..10)), [3..6]);
        drop(kept);
        assert_eq!(ObjectParts::missing_of(cache.path(), &object), 3);
        let kept = ObjectParts::open(Some(cache.path()), &object).expect("kept");
        assert_eq!(kept.missing(&(0..10)), [3..6]);
        kept.file.write_all_at(b"x", 7).expect("damaged");
        let kept = ObjectParts::open(Some(cache.path()), &object).expect("kept");
        assert_eq!(kept.missing(&(0..10)), [3..10]);
        let mut other = object.clone();
        other.version_tag = Some("\"f\"".to_owned());
        assert_eq!(ObjectParts::missing_of(cache.path(), &other), 10);
        ObjectParts::forget(cache.path(), &object);
        assert_eq!(ObjectParts::missing_of(cache.path(), &object), 10);
    }
}
