//! Execution of a token: it is deployed and traded, then its powers are tried, and what is found is reported.

use std::collections::HashSet;

use revm::primitives::{Address as EvmAddress, U256};

use super::{
    super::{AnomalyCode, PrivilegeHolder},
    Budget, CodeInput, CodeReport,
    abi::{self, Filling},
    accounts::Accounts,
    dependence::{self, SaleState},
    deployment::{self, DeployedBy, Deployment},
    effects::{BalanceSheet, Baseline},
    findings,
    functions::{CodeShape, Function},
    funding, holder,
    machine::Machine,
    outside,
    pool_trades::Trader,
    privileges, proofs, snapshot,
    trade_series::{self, verdict},
    trade_simulation::{self, Opening, Scene},
};

pub(super) fn execute(
    input: &CodeInput<'_>,
    shape: &CodeShape,
    budget: &Budget,
    cancelled: &dyn Fn() -> bool,
) -> CodeReport {
    let (seed, venue) = (input.place.seed(), input.place.venue.as_ref());
    let people = Accounts::new(seed, input.place.token(), venue);
    let mut machine = Machine::new(budget, cancelled, people, seed, input.place.time());
    let mut report = CodeReport::default();
    trade(&mut machine, input, shape, &mut report);
    finish(&machine, &mut report);
    report
}

/// Adds what the execution took, and what it left undone.
pub(super) fn finish(machine: &Machine<'_>, report: &mut CodeReport) {
    report.calls = machine.calls;
    report.gas = machine.gas;
    report.work = machine.work;
    report.conclusive &= machine.stopped.is_none();
    if let Some(why) = machine.stopped {
        report
            .unfinished
            .push(format!("not every function was tested: {why}"));
    }
    if machine.cut > 0 {
        report.unfinished.push(format!(
            "{} hit the step limit",
            model::format::plural(machine.cut, "call", "calls")
        ));
    }
}

/// Deploys the token, funds the accounts, buys and sells; then tries the token's powers.
fn trade(
    machine: &mut Machine<'_>,
    input: &CodeInput<'_>,
    shape: &CodeShape,
    report: &mut CodeReport,
) {
    let deployment = deployment::set_up(machine, input, &shape.functions);
    report.deployed_by = Some(deployment.deployed_by);
    report.deploys = deployment.deploys;
    if !shape.token() {
        report
            .unfinished
            .push("not a token: transfer or balanceOf is missing".into());
        return;
    }
    let lacks = snapshot::lacks(machine, &deployment, input);
    if let Some(what) = &lacks {
        report
            .unfinished
            .push(format!("the dataset's storage is incomplete: {what}"));
    }
    let Some(mut funding) = funding::fund(machine, &deployment) else {
        report
            .unfinished
            .push("no test balance could be created, so no trade was simulated".into());
        return;
    };
    let named = named(machine, &deployment, &funding);
    let is_pool =
        |address: &&EvmAddress| input.place.pools.iter().any(|pool| pool.0 == address.0.0);
    if let Some(pool) = named.iter().find(is_pool) {
        machine.people.pair = *pool;
        let Some(dealt) = funding::fund(machine, &deployment) else {
            return;
        };
        funding = dealt;
    }
    funding.decimals = funding.decimals.or(input.decimals);
    let scene = Scene::new(machine.people, &deployment, funding);
    let calls = owner_calls(machine, &scene, shape);
    let first = trade_simulation::simulate_trades(machine, &scene, true, None);
    let (trial, opening) = if first.open() {
        (first.clone(), Opening::Open)
    } else {
        trade_simulation::open(machine, &scene, &calls)
    };
    report.opening = Some(opening);
    // The parts missing from an incomplete snapshot may change the result.
    let (deployed_by, whole) = (deployment.deployed_by, lacks.is_none());
    let traded = findings::Traded {
        trial: &trial,
        first: &first,
        opening,
        deployed_by,
        funding: &funding,
        pair: scene.pair,
        whole,
    };
    report.anomalies.extend(findings::trading(&traded));
    trade_besides(machine, &scene, &traded, report);
    report.taxes = Some(findings::taxes(&traded));
    report.traded = trial.score() >= trade_simulation::ONE_LEG;
    report.conclusive = report.traded;
    if !report.conclusive {
        report
            .unfinished
            .push("no trade or transfer succeeded".into());
    }
    try_powers(machine, input, shape, &deployment, &scene, &traded, report);
    if let Some(why) =
        worse_at(machine, &scene, &trial, &named).filter(|_| report.sale == SaleState::Stands)
    {
        report.sale = SaleState::Depends(why);
    }
}

