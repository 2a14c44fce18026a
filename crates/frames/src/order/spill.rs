//! Spill file: rows partitioned into buckets of one append-only file. A chunk is a frame of one bucket with its checksum, so that an
//! interrupted import resumes with the complete chunks. The columns have no meaning here.

use std::{
    fs::{File, OpenOptions},
    io::{self, Cursor},
    path::Path,
};

use model::system::FileAt as _;

use polars::prelude::{
    Column, DataFrame, IdxCa, IdxSize, IpcStreamReader, IpcStreamWriter, PlSmallStr, PolarsResult,
    SerReader, SerWriter,
};

/// Default bytes of rows that are buffered before they are written.
const GATHERED: usize = 24 << 20;
/// Bytes of rows that make a chunk of their own; smaller frames are combined.
const CHUNK: usize = 2 << 20;
/// Header of a chunk: bucket, length, checksum.
const CHUNK_HEAD: usize = 12;
/// Maximum length of a chunk.
const CHUNK_MAX: u32 = 1 << 31;

pub struct SpillFile {
    file: File,
    length: u64,
    /// Bytes of buffered rows, and the limit from which they are written.
    gathered: usize,
    gathered_max: usize,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Default)]
struct Bucket {
    rows: Vec<DataFrame>,
    /// Its chunks: offset of the bytes, length, checksum.
    chunks: Vec<(u64, u32, u32)>,
}

/// Error for spill files that do not match their checksums or lengths.
pub(super) fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the part written before is damaged",
    )
}

/// The rows at these positions, in this order.
pub fn rows_at(frame: &DataFrame, places: Vec<IdxSize>) -> PolarsResult<DataFrame> {
    let height = places.len();
    let places = IdxCa::from_vec(PlSmallStr::EMPTY, places);
    let columns: PolarsResult<Vec<Column>> = frame
        .columns()
        .iter()
        .map(|column| column.take(&places))
        .collect();
    DataFrame::new(height, columns?)
}

/// Concatenates the frames into one chunk; none without frames.
pub fn whole(frames: impl IntoIterator<Item = DataFrame>) -> PolarsResult<Option<DataFrame>> {
    let mut frames = frames.into_iter();
    let Some(mut whole) = frames.next() else {
        return Ok(None);
    };
    for frame in frames {
        whole.vstack_mut(&frame)?;
    }
    whole.rechunk_mut();
    Ok(Some(whole))
}

