//! The order of rows within a token, for as many tokens as fit into memory, and for one that does not: sorted runs that are merged.
//! Of rows with one key that lie side by side the last is kept.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    io,
    path::Path,
};

use super::{
    Form,
    columns::Columns,
    index::Marks,
    record::{Layout, Record, records},
    repeats::Dropped,
    spill::{Spill, damaged},
    stretch::{Stretch, put_rows},
};
use crate::dataset::{candles::Interval, load::fill::step, schema::TableSchema};

/// A part of what rows are ordered by, as a number.
enum Part {
    Interval,
    Number { column: usize, falls: bool, float: bool },
}

/// How the rows of a token are ordered.
pub(super) struct Ordering<'a> {
    layout: &'a Layout,
    parts: Vec<Part>,
    /// The column of bytes that decides where the numbers do not.
    rest: Option<usize>,
    /// What the numbers of intervals in records stand for.
    intervals: &'a [i64],
    /// Of rows with equal keys only the last is kept.
    side_by_side: bool,
    /// Places in the input of rows that are left out.
    repeats: &'a [u32],
    /// Bytes of rows that are ordered in memory at a time.
    group_max: u64,
}

/// Where ordered rows go.
pub(super) struct Output<'a> {
    pub(super) columns: &'a mut Columns,
    pub(super) marks: &'a mut Marks,
    pub(super) dropped: &'a mut Dropped,
}

type Key = [u64; 3];

/// The times of rows that tell no interval, by file, and the intervals they were found to be.
type Times = HashMap<u32, Vec<i64>>;
type Steps = HashMap<u32, i64>;

/// What the next row of a run compares by: its key, the rest of it, the run.
type RunHead = (Key, (bool, Vec<u8>), usize);

/// A row to be ordered.
#[derive(Clone, Copy)]
struct Row {
    key: Key,
    interval: i64,
    at: u32,
}

impl<'a> Ordering<'a> {
    pub(super) fn new(
        schema: &TableSchema,
        layout: &'a Layout,
        intervals: &'a [i64],
        side_by_side: bool,
        repeats: &'a [u32],
        group_max: u64,
    ) -> Self {
        let (mut parts, mut rest) = (Vec::new(), None);
        for name in &schema.order[1..] {
            let column = layout.position(name.trim_start_matches('-'));
            let falls = name.starts_with('-');
            match column.map(|column| (column, layout.columns[column].1)) {
                None => parts.push(Part::Interval),
                Some((column, Form::Float)) => parts.push(Part::Number { column, falls, float: true }),
                Some((column, Form::Integer | Form::Time)) => parts.push(Part::Number { column, falls, float: false }),
                Some((column, Form::Address | Form::Hex | Form::Text)) => rest = Some(column),
            }
        }
        Self { layout, parts, rest, intervals, side_by_side, repeats, group_max }
    }

    /// The interval of the record, which in its file may be the step between rows.
    fn interval(&self, record: Record<'_>, steps: &Steps) -> i64 {
        let interval = match (record.interval() as usize).checked_sub(1) {
            Some(at) => self.intervals.get(at),
            None => steps.get(&record.head().file),
        };
        interval.copied().unwrap_or_default()
    }

    /// Numbers that compare as the row does; an empty cell comes last either way.
    fn key(&self, record: Record<'_>, interval: i64) -> Key {
        let mut key = [0; 3];
        for (slot, part) in key.iter_mut().zip(&self.parts) {
            *slot = match *part {
                Part::Interval => as_text(interval),
                Part::Number { column, .. } if record.is_null(column) => u64::MAX,
                Part::Number { column, falls, float } => {
                    let number = record.whole(self.layout, column);
                    let rising = if float { rising(f64::from_bits(number as u64)) } else { number as u64 ^ 1 << 63 };
                    if falls { !rising } else { rising }
                }
            };
        }
        key
    }

