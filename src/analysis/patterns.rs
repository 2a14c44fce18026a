//! Chart patterns: the answer and how it is put together. Pivots, the search for each family, confirmation and ranking have a file
//! each.

mod advice;
#[cfg(test)]
mod examples;
mod find;
pub mod market;
mod name;
mod overlap;
mod series;
mod textbook;
mod zigzag;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::{
    advice::HORIZON,
    name::{Family, PatternName},
};
use self::{
    find::{BoundaryLine, FoundPattern},
    market::Model,
    series::CandleSeries,
};
use super::{
    numeric::{Line, finite},
    track_record::PatternRecord,
};
use crate::dataset::{candles::Candles, time::Time};

/// Patterns found in the candles of a token, and what they advise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatternsAnswer {
    /// Those that end latest first; of these the more confident first. Two cover at most half of what both cover together.
    pub patterns: Vec<Pattern>,
    /// What the patterns together advise; hold without any.
    pub recommended_action: TradeAction,
    /// Start of the last candle that was used. Only when explained, and where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Time>,
    /// What became of the token's earlier patterns of these names, as its track record tells it; a name without any is left out. Only with
    /// `explain=record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_record: Option<Vec<PatternRecord>>,
}

/// A chart pattern.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// What it is.
    pub name: PatternName,
    /// How sure it is, 0 to 1: about the share of such finds that are right.
    pub confidence: f64,
    /// 100 when confirmed by a close beyond the boundary, less while it forms.
    pub completion_percent: f64,
    /// Signed percent of the breakout level, by the measure rule.
    pub projected_movement: f64,
    /// The candle at which it starts, the oldest of the frame being 0.
    pub start_index: usize,
    /// The candle that confirms it; while it forms, the latest.
    pub end_index: usize,
    /// How it was found. Only when explained.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub detail: Option<PatternDetail>,
}

/// How a pattern was found and what it points to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatternDetail {
    /// How far it has come.
    pub status: Status,
    /// Where it points.
    pub direction: Direction,
    /// Start of the first candle.
    pub start_time: Time,
    /// Start of the last candle.
    pub end_time: Time,
    /// The turning points it rests on, oldest first.
    pub anchors: Vec<Anchor>,
    /// The line that a close must pass; of patterns between two lines the upper, then the lower.
    pub boundary: Vec<Segment>,
    /// The candle that closed beyond the boundary; null while forming.
    pub breakout_index: Option<usize>,
    /// The boundary's price at the breakout; while it forms, at the last candle.
    pub breakout_price: f64,
    /// How tall the pattern is, in price, measured from the breakout price.
    pub height: f64,
    /// The price it projects. Where that would be below zero, the height on a logarithmic scale.
    pub target_price: f64,
    /// The price whose close voids it: half its height back over the boundary; while it forms, its far side at the last candle.
    pub stop_price: f64,
    /// From the last close to the target, in percent of the last close.
    pub distance_to_target: f64,
    /// From the last close to the stop, in percent of the last close.
    pub distance_to_stop: f64,
    /// The way to the target over the way to the stop, both from the last close; null once the price is past one of them.
    pub reward_risk: Option<f64>,
    /// What it adds to the sum that recommendedAction is read off: its confidence, below zero where it points down, half while it forms,
    /// less the longer ago it ended, 0 once it is over.
    pub action_contribution: f64,
    /// What made its confidence, the largest part first; last the base, with which they add up to the logarithm of its odds.
    pub why: Vec<Reason>,
}

/// A part of a pattern's confidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PatternReason")]
pub struct Reason {
    /// What was measured, with its unit.
    pub measure: &'static str,
    /// What it measured: of a rival or of a pattern inside or around it the logarithm of its odds, of the base how many parts it takes in.
    pub value: f64,
    /// What it adds to the logarithm of the odds, ln(confidence / (1 − confidence)), compared with a usual find of this kind.
    pub contribution: f64,
}

impl Reason {
    /// What the other parts lack of the whole.
    pub const BASE: &'static str = "base, and all smaller parts";

    /// The largest `most` parts in order, and the rest as one, so that all add up to `logit`.
    fn adding_up(mut parts: Vec<Self>, most: usize, logit: f64) -> Vec<Self> {
        parts.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
        let left_out = parts.len().saturating_sub(most);
        parts.truncate(most);
        let told: f64 = parts.iter().map(|part| part.contribution).sum();
        parts.push(Self { measure: Self::BASE, value: left_out as f64, contribution: finite(logit - told) });
        parts
    }
}

