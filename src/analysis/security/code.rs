//! Inference from a contract's code: it is executed, in memory and within a budget, by people of our own making, and what they could do
//! and suffer is read off. No function name is used, so renaming hides nothing. No clock and no randomness: the same code gives the same
//! findings. IMPERSONATES, SIMILAR_TO_SCAM and KNOWN_SCAM are not found here.

mod abi;
mod deal;
mod effects;
mod findings;
mod functions;
mod machine;
mod powers;
mod proofs;
mod signatures;
mod snapshot;
mod stage;
#[cfg(test)]
mod tests;
mod trial;
mod world;

use std::collections::HashSet;

use self::{
    effects::{Before, Books},
    functions::CodeShape,
    machine::Machine,
    trial::Scene,
};
pub use self::{stage::Standing, trial::Opening};
use super::{Anomaly, AnomalyCode, Evidence, Execution, PowerHolder, Taxes};
use crate::{dataset::address::Address, untrusted::caught};

/// A place of the storage and what stands there.
pub type Slot = ([u8; 32], [u8; 32]);

/// A contract that another one runs or asks.
#[derive(Debug, Clone)]
pub struct Behind {
    pub address: Address,
    pub code: Vec<u8>,
    /// Of its own, where the dataset has it.
    pub storage: Vec<Slot>,
}

/// What is known of a contract.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy, Default)]
pub struct CodeInput<'a> {
    pub runtime: &'a [u8],
    /// Without constructor arguments.
    pub creation: Option<&'a [u8]>,
    /// Of the constructor's arguments, as Solidity writes them. `None` is unknown.
    pub constructor_types: Option<&'a [String]>,
    /// Codes that it runs in its own place, where they are known: a proxy's implementation, a diamond's facets, a beacon between.
    pub behind: &'a [Behind],
    /// Slots and values of a snapshot.
    pub storage: Option<&'a [Slot]>,
    /// Holders whose balances a whole snapshot tells, and whether the dataset knows of a supply.
    pub holders: &'a [Address],
    pub supply_known: bool,
    /// Who owns it now or last did.
    pub owner: Option<Address>,
    pub owner_is_contract: bool,
    /// Of the token in the dataset, for a contract that does not tell them.
    pub decimals: Option<u8>,
    /// The token is on a curated list.
    pub listed: bool,
    pub has_source: bool,
}

/// Whether the code can run another contract's in its own place.
pub fn delegates(code: &[u8]) -> bool {
    functions::delegates(code)
}

/// What one contract may cost. Work is executed steps, hashing and calls weighed by their time.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub calls: u64,
    pub work: u64,
    pub work_per_call: u64,
    pub gas_per_call: u64,
}

