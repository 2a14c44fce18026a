//! Overlays of the chart: trendlines with their touches, patterns as shaded spans, the chosen one with pivots, boundary lines, breakout,
//! target and stop. Maps times and indices of answers to slots of the chart; no market arithmetic.

use super::sheet::style;
use crate::{
    views::prelude::*,
    widgets::candles::{ChartLine, Glyph, Mark, PriceLevel, Span},
};
use analysis::{
    patterns::{Direction, Pattern, PatternDetail, Status},
    trendlines::{LineType, Strength, TrendlineAnswer},
};
use model::{annotations::UserLevel, candles::Candles};

/// The visible candles, grouped into slots.
pub(super) struct Slots<'a> {
    /// All loaded candles.
    pub candles: Candles<'a>,
    pub first: usize,
    /// Exclusive end.
    pub last: usize,
    pub per: usize,
    /// Empty slots at the right.
    pub future: u16,
}

/// Candles of the first slot, as slots are grouped from the last candle.
pub(super) fn lead(candles: usize, per: usize) -> usize {
    match candles % per {
        0 => per,
        rest => rest,
    }
}

impl Slots<'_> {
    /// The fractional slot of a fractional index; the first slot may hold fewer candles than the others.
    pub(super) fn place(&self, index: f64) -> f64 {
        let lead = lead(self.last - self.first, self.per);
        (index - self.first as f64 - lead as f64) / self.per as f64 + 1.0
    }

    /// The slot of a visible candle.
    pub(super) fn slot(&self, index: usize) -> Option<usize> {
        (self.first..self.last)
            .contains(&index)
            .then(|| self.place(index as f64).max(0.0) as usize)
    }

    fn of_time(&self, time: Time) -> Option<usize> {
        self.candles.timestamp.binary_search(&time.0).ok()
    }

    /// The offset from the pattern's candle indices to the sheet's.
    fn shift(&self, pattern: &Pattern, detail: &PatternDetail) -> Option<i64> {
        let from =
            |time: Time, index: usize| self.of_time(time).map(|here| here as i64 - index as i64);
        from(detail.start_time, pattern.start_index)
            .or_else(|| from(detail.end_time, pattern.end_index))
    }
}

/// The overlays: lines, spans, levels and marks.
#[derive(Default)]
pub(super) struct ChartOverlays<'a> {
    pub lines: Vec<ChartLine<'static>>,
    pub spans: Vec<Span<'static>>,
    pub levels: Vec<PriceLevel<'a>>,
    pub marks: Vec<Mark>,
}

impl<'a> ChartOverlays<'a> {
    pub(super) fn trendlines(&mut self, answer: &TrendlineAnswer, slots: &Slots<'_>) {
        let crossing = answer.crossing().unwrap_or(f64::INFINITY);
        for line in &answer.trendlines {
            let ends = line
                .start_time
                .zip(line.end_time)
                .and_then(|(start, end)| slots.of_time(start).zip(slots.of_time(end)));
            let Some((begin, stop)) = ends else { continue };
            // Support under resistance ends where they meet.
            let last = if line.kind == LineType::Regression {
                f64::INFINITY
            } else {
                begin as f64 + crossing
            };
            let touches: Vec<usize> = line
                .touches
                .iter()
                .flatten()
                .filter_map(|touch| slots.of_time(touch.timestamp))
                .collect();
            // A weak line is no more than its touches, and says nothing of what comes.
            let (start, to) = match (line.strength, &touches[..]) {
                (Strength::Weak, [first, .., end]) => (*first, *end as f64),
                (Strength::Weak, _) => (begin, stop as f64),
                _ => (
                    begin,
                    stop as f64 + f64::from(slots.future) * slots.per as f64,
                ),
            };
            let slope = line.slope * slots.per as f64;
            let at_first = line.intercept - slope * slots.place(begin as f64);
            let (from, to) = (slots.place(start as f64), slots.place(to.min(last)));
            if to <= 0.0 || from >= (slots.last - slots.first) as f64 {
                continue;
            }
            let style = style(line.kind);
            let (role, dashed, label) = (style.role, style.dashed, style.label);
            self.lines.push(ChartLine {
                intercept: at_first,
                slope,
                geometric: false,
                from,
                to,
                role,
                dashed,
                label,
            });
            let touches = touches.into_iter().filter_map(|index| slots.slot(index));
            let over = line.kind == LineType::Resistance;
            self.marks.extend(touches.map(|index| Mark {
                index,
                over,
                role,
                glyph: Glyph::Touch,
            }));
        }
    }

