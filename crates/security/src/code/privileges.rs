//! Exploration of the contract's functions: each is called as the owner and as an outside caller with sets of arguments by type, on a copy of
//! the world. The effects of a call are determined in `effects`.

mod attempt;
mod settings;

use std::collections::HashSet;

use evmole::DynSolType;
use revm::primitives::{Address, U256};

use self::{
    attempt::{Attempt, by_default},
    settings::{try_settings_in_pairs, try_with_settings},
};
use super::{
    abi::{self, Filling, Selector},
    dependence::{SlotWriter, SlotWriters},
    effects::{
        After, BalanceSheet, Baseline, Caller, FunctionCall, FunctionEffect, Privilege, compare,
    },
    functions::Function,
    funding::balance,
    guarded_calls,
    live::is_contract,
    machine::{EvmOutcome, Machine},
    trade_simulation::Scene,
};

/// Number of argument sets each function is tried with.
pub(super) const SETS: usize = 18;

/// Argument sets by type: addresses, numbers, boolean.
pub(super) fn argument_sets(
    scene: &Scene,
    balances: &BalanceSheet,
    caller: Address,
) -> [Filling; SETS] {
    let amount = scene.funding.amount;
    let set = |addresses: &[Address], numbers: &[U256], yes| Filling {
        addresses: addresses.to_vec(),
        numbers: numbers.to_vec(),
        yes,
        word: U256::ZERO,
        decimals: scene.funding.decimals,
        names: scene.names(),
    };
    let small = |value: u64| U256::from(value);
    let pair = balances.get(scene.pair);
    [
        set(
            &[scene.people.holder, caller, scene.people.newcomer],
            &[amount, amount],
            true,
        ),
        set(&[caller, scene.people.holder], &[amount], true),
        set(&[scene.people.holder, caller], &[U256::ZERO], false),
        set(&[scene.pair, caller], &[pair / small(2)], true),
        set(&[caller], &[small(99), small(99)], true),
        set(&[scene.people.holder], &[U256::ONE], true),
        set(&[scene.people.holder], &[U256::MAX], false),
        set(
            &[caller],
            &[small(990), small(990), small(990), small(1000)],
            true,
        ),
        set(&[scene.people.gate], &[small(25)], false),
        set(
            &[caller, scene.people.newcomer],
            &[scene.funding.supply * small(10)],
            true,
        ),
        set(&[scene.people.holder, caller], &[small(50_000_000)], false),
        // A time in the future.
        set(
            &[scene.people.holder, caller],
            &[balances.get(scene.people.holder), small(1_900_000_000)],
            true,
        ),
        set(&[scene.token, caller], &[amount], true),
        set(
            &[scene.people.holder, caller],
            &[small(99), small(99)],
            true,
        ),
        // A hundredth, in parts of 10¹⁸.
        set(
            &[scene.people.holder, caller],
            &[small(1), small(10_000_000_000_000_000)],
            true,
        ),
        // Settings of a byte each may share a word.
        set(
            &[scene.people.holder, caller],
            &[U256::from_be_bytes([97; 32])],
            true,
        ),
        // Two that must not exceed a hundred together.
        set(&[scene.people.holder, caller], &[small(1), small(98)], true),
        // An account may be passed as a number.
        set(
            &[caller, scene.people.holder],
            &[abi::word_of(scene.people.holder)],
            true,
        ),
    ]
}

/// Result of trying a function as one caller: its most informative call and the state after it; `None` if every call reverted.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    pub(super) caller: Caller,
    pub(super) selector: Selector,
    pub(super) arguments: String,
    pub(super) after: Option<After>,
}

/// The functions of one contract, and who calls them.
pub(super) struct Target<'a> {
    pub(super) at: Address,
    pub(super) functions: &'a [Function],
    pub(super) callers: Vec<(Address, Caller)>,
}

/// Whose powers are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The owner, authorized addresses, and any caller.
    Known,
    /// Also a caller that meets the conditions of a function.
    Anybodys,
}

