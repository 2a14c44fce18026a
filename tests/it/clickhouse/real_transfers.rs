//! Transfers in place on a real engine: what the checks, the flows and the growth say of random tokens is what they say of the same rows in
//! a file. Each token is a history of its own, with planted rings, snipers, airdrops, pulled liquidity, dumps and gaps in its rows. Run like
//! `real`; `TOKENDECK_TRANSFERS=FROM..TO` says which datasets.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    near::same,
    real::{engine, make, tell, turn, wire},
};
use crate::{
    random::Random,
    remote::{Data, api_over, ask},
};

/// Random tokens of a dataset.
const TOKENS: usize = 10;
const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
const ZERO: &str = "0x0000000000000000000000000000000000000000";
const COLUMNS: &str = "token_address LowCardinality(String), timestamp Nullable(DateTime64(3)), block_number Nullable(UInt64), \
                       log_index Nullable(UInt32), transaction_hash String, from_address Nullable(String), to_address Nullable(String), \
                       value Nullable(UInt256), status Nullable(UInt8)";

/// The files of a dataset, row by row, and the engine's values.
#[derive(Default)]
struct Files {
    tokens: String,
    contracts: String,
    labels: String,
    funding: String,
    pools: String,
    pool_events: String,
    holders: String,
    dexes: String,
    transfers: String,
    values: Vec<String>,
}

/// A history being written.
struct History<'a> {
    random: &'a mut Random,
    files: &'a mut Files,
    token: String,
    /// Seconds and block of the next transfer.
    time: u64,
    block: u64,
    log: u64,
    count: u64,
    /// Shares of rows without a time, a block, a status, an end or an amount; and of those that failed.
    gaps: f64,
    statuses: bool,
    failing: f64,
    decimals: u32,
}

impl History<'_> {
    fn wallet(&self, nth: usize) -> String {
        format!("0x{}{:06x}", &self.token[2..36], nth)
    }

    fn amount(&mut self) -> u128 {
        let unit = 10_u128.pow(self.decimals);
        match self.random.below(5) {
            0 => unit * self.random.whole(1, 20) as u128 * 10_u128.pow(self.random.below(4) as u32),
            1 => u128::from(self.random.word() % 1_000_000),
            _ => (self.random.scale(1e-3, 1e5) * unit as f64) as u128 + u128::from(self.random.word() % 1_000),
        }
    }

    /// Goes on by up to so many seconds.
    fn wait(&mut self, seconds: usize) {
        let seconds = self.random.below(seconds + 1) as u64;
        if seconds > 0 {
            self.time += seconds;
            self.block += 1 + seconds / 12;
            self.log = 0;
        }
    }

    fn send(&mut self, from: &str, to: &str, value: u128) {
        let status = if !self.statuses {
            ""
        } else if self.random.chance(self.failing) {
            "0"
        } else {
            "1"
        };
        self.row(from, to, value, status);
    }

    fn row(&mut self, from: &str, to: &str, value: u128, status: &str) {
        self.count += 1;
        self.log += 1 + self.random.below(3) as u64;
        let gap = |random: &mut Random, gaps: f64, text: String| if random.chance(gaps) { String::new() } else { text };
        let gaps = self.gaps;
        let time = gap(self.random, gaps / 4.0, (self.time * 1_000).to_string());
        let block = gap(self.random, gaps / 4.0, self.block.to_string());
        let [from, to, value] = [from.to_owned(), to.to_owned(), value.to_string()].map(|text| gap(self.random, gaps, text));
        let status = gap(self.random, gaps, status.to_owned());
        let hash = format!("0x{}{:024x}", &self.token[2..42], self.count);
        let shown = time.parse::<i64>().map_or_else(|_| String::new(), |time| model::time::Time(time).to_string());
        let copies = if self.random.chance(gaps / 2.0) { 2 } else { 1 };
        for _ in 0..copies {
            writeln!(self.files.transfers, "{},{shown},{block},{},{hash},{from},{to},{value},{status}", self.token, self.log).unwrap();
        }
        let or = |text: &str, made: &dyn Fn(&str) -> String| if text.is_empty() { "NULL".to_owned() } else { made(text) };
        let text = |text: &str| format!("'{text}'");
        let value = format!(
            "('{}',{},{},{},'{hash}',{},{},{},{})",
            self.token,
            or(&time, &|time| format!("fromUnixTimestamp64Milli(toInt64({time}), 'UTC')")),
            or(&block, &|block| block.to_owned()),
            self.log,
            or(&from, &text),
            or(&to, &text),
            or(&value, &|value| format!("toUInt256('{value}')")),
            or(&status, &|status| status.to_owned())
        );
        for _ in 0..copies {
            self.files.values.push(value.clone());
        }
    }
}

