//! Every scale and every family in turn.

use super::{
    bowl,
    candidate::Candidate,
    flag, lines,
    pivots::{self, Pivot, Scale},
    reversal,
    series::{Series, Tape},
};

/// All stretches that may be a pattern, overlapping.
pub(super) fn all(series: &Series) -> Vec<Candidate> {
    let scales = pivots::scales(&series.way);
    let mut found = Vec::new();
    for scale in &scales {
        lines::search(&series.way, scale, &mut found);
    }
    for flipped in [false, true] {
        let from = found.len();
        one_way(series.tape(flipped), &scales, flipped, &mut found);
        for candidate in &mut found[from..] {
            candidate.flipped = flipped;
        }
    }
    found
}

/// The families whose mirrors have names of their own.
fn one_way(tape: &Tape, scales: &[Scale], flipped: bool, found: &mut Vec<Candidate>) {
    let mut tops = Vec::new();
    let mut turned: Vec<Pivot> = Vec::new();
    for scale in scales {
        turned.clear();
        turned.extend(scale.pivots.iter().map(|pivot| if flipped { pivot.mirrored() } else { *pivot }));
        reversal::search(tape, &turned, scale, found);
        bowl::search(tape, &turned, scale, found);
        tops.extend(turned.iter().filter(|pivot| pivot.high).map(|pivot| pivot.at));
    }
    tops.sort_unstable();
    tops.dedup();
    flag::search(tape, &tops, found);
}
