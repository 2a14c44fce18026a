//! Invented contracts in EVM assembly, each with the behaviour its row states: an honest token, single faults, and for each fault an honest
//! twin that resembles it. Used by the demo data and the tests of the security analysis. No real contract is copied.

mod assembler;
mod macros;
mod powers;
mod template;
#[cfg(test)]
mod tests;
mod traps;

use self::template::ContractText;
pub use self::template::{ContractCode, Identity};

/// A contract of the table.
#[derive(Debug)]
pub struct Contract {
    pub name: &'static str,
    /// Its behaviour, as a clause without a full stop.
    pub what: &'static str,
    /// Codes of the security inference expected once its constructor has run.
    pub fires: &'static [&'static str],
    /// Codes also accepted, since the same behaviour justifies them. Any other is a false positive.
    pub also: &'static [&'static str],
    /// The honest contract that differs in the fault only; `None` for an honest one.
    pub twin: Option<&'static str>,
    form: ContractText,
}

/// Table rows: name, behaviour, expected codes, accepted codes, twin, and assembly source.
macro_rules! rows {
    (@twin honest) => { None };
    (@twin twin $twin:literal) => { Some($twin) };
    ($($name:literal: $what:literal [$($fires:literal),*] [$($also:literal),*] $kind:ident $($twin:literal)? $form:ident $body:tt $(, $constructor:literal)?;)*) => {
        &[$(Contract { name: $name, what: $what, fires: &[$($fires),*], also: &[$($also),*], twin: rows!(@twin $kind $($twin)?), form: rows!(@form $form $body $(, $constructor)?) }),*]
    };
    (@form token { $($field:ident: $value:expr),* }) => { ContractText::Token(TokenProgram { $($field: $value,)* ..HONEST }) };
    (@form other $runtime:literal, $constructor:literal) => { ContractText::Other { runtime: $runtime, constructor: $constructor } };
}
use rows;

/// All contracts.
pub fn contracts() -> impl Iterator<Item = &'static Contract> {
    traps::ROWS.iter().chain(powers::ROWS)
}

/// Returns the contract called `name`.
pub fn contract(name: &str) -> Option<&'static Contract> {
    contracts().find(|contract| contract.name == name)
}

impl Contract {
    /// The bytecode of a token with this name and supply.
    ///
    /// # Panics
    /// Never: the tests assemble every contract, and an identity adds numbers alone.
    pub fn code(&self, identity: &Identity) -> ContractCode {
        self.form.code(identity).expect("the tests assemble every contract of the table")
    }

    /// Runtime bytecode, as deployed on chain, under the default identity.
    pub fn runtime(&self) -> Vec<u8> {
        self.code(&Identity::default()).runtime
    }

    /// Signatures of its public functions; empty for a proxy, which forwards every call.
    pub fn functions(&self) -> Vec<&'static str> {
        match &self.form {
            ContractText::Token(program) => program.functions(),
            ContractText::Other { .. } => Vec::new(),
        }
    }
}
