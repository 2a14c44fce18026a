//! Logistic regression on piecewise linear curves: each measure has five knots at quantiles of its values; the fitted values are
//! contributions to the log-odds at the knots. Newton's method, with a ridge penalty on first differences of neighbouring knots, so that an
//! uninformative measure stays flat and is then left out.

use analysis::{
    numeric::sigmoid,
    patterns::market::{AdditiveModel, Curve, KNOTS, knot_interval},
};

/// Quantiles of the knots.
const QUANTILES: [f64; KNOTS] = [0.03, 0.25, 0.5, 0.75, 0.97];
const STEPS: usize = 6;

/// Regularisation of the curves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stiffness {
    /// Penalty on differences of neighbouring knots.
    pub(super) smooth: f64,
    /// Penalty on the knots' values.
    pub(super) ridge: f64,
    /// Minimum standard deviation of a curve's contributions; flatter curves are left out.
    pub(super) least: f64,
}

/// Training examples: measures, target (the fraction of chartists who agree), and weight.
pub(super) struct Examples<'a> {
    pub(super) measures: Vec<&'a [f64]>,
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

/// Fits, drops uninformative measures, and refits.
pub(super) fn fit_selected(
    examples: &Examples<'_>,
    used: &[usize],
    stiffness: Stiffness,
) -> AdditiveModel {
    let first = fit(examples, used, stiffness);
    let every = (examples.measures.len() / 3_000).max(1);
    let adds_much = |curve: &&Curve| {
        let adds: Vec<f64> = examples
            .measures
            .iter()
            .step_by(every)
            .map(|row| curve.at(row[curve.measure]))
            .collect();
        let mean = adds.iter().sum::<f64>() / adds.len() as f64;
        (adds.iter().map(|add| (add - mean).powi(2)).sum::<f64>() / adds.len() as f64).sqrt()
            >= stiffness.least
    };
    let mut kept: Vec<usize> = first
        .curves()
        .iter()
        .filter(adds_much)
        .map(|curve| curve.measure)
        .collect();
    kept.sort_unstable();
    fit(examples, &kept, stiffness)
}

fn knots(examples: &Examples<'_>, measure: usize) -> [f64; KNOTS] {
    let mut values: Vec<f64> = examples.measures.iter().map(|row| row[measure]).collect();
    values.sort_by(f64::total_cmp);
    let knots = QUANTILES.map(|share| values[((values.len() - 1) as f64 * share) as usize]);
    let (low, high) = (values[0], values[values.len() - 1]);
    // A nearly constant measure becomes an indicator of its other value.
    if knots[0] == knots[KNOTS - 1] {
        [low, low, low, low, high]
    } else {
        knots
    }
}

fn fit(examples: &Examples<'_>, used: &[usize], stiffness: Stiffness) -> AdditiveModel {
    let knots: Vec<[f64; KNOTS]> = used
        .iter()
        .map(|measure| knots(examples, *measure))
        .collect();
    let size = 1 + KNOTS * used.len();
    let row = |measures: &&[f64]| {
        let mut row = vec![(0, 1.0)];
        for (j, measure) in used.iter().enumerate() {
            let (k, share) = knot_interval(&knots[j], measures[*measure]);
            let at = 1 + KNOTS * j + k;
            row.extend(
                [(at, 1.0 - share), (at + 1, share)]
                    .into_iter()
                    .filter(|(_, part)| *part > 0.0),
            );
        }
        row
    };
    let rows: Vec<Vec<(usize, f64)>> = examples.measures.iter().map(row).collect();
    let all: f64 = examples.weights.iter().sum();
    let mean = examples
        .targets
        .iter()
        .zip(&examples.weights)
        .map(|(target, weight)| target * weight)
        .sum::<f64>()
        / all;
    let mut found = vec![0.0; size];
    found[0] = (mean.max(1e-6) / (1.0 - mean).max(1e-6)).ln();
    for _ in 0..STEPS {
        let (mut slope, mut bend) = (vec![0.0; size], vec![0.0; size * size]);
        bend[0] = 1e-6;
        for ((row, target), weight) in rows.iter().zip(&examples.targets).zip(&examples.weights) {
            let logit: f64 = row.iter().map(|(k, part)| found[*k] * part).sum();
            let chance = sigmoid(logit);
            let (off, curve) = (
                weight * (target - chance),
                (weight * chance * (1.0 - chance)).max(1e-9),
            );
            for (n, (k, part)) in row.iter().enumerate() {
                slope[*k] += off * part;
                for (l, other) in &row[..=n] {
                    bend[k * size + l] += curve * part * other;
                }
            }
        }
        stiffen(&found, &mut slope, &mut bend, stiffness);
        let step = solved(&mut bend, slope);
        let largest = step
            .iter()
            .fold(0.0, |most: f64, part| most.max(part.abs()));
        found
            .iter_mut()
            .zip(&step)
            .for_each(|(found, part)| *found += part);
        if largest < 1e-3 {
            break;
        }
    }
    let curve = |(j, measure): (usize, &usize)| {
        Curve::new(
            *measure,
            knots[j],
            std::array::from_fn(|k| found[1 + KNOTS * j + k]),
        )
    };
    AdditiveModel::new(found[0], used.iter().enumerate().map(curve).collect())
}

fn stiffen(found: &[f64], slope: &mut [f64], bend: &mut [f64], stiffness: Stiffness) {
    let size = found.len();
    for a in 1..size {
        slope[a] -= stiffness.ridge * found[a];
        bend[a * size + a] += stiffness.ridge;
        if a % KNOTS == 0 {
            continue;
        }
        let b = a + 1;
        let pull = stiffness.smooth * (found[b] - found[a]);
        slope[a] += pull;
        slope[b] -= pull;
        bend[a * size + a] += stiffness.smooth;
        bend[b * size + b] += stiffness.smooth;
        bend[b * size + a] -= stiffness.smooth;
    }
}

/// Solves bend · x = slope by Cholesky decomposition; only the lower half of the symmetric matrix is read.
pub(super) fn solved(bend: &mut [f64], mut slope: Vec<f64>) -> Vec<f64> {
    let size = slope.len();
    for i in 0..size {
        for j in 0..=i {
            let dot: f64 = bend[i * size..i * size + j]
                .iter()
                .zip(&bend[j * size..j * size + j])
                .map(|(a, b)| a * b)
                .sum();
            let left = bend[i * size + j] - dot;
            bend[i * size + j] = if i == j {
                left.max(1e-12).sqrt()
            } else {
                left / bend[j * size + j]
            };
        }
    }
    for i in 0..size {
        let dot: f64 = (0..i).map(|j| bend[i * size + j] * slope[j]).sum();
        slope[i] = (slope[i] - dot) / bend[i * size + i];
    }
    for i in (0..size).rev() {
        let dot: f64 = (i + 1..size).map(|j| bend[j * size + i] * slope[j]).sum();
        slope[i] = (slope[i] - dot) / bend[i * size + i];
    }
    slope
}
