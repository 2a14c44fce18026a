//! The index of a table: first row of each token and interval, zone map, a checksum of each page of `rows.arrow`, and the load report. One
//! memory-mapped file with a checksum of its own.

use std::{fs::File, io::Write, ops::Range, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{bounds::Bounds, error::TableError, map::Image};
use model::{address::Address, schema::TableSchema};

/// Bytes of `rows.arrow` per checksum: a memory page, the unit that a first access reads from disk.
pub const PAGE: usize = 4 << 10;
const MAGIC: u64 = u64::from_le_bytes(*b"tdindex2");
/// Header words: the magic, and the lengths of the sections.
const WORDS: usize = 6;

/// Table-level metadata of the index.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TableMetadata {
    pub table: String,
    pub rows: u64,
    pub regions: Vec<Region>,
    /// Rows per block of the zone map.
    pub block: u64,
    /// Length of `rows.arrow`.
    pub bytes: u64,
    /// Result of loading the table, as its owner wrote it.
    pub report: Box<RawValue>,
    /// Name of the cache entry that this one grew from.
    pub grown_from: Option<String>,
}

/// Buffers of a column in the file, each as (offset, length) in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Region {
    pub name: String,
    pub nulls: u64,
    /// Validity bitmap: one bit per row, 1 where it has a value; of length 0 where all have one.
    pub validity: (u64, u64),
    /// The values, or the offsets of a variable-width column.
    pub values: (u64, u64),
    /// The bytes of a variable-width column.
    pub data: (u64, u64),
}

/// First row of every token and interval, recorded as the rows are written.
#[derive(Debug, Default)]
pub struct RunStarts {
    /// Rank of the token, first row.
    tokens: Vec<(u32, u64)>,
    /// Interval, first row.
    runs: Vec<(i64, u64)>,
}

impl RunStarts {
    /// Records the token and interval of `row`, the next to be written.
    pub fn row(&mut self, rank: u32, interval: i64, row: u64) {
        let new = self.tokens.last().is_none_or(|last| last.0 != rank);
        if new {
            self.tokens.push((rank, row));
        }
        if new || self.runs.last().is_none_or(|last| last.0 != interval) {
            self.runs.push((interval, row));
        }
    }
}

/// Checksums and zone map of the finished file.
#[derive(Debug, Default)]
pub struct PageStats {
    /// One per page.
    pub checksums: Vec<u32>,
    /// Minimum and maximum of each block, one numeric column after another.
    pub bounds: Vec<[u64; 2]>,
}

/// Writes the index to a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), TableError> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    Ok(file.sync_all()?)
}

/// The bytes of an index; `addresses` maps ranks to tokens.
pub fn encode(
    metadata: &TableMetadata,
    starts: &RunStarts,
    stats: &PageStats,
    addresses: &[Address],
) -> Result<Vec<u8>, TableError> {
    let mut metadata_text = serde_json::to_vec(metadata)?;
    metadata_text.resize(metadata_text.len().next_multiple_of(8), b' ');
    let (tokens, runs) = (starts.tokens.len(), starts.runs.len());
    let mut bytes: Vec<u8> = Vec::new();
    for word in [
        MAGIC,
        metadata_text.len() as u64,
        tokens as u64,
        runs as u64,
        stats.checksums.len() as u64,
        stats.bounds.len() as u64,
    ] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&metadata_text);
    let token_starts = starts
        .tokens
        .iter()
        .map(|token| token.1)
        .chain([metadata.rows]);
    let run_starts = starts.runs.iter().map(|run| run.1).chain([metadata.rows]);
    token_starts
        .chain(run_starts)
        .for_each(|row| bytes.extend_from_slice(&row.to_le_bytes()));
    starts
        .runs
        .iter()
        .for_each(|run| bytes.extend_from_slice(&run.0.to_le_bytes()));
    stats
        .bounds
        .as_flattened()
        .iter()
        .for_each(|bound| bytes.extend_from_slice(&bound.to_le_bytes()));
    for page in &stats.checksums {
        bytes.extend_from_slice(&page.to_le_bytes());
    }
    for token in &starts.tokens {
        bytes.extend_from_slice(
            &addresses
                .get(token.0 as usize)
                .copied()
                .unwrap_or_default()
                .0,
        );
    }
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

/// The index of a table, verified.
#[derive(Debug)]
pub struct Index {
    map: Image,
    pub metadata: TableMetadata,
    starts: Range<usize>,
    run_starts: Range<usize>,
    intervals: Range<usize>,
    bounds: Range<usize>,
    checksums: Range<usize>,
    tokens: Range<usize>,
}

impl Index {
    pub fn open(path: &Path) -> Result<Self, TableError> {
        Self::of(Image::open(path)?)
    }

    /// The index of a table without rows.
    pub fn empty(schema: &TableSchema) -> Self {
        let none = 0..0;
        Self {
            // The start behind the last token, and behind the last run.
            map: Image::from(&[0; 16][..]),
            metadata: TableMetadata {
                table: schema.name.to_owned(),
                ..TableMetadata::default()
            },
            starts: 0..8,
            run_starts: 8..16,
            intervals: none.clone(),
            bounds: none.clone(),
            checksums: none.clone(),
            tokens: none,
        }
    }

