//! A token's balances for the analyses: row by row. Of a token with very many holders at an engine only the largest are here; of the others
//! their number and sum are known.

use std::fmt;

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
        let others = listed.map_or_else(OtherHolders::default, |listed| {
            let here = || rows.balances().filter_map(|(_, balance)| balance).filter(|balance| *balance > 0.0);
            let (count, sum) = (here().count() as u64, here().sum::<f64>());
            OtherHolders {
                rows: listed.rows.saturating_sub(rows.count() as u64),
                held: listed.held.saturating_sub(count),
                sum: (listed.balance - sum).max(0.0),
            }
        });
        // The difference of two sums of floats is not quite zero where nothing is left out.
        let others = OtherHolders { sum: if others.held == 0 { 0.0 } else { others.sum }, ..others };
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
        let listed = |rows, held, balance| Some(Listed { rows, held, balance });
        let others = |rows, held, sum| OtherHolders { rows, held, sum };
        for (here, counted, left, whole) in [
            (vec![Some(0.1), Some(0.2)], None, others(0, 0, 0.0), true),
            (vec![Some(0.1), Some(0.2)], listed(2, 2, 0.3), others(0, 0, 0.0), true),
            (vec![Some(3.0)], listed(3, 2, 5.0), others(2, 1, 2.0), false),
            // Rows without a balance are rows.
            (vec![Some(3.0), None], listed(3, 1, 3.0), others(1, 0, 0.0), false),
        ] {
            let holding = Holding::new(Box::new(Rows(here)), counted);
            assert_eq!((holding.others(), holding.is_whole()), (left, whole));
        }
    }
}
