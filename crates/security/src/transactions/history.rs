//! Checks of the transfers themselves: wash trading, balances that don't match, airdrops, first digits.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CheckInput,
    ledger::{self, CHANCE_MAX, COUNT_MIN, DEVIATION_MAX, Wallet},
    percent,
};
use crate::{
    Anomaly, AnomalyCode, EVIDENCE_ROWS_MAX, EvidenceRow,
    check_log::{BRING, NeededInput},
    facts::AddressRole,
};
use model::{address::Address, format::count, holding::Holding};

const MISMATCH_MIN: f64 = 0.001;
const MISMATCH_FULL: f64 = 0.05;
/// Minimum strength once the mismatch counts, so that it is never negligible.
const MISMATCH_LEAST: f64 = 0.2;
const AMONG: &str = "transfers among these wallets";
const WASH_MIN: f64 = 0.05;
const WASH_FULL: f64 = 0.5;
/// Minimum number of transfers: two friends who lend and repay are no wash traders.
const WASH_TRANSFERS_MIN: u64 = 6;
const AIRDROPPED_MIN: f64 = 0.5;
/// Minimum share that is worth a remark.
const AIRDROPPED_NOTED: f64 = 0.1;
const RECEIVERS_MIN: u64 = 20;

/// Codes of these checks.
pub(super) const CODES: &[AnomalyCode] = &[
    AnomalyCode::BalanceMismatch,
    AnomalyCode::WashTrading,
    AnomalyCode::AirdropSpam,
    AnomalyCode::AmountDigits,
];

