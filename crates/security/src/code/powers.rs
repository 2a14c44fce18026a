//! Exploration of the contract's functions: each is called as the owner and as an outside caller with sets of arguments by type, on a copy of
//! the world. The effects of a call are determined in `effects`.

use std::collections::HashSet;

use evmole::DynSolType;
use revm::primitives::{Address, U256};

use super::{
    abi::{self, Filling, Selector},
    dependence::{SlotWriter, SlotWriters},
    effects::{After, BalanceSheet, Baseline, Caller, FunctionCall, FunctionEffect, Power, compare, false_transfer, renounced, stopped},
    functions::{self, Function},
    funding::balance,
    live::is_contract,
    machine::{EvmOutcome, Machine},
    seek,
    trial::{Scene, trial},
    world::MockAnswer,
};

/// Number of argument sets each function is tried with.
pub(super) const SETS: usize = 18;

/// Argument sets by type: addresses, numbers, boolean.
pub(super) fn argument_sets(scene: &Scene, balances: &BalanceSheet, caller: Address) -> [Filling; SETS] {
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
        set(&[scene.people.holder, caller, scene.people.newcomer], &[amount, amount], true),
        set(&[caller, scene.people.holder], &[amount], true),
        set(&[scene.people.holder, caller], &[U256::ZERO], false),
        set(&[scene.pair, caller], &[pair / small(2)], true),
        set(&[caller], &[small(99), small(99)], true),
        set(&[scene.people.holder], &[U256::ONE], true),
        set(&[scene.people.holder], &[U256::MAX], false),
        set(&[caller], &[small(990), small(990), small(990), small(1000)], true),
        set(&[scene.people.gate], &[small(25)], false),
        set(&[caller, scene.people.newcomer], &[scene.funding.supply * small(10)], true),
        set(&[scene.people.holder, caller], &[small(50_000_000)], false),
        // A time in the future.
        set(&[scene.people.holder, caller], &[balances.get(scene.people.holder), small(1_900_000_000)], true),
        set(&[scene.token, caller], &[amount], true),
        set(&[scene.people.holder, caller], &[small(99), small(99)], true),
        // A hundredth, in parts of 10¹⁸.
        set(&[scene.people.holder, caller], &[small(1), small(10_000_000_000_000_000)], true),
        // Settings of a byte each may share a word.
        set(&[scene.people.holder, caller], &[U256::from_be_bytes([97; 32])], true),
        // Two that must not exceed a hundred together.
        set(&[scene.people.holder, caller], &[small(1), small(98)], true),
        // An account may be passed as a number.
        set(&[caller, scene.people.holder], &[abi::word_of(scene.people.holder)], true),
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
    let Scene { token, owner, people, .. } = *before.scene;
    let callers = [(owner, Caller::Owner), (people.stranger, Caller::Stranger)];
    let callers: Vec<_> = callers.into_iter().chain(privileged.iter().map(|of| (*of, Caller::Privileged))).collect();
    let mut found = Exploration::default();
    for pay in [U256::ZERO, COIN] {
        try_call(machine, before, &FunctionCall::payment(people.stranger, token, pay), &mut found);
    }
    try_with_settings(machine, before, &FunctionCall::payment(people.stranger, token, COIN), &mut found);
    // Who pays may get tokens for it; that coins stop trades is another matter.
    let known = found.effects.len();
    for (from, caller) in callers.iter().copied().filter(|(_, caller)| *caller != Caller::Stranger) {
        let payment = FunctionCall { from, caller, ..FunctionCall::payment(from, token, COIN) };
        try_call(machine, before, &payment, &mut found);
    }
    found.keep_harm(known, true);
    let (constants, accounts) = seek::of_sale(machine, before, &callers);
    found.constants = constants;
    let callers: Vec<_> = callers.into_iter().chain(accounts.into_iter().map(|of| (of, Caller::Privileged))).collect();
    let target = Target { at: token, functions, callers };
    try_functions(machine, before, &target, &mut found);
    let known = found.effects.len();
    for call in seek::by_standard_functions(machine, before, &target.callers) {
        try_call(machine, before, &call, &mut found);
    }
    found.keep_harm(known, true);
    if whose == Whose::Anybodys {
        seek::by_anybody(machine, before, &target, &mut found);
    }
    seek::steps::in_two_steps(machine, before, &target, &mut found);
    seek::steps::in_small_steps(machine, before, &target, &mut found);
    try_settings_in_pairs(machine, before, &mut found);
    found
}

