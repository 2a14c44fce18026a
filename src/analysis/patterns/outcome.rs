//! What came of a shape: broken out of, still forming, or void; and how sure it is. Found shapes leave here upright.

use super::{
    name::PatternName,
    series::View,
    shape::{Edge, Shape, Turns},
    sure::sureness,
};
use crate::analysis::numeric::Line;

/// A pattern that is not void, upright.
#[derive(Debug, Clone, Copy)]
pub(super) struct Find {
    pub(super) name: PatternName,
    pub(super) turns: Turns,
    /// Among the valid candles.
    pub(super) start: u32,
    /// The first close beyond the boundary, among the valid candles.
    pub(super) breakout: Option<u32>,
    pub(super) up: bool,
    /// The boundary's logarithm at the breakout, or at the last candle.
    pub(super) level: f64,
    pub(super) height: f64,
    /// Percent.
    pub(super) completion: f64,
    pub(super) confidence: f64,
    pub(super) upper: Edge,
    pub(super) lower: Edge,
}

impl Find {
    /// The last candle of the pattern, of `count` valid ones.
    pub(super) fn end(&self, count: usize) -> u32 {
        self.breakout.unwrap_or(count as u32 - 1)
    }

    /// The height in price over the level.
    pub(super) fn steepness(&self) -> f64 {
        if self.up { -(-self.height).exp_m1() } else { self.height.exp_m1() }
    }

    /// Signed percent of the breakout level by the measure rule: the height in price over the level, −99.9 at the least.
    pub(super) fn movement(&self) -> f64 {
        if self.up { -100.0 * (-self.height).exp_m1() } else { (-100.0 * self.height.exp_m1()).max(-99.9) }
    }

    /// The logarithm of the price that the movement leads to. A height of more than the level itself leads below zero; then it is laid
    /// off on the logarithmic scale that the lines are straight on, as chartists do there.
    pub(super) fn target(&self) -> f64 {
        let way = if !self.up && self.height.exp_m1() >= 1.0 { -self.height } else { (self.movement() / 100.0).ln_1p() };
        self.level + way
    }

    fn mirrored(self) -> Self {
        let negated = |edge: Edge| match edge {
            Edge::Breaks(line) => Edge::Breaks(Line { slope: -line.slope, intercept: -line.intercept }),
            Edge::Voids(line) => Edge::Voids(Line { slope: -line.slope, intercept: -line.intercept }),
        };
        let mut turns = Turns::new();
        self.turns.as_slice().iter().for_each(|turn| turns.push(turn.mirrored()));
        Self {
            name: self.name.mirrored(),
            turns,
            up: !self.up,
            level: -self.level,
            upper: negated(self.lower),
            lower: negated(self.upper),
            ..self
        }
    }
}

/// Which line a close was beyond first.
struct Broken {
    at: usize,
    up: bool,
}

/// None when the shape is void: a close beyond the wrong line came first, or no close beyond the right one came in time.
pub(super) fn follow(view: View<'_>, shape: &Shape, upside_down: bool) -> Option<Find> {
    let last = shape.turns.last();
    let mut broken = None;
    for at in last.at as usize + 1..view.len() {
        let (x, close) = (f64::from(view.slot[at] - shape.turns.first().slot), view.close[at]);
        if f64::from(view.slot[at] - last.slot) > shape.patience {
            return None;
        }
        let (over, under) = (close > shape.upper.line().at(x) + shape.slack, close < shape.lower.line().at(x) - shape.slack);
        if !over && !under {
            continue;
        }
        let edge = if over { shape.upper } else { shape.lower };
        if matches!(edge, Edge::Voids(_)) {
            return None;
        }
        broken = Some(Broken { at, up: over });
        break;
    }
    let find = match broken {
        Some(broken) => confirmed(view, shape, &broken),
        None => forming(view, shape),
    };
    Some(if upside_down { find.mirrored() } else { find })
}

fn confirmed(view: View<'_>, shape: &Shape, broken: &Broken) -> Find {
    let edge = if broken.up { shape.upper } else { shape.lower };
    let level = edge.line().at(f64::from(view.slot[broken.at] - shape.turns.first().slot));
    let sure = sureness(shape, view.range);
    find(shape, Some(broken.at as u32), broken.up, level, 100.0, sure)
}

fn forming(view: View<'_>, shape: &Shape) -> Find {
    let end = view.len() - 1;
    let x = f64::from(view.slot[end] - shape.turns.first().slot);
    let last = shape.turns.last();
    let both = matches!((shape.upper, shape.lower), (Edge::Breaks(_), Edge::Breaks(_)));
    let side = |up: bool| if up { shape.upper } else { shape.lower }.line().at(x);
    let (up, next) = if both {
        (shape.usually_up, !last.high)
    } else {
        (matches!(shape.upper, Edge::Breaks(_)), matches!(shape.upper, Edge::Breaks(_)))
    };
    let way = side(next) - last.price;
    let share = if way == 0.0 { 0.0 } else { ((view.close[end] - last.price) / way).clamp(0.0, 0.999) };
    let anchors = shape.turns.as_slice().len() as f64;
    let done = if shape.live { anchors - 1.0 } else { anchors };
    let completion = 100.0 * (done + share) / (anchors + 1.0);
    find(shape, None, up, side(up), completion, 0.9 * sureness(shape, view.range))
}

fn find(shape: &Shape, breakout: Option<u32>, up: bool, level: f64, completion: f64, confidence: f64) -> Find {
    Find {
        name: shape.name,
        turns: shape.turns,
        start: shape.start,
        breakout,
        up,
        level,
        height: shape.height,
        completion,
        confidence,
        upper: shape.upper,
        lower: shape.lower,
    }
}
