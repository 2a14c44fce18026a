//! Ten thousand request bodies, mostly malformed: a consistent answer, or a refusal with a reason. Nothing panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use load::{Dataset, loader::load};
use model::progress::{NoProgress, Progress};
use query::queries::{
    Query,
    parameter::TokenReader,
    snapshot::{AnswerSettings, Snapshot},
    view::View,
    yields::YieldQuery,
};
use serde_json::{Value, json};

use super::endpoint::adds_up;
use crate::random::Random;

fn amount(random: &mut Random) -> Value {
    let digits = |random: &mut Random, most: usize| -> String {
        (0..=random.below(most))
            .map(|_| char::from(b'0' + random.below(10) as u8))
            .collect()
    };
    match random.below(24) {
        0 => json!(random.word()),
        1 => json!("-5"),
        2 => json!(""),
        3 => json!("1e18"),
        4 => json!(null),
        5 => {
            json!("115792089237316195423570985008687907853269984665640564039457584007913129639935")
        }
        6 => json!(digits(random, 90)),
        7 => json!("0"),
        _ => json!(digits(random, 30)),
    }
}

fn body(dataset: &Dataset, random: &mut Random) -> Value {
    let mut tokens = serde_json::Map::new();
    for _ in 0..random.below(6) + usize::from(random.chance(0.95)) {
        let address = if random.chance(0.9) {
            dataset.tokens()[random.below(dataset.tokens().len())]
                .row
                .token_address
                .to_string()
        } else {
            format!("0x{:040x}", random.word())
        };
        let address = if random.chance(0.1) {
            address.to_uppercase().replace("0X", "0x")
        } else {
            address
        };
        tokens.insert(address, amount(random));
    }
    let settings = match random.below(10) {
        0 => json!(null),
        1 => json!({ "minApy": random.unit() * 30.0 - 5.0 }),
        2 => json!({ "minApy": "3" }),
        3 => json!({ "chains": ["eth", "base", "nowhere"] }),
        4 => json!({ "chains": [[], {}] }),
        5 => json!({ "riskLevel": "low", "chains": ["base", "arb"], "minApy": 1e308 }),
        _ => {
            let (level, floor) = (
                ["low", "medium", "HIGH"][random.below(3)],
                random.below(5) as f64,
            );
            json!({ "riskLevel": level, "chains": [], "minApy": floor })
        }
    };
    json!({ "tokens": tokens, "settings": settings })
}

#[test]
fn ten_thousand_bodies_are_answered_or_refused() {
    let dataset = load(
        std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets")),
        &NoProgress,
    )
    .unwrap();
    assert!(dataset.tokens().len() > 50);
    let snapshot = Snapshot::new(1, dataset, AnswerSettings::default());
    let mut random = Random(99);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..10_000 {
        let body = body(&snapshot.dataset, &mut random);
        let mut bytes = body.to_string().into_bytes();
        let spoiled = random.chance(0.2);
        if spoiled {
            let at = random.below(bytes.len());
            bytes[at] = random.word() as u8;
        }
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let question = YieldQuery {
                max_lock_days: None,
                exit_within_days: None,
                explain: true,
                ..YieldQuery::parse_body(&bytes, TokenReader::default())?
            };
            question.answer(&View::new(&snapshot), &Progress::default())
        }));
        match asked.unwrap_or_else(|_| panic!("{round}: {}", String::from_utf8_lossy(&bytes))) {
            Ok(plan) => {
                answered += 1;
                if !spoiled {
                    adds_up(&body, &serde_json::to_value(plan).unwrap());
                }
            }
            Err(problem) => {
                refused += 1;
                assert!(
                    matches!(problem.code.status(), 400 | 422),
                    "{round}: {problem:?}"
                );
            }
        }
    }
    assert!(answered > 2_000 && refused > 2_000, "{answered} {refused}");
}
