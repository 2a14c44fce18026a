//! A dataset as it was known at an earlier time: later rows are removed. The schema says which time dates a row.
//! No file is read again and no clock is read.

use std::collections::HashMap;

use polars::prelude::{Column, DataFrame, IdxCa, PolarsResult};

use crate::{
    Dataset, Table,
    error::ReadError,
    live_files::{HISTORY_BYTES_MAX, history_files},
    part_files::{GONE, OBSERVED_AT, newest, with_removed_rows},
};
use frames::{
    error::FrameError,
    frame_rows::{filtered, integers, parsed},
    order,
    parquet_files::parquet_rows,
    rows::Frames as _,
};
use model::{
    interval::Interval,
    schema::{Known, RowTime},
    time::{DAY_MS, SECOND_MS, Time},
    yield_rows::YieldDay,
};

/// Rows of a table in the cache up to which it is read: those that stay are in memory.
const ROWS_MAX: usize = 5_000_000;
/// When a post was found deleted.
const DELETED_AT: &str = "gone_at";
/// Rows read from the cache at a time.
const ROWS_AT_ONCE: usize = 200_000;

/// The time that a dataset is as of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AsOf {
    /// Later rows are not known.
    pub time: Time,
    /// Tables without times and without a history: their rows are current, not as of the time.
    pub unknown: Vec<&'static str>,
}

impl Dataset {
    /// The dataset as it was known at `time`. Fails, with whole sentences, if a table is queried in place or is too large.
    pub fn known_at(&self, time: Time) -> Result<Self, ReadError> {
        let (mut as_of, mut first) = (
            AsOf {
                time,
                unknown: Vec::new(),
            },
            FirstKnown(None),
        );
        let cut = |table| self.cut(table, time, &mut as_of.unknown, &mut first);
        let tables = self.tables.iter().map(cut).collect::<Result<Vec<_>, _>>()?;
        if let Some(first) = first.0.filter(|first| *first >= end_of(time)) {
            return Err(ReadError::StartsLater(Time(first).day()));
        }
        let mut cut = Self::new(tables);
        cut.title.clone_from(&self.title);
        cut.license.clone_from(&self.license);
        cut.social = self.social;
        cut.synthetic = self.synthetic;
        cut.folder.clone_from(&self.folder);
        cut.importing.clone_from(&self.importing);
        cut.identity = crate::loader::identity::at(&self.identity, time);
        // The state of a chain is of another block.
        let days = |days: &Vec<YieldDay>| {
            days.iter()
                .copied()
                .filter(|day| day.day.start().0 + DAY_MS <= end_of(time))
                .collect()
        };
        cut.yield_days = self
            .yield_days
            .iter()
            .map(|(pool, known)| (pool.clone(), days(known)))
            .collect::<HashMap<_, _>>();
        cut.as_of = Some(as_of);
        Ok(cut)
    }

    /// Whether the rows of the table are current instead of as of the time, because none has a time.
    pub fn lacks_history(&self, table: &str) -> bool {
        self.as_of
            .as_ref()
            .is_some_and(|as_of| as_of.unknown.contains(&table))
    }

    fn cut(
        &self,
        table: &Table,
        time: Time,
        unknown: &mut Vec<&'static str>,
        first: &mut FirstKnown,
    ) -> Result<Table, ReadError> {
        let name = table.schema.name;
        if !table.loaded() {
            return Ok(table.clone());
        }
        let damaged = |error: ReadError| ReadError::PastState {
            table: name,
            reason: Box::new(error),
        };
        if let Some(snapshots) = self.snapshots(table, time, first).map_err(damaged)? {
            return table.clone().with_rows(&snapshots);
        }
        let rule = match table.schema.known {
            Known::Dated(rule) => rule,
            Known::Figures(figures) => {
                let whole = table.rows.slice(0..table.height(), None);
                let frame = undated_cleared(&whole, figures, time, first)
                    .map_err(|error| damaged(error.into()))?;
                // Columns of one's own, and what is said of a token once and for all.
                let is_given = |column: &str| {
                    frame
                        .column(column)
                        .is_ok_and(|cells| cells.null_count() < frame.height())
                };
                if table.own_columns().next().is_some() || is_given("listed") {
                    unknown.push(name);
                }
                return table.clone().with_rows(&frame);
            }
            Known::Always => return Ok(table.clone()),
            Known::Unknown => {
                unknown.push(name);
                return Ok(table.clone());
            }
        };
        if name == "posts" {
            // How often a post was seen is known as of today alone.
            unknown.push(name);
        }
        let (rows, height) = (&table.rows, table.rows.height());
        if table.engine_rows().is_some() {
            return Err(ReadError::PastInPlace(name));
        }
        if height > ROWS_MAX {
            return Err(ReadError::PastTooLarge {
                table: name,
                rows: height,
                max: ROWS_MAX,
            });
        }
        if table.large().is_none() && is_undated(rule, &rows.slice(0..height, None)) {
            unknown.push(name);
            return Ok(table.clone());
        }
        let parts = (0..height).step_by(ROWS_AT_ONCE).map(|start| {
            let part = rows.slice(start..(start + ROWS_AT_ONCE).min(height), None);
            cut(rule, &part, time, first)
        });
        let mut kept = parts
            .collect::<PolarsResult<Vec<_>>>()
            .and_then(order::whole)
            .map_err(|error| damaged(error.into()))?;
        if name == "posts"
            && let Some(posts) = kept.take_if(|posts| posts.column(DELETED_AT).is_ok())
        {
            // A post that was deleted later was there then; its words are not stored any more.
            let then = undated_cleared(&posts, &[(DELETED_AT, &[])], time, first);
            kept = Some(then.map_err(|error| damaged(error.into()))?);
        }
        table.clone().with_rows(&kept.unwrap_or_default())
    }

