//! Closes without a trend: noise of several shapes around a level, and random walks for comparison.

use crate::random::Random;

#[derive(Clone, Copy)]
pub(super) enum Shape {
    Normal,
    Uniform,
    Laplace,
    /// Student's t with three degrees of freedom.
    Heavy,
    /// Normal, with one in twenty ten times as large.
    Spikes,
    /// GARCH(1,1), Bollerslev 1986.
    Clusters,
    /// AR(1) with this coefficient.
    Memory(f64),
    /// Random walk with normal steps.
    Walk,
}

pub(super) const SHAPES: &[(&str, Shape)] = &[
    ("level and white noise: normal", Shape::Normal),
    ("  uniform", Shape::Uniform),
    ("  Laplace", Shape::Laplace),
    ("  t of 3 degrees of freedom", Shape::Heavy),
    ("  with spikes of ten deviations", Shape::Spikes),
    ("  in clusters (GARCH)", Shape::Clusters),
    ("level and noise with memory: 0.3", Shape::Memory(0.3)),
    ("  0.7", Shape::Memory(0.7)),
    ("random walk", Shape::Walk),
];

/// Closes around 1 with noise of about 2 %.
pub(super) fn closes(shape: Shape, n: usize, random: &mut Random) -> Vec<f64> {
    let (mut before, mut variance) = (random.normal(), 1.0_f64);
    let mut next = || match shape {
        Shape::Normal => random.normal(),
        Shape::Uniform => 2.0 * random.unit() - 1.0,
        Shape::Laplace => (random.unit() / random.unit()).ln(),
        Shape::Heavy => {
            random.normal() / ((0..3).map(|_| random.normal().powi(2)).sum::<f64>() / 3.0).sqrt()
        }
        Shape::Spikes => random.normal() * if random.unit() < 0.05 { 10.0 } else { 1.0 },
        Shape::Clusters => {
            let value = random.normal() * variance.sqrt();
            variance = 0.05 + 0.15 * value * value + 0.8 * variance;
            value
        }
        Shape::Memory(memory) => {
            before = memory * before + (1.0 - memory * memory).sqrt() * random.normal();
            before
        }
        Shape::Walk => {
            before += random.normal();
            before
        }
    };
    (0..n).map(|_| (0.02 * next()).exp()).collect()
}
