//! In-place tables on real engines, over random tokens: aggregates computed there give the same answers as cached rows, and two nodes
//! together the answers of one. Run like `real`.

use std::{fmt::Write as _, sync::Arc};

use api::Api;
use serde_json::Value;

use super::{
    near::same,
    real::{engine, load, make, other, tell, turn},
};
use crate::remote::{Data, api_over, ask};

fn token(nth: u64) -> String {
    format!("0x{:040x}", nth * 7_919 + 1)
}

fn holder(token: u64, nth: u64) -> String {
    format!("0x{:040x}", 0x00ab_0000_0000 + token * 100_000 + nth)
}

const CANDLES: &str = "token_address String, timestamp DateTime, open Float64, high Float64, low Float64, close Float64, volume Nullable(Float64), \
                       interval LowCardinality(String)";
const HOLDERS: &str = "token_address String, holder_address String, balance Nullable(Float64)";

/// Deterministic candles per token in some intervals, with gaps, implausible prices and missing volumes; few or many holders. With `half`,
/// only some rows of every token.
fn fill(url: &str, name: &str, tokens: u64, half: Option<u64>) {
    make(
        url,
        &format!("{name}_candles"),
        CANDLES,
        "MergeTree ORDER BY (token_address, interval, timestamp)",
    );
    let address = |number: &str| format!("concat('0x', lower(leftPad(hex({number}), 40, '0')))");
    let half = half.map_or_else(
        || "1".to_owned(),
        |half| format!("cityHash64(t, i, 2) % 2 = {half}"),
    );
    for (interval, seconds, rows) in [
        ("1m", 60, 3_000),
        ("5m", 300, 3_000),
        ("7m", 420, 500),
        ("30m", 1_800, 2_000),
        ("1h", 3_600, 2_000),
        ("4h", 14_400, 500),
        ("1d", 86_400, 200),
    ] {
        tell(
            url,
            &format!(
                "INSERT INTO deck_test.{name}_candles SELECT {}, toDateTime(1700006400 + (cityHash64(t) % 90) * 3600 + i * {seconds}), c, \
                 if(h % 17 = 0, c / 2, c + 1), if(h % 31 = 0, 0, c / 3), c, if(h % 5 = 0, NULL, h / 3), '{interval}' FROM (SELECT \
                 intDiv(number, {rows}) AS t, number % {rows} AS i, cityHash64(number, '{interval}') % 1000 AS h, 1 + h / 7 AS c \
                 FROM numbers({})) WHERE cityHash64(t, '{interval}') % 3 = 0 AND i < cityHash64(t, '{interval}', 1) % {rows} AND h % 9 > 0 \
                 AND {half}",
                address("t * 7919 + 1"),
                rows * tokens
            ),
        );
    }
    make(
        url,
        &format!("{name}_holders"),
        HOLDERS,
        "MergeTree ORDER BY (token_address, holder_address)",
    );
    // Ten of them have more holders than are listed individually.
    let large = format!("t % {} = 0", tokens / 10);
    tell(
        url,
        &format!(
            "INSERT INTO deck_test.{name}_holders SELECT {}, {}, if(h % 19 = 0, NULL, if(h % 13 = 0, 0, if(t % 7 = 0, 12.5, pow(h / 1000000, 6) * 1e9))) \
             FROM (SELECT intDiv(number, 2500) AS t, number % 2500 AS i, cityHash64(number) % 1000000 AS h FROM numbers({})) \
             WHERE i < if({large}, 2500, 1 + cityHash64(t) % 300) AND {half}",
            address("t * 7919 + 1"),
            address("734439407616 + t * 100000 + i"),
            tokens * 2_500
        ),
    );
}

