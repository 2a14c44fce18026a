//! The body of POST /deep-analysis/jobs, read and checked to the letter. What the datasets hold is not known here.

use schemars::JsonSchema;
use serde_json::{json, value::RawValue};

use super::TOKENS_MAX;
use crate::{
    dataset::address::Address,
    error::Result,
    question::{
        json::{elements, invalid, members, pointer, text, well_formed},
        parameter::{ADDRESS_PATTERN, EXAMPLE_TOKEN, clip},
    },
};

const EXPECTED: &str = "expected `token_address` with one address or `token_addresses` with a list of them";

/// The body of POST /deep-analysis/jobs: one token or several.
#[derive(Debug, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[schemars(example = json!({ "token_address": EXAMPLE_TOKEN }))]
pub enum JobBody {
    One {
        #[schemars(regex(pattern = ADDRESS_PATTERN))]
        token_address: String,
    },
    Several {
        #[schemars(length(min = 1, max = TOKENS_MAX), inner(regex(pattern = ADDRESS_PATTERN)))]
        token_addresses: Vec<String>,
    },
}

/// The tokens to analyze, each once, in the order given. Well formed first (400), then every value (422, naming its JSON pointer).
pub fn parse_request(body: &[u8]) -> Result<Vec<Address>> {
    let mut tokens = None;
    for (name, value) in members("", well_formed(body)?)? {
        let at = pointer("", &name);
        let given = match name.as_str() {
            "token_address" => vec![address(&at, value)?],
            "token_addresses" => addresses(&at, value)?,
            _ => return Err(invalid(&at, &format!("no such member: {EXPECTED}"))),
        };
        if tokens.replace(given).is_some() {
            return Err(invalid(&at, "`token_address` and `token_addresses` are both given: give one of them"));
        }
    }
    tokens.ok_or_else(|| invalid("", EXPECTED))
}

/// Each address once, in the order given.
pub(super) fn distinct(addresses: Vec<Address>) -> Vec<Address> {
    let mut seen = std::collections::HashSet::new();
    addresses.into_iter().filter(|address| seen.insert(*address)).collect()
}

fn addresses(at: &str, value: &RawValue) -> Result<Vec<Address>> {
    let items = elements(value).ok_or_else(|| invalid(at, &format!("`{}`: expected an array of token addresses", clip(value.get()))))?;
    let read: Result<Vec<_>> = items.iter().enumerate().map(|(i, item)| address(&format!("{at}/{i}"), item)).collect();
    let tokens = distinct(read?);
    if tokens.is_empty() || tokens.len() > TOKENS_MAX {
        return Err(invalid(at, &format!("{} tokens: expected 1 to {TOKENS_MAX}", tokens.len())));
    }
    Ok(tokens)
}

fn address(at: &str, value: &RawValue) -> Result<Address> {
    text(value).as_deref().and_then(Address::parse).ok_or_else(|| {
        invalid(at, &format!("`{}` is not an address: expected a string of 0x and 40 hexadecimal digits", clip(value.get())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

    #[test]
    fn wrong_values_are_named_by_their_pointer() {
        let many: Vec<_> = (0..=TOKENS_MAX).map(|i| format!("\"0x{i:040x}\"")).collect();
        for (body, code, part) in [
            (String::new(), Code::InvalidJson, "not valid JSON"),
            (r#"{"token_address":"#.into(), Code::InvalidJson, "not valid JSON"),
            (format!(r#"{{"token_address":"{UNI}"}} x"#), Code::InvalidJson, "not valid JSON"),
            (format!(r#"{{"token_address":1, "more": "{UNI}""#), Code::InvalidJson, "not valid JSON"),
            ("[]".into(), Code::InvalidValue, "The body"),
            ("null".into(), Code::InvalidValue, "expected an object"),
            ("{}".into(), Code::InvalidValue, "`token_addresses`"),
            (r#"{"token_address":"0x12"}"#.into(), Code::InvalidValue, "`/token_address`"),
            (r#"{"token_address":null}"#.into(), Code::InvalidValue, "`/token_address`"),
            (r#"{"token_addresses":[]}"#.into(), Code::InvalidValue, "0 tokens: expected 1 to 100"),
            (r#"{"token_addresses":"x"}"#.into(), Code::InvalidValue, "expected an array"),
            (format!(r#"{{"token_addresses":["{UNI}",7]}}"#), Code::InvalidValue, "`/token_addresses/1`"),
            (format!(r#"{{"token_addresses":[{}]}}"#, many.join(",")), Code::InvalidValue, "101 tokens"),
            (format!(r#"{{"token_address":"{UNI}","token_addresses":["{UNI}"]}}"#), Code::InvalidValue, "both"),
            (format!(r#"{{"token_address":"{UNI}","token_address":"{UNI}"}}"#), Code::InvalidValue, "twice"),
            (format!(r#"{{"token_address":"{UNI}","a/b":1}}"#), Code::InvalidValue, "`/a~1b`"),
        ] {
            let problem = parse_request(body.as_bytes()).expect_err(&body);
            assert_eq!(problem.code, code, "{}", clip(&body));
            assert!(problem.detail.contains(part), "{}", problem.detail);
        }
    }

    #[test]
    fn duplicates_count_once_in_any_letter_case() {
        let body = format!(r#"{{"token_addresses":["{UNI}","0x{}","0x{:040x}"]}}"#, UNI[2..].to_uppercase(), 1);
        let tokens = parse_request(body.as_bytes()).expect("valid");
        assert_eq!(tokens.iter().map(Address::to_string).collect::<Vec<_>>(), [UNI.to_owned(), format!("0x{:040x}", 1)]);
    }
}
