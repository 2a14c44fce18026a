//! Holders of the LP tokens: burned, locked, creator, others; and the risk of a rug pull, by a regression on published, labeled pool features.

use super::super::{
    Anomaly, AnomalyCode, EVIDENCE_ROWS_MAX, EvidenceRow,
    check_log::{CheckLog, NeededInput},
    facts::{AddressRole, TokenContext},
    pool_story::PoolHistory,
    transactions::Transactions,
};
use super::share_words;
use analysis::numeric::sigmoid;
use model::{
    address::Address,
    time::{DAY_MS, Time},
};

const LOCK_MS: i64 = 30 * DAY_MS;
const UNLOCKED_MIN: f64 = 0.05;
const CREATOR_MIN: f64 = 0.5;

/// Distribution of a pool's liquidity tokens.
#[derive(Debug, Default)]
struct Held {
    total: f64,
    locked: f64,
    /// In wallets that may withdraw it at any time.
    free: f64,
    creator: f64,
    /// The most of what is known by its sum only: all of it, and what of it the creator may have.
    free_more: f64,
    creator_more: f64,
    rows: Vec<EvidenceRow>,
    /// The holders of liquidity, each with its lock status.
    largest: Vec<EvidenceRow>,
}

pub(super) fn tests(
    facts: &TokenContext<'_>,
    transactions: &Transactions,
    log: &mut CheckLog,
) -> Vec<Anomaly> {
    let codes = [AnomalyCode::LpUnlocked, AnomalyCode::LpCreator];
    if facts.pools.is_empty() {
        log.note(facts.no_pool(), &codes);
        return Vec::new();
    }
    let as_of = facts.as_of(transactions.last);
    let informative = facts.pools.iter().take(facts.informative);
    let held: Vec<(usize, Held)> = informative
        .enumerate()
        .map(|(i, pool)| (i, held(facts, pool, as_of)))
        .filter(|(_, held)| held.total > 0.0)
        .collect();
    // Pools are ordered by liquidity: takes the first with known holders.
    let Some((i, held)) = held.into_iter().next() else {
        log.note(NeededInput::LpHolders, &codes);
        return Vec::new();
    };
    let pool = facts.pools[i];
    let risk = transactions
        .pools
        .get(i)
        .filter(|_| held.creator_more == 0.0)
        .and_then(|story| features(&held, story))
        .map(|features| lp_risk(&features));
    let free = held.free / held.total;
    let creator = held.creator / held.total;
    let mut found = Vec::new();
    let words = share_words(free, free + held.free_more / held.total, UNLOCKED_MIN);
    let words = log.require(words, NeededInput::SmallHolders, AnomalyCode::LpUnlocked);
    if let Some(words) = words {
        let sentence = format!(
            "{words} of pool {}'s LP tokens are in wallets, neither burned nor locked for at least 30 days (holders)",
            pool.short()
        );
        log.saw(AnomalyCode::LpUnlocked, &*sentence);
        log.prove_by(
            AnomalyCode::LpUnlocked,
            "holders of the LP tokens",
            held.largest.clone(),
        );
        if free >= UNLOCKED_MIN {
            let mut anomaly = Anomaly::new(AnomalyCode::LpUnlocked, free, sentence)
                .figure("share", free)
                .figure("locked", held.locked / held.total);
            if let Some(risk) = risk {
                anomaly = anomaly.figure("pullRisk", risk);
            }
            found.push(anomaly.rows("wallets with unlocked LP tokens", held.rows));
        }
    }
    let code = AnomalyCode::LpCreator;
    if facts.creator.is_none() {
        log.note(NeededInput::Creator, &[code]);
        return found;
    }
    let words = share_words(
        creator,
        creator + held.creator_more / held.total,
        CREATOR_MIN,
    );
    let Some(words) = log.require(words, NeededInput::SmallHolders, code) else {
        return found;
    };
    let sentence = format!(
        "the creator holds {words} of pool {}'s LP tokens (holders)",
        pool.short()
    );
    if creator < CREATOR_MIN {
        log.saw(code, sentence);
        log.prove_by(code, "holders of the LP tokens", held.largest);
    } else {
        let row = EvidenceRow {
            table: "holders",
            address: facts.creator,
            amount: Some(held.creator),
            share: Some(creator),
            ..Default::default()
        };
        let anomaly = Anomaly::new(code, creator, sentence).figure("share", creator);
        found.push(anomaly.rows("the creator's LP tokens", vec![row]));
    }
    found
}

