//! Invented contracts as compiled bytecode, each with the behavior its row states: an honest token, single faults, and for each fault an
//! honest twin that resembles it. Used by the demo data and the tests of the security analysis. No real contract is copied. The rows are
//! data, in `contracts.json`.
//!
//! Storage slots, in Solidity's layout: 0 balances, 1 allowances, 2 supply, 3 owner, 4 fee, 5 listed holders, 6 paused, 7 pair, 8 gate,
//! 9 earlier owner, 10 operator, 11 open, 12 buying stopped, 13 time of construction, 14 block of receipt, 15 rates, 16 largest sale.

use std::sync::LazyLock;

use serde::Deserialize;
use sha3::{Digest as _, Keccak256};

#[cfg(test)]
mod tests;

/// A contract of the table.
#[derive(Debug, Deserialize)]
pub struct Contract {
    pub name: &'static str,
    /// Its behavior, as a clause without a full stop.
    pub what: &'static str,
    /// Codes of the security inference expected once its constructor has run.
    pub fires: Vec<&'static str>,
    /// Codes also accepted, since the same behavior justifies them. Any other is a false positive.
    pub also: Vec<&'static str>,
    /// The honest contract that differs in the fault only; `None` for an honest one.
    pub twin: Option<&'static str>,
    /// Signatures of its public functions; empty for a proxy, which forwards every call.
    pub functions: Vec<&'static str>,
    /// Init code up to the runtime code, and the runtime code, in hex with `{…}` in place of what an identity decides.
    constructor: &'static str,
    runtime: &'static str,
}

/// Name, symbol and supply of a token.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    pub name: &'a str,
    pub symbol: &'a str,
    pub decimals: u8,
    /// In smallest units; all minted to the deployer.
    pub supply: u128,
}

impl Default for Identity<'_> {
    fn default() -> Self {
        Self {
            name: "Plain Token",
            symbol: "PLAIN",
            decimals: 18,
            supply: 1_000_000_000 * 10_u128.pow(18),
        }
    }
}

/// Runtime bytecode of a contract, and the init code that deploys it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractCode {
    pub runtime: Vec<u8>,
    pub creation: Vec<u8>,
}

static CONTRACTS: LazyLock<Vec<Contract>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("contracts.json")).expect("the tests read the table")
});

/// All contracts.
pub fn contracts() -> impl Iterator<Item = &'static Contract> {
    CONTRACTS.iter()
}

/// Returns the contract called `name`.
pub fn contract(name: &str) -> Option<&'static Contract> {
    contracts().find(|contract| contract.name == name)
}

impl Contract {
    /// The bytecode of a token with this name and supply.
    pub fn code(&self, identity: &Identity) -> ContractCode {
        let (name_length, name) = word(identity.name);
        let (symbol_length, symbol) = word(identity.symbol);
        // Of the metadata that Solidity's compiler appends; invented, and another for each identity.
        let digest = Keccak256::digest(format!("{}\n{}", identity.name, identity.symbol));
        let filled = [
            ("{name_length}", name_length),
            ("{name}", name),
            ("{symbol_length}", symbol_length),
            ("{symbol}", symbol),
            ("{decimals}", format!("{:02x}", identity.decimals)),
            ("{digest}", const_hex::encode(digest)),
            ("{supply}", format!("{:032x}", identity.supply)),
        ];
        let bytes = |text: &str| {
            let text = filled.iter().fold(text.to_owned(), |text, (place, with)| {
                text.replace(place, with)
            });
            const_hex::decode(text).unwrap_or_default()
        };
        let runtime = bytes(self.runtime);
        ContractCode {
            creation: [bytes(self.constructor), runtime.clone()].concat(),
            runtime,
        }
    }

    /// Runtime bytecode, as deployed on chain, under the default identity.
    pub fn runtime(&self) -> Vec<u8> {
        self.code(&Identity::default()).runtime
    }
}

/// Encodes a string of at most one word as length and bytes, in hex; a longer one is cut at a character boundary.
fn word(text: &str) -> (String, String) {
    let text = &text[..text.floor_char_boundary(32)];
    (
        format!("{:02x}", text.len()),
        format!("{:0<64}", const_hex::encode(text)),
    )
}
