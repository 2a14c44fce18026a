//! Different tokens at one address: predeployed contracts (0x4200…0006) and CREATE2 can put another token at the same address of another
//! chain. A dataset has one token per address; rows of other tokens are excluded, and each is named in a finding.

use std::{collections::HashSet, sync::Arc};

use polars::prelude::{DataFrame, IdxCa, IdxSize};

use crate::{Table, check::named};
use frames::{
    frame_rows::{FromFrame as _, filtered},
    rows::Frames as _,
};
use model::{
    findings::{Finding, Severity},
    rows::TokenRow,
    token::{TokenApart, description, held},
};
use table::TableRows;

/// Rows of tokens other than the one stored at their address, with their positions in the frame.
pub fn apart(frame: &DataFrame) -> Vec<(usize, TokenApart)> {
    let Some(addresses) = frame
        .column("token_address")
        .ok()
        .and_then(|column| column.str().ok())
    else {
        return Vec::new();
    };
    let mut known = HashSet::new();
    let repeated: HashSet<&str> = addresses
        .iter()
        .flatten()
        .filter(|address| !known.insert(*address))
        .collect();
    let is_repeated =
        |address: Option<&str>| address.is_some_and(|address| repeated.contains(address));
    let places: Vec<usize> = (0..frame.height())
        .filter(|&row| is_repeated(addresses.get(row)))
        .collect();
    let Ok(part) = frame.take(
        &places
            .iter()
            .map(|&row| Some(row as IdxSize))
            .collect::<IdxCa>(),
    ) else {
        return Vec::new();
    };
    let mut rows: Vec<(usize, TokenRow)> = places.into_iter().zip(TokenRow::rows(&part)).collect();
    rows.sort_by_key(|(_, row)| row.token_address);
    let mut all = Vec::new();
    for same in rows.chunk_by(|(_, a), (_, b)| a.token_address == b.token_address) {
        let of_one: Vec<&TokenRow> = same.iter().map(|(_, row)| row).collect();
        let is_held = held(&of_one);
        let first = of_one
            .iter()
            .zip(&is_held)
            .find(|(_, held)| **held)
            .map_or_else(String::new, |(row, _)| description(row));
        let others = same.iter().zip(is_held).filter(|(_, held)| !held);
        all.extend(others.map(|((place, row), _)| {
            (
                *place,
                TokenApart {
                    row: row.clone(),
                    held: first.clone(),
                },
            )
        }));
    }
    all
}

/// Takes the rows of other tokens out of the table, with a finding for each.
pub(super) fn hold_one(table: &mut Table) {
    let found = apart(&table.frame());
    if found.is_empty() {
        return;
    }
    let frame = table.rows.slice(0..table.height(), None);
    let out: HashSet<usize> = found.iter().map(|(place, _)| *place).collect();
    let Ok(rest) = filtered(&frame, (0..frame.height()).map(|row| !out.contains(&row))) else {
        return;
    };
    let Ok(rows) = TableRows::in_memory(table.schema, &rest) else {
        return;
    };
    table.rows = Arc::new(rows);
    let (rule, file) = (named("one_token"), table.first_file());
    for (_, other) in found {
        table.findings.add(
            Finding::new(Severity::Warning, &file, rule.reason())
                .column(rule.column())
                .value(other.description()),
        );
        table.apart.push(other);
    }
}

#[cfg(test)]
mod tests {
    use crate::sample;

    #[test]
    fn of_two_tokens_at_one_address_one_is_held_and_the_other_named() {
        const HEAD: &str = "token_address,symbol,name,chain,decimals,price,market_cap,listed\n";
        for (rows, symbol, chains, apart) in [
            (
                "0x1,OP,A,op,18,1.5,9,\n0x1,FAKE,B,base,6,0.1,,",
                "OP",
                "oeth",
                "FAKE on base, next to OP on oeth",
            ),
            (
                "0x1,FAKE,B,base,18,,,\n0x1,OP,A,op,18,,,true",
                "OP",
                "oeth",
                "FAKE on base, next to OP on oeth",
            ),
            (
                "0x1,A,A,eth,18,,,\n0x1,A,A,base,6,,,",
                "A",
                "base",
                "A on eth, next to A on base",
            ),
            (
                "0x1,A,A,eth,,1,5,\n0x1,A,A,base,,1.2,,",
                "A",
                "eth",
                "A on base, next to A on eth",
            ),
            // More chains, then the first chain.
            (
                "0x1,W,W,op,18,,,\n0x1,B,B,bnb,18,,,\n0x1,W,W,eth,18,,,",
                "W",
                "eth oeth",
                "B on bnb, next to W on eth",
            ),
            // One token: bridged, written otherwise, or not known enough.
            (
                "0x1,USDC,A,eth,6,1,9,\n0x1,usdc,A,base,6,1.09,,",
                "USDC",
                "eth base",
                "",
            ),
            ("0x1,A,A,eth,,,,\n0x1,,,base,18,3,,", "A", "base eth", ""),
            ("0x1,A,A,eth,18,1,9,\n0x2,B,B,base,6,5,,", "A", "eth", ""),
        ] {
            let dataset = sample::dataset(&[("tokens", &format!("{HEAD}{rows}"))]);
            let token = dataset.token(&sample::address("0x1")).expect("the token");
            let mut held: Vec<&str> = token
                .chains
                .iter()
                .map(model::chain::Chain::as_str)
                .collect();
            let mut expected: Vec<&str> = chains.split(' ').collect();
            held.sort_unstable();
            expected.sort_unstable();
            assert_eq!(
                (token.row.symbol.as_deref(), held),
                (Some(symbol), expected),
                "{rows}"
            );
            let table = dataset.table("tokens").expect("the table");
            let told: Vec<String> = table
                .apart
                .iter()
                .map(super::TokenApart::description)
                .collect();
            assert!(
                told.iter()
                    .map(|told| told.ends_with(apart))
                    .eq((!apart.is_empty()).then_some(true)),
                "{rows}: {told:?}"
            );
            let found = table
                .findings
                .kept()
                .iter()
                .filter(|finding| finding.reason.contains("share this address"))
                .count();
            assert_eq!(found, told.len(), "{rows}");
        }
    }
}
