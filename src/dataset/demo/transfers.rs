//! Transfers of the invented tokens (of every token when a number is asked for): minted to the deployer, then handed around, and
//! nobody sends what they do not have. Streamed: what is held is one token's wallets.

use std::collections::HashMap;

use super::{
    DemoOptions,
    market::{END_MS, Market, Token},
    output::{Cell, Table},
    people::{burn_addresses, deployer},
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
        let mut wallets = vec![deployer(market, token)];
        wallets.extend((1..WALLETS).map(|_| random.address()));
        // Whole tokens times a million, and the rest of the decimals as zeros: exact, and far from any limit.
        let (shown, zeros) = (token.decimals.min(6) as u32, (token.decimals - 6).max(0) as usize);
        let supply = (token.supply * 10_f64.powi(shown as i32)) as u128;
        let mut balances: HashMap<usize, u128> = HashMap::from([(0, supply)]);
        let address = token.address.to_string();
        let text: Vec<String> = wallets.iter().map(Address::to_string).collect();
        let [null, dead] = burn_addresses().map(|address| address.to_string());
        let mut held = vec![0_usize];
        for i in 0..count {
            let time = END_MS - span + (i128::from(span) * i128::from(i) / i128::from(count.max(1))) as i64 / BLOCK_MS * BLOCK_MS;
            let block = LAST_BLOCK - (END_MS - time) / BLOCK_MS;
            let place = random.below(held.len());
            let from = held[place];
            let balance = balances.get(&from).copied().unwrap_or(0);
            let share = if i % 7 == 3 { 1.0 } else { random.spread(0.002, 0.6) };
            let burns = i % 97 == 60;
            let to = 1 + random.below(WALLETS - 1);
            let failed = random.unit() < 0.01;
            let amount = match i {
                0 => supply,
                _ if share == 1.0 && from != 0 => balance,
                _ => (balance as f64 * share * if from == 0 { 0.1 } else { 1.0 }) as u128,
            }
            .min(if i == 0 { supply } else { balance });
            if i > 0 && !failed {
                let rest = balance - amount;
                balances.insert(from, rest);
                if rest == 0 && from != 0 {
                    held.swap_remove(place);
                }
                if !burns && amount > 0 {
                    let had = balances.entry(to).or_insert(0);
                    *had += amount;
                    if !held.contains(&to) {
                        held.push(to);
                    }
                }
            }
            let value = if amount == 0 { "0".to_owned() } else { format!("{amount}{}", "0".repeat(zeros)) };
            table.row(&[
                Cell::Text(&address),
                Cell::Time(Time(time)),
                Cell::Int(block),
                Cell::Text(&random.digest()),
                Cell::Text(if i == 0 { &null } else { &text[from] }),
                Cell::Text(if i == 0 {
                    &text[0]
                } else if burns {
                    &dead
                } else {
                    &text[to]
                }),
                Cell::Text(&value),
                Cell::Int(random.below(180) as i64),
                Cell::Int(i64::from(!failed)),
            ])?;
        }
    }
    Ok(())
}