/// The dataset's file tables beside the two engine tables.
fn files(manifest: &str, tokens_there: u64) -> Data {
    let mut tokens = "token_address,symbol,name,chain,price,total_supply\n".to_owned();
    let mut labels = "address,label\n".to_owned();
    let mut kols = "token_address,kol_address,handle,followers,engagement_rate\n".to_owned();
    let mut contracts = "token_address,chain,creator,owner\n".to_owned();
    for nth in 0..tokens_there {
        let supply = ["", "1000000000000", "5000"][nth as usize % 3];
        writeln!(
            tokens,
            "{},T{nth},Token {nth},eth,{},{supply}",
            token(nth),
            if nth % 2 == 0 { "3" } else { "" }
        )
        .unwrap();
        writeln!(
            contracts,
            "{},eth,{},{}",
            token(nth),
            holder(nth, 3),
            holder(nth, nth % 5 * 400)
        )
        .unwrap();
        for i in 0..8 {
            let label =
                ["burn", "exchange", "pool", "locker", "whale", "bridge"][(nth + i) as usize % 6];
            writeln!(labels, "{},{label}", holder(nth, i * (1 + nth % 40))).unwrap();
            writeln!(
                kols,
                "{},{},h{i},1000,0.1",
                token(nth),
                holder(nth, i * (2 + nth % 150))
            )
            .unwrap();
        }
    }
    let others = [
        ("tokens.csv", &*tokens),
        ("labels.csv", &labels),
        ("kols.csv", &kols),
        ("contracts.csv", &contracts),
    ];
    Data::new(&[&others[..], &[("dataset.toml", manifest)]].concat())
}

struct Standing {
    api: Arc<Api>,
    _data: Data,
}

fn stand(url: &str, manifest: &str, tokens: u64) -> Standing {
    let data = files(manifest, tokens);
    let dataset = load(&data, url, 200_000);
    for name in ["candles", "holders"] {
        let table = dataset.table(name).unwrap();
        assert!(
            table.loaded() && table.height() as u64 > 100 * tokens,
            "{:?} {}",
            table.state,
            table.height()
        );
    }
    Standing {
        api: api_over(data.path(), dataset),
        _data: data,
    }
}

fn manifest(candles: &str, holders: &str, read: &str) -> String {
    let table = |name: &str, from: &str| {
        format!("[tables.{name}]\nsource = 'warehouse'\n{from}\nread = '{read}'\n")
    };
    table("candles", candles) + &table("holders", holders)
}

fn questions(nth: u64) -> Vec<String> {
    let token = token(nth);
    let candles = ["1h", "4h", "1d", "1w"]
        .map(|frame| format!("/tokens/{token}/candles?timeframe={frame}&limit=5000"));
    let mut all = vec![
        format!("/tokens/{token}"),
        format!("/{token}/security/inference?explain=true"),
        format!("/technical/{token}/trendline"),
        format!("/tokens/{token}/holders?limit=20"),
        format!("/tokens/{token}/holders?limit=20&page=3"),
        format!("/tokens/{token}/holders?limit=20&page=100"),
        format!("/tables/holders?where=token_address={token}&limit=30"),
        format!("/tables/candles?where=token_address={token}&limit=30"),
    ];
    if nth.is_multiple_of(10) {
        all.push(format!("/tokens/{token}/holders?limit=20&sort=balance"));
        all.push(format!(
            "/tokens/{token}/holders?limit=20&where=balance%3E100"
        ));
        all.push(format!("/tables/holders?where=token_address={token}%20balance%3E10&limit=30&sort=holder_address"));
    }
    all.extend(candles);
    all
}

/// The answer without the next page's cursor, which depends on the data's identity.
fn answer(api: &Arc<Api>, question: &str) -> (u16, Value) {
    let (status, body) = ask(api, question);
    let mut value: Value = serde_json::from_str(&body).unwrap();
    if let Some(next) = value.get_mut("next").filter(|next| next.is_string()) {
        *next = Value::Bool(true);
    }
    // Filtered totals are not counted for large cached tables.
    if question.starts_with("/tables") {
        value.as_object_mut().unwrap().remove("total");
    }
    (status, value)
}

fn plain(name: &str, read: &str) -> String {
    let table = |kind: &str| format!("table = 'deck_test.{name}_{kind}'");
    manifest(&table("candles"), &table("holders"), read)
}

