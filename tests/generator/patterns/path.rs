//! From plan to bars: a lead-in random walk, noisy legs from corner to corner, the approach to the boundary, and the aftermath.

use super::{
    Kind, Label,
    bars::{Bars, STEPS, Volatility, wander, wicks},
    plan::{Line, Plan, plan},
};
use crate::random::Random;

/// One attempt; `None` if the noise left no valid instance.
pub(super) fn draw(random: &mut Random, name: &'static str, kind: &Kind) -> Option<(Bars, Label)> {
    let confirmed = random.chance(0.6);
    let plan = plan(random, name, kind, confirmed);
    let hard = *kind != Kind::Easy && (*kind == Kind::Hard || random.chance(0.5));
    let mut pen = Pen::new(random, &plan, hard);
    pen.lead_in(random);
    pen.corners(random);
    let end = if confirmed {
        pen.breakout(random)?
    } else {
        pen.forming(random)
    };
    let mut bars = Bars::from_path(&pen.path);
    if hard {
        wicks(random, &mut bars, 0.08);
    }
    let range = bars.true_range();
    let start = pen.bar_of(plan.start);
    let span = start..=end;
    if range * plan.least > 1.0
        || !contained(&plan, &bars, pen.origin, end - usize::from(confirmed))
    {
        return None;
    }
    if matches!(kind, Kind::Easy | Kind::Hard) && !pen.round(&bars) {
        return None;
    }
    // A true range is .3 to 6 % of the price, less where a fall by the pattern's height would leave nothing.
    let unit = (random.scale(0.003, 0.06) / range).min(0.65 / plan.height.max(1.0));
    let height = plan.height * unit;
    let movement = 100.0
        * if plan.up {
            1.0 - (-height).exp()
        } else {
            1.0 - height.exp()
        };
    let price = random.scale(1e-4, 5e4);
    let bars = bars
        .priced(unit, price)
        .traded(random, confirmed.then_some(end));
    let label = Label {
        name,
        start,
        end: *span.end(),
        confirmed,
        movement,
        signed: confirmed || !plan.either,
    };
    Some((bars, label))
}

/// Whether no close between first and last pivot, or before the breakout, leaves the lines or the boundary.
fn contained(plan: &Plan, bars: &Bars, origin: f64, last: usize) -> bool {
    let side = if plan.up { 1.0 } else { -1.0 };
    let after = (origin + plan.last().bar) as usize + 1;
    let inside = (after..=last)
        .all(|i| side * (bars.close[i] - plan.boundary.at(i as f64 + 1.0 - origin)) <= 0.0);
    let Some((first, upper, lower)) = plan.between else {
        return inside;
    };
    let first = (origin + plan.corners[first].bar) as usize;
    let slack = 0.06;
    inside
        && (first..after).all(|i| {
            let bar = i as f64 + 1.0 - origin;
            bars.close[i] <= upper.at(bar) + slack && bars.close[i] >= lower.at(bar) - slack
        })
}

struct Pen<'a> {
    plan: &'a Plan,
    hard: bool,
    /// Standard deviation of the noise within a bar of the pattern, and of a bar of the walks around it.
    noise: f64,
    spread: f64,
    volatility: Volatility,
    path: Vec<f64>,
    /// Bar index of the plan's bar 0, with the fraction of a bar at which all corners turn.
    origin: f64,
}

impl<'a> Pen<'a> {
    fn new(random: &mut Random, plan: &'a Plan, hard: bool) -> Self {
        let (height, bars) = plan.leg();
        // The middle of a Brownian bridge has standard deviation noise·√bars/2.
        let stray = if hard {
            random.between(0.12, 0.26)
        } else {
            random.between(0.05, 0.12)
        };
        let noise = 2.0 * stray * height / bars.sqrt();
        let spread = (noise * noise + (height / bars).powi(2)).sqrt() * random.between(0.6, 1.1);
        let volatility = Volatility::new(hard && random.chance(0.6));
        Self {
            plan,
            hard,
            noise,
            spread,
            volatility,
            path: Vec::new(),
            origin: 0.0,
        }
    }

    fn bar_of(&self, corner: usize) -> usize {
        (self.origin + self.plan.corners[corner].bar) as usize
    }

    fn step(bar: f64) -> usize {
        (bar * STEPS as f64).round() as usize
    }

    /// Step at the end of bar `i`.
    fn close_of(i: usize) -> usize {
        (i + 1) * STEPS
    }

