//! Statistics shared by several analyses: quantiles, least squares, goodness of fit, Mann-Kendall. Slices of finite numbers in, finite
//! numbers out, NaN for an empty slice only; candles are unknown here.

use std::cmp::Ordering;

/// Makes a number serializable: NaN becomes 0, infinities are clamped, and -0.0 becomes 0.
pub fn finite(number: f64) -> f64 {
    if number.is_nan() {
        return 0.0;
    }
    // Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
    number.clamp(f64::MIN, f64::MAX) + 0.0
}

/// Rounded to four decimal places.
pub fn to_four_places(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// Sum of the known figures; none where all are unknown, or it is beyond f64.
pub fn known_sum(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    figures
        .flatten()
        .reduce(|a, b| a + b)
        .filter(|sum| sum.is_finite())
}

/// Largest first, unknown last.
pub fn descending(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Quantile `q` by linear interpolation between order statistics, definition 7 of Hyndman & Fan (1996), "Sample quantiles in statistical
/// packages". Reorders the slice; NaN if it is empty.
pub fn quantile(numbers: &mut [f64], q: f64) -> f64 {
    let Some(last) = numbers.len().checked_sub(1) else {
        return f64::NAN;
    };
    let rank = q.clamp(0.0, 1.0) * last as f64;
    let below = (rank.floor() as usize).min(last);
    let share = rank - below as f64;
    let (_, &mut low, above) = numbers.select_nth_unstable_by(below, f64::total_cmp);
    if share == 0.0 {
        return low;
    }
    let high = above.iter().copied().fold(f64::INFINITY, f64::min);
    low + (high - low) * share
}

/// Median. Reorders the slice; NaN if it is empty.
pub fn median(numbers: &mut [f64]) -> f64 {
    quantile(numbers, 0.5)
}

/// The line y = intercept + slope·x.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Line {
    pub slope: f64,
    pub intercept: f64,
}

impl Line {
    pub fn at(self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Horizontal line.
    pub fn level(height: f64) -> Self {
        Self {
            slope: 0.0,
            intercept: height,
        }
    }

    /// Reflected about the x axis.
    #[must_use]
    pub fn mirrored(self) -> Self {
        Self {
            slope: -self.slope,
            intercept: -self.intercept,
        }
    }

    /// Line through two points with different x.
    pub fn through(a: (f64, f64), b: (f64, f64)) -> Self {
        let slope = (b.1 - a.1) / (b.0 - a.0);
        Self {
            slope,
            intercept: a.1 - slope * a.0,
        }
    }

    /// Ordinary least squares of y on x; horizontal if there are no two different x. Values are taken relative to the first, so a constant
    /// y gives slope 0 exactly.
    pub fn least_squares(points: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let Some((x0, y0)) = points.clone().next() else {
            return Self::default();
        };
        let (mut n, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
        for (x, y) in points.clone() {
            n += 1.0;
            sum_x += x - x0;
            sum_y += y - y0;
        }
        let (mean_x, mean_y) = (sum_x / n, sum_y / n);
        let (mut sxx, mut sxy) = (0.0, 0.0);
        for (x, y) in points {
            let dx = x - x0 - mean_x;
            sxx += dx * dx;
            sxy += dx * (y - y0 - mean_y);
        }
        let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
        Self {
            slope,
            intercept: y0 + (mean_y - slope * (x0 + mean_x)),
        }
    }

    /// Coefficient of determination of the points about this line, R² = 1 − SSR/SST, clamped to 0..=1. If the points do not vary (SST ≤
    /// 1e-12·n·mean²), it is 1 if the residuals are as small, else 0.
    pub fn r2(self, points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
        let Some((_, y0)) = points.clone().next() else {
            return 1.0;
        };
        let (n, sum) = points
            .clone()
            .fold((0.0, 0.0), |(n, sum), (_, y)| (n + 1.0, sum + (y - y0)));
        let offset = sum / n;
        let (mut total, mut residual) = (0.0, 0.0);
        for (x, y) in points {
            total += (y - y0 - offset).powi(2);
            residual += (y - self.at(x)).powi(2);
        }
        let nothing = 1e-12 * n * (y0 + offset).powi(2);
        if total <= nothing {
            return if residual <= nothing { 1.0 } else { 0.0 };
        }
        (1.0 - residual / total).clamp(0.0, 1.0)
    }
}

/// The Mann-Kendall trend statistic and its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannKendall {
    /// Σ sgn(later − earlier) over all pairs of values.
    pub s: f64,
    /// For independent values: \[n(n−1)(2n+5) − Σ t(t−1)(2t+5)\]/18, where t are the sizes of the groups of ties.
    pub variance: f64,
}

/// Mann-Kendall test of Mann (1945) and Kendall (1975), corrected for ties. O(n log n): S is the number of pairs, minus the tied ones,
/// minus twice the inversions, which a merge sort counts (Knight 1966).
pub fn mann_kendall(values: &[f64]) -> MannKendall {
    let (sorted, inversions) = sort_counting_inversions(values);
    let term = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let n = values.len() as f64;
    let (mut tied_pairs, mut tied_terms) = (0.0, 0.0);
    for group in sorted
        .chunk_by(|a, b| a == b)
        .filter(|group| group.len() > 1)
    {
        let t = group.len() as f64;
        tied_pairs += t * (t - 1.0) / 2.0;
        tied_terms += term(t);
    }
    let pairs = n * (n - 1.0) / 2.0;
    MannKendall {
        s: pairs - tied_pairs - 2.0 * inversions as f64,
        variance: ((term(n) - tied_terms) / 18.0).max(0.0),
    }
}

/// Sign bit of a 64-bit number.
pub(super) const SIGN: u64 = 1 << 63;

/// Sort key of a finite float: an integer in the same order that compares without branches; both zeros share one key.
pub fn key_of_float(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Below this length, insertion sort is faster than merging.
const RUN: usize = 8;

/// Returns the values' sort keys in ascending order and the number of inversions: insertion sort of short runs, then bottom-up merges.
fn sort_counting_inversions(values: &[f64]) -> (Vec<u64>, u64) {
    let n = values.len();
    let mut source: Vec<u64> = values.iter().map(|value| key_of_float(*value)).collect();
    let mut target = vec![0; n];
    let mut inversions: u64 = source.chunks_mut(RUN).map(insert).sum();
    let mut width = RUN;
    while width < n {
        for (from, to) in source.chunks(2 * width).zip(target.chunks_mut(2 * width)) {
            let (left, right) = from.split_at(width.min(from.len()));
            inversions += merge(left, right, to);
        }
        std::mem::swap(&mut source, &mut target);
        width *= 2;
    }
    (source, inversions)
}

/// Sorts a short run; returns its inversions (each step of a value passes one larger value).
fn insert(run: &mut [u64]) -> u64 {
    let mut inversions = 0;
    for end in 1..run.len() {
        let value = run[end];
        let mut place = end;
        while place > 0 && run[place - 1] > value {
            run[place] = run[place - 1];
            place -= 1;
        }
        run[place] = value;
        inversions += (end - place) as u64;
    }
    inversions
}

/// Merges two sorted runs; returns their inversions (each value taken from the right passes all that remain on the left).
fn merge(left: &[u64], right: &[u64], target: &mut [u64]) -> u64 {
    let (mut i, mut j, mut inversions) = (0, 0, 0_u64);
    while i < left.len() && j < right.len() {
        let (a, b) = (left[i], right[j]);
        // Branch-free: which side is smaller is random, so branch prediction would fail half the time.
        let right_first = b < a;
        target[i + j] = if right_first { b } else { a };
        inversions += if right_first {
            (left.len() - i) as u64
        } else {
            0
        };
        i += usize::from(!right_first);
        j += usize::from(right_first);
    }
    target[i + j..left.len() + j].copy_from_slice(&left[i..]);
    target[left.len() + j..].copy_from_slice(&right[j..]);
    inversions
}

/// Lag-1 autocorrelation of residuals with mean 0; 0 if all are 0.
pub fn lag_one(residuals: &[f64]) -> f64 {
    let energy: f64 = residuals.iter().map(|e| e * e).sum();
    let lagged: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if energy > 0.0 { lagged / energy } else { 0.0 }
}

/// Mean and sample standard deviation (n − 1), the latter 0 for fewer than two values. Calculated relative to the first value, so equal
/// values give a deviation of exactly 0.
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let Some(&first) = values.first() else {
        return (0.0, 0.0);
    };
    let n = values.len() as f64;
    let offset = values.iter().map(|v| v - first).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - first - offset).powi(2)).sum();
    let deviation = if n > 1.0 {
        (squares / (n - 1.0)).sqrt()
    } else {
        0.0
    };
    (first + offset, deviation)
}

