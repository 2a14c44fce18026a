//! Dictionary encoding of tokens and intervals during an import: codes in order of arrival (`Codes`), then ranks, which compare like the
//! values they encode (`Ranks`).

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PolarsResult, Series};

use super::{FILE, POSITION};
use frames::{
    cache::CacheBuildError,
    order::{SpillFile, without},
    text_runs::{pairs, runs_of},
};
use model::{address::Address, interval::Interval, schema::TableSchema, system::FileAt as _};

/// Buckets of rows, by the leading bits of the token's address, so that bucket order is token order.
pub(super) const BUCKETS: usize = 64;

/// The columns of the codes. No column of the schema begins with a space.
pub(super) const TOKEN: &str = " token";
pub(super) const INTERVAL: &str = " interval";

/// Codes of some rows, and the bucket of each row.
pub(super) struct Codes {
    pub(super) columns: Vec<Column>,
    pub(super) buckets: Vec<u32>,
}

impl Codes {
    pub(super) fn of(
        schema: &TableSchema,
        frame: &DataFrame,
        tokens: &mut TokenDictionary,
        intervals: &mut Vec<i64>,
    ) -> PolarsResult<Self> {
        let owners = frame.column(table::group_column(schema))?.str()?;
        let by_interval = frame
            .column("interval")
            .ok()
            .filter(|_| table::in_index(schema, "interval"));
        // Run by run, as most tables repeat a token over many consecutive rows.
        let runs: Vec<_> = match by_interval {
            Some(intervals) => pairs(owners, intervals.str()?).collect(),
            None => runs_of(owners)
                .map(|(rows, token)| (rows, token, None))
                .collect(),
        };
        let height = frame.height();
        let (mut token_codes, mut interval_codes, mut buckets) = (
            Vec::with_capacity(height),
            Vec::with_capacity(height),
            Vec::with_capacity(height),
        );
        for (rows, token, interval) in runs {
            let address = token.and_then(Address::parse).unwrap_or_default();
            let more = token_codes.len() + rows.len();
            token_codes.resize(more, tokens.number(address));
            buckets.resize(more, u32::from(address.0[0]) * BUCKETS as u32 / 256);
            if by_interval.is_some() {
                let interval = interval
                    .and_then(Interval::parse)
                    .map_or(UNKNOWN, |interval| interval.0);
                interval_codes.resize(more, code_of(intervals, interval));
            }
        }
        let mut columns = vec![Series::new(TOKEN.into(), token_codes).into_column()];
        if by_interval.is_some() {
            columns.push(Series::new(INTERVAL.into(), interval_codes).into_column());
        }
        Ok(Self { columns, buckets })
    }
}

/// Placeholder for a missing interval, until all times of the token are known.
const UNKNOWN: i64 = 0;

/// Returns the code of an interval, adding a new one to the dictionary.
fn code_of(intervals: &mut Vec<i64>, interval: i64) -> u32 {
    let known = intervals.iter().position(|known| *known == interval);
    known.unwrap_or_else(|| {
        intervals.push(interval);
        intervals.len() - 1
    }) as u32
}

/// Mapping from codes to ranks, for the rows of one bucket.
pub(super) struct Ranks<'a> {
    /// Rank of each token.
    tokens: &'a [u32],
    /// Rank of each interval by its text, and the intervals in that order.
    intervals: Vec<u32>,
    ordered: Vec<i64>,
    /// The code of `UNKNOWN`, and the code of the inferred interval by token and file: the most frequent step between the times.
    unknown: Option<u32>,
    steps: HashMap<(u32, u32), u32>,
    /// Input row numbers of duplicates to drop, sorted.
    repeats: &'a [u32],
}

impl<'a> Ranks<'a> {
    pub(super) fn of(
        spill: &SpillFile,
        bucket: usize,
        tokens: &'a [u32],
        intervals: &mut Vec<i64>,
        repeats: &'a [u32],
    ) -> Result<Self, CacheBuildError> {
        let unknown = intervals
            .iter()
            .position(|interval| *interval == UNKNOWN)
            .map(|number| number as u32);
        let mut times: HashMap<(u32, u32), Vec<i64>> = HashMap::new();
        if let Some(unknown) = unknown {
            for frame in spill.frames(bucket) {
                note_times(&frame?, unknown, &mut times)?;
            }
        }
        let steps = times
            .into_iter()
            .map(|(whose, times)| (whose, code_of(intervals, Interval::between(times).0)))
            .collect();
        let mut order: Vec<u32> = (0..intervals.len() as u32).collect();
        order.sort_by_cached_key(|number| Interval(intervals[*number as usize]).to_string());
        let ordered = order
            .iter()
            .map(|number| intervals[*number as usize])
            .collect();
        Ok(Self {
            tokens,
            intervals: inverse(&order),
            ordered,
            unknown,
            steps,
            repeats,
        })
    }

