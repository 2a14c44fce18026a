//! Selection of the response's candidates: the non-overlapping set of the largest total weight (weighted interval scheduling).

use super::context::overlap;

/// A candidate for selection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contender {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) probability: f64,
}

/// Parameters of the selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectionParams {
    /// Minimum probability; less likely contenders weigh nothing.
    pub min_probability: f64,
    /// Exponent of the length in a contender's weight.
    pub length_exponent: f64,
    /// Fraction of its length by which each may overlap a neighbour.
    pub neighbour_overlap: f64,
    /// Probability from which a further contender is added…
    pub extra_min_probability: f64,
    /// …if its overlap (intersection over union) with every selected one is at most this.
    pub extra_max_overlap: f64,
    /// Minimum probability of a contender close to a textbook pattern…
    pub textbook_min_probability: f64,
    /// …that is, within this many candles.
    pub textbook_distance: u32,
}

impl Default for SelectionParams {
    fn default() -> Self {
        Self {
            min_probability: 0.22,
            length_exponent: 0.3,
            neighbour_overlap: 0.13,
            extra_min_probability: 0.4,
            extra_max_overlap: 0.3,
            textbook_min_probability: 0.55,
            textbook_distance: 80,
        }
    }
}

/// A contender shortened by the overlap that its neighbours may have.
struct Interval {
    end: f64,
    start: f64,
    weight: f64,
    place: usize,
}

/// Indices of the selected contenders. `textbook` are the ranges of textbook patterns, ordered by start.
pub(super) fn choose(contenders: &[Contender], textbook: &[(u32, u32)], params: &SelectionParams) -> Vec<usize> {
    let mut intervals = intervals(contenders, textbook, params);
    intervals.sort_by(|a, b| a.end.total_cmp(&b.end).then(a.start.total_cmp(&b.start)).then(a.place.cmp(&b.place)));
    // best[k]: the largest total weight among the first k.
    let mut best = vec![0.0; intervals.len() + 1];
    let mut before = vec![0; intervals.len()];
    for (k, interval) in intervals.iter().enumerate() {
        before[k] = intervals[..k].partition_point(|other| other.end <= interval.start);
        best[k + 1] = f64::max(best[k], best[before[k]] + interval.weight);
    }
    let mut kept = Vec::new();
    let mut k = intervals.len();
    while k > 0 {
        if best[k] > best[k - 1] {
            kept.push(intervals[k - 1].place);
            k = before[k - 1];
        } else {
            k -= 1;
        }
    }
    add_extra(contenders, &intervals, &mut kept, params);
    kept
}

/// The contenders that are likely enough, and not too close to a textbook pattern.
fn intervals(contenders: &[Contender], textbook: &[(u32, u32)], params: &SelectionParams) -> Vec<Interval> {
    let longest = textbook.iter().map(|(start, end)| end - start).max().unwrap_or(0);
    let near = params.textbook_distance;
    let allowed = |contender: &Contender| {
        // Skips those that start too early to be close.
        let first = textbook.partition_point(|(start, _)| start + longest + near < contender.start);
        textbook[first..].iter().take_while(|(start, _)| *start <= contender.end + near).all(|(start, end)| {
            if contender.start > end + near {
                return true;
            }
            let shared = (contender.end.min(*end) + 1).saturating_sub(contender.start.max(*start));
            let shorter = (contender.end - contender.start).min(end - start) + 1;
            contender.probability >= params.textbook_min_probability && f64::from(shared) < 0.3 * f64::from(shorter)
        })
    };
    let interval = |(place, contender): (usize, &Contender)| {
        let length = f64::from(contender.end - contender.start + 1);
        let cut = params.neighbour_overlap * length;
        let weight = (contender.probability - params.min_probability) * (length / 30.0).powf(params.length_exponent);
        Interval { end: f64::from(contender.end + 1) - cut, start: f64::from(contender.start) + cut, weight, place }
    };
    let likely = |(_, contender): &(usize, &Contender)| contender.probability > params.min_probability && allowed(contender);
    contenders.iter().enumerate().filter(likely).map(interval).collect()
}

/// Bucket width in candles of the index of selected ones.
const BUCKET: u32 = 256;

/// Adds likely contenders that partly overlap the selected ones: a flag within a channel is drawn with it.
fn add_extra(contenders: &[Contender], intervals: &[Interval], kept: &mut Vec<usize>, params: &SelectionParams) {
    let likely = |place: &usize| contenders[*place].probability >= params.extra_min_probability;
    let mut extra: Vec<usize> = intervals.iter().map(|interval| interval.place).filter(likely).collect();
    extra.sort_by(|a, b| contenders[*b].probability.total_cmp(&contenders[*a].probability).then(a.cmp(b)));
    let buckets = |contender: &Contender| (contender.start / BUCKET) as usize..=(contender.end / BUCKET) as usize;
    let last = contenders.iter().map(|contender| contender.end / BUCKET).max().unwrap_or(0);
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); last as usize + 1];
    for place in kept.iter() {
        held[buckets(&contenders[*place])].iter_mut().for_each(|bucket| bucket.push(*place));
    }
    let span = |place: usize| (contenders[place].start, contenders[place].end);
    for place in extra {
        let apart = |other: &usize| overlap(span(place), span(*other)) <= params.extra_max_overlap;
        let buckets = buckets(&contenders[place]);
        if held[buckets.clone()].iter().flatten().all(apart) {
            held[buckets].iter_mut().for_each(|bucket| bucket.push(place));
            kept.push(place);
        }
    }
}
