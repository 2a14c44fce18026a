//! The transfers of the tokens with a story; where a number is asked for, that many of all tokens, minted to the deployer and then sent
//! around. Nobody sends more than they have. Streamed: in memory are one token's wallets.

use super::{
    evidence,
    market::{DemoMarket, DemoToken, END_MS},
    output::{DemoTable, row},
    people::{burn_addresses, deployer},
    random::Random,
    stories::{self, Past},
};
use crate::dataset::{
    address::Address,
    time::{DAY_MS, Time},
};

pub(super) const COLUMNS: &[&str] =
    &["token_address", "timestamp", "block_number", "transaction_hash", "from_address", "to_address", "value", "log_index", "status"];
/// Wallets of a token that send and receive it.
const WALLETS: usize = 400;
const BLOCK_MS: i64 = 12_000;
/// About as many as a token with a story has, for the progress alone.
const OF_A_STORY: u64 = 500;

pub(super) fn rows(market: &DemoMarket) -> u64 {
    market.options.transfers.unwrap_or_else(|| evidence::with_story(market).count() as u64 * OF_A_STORY)
}

pub(super) fn write(market: &DemoMarket, table: &mut DemoTable) -> Result<(), String> {
    if let Some(rows) = market.options.transfers {
        let tokens = market.tokens.len().max(1) as u64;
        for token in &market.tokens {
            write_many(market, token, rows / tokens + u64::from((token.index as u64) < rows % tokens), table)?;
        }
        return Ok(());
    }
    for (token, story) in evidence::with_story(market) {
        let mut random = market.random("transfers", token);
        let (mut time, mut log_index) = (0, 0);
        for sent in Past::of(market, token, story).sent {
            // Within a block the order is that of the log.
            log_index = if sent.time == time { log_index + 1 } else { random.below(40) as i64 };
            time = sent.time;
            let row =
                Row { time, failed: sent.failed, from: &sent.from.to_string(), to: &sent.to.to_string(), amount: sent.amount, log_index };
            write_row(token, &row, &random.digest(), table)?;
        }
    }
    Ok(())
}

struct Row<'a> {
    time: i64,
    failed: bool,
    from: &'a str,
    to: &'a str,
    amount: u128,
    log_index: i64,
}

fn write_row(token: &DemoToken, row: &Row<'_>, hash: &str, table: &mut DemoTable) -> Result<(), String> {
    let (block_number, value) = (stories::block(row.time), stories::smallest(token, row.amount));
    let status = i64::from(!row.failed);
    row!(table, token.address, Time(row.time), block_number, hash, row.from, row.to, &value, row.log_index, status)
}

fn write_many(market: &DemoMarket, token: &DemoToken, count: u64, table: &mut DemoTable) -> Result<(), String> {
    let span = i64::from(market.options.days) * DAY_MS;
    let mut random = market.random("transfers", token);
    let mut wallets = Wallets::new(token, deployer(market, token), &mut random);
    for i in 0..count {
        let share = (i128::from(span) * i128::from(i) / i128::from(count)) as i64;
        let time = END_MS - span + share / BLOCK_MS * BLOCK_MS;
        let failed = i > 0 && random.unit() < 0.01;
        let sent = if i == 0 { wallets.mint() } else { wallets.send(i % 97 == 60, failed, &mut random) };
        let hash = random.digest();
        let (from, to, log_index) = (&*wallets.names[sent.from], &*wallets.names[sent.to], random.below(180) as i64);
        write_row(token, &Row { time, failed, from, to, amount: sent.amount, log_index }, &hash, table)?;
    }
    Ok(())
}

struct Sent {
    from: usize,
    to: usize,
    amount: u128,
}

/// Who holds how much of one token. The wallets 0 and 1 are the null and the dead address, 2 is the deployer.
struct Wallets {
    names: Vec<String>,
    balances: Vec<u128>,
    /// The wallets that have a balance and can send it.
    holding: Vec<usize>,
    supply: u128,
}

const NULL: usize = 0;
const DEAD: usize = 1;
const DEPLOYER: usize = 2;

impl Wallets {
    fn new(token: &DemoToken, deployer: Address, random: &mut Random) -> Self {
        let mut addresses = burn_addresses().to_vec();
        addresses.push(deployer);
        addresses.extend((0..WALLETS).map(|_| random.address()));
        let supply = stories::units(token, token.supply);
        let balances = vec![0; addresses.len()];
        Self { names: addresses.iter().map(Address::to_string).collect(), balances, holding: Vec::new(), supply }
    }

    fn mint(&mut self) -> Sent {
        self.balances[DEPLOYER] = self.supply;
        self.holding.push(DEPLOYER);
        Sent { from: NULL, to: DEPLOYER, amount: self.supply }
    }

    /// A random transfer, or burn, of part of a balance; where it `failed` the balances stay.
    fn send(&mut self, burns: bool, failed: bool, random: &mut Random) -> Sent {
        if self.holding.is_empty() {
            return Sent { from: DEPLOYER, to: DEPLOYER, amount: 0 };
        }
        let place = random.below(self.holding.len());
        let from = self.holding[place];
        let to = if burns { DEAD } else { DEPLOYER + 1 + random.below(WALLETS) };
        let balance = self.balances[from];
        let everything = random.unit() < 0.14;
        // The deployer sends little at a time, so that there is something left to send; nobody burns all they have.
        let share = match from {
            DEPLOYER => random.spread(0.0002, 0.06),
            _ if burns => random.spread(0.002, 0.1),
            _ => random.spread(0.002, 0.6),
        };
        let all = everything && from != DEPLOYER && !burns;
        let amount = if all { balance } else { ((balance as f64 * share) as u128).min(balance) };
        if !failed && amount > 0 && to != from {
            if self.balances[to] == 0 && to != DEAD {
                self.holding.push(to);
            }
            self.balances[to] += amount;
            self.balances[from] -= amount;
            if self.balances[from] == 0 {
                self.holding.swap_remove(place);
            }
        }
        Sent { from, to, amount }
    }
}
