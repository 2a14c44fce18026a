//! Table of planted cases: for each code about transactions and holders, and for code similarity, one case to be found and its honest twin.

use super::security::{BLOCK, Case, DAY, HOUR, START, SUPPLY, ZERO};

pub(crate) type Plant = fn(&mut Case);

/// (code, malicious case, honest twin)
pub(crate) const PLANTED: &[(&str, Plant, Plant)] = &[
    (
        "LIQUIDITY_PULLED",
        |case| pool(case, 0.97, false),
        |case| pool(case, 0.97, true),
    ),
    (
        "LIQUIDITY_PULLED",
        |case| drained(case, 0.95),
        |case| drained(case, 0.4),
    ),
    (
        "ONE_WAY_FLOW",
        |case| flow(case, 30, 1),
        |case| flow(case, 30, 12),
    ),
    (
        "SELL_FAILURES",
        |case| failing(case, 30),
        |case| failing(case, 3),
    ),
    (
        "PRIVILEGED_SELLERS",
        |case| privileged(case, false),
        |case| privileged(case, true),
    ),
    (
        "BALANCE_MISMATCH",
        |case| mismatch(case, 0.05),
        |case| mismatch(case, 0.0),
    ),
    (
        "MINT_AFTER_LAUNCH",
        |case| minted(case, 0.2),
        |case| minted(case, 0.005),
    ),
    (
        "WASH_TRADING",
        |case| wash(case, 1.0),
        |case| wash(case, 0.7),
    ),
    ("CREATOR_DUMP", |case| dump(case, 2), |case| dump(case, 12)),
    (
        "SERIAL_DEPLOYER",
        |case| series(case, DAY, false),
        |case| series(case, 20 * DAY, false),
    ),
    (
        "SERIAL_DEPLOYER",
        |case| series(case, 20 * DAY, true),
        market,
    ),
    ("SNIPED", |case| snipe(case, 1), |case| snipe(case, 40)),
    (
        "AIRDROP_SPAM",
        |case| airdrop(case, 0.05),
        |case| airdrop(case, 0.9),
    ),
    (
        "AMOUNT_DIGITS",
        |case| digits(case, false),
        |case| digits(case, true),
    ),
    (
        "LP_UNLOCKED",
        |case| liquidity(case, false),
        |case| liquidity(case, true),
    ),
    (
        "LP_CREATOR",
        |case| by_creator(case, 0.8),
        |case| by_creator(case, 0.2),
    ),
    (
        "TOP10_CONCENTRATION",
        |case| spread(case, 10, 70_000.0),
        |case| spread(case, 10, 20_000.0),
    ),
    (
        "CREATOR_SHARE",
        |case| creator_holds(case, 0.3),
        |case| creator_holds(case, 0.02),
    ),
    (
        "NAKAMOTO_LOW",
        |case| spread(case, 1, 600_000.0),
        |case| spread(case, 1, 100_000.0),
    ),
    (
        "HHI_HIGH",
        |case| spread(case, 2, 300_000.0),
        |case| spread(case, 2, 100_000.0),
    ),
    (
        "SYBIL_HOLDERS",
        |case| sybil(case, 0.0),
        |case| sybil(case, 0.3),
    ),
    (
        "SYBIL_HOLDERS",
        |case| funded(case, true),
        |case| funded(case, false),
    ),
    (
        "BUNDLED_LAUNCH",
        |case| bundle(case, 1.01),
        |case| bundle(case, 1.5),
    ),
    (
        "INSIDER_HEAVY",
        |case| circle(case, true),
        |case| circle(case, false),
    ),
    (
        "FUNDED_BY_SCAMMER",
        |case| paid_by(case, true),
        |case| paid_by(case, false),
    ),
    (
        "FEW_HOLDERS",
        |case| case.held(&[20.0; 12]),
        |case| {
            case.held(
                &(0..80)
                    .map(|i| 9_000.0 + f64::from(i) * 50.0)
                    .collect::<Vec<_>>(),
            );
        },
    ),
    (
        "GINI_EXTREME",
        |case| case.held(&gini(0.000_1)),
        |case| case.held(&gini(100.0)),
    ),
    (
        "KNOWN_SCAM",
        |case| known(case, true),
        |case| known(case, false),
    ),
    (
        "IMPERSONATES",
        |case| namesake(case, "eth", 2_000_000),
        |case| namesake(case, "base", 2_000_000),
    ),
    (
        "IMPERSONATES",
        |case| namesake(case, "eth", 2_000_000),
        |case| namesake(case, "eth", 1_900_000),
    ),
    (
        "SIMILAR_TO_SCAM",
        |case| alike(case, false),
        |case| alike(case, true),
    ),
];

