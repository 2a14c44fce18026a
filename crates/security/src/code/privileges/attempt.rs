//! One call that was tried: reads its effects, and drops those that come only from mock contracts or missing settings.

use revm::primitives::{Address, U256};

use super::{
    super::{
        effects::{
            After, Baseline, Caller, FunctionCall, FunctionEffect, Privilege, compare,
            false_transfer, renounced,
        },
        evm_state::MockAnswer,
        functions,
        machine::{EvmOutcome, Machine},
        trade_simulation::simulate_trades,
    },
    Exploration, PLAIN_MAX, Written,
};

/// Maximum number of calls that something else may follow.
const PENDING_MAX: usize = 40;
/// Maximum number of settings tried in pairs.
const SETTINGS_MAX: usize = 14;
/// Maximum number of slots of a theft that are tried with other values.
const SETTINGS_OF_THEFT_MAX: usize = 8;

/// A call that was tried, and the effects seen so far.
pub(super) struct Attempt<'a> {
    pub(super) before: &'a Baseline<'a>,
    pub(super) call: &'a FunctionCall,
    pub(super) outcome: &'a EvmOutcome,
    pub(super) written: &'a Written,
    pub(super) effects: Vec<FunctionEffect>,
}

impl Attempt<'_> {
    /// Determines the effects of a successful call in the world it left.
    pub(super) fn read_effects(&mut self, machine: &mut Machine<'_>, found: &mut Exploration) {
        let Self {
            before,
            call,
            outcome,
            written,
            ref mut effects,
        } = *self;
        if outcome.destroyed {
            effects.push(call.effect(Privilege::Destroy, 1.0, "its coins", "none"));
        }
        // Whoever exchanges the contract behind a proxy has every power: that is said once, as PROXY.
        if outcome
            .writes
            .iter()
            .any(|(at, slot)| *at == before.scene.token && is_implementation(*slot))
        {
            return;
        }
        let named = |target: &&Address| call.filling.addresses.contains(target);
        if outcome
            .delegated
            .iter()
            .filter(named)
            .any(|target| *target != before.scene.token)
        {
            effects.push(call.effect(Privilege::Delegate, 1.0, "own code", "the caller's"));
        }
        if call.caller == Caller::Stranger
            && outcome
                .handed
                .iter()
                .filter(named)
                .any(|target| *target != call.from)
        {
            effects.push(call.effect(Privilege::ArbitraryCall, 1.0, "own calls", "the caller's"));
        }
        if outcome
            .writes
            .iter()
            .any(|slot| before.slots.contains(slot))
        {
            if found
                .seen
                .insert((call.caller, call.standard(), written.clone()))
            {
                let after = compare(machine, before, call, outcome, effects);
                let setting = call.caller != Caller::Stranger
                    && !after.moved
                    && !call.standard()
                    && effects.is_empty();
                found.note(call, Some(after));
                if setting && found.settings.len() < SETTINGS_MAX {
                    found.settings.push(call.clone());
                }
            }
            return;
        }
        if call.caller != Caller::Stranger
            && !call.standard()
            && !outcome.writes.is_empty()
            && found.pending.len() < PENDING_MAX
        {
            found.pending.push(call.clone());
        }
        // No slot was written that balances or trading depend on.
        let unchanged = before.unchanged();
        found.note(
            call,
            Some(After {
                trades: unchanged.trades.filter(|_| !outcome.writes.is_empty()),
                ..unchanged
            }),
        );
        if !outcome.logs.is_empty() && !call.standard() {
            false_transfer(before, call, outcome, effects);
        }
        if before.owner.is_some_and(|owner| !owner.is_zero()) && !outcome.writes.is_empty() {
            renounced(machine, before, call, effects);
        }
    }

    /// Drops thefts by an outside caller that succeed only because a mock contract responded `true`.
    pub(super) fn drop_mock_artifacts(&mut self, machine: &mut Machine<'_>) {
        let takes =
            |effect: &FunctionEffect| matches!(effect.power, Privilege::Drain | Privilege::Theft);
        let asked = self
            .outcome
            .called
            .iter()
            .any(|address| machine.evm_state().mocked(*address));
        if self.call.caller != Caller::Stranger || !asked || !self.effects.iter().any(takes) {
            return;
        }
        let mark = machine.mark();
        machine.evm_state().answer = MockAnswer::Zero;
        let refused = !machine
            .call(self.call.from, self.call.to, self.call.data.clone())
            .ok;
        machine.rollback(mark);
        if refused {
            self.effects.retain(|effect| !takes(effect));
        }
    }

    /// Drops thefts by a standard transfer that succeed without an allowance only because no constructor ran.
    pub(super) fn drop_uninitialized_artifacts(&mut self, machine: &mut Machine<'_>) {
        let takes = |effect: &FunctionEffect| {
            effect.power.of_balances() || effect.power == Privilege::Theft
        };
        let call = self.call;
        // A transfer that makes somebody richer than all that was sent shows a scale that no constructor has set.
        let sent = call.filling.numbers.first().copied().unwrap_or_default();
        if self.before.code_only && call.standard() {
            self.effects.retain(|effect| {
                !matches!(effect.power, Privilege::Mint | Privilege::HiddenMint)
                    || effect.gain <= sent
            });
        }
        if call.standard()
            && self.effects.iter().any(takes)
            && by_default(machine, self.before, call.from, &call.data, self.outcome)
        {
            self.effects.retain(|effect| !takes(effect));
        }
    }

    /// Reclassifies tokens moved to another entry of the same holder as frozen, not drained: still theirs, but not for sale.
    pub(super) fn reclassify_freezes(&mut self, machine: &mut Machine<'_>) {
        if self.call.caller == Caller::Stranger {
            return;
        }
        for at in (0..self.effects.len()).rev() {
            let FunctionEffect {
                power,
                burnt,
                taken,
                ..
            } = &self.effects[at];
            let (Privilege::Drain | Privilege::Dispense, false, Some((who, loss))) =
                (*power, *burnt, *taken)
            else {
                continue;
            };
            if !self.is_kept_for(machine, who, loss) {
                continue;
            }
            if self.effects[at].power == Privilege::Drain {
                (self.effects[at].power, self.effects[at].size) = (Privilege::Blacklist, 1.0);
            } else {
                self.effects.remove(at);
            }
        }
    }

    /// Whether the call added the loss to one other entry of the same account.
    fn is_kept_for(&self, machine: &mut Machine<'_>, who: Address, loss: U256) -> bool {
        let token = self.before.scene.token;
        let risen = |(at, slot, now): &&(Address, U256, U256)| {
            now.checked_sub(machine.evm_state().slot(*at, *slot)) == Some(loss)
        };
        // Exactly one slot: of two, one might be a thief's.
        let places: Vec<_> = self.written.iter().filter(risen).copied().collect();
        let [(address, slot, _)] = places[..] else {
            return false;
        };
        address == token
            && !self.before.ledger.contains(&(address, slot))
            && machine
                .trace(self.call.from, token, self.call.data.clone())
                .1
                .kept_for(slot, who)
    }
}

