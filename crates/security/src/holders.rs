//! Holder checks: the distribution of the supply over individual holders, and the holders of the LP tokens. Nine checks; the metrics are
//! reported even if none fires.

mod insiders;
mod liquidity;
mod spread;

use std::collections::HashMap;

pub use self::liquidity::{LpFeatures, lp_risk};
use self::spread::{Partial, Spread};
use super::{
    Anomaly, AnomalyCode, Evidence, EvidenceRow, HolderMetrics, Part,
    check_log::{CheckLog, NeededInput},
    facts::{AddressRole, TokenContext},
    transactions::{Transactions, percent},
};
use analysis::clusters::{Clusters, funding};
use model::address::Address;

const TOP10_FROM: f64 = 0.3;
const TOP10_SPAN: f64 = 0.5;
const HHI_FROM: f64 = 0.10;
const HHI_SPAN: f64 = 0.40;
const INSIDE_MIN: f64 = 0.05;
const INSIDE_FULL: f64 = 0.5;
/// Largest Nakamoto coefficient that is a finding.
const NAKAMOTO_LOW: u64 = 3;
const FEW: f64 = 50.0;
const GINI_COUNT_MIN: u64 = 100;
const GINI_MIN: f64 = 0.98;
/// Sybil check: number of largest holders examined, minimum group size, and relative tolerance of equal balances.
const SYBIL_TOP: usize = 100;
const SYBIL_GROUP: usize = 5;
const SYBIL_EQUAL: f64 = 0.001;
const SYBIL_MIN: f64 = 0.1;
const SYBIL_FULL: f64 = 0.5;

/// Results of the holder checks.
#[derive(Debug, Default)]
pub struct HolderFindings {
    /// Whether there are neither holders nor liquidity findings.
    pub blind: bool,
    pub anomalies: Vec<Anomaly>,
    /// Missing inputs of the checks.
    pub log: CheckLog,
    pub metrics: Option<HolderMetrics>,
}

/// Runs the holder checks. The transaction results supply the pools' histories and the time from which lock terms count.
pub fn examine(facts: &TokenContext<'_>, transactions: &Transactions) -> HolderFindings {
    let mut log = CheckLog::default();
    let spread = Spread::new(facts);
    let mut anomalies = liquidity::tests(facts, transactions, &mut log);
    let listed = spread.as_ref().map(|spread| spread.shares.as_slice());
    anomalies.extend(insiders::tests(facts, transactions, listed, &mut log));
    let Some(spread) = spread else {
        let own = AnomalyCode::of(Part::Holders)
            .filter(|code| !matches!(code, AnomalyCode::LpUnlocked | AnomalyCode::LpCreator))
            .filter(|code| !insiders::CODES.contains(code));
        log.note(NeededInput::Holders, &own.collect::<Vec<_>>());
        return HolderFindings {
            blind: anomalies.is_empty(),
            anomalies,
            log,
            metrics: None,
        };
    };
    let mut metrics = spread.metrics(facts);
    let clusters = transactions.clusters.as_ref();
    metrics.top10_owners = clusters.map(|clusters| clusters.top_10[1]);
    anomalies.extend(concentration(&metrics, &spread, &mut log));
    let others = [
        creator_share(facts, &spread, &mut log),
        sybil(facts, &spread, clusters, &mut log),
        few(&spread, &mut log),
    ];
    anomalies.extend(others.into_iter().flatten());
    HolderFindings {
        blind: false,
        anomalies,
        log,
        metrics: Some(metrics),
    }
}

