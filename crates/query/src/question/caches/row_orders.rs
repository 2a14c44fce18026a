//! Cache of the latest row orders of tables, so that the pages of one query are not sorted again. Long orders are spilled to files.

use std::{collections::VecDeque, sync::Mutex};

use model::locks::Locked as _;
use table::{RowSelection, filter::ExcludedRows};

/// Maximum number of cached orders; each holds at most a million row indices in memory.
const ORDERS_MAX: usize = 4;

/// The rows of a query, in order.
#[derive(Debug, Clone, Default)]
pub struct OrderedRows {
    pub places: RowSelection,
    /// All matching rows, unsorted, if `places` contains only the first of the sorted ones.
    pub unsorted: Option<RowSelection>,
    /// Rows left out by the filter because of missing values; empty where they were not counted.
    pub left_out: ExcludedRows,
}

impl OrderedRows {
    pub fn all(height: usize) -> Self {
        Self::complete(RowSelection::Run(0..height))
    }

    pub(in crate::question) fn complete(places: RowSelection) -> Self {
        Self {
            places,
            ..Self::default()
        }
    }

    /// Number of rows in the complete order.
    pub fn total(&self) -> usize {
        self.unsorted
            .as_ref()
            .map_or(self.places.len(), RowSelection::len)
    }
}

/// The row orders of one generation, by query.
#[derive(Debug, Default)]
pub struct RowOrderCache(Mutex<VecDeque<(String, OrderedRows)>>);

impl RowOrderCache {
    pub(in crate::question) fn get(&self, key: &str) -> Option<OrderedRows> {
        let orders = self.0.locked();
        orders
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, order)| order.clone())
    }

    pub(in crate::question) fn insert(&self, key: String, order: OrderedRows) {
        let mut orders = self.0.locked();
        orders.retain(|(known, _)| *known != key);
        orders.push_front((key, order));
        orders.truncate(ORDERS_MAX);
    }
}
