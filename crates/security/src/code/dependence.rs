//! Whether a sell that succeeds in a fresh deployment also succeeds on-chain: the storage slots that it reads and whose on-chain values are
//! unknown, and the functions that write them. A slot counts only if some value of it blocks or taxes the trade.

use std::collections::{BTreeMap, BTreeSet};

use revm::primitives::{Address, U256};

use super::{
    super::{Anomaly, AnomalyCode},
    abi::{self, Selector},
    deployment::DeployedBy,
    effects::{Caller, FunctionEffect},
    evm_state::MockAnswer,
    machine::Machine,
    trace::Trace,
    trade_simulation::{Scene, SimulatedLeg, round_trip},
};

/// Powers that may already have stopped or taxed sales on the chain. Taking a balance stops no sale of those who still have theirs.
const STOPPING: &[AnomalyCode] = &[
    AnomalyCode::Pausable,
    AnomalyCode::Blacklist,
    AnomalyCode::TaxRaisable,
    AnomalyCode::ExternalGate,
    AnomalyCode::BuyBlockable,
];
/// Maximum number of slots that are tried with other values: alone, and in pairs.
const SLOTS_MAX: usize = 8;
/// Minimum drop of the received share that counts.
const SHARE_STEP: f64 = 0.005;

/// A function that wrote a slot when it was tried.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SlotWriter {
    pub(super) caller: Caller,
    pub(super) selector: Selector,
    pub(super) arguments: String,
}

/// Slots with the functions that wrote them, other than those that move tokens or permit it.
pub(super) type SlotWriters = BTreeMap<(Address, U256), Vec<SlotWriter>>;

/// Whether an on-chain sell goes as in the simulation.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum SaleState {
    /// Nothing was sold, or not every slot was tested.
    #[default]
    Unknown,
    /// The data does not show whether it succeeds; the reason.
    Depends(String),
    /// It depends on nothing unknown.
    Stands,
}

/// Known facts for the search.
pub(super) struct Asked<'a> {
    pub(super) deployed_by: DeployedBy,
    /// Whether the dataset's storage is complete.
    pub(super) whole: bool,
    /// Whether the sale goes through without anything being opened first.
    pub(super) open: bool,
    pub(super) writers: &'a SlotWriters,
    pub(super) effects: &'a [FunctionEffect],
    pub(super) found: &'a [Anomaly],
}

/// Determines whether the state on the chain, which is not in the data, may change the trade.
pub(super) fn of_sale(machine: &mut Machine<'_>, scene: &Scene, asked: &Asked<'_>) -> SaleState {
    let Some(trade) = Trade::observe(machine, scene) else {
        return SaleState::Unknown;
    };
    let stored = asked.deployed_by == DeployedBy::Snapshot;
    if stored && asked.whole {
        let closed = "with the dataset's storage, selling is disabled until trading opens";
        return if asked.open {
            SaleState::Stands
        } else {
            SaleState::Depends(closed.into())
        };
    }
    let power = asked
        .found
        .iter()
        .find(|anomaly| STOPPING.contains(&anomaly.code) && anomaly.strength > 0.0);
    let by_power = power.and_then(|power| trade.of_power(power, asked));
    let on = by_power
        .or_else(|| trade.slot_that_matters(machine, scene, asked))
        .or_else(|| {
            power.map(|power| format!("the on-chain state is unknown, and {}", power.sentence))
        })
        .or_else(|| trade.answers_that_matter(machine, scene))
        .or_else(|| (!trade.legs[2].ok).then(|| "a sell through another router fails".to_owned()));
    match on {
        Some(on) => {
            let sells = if stored {
                "selling works with the dataset's incomplete storage"
            } else {
                "selling works in a fresh deployment"
            };
            let once = if asked.open {
                ""
            } else {
                " once trading opens"
            };
            SaleState::Depends(format!(
                "{sells}{once}, but {on}; add the token's complete `storage`"
            ))
        }
        None if machine.stopped.is_some() => SaleState::Unknown,
        None => SaleState::Stands,
    }
}

