//! Trendlines: the response with its three lines. The window, the search for support and resistance, and the trend label have a file each.
//! Prices are divided by a power of two first, which is exact and avoids overflow.

mod lines;
mod pivots;
mod significance;
pub mod trend;
mod window;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::significance::Significance;
use self::{
    lines::{PriceSide, TOUCHES_MODERATE, TOUCHES_STRONG, TouchedLine},
    trend::{Measures, TrendReasons},
    window::{Measure, Window},
};
use super::{
    numeric::{Line, finite},
    peg::peg,
};
use model::{candles::Candles, time::Time};

/// Trendlines through a token's last candles, and its trend.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrendlineAnswer {
    /// Regression line, then support, then resistance. Empty with fewer than two candles; only the regression line with two.
    pub trendlines: Vec<Trendline>,
    /// Trend of the closes, as a chartist would label it.
    pub trend: Trend,
    /// Probability, 0 to 1, that two chartists agree with it. Fitted to spans of 30 to 150 candles labeled by two chartists; 0 with
    /// fewer than three candles, 1 for a constant price and for a token pegged to the dollar, which is sideways.
    pub confidence: f64,
    /// Start of the last candle used.
    #[serde(skip)]
    pub as_of: Option<Time>,
    /// Contributions to the trend and its confidence. Only with `explain`, and not with fewer than three candles, a constant price or a dollar peg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<TrendReasons>,
    /// Whether chance explains the closes' movement; it does not affect `trend`. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub significance: Option<Significance>,
}

/// The line price = intercept + slope·x, where x is 0 at the window's oldest candle and increases by 1 per candle.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trendline {
    /// Price units per candle.
    pub slope: f64,
    /// Price of the line at the window's oldest candle.
    pub intercept: f64,
    /// Fraction of the variance explained by the line, 0 to 1: of the closes for the regression, of the touches for support and resistance.
    pub r2: f64,
    /// Type of the line.
    #[serde(rename = "type")]
    pub kind: LineType,
    /// Reliability of the line.
    pub strength: Strength,
    /// Start of the window's oldest candle. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Start of the window's latest candle. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
    /// Price of the line at the window's latest candle. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_price: Option<f64>,
    /// Lows or highs that touch the line, oldest first; empty for the regression. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<Touch>>,
}

/// A low on support or a high on resistance.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Touch {
    /// The candle's x: 0 at the window's oldest candle.
    pub index: usize,
    /// Start of the candle.
    pub timestamp: Time,
    /// Its low for support, its high for resistance.
    pub price: f64,
}

/// Type of a trendline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineType {
    /// Below the lows.
    Support,
    /// Above the highs.
    Resistance,
    /// Least squares through the closes.
    Regression,
}

/// Reliability of a trendline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Neither of the others.
    Weak,
    /// Support and resistance: three touches. Regression: r2 from 0.4 and p below 0.10.
    Moderate,
    /// Support and resistance: four close touches. Regression: r2 from 0.7 and p below 0.05.
    Strong,
}

model::words! {
    /// Direction of the closes, as a chartist would label it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Trend {
        /// They rose.
        Uptrend = "uptrend",
        /// They fell.
        Downtrend = "downtrend",
        /// Neither.
        Sideways = "sideways",
    }
}

impl TrendlineAnswer {
    /// The response if there is nothing to draw: at most one valid candle, or a timeframe finer than the data.
    pub fn empty() -> Self {
        Self {
            trendlines: Vec::new(),
            trend: Trend::Sideways,
            confidence: 0.0,
            as_of: None,
            why: None,
            significance: None,
        }
    }

    /// The x at which support and resistance meet, if they do after the window's start: beyond it, either is no longer one.
    pub fn crossing(&self) -> Option<f64> {
        let of = |kind: LineType| self.trendlines.iter().find(|line| line.kind == kind);
        let (support, resistance) = (of(LineType::Support)?, of(LineType::Resistance)?);
        let at = (resistance.intercept - support.intercept) / (support.slope - resistance.slope);
        (at.is_finite() && at > 0.0).then_some(at)
    }
}