/// A turning point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Anchor {
    /// The candle, the oldest of the frame being 0.
    pub index: usize,
    /// Start of the candle.
    pub timestamp: Time,
    /// Its high or its low.
    pub price: f64,
}

/// A line between two candles; straight where prices are drawn on a logarithmic scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Segment {
    /// Its older end.
    pub from: Corner,
    /// Its later end.
    pub to: Corner,
}

/// An end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Corner {
    /// The candle, the oldest of the frame being 0.
    pub index: usize,
    /// The line's price there.
    pub price: f64,
}

/// How far a pattern has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No close beyond the boundary yet.
    Forming,
    /// A close beyond the boundary.
    Confirmed,
    /// Confirmed, and the target was reached.
    Reached,
    /// Confirmed, and then closed back across the boundary by half the height.
    Failed,
}

impl Status {
    /// Nothing is aimed at or risked any more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Reached | Self::Failed)
    }
}

/// Where a pattern points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Rising prices.
    Up,
    /// Falling prices.
    Down,
}

/// What the patterns together advise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TradeAction {
    /// A sum of 0.6 or more.
    StrongBuy,
    /// A sum of 0.2 or more.
    Buy,
    /// Neither way.
    Hold,
    /// A sum of −0.2 or less.
    Sell,
    /// A sum of −0.6 or less.
    StrongSell,
}

impl TradeAction {
    pub fn word(self) -> &'static str {
        match self {
            Self::StrongBuy => "strong_buy",
            Self::Buy => "buy",
            Self::Hold => "hold",
            Self::Sell => "sell",
            Self::StrongSell => "strong_sell",
        }
    }
}

impl PatternsAnswer {
    /// The answer where there is nothing to see: too few candles, or a frame finer than the data.
    pub fn empty() -> Self {
        Self { patterns: Vec::new(), recommended_action: TradeAction::Hold, as_of: None, track_record: None }
    }

    /// The pattern to look at first.
    pub fn best(&self) -> Option<&Pattern> {
        advice::first(&self.patterns, |_| true).map(|place| &self.patterns[place])
    }

    /// Of those that can still be traded, the place of the one to look at first; none where they are not explained.
    pub fn best_open(&self) -> Option<usize> {
        let open =
            |pattern: &Pattern| pattern.detail.as_ref().is_some_and(|detail| matches!(detail.status, Status::Forming | Status::Confirmed));
        advice::first(&self.patterns, open)
    }

    /// The patterns that decide what is advised, the weightiest first; none where they are not explained.
    pub fn deciding(&self) -> impl Iterator<Item = &Pattern> {
        advice::deciding(&self.patterns, self.recommended_action).into_iter().map(|place| &self.patterns[place])
    }
}

/// Fewer candles show nothing.
const CANDLES_LEAST: usize = 20;

/// The patterns in the candles, with what they rest on where an explanation is asked for.
pub fn patterns(candles: &Candles<'_>, explain: bool) -> PatternsAnswer {
    patterns_by(candles, &Model::built_in(), explain)
}

/// The same by another model than the one that is built in.
pub fn patterns_by(candles: &Candles<'_>, model: &Model, explain: bool) -> PatternsAnswer {
    let Some(series) = CandleSeries::of(candles, CANDLES_LEAST) else {
        return PatternsAnswer::empty();
    };
    answer(candles, &series, &finds(&series, model, explain), explain)
}

/// The patterns without what they rest on, and how far the best of them has come.
pub fn patterns_and_status(candles: &Candles<'_>) -> (PatternsAnswer, Option<Status>) {
    let Some(series) = CandleSeries::of(candles, CANDLES_LEAST) else {
        return (PatternsAnswer::empty(), None);
    };
    let finds = finds(&series, &Model::built_in(), false);
    let answer = answer(candles, &series, &finds, false);
    let status = advice::first(&answer.patterns, |_| true).map(|best| advice::status(&series, &finds[best]));
    (answer, status)
}

fn answer(candles: &Candles<'_>, series: &CandleSeries, finds: &[FoundPattern], explain: bool) -> PatternsAnswer {
    let answer = Answer { series, candles, explain };
    PatternsAnswer {
        patterns: finds.iter().map(|find| answer.pattern(find)).collect(),
        recommended_action: advice::action(series, finds),
        as_of: explain.then(|| Time(candles.timestamp[series.slot[series.len() - 1] as usize])),
        track_record: None,
    }
}

