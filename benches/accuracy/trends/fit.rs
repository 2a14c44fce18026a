//! Fits the weights of the trend word: maximum likelihood of the ordinal model, by Newton's method. Each chartist's label counts half.

use analysis::trendlines::{
    Trend,
    trend::{Measures, Weights},
};

use super::marks::Span;

/// Keeps weights finite if the measures separate the labels perfectly.
const RIDGE: f64 = 0.01;

type Vector = [f64; 4];

pub(super) fn fit(spans: &[&Span]) -> Weights {
    let mut at = [0.0, 0.0, 0.0, 1.5];
    for _ in 0..60 {
        let (here, slope) = (loss(at, spans), gradient(at, spans));
        let step = solve(hessian(at, spans), slope);
        // Step halving until the loss decreases.
        let down = (0..40)
            .map(|halvings| 0.5_f64.powi(halvings))
            .map(|part| [0, 1, 2, 3].map(|k| at[k] - part * step[k]));
        let Some(next) = { down }.find(|next| next[3] > 0.0 && loss(*next, spans) < here) else {
            break;
        };
        at = next;
    }
    weights(at)
}

fn weights(at: Vector) -> Weights {
    Weights {
        net: at[0],
        fit: at[1],
        place: at[2],
        threshold: at[3],
    }
}

/// Negative log-likelihood of the chartists' labels, plus the ridge penalty on the weights.
fn loss(at: Vector, spans: &[&Span]) -> f64 {
    let each = |span: &&Span| -> f64 {
        span.words
            .iter()
            .map(|word| -chance(at, &span.measures, *word).max(1e-12).ln() / 2.0)
            .sum()
    };
    spans.iter().map(each).sum::<f64>()
        + RIDGE * at[..3].iter().map(|weight| weight * weight).sum::<f64>()
}

fn chance(at: Vector, measures: &Measures, word: Trend) -> f64 {
    let chances = weights(at).chances(measures);
    match word {
        Trend::Uptrend => chances.uptrend,
        Trend::Sideways => chances.sideways,
        Trend::Downtrend => chances.downtrend,
    }
}

fn gradient(at: Vector, spans: &[&Span]) -> Vector {
    [0, 1, 2, 3]
        .map(|k| (loss(moved(at, k, 1e-4), spans) - loss(moved(at, k, -1e-4), spans)) / 2e-4)
}

fn hessian(at: Vector, spans: &[&Span]) -> [Vector; 4] {
    [0, 1, 2, 3].map(|k| {
        let (up, down) = (
            gradient(moved(at, k, 1e-2), spans),
            gradient(moved(at, k, -1e-2), spans),
        );
        [0, 1, 2, 3].map(|j| (up[j] - down[j]) / 2e-2)
    })
}

fn moved(mut at: Vector, k: usize, by: f64) -> Vector {
    at[k] += by;
    at
}

/// Gaussian elimination of a positive definite matrix, in which no pivot is 0.
pub(crate) fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> [f64; N] {
    for i in 0..N {
        for j in i + 1..N {
            let factor = a[j][i] / a[i][i];
            let above = a[i];
            for (under, above) in a[j].iter_mut().zip(above).skip(i) {
                *under -= factor * above;
            }
            b[j] -= factor * b[i];
        }
    }
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    b
}
