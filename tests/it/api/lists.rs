//! This project's own lists and batches over HTTP: `where`, `sort`, `only`, page links, NDJSON lines.

use api::answer_offline;
use serde_json::{Value, json};

use super::server::{Running, TOKEN, UNKNOWN, get};

const OTHER: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";

#[test]
fn lists_take_where_sort_and_only_and_name_what_is_unknown() {
    let server = Running::start();
    for (path, rows) in [
        (
            "/tokens?only=symbol",
            json!([{ "symbol": "UNI" }, { "symbol": "USDT" }]),
        ),
        (
            "/tokens?only=symbol&sort=price",
            json!([{ "symbol": "USDT" }, { "symbol": "UNI" }]),
        ),
        (
            "/tokens?only=symbol&sort=%2Bmarket_cap,-price",
            json!([{ "symbol": "UNI" }, { "symbol": "USDT" }]),
        ),
        (
            "/tokens?only=symbol,price&where=price%3C2",
            json!([{ "symbol": "USDT", "price": 1.0 }]),
        ),
        ("/tokens?only=symbol&where=market_cap!=1", json!([])),
        (
            "/tokens?only=symbol&where=",
            json!([{ "symbol": "UNI" }, { "symbol": "USDT" }]),
        ),
    ] {
        let answer = server.get(path).json();
        assert_eq!(
            (&answer["tokens"], &answer["total"]),
            (&rows, &rows.as_array().map(Vec::len).into()),
            "{path}"
        );
    }
    let long = format!("/tokens?where=symbol:{}", "a".repeat(500));
    for (path, says) in [
        (
            "/tokens?where=pric%3E1",
            "did you mean `price`? Columns: symbol, name, ",
        ),
        ("/tokens?where=price%3Ex", "write `price>1000`"),
        ("/tokens?where=uni", "`uni` is not a condition"),
        (&*long, "507 characters long; at most 500 are allowed"),
        (
            "/tokens?where=price%3E1&where=price%3C9",
            "set more than once",
        ),
        ("/tokens?sort=pric", "did you mean `price`?"),
        (
            "/tokens?sort=zzz",
            "the unknown column `zzz`. Expected up to 4 of symbol, ",
        ),
        ("/tokens?only=pric", "did you mean `price`?"),
        ("/tokens?fields=trent", "did you mean `trend`?"),
        ("/posts?where=titel:x", "did you mean `title`?"),
        ("/dexes?sort=tvll", "did you mean `tvl`?"),
    ] {
        let answer = server.get(path);
        answer.is_problem(400, "invalid_parameter", path);
        assert!(
            answer.json()["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains(says)),
            "{path}: {}",
            answer.json()
        );
    }
    // The documented lists ignore these parameters.
    let answer = server.get(&format!("/tokens/{TOKEN}/posts?where=x&only=y&sort=z"));
    assert_eq!((answer.status, &answer.json()["total"]), (200, &json!(1)));
}

#[test]
fn a_token_is_named_by_its_symbol_wherever_an_address_is_asked() {
    let server = Running::start();
    for (named, by_address) in [
        ("/tokens/uni", format!("/tokens/{TOKEN}")),
        (
            "/tokens/UNI%40eth?explain=true",
            format!("/tokens/{TOKEN}?explain=true"),
        ),
        (
            "/tokens?addresses=UNI,usdt",
            format!("/tokens?addresses={TOKEN},{OTHER}"),
        ),
        (
            "/tokens/UNI?as_of=2026-01-01",
            format!("/tokens/{TOKEN}?as_of=2026-01-01"),
        ),
    ] {
        let (found, expected) = (server.get(named), server.get(&by_address));
        assert_eq!(
            (found.status, found.json()),
            (expected.status, expected.json()),
            "{named}"
        );
    }
    for path in [
        "/tokens/UNII",
        "/tokens/UNI%40base",
        "/tokens/0xuni",
        "/tokens?addresses=UNI,zzz",
    ] {
        server.get(path).is_problem(400, "invalid_address", path);
    }
    // In bodies too.
    let wallet = |token: &str| {
        server.post(
            "/yield/optimize",
            &json!({ "tokens": { token: "1000000000000000000" } }).to_string(),
        )
    };
    let (found, expected) = (wallet("uni"), wallet(TOKEN));
    assert_eq!((found.status, found.json()), (200, expected.json()));
    wallet("UNII").is_problem(422, "invalid_value", "UNII");
    let alert = |token: &str| json!({ "token_address": token, "condition": "price>1" }).to_string();
    assert_eq!(
        server.post("/alerts", &alert("UNI@eth")).json()["token_address"],
        json!(TOKEN)
    );
    server
        .post("/alerts", &alert("zzz"))
        .is_problem(422, "invalid_value", "zzz");
}

#[test]
fn a_page_has_links_to_the_pages_beside_it() {
    let server = Running::start();
    let link = |path: &str| server.get(path).header("link").map(str::to_owned);
    let page = |page: u8| format!("</tokens?sort=symbol&page={page}&limit=1&generation=1>");
    let (first, second) = (page(1), page(2));
    assert_eq!(
        link("/tokens?limit=1&sort=symbol&page=1"),
        Some(format!(
            "{first}; rel=\"first\", {second}; rel=\"next\", {second}; rel=\"last\""
        ))
    );
    assert_eq!(
        link("/tokens?limit=1&sort=symbol&page=2"),
        Some(format!(
            "{first}; rel=\"first\", {first}; rel=\"prev\", {second}; rel=\"last\""
        ))
    );
    for path in [
        "/posts",
        "/dexes",
        "/deep-analysis/jobs",
        &format!("/tokens/{TOKEN}/posts"),
        &format!("/tokens/{TOKEN}/holders"),
    ] {
        assert!(
            link(path).is_some_and(|links| links.contains("page=1") && !links.contains("next")),
            "{path}"
        );
    }
    assert_eq!(link(&format!("/tokens/{TOKEN}")), None);
}

#[test]
fn a_batch_answers_each_token_in_the_order_asked() {
    let server = Running::start();
    let asked = format!("addresses={OTHER},{UNKNOWN},{TOKEN},{OTHER}");
    let details = server.get(&format!("/tokens?{asked}")).json();
    let symbols: Vec<&Value> = details["tokens"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["symbol"])
        .collect();
    assert_eq!(
        symbols,
        [&json!("USDT"), &Value::Null, &json!("UNI"), &json!("USDT")]
    );
    assert_eq!(details["tokens"][1]["error"]["code"], "token_not_found");
    assert_eq!(
        details["tokens"][2],
        server.get(&format!("/tokens/{TOKEN}")).json()
    );
    for (path, code) in [
        ("/candles".to_owned(), "invalid_parameter"),
        ("/security?addresses=".to_owned(), "invalid_parameter"),
        (
            format!("/tokens?addresses={TOKEN}&format=csv"),
            "invalid_parameter",
        ),
        (
            format!("/tokens?addresses={TOKEN}&format=x"),
            "invalid_parameter",
        ),
        (
            format!("/tokens?addresses={TOKEN}&where=price%3E1"),
            "invalid_parameter",
        ),
        (
            format!("/tokens?limit=5&addresses={TOKEN}"),
            "invalid_parameter",
        ),
        ("/candles?addresses=0x12".to_owned(), "invalid_address"),
        (
            format!("/tokens?{asked}&page=2&strict=true"),
            "invalid_parameter",
        ),
        (format!("/security?{asked}&format=xml"), "invalid_parameter"),
    ] {
        server.get(&path).is_problem(400, code, &path);
    }
    let with_defaults = format!("/tokens?page=1&limit=50&where=&sort=&format=json&{asked}");
    assert_eq!(
        server.get(&with_defaults).json(),
        details,
        "defaults are accepted, as generated clients send them"
    );
    let whole = server.get(&format!("/security?{asked}"));
    assert_eq!(
        (whole.header("content-type"), whole.header("vary")),
        (Some("application/json"), Some("Accept, Accept-Encoding"))
    );
    let mut expected: Vec<Value> = whole.json()["tokens"].as_array().expect("rows").clone();
    let by_address = |row: &Value| row["token_address"].as_str().map(str::to_owned);
    expected.sort_by_key(by_address);
    for (path, accept) in [
        (
            format!("/security?{asked}"),
            "Accept: application/x-ndjson\r\n",
        ),
        (format!("/security?{asked}&format=ndjson"), ""),
    ] {
        let lines = server.ask(&get(&path, accept));
        assert_eq!(
            (lines.status, lines.header("content-type")),
            (200, Some("application/x-ndjson")),
            "{path}"
        );
        assert_eq!(
            lines.header("vary"),
            Some("Accept, Accept-Encoding"),
            "{path}"
        );
        let whole = lines.chunks().expect("a whole stream");
        assert_eq!(
            String::from_utf8_lossy(&whole)
                .matches("{\"token_address\":\"0x")
                .count(),
            4,
            "{path}"
        );
    }
    let mut printed = answer_offline(
        &server.api,
        "GET",
        &format!("/security?{asked}&format=ndjson"),
        b"",
    )
    .rows
    .expect("rows");
    let mut body = Vec::new();
    while let Some(piece) = printed.next_piece().expect("a whole stream") {
        body.extend_from_slice(&piece);
    }
    let mut lines: Vec<Value> = body
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    lines.sort_by_key(by_address);
    assert_eq!(lines, expected);
}
