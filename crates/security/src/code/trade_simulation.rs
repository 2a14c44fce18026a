//! One trading trial: buy, sell, transfer, and transferFrom without an approval. Reports which legs succeeded and how much arrived;
//! `powers` and `findings` interpret that.

use std::{collections::HashSet, rc::Rc};

use revm::primitives::{Address, Log, U256, b256};

use super::{
    abi::{self, RoleNames},
    accounts::Accounts,
    deployment::{Deployment, holds},
    evm_state::MockAnswer,
    funding::{Funding, balance},
    live::LivePool,
    machine::{Checkpoint, EvmOutcome, Machine},
};

/// keccak256 of `Transfer(address,address,uint256)`.
pub(super) const TRANSFER_EVENT: revm::primitives::B256 =
    b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Blocks and seconds between two trades: longer than an honest cooldown, and far less than a day.
const BETWEEN: (u64, u64) = (30, 360);

/// Result of one trade or transfer.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SimulatedLeg {
    /// Whether the call succeeded and a balance moved.
    pub(super) ok: bool,
    /// Fraction of the sent amount that arrived, 0 to 1.
    pub(super) share: f64,
    /// Whether a Transfer event was emitted although no balance changed.
    pub(super) false_transfer: bool,
    /// Whether the sender lost exactly the amount.
    pub(super) exact: bool,
    /// Whether balances moved without a Transfer event.
    pub(super) silent: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TradeSimulation {
    pub(super) buy: SimulatedLeg,
    pub(super) sell: SimulatedLeg,
    pub(super) send: SimulatedLeg,
    /// The other holder's trades, tried only if the holder's fail.
    pub(super) other_buy: Option<SimulatedLeg>,
    pub(super) other_sell: Option<SimulatedLeg>,
    /// Whether the owner, and whether an outside caller, moved the holder's tokens without an approval.
    pub(super) theft: [bool; 2],
    /// A sale by the other holder, who has not bought yet.
    pub(super) cold_sell: Option<SimulatedLeg>,
    /// The other holder's transfer, tried only if the holder's fails.
    pub(super) other_send: Option<SimulatedLeg>,
    /// A transfer to the pair without the router, tried only if selling fails and sending does not.
    pub(super) straight: Option<SimulatedLeg>,
    /// The holder's sale of many times the amount; only in a wide trial.
    pub(super) large: Option<SimulatedLeg>,
    /// Number of slots read, plus `ASKED` per call to another contract: the progress of the calls before they failed.
    pub(super) depth: usize,
    /// Other contracts called, and those of them that were asked something.
    pub(super) called: Vec<Address>,
    pub(super) questioned: Vec<Address>,
}

impl TradeSimulation {
    /// Weighted count of successful legs (trades weigh more than a plain transfer); ties are broken by `depth`.
    pub(super) fn score(&self) -> usize {
        let legs = [
            (Some(self.buy), 3),
            (Some(self.sell), 3),
            (self.send.into(), 1),
            (self.other_buy, 2),
            (self.other_sell, 2),
        ];
        let through: usize = legs
            .iter()
            .map(|(leg, worth)| {
                if leg.is_some_and(|leg| leg.ok) {
                    *worth
                } else {
                    0
                }
            })
            .sum();
        through * ONE_LEG
            + if through == ALL_THROUGH {
                0
            } else {
                self.depth.min(999)
            }
    }

    pub(super) fn open(&self) -> bool {
        self.buy.ok
            && self.sell.ok
            && [self.other_buy, self.other_sell]
                .iter()
                .flatten()
                .all(|leg| leg.ok)
    }
}

/// Allowance of the router, in multiples of the sold amount.
const ALLOWANCE: U256 = U256::from_limbs([2, 0, 0, 0]);
/// Weight in `depth` of a call to another contract: it happens only after the caller's own conditions are met.
const ASKED: usize = 4;
/// `sync()` of a V2 pool.
const SYNC: abi::Selector = [0xFF, 0xF6, 0xCA, 0xE9];
/// Minimum `score` if any leg succeeds.
pub(super) const ONE_LEG: usize = 1_000;
/// Weighted count if every leg succeeds.
const ALL_THROUGH: usize = 11;