/// Tries every function as every caller. Ends early once the machine has stopped.
pub(super) fn powers(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    functions: &[Function],
    privileged: &[Address],
    whose: Whose,
) -> Exploration {
    let Scene {
        token,
        owner,
        people,
        ..
    } = *before.scene;
    let callers = [(owner, Caller::Owner), (people.stranger, Caller::Stranger)];
    let callers: Vec<_> = callers
        .into_iter()
        .chain(privileged.iter().map(|of| (*of, Caller::Privileged)))
        .collect();
    let mut found = Exploration::default();
    for pay in [U256::ZERO, COIN] {
        try_call(
            machine,
            before,
            &FunctionCall::payment(people.stranger, token, pay),
            &mut found,
        );
    }
    try_with_settings(
        machine,
        before,
        &FunctionCall::payment(people.stranger, token, COIN),
        &mut found,
    );
    // Who pays may get tokens for it; that coins stop trades is another matter.
    let known = found.effects.len();
    for (from, caller) in callers
        .iter()
        .copied()
        .filter(|(_, caller)| *caller != Caller::Stranger)
    {
        let payment = FunctionCall {
            from,
            caller,
            ..FunctionCall::payment(from, token, COIN)
        };
        try_call(machine, before, &payment, &mut found);
    }
    found.keep_harm(known, true);
    let (constants, accounts) = guarded_calls::of_sale(machine, before, &callers);
    found.constants = constants;
    let callers: Vec<_> = callers
        .into_iter()
        .chain(accounts.into_iter().map(|of| (of, Caller::Privileged)))
        .collect();
    let target = Target {
        at: token,
        functions,
        callers,
    };
    try_functions(machine, before, &target, &mut found);
    let known = found.effects.len();
    for call in guarded_calls::by_standard_functions(machine, before, &target.callers) {
        try_call(machine, before, &call, &mut found);
    }
    found.keep_harm(known, true);
    if whose == Whose::Anybodys {
        guarded_calls::by_anybody(machine, before, &target, &mut found);
    }
    guarded_calls::steps::in_two_steps(machine, before, &target, &mut found);
    guarded_calls::steps::in_small_steps(machine, before, &target, &mut found);
    try_settings_in_pairs(machine, before, &mut found);
    found
}

/// Tries every function of a contract as every caller.
pub(super) fn try_functions(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    target: &Target<'_>,
    found: &mut Exploration,
) {
    let callers: Vec<_> = target
        .callers
        .iter()
        .map(|(who, caller)| (*who, *caller, is_contract(&machine.evm_state().code(*who))))
        .collect();
    for function in &target
        .functions
        .iter()
        .flat_map(Function::readings)
        .collect::<Vec<_>>()
    {
        for (from, caller, by_contract) in callers.iter().copied() {
            let sets = argument_sets(before.scene, &before.balances, from);
            let call = |filling| FunctionCall {
                by_contract,
                ..FunctionCall::new(function, from, target.at, caller, filling)
            };
            let calls: Vec<FunctionCall> = sets.into_iter().map(call).collect();
            let (mut last, mut worked) = (None, false);
            // What does as much without its arguments is a plain switch.
            if !function.arguments.is_empty() && caller != Caller::Stranger {
                let bare = Function {
                    selector: function.selector,
                    arguments: Vec::new(),
                };
                try_call(
                    machine,
                    before,
                    &FunctionCall {
                        by_contract,
                        ..FunctionCall::new(
                            &bare,
                            from,
                            target.at,
                            caller,
                            calls[0].filling.clone(),
                        )
                    },
                    found,
                );
            }
            for call in &calls {
                if last == Some(&call.data) {
                    continue;
                }
                last = Some(&call.data);
                worked |= try_call(machine, before, call, found);
                if machine.stopped.is_some() {
                    return;
                }
                if function.arguments.is_empty() {
                    break;
                }
            }
            if caller == Caller::Stranger {
                if function.arguments.contains(&DynSolType::Address) {
                    let nobody = Filling {
                        addresses: vec![Address::ZERO, from],
                        ..calls[0].filling.clone()
                    };
                    try_call(machine, before, &call(nobody), found);
                }
                let paid = FunctionCall {
                    pay: COIN,
                    ..calls[1].clone()
                };
                if !try_call(machine, before, &paid, found) {
                    try_with_settings(machine, before, &paid, found);
                }
                continue;
            }
            let constants = found.constants.clone();
            let known = found.effects.len();
            for sought in guarded_calls::sought(
                machine,
                before,
                target.at,
                function,
                (from, caller),
                &constants,
            ) {
                worked |= try_call(
                    machine,
                    before,
                    &FunctionCall {
                        by_contract,
                        ..sought
                    },
                    found,
                );
            }
            if function.standard() {
                found.keep_harm(known, true);
            }
            if !worked && !calls[0].standard() {
                try_with_settings(machine, before, &calls[0], found);
            }
        }
    }
}

