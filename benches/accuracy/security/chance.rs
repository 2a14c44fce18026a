//! Confidence intervals by cluster bootstrap (Efron's percentile method): clusters are resampled with replacement, since codes of one
//! cluster are not independent.

use std::collections::BTreeMap;

use crate::random::Random;

const DRAWS: usize = 1_000;

/// 95 % percentile interval of the metric; `None` if it is undetermined.
pub(crate) fn interval<T: Copy>(
    items: &[T],
    cluster: impl Fn(T) -> String,
    figure: impl Fn(&[T]) -> f64,
) -> Option<[f64; 2]> {
    let mut clusters: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for item in items {
        clusters.entry(cluster(*item)).or_default().push(*item);
    }
    let clusters: Vec<Vec<T>> = clusters.into_values().collect();
    let mut random = Random(1);
    let mut figures: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn: Vec<T> = (0..clusters.len())
                .flat_map(|_| clusters[random.below(clusters.len())].iter().copied())
                .collect();
            figure(&drawn)
        })
        .filter(|figure| figure.is_finite())
        .collect();
    figures.sort_by(f64::total_cmp);
    let at = |share: f64| figures[((figures.len() - 1) as f64 * share).round() as usize];
    (figures.len() >= DRAWS / 2).then(|| [at(0.025), at(0.975)])
}

/// Formats ` [0.85, 0.97]`, or nothing.
pub(crate) fn text(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(String::new, |[low, high]| format!(" [{low:.3}, {high:.3}]"))
}
