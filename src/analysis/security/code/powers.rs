//! What the contract's functions can do to others: each is called as the owner and as a stranger with sets of arguments by type, and
//! balances, supply and a trial of trading are compared with before. Weighing it is `findings`'.

use std::collections::HashSet;

use revm::primitives::{Address, U256};

use super::{
    abi::{self, Filling, Selector},
    deal::balance,
    functions::Function,
    machine::{Machine, Outcome},
    trial::{Scene, Trial, moves, ratio, trial},
    world::{Answer, FRESH, HOLDER, OTHER, PAIR, STRANGER, small},
};

/// A contract that nobody knows, for functions that are told whom to ask.
const GATE: Address = small(0x00FA_1A00);
/// A cut of the received share that counts, and balances' smallest loss that does.
const TAX_STEP: f64 = 0.2;
const LOSS_MIN: f64 = 0.001;
/// A call that fails with this many sets in a row is taken to fail always.
pub(super) const SETS: usize = 13;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    Drain,
    HiddenMint,
    Mint,
    Blacklist,
    StopBuys,
    StopSells,
    RaiseTax,
    Gate,
    Destroy,
    Delegate,
    Theft,
    Renounce,
    Dispense,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Caller {
    Owner,
    /// An address that stands in the code.
    Master,
    Stranger,
}

impl Caller {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Master => "address in the code",
            Self::Stranger => "stranger",
        }
    }
}

/// One function with one set of arguments that did something.
#[derive(Debug, Clone)]
pub(super) struct Effect {
    pub(super) power: Power,
    pub(super) caller: Caller,
    pub(super) from: Address,
    pub(super) selector: Selector,
    pub(super) arguments: String,
    pub(super) data: Vec<u8>,
    /// How much: the share lost, made or taxed, 0 to 1.
    pub(super) size: f64,
    pub(super) before: String,
    pub(super) after: String,
    /// The log has some word about it.
    pub(super) logged: bool,
    /// A balance rose, and the supply did not.
    pub(super) from_nothing: bool,
    /// Coin was paid for it.
    pub(super) paid: bool,
    /// Whom the log names as the one who gave, and what that one has after.
    payer: Option<(Address, U256)>,
}

/// Balances of everybody, and the supply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Books {
    pub(super) supply: Option<U256>,
    pub(super) of: Vec<(Address, U256)>,
}

impl Books {
    pub(super) fn read(machine: &mut Machine<'_>, scene: &Scene, slots: Option<&mut HashSet<(Address, U256)>>) -> Self {
        let mut reads = Vec::new();
        let mut ask = |machine: &mut Machine<'_>, data| {
            let mut outcome = machine.look(FRESH, scene.token, data);
            reads.append(&mut outcome.reads);
            outcome.word()
        };
        let supply = ask(machine, abi::call(abi::TOTAL_SUPPLY, &[]));
        let people = [HOLDER, OTHER, PAIR, scene.owner, STRANGER, FRESH, scene.token];
        let mut of = Vec::new();
        for who in people {
            of.push((who, ask(machine, abi::call(abi::BALANCE_OF, &[abi::word_of(who)])).unwrap_or_default()));
        }
        if let Some(slots) = slots {
            slots.extend(reads);
        }
        Self { supply, of }
    }

    fn get(&self, who: Address) -> U256 {
        self.of.iter().find(|(of, _)| *of == who).map_or(U256::ZERO, |(_, balance)| *balance)
    }
}

