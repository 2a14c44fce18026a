//! The holder counts of all tokens. A token's counts are a slice of the sorted table, which is in memory or in the cache.

use std::{collections::HashMap, ops::Range, sync::Arc};

use polars::prelude::{DataFrame, Float64Chunked, Int64Chunked};

use crate::{
    Table,
    cache::LargeTable,
    held_columns::{floats, integers, part},
};
use model::{
    address::Address,
    day_counts::{DayCounts, UNCOUNTED},
};
use source::text_runs::runs_of;

/// The counts of all tokens, by token and day.
#[derive(Debug)]
pub(super) enum CountTable {
    Held(Box<HeldCounts>),
    Large(Arc<LargeTable>),
}

/// Counts in memory.
#[derive(Debug, Default)]
pub(super) struct HeldCounts {
    date: Int64Chunked,
    holders: Int64Chunked,
    whale_balance: Float64Chunked,
    index: HashMap<Address, Range<usize>>,
}

impl Default for CountTable {
    fn default() -> Self {
        Self::Held(Box::default())
    }
}

impl CountTable {
    pub(super) fn new(table: &Table) -> Self {
        table.large().map_or_else(
            || Self::Held(Box::new(HeldCounts::new(table.frame()))),
            |large| Self::Large(Arc::clone(large)),
        )
    }

    /// The token's counts, oldest first.
    pub(super) fn of(&self, token: &Address) -> DayCounts<'_> {
        let counts = match self {
            Self::Held(held) => held.of(token),
            // A damaged part yields no counts; the table reports the damage.
            Self::Large(table) => large_slice(table, &table.rows_of(token)).unwrap_or_default(),
        };
        // The three are of one table, so that they are equally long.
        if counts.holders.len() == counts.len() && counts.whale_balance.len() == counts.len() {
            counts
        } else {
            DayCounts::default()
        }
    }
}

/// A null is stored as the number that stands for no count.
fn large_slice<'a>(table: &'a LargeTable, rows: &Range<usize>) -> Option<DayCounts<'a>> {
    Some(DayCounts {
        date: table.whole_numbers("date", rows.clone())?,
        holders: table.whole_numbers("holders", rows.clone())?,
        whale_balance: table.floats("whale_balance", rows.clone())?,
    })
}

impl HeldCounts {
    /// From a canonical frame, whose days are not null.
    fn new(frame: &DataFrame) -> Self {
        let tokens = frame
            .column("token_address")
            .ok()
            .and_then(|tokens| tokens.str().ok());
        let mut index: HashMap<Address, Range<usize>> = HashMap::new();
        for (rows, token) in tokens.into_iter().flat_map(runs_of) {
            let Some(token) = token.and_then(Address::parse) else {
                continue;
            };
            // A token's rows may lie in two chunks.
            index
                .entry(token)
                .and_modify(|known| known.end = rows.end)
                .or_insert(rows);
        }
        let whole = |name: &str| integers(frame, name, UNCOUNTED);
        Self {
            date: whole("date"),
            holders: whole("holders"),
            whale_balance: floats(frame, "whale_balance"),
            index,
        }
    }

    fn of(&self, token: &Address) -> DayCounts<'_> {
        let Some(rows) = self.index.get(token) else {
            return DayCounts::default();
        };
        DayCounts {
            date: part(&self.date, rows),
            holders: part(&self.holders, rows),
            whale_balance: part(&self.whale_balance, rows),
        }
    }
}
