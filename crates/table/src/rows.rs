//! Reading a table, in memory or memory-mapped: rows are found through the index, and each page of a mapped file is verified against its
//! checksum when it is first read. Data that does not match is never returned: the table is marked as damaged and returns nothing.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use super::{
    SortLimits, StorageType, StoredColumn,
    bounds::{Bounds, Extent, has_bounds},
    index::{Index, PAGE, Region},
    map::Image,
    stored_columns,
};
use serde_json::value::RawValue;

use super::error::TableError;
use model::{
    address::Address,
    interval::Interval,
    scalar::Scalar,
    schema::{Column, TableSchema},
    time::{Day, Time},
};

/// Number of pages after whose first reading the map's pages are given back. The system maps up to 16 with each, so a pass over a whole table
/// keeps 16 MiB of it.
const RELEASE_EVERY: usize = 256;

/// Offset of the columns in the file of rows, behind its schema and the header of its record batch.
pub const BODY_AT: u64 = 32 << 10;

/// The two files of a table.
pub const ROWS: &str = "rows.arrow";
pub const INDEX: &str = "index";

#[derive(Debug)]
pub struct TableRows {
    schema: &'static TableSchema,
    columns: Vec<StoredColumn>,
    index: Index,
    map: Image,
    /// Bitmap of the pages whose checksum was verified.
    verified: Vec<AtomicU64>,
    /// Their number.
    pages_read: AtomicUsize,
    damaged: AtomicBool,
    folder: PathBuf,
    sorting: SortLimits,
}

impl Default for TableRows {
    fn default() -> Self {
        Self::empty(&TableSchema::PLAIN)
    }
}

impl TableRows {
    /// A table without rows.
    pub fn empty(schema: &'static TableSchema) -> Self {
        Self::held(
            schema,
            stored_columns(schema),
            Index::empty(schema),
            Image::from(&[][..]),
            PathBuf::new(),
        )
    }

    /// Opens the table in `folder`; returns it with the report stored beside it. Verifies the checksum of the index, the length of the file
    /// of rows, and its header and footer.
    pub fn open(
        folder: &Path,
        schema: &'static TableSchema,
        sorting: SortLimits,
    ) -> Result<(Self, Box<RawValue>), TableError> {
        let mut index = Index::open(&folder.join(INDEX))?;
        let map = Image::open(&folder.join(ROWS))?;
        let columns = stored_columns(schema);
        let names = columns.iter().map(|(column, _)| column.name);
        let checksums = map.bytes().len().div_ceil(PAGE);
        if index.metadata.table != schema.name
            || index.metadata.bytes != map.bytes().len() as u64
            || index.checksums().len() != checksums
        {
            return Err(TableError::Mismatched);
        }
        if !names.eq(index
            .metadata
            .regions
            .iter()
            .map(|region| region.name.as_str()))
        {
            return Err(TableError::UnexpectedColumns);
        }
        let report = std::mem::take(&mut index.metadata.report);
        let verified = (0..checksums.div_ceil(64))
            .map(|_| AtomicU64::new(0))
            .collect();
        let (damaged, folder) = (AtomicBool::new(false), folder.to_owned());
        let pages_read = AtomicUsize::new(0);
        let table = Self {
            schema,
            columns,
            index,
            map,
            verified,
            pages_read,
            damaged,
            folder,
            sorting,
        };
        // Header and footer of the Arrow file.
        let length = table.map.bytes().len();
        let is_intact =
            table.verify(0..BODY_AT as usize) && table.verify(length.saturating_sub(PAGE)..length);
        if is_intact {
            Ok((table, report))
        } else {
            Err(TableError::DamagedFile)
        }
    }