/// Appends a random token.
fn token(files: &mut Files, random: &mut Random, dataset: u64, nth: usize) -> String {
    let token = format!("0x{:08x}{:04x}{:028x}", dataset + 1, nth + 1, random.word());
    let decimals = [18, 18, 6, 0, 9][random.below(5)];
    let unit = 10_f64.powi(decimals as i32);
    let supply = 10_u128.pow(decimals) * random.whole(1, 1_000) as u128 * 10_u128.pow(random.below(5) as u32);
    let shown = if random.chance(0.5) { (supply as f64 / unit).to_string() } else { String::new() };
    writeln!(
        files.tokens,
        "{token},T{nth},Token {nth},eth,{},{shown}",
        if random.chance(0.95) { decimals.to_string() } else { String::new() }
    )
    .unwrap();
    let (gaps, failing) = ([0.0, 0.0, 0.02][random.below(3)], [0.0, 0.02, 0.4][random.below(3)]);
    let (statuses, time) = (random.chance(0.7), 1_600_000_000 + random.below(100_000_000) as u64);
    let (traders, blocks) = (random.whole(3, 120), random.whole(1_000, 9_000_000) as u64);
    let steps = random.whole(5, 500);
    let pace = [5, 600, 20_000, 300_000][random.below(4)];
    let creates = random.chance(0.7);
    let has_owner = random.chance(0.4);
    let mut history =
        History { random, files, token: token.clone(), time, block: blocks, log: 0, count: 0, gaps, statuses, failing, decimals };
    let (creator, owner, router, exchange) = (history.wallet(1), history.wallet(2), history.wallet(3), history.wallet(4));
    let (pool, second, labelled, burner) = (history.wallet(5), history.wallet(6), history.wallet(7), history.wallet(8));
    let wallets: Vec<String> = (0..traders).map(|nth| history.wallet(100 + nth)).collect();
    if creates || has_owner {
        let [creator, owner] = [(creates, &creator), (has_owner, &owner)].map(|(is, who)| if is { who.as_str() } else { "" });
        writeln!(history.files.contracts, "{token},eth,{creator},{owner}").unwrap();
    }
    for (address, label) in [(&exchange, "binance"), (&labelled, "pool"), (&burner, "burn"), (&history.wallet(9), "bridge")] {
        if history.random.chance(0.7) {
            writeln!(history.files.labels, "{address},{label}").unwrap();
        }
    }
    let paid = [0.0, 0.2, 1.0][history.random.below(3)];
    for wallet in &wallets {
        if history.random.chance(paid) {
            let who = if history.random.chance(0.9) { &creator } else { &exchange };
            writeln!(history.files.funding, "{who},{wallet},2020-01-01T00:00:00Z").unwrap();
        }
    }
    if history.random.chance(0.4) {
        writeln!(history.files.dexes, "d{dataset}x{nth},Dex,eth,{router}").unwrap();
    }
    let pools = history.random.below(4);
    for (address, own) in [(&pool, true), (&second, false)].iter().take(pools.min(2)) {
        let [one, two] = if history.random.chance(0.5) || *own { [token.as_str(), WETH] } else { [WETH, token.as_str()] };
        writeln!(history.files.pools, "{address},uniswap,eth,{one},{two},{}", history.random.whole(10, 100_000)).unwrap();
    }
    let mut places: Vec<&String> = vec![&pool];
    if pools > 1 {
        places.push(&second);
    }
    if history.random.chance(0.3) {
        places.push(&labelled);
    }
    if history.random.chance(0.4) {
        places.push(&router);
    }
    let first = if history.random.chance(0.85) { ZERO } else { exchange.as_str() };
    history.send(first, if creates { &creator } else { &wallets[0] }, supply);
    if history.random.chance(0.3) {
        for nth in 0..history.random.whole(2, 60).min(traders) {
            history.send(ZERO, &wallets[nth], supply / 1_000);
        }
    }
    history.wait(86_400);
    let opens = history.random.chance(0.85);
    if opens {
        let from = if history.random.chance(0.8) && creates { &creator } else { &wallets[0] };
        let share = history.random.whole(2, 20) as u128;
        history.send(from, &pool, supply / share);
        if history.random.chance(0.4) && pools > 0 {
            let at = model::time::Time(history.time as i64 * 1_000);
            writeln!(history.files.pool_events, "{pool},{at},{},mint,{},{}", history.block, supply / 4, 1_000_000).unwrap();
        }
    }
    // Snipers.
    if history.random.chance(0.4) {
        for _ in 0..history.random.whole(1, 15) {
            history.wait(24);
            let (to, value) = (history.random.below(traders), supply / history.random.whole(20, 200) as u128);
            history.send(places[0], &wallets[to], value);
        }
    }
    let kinds =
        [history.random.unit(), history.random.unit(), history.random.unit(), history.random.unit() / 4.0, history.random.unit() / 8.0];
    let total: f64 = kinds.iter().sum();
    for _ in 0..steps {
        history.wait(pace);
        let (a, b) = (history.random.below(traders), history.random.below(traders));
        let place = places[history.random.below(places.len())].clone();
        let amount = if history.random.chance(0.05) { 0 } else { history.amount() };
        let mut at = history.random.unit() * total;
        let kind = kinds.iter().position(|share| {
            at -= share;
            at < 0.0
        });
        match kind.unwrap_or(0) {
            0 => history.send(&place, &wallets[a], amount),
            1 => history.send(&wallets[a], &place, amount),
            2 => history.send(&wallets[a], &wallets[b], amount),
            3 => {
                let other = [&exchange, &burner, &creator, &owner, &token][history.random.below(5)].clone();
                if history.random.chance(0.5) {
                    history.send(&other, &wallets[a], amount)
                } else {
                    history.send(&wallets[a], &other, amount)
                }
            }
            _ => match history.random.below(6) {
                0 => history.send(ZERO, &wallets[a], supply / 50),
                1 => history.send(&wallets[a], ZERO, amount),
                2 => history.send(&wallets[a], "0x000000000000000000000000000000000000dead", amount),
                3 => history.send(if creates { &creator } else { &wallets[0] }, &place, supply / 30),
                4 => history.send(&place, &second, amount),
                // From nobody, as anybody may pretend.
                _ => history.send(&wallets[a], &wallets[a], 0),
            },
        }
        // A ring.
        if history.random.chance(0.03) {
            let members = history.random.whole(2, 5).min(traders);
            let (amount, rounds) = (history.amount() + 1, history.random.whole(1, 6));
            let gap = [10, 3_000, 200_000][history.random.below(3)];
            for step in 0..rounds * members {
                history.wait(gap);
                let (from, to) = (&wallets[step % members], &wallets[(step + 1) % members]);
                history.send(from, to, amount);
            }
        }
        // An airdrop.
        if history.random.chance(0.01) {
            let amount = history.amount();
            for nth in 0..history.random.whole(5, 80) {
                let to = history.wallet(1_000 + nth);
                let from = if creates { &creator } else { &wallets[0] };
                history.send(from, &to, amount);
            }
        }
        // Liquidity goes, and may come back.
        if history.random.chance(0.01) {
            let share = [supply / 2, supply / 30, supply * 2][history.random.below(3)];
            history.send(&pool, if creates { &creator } else { &wallets[0] }, share);
            if history.random.chance(0.3) {
                history.wait(90_000);
                history.send(&wallets[0], &pool, share / 2);
            }
        }
    }
    if history.random.chance(0.3) {
        history.wait(1_000);
        history.send(&pool, if creates { &creator } else { &wallets[0] }, supply);
    }
    if history.random.chance(0.5) {
        for wallet in wallets.iter().take(60) {
            let balance = if history.random.chance(0.9) { history.random.unit() * supply as f64 / unit / 10.0 } else { 0.0 };
            writeln!(history.files.holders, "{token},{wallet},{balance}").unwrap();
        }
    }
    token
}