/// Logistic function: the probability of these log odds.
pub fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// Largest power of two not above the number, limited so that its reciprocal is exact.
pub fn power_of_two(number: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(number.clamp(1e-300, 1e300).to_bits() & EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        for (numbers, q, expected) in [
            (vec![3.0, 1.0, 2.0], 0.5, 2.0),
            (vec![4.0, 1.0, 2.0, 3.0], 0.5, 2.5),
            (vec![5.0, 1.0], 0.25, 2.0),
            (vec![7.0], 0.98, 7.0),
            (vec![1.0, 2.0, 3.0, 4.0, 5.0], 0.0, 1.0),
            (vec![1.0, 2.0, 3.0, 4.0, 5.0], 1.0, 5.0),
        ] {
            assert_eq!(
                quantile(&mut numbers.clone(), q),
                expected,
                "{numbers:?} at {q}"
            );
        }
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn an_answer_never_carries_nan_infinity_or_minus_zero() {
        for (number, expected) in [
            (f64::NAN, 0.0),
            (f64::INFINITY, f64::MAX),
            (f64::NEG_INFINITY, f64::MIN),
            (-1.5, -1.5),
            (-0.0, 0.0),
        ] {
            let answer = finite(number);
            assert_eq!(answer, expected);
            assert!(answer != 0.0 || answer.is_sign_positive());
        }
    }

    #[test]
    fn least_squares_agrees_with_anscombes_first_set() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [
            8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
        ];
        let points = x.into_iter().zip(y);
        let line = Line::least_squares(points.clone());
        assert!(
            (line.slope - 0.500_090_909).abs() < 1e-8
                && (line.intercept - 3.000_090_909).abs() < 1e-8,
            "{line:?}"
        );
        assert!((line.r2(points) - 0.666_542_46).abs() < 1e-7);
    }

    #[test]
    fn a_level_line_fits_level_points_wholly_and_no_others() {
        let level = [(0.0, 0.3), (1.0, 0.3), (2.0, 0.3)];
        let line = Line::least_squares(level.into_iter());
        assert_eq!(
            (line.slope, line.intercept, line.r2(level.into_iter())),
            (0.0, 0.3, 1.0)
        );
        assert_eq!(Line::level(0.4).r2(level.into_iter()), 0.0);
        let rising = [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)];
        assert_eq!(
            Line {
                slope: -1.0,
                intercept: 3.0
            }
            .r2(rising.into_iter()),
            0.0,
            "never below zero"
        );
    }

    proptest! {
        #[test]
        fn mann_kendall_equals_its_definition(values in prop::collection::vec((0..12_i32).prop_map(f64::from), 0..60)) {
            let mut s = 0.0;
            for (i, a) in values.iter().enumerate() {
                for b in &values[i + 1..] {
                    s += f64::from(u8::from(b > a)) - f64::from(u8::from(b < a));
                }
            }
            let mut ties = 0.0;
            for value in 0..12 {
                let t = values.iter().filter(|v| **v == f64::from(value)).count() as f64;
                ties += t * (t - 1.0) * (2.0 * t + 5.0);
            }
            let n = values.len() as f64;
            let found = mann_kendall(&values);
            prop_assert_eq!(found.s, s);
            prop_assert_eq!(found.variance, ((n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0).max(0.0));
        }
    }
}
