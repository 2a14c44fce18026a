//! What the patterns advise together, and what became of each after its breakout.

use super::{Pattern, Status, TradeAction, find::Find, series::Series};

/// Candles after a breakout in which its target counts. Patterns are looked for over this range too on TradingView.
const WATCHED: usize = 600;
/// Candles in which a pattern's say falls to 1/e.
const FADES: f64 = 20.0;

/// The logarithm of the price whose close voids the find.
pub(super) fn stop(series: &Series, find: &Find) -> f64 {
    let side = if find.up { 1.0 } else { -1.0 };
    if find.breakout.is_some() {
        return find.level - side * find.height / 2.0;
    }
    let line = if find.up { find.lower } else { find.upper }.line();
    line.at(f64::from(series.slot[series.len() - 1] - find.turns.first().slot))
}

/// What became of the find: the target is reached by a high or low, the failure is a close back over the boundary by half the height.
pub(super) fn status(series: &Series, find: &Find) -> Status {
    let Some(breakout) = find.breakout else {
        return Status::Forming;
    };
    let side = if find.up { 1.0 } else { -1.0 };
    let (target, back) = (find.target(), stop(series, find));
    let reach = if find.up { &series.way.high } else { &series.way.low };
    let from = breakout as usize;
    for (reached, close) in reach.iter().zip(&series.way.close).skip(from).take(WATCHED) {
        if side * (reached - target) >= 0.0 {
            return Status::Reached;
        }
        if side * (close - back) < 0.0 {
            return Status::Failed;
        }
    }
    Status::Confirmed
}

/// The pattern to look at first: the surest, older ones counting less the longer ago they ended.
pub(super) fn first(patterns: &[Pattern], counts: impl Fn(&Pattern) -> bool) -> Option<usize> {
    let latest = patterns.iter().map(|pattern| pattern.end_index).max()?;
    let weight = |&place: &usize| patterns[place].confidence * (-((latest - patterns[place].end_index) as f64) / FADES).exp();
    (0..patterns.len()).filter(|place| counts(&patterns[*place])).max_by(|a, b| weight(a).total_cmp(&weight(b)))
}

/// The sum over the finds of direction × confidence, half for those that form, less with age, nothing for those that are over.
pub(super) fn action(series: &Series, finds: &[Find]) -> TradeAction {
    let sum: f64 = finds.iter().map(|find| say(series, find)).sum();
    match sum {
        0.6.. => TradeAction::StrongBuy,
        0.2.. => TradeAction::Buy,
        ..=-0.6 => TradeAction::StrongSell,
        ..=-0.2 => TradeAction::Sell,
        _ => TradeAction::Hold,
    }
}

fn say(series: &Series, find: &Find) -> f64 {
    let age = f64::from(series.slot[series.len() - 1] - series.slot[find.end(series.len()) as usize]);
    let fresh = (-age / FADES).exp();
    // Too old to matter: its status need not be looked up.
    if fresh < 1e-6 {
        return 0.0;
    }
    let weight = match status(series, find) {
        Status::Confirmed => 1.0,
        Status::Forming => 0.5,
        Status::Reached | Status::Failed => 0.0,
    };
    let direction = if find.up { 1.0 } else { -1.0 };
    direction * find.confidence * weight * fresh
}
