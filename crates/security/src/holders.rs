//! Holder checks: the distribution of the supply over those who hold for themselves, and the holders of the liquidity. Nine checks; the
//! figures are reported even if none fires.

mod liquidity;
mod spread;

pub use self::liquidity::{LpFeatures, lp_risk};
use self::spread::{Partial, Spread};
use super::{
    Anomaly, AnomalyCode, Evidence, EvidenceRow, HolderMetrics, Part,
    check_log::{CheckLog, NeededInput},
    facts::{AddressRole, Facts},
    transactions::{Transactions, percent},
};
use model::address::Address;

const TOP10_FROM: f64 = 0.3;
const TOP10_SPAN: f64 = 0.5;
const HHI_FROM: f64 = 0.10;
const HHI_SPAN: f64 = 0.40;
const INSIDE_MIN: f64 = 0.05;
const INSIDE_FULL: f64 = 0.5;
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
    /// Inputs that the checks needed and did not have.
    pub log: CheckLog,
    pub metrics: Option<HolderMetrics>,
}

/// Runs the holder checks. The transaction results supply the pools' histories and the time from which locks count.
pub fn examine(facts: &Facts<'_>, transactions: &Transactions) -> HolderFindings {
    let mut log = CheckLog::default();
    let spread = Spread::new(facts);
    let mut anomalies = liquidity::tests(facts, transactions, &mut log);
    let Some(spread) = spread else {
        let own = AnomalyCode::of(Part::Holders).filter(|code| !matches!(code, AnomalyCode::LpUnlocked | AnomalyCode::LpCreator));
        log.note(NeededInput::Holders, &own.collect::<Vec<_>>());
        return HolderFindings { blind: anomalies.is_empty(), anomalies, log, metrics: None };
    };
    let metrics = spread.metrics(facts);
    anomalies.extend(concentration(&metrics, &spread, &mut log));
    let others = [insiders(facts, &spread, &mut log), sybil(facts, &spread, &mut log), few(&spread, &mut log)];
    anomalies.extend(others.into_iter().flatten());
    HolderFindings { blind: false, anomalies, log, metrics: Some(metrics) }
}

/// Four measures of concentration; the score takes the worst of them.
fn concentration(metrics: &HolderMetrics, spread: &Spread, log: &mut CheckLog) -> Vec<Anomaly> {
    let rows = |n: usize| Evidence::of_rows("the largest holders", rows(spread.shares.iter().take(n)));
    for code in [AnomalyCode::Top10Concentration, AnomalyCode::HhiHigh, AnomalyCode::NakamotoLow, AnomalyCode::GiniExtreme] {
        log.prove(code, rows(10));
    }
    let mut found = Vec::new();
    let strength = (metrics.top10_free - TOP10_FROM) / TOP10_SPAN;
    let sentence = format!("the ten largest free holders have {} of {} (holders)", percent(metrics.top10_free), spread.whole);
    if strength > 0.0 {
        let anomaly = Anomaly::new(AnomalyCode::Top10Concentration, strength, sentence);
        found.push(anomaly.figure("top10FreeHolders", metrics.top10_free).evidence(rows(10)));
    } else {
        log.saw(AnomalyCode::Top10Concentration, sentence);
    }
    let strength = (metrics.hhi - HHI_FROM) / HHI_SPAN;
    let equal = if metrics.hhi > 0.0 { format!(", as if {:.1} equal holders had all", 1.0 / metrics.hhi) } else { String::new() };
    let sentence = format!("the squared shares add up to {:.3}{equal} (holders)", metrics.hhi);
    if strength > 0.0 {
        found.push(Anomaly::new(AnomalyCode::HhiHigh, strength, sentence).figure("hhi", metrics.hhi).evidence(rows(10)));
    } else {
        log.saw(AnomalyCode::HhiHigh, sentence);
    }
    let few = match metrics.nakamoto {
        Some(1) => Some((1.0, format!("one holder has more than half of {} (holders)", spread.whole))),
        Some(n @ 2..=3) => {
            Some((if n == 2 { 0.6 } else { 0.3 }, format!("{n} holders together have more than half of {} (holders)", spread.whole)))
        }
        _ => None,
    };
    if let Some((strength, sentence)) = few {
        let n = metrics.nakamoto.unwrap_or_default();
        found.push(Anomaly::new(AnomalyCode::NakamotoLow, strength, sentence).figure("nakamoto", n as f64).evidence(rows(n as usize)));
    } else {
        let sentence = metrics.nakamoto.map_or_else(
            || format!("all free holders together have no more than half of {} (holders)", spread.whole),
            |n| format!("the {n} largest free holders together have more than half of {} (holders)", spread.whole),
        );
        log.saw(AnomalyCode::NakamotoLow, sentence);
    }
    let sentence = format!("the Gini coefficient of {} holders is {:.4} (holders)", spread.count(), metrics.gini);
    let many = spread.count() >= GINI_COUNT_MIN;
    if spread.partial == Some(Partial::Holders) {
        log.note(NeededInput::AllHolders, &[AnomalyCode::GiniExtreme]);
    } else if many && metrics.gini >= GINI_MIN {
        // Further holders, who have less than those listed, would only raise it.
        let strength = 0.5 + (metrics.gini - GINI_MIN) / (1.0 - GINI_MIN) / 2.0;
        found.push(Anomaly::new(AnomalyCode::GiniExtreme, strength, sentence).figure("gini", metrics.gini).evidence(rows(10)));
    } else if spread.partial == Some(Partial::Supply) {
        log.note(NeededInput::AllHolders, &[AnomalyCode::GiniExtreme]);
    } else if !many {
        log.unsure(
            AnomalyCode::GiniExtreme,
            format!("holders: {} free holders are too few for it: it takes {GINI_COUNT_MIN}", spread.count()),
        );
    } else if spread.partial == Some(Partial::Unknown) {
        log.note(NeededInput::WholeList, &[AnomalyCode::GiniExtreme]);
    } else {
        log.saw(AnomalyCode::GiniExtreme, sentence);
    }
    found
}