    /// Drops the duplicates and replaces the codes of tokens and intervals by ranks.
    pub(super) fn apply(&self, mut frame: DataFrame) -> PolarsResult<DataFrame> {
        if !self.repeats.is_empty() {
            let positions = frame.column(POSITION)?.u32()?.cont_slice()?;
            let marked: Vec<bool> = positions
                .iter()
                .map(|position| self.repeats.binary_search(position).is_ok())
                .collect();
            if marked.contains(&true) {
                frame = without(&frame, &marked)?;
                frame.rechunk_mut();
            }
        }
        let rank =
            |ranks: &[u32], number: u32| ranks.get(number as usize).copied().unwrap_or(u32::MAX);
        let tokens = frame.column(TOKEN)?.u32()?.cont_slice()?;
        let by_rank = Series::new(
            TOKEN.into(),
            tokens
                .iter()
                .map(|token| rank(self.tokens, *token))
                .collect::<Vec<_>>(),
        );
        if let Ok(intervals) = frame.column(INTERVAL) {
            let files = frame.column(FILE)?.u32()?.cont_slice()?;
            let known = |((number, token), file): ((&u32, &u32), &u32)| {
                let step = if Some(*number) == self.unknown {
                    self.steps.get(&(*token, *file))
                } else {
                    None
                };
                rank(&self.intervals, *step.unwrap_or(number))
            };
            let intervals: Vec<u32> = intervals
                .u32()?
                .cont_slice()?
                .iter()
                .zip(tokens)
                .zip(files)
                .map(known)
                .collect();
            frame.with_column(Series::new(INTERVAL.into(), intervals).into_column())?;
        }
        frame.with_column(by_rank.into_column())?;
        Ok(frame)
    }

    /// Starts of the runs of one token and interval: row, rank of the token, interval. The frame comes from `apply`.
    pub(super) fn run_starts(&self, frame: &DataFrame) -> PolarsResult<Vec<(usize, u32, i64)>> {
        let tokens = frame.column(TOKEN)?.u32()?.cont_slice()?;
        let intervals = frame
            .column(INTERVAL)
            .ok()
            .map(|intervals| intervals.u32()?.cont_slice())
            .transpose()?;
        let whose = |row: usize| (tokens[row], intervals.map_or(0, |intervals| intervals[row]));
        let first = (0..tokens.len()).filter(|row| *row == 0 || whose(*row) != whose(row - 1));
        let interval = |rank: u32| self.ordered.get(rank as usize).copied().unwrap_or_default();
        Ok(first
            .map(|row| (row, tokens[row], interval(whose(row).1)))
            .collect())
    }
}

/// Collects the times of the rows without an interval.
fn note_times(
    frame: &DataFrame,
    unknown: u32,
    times: &mut HashMap<(u32, u32), Vec<i64>>,
) -> PolarsResult<()> {
    let number = |name: &str| frame.column(name)?.u32()?.cont_slice();
    let (intervals, tokens, files) = (number(INTERVAL)?, number(TOKEN)?, number(FILE)?);
    let stamps = frame.column("timestamp")?.to_physical_repr();
    for (row, time) in stamps
        .i64()?
        .iter()
        .enumerate()
        .filter(|(row, _)| intervals[*row] == unknown)
    {
        times
            .entry((tokens[row], files[row]))
            .or_default()
            .push(time.unwrap_or_default());
    }
    Ok(())
}

/// Inverse permutation: the position of each element in the order.
pub(super) fn inverse(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, &number) in (0..).zip(order) {
        ranks[number as usize] = rank;
    }
    ranks
}

/// Dictionary of tokens, numbered in order of arrival; also written to a file, so that an interrupted import can resume.
pub(super) struct TokenDictionary {
    list: Vec<Address>,
    numbers: HashMap<Address, u32>,
    file: File,
    written: usize,
}

impl TokenDictionary {
    /// Opens the dictionary with the first `known` tokens of the file, those of the last checkpoint.
    pub(super) fn open(path: &Path, known: u64) -> Result<Self, CacheBuildError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut bytes = vec![0; known as usize * 20];
        file.read_exact_at(&mut bytes, 0)
            .map_err(|_| CacheBuildError::Damaged)?;
        let list: Vec<Address> = bytes
            .as_chunks::<20>()
            .0
            .iter()
            .map(|bytes| Address(*bytes))
            .collect();
        let numbers = list
            .iter()
            .enumerate()
            .map(|(i, address)| (*address, i as u32))
            .collect();
        Ok(Self {
            written: list.len(),
            list,
            numbers,
            file,
        })
    }

    fn number(&mut self, address: Address) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            self.list.push(address);
        }
        number
    }

    pub(super) fn address(&self, number: u32) -> Address {
        self.list.get(number as usize).copied().unwrap_or_default()
    }

    /// Writes the new tokens; returns the total number.
    pub(super) fn write(&mut self) -> io::Result<u64> {
        let bytes: Vec<u8> = self.list[self.written..]
            .iter()
            .flat_map(|address| address.0)
            .collect();
        self.file.write_all_at(&bytes, self.written as u64 * 20)?;
        self.written = self.list.len();
        Ok(self.written as u64)
    }

    /// Token numbers in order of address.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        order.sort_unstable_by_key(|number| self.list[*number as usize]);
        order
    }
}
