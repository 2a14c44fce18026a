//! Cross-checks between tables, once all are loaded. A contradiction between tables is a finding; no value is changed here.

use std::collections::HashSet;

use polars::prelude::DataFrame;

use super::lengths;
use crate::{
    Dataset,
    check::{
        across_tables::{self, Contradiction},
        named,
    },
};
use model::{
    address::Address,
    candles::RECENT_DAYS,
    chain::Chain,
    findings::{Finding, Severity},
    rows::YieldRow,
    time::DAY_MS,
    token::{Token, are_apart},
};

/// Maximum number of largest holders whose share is answered.
const LARGEST: usize = 50;
/// Unknown chains listed in a finding.
const CHAINS_SHOWN: usize = 5;

/// Runs all cross-checks of the dataset. `of_contracts`: the tokens whose supply a node says.
pub(super) fn run(dataset: &mut Dataset, of_contracts: &HashSet<Address>) {
    let mut broken: Vec<(Option<String>, Contradiction)> = Vec::new();
    let (mut over_supply, mut without_supply) = (Vec::new(), Vec::new());
    for token in dataset.tokens() {
        let address = token.row.token_address;
        broken.extend(
            across_tables::figures(&token.row, of_contracts.contains(&address))
                .map(|found| (None, found)),
        );
        if dataset.candles().intervals(&address) > 1 {
            // Only recent ones, which the market reads too: those of a large table are read from disk, and the storage decides no finding.
            let (series, _) = dataset.candles().recent(&address, RECENT_DAYS * DAY_MS);
            broken.extend(lengths::contradiction(&token.row, &series).map(|found| (None, found)));
        }
        if token.row.price.is_some()
            && let Some((time, close)) = dataset.candles().latest_close(&address)
            && !are_apart(token.dates.price, Some(time))
        {
            broken.extend(across_tables::price(&token.row, close).map(|found| (None, found)));
        }
        let Some(supply) = token.row.total_supply else {
            if dataset.holders_listed(&address) > 0 {
                without_supply.push(address);
                let held = SumsOfBalances::of(dataset, &address);
                broken.extend(
                    across_tables::balances(&token.row, held.all).map(|found| (None, found)),
                );
            }
            continue;
        };
        let held = SumsOfBalances::of(dataset, &address);
        broken.extend(across_tables::balances(&token.row, held.all).map(|found| (None, found)));
        let free = supply - held.burned;
        if free > 0.0 && held.largest > free {
            over_supply.push(format!("{address}: {} of {free}", held.largest));
        }
    }
    for statistic in dataset.tables.iter().flat_map(|table| &table.statistics) {
        let token = Address::parse(&statistic.token).and_then(|address| dataset.token(&address));
        let found = token.and_then(|token| across_tables::statistic(&token.row, statistic));
        broken.extend(found.map(|found| (Some(statistic.file.clone()), found)));
    }
    let mut between_files = Vec::new();
    let symbol = |token: &str| {
        Address::parse(token).and_then(|token| dataset.token(&token)?.row.symbol.clone())
    };
    for gap in across_tables::gaps(
        dataset.tables.iter().flat_map(|table| &table.statistics),
        symbol,
    ) {
        between_files.push((
            gap.files.1.clone(),
            format!("{}: {}", gap.what, named("gap_between_files").sentence),
            gap.tokens(),
        ));
    }
    if let Some(candles) = dataset.table_mut("candles") {
        for (file, reason, tokens) in between_files {
            candles.findings.add(
                Finding::new(Severity::Warning, file, reason)
                    .column("timestamp")
                    .value(tokens),
            );
        }
    }
    broken_rules(dataset, broken);
    unusable_pools(dataset);
    unknown_chains(dataset);
    shares_of_holders(dataset, &without_supply, over_supply);
}

/// Sums of a token's balances: all, those of burn addresses, and the largest of the others.
#[derive(Default)]
struct SumsOfBalances {
    all: f64,
    burned: f64,
    largest: f64,
}

impl SumsOfBalances {
    fn of(dataset: &Dataset, token: &Address) -> Self {
        let (mut sums, mut counted) = (Self::default(), 0);
        for (holder, balance) in dataset.holders_of(token).balances() {
            let balance = balance.filter(|balance| *balance > 0.0).unwrap_or_default();
            sums.all += balance;
            if dataset.is_labelled(&holder, "burn") {
                sums.burned += balance;
            } else if counted < LARGEST {
                sums.largest += balance;
                counted += 1;
            }
        }
        sums
    }
}