/// The slots that a sale reads, of which another value would stop or tax it, and that no call was seen to write: the check that looks for such
/// calls, and the place. They may be set once and for all; or who writes them was not found.
pub(super) fn unwritten(
    machine: &mut Machine<'_>,
    scene: &Scene,
    writers: &SlotWriters,
) -> Vec<(AnomalyCode, String)> {
    let Some(trade) = Trade::observe(machine, scene) else {
        return Vec::new();
    };
    let unexplained = |slot: &&(Address, U256)| {
        !trade.ledger.contains(slot) && !trade.writes.contains(slot) && !writers.contains_key(slot)
    };
    let unexplained: Vec<_> = trade
        .reads
        .iter()
        .filter(|(at, _)| *at == trade.token)
        .filter(unexplained)
        .copied()
        .take(SLOTS_MAX)
        .collect();
    let mut found: Vec<(AnomalyCode, String)> = Vec::new();
    for slot in unexplained {
        let entry = trade.trace.mapping_of(slot.1).is_some();
        let Some(stops) = trade.change(machine, scene, slot) else {
            continue;
        };
        let code = match (stops, entry) {
            (true, false) => AnomalyCode::Pausable,
            (true, true) => AnomalyCode::Blacklist,
            (false, _) => AnomalyCode::TaxRaisable,
        };
        if found.iter().all(|(known, _)| *known != code) {
            found.push((code, trade.place(slot)));
        }
    }
    found
}

/// A purchase and the sale of what was bought, as they went.
struct Trade {
    legs: [SimulatedLeg; 3],
    token: Address,
    reads: BTreeSet<(Address, U256)>,
    writes: BTreeSet<(Address, U256)>,
    /// Slots that hold the traders' balances and the router's allowance.
    ledger: BTreeSet<(Address, U256)>,
    trace: Trace,
    /// Contracts asked that are not in the dataset.
    asked: Vec<Address>,
}

impl Trade {
    fn observe(machine: &mut Machine<'_>, scene: &Scene) -> Option<Self> {
        let token = scene.token;
        let (mut reads, mut writes, mut called) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        machine.start_trace(scene.people.holder, token);
        let legs = round_trip(machine, scene, &mut |outcome| {
            reads.extend(outcome.reads.iter().copied());
            writes.extend(outcome.writes.iter().copied());
            called.extend(outcome.called.iter().copied());
        });
        let trace = machine.end_trace();
        called.retain(|address| *address != token && machine.evm_state().mocked(*address));
        if !legs[..2].iter().all(|leg| leg.ok) {
            return None;
        }
        let [holder, pair] = [scene.people.holder, scene.pair].map(abi::word_of);
        let router = abi::word_of(scene.people.other_router);
        let views = [
            (abi::BALANCE_OF, vec![holder]),
            (abi::BALANCE_OF, vec![pair]),
            (abi::ALLOWANCE, vec![holder, pair]),
            (abi::ALLOWANCE, vec![holder, router]),
        ];
        let mut ledger = BTreeSet::new();
        for (selector, words) in views {
            let view = machine.simulate(scene.people.newcomer, token, abi::call(selector, &words));
            ledger.extend(view.reads.into_iter().filter(|slot| writes.contains(slot)));
        }
        // The slot that is the supply; a view that reads more, such as a switch, does not make that part of the ledger.
        let supply = machine.simulate(
            scene.people.newcomer,
            token,
            abi::call(abi::TOTAL_SUPPLY, &[]),
        );
        if let (Some(word), [(at, slot)]) = (supply.word(), &supply.reads[..])
            && machine.evm_state().slot(*at, *slot) == word
        {
            ledger.insert((*at, *slot));
        }
        Some(Self {
            legs,
            token,
            reads,
            writes,
            ledger,
            trace,
            asked: called,
        })
    }

