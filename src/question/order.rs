//! By which column rows are sorted, and which way.

use std::{cmp::Ordering, fmt};

/// Columns that rows can be ordered by at once.
pub const SORTS_MAX: usize = 4;

/// A column to sort by, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub column: &'static str,
    pub descending: bool,
}

impl Order {
    /// From the name of a column: `-` first means descending.
    pub const fn rising(column: &'static str) -> Self {
        Self { column, descending: false }
    }

    pub const fn falling(column: &'static str) -> Self {
        Self { column, descending: true }
    }

    /// Values in this order; what has none comes last either way.
    pub(super) fn compare<T: PartialOrd>(&self, a: Option<T>, b: Option<T>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => {
                let ascending = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
                if self.descending { ascending.reverse() } else { ascending }
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.descending { "-" } else { "" }, self.column)
    }
}

/// The column that a part of `sort` names, and whether it falls: `-volume`, `+close`, `close`.
pub(super) fn signed(part: &str) -> (&str, bool) {
    part.strip_prefix('-').map_or((part.strip_prefix('+').unwrap_or(part), false), |column| (column, true))
}
