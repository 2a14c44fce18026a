//! Normalises cells for the loader: times and numbers in a file's notation become plain ones. Unreadable cells stay unchanged, so that the
//! loader's finding shows them as written.

use polars::prelude::{
    Column, DataType, IntoColumn, NamedFrom, PlSmallStr, Series, TimeUnit, TimeZone,
};

use super::{
    candles::grid::{CandleTimes, RowsSeen, WHOLE, has_more},
    evidence::{number::NumberStyle, when::TimeStyle},
    rows::{Edited, cells, column, put},
    sheet::{RawTable, flat},
};
use load::formats::{RowSource, SourceBatch};

/// A rewrite of one column.
#[derive(Debug, Clone)]
pub(super) struct Fix {
    column: String,
    kind: FixKind,
}

#[derive(Debug, Clone)]
enum FixKind {
    Time(TimeStyle),
    /// The time of a candle, moved to its open time; with what is seen of the rows where they are marked.
    Candle(TimeStyle, CandleTimes, Option<RowsSeen>),
    /// A day, and the column of the time of day.
    DayAndClock(TimeStyle, String),
    /// A number, and how many of its last digits are decimals though it is written as a whole one.
    Number(NumberStyle, u32),
    Text(fn(&str) -> Option<String>),
}

impl Fix {
    pub(super) fn time(sheet: &RawTable, at: usize, when: TimeStyle) -> Self {
        Self {
            column: sheet.names[at].clone(),
            kind: FixKind::Time(when),
        }
    }

    pub(super) fn candle_time(
        sheet: &RawTable,
        at: usize,
        when: TimeStyle,
        placed: CandleTimes,
    ) -> Self {
        let seen = placed.marks(has_more(sheet)).then(RowsSeen::default);
        if placed.ended.is_none() && seen.is_none() {
            return Self::time(sheet, at, when);
        }
        Self {
            column: sheet.names[at].clone(),
            kind: FixKind::Candle(when, placed, seen),
        }
    }

    pub(super) fn day_and_clock(
        sheet: &RawTable,
        day: usize,
        clock: usize,
        when: TimeStyle,
    ) -> Self {
        Self {
            column: sheet.names[day].clone(),
            kind: FixKind::DayAndClock(when, sheet.names[clock].clone()),
        }
    }

    /// `None` if its numbers are plain already.
    pub(super) fn number(sheet: &RawTable, at: usize, style: NumberStyle) -> Option<Self> {
        style.needs_rewrite.then(|| Self {
            column: sheet.names[at].clone(),
            kind: FixKind::Number(style, 0),
        })
    }

    /// As `number`, with the decimals of a price that is written as a whole number.
    pub(super) fn price(
        sheet: &RawTable,
        at: usize,
        style: NumberStyle,
        places: u32,
    ) -> Option<Self> {
        let scaled = (places > 0).then(|| Self {
            column: sheet.names[at].clone(),
            kind: FixKind::Number(style, places),
        });
        scaled.or_else(|| Self::number(sheet, at, style))
    }

    /// Rewrites each cell that the function returns a text for.
    pub(super) fn text(sheet: &RawTable, at: usize, change: fn(&str) -> Option<String>) -> Self {
        Self {
            column: sheet.names[at].clone(),
            kind: FixKind::Text(change),
        }
    }
}

/// The rows with the rewrites applied.
pub(super) fn fixed(rows: Box<dyn RowSource>, mut fixes: Vec<Fix>) -> Box<dyn RowSource> {
    if fixes.is_empty() {
        return rows;
    }
    let marks = fixes
        .iter()
        .any(|fix| matches!(fix.kind, FixKind::Candle(.., Some(_))));
    Edited::over(rows, marks.then_some(WHOLE), move |batch| {
        for fix in &mut fixes {
            fix.apply(batch);
        }
    })
}