/// Participants and amounts of a trial.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) people: Accounts,
    pub(super) token: Address,
    pub(super) owner: Address,
    /// The pool that buyers get the tokens from.
    pub(super) pair: Address,
    /// Who moves the tokens of a seller to the pool.
    pub(super) router: Address,
    /// The pair as a real pool; `None` for a mock.
    pub(super) pool: Option<Rc<LivePool>>,
    /// Addresses that the contract obeys besides its owner, as far as their balances are watched.
    pub(super) obeyed: Rc<[Address]>,
    pub(super) funding: Funding,
}

/// Addresses whose balances are watched besides those of people.
const OBEYED_MAX: usize = 4;

/// The first of the addresses that a contract obeys.
pub(super) fn obeyed(deployment: &Deployment) -> Rc<[Address]> {
    deployment
        .privileged
        .iter()
        .take(OBEYED_MAX)
        .copied()
        .collect()
}

impl Scene {
    /// A scene of a fresh world, in which mock contracts are pair and router.
    pub(super) fn new(people: Accounts, deployment: &Deployment, funding: Funding) -> Self {
        let Deployment { token, owner, .. } = *deployment;
        Self {
            people,
            token,
            owner,
            pair: people.pair,
            router: people.router,
            pool: None,
            obeyed: obeyed(deployment),
            funding,
        }
    }

    /// Brings the reserves of a real pool in line with its balances: a plain transfer out of it leaves them apart, which no trade does.
    pub(super) fn sync(&self, machine: &mut Machine<'_>) {
        if self.pool.as_ref().is_some_and(|pool| pool.is_v2()) {
            machine.call(self.people.newcomer, self.pair, abi::call(SYNC, &[]));
        }
    }

    pub(super) fn names(&self) -> RoleNames {
        RoleNames {
            people: self.people,
            token: self.token,
            pair: self.pair,
            owner: self.owner,
        }
    }

    /// Role of an address, or its full text.
    pub(super) fn name(&self, address: Address) -> String {
        self.names().of(address)
    }
}

/// Runs a trial and rolls it back. `wide` adds the cold and the straight sale, and always tries the other holder's trades. `slots` collects
/// the slots read, if given.
pub(super) fn simulate_trades(
    machine: &mut Machine<'_>,
    scene: &Scene,
    wide: bool,
    mut slots: Option<&mut HashSet<(Address, U256)>>,
) -> TradeSimulation {
    let mark = machine.mark();
    let mut trial = TradeSimulation::default();
    let (mut called, mut questioned) = (Vec::new(), Vec::new());
    let amount = scene.funding.amount;
    let mut depth = 0;
    let mut note = |outcome: &EvmOutcome| {
        depth += outcome.reads.len()
            + ASKED
                * outcome
                    .called
                    .iter()
                    .filter(|address| **address != scene.token)
                    .count();
        if let Some(slots) = slots.as_deref_mut() {
            slots.extend(outcome.reads.iter().copied());
        }
        for (from, to) in [
            (&outcome.called, &mut called),
            (&outcome.questioned, &mut questioned),
        ] {
            for address in from {
                if *address != scene.token && !to.contains(address) {
                    to.push(*address);
                }
            }
        }
    };
    trial.theft = [scene.owner, scene.people.stranger].map(|thief| {
        let inner = machine.mark();
        let data = abi::call(
            abi::TRANSFER_FROM,
            &[
                abi::word_of(scene.people.holder),
                abi::word_of(thief),
                amount,
            ],
        );
        let outcome = machine.call(thief, scene.token, data);
        note(&outcome);
        let before = if outcome.writes.is_empty() {
            None
        } else {
            balance(machine, scene.token, scene.people.holder)
        };
        machine.rollback(inner);
        before.is_some_and(|after| {
            balance(machine, scene.token, scene.people.holder).is_some_and(|had| had > after)
        })
    });
    machine.next_block();
    if wide {
        trial.large = Some(large_sale(machine, scene));
        let inner = machine.mark();
        trial.cold_sell = Some(leg(
            machine,
            scene,
            Route::Via(scene.router),
            (scene.people.other, scene.pair),
            &mut note,
        ));
        machine.rollback(inner);
    }
    trial.buy = leg(
        machine,
        scene,
        Route::Direct,
        (scene.pair, scene.people.holder),
        &mut note,
    );
    machine.wait(BETWEEN.0, BETWEEN.1);
    trial.sell = leg(
        machine,
        scene,
        Route::Via(scene.router),
        (scene.people.holder, scene.pair),
        &mut note,
    );
    machine.wait(BETWEEN.0, BETWEEN.1);
    if wide || !trial.buy.ok {
        trial.other_buy = Some(leg(
            machine,
            scene,
            Route::Direct,
            (scene.pair, scene.people.other),
            &mut note,
        ));
        machine.wait(BETWEEN.0, BETWEEN.1);
    }
    if wide || !trial.sell.ok {
        trial.other_sell = Some(leg(
            machine,
            scene,
            Route::Via(scene.router),
            (scene.people.other, scene.pair),
            &mut note,
        ));
        machine.wait(BETWEEN.0, BETWEEN.1);
    }
    trial.send = leg(
        machine,
        scene,
        Route::Direct,
        (scene.people.holder, scene.people.newcomer),
        &mut note,
    );
    if !trial.send.ok {
        trial.other_send = Some(leg(
            machine,
            scene,
            Route::Direct,
            (scene.people.other, scene.people.newcomer),
            &mut note,
        ));
    }
    if wide && !trial.sell.ok && trial.send.ok {
        trial.straight = Some(leg(
            machine,
            scene,
            Route::Direct,
            (scene.people.holder, scene.pair),
            &mut note,
        ));
    }
    (trial.called, trial.questioned) = (called, questioned);
    trial.depth = depth;
    machine.rollback(mark);
    trial
}

