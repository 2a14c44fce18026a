//! With on-chain state: the contracts that a transfer calls, their owners, and whether those can block sells; and whether a call's effect on
//! trades is confirmed in the real pool.

use std::collections::HashSet;

use revm::primitives::{Address, U256};

use super::{
    CodeReport, abi,
    deployment::{self, AssumedSlots, DeployedBy, Deployment},
    effects::{Baseline, Caller, FunctionCall, FunctionEffect, Privilege},
    evm_state::is_precompile,
    functions::{self, Function},
    guarded_calls,
    machine::Machine,
    pool_trades::{SaleRoute, Trader},
    privileges::{self, Exploration, Target},
    trade_simulation::Scene,
};
use crate::{Anomaly, AnomalyCode, Evidence, PrivilegeHolder};

/// Contracts that are looked at.
const CONTRACTS_MAX: usize = 3;
/// A sale that brings less than this share of what it brought before is worse.
const WORSE: f64 = 0.85;

/// The contracts that a trade asks, besides the exchange and the token itself; and the addresses that it asks although nothing is there yet.
fn asked(machine: &mut Machine<'_>, before: &Baseline<'_>) -> [Vec<Address>; 2] {
    let people = machine.people;
    let own = [
        before.scene.token,
        before.scene.pair,
        before.scene.router,
        people.pair,
        people.router,
        people.factory,
        people.coin,
        people.gate,
    ];
    let others = |list: &[Address]| {
        list.iter()
            .copied()
            .filter(|of| !own.contains(of) && !is_precompile(*of))
            .collect::<Vec<_>>()
    };
    let (mut asked, mut empty) = (
        others(&before.trial.called),
        others(&before.trial.questioned),
    );
    asked.retain(|of| !machine.evm_state().code(*of).is_empty());
    empty.retain(|of| machine.evm_state().code(*of).is_empty());
    for list in [&mut asked, &mut empty] {
        list.truncate(CONTRACTS_MAX);
    }
    [asked, empty]
}

/// Code that refuses every call, and code that answers each with a word of zeros, or of ones.
const ANSWERS: [&[u8]; 3] = [
    &[0x5F, 0x5F, 0xFD],
    &[0x60, 0x20, 0x5F, 0xF3],
    &[0x5F, 0x19, 0x5F, 0x52, 0x60, 0x20, 0x5F, 0xF3],
];

/// Whether code at an address where there is none would stop a sale, or tax it.
fn decides(machine: &mut Machine<'_>, before: &Baseline<'_>, address: Address) -> bool {
    let usual = sold(machine, before.scene, before.scene.people.holder, None);
    ANSWERS.iter().any(|code| {
        let mark = machine.mark();
        machine.evm_state().place(address, code);
        let now = sold(machine, before.scene, before.scene.people.holder, None);
        machine.rollback(mark);
        now < WORSE * usual
    })
}

/// Tries the functions of the contracts that a transfer asks, as those whom these contracts obey.
pub(super) fn explore(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    deployment: &Deployment,
    found: &mut Exploration,
    report: &mut CodeReport,
) {
    let mut shown = Vec::new();
    let [contracts, empty] = asked(machine, before);
    if let Some(address) = empty
        .into_iter()
        .find(|address| decides(machine, before, *address))
    {
        let text = format!(
            "a transfer calls {address:#x}, where no contract exists yet: whoever deploys one there decides whether it succeeds"
        );
        let shown = Evidence {
            what: format!("call to {address:#x}"),
            after: Some("no code".into()),
            ..Evidence::default()
        };
        report.anomalies.push(
            Anomaly::new(AnomalyCode::ExternalGate, 1.0, text)
                .evidence(shown)
                .held_by(PrivilegeHolder::Account),
        );
    }
    let hooks = before
        .scene
        .pool
        .as_ref()
        .and_then(|pool| pool.key)
        .map(|key| key.hooks);
    let hooks = hooks.filter(|hooks| !machine.evm_state().code(*hooks).is_empty());
    let asked = contracts.into_iter().map(|contract| ("transfer", contract));
    for (what, contract) in asked.chain(hooks.map(|hooks| ("trade in its pool", hooks))) {
        let owner = abi::OWNER_OF_IT
            .iter()
            .find_map(|selector| machine.ask(contract, *selector, &[]))
            .map(abi::address_of);
        let owner = owner.filter(|owner| !owner.is_zero());
        let whose = owner.map_or_else(
            || "reports no owner".to_owned(),
            |owner| format!("is owned by {}", before.scene.name(owner)),
        );
        shown.push(Evidence {
            what: format!("a {what} calls {contract:#x}, which {whose}"),
            ..Evidence::default()
        });
        let code = machine.evm_state().code(contract);
        let shape = functions::shape(&code);
        let mut own = Deployment::new(
            contract,
            owner.unwrap_or(deployment.owner),
            DeployedBy::Chain,
            None,
        );
        deployment::assume_ownership(machine, &mut own, &shape.functions, AssumedSlots::None);
        let others = own
            .privileged
            .iter()
            .chain(&deployment.privileged)
            .map(|of| (*of, Caller::Privileged));
        let callers = std::iter::once((own.owner, Caller::Owner))
            .chain(others)
            .collect();
        let target = Target {
            at: contract,
            functions: &shape.functions,
            callers,
        };
        if Some(contract) == hooks {
            by_hooks(machine, before, &target, found);
        } else {
            privileges::try_functions(machine, before, &target, found);
            guarded_calls::by_anybody(machine, before, &target, found);
        }
    }
    if let Some(first) = shown.first() {
        let anomaly = Anomaly::new(AnomalyCode::ExternalCall, 1.0, first.what.clone());
        report
            .anomalies
            .push(shown.into_iter().fold(anomaly, Anomaly::evidence));
    }
}

