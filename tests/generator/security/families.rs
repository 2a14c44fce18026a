//! Case families, randomised within each kind: wash trading, sniping, Sybil holders, withdrawn liquidity, each with honest cases close to
//! it. Even numbers are malicious, odd ones honest.

use super::security::{Case, DAY, HOUR, START, SUPPLY, ZERO};

/// Cases per kind, malicious and honest each.
pub(crate) const SIZE: u64 = 100;

type Story = fn(&mut Case, bool);

pub(crate) const FAMILIES: &[(&str, Story)] = &[
    ("WASH_TRADING", wash),
    ("SNIPED", sniped),
    ("SYBIL_HOLDERS", sybil),
    ("LIQUIDITY_PULLED", pulled),
];

pub(crate) fn case(family: Story, i: u64) -> Case {
    let mut case = Case::new(1_000 + i);
    family(&mut case, i.is_multiple_of(2));
    case
}

/// Wash trading: rings of 2 to 9 wallets within a market's trades. Honest: ring members that keep a part, and lenders repaid once.
fn wash(case: &mut Case, wrong: bool) {
    case.launch();
    let (trades, days) = (
        150 + case.random.below(200),
        5 + case.random.below(25) as i64,
    );
    case.trade(trades, 0.5, days);
    // Trade volume: transfers other than the mint and the pool's first funding.
    let volume: u128 = case
        .transfers
        .iter()
        .filter(|sent| sent.2 != ZERO && sent.0 != START + 60)
        .map(|sent| sent.4)
        .sum();
    let wallets = 2 + case.random.below(8);
    let rounds = 3 + case.random.below(15);
    let share = case.random.between(0.12, 0.6);
    let ring = volume as f64 * share / (1.0 - share);
    let amount = (ring / (wallets * rounds) as f64) as u128;
    let members = case.people(wallets);
    let pool = case.pool.clone();
    case.send(START + 2 * HOUR, &pool, &members[0], amount);
    // Fraction each member keeps; some percent or more in honest trade.
    let kept = if wrong {
        case.random.between(0.0, 0.000_4)
    } else {
        case.random.between(0.05, 0.5)
    };
    let lent = !wrong && case.random.unit() < 0.4;
    let mut time = START + 2 * DAY + (case.random.unit() * 2.0 * DAY as f64) as i64;
    let pause: usize = [60, 600, 3_000][case.random.below(3)];
    let mut sent = amount;
    for _ in 0..if lent { 1 } else { rounds } {
        for i in 0..wallets {
            let (from, to) = (members[i].clone(), members[(i + 1) % wallets].clone());
            case.send(time, &from, &to, sent);
            if lent {
                case.send(time + 5 * pause as i64, &to, &from, sent / 3);
            }
            sent = (sent as f64 * (1.0 - kept)) as u128;
            time += 20 + case.random.below(pause) as i64;
            // Some of the members trade with others too.
            if case.random.unit() < 0.1 {
                let other = case.person();
                case.send(time, &pool, &from, amount / 3);
                case.send(time + 5, &from, &other, amount / 3);
            }
        }
    }
}

/// Sniping: a quarter or more of the supply bought within three blocks. Honest: the same some blocks later, or less at once.
fn sniped(case: &mut Case, wrong: bool) {
    case.launch();
    let pool = case.pool.clone();
    let snipers = 1 + case.random.below(20);
    let early = case.random.unit() < 0.5;
    let share = if wrong || !early {
        case.random.between(0.22, 0.4)
    } else {
        case.random.between(0.02, 0.17)
    };
    for sniper in case.people(snipers) {
        let blocks = if wrong || early {
            case.random.below(4)
        } else {
            6 + case.random.below(200)
        };
        case.send(
            START + 60 + blocks as i64 * 12,
            &pool,
            &sniper,
            (SUPPLY as f64 * share / snipers as f64) as u128,
        );
    }
    let trades = 60 + case.random.below(200);
    case.trade(trades, 0.5, 15);
}

/// Sybil: one person behind 5 to 60 wallets of equal balance or with one funder. Honest: balances some percent apart, many funders.
fn sybil(case: &mut Case, wrong: bool) {
    let (fade, others) = (
        case.random.between(0.94, 0.985),
        120 + case.random.below(400) as i32,
    );
    let mut balances: Vec<f64> = (0..others)
        .map(|i| 4_000.0 * fade.powi(i) * case.random.between(0.7, 1.3))
        .collect();
    let all: f64 = balances.iter().sum();
    let wallets = 5 + case.random.below(56);
    let share = case.random.between(0.15, 0.5);
    let each = all * share / (1.0 - share) / wallets as f64;
    let paid = case.random.unit() < 0.4;
    for i in 0..wallets {
        let apart = if wrong && !paid {
            case.random.between(0.0, 0.000_8)
        } else {
            case.random.between(0.0, 0.6)
        };
        balances.push(each * (1.0 - apart) + i as f64 * 1e-9);
    }
    case.held(&balances);
    let holders: Vec<String> = case
        .holders
        .iter()
        .flatten()
        .map(|(who, _)| who.clone())
        .collect();
    let one = case.person();
    for (i, holder) in holders.iter().enumerate() {
        let own = i >= others as usize && wrong && paid;
        // Honest people share a funder in groups of three: families, friends.
        let funder = if own {
            one.clone()
        } else {
            format!("0xb{:039x}", i / 3)
        };
        case.row("funding", format!("{funder},{holder},{START}"));
    }
}

/// Withdrawn liquidity: nine tenths or more within a day, at once or in parts. Honest: less, over weeks, or moved to another pool.
fn pulled(case: &mut Case, wrong: bool) {
    case.launch();
    let (pool, other) = (case.pool.clone(), case.person());
    case.row(
        "pools",
        format!(
            "{other},uniswap-v3,eth,{},0x00000000000000000000000000000000000000ee,1,1",
            case.token
        ),
    );
    let (mut token, mut money) = (5e11, 1e3);
    case.pool_event(&pool, START + 60, "mint", token, money);
    let mut time = START + HOUR;
    for _ in 0..20 + case.random.below(100) {
        let factor = case.random.between(0.93, 1.08);
        (token, money) = (token * factor, money / factor);
        time += 60 + case.random.below(3 * HOUR as usize) as i64;
        case.pool_event(&pool, time, "sync", token, money);
    }
    let kind = case.random.below(3);
    let share: f64 = if wrong || kind == 0 {
        case.random.between(0.91, 0.999)
    } else {
        case.random.between(0.1, 0.85)
    };
    let slow = !wrong && kind == 2;
    let parts = if slow { 8 } else { 1 + case.random.below(3) };
    let left = (1.0 - share).powf(1.0 / parts as f64);
    let mut moved = (0.0, 0.0);
    for _ in 0..parts {
        time += if slow {
            3 * DAY
        } else {
            600 + case.random.below(4 * HOUR as usize) as i64
        };
        moved = (
            moved.0 + token * (1.0 - left),
            moved.1 + money * (1.0 - left),
        );
        (token, money) = (token * left, money * left);
        case.pool_event(&pool, time, "burn", token, money);
        if !wrong && kind == 0 {
            case.pool_event(&other, time + 12, "mint", moved.0, moved.1);
        }
    }
    let trades = 30 + case.random.below(100);
    case.trade(trades, 0.5, 10);
}
