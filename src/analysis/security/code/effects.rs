//! Effects of one call: balances and a trading trial compared with those before it. The calls are chosen in `powers` and weighed in
//! `findings`.

use std::collections::HashSet;

use revm::primitives::{Address, U256};

use super::{
    abi::{self, Filling, Selector},
    functions::Function,
    funding::{answered_by_mock, balance},
    machine::{EvmOutcome, Machine},
    trial::{Leg, Scene, Trial, ratio, transfer_in, trial},
    world::{FRESH, HOLDER, MockAnswer, OTHER, PAIR, STRANGER, small},
};

/// Mock contract passed to functions that set a contract which the token consults.
pub(super) const GATE: Address = small(0x00FA_1A00);
/// Minimum drop of the received share that counts as a tax increase; `LOSS_MIN`: minimum loss of a balance that counts.
const TAX_STEP: f64 = 0.2;
const LOSS_MIN: f64 = 0.001;
/// Strength of a freeze that stops a holder's own transfers but not the router's sales on their behalf.
const OWN_HANDS: f64 = 0.5;

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
    FalseTransfer,
    /// The contract calls an address of the caller's choice with the caller's data.
    ArbitraryCall,
}

impl Power {
    /// Whether it shows in balances rather than in trading.
    pub(super) fn of_balances(self) -> bool {
        matches!(self, Self::Drain | Self::HiddenMint | Self::Mint | Self::Dispense)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Caller {
    Owner,
    /// An address found in the code, or in the storage of the dataset.
    Privileged,
    Stranger,
}

impl Caller {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Privileged => "address it obeys",
            Self::Stranger => "stranger",
        }
    }
}

/// A call and one effect of it.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone)]
pub(super) struct FunctionEffect {
    pub(super) power: Power,
    pub(super) call: FunctionCall,
    /// Magnitude: the share lost, minted or taxed, 0 to 1.
    pub(super) size: f64,
    pub(super) before: String,
    pub(super) after: String,
    /// Difference between `before` and `after`, if it is an amount.
    pub(super) change: Option<String>,
    /// Whether the call emitted any event.
    pub(super) logged: bool,
    /// Whether a balance rose while the supply did not.
    pub(super) from_nothing: bool,
    /// Whether the taken tokens were burned: the supply fell by the same amount and nobody gained.
    pub(super) burnt: bool,
    /// Address and amount taken, if none of our accounts gained.
    pub(super) taken: Option<(Address, U256)>,
    /// Increase of the largest gainer's balance.
    pub(super) made: U256,
    /// Whether the power has passed to the contract that is now consulted.
    pub(super) asks_owner: bool,
    /// Sender in the Transfer event, and its balance afterwards.
    pub(super) payer: Option<(Address, U256)>,
}

/// Balances of all accounts, and the supply.
#[derive(Debug, Clone)]
pub(super) struct BalanceSheet {
    pub(super) supply: Option<U256>,
    pub(super) of: Vec<(Address, U256)>,
    /// Slots read for one account's balance and no other's.
    own: Vec<(Address, (Address, U256))>,
    /// Whether some balance comes from a mock contract's answer.
    from_mock: bool,
}

impl BalanceSheet {
    pub(super) fn read(machine: &mut Machine<'_>, scene: &Scene, slots: Option<&mut HashSet<(Address, U256)>>) -> Self {
        let supply = machine.simulate(FRESH, scene.token, abi::call(abi::TOTAL_SUPPLY, &[]));
        let mut reads = supply.reads.clone();
        let mut own = Vec::new();
        let people = [HOLDER, OTHER, PAIR, scene.owner, STRANGER, FRESH, scene.token, Address::ZERO];
        // If transfers succeed only with generous mock answers, balances come from another contract.
        let (mut of, mut from_mock) = (Vec::new(), machine.world().answer == MockAnswer::Plenty);
        for who in people {
            let outcome = machine.simulate(FRESH, scene.token, abi::call(abi::BALANCE_OF, &[abi::word_of(who)]));
            from_mock |= answered_by_mock(machine, scene.token, who, &outcome);
            of.push((who, outcome.word().unwrap_or_default()));
            own.extend(outcome.reads.iter().map(|slot| (who, *slot)));
            reads.extend(outcome.reads);
        }
        let shared =
            |slot: &(Address, U256)| own.iter().any(|(who, of)| of == slot && own.iter().any(|(other, of)| of == slot && other != who));
        let own = own.iter().filter(|(_, slot)| !shared(slot)).copied().collect();
        if let Some(slots) = slots {
            slots.extend(reads);
        }
        Self { supply: supply.word(), of, own, from_mock }
    }

