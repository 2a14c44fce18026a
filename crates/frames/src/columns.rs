//! Writer of the columns of a table: of `rows.arrow` or, for a small table, of memory in the same form. Each has a region, sized for the
//! maximum; in a file the unused rest is a hole and takes no disk space.

use std::{
    cell::RefCell,
    fs::{File, OpenOptions},
    io,
    ops::Range,
    path::Path,
};

use polars::prelude::{
    BinaryChunked, Column, DataFrame, DataType, IntoColumn, NewChunkedArray, PolarsResult,
    StringChunked,
};

use super::arrow::{self, Node};
use model::{address::Address, system::FileAt as _};
use table::{
    StorageType, StoredColumn, UNKNOWN,
    index::Region,
    rows::{BODY_AT, TableRows, Values},
};

/// Alignment of each buffer in bytes, as Arrow recommends.
const ALIGN: u64 = 64;
/// Size of a column's write buffer in bytes.
const GATHERED: usize = 1 << 20;

/// A column being written: its region, and bytes not yet flushed to the file.
struct Sink {
    storage: StorageType,
    region: Region,
    values: Vec<u8>,
    data: Vec<u8>,
    bits: Vec<u8>,
    /// All cells so far are null, and nothing of them is written.
    hollow: bool,
}

pub struct Columns {
    out: Out,
    pub(super) stored: Vec<StoredColumn>,
    sinks: Vec<Sink>,
    rows: u64,
    end: u64,
}

/// Where the columns are written.
enum Out {
    File(File),
    Memory(RefCell<Vec<u8>>),
}

impl Out {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all_at(bytes, at),
            Self::Memory(held) => {
                let (mut held, at) = (held.borrow_mut(), at as usize);
                if held.len() < at + bytes.len() {
                    held.resize(at + bytes.len(), 0);
                }
                held[at..at + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
        }
    }
}

fn aligned(at: u64) -> u64 {
    at.next_multiple_of(ALIGN)
}