    /// The table of an index and columns in memory.
    pub fn held(
        schema: &'static TableSchema,
        columns: Vec<StoredColumn>,
        index: Index,
        map: Image,
        folder: PathBuf,
    ) -> Self {
        Self {
            schema,
            columns,
            index,
            map,
            verified: Vec::new(),
            pages_read: AtomicUsize::new(0),
            damaged: AtomicBool::new(false),
            folder,
            sorting: SortLimits {
                in_memory: usize::MAX,
                at_once: usize::MAX,
            },
        }
    }

    pub fn height(&self) -> usize {
        self.index.metadata.rows as usize
    }

    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// The columns of the schema, then the table's own.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> {
        let own = self.columns.iter().map(|(column, _)| *column);
        let own = own.filter(|column| self.schema.column(column.name).is_none());
        let is_there = |column: &&Column| {
            super::in_index(self.schema, column.name) || self.position(column.name).is_some()
        };
        self.schema.columns.iter().filter(is_there).chain(own)
    }

    /// The column of this name, of the schema or the table's own.
    pub fn column_named(&self, name: &str) -> Option<&'static Column> {
        self.columns().find(|column| column.name == name)
    }

    /// Whether the rows are in memory; those of a large table are in the cache.
    pub fn is_held(&self) -> bool {
        self.map.is_held()
    }

    /// Bytes of the rows, in memory or in the cache.
    pub fn bytes(&self) -> u64 {
        self.map.bytes().len() as u64
    }

    /// Whether a page did not match its checksum, or is missing. Results since then must not be used; the next load imports the table
    /// again.
    pub fn is_damaged(&self) -> bool {
        if self.map.is_truncated() || self.index.is_truncated() {
            self.give_up();
        }
        self.damaged.load(Ordering::Acquire)
    }

    /// All tokens that have rows, ordered by address.
    pub fn tokens(&self) -> impl Iterator<Item = Address> {
        self.index.tokens().iter().map(|bytes| Address(*bytes))
    }

    /// Row range of the token.
    pub fn rows_of(&self, token: &Address) -> Range<usize> {
        self.index.rows_of(token).unwrap_or_default()
    }

    /// Row range of each interval of the token, in table order.
    pub fn runs_of(&self, token: &Address) -> impl Iterator<Item = (Interval, Range<usize>)> {
        self.intervals_in(self.rows_of(token))
    }

    /// Whether the column is not stored, because all its cells are null.
    pub fn is_hollow(&self, column: &str) -> bool {
        self.position(column)
            .is_some_and(|nth| self.is_nth_hollow(nth))
    }

    pub fn is_nth_hollow(&self, nth: usize) -> bool {
        let nulls = self
            .index
            .metadata
            .regions
            .get(nth)
            .map(|region| region.nulls);
        self.columns
            .get(nth)
            .is_some_and(|(column, _)| column.sparse)
            && nulls == Some(self.index.metadata.rows)
    }

    /// Numbers of a column as stored; NaN for a null. `None` if the column is absent, all null, or damaged.
    pub fn floats(&self, column: &str, rows: Range<usize>) -> Option<&[f64]> {
        if self.is_hollow(column) {
            return None;
        }
        self.fixed(column, &[StorageType::Float], rows)
    }

    /// Addresses of a column as stored, zero for a null.
    pub fn addresses(&self, column: &str, rows: Range<usize>) -> Option<&[[u8; 20]]> {
        self.fixed(column, &[StorageType::Address], rows)
    }

    /// Integers, times or days of a column as stored; the least integer for a null.
    pub fn whole_numbers(&self, column: &str, rows: Range<usize>) -> Option<&[i64]> {
        self.fixed(
            column,
            &[StorageType::Integer, StorageType::Time, StorageType::Day],
            rows,
        )
    }

    /// Value range of a numeric column over the rows, as far as the zone map tells; none for a column without one.
    pub fn extent(&self, column: &str, rows: Range<usize>) -> Option<Extent> {
        self.bounds(column)
            .map(|(storage, bounds)| bounds.extent(storage, rows))
    }

    /// Whether the column has nulls.
    pub fn has_nulls(&self, column: &str) -> bool {
        self.cells(column)
            .is_some_and(|cells| cells.region.nulls > 0)
    }

    /// Zone map of a numeric column.
    pub fn bounds(&self, column: &str) -> Option<(StorageType, Bounds<'_>)> {
        let at = self
            .position(column)
            .filter(|at| has_bounds(self.columns[*at].1))?;
        let nth = self.columns[..at]
            .iter()
            .filter(|(_, storage)| has_bounds(*storage))
            .count();
        Some((self.columns[at].1, self.index.bounds(nth)?))
    }

    /// The folder of the table, which also takes temporary files of queries.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Memory limits of filtering and sorting its rows.
    pub fn sorting(&self) -> SortLimits {
        self.sorting
    }

    /// Cell-by-cell access to a column; none for a column stored in the index.
    pub fn cells(&self, name: &str) -> Option<CellsOf<'_>> {
        let at = self.position(name)?;
        Some(CellsOf {
            table: self,
            region: self.index.metadata.regions.get(at)?,
            storage: self.columns[at].1,
        })
    }

    /// The tokens of the rows, each with its share of them.
    pub fn tokens_in(&self, rows: Range<usize>) -> impl Iterator<Item = (Address, Range<usize>)> {
        self.index.tokens_in(rows)
    }

    /// Index of the row's token among all tokens, which are ordered by address.
    pub fn owner_at(&self, row: usize) -> Option<usize> {
        self.index.owner_at(row)
    }

    /// The interval of a candle.
    pub fn interval_at(&self, row: usize) -> Option<Interval> {
        self.intervals_in(row..row + 1)
            .next()
            .map(|(interval, _)| interval)
    }

    /// Runs of candles of one interval within the rows.
    pub fn intervals_in(
        &self,
        rows: Range<usize>,
    ) -> impl Iterator<Item = (Interval, Range<usize>)> {
        self.index
            .intervals_in(rows)
            .map(|(interval, rows)| (Interval(interval), rows))
    }

    /// Index of a column among those stored in the file.
    fn position(&self, column: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|(stored, _)| stored.name == column)
    }

    /// Cells as stored of a column that has one of these types, of the width of `T`.
    fn fixed<T: bytemuck::AnyBitPattern>(
        &self,
        column: &str,
        storage: &[StorageType],
        rows: Range<usize>,
    ) -> Option<&[T]> {
        let cells = self
            .cells(column)
            .filter(|cells| storage.contains(&cells.storage))?;
        let bytes = self.part(
            cells.region.values,
            rows.start * size_of::<T>()..rows.end * size_of::<T>(),
        )?;
        bytemuck::try_cast_slice(bytes).ok()
    }

    /// Part of a buffer, by the byte range from its start.
    fn part(&self, buffer: (u64, u64), bytes: Range<usize>) -> Option<&[u8]> {
        if bytes.start > bytes.end || bytes.end as u64 > buffer.1 {
            return None;
        }
        let place = buffer.0 as usize + bytes.start..buffer.0 as usize + bytes.end;
        if self.verify(place.clone()) {
            self.map.bytes().get(place)
        } else {
            None
        }
    }

    /// Whether the pages of these bytes match their checksums; each page is verified once.
    fn verify(&self, bytes: Range<usize>) -> bool {
        if bytes.is_empty() || self.map.is_held() {
            return true;
        }
        for page in bytes.start / PAGE..=(bytes.end - 1) / PAGE {
            let (word, bit) = (&self.verified[page / 64], 1 << (page % 64));
            if word.load(Ordering::Relaxed) & bit != 0 {
                continue;
            }
            let start = page * PAGE;
            let bytes = self
                .map
                .bytes()
                .get(start..(start + PAGE).min(self.map.bytes().len()))
                .unwrap_or_default();
            if self.index.checksums().get(page) != Some(&crc32fast::hash(bytes)) {
                self.give_up();
                return false;
            }
            word.fetch_or(bit, Ordering::Relaxed);
            if (self.pages_read.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(RELEASE_EVERY) {
                self.map.release();
            }
        }
        true
    }

    /// Marks the table as damaged and removes its index, so that the next load imports it again.
    fn give_up(&self) {
        if !self.damaged.swap(true, Ordering::AcqRel) {
            tracing::warn!(
                "`{}` in the cache is damaged and is being rebuilt",
                self.schema.name
            );
            std::fs::remove_file(self.folder.join(INDEX)).ok();
        }
    }

    /// The cell in `row` of the column; `Missing` if there is no such column or row.
    pub fn cell(&self, column: &str, row: usize) -> Scalar<'static> {
        if row >= self.height() {
            return Scalar::Missing;
        }
        if let Some(mut runs) = self.runs(column, row..row + 1) {
            return runs.pop().map(|(text, _)| text).into();
        }
        self.reader(column)
            .map_or(Scalar::Missing, |read| read(row).owned())
    }

    /// Reads single cells of a column that is not in the index; none if there is no such column.
    pub fn reader<'a>(&'a self, column: &str) -> Option<impl Fn(usize) -> Scalar<'a> + use<'a>> {
        let cells = self.cells(column)?;
        Some(move |row| {
            let bytes = cells.bytes(row);
            bytes
                .and_then(|bytes| scalar(cells.storage, bytes))
                .unwrap_or(Scalar::Missing)
        })
    }

    /// Name of the cache entry that this table grew from.
    pub fn grown_from(&self) -> Option<&str> {
        self.index.metadata.grown_from.as_deref()
    }

    /// Bytes of each variable-width column.
    pub fn text_bytes(&self) -> Vec<u64> {
        let regions = self.columns.iter().zip(&self.index.metadata.regions);
        regions
            .filter(|((_, storage), _)| storage.width().is_none())
            .map(|(_, region)| region.data.1)
            .collect()
    }

    /// Undecoded rows of a column that is not in the index, and how they are stored; none where there is no such column, or it is damaged.
    pub fn stored(&self, column: &str, rows: Range<usize>) -> Option<(StorageType, Raw<'_>)> {
        let nth = self.position(column)?;
        Some((self.columns[nth].1, self.raw(nth, rows)?))
    }

    /// Undecoded rows of the `nth` stored column; none where they are damaged.
    pub fn raw(&self, nth: usize, rows: Range<usize>) -> Option<Raw<'_>> {
        let (storage, region) = (
            self.columns.get(nth)?.1,
            self.index.metadata.regions.get(nth)?,
        );
        let values = if let Some(width) = storage.width() {
            Values::Fixed {
                width,
                bytes: self.part(region.values, rows.start * width..rows.end * width)?,
            }
        } else {
            let ends: &[u64] = bytemuck::try_cast_slice(
                self.part(region.values, rows.start * 8..(rows.end + 1) * 8)?,
            )
            .ok()?;
            Values::Texts {
                ends,
                data: self.part(region.data, *ends.first()? as usize..*ends.last()? as usize)?,
            }
        };
        let empty = if region.nulls == 0 {
            Vec::new()
        } else {
            self.validity(region, rows)?
                .enumerate()
                .filter(|(_, valid)| !valid)
                .map(|(row, _)| row)
                .collect()
        };
        Some(Raw { values, empty })
    }

    /// Starts of the runs of one token and interval that overlap the rows: token, interval, row.
    pub fn run_starts_in(&self, rows: Range<usize>) -> impl Iterator<Item = (Address, i64, usize)> {
        let tokens = self.index.tokens_in(rows);
        tokens.flat_map(|(token, rows)| {
            self.index
                .intervals_in(rows)
                .map(move |(interval, rows)| (token, interval, rows.start))
        })
    }

    /// First row of the tokens from this one on.
    pub fn start_from(&self, token: &Address) -> usize {
        let at = self
            .index
            .tokens()
            .partition_point(|known| *known < token.0);
        self.index
            .starts()
            .get(at)
            .map_or(self.height(), |start| *start as usize)
    }

    /// The texts of a column that is stored in the index, each with its share of the rows; none for another column.
    pub fn runs(&self, column: &str, rows: Range<usize>) -> Option<Vec<(String, Range<usize>)>> {
        if !super::in_index(self.schema, column) {
            return None;
        }
        Some(if column == super::group_column(self.schema) {
            let tokens = self.index.tokens_in(rows);
            tokens
                .map(|(token, rows)| (token.to_string(), rows))
                .collect()
        } else {
            let intervals = self.intervals_in(rows);
            intervals
                .map(|(interval, rows)| (interval.to_string(), rows))
                .collect()
        })
    }

    fn validity(&self, region: &Region, rows: Range<usize>) -> Option<impl Iterator<Item = bool>> {
        let first = rows.start / 8;
        let bits = if region.nulls == 0 {
            None
        } else {
            Some(self.part(region.validity, first..rows.end.div_ceil(8))?)
        };
        Some(
            rows.map(move |row| {
                bits.is_none_or(|bits| bits[row / 8 - first] >> (row % 8) & 1 == 1)
            }),
        )
    }
}