/// Tries the functions of a pool's hooks. They see no transfer, so that only a sale at the pool shows what a call does.
fn by_hooks(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    target: &Target<'_>,
    found: &mut Exploration,
) {
    let holder = before.scene.people.holder;
    let usual = sold(machine, before.scene, holder, None);
    let mut seen = HashSet::new();
    for function in target.functions.iter().flat_map(Function::readings) {
        for (from, caller) in target.callers.iter().copied() {
            let sets = privileges::argument_sets(before.scene, &before.balances, from);
            let usual_calls = sets
                .into_iter()
                .map(|filling| FunctionCall::new(&function, from, target.at, caller, filling));
            let sought =
                guarded_calls::sought(machine, before, target.at, &function, (from, caller), &[]);
            for call in usual_calls.chain(sought) {
                if machine.stopped.is_some()
                    || found
                        .effects
                        .iter()
                        .any(|known| known.call.selector == call.selector && known.of_other)
                {
                    break;
                }
                let mark = machine.mark();
                let outcome = call.make(machine);
                let written: Vec<_> = outcome
                    .writes
                    .iter()
                    .map(|(at, slot)| (*at, *slot, machine.evm_state().slot(*at, *slot)))
                    .collect();
                machine.rollback(mark);
                if written.is_empty() || !seen.insert(written) {
                    continue;
                }
                let effect = call.effect(
                    Privilege::StopSells,
                    1.0,
                    "a sell in the pool succeeds",
                    "it fails or pays less",
                );
                let effect = FunctionEffect {
                    of_other: true,
                    ..effect
                };
                if sold(machine, before.scene, holder, Some(&effect)) < WORSE * usual {
                    found.effects.push(effect);
                }
            }
        }
    }
}

/// Leaves out what a call seemed to do to trades and does not do to one at the real pool.
pub(super) fn keep_proven(
    machine: &mut Machine<'_>,
    scene: &Scene,
    effects: &mut Vec<FunctionEffect>,
) {
    if scene.pool.is_none() {
        return;
    }
    let usual =
        [scene.people.holder, scene.people.other].map(|who| sold(machine, scene, who, None));
    effects.retain(|effect| {
        let call = Some(effect);
        match effect.power {
            Privilege::StopSells => [(scene.people.holder, 0), (scene.people.other, 1)]
                .into_iter()
                .all(|(who, at)| {
                    usual[at] == 0.0 || sold(machine, scene, who, call) < WORSE * usual[at]
                }),
            Privilege::Blacklist | Privilege::TaxOne
                if effect.size >= 1.0 || effect.power == Privilege::TaxOne =>
            {
                usual[0] == 0.0
                    || sold(machine, scene, scene.people.holder, call) < WORSE * usual[0]
            }
            _ => true,
        }
    });
}

/// What a sale of some tokens at the real pool brings, after a call.
fn sold(
    machine: &mut Machine<'_>,
    scene: &Scene,
    who: Address,
    after: Option<&FunctionEffect>,
) -> f64 {
    let mark = machine.mark();
    if let Some(effect) = after {
        for earlier in &effect.earlier {
            earlier.make(machine);
            machine.next_block();
        }
        effect.call.make(machine);
    }
    machine.next_block();
    let mut trader = Trader::new(machine, scene);
    let amount = trader.balance(who) / U256::from(8);
    let deal = trader.sell(who, amount, SaleRoute::Router);
    machine.rollback(mark);
    deal.worth()
}
