//! Tables that come by themselves, as a user meets them: the program makes a dataset, adds tokens and fetches, against a service on this
//! machine; with the service gone it answers the same, and the same as for the rows as files.

#[path = "../../../crates/load/tests/service/server.rs"]
mod server;

use std::{fs, process::Output};

use self::server::{Service, ServiceReply, ServiceRequest};
use super::Desk;

fn address(number: u32) -> String {
    format!("0x{number:040x}")
}

/// DEX Screener and GeckoTerminal for fifty tokens, in the form of their recorded answers.
fn market(request: &ServiceRequest) -> ServiceReply {
    let target = request.target.as_str();
    if let Some(query) = target.strip_prefix("/dex/latest/dex/search?q=") {
        let query = query.split('&').next().unwrap_or_default();
        return ServiceReply::ok(if query == "TWO" {
            format!(
                r#"{{"pairs":[{},{}]}}"#,
                pair(1, "TWO", 5.0),
                pair(2, "TWO", 9.0)
            )
        } else {
            one(query)
        });
    }
    if let Some(token) = target.strip_prefix("/dex/latest/dex/tokens/") {
        return ServiceReply::ok(one(token));
    }
    if target.contains("/ohlcv/") {
        let token = target
            .split("token=")
            .nth(1)
            .map_or("", |rest| &rest[..42.min(rest.len())]);
        let number = u32::from_str_radix(&token[34..], 16).unwrap_or(1);
        let rows: Vec<String> = (0..400)
            .rev()
            .map(|day| {
                format!(
                    "[{},1.0,2.5,0.5,{},100.0]",
                    (20_000 + day) * 86_400,
                    1.0 + f64::from(number) / 100.0
                )
            })
            .collect();
        return ServiceReply::ok(format!(
            r#"{{"data":{{"attributes":{{"ohlcv_list":[{}]}}}}}}"#,
            if target.contains("before_timestamp") {
                String::new()
            } else {
                rows.join(",")
            }
        ));
    }
    if target.contains("/search/pools") {
        return ServiceReply::ok(r#"{"data":[],"included":[]}"#);
    }
    ServiceReply::status(404)
}

fn one(token: &str) -> String {
    let number = token
        .strip_prefix("0x")
        .and_then(|digits| u32::from_str_radix(&digits[32..], 16).ok());
    number.map_or_else(
        || r#"{"pairs":null}"#.to_owned(),
        |number| {
            format!(
                r#"{{"pairs":[{}]}}"#,
                pair(number, &format!("T{number}"), 1e6)
            )
        },
    )
}

fn pair(number: u32, symbol: &str, liquidity: f64) -> String {
    format!(
        r#"{{"chainId":"ethereum","dexId":"uniswap","pairAddress":"{}","baseToken":{{"address":"{}","name":"Token {number}","symbol":"{symbol}"}},
           "quoteToken":{{"address":"{}","name":"Wrapped Ether","symbol":"WETH"}},"priceUsd":"1.5","volume":{{"h24":10}},"liquidity":{{"usd":{liquidity}}},"marketCap":1000000}}"#,
        address(number + 1_000_000),
        address(number),
        address(0xffff)
    )
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A folder with the configuration that has the services asked on this machine.
fn desk(service: &Service) -> Desk {
    let desk = Desk::new();
    let source = |name: &str, path: &str| {
        format!(
            "[sources.{name}]\nkind = \"provider\"\nurl = \"{}/{path}\"\nper_minute = 10000\n",
            service.url
        )
    };
    desk.write(
        "config.toml",
        &(source("dexscreener", "dex") + &source("geckoterminal", "gecko")),
    );
    desk
}

fn run(desk: &Desk, arguments: &[&str]) -> Output {
    desk.command(arguments).output().unwrap()
}

