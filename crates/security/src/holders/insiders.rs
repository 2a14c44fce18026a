//! Checks of holders who act as one: bundles at launch, the creator's circle, and payers that are known scams. The clusters are those of
//! `analysis::clusters`.

use std::collections::BTreeMap;

use super::super::{
    Anomaly, AnomalyCode, EVIDENCE_ROWS_MAX, EvidenceRow,
    check_log::{CheckLog, NeededInput},
    facts::{TokenContext, scam_report},
    transactions::{Transactions, percent},
};
use analysis::clusters::{Cluster, Clusters, LinkKind};
use model::{address::Address, format::plural};

/// Fraction of the supply that bundles bought at launch.
const BUNDLED_MIN: f64 = 0.05;
const BUNDLED_FULL: f64 = 0.25;
/// Fraction of the free supply that the creator's circle and the bundles hold.
const INSIDE_MIN: f64 = 0.1;
const INSIDE_FULL: f64 = 0.5;
/// Largest holders whose payers are examined, and the fraction of their tokens that counts.
const PAID_TOP: usize = 100;
const PAID_MIN: f64 = 0.01;
const PAID_FULL: f64 = 0.2;

/// The checks of this file.
pub(super) const CODES: [AnomalyCode; 3] = [
    AnomalyCode::BundledLaunch,
    AnomalyCode::InsiderHeavy,
    AnomalyCode::FundedByScammer,
];

pub(super) fn tests(
    facts: &TokenContext<'_>,
    transactions: &Transactions,
    holders: Option<&[(Address, f64)]>,
    log: &mut CheckLog,
) -> Vec<Anomaly> {
    let mut found = Vec::new();
    if let Some(clusters) = &transactions.clusters {
        found.extend(bundled(facts, clusters, log));
        found.extend(inside(facts, clusters, log));
    } else {
        let need = if facts.dataset.transfers().count(&facts.address) == 0 {
            NeededInput::Transfers
        } else {
            NeededInput::FirstTransfers
        };
        log.note(need, &CODES[..2]);
    }
    found.extend(paid_by_scam(facts, holders, log));
    found
}

fn is_bundle(cluster: &Cluster) -> bool {
    let mut links = cluster.links.iter();
    links.any(|link| link.kind == LinkKind::Bundle)
}

fn rows<'a>(clusters: impl Iterator<Item = &'a Cluster>) -> Vec<EvidenceRow> {
    let links = clusters.flat_map(|cluster| &cluster.links);
    links
        .take(EVIDENCE_ROWS_MAX)
        .map(|link| EvidenceRow {
            timestamp: link.time,
            amount: link.amount,
            note: Some(format!(
                "{} with {}",
                link.kind.word().replace('_', " "),
                link.addresses[0].short()
            )),
            ..EvidenceRow::of(
                if link.row.is_some() {
                    "transfers"
                } else {
                    "funding"
                },
                link.addresses[1],
            )
        })
        .collect()
}

fn bundled(facts: &TokenContext<'_>, clusters: &Clusters, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::BundledLaunch;
    if facts.pools.is_empty() {
        log.note(facts.no_pool(), &[code]);
        return None;
    }
    if !clusters.has_blocks {
        log.note(NeededInput::Blocks, &[code]);
        return None;
    }
    let supply = log.require(facts.total_supply(), NeededInput::Supply, code)?;
    let bundles = || {
        clusters
            .clusters
            .iter()
            .filter(|cluster| is_bundle(cluster))
    };
    let members: usize = bundles().map(|cluster| cluster.members.len()).sum();
    let share = bundles().map(|cluster| cluster.bought).sum::<f64>() / supply;
    let held: f64 = bundles().map(|cluster| cluster.share).sum();
    let sentence = if members == 0 {
        "no addresses bought together in the first blocks (transfers)".to_owned()
    } else {
        format!(
            "{} that bought together in the first blocks bought {} of the supply and hold {} of the free supply (transfers)",
            plural(members as u64, "address", "addresses"),
            percent(share),
            percent(held)
        )
    };
    let strength = (share >= BUNDLED_MIN).then(|| share / BUNDLED_FULL);
    let what = "purchases in one block or transaction";
    let found = log.measured(code, strength, sentence, what, rows(bundles()))?;
    Some(
        found
            .figure("share", share)
            .figure("addresses", members as f64),
    )
}

