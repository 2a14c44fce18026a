//! Dynamic analysis of contract bytecode: an in-memory EVM executes it within a budget, with an owner, holders and an outsider as callers,
//! and compares the state before and after each call. Function names play no part, so renaming hides nothing. No clock and no randomness:
//! the same code gives the same findings. IMPERSONATES, SIMILAR_TO_SCAM and KNOWN_SCAM are not detected here.

mod abi;
mod accounts;
mod caller_checks;
mod dependence;
mod deployment;
mod effects;
mod evm_state;
mod execution;
mod findings;
mod functions;
mod funding;
mod guarded_calls;
pub mod live;
mod machine;
mod outside;
mod pool_trades;
mod privileges;
mod proofs;
mod signatures;
mod snapshot;
#[cfg(test)]
mod tests;
mod trace;
mod trade_series;
mod trade_simulation;
mod transaction_context;
#[cfg(test)]
mod unseen;

use revm::primitives::Address as EvmAddress;

use self::{
    accounts::Seed, execution::execute, functions::CodeShape, live::Venue,
    trade_series::verdict::waiting,
};
pub use self::{dependence::SaleState, deployment::DeployedBy, trade_simulation::Opening};
use super::{Anomaly, AnomalyCode, Evidence, Execution, PrivilegeHolder, Simulation, Taxes};
use model::{
    address::Address,
    time::{SECOND_MS, Time},
    untrusted::caught,
};

/// A storage slot and its value.
pub type Slot = ([u8; 32], [u8; 32]);

/// A contract that another one delegates to or calls.
#[derive(Debug, Clone)]
pub struct ImplementationContract {
    pub address: Address,
    pub code: Vec<u8>,
    /// Its own storage, if the dataset has it.
    pub storage: Vec<Slot>,
}

/// Where and when a contract is executed without on-chain state, as far as known from the data.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodePlace<'a> {
    pub token: Option<Address>,
    /// Digest of the data, from which accounts and hashes are derived.
    pub digest: [u8; 32],
    /// Time of the newest row about the token.
    pub as_of: Option<Time>,
    /// The main exchange of its chain.
    pub venue: Option<Venue<'a>>,
    /// The addresses that its pools would have on the exchanges of its chain.
    pub pools: &'a [Address],
}

/// Seconds since 1970 at which contracts are executed whose data have no time: when this was written.
const TIME_UNSAID: u64 = 1_796_000_000;

impl CodePlace<'_> {
    fn token(&self) -> Option<EvmAddress> {
        self.token.map(|token| EvmAddress::new(token.0))
    }

    fn seed(&self) -> Seed {
        Seed::new(&self.digest, self.token())
    }

    fn time(&self) -> u64 {
        self.as_of
            .and_then(|time| u64::try_from(time.0 / SECOND_MS).ok())
            .unwrap_or(TIME_UNSAID)
    }
}

/// Known data of a contract.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodeInput<'a> {
    pub place: CodePlace<'a>,
    pub runtime: &'a [u8],
    /// Creation bytecode without constructor arguments.
    pub creation: Option<&'a [u8]>,
    /// Types of the constructor's arguments, in Solidity notation; `None` if unknown.
    pub constructor_types: Option<&'a [String]>,
    /// Contracts whose code it runs by DELEGATECALL, as far as known: a proxy's implementation, a diamond's facets, a beacon in between.
    pub implementations: &'a [ImplementationContract],
    /// Slots and values of a storage dump.
    pub storage: Option<&'a [Slot]>,
    /// Holders whose balances a complete storage dump must contain; `supply_known`: whether the dataset has a supply.
    pub holders: &'a [Address],
    pub supply_known: bool,
    /// Current or last known owner.
    pub owner: Option<Address>,
    pub owner_is_contract: bool,
    /// Who can replace the contract behind a proxy; `None` if unknown.
    pub upgraded_by: Option<UpgradedBy>,
    /// Decimals of the token in the dataset, for contracts that do not return them.
    pub decimals: Option<u8>,
    pub has_source: bool,
}

/// Who can replace the contract behind a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradedBy {
    Nobody,
    Person(Address),
    /// One account, and the number of seconds that it must announce the change on-chain in advance.
    Announced(Address, u64),
    /// A timelock, a multisig or another contract that no single account owns, with its delay in seconds if it has one.
    Contract(Address, Option<u64>),
}

/// Whether the code contains a delegating call.
pub fn delegates(code: &[u8]) -> bool {
    functions::delegates(code)
}

/// Resource limits for one contract. Work is the number of executed steps, with hashing and calls weighted by their time.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub calls: u64,
    pub work: u64,
    pub work_per_call: u64,
    pub gas_per_call: u64,
}

