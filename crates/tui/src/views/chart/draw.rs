//! Draws the chart with its title, warnings and legend.

use super::{
    CANDLES_ASKED, ChartView,
    sheet::{self, CandleColumn},
    title::Title,
};
use crate::zone::DisplayZone;
use crate::{views::prelude::*, widgets::candles::Crosshair};
use model::error::Code;
use query::queries::candles::TokenCandles;

/// Width from which the credit of those who gave the candles has room beside the title.
const CREDIT_FROM: u16 = 80;

impl ChartView {
    pub(super) fn draw_chart(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        // The first row is the title's, the last the legend's.
        let chart = Rect {
            y: area.y.saturating_add(1).min(area.bottom()),
            height: area.height.saturating_sub(2),
            ..area
        };
        self.sheet.set_area(chart);
        self.fit_first();
        self.zoom_to_sought();
        let credit = context.service.credit_of_candles().join(" · ");
        let for_credit = if credit.is_empty() || area.width < CREDIT_FROM {
            0
        } else {
            text::width(&credit) + 5
        };
        let title = self.title(
            context,
            usize::from(area.width.saturating_sub(4)).saturating_sub(for_credit),
        );
        let asked = self.candles.progress().map(|(done, total)| {
            if total > 0 {
                done as f64 / total as f64
            } else {
                0.0
            }
        });
        let rule = Panel {
            progress: asked.map(Some),
            note: &credit,
            ..Panel::new(&title)
        };
        let body = rule.render(area, buffer, theme);
        if let Some(problem) = &self.candles.problem {
            panel::failure(body, buffer, theme, &problem.detail);
            if problem.code == Code::NoCandles {
                put_wrapped(buffer, body, 2, 2, CANDLES_FROM, 3, theme.dim());
            }
            return;
        }
        if self.sheet.is_empty() {
            if self.candles.answer().is_some() {
                put(
                    buffer,
                    body,
                    1,
                    1,
                    &format!("no {} candles", self.frame()),
                    theme.dim(),
                );
            } else {
                progress::skeleton(body, buffer, theme);
            }
            return;
        }
        let chart = self.draw_passed(buffer, chart, context);
        let chart = draw_stale(self.candles.answer(), buffer, chart, context);
        let (chart, legend) = self.room_for_legend(chart);
        let crosshair = self.crosshair.map(|candle| Crosshair {
            candle,
            price: self.crosshair_price,
        });
        let lines = self.trendline.answer().filter(|_| self.choices.lines);
        let view = sheet::ChartWindow {
            zoom: self.zoom,
            offset: self.offset,
            crosshair,
            log: self.choices.log,
            volume: self.choices.volume,
        };
        let own = self
            .token
            .and_then(|token| context.annotations.get(&token))
            .map_or(&[][..], |own| &own.levels);
        let layout = self.sheet.draw(
            buffer,
            chart,
            &view,
            (lines, own),
            (&self.patterns, &self.studies),
            context,
        );
        self.draw_studies(buffer, legend, layout.panes(), context);
        self.layout = Some(layout);
        self.marks_shown = self.draw_legend(
            buffer,
            Rect {
                y: body.y + body.height.saturating_sub(1),
                height: 1.min(body.height),
                ..body
            },
            context,
        );
    }

    /// Splits off the chart's first row for the legend of the indicators.
    fn room_for_legend(&self, chart: Rect) -> (Rect, Rect) {
        let lines = if self.studies.has_legend() {
            chart.height.min(1)
        } else {
            0
        };
        (
            below(chart, lines),
            Rect {
                height: lines,
                ..chart
            },
        )
    }

    fn draw_studies(&self, buffer: &mut Buffer, row: Rect, panes: usize, context: &Context<'_>) {
        let at = self
            .crosshair
            .or(self.sheet.len().checked_sub(1 + self.offset))
            .and_then(|candle| self.sheet.time(candle));
        let mut x = 0;
        for (piece, role) in self.studies.legend(at, panes) {
            x += put(buffer, row, x, 0, &piece, context.theme.style(role));
        }
    }

