//! A token's balances: all rows, or of a table at an engine the largest holders that were brought.

use std::{ops::Range, sync::Arc};

use crate::{Dataset, RowsOf, engine_rows::FetchedRows};
use model::{
    address::Address,
    holding::{BalanceRows, Holding},
    rows::HolderRow,
};

impl BalanceRows for RowsOf<'_, HolderRow> {
    fn count(&self) -> usize {
        self.len()
    }

    fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
        Box::new(RowsOf::balances(self))
    }
}

/// The holders of a token that were brought.
#[derive(Debug)]
struct Brought(Arc<FetchedRows>);

impl BalanceRows for Brought {
    fn count(&self) -> usize {
        self.0.holders().len()
    }

    fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
        Box::new(self.0.holders().balances())
    }
}

impl Dataset {
    /// The token's balances. Those of a table at an engine must have been brought before.
    pub fn holding_of(&self, token: &Address) -> Holding<'_> {
        let here = || Holding::new(Box::new(self.holders_of(token)), None);
        let Some(at_engine) = self.engine_rows("holders") else {
            return here();
        };
        at_engine.get(token).map_or_else(here, |rows| {
            Holding::new(Box::new(Brought(rows)), Some(at_engine.listed(token)))
        })
    }

    /// Number of holders of the token.
    pub fn holders_listed(&self, token: &Address) -> u64 {
        let here = || self.holders_of(token).len() as u64;
        self.engine_rows("holders")
            .map_or_else(here, |rows| rows.listed(token).rows)
    }

    /// Number of holders of the token with a balance above zero.
    pub fn holders_held(&self, token: &Address) -> u64 {
        let here = || {
            self.holders_of(token)
                .balances()
                .filter(|(_, balance)| balance.is_some_and(|b| b > 0.0))
                .count() as u64
        };
        self.engine_rows("holders")
            .map_or_else(here, |rows| rows.listed(token).held)
    }

    /// A page of the token's holders, largest balance first.
    pub fn holders_page(&self, token: &Address, rows: Range<usize>) -> Vec<HolderRow> {
        match self.engine_rows("holders") {
            None => self.holders_of(token).part(rows),
            Some(at_engine) => at_engine
                .get(token)
                .map_or_else(Vec::new, |brought| brought.holders().part(rows)),
        }
    }

    /// The holders of the token that were brought from an engine; `None` if they are in `holders_of`.
    pub fn holders_of_source(&self, token: &Address) -> Option<Vec<HolderRow>> {
        self.engine_rows("holders")?;
        Some(self.holders_page(token, 0..usize::MAX))
    }
}
