//! Findings from simulated trades and effects of calls, each with its strength, sentence and evidence.

mod sentences;

use revm::primitives::Address;

use self::sentences::{beside, called, proof, sentence};
use super::{
    super::{Anomaly, AnomalyCode, Evidence, PrivilegeHolder, Taxes},
    abi,
    deployment::DeployedBy,
    effects::{Caller, FunctionCall, FunctionEffect, Privilege},
    funding::Funding,
    trade_simulation::{ONE_LEG, Opening, SimulatedLeg, TradeSimulation},
};

/// A smaller tax is a rounding error.
pub(super) const TAX_MIN: f64 = 0.005;
pub(super) const TAX_FATAL: f64 = 0.5;
/// Strength of sales of which only some fail: until the owner opens them, at some time, or for some.
pub(super) const SOME_SALES: f64 = 0.6;
/// Strength of findings with zeroed storage: the contract may never have been in that state.
pub(super) const ZERO_STORAGE: f64 = 0.8;
/// Strength factor if the taken balance is burned.
const BURNT: f64 = 0.5;
/// Strength of a pause that the owner can end, but that was not seen to be started.
const WITHHELD: f64 = 0.5;
/// Strength of SELFDESTRUCT by anybody: since the Cancun upgrade (<https://eips.ethereum.org/EIPS/eip-6780>) it moves coins, and nothing else.
const EMPTIED: f64 = 0.2;
/// Strength of taking tokens from the contract itself, which is no trader.
const DISPENSED: f64 = 0.05;
/// Strength factor of a power if only the code is known: its slot may be empty and renounced for good.
const UNHELD: f64 = 0.8;
/// Maximum number of pieces of evidence per anomaly.
const PROOFS_MAX: usize = 3;

/// Uncertainty about a contract of which only the runtime code is given.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CodeOnly {
    /// Whether every setting is zero.
    pub(super) settings: bool,
    /// Whether the owner is unknown too, so that the privileges may be renounced.
    pub(super) unheld: bool,
}

/// Results of the trading trials.
pub(super) struct Traded<'a> {
    pub(super) trial: &'a TradeSimulation,
    /// The trial before any attempt to open trading.
    pub(super) first: &'a TradeSimulation,
    pub(super) opening: Opening,
    pub(super) deployed_by: DeployedBy,
    pub(super) funding: &'a Funding,
    pub(super) pair: Address,
    /// Whether the snapshot is not known to be incomplete.
    pub(super) whole: bool,
}

pub(super) fn trading(traded: &Traded<'_>) -> Vec<Anomaly> {
    [blocked(traded), taxed(traded), lied(traded)]
        .into_iter()
        .flatten()
        .collect()
}

fn seen(what: &str, caller: &str, before: impl Into<String>, after: impl Into<String>) -> Evidence {
    Evidence {
        what: what.into(),
        caller: Some(caller.into()),
        before: Some(before.into()),
        after: Some(after.into()),
        ..Evidence::default()
    }
}

impl Traded<'_> {
    /// Whether a failed sale is more than a missing setting. With zeroed storage, it counts only if just the way to the pair is blocked, or
    /// just for those who have bought.
    fn is_conclusive(&self) -> bool {
        let only_pair = self.first.send.ok && self.first.straight.is_some_and(|leg| !leg.ok);
        let only_buyers = self.first.cold_sell.is_some_and(|leg| leg.ok);
        self.deployed_by == DeployedBy::Constructor
            || self.is_whole_snapshot()
            || only_pair
            || only_buyers
    }

    fn is_whole_snapshot(&self) -> bool {
        self.deployed_by == DeployedBy::Snapshot && self.whole
    }

    /// Whether sales are blocked for good, or until the owner calls something.
    fn is_blocked(&self) -> bool {
        // In a complete snapshot, a blocked sale is a fact, whoever could change it, provided that our balances are right.
        let fact = self.is_whole_snapshot() && self.funding.supply_named && !self.first.sell.ok;
        match self.opening {
            Opening::Blocked => {
                sale_fails(self.trial) && self.is_conclusive()
                    || fact && self.first.score() >= ONE_LEG
            }
            Opening::StorageWrite => sale_fails(self.first) && self.is_conclusive() || fact,
            // A pause blocks buying, too; letting buyers in but not out is worse.
            Opening::Owner => fact && self.first.buy.ok,
            _ => false,
        }
    }
}

