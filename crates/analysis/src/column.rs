//! Statistics of one numeric column: order statistics, value counts and a histogram. Exact, over sort keys (u64 in the order of the
//! values). Pure functions.

pub use super::numeric::key_of_float;
use super::{exact_sum::ExactSum, numeric::SIGN};

/// Number of bins of a histogram.
pub const BINS: usize = 20;

/// Source type of the sort keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberKind {
    /// From i64.
    Integers,
    /// From finite f64.
    Floats,
}

/// Returns the sort key of an integer: keys compare as the integers do.
pub fn key_of_integer(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// A value decoded from its sort key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Integer(i64),
    Float(f64),
}

impl Number {
    /// As f64; integers beyond 2^53 are rounded.
    pub fn float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// Sort keys of all values, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Sorted {
    made: NumberKind,
    keys: Vec<u64>,
    /// Where each key stands for several values: their number up to and with it. Empty: for one each.
    ends: Vec<u64>,
}

/// Order statistics, mean and histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    pub min: Number,
    pub max: Number,
    /// First quartile, median and third quartile, linearly interpolated at position p · (n − 1) of the sorted values (Hyndman & Fan 1996,
    /// type 7).
    pub quartiles: [f64; 3],
    /// Arithmetic mean.
    pub mean: f64,
    /// Lower edge and count of at most `BINS` equal-width bins from the minimum to the maximum; the last bin includes its upper edge. Edges
    /// of integer columns are integers.
    pub histogram: Vec<(Number, u64)>,
}

impl Sorted {
    /// `keys` must be sorted.
    pub fn new(made: NumberKind, keys: Vec<u64>) -> Self {
        debug_assert!(keys.is_sorted());
        Self {
            made,
            keys,
            ends: Vec::new(),
        }
    }

    /// Of sorted distinct keys, each with the number of its values.
    pub fn counted(made: NumberKind, counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut end = 0;
        let (keys, ends) = counts
            .into_iter()
            .map(|(key, count)| {
                (key, {
                    end += count;
                    end
                })
            })
            .unzip();
        Self {
            ends,
            ..Self::new(made, keys)
        }
    }

    /// The values before the key of this index.
    fn before(&self, index: usize) -> u64 {
        if self.ends.is_empty() {
            index as u64
        } else {
            index.checked_sub(1).map_or(0, |before| self.ends[before])
        }
    }

    /// The value at this place in the order.
    fn nth(&self, place: u64) -> f64 {
        let index = if self.ends.is_empty() {
            place as usize
        } else {
            self.ends.partition_point(|end| *end <= place)
        };
        self.number(self.keys[index]).float()
    }

    /// Each value, in order.
    fn floats(&self) -> impl Iterator<Item = f64> {
        let count = |index: usize| self.before(index + 1) - self.before(index);
        self.keys.iter().enumerate().flat_map(move |(index, key)| {
            std::iter::repeat_n(self.number(*key).float(), count(index) as usize)
        })
    }

    fn number(&self, key: u64) -> Number {
        match self.made {
            NumberKind::Integers => Number::Integer((key ^ SIGN).cast_signed()),
            NumberKind::Floats => Number::Float(f64::from_bits(if key & SIGN == 0 {
                !key
            } else {
                key ^ SIGN
            })),
        }
    }

    pub fn len(&self) -> usize {
        self.before(self.keys.len()) as usize
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Distinct values in ascending order, with their counts.
    pub fn runs(&self) -> impl Iterator<Item = (Number, u64)> + '_ {
        let mut index = 0;
        self.keys.chunk_by(|a, b| a == b).map(move |run| {
            let before = self.before(index);
            index += run.len();
            (self.number(run[0]), self.before(index) - before)
        })
    }

    fn at(&self, share: f64) -> f64 {
        let place = share * (self.len() - 1) as f64;
        let (low, high) = (
            self.nth(place.floor() as u64),
            self.nth(place.ceil() as u64),
        );
        // Not `low + (high - low) * part`: the difference of two huge floats would overflow.
        let part = place - place.floor();
        low * (1.0 - part) + high * part
    }

    /// Returns `None` for an empty column.
    pub fn statistics(&self) -> Option<Statistics> {
        let (&first, &last) = (self.keys.first()?, self.keys.last()?);
        let (min, max) = (self.number(first), self.number(last));
        let count = self.len() as f64;
        let mut sum = ExactSum::default();
        self.floats().for_each(|value| sum.add(value));
        let sum = sum.rounded();
        let mean = if sum.is_finite() {
            sum / count
        } else {
            self.floats().map(|value| value / count).sum()
        };
        Some(Statistics {
            min,
            max,
            quartiles: [0.25, 0.5, 0.75].map(|share| self.at(share)),
            mean,
            histogram: self.histogram(),
        })
    }

