//! The commands about a dataset: `check`, `demo`, `schema` and `dispute`.

use std::fs;

use serde_json::Value;

use super::{DEMO, Desk};

#[test]
fn check_prints_each_finding_and_exits_1_on_errors() {
    let desk = Desk::new();
    let (code, out, err) = desk.run(&["check", DEMO]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let summary = out.lines().last().unwrap();
    assert!(
        summary.contains(" tables, ") && summary.contains(": 0 errors, "),
        "{summary}"
    );

    let good = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
    desk.write(
        "bad/tokens.csv",
        &format!("token_address,symbol,name,chain\n{good},UNI,Uniswap,eth\n0x12,BAD,Bad,eth\n"),
    );
    let (code, out, err) = desk.run(&["check", "bad"]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let line = out.lines().find(|line| line.starts_with("error")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(
        words[..5],
        ["error", "tokens.csv", "2", "token_address", "0x12"],
        "{out}"
    );
    assert!(
        out.lines()
            .last()
            .unwrap()
            .contains("1 row (1 rejected): 1 error, "),
        "{out}"
    );

    desk.write(
        "live/tokens.csv",
        &format!("token_address,symbol,name,chain\n{good},UNI,Uniswap,eth\n"),
    );
    for (providers, said) in [
        ("\"binance\"", None),
        (
            "\"foo\"",
            Some(
                "`foo` is not a provider; `tokendeck providers` lists them (providers with `candles`: ",
            ),
        ),
        (
            "[\"binance\", \"binanc\"]",
            Some("did you mean `binance`? (providers with `candles`: "),
        ),
        (
            "\"dexscreener\"",
            Some("`dexscreener` has no `candles`; it has "),
        ),
    ] {
        desk.write(
            "live/dataset.toml",
            &format!("[tables.candles]\nprovider = {providers}\n"),
        );
        let (code, out, err) = desk.run(&["check", "live"]);
        assert_eq!(
            (code, err.as_str()),
            (i32::from(said.is_some()), ""),
            "{providers}: {out}"
        );
        let line = out.lines().find(|line| line.starts_with("error"));
        assert_eq!(line.is_some(), said.is_some(), "{providers}: {out}");
        assert!(
            said.is_none_or(|said| line
                .is_some_and(|line| line.contains(said) && line.contains("geckoterminal"))),
            "{providers}: {out}"
        );
    }

    let (code, out, _) = desk.run(&["check", "bad", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    let finding = &report["tables"][0]["findings"][0];
    assert_eq!(
        (
            code,
            report["errors"].as_u64(),
            finding["row"].as_u64(),
            finding["value"].as_str()
        ),
        (1, Some(1), Some(2), Some("0x12"))
    );
}

#[test]
fn demo_writes_a_dataset_that_get_can_read() {
    let desk = Desk::new();
    let (code, out, err) = desk.run(&[
        "demo", "my demo", "--tokens", "3", "--days", "40", "--seed", "7", "--format", "csv",
    ]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.starts_with("wrote ") && out.ends_with("\nopen it with: tokendeck --data 'my demo'\n"),
        "{out}"
    );
    let (code, out, _) = desk.run(&["get", "/tokens", "--data", "my demo"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, answer["total"].as_u64()), (0, Some(3)));

    desk.write("own/notes.txt", "mine");
    let (code, _, err) = desk.run(&["demo", "own"]);
    assert!(
        code == 1 && err.starts_with("tokendeck: `own` contains files that are not demo data"),
        "{err}"
    );
}

#[test]
fn schema_describes_tables_for_people_and_programs() {
    let desk = Desk::new();
    let (code, out, _) = desk.run(&["schema"]);
    assert!(
        code == 0
            && out.lines().any(|line| line.starts_with("tokens ")
                && line.ends_with("token_address, symbol, name, chain")),
        "{out}"
    );
    let (code, out, _) = desk.run(&["schema", "gas"]);
    assert!(
        code == 0 && out.starts_with("gas: ") && out.contains("usd_per_100k_gas"),
        "{out}"
    );
    let (code, out, _) = desk.run(&["schema", "gas", "--json"]);
    let tables: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, tables[0]["columns"][0]["name"].as_str()),
        (0, Some("chain"))
    );
    let (code, out, _) = desk.run(&["schema", "gas", "--template"]);
    assert!(
        code == 0 && out.contains("# [tables.gas.columns]\n"),
        "{out}"
    );
    let (code, out, _) = desk.run(&["schema", "--chains"]);
    assert!(
        code == 0
            && out.lines().any(|line| line.starts_with("bnb ")
                && line.contains(" 56 ")
                && line.contains("binance")),
        "{out}"
    );
}

#[test]
fn a_disputed_finding_stays_visible_and_no_longer_counts() {
    const TOKEN: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
    let desk = Desk::new();
    desk.write(
        "d/tokens.csv",
        &format!("token_address,symbol,name,chain,total_supply\n{TOKEN},A,A,eth,1000\n"),
    );
    let holders: Vec<String> = (0..60)
        .map(|i| format!("{TOKEN},0x{i:040x},{}", if i == 7 { 900 } else { 1 }))
        .collect();
    desk.write(
        "d/holders.csv",
        &format!(
            "token_address,holder_address,balance\n{}\n",
            holders.join("\n")
        ),
    );
    let dispute = |rest: &[&str]| {
        let (code, out, err) = desk.run(
            &[
                &["dispute", TOKEN, "top10_concentration", "--data", "d"],
                rest,
            ]
            .concat(),
        );
        assert_eq!(code, 0, "{err}");
        out
    };
    // Score, and text and objection of the finding.
    let judged = || {
        let (code, out, err) = desk.run(&[
            "get",
            &format!("/{TOKEN}/security/inference?explain=true"),
            "--data",
            "d",
        ]);
        assert_eq!(code, 0, "{err}");
        let answer: Value = serde_json::from_str(&out).unwrap();
        let all = answer["anomalyDetection"]["holderDistribution"]["evidence"]
            .as_array()
            .unwrap();
        let one = all
            .iter()
            .find(|one| one["code"] == "TOP10_CONCENTRATION")
            .unwrap()
            .clone();
        let check = answer["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["code"] == "TOP10_CONCENTRATION")
            .unwrap()
            .clone();
        assert_eq!(check["state"], "found");
        (
            answer["explanation"]["uncappedScore"].as_i64().unwrap(),
            check["evidence"].as_str().unwrap().to_owned(),
            one["disputed"].clone(),
        )
    };
    let (before, _, objection) = judged();
    assert_eq!(objection, Value::Null);
    assert!(
        dispute(&["--why", "a custodian, of many", "--until", "2040-01-31"])
            .contains("is disputed until 2040-01-31")
    );
    let (after, text, objection) = judged();
    assert!(after > before, "{after} after {before}");
    assert!(text.contains("(disputed: a custodian, of many)"), "{text}");
    assert_eq!(objection["until"], "2040-01-31T00:00:00Z");
    // The data are of a later day than its end.
    desk.write(
        "d/holder_counts.csv",
        &format!("token_address,date,holders\n{TOKEN},2026-01-31,60\n"),
    );
    let over = dispute(&["--why", "a custodian, of many", "--until", "2025-01-31"]);
    assert!(
        over.contains("the data is already past that day, so the finding still counts"),
        "{over}"
    );
    assert_eq!(judged().2, Value::Null);
    dispute(&["--why", "another reason"]);
    assert_eq!(
        fs::read_to_string(desk.path().join("d/disputes.csv"))
            .unwrap()
            .lines()
            .count(),
        2
    );
    dispute(&["--withdraw"]);
    assert_eq!(judged().0, before);
}
