//! Linear support vector machine: the maximum-margin linear classifier of two groups of sparse vectors. The meaning of the vectors is the
//! caller's.

/// Non-zero coordinates, in order.
pub(super) type Sparse = Vec<(u32, f64)>;

const ROUNDS_MAX: usize = 300;
/// The optimization stops at a smaller maximum violation.
const SETTLED: f64 = 1e-3;

/// A labeled vector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample<'a> {
    pub(super) vector: &'a Sparse,
    pub(super) wanted: bool,
    /// Cost of misclassifying it.
    pub(super) cost: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinearSvm {
    pub(super) weights: Vec<f64>,
    pub(super) offset: f64,
}

impl LinearSvm {
    /// Fits with squared hinge loss by dual coordinate descent (Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent
    /// method for large-scale linear SVM", 2008). Visits the samples in the given order, so the same samples give the same result.
    pub(super) fn fit(samples: &[Sample<'_>], coordinates: usize) -> Self {
        let mut rule = Self {
            weights: vec![0.0; coordinates],
            offset: 0.0,
        };
        let mut dual = vec![0.0_f64; samples.len()];
        // The offset is treated as one more coordinate, which is 1 everywhere.
        let squares: Vec<f64> = samples
            .iter()
            .map(|sample| {
                1.0 + sample
                    .vector
                    .iter()
                    .map(|(_, value)| value * value)
                    .sum::<f64>()
            })
            .collect();
        for _ in 0..ROUNDS_MAX {
            let mut worst = 0.0_f64;
            for ((sample, square), dual) in samples.iter().zip(&squares).zip(&mut dual) {
                let slack = 0.5 / sample.cost.max(1e-9);
                let side = if sample.wanted { 1.0 } else { -1.0 };
                let gradient = side * rule.of(sample.vector) - 1.0 + *dual * slack;
                let violation = if *dual > 0.0 {
                    gradient
                } else {
                    gradient.min(0.0)
                };
                if violation == 0.0 {
                    continue;
                }
                worst = worst.max(violation.abs());
                let next = (*dual - gradient / (square + slack)).max(0.0);
                let step = (next - *dual) * side;
                *dual = next;
                rule.offset += step;
                for (at, value) in sample.vector {
                    rule.weights[*at as usize] += step * value;
                }
            }
            if worst < SETTLED {
                break;
            }
        }
        rule
    }

    /// Decision value: positive on the wanted side.
    pub(super) fn of(&self, vector: &Sparse) -> f64 {
        self.offset
            + vector
                .iter()
                .map(|(at, value)| self.weights[*at as usize] * value)
                .sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn samples(vectors: &[(Sparse, bool)], cost: f64) -> Vec<Sample<'_>> {
        vectors
            .iter()
            .map(|(vector, wanted)| Sample {
                vector,
                wanted: *wanted,
                cost,
            })
            .collect()
    }

    #[test]
    fn two_points_are_separated_in_the_middle() {
        let vectors = [(vec![(0, 1.0)], true), (vec![(0, -1.0)], false)];
        let rule = LinearSvm::fit(&samples(&vectors, 1e6), 1);
        assert!(
            (rule.weights[0] - 1.0).abs() < 1e-3 && rule.offset.abs() < 1e-3,
            "{rule:?}"
        );
    }

    proptest! {
        #[test]
        fn separable_points_are_separated(points in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 4..40), turn in 0.0..6.0_f64) {
            let (sine, cosine) = turn.sin_cos();
            let along = |point: &(f64, f64)| point.0 * cosine + point.1 * sine;
            let vectors: Vec<(Sparse, bool)> = points
                .iter()
                .filter(|point| along(point).abs() > 0.2)
                .map(|point| (vec![(0, point.0), (1, point.1)], along(point) > 0.0))
                .collect();
            let rule = LinearSvm::fit(&samples(&vectors, 1e4), 2);
            for (vector, wanted) in &vectors {
                prop_assert_eq!(rule.of(vector) > 0.0, *wanted, "{:?} {:?}", rule, vector);
            }
        }

        #[test]
        fn no_small_step_lowers_the_objective(points in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64, any::<bool>()), 3..30)) {
            let vectors: Vec<(Sparse, bool)> = points.iter().map(|(x, y, wanted)| (vec![(0, *x), (1, *y)], *wanted)).collect();
            let samples = samples(&vectors, 0.5);
            let loss = |rule: &LinearSvm| {
                let size = rule.offset * rule.offset + rule.weights.iter().map(|weight| weight * weight).sum::<f64>();
                let missed = |sample: &Sample<'_>| (1.0 - rule.of(sample.vector) * if sample.wanted { 1.0 } else { -1.0 }).max(0.0);
                0.5 * size + samples.iter().map(|sample| sample.cost * missed(sample).powi(2)).sum::<f64>()
            };
            let rule = LinearSvm::fit(&samples, 2);
            let best = loss(&rule);
            for (at, step) in [(0, 0.05), (0, -0.05), (1, 0.05), (1, -0.05)] {
                let mut other = rule.clone();
                other.weights[at] += step;
                prop_assert!(loss(&other) >= best - 1e-3, "{} {}", loss(&other), best);
            }
        }
    }
}
