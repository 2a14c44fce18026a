//! How the addresses and hashes of a table are written there, which decides how they are asked for.

use super::{
    Asking, ours,
    sql::{self, Form, Spelt, Theirs},
};
use crate::dataset::{
    address::Address,
    load::{bind::Bound, table::Stop},
    schema::Kind,
};

/// Rows that are looked at.
const LOOKED_AT: usize = 1_000;

/// How many of them are written in which way.
struct Ways {
    all: u64,
    /// As bytes.
    bytes: u64,
    /// As digits alone.
    bare: u64,
    /// With capitals.
    mixed: u64,
}

impl Asking<'_> {
    /// Looks at the first rows.
    pub(super) fn spell(&self, picked: &mut [Theirs], bound: &[Bound<'_>]) -> Result<(), Stop> {
        let hex =
            |column: &Theirs| ours(column, bound).map(|bound| bound.column.kind).filter(|kind| matches!(kind, Kind::Address | Kind::Hex));
        let texts = |column: &&mut Theirs| matches!(column.form, Form::Text | Form::Fixed(_) | Form::Word) && hex(column).is_some();
        let mut texts: Vec<&mut Theirs> = picked.iter_mut().filter(texts).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let looks: Vec<String> = texts
            .iter()
            .map(|column| {
                let name = if column.form == Form::Word { format!("toString({})", column.sql()) } else { column.sql() };
                let written = format!("match(toString({name}), '^(0[xX])?[0-9a-fA-F]+$')");
                format!(
                    "countIf(notEmpty({name})), countIf(NOT {written} AND length({name}) IN (20, 32)), \
                     countIf({written} AND length({name}) = 40), countIf(toString({name}) != lower(toString({name})))"
                )
            })
            .collect();
        let names: Vec<String> = texts.iter().map(|column| column.sql()).collect();
        let answer =
            self.ask(&format!("SELECT {} FROM (SELECT {} FROM {} LIMIT {LOOKED_AT})", looks.join(", "), names.join(", "), self.from()))?;
        let counts: Vec<u64> = answer.iter().flatten().map(|cell| cell.as_ref().and_then(|cell| cell.parse().ok()).unwrap_or(0)).collect();
        for (column, counts) in texts.iter_mut().zip(counts.chunks(4)) {
            let &[all, bytes, bare, mixed] = counts else { continue };
            let ways = Ways { all, bytes, bare, mixed };
            column.spelt = self.way(column, hex(column) == Some(Kind::Address), &ways)?;
        }
        Ok(())
    }

    fn way(&self, column: &Theirs, is_address: bool, ways: &Ways) -> Result<Spelt, Stop> {
        if column.form != Form::Word && ways.all > 0 && ways.bytes == ways.all {
            return Ok(Spelt::Bytes);
        }
        if column.form != Form::Word && ways.all > 0 && ways.bare == ways.all && is_address {
            return Ok(Spelt::Bare);
        }
        if ways.mixed == 0 || !is_address {
            return Ok(Spelt::Plain);
        }
        let text = sql::cast(column, self.old);
        let rows = self.ask(&format!(
            "SELECT DISTINCT way FROM (SELECT {text} AS way FROM (SELECT {} FROM {} LIMIT {LOOKED_AT})) WHERE way != lower(way)",
            column.sql(),
            self.from()
        ))?;
        let odd = rows.iter().flatten().flatten().any(|way| is_odd(way));
        Ok(if odd { Spelt::Odd } else { Spelt::Plain })
    }
}

/// Whether an address is written in capitals other than those that `where` looks for: all large, or as EIP-55 has them.
pub(super) fn is_odd(way: &str) -> bool {
    let known = |address: Address| [address.checksummed(), format!("0x{}", address.to_string()[2..].to_ascii_uppercase())];
    Address::parse(way.trim()).is_some_and(|address| way != address.to_string() && !known(address).iter().any(|known| known == way))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_are_odd_where_nobody_looks_for_them() {
        for (way, odd) in [
            ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", false),
            ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", false),
            ("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", false),
            ("0x5Aaeb6053f3e94c9b9a09f33669435e7ef1beaed", true),
            ("0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", true),
            ("coin:BTC", false),
        ] {
            assert_eq!(is_odd(way), odd, "{way}");
        }
    }
}
