//! The body of POST /deep-analysis/jobs, parsed and validated strictly. Whether the dataset has the tokens is checked later.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde_json::{json, value::RawValue};

use super::TOKENS_MAX;
use crate::queries::{
    json::{elements, invalid, members, pointer, token, well_formed},
    parameter::{EXAMPLE_TOKEN, NamedToken, TokenReader, clip},
};
use model::{address::Address, error::Result};

const EXPECTED: &str =
    "expected `token_address` with one address, or `token_addresses` with a list";

/// Body of POST /deep-analysis/jobs: one token or several.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[schemars(example = json!({ "token_address": EXAMPLE_TOKEN }))]
pub enum JobBody {
    One {
        #[schemars(with = "NamedToken")]
        token_address: Address,
    },
    Several {
        #[schemars(with = "Vec<NamedToken>", length(min = 1, max = TOKENS_MAX))]
        token_addresses: Vec<Address>,
    },
}

impl JobBody {
    /// Parses the body. Errors: 400 if malformed, then 422 for each invalid value, by JSON pointer.
    pub fn parse(body: &[u8], tokens: TokenReader<'_>) -> Result<Self> {
        let mut given = None;
        for (name, value) in members("", well_formed(body)?)? {
            let at = pointer("", &name);
            let read = match &*name {
                "token_address" => Self::One {
                    token_address: token(&at, value, tokens)?,
                },
                "token_addresses" => Self::Several {
                    token_addresses: several(&at, value, tokens)?,
                },
                _ => return Err(invalid(&at, &format!("unknown field; {EXPECTED}"))),
            };
            if given.replace(read).is_some() {
                return Err(invalid(
                    &at,
                    "set either `token_address` or `token_addresses`, not both",
                ));
            }
        }
        given.ok_or_else(|| invalid("", EXPECTED))
    }

    /// Returns the distinct tokens in request order, each with its JSON pointer.
    pub(super) fn tokens(&self) -> Result<Vec<(Address, String)>> {
        let several = match self {
            Self::One { token_address } => {
                return Ok(vec![(*token_address, "/token_address".to_owned())]);
            }
            Self::Several { token_addresses } => token_addresses,
        };
        let mut seen = HashSet::new();
        let distinct = several
            .iter()
            .enumerate()
            .filter(|(_, address)| seen.insert(**address));
        let tokens: Vec<_> = distinct
            .map(|(i, address)| (*address, format!("/token_addresses/{i}")))
            .collect();
        if tokens.is_empty() || tokens.len() > TOKENS_MAX {
            return Err(invalid(
                "/token_addresses",
                &format!("{} tokens; expected 1 to {TOKENS_MAX}", tokens.len()),
            ));
        }
        Ok(tokens)
    }
}

fn several(at: &str, value: &RawValue, tokens: TokenReader<'_>) -> Result<Vec<Address>> {
    let items = elements(value).ok_or_else(|| {
        invalid(
            at,
            &format!(
                "expected an array of token addresses, not `{}`",
                clip(value.get())
            ),
        )
    })?;
    items
        .iter()
        .enumerate()
        .map(|(i, item)| token(&format!("{at}/{i}"), item, tokens))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::error::Code;

    const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

    #[test]
    fn wrong_values_are_named_by_their_pointer() {
        let many: Vec<_> = (0..=TOKENS_MAX)
            .map(|i| format!("\"0x{i:040x}\""))
            .collect();
        for (body, code, part) in [
            (String::new(), Code::InvalidJson, "not valid JSON"),
            (
                r#"{"token_address":"#.into(),
                Code::InvalidJson,
                "not valid JSON",
            ),
            (
                format!(r#"{{"token_address":"{UNI}"}} x"#),
                Code::InvalidJson,
                "not valid JSON",
            ),
            (
                format!(r#"{{"token_address":1, "more": "{UNI}""#),
                Code::InvalidJson,
                "not valid JSON",
            ),
            ("[]".into(), Code::InvalidValue, "The body"),
            ("null".into(), Code::InvalidValue, "expected an object"),
            ("{}".into(), Code::InvalidValue, "`token_addresses`"),
            (
                r#"{"token_address":"0x12"}"#.into(),
                Code::InvalidValue,
                "`/token_address`",
            ),
            (
                r#"{"token_address":null}"#.into(),
                Code::InvalidValue,
                "`/token_address`",
            ),
            (
                r#"{"token_addresses":[]}"#.into(),
                Code::InvalidValue,
                "0 tokens; expected 1 to 100",
            ),
            (
                r#"{"token_addresses":"x"}"#.into(),
                Code::InvalidValue,
                "expected an array",
            ),
            (
                format!(r#"{{"token_addresses":["{UNI}",7]}}"#),
                Code::InvalidValue,
                "`/token_addresses/1`",
            ),
            (
                format!(r#"{{"token_addresses":[{}]}}"#, many.join(",")),
                Code::InvalidValue,
                "101 tokens",
            ),
            (
                format!(r#"{{"token_address":"{UNI}","token_addresses":["{UNI}"]}}"#),
                Code::InvalidValue,
                "both",
            ),
            (
                format!(r#"{{"token_address":"{UNI}","token_address":"{UNI}"}}"#),
                Code::InvalidValue,
                "more than once",
            ),
            (
                format!(r#"{{"token_address":"{UNI}","a/b":1}}"#),
                Code::InvalidValue,
                "`/a~1b`",
            ),
        ] {
            let problem = JobBody::parse(body.as_bytes(), TokenReader::default())
                .and_then(|body| body.tokens())
                .expect_err(&body);
            assert_eq!(problem.code, code, "{}", clip(&body));
            assert!(problem.detail.contains(part), "{}", problem.detail);
        }
    }

    #[test]
    fn duplicates_count_once_in_any_letter_case() {
        let body = format!(
            r#"{{"token_addresses":["{UNI}","0x{}","0x{:040x}"]}}"#,
            UNI[2..].to_uppercase(),
            1
        );
        let tokens = JobBody::parse(body.as_bytes(), TokenReader::default())
            .and_then(|body| body.tokens())
            .expect("valid");
        let one = Address::parse(&format!("0x{:040x}", 1)).expect("an address");
        let uni = Address::parse(UNI).expect("an address");
        assert_eq!(
            tokens,
            [
                (uni, "/token_addresses/0".to_owned()),
                (one, "/token_addresses/2".to_owned())
            ]
        );
    }
}
