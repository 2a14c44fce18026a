//! Reading a large table: memory-mapped, rows found through the index, each page compared with its checksum when it is first read. What
//! does not match is never shown: the table says that it is damaged and gives nothing.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PlSmallStr, Series, StringChunkedBuilder};

use super::{
    Form, Kept, SortLimits,
    bounds::{Bounds, Extent, has_bounds},
    columns::Region,
    index::{Index, LoadReport, PAGE},
    kept,
    map::Map,
};
use crate::dataset::{
    address::Address,
    coerce,
    interval::Interval,
    schema::{Kind, TableSchema},
    text_runs::Texts,
};

/// Names of the two files of a table.
pub(super) const ROWS: &str = "rows.arrow";
pub(super) const INDEX: &str = "index";

#[derive(Debug)]
pub struct LargeTable {
    schema: &'static TableSchema,
    columns: Vec<Kept>,
    index: Index,
    map: Map,
    /// A bit for each page whose checksum was found right.
    verified: Vec<AtomicU64>,
    damaged: AtomicBool,
    folder: PathBuf,
    sorting: SortLimits,
    grown_from: Option<String>,
}

impl LargeTable {
    /// Opens the table in `folder`. The index is compared with its checksum, and the file with the length and the frame it should have.
    pub(super) fn open(folder: &Path, schema: &'static TableSchema, sorting: SortLimits) -> Result<(Self, LoadReport), String> {
        let mut index = Index::open(&folder.join(INDEX))?;
        let map = Map::open(&folder.join(ROWS)).map_err(|error| error.to_string())?;
        let columns = kept(schema).ok_or("the table is not one that may be large")?;
        let names = columns.iter().map(|(column, _)| column.name);
        let checksums = map.bytes().len().div_ceil(PAGE);
        if index.about.table != schema.name || index.about.bytes != map.bytes().len() as u64 || index.checksums().len() != checksums {
            return Err("the file has the wrong length".to_owned());
        }
        if !names.eq(index.about.regions.iter().map(|region| region.name.as_str())) {
            return Err("the file has other columns than it should have".to_owned());
        }
        let report = std::mem::take(&mut index.about.report);
        let grown_from = report.grown_from.clone();
        let verified = (0..checksums.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let (damaged, folder) = (AtomicBool::new(false), folder.to_owned());
        let table = Self { schema, columns, index, map, verified, damaged, folder, sorting, grown_from };
        // The frame of the Arrow file: before the columns and after them.
        let length = table.map.bytes().len();
        let frame = table.verify(0..super::arrow::BODY_AT as usize) && table.verify(length.saturating_sub(PAGE)..length);
        if frame { Ok((table, report)) } else { Err("the file is damaged".to_owned()) }
    }

    pub fn height(&self) -> usize {
        self.index.about.rows as usize
    }

    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Whether a stretch did not agree with its checksum, or is gone. What was answered since is not to be trusted; a load makes the
    /// table anew.
    pub fn is_damaged(&self) -> bool {
        if self.map.is_truncated() || self.index.is_truncated() {
            self.give_up();
        }
        self.damaged.load(Ordering::Acquire)
    }

    /// Every token that has rows, in order.
    pub fn tokens(&self) -> impl Iterator<Item = Address> {
        self.index.tokens().iter().map(|bytes| Address(*bytes))
    }

    /// The rows of the token.
    pub fn rows_of(&self, token: &Address) -> Range<usize> {
        self.index.rows_of(token).unwrap_or_default()
    }

    /// The rows of each interval of the token, as they stand.
    pub fn runs_of(&self, token: &Address) -> impl Iterator<Item = (Interval, Range<usize>)> {
        self.intervals_in(self.rows_of(token))
    }

    /// Numbers of a column as they lie in the file, NaN where a cell is empty. None where there is no such column or it is damaged.
    pub fn floats(&self, column: &str, rows: Range<usize>) -> Option<&[f64]> {
        let region = self.region(column, |form| form == Form::Float)?;
        self.part(region.values, rows.start * 8..rows.end * 8).and_then(|bytes| bytemuck::try_cast_slice(bytes).ok())
    }

    /// Addresses of a column as they lie in the file, zero where a cell is empty.
    pub fn addresses(&self, column: &str, rows: Range<usize>) -> Option<&[[u8; 20]]> {
        let region = self.region(column, |form| form == Form::Address)?;
        self.part(region.values, rows.start * 20..rows.end * 20).map(|bytes| bytes.as_chunks().0)
    }

    /// Whole numbers or times of a column as they lie in the file, 0 where a cell is empty.
    pub fn whole_numbers(&self, column: &str, rows: Range<usize>) -> Option<&[i64]> {
        let region = self.region(column, |form| matches!(form, Form::Integer | Form::Time))?;
        self.part(region.values, rows.start * 8..rows.end * 8).and_then(|bytes| bytemuck::try_cast_slice(bytes).ok())
    }

    /// What the rows of a column of numbers lie between, as far as their blocks tell; none where that is not known.
    pub fn extent(&self, column: &str, rows: Range<usize>) -> Option<Extent> {
        self.bounds(column).map(|(form, bounds)| bounds.extent(form, rows))
    }

    /// Whether a cell of the column is empty.
    pub fn has_empty(&self, column: &str) -> bool {
        let at = self.columns.iter().position(|(kept, _)| kept.name == column);
        at.and_then(|at| self.index.about.regions.get(at)).is_some_and(|region| region.nulls > 0)
    }

    /// The bounds of a column of numbers.
    pub(super) fn bounds(&self, column: &str) -> Option<(Form, Bounds<'_>)> {
        let at = self.columns.iter().position(|(kept, form)| kept.name == column && has_bounds(*form))?;
        let nth = self.columns[..at].iter().filter(|(_, form)| has_bounds(*form)).count();
        Some((self.columns[at].1, self.index.bounds(nth)?))
    }

    /// The folder of the table, for files that live as long as a query.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How its rows are filtered and sorted.
    pub fn sorting(&self) -> SortLimits {
        self.sorting
    }

    /// How a column is read again and again, cell by cell; none of a column that the index tells.
    pub(super) fn cells(&self, name: &str) -> Option<CellsOf<'_>> {
        let at = self.columns.iter().position(|(column, _)| column.name == name)?;
        Some(CellsOf { table: self, region: self.index.about.regions.get(at)?, form: self.columns[at].1 })
    }

