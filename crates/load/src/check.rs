//! The data rules, which hold for any source: one table, each rule with its name, its sentence and the columns it needs. Pure: canonical
//! columns in, breaches out. The loader adds file and row; `import` refuses a file with many breaches.
//!
//! Three kinds of rules: per row (`row_breaches` here), over the rows of one file in order (`in_order`), and across tables (`across_tables`).

pub mod across_tables;
pub mod in_order;

use polars::prelude::{
    BooleanChunked, ChunkSet, Column, DataType, IntoColumn, NewChunkedArray, PlSmallStr,
};

use model::{
    candles::is_valid_candle,
    findings::KEPT_PER_REASON,
    time::{DAY_MS, Time},
};

/// A data rule.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    /// The columns that the rule checks, as `table.column`; a finding names the first.
    pub columns: &'static [&'static str],
    /// Other columns it reads.
    pub needs: &'static [&'static str],
    /// Sentence for the finding of a breach.
    pub sentence: &'static str,
    pub outcome: Consequence,
    test: Test,
}

/// Effect of a breach on the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// The value is kept.
    Stays,
    /// The candle is stored unchanged, but every analysis treats it as invalid.
    NotUsed,
    /// An impossible value: the cell becomes null.
    Cleared,
    /// The row is excluded from the dataset.
    KeptOut,
}

impl Consequence {
    fn words(self) -> &'static str {
        match self {
            Self::Stays => "the value is kept as is",
            Self::NotUsed => "the candle is kept but excluded from analyses",
            Self::Cleared => "the cell is cleared",
            Self::KeptOut => "the row is excluded",
        }
    }
}

/// The test of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Test {
    /// From the first value to the second, both included.
    Between(f64, f64),
    /// A candle's price.
    Price,
    Low,
    High,
    /// A time at which blockchains existed.
    Era,
    /// Over several rows, by `in_order`, or across tables, by `across_tables`.
    SeveralRows,
}

/// The day of Bitcoin's first block, 2009-01-03, less a day for time zones.
const FIRST: i64 = 14_246 * DAY_MS;
/// 2100-01-01.
const LAST: i64 = 47_482 * DAY_MS;

/// Builds a rule from its name, consequence and test, the columns that it checks, the other columns that it reads, and the finding's
/// sentence.
macro_rules! rules {
    ($($name:ident $outcome:ident $test:expr, [$($column:literal),*] $(needs [$($need:literal),*])? $sentence:literal;)*) => {
        &[$(Rule {
            name: stringify!($name),
            columns: &[$($column),*],
            needs: &[$($($need),*)?],
            sentence: $sentence,
            outcome: Consequence::$outcome,
            test: $test,
        }),*]
    };
}