/// Measures of the trend label for the last `period` valid candles; `None` with fewer than three, or for a constant price.
pub fn measures(candles: &Candles, period: usize) -> Option<Measures> {
    let window = Window::last(candles, period)?;
    Measures::of(&window.x, &window.logs())
}

/// Trendlines of the last `period` valid candles, or of all if there are fewer.
pub fn trendlines(candles: &Candles, period: usize, explain: bool) -> TrendlineAnswer {
    let Some(window) = Window::last(candles, period) else {
        let last = (0..candles.len())
            .rev()
            .find(|&i| explain && candles.valid(i));
        return TrendlineAnswer {
            as_of: last.map(|i| Time(candles.timestamp[i])),
            ..TrendlineAnswer::empty()
        };
    };
    let logs = window.logs();
    let significance = Significance::of(&window, &logs);
    let verdict = trend::classify(&window, &logs);
    // What holds a peg goes nowhere, however straight its last tenth of a percent is.
    let pegged = peg(candles, &[]).is_some();
    let (trend, confidence) = if pegged {
        (Trend::Sideways, trend::less_sure(1.0, window.len()))
    } else {
        (verdict.trend, verdict.confidence)
    };
    let builder = AnswerBuilder {
        window: &window,
        candles,
        explain,
    };
    let mut lines = vec![builder.regression(significance.p)];
    if window.len() >= 3 {
        let measure = window.measure();
        lines.push(builder.boundary(LineType::Support, &PriceSide::support(&window), measure));
        lines.push(builder.boundary(
            LineType::Resistance,
            &PriceSide::resistance(&window),
            measure,
        ));
    }
    TrendlineAnswer {
        trendlines: lines,
        trend,
        confidence: finite(confidence),
        as_of: explain.then(|| builder.time(window.last_slot())),
        why: verdict.why.filter(|_| explain && !pegged),
        significance: explain.then_some(significance),
    }
}

/// Inputs shared by all lines of one response.
struct AnswerBuilder<'a> {
    window: &'a Window,
    candles: &'a Candles<'a>,
    explain: bool,
}