/// Reports tokens of unknown supply, and those whose largest holders hold more than the supply outside burn addresses.
fn shares_of_holders(dataset: &mut Dataset, without_supply: &[Address], over_supply: Vec<String>) {
    let Some(table) = dataset.table_mut("holders") else {
        return;
    };
    let file = table.first_file();
    if let [one, others @ ..] = without_supply {
        let tokens = if others.is_empty() {
            "this token".to_owned()
        } else {
            format!("this token and {} more with holders", others.len())
        };
        let reason = format!(
            "the tokens table has no total_supply for {tokens}; shares of the largest holders are fractions of the listed balances, and too high if the list is incomplete"
        );
        table.findings.add(
            Finding::new(Severity::Note, &file, reason)
                .column("balance")
                .value(one.to_string()),
        );
    }
    for shown in over_supply {
        let reason = "the largest holders own more than the supply outside burn addresses; their share is reported as 1";
        table.findings.add(
            Finding::new(Severity::Warning, &file, reason)
                .column("balance")
                .value(shown),
        );
    }
}

/// Reports broken rules as findings of the tables that break them.
fn broken_rules(dataset: &mut Dataset, broken: Vec<(Option<String>, Contradiction)>) {
    for (file, (rule, row, value)) in broken {
        let rule = named(rule);
        let Some(table) = dataset.table_mut(rule.table()) else {
            continue;
        };
        let file = file.unwrap_or_else(|| table.first_file());
        table.findings.add(
            Finding::new(Severity::Warning, file, rule.reason())
                .at(row)
                .column(rule.column())
                .value(value),
        );
    }
}

/// Reports chains outside the list, such as misspelt ones: one finding per table, as lists of yields have many.
fn unknown_chains(dataset: &mut Dataset) {
    // A coin without a contract has a chain of its own.
    let is_coin = |token: &Token| {
        token
            .row
            .symbol
            .as_deref()
            .is_some_and(|symbol| Address::coin(symbol) == token.row.token_address)
    };
    let tokens: Vec<String> = dataset
        .tokens()
        .iter()
        .filter(|token| !is_coin(token))
        .flat_map(|token| &token.chains)
        .map(ToString::to_string)
        .collect();
    for table in &mut dataset.tables {
        let mut names = if table.schema.name == "tokens" {
            tokens.clone()
        } else {
            texts(&table.frame(), "chain")
        };
        names.retain(|name| Chain::known(name).is_none());
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            continue;
        }
        let shown = |name: &String| {
            format!(
                "`{name}`{}",
                Chain::alike(name)
                    .map_or_else(String::new, |alike| format!(" (nearest: `{alike}`)"))
            )
        };
        let mut value = names
            .iter()
            .take(CHAINS_SHOWN)
            .map(shown)
            .collect::<Vec<_>>()
            .join(", ");
        if names.len() > CHAINS_SHOWN {
            value.push_str(&format!(" and {} more", names.len() - CHAINS_SHOWN));
        }
        let reason = "the chain is not in the list (`tokendeck schema --chains`); it is kept under this name, without a chain id";
        table.findings.add(
            Finding::new(Severity::Note, table.first_file(), reason)
                .column("chain")
                .value(value),
        );
    }
}

/// Texts of a column without adjacent repeats; empty where there is no such text column.
fn texts(frame: &DataFrame, column: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let Some(texts) = frame
        .column(column)
        .ok()
        .and_then(|column| column.str().ok())
    else {
        return all;
    };
    for text in texts.iter().flatten() {
        if all.last().is_none_or(|last| last != text) {
            all.push(text.to_owned());
        }
    }
    all
}

/// Reports yield pools that no plan can use, and values about their way out that make no sense.
fn unusable_pools(dataset: &mut Dataset) {
    let told = |row: &YieldRow| {
        row.unusable()
            .or_else(|| row.wrong_exit())
            .map(|(column, reason)| (row.pool.clone(), column, reason))
    };
    let found: Vec<_> = dataset.yields().iter().filter_map(told).collect();
    let Some(table) = dataset.table_mut("yields") else {
        return;
    };
    let file = table.first_file();
    for (pool, column, reason) in found {
        table.findings.add(
            Finding::new(Severity::Note, &file, reason)
                .column(column)
                .value(pool),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::sample;

    #[test]
    fn shares_of_an_unknown_supply_are_told_once() {
        let notes = |supply: &str| -> Vec<String> {
            let dataset = sample::dataset(&[
                (
                    "tokens",
                    &format!(
                        "token_address,symbol,name,chain,total_supply\n0x1,A,A,eth,{supply}\n0x2,B,B,eth,{supply}\n0x3,C,C,eth,{supply}"
                    ),
                ),
                (
                    "holders",
                    "token_address,holder_address,balance\n0x1,0x9,5\n0x2,0x9,5",
                ),
            ]);
            let holders = dataset
                .tables
                .iter()
                .find(|table| table.schema.name == "holders")
                .expect("the table");
            holders
                .findings
                .kept()
                .iter()
                .map(|finding| finding.reason.clone())
                .filter(|reason| reason.contains("total_supply"))
                .collect()
        };
        assert_eq!(notes("10"), Vec::<String>::new());
        assert!(
            matches!(&notes("")[..], [one] if one.contains("this token and 1 more with holders")),
            "{:?}",
            notes("")
        );
    }
}
