//! Calls that have an effect only with special knowledge: with the numbers that a function compares its arguments with, in the slots that a
//! sell reads, by a caller that the code recognizes by a hash or a signature, and, in `steps`, by several calls. `powers` tests them like all
//! calls.

pub(super) mod steps;

use std::{collections::HashSet, rc::Rc};

use evmole::DynSolType;
use revm::primitives::{Address, U256};

use super::{
    abi::{self, Filling},
    caller_checks::{Branch, Guard},
    effects::{Baseline, Caller, FunctionCall, FunctionEffect},
    functions::Function,
    funding::{balance, write_balance},
    machine::Machine,
    privileges::{Exploration, Target, argument_sets, try_call},
    trade_simulation::{self, Scene},
};

/// Accounts that a sale looks up besides its own, which are tried as callers.
const ACCOUNTS_MAX: usize = 2;

/// What a sale looks for: the numbers that it compares slots with, and the accounts, none of the trade's own, whose entries it looks up.
pub(super) fn of_sale(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    callers: &[(Address, Caller)],
) -> (Vec<U256>, Vec<Address>) {
    let Scene {
        people,
        token,
        owner,
        pair,
        router,
        ..
    } = *before.scene;
    machine.start_trace(people.holder, token);
    trade_simulation::round_trip(machine, before.scene, &mut |_| {});
    let trace = machine.end_trace();
    let is_number = |word: &U256| *word > U256::ONE && *word < U256::MAX >> 160;
    let mut constants: Vec<U256> = Vec::new();
    for word in trace.loaded_against.iter().filter(|word| is_number(word)) {
        if constants.len() < SOUGHT_MAX && !constants.contains(word) {
            constants.push(*word);
        }
    }
    let own = [
        people.holder,
        people.other,
        people.newcomer,
        people.stranger,
        people.other_router,
        token,
        owner,
        pair,
        router,
    ];
    let mut accounts: Vec<Address> = Vec::new();
    for key in trace
        .keys()
        .filter(|key| *key >> 160 == U256::ZERO && *key >> 96 != U256::ZERO)
    {
        let of = abi::address_of(key);
        let known = own.contains(&of)
            || callers.iter().any(|(caller, _)| *caller == of)
            || accounts.contains(&of);
        if !known && accounts.len() < ACCOUNTS_MAX && machine.evm_state().is_real(of) {
            accounts.push(of);
        }
    }
    (constants, accounts)
}

/// A number that stands for itself: what it is compared with is what the function looks for.
const MARKER: U256 = U256::from_limbs([1_234_567, 0, 0, 0]);
/// The same for an argument of 32 bytes, which may hide an address.
const MARKER_WORD: U256 = U256::from_limbs([
    0x0123_4567_89AB_CDEF,
    0x1032_5476_98BA_DCFE,
    0x5555_AAAA_1111_2222,
    0x7777_3333_9999_6666,
]);
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
    let Scene {
        people,
        ref funding,
        ..
    } = *before.scene;
    let filling = |addresses: &[Address], number: U256, word: U256| Filling {
        addresses: addresses.to_vec(),
        numbers: vec![number],
        yes: true,
        word,
        decimals: funding.decimals,
        names: before.scene.names(),
    };
    let call = |filling: Filling| FunctionCall {
        sought: true,
        ..FunctionCall::new(function, from, at, caller, filling)
    };
    let words = function
        .arguments
        .iter()
        .filter(|of| matches!(of, DynSolType::Uint(256) | DynSolType::FixedBytes(32)))
        .count();
    let mut calls = Vec::new();
    if words > 1 && words == function.arguments.len() {
        calls.extend(free_write(
            machine,
            before,
            at,
            function.selector,
            (from, caller),
        ));
    }
    if function
        .arguments
        .iter()
        .any(|of| matches!(of, DynSolType::Uint(_) | DynSolType::Int(_)))
    {
        let marked = call(filling(&[people.newcomer, from], MARKER, U256::ZERO));
        let (_, trace) = machine.trace_words(marked.from, at, marked.data, &[MARKER]);
        // What is sent is compared with balances and allowances, too.
        let compared = if function.standard() {
            &trace.equal
        } else {
            &trace.against
        };
        let mut numbers: Vec<U256> = compared
            .iter()
            .filter(|number| !number.is_zero() && **number < U256::MAX >> 8)
            .copied()
            .collect();
        numbers.dedup();
        numbers.truncate(SOUGHT_MAX);
        numbers.extend(constants.iter().filter(|_| function.standard()));
        for number in numbers {
            let near = if number > U256::ONE {
                number - U256::ONE
            } else {
                number
            };
            let calls_with = [
                (people.newcomer, number),
                (before.scene.token, number),
                (people.holder, number),
                (people.holder, near),
            ];
            calls.extend(
                calls_with.map(|(who, number)| call(filling(&[who, from], number, U256::ZERO))),
            );
        }
    }
    calls.extend(
        spilling(function)
            .into_iter()
            .flatten()
            .map(|number| call(filling(&[people.holder, from], number, number))),
    );
    if function.arguments.iter().any(abi::holds_word) {
        // The address that the word stands for is that of a mapping's entry: what has to be passed for the holder's follows.
        let marked = call(filling(&[people.holder, from], MARKER_WORD, MARKER_WORD));
        let (_, trace) = machine.trace_words(marked.from, at, marked.data, &[]);
        let known = [
            people.holder,
            from,
            before.scene.pair,
            before.scene.token,
            before.scene.owner,
        ]
        .map(abi::word_of);
        let keys = trace.keys().filter(|key| {
            !key.is_zero()
                && *key >> 160 == U256::ZERO
                && *key >> 96 != U256::ZERO
                && !known.contains(key)
        });
        let mut keys: Vec<U256> = keys.collect();
        keys.dedup();
        let holder = abi::word_of(people.holder);
        for key in keys.into_iter().take(SOUGHT_MAX) {
            for word in [
                MARKER_WORD ^ key ^ holder,
                MARKER_WORD.wrapping_add(holder).wrapping_sub(key),
            ] {
                calls.push(call(filling(&[people.holder, from], word, word)));
            }
        }
    }
    calls
}