/// Whether a holder can buy but not sell.
fn sale_fails(trial: &TradeSimulation) -> bool {
    let of_holder = trial.buy.ok && !trial.sell.ok;
    of_holder
        || trial.other_buy.is_some_and(|leg| leg.ok) && trial.other_sell.is_some_and(|leg| !leg.ok)
}

fn blocked(traded: &Traded<'_>) -> Option<Anomaly> {
    let Traded {
        first,
        opening,
        funding,
        ..
    } = traded;
    let amount = abi::amount(funding.amount, funding.decimals);
    if !traded.is_blocked() {
        // A switch that opens both directions is a launch; one that lets buyers in but not out is not.
        let one_way = !matches!(opening, Opening::Open | Opening::Wait)
            && sale_fails(first)
            && traded.is_conclusive();
        return one_way.then(|| {
            let text = format!("buyers of {amount} cannot sell until the owner makes a call, although buying requires no such call");
            let shown = seen(&format!("sell of {amount}"), "router", "fails", "succeeds after the owner's call");
            Anomaly::new(AnomalyCode::SellBlocked, SOME_SALES, text).fatal(false).evidence(shown)
        });
    }
    let (strength, how) = match traded.deployed_by {
        DeployedBy::Code => (ZERO_STORAGE, "with empty storage"),
        DeployedBy::Constructor => (1.0, "after its constructor"),
        DeployedBy::Snapshot if funding.supply_named && traded.whole => {
            (1.0, "with the dataset's storage")
        }
        DeployedBy::Snapshot => (
            ZERO_STORAGE,
            "with the dataset's storage, which is incomplete",
        ),
        DeployedBy::Chain => (1.0, "with the on-chain state"),
    };
    let until = if *opening == Opening::Owner {
        " until the owner makes a call"
    } else {
        ", even after owner calls and a wait"
    };
    let whose = if first.buy.ok { "who bought" } else { "of" };
    Some(
        Anomaly::new(
            AnomalyCode::SellBlocked,
            strength,
            format!("a holder {whose} {amount} cannot sell{until} ({how})"),
        )
        .evidence(seen(
            &format!("buy of {amount}"),
            "pair",
            "",
            if first.buy.ok { "succeeds" } else { "fails" },
        ))
        .evidence(seen(&format!("sell of {amount}"), "router", "", "fails")),
    )
}

fn taxed(traded: &Traded<'_>) -> Option<Anomaly> {
    let sell = traded.trial.sell;
    let tax = 1.0 - sell.share;
    if !sell.ok || tax < TAX_MIN || !sell.exact && !traded.funding.by_transfers {
        return None;
    }
    let amount = abi::amount(traded.funding.amount, traded.funding.decimals);
    Some(
        Anomaly::new(
            AnomalyCode::SellTax,
            tax / TAX_FATAL,
            format!("{:.1}% tax on a sell of {amount}", tax * 100.0),
        )
        .fatal(tax > TAX_FATAL)
        .figure("tax", tax)
        .evidence(seen(
            &format!("sell of {amount}"),
            "router",
            "sent 100%",
            format!("received {:.1}%", sell.share * 100.0),
        )),
    )
}

