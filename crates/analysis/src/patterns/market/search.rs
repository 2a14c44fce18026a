//! Candidate search: every scale and every family in turn.

use super::{
    Claim, bowl,
    candidate::{CandidateKind, OWN, PatternCandidate},
    flag, lines, measures,
    model::{AdditiveModel, SIEVE_MIN_LOGIT},
    pivots::{self, PivotScale},
    reversal,
    series::{CandleSeries, LogPrices},
    zigzag::Pivot,
};

/// Collector of the families' candidates.
pub(super) struct Candidates<'a> {
    series: &'a CandleSeries,
    /// First-stage models that reject unlikely candidates at once; without them all are kept.
    sieve: Option<&'a [AdditiveModel]>,
    /// Whether the prices being searched are the upside-down ones.
    flipped: bool,
    /// Kept candidates; with a sieve, only the likeliest of each claim.
    pub(super) kept: Vec<PatternCandidate>,
    /// Log odds of the kept candidates.
    logits: Vec<f64>,
    /// Linked lists by start candle: the newest kept candidate of each, and for each kept one the next older.
    newest: Vec<u32>,
    older: Vec<u32>,
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
    fn new(series: &'a CandleSeries, sieve: Option<&'a [AdditiveModel]>) -> Self {
        // Some series have more than two for each candle. Growing would copy them; room that is not used costs nothing.
        let room = if sieve.is_some() { 3 * series.len() } else { 0 };
        Self {
            series,
            sieve,
            flipped: false,
            kept: Vec::with_capacity(room),
            logits: Vec::with_capacity(room),
            newest: vec![NONE; series.len()],
            older: Vec::with_capacity(room),
            measures: [0.0; measures::ALL],
        }
    }

    pub(super) fn push(&mut self, candidate: &PatternCandidate) {
        let PatternCandidate {
            kind,
            flipped,
            start,
            end,
            broken,
            height,
            ..
        } = *candidate;
        self.offer(
            kind,
            flipped,
            CandidateSpan {
                start,
                end,
                broken,
                height,
            },
            &candidate.own,
            || *candidate,
        );
    }

    /// Makes and keeps a candidate, as seen in the prices being searched, unless its cheap measures reject it or a kept one of the same claim
    /// is as likely.
    pub(super) fn offer(
        &mut self,
        kind: CandidateKind,
        flipped: bool,
        span: CandidateSpan,
        own: &[f64; OWN],
        made: impl FnOnce() -> PatternCandidate,
    ) {
        let flipped = flipped ^ self.flipped;
        let Some(logit) = self.sieve_logit(kind, flipped, span, own) else {
            return;
        };
        let claim = Claim {
            start: span.start,
            end: span.end,
            kind,
            flipped,
        };
        let known = self.sieve.and_then(|_| {
            self.starting_at(claim.start)
                .find(|place| self.kept[*place].claim() == claim)
        });
        if known.is_some_and(|known| logit <= self.logits[known]) {
            return;
        }
        let mut candidate = made();
        candidate.flipped = flipped;
        if let Some(known) = known {
            (self.kept[known], self.logits[known]) = (candidate, logit);
            return;
        }
        let newest = &mut self.newest[claim.start as usize];
        self.older.push(*newest);
        *newest = self.kept.len() as u32;
        self.kept.push(candidate);
        self.logits.push(logit);
    }

    /// Log odds by the cheap measures; `None` if the candidate is rejected.
    fn sieve_logit(
        &mut self,
        kind: CandidateKind,
        flipped: bool,
        span: CandidateSpan,
        own: &[f64; OWN],
    ) -> Option<f64> {
        let Some(models) = self.sieve else {
            return Some(0.0);
        };
        measures::quick(
            self.series.oriented(flipped),
            flipped,
            span,
            own,
            &mut self.measures,
        );
        models[kind as usize].at_least(&self.measures, SIEVE_MIN_LOGIT)
    }

    /// Indices of the kept candidates that start at a candle, the newest first.
    fn starting_at(&self, start: u32) -> impl Iterator<Item = usize> {
        let place = |link: u32| (link != NONE).then_some(link as usize);
        std::iter::successors(place(self.newest[start as usize]), move |newer| {
            place(self.older[*newer])
        })
    }

    /// Indices of the kept candidates, in order of their claims.
    pub(super) fn in_order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.kept.len());
        for start in 0..self.newest.len() as u32 {
            let first = order.len();
            order.extend(self.starting_at(start));
            order[first..].sort_unstable_by_key(|place| self.kept[*place].claim());
        }
        order
    }
}

/// All candidates, overlapping; with a sieve, only the likely ones.
pub(super) fn all<'a>(
    series: &'a CandleSeries,
    sieve: Option<&'a [AdditiveModel]>,
) -> Candidates<'a> {
    let scales = pivots::scales(&series.upright);
    let mut found = Candidates::new(series, sieve);
    for scale in &scales {
        lines::search(&series.upright, scale, &mut found);
    }
    for flipped in [false, true] {
        found.flipped = flipped;
        search_oriented(series.oriented(flipped), &scales, &mut found);
    }
    found
}

/// Searches the families whose mirrored forms have names of their own.
fn search_oriented(prices: &LogPrices, scales: &[PivotScale], found: &mut Candidates<'_>) {
    let mut tops = Vec::new();
    let mut turned: Vec<Pivot> = Vec::new();
    for scale in scales {
        turned.clear();
        turned.extend(scale.pivots.iter().map(|pivot| {
            if found.flipped {
                pivot.mirrored()
            } else {
                *pivot
            }
        }));
        reversal::search(prices, &turned, scale, found);
        bowl::search(prices, &turned, scale, found);
        tops.extend(
            turned
                .iter()
                .filter(|pivot| pivot.high)
                .map(|pivot| pivot.at),
        );
    }
    tops.sort_unstable();
    tops.dedup();
    flag::search(prices, &tops, found);
}
