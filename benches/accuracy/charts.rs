//! Chart patterns against the annotations of chartists on real candles. The model is cross-validated by token, so the table contains
//! out-of-fold predictions only. `charts-fit` writes the coefficients built into the program.

#[path = "charts/boost.rs"]
mod boost;
#[path = "charts/calibrate.rs"]
mod calibrate;
#[path = "charts/data.rs"]
mod data;
#[path = "charts/fit.rs"]
mod fit;
#[path = "charts/score.rs"]
pub(crate) mod score;
#[path = "charts/train.rs"]
mod train;
#[path = "charts/write.rs"]
mod write;

use std::ops::Range;

use analysis::patterns::{market::Model, patterns_by};
use data::{Labelled, Window};
use score::{Said, said, score};

/// Number of cross-validation folds.
const FOLDS: usize = 5;

/// Prints the out-of-fold table; that of models which have seen another set of charts only; and that of the built-in model.
pub(super) fn report() {
    let Labelled { windows, sets } = data::read();
    let folds = data::folds(&windows, FOLDS);
    let mut models = train::per_fold(&windows, &folds, FOLDS);
    let raw = held_out(&windows, &folds, &models);
    for (out, model) in models.iter_mut().enumerate() {
        model.calibration = calibrate::fit(&judged_outside(&windows, &folds, &raw, Some(out)));
    }
    let out_of_fold = held_out(&windows, &folds, &models);
    println!(
        "Chart patterns on real candles, each token answered by a model that has not seen it.\n"
    );
    println!("{}", score(&windows, &out_of_fold));
    for (name, set) in &sets {
        println!(
            "Of these, the {} of `{name}`:\n\n{}",
            set.len(),
            score(&windows[set.clone()], &out_of_fold[set.clone()]).figures()
        );
    }
    for (name, set) in sets.iter().filter(|(_, set)| set.len() < windows.len()) {
        let said = by_the_others(&windows, set);
        println!(
            "Those of `{name}`, by a model fitted to the other sets:\n\n{}",
            score(&windows[set.clone()], &said).figures()
        );
    }
    report_by_time(&windows);
    let built_in = Model::built_in();
    let seen: Vec<Vec<Said>> = windows
        .iter()
        .map(|window| answers(window, built_in))
        .collect();
    println!(
        "The built-in model, which was fitted on these very windows.\n\n{}",
        score(&windows, &seen).figures()
    );
    for (name, set) in &sets {
        println!(
            "Of these, the {} of `{name}`:\n\n{}",
            set.len(),
            score(&windows[set.clone()], &seen[set.clone()]).figures()
        );
    }
}

/// Prints how a model fitted to the windows before a day answers those after it: three of ten windows whose days are known.
fn report_by_time(windows: &[Window]) {
    let mut starts: Vec<i32> = windows
        .iter()
        .filter_map(|window| Some(window.days?.0))
        .collect();
    starts.sort_unstable();
    let Some(day) = starts.get(starts.len() * 7 / 10).copied() else {
        return;
    };
    let among = |is: fn(i32, i32, i32) -> bool| {
        let within = |window: &&Window| {
            window
                .days
                .is_some_and(|(first, last)| is(first, last, day))
        };
        windows.iter().filter(within).cloned().collect::<Vec<_>>()
    };
    let (before, after) = (
        among(|_, last, day| last < day),
        among(|first, _, day| first >= day),
    );
    let model = whole(&before);
    let said: Vec<Vec<Said>> = after.iter().map(|window| answers(window, &model)).collect();
    println!(
        "The latest {} of known days, by a model fitted to the {} that ended before:\n\n{}",
        after.len(),
        before.len(),
        score(&after, &said).figures()
    );
}

/// Answers on a set of windows by a model fitted to the windows outside it.
fn by_the_others(windows: &[Window], set: &Range<usize>) -> Vec<Vec<Said>> {
    let others: Vec<Window> = windows[..set.start]
        .iter()
        .chain(&windows[set.end..])
        .cloned()
        .collect();
    let model = whole(&others);
    windows[set.clone()]
        .iter()
        .map(|window| answers(window, &model))
        .collect()
}

/// Fits to all annotations and writes the coefficients into the source.
pub(super) fn fit() {
    let Labelled { windows, .. } = data::read();
    write::model(&whole(&windows));
}

/// The model fitted to all windows, its confidence to answers on windows that no model had seen.
fn whole(windows: &[Window]) -> Model {
    let folds = data::folds(windows, FOLDS);
    let raw = held_out(windows, &folds, &train::per_fold(windows, &folds, FOLDS));
    Model {
        calibration: calibrate::fit(&judged_outside(windows, &folds, &raw, None)),
        ..train::whole(windows, &folds, FOLDS)
    }
}

/// Each window's answers by the model of its fold.
fn held_out(windows: &[Window], folds: &[usize], models: &[Model]) -> Vec<Vec<Said>> {
    windows
        .iter()
        .zip(folds)
        .map(|(window, fold)| answers(window, &models[*fold]))
        .collect()
}

/// What chartists say of the answers, without those of a fold.
fn judged_outside(
    windows: &[Window],
    folds: &[usize],
    said: &[Vec<Said>],
    out: Option<usize>,
) -> Vec<(f64, bool)> {
    let judged = |k: &usize| score::judged(&windows[*k..=*k], &said[*k..=*k]);
    (0..windows.len())
        .filter(|k| Some(folds[*k]) != out)
        .flat_map(|k| judged(&k))
        .collect()
}

fn answers(window: &Window, model: &Model) -> Vec<Said> {
    said(&patterns_by(&window.candles.as_candles(), model, false))
}