pub(super) fn tests(input: &mut CheckInput<'_>) -> Vec<Anomaly> {
    [
        mismatch(input),
        wash(input),
        airdropped(input),
        digits(input),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// With two decimal places and thousands separators, and without a sign where these are zeros.
fn two_places(number: f64) -> String {
    let text = model::format::fixed(number, 2);
    if text == "-0.00" {
        text[1..].to_owned()
    } else {
        text
    }
}

/// Compares the replayed balances with the holder table, for the addresses that the table lists.
fn mismatch(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::BalanceMismatch;
    let holders = input.facts.dataset.holding_of(&input.facts.address);
    if holders.is_empty() {
        input.log.note(NeededInput::Holders, &[code]);
        return None;
    }
    // What was moved since the day that is asked about is in the balances and not in the transfers.
    if input.facts.dataset.lacks_history("holders") {
        input.log.unsure(code, "holders: balances are current but transfers end earlier; query without `as_of` to compare them");
        return None;
    }
    // Addresses with a zero balance matter too: the transfers may leave them a balance.
    if input.ledger.is_part() || !holders.is_whole() {
        input.log.unsure(code, not_all(input, &holders));
        return None;
    }
    if !input.ledger.complete {
        input.log.note(NeededInput::History, &[code]);
        return None;
    }
    let unit = input
        .log
        .require(input.facts.unit(), NeededInput::Supply, code)?;
    let supply = input.supply(code)?;
    let (mut rows, mut replays): (Vec<EvidenceRow>, Vec<EvidenceRow>) = (Vec::new(), Vec::new());
    let (mut sum, mut worst) = (0.0, 0.0);
    for (holder, balance) in holders.rows() {
        // Tokens are minted from and burned to the zero address: its balance is not replayed.
        let Some(balance) = balance.filter(|_| holder != Address::ZERO) else {
            continue;
        };
        let wallet = input.ledger.find(&holder);
        let replayed = wallet.map_or(0.0, |wallet| wallet.balance);
        let share = (replayed - balance * unit).abs() / supply;
        sum += share;
        worst = f64::max(worst, share);
        if replays.len() < EVIDENCE_ROWS_MAX {
            let note = Some(format!(
                "{} according to the transfers",
                two_places(replayed / unit)
            ));
            replays.push(EvidenceRow {
                amount: Some(balance),
                note,
                ..EvidenceRow::of("holders", holder)
            });
        }
        if share > MISMATCH_MIN && rows.len() < EVIDENCE_ROWS_MAX {
            rows.push(EvidenceRow {
                amount: Some(balance),
                share: Some(share),
                ..EvidenceRow::of("holders", holder)
            });
        }
    }
    let sentence = format!(
        "balances replayed from transfers differ from the holders table by {} of the supply, {} at one address (transfers, holders)",
        percent(sum),
        percent(worst)
    );
    input.log.saw(code, &*sentence);
    input
        .log
        .prove_by(code, "balances in the holders table", replays);
    (worst > MISMATCH_MIN).then(|| {
        Anomaly::new(code, (sum / MISMATCH_FULL).max(MISMATCH_LEAST), sentence)
            .figure("share", sum)
            .figure("largest", worst)
            .rows("balances that don't match the transfers", rows)
    })
}

/// How many of the rows that the comparison needs are here.
fn not_all(input: &CheckInput<'_>, holders: &Holding<'_>) -> String {
    let facts = input.facts;
    let transfers = facts.dataset.transfers().count(&facts.address) as u64;
    let (left_out, others) = (input.ledger.left_out, holders.others().rows);
    let here: Vec<String> = [
        ("transfers", transfers + left_out, left_out),
        ("holders", holders.listed(), others),
    ]
    .into_iter()
    .filter(|(_, _, left_out)| *left_out > 0)
    .map(|(rows, all, left_out)| format!("{} of {} {rows}", count(all - left_out), count(all)))
    .collect();
    format!(
        "transfers, holders: needs all transfers and holders: {} are here; {BRING}",
        here.join(" and ")
    )
}

fn wash(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::WashTrading;
    let found = input.wash.finish();
    if input.wash.unfinished {
        input.log.unsure(
            code,
            "transfers: time windows with too many pairs of traders were not checked",
        );
    }
    let Some(found) = found else {
        input.log.saw(code, "no circular trading (transfers)");
        return None;
    };
    let members = found.members.len();
    let share = (found.volume / input.ledger.volume).min(1.0);
    let transfers = if found.count == 1 {
        "transfer"
    } else {
        "transfers"
    };
    let sentence = format!(
        "{} of the volume circulates among {members} wallets within {} ({} {transfers}); a finding requires at least {} and \
            {WASH_TRANSFERS_MIN} transfers",
        percent(share),
        found.window,
        found.count,
        percent(WASH_MIN)
    );
    input.log.saw(code, sentence);
    let rows = input.rows(&among(input, &found.members));
    input.log.prove_by(code, AMONG, rows.clone());
    (share >= WASH_MIN && found.count >= WASH_TRANSFERS_MIN).then(|| {
        let sentence = format!(
            "{} of the volume circulates among {members} wallets within {} ({} transfers)",
            percent(share),
            found.window,
            found.count
        );
        Anomaly::new(code, share / WASH_FULL, sentence)
            .figure("share", share)
            .figure("wallets", members as f64)
            .figure("transfers", found.count as f64)
            .rows(
                format!("{AMONG}; the tokens return within {}", found.window),
                rows,
            )
    })
}

/// The first successful transfers from one of these wallets to another.
fn among(input: &CheckInput<'_>, members: &BTreeSet<u32>) -> Vec<usize> {
    let members: BTreeSet<Address> = members
        .iter()
        .map(|member| input.ledger.wallet(*member).address)
        .collect();
    let is_member =
        |address: Option<Address>| address.is_some_and(|address| members.contains(&address));
    let chunks = input.facts.dataset.transfers().chunks(&input.facts.address);
    chunks
        .flatten()
        .enumerate()
        .filter(|(_, transfer)| {
            transfer.status != Some(0)
                && transfer.from_address != transfer.to_address
                && is_member(transfer.from_address)
                && is_member(transfer.to_address)
        })
        .map(|(place, _)| place)
        .take(EVIDENCE_ROWS_MAX)
        .collect()
}

/// Receivers of equal amounts from one sender that never sent anything.
fn airdropped(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let received = |wallet: &&Wallet| wallet.received > 0;
    let receivers = input.ledger.traders().filter(received).count() as u64;
    let code = AnomalyCode::AirdropSpam;
    if receivers < RECEIVERS_MIN {
        input.log.unsure(
            code,
            format!("transfers: {receivers} recipients; at least {RECEIVERS_MIN} needed"),
        );
    }
    // The largest group by sender and amount; of several, that of the sender seen last, and of the largest amount.
    let mut groups: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    for wallet in input.ledger.traders() {
        if wallet.received == 1
            && wallet.sent == 0
            && !matches!(
                input.ledger.wallet(wallet.first_from).role,
                AddressRole::Pool | AddressRole::Router | AddressRole::Exchange
            )
        {
            *groups
                .entry((wallet.first_from, wallet.first_value.to_bits()))
                .or_default() += 1;
        }
    }
    let ((sender, value), count) = groups.into_iter().max_by_key(|(_, count)| *count)?;
    let sender = input.ledger.wallet(sender).address;
    let value = f64::from_bits(value);
    let share = count as f64 / receivers as f64;
    let amount = input.facts.unit().map(|unit| value / unit);
    let row = EvidenceRow {
        amount,
        share: Some(share),
        ..EvidenceRow::of("transfers", sender)
    };
    let strength = (receivers >= RECEIVERS_MIN && share >= AIRDROPPED_MIN).then_some(share);
    if receivers >= RECEIVERS_MIN && share >= AIRDROPPED_NOTED {
        input.log.remark(code);
    }
    // The sender is named only in a finding: otherwise it is one of many.
    let from = strength.map_or_else(|| "one sender".to_owned(), |_| sender.short());
    let sentence = format!(
        "{count} of {receivers} recipients got the same amount from {from} and never sent a transfer (transfers)"
    );
    let found = input.log.measured(
        code,
        strength,
        sentence,
        "the same amount to many recipients",
        vec![row],
    )?;
    Some(
        found
            .figure("share", share)
            .figure("receivers", receivers as f64),
    )
}

fn digits(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::AmountDigits;
    let Some(deviation) = ledger::deviation(&input.ledger.digits) else {
        input.log.unsure(
            code,
            format!("transfers: too few amounts; at least {COUNT_MIN} needed"),
        );
        return None;
    };
    let sentence = format!(
        "first digits of {} amounts deviate by {:.3} from Benford's law, a weak signal (transfers)",
        deviation.count, deviation.mean
    );
    input.log.saw(code, &*sentence);
    (deviation.mean > DEVIATION_MAX && deviation.chance < CHANCE_MAX).then(|| {
        Anomaly::new(
            AnomalyCode::AmountDigits,
            deviation.mean / (2.0 * DEVIATION_MAX),
            sentence,
        )
        .figure("transfers", deviation.count as f64)
        .figure("meanDeviation", deviation.mean)
        .figure("chance", deviation.chance)
    })
}

#[cfg(test)]
mod tests {
    use super::super::examine;
    use crate::{
        AnomalyCode,
        facts::TokenContext,
        fake_data::{FakeData, someone},
    };
    use model::address::Address;

    #[test]
    fn balances_of_today_accuse_nobody_by_the_transfers_of_a_day_before() {
        let mut data = FakeData::default();
        data.row().total_supply = Some(1_000.0);
        data.transfer(Address::ZERO, someone(1), 1_000.0);
        data.transfer(someone(1), someone(2), 300.0);
        data.holders = vec![(someone(2), Some(600.0)), (someone(1), Some(400.0))];
        for of_today in [false, true] {
            data.of_today = if of_today {
                vec!["holders"]
            } else {
                Vec::new()
            };
            let found = examine(&TokenContext::new(&data, data.token()), &|_, _| Ok(())).unwrap();
            let accused = found
                .anomalies
                .iter()
                .any(|anomaly| anomaly.code == AnomalyCode::BalanceMismatch);
            assert_eq!(accused, !of_today);
            let gap = found.log.gap(AnomalyCode::BalanceMismatch);
            assert_eq!(
                gap.is_some_and(|gap| gap.contains("balances are current")),
                of_today
            );
        }
    }
}
