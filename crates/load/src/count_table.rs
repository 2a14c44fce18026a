//! The holder counts of all tokens. A token's counts are a slice of the sorted table.

use std::{ops::Range, sync::Arc};

use crate::Table;
use model::{address::Address, day_counts::DayCounts};
use table::TableRows;

/// The counts of all tokens, by token and day.
#[derive(Debug, Default)]
pub(super) struct CountTable(Arc<TableRows>);

impl CountTable {
    pub(super) fn new(table: &Table) -> Self {
        Self(Arc::clone(&table.rows))
    }

    /// The token's counts, oldest first.
    pub(super) fn of(&self, token: &Address) -> DayCounts<'_> {
        // A damaged part yields no counts; the table reports the damage.
        let counts = slice_of(&self.0, &self.0.rows_of(token)).unwrap_or_default();
        // The three are of one table, so that they are equally long.
        if counts.holders.len() == counts.len() && counts.whale_balance.len() == counts.len() {
            counts
        } else {
            DayCounts::default()
        }
    }
}

/// A null is stored as the number that stands for no count.
fn slice_of<'a>(table: &'a TableRows, rows: &Range<usize>) -> Option<DayCounts<'a>> {
    Some(DayCounts {
        date: table.whole_numbers("date", rows.clone())?,
        holders: table.whole_numbers("holders", rows.clone())?,
        whale_balance: table.floats("whale_balance", rows.clone())?,
    })
}