/// Four measures of concentration; only the worst one counts in the score.
fn concentration(metrics: &HolderMetrics, spread: &Spread, log: &mut CheckLog) -> Vec<Anomaly> {
    let rows =
        |n: usize| Evidence::of_rows("the largest holders", rows(spread.shares.iter().take(n)));
    for code in [
        AnomalyCode::Top10Concentration,
        AnomalyCode::HhiHigh,
        AnomalyCode::NakamotoLow,
        AnomalyCode::GiniExtreme,
    ] {
        log.prove(code, rows(10));
    }
    let mut found = Vec::new();
    let top = spread.top_of_free(10);
    let strength = (top - TOP10_FROM) / TOP10_SPAN;
    let sentence = format!(
        "the top 10 individual holders own {} of {} (holders)",
        percent(top),
        spread.free_whole
    );
    if strength > 0.0 {
        let anomaly = Anomaly::new(AnomalyCode::Top10Concentration, strength, sentence);
        found.push(
            anomaly
                .figure("ofFree", top)
                .figure("top10FreeHolders", metrics.top10_free)
                .evidence(rows(10)),
        );
    } else {
        log.saw(AnomalyCode::Top10Concentration, sentence);
    }
    let lacking = if spread.is_part() {
        NeededInput::AllHolders
    } else {
        NeededInput::SmallHolders
    };
    // Of a part of all holders only the bounds are known; what may be either is neither.
    let [least, most] = spread.hhi();
    let between = |a: String, b: String| if a == b { a } else { format!("{a} to {b}") };
    let (texts, hhi) = ([least, most].map(|hhi| format!("{hhi:.4}")), metrics.hhi);
    let sentence = match least {
        _ if most <= 0.0 => "no individual holder owns the token (holders)".to_owned(),
        0.0 => format!("the HHI of individual holders is at most {most:.4} (holders)"),
        _ if spread.is_part() => {
            let [least_text, most_text] = texts;
            format!(
                "the HHI of individual holders is {}, equivalent to {} equal holders (holders)",
                between(least_text, most_text),
                between(format!("{:.1}", 1.0 / most), format!("{:.1}", 1.0 / least))
            )
        }
        _ => format!(
            "the HHI of individual holders is {}, equivalent to {:.1} equal holders (holders)",
            spread.bounded(format!("{hhi:.4}"), texts),
            1.0 / hhi
        ),
    };
    if least > HHI_FROM {
        let anomaly = Anomaly::new(
            AnomalyCode::HhiHigh,
            (least - HHI_FROM) / HHI_SPAN,
            sentence,
        );
        let hhi = metrics.hhi_at_least.unwrap_or(hhi);
        found.push(anomaly.figure("hhi", hhi).evidence(rows(10)));
    } else if most > HHI_FROM {
        log.note(lacking, &[AnomalyCode::HhiHigh]);
    } else {
        log.saw(AnomalyCode::HhiHigh, sentence);
    }
    let few = match spread.nakamoto.map(|[_, most]| most) {
        Some(1) => Some((
            1.0,
            format!(
                "one holder owns more than half of {} (holders)",
                spread.free_whole
            ),
        )),
        Some(n @ 2..=NAKAMOTO_LOW) => {
            let sentence = format!(
                "{n} holders together own more than half of {} (holders)",
                spread.free_whole
            );
            Some((if n == 2 { 0.6 } else { 0.3 }, sentence))
        }
        _ => None,
    };
    let may_be_few = few.is_none()
        && spread
            .nakamoto
            .is_some_and(|[least, _]| least <= NAKAMOTO_LOW);
    if may_be_few || few.is_some() && metrics.hhi_at_least == Some(0.0) {
        // More than half of what is listed, and nobody knows of how much.
        log.note(lacking, &[AnomalyCode::NakamotoLow]);
    } else if let Some((strength, sentence)) = few {
        let n = spread.nakamoto.map_or(0, |[_, most]| most);
        found.push(
            Anomaly::new(AnomalyCode::NakamotoLow, strength, sentence)
                .figure("nakamoto", n as f64)
                .evidence(rows(n as usize)),
        );
    } else {
        let sentence = metrics.nakamoto.zip(spread.nakamoto).map_or_else(
            || {
                format!(
                    "all listed individual holders together own at most half of {} (holders)",
                    spread.free_whole
                )
            },
            |(n, bounds)| {
                let n = spread.bounded(n.to_string(), bounds.map(|n| n.to_string()));
                format!(
                    "it takes the top {n} individual holders to own more than half of {} (holders)",
                    spread.free_whole
                )
            },
        );
        log.saw(AnomalyCode::NakamotoLow, sentence);
    }
    let bounds = spread.gini();
    let [least, most] = bounds;
    let gini = least.midpoint(most);
    let sentence = format!(
        "the Gini coefficient of {} individual holders is {} (holders)",
        spread.count(),
        spread.bounded(
            format!("{gini:.4}"),
            bounds.map(|gini| format!("{gini:.4}"))
        )
    );
    let many = spread.count() >= GINI_COUNT_MIN;
    if spread.partial == Some(Partial::Holders) {
        log.note(NeededInput::AllHolders, &[AnomalyCode::GiniExtreme]);
    } else if many && least >= GINI_MIN {
        // Further holders, who have less than those listed, would only raise it.
        let strength = 0.5 + (least - GINI_MIN) / (1.0 - GINI_MIN) / 2.0;
        found.push(
            Anomaly::new(AnomalyCode::GiniExtreme, strength, sentence)
                .figure("gini", gini)
                .evidence(rows(10)),
        );
    } else if spread.partial == Some(Partial::Supply) {
        log.note(NeededInput::AllHolders, &[AnomalyCode::GiniExtreme]);
    } else if !many {
        log.unsure(
            AnomalyCode::GiniExtreme,
            format!(
                "holders: {} individual holders; at least {GINI_COUNT_MIN} needed",
                spread.count()
            ),
        );
    } else if most >= GINI_MIN {
        log.note(lacking, &[AnomalyCode::GiniExtreme]);
    } else if spread.partial == Some(Partial::Unknown) {
        log.note(NeededInput::WholeList, &[AnomalyCode::GiniExtreme]);
    } else {
        log.saw(AnomalyCode::GiniExtreme, sentence);
    }
    found
}

fn rows<'a>(holders: impl Iterator<Item = &'a (Address, f64)>) -> Vec<EvidenceRow> {
    holders
        .map(|(address, share)| EvidenceRow {
            share: Some(*share),
            ..EvidenceRow::of("holders", *address)
        })
        .collect()
}

