//! Chart patterns: the response and its assembly. Pivots, the search for each family, confirmation and ranking have a file each.

mod advice;
#[cfg(test)]
mod examples;
mod find;
pub mod market;
mod name;
mod overlap;
mod series;
mod textbook;
mod thin;
mod weighed;
mod zigzag;

use schemars::JsonSchema;
use serde::Serialize;

use self::{
    find::{BoundaryLine, FoundPattern},
    market::Model,
    series::CandleSeries,
    thin::Trading,
};
use super::{
    numeric::{Line, finite},
    peg::{Coin, Peg, peg},
};
use model::{candles::Candles, time::Time};

pub use self::{
    advice::HORIZON,
    name::{Family, PatternName},
    weighed::{Advice, AdviceReason, AdviceWord},
};
pub use weighed::PatternRecord;

/// Patterns found in a token's candles, and the recommendation derived from them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatternsAnswer {
    /// Sorted by end, latest first, then by descending confidence. Any two overlap by at most half of their combined span.
    pub patterns: Vec<Pattern>,
    /// The advice: the signal of the patterns, no stronger than their track record supports. Hold without patterns, without a track record, with
    /// stale candles, and instead of a buy if the token's security forbids it.
    pub recommended_action: TradeAction,
    /// `recommendedAction` with its reason, and with one more word, `watch`. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// The signal of the patterns alone, without track record, age of the candles and security. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<RawSignal>,
    /// The token's peg, to the dollar or to a coin of which it is a wrapped or staked form. The recommendation is then hold, and the patterns,
    /// which are fractions of a percent or those of the coin, are listed only with `explain`. Only with `explain`, for a pegged token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peg: Option<Peg>,
    /// Start of the last candle used, if there is one.
    #[serde(skip)]
    pub as_of: Option<Time>,
    /// Outcomes of the token's earlier patterns of the same names, from its track record; names without any are omitted. Only with
    /// `explain=record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_record: Option<Vec<PatternRecord>>,
}

/// A chart pattern.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// Name of the pattern.
    pub name: PatternName,
    /// Pattern fit, 0 to 1: roughly the fraction of such detections that a chartist confirms. Not a win rate.
    pub confidence: f64,
    /// 100 once a close beyond the boundary confirms it, less while it forms.
    pub completion_percent: f64,
    /// Projected move to the target in signed percent of the breakout level, by the measure rule.
    pub projected_movement: f64,
    /// First candle of the pattern; 0 is the oldest candle of the timeframe.
    pub start_index: usize,
    /// Candle that confirms it; while it forms, the latest candle.
    pub end_index: usize,
    /// Details of the detection. Only with `explain`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub detail: Option<PatternDetail>,
}

/// Details of a detected pattern: geometry, target, stop and explanation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatternDetail {
    /// Stage of the pattern.
    pub status: Status,
    /// Whether it is current: forming, or confirmed in the last 60 candles and not completed.
    pub active: bool,
    /// Expected direction of the price.
    pub direction: Direction,
    /// Basis of the direction.
    pub direction_by: DirectionBy,
    /// Start of the first candle.
    pub start_time: Time,
    /// Start of the last candle.
    pub end_time: Time,
    /// Its turning points, oldest first.
    pub anchors: Vec<Anchor>,
    /// Breakout line that a close must cross; for patterns between two lines, the upper, then the lower.
    pub boundary: Vec<Segment>,
    /// Candle that closed beyond the boundary; null while it forms.
    pub breakout_index: Option<usize>,
    /// Price of the boundary at the breakout; while it forms, at the last candle.
    pub breakout_price: f64,
    /// Height of the pattern as a price difference from the breakout price.
    pub height: f64,
    /// Take-profit target.
    pub target_price: f64,
    /// Whether the target is measured on a logarithmic scale, as for a fall by more than half of the breakout price.
    pub target_by_log: bool,
    /// Stop-loss: a close beyond this price invalidates the pattern. Half the height back across the boundary; while it forms, its opposite
    /// line at the last candle.
    pub stop_price: f64,
    /// Signed move from the last close to the target, in percent of the last close.
    pub distance_to_target: f64,
    /// Signed move from the last close to the stop, in percent of the last close.
    pub distance_to_stop: f64,
    /// Reward/risk ratio: distance to the target over distance to the stop. From the last close; while it forms, from the breakout price,
    /// the entry. Null once the price is past either.
    pub reward_risk: Option<f64>,
    /// Contribution to the weight of `signal`: the pattern fit, negative if it points down, half while it forms, decaying with its age; 0 once
    /// it is completed, and while it forms and may break out of either side.
    pub action_contribution: f64,
    /// Contributions to its confidence, the largest first and the base last; they add up to its log odds.
    pub why: Vec<Reason>,
}

