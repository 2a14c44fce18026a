//! Tests: small cases computed by hand, groups that partition the supply, and what is unknown.

use super::*;
use crate::growth::WhaleTrend;
use load::{Dataset, sample};
use proptest::prelude::*;

const TOKENS: &str = "token_address,symbol,name,chain,decimals\n0x1,ONE,One,eth,1";
/// Base units; the token has one decimal. 0xe1 is an exchange, 0xb1 a pool.
const TRANSFERS: &str = "0x1,2026-01-01T00:00:00Z,0x0,0xc1,10000
    0x1,2026-01-10T00:00:00Z,0xc1,0xa1,4000
    0x1,2026-01-10T00:00:01Z,0xc1,0xa2,3000
    0x1,2026-02-20T00:00:00Z,0xc1,0xb1,1000
    0x1,2026-02-25T00:00:00Z,0xa1,0xe1,1000
    0x1,2026-02-26T00:00:00Z,0xb1,0xa3,200
    0x1,2026-02-27T00:00:00Z,0xa2,0xa1,100
    0x1,2026-03-01T12:00:00Z,0xa1,0xdead,500
    0x1,2026-03-02T00:00:00Z,0xa2,0xe1,300";
const LABELS: &str = "address,label\n0xe1,exchange\n0xb1,pool";
const CANDLES: &str = "token_address,timestamp,open,high,low,close,volume,interval
    0x1,2026-01-10T00:00:00Z,2,2,2,2,1,1d
    0x1,2026-02-20T00:00:00Z,4,4,4,4,1,1d
    0x1,2026-02-26T00:00:00Z,5,5,5,5,1,1d
    0x1,2026-02-27T00:00:00Z,6,6,6,6,1,1d
    0x1,2026-02-28T00:00:00Z,6,6,6,6,1,1d";

fn dataset(transfers: &str, more: &[(&str, &str)]) -> Dataset {
    let head = "token_address,timestamp,from_address,to_address,value,block_number,transaction_hash,log_index";
    let row = |(nth, row): (usize, &str)| format!("\n{},{nth},0x{nth:x},{nth}", row.trim());
    let rows: String = transfers.lines().enumerate().map(row).collect();
    let transfers = format!("{head}{rows}");
    let own = [
        ("tokens", TOKENS),
        ("transfers", &transfers),
        ("labels", LABELS),
    ];
    sample::dataset(&[&own, more].concat())
}

fn of(dataset: &Dataset, price: Option<f64>) -> Result<GroupFlows, NoFlows> {
    let token = dataset.tokens()[0].row.token_address;
    let input = GroupInput {
        creators: &[address(0xc1)],
        price,
        supply: Some(950.0),
        whale_usd: 1_000.0,
    };
    group_flows(dataset, &token, &input, &mut |_, _| true)
}

fn address(last: u8) -> Address {
    let mut bytes = [0; 20];
    bytes[19] = last;
    Address(bytes)
}

fn flow(flows: &GroupFlows, group: FlowGroup) -> &GroupFlow {
    flows.of(group).expect("every group")
}

#[test]
fn flows_of_each_group_over_the_days_before_the_last_transfer() {
    let dataset = dataset(TRANSFERS, &[("candles", CANDLES)]);
    let flows = of(&dataset, Some(4.0)).expect("flows");
    assert_eq!(flows.last.minute_text(), "2026-03-02 00:00");
    let tokens = |group| {
        let flow = flow(&flows, group);
        let nets = [flow.net_1d, flow.net_7d, flow.net_30d];
        (flow.members, flow.balance, nets.map(|net| net.tokens))
    };
    let known = |members, balance, nets: [f64; 3]| (Some(members), Some(balance), nets.map(Some));
    // At 4 USD whales have 250: a1 from 400 to 260, a2 from 300 to 260, c1 from 300 to 200. On 02-23 the 7 days begin.
    assert_eq!(
        tokens(FlowGroup::Whales),
        known(3, 720.0, [-80.0, -180.0, -280.0])
    );
    assert_eq!(
        tokens(FlowGroup::Top10),
        known(4, 740.0, [-80.0, -160.0, -260.0])
    );
    assert_eq!(
        tokens(FlowGroup::Exchanges),
        known(1, 130.0, [30.0, 130.0, 130.0])
    );
    assert_eq!(
        tokens(FlowGroup::Contracts),
        known(1, 80.0, [0.0, -20.0, 80.0])
    );
    assert_eq!(
        tokens(FlowGroup::Creator),
        known(1, 200.0, [0.0, 0.0, -100.0])
    );
    // a3 has its first transfer on 02-26; the exchange and the pool are no holders.
    assert_eq!(tokens(FlowGroup::Fresh), known(1, 20.0, [0.0, 20.0, 20.0]));
    let whales = flow(&flows, FlowGroup::Whales);
    // 02-25: 100 at the last close before, 4; 03-01: 50 at 6; 03-02: 30 at 6. What a2 sent a1 is inside.
    assert_eq!(whales.net_7d.usd, Some(-400.0 - 300.0 - 180.0));
    assert_eq!((whales.buyers_7d, whales.sellers_7d), (Some(0), Some(2)));
    let day = |day: &DayNet| {
        day.net
            .tokens
            .filter(|net| *net != 0.0)
            .map(|net| (day.date.to_string(), net))
    };
    let days: Vec<_> = whales.days.iter().filter_map(day).collect();
    let expected = [
        ("2026-02-20", -100.0),
        ("2026-02-25", -100.0),
        ("2026-03-01", -50.0),
        ("2026-03-02", -30.0),
    ];
    assert_eq!(days, expected.map(|(day, net)| (day.to_owned(), net)));
    assert_eq!(whales.days.len(), 30);
    let change = flows.whale_change(1.0).expect("a change");
    assert_eq!(
        (change.trend, change.balance_before, change.balance),
        (WhaleTrend::Distributing, 900.0, 720.0)
    );
    // Of two sellers both sold: a coin does so in one of four tosses.
    assert_eq!(change.moves.and_then(|moves| moves.confidence), Some(0.75));
    assert_eq!(change.movers(), Some(2));
    assert_eq!(change.moves.map(|moves| moves.whales), Some(3));
    assert_eq!(
        flows.whale_change(20.0).map(|change| change.trend),
        Some(WhaleTrend::Stable)
    );
}