/// The sets of arguments, by type: who, how much, yes or no.
pub(super) fn fillings(scene: &Scene, books: &Books, caller: Address) -> [Filling; SETS] {
    let amount = scene.hand.amount;
    let set = |addresses: &[Address], numbers: &[U256], yes| Filling { addresses: addresses.to_vec(), numbers: numbers.to_vec(), yes };
    let small = |value: u64| U256::from(value);
    let pair = books.get(PAIR);
    [
        set(&[HOLDER, caller, FRESH], &[amount, amount], true),
        set(&[caller, HOLDER], &[amount], true),
        set(&[HOLDER, caller], &[U256::ZERO], false),
        set(&[PAIR, caller], &[pair / small(2)], true),
        set(&[caller], &[small(99), small(99)], true),
        set(&[HOLDER], &[U256::ONE], true),
        set(&[HOLDER], &[U256::MAX], false),
        set(&[caller], &[small(990), small(990), small(990), small(1000)], true),
        set(&[GATE], &[small(25)], false),
        set(&[caller, FRESH], &[scene.hand.supply * small(10)], true),
        set(&[HOLDER, caller], &[small(50_000_000)], false),
        // For a time that lies ahead.
        set(&[HOLDER, caller], &[books.get(HOLDER), small(1_900_000_000)], true),
        set(&[scene.token, caller], &[amount], true),
    ]
}

/// What is the same for every call: the state before it.
pub(super) struct Before<'a> {
    pub(super) scene: &'a Scene,
    pub(super) books: Books,
    pub(super) trial: Trial,
    /// Slots that any of that was read from.
    pub(super) slots: HashSet<(Address, U256)>,
    /// Who the contract says owns it.
    pub(super) owner: Option<U256>,
    /// Only the code is known, so every setting is zero.
    pub(super) bare: bool,
}

/// Tries every function as everybody. Ends early when the machine has stopped.
pub(super) fn powers(machine: &mut Machine<'_>, before: &Before<'_>, functions: &[Function], masters: &[Address]) -> Vec<Effect> {
    let callers = [(before.scene.owner, Caller::Owner), (STRANGER, Caller::Stranger)];
    let callers: Vec<_> = callers.into_iter().chain(masters.iter().map(|of| (*of, Caller::Master))).collect();
    let mut found = Found::default();
    for pay in [U256::ZERO, COIN] {
        one(machine, before, &Call::bare(pay), &mut found);
    }
    unlock(machine, before, &Call::bare(COIN), &mut found);
    for function in functions {
        for (from, caller) in &callers {
            let sets = fillings(before.scene, &before.books, *from);
            let calls: Vec<Call> = sets.into_iter().map(|filling| Call::new(function, *from, *caller, filling)).collect();
            let (mut last, mut worked) = (None, false);
            for call in &calls {
                if last == Some(&call.data) {
                    continue;
                }
                last = Some(&call.data);
                worked |= one(machine, before, call, &mut found);
                if machine.stopped.is_some() {
                    return found.effects;
                }
                if function.arguments.is_empty() {
                    break;
                }
            }
            if *caller == Caller::Stranger {
                let paid = Call { pay: COIN, ..calls[1].clone() };
                if !one(machine, before, &paid, &mut found) {
                    unlock(machine, before, &paid, &mut found);
                }
            } else if !worked && !calls[0].standard() {
                unlock(machine, before, &calls[0], &mut found);
            }
        }
    }
    together(machine, before, &mut found);
    found.effects
}

/// What was found, and what need not be looked at again.
#[derive(Default)]
struct Found {
    effects: Vec<Effect>,
    seen: HashSet<(Caller, Vec<(Address, U256, U256)>)>,
    /// The owner's calls that changed what trading reads, and nothing that shows yet.
    settings: Vec<Call>,
}

