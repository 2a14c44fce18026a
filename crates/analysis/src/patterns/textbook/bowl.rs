//! Search for cups with a handle and rounding bottoms. Their mirrored forms are found on the upside-down view.

use super::{
    View,
    find::{BoundaryLine, tolerance_used},
    name::PatternName as P,
    shape::{PatternShape, ShapeScores},
    zigzag::{Pivot, Turns},
};
use crate::numeric::Line;

/// Minimum height, in median true ranges.
const HEIGHT_LEAST: f64 = 2.0;
/// Maximum difference of the rims, in heights.
const RIMS: f64 = 0.17;
/// Minimum fraction of the closes in the lower half; a V has 0.5.
const LOWER_HALF: f64 = 0.6;
/// Minimum length of a handle, in bars and as a fraction of its cup (O'Neil requires a week after seven): a pause of a candle or two in the
/// rise is no handle.
const HANDLE_LEAST: f64 = 5.0;
const HANDLE_SHARE: f64 = 0.05;

/// All cups and rounding bottoms at one pivot scale of a view. The scale gives the left rim and the low; the rest is read candle by candle,
/// because the handle may be smaller than the noise of the cup.
pub(super) fn search(view: View<'_>, pivots: &[Pivot], found: &mut Vec<PatternShape>) {
    for start in 0..pivots.len().saturating_sub(1) {
        let (rim, low) = (pivots[start], pivots[start + 1]);
        if !rim.high
            || !(rim.fresh || start > 0 && pivots[start - 1].fresh)
            || rim.price - low.price < HEIGHT_LEAST * view.range
        {
            continue;
        }
        let prior = prior(pivots, start);
        let bowl = Bowl {
            view,
            rim,
            low,
            prior,
        };
        bowl.cups(found);
        bowl.roundings(found);
    }
}

/// Prior move into the left rim: positive if the price fell to it, negative if it rose.
fn prior(pivots: &[Pivot], start: usize) -> f64 {
    const FAR: usize = 7;
    let (rim, low) = (pivots[start].price, pivots[start + 1].price);
    let before = pivots[start.saturating_sub(FAR)..start].iter().rev();
    let mut down = 0.0_f64;
    let mut up = 0.0_f64;
    for pivot in before {
        if pivot.high && pivot.price - rim > -up {
            down = down.max(pivot.price - rim);
        }
        if !pivot.high {
            up = up.max(rim - pivot.price);
            if pivot.price < low {
                break;
            }
        }
    }
    if down > 0.0 { down } else { -up }
}

struct Bowl<'a> {
    view: View<'a>,
    rim: Pivot,
    low: Pivot,
    prior: f64,
}

/// Statistics of a rounded shape: R² of a least-squares parabola through the closes, and the fraction of closes in the lower half.
struct Round {
    clarity: f64,
    lower: f64,
}

