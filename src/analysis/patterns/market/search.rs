//! Every scale and every family in turn.

use super::{
    bowl,
    candidate::Candidate,
    flag, lines, measures,
    model::{Judge, SIEVE_LEAST},
    pivots::{self, Pivot, Scale},
    reversal,
    series::{Series, Tape},
    zigzag::Extreme as _,
};

/// What the families hand their candidates to.
pub(super) struct Found<'a> {
    pub(super) series: &'a Series,
    /// By their quick measures the far-off ones are dropped at once; all are kept without judges.
    sieve: Option<&'a [Judge]>,
    /// Whether the tape that is searched is the one upside down.
    flipped: bool,
    pub(super) kept: Vec<Candidate>,
    /// The logits of those kept, where there are judges.
    pub(super) logits: Vec<f64>,
}

impl Found<'_> {
    pub(super) fn push(&mut self, mut candidate: Candidate) {
        candidate.flipped ^= self.flipped;
        if let Some(judges) = self.sieve {
            let measures = measures::quick(self.series.tape(candidate.flipped), &candidate);
            let Some(logit) = judges[candidate.kind as usize].at_least(&measures, SIEVE_LEAST) else { return };
            self.logits.push(logit);
        }
        self.kept.push(candidate);
    }
}

/// The stretches that may be a pattern, overlapping; with judges only those that these leave likely.
pub(super) fn all<'a>(series: &'a Series, sieve: Option<&'a [Judge]>) -> Found<'a> {
    let scales = pivots::scales(&series.way);
    let mut found = Found { series, sieve, flipped: false, kept: Vec::new(), logits: Vec::new() };
    for scale in &scales {
        lines::search(&series.way, scale, &mut found);
    }
    for flipped in [false, true] {
        found.flipped = flipped;
        one_way(series.tape(flipped), &scales, &mut found);
    }
    found
}

/// The families whose mirrors have names of their own.
fn one_way(tape: &Tape, scales: &[Scale], found: &mut Found<'_>) {
    let mut tops = Vec::new();
    let mut turned: Vec<Pivot> = Vec::new();
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