/// Settings that are tried two by two.
const SETTINGS_MAX: usize = 14;
/// Slots of a refused call that are written to see what it would do.
const LOCKS_MAX: usize = 10;
/// What is paid for a purchase.
const COIN: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Where only the code is known every setting is zero: what a function refuses or leaves undone for that is shown by writing the plain
/// slots it reads. Slots that balances or trading are read from are left alone.
fn unlock(machine: &mut Machine<'_>, before: &Before<'_>, call: &Call, found: &mut Found) {
    if !before.bare {
        return;
    }
    let token = before.scene.token;
    machine.pay = call.pay;
    let (_, trace) = machine.trace(call.from, token, call.data.clone());
    let mut slots: Vec<U256> = Vec::new();
    for (slot, key) in trace.read {
        if key.is_none() && slots.len() < LOCKS_MAX && !slots.contains(&slot) && !before.slots.contains(&(token, slot)) && machine.world().slot(token, slot).is_zero() {
            slots.push(slot);
        }
    }
    if slots.is_empty() {
        return;
    }
    let large = U256::MAX >> 16;
    // A price at which what is paid buys no more than there is.
    let price = COIN / before.scene.hand.amount.min(COIN);
    let all = slots.iter().map(|slot| (*slot, U256::ONE)).collect::<Vec<_>>();
    let but = |left: &U256| all.iter().filter(|(slot, _)| slot != left).copied().collect::<Vec<_>>();
    let mut tries: Vec<Vec<(U256, U256)>> = slots.iter().flat_map(|slot| [large, U256::ONE, price].map(|value| vec![(*slot, value)])).collect();
    if slots.len() > 1 {
        tries.push(all.clone());
        if slots.len() > 2 {
            tries.extend(slots.iter().map(but));
        }
    }
    for values in tries {
        let mark = machine.mark();
        for (slot, value) in values {
            machine.world().set_slot(token, slot, value);
        }
        let known = found.effects.len();
        one(machine, before, call, found);
        machine.rollback(mark);
        if found.effects.len() > known {
            break;
        }
    }
}

/// Tries settings two by two: one names the pair, the other closes it.
fn together(machine: &mut Machine<'_>, before: &Before<'_>, found: &mut Found) {
    let settings = std::mem::take(&mut found.settings);
    for (at, first) in settings.iter().enumerate() {
        let mark = machine.mark();
        machine.call(first.from, before.scene.token, first.data.clone());
        for second in settings[at + 1..].iter().filter(|second| second.selector != first.selector) {
            let inner = machine.mark();
            let outcome = machine.call(second.from, before.scene.token, second.data.clone());
            if outcome.ok && !outcome.writes.is_empty() && machine.stopped.is_none() {
                let known = found.effects.len();
                let after = trial(machine, before.scene, false, None);
                stopped(machine, before, &after, second, &mut found.effects);
                for effect in &mut found.effects[known..] {
                    effect.after = format!("{} (after {}({}))", effect.after, abi::hex(first.selector), first.arguments);
                }
            }
            machine.rollback(inner);
        }
        machine.rollback(mark);
    }
}

#[derive(Debug, Clone)]
struct Call {
    from: Address,
    caller: Caller,
    selector: Selector,
    data: Vec<u8>,
    arguments: String,
    filling: Filling,
    pay: U256,
}

impl Call {
    fn new(function: &Function, from: Address, caller: Caller, filling: Filling) -> Self {
        let (data, arguments) = abi::encode(&function.arguments, &filling);
        let data = [&function.selector[..], &data].concat();
        Self { from, caller, selector: function.selector, data, arguments, filling, pay: U256::ZERO }
    }

    /// No function at all: what the fallback does.
    fn bare(pay: U256) -> Self {
        let filling = Filling { addresses: Vec::new(), numbers: Vec::new(), yes: true };
        Self { from: STRANGER, caller: Caller::Stranger, selector: [0; 4], data: Vec::new(), arguments: String::new(), filling, pay }
    }

    fn effect(&self, power: Power, size: f64, before: impl Into<String>, after: impl Into<String>) -> Effect {
        Effect {
            power,
            caller: self.caller,
            from: self.from,
            selector: self.selector,
            arguments: self.arguments.clone(),
            data: self.data.clone(),
            size,
            before: before.into(),
            after: after.into(),
            logged: false,
            from_nothing: false,
            paid: !self.pay.is_zero(),
            payer: None,
        }
    }
}

impl std::hash::Hash for Caller {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (*self as u8).hash(state);
    }
}