#[test]
fn the_largest_holders_paid_the_closes_of_the_days() {
    let dataset = dataset(TRANSFERS, &[("candles", CANDLES)]);
    let flows = of(&dataset, Some(5.0)).expect("flows");
    let top = flow(&flows, FlowGroup::Top10);
    // a1: 400 at 2, less 100, plus 10 at 6, less 50 of 310: 260 for 660 × 260/310. a2: 260 at 2. a3: 20 at 5. c1: minted before the first close.
    let (priced, cost) = (260.0 + 260.0 + 20.0, 660.0 * 260.0 / 310.0 + 520.0 + 100.0);
    let near = |value: Option<f64>, expected: f64| {
        value.is_some_and(|value: f64| (value - expected).abs() < 1e-9)
    };
    assert!(near(top.average_cost, cost / priced), "{top:?}");
    assert!(near(top.unrealized_profit, priced * 5.0 - cost), "{top:?}");
    assert!(near(top.cost_known, priced / 740.0), "{top:?}");
    assert_eq!(flow(&flows, FlowGroup::Whales).average_cost, None);
    // Without candles: no cost and no USD.
    let flows = of(&super::tests::dataset(TRANSFERS, &[]), Some(5.0)).expect("flows");
    let top = flow(&flows, FlowGroup::Top10);
    assert_eq!(
        (top.average_cost, top.unrealized_profit, top.net_7d.usd),
        (None, None, None)
    );
    assert_eq!(top.net_7d.tokens, Some(-160.0));
}

#[test]
fn what_is_unknown_is_null() {
    let of = |transfers: &str, more: &[(&str, &str)], price| of(&dataset(transfers, more), price);
    // Without a price nobody is known to be a whale; without a mint and holders, balances are unknown.
    let flows = of(TRANSFERS, &[], None).expect("flows");
    assert_eq!(
        (
            flow(&flows, FlowGroup::Whales).members,
            flows.whale_change(1.0)
        ),
        (None, None)
    );
    assert_eq!(flow(&flows, FlowGroup::Top10).members, Some(4));
    let later = TRANSFERS.split_once('\n').expect("lines").1;
    let flows = of(later, &[], Some(4.0)).expect("flows");
    let [top, holders] = [FlowGroup::Top10, FlowGroup::Holders].map(|group| flow(&flows, group));
    assert_eq!(
        (top.members, top.balance, top.net_7d.tokens),
        (None, None, None)
    );
    assert_eq!((holders.members, holders.balance), (Some(4), None));
    assert_eq!(holders.net_7d.tokens, Some(-160.0));
    // The table of holders gives them.
    let holders = (
        "holders",
        "token_address,holder_address,balance\n0x1,0xa1,260\n0x1,0xf1,900",
    );
    let flows = of(later, &[holders], Some(4.0)).expect("flows");
    // c1, without a row, had 100 at the start of the 30 days and is too small for a whale; f1 never moved.
    assert_eq!(flow(&flows, FlowGroup::Whales).members, Some(2));
    // Spans from before the first transfer are known after a mint alone.
    let two = "0x1,2026-03-01T00:00:00Z,0xa1,0xa2,10\n0x1,2026-03-05T00:00:00Z,0xa2,0xa3,10";
    let spans = |transfers: &str| {
        let flows = of(transfers, &[], None).expect("flows");
        let holders = flow(&flows, FlowGroup::Holders);
        [holders.net_1d, holders.net_7d, holders.net_30d].map(|net| net.tokens)
    };
    assert_eq!(spans(two), [Some(0.0), None, None]);
    assert_eq!(
        spans(&two.replace("0xa1", "0x0")),
        [Some(0.0), Some(1.0), Some(1.0)]
    );
    // An unknown amount: of the groups that it concerns.
    let unknown = format!("{TRANSFERS}\n0x1,2026-03-02T00:00:01Z,0xa2,0xb1,");
    let flows = of(&unknown, &[holders], None).expect("flows");
    let net = |group| flow(&flows, group).net_1d.tokens;
    assert_eq!(
        (net(FlowGroup::Contracts), net(FlowGroup::Exchanges)),
        (None, Some(30.0))
    );
    assert_eq!(flow(&flows, FlowGroup::Holders).buyers_7d, None);
}