/// Tax of each leg of the trial, unless the balances are inferred.
pub(super) fn taxes(traded: &Traded<'_>) -> Taxes {
    let tax = |leg: SimulatedLeg| {
        let tax = 1.0 - leg.share;
        (leg.ok && (leg.exact || traded.funding.by_transfers)).then_some(if tax < TAX_MIN {
            0.0
        } else {
            tax
        })
    };
    // A trade that needed writing to storage succeeds for nobody in reality.
    let trial = if traded.opening == Opening::StorageWrite {
        traded.first
    } else {
        traded.trial
    };
    Taxes {
        buy: tax(trial.buy),
        sell: tax(trial.sell),
        transfer: tax(trial.send),
    }
}

pub(super) fn lied(traded: &Traded<'_>) -> Option<Anomaly> {
    let trial = traded.trial;
    let legs = [
        ("buy", trial.buy),
        ("sell", trial.sell),
        ("transfer", trial.send),
    ];
    // Balances that we dealt and nobody can move are scaled or wrapped; then a missing Transfer proves nothing.
    let moves = traded.opening != Opening::Blocked && traded.funding.by_transfers
        || legs.iter().any(|(_, leg)| leg.ok);
    let find = |test: fn(&SimulatedLeg) -> bool| {
        legs.iter()
            .find(|(_, leg)| moves && test(leg))
            .map(|(name, _)| *name)
    };
    let (strength, name, text) = if let Some(name) = find(|leg| leg.false_transfer) {
        (1.0, name, "emits a Transfer event but moves nothing")
    } else if let Some(name) = find(|leg| leg.silent) {
        (0.25, name, "moves tokens without a Transfer event")
    } else {
        return None;
    };
    Some(
        Anomaly::new(AnomalyCode::EventLie, strength, format!("a {name} {text}"))
            .evidence(seen(name, "holder", "", text)),
    )
}

/// Detects transfers that fail until another contract answers differently: that contract decides every transfer and is not in the code. Its
/// deployer chose it.
pub(super) fn outside(
    traded: &Traded<'_>,
    found: &[Anomaly],
    holder: PrivilegeHolder,
) -> Option<Anomaly> {
    let known = found
        .iter()
        .any(|anomaly| anomaly.code == AnomalyCode::ExternalGate);
    if traded.opening != Opening::Outside || known {
        return None;
    }
    // With the code alone, the slot that names it is empty.
    let asked = traded
        .trial
        .called
        .iter()
        .find(|address| **address != traded.pair && !address.is_zero());
    let asked = asked.map_or_else(String::new, |address| format!(" {address:#x}"));
    let shown = seen(
        "transfer",
        "holder",
        "fails",
        format!("succeeds if the contract{asked} responds differently"),
    );
    let text = format!(
        "another contract{asked}, chosen by the deployer, decides whether transfers succeed"
    );
    Some(
        Anomaly::new(AnomalyCode::ExternalGate, 1.0, text)
            .evidence(shown)
            .held_by(holder),
    )
}

/// Detects sales that fail until the owner makes a call. Right after the constructor this is a launch; for a token already on a chain,
/// it is unknown whether the call was ever made. Returns `None` if a call that stops sales was found, which is the stronger finding.
pub(super) fn selling_disabled(
    traded: &Traded<'_>,
    found: &[Anomaly],
    holder: PrivilegeHolder,
) -> Option<Anomaly> {
    let says_more = found
        .iter()
        .any(|anomaly| [AnomalyCode::Pausable, AnomalyCode::SellBlocked].contains(&anomaly.code));
    // After a constructor it is a launch; on a chain the sale itself was tried.
    let is_no_news = matches!(
        traded.deployed_by,
        DeployedBy::Constructor | DeployedBy::Chain
    );
    if traded.opening != Opening::Owner || traded.first.sell.ok || is_no_news || says_more {
        return None;
    }
    let shown = seen("sell", "holder", "fails", "succeeds after the owner's call");
    let text = "selling is disabled until the owner makes a call";
    let strength = if traded.deployed_by.is_real() {
        1.0
    } else {
        WITHHELD
    };
    Some(
        Anomaly::new(AnomalyCode::Pausable, strength, text)
            .evidence(shown)
            .held_by(holder),
    )
}

