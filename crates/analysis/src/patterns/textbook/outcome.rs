//! Outcome of a shape: confirmed by a breakout, still forming, or invalid; and its confidence. Results are in upright orientation.

use super::{
    View,
    confidence::{self, confidence_of},
    find::{BoundaryLine, FoundPattern, covered},
    shape::PatternShape,
};

/// The first close beyond a line.
#[derive(Clone, Copy)]
struct Broken {
    at: usize,
    up: bool,
}

/// Returns `None` if the shape is invalid: a close beyond the wrong line came first, or no close beyond the right one came in time.
pub(super) fn follow(
    view: View<'_>,
    shape: &PatternShape,
    upside_down: bool,
) -> Option<FoundPattern> {
    let last = shape.turns.last();
    let mut broken = None;
    for at in last.at as usize + 1..view.len() {
        let (x, close) = (
            f64::from(view.slot[at] - shape.turns.first().slot),
            view.close[at],
        );
        if f64::from(view.slot[at] - last.slot) > shape.patience {
            return None;
        }
        let (over, under) = (
            close > shape.upper.line().at(x) + shape.slack,
            close < shape.lower.line().at(x) - shape.slack,
        );
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
    let find = found(view, shape, broken);
    Some(if upside_down { find.mirrored() } else { find })
}

fn found(view: View<'_>, shape: &PatternShape, broken: Option<Broken>) -> FoundPattern {
    let PatternShape {
        name,
        turns,
        start,
        upper,
        lower,
        height,
        ..
    } = *shape;
    let end = broken.map_or(view.len() - 1, |broken| broken.at);
    let level = |up: bool| {
        if up { upper } else { lower }
            .line()
            .at(f64::from(view.slot[end] - turns.first().slot))
    };
    let breaks = |edge: BoundaryLine| matches!(edge, BoundaryLine::Breaks(_));
    // While it forms: where it usually breaks out, and the line that comes next.
    let (usually, next) = if breaks(upper) && breaks(lower) {
        (shape.usually_up, !turns.last().high)
    } else {
        (breaks(upper), breaks(upper))
    };
    let up = broken.map_or(usually, |broken| broken.up);
    let completion = if broken.is_some() {
        100.0
    } else {
        let (last, anchors) = (turns.last().price, turns.as_slice().len() as f64);
        let done = if shape.live { anchors - 1.0 } else { anchors };
        100.0 * (done + covered(last, level(next), view.close[end])) / (anchors + 1.0)
    };
    let confidence = if broken.is_some() { 1.0 } else { 0.9 } * confidence_of(shape, view.range);
    FoundPattern {
        name,
        turns,
        start,
        breakout: broken.map(|broken| broken.at as u32),
        up,
        level: level(up),
        height,
        completion,
        confidence,
        upper,
        lower,
        why: if view.explain {
            confidence::why(shape, view.range, confidence)
        } else {
            Vec::new()
        },
    }
}