/// The list of all rules.
pub const RULES: &[Rule] = rules! {
    price_above_zero NotUsed Test::Price,
        ["candles.open", "candles.high", "candles.low", "candles.close"]
        "a price must be positive";
    low_is_lowest NotUsed Test::Low,
        ["candles.low"] needs ["candles.open", "candles.high", "candles.close"]
        "the low must not be above the open, the close or the high";
    high_is_highest NotUsed Test::High,
        ["candles.high"] needs ["candles.open", "candles.low", "candles.close"]
        "the high must not be below the open, the close or the low";
    not_negative Cleared Test::Between(0.0, f64::INFINITY),
        ["candles.volume", "candles.volume_usd", "tokens.price", "tokens.market_cap", "tokens.total_supply", "tokens.holders", "tokens.followers",
         "tokens.smart_followers", "tokens.impressions", "tokens.smart_reach", "tokens.post_engagement", "tokens.smart_engagement",
         "kols.followers", "kols.engagement_rate", "posts.impressions", "posts.engagement", "posts.smart_engagement", "holders.balance",
         "holder_counts.holders", "holder_counts.whale_balance", "locks.amount", "dexes.total_value_locked", "pools.liquidity",
         "pools.volume24h", "yields.tvl", "yields.total_supply_usd", "yields.total_borrow_usd", "gas.usd_per_100k_gas",
         "gas.gas_price_gwei", "gas.native_price_usd"]
        "the value is negative";
    decimals Cleared Test::Between(0.0, 77.0),
        ["tokens.decimals"]
        "a token has 0 to 77 decimals, because 10^78 exceeds 2^256";
    fraction Cleared Test::Between(0.0, 1.0),
        ["fee_tiers.fee"]
        "a fee is a fraction of the amount, from 0 to 1; for percent, set `scale = 0.01` (`--unit percent` of `tokendeck import`), for millionths `scale = 1e-6` (`--unit millionths`)";
    pool_fee Cleared Test::Between(0.0, 0.1),
        ["pools.fee"]
        "a pool's fee is a fraction of the amount, rarely above 0.01 and never above 0.1; for percent, set `scale = 0.01` (`--unit percent` of `tokendeck import`), for millionths `scale = 1e-6` (`--unit millionths`)";
    time_of_chains Stays Test::Era,
        ["candles.timestamp", "transfers.timestamp", "posts.published_at", "holder_counts.date", "pool_events.timestamp",
         "contracts.created_at", "scams.reported_at", "funding.timestamp", "blocks.timestamp", "disputes.until", "pools.created_at"]
        "the time is before 2009 or after 2099; check its unit";
    step Stays Test::SeveralRows,
        ["candles.timestamp"] needs ["candles.interval"]
        "the candle overlaps its neighbor";
    interval Stays Test::SeveralRows,
        ["candles.interval"] needs ["candles.timestamp"]
        "the candles don't match their interval";
    months Stays Test::SeveralRows,
        ["candles.timestamp"] needs ["candles.interval"]
        "these are monthly candles, which differ in length; use candles of one length, such as 1d or 1w";
    two_lengths Stays Test::SeveralRows,
        ["candles.interval"] needs ["candles.timestamp"]
        "in a stretch of candles, the step differs from the interval, so candles of two lengths are read as one series; add a column \
            `interval`, or put each length into its own file";
    gap Stays Test::SeveralRows,
        ["candles.timestamp"] needs ["candles.interval"]
        "candles are missing: trendlines, patterns and indicators treat the candles on both sides of the gap as neighbors";
    gap_between_files Stays Test::SeveralRows,
        ["candles.timestamp"] needs ["candles.interval"]
        "a file for the time in between may be missing; trendlines, patterns and indicators treat the candles on both sides as neighbors";
    closes_of_lengths Stays Test::SeveralRows,
        ["candles.close"] needs ["candles.interval"]
        "the token's candles of two lengths have different prices, and charts and price changes combine them; check that both belong to \
            this token and are in USD";
    price_beside_close Stays Test::SeveralRows,
        ["tokens.price"] needs ["candles.close"]
        "the price is far from the latest close; results, screens and alerts use the price (delete it to use the close)";
    one_token KeptOut Test::SeveralRows,
        ["tokens.token_address"] needs ["tokens.symbol", "tokens.decimals", "tokens.price"]
        "two tokens share this address (their symbols or decimals differ, or their prices by more than 10%), and only one is used: the \
            listed one, or the one with the largest market cap, on the most chains, or the first; rows with this address in other \
            tables are assigned to that token";
    unit_of_volume Stays Test::SeveralRows,
        ["candles.volume"] needs ["candles.close"]
        "from this row on, the volume changes by a factor of about the price: it switches between tokens and USD";
    turnover Stays Test::SeveralRows,
        ["candles.volume"] needs ["candles.close", "tokens.market_cap"]
        "the median of volume times price is far above the market cap; if the volume is in USD, add to dataset.toml: [tables.candles.columns] volume = { unit = \"usd\" }";
    traded_in_a_day Stays Test::SeveralRows,
        ["candles.volume"] needs ["candles.close"]
        "volume times price exceeds 600 billion USD, more than the daily volume of any token; compare the row with its source";
    transfer_within_supply Stays Test::SeveralRows,
        ["transfers.value"] needs ["tokens.decimals", "tokens.total_supply"]
        "a transfer moves far more than the supply; check the token's decimals and supply";
    transfer_in_smallest_units Stays Test::SeveralRows,
        ["transfers.value"] needs ["tokens.decimals"]
        "every transfer moves less than a millionth of a token; if the values are whole tokens, add to dataset.toml: [tables.transfers.columns] value = { unit = \"whole\" }";
    balances_within_supply Stays Test::SeveralRows,
        ["holders.balance"] needs ["tokens.total_supply"]
        "the balances add up to more than the supply; if they are in base units, add to dataset.toml: [tables.holders.columns] balance = { unit = \"raw\" }";
    supply_in_smallest_units Stays Test::SeveralRows,
        ["tokens.total_supply"]
        "the supply is implausibly large; if supplies are in base units, add to dataset.toml: [tables.tokens.columns] total_supply = { unit = \"raw\" }";
    supply_of_contract Stays Test::SeveralRows,
        ["tokens.total_supply"] needs ["tokens.price", "tokens.market_cap"]
        "the contract reports this supply, but it is implausibly large or contradicts price and market cap; check that the contract is the intended one";
    balances_in_smallest_units Stays Test::SeveralRows,
        ["holders.balance"]
        "the balances are implausibly large; if they are in base units, add to dataset.toml: [tables.holders.columns] balance = { unit = \"raw\" }";
    cap_of_supply Stays Test::SeveralRows,
        ["tokens.total_supply"] needs ["tokens.price", "tokens.market_cap"]
        "price times supply differs from the market cap by a factor of a million or more, or by the token's decimals; if the supply is in base units, add to dataset.toml: [tables.tokens.columns] total_supply = { unit = \"raw\" }";
};

