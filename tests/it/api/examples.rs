//! The example answers in the OpenAPI document equal those of the demo data, with long lists truncated. `TOKENDECK_BLESS=1` rewrites them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use api::keys::Keys;
use api::{
    Api, ApiOptions, answer_offline,
    routes::{Content, ENDPOINTS, Endpoint, Verb},
};
use query::{
    jobs::{JobOptions, Jobs},
    queries::parameter::{EXAMPLE_TOKEN, ParameterKind},
    service::QueryService,
};
use serde_json::{Map, Value, json};
use tokendeck::config::Config;

use crate::wait::wait_until;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
/// List elements kept.
const SHOWN: usize = 2;
/// Placeholder for run-dependent times.
const TIME: &str = "2026-08-14T12:00:00Z";

/// Values of path identifiers.
const IDENTIFIERS: &[(&str, &str)] = &[
    ("dex_id", "uniswap-v3"),
    ("dexId", "uniswap-v3"),
    ("table", "tokens"),
];
/// Queries of endpoints that need one.
const QUERIES: &[(&str, &str)] = &[
    (
        "candle_batch",
        "addresses=0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,0x00000000000000000000000000000000000000ff",
    ),
    (
        "security_batch",
        "addresses=0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,0x00000000000000000000000000000000000000ff",
    ),
    (
        "compare",
        "addresses=0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2&from=2026-08-01&to=2026-08-14",
    ),
    ("table_counts", "column=chain"),
    ("table_describe", "column=market_cap"),
    (
        "table",
        "where=symbol:uni&columns=token_address,symbol,price,market_cap",
    ),
];

fn api(folder: &Path) -> Arc<Api> {
    // How far a record is that is being counted differs from run to run.
    let config = Config::parse(None, "[deck]\nrecords = false").expect("a configuration");
    let service =
        QueryService::new(Path::new(DEMO), config.deck_options()).expect("a query service");
    service.load().expect("the demo data");
    let jobs = Jobs::open(folder, Arc::clone(&service), JobOptions::default()).expect("jobs");
    Api::new(
        service,
        Some(jobs),
        Arc::new(Keys::in_memory().expect("a key")),
        ApiOptions::default(),
    )
}

/// The example request of an endpoint.
fn target(endpoint: &Endpoint, job: &str) -> String {
    let mut target = endpoint.path.to_owned();
    for parameter in endpoint
        .parameters
        .iter()
        .filter(|parameter| parameter.kind.in_path())
    {
        let named = || {
            IDENTIFIERS
                .iter()
                .find(|(name, _)| *name == parameter.name)
                .map(|(_, value)| *value)
        };
        let value = match parameter.kind {
            // A wallet, which holds several tokens.
            ParameterKind::Holder => "0x3dc63a91fd50867655d6921ac18c6f3fba045987",
            ParameterKind::Address => EXAMPLE_TOKEN,
            _ if parameter.name == "job_id" => job,
            _ => named().unwrap_or_else(|| {
                panic!("`{}` of {} has no example", parameter.name, endpoint.path)
            }),
        };
        target = target.replace(&format!("{{{}}}", parameter.name), value);
    }
    let query = QUERIES
        .iter()
        .find(|(name, _)| *name == endpoint.name)
        .map(|(_, query)| format!("?{query}"));
    target + &query.unwrap_or_default()
}

/// Truncates lists, and replaces run-dependent values.
fn shown(value: &mut Value, job: &str) {
    match value {
        Value::Array(items) => {
            items.truncate(SHOWN);
            for item in items {
                shown(item, job);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "load_ms" => *member = json!(12),
                    "modified" => *member = json!(TIME),
                    _ => shown(member, job),
                }
            }
        }
        Value::String(text) if text == job => "01J5G3V7Y8Q2M4N6P8R0S2T4V6".clone_into(text),
        _ => {}
    }
}

fn examples() -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let api = api(folder.path());
    let answer = |verb: &str, target: &str, body: &Value| {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let reply = answer_offline(&api, verb, target, body.as_bytes());
        assert!(
            reply.status < 300,
            "{verb} {target}: {}",
            String::from_utf8_lossy(&reply.body)
        );
        serde_json::from_slice::<Value>(&reply.body).expect("JSON")
    };
    let created = answer(
        "POST",
        "/deep-analysis/jobs",
        &json!({ "token_address": EXAMPLE_TOKEN }),
    );
    let job = created["job_id"].as_str().expect("an id");
    let status =
        || answer("GET", &format!("/deep-analysis/jobs/{job}"), &Value::Null)["status"].clone();
    wait_until("the job ends", || {
        !["queued", "running"].map(Value::from).contains(&status())
    });
    let mut alert = answer(
        "POST",
        "/alerts",
        &json!({ "token_address": EXAMPLE_TOKEN, "condition": "price>20" }),
    );
    for (name, value) in [
        ("alert_id", "a_01kzzrv8h0w3q5r7t9v2x4z6b8"),
        ("created_at", TIME),
        ("checked_at", TIME),
    ] {
        alert[name] = json!(value);
    }
    let fired = json!({
        "fired_id": 1, "alert_id": alert["alert_id"], "token_address": EXAMPLE_TOKEN, "symbol": alert["symbol"],
        "condition": alert["condition"], "fired_at": TIME,
    });
    let wallet = json!({ "tokens": { EXAMPLE_TOKEN: "1000000000000000000" } });
    let rehearsed = json!({ "token_address": EXAMPLE_TOKEN, "condition": "24h<-2" });
    let mut examples = Map::new();
    for endpoint in ENDPOINTS
        .iter()
        .filter(|endpoint| matches!(endpoint.content, Content::Json(_)))
    {
        let mut example = match (endpoint.verb, endpoint.path) {
            (_, "/deep-analysis/jobs") if endpoint.verb == Verb::Post => created.clone(),
            // The job has ended by now, so its details stand for those of a terminated one.
            (Verb::Delete, _) => created.clone(),
            (Verb::Post, "/alerts") => alert.clone(),
            (_, "/alerts") => json!({ "alerts": [alert], "fired": [fired] }),
            (Verb::Post, path) => answer(
                "POST",
                path,
                if path.starts_with("/alerts") {
                    &rehearsed
                } else {
                    &wallet
                },
            ),
            _ => answer("GET", &target(endpoint, job), &Value::Null),
        };
        shown(&mut example, job);
        examples.insert(endpoint.name.to_owned(), example);
    }
    Value::Object(examples)
}

#[test]
fn the_examples_in_the_document_are_answers_of_the_demo_data() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates/api/src/examples.json");
    let today = format!("{:#}\n", examples());
    if std::env::var_os("TOKENDECK_BLESS").is_some() {
        std::fs::write(&file, &today).expect("written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let differing = written
        .lines()
        .zip(today.lines())
        .find(|(written, today)| written != today);
    assert!(
        written == today,
        "{} is not what the demo data answer: run the tests with TOKENDECK_BLESS=1: {differing:?}",
        file.display()
    );
}
