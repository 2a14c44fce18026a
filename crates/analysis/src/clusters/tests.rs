//! Clusters against made markets whose owners are known.

use super::{
    market::{CREATOR, Market, Plan},
    *,
};
use load::sample;

fn found(market: &Market) -> (Clusters, Vec<Vec<usize>>) {
    let tables = market.tables();
    let files: Vec<(&str, &str)> = tables
        .iter()
        .map(|(table, text)| (*table, text.as_str()))
        .collect();
    let dataset = sample::dataset(&files);
    let token = dataset.tokens()[0].row.token_address;
    let clusters = clusters_of(&dataset, &token, &mut |_, _| true).expect("clusters");
    let numbers = |cluster: &Cluster| {
        let members = cluster.members.iter();
        members
            .filter_map(|address| Market::number(address.0))
            .collect()
    };
    let members = clusters.clusters.iter().map(numbers).collect();
    (clusters, members)
}

#[test]
fn planted_owners_are_found_and_strangers_are_not_joined() {
    let mut sums = [0; 3];
    for seed in 20_000..20_006 {
        let mut market = Market::new(seed, Plan::Owners);
        // Some tokens show no mint: the supply was assigned at deployment.
        market
            .steps
            .retain(|(_, _, from, ..)| seed % 3 > 0 || *from != 0);
        let (clusters, members) = found(&market);
        for (sum, count) in sums.iter_mut().zip(market.pairs(&members)) {
            *sum += count;
        }
        for cluster in &clusters.clusters {
            assert!(cluster.links.len() + 1 >= cluster.members.len());
            // Each link has what shows it: a payer, or a transfer of the token.
            let shown =
                |link: &Link| link.funder.is_some() || link.row.is_some() && link.time.is_some();
            assert!(cluster.links.iter().all(shown));
        }
        assert!(clusters.top_10[1] >= clusters.top_10[0] - 1e-9);
    }
    let [found, right, all] = sums.map(|count| count as f64);
    assert!(right >= 0.95 * found && right >= 0.8 * all, "{sums:?}");
}

#[test]
fn exchanges_airdrops_dust_and_mixers_join_nobody() {
    for plan in [Plan::Traps, Plan::Payments] {
        for seed in 30_000..30_004 {
            let mut market = Market::new(seed, plan);
            market
                .steps
                .retain(|(_, _, from, ..)| seed % 2 > 0 || *from != 0);
            let (clusters, _) = found(&market);
            let largest = clusters
                .clusters
                .first()
                .map_or(0.0, |cluster| cluster.share);
            assert!(largest < 0.01, "{plan:?} {seed}: {largest}");
        }
    }
}

/// Transfers (minute, transaction, sender, recipient, whole tokens) after a mint to 0x2, which puts half into the pool 0x1, and payments
/// (minute, payer, recipient); the members of each cluster.
fn clusters(
    steps: &[(i64, u64, usize, usize, f64)],
    funding: &[(usize, usize, i64)],
) -> Vec<Vec<usize>> {
    let mut market = Market::default();
    market.labels = vec![(1, "liquidity_pool"), (9, "exchange")];
    market.steps = vec![(0, 1, 0, CREATOR, 1e9), (1, 2, CREATOR, 1, 5e8)];
    market.steps.extend(steps);
    market.funding = funding.to_vec();
    let mut members = found(&market).1;
    for members in &mut members {
        members.sort_unstable();
    }
    members.sort();
    members
}

