//! What made a confidence, in a trader's words.

use super::{Likely, MEASURES, Model, company, measures};
use crate::analysis::{numeric::finite, patterns::Reason};

/// So many parts are told.
const MOST: usize = 12;

/// The parts of a confidence, the largest first.
pub(super) fn why(model: &Model, one: &Likely, measured: &[f64; MEASURES]) -> Vec<Reason> {
    let (own, company) = (&model.own[one.claim.kind as usize], &model.company[one.claim.kind as usize]);
    let first = own.parts(measured).map(|(measure, value, adds)| (measures::word(one.claim.kind, measure), value, adds));
    let second = company.parts(&one.company).map(|(measure, value, adds)| (company::WORDS[measure], value, adds));
    let mut parts: Vec<Reason> =
        first.chain(second).map(|(measure, value, adds)| Reason { measure, value: finite(value), contribution: finite(adds) }).collect();
    parts.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
    parts.truncate(MOST);
    parts
}
