//! Duplicate keys, for findings: finds the value that differs, and whether a list of holders is a list of transfers. `order` decides which
//! row is kept.

use polars::prelude::DataFrame;

use crate::raw_cell;
use model::schema::TableSchema;

/// Names of columns that transfers have and lists of holders do not, normalized to letters and digits.
const MOVEMENTS: &[&str] = &[
    "from",
    "fromaddress",
    "sender",
    "to",
    "toaddress",
    "receiver",
    "recipient",
    "hash",
    "txhash",
    "transactionhash",
    "txid",
    "transaction",
    "logindex",
    "block",
    "blocknumber",
    "blockno",
    "交易哈希",
    "发送方",
    "接收方",
];
/// Substrings of such names.
const MOVED: &[&str] = &["transfer", "转账"];

/// The file's columns that suggest a list of transfers.
pub fn movements(names: &[String]) -> Vec<String> {
    let plain = |name: &str| {
        name.to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
    };
    let moved = |name: &&String| {
        let name = plain(name);
        MOVEMENTS.contains(&name.as_str()) || MOVED.iter().any(|part| name.contains(part))
    };
    names.iter().filter(moved).cloned().collect()
}

/// Question for the user about a list of holders with such columns and duplicate holders.
pub fn are_these_transfers(movements: &[String]) -> String {
    let named: Vec<String> = movements
        .iter()
        .take(6)
        .map(|name| format!("`{name}`"))
        .collect();
    format!(
        "the file also has {}; check that it contains one balance per holder, not transfers or balances at several times",
        named.join(", ")
    )
}

/// A column in which a row differs from the kept one, and both values.
pub type Difference = (&'static str, String);

/// The first column in which two rows of a frame differ, and both values: `12.5, then 7`.
pub fn difference(
    schema: &TableSchema,
    frame: &DataFrame,
    row: usize,
    kept: usize,
) -> Option<Difference> {
    between(schema, (frame, row), (frame, kept))
}

/// Like `difference`, for rows of two frames.
pub fn between(
    schema: &TableSchema,
    row: (&DataFrame, usize),
    kept: (&DataFrame, usize),
) -> Option<Difference> {
    let shown = |name: &str, (frame, row): (&DataFrame, usize)| -> Option<String> {
        let column = frame.column(name).ok()?.slice(row as i64, 1);
        let cells = raw_cell::cells(&column);
        cells.first().map(|cell| {
            if cell.is_null() {
                "nothing".to_owned()
            } else {
                cell.shown()
            }
        })
    };
    let named = schema
        .columns
        .iter()
        .map(|column| column.name)
        .filter(|name| !schema.key.contains(name));
    named
        .filter_map(|name| Some((name, shown(name, row)?, shown(name, kept)?)))
        .find(|(_, row, kept)| row != kept)
        .map(|(name, row, kept)| (name, format!("{row}, then {kept}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_transfers_are_known_in_any_spelling() {
        let names = [
            "addr",
            "Block",
            "tx_hash",
            "From Address",
            "转账代币数量",
            "balance",
            "tokens",
        ]
        .map(str::to_owned);
        assert_eq!(
            movements(&names),
            ["Block", "tx_hash", "From Address", "转账代币数量"]
        );
        assert!(movements(&["address".to_owned(), "balance".to_owned()]).is_empty());
    }
}
