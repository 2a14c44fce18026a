//! Units of measure of the columns, and the units accepted from files.

use std::fmt;

model::words! {
    /// The unit of a file's values.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Unit {
        /// Base units of the token.
        Raw = "raw",
        /// Whole tokens.
        Whole = "whole",
        Usd = "usd",
        /// Whole tokens, for a volume.
        Token = "token",
    }
}

impl Unit {
    pub(super) fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.word() == word)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The units accepted for a column; the first is the schema's.
pub fn units(table: &str, column: &str) -> &'static [Unit] {
    UNITS
        .iter()
        .find(|(known, columns, _)| *known == table && columns.contains(&column))
        .map_or(&[], |(.., units)| units)
}

type Columns = &'static [&'static str];

/// `token` is the former word for whole tokens, still accepted.
const AMOUNT: &[Unit] = &[Unit::Whole, Unit::Raw, Unit::Token];
const SMALLEST: &[Unit] = &[Unit::Raw, Unit::Whole];
const VOLUME: &[Unit] = &[Unit::Token, Unit::Usd];
const MONEY: &[Unit] = &[Unit::Usd];
/// A value in USD; it may come as an amount of the row's token, to be multiplied by its price.
const WORTH: &[Unit] = &[Unit::Usd, Unit::Token];

/// Table, columns, accepted units.
const UNITS: &[(&str, Columns, &[Unit])] = &[
    ("tokens", &["total_supply"], AMOUNT),
    ("tokens", &["market_cap"], WORTH),
    ("tokens", &["price"], MONEY),
    ("holders", &["balance"], AMOUNT),
    ("holder_counts", &["whale_balance"], AMOUNT),
    ("locks", &["amount"], AMOUNT),
    ("transfers", &["value"], SMALLEST),
    ("candles", &["volume"], VOLUME),
    (
        "candles",
        &["open", "high", "low", "close", "volume_usd"],
        MONEY,
    ),
    ("dexes", &["total_value_locked"], MONEY),
    ("pools", &["liquidity", "volume24h"], MONEY),
    (
        "yields",
        &["tvl", "total_supply_usd", "total_borrow_usd"],
        MONEY,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;

    #[test]
    fn units_are_of_columns_of_the_schema() {
        for (table, columns, _) in UNITS {
            let schema = schema::table(table).expect("a table of the schema");
            assert!(
                columns.iter().all(|column| schema.column(column).is_some()),
                "{table}"
            );
        }
    }
}