    /// A walk that ends in the first corner.
    fn lead_in(&mut self, random: &mut Random) {
        let bars = random.whole(20, 150);
        let drift = if self.hard {
            0.1 * self.spread * random.normal()
        } else {
            0.0
        };
        let fraction = random.whole(2, STEPS - 2) as f64 / STEPS as f64;
        self.origin = bars as f64 + fraction;
        let walk = wander(random, &mut self.volatility, bars + 1, self.spread, drift);
        let end = Self::step(self.origin);
        let shift = self.plan.corners[0].level - walk[end];
        self.path = walk[..=end].iter().map(|level| level + shift).collect();
    }

    fn corners(&mut self, random: &mut Random) {
        for k in 1..self.plan.corners.len() {
            let (from, to) = (self.plan.corners[k - 1], self.plan.corners[k]);
            let end = Self::step(self.origin + to.bar);
            match self.plan.bowl {
                Some((rim, power)) if k == rim + 1 || k == rim + 2 => {
                    self.bowl(random, end, (from.level, to.level), k == rim + 1, power);
                }
                _ => self.leg(random, end, to.level, None),
            }
        }
    }

    /// A Brownian bridge to `level` at step `end`, kept between its two ends, between the lines, and short of `wall` at closes.
    fn leg(&mut self, random: &mut Random, end: usize, level: f64, wall: Option<(Line, bool)>) {
        let start = self.path.len() - 1;
        let from = self.path[start];
        let (count, mut stray, mut strays) =
            ((end - start) as f64, 0.0, Vec::with_capacity(end - start));
        let mut volatility = self.volatility.next(random);
        for i in 1..=end - start {
            if (start + i) % STEPS == 1 {
                volatility = self.volatility.next(random);
            }
            stray += volatility * self.noise / (STEPS as f64).sqrt() * random.normal();
            strays.push(stray);
        }
        let (low, high) = (from.min(level), from.max(level));
        for (i, off) in (1..).zip(strays) {
            let share = i as f64 / count;
            let mut y = from + (level - from) * share + off - share * stray;
            y = reflect(y, low, high);
            let bar = (start + i) as f64 / STEPS as f64 - self.origin;
            if let Some((corner, upper, lower)) = self.plan.between
                && bar > self.plan.corners[corner].bar
                && i < end - start
                && wall.is_none()
            {
                y = y
                    .min(upper.at(bar).max(low) + 0.04)
                    .max(lower.at(bar).min(high) - 0.04);
            }
            if let Some((line, up)) = wall
                && (start + i).is_multiple_of(STEPS)
            {
                let inner = line.at(bar) - if up { 0.01 } else { -0.01 };
                y = if up { y.min(inner) } else { y.max(inner) };
            }
            self.path.push(y);
        }
    }

    /// Half a bowl with mean-reverting noise.
    fn bowl(
        &mut self,
        random: &mut Random,
        end: usize,
        levels: (f64, f64),
        falling: bool,
        power: f64,
    ) {
        let start = self.path.len() - 1;
        let (rim, low) = if falling {
            levels
        } else {
            (levels.1, levels.0)
        };
        let stray = if self.hard {
            random.between(0.05, 0.10)
        } else {
            random.between(0.02, 0.05)
        };
        let count = (end - start) as f64;
        // Ornstein–Uhlenbeck noise, reverting within some three bars.
        let (pull, mut off) = (1.0 / (3.0 * STEPS as f64), 0.0);
        for i in 1..=end - start {
            let share = i as f64 / count;
            let out = if falling { 1.0 - share } else { share };
            let curve = low + (rim - low) * out.powf(power);
            off += -pull * off + stray * (2.0 * pull).sqrt() * random.normal();
            // No noise at the rims and the low, which must remain the extremes.
            let loose = (4.0 * share.min(1.0 - share)).min(1.0);
            self.path
                .push(reflect(curve + loose * off, low.min(rim), low.max(rim)));
        }
    }

    /// Bars for the approach to the boundary: as fast as the legs, within half the pattern's length.
    fn bars_to(&self, random: &mut Random, distance: f64) -> usize {
        let (height, bars) = self.plan.leg();
        let wanted = distance.abs() / height * bars * random.between(0.7, 1.3);
        wanted.round().clamp(1.0, self.plan.length() / 2.0 + 3.0) as usize
    }

