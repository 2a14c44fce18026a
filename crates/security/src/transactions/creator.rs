//! Checks of the creator and of early buyers: late mints, dumps, serial deployments, sniping.

use super::{CheckInput, ledger::SNIPE_BLOCKS, percent};
use crate::{
    Anomaly, AnomalyCode, EVIDENCE_ROWS_MAX, Evidence, EvidenceRow, check_log::NeededInput,
    facts::scam_report,
};
use model::time::{DAY_MS, Time};

const MINTED_MIN: f64 = 0.01;
/// Fraction of the supply minted to one receiver at which the strength is 1. Mints to many, as for wrapped and staked coins, count little.
const MINTED_FULL: f64 = 0.2;
const MINTED_LEAST: f64 = 0.05;
const DUMPED_MIN: f64 = 0.05;
const DUMPED_FULL: f64 = 0.25;
const SNIPED_MIN: f64 = 0.2;
const SNIPED_FULL: f64 = 0.5;
const SERIES_MIN: usize = 3;
const SERIES_MS: i64 = 7 * DAY_MS;
const SERIES_STRENGTH: f64 = 0.4;

pub(super) fn tests(input: &mut CheckInput<'_>) -> Vec<Anomaly> {
    [minted(input), dumped(input), serial(input), sniped(input)]
        .into_iter()
        .flatten()
        .collect()
}

/// Total supply for a check, provided that there was a launch.
fn launched(input: &mut CheckInput<'_>, code: AnomalyCode) -> Option<f64> {
    if input.ledger.transfers == 0 {
        input.log.note(NeededInput::Transfers, &[code]);
        return None;
    }
    if input.ledger.is_part() {
        input.log.note(NeededInput::FirstTransfers, &[code]);
        return None;
    }
    if input.ledger.launch.is_none() {
        let need = if input.facts.pools.is_empty() {
            input.facts.no_pool()
        } else {
            NeededInput::Launch
        };
        input.log.note(need, &[code]);
        return None;
    }
    input.supply(code)
}

fn minted(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::MintAfterLaunch;
    let supply = launched(input, code)?;
    let late = &input.ledger.minted_late;
    let share = late.values().sum::<f64>() / supply;
    let largest = late.values().copied().fold(0.0, f64::max) / supply;
    let count = late.len();
    let sentence = format!(
        "{} of the supply was minted after liquidity was first added, {} to one address (transfers)",
        percent(share),
        percent(largest)
    );
    let strength = (share > MINTED_MIN).then(|| (largest / MINTED_FULL).max(MINTED_LEAST));
    let rows = input.rows(&input.ledger.mints_late);
    let found = input.log.measured(
        code,
        strength,
        sentence,
        "transfers from the zero address",
        rows,
    )?;
    Some(
        found
            .figure("share", share)
            .figure("largestReceiver", largest)
            .figure("receivers", count as f64),
    )
}

fn dumped(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::CreatorDump;
    if input.facts.creator.is_none() {
        input.log.note(NeededInput::Creator, &[code]);
        return None;
    }
    let supply = launched(input, code)?;
    let share = input.ledger.creator_sold / supply;
    let sentence = format!(
        "the creator sold {} of the supply within 7 days of launch (transfers)",
        percent(share)
    );
    let strength = (share >= DUMPED_MIN).then(|| share / DUMPED_FULL);
    let rows = input.rows(&input.ledger.creator_sales);
    let found = input
        .log
        .measured(code, strength, sentence, "sells by the creator", rows)?;
    Some(found.figure("share", share))
}

fn serial(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::SerialDeployer;
    let facts = input.facts;
    let creator = input
        .log
        .require(facts.creator, NeededInput::Creator, code)?;
    let contracts = facts.dataset.contracts_by(&creator);
    let s = if contracts.len() == 1 { "" } else { "s" };
    let known = format!(
        "its creator {} deployed {} contract{s} in the dataset, none of them a known scam (contracts)",
        creator.short(),
        contracts.len()
    );
    input.log.saw(code, known);
    let scams: Vec<_> = contracts
        .iter()
        .filter(|(address, _)| {
            *address != facts.address
                && scam_report(facts.dataset, address).is_some_and(|report| report.decisive)
        })
        .collect();
    let row = |address, timestamp| EvidenceRow {
        timestamp,
        ..EvidenceRow::of("contracts", address)
    };
    let rows = contracts
        .iter()
        .take(EVIDENCE_ROWS_MAX)
        .map(|(address, time)| row(*address, *time))
        .collect();
    input
        .log
        .prove_by(code, "contracts deployed by the creator", rows);
    if let Some((scam, time)) = scams.first() {
        let sentence = format!(
            "its creator {} also deployed the scam {} ({} known scam{})",
            creator.short(),
            scam.short(),
            scams.len(),
            if scams.len() == 1 { "" } else { "s" }
        );
        let found = Anomaly::new(code, 1.0, sentence).figure("scams", scams.len() as f64);
        return Some(found.rows(
            "known scams deployed by the creator",
            vec![row(*scam, *time)],
        ));
    }
    let mut times: Vec<(Time, _)> = contracts
        .iter()
        .filter_map(|(address, time)| Some(((*time)?, *address)))
        .collect();
    times.sort_unstable();
    let burst = times
        .windows(SERIES_MIN)
        .find(|run| run[SERIES_MIN - 1].0.0 - run[0].0.0 <= SERIES_MS)?;
    let within = times
        .iter()
        .filter(|(time, _)| (0..=SERIES_MS).contains(&(time.0 - burst[0].0.0)))
        .count();
    let rows = burst
        .iter()
        .map(|(time, address)| row(*address, Some(*time)))
        .collect();
    let sentence = format!(
        "its creator {} deployed {within} contracts within 7 days (contracts)",
        creator.short()
    );
    Some(
        Anomaly::new(code, SERIES_STRENGTH, sentence)
            .figure("contracts", within as f64)
            .rows("contracts deployed by the creator", rows),
    )
}

fn sniped(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::Sniped;
    let supply = launched(input, code)?;
    if input
        .ledger
        .launch
        .is_none_or(|launch| launch.block.is_none())
    {
        input.log.note(NeededInput::Blocks, &[code]);
        return None;
    }
    let share = input.ledger.sniped / supply;
    let sentence = format!(
        "{} of the supply was bought within {SNIPE_BLOCKS} blocks after liquidity was first added (transfers)",
        percent(share)
    );
    input.log.saw(code, &*sentence);
    input.prove(code, "buys at launch", |ledger| &ledger.snipes);
    (share >= SNIPED_MIN).then(|| {
        let launch = input
            .ledger
            .launch
            .and_then(|launch| launch.block)
            .map(|block| format!("liquidity first added in block {block}"));
        let evidence = Evidence {
            what: "buys at launch".to_owned(),
            before: launch,
            after: Some(percent(share)),
            rows: input.rows(&input.ledger.snipes),
            ..Evidence::default()
        };
        Anomaly::new(code, share / SNIPED_FULL, sentence)
            .figure("share", share)
            .evidence(evidence)
    })
}
