//! Of rows that are not here nothing is claimed: each analysis with all rows of a token, and with a part of them.

use crate::{
    AnomalyCode,
    facts::TokenContext,
    fake_data::{FakeData, blank, someone},
    holders,
    transactions::{self, Transactions},
};
use analysis::{
    flows::{NoFlows, flows},
    market::Market,
    token::{Thresholds, detail},
};
use model::{
    address::Address,
    holding::Listed,
    rows::KolRow,
    time::{DAY_MS, HOUR_MS, Time},
};

/// A token that is launched, then bought and sold 300 times each.
fn traded() -> FakeData {
    let (mut data, creator, pool) = (FakeData::default(), someone(9), someone(0x80));
    data.row().total_supply = Some(10_000.0);
    data.created_by(creator);
    data.pool(pool);
    data.transfer(Address::ZERO, creator, 10_000.0);
    data.transfer(creator, pool, 5_000.0);
    for i in 0..300 {
        let buyer = someone(10 + i as u8 % 60);
        data.transfer(pool, buyer, f64::from(i % 9 + 1));
        data.transfer(buyer, pool, 1.0);
    }
    data.holders = vec![(pool, Some(4_000.0)), (creator, Some(5_000.0))];
    data
}

fn of_rows(rows: u64, balance: f64) -> Listed {
    Listed {
        rows,
        held: rows,
        balance,
    }
}

#[test]
fn the_newest_transfers_show_trades_and_no_beginning() {
    let mut data = traded();
    for left_out in [0, 40] {
        data.left_out = left_out;
        let is_part = left_out > 0;
        let found = transactions::examine(&TokenContext::new(&data, data.token()), &|_, _| Ok(()))
            .expect("runs");
        for code in [
            AnomalyCode::MintAfterLaunch,
            AnomalyCode::CreatorDump,
            AnomalyCode::Sniped,
            AnomalyCode::LiquidityPulled,
        ] {
            let gap = found.log.gap(code);
            let says = "transfers: needs transfers from the first on; set read";
            assert_eq!(
                gap.as_ref().is_some_and(|gap| gap.starts_with(says)),
                is_part,
                "{gap:?}"
            );
            assert_eq!(gap.is_some(), is_part, "{gap:?}");
        }
        for code in [
            AnomalyCode::SellFailures,
            AnomalyCode::PrivilegedSellers,
            AnomalyCode::WashTrading,
            AnomalyCode::AirdropSpam,
            AnomalyCode::AmountDigits,
            AnomalyCode::OneWayFlow,
        ] {
            let anomaly = found.anomalies.iter().find(|anomaly| anomaly.code == code);
            let said = anomaly.map_or_else(
                || found.log.seen(code).unwrap_or_default(),
                |anomaly| anomaly.sentence.clone(),
            );
            let says = " over the newest 602 of 642 transfers, since 1970-01-01T01:00:00Z";
            assert_eq!(found.log.gap(code), None);
            assert_eq!(said.contains(says), is_part, "{}: {said}", code.word());
            // To pass by a part of the transfers gives no ✓.
            assert_eq!(found.log.is_remarkable(code), is_part, "{}", code.word());
        }
        assert_eq!(
            found
                .unfinished
                .iter()
                .any(|text| text.contains("602 of 642")),
            is_part
        );
    }
}

#[test]
fn a_pool_opened_before_the_transfers_that_are_here_was_not_emptied() {
    let (mut data, pool) = (FakeData::default(), someone(0x80));
    data.pool(pool);
    // As if it were opened with what is sold, and as much of it taken.
    data.transfer(someone(1), pool, 100.0);
    data.transfer(pool, someone(2), 95.0);
    for (left_out, pulled) in [(0, true), (5, false)] {
        data.left_out = left_out;
        let found = transactions::examine(&TokenContext::new(&data, data.token()), &|_, _| Ok(()))
            .expect("runs");
        let accused = |code| found.anomalies.iter().any(|anomaly| anomaly.code == code);
        assert_eq!(accused(AnomalyCode::LiquidityPulled), pulled);
    }
}

#[test]
fn balances_are_compared_only_with_all_rows_of_both_tables() {
    for (left_out, holders, says) in [
        (0, 2, None),
        (40, 2, Some("602 of 642 transfers are here; set read")),
        (0, 60, Some("2 of 60 holders are here; set read")),
        (
            40,
            60,
            Some("602 of 642 transfers and 2 of 60 holders are here; set read"),
        ),
    ] {
        let mut data = traded();
        (data.left_out, data.listed) = (left_out, Some(of_rows(holders, 10_000.0)));
        let found = transactions::examine(&TokenContext::new(&data, data.token()), &|_, _| Ok(()))
            .expect("runs");
        let gap = found.log.gap(AnomalyCode::BalanceMismatch);
        let says =
            says.map(|says| format!("transfers, holders: needs all transfers and holders: {says}"));
        match (&gap, says) {
            (Some(gap), Some(says)) => assert!(gap.starts_with(&says), "{gap}"),
            (gap, says) => assert_eq!(*gap, says),
        }
    }
}

