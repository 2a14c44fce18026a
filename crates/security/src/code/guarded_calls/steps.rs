//! What several calls do together: one that by itself does nothing to trades, and another one after it; and the same setting, changed as far as
//! it may be, again and again.

use evmole::DynSolType;
use revm::primitives::U256;

use super::free_write;
use crate::code::{
    abi,
    effects::{Baseline, FunctionCall},
    functions::Function,
    machine::Machine,
    privileges::{Exploration, Target, argument_sets, try_call},
};

/// Maximum number of first steps, of each function one or two; argument sets of the second.
const FIRST_STEPS_MAX: usize = 8;
const SETS_OF_SECOND: [usize; 5] = [0, 2, 4, 5, 16];

/// A call that by itself does nothing to trades, and another one after it. A call that transfers the ownership comes first, with more arguments.
pub(in crate::code) fn in_two_steps(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    target: &Target<'_>,
    found: &mut Exploration,
) {
    let mut firsts: Vec<(bool, FunctionCall)> = Vec::new();
    // Of equal functions the last call, as a rule with larger numbers.
    for call in found.pending.iter().rev().chain(&found.settings) {
        let of_one = firsts
            .iter()
            .filter(|(_, first)| first.selector == call.selector && first.from == call.from)
            .count();
        if of_one < 2 {
            firsts.push((gives_ownership(machine, before, call), call.clone()));
        }
    }
    firsts.sort_by_key(|(owns, _)| !owns);
    firsts.truncate(FIRST_STEPS_MAX);
    for (owns, first) in firsts {
        let mark = machine.mark();
        first.make(machine);
        machine.next_block();
        let known = found.effects.len();
        let sets = argument_sets(before.scene, &before.balances, first.from);
        let chosen = if owns {
            &SETS_OF_SECOND[..]
        } else {
            &SETS_OF_SECOND[..1]
        };
        for function in target
            .functions
            .iter()
            .filter(|function| !function.standard() && function.selector != first.selector)
        {
            if function.arguments.len() == 2 {
                let free = free_write(
                    machine,
                    before,
                    target.at,
                    function.selector,
                    (first.from, first.caller),
                );
                free.map(|call| try_call(machine, before, &call, found));
            }
            for at in chosen {
                let call = FunctionCall::new(
                    function,
                    first.from,
                    target.at,
                    first.caller,
                    sets[*at].clone(),
                );
                try_call(machine, before, &call, found);
                if function.arguments.is_empty() {
                    break;
                }
            }
        }
        machine.rollback(mark);
        found.keep_harm(known, true);
        let after = format!(
            " (after {})",
            abi::named_beside(first.selector, &first.arguments)
        );
        for effect in &mut found.effects[known..] {
            effect.after.push_str(&after);
            effect.earlier = vec![first.clone()];
        }
        if machine.stopped.is_some() {
            return;
        }
    }
}

/// Whether the contract names its caller as its owner after a call, and did not before.
fn gives_ownership(machine: &mut Machine<'_>, before: &Baseline<'_>, call: &FunctionCall) -> bool {
    let owner = abi::word_of(call.from);
    let mark = machine.mark();
    call.make(machine);
    let now = abi::OWNER_OF_IT
        .iter()
        .find_map(|selector| machine.ask(before.scene.token, *selector, &[]));
    machine.rollback(mark);
    before.owner != Some(owner) && now == Some(owner)
}

/// How often a setting is changed, and how many settings are.
const SMALL_STEPS: usize = 6;
const SMALL_SETTINGS_MAX: usize = 4;

/// A setting may be changed by a little only, and that as often as its owner likes.
pub(in crate::code) fn in_small_steps(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    target: &Target<'_>,
    found: &mut Exploration,
) {
    let mut tried: Vec<FunctionCall> = Vec::new();
    for setting in found.settings.clone() {
        let Some(function) = target
            .functions
            .iter()
            .find(|function| function.selector == setting.selector)
        else {
            continue;
        };
        let is_number = matches!(function.arguments[..], [DynSolType::Uint(_)]);
        let known = tried
            .iter()
            .any(|of| of.selector == setting.selector && of.from == setting.from);
        if !is_number || known || tried.len() >= SMALL_SETTINGS_MAX {
            continue;
        }
        tried.push(setting.clone());
        for up in [true, false] {
            let mark = machine.mark();
            let (mut earlier, mut last): (Vec<FunctionCall>, Option<(U256, FunctionCall)>) =
                (Vec::new(), None);
            while let Some((number, next)) =
                furthest(machine, function, &setting, up).filter(|_| earlier.len() < SMALL_STEPS)
            {
                // Back where it was: it goes no further.
                if last.as_ref().is_some_and(|(before, _)| {
                    if up {
                        number <= *before
                    } else {
                        number >= *before
                    }
                }) {
                    break;
                }
                next.make(machine);
                machine.next_block();
                earlier.extend(last.replace((number, next)).map(|(_, call)| call));
            }
            machine.rollback(mark);
            let known = found.effects.len();
            if let Some((_, last)) = last.filter(|_| !earlier.is_empty()) {
                for call in &earlier {
                    call.make(machine);
                    machine.next_block();
                }
                try_call(machine, before, &last, found);
            }
            machine.rollback(mark);
            found.keep_harm(known, true);
            for effect in &mut found.effects[known..] {
                effect
                    .after
                    .push_str(&format!(" (after {} such calls)", earlier.len()));
                effect.earlier.clone_from(&earlier);
            }
        }
        if machine.stopped.is_some() {
            return;
        }
    }
}

/// The call with the largest, or the smallest, power of two that is not refused.
fn furthest(
    machine: &mut Machine<'_>,
    function: &Function,
    setting: &FunctionCall,
    up: bool,
) -> Option<(U256, FunctionCall)> {
    let numbers = (0..=255).map(|bit| U256::ONE << bit);
    let numbers: Vec<U256> = if up {
        numbers.rev().collect()
    } else {
        numbers.collect()
    };
    numbers.into_iter().find_map(|number| {
        let filling = abi::Filling {
            numbers: vec![number],
            ..setting.filling.clone()
        };
        let call = FunctionCall {
            by_contract: setting.by_contract,
            ..FunctionCall::new(function, setting.from, setting.to, setting.caller, filling)
        };
        let mark = machine.mark();
        let outcome = call.make(machine);
        machine.rollback(mark);
        (outcome.ok && !outcome.writes.is_empty()).then_some((number, call))
    })
}
