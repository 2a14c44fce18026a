//! Checks of liquidity and trades: liquidity removals, one-way trading, failing sells, sells by insiders only.

use super::{CheckInput, newest, percent};
use crate::{
    Anomaly, AnomalyCode, EVIDENCE_ROWS_MAX, Evidence, EvidenceRow,
    check_log::NeededInput,
    pool_story::{self, LIQUIDITY_PULLED_MIN, Moment},
};
use model::address::Address;

const BUYS_MIN: u64 = 10;
pub(crate) const TRIED_MIN: u64 = 10;
/// Minimum failure rate: some sales fail on any market because of price limits.
const FAILING_MIN: f64 = 0.10;
/// Failure rate from which the finding has its full strength.
pub(crate) const FAILING_FULL: f64 = 0.5;
const BUYERS_FULL: f64 = 20.0;
/// Quantile of the normal distribution for a two-sided 95% interval.
const Z: f64 = 1.959_963_984_540_054;

pub(super) fn tests(input: &mut CheckInput<'_>) -> Vec<Anomaly> {
    [
        pulled(input),
        one_way(input),
        failures(input),
        privileged(input),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pulled(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::LiquidityPulled;
    let events = input.pools.iter().any(|pool| pool.mints > 0);
    // Without the first transfers it is unknown what a pool had.
    if !events && (input.ledger.is_part() || input.ledger.launch.is_none()) {
        input.log.note(
            if input.facts.pools.is_empty() {
                input.facts.no_pool()
            } else if input.ledger.is_part() {
                NeededInput::FirstTransfers
            } else {
                NeededInput::PoolEvents
            },
            &[code],
        );
        return None;
    }
    let by_events = input
        .pools
        .iter()
        .enumerate()
        .take(input.facts.informative)
        .filter_map(|(i, pool)| {
            let pull = pool.worst_pull?;
            // Liquidity moved to another pool was not taken from anybody.
            let moved: f64 = input
                .pools
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i)
                .map(|(_, other)| other.added_between(pull.since, pull.at.time))
                .sum();
            let kept = if pull.tokens > 0.0 {
                (moved / pull.tokens).min(1.0)
            } else {
                0.0
            };
            Some((pull.share * (1.0 - kept), i, pull))
        });
    let worst = by_events.max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((share, i, pull)) = worst.filter(|(share, ..)| *share >= LIQUIDITY_PULLED_MIN) {
        let pool = input.facts.pools[i];
        let row = pool_row(pool, pull.at, Some(share));
        let sentence = format!(
            "{} of pool {}'s liquidity was removed within a day of {}",
            percent(share),
            pool.short(),
            pull.at.time
        );
        return Some(
            Anomaly::new(code, share, sentence)
                .figure("share", share)
                .rows("liquidity burned within a day", vec![row]),
        );
    }
    if events {
        let most = worst.map_or(0.0, |(share, ..)| share);
        let rows = pool_rows(input);
        input
            .log
            .prove_by(code, "liquidity of the token's pools", rows);
        input.log.saw(code, format!("at most {} of a pool's liquidity was permanently removed within a day (pool_events)", percent(most)));
        return None;
    }
    let emptied = input.ledger.worst_emptied;
    let share = emptied.map_or(0.0, |emptied| {
        emptied.share * (1.0 - (emptied.put_back / emptied.value).min(1.0))
    });
    input
        .log
        .saw(code, "no transfer permanently drained a pool (transfers)");
    let emptied = emptied?;
    (share >= LIQUIDITY_PULLED_MIN).then(|| {
        let row = input.row(emptied.row);
        let pool = row.address.map_or_else(String::new, |pool| pool.short());
        let sentence = format!(
            "one transfer took {} of the tokens in pool {pool}",
            percent(share)
        );
        Anomaly::new(code, share, sentence)
            .figure("share", share)
            .rows("transfer out of the pool", vec![row])
    })
}

/// For each informative pool, its first liquidity and its largest removal within a day.
fn pool_rows(input: &CheckInput<'_>) -> Vec<EvidenceRow> {
    let row = |pool: Address, at, share, note: &str| EvidenceRow {
        note: Some(note.to_owned()),
        ..pool_row(pool, at, share)
    };
    let mut rows = Vec::new();
    for (pool, story) in input
        .facts
        .pools
        .iter()
        .zip(&input.pools)
        .take(input.facts.informative)
    {
        rows.extend(
            story
                .first_liquidity
                .map(|at| row(*pool, at, None, "first liquidity")),
        );
        rows.extend(story.worst_pull.map(|pull| {
            row(
                *pool,
                pull.at,
                Some(pull.share),
                "largest removal within a day",
            )
        }));
    }
    rows.truncate(EVIDENCE_ROWS_MAX);
    rows
}

fn pool_row(pool: Address, at: Moment, share: Option<f64>) -> EvidenceRow {
    EvidenceRow {
        timestamp: Some(at.time),
        block_number: at.block,
        share,
        ..EvidenceRow::of("pool_events", pool)
    }
}

/// Uses the reserves of the pool with most trades if its events have them, by count and amount; otherwise the transfers with all pools, by
/// count. Holders who can sell in another pool are not trapped in the first, so transfers also count against one-way reserves.
fn one_way(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::OneWayFlow;
    let told = input
        .pools
        .iter()
        .enumerate()
        .take(input.facts.informative)
        .max_by_key(|(i, pool)| (pool.buys + pool.sells, usize::MAX - i))
        .filter(|(_, pool)| pool.buys + pool.sells > 0);
    if told.is_none() && !input.traded() {
        let need = input.no_trades();
        input.log.note(need, &[code]);
        return None;
    }
    let newest = newest(input.facts);
    if told.is_none() && input.ledger.is_part() {
        input.log.remark(code);
    }
    let (buys, sells, measure, source) = if let Some((i, pool)) = told {
        let Some(measure) = pool.two_way() else {
            input.log.unsure(code, "pool_events: the pool's events do not show what was paid in; add `reserve0` and `reserve1`");
            return None;
        };
        let of = format!("reserves of pool {}", input.facts.pools[i].short());
        let (all_buys, all_sells) = (input.ledger.buys, input.ledger.sells);
        if input.facts.pools.len() > 1 && input.traded() {
            // By count alone, as a pool's own count: a few small sales make no market. That owner or creator sold shows nothing for others.
            let others = input.ledger.tried - input.ledger.failed;
            let by_transfers = others as f64 / (all_buys + all_sells) as f64 / 2.0;
            let source = format!(
                "{of}; transfers with all pools{newest}: {all_buys} buys and {all_sells} sells"
            );
            (pool.buys, pool.sells, measure.max(by_transfers), source)
        } else {
            (pool.buys, pool.sells, measure, of)
        }
    } else {
        let (buys, sells) = (input.ledger.buys, input.ledger.sells);
        (
            buys,
            sells,
            sells as f64 / (buys + sells) as f64,
            format!("transfers with pools{newest}"),
        )
    };
    let sentence = format!("{buys} buys and {sells} sells ({source})");
    if buys < pool_story::ONE_WAY_BUYS_MIN {
        input.log.unsure(
            code,
            format!(
                "transfers: {sentence} are too few; at least {} buys needed",
                pool_story::ONE_WAY_BUYS_MIN
            ),
        );
    } else {
        input.log.saw(code, &*sentence);
        let rows = input.rows(&input.ledger.sales);
        input.log.prove_by(code, "sells", rows);
    }
    pool_story::one_way(buys, measure).map(|strength| {
        let mut anomaly = Anomaly::new(code, strength, sentence)
            .figure("buys", buys as f64)
            .figure("sells", sells as f64);
        if let Some((_, pool)) = told {
            anomaly = anomaly.figure(
                "paidOutOfPaidIn",
                if pool.paid_in > 0.0 {
                    pool.paid_out / pool.paid_in
                } else {
                    0.0
                },
            );
        }
        let after = Some(format!("{sells} sells"));
        // Sales derived from reserves are not transfer rows; the transfer rows are additional evidence.
        let rows = input.rows(&input.ledger.sales);
        anomaly.evidence(Evidence {
            what: source,
            before: Some(format!("{buys} buys")),
            after,
            rows,
            ..Evidence::default()
        })
    })
}

fn failures(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::SellFailures;
    if !input.ledger.statuses {
        let need = if input.ledger.transfers == 0 {
            NeededInput::Transfers
        } else {
            NeededInput::Status
        };
        input.log.note(need, &[code]);
        return None;
    }
    let (failed, tried) = (input.ledger.failed, input.ledger.tried);
    let least = wilson_lower(failed as f64, tried as f64);
    if tried < TRIED_MIN {
        input.log.unsure(
            code,
            format!("transfers: {tried} attempted sells; at least {TRIED_MIN} needed"),
        );
    } else {
        input.log.saw(
            code,
            format!("{failed} of {tried} sells failed (transfers with pools)"),
        );
        input.prove(code, "failed sells", |ledger| &ledger.failures);
        input.prove(code, "successful sells", |ledger| &ledger.sales);
    }
    (tried >= TRIED_MIN && least >= FAILING_MIN).then(|| {
        let sentence = format!(
            "{failed} of {tried} sells failed, at least {} with 95% confidence (transfers)",
            percent(least)
        );
        let evidence = Evidence {
            what: "sells by wallets other than the owner and creator".to_owned(),
            before: Some(format!("{tried} attempted")),
            after: Some(format!("{failed} failed")),
            rows: input.rows(&input.ledger.failures),
            ..Evidence::default()
        };
        Anomaly::new(code, least / FAILING_FULL, sentence)
            .figure("tried", tried as f64)
            .figure("failed", failed as f64)
            .figure("lowerBound", least)
            .evidence(evidence)
    })
}

/// Lower bound of Wilson's score interval for a proportion ("Probable inference", JASA 1927).
fn wilson_lower(hits: f64, of: f64) -> f64 {
    if of <= 0.0 {
        return 0.0;
    }
    let share = hits / of;
    let square = Z * Z;
    let centre = share + square / (2.0 * of);
    let spread = Z * (share * (1.0 - share) / of + square / (4.0 * of * of)).sqrt();
    ((centre - spread) / (1.0 + square / of)).max(0.0)
}

fn privileged(input: &mut CheckInput<'_>) -> Option<Anomaly> {
    let code = AnomalyCode::PrivilegedSellers;
    let facts = input.facts;
    if facts.creator.is_none() && facts.owner.is_none() {
        input.log.note(NeededInput::Creator, &[code]);
        return None;
    }
    if !input.traded() {
        let need = input.no_trades();
        input.log.note(need, &[code]);
        return None;
    }
    let unit = facts.unit();
    let row = |(address, sold): (Address, f64)| EvidenceRow {
        amount: unit.map(|unit| sold / unit),
        ..EvidenceRow::of("transfers", address)
    };
    // In the order in which the transfers first name them.
    let (mut buyers, mut n, mut first) = (0, 0, Vec::new());
    let mut outsider = None;
    for wallet in input.ledger.traders() {
        let (own, sold) = (facts.circle(&wallet.address), wallet.sold > 0.0);
        buyers += u64::from(wallet.bought > 0.0 && !own);
        if sold && !own {
            outsider.get_or_insert((wallet.address, wallet.sold));
        } else if sold {
            n += 1;
            first.push((wallet.address, wallet.sold));
        }
    }
    first.truncate(EVIDENCE_ROWS_MAX);
    if let Some(outsider) = outsider {
        input.log.prove_by(
            code,
            "sells by a wallet not linked to the owner",
            vec![row(outsider)],
        );
        input.log.saw(
            code,
            format!(
                "wallets not linked to the owner also sell, such as {} (transfers)",
                outsider.0.short()
            ),
        );
        return None;
    }
    if buyers < BUYS_MIN || n == 0 {
        input.log.unsure(
            code,
            format!("transfers: {buyers} buyers and {n} sellers are too few; at least {BUYS_MIN} buyers and one seller needed"),
        );
    }
    (buyers >= BUYS_MIN && n > 0).then(|| {
        let who = if n == 1 { "the only seller is".to_owned() } else { format!("all {n} sellers are") };
        let sentence = format!("{buyers} wallets bought, but {who} the owner, the creator or funded by them (transfers)");
        let rows = first.into_iter().map(row).collect();
        Anomaly::new(code, buyers as f64 / BUYERS_FULL, sentence)
            .figure("buyers", buyers as f64)
            .figure("sellers", f64::from(n))
            .rows("sellers", rows)
    })
}

#[cfg(test)]
mod tests {
    use super::{super::examine, *};
    use crate::{
        check_log::CheckLog,
        facts::TokenContext,
        fake_data::{FakeData, someone},
    };

    fn examined(data: &FakeData) -> (Vec<AnomalyCode>, CheckLog) {
        let examined = examine(&TokenContext::new(data, data.token()), &|_, _| Ok(())).unwrap();
        (
            examined
                .anomalies
                .iter()
                .map(|anomaly| anomaly.code)
                .collect(),
            examined.log,
        )
    }

    /// A pool with forty buys and no sells, by its reserves.
    fn one_way() -> FakeData {
        let (mut data, pool) = (FakeData::default(), someone(0x80));
        data.pool(pool);
        for trade in 0..=40 {
            data.reserves(pool, f64::from(1_000 - trade), f64::from(1_000 + trade));
        }
        data
    }

    #[test]
    fn one_pool_does_not_make_a_one_way_flow_where_others_sell() {
        let (other, creator) = (someone(0x81), someone(9));
        // How many of the buyers sold in the other pool, whether it is known as one, and whether they are one who is the creator.
        let cases = [
            (0, true, false, true),
            (40, true, false, false),
            (40, false, false, true),
            (40, true, true, true),
        ];
        for (sales, others, own, one_way_flow) in cases {
            let mut data = one_way();
            data.created_by(creator);
            if others {
                data.pool(other);
            }
            // Without its row the other pool is a holder like any.
            data.transfer(Address::ZERO, other, 1_000.0);
            data.transfer(creator, other, 1_000.0);
            for i in 0..40 {
                data.transfer(other, someone(10 + i), 1.0);
            }
            for i in 0..sales {
                data.transfer(if own { creator } else { someone(10 + i) }, other, 1.0);
            }
            let (found, log) = examined(&data);
            assert_eq!(
                found.contains(&AnomalyCode::OneWayFlow),
                one_way_flow,
                "{sales} sales, {others}: {:?}",
                log.seen(AnomalyCode::OneWayFlow)
            );
            let said = log.seen(AnomalyCode::OneWayFlow).unwrap_or_default();
            assert!(
                said.contains("40 buys and 0 sells (reserves of pool 0x8080…8080"),
                "{said}"
            );
            assert_eq!(
                said.contains("; transfers with all pools: 40 buys and"),
                others,
                "{said}"
            );
        }
    }

    #[test]
    fn a_token_with_a_pool_is_not_said_to_have_none() {
        let gap = |data: &FakeData, code| examined(data).1.gap(code).unwrap_or_default();
        let mut data = one_way();
        data.created_by(someone(9));
        // Without a transfer at all, and then with one that is no trade.
        for code in [AnomalyCode::PrivilegedSellers, AnomalyCode::SellFailures] {
            let said = gap(&data, code);
            assert!(
                said.starts_with("transfers: no transfer data"),
                "{}: {said}",
                code.word()
            );
        }
        data.transfer(someone(1), someone(2), 5.0);
        let said = gap(&data, AnomalyCode::PrivilegedSellers);
        assert!(
            said.starts_with("transfers: no transfers to or from pools where it is the base token"),
            "{said}"
        );
        data.pools.clear();
        let said = gap(&data, AnomalyCode::PrivilegedSellers);
        assert!(said.starts_with("pools: no pool in the data"), "{said}");
    }

    #[test]
    fn the_lower_bound_is_wilsons() {
        // Reference values: statsmodels' proportion_confint(method="wilson").
        for (hits, of, least) in [
            (0.0, 10.0, 0.0),
            (10.0, 10.0, 0.722_467),
            (5.0, 10.0, 0.236_593),
            (0.0, 0.0, 0.0),
        ] {
            assert!(
                (wilson_lower(hits, of) - least).abs() < 1e-5,
                "{hits} of {of}: {}",
                wilson_lower(hits, of)
            );
        }
    }
}
