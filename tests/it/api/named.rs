//! A token is named in any way that a person knows it by, in every place that takes one: paths, parameters, conditions, searches, bodies, tools.

use std::{fs, path::Path};

use api::ApiOptions;
use frames::cache::CacheOptions;
use query::queries::parameter::encode;
use serde_json::{Value, json};

use super::server::{Running, TOKEN};

const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
/// Two tokens with one symbol, on two chains; a symbol that is hexadecimal; the address that burns.
const LINKS: [&str; 2] = [
    "0x514910771af9ca656af840dff83e8264ecf986ca",
    "0x5149000000000000000000000000000000000b5e",
];
const ADA: &str = "0x3ee2200efb3400fabb9aacf31297cbdd1d435d47";
const BURN: &str = "0x000000000000000000000000000000000000dead";

fn write(folder: &Path) {
    let [link, link_base] = LINKS;
    let upper = USDT.to_uppercase().replace("0X", "0x");
    for (name, text) in [
        (
            "tokens.csv",
            format!(
                "token_address,symbol,name,chain,price,market_cap\n{TOKEN},UNI,Uniswap,eth,5,10\n{USDT},USDT,Tether USD,eth,1,9\n\
                 {link},LINK,Chainlink,eth,7,8\n{link_base},LINK,Chain Link,base,7,7\n{ADA},ADA,Cardano,bsc,1,6\n"
            ),
        ),
        (
            "posts.csv",
            format!(
                "post_id,token_address,title,published_at\na,{TOKEN},first,2026-01-01\nb,{USDT},second,2026-01-02\nc,{ADA},third,2026-01-03\n"
            ),
        ),
        (
            "holders.csv",
            format!(
                "token_address,holder_address,balance\n{TOKEN},{BURN},5\n{TOKEN},{USDT},7\n{USDT},{TOKEN},1\n{ADA},{ADA},2\n"
            ),
        ),
        (
            "pools.csv",
            format!(
                "address,dex_id,chain,token0,token1,liquidity,volume24h\n0x{:040x},x,eth,{TOKEN},{upper},100,7\n0x{:040x},x,eth,{ADA},{link},50,1\n",
                0xa1, 0xa2
            ),
        ),
        (
            "scams.csv",
            format!(
                "address,name,chain,scam_type\n{USDT},A,eth,phishing\n0x{:040x},B,eth,phishing\n",
                0xdead_0001_u64
            ),
        ),
        (
            "labels.csv",
            format!(
                "address,label,category,source\n{BURN},burn,burn,me\n{USDT},treasury,exchange,me\n"
            ),
        ),
    ] {
        fs::write(folder.join(name), text).expect("a dataset is written");
    }
}

fn server() -> Running {
    let running = Running::over(write, CacheOptions::default(), ApiOptions::default());
    running.api.service.load().expect("the dataset loads");
    running
}

/// Every spelling of UNI that names it in full.
fn spellings() -> Vec<String> {
    let upper = TOKEN.to_uppercase().replace("0X", "0x");
    let checksummed = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984";
    let names = [
        "UNI",
        "uni",
        "$UNI",
        "$uni",
        "Uniswap",
        "uniswap",
        "UNI@eth",
        "$UNI@ethereum",
        "0x1f98",
        "0x1F9840a85d",
        "0x1f98…f984",
        "0x1f98...f984",
    ];
    [TOKEN, &upper, checksummed]
        .into_iter()
        .chain(names)
        .map(str::to_owned)
        .collect()
}

fn rows(server: &Running, path: &str) -> u64 {
    let answer = server.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.json());
    let answer = answer.json();
    answer["total"]
        .as_u64()
        .unwrap_or_else(|| answer["rows"].as_array().expect(path).len() as u64)
}

#[test]
fn every_spelling_names_the_token_in_every_place() {
    let server = server();
    for name in spellings() {
        let [path, quoted] = [
            encode(&name).into_owned(),
            encode(&format!("\"{name}\"")).into_owned(),
        ];
        for (place, expected) in [
            (format!("/tokens/{path}"), format!("/tokens/{TOKEN}")),
            (format!("/{path}/dexes"), format!("/{TOKEN}/dexes")),
            (
                format!("/tokens?addresses={path},{USDT}"),
                format!("/tokens?addresses={TOKEN},{USDT}"),
            ),
        ] {
            let (found, expected) = (server.get(&place), server.get(&expected));
            assert_eq!(
                (found.status, found.json()),
                (expected.status, expected.json()),
                "{place}"
            );
        }
        for (place, count) in [
            (format!("/tokens?query={path}"), 1),
            (format!("/tables/holders?where=token_address:{quoted}"), 2),
            (format!("/tables/holders?where=token_address={quoted}"), 2),
            (format!("/tables/holders?where=token_address!={quoted}"), 2),
            (
                format!("/tables/holders?where=token_address%20in%20({quoted},USDT)"),
                3,
            ),
            (
                format!("/tables/holders?where=token_address%20not%20in%20({quoted},USDT)"),
                1,
            ),
            (format!("/tables/posts?where=token_address:{quoted}"), 1),
            (format!("/tables/pools?where=token0:{quoted}"), 1),
            (format!("/posts?where=token_address:{quoted}"), 1),
            (format!("/posts?where=token!={quoted}"), 2),
            (format!("/tokens?where=address:{quoted}"), 1),
            (format!("/tokens?where=address!={quoted}"), 4),
        ] {
            assert_eq!(rows(&server, &place), count, "{place}");
        }
        let ask = |tool: &str, arguments: Value| {
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
            server.post("/mcp", &call.to_string()).json()["result"]["structuredContent"].clone()
        };
        assert_eq!(
            ask("token", json!({ "token_address": name }))["token_address"],
            json!(TOKEN),
            "{name}"
        );
        let table = ask(
            "table",
            json!({ "table": "holders", "where": format!("token_address:\"{name}\"") }),
        );
        assert_eq!(table["total"], json!(2), "{name}: {table}");
    }
    // In a search the mark is needed: a title may hold the symbol alone.
    for query in ["$UNI", "UNI@eth", TOKEN, "0x1f98…f984"] {
        assert_eq!(
            rows(&server, &format!("/posts?query={}", encode(query))),
            1,
            "{query}"
        );
    }
}

