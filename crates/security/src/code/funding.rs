//! Test balances for trading: by transfers from the owner, or, if those fail, by writing the storage slots that a balance is read
//! from. No function name and no storage layout is assumed.

use revm::primitives::{Address, U256};

use super::{
    abi,
    deployment::{DeployedBy, Deployment},
    evm_state::MockAnswer,
    machine::{EvmOutcome, Machine},
    trade_simulation::Scene,
};

/// Supply, in whole tokens, for a token that returns none: below most caps.
const SUPPLY: u128 = 1_000_000;
/// Selector of `decimals()`, and the default if it fails or returns zero.
const DECIMALS: abi::Selector = [0x31, 0x3C, 0xE5, 0x67];
const DECIMALS_USUAL: u8 = 18;
/// Maximum number of calls in one slot search.
const SEARCH_MAX: u32 = 160;
const DEPTH_MAX: usize = 3;
/// Total reflections: close to the largest word, as reflection tokens choose it.
const REFLECTIONS: U256 = U256::from_limbs([0, 0, 0, 1 << 48]);
/// Work of one call that indicates a list of absurd length.
const ENDLESS: u64 = 50_000;

/// Result of dealing the test balances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Funding {
    /// Total supply, actual or assumed.
    pub(super) supply: U256,
    /// Amount of one trade.
    pub(super) amount: U256,
    /// Result of `decimals()`, if any.
    pub(super) decimals: Option<u8>,
    /// Whether the contract itself returned the supply.
    pub(super) supply_named: bool,
    /// Whether all required balances came by transfers, so that none is inferred.
    pub(super) by_transfers: bool,
}

impl Funding {
    /// Amounts that follow from the supply, before anything is dealt; `pool`: the tokens in the pool, if there is one.
    pub(super) fn of(supply: U256, pool: Option<U256>, decimals: Option<u8>) -> Self {
        let (of_supply, of_pool) = (
            supply / U256::from(10_000),
            pool.map(|pool| pool / U256::from(1_000)),
        );
        // A supply below what the pool holds is none.
        let amount = match of_pool {
            Some(of_pool) if pool.is_some_and(|pool| supply < pool) => of_pool,
            of_pool => of_supply.min(of_pool.unwrap_or(U256::MAX)),
        };
        Self {
            supply,
            amount: amount.max(U256::ONE),
            decimals,
            supply_named: !supply.is_zero(),
            by_transfers: true,
        }
    }
}

/// Balance of a holder over the state of a chain, in trades.
const TRADES_HELD: u64 = 20;

/// Gives the holders test balances on on-chain state: from the pool, or from the owner, or by writing them. Returns `None` if all fail.
pub(super) fn fund_on_chain(
    machine: &mut Machine<'_>,
    scene: &Scene,
    supply: U256,
    told: Option<u8>,
) -> Option<Funding> {
    let token = scene.token;
    let decimals = machine
        .ask(token, DECIMALS, &[])
        .and_then(|word| u8::try_from(word).ok())
        .filter(|decimals| *decimals <= 36)
        .or(told);
    let pool = balance(machine, token, scene.pair).filter(|held| !held.is_zero());
    let mut funding = Funding::of(supply, pool, decimals);
    let want = funding.amount.saturating_mul(U256::from(TRADES_HELD));
    let enough =
        |held: Option<U256>| held.is_some_and(|held| held >= funding.amount * U256::from(4));
    let people = machine.people;
    for who in [people.holder, people.other] {
        let came = [scene.pair, scene.owner].into_iter().any(|from| {
            let mark = machine.mark();
            machine.next_block();
            machine.call(
                from,
                token,
                abi::call(abi::TRANSFER, &[abi::word_of(who), want]),
            );
            scene.sync(machine);
            let came = enough(balance(machine, token, who));
            if !came {
                machine.rollback(mark);
            }
            came
        });
        if !came {
            funding.by_transfers = false;
            if !write_balance(machine, token, who, want) {
                return None;
            }
        }
    }
    // Without a pool somebody has to sell to the holders.
    if pool.is_none() && !write_balance(machine, token, scene.pair, want) {
        return None;
    }
    Some(funding)
}

/// Writes the slots that the balance is read from. Returns whether it is then as wanted; if not, nothing is changed.
pub(super) fn write_balance(
    machine: &mut Machine<'_>,
    token: Address,
    who: Address,
    want: U256,
) -> bool {
    search(
        machine,
        token,
        &abi::call(abi::BALANCE_OF, &[abi::word_of(who)]),
        want,
    )
}

