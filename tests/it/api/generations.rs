//! One state of the data for several answers: a request names the generation it is to be answered from, and pages go on in theirs.

use std::{fs, path::Path};

use api::ApiOptions;
use frames::cache::CacheOptions;
use serde_json::Value;

use super::server::{Answer, Running, TOKEN};

fn write_tokens(folder: &Path, price: u64) {
    let row = |i: u64| format!("0x{i:040x},T{i},Token {i},eth,{}\n", price + i);
    let rows: String = (1..=9).map(row).collect();
    fs::write(
        folder.join("tokens.csv"),
        format!("token_address,symbol,name,chain,price\n{TOKEN},UNI,Uniswap,eth,{price}\n{rows}"),
    )
    .unwrap();
}

fn write_candles(folder: &Path, close: u64) {
    let row = |day: u64| {
        format!("{TOKEN},1d,2026-01-{day:02}T00:00:00Z,{close},{close},{close},{close},{day}\n")
    };
    let rows: String = (1..=28).map(row).collect();
    fs::write(
        folder.join("candles.csv"),
        format!("token_address,interval,timestamp,open,high,low,close,volume\n{rows}"),
    )
    .unwrap();
}

fn running() -> Running {
    let write = |folder: &Path| {
        write_tokens(folder, 1);
        write_candles(folder, 5);
    };
    let server = Running::over(write, CacheOptions::default(), ApiOptions::default());
    server.api.service.load().unwrap();
    server
}

/// Reads the dataset again with other prices.
fn reload(server: &Running, price: u64) {
    write_tokens(server.folders()[0], price);
    server.api.service.load().unwrap();
}

fn number(answer: &Answer) -> Option<&str> {
    answer.header("x-data-generation")
}