impl Default for Budget {
    /// About a second at the worst on one core.
    fn default() -> Self {
        Self { calls: 40_000, work: 45_000_000, work_per_call: 400_000, gas_per_call: 2_000_000 }
    }
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct CodeReport {
    pub anomalies: Vec<Anomaly>,
    /// What was left undone, and why; empty when all was finished.
    pub unfinished: Vec<String>,
    pub calls: u64,
    pub gas: u64,
    pub work: u64,
    pub selectors: Vec<[u8; 4]>,
    pub standing: Option<Standing>,
    pub opening: Option<Opening>,
    /// Whether the constructor ran to its end; `None` without one.
    pub deploys: Option<bool>,
    /// A trade or a transfer went through.
    pub traded: bool,
    /// Trading was seen and every function was tried, so that finding nothing means something.
    pub told: bool,
    pub taxes: Option<Taxes>,
    /// The calls that show for a check what it found nothing in.
    pub proofs: Vec<(AnomalyCode, Vec<Evidence>)>,
}

impl CodeReport {
    pub fn execution(&self) -> Execution {
        Execution {
            calls: self.calls,
            gas: self.gas,
            selectors: self.selectors.iter().map(|selector| abi::hex(*selector)).collect(),
            deployed_by: self.standing.map(|standing| standing.word().into()),
            trading: self.opening.map(|opening| opening.word().into()),
            taxes: self.taxes,
            unfinished: self.unfinished.clone(),
        }
    }
}

/// Executes the contract and reads off what it does and could do.
pub fn inspect(input: &CodeInput<'_>, budget: &Budget, cancelled: &dyn Fn() -> bool) -> CodeReport {
    let mut report = CodeReport::default();
    if !input.has_source {
        report.anomalies.push(Anomaly::new(AnomalyCode::Unverified, 1.0, "its source is not in the dataset"));
    }
    if input.runtime.is_empty() {
        report.unfinished.push("there is no runtime code to execute".into());
        return report;
    }
    let mut shape = functions::shape(input.runtime);
    report.selectors = shape.functions.iter().map(|function| function.selector).collect();
    if shape.failed {
        report.unfinished.push("the functions could not be told apart".into());
    }
    if shape.too_many {
        report.unfinished.push(format!("only {} functions were looked at", functions::FUNCTIONS_MAX));
    }
    if proxy(&mut shape, input, &mut report) {
        return report;
    }
    report.selectors = shape.functions.iter().map(|function| function.selector).collect();
    // Bytecode is the attacker's: should the interpreter have a fault that it can be led to, one contract's answer is lost and not the
    // program. The machine is dropped with everything it held, so nothing half done survives.
    let done = caught(|| {
        let mut part = CodeReport::default();
        execute(input, &shape, budget, cancelled, &mut part);
        part
    });
    match done {
        Some(part) => {
            report.anomalies.extend(part.anomalies);
            report.unfinished.extend(part.unfinished);
            report = CodeReport { anomalies: report.anomalies, unfinished: report.unfinished, selectors: report.selectors, ..part };
        }
        None => report.unfinished.push("executing it broke off".into()),
    }
    report
}

/// A proxy is executed through the contracts behind it. Where they are not known it shows nothing of what it does: that it is one is the
/// finding, and the end.
fn proxy(shape: &mut CodeShape, input: &CodeInput<'_>, report: &mut CodeReport) -> bool {
    let hollow = !shape.token() && shape.delegates;
    let empty = hollow && (shape.functions.len() <= 8 || shape.has(abi::IMPLEMENTATION));
    let exchanged = shape.delegates && shape.proxy_slot || empty;
    let behind: Vec<CodeShape> = input.behind.iter().map(|behind| functions::shape(&behind.code)).collect();
    let in_parts = behind.iter().any(CodeShape::token);
    if !shape.clone && !exchanged && !in_parts {
        return false;
    }
    let strength = if shape.clone || !exchanged || input.owner_is_contract { 0.4 } else { 1.0 };
    let text = if shape.clone {
        "it is a minimal proxy: another contract, fixed in its code, decides all it does"
    } else if exchanged {
        "it is a proxy: the contract that decides all it does can be exchanged"
    } else {
        "other contracts, whose addresses stand in it, decide what it does"
    };
    report.anomalies.push(Anomaly::new(AnomalyCode::Proxy, strength, text).held_by(holder(input)));
    for behind in behind {
        shape.join(behind);
    }
    if !shape.token() {
        report.unfinished.push("the code of the proxy's implementation is not in `contracts`, so nothing was executed".into());
        return true;
    }
    false
}

fn holder(input: &CodeInput<'_>) -> PowerHolder {
    if input.listed {
        PowerHolder::Listed
    } else if input.owner_is_contract {
        PowerHolder::Contract
    } else {
        PowerHolder::Account
    }
}

fn execute(input: &CodeInput<'_>, shape: &CodeShape, budget: &Budget, cancelled: &dyn Fn() -> bool, report: &mut CodeReport) {
    let mut machine = Machine::new(budget, cancelled);
    rehearse(&mut machine, input, shape, report);
    report.calls = machine.calls;
    report.gas = machine.gas;
    report.work = machine.work;
    report.told &= machine.stopped.is_none();
    if let Some(why) = machine.stopped {
        report.unfinished.push(format!("not every function was tried: {why}"));
    }
    if machine.cut > 0 {
        report.unfinished.push(format!("{} calls were cut off for their length", machine.cut));
    }
}

fn rehearse(machine: &mut Machine<'_>, input: &CodeInput<'_>, shape: &CodeShape, report: &mut CodeReport) {
    let stage = stage::set(machine, input, &shape.functions);
    report.standing = Some(stage.standing);
    report.deploys = stage.deploys;
    if !shape.token() {
        report.unfinished.push("it is not a token: it has no transfer or no balanceOf".into());
        return;
    }
    let lacks = snapshot::lacks(machine, &stage, input);
    if let Some(what) = &lacks {
        report.unfinished.push(format!("the storage of the dataset is incomplete: {what}"));
    }
    let Some(mut hand) = deal::deal(machine, &stage) else {
        report.unfinished.push("no balance could be dealt, so nothing was traded".into());
        return;
    };
    hand.places = hand.places.or(input.decimals);
    let scene = Scene::new(&stage, hand);
    let mut calls = Vec::new();
    let books = Books::read(machine, &scene, None);
    for function in shape.functions.iter().filter(|function| !function.standard()) {
        for filling in powers::fillings(&scene, &books, scene.owner) {
            let call = (scene.owner, function.call(&filling).0);
            if calls.last() != Some(&call) {
                calls.push(call);
            }
        }
    }
    let first = trial::trial(machine, &scene, true, None);
    let (trial, opening) = if first.open() { (first.clone(), Opening::Open) } else { trial::open(machine, &scene, &calls) };
    report.opening = Some(opening);
    // What an incomplete snapshot does not show may be there.
    let traded = findings::Traded { trial: &trial, first: &first, opening, standing: stage.standing, hand: &hand, whole: lacks.is_none() };
    report.anomalies.extend(findings::trading(&traded));
    report.taxes = Some(findings::taxes(&traded));
    report.traded = trial.score() >= trial::ONE_LEG;
    report.told = report.traded;
    if !report.told {
        report.unfinished.push("no trade and no transfer went through".into());
    }
    let bare = stage.standing == Standing::Code;
    let before = before(machine, &scene, bare);
    let (effects, tried) = powers::powers(machine, &before, &shape.functions, &stage.masters);
    let thefts = powers::thefts(machine, &before);
    let bare = findings::Bare { settings: bare, unheld: bare && input.owner.is_none() };
    // A token that asks its owner about every transfer expects a contract there.
    let holder = match holder(input) {
        PowerHolder::Account if bare.unheld && effects.iter().any(|effect| effect.asks_owner) => PowerHolder::Contract,
        other => other,
    };
    report.anomalies.extend(findings::powers(&effects, thefts, holder, bare));
    report.anomalies.extend(findings::outside(&traded, &report.anomalies, holder));
    report.anomalies.extend(findings::withheld(&traded, &report.anomalies, holder));
    report.proofs = proofs::passed(&traded, &before, &tried);
    if let Some((renounce, left)) = powers::survivors(machine, &before, &effects, &shape.functions) {
        report.anomalies.extend(findings::returns(&renounce, &left));
    }
    if stage.standing == Standing::Snapshot {
        let asked = snapshot::SnapshotInput { functions: &shape.functions, holder, whole: lacks.is_none(), input };
        let beside = snapshot::beside(machine, &stage, &before, &effects, &asked);
        for anomaly in beside {
            if report.anomalies.iter().all(|known| known.code != anomaly.code) {
                report.anomalies.push(anomaly);
            }
        }
    }
}

/// The state before any power is used, with every slot it is read from.
fn before<'a>(machine: &mut Machine<'_>, scene: &'a Scene, bare: bool) -> Before<'a> {
    let mut slots = HashSet::new();
    let books = Books::read(machine, scene, Some(&mut slots));
    let ledger = slots.clone();
    let trial = trial::trial(machine, scene, true, Some(&mut slots));
    let owner = abi::OWNER_OF_IT.iter().find_map(|selector| machine.ask(scene.token, *selector, &[]));
    Before { scene, books, trial, slots, ledger, owner, bare }
}
