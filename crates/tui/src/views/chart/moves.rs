//! Navigation in the chart: panning, zooming, the crosshair, stepping through patterns.

use super::{CANDLES_ASKED, ChartView, patterns::PatternFocus, sheet::Zoom};
use crate::views::prelude::*;
use model::error::Code;
use query::queries::timeframes::timeframes_of;

impl ChartView {
    pub(super) fn step_pattern(&mut self, back: bool, context: &Context<'_>) -> Effect {
        self.patterns.off = false;
        self.patterns.step(back);
        self.seek(context);
        if self.patterns.zoomed() {
            Effect::Redraw
        } else {
            Effect::Say("no pattern to step to".to_owned())
        }
    }

    /// Shows the chosen pattern; candles outside the loaded range are requested first.
    pub(super) fn seek(&mut self, context: &Context<'_>) {
        let ends = self
            .patterns
            .chosen()
            .and_then(|pattern| pattern.detail.as_ref())
            .map(|detail| (detail.start_time, detail.end_time));
        if let Some((start, end)) = ends.filter(|_| self.patterns.zoomed()) {
            self.sought = Some((start, end));
            if self.sheet.index_of(start).is_none() || self.sheet.index_of(end).is_none() {
                self.anchor = Some(Time(end.0 + (end.0 - start.0) / 2));
            }
        }
        self.refresh(context);
    }

    /// Zooms to the pending pattern once its candles have arrived.
    pub(super) fn zoom_to_sought(&mut self) {
        let Some((start, end)) = self.sought else {
            return;
        };
        if let Some((from, to)) = self.sheet.index_of(start).zip(self.sheet.index_of(end)) {
            (self.zoom, self.offset) = self.sheet.around(from, to);
            (self.sought, self.crosshair) = (None, None);
        }
    }

    /// Leaves the pattern and returns to the latest candles.
    pub(super) fn leave_pattern(&mut self) {
        self.patterns.focus = PatternFocus::Latest;
        self.fitted = false;
        self.home();
    }

    pub(super) fn step_timeframe(&mut self, longer: bool) {
        self.choices.timeframe = self.timeframe().step(longer);
        (self.instead, self.stepping) = (None, Some(longer));
        self.passed.clear();
        self.fitted = false;
        self.home();
    }

    /// Switches to the next timeframe with candles if the token has none in this one; returns whether it did. The chosen timeframe stays for
    /// other tokens.
    pub(super) fn pass_over_empty(&mut self, token: &Address, context: &Context<'_>) -> bool {
        let frame = self.frame();
        let is_of_frame = self.candles.progress().is_none()
            && self
                .candles
                .question()
                .is_some_and(|asked| asked.timeframe == frame);
        if !is_of_frame {
            return false;
        }
        let stepped = self.stepping.take();
        let lacks = self
            .candles
            .problem
            .as_ref()
            .is_some_and(|problem| problem.code == Code::NoCandles);
        let there = context
            .snapshot
            .filter(|_| lacks)
            .map_or_else(Vec::new, |snapshot| timeframes_of(snapshot, token));
        if there.is_empty() {
            return false;
        }
        let longer = stepped.unwrap_or(true);
        let has_candles = |frame: Timeframe| there.contains(&frame.word());
        let mut passed = vec![frame];
        let mut next = self.timeframe().step(longer);
        while !has_candles(next) && next.word() != frame {
            passed.push(next.word());
            next = next.step(longer);
        }
        if stepped.is_some() {
            self.choices.timeframe = next;
        } else {
            self.instead = Some(next);
        }
        self.passed = passed;
        self.fitted = false;
        true
    }

    /// Returns to the latest candles.
    pub(super) fn home(&mut self) {
        (self.offset, self.anchor, self.crosshair, self.sought) = (0, None, None, None);
    }

    pub(super) fn zoom_to(&mut self, zoom: Zoom) {
        self.zoom_chosen |= zoom != self.zoom;
        self.zoom = zoom;
        // The offset may now exceed its limit.
        self.pan(0);
    }

    /// Fits the zoom once.
    pub(super) fn fit_first(&mut self) {
        let answered = self
            .candles
            .answer()
            .is_some_and(|answer| answer.timeframe == self.frame());
        if self.fitted || !answered {
            return;
        }
        self.fitted = true;
        self.zoom_chosen &= !self.sheet.is_small();
        self.zoom = self.sheet.first(self.zoom_chosen.then_some(self.zoom));
    }

    /// An eighth of the screen.
    pub(super) fn step(&self) -> usize {
        (self.sheet.shown(self.zoom) / 8).max(1)
    }

    /// Pans `by` candles back in time; negative is forward. Past the loaded range, older or newer candles are requested.
    pub(super) fn pan(&mut self, by: isize) {
        let most = self.sheet.len().saturating_sub(self.sheet.shown(self.zoom));
        let wanted = self.offset as isize + by;
        let whole = self.sheet.len() as u64 >= CANDLES_ASKED;
        if wanted > most as isize && whole && self.offset == most {
            self.anchor = self.sheet.time(self.sheet.shown(self.zoom)).or(self.anchor);
            self.offset = 0;
        } else if wanted < 0 && self.anchor.is_some() {
            self.anchor = None;
            self.offset = 0;
        } else {
            self.offset = wanted.clamp(0, most as isize) as usize;
        }
    }

    pub(super) fn drag_to(&mut self, column: u16) {
        if let Some((from, offset)) = self.drag {
            let columns = i32::from(column) - i32::from(from);
            let by = self.zoom.candles(columns.unsigned_abs() as usize) as isize;
            self.offset = offset;
            self.pan(if columns < 0 { -by } else { by });
        }
    }

    pub(super) fn toggle_crosshair(&mut self) {
        self.crosshair = match self.crosshair {
            Some(_) => None,
            None => self.sheet.len().checked_sub(1 + self.offset),
        };
        self.crosshair_price = None;
    }

    pub(super) fn move_crosshair(&mut self, action: Action) {
        let Some(at) = self.crosshair else { return };
        let step = self.zoom.candles(1).max(1);
        let last = self.sheet.len().saturating_sub(1);
        let at = if action == Action::Left {
            at.saturating_sub(step)
        } else {
            (at + step).min(last)
        };
        self.crosshair = Some(at);
        self.crosshair_price = None;
        // Scrolls to keep the crosshair visible.
        let shown = self.sheet.shown(self.zoom);
        let right = self.sheet.len().saturating_sub(self.offset);
        if at >= right {
            self.offset = self.sheet.len() - 1 - at;
        } else if at + shown < right {
            self.offset = self.sheet.len().saturating_sub(at + shown);
        }
    }

    pub(super) fn point_at(&mut self, column: u16, row: u16) {
        let Some(layout) = &self.layout else { return };
        if let Some(slot) = layout.candle_at(column) {
            self.crosshair = self.sheet.index_of_slot(slot, self.zoom, self.offset);
            self.crosshair_price = layout.price_at(row);
        }
    }
}
