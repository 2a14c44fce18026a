//! Effects of one call: balances and a simulated trade compared with those before it. The calls are chosen in `powers` and weighed in
//! `findings`.

use std::collections::HashSet;

use revm::primitives::{Address, U256};

use super::{
    abi::{self, Filling, Selector},
    functions::Function,
    funding::{answered_by_mock, balance},
    guards::Branch,
    machine::{EvmOutcome, Machine},
    trial::{self, Leg, Scene, Trial, ratio, transfer_in, trial},
    world::MockAnswer,
};

/// Minimum drop of the received share that counts as a tax increase; `LOSS_MIN`: minimum loss of a balance that counts.
const TAX_STEP: f64 = 0.2;
const LOSS_MIN: f64 = 0.001;
/// Share that a scale has to take.
const SCALED: f64 = 0.5;
/// Minimum change of one holder's received share that counts as an exemption.
const EXEMPT_STEP: f64 = 0.01;
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
    /// A tax of one holder, while another's stays.
    TaxOne,
    /// One holder pays less than before, while another pays the same.
    Exempt,
    /// A larger sell fails, while one of ordinary size succeeds.
    LowerLimit,
    Gate,
    Destroy,
    Delegate,
    Theft,
    Renounce,
    Dispense,
    FalseTransfer,
    /// The contract sells tokens of its own, and the caller gets nothing.
    SwapBack,
    /// The contract calls an address of the caller's choice with the caller's data.
    ArbitraryCall,
}

impl Power {
    /// Whether it shows in trading.
    pub(super) fn of_trades(self) -> bool {
        matches!(self, Self::StopSells | Self::StopBuys | Self::Blacklist | Self::RaiseTax | Self::TaxOne | Self::LowerLimit)
    }

    /// Whether it shows in balances rather than in trading.
    pub(super) fn of_balances(self) -> bool {
        matches!(self, Self::Drain | Self::HiddenMint | Self::Mint | Self::Dispense)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Caller {
    Owner,
    /// An address found in the code or in the dataset's storage.
    Privileged,
    /// A caller that meets conditions which no account here is known to meet.
    Recognized,
    Stranger,
}

impl Caller {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Privileged => "address it obeys",
            Self::Recognized => "whoever meets its conditions",
            Self::Stranger => "stranger",
        }
    }

