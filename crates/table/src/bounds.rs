//! Zone map: minimum and maximum of each numeric column in each block of rows, by which top-k search and filters skip blocks. Stored as raw
//! bits; the column's storage type gives their type.

use std::{fs::File, io, ops::Range, path::Path};

use model::system::FileAt as _;

use super::{
    StorageType, StoredColumn, UNKNOWN,
    index::{PAGE, PageStats, Region},
};

/// Bytes read at a time.
const READ: usize = 256 * PAGE;
/// Bytes per number.
const WIDTH: u64 = 8;

/// Min/max statistics of a column, block by block.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Rows per block.
    pub rows: usize,
    /// Minimum and maximum; in a block without values the first is above the second.
    pub bounds: &'a [[u64; 2]],
}

/// Range of a column's values over some rows. A null integer may count as 0: the range is never too narrow, but not always tight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extent {
    /// All cells are null.
    Empty,
    Float(f64, f64),
    /// Integers, times in milliseconds or days.
    Whole(i64, i64),
}

/// Whether the zone map covers columns of this storage type.
pub fn has_bounds(storage: StorageType) -> bool {
    storage == StorageType::Float || storage.is_whole()
}

impl Extent {
    fn none(storage: StorageType) -> Self {
        if storage == StorageType::Float {
            Self::Float(f64::INFINITY, f64::NEG_INFINITY)
        } else {
            Self::Whole(i64::MAX, i64::MIN)
        }
    }

    fn of_bits(storage: StorageType, [low, high]: [u64; 2]) -> Self {
        if storage == StorageType::Float {
            Self::Float(f64::from_bits(low), f64::from_bits(high))
        } else {
            Self::Whole(low as i64, high as i64)
        }
    }

    fn bits(self) -> [u64; 2] {
        match self {
            Self::Empty => [0; 2],
            Self::Float(low, high) => [low.to_bits(), high.to_bits()],
            Self::Whole(low, high) => [low as u64, high as u64],
        }
    }

    fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Float(a, b), Self::Float(c, d)) => Self::Float(a.min(c), b.max(d)),
            (Self::Whole(a, b), Self::Whole(c, d)) => Self::Whole(a.min(c), b.max(d)),
            (extent, _) => extent,
        }
    }

    /// Range of cells as stored in the file, without those that stand for a null.
    fn of_cells(storage: StorageType, cells: &[[u8; 8]]) -> Self {
        let none = Self::none(storage);
        match none {
            Self::Float(low, high) => {
                let floats = cells.iter().map(|cell| f64::from_le_bytes(*cell));
                let (low, high) = floats.fold((low, high), |(low, high), value| {
                    (low.min(value), high.max(value))
                });
                Self::Float(low, high)
            }
            Self::Whole(low, high) => {
                let numbers = cells
                    .iter()
                    .map(|cell| i64::from_le_bytes(*cell))
                    .filter(|number| *number != UNKNOWN);
                let (low, high) = numbers.fold((low, high), |(low, high), value| {
                    (low.min(value), high.max(value))
                });
                Self::Whole(low, high)
            }
            Self::Empty => none,
        }
    }

    /// `Empty` where the low end is above the high end, as before any value.
    fn checked(self) -> Self {
        match self {
            Self::Float(low, high) if low > high => Self::Empty,
            Self::Whole(low, high) if low > high => Self::Empty,
            extent => extent,
        }
    }
}