/// Decodes a stored cell.
fn scalar(storage: StorageType, bytes: &[u8]) -> Option<Scalar<'_>> {
    let whole = || bytes.first_chunk().map(|bytes| i64::from_le_bytes(*bytes));
    let text = || String::from_utf8_lossy(bytes);
    Some(match storage {
        StorageType::Float => Scalar::Float(f64::from_le_bytes(*bytes.first_chunk()?)),
        StorageType::Integer => Scalar::Whole(whole()?),
        StorageType::Time => Scalar::Time(Time(whole()?)),
        StorageType::Day => Scalar::Day(Day(i32::try_from(whole()?).ok()?)),
        StorageType::Flag => Scalar::Flag(whole()? != 0),
        StorageType::Address => Scalar::text(Address(*bytes.first_chunk()?).to_string()),
        StorageType::Hex => Scalar::text(const_hex::encode_prefixed(bytes)),
        StorageType::Text => Scalar::Text(text()),
        StorageType::List => Scalar::List(
            text()
                .split_terminator('\0')
                .map(|member| member.to_owned().into())
                .collect(),
        ),
    })
}

/// Undecoded rows of one column.
pub struct Raw<'a> {
    pub values: Values<'a>,
    /// Positions of the nulls among them.
    pub empty: Vec<usize>,
}

