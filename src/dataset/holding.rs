//! A token's balances as analyses take them: row by row; or, of a table in place, the largest ones and those of named addresses row by row,
//! and the others as the sums that measures of concentration need. The two give the same measures.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use super::{Dataset, RowsOf, address::Address, rows::HolderRow, shelf::Fetched};

/// How many holders of a token are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ListedBalances {
    pub rows: u64,
    /// Those with a balance above zero.
    pub held: u64,
    /// The checksum of the rows.
    pub mark: u64,
}

/// Which holders are counted apart when an engine sums up balances.
#[derive(Debug, Clone, Default)]
pub struct Apart {
    /// Their balances come row by row, and are in no sum.
    pub named: Vec<Address>,
    /// Those of `named` whose tokens are burned.
    pub burned: Vec<Address>,
    /// Their balances are in the sums, and come row by row too.
    pub watched: Vec<Address>,
    /// Whole tokens, where known.
    pub supply: Option<f64>,
}

/// All are equal: it follows from the token asked about, and must not make another key of it.
impl PartialEq for Apart {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Apart {}

impl Hash for Apart {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The balances of a token, as an engine sums them up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Balances {
    /// Rows of the token.
    pub listed: u64,
    /// The largest balances and those of `Apart::named`, in the order of the table.
    pub rows: Vec<(Address, Option<f64>)>,
    /// Those of `Apart::watched` that are among the rest.
    pub behind: Vec<(Address, f64)>,
    pub rest: Rest,
}

impl Balances {
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(self.rows.as_slice()) + size_of_val(self.behind.as_slice())) as u64
    }
}

/// Sums of the balances above zero that do not come row by row: none is larger than one that does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rest {
    pub count: u64,
    pub sum: f64,
    /// Of their squares.
    pub squares: f64,
    /// The sum of each times its rank, the smallest having rank 1.
    pub ranked: f64,
    /// The fewest holders, without `Apart::named`, that have more than half of what is not burned; none where all have less.
    pub majority: Option<u64>,
}

/// A token's balances.
#[derive(Debug)]
pub enum Holding<'a> {
    Here(RowsOf<'a, HolderRow>),
    /// `Fetched::Balances`.
    There(Arc<Fetched>),
}

impl Holding<'_> {
    fn there(&self) -> Option<&Balances> {
        match self {
            Self::There(fetched) => match &**fetched {
                Fetched::Balances(balances) => Some(balances),
                _ => None,
            },
            Self::Here(_) => None,
        }
    }

    /// Rows of the token.
    pub fn listed(&self) -> u64 {
        match self {
            Self::Here(rows) => rows.len() as u64,
            Self::There(_) => self.there().map_or(0, |balances| balances.listed),
        }
    }

    /// Whether every row comes by itself.
    pub fn is_whole(&self) -> bool {
        self.rows().count() as u64 == self.listed()
    }

    pub fn is_empty(&self) -> bool {
        self.listed() == 0
    }

    /// Holder and balance of every row that comes by itself, the largest first; those of `rest` are not among them.
    pub fn rows(&self) -> impl Iterator<Item = (Address, Option<f64>)> {
        let here = if let Self::Here(rows) = self { Some(rows.balances()) } else { None };
        let there = self.there().map_or(&[][..], |balances| &balances.rows);
        here.into_iter().flatten().chain(there.iter().copied())
    }

    /// `rows`, then the watched holders outside them, which `rest` counts too.
    pub fn known(&self) -> impl Iterator<Item = (Address, Option<f64>)> {
        self.rows().chain(self.behind().iter().map(|(holder, balance)| (*holder, Some(*balance))))
    }

    /// The balances of watched holders that `rest` counts.
    pub fn behind(&self) -> &[(Address, f64)] {
        self.there().map_or(&[], |balances| &balances.behind)
    }

    pub fn rest(&self) -> Rest {
        self.there().map_or_else(Rest::default, |balances| balances.rest)
    }
}

impl Dataset {
    /// The token's balances, for a question about the token `about`. Those of a table in place were fetched before.
    pub fn holding_of(&self, token: &Address, about: &Address) -> Holding<'_> {
        let there = self.shelf("holders").and_then(|shelf| shelf.balances(token, about));
        there.map_or_else(|| Holding::Here(self.holders.of(token)), Holding::There)
    }

    /// How many holders of the token are listed.
    pub fn holders_listed(&self, token: &Address) -> u64 {
        let here = || self.holders.of(token).len() as u64;
        self.shelf("holders").map_or_else(here, |shelf| shelf.listed(token).unwrap_or_default().rows)
    }

    /// How many holders of the token have a balance above zero.
    pub fn holders_held(&self, token: &Address) -> u64 {
        let here = || self.holders.of(token).balances().filter(|(_, balance)| balance.is_some_and(|b| b > 0.0)).count() as u64;
        self.shelf("holders").map_or_else(here, |shelf| shelf.listed(token).unwrap_or_default().held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_its_empty_balances_is_not_whole() {
        for (listed, whole) in [(1, true), (2, false)] {
            let balances = Balances { listed, rows: vec![(Address([1; 20]), Some(1.0))], ..Balances::default() };
            assert_eq!(Holding::There(Arc::new(Fetched::Balances(balances))).is_whole(), whole, "{listed}");
        }
    }
}