/// Adds the anomalies whose codes are not found yet.
pub(super) fn add_new(found: &mut Vec<Anomaly>, more: Vec<Anomaly>) {
    for anomaly in more {
        if found.iter().all(|known| known.code != anomaly.code) {
            found.push(anomaly);
        }
    }
}

/// One anomaly per code, with the strongest effects as its evidence.
pub(super) fn powers<'a>(
    effects: &'a [FunctionEffect],
    theft: [bool; 2],
    holder: PrivilegeHolder,
    code_only: CodeOnly,
) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for code in CODES {
        let counts = |effect: &&FunctionEffect| !part_of_wider(effect, effects);
        let read = |effect: &'a FunctionEffect| {
            let counts = counts_as(effect)
                .filter(|(of, _)| of == code)
                .map(|(_, strength)| strength);
            counts
                .or_else(|| {
                    (*code == AnomalyCode::Blacklist && is_hidden_stop(effect)).then_some(1.0)
                })
                .map(|strength| (strength, effect))
        };
        let mut proofs: Vec<(f64, &FunctionEffect)> =
            effects.iter().filter(counts).filter_map(read).collect();
        // The sort is stable: among equals, the first found wins.
        proofs.sort_by(|a, b| b.0.total_cmp(&a.0));
        proofs.dedup_by_key(|(_, effect)| effect.call.selector);
        let Some((strength, best)) = proofs.first() else {
            continue;
        };
        // With every setting at zero, tokens distributed before trading began still look mintable.
        let early = code_only.settings && *code == AnomalyCode::HiddenMint;
        let unheld = code_only.unheld && code.is_power();
        let strength = if early {
            strength.min(ZERO_STORAGE)
        } else {
            *strength
        } * if unheld { UNHELD } else { 1.0 };
        let mut anomaly =
            Anomaly::new(*code, strength, sentence(*code, best)).figure("size", best.size);
        for (_, effect) in proofs.iter().take(PROOFS_MAX) {
            anomaly = anomaly.evidence(proof(effect));
        }
        let own = match best.call {
            FunctionCall {
                caller: Caller::Privileged,
                by_contract: true,
                ..
            } => PrivilegeHolder::Contract,
            FunctionCall {
                caller: Caller::Privileged | Caller::Recognized,
                ..
            } => PrivilegeHolder::Account,
            _ => holder,
        };
        found.push(anomaly.held_by(own));
    }
    for (thief, code, who, says) in [
        (0, AnomalyCode::OwnerDrain, "owner", "the owner"),
        (1, AnomalyCode::PublicDrain, "stranger", "any caller"),
    ] {
        if theft[thief] && !found.iter().any(|anomaly| anomaly.code == code) {
            let text =
                format!("{says} can move a holder's tokens with transferFrom, without approval");
            let shown = Evidence {
                selector: Some(abi::hex(abi::TRANSFER_FROM)),
                ..seen("transferFrom without approval", who, "refused", "moved")
            };
            let strength = if code_only.unheld && code.is_power() {
                UNHELD
            } else {
                1.0
            };
            found.push(
                Anomaly::new(code, strength, text)
                    .evidence(shown)
                    .held_by(holder),
            );
        }
    }
    found
}

/// Privileges that are renounced, or whose holder is unknown; `why` is the reason.
pub(super) fn held(effects: &[FunctionEffect], holder: PrivilegeHolder, why: &str) -> Vec<Anomaly> {
    let unheld = holder != PrivilegeHolder::Nobody && !why.is_empty();
    let mut found = powers(
        effects,
        [false; 2],
        holder,
        CodeOnly {
            settings: false,
            unheld,
        },
    );
    found.retain(|anomaly| anomaly.code.is_power());
    if !why.is_empty() {
        for anomaly in &mut found {
            anomaly.sentence.push_str(&format!(" ({why})"));
        }
    }
    found
}

