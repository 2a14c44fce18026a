//! Bringing a table into the cache: takes in the canonical rows as they are read, then makes the ordered file of them. Holds no more
//! than a group of rows, whatever the table's size; what it has taken in stands in files, and a journal says how far.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use polars::prelude::{DataFrame, PolarsResult};

use super::{
    CacheOptions, bounds,
    columns::Columns,
    entry::{Place, remove},
    group::{Ordering, Output},
    index::{self, About, Marks, Report},
    journal::{Journal, ReadState},
    kept,
    record::{Head, Layout, Record, Rows, records},
    repeats::{Dropped, Keys},
    spill::{Spill, damaged},
    stretch,
    table::{INDEX, LargeTable, ROWS},
};
use crate::dataset::{
    address::Address,
    alike::{pairs, stretches},
    candles::Interval,
    progress::Cancelled,
    schema::TableSchema,
};

/// Buckets of rows, by the first byte of the token's address.
const BUCKETS: usize = 256;

/// Why an import ended.
#[derive(Debug)]
pub(crate) enum Fault {
    Cancelled,
    /// What was written before is not what is read: to be begun anew.
    Damaged,
    /// For the person.
    Failed(String),
}

impl From<Cancelled> for Fault {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidData { Self::Damaged } else { Self::Failed(error.to_string()) }
    }
}

impl From<polars::prelude::PolarsError> for Fault {
    fn from(error: polars::prelude::PolarsError) -> Self {
        Self::Failed(error.to_string())
    }
}

pub(crate) struct Import {
    options: CacheOptions,
    place: Place,
    _lock: File,
    schema: &'static TableSchema,
    layout: Layout,
    spill: Spill,
    keys: Option<Keys>,
    /// The column by which alone rows are ordered, if they may go as stretches.
    ordered_by: Option<usize>,
    tokens: Tokens,
    intervals: Vec<i64>,
    rows: u32,
    lengths: Vec<u64>,
    journaled: u64,
}

/// The tokens met, numbered as they came; the list stands in a file too.
struct Tokens {
    list: Vec<Address>,
    numbers: HashMap<Address, u32>,
    file: File,
    written: usize,
}

impl Import {
    /// Begins, or goes on where an earlier run was cut off.
    pub(crate) fn begin(
        place: &Place,
        lock: &File,
        schema: &'static TableSchema,
        options: &CacheOptions,
    ) -> Result<(Self, Option<ReadState>), Fault> {
        let folder = place.part();
        if let Some(journal) = Journal::read(&folder)
            && let Ok(import) = Self::over(place, lock, schema, options, Some(&journal))
        {
            return Ok((import, Some(journal.state)));
        }
        remove(&folder);
        fs::create_dir_all(&folder)?;
        Ok((Self::over(place, lock, schema, options, None)?, None))
    }

    fn over(
        place: &Place,
        lock: &File,
        schema: &'static TableSchema,
        options: &CacheOptions,
        journal: Option<&Journal>,
    ) -> Result<Self, Fault> {
        let folder = place.part();
        let columns = kept(schema).ok_or_else(|| Fault::Failed("the table is not one that may be large".to_owned()))?;
        let layout = Layout::new(&columns);
        let spill = match journal {
            Some(journal) => Spill::reopen(&folder.join("spill"), BUCKETS, journal.spill)?,
            None => Spill::create(&folder.join("spill"), BUCKETS)?,
        };
        let keys = if schema.key.is_empty() || Keys::side_by_side(schema) {
            None
        } else {
            Some(Keys::create(&folder.join("keys"), schema, &layout, journal.map(|journal| journal.keys))?)
        };
        let others = columns.iter().filter(|(_, form)| form.width().is_none()).count();
        let lengths = journal.map_or_else(|| vec![0; others], |journal| journal.lengths.clone());
        if lengths.len() != others {
            return Err(Fault::Damaged);
        }
        Ok(Self {
            tokens: Tokens::open(&folder.join("tokens"), journal.map_or(0, |journal| journal.tokens))?,
            options: options.clone(),
            place: place.clone(),
            _lock: lock.try_clone()?,
            schema,
            ordered_by: stretch::ordered_by(schema, &layout),
            layout,
            keys,
            intervals: journal.map(|journal| journal.intervals.clone()).unwrap_or_default(),
            rows: journal.map_or(0, |journal| journal.rows),
            lengths,
            journaled: spill.length(),
            spill,
        })
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows.into()
    }