/// A sale of the usual amount, rolled back.
pub(super) fn sale(machine: &mut Machine<'_>, scene: &Scene) -> SimulatedLeg {
    let mark = machine.mark();
    machine.next_block();
    let leg = leg(
        machine,
        scene,
        Route::Via(scene.router),
        (scene.people.holder, scene.pair),
        &mut |_| {},
    );
    machine.rollback(mark);
    leg
}

/// How many times the amount a large sale is of.
const LARGE: U256 = U256::from_limbs([15, 0, 0, 0]);

/// A sale of most of what the holder has, rolled back.
pub(super) fn large_sale(machine: &mut Machine<'_>, scene: &Scene) -> SimulatedLeg {
    let mark = machine.mark();
    machine.next_block();
    let amount = scene.funding.amount.saturating_mul(LARGE);
    let large = Scene {
        funding: Funding {
            amount,
            ..scene.funding
        },
        ..scene.clone()
    };
    let leg = leg(
        machine,
        &large,
        Route::Via(scene.router),
        (scene.people.holder, scene.pair),
        &mut |_| {},
    );
    machine.rollback(mark);
    leg
}

/// Buys and sells what was bought, through the pair and through a router of its own, and rolls all back. `note` sees every call.
pub(super) fn round_trip(
    machine: &mut Machine<'_>,
    scene: &Scene,
    note: &mut impl FnMut(&EvmOutcome),
) -> [SimulatedLeg; 3] {
    let mark = machine.mark();
    machine.next_block();
    let buy = leg(
        machine,
        scene,
        Route::Direct,
        (scene.pair, scene.people.holder),
        note,
    );
    machine.wait(BETWEEN.0, BETWEEN.1);
    let sell = leg(
        machine,
        scene,
        Route::Via(scene.router),
        (scene.people.holder, scene.pair),
        note,
    );
    machine.wait(BETWEEN.0, BETWEEN.1);
    let apart = leg(
        machine,
        scene,
        Route::Via(scene.people.other_router),
        (scene.people.holder, scene.pair),
        note,
    );
    machine.rollback(mark);
    [buy, sell, apart]
}

/// Who moves the tokens: their holder by `transfer`, or this router by `transferFrom`.
#[derive(Clone, Copy, PartialEq)]
enum Route {
    Direct,
    Via(Address),
}

