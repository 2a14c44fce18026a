//! Contracts with storage in the dataset, through the endpoint's question: values in storage are facts, and unreadable storage is reported.

use std::fmt::Write as _;

use demo::contracts::{Identity, contract};
use model::address::Address;
use security::SecurityInference;

use crate::security_contracts::{ask, deck_of};

const OWNER: Address = Address([0xA1; 20]);
const NOBODY: Address = Address([0; 20]);
const SUPPLY: &str = "\"\"0x2\"\": \"\"0x033b2e3c9fd0803ce8000000\"\"";

/// Answers for contracts by name, each with its owner and storage in the dataset.
fn answers(cases: &[(&str, Address, String)]) -> Vec<SecurityInference> {
    let mut tokens = "token_address,symbol,name,chain,decimals\n".to_owned();
    let mut rows = "token_address,bytecode,creator,owner,storage\n".to_owned();
    let address = |i: usize| Address([0x11 + i as u8; 20]);
    for (i, (name, owner, storage)) in cases.iter().enumerate() {
        let code = contract(name).unwrap().code(&Identity::default()).runtime;
        writeln!(tokens, "{},S{i},Stored {i},eth,18", address(i)).unwrap();
        writeln!(
            rows,
            "{},{},{OWNER},{owner},\"{storage}\"",
            address(i),
            const_hex::encode_prefixed(code)
        )
        .unwrap();
    }
    let service = deck_of(&[("tokens", tokens), ("contracts", rows)]);
    (0..cases.len())
        .map(|i| ask(&service, address(i)).unwrap())
        .collect()
}

fn codes(answer: &SecurityInference) -> Vec<(&'static str, bool)> {
    let evidence = answer
        .anomaly_detection
        .code_patterns
        .evidence
        .iter()
        .flatten();
    evidence
        .filter(|anomaly| anomaly.code.word() != "UNVERIFIED")
        .map(|anomaly| (anomaly.code.word(), anomaly.strength > 0.0))
        .collect()
}

#[test]
fn what_the_storage_in_the_dataset_shows_is_a_fact() {
    let owner = format!("\"\"0x3\"\": \"\"{OWNER}\"\"");
    let kept = format!("\"\"0x9\"\": \"\"{OWNER}\"\"");
    let cases = [
        ("owner_mint", OWNER, format!("{{{SUPPLY}, {owner}}}")),
        ("owner_mint", NOBODY, format!("{{{SUPPLY}}}")),
        ("shadow_owner", NOBODY, format!("{{{SUPPLY}, {kept}}}")),
        ("launch_switch", NOBODY, format!("{{{SUPPLY}}}")),
        ("launch_switch", OWNER, format!("{{{SUPPLY}, {owner}}}")),
        (
            "launch_switch",
            OWNER,
            format!("{{{SUPPLY}, {owner}, \"\"0xb\"\": \"\"0x1\"\"}}"),
        ),
    ];
    let answers = answers(&cases);
    let expected: [&[(&str, bool)]; 6] = [
        &[("OWNER_MINT", true)],
        &[("OWNER_MINT", false)],
        &[("OWNERSHIP_RETURNS", true), ("OWNER_MINT", true)],
        &[("SELL_BLOCKED", true)],
        &[("PAUSABLE", true)],
        &[],
    ];
    for ((answer, expected), (name, ..)) in answers.iter().zip(expected).zip(&cases) {
        assert_eq!(codes(answer), expected, "{name}: {}", answer.recommendation);
        let execution = answer
            .explanation
            .as_ref()
            .and_then(|explanation| explanation.execution.as_ref())
            .unwrap();
        assert_eq!(
            (execution.deployed_by.as_deref(), execution.unfinished.len()),
            (Some("snapshot"), 0),
            "{name}"
        );
    }
    assert!(
        answers[3].recommendation.starts_with("AVOID")
            && answers[3]
                .recommendation
                .contains("with the dataset's storage")
    );
    // A renounced privilege is reported without weight.
    let renounced = &answers[1];
    assert!(
        !renounced.recommendation.contains("mints"),
        "{}",
        renounced.recommendation
    );
    assert!(
        renounced
            .anomaly_detection
            .code_patterns
            .anomalies
            .iter()
            .any(|text| text.contains("renounced"))
    );
}

#[test]
fn a_storage_that_cannot_be_read_is_named_and_the_code_looked_at_without_it() {
    let long = format!("{{\"\"0x{}\"\": \"\"0x1\"\"}}", "0".repeat(65));
    let cases: Vec<(&str, String)> = vec![
        ("JSON object", "slots".into()),
        ("JSON object", "[1, 2]".into()),
        ("JSON object", "{\"\"0x0\"\": 1}".into()),
        ("JSON object", "{\"\"0x0\"\": ".into()),
        ("`0xzz`", "{\"\"0xzz\"\": \"\"0x1\"\"}".into()),
        ("`minus one`", "{\"\"0x0\"\": \"\"minus one\"\"}".into()),
        ("of up to 32 bytes", long),
        ("", "{}".into()),
        ("", "{\"\"0x\"\": \"\"\"\", \"\"7\"\": \"\"fff\"\"}".into()),
    ];
    let rows: Vec<_> = cases
        .iter()
        .map(|(_, storage)| ("owner_mint", OWNER, storage.clone()))
        .collect();
    let answers = answers(&rows);
    assert_eq!(answers.len(), cases.len());
    for (answer, (says, storage)) in answers.iter().zip(&cases) {
        let execution = answer
            .explanation
            .as_ref()
            .and_then(|explanation| explanation.execution.as_ref())
            .unwrap();
        let named = execution
            .unfinished
            .iter()
            .any(|text| text.contains("`storage` in `contracts`") && text.contains(says));
        assert_eq!(
            named,
            !says.is_empty(),
            "{storage}: {:?}",
            execution.unfinished
        );
        assert!(
            codes(answer).contains(&("OWNER_MINT", true)) || says.is_empty(),
            "{storage}: {:?}",
            codes(answer)
        );
    }
}