/// Numbers at which computing with few bits goes wrong, for the narrowest argument: one that is small in its low half and large in its high one,
/// of which a check of the low half lets the rest through into what is stored beside; one whose square is zero, and one whose double is.
fn spilling(function: &Function) -> Option<[U256; 3]> {
    let bits = |of: &DynSolType| {
        if let DynSolType::Uint(bits) | DynSolType::Int(bits) = of {
            Some(*bits)
        } else {
            None
        }
    };
    let narrowest = function.arguments.iter().filter_map(bits).min()?;
    let low = (U256::from(0x3FFF) << narrowest.saturating_sub(16)) | U256::from(7);
    Some([
        low,
        U256::ONE << (narrowest / 2),
        U256::ONE << narrowest.saturating_sub(1),
    ])
}

/// Address that people burn tokens at.
const DEAD: Address = Address::new([
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xDE, 0xAD,
]);

/// An allowance larger than any need, but not the usual unlimited one.
const HUGE: U256 = U256::from_limbs([0, 0, 0, 1 << 20]);

/// Approvals and transfers by accounts that the token obeys or whose entries a sale reads: their own cells may be switches.
pub(super) fn by_standard_functions(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    callers: &[(Address, Caller)],
) -> Vec<FunctionCall> {
    let Scene {
        people,
        token,
        pair,
        ..
    } = *before.scene;
    let mut calls = Vec::new();
    for (from, caller) in callers.iter().copied() {
        calls.extend(free_write(
            machine,
            before,
            token,
            NO_FUNCTION,
            (from, caller),
        ));
    }
    for (from, caller) in callers
        .iter()
        .copied()
        .filter(|(_, caller)| *caller != Caller::Stranger)
    {
        calls.push(forwarded(before, from, caller));
        let all = balance(machine, token, from).unwrap_or_default();
        let approvals = [DEAD, people.holder, token, pair]
            .into_iter()
            .flat_map(|who| [U256::ONE, U256::from(97), HUGE].map(|number| (who, number)));
        let sent = [DEAD, people.holder, from].into_iter().flat_map(|who| {
            [U256::ZERO, U256::ONE, U256::from(37), all].map(|amount| (who, amount))
        });
        let approvals = approvals.map(|(who, number)| (abi::APPROVE, who, number));
        for (selector, who, number) in
            approvals.chain(sent.map(|(who, amount)| (abi::TRANSFER, who, amount)))
        {
            let filling = Filling {
                numbers: vec![number],
                names: before.scene.names(),
                ..Filling::plain(vec![who], number)
            };
            let function = Function {
                selector,
                arguments: vec![DynSolType::Address, DynSolType::Uint(256)],
            };
            calls.push(FunctionCall {
                sought: true,
                ..FunctionCall::new(&function, from, token, caller, filling)
            });
        }
    }
    calls
}

