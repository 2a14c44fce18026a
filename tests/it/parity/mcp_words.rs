//! What a language model reads of the tools: enough to choose by, without the words of HTTP, and little to read.

use std::{collections::BTreeSet, path::Path};

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::{
    FrontEnds,
    mcp::{Client, text},
};

/// Questions in plain English, the tool that a person would choose, and a word that its description must have for that.
const QUESTIONS: &str = include_str!("../../questions/plain.tsv");

/// Tools that are mistaken for each other: each names the other.
const ALIKE: &[(&str, &str)] = &[
    ("token", "tokens"),
    ("dex", "dexes"),
    ("dexes", "all_dexes"),
    ("posts", "token_posts"),
    ("candles", "candle_batch"),
    ("compare", "candle_batch"),
    ("security", "security_batch"),
    ("holders", "holder_counts"),
    ("holder_counts", "holders_growth"),
    ("holders", "held_tokens"),
    ("patterns", "track_record"),
    ("patterns", "trendline"),
    ("track_record", "security_track_record"),
    ("posts", "posts_track_record"),
    ("posts_track_record", "track_record"),
    ("rehearse_alert", "alerts"),
    ("rehearse_alert", "add_alert"),
    ("alerts", "add_alert"),
    ("jobs", "create_job"),
    ("table_counts", "table_describe"),
    ("tables", "datasets"),
    ("jobs", "job_report"),
];

/// Words that mean nothing to who asks a tool.
const OF_HTTP: &[&str] = &[
    "GET ",
    "POST ",
    "HTTP",
    "header",
    "endpoint",
    "NDJSON",
    "Accept",
    "query string",
    "URL",
    "/tokens",
];

fn words(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|member| words(member, found)),
        Value::Array(items) => items.iter().for_each(|item| words(item, found)),
        Value::String(text) => found.push(text.clone()),
        _ => {}
    }
}

#[test]
fn a_tool_says_when_to_choose_it() {
    let front_ends = FrontEnds::new();
    let tools = Client::over_http(&front_ends).tools();
    let told = |name: &str| {
        let tool = tools
            .iter()
            .find(|tool| tool.name == name)
            .unwrap_or_else(|| panic!("no tool {name}"));
        tool.description.as_deref().unwrap().to_owned()
    };
    for line in QUESTIONS.lines() {
        let [question, tool, word] = line.split('\t').collect::<Vec<_>>().try_into().expect(line);
        assert!(
            told(tool).contains(word),
            "{question}: {tool} says nothing of `{word}`: {}",
            told(tool)
        );
    }
    let asked: BTreeSet<&str> = QUESTIONS
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert_eq!(asked.len(), 42);
    for (one, other) in ALIKE {
        for (from, to) in [(one, other), (other, one)] {
            assert!(
                told(from).contains(&format!("`{to}`")),
                "{from} does not tell itself from {to}"
            );
        }
    }
    for tool in &tools {
        let described = told(&tool.name);
        assert!(
            (60..700).contains(&described.len()),
            "{}: {described}",
            tool.name
        );
        let mut all = vec![described];
        words(&Value::Object((*tool.input_schema).clone()), &mut all);
        for text in &all {
            assert_eq!(
                OF_HTTP.iter().find(|word| text.contains(**word)),
                None,
                "{}: {text}",
                tool.name
            );
        }
    }
    let size = |of: &dyn Fn(&Tool) -> usize| tools.iter().map(of).sum::<usize>();
    let json = |value: &JsonObject| serde_json::to_vec(value).unwrap().len();
    // What a model reads: with the columns of the tables (2 kB), which spare it a list of 13 kB.
    let read = size(&|tool| {
        tool.name.len()
            + tool.description.as_ref().map_or(0, |told| told.len())
            + json(&tool.input_schema)
    });
    assert!(read < 31_000, "the tools are {read} bytes to read");
    // What only programs read.
    let written = size(&|tool| json(tool.output_schema.as_ref().unwrap()));
    assert!(
        written < 10_500,
        "the schemas of the answers are {written} bytes"
    );
    let all = serde_json::to_vec(&tools).unwrap().len();
    assert!(all < 46_500, "the list is {all} bytes");
}

