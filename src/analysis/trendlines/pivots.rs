//! Turning points of one side of the candles. A long window is first drawn together into wider bars, so that the search for lines
//! costs the same however long it is.

/// Longer windows are drawn together…
const LONG: usize = 5_000;
/// …into this many bars.
const BARS: usize = 1_000;
/// At most this many pivots take part, the most prominent ones.
const MOST: usize = 400;

/// The candles whose tips stand for the window: all, or the lowest of each of 1,000 runs.
pub(super) fn bars(tips: &[f64]) -> Vec<usize> {
    let n = tips.len();
    if n <= LONG {
        return (0..n).collect();
    }
    (0..BARS).filter_map(|bar| (bar * n / BARS..(bar + 1) * n / BARS).min_by(|&a, &b| tips[a].total_cmp(&tips[b]))).collect()
}

/// The bars whose tip is the lowest of the w bars on each side, w growing with their number from 2 to 6, clipped at the ends; of equal
/// ones the first.
pub(super) fn pivots(tips: &[f64], bars: &[usize]) -> Vec<usize> {
    let w = (bars.len() / 20).clamp(2, 6);
    let tip = |bar: usize| tips[bars[bar]];
    let is_pivot = |&bar: &usize| {
        (bar.saturating_sub(w)..bar).all(|left| tip(left) > tip(bar))
            && (bar + 1..=bar + w).take_while(|&right| right < bars.len()).all(|right| tip(right) >= tip(bar))
    };
    let found: Vec<usize> = (0..bars.len()).filter(is_pivot).map(|bar| bars[bar]).collect();
    if found.len() <= MOST { found } else { most_prominent(tips, &found) }
}

/// Those from which the tips rise the most before the next pivot on either side, in order of time.
fn most_prominent(tips: &[f64], pivots: &[usize]) -> Vec<usize> {
    let peaks: Vec<f64> = pivots.windows(2).map(|pair| tips[pair[0]..=pair[1]].iter().copied().fold(f64::MIN, f64::max)).collect();
    let rise = |k: usize| {
        let left = if k == 0 { f64::INFINITY } else { peaks[k - 1] };
        left.min(peaks.get(k).copied().unwrap_or(f64::INFINITY)) - tips[pivots[k]]
    };
    let mut order: Vec<usize> = (0..pivots.len()).collect();
    order.sort_by(|&a, &b| rise(b).total_cmp(&rise(a)).then(a.cmp(&b)));
    order.truncate(MOST);
    order.sort_unstable();
    order.into_iter().map(|k| pivots[k]).collect()
}