fn dataset(seed: u64) -> (Files, Vec<String>) {
    let (mut files, mut random) = (Files::default(), Random(seed));
    let tokens = (0..TOKENS).map(|nth| token(&mut files, &mut random, seed, nth)).collect();
    (files, tokens)
}

fn data(files: &Files, transfers: bool, name: &str) -> Data {
    let with = |head: &str, rows: &str| format!("{head}\n{rows}");
    let tokens = with("token_address,symbol,name,chain,decimals,total_supply", &files.tokens);
    let all = [
        ("tokens.csv", tokens),
        ("contracts.csv", with("token_address,chain,creator,owner", &files.contracts).replace(",eth,", ",")),
        ("labels.csv", with("address,label", &files.labels)),
        ("funding.csv", with("from_address,to_address,timestamp", &files.funding)),
        ("pools.csv", with("address,dex_id,chain,token0,token1,liquidity", &files.pools)),
        ("pool_events.csv", with("pool,timestamp,block_number,kind,reserve0,reserve1", &files.pool_events)),
        ("holders.csv", with("token_address,holder_address,balance", &files.holders)),
        ("dexes.csv", with("dex_id,name,chain,router", &files.dexes)),
    ];
    let data = Data::new(&[]);
    for (name, text) in all {
        data.write(name, &text.replace("token_address,chain,creator", "token_address,creator"));
    }
    if transfers {
        let head = "token_address,timestamp,block_number,log_index,transaction_hash,from_address,to_address,value,status";
        data.write("transfers.csv", &with(head, &files.transfers));
    } else {
        data.write(
            "dataset.toml",
            &format!("[tables.transfers]\nsource = 'warehouse'\ntable = 'deck_test.{name}'\nfinal = true\nread = 'in place'\n"),
        );
    }
    data
}

