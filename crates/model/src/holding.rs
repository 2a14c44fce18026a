//! A token's balances for the analyses: row by row or, for a table in place, row by row only for the largest and for named addresses, with
//! the rest as the aggregates that concentration measures need. Both forms give the same measures.

use std::{fmt, sync::Arc};

use super::address::Address;

/// Holder counts of a token.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ListedBalances {
    pub rows: u64,
    /// Rows with a balance above zero.
    pub held: u64,
    /// Checksum of the rows.
    pub checksum: u64,
}

/// Holders that an engine reports individually when it aggregates balances.
#[derive(Debug, Clone, Default)]
pub struct IndividualHolders {
    /// Reported row by row and excluded from the aggregates.
    pub named: Vec<Address>,
    /// The subset of `named` whose tokens are burned.
    pub burned: Vec<Address>,
    /// Included in the aggregates and also reported row by row.
    pub watched: Vec<Address>,
    /// Total supply in whole tokens, where known.
    pub supply: Option<f64>,
}

/// A token's balances as an engine aggregates them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Balances {
    /// Number of rows of the token.
    pub listed: u64,
    /// The largest balances and those of `IndividualHolders::named`, in table order.
    pub rows: Vec<(Address, Option<f64>)>,
    /// The addresses of `IndividualHolders::watched` that `rest` includes, with their balances.
    pub watched_in_rest: Vec<(Address, f64)>,
    pub rest: RestAggregates,
}

impl Balances {
    pub fn bytes(&self) -> u64 {
        (size_of_val(self.rows.as_slice()) + size_of_val(self.watched_in_rest.as_slice())) as u64
    }
}

/// Aggregates of the balances above zero that are not listed row by row: none exceeds a listed one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RestAggregates {
    pub count: u64,
    pub sum: f64,
    /// Sum of squares.
    pub squares: f64,
    /// Sum of balance times rank, the smallest having rank 1.
    pub ranked: f64,
    /// Nakamoto coefficient: fewest holders, without `IndividualHolders::named`, that together have more than half of the unburned tokens;
    /// `None` if they do not reach it.
    pub nakamoto: Option<u64>,
}

/// Balances in the storage, row by row.
pub trait BalanceRows: fmt::Debug {
    fn count(&self) -> usize;
    /// Holder and balance of each row, largest balance first.
    fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_>;
}

/// A token's balances: row by row, or aggregated by an engine.
#[derive(Debug)]
pub enum Holding<'a> {
    Rows(Box<dyn BalanceRows + 'a>),
    Aggregated(Arc<Balances>),
}

impl Holding<'_> {
    fn aggregated(&self) -> Option<&Balances> {
        if let Self::Aggregated(balances) = self {
            Some(balances)
        } else {
            None
        }
    }

    /// Number of rows of the token.
    pub fn listed(&self) -> u64 {
        match self {
            Self::Rows(rows) => rows.count() as u64,
            Self::Aggregated(balances) => balances.listed,
        }
    }

    /// Whether every row is listed individually, so that `rest` is empty.
    pub fn is_whole(&self) -> bool {
        self.rows().count() as u64 == self.listed()
    }

    pub fn is_empty(&self) -> bool {
        self.listed() == 0
    }

    /// Holder and balance of every individually listed row, largest first, without those in `rest`.
    pub fn rows(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
        match self {
            Self::Rows(rows) => rows.balances(),
            Self::Aggregated(balances) => Box::new(balances.rows.iter().copied()),
        }
    }

    /// `rows`, then the watched holders that `rest` includes.
    pub fn known(&self) -> impl Iterator<Item = (Address, Option<f64>)> {
        self.rows().chain(
            self.watched_in_rest()
                .iter()
                .map(|(holder, balance)| (*holder, Some(*balance))),
        )
    }

    /// Balances of the watched holders that `rest` includes.
    pub fn watched_in_rest(&self) -> &[(Address, f64)] {
        self.aggregated()
            .map_or(&[], |balances| &balances.watched_in_rest)
    }

    pub fn rest(&self) -> RestAggregates {
        self.aggregated()
            .map_or_else(RestAggregates::default, |balances| balances.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_its_empty_balances_is_not_whole() {
        for (listed, whole) in [(1, true), (2, false)] {
            let balances = Balances {
                listed,
                rows: vec![(Address([1; 20]), Some(1.0))],
                ..Balances::default()
            };
            assert_eq!(
                Holding::Aggregated(Arc::new(balances)).is_whole(),
                whole,
                "{listed}"
            );
        }
    }
}