/// An honest market of the usual size.
pub(crate) fn market(case: &mut Case) {
    case.launch();
    case.trade(240, 0.55, 20);
}

fn pool(case: &mut Case, share: f64, moved: bool) {
    market(case);
    let (first, second) = (case.pool.clone(), case.person());
    case.row(
        "pools",
        format!(
            "{second},uniswap-v3,eth,{},0x00000000000000000000000000000000000000ee,1,1",
            case.token
        ),
    );
    case.pool_event(&first, START + 60, "mint", 500_000.0, 1_000.0);
    for i in 0..40_i64 {
        let shift = (i % 5) as f64 * 1_000.0;
        case.pool_event(
            &first,
            START + HOUR + i * HOUR,
            "sync",
            500_000.0 + shift,
            500_000.0 * 1_000.0 / (500_000.0 + shift),
        );
    }
    let left = 1.0 - share;
    case.pool_event(
        &first,
        START + 60 * HOUR,
        "burn",
        504_000.0 * left,
        992.0 * left,
    );
    if moved {
        case.pool_event(
            &second,
            START + 60 * HOUR,
            "mint",
            504_000.0 * share,
            992.0 * share,
        );
    }
}

/// Liquidity withdrawal visible in transfers only.
fn drained(case: &mut Case, share: f64) {
    market(case);
    let (pool, creator) = (case.pool.clone(), case.creator.clone());
    let held = case.balances[&pool];
    case.send(
        START + 21 * DAY,
        &pool,
        &creator,
        (held as f64 * share) as u128,
    );
}

fn flow(case: &mut Case, buys: usize, sells: usize) {
    case.launch();
    let pool = case.pool.clone();
    let buyers = case.people(buys);
    for (i, buyer) in buyers.iter().enumerate() {
        let amount = case.organic(SUPPLY as f64 / 300.0);
        case.send(START + HOUR + i as i64 * 600, &pool, buyer, amount);
    }
    for seller in &buyers[..sells] {
        case.send(START + DAY, seller, &pool, u128::MAX);
    }
}

fn failing(case: &mut Case, failed: usize) {
    market(case);
    let pool = case.pool.clone();
    for (i, seller) in case.people(failed).into_iter().enumerate() {
        let time = START + 2 * DAY + i as i64 * 60;
        case.transfers.push((
            time,
            BLOCK + (time - START) / 12,
            seller,
            pool.clone(),
            1_000_000,
            false,
        ));
    }
}

fn privileged(case: &mut Case, outsider: bool) {
    flow(case, 25, 0);
    let (pool, creator, friend) = (case.pool.clone(), case.creator.clone(), case.person());
    case.row("funding", format!("{creator},{friend},{START}"));
    case.send(START + HOUR, &creator, &friend, SUPPLY / 400);
    case.send(START + 9 * DAY, &creator, &pool, SUPPLY / 400);
    case.send(START + 9 * DAY, &friend, &pool, SUPPLY / 400);
    if outsider {
        let buyer = case.person();
        case.send(START + DAY, &pool, &buyer, SUPPLY / 400);
        case.send(START + 2 * DAY, &buyer, &pool, SUPPLY / 800);
    }
}

fn mismatch(case: &mut Case, share: f64) {
    market(case);
    let mut holders: Vec<(String, f64)> = case
        .balances
        .iter()
        .map(|(who, balance)| (who.clone(), *balance as f64 / 1e6))
        .collect();
    holders.retain(|(who, _)| who != ZERO);
    holders[3].1 += share * SUPPLY as f64 / 1e6;
    case.holders = Some(holders);
}

fn minted(case: &mut Case, share: f64) {
    market(case);
    let creator = case.creator.clone();
    case.send(
        START + 3 * DAY,
        ZERO,
        &creator,
        (SUPPLY as f64 * share) as u128,
    );
}

/// A wash-trading ring; with `given_on` under one, each member keeps a part.
pub(crate) fn wash(case: &mut Case, given_on: f64) {
    market(case);
    ring(case, 4, 15, SUPPLY / 200, given_on);
}