impl Default for Budget {
    /// About a second on one core in the worst case.
    fn default() -> Self {
        Self {
            calls: 40_000,
            work: 45_000_000,
            work_per_call: 400_000,
            gas_per_call: 2_000_000,
        }
    }
}

/// Result of the analysis.
#[derive(Debug, Clone, Default)]
pub struct CodeReport {
    pub anomalies: Vec<Anomaly>,
    /// Incomplete steps, with the reason; empty if everything was completed.
    pub unfinished: Vec<String>,
    pub calls: u64,
    pub gas: u64,
    pub work: u64,
    pub selectors: Vec<[u8; 4]>,
    pub deployed_by: Option<DeployedBy>,
    pub opening: Option<Opening>,
    /// Whether the constructor completed; `None` without one.
    pub deploys: Option<bool>,
    /// Whether any trade or transfer succeeded.
    pub traded: bool,
    /// Whether trading was observed and every function tested, so that the absence of findings is meaningful.
    pub conclusive: bool,
    pub taxes: Option<Taxes>,
    /// Whether an on-chain sell goes as in the simulation.
    pub sale: SaleState,
    /// The owner: the contract's own if it is executed on on-chain state, otherwise the dataset's.
    pub owner: Option<Address>,
    /// The contracts whose code defines its behavior, each with the start of its code's hash.
    pub contracts: Vec<(Address, String)>,
    /// Trades simulated on the on-chain state, if it is known.
    pub simulation: Option<Simulation>,
    /// How far the further trades got.
    pub trials: Option<TrialsDone>,
    /// With on-chain state, for checks that test calls: a slot that a sell reads, of which another value would block or tax it, and which no
    /// call was seen to write.
    pub unwritten: Vec<(AnomalyCode, String)>,
    /// Executed calls behind each passed check.
    pub proofs: Vec<(AnomalyCode, Vec<Evidence>)>,
}

/// How far the simulated trades got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialsDone {
    pub bought: bool,
    pub sold: bool,
    /// Whether no trade hit the step limit.
    pub finished: bool,
}

impl CodeReport {
    /// Whether it is unknown if an on-chain sell succeeds: none was simulated, or it depends on unknown state.
    pub fn sale_unknown(&self) -> bool {
        self.sale != SaleState::Stands
            && self
                .anomalies
                .iter()
                .all(|anomaly| anomaly.code != AnomalyCode::SellBlocked)
    }

    pub fn execution(&self) -> Execution {
        Execution {
            calls: self.calls,
            gas: self.gas,
            selectors: self
                .selectors
                .iter()
                .map(|selector| abi::hex(*selector))
                .collect(),
            deployed_by: self
                .deployed_by
                .map(|deployed_by| deployed_by.word().into()),
            trading: self.opening.map(|opening| opening.word().into()),
            taxes: self.taxes,
            unfinished: self.unfinished.clone(),
        }
    }
}

/// One hash of several byte strings.
pub fn digest(parts: &[&[u8]]) -> [u8; 32] {
    revm::primitives::keccak256(parts.concat()).0
}

/// Digits of a code's hash that are shown, with `0x`.
const HASH_SHOWN: usize = 10;

/// The token and the contracts behind it, each with the start of its code's hash.
pub fn contracts(
    token: Address,
    code: &[u8],
    implementations: &[ImplementationContract],
) -> Vec<(Address, String)> {
    let hash =
        |code: &[u8]| format!("{:#x}", revm::primitives::keccak256(code))[..HASH_SHOWN].to_owned();
    let behind = implementations
        .iter()
        .map(|contract| (contract.address, hash(&contract.code)));
    std::iter::once((token, hash(code))).chain(behind).collect()
}

/// Executes the contract and derives its findings.
pub fn inspect(input: &CodeInput<'_>, budget: &Budget, cancelled: &dyn Fn() -> bool) -> CodeReport {
    let mut report = CodeReport::default();
    unverified(input, &mut report);
    if input.runtime.is_empty() {
        report
            .unfinished
            .push("there is no runtime code to execute".into());
        return report;
    }
    let mut shape = functions::shape(input.runtime);
    if shape.failed {
        report
            .unfinished
            .push("the code could not be split into functions".into());
    }
    if shape.too_many {
        report.unfinished.push(format!(
            "only {} functions were tested",
            functions::FUNCTIONS_MAX
        ));
    }
    let unknown = proxy(&mut shape, input, &mut report);
    report.selectors = shape
        .functions
        .iter()
        .map(|function| function.selector)
        .collect();
    if unknown {
        return report;
    }
    // The bytecode is the attacker's: if it triggers a panic in the interpreter, only this contract's result is lost, not the process. The
    // machine is dropped with all its state, so nothing inconsistent survives.
    let Some(part) = caught(|| execute(input, &shape, budget, cancelled)) else {
        report
            .unfinished
            .push("the execution stopped with an internal error".into());
        return report;
    };
    CodeReport {
        anomalies: [report.anomalies, part.anomalies].concat(),
        unfinished: [report.unfinished, part.unfinished].concat(),
        selectors: report.selectors,
        ..part
    }
}

