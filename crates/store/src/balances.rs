//! A token's balances in a dataset: its rows, or their aggregates where the table is in place.

use crate::{Dataset, RowsOf};
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

impl Dataset {
    /// The token's balances, for a question about the token `about`. Those of a table in place must have been fetched before.
    pub fn holding_of(&self, token: &Address, about: &Address) -> Holding<'_> {
        let fetched = self.in_place("holders").and_then(|in_place| in_place.balances(token, about));
        fetched.map_or_else(|| Holding::Rows(Box::new(self.holders.of(token))), Holding::Aggregated)
    }

    /// Number of holders of the token.
    pub fn holders_listed(&self, token: &Address) -> u64 {
        let here = || self.holders.of(token).len() as u64;
        self.in_place("holders").map_or_else(here, |in_place| in_place.listed(token).unwrap_or_default().rows)
    }

    /// Number of holders of the token with a balance above zero.
    pub fn holders_held(&self, token: &Address) -> u64 {
        let here = || self.holders.of(token).balances().filter(|(_, balance)| balance.is_some_and(|b| b > 0.0)).count() as u64;
        self.in_place("holders").map_or_else(here, |in_place| in_place.listed(token).unwrap_or_default().held)
    }
}
