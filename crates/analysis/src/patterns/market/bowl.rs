//! Candidate search for cups with a handle and rounding bottoms. Their mirrored forms are found in the upside-down prices.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, PatternEnd},
    find::tolerance_used,
    measure_table::bowl,
    pivots::PivotScale,
    search::Candidates,
    series::LogPrices,
    zigzag::{Pivot, Turns},
};
use crate::numeric::Line;

/// Number of segments a bowl is divided into to fit its curve.
const PARTS: usize = 12;
/// Maximum number of turns in which the right rim is searched for.
const TURNS: usize = 12;

/// Maximum offset of the low from the middle between the rims; nineteen of twenty roundings and cups that chartists draw have less.
const OFF_MIDDLE_MOST: f64 = 0.3;
/// Minimum fraction of a rounding's segments near its lowest one: a V has fewer, and one of twenty that chartists draw.
const NEAR_LOW_LEAST: f64 = 0.33;

/// All bowls at one pivot scale.
pub(super) fn search(
    prices: &LogPrices,
    pivots: &[Pivot],
    scale: &PivotScale,
    found: &mut Candidates<'_>,
) {
    if scale.theta < 1.4 {
        return;
    }
    for start in 0..pivots.len() {
        let rim = pivots[start];
        if !rim.high {
            continue;
        }
        let mut low = None::<Pivot>;
        let mut passed = false;
        for next in &pivots[start + 1..pivots.len().min(start + 1 + TURNS)] {
            if !next.high {
                if low.is_none_or(|low| next.price < low.price) {
                    low = Some(*next);
                }
                // Tries the next high as the right rim.
                continue;
            }
            let Some(low) = low else { continue };
            if next.at - rim.at > 115 {
                break;
            }
            propose(prices, rim, low, *next, found);
            if next.price > rim.price + 0.5 * (rim.price - low.price) {
                passed = true;
                break;
            }
        }
        if let (Some(low), false) = (low, passed) {
            live(prices, rim, low, found);
        }
    }
}

/// A bowl that has risen again without a turn, up to the last candle.
fn live(prices: &LogPrices, rim: Pivot, low: Pivot, found: &mut Candidates<'_>) {
    let last = prices.len() - 1;
    if last - rim.at as usize > 115 || (low.at as usize) + 2 >= last {
        return;
    }
    if prices.close[last] > low.price + 0.6 * (rim.price - low.price) {
        let price = prices.high[last];
        propose(prices, rim, low, Pivot::new(last, price, true), found);
    }
}

/// Least-squares parabola through the mean closes of twelve equal segments.
struct ParabolaFit {
    bend: f64,
    r2: f64,
    /// Fraction of the segments near the lowest one.
    near_low: f64,
    /// Position of the lowest segment, 0 to 1.
    lowest_at: f64,
}

fn fit_parabola(prices: &LogPrices, a: usize, b: usize) -> ParabolaFit {
    let length = (b - a + 1) as f64;
    let mut parts = [0.0; PARTS];
    for (k, part) in parts.iter_mut().enumerate() {
        let from = a + (length * k as f64 / PARTS as f64) as usize;
        let to = (a + (length * (k + 1) as f64 / PARTS as f64) as usize).max(from + 1) - 1;
        *part = prices.mean_close(from, to.min(b));
    }
    let mean = parts.iter().sum::<f64>() / PARTS as f64;
    let middle = (PARTS - 1) as f64 / 2.0;
    let (mut s2, mut s4) = (0.0, 0.0);
    for k in 0..PARTS {
        let u = (k as f64 - middle) / middle;
        s2 += u * u;
        s4 += u.powi(4);
    }
    let flat = s2 / PARTS as f64;
    let (mut yy, mut y1, mut y2) = (0.0, 0.0, 0.0);
    for (k, part) in parts.iter().enumerate() {
        let (u, y) = ((k as f64 - middle) / middle, part - mean);
        yy += y * y;
        y1 += u * y;
        y2 += (u * u - flat) * y;
    }
    let q2 = s4 - flat * s2;
    let bend = y2 / q2;
    let r2 = if yy > 0.0 {
        (y1 * y1 / s2 + y2 * y2 / q2) / yy
    } else {
        0.0
    };
    let (lowest, highest) = parts
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), part| {
            (low.min(*part), high.max(*part))
        });
    let near_low = parts
        .iter()
        .filter(|part| **part < lowest + 0.4 * (highest - lowest))
        .count() as f64
        / PARTS as f64;
    let lowest_at =
        parts.iter().position(|part| *part == lowest).unwrap_or(0) as f64 / (PARTS - 1) as f64;
    ParabolaFit {
        bend,
        r2,
        near_low,
        lowest_at,
    }
}

fn propose(prices: &LogPrices, rim: Pivot, low: Pivot, right: Pivot, found: &mut Candidates<'_>) {
    let (a, c) = (rim.at as usize, right.at as usize);
    let length = c - a;
    let height = f64::midpoint(rim.price, right.price) - low.price;
    let range = prices.range[low.at as usize];
    if length < 10 || height <= 1.6 * range {
        return;
    }
    let place = low.x(rim.at) / length as f64;
    if (place - 0.5).abs() > OFF_MIDDLE_MOST {
        return;
    }
    let apart = (right.price - rim.price) / height;
    if !(-0.55..=0.8).contains(&apart) {
        return;
    }
    let bowl = Bowl {
        prices,
        rim,
        low,
        right,
        height,
        apart,
        place,
    };
    // If the right side rises above the left rim, the bowl ends at the first close above it; if it turns below, at the first close near the
    // lower rim.
    let first_over = |level: f64| (low.at as usize + 1..=c).find(|&at| prices.close[at] > level);
    let over = first_over(rim.price);
    let lower_rim = rim.price.min(right.price) - 0.1 * height;
    let live = c == prices.len() - 1;
    match (over, live) {
        (Some(at), _) => bowl.rounding(PatternEnd { at, broken: true }, rim.price, found),
        (None, true) => bowl.rounding(
            PatternEnd {
                at: c,
                broken: false,
            },
            rim.price,
            found,
        ),
        (None, false) => {
            if let Some(at) = first_over(lower_rim) {
                bowl.rounding(PatternEnd { at, broken: true }, lower_rim, found);
            }
        }
    }
    if over.is_none_or(|at| at + 1 >= c) && apart.abs() < 0.5 {
        bowl.cup(found);
    }
}