/// Deals balances to pair, holders and owner. Returns `None` if that fails either way, or if balances come from another contract.
pub(super) fn fund(machine: &mut Machine<'_>, deployment: &Deployment) -> Option<Funding> {
    let (token, people) = (deployment.token, machine.people);
    let question = abi::call(abi::TOTAL_SUPPLY, &[]);
    let mut supply = machine
        .simulate(people.owner, token, question.clone())
        .word()
        .unwrap_or_default();
    let supply_named = !supply.is_zero();
    // With the code alone, zero decimals may only mean that no constructor has set them.
    let least = u8::from(deployment.deployed_by == DeployedBy::Code);
    let decimals = machine
        .ask(token, DECIMALS, &[])
        .and_then(|word| u8::try_from(word).ok())
        .filter(|decimals| (least..=36).contains(decimals));
    if !supply_named {
        supply =
            U256::from(SUPPLY) * U256::from(10).pow(U256::from(decimals.unwrap_or(DECIMALS_USUAL)));
        search(machine, token, &question, supply);
    }
    // A supply of few units cannot be split finely.
    let part = |divisor: u64| (supply / U256::from(divisor)).max(U256::from(4));
    let amount = (supply / U256::from(10_000)).max(U256::ONE);
    let wanted = [
        (people.pair, part(5)),
        (people.holder, part(500)),
        (people.other, part(500)),
        (people.owner, part(10)),
        (token, part(100)),
        (Address::ZERO, part(100)),
    ];
    let mut by_transfers = true;
    for (who, want) in wanted {
        let has = balance(machine, token, who).unwrap_or_default();
        if has >= want {
            continue;
        }
        let mark = machine.mark();
        if who != deployment.owner {
            machine.next_block();
            machine.call(
                deployment.owner,
                token,
                abi::call(abi::TRANSFER, &[abi::word_of(who), want]),
            );
        }
        // A tax may have taken a part; enough for two trades suffices.
        let came = balance(machine, token, who)
            .is_some_and(|now| now >= (amount * U256::from(2)).min(want));
        if came {
            continue;
        }
        machine.rollback(mark);
        let needed = ![people.owner, token, Address::ZERO].contains(&who);
        by_transfers &= !needed;
        let found = search(
            machine,
            token,
            &abi::call(abi::BALANCE_OF, &[abi::word_of(who)]),
            want,
        );
        if !found && needed {
            return None;
        }
    }
    let asked = machine.simulate(
        people.owner,
        token,
        abi::call(abi::BALANCE_OF, &[abi::word_of(people.holder)]),
    );
    (!answered_by_mock(machine, token, people.holder, &asked)).then_some(Funding {
        supply,
        amount,
        decimals,
        supply_named,
        by_transfers,
    })
}

/// Whether the result of `balanceOf` comes from a mock contract, so that it proves nothing.
pub(super) fn answered_by_mock(
    machine: &mut Machine<'_>,
    token: Address,
    who: Address,
    asked: &EvmOutcome,
) -> bool {
    if !asked
        .called
        .iter()
        .any(|address| machine.evm_state().mocked(*address))
    {
        return false;
    }
    let said = machine.evm_state().answer;
    let question = abi::call(abi::BALANCE_OF, &[abi::word_of(who)]);
    let differs = MockAnswer::ALL
        .into_iter()
        .filter(|answer| *answer != said)
        .any(|answer| {
            machine.evm_state().answer = answer;
            machine
                .simulate(machine.people.owner, token, question.clone())
                .word()
                != asked.word()
        });
    machine.evm_state().answer = said;
    differs
}

pub(super) fn balance(machine: &mut Machine<'_>, token: Address, who: Address) -> Option<U256> {
    machine.ask(token, abi::BALANCE_OF, &[abi::word_of(who)])
}

/// Writes storage slots until the call returns the wanted word. Returns whether it does; if not, nothing is changed.
fn search(machine: &mut Machine<'_>, token: Address, question: &[u8], want: U256) -> bool {
    SlotSearch {
        token,
        question,
        want,
        left: SEARCH_MAX,
    }
    .run(machine, 0)
}

