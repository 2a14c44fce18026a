//! By which column of a table on screen the rows are ordered, how keys and clicks change it, and how it is kept between runs.

use std::cmp::Ordering;

use serde_json::{Value, json};

/// A column and its direction; none is the order the rows came in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sorting(pub(super) Option<(usize, bool)>);

impl Sorting {
    /// `s`: the next of `columns`; past the last, the order the rows came in.
    pub(super) fn next(&mut self, columns: usize) {
        self.0 = match self.0 {
            None => (columns > 0).then_some((0, false)),
            Some((column, falls)) => (column + 1 < columns).then_some((column + 1, falls)),
        };
    }

    /// `S`.
    pub(super) fn reverse(&mut self) {
        if let Some((_, falls)) = &mut self.0 {
            *falls = !*falls;
        }
    }

    /// A click on a header: by this column, then the other way round, then not at all.
    pub(super) fn click(&mut self, column: usize) {
        self.0 = match self.0 {
            Some((sorted, false)) if sorted == column => Some((column, true)),
            Some((sorted, true)) if sorted == column => None,
            _ => Some((column, false)),
        };
    }

    /// Puts the rows in order; `key` gives a row's value in a column. Rows without one come last either way.
    pub(super) fn sort<T>(self, rows: &mut [T], key: impl Fn(&T, usize) -> SortKey) {
        if let Some((column, falls)) = self.0 {
            rows.sort_by(|a, b| key(a, column).compare(&key(b, column), falls));
        }
    }

    pub(super) fn save(self, name: impl Fn(usize) -> Option<&'static str>) -> Value {
        match self.0.and_then(|(column, falls)| Some((name(column)?, falls))) {
            Some((column, falls)) => json!({"column": column, "falls": falls}),
            None => Value::Null,
        }
    }

    pub(super) fn restore(kept: &Value, place: impl Fn(&str) -> Option<usize>) -> Self {
        let column = kept["column"].as_str().and_then(place);
        Self(column.map(|column| (column, kept["falls"].as_bool().unwrap_or(false))))
    }
}

/// What a row is ordered by.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SortKey {
    Number(f64),
    Text(String),
    Missing,
}

impl SortKey {
    fn compare(&self, other: &Self, falls: bool) -> Ordering {
        let rising = match (self, other) {
            (Self::Missing, Self::Missing) => Ordering::Equal,
            (Self::Missing, _) => return Ordering::Greater,
            (_, Self::Missing) => return Ordering::Less,
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        };
        if falls { rising.reverse() } else { rising }
    }
}

impl From<&str> for SortKey {
    fn from(text: &str) -> Self {
        Self::Text(text.to_lowercase())
    }
}

impl From<u64> for SortKey {
    fn from(number: u64) -> Self {
        Self::Number(number as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_clicks_go_round() {
        let mut sorting = Sorting::default();
        let mut seen = Vec::new();
        for _ in 0..4 {
            sorting.next(2);
            seen.push(sorting.0);
        }
        assert_eq!(seen, [Some((0, false)), Some((1, false)), None, Some((0, false))]);
        sorting.click(1);
        sorting.click(1);
        assert_eq!(sorting.0, Some((1, true)));
        let kept = sorting.save(|column| ["a", "b"].get(column).copied());
        assert_eq!(Sorting::restore(&kept, |name| ["a", "b"].iter().position(|known| *known == name)), sorting);
        assert_eq!(Sorting::restore(&json!({"column": "gone"}), |_| None), Sorting(None));
        sorting.click(1);
        assert_eq!(sorting.0, None);
    }

    #[test]
    fn rows_without_a_value_come_last_either_way() {
        for (falls, expected) in [(false, [1, 3, 0]), (true, [3, 1, 0])] {
            let mut rows = [0, 3, 1];
            Sorting(Some((0, falls))).sort(&mut rows, |row, _| if *row == 0 { SortKey::Missing } else { SortKey::from(*row) });
            assert_eq!(rows, expected);
        }
    }
}
