//! A token's holder counts as struct-of-arrays slices, because millions of them are in memory. Storing them belongs to the storage.

use super::time::Day;

/// Stands for an unknown number of holders.
pub const UNCOUNTED: i64 = i64::MIN;

/// One token's counts, oldest first. All slices have the same length.
#[derive(Debug, Clone, Copy, Default)]
pub struct DayCounts<'a> {
    /// Days since 1970.
    pub date: &'a [i64],
    /// Number of holders, `UNCOUNTED` where unknown.
    pub holders: &'a [i64],
    /// Tokens owned by whales; NaN where unknown.
    pub whale_balance: &'a [f64],
}

/// The count of one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayCount {
    pub date: Day,
    pub holders: Option<i64>,
    pub whale_balance: Option<f64>,
}

impl<'a> DayCounts<'a> {
    pub fn len(&self) -> usize {
        self.date.len()
    }

    pub fn is_empty(&self) -> bool {
        self.date.is_empty()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = DayCount> + ExactSizeIterator + use<'a> {
        let counts = *self;
        (0..counts.len()).map(move |i| DayCount {
            date: Day(counts.date[i] as i32),
            holders: Some(counts.holders[i]).filter(|holders| *holders != UNCOUNTED),
            whale_balance: Some(counts.whale_balance[i]).filter(|balance| !balance.is_nan()),
        })
    }

    pub fn last(&self) -> Option<DayCount> {
        self.iter().next_back()
    }

    /// The counts up to and including this day.
    #[must_use]
    pub fn until(&self, day: Day) -> Self {
        let count = self.date.partition_point(|date| *date <= i64::from(day.0));
        Self {
            date: &self.date[..count],
            holders: &self.holders[..count],
            whale_balance: &self.whale_balance[..count],
        }
    }
}