    /// Says which timeframes without candles were passed over; returns the remaining area.
    fn draw_passed(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> Rect {
        if self.passed.is_empty() {
            return area;
        }
        let says = format!(
            "no {} candles; showing {} instead",
            self.passed.join(", "),
            self.frame()
        );
        put(
            buffer,
            area,
            1,
            0,
            &says,
            context.theme.style(Role::Warning),
        );
        below(area, area.height.min(1))
    }

    /// The title text, or that there are no candles.
    fn title(&self, context: &Context<'_>, cells: usize) -> String {
        let symbol = self
            .token
            .map_or_else(String::new, |token| symbol_of(context, &token));
        let frame = self.frame();
        let Some(answer) = self.candles.answer() else {
            return format!("{symbol} · {frame}");
        };
        let count = match answer.candles.len() as u64 {
            0 => "no candles".to_owned(),
            count => plural(count, "candle", "candles"),
        };
        if self.sheet.is_empty() {
            return format!("{symbol} · {frame} · {count}");
        }
        // The chart has stored and resampled candles, possibly from two sources.
        let (frame, count) = match answer.made {
            Some((made, from)) => (
                &*format!("{frame}+{from}"),
                format!("{count}, {} built from {from}", format::count(made as u64)),
            ),
            None => (frame, count),
        };
        let source = match answer.sources.as_slice() {
            [] => None,
            [source] => Some(source.clone()),
            [.., last] => Some(format!("{last} +{}", answer.sources.len() - 1)),
        };
        let title = Title {
            symbol: &symbol,
            source: source.as_deref(),
            frame,
            column: self.zoom.column_text(frame),
            log: self.choices.log,
            count: &count,
            at: self.pointed().map(|at| {
                let zone = if self.timeframe().is_in_days() {
                    DisplayZone::default()
                } else {
                    context.zone
                };
                CandleColumn {
                    time: zone.local(at.time),
                    ..at
                }
            }),
            crosshair: self.crosshair.is_some(),
            dates: self.timeframe().is_in_days(),
        };
        title.text(cells)
    }

    /// The column under the crosshair, or the last one on screen.
    pub(super) fn pointed(&self) -> Option<CandleColumn> {
        let at = self
            .crosshair
            .or(self.sheet.len().checked_sub(1 + self.offset))?;
        self.sheet.column(at, self.zoom, self.offset)
    }

    /// `last 14 candles`, or `last 58 of 5000 candles` where only 58 exist to fit the lines to.
    fn period(&self) -> String {
        let period = self.choices.period;
        let there = self
            .candles
            .answer()
            .map(|answer| answer.candles.len() as u64);
        // After panning back, older candles than those of the period are loaded, but the lines cover the latest.
        match there.filter(|there| *there < period.min(CANDLES_ASKED) && self.anchor.is_none()) {
            Some(there) => format!("last {there} of {period} candles"),
            None => format!("last {period} candles"),
        }
    }

    /// Draws the legend under the chart: the trend, each line with its strength, touches and slope as space allows, and the meaning of the
    /// marks. Returns whether these had room.
    fn draw_legend(&self, buffer: &mut Buffer, row: Rect, context: &Context<'_>) -> bool {
        let theme = context.theme;
        let mut x = 1;
        if let Some(problem) = &self.trendline.problem {
            put(
                buffer,
                row,
                x,
                0,
                &problem.detail,
                theme.style(Role::Warning),
            );
            return false;
        }
        let marks: Vec<String> = self.sheet.marks(context.ascii).collect();
        // Each after a gap, and a wider one before the first.
        let marks_cells = marks
            .iter()
            .map(|mark| 2 + text::width(mark))
            .sum::<usize>()
            + 1;
        if let Some(answer) = self.trendline.answer() {
            // Line names take precedence over the wording of the trend; the marks are dropped first.
            let (short, named) = (
                sheet::legends_width(&sheet::legends(answer, 0)),
                sheet::named_width(answer),
            );
            let trend = |beside: usize| {
                let beside = if self.choices.lines { beside } else { 0 };
                sheet::trend(
                    answer,
                    &self.period(),
                    usize::from(row.width).saturating_sub(beside + 1),
                )
            };
            let (word, role) = trend(named);
            let fits = text::width(&word) + named < usize::from(row.width);
            let (word, role) = if fits { (word, role) } else { trend(short) };
            x += put(buffer, row, x, 0, &word, theme.style(role));
            let room = usize::from(row.width.saturating_sub(x));
            let room = if fits {
                room.saturating_sub(marks_cells).max(named)
            } else {
                room
            };
            let (legends, gap) = sheet::legends(answer, room);
            for legend in legends.iter().filter(|_| self.choices.lines) {
                x += gap as u16;
                x += put(buffer, row, x, 0, &legend.name, theme.style(legend.role));
                x += 1 + put(buffer, row, x + 1, 0, &legend.says, theme.dim());
            }
        }
        x += 1;
        for mark in marks {
            if usize::from(row.width) < usize::from(x) + 2 + text::width(&mark) {
                return false;
            }
            x += 2 + put(buffer, row, x + 2, 0, &mark, theme.dim());
        }
        true
    }
}

/// What brings candles of a token that has none.
const CANDLES_FROM: &str = "To get candles, press : and type `import FILE` for a file of prices or trades, or `add TOKEN` to fetch them \
    from a data provider.";

/// Draws a warning if the token's candles, or those of the timeframe, end long before others'; returns the remaining area.
fn draw_stale(
    answer: Option<&TokenCandles>,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> Rect {
    let token = context.token.and_then(|token| summary(context, &token));
    let of_token = token
        .and_then(|token| token.last_candle)
        .and_then(|last| Some((last, last.behind?)));
    let of_frame = answer.and_then(|answer| Some((answer.timeframe, answer.stale?)));
    let (last, interval, lag, frame) = match (of_token, of_frame) {
        (Some((last, lag)), _) => (last.start, last.interval.to_string(), lag, String::new()),
        (None, Some((frame, (start, lag)))) => (start, frame.to_owned(), lag, format!("{frame} ")),
        (None, None) => return area,
    };
    let (start, age, clock) = (
        format::candle_time(last),
        format::age(lag.by),
        lag.clock.words(&interval),
    );
    let says = [
        format!("stale: the last {frame}candle started {start}, {age} behind {clock}"),
        format!("stale: the last {frame}candle started {start}, {age} late"),
        format!("stale: last {frame}candle {start}"),
        "stale candles".to_owned(),
    ];
    let says = text::longest_that_fits(says, usize::from(area.width.saturating_sub(1)));
    put(
        buffer,
        area,
        1,
        0,
        &says,
        context.theme.style(Role::Warning),
    );
    Rect {
        y: area.y + area.height.min(1),
        height: area.height.saturating_sub(1),
        ..area
    }
}
