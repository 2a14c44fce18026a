//! Rules over the rows of one file in order: the steps between candles, the unit of their volume; and per-token statistics that
//! `across_tables` checks against other tables. The state kept per token is bounded, however many rows it has.

mod runs;

use std::collections::{BTreeMap, HashMap};

use polars::prelude::{DataFrame, DataType};

use serde::{Deserialize, Serialize};

use self::runs::{StepRun, Steps};
use super::{Rule, named};
pub use frames::report::{StatisticValue, TokenStatistic};
use frames::text_runs::{pairs, runs_of};
use model::{
    interval::Interval,
    time::{DAY_MS, MINUTE_MS, Time},
};

/// Maximum number of series (token and interval) per file.
const SERIES_MAX: usize = 200_000;
/// Turnovers sampled per series, spread evenly over its rows.
const SAMPLE: usize = 24;
/// Steps required to judge the interval.
const STEPS_MIN: u64 = 8;
/// Steps required to tell a gap from candles that exist only when there are trades, and the missing candles that make a gap.
const GAP_STEPS_MIN: u64 = 50;
const GAP_MIN: i64 = 24;
/// The missing candles that make a gap where there is no other.
pub(super) const MISSING_MIN: i64 = 3;
/// Rows compared on either side of a change of unit.
const WINDOW: usize = 8;
/// Upper limit in USD of one token's turnover in a day: more has never been traded.
const USD_A_DAY_MAX: f64 = 6e11;
/// Minimum ratio between the volumes on both sides of a change.
const JUMP: f64 = 30.0;

/// A breach of a rule over several rows: the first of them, and the count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesBreach {
    /// The rule's name.
    pub rule: String,
    /// Row number in the file; `None` if no single row is at fault.
    pub row: Option<u64>,
    pub value: String,
    /// Number of rows at fault; 0 for a gap, where no row is.
    pub count: u64,
}

impl SeriesBreach {
    pub fn rule(&self) -> &'static Rule {
        named(&self.rule)
    }
}

/// Running state over the rows of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesChecker {
    index: HashMap<String, usize>,
    all: Vec<TokenCandles>,
    transfers: HashMap<String, (String, u64, u64)>,
    odd: Vec<SeriesBreach>,
    #[serde(skip)]
    key: String,
}

