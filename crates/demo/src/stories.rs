//! Scripted histories of some tokens, the largest among them: launch, trades and scams. Balances derive from the transfers, and the holders
//! table from the balances. Everything is invented. Other files write the tables.

use std::collections::HashMap;

use super::{
    market::{DemoMarket, DemoToken, END_MS},
    people::{self, burn_addresses, deployer},
    pools::DemoPool,
    random::Random,
};
use model::{
    address::Address,
    time::{DAY_MS, HOUR_MS},
};

/// Contract and scenario of a token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Story {
    /// Name of its contract in `contracts`.
    pub(super) contract: &'static str,
    /// Whether it counts as a known token, as the real ones do.
    pub(super) listed: bool,
    pub(super) verified: bool,
    scenario: Scenario,
    /// Days from its first transfer to the end of the demo's time.
    age_days: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    /// Ordinary trading; most of the supply is in the pool.
    Market,
    /// Ordinary trading; most of the supply is spread over many holders.
    Widespread,
    /// Many buy, sales fail, only the deployer's friends get out.
    Honeypot,
    /// Rug pull: the deployer withdraws the liquidity.
    Rug,
    /// Wash trading: a ring passes the same tokens round.
    Wash,
    /// Sybil attack: the deployer's wallets pose as many holders.
    Sybil,
    /// Unsolicited airdrop: one amount to hundreds of wallets.
    Airdrop,
}

impl Story {
    /// Summary of the scenario, for the dataset's README.
    pub(super) fn summary(&self) -> &'static str {
        match self.scenario {
            Scenario::Market | Scenario::Widespread => "wallets bought, sold and transferred it",
            Scenario::Honeypot => {
                "many wallets bought but could not sell; the deployer's friends sold"
            }
            Scenario::Rug => "the deployer removed the liquidity",
            Scenario::Wash => "a ring of wallets traded the same tokens in circles",
            Scenario::Sybil => "the deployer's wallets posed as independent holders",
            Scenario::Airdrop => "hundreds of wallets received the same amount unsolicited",
        }
    }
}

const fn story(
    symbol: &'static str,
    contract: &'static str,
    listed: bool,
    verified: bool,
    scenario: Scenario,
) -> (&'static str, Story) {
    (
        symbol,
        Story {
            contract,
            listed,
            verified,
            scenario,
            age_days: YOUNG_DAYS,
        },
    )
}

/// Age of an invented token with a story.
const YOUNG_DAYS: i64 = 45;

/// Stories of invented tokens, by symbol.
pub(super) const STORIES: &[(&str, Story)] = &[
    story("MOONPUP", "tax_raisable", false, false, Scenario::Market),
    story("HALYARD", "honest", true, true, Scenario::Market),
    story("LUMEO", "owner_mint", true, true, Scenario::Market),
    story("TORII", "pausable", true, true, Scenario::Market),
    story(
        "FROGKING",
        "sell_block_pair",
        false,
        false,
        Scenario::Honeypot,
    ),
    story("SAFEMAX", "hidden_mint", false, false, Scenario::Rug),
    story("NOVAUSD", "blacklist", true, true, Scenario::Market),
    story("ASTROCAT", "honest", false, true, Scenario::Sybil),
    story(
        "CLAIMETH",
        "phantom_airdrop",
        false,
        false,
        Scenario::Airdrop,
    ),
    story("PAPAYA", "airdrop", false, true, Scenario::Wash),
    story("韭菜", "role_drain", false, false, Scenario::Market),
];

/// Contracts of the largest tokens without a story of their own: wrapped coins, tokens an issuer can stop, others.
const WRAPPED: &str = "wrapped";
const ISSUED: &[&str] = &["blacklist", "pausable"];
const PLAIN: &[&str] = &[
    "honest",
    "burn_from",
    "own_allowance",
    "relayed",
    "notified",
    "fast_path",
];
/// Their age: more days than a market of the default length has.
const LARGE_AGE_DAYS: i64 = 420;