fn inside(facts: &TokenContext<'_>, clusters: &Clusters, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::InsiderHeavy;
    if facts.creator.is_none() && facts.owner.is_none() {
        log.note(NeededInput::Creator, &[code]);
        return None;
    }
    let inside = || {
        let clusters = clusters.clusters.iter();
        clusters.filter(|cluster| cluster.has_creator || is_bundle(cluster))
    };
    let share: f64 = inside().map(|cluster| cluster.share).sum();
    let members: usize = inside().map(|cluster| cluster.members.len()).sum();
    let sentence = if members == 0 {
        "no addresses are linked to the creator, and none bought together in the first blocks (transfers)".to_owned()
    } else {
        format!(
            "{} linked to the creator or to purchases in the first blocks hold {} of the free supply (transfers)",
            plural(members as u64, "address", "addresses"),
            percent(share)
        )
    };
    let strength = (share >= INSIDE_MIN).then(|| share / INSIDE_FULL);
    let found = log.measured(code, strength, sentence, "links", rows(inside()))?;
    Some(
        found
            .figure("ofFree", share)
            .figure("addresses", members as f64),
    )
}

/// Holders, and the creator, whose first transaction a known scam paid for.
fn paid_by_scam(
    facts: &TokenContext<'_>,
    holders: Option<&[(Address, f64)]>,
    log: &mut CheckLog,
) -> Option<Anomaly> {
    let code = AnomalyCode::FundedByScammer;
    if !facts.dataset.has("funding") {
        log.note(NeededInput::Funding, &[code]);
        return None;
    }
    if !facts.dataset.has("scams") && !facts.dataset.has("labels") {
        log.note(NeededInput::Known, &[code]);
        return None;
    }
    let top = holders.map(|holders| &holders[..holders.len().min(PAID_TOP)]);
    if top.is_none() && facts.creator.is_none() {
        log.note(NeededInput::Holders, &[code]);
        return None;
    }
    let mut scams: BTreeMap<Address, bool> = BTreeMap::new();
    let mut is_paid = |address: &Address| {
        facts.funder(address).is_some_and(|payer| {
            let report =
                || scam_report(facts.dataset, &payer).is_some_and(|report| report.decisive);
            *scams.entry(payer).or_insert_with(report)
        })
    };
    let creator = facts.creator.filter(|creator| is_paid(creator));
    let all: f64 = top.unwrap_or_default().iter().map(|(_, share)| share).sum();
    let paid: Vec<(Address, f64)> = top
        .unwrap_or_default()
        .iter()
        .filter(|(address, _)| is_paid(address))
        .copied()
        .collect();
    let share = if all > 0.0 {
        paid.iter().map(|(_, share)| share).sum::<f64>() / all
    } else {
        0.0
    };
    let sentence = format!(
        "a known scam paid for the first transaction of {}{} of the {} largest holders, who own {} of these holders' tokens (funding)",
        if creator.is_some() {
            "the creator and of "
        } else {
            ""
        },
        paid.len(),
        top.map_or(0, <[_]>::len),
        percent(share)
    );
    let strength = if creator.is_some() {
        Some(1.0)
    } else {
        (share >= PAID_MIN).then(|| share / PAID_FULL)
    };
    let rows = creator
        .map(|creator| EvidenceRow::of("funding", creator))
        .into_iter()
        .chain(paid.iter().map(|(address, share)| EvidenceRow {
            share: Some(*share),
            ..EvidenceRow::of("funding", *address)
        }))
        .take(EVIDENCE_ROWS_MAX)
        .collect();
    let found = log.measured(code, strength, sentence, "payments by known scams", rows)?;
    Some(
        found
            .figure("share", share)
            .figure("holders", paid.len() as f64),
    )
}