/// One contribution to a pattern's confidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PatternReason")]
pub struct Reason {
    /// Name of the measure, with its unit.
    pub measure: &'static str,
    /// Value of the measure; for a competing, inner or surrounding pattern, its log odds; for the base, the number of smaller parts merged
    /// into it.
    pub value: f64,
    /// Contribution to the log odds, ln(confidence / (1 − confidence)), relative to a typical detection of this kind.
    pub contribution: f64,
}

impl Reason {
    /// Name of the remainder that completes the sum.
    pub const BASE: &'static str = "base and all smaller parts";

    /// Keeps the `most` largest parts in order and merges the rest into the base, so that all add up to `logit`.
    fn adding_up(mut parts: Vec<Self>, most: usize, logit: f64) -> Vec<Self> {
        parts.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
        let left_out = parts.len().saturating_sub(most);
        parts.truncate(most);
        let told: f64 = parts.iter().map(|part| part.contribution).sum();
        parts.push(Self {
            measure: Self::BASE,
            value: left_out as f64,
            contribution: finite(logit - told),
        });
        parts
    }
}

/// A turning point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Anchor {
    /// Candle index; 0 is the oldest candle of the timeframe.
    pub index: usize,
    /// Start of the candle.
    pub timestamp: Time,
    /// High or low of the candle.
    pub price: f64,
}

/// A line between two candles, straight on a logarithmic price scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Segment {
    /// Older end.
    pub from: Corner,
    /// Later end.
    pub to: Corner,
}

/// End point of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Corner {
    /// Candle index; 0 is the oldest candle of the timeframe.
    pub index: usize,
    /// Price of the line at that candle.
    pub price: f64,
}

/// Stage of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No close beyond the boundary yet.
    Forming,
    /// A close beyond the boundary.
    Confirmed,
    /// Confirmed, and the target was reached.
    Reached,
    /// Confirmed, then a close back across the boundary by half the height.
    Failed,
}

impl Pattern {
    /// As `PatternDetail::active`; false without `explain` details.
    pub fn is_active(&self) -> bool {
        self.detail.as_ref().is_some_and(|detail| detail.active)
    }
}

impl Status {
    /// Whether target and stop no longer apply.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Reached | Self::Failed)
    }
}

/// Expected direction of the price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Rising prices.
    Up,
    /// Falling prices.
    Down,
}

/// Basis of a pattern's direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectionBy {
    /// The side that a close broke out of.
    Breakout,
    /// The shape, while it forms.
    Shape,
    /// The trend before it, while it forms: it may break out of either side, and adds nothing to the signal.
    PriorTrend,
}

impl DirectionBy {
    fn of(find: &FoundPattern) -> Self {
        match find.breakout {
            Some(_) => Self::Breakout,
            None if find.name.points_one_way() => Self::Shape,
            None => Self::PriorTrend,
        }
    }
}

/// What the patterns alone point to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RawSignal {
    /// The action for this weight.
    pub action: TradeAction,
    /// The direction of the weight; null where it is zero.
    pub direction: Option<Direction>,
    /// Sum of the patterns' `actionContribution` values.
    pub weight: f64,
}