/// The rule of this name.
pub fn named(name: &str) -> &'static Rule {
    // A test checks that every name used is in the table.
    RULES
        .iter()
        .find(|rule| rule.name == name)
        .unwrap_or(&RULES[0])
}

impl Rule {
    /// The schema column that a finding names.
    pub fn column(&self) -> &'static str {
        let first = self.columns.first().copied().unwrap_or_default();
        first.split_once('.').map_or(first, |(_, column)| column)
    }

    /// The table whose rows the rule checks.
    pub fn table(&self) -> &'static str {
        let first = self.columns.first().copied().unwrap_or_default();
        first.split_once('.').map_or(first, |(table, _)| table)
    }

    /// The finding's reason: the defect, and the consequence.
    pub fn reason(&self) -> String {
        format!("{}; {}", self.sentence, self.outcome.words())
    }
}

/// Rows that break a rule in one column.
#[derive(Debug, Clone)]
pub struct Breach {
    pub rule: &'static Rule,
    /// The schema column.
    pub column: &'static str,
    /// Row indexes, ascending.
    pub rows: Vec<usize>,
    /// The values of the first of these rows.
    pub values: Vec<String>,
}

impl Breach {
    fn new(rule: &'static Rule, column: &'static str) -> Self {
        Self {
            rule,
            column,
            rows: Vec::new(),
            values: Vec::new(),
        }
    }

    fn add(&mut self, row: usize, value: impl FnOnce() -> String) {
        self.rows.push(row);
        if (self.values.len() as u64) < KEPT_PER_REASON {
            self.values.push(value());
        }
    }
}

/// Checks the rows of a table, given its canonical columns, and sets impossible cells to null.
pub fn row_breaches(table: &str, columns: &mut [Column]) -> Vec<Breach> {
    let mut breaches = if table == "candles" {
        candles(columns)
    } else {
        Vec::new()
    };
    for rule in RULES {
        for column in rule
            .columns
            .iter()
            .filter_map(|column| column.strip_prefix(table)?.strip_prefix('.'))
        {
            let Some(place) = columns.iter().position(|ours| ours.name() == column) else {
                continue;
            };
            let found = match rule.test {
                Test::Between(least, most) => between(rule, column, &columns[place], least, most),
                Test::Era => era(rule, column, &columns[place]),
                Test::Price | Test::Low | Test::High | Test::SeveralRows => continue,
            };
            if found.rows.is_empty() {
                continue;
            }
            if rule.outcome == Consequence::Cleared {
                columns[place] = emptied(&columns[place], &found.rows);
            }
            breaches.push(found);
        }
    }
    breaches
}

/// The first rule that a candle breaks. Analyses treat a candle as valid if it breaks none.
pub fn candle(open: f64, high: f64, low: f64, close: f64) -> Option<&'static Rule> {
    if is_valid_candle(open, high, low, close) {
        return None;
    }
    let test = if [open, high, low, close].iter().any(|price| *price <= 0.0) {
        Test::Price
    } else if low > open || low > close || low > high {
        Test::Low
    } else {
        Test::High
    };
    RULES.iter().find(|rule| rule.test == test)
}