    /// Moves to the first close beyond the boundary, sometimes further; returns the breakout bar.
    fn breakout(&mut self, random: &mut Random) -> Option<usize> {
        let side = if self.plan.up { 1.0 } else { -1.0 };
        let last = self.plan.last();
        let bars = self.bars_to(random, self.plan.boundary.at(last.bar) - last.level);
        let breaks = self.bar_of(self.plan.corners.len() - 1) + bars + 1;
        let at = |bar: usize| self.plan.boundary.at((bar + 1) as f64 - self.origin);
        let range = 1.6 * self.spread;
        let before = at(breaks - 1) - side * range * random.between(0.05, 0.4);
        let beyond = at(breaks) + side * range * random.between(0.25, 1.1);
        // Converging lines may have met: then there is nothing left to break.
        if (before - last.level) * side <= 0.0 && self.plan.bowl.is_none() {
            return None;
        }
        self.leg(
            random,
            Self::close_of(breaks - 1),
            before,
            Some((self.plan.boundary, self.plan.up)),
        );
        self.leg(
            random,
            Self::close_of(breaks),
            beyond,
            Some((self.plan.boundary, !self.plan.up)),
        );
        if random.chance(0.45) {
            let tail = random.whole(1, 30);
            let drift = side * self.spread * random.between(0.0, 0.25);
            let walk = wander(random, &mut self.volatility, tail, self.spread, drift);
            let end = self.path[self.path.len() - 1];
            self.path.extend(walk.iter().map(|level| end + level));
        }
        Some(breaks)
    }

    /// Moves part of the way to the boundary (a flag may also be on its way back from it); returns the last bar.
    fn forming(&mut self, random: &mut Random) -> usize {
        let last = self.plan.last();
        let mut end = self.bar_of(self.plan.corners.len() - 1);
        let live = self
            .plan
            .bowl
            .is_some_and(|(rim, _)| rim + 2 == self.plan.corners.len() - 1)
            || random.chance(0.2);
        let from = self.path[self.path.len() - 1];
        if live {
            // The last pivot is the live extreme: only the bar is completed.
            let inward = if self.plan.corners[self.plan.corners.len() - 2].level < last.level {
                -1.0
            } else {
                1.0
            };
            let level = from + inward * self.spread * random.between(0.0, 0.3);
            self.leg(random, Self::close_of(end), level, None);
            return end;
        }
        let target = match self.plan.between {
            Some((_, upper, lower))
                if last.level > f64::midpoint(upper.at(last.bar), lower.at(last.bar)) =>
            {
                lower
            }
            Some((_, upper, _)) => upper,
            None => self.plan.boundary,
        };
        let way = target.at(last.bar) - last.level;
        let share = random.between(0.2, 0.8);
        end += self.bars_to(random, way * share);
        let bar = (end + 1) as f64 - self.origin;
        let level = last.level + share * (target.at(bar) - last.level);
        let up = target.at(bar) > last.level;
        self.leg(random, Self::close_of(end), level, Some((target, up)));
        end
    }

    /// Whether a bowl is round: three fifths of its closes in the lower half, and a good fit of a parabola.
    fn round(&self, bars: &Bars) -> bool {
        let Some((rim, _)) = self.plan.bowl else {
            return true;
        };
        let closes = &bars.close[self.bar_of(rim)..=self.bar_of(rim + 2)];
        let low = self.plan.corners[rim + 1].level;
        let half =
            (self.plan.corners[rim].level + self.plan.corners[rim + 2].level) / 4.0 + low / 2.0;
        let share = closes
            .iter()
            .filter(|&&close| (close > half) != self.plan.up)
            .count() as f64
            / closes.len() as f64;
        share >= 0.62 && parabola(closes) >= 0.89
    }
}

/// Reflects at the bounds, clamped to the opposite one.
fn reflect(y: f64, low: f64, high: f64) -> f64 {
    let folded = if y > high {
        2.0 * high - y
    } else if y < low {
        2.0 * low - y
    } else {
        y
    };
    folded.clamp(low, high)
}

/// R² of the least-squares parabola, by orthogonal polynomials on even steps.
fn parabola(closes: &[f64]) -> f64 {
    let n = closes.len() as f64;
    let x: Vec<f64> = (0..closes.len())
        .map(|i| i as f64 - (n - 1.0) / 2.0)
        .collect();
    let mean_square = x.iter().map(|x| x * x).sum::<f64>() / n;
    let mean = closes.iter().sum::<f64>() / n;
    let total: f64 = closes.iter().map(|y| (y - mean).powi(2)).sum();
    let explained: f64 = [
        x.clone(),
        x.iter().map(|x| x * x - mean_square).collect::<Vec<f64>>(),
    ]
    .iter()
    .map(|basis| {
        let along: f64 = basis.iter().zip(closes).map(|(b, y)| b * (y - mean)).sum();
        along * along / basis.iter().map(|b| b * b).sum::<f64>()
    })
    .sum();
    explained / total
}