    /// Takes in rows of a file, whose numbers in it are given.
    pub(crate) fn add(&mut self, mut frame: DataFrame, file: u32, numbers: &[u32]) -> Result<(), Fault> {
        frame.rechunk_mut();
        let tokens = frame.column(super::owner(self.schema))?.str()?;
        let by_interval = frame.column("interval").ok().filter(|_| super::in_index(self.schema, "interval"));
        // Most tables name a token for many rows on end.
        let alike: Vec<_> = match by_interval {
            Some(intervals) => pairs(tokens, intervals.str()?).collect(),
            None => stretches(tokens).map(|(rows, token)| (rows, token, None)).collect(),
        };
        let rows: PolarsResult<Rows<'_>> = Rows::new(&self.layout, &frame);
        let rows = rows?;
        let times = self.ordered_by.and_then(|column| rows.whole(column));
        for (here, token, interval) in alike {
            let address = token.and_then(Address::parse).unwrap_or_default();
            let token = self.tokens.number(address);
            let interval = interval.and_then(Interval::parse).map_or(0, |interval| number_of(&mut self.intervals, interval.0));
            let bucket = usize::from(address.0[0]);
            let mut left = here;
            while !left.is_empty() {
                let in_order = times.map_or(left.start..left.start + 1, |times| stretch::first(left.clone(), times, numbers));
                let taken = in_order.len();
                if taken >= stretch::ROWS_MIN {
                    let head = Head { token, file, row: numbers[left.start], place: self.rows, interval };
                    rows.write_stretch(in_order, head, self.spill.buffer(bucket));
                    self.spill.settle(bucket)?;
                    self.rows += taken as u32;
                } else {
                    for row in in_order {
                        self.add_row(&rows, row, Head { token, file, row: numbers[row], place: self.rows, interval }, bucket)?;
                    }
                }
                left.start += taken;
            }
        }
        Ok(())
    }

    fn add_row(&mut self, rows: &Rows<'_>, row: usize, head: Head, bucket: usize) -> Result<(), Fault> {
        let out = self.spill.buffer(bucket);
        let start = out.len();
        rows.write(row, head, out, &mut self.lengths);
        if let Some(keys) = &mut self.keys {
            keys.add(&self.layout, Record(&out[start..]), self.schema.key.contains(&"token_address"))?;
        }
        self.rows += 1;
        self.spill.settle(bucket)?;
        Ok(())
    }

    /// Whether enough was taken in to be worth an entry in the journal.
    pub(crate) fn is_due(&self) -> bool {
        self.spill.length() >= self.journaled + self.options.journal_every
    }

    /// Notes how far the sources were read, after writing what is held.
    pub(crate) fn note(&mut self, state: ReadState) -> Result<(), Fault> {
        let spill = self.spill.flush()?;
        let keys = self.keys.as_mut().map(|keys| keys.spill.flush()).transpose()?.unwrap_or_default();
        let tokens = self.tokens.write()?;
        let journal =
            Journal { spill, keys, tokens, intervals: self.intervals.clone(), rows: self.rows, lengths: self.lengths.clone(), state };
        journal.write(&self.place.part())?;
        self.journaled = spill;
        Ok(())
    }

    /// Gives up: what was taken in is removed.
    pub(crate) fn abandon(self) {
        remove(&self.place.part());
    }

    /// Makes the table of what was taken in. `progress` hears (done, of how many) bytes; `report` tells the figures once it is known
    /// which rows were left out.
    pub(crate) fn finish(
        mut self,
        progress: &mut dyn FnMut(u64, u64) -> Result<(), Cancelled>,
        report: impl FnOnce(&Dropped) -> Report,
    ) -> Result<LargeTable, Fault> {
        self.spill.close()?;
        let mut dropped = Dropped::default();
        let mut repeats = Vec::new();
        if let Some(keys) = &mut self.keys {
            keys.spill.close()?;
            repeats = keys.repeats(&mut dropped)?;
        }
        let group_max = self.options.group_max;
        let part = self.place.part();
        let made = part.join("made");
        fs::create_dir_all(&made)?;
        let mut columns = Columns::create(&made.join(ROWS), &self.layout.columns, self.rows.into(), &self.lengths)?;
        let mut marks = Marks::default();
        let order = self.tokens.in_order();
        let ordering = Ordering::new(self.schema, &self.layout, &self.intervals, Keys::side_by_side(self.schema), &repeats, group_max);
        let mut out = Output { columns: &mut columns, marks: &mut marks, dropped: &mut dropped };
        let ranks = ranks(&order);
        let total = self.spill.length().max(1);
        let (mut done, mut bytes) = (0, Vec::new());
        for bucket in 0..BUCKETS {
            progress(done, total)?;
            let here = self.tokens.bucket(&order, bucket);
            if self.spill.bytes(bucket) <= group_max {
                load(&self.spill, bucket, &mut bytes)?;
                ordering.group(&bytes, &ranks, here.start, here.len(), &mut out)?;
            } else {
                // A bucket that does not fit: its tokens are spread once more, as many together as fit.
                let groups = self.groups(bucket, &ranks, here)?;
                let spread = self.spread(bucket, &ranks, &groups, &part.join("spread"))?;
                for (nth, group) in groups.iter().enumerate() {
                    progress(done + spread.bytes(nth) * nth as u64 / groups.len() as u64, total)?;
                    if spread.bytes(nth) <= group_max {
                        load(&spread, nth, &mut bytes)?;
                        ordering.group(&bytes, &ranks, group.start, group.len(), &mut out)?;
                    } else {
                        ordering.token(&spread, nth, group.start, &part.join("runs"), &mut out)?;
                    }
                }
            }
            done += self.spill.bytes(bucket);
        }
        progress(total, total)?;
        let rows = columns.rows();
        let (regions, length) = columns.finish()?;
        let block = self.options.block_rows.max(1);
        let survey = bounds::survey(&made.join(ROWS), &self.layout.columns, &regions, rows, block)?;
        let about = About { table: self.schema.name.to_owned(), rows, regions, block, bytes: length, report: report(&dropped) };
        let address = |rank: u32| order.get(rank as usize).map_or_else(Address::default, |number| self.tokens.list[*number as usize]);
        index::write(&made.join(INDEX), &about, &marks, &survey, address).map_err(Fault::Failed)?;
        let folder = self.place.keep(&made)?;
        remove(&part);
        LargeTable::open(&folder, self.schema).map(|(table, _)| table).map_err(Fault::Failed)
    }

