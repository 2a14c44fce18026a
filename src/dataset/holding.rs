//! A token's balances as analyses take them: row by row where they are here; where they stay elsewhere, the largest ones and those of
//! addresses that matter row by row, and of the rest the sums that the measures of a spread are made of. The two give the same measures.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use super::{Dataset, RowsOf, address::Address, rows::HolderRow, shelf::Fetched};

/// How many holders of a token are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ListedBalances {
    pub rows: u64,
    /// Those that have something.
    pub held: u64,
    /// What the rows are known by.
    pub mark: u64,
}

/// Who is told apart when balances are summed up elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Apart {
    /// Their balances count for themselves, and are in no sum.
    pub named: Vec<Address>,
    /// Those of `named` whose tokens are gone.
    pub burned: Vec<Address>,
    /// Their balances count like any other, and are told besides.
    pub watched: Vec<Address>,
    /// Whole tokens, where known.
    pub supply: Option<f64>,
}

/// It follows from the token that is asked about, and tells no two questions apart.
impl PartialEq for Apart {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Apart {}

impl Hash for Apart {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// What all balances of a token come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Balances {
    /// Rows that there are.
    pub listed: u64,
    /// The largest ones, and those of addresses that are set apart, in the order of the table.
    pub rows: Vec<(Address, Option<f64>)>,
    /// Of addresses that are watched, those that are among the rest.
    pub behind: Vec<(Address, f64)>,
    pub rest: Rest,
}

impl Balances {
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(self.rows.as_slice()) + size_of_val(self.behind.as_slice())) as u64
    }
}

/// The balances above zero that are not told row by row: each smaller than, or as large as, the last one that is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rest {
    pub count: u64,
    pub sum: f64,
    /// Of their squares.
    pub squares: f64,
    /// Of each with its rank, the smallest having rank 1.
    pub ranked: f64,
    /// Fewest of all that are not set apart which have more than half of what is not burned; none where all together have less.
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

    /// Rows that there are, wherever.
    pub fn listed(&self) -> u64 {
        match self {
            Self::Here(rows) => rows.len() as u64,
            Self::There(_) => self.there().map_or(0, |balances| balances.listed),
        }
    }

    /// Whether every row that there is is told.
    pub fn is_whole(&self) -> bool {
        self.rows().count() as u64 == self.listed()
    }

    pub fn is_empty(&self) -> bool {
        self.listed() == 0
    }

    /// Holder and balance of every row that is told, largest first. Those of `rest` are not among them.
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
    /// What the token's balances come to, for what is asked about the token `about`. Where they stay elsewhere they were fetched before.
    pub fn holding_of(&self, token: &Address, about: &Address) -> Holding<'_> {
        let there = self.shelf("holders").and_then(|shelf| shelf.balances(token, about));
        there.map_or_else(|| Holding::Here(self.holders.of(token)), Holding::There)
    }

    /// How many holders of the token are listed, wherever they are.
    pub fn holders_listed(&self, token: &Address) -> u64 {
        let here = || self.holders.of(token).len() as u64;
        self.shelf("holders").map_or_else(here, |shelf| shelf.listed(token).unwrap_or_default().rows)
    }

    /// How many holders of the token have something.
    pub fn holders_held(&self, token: &Address) -> u64 {
        let here = || self.holders.of(token).balances().filter(|(_, balance)| balance.is_some_and(|b| b > 0.0)).count() as u64;
        self.shelf("holders").map_or_else(here, |shelf| shelf.listed(token).unwrap_or_default().held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_of_nothing_that_are_not_told_are_missed() {
        for (listed, whole) in [(1, true), (2, false)] {
            let balances = Balances { listed, rows: vec![(Address([1; 20]), Some(1.0))], ..Balances::default() };
            assert_eq!(Holding::There(Arc::new(Fetched::Balances(balances))).is_whole(), whole, "{listed}");
        }
    }
}
