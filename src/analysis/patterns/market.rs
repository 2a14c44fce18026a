//! Patterns as chartists mark them on real markets. A wide search proposes stretches of candles; a model that was fitted to marks of
//! chartists says how likely each is what its kind says, first by its own measures, then by the company it keeps; the best set that
//! does not overlap is answered. `cargo bench --bench accuracy -- charts` fits the model and measures it on tokens it has not seen.

mod bowl;
mod candidate;
mod choice;
mod coefficients;
mod company;
mod explain;
mod flag;
mod lines;
mod measures;
mod model;
mod pivots;
mod reversal;
mod search;

use self::candidate::Candidate;
pub use self::{
    candidate::Kind,
    choice::Rule,
    company::{COMPANY, overlap},
    measures::{ALL as MEASURES, is_quick},
    model::{Curve, Judge, KNOTS, Model, OWN_LEAST, SIEVE_LEAST, place},
};
use super::{
    find::{Edge, Find, Pivot as Turn, Turns},
    name,
    name::PatternName,
    series,
    series::Series,
};
use crate::{analysis::numeric::Line, dataset::candles::Candles};

/// A stretch that may be a pattern, and what was measured of it: what the model is fitted on.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub name: PatternName,
    pub kind: Kind,
    pub flipped: bool,
    /// Among the valid candles.
    pub start: u32,
    pub end: u32,
    pub measures: [f64; MEASURES],
}

/// All that the search proposes.
pub fn proposals(candles: &Candles<'_>) -> Vec<Proposal> {
    let Some(series) = Series::of(candles, super::CANDLES_LEAST) else {
        return Vec::new();
    };
    let proposal = |candidate: &Candidate| {
        let tape = series.tape(candidate.flipped);
        let mut measures = measures::quick(tape, candidate);
        measures::complete(tape, candidate, &mut measures);
        let Candidate { kind, flipped, start, end, .. } = *candidate;
        Proposal { name: candidate.name(), kind, flipped, start, end, measures }
    };
    search::all(&series).iter().map(proposal).collect()
}

/// Of those that say the same of the same stretch the likeliest by its quick measures; what is far off is left out.
pub fn sieve<'a>(model: &Model, proposals: impl Iterator<Item = (Kind, bool, u32, u32, &'a [f64; MEASURES])>) -> Vec<usize> {
    // What it says of which stretch, its logit and its place.
    type Kept = ((u32, u32, Kind, bool), f64, usize);
    let mut kept: Vec<Kept> = Vec::new();
    for (place, (kind, flipped, start, end, measures)) in proposals.enumerate() {
        let logit = model.sieve[kind as usize].logit(measures);
        if logit >= model::SIEVE_LEAST {
            kept.push(((start, end, kind, flipped), logit, place));
        }
    }
    kept.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    kept.dedup_by_key(|one| one.0);
    kept.into_iter().map(|one| one.2).collect()
}

/// A proposal that is not too unlikely by its own measures, and the company it keeps.
#[derive(Debug, Clone)]
pub struct Likely {
    /// Its place among the proposals.
    pub place: usize,
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
    pub company: [f64; COMPANY],
}

/// Those that all their measures leave likely, with their company. The proposals are ordered by start.
pub fn likely<'a>(model: &Model, proposals: impl Iterator<Item = (usize, Kind, bool, u32, u32, &'a [f64; MEASURES])>) -> Vec<Likely> {
    let mut places = Vec::new();
    let mut scored: Vec<company::Scored> = Vec::new();
    for (place, kind, flipped, start, end, measures) in proposals {
        let logit = model.own[kind as usize].logit(measures);
        if logit >= model::OWN_LEAST {
            places.push(place);
            scored.push(company::Scored { kind, flipped, start, end, logit, chance: model::share(logit) });
        }
    }
    let (places, scored) = thinned(&places, &scored);
    let companies = company::company(&scored);
    let likely =
        |((place, one), company): ((usize, &company::Scored), _)| Likely { place, kind: one.kind, start: one.start, end: one.end, company };
    places.into_iter().zip(&scored).zip(companies).map(likely).collect()
}

