//! Checks every request of every built-in provider against a recorded response of the service: `tests/recorded/providers`.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use frames::cell::in_frame;
use model::{address::Address, chain::Chain, interval::Interval, rows::AccountRow};
use tokendeck_load::live::saved::{self, SavedAnswer, SavedRows};
use tokendeck_load::provider::{Provider, ProviderOrigin, RefusalAction, built_in};
use toml::{Table, Value};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recorded/providers")
}

fn answers() -> Vec<Table> {
    let index: Table = fs::read_to_string(recorded().join("index.toml"))
        .expect("an index")
        .parse()
        .expect("TOML");
    index["answer"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|answer| answer.as_table().expect("a table").clone())
        .collect()
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

/// The body; none where it lies with shared data that is not here.
fn body(answer: &Table) -> Option<Vec<u8>> {
    match text(answer, "file") {
        Some(file) => {
            Some(fs::read(recorded().join(file)).unwrap_or_else(|error| panic!("{file}: {error}")))
        }
        None => fs::read(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../../shared/data")
                .join(text(answer, "shared").expect("a place")),
        )
        .ok(),
    }
}

/// Whether a cell is the expected one: as text, or as the number that it is.
fn same(cell: &str, expected: &str) -> bool {
    let numbers = cell.parse::<f64>().ok().zip(expected.parse::<f64>().ok());
    cell == expected || numbers.is_some_and(|(a, b)| (a - b).abs() <= b.abs() * 1e-12)
}

#[test]
fn recorded_answers_give_the_rows_that_they_hold() {
    let mut skipped = 0;
    for answer in answers() {
        let (id, name) = (
            text(&answer, "provider").expect("a provider"),
            text(&answer, "request").expect("a request"),
        );
        let what = format!(
            "{id} {name} {}",
            text(&answer, "file")
                .or_else(|| text(&answer, "shared"))
                .unwrap_or_default()
        );
        let provider = built_in()
            .get(id)
            .unwrap_or_else(|| panic!("no provider {id}"));
        let request = provider
            .requests
            .iter()
            .find(|request| request.name == name)
            .unwrap_or_else(|| panic!("no request {what}"));
        let Some(bytes) = body(&answer) else {
            skipped += 1;
            continue;
        };
        // Refusals that come with a status are told by it.
        if answer
            .get("status")
            .and_then(Value::as_integer)
            .is_some_and(|status| status >= 400)
        {
            continue;
        }
        let none = Table::new();
        let asked = answer
            .get("asked")
            .and_then(Value::as_table)
            .unwrap_or(&none);
        let saved = SavedAnswer {
            provider,
            request,
            token: text(asked, "token").and_then(Address::or_coin),
            chain: text(asked, "chain").and_then(Chain::parse),
            symbol: text(asked, "symbol").map(str::to_owned),
            decimals: asked.get("decimals").and_then(Value::as_integer),
            interval: text(asked, "interval").and_then(Interval::parse),
            account: text(asked, "account").map(|account| AccountRow {
                token_address: Address::coin("A"),
                platform: provider.platform.clone().unwrap_or_default(),
                account: account.to_owned(),
                account_id: None,
                role: None,
                followers: None,
                as_of: None,
                source: None,
            }),
            body: &bytes,
        };
        let outcome = saved::read(&saved).unwrap_or_else(|error| panic!("{what}: {error}"));
        match (outcome, text(&answer, "refusal")) {
            (SavedRows::Refusal(then, said), Some(expected)) => {
                assert_eq!(said, expected, "{what}");
                let expected = match text(&answer, "then") {
                    Some("wait") => RefusalAction::Wait,
                    Some("no rows") => RefusalAction::NoRows,
                    _ => RefusalAction::Say,
                };
                assert_eq!(then, expected, "{what}");
            }
            (SavedRows::Rows(frames, _), None) => {
                let tables: Vec<(&str, &Table)> =
                    match answer.get("tables").and_then(Value::as_table) {
                        Some(tables) => tables
                            .iter()
                            .map(|(table, expected)| {
                                (table.as_str(), expected.as_table().expect("a table"))
                            })
                            .collect(),
                        None => vec![(request.tables[0].table, &answer)],
                    };
                for (table, expected) in tables {
                    let frame = frames
                        .iter()
                        .find(|(filled, _)| *filled == table)
                        .map(|(_, frame)| frame);
                    let rows = expected
                        .get("rows")
                        .and_then(Value::as_integer)
                        .expect("a number of rows");
                    assert_eq!(
                        frame.map_or(0, polars::prelude::DataFrame::height) as i64,
                        rows,
                        "{what}, {table}"
                    );
                    let first = expected.get("first").and_then(Value::as_table);
                    for (column, expected) in first.into_iter().flatten() {
                        let cell = in_frame(frame.expect("rows"), column, 0).json();
                        let plain = |cell: &serde_json::Value| {
                            cell.as_str()
                                .map_or_else(|| cell.to_string(), str::to_owned)
                        };
                        let cell = cell.as_array().map_or_else(
                            || plain(&cell),
                            |list| list.iter().map(plain).collect::<Vec<_>>().join(","),
                        );
                        let expected = expected
                            .as_str()
                            .map_or_else(|| expected.to_string(), str::to_owned);
                        // A coin is written by its symbol.
                        let expected = Address::or_coin(&expected)
                            .map_or(expected, |address| address.to_string());
                        assert!(
                            same(&cell, &expected),
                            "{what}, {table}.{column}: {cell}, and not {expected}"
                        );
                    }
                }
            }
            (outcome, refusal) => panic!("{what}: {outcome:?}, and not {refusal:?}"),
        }
    }
    if skipped > 0 {
        writeln!(
            std::io::stderr(),
            "{skipped} answers lie with the shared data, which is not here"
        )
        .ok();
    }
}

#[test]
fn every_request_has_a_recorded_answer_with_its_source() {
    let answers = answers();
    let there: BTreeSet<(&str, &str)> = answers
        .iter()
        .filter_map(|answer| Some((text(answer, "provider")?, text(answer, "request")?)))
        .collect();
    for (id, provider) in built_in() {
        for request in &provider.requests {
            assert!(
                there.contains(&(id.as_str(), request.name.as_str())),
                "{id} {} has no recorded answer",
                request.name
            );
        }
    }
    for answer in &answers {
        let wanted = if text(answer, "genuine") == Some("documentation") {
            &["url"][..]
        } else {
            &["repo", "recorded", "url"]
        };
        assert!(
            wanted
                .iter()
                .all(|key| text(answer, key).is_some_and(|text| !text.is_empty())),
            "{answer:?}"
        );
    }
}

#[test]
fn the_examples_of_the_documentation_can_be_read() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers.md");
    let docs = fs::read_to_string(docs).expect("the page");
    // Indented blocks; a blank line inside one is followed by another indented line.
    let mut blocks: Vec<String> = vec![String::new()];
    for line in docs.lines() {
        match line.strip_prefix("    ") {
            Some(line) => blocks
                .last_mut()
                .expect("one")
                .push_str(&format!("{line}\n")),
            None if line.is_empty() => {}
            None => blocks.push(String::new()),
        }
    }
    let examples: Vec<&String> = blocks
        .iter()
        .filter(|block| block.starts_with("name = \"") && block.contains("[[request]]"))
        .collect();
    assert!(examples.len() >= 5, "{}", examples.len());
    for example in examples {
        Provider::parse("example", example, ProviderOrigin::Own)
            .unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}
