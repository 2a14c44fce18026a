//! Patterns as chartists mark them on real markets. A wide search proposes candidates; a logistic model, fitted to chartists' marks,
//! keeps those that are likely by their own measures; boosted trees judge these by the candidates around them, too; the best non-overlapping set
//! is returned. `cargo bench --bench accuracy -- charts` fits the model and evaluates it on held-out tokens.

mod bowl;
mod candidate;
mod coefficients;
mod context;
mod flag;
mod lines;
mod measure_table;
mod measures;
mod model;
mod pivots;
mod reversal;
mod search;
mod side;
mod trees;

use self::candidate::{PatternCandidate, PatternEnd};
use super::{
    Reason,
    find::{self, BoundaryLine, FoundPattern, covered},
    name::{self, PatternName},
    overlap,
    series::{self, CandleSeries},
    zigzag::{self, Pivot},
};
use crate::numeric::{Line, finite, sigmoid};
use ::model::candles::Candles;

pub use self::{
    candidate::CandidateKind,
    context::overlap,
    measures::{ALL as MEASURES, is_quick},
    model::{
        AdditiveModel, Calibration, Curve, KNOTS, Model, OWN_MIN_LOGIT, SIEVE_MIN_LOGIT,
        knot_interval,
    },
    trees::{JUDGED, LEAVES_MOST, TreeNode, TreeSplit, Trees},
};
pub use super::overlap::SelectionParams;

/// A candidate and its measures: the training input of the model.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub name: PatternName,
    pub claim: Claim,
    pub measures: [f64; MEASURES],
}

/// All candidates of the search.
pub fn proposals(candles: &Candles<'_>) -> Vec<Proposal> {
    let Some(series) = CandleSeries::of(candles, super::CANDLES_LEAST) else {
        return Vec::new();
    };
    let proposal = |candidate: &PatternCandidate| Proposal {
        name: candidate.name(),
        claim: candidate.claim(),
        measures: measures::all(series.oriented(candidate.flipped), candidate),
    };
    search::all(&series, None)
        .kept
        .iter()
        .map(proposal)
        .collect()
}

/// A pattern kind claimed for a range of candles. Ordered by start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Index among the valid candles.
    pub start: u32,
    pub end: u32,
    pub kind: CandidateKind,
    /// Whether it is the falling form: the rising one upside down.
    pub flipped: bool,
}

/// Indices of the proposals above the sieve's threshold by their quick measures, deduplicated by claim: the likeliest of each.
pub fn sieve(model: &Model, proposals: &[Proposal]) -> Vec<usize> {
    let logit = |proposal: &Proposal| {
        model.sieve[proposal.claim.kind as usize]
            .at_least(&proposal.measures, model::SIEVE_MIN_LOGIT)
    };
    let kept = proposals
        .iter()
        .enumerate()
        .filter_map(|(place, proposal)| Some((proposal.claim, logit(proposal)?, place)));
    likeliest(kept.collect())
}

/// Deduplicates by claim, keeping the highest logit, then the lowest index. Returns the indices in order of the claims.
fn likeliest(mut kept: Vec<(Claim, f64, usize)>) -> Vec<usize> {
    kept.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    kept.dedup_by_key(|one| one.0);
    kept.into_iter().map(|one| one.2).collect()
}

/// A proposal above the threshold by its own measures, with all that it is judged by.
#[derive(Debug, Clone)]
pub struct ScoredCandidate {
    /// Index among the proposals.
    pub place: usize,
    pub claim: Claim,
    /// Log odds by its own measures.
    logit: f64,
    /// The measures of those around it, then its own.
    pub measures: [f64; JUDGED],
}

impl ScoredCandidate {
    /// One whose surroundings are not known yet.
    fn new(place: usize, claim: Claim, logit: f64, own: &[f64; MEASURES]) -> Self {
        let mut measures = [0.0; JUDGED];
        measures[JUDGED - MEASURES..].copy_from_slice(own);
        Self {
            place,
            claim,
            logit,
            measures,
        }
    }
}

/// The proposals above the threshold by all their own measures, with those of the others around them. In order of the claims.
pub fn likely(model: &Model, proposals: &[Proposal], places: &[usize]) -> Vec<ScoredCandidate> {
    let likely = |place: &usize| {
        let Proposal {
            claim, measures, ..
        } = &proposals[*place];
        let logit = model.own[claim.kind as usize].at_least(measures, model::OWN_MIN_LOGIT)?;
        Some(ScoredCandidate::new(*place, *claim, logit, measures))
    };
    with_context(places.iter().filter_map(likely).collect())
}

/// Drops near duplicates, and measures what is around the others.
fn with_context(mut likely: Vec<ScoredCandidate>) -> Vec<ScoredCandidate> {
    let mut unique = not_near_duplicates(&likely).into_iter();
    likely.retain(|_| unique.next() == Some(true));
    let scored = |one: &ScoredCandidate| context::Scored {
        claim: one.claim,
        logit: one.logit,
        probability: sigmoid(one.logit),
    };
    let contexts = context::contexts(&likely.iter().map(scored).collect::<Vec<_>>());
    for (one, context) in likely.iter_mut().zip(contexts) {
        one.measures[..context.len()].copy_from_slice(&context);
    }
    likely
}

