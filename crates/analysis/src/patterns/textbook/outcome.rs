//! Outcome of a shape: confirmed by a breakout, still forming, or invalid; and its confidence. Results are in upright orientation.

use super::{
    View,
    confidence::{self, confidence_of},
    find::{BoundaryLine, FoundPattern, covered},
    shape::PatternShape,
};

/// The first close beyond a line.
struct Broken {
    at: usize,
    up: bool,
}

/// Returns `None` if the shape is invalid: a close beyond the wrong line came first, or no close beyond the right one came in time.
pub(super) fn follow(view: View<'_>, shape: &PatternShape, upside_down: bool) -> Option<FoundPattern> {
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
        if matches!(edge, BoundaryLine::Voids(_)) {
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

fn confirmed(view: View<'_>, shape: &PatternShape, broken: &Broken) -> FoundPattern {
    let edge = if broken.up { shape.upper } else { shape.lower };
    let level = edge.line().at(f64::from(view.slot[broken.at] - shape.turns.first().slot));
    let confidence = confidence_of(shape, view.range);
    find(view, shape, Some(broken.at as u32), broken.up, level, 100.0, confidence)
}

fn forming(view: View<'_>, shape: &PatternShape) -> FoundPattern {
    let end = view.len() - 1;
    let x = f64::from(view.slot[end] - shape.turns.first().slot);
    let last = shape.turns.last();
    let both = matches!((shape.upper, shape.lower), (BoundaryLine::Breaks(_), BoundaryLine::Breaks(_)));
    let side = |up: bool| if up { shape.upper } else { shape.lower }.line().at(x);
    let (up, next) = if both {
        (shape.usually_up, !last.high)
    } else {
        (matches!(shape.upper, BoundaryLine::Breaks(_)), matches!(shape.upper, BoundaryLine::Breaks(_)))
    };
    let share = covered(last.price, side(next), view.close[end]);
    let anchors = shape.turns.as_slice().len() as f64;
    let done = if shape.live { anchors - 1.0 } else { anchors };
    let completion = 100.0 * (done + share) / (anchors + 1.0);
    find(view, shape, None, up, side(up), completion, 0.9 * confidence_of(shape, view.range))
}

fn find(
    view: View<'_>,
    shape: &PatternShape,
    breakout: Option<u32>,
    up: bool,
    level: f64,
    completion: f64,
    confidence: f64,
) -> FoundPattern {
    FoundPattern {
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
        why: if view.explain { confidence::why(shape, view.range, confidence) } else { Vec::new() },
    }
}
