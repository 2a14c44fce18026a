//! What can only be judged once the tables stand together. A contradiction between tables is a finding; no figure is changed here.

use polars::prelude::DataFrame;

use crate::dataset::{
    Dataset, Token,
    address::Address,
    chain::Chain,
    findings::{Finding, Severity},
    invariants::{
        named,
        together::{self, Contradiction},
    },
    rows::YieldRow,
};

/// The largest holders whose share is ever answered.
const LARGEST: usize = 50;
/// Unknown chains that are named.
const CHAINS_SHOWN: usize = 5;

/// Tokens whose largest holders hold more than there is outside burn addresses: their shares are answered as 1.
pub(super) fn run(dataset: &mut Dataset) {
    let mut found = Vec::new();
    let mut broken: Vec<(Option<String>, Contradiction)> = Vec::new();
    let mut without_supply = Vec::new();
    for token in dataset.tokens() {
        broken.extend(together::figures(&token.row).map(|found| (None, found)));
        if token.row.price.is_some()
            && let Some((_, close)) = dataset.candles().latest_close(&token.row.token_address)
        {
            broken.extend(together::price(&token.row, close).map(|found| (None, found)));
        }
        let Some(supply) = token.row.total_supply else {
            if dataset.holders_listed(&token.row.token_address) > 0 {
                without_supply.push(token.row.token_address);
            }
            continue;
        };
        let (mut burned, mut held, mut counted, mut sum) = (0.0, 0.0, 0, 0.0);
        for (holder, balance) in dataset.holders_of(&token.row.token_address).balances() {
            let balance = balance.filter(|balance| *balance > 0.0).unwrap_or_default();
            sum += balance;
            if dataset.is_labelled(&holder, "burn") {
                burned += balance;
            } else if counted < LARGEST {
                held += balance;
                counted += 1;
            }
        }
        broken.extend(together::balances(&token.row, sum).map(|found| (None, found)));
        if held > supply - burned && supply > burned {
            found.push((token.row.token_address, held, supply - burned));
        }
    }
    for observed in dataset.tables.iter().flat_map(|table| &table.observed) {
        let token = Address::parse(&observed.token).and_then(|address| dataset.token(&address));
        let found = token.and_then(|token| together::observed(&token.row, observed));
        broken.extend(found.map(|found| (Some(observed.file.clone()), found)));
    }
    tell(dataset, broken);
    unusable_pools(dataset);
    unknown_chains(dataset);
    let Some(table) = dataset.tables.iter_mut().find(|table| table.schema.name == "holders") else { return };
    let file = table.sources.first().map_or_else(|| "holders".to_owned(), |source| source.file.clone());
    if let Some(one) = without_supply.first() {
        table.findings.add(Finding {
            severity: Severity::Note,
            file: file.clone(),
            row: None,
            column: Some("balance".to_owned()),
            value: Some(one.to_string()),
            reason: format!(
                "the tokens table has no total_supply for {}: shares of the largest holders are of the balances that are listed here, and \
                 too high where the list is not whole",
                match without_supply.len() {
                    1 => "this token".to_owned(),
                    count => format!("this token and {} more with holders", count - 1),
                }
            ),
        });
    }
    for (token, held, supply) in found {
        table.findings.add(Finding {
            severity: Severity::Warning,
            file: file.clone(),
            row: None,
            column: Some("balance".to_owned()),
            value: Some(format!("{token}: {held} of {supply}")),
            reason: "the largest holders hold more than the supply outside burn addresses; their share is answered as 1".to_owned(),
        });
    }
}

/// The rules that are broken, as findings of the tables that break them.
fn tell(dataset: &mut Dataset, broken: Vec<(Option<String>, Contradiction)>) {
    for (file, (rule, row, value)) in broken {
        let rule = named(rule);
        let Some(table) = dataset.tables.iter_mut().find(|table| table.schema.name == rule.table()) else { continue };
        let file = file.or_else(|| table.sources.first().map(|source| source.file.clone())).unwrap_or_else(|| rule.table().to_owned());
        let column = Some(rule.column().to_owned());
        table.findings.add(Finding { severity: Severity::Warning, file, row, column, value: Some(value), reason: rule.reason() });
    }
}

/// Chains that are not in the list, as a misspelt one is not: a table's all in one finding, as lists of yields have many.
fn unknown_chains(dataset: &mut Dataset) {
    // A coin without a contract has a chain of its own.
    let is_coin = |token: &Token| token.row.symbol.as_deref().is_some_and(|symbol| Address::coin(symbol) == token.row.token_address);
    let tokens: Vec<String> =
        dataset.tokens().iter().filter(|token| !is_coin(token)).flat_map(|token| &token.chains).map(ToString::to_string).collect();
    for table in &mut dataset.tables {
        let mut names = if table.schema.name == "tokens" { tokens.clone() } else { texts(&table.frame, "chain") };
        names.retain(|name| Chain::known(name).is_none());
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            continue;
        }
        let shown =
            |name: &String| format!("`{name}`{}", Chain::alike(name).map_or_else(String::new, |alike| format!(" (nearest: `{alike}`)")));
        let mut value = names.iter().take(CHAINS_SHOWN).map(shown).collect::<Vec<_>>().join(", ");
        if names.len() > CHAINS_SHOWN {
            value.push_str(&format!(" and {} more", names.len() - CHAINS_SHOWN));
        }
        let file = table.sources.first().map_or_else(|| table.schema.name.to_owned(), |source| source.file.clone());
        let reason = "not in the list of chains (`tokendeck schema --chains`): kept under this name, without a number".to_owned();
        let column = Some("chain".to_owned());
        table.findings.add(Finding { severity: Severity::Note, file, row: None, column, value: Some(value), reason });
    }
}

/// The texts of a column; none where there is no such column of texts.
fn texts(frame: &DataFrame, column: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let Some(texts) = frame.column(column).ok().and_then(|column| column.str().ok()) else { return all };
    for text in texts.iter().flatten() {
        if all.last().is_none_or(|last| last != text) {
            all.push(text.to_owned());
        }
    }
    all
}

/// Yield pools that no plan can use.
fn unusable_pools(dataset: &mut Dataset) {
    let told = |row: &YieldRow| row.unusable().map(|(column, reason)| (row.pool.clone(), column, reason));
    let found: Vec<_> = dataset.yields().iter().filter_map(told).collect();
    let Some(table) = dataset.tables.iter_mut().find(|table| table.schema.name == "yields") else { return };
    let file = table.sources.first().map_or_else(|| "yields".to_owned(), |source| source.file.clone());
    for (pool, column, reason) in found {
        table.findings.add(Finding {
            severity: Severity::Note,
            file: file.clone(),
            row: None,
            column: Some(column.to_owned()),
            value: Some(pool),
            reason: reason.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::sample;

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
                ("holders", "token_address,holder_address,balance\n0x1,0x9,5\n0x2,0x9,5"),
            ]);
            let holders = dataset.tables.iter().find(|table| table.schema.name == "holders").expect("the table");
            holders.findings.kept().iter().map(|finding| finding.reason.clone()).filter(|reason| reason.contains("total_supply")).collect()
        };
        assert_eq!(notes("10"), Vec::<String>::new());
        assert!(matches!(&notes("")[..], [one] if one.contains("this token and 1 more with holders")), "{:?}", notes(""));
    }
}