/// Without those that say what a likelier one says of a stretch that differs by a candle.
fn thinned(places: &[usize], scored: &[company::Scored]) -> (Vec<usize>, Vec<company::Scored>) {
    let mut kept = vec![true; scored.len()];
    for (k, one) in scored.iter().enumerate() {
        for (j, other) in scored.iter().enumerate().skip(k + 1) {
            if other.start > one.start + 1 {
                break;
            }
            if other.kind == one.kind && other.flipped == one.flipped && other.end.abs_diff(one.end) <= 1 {
                kept[if other.logit > one.logit { k } else { j }] = false;
            }
        }
    }
    let left = (0..scored.len()).filter(|k| kept[*k]);
    left.map(|k| (places[k], scored[k])).unzip()
}

/// What is answered, of the stretches that the textbook leaves free.
pub(super) fn finds(series: &Series, model: &Model, taken: &[(u32, u32)], explain: bool) -> Vec<Find> {
    let candidates = search::all(series);
    let mut measured: Vec<[f64; MEASURES]> =
        candidates.iter().map(|candidate| measures::quick(series.tape(candidate.flipped), candidate)).collect();
    let kept = sieve(model, candidates.iter().zip(&measured).map(|(c, m)| (c.kind, c.flipped, c.start, c.end, m)));
    for &k in &kept {
        measures::complete(series.tape(candidates[k].flipped), &candidates[k], &mut measured[k]);
    }
    let likely = likely(
        model,
        kept.iter().map(|&k| {
            let candidate = &candidates[k];
            (k, candidate.kind, candidate.flipped, candidate.start, candidate.end, &measured[k])
        }),
    );
    let offer = |one: &Likely| choice::Offer {
        start: one.start,
        end: one.end,
        chance: model::share(model.company[one.kind as usize].logit(&one.company)),
    };
    let offers: Vec<choice::Offer> = likely.iter().map(offer).collect();
    let told = |k: usize| {
        let one = &likely[k];
        let mut find = find(series, &candidates[one.place], offers[k].chance);
        if explain {
            find.why = explain::why(model, one, &measured[one.place]);
        }
        find
    };
    choice::choose(&offers, taken, &model.rule).into_iter().map(told).collect()
}

/// Upright, with lines over the slots of the frame.
fn find(series: &Series, candidate: &Candidate, confidence: f64) -> Find {
    let upright = if candidate.flipped { candidate.turned() } else { *candidate };
    let (first, end) = (upright.turns.first().at, upright.end);
    let slot = |at: u32| series.slot[at as usize];
    let line = |line: Line| {
        let x = f64::from(end - first);
        Line::through((0.0, line.at(0.0)), (f64::from(slot(end) - slot(first)), line.at(x)))
    };
    let mut turns = Turns::new();
    for turn in upright.turns.as_slice() {
        let extreme = if turn.high { series.way.high[turn.at as usize] } else { series.way.low[turn.at as usize] };
        turns.push(Turn { at: turn.at, slot: slot(turn.at), price: extreme, high: turn.high, fresh: false });
    }
    let edge = |breaks: bool, of: Line| if breaks { Edge::Breaks(line(of)) } else { Edge::Voids(line(of)) };
    let both = candidate.kind.breaks_both_ways();
    Find {
        name: candidate.name(),
        turns,
        start: upright.start,
        breakout: upright.broken.then_some(end),
        up: upright.up,
        level: upright.level(end),
        height: candidate.reach(),
        completion: if upright.broken { 100.0 } else { completion(series, &upright) },
        confidence,
        upper: edge(both || upright.up, upright.upper),
        lower: edge(both || !upright.up, upright.lower),
        why: Vec::new(),
    }
}

/// Of one that forms: its turns, and the share of the way from the last one to the boundary, of the turns and the breakout.
fn completion(series: &Series, upright: &Candidate) -> f64 {
    let last = upright.turns.last();
    let side = if last.high { upright.lower } else { upright.upper }.at(f64::from(upright.end - upright.turns.first().at));
    let way = side - last.price;
    let share = if way == 0.0 { 0.0 } else { ((series.way.close[upright.end as usize] - last.price) / way).clamp(0.0, 0.999) };
    let turns = upright.turns.as_slice().len() as f64;
    100.0 * (turns + share) / (turns + 1.0)
}
