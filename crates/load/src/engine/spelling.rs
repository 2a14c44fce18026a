//! How an engine's table spells addresses and hashes (bytes, digits without `0x`, mixed case), which decides how SQL compares them.

use super::{
    EngineQuery, ours,
    sql::{self, ColumnType, EngineColumn, HexSpelling},
};
use crate::loader::{bind::Bound, task::TableLoadError};
use model::{address::Address, schema::Kind};

/// Rows sampled for their spelling.
const LOOKED_AT: usize = 1_000;

/// Number of sampled values by spelling.
struct Ways {
    all: u64,
    /// As bytes.
    bytes: u64,
    /// As digits without `0x`.
    bare: u64,
    /// With upper-case letters.
    mixed: u64,
}

impl EngineQuery<'_> {
    /// Determines the spelling of every column from the first rows.
    pub(super) fn spell(
        &self,
        picked: &mut [EngineColumn],
        bound: &[Bound<'_>],
    ) -> Result<(), TableLoadError> {
        let hex = |column: &EngineColumn| {
            ours(column, bound)
                .map(|bound| bound.column.kind)
                .filter(|kind| matches!(kind, Kind::Address | Kind::Hex))
        };
        let texts = |column: &&mut EngineColumn| {
            matches!(
                column.form,
                ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word
            ) && hex(column).is_some()
        };
        let mut texts: Vec<&mut EngineColumn> = picked.iter_mut().filter(texts).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let looks: Vec<String> = texts
            .iter()
            .map(|column| {
                let name = if column.form == ColumnType::Word { format!("toString({})", column.sql()) } else { column.sql() };
                let written = format!("match(toString({name}), '^(0[xX])?[0-9a-fA-F]+$')");
                format!(
                    "countIf(notEmpty({name})), countIf(notEmpty({name}) AND NOT {written} AND length({name}) IN (20, 32)), \
                     countIf({written} AND length({name}) = 40), countIf(toString({name}) != lower(toString({name})))"
                )
            })
            .collect();
        let names: Vec<String> = texts.iter().map(|column| column.sql()).collect();
        let answer = self.ask(&format!(
            "SELECT {} FROM (SELECT {} FROM {} LIMIT {LOOKED_AT})",
            looks.join(", "),
            names.join(", "),
            self.from()
        ))?;
        let counts: Vec<u64> = answer
            .iter()
            .flatten()
            .map(|cell| {
                cell.as_ref()
                    .and_then(|cell| cell.parse().ok())
                    .unwrap_or(0)
            })
            .collect();
        for (column, counts) in texts.iter_mut().zip(counts.chunks(4)) {
            let &[all, bytes, bare, mixed] = counts else {
                continue;
            };
            let ways = Ways {
                all,
                bytes,
                bare,
                mixed,
            };
            column.spelling = self.way(column, hex(column) == Some(Kind::Address), &ways)?;
        }
        Ok(())
    }

    fn way(
        &self,
        column: &EngineColumn,
        is_address: bool,
        ways: &Ways,
    ) -> Result<HexSpelling, TableLoadError> {
        // The zero address, from which tokens are minted, is empty as bytes.
        let is_zero = ways.all == 0 && matches!(column.form, ColumnType::Fixed(20 | 32));
        if is_zero || ways.all > 0 && ways.bytes == ways.all {
            return Ok(HexSpelling::Bytes);
        }
        if ways.all > 0 && ways.bare == ways.all && is_address {
            return Ok(HexSpelling::NoPrefix);
        }
        if ways.mixed == 0 || !is_address {
            return Ok(HexSpelling::Plain);
        }
        let text = sql::cast(column, self.old);
        let rows = self.ask(&format!(
            "SELECT DISTINCT way FROM (SELECT {text} AS way FROM (SELECT {} FROM {} LIMIT {LOOKED_AT})) WHERE way != lower(way)",
            column.sql(),
            self.from()
        ))?;
        let mixed_case = rows
            .iter()
            .flatten()
            .flatten()
            .any(|way| is_mixed_case(way));
        Ok(if mixed_case {
            HexSpelling::MixedCase
        } else {
            HexSpelling::Plain
        })
    }
}

/// Whether an address has a letter case that no query compares with: neither all lower, all upper, nor that of EIP-55.
pub(super) fn is_mixed_case(way: &str) -> bool {
    let known = |address: Address| {
        [
            address.checksummed(),
            format!("0x{}", address.to_string()[2..].to_ascii_uppercase()),
        ]
    };
    Address::parse(way.trim()).is_some_and(|address| {
        way != address.to_string() && !known(address).iter().any(|known| known == way)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_other_than_those_of_eip_55_are_odd() {
        for (way, mixed_case) in [
            ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", false),
            ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", false),
            ("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", false),
            ("0x5Aaeb6053f3e94c9b9a09f33669435e7ef1beaed", true),
            ("0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", true),
            ("coin:BTC", false),
        ] {
            assert_eq!(is_mixed_case(way), mixed_case, "{way}");
        }
    }
}