    /// A column with a single distinct value has a single bin.
    fn histogram(&self) -> Vec<(Number, u64)> {
        let (Some(&first), Some(&last)) = (self.keys.first(), self.keys.last()) else {
            return Vec::new();
        };
        let edges = match self.made {
            _ if first == last => vec![self.number(first)],
            // Key differences of integers equal the differences of the integers.
            NumberKind::Integers => {
                let width = ((last - first) / BINS as u64).saturating_add(1);
                (0..BINS as u64)
                    .map_while(|bin| first.checked_add(bin.checked_mul(width)?))
                    .take_while(|edge| *edge <= last)
                    .map(|edge| self.number(edge))
                    .collect()
            }
            NumberKind::Floats => {
                let (low, high) = (self.number(first).float(), self.number(last).float());
                let edge = |bin: usize| {
                    let share = bin as f64 / BINS as f64;
                    Number::Float(low * (1.0 - share) + high * share)
                };
                (0..BINS).map(edge).collect()
            }
        };
        let keys_below = |edge: Number| match edge {
            Number::Integer(edge) => self.keys.partition_point(|&key| key < key_of_integer(edge)),
            Number::Float(edge) => self
                .keys
                .partition_point(|&key| self.number(key).float() < edge),
        };
        let inner = edges.iter().skip(1).map(|&edge| keys_below(edge));
        let starts: Vec<u64> = std::iter::once(0)
            .chain(inner)
            .chain([self.keys.len()])
            .map(|index| self.before(index))
            .collect();
        edges
            .into_iter()
            .zip(starts.windows(2))
            .map(|(edge, start)| (edge, start[1].saturating_sub(start[0])))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn floats(values: &[f64]) -> Sorted {
        let mut keys: Vec<u64> = values.iter().map(|value| key_of_float(*value)).collect();
        keys.sort_unstable();
        Sorted::new(NumberKind::Floats, keys)
    }

    #[test]
    fn statistics_are_those_of_the_textbook() {
        let statistics = floats(&[4.0, 1.0, 3.0, 2.0])
            .statistics()
            .expect("four values");
        assert_eq!(statistics.quartiles, [1.75, 2.5, 3.25]);
        assert_eq!(
            (statistics.min, statistics.max, statistics.mean),
            (Number::Float(1.0), Number::Float(4.0), 2.5)
        );
        assert_eq!(
            statistics
                .histogram
                .iter()
                .map(|(_, count)| count)
                .sum::<u64>(),
            4
        );
        assert_eq!(
            (statistics.histogram[0].1, statistics.histogram[BINS - 1].1),
            (1, 1)
        );
        let one = floats(&[7.0, 7.0]).statistics().expect("one value");
        assert_eq!(
            (one.quartiles, one.histogram),
            ([7.0; 3], vec![(Number::Float(7.0), 2)])
        );
        assert_eq!(floats(&[]).statistics(), None);
        // Added one by one these lose the ones.
        assert_eq!(
            floats(&[1e16, 1.0, 1.0, -1e16])
                .statistics()
                .map(|statistics| statistics.mean),
            Some(0.5)
        );
        let huge = floats(&[f64::MAX, f64::MAX, -f64::MAX])
            .statistics()
            .expect("three values");
        assert!(huge.mean.is_finite() && huge.quartiles.iter().all(|value| value.is_finite()));
        let whole = Sorted::new(
            NumberKind::Integers,
            vec![
                key_of_integer(i64::MIN),
                key_of_integer(-1),
                key_of_integer(i64::MAX),
            ],
        );
        let statistics = whole.statistics().expect("three values");
        assert_eq!(
            (statistics.min, statistics.max),
            (Number::Integer(i64::MIN), Number::Integer(i64::MAX))
        );
        assert_eq!(
            statistics
                .histogram
                .iter()
                .map(|(_, count)| count)
                .sum::<u64>(),
            3
        );
    }

    #[test]
    fn bins_of_whole_numbers_begin_at_whole_numbers() {
        for (values, edges, counts) in [
            (
                &[6, 6, 18][..],
                &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18][..],
                &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..],
            ),
            (&[-3, 0], &[-3, -2, -1, 0], &[1, 0, 0, 1]),
            (
                &[0, 45, 46, 99],
                &[
                    0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95,
                ],
                &[1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            ),
        ] {
            let sorted = Sorted::new(
                NumberKind::Integers,
                values.iter().map(|&value| key_of_integer(value)).collect(),
            );
            let histogram = sorted.statistics().expect("values").histogram;
            let expected: Vec<_> = edges
                .iter()
                .map(|&edge| Number::Integer(edge))
                .zip(counts.iter().copied())
                .collect();
            assert_eq!(histogram, expected);
        }
    }

    #[test]
    fn each_value_is_counted_once() {
        let runs: Vec<_> = floats(&[0.0, -0.0, 2.0, -3.0, 2.0]).runs().collect();
        assert_eq!(
            runs,
            [
                (Number::Float(-3.0), 1),
                (Number::Float(0.0), 2),
                (Number::Float(2.0), 2)
            ]
        );
    }

    proptest! {
        #[test]
        fn keys_stand_in_the_order_of_their_numbers(a in proptest::num::f64::NORMAL, b in proptest::num::f64::NORMAL, i: i64, j: i64) {
            prop_assert_eq!(key_of_float(a).cmp(&key_of_float(b)), a.total_cmp(&b));
            prop_assert_eq!(key_of_integer(i).cmp(&key_of_integer(j)), i.cmp(&j));
            prop_assert_eq!(floats(&[a]).runs().next(), Some((Number::Float(a), 1)));
        }

        #[test]
        fn a_histogram_loses_no_value(values in proptest::collection::vec(-1e6_f64..1e6, 1..200)) {
            let statistics = floats(&values).statistics().expect("values");
            prop_assert_eq!(statistics.histogram.iter().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
            prop_assert!(statistics.quartiles.is_sorted());
        }

        #[test]
        fn counted_values_are_as_the_values(values in proptest::collection::vec(-9_i64..9, 0..60)) {
            let mut keys: Vec<u64> = values.iter().map(|value| key_of_integer(*value)).collect();
            keys.sort_unstable();
            let all = Sorted::new(NumberKind::Integers, keys.clone());
            let counted = Sorted::counted(NumberKind::Integers, keys.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)));
            prop_assert_eq!((counted.len(), counted.statistics()), (all.len(), all.statistics()));
            prop_assert_eq!(counted.runs().collect::<Vec<_>>(), all.runs().collect::<Vec<_>>());
        }
    }
}