    /// The newest state, seen by `time`, of a table whose rows are all fetched live; `None` without a history.
    fn snapshots(
        &self,
        table: &Table,
        time: Time,
        first: &mut FirstKnown,
    ) -> Result<Option<DataFrame>, ReadError> {
        let live = format!(
            "{}/{}.parquet",
            crate::live_files::FOLDER,
            table.schema.name
        );
        let files = history_files(&self.folder, table.schema.name);
        if files.is_empty() || table.sources.iter().any(|source| source.file != live) {
            return Ok(None);
        }
        let mut seen = Vec::new();
        for file in &files {
            let frame =
                parquet_rows(file, HISTORY_BYTES_MAX).unwrap_or(Err(FrameError::NoHistoryFile))?;
            let known = cut(RowTime::At(OBSERVED_AT), &frame, time, first)?;
            seen.push(with_removed_rows(known)?);
        }
        let Some(whole) = order::whole(seen)? else {
            return Ok(Some(table.rows.slice(0..0, None)));
        };
        let newest = newest(table.schema, whole)?;
        let gone = newest.column(GONE)?.bool()?.iter();
        let there = filtered(&newest, gone.map(|gone| gone != Some(true)))?;
        let there = there.drop(OBSERVED_AT)?.drop(GONE)?;
        Ok(Some(order::sorted(table.schema.order, there)?))
    }
}

/// The first moment that is too late: the second itself counts whole, as times are written in seconds.
fn end_of(time: Time) -> i64 {
    (time.0.div_euclid(SECOND_MS) + 1) * SECOND_MS
}

/// Whether no row has the time that others are told by.
fn is_undated(rule: RowTime, frame: &DataFrame) -> bool {
    let undated = |column: &Column| column.null_count() == frame.height();
    matches!(rule, RowTime::At(_))
        && frame.height() > 0
        && frame.column(rule.column()).map_or(true, undated)
}

/// The rows that were known then.
fn cut(
    rule: RowTime,
    frame: &DataFrame,
    time: Time,
    first: &mut FirstKnown,
) -> PolarsResult<DataFrame> {
    let (times, end) = (integers(frame, rule.column()), end_of(time));
    let lengths = if rule == RowTime::Candle {
        lengths(frame)
    } else {
        Vec::new()
    };
    // The last moment that a row must wait for.
    let moment = |row: usize, at: i64| match rule {
        RowTime::At(_) | RowTime::Since(_) => at,
        RowTime::Day(_) => (at + 1) * DAY_MS - 1,
        RowTime::Candle => at + lengths[row] - 1,
    };
    // A contract or a scam is there before anything is written down about the market.
    let always = matches!(rule, RowTime::Since(_));
    let known = |(row, at): (usize, Option<i64>)| {
        let Some(moment) = at.map(|at| moment(row, at)) else {
            return always;
        };
        if !always {
            first.take(moment);
        }
        moment < end
    };
    filtered(frame, times.into_iter().enumerate().map(known))
}

/// When the first of the rows that have a time was known.
#[derive(Debug)]
struct FirstKnown(Option<i64>);

impl FirstKnown {
    fn take(&mut self, moment: i64) {
        self.0 = Some(self.0.map_or(moment, |first| first.min(moment)));
    }
}

/// Milliseconds of each row's candle.
fn lengths(frame: &DataFrame) -> Vec<i64> {
    let lengths = parsed(frame, "interval", Interval::parse).into_iter();
    lengths
        .map(|interval| interval.map_or(0, |interval| interval.0))
        .collect()
}

/// The tokens without the figures that are later, or of no time.
fn undated_cleared(
    frame: &DataFrame,
    dated: &[(&'static str, &'static [&'static str])],
    time: Time,
    first: &mut FirstKnown,
) -> PolarsResult<DataFrame> {
    let mut frame = frame.clone();
    for (dated_by, figures) in dated {
        let times = integers(&frame, dated_by);
        times.iter().flatten().for_each(|at| first.take(*at));
        let rows = times.into_iter().enumerate();
        let known = rows.map(|(row, at)| at.filter(|at| *at < end_of(time)).map(|_| row as u32));
        let known = known.collect::<IdxCa>();
        for figure in figures.iter().chain([dated_by]) {
            let Ok(column) = frame.column(figure) else {
                continue;
            };
            let cleared = column.take(&known)?;
            frame.with_column(cleared)?;
        }
    }
    Ok(frame)
}
