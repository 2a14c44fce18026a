//! Context measures of a candidate: agreeing candidates of its group, rivals of other groups on its range, smaller and larger ones, and the
//! number that start or end where it does.

use super::{Claim, candidate::CandidateKind, series::larger};

/// Number of context measures.
pub(super) const CONTEXT_MEASURES: usize = OF_ALL + GROUPS;
/// Number of those that do not depend on the rival's group.
const OF_ALL: usize = 11;
/// Number of candidate groups, see `group_of`.
const GROUPS: usize = 9;

/// Label of each measure, in a trader's words; the values for rivals, inside and around are log odds.
pub(super) const LABELS: [&str; CONTEXT_MEASURES] = [
    "its own measures combined",
    "similar candidates in its span",
    "similar candidates, on average",
    "rival in nearly the same span",
    "rival in the same span",
    "best pattern inside it",
    "best pattern around it",
    "others with the same start",
    "others with the same end",
    "likelier candidates in its span",
    "length in candles, given rivals",
    "rival double, rounding or cup",
    "opposite double, rounding or cup",
    "rival head and shoulders",
    "opposite head and shoulders",
    "rival rectangle",
    "rival channel or wedge",
    "rival triangle",
    "rival broadening formation",
    "rival flag",
];

/// Index of the measure that holds the log odds by the candidate's own measures.
pub(super) const OWN_LOGIT: usize = 0;

/// A candidate and its probability by its own measures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    pub(super) claim: Claim,
    /// Log odds of being a pattern of its kind, by its own measures.
    pub(super) logit: f64,
    pub(super) probability: f64,
}

/// Group of easily confused kinds: ranges that one chartist names this and another that. The groups of reversals are each followed by the
/// one for the opposite side.
fn group_of(kind: CandidateKind) -> usize {
    match kind {
        CandidateKind::Double | CandidateKind::Rounding | CandidateKind::Cup => 0,
        CandidateKind::HeadAndShoulders => 2,
        CandidateKind::Triple | CandidateKind::Rectangle => 4,
        CandidateKind::Channel | CandidateKind::Wedge => 5,
        CandidateKind::LevelTriangle | CandidateKind::SymmetricalTriangle => 6,
        CandidateKind::Broadening => 7,
        CandidateKind::Flag | CandidateKind::Pennant => 8,
    }
}

/// Groups below this index are those of reversals, each followed by its opposite.
const REVERSALS: usize = 4;
/// Groups in which both orientations agree: triples and rectangles, triangles, broadening formations.
const EITHER_SIDE: [usize; 3] = [4, 6, 7];

/// Overlap of two spans as intersection over union (Jaccard index).
pub fn overlap(a: (u32, u32), b: (u32, u32)) -> f64 {
    let both = (a.1.min(b.1) + 1).saturating_sub(a.0.max(b.0));
    f64::from(both) / f64::from(a.1.max(b.1) - a.0.min(b.0) + 1)
}

/// Floor of the log odds; it also stands for no candidate.
const NONE: f64 = -5.0;

/// Context measures of each candidate; `all` are ordered by start.
pub(super) fn contexts(all: &[Scored]) -> Vec<[f64; CONTEXT_MEASURES]> {
    let packed: Vec<Packed> = all.iter().map(Packed::of).collect();
    let mut contexts = vec![Context::default(); all.len()];
    // Each pair that shares a candle is visited once and updates both.
    for (k, me) in packed.iter().enumerate() {
        let (mine, theirs) = contexts[k..].split_at_mut(1);
        for (other, their) in packed[k + 1..].iter().zip(theirs) {
            if other.start > me.end {
                break;
            }
            update_both(me, other, &mut mine[0], their);
        }
    }
    packed
        .iter()
        .zip(&contexts)
        .map(|(me, context)| context.measures(me))
        .collect()
}

/// A candidate in the layout of the inner loop.
#[derive(Clone, Copy)]
struct Packed {
    start: i32,
    end: i32,
    length: i32,
    group: u8,
    flipped: bool,
    logit: f64,
    probability: f64,
}

impl Packed {
    fn of(one: &Scored) -> Self {
        let (start, end) = (one.claim.start as i32, one.claim.end as i32);
        let (group, flipped) = (group_of(one.claim.kind) as u8, one.claim.flipped);
        Self {
            start,
            end,
            length: end - start + 1,
            group,
            flipped,
            logit: one.logit,
            probability: one.probability,
        }
    }
}

