//! A token's balances: its rows, or their aggregates if the table is queried in place.

use std::ops::Range;

use crate::{Dataset, RowsOf};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    fetch_key::FetchKey,
    holding::{BalanceRows, Holding},
    rows::HolderRow,
};

/// Maximum number of holders of a remote token that are fetched at once, a few seconds of work; larger lists are only read page by page.
const FETCHED_MAX: u64 = 100_000;

impl BalanceRows for RowsOf<'_, HolderRow> {
    fn count(&self) -> usize {
        self.len()
    }

    fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
        Box::new(RowsOf::balances(self))
    }
}

impl Dataset {
    /// The token's balances, for a query about the token `about`. Those of a table in place must have been fetched before.
    pub fn holding_of(&self, token: &Address, about: &Address) -> Holding<'_> {
        let fetched = self
            .in_place("holders")
            .and_then(|in_place| in_place.balances(token, about));
        fetched.map_or_else(
            || Holding::Rows(Box::new(self.holders.of(token))),
            Holding::Aggregated,
        )
    }

    /// Number of holders of the token.
    pub fn holders_listed(&self, token: &Address) -> u64 {
        let here = || self.holders.of(token).len() as u64;
        self.in_place("holders")
            .map_or_else(here, |in_place| in_place.listed(token).rows)
    }

    /// Number of holders of the token with a balance above zero.
    pub fn holders_held(&self, token: &Address) -> u64 {
        let here = || {
            self.holders
                .of(token)
                .balances()
                .filter(|(_, balance)| balance.is_some_and(|b| b > 0.0))
                .count() as u64
        };
        self.in_place("holders")
            .map_or_else(here, |in_place| in_place.listed(token).held)
    }

    /// A page of the token's holders, largest balance first. Fails if the page has not been fetched yet.
    pub fn holders_page(&self, token: &Address, rows: Range<usize>) -> Result<Vec<HolderRow>> {
        let Some(in_place) = self.in_place("holders") else {
            return Ok(self.holders.of(token).part(rows));
        };
        let (from, most) = (rows.start as u64, rows.len() as u64);
        if from >= in_place.count(token) {
            return Ok(Vec::new());
        }
        self.fetched_holders(in_place.page("holders", *token, from, most))
    }

    /// All holders of the token if its table is queried in place; `None` if they are in `holders_of`. Fails if they have not been fetched
    /// yet, or if there are more than `FETCHED_MAX`.
    pub fn holders_of_source(&self, token: &Address) -> Result<Option<Vec<HolderRow>>> {
        let Some(in_place) = self.in_place("holders") else {
            return Ok(None);
        };
        match in_place.count(token) {
            0 => Ok(Some(Vec::new())),
            1..=FETCHED_MAX => self
                .fetched_holders(FetchKey::Rows {
                    table: "holders",
                    token: *token,
                })
                .map(Some),
            listed => {
                let detail = format!(
                    "The {listed} holders of `{token}` are queried in place at `{}`, where only pages in the default order are \
                        available. Filtering, sorting and listing all holders are supported for up to {FETCHED_MAX} holders; for more, \
                        set read = \"bring\" in dataset.toml.",
                    in_place.source
                );
                Err(Problem::new(Code::InvalidParameter, detail))
            }
        }
    }

    fn fetched_holders(&self, key: FetchKey) -> Result<Vec<HolderRow>> {
        Ok(self
            .require([key])?
            .first()
            .map_or_else(Vec::new, |rows| rows.holders()))
    }
}
