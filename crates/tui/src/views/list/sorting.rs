//! The sort order of a list: changed by keys and clicks, saved between runs. Shared by every table on screen.

use serde_json::{Value, json};

use crate::widgets::table::TableColumn;
use query::queries::order::{Order, SORTS_MAX};

/// A sortable column, and whether its first sort is descending.
pub type SortColumn = (&'static str, bool);

/// The chosen sort keys, the most significant first; empty for the list's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sorting {
    chosen: Vec<Order>,
    /// The list's default; `None` for the order of the data.
    standard: Option<Order>,
}

impl Sorting {
    pub fn new(standard: Option<Order>) -> Self {
        Self {
            chosen: Vec::new(),
            standard,
        }
    }

    /// Replaces the list's default.
    pub fn set_standard(&mut self, standard: Option<Order>) {
        self.standard = standard;
    }

    /// The sort keys in force, the most significant first.
    pub fn keys(&self) -> &[Order] {
        if self.chosen.is_empty() {
            self.standard.as_slice()
        } else {
            &self.chosen
        }
    }

    pub fn first(&self) -> Option<Order> {
        self.keys().first().copied()
    }

    /// Whether the user chose an order.
    pub fn is_chosen(&self) -> bool {
        !self.chosen.is_empty()
    }

    pub fn set(&mut self, keys: impl IntoIterator<Item = Order>) {
        self.chosen = keys.into_iter().take(SORTS_MAX).collect();
        if self.chosen.as_slice() == self.standard.as_slice() {
            self.chosen.clear();
        }
    }

    /// `s`: sorts by the next of `columns`; past the last, by the list's default.
    pub fn next(&mut self, columns: &[SortColumn]) {
        let at = self
            .first()
            .and_then(|order| columns.iter().position(|(key, _)| *key == order.column));
        let next = at.map_or(0, |at| at + 1);
        // A list with a default order meets its column in the cycle.
        let next = if self.standard.is_some() {
            next % columns.len().max(1)
        } else {
            next
        };
        self.set(
            columns
                .get(next)
                .map(|&(column, descending)| Order { column, descending }),
        );
    }

    /// `S`: reverses the most significant sort key.
    pub fn reverse(&mut self) {
        let mut keys = self.keys().to_vec();
        if let Some(first) = keys.first_mut() {
            first.descending = !first.descending;
        }
        self.set(keys);
    }

    /// A click on a header: sorts by this column, then reversed, then by the list's default. With `also` it is added as the least
    /// significant key. False where the column is not sortable.
    pub fn click(&mut self, key: &str, also: bool, columns: &[SortColumn]) -> bool {
        let Some(&(column, descending)) = columns.iter().find(|(known, _)| *known == key) else {
            return false;
        };
        let mut keys = if also {
            self.keys().to_vec()
        } else {
            self.first().into_iter().collect()
        };
        match keys.iter().position(|order| order.column == column) {
            Some(at) if keys[at].descending == descending => keys[at].descending = !descending,
            Some(at) => drop(keys.remove(at)),
            None if also => {
                keys.insert(keys.len().min(SORTS_MAX - 1), Order { column, descending });
            }
            None => keys = vec![Order { column, descending }],
        }
        self.set(keys);
        true
    }

    /// For `Table::sort`: the indices of the sort columns, and whether each is descending.
    pub fn marks(keys: &[Order], columns: &[TableColumn]) -> Vec<(usize, bool)> {
        let place = |order: &Order| {
            columns
                .iter()
                .position(|column| column.key == order.column)
                .map(|place| (place, order.descending))
        };
        keys.iter().filter_map(place).collect()
    }

    /// `["-market_cap", "symbol"]`, as in the API's `sort=`; null for the list's default.
    pub fn save(&self) -> Value {
        if self.chosen.is_empty() {
            Value::Null
        } else {
            json!(
                self.chosen
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
            )
        }
    }

    /// Restores a saved order, also of the earlier format `{"column": …, "descending": …}`. Unknown columns are ignored.
    pub fn restore(&mut self, kept: &Value, columns: &[SortColumn]) {
        let known = |name: &str, descending| {
            let &(column, _) = columns.iter().find(|(key, _)| *key == name)?;
            Some(Order { column, descending })
        };
        let word = |word: &str| {
            word.strip_prefix('-')
                .map_or_else(|| known(word, false), |word| known(word, true))
        };
        let earlier = || {
            known(
                kept["column"].as_str()?,
                kept["descending"].as_bool().or(kept["falls"].as_bool())?,
            )
        };
        match kept {
            Value::Array(words) => self.set(words.iter().filter_map(|kept| word(kept.as_str()?))),
            _ => self.set(earlier().map_or_else(|| self.chosen.clone(), |order| vec![order])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[SortColumn] = &[("name", false), ("cap", true)];

    fn words(sorting: &Sorting) -> String {
        sorting
            .keys()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn keys_and_clicks_go_round_and_a_third_click_gives_the_lists_own_order() {
        // The input and the resulting order, for a list without a default and one with it.
        let cases: [(&str, &[&str], &str, &str); 9] = [
            ("nothing", &[], "", "-cap"),
            ("once", &["cap"], "-cap", "cap"),
            ("twice", &["cap", "cap"], "cap", "-cap"),
            ("thrice", &["name", "name", "name"], "", "-cap"),
            ("another", &["cap", "name"], "name", "name"),
            ("unsortable", &["history"], "", "-cap"),
            ("also", &["name", "+cap"], "name -cap", "name -cap"),
            (
                "also turned",
                &["name", "+cap", "+cap"],
                "name cap",
                "name cap",
            ),
            (
                "also gone",
                &["name", "+cap", "+cap", "+cap"],
                "name",
                "name",
            ),
        ];
        for (does, clicks, bare, standing) in cases {
            for (standard, expected) in [(None, bare), (Some(Order::falling("cap")), standing)] {
                let mut sorting = Sorting::new(standard);
                for key in clicks {
                    let (also, key) = key
                        .strip_prefix('+')
                        .map_or((false, *key), |key| (true, key));
                    assert_eq!(sorting.click(key, also, COLUMNS), key != "history");
                }
                assert_eq!(words(&sorting), expected, "{does} {standard:?}");
                let mut again = Sorting::new(standard);
                again.restore(&sorting.save(), COLUMNS);
                assert_eq!(again, sorting, "{does}");
            }
        }
        let mut seen = Vec::new();
        for standard in [None, Some(Order::falling("cap"))] {
            let mut sorting = Sorting::new(standard);
            for _ in 0..3 {
                sorting.next(COLUMNS);
                seen.push(words(&sorting));
            }
            sorting.reverse();
            seen.push(words(&sorting));
        }
        assert_eq!(
            seen,
            ["name", "-cap", "", "", "name", "-cap", "name", "-name"]
        );
    }

    #[test]
    fn what_was_kept_by_any_version_comes_back_unless_it_is_no_column() {
        let cases = [
            (json!(["-cap", "name"]), "-cap name"),
            (json!({"column": "name", "descending": true}), "-name"),
            (json!({"column": "cap", "falls": false}), "cap"),
            (json!(["nope", 3]), ""),
            (json!({"column": "nope", "descending": true}), ""),
            (json!({"column": "name"}), ""),
            (json!("cap"), ""),
            (json!(null), ""),
        ];
        for (kept, expected) in cases {
            let mut sorting = Sorting::new(None);
            sorting.restore(&kept, COLUMNS);
            assert_eq!(words(&sorting), expected, "{kept}");
        }
    }
}
