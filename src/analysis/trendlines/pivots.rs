//! Turning points of one side of the candles. A long window is first drawn together into wider bars, so that the search for lines
//! costs the same however long it is.

/// Longer windows are drawn together…
pub(super) const LONG: usize = 5_000;
/// …into this many bars.
const BARS: usize = 1_000;
/// At most this many pivots take part, the most prominent ones. Every pair of them is a candidate.
const MOST: usize = 200;

/// A bar whose tip is the lowest around.
pub(super) struct Turn {
    pub(super) at: usize,
    /// It stands so near the first or the last candle that one side was not seen whole.
    pub(super) clipped: bool,
}

/// The bars whose tip is the lowest of the w bars on each side, w growing with their number from 2 to 6; at the ends of those there
/// are; of equal ones the first. In order of time.
pub(super) fn pivots(tips: &[f64]) -> Vec<Turn> {
    let bars = bars(tips);
    let w = (bars.len() / 20).clamp(2, 6);
    let tip = |bar: usize| tips[bars[bar]];
    let is_pivot = |&bar: &usize| {
        let right_end = bars.len().min(bar + w + 1);
        (bar.saturating_sub(w)..bar).all(|left| tip(left) > tip(bar)) && (bar + 1..right_end).all(|right| tip(right) >= tip(bar))
    };
    let clipped = |bar: usize| bar < w || bar + w >= bars.len();
    let turns: Vec<Turn> = (0..bars.len()).filter(is_pivot).map(|bar| Turn { at: bars[bar], clipped: clipped(bar) }).collect();
    if turns.len() <= MOST { turns } else { most_prominent(tips, turns) }
}

/// The candles whose tips stand for the window: all, or the lowest of each of 1,000 runs.
fn bars(tips: &[f64]) -> Vec<usize> {
    let n = tips.len();
    if n <= LONG {
        return (0..n).collect();
    }
    let lowest = |bar: usize| (bar * n / BARS..(bar + 1) * n / BARS).min_by(|&a, &b| tips[a].total_cmp(&tips[b]));
    (0..BARS).filter_map(lowest).collect()
}

/// Those from which the tips rise the most before the next pivot on either side.
fn most_prominent(tips: &[f64], turns: Vec<Turn>) -> Vec<Turn> {
    let peak = |pair: &[Turn]| tips[pair[0].at..=pair[1].at].iter().copied().fold(f64::MIN, f64::max);
    let peaks: Vec<f64> = turns.windows(2).map(peak).collect();
    let side = |k: Option<usize>| k.and_then(|k| peaks.get(k)).copied().unwrap_or(f64::INFINITY);
    let rise = |k: usize| side(k.checked_sub(1)).min(side(Some(k))) - tips[turns[k].at];
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by(|&a, &b| rise(b).total_cmp(&rise(a)).then(a.cmp(&b)));
    let mut keep = vec![false; turns.len()];
    order.iter().take(MOST).for_each(|&k| keep[k] = true);
    turns.into_iter().zip(keep).filter_map(|(turn, kept)| kept.then_some(turn)).collect()
}