impl Fix {
    fn apply(&mut self, batch: &mut SourceBatch) {
        let clocks = if let FixKind::DayAndClock(_, clock) = &self.kind {
            cells(batch, clock)
        } else {
            Vec::new()
        };
        let Some(column) = column(batch, &self.column) else {
            return;
        };
        let typed = !matches!(column.dtype(), DataType::String);
        let is_read_as_it_is = match &self.kind {
            // Serial dates and 20240131 are numbers, whose meaning as times only the style knows.
            FixKind::Time(when) if when.reads_numbers() => column.dtype().is_temporal(),
            FixKind::Time(_) | FixKind::Number(_, 0) => typed,
            FixKind::Number(..)
            | FixKind::Candle(..)
            | FixKind::DayAndClock(..)
            | FixKind::Text(_) => false,
        };
        if is_read_as_it_is {
            return;
        }
        let mut whole = None;
        *column = match &mut self.kind {
            FixKind::Time(when) => {
                times(&flat::optional(column), &self.column, |text| when.ms(text))
            }
            FixKind::Candle(when, placed, seen) => {
                let cells = flat::optional(column);
                if let Some(seen) = seen {
                    let read: Vec<Option<i64>> =
                        cells.iter().map(|cell| when.ms(cell.as_deref()?)).collect();
                    whole = Some(placed.whole(&read, seen));
                }
                times(&cells, &self.column, |text| {
                    when.ms(text).map(|ms| placed.start(ms))
                })
            }
            FixKind::DayAndClock(when, _) => {
                let days = flat::optional(column).into_iter().zip(clocks);
                let joined: Vec<Option<String>> = days
                    .map(|(day, clock)| {
                        day.map(|day| with_clock(&day, clock.as_deref().unwrap_or_default()))
                    })
                    .collect();
                times(&joined, &self.column, |text| when.ms(text))
            }
            FixKind::Number(style, places) => texts(column, &self.column, |text| {
                with_places(style.plain(text)?, *places)
            }),
            FixKind::Text(change) => texts(column, &self.column, *change),
        };
        if let Some(whole) = whole {
            put(
                batch,
                WHOLE,
                whole
                    .into_iter()
                    .map(|whole| Some(if whole { "yes" } else { "no" }.to_owned()))
                    .collect(),
            );
        }
    }
}

/// Divides a plain number by a power of ten, digit for digit.
pub(super) fn with_places(plain: String, places: u32) -> Option<String> {
    if places == 0 {
        return Some(plain);
    }
    let (digits, power) = plain.split_once('e').unwrap_or((&plain, "0"));
    Some(format!(
        "{digits}e{}",
        power.parse::<i64>().ok()?.checked_sub(places.into())?
    ))
}

/// Joins a day and a time of day. Digits alone, as `20240501` and `93000`, are joined as digits.
pub(super) fn with_clock(day: &str, clock: &str) -> String {
    let (day, clock) = (day.trim(), clock.trim());
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    match (digits(day) && day.len() == 8, digits(clock)) {
        _ if clock.is_empty() => day.to_owned(),
        // Leading zeros are lost if a time of day was stored as a number.
        (true, true) => format!("{day}{clock:0>6}"),
        (true, false) => format!("{}-{}-{} {clock}", &day[..4], &day[4..6], &day[6..]),
        (false, true) => {
            let clock = format!("{clock:0>6}");
            format!("{day} {}:{}:{}", &clock[..2], &clock[2..4], &clock[4..6])
        }
        _ => format!("{day} {clock}"),
    }
}

/// A column of times; of texts if some are unreadable, so that a finding can show them.
fn times(cells: &[Option<String>], name: &str, ms: impl Fn(&str) -> Option<i64>) -> Column {
    let name = PlSmallStr::from_str(name);
    let read: Vec<Option<i64>> = cells
        .iter()
        .map(|cell| cell.as_deref().and_then(&ms))
        .collect();
    let unread = cells.iter().zip(&read).any(|(cell, ms)| {
        ms.is_none() && cell.as_ref().is_some_and(|cell| !cell.trim().is_empty())
    });
    if unread {
        let texts: Vec<Option<String>> = cells
            .iter()
            .zip(read)
            .map(|(cell, ms)| {
                ms.map(|ms| model::time::Time(ms).to_string())
                    .or_else(|| cell.clone())
            })
            .collect();
        return Series::new(name, texts).into_column();
    }
    let plain = Series::new(name, read).into_column();
    plain
        .cast(&DataType::Datetime(
            TimeUnit::Milliseconds,
            Some(TimeZone::UTC),
        ))
        .unwrap_or(plain)
}

fn texts(column: &Column, name: &str, change: impl Fn(&str) -> Option<String>) -> Column {
    let texts: Vec<Option<String>> = flat::optional(column)
        .into_iter()
        .map(|cell| cell.map(|cell| change(&cell).unwrap_or(cell)))
        .collect();
    Series::new(PlSmallStr::from_str(name), texts).into_column()
}