    /// Bytes that decide between equal keys; an empty cell comes last.
    fn rest<'b>(&self, record: Record<'b>) -> (bool, &'b [u8]) {
        self.rest.map_or((false, &[]), |column| (record.is_null(column), record.bytes(self.layout, column)))
    }

    fn is_dropped(&self, record: Record<'_>) -> bool {
        !self.repeats.is_empty() && self.repeats.binary_search(&record.place()).is_ok()
    }

    /// Orders the rows of the tokens `first..` (by rank) in `bytes` and hands them on.
    pub(super) fn group(&self, bytes: &[u8], ranks: &[u32], first: u32, tokens: usize, out: &mut Output<'_>) -> io::Result<()> {
        let local =
            |record: Record<'_>| ranks.get(record.token() as usize).and_then(|rank| rank.checked_sub(first)).map(|rank| rank as usize);
        let mut starts = vec![0usize; tokens + 1];
        for (_, record) in records(bytes).filter(|(_, record)| !self.is_dropped(*record)) {
            *local(record).and_then(|token| starts.get_mut(token + 1)).ok_or_else(damaged)? += 1;
        }
        for i in 0..tokens {
            starts[i + 1] += starts[i];
        }
        let mut places = vec![0u32; starts[tokens]];
        let mut next = starts.clone();
        for (at, record) in records(bytes).filter(|(_, record)| !self.is_dropped(*record)) {
            let slot = local(record).and_then(|token| next.get_mut(token)).ok_or_else(damaged)?;
            places[*slot] = at as u32;
            *slot += 1;
        }
        let (mut rows, mut scratch) = (Vec::new(), Vec::new());
        for token in 0..tokens {
            let rank = first + token as u32;
            let places = &places[starts[token]..starts[token + 1]];
            let found = || places.iter().filter_map(|&at| Record::at(bytes, at as usize).map(|record| (at, record)));
            let steps = self.steps(found().map(|(_, record)| record));
            if self.put_stretches(found().map(|(_, record)| record), &steps, rank, out)? {
                continue;
            }
            if found().any(|(_, record)| record.is_stretch()) {
                scratch.clear();
                found().for_each(|(_, record)| put_rows(record, self.layout, &mut scratch));
                self.sort(&scratch, records(&scratch).map(|(at, record)| (at as u32, record)), &steps, &mut rows);
                self.put(&scratch, &rows, rank, out)?;
            } else {
                self.sort(bytes, found(), &steps, &mut rows);
                self.put(bytes, &rows, rank, out)?;
            }
        }
        Ok(())
    }

    /// Hands on rows that were ordered.
    fn put(&self, bytes: &[u8], rows: &[Row], rank: u32, out: &mut Output<'_>) -> io::Result<()> {
        for (i, row) in rows.iter().enumerate() {
            let Some(record) = Record::at(bytes, row.at as usize) else { continue };
            if self.side_by_side && rows.get(i + 1).is_some_and(|next| next.key == row.key) {
                let head = record.head();
                out.dropped.add(head.place, head.file, head.row);
                continue;
            }
            out.marks.row(rank, row.interval, out.columns.rows());
            out.columns.push(self.layout, record)?;
        }
        Ok(())
    }

    /// Hands on a token's rows if all are in stretches and no two of these overlap: then they are in order once the stretches are, and
    /// no key comes twice. Gives back whether they were.
    fn put_stretches<'b>(
        &self,
        found: impl Iterator<Item = Record<'b>>,
        steps: &Steps,
        rank: u32,
        out: &mut Output<'_>,
    ) -> io::Result<bool> {
        let ends = |record| {
            let stretch = Stretch::of(record, self.layout)?;
            let interval = self.interval(record, steps);
            Some((self.ends(&stretch, interval), interval, stretch))
        };
        let stretches: Option<Vec<_>> = found.map(ends).collect();
        let Some(mut stretches) = stretches else { return Ok(false) };
        stretches.sort_unstable_by_key(|(ends, ..)| *ends);
        if !stretches.is_sorted_by(|a, b| a.0.1 < b.0.0) {
            return Ok(false);
        }
        for (_, interval, stretch) in &stretches {
            out.marks.row(rank, *interval, out.columns.rows());
            out.columns.push_stretch(stretch)?;
        }
        Ok(true)
    }

    /// The keys of the first and the last row of a stretch.
    fn ends(&self, stretch: &Stretch<'_>, interval: i64) -> (Key, Key) {
        let key = |row: usize| {
            let mut record = Vec::new();
            stretch.put_row(row, self.layout, &mut record);
            self.key(Record(&record), interval)
        };
        (key(0), key(stretch.rows().saturating_sub(1)))
    }

    /// The rows in order, into `rows`. Most sources are in order already, which is looked at first.
    fn sort<'b>(&self, bytes: &[u8], found: impl Iterator<Item = (u32, Record<'b>)>, steps: &Steps, rows: &mut Vec<Row>) {
        rows.clear();
        rows.extend(found.map(|(at, record)| {
            let interval = self.interval(record, steps);
            Row { key: self.key(record, interval), interval, at }
        }));
        let rest = |row: &Row| Record::at(bytes, row.at as usize).map(|record| self.rest(record));
        let compare = |a: &Row, b: &Row| {
            let keys = a.key.cmp(&b.key);
            let keys = if self.rest.is_some() { keys.then_with(|| rest(a).cmp(&rest(b))) } else { keys };
            keys.then(a.at.cmp(&b.at))
        };
        if !rows.is_sorted_by(|a, b| compare(a, b).is_le()) {
            rows.sort_unstable_by(compare);
        }
    }

    /// The interval of rows that tell none, by file: the most frequent step between them.
    fn steps<'b>(&self, found: impl Iterator<Item = Record<'b>>) -> Steps {
        let mut times = Times::new();
        found.for_each(|record| self.note_times(record, &mut times));
        times.into_iter().map(|(file, times)| (file, step(times).0)).collect()
    }

    /// Notes the times of a record that tells no interval and should.
    fn note_times(&self, record: Record<'_>, times: &mut Times) {
        if record.interval() > 0 || !matches!(self.parts.first(), Some(Part::Interval)) {
            return;
        }
        let Some(column) = self.layout.position("timestamp") else { return };
        let times = times.entry(record.head().file).or_default();
        match Stretch::of(record, self.layout) {
            Some(stretch) => times.extend(stretch.column(column).iter().map(|time| i64::from_le_bytes(*time))),
            None => times.push(record.whole(self.layout, column)),
        }
    }

    /// As `group`, of one token whose rows do not fit into memory: the bucket of `spill`, through runs in a file of their own, or as they
    /// are where they came in order.
    pub(super) fn token(&self, spill: &Spill, bucket: usize, rank: u32, runs: &Path, out: &mut Output<'_>) -> io::Result<()> {
        let mut times = Times::new();
        if matches!(self.parts.first(), Some(Part::Interval)) {
            pieces(spill, bucket, self.group_max, |bytes| {
                records(bytes).for_each(|(_, record)| self.note_times(record, &mut times));
                Ok(())
            })?;
        }
        let steps: Steps = times.into_iter().map(|(file, times)| (file, step(times).0)).collect();
        if self.in_order(spill, bucket, &steps)? {
            return pieces(spill, bucket, self.group_max, |bytes| {
                self.put_stretches(records(bytes).map(|(_, record)| record), &steps, rank, out).map(drop)
            });
        }
        let count = (spill.bytes(bucket) / self.group_max.max(1)) as usize + 2;
        let mut sorted = Spill::create(runs, count)?;
        let (mut rows, mut run, mut scratch) = (Vec::new(), 0, Vec::new());
        pieces(spill, bucket, self.group_max, |bytes| {
            let bytes = if records(bytes).any(|(_, record)| record.is_stretch()) {
                scratch.clear();
                records(bytes).for_each(|(_, record)| put_rows(record, self.layout, &mut scratch));
                &scratch
            } else {
                bytes
            };
            let found = records(bytes).filter(|(_, record)| !self.is_dropped(*record)).map(|(at, record)| (at as u32, record));
            self.sort(bytes, found, &steps, &mut rows);
            for row in &rows {
                let Some(record) = Record::at(bytes, row.at as usize) else { continue };
                sorted.buffer(run).extend_from_slice(record.0);
                sorted.settle(run)?;
            }
            run += 1;
            sorted.flush().map(drop)
        })?;
        sorted.close()?;
        self.merge(&sorted, run, rank, &steps, out)
    }

    /// Whether the bucket is of stretches alone, each behind the one before.
    fn in_order(&self, spill: &Spill, bucket: usize, steps: &Steps) -> io::Result<bool> {
        let (mut bytes, mut nth, mut last) = (Vec::new(), 0, None);
        while spill.chunk(bucket, nth, &mut bytes)? {
            for (_, record) in records(&bytes) {
                let Some(stretch) = Stretch::of(record, self.layout) else { return Ok(false) };
                let (first, end) = self.ends(&stretch, self.interval(record, steps));
                if last.is_some_and(|last| last >= first) {
                    return Ok(false);
                }
                last = Some(end);
            }
            bytes.clear();
            nth += 1;
        }
        Ok(true)
    }

    fn merge(&self, sorted: &Spill, runs: usize, rank: u32, steps: &Steps, out: &mut Output<'_>) -> io::Result<()> {
        let mut readers: Vec<Run<'_>> = (0..runs).map(|bucket| Run { spill: sorted, bucket, nth: 0, bytes: Vec::new(), at: 0 }).collect();
        let mut heads: BinaryHeap<Reverse<RunHead>> = BinaryHeap::new();
        let head_of = |record: Record<'_>| {
            let interval = self.interval(record, steps);
            (self.key(record, interval), interval)
        };
        let push = |heads: &mut BinaryHeap<_>, readers: &mut [Run<'_>], run: usize| -> io::Result<()> {
            if let Some(record) = readers[run].peek()? {
                let (null, rest) = self.rest(record);
                heads.push(Reverse((head_of(record).0, (null, rest.to_vec()), run)));
            }
            Ok(())
        };
        for run in 0..runs {
            push(&mut heads, &mut readers, run)?;
        }
        // Runs are in the order of the input, so of equal rows the one of the later run came later.
        let mut last: Option<(Key, i64, Vec<u8>)> = None;
        loop {
            let next = heads.pop();
            if let Some((key, interval, bytes)) = &last {
                let record = Record(bytes);
                if self.side_by_side && next.as_ref().is_some_and(|Reverse(next)| next.0 == *key) {
                    let head = record.head();
                    out.dropped.add(head.place, head.file, head.row);
                } else {
                    out.marks.row(rank, *interval, out.columns.rows());
                    out.columns.push(self.layout, record)?;
                }
            }
            let Some(Reverse((key, _, run))) = next else { return Ok(()) };
            let mut bytes = last.take().map(|last| last.2).unwrap_or_default();
            bytes.clear();
            let record = readers[run].peek()?.ok_or_else(damaged)?;
            bytes.extend_from_slice(record.0);
            last = Some((key, head_of(record).1, bytes));
            readers[run].skip();
            push(&mut heads, &mut readers, run)?;
        }
    }
}