pub enum Values<'a> {
    /// Fixed width: `width` bytes each.
    Fixed { width: usize, bytes: &'a [u8] },
    /// Variable width: the end of the cell before them, the end of each cell, and their bytes.
    Texts { ends: &'a [u64], data: &'a [u8] },
}

/// Cell-by-cell access to one column.
pub struct CellsOf<'a> {
    table: &'a TableRows,
    region: &'a Region,
    pub storage: StorageType,
}

impl<'a> CellsOf<'a> {
    /// Bytes of the cell; none where it is null or damaged.
    pub fn bytes(&self, row: usize) -> Option<&'a [u8]> {
        let nulls = self.region.nulls > 0;
        if nulls
            && self
                .table
                .part(self.region.validity, row / 8..row / 8 + 1)?[0]
                >> (row % 8)
                & 1
                == 0
        {
            return None;
        }
        if let Some(width) = self.storage.width() {
            return self
                .table
                .part(self.region.values, row * width..(row + 1) * width);
        }
        let ends = self
            .table
            .part(self.region.values, row * 8..(row + 2) * 8)?
            .as_chunks::<8>()
            .0;
        let [start, end] =
            [*ends.first()?, *ends.get(1)?].map(|bytes| u64::from_le_bytes(bytes) as usize);
        self.table.part(self.region.data, start..end)
    }
}
