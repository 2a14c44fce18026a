//! Turning points of one side of the candles. A long window is first downsampled to wider bars, so that the cost of the line search does
//! not depend on its length.

/// Longer windows are downsampled…
pub(super) const LONG: usize = 5_000;
/// …to this many bars.
const BARS: usize = 1_000;
/// Maximum number of pivots; the most prominent are kept. Every pair of them is a candidate line.
const MOST: usize = 200;

/// A bar with a local extreme.
pub(super) struct Turn {
    pub(super) at: usize,
    /// Whether it is so close to the first or last candle that one side is cut off.
    pub(super) clipped: bool,
}

/// Bars whose extreme is the lowest among w bars on each side, where w grows with their number from 2 to 6 and is cut off at the ends; of
/// equal ones, the first. In time order.
pub(super) fn pivots(tips: &[f64]) -> Vec<Turn> {
    let bars = bars(tips);
    let w = (bars.len() / 20).clamp(2, 6);
    let tip = |bar: usize| tips[bars[bar]];
    let is_pivot = |&bar: &usize| {
        let right_end = bars.len().min(bar + w + 1);
        (bar.saturating_sub(w)..bar).all(|left| tip(left) > tip(bar))
            && (bar + 1..right_end).all(|right| tip(right) >= tip(bar))
    };
    let clipped = |bar: usize| bar < w || bar + w >= bars.len();
    let turns: Vec<Turn> = (0..bars.len())
        .filter(is_pivot)
        .map(|bar| Turn {
            at: bars[bar],
            clipped: clipped(bar),
        })
        .collect();
    if turns.len() <= MOST {
        turns
    } else {
        most_prominent(tips, turns)
    }
}

/// Representative candles of the window: all, or the lowest of each of 1,000 runs.
fn bars(tips: &[f64]) -> Vec<usize> {
    let n = tips.len();
    if n <= LONG {
        return (0..n).collect();
    }
    let lowest = |bar: usize| {
        (bar * n / BARS..(bar + 1) * n / BARS).min_by(|&a, &b| tips[a].total_cmp(&tips[b]))
    };
    (0..BARS).filter_map(lowest).collect()
}

/// The turns with the highest prominence: the smaller rise to the peaks before the next turn on either side.
fn most_prominent(tips: &[f64], turns: Vec<Turn>) -> Vec<Turn> {
    let peak = |pair: &[Turn]| {
        tips[pair[0].at..=pair[1].at]
            .iter()
            .copied()
            .fold(f64::MIN, f64::max)
    };
    let peaks: Vec<f64> = turns.windows(2).map(peak).collect();
    let side = |k: Option<usize>| {
        k.and_then(|k| peaks.get(k))
            .copied()
            .unwrap_or(f64::INFINITY)
    };
    let rise = |k: usize| side(k.checked_sub(1)).min(side(Some(k))) - tips[turns[k].at];
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by(|&a, &b| rise(b).total_cmp(&rise(a)).then(a.cmp(&b)));
    let mut keep = vec![false; turns.len()];
    order.iter().take(MOST).for_each(|&k| keep[k] = true);
    turns
        .into_iter()
        .zip(keep)
        .filter_map(|(turn, kept)| kept.then_some(turn))
        .collect()
}