#[test]
fn each_trap_stands_beside_an_owner_of_the_same_shape() {
    const DAY: i64 = 7_200;
    let buys = |wallets: std::ops::Range<usize>| -> Vec<(i64, u64, usize, usize, f64)> {
        let buy = |wallet: usize| {
            let nth = wallet as i64;
            (
                100 + nth * nth * 311,
                1_000 + wallet as u64,
                1,
                wallet,
                90_000.0 + (wallet * wallet) as f64,
            )
        };
        wallets.map(buy).collect()
    };
    let none: Vec<Vec<usize>> = Vec::new();
    // One payer within an hour; an exchange; a stranger over weeks.
    let paid = |payer, gap| -> Vec<_> {
        (20..25)
            .map(|wallet| (payer, wallet, wallet as i64 * gap))
            .collect()
    };
    let all = vec![(20..25).collect::<Vec<usize>>()];
    assert_eq!(clusters(&buys(20..25), &paid(50, 60)), all);
    assert_eq!(clusters(&buys(20..25), &paid(9, 60)), none);
    assert_eq!(clusters(&buys(20..25), &paid(50, 2 * DAY)), none);
    // One buys and splits among ten; the creator gives the same to thirty.
    let split = |from: usize, count: usize, value: f64| -> Vec<_> {
        (0..count)
            .map(|nth| (500 + nth as i64, 2_000 + nth as u64, from, 60 + nth, value))
            .collect()
    };
    let bought = (400, 1_999, 1, 50, 1_000_000.0);
    let owner = [vec![bought], split(50, 10, 90_000.0)].concat();
    assert_eq!(
        clusters(&owner, &[]),
        vec![[vec![50], (60..70).collect()].concat()]
    );
    assert_eq!(clusters(&split(CREATOR, 30, 90_000.0), &[]), none);
    // The same with dust, to addresses with and without tokens of their own.
    let dust = [vec![bought], buys(60..65), split(50, 10, 0.5)].concat();
    assert_eq!(clusters(&dust, &[]), none);
    // Four in one block at launch buy nearly the same; or the most that a token lets one buy; or different amounts.
    let launch = |amounts: [f64; 4]| {
        let buy = |(nth, value): (usize, f64)| (100, 3_000 + nth as u64, 1, 70 + nth, value);
        let steps: Vec<_> = amounts.into_iter().enumerate().map(buy).collect();
        clusters(&steps, &[])
    };
    assert_eq!(
        launch([81_234.0, 79_876.0, 78_543.0, 77_321.0]),
        vec![vec![70, 71, 72, 73]]
    );
    assert_eq!(launch([1e7; 4]), none);
    assert_eq!(launch([81_234.0, 9_876.0, 178_543.0, 3_321.0]), none);
    // What three bought goes round among them; or the third sells.
    let circle = |end: usize| {
        let pass = |from: usize, to: usize, at: i64| (at, at as u64, from, to, 60_000.0);
        let steps = vec![
            pass(20, 21, 300_000),
            pass(21, 22, 300_100),
            pass(22, end, 300_200),
        ];
        clusters(&[buys(20..23), steps].concat(), &[])
    };
    assert_eq!(circle(20), vec![vec![20, 21, 22]]);
    assert_eq!(circle(1), none);
    // Three bring what they bought to one that sells it; to one that sends it on; to a deposit address.
    let bring = |end: (i64, u64, usize, usize, f64)| {
        let brought = (20..23).map(|wallet| {
            (
                300_000 + wallet as i64,
                4_000 + wallet as u64,
                wallet,
                80,
                90_000.0,
            )
        });
        clusters(&[buys(20..23), brought.collect(), vec![end]].concat(), &[])
    };
    assert_eq!(
        bring((400_000, 5_000, 80, 1, 270_000.0)),
        vec![vec![20, 21, 22, 80]]
    );
    assert_eq!(bring((400_000, 5_000, 80, 9, 270_000.0)), none);
}

#[test]
fn unknown_balances_are_those_of_the_transfers() {
    let mut market = Market::default();
    market.labels = vec![(1, "liquidity_pool")];
    market.steps = vec![
        (0, 1, 0, CREATOR, 1e9),
        (1, 2, CREATOR, 1, 5e8),
        (9, 3, 1, 20, 1e8),
    ];
    let tables = market.tables();
    let holders = "token_address,holder_address,balance\n0x1,0xabc00002,\n0x1,0xabc00014,";
    let files: Vec<(&str, &str)> = tables
        .iter()
        .map(|(table, text)| (*table, text.as_str()))
        .chain([("holders", holders)])
        .collect();
    let dataset = sample::dataset(&files);
    let token = dataset.tokens()[0].row.token_address;
    let clusters = clusters_of(&dataset, &token, &mut |_, _| true).expect("clusters");
    // 600 million are outside the pool, all in two addresses.
    assert_eq!(clusters.top_10, [1.0, 1.0]);
}

#[test]
fn without_transfers_the_reason_is_named() {
    let dataset =
        sample::dataset(&[("tokens", "token_address,symbol,name,chain\n0x1,ONE,One,eth")]);
    let token = dataset.tokens()[0].row.token_address;
    let refused = clusters_of(&dataset, &token, &mut |_, _| true);
    assert_eq!(refused, Err(NoClusters::Transfers));
}
