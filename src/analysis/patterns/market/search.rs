//! Candidate search: every scale and every family in turn.

use super::{
    bowl,
    candidate::{CandidateKind, OWN, PatternCandidate},
    flag, lines, measures,
    model::{Judge, SIEVE_LEAST},
    pivots::{self, PivotScale, TapePivot},
    reversal,
    series::{CandleSeries, Tape},
    zigzag::Extreme as _,
};

/// Collector of the families' candidates.
pub(super) struct Candidates<'a> {
    series: &'a CandleSeries,
    /// First-stage models that reject unlikely candidates at once; without them all are kept.
    sieve: Option<&'a [Judge]>,
    /// Whether the tape being searched is the upside-down one.
    flipped: bool,
    /// Kept candidates; with a sieve, only the likeliest of each claim.
    pub(super) kept: Vec<PatternCandidate>,
    /// Log odds of the kept candidates.
    logits: Vec<f64>,
    /// Linked lists by start candle: the last kept candidate of each, and for each kept one its predecessor.
    last: Vec<u32>,
    before: Vec<u32>,
    /// Buffer for the cheap measures.
    measures: [f64; measures::ALL],
}

/// End of a linked list.
const NONE: u32 = u32::MAX;

/// Inputs of the cheap measures.
#[derive(Clone, Copy)]
pub(super) struct CandidateSpan {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) broken: bool,
    pub(super) height: f64,
}

impl<'a> Candidates<'a> {
    fn new(series: &'a CandleSeries, sieve: Option<&'a [Judge]>) -> Self {
        let room = if sieve.is_some() { 2 * series.len() } else { 0 };
        Self {
            series,
            sieve,
            flipped: false,
            kept: Vec::with_capacity(room),
            logits: Vec::with_capacity(room),
            last: vec![NONE; series.len()],
            before: Vec::with_capacity(room),
            measures: [0.0; measures::ALL],
        }
    }

    pub(super) fn push(&mut self, candidate: &PatternCandidate) {
        let PatternCandidate { kind, flipped, start, end, broken, height, .. } = *candidate;
        if let Some(logit) = self.weigh(kind, flipped, CandidateSpan { start, end, broken, height }, &candidate.own) {
            self.keep(candidate, logit);
        }
    }

    /// Log odds by the cheap measures, as seen on the tape being searched; `None` if the candidate is rejected.
    pub(super) fn weigh(&mut self, kind: CandidateKind, flipped: bool, span: CandidateSpan, own: &[f64; OWN]) -> Option<f64> {
        let Some(judges) = self.sieve else { return Some(0.0) };
        let flipped = flipped ^ self.flipped;
        measures::quick(self.series.tape(flipped), flipped, span, own, &mut self.measures);
        judges[kind as usize].at_least(&self.measures, SIEVE_LEAST)
    }

    pub(super) fn keep(&mut self, candidate: &PatternCandidate, logit: f64) {
        let candidate = PatternCandidate { flipped: candidate.flipped ^ self.flipped, ..*candidate };
        let last = &mut self.last[candidate.start as usize];
        if self.sieve.is_some() {
            let claim = candidate.claim();
            let mut at = *last;
            while let Some(other) = self.kept.get(at as usize) {
                if other.claim() == claim {
                    if logit > self.logits[at as usize] {
                        (self.kept[at as usize], self.logits[at as usize]) = (candidate, logit);
                    }
                    return;
                }
                at = self.before[at as usize];
            }
        }
        self.before.push(*last);
        *last = self.kept.len() as u32;
        self.kept.push(candidate);
        self.logits.push(logit);
    }

    /// Indices of the kept candidates, in order of their claims.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.kept.len());
        for last in &self.last {
            let (first, mut at) = (order.len(), *last);
            while at != NONE {
                order.push(at);
                at = self.before[at as usize];
            }
            order[first..].sort_unstable_by_key(|place| self.kept[*place as usize].claim());
        }
        order
    }
}

/// All candidates, overlapping; with a sieve, only the likely ones.
pub(super) fn all<'a>(series: &'a CandleSeries, sieve: Option<&'a [Judge]>) -> Candidates<'a> {
    let scales = pivots::scales(&series.way);
    let mut found = Candidates::new(series, sieve);
    for scale in &scales {
        lines::search(&series.way, scale, &mut found);
    }
    for flipped in [false, true] {
        found.flipped = flipped;
        one_way(series.tape(flipped), &scales, &mut found);
    }
    found
}

/// Searches the families whose mirrored forms have names of their own.
fn one_way(tape: &Tape, scales: &[PivotScale], found: &mut Candidates<'_>) {
    let mut tops = Vec::new();
    let mut turned: Vec<TapePivot> = Vec::new();
    for scale in scales {
        turned.clear();
        turned.extend(scale.pivots.iter().map(|pivot| if found.flipped { pivot.mirrored() } else { *pivot }));
        reversal::search(tape, &turned, scale, found);
        bowl::search(tape, &turned, scale, found);
        tops.extend(turned.iter().filter(|pivot| pivot.high).map(|pivot| pivot.at));
    }
    tops.sort_unstable();
    tops.dedup();
    flag::search(tape, &tops, found);
}