    /// Its name in a sentence.
    pub(super) fn with_article(self) -> &'static str {
        match self {
            Self::Owner => "the owner",
            Self::Privileged => "an authorized address",
            Self::Recognized => "a caller that meets its conditions",
            Self::Stranger => "any caller",
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
    pub(super) unbacked: bool,
    /// The calls that were made before.
    pub(super) earlier: Vec<FunctionCall>,
    /// Whether the call was to another contract, which the token asks.
    pub(super) of_other: bool,
    /// Whether they were the token contract's own.
    pub(super) of_contract: bool,
    /// Whether the taken tokens were burned: the supply fell by the same amount and no account gained.
    pub(super) burnt: bool,
    /// Address and amount taken, if none of our accounts gained.
    pub(super) taken: Option<(Address, U256)>,
    /// Increase of the largest gainer's balance.
    pub(super) gain: U256,
    /// Whether the power has passed to the contract that is now consulted.
    pub(super) control_transferred: bool,
    /// Sender in the Transfer event, and its balance afterwards.
    pub(super) event_sender: Option<(Address, U256)>,
}

/// Balances of all accounts, and the supply.
#[derive(Debug, Clone)]
pub(super) struct BalanceSheet {
    pub(super) supply: Option<U256>,
    pub(super) of: Vec<(Address, U256)>,
    /// Coins of the chain, of who calls.
    coins: [(Address, U256); 2],
    /// Slots read for one account's balance and no other's.
    own: Vec<(Address, (Address, U256))>,
    /// Whether some balance comes from a mock contract's answer.
    from_mock: bool,
    /// Whether the contract answered neither for a holder nor for the supply.
    silent: bool,
}

impl BalanceSheet {
    pub(super) fn read(machine: &mut Machine<'_>, scene: &Scene, slots: Option<&mut HashSet<(Address, U256)>>) -> Self {
        let supply = machine.simulate(scene.people.newcomer, scene.token, abi::call(abi::TOTAL_SUPPLY, &[]));
        let mut reads = supply.reads.clone();
        let mut own = Vec::new();
        let people = [
            scene.people.holder,
            scene.people.other,
            scene.pair,
            scene.owner,
            scene.people.stranger,
            scene.people.newcomer,
            scene.token,
            Address::ZERO,
        ];
        // If transfers succeed only with generous mock answers, balances come from another contract.
        let (mut of, mut from_mock, mut silent) = (Vec::new(), machine.world().answer == MockAnswer::HugeBalance, false);
        let others = scene.obeyed.iter().copied().filter(|who| !people.contains(who));
        for who in people.into_iter().chain(others) {
            let outcome = machine.simulate(scene.people.newcomer, scene.token, abi::call(abi::BALANCE_OF, &[abi::word_of(who)]));
            from_mock |= answered_by_mock(machine, scene.token, who, &outcome);
            silent |= (who == scene.people.holder || who == scene.people.other) && outcome.word().is_none() && supply.word().is_none();
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
        let coins = [scene.owner, scene.people.stranger].map(|who| (who, machine.world().coins(who)));
        Self { supply: supply.word(), of, coins, own, from_mock, silent }
    }

    /// A slot in which this account's balance is kept, and no other's.
    pub(super) fn slot_of(&self, who: Address) -> Option<(Address, U256)> {
        self.own.iter().rev().find(|(of, _)| *of == who).map(|(_, slot)| *slot)
    }

    fn coins_of(&self, who: Address) -> U256 {
        self.coins.iter().find(|(of, _)| *of == who).map_or(U256::ZERO, |(_, coins)| *coins)
    }

    /// Whether the call wrote a slot of this account's own balance. Changing a shared ledger or scale takes from no particular account.
    fn wrote(&self, who: Address, outcome: &EvmOutcome) -> bool {
        self.own.iter().any(|(of, slot)| *of == who && outcome.writes.contains(slot))
    }

    pub(super) fn get(&self, who: Address) -> U256 {
        self.of.iter().find(|(of, _)| *of == who).map_or(U256::ZERO, |(_, balance)| *balance)
    }
}

/// An account and an amount, for display.
fn holds(before: &Baseline<'_>, who: Address, value: U256) -> String {
    format!("{} {}", before.scene.name(who), abi::amount(value, before.scene.funding.decimals))
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
        After { moved: false, holder: self.balances.get(self.scene.people.holder), supply: self.balances.supply, trades }
    }
}

#[derive(Debug, Clone)]
pub(super) struct FunctionCall {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) caller: Caller,
    /// Whether a contract is the caller, so that several may have to agree.
    pub(super) by_contract: bool,
    pub(super) selector: Selector,
    pub(super) data: Vec<u8>,
    pub(super) arguments: String,
    pub(super) filling: Filling,
    /// Native coin sent along.
    pub(super) pay: U256,
    /// Whether the arguments are those that the function looks for.
    pub(super) sought: bool,
    /// Branches that go the other way, as for whoever meets their conditions.
    pub(super) forced: Vec<Branch>,
}

impl FunctionCall {
    pub(super) fn new(function: &Function, from: Address, to: Address, caller: Caller, filling: Filling) -> Self {
        let (data, arguments) = function.call(&filling);
        Self {
            from,
            to,
            caller,
            by_contract: false,
            selector: function.selector,
            data,
            arguments,
            filling,
            pay: U256::ZERO,
            sought: false,
            forced: Vec::new(),
        }
    }

    /// A plain payment without calldata: runs the fallback.
    pub(super) fn payment(stranger: Address, token: Address, pay: U256) -> Self {
        let filling = Filling::plain(Vec::new(), U256::ZERO);
        Self {
            from: stranger,
            to: token,
            caller: Caller::Stranger,
            by_contract: false,
            selector: [0; 4],
            data: Vec::new(),
            arguments: String::new(),
            filling,
            pay,
            sought: false,
            forced: Vec::new(),
        }
    }

    /// Whether it is an ERC-20 function that moves tokens or permits it, and the arguments are ordinary ones.
    pub(super) fn standard(&self) -> bool {
        abi::MOVING.contains(&self.selector) && !self.sought
    }

