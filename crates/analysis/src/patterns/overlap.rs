//! Selection among patterns that overlap: of textbook ones the better of two; of the others, after names have competed for the same span, the
//! non-overlapping set of the largest total weight (weighted interval scheduling). And the order of all of them.

use super::{
    find::FoundPattern,
    market::{CandidateKind, overlap},
};

/// A candidate for selection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contender {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) kind: CandidateKind,
    pub(super) probability: f64,
}

impl Contender {
    fn span(&self) -> (u32, u32) {
        (self.start, self.end)
    }

    fn log_odds(&self) -> f64 {
        (self.probability / (1.0 - self.probability)).ln()
    }

    /// Whether its name is more specific than a rectangle.
    fn is_specific(&self) -> bool {
        use CandidateKind as K;
        matches!(
            self.kind,
            K::Channel
                | K::Wedge
                | K::LevelTriangle
                | K::SymmetricalTriangle
                | K::Flag
                | K::Pennant
        )
    }
}

/// Parameters of the selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectionParams {
    /// Minimum probability; less likely contenders weigh nothing.
    pub min_probability: f64,
    /// Exponent of the length in a contender's weight.
    pub length_exponent: f64,
    /// Fraction of its length by which each may overlap a neighbor.
    pub neighbour_overlap: f64,
    /// Probability from which a further contender is added…
    pub extra_min_probability: f64,
    /// …if its overlap (intersection over union) with every selected one is at most this.
    pub extra_max_overlap: f64,
    /// Log odds by which a rectangle must beat each triangle, wedge, channel and flag…
    pub rectangle_margin: f64,
    /// …whose overlap with it (intersection over union) is at least this.
    pub rectangle_overlap: f64,
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
            rectangle_margin: 0.3,
            rectangle_overlap: 0.6,
            textbook_min_probability: 0.55,
            textbook_distance: 80,
        }
    }
}

/// A contender shortened by the overlap that its neighbors may have.
struct Interval {
    end: f64,
    start: f64,
    weight: f64,
    place: usize,
}

