//! The Chart view: the selected token's candles and volume with trendlines; zoom, pan, crosshair. It displays the results of the candles,
//! trendline, patterns and indicators queries.

mod card;
mod draw;
mod indicators;
mod known;
mod moves;
mod overlays;
mod patterns;
mod record;
mod sheet;
mod title;

use self::{
    indicators::Studies,
    known::ChartFacts,
    patterns::{ChartPatterns, PatternFocus},
    record::SignalsPane,
    sheet::{ChartSheet, Zoom},
};
use crate::{views::prelude::*, widgets::candles::ChartLayout};
use analysis::indicators::Indicator;
use query::queries::{
    candles::CandlesQuery,
    indicators::IndicatorsQuery,
    patterns::{Explain, PatternsQuery},
    track_record::WholeRecordQuery,
    trendline::{PERIOD_DEFAULT, TrendlineQuery},
};

/// Candles of one request; panning past them requests older ones.
const CANDLES_ASKED: u64 = 5_000;

/// The periods that `[` and `]` step through.
const PERIODS: &[u64] = &[5, 7, 14, 21, 30, 50, 90, 120, 200, 365, 500, 1_000, 5_000];

#[derive(Debug, Clone, PartialEq)]
struct Choices {
    timeframe: Timeframe,
    period: u64,
    log: bool,
    volume: bool,
    lines: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            timeframe: Timeframe::default(),
            period: PERIOD_DEFAULT,
            log: false,
            volume: true,
            lines: true,
        }
    }
}

#[derive(Default)]
pub struct ChartView {
    choices: Choices,
    /// The timeframe shown, where the token has no candles in the one chosen.
    instead: Option<Timeframe>,
    /// The timeframes without candles that were passed over on the way to it.
    passed: Vec<&'static str>,
    /// A step to another timeframe whose candles have not been seen yet: whether to a longer one.
    stepping: Option<bool>,
    zoom: Zoom,
    /// The user chose the zoom, so it stays from token to token.
    zoom_chosen: bool,
    /// The zoom has been fitted to the candles of this token and timeframe.
    fitted: bool,
    /// The moment that the candles are as of; none: the present.
    as_of: Option<Time>,
    /// Scroll offset: candles hidden to the right of the screen.
    offset: usize,
    /// The end time of the requested candles, after panning far back.
    anchor: Option<Time>,
    /// Index of the crosshair's candle in the answer.
    crosshair: Option<usize>,
    crosshair_price: Option<f64>,
    token: Option<Address>,
    candles: ViewQuery<CandlesQuery>,
    trendline: ViewQuery<TrendlineQuery>,
    patterns: ChartPatterns,
    studies: Studies,
    record: SignalsPane,
    known: ChartFacts,
    /// The legend had room for the marks.
    marks_shown: bool,
    /// First and last candle of the pattern to zoom to, until its candles arrive.
    sought: Option<(Time, Time)>,
    sheet: ChartSheet,
    layout: Option<ChartLayout>,
    drag: Option<(u16, usize)>,
}

