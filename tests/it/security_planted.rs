//! Each code of the part about code: the contract that must raise it, and the honest twin that must not; and bytecode that means harm to
//! whoever executes it, asked of the endpoint.

use std::{fmt::Write as _, time::Instant};

use tokendeck::{
    analysis::security::{
        AnomalyCode, Part,
        code::{Budget, CodeInput, inspect},
    },
    dataset::{
        address::Address,
        demo::contracts::{Contract, contract, contracts},
    },
    deck::{Deck, DeckOptions},
    question::{progress::Progress, security::SecurityQuestion},
};

/// The codes that executing the contract raises.
fn codes(contract: &Contract) -> Vec<&'static str> {
    let code = contract.code(&tokendeck::dataset::demo::contracts::Identity::default());
    let types: [String; 0] = [];
    let input = CodeInput {
        runtime: &code.runtime,
        creation: Some(&code.creation),
        constructor_types: Some(&types),
        has_source: true,
        ..CodeInput::default()
    };
    let report = inspect(&input, &Budget::default(), &|| false);
    report.anomalies.iter().map(|anomaly| anomaly.code.word()).collect()
}

#[test]
fn each_planted_fault_is_found_and_its_twin_is_not_accused() {
    let mut says = String::new();
    for contract in contracts() {
        let found = codes(contract);
        let missed: Vec<&&str> = contract.fires.iter().filter(|code| !found.contains(code)).collect();
        let wrong: Vec<&&str> = found.iter().filter(|code| !contract.fires.contains(code) && !contract.also.contains(code)).collect();
        if !(missed.is_empty() && wrong.is_empty()) {
            writeln!(says, "{}: missed {missed:?}, falsely {wrong:?}", contract.name).unwrap();
        }
    }
    assert!(says.is_empty(), "\n{says}");
}

#[test]
fn every_code_that_executing_can_raise_is_planted() {
    // UNVERIFIED is the dataset's, the others compare with other tokens.
    let elsewhere = ["UNVERIFIED", "IMPERSONATES", "SIMILAR_TO_SCAM", "KNOWN_SCAM"];
    for code in AnomalyCode::of(Part::Code).map(AnomalyCode::word).filter(|code| !elsewhere.contains(code)) {
        let planted = contracts().find(|contract| contract.fires.contains(&code));
        let twin = planted.and_then(|planted| contract(planted.twin?));
        assert!(twin.is_some_and(|twin| !twin.fires.contains(&code)), "{code}");
    }
}

#[test]
fn a_renamed_fault_is_still_found() {
    // Other names, other metadata: the selectors stay, but nothing may hang on the words.
    let planted = contract("sell_block_pair").unwrap();
    let identity = tokendeck::dataset::demo::contracts::Identity { name: "Calm Lake", symbol: "LAKE", decimals: 6, supply: 1 << 60 };
    let (code, types): (_, [String; 0]) = (planted.code(&identity), []);
    let input =
        CodeInput { runtime: &code.runtime, creation: Some(&code.creation), constructor_types: Some(&types), ..CodeInput::default() };
    let report = inspect(&input, &Budget::default(), &|| false);
    assert!(report.anomalies.iter().any(|anomaly| anomaly.code == AnomalyCode::SellBlocked && anomaly.fatal));
}

/// Bytecode that costs: each is reached by every call.
fn hostile() -> Vec<(&'static str, String)> {
    let garbage: String = (0..30_000_u32).map(|i| format!("{:02x}", (i.wrapping_mul(2_654_435_761) >> 13) & 0xff)).collect();
    vec![
        ("an endless loop", "5b600056".to_owned()),
        ("a memory bomb", "5b60ff6001601f1b5260005600".to_owned()),
        ("ever more memory", "5b5959526000565b".to_owned()),
        ("calls to itself", "5b60006000600060006000305af15060005600".to_owned()),
        ("creations without end", "5b600060006000f05060005600".to_owned()),
        ("hashing without end", "5b620fffff60002050600056".to_owned()),
        ("garbage beyond the limit of a contract", garbage),
        ("jump targets alone", "5b".repeat(24_576)),
        ("pushes without data", "7f".to_owned()),
        ("one byte", "00".to_owned()),
        ("no code", String::new()),
        ("half a byte", "6".to_owned()),
        ("not hex", "zz".to_owned()),
        ("a dispatcher of thousands", (0..2_000).map(|i| format!("8063{i:08x}14610000 57").replace(' ', "")).collect()),
    ]
}

#[test]
fn hostile_bytecode_is_answered_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let (mut tokens, mut rows) = ("token_address,symbol,name,chain,decimals\n".to_owned(), "token_address,bytecode\n".to_owned());
    let cases = hostile();
    let address = |i: usize| Address([0x11 + i as u8; 20]);
    for (i, (_, code)) in cases.iter().enumerate() {
        writeln!(tokens, "{},H{i},Hostile {i},eth,18", address(i)).unwrap();
        writeln!(rows, "{},0x{code}", address(i)).unwrap();
    }
    std::fs::write(folder.path().join("tokens.csv"), tokens).unwrap();
    std::fs::write(folder.path().join("contracts.csv"), rows).unwrap();
    std::fs::write(folder.path().join("holders.csv"), "token_address,holder_address,balance\n").unwrap();
    let deck = Deck::new(folder.path(), DeckOptions::default()).unwrap();
    deck.load().unwrap();
    for (i, (what, _)) in cases.iter().enumerate() {
        let begun = Instant::now();
        let answer = deck.answer(&SecurityQuestion { contract_address: address(i), explain: true }, &Progress::default());
        assert!(begun.elapsed().as_secs() < 30, "{what}: {:?}", begun.elapsed());
        match answer {
            Ok(known) => assert!(known.answer.security_score <= 60, "{what}: {}", known.answer.security_score),
            Err(problem) => assert_eq!(problem.code, tokendeck::error::Code::NoSecurityData, "{what}: {}", problem.detail),
        }
    }
}
