//! Calls that do something only for who knows how: with the numbers that a function compares its arguments with, in the cells that a sale
//! reads, by whoever the code recognizes by a hash or a signature, and in two steps. They are tried as all others, in `powers`.

use evmole::DynSolType;
use revm::primitives::{Address, U256};

use super::{
    abi::{self, Filling},
    effects::{Baseline, Caller, FunctionCall},
    functions::Function,
    funding::balance,
    machine::Machine,
    powers::{Exploration, Target, argument_sets, try_call},
    trial::{self, Scene},
};
use crate::opcodes::{PUSH1, PUSH32, instructions};

/// Accounts that a sale looks up besides its own, which are tried as callers.
const ACCOUNTS_MAX: usize = 2;

/// What a sale looks for: the numbers that it compares slots with, and the accounts, none of the trade's own, whose entries it looks up.
pub(super) fn of_sale(machine: &mut Machine<'_>, before: &Baseline<'_>, callers: &[(Address, Caller)]) -> (Vec<U256>, Vec<Address>) {
    let Scene { people, token, owner, pair, router, .. } = *before.scene;
    machine.start_trace(people.holder, token);
    trial::round_trip(machine, before.scene, &mut |_| {});
    let trace = machine.end_trace();
    let is_number = |word: &U256| *word > U256::ONE && *word < U256::MAX >> 160;
    let mut constants: Vec<U256> = Vec::new();
    for word in trace.loaded_against.iter().filter(|word| is_number(word)) {
        if constants.len() < SOUGHT_MAX && !constants.contains(word) {
            constants.push(*word);
        }
    }
    let own = [people.holder, people.other, people.newcomer, people.stranger, people.other_router, token, owner, pair, router];
    let mut accounts: Vec<Address> = Vec::new();
    for key in trace.keys().filter(|key| *key >> 160 == U256::ZERO && *key >> 96 != U256::ZERO) {
        let of = abi::address_of(key);
        let known = own.contains(&of) || callers.iter().any(|(caller, _)| *caller == of) || accounts.contains(&of);
        if !known && accounts.len() < ACCOUNTS_MAX && machine.world().is_real(of) {
            accounts.push(of);
        }
    }
    (constants, accounts)
}

/// A number that stands for itself: what it is compared with is what the function looks for.
const MARKER: U256 = U256::from_limbs([1_234_567, 0, 0, 0]);
/// The same for an argument of 32 bytes, which may hide an address.
const MARKER_WORD: U256 = U256::from_limbs([0x0123_4567_89AB_CDEF, 0x1032_5476_98BA_DCFE, 0x5555_AAAA_1111_2222, 0x7777_3333_9999_6666]);
/// Maximum number of such values that are tried of a function.
const SOUGHT_MAX: usize = 4;