/// A transfer with the holder's address behind it: who forwards calls says so whose they are
/// (<https://eips.ethereum.org/EIPS/eip-2771>).
fn forwarded(before: &Baseline<'_>, from: Address, caller: Caller) -> FunctionCall {
    let Scene {
        people,
        token,
        ref funding,
        ..
    } = *before.scene;
    let filling = Filling {
        names: before.scene.names(),
        ..Filling::plain(vec![from], funding.amount)
    };
    let function = Function {
        selector: abi::TRANSFER,
        arguments: vec![DynSolType::Address, DynSolType::Uint(256)],
    };
    let mut call = FunctionCall {
        sought: true,
        ..FunctionCall::new(&function, from, token, caller, filling)
    };
    call.data.extend(people.holder);
    call.arguments.push_str(", for the holder");
    call
}

/// Selector of no function.
pub(super) const NO_FUNCTION: abi::Selector = [0x9A, 0x3F, 0x11, 0xC7];

/// Whether a call with two words writes the second into a slot that the first decides: then the call that writes a holder's balance is returned.
pub(super) fn free_write(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    at: Address,
    selector: abi::Selector,
    (from, caller): (Address, Caller),
) -> Option<FunctionCall> {
    let marked = two_words(before, at, selector, (from, caller), [MARKER_WORD, MARKER]);
    let (of, slot) = before.balances.slot_of(before.scene.people.holder)?;
    let mark = machine.mark();
    let writes = marked.make(machine).writes;
    let written = writes
        .into_iter()
        .find(|(of, slot)| *of == at && machine.evm_state().slot(*of, *slot) == MARKER);
    // The slot itself, or an element of a list that is longer than any can be.
    let with = |index: U256| two_words(before, at, selector, (from, caller), [index, U256::ZERO]);
    let moved = written
        .map(|(_, written)| MARKER_WORD.wrapping_add(slot).wrapping_sub(written))
        .filter(|_| of == at);
    machine.rollback(mark);
    // An entry of a mapping lies elsewhere for every index.
    moved.map(with).filter(|call| {
        let mark = machine.mark();
        let hits = call.make(machine).writes.contains(&(at, slot));
        machine.rollback(mark);
        hits
    })
}

/// A call with two words.
fn two_words(
    before: &Baseline<'_>,
    at: Address,
    selector: abi::Selector,
    (from, caller): (Address, Caller),
    words: [U256; 2],
) -> FunctionCall {
    let function = Function {
        selector,
        arguments: vec![DynSolType::Uint(256), DynSolType::Uint(256)],
    };
    let filling = Filling {
        numbers: words.to_vec(),
        names: before.scene.names(),
        ..Filling::plain(vec![from], words[1])
    };
    FunctionCall {
        sought: true,
        ..FunctionCall::new(&function, from, at, caller, filling)
    }
}

/// Branches that are forced on one way through a function, and on how many ways.
const FORCED_MAX: usize = 4;
const WAYS_MAX: usize = 8;
/// What a whale has of the supply.
const WHALE_PART: (u64, u64) = (45, 100);
/// Which of the argument sets are passed.
const SETS_OF_ANYBODY: [usize; 6] = [0, 2, 4, 5, 13, 15];
const UNSIGNED: usize = 15;
const SETS_OF_WHALE: [usize; 3] = [0, 4, 12];
const SETS_OF_STANDARD: [usize; 3] = [0, 2, 5];

