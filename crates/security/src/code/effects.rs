//! Effects of one call: balances and a simulated trade compared with those before it. The calls are chosen in `powers` and weighed in
//! `findings`.

mod movement;
pub(super) mod trades;

use std::collections::HashSet;

use revm::primitives::{Address, U256};

use self::{movement::BalanceMovement, trades::stopped};
use super::{
    abi::{self, Filling, Selector},
    caller_checks::Branch,
    evm_state::MockAnswer,
    functions::Function,
    funding::answered_by_mock,
    machine::{EvmOutcome, Machine},
    trade_simulation::{Scene, SimulatedLeg, TradeSimulation, simulate_trades, transfer_in},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Privilege {
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

impl Privilege {
    /// Whether it shows in trading.
    pub(super) fn of_trades(self) -> bool {
        matches!(
            self,
            Self::StopSells
                | Self::StopBuys
                | Self::Blacklist
                | Self::RaiseTax
                | Self::TaxOne
                | Self::LowerLimit
        )
    }

    /// Whether it shows in balances rather than in trading.
    pub(super) fn of_balances(self) -> bool {
        matches!(
            self,
            Self::Drain | Self::HiddenMint | Self::Mint | Self::Dispense
        )
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
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
#[derive(Debug, Clone)]
pub(super) struct FunctionEffect {
    pub(super) power: Privilege,
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
    pub(super) fn read(
        machine: &mut Machine<'_>,
        scene: &Scene,
        slots: Option<&mut HashSet<(Address, U256)>>,
    ) -> Self {
        let supply = machine.simulate(
            scene.people.newcomer,
            scene.token,
            abi::call(abi::TOTAL_SUPPLY, &[]),
        );
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
        let (mut of, mut from_mock, mut silent) = (
            Vec::new(),
            machine.evm_state().answer == MockAnswer::HugeBalance,
            false,
        );
        let others = scene
            .obeyed
            .iter()
            .copied()
            .filter(|who| !people.contains(who));
        for who in people.into_iter().chain(others) {
            let outcome = machine.simulate(
                scene.people.newcomer,
                scene.token,
                abi::call(abi::BALANCE_OF, &[abi::word_of(who)]),
            );
            from_mock |= answered_by_mock(machine, scene.token, who, &outcome);
            silent |= (who == scene.people.holder || who == scene.people.other)
                && outcome.word().is_none()
                && supply.word().is_none();
            of.push((who, outcome.word().unwrap_or_default()));
            own.extend(outcome.reads.iter().map(|slot| (who, *slot)));
            reads.extend(outcome.reads);
        }
        let shared = |slot: &(Address, U256)| {
            own.iter().any(|(who, of)| {
                of == slot && own.iter().any(|(other, of)| of == slot && other != who)
            })
        };
        let own = own
            .iter()
            .filter(|(_, slot)| !shared(slot))
            .copied()
            .collect();
        if let Some(slots) = slots {
            slots.extend(reads);
        }
        let coins =
            [scene.owner, scene.people.stranger].map(|who| (who, machine.evm_state().coins(who)));
        Self {
            supply: supply.word(),
            of,
            coins,
            own,
            from_mock,
            silent,
        }
    }

    /// A slot in which this account's balance is kept, and no other's.
    pub(super) fn slot_of(&self, who: Address) -> Option<(Address, U256)> {
        self.own
            .iter()
            .rev()
            .find(|(of, _)| *of == who)
            .map(|(_, slot)| *slot)
    }

    fn coins_of(&self, who: Address) -> U256 {
        self.coins
            .iter()
            .find(|(of, _)| *of == who)
            .map_or(U256::ZERO, |(_, coins)| *coins)
    }

    /// Whether the call wrote a slot of this account's own balance. Changing a shared ledger or scale takes from no particular account.
    fn wrote(&self, who: Address, outcome: &EvmOutcome) -> bool {
        self.own
            .iter()
            .any(|(of, slot)| *of == who && outcome.writes.contains(slot))
    }

    pub(super) fn get(&self, who: Address) -> U256 {
        self.of
            .iter()
            .find(|(of, _)| *of == who)
            .map_or(U256::ZERO, |(_, balance)| *balance)
    }
}

/// An account and an amount, for display.
fn holds(before: &Baseline<'_>, who: Address, value: U256) -> String {
    format!(
        "{} {}",
        before.scene.name(who),
        abi::amount(value, before.scene.funding.decimals)
    )
}

/// State before the call, shared by all calls.
pub(super) struct Baseline<'a> {
    pub(super) scene: &'a Scene,
    pub(super) balances: BalanceSheet,
    pub(super) trial: TradeSimulation,
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
        After {
            moved: false,
            holder: self.balances.get(self.scene.people.holder),
            supply: self.balances.supply,
            trades,
        }
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
    pub(super) fn new(
        function: &Function,
        from: Address,
        to: Address,
        caller: Caller,
        filling: Filling,
    ) -> Self {
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

    pub(super) fn effect(
        &self,
        power: Privilege,
        size: f64,
        before: impl Into<String>,
        after: impl Into<String>,
    ) -> FunctionEffect {
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

pub(super) fn renounced(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    call: &FunctionCall,
    effects: &mut Vec<FunctionEffect>,
) {
    let gone = abi::OWNER_OF_IT
        .iter()
        .find_map(|selector| machine.ask(before.scene.token, *selector, &[]))
        == Some(U256::ZERO);
    if gone && call.caller == Caller::Owner {
        effects.push(call.effect(Privilege::Renounce, 1.0, "owner", "zero address"));
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
    pub(super) trades: Option<[SimulatedLeg; 2]>,
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
        effects.extend(
            BalanceMovement {
                before,
                after: &balances,
                call,
                outcome,
            }
            .effects(machine),
        );
    }
    // An account with nothing left cannot sell, and a stranger's calls matter only for what they take.
    let poorer = |who| {
        balances.get(who)
            < before
                .balances
                .get(who)
                .min(scene.funding.amount * U256::from(4))
    };
    let stands = After {
        moved,
        holder: balances.get(scene.people.holder),
        supply: balances.supply,
        trades: None,
    };
    if poorer(scene.people.holder) || poorer(scene.pair) {
        return stands;
    }
    let after = simulate_trades(machine, scene, false, None);
    for (thief, caller) in [(0, Caller::Owner), (1, Caller::Stranger)] {
        if after.theft[thief]
            && !before.trial.theft[thief]
            && (caller == call.caller
                || matches!(call.caller, Caller::Privileged | Caller::Recognized))
        {
            effects.push(call.effect(Privilege::Theft, 1.0, "refused", "moved"));
        }
    }
    if call.caller != Caller::Stranger && !call.standard() {
        stopped(machine, before, &after, call, effects);
    }
    After {
        trades: Some([after.buy, after.sell]),
        ..stands
    }
}

/// Detects a Transfer event from an account with a known balance although no balance was written.
pub(super) fn false_transfer(
    before: &Baseline<'_>,
    call: &FunctionCall,
    outcome: &EvmOutcome,
    effects: &mut Vec<FunctionEffect>,
) {
    let mut logged = outcome
        .logs
        .iter()
        .filter_map(|log| transfer_in(log, before.scene.token));
    let known = |who: &Address| {
        before
            .balances
            .of
            .iter()
            .any(|(of, had)| of == who && !of.is_zero() && !had.is_zero())
    };
    if let Some((from, _, value)) =
        logged.find(|(from, to, value)| known(from) && from != to && !value.is_zero())
    {
        let after = format!(
            "{} in the event",
            abi::amount(value, before.scene.funding.decimals)
        );
        effects.push(call.effect(
            Privilege::FalseTransfer,
            1.0,
            holds(before, from, before.balances.get(from)),
            after,
        ));
    }
}