impl Bowl<'_> {
    fn x(&self, at: usize) -> f64 {
        f64::from(self.view.slot[at] - self.rim.slot)
    }

    fn pivot(&self, at: usize, high: bool) -> Pivot {
        let price = if high {
            self.view.high[at]
        } else {
            self.view.low[at]
        };
        Pivot {
            at: at as u32,
            slot: self.view.slot[at],
            price,
            high,
            fresh: false,
        }
    }

    fn round(&self, to: usize, half: f64) -> Round {
        let (a, b) = (self.rim.at as usize, to);
        let n = (b - a + 1) as f64;
        let closes = &self.view.close[a..=b];
        let xs = || {
            self.view.slot[a..=b]
                .iter()
                .map(|slot| f64::from(slot - self.rim.slot))
        };
        let mean = xs().sum::<f64>() / n;
        let (mut s2, mut s3, mut s4, mut sy, mut lower) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let base = self.rim.price;
        for (x, close) in xs().zip(closes) {
            let u = x - mean;
            let uu = u * u;
            s2 += uu;
            s3 += uu * u;
            s4 += uu * uu;
            sy += close - base;
            lower += f64::from(u8::from(*close < half));
        }
        let middle = sy / n;
        // Quadratic term, orthogonalized against the constant and the linear term.
        let (along, flat) = (s3 / s2, s2 / n);
        let (mut yy, mut y1, mut y2) = (0.0, 0.0, 0.0);
        for (x, close) in xs().zip(closes) {
            let (u, y) = (x - mean, close - base - middle);
            yy += y * y;
            y1 += u * y;
            y2 += (u * u - along * u - flat) * y;
        }
        let q2 = s4 - along * s3 - flat * s2;
        let clarity = if yy > 0.0 && q2 > 0.0 && y2 > 0.0 {
            ((y1 * y1 / s2 + y2 * y2 / q2) / yy).clamp(0.0, 1.0)
        } else {
            0.0
        };
        Round {
            clarity,
            lower: lower / n,
        }
    }

    /// Tries each high as the right rim from which the price retraced by a handle.
    fn cups(&self, found: &mut Vec<PatternShape>) {
        let view = self.view;
        let height = self.rim.price - self.low.price;
        let mut right = self.low.at as usize;
        let longest = 5.0 * self.x(self.low.at as usize) + 5.0;
        let mut tried = usize::MAX;
        for at in self.low.at as usize + 1..view.len() {
            if view.low[at] < self.low.price
                || view.high[right] > self.rim.price + RIMS * height / (1.0 - RIMS)
                || self.x(at) > longest
            {
                break;
            }
            if view.high[at] > view.high[right] {
                right = at;
            } else if right != tried
                && view.high[right] - view.low[at] >= 0.08 * (view.high[right] - self.low.price)
                && view.high[right] - self.rim.price >= -RIMS * height
            {
                tried = right;
                found.extend(self.cup(right));
            }
        }
    }

    fn cup(&self, right: usize) -> Option<PatternShape> {
        let view = self.view;
        let level = view.high[right];
        let height = level - self.low.price;
        let length = self.x(right);
        let middle = self.x(self.low.at as usize) / length;
        let apart = (level - self.rim.price).abs() / height;
        if apart > RIMS || !(0.2..=0.8).contains(&middle) || height < HEIGHT_LEAST * view.range {
            return None;
        }
        let round = self.round(
            right,
            f64::midpoint(level.min(self.rim.price), self.low.price),
        );
        if round.clarity < 0.8 || round.lower < LOWER_HALF || round.clarity - 0.3 * apart < 0.6 {
            return None;
        }
        // The handle: its low within half the cup's duration, then a close above the rim within as long again.
        let mut handle = right + 1;
        let mut end = view.len();
        for at in right + 1..view.len() {
            if self.x(at) - self.x(handle) > length / 2.0 + 5.0 {
                return None;
            }
            if view.close[at] > level {
                end = at;
                break;
            }
            if view.low[at] < view.low[handle] {
                handle = at;
            }
        }
        let retrace = (level - view.low[handle]) / height;
        if !(0.08..=0.55).contains(&retrace)
            || end == right + 1
            || self.x(handle) - length > length / 2.0
        {
            return None;
        }
        let lasts = self.x(end.min(view.len() - 1)) - length;
        if self.x(handle) < 30.0 || lasts < HANDLE_LEAST.max(HANDLE_SHARE * length) {
            return None;
        }
        let worst_use = (apart / RIMS)
            .max(tolerance_used(round.lower, LOWER_HALF, 0.64))
            .max((middle - 0.5).abs() / 0.3)
            .max(tolerance_used(retrace, 0.55, 0.4))
            .max(tolerance_used(retrace, 0.08, 0.12));
        let handle = self.pivot(handle, false);
        let even = 1.0 - 2.0 * (middle - 0.5).abs();
        Some(PatternShape {
            name: P::CupAndHandle,
            turns: Turns::of(&[self.rim, self.low, self.pivot(right, true), handle]),
            start: self.rim.at,
            upper: BoundaryLine::Breaks(Line::level(level)),
            lower: BoundaryLine::Voids(Line::level(level - 0.55 * height)),
            height,
            patience: length / 2.0 + 5.0,
            slack: 0.0,
            live: false,
            usually_up: true,
            scores: ShapeScores {
                clarity: round.clarity,
                fit: 1.0 - worst_use,
                even,
                prior: (self.prior.abs() / height).min(1.0),
            },
        })
    }

    /// The breakout level is the left rim; the right side ends at the first close above it.
    fn roundings(&self, found: &mut Vec<PatternShape>) {
        let view = self.view;
        let level = self.rim.price;
        let height = level - self.low.price;
        if self.prior < 0.15 * height {
            return;
        }
        let fall = self.x(self.low.at as usize);
        let mut highest = self.low.at as usize;
        for at in self.low.at as usize + 1..view.len() {
            if view.low[at] < self.low.price || self.x(at) > fall / 0.28 + 1.0 {
                return;
            }
            if view.close[at] > level {
                found.extend(self.rounding(at - 1, false));
                return;
            }
            if view.high[at] >= view.high[highest] {
                highest = at;
            }
        }
        if view.high[highest] >= level - RIMS * height {
            found.extend(self.rounding(highest, true));
        }
    }

    fn rounding(&self, right: usize, live: bool) -> Option<PatternShape> {
        let level = self.rim.price;
        let height = level - self.low.price;
        let length = self.x(right);
        let middle = self.x(self.low.at as usize) / length;
        if length < 28.0 || !(0.28..=0.72).contains(&middle) {
            return None;
        }
        let round = self.round(right, f64::midpoint(level, self.low.price));
        if round.clarity < 0.88 || round.lower < LOWER_HALF {
            return None;
        }
        let worst_use = tolerance_used(round.clarity, 0.88, 0.92)
            .max(tolerance_used(round.lower, LOWER_HALF, 0.64))
            .max((middle - 0.5).abs() / 0.22);
        let last = self.pivot(right, true);
        Some(PatternShape {
            name: P::RoundingBottom,
            turns: Turns::of(&[self.rim, self.low, last]),
            start: self.rim.at,
            upper: BoundaryLine::Breaks(Line::level(level)),
            lower: BoundaryLine::Voids(Line::level(self.low.price)),
            height,
            patience: length / 2.0 + 5.0,
            slack: 0.0,
            live,
            usually_up: true,
            scores: ShapeScores {
                clarity: round.clarity,
                fit: 1.0 - worst_use,
                even: 1.0 - 2.0 * (middle - 0.5).abs(),
                prior: (self.prior / height).clamp(0.0, 1.0),
            },
        })
    }
}