/// Number of trades of an ordinary market.
const TRADES: usize = 420;
const LARGE_TRADES: usize = 300;
/// Further holders of a widespread token, in addition to its initial ones.
const CROWD: usize = 170;
/// Probability that a trader gives tokens away.
const GIFTS: f64 = 0.12;
/// Trades of a pool between two Sync events.
const SYNC_EVERY: usize = 4;
pub(super) const BLOCK_MS: i64 = 12_000;
/// Block number at the end of the demo's time (invented, of Ethereum's magnitude).
const LAST_BLOCK: i64 = 23_900_000;
/// Blocks from the mint to the first liquidity.
const FUNDED_BLOCKS: i64 = 10;
/// Maximum decimals of invented amounts, whatever decimals the token has.
const DECIMALS_MAX: i64 = 6;

pub(super) fn of(market: &DemoMarket, token: &DemoToken) -> Option<Story> {
    let own = STORIES
        .iter()
        .find(|(symbol, _)| !token.real && *symbol == token.symbol)
        .map(|(_, story)| *story);
    own.or_else(|| market.is_large(token).then(|| large(token)))
}

/// Whether the token has a story of its own.
pub(super) fn invented(token: &DemoToken) -> bool {
    STORIES
        .iter()
        .any(|(symbol, _)| !token.real && *symbol == token.symbol)
}

/// The story of a large token, an honest one.
fn large(token: &DemoToken) -> Story {
    let coin = token.real && token.symbol.starts_with('W') && token.symbol != "WBTC";
    let contract = match (coin, token.stable) {
        (true, _) => WRAPPED,
        (_, true) => ISSUED[token.index % ISSUED.len()],
        _ => PLAIN[token.index % PLAIN.len()],
    };
    Story {
        contract,
        listed: token.real,
        verified: true,
        scenario: Scenario::Widespread,
        age_days: LARGE_AGE_DAYS,
    }
}

/// Returns the block number at a time.
pub(super) fn block(time: i64) -> i64 {
    LAST_BLOCK - (END_MS - time) / BLOCK_MS
}

/// Deployment time of a token with a story.
pub(super) fn deployed(token: &DemoToken, story: Story) -> i64 {
    // The large ones trade against each other, so all of them are deployed before the first of their pools is funded.
    let wait = if story.scenario == Scenario::Widespread {
        token.index as i64 % (FUNDED_BLOCKS - 2) * BLOCK_MS
    } else {
        token.index as i64 * HOUR_MS
    };
    END_MS - story.age_days * DAY_MS + wait
}

pub(super) struct DemoTransfer {
    pub(super) time: i64,
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) amount: u128,
    pub(super) failed: bool,
}

/// An event of the token's main pool, with the reserves after it: the token's in the units of invented amounts, the other's in whole tokens.
pub(super) struct PoolEvent {
    pub(super) time: i64,
    pub(super) kind: &'static str,
    pub(super) token: f64,
    pub(super) other: f64,
}

/// History of one token.
pub(super) struct TokenHistory {
    pub(super) transfers: Vec<DemoTransfer>,
    pub(super) balances: HashMap<Address, u128>,
    /// Its main pool: the one with most liquidity among those created for it.
    pub(super) pool: Option<Address>,
    /// The pool in which it is traded: its own, or one created for another token.
    venue: Option<Address>,
    pub(super) pool_events: Vec<PoolEvent>,
    /// Holders of the pool's LP tokens, in percent.
    pub(super) liquidity: Vec<(Address, f64)>,
    /// (locker, percent of the liquidity, unlock time)
    pub(super) locks: Vec<(Address, f64, i64)>,
    /// (funder of the first transaction, funded wallet, time)
    pub(super) funding: Vec<(Address, Address, i64)>,
    random: Random,
    /// Deployment time, and days from then to the end of the demo's time.
    start: i64,
    days: i64,
    deployer: Address,
    supply: u128,
}

/// Converts whole tokens to the units of invented amounts.
pub(super) fn units(token: &DemoToken, whole: f64) -> u128 {
    (whole * 10_f64.powi(token.decimals.min(DECIMALS_MAX) as i32)) as u128
}

/// Converts such units to whole tokens.
pub(super) fn whole(token: &DemoToken, units: u128) -> f64 {
    units as f64 / 10_f64.powi(token.decimals.min(DECIMALS_MAX) as i32)
}

/// Converts such units to the token's smallest units, as decimal digits: appends a zero for each further decimal.
pub(super) fn smallest(token: &DemoToken, units: u128) -> String {
    if units == 0 {
        "0".to_owned()
    } else {
        format!(
            "{units}{}",
            "0".repeat((token.decimals - DECIMALS_MAX).max(0) as usize)
        )
    }
}

