//! Cache of the latest row orders of tables, so that the pages of one query are not sorted again. Long orders are spilled to files.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use crate::dataset::cache::RowSelection;

/// Maximum number of cached orders; each holds at most a million row indices in memory.
const ORDERS: usize = 4;

/// The rows of a query, in order.
#[derive(Debug, Clone, Default)]
pub struct OrderedRows {
    pub places: RowSelection,
    /// All matching rows, unsorted, where `places` holds only the first of the sorted ones.
    pub of: Option<RowSelection>,
}

impl OrderedRows {
    pub fn all(height: usize) -> Self {
        Self::whole(RowSelection::Run(0..height))
    }

    pub(in crate::question) fn whole(places: RowSelection) -> Self {
        Self { places, of: None }
    }

    /// Number of rows in the complete order.
    pub fn total(&self) -> usize {
        self.of.as_ref().map_or(self.places.len(), RowSelection::len)
    }
}

/// The row orders of one generation, by query.
#[derive(Debug, Default)]
pub struct TableMemory(Mutex<VecDeque<(String, OrderedRows)>>);

impl TableMemory {
    pub(in crate::question) fn get(&self, key: &str) -> Option<OrderedRows> {
        let orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.iter().find(|(known, _)| known == key).map(|(_, shown)| shown.clone())
    }

    pub(in crate::question) fn keep(&self, key: String, shown: OrderedRows) {
        let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.retain(|(known, _)| *known != key);
        orders.push_front((key, shown));
        orders.truncate(ORDERS);
    }
}