    /// The token of a row.
    pub(super) fn token_at(&self, row: usize) -> Option<Address> {
        self.index.tokens_in(row..row + 1).next().map(|(token, _)| token)
    }

    /// The place of the row's token among all, which stand in order.
    pub(super) fn owner_at(&self, row: usize) -> Option<usize> {
        self.index.owner_at(row)
    }

    /// The interval of a candle.
    pub(super) fn interval_at(&self, row: usize) -> Option<Interval> {
        self.intervals_in(row..row + 1).next().map(|(interval, _)| interval)
    }

    /// The candles of one interval that stand beside each other, of those rows.
    pub(super) fn intervals_in(&self, rows: Range<usize>) -> impl Iterator<Item = (Interval, Range<usize>)> {
        self.index.intervals_in(rows).map(|(interval, rows)| (Interval(interval), rows))
    }

    fn region(&self, column: &str, right: impl Fn(Form) -> bool) -> Option<&Region> {
        let at = self.columns.iter().position(|(kept, form)| kept.name == column && right(*form))?;
        self.index.about.regions.get(at)
    }

    /// A part of a buffer, by bytes from its start.
    fn part(&self, buffer: (u64, u64), bytes: Range<usize>) -> Option<&[u8]> {
        if bytes.start > bytes.end || bytes.end as u64 > buffer.1 {
            return None;
        }
        let place = buffer.0 as usize + bytes.start..buffer.0 as usize + bytes.end;
        if self.verify(place.clone()) { self.map.bytes().get(place) } else { None }
    }

    /// Whether the pages of these bytes match their checksums, which is looked at once a page.
    fn verify(&self, bytes: Range<usize>) -> bool {
        if bytes.is_empty() {
            return true;
        }
        for page in bytes.start / PAGE..=(bytes.end - 1) / PAGE {
            let (word, bit) = (&self.verified[page / 64], 1 << (page % 64));
            if word.load(Ordering::Relaxed) & bit != 0 {
                continue;
            }
            let start = page * PAGE;
            let stretch = self.map.bytes().get(start..(start + PAGE).min(self.map.bytes().len())).unwrap_or_default();
            if self.index.checksums().get(page) != Some(&crc32fast::hash(stretch)) {
                self.give_up();
                return false;
            }
            word.fetch_or(bit, Ordering::Relaxed);
        }
        true
    }

