//! Giving everybody a balance to trade with: by transfers from the owner, and where that fails by writing the slots that a balance is
//! read from, whatever they are. No function name and no storage layout is assumed.

use revm::primitives::{Address, U256};

use super::{
    abi,
    deployment::{DeployedBy, Deployment},
    machine::{EvmOutcome, Machine},
    world::{HOLDER, MockAnswer, OTHER, OWNER, PAIR},
};

/// The supply, in whole tokens, of a token that names none: below most caps.
const SUPPLY: u128 = 1_000_000;
/// `decimals()`, and the decimals of a token whose answer fails or is zero.
const DECIMALS: abi::Selector = [0x31, 0x3C, 0xE5, 0x67];
const DECIMALS_USUAL: u8 = 18;
/// Questions that one search may put.
const SEARCH_MAX: u32 = 160;
const DEPTH_MAX: usize = 3;
/// A total of reflections: next to the largest word, as such tokens choose it.
const REFLECTIONS: U256 = U256::from_limbs([0, 0, 0, 1 << 48]);
/// Work of one question that only a list of nonsensical length asks for.
const ENDLESS: u64 = 50_000;

/// What the balances that trading is tried with came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Funding {
    /// The supply, or what was taken for it.
    pub(super) supply: U256,
    /// What one trade moves.
    pub(super) amount: U256,
    /// The answer of `decimals()`, if there is one.
    pub(super) decimals: Option<u8>,
    /// The contract itself named the supply.
    pub(super) supply_named: bool,
    /// All of them came by transfers, so nothing about the balances was guessed.
    pub(super) by_transfers: bool,
}

/// Gives pair, holders and owner something to move. `None` when a balance can be had neither way, or is another contract's word.
pub(super) fn fund(machine: &mut Machine<'_>, deployment: &Deployment) -> Option<Funding> {
    let token = deployment.token;
    let question = abi::call(abi::TOTAL_SUPPLY, &[]);
    let mut supply = machine.simulate(OWNER, token, question.clone()).word().unwrap_or_default();
    let supply_named = !supply.is_zero();
    // Where only the code is known, none may only mean that no constructor has set them.
    let least = u8::from(deployment.deployed_by == DeployedBy::Code);
    let decimals =
        machine.ask(token, DECIMALS, &[]).and_then(|word| u8::try_from(word).ok()).filter(|decimals| (least..=36).contains(decimals));
    if !supply_named {
        supply = U256::from(SUPPLY) * U256::from(10).pow(U256::from(decimals.unwrap_or(DECIMALS_USUAL)));
        search(machine, token, &question, supply);
    }
    // A supply of few units cannot be split finely.
    let part = |divisor: u64| (supply / U256::from(divisor)).max(U256::from(4));
    let amount = (supply / U256::from(10_000)).max(U256::ONE);
    let wanted =
        [(PAIR, part(5)), (HOLDER, part(500)), (OTHER, part(500)), (OWNER, part(10)), (token, part(100)), (Address::ZERO, part(100))];
    let mut by_transfers = true;
    for (who, want) in wanted {
        let has = balance(machine, token, who).unwrap_or_default();
        if has >= want {
            continue;
        }
        let mark = machine.mark();
        if who != deployment.owner {
            machine.next_block();
            machine.call(deployment.owner, token, abi::call(abi::TRANSFER, &[abi::word_of(who), want]));
        }
        // A tax may have taken part of it; two trades' worth is enough.
        let came = balance(machine, token, who).is_some_and(|now| now >= (amount * U256::from(2)).min(want));
        if came {
            continue;
        }
        machine.rollback(mark);
        let needed = ![OWNER, token, Address::ZERO].contains(&who);
        by_transfers &= !needed;
        let found = search(machine, token, &abi::call(abi::BALANCE_OF, &[abi::word_of(who)]), want);
        if !found && needed {
            return None;
        }
    }
    let asked = machine.simulate(OWNER, token, abi::call(abi::BALANCE_OF, &[abi::word_of(HOLDER)]));
    (!answered_by_mock(machine, token, HOLDER, &asked)).then_some(Funding { supply, amount, decimals, supply_named, by_transfers })
}

/// Whether the answer to `balanceOf` is another contract's: one that we made up, so that it proves nothing.
pub(super) fn answered_by_mock(machine: &mut Machine<'_>, token: Address, who: Address, asked: &EvmOutcome) -> bool {
    if !asked.called.iter().any(|address| machine.world().mocked(*address)) {
        return false;
    }
    let said = machine.world().answer;
    let question = abi::call(abi::BALANCE_OF, &[abi::word_of(who)]);
    let differs = MockAnswer::ALL.into_iter().filter(|answer| *answer != said).any(|answer| {
        machine.world().answer = answer;
        machine.simulate(OWNER, token, question.clone()).word() != asked.word()
    });
    machine.world().answer = said;
    differs
}