    /// Whether the call wrote a slot of this account's own balance. Changing a shared ledger or scale takes from nobody in particular.
    fn wrote(&self, who: Address, outcome: &EvmOutcome) -> bool {
        self.own.iter().any(|(of, slot)| *of == who && outcome.writes.contains(slot))
    }

    pub(super) fn get(&self, who: Address) -> U256 {
        self.of.iter().find(|(of, _)| *of == who).map_or(U256::ZERO, |(_, balance)| *balance)
    }
}

/// An account and an amount, for display.
fn holds(before: &Baseline<'_>, who: Address, value: U256) -> String {
    format!("{} {}", abi::name(who, before.scene.token), abi::amount(value, before.scene.funding.decimals))
}

/// An effect on an amount that belongs to `whose`.
fn on_amount(
    before: &Baseline<'_>,
    call: &FunctionCall,
    (power, size): (Power, f64),
    whose: &str,
    (was, now): (U256, U256),
) -> FunctionEffect {
    let [then, after, change] = abi::change(was, now, before.scene.funding.decimals);
    let effect = call.effect(power, size, format!("{whose} {then}"), format!("{whose} {after}"));
    FunctionEffect { change: Some(change), ..effect }
}

/// State before the call, shared by all calls.
pub(super) struct Baseline<'a> {
    pub(super) scene: &'a Scene,
    pub(super) balances: BalanceSheet,
    pub(super) trial: Trial,
    /// All slots read for this state.
    pub(super) slots: HashSet<(Address, U256)>,
    /// Those of them that hold balances and the supply.
    pub(super) ledger: HashSet<(Address, U256)>,
    /// Owner returned by the contract.
    pub(super) owner: Option<U256>,
    /// Whether only the runtime code is known, so that every setting is zero.
    pub(super) code_only: bool,
}

impl Baseline<'_> {
    /// Result of a call that changed nothing.
    pub(super) fn unchanged(&self) -> After {
        let trades = Some([self.trial.buy, self.trial.sell]);
        After { moved: false, holder: self.balances.get(HOLDER), supply: self.balances.supply, trades }
    }
}

#[derive(Debug, Clone)]
pub(super) struct FunctionCall {
    pub(super) from: Address,
    pub(super) caller: Caller,
    pub(super) selector: Selector,
    pub(super) data: Vec<u8>,
    pub(super) arguments: String,
    pub(super) filling: Filling,
    /// Native coin sent along.
    pub(super) pay: U256,
}

impl FunctionCall {
    pub(super) fn new(function: &Function, from: Address, caller: Caller, filling: Filling) -> Self {
        let (data, arguments) = function.call(&filling);
        Self { from, caller, selector: function.selector, data, arguments, filling, pay: U256::ZERO }
    }

    /// A plain payment without calldata: runs the fallback.
    pub(super) fn payment(pay: U256) -> Self {
        let filling = Filling::plain(Vec::new(), U256::ZERO);
        Self { from: STRANGER, caller: Caller::Stranger, selector: [0; 4], data: Vec::new(), arguments: String::new(), filling, pay }
    }

    /// Whether it is an ERC-20 function that moves tokens or permits it.
    pub(super) fn standard(&self) -> bool {
        abi::MOVING.contains(&self.selector)
    }

    pub(super) fn effect(&self, power: Power, size: f64, before: impl Into<String>, after: impl Into<String>) -> FunctionEffect {
        FunctionEffect {
            power,
            call: self.clone(),
            size,
            before: before.into(),
            after: after.into(),
            change: None,
            logged: false,
            from_nothing: false,
            burnt: false,
            taken: None,
            made: U256::ZERO,
            asks_owner: false,
            payer: None,
        }
    }
}

pub(super) fn renounced(machine: &mut Machine<'_>, before: &Baseline<'_>, call: &FunctionCall, effects: &mut Vec<FunctionEffect>) {
    let gone = abi::OWNER_OF_IT.iter().find_map(|selector| machine.ask(before.scene.token, *selector, &[])) == Some(U256::ZERO);
    if gone && call.caller == Caller::Owner {
        effects.push(call.effect(Power::Renounce, 1.0, "owner", "zero address"));
    }
}

/// State after a call, as far as examined.
#[derive(Debug, Clone, Default)]
pub(super) struct After {
    /// Whether balances or the supply changed.
    pub(super) moved: bool,
    pub(super) holder: U256,
    pub(super) supply: Option<U256>,
    /// Results of buying and selling; `None` if the holder had too little left to trade.
    pub(super) trades: Option<[Leg; 2]>,
}