    /// Takes the table out of the cache, so that the next load imports it again.
    fn give_up(&self) {
        if !self.damaged.swap(true, Ordering::AcqRel) {
            tracing::warn!("`{}` in the cache is damaged: it is made anew", self.schema.name);
            std::fs::remove_file(self.folder.join(INDEX)).ok();
        }
    }

    /// Rows as a canonical frame, with these columns or all. What is damaged is empty.
    pub fn stretch(&self, rows: Range<usize>, columns: Option<&[&str]>) -> DataFrame {
        let rows = rows.start.min(self.height())..rows.end.min(self.height());
        self.frame(rows.len(), columns, |name| self.column(name, rows.clone()))
    }

    /// A canonical frame with these columns or all; a column that `read` does not give is empty.
    pub(super) fn frame(&self, height: usize, wanted: Option<&[&str]>, read: impl Fn(&'static str) -> Option<Column>) -> DataFrame {
        let columns = self.schema.columns.iter().filter(|column| wanted.is_none_or(|wanted| wanted.contains(&column.name)));
        let columns = columns.map(|column| {
            let cells = read(column.name).filter(|cells| cells.len() == height);
            cells.unwrap_or_else(|| coerce::empty(column, height))
        });
        DataFrame::new(height, columns.collect()).unwrap_or_default()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Option<Column> {
        if super::in_index(self.schema, name) {
            return Some(self.index_column(name, rows));
        }
        let at = self.columns.iter().position(|(column, _)| column.name == name)?;
        let valid = self.validity(self.index.about.regions.get(at)?, rows.clone())?;
        let (form, height) = (self.columns[at].1, rows.len());
        match self.raw(at, rows)?.values {
            Values::Fixed { width, bytes } => {
                let cells = bytes.chunks_exact(width).zip(valid);
                decoded(name, form, height, cells.map(|(bytes, valid)| valid.then_some(bytes)))
            }
            Values::Texts { ends, data } if ends.is_sorted() => {
                let first = *ends.first()? as usize;
                let cell = |(ends, valid): (&[u64], bool)| valid.then(|| data.get(ends[0] as usize - first..ends[1] as usize - first))?;
                decoded(name, form, height, ends.windows(2).zip(valid).map(cell))
            }
            Values::Texts { .. } => None,
        }
    }

    /// The table of the cache that this one grew from.
    pub(super) fn grown_from(&self) -> Option<&str> {
        self.grown_from.as_deref()
    }

    /// Bytes of each column of texts.
    pub(super) fn text_bytes(&self) -> Vec<u64> {
        let regions = self.columns.iter().zip(&self.index.about.regions);
        regions.filter(|((_, form), _)| form.width().is_none()).map(|(_, region)| region.data.1).collect()
    }

    /// Rows of the column at that place among those kept; none where they are damaged.
    pub(super) fn raw(&self, nth: usize, rows: Range<usize>) -> Option<Raw<'_>> {
        let (form, region) = (self.columns.get(nth)?.1, self.index.about.regions.get(nth)?);
        let values = if let Some(width) = form.width() {
            Values::Fixed { width, bytes: self.part(region.values, rows.start * width..rows.end * width)? }
        } else {
            let ends: &[u64] = bytemuck::try_cast_slice(self.part(region.values, rows.start * 8..(rows.end + 1) * 8)?).ok()?;
            Values::Texts { ends, data: self.part(region.data, *ends.first()? as usize..*ends.last()? as usize)? }
        };
        let empty = if region.nulls == 0 {
            Vec::new()
        } else {
            self.validity(region, rows)?.enumerate().filter(|(_, valid)| !valid).map(|(row, _)| row).collect()
        };
        Some(Raw { values, empty })
    }

    /// The stretches of one token, and of one interval, that touch the rows.
    pub(super) fn marks_in(&self, rows: Range<usize>) -> impl Iterator<Item = (Address, i64, usize)> {
        let tokens = self.index.tokens_in(rows);
        tokens.flat_map(|(token, rows)| self.index.intervals_in(rows).map(move |(interval, rows)| (token, interval, rows.start)))
    }

    /// Where the rows of tokens from this one on begin.
    pub(super) fn start_from(&self, token: &Address) -> usize {
        let at = self.index.tokens().partition_point(|known| *known < token.0);
        self.index.starts().get(at).map_or(self.height(), |start| *start as usize)
    }

    /// A column that stands in the index.
    fn index_column(&self, name: &'static str, rows: Range<usize>) -> Column {
        let mut column = Texts::with_capacity(rows.len());
        let mut fill = |text: &str, rows: Range<usize>| column.push(Some(text), rows.len());
        if name == super::owner(self.schema) {
            self.index.tokens_in(rows).for_each(|(token, rows)| fill(&token.to_string(), rows));
        } else {
            self.index.intervals_in(rows).for_each(|(interval, rows)| fill(&Interval(interval).to_string(), rows));
        }
        column.finish(PlSmallStr::from_static(name))
    }

    fn validity(&self, region: &Region, rows: Range<usize>) -> Option<impl Iterator<Item = bool>> {
        let first = rows.start / 8;
        let bits = if region.nulls == 0 { None } else { Some(self.part(region.validity, first..rows.end.div_ceil(8))?) };
        Some(rows.map(move |row| bits.is_none_or(|bits| bits[row / 8 - first] >> (row % 8) & 1 == 1)))
    }
}

/// Rows of one column as they stand in the file.
pub(super) struct Raw<'a> {
    pub(super) values: Values<'a>,
    /// The places among them of those without a value.
    pub(super) empty: Vec<usize>,
}

