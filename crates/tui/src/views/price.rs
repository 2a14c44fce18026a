//! A small chart of one token's daily candles, in the space that a short list leaves. Zoom, lines and patterns are the Chart view's.

use crate::{
    views::prelude::*,
    widgets::candles::{ChartData, label_cells, render},
};
use analysis::timeframes::CandleVec;
use query::queries::candles::{Candle, CandlesQuery};

/// Minimum number of rows of a useful chart.
const ROWS_MIN: u16 = 10;
/// Candles requested: more than any screen shows.
const CANDLES_ASKED: u64 = 500;

#[derive(Default)]
pub(super) struct Price {
    asked: ViewQuery<CandlesQuery>,
    token: Option<Address>,
    /// The last frame had space for it.
    wanted: bool,
}

impl Price {
    /// Runs no query while there is no space.
    pub(super) fn refresh(&mut self, token: Option<Address>, context: &Context<'_>) {
        if self.token != token {
            self.token = token;
            self.asked.clear();
        }
        if let Some(token) = token.filter(|_| self.wanted) {
            let question = CandlesQuery {
                token_address: token,
                timeframe: "1d",
                from: None,
                to: None,
                limit: CANDLES_ASKED,
            };
            self.asked.refresh(question, context);
        }
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let wanted = area.height >= ROWS_MIN;
        if wanted && !self.wanted {
            // Asked on the next refresh.
            (context.wake)();
        }
        self.wanted = wanted;
        let Some(token) = self.token.filter(|_| wanted) else {
            return;
        };
        let behind = summary(context, &token)
            .and_then(stale)
            .map_or_else(String::new, |behind| {
                format!(" · stale: {} behind", format::age(behind))
            });
        let title = format!("{} · 1d{behind}", symbol_of(context, &token));
        let progress = self.asked.progress().map(|_| None);
        let rule = Panel {
            note: "press 3 for the chart",
            progress,
            ..Panel::new(&title)
        };
        let body = rule.render(area, buffer, context.theme);
        let Some(known) = self.asked.shown(buffer, body, context) else {
            return;
        };
        let candles = by_column(&known.answer.candles);
        let all = candles.as_candles();
        let shown = ChartData::capacity(body, label_cells(&all), 1, 0).min(all.len());
        render(
            &ChartData {
                ascii: context.ascii,
                zone: context.zone.of_series(all.timestamp),
                ..ChartData::new(all.part(all.len() - shown..all.len()))
            },
            body,
            buffer,
            context.theme,
        );
    }
}

/// Converts candles to columns; missing figures become NaN.
pub(super) fn by_column(candles: &[Candle]) -> CandleVec {
    let column = |figure: fn(&Candle) -> Option<f64>| {
        candles
            .iter()
            .map(|candle| figure(candle).unwrap_or(f64::NAN))
            .collect()
    };
    CandleVec {
        timestamp: candles.iter().map(|candle| candle.timestamp.0).collect(),
        open: column(|candle| candle.open),
        high: column(|candle| candle.high),
        low: column(|candle| candle.low),
        close: column(|candle| candle.close),
        volume: column(|candle| candle.volume),
    }
}