    pub fn of(map: Image) -> Result<Self, TableError> {
        let bytes = map.bytes();
        let Some((body, sum)) = bytes.split_last_chunk::<4>() else {
            return Err(TableError::DamagedIndex);
        };
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(TableError::DamagedIndex);
        }
        let word = |nth: usize| {
            body.get(nth * 8..)
                .and_then(|rest| rest.first_chunk())
                .map(|bytes| u64::from_le_bytes(*bytes))
        };
        let count = |nth: usize| {
            word(nth)
                .and_then(|word| usize::try_from(word).ok())
                .filter(|count| *count <= body.len())
        };
        let counts = (count(1), count(2), count(3), count(4), count(5));
        let (
            Some(MAGIC),
            (Some(metadata), Some(tokens), Some(runs), Some(checksums), Some(bounds)),
        ) = (word(0), counts)
        else {
            return Err(TableError::DamagedIndex);
        };
        let mut at = WORDS * 8;
        let mut section = |length: usize| {
            at += length;
            at - length..at
        };
        let metadata = section(metadata);
        let (starts, run_starts, intervals) = (
            section((tokens + 1) * 8),
            section((runs + 1) * 8),
            section(runs * 8),
        );
        let (bounds, checksums, tokens) = (
            section(bounds * 16),
            section(checksums * 4),
            section(tokens * 20),
        );
        if tokens.end != body.len() {
            return Err(TableError::DamagedIndex);
        }
        let metadata = serde_json::from_slice(&body[metadata])?;
        let index = Self {
            map,
            metadata,
            starts,
            run_starts,
            intervals,
            bounds,
            checksums,
            tokens,
        };
        let ordered = |rows: &[u64]| rows.is_sorted() && rows.last() == Some(&index.metadata.rows);
        if ordered(index.starts()) && ordered(index.run_starts()) {
            Ok(index)
        } else {
            Err(TableError::DamagedIndex)
        }
    }

    pub fn is_truncated(&self) -> bool {
        self.map.is_truncated()
    }

    /// A section of little-endian numbers, read in the machine's byte order, which must be the same; empty where the file lacks it.
    fn numbers<T: bytemuck::AnyBitPattern>(&self, section: &Range<usize>) -> &[T] {
        self.map
            .bytes()
            .get(section.clone())
            .and_then(|bytes| bytemuck::try_cast_slice(bytes).ok())
            .unwrap_or_default()
    }

    /// First row of each token, then the number of rows.
    pub fn starts(&self) -> &[u64] {
        self.numbers(&self.starts)
    }

    fn run_starts(&self) -> &[u64] {
        self.numbers(&self.run_starts)
    }

    /// Zone map of the `nth` numeric column.
    pub fn bounds(&self, nth: usize) -> Option<Bounds<'_>> {
        let rows = usize::try_from(self.metadata.block)
            .ok()
            .filter(|rows| *rows > 0)?;
        let blocks = (self.metadata.rows as usize).div_ceil(rows);
        let bounds = self
            .numbers::<[u64; 2]>(&self.bounds)
            .get(nth * blocks..(nth + 1) * blocks)?;
        Some(Bounds { rows, bounds })
    }

    pub fn checksums(&self) -> &[u32] {
        self.numbers(&self.checksums)
    }

    /// Addresses of the tokens, sorted.
    pub fn tokens(&self) -> &[[u8; 20]] {
        self.map
            .bytes()
            .get(self.tokens.clone())
            .unwrap_or_default()
            .as_chunks()
            .0
    }

    pub fn rows_of(&self, token: &Address) -> Option<Range<usize>> {
        let at = self.tokens().binary_search(&token.0).ok()?;
        let starts = self.starts();
        Some(*starts.get(at)? as usize..*starts.get(at + 1)? as usize)
    }

    /// Index of the token that owns the row.
    pub fn owner_at(&self, row: usize) -> Option<usize> {
        self.starts()
            .partition_point(|&start| start as usize <= row)
            .checked_sub(1)
            .filter(|owner| *owner < self.tokens().len())
    }

    /// Tokens of the rows, each with its share of them.
    pub fn tokens_in(&self, rows: Range<usize>) -> impl Iterator<Item = (Address, Range<usize>)> {
        runs_in(self.starts(), self.tokens(), rows).map(|(token, rows)| (Address(token), rows))
    }

    /// Intervals of the rows, each with its share of them.
    pub fn intervals_in(&self, rows: Range<usize>) -> impl Iterator<Item = (i64, Range<usize>)> {
        runs_in(
            self.run_starts(),
            self.numbers::<i64>(&self.intervals),
            rows,
        )
    }
}

/// Runs that overlap the rows, each with its value, clipped to the rows. `starts` are the first rows of the runs, then the number of rows.
fn runs_in<T: Copy>(
    starts: &[u64],
    values: &[T],
    rows: Range<usize>,
) -> impl Iterator<Item = (T, Range<usize>)> {
    let first = starts
        .partition_point(|&start| start as usize <= rows.start)
        .saturating_sub(1);
    (first..values.len()).map_while(move |at| {
        let (start, end) = (starts[at] as usize, *starts.get(at + 1)? as usize);
        (start < rows.end).then(|| (values[at], start.max(rows.start)..end.min(rows.end)))
    })
}