/// Sums and maxima over the candidates that overlap one.
#[derive(Clone)]
struct Context {
    /// Probabilities of its group, weighted by their overlap, and their number.
    support: f64,
    supporters: f64,
    /// Log odds of the likeliest of another group on nearly its range, and on its very range.
    near: f64,
    same: f64,
    /// Log odds of the likeliest that is much shorter, and much longer.
    smaller: f64,
    larger: f64,
    /// Probabilities of those that start, and end, with it.
    starts: f64,
    ends: f64,
    /// Number of likelier ones on its range.
    better: f64,
    /// Log odds of the likeliest of each other group on its range.
    rivals: [f64; GROUPS],
}

impl Default for Context {
    fn default() -> Self {
        Self {
            support: 0.0,
            supporters: 0.0,
            near: NONE,
            same: NONE,
            smaller: NONE,
            larger: NONE,
            starts: 0.0,
            ends: 0.0,
            better: 0.0,
            rivals: [NONE; GROUPS],
        }
    }
}

/// Updates both of two candidates that share a candle; `a` starts no later than `b`.
fn update_both(a: &Packed, b: &Packed, of_a: &mut Context, of_b: &mut Context) {
    // Branch-free: the outcomes are practically random, and each candidate meets about a hundred others.
    let (b_smaller, a_smaller) = (5 * b.length < 3 * a.length, 5 * a.length < 3 * b.length);
    of_a.smaller = larger(of_a.smaller, if b_smaller { b.logit } else { NONE });
    of_b.larger = larger(of_b.larger, if b_smaller { a.logit } else { NONE });
    of_a.larger = larger(of_a.larger, if a_smaller { b.logit } else { NONE });
    of_b.smaller = larger(of_b.smaller, if a_smaller { a.logit } else { NONE });
    if b.start - a.start <= 1 {
        of_a.starts += b.probability;
        of_b.starts += a.probability;
    }
    if (b.end - a.end).abs() <= 1 {
        of_a.ends += b.probability;
        of_b.ends += a.probability;
    }
    let both = a.end.min(b.end) - b.start + 1;
    let all = a.length + b.length - both;
    if 10 * both < 3 * all {
        return;
    }
    let shared = f64::from(both) / f64::from(all);
    if shared > 0.4 {
        of_a.better += f64::from(u8::from(b.logit > a.logit));
        of_b.better += f64::from(u8::from(a.logit > b.logit));
    }
    let same_side = a.flipped == b.flipped;
    if a.group == b.group && (same_side || EITHER_SIDE.contains(&usize::from(a.group))) {
        if shared > 0.4 {
            let alike = ((shared - 0.4) / 0.4).min(1.0);
            of_a.support += b.probability * alike;
            of_b.support += a.probability * alike;
            of_a.supporters += 1.0;
            of_b.supporters += 1.0;
        }
        return;
    }
    of_a.rival(b, shared, same_side);
    of_b.rival(a, shared, same_side);
}

impl Context {
    /// Records a candidate of another group on about the same range.
    fn rival(&mut self, other: &Packed, shared: f64, same_side: bool) {
        self.near = larger(self.near, other.logit);
        if shared >= 0.5 {
            let other_side = !same_side && usize::from(other.group) < REVERSALS;
            let group = &mut self.rivals[usize::from(other.group) + usize::from(other_side)];
            *group = larger(*group, other.logit);
            if shared >= 0.6 {
                self.same = larger(self.same, other.logit);
            }
        }
    }

    fn measures(&self, me: &Packed) -> [f64; CONTEXT_MEASURES] {
        let Self {
            support,
            supporters,
            near,
            same,
            smaller,
            larger,
            starts,
            ends,
            better,
            rivals,
        } = *self;
        let length = f64::from(me.length);
        let mut measures = [0.0; CONTEXT_MEASURES];
        measures[..OF_ALL].copy_from_slice(&[
            me.logit,
            support,
            support / (supporters + 2.0),
            near,
            same,
            smaller,
            larger,
            starts,
            ends,
            better,
            length,
        ]);
        measures[OF_ALL..].copy_from_slice(&rivals);
        measures
    }
}
