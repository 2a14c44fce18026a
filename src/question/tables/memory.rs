//! The orders of tables that were made last, so that the pages of one order are not each put in order anew. Long ones stand in files.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use super::order::Shown;

/// Orders that are kept; a list in memory has a million places at most.
const ORDERS: usize = 4;

/// The orders of one generation.
#[derive(Debug, Default)]
pub struct TableMemory(Mutex<VecDeque<(String, Shown)>>);

impl TableMemory {
    pub(super) fn get(&self, key: &str) -> Option<Shown> {
        let orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.iter().find(|(known, _)| known == key).map(|(_, shown)| shown.clone())
    }

    pub(super) fn keep(&self, key: String, shown: Shown) {
        let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.retain(|(known, _)| *known != key);
        orders.push_front((key, shown));
        orders.truncate(ORDERS);
    }
}