pub(super) enum Values<'a> {
    /// Of `width` bytes each.
    Fixed { width: usize, bytes: &'a [u8] },
    /// Where the text before them and each of them ends, and their bytes.
    Texts { ends: &'a [u64], data: &'a [u8] },
}

/// One column, to read cells of.
pub(super) struct CellsOf<'a> {
    table: &'a LargeTable,
    region: &'a Region,
    pub(super) form: Form,
}

impl<'a> CellsOf<'a> {
    /// The bytes of the cell; none where it is empty or damaged.
    pub(super) fn bytes(&self, row: usize) -> Option<&'a [u8]> {
        let nulls = self.region.nulls > 0;
        if nulls && self.table.part(self.region.validity, row / 8..row / 8 + 1)?[0] >> (row % 8) & 1 == 0 {
            return None;
        }
        if let Some(width) = self.form.width() {
            return self.table.part(self.region.values, row * width..(row + 1) * width);
        }
        let ends = self.table.part(self.region.values, row * 8..(row + 2) * 8)?.as_chunks::<8>().0;
        let [start, end] = [*ends.first()?, *ends.get(1)?].map(|bytes| u64::from_le_bytes(bytes) as usize);
        self.table.part(self.region.data, start..end)
    }
}

/// A canonical column of cells as they stand in the file.
pub(super) fn decoded<'a>(name: &'static str, form: Form, height: usize, cells: impl Iterator<Item = Option<&'a [u8]>>) -> Option<Column> {
    let label = PlSmallStr::from_static(name);
    let number = |bytes: &[u8]| bytes.first_chunk().copied();
    Some(match form {
        Form::Float => {
            let numbers = cells.map(|cell| cell.and_then(number).map(f64::from_le_bytes));
            Series::new(label, numbers.collect::<Vec<_>>()).into_column()
        }
        Form::Integer | Form::Time => {
            let numbers = cells.map(|cell| cell.and_then(number).map(i64::from_le_bytes));
            let column = Series::new(label, numbers.collect::<Vec<_>>()).into_column();
            if form == Form::Time { column.cast(&coerce::canonical(Kind::Time)).ok()? } else { column }
        }
        Form::Address => texts(label, height, cells.map(|cell| cell?.first_chunk().map(|bytes| Address(*bytes).to_string()))),
        Form::Hex => texts(label, height, cells.map(|cell| cell.map(const_hex::encode_prefixed))),
        Form::Text => texts(label, height, cells.map(|cell| cell.map(String::from_utf8_lossy))),
    })
}

pub(super) fn texts(name: PlSmallStr, height: usize, cells: impl Iterator<Item = Option<impl AsRef<str>>>) -> Column {
    let mut builder = StringChunkedBuilder::new(name, height);
    cells.for_each(|cell| builder.append_option(cell));
    builder.finish().into_column()
}
