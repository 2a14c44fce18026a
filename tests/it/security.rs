//! Planted cases: what is wrong is found, its honest twin is not, and the answer holds together.

#[path = "../generator/security/planted.rs"]
mod planted;
#[path = "../generator/security.rs"]
#[expect(clippy::module_inception, reason = "the generator's parts name each other so wherever they are included")]
mod security;

use std::sync::Arc;

use planted::{PLANTED, market};
use security::Case;
use tokendeck::{
    analysis::security::{AnomalyCode, Part, SecurityInference},
    dataset::{
        address::Address,
        cache::CacheOptions,
        load::{load, load_with},
        progress::Silent,
    },
    error::Code,
    question::{
        Question,
        progress::Progress,
        security::SecurityQuestion,
        snapshot::{AnswerSettings, Snapshot},
    },
};

fn snapshot(cases: Vec<Case>) -> Arc<Snapshot> {
    let folder = tempfile::tempdir().expect("a folder");
    security::write(cases, folder.path());
    let dataset = load(folder.path(), &Silent).expect("a dataset");
    assert!(dataset.tables.iter().all(|table| table.rows_bad == 0), "no row is set aside");
    Arc::new(Snapshot::new(1, dataset, AnswerSettings::default()))
}

fn ask(snapshot: &Snapshot, token: &str, explain: bool) -> SecurityInference {
    let question = SecurityQuestion { contract_address: Address::parse(token).expect("an address"), explain };
    question.answer(snapshot, &Progress::default()).expect("an answer")
}

fn strength(answer: &SecurityInference, code: AnomalyCode) -> f64 {
    let found = answer.anomaly_detection.part(code.part()).evidence.iter().flatten().find(|anomaly| anomaly.code == code);
    found.map_or(0.0, |anomaly| anomaly.strength)
}

#[test]
fn what_is_planted_is_found_and_its_honest_twin_is_not() {
    let mut cases = Vec::new();
    let mut tokens = Vec::new();
    for (i, (code, wrong, honest)) in PLANTED.iter().enumerate() {
        for (j, plant) in [wrong, honest].into_iter().enumerate() {
            let mut case = Case::new((i * 2 + j) as u64 + 1);
            plant(&mut case);
            tokens.push((AnomalyCode::parse(code).expect("a code"), j == 0, case.token.clone()));
            cases.push(case);
        }
    }
    let snapshot = snapshot(cases);
    let mut wrong = Vec::new();
    for (code, planted, token) in &tokens {
        let answer = ask(&snapshot, token, true);
        if (strength(&answer, *code) > 0.0) != *planted {
            wrong.push(format!("{} planted {planted}: {:?}", code.word(), answer.anomaly_detection));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Every code of the two parts, and the three of the third that come from data.
    let codes: std::collections::BTreeSet<AnomalyCode> = tokens.iter().map(|(code, ..)| *code).collect();
    let all = AnomalyCode::ALL.iter().filter(|code| {
        code.part() != Part::Code || matches!(code, AnomalyCode::KnownScam | AnomalyCode::Impersonates | AnomalyCode::SimilarToScam)
    });
    assert_eq!(codes.len(), all.count());
}

#[test]
fn an_honest_market_is_found_honest() {
    let cases: Vec<Case> = (1..=20)
        .map(|i| {
            let mut case = Case::new(i);
            market(&mut case);
            case
        })
        .collect();
    let tokens: Vec<String> = cases.iter().map(|case| case.token.clone()).collect();
    let snapshot = snapshot(cases);
    for token in tokens {
        let answer = ask(&snapshot, &token, true);
        let found: Vec<_> =
            [Part::Transactions, Part::Holders].iter().flat_map(|part| &answer.anomaly_detection.part(*part).anomalies).collect();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(
            (answer.security_score, answer.recommendation.split(':').next()),
            (60, Some("NOT ENOUGH DATA")),
            "the code is not known"
        );
        assert!(answer.recommendation.contains("no contract code"), "{}", answer.recommendation);
    }
}

#[test]
fn what_is_explained_is_extra_and_the_rest_is_the_same() {
    let mut case = Case::new(1);
    market(&mut case);
    let token = case.token.clone();
    let snapshot = snapshot(vec![case]);
    let (plain, explained) = (ask(&snapshot, &token, false), ask(&snapshot, &token, true));
    let mut value = serde_json::to_value(&explained).expect("JSON");
    let members = value.as_object_mut().expect("an object");
    assert!(members.remove("explanation").is_some_and(|explanation| explanation["holders"]["top10"].is_number()));
    assert!(members.remove("checks").is_some_and(|checks| checks.as_array().is_some_and(|checks| checks.len() == AnomalyCode::ALL.len())));
    for part in members["anomalyDetection"].as_object_mut().expect("parts").values_mut() {
        assert!(part.as_object_mut().expect("a part").remove("evidence").is_some());
    }
    assert_eq!(value, serde_json::to_value(&plain).expect("JSON"));
}

#[test]
fn large_tables_are_read_from_the_cache_to_the_same_answer() {
    let mut cases: Vec<Case> = (1..=3).map(Case::new).collect();
    for case in &mut cases {
        planted::wash(case, 1.0);
    }
    let tokens: Vec<String> = cases.iter().map(|case| case.token.clone()).collect();
    let (folder, cache) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    security::write(cases, folder.path());
    let options = CacheOptions { folder: Some(cache.path().to_owned()), rows_min: 1, ..CacheOptions::default() };
    let large = load_with(folder.path(), &options, &Silent).expect("a dataset");
    assert!(["transfers", "holders"].iter().all(|name| large.table(name).is_some_and(|table| table.large.is_some())));
    let large = Snapshot::new(1, large, AnswerSettings::default());
    let small = Snapshot::new(1, load(folder.path(), &Silent).expect("a dataset"), AnswerSettings::default());
    for token in tokens {
        let answer = ask(&large, &token, true);
        assert!(strength(&answer, AnomalyCode::WashTrading) > 0.0);
        assert_eq!(answer, ask(&small, &token, true));
    }
}

#[test]
fn a_token_without_any_of_the_three_is_told_what_to_add() {
    let mut case = Case::new(1);
    market(&mut case);
    let bare = "0x00000000000000000000000000000000000000aa";
    case.row("tokens", format!("{bare},BARE,Bare,eth,6,1,,"));
    case.row("scams", format!("{bare},Bare,honeypot,,somebody"));
    let snapshot = snapshot(vec![case]);
    let question = SecurityQuestion { contract_address: Address::parse(bare).expect("an address"), explain: false };
    let problem = question.answer(&snapshot, &Progress::default()).expect_err("no data");
    assert_eq!(problem.code, Code::NoSecurityData);
    assert!(
        problem.detail.contains("`contracts`, `transfers` or `holders`") && problem.detail.contains("known scam"),
        "{}",
        problem.detail
    );
}