struct SlotSearch<'a> {
    token: Address,
    question: &'a [u8],
    want: U256,
    /// Remaining number of calls.
    left: u32,
}

impl SlotSearch<'_> {
    fn run(&mut self, machine: &mut Machine<'_>, depth: usize) -> bool {
        let base = self.ask(machine);
        let mut slots: Vec<(Address, U256)> = base.reads.clone();
        slots.dedup();
        slots.truncate(16);
        if slots
            .iter()
            .rev()
            .any(|slot| self.write(machine, *slot, base.word()))
        {
            return true;
        }
        if depth >= DEPTH_MAX {
            return false;
        }
        depth == 0 && !base.ok && self.write_totals(machine, &slots)
            || self.follow(machine, &slots, base.ok, depth)
    }

    fn ask(&self, machine: &mut Machine<'_>) -> EvmOutcome {
        machine.simulate(machine.people.owner, self.token, self.question.to_vec())
    }

    fn put(
        &mut self,
        machine: &mut Machine<'_>,
        (at, slot): (Address, U256),
        value: U256,
    ) -> Option<U256> {
        self.left = self.left.checked_sub(1)?;
        machine.evm_state().set_slot(at, slot, value);
        self.ask(machine).word()
    }

    /// Writes the word to the slot, as it is or scaled. `answer` is the result before the write.
    fn write(
        &mut self,
        machine: &mut Machine<'_>,
        slot: (Address, U256),
        answer: Option<U256>,
    ) -> bool {
        let mark = machine.mark();
        if self.put(machine, slot, self.want) == Some(self.want) {
            return true;
        }
        // Scaled or packed: the result of a large word reveals the scale.
        let large = U256::ONE << 230;
        if let Some(read) = self.put(machine, slot, large)
            && !read.is_zero()
            && Some(read) != answer
            && read < large
            && let Some(fit) = (large / read).checked_mul(self.want)
            && self.put(machine, slot, fit).is_some_and(|now| {
                now <= self.want && self.want - now <= self.want / U256::from(100)
            })
        {
            return true;
        }
        machine.rollback(mark);
        false
    }

    /// A reflected balance is divided by the ratio of two totals, which are zero without a constructor: tries the same total for both, then
    /// a far larger one for the case that the code holds the other as a constant.
    fn write_totals(&mut self, machine: &mut Machine<'_>, slots: &[(Address, U256)]) -> bool {
        let plain: Vec<_> = slots
            .iter()
            .filter(|(_, slot)| *slot < U256::from(1 << 16))
            .copied()
            .collect();
        plain.len() > 1
            && [self.want * U256::from(10), REFLECTIONS]
                .into_iter()
                .any(|total| {
                    let mark = machine.mark();
                    for (at, slot) in plain.iter().copied() {
                        if machine.evm_state().slot(at, slot).is_zero() {
                            self.fill(machine, (at, slot), total);
                        }
                    }
                    let found = self.run(machine, 1);
                    if !found {
                        machine.rollback(mark);
                    }
                    found
                })
    }

    /// Writes a slot, unless that makes the call run very long: then it is the length of a list, which stays empty.
    fn fill(&self, machine: &mut Machine<'_>, (at, slot): (Address, U256), value: U256) {
        let (mark, cut, work) = (machine.mark(), machine.cut, machine.work);
        machine.evm_state().set_slot(at, slot, value);
        self.ask(machine);
        if machine.work - work > ENDLESS {
            machine.cut = cut;
            machine.rollback(mark);
        }
    }

    /// A flag or a pointer may guard the word: continues the search behind each slot whose value causes other slots to be read.
    fn follow(
        &mut self,
        machine: &mut Machine<'_>,
        slots: &[(Address, U256)],
        answered: bool,
        depth: usize,
    ) -> bool {
        for (at, slot) in slots {
            for value in [U256::ONE, U256::ONE << 200] {
                if self.left == 0 {
                    return false;
                }
                self.left -= 1;
                let mark = machine.mark();
                let work = machine.work;
                machine.evm_state().set_slot(*at, *slot, value);
                let after = self.ask(machine);
                let endless = machine.work - work > ENDLESS;
                let opens = !endless
                    && (after.reads.iter().any(|read| !slots.contains(read))
                        || (after.ok && !answered));
                if opens && self.run(machine, depth + 1) {
                    return true;
                }
                machine.rollback(mark);
            }
        }
        false
    }
}
