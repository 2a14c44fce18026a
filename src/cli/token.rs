//! The token argument of a command: an address, a coin, or a unique symbol in the dataset.

use color_eyre::eyre::{Result, bail};

use super::{LocationArgs, program::Program};
use model::{address::Address, schema::Kind};
use query::{
    queries::{parameter::may_be_name, tokens::named::named_token},
    service::QueryService,
};

/// A token as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenName {
    Address(Address),
    Symbol(String),
}

/// Parses an argument. Errors: it is neither an address nor a possible symbol.
pub(super) fn token(text: &str) -> Result<TokenName> {
    if let Some(address) = Address::asked(text) {
        return Ok(TokenName::Address(address));
    }
    if !may_be_name(text) {
        let address = Kind::Address.expectation();
        bail!("expected {address}, a coin such as `coin:BTC`, or a unique symbol");
    }
    Ok(TokenName::Symbol(text.to_owned()))
}

impl TokenName {
    /// Its address in the loaded data.
    pub(super) fn find(&self, service: &QueryService) -> Result<Address> {
        match self {
            Self::Address(address) => Ok(*address),
            Self::Symbol(symbol) => {
                let snapshot = service.snapshot()?;
                Ok(named_token(&snapshot, symbol)?)
            }
        }
    }

    /// Its address; the data is loaded only for a symbol.
    pub(super) fn find_in(&self, location: &LocationArgs) -> Result<Address> {
        match self {
            Self::Address(address) => Ok(*address),
            Self::Symbol(_) => self.find(&Program::open_loaded(location)?.service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_cut_is_no_symbol() {
        for symbol in ["UNI", "1INCH", "usd coin"] {
            assert_eq!(
                token(symbol).ok(),
                Some(TokenName::Symbol(symbol.to_owned()))
            );
        }
        assert_eq!(
            token("coin:btc").ok(),
            Some(TokenName::Address(Address::coin("BTC")))
        );
        for wrong in ["0x12", "0X", "coin:", " ", ""] {
            assert!(token(wrong).is_err(), "{wrong}");
        }
    }
}
