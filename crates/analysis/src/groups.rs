//! Aggregates of groups of rows: count, sum, mean, smallest and largest value. Pure functions over the numbers of one column.

use super::exact_sum::ExactSum;
use model::scalar::Scalar;

model::words! {
    /// An aggregate of a group's rows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Aggregate {
        Count = "count", Sum = "sum", Mean = "mean", Min = "min", Max = "max",
    }
}

impl Aggregate {
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.word() == word)
    }

    /// Whether the values must be quantities, which can be summed; otherwise times and days are allowed.
    pub fn adds(self) -> bool {
        matches!(self, Self::Sum | Self::Mean)
    }
}

/// What is known of a group's values in one column. Two halves of the rows, merged, are known as all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    count: u64,
    /// Of integers.
    whole: i128,
    /// Of floats.
    sum: ExactSum,
    min: f64,
    max: f64,
    min_whole: i64,
    max_whole: i64,
}

impl Default for Tally {
    fn default() -> Self {
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        Self {
            count: 0,
            whole: 0,
            sum: ExactSum::default(),
            min,
            max,
            min_whole: i64::MAX,
            max_whole: i64::MIN,
        }
    }
}

impl Tally {
    pub fn add_whole(&mut self, value: i64) {
        self.count += 1;
        self.whole += i128::from(value);
        self.min_whole = self.min_whole.min(value);
        self.max_whole = self.max_whole.max(value);
    }

    /// Counts a value that is no quantity.
    pub fn add_present(&mut self) {
        self.count += 1;
    }

    /// Takes finite values alone.
    pub fn add_float(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.count += 1;
        self.sum.add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Of integers that were counted elsewhere: their number, sum, smallest and largest.
    pub fn of_whole(count: u64, whole: i128, [min_whole, max_whole]: [i64; 2]) -> Self {
        Self {
            count,
            whole,
            min_whole,
            max_whole,
            ..Self::default()
        }
    }

    /// The same of finite floats.
    pub fn of_floats(count: u64, sum: ExactSum, [min, max]: [f64; 2]) -> Self {
        Self {
            count,
            sum,
            min,
            max,
            ..Self::default()
        }
    }

    /// Of values that are no quantities.
    pub fn of_present(count: u64) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.whole += other.whole;
        self.sum.merge(&other.sum);
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        self.min_whole = self.min_whole.min(other.min_whole);
        self.max_whole = self.max_whole.max(other.max_whole);
    }

    /// The figure of the values; `None` without any, or beyond a float. `whole`: they are integers.
    pub fn figure(&self, aggregate: Aggregate, whole: bool) -> Option<Scalar<'static>> {
        if aggregate == Aggregate::Count {
            return Some(Scalar::Whole(i64::try_from(self.count).unwrap_or(i64::MAX)));
        }
        if self.count == 0 {
            return None;
        }
        let total = if whole {
            self.whole as f64
        } else {
            self.sum.rounded()
        };
        let figure = match (aggregate, whole) {
            (Aggregate::Sum, true) => {
                i64::try_from(self.whole).map_or(Scalar::Float(total), Scalar::Whole)
            }
            (Aggregate::Mean, _) => Scalar::Float(total / self.count as f64),
            (Aggregate::Min, true) => Scalar::Whole(self.min_whole),
            (Aggregate::Max, true) => Scalar::Whole(self.max_whole),
            (Aggregate::Min, false) => Scalar::Float(self.min),
            (Aggregate::Max, false) => Scalar::Float(self.max),
            _ => Scalar::Float(total),
        };
        Some(figure).filter(|figure| !matches!(figure, Scalar::Float(value) if !value.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(tally: &Tally, whole: bool) -> [Option<Scalar<'static>>; 5] {
        Aggregate::ALL.map(|aggregate| tally.figure(aggregate, whole))
    }

    #[test]
    fn nothing_has_no_figures_but_its_count() {
        assert_eq!(
            figures(&Tally::default(), true),
            [Some(Scalar::Whole(0)), None, None, None, None]
        );
        let mut nan = Tally::default();
        nan.add_float(f64::NAN);
        assert_eq!(nan, Tally::default());
    }

    #[test]
    fn integers_are_exact_and_a_sum_beyond_them_is_a_float() {
        let mut tally = Tally::default();
        for value in [i64::MAX, -1, 1] {
            tally.add_whole(value);
        }
        assert_eq!(figures(&tally, true)[1..2], [Some(Scalar::Whole(i64::MAX))]);
        assert_eq!(
            figures(&tally, true)[3..],
            [Some(Scalar::Whole(-1)), Some(Scalar::Whole(i64::MAX))]
        );
        tally.add_whole(1);
        assert_eq!(
            tally.figure(Aggregate::Sum, true),
            Some(Scalar::Float(i64::MAX as f64 + 1.0))
        );
    }

    #[test]
    fn a_large_value_does_not_swallow_the_small_ones() {
        let mut tally = Tally::default();
        for value in [1e16, 1.0, -1e16] {
            tally.add_float(value);
        }
        assert_eq!(
            tally.figure(Aggregate::Sum, false),
            Some(Scalar::Float(1.0))
        );
    }

    #[test]
    fn two_halves_are_the_whole() {
        let values: Vec<i64> = (0..1_000).map(|i| (i * 7_919) % 1_013 - 500).collect();
        let tally = |values: &[i64], whole: bool| {
            let mut tally = Tally::default();
            for &value in values {
                if whole {
                    tally.add_whole(value);
                } else {
                    tally.add_float(value as f64);
                }
            }
            tally
        };
        for whole in [true, false] {
            for cut in [0, 1, 500, 1_000] {
                let mut halves = tally(&values[..cut], whole);
                halves.merge(&tally(&values[cut..], whole));
                assert_eq!(
                    figures(&halves, whole),
                    figures(&tally(&values, whole), whole),
                    "{whole} {cut}"
                );
            }
        }
    }
}