/// Rounds of a ring of wallets, within some hours of one another.
pub(crate) fn ring(case: &mut Case, wallets: usize, rounds: usize, amount: u128, given_on: f64) {
    let (pool, members) = (case.pool.clone(), case.people(wallets));
    case.send(START + 2 * HOUR, &pool, &members[0], amount);
    let mut time = START + 3 * DAY + case.random.below(20_000) as i64;
    let mut sent = amount;
    for _ in 0..rounds {
        for i in 0..wallets {
            case.send(
                time,
                &members[i].clone(),
                &members[(i + 1) % wallets].clone(),
                sent,
            );
            sent = (sent as f64 * given_on) as u128;
            time += 60 + case.random.below(240) as i64;
        }
        time += case.random.below(3_600) as i64;
    }
}

fn dump(case: &mut Case, day: i64) {
    case.launch();
    let (pool, creator) = (case.pool.clone(), case.creator.clone());
    case.send(START + HOUR, &pool, &creator, SUPPLY / 8);
    case.trade(200, 0.5, 20);
    case.send(START + day * DAY, &creator, &pool, SUPPLY / 10);
}

fn series(case: &mut Case, apart: i64, scam: bool) {
    market(case);
    for i in 1..=3_i64 {
        let (other, creator) = (case.person(), case.creator.clone());
        case.row(
            "contracts",
            format!("{other},,{creator},{},", START + i * apart),
        );
        if scam && i == 1 {
            case.row("scams", format!("{other},Elder,rug_pull,,somebody"));
        }
    }
}

fn snipe(case: &mut Case, blocks: i64) {
    case.launch();
    let pool = case.pool.clone();
    for sniper in case.people(6) {
        case.send(START + 60 + blocks * 12, &pool, &sniper, SUPPLY / 18);
    }
    case.trade(200, 0.5, 20);
}

/// Airdrop: one amount to many; `acting` is the fraction that sends some of it on.
fn airdrop(case: &mut Case, acting: f64) {
    market(case);
    let creator = case.creator.clone();
    let receivers = case.people(500);
    for receiver in &receivers {
        case.send(START + 2 * DAY, &creator, receiver, 1_000_000);
    }
    let friend = case.person();
    for receiver in receivers.iter().take((500.0 * acting) as usize) {
        case.send(START + 4 * DAY, receiver, &friend, 400_000);
    }
}

fn digits(case: &mut Case, organic: bool) {
    case.launch();
    let pool = case.pool.clone();
    for trader in case.people(900) {
        let amount = if organic {
            case.organic(1e9)
        } else {
            case.random.between(1e8, 9.99e8) as u128
        };
        case.send(START + 2 * DAY, &pool, &trader, amount);
        case.send(
            START + 3 * DAY,
            &trader,
            &pool,
            if organic { u128::MAX } else { amount },
        );
    }
}

fn liquidity(case: &mut Case, locked: bool) {
    market(case);
    let (pool, locker, friend) = (case.pool.clone(), case.person(), case.person());
    case.row("labels", format!("{locker},locker"));
    case.liquidity = vec![
        (if locked { locker.clone() } else { friend }, 90.0),
        (ZERO.to_owned(), 10.0),
    ];
    case.row("locks", format!("{pool},{locker},90,{}", START + 400 * DAY));
}

fn by_creator(case: &mut Case, share: f64) {
    market(case);
    let other = case.person();
    case.liquidity = vec![(case.creator.clone(), share), (other, 1.0 - share)];
}

/// Some large holders and many small ones.
fn spread(case: &mut Case, large: usize, each: f64) {
    let mut balances = vec![each; large];
    let left = 1_000_000.0 - each * large as f64;
    balances.extend((0..400).map(|i| left / 400.0 * (0.5 + f64::from(i) / 400.0)));
    case.held(&balances);
}

fn creator_holds(case: &mut Case, share: f64) {
    case.held(
        &(0..300)
            .map(|i| 1_000.0 + f64::from(i) * 7.0)
            .collect::<Vec<_>>(),
    );
    let row = (case.creator.clone(), share * 1_000_000.0);
    case.holders.get_or_insert_default().push(row);
}

