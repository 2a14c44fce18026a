//! Synthetic tokens with a single fault each, and honest twins with its benign form: an honest base market, and the changes of a case.
//! Written as a dataset's tables. Nothing is judged here.

use std::{collections::BTreeMap, path::Path};

use crate::random::Random;

pub(crate) const ZERO: &str = "0x0000000000000000000000000000000000000000";
pub(crate) const SUPPLY: u128 = 1_000_000_000_000;
const UNIT: f64 = 1e6;
pub(crate) const START: i64 = 1_700_000_000;
pub(crate) const BLOCK: i64 = 18_000_000;
pub(crate) const HOUR: i64 = 3_600;
pub(crate) const DAY: i64 = 24 * HOUR;

/// The order of tables' columns.
const COLUMNS: &[(&str, &str)] = &[
    (
        "tokens",
        "token_address,symbol,name,chain,decimals,total_supply,holders,listed",
    ),
    (
        "transfers",
        "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index,status",
    ),
    ("holders", "token_address,holder_address,balance"),
    (
        "contracts",
        "token_address,bytecode,creator,created_at,owner",
    ),
    ("scams", "address,name,scam_type,bytecode,source"),
    ("labels", "address,label"),
    (
        "pools",
        "address,dex_id,chain,token0,token1,liquidity,volume24h",
    ),
    (
        "pool_events",
        "pool,timestamp,block_number,kind,reserve0,reserve1,amount",
    ),
    ("locks", "token_address,holder_address,amount,unlocks_at"),
    ("funding", "from_address,to_address,timestamp"),
];

/// Rows of a token under construction.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) token: String,
    pub(crate) pool: String,
    pub(crate) creator: String,
    pub(crate) owner: String,
    pub(crate) symbol: String,
    pub(crate) name: String,
    pub(crate) chain: &'static str,
    pub(crate) listed: Option<bool>,
    pub(crate) bytecode: Option<String>,
    pub(crate) created: i64,
    pub(crate) random: Random,
    number: u64,
    people: u64,
    /// (time, block, from, to, value, succeeded)
    pub(crate) transfers: Vec<(i64, i64, String, String, u128, bool)>,
    pub(crate) balances: BTreeMap<String, u128>,
    /// Overrides the balances in the holder table.
    pub(crate) holders: Option<Vec<(String, f64)>>,
    /// (holder, LP tokens)
    pub(crate) liquidity: Vec<(String, f64)>,
    rows: Vec<(&'static str, String)>,
}

impl Case {
    pub(crate) fn new(number: u64) -> Self {
        let mut case = Self {
            token: String::new(),
            pool: String::new(),
            creator: String::new(),
            owner: String::new(),
            symbol: format!("CASE{number}"),
            name: format!("Case number {number}"),
            chain: "eth",
            listed: None,
            bytecode: None,
            created: START,
            random: Random(number.wrapping_mul(0x2545_f491_4f6c_dd1d)),
            number,
            people: 0,
            transfers: Vec::new(),
            balances: BTreeMap::new(),
            holders: None,
            liquidity: Vec::new(),
            rows: Vec::new(),
        };
        case.token = case.person();
        case.pool = case.person();
        case.creator = case.person();
        case.owner.clone_from(&case.creator);
        case
    }

    /// Returns a new address.
    pub(crate) fn person(&mut self) -> String {
        self.people += 1;
        let mut random = Random(self.number << 24 | self.people);
        // High bits set, so that no address counts as a burn address.
        format!(
            "0xa{:015x}{:016x}{:08x}",
            random.word() >> 4,
            self.number << 24 | self.people,
            0x77
        )
    }

    /// A random amount, log-uniform over four powers of ten, as organic ones are.
    pub(crate) fn organic(&mut self, largest: f64) -> u128 {
        (largest * 10_f64.powf(-4.0 * self.random.unit())) as u128 + 1
    }

    pub(crate) fn people(&mut self, n: usize) -> Vec<String> {
        (0..n).map(|_| self.person()).collect()
    }

    pub(crate) fn row(&mut self, table: &'static str, text: String) {
        self.rows.push((table, text));
    }

    /// Appends a successful transfer of at most the sender's balance; blocks are 12 s.
    pub(crate) fn send(&mut self, time: i64, from: &str, to: &str, value: u128) -> u128 {
        let value = if from == ZERO {
            value
        } else {
            value.min(self.balances.get(from).copied().unwrap_or_default())
        };
        if value > 0 {
            self.transfers.push((
                time,
                BLOCK + (time - START) / 12,
                from.into(),
                to.into(),
                value,
                true,
            ));
            if from != ZERO {
                *self.balances.entry(from.into()).or_default() -= value;
            }
            *self.balances.entry(to.into()).or_default() += value;
        }
        value
    }

