//! Live rows: decides which version of a row wins. `source::live_files` locates their files, and the crate `live` fetches them.

use std::collections::HashMap;

use polars::prelude::{Column, DataFrame, IdxCa, PlSmallStr, PolarsResult};

use crate::order;
use model::schema::{Newer, TableSchema};

/// Columns of the history: when a row was seen, and whether it had disappeared by then.
pub const OBSERVED_AT: &str = "observed_at";
pub const GONE: &str = "gone";

/// A history frame with the column `gone`, which files of earlier versions lack; other frames unchanged.
pub fn with_removed_rows(mut frame: DataFrame) -> PolarsResult<DataFrame> {
    if frame.column(OBSERVED_AT).is_ok() && frame.column(GONE).is_err() {
        frame.with_column(Column::new(GONE.into(), vec![false; frame.height()]))?;
    }
    Ok(frame)
}

/// One row for each key, and one for each set of equal rows without a key. The last row wins; in tables of facts, the last value of each
/// column. The input is ordered oldest first.
pub fn newest(schema: &TableSchema, frame: DataFrame) -> PolarsResult<DataFrame> {
    if schema.key.is_empty() || frame.height() < 2 {
        return Ok(frame);
    }
    let (mut hashes, keyless) = (
        order::hashes(&frame, schema.key)?,
        order::keyless(schema, &frame)?,
    );
    // Pages overlap: of rows without a key, equal ones count once.
    if keyless.contains(&true) {
        let names: Vec<&str> = schema
            .columns
            .iter()
            .map(|column| column.name)
            .filter(|name| frame.column(name).is_ok())
            .collect();
        for (row, whole) in order::hashes(&frame, &names)?
            .into_iter()
            .enumerate()
            .filter(|(row, _)| keyless[*row])
        {
            hashes[row] = whole;
        }
    }
    let mut last: HashMap<u128, usize> = HashMap::with_capacity(hashes.len());
    // By row: the earlier row of its key.
    let mut before: Vec<Option<u32>> = vec![None; hashes.len()];
    for (row, before) in before.iter_mut().enumerate() {
        *before = last.insert(hashes[row], row).map(|row| row as u32);
    }
    if last.len() == frame.height() {
        return Ok(frame);
    }
    let kept: Vec<u32> = (0..hashes.len())
        .filter(|row| last.get(&hashes[*row]) == Some(row))
        .map(|row| row as u32)
        .collect();
    let measured = schema.newer == Newer::Replaces;
    let mut columns = Vec::with_capacity(frame.width());
    for cells in frame.columns() {
        let mut places = kept.clone();
        if !measured && cells.null_count() > 0 {
            let empty: Vec<bool> = cells
                .is_null()
                .iter()
                .map(|empty| empty == Some(true))
                .collect();
            for place in &mut places {
                let filled = std::iter::successors(Some(*place), |row| before[*row as usize])
                    .find(|row| !empty[*row as usize]);
                *place = filled.unwrap_or(*place);
            }
        }
        columns.push(cells.take(&IdxCa::from_vec(PlSmallStr::EMPTY, places))?);
    }
    DataFrame::new(kept.len(), columns)
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use model::schema;
    use source::coerce;

    fn frame(table: &str, columns: &[(&str, Series)]) -> DataFrame {
        let schema = schema::table(table).expect("a table");
        let height = columns[0].1.len();
        let column = |column: &'static schema::Column| {
            let given = columns
                .iter()
                .find(|(name, _)| *name == column.name)
                .map(|(name, series)| series.clone().with_name((*name).into()).into_column());
            given.unwrap_or_else(|| coerce::empty(column, height))
        };
        DataFrame::new(height, schema.columns.iter().map(column).collect()).expect("a frame")
    }

    #[test]
    fn of_facts_the_last_value_holds_and_of_measurements_the_last_row() {
        let (a, b) = (format!("0x{:040x}", 1), format!("0x{:040x}", 2));
        let texts = |texts: &[&str]| Series::new("".into(), texts);
        let tokens = frame(
            "tokens",
            &[
                ("token_address", texts(&[&a, &b, &a])),
                ("chain", texts(&["eth", "eth", "eth"])),
                ("symbol", texts(&["A", "B", "A"])),
                (
                    "price",
                    Series::new("".into(), [Some(1.0), Some(2.0), None]),
                ),
                ("holders", Series::new("".into(), [None, None, Some(7i64)])),
            ],
        );
        let newest = newest(schema::table("tokens").expect("a table"), tokens).expect("merged");
        let prices: Vec<_> = newest
            .column("price")
            .expect("prices")
            .f64()
            .expect("numbers")
            .iter()
            .collect();
        let holders: Vec<_> = newest
            .column("holders")
            .expect("holders")
            .i64()
            .expect("numbers")
            .iter()
            .collect();
        assert_eq!(
            (prices, holders),
            (vec![Some(2.0), Some(1.0)], vec![None, Some(7)])
        );
        let counts = frame(
            "holders",
            &[
                ("token_address", texts(&[&a, &a])),
                ("holder_address", texts(&[&b, &b])),
                ("balance", Series::new("".into(), [Some(1.0), None])),
            ],
        );
        let counts =
            super::newest(schema::table("holders").expect("a table"), counts).expect("merged");
        assert_eq!(
            (
                counts.height(),
                counts.column("balance").expect("balances").null_count()
            ),
            (1, 1)
        );
    }

    #[test]
    fn equal_rows_without_a_key_count_once_as_pages_overlap() {
        let (a, b) = (format!("0x{:040x}", 1), format!("0x{:040x}", 2));
        let texts = |texts: &[&str]| Series::new("".into(), texts);
        let (first, second) = (format!("0x{:064x}", 1), format!("0x{:064x}", 2));
        let transfers = frame(
            "transfers",
            &[
                ("token_address", texts(&[&a, &a, &a, &a])),
                (
                    "transaction_hash",
                    texts(&[&first, &first, &second, &first]),
                ),
                ("from_address", texts(&[&a, &b, &a, &a])),
                ("value", texts(&["1", "1", "1", "1"])),
            ],
        );
        assert_eq!(
            newest(schema::table("transfers").expect("a table"), transfers)
                .expect("merged")
                .height(),
            3
        );
    }
}