impl Columns {
    /// Creates a file for at most `rows` rows, with at most `data` bytes per variable-width column.
    pub fn create(
        path: &Path,
        stored: &[StoredColumn],
        rows: u64,
        data: &[u64],
    ) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        Ok(Self::over(Out::File(file), BODY_AT, stored, rows, data))
    }

    /// The same in memory, without header and footer.
    pub(super) fn in_memory(stored: &[StoredColumn], rows: u64, data: &[u64]) -> Self {
        Self::over(Out::Memory(RefCell::default()), 0, stored, rows, data)
    }

    fn over(out: Out, start: u64, stored: &[StoredColumn], rows: u64, data: &[u64]) -> Self {
        let mut end = start;
        let mut take = |bytes: u64| {
            end += aligned(bytes);
            end - aligned(bytes)
        };
        let mut data = data.iter();
        let mut sinks = Vec::with_capacity(stored.len());
        for (column, storage) in stored {
            let validity = (take(rows.div_ceil(8)), 0);
            let (values, data, first) = match storage.width() {
                Some(width) => ((take(rows * width as u64), 0), (0, 0), Vec::new()),
                None => (
                    (take((rows + 1) * 8), 0),
                    (take(data.next().copied().unwrap_or_default()), 0),
                    vec![0; 8],
                ),
            };
            let region = Region {
                name: column.name.to_owned(),
                nulls: 0,
                validity,
                values,
                data,
            };
            let hollow = column.sparse;
            sinks.push(Sink {
                storage: *storage,
                region,
                values: first,
                data: Vec::new(),
                bits: Vec::new(),
                hollow,
            });
        }
        Self {
            out,
            stored: stored.to_vec(),
            sinks,
            rows: 0,
            end,
        }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the rows of a single-chunk frame.
    pub fn push(&mut self, frame: &DataFrame) -> io::Result<()> {
        let rows = self.rows;
        for ((column, _), sink) in self.stored.iter().zip(&mut self.sinks) {
            let cells = frame.column(column.name).map_err(io::Error::other)?;
            if sink.hollow && cells.null_count() == cells.len() {
                sink.region.nulls += cells.len() as u64;
                continue;
            }
            sink.fill_hollow(&self.out)?;
            sink.push(cells, rows).map_err(io::Error::other)?;
            if sink.values.len() >= GATHERED {
                write(&self.out, &mut sink.region.values, &mut sink.values)?;
            }
            if sink.data.len() >= GATHERED {
                write(&self.out, &mut sink.region.data, &mut sink.data)?;
            }
        }
        self.rows += frame.height() as u64;
        Ok(())
    }

    /// Appends rows of another cached table without decoding them; none where they are damaged.
    pub(super) fn copy(&mut self, from: &TableRows, rows: Range<usize>) -> io::Result<Option<()>> {
        let first = self.rows;
        for (nth, sink) in self.sinks.iter_mut().enumerate() {
            if from.is_nth_hollow(nth) {
                sink.push_nulls(&self.out, rows.len() as u64)?;
                continue;
            }
            sink.fill_hollow(&self.out)?;
            let Some(raw) = from.raw(nth, rows.clone()) else {
                return Ok(None);
            };
            write(&self.out, &mut sink.region.values, &mut sink.values)?;
            match raw.values {
                Values::Fixed { bytes, .. } => append(&self.out, &mut sink.region.values, bytes)?,
                Values::Texts { ends, data } => {
                    let by = (sink.region.data.1 + sink.data.len() as u64)
                        .wrapping_sub(ends.first().copied().unwrap_or_default());
                    for ends in ends.get(1..).unwrap_or_default().chunks(GATHERED / 8) {
                        sink.values.extend(
                            ends.iter()
                                .flat_map(|end| end.wrapping_add(by).to_le_bytes()),
                        );
                        write(&self.out, &mut sink.region.values, &mut sink.values)?;
                    }
                    write(&self.out, &mut sink.region.data, &mut sink.data)?;
                    append(&self.out, &mut sink.region.data, data)?;
                }
            }
            for row in raw.empty {
                sink.mark_null(first + row as u64);
            }
        }
        self.rows += rows.len() as u64;
        Ok(Some(()))
    }

    /// Flushes the buffers and writes header and footer; returns the regions of the columns and the length of the file. With `durable` the
    /// file is synced to disk; without, data lost in a crash is detected by the checksums.
    pub(super) fn finish(mut self, durable: bool) -> io::Result<(Vec<Region>, u64)> {
        self.flush()?;
        let rows = self.rows;
        let body = self.end - BODY_AT;
        let nodes: Vec<Node> = self.sinks.iter().map(Sink::node).collect();
        let head = arrow::head(&self.stored, rows, body, &nodes).map_err(io::Error::other)?;
        self.out.write_all_at(&head, 0)?;
        let tail = arrow::tail(&self.stored, body);
        self.out.write_all_at(&tail, self.end)?;
        if let Out::File(file) = &self.out
            && durable
        {
            file.sync_all()?;
        }
        Ok((
            self.sinks.into_iter().map(|sink| sink.region).collect(),
            self.end + tail.len() as u64,
        ))
    }

    /// The regions of the columns, and their bytes in memory.
    pub(super) fn held(mut self) -> io::Result<(Vec<Region>, Vec<u8>)> {
        self.flush()?;
        let regions = self.sinks.into_iter().map(|sink| sink.region).collect();
        let Out::Memory(held) = self.out else {
            return Ok((regions, Vec::new()));
        };
        let mut bytes = held.into_inner();
        // The columns without a value are not written.
        bytes.resize(self.end as usize, 0);
        Ok((regions, bytes))
    }

    /// Flushes the buffers.
    fn flush(&mut self) -> io::Result<()> {
        let rows = self.rows;
        for sink in &mut self.sinks {
            if sink.hollow && rows > 0 {
                sink.region.values.1 = sink
                    .storage
                    .width()
                    .map_or((rows + 1) * 8, |width| rows * width as u64);
                sink.region.validity.1 = rows.div_ceil(8);
                continue;
            }
            write(&self.out, &mut sink.region.values, &mut sink.values)?;
            write(&self.out, &mut sink.region.data, &mut sink.data)?;
            if sink.region.nulls > 0 {
                // The bits mark nulls; Arrow marks values.
                sink.bits.resize(rows.div_ceil(8) as usize, 0);
                sink.bits.iter_mut().for_each(|bits| *bits = !*bits);
                write(&self.out, &mut sink.region.validity, &mut sink.bits)?;
            }
        }
        Ok(())
    }
}

/// Upper bound of the bytes of a variable-width column's cells.
pub fn byte_length(storage: StorageType, cells: &StringChunked) -> u64 {
    let bytes = |text: &str| {
        if storage == StorageType::Hex {
            text.len().saturating_sub(2) / 2
        } else {
            text.len()
        }
    };
    cells.iter().flatten().map(|text| bytes(text) as u64).sum()
}

/// Encodes addresses and hex as bytes, half the size of their text; other cells are unchanged.
pub fn as_bytes(storage: StorageType, cells: &Column) -> PolarsResult<Column> {
    let texts = cells.str()?.iter();
    let bytes: Vec<Option<Vec<u8>>> = match storage {
        StorageType::Address => texts
            .map(|cell| cell.map(|text| Address::parse(text).unwrap_or_default().0.to_vec()))
            .collect(),
        StorageType::Hex => texts
            .map(|cell| cell.map(|text| const_hex::decode(text).unwrap_or_default()))
            .collect(),
        StorageType::List
        | StorageType::Flag
        | StorageType::Float
        | StorageType::Integer
        | StorageType::Time
        | StorageType::Day
        | StorageType::Text => return Ok(cells.clone()),
    };
    Ok(BinaryChunked::from_iter_options(cells.name().clone(), bytes.into_iter()).into_column())
}