/// The target of a link of the answer.
fn linked(answer: &Answer, relation: &str) -> String {
    let links = answer.header("link").unwrap();
    let link = links
        .split(", <")
        .find(|link| link.ends_with(&format!("rel=\"{relation}\"")))
        .unwrap();
    link.trim_start_matches('<')
        .split('>')
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn pages_go_on_in_the_generation_they_began_in() {
    let server = running();
    let first = server.get("/tokens?limit=4&sort=price");
    assert_eq!(number(&first), Some("1"));
    let (next, last) = (linked(&first, "next"), linked(&first, "last"));
    reload(&server, 1_000);
    let prices = |answer: &Answer| -> Vec<f64> {
        answer.json()["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .map(|token| token["price"].as_f64().unwrap())
            .collect()
    };
    let second = server.get(&next);
    assert_eq!(
        (number(&second), prices(&second)),
        (Some("1"), vec![5.0, 6.0, 7.0, 8.0]),
        "{next}"
    );
    assert_eq!(prices(&server.get(&last)), [9.0, 10.0]);
    let now = server.get("/tokens?limit=4&sort=price&page=2");
    assert_eq!(
        (number(&now), prices(&now)),
        (Some("2"), vec![1_004.0, 1_005.0, 1_006.0, 1_007.0])
    );
    // The same of rows that are streamed.
    let csv = server.get("/tokens?limit=4&sort=price&page=2&format=csv&only=price&generation=1");
    assert!(
        number(&csv) == Some("1")
            && String::from_utf8_lossy(&csv.body).contains("price\n5\n6\n7\n8\n")
    );
}

#[test]
fn a_cursor_over_candles_outlives_reloads_of_the_tokens() {
    let server = running();
    let page = |target: &str| {
        let answer = server.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.json());
        (number(&answer).map(str::to_owned), answer.json())
    };
    let (_, first) = page("/tables/candles?limit=10&sort=-volume");
    let cursor = first["next"].as_str().unwrap().to_owned();
    for price in [10, 20, 30, 40, 50] {
        reload(&server, price);
        let (generation, second) = page(&format!(
            "/tables/candles?limit=10&sort=-volume&cursor={cursor}"
        ));
        assert_eq!(
            (generation.as_deref(), &second["rows"][0]["volume"]),
            (Some("1"), &Value::from(18.0)),
            "while it is used it is kept"
        );
    }
    write_candles(server.folders()[0], 7);
    server.api.service.load().unwrap();
    let (_, second) = page(&format!(
        "/tables/candles?limit=10&sort=-volume&cursor={cursor}"
    ));
    assert_eq!(
        second["rows"][0]["close"], 5.0,
        "and its candles are those it began with"
    );
}

#[test]
fn every_kind_of_answer_is_of_the_generation_that_is_named() {
    let server = running();
    let targets = [
        format!("/tokens/{TOKEN}"),
        format!("/tokens/{TOKEN}?explain=true&as_of=2026-01-20"),
        "/tokens/uni".to_owned(),
        format!("/tokens?addresses={TOKEN}"),
        format!("/tokens/{TOKEN}/candles"),
        format!("/technical/{TOKEN}/patterns?explain=true"),
        "/analytics/tokens/holders-growth".to_owned(),
        "/tables".to_owned(),
        "/tables/tokens?by=chain&agg=max:price".to_owned(),
        "/tables/tokens/describe?column=price".to_owned(),
    ];
    let with = |target: &str, generation: u64| {
        format!(
            "{target}{}generation={generation}",
            if target.contains('?') { "&" } else { "?" }
        )
    };
    let before: Vec<Vec<u8>> = targets
        .iter()
        .map(|target| server.get(target).body)
        .collect();
    reload(&server, 500);
    for (target, before) in targets.iter().zip(before) {
        let then = server.get(&with(target, 1));
        assert_eq!(
            (then.status, number(&then), &then.body),
            (200, Some("1"), &before),
            "{target}"
        );
        let (now, named) = (server.get(target), server.get(&with(target, 2)));
        assert_eq!(
            (number(&now), &now.body),
            (Some("2"), &named.body),
            "{target}"
        );
    }
    let datasets = server.get("/datasets?generation=1&as_of=2026-01-20").json();
    assert_eq!(
        (&datasets["generation"], &datasets["as_of"]),
        (&1.into(), &"2026-01-20T23:59:59Z".into())
    );
    let missing = server.get("/tokens/0x9999999999999999999999999999999999999998?generation=1");
    assert_eq!(
        (missing.status, number(&missing)),
        (404, Some("1")),
        "a refusal is of its data too"
    );
    let portfolio = format!("{{\"tokens\":{{\"{TOKEN}\":\"1\"}}}}");
    assert_eq!(
        number(&server.post("/yield/optimize?generation=1", &portfolio)),
        Some("1")
    );
    assert_eq!(number(&server.get("/healthz")), None);
}

#[test]
fn a_generation_that_is_not_kept_is_gone_unless_its_data_are_still_the_same() {
    let server = running();
    for _ in 0..6 {
        server.api.service.load().unwrap();
    }
    let same = server.get("/tokens?generation=1&limit=1");
    assert_eq!(
        (same.status, number(&same)),
        (200, Some("7")),
        "the files are the same, and so is what it stands for"
    );
    for price in [10, 20, 30, 40, 50] {
        reload(&server, price);
    }
    let gone = server.get("/tokens?generation=2");
    gone.is_problem(410, "generation_gone", "gone");
    let expected = "Snapshot 2 has expired, and the current snapshot, 12, has different data. Start again with the current one.";
    assert_eq!(gone.json()["detail"], expected);
    server
        .get("/tokens?generation=1000")
        .is_problem(410, "generation_gone", "never was");
    for (target, says) in [
        (
            "/tokens?generation=0",
            "`generation` is `0`; expected a snapshot number",
        ),
        ("/tokens?generation=-1", "`generation` is `-1`"),
        ("/tokens?generation=%2B1", "`generation` is `+1`"),
        ("/tokens?generation=", "`generation` is ``"),
        ("/tokens?generation=1&generation=2", "more than once"),
        (
            "/metrics?generation=1",
            "`generation` is not available here",
        ),
        (
            "/deep-analysis/jobs?generation=1",
            "`generation` is not available here",
        ),
    ] {
        let answer = server.get(target);
        answer.is_problem(400, "invalid_parameter", target);
        assert!(
            answer.json()["detail"].as_str().unwrap().contains(says),
            "{target}: {}",
            answer.json()
        );
    }
}