const CODES: &[AnomalyCode] = &[
    AnomalyCode::PublicDrain,
    AnomalyCode::OwnerDrain,
    AnomalyCode::EventLie,
    AnomalyCode::HiddenMint,
    AnomalyCode::TaxRaisable,
    AnomalyCode::Blacklist,
    AnomalyCode::ExternalGate,
    AnomalyCode::SelfDestruct,
    AnomalyCode::DelegatecallAny,
    AnomalyCode::PublicMint,
    AnomalyCode::BuyBlockable,
    AnomalyCode::Pausable,
    AnomalyCode::PersonalTax,
    AnomalyCode::LimitChangeable,
    AnomalyCode::Whitelist,
    AnomalyCode::OwnerRescue,
    AnomalyCode::OwnerMint,
];

/// Whether the effect merely applies another power to the pair or the contract: freezing anyone includes freezing the pair, and choosing the consulted
/// contract includes choosing one that refuses.
fn part_of_wider(effect: &FunctionEffect, effects: &[FunctionEffect]) -> bool {
    let wider = |other: &FunctionEffect| {
        other.call.selector == effect.call.selector
            && other.call.caller == effect.call.caller
            && matches!(other.power, Privilege::Blacklist | Privilege::Gate)
    };
    // Who takes from anyone takes from the contract too.
    let drains = |other: &FunctionEffect| {
        other.call.selector == effect.call.selector && other.power == Privilege::Drain
    };
    match effect.power {
        Privilege::StopBuys | Privilege::StopSells => effects.iter().any(wider),
        Privilege::Dispense => {
            effect.of_contract
                && effect.call.caller != Caller::Stranger
                && effects.iter().any(drains)
        }
        _ => false,
    }
}

/// Whether a call stops all sales that does not look as if it did: a switch that is one takes nothing, or yes or no. Who hides it means to use it,
/// so that it weighs like a blacklist.
fn is_hidden_stop(effect: &FunctionEffect) -> bool {
    let FunctionCall {
        caller, arguments, ..
    } = &effect.call;
    let open = matches!(&**arguments, "" | "true" | "false");
    effect.power == Privilege::StopSells
        && matches!(caller, Caller::Privileged | Caller::Recognized)
        && !open
}