/// Whether the slot names the contract behind a proxy (EIP-1967's, its beacon's, EIP-1822's).
fn is_implementation(slot: U256) -> bool {
    let first = slot.to_be_bytes::<32>();
    functions::PROXY_SLOTS
        .iter()
        .any(|start| first.starts_with(start))
}

/// Whether a call works only while some setting is zero: with another value it reverts, while an approved sale still succeeds.
pub(super) fn by_default(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    from: Address,
    data: &[u8],
    outcome: &EvmOutcome,
) -> bool {
    let token = before.scene.token;
    let plain = outcome
        .reads
        .iter()
        .filter(|(at, slot)| before.code_only && *at == token && *slot < PLAIN_MAX)
        .map(|(_, slot)| *slot);
    let slots: Vec<U256> = plain
        .filter(|slot| machine.evm_state().slot(token, *slot).is_zero())
        .take(SETTINGS_OF_THEFT_MAX)
        .collect();
    slots.into_iter().any(|slot| {
        let mark = machine.mark();
        machine.evm_state().set_slot(token, slot, U256::MAX);
        let inner = machine.mark();
        let refused = !machine.call(from, token, data.to_vec()).ok;
        machine.rollback(inner);
        let only_this = refused && simulate_trades(machine, before.scene, false, None).sell.ok;
        machine.rollback(mark);
        only_this
    })
}