/// Addresses that a transfer's sender or receiver is compared with, most that are looked at.
const NAMED_MAX: usize = 6;

/// The addresses that the code compares the sender or the receiver of a transfer with: its pool may be among them.
fn named(
    machine: &mut Machine<'_>,
    deployment: &Deployment,
    funding: &funding::Funding,
) -> Vec<EvmAddress> {
    let people = machine.people;
    let data = abi::call(
        abi::TRANSFER,
        &[abi::word_of(people.newcomer), funding.amount],
    );
    let (_, trace) = machine.trace_words(
        people.holder,
        deployment.token,
        data,
        &[people.newcomer, people.holder].map(abi::word_of),
    );
    let mut named: Vec<EvmAddress> = Vec::new();
    for word in trace
        .against
        .iter()
        .filter(|word| **word >> 160 == U256::ZERO && **word >> 96 != U256::ZERO)
    {
        let address = abi::address_of(*word);
        let own = people.persons().contains(&address)
            || [people.pair, deployment.token, deployment.owner].contains(&address);
        if !own && named.len() < NAMED_MAX && !named.contains(&address) {
            named.push(address);
        }
    }
    named
}

/// Why it is not known whether the token sells: at an address that its code names, which may be its pool, a sale is worse than at the pool that
/// was assumed.
fn worse_at(
    machine: &mut Machine<'_>,
    scene: &Scene,
    usual: &trade_simulation::TradeSimulation,
    named: &[EvmAddress],
) -> Option<String> {
    let worse = named.iter().find(|address| {
        let there = Scene {
            pair: **address,
            ..scene.clone()
        };
        let sell = trade_simulation::sale(machine, &there);
        usual.sell.ok && (!sell.ok || usual.sell.share - sell.share >= WORSE)
    })?;
    Some(format!(
        "a transfer to {worse:#x}, an address in the code, fails or is taxed; if it is the pool, sells fail or are taxed too; add the token's `storage`"
    ))
}

/// A drop of the received share that counts.
const WORSE: f64 = 0.05;

/// What trades at other times, of other amounts and under other circumstances show besides.
fn trade_besides(
    machine: &mut Machine<'_>,
    scene: &Scene,
    traded: &findings::Traded<'_>,
    report: &mut CodeReport,
) {
    let people = machine.people;
    machine.set_exchange(vec![
        people.pair,
        people.router,
        people.factory,
        people.coin,
    ]);
    let trials = trade_series::run(&mut Trader::new(machine, scene));
    let (at, strength) = match traded.deployed_by {
        DeployedBy::Code => ("with empty storage", findings::ZERO_STORAGE),
        DeployedBy::Constructor => ("after its constructor", 1.0),
        DeployedBy::Snapshot | DeployedBy::Chain => ("with the dataset's storage", 1.0),
    };
    let mut found = verdict::beside(&trials, at);
    // A person approves without a limit and sends with a person's gas: that it fails for, although the token moves otherwise.
    if traded.trial.sell.ok {
        found.extend(verdict::blocked(&trials, at));
    }
    found.retain(|anomaly| {
        report
            .anomalies
            .iter()
            .all(|known| known.code != anomaly.code)
    });
    for anomaly in &mut found {
        anomaly.strength *= strength;
        anomaly.fatal &= strength >= 1.0 || anomaly.code == AnomalyCode::SimulatorAware;
    }
    report.trials = Some(trials.done());
    report.anomalies.extend(found);
}

/// Calldata of every owner call that may open trading.
pub(super) fn owner_calls(
    machine: &mut Machine<'_>,
    scene: &Scene,
    shape: &CodeShape,
) -> Vec<Vec<u8>> {
    let balances = BalanceSheet::read(machine, scene, None);
    let functions = shape
        .functions
        .iter()
        .filter(|function| !function.standard());
    let mut sets = privileges::argument_sets(scene, &balances, scene.owner).to_vec();
    if machine.evm_state().is_of_chain() {
        // The real pool may be on a list that it can be taken off again.
        sets.push(Filling {
            addresses: vec![scene.pair, scene.owner],
            yes: false,
            ..sets[0].clone()
        });
    }
    let data = |function: &Function| {
        sets.iter()
            .map(|filling| function.call(filling).0)
            .collect::<Vec<_>>()
    };
    let mut calls: Vec<Vec<u8>> = functions.flat_map(data).collect();
    calls.dedup();
    calls
}