impl TokenHistory {
    pub(super) fn of(market: &DemoMarket, token: &DemoToken, story: Story) -> Self {
        let deployer = deployer(market, token);
        let pools: Vec<&DemoPool> = market.pools_of(token).collect();
        let own = pools.iter().filter(|pool| pool.of == token.index);
        let own = own
            .max_by(|a, b| {
                a.liquidity
                    .total_cmp(&b.liquidity)
                    .then(b.address.cmp(&a.address))
            })
            .map(|pool| pool.address);
        let mut history = Self {
            transfers: Vec::new(),
            balances: HashMap::new(),
            pool: own,
            venue: own.or_else(|| pools.first().map(|pool| pool.address)),
            pool_events: Vec::new(),
            liquidity: Vec::new(),
            locks: Vec::new(),
            funding: Vec::new(),
            random: market.random("stories", token),
            start: deployed(token, story),
            days: story.age_days,
            deployer,
            supply: units(token, token.supply),
        };
        history.launch(market, token, &pools, story.scenario);
        match story.scenario {
            Scenario::Market => history.trade(TRADES, 0.45),
            Scenario::Widespread => history.trade(LARGE_TRADES, 0.45),
            Scenario::Honeypot => history.honeypot(),
            Scenario::Rug => history.rug(),
            Scenario::Wash => history.wash(),
            Scenario::Sybil => history.sybil(),
            Scenario::Airdrop => history.airdrop(),
        }
        history.transfers.sort_by_key(|transfer| transfer.time);
        history.own_liquidity(market, token, story.scenario);
        history
    }

    /// Transfers at most the sender's balance; returns the amount.
    fn send(&mut self, time: i64, from: Address, to: Address, amount: u128) -> u128 {
        let amount = if from == Address::ZERO {
            amount
        } else {
            amount.min(self.held(from))
        };
        if amount > 0 && from != to {
            if let Some(balance) = self.balances.get_mut(&from) {
                *balance -= amount;
            }
            *self.balances.entry(to).or_default() += amount;
            self.transfers.push(DemoTransfer {
                time,
                from,
                to,
                amount,
                failed: false,
            });
        }
        amount
    }

    fn held(&self, who: Address) -> u128 {
        self.balances.get(&who).copied().unwrap_or_default()
    }

    fn share(&self, of_supply: f64) -> u128 {
        (self.supply as f64 * of_supply) as u128
    }

    fn people(&mut self, count: usize) -> Vec<Address> {
        (0..count).map(|_| self.random.address()).collect()
    }

    /// The mint; a tenth of a percent burnt; the shares of the initial holders; then, in one block, those of the pools. The main pool gets
    /// the rest, unless the token is widespread and many get it.
    fn launch(
        &mut self,
        market: &DemoMarket,
        token: &DemoToken,
        pools: &[&DemoPool],
        scenario: Scenario,
    ) {
        let (deployer, start) = (self.deployer, self.start);
        self.send(start, Address::ZERO, deployer, self.supply);
        self.send(start, deployer, Address::ZERO, self.supply / 1_000);
        self.balances.remove(&Address::ZERO);
        let is_pool = |holder: &Address| pools.iter().any(|pool| pool.address == *holder);
        let (pooled, first): (Vec<_>, Vec<_>) = people::first_holders(market, token)
            .into_iter()
            .partition(|(holder, _)| is_pool(holder));
        let mut kept = 0;
        for (i, (holder, balance)) in first.into_iter().enumerate() {
            if holder == deployer {
                kept = units(token, balance).min(self.supply / 40);
            } else {
                self.send(
                    start + BLOCK_MS * (1 + i as i64 / 40),
                    deployer,
                    holder,
                    units(token, balance),
                );
            }
        }
        let funded = start + FUNDED_BLOCKS * BLOCK_MS;
        let main = self.pool;
        let widespread = scenario == Scenario::Widespread;
        for (pool, balance) in pooled
            .into_iter()
            .filter(|(pool, _)| widespread || Some(*pool) != main)
        {
            self.send(funded, deployer, pool, units(token, balance));
        }
        let rest = self.held(deployer).saturating_sub(kept);
        if widespread {
            self.hand_out(start + BLOCK_MS * 4, rest);
        } else {
            self.send(funded, deployer, main.unwrap_or(burn_addresses()[1]), rest);
        }
        if let Some(pool) = main {
            let quote = pools
                .iter()
                .find(|listed| listed.address == pool)
                .and_then(|listed| Some((listed, market.other_of(listed, token)?)));
            let other = quote.map_or(0.0, |(listed, quote)| listed.liquidity / 2.0 / quote.price);
            self.pool_events.push(PoolEvent {
                time: funded,
                kind: "mint",
                token: self.held(pool) as f64,
                other,
            });
        }
    }

