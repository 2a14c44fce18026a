//! The holder counts of all tokens: a token's counts are a slice of the sorted table, whose memory they share.

use std::{collections::HashMap, ops::Range};

use polars::prelude::{DataFrame, Float64Chunked, Int32Chunked, Int64Chunked};

use crate::{
    held_columns::{floats, integers, part},
    text_runs::runs_of,
};
use model::{
    address::Address,
    day_counts::{DayCounts, UNCOUNTED},
};

/// The counts of all tokens, by token and day.
#[derive(Debug, Default)]
pub(super) struct CountTable {
    date: Int32Chunked,
    holders: Int64Chunked,
    whale_balance: Float64Chunked,
    index: HashMap<Address, Range<usize>>,
}

impl CountTable {
    /// From a canonical frame, whose days are not null.
    pub(super) fn new(frame: &DataFrame) -> Self {
        let date = frame.column("date").ok().map(polars::prelude::Column::to_physical_repr);
        let date = date.and_then(|date| date.i32().ok().map(|date| date.rechunk().into_owned())).unwrap_or_default();
        let tokens = frame.column("token_address").ok().and_then(|tokens| tokens.str().ok());
        let mut index: HashMap<Address, Range<usize>> = HashMap::new();
        for (rows, token) in tokens.into_iter().flat_map(runs_of) {
            let Some(token) = token.and_then(Address::parse) else { continue };
            // A token's rows may lie in two chunks.
            index.entry(token).and_modify(|known| known.end = rows.end).or_insert(rows);
        }
        Self { date, holders: integers(frame, "holders", UNCOUNTED), whale_balance: floats(frame, "whale_balance"), index }
    }

    /// The token's counts, oldest first.
    pub(super) fn of(&self, token: &Address) -> DayCounts<'_> {
        let Some(rows) = self.index.get(token) else { return DayCounts::default() };
        let counts =
            DayCounts { date: part(&self.date, rows), holders: part(&self.holders, rows), whale_balance: part(&self.whale_balance, rows) };
        // The three are of one frame, so that they are equally long.
        if counts.holders.len() == counts.len() && counts.whale_balance.len() == counts.len() { counts } else { DayCounts::default() }
    }
}