fn held(facts: &TokenContext<'_>, pool: &Address, as_of: Option<Time>) -> Held {
    let mut held = Held::default();
    let locks = facts.dataset.locks_of(pool);
    let holding = facts.dataset.holding_of(pool);
    for (address, balance) in holding.rows() {
        let Some(balance) = balance.filter(|balance| balance.is_finite() && *balance > 0.0) else {
            continue;
        };
        let address = &address;
        held.total += balance;
        if Some(*address) == facts.creator {
            held.creator += balance;
        }
        let terms: Vec<_> = locks
            .iter()
            .filter(|lock| lock.holder_address == *address)
            .collect();
        let long = |until: Time| as_of.is_none_or(|now| until.0 - now.0 >= LOCK_MS);
        let kept = match facts.role(address) {
            AddressRole::Burned => balance,
            // Given lock terms count; a locker without terms is trusted.
            _ if !terms.is_empty() => terms
                .iter()
                .filter(|lock| lock.unlocks_at.is_some_and(long))
                .filter_map(|lock| lock.amount)
                .sum::<f64>()
                .min(balance),
            // Lockers, and contracts that hold for many: farms, vaults, other pools.
            AddressRole::Locker
            | AddressRole::Pool
            | AddressRole::Router
            | AddressRole::Exchange
            | AddressRole::Bridge
            | AddressRole::Token => balance,
            AddressRole::Trader if facts.dataset.contracts().count(address) > 0 => balance,
            AddressRole::Trader => 0.0,
        };
        held.locked += kept;
        if held.largest.len() < EVIDENCE_ROWS_MAX {
            let note = match facts.role(address) {
                AddressRole::Burned => Some("burned"),
                _ if kept >= balance => Some("locked"),
                _ if kept > 0.0 => Some("partly locked"),
                _ => None,
            };
            let note = note.map(str::to_owned);
            held.largest.push(EvidenceRow {
                amount: Some(balance),
                note,
                ..EvidenceRow::of("holders", *address)
            });
        }
        held.free += balance - kept;
        if balance > kept && held.rows.len() < EVIDENCE_ROWS_MAX {
            held.rows.push(EvidenceRow {
                amount: Some(balance - kept),
                ..EvidenceRow::of("holders", *address)
            });
        }
    }
    let others = holding.others();
    held.total += others.sum;
    held.free_more = others.sum;
    held.creator_more = holding.unknown(facts.creator) as f64 * others.most;
    held
}

/// Features of a pool for the risk of a rug pull.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LpFeatures {
    /// The creator's share of the LP tokens, 0 to 1.
    pub creator_share: f64,
    pub buys_per_week: f64,
    pub sells_per_week: f64,
    /// Whether liquidity was ever removed.
    pub burned: bool,
    /// Additions of liquidity as a fraction of all events in the pool.
    pub mint_ratio: f64,
}

fn features(held: &Held, story: &PoolHistory) -> Option<LpFeatures> {
    let all = story.buys + story.sells + story.mints + story.burns;
    let weeks = story.weeks();
    (all > 0).then(|| LpFeatures {
        creator_share: held.creator / held.total,
        buys_per_week: story.buys as f64 / weeks,
        sells_per_week: story.sells as f64 / weeks,
        burned: story.burns > 0,
        mint_ratio: story.mints as f64 / all as f64,
    })
}

impl LpFeatures {
    /// The intercept's 1 and the features in the regression's form.
    pub fn terms(&self) -> [f64; 6] {
        [
            1.0,
            self.creator_share.clamp(0.0, 1.0),
            self.sells_per_week.max(0.0).ln_1p(),
            self.buys_per_week.max(0.0).ln_1p(),
            f64::from(u8::from(self.burned)),
            self.mint_ratio.clamp(1e-4, 1.0).ln(),
        ]
    }
}

/// Weights of `LpFeatures::terms`: logistic regression on the published features of RugPull-Prediction-AI (Dataset_v1.9). The report
/// `security` of the accuracy bench refits and evaluates it.
const LP_WEIGHTS: [f64; 6] = [1.157, 3.565, -1.325, 1.41, -1.347, 0.445];

/// Probability of a rug pull, 0 to 1, at the base rate of the training set, where nine in ten pools were pulled.
pub fn lp_risk(features: &LpFeatures) -> f64 {
    sigmoid(
        features
            .terms()
            .iter()
            .zip(LP_WEIGHTS)
            .map(|(term, weight)| term * weight)
            .sum(),
    )
}