fn rows<'a>(holders: impl Iterator<Item = &'a (Address, f64)>) -> Vec<EvidenceRow> {
    holders.map(|(address, share)| EvidenceRow { share: Some(*share), ..EvidenceRow::of("holders", *address) }).collect()
}

fn insiders(facts: &Facts<'_>, spread: &Spread, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::CreatorShare;
    if facts.creator.is_none() && facts.owner.is_none() {
        log.note(NeededInput::Creator, &[code]);
        return None;
    }
    let own = spread.of(|address| facts.insider(address));
    let share: f64 = own.iter().map(|(_, share)| share).sum();
    let sentence = format!("creator and owner hold {} of {} (holders)", percent(share), spread.whole);
    let strength = (share >= INSIDE_MIN).then(|| share / INSIDE_FULL);
    let found = log.measured(code, strength, sentence, "balances of creator and owner", rows(own.iter()))?;
    Some(found.figure("share", share))
}

/// Fraction of the hundred largest holders' tokens that belongs to look-alikes: balances within a thousandth, or the same funder.
fn sybil(facts: &Facts<'_>, spread: &Spread, log: &mut CheckLog) -> Option<Anomaly> {
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
    let mut funded: std::collections::BTreeMap<Address, Vec<usize>> = std::collections::BTreeMap::new();
    for (i, (address, _)) in top.iter().enumerate() {
        // Exchanges and bridges fund everybody.
        if let Some(funder) = facts.funder(address).filter(|funder| matches!(facts.role(funder), AddressRole::Trader)) {
            funded.entry(funder).or_default().push(i);
        }
    }
    for group in funded.values().filter(|group| group.len() >= SYBIL_GROUP) {
        for i in group {
            like[*i] = true;
        }
    }
    let alike: Vec<_> = top.iter().zip(&like).filter(|(_, like)| **like).map(|(holder, _)| *holder).collect();
    let share = if all > 0.0 { alike.iter().map(|(_, share)| share).sum::<f64>() / all } else { 0.0 };
    let sentence = format!(
        "{} of the {} largest holders look like one: equal balances or one who paid for them, {} of what these hold (holders)",
        alike.len(),
        top.len(),
        percent(share)
    );
    let (what, shown) =
        if alike.is_empty() { ("the largest holders, none like another", top) } else { ("holders that look like one", &*alike) };
    let rows = rows(shown.iter().take(super::EVIDENCE_ROWS_MAX));
    let strength = (share >= SYBIL_MIN).then(|| share / SYBIL_FULL);
    // Many that look like one are no good sign, even if they hold little.
    if alike.len() as f64 >= SYBIL_MIN * top.len() as f64 && !alike.is_empty() {
        log.remark(code);
    }
    let found = log.measured(code, strength, sentence, what, rows)?;
    Some(found.figure("share", share).figure("holders", alike.len() as f64))
}

fn few(spread: &Spread, log: &mut CheckLog) -> Option<Anomaly> {
    let count = spread.known_count as f64;
    let sentence = format!("{} holder{} (holders)", spread.known_count, if spread.known_count == 1 { "" } else { "s" });
    log.saw(AnomalyCode::FewHolders, &*sentence);
    log.prove_by(AnomalyCode::FewHolders, "the largest holders", rows(spread.shares.iter().take(super::EVIDENCE_ROWS_MAX)));
    (count < FEW).then(|| Anomaly::new(AnomalyCode::FewHolders, 1.0 - count / FEW, sentence).figure("holders", count))
}