/// One call on a copy of the world. Returns whether it did anything.
fn one(machine: &mut Machine<'_>, before: &Before<'_>, call: &Call, found: &mut Found) -> bool {
    let token = before.scene.token;
    let mark = machine.mark();
    let known = found.effects.len();
    machine.pay = call.pay;
    let outcome = machine.call(call.from, token, call.data.clone());
    if outcome.ok {
        if outcome.destroyed {
            found.effects.push(call.effect(Power::Destroy, 1.0, "code", "none"));
        }
        if outcome.delegated.iter().any(|target| call.filling.addresses.contains(target) && *target != token) {
            found.effects.push(call.effect(Power::Delegate, 1.0, "own code", "the caller's"));
        }
        if outcome.writes.iter().any(|slot| before.slots.contains(slot)) {
            let state = outcome.writes.iter().map(|(at, slot)| (*at, *slot, machine.world().slot(*at, *slot))).collect();
            if found.seen.insert((call.caller, state)) {
                let moved = compare(machine, before, call, &outcome, &mut found.effects);
                let setting = call.caller != Caller::Stranger && !moved && !call.standard() && found.effects.len() == known;
                if setting && found.settings.len() < SETTINGS_MAX {
                    found.settings.push(call.clone());
                }
            }
        } else if before.owner.is_some_and(|owner| !owner.is_zero()) && !outcome.writes.is_empty() {
            renounced(machine, before, call, &mut found.effects);
        }
    }
    machine.rollback(mark);
    hearsay(machine, before, call, &outcome, &mut found.effects, known);
    let effects = &mut found.effects;
    // Somebody nobody watched may have paid: then the balance came from there, and was not made.
    for at in (known..effects.len()).rev() {
        if let Some((who, after)) = effects[at].payer
            && balance(machine, token, who).is_some_and(|had| had > after)
        {
            effects.remove(at);
        }
    }
    outcome.ok && !outcome.writes.is_empty()
}

/// What a stranger can take only because a contract that we made up said yes is no finding.
fn hearsay(machine: &mut Machine<'_>, before: &Before<'_>, call: &Call, outcome: &Outcome, effects: &mut Vec<Effect>, known: usize) {
    let takes = |effect: &Effect| matches!(effect.power, Power::Drain | Power::Theft);
    let asked = outcome.called.iter().any(|address| machine.world().mocked(*address));
    if call.caller != Caller::Stranger || !asked || !effects[known..].iter().any(takes) {
        return;
    }
    let mark = machine.mark();
    machine.world().answer = Answer::Zero;
    let refused = !machine.call(call.from, before.scene.token, call.data.clone()).ok;
    machine.rollback(mark);
    if refused {
        let mut at = 0;
        effects.retain(|effect| {
            at += 1;
            at <= known || !takes(effect)
        });
    }
}

fn renounced(machine: &mut Machine<'_>, before: &Before<'_>, call: &Call, effects: &mut Vec<Effect>) {
    let gone = abi::OWNER_OF_IT.iter().find_map(|selector| machine.ask(before.scene.token, *selector, &[])) == Some(U256::ZERO);
    if gone && call.caller == Caller::Owner {
        effects.push(call.effect(Power::Renounce, 1.0, "owner", "zero address"));
    }
}

/// Returns whether balances changed.
fn compare(machine: &mut Machine<'_>, before: &Before<'_>, call: &Call, outcome: &Outcome, effects: &mut Vec<Effect>) -> bool {
    let scene = before.scene;
    if call.caller == Caller::Owner && before.owner.is_some_and(|owner| !owner.is_zero()) {
        renounced(machine, before, call, effects);
    }
    let books = Books::read(machine, scene, None);
    let moved = books != before.books;
    if moved {
        dispensed(before, &books, call, effects);
        let known = effects.len();
        drained(before, &books, call, effects);
        let drained = effects.len() > known;
        minted(machine, before, &books, call, outcome, drained, effects);
        for effect in &mut effects[known..] {
            effect.logged = !outcome.logs.is_empty();
        }
    }
    // Who has nothing left cannot sell; and a stranger's wishes are only looked at for what they take.
    let poorer = |who| books.get(who) < before.books.get(who).min(scene.hand.amount * U256::from(4));
    if poorer(HOLDER) || poorer(PAIR) {
        return moved;
    }
    let after = trial(machine, scene, false, None);
    for (thief, caller) in [(0, Caller::Owner), (1, Caller::Stranger)] {
        if after.theft[thief] && !before.trial.theft[thief] && (caller == call.caller || call.caller == Caller::Master) {
            effects.push(call.effect(Power::Theft, 1.0, "refused", "moved"));
        }
    }
    if call.caller != Caller::Stranger && !call.standard() {
        stopped(machine, before, &after, call, effects);
    }
    moved
}