#[test]
fn an_earlier_payment_makes_a_wallet_old() {
    let fresh = |funding: &str| {
        let funding = format!("from_address,to_address,timestamp\n0xf1,0xa3,{funding}");
        let flows = of(&dataset(TRANSFERS, &[("funding", &funding)]), None).expect("flows");
        flow(&flows, FlowGroup::Fresh).members
    };
    assert_eq!(
        (fresh("2026-01-01"), fresh("2026-02-25")),
        (Some(0), Some(1))
    );
}

#[test]
fn later_rows_change_nothing_of_an_earlier_time() {
    let holders = (
        "holders",
        "token_address,holder_address,balance\n0x1,0xf1,900",
    );
    let all = dataset(TRANSFERS, &[("candles", CANDLES), holders]);
    let time = Time(Day(20_511).start().0 + DAY_MS / 2);
    let then = all.known_at(time).expect("a dataset as of then");
    let until: Vec<&str> = TRANSFERS.lines().take(7).collect();
    let candles: Vec<&str> = CANDLES.lines().take(4).collect();
    let only = dataset(&until.join("\n"), &[("candles", &candles.join("\n"))]);
    let [then, only] = [then, only].map(|dataset| of(&dataset, Some(4.0)).expect("flows"));
    assert_eq!(then.last, only.last);
    assert!(then == only);
}

#[test]
fn the_sign_test() {
    for (net, buyers, sellers, expected) in [
        (1.0, 3, 0, Some(0.875)),
        (-1.0, 3, 0, Some(0.0)),
        (1.0, 2, 2, Some(0.3125)),
        (-1.0, 2, 9, Some(1.0 - 67.0 / 2048.0)),
        (0.0, 5, 5, None),
        (f64::NAN, 5, 5, None),
    ] {
        let found = confidence(net, buyers, sellers).map(|value| (value * 1e9).round() / 1e9);
        let expected: Option<f64> = expected;
        assert_eq!(
            found,
            expected.map(|value| (value * 1e9).round() / 1e9),
            "{net} {buyers} {sellers}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Addresses: 0 burns and mints, 1 is the exchange, 2 the pool, the others hold.
    #[test]
    fn groups_that_are_all_addresses_once_add_up_to_mints_minus_burns(
        rows in prop::collection::vec((0u8..8, 0u8..8, 1u32..1_000, 0i64..40), 1..60)
    ) {
        let name = |who: u8| ["0x0", "0xe1", "0xb1", "0xa1", "0xa2", "0xa3", "0xa4", "0xa5"][usize::from(who)];
        let mut rows = rows;
        rows.sort_by_key(|row| row.3);
        let text = |(from, to, value, day): &(u8, u8, u32, i64)| {
            format!("0x1,{},{},{},{value}", Day(20_000 + *day as i32), name(*from), name(*to))
        };
        let text: Vec<String> = rows.iter().map(text).collect();
        // Begins with a mint, so that every span is known.
        let text = format!("0x1,2024-01-01,0x0,0xa1,100\n{}", text.join("\n"));
        let flows = of(&dataset(&text, &[]), None).expect("flows");
        let last = rows.iter().map(|row| row.3).max().unwrap_or_default();
        for (span, days) in SPANS.iter().enumerate() {
            let minted: f64 = rows.iter().filter(|row| row.3 > last - days).map(|(from, to, value, _)| {
                let sign = i32::from(*from == 0) - i32::from(*to == 0);
                f64::from(sign) * f64::from(*value) / 10.0
            }).sum();
            let net = |group| {
                let flow = flow(&flows, group);
                [flow.net_1d, flow.net_7d, flow.net_30d][span].tokens.expect("known")
            };
            let sum = net(FlowGroup::Exchanges) + net(FlowGroup::Contracts) + net(FlowGroup::Holders);
            prop_assert!((sum - minted).abs() < 1e-6, "{sum} {minted}");
        }
    }
}
