//! Rules over the rows of one file in their order: the steps of candles, the unit of their volume; and statistics of each token that
//! `together` checks against other tables. Little is kept of a token, however many rows it has.

use std::collections::HashMap;

use polars::prelude::{DataFrame, DataType};
use serde::{Deserialize, Serialize};

use super::{Rule, named};
use crate::dataset::{
    interval::Interval,
    text_runs::{pairs, runs_of},
    time::{DAY_MS, Time},
};

/// Different steps that are counted of a token and interval.
const STEPS_MAX: usize = 64;
/// The most tokens and intervals of one file.
const SERIES_MAX: usize = 200_000;
/// Turnovers kept of a token, spread over its rows.
const SAMPLE: usize = 24;
/// Steps that must be known to judge the interval.
const STEPS_MIN: u64 = 8;
/// Steps of one length after each other, and how many times as long they are as others, by which candles are of another length.
const RUN_MIN: u64 = 8;
const LONGER: i64 = 4;
/// Steps that must be known to tell a gap from candles that come as trades do, and the missing candles of one.
const GAP_STEPS_MIN: u64 = 50;
const GAP_MIN: i64 = 30;
/// Rows on either side of a change of unit.
const WINDOW: usize = 8;
/// More than so many USD of one token have not been traded in a day.
const USD_A_DAY_MAX: f64 = 6e11;
/// How far apart the volumes on both sides must be at least.
const JUMP: f64 = 30.0;

/// A breach of a rule by several rows: the first of them, and how many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SeriesBreach {
    /// The rule's name.
    pub rule: String,
    /// The number of the row in the file; none where it is not of one row.
    pub row: Option<u64>,
    pub value: String,
    /// Rows at fault; 0 where it is no row's fault, as of a gap.
    pub count: u64,
}

impl SeriesBreach {
    pub(crate) fn rule(&self) -> &'static Rule {
        named(&self.rule)
    }
}

/// A statistic of a token's rows, to be checked once all tables are loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    pub token: String,
    /// The file it was in.
    pub file: String,
    pub what: Noted,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Noted {
    /// The median of volume times close.
    Turnover(f64),
    /// The largest value in smallest units, its row, and how many transfers there are.
    Transfer { largest: String, row: u64, count: u64 },
}

/// Statistics of the rows of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series {
    index: HashMap<String, usize>,
    all: Vec<TokenCandles>,
    transfers: HashMap<String, (String, u64, u64)>,
    odd: Vec<SeriesBreach>,
    #[serde(skip)]
    key: String,
}