/// Calls with the numbers that the function compares its arguments with, and with words that it takes for the holder's address.
pub(super) fn sought(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    at: Address,
    function: &Function,
    (from, caller): (Address, Caller),
    constants: &[U256],
) -> Vec<FunctionCall> {
    let Scene { people, ref funding, .. } = *before.scene;
    let filling = |addresses: &[Address], number: U256, word: U256| Filling {
        addresses: addresses.to_vec(),
        numbers: vec![number],
        yes: true,
        word,
        decimals: funding.decimals,
        names: before.scene.names(),
    };
    let call = |filling: Filling| FunctionCall { sought: true, ..FunctionCall::new(function, from, at, caller, filling) };
    let words = function.arguments.iter().filter(|of| matches!(of, DynSolType::Uint(256) | DynSolType::FixedBytes(32))).count();
    let mut calls = Vec::new();
    if words > 1 && words == function.arguments.len() {
        calls.extend(free_write(machine, before, at, function.selector, (from, caller)));
    }
    if function.arguments.iter().any(|of| matches!(of, DynSolType::Uint(_) | DynSolType::Int(_))) {
        let marked = call(filling(&[people.newcomer, from], MARKER, U256::ZERO));
        let (_, trace) = machine.trace_words(marked.from, at, marked.data, &[MARKER]);
        // What is sent is compared with balances and allowances, too.
        let compared = if function.standard() { &trace.equal } else { &trace.against };
        let mut numbers: Vec<U256> = compared.iter().filter(|number| !number.is_zero() && **number < U256::MAX >> 8).copied().collect();
        numbers.dedup();
        numbers.truncate(SOUGHT_MAX);
        numbers.extend(constants.iter().filter(|_| function.standard()));
        for number in numbers {
            let near = if number > U256::ONE { number - U256::ONE } else { number };
            let calls_with = [(people.newcomer, number), (before.scene.token, number), (people.holder, number), (people.holder, near)];
            calls.extend(calls_with.map(|(who, number)| call(filling(&[who, from], number, U256::ZERO))));
        }
    }
    if function.arguments.iter().any(abi::holds_word) {
        // The address that the word stands for is that of a mapping's entry: what has to be passed for the holder's follows.
        let marked = call(filling(&[people.holder, from], MARKER_WORD, MARKER_WORD));
        let (_, trace) = machine.trace_words(marked.from, at, marked.data, &[]);
        let known = [people.holder, from, before.scene.pair, before.scene.token, before.scene.owner].map(abi::word_of);
        let keys =
            trace.keys().filter(|key| !key.is_zero() && *key >> 160 == U256::ZERO && *key >> 96 != U256::ZERO && !known.contains(key));
        let mut keys: Vec<U256> = keys.collect();
        keys.dedup();
        let holder = abi::word_of(people.holder);
        for key in keys.into_iter().take(SOUGHT_MAX) {
            for word in [MARKER_WORD ^ key ^ holder, MARKER_WORD.wrapping_add(holder).wrapping_sub(key)] {
                calls.push(call(filling(&[people.holder, from], word, word)));
            }
        }
    }
    calls
}

/// Address that people burn tokens at.
const DEAD: Address = Address::new([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xDE, 0xAD]);

/// An allowance that nobody needs, and that is not the usual one without a limit.
const HUGE: U256 = U256::from_limbs([0, 0, 0, 1 << 20]);

/// Approvals and transfers by accounts that the token obeys or whose entries a sale reads: their own cells may be switches.
pub(super) fn by_standard_functions(machine: &mut Machine<'_>, before: &Baseline<'_>, callers: &[(Address, Caller)]) -> Vec<FunctionCall> {
    let Scene { people, token, pair, .. } = *before.scene;
    let mut calls = Vec::new();
    for (from, caller) in callers.iter().copied() {
        calls.extend(free_write(machine, before, token, NO_FUNCTION, (from, caller)));
    }
    for (from, caller) in callers.iter().copied().filter(|(_, caller)| *caller != Caller::Stranger) {
        let all = balance(machine, token, from).unwrap_or_default();
        let approvals =
            [DEAD, people.holder, token, pair].into_iter().flat_map(|who| [U256::ONE, U256::from(97), HUGE].map(|number| (who, number)));
        let sent = [DEAD, people.holder, from]
            .into_iter()
            .flat_map(|who| [U256::ZERO, U256::ONE, U256::from(37), all].map(|amount| (who, amount)));
        let approvals = approvals.map(|(who, number)| (abi::APPROVE, who, number));
        for (selector, who, number) in approvals.chain(sent.map(|(who, amount)| (abi::TRANSFER, who, amount))) {
            let filling = Filling { numbers: vec![number], names: before.scene.names(), ..Filling::plain(vec![who], number) };
            let function = Function { selector, arguments: vec![DynSolType::Address, DynSolType::Uint(256)] };
            calls.push(FunctionCall { sought: true, ..FunctionCall::new(&function, from, token, caller, filling) });
        }
    }
    calls
}

/// Selector of no function.
const NO_FUNCTION: abi::Selector = [0x9A, 0x3F, 0x11, 0xC7];

/// Whether a call with two words writes the second into the slot that the first names: then the same call with the slot of a holder's balance
/// is returned.
pub(super) fn free_write(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    at: Address,
    selector: abi::Selector,
    (from, caller): (Address, Caller),
) -> Option<FunctionCall> {
    let function = Function { selector, arguments: vec![DynSolType::Uint(256), DynSolType::Uint(256)] };
    let with = |slot: U256, value: U256| {
        let filling = Filling { numbers: vec![slot, value], names: before.scene.names(), ..Filling::plain(vec![from], value) };
        FunctionCall { sought: true, ..FunctionCall::new(&function, from, at, caller, filling) }
    };
    let mark = machine.mark();
    let writes = with(MARKER_WORD, MARKER).make(machine).writes;
    machine.rollback(mark);
    let (of, slot) = before.balances.slot_of(before.scene.people.holder)?;
    (writes.contains(&(at, MARKER_WORD)) && of == at).then(|| with(slot, U256::ZERO))
}

