//! Candidate search for patterns between two lines: rectangles, channels, wedges, triangles, broadening formations. Fits two lines to runs
//! of turns; their slopes give the kind.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, PatternEnd},
    find::tolerance_used,
    measure_table::lines,
    pivots::PivotScale,
    search::{CandidateSpan, Candidates},
    series::LogPrices,
    side::{Fitted, PivotSide},
    zigzag::{Pivot, TURNS_MOST, Turns},
};

/// Maximum mean swing, relative to that of a random walk of the same length.
const WIDEST: f64 = 1.15;

/// Maximum number of candles from the first turn to the last.
const LONGEST: u32 = 120;

/// All runs of turns at one scale, searched in the upright prices only.
pub(super) fn search(prices: &LogPrices, scale: &PivotScale, found: &mut Candidates<'_>) {
    let pivots = &scale.pivots;
    let mut sides = [PivotSide::new(-1.0), PivotSide::new(1.0)];
    for start in 0..pivots.len().saturating_sub(3) {
        let first = pivots[start];
        let least = scale.new_from(start);
        if least > TURNS_MOST
            || pivots
                .get(start + least - 1)
                .is_none_or(|turn| turn.at - first.at > LONGEST)
        {
            continue;
        }
        let mut off = 0.0;
        sides.iter_mut().for_each(PivotSide::clear);
        for count in 1..=TURNS_MOST {
            let Some(run) = pivots.get(start..start + count) else {
                break;
            };
            let last = run[count - 1];
            let length = last.at - first.at;
            if length > LONGEST {
                break;
            }
            sides[usize::from(last.high)].push(last, first.at);
            if count < 3 {
                continue;
            }
            off += swing(&run[count - 3..]);
            if count >= 4 && length >= 6 && scale.is_new(start, count) {
                propose(prices, run, &sides, off / (count - 2) as f64, found);
            }
        }
    }
}

/// Vertical distance of the middle of three turns from the straight line between the others.
fn swing(three: &[Pivot]) -> f64 {
    let share = three[1].x(three[0].at) / three[2].x(three[0].at);
    (three[1].price - three[0].price - share * (three[2].price - three[0].price)).abs()
}

/// Proposes the patterns that two lines through a run form; its turns swing by `height` on average.
fn propose(
    prices: &LogPrices,
    run: &[Pivot],
    sides: &[PivotSide; 2],
    height: f64,
    found: &mut Candidates<'_>,
) {
    let Some(channel) = Channel::fit(prices, run, sides, height) else {
        return;
    };
    let kinds = kinds(channel.up, channel.down, channel.narrowing);
    if kinds.iter().all(Option::is_none) {
        return;
    }
    let Some((end, over)) = channel.end(prices, run) else {
        return;
    };
    let first = run[0];
    let span = CandidateSpan {
        start: first.at,
        end: end.at as u32,
        broken: end.broken,
        height: channel.width,
    };
    let mut own = channel.measures(run.len());
    for (kind, flipped) in kinds.into_iter().flatten() {
        let (up, down) = if flipped {
            (-channel.down, -channel.up)
        } else {
            (channel.up, channel.down)
        };
        own[lines::UPPER_RISE] = up;
        own[lines::LOWER_RISE] = down;
        own[lines::BROKE_UP] = f64::from(u8::from(over != flipped));
        own[lines::TOLERANCE_USED] = most_tolerance_used(kind, (up, down), channel.narrowing);
        found.offer(kind, flipped, span, &own, || {
            let shape = PatternCandidate {
                kind,
                flipped: false,
                turns: Turns::of(run),
                start: first.at,
                end: end.at as u32,
                broken: end.broken,
                up: if end.broken {
                    over
                } else {
                    expected(
                        prices,
                        kind,
                        flipped,
                        first.at as usize,
                        run[run.len() - 1].high,
                    )
                },
                upper: channel.upper.line,
                lower: channel.lower.line,
                height: channel.width,
                own,
            };
            if flipped { shape.mirrored() } else { shape }
        });
    }
}

/// Two lines fitted to a run of turns.
struct Channel {
    upper: Fitted,
    lower: Fitted,
    /// Number of candles from the first turn to the last.
    length: f64,
    /// Mean width.
    width: f64,
    /// Rise of the upper line, and of the lower one, in mean widths.
    up: f64,
    down: f64,
    /// Last width over the first.
    narrowing: f64,
}

impl Channel {
    /// Returns `None` if the lines are too close, too far apart or touched too rarely.
    fn fit(prices: &LogPrices, run: &[Pivot], sides: &[PivotSide; 2], height: f64) -> Option<Self> {
        let (first, last) = (run[0], run[run.len() - 1]);
        let length = last.x(first.at);
        let range = prices.range[last.at as usize];
        // Chartists draw neither lines that single candles fill, nor swings as wide as those of a random walk of that length.
        let random_walk = prices.mean_range(first.at as usize, last.at as usize) * length.sqrt();
        if height / range <= 0.9 || height / random_walk > WIDEST {
            return None;
        }
        let tolerance = (0.12 * height).max(0.15 * range);
        let [lower, upper] = [sides[0].best(tolerance), sides[1].best(tolerance)];
        let width_at = |x: f64| upper.line.at(x) - lower.line.at(x);
        let (first_width, last_width) = (width_at(0.0), width_at(length));
        let width = f64::midpoint(first_width, last_width);
        if upper.touches + lower.touches < 4
            || width <= range
            || first_width <= 0.1 * width
            || last_width <= 0.05 * width
        {
            return None;
        }
        let [up, down] = [upper, lower].map(|side| side.line.slope * length / width);
        Some(Self {
            upper,
            lower,
            length,
            width,
            up,
            down,
            narrowing: last_width / first_width,
        })
    }

