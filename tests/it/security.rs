//! Planted cases: each fault is found, its honest twin is not accused, and the answer is consistent.

#[path = "../generator/security/planted.rs"]
mod planted;
#[path = "../generator/security.rs"]
#[expect(
    clippy::module_inception,
    reason = "the generator's parts name each other so wherever they are included"
)]
mod security;

use std::sync::Arc;

use ::security::{AnomalyCode, Part, SecurityInference};
use frames::cache::CacheOptions;
use load::loader::{load, load_with};
use model::{
    address::Address,
    error::Code,
    progress::{NoProgress, Progress},
};
use planted::{PLANTED, market};
use query::queries::{
    Query,
    security::SecurityQuery,
    snapshot::{AnswerSettings, Snapshot},
    view::View,
};
use security::{Case, HOUR, START};

fn snapshot(cases: Vec<Case>) -> Arc<Snapshot> {
    let folder = tempfile::tempdir().expect("a folder");
    security::write(cases, folder.path());
    let dataset = load(folder.path(), &NoProgress).expect("a dataset");
    assert!(
        dataset.tables.iter().all(|table| table.rows_bad == 0),
        "no row is rejected"
    );
    Arc::new(Snapshot::new(1, dataset, AnswerSettings::default()))
}

fn ask(snapshot: &Snapshot, token: &str, explain: bool) -> SecurityInference {
    let question = SecurityQuery {
        contract_address: Address::parse(token).expect("an address"),
        explain,
    };
    question
        .answer(&View::new(snapshot), &Progress::default())
        .expect("an answer")
}