    /// Makes the call.
    pub(super) fn make(&self, machine: &mut Machine<'_>) -> EvmOutcome {
        machine.pay = self.pay;
        machine.force(&self.forced);
        let outcome = machine.call(self.from, self.to, self.data.clone());
        machine.force(&[]);
        outcome
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
            unbacked: false,
            earlier: Vec::new(),
            of_other: false,
            of_contract: false,
            burnt: false,
            taken: None,
            gain: U256::ZERO,
            control_transferred: false,
            event_sender: None,
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
        effects.extend(Movement { before, after: &balances, call, outcome }.effects(machine));
    }
    // An account with nothing left cannot sell, and a stranger's calls matter only for what they take.
    let poorer = |who| balances.get(who) < before.balances.get(who).min(scene.funding.amount * U256::from(4));
    let stands = After { moved, holder: balances.get(scene.people.holder), supply: balances.supply, trades: None };
    if poorer(scene.people.holder) || poorer(scene.pair) {
        return stands;
    }
    let after = trial(machine, scene, false, None);
    for (thief, caller) in [(0, Caller::Owner), (1, Caller::Stranger)] {
        if after.theft[thief]
            && !before.trial.theft[thief]
            && (caller == call.caller || matches!(call.caller, Caller::Privileged | Caller::Recognized))
        {
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
        let after = format!("{} in the event", abi::amount(value, before.scene.funding.decimals));
        effects.push(call.effect(Power::FalseTransfer, 1.0, holds(before, from, before.balances.get(from)), after));
    }
}

/// A call that changed balances or the supply.
struct Movement<'a> {
    before: &'a Baseline<'a>,
    after: &'a BalanceSheet,
    call: &'a FunctionCall,
    outcome: &'a EvmOutcome,
}