/// Calls as a caller that meets a function's conditions on its caller or arguments: a hash, a signature, a role, a balance. Whether such a
/// caller exists is unknown, so only effects on trades count, and tokens taken without acting for another account.
pub(super) fn by_anybody(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    target: &Target<'_>,
    found: &mut Exploration,
) {
    let people = before.scene.people;
    let whale = whale(machine, before);
    let ledger = Rc::new(ledger(machine, before, whale));
    let fallback = Function {
        selector: NO_FUNCTION,
        arguments: vec![DynSolType::Address, DynSolType::Uint(256)],
    };
    if let Some((_, slot)) = before
        .balances
        .slot_of(people.holder)
        .filter(|(of, _)| *of == target.at)
    {
        let with = |words: [U256; 2]| {
            two_words(
                before,
                target.at,
                NO_FUNCTION,
                (people.stranger, Caller::Recognized),
                words,
            )
        };
        let call = with([slot, U256::ZERO]);
        for way in ways(machine, &call, target, before, &ledger).unwrap_or_default() {
            try_way(machine, before, &call, &way, found);
        }
    }
    for function in &target
        .functions
        .iter()
        .chain([&fallback])
        .flat_map(Function::readings)
        .collect::<Vec<_>>()
    {
        // What somebody known does is said of them.
        let told = |effect: &FunctionEffect| {
            effect.call.selector == function.selector && effect.power.of_trades()
        };
        if found.effects.iter().any(told) {
            continue;
        }
        // Somebody without tokens, who takes what is not theirs, and somebody with many.
        let callers = if function.standard() {
            vec![(whale, &SETS_OF_STANDARD[..])]
        } else {
            vec![
                (people.stranger, &SETS_OF_ANYBODY[..]),
                (whale, &SETS_OF_WHALE[..]),
            ]
        };
        let mut conditional = None;
        for (from, at) in callers
            .iter()
            .flat_map(|(from, sets)| sets.iter().map(move |at| (*from, *at)))
        {
            let mut filling = argument_sets(before.scene, &before.balances, from)[at].clone();
            // Some take a signature that is none for everybody's.
            if at != UNSIGNED {
                sign(&mut filling, function);
            }
            if function.selector == abi::TRANSFER_FROM {
                filling.addresses = vec![people.holder, people.stranger];
            }
            let call = FunctionCall::new(function, from, target.at, Caller::Recognized, filling);
            let call = FunctionCall {
                sought: true,
                ..call
            };
            if from == whale && !function.standard() {
                try_way(machine, before, &call, &[], found);
            }
            // What has no conditions with the first arguments has none.
            if conditional == Some(false) {
                continue;
            }
            let ways = ways(machine, &call, target, before, &ledger);
            conditional = conditional.or(Some(ways.is_some()));
            let ways = ways.unwrap_or_default();
            for way in ways {
                try_way(machine, before, &call, &way, found);
            }
            if machine.stopped.is_some() || function.arguments.is_empty() {
                break;
            }
        }
    }
    let call = forwarded(before, people.stranger, Caller::Recognized);
    for way in ways(machine, &call, target, before, &ledger).unwrap_or_default() {
        try_way(machine, before, &call, &way, found);
    }
}

/// Tries a call on which these conditions are met.
fn try_way(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    call: &FunctionCall,
    way: &[Guard],
    found: &mut Exploration,
) {
    let known = found.effects.len();
    // Who has an allowance, or a signature of the holder, may take what that allows.
    let takes = !way.is_empty()
        && way
            .iter()
            .all(|guard| !guard.of_ledger && (guard.of_caller || guard.against.is_some()));
    let forced = way.iter().map(|guard| guard.branch).collect();
    try_call(
        machine,
        before,
        &FunctionCall {
            forced,
            ..call.clone()
        },
        found,
    );
    found.keep_harm(known, takes);
}

/// A holder with much of the supply, who keeps it because their calls may have to be repeated.
fn whale(machine: &mut Machine<'_>, before: &Baseline<'_>) -> Address {
    let whale = machine.circumstances.hashes.address("whale");
    machine.evm_state().person(whale);
    let much = before.scene.funding.supply / U256::from(WHALE_PART.1) * U256::from(WHALE_PART.0);
    write_balance(machine, before.scene.token, whale, much);
    whale
}

/// Passes an arbitrary signature if a function ends with one: a byte and two words.
fn sign(filling: &mut Filling, function: &Function) {
    let [before @ .., DynSolType::Uint(8), _, _] = &function.arguments[..] else {
        return;
    };
    let numbers = before
        .iter()
        .filter(|of| matches!(of, DynSolType::Uint(_) | DynSolType::Int(_)))
        .count();
    filling
        .numbers
        .resize(numbers, filling.numbers.last().copied().unwrap_or_default());
    filling.numbers.extend([U256::from(27), U256::ONE]);
    filling.word = U256::ONE;
}