/// The candles of one token and interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct TokenCandles {
    token: String,
    interval: Option<i64>,
    last: Option<i64>,
    rising: u64,
    falling: u64,
    steps: Vec<Step>,
    #[serde(default)]
    longest: Option<Step>,
    /// The step before, and how many were as long without another between them.
    #[serde(default)]
    run: (i64, u64),
    turnovers: Vec<f64>,
    stride: usize,
    seen: usize,
    /// Candles whose volume times close is more than a day's of any token: how many, and row, volume and close of the first.
    #[serde(default)]
    beyond: Option<(u64, u64, f64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Step {
    length: i64,
    count: u64,
    /// Row and time of the first.
    first: (u64, i64),
    /// The most of them after each other.
    #[serde(default)]
    run: u64,
}

impl Series {
    /// How many tokens and intervals there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len().max(self.transfers.len())
    }

    /// Takes in rows of the table in canonical columns, whose numbers in the file are given.
    pub(crate) fn add(&mut self, table: &str, frame: &DataFrame, numbers: &[u32]) {
        // Columns of another type have findings already.
        match table {
            "candles" => drop(self.candles(frame, numbers)),
            "transfers" => drop(self.transfers(frame, numbers)),
            _ => {}
        }
    }

    fn candles(&mut self, frame: &DataFrame, numbers: &[u32]) -> Option<()> {
        let texts = |name: &str| frame.column(name).ok().and_then(|column| column.str().ok());
        let floats = |name: &str| frame.column(name).ok().and_then(|column| column.f64().ok().map(polars::prelude::ChunkedArray::rechunk));
        let times = frame.column("timestamp").ok()?.to_physical_repr().cast(&DataType::Int64).ok()?.rechunk();
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
                one.beyond(&volume[rows.clone()], &close[rows.clone()], &numbers[rows.clone()]);
                changes(&volume[rows.clone()], &close[rows.clone()], &numbers[rows.clone()], &mut self.odd);
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
        let length = interval.and_then(Interval::parse).map(|interval| interval.0);
        self.all.push(TokenCandles { token: token.to_owned(), interval: length, stride: 1, ..TokenCandles::default() });
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
                self.transfers.insert(token.to_owned(), (String::new(), 0, 0));
            }
            let Some((largest, at, count)) = self.transfers.get_mut(token) else { continue };
            for row in rows {
                let Some(value) = values.get(row) else { continue };
                *count += 1;
                // Whole numbers without leading zeros: the longer is the larger.
                if (value.len(), value) > (largest.len(), largest.as_str()) {
                    value.clone_into(largest);
                    *at = numbers[row].into();
                }
            }
        }
        Some(())
    }

    /// The breaches in the rows taken in, and the statistics for other tables.
    pub(crate) fn end(self, file: &str) -> (Vec<SeriesBreach>, Vec<Observed>) {
        let mut odd = self.odd;
        let mut observed = Vec::new();
        let mut turnovers: HashMap<String, f64> = HashMap::new();
        for one in self.all {
            one.judge(&mut odd);
            if let Some(median) = median(one.turnovers) {
                // Of several intervals the longest says most.
                let most = turnovers.entry(one.token).or_default();
                *most = most.max(median);
            }
        }
        for (token, median) in turnovers {
            observed.push(Observed { token, file: file.to_owned(), what: Noted::Turnover(median) });
        }
        for (token, (largest, row, count)) in self.transfers {
            observed.push(Observed { token, file: file.to_owned(), what: Noted::Transfer { largest, row, count } });
        }
        odd.sort_by(|a, b| (&a.rule, a.row, &a.value).cmp(&(&b.rule, b.row, &b.value)));
        observed.sort_by(|a, b| a.token.cmp(&b.token));
        (odd, observed)
    }
}

impl TokenCandles {
    fn times(&mut self, times: &[i64], numbers: &[u32]) {
        let mut usual = 0;
        for (time, number) in times.iter().zip(numbers) {
            let Some(last) = self.last.replace(*time) else { continue };
            let step = time - last;
            match step.signum() {
                1 => self.rising += 1,
                -1 => self.falling += 1,
                // Repeated keys have findings of their own.
                _ => continue,
            }
            let step = step.abs();
            self.run = (step, if self.run.0 == step { self.run.1 + 1 } else { 1 });
            let new = Step { length: step, count: 1, first: ((*number).into(), *time), run: 1 };
            if self.longest.as_ref().is_none_or(|longest| step > longest.length) {
                self.longest = Some(new.clone());
            }
            if let Some(known) = self.steps.get_mut(usual).filter(|known| known.length == step) {
                known.count += 1;
                known.run = known.run.max(self.run.1);
            } else if let Some(place) = self.steps.iter().position(|known| known.length == step) {
                self.steps[place].count += 1;
                self.steps[place].run = self.steps[place].run.max(self.run.1);
                usual = place;
            } else if self.steps.len() < STEPS_MAX {
                self.steps.push(new);
            } else if let Some(longest) =
                self.steps.iter_mut().max_by_key(|known| known.length).filter(|known| known.length > step && known.count == 1)
            {
                // A breach is a short step, so long ones make room.
                *longest = new;
            }
        }
    }