impl Movement<'_> {
    fn effects(&self, machine: &mut Machine<'_>) -> Vec<FunctionEffect> {
        let mut effects = self.dispensed();
        let mut drained = self.drained();
        let mut minted = self.minted(machine, drained.is_some());
        for effect in drained.iter_mut().chain(&mut minted) {
            effect.logged = !self.outcome.logs.is_empty();
        }
        effects.extend(drained);
        effects.extend(minted);
        effects
    }

    /// Balance before and after.
    fn balance(&self, who: Address) -> (U256, U256) {
        (self.before.balances.get(who), self.after.get(who))
    }

    /// Whether the account lost something, by a write to its own balance. What a caller gives away was its own.
    fn lost(&self, who: Address) -> bool {
        let (had, has) = self.balance(who);
        who != self.call.from && has < had && self.before.balances.wrote(who, self.outcome)
    }

    /// Whether the caller has more than before, of the token or of coins.
    fn profits(&self) -> bool {
        let from = self.call.from;
        let (had, has) = self.balance(from);
        has > had || self.after.coins_of(from) > self.before.balances.coins_of(from)
    }

    /// Whether any account gained.
    fn gained(&self) -> bool {
        self.after.of.iter().any(|(of, now)| *now > self.before.balances.get(*of))
    }

    /// An effect on an amount that belongs to `whose`.
    fn on_amount(&self, power: Power, size: f64, whose: &str, (was, now): (U256, U256)) -> FunctionEffect {
        let [then, after, change] = abi::change(was, now, self.before.scene.funding.decimals);
        let effect = self.call.effect(power, size, format!("{whose} {then}"), format!("{whose} {after}"));
        FunctionEffect { change: Some(change), ..effect }
    }

    /// Detects tokens taken from the contract itself, from the owner by an outside caller, or from the burn address.
    fn dispensed(&self) -> Vec<FunctionEffect> {
        let scene = self.before.scene;
        // In an owner's call, the zero address may only stand for a setting that no constructor has set.
        let burnt = (self.call.caller == Caller::Stranger).then_some(Address::ZERO);
        let givers = [scene.token, scene.owner].into_iter().chain(burnt).filter(|who| self.lost(*who));
        givers
            .map(|who| {
                let (had, has) = self.balance(who);
                let (then, now) = self.balance(scene.pair);
                let sold = now.saturating_sub(then) >= (had - has) / U256::from(10) * U256::from(9);
                let power = if who == scene.token && sold && !self.profits() { Power::SwapBack } else { Power::Dispense };
                let effect = self.on_amount(power, ratio(had - has, had), &scene.name(who), (had, has));
                FunctionEffect { of_contract: who == scene.token, taken: (!self.gained()).then_some((who, had - has)), ..effect }
            })
            .collect()
    }

    /// Detects a loss of a holder or the pair, unless all lost the same share.
    fn drained(&self) -> Option<FunctionEffect> {
        let loss = |who| {
            let (had, has) = self.balance(who);
            if self.lost(who) { ratio(had - has, had) } else { 0.0 }
        };
        let losses = [self.before.scene.people.holder, self.before.scene.people.other, self.before.scene.pair].map(|who| (who, loss(who)));
        // Rescaling (rebase): all balances changed by the same factor.
        let (low, high) = losses.iter().fold((1.0_f64, 0.0_f64), |(low, high), (_, loss)| (low.min(*loss), high.max(*loss)));
        if let Some(effect) = self.scaled() {
            return Some(effect);
        }
        if high < LOSS_MIN || (high < 0.999 && high - low < 1e-6) {
            return None;
        }
        let (who, size) = losses.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (had, has) = self.balance(who);
        let effect = self.on_amount(Power::Drain, size, &self.before.scene.name(who), (had, has));
        let gained = self.gained();
        let supply_fell = self.before.balances.supply.unwrap_or_default().checked_sub(self.after.supply.unwrap_or_default());
        Some(FunctionEffect { burnt: !gained && supply_fell == Some(had - has), taken: (!gained).then_some((who, had - has)), ..effect })
    }

    /// Detects a scale that takes most from both holders and spares the pool: what they have left buys nothing like what they had. So does a scale
    /// that leaves them nothing.
    fn scaled(&self) -> Option<FunctionEffect> {
        let people = self.before.scene.people;
        let [holder, other, pair] = [people.holder, people.other, self.before.scene.pair].map(|who| {
            let (had, has) = self.balance(who);
            if has < had { ratio(had - has, had) } else { 0.0 }
        });
        let spares = holder >= SCALED && other >= SCALED && pair < LOSS_MIN && !self.lost(people.holder);
        // If no holder has anything left, the pool's balance does not matter. A contract that no longer answers has taken nothing.
        let wipes = !self.after.silent
            && [people.holder, people.other].into_iter().all(|who| {
                let (had, has) = self.balance(who);
                !had.is_zero() && has.is_zero() && !self.lost(who)
            });
        (spares || wipes).then(|| self.on_amount(Power::Drain, holder, &self.before.scene.name(people.holder), self.balance(people.holder)))
    }

    /// Detects a gain without a corresponding loss.
    fn minted(&self, machine: &mut Machine<'_>, drained: bool) -> Option<FunctionEffect> {
        let Scene { people, token, pair, funding, .. } = *self.before.scene;
        let least = (funding.supply / U256::from(1_000_000)).max(U256::ONE);
        let rose = |(then, now): (U256, U256)| now > then && now - then >= least;
        let gain = |who: Address| {
            let (then, now) = self.balance(who);
            now.saturating_sub(then)
        };
        // Rescaling (rebase): both holders gained.
        if rose(self.balance(people.holder)) && rose(self.balance(people.other)) {
            return None;
        }
        let gainers = self.after.of.iter().map(|(who, _)| *who).filter(|who| *who != pair && rose(self.balance(*who)));
        // What is sold at the pool and was nobody's is made, too.
        let sold = Some(pair).filter(|who| rose(self.balance(*who)) && !self.call.standard());
        let winner = gainers.max_by_key(|who| gain(*who)).or(sold);
        let transfers: Vec<_> =
            self.outcome.logs.iter().filter_map(|log| transfer_in(log, token)).filter(|(_, _, value)| !value.is_zero()).collect();
        let visible = transfers.iter().any(|(from, _, _)| from.is_zero());
        let power = if visible { Power::Mint } else { Power::HiddenMint };
        let gain = winner.map_or(U256::ZERO, gain);
        let supply = (self.before.balances.supply.unwrap_or_default(), self.after.supply.unwrap_or_default());
        if rose(supply) {
            let size = ratio(supply.1 - supply.0, supply.0.max(U256::ONE)).min(1.0);
            return Some(FunctionEffect { gain, ..self.on_amount(power, size, "supply", supply) });
        }
        let who = winner?;
        // Paid by another account: one of ours, or one whose balance fell.
        let losses = self.before.balances.of.iter().filter(|(of, _)| *of != who).map(|(of, had)| had.saturating_sub(self.after.get(*of)));
        let paid = losses.fold(U256::ZERO, U256::saturating_add);
        // Of what a pool was sold, no more can be paid than was lost.
        if drained || !paid.is_zero() && (who != pair || paid >= gain / U256::from(10) * U256::from(9)) {
            return None;
        }
        // What those lost whose balances are known is counted already.
        let watched = |who: &Address| self.before.balances.of.iter().any(|(of, _)| of == who);
        let sender = transfers.iter().map(|(from, _, _)| *from).find(|from| !from.is_zero() && !watched(from));
        let effect = self.on_amount(power, ratio(gain, funding.supply).min(1.0), &self.before.scene.name(who), self.balance(who));
        Some(FunctionEffect {
            unbacked: !visible,
            gain,
            event_sender: sender.map(|sender| (sender, balance(machine, token, sender).unwrap_or_default())),
            ..effect
        })
    }
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
        effects.push(call.effect(power, 1.0, "sell succeeds", if all { "sells fail" } else { "sell fails, another holder's does not" }));
    }
    // A freeze may stop the holder's transfers but forget the router's transferFrom. The frozen account must not be the newcomer.
    let own_hands = was.send.ok && !after.send.ok && after.sell.ok && after.other_send.is_some_and(|leg| leg.ok);
    if own_hands && !call.filling.addresses.contains(&before.scene.people.newcomer) {
        effects.push(call.effect(Power::Blacklist, OWN_HANDS, "transfer succeeds", "transfer fails, another holder's does not"));
    }
    // Stopping both buys and sells is a pause; stopping buys alone is a different power.
    if was.buy.ok && !after.buy.ok && !all && after.other_buy.is_none_or(|leg| !leg.ok) {
        effects.push(call.effect(Power::StopBuys, 1.0, "buy succeeds", "buys fail"));
    }
    for (name, old, new) in [("buy", was.buy, after.buy), ("sell", was.sell, after.sell)] {
        if old.ok && new.ok && (old.share - new.share).abs() >= EXEMPT_STEP {
            let text = |share: f64| format!("{name} receives {:.1}%", share * 100.0);
            // Purchases come one after the other, and the first may be taxed for its haste.
            let one = name == "sell" && only_one(machine, before);
            let power = match (old.share - new.share >= TAX_STEP, one) {
                (true, true) => Power::TaxOne,
                (true, false) => Power::RaiseTax,
                (false, true) if new.share > old.share => Power::Exempt,
                _ => continue,
            };
            effects.push(call.effect(power, (old.share - new.share).abs(), text(old.share), text(new.share)));
        }
    }
    if was.large.is_some_and(|leg| leg.ok) && after.sell.ok && after.buy.ok && !trial::large_sale(machine, before.scene).ok {
        effects.push(call.effect(Power::LowerLimit, 1.0, "a larger sell succeeds", "a larger sell fails, a smaller one succeeds"));
    }
    let gate_address = &before.scene.people.gate;
    if after.called.contains(gate_address) && !was.called.contains(gate_address) {
        gate(machine, before, call, effects);
    }
}

/// Whether another holder sells as before, in the present state.
fn only_one(machine: &mut Machine<'_>, before: &Baseline<'_>) -> bool {
    let after = trial(machine, before.scene, true, None);
    matches!((before.trial.other_sell, after.other_sell), (Some(was), Some(is)) if was.ok && is.ok && (was.share - is.share).abs() < EXEMPT_STEP / 2.0)
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
        let control_transferred = !machine.simulate(call.from, call.to, call.data.clone()).ok;
        effects.push(FunctionEffect { control_transferred, ..call.effect(Power::Gate, 1.0, "own rules", "another contract's response") });
    }
}