impl Call {
    fn standard(&self) -> bool {
        [abi::TRANSFER, abi::APPROVE, abi::TRANSFER_FROM].contains(&self.selector)
    }
}

/// Whether the contract's own tokens, or the owner's by a stranger's call, went elsewhere.
fn dispensed(before: &Before<'_>, books: &Books, call: &Call, effects: &mut Vec<Effect>) {
    for who in [before.scene.token, before.scene.owner] {
        let (had, has) = (before.books.get(who), books.get(who));
        if who != call.from && has < had {
            let name = abi::name(who);
            effects.push(call.effect(Power::Dispense, ratio(had - has, had), format!("{name} {}", abi::figure(had)), format!("{name} {}", abi::figure(has))));
        }
    }
}

/// Whether a holder or the pair has less, without all having less alike.
fn drained(before: &Before<'_>, books: &Books, call: &Call, effects: &mut Vec<Effect>) {
    let loss = |who| {
        let (had, has) = (before.books.get(who), books.get(who));
        if has < had { ratio(had - has, had) } else { 0.0 }
    };
    let losses = [HOLDER, OTHER, PAIR].map(|who| (who, loss(who)));
    // Rescaled: everybody's balance changed by one factor.
    let (low, high) = losses.iter().fold((1.0_f64, 0.0_f64), |(low, high), (_, loss)| (low.min(*loss), high.max(*loss)));
    if high < LOSS_MIN || (high < 0.999 && high - low < 1e-6) {
        return;
    }
    if let Some((who, size)) = losses.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        let (had, has) = (before.books.get(who), books.get(who));
        let name = abi::name(who);
        effects.push(call.effect(Power::Drain, size, format!("{name} {}", abi::figure(had)), format!("{name} {}", abi::figure(has))));
    }
}

/// Whether somebody has more that nobody lost.
fn minted(
    machine: &mut Machine<'_>,
    before: &Before<'_>,
    books: &Books,
    call: &Call,
    outcome: &Outcome,
    drained: bool,
    effects: &mut Vec<Effect>,
) {
    let token = before.scene.token;
    let least = (before.scene.hand.supply / U256::from(1_000_000)).max(U256::ONE);
    let rise = |now: U256, then: U256| now > then && now - then >= least;
    let (supply, was) = (books.supply.unwrap_or_default(), before.books.supply.unwrap_or_default());
    let winner = books
        .of
        .iter()
        .filter(|(who, now)| *who != PAIR && rise(*now, before.books.get(*who)))
        .max_by_key(|(who, now)| now.saturating_sub(before.books.get(*who)));
    let more = rise(supply, was);
    // Rescaled: both holders have more.
    let scaled = rise(books.get(HOLDER), before.books.get(HOLDER)) && rise(books.get(OTHER), before.books.get(OTHER));
    if scaled || (winner.is_none() && !more) {
        return;
    }
    let transfers: Vec<_> = outcome.logs.iter().filter_map(|log| moves(log, token)).filter(|(_, _, value)| !value.is_zero()).collect();
    let visible = transfers.iter().any(|(from, _, _)| from.is_zero());
    let mut payer = None;
    let (size, then, now) = if more {
        (
            ratio(supply - was, was.max(U256::ONE)).min(1.0),
            format!("supply {}", abi::figure(was)),
            format!("supply {}", abi::figure(supply)),
        )
    } else if let Some((who, now)) = winner {
        let then = before.books.get(*who);
        // Somebody else paid it: one of ours, or one that the log names and whose balance fell.
        let paid = drained || before.books.of.iter().any(|(of, had)| of != who && books.get(*of) < *had);
        if paid {
            return;
        }
        payer = transfers.iter().map(|(from, _, _)| *from).find(|from| !from.is_zero());
        let name = abi::name(*who);
        (
            ratio(*now - then, before.scene.hand.supply).min(1.0),
            format!("{name} {}", abi::figure(then)),
            format!("{name} {}", abi::figure(*now)),
        )
    } else {
        return;
    };
    let power = if visible { Power::Mint } else { Power::HiddenMint };
    let mut effect = call.effect(power, size, then, now);
    effect.from_nothing = !more && !visible;
    effect.payer = payer.map(|who| (who, balance(machine, token, who).unwrap_or_default()));
    effects.push(effect);
}