impl RawSignal {
    pub(crate) fn of_weight(weight: f64) -> Self {
        let direction = if weight > 0.0 {
            Some(Direction::Up)
        } else {
            None
        };
        Self {
            action: TradeAction::of_sum(weight),
            direction: direction.or((weight < 0.0).then_some(Direction::Down)),
            weight: finite(weight),
        }
    }
}

model::words! {
    /// A recommendation, by the sum of signed weights.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TradeAction {
        /// A sum of 0.6 or more.
        StrongBuy = "strong_buy",
        /// A sum of 0.2 or more.
        Buy = "buy",
        /// A sum in between.
        Hold = "hold",
        /// A sum of −0.2 or less.
        Sell = "sell",
        /// A sum of −0.6 or less.
        StrongSell = "strong_sell",
    }
}

impl TradeAction {
    /// The action of a sum of signed weights.
    pub fn of_sum(sum: f64) -> Self {
        match sum {
            0.6.. => Self::StrongBuy,
            0.2.. => Self::Buy,
            ..=-0.6 => Self::StrongSell,
            ..=-0.2 => Self::Sell,
            _ => Self::Hold,
        }
    }
}

impl PatternsAnswer {
    /// The response if there are no patterns: too few candles, or a timeframe finer than the data.
    pub fn empty() -> Self {
        let (advice, signal, peg, as_of, track_record) = Default::default();
        Self {
            patterns: Vec::new(),
            recommended_action: TradeAction::Hold,
            advice,
            signal,
            peg,
            as_of,
            track_record,
        }
    }

    /// Takes the advice as its recommendation.
    pub fn take_advice(&mut self, advice: Advice) {
        self.recommended_action = advice.word.into();
        self.advice = Some(advice);
    }

    /// The documented members alone, without any evidence.
    #[must_use]
    pub fn plain(self) -> Self {
        let patterns = if self.peg.is_some() {
            Vec::new()
        } else {
            self.patterns
        };
        let patterns = patterns
            .into_iter()
            .map(|pattern| Pattern {
                detail: None,
                ..pattern
            })
            .collect();
        Self {
            patterns,
            recommended_action: self.recommended_action,
            ..Self::empty()
        }
    }

    /// Its patterns, unless it is pegged.
    pub fn worth_following(&self) -> &[Pattern] {
        if self.peg.is_some() {
            &[]
        } else {
            &self.patterns
        }
    }

    /// The leading pattern, see `advice::leading`.
    pub fn best(&self) -> Option<&Pattern> {
        advice::leading(self.worth_following(), |_| true).map(|place| &self.patterns[place])
    }

    /// Index of the leading pattern among the active ones; `None` without `explain` details.
    pub fn best_active(&self) -> Option<usize> {
        advice::leading(self.worth_following(), Pattern::is_active)
    }

    /// The status of the leading pattern; `None` without one, and without `explain` details.
    pub fn best_status(&self) -> Option<Status> {
        self.best()?.detail.as_ref().map(|detail| detail.status)
    }

    /// The patterns that decide the raw signal, by descending contribution; none without `explain` details.
    pub fn deciding(&self) -> impl Iterator<Item = &Pattern> {
        let action = self
            .signal
            .map_or(TradeAction::Hold, |signal| signal.action);
        advice::deciding(self.worth_following(), action)
            .into_iter()
            .map(|place| &self.patterns[place])
    }
}

/// Minimum number of candles.
const CANDLES_LEAST: usize = 20;

/// Detects the patterns in the candles, with their details if `explain` is set.
pub fn patterns(candles: &Candles<'_>, explain: bool) -> PatternsAnswer {
    patterns_by(candles, Model::built_in(), explain)
}

/// As `patterns`, with another model than the built-in one.
pub fn patterns_by(candles: &Candles<'_>, model: &Model, explain: bool) -> PatternsAnswer {
    let found = found(candles, &[], model, explain);
    if explain { found } else { found.plain() }
}