    /// Distributes `amount` over many holders, so that no holder gets much of it.
    fn hand_out(&mut self, time: i64, amount: u128) {
        let deployer = self.deployer;
        let crowd: Vec<(Address, f64)> = (0..CROWD)
            .map(|_| (self.random.address(), self.random.spread(1.0, 60.0)))
            .collect();
        let all: f64 = crowd.iter().map(|(_, weight)| weight).sum();
        for (i, (holder, weight)) in crowd.into_iter().enumerate() {
            self.send(
                time + BLOCK_MS * (i as i64 / 40),
                deployer,
                holder,
                (amount as f64 * weight / all) as u128,
            );
        }
    }

    /// Purchases, sales and gifts, starting a day after the launch; `selling` is the probability of a sale.
    fn trade(&mut self, count: usize, selling: f64) {
        let Some(pool) = self.venue else { return };
        let traders = self.people(count / 3);
        let step = (self.days - 2) * DAY_MS / count as i64;
        // Largest purchase: a share of the supply if the pool holds much of it, else of the pool's balance.
        let stock = self.held(pool) as f64;
        let most = if stock > self.supply as f64 / 5.0 {
            self.supply as f64 * 4e-3
        } else {
            stock * 0.02
        };
        let product = stock * self.pool_events.first().map_or(0.0, |event| event.other);
        for i in 0..count as i64 {
            let time = self.start
                + DAY_MS
                + (i * step + self.random.below(step as usize) as i64) / BLOCK_MS * BLOCK_MS;
            self.trade_once(time, pool, &traders, selling, most);
            if self.pool == Some(pool) && (i as usize).is_multiple_of(SYNC_EVERY) {
                let token = self.held(pool) as f64;
                self.pool_events.push(PoolEvent {
                    time,
                    kind: "sync",
                    token,
                    other: product / token.max(1.0),
                });
            }
        }
    }

    /// A purchase of at most `most`, a sale or a gift, by a random trader.
    fn trade_once(
        &mut self,
        time: i64,
        pool: Address,
        traders: &[Address],
        selling: f64,
        most: f64,
    ) {
        let trader = *self.random.pick(traders);
        let held = self.held(trader);
        let dice = self.random.unit();
        if held > 0 && dice < selling {
            let amount = (held as f64 * self.random.between(0.1, 1.0)) as u128;
            self.send(time, trader, pool, amount);
        } else if held > 0 && dice < selling + GIFTS {
            let other = *self.random.pick(traders);
            let amount = (held as f64 * self.random.between(0.05, 0.9)) as u128;
            self.send(time, trader, other, amount);
        } else {
            let amount = self.random.spread(most / 1e4, most) as u128;
            self.send(time, pool, trader, amount);
        }
    }

    fn honeypot(&mut self) {
        let Some(pool) = self.pool else { return };
        let deployer = self.deployer;
        let friends = self.people(3);
        for friend in &friends {
            self.funding.push((deployer, *friend, self.start - HOUR_MS));
        }
        for (i, buyer) in self.people(150).into_iter().enumerate() {
            let time = self.start + DAY_MS + i as i64 * 2 * HOUR_MS;
            let part = self.random.spread(1e-5, 1.5e-3);
            let amount = self.share(part);
            let bought = self.send(time, pool, buyer, amount);
            // Two in five try to sell, half of them twice.
            for retry in 0..[1, 0, 2, 0, 0][i % 5] {
                let time = time + (3 + retry) * HOUR_MS;
                self.transfers.push(DemoTransfer {
                    time,
                    from: buyer,
                    to: pool,
                    amount: bought,
                    failed: true,
                });
            }
        }
        for (i, friend) in friends.into_iter().enumerate() {
            let time = self.start + (9 + i as i64) * DAY_MS;
            let amount = self.share(0.004);
            self.send(time, deployer, friend, amount);
            self.send(time + HOUR_MS, friend, pool, amount);
        }
    }