/// A pattern that the last of the candles confirms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breakout {
    pub name: PatternName,
    pub direction: Direction,
    /// As `PatternDetail` has them.
    pub target_price: f64,
    pub stop_price: f64,
}

/// The patterns that the last candle confirms: what is new in the answer of that day.
pub fn breakouts(candles: &Candles<'_>, model: &Model) -> Vec<Breakout> {
    let Some(series) = CandleSeries::of(candles, CANDLES_LEAST) else {
        return Vec::new();
    };
    let last = series.len() - 1;
    if series.slot[last] as usize + 1 < candles.len() {
        return Vec::new();
    }
    let fresh = |find: &&FoundPattern| find.breakout == Some(last as u32);
    let breakout = |find: &FoundPattern| Breakout {
        name: find.name,
        direction: if find.up { Direction::Up } else { Direction::Down },
        target_price: finite(series.price(find.target())),
        stop_price: finite(series.price(advice::stop(&series, find))),
    };
    finds(&series, model, false).iter().filter(fresh).map(breakout).collect()
}

/// All that is answered, in its order.
fn finds(series: &CandleSeries, model: &Model, explain: bool) -> Vec<FoundPattern> {
    let mut finds = overlap::choose(textbook::all(series, explain), series.len());
    let mut taken: Vec<(u32, u32)> = finds.iter().map(|find| (find.start, find.end(series.len()))).collect();
    taken.sort_unstable();
    finds.extend(market::finds(series, model, &taken, explain));
    overlap::order(&mut finds, series.len());
    finds
}

/// What every pattern of one answer is written with.
struct Answer<'a> {
    series: &'a CandleSeries,
    candles: &'a Candles<'a>,
    explain: bool,
}

impl Answer<'_> {
    fn pattern(&self, find: &FoundPattern) -> Pattern {
        let slot = |at: u32| self.series.slot[at as usize] as usize;
        let (start, end) = (slot(find.start), find.breakout.map_or(self.candles.len() - 1, slot));
        Pattern {
            name: find.name,
            confidence: finite(find.confidence),
            completion_percent: finite(find.completion),
            projected_movement: finite(find.movement()),
            start_index: start,
            end_index: end,
            detail: self.explain.then(|| self.detail(find, start, end)),
        }
    }

    fn detail(&self, find: &FoundPattern, start: usize, end: usize) -> PatternDetail {
        let time = |slot: usize| Time(self.candles.timestamp[slot]);
        let anchors = find.turns.as_slice().iter().map(|turn| {
            let index = turn.slot as usize;
            Anchor { index, timestamp: time(index), price: if turn.high { self.candles.high[index] } else { self.candles.low[index] } }
        });
        let edges = [find.upper, find.lower];
        let boundary = edges.iter().filter_map(|edge| match edge {
            BoundaryLine::Breaks(line) => Some(self.segment(find, *line, end)),
            BoundaryLine::Voids(_) => None,
        });
        let series = self.series;
        let last = series.way.close[series.len() - 1];
        let (target, stop) = (find.target(), advice::stop(series, find));
        let percent = |level: f64| 100.0 * (level - last).exp_m1();
        let (reward, risk) = (percent(target), -percent(stop));
        PatternDetail {
            status: advice::status(self.series, find),
            direction: if find.up { Direction::Up } else { Direction::Down },
            start_time: time(start),
            end_time: time(end),
            anchors: anchors.collect(),
            boundary: boundary.collect(),
            breakout_index: find.breakout.map(|_| end),
            breakout_price: finite(series.price(find.level)),
            height: finite(series.price(find.level) * find.steepness()),
            target_price: finite(series.price(target)),
            stop_price: finite(series.price(stop)),
            distance_to_target: finite(reward),
            distance_to_stop: finite(-risk),
            reward_risk: (reward * risk > 0.0 && (reward > 0.0) == find.up).then(|| finite(reward / risk)),
            action_contribution: finite(advice::contribution(series, find)),
            why: find.why.clone(),
        }
    }

    /// The line from the first turn to the end.
    fn segment(&self, find: &FoundPattern, line: Line, end: usize) -> Segment {
        let from = find.turns.first().slot as usize;
        let corner = |index: usize| Corner { index, price: finite(self.series.price(line.at((index - from) as f64))) };
        Segment { from: corner(from), to: corner(end) }
    }
}