/// Indices of the selected contenders, which are ordered by start. `textbook` are the ranges of textbook patterns, ordered by start.
pub(super) fn choose(
    contenders: &[Contender],
    textbook: &[(u32, u32)],
    params: &SelectionParams,
) -> Vec<usize> {
    let mut intervals = intervals(contenders, textbook, params);
    intervals.sort_by(|a, b| {
        a.end
            .total_cmp(&b.end)
            .then(a.start.total_cmp(&b.start))
            .then(a.place.cmp(&b.place))
    });
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

/// Whether this is a rectangle that does not beat the more specific names on its span by the margin. Most stretches of a market resemble a
/// rectangle a little, and chartists prefer the name of a triangle, channel or flag that fits nearly as well.
fn is_beaten(one: &Contender, contenders: &[Contender], params: &SelectionParams) -> bool {
    if one.kind != CandidateKind::Rectangle {
        return false;
    }
    // One that starts earlier, or later, shares too little.
    let (length, share) = (f64::from(one.end - one.start + 1), params.rectangle_overlap);
    let (before, after) = (length * (1.0 / share - 1.0), length * (1.0 - share));
    let least = one.log_odds() - params.rectangle_margin;
    let first = contenders
        .partition_point(|other| f64::from(other.start) + before + 1.0 < f64::from(one.start));
    contenders[first..]
        .iter()
        .take_while(|other| f64::from(other.start) <= f64::from(one.start) + after + 1.0)
        .any(|other| {
            other.is_specific()
                && other.log_odds() > least
                && overlap(other.span(), one.span()) >= share
        })
}

/// The contenders that are likely enough, not beaten by a more specific name, and not too close to a textbook pattern.
fn intervals(
    contenders: &[Contender],
    textbook: &[(u32, u32)],
    params: &SelectionParams,
) -> Vec<Interval> {
    let longest = textbook
        .iter()
        .map(|(start, end)| end - start)
        .max()
        .unwrap_or(0);
    let near = params.textbook_distance;
    let allowed = |contender: &Contender| {
        // Skips those that start too early to be close.
        let first = textbook.partition_point(|(start, _)| start + longest + near < contender.start);
        textbook[first..]
            .iter()
            .take_while(|(start, _)| *start <= contender.end + near)
            .all(|(start, end)| {
                if contender.start > end + near {
                    return true;
                }
                let conflict =
                    share_of_shorter((contender.start, contender.end), (*start, *end), 0.3);
                contender.probability >= params.textbook_min_probability && !conflict
            })
    };
    let interval = |(place, contender): (usize, &Contender)| {
        let length = f64::from(contender.end - contender.start + 1);
        let cut = params.neighbour_overlap * length;
        let weight = (contender.probability - params.min_probability)
            * (length / 30.0).powf(params.length_exponent);
        Interval {
            end: f64::from(contender.end + 1) - cut,
            start: f64::from(contender.start) + cut,
            weight,
            place,
        }
    };
    let likely = |(_, contender): &(usize, &Contender)| {
        contender.probability > params.min_probability
            && allowed(contender)
            && !is_beaten(contender, contenders, params)
    };
    contenders
        .iter()
        .enumerate()
        .filter(likely)
        .map(interval)
        .collect()
}

/// Adds likely contenders that partly overlap the selected ones: a flag within a channel is drawn with it.
fn add_extra(
    contenders: &[Contender],
    intervals: &[Interval],
    kept: &mut Vec<usize>,
    params: &SelectionParams,
) {
    let likely = |place: &usize| contenders[*place].probability >= params.extra_min_probability;
    let mut extra: Vec<usize> = intervals
        .iter()
        .map(|interval| interval.place)
        .filter(likely)
        .collect();
    extra.sort_by(|a, b| {
        contenders[*b]
            .probability
            .total_cmp(&contenders[*a].probability)
            .then(a.cmp(b))
    });
    let span = |place: usize| contenders[place].span();
    let mut held = Spans::new(
        contenders
            .iter()
            .map(|contender| contender.end)
            .max()
            .unwrap_or(0),
    );
    for place in kept.iter() {
        held.add(span(*place));
    }
    kept.extend(extra.into_iter().filter(|place| {
        held.add_if(span(*place), |held| {
            overlap(held, span(*place)) <= params.extra_max_overlap
        })
    }));
}

/// Overlap of two textbook patterns, as a fraction of the shorter one, at which only the better one stays.
const CONFLICT: f64 = 0.4;

/// The textbook patterns to keep. `count` is the number of valid candles.
pub(super) fn better(mut finds: Vec<FoundPattern>, count: usize) -> Vec<FoundPattern> {
    let rank = |find: &FoundPattern| find.confidence + 0.07 * find.turns.as_slice().len() as f64;
    let place = |find: &FoundPattern| (find.end(count), find.start, find.name);
    finds.sort_by(|a, b| {
        rank(b)
            .total_cmp(&rank(a))
            .then_with(|| place(a).cmp(&place(b)))
    });
    let mut held = Spans::new(count as u32);
    finds.retain(|find| {
        let span = (find.start, find.end(count));
        held.add_if(span, |held| !share_of_shorter(held, span, CONFLICT))
    });
    finds
}

/// Whether two spans share at least this fraction of the shorter one.
fn share_of_shorter(a: (u32, u32), b: (u32, u32), fraction: f64) -> bool {
    let shared = (a.1.min(b.1) + 1).saturating_sub(a.0.max(b.0));
    let shorter = (a.1 - a.0).min(b.1 - b.0) + 1;
    f64::from(shared) >= fraction * f64::from(shorter)
}

/// Sorts by end, latest first, then by descending confidence.
pub(super) fn order(finds: &mut [FoundPattern], count: usize) {
    finds.sort_by(|a, b| {
        let later = b.end(count).cmp(&a.end(count));
        later
            .then(b.confidence.total_cmp(&a.confidence))
            .then((a.start, a.name).cmp(&(b.start, b.name)))
    });
}

/// Spans of candles, indexed by place.
struct Spans(Vec<Vec<(u32, u32)>>);

impl Spans {
    /// Width of a bucket in candles.
    const BUCKET: u32 = 256;

    fn new(last: u32) -> Self {
        Self(vec![Vec::new(); (last / Self::BUCKET) as usize + 1])
    }

    fn near(&mut self, span: (u32, u32)) -> &mut [Vec<(u32, u32)>] {
        &mut self.0[(span.0 / Self::BUCKET) as usize..=(span.1 / Self::BUCKET) as usize]
    }

    fn add(&mut self, span: (u32, u32)) {
        self.near(span)
            .iter_mut()
            .for_each(|bucket| bucket.push(span));
    }

    /// Adds the span if every one near it allows that.
    fn add_if(&mut self, span: (u32, u32), allows: impl Fn((u32, u32)) -> bool) -> bool {
        let free = self.near(span).iter().flatten().all(|held| allows(*held));
        if free {
            self.add(span);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CandidateKind as K;

    /// Kinds of the contenders chosen from a rectangle over 30 candles with log odds 1 and one rival.
    fn chosen(kind: K, span: (u32, u32), log_odds: f64) -> Vec<K> {
        let contender = |kind, (start, end), log_odds: f64| Contender {
            start,
            end,
            kind,
            probability: 1.0 / (1.0 + (-log_odds).exp()),
        };
        let contenders = [
            contender(K::Rectangle, (100, 129), 1.0),
            contender(kind, span, log_odds),
        ];
        // The selection reads them in order of their starts.
        let mut ordered = contenders;
        ordered.sort_by_key(|contender| contender.start);
        choose(&ordered, &[], &SelectionParams::default())
            .into_iter()
            .map(|place| ordered[place].kind)
            .collect()
    }

    #[test]
    fn a_rectangle_must_beat_more_specific_names_on_its_span_by_a_margin() {
        for kind in [
            K::Channel,
            K::Wedge,
            K::LevelTriangle,
            K::SymmetricalTriangle,
            K::Flag,
            K::Pennant,
        ] {
            for (what, span, log_odds, expected) in [
                ("just within the margin", (100, 129), 0.71, kind),
                ("just beyond the margin", (100, 129), 0.69, K::Rectangle),
                ("18 of 30 candles, the last", (112, 129), 0.99, kind),
                ("18 of 30 candles, the first", (100, 117), 0.99, kind),
                ("30 of 50 candles, the last", (80, 129), 0.71, kind),
                ("17 of 30 candles", (113, 129), 0.5, K::Rectangle),
                ("30 of 51 candles", (79, 129), 0.5, K::Rectangle),
            ] {
                assert_eq!(chosen(kind, span, log_odds), [expected], "{kind:?}: {what}");
            }
        }
        for kind in [K::Double, K::Triple, K::Rounding, K::Broadening] {
            assert_eq!(chosen(kind, (100, 129), 0.99), [K::Rectangle], "{kind:?}");
        }
    }
}