/// Asserts that both give the same answers about the market and these tokens; returns the number of questions answered.
fn compare(
    brought: &Standing,
    there: &Standing,
    name: &str,
    tokens: impl Iterator<Item = u64>,
) -> usize {
    // The figures of the last four need the candles of every token.
    for list in [
        "/tokens?limit=250",
        "/tokens?limit=250&page=2",
        "/tokens?limit=250&fields=rsi_14,trend,best_pattern",
        "/tokens?limit=250&where=rsi_14%3C45&sort=rsi_14",
        "/tokens?limit=250&where=trend:uptrend%20or%20from_52w_high%3C-50",
        "/tokens?limit=250&sort=-best_pattern&fields=trend",
    ] {
        let (expected, found) = (answer(&brought.api, list), answer(&there.api, list));
        assert_eq!(
            (expected.0, found.0),
            (200, 200),
            "{name}: {list} {} {}",
            expected.1,
            found.1
        );
        same(&expected.1, &found.1, &format!("{name}: {list}"));
    }
    let mut answered = 0;
    for question in tokens.flat_map(questions) {
        let (expected, found) = (
            answer(&brought.api, &question),
            answer(&there.api, &question),
        );
        assert_eq!(
            expected.0, found.0,
            "{name}: {question} {} {}",
            expected.1, found.1
        );
        if expected.0 == 200 {
            answered += 1;
            same(&expected.1, &found.1, &format!("{name}: {question}"));
        }
    }
    answered
}

#[test]
#[ignore = "needs a real engine"]
fn tables_in_place_give_the_answers_of_tables_in_the_cache() {
    const TOKENS: u64 = 500;
    let (_turn, url) = (turn(), engine());
    fill(&url, "sums", TOKENS, None);
    let brought = stand(&url, &plain("sums", "bring"), TOKENS);
    let there = stand(&url, &plain("sums", "in place"), TOKENS);
    let answered = compare(&brought, &there, "in place", 0..TOKENS);
    assert!(answered > 5_000, "{answered}");
}

#[test]
#[ignore = "needs two real engines"]
fn two_nodes_together_give_the_answers_of_one() {
    const TOKENS: u64 = 40;
    let (_turn, url, second) = (turn(), engine(), other());
    fill(&url, "whole", TOKENS, None);
    let count = |url: &str, table: &str| {
        tell(url, &format!("SELECT count() FROM deck_test.{table}"))
            .trim()
            .parse::<u64>()
            .unwrap()
    };
    for (half, node) in [(0, &url), (1, &second)] {
        fill(node, "half", TOKENS, Some(half));
    }
    for (kind, columns) in [("candles", CANDLES), ("holders", HOLDERS)] {
        // The second half is read over HTTP from the other node.
        let there = format!(
            "{second}/?query=SELECT%20*%20FROM%20deck_test.half_{kind}&default_format=Native"
        );
        tell(&url, &format!("DROP TABLE IF EXISTS deck_test.both_{kind}"));
        tell(
            &url,
            &format!(
                "CREATE VIEW deck_test.both_{kind} AS SELECT * FROM deck_test.half_{kind} UNION ALL \
                 SELECT * FROM url('{there}', 'Native', '{columns}')"
            ),
        );
        let [whole, both, own, others] = [
            (&url, "whole"),
            (&url, "both"),
            (&url, "half"),
            (&second, "half"),
        ]
        .map(|(node, name)| count(node, &format!("{name}_{kind}")));
        assert!(
            both == whole && own + others == whole && own > whole / 3 && others > whole / 3,
            "{whole} {both} {own} {others}"
        );
    }
    let one = stand(&url, &plain("whole", "in place"), TOKENS);
    let two = stand(&url, &plain("both", "in place"), TOKENS);
    let answered = compare(&one, &two, "two nodes", 0..TOKENS);
    assert!(answered > 400, "{answered}");
    // Like a Distributed table, with two shards in one process.
    let shards = |name: &str, key: &str| {
        format!(
            "query = \"SELECT * FROM remote('127.0.0.1,127.0.0.1', deck_test.whole_{name}) WHERE cityHash64({key}) % 2 = shardNum() - 1\""
        )
    };
    let shards = manifest(
        &shards("candles", "token_address, timestamp"),
        &shards("holders", "holder_address"),
        "in place",
    );
    let answered = compare(&one, &stand(&url, &shards, TOKENS), "two shards", 0..TOKENS);
    assert!(answered > 400, "{answered}");
}
