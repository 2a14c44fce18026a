//! The user's column layout of a list: which columns are shown, their order and widths, and which are frozen; saved between runs. The
//! columns themselves are the list's.

use serde_json::{Value, json};

/// Maximum number of cells that a column may be widened or narrowed by.
const WIDER_MAX: i16 = 60;

/// The layout. Keys that are not named keep the list's defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnLayout {
    /// The keys in order; empty for the list's order.
    pub order: Vec<&'static str>,
    pub hidden: Vec<&'static str>,
    /// Width changes in cells.
    pub wider: Vec<(&'static str, i16)>,
    /// Number of frozen columns at the left.
    pub frozen: usize,
}

impl ColumnLayout {
    pub fn is_hidden(&self, key: &str) -> bool {
        self.hidden.contains(&key)
    }

    pub fn show(&mut self, key: &'static str, shown: bool) {
        self.hidden.retain(|hidden| *hidden != key);
        if !shown {
            self.hidden.push(key);
        }
    }

    pub fn wider_by(&self, key: &str) -> i16 {
        self.wider
            .iter()
            .find(|(known, _)| *known == key)
            .map_or(0, |(_, cells)| *cells)
    }

    /// Widens the column by this number of cells.
    pub fn widen(&mut self, key: &'static str, cells: i16) {
        let wider = (self.wider_by(key) + cells).clamp(-WIDER_MAX, WIDER_MAX);
        self.wider.retain(|(known, _)| *known != key);
        if wider != 0 {
            self.wider.push((key, wider));
        }
    }

    /// Sorts the columns: named ones in their order, each other one behind its predecessor.
    pub fn in_order<T>(&self, items: Vec<T>, key: impl Fn(&T) -> &'static str) -> Vec<T> {
        if self.order.is_empty() {
            return items;
        }
        let place = |name: &str| self.order.iter().position(|known| *known == name);
        let mut after = 0;
        let mut placed: Vec<((usize, usize), T)> = Vec::with_capacity(items.len());
        for (nth, item) in items.into_iter().enumerate() {
            let at = place(key(&item));
            after = at.unwrap_or(after);
            // A named column comes before the unnamed ones behind it.
            placed.push(((after, if at.is_some() { 0 } else { nth + 1 }), item));
        }
        placed.sort_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, item)| item).collect()
    }

    /// Null for the defaults.
    pub fn save(&self, standard: &Self) -> Value {
        if self == standard {
            return Value::Null;
        }
        json!({ "order": self.order, "hidden": self.hidden, "wider": self.wider, "frozen": self.frozen })
    }

    /// Restores a saved layout, ignoring unknown keys.
    pub fn restore(&mut self, kept: &Value, known: &[&'static str]) {
        if !kept.is_object() {
            return;
        }
        let key = |value: &Value| {
            known
                .iter()
                .copied()
                .find(|known| value.as_str() == Some(known))
        };
        let keys = |name: &str| {
            kept[name]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(key)
                .collect::<Vec<_>>()
        };
        (self.order, self.hidden, self.wider) = (keys("order"), keys("hidden"), Vec::new());
        for pair in kept["wider"].as_array().into_iter().flatten() {
            if let (Some(key), Some(cells)) = (
                key(&pair[0]),
                pair[1].as_i64().and_then(|cells| i16::try_from(cells).ok()),
            ) {
                self.widen(key, cells.clamp(-WIDER_MAX, WIDER_MAX));
            }
        }
        self.frozen = kept["frozen"]
            .as_u64()
            .map_or(0, |count| (count as usize).min(known.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_in_the_order_that_was_chosen_and_new_ones_behind_their_neighbour() {
        let all = ["a", "b", "c", "d", "e"];
        for (order, expected) in [
            (&[][..], "abcde"),
            (&["c", "a", "b", "d", "e"], "cabde"),
            (&["d", "a", "c"], "deabc"),
            (&["a", "b"], "abcde"),
        ] {
            let layout = ColumnLayout {
                order: order.to_vec(),
                ..ColumnLayout::default()
            };
            assert_eq!(
                layout.in_order(all.to_vec(), |key| key).concat(),
                expected,
                "{order:?}"
            );
        }
    }

    #[test]
    fn what_was_chosen_comes_back_of_the_columns_there_are() {
        let mut layout = ColumnLayout {
            order: vec!["b", "a"],
            frozen: 1,
            ..ColumnLayout::default()
        };
        layout.show("b", false);
        layout.widen("a", 4);
        layout.widen("a", -1);
        layout.widen("b", 500);
        let kept = layout.save(&ColumnLayout::default());
        let mut again = ColumnLayout::default();
        again.restore(&kept, &["a", "b"]);
        assert_eq!(again, layout);
        again.restore(&kept, &["a"]);
        assert_eq!(
            again,
            ColumnLayout {
                order: vec!["a"],
                wider: vec![("a", 3)],
                frozen: 1,
                ..ColumnLayout::default()
            }
        );
        again.restore(&json!(null), &["a"]);
        assert_eq!(again.order, ["a"], "nothing kept changes nothing");
        assert_eq!(
            ColumnLayout::default().save(&ColumnLayout::default()),
            Value::Null
        );
    }
}