#[test]
fn an_answer_says_how_old_it_is_and_how_to_go_on() {
    let front_ends = FrontEnds::new();
    let client = Client::over_http(&front_ends);
    let call = |tool: &str, given: Value| {
        client
            .call(tool, given.as_object().unwrap().clone())
            .unwrap()
    };
    let listed = call("tokens", json!({ "limit": 2 }));
    let row = listed.structured_content.clone().unwrap()["tokens"][0].clone();
    assert!(
        row.get("price_history").is_none() && row.get("market_cap").is_some(),
        "{row}"
    );
    let notes: Vec<&str> = listed.content[1..]
        .iter()
        .map(|block| block.as_text().unwrap().text.as_str())
        .collect();
    let generation = front_ends.served.snapshot().unwrap().number;
    assert_eq!(
        notes[0],
        format!("More results: repeat the call with `page` 2, `generation` {generation}.")
    );
    assert!(
        notes[1].starts_with(&format!("Data snapshot {generation}; "))
            && notes[1].ends_with(" ago."),
        "{}",
        notes[1]
    );
    let next = call(
        "tokens",
        json!({ "limit": 2, "page": 2, "generation": generation }),
    );
    assert!(next.is_error == Some(false) && text(&next) != text(&listed));
    let whole = call("tokens", json!({ "limit": 2, "only": "" }))
        .structured_content
        .unwrap();
    assert!(
        whole["tokens"][0]["price_history"].is_array(),
        "an empty `only` leaves nothing out"
    );
    let sorted = call(
        "tokens",
        json!({ "limit": 1, "sort": "-price_change_7d", "where": "liquidity>0" }),
    );
    let row = sorted.structured_content.unwrap()["tokens"][0].clone();
    assert!(
        row.get("price_change_7d").is_some()
            && row.get("liquidity").is_some()
            && row.get("rsi_14").is_none(),
        "what is sorted by is shown: {row}"
    );
    let quotes = |result: &rmcp::model::CallToolResult| {
        let texts = result.content.iter().filter_map(|block| block.as_text());
        texts
            .into_iter()
            .any(|text| text.text.contains("quoted from their authors"))
    };
    assert!(quotes(&call("posts", json!({ "limit": 1 }))) && !quotes(&listed));
    let past = call("tokens", json!({ "limit": 1, "as_of": "2026-06-01" }));
    let note = past.content.last().unwrap().as_text().unwrap().text.clone();
    assert!(note.contains(", as of 2026-06-01 23:59; "), "{note}");
    let gone = call("tokens", json!({ "generation": 99 }));
    assert_eq!(
        (gone.is_error, &gone.structured_content.unwrap()["code"]),
        (Some(true), &json!("generation_gone"))
    );
}

#[test]
fn a_warning_of_security_stands_before_an_answer_about_prices() {
    let front_ends = FrontEnds::over(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets")),
        "",
    );
    let client = Client::over_http(&front_ends);
    let wallet = json!({ "tokens": { "MOONPUP": "1000000000000000000" } });
    for (tool, given, warns) in [
        (
            "candles",
            json!({ "token_address": "MOONPUP", "limit": 1 }),
            true,
        ),
        ("patterns", json!({ "contractAddress": "MOONPUP" }), true),
        (
            "patterns",
            json!({ "contractAddress": "MOONPUP", "as_of": "2026-11-01" }),
            true,
        ),
        ("compare", json!({ "addresses": "UNI,MOONPUP" }), true),
        ("yield", wallet, true),
        (
            "candles",
            json!({ "token_address": "UNI", "limit": 1 }),
            false,
        ),
        ("security", json!({ "contractAddress": "MOONPUP" }), false),
    ] {
        let result = client
            .call(tool, given.as_object().unwrap().clone())
            .unwrap();
        let first = &result.content[0].as_text().unwrap().text;
        assert_eq!(
            first.starts_with("Warning about MOONPUP. Security: AVOID, score "),
            warns,
            "{tool} {given}: {first}"
        );
        assert!(!warns || result.structured_content.is_some(), "{tool}");
    }
}