/// As `patterns`, of a token that may follow one of the coins: with the details that advice is made of, and the reasons of each confidence
/// if `explain` is set. The patterns of a pegged token are searched for with `explain` alone.
pub fn patterns_to_advise(
    candles: &Candles<'_>,
    coins: &[Coin<'_>],
    explain: bool,
) -> PatternsAnswer {
    found(candles, coins, Model::built_in(), explain)
}

fn found(
    candles: &Candles<'_>,
    coins: &[Coin<'_>],
    model: &Model,
    explain: bool,
) -> PatternsAnswer {
    let Some(series) = CandleSeries::of(candles, CANDLES_LEAST) else {
        return PatternsAnswer::empty();
    };
    let peg = peg(candles, coins);
    let mut finds = if peg.is_some() && !explain {
        Vec::new()
    } else {
        finds(&series, model, explain)
    };
    let trading = Trading::of(&series, candles.timestamp);
    for find in &mut finds {
        trading.weigh(find);
    }
    overlap::order(&mut finds, series.len());
    let builder = AnswerBuilder {
        series: &series,
        candles,
    };
    let patterns: Vec<Pattern> = finds.iter().map(|find| builder.pattern(find)).collect();
    let adds = |pattern: &Pattern| {
        pattern
            .detail
            .as_ref()
            .map_or(0.0, |detail| detail.action_contribution)
    };
    let weight = if peg.is_some() {
        0.0
    } else {
        patterns.iter().map(adds).sum()
    };
    PatternsAnswer {
        patterns,
        signal: Some(RawSignal::of_weight(weight)),
        peg,
        as_of: Some(Time(
            candles.timestamp[series.slot[series.len() - 1] as usize],
        )),
        ..PatternsAnswer::empty()
    }
}

/// A pattern confirmed by the last candle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breakout {
    pub name: PatternName,
    pub direction: Direction,
    /// Its first candle.
    pub start: usize,
    /// As in `PatternDetail`.
    pub target_price: f64,
    pub stop_price: f64,
}

/// Patterns that the last candle confirms; none if that candle is invalid.
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
        direction: if find.up {
            Direction::Up
        } else {
            Direction::Down
        },
        start: series.slot[find.start as usize] as usize,
        target_price: finite(series.price(find.target())),
        stop_price: finite(series.price(advice::stop(&series, find))),
    };
    let mut finds = finds(&series, model, false);
    overlap::order(&mut finds, series.len());
    finds.iter().filter(fresh).map(breakout).collect()
}

/// All detected patterns, in no order.
fn finds(series: &CandleSeries, model: &Model, explain: bool) -> Vec<FoundPattern> {
    let mut finds = overlap::better(textbook::all(series, explain), series.len());
    let mut taken: Vec<(u32, u32)> = finds
        .iter()
        .map(|find| (find.start, find.end(series.len())))
        .collect();
    taken.sort_unstable();
    finds.extend(market::finds(series, model, &taken, explain));
    finds.retain(|find| is_confirmed_by_closes(series, find));
    finds
}

/// Fraction of a pattern's height that must lie between closes: else one or two flash wicks make it, and its target is no market's.
const CLOSES_LEAST: f64 = 0.5;

fn is_confirmed_by_closes(series: &CandleSeries, find: &FoundPattern) -> bool {
    // The close before is where its first move came from.
    let closes = &series.upright.close
        [(find.start as usize).saturating_sub(1)..=find.end(series.len()) as usize];
    let (low, high) = closes
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), close| {
            (low.min(*close), high.max(*close))
        });
    high - low >= CLOSES_LEAST * find.height
}

/// Inputs shared by all patterns of one response.
struct AnswerBuilder<'a> {
    series: &'a CandleSeries,
    candles: &'a Candles<'a>,
}

