//! Settings: their slots are written, and calls that set them are made in pairs, to see the effects that show only then.

use revm::primitives::U256;

use super::{
    super::{
        abi,
        effects::{Baseline, FunctionCall, trades::stopped},
        machine::Machine,
        trade_simulation::simulate_trades,
    },
    COIN, Exploration, try_call,
};

/// Maximum number of slots of a reverted call that are written to see its effect.
const SETTINGS_READ_MAX: usize = 10;

/// With the code alone, every setting is zero. Writes the plain slots that a call reads, to see the effects that zero settings prevent.
pub(super) fn try_with_settings(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    call: &FunctionCall,
    found: &mut Exploration,
) {
    if !before.code_only {
        return;
    }
    let token = before.scene.token;
    let slots = settings_read(machine, before, call);
    for values in settings_to_try(&slots, before.scene.funding.amount) {
        let mark = machine.mark();
        let trading = values
            .iter()
            .any(|(slot, _)| before.slots.contains(&(token, *slot)));
        for (slot, value) in values {
            machine.evm_state().set_slot(token, slot, value);
        }
        let known = found.effects.len();
        found.storage_written = true;
        try_call(machine, before, call, found);
        found.storage_written = false;
        machine.rollback(mark);
        let mut effects = found.effects.split_off(known);
        // If trading reads the slot, writing it may itself have stopped trading.
        effects.retain(|effect| !trading || effect.power.of_balances());
        if !effects.is_empty() {
            found.effects.extend(effects);
            break;
        }
    }
}

/// Plain slots that the call reads as zero, except those that balances are read from.
fn settings_read(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    call: &FunctionCall,
) -> Vec<U256> {
    let token = before.scene.token;
    machine.pay = call.pay;
    let (_, trace) = machine.trace(call.from, token, call.data.clone());
    let mut slots: Vec<U256> = Vec::new();
    for (slot, key) in trace.read {
        if key.is_none()
            && slots.len() < SETTINGS_READ_MAX
            && !slots.contains(&slot)
            && !before.ledger.contains(&(token, slot))
            && machine.evm_state().slot(token, slot).is_zero()
        {
            slots.push(slot);
        }
    }
    slots
}

/// Values to try: three for each slot alone, then 1 in all slots, and in all but one.
fn settings_to_try(slots: &[U256], amount: U256) -> Vec<Vec<(U256, U256)>> {
    let large = U256::MAX >> 16;
    // A price at which the payment buys no more than the supply.
    let price = COIN / amount.min(COIN);
    let ones = |left: Option<&U256>| {
        slots
            .iter()
            .filter(|slot| Some(*slot) != left)
            .map(|slot| (*slot, U256::ONE))
            .collect::<Vec<_>>()
    };
    let mut tries: Vec<Vec<_>> = slots
        .iter()
        .flat_map(|slot| [large, U256::ONE, price].map(|value| vec![(*slot, value)]))
        .collect();
    if slots.len() > 1 {
        tries.push(ones(None));
    }
    if slots.len() > 2 {
        tries.extend(slots.iter().map(|slot| ones(Some(slot))));
    }
    tries
}

/// Tries settings in pairs: one may set the pair's address and the other block it.
pub(super) fn try_settings_in_pairs(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    found: &mut Exploration,
) {
    let settings = std::mem::take(&mut found.settings);
    for (at, first) in settings.iter().enumerate() {
        let mark = machine.mark();
        first.make(machine);
        for second in settings[at + 1..]
            .iter()
            .filter(|second| second.selector != first.selector)
        {
            let inner = machine.mark();
            let outcome = second.make(machine);
            if outcome.ok && !outcome.writes.is_empty() && machine.stopped.is_none() {
                let mut effects = Vec::new();
                let after = simulate_trades(machine, before.scene, false, None);
                stopped(machine, before, &after, second, &mut effects);
                for effect in &mut effects {
                    effect.after.push_str(&format!(
                        " (after {})",
                        abi::named_beside(first.selector, &first.arguments)
                    ));
                }
                found.effects.extend(effects);
            }
            machine.rollback(inner);
        }
        machine.rollback(mark);
    }
}
