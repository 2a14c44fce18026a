//! Sort orders: column and direction.

use std::{cmp::Ordering, fmt};

/// Maximum number of columns of one sort order.
pub const SORTS_MAX: usize = 4;

/// A sort column and its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub column: &'static str,
    pub descending: bool,
}

impl Order {
    /// Ascending.
    pub const fn rising(column: &'static str) -> Self {
        Self {
            column,
            descending: false,
        }
    }

    pub const fn falling(column: &'static str) -> Self {
        Self {
            column,
            descending: true,
        }
    }

    /// Compares two values in this direction; missing values come last either way.
    pub(super) fn compare<T: PartialOrd>(&self, a: Option<T>, b: Option<T>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => {
                let ascending = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
                if self.descending {
                    ascending.reverse()
                } else {
                    ascending
                }
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}",
            if self.descending { "-" } else { "" },
            self.column
        )
    }
}

/// Parses a part of `sort` into column and whether it is descending: `-volume`, `+close`, `close`.
pub(super) fn signed(part: &str) -> (&str, bool) {
    part.strip_prefix('-')
        .map_or((part.strip_prefix('+').unwrap_or(part), false), |column| {
            (column, true)
        })
}
