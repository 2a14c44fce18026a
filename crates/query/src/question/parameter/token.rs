//! How a request names a token, in its path, its query or its body. Which symbols there are is the data's to say.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::A_TOKEN;
use model::{address::Address, error::Result};

/// Knows the tokens by their symbols.
pub trait TokenNames: fmt::Debug {
    /// The token with this symbol, `UNI` or `UNI@base`; `None` if no token has it. Errors: several have, or no data are loaded.
    fn token_named(&self, symbol: &str) -> Result<Option<Address>>;
}

/// Characters of an address, or of a symbol with its chain.
pub const NAME_CHARS_MAX: usize = 64;

/// Whether the text may be a symbol, with or without a chain: it does not begin as an address.
pub fn may_be_symbol(text: &str) -> bool {
    let is_cut = ["0x", "coin:"].iter().any(|start| text.get(..start.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(start)));
    !is_cut && !text.trim().is_empty() && text.chars().count() <= NAME_CHARS_MAX
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

/// How a request names its tokens: by address, as a coin, and by the symbols of the data, where there are any.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenReader<'a>(Option<&'a dyn TokenNames>);

impl<'a> TokenReader<'a> {
    /// Which knows the symbols of these data.
    pub fn of(names: &'a dyn TokenNames) -> Self {
        Self(Some(names))
    }

    /// `None` if it is neither. Errors: several tokens have the symbol, or no data are loaded.
    pub fn read(self, text: &str) -> Result<Option<Address>> {
        let symbol = || self.0.filter(|_| may_be_symbol(text)).map_or(Ok(None), |names| names.token_named(text));
        Address::asked(text).map_or_else(symbol, |address| Ok(Some(address)))
    }
}