fn unverified(input: &CodeInput<'_>, report: &mut CodeReport) {
    if !input.has_source {
        report.anomalies.push(Anomaly::new(
            AnomalyCode::Unverified,
            1.0,
            "its source code is not in the dataset",
        ));
    }
}

/// A shorter notice, in seconds, leaves no time to sell.
const NOTICE_MIN: u64 = 86_400;

/// Reports a proxy and merges the functions of the contracts behind it. Returns whether the implementation is unknown: then nothing can be
/// executed and the proxy is the only finding.
fn proxy(shape: &mut CodeShape, input: &CodeInput<'_>, report: &mut CodeReport) -> bool {
    let hollow = !shape.token() && shape.delegates;
    let empty = hollow && (shape.functions.len() <= 8 || shape.has(abi::IMPLEMENTATION));
    let exchanged = shape.delegates && shape.proxy_slot || empty;
    let implementations: Vec<CodeShape> = input
        .implementations
        .iter()
        .map(|contract| functions::shape(&contract.code))
        .collect();
    let in_parts = implementations.iter().any(CodeShape::token);
    if !shape.clone && !exchanged && !in_parts {
        // Functions that it hands on are its own.
        for implementation in implementations {
            shape.join(implementation);
        }
        return false;
    }
    let (strength, text, held_by) = if input.runtime.starts_with(&functions::DELEGATION) {
        let text = "it is an account that runs a contract's code (EIP-7702): its owner can switch to another contract at any time";
        (1.0, text.to_owned(), PrivilegeHolder::Account)
    } else if shape.clone {
        (
            0.4,
            "it is a minimal proxy: all behavior comes from another contract, fixed in its code"
                .to_owned(),
            holder(input),
        )
    } else if exchanged {
        match &input.upgraded_by {
            Some(UpgradedBy::Nobody) => (
                0.0,
                "it is a proxy, but the contract behind it can no longer be replaced".to_owned(),
                PrivilegeHolder::Nobody,
            ),
            Some(UpgradedBy::Person(who)) => (
                1.0,
                format!(
                    "it is an upgradeable proxy: one account, {who}, can replace the contract behind it at any time"
                ),
                PrivilegeHolder::Account,
            ),
            Some(UpgradedBy::Announced(who, wait)) if *wait >= NOTICE_MIN => {
                let wait = waiting(*wait);
                let text = format!(
                    "it is an upgradeable proxy: one account, {who}, can replace the contract behind it {wait} after announcing \
                        the change on-chain"
                );
                (0.4, text, PrivilegeHolder::Account)
            }
            Some(UpgradedBy::Announced(who, wait)) => {
                let wait = waiting(*wait);
                let text = format!(
                    "it is an upgradeable proxy: one account, {who}, can replace the contract behind it only {wait} after \
                        announcing the change"
                );
                (1.0, text, PrivilegeHolder::Account)
            }
            Some(UpgradedBy::Contract(who, delay)) => {
                let text = match delay {
                    Some(delay) => {
                        let delay = waiting(*delay);
                        format!(
                            "it is an upgradeable proxy: a contract, {who}, can replace the contract behind it after a timelock of \
                            {delay}"
                        )
                    }
                    None => format!(
                        "it is an upgradeable proxy: a contract, {who}, can replace the contract behind it"
                    ),
                };
                (0.4, text, PrivilegeHolder::Contract)
            }
            None => {
                let text = "it is an upgradeable proxy: the contract that defines its behavior can be replaced";
                (
                    if input.owner_is_contract { 0.4 } else { 1.0 },
                    text.to_owned(),
                    holder(input),
                )
            }
        }
    } else {
        (
            0.4,
            "its behavior depends on other contracts whose addresses are in its code".to_owned(),
            holder(input),
        )
    };
    report
        .anomalies
        .push(Anomaly::new(AnomalyCode::Proxy, strength, text).held_by(held_by));
    for implementation in implementations {
        shape.join(implementation);
    }
    let unknown = !shape.token();
    if unknown {
        report.unfinished.push(
            "the proxy's implementation is not in `contracts`, so nothing was executed".into(),
        );
    }
    unknown
}

fn holder(input: &CodeInput<'_>) -> PrivilegeHolder {
    if input.owner_is_contract {
        PrivilegeHolder::Contract
    } else {
        PrivilegeHolder::Account
    }
}
