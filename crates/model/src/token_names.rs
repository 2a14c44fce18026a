//! How a request, a filter or a person names a token: by symbol, name, address or a part of one. Which names there are is the data's to say.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{address::Address, error::Result};

pub const A_TOKEN: &str = "Contract address or its beginning, `coin:BTC` for a coin, or a unique or listed symbol or name: `UNI`, \
    `$UNI`, `UNI@base`, `Uniswap`.";

/// Knows the tokens by their names.
pub trait TokenNames: fmt::Debug {
    /// The token with this symbol (`UNI`, `$UNI`, `UNI@base`), name or part of an address; `None` if no token has it. Errors: several have, or no
    /// data are loaded.
    fn token_named(&self, name: &str) -> Result<Option<Address>>;

    /// Every token that has the name.
    fn tokens_named(&self, name: &str) -> Vec<Address>;

    /// The symbol or name of a token that is probably meant by this one, which no token has.
    fn nearest_name(&self, name: &str) -> Option<String>;
}

/// Characters of an address, or of a symbol with its chain.
pub const NAME_CHARS_MAX: usize = 64;

/// Fewer hexadecimal digits would be part of too many addresses.
const PART_DIGITS_MIN: usize = 4;

/// The beginning of an address, `0x1f98`, or its shortened form, `0x1f98…f984`; in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPart {
    start: String,
    end: String,
}

impl AddressPart {
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase();
        let (start, end) = text
            .split_once('…')
            .or_else(|| text.split_once("..."))
            .unwrap_or((&text, ""));
        let digits = start
            .strip_prefix("0x")
            .filter(|digits| is_hex(digits) && is_hex(end))?;
        let is_part = digits.len() >= PART_DIGITS_MIN && digits.len() + end.len() < 40;
        is_part.then(|| Self {
            start: start.to_owned(),
            end: end.to_owned(),
        })
    }

    pub fn is_of(&self, address: &Address) -> bool {
        let whole = address.to_string();
        whole.starts_with(&self.start) && whole.ends_with(&self.end)
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a search for the word looks for it inside addresses: it begins as one, or is enough of its digits.
pub fn is_part_of_address(word: &str) -> bool {
    match word.get(..2) {
        Some("0x" | "0X") => is_hex(&word[2..]),
        _ => word.len() >= PART_DIGITS_MIN && is_hex(word),
    }
}

/// Whether the text may name a token by symbol, name or part of its address: it is neither too long nor an address that is malformed.
pub fn may_be_name(text: &str) -> bool {
    let begins = |start: &str| {
        text.get(..start.len())
            .is_some_and(|begun| begun.eq_ignore_ascii_case(start))
    };
    let is_malformed = begins("coin:") || (begins("0x") && AddressPart::read(text).is_none());
    !is_malformed && !text.trim().is_empty() && text.chars().count() <= NAME_CHARS_MAX
}

/// A token as a request names it, as the documents describe it.
pub struct NamedToken;

impl NamedToken {
    /// The schema of its text, for parameters and the names of members.
    pub fn text() -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX })
    }
}

impl JsonSchema for NamedToken {
    fn schema_name() -> Cow<'static, str> {
        "NamedToken".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Self::text();
        schema.insert("description".to_owned(), A_TOKEN.into());
        schema
    }
}

/// How a request names its tokens: by address, as a coin, and by the names in the data, where there are any.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenReader<'a>(Option<&'a dyn TokenNames>);

impl<'a> TokenReader<'a> {
    /// Which knows the names in these data.
    pub fn of(names: &'a dyn TokenNames) -> Self {
        Self(Some(names))
    }

    /// Whether it knows the names in data.
    pub fn knows_names(self) -> bool {
        self.0.is_some()
    }

    /// `None` if it names no token. Errors: several tokens have the name, or no data are loaded.
    pub fn read(self, text: &str) -> Result<Option<Address>> {
        let named = || {
            self.0
                .filter(|_| may_be_name(text))
                .map_or(Ok(None), |names| names.token_named(text))
        };
        Address::asked(text).map_or_else(named, |address| Ok(Some(address)))
    }

    /// Every token that the text can mean.
    pub fn all(self, text: &str) -> Vec<Address> {
        let named = || {
            self.0
                .filter(|_| may_be_name(text))
                .map_or_else(Vec::new, |names| names.tokens_named(text))
        };
        Address::asked(text).map_or_else(named, |address| vec![address])
    }

    /// The symbol or name of the token that the text probably means.
    pub fn nearest(self, text: &str) -> Option<String> {
        self.0
            .filter(|_| may_be_name(text))
            .and_then(|names| names.nearest_name(text))
    }

    /// The sentence that proposes the nearest token; empty if there is none.
    pub fn proposal(self, text: &str) -> String {
        self.nearest(text)
            .map_or_else(String::new, |near| format!(" Did you mean `{near}`?"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_as_an_address_is_a_name_only_if_it_is_part_of_one() {
        let long = "x".repeat(65);
        for (text, may) in [
            ("UNI", true),
            ("$UNI", true),
            ("USD Coin", true),
            ("é@eth", true),
            ("0x1F98", true),
            ("0x1f98…f984", true),
            ("0x1f98...f984", true),
            ("0x12", false),
            ("0xyz", false),
            ("0x1f9840a85d5af5bf1d1762f925bdaddc4201f9840", false),
            ("COIN:", false),
            (" ", false),
            (long.as_str(), false),
        ] {
            assert_eq!(may_be_name(text), may, "{text}");
        }
    }
}