    /// The end of the pattern, and whether a breakout there is (or is expected to be) upward. Returns `None` if the price stayed inside
    /// for too long.
    fn end(&self, prices: &LogPrices, run: &[Pivot]) -> Option<(PatternEnd, bool)> {
        let (upper, lower) = (self.upper.line, self.lower.line);
        let last = run[run.len() - 1];
        let latest = prices.len() - 1;
        let limit = last.at as usize + (0.6 * self.length) as usize + 3;
        let slack = 0.05 * self.width;
        let (over, under) = (upper.intercept + slack, lower.intercept - slack);
        let from = last.at as usize + 1;
        let mut x = self.length;
        for (at, close) in (from..).zip(&prices.close[from..=latest.min(limit)]) {
            x += 1.0;
            let is_over = *close > over + upper.slope * x;
            if is_over || *close < under + lower.slope * x {
                return Some((PatternEnd { at, broken: true }, is_over));
            }
            // No breakout is possible past the apex.
            if upper.at(x) - lower.at(x) <= 0.0 {
                return None;
            }
        }
        (limit > latest).then_some((
            PatternEnd {
                at: latest,
                broken: false,
            },
            !last.high,
        ))
    }

    /// The measures that are the same for each kind, whether upside down or not.
    fn measures(&self, turns: usize) -> [f64; OWN] {
        let Self {
            upper,
            lower,
            width,
            up,
            down,
            narrowing,
            ..
        } = *self;
        let mut own = [0.0; OWN];
        own[lines::TOUCHES] = (upper.touches + lower.touches) as f64;
        own[lines::FURTHEST_OUTSIDE] = upper.over.max(lower.over) / width;
        own[lines::MEAN_DISTANCE] = (upper.stray + lower.stray) / turns as f64 / width;
        own[lines::NARROWING] = narrowing;
        own[lines::TURNS] = turns as f64;
        own[lines::TILT] = f64::midpoint(up, down).abs();
        own[lines::CONVERGENCE] = (up - down).abs();
        own
    }
}

/// Expected breakout direction while it forms: up for ascending triangles and falling wedges; otherwise the trend before the pattern
/// continues.
fn expected(
    prices: &LogPrices,
    kind: CandidateKind,
    flipped: bool,
    start: usize,
    high: bool,
) -> bool {
    match kind {
        CandidateKind::LevelTriangle => !flipped,
        CandidateKind::Wedge => flipped,
        _ => {
            let came = prices.close[start] - prices.close[start.saturating_sub(20)];
            if came == 0.0 { !high } else { came > 0.0 }
        }
    }
}

/// The largest fraction used of any textbook tolerance.
fn most_tolerance_used(kind: CandidateKind, (up, down): (f64, f64), narrowing: f64) -> f64 {
    let tilt = f64::midpoint(up, down).abs();
    let parallel = (narrowing.max(1.0 / narrowing) - 1.0) / 0.28;
    let narrows = tolerance_used(narrowing, 0.68, 0.5);
    match kind {
        CandidateKind::Rectangle => parallel.max(tilt / 0.2),
        CandidateKind::Channel => parallel.max(tolerance_used(tilt, 0.6, 0.9)),
        CandidateKind::LevelTriangle => narrows
            .max(up.abs() / 0.16)
            .max(tolerance_used(down, 0.25, 0.4)),
        CandidateKind::SymmetricalTriangle => narrows
            .max(tolerance_used(up, -0.16, -0.3))
            .max(tolerance_used(down, 0.16, 0.3)),
        CandidateKind::Wedge => narrows.max(tolerance_used(up.min(down), 0.16, 0.3)),
        CandidateKind::Broadening => tolerance_used(narrowing, 1.5, 1.9)
            .max(tolerance_used(up, 0.08, 0.2))
            .max(tolerance_used(down, -0.08, -0.2)),
        _ => 0.0,
    }
}

/// Kinds that two lines may form, and whether upside down, by their rises over the pattern in mean widths.
fn kinds(up: f64, down: f64, narrowing: f64) -> [Option<(CandidateKind, bool)>; 4] {
    let mut kinds = [None; 4];
    let tilt = f64::midpoint(up, down);
    if up.abs() < 0.55 && down.abs() < 0.55 {
        kinds[0] = Some((CandidateKind::Rectangle, tilt < 0.0));
    }
    if up.min(down) > 0.25 || up.max(down) < -0.25 {
        let kind = if (up - down).abs() < 0.7 {
            CandidateKind::Channel
        } else {
            CandidateKind::Wedge
        };
        // A wedge must narrow along its way.
        if kind == CandidateKind::Channel || narrowing < 0.75 {
            kinds[1] = Some((kind, tilt < 0.0));
        }
        if kind == CandidateKind::Channel && narrowing < 0.72 {
            kinds[3] = Some((CandidateKind::Wedge, tilt < 0.0));
        }
    }
    if narrowing < 0.75 && up < 0.35 && down > -0.35 {
        kinds[2] = Some(if up.abs() < 0.45 * down.abs() {
            (CandidateKind::LevelTriangle, false)
        } else if down.abs() < 0.45 * up.abs() {
            (CandidateKind::LevelTriangle, true)
        } else {
            (CandidateKind::SymmetricalTriangle, tilt < 0.0)
        });
    }
    if narrowing > 1.45 && up > 0.05 && down < -0.05 {
        kinds[3] = Some((CandidateKind::Broadening, tilt < 0.0));
    }
    kinds
}
