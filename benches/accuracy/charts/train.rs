//! Training on the annotations, in stages: the sieve on all proposals, the models over all measures on its survivors, the trees over
//! these and the candidates around them on out-of-sample outputs of those.

use analysis::patterns::market::{
    AdditiveModel, Calibration, CandidateKind, Model, Proposal, SelectionParams, Trees, is_quick,
    likely, overlap, proposals, sieve,
};
use rayon::prelude::*;

use super::{
    boost::{self, Example},
    data::Window,
    fit::{Examples, Stiffness, fit_selected},
    score::{Likeness, likeness},
};

const OWN: Stiffness = Stiffness {
    smooth: 12.0,
    ridge: 1.0,
    least: 0.06,
};
const SIEVE: Stiffness = Stiffness {
    smooth: 6.0,
    ridge: 0.3,
    least: 0.12,
};
/// Subsampling of negatives: one in this many is used, with that weight.
const SIEVE_EVERY: u64 = 6;
const OWN_EVERY: u64 = 2;
/// Minimum number of examples for a fit.
const EXAMPLES_LEAST: usize = 60;
/// Target of a name related to the annotated one.
const KIN_WORTH: f64 = 0.7;

/// Proposals of a window with their targets, the fraction of chartists who agree.
pub(super) struct RawTable {
    proposals: Vec<Proposal>,
    targets: Vec<f64>,
    /// Weight of the window.
    weight: f64,
}

pub(super) fn sheets(windows: &[Window]) -> Vec<RawTable> {
    windows.par_iter().map(sheet).collect()
}

fn sheet(window: &Window) -> RawTable {
    let proposals = proposals(&window.candles.as_candles());
    let targets = proposals
        .iter()
        .map(|proposal| target(window, proposal))
        .collect();
    RawTable {
        proposals,
        targets,
        weight: window.weight,
    }
}

/// Soft target: 0 up to an IoU of 0.4, 1 from 0.8 on; the mean over the chartists.
fn target(window: &Window, proposal: &Proposal) -> f64 {
    let by = |who: usize| {
        let worth = window.marks[who].iter().map(|mark| {
            let worth = match likeness(proposal.name.word(), mark) {
                Likeness::Same => 1.0,
                Likeness::Kin => KIN_WORTH,
                Likeness::Other => return 0.0,
            };
            worth
                * ((overlap(
                    (proposal.claim.start, proposal.claim.end),
                    (mark.start, mark.end),
                ) - 0.4)
                    / 0.4)
                    .clamp(0.0, 1.0)
        });
        worth.fold(0.0, f64::max)
    };
    f64::midpoint(by(0), by(1))
}

/// Trains a model on all sheets, and one per fold on those outside it, which its trees and its confidence need.
pub(super) fn whole_and_per_fold(
    sheets: &[&RawTable],
    folds: &[usize],
    count: usize,
) -> (Model, Vec<Model>) {
    let first = without_two(sheets, folds, count);
    // Each fold's examples are outputs of first stages that saw neither the fold nor `out`.
    let trees = |out: Option<usize>| {
        let of = |fold: usize| {
            let out = out.unwrap_or(fold);
            examples(sheets, folds, fold, &first[out.min(fold)][out.max(fold)])
        };
        let others = (0..count).filter(|fold| Some(*fold) != out);
        boost::fit(&others.flat_map(of).collect::<Vec<Example>>())
    };
    let without = |out: usize| Model {
        trees: trees(Some(out)),
        ..first[out][out].clone()
    };
    let per_fold = (0..count).into_par_iter().map(without).collect();
    let whole = Model {
        trees: trees(None),
        ..first_stages(sheets, |_| true)
    };
    (whole, per_fold)
}

/// First-stage models on the windows outside folds a and b; indexed by a, then by b ≥ a.
fn without_two(sheets: &[&RawTable], folds: &[usize], count: usize) -> Vec<Vec<Model>> {
    let outside = |a: usize, b: usize| {
        if b < a {
            none()
        } else {
            first_stages(sheets, |w| folds[w] != a && folds[w] != b)
        }
    };
    (0..count)
        .into_par_iter()
        .map(|a| (0..count).map(|b| outside(a, b)).collect())
        .collect()
}

