//! Transfers of the tokens with a story; if a number is requested, that many over all tokens instead, minted to the deployer and then sent
//! around. No wallet sends more than its balance. Streamed: only one token's wallets are in memory.

use super::{
    error::DemoError,
    evidence,
    market::{DemoMarket, DemoToken, END_MS},
    output::{DemoTable, row},
    people::{burn_addresses, deployer},
    random::Random,
    stories::{self, BLOCK_MS, DemoTransfer, TokenHistory},
};
use model::{
    address::Address,
    time::{DAY_MS, Time},
};

pub(super) const COLUMNS: &str = "token_address timestamp block_number transaction_hash from_address to_address value log_index status";
/// Wallets per token that send and receive it.
const WALLETS: usize = 400;
/// Approximate number for a token with a story, for progress only.
const PER_STORY: u64 = 500;

pub(super) fn rows(market: &DemoMarket) -> u64 {
    market
        .options
        .transfers
        .unwrap_or_else(|| evidence::with_story(market).count() as u64 * PER_STORY)
}

pub(super) fn write(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    if let Some(rows) = market.options.transfers {
        let tokens = market.tokens.len().max(1) as u64;
        for token in &market.tokens {
            write_many(
                market,
                token,
                rows / tokens + u64::from((token.index as u64) < rows % tokens),
                table,
            )?;
        }
        return Ok(());
    }
    for (token, story) in evidence::with_story(market) {
        let mut random = market.random("transfers", token);
        let (mut time, mut log_index) = (0, 0);
        for transfer in TokenHistory::of(market, token, story).transfers {
            // Within a block transfers are ordered by log index.
            log_index = if transfer.time == time {
                log_index + 1
            } else {
                random.below(40) as i64
            };
            time = transfer.time;
            write_row(token, &transfer, &random.digest(), log_index, table)?;
        }
    }
    Ok(())
}

fn write_row(
    token: &DemoToken,
    transfer: &DemoTransfer,
    hash: &str,
    log_index: i64,
    table: &mut DemoTable,
) -> Result<(), DemoError> {
    let &DemoTransfer {
        time,
        from,
        to,
        amount,
        failed,
    } = transfer;
    let (block_number, value) = (stories::block(time), stories::smallest(token, amount));
    row!(
        table,
        token.address,
        Time(time),
        block_number,
        hash,
        from,
        to,
        &value,
        log_index,
        i64::from(!failed)
    )
}

fn write_many(
    market: &DemoMarket,
    token: &DemoToken,
    count: u64,
    table: &mut DemoTable,
) -> Result<(), DemoError> {
    let span = i64::from(market.options.days) * DAY_MS;
    let mut random = market.random("transfers", token);
    let mut wallets = Wallets::new(token, deployer(market, token), &mut random);
    for i in 0..count {
        let share = (i128::from(span) * i128::from(i) / i128::from(count)) as i64;
        let time = END_MS - span + share / BLOCK_MS * BLOCK_MS;
        let failed = i > 0 && random.unit() < 0.01;
        let (from, to, amount) = if i == 0 {
            wallets.mint()
        } else {
            wallets.send(i % 97 == 60, failed, &mut random)
        };
        let (from, to) = (wallets.addresses[from], wallets.addresses[to]);
        let hash = random.digest();
        write_row(
            token,
            &DemoTransfer {
                time,
                from,
                to,
                amount,
                failed,
            },
            &hash,
            random.below(180) as i64,
            table,
        )?;
    }
    Ok(())
}

/// Balances of one token. Wallets 0 and 1 are the null and the dead address, 2 is the deployer.
struct Wallets {
    addresses: Vec<Address>,
    balances: Vec<u128>,
    /// Wallets with a balance that can send it.
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
        Self {
            addresses,
            balances,
            holding: Vec::new(),
            supply,
        }
    }

    /// Mints the supply to the deployer; returns (from, to, amount).
    fn mint(&mut self) -> (usize, usize, u128) {
        self.balances[DEPLOYER] = self.supply;
        self.holding.push(DEPLOYER);
        (NULL, DEPLOYER, self.supply)
    }

    /// Sends or burns a random part of a balance; returns (from, to, amount). If it `failed`, the balances stay.
    fn send(&mut self, burns: bool, failed: bool, random: &mut Random) -> (usize, usize, u128) {
        if self.holding.is_empty() {
            return (DEPLOYER, DEPLOYER, 0);
        }
        let at = random.below(self.holding.len());
        let from = self.holding[at];
        let to = if burns {
            DEAD
        } else {
            DEPLOYER + 1 + random.below(WALLETS)
        };
        let balance = self.balances[from];
        let everything = random.unit() < 0.14;
        // The deployer sends little at a time, so that there is something left to send; nobody burns all they have.
        let share = match from {
            DEPLOYER => random.spread(0.0002, 0.06),
            _ if burns => random.spread(0.002, 0.1),
            _ => random.spread(0.002, 0.6),
        };
        let all = everything && from != DEPLOYER && !burns;
        let amount = if all {
            balance
        } else {
            ((balance as f64 * share) as u128).min(balance)
        };
        if !failed && amount > 0 && to != from {
            if self.balances[to] == 0 && to != DEAD {
                self.holding.push(to);
            }
            self.balances[to] += amount;
            self.balances[from] -= amount;
            if self.balances[from] == 0 {
                self.holding.swap_remove(at);
            }
        }
        (from, to, amount)
    }
}