impl AnswerBuilder<'_> {
    fn pattern(&self, find: &FoundPattern) -> Pattern {
        let slot = |at: u32| self.series.slot[at as usize] as usize;
        let (start, end) = (
            slot(find.start),
            find.breakout.map_or(self.candles.len() - 1, slot),
        );
        Pattern {
            name: find.name,
            confidence: finite(find.confidence),
            completion_percent: finite(find.completion),
            projected_movement: finite(find.movement()),
            start_index: start,
            end_index: end,
            detail: Some(self.detail(find, start, end)),
        }
    }

    fn detail(&self, find: &FoundPattern, start: usize, end: usize) -> PatternDetail {
        let time = |slot: usize| Time(self.candles.timestamp[slot]);
        let anchors = find.turns.as_slice().iter().map(|turn| {
            let index = turn.slot as usize;
            Anchor {
                index,
                timestamp: time(index),
                price: if turn.high {
                    self.candles.high[index]
                } else {
                    self.candles.low[index]
                },
            }
        });
        let edges = [find.upper, find.lower];
        let boundary = edges.iter().filter_map(|edge| match edge {
            BoundaryLine::Breaks(line) => Some(self.segment(find, *line, end)),
            BoundaryLine::Voids(_) => None,
        });
        let series = self.series;
        let last = series.upright.close[series.len() - 1];
        let (target, stop) = (find.target(), advice::stop(series, find));
        let percent = |level: f64| 100.0 * (level - last).exp_m1();
        let (reward, risk) = (percent(target), -percent(stop));
        // What forms is entered at its boundary.
        let entry = if find.breakout.is_some() {
            last
        } else {
            find.level
        };
        let status = advice::status(series, find);
        let (gain, loss) = (
            100.0 * (target - entry).exp_m1(),
            -(100.0 * (stop - entry).exp_m1()),
        );
        PatternDetail {
            status,
            active: advice::is_active(self.series, find, status),
            direction: if find.up {
                Direction::Up
            } else {
                Direction::Down
            },
            direction_by: DirectionBy::of(find),
            start_time: time(start),
            end_time: time(end),
            anchors: anchors.collect(),
            boundary: boundary.collect(),
            breakout_index: find.breakout.map(|_| end),
            breakout_price: finite(series.price(find.level)),
            height: finite(series.price(find.level) * find.steepness()),
            target_price: finite(series.price(target)),
            target_by_log: find.is_by_log(),
            stop_price: finite(series.price(stop)),
            distance_to_target: finite(reward),
            distance_to_stop: finite(-risk),
            reward_risk: (gain * loss > 0.0 && (gain > 0.0) == find.up)
                .then(|| finite(gain / loss)),
            action_contribution: finite(advice::contribution(series, find)),
            why: find.why.clone(),
        }
    }

    /// The line from the first turn to candle `end`.
    fn segment(&self, find: &FoundPattern, line: Line, end: usize) -> Segment {
        let from = find.turns.first().slot as usize;
        let corner = |index: usize| Corner {
            index,
            price: finite(self.series.price(line.at((index - from) as f64))),
        };
        Segment {
            from: corner(from),
            to: corner(end),
        }
    }
}

/// An explained pattern of this contribution, for tests.
#[cfg(test)]
pub(crate) fn explained_sample(
    name: PatternName,
    action_contribution: f64,
    status: Status,
) -> Pattern {
    let up = action_contribution >= 0.0;
    let detail = PatternDetail {
        status,
        active: !status.is_over(),
        direction: if up { Direction::Up } else { Direction::Down },
        direction_by: DirectionBy::Breakout,
        start_time: Time(0),
        end_time: Time(0),
        anchors: Vec::new(),
        boundary: Vec::new(),
        breakout_index: None,
        breakout_price: 1.0,
        height: 0.1,
        target_price: 1.1,
        target_by_log: false,
        stop_price: 0.9,
        distance_to_target: 10.0,
        distance_to_stop: -10.0,
        reward_risk: None,
        action_contribution,
        why: Vec::new(),
    };
    Pattern {
        name,
        confidence: action_contribution.abs(),
        completion_percent: 100.0,
        projected_movement: if up { 10.0 } else { -10.0 },
        start_index: 0,
        end_index: 1,
        detail: Some(detail),
    }
}
