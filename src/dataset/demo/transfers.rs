//! Transfers of the invented tokens (of every token when a number is asked for): minted to the deployer, then handed around, and
//! nobody sends what they do not have. Streamed: what is held is one token's wallets.

use super::{
    DemoOptions,
    market::{END_MS, Market, Token},
    output::{Cell, Table},
    people::{burn_addresses, deployer},
    random::Random,
};
use crate::dataset::{
    address::Address,
    time::{DAY_MS, Time},
};

pub(super) const COLUMNS: &[&str] =
    &["token_address", "timestamp", "block_number", "transaction_hash", "from_address", "to_address", "value", "log_index", "status"];
/// Tokens with transfers, and how many each, when no number is asked for.
const SOME: usize = 4;
const FEW: u64 = 1_100;
/// Wallets of a token that take part.
const WALLETS: usize = 400;
/// Digits after the point that amounts are counted in.
const FINEST: i64 = 6;
const BLOCK_MS: i64 = 12_000;
/// The block at the end of the demo's time (invented, of Ethereum's size).
const LAST_BLOCK: i64 = 23_900_000;

fn counts<'a>(market: &'a Market, options: &DemoOptions) -> Vec<(&'a Token, u64)> {
    match options.transfers {
        Some(rows) => {
            let tokens = market.tokens.len().max(1) as u64;
            market.tokens.iter().map(|token| (token, rows / tokens + u64::from((token.index as u64) < rows % tokens))).collect()
        }
        None => market.tokens.iter().filter(|token| !token.real).take(SOME).map(|token| (token, FEW)).collect(),
    }
}

pub(super) fn rows(market: &Market, options: &DemoOptions) -> u64 {
    counts(market, options).iter().map(|(_, count)| count).sum()
}

pub(super) fn write(market: &Market, options: &DemoOptions, table: &mut Table) -> Result<(), String> {
    let span = i64::from(options.days) * DAY_MS;
    for (token, count) in counts(market, options) {
        let mut random = market.random("transfers", token);
        let mut wallets = Wallets::new(token, deployer(market, token), &mut random);
        let address = token.address.to_string();
        // The decimals beyond those that amounts are counted in are written as zeros.
        let zeros = "0".repeat((token.decimals - FINEST).max(0) as usize);
        for i in 0..count {
            let share = (i128::from(span) * i128::from(i) / i128::from(count)) as i64;
            let time = END_MS - span + share / BLOCK_MS * BLOCK_MS;
            let failed = i > 0 && random.unit() < 0.01;
            let sent = if i == 0 { wallets.mint() } else { wallets.send(i % 97 == 60, failed, &mut random) };
            let value = if sent.amount == 0 { "0".to_owned() } else { format!("{}{zeros}", sent.amount) };
            table.row(&[
                Cell::Text(&address),
                Cell::Time(Time(time)),
                Cell::Int(LAST_BLOCK - (END_MS - time) / BLOCK_MS),
                Cell::Text(&random.digest()),
                Cell::Text(&wallets.names[sent.from]),
                Cell::Text(&wallets.names[sent.to]),
                Cell::Text(&value),
                Cell::Int(random.below(180) as i64),
                Cell::Int(i64::from(!failed)),
            ])?;
        }
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
    /// Those that hold something and can send it.
    holding: Vec<usize>,
    supply: u128,
}

const NULL: usize = 0;
const DEAD: usize = 1;
const DEPLOYER: usize = 2;

impl Wallets {
    fn new(token: &Token, deployer: Address, random: &mut Random) -> Self {
        let mut addresses = burn_addresses().to_vec();
        addresses.push(deployer);
        addresses.extend((0..WALLETS).map(|_| random.address()));
        let supply = (token.supply * 10_f64.powi(token.decimals.min(FINEST) as i32)) as u128;
        let balances = vec![0; addresses.len()];
        Self { names: addresses.iter().map(Address::to_string).collect(), balances, holding: Vec::new(), supply }
    }

    fn mint(&mut self) -> Sent {
        self.balances[DEPLOYER] = self.supply;
        self.holding.push(DEPLOYER);
        Sent { from: NULL, to: DEPLOYER, amount: self.supply }
    }

    /// Part of what somebody holds goes to somebody else, or is burnt; nothing changes when it `failed`.
    fn send(&mut self, burns: bool, failed: bool, random: &mut Random) -> Sent {
        if self.holding.is_empty() {
            return Sent { from: DEPLOYER, to: DEPLOYER, amount: 0 };
        }
        let place = random.below(self.holding.len());
        let from = self.holding[place];
        let to = if burns { DEAD } else { DEPLOYER + 1 + random.below(WALLETS) };
        let balance = self.balances[from];
        let everything = random.unit() < 0.14;
        // The deployer hands out little at a time, so that something is left to hand out; nobody burns all they have.
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