impl Bounds<'_> {
    /// Blocks that overlap `rows`: the value range of each, and its share of `rows`.
    pub fn blocks(
        self,
        storage: StorageType,
        rows: Range<usize>,
    ) -> impl Iterator<Item = (Extent, Range<usize>)> {
        let blocks = if rows.is_empty() {
            0..0
        } else {
            rows.start / self.rows..rows.end.div_ceil(self.rows)
        };
        blocks.filter_map(move |block| {
            let bounds = self.bounds.get(block)?;
            let here = block * self.rows..(block + 1) * self.rows;
            Some((
                Extent::of_bits(storage, *bounds).checked(),
                here.start.max(rows.start)..here.end.min(rows.end),
            ))
        })
    }

    /// Union of the value ranges of the rows' blocks.
    pub fn extent(self, storage: StorageType, rows: Range<usize>) -> Extent {
        let blocks = self
            .blocks(storage, rows)
            .map(|(extent, _)| extent)
            .filter(|extent| *extent != Extent::Empty);
        blocks.fold(Extent::none(storage), Extent::union).checked()
    }
}

/// Reads the finished file once: returns a checksum of each page, and the min/max of each block of `block` rows.
pub fn checksums_and_bounds(
    path: &Path,
    stored: &[StoredColumn],
    regions: &[Region],
    rows: u64,
    block: u64,
) -> io::Result<PageStats> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let read = |bytes: &mut [u8], at| file.read_exact_at(bytes, at);
    stats(length, &read, stored, regions, (rows, block))
}

/// The min/max of each block of rows in memory.
pub fn bounds_of(
    bytes: &[u8],
    stored: &[StoredColumn],
    regions: &[Region],
    rows: u64,
    block: u64,
) -> io::Result<PageStats> {
    let read = |part: &mut [u8], at: u64| {
        let here = bytes.get(at as usize..at as usize + part.len());
        part.copy_from_slice(here.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    };
    let mut stats = stats(bytes.len() as u64, &read, stored, regions, (rows, block))?;
    // What is in memory is not verified.
    stats.checksums.clear();
    Ok(stats)
}

fn stats(
    length: u64,
    read: &dyn Fn(&mut [u8], u64) -> io::Result<()>,
    stored: &[StoredColumn],
    regions: &[Region],
    (rows, block): (u64, u64),
) -> io::Result<PageStats> {
    let blocks = rows.div_ceil(block) as usize;
    let numbers = stored
        .iter()
        .zip(regions)
        .filter(|((_, storage), _)| has_bounds(*storage));
    // A column without values has no range, whatever its bytes are.
    let start = |region: &Region| {
        if region.nulls == rows {
            length
        } else {
            region.values.0
        }
    };
    let mut columns: Vec<(StorageType, u64, Vec<Extent>)> = numbers
        .map(|((_, storage), region)| {
            (
                *storage,
                start(region),
                vec![Extent::none(*storage); blocks],
            )
        })
        .collect();
    let mut checksums = Vec::with_capacity((length as usize).div_ceil(PAGE));
    let mut bytes = vec![0; READ];
    let mut at = 0;
    while at < length {
        let take = (length - at).min(READ as u64);
        let bytes = &mut bytes[..take as usize];
        read(bytes, at)?;
        checksums.extend(bytes.chunks(PAGE).map(crc32fast::hash));
        // Columns and read buffers begin at multiples of a number's width.
        for (storage, values, extents) in &mut columns {
            let here = at.max(*values)..(at + take).min(*values + rows * WIDTH);
            let mut row = here.start.saturating_sub(*values) / WIDTH;
            let cells = bytes
                .get(here.start.saturating_sub(at) as usize..here.end.saturating_sub(at) as usize);
            let mut cells = cells
                .filter(|_| here.start < here.end)
                .unwrap_or_default()
                .as_chunks::<8>()
                .0;
            while let (Some(extent), false) =
                (extents.get_mut((row / block) as usize), cells.is_empty())
            {
                let (now, later) = cells.split_at(cells.len().min((block - row % block) as usize));
                *extent = extent.union(Extent::of_cells(*storage, now));
                (row, cells) = (row + now.len() as u64, later);
            }
        }
        at += take;
    }
    let bounds = columns
        .into_iter()
        .flat_map(|(.., extents)| extents)
        .map(Extent::bits)
        .collect();
    Ok(PageStats { checksums, bounds })
}