/// Forty large holders with balances within `apart` of one another.
pub(crate) fn sybil(case: &mut Case, apart: f64) {
    let mut balances: Vec<f64> = (0..200).map(|i| 1_000.0 * 0.97_f64.powi(i)).collect();
    balances.extend(
        (0..40).map(|i| 800.0 * (1.0 + apart * f64::from(i) / 40.0) + f64::from(i) * 0.001),
    );
    case.held(&balances);
}

fn funded(case: &mut Case, by_one: bool) {
    case.held(
        &(0..200)
            .map(|i| 1_000.0 * 0.97_f64.powi(i))
            .collect::<Vec<_>>(),
    );
    let holders: Vec<String> = case
        .holders
        .iter()
        .flatten()
        .map(|(who, _)| who.clone())
        .collect();
    let one = case.person();
    for holder in holders.iter().step_by(2).take(30) {
        let funder = if by_one { one.clone() } else { case.person() };
        case.row("funding", format!("{funder},{holder},{START}"));
    }
}

/// Six addresses buy in the block after the launch, each `step` times the amount of the one before.
fn bundle(case: &mut Case, step: f64) {
    case.launch();
    let pool = case.pool.clone();
    for (i, buyer) in case.people(6).iter().enumerate() {
        let amount = SUPPLY as f64 / 90.7 * step.powi(i as i32);
        case.send(START + 72, &pool, buyer, amount as u128);
    }
    case.trade(200, 0.5, 20);
}

/// Four addresses buy a large part on different days; the creator, or four different addresses, paid for their first transactions.
fn circle(case: &mut Case, by_creator: bool) {
    market(case);
    let (pool, creator) = (case.pool.clone(), case.creator.clone());
    for (i, friend) in case.people(4).iter().enumerate() {
        let payer = if by_creator {
            creator.clone()
        } else {
            case.person()
        };
        let time = START + i as i64 * HOUR;
        case.row("funding", format!("{payer},{friend},{time}"));
        let amount = SUPPLY as f64 / (31.3 + 1.7 * i as f64);
        case.send(START + (21 + i as i64) * DAY, &pool, friend, amount as u128);
    }
}

/// One address paid for the first transaction of the creator; it is a known scam, or another one is.
fn paid_by(case: &mut Case, scam: bool) {
    market(case);
    let (payer, other) = (case.person(), case.person());
    case.row("funding", format!("{payer},{},{START}", case.creator));
    let listed = if scam { payer } else { other };
    case.row("scams", format!("{listed},Drainer,phishing,,somebody"));
}

fn gini(small: f64) -> Vec<f64> {
    let mut balances = vec![300_000.0, 200_000.0];
    balances.extend(vec![small; 400]);
    balances
        .iter_mut()
        .skip(2)
        .enumerate()
        .for_each(|(i, balance)| *balance *= 1.0 + i as f64 / 100.0);
    balances
}

fn known(case: &mut Case, listed: bool) {
    market(case);
    let scam = if listed {
        case.token.clone()
    } else {
        case.person()
    };
    case.row("scams", format!("{scam},Itself,honeypot,,somebody"));
}

/// Another token of the same symbol and name, with the liquidity in its pool.
fn namesake(case: &mut Case, chain: &str, liquidity: u64) {
    market(case);
    let (other, pool) = (case.person(), case.person());
    case.row(
        "tokens",
        format!("{other},{},{},{chain},6,1000,,", case.symbol, case.name),
    );
    case.row("pools", format!("{pool},uniswap-v2,{chain},{other},0x00000000000000000000000000000000000000ee,{liquidity},1"));
}

/// Meaningless bytecode of 1,500 opcodes, different for each case.
pub(crate) fn random_bytecode(case: &mut Case) -> String {
    // Ends execution at once: opcode 0x00 (STOP) first.
    (0..1_500).fold("0x00".to_owned(), |code, _| {
        code + &format!("{:02x}", case.random.below(0x1e) + 1)
    })
}

fn alike(case: &mut Case, template: bool) {
    market(case);
    let code = random_bytecode(case);
    case.bytecode = Some(code.clone());
    let scam = case.person();
    case.row("scams", format!("{scam},Twin,rug_pull,{code},somebody"));
    // Another copy of the scam that nobody reported makes no template.
    for i in 0..if template { 3 } else { 1 } {
        let other = case.person();
        case.row(
            "tokens",
            format!("{other},T{i}{0},Template {i} {0},eth,6,1000,,", case.symbol),
        );
        case.row("contracts", format!("{other},{code},,,"));
    }
}