/// Tries every function of a contract as every caller.
pub(super) fn try_functions(machine: &mut Machine<'_>, before: &Baseline<'_>, target: &Target<'_>, found: &mut Exploration) {
    let callers: Vec<_> = target.callers.iter().map(|(who, caller)| (*who, *caller, is_contract(&machine.world().code(*who)))).collect();
    for function in &target.functions.iter().flat_map(Function::readings).collect::<Vec<_>>() {
        for (from, caller, by_contract) in callers.iter().copied() {
            let sets = argument_sets(before.scene, &before.balances, from);
            let call = |filling| FunctionCall { by_contract, ..FunctionCall::new(function, from, target.at, caller, filling) };
            let calls: Vec<FunctionCall> = sets.into_iter().map(call).collect();
            let (mut last, mut worked) = (None, false);
            // What does as much without its arguments is a plain switch.
            if !function.arguments.is_empty() && caller != Caller::Stranger {
                let bare = Function { selector: function.selector, arguments: Vec::new() };
                try_call(
                    machine,
                    before,
                    &FunctionCall { by_contract, ..FunctionCall::new(&bare, from, target.at, caller, calls[0].filling.clone()) },
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
                    let nobody = Filling { addresses: vec![Address::ZERO, from], ..calls[0].filling.clone() };
                    try_call(machine, before, &call(nobody), found);
                }
                let paid = FunctionCall { pay: COIN, ..calls[1].clone() };
                if !try_call(machine, before, &paid, found) {
                    try_with_settings(machine, before, &paid, found);
                }
                continue;
            }
            let constants = found.constants.clone();
            let known = found.effects.len();
            for sought in seek::sought(machine, before, target.at, function, (from, caller), &constants) {
                worked |= try_call(machine, before, &FunctionCall { by_contract, ..sought }, found);
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
/// Maximum number of slots of a theft that are tried with other values.
const SETTINGS_OF_THEFT_MAX: usize = 8;

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
        let counts = |power| takes && matches!(power, Power::Drain | Power::Theft);
        self.effects.extend(new.into_iter().filter(|effect| effect.power.of_trades() || counts(effect.power)));
    }

    /// Keeps the function as a writer of the slots that the call changed.
    fn note_writes(&mut self, call: &FunctionCall, outcome: &EvmOutcome) {
        for slot in outcome.writes.iter().filter(|_| !call.standard()) {
            let writers = self.writers.entry(*slot).or_default();
            if !writers.iter().any(|writer| writer.caller == call.caller && writer.selector == call.selector) {
                let FunctionCall { caller, selector, arguments, .. } = call;
                writers.push(SlotWriter { caller: *caller, selector: *selector, arguments: arguments.clone() });
            }
        }
    }

    /// Keeps the most informative call: one with an effect, else one that succeeded, else one that reverted; of equals one with arguments.
    fn note(&mut self, call: &FunctionCall, after: Option<After>) {
        if self.storage_written || call.data.is_empty() || !call.pay.is_zero() || call.standard() {
            return;
        }
        let worth = |after: &Option<After>| after.as_ref().map_or(0, |after| 1 + usize::from(after.trades.is_some()));
        let known = self.tried.iter_mut().rev().find(|tried| tried.caller == call.caller && tried.selector == call.selector);
        let tried = Tried { caller: call.caller, selector: call.selector, arguments: call.arguments.clone(), after };
        match known {
            Some(known) if worth(&tried.after) + usize::from(known.arguments.is_empty()) > worth(&known.after) => *known = tried,
            Some(_) => {}
            None => self.tried.push(tried),
        }
    }
}

/// Maximum number of calls that something else may follow.
const PENDING_MAX: usize = 40;
/// Maximum number of settings tried in pairs.
const SETTINGS_MAX: usize = 14;
/// Maximum number of slots of a reverted call that are written to see its effect.
const SETTINGS_READ_MAX: usize = 10;
/// Payment for a purchase.
const COIN: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// With the code alone, every setting is zero. Writes the plain slots that a call reads, to see the effects that zero settings prevent.
fn try_with_settings(machine: &mut Machine<'_>, before: &Baseline<'_>, call: &FunctionCall, found: &mut Exploration) {
    if !before.code_only {
        return;
    }
    let token = before.scene.token;
    let slots = settings_read(machine, before, call);
    for values in settings_to_try(&slots, before.scene.funding.amount) {
        let mark = machine.mark();
        let trading = values.iter().any(|(slot, _)| before.slots.contains(&(token, *slot)));
        for (slot, value) in values {
            machine.world().set_slot(token, slot, value);
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
fn settings_read(machine: &mut Machine<'_>, before: &Baseline<'_>, call: &FunctionCall) -> Vec<U256> {
    let token = before.scene.token;
    machine.pay = call.pay;
    let (_, trace) = machine.trace(call.from, token, call.data.clone());
    let mut slots: Vec<U256> = Vec::new();
    for (slot, key) in trace.read {
        if key.is_none()
            && slots.len() < SETTINGS_READ_MAX
            && !slots.contains(&slot)
            && !before.ledger.contains(&(token, slot))
            && machine.world().slot(token, slot).is_zero()
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
    let ones = |left: Option<&U256>| slots.iter().filter(|slot| Some(*slot) != left).map(|slot| (*slot, U256::ONE)).collect::<Vec<_>>();
    let mut tries: Vec<Vec<_>> = slots.iter().flat_map(|slot| [large, U256::ONE, price].map(|value| vec![(*slot, value)])).collect();
    if slots.len() > 1 {
        tries.push(ones(None));
    }
    if slots.len() > 2 {
        tries.extend(slots.iter().map(|slot| ones(Some(slot))));
    }
    tries
}

/// Tries settings in pairs: one may set the pair's address and the other block it.
fn try_settings_in_pairs(machine: &mut Machine<'_>, before: &Baseline<'_>, found: &mut Exploration) {
    let settings = std::mem::take(&mut found.settings);
    for (at, first) in settings.iter().enumerate() {
        let mark = machine.mark();
        first.make(machine);
        for second in settings[at + 1..].iter().filter(|second| second.selector != first.selector) {
            let inner = machine.mark();
            let outcome = second.make(machine);
            if outcome.ok && !outcome.writes.is_empty() && machine.stopped.is_none() {
                let mut effects = Vec::new();
                let after = trial(machine, before.scene, false, None);
                stopped(machine, before, &after, second, &mut effects);
                for effect in &mut effects {
                    effect.after.push_str(&format!(" (after {})", abi::named_beside(first.selector, &first.arguments)));
                }
                found.effects.extend(effects);
            }
            machine.rollback(inner);
        }
        machine.rollback(mark);
    }
}

/// Tries one call on a copy of the world. Returns whether it changed anything.
pub(super) fn try_call(machine: &mut Machine<'_>, before: &Baseline<'_>, call: &FunctionCall, found: &mut Exploration) -> bool {
    let token = before.scene.token;
    let mark = machine.mark();
    let outcome = call.make(machine);
    found.note_writes(call, &outcome);
    let written: Written = outcome.writes.iter().map(|(at, slot)| (*at, *slot, machine.world().slot(*at, *slot))).collect();
    let mut attempt = Attempt { before, call, outcome: &outcome, written: &written, effects: Vec::new() };
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
        let booked =
            |(at, slot, now): &(Address, U256, U256)| *slot < PLAIN_MAX && machine.world().slot(*at, *slot).abs_diff(*now) == effect.gain;
        effect.unbacked = !written.iter().any(booked);
    }
    // If an unwatched account paid, the tokens came from there and were not minted.
    let mut paid = |(who, after)| balance(machine, token, who).is_some_and(|had| had > after);
    effects.retain(|effect| !effect.event_sender.is_some_and(&mut paid));
    found.effects.extend(effects);
    outcome.ok && !outcome.writes.is_empty()
}

/// A call that was tried, and the effects seen so far.
struct Attempt<'a> {
    before: &'a Baseline<'a>,
    call: &'a FunctionCall,
    outcome: &'a EvmOutcome,
    written: &'a Written,
    effects: Vec<FunctionEffect>,
}

impl Attempt<'_> {
    /// Determines the effects of a successful call in the world it left.
    fn read_effects(&mut self, machine: &mut Machine<'_>, found: &mut Exploration) {
        let Self { before, call, outcome, written, ref mut effects } = *self;
        if outcome.destroyed {
            effects.push(call.effect(Power::Destroy, 1.0, "its coins", "none"));
        }
        // Whoever exchanges the contract behind a proxy has every power: that is said once, as PROXY.
        if outcome.writes.iter().any(|(at, slot)| *at == before.scene.token && is_implementation(*slot)) {
            return;
        }
        let named = |target: &&Address| call.filling.addresses.contains(target);
        if outcome.delegated.iter().filter(named).any(|target| *target != before.scene.token) {
            effects.push(call.effect(Power::Delegate, 1.0, "own code", "the caller's"));
        }
        if call.caller == Caller::Stranger && outcome.handed.iter().filter(named).any(|target| *target != call.from) {
            effects.push(call.effect(Power::ArbitraryCall, 1.0, "own calls", "the caller's"));
        }
        if outcome.writes.iter().any(|slot| before.slots.contains(slot)) {
            if found.seen.insert((call.caller, call.standard(), written.clone())) {
                let after = compare(machine, before, call, outcome, effects);
                let setting = call.caller != Caller::Stranger && !after.moved && !call.standard() && effects.is_empty();
                found.note(call, Some(after));
                if setting && found.settings.len() < SETTINGS_MAX {
                    found.settings.push(call.clone());
                }
            }
            return;
        }
        if call.caller != Caller::Stranger && !call.standard() && !outcome.writes.is_empty() && found.pending.len() < PENDING_MAX {
            found.pending.push(call.clone());
        }
        // No slot was written that balances or trading depend on.
        let unchanged = before.unchanged();
        found.note(call, Some(After { trades: unchanged.trades.filter(|_| !outcome.writes.is_empty()), ..unchanged }));
        if !outcome.logs.is_empty() && !call.standard() {
            false_transfer(before, call, outcome, effects);
        }
        if before.owner.is_some_and(|owner| !owner.is_zero()) && !outcome.writes.is_empty() {
            renounced(machine, before, call, effects);
        }
    }

    /// Drops thefts by an outside caller that succeed only because a mock contract responded `true`.
    fn drop_mock_artifacts(&mut self, machine: &mut Machine<'_>) {
        let takes = |effect: &FunctionEffect| matches!(effect.power, Power::Drain | Power::Theft);
        let asked = self.outcome.called.iter().any(|address| machine.world().mocked(*address));
        if self.call.caller != Caller::Stranger || !asked || !self.effects.iter().any(takes) {
            return;
        }
        let mark = machine.mark();
        machine.world().answer = MockAnswer::Zero;
        let refused = !machine.call(self.call.from, self.call.to, self.call.data.clone()).ok;
        machine.rollback(mark);
        if refused {
            self.effects.retain(|effect| !takes(effect));
        }
    }

    /// Drops thefts by a standard transfer that succeed without an allowance only because no constructor ran.
    fn drop_uninitialized_artifacts(&mut self, machine: &mut Machine<'_>) {
        let takes = |effect: &FunctionEffect| effect.power.of_balances() || effect.power == Power::Theft;
        let call = self.call;
        // A transfer that makes somebody richer than all that was sent shows a scale that no constructor has set.
        let sent = call.filling.numbers.first().copied().unwrap_or_default();
        if self.before.code_only && call.standard() {
            self.effects.retain(|effect| !matches!(effect.power, Power::Mint | Power::HiddenMint) || effect.gain <= sent);
        }
        if call.standard() && self.effects.iter().any(takes) && by_default(machine, self.before, call.from, &call.data, self.outcome) {
            self.effects.retain(|effect| !takes(effect));
        }
    }

    /// Reclassifies tokens moved to another entry of the same holder as frozen, not drained: still theirs, but not for sale.
    fn reclassify_freezes(&mut self, machine: &mut Machine<'_>) {
        if self.call.caller == Caller::Stranger {
            return;
        }
        for at in (0..self.effects.len()).rev() {
            let FunctionEffect { power, burnt, taken, .. } = &self.effects[at];
            let (Power::Drain | Power::Dispense, false, Some((who, loss))) = (*power, *burnt, *taken) else { continue };
            if !self.is_kept_for(machine, who, loss) {
                continue;
            }
            if self.effects[at].power == Power::Drain {
                (self.effects[at].power, self.effects[at].size) = (Power::Blacklist, 1.0);
            } else {
                self.effects.remove(at);
            }
        }
    }

    /// Whether the call added the loss to one other entry of the same account.
    fn is_kept_for(&self, machine: &mut Machine<'_>, who: Address, loss: U256) -> bool {
        let token = self.before.scene.token;
        let risen = |(at, slot, now): &&(Address, U256, U256)| now.checked_sub(machine.world().slot(*at, *slot)) == Some(loss);
        // Exactly one slot: of two, one might be a thief's.
        let places: Vec<_> = self.written.iter().filter(risen).copied().collect();
        let [(address, slot, _)] = places[..] else { return false };
        address == token
            && !self.before.ledger.contains(&(address, slot))
            && machine.trace(self.call.from, token, self.call.data.clone()).1.kept_for(slot, who)
    }
}

/// Whether the slot names the contract behind a proxy (EIP-1967's, its beacon's, EIP-1822's).
fn is_implementation(slot: U256) -> bool {
    let first = slot.to_be_bytes::<32>();
    functions::PROXY_SLOTS.iter().any(|start| first.starts_with(start))
}

/// Whether a call works only while some setting is zero: with another value it reverts, while an approved sale still succeeds.
fn by_default(machine: &mut Machine<'_>, before: &Baseline<'_>, from: Address, data: &[u8], outcome: &EvmOutcome) -> bool {
    let token = before.scene.token;
    let plain = outcome.reads.iter().filter(|(at, slot)| before.code_only && *at == token && *slot < PLAIN_MAX).map(|(_, slot)| *slot);
    let slots: Vec<U256> = plain.filter(|slot| machine.world().slot(token, *slot).is_zero()).take(SETTINGS_OF_THEFT_MAX).collect();
    slots.into_iter().any(|slot| {
        let mark = machine.mark();
        machine.world().set_slot(token, slot, U256::MAX);
        let inner = machine.mark();
        let refused = !machine.call(from, token, data.to_vec()).ok;
        machine.rollback(inner);
        let only_this = refused && trial(machine, before.scene, false, None).sell.ok;
        machine.rollback(mark);
        only_this
    })
}

/// Whether the owner, and an outside caller, can move a holder's balance without an allowance, not merely because of missing settings.
pub(super) fn thefts(machine: &mut Machine<'_>, before: &Baseline<'_>) -> [bool; 2] {
    let thieves = [(before.scene.owner, before.trial.theft[0]), (before.scene.people.stranger, before.trial.theft[1])];
    thieves.map(|(thief, moved)| {
        let words = [abi::word_of(before.scene.people.holder), abi::word_of(thief), before.scene.funding.amount];
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
    let renounce = effects.iter().find(|effect| effect.power == Power::Renounce && effect.call.caller == Caller::Owner)?;
    let mark = machine.mark();
    machine.call(before.scene.owner, renounce.call.to, renounce.call.data.clone());
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
        for filling in argument_sets(before.scene, &before.balances, before.scene.owner).into_iter().take(2) {
            let call = FunctionCall::new(function, before.scene.owner, before.scene.token, Caller::Owner, filling);
            let mark = machine.mark();
            let outcome = machine.call(call.from, before.scene.token, call.data);
            let left = if outcome.writes.is_empty() { Vec::new() } else { working(machine, before, effects) };
            machine.rollback(mark);
            if !left.is_empty() {
                return left;
            }
        }
    }
    Vec::new()
}

/// The owner's effects that still occur in the present state.
fn working(machine: &mut Machine<'_>, before: &Baseline<'_>, effects: &[FunctionEffect]) -> Vec<FunctionEffect> {
    let mut left = Vec::new();
    for effect in effects.iter().filter(|effect| effect.call.caller == Caller::Owner && effect.power != Power::Renounce) {
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
        if again.iter().any(|now| now.power == effect.power) && !left.iter().any(|known: &FunctionEffect| known.power == effect.power) {
            left.push(effect.clone());
        }
    }
    left
}