/// Appends the effects of the call.
pub(super) fn compare(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    call: &FunctionCall,
    outcome: &EvmOutcome,
    effects: &mut Vec<FunctionEffect>,
) -> After {
    let scene = before.scene;
    if call.caller == Caller::Owner && before.owner.is_some_and(|owner| !owner.is_zero()) {
        renounced(machine, before, call, effects);
    }
    let balances = BalanceSheet::read(machine, scene, None);
    let moved = balances.supply != before.balances.supply || balances.of != before.balances.of;
    if moved && !balances.from_mock {
        dispensed(before, &balances, call, outcome, effects);
        let known = effects.len();
        drained(before, &balances, call, outcome, effects);
        let drained = effects.len() > known;
        minted(machine, before, &balances, call, outcome, drained, effects);
        for effect in &mut effects[known..] {
            effect.logged = !outcome.logs.is_empty();
        }
    }
    // An account with nothing left cannot sell, and a stranger's calls matter only for what they take.
    let poorer = |who| balances.get(who) < before.balances.get(who).min(scene.funding.amount * U256::from(4));
    let stands = After { moved, holder: balances.get(HOLDER), supply: balances.supply, trades: None };
    if poorer(HOLDER) || poorer(PAIR) {
        return stands;
    }
    let after = trial(machine, scene, false, None);
    for (thief, caller) in [(0, Caller::Owner), (1, Caller::Stranger)] {
        if after.theft[thief] && !before.trial.theft[thief] && (caller == call.caller || call.caller == Caller::Privileged) {
            effects.push(call.effect(Power::Theft, 1.0, "refused", "moved"));
        }
    }
    if call.caller != Caller::Stranger && !call.standard() {
        stopped(machine, before, &after, call, effects);
    }
    After { trades: Some([after.buy, after.sell]), ..stands }
}

/// Detects a Transfer event from an account with a known balance although no balance was written.
pub(super) fn false_transfer(before: &Baseline<'_>, call: &FunctionCall, outcome: &EvmOutcome, effects: &mut Vec<FunctionEffect>) {
    let mut logged = outcome.logs.iter().filter_map(|log| transfer_in(log, before.scene.token));
    let known = |who: &Address| before.balances.of.iter().any(|(of, had)| of == who && !of.is_zero() && !had.is_zero());
    if let Some((from, _, value)) = logged.find(|(from, to, value)| known(from) && from != to && !value.is_zero()) {
        let after = format!("{} told", abi::amount(value, before.scene.funding.decimals));
        effects.push(call.effect(Power::FalseTransfer, 1.0, holds(before, from, before.balances.get(from)), after));
    }
}

/// Detects tokens taken from the contract itself, from the owner by a stranger, or from the burn address.
fn dispensed(before: &Baseline<'_>, balances: &BalanceSheet, call: &FunctionCall, outcome: &EvmOutcome, effects: &mut Vec<FunctionEffect>) {
    // In an owner's call, the zero address may only stand for a setting that no constructor has set.
    let burnt = (call.caller == Caller::Stranger).then_some(Address::ZERO);
    for who in [before.scene.token, before.scene.owner].into_iter().chain(burnt) {
        let (had, has) = (before.balances.get(who), balances.get(who));
        if who != call.from && has < had && before.balances.wrote(who, outcome) {
            let name = abi::name(who, before.scene.token);
            let mut effect = on_amount(before, call, (Power::Dispense, ratio(had - has, had)), &name, (had, has));
            effect.taken = (!gained(before, balances)).then_some((who, had - has));
            effects.push(effect);
        }
    }
}

/// Whether any account gained.
fn gained(before: &Baseline<'_>, balances: &BalanceSheet) -> bool {
    balances.of.iter().any(|(of, now)| *now > before.balances.get(*of))
}

/// Detects a loss of a holder or the pair, unless all lost the same share.
fn drained(before: &Baseline<'_>, balances: &BalanceSheet, call: &FunctionCall, outcome: &EvmOutcome, effects: &mut Vec<FunctionEffect>) {
    let loss = |who| {
        let (had, has) = (before.balances.get(who), balances.get(who));
        if has < had && before.balances.wrote(who, outcome) { ratio(had - has, had) } else { 0.0 }
    };
    let losses = [HOLDER, OTHER, PAIR].map(|who| (who, loss(who)));
    // Rescaling (rebase): all balances changed by the same factor.
    let (low, high) = losses.iter().fold((1.0_f64, 0.0_f64), |(low, high), (_, loss)| (low.min(*loss), high.max(*loss)));
    if high < LOSS_MIN || (high < 0.999 && high - low < 1e-6) {
        return;
    }
    if let Some((who, size)) = losses.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        let (had, has) = (before.balances.get(who), balances.get(who));
        let mut effect = on_amount(before, call, (Power::Drain, size), &abi::name(who, before.scene.token), (had, has));
        let gained = gained(before, balances);
        effect.burnt =
            !gained && before.balances.supply.unwrap_or_default().checked_sub(balances.supply.unwrap_or_default()) == Some(had - has);
        effect.taken = (!gained).then_some((who, had - has));
        effects.push(effect);
    }
}

