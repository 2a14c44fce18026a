//! Chart patterns against the annotations of chartists on real candles, in nested cross-validations: the fit of the model and of its confidence
//! sees nothing of the windows that it is measured on. `charts-fit` writes the coefficients built into the program.

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

use std::collections::{BTreeMap, BTreeSet};

use analysis::patterns::{market::Model, patterns_by};
use calibrate::Judged;
use data::{Labelled, Window};
use score::{Said, said, score};
use train::RawTable;

/// Number of folds within the windows of a fit, by token: its trees and its confidence are fitted to answers of models without the fold.
const INNER_FOLDS: usize = 4;
/// Numbers of blocks of time and of folds by token that windows are measured in.
const TIME_BLOCKS: usize = 5;
const TOKEN_FOLDS: usize = 5;
/// The same by token, within each block of time.
const TOKEN_FOLDS_OF_BLOCK: usize = 3;

/// A cross-validation, by what the model of a window has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unseen {
    Token,
    Time,
    Timeframe,
    TokenAndTime,
    Chartists,
}

impl Unseen {
    const ALL: [(Self, &str); 5] = [
        (Self::TokenAndTime, "its token nor its time"),
        (Self::Token, "its token"),
        (Self::Time, "its time"),
        (Self::Timeframe, "its timeframe"),
        (Self::Chartists, "its chartists"),
    ];
}

/// Prints the figures of each cross-validation, with those of each set of windows; the names where neither token nor time was seen; and the
/// figures of the built-in model on the windows it was fitted to.
pub(super) fn report() {
    let Labelled { windows, sets } = data::read();
    let sheets = train::sheets(&windows);
    for (unseen, words) in Unseen::ALL {
        let said = cross_validated(&windows, &sheets, unseen);
        println!("Each window answered by a model that has not seen {words}.\n");
        if unseen == Unseen::TokenAndTime {
            println!("{}", score(&windows, &said));
        } else {
            println!("{}", score(&windows, &said).figures());
        }
        for (name, set) in &sets {
            println!(
                "Of these, the {} of `{name}`:\n\n{}",
                set.len(),
                score(&windows[set.clone()], &said[set.clone()]).figures()
            );
        }
    }
    let built_in = Model::built_in();
    let seen: Vec<Vec<Said>> = windows
        .iter()
        .map(|window| answers(window, built_in))
        .collect();
    println!(
        "The built-in model, which was fitted on these very windows.\n\n{}",
        score(&windows, &seen).figures()
    );
}

/// Each window's answers by a model fitted to the windows that share nothing of the kind with any window of its part.
fn cross_validated(windows: &[Window], sheets: &[RawTable], unseen: Unseen) -> Vec<Vec<Said>> {
    let tokens = data::folds(windows, TOKEN_FOLDS);
    let tokens_of_block = data::folds(windows, TOKEN_FOLDS_OF_BLOCK);
    let times = data::time_blocks(windows, TIME_BLOCKS);
    let part = |w: usize| match unseen {
        Unseen::Token => tokens[w].to_string(),
        Unseen::Time => times[w].to_string(),
        Unseen::TokenAndTime => format!("{} {}", times[w], tokens_of_block[w]),
        Unseen::Timeframe => windows[w].timeframe.clone(),
        Unseen::Chartists => windows[w].chartists.to_owned(),
    };
    let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for w in 0..windows.len() {
        parts.entry(part(w)).or_default().push(w);
    }
    let mut said = vec![Vec::new(); windows.len()];
    for (of, test) in parts {
        let inside: BTreeSet<&str> = test.iter().map(|w| windows[*w].group.as_str()).collect();
        let same_token = |w: usize| inside.contains(windows[w].group.as_str());
        let same_time = |w: usize| {
            times[w] == times[test[0]] || test.iter().any(|t| windows[*t].meets(&windows[w]))
        };
        let seen = |w: &usize| match unseen {
            Unseen::Token => !same_token(*w),
            Unseen::Time => !same_time(*w),
            Unseen::TokenAndTime => !same_token(*w) && !same_time(*w),
            Unseen::Timeframe | Unseen::Chartists => part(*w) != of,
        };
        let train: Vec<usize> = (0..windows.len()).filter(seen).collect();
        let model = fitted(windows, sheets, &train);
        for w in test {
            said[w] = answers(&windows[w], &model);
        }
    }
    said
}

/// Fits to all annotations and writes the coefficients into the source.
pub(super) fn fit() {
    let Labelled { windows, .. } = data::read();
    let all: Vec<usize> = (0..windows.len()).collect();
    write::model(&fitted(&windows, &train::sheets(&windows), &all));
}

/// The model fitted to some windows, its confidence to answers on them by models that had not seen the window's token.
fn fitted(windows: &[Window], sheets: &[RawTable], of: &[usize]) -> Model {
    let windows: Vec<Window> = of.iter().map(|w| windows[*w].clone()).collect();
    let sheets: Vec<&RawTable> = of.iter().map(|w| &sheets[*w]).collect();
    let folds = data::folds(&windows, INNER_FOLDS);
    let (whole, per_fold) = train::whole_and_per_fold(&sheets, &folds, INNER_FOLDS);
    let judged: Vec<Judged> = windows
        .iter()
        .zip(&folds)
        .flat_map(|(window, fold)| judged(window, &per_fold[*fold]))
        .collect();
    Model {
        calibration: calibrate::fit(&judged),
        ..whole
    }
}

/// What chartists say of a model's answers.
fn judged(window: &Window, model: &Model) -> Vec<Judged> {
    let said = answers(window, model);
    let (one, its) = (std::slice::from_ref(window), std::slice::from_ref(&said));
    let judged = |(said, (confidence, right)): (&Said, (f64, bool))| Judged {
        name: said.name,
        confidence,
        right,
        weight: window.weight,
    };
    said.iter()
        .zip(score::judged(one, its))
        .map(judged)
        .collect()
}

fn answers(window: &Window, model: &Model) -> Vec<Said> {
    said(&patterns_by(&window.candles.as_candles(), model, false))
}
