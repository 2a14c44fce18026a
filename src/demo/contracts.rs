//! Contracts of our own, assembled by hand with real behaviour: an honest token, what can be wrong with one, and for each fault the
//! honest twin that looks like it. The demo data and the planted tests take their bytecode here. Nobody's contract is copied.

mod assembler;
mod names;
mod powers;
mod template;
#[cfg(test)]
mod tests;
mod traps;

use self::template::ContractText;
pub use self::{
    names::FUNCTIONS,
    template::{ContractCode, Identity},
};

/// A contract of the table.
#[derive(Debug)]
pub struct Contract {
    pub name: &'static str,
    /// What it does, as a sentence without its end.
    pub what: &'static str,
    /// Codes of the security inference that its code must raise, deployed by its constructor.
    pub fires: &'static [&'static str],
    /// Codes that may be raised too, because the same behaviour bears them out. Any other code of the execution is a false alarm.
    pub also: &'static [&'static str],
    /// The honest contract that differs from this one in the fault alone; none for an honest one.
    pub twin: Option<&'static str>,
    form: ContractText,
}

/// Rows of the table: name, what it does, the codes it must raise, those it may, its twin, and the text.
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
    /// The bytecode of a token that calls itself so.
    ///
    /// # Panics
    /// Never: a text that cannot be assembled fails the tests, and what an identity adds are numbers.
    pub fn code(&self, identity: &Identity) -> ContractCode {
        self.form.code(identity).expect("the tests assemble every contract of the table")
    }

    /// The code as it stays on the chain, under a name of no consequence.
    pub fn runtime(&self) -> Vec<u8> {
        self.code(&Identity::default()).runtime
    }

    /// The code that deploys it.
    pub fn creation(&self) -> Vec<u8> {
        self.code(&Identity::default()).creation
    }
}
