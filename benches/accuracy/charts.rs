//! Chart patterns against the annotations of chartists on real candles. The model is cross-validated by token, so the table contains
//! out-of-fold predictions only. `charts-fit` writes the coefficients built into the program.

#[path = "charts/boost.rs"]
mod boost;
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
    let models = train::per_fold(&windows, &folds, FOLDS);
    let out_of_fold: Vec<Vec<Said>> = windows.iter().zip(&folds).map(|(window, fold)| answers(window, &models[*fold])).collect();
    println!("Chart patterns on real candles, each token answered by a model that has not seen it.\n");
    println!("{}", score(&windows, &out_of_fold));
    for (name, set) in &sets {
        println!("Of these, the {} of `{name}`:\n\n{}", set.len(), score(&windows[set.clone()], &out_of_fold[set.clone()]).figures());
    }
    for (name, set) in sets.iter().filter(|(_, set)| set.len() < windows.len()) {
        let said = by_the_others(&windows, set);
        println!("Those of `{name}`, by a model fitted to the other sets:\n\n{}", score(&windows[set.clone()], &said).figures());
    }
    let built_in = Model::built_in();
    let seen: Vec<Vec<Said>> = windows.iter().map(|window| answers(window, built_in)).collect();
    println!("The built-in model, which was fitted on these very windows.\n\n{}", score(&windows, &seen).figures());
}

/// Answers on a set of windows by a model fitted to the windows outside it.
fn by_the_others(windows: &[Window], set: &Range<usize>) -> Vec<Vec<Said>> {
    let others: Vec<Window> = windows[..set.start].iter().chain(&windows[set.end..]).cloned().collect();
    let model = train::whole(&others, &data::folds(&others, FOLDS), FOLDS);
    windows[set.clone()].iter().map(|window| answers(window, &model)).collect()
}

/// Fits to all annotations and writes the coefficients into the source.
pub(super) fn fit() {
    let Labelled { windows, .. } = data::read();
    let folds = data::folds(&windows, FOLDS);
    write::model(&train::whole(&windows, &folds, FOLDS));
}

fn answers(window: &Window, model: &Model) -> Vec<Said> {
    said(&patterns_by(&window.candles.as_candles(), model, false))
}
