//! Effects of a call on trading: the simulated trades after it compared with those before.

use super::{
    super::{
        evm_state::MockAnswer,
        machine::Machine,
        trade_simulation::{self, TradeSimulation, simulate_trades},
    },
    Baseline, FunctionCall, FunctionEffect, Privilege,
};

/// Minimum drop of the received share that counts as a tax increase.
const TAX_STEP: f64 = 0.2;
/// Minimum change of one holder's received share that counts as an exemption.
const EXEMPT_STEP: f64 = 0.01;
/// Strength of a freeze that stops a holder's own transfers but not the router's sales on their behalf.
const OWN_HANDS: f64 = 0.5;

/// Detects effects of the call on trading.
pub(in super::super) fn stopped(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    after: &TradeSimulation,
    call: &FunctionCall,
    effects: &mut Vec<FunctionEffect>,
) {
    let was = &before.trial;
    let all = was.sell.ok && !after.sell.ok && after.other_sell.is_none_or(|leg| !leg.ok);
    if was.sell.ok && !after.sell.ok {
        let power = if all {
            Privilege::StopSells
        } else {
            Privilege::Blacklist
        };
        effects.push(call.effect(
            power,
            1.0,
            "sell succeeds",
            if all {
                "sells fail"
            } else {
                "sell fails, but another holder's sell \
            succeeds"
            },
        ));
    }
    // A freeze may stop the holder's transfers but forget the router's transferFrom. The frozen account must not be the newcomer.
    let own_hands = was.send.ok
        && !after.send.ok
        && after.sell.ok
        && after.other_send.is_some_and(|leg| leg.ok);
    if own_hands
        && !call
            .filling
            .addresses
            .contains(&before.scene.people.newcomer)
    {
        effects.push(call.effect(
            Privilege::Blacklist,
            OWN_HANDS,
            "transfer succeeds",
            "transfer fails, but another holder's transfer \
            succeeds",
        ));
    }
    // Stopping both buys and sells is a pause; stopping buys alone is a different power.
    if was.buy.ok && !after.buy.ok && !all && after.other_buy.is_none_or(|leg| !leg.ok) {
        effects.push(call.effect(Privilege::StopBuys, 1.0, "buy succeeds", "buys fail"));
    }
    for (name, old, new) in [("buy", was.buy, after.buy), ("sell", was.sell, after.sell)] {
        if old.ok && new.ok && (old.share - new.share).abs() >= EXEMPT_STEP {
            let text = |share: f64| format!("{name} receives {:.1}%", share * 100.0);
            // Purchases come one after the other, and the first may be taxed for its haste.
            let one = name == "sell" && only_one(machine, before);
            let power = match (old.share - new.share >= TAX_STEP, one) {
                (true, true) => Privilege::TaxOne,
                (true, false) => Privilege::RaiseTax,
                (false, true) if new.share > old.share => Privilege::Exempt,
                _ => continue,
            };
            effects.push(call.effect(
                power,
                (old.share - new.share).abs(),
                text(old.share),
                text(new.share),
            ));
        }
    }
    if was.large.is_some_and(|leg| leg.ok)
        && after.sell.ok
        && after.buy.ok
        && !trade_simulation::large_sale(machine, before.scene).ok
    {
        effects.push(call.effect(
            Privilege::LowerLimit,
            1.0,
            "a larger sell succeeds",
            "a larger sell fails, but a smaller one succeeds",
        ));
    }
    let gate_address = &before.scene.people.gate;
    if after.called.contains(gate_address) && !was.called.contains(gate_address) {
        gate(machine, before, call, effects);
    }
}

/// Whether another holder sells as before, in the present state.
fn only_one(machine: &mut Machine<'_>, before: &Baseline<'_>) -> bool {
    let after = simulate_trades(machine, before.scene, true, None);
    matches!((before.trial.other_sell, after.other_sell), (Some(was), Some(is)) if was.ok && is.ok && (was.share - is.share).abs() < EXEMPT_STEP / 2.0)
}

/// Detects whether trading depends on the answers of the contract that the call made the token consult.
fn gate(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    call: &FunctionCall,
    effects: &mut Vec<FunctionEffect>,
) {
    let mark = machine.mark();
    let scores = MockAnswer::ALL.map(|answer| {
        machine.evm_state().answer = answer;
        let trial = simulate_trades(machine, before.scene, false, None);
        (trial.sell.ok, trial.buy.ok, trial.send.ok)
    });
    machine.rollback(mark);
    if scores.iter().any(|score| *score != scores[0]) {
        // Whether the caller has lost the power by handing it over.
        let control_transferred = !machine.simulate(call.from, call.to, call.data.clone()).ok;
        effects.push(FunctionEffect {
            control_transferred,
            ..call.effect(
                Privilege::Gate,
                1.0,
                "own rules",
                "another contract's response",
            )
        });
    }
}
