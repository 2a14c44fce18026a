//! Trendlines: the answer, and the three lines in their order. The window, the search for support and resistance and the trend word
//! have a file each. Everything is computed on prices divided by a power of two, which changes no digit and lets none overflow.

mod hull;
mod lines;
mod pivots;
mod trend;
mod window;

use schemars::JsonSchema;
use serde::Serialize;

use self::{
    lines::{Found, Side, TOUCHES_MODERATE, TOUCHES_STRONG},
    window::{Measure, Window},
};
use super::numeric::{Line, finite};
use crate::dataset::{candles::Candles, time::Time};

/// Lines drawn through the last candles of a token, and what its trend is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrendlineAnswer {
    /// The regression, then support, then resistance. Empty for fewer than two candles; only the regression for two.
    pub trendlines: Vec<Trendline>,
    /// Whether the closes rise, fall, or do neither that chance would not explain.
    pub trend: Trend,
    /// How sure the trend is, 0 to 1: 1 − p for a trend, p for sideways, of the tests the trend rests on.
    pub confidence: f64,
}

/// price = intercept + slope·x, where x is 0 at the oldest candle of the window and grows by 1 with each candle.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trendline {
    /// Price units per candle.
    pub slope: f64,
    /// The line's price at the window's oldest candle.
    pub intercept: f64,
    /// Share of the variance that the line explains, 0 to 1: of the closes for the regression, of the touches for support and resistance.
    pub r2: f64,
    /// What the line is.
    #[serde(rename = "type")]
    pub kind: LineType,
    /// How much the line can be leaned on.
    pub strength: Strength,
    /// Start of the window's oldest candle. Only when explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Start of the window's latest candle. Only when explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
    /// The lows or highs on which the line rests, oldest first; none for the regression. Only when explained.
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

/// What a trendline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineType {
    /// Under the lows.
    Support,
    /// Over the highs.
    Resistance,
    /// Least squares through the closes.
    Regression,
}

/// How much a trendline can be leaned on.
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

/// The direction of the closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Rising, with p below 0.10.
    Uptrend,
    /// Falling, with p below 0.10.
    Downtrend,
    /// Neither.
    Sideways,
}

impl TrendlineAnswer {
    /// The answer where there is nothing to draw on: no valid candle, one, or a frame finer than the data.
    pub fn empty() -> Self {
        Self { trendlines: Vec::new(), trend: Trend::Sideways, confidence: 0.0 }
    }
}

/// The lines through the last `period` valid candles, or all of them where there are fewer.
pub fn trendlines(candles: &Candles, period: usize, explain: bool) -> TrendlineAnswer {
    let Some(window) = Window::last(candles, period) else {
        return TrendlineAnswer::empty();
    };
    let verdict = if window.len() < 3 { trend::Verdict::NONE } else { trend::judge(&window) };
    let answer = Answer { window: &window, candles, explain };
    let mut lines = vec![answer.regression(verdict.p)];
    if window.len() >= 3 {
        let measure = window.measure();
        lines.push(answer.edge(LineType::Support, &Side::support(&window), measure));
        lines.push(answer.edge(LineType::Resistance, &Side::resistance(&window), measure));
    }
    TrendlineAnswer { trendlines: lines, trend: verdict.trend, confidence: finite(verdict.confidence) }
}

/// What every line of one answer is written with.
struct Answer<'a> {
    window: &'a Window,
    candles: &'a Candles<'a>,
    explain: bool,
}

impl Answer<'_> {
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

    fn edge(&self, kind: LineType, side: &Side, measure: Measure) -> Trendline {
        let found = lines::find(side, measure);
        let Found { line, touches } = &found;
        let points = touches.iter().map(|&(at, tip)| (self.window.x[at], tip));
        let squares: f64 = points.clone().map(|(x, tip)| (tip - line.at(x)).powi(2)).sum();
        let rms = (squares / touches.len().max(1) as f64).sqrt();
        let strength = match touches.len() {
            TOUCHES_STRONG.. if rms <= measure.tolerance / 2.0 => Strength::Strong,
            TOUCHES_MODERATE.. => Strength::Moderate,
            _ => Strength::Weak,
        };
        let line_up = Line { slope: line.slope * side.sign, intercept: line.intercept * side.sign };
        self.line(kind, line_up, line.r2(points), strength, touches)
    }

    fn line(&self, kind: LineType, line: Line, r2: f64, strength: Strength, touches: &[(usize, f64)]) -> Trendline {
        let window = self.window;
        let time = |slot: usize| self.candles.timestamp.get(window.start + slot).map_or(Time(0), |&t| Time(t));
        let touch = |&(at, tip): &(usize, f64)| {
            let index = window.x[at] as usize;
            Touch { index, timestamp: time(index), price: finite(window.unscaled(tip.abs())) }
        };
        Trendline {
            slope: finite(window.unscaled(line.slope)),
            intercept: finite(window.unscaled(line.intercept)),
            r2: finite(r2),
            kind,
            strength,
            start_time: self.explain.then(|| time(0)),
            end_time: self.explain.then(|| time(window.slots - 1)),
            touches: self.explain.then(|| touches.iter().map(touch).collect()),
        }
    }
}