    /// Names the first slot whose value on the chain is not known and of which some value stops or taxes the trade.
    fn slot_that_matters(
        &self,
        machine: &mut Machine<'_>,
        scene: &Scene,
        asked: &Asked<'_>,
    ) -> Option<String> {
        // A call of any code writes any slot.
        let any = asked
            .found
            .iter()
            .any(|anomaly| anomaly.code == AnomalyCode::DelegatecallAny);
        let slots = self.reads.iter().filter(|slot| !self.ledger.contains(slot));
        let unknown = slots.filter(|(at, slot)| {
            let by_constructor = match asked.deployed_by {
                // What had to be opened may be shut on the chain.
                DeployedBy::Constructor => any || !asked.open,
                DeployedBy::Code => true,
                // In an incomplete storage, what is there is known.
                DeployedBy::Snapshot => machine.evm_state().slot(*at, *slot).is_zero(),
                DeployedBy::Chain => false,
            };
            let key = (*at, *slot);
            asked.writers.contains_key(&key)
                || by_constructor
                    && !self.writes.contains(&key)
                    && !self.own_entry(scene, key, asked)
        });
        let unknown: Vec<_> = unknown.copied().collect();
        let alone = unknown
            .iter()
            .take(SLOTS_MAX)
            .copied()
            .find(|slot| self.changes(machine, scene, *slot));
        // Decoys must not hide the slot that matters.
        if alone.is_none() && unknown.len() > SLOTS_MAX {
            return Some(format!(
                "it depends on {} storage slots with unknown on-chain values, too many to try",
                unknown.len()
            ));
        }
        let slot = alone.or_else(|| self.two_that_matter(machine, scene, &unknown))?;
        let writer = asked.writers.get(&slot).and_then(|writers| writers.first());
        Some(self.text(
            slot,
            writer.map(|writer| (writer.selector, &*writer.arguments, writer.caller)),
            asked.open,
        ))
    }

    /// The first slot that stops or taxes the trade together with another one.
    fn two_that_matter(
        &self,
        machine: &mut Machine<'_>,
        scene: &Scene,
        slots: &[(Address, U256)],
    ) -> Option<(Address, U256)> {
        let values = [
            U256::ONE,
            U256::MAX,
            abi::word_of(scene.people.pair),
            abi::word_of(scene.people.holder),
        ];
        for (at, first) in slots.iter().enumerate() {
            for second in &slots[at + 1..] {
                for (one, other) in values
                    .iter()
                    .flat_map(|one| values.iter().map(move |other| (*one, *other)))
                {
                    if self
                        .worse_with(machine, scene, &[(*first, one), (*second, other)])
                        .is_some()
                    {
                        return Some(*first);
                    }
                }
            }
        }
        None
    }

    /// Whether it is a mapping entry that only its account sets: the entry of a seller, whom no constructor knew, or in a mapping where each
    /// account writes its own entry, such as the delegate of its votes.
    fn own_entry(&self, scene: &Scene, (at, slot): (Address, U256), asked: &Asked<'_>) -> bool {
        let own = |account: Address| {
            let moved = self.trace.entry_of(
                slot,
                abi::word_of(account),
                abi::word_of(scene.people.stranger),
            );
            let written = |slot: U256| {
                asked.writers.get(&(at, slot)).is_some_and(|writers| {
                    writers
                        .iter()
                        .any(|writer| writer.caller == Caller::Stranger)
                })
            };
            moved.is_some_and(|slot| account == scene.people.holder || written(slot))
        };
        [scene.people.holder, scene.people.pair]
            .into_iter()
            .any(own)
    }

    /// Whether some value of the slot stops the trade or lowers what arrives.
    fn changes(&self, machine: &mut Machine<'_>, scene: &Scene, slot: (Address, U256)) -> bool {
        self.change(machine, scene, slot).is_some()
    }

    /// Whether some value of the slot stops the trade, rather than lowers what arrives; `None` if none does either.
    fn change(
        &self,
        machine: &mut Machine<'_>,
        scene: &Scene,
        (at, slot): (Address, U256),
    ) -> Option<bool> {
        let old = machine.evm_state().slot(at, slot);
        let large = U256::MAX >> 16;
        let values = [U256::ZERO, U256::ONE, large, U256::MAX, U256::from(99)].into_iter();
        let accounts = [
            scene.people.pair,
            scene.people.holder,
            scene.people.other,
            scene.people.stranger,
        ]
        .map(abi::word_of)
        .into_iter();
        // Several variables share a word: flips each one that is a flag.
        let flags = (0..32).map(|byte| old ^ (U256::ONE << (8 * byte)));
        let mut values = values
            .chain(accounts)
            .chain(flags)
            .filter(|value| *value != old);
        values.find_map(|value| self.worse_with(machine, scene, &[((at, slot), value)]))
    }