/// Whether each has no likelier one of the same kind whose start and end differ by at most one candle.
fn not_near_duplicates(of: &[ScoredCandidate]) -> Vec<bool> {
    let mut unique = vec![true; of.len()];
    for (k, one) in of.iter().enumerate() {
        for (j, other) in of.iter().enumerate().skip(k + 1) {
            let (mine, theirs) = (one.claim, other.claim);
            if theirs.start > mine.start + 1 {
                break;
            }
            if theirs.kind == mine.kind
                && theirs.flipped == mine.flipped
                && theirs.end.abs_diff(mine.end) <= 1
            {
                unique[if other.logit > one.logit { k } else { j }] = false;
            }
        }
    }
    unique
}

/// Detected patterns in the ranges not `taken` by textbook patterns.
pub(super) fn finds(
    series: &CandleSeries,
    model: &Model,
    taken: &[(u32, u32)],
    explain: bool,
) -> Vec<FoundPattern> {
    let found = search::all(series, Some(&model.sieve));
    let mut measured = [0.0; MEASURES];
    let mut judged = |place: usize| {
        let candidate = &found.kept[place];
        let (prices, own) = (
            series.oriented(candidate.flipped),
            &model.own[candidate.kind as usize],
        );
        measures::all_but_thorough(prices, candidate, &mut measured);
        let first = own.without_thorough(&measured, model::OWN_MIN_LOGIT)?;
        measures::thorough(prices, candidate, &mut measured);
        let logit = own.with_thorough(&measured, first, model::OWN_MIN_LOGIT)?;
        Some(ScoredCandidate::new(
            place,
            candidate.claim(),
            logit,
            &measured,
        ))
    };
    let likely = with_context(
        found
            .in_order()
            .into_iter()
            .filter_map(&mut judged)
            .collect(),
    );
    let logits = model.trees.logits(likely.iter().map(|one| &one.measures));
    let of_likely = likely.iter().zip(logits);
    let ended: Vec<(&ScoredCandidate, f64, PatternEnd)> = of_likely
        .filter_map(|(one, logit)| Some((one, logit, broken_out(series, &found.kept[one.place])?)))
        .collect();
    let contender = |(one, logit, end): &(&ScoredCandidate, f64, PatternEnd)| overlap::Contender {
        start: one.claim.start,
        end: end.at as u32,
        kind: one.claim.kind,
        probability: sigmoid(*logit),
    };
    let contenders: Vec<overlap::Contender> = ended.iter().map(contender).collect();
    let pattern = |k: usize| {
        let (one, logit, end) = ended[k];
        let candidate = PatternCandidate {
            end: end.at as u32,
            broken: end.broken,
            ..found.kept[one.place]
        };
        let odds = model.calibration.logit(candidate.name(), logit);
        let mut find = pattern_of(series, &candidate, sigmoid(odds));
        if explain {
            find.why = why(model, one, candidate.name(), odds);
        }
        find
    };
    overlap::choose(&contenders, taken, &model.selection)
        .into_iter()
        .map(pattern)
        .collect()
}

/// Closes that came back this far behind the other boundary, in heights, end a pattern that was not confirmed.
const BACK_MOST: f64 = 0.1;

/// Where the candidate ends by its boundary: at the first close beyond it. The model may end it a little earlier, at a close just short of the
/// boundary, where chartists mark it; until then it forms. `None` where it came back first, or took as long again as it had lasted.
fn broken_out(series: &CandleSeries, candidate: &PatternCandidate) -> Option<PatternEnd> {
    if !candidate.broken {
        return Some(PatternEnd {
            at: candidate.end as usize,
            broken: false,
        });
    }
    let closes = &series.oriented(candidate.flipped).close;
    let (side, last) = (if candidate.up { 1.0 } else { -1.0 }, closes.len() - 1);
    let opposite = PatternCandidate {
        up: !candidate.up,
        ..*candidate
    };
    let patience = (2 * candidate.end - candidate.start) as usize;
    for at in candidate.end..=last.min(patience) as u32 {
        let close = closes[at as usize];
        if side * (close - candidate.level(at)) > 0.0 {
            return Some(PatternEnd {
                at: at as usize,
                broken: true,
            });
        }
        if side * (close - opposite.level(at)) < -BACK_MOST * candidate.height {
            return None;
        }
    }
    (patience > last).then_some(PatternEnd {
        at: last,
        broken: false,
    })
}

