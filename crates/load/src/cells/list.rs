//! Parses lists: list columns, JSON text, or delimited text.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::cells::{Bad, Read};
use frames::raw_cell::{self, RawCell};
use model::chain::Chain;

/// The elements of a list cell; a scalar is a list of one. `Err` if the cell starts like JSON but does not parse.
pub fn elements(
    cell: &RawCell<'_>,
    split: Option<&str>,
    spaces: bool,
) -> Result<Vec<RawCell<'static>>, Bad> {
    match cell {
        _ if cell.is_null() => Ok(Vec::new()),
        RawCell::List(list) => Ok(list.clone()),
        RawCell::Text(text) => {
            let text = text.trim();
            if split.is_none() && text.starts_with('[') {
                return json(text);
            }
            let parts: Vec<&str> = match split {
                Some(split) => text.split(split).collect(),
                None => text
                    .split(|c: char| matches!(c, ';' | ',' | '|') || spaces && c.is_whitespace())
                    .collect(),
            };
            let kept = parts
                .into_iter()
                .map(str::trim)
                .filter(|part| !part.is_empty());
            Ok(kept
                .map(|part| RawCell::Text(Cow::Owned(part.to_owned())))
                .collect())
        }
        other => Ok(vec![other.clone().into_owned()]),
    }
}

fn json(text: &str) -> Result<Vec<RawCell<'static>>, Bad> {
    let values: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| Bad)?;
    values
        .into_iter()
        .map(|value| match value.get() {
            "null" => Ok(RawCell::Null),
            raw if raw.starts_with('"') => serde_json::from_str(raw)
                .map(|text: String| RawCell::Text(text.into()))
                .map_err(|_| Bad),
            raw => Ok(RawCell::Text(raw.to_owned().into())),
        })
        .collect()
}

/// Parses a list of chains, without duplicates.
pub(super) fn chains(cell: &RawCell<'_>, split: Option<&str>) -> Read<Vec<String>> {
    let mut chains: Vec<String> = Vec::new();
    for element in elements(cell, split, false)? {
        if element.is_null() {
            continue;
        }
        let text = element.to_text().ok_or(Bad)?;
        // Chain names may contain spaces: split at spaces only if the whole text is no chain and every word is one.
        let words: Vec<&str> = match Chain::known(&text) {
            None if split.is_none()
                && text
                    .split_whitespace()
                    .all(|word| Chain::known(word).is_some()) =>
            {
                text.split_whitespace().collect()
            }
            _ => vec![&text],
        };
        for word in words {
            let chain = Chain::parse(word).ok_or(Bad)?.to_string();
            if !chains.contains(&chain) {
                chains.push(chain);
            }
        }
    }
    Ok(Some(chains).filter(|chains| !chains.is_empty()))
}

/// Parses a list of addresses, with whether any EIP-55 checksum is wrong.
pub(super) fn addresses(cell: &RawCell<'_>, split: Option<&str>) -> Read<(Vec<String>, bool)> {
    if cell.is_null() {
        return Ok(None);
    }
    let (mut addresses, mut odd) = (Vec::new(), false);
    for element in elements(cell, split, true)? {
        if let Some((address, broken)) = raw_cell::address(&element)? {
            addresses.push(address.to_string());
            odd |= broken;
        }
    }
    Ok(Some((addresses, odd)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_come_as_lists_json_or_divided_text() {
        for (text, expected) in [
            ("eth", &["eth"][..]),
            ("ethereum;polygon", &["eth", "pol"]),
            ("eth|base, arb", &["eth", "base", "arb1"]),
            ("eth base", &["eth", "base"]),
            ("BNB Smart Chain", &["bnb"]),
            ("[1, \"polygon\", null]", &["eth", "pol"]),
            ("eth;ethereum;1", &["eth"]),
            ("robinhood chain", &["robinhood-chain"]),
        ] {
            let read = chains(&RawCell::Text(text.into()), None)
                .expect(text)
                .expect(text);
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(chains(&RawCell::Text("[1, ".into()), None), Err(Bad));
        assert_eq!(chains(&RawCell::Text(";".into()), None), Ok(None));
        assert_eq!(
            chains(&RawCell::List(vec![RawCell::Int(1), RawCell::Null]), None),
            Ok(Some(vec!["eth".to_owned()]))
        );
    }
}