    /// Adds every pattern as a shaded span, and the chosen one in full; without target and stop if these are withheld.
    pub(super) fn patterns<'p>(
        &mut self,
        patterns: impl Iterator<Item = &'p Pattern>,
        (chosen, targets): (Option<&Pattern>, bool),
        slots: &Slots<'_>,
    ) {
        for pattern in patterns {
            if let Some(detail) = &pattern.detail
                && let Some(shift) = slots.shift(pattern, detail)
            {
                self.span(pattern, detail, shift, slots);
                if chosen.is_some_and(|chosen| std::ptr::eq(chosen, pattern)) {
                    self.chosen(pattern, detail, shift, slots, targets);
                }
            }
        }
    }

    /// Adds the user's levels, over the whole width.
    pub(super) fn own_levels(&mut self, own: &'a [UserLevel]) {
        self.levels.extend(own.iter().map(|level| PriceLevel {
            price: level.price,
            from: None,
            role: Role::Text,
            label: &level.name,
        }));
    }

    fn span(&mut self, pattern: &Pattern, detail: &PatternDetail, shift: i64, slots: &Slots<'_>) {
        let at = |index: usize| index as i64 + shift;
        let (from, to) = (at(pattern.start_index), at(pattern.end_index));
        if to < slots.first as i64 || from >= slots.last as i64 {
            return;
        }
        let inside = |index: i64| {
            slots
                .place(index.clamp(slots.first as i64, slots.last as i64 - 1) as f64)
                .max(0.0) as usize
        };
        let prices = detail.anchors.iter().map(|anchor| anchor.price);
        let (low, high) = prices.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), price| {
            (low.min(price), high.max(price))
        });
        self.spans.push(Span {
            from: inside(from),
            to: inside(to),
            prices: (low <= high).then_some((low, high)),
            role: role(detail.direction == Direction::Up),
            label: words::shown(pattern.name.word()),
        });
    }

    fn chosen(
        &mut self,
        pattern: &Pattern,
        detail: &PatternDetail,
        shift: i64,
        slots: &Slots<'_>,
        targets: bool,
    ) {
        let place = |index: usize| slots.place((index as i64 + shift) as f64);
        let slot = |index: usize| {
            usize::try_from(index as i64 + shift)
                .ok()
                .and_then(|index| slots.slot(index))
        };
        for segment in &detail.boundary {
            let (from, to) = (place(segment.from.index), place(segment.to.index));
            let slope = (segment.to.price / segment.from.price).ln() / (to - from);
            if to > from && slope.is_finite() {
                let intercept = segment.from.price * (-slope * from).exp();
                self.lines.push(ChartLine {
                    intercept,
                    slope,
                    geometric: true,
                    from,
                    to,
                    role: Role::Warning,
                    dashed: false,
                    label: "",
                });
            }
        }
        for anchor in &detail.anchors {
            let Some(index) = slots.of_time(anchor.timestamp) else {
                continue;
            };
            let over = anchor.price * 2.0 > slots.candles.high[index] + slots.candles.low[index];
            self.marks.extend(slots.slot(index).map(|index| Mark {
                index,
                over,
                role: Role::Warning,
                glyph: Glyph::Anchor,
            }));
        }
        let up = detail.direction == Direction::Up;
        let glyph = if up { Glyph::BreakUp } else { Glyph::BreakDown };
        let breakout = detail.breakout_index.and_then(slot);
        self.marks.extend(breakout.map(|index| Mark {
            index,
            over: up,
            role: role(up),
            glyph,
        }));
        // A pattern that ends beyond the right edge has no target level.
        let label = match detail.status {
            Status::Reached => "target hit",
            Status::Failed => "target, failed",
            Status::Forming | Status::Confirmed => "target",
        };
        if let Some(from) = slot(pattern.end_index).filter(|_| targets) {
            // Their colors tell target from stop, whatever the direction.
            self.levels.push(PriceLevel {
                price: detail.target_price,
                from: Some(from),
                role: Role::Up,
                label,
            });
            // A completed pattern has no stop.
            if !detail.status.is_over() {
                self.levels.push(PriceLevel {
                    price: detail.stop_price,
                    from: Some(from),
                    role: Role::Down,
                    label: "stop",
                });
            }
        }
    }
}

/// Green for up.
fn role(up: bool) -> Role {
    if up { Role::Up } else { Role::Down }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::trendlines::{Touch, Trend, Trendline};

    #[test]
    fn a_weak_line_is_drawn_from_its_first_touch_to_its_last() {
        let times: Vec<i64> = (0..20).collect();
        let candles = Candles {
            timestamp: &times,
            ..Candles::default()
        };
        let slots = Slots {
            candles,
            first: 0,
            last: 20,
            per: 1,
            future: 5,
        };
        let touch = |index: usize| Touch {
            index,
            timestamp: Time(index as i64),
            price: 1.0,
        };
        let drawn = |strength, touches: &[usize]| {
            let line = Trendline {
                slope: 2.0,
                intercept: 3.0,
                r2: 1.0,
                kind: LineType::Support,
                strength,
                start_time: Some(Time(4)),
                end_time: Some(Time(19)),
                end_price: None,
                touches: Some(touches.iter().copied().map(touch).collect()),
            };
            let (trend, confidence) = (Trend::Sideways, 0.5);
            let answer = TrendlineAnswer {
                trendlines: vec![line],
                trend,
                confidence,
                as_of: None,
                why: None,
                significance: None,
            };
            let mut overlays = ChartOverlays::default();
            overlays.trendlines(&answer, &slots);
            let line = overlays.lines[0];
            // The price at candle 6, two after the window's first.
            (line.from, line.to, line.intercept + line.slope * 6.0)
        };
        assert_eq!(drawn(Strength::Weak, &[6, 11]), (6.0, 11.0, 7.0));
        assert_eq!(drawn(Strength::Weak, &[]), (4.0, 19.0, 7.0));
        assert_eq!(drawn(Strength::Moderate, &[6, 11]), (4.0, 24.0, 7.0));
    }

    #[test]
    fn a_candle_is_marked_in_the_slot_it_is_drawn_in() {
        for per in 1..5 {
            let slots = Slots {
                candles: Candles::default(),
                first: 7,
                last: 30,
                per,
                future: 0,
            };
            let groups = (slots.last - slots.first).div_ceil(per);
            for index in slots.first..slots.last {
                // Slots are grouped from the last candle.
                let drawn = groups - 1 - (slots.last - 1 - index) / per;
                assert_eq!(
                    slots.slot(index),
                    Some(drawn),
                    "candle {index}, {per} to a slot"
                );
            }
            assert_eq!((slots.slot(6), slots.slot(30)), (None, None));
        }
    }
}