/// Appends the bytes to the buffer in the file, and clears them.
fn write(file: &Out, buffer: &mut (u64, u64), bytes: &mut Vec<u8>) -> io::Result<()> {
    append(file, buffer, bytes)?;
    bytes.clear();
    Ok(())
}

fn append(file: &Out, buffer: &mut (u64, u64), bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, buffer.0 + buffer.1)?;
    buffer.1 += bytes.len() as u64;
    Ok(())
}

impl Sink {
    /// Appends cells, starting at row `first`. A null number is stored as one that no value is, so that values can be read without the bitmap.
    fn push(&mut self, cells: &Column, first: u64) -> PolarsResult<()> {
        match self.storage {
            StorageType::Address if cells.dtype() == &DataType::Binary => {
                cells
                    .binary()?
                    .iter()
                    .for_each(|cell| self.values.extend(cell.unwrap_or(&Address::default().0)));
            }
            StorageType::Float => match cells.f64()?.cont_slice() {
                Ok(numbers) => self.values.extend_from_slice(bytemuck::cast_slice(numbers)),
                Err(_) => cells
                    .f64()?
                    .iter()
                    .for_each(|cell| self.values.extend(cell.unwrap_or(f64::NAN).to_le_bytes())),
            },
            StorageType::Integer | StorageType::Time | StorageType::Day | StorageType::Flag => {
                let cells = cells.to_physical_repr().cast(&DataType::Int64)?;
                match cells.i64()?.cont_slice() {
                    Ok(numbers) => self.values.extend_from_slice(bytemuck::cast_slice(numbers)),
                    Err(_) => cells
                        .i64()?
                        .iter()
                        .for_each(|cell| self.values.extend(cell.unwrap_or(UNKNOWN).to_le_bytes())),
                }
            }
            StorageType::Address => {
                cells.str()?.iter().for_each(|cell| {
                    self.values
                        .extend(cell.and_then(Address::parse).unwrap_or_default().0);
                });
            }
            StorageType::Hex | StorageType::List => self.push_data(cells.binary()?.iter()),
            StorageType::Text => {
                self.push_data(cells.str()?.iter().map(|cell| cell.map(str::as_bytes)));
            }
        }
        if cells.null_count() > 0 {
            (first..)
                .zip(cells.is_null().iter())
                .filter(|(_, empty)| *empty == Some(true))
                .for_each(|(row, _)| self.mark_null(row));
        }
        Ok(())
    }

    /// Writes the nulls of a hollow column, before its first value.
    fn fill_hollow(&mut self, file: &Out) -> io::Result<()> {
        let rows = std::mem::take(&mut self.region.nulls);
        if std::mem::take(&mut self.hollow) {
            return self.push_nulls(file, rows);
        }
        self.region.nulls = rows;
        Ok(())
    }

    /// Appends nulls.
    fn push_nulls(&mut self, file: &Out, rows: u64) -> io::Result<()> {
        if self.hollow {
            self.region.nulls += rows;
            return Ok(());
        }
        // The number of rows so far: each value has a width, or an end behind the first.
        let written = self.region.values.1 + self.values.len() as u64;
        let (first, cell) = match self.storage.width() {
            Some(width) if self.storage.is_whole() => {
                (written / width as u64, UNKNOWN.to_le_bytes().to_vec())
            }
            Some(width) => (
                written / width as u64,
                [f64::NAN.to_le_bytes().as_slice(), &[0; 12]].concat()[..width].to_vec(),
            ),
            None => (
                written / 8 - 1,
                (self.region.data.1 + self.data.len() as u64)
                    .to_le_bytes()
                    .to_vec(),
            ),
        };
        for row in first..first + rows {
            self.values.extend_from_slice(&cell);
            self.mark_null(row);
            if self.values.len() >= GATHERED {
                write(file, &mut self.region.values, &mut self.values)?;
            }
        }
        Ok(())
    }

    /// Appends variable-width cells, each with its end offset.
    fn push_data<'a>(&mut self, cells: impl Iterator<Item = Option<&'a [u8]>>) {
        for cell in cells {
            self.data.extend(cell.unwrap_or_default());
            let end = self.region.data.1 + self.data.len() as u64;
            self.values.extend(end.to_le_bytes());
        }
    }

    /// Marks the row as null.
    fn mark_null(&mut self, row: u64) {
        let at = (row / 8) as usize;
        if self.bits.len() <= at {
            self.bits.resize(at + 1, 0);
        }
        self.bits[at] |= 1 << (row % 8);
        self.region.nulls += 1;
    }

    fn node(&self) -> Node {
        let place = |(at, length): (u64, u64)| (at.saturating_sub(BODY_AT), length);
        let mut buffers = vec![place(self.region.validity), place(self.region.values)];
        if self.storage.width().is_none() {
            buffers.push(place(self.region.data));
        }
        Node {
            nulls: self.region.nulls,
            buffers,
        }
    }
}