/// Running state of one series: the candles of one token and interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct TokenCandles {
    token: String,
    interval: Option<i64>,
    last: Option<i64>,
    rising: u64,
    falling: u64,
    steps: Steps,
    #[serde(default)]
    longest: Option<Step>,
    /// Earliest and latest time.
    #[serde(default)]
    span: Option<(i64, i64)>,
    turnovers: Vec<f64>,
    stride: usize,
    seen: usize,
    /// Candles whose turnover (volume times close) exceeds `USD_A_DAY_MAX`: their count, and row, volume and close of the first.
    #[serde(default)]
    beyond: Option<(u64, u64, f64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Step {
    length: i64,
    count: u64,
    /// Row and time of the first such step.
    first: (u64, i64),
    /// The longest run of such steps.
    #[serde(default)]
    run: StepRun,
}

impl SeriesChecker {
    /// Number of series, or of tokens with transfers if there are more.
    pub fn count(&self) -> usize {
        self.all.len().max(self.transfers.len())
    }

    /// Adds rows of the table in canonical columns, with their row numbers in the file.
    pub fn add(&mut self, table: &str, frame: &DataFrame, numbers: &[u32]) {
        // Columns of a wrong type have findings already.
        match table {
            "candles" => drop(self.candles(frame, numbers)),
            "transfers" => drop(self.transfers(frame, numbers)),
            _ => {}
        }
    }

    fn candles(&mut self, frame: &DataFrame, numbers: &[u32]) -> Option<()> {
        let texts = |name: &str| frame.column(name).ok().and_then(|column| column.str().ok());
        let floats = |name: &str| {
            frame.column(name).ok().and_then(|column| {
                column
                    .f64()
                    .ok()
                    .map(polars::prelude::ChunkedArray::rechunk)
            })
        };
        let times = frame
            .column("timestamp")
            .ok()?
            .to_physical_repr()
            .cast(&DataType::Int64)
            .ok()?
            .rechunk();
        let times = times.i64().ok()?.cont_slice().ok()?;
        let (close, volume) = (floats("close")?, floats("volume")?);
        let (close, volume) = (close.cont_slice().ok()?, volume.cont_slice().ok());
        let mut last: Option<(&str, Option<&str>, usize)> = None;
        for (rows, token, interval) in pairs(texts("token_address")?, texts("interval")?) {
            let Some(token) = token else { continue };
            let place = match last.filter(|last| last.0 == token && last.1 == interval) {
                Some((.., place)) => place,
                None => match self.place(token, interval) {
                    Some(place) => place,
                    None => continue,
                },
            };
            last = Some((token, interval, place));
            let one = &mut self.all[place];
            one.times(&times[rows.clone()], &numbers[rows.clone()]);
            if let Some(volume) = volume {
                one.turnover(&volume[rows.clone()], &close[rows.clone()]);
                one.beyond(
                    &volume[rows.clone()],
                    &close[rows.clone()],
                    &numbers[rows.clone()],
                );
                changes(
                    &volume[rows.clone()],
                    &close[rows.clone()],
                    &numbers[rows.clone()],
                    &mut self.odd,
                );
            }
        }
        Some(())
    }

    fn place(&mut self, token: &str, interval: Option<&str>) -> Option<usize> {
        self.key.clear();
        self.key.push_str(token);
        self.key.push(' ');
        self.key.push_str(interval.unwrap_or_default());
        if let Some(place) = self.index.get(&self.key) {
            return Some(*place);
        }
        if self.all.len() >= SERIES_MAX {
            return None;
        }
        let length = interval
            .and_then(Interval::parse)
            .map(|interval| interval.0);
        self.all.push(TokenCandles {
            token: token.to_owned(),
            interval: length,
            stride: 1,
            ..TokenCandles::default()
        });
        self.index.insert(self.key.clone(), self.all.len() - 1);
        Some(self.all.len() - 1)
    }

    fn transfers(&mut self, frame: &DataFrame, numbers: &[u32]) -> Option<()> {
        let values = frame.column("value").ok()?.str().ok()?;
        for (rows, token) in runs_of(frame.column("token_address").ok()?.str().ok()?) {
            let Some(token) = token else { continue };
            if !self.transfers.contains_key(token) {
                if self.transfers.len() >= SERIES_MAX {
                    continue;
                }
                self.transfers
                    .insert(token.to_owned(), (String::new(), 0, 0));
            }
            let Some((largest, at, count)) = self.transfers.get_mut(token) else {
                continue;
            };
            for row in rows {
                let Some(value) = values.get(row) else {
                    continue;
                };
                *count += 1;
                // Integers without leading zeros compare by length, then as text.
                if (value.len(), value) > (largest.len(), largest.as_str()) {
                    value.clone_into(largest);
                    *at = numbers[row].into();
                }
            }
        }
        Some(())
    }

    /// The breaches found, and the statistics for the rules across tables.
    pub fn end(self, file: &str) -> (Vec<SeriesBreach>, Vec<TokenStatistic>) {
        let mut odd = self.odd;
        let mut statistics = Vec::new();
        let mut turnovers: HashMap<String, f64> = HashMap::new();
        let mut gaps: BTreeMap<String, (u64, String, u64)> = BTreeMap::new();
        for one in self.all {
            if let Some((row, what)) = one.breach(&mut odd) {
                gaps.entry(what)
                    .and_modify(|(.., more)| *more += 1)
                    .or_insert_with(|| (row, one.token.clone(), 0));
            }
            if let Some(span) = one.span() {
                statistics.push(TokenStatistic {
                    token: one.token.clone(),
                    file: file.to_owned(),
                    value: span,
                });
            }
            if let Some(median) = median(one.turnovers) {
                // Of several intervals, the one with the largest turnover counts.
                let most = turnovers.entry(one.token).or_default();
                *most = most.max(median);
            }
        }
        // A day without data is missing of all tokens.
        for (what, (row, token, more)) in gaps {
            let of = if more > 0 {
                format!("{} tokens: ", more + 1)
            } else {
                String::new()
            };
            odd.push(SeriesBreach {
                rule: "gap".to_owned(),
                row: Some(row),
                value: format!("{of}{what}: {token}"),
                count: 0,
            });
        }
        for (token, median) in turnovers {
            statistics.push(TokenStatistic {
                token,
                file: file.to_owned(),
                value: StatisticValue::Turnover(median),
            });
        }
        for (token, (largest, row, count)) in self.transfers {
            statistics.push(TokenStatistic {
                token,
                file: file.to_owned(),
                value: StatisticValue::Transfer {
                    largest,
                    row,
                    count,
                },
            });
        }
        odd.sort_by(|a, b| (&a.rule, a.row, &a.value).cmp(&(&b.rule, b.row, &b.value)));
        statistics.sort_by(|a, b| a.token.cmp(&b.token));
        (odd, statistics)
    }
}

impl TokenCandles {
    fn times(&mut self, times: &[i64], numbers: &[u32]) {
        for (time, number) in times.iter().zip(numbers) {
            let (least, most) = self.span.unwrap_or((*time, *time));
            self.span = Some((least.min(*time), most.max(*time)));
            let Some(last) = self.last.replace(*time) else {
                continue;
            };
            let step = time - last;
            match step.signum() {
                1 => self.rising += 1,
                -1 => self.falling += 1,
                // Duplicate keys have findings of their own.
                _ => continue,
            }
            let step = step.abs();
            let at = ((*number).into(), *time);
            if self
                .longest
                .as_ref()
                .is_none_or(|longest| step > longest.length)
            {
                self.longest = Some(Step {
                    length: step,
                    count: 1,
                    first: at,
                    run: StepRun::default(),
                });
            }
            self.steps.add(step, at);
        }
    }

    fn beyond(&mut self, volume: &[f64], close: &[f64], numbers: &[u32]) {
        let most = volume
            .iter()
            .zip(close)
            .fold(0.0, |most: f64, (volume, close)| most.max(volume * close));
        if most <= USD_A_DAY_MAX {
            return;
        }
        for at in (0..volume.len()).filter(|at| volume[*at] * close[*at] > USD_A_DAY_MAX) {
            match &mut self.beyond {
                Some((count, ..)) => *count += 1,
                none => *none = Some((1, numbers[at].into(), volume[at], close[at])),
            }
        }
    }

    fn turnover(&mut self, volume: &[f64], close: &[f64]) {
        let mut at = (self.stride - self.seen % self.stride) % self.stride;
        self.seen += volume.len();
        while at < volume.len() {
            let turnover = volume[at] * close[at];
            if turnover.is_finite() {
                self.turnovers.push(turnover);
            }
            at += self.stride;
            if self.turnovers.len() >= SAMPLE {
                let mut nth = 0;
                self.turnovers.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
                self.stride *= 2;
            }
        }
    }

    /// Adds what breaks a rule; returns the gap, which other series may have too.
    fn breach(&self, odd: &mut Vec<SeriesBreach>) -> Option<(u64, String)> {
        // A candle of a week or a month may span several days' turnover.
        if let Some((count, row, volume, close)) = self
            .beyond
            .filter(|_| self.interval.is_none_or(|interval| interval <= DAY_MS))
        {
            odd.push(SeriesBreach {
                rule: "traded_in_a_day".to_owned(),
                row: Some(row),
                value: format!("{volume} at {close}"),
                count,
            });
        }
        let interval = self.length();
        let all = self.rising + self.falling;
        let in_order = self.rising.max(self.falling) * 20 >= all * 19;
        let most = self
            .steps
            .iter()
            .max_by_key(|step| step.count)
            .filter(|most| {
                self.interval.is_some()
                    && in_order
                    && all >= STEPS_MIN
                    && most.count * 10 >= all * 6
                    && most.length != interval
            });
        let other = if most.is_none() {
            self.steps.other(interval, all)
        } else {
            None
        };
        // Where few steps are exact, times some seconds off make no short candles.
        let is_noise = |step: &Step| {
            step.length % MINUTE_MS != 0
                && step.length * 4 > interval * 3
                && self.usual(interval) * 2 < all
        };
        let short: Vec<&Step> = self
            .steps
            .iter()
            .filter(|step| step.length < interval && !is_noise(step))
            .collect();
        if let Some(other) = other {
            let (start, run) = (Time(other.run.first.1).minute_text(), other.run.steps);
            let (of, among) = (length(other.length), length(interval));
            let value = format!(
                "{}: {run} steps of {of} from {start} on, among steps of {among}",
                self.token
            );
            odd.push(SeriesBreach {
                rule: "two_lengths".to_owned(),
                row: Some(other.run.first.0),
                value,
                count: run,
            });
        } else if let Some(first) = short.iter().min_by_key(|step| step.first.0) {
            let rule = if self.steps.are_months() {
                "months"
            } else {
                "step"
            };
            odd.push(SeriesBreach {
                rule: rule.to_owned(),
                row: Some(first.first.0),
                value: format!(
                    "{}: {} from its neighbor, interval {}",
                    Time(first.first.1),
                    length(first.length),
                    length(interval)
                ),
                count: short.iter().map(|step| step.count).sum(),
            });
        }
        if let Some(most) = most {
            let value = format!(
                "{}: interval {}, but {} apart",
                self.token,
                length(interval),
                length(most.length)
            );
            odd.push(SeriesBreach {
                rule: "interval".to_owned(),
                row: Some(most.first.0),
                value,
                count: 1,
            });
        }
        // The longer steps of two lengths are no gap.
        if other.is_none() {
            self.gap(interval)
        } else {
            None
        }
    }

    /// The given interval, or the most frequent step if it is unknown.
    fn length(&self) -> i64 {
        self.interval.unwrap_or_else(|| {
            Interval::frequent(
                self.steps
                    .iter()
                    .map(|step| (step.length, step.count as usize)),
            )
            .0
        })
    }

    /// Whether nearly all candles are an interval apart.
    fn is_dense(&self, interval: i64) -> bool {
        self.usual(interval) * 10 >= (self.rising + self.falling) * 9
    }

    /// Number of steps of an interval.
    fn usual(&self, interval: i64) -> u64 {
        self.steps
            .iter()
            .filter(|step| step.length == interval)
            .map(|step| step.count)
            .sum()
    }

    /// The `Span` of the series; `None` if it is not dense enough for missing candles to show.
    fn span(&self) -> Option<StatisticValue> {
        let (interval, (first, last)) = (self.length(), self.span?);
        let longest = self
            .longest
            .as_ref()
            .filter(|_| self.rising + self.falling >= STEPS_MIN && self.is_dense(interval))?
            .length;
        Some(StatisticValue::Span {
            interval,
            first,
            last,
            longest,
        })
    }

    /// Finds a gap in a dense series: a long one, or the only one, as between two imports. Files may concatenate pages of candles, each in
    /// order, whose borders are no gap: only if all times ascend, or all descend, is the longest step one.
    fn gap(&self, interval: i64) -> Option<(u64, String)> {
        let (all, longest) = (self.rising + self.falling, self.longest.as_ref()?);
        let missing = longest.length / interval - 1;
        let is_long = all >= GAP_STEPS_MIN && self.is_dense(interval) && missing >= GAP_MIN;
        let is_only =
            all >= 2 * STEPS_MIN && self.usual(interval) + 1 == all && missing >= MISSING_MIN;
        if !is_long && !is_only || self.rising > 0 && self.falling > 0 {
            return None;
        }
        // The row follows the gap in the file; if the file is newest first, it precedes the gap in time.
        let (row, at) = longest.first;
        let from = if self.rising > 0 {
            at - longest.length
        } else {
            at
        };
        let (from, to) = (
            Time(from + interval).minute_text(),
            Time(from + longest.length - interval).minute_text(),
        );
        Some((
            row,
            format!(
                "{missing} candles of {} from {from} to {to}",
                length(interval)
            ),
        ))
    }
}

fn length(milliseconds: i64) -> String {
    Interval(milliseconds).to_string()
}

/// Finds where the volume changes between tokens and USD: all volumes before differ from all after by about the price.
fn changes(volume: &[f64], close: &[f64], numbers: &[u32], odd: &mut Vec<SeriesBreach>) {
    for at in WINDOW..volume.len().saturating_sub(WINDOW - 1) {
        let ratio = volume[at] / volume[at - 1];
        // In either direction; NaN is no jump.
        let far = ratio.ln().abs() > JUMP.ln();
        if !far || close[at] < JUMP {
            continue;
        }
        let (before, after) = (&volume[at - WINDOW..at], &volume[at..at + WINDOW]);
        let least = |side: &[f64]| side.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |side: &[f64]| side.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let apart = least(after) > JUMP * most(before) && least(before) > 0.0
            || least(before) > JUMP * most(after) && least(after) > 0.0;
        let (Some(one), Some(other)) = (median(before.to_vec()), median(after.to_vec())) else {
            continue;
        };
        let factor = (other / one).max(one / other);
        if apart && factor > close[at] / 4.0 && factor < close[at] * 4.0 {
            let value = format!("{} after {}", volume[at], volume[at - 1]);
            odd.push(SeriesBreach {
                rule: "unit_of_volume".to_owned(),
                row: Some(numbers[at].into()),
                value,
                count: 1,
            });
        }
    }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    if numbers.is_empty() {
        return None;
    }
    let middle = numbers.len() / 2;
    Some(*numbers.select_nth_unstable_by(middle, f64::total_cmp).1)
}
