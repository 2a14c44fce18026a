//! The chart of a report: selection of candles, lines and levels, and their rendering as SVG on a logarithmic price scale. All values come
//! from the answers; only positions are computed here.

mod svg;

use crate::queries::candles::{Candle, TokenCandles};
use analysis::{
    patterns::{Direction, Pattern, PatternDetail, Segment},
    trendlines::{LineType, TrendlineAnswer},
};
use model::{format::candle_time, time::Time};

/// Number of candles drawn, and the maximum to show a pattern in full.
pub(super) const CANDLES: usize = 120;
pub(super) const CANDLES_MAX: usize = 400;
/// Candles before a pattern.
const BEFORE: usize = 8;

/// Contents of the chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Text alternative, for screen readers.
    pub(super) caption: String,
    bars: Vec<Bar>,
    strokes: Vec<Stroke>,
    levels: Vec<Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bar {
    time: Time,
    open: f64,
    high: f64,
    low: f64,
    close: f64,
}

/// A line between two bars.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stroke {
    kind: Kind,
    /// Bar index and price.
    from: (f64, f64),
    to: (f64, f64),
    /// Straight in linear prices, hence curved on the log scale.
    straight: bool,
}

/// A horizontal price level.
#[derive(Debug, Clone, PartialEq)]
struct Mark {
    kind: Kind,
    label: &'static str,
    price: f64,
}

/// Kind of a line, which selects its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Support,
    Resistance,
    Regression,
    Boundary,
    Target,
    Stop,
    Close,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Support => "support",
            Self::Resistance => "resistance",
            Self::Regression => "regression",
            Self::Boundary => "boundary",
            Self::Target => "target",
            Self::Stop => "stop",
            Self::Close => "close",
        }
    }
}

impl Chart {
    /// `None` if no candle has prices.
    pub(super) fn new(
        candles: &TokenCandles,
        trendline: &TrendlineAnswer,
        card: Option<&Pattern>,
    ) -> Option<Self> {
        let all: Vec<Bar> = candles.candles.iter().filter_map(bar).collect();
        let card_from = card.and_then(|card| candle_at(&all, card.detail.as_ref()?.start_time));
        let first = all
            .len()
            .saturating_sub(CANDLES)
            .min(card_from.map_or(usize::MAX, |from| from.saturating_sub(BEFORE)));
        let bars = all[first..].to_vec();
        let (oldest, last) = (bars.first()?, bars.last()?);
        let mut caption = format!(
            "{} candles from {} to {}",
            candles.timeframe,
            candle_time(oldest.time),
            candle_time(last.time)
        );
        let mut strokes: Vec<Stroke> = trendline
            .trendlines
            .iter()
            .filter_map(|line| {
                let kind = match line.kind {
                    LineType::Support => Kind::Support,
                    LineType::Resistance => Kind::Resistance,
                    LineType::Regression => Kind::Regression,
                };
                let from = (candle_at(&bars, line.start_time?)? as f64, line.intercept);
                Some(Stroke {
                    kind,
                    from,
                    to: (candle_at(&bars, line.end_time?)? as f64, line.end_price?),
                    straight: true,
                })
            })
            .collect();
        let mut levels = vec![Mark {
            kind: Kind::Close,
            label: "close",
            price: last.close,
        }];
        if let Some((card, detail)) = card.and_then(|card| Some((card, card.detail.as_ref()?))) {
            let start = start_of(&bars, card, detail);
            strokes.extend(start.into_iter().flat_map(|start| {
                detail
                    .boundary
                    .iter()
                    .map(move |segment| boundary_stroke(segment, start))
            }));
            levels.push(Mark {
                kind: Kind::Target,
                label: "target",
                price: detail.target_price,
            });
            levels.push(Mark {
                kind: Kind::Stop,
                label: "stop",
                price: detail.stop_price,
            });
            let way = if detail.direction == Direction::Up {
                "up"
            } else {
                "down"
            };
            let with = if start.is_some() {
                "the boundary"
            } else {
                "the target and stop"
            };
            caption += &format!(
                ", with {with} of the {}, pointing {way}",
                super::words::shown(card.name.word()).to_lowercase()
            );
        }
        for (kind, label) in [(Kind::Support, "support"), (Kind::Resistance, "resistance")] {
            let line = strokes.iter().find(|stroke| stroke.kind == kind);
            levels.extend(line.map(|line| Mark {
                kind,
                label,
                price: line.to.1,
            }));
        }
        levels.retain(|mark| mark.price.is_finite() && mark.price > 0.0);
        strokes.retain(|stroke| {
            [stroke.from.1, stroke.to.1]
                .iter()
                .all(|price| price.is_finite() && *price > 0.0)
        });
        Some(Self {
            caption,
            bars,
            strokes,
            levels,
        })
    }

    /// Renders an SVG for embedding in a page, which supplies the colors.
    pub(super) fn svg(&self) -> String {
        svg::draw(self)
    }
}

fn bar(candle: &Candle) -> Option<Bar> {
    let bar = Bar {
        time: candle.timestamp,
        open: candle.open?,
        high: candle.high?,
        low: candle.low?,
        close: candle.close?,
    };
    let valid = bar.low > 0.0
        && [bar.open, bar.close]
            .iter()
            .all(|price| (bar.low..=bar.high).contains(price));
    valid.then_some(bar)
}

/// Index of the candle at that time.
fn candle_at(bars: &[Bar], time: Time) -> Option<usize> {
    bars.binary_search_by_key(&time.0, |bar| bar.time.0).ok()
}

/// Index of the frame's oldest candle; `None` if candles of the pattern are not drawn, which would shift its outline.
fn start_of(bars: &[Bar], card: &Pattern, detail: &PatternDetail) -> Option<f64> {
    let (from, to) = (
        candle_at(bars, detail.start_time)?,
        candle_at(bars, detail.end_time)?,
    );
    (to.checked_sub(from)? == card.end_index.checked_sub(card.start_index)?)
        .then_some(from as f64 - card.start_index as f64)
}

/// `start`: index of the frame's oldest candle.
fn boundary_stroke(segment: &Segment, start: f64) -> Stroke {
    let end = |index: usize, price| (start + index as f64, price);
    let (from, to) = (
        end(segment.from.index, segment.from.price),
        end(segment.to.index, segment.to.price),
    );
    Stroke {
        kind: Kind::Boundary,
        from,
        to,
        straight: false,
    }
}