/// The anomaly code of an effect, and its strength.
fn counts_as(effect: &FunctionEffect) -> Option<(AnomalyCode, f64)> {
    let stranger = effect.call.caller == Caller::Stranger;
    if effect.of_other && effect.power.of_trades() {
        return Some((AnomalyCode::ExternalGate, 1.0));
    }
    Some(match effect.power {
        Privilege::Drain | Privilege::Theft if stranger => (AnomalyCode::PublicDrain, effect.size),
        // Who moves a part without approval moves the rest, too.
        Privilege::Drain
            if [abi::TRANSFER, abi::TRANSFER_FROM].contains(&effect.call.selector)
                && effect.call.sought =>
        {
            (AnomalyCode::OwnerDrain, 1.0)
        }
        // An issuer that burns tokens it issued, as bridges do, does not enrich itself.
        Privilege::Drain if effect.burnt => (AnomalyCode::OwnerDrain, effect.size * BURNT),
        Privilege::Drain | Privilege::Theft => (AnomalyCode::OwnerDrain, effect.size),
        // Paying for minted tokens is a purchase.
        Privilege::Mint | Privilege::HiddenMint if stranger && !effect.call.pay.is_zero() => {
            return None;
        }
        Privilege::Mint | Privilege::HiddenMint if stranger => (AnomalyCode::PublicMint, 1.0),
        Privilege::Mint => (AnomalyCode::OwnerMint, 1.0),
        // A balance from nothing is a lie; a rising supply with some other event is an old-fashioned issue.
        Privilege::HiddenMint if effect.unbacked => (AnomalyCode::HiddenMint, 1.0),
        Privilege::HiddenMint => (
            AnomalyCode::HiddenMint,
            if effect.logged { 0.1 } else { 0.5 },
        ),
        Privilege::Blacklist => (AnomalyCode::Blacklist, effect.size),
        Privilege::StopBuys => (AnomalyCode::BuyBlockable, 1.0),
        Privilege::StopSells => (AnomalyCode::Pausable, 1.0),
        Privilege::RaiseTax => (AnomalyCode::TaxRaisable, effect.size / 0.5),
        Privilege::TaxOne => (AnomalyCode::PersonalTax, effect.size / 0.5),
        Privilege::Exempt => (AnomalyCode::Whitelist, 1.0),
        Privilege::LowerLimit => (AnomalyCode::LimitChangeable, 1.0),
        Privilege::Gate => (AnomalyCode::ExternalGate, 1.0),
        Privilege::FalseTransfer => (AnomalyCode::EventLie, 1.0),
        Privilege::Destroy => (
            AnomalyCode::SelfDestruct,
            if stranger { EMPTIED } else { EMPTIED / 2.0 },
        ),
        Privilege::Delegate => (
            AnomalyCode::DelegatecallAny,
            if stranger { 1.0 } else { 0.6 },
        ),
        // What somebody sent to the contract itself, or what it kept for itself, is no trader's.
        Privilege::Dispense if effect.of_contract && !stranger => (AnomalyCode::OwnerRescue, 1.0),
        // A sale or a faucet gives away tokens that are not the caller's, but no trader's either.
        Privilege::Dispense | Privilege::ArbitraryCall => (AnomalyCode::OwnerDrain, DISPENSED),
        Privilege::Renounce | Privilege::SwapBack => return None,
    })
}

/// Privileges that survive renouncing ownership.
pub(super) fn returns(renounce: &FunctionEffect, left: &[FunctionEffect]) -> Option<Anomaly> {
    let (effect, code, strength) = strongest(left)?;
    let after = abi::named_beside(renounce.call.selector, "");
    let call = called(effect);
    let text = format!(
        "after {after}, the former owner keeps a privilege ({}): {}",
        code.title(),
        call.trim_end_matches(',')
    );
    Some(
        Anomaly::new(AnomalyCode::OwnershipReturns, strength, text)
            .evidence(proof(renounce))
            .evidence(proof(effect)),
    )
}

/// Privileges that remain although the dataset's storage has no owner.
pub(super) fn kept(left: &[FunctionEffect]) -> Option<Anomaly> {
    let (effect, code, strength) = strongest(left)?;
    // Who says that nobody owns it and can still stop sales has lied about it.
    let strength = if matches!(code, AnomalyCode::Pausable | AnomalyCode::ExternalGate) {
        1.0
    } else {
        strength
    };
    let who = if effect.call.caller == Caller::Owner {
        "the former owner"
    } else {
        "an authorized address"
    };
    let text = format!(
        "the owner is the zero address, but {who} keeps a privilege ({}): {}",
        code.title(),
        beside(effect)
    );
    Some(Anomaly::new(AnomalyCode::OwnershipReturns, strength, text).evidence(proof(effect)))
}

fn strongest(left: &[FunctionEffect]) -> Option<(&FunctionEffect, AnomalyCode, f64)> {
    let weighed = left.iter().filter_map(|effect| {
        counts_as(effect).map(|(code, strength)| (code.weight() * strength, code, effect))
    });
    let weighed = weighed.filter(|(weighed, ..)| *weighed > 0.0);
    let (weighed, code, effect) = weighed.max_by(|a, b| a.0.total_cmp(&b.0))?;
    // A surviving pause weighs less than a surviving blacklist.
    Some((effect, code, weighed / AnomalyCode::Blacklist.weight()))
}