    /// Whether the trade fails with these slots, rather than brings less; `None` if it goes as before.
    fn worse_with(
        &self,
        machine: &mut Machine<'_>,
        scene: &Scene,
        slots: &[((Address, U256), U256)],
    ) -> Option<bool> {
        let mark = machine.mark();
        for ((at, slot), value) in slots {
            machine.evm_state().set_slot(*at, *slot, *value);
        }
        let worse = self.worse(machine, scene);
        machine.rollback(mark);
        worse
    }

    /// Whether the trade now fails, rather than less of it arrives; `None` if it goes as before.
    fn worse(&self, machine: &mut Machine<'_>, scene: &Scene) -> Option<bool> {
        let now = round_trip(machine, scene, &mut |_| {});
        let any = |test: &dyn Fn(&SimulatedLeg, &SimulatedLeg) -> bool| {
            now.iter().zip(&self.legs).any(|(now, was)| test(now, was))
        };
        let stops = any(&|now, was| was.ok && !now.ok);
        // A trade cut off by the budget shows nothing.
        (machine.stopped.is_none()
            && (stops || any(&|now, was| was.share - now.share >= SHARE_STEP)))
        .then_some(stops)
    }

    /// Names the first other contract asked, if some answers stop or tax the trade.
    fn answers_that_matter(&self, machine: &mut Machine<'_>, scene: &Scene) -> Option<String> {
        let outside = self.asked.first()?;
        let mark = machine.mark();
        let worse = MockAnswer::ALL.into_iter().any(|answer| {
            machine.evm_state().answer = answer;
            self.worse(machine, scene).is_some()
        });
        machine.rollback(mark);
        worse.then(|| format!("it depends on the response of {outside:#x}, whose code is unknown"))
    }

    /// Names the slot of the trade that the power's call writes.
    fn of_power(&self, power: &Anomaly, asked: &Asked<'_>) -> Option<String> {
        let shown = power.evidence.first()?.selector.as_deref()?;
        let call = &asked
            .effects
            .iter()
            .find(|effect| abi::hex(effect.call.selector) == shown)?
            .call;
        let writes = |slot: &&(Address, U256)| {
            asked.writers.get(slot).is_some_and(|writers| {
                writers
                    .iter()
                    .any(|writer| writer.selector == call.selector)
            })
        };
        let slot = self
            .reads
            .iter()
            .filter(|slot| !self.ledger.contains(slot))
            .find(writes)?;
        Some(self.text(
            *slot,
            Some((call.selector, &call.arguments, call.caller)),
            false,
        ))
    }

    /// A slot in words.
    fn place(&self, (at, slot): (Address, U256)) -> String {
        let whose = if at == self.token {
            String::new()
        } else {
            format!(" of {at:#x}")
        };
        match self.trace.mapping_of(slot) {
            Some(base) => format!("an entry of the mapping at slot {}{whose}", short(base)),
            None => format!("slot {}{whose}", short(slot)),
        }
    }

    fn text(
        &self,
        slot: (Address, U256),
        writer: Option<(Selector, &str, Caller)>,
        by_constructor: bool,
    ) -> String {
        let place = self.place(slot);
        match writer {
            Some((selector, arguments, caller)) => {
                let (who, call) = (caller.with_article(), abi::named(selector, arguments));
                format!(
                    "it depends on {place}, which {who} can set with `{call}` and whose on-chain value is unknown"
                )
            }
            None if by_constructor => {
                format!(
                    "it depends on {place}, which the constructor may have set and whose on-chain value is unknown"
                )
            }
            None => format!("it depends on {place}, whose on-chain value is unknown"),
        }
    }
}

/// A slot in decimal; a hash in hex, shortened.
fn short(slot: U256) -> String {
    if slot < U256::from(1 << 16) {
        return slot.to_string();
    }
    let hex = format!("{slot:#066x}");
    format!("{}…{}", &hex[..6], &hex[hex.len() - 4..])
}