/// Detects a gain without a corresponding loss.
fn minted(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    balances: &BalanceSheet,
    call: &FunctionCall,
    outcome: &EvmOutcome,
    drained: bool,
    effects: &mut Vec<FunctionEffect>,
) {
    let token = before.scene.token;
    let least = (before.scene.funding.supply / U256::from(1_000_000)).max(U256::ONE);
    let rise = |now: U256, then: U256| now > then && now - then >= least;
    let (supply, was) = (balances.supply.unwrap_or_default(), before.balances.supply.unwrap_or_default());
    let winner = balances
        .of
        .iter()
        .filter(|(who, now)| *who != PAIR && rise(*now, before.balances.get(*who)))
        .max_by_key(|(who, now)| now.saturating_sub(before.balances.get(*who)));
    let more = rise(supply, was);
    // Rescaling (rebase): both holders gained.
    let scaled = rise(balances.get(HOLDER), before.balances.get(HOLDER)) && rise(balances.get(OTHER), before.balances.get(OTHER));
    if scaled || (winner.is_none() && !more) {
        return;
    }
    let transfers: Vec<_> =
        outcome.logs.iter().filter_map(|log| transfer_in(log, token)).filter(|(_, _, value)| !value.is_zero()).collect();
    let visible = transfers.iter().any(|(from, _, _)| from.is_zero());
    let mut payer = None;
    let (size, whose, went) = if more {
        (ratio(supply - was, was.max(U256::ONE)).min(1.0), "supply".to_owned(), (was, supply))
    } else if let Some((who, now)) = winner {
        let then = before.balances.get(*who);
        // Paid by another account: one of ours, or one whose balance fell.
        let paid = drained || before.balances.of.iter().any(|(of, had)| of != who && balances.get(*of) < *had);
        if paid {
            return;
        }
        payer = transfers.iter().map(|(from, _, _)| *from).find(|from| !from.is_zero());
        (ratio(*now - then, before.scene.funding.supply).min(1.0), abi::name(*who, token), (then, *now))
    } else {
        return;
    };
    let power = if visible { Power::Mint } else { Power::HiddenMint };
    let mut effect = on_amount(before, call, (power, size), &whose, went);
    effect.from_nothing = !more && !visible;
    effect.made = winner.map_or(U256::ZERO, |(who, now)| now.saturating_sub(before.balances.get(*who)));
    effect.payer = payer.map(|who| (who, balance(machine, token, who).unwrap_or_default()));
    effects.push(effect);
}

/// Detects effects of the call on trading.
pub(super) fn stopped(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    after: &Trial,
    call: &FunctionCall,
    effects: &mut Vec<FunctionEffect>,
) {
    let was = &before.trial;
    let all = was.sell.ok && !after.sell.ok && after.other_sell.is_none_or(|leg| !leg.ok);
    if was.sell.ok && !after.sell.ok {
        let power = if all { Power::StopSells } else { Power::Blacklist };
        effects.push(call.effect(
            power,
            1.0,
            "sell goes through",
            if all { "sells fail" } else { "sell fails, another holder's does not" },
        ));
    }
    // A freeze may stop the holder's transfers but forget the router's transferFrom. The frozen account must not be the newcomer.
    let own_hands = was.send.ok && !after.send.ok && after.sell.ok && after.other_send.is_some_and(|leg| leg.ok);
    if own_hands && !call.filling.addresses.contains(&FRESH) {
        effects.push(call.effect(Power::Blacklist, OWN_HANDS, "transfer goes through", "transfer fails, another holder's does not"));
    }
    // Stopping both buys and sells is a pause; stopping buys alone is a different power.
    if was.buy.ok && !after.buy.ok && !all && after.other_buy.is_none_or(|leg| !leg.ok) {
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

/// Detects whether trading depends on the answers of the contract that the call made the token consult.
fn gate(machine: &mut Machine<'_>, before: &Baseline<'_>, call: &FunctionCall, effects: &mut Vec<FunctionEffect>) {
    let mark = machine.mark();
    let scores = MockAnswer::ALL.map(|answer| {
        machine.world().answer = answer;
        let trial = trial(machine, before.scene, false, None);
        (trial.sell.ok, trial.buy.ok, trial.send.ok)
    });
    machine.rollback(mark);
    if scores.iter().any(|score| *score != scores[0]) {
        // Whether the caller has lost the power by handing it over.
        let asks_owner = !machine.simulate(call.from, before.scene.token, call.data.clone()).ok;
        effects.push(FunctionEffect { asks_owner, ..call.effect(Power::Gate, 1.0, "own rules", "another contract's word") });
    }
}