impl View for ChartView {
    fn refresh(&mut self, context: &Context<'_>) {
        let Some(token) = context.token else { return };
        let as_of = context.as_of();
        if self.token != Some(token) || self.as_of != as_of {
            (self.token, self.as_of) = (Some(token), as_of);
            self.fitted = false;
            self.instead = None;
            self.passed.clear();
            self.home();
            self.candles.clear();
            self.trendline.clear();
            self.patterns.clear();
            self.studies.clear();
        }
        self.candles.refresh(self.candles_query(token), context);
        if self.pass_over_empty(&token, context) {
            self.candles.refresh(self.candles_query(token), context);
        }
        self.known.refresh(token, context);
        self.trendline.refresh(self.trendline_query(token), context);
        self.patterns.refresh(self.patterns_query(token), context);
        self.studies.refresh(self.indicators_query(token), context);
        let question = WholeRecordQuery {
            timeframe: self.frame(),
        };
        self.record.refresh(question, record::signals, context);
        self.sheet.take(self.candles.known.as_ref());
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.record.is_open() {
            return self.record.act(action, Action::TrackRecord);
        }
        match action {
            Action::TrackRecord => self.record.toggle(),
            Action::ZoomIn => self.zoom_to(self.sheet.closer(self.zoom)),
            Action::ZoomOut => self.zoom_to(self.sheet.wider(self.zoom)),
            Action::Left | Action::Right if self.crosshair.is_some() => self.move_crosshair(action),
            Action::Left => self.pan(self.step() as isize),
            Action::Right => self.pan(-(self.step() as isize)),
            Action::PageUp => self.pan(self.sheet.shown(self.zoom).max(1) as isize),
            Action::PageDown => self.pan(-(self.sheet.shown(self.zoom).max(1) as isize)),
            Action::First => self.pan(isize::MAX / 2),
            Action::Last => self.home(),
            Action::Crosshair => self.toggle_crosshair(),
            Action::Back if self.crosshair.is_some() => self.crosshair = None,
            Action::Back if self.patterns.explained() => self.patterns.focus = PatternFocus::Zoomed,
            Action::Back if self.patterns.zoomed() => self.leave_pattern(),
            Action::Timeframe | Action::TimeframeBack => {
                self.step_timeframe(action == Action::Timeframe);
            }
            Action::PeriodLonger => {
                self.choices.period = PERIODS
                    .iter()
                    .copied()
                    .find(|p| *p > self.choices.period)
                    .unwrap_or(self.choices.period);
            }
            Action::PeriodShorter => {
                self.choices.period = PERIODS
                    .iter()
                    .rev()
                    .copied()
                    .find(|p| *p < self.choices.period)
                    .unwrap_or(self.choices.period);
            }
            Action::LogScale => self.choices.log = !self.choices.log,
            Action::Volume => self.choices.volume = !self.choices.volume,
            Action::Trendlines => self.choices.lines = !self.choices.lines,
            Action::Patterns => self.patterns.off = !self.patterns.off,
            Action::Open if self.patterns.chosen().is_some() => {
                self.patterns.explain();
                self.seek(context);
                return Effect::Redraw;
            }
            Action::NextPattern | Action::Down => return self.step_pattern(false, context),
            Action::PreviousPattern | Action::Up => return self.step_pattern(true, context),
            Action::Reversals
            | Action::Triangles
            | Action::Channels
            | Action::Flags
            | Action::Roundings => {
                self.patterns.toggle_family(action);
                self.refresh(context);
                self.seek(context);
            }
            Action::CopyValue => return self.copy_value(),
            _ => return Effect::Pass,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if self.record.is_open() {
            return self.record.mouse(mouse);
        }
        if self.patterns.mouse(mouse) {
            self.seek(context);
            return Effect::Redraw;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.zoom_to(self.sheet.closer(self.zoom)),
            MouseEventKind::ScrollDown => self.zoom_to(self.sheet.wider(self.zoom)),
            MouseEventKind::Down(MouseButton::Left) => {
                self.drag = Some((mouse.column, self.offset));
            }
            MouseEventKind::Drag(MouseButton::Left) => self.drag_to(mouse.column),
            MouseEventKind::Up(MouseButton::Left) => {
                let moved = self
                    .drag
                    .take()
                    .is_some_and(|(column, _)| column != mouse.column);
                if !moved {
                    self.point_at(mouse.column, mouse.row);
                }
            }
            _ => return Effect::Nothing,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn as_of(&self) -> Option<Time> {
        self.candles.known.as_ref()?.as_of
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        if self.record.is_open() {
            let timeframe = self.frame();
            return record::draw(&mut self.record, buffer, area, timeframe, context);
        }
        // A token without candles has no patterns to list either.
        let (area, list) = if self.candles.problem.is_some() {
            (area, Rect::default())
        } else {
            self.patterns.divide(area)
        };
        if !area.is_empty() {
            self.draw_chart(buffer, area, context);
        }
        if !list.is_empty() && !self.sheet.is_empty() {
            let rest = self
                .patterns
                .draw(buffer, list, self.trendline.answer(), context);
            let marks = if self.marks_shown {
                String::new()
            } else {
                self.sheet
                    .marks(context.ascii)
                    .collect::<Vec<_>>()
                    .join("  ")
            };
            self.known.draw(buffer, rest, &marks, context);
        }
    }

    fn can_show(&self, token: &Address, context: &Context<'_>) -> bool {
        summary(context, token).is_some_and(|token| token.last_candle.is_some())
    }

    fn pointed_price(&self) -> Option<f64> {
        self.crosshair_price
            .or(self.pointed().map(|column| column.close))
            .filter(|price| price.is_finite())
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(CandlesQuery::NEEDS)
    }

    fn request(&self, context: &Context<'_>) -> Option<HttpRequest> {
        let token = context.token?;
        if self.record.is_open() {
            return self.record.request();
        }
        Some(if self.patterns.zoomed() {
            HttpRequest::of(&self.patterns_query(token))
        } else if self.studies.chosen().is_empty() {
            HttpRequest::of(&self.trendline_query(token))
        } else {
            HttpRequest::of(&self.indicators_query(token))
        })
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        if self.record.is_open() {
            return Some(self.record.export("track-record"));
        }
        let answer = self.candles.answer()?;
        let candle_columns = ["timestamp", "open", "high", "low", "close", "volume"];
        let columns: Vec<&str> = candle_columns
            .into_iter()
            .chain(self.studies.columns())
            .collect();
        let rows = answer.candles.iter().map(|candle| {
            let row = serde_json::to_value(candle).unwrap_or_default();
            candle_columns
                .iter()
                .map(|column| row[*column].clone())
                .chain(self.studies.written(candle.timestamp))
                .collect()
        });
        let symbol = symbol_of(context, &answer.token_address).to_lowercase();
        let selected = self.crosshair.or(answer.candles.len().checked_sub(1));
        Some(Export::of(
            format!("{symbol}-candles-{}", answer.timeframe),
            &columns,
            rows.collect(),
            selected,
        ))
    }

    fn indicators(&self) -> Option<&[Indicator]> {
        Some(self.studies.chosen())
    }

    fn choose_indicators(&mut self, chosen: Vec<Indicator>, context: &Context<'_>) {
        self.studies.choose(chosen);
        self.refresh(context);
    }

    fn save(&self) -> Json {
        let Choices {
            timeframe,
            period,
            log,
            volume,
            lines,
        } = self.choices;
        let patterns = self.patterns.save();
        json!({
            "timeframe": timeframe.word(), "period": period, "log": log, "volume": volume, "lines": lines, "patterns": patterns,
            "indicators": self.studies.save(),
        })
    }

    fn restore(&mut self, kept: &Json) {
        let choices = &mut self.choices;
        choices.timeframe = kept["timeframe"]
            .as_str()
            .and_then(Timeframe::parse)
            .unwrap_or(choices.timeframe);
        choices.period = kept["period"]
            .as_u64()
            .filter(|period| (2..=1_000_000).contains(period))
            .unwrap_or(choices.period);
        for (name, choice) in [
            ("log", &mut choices.log),
            ("volume", &mut choices.volume),
            ("lines", &mut choices.lines),
        ] {
            *choice = kept[name].as_bool().unwrap_or(*choice);
        }
        self.patterns.restore(&kept["patterns"]);
        self.studies.restore(&kept["indicators"]);
    }
}

impl ChartView {
    fn candles_query(&self, token: Address) -> CandlesQuery {
        CandlesQuery {
            token_address: token,
            timeframe: self.frame(),
            from: None,
            to: self.anchor,
            limit: CANDLES_ASKED,
        }
    }

    fn trendline_query(&self, token: Address) -> TrendlineQuery {
        TrendlineQuery {
            contract_address: token,
            period: self.choices.period,
            timeframe: Some(self.frame()),
            explain: true,
        }
    }

    fn patterns_query(&self, token: Address) -> PatternsQuery {
        PatternsQuery {
            contract_address: token,
            timeframe: self.frame(),
            explain: Explain::Levels,
            include: "all",
        }
    }

    fn indicators_query(&self, token: Address) -> IndicatorsQuery {
        self.studies
            .question(token, self.frame(), self.anchor, CANDLES_ASKED)
    }

    fn frame(&self) -> &'static str {
        self.timeframe().word()
    }

    fn timeframe(&self) -> Timeframe {
        self.instead.unwrap_or(self.choices.timeframe)
    }

    /// Copies the close shown in the title.
    fn copy_value(&self) -> Effect {
        match self
            .pointed()
            .map(|column| column.close)
            .filter(|close| close.is_finite())
        {
            Some(close) => Effect::Copy(close.to_string(), "close"),
            None => Effect::Pass,
        }
    }
}

#[cfg(test)]
mod tests;