    fn beyond(&mut self, volume: &[f64], close: &[f64], numbers: &[u32]) {
        let most = volume.iter().zip(close).fold(0.0, |most: f64, (volume, close)| most.max(volume * close));
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

    fn judge(&self, odd: &mut Vec<SeriesBreach>) {
        // A candle of a week or a month may hold several days' worth.
        if let Some((count, row, volume, close)) = self.beyond.filter(|_| self.interval.is_none_or(|interval| interval <= DAY_MS)) {
            odd.push(SeriesBreach { rule: "traded_in_a_day".to_owned(), row: Some(row), value: format!("{volume} at {close}"), count });
        }
        let counts = self.steps.iter().map(|step| (step.length, step.count as usize));
        let interval = self.interval.unwrap_or_else(|| Interval::frequent(counts).0);
        let short: Vec<&Step> = self.steps.iter().filter(|step| step.length < interval).collect();
        if let Some(first) = short.iter().min_by_key(|step| step.first.0) {
            odd.push(SeriesBreach {
                rule: "step".to_owned(),
                row: Some(first.first.0),
                value: format!("{}, {} from its neighbour, of {}", Time(first.first.1), length(first.length), length(interval)),
                count: short.iter().map(|step| step.count).sum(),
            });
        }
        self.gap(interval, odd);
        self.other_length(interval, odd);
        let all = self.rising + self.falling;
        let Some(most) = self.steps.iter().max_by_key(|step| step.count) else { return };
        let in_order = self.rising.max(self.falling) * 20 >= all * 19;
        if self.interval.is_some() && in_order && all >= STEPS_MIN && most.count * 10 >= all * 6 && most.length != interval {
            let value = format!("{}: {}, and they lie {} apart", self.token, length(interval), length(most.length));
            odd.push(SeriesBreach { rule: "interval".to_owned(), row: Some(most.first.0), value, count: 1 });
        }
    }

    /// Candles that follow each other a longer step apart than most: days among hours, where no column tells which are which.
    fn other_length(&self, interval: i64, odd: &mut Vec<SeriesBreach>) {
        let usual = self.steps.iter().max_by_key(|step| step.count).is_some_and(|step| step.length == interval);
        let longer = |step: &&Step| step.length / interval >= LONGER && step.length % interval == 0 && step.run >= RUN_MIN;
        let Some(one) = self.steps.iter().filter(|_| usual).filter(longer).max_by_key(|step| step.run) else { return };
        let (apart, candles) = (length(one.length), length(interval));
        let value = format!("{}: {} in a row {apart} apart among candles of {candles}", self.token, one.run + 1);
        odd.push(SeriesBreach { rule: "one_length".to_owned(), row: Some(one.first.0), value, count: 0 });
    }

    /// Many missing candles among ones that lie an interval apart. Pages of candles one after the other, each in order, have no gap between
    /// them: only where all times rise, or all fall, is the longest step one.
    fn gap(&self, interval: i64, odd: &mut Vec<SeriesBreach>) {
        let all = self.rising + self.falling;
        let usual = self.steps.iter().filter(|step| step.length == interval).map(|step| step.count).sum::<u64>();
        let dense = all >= GAP_STEPS_MIN && usual * 10 >= all * 9 && (self.rising == 0 || self.falling == 0);
        let Some(longest) = self.longest.as_ref().filter(|longest| dense && longest.length / interval > GAP_MIN) else { return };
        let missing = longest.length / interval - 1;
        let value = format!("{}: {missing} candles of {} beside {}", self.token, length(interval), Time(longest.first.1));
        odd.push(SeriesBreach { rule: "gap".to_owned(), row: Some(longest.first.0), value, count: 0 });
    }
}

fn length(milliseconds: i64) -> String {
    Interval(milliseconds).to_string()
}

/// Finds where the volume changes between tokens and USD: all volumes before are far from all after, by about the price.
fn changes(volume: &[f64], close: &[f64], numbers: &[u32], odd: &mut Vec<SeriesBreach>) {
    for at in WINDOW..volume.len().saturating_sub(WINDOW - 1) {
        let ratio = volume[at] / volume[at - 1];
        // Neither up nor down by so much; what is no number is no jump.
        let far = ratio.ln().abs() > JUMP.ln();
        if !far || close[at] < JUMP {
            continue;
        }
        let (before, after) = (&volume[at - WINDOW..at], &volume[at..at + WINDOW]);
        let least = |side: &[f64]| side.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |side: &[f64]| side.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let apart = least(after) > JUMP * most(before) && least(before) > 0.0 || least(before) > JUMP * most(after) && least(after) > 0.0;
        let (Some(one), Some(other)) = (median(before.to_vec()), median(after.to_vec())) else { continue };
        let factor = (other / one).max(one / other);
        if apart && factor > close[at] / 4.0 && factor < close[at] * 4.0 {
            let value = format!("{} after {}", volume[at], volume[at - 1]);
            odd.push(SeriesBreach { rule: "unit_of_volume".to_owned(), row: Some(numbers[at].into()), value, count: 1 });
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