/// Slots below this are plain variables; entries of mappings and lists lie far above.
const PLAIN_MAX: U256 = U256::from_limbs([1 << 16, 0, 0, 0]);

/// Slots with the values that a call left in them.
type Written = Vec<(Address, U256, U256)>;

/// Results of the exploration, and states that need not be tried again.
#[derive(Default)]
pub(super) struct Exploration {
    pub(super) effects: Vec<FunctionEffect>,
    /// States with who brought them about, and whether by an ordinary transfer, after which not everything is looked at.
    seen: HashSet<(Caller, bool, Written)>,
    /// Owner calls that changed a slot trading reads, without a visible effect so far.
    pub(super) settings: Vec<FunctionCall>,
    pub(super) tried: Vec<Tried>,
    pub(super) writers: SlotWriters,
    /// Numbers that a sale compares slots with.
    constants: Vec<U256>,
    /// Calls of the owner that changed something which no trade reads.
    pub(super) pending: Vec<FunctionCall>,
    /// Whether the search itself has written slots, so that calls do not reflect the contract's present state.
    storage_written: bool,
}

impl Exploration {
    /// Of the effects from this one on, keeps those on trades and, where it `takes`, on what others hold: what else a guess brings about shows no
    /// intent.
    pub(super) fn keep_harm(&mut self, from: usize, takes: bool) {
        let new = self.effects.split_off(from);
        let counts = |power| takes && matches!(power, Privilege::Drain | Privilege::Theft);
        self.effects.extend(
            new.into_iter()
                .filter(|effect| effect.power.of_trades() || counts(effect.power)),
        );
    }

    /// Keeps the function as a writer of the slots that the call changed.
    fn note_writes(&mut self, call: &FunctionCall, outcome: &EvmOutcome) {
        for slot in outcome.writes.iter().filter(|_| !call.standard()) {
            let writers = self.writers.entry(*slot).or_default();
            if !writers
                .iter()
                .any(|writer| writer.caller == call.caller && writer.selector == call.selector)
            {
                let FunctionCall {
                    caller,
                    selector,
                    arguments,
                    ..
                } = call;
                writers.push(SlotWriter {
                    caller: *caller,
                    selector: *selector,
                    arguments: arguments.clone(),
                });
            }
        }
    }

    /// Keeps the most informative call: one with an effect, else one that succeeded, else one that reverted; of equals one with arguments.
    fn note(&mut self, call: &FunctionCall, after: Option<After>) {
        if self.storage_written || call.data.is_empty() || !call.pay.is_zero() || call.standard() {
            return;
        }
        let worth = |after: &Option<After>| {
            after
                .as_ref()
                .map_or(0, |after| 1 + usize::from(after.trades.is_some()))
        };
        let known = self
            .tried
            .iter_mut()
            .rev()
            .find(|tried| tried.caller == call.caller && tried.selector == call.selector);
        let tried = Tried {
            caller: call.caller,
            selector: call.selector,
            arguments: call.arguments.clone(),
            after,
        };
        match known {
            Some(known)
                if worth(&tried.after) + usize::from(known.arguments.is_empty())
                    > worth(&known.after) =>
            {
                *known = tried;
            }
            Some(_) => {}
            None => self.tried.push(tried),
        }
    }
}