fn creator_share(facts: &TokenContext<'_>, spread: &Spread, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::CreatorShare;
    if facts.creator.is_none() && facts.owner.is_none() {
        log.note(NeededInput::Creator, &[code]);
        return None;
    }
    let own = || {
        let shares = spread.shares.iter();
        shares.filter(|(address, _)| facts.insider(address))
    };
    let share: f64 = own().map(|(_, share)| share).sum();
    let insiders = [facts.creator, facts.owner].into_iter().flatten();
    let unknown = facts.dataset.holding_of(&facts.address).unknown(insiders);
    let most = share + unknown as f64 * spread.others.most;
    let words = log.require(
        share_words(share, most, INSIDE_MIN),
        NeededInput::SmallHolders,
        code,
    )?;
    let sentence = format!(
        "the creator and owner hold {words} of {} (holders)",
        spread.whole
    );
    let strength = (share >= INSIDE_MIN).then(|| share / INSIDE_FULL);
    let found = log.measured(
        code,
        strength,
        sentence,
        "balances of the creator and owner",
        rows(own()),
    )?;
    Some(found.figure("share", share))
}

/// A share between `least` and `most` in words; `None` if it is unknown whether it reaches `from`.
fn share_words(least: f64, most: f64, from: f64) -> Option<String> {
    match least {
        _ if most <= least => Some(percent(least)),
        _ if least >= from => Some(format!("at least {}", percent(least))),
        _ if most < from => Some(format!("at most {}", percent(most))),
        _ => None,
    }
}

/// Fraction of the top 100 holders' tokens that belongs to linked wallets: balances within 0.1% of each other, the same
/// funder, or one cluster.
fn sybil(
    facts: &TokenContext<'_>,
    spread: &Spread,
    clusters: Option<&Clusters>,
    log: &mut CheckLog,
) -> Option<Anomaly> {
    let code = AnomalyCode::SybilHolders;
    let top = &spread.shares[..spread.shares.len().min(SYBIL_TOP)];
    let all: f64 = top.iter().map(|(_, share)| share).sum();
    let mut like = vec![false; top.len()];
    let mut start = 0;
    for end in 1..=top.len() {
        if end == top.len() || top[end].1 < top[start].1 * (1.0 - SYBIL_EQUAL) {
            if end - start >= SYBIL_GROUP {
                like[start..end].fill(true);
            }
            start = end;
        }
    }
    // Exchanges and bridges fund everybody.
    let is_person = |payer: &Address| facts.role(payer) == AddressRole::Trader;
    let addresses = || top.iter().map(|(address, _)| *address);
    let paid = funding::funded(facts.dataset, addresses(), &is_person);
    let paid = paid
        .into_values()
        .map(|group| group.into_iter().map(|(_, place)| place).collect());
    let joined = clusters.into_iter().flat_map(|clusters| &clusters.clusters);
    let places: HashMap<Address, usize> = addresses().zip(0..).collect();
    let joined = joined.map(|cluster| {
        let members = cluster.members.iter();
        members
            .filter_map(|member| places.get(member).copied())
            .collect()
    });
    for group in paid
        .chain(joined)
        .filter(|group: &Vec<usize>| group.len() >= SYBIL_GROUP)
    {
        for place in group {
            like[place] = true;
        }
    }
    let alike: Vec<_> = top
        .iter()
        .zip(&like)
        .filter(|(_, like)| **like)
        .map(|(holder, _)| *holder)
        .collect();
    let share = if all > 0.0 {
        alike.iter().map(|(_, share)| share).sum::<f64>() / all
    } else {
        0.0
    };
    let sentence = format!(
        "{} of the top {} holders look linked (equal balances, the same funder or one cluster) and own {} of the top holders' tokens (holders)",
        alike.len(),
        top.len(),
        percent(share)
    );
    let (what, shown) = if alike.is_empty() {
        ("the largest holders, none of them linked", top)
    } else {
        ("linked holders", &*alike)
    };
    let rows = rows(shown.iter().take(super::EVIDENCE_ROWS_MAX));
    let strength = (share >= SYBIL_MIN).then(|| share / SYBIL_FULL);
    // Many linked wallets are a bad sign, even if they hold little.
    if alike.len() as f64 >= SYBIL_MIN * top.len() as f64 && !alike.is_empty() {
        log.remark(code);
    }
    let found = log.measured(code, strength, sentence, what, rows)?;
    Some(
        found
            .figure("share", share)
            .figure("holders", alike.len() as f64),
    )
}

fn few(spread: &Spread, log: &mut CheckLog) -> Option<Anomaly> {
    let count = spread.known_count as f64;
    let sentence = format!(
        "{} (holders)",
        model::format::plural(spread.known_count, "holder", "holders")
    );
    log.saw(AnomalyCode::FewHolders, &*sentence);
    log.prove_by(
        AnomalyCode::FewHolders,
        "the largest holders",
        rows(spread.shares.iter().take(super::EVIDENCE_ROWS_MAX)),
    );
    (count < FEW).then(|| {
        Anomaly::new(AnomalyCode::FewHolders, 1.0 - count / FEW, sentence).figure("holders", count)
    })
}