fn strength(answer: &SecurityInference, code: AnomalyCode) -> f64 {
    let found = answer
        .anomaly_detection
        .part(code.part())
        .evidence
        .iter()
        .flatten()
        .find(|anomaly| anomaly.code == code);
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
            tokens.push((
                AnomalyCode::parse(code).expect("a code"),
                j == 0,
                case.token.clone(),
            ));
            cases.push(case);
        }
    }
    let snapshot = snapshot(cases);
    let mut wrong = Vec::new();
    for (code, planted, token) in &tokens {
        let answer = ask(&snapshot, token, true);
        if (strength(&answer, *code) > 0.0) != *planted {
            wrong.push(format!(
                "{} planted {planted}: {:?}",
                code.word(),
                answer.anomaly_detection
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // All codes of the two parts, and the three of the third that come from data.
    let codes: std::collections::BTreeSet<AnomalyCode> =
        tokens.iter().map(|(code, ..)| *code).collect();
    let all = AnomalyCode::ALL.iter().filter(|code| {
        code.part() != Part::Code
            || matches!(
                code,
                AnomalyCode::KnownScam | AnomalyCode::Impersonates | AnomalyCode::SimilarToScam
            )
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
        let found: Vec<_> = [Part::Transactions, Part::Holders]
            .iter()
            .flat_map(|part| &answer.anomaly_detection.part(*part).anomalies)
            .collect();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(
            (
                answer.security_score,
                answer.recommendation.split(':').next()
            ),
            (59, Some("NOT ENOUGH DATA")),
            "the code is unknown"
        );
        assert!(
            answer.recommendation.contains("no contract code"),
            "{}",
            answer.recommendation
        );
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
    assert!(
        members
            .remove("explanation")
            .is_some_and(|explanation| explanation["holders"]["top10"].is_number())
    );
    assert!(members.remove("checks").is_some_and(|checks| {
        checks
            .as_array()
            .is_some_and(|checks| checks.len() == AnomalyCode::ALL.len())
    }));
    for part in members["anomalyDetection"]
        .as_object_mut()
        .expect("parts")
        .values_mut()
    {
        assert!(
            part.as_object_mut()
                .expect("a part")
                .remove("evidence")
                .is_some()
        );
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
    let (folder, cache) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    security::write(cases, folder.path());
    let options = CacheOptions {
        folder: Some(cache.path().to_owned()),
        rows_min: 1,
        ..CacheOptions::default()
    };
    let large = load_with(folder.path(), &options, &NoProgress).expect("a dataset");
    assert!(["transfers", "holders"].iter().all(|name| {
        large
            .table(name)
            .is_some_and(|table| table.large().is_some())
    }));
    let large = Snapshot::new(1, large, AnswerSettings::default());
    let small = Snapshot::new(
        1,
        load(folder.path(), &NoProgress).expect("a dataset"),
        AnswerSettings::default(),
    );
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
    case.row("scams", format!("{bare},Bare,honeypot,,a list"));
    let snapshot = snapshot(vec![case]);
    let question = SecurityQuery {
        contract_address: Address::parse(bare).expect("an address"),
        explain: false,
    };
    let problem = question
        .answer(&View::new(&snapshot), &Progress::default())
        .expect_err("no data");
    assert_eq!(problem.code, Code::NoSecurityData);
    assert!(
        problem
            .detail
            .contains("`contracts`, `transfers` or `holders`")
            && problem.detail.contains("known scam"),
        "{}",
        problem.detail
    );
}

/// Rows besides those of the case, each with its table.
type More<'a> = &'a [(&'static str, &'a str)];

/// A coin, and a token whose liquidity (LP tokens in wallets) was pulled from the pool where it traded against the coin.
fn rugged(coin: &str, symbol: &str, listed: &str, more: More<'_>) -> (Arc<Snapshot>, String) {
    let mut case = Case::new(7);
    market(&mut case);
    let (token, creator) = (case.token.clone(), case.creator.clone());
    // Far larger than the pool of `launch`.
    let pool = case.person();
    case.row(
        "pools",
        format!("{pool},uniswap-v2,eth,{coin},{token},9000000,5000"),
    );
    case.row(
        "tokens",
        format!("{coin},{symbol},A coin,eth,6,1000000000,,{listed}"),
    );
    case.row("holders", format!("{coin},{creator},1000"));
    case.row("holders", format!("{pool},{creator},500"));
    for (table, row) in more {
        case.row(table, (*row).to_owned());
    }
    for (time, left) in [(0, 1.0), (1, 0.99), (60, 0.01)] {
        let (own, other) = (500_000.0 * left, 1_000_000.0 * left);
        case.pool_event(
            &pool,
            START + time * HOUR,
            if time == 0 { "mint" } else { "burn" },
            other,
            own,
        );
    }
    (snapshot(vec![case]), token)
}

#[test]
fn a_pools_story_counts_for_the_token_that_is_traded_there() {
    let codes = [AnomalyCode::LiquidityPulled, AnomalyCode::LpUnlocked];
    let found = |snapshot: &Snapshot, token: &str| {
        let answer = ask(snapshot, token, true);
        codes.map(|code| strength(&answer, code) > 0.0)
    };
    let coin = "0xb000000000000000000000000000000000000001";
    let other = "0xb000000000000000000000000000000000000002";
    let rival = format!("{other},USDC,Other coin,eth,6,1,,true");
    let [first, second] = [3, 4].map(|i| {
        format!("0xb00000000000000000000000000000000000000{i},uniswap-v2,eth,{other},0x00000000000000000000000000000000000000ee,1,1")
    });
    // (symbol, listed, more rows, whether the coin is the quote)
    let cases: [(&str, &str, More<'_>, bool); 5] = [
        ("USDC", "", &[], true),
        // Whoever calls a coin listed makes it no means of payment, and its rival no other.
        ("ANY", "true", &[], false),
        ("USDC", "", &[("tokens", &rival)], true),
        // An impostor with the symbol of a coin in more pools; the case's token is in more pools as well.
        (
            "USDC",
            "true",
            &[("tokens", &rival), ("pools", &first), ("pools", &second)],
            false,
        ),
        ("ANY", "", &[], false),
    ];
    for (symbol, listed, more, quote) in cases {
        let (snapshot, token) = rugged(coin, symbol, listed, more);
        let what = format!("{symbol} listed {listed:?} beside {} others", more.len());
        assert_eq!(found(&snapshot, coin), [!quote, !quote], "the coin: {what}");
        assert_eq!(
            found(&snapshot, &token),
            [quote, quote],
            "the token: {what}"
        );
        if quote {
            let missing = ask(&snapshot, coin, true)
                .explanation
                .expect("explained")
                .missing;
            assert!(
                missing
                    .iter()
                    .any(|missing| missing.what.contains("not the base token")),
                "{missing:?}"
            );
        }
    }
}

#[test]
fn a_small_pool_tells_nothing_of_a_token_with_a_large_one() {
    let mut case = Case::new(8);
    market(&mut case);
    let (token, small, other) = (
        case.token.clone(),
        case.person(),
        "0x00000000000000000000000000000000000000ee",
    );
    case.row(
        "pools",
        format!("{small},uniswap-v2,eth,{token},{other},24000,5000"),
    );
    case.pool_event(&small, START + HOUR, "mint", 5_000.0, 1_000.0);
    case.pool_event(&small, START + 9 * HOUR, "burn", 5.0, 1.0);
    let answer = ask(&snapshot(vec![case]), &token, true);
    assert_eq!(
        strength(&answer, AnomalyCode::LiquidityPulled),
        0.0,
        "24,000 of 124,000 USD"
    );
}