#[test]
fn where_other_addresses_are_compared_they_are_as_before_and_a_tokens_name_is_its_address() {
    let server = server();
    let upper = BURN.to_uppercase().replace("0X", "0x");
    for (place, count) in [
        (format!("/tables/holders?where=holder_address:{upper}"), 1),
        (format!("/tables/holders?where=holder_address={upper}"), 1),
        ("/tables/holders?where=holder_address:DEAD".to_owned(), 1),
        ("/tables/holders?where=holder_address:0x0000".to_owned(), 1),
        ("/tables/holders?where=holder_address:USDT".to_owned(), 1),
        // ADA is the symbol of a token, and three digits of addresses: a token's column means the token.
        ("/tables/holders?where=token_address:ADA".to_owned(), 1),
        ("/tables/holders?where=holder_address:ada".to_owned(), 0),
        ("/tables/holders?where=token_address:dac1".to_owned(), 1),
        (format!("/tables/pools?where=address=0x{:040X}", 0xa1), 1),
        ("/tables/pools?where=address:a2".to_owned(), 1),
        ("/tables/pools?where=token1:usdt".to_owned(), 1),
        ("/tables/scams?where=address:dead0001".to_owned(), 1),
        (
            "/tables/scams?where=address:Tether%20USD"
                .to_owned()
                .replace("Tether%20USD", "%22Tether%20USD%22"),
            1,
        ),
        ("/tables/labels?where=address:dead".to_owned(), 1),
        ("/tables/labels?where=address:$usdt".to_owned(), 1),
    ] {
        assert_eq!(rows(&server, &place), count, "{place}");
    }
}

#[test]
fn a_name_of_several_tokens_or_of_none_is_refused_with_what_to_write_instead() {
    let server = server();
    for place in [
        "/tokens/{}",
        "/{}/dexes",
        "/tokens?addresses={}",
        "/tables/holders?where=token_address:{}",
        "/posts?where=token_address={}",
        "/tokens?where=address%20in%20({},UNI)",
    ] {
        // After `:` a part of an address is looked for as it is.
        let names = if place.contains(":{") {
            &["LINK", "$link"][..]
        } else {
            &["LINK", "$link", "0x5149"]
        };
        for name in names {
            let path = place.replace("{}", name);
            let answer = server.get(&path);
            answer.is_problem(409, "ambiguous_token", &path);
            let detail = answer.json()["detail"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            assert!(
                ["`LINK@eth`", "`LINK@base`", LINKS[0], LINKS[1]]
                    .iter()
                    .all(|candidate| detail.contains(candidate)),
                "{path}: {detail}"
            );
        }
        let code = if place.contains("where") {
            "invalid_parameter"
        } else {
            "invalid_address"
        };
        for (name, near) in [
            ("UNII", "Did you mean `UNI`?"),
            ("$USDTT", "Did you mean `USDT`?"),
            ("Unisvap", "Did you mean `Uniswap`?"),
        ] {
            let path = place.replace("{}", name);
            let answer = server.get(&path);
            answer.is_problem(400, code, &path);
            assert!(
                answer.json()["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.ends_with(near)),
                "{path}: {}",
                answer.json()
            );
        }
    }
    for (name, count) in [("LINK@eth", 0), ("LINK@base", 0), ("UNI", 2)] {
        assert_eq!(
            rows(
                &server,
                &format!("/tables/holders?where=token_address:{}", encode(name))
            ),
            count,
            "{name}"
        );
    }
    // What looks like a whole address and is none stays malformed, as documented.
    for wrong in [
        "0x12",
        "0x1f9",
        &TOKEN[2..],
        &format!("{TOKEN}0"),
        "0xuni",
        "1f98",
    ] {
        let path = format!("/tokens/{wrong}");
        server.get(&path).is_problem(400, "invalid_address", &path);
    }
}
