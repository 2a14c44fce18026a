//! An answer is dated by the newest of its own rows, not by the newest of the data: in its header, and in the words of a tool.

use std::{fs, path::Path};

use api::ApiOptions;
use frames::cache::CacheOptions;
use serde_json::{Value, json};

use super::server::{Running, TOKEN};

const OTHER: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const LABEL: &str = "Data up to ";

/// Tables that end at different times; the second token's candles last longest.
fn write(folder: &Path) {
    let candles = |token: &str, month: &str| -> String {
        (1..=28)
            .map(|day| format!("{token},{month}-{day:02},1,2,1,{day},1d,5\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    for (name, text) in [
        (
            "tokens.csv",
            format!(
                "token_address,symbol,name,chain\n{TOKEN},UNI,Uniswap,eth\n{OTHER},USDT,Tether,eth\n"
            ),
        ),
        (
            "candles.csv",
            format!(
                "token_address,timestamp,open,high,low,close,interval,volume\n{}{}",
                candles(TOKEN, "2023-02"),
                candles(OTHER, "2025-11")
            ),
        ),
        (
            "holder_counts.csv",
            format!("token_address,date,holders\n{TOKEN},2022-01-16,100\n{TOKEN},2022-01-23,200\n"),
        ),
        (
            "posts.csv",
            format!(
                "post_id,token_address,title,published_at\na,{TOKEN},T,2024-03-05\nb,{TOKEN},T,2024-03-06\n"
            ),
        ),
        (
            "labels.csv",
            format!("address,label,category,source\n{OTHER},treasury,exchange,me\n"),
        ),
        (
            "holders.csv",
            format!("token_address,holder_address,balance\n{TOKEN},{OTHER},5\n"),
        ),
    ] {
        fs::write(folder.join(name), text).expect("a dataset is written");
    }
}

#[test]
fn an_answer_has_the_date_of_its_own_rows() {
    let server = Running::over(write, CacheOptions::default(), ApiOptions::default());
    server.api.service.load().expect("the dataset loads");
    let day = |day: &str| Some(format!("{day}T00:00:00Z"));
    for (path, tool, arguments, expected) in [
        (
            "/analytics/tokens/holders-growth".to_owned(),
            "holders_growth",
            json!({}),
            day("2022-01-23"),
        ),
        (
            format!("/tokens/{TOKEN}/holder-counts"),
            "holder_counts",
            json!({ "token_address": "UNI" }),
            day("2022-01-23"),
        ),
        (
            format!("/technical/{TOKEN}/patterns"),
            "patterns",
            json!({ "contractAddress": "UNI" }),
            day("2023-02-28"),
        ),
        (
            format!("/technical/{TOKEN}/trendline"),
            "trendline",
            // With its evidence, the date is that of the last candle in it.
            json!({ "contractAddress": "UNI", "explain": false }),
            day("2023-02-28"),
        ),
        (
            format!("/technical/{OTHER}/patterns"),
            "patterns",
            json!({ "contractAddress": "USDT" }),
            day("2025-11-28"),
        ),
        (
            format!("/tokens/{TOKEN}/candles"),
            "candles",
            json!({ "token_address": "UNI" }),
            day("2023-02-28"),
        ),
        (
            format!("/tokens/{TOKEN}"),
            "token",
            json!({ "token_address": "UNI" }),
            day("2023-02-28"),
        ),
        (
            format!("/tokens/{TOKEN}/posts"),
            "token_posts",
            json!({ "token_address": "UNI" }),
            day("2024-03-06"),
        ),
        (
            "/posts?where=published_at=2024-03-05".to_owned(),
            "posts",
            json!({ "where": "published_at=2024-03-05" }),
            day("2024-03-05"),
        ),
        ("/tokens".to_owned(), "tokens", json!({}), day("2025-11-28")),
        (
            "/tokens?where=symbol=UNI".to_owned(),
            "tokens",
            json!({ "where": "symbol=UNI" }),
            day("2023-02-28"),
        ),
        (
            "/tables/holder_counts?limit=1".to_owned(),
            "table",
            json!({ "table": "holder_counts", "limit": 1 }),
            day("2022-01-16"),
        ),
        // Rows without times, and no rows: no date, rather than the one of other rows.
        (
            "/tables/labels".to_owned(),
            "table",
            json!({ "table": "labels" }),
            None,
        ),
        (
            format!("/tokens/{TOKEN}/holders"),
            "holders",
            json!({ "token_address": "UNI" }),
            None,
        ),
        (
            format!("/tokens/{OTHER}/posts"),
            "token_posts",
            json!({ "token_address": "USDT" }),
            None,
        ),
        (
            "/tokens?where=symbol=NONE".to_owned(),
            "tokens",
            json!({ "where": "symbol=NONE" }),
            None,
        ),
        ("/tables".to_owned(), "tables", json!({}), None),
    ] {
        let answer = server.get(&path);
        assert_eq!(
            (answer.status, answer.header("x-data-as-of")),
            (200, expected.as_deref()),
            "{path}"
        );
        assert_eq!(
            server.get(&path).header("x-data-as-of"),
            expected.as_deref(),
            "{path}, kept"
        );
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        let told = server.post("/mcp", &call.to_string()).json()["result"]["content"].clone();
        let said: Vec<&str> = told
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["text"].as_str())
            .skip(1)
            .collect();
        let dates: Vec<&str> = said
            .iter()
            .filter_map(|text| text.split_once(LABEL))
            .map(|(_, date)| &date[..10])
            .collect();
        assert_eq!(
            dates,
            expected.iter().map(|date| &date[..10]).collect::<Vec<_>>(),
            "{tool} {arguments}: {said:?}"
        );
    }
    for path in [
        format!("/tokens/{TOKEN}?explain=true"),
        format!("/tokens/{TOKEN}/posts?explain=true"),
        format!("/technical/{TOKEN}/patterns?explain=true"),
        format!("/technical/{TOKEN}/trendline?explain=true"),
        "/analytics/tokens/holders-growth?explain=true".to_owned(),
        format!("/tokens/{TOKEN}/candles"),
        format!("/tokens/{TOKEN}/candles?as_of=2023-02-20"),
        format!("/tokens/{TOKEN}/holder-counts"),
        format!("/tokens?addresses={TOKEN},{OTHER}"),
        format!("/candles?addresses={TOKEN},{OTHER}&timeframe=1d"),
        format!("/technical/{TOKEN}/indicators?names=sma_3"),
        "/posts".to_owned(),
        "/tables/holder_counts".to_owned(),
        // No row has a time.
        "/tables/labels".to_owned(),
        format!("/tokens/{TOKEN}/holders"),
    ] {
        let answer = server.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        let date = answer.json()["asOf"].as_str().map(str::to_owned);
        assert_eq!(date.as_deref(), answer.header("x-data-as-of"), "{path}");
    }
    // The documented bodies gain no field.
    let body: Value = server.get("/analytics/tokens/holders-growth").json();
    assert_eq!(
        body.as_object()
            .map(|members| members.keys().map(String::as_str).collect::<Vec<_>>()),
        Some(vec!["limit", "tokens"])
    );
}