/// Calls every function and derives its effects on holders, including those that survive renouncing ownership.
pub(super) fn try_powers(
    machine: &mut Machine<'_>,
    input: &CodeInput<'_>,
    shape: &CodeShape,
    deployment: &Deployment,
    scene: &Scene,
    traded: &findings::Traded<'_>,
    report: &mut CodeReport,
) {
    let zeroed = deployment.deployed_by == DeployedBy::Code;
    let before = baseline(machine, scene, zeroed);
    let mut exploration = privileges::powers(
        machine,
        &before,
        &shape.functions,
        &deployment.privileged,
        privileges::Whose::Anybodys,
    );
    if deployment.deployed_by == DeployedBy::Chain {
        outside::explore(machine, &before, deployment, &mut exploration, report);
        outside::keep_proven(machine, scene, &mut exploration.effects);
    }
    let privileges::Exploration {
        effects,
        tried,
        writers,
        ..
    } = exploration;
    let thefts = privileges::thefts(machine, &before);
    let code_only = findings::CodeOnly {
        settings: zeroed,
        unheld: zeroed && input.owner.is_none(),
    };
    // A token that calls its owner on every transfer expects a contract there.
    let holder = match holder(input) {
        PrivilegeHolder::Account
            if code_only.unheld && effects.iter().any(|effect| effect.control_transferred) =>
        {
            PrivilegeHolder::Contract
        }
        other => other,
    };
    report
        .anomalies
        .extend(findings::powers(&effects, thefts, holder, code_only));
    report
        .anomalies
        .extend(findings::outside(traded, &report.anomalies, holder));
    report.anomalies.extend(findings::selling_disabled(
        traded,
        &report.anomalies,
        holder,
    ));
    // Trades with a real pool have proofs of their own.
    let mut proofs = proofs::passed(traded, &before, &tried);
    proofs.retain(|(code, _)| report.proofs.iter().all(|(known, _)| known != code));
    report.proofs.extend(proofs);
    if let Some((renounce, left)) =
        privileges::survivors(machine, &before, &effects, &shape.functions)
    {
        report.anomalies.extend(findings::returns(&renounce, &left));
    }
    if deployment.deployed_by.is_real() {
        let all_slots = traded.whole && deployment.deployed_by == DeployedBy::Snapshot;
        let asked = snapshot::SnapshotInput {
            functions: &shape.functions,
            holder,
            whole: traded.whole,
            all_slots,
            input,
        };
        let more = snapshot::beside(machine, deployment, &before, &effects, &asked);
        findings::add_new(&mut report.anomalies, more);
    }
    if deployment.deployed_by == DeployedBy::Chain && traded.opening == Opening::Open {
        report.unwritten = dependence::unwritten(machine, scene, &writers);
    }
    // On a chain the trades with the real pool have shown it; and a sale that nothing opens is not checked, whatever it depends on.
    if deployment.deployed_by == DeployedBy::Chain
        || matches!(traded.opening, Opening::Blocked | Opening::StorageWrite)
    {
        return;
    }
    let asked = dependence::Asked {
        deployed_by: deployment.deployed_by,
        whole: traded.whole,
        open: matches!(traded.opening, Opening::Open | Opening::Wait),
        writers: &writers,
        effects: &effects,
        found: &report.anomalies,
    };
    report.sale = dependence::of_sale(machine, scene, &asked);
}

/// The state before any power is used, with every slot read for it.
pub(super) fn baseline<'a>(
    machine: &mut Machine<'_>,
    scene: &'a Scene,
    code_only: bool,
) -> Baseline<'a> {
    let mut slots = HashSet::new();
    let balances = BalanceSheet::read(machine, scene, Some(&mut slots));
    let ledger = slots.clone();
    let trial = trade_simulation::simulate_trades(machine, scene, true, Some(&mut slots));
    let owner = abi::OWNER_OF_IT
        .iter()
        .find_map(|selector| machine.ask(scene.token, *selector, &[]));
    Baseline {
        scene,
        balances,
        trial,
        slots,
        ledger,
        owner,
        code_only,
    }
}
