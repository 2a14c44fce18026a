//! Rows of tables that may be large or have large cells: looked up by address and read in chunks, so that memory for typed rows does not
//! grow with the rows of one address. Interpreting the rows belongs to the analyses.

use std::{marker::PhantomData, ops::Range, sync::Arc};

use crate::{Table, engine_rows::EngineRows};
use frames::rows::Frames as _;
use model::{address::Address, data::AddressRows, rows::FromColumns};
use table::TableRows;

/// Rows read at once.
const CHUNK_ROWS: usize = 1 << 14;

/// The rows of one table, grouped by the address that it is ordered by.
#[derive(Debug)]
pub struct RowsByAddress<T> {
    table: Arc<TableRows>,
    /// Set if the rows are at an engine; those of an address are here while an answer holds them.
    engine: Option<Arc<EngineRows>>,
    row: PhantomData<fn() -> T>,
}

impl<T> Default for RowsByAddress<T> {
    fn default() -> Self {
        Self {
            table: Arc::default(),
            engine: None,
            row: PhantomData,
        }
    }
}

impl<T: FromColumns> RowsByAddress<T> {
    pub fn new(table: &Table) -> Self {
        Self {
            table: Arc::clone(&table.rows),
            engine: table.engine.clone(),
            row: PhantomData,
        }
    }

    /// The rows of the address, and the table that they are in.
    fn place(&self, address: &Address) -> (Arc<TableRows>, Range<usize>) {
        let brought = self.engine.as_ref().and_then(|engine| engine.get(address));
        let table = brought.map_or_else(
            || Arc::clone(&self.table),
            |brought| Arc::clone(&brought.table().rows),
        );
        let rows = table.rows_of(address);
        (table, rows)
    }

    fn read(table: &TableRows, rows: Range<usize>) -> Vec<T> {
        T::from_columns(&table.range(rows))
    }
}

impl<T: FromColumns> AddressRows<T> for RowsByAddress<T> {
    fn is_empty(&self) -> bool {
        match &self.engine {
            Some(engine) => engine.rows == 0,
            None => self.table.height() == 0,
        }
    }

    fn addresses(&self) -> Vec<Address> {
        if let Some(engine) = &self.engine {
            return engine.tokens().to_vec();
        }
        self.table.tokens().collect()
    }

    fn count(&self, address: &Address) -> usize {
        self.place(address).1.len()
    }

    fn chunks(&self, address: &Address) -> Box<dyn Iterator<Item = Vec<T>> + '_> {
        let (table, range) = self.place(address);
        let end = range.end;
        Box::new(
            range
                .step_by(CHUNK_ROWS)
                .map(move |start| Self::read(&table, start..(start + CHUNK_ROWS).min(end))),
        )
    }

    fn row(&self, address: &Address, i: usize) -> Option<T> {
        let (table, mut range) = self.place(address);
        let row = range.nth(i)?;
        Self::read(&table, row..row + 1).pop()
    }

    fn text(&self, address: &Address, i: usize, column: &str) -> Option<String> {
        let (table, mut range) = self.place(address);
        let row = range.nth(i)?;
        let read = table.slice(row..row + 1, Some(&[column]));
        read.column(column)
            .ok()?
            .str()
            .ok()?
            .get(0)
            .map(str::to_owned)
    }
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