    /// The price rises as people buy; after a month all but a thirtieth of the reserves is withdrawn in one transaction.
    fn rug(&mut self) {
        let Some(pool) = self.pool else { return };
        self.trade(220, 0.25);
        let Some((token, other)) = self.raise_price() else {
            return;
        };
        let time = self.start + 32 * DAY_MS;
        self.pool_events.push(PoolEvent {
            time,
            kind: "burn",
            token: token / 30.0,
            other: other / 30.0,
        });
        // Nobody trades with an empty pool.
        self.undo_since(time);
        let taken = (self.held(pool) as f64 * 0.967) as u128;
        let deployer = self.deployer;
        self.send(time, pool, deployer, taken);
    }

    /// Replaces the pool's reserves after its first event by those of a rising price; returns the last ones.
    fn raise_price(&mut self) -> Option<(f64, f64)> {
        self.pool_events.truncate(1);
        let &PoolEvent { token, other, .. } = self.pool_events.first()?;
        let mut price = 1.0;
        for i in 0..60_i64 {
            price *= 1.0 + 0.02 * self.random.normal() + 0.012;
            let (time, root) = (self.start + DAY_MS + i * 11 * HOUR_MS, f64::sqrt(price));
            self.pool_events.push(PoolEvent {
                time,
                kind: "sync",
                token: token / root,
                other: other * root,
            });
        }
        self.pool_events.last().map(|last| (last.token, last.other))
    }

    fn undo_since(&mut self, time: i64) {
        let undone: Vec<DemoTransfer> = self
            .transfers
            .extract_if(.., |transfer| transfer.time >= time)
            .collect();
        for transfer in undone.iter().rev() {
            *self.balances.entry(transfer.to).or_default() -= transfer.amount;
            *self.balances.entry(transfer.from).or_default() += transfer.amount;
        }
    }

    fn wash(&mut self) {
        self.trade(150, 0.45);
        let Some(pool) = self.pool else { return };
        let ring = self.people(5);
        let amount = self.share(0.011);
        self.send(self.start + 20 * HOUR_MS, pool, ring[0], amount);
        let mut time = self.start + 25 * DAY_MS;
        for round in 0..34 {
            for i in 0..ring.len() {
                self.send(time, ring[i], ring[(i + 1) % ring.len()], amount);
                time += BLOCK_MS * (4 + self.random.below(20) as i64);
            }
            time += BLOCK_MS * (100 + self.random.below(600) as i64) * (1 + round % 3);
        }
    }

    fn sybil(&mut self) {
        let Some(pool) = self.pool else { return };
        let funder = self.random.address();
        let amount = self.share(0.0042);
        for (i, wallet) in self.people(48).into_iter().enumerate() {
            let time = self.start + (FUNDED_BLOCKS + 1 + i as i64 % 3) * BLOCK_MS;
            self.funding
                .push((funder, wallet, self.start - 2 * HOUR_MS + i as i64 * 60_000));
            self.send(time, pool, wallet, amount);
        }
        self.trade(160, 0.45);
    }

    fn airdrop(&mut self) {
        let deployer = self.deployer;
        let amount = self.supply / 40_000;
        for (i, receiver) in self.people(320).into_iter().enumerate() {
            self.send(
                self.start + 2 * DAY_MS + i as i64 / 80 * BLOCK_MS,
                deployer,
                receiver,
                amount,
            );
        }
        self.trade(70, 0.3);
    }

    /// Scammers keep their LP tokens; honest deployers lock or burn most of them.
    fn own_liquidity(&mut self, market: &DemoMarket, token: &DemoToken, scenario: Scenario) {
        let deployer = self.deployer;
        match scenario {
            Scenario::Honeypot | Scenario::Rug | Scenario::Airdrop => {
                self.liquidity = vec![(deployer, 93.0), (self.random.address(), 7.0)];
            }
            Scenario::Sybil | Scenario::Wash => {
                self.liquidity = vec![(deployer, 41.0), (burn_addresses()[1], 59.0)];
            }
            Scenario::Market | Scenario::Widespread => {
                let Some(locker) = people::locker(market, token.chain()) else {
                    return;
                };
                self.liquidity = vec![
                    (locker, 78.0),
                    (burn_addresses()[1], 14.0),
                    (self.random.address(), 8.0),
                ];
                self.locks.push((locker, 78.0, END_MS + 400 * DAY_MS));
            }
        }
    }
}
