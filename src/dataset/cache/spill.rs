//! Records on their way, spread over buckets in one file that only grows. A chunk is of one bucket and carries its checksum, so that
//! an import that was cut off goes on with what is whole. What a record is, this file does not know.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

/// Bytes of all buffers together.
const BUFFERS: usize = 16 << 20;
/// Bucket, length, checksum.
const CHUNK_HEAD: usize = 12;
/// The longest chunk: one record of the longest cells.
const CHUNK_MAX: u32 = 1 << 30;

pub(super) struct Spill {
    file: File,
    length: u64,
    chunk: usize,
    buffers: Vec<Vec<u8>>,
    /// Where each bucket's chunks lie: place of the bytes, length, checksum.
    chunks: Vec<Vec<(u64, u32, u32)>>,
}

impl Spill {
    /// A new file of so many buckets.
    pub(super) fn create(path: &Path, buckets: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Self::over(file, buckets))
    }

    fn over(file: File, buckets: usize) -> Self {
        let chunk = (BUFFERS / buckets.max(1)).clamp(4 << 10, 1 << 20);
        Self { file, length: 0, chunk, buffers: vec![Vec::new(); buckets], chunks: vec![Vec::new(); buckets] }
    }

    /// The first `length` bytes of a file that an earlier run left.
    pub(super) fn reopen(path: &Path, buckets: usize, length: u64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < length {
            return Err(damaged());
        }
        file.set_len(length)?;
        let mut spill = Self::over(file, buckets);
        while spill.length < length {
            let mut head = [0; CHUNK_HEAD];
            spill.file.read_exact_at(&mut head, spill.length)?;
            let [bucket, bytes, sum] = [0, 4, 8].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
            let at = spill.length + CHUNK_HEAD as u64;
            spill.length = at + u64::from(bytes);
            let chunks = spill.chunks.get_mut(bucket as usize).filter(|_| bytes <= CHUNK_MAX && spill.length <= length);
            chunks.ok_or_else(damaged)?.push((at, bytes, sum));
        }
        Ok(spill)
    }

    /// The buffer to append one record to; `settle` follows.
    pub(super) fn buffer(&mut self, bucket: usize) -> &mut Vec<u8> {
        &mut self.buffers[bucket]
    }

    /// A record is complete.
    pub(super) fn settle(&mut self, bucket: usize) -> io::Result<()> {
        if self.buffers[bucket].len() >= self.chunk { self.write(bucket) } else { Ok(()) }
    }

    fn write(&mut self, bucket: usize) -> io::Result<()> {
        let bytes = &self.buffers[bucket];
        let mut head = [0; CHUNK_HEAD];
        let sum = crc32fast::hash(bytes);
        for (at, word) in [(0, bucket as u32), (4, bytes.len() as u32), (8, sum)] {
            head[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let at = self.length + CHUNK_HEAD as u64;
        self.file.write_all_at(&head, self.length)?;
        self.file.write_all_at(bytes, at)?;
        self.chunks[bucket].push((at, bytes.len() as u32, sum));
        self.length = at + bytes.len() as u64;
        self.buffers[bucket].clear();
        Ok(())
    }

    /// Writes what is buffered; gives back the length of the file.
    pub(super) fn flush(&mut self) -> io::Result<u64> {
        for bucket in 0..self.buffers.len() {
            if !self.buffers[bucket].is_empty() {
                self.write(bucket)?;
            }
        }
        Ok(self.length)
    }

    /// Gives back the memory of the buffers; records can still be read.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.flush()?;
        self.buffers.iter_mut().for_each(|buffer| *buffer = Vec::new());
        Ok(())
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Bytes of records in the bucket.
    pub(super) fn bytes(&self, bucket: usize) -> u64 {
        self.chunks[bucket].iter().map(|chunk| u64::from(chunk.1)).sum()
    }

    /// Reads the bucket's chunk of that number, in the order written: whole records. False past the last.
    pub(super) fn chunk(&self, bucket: usize, nth: usize, bytes: &mut Vec<u8>) -> io::Result<bool> {
        let Some(&(at, length, sum)) = self.chunks[bucket].get(nth) else { return Ok(false) };
        let start = bytes.len();
        bytes.resize(start + length as usize, 0);
        self.file.read_exact_at(&mut bytes[start..], at)?;
        if crc32fast::hash(&bytes[start..]) == sum { Ok(true) } else { Err(damaged()) }
    }
}

/// What was written is not what is read.
pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what was written before is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_by_bucket_and_a_cut_file_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spill");
        let mut spill = Spill::create(&path, 3).unwrap();
        let put = |spill: &mut Spill, bucket: usize, record: &[u8]| {
            spill.buffer(bucket).extend_from_slice(record);
            spill.settle(bucket).unwrap();
        };
        let all = |spill: &Spill, bucket: usize| {
            let mut bytes = Vec::new();
            let mut nth = 0;
            while spill.chunk(bucket, nth, &mut bytes)? {
                nth += 1;
            }
            Ok::<_, io::Error>(bytes)
        };
        put(&mut spill, 2, b"one");
        let length = spill.flush().unwrap();
        put(&mut spill, 2, b"lost");
        put(&mut spill, 0, b"lost");
        spill.flush().unwrap();
        let mut spill = Spill::reopen(&path, 3, length).unwrap();
        put(&mut spill, 2, b"two");
        spill.close().unwrap();
        assert_eq!((all(&spill, 0).unwrap(), all(&spill, 2).unwrap()), (b"".to_vec(), b"onetwo".to_vec()));
        // A flipped bit is seen.
        spill.file.write_all_at(b"0", CHUNK_HEAD as u64).unwrap();
        assert!(all(&spill, 2).is_err());
        assert!(Spill::reopen(&path, 2, spill.length()).is_err(), "a bucket that cannot be");
    }
}