fn leg(
    machine: &mut Machine<'_>,
    scene: &Scene,
    route: Route,
    (from, to): (Address, Address),
    note: &mut impl FnMut(&EvmOutcome),
) -> SimulatedLeg {
    let (token, amount) = (scene.token, scene.funding.amount);
    let [word_from, word_to] = [from, to].map(abi::word_of);
    let before = [from, to].map(|who| balance(machine, token, who));
    let outcome = match route {
        // A pool sends in a transaction of who buys.
        Route::Direct if from == scene.pair => machine.pass(
            to,
            from,
            token,
            abi::call(abi::TRANSFER, &[word_to, amount]),
        ),
        Route::Direct => {
            machine.person_calls(from, token, abi::call(abi::TRANSFER, &[word_to, amount]))
        }
        Route::Via(router) => {
            // Sellers approve more than they sell: some tokens take their fee on top, out of the allowance.
            let allowed = [abi::word_of(router), amount.saturating_mul(ALLOWANCE)];
            note(&machine.person_calls(from, token, abi::call(abi::APPROVE, &allowed)));
            machine.pass(
                from,
                router,
                token,
                abi::call(abi::TRANSFER_FROM, &[word_from, word_to, amount]),
            )
        }
    };
    note(&outcome);
    if !outcome.ok {
        return SimulatedLeg::default();
    }
    let after = [from, to].map(|who| balance(machine, token, who));
    scene.sync(machine);
    let ([Some(from_before), Some(to_before)], [Some(from_after), Some(to_after)]) =
        (before, after)
    else {
        return SimulatedLeg::default();
    };
    let (left, arrived) = (
        from_before.saturating_sub(from_after),
        to_after.saturating_sub(to_before),
    );
    let logged = outcome.logs.iter().any(|log| {
        transfer_in(log, token)
            .is_some_and(|(of, to, value)| of == from && to != from && !value.is_zero())
    });
    let moved = !left.is_zero() || !arrived.is_zero();
    SimulatedLeg {
        ok: moved && outcome.yes(),
        share: if left.is_zero() {
            1.0
        } else {
            (ratio(arrived, left)).min(1.0)
        },
        exact: left == amount,
        false_transfer: logged && from_before == from_after && to_before == to_after,
        silent: moved && !logged,
    }
}

/// Sender, recipient and value of a Transfer event of this token.
pub(super) fn transfer_in(log: &Log, token: Address) -> Option<(Address, Address, U256)> {
    let topics = log.data.topics();
    if log.address != token || topics.first() != Some(&TRANSFER_EVENT) {
        return None;
    }
    // Indexed or not, the words come in this order.
    let words: Vec<U256> = topics[1..]
        .iter()
        .map(|topic| U256::from_be_bytes(topic.0))
        .chain(log.data.data.chunks_exact(32).map(U256::from_be_slice))
        .collect();
    match words[..] {
        [from, to, value] => Some((abi::address_of(from), abi::address_of(to), value)),
        _ => None,
    }
}

pub(super) fn ratio(part: U256, whole: U256) -> f64 {
    if whole.is_zero() {
        0.0
    } else {
        f64::from(part) / f64::from(whole)
    }
}

model::words! {
    /// Step that was necessary for trading to succeed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Opening {
        Open = "open",
        /// Some blocks and at least a day had to pass.
        Wait = "wait",
        /// A call by the owner.
        Owner = "owner",
        /// A different response of another contract.
        Outside = "outside",
        /// Writing slots that no owner call wrote.
        StorageWrite = "flip",
        Blocked = "blocked",
    }
}

const WAITS: [(u64, u64); 2] = [(200, 86_400), (200_000, 40 * 86_400)];
/// Maximum rounds of owner calls and of writes to storage; each round keeps the best step.
const ROUNDS: usize = 4;
/// Maximum number of slots written per round.
const WRITES_MAX: usize = 40;

/// Makes trading possible by the mildest means that works, and keeps that state.
pub(super) fn open(
    machine: &mut Machine<'_>,
    scene: &Scene,
    calls: &[Vec<u8>],
) -> (TradeSimulation, Opening) {
    let mut slots = HashSet::new();
    let start = machine.mark();
    let first = simulate_trades(machine, scene, true, Some(&mut slots));
    if first.open() {
        return (first, Opening::Open);
    }
    let mut best = first.clone();
    for (blocks, seconds) in WAITS {
        let mark = machine.mark();
        machine.wait(blocks, seconds);
        let now = simulate_trades(machine, scene, true, Some(&mut slots));
        if now.open() {
            return (now, Opening::Wait);
        }
        if now.score() > best.score() {
            best = now;
        } else {
            machine.rollback(mark);
        }
    }
    for _ in 0..ROUNDS {
        let Some(now) = by_owner_call(machine, scene, calls, &mut slots, &best) else {
            break;
        };
        best = now;
        if best.open() {
            return (best, Opening::Owner);
        }
        let mark = machine.mark();
        machine.wait(WAITS[0].0, WAITS[0].1);
        let now = simulate_trades(machine, scene, true, Some(&mut slots));
        if now.open() {
            return (now, Opening::Owner);
        }
        machine.rollback(mark);
    }
    // On a chain the other contracts are known, and no slot has another value than it has.
    if machine.evm_state().is_of_chain() {
        machine.rollback(start);
        return (first, Opening::Blocked);
    }
    for answer in MockAnswer::ALL {
        let mark = machine.mark();
        machine.evm_state().answer = answer;
        let now = simulate_trades(machine, scene, true, Some(&mut slots));
        if now.open() {
            return (now, Opening::Outside);
        }
        machine.rollback(mark);
    }
    for _ in 0..ROUNDS {
        let Some(now) = by_storage_write(machine, scene, &slots, &best) else {
            break;
        };
        best = now;
        if best.open() {
            return (best, Opening::StorageWrite);
        }
        simulate_trades(machine, scene, true, Some(&mut slots));
    }
    // Nothing helped: restores the original state for the search for powers.
    machine.rollback(start);
    (first, Opening::Blocked)
}

