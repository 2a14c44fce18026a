//! Invented contracts, written in assembler, that do what they say: an honest token, what can be wrong with one, and for each fault the
//! honest twin that looks like it. The demo data and the tests of the security analysis use their bytecode. Nobody's contract is copied.

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
    /// What it does, as a clause without a full stop.
    pub what: &'static str,
    /// Codes of the security inference that it must raise once its constructor has run.
    pub fires: &'static [&'static str],
    /// Codes that it may raise too, since the same behaviour earns them. Any other is a false alarm.
    pub also: &'static [&'static str],
    /// The honest contract that differs from this one in the fault alone; none for an honest one.
    pub twin: Option<&'static str>,
    form: ContractText,
}

/// Rows of the table: name, what it does, the codes it must raise, those it may, its twin, and its assembler text.
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

/// Every contract.
pub fn contracts() -> impl Iterator<Item = &'static Contract> {
    traps::ROWS.iter().chain(powers::ROWS)
}

/// The contract called `name`.
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

    /// The code as it stays on the chain, under the default name.
    pub fn runtime(&self) -> Vec<u8> {
        self.code(&Identity::default()).runtime
    }

    /// The signatures of its public functions; none of a proxy, which forwards every call.
    pub fn functions(&self) -> Vec<&'static str> {
        match &self.form {
            ContractText::Token(program) => program.functions(),
            ContractText::Other { .. } => Vec::new(),
        }
    }
}
