//! The cached orders of tables: those made last, so that the pages of one order are not each sorted anew. Long ones are kept in files.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use crate::{dataset::cache::Places, question::filter::RowsLeftOut};

/// Orders that are kept; a list in memory has a million places at most.
const ORDERS: usize = 4;

/// The rows found, in their order.
#[derive(Debug, Clone, Default)]
pub struct OrderedRows {
    pub places: Places,
    /// The rows that these are the first of, where the order of all is still to be made.
    pub of: Option<Places>,
    /// The rows that the filter left out for want of a value; none where they were not counted.
    pub left_out: RowsLeftOut,
}

impl OrderedRows {
    pub fn all(height: usize) -> Self {
        Self::whole(Places::Run(0..height))
    }

    pub(in crate::question) fn whole(places: Places) -> Self {
        Self { places, ..Self::default() }
    }

    /// How many there are once the order is made.
    pub fn total(&self) -> usize {
        self.of.as_ref().map_or(self.places.len(), Places::len)
    }
}

/// The orders of one generation.
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