/// What the call did to trading.
fn stopped(machine: &mut Machine<'_>, before: &Before<'_>, after: &Trial, call: &Call, effects: &mut Vec<Effect>) {
    let was = &before.trial;
    if was.sell.ok && !after.sell.ok {
        let all = after.other_sell.is_none_or(|leg| !leg.ok);
        let power = if all { Power::StopSells } else { Power::Blacklist };
        effects.push(call.effect(
            power,
            1.0,
            "sell goes through",
            if all { "sells fail" } else { "sell fails, another holder's does not" },
        ));
    }
    if was.buy.ok && !after.buy.ok && after.other_buy.is_none_or(|leg| !leg.ok) {
        effects.push(call.effect(Power::StopBuys, 1.0, "buy goes through", "buys fail"));
    }
    for (name, old, new) in [("buy", was.buy, after.buy), ("sell", was.sell, after.sell)] {
        if old.ok && new.ok && old.share - new.share >= TAX_STEP {
            let text = |share: f64| format!("{name} receives {:.1} %", share * 100.0);
            effects.push(call.effect(Power::RaiseTax, old.share - new.share, text(old.share), text(new.share)));
        }
    }
    if after.called.contains(&GATE) && !was.called.contains(&GATE) {
        gate(machine, before, call, effects);
    }
}

/// The contract now asks the one it was told to: does trading hang on the answer?
fn gate(machine: &mut Machine<'_>, before: &Before<'_>, call: &Call, effects: &mut Vec<Effect>) {
    let mark = machine.mark();
    let scores = Answer::ALL.map(|answer| {
        machine.world().answer = answer;
        let trial = trial(machine, before.scene, false, None);
        (trial.sell.ok, trial.buy.ok, trial.send.ok)
    });
    machine.rollback(mark);
    if scores.iter().any(|score| *score != scores[0]) {
        effects.push(call.effect(Power::Gate, 1.0, "own rules", "another contract's word"));
    }
}

/// Of the effects that matter, those that still work for the owner after ownership was given up.
pub(super) fn survivors(machine: &mut Machine<'_>, before: &Before<'_>, effects: &[Effect]) -> Option<(Effect, Vec<Effect>)> {
    let renounce = effects.iter().find(|effect| effect.power == Power::Renounce && effect.caller == Caller::Owner)?;
    let mark = machine.mark();
    machine.call(before.scene.owner, before.scene.token, renounce.data.clone());
    let mut left = Vec::new();
    for effect in effects.iter().filter(|effect| effect.caller == Caller::Owner && effect.power != Power::Renounce) {
        if left.len() >= 4 {
            break;
        }
        let inner = machine.mark();
        let outcome = machine.call(effect.from, before.scene.token, effect.data.clone());
        let mut again = Vec::new();
        if outcome.ok && !outcome.writes.is_empty() {
            let call = Call {
                from: effect.from,
                caller: effect.caller,
                selector: effect.selector,
                data: effect.data.clone(),
                arguments: effect.arguments.clone(),
                filling: Filling { addresses: Vec::new(), numbers: Vec::new(), yes: true },
                pay: U256::ZERO,
            };
            compare(machine, before, &call, &outcome, &mut again);
        }
        machine.rollback(inner);
        if again.iter().any(|now| now.power == effect.power) && !left.iter().any(|known: &Effect| known.power == effect.power) {
            left.push(effect.clone());
        }
    }
    machine.rollback(mark);
    Some((renounce.clone(), left))
}