    /// Mints the supply, moves half of it into the pool and distributes most of the rest in different amounts.
    pub(crate) fn launch(&mut self) {
        let (creator, pool) = (self.creator.clone(), self.pool.clone());
        self.send(START, ZERO, &creator, SUPPLY);
        for holder in self.people(150) {
            let share = self.random.between(0.0015, 0.0048);
            self.send(
                START + 24,
                &creator,
                &holder,
                (SUPPLY as f64 * share) as u128,
            );
        }
        let left = self.balances[&creator];
        self.send(START + 60, &creator, &pool, left - SUPPLY / 100);
        let row = format!(
            "{pool},uniswap-v2,eth,{},0x00000000000000000000000000000000000000ee,100000,5000",
            self.token
        );
        self.row("pools", row);
    }

    /// Purchases, sales and gifts over some days, starting an hour after the launch at the earliest.
    pub(crate) fn trade(&mut self, count: usize, selling: f64, days: i64) {
        let traders = self.people((count / 3).clamp(12, 400));
        let mut times: Vec<i64> = (0..count)
            .map(|_| START + HOUR + (self.random.unit() * (days * DAY) as f64) as i64)
            .collect();
        times.sort_unstable();
        let pool = self.pool.clone();
        for time in times {
            let trader = traders[self.random.below(traders.len())].clone();
            let held = self.balances.get(&trader).copied().unwrap_or_default();
            if held > 0 && self.random.unit() < selling {
                let part = self.random.between(0.1, 1.0);
                self.send(time, &trader, &pool, (held as f64 * part) as u128);
            } else if held > 0 && self.random.unit() < 0.15 {
                let other = traders[self.random.below(traders.len())].clone();
                let part = self.random.between(0.05, 0.9);
                self.send(time, &trader, &other, (held as f64 * part) as u128);
            } else {
                let amount = self.organic(SUPPLY as f64 / 150.0);
                self.send(time, &pool, &trader, amount);
            }
        }
    }

    /// Appends an event of the pool with reserves (token, other).
    pub(crate) fn pool_event(&mut self, pool: &str, time: i64, kind: &str, token: f64, other: f64) {
        let row = format!(
            "{pool},{time},{},{kind},{token:.0},{other:.0},",
            BLOCK + (time - START) / 12
        );
        self.row("pool_events", row);
    }

    /// Sets the holders' balances, in whole tokens, without transfers.
    pub(crate) fn held(&mut self, balances: &[f64]) {
        let people = self.people(balances.len());
        self.holders = Some(people.into_iter().zip(balances.iter().copied()).collect());
    }

    fn finish(mut self, out: &mut BTreeMap<&'static str, String>) {
        let mut put =
            |table: &'static str, row: &str| out.entry(table).or_default().extend([row, "\n"]);
        let token = &self.token;
        let listed = self
            .listed
            .map_or_else(String::new, |listed| listed.to_string());
        put(
            "tokens",
            &format!(
                "{token},{},{},{},6,{},,{listed}",
                self.symbol,
                self.name,
                self.chain,
                SUPPLY as f64 / UNIT
            ),
        );
        self.transfers.sort_by_key(|transfer| transfer.0);
        for (i, (time, block, from, to, value, succeeded)) in self.transfers.iter().enumerate() {
            let hash = format!("0x{:032x}{:032x}", self.number, i);
            put(
                "transfers",
                &format!(
                    "{token},{time},{block},{hash},{from},{to},{value},0,{}",
                    u8::from(*succeeded)
                ),
            );
        }
        let balances = self
            .balances
            .iter()
            .filter(|(who, _)| *who != ZERO)
            .map(|(who, balance)| (who.clone(), *balance as f64 / UNIT));
        for (who, balance) in self.holders.unwrap_or_else(|| balances.collect()) {
            put("holders", &format!("{token},{who},{balance}"));
        }
        for (who, balance) in &self.liquidity {
            put("holders", &format!("{},{who},{balance}", self.pool));
        }
        let bytecode = self.bytecode.as_deref().unwrap_or_default();
        put(
            "contracts",
            &format!(
                "{token},{bytecode},{},{},{}",
                self.creator, self.created, self.owner
            ),
        );
        for (table, row) in &self.rows {
            put(table, row);
        }
    }
}

/// Writes the cases as one dataset.
pub(crate) fn write(cases: Vec<Case>, folder: &Path) {
    let mut tables: BTreeMap<&'static str, String> = COLUMNS
        .iter()
        .map(|(table, columns)| (*table, format!("{columns}\n")))
        .collect();
    for case in cases {
        case.finish(&mut tables);
    }
    for (table, text) in tables {
        if text.lines().count() > 1 {
            std::fs::write(folder.join(format!("{table}.csv")), text).expect("a table is written");
        }
    }
}