/// Executes the owner call after which the most legs succeed. Returns `None` if none is an improvement.
fn by_owner_call(
    machine: &mut Machine<'_>,
    scene: &Scene,
    calls: &[Vec<u8>],
    slots: &mut HashSet<(Address, U256)>,
    before: &TradeSimulation,
) -> Option<TradeSimulation> {
    let (mut best, mut chosen) = (before.score(), None);
    for (at, data) in calls.iter().enumerate() {
        let mark = machine.mark();
        let outcome = machine.call(scene.owner, scene.token, data.clone());
        let now: Vec<U256> = outcome
            .writes
            .iter()
            .map(|(at, slot)| machine.evm_state().slot(*at, *slot))
            .collect();
        if outcome.writes.iter().any(|slot| slots.contains(slot))
            && !abdicates(machine, scene, mark, &outcome, &now)
        {
            machine.call(scene.owner, scene.token, data.clone());
            let score = simulate_trades(machine, scene, true, None).score();
            if score > best {
                (best, chosen) = (score, Some(at));
            }
        }
        machine.rollback(mark);
        if best >= ALL_THROUGH * ONE_LEG {
            break;
        }
    }
    let data = &calls[chosen?];
    machine.call(scene.owner, scene.token, data.clone());
    Some(simulate_trades(machine, scene, true, Some(slots)))
}

/// Whether the call replaced the owner in some slot: a trade that succeeds only for a new owner does not count. Rolls back.
fn abdicates(
    machine: &mut Machine<'_>,
    scene: &Scene,
    before: Checkpoint,
    outcome: &EvmOutcome,
    now: &[U256],
) -> bool {
    machine.rollback(before);
    let was = |(at, slot): &(Address, U256)| {
        holds(
            machine.evm_state().slot(*at, *slot),
            abi::word_of(scene.owner),
        )
    };
    outcome
        .writes
        .iter()
        .map(was)
        .zip(now)
        .any(|(was, now)| was && !holds(*now, abi::word_of(scene.owner)))
}

/// Writes the slot value with which the most legs succeed. Returns `None` if none is an improvement.
fn by_storage_write(
    machine: &mut Machine<'_>,
    scene: &Scene,
    slots: &HashSet<(Address, U256)>,
    before: &TradeSimulation,
) -> Option<TradeSimulation> {
    let mut slots: Vec<_> = slots.iter().copied().collect();
    slots.sort_unstable();
    slots.truncate(WRITES_MAX);
    let (mut best, mut chosen) = (before.score(), None);
    'all: for (at, slot) in slots {
        let old = machine.evm_state().slot(at, slot);
        if holds(old, abi::word_of(scene.owner)) {
            continue;
        }
        for value in [
            U256::ONE,
            U256::ZERO,
            U256::MAX >> 16,
            abi::word_of(scene.people.owner),
            abi::word_of(scene.people.pair),
        ] {
            if value == old {
                continue;
            }
            let mark = machine.mark();
            machine.evm_state().set_slot(at, slot, value);
            let score = simulate_trades(machine, scene, true, None).score();
            machine.rollback(mark);
            if score > best {
                (best, chosen) = (score, Some((at, slot, value)));
            }
            if best >= ALL_THROUGH * ONE_LEG {
                break 'all;
            }
        }
    }
    let (at, slot, value) = chosen?;
    machine.evm_state().set_slot(at, slot, value);
    Some(simulate_trades(machine, scene, true, None))
}