/// A bowl: the decline from the left rim to the low, and the rise to the right rim.
struct Bowl<'a> {
    prices: &'a LogPrices,
    rim: Pivot,
    low: Pivot,
    right: Pivot,
    height: f64,
    /// Right rim minus left rim, in heights.
    apart: f64,
    /// Position of the low between the rims, 0 to 1.
    place: f64,
}

impl Bowl<'_> {
    /// Measures shared by both kinds; `None` if the shape is no bowl.
    fn measures(&self, end: usize) -> Option<[f64; OWN]> {
        let a = self.rim.at as usize;
        let parabola = fit_parabola(self.prices, a, end);
        if end - a < 10 || parabola.bend <= 0.0 || parabola.r2 < 0.25 {
            return None;
        }
        let mut own = [0.0; OWN];
        own[bowl::RIM_CHANGE] = self.apart;
        own[bowl::RIM_DIFFERENCE] = self.apart.abs();
        own[bowl::OFF_MIDDLE] = (self.place - 0.5).abs();
        own[bowl::BEND] = parabola.bend / self.height;
        own[bowl::PARABOLA_R2] = parabola.r2;
        own[bowl::TIME_NEAR_LOW] = parabola.near_low;
        own[bowl::DEEPEST_OFF_MIDDLE] = (parabola.lowest_at - 0.5).abs();
        own[bowl::TOLERANCE_USED] = (own[bowl::RIM_DIFFERENCE] / 0.17)
            .max(own[bowl::OFF_MIDDLE] / 0.25)
            .max(tolerance_used(own[bowl::PARABOLA_R2], 0.85, 0.95))
            .max(tolerance_used(own[bowl::TIME_NEAR_LOW], 0.5, 0.6));
        Some(own)
    }

    fn candidate(
        &self,
        kind: CandidateKind,
        turns: &[Pivot],
        end: PatternEnd,
        level: f64,
        own: [f64; OWN],
    ) -> PatternCandidate {
        PatternCandidate {
            kind,
            flipped: false,
            turns: Turns::of(turns),
            start: self.rim.at,
            end: end.at as u32,
            broken: end.broken,
            up: true,
            upper: Line::level(level),
            lower: Line::level(self.low.price),
            height: self.height,
            own,
        }
    }

    fn rounding(&self, end: PatternEnd, level: f64, found: &mut Candidates<'_>) {
        let Some(mut own) = self
            .measures(end.at)
            .filter(|own| own[bowl::TIME_NEAR_LOW] >= NEAR_LOW_LEAST)
        else {
            return;
        };
        own[bowl::OVER_LEFT_RIM] = f64::from(u8::from(end.broken && level >= self.rim.price));
        let end_turn = Pivot::new(end.at, self.prices.high[end.at], true);
        found.push(&self.candidate(
            CandidateKind::Rounding,
            &[self.rim, self.low, end_turn],
            end,
            level,
            own,
        ));
    }

    fn cup(&self, found: &mut Candidates<'_>) {
        let (prices, c, height) = (self.prices, self.right.at as usize, self.height);
        let mut measured = None;
        let length = self.right.x(self.rim.at);
        let last = prices.len() - 1;
        let limit = last.min(c + (0.6 * length) as usize + 4);
        let mut handle = c;
        let levels = [
            self.right.price,
            self.rim.price.max(self.right.price) - 0.1 * height,
        ];
        let mut done = [false; 2];
        let mut before = usize::MAX;
        for at in c + 1..=limit {
            if handle == c || prices.low[at] < prices.low[handle] {
                handle = at;
            }
            let depth = (self.right.price - prices.low[handle]) / height;
            if depth > 0.65 || done[0] && done[1] {
                return;
            }
            for (k, level) in levels.iter().enumerate() {
                let broken = prices.close[at] > *level;
                let live = at == last && k == 0 && !broken && prices.close[at] > prices.low[handle];
                if done[k] || !(broken || live) || at < c + 2 {
                    continue;
                }
                done[k] = true;
                if depth < 0.06 || before == at {
                    continue;
                }
                before = at;
                let Some(mut own) = *measured.get_or_insert_with(|| self.measures(c)) else {
                    return;
                };
                own[bowl::HANDLE_DEPTH] = depth;
                own[bowl::HANDLE_TIME] = (at - c) as f64 / length;
                own[bowl::EARLY_BREAKOUT] = k as f64;
                own[bowl::TOLERANCE_USED] = own[bowl::TOLERANCE_USED]
                    .max(tolerance_used(depth, 0.55, 0.4))
                    .max(tolerance_used(depth, 0.08, 0.12));
                let turns = [
                    self.rim,
                    self.low,
                    self.right,
                    Pivot::new(handle, prices.low[handle], false),
                ];
                found.push(&self.candidate(
                    CandidateKind::Cup,
                    &turns,
                    PatternEnd { at, broken },
                    *level,
                    own,
                ));
            }
        }
    }
}