#[test]
fn a_holder_that_is_not_here_may_have_as_much_as_the_smallest_that_is() {
    let pool = someone(0x80);
    // One that is here has 90; what all have, and what is said of the creator's share and of the LP tokens.
    let cases = [
        (None, Some("hold 0.0% of"), Some("0.0% of pool")),
        (
            Some(of_rows(4, 93.0)),
            Some("hold at most 3.2% of"),
            Some("at most 3.2% of pool"),
        ),
        (Some(of_rows(4, 96.0)), None, None),
    ];
    for (known, creator, unlocked) in cases {
        for (held, holder, code, says) in [
            (None, someone(1), AnomalyCode::CreatorShare, creator),
            (Some(pool), Address::ZERO, AnomalyCode::LpUnlocked, unlocked),
        ] {
            let mut data = FakeData::default();
            data.created_by(someone(9));
            data.pool(pool);
            data.holders = vec![(holder, Some(90.0))];
            data.listed = known;
            data.held = held.unwrap_or(data.held);
            let facts = TokenContext::new(&data, data.token());
            let found = holders::examine(&facts, &Transactions::default());
            assert!(found.anomalies.iter().all(|anomaly| anomaly.code != code));
            let (gap, seen) = (found.log.gap(code), found.log.seen(code));
            let lacks = "holders: only the largest holders are here; set read";
            assert_eq!(
                gap.as_ref().is_some_and(|gap| gap.starts_with(lacks)),
                says.is_none(),
                "{gap:?}"
            );
            let said = seen.is_some_and(|seen| says.is_some_and(|says| seen.contains(says)));
            assert_eq!((said, gap.is_none()), (says.is_some(), says.is_some()));
        }
    }
}

#[test]
fn bounds_are_said_where_holders_are_known_by_their_sum_only() {
    let balances = [5.0, 2.0, 1.0, 1.0];
    for (here, says) in [
        (4, "0.3827, equivalent to 2.6"),
        (
            2,
            "0.3951 (between 0.3827 and 0.4074: 2 holders are known by their sum only), equivalent to 2.5",
        ),
    ] {
        let mut data = FakeData::default();
        let rows = balances.iter().take(here).zip(2..);
        data.holders = rows
            .map(|(balance, number)| (someone(number), Some(*balance)))
            .collect();
        data.listed = Some(of_rows(4, 9.0));
        let facts = TokenContext::new(&data, data.token());
        let found = holders::examine(&facts, &Transactions::default()).anomalies;
        let hhi = found
            .iter()
            .find(|anomaly| anomaly.code == AnomalyCode::HhiHigh)
            .expect("found");
        assert_eq!(
            hhi.sentence,
            format!("the HHI of individual holders is {says} equal holders (holders)")
        );
    }
}

#[test]
fn flows_need_the_transfers_of_thirty_days() {
    let (one, two) = (someone(1), someone(2));
    // Hours before the last transfer at which the first that is here was made, and how many were before; what is known of the first's sender.
    for (hours, left_out, known) in [
        (24, 0, true),
        (24, 5, false),
        (720, 5, true),
        (719, 5, false),
    ] {
        let mut data = FakeData::default();
        data.transfer(one, two, 5.0);
        data.transfer(two, one, 2.0);
        data.transfers.0[1].1.timestamp = Some(Time((1 + hours) * HOUR_MS));
        data.left_out = left_out;
        let found = flows(
            &data,
            &data.token().row.token_address,
            &[one],
            &mut |_, _| true,
        );
        match found {
            Ok((last, flows)) => {
                assert!(known && last == Time((1 + hours) * HOUR_MS));
                let flow = flows[&one];
                assert_eq!(flow.received, [Some(2.0); 2]);
                assert_eq!(flow.sent[1], Some(if hours < 720 { 5.0 } else { 0.0 }));
                assert_eq!(flow.first_seen.is_some(), left_out == 0);
            }
            Err(why) => {
                assert!(!known);
                assert_eq!(
                    why,
                    NoFlows::LeftOut {
                        needed_since: Time((1 + hours) * HOUR_MS - 30 * DAY_MS),
                        here_since: Time(HOUR_MS),
                    }
                );
            }
        }
    }
}

#[test]
fn an_opinion_leader_that_is_not_here_may_hold_as_much_as_the_smallest_that_is() {
    let thresholds = Thresholds {
        whale_usd: 50.0,
        medium_usd: 10.0,
        whale_change_percent: 1.0,
    };
    // Whether the second leader is a holder that is here; the number and balances of all holders, and how many whales, medium and small
    // holders are known to be leaders. One is here, with 60.
    let cases = [
        (false, None, [Some(1), Some(0), Some(0)]),
        (true, Some(of_rows(9, 100.0)), [Some(1), Some(1), Some(0)]),
        (false, Some(of_rows(9, 81.0)), [Some(1), Some(0), None]),
        (false, Some(of_rows(9, 100.0)), [Some(1), None, None]),
    ];
    for (here, known, counts) in cases {
        let mut data = FakeData::default();
        data.row().price = Some(1.0);
        data.kols = [1, 2]
            .map(|kol| KolRow {
                kol_address: someone(kol),
                ..blank()
            })
            .into();
        let other = someone(if here { 2 } else { 3 });
        data.holders = vec![(someone(1), Some(60.0)), (other, Some(20.0))];
        data.listed = known;
        let market = Market::new(&data);
        let found = detail(&data, data.token(), &market.tokens[0], thresholds, None);
        let found = found.smart_follower_distribution;
        assert_eq!(
            [
                found.whale_holders,
                found.medium_holders,
                found.small_holders
            ],
            counts,
            "{known:?}"
        );
    }
}
