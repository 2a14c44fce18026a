//! A token's balances for the analyses: row by row. Of a token with very many holders at an engine only the largest are here; of the others
//! their number and sum are known.

use std::{collections::BTreeSet, fmt};

use super::address::Address;

/// What is known of the rows of a token at an engine without reading them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Listed {
    pub rows: u64,
    /// Rows with a balance above zero, and the sum of their balances; of holders alone.
    pub held: u64,
    pub balance: f64,
}

/// Balances in the storage, row by row.
pub trait BalanceRows: fmt::Debug {
    fn count(&self) -> usize;
    /// Holder and balance of each row, largest balance first.
    fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_>;
}

/// Holders that are at the engine alone: none of them has more than one that is here.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OtherHolders {
    pub rows: u64,
    /// Those with a balance above zero, and the sum of their balances.
    pub held: u64,
    pub sum: f64,
    /// The most that one of them may have.
    pub most: f64,
}

/// A token's balances.
#[derive(Debug)]
pub struct Holding<'a> {
    rows: Box<dyn BalanceRows + 'a>,
    others: OtherHolders,
}

impl<'a> Holding<'a> {
    /// The rows that are here, and what the engine counted of all.
    pub fn new(rows: Box<dyn BalanceRows + 'a>, listed: Option<Listed>) -> Self {
        let mut others = OtherHolders::default();
        if let Some(listed) = listed {
            let here: Vec<f64> = rows
                .balances()
                .filter_map(|(_, balance)| balance.filter(|balance| *balance > 0.0))
                .collect();
            others.rows = listed.rows.saturating_sub(rows.count() as u64);
            others.held = listed.held.saturating_sub(here.len() as u64);
            // The difference of two sums of floats is not quite zero where nothing is left out.
            if others.held > 0 {
                others.sum = (listed.balance - here.iter().sum::<f64>()).max(0.0);
                others.most = here.last().map_or(others.sum, |last| last.min(others.sum));
            }
        }
        Self { rows, others }
    }

    /// Number of rows of the token, here or not.
    pub fn listed(&self) -> u64 {
        self.rows.count() as u64 + self.others.rows
    }

    /// Whether every row is here.
    pub fn is_whole(&self) -> bool {
        self.others.rows == 0
    }

    pub fn is_empty(&self) -> bool {
        self.listed() == 0
    }

    /// Holder and balance of every row that is here, largest first.
    pub fn rows(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
        self.rows.balances()
    }

    pub fn others(&self) -> OtherHolders {
        self.others
    }

    /// Number of these addresses that are not here and may be among the others: what they have is unknown.
    pub fn unknown(&self, addresses: impl IntoIterator<Item = Address>) -> u64 {
        if self.others.held == 0 {
            return 0;
        }
        let mut absent: BTreeSet<Address> = addresses.into_iter().collect();
        for (holder, _) in self.rows() {
            absent.remove(&holder);
        }
        absent.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Rows(Vec<Option<f64>>);

    impl BalanceRows for Rows {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
            Box::new(self.0.iter().map(|balance| (Address([1; 20]), *balance)))
        }
    }

    #[test]
    fn others_are_what_was_counted_and_is_not_here() {
        let listed = |rows, held, balance| {
            Some(Listed {
                rows,
                held,
                balance,
            })
        };
        let others = |rows, held, sum, most| OtherHolders {
            rows,
            held,
            sum,
            most,
        };
        let nothing = OtherHolders::default();
        // What is here and what was counted; the others, and whether an address that is not here may be one of them.
        for (here, counted, left, unknown) in [
            (vec![Some(0.1), Some(0.2)], None, nothing, 0),
            (vec![Some(0.1), Some(0.2)], listed(2, 2, 0.3), nothing, 0),
            (
                vec![Some(3.0)],
                listed(3, 2, 5.0),
                others(2, 1, 2.0, 2.0),
                1,
            ),
            (
                vec![Some(3.0)],
                listed(5, 4, 9.0),
                others(4, 3, 6.0, 3.0),
                1,
            ),
            // Rows without a balance are rows.
            (
                vec![Some(3.0), None],
                listed(3, 1, 3.0),
                others(1, 0, 0.0, 0.0),
                0,
            ),
        ] {
            let holding = Holding::new(Box::new(Rows(here)), counted);
            let addresses = [Address([1; 20]), Address([2; 20])];
            assert_eq!(
                (
                    holding.others(),
                    holding.is_whole(),
                    holding.unknown(addresses)
                ),
                (left, left.rows == 0, unknown)
            );
        }
    }
}
