//! Effects of a call on balances and the supply: what it took, gave away or made.

use revm::primitives::{Address, U256};

use super::{
    super::{
        abi,
        funding::balance,
        machine::{EvmOutcome, Machine},
        trade_simulation::{Scene, ratio, transfer_in},
    },
    BalanceSheet, Baseline, Caller, FunctionCall, FunctionEffect, Privilege,
};

/// Minimum loss of a balance that counts.
const LOSS_MIN: f64 = 0.001;
/// Share that a scale has to take.
const SCALED: f64 = 0.5;

/// A call that changed balances or the supply.
pub(super) struct BalanceMovement<'a> {
    pub(super) before: &'a Baseline<'a>,
    pub(super) after: &'a BalanceSheet,
    pub(super) call: &'a FunctionCall,
    pub(super) outcome: &'a EvmOutcome,
}

impl BalanceMovement<'_> {
    pub(super) fn effects(&self, machine: &mut Machine<'_>) -> Vec<FunctionEffect> {
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
        self.after
            .of
            .iter()
            .any(|(of, now)| *now > self.before.balances.get(*of))
    }

    /// An effect on an amount that belongs to `whose`.
    fn on_amount(
        &self,
        power: Privilege,
        size: f64,
        whose: &str,
        (was, now): (U256, U256),
    ) -> FunctionEffect {
        let [then, after, change] = abi::change(was, now, self.before.scene.funding.decimals);
        let effect = self.call.effect(
            power,
            size,
            format!("{whose} {then}"),
            format!("{whose} {after}"),
        );
        FunctionEffect {
            change: Some(change),
            ..effect
        }
    }

    /// Detects tokens taken from the contract itself, from the owner by an outside caller, or from the burn address.
    fn dispensed(&self) -> Vec<FunctionEffect> {
        let scene = self.before.scene;
        // In an owner's call, the zero address may only stand for a setting that no constructor has set.
        let burnt = (self.call.caller == Caller::Stranger).then_some(Address::ZERO);
        let givers = [scene.token, scene.owner]
            .into_iter()
            .chain(burnt)
            .filter(|who| self.lost(*who));
        givers
            .map(|who| {
                let (had, has) = self.balance(who);
                let (then, now) = self.balance(scene.pair);
                let sold = now.saturating_sub(then) >= (had - has) / U256::from(10) * U256::from(9);
                let power = if who == scene.token && sold && !self.profits() {
                    Privilege::SwapBack
                } else {
                    Privilege::Dispense
                };
                let effect =
                    self.on_amount(power, ratio(had - has, had), &scene.name(who), (had, has));
                FunctionEffect {
                    of_contract: who == scene.token,
                    taken: (!self.gained()).then_some((who, had - has)),
                    ..effect
                }
            })
            .collect()
    }

    /// Detects a loss of a holder or the pair, unless all lost the same share.
    fn drained(&self) -> Option<FunctionEffect> {
        let loss = |who| {
            let (had, has) = self.balance(who);
            if self.lost(who) {
                ratio(had - has, had)
            } else {
                0.0
            }
        };
        let losses = [
            self.before.scene.people.holder,
            self.before.scene.people.other,
            self.before.scene.pair,
        ]
        .map(|who| (who, loss(who)));
        // Rescaling (rebase): all balances changed by the same factor.
        let (low, high) = losses
            .iter()
            .fold((1.0_f64, 0.0_f64), |(low, high), (_, loss)| {
                (low.min(*loss), high.max(*loss))
            });
        if let Some(effect) = self.scaled() {
            return Some(effect);
        }
        if high < LOSS_MIN || (high < 0.999 && high - low < 1e-6) {
            return None;
        }
        let (who, size) = losses.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (had, has) = self.balance(who);
        let effect = self.on_amount(
            Privilege::Drain,
            size,
            &self.before.scene.name(who),
            (had, has),
        );
        let gained = self.gained();
        let supply_fell = self
            .before
            .balances
            .supply
            .unwrap_or_default()
            .checked_sub(self.after.supply.unwrap_or_default());
        Some(FunctionEffect {
            burnt: !gained && supply_fell == Some(had - has),
            taken: (!gained).then_some((who, had - has)),
            ..effect
        })
    }

    /// Detects a scale that takes most from both holders and spares the pool: what they have left buys nothing like what they had. So does a scale
    /// that leaves them nothing.
    fn scaled(&self) -> Option<FunctionEffect> {
        let people = self.before.scene.people;
        let [holder, other, pair] =
            [people.holder, people.other, self.before.scene.pair].map(|who| {
                let (had, has) = self.balance(who);
                if has < had {
                    ratio(had - has, had)
                } else {
                    0.0
                }
            });
        let spares =
            holder >= SCALED && other >= SCALED && pair < LOSS_MIN && !self.lost(people.holder);
        // If no holder has anything left, the pool's balance does not matter. A contract that no longer answers has taken nothing.
        let wipes = !self.after.silent
            && [people.holder, people.other].into_iter().all(|who| {
                let (had, has) = self.balance(who);
                !had.is_zero() && has.is_zero() && !self.lost(who)
            });
        (spares || wipes).then(|| {
            self.on_amount(
                Privilege::Drain,
                holder,
                &self.before.scene.name(people.holder),
                self.balance(people.holder),
            )
        })
    }

    /// Detects a gain without a corresponding loss.
    fn minted(&self, machine: &mut Machine<'_>, drained: bool) -> Option<FunctionEffect> {
        let Scene {
            people,
            token,
            pair,
            funding,
            ..
        } = *self.before.scene;
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
        let gainers = self
            .after
            .of
            .iter()
            .map(|(who, _)| *who)
            .filter(|who| *who != pair && rose(self.balance(*who)));
        // What is sold at the pool and was nobody's is made, too.
        let sold = Some(pair).filter(|who| rose(self.balance(*who)) && !self.call.standard());
        let winner = gainers.max_by_key(|who| gain(*who)).or(sold);
        let transfers: Vec<_> = self
            .outcome
            .logs
            .iter()
            .filter_map(|log| transfer_in(log, token))
            .filter(|(_, _, value)| !value.is_zero())
            .collect();
        let visible = transfers.iter().any(|(from, _, _)| from.is_zero());
        let power = if visible {
            Privilege::Mint
        } else {
            Privilege::HiddenMint
        };
        let gain = winner.map_or(U256::ZERO, gain);
        let supply = (
            self.before.balances.supply.unwrap_or_default(),
            self.after.supply.unwrap_or_default(),
        );
        if rose(supply) {
            let size = ratio(supply.1 - supply.0, supply.0.max(U256::ONE)).min(1.0);
            return Some(FunctionEffect {
                gain,
                ..self.on_amount(power, size, "supply", supply)
            });
        }
        let who = winner?;
        // Paid by another account: one of ours, or one whose balance fell.
        let losses = self
            .before
            .balances
            .of
            .iter()
            .filter(|(of, _)| *of != who)
            .map(|(of, had)| had.saturating_sub(self.after.get(*of)));
        let paid = losses.fold(U256::ZERO, U256::saturating_add);
        // Of what a pool was sold, no more can be paid than was lost.
        if drained
            || !paid.is_zero() && (who != pair || paid >= gain / U256::from(10) * U256::from(9))
        {
            return None;
        }
        // What those lost whose balances are known is counted already.
        let watched = |who: &Address| self.before.balances.of.iter().any(|(of, _)| of == who);
        let sender = transfers
            .iter()
            .map(|(from, _, _)| *from)
            .find(|from| !from.is_zero() && !watched(from));
        let effect = self.on_amount(
            power,
            ratio(gain, funding.supply).min(1.0),
            &self.before.scene.name(who),
            self.balance(who),
        );
        Some(FunctionEffect {
            unbacked: !visible,
            gain,
            event_sender: sender
                .map(|sender| (sender, balance(machine, token, sender).unwrap_or_default())),
            ..effect
        })
    }
}