pub(super) fn balance(machine: &mut Machine<'_>, token: Address, who: Address) -> Option<U256> {
    machine.ask(token, abi::BALANCE_OF, &[abi::word_of(who)])
}

/// Writes slots until the question is answered with the wanted word. Returns whether it is; if not, nothing was changed.
fn search(machine: &mut Machine<'_>, token: Address, question: &[u8], want: U256) -> bool {
    SlotSearch { token, question, want, left: SEARCH_MAX }.run(machine, 0)
}

struct SlotSearch<'a> {
    token: Address,
    question: &'a [u8],
    want: U256,
    /// How often the question may still be put.
    left: u32,
}

impl SlotSearch<'_> {
    fn run(&mut self, machine: &mut Machine<'_>, depth: usize) -> bool {
        let base = self.ask(machine);
        let mut slots: Vec<(Address, U256)> = base.reads.clone();
        slots.dedup();
        slots.truncate(16);
        if slots.iter().rev().any(|slot| self.write(machine, *slot, base.word())) {
            return true;
        }
        if depth >= DEPTH_MAX {
            return false;
        }
        depth == 0 && !base.ok && self.write_totals(machine, &slots) || self.follow(machine, &slots, base.ok, depth)
    }

    fn ask(&self, machine: &mut Machine<'_>) -> EvmOutcome {
        machine.simulate(OWNER, self.token, self.question.to_vec())
    }

    fn put(&mut self, machine: &mut Machine<'_>, (at, slot): (Address, U256), value: U256) -> Option<U256> {
        self.left = self.left.checked_sub(1)?;
        machine.world().set_slot(at, slot, value);
        self.ask(machine).word()
    }

    /// Writes the word into the slot, as it is or scaled. `answer` is what the question has been answered with.
    fn write(&mut self, machine: &mut Machine<'_>, slot: (Address, U256), answer: Option<U256>) -> bool {
        let mark = machine.mark();
        if self.put(machine, slot, self.want) == Some(self.want) {
            return true;
        }
        // Scaled or packed: a large word shows the scale.
        let large = U256::ONE << 230;
        if let Some(read) = self.put(machine, slot, large)
            && !read.is_zero()
            && Some(read) != answer
            && read < large
            && let Some(fit) = (large / read).checked_mul(self.want)
            && self.put(machine, slot, fit).is_some_and(|now| now <= self.want && self.want - now <= self.want / U256::from(100))
        {
            return true;
        }
        machine.rollback(mark);
        false
    }

    /// A reflected balance is divided by the ratio of two totals, which are zero where no constructor ran: lets both be one supply. Where
    /// the code holds one of them, the other has to be the larger by far.
    fn write_totals(&mut self, machine: &mut Machine<'_>, slots: &[(Address, U256)]) -> bool {
        let plain: Vec<_> = slots.iter().filter(|(_, slot)| *slot < U256::from(1 << 16)).copied().collect();
        plain.len() > 1
            && [self.want * U256::from(10), REFLECTIONS].into_iter().any(|total| {
                let mark = machine.mark();
                for (at, slot) in plain.iter().copied() {
                    if machine.world().slot(at, slot).is_zero() {
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

    /// Writes a slot, unless that makes the question endless: then it is the length of a list, which stays empty.
    fn fill(&self, machine: &mut Machine<'_>, (at, slot): (Address, U256), value: U256) {
        let (mark, cut, work) = (machine.mark(), machine.cut, machine.work);
        machine.world().set_slot(at, slot, value);
        self.ask(machine);
        if machine.work - work > ENDLESS {
            machine.cut = cut;
            machine.rollback(mark);
        }
    }

    /// A flag or a pointer may come before the word: searches on behind each slot that makes other slots be read.
    fn follow(&mut self, machine: &mut Machine<'_>, slots: &[(Address, U256)], answered: bool, depth: usize) -> bool {
        for (at, slot) in slots {
            for value in [U256::ONE, U256::ONE << 200] {
                if self.left == 0 {
                    return false;
                }
                self.left -= 1;
                let mark = machine.mark();
                let work = machine.work;
                machine.world().set_slot(*at, *slot, value);
                let after = self.ask(machine);
                let endless = machine.work - work > ENDLESS;
                let opens = !endless && (after.reads.iter().any(|read| !slots.contains(read)) || (after.ok && !answered));
                if opens && self.run(machine, depth + 1) {
                    return true;
                }
                machine.rollback(mark);
            }
        }
        false
    }
}