/// The bucket in pieces that fit into memory.
fn pieces(spill: &Spill, bucket: usize, group_max: u64, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut bytes, mut nth) = (Vec::new(), 0);
    while spill.chunk(bucket, nth, &mut bytes)? {
        nth += 1;
        if bytes.len() as u64 >= group_max {
            each(&bytes)?;
            bytes.clear();
        }
    }
    if bytes.is_empty() { Ok(()) } else { each(&bytes) }
}

/// A sorted run as it is read.
struct Run<'a> {
    spill: &'a Spill,
    bucket: usize,
    nth: usize,
    bytes: Vec<u8>,
    at: usize,
}

impl Run<'_> {
    fn peek(&mut self) -> io::Result<Option<Record<'_>>> {
        if self.at >= self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            if !self.spill.chunk(self.bucket, self.nth, &mut self.bytes)? {
                return Ok(None);
            }
            self.nth += 1;
        }
        Ok(Record::at(&self.bytes, self.at))
    }

    fn skip(&mut self) {
        self.at += Record::at(&self.bytes, self.at).map_or(usize::MAX / 2, Record::length);
    }
}

/// An interval's text as a number that compares as the text does: its first eight bytes, which tell all intervals apart.
fn as_text(interval: i64) -> u64 {
    let text = Interval(interval).to_string();
    let mut bytes = [0; 8];
    for (byte, from) in bytes.iter_mut().zip(text.bytes()) {
        *byte = from;
    }
    u64::from_be_bytes(bytes)
}

/// A number's bits so that they compare as the numbers do; both zeros are one.
pub(super) fn rising(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_intervals_keep_their_order_as_bits() {
        let numbers = [f64::NEG_INFINITY, -2.0, -1e-9, 0.0, 1e-9, 3.0, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| rising(pair[0]) < rising(pair[1])));
        assert_eq!(rising(-0.0), rising(0.0));
        let mut intervals = [60_000, 900_000, 3_600_000, 14_400_000, 86_400_000, 31_622_399_000, 31_622_398_000, 1_000];
        intervals.sort_by_key(|interval| Interval(*interval).to_string());
        assert!(intervals.windows(2).all(|pair| as_text(pair[0]) < as_text(pair[1])));
    }
}