/// Payment for a purchase.
const COIN: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Tries one call on a copy of the world. Returns whether it changed anything.
pub(super) fn try_call(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    call: &FunctionCall,
    found: &mut Exploration,
) -> bool {
    let token = before.scene.token;
    let mark = machine.mark();
    let outcome = call.make(machine);
    found.note_writes(call, &outcome);
    let written: Written = outcome
        .writes
        .iter()
        .map(|(at, slot)| (*at, *slot, machine.evm_state().slot(*at, *slot)))
        .collect();
    let mut attempt = Attempt {
        before,
        call,
        outcome: &outcome,
        written: &written,
        effects: Vec::new(),
    };
    if outcome.ok {
        attempt.read_effects(machine, found);
    } else {
        found.note(call, None);
    }
    machine.rollback(mark);
    attempt.drop_mock_artifacts(machine);
    attempt.drop_uninitialized_artifacts(machine);
    attempt.reclassify_freezes(machine);
    let mut effects = attempt.effects;
    for effect in &mut effects {
        effect.of_other = call.to != token;
    }
    for effect in effects.iter_mut().filter(|effect| effect.unbacked) {
        // If a plain variable moved by the same amount, the tokens came from a reserve that the contract keeps.
        let booked = |(at, slot, now): &(Address, U256, U256)| {
            *slot < PLAIN_MAX && machine.evm_state().slot(*at, *slot).abs_diff(*now) == effect.gain
        };
        effect.unbacked = !written.iter().any(booked);
    }
    // If an unwatched account paid, the tokens came from there and were not minted.
    let mut paid = |(who, after)| balance(machine, token, who).is_some_and(|had| had > after);
    effects.retain(|effect| !effect.event_sender.is_some_and(&mut paid));
    found.effects.extend(effects);
    outcome.ok && !outcome.writes.is_empty()
}

/// Whether the owner, and an outside caller, can move a holder's balance without an allowance, not merely because of missing settings.
pub(super) fn thefts(machine: &mut Machine<'_>, before: &Baseline<'_>) -> [bool; 2] {
    let thieves = [
        (before.scene.owner, before.trial.theft[0]),
        (before.scene.people.stranger, before.trial.theft[1]),
    ];
    thieves.map(|(thief, moved)| {
        let words = [
            abi::word_of(before.scene.people.holder),
            abi::word_of(thief),
            before.scene.funding.amount,
        ];
        let data = abi::call(abi::TRANSFER_FROM, &words);
        moved && {
            let outcome = machine.simulate(thief, before.scene.token, data.clone());
            !by_default(machine, before, thief, &data, &outcome)
        }
    })
}

/// Effects that still work for the owner after renouncing ownership, with the renouncing call.
pub(super) fn survivors(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    effects: &[FunctionEffect],
    functions: &[Function],
) -> Option<(FunctionEffect, Vec<FunctionEffect>)> {
    let renounce = effects.iter().find(|effect| {
        effect.power == Privilege::Renounce && effect.call.caller == Caller::Owner
    })?;
    let mark = machine.mark();
    machine.call(
        before.scene.owner,
        renounce.call.to,
        renounce.call.data.clone(),
    );
    let mut left = working(machine, before, effects);
    if left.is_empty() {
        left = taken_back(machine, before, effects, functions);
    }
    machine.rollback(mark);
    Some((renounce.clone(), left))
}

/// Effects that the old owner can use again after some call that may restore ownership.
pub(super) fn taken_back(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    effects: &[FunctionEffect],
    functions: &[Function],
) -> Vec<FunctionEffect> {
    if effects.is_empty() {
        return Vec::new();
    }
    for function in functions.iter().filter(|function| !function.standard()) {
        for filling in argument_sets(before.scene, &before.balances, before.scene.owner)
            .into_iter()
            .take(2)
        {
            let call = FunctionCall::new(
                function,
                before.scene.owner,
                before.scene.token,
                Caller::Owner,
                filling,
            );
            let mark = machine.mark();
            let outcome = machine.call(call.from, before.scene.token, call.data);
            let left = if outcome.writes.is_empty() {
                Vec::new()
            } else {
                working(machine, before, effects)
            };
            machine.rollback(mark);
            if !left.is_empty() {
                return left;
            }
        }
    }
    Vec::new()
}

/// The owner's effects that still occur in the present state.
fn working(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    effects: &[FunctionEffect],
) -> Vec<FunctionEffect> {
    let mut left = Vec::new();
    for effect in effects
        .iter()
        .filter(|effect| effect.call.caller == Caller::Owner && effect.power != Privilege::Renounce)
    {
        if left.len() >= 4 {
            break;
        }
        let inner = machine.mark();
        let outcome = effect.call.make(machine);
        let mut again = Vec::new();
        if outcome.ok && !outcome.writes.is_empty() {
            compare(machine, before, &effect.call, &outcome, &mut again);
        }
        machine.rollback(inner);
        if again.iter().any(|now| now.power == effect.power)
            && !left
                .iter()
                .any(|known: &FunctionEffect| known.power == effect.power)
        {
            left.push(effect.clone());
        }
    }
    left
}
