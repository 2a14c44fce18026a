//! Answers that are too long: they are cut to the budget, and say what was left out.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Value, json};

use super::{Client, FrontEnds, of};

#[test]
fn a_long_answer_is_cut_and_says_what_was_left_out() {
    let front_ends = FrontEnds::new();
    let client = Client::over_http(&front_ends);
    for (tool, given, left_out, says) in [
        (
            "table",
            json!({ "table": "candles", "limit": 10_000 }),
            "the last ",
            "Request less with `columns`, `where`, `limit`.",
        ),
        (
            "tokens",
            json!({ "budget_kb": 3, "only": "" }),
            "`price_history` of each row in `tokens`",
            "`budget_kb` returns more",
        ),
    ] {
        let kilobytes = given["budget_kb"].as_u64().unwrap_or(32) as usize;
        let result = client
            .call(tool, given.as_object().unwrap().clone())
            .unwrap();
        let [answer, note] = [0, 1].map(|nth| result.content[nth].as_text().unwrap().text.clone());
        assert!(
            answer.len() <= kilobytes * 1_024 && answer.len() > kilobytes * 512,
            "{tool}: {}",
            answer.len()
        );
        assert!(
            note.starts_with("The result was cut; ") && note.contains(says),
            "{note}"
        );
        assert!(
            serde_json::from_str::<Value>(&answer).unwrap()["cut"]
                .to_string()
                .contains(left_out),
            "{tool}"
        );
        assert_eq!(
            result.structured_content,
            Some(serde_json::from_str(&answer).unwrap())
        );
    }
}

#[test]
fn every_answer_keeps_to_its_budget() {
    let front_ends = FrontEnds::over(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets")),
        "",
    );
    let client = Client::over_http(&front_ends);
    let job = front_ends.filled("{job}");
    let mut cut = BTreeSet::new();
    for tool in client.tools() {
        let takes = |name: &str| tool.input_schema["properties"].get(name).is_some();
        let mut given = of(&json!({ "budget_kb": 4 }));
        for (name, value) in [
            ("token_address", json!("UNI")),
            ("addresses", json!("UNI,LINK,AAVE,PEPE,SHIB")),
            ("dexId", json!("uniswap-v3")),
            ("job_id", json!(job)),
            ("table", json!("contracts")),
            ("column", json!("bytecode")),
            ("condition", json!("24h<-5")),
            (
                "address",
                json!("0x3dc63a91fd50867655d6921ac18c6f3fba045987"),
            ),
            ("limit", json!(100)),
        ] {
            let is_wanted = name != "addresses" || tool.name != "tokens";
            if takes(name) && is_wanted {
                given.insert(name.to_owned(), value);
            }
        }
        if takes("explain") {
            let is_flag = tool.input_schema["properties"]["explain"]["type"] == "boolean";
            given.insert(
                "explain".into(),
                if is_flag { json!(true) } else { json!("true") },
            );
        }
        if tool.name == "yield" {
            given.insert("tokens".into(), json!({ "USDC": "100000000000" }));
        }
        let result = client.call(&tool.name, given.clone()).unwrap();
        let texts: Vec<&str> = result
            .content
            .iter()
            .map(|block| block.as_text().unwrap().text.as_str())
            .collect();
        assert_eq!(
            result.is_error,
            Some(false),
            "{} {given:?} {texts:?}",
            tool.name
        );
        let length: usize = texts.iter().map(|text| text.len()).sum();
        assert!(length <= 4_096, "{}: {length} {texts:?}", tool.name);
        let answer = result.structured_content.unwrap();
        if let Some(omitted) = answer.get("cut").filter(|_| tool.name != "table") {
            assert!(!omitted.as_array().unwrap().is_empty(), "{}", tool.name);
            assert!(
                texts
                    .iter()
                    .any(|text| text.starts_with("The result was cut; ")),
                "{texts:?}"
            );
            cut.insert(tool.name.to_string());
        }
        // The members of an answer are those that its schema names.
        let named = tool.output_schema.unwrap();
        for member in answer.as_object().unwrap().keys() {
            let is_dated = ["asOf", "asOfUnknown"].contains(&member.as_str());
            assert!(
                is_dated || named["properties"].get(member).is_some(),
                "{}: {member}",
                tool.name
            );
        }
    }
    for long in [
        "security",
        "security_batch",
        "tokens",
        "candles",
        "job_report",
        "datasets",
    ] {
        assert!(cut.contains(long), "{long} was not cut: {cut:?}");
    }
}
