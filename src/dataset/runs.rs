//! Rows of tables that may be large or hold large cells: kept in their frame, found by address, read a chunk at a time, so that
//! what is held in memory does not grow with the rows of one address. What the rows mean is the analyses'.

use std::{collections::HashMap, marker::PhantomData, ops::Range};

use polars::prelude::DataFrame;

use super::{address::Address, rows::FromFrame};

/// Rows read at once.
const CHUNK_ROWS: usize = 1 << 14;

/// The rows of one table, those of an address in one run.
#[derive(Debug)]
pub struct Runs<T> {
    frame: DataFrame,
    index: HashMap<Address, Range<usize>>,
    row: PhantomData<fn() -> T>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self { frame: DataFrame::default(), index: HashMap::new(), row: PhantomData }
    }
}

impl<T: FromFrame> Runs<T> {
    /// Over a frame that is ordered by the address column `key`. The frame's columns are shared, not copied.
    pub fn new(frame: &DataFrame, key: &str) -> Self {
        let mut runs = Self { frame: frame.clone(), ..Self::default() };
        let Some(keys) = frame.column(key).ok().and_then(|column| column.str().ok()) else { return runs };
        let (mut start, mut last) = (0, None);
        let mut close = |last: Option<&str>, range: Range<usize>| {
            if let Some(address) = last.and_then(Address::parse) {
                runs.index.insert(address, range);
            }
        };
        for (row, key) in keys.iter().enumerate() {
            if row == 0 || key != last {
                close(last, start..row);
                (start, last) = (row, key);
            }
        }
        close(last, start..keys.len());
        runs
    }

    /// How many rows the address has.
    pub fn count(&self, address: &Address) -> usize {
        self.index.get(address).map_or(0, Range::len)
    }

    /// The rows of the address, in the table's order, a bounded number at a time.
    pub fn chunks(&self, address: &Address) -> impl Iterator<Item = Vec<T>> + '_ {
        let range = self.index.get(address).cloned().unwrap_or_default();
        let end = range.end;
        range.step_by(CHUNK_ROWS).map(move |start| T::rows(&self.frame.slice(start as i64, CHUNK_ROWS.min(end - start))))
    }

    /// The address's row `i`.
    pub fn row(&self, address: &Address, i: usize) -> Option<T> {
        let row = self.index.get(address)?.clone().nth(i)?;
        T::rows(&self.frame.slice(row as i64, 1)).pop()
    }

    /// The first row of the address.
    pub fn first(&self, address: &Address) -> Option<T> {
        self.row(address, 0)
    }

    /// The addresses that have rows, in the table's order.
    pub fn addresses(&self) -> Vec<Address> {
        let mut all: Vec<(usize, Address)> = self.index.iter().map(|(address, range)| (range.start, *address)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, address)| address).collect()
    }

    /// A text cell of the address's row `i`.
    pub fn text(&self, address: &Address, i: usize, column: &str) -> Option<String> {
        let range = self.index.get(address)?;
        let row = range.clone().nth(i)?;
        self.frame.column(column).ok()?.str().ok()?.get(row).map(str::to_owned)
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::sample::{self, address};

    #[test]
    fn every_row_of_an_address_is_read_once_and_in_order() {
        let mut text = "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index\n".to_owned();
        let rows = super::CHUNK_ROWS + 5;
        for i in 0..rows {
            text += &format!("0x2,{},{i},0x{i:064x},0x7,0x8,{i},0\n", 1_700_000_000 + i);
        }
        text += "0x1,1700000000,7,0xffff,0x7,0x8,340282366920938463463374607431768211456,0\n";
        let dataset = sample::dataset(&[("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth"), ("transfers", &text)]);
        let transfers = dataset.transfers();
        let (one, two) = (address("0x1"), address("0x2"));
        let blocks: Vec<i64> = transfers.chunks(&two).flatten().filter_map(|row| row.block_number).collect();
        assert_eq!(blocks, (0..rows as i64).collect::<Vec<_>>());
        assert_eq!((transfers.count(&one), transfers.count(&two), transfers.count(&address("0x3"))), (1, rows, 0));
        assert_eq!(transfers.first(&one).and_then(|row| row.value).map(|value| value.0), Some(2_f64.powi(128)));
        assert_eq!(transfers.text(&two, 3, "transaction_hash").map(|hash| hash.ends_with("03")), Some(true));
        assert_eq!(transfers.text(&two, rows, "transaction_hash"), None);
        assert_eq!(transfers.addresses(), [one, two]);
    }
}
