//! Rows of tables that may be large or have large cells: looked up by address and read in chunks, so that memory for typed rows does not
//! grow with the rows of one address. Interpreting the rows belongs to the analyses.

use std::{collections::HashMap, marker::PhantomData, ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use crate::{Table, engine_rows::EngineRows, frame_rows::FromFrame, grid::Grid};
use model::{address::Address, data::AddressRows};
use source::text_runs::runs_of;

/// Rows read at once.
const CHUNK_ROWS: usize = 1 << 14;

/// The rows of one table, grouped by address.
#[derive(Debug)]
pub struct RowsByAddress<T> {
    grid: Grid,
    /// Row range of each address, in memory; a large table has an index of its own.
    index: HashMap<Address, Range<usize>>,
    /// Set if the rows are at an engine; those of an address are here while an answer holds them.
    engine: Option<Arc<EngineRows>>,
    row: PhantomData<fn() -> T>,
}

impl<T> Default for RowsByAddress<T> {
    fn default() -> Self {
        Self {
            grid: Grid::Memory(DataFrame::default()),
            index: HashMap::new(),
            engine: None,
            row: PhantomData,
        }
    }
}

impl<T: FromFrame> RowsByAddress<T> {
    /// Wraps a table that is sorted by the address column `key`. The rows are shared, not copied.
    pub fn new(table: &Table, key: &str) -> Self {
        Self {
            grid: Grid::of(table),
            index: index(table.frame(), key),
            engine: table.engine_rows().cloned(),
            row: PhantomData,
        }
    }

    /// The rows of the address, and the table that they are in.
    fn place(&self, address: &Address) -> (Grid, Range<usize>) {
        if let Some(engine) = &self.engine {
            return engine.get(address).map_or_else(
                || (self.grid.clone(), 0..0),
                |brought| (Grid::of(brought.table()), 0..brought.table().height()),
            );
        }
        let range = match &self.grid {
            Grid::Memory(_) => self.index.get(address).cloned().unwrap_or_default(),
            Grid::Large(table) => table.rows_of(address),
        };
        (self.grid.clone(), range)
    }

    fn read(grid: &Grid, rows: Range<usize>) -> Vec<T> {
        T::rows(&grid.slice(rows, Some(T::COLUMNS)))
    }
}

impl<T: FromFrame> AddressRows<T> for RowsByAddress<T> {
    fn is_empty(&self) -> bool {
        match &self.engine {
            Some(engine) => engine.rows == 0,
            None => self.grid.height() == 0,
        }
    }

    fn addresses(&self) -> Vec<Address> {
        if let Some(engine) = &self.engine {
            return engine.tokens().to_vec();
        }
        if let Grid::Large(table) = &self.grid {
            return table.tokens().collect();
        }
        let mut all: Vec<Address> = self.index.keys().copied().collect();
        all.sort_unstable_by_key(|address| self.index[address].start);
        all
    }

    fn count(&self, address: &Address) -> usize {
        self.place(address).1.len()
    }

    fn chunks(&self, address: &Address) -> Box<dyn Iterator<Item = Vec<T>> + '_> {
        let (grid, range) = self.place(address);
        let end = range.end;
        Box::new(
            range
                .step_by(CHUNK_ROWS)
                .map(move |start| Self::read(&grid, start..(start + CHUNK_ROWS).min(end))),
        )
    }

    fn row(&self, address: &Address, i: usize) -> Option<T> {
        let (grid, mut range) = self.place(address);
        let row = range.nth(i)?;
        Self::read(&grid, row..row + 1).pop()
    }

    fn text(&self, address: &Address, i: usize, column: &str) -> Option<String> {
        let (grid, mut range) = self.place(address);
        let row = range.nth(i)?;
        let read = grid.slice(row..row + 1, Some(&[column]));
        read.column(column)
            .ok()?
            .str()
            .ok()?
            .get(0)
            .map(str::to_owned)
    }
}

/// Row range of each address.
fn index(frame: &DataFrame, key: &str) -> HashMap<Address, Range<usize>> {
    let mut index = HashMap::new();
    let Some(keys) = frame.column(key).ok().and_then(|column| column.str().ok()) else {
        return index;
    };
    for (rows, key) in runs_of(keys) {
        if let Some(address) = key.and_then(Address::parse) {
            // A chunk of the column may end within the rows of an address, which are two runs then.
            index.entry(address).or_insert_with(|| rows.clone()).end = rows.end;
        }
    }
    index
}

#[cfg(test)]
mod tests {
    use crate::sample::{self, address};
    use model::data::AddressRows as _;

    #[test]
    fn every_row_of_an_address_is_read_once_and_in_order() {
        let mut text = "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index\n".to_owned();
        let rows = super::CHUNK_ROWS + 5;
        for i in 0..rows {
            text += &format!("0x2,{},{i},0x{i:064x},0x7,0x8,{i},0\n", 1_700_000_000 + i);
        }
        text += "0x1,1700000000,7,0xffff,0x7,0x8,340282366920938463463374607431768211456,0\n";
        let dataset = sample::dataset(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth"),
            ("transfers", &text),
        ]);
        let transfers = dataset.transfers();
        let (one, two) = (address("0x1"), address("0x2"));
        let blocks: Vec<i64> = transfers
            .chunks(&two)
            .flatten()
            .filter_map(|row| row.block_number)
            .collect();
        assert_eq!(blocks, (0..rows as i64).collect::<Vec<_>>());
        assert_eq!(
            (
                transfers.count(&one),
                transfers.count(&two),
                transfers.count(&address("0x3"))
            ),
            (1, rows, 0)
        );
        assert_eq!(
            transfers
                .first(&one)
                .and_then(|row| row.value)
                .map(|value| value.0),
            Some(2_f64.powi(128))
        );
        assert_eq!(
            transfers
                .text(&two, 3, "transaction_hash")
                .map(|hash| hash.ends_with("03")),
            Some(true)
        );
        assert_eq!(transfers.text(&two, rows, "transaction_hash"), None);
        assert_eq!(transfers.addresses(), [one, two]);
    }
}
