//! Chart patterns against the annotations of chartists on real candles. The model is cross-validated by token, so the table contains
//! out-of-fold predictions only. `charts-fit` writes the coefficients built into the program.

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

use analysis::patterns::{market::Model, patterns_by};
use data::Window;
use score::{Said, said, score};

/// Number of cross-validation folds.
const FOLDS: usize = 5;

/// Prints the out-of-fold table, and that of the built-in model, which was trained on these windows.
pub(super) fn report() {
    let Some(windows) = data::read() else { return };
    let folds = data::folds(&windows, FOLDS);
    let models = train::per_fold(&windows, &folds, FOLDS);
    let out_of_fold: Vec<Vec<Said>> = windows.iter().zip(&folds).map(|(window, fold)| answers(window, &models[*fold])).collect();
    println!("Chart patterns on real candles, each token answered by a model that has not seen it.\n");
    println!("{}", score(&windows, &out_of_fold));
    let built_in = Model::built_in();
    let seen: Vec<Vec<Said>> = windows.iter().map(|window| answers(window, &built_in)).collect();
    println!("The built-in model, which was fitted on these very windows.\n\n{}", score(&windows, &seen).figures());
}

/// Fits to all annotations and writes the coefficients into the source.
pub(super) fn fit() {
    let Some(windows) = data::read() else { return };
    let folds = data::folds(&windows, FOLDS);
    write::model(&train::whole(&windows, &folds, FOLDS));
}

fn answers(window: &Window, model: &Model) -> Vec<Said> {
    said(&patterns_by(&window.candles.as_candles(), model, false))
}