fn candles(columns: &[Column]) -> Vec<Breach> {
    let floats = |name: &str| {
        columns
            .iter()
            .find(|column| column.name() == name)?
            .f64()
            .ok()
            .map(polars::prelude::ChunkedArray::rechunk)
    };
    let (Some(open), Some(high), Some(low), Some(close)) = (
        floats("open"),
        floats("high"),
        floats("low"),
        floats("close"),
    ) else {
        return Vec::new();
    };
    if let (Ok(open), Ok(high), Ok(low), Ok(close)) = (
        open.cont_slice(),
        high.cont_slice(),
        low.cont_slice(),
        close.cont_slice(),
    ) && open
        .iter()
        .zip(high)
        .zip(low)
        .zip(close)
        .fold(true, |all, (((o, h), l), c)| {
            all & is_valid_candle(*o, *h, *l, *c)
        })
    {
        return Vec::new();
    }
    let mut breaches: Vec<Breach> = Vec::new();
    for row in 0..open.len() {
        // A row without a price is rejected elsewhere.
        let (Some(o), Some(h), Some(l), Some(c)) =
            (open.get(row), high.get(row), low.get(row), close.get(row))
        else {
            continue;
        };
        let Some(rule) = candle(o, h, l, c) else {
            continue;
        };
        let column = match rule.test {
            Test::Low => "low",
            Test::High => "high",
            _ => ["open", "high", "low", "close"]
                .into_iter()
                .zip([o, h, l, c])
                .find(|(_, price)| *price <= 0.0)
                .map_or("low", |(name, _)| name),
        };
        let same = |breach: &Breach| std::ptr::eq(breach.rule, rule) && breach.column == column;
        let place = breaches.iter().position(same).unwrap_or_else(|| {
            breaches.push(Breach::new(rule, column));
            breaches.len() - 1
        });
        breaches[place].add(row, || match rule.test {
            Test::Price => [o, h, l, c]
                .into_iter()
                .find(|price| *price <= 0.0)
                .unwrap_or_default()
                .to_string(),
            _ => format!("open {o}, high {h}, low {l}, close {c}"),
        });
    }
    breaches
}

fn between(
    rule: &'static Rule,
    name: &'static str,
    column: &Column,
    least: f64,
    most: f64,
) -> Breach {
    let mut breach = Breach::new(rule, name);
    if let Ok(numbers) = column.f64() {
        // Fast path: most columns break nothing, which a vectorised scan shows.
        let holds = |number: f64| number >= least && number <= most;
        if numbers.cont_slice().is_ok_and(|numbers| {
            numbers
                .iter()
                .fold(true, |all, number| all & holds(*number))
        }) {
            return breach;
        }
        for (row, number) in numbers.iter().enumerate() {
            if let Some(number) = number.filter(|number| !holds(*number)) {
                breach.add(row, || number.to_string());
            }
        }
    } else if let Ok(numbers) = column.i64() {
        for (row, number) in numbers.iter().enumerate() {
            if let Some(number) =
                number.filter(|number| (*number as f64) < least || (*number as f64) > most)
            {
                breach.add(row, || number.to_string());
            }
        }
    }
    breach
}

fn era(rule: &'static Rule, name: &'static str, column: &Column) -> Breach {
    let mut breach = Breach::new(rule, name);
    let days = column.dtype() == &DataType::Date;
    let times = column.to_physical_repr();
    let mut add = |row: usize, time: i64| {
        if !(FIRST..LAST).contains(&time) {
            breach.add(row, || Time(time).to_string());
        }
    };
    if let Ok(days) = times
        .i32()
        .map_err(drop)
        .and_then(|numbers| if days { Ok(numbers) } else { Err(()) })
    {
        days.iter().enumerate().for_each(|(row, day)| {
            if let Some(day) = day {
                add(row, i64::from(day) * DAY_MS);
            }
        });
    } else if let Ok(times) = times.i64() {
        let inside = |time: &i64| *time >= FIRST && *time < LAST;
        if times
            .cont_slice()
            .is_ok_and(|times| times.iter().fold(true, |all, time| all & inside(time)))
        {
            return breach;
        }
        times
            .iter()
            .enumerate()
            .for_each(|(row, time)| time.into_iter().for_each(|time| add(row, time)));
    }
    breach
}

/// The column with these rows set to null.
fn emptied(column: &Column, rows: &[usize]) -> Column {
    let mut mask = vec![false; column.len()];
    for row in rows {
        mask[*row] = true;
    }
    let mask = BooleanChunked::from_iter_values(PlSmallStr::EMPTY, mask.into_iter());
    let set = match column.dtype() {
        DataType::Float64 => column
            .f64()
            .and_then(|numbers| numbers.set(&mask, None))
            .map(IntoColumn::into_column),
        DataType::Int64 => column
            .i64()
            .and_then(|numbers| numbers.set(&mask, None))
            .map(IntoColumn::into_column),
        _ => Ok(column.clone()),
    };
    set.unwrap_or_else(|_| column.clone())
}

#[cfg(test)]
mod tests;