/// An empty model.
fn none() -> Model {
    Model {
        sieve: Vec::new(),
        own: Vec::new(),
        trees: Trees::default(),
        calibration: Calibration::NONE,
        selection: SelectionParams::default(),
    }
}

/// Trains the sieve and the models over all measures.
fn first_stages(sheets: &[&RawTable], taken: impl Fn(usize) -> bool + Sync) -> Model {
    let windows: Vec<usize> = (0..sheets.len()).filter(|w| taken(*w)).collect();
    let every: Vec<(usize, usize)> = windows
        .iter()
        .flat_map(|w| (0..sheets[*w].proposals.len()).map(|k| (*w, k)))
        .collect();
    let mut model = Model {
        sieve: models_by_kind(sheets, &every, true),
        ..none()
    };
    let left: Vec<(usize, usize)> = windows
        .iter()
        .flat_map(|w| {
            sieve(&model, &sheets[*w].proposals)
                .into_iter()
                .map(|k| (*w, k))
        })
        .collect();
    model.own = models_by_kind(sheets, &left, false);
    model
}

fn models_by_kind(
    sheets: &[&RawTable],
    places: &[(usize, usize)],
    quick: bool,
) -> Vec<AdditiveModel> {
    let (every, stiffness) = if quick {
        (SIEVE_EVERY, SIEVE)
    } else {
        (OWN_EVERY, OWN)
    };
    let of = |kind: CandidateKind| {
        let mut examples = Examples {
            measures: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
        };
        let mut seen = 0_u64;
        for (w, k) in places {
            let (proposal, target, weight) = (
                &sheets[*w].proposals[*k],
                sheets[*w].targets[*k],
                sheets[*w].weight,
            );
            if proposal.claim.kind != kind {
                continue;
            }
            seen += 1;
            // A deterministic, evenly spread sample (Knuth's multiplicative hashing).
            let picked = seen.wrapping_mul(0x9e37_79b9_7f4a_7c15) < u64::MAX / every;
            if target > 0.0 || picked {
                examples.measures.push(&proposal.measures);
                examples.targets.push(target);
                examples
                    .weights
                    .push(weight * if target > 0.0 { 1.0 } else { every as f64 });
            }
        }
        fitted(&examples, stiffness, |measure| !quick || is_quick(measure))
    };
    CandidateKind::ALL
        .par_iter()
        .map(|kind| of(*kind))
        .collect()
}

fn fitted(
    examples: &Examples<'_>,
    stiffness: Stiffness,
    usable: impl Fn(usize) -> bool,
) -> AdditiveModel {
    let Some(first) = examples
        .measures
        .first()
        .filter(|_| examples.measures.len() >= EXAMPLES_LEAST)
    else {
        return AdditiveModel::new(-5.0, Vec::new());
    };
    let varies = |measure: &usize| {
        examples
            .measures
            .iter()
            .any(|row| row[*measure] != first[*measure])
    };
    let used: Vec<usize> = (0..first.len())
        .filter(|measure| usable(*measure) && varies(measure))
        .collect();
    fit_selected(examples, &used, stiffness)
}

/// Examples of the likely proposals of a fold, by a model that was not trained on it.
fn examples(sheets: &[&RawTable], folds: &[usize], fold: usize, model: &Model) -> Vec<Example> {
    let windows: Vec<usize> = (0..sheets.len()).filter(|w| folds[*w] == fold).collect();
    let of = |w: &usize| {
        let sheet = sheets[*w];
        let told = likely(model, &sheet.proposals, &sieve(model, &sheet.proposals));
        told.into_iter()
            .map(|one| Example {
                measures: one.measures,
                target: sheet.targets[one.place],
                weight: sheet.weight,
            })
            .collect::<Vec<_>>()
    };
    windows.par_iter().flat_map_iter(of).collect()
}