impl SpillFile {
    /// Creates a file with this number of buckets.
    pub fn create(path: &Path, buckets: usize) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        Ok(Self {
            file,
            length: 0,
            gathered: 0,
            gathered_max: GATHERED,
            buckets: vec![Bucket::default(); buckets],
        })
    }

    /// Sets the limit of buffered bytes.
    #[must_use]
    pub fn gathering(self, gathered_max: usize) -> Self {
        Self {
            gathered_max,
            ..self
        }
    }

    /// As `create`, or with the first `written` bytes of the file that an earlier run left.
    pub fn open(path: &Path, buckets: usize, written: Option<u64>) -> io::Result<Self> {
        let Some(length) = written else {
            return Self::create(path, buckets);
        };
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < length {
            return Err(damaged());
        }
        file.set_len(length)?;
        let mut spill = Self {
            file,
            length: 0,
            gathered: 0,
            gathered_max: GATHERED,
            buckets: vec![Bucket::default(); buckets],
        };
        while spill.length < length {
            let mut head = [0; CHUNK_HEAD];
            spill.file.read_exact_at(&mut head, spill.length)?;
            let [bucket, bytes, sum] = [0, 4, 8]
                .map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
            let at = spill.length + CHUNK_HEAD as u64;
            spill.length = at + u64::from(bytes);
            let bucket = spill
                .buckets
                .get_mut(bucket as usize)
                .filter(|_| bytes <= CHUNK_MAX && spill.length <= length);
            bucket.ok_or_else(damaged)?.chunks.push((at, bytes, sum));
        }
        Ok(spill)
    }

    /// Adds rows; `buckets` gives the bucket of each. Rows of one bucket keep their order.
    pub fn add(&mut self, frame: DataFrame, buckets: &[u32]) -> io::Result<()> {
        if buckets.is_empty() {
            return Ok(());
        }
        let mut ends = vec![0u32; self.buckets.len()];
        for bucket in buckets {
            *ends.get_mut(*bucket as usize).ok_or_else(damaged)? += 1;
        }
        self.gathered += frame.estimated_size();
        if let Some(all) = ends
            .iter()
            .position(|count| *count as usize == buckets.len())
        {
            self.buckets[all].rows.push(frame);
        } else {
            let mut next = vec![0; ends.len()];
            for bucket in 1..ends.len() {
                next[bucket] = next[bucket - 1] + ends[bucket - 1];
            }
            let starts = next.clone();
            let mut places: Vec<IdxSize> = vec![0; buckets.len()];
            for (row, bucket) in (0..).zip(buckets) {
                let slot = &mut next[*bucket as usize];
                places[*slot as usize] = row;
                *slot += 1;
            }
            let spread = rows_at(&frame, places).map_err(io::Error::other)?;
            for (bucket, (start, end)) in starts
                .into_iter()
                .zip(next)
                .enumerate()
                .filter(|(_, (start, end))| start < end)
            {
                self.buckets[bucket]
                    .rows
                    .push(spread.slice(i64::from(start), (end - start) as usize));
            }
        }
        if self.gathered >= self.gathered_max {
            self.flush().map(drop)
        } else {
            Ok(())
        }
    }

    /// Flushes the buffer; returns the length of the file.
    pub fn flush(&mut self) -> io::Result<u64> {
        let mut bytes = Vec::new();
        for bucket in 0..self.buckets.len() {
            let (mut chunk, mut held) = (Vec::new(), 0);
            // Frames are freed as they are written, before the rest is processed.
            for rows in std::mem::take(&mut self.buckets[bucket].rows) {
                held += rows.estimated_size();
                chunk.push(rows);
                if held >= CHUNK {
                    self.write(bucket, std::mem::take(&mut chunk), &mut bytes)?;
                    held = 0;
                }
            }
            self.write(bucket, chunk, &mut bytes)?;
        }
        self.gathered = 0;
        Ok(self.length)
    }

    /// Writes the rows as one chunk of the bucket; `bytes` is a reusable buffer.
    fn write(
        &mut self,
        bucket: usize,
        rows: Vec<DataFrame>,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let Some(mut frame) = whole(rows).map_err(io::Error::other)? else {
            return Ok(());
        };
        bytes.clear();
        bytes.extend_from_slice(&[0; CHUNK_HEAD]);
        IpcStreamWriter::new(&mut *bytes)
            .finish(&mut frame)
            .map_err(io::Error::other)?;
        let (length, sum) = (
            (bytes.len() - CHUNK_HEAD) as u32,
            crc32fast::hash(&bytes[CHUNK_HEAD..]),
        );
        for (slot, word) in
            bytes
                .as_chunks_mut::<4>()
                .0
                .iter_mut()
                .zip([bucket as u32, length, sum])
        {
            *slot = word.to_le_bytes();
        }
        self.file.write_all_at(bytes, self.length)?;
        self.buckets[bucket]
            .chunks
            .push((self.length + CHUNK_HEAD as u64, length, sum));
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Bytes written and buffered.
    pub fn taken(&self) -> u64 {
        self.length + self.gathered as u64
    }

    /// Bytes written of the bucket.
    pub fn bytes(&self, bucket: usize) -> u64 {
        self.buckets.get(bucket).map_or(0, |bucket| {
            bucket.chunks.iter().map(|chunk| u64::from(chunk.1)).sum()
        })
    }

    /// The written frames of the bucket, in row order.
    pub fn frames(&self, bucket: usize) -> impl Iterator<Item = io::Result<DataFrame>> {
        self.buckets
            .get(bucket)
            .into_iter()
            .flat_map(|bucket| &bucket.chunks)
            .map(|&(at, length, sum)| {
                let mut bytes = vec![0; length as usize];
                self.file.read_exact_at(&mut bytes, at)?;
                if crc32fast::hash(&bytes) != sum {
                    return Err(damaged());
                }
                let mut frame = IpcStreamReader::new(Cursor::new(bytes))
                    .finish()
                    .map_err(|_| damaged())?;
                frame.rechunk_mut();
                Ok(frame)
            })
    }

    /// The bucket as one frame; none where it is empty.
    pub fn whole(&self, bucket: usize) -> io::Result<Option<DataFrame>> {
        let frames: io::Result<Vec<DataFrame>> = self.frames(bucket).collect();
        whole(frames?).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;

    fn texts(texts: &[&str]) -> DataFrame {
        DataFrame::new(
            texts.len(),
            vec![Series::new("text".into(), texts).into_column()],
        )
        .unwrap()
    }

    fn all(spill: &SpillFile, bucket: usize) -> io::Result<Vec<String>> {
        let Some(frame) = spill.whole(bucket)? else {
            return Ok(Vec::new());
        };
        Ok(frame
            .column("text")
            .unwrap()
            .str()
            .unwrap()
            .iter()
            .flatten()
            .map(str::to_owned)
            .collect())
    }

    #[test]
    fn rows_are_read_by_bucket_and_a_file_that_was_cut_off_resumes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut spill = SpillFile::create(&path, 3).unwrap();
        spill.add(texts(&["one"]), &[2]).unwrap();
        let length = spill.flush().unwrap();
        spill
            .add(texts(&["lost", "lost", "lost"]), &[2, 0, 2])
            .unwrap();
        spill.flush().unwrap();
        let mut spill = SpillFile::open(&path, 3, Some(length)).unwrap();
        spill
            .add(texts(&["two", "other", "three"]), &[2, 1, 2])
            .unwrap();
        spill.add(texts(&["four"]), &[2]).unwrap();
        spill.flush().unwrap();
        assert_eq!(all(&spill, 0).unwrap(), [""; 0]);
        assert_eq!(all(&spill, 1).unwrap(), ["other"]);
        assert_eq!(all(&spill, 2).unwrap(), ["one", "two", "three", "four"]);
        assert!(
            spill.add(texts(&["none"]), &[3]).is_err(),
            "a bucket that cannot be"
        );
        // A flipped bit is detected.
        spill.file.write_all_at(b"!", CHUNK_HEAD as u64).unwrap();
        assert!(all(&spill, 2).is_err());
        assert!(
            SpillFile::open(&path, 2, Some(spill.length)).is_err(),
            "a bucket that cannot be"
        );
    }
}