/// Words of the code that only somebody chosen can match: addresses and hashes, no masks.
fn secrets(code: &[u8]) -> Vec<U256> {
    let mut secrets: Vec<U256> = Vec::new();
    for (opcode, bytes) in instructions(code) {
        if !(PUSH1 + 15..=PUSH32).contains(&opcode) {
            continue;
        }
        let word = U256::from_be_slice(bytes);
        let is_mask = (word & word.wrapping_add(U256::ONE)).is_zero() || (!word & (!word).wrapping_add(U256::ONE)).is_zero();
        if word > U256::MAX >> 160 && !is_mask && !secrets.contains(&word) {
            secrets.push(word);
        }
    }
    secrets
}

/// A word of so many bits is a hash and no address.
const ADDRESS_BITS: usize = 160;

/// Calls as whoever the code recognizes by a hash or a signature: comparisons with a secret of the code come out equal.
pub(super) fn recognized(machine: &mut Machine<'_>, before: &Baseline<'_>, target: &Target<'_>, found: &mut Exploration) {
    let code = machine.world().code(target.at);
    let secrets = secrets(&code);
    if secrets.is_empty() {
        return;
    }
    let people = before.scene.people;
    let hashes: Vec<U256> = secrets.iter().filter(|word| **word >> ADDRESS_BITS != U256::ZERO).copied().collect();
    let known = found.effects.len();
    for function in target.functions {
        // In a transfer the pool and others are compared with addresses of the code.
        let (from, secrets) = if function.standard() { (people.other, &hashes) } else { (people.stranger, &secrets) };
        let sets = argument_sets(before.scene, &before.balances, from);
        let chosen = if function.standard() { vec![0, 5] } else { vec![0, 2, 4, 5, 13] };
        for at in chosen {
            let mut filling = sets[at].clone();
            if function.selector == abi::TRANSFER_FROM {
                filling.addresses = vec![people.holder, people.stranger];
            }
            let call = FunctionCall::new(function, from, target.at, Caller::Recognized, filling);
            let call = FunctionCall { sought: true, secrets: secrets.clone(), ..call };
            // What nothing is compared with is tried already.
            let mark = machine.mark();
            let matched = call.make(machine).ok && machine.matched();
            machine.rollback(mark);
            if matched {
                try_call(machine, before, &call, found);
            }
            if machine.stopped.is_some() {
                return;
            }
        }
    }
    found.keep_harm(known);
}

/// Maximum number of first steps, of each function one or two.
const FIRST_STEPS_MAX: usize = 8;

/// A call that changed nothing a trade reads, and another one after it.
pub(super) fn in_two_steps(machine: &mut Machine<'_>, before: &Baseline<'_>, target: &Target<'_>, found: &mut Exploration) {
    let mut firsts: Vec<FunctionCall> = Vec::new();
    // Of equal functions the last call, as a rule with larger numbers.
    for call in found.pending.iter().rev() {
        let of_one = firsts.iter().filter(|first| first.selector == call.selector && first.from == call.from).count();
        if firsts.len() < FIRST_STEPS_MAX && of_one < 2 {
            firsts.push(call.clone());
        }
    }
    for first in firsts {
        let mark = machine.mark();
        first.make(machine);
        machine.next_block();
        let known = found.effects.len();
        for function in target.functions.iter().filter(|function| !function.standard() && function.selector != first.selector) {
            let [filling, ..] = argument_sets(before.scene, &before.balances, first.from);
            let call = FunctionCall::new(function, first.from, target.at, first.caller, filling);
            try_call(machine, before, &call, found);
        }
        machine.rollback(mark);
        found.keep_harm(known);
        let after = format!(" (after {})", abi::named_beside(first.selector, &first.arguments));
        for effect in &mut found.effects[known..] {
            effect.after.push_str(&after);
            effect.first = Some(Box::new(first.clone()));
        }
        if machine.stopped.is_some() {
            return;
        }
    }
}