/// Slots of balances, of the supply, and of allowances.
fn ledger(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    whale: Address,
) -> HashSet<(Address, U256)> {
    let Scene {
        people,
        token,
        pair,
        ..
    } = *before.scene;
    let mut ledger = before.ledger.clone();
    let allowance =
        |of, spender| abi::call(abi::ALLOWANCE, &[abi::word_of(of), abi::word_of(spender)]);
    let mut views: Vec<Vec<u8>> = [people.holder, people.other, pair]
        .into_iter()
        .flat_map(|of| [people.stranger, whale].map(|by| allowance(of, by)))
        .collect();
    views.push(abi::call(abi::BALANCE_OF, &[abi::word_of(whale)]));
    for view in views {
        ledger.extend(machine.simulate(people.newcomer, token, view).reads);
    }
    ledger
}

/// The ways through a function on which it writes something, each with the conditions that have to be met besides; `None` if it has none.
fn ways(
    machine: &mut Machine<'_>,
    call: &FunctionCall,
    target: &Target<'_>,
    before: &Baseline<'_>,
    ledger: &Rc<HashSet<(Address, U256)>>,
) -> Option<Vec<Vec<Guard>>> {
    let Scene {
        people,
        token,
        pair,
        router,
        ..
    } = *before.scene;
    let known = [
        people.holder,
        people.other,
        people.stranger,
        people.newcomer,
        token,
        pair,
        router,
        DEAD,
        Address::ZERO,
    ];
    let known: Vec<U256> = known
        .into_iter()
        .chain(target.callers.iter().map(|(who, _)| *who))
        .map(abi::word_of)
        .collect();
    let standard = abi::MOVING.contains(&call.selector);
    let passable = |guard: &Guard| {
        guard.against.is_none_or(|word| !known.contains(&word)) && !(standard && guard.of_ledger)
    };
    let (mut through, mut open) = (Vec::new(), vec![Vec::<Guard>::new()]);
    let (mut tried, mut guarded) = (0, false);
    while let Some(way) = open.pop() {
        tried += 1;
        if tried > WAYS_MAX || machine.stopped.is_some() {
            break;
        }
        let branches = way.iter().map(|guard| guard.branch).collect();
        let forced = |branch: &Branch| way.iter().any(|guard| guard.branch == *branch);
        let mark = machine.mark();
        machine.start_guards(Rc::clone(ledger));
        let outcome = FunctionCall {
            forced: branches,
            ..call.clone()
        }
        .make(machine);
        let guards = machine.end_guards();
        machine.rollback(mark);
        let forced_last = way
            .last()
            .and_then(|last: &Guard| guards.iter().rposition(|guard| guard.branch == last.branch));
        // All copies of a word say the same.
        let copy =
            |guard: &&Guard| guard.same_as.as_ref().is_some_and(forced) && !forced(&guard.branch);
        let copies: Vec<Guard> = guards.iter().filter(copy).copied().collect();
        if !copies.is_empty() {
            if way.len() + copies.len() <= FORCED_MAX {
                open.push([&way[..], &copies].concat());
            }
            continue;
        }
        let after = if outcome.ok {
            forced_last.map_or(0, |at| at + 1)
        } else {
            0
        };
        let new =
            |guard: &Guard| passable(guard) && !forced(&guard.branch) && guard.same_as.is_none();
        guarded |= guards.iter().any(passable);
        let next = guards.into_iter().skip(after).filter(new);
        if !outcome.ok {
            // The last condition before it failed is as a rule why, or one of several of which each is enough.
            if way.len() < FORCED_MAX {
                let mut next: Vec<Guard> = next.collect();
                let last = next.pop();
                let chosen = next
                    .into_iter()
                    .filter(|guard| guard.of_caller || guard.against.is_some());
                open.extend(
                    last.into_iter()
                        .chain(chosen)
                        .map(|guard| [&way[..], &[guard]].concat()),
                );
            }
            continue;
        }
        if way.len() < FORCED_MAX {
            // What goes on otherwise for one caller, or for one word: any other branch is of the contract's own books.
            let chosen = next.filter(|guard| guard.of_caller || guard.against.is_some());
            open.extend(chosen.map(|guard| [&way[..], &[guard]].concat()));
        }
        if !way.is_empty() && !outcome.writes.is_empty() {
            through.push(way);
        }
    }
    guarded.then_some(through)
}