impl AnswerBuilder<'_> {
    /// Start of the candle in a slot of the window.
    fn time(&self, slot: usize) -> Time {
        self.candles
            .timestamp
            .get(self.window.start + slot)
            .map_or(Time(0), |&time| Time(time))
    }

    fn regression(&self, p: f64) -> Trendline {
        let points = self.window.closes();
        let line = Line::least_squares(points.clone());
        let r2 = line.r2(points);
        let strength = match (r2, p) {
            _ if self.window.len() < 3 => Strength::Weak,
            (0.7.., ..0.05) => Strength::Strong,
            (0.4.., ..0.10) => Strength::Moderate,
            _ => Strength::Weak,
        };
        self.line(LineType::Regression, line, r2, strength, &[])
    }

    fn boundary(&self, kind: LineType, side: &PriceSide, measure: Measure) -> Trendline {
        let found = lines::find(side, measure);
        let TouchedLine { line, touches } = &found;
        let points = touches.iter().map(|&(at, tip)| (self.window.x[at], tip));
        let squares: f64 = points
            .clone()
            .map(|(x, tip)| (tip - line.at(x)).powi(2))
            .sum();
        let rms = (squares / touches.len().max(1) as f64).sqrt();
        let strength = match touches.len() {
            TOUCHES_STRONG.. if rms <= measure.tolerance / 2.0 => Strength::Strong,
            TOUCHES_MODERATE.. => Strength::Moderate,
            _ => Strength::Weak,
        };
        let line_up = Line {
            slope: line.slope * side.sign,
            intercept: line.intercept * side.sign,
        };
        self.line(kind, line_up, line.r2(points), strength, touches)
    }

    fn line(
        &self,
        kind: LineType,
        line: Line,
        r2: f64,
        strength: Strength,
        touches: &[(usize, f64)],
    ) -> Trendline {
        let window = self.window;
        let tips = if kind == LineType::Support {
            self.candles.low
        } else {
            self.candles.high
        };
        let touch = |&(at, _): &(usize, f64)| {
            let index = window.x[at] as usize;
            Touch {
                index,
                timestamp: self.time(index),
                price: tips[window.start + index],
            }
        };
        Trendline {
            slope: finite(window.unscaled(line.slope)),
            intercept: finite(window.unscaled(line.intercept)),
            r2: finite(r2),
            kind,
            strength,
            start_time: self.explain.then(|| self.time(0)),
            end_time: self.explain.then(|| self.time(window.slots - 1)),
            end_price: self.explain.then(|| {
                finite(window.unscaled(line.intercept + line.slope * (window.slots - 1) as f64))
            }),
            touches: self.explain.then(|| touches.iter().map(touch).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeframes::CandleVec;
    use model::time::DAY_MS;

    /// Daily candles of (open, high, low, close).
    fn daily(prices: &[[f64; 4]]) -> CandleVec {
        let column = |k: usize| prices.iter().map(|price| price[k]).collect::<Vec<f64>>();
        CandleVec {
            timestamp: (0..prices.len() as i64).map(|day| day * DAY_MS).collect(),
            open: column(0),
            high: column(1),
            low: column(2),
            close: column(3),
            volume: vec![f64::NAN; prices.len()],
        }
    }

    fn level(price: f64) -> [f64; 4] {
        [price; 4]
    }

    /// Short form of a response: (slope, intercept, r2, strength) of each line, then the trend and the confidence.
    type Short = (Vec<(f64, f64, f64, Strength)>, Trend, f64);

    fn short(answer: &TrendlineAnswer) -> Short {
        (
            answer
                .trendlines
                .iter()
                .map(|line| (line.slope, line.intercept, line.r2, line.strength))
                .collect(),
            answer.trend,
            answer.confidence,
        )
    }

    #[test]
    fn the_edge_cases_answer_as_their_table_says() {
        const BAD: [f64; 4] = [f64::NAN, 1.0, 1.0, 1.0];
        let sideways = |lines: Vec<(f64, f64, f64, Strength)>, confidence| {
            (lines, Trend::Sideways, confidence)
        };
        let flat = (0.0, 0.3, 1.0, Strength::Weak);
        let cases: [(&str, Vec<[f64; 4]>, usize, Short); 11] = [
            ("no candle", vec![], 14, sideways(vec![], 0.0)),
            ("one candle", vec![level(5.0)], 14, sideways(vec![], 0.0)),
            ("no valid candle", vec![BAD; 5], 14, sideways(vec![], 0.0)),
            (
                "one valid candle among bad ones",
                vec![BAD, level(1.0), BAD],
                14,
                sideways(vec![], 0.0),
            ),
            (
                "a period of one",
                vec![level(5.0); 9],
                1,
                sideways(vec![], 0.0),
            ),
            (
                "two candles",
                vec![level(5.0), level(7.0)],
                14,
                sideways(vec![(2.0, 5.0, 1.0, Strength::Weak)], 0.0),
            ),
            (
                "two flat candles",
                vec![level(0.3); 2],
                14,
                sideways(vec![flat], 0.0),
            ),
            (
                "two candles with a bad one between, which keeps its slot",
                vec![level(5.0), BAD, level(7.0)],
                14,
                sideways(vec![(1.0, 5.0, 1.0, Strength::Weak)], 0.0),
            ),
            (
                "a bad candle last, which keeps its slot too",
                vec![level(1.0), level(5.0), level(7.0), BAD],
                2,
                sideways(vec![(2.0, 5.0, 1.0, Strength::Weak)], 0.0),
            ),
            (
                "flat",
                vec![level(0.3); 14],
                14,
                sideways(vec![flat, flat, flat], 1.0),
            ),
            (
                "flat, three candles",
                vec![level(0.3); 3],
                3,
                sideways(vec![flat, flat, flat], 1.0),
            ),
        ];
        for (name, prices, period, expected) in cases {
            let candles = daily(&prices);
            assert_eq!(
                short(&trendlines(&candles.as_candles(), period, false)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_steady_rise_of_eight_candles_is_an_uptrend_with_a_strong_regression() {
        let rise: Vec<[f64; 4]> = (0..8).map(|i| level(100.0 * 1.01_f64.powi(i))).collect();
        let candles = daily(&rise);
        let answer = trendlines(&candles.as_candles(), 14, false);
        assert_eq!(
            (answer.trend, answer.trendlines[0].strength),
            (Trend::Uptrend, Strength::Strong)
        );
        assert!(
            (0.8..0.85).contains(&answer.confidence),
            "eight candles are no certainty: {}",
            answer.confidence
        );
        let fall: Vec<[f64; 4]> = rise.into_iter().rev().collect();
        assert_eq!(
            trendlines(&daily(&fall).as_candles(), 14, false).trend,
            Trend::Downtrend
        );
    }

    #[test]
    fn support_rests_on_the_lows_it_names() {
        // A zigzag with ten candles per leg above a floor that rises by 0.1 per candle; its lows are at 10, 30, 50 and 70.
        let prices: Vec<[f64; 4]> = (0..81_i32)
            .map(|i| {
                let middle = 100.0 + 0.1 * f64::from(i) + f64::from((i % 20 - 10).abs());
                [middle + 0.2, middle + 0.4, middle, middle + 0.2]
            })
            .collect();
        let candles = daily(&prices);
        let answer = trendlines(&candles.as_candles(), 100, true);
        let support = &answer.trendlines[1];
        assert_eq!(
            (support.kind, support.strength),
            (LineType::Support, Strength::Strong)
        );
        assert!(
            (support.slope - 0.1).abs() < 1e-9 && (support.intercept - 100.0).abs() < 1e-6,
            "{support:?}"
        );
        let touches = support.touches.as_ref().expect("explained");
        assert_eq!(
            touches.iter().map(|touch| touch.index).collect::<Vec<_>>(),
            [10, 30, 50, 70]
        );
        assert_eq!(
            (touches[0].timestamp, touches[0].price),
            (Time(10 * DAY_MS), prices[10][2])
        );
        assert_eq!(
            (support.start_time, support.end_time),
            (Some(Time(0)), Some(Time(80 * DAY_MS)))
        );
    }

    #[test]
    fn a_window_reaches_to_the_last_candle_even_a_bad_one() {
        let candles = daily(&[
            level(9.0),
            level(1.0),
            [f64::NAN; 4],
            level(2.0),
            level(3.0),
            [0.0; 4],
        ]);
        let answer = trendlines(&candles.as_candles(), 3, true);
        let line = &answer.trendlines[0];
        assert_eq!(
            (line.start_time, line.end_time),
            (Some(Time(DAY_MS)), Some(Time(5 * DAY_MS)))
        );
    }

    #[test]
    fn support_and_resistance_end_where_they_meet() {
        let line = |kind, intercept, slope| Trendline {
            slope,
            intercept,
            r2: 1.0,
            kind,
            strength: Strength::Weak,
            start_time: None,
            end_time: None,
            end_price: None,
            touches: None,
        };
        let cross = |support: (f64, f64), resistance: (f64, f64)| {
            let lines = vec![
                line(LineType::Support, support.0, support.1),
                line(LineType::Resistance, resistance.0, resistance.1),
            ];
            TrendlineAnswer {
                trendlines: lines,
                ..TrendlineAnswer::empty()
            }
            .crossing()
        };
        assert_eq!(cross((1.0, 0.5), (4.0, -0.5)), Some(3.0));
        for (support, resistance) in [
            ((1.0, 0.5), (4.0, 0.5)),
            ((1.0, -0.5), (4.0, 0.5)),
            ((1.0, 0.0), (1.0, 0.0)),
        ] {
            assert_eq!(
                cross(support, resistance),
                None,
                "{support:?} {resistance:?}"
            );
        }
        assert_eq!(TrendlineAnswer::empty().crossing(), None);
    }

    #[test]
    fn members_of_the_explanation_are_written_only_when_asked_for() {
        let candles = daily(&[level(1.0), level(2.0), level(3.0)]);
        let keys = |explain: bool| {
            let answer = serde_json::to_value(trendlines(&candles.as_candles(), 3, explain))
                .expect("plain data");
            answer["trendlines"][1]
                .as_object()
                .expect("an object")
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            keys(false),
            ["slope", "intercept", "r2", "type", "strength"]
        );
        assert_eq!(
            keys(true),
            [
                "slope",
                "intercept",
                "r2",
                "type",
                "strength",
                "startTime",
                "endTime",
                "endPrice",
                "touches"
            ]
        );
    }
}