/// Converts a candidate to a pattern: upright, with lines over the slots of the timeframe.
fn pattern_of(
    series: &CandleSeries,
    candidate: &PatternCandidate,
    confidence: f64,
) -> FoundPattern {
    let upright = if candidate.flipped {
        candidate.mirrored()
    } else {
        *candidate
    };
    let (first, end) = (upright.turns.first().at, upright.end);
    let slot = |at: u32| series.slot[at as usize];
    let line = |line: Line| {
        let x = f64::from(end - first);
        Line::through(
            (0.0, line.at(0.0)),
            (f64::from(slot(end) - slot(first)), line.at(x)),
        )
    };
    let turn = |pivot: &Pivot| {
        let extreme = if pivot.high {
            series.upright.high[pivot.at as usize]
        } else {
            series.upright.low[pivot.at as usize]
        };
        Pivot {
            slot: slot(pivot.at),
            price: extreme,
            ..*pivot
        }
    };
    let edge = |breaks: bool, of: Line| {
        if breaks {
            BoundaryLine::Breaks(line(of))
        } else {
            BoundaryLine::Voids(line(of))
        }
    };
    let both = candidate.kind.breaks_both_ways();
    FoundPattern {
        name: candidate.name(),
        turns: upright.turns.as_slice().iter().map(turn).collect(),
        start: upright.start,
        breakout: upright.broken.then_some(end),
        up: upright.up,
        level: upright.level(end),
        height: candidate.reach(),
        completion: if upright.broken {
            100.0
        } else {
            completion(series, &upright)
        },
        confidence,
        upper: edge(both || upright.up, upright.upper),
        lower: edge(both || !upright.up, upright.lower),
        why: Vec::new(),
    }
}

/// Completion of a forming pattern in percent: its turns, plus the share of the way from the last turn to the boundary, over turns + 1 (the
/// breakout).
fn completion(series: &CandleSeries, upright: &PatternCandidate) -> f64 {
    let last = upright.turns.last();
    let side = if last.high {
        upright.lower
    } else {
        upright.upper
    }
    .at(f64::from(upright.end - upright.turns.first().at));
    let share = covered(last.price, side, series.upright.close[upright.end as usize]);
    let turns = upright.turns.as_slice().len() as f64;
    100.0 * (turns + share) / (turns + 1.0)
}

/// Maximum number of contributions listed individually.
const REASONS_MAX: usize = 12;

/// Label of what a name contributes.
const OF_NAME: &str = "how often charts confirm this name";

/// Contributions to the log odds `odds`, the largest first, and the remainder. Those of its own measures are listed one by one.
fn why(model: &Model, one: &ScoredCandidate, name: PatternName, odds: f64) -> Vec<Reason> {
    let (around, own) = one.measures.split_at(context::LABELS.len());
    let adds = model.trees.parts(&one.measures);
    let mut of_own = [0.0; MEASURES];
    of_own.copy_from_slice(&adds[around.len()..]);
    for (measure, _, adds) in model.own[one.claim.kind as usize].parts(own) {
        of_own[measure] += adds;
    }
    let (slope, of_name) = (model.calibration.slope, model.calibration.offset(name));
    let first = (0..MEASURES).map(|measure| {
        (
            measure_table::label(one.claim.kind, measure),
            own[measure],
            of_own[measure],
        )
    });
    let others = (0..around.len()).filter(|measure| *measure != context::OWN_LOGIT);
    let second = others.map(|measure| (context::LABELS[measure], around[measure], adds[measure]));
    let told = first.chain(second).filter(|(.., adds)| *adds != 0.0);
    let parts = told.map(|(measure, value, adds)| Reason {
        measure,
        value: finite(value),
        contribution: finite(slope * adds),
    });
    let by_name = Reason {
        measure: OF_NAME,
        value: of_name,
        contribution: of_name,
    };
    Reason::adding_up(
        parts.chain((of_name != 0.0).then_some(by_name)).collect(),
        REASONS_MAX,
        odds,
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Direction, Status, patterns};
    use crate::timeframes::CandleVec;
    use model::time::DAY_MS;

    /// 500 candles that wander; the same seed wanders the same way.
    fn wandering(seed: u64) -> CandleVec {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut step = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let (mut candles, mut close) = (CandleVec::default(), 100.0_f64);
        for day in 0..500_i64 {
            let open = close;
            close *= (0.08 * step()).exp();
            candles.timestamp.push(day * DAY_MS);
            candles.open.push(open);
            candles
                .high
                .push(open.max(close) * (1.0 + 0.01 * step().abs()));
            candles
                .low
                .push(open.min(close) * (1.0 - 0.01 * step().abs()));
            candles.close.push(close);
            candles.volume.push(1.0);
        }
        candles
    }

    #[test]
    fn what_is_confirmed_has_a_close_beyond_its_boundary() {
        let mut confirmed = 0;
        for seed in 1..=40 {
            let candles = wandering(seed);
            for pattern in patterns(&candles.as_candles(), true).patterns {
                let Some(detail) = pattern
                    .detail
                    .filter(|detail| detail.status != Status::Forming)
                else {
                    continue;
                };
                let at = detail.breakout_index.expect("it broke out");
                let beyond = candles.close[at] / detail.breakout_price - 1.0;
                let side = if detail.direction == Direction::Up {
                    1.0
                } else {
                    -1.0
                };
                assert!(
                    side * beyond > -1e-12,
                    "seed {seed}: {:?} at {at}, {beyond}",
                    pattern.name
                );
                confirmed += 1;
            }
        }
        assert!(confirmed > 100, "{confirmed}");
    }
}