#[test]
fn from_nothing_to_answers_and_the_same_without_the_network() {
    let service = Service::new(market);
    let desk = desk(&service);
    let run = |arguments: &[&str]| run(&desk, arguments);
    let made = run(&["new", "deck", "--providers", "dexscreener,geckoterminal"]);
    assert!(made.status.success(), "{}", said(&made));
    let refused = run(&["add", &address(1), "--data", "deck"]);
    assert!(
        !refused.status.success() && said(&refused).contains("did not contact 127.0.0.1"),
        "{}",
        said(&refused)
    );
    assert_eq!(service.asked(), Vec::<String>::new());
    let tokens: Vec<String> = (1..=50).map(address).collect();
    let mut arguments = vec!["add", "--data", "deck", "--remote"];
    arguments.extend(tokens.iter().map(String::as_str));
    let added = run(&arguments);
    assert!(added.status.success(), "{}", said(&added));
    let asked = service.asked().len();
    let again = run(&["refresh", "--data", "deck", "--remote"]);
    assert!(again.status.success(), "{}", said(&again));
    assert!(
        service.asked().len() < asked,
        "what is there is not asked for again"
    );

    // The network is gone.
    service.now(|_| ServiceReply::status(503));
    let answers = |data: &str| {
        let asked = [
            "/tokens?limit=100".to_owned(),
            format!("/technical/{}/trendline", tokens[6]),
            format!("/technical/{}/patterns", tokens[6]),
        ];
        asked.map(|path| {
            let answer = run(&["get", &path, "--data", data]);
            assert!(answer.status.success(), "{path}: {}", said(&answer));
            String::from_utf8(answer.stdout).unwrap()
        })
    };
    let live = answers("deck");
    assert!(live[0].contains("\"total\":50"), "{}", live[0]);
    let failing = run(&["refresh", "--data", "deck", "--remote"]);
    assert!(
        !failing.status.success() && said(&failing).contains("busy or broken"),
        "{}",
        said(&failing)
    );
    assert_eq!(answers("deck"), live);

    // The rows as files: the same folder without its dataset.toml's providers.
    let files = desk.path().join("files");
    fs::create_dir(&files).unwrap();
    for table in ["tokens", "pools"] {
        fs::copy(
            desk.path().join(format!("deck/live/{table}.parquet")),
            files.join(format!("{table}.parquet")),
        )
        .unwrap();
    }
    let candles = files.join("candles");
    fs::create_dir(&candles).unwrap();
    let live_candles = desk.path().join("deck/live/candles");
    let mut parts: Vec<_> = fs::read_dir(&live_candles)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    parts.push(desk.path().join("deck/live/candles.parquet"));
    for (number, part) in parts.iter().filter(|part| part.exists()).enumerate() {
        fs::copy(part, candles.join(format!("{number}.parquet"))).unwrap();
    }
    assert_eq!(answers("files"), live);
}

#[test]
fn a_symbol_of_several_tokens_is_asked_back_and_a_mistake_is_named() {
    let service = Service::new(market);
    let desk = desk(&service);
    let several = run(&desk, &["add", "TWO", "--data", "deck", "--remote"]);
    assert!(!several.status.success(), "{}", said(&several));
    let text = said(&several);
    assert!(
        text.contains(&address(1))
            && text.contains(&address(2))
            && text.contains("`TWO` matches several tokens"),
        "{text}"
    );
    let nobody = said(&run(
        &desk,
        &["add", "NOBODY", "--data", "deck", "--remote"],
    ));
    assert!(
        nobody.contains("no provider has a token that matches `NOBODY`"),
        "{nobody}"
    );
    let misspelt = said(&run(&desk, &["new", "other", "--providers", "dexscrener"]));
    assert!(
        misspelt.contains("`dexscrener` is not a provider; did you mean `dexscreener`?"),
        "{misspelt}"
    );
    let providers = said(&run(&desk, &["providers"]));
    assert!(
        ["geckoterminal", "defillama", "etherscan", "required"]
            .iter()
            .all(|word| providers.contains(word)),
        "{providers}"
    );
}

#[test]
fn forget_leaves_files_of_the_user_as_they_are_and_stores_no_name() {
    let service = Service::new(market);
    let desk = desk(&service);
    let token = address(1);
    desk.write(
        "deck/tokens.csv",
        &format!("token_address,symbol,chain\n{token},ONE,eth\n"),
    );
    desk.write(
        "deck/posts.csv",
        &format!(
            "post_id,token_address,author,title,published_at\n1,{token},alice,Hello,2026-01-01T00:00:00Z\n"
        ),
    );
    let posts = || run(&desk, &["get", "/posts", "--data", "deck"]).stdout;
    let before = posts();
    let done = run(&desk, &["forget", "@Alice", "--data", "deck"]);
    assert!(
        done.status.success()
            && String::from_utf8_lossy(&done.stdout)
                .starts_with("Alice: emptied 0 posts and removed 0 other rows in live tables; "),
        "{}",
        said(&done)
    );
    assert_eq!(posts(), before);
    let stored = desk.path().join("deck/live/forgotten.json");
    let stored = fs::read_to_string(stored).unwrap().to_lowercase();
    assert!(stored.contains("hashes") && !stored.contains("alice"));
    let refused = run(&desk, &["forget", " @", "--data", "deck"]);
    assert!(
        refused.status.code() == Some(2) && said(&refused).contains("expected a handle"),
        "{}",
        said(&refused)
    );
}