fn questions(token: &str) -> [String; 3] {
    [
        format!("/{token}/security/inference?explain=true"),
        format!("/tokens/{token}/holders?limit=100&flows=true"),
        format!("/tokens/{token}"),
    ]
}

#[test]
#[ignore = "needs a real engine"]
fn transfers_in_place_give_the_answers_of_transfers_in_files() {
    let (_turn, url) = (turn(), engine());
    let range = std::env::var("TOKENDECK_TRANSFERS").unwrap_or_else(|_| "0..6".to_owned());
    let (from, to) = range.split_once("..").unwrap();
    let (mut found, mut compared) = (std::collections::BTreeMap::<String, usize>::new(), 0);
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let name = format!("transfers_{}", std::process::id());
        make(
            &url,
            &name,
            COLUMNS,
            "ReplacingMergeTree ORDER BY (token_address, transaction_hash, log_index) SETTINGS allow_nullable_key = 1",
        );
        let (files, tokens) = dataset(seed);
        for values in files.values.chunks(1_000) {
            tell(&url, &format!("INSERT INTO deck_test.{name} VALUES {}", values.join(",")));
        }
        let (here, there) = (data(&files, true, &name), data(&files, false, &name));
        let (brought, stays) = (here.load(None, 200_000).unwrap(), there.load(Some(&wire(&url)), 200_000).unwrap());
        let rows = [&brought, &stays].map(|dataset| dataset.table("transfers").unwrap().height());
        assert!(rows[0] == rows[1], "{seed}: {rows:?} {:?}", stays.table("transfers").unwrap().state);
        let (brought, stays) = (api_over(here.path(), brought), api_over(there.path(), stays));
        for token in &tokens {
            for question in questions(token) {
                let ((status, expected), (status_there, answer)) = (ask(&brought, &question), ask(&stays, &question));
                assert_eq!(status, status_there, "{seed} {question}: {answer}");
                let [expected, answer] = [expected, answer].map(|text| serde_json::from_str::<Value>(&text).unwrap());
                let evidence = expected["anomalyDetection"]["transactionPatterns"]["evidence"].as_array();
                for anomaly in evidence.into_iter().flatten() {
                    *found.entry(anomaly["code"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
                }
                same(&expected, &answer, &format!("{seed} {question}"));
                compared += 1;
            }
        }
        tell(&url, &format!("DROP TABLE deck_test.{name}"));
    }
    println!("{compared} answers, {found:?}");
    assert!(compared > 0);
}

/// A token whose transfers are these values of the engine's table.
fn one(url: &str, name: &str, values: &[&str]) -> Data {
    make(url, name, COLUMNS, "MergeTree ORDER BY (token_address, timestamp) SETTINGS allow_nullable_key = 1");
    tell(url, &format!("INSERT INTO deck_test.{name} VALUES {}", values.join(",")));
    let manifest = format!("[tables.transfers]\nsource = 'warehouse'\ntable = 'deck_test.{name}'\nread = 'in place'\n");
    Data::new(&[
        ("dataset.toml", &manifest),
        ("tokens.csv", &format!("token_address,symbol,name,chain,decimals\n{ONE},ONE,One,eth,18\n")),
        ("holders.csv", &format!("token_address,holder_address,balance\n{ONE},{WETH},5\n")),
    ])
}

const ONE: &str = "0x1111111111111111111111111111111111111111";

fn row(second: u32, log: &str, hash: &str, to: &str, value: &str) -> String {
    format!("('{ONE}',toDateTime64({second},3,'UTC'),{second},{log},'{hash}','{ZERO}','{to}',{value},NULL)")
}

#[test]
#[ignore = "needs a real engine"]
fn what_the_sums_cannot_tell_is_said_or_refused() {
    let (_turn, url) = (turn(), engine());
    let security = format!("/{ONE}/security/inference?explain=true");
    let plain = [row(1, "1", "0x01", WETH, "5"), row(2, "1", "0x02", WETH, "7")];
    let cases: [(&str, &[String], u16, &str); 4] = [
        ("plain", &[], 200, "\"transactionPatterns\""),
        ("ties", &[row(2, "NULL", "0x03", WETH, "9"), row(2, "NULL", "0x04", WETH, "9")], 200, "1 transfers at the source are of one time"),
        ("twice", &[row(3, "4", "0x05", WETH, "9"), row(3, "4", "0x05", WETH, "9")], 503, "1 of its transfers come twice there"),
        ("odd", &[row(3, "4", "0x05", "0xabc", "9")], 503, "0x0000000000000000000000000000000000000000 0xabc 9"),
    ];
    for (name, more, status, says) in cases {
        let values: Vec<&str> = plain.iter().chain(more).map(String::as_str).collect();
        let data = one(&url, &format!("told_{name}"), &values);
        let api = api_over(data.path(), data.load(Some(&wire(&url)), 200_000).unwrap());
        let (found, body) = ask(&api, &security);
        assert!(found == status && body.contains(says), "{name}: {found} {body}");
    }
    // Rows without a hash, and of what is no token, are counted.
    let odd = ["('nothing',NULL,9,1,'0x09',NULL,NULL,NULL,NULL)".to_owned(), row(4, "1", "", WETH, "9")];
    let values: Vec<&str> = plain.iter().chain(&odd).map(String::as_str).collect();
    let data = one(&url, "told_left_out", &values);
    let dataset = data.load(Some(&wire(&url)), 200_000).unwrap();
    let told: Vec<&str> = dataset.table("transfers").unwrap().findings.kept().iter().map(|finding| finding.reason.as_str()).collect();
    for says in ["1 of its rows are of tokens that are no addresses, and are left out, such as `nothing`", "1 of its rows are without a transaction hash"] {
        assert!(told.iter().any(|told| told.contains(says)), "{told:?}");
    }
    // The rows of a token, page by page.
    let api = api_over(data.path(), dataset);
    let (status, body) = ask(&api, &format!("/tables/transfers?where=token_address={ONE}&limit=10"));
    let rows: Value = serde_json::from_str(&body).unwrap();
    let first = &rows["rows"][0];
    assert!(status == 200 && rows["rows"].as_array().map(Vec::len) == Some(2), "{body}");
    assert_eq!((first["value"].as_str(), first["transaction_hash"].as_str(), first["to_address"].as_str()), (Some("5"), Some("0x01"), Some(WETH)));
    // A row that changes is noticed.
    let before = ask(&api, &security);
    tell(&url, &format!("INSERT INTO deck_test.told_left_out VALUES {}", row(2, "7", "0x77", WETH, "1")));
    assert_eq!(ask(&api, &security), before, "what was summed stays");
    data.clear_cache();
    let (status, body) = ask(&api, &format!("/tokens/{ONE}/holders?flows=true"));
    assert!(status == 503 && body.contains("load again"), "{status} {body}");
}