    /// The tokens (by rank) of a bucket in groups that fit into memory; one that does not fit alone is a group.
    fn groups(&self, bucket: usize, ranks: &[u32], here: Range) -> Result<Vec<Range>, Fault> {
        let mut sizes = vec![0u64; here.len()];
        let mut bytes = Vec::new();
        let mut nth = 0;
        loop {
            bytes.clear();
            if !self.spill.chunk(bucket, nth, &mut bytes)? {
                break;
            }
            for (_, record) in records(&bytes) {
                let rank = ranks.get(record.token() as usize).copied().unwrap_or(u32::MAX);
                *sizes.get_mut(rank.wrapping_sub(here.start) as usize).ok_or_else(damaged)? += record.length() as u64;
            }
            nth += 1;
        }
        let mut groups: Vec<Range> = Vec::new();
        let mut size = u64::MAX;
        for (rank, bytes) in (here.start..here.end).zip(sizes) {
            size = size.saturating_add(bytes);
            if let Some(group) = groups.last_mut().filter(|_| size <= self.options.group_max) {
                group.end = rank + 1;
            } else {
                groups.push(rank..rank + 1);
                size = bytes;
            }
        }
        Ok(groups)
    }

    fn spread(&self, bucket: usize, ranks: &[u32], groups: &[Range], path: &Path) -> Result<Spill, Fault> {
        let mut spread = Spill::create(path, groups.len())?;
        let (mut bytes, mut nth) = (Vec::new(), 0);
        loop {
            bytes.clear();
            if !self.spill.chunk(bucket, nth, &mut bytes)? {
                break;
            }
            for (_, record) in records(&bytes) {
                let rank = ranks.get(record.token() as usize).copied().unwrap_or(u32::MAX);
                let group = groups.partition_point(|group| group.end <= rank);
                if group >= groups.len() {
                    return Err(Fault::Damaged);
                }
                spread.buffer(group).extend_from_slice(record.0);
                spread.settle(group)?;
            }
            nth += 1;
        }
        spread.close()?;
        Ok(spread)
    }
}

type Range = std::ops::Range<u32>;

/// The number of an interval, from 1.
fn number_of(intervals: &mut Vec<i64>, interval: i64) -> u32 {
    let at = intervals.iter().position(|known| *known == interval).unwrap_or_else(|| {
        intervals.push(interval);
        intervals.len() - 1
    });
    at as u32 + 1
}

/// The whole bucket, in place of what was in `bytes`.
fn load(spill: &Spill, bucket: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    let mut nth = 0;
    while spill.chunk(bucket, nth, bytes)? {
        nth += 1;
    }
    Ok(())
}

/// The place of each token in the order of tokens.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, &number) in order.iter().enumerate() {
        ranks[number as usize] = rank as u32;
    }
    ranks
}

impl Tokens {
    /// The first `known` tokens of the file, which stand already.
    fn open(path: &Path, known: u64) -> Result<Self, Fault> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut bytes = vec![0; known as usize * 20];
        file.read_exact_at(&mut bytes, 0).map_err(|_| Fault::Damaged)?;
        let list: Vec<Address> = bytes.as_chunks::<20>().0.iter().map(|bytes| Address(*bytes)).collect();
        let numbers = list.iter().enumerate().map(|(i, address)| (*address, i as u32)).collect();
        Ok(Self { written: list.len(), list, numbers, file })
    }

    fn number(&mut self, address: Address) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            self.list.push(address);
        }
        number
    }

    /// Writes those that are new; gives back how many stand.
    fn write(&mut self) -> io::Result<u64> {
        let bytes: Vec<u8> = self.list[self.written..].iter().flat_map(|address| address.0).collect();
        self.file.write_all_at(&bytes, self.written as u64 * 20)?;
        self.written = self.list.len();
        Ok(self.written as u64)
    }

    /// The numbers of the tokens in the order of their addresses.
    fn in_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        order.sort_unstable_by_key(|number| self.list[*number as usize]);
        order
    }

    /// The ranks of the tokens of a bucket.
    fn bucket(&self, order: &[u32], bucket: usize) -> Range {
        let first = |bucket: usize| order.partition_point(|number| usize::from(self.list[*number as usize].0[0]) < bucket) as u32;
        first(bucket)..first(bucket + 1)
    }
}
