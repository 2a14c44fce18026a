//! Against real engines, run manually: `../shared/tools/engines/engines.sh up DIR` starts a current one and a pair of old ones and prints
//! their addresses; `DIR/venv/bin/python ../shared/tools/engines/ch_http.py 18131 DIR/other` is a second current one.
//! `TOKENDECK_CLICKHOUSE=… TOKENDECK_CLICKHOUSE_OTHER=… TOKENDECK_CLICKHOUSE_TWO_NODES=… cargo test --release --test it clickhouse -- --ignored`

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard},
};

use load::{
    Dataset,
    loader::{LoadError, load_as},
};
use model::{locks::Locked as _, table_state::TableState};
use wire::{Consent, RemoteClient, Source};

use super::{CancelAt, TOKENS, UNI, source, wire_of};
use crate::{
    remote::{Data, api_over, ask, same_rows},
    wait::wait_until,
};

/// Serialises the tests, since they create tables of the same names.
static TURN: Mutex<()> = Mutex::new(());

pub(super) fn turn() -> MutexGuard<'static, ()> {
    TURN.locked()
}

fn address(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is the address of an engine"))
}

pub(super) fn engine() -> String {
    address("TOKENDECK_CLICKHOUSE")
}

/// A second engine in another process.
pub(super) fn other() -> String {
    address("TOKENDECK_CLICKHOUSE_OTHER")
}

/// The first of two old nodes.
pub(super) fn pair() -> String {
    address("TOKENDECK_CLICKHOUSE_TWO_NODES")
}

/// The second node of the pair.
pub(super) fn second() -> String {
    let first = pair();
    let (host, port) = first.rsplit_once(':').unwrap();
    format!("{host}:{}", port.parse::<u16>().unwrap() + 1)
}

pub(super) fn tell(url: &str, sql: &str) -> String {
    let mut answer = ureq::post(url)
        .config()
        .http_status_as_error(false)
        .build()
        .send(sql)
        .unwrap();
    let (status, text) = (answer.status(), answer.body_mut().read_to_string().unwrap());
    assert_eq!(status, 200, "{sql}: {text}");
    text
}

pub(super) fn make(url: &str, name: &str, columns: &str, engine: &str) {
    tell(url, "CREATE DATABASE IF NOT EXISTS deck_test");
    tell(url, &format!("DROP TABLE IF EXISTS deck_test.{name}"));
    tell(
        url,
        &format!("CREATE TABLE deck_test.{name} ({columns}) ENGINE = {engine}"),
    );
}

pub(super) fn wire(url: &str) -> Arc<RemoteClient> {
    wire_of(
        vec![Source {
            timeout_seconds: 60,
            ..source(url)
        }],
        Consent::Always,
    )
}

/// A dataset with this `dataset.toml` and the token UNI only.
pub(super) fn with(manifest: &str) -> Data {
    Data::new(&[("dataset.toml", manifest), ("tokens.csv", TOKENS)])
}

pub(super) fn load(data: &Data, url: &str, rows_min: u64) -> Dataset {
    data.load(Some(&wire(url)), rows_min).unwrap()
}

pub(super) fn reason(dataset: &Dataset, table: &str) -> String {
    match &dataset.table(table).unwrap().state {
        TableState::Unusable(reason) => reason.clone(),
        other => panic!("{other:?}: {}", dataset.table(table).unwrap().height()),
    }
}

/// Transfers with values that survive only as text; cells as written to CSV.
fn transfers() -> Vec<[String; 8]> {
    let values = [
        "0",
        "1",
        "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        "123456789012345678901234567890",
        "9007199254740993",
    ];
    (0..5_000u64)
        .map(|i| {
            let value = values[i as usize % values.len()].to_owned();
            let from = if i % 3 == 0 {
                "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed".to_owned()
            } else {
                format!("0x{:040x}", i % 97)
            };
            let block = 19_000_000 + i / 3;
            let time = 1_704_067_200 + (i / 3) * 12;
            [
                UNI.to_owned(),
                time.to_string(),
                block.to_string(),
                (i % 3).to_string(),
                format!("0x{:064x}", i * 7_919 + 1),
                from,
                format!("0x{:040x}", i % 89 + 1),
                value,
            ]
        })
        .collect()
}

const NAMES: &str = "token_address,block_timestamp,block_number,log_index,transaction_hash,from_address,to_address,value";

fn csv(rows: &[[String; 8]]) -> String {
    let mut text = format!("{NAMES}\n");
    for row in rows {
        writeln!(text, "{}", row.join(",")).unwrap();
    }
    text
}

/// A file-based dataset with the rows that satisfy these conditions.
fn here(rows: &[[String; 8]], conditions: &str) -> Data {
    let data = with(&format!("[tables.transfers]\npath = 't.csv'\n{conditions}"));
    data.write("t.csv", &csv(rows));
    data
}

fn same(a: &Dataset, b: &Dataset) {
    same_rows(a.table("transfers").unwrap(), b.table("transfers").unwrap());
}

const QUESTIONS: [&str; 3] = [
    "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
    "/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/security/inference?explain=true",
    "/tables/transfers?limit=50&where=log_index%3C1%20block_number%3C19000040",
];

type Spell<'a> = &'a dyn Fn(&str) -> String;
type Times<'a> = &'a dyn Fn(&str, &str) -> String;

#[test]
#[ignore = "needs a real engine"]
fn answers_are_those_of_a_file_of_the_same_rows() {
    let (_turn, url, rows) = (turn(), engine(), transfers());
    let bytes = |text: &str| format!("unhex('{}')", &text[2..]);
    let text = |text: &str| format!("'{text}'");
    let time = |seconds: &str, zone: &str| format!("toDateTime64({seconds}, 6, '{zone}')");
    let plain = |seconds: &str, _: &str| format!("toDateTime({seconds})");
    let shapes: [(&str, Spell<'_>, Times<'_>, Spell<'_>); 3] = [
        (
            "token_address String, block_timestamp DateTime, block_number UInt64, log_index UInt32, transaction_hash String, \
             from_address String, to_address String, value UInt256",
            &text,
            &plain,
            &text,
        ),
        (
            "token_address FixedString(20), block_timestamp DateTime64(6, 'Asia/Tokyo'), block_number Nullable(UInt32), log_index Int64, \
             transaction_hash FixedString(32), from_address FixedString(20), to_address FixedString(20), value Nullable(UInt256)",
            &bytes,
            &time,
            &text,
        ),
        (
            "token_address LowCardinality(String), block_timestamp DateTime64(3), block_number Int256, log_index UInt8, \
             transaction_hash FixedString(66), from_address Nullable(String), to_address String, value String",
            &text,
            &time,
            &text,
        ),
    ];
    for (columns, spell, times, value) in shapes {
        make(
            &url,
            "transfers",
            columns,
            "MergeTree ORDER BY (log_index, transaction_hash)",
        );
        for rows in rows.chunks(500) {
            let rows: Vec<String> = rows
                .iter()
                .map(|[token, at, block, log, hash, from, to, amount]| {
                    let all = [
                        spell(token),
                        times(at, "UTC"),
                        block.clone(),
                        log.clone(),
                        spell(hash),
                        spell(from),
                        spell(to),
                        value(amount),
                    ];
                    format!("({})", all.join(","))
                })
                .collect();
            tell(
                &url,
                &format!("INSERT INTO deck_test.transfers VALUES {}", rows.join(",")),
            );
        }
        for rows_min in [1_000, 200_000] {
            let conditions = "where = { token_address = { in = 'tokens' }, timestamp = { min = '2024-01-01T00:00:12Z' } }\n";
            let engine = with(&format!(
                "[tables.transfers]\nsource = 'warehouse'\ntable = 'deck_test.transfers'\n{conditions}"
            ));
            let files = here(&rows, conditions);
            let (here, there) = (
                files.load(None, rows_min).unwrap(),
                load(&engine, &url, rows_min),
            );
            assert_eq!(there.table("transfers").unwrap().height(), 4_997);
            same(&here, &there);
            for question in QUESTIONS {
                let here = files.ask(files.load(None, rows_min).unwrap(), question);
                let there = engine.ask(load(&engine, &url, rows_min), question);
                assert_eq!((here.0, here), (200, there), "{question}");
            }
        }
    }
}

#[test]
#[ignore = "needs real engines"]
fn two_old_nodes_give_the_rows_of_one_file() {
    let (_turn, rows) = (turn(), transfers());
    let columns = "token_address String, block_timestamp DateTime, block_number UInt64, log_index UInt32, transaction_hash String, \
                   from_address String, to_address String, value String";
    for (node, url) in [pair(), second()].iter().enumerate() {
        make(
            url,
            "part",
            columns,
            "MergeTree ORDER BY (token_address, block_number)",
        );
        let row = |[token, at, block, log, hash, from, to, amount]: &[String; 8]| {
            format!(
                "('{token}',toDateTime({at}),{block},{log},'{hash}','{from}','{to}','{amount}')"
            )
        };
        let own: Vec<String> = rows.iter().skip(node).step_by(2).map(row).collect();
        for own in own.chunks(500) {
            tell(
                url,
                &format!("INSERT INTO deck_test.part VALUES {}", own.join(",")),
            );
        }
    }
    make(
        &pair(),
        "transfers",
        columns,
        "Distributed(deck, deck_test, part, rand())",
    );
    for rows_min in [1_000, 200_000] {
        let files = here(&rows, "");
        let engine =
            with("[tables.transfers]\nsource = 'warehouse'\ntable = 'deck_test.transfers'\n");
        same(
            &files.load(None, rows_min).unwrap(),
            &load(&engine, &pair(), rows_min),
        );
    }
    // A subquery.
    let inside = |word: &str| {
        let query = format!(
            "SELECT * FROM deck_test.transfers WHERE from_address {word} (SELECT to_address FROM deck_test.transfers)"
        );
        load(
            &with(&format!(
                "[tables.transfers]\nsource = 'warehouse'\nquery = \"{query}\"\n"
            )),
            &pair(),
            1_000,
        )
    };
    assert!(reason(&inside("IN"), "transfers").contains("GLOBAL IN"));
    assert!(inside("GLOBAL IN").table("transfers").unwrap().height() > 100);
    // With an unreachable node, half of the rows must not be returned.
    let query = "SELECT * FROM remote('127.0.0.1:19001,127.0.0.1:9', deck_test.part)";
    let dead = load(
        &with(&format!(
            "[tables.transfers]\nsource = 'warehouse'\nquery = \"{query}\"\n"
        )),
        &pair(),
        1_000,
    );
    assert!(
        reason(&dead, "transfers").contains("is unreachable"),
        "{}",
        reason(&dead, "transfers")
    );
}

/// A query that generates `rows` candles; tests replace `toFloat64(number)` to make it fail in mid-stream.
fn failing(rows: u64) -> String {
    format!(
        "[tables.candles]\nsource = 'warehouse'\nquery = \"\"\"SELECT '{UNI}' AS token_address, toDateTime(1500000000 + number * 60) AS timestamp, \
         1.5 AS open, 2.0 AS high, 1.0 AS low, 1.7 AS close, toFloat64(number) AS volume, '1m' AS interval FROM system.numbers LIMIT {rows}\"\"\"\n"
    )
}

#[test]
#[ignore = "needs real engines"]
fn a_query_that_fails_on_the_way_gives_no_rows() {
    let _turn = turn();
    for (url, rows) in [(engine(), 1_000_000u64), (pair(), 300_000)] {
        for rows_min in [1_000, 10_000_000] {
            let manifest = failing(rows);
            let whole = load(&with(&manifest), &url, rows_min);
            assert_eq!(
                whole.table("candles").unwrap().height() as u64,
                rows,
                "{:?}",
                whole.table("candles").unwrap().state
            );
            let broken = manifest.replace(
                "toFloat64(number)",
                &format!("toFloat64(number) + throwIf(number = {})", rows - 10),
            );
            let dataset = load(&with(&broken), &url, rows_min);
            let reason = reason(&dataset, "candles");
            assert!(
                reason.contains("395") || reason.contains("closed the connection early"),
                "{reason}"
            );
        }
    }
}

#[test]
#[ignore = "needs a real engine"]
fn a_cancelled_load_kills_its_query_on_the_node() {
    let _turn = turn();
    let url = pair();
    let slow = failing(2_000_000).replace("toFloat64(number)", "toFloat64(number) + sleep(0.01)");
    let slow = slow.replace(
        "AS interval FROM system.numbers",
        "AS interval FROM system.numbers WHERE number % 1000 = 0 OR number > 0",
    );
    let data = with(&slow);
    let running = || {
        tell(
            &url,
            "SELECT count() FROM system.processes WHERE query LIKE '%sleep(0.01)%' AND query NOT LIKE '%processes%'",
        )
    };
    let progress = CancelAt(0.into(), 10);
    let outcome = load_as(
        data.path(),
        &data.options(1_000),
        Some(&wire(&url)),
        &progress,
        None,
        false,
    );
    // Counting may already exceed the client's timeout; then the count query was cancelled.
    assert!(
        matches!(outcome, Err(LoadError::Cancelled)),
        "{:?}",
        outcome.map(|dataset| reason(&dataset, "candles"))
    );
    wait_until("the query ends", || running().trim() == "0");
}

#[test]
#[ignore = "needs a real engine"]
fn candles_in_place_give_the_answers_of_candles_in_the_cache() {
    use super::QUESTIONS;
    let (_turn, url) = (turn(), engine());
    let other = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
    for (seed, days) in [(1, 9), (2, 35), (3, 60), (4, 200), (5, 61)] {
        let columns = "token_address String, at DateTime, open Float64, high Nullable(Float64), low Float64, close Float64, volume Float64, \
                       interval LowCardinality(String)";
        make(
            &url,
            "candles",
            columns,
            "MergeTree ORDER BY (token_address, interval, at)",
        );
        // Some addresses of another token are spelled with capitals.
        let written = if seed > 3 {
            other.replace("aaa39b", "AAa39b")
        } else {
            other.to_owned()
        };
        for (interval, step) in [("1d", 86_400), ("1h", 3_600), ("7m", 420)] {
            let count = days * 86_400 / step;
            // With gaps, invalid highs and zero prices.
            tell(
                &url,
                &format!(
                    "INSERT INTO deck_test.candles SELECT if(number % 2 = 0, '{UNI}', if(number % 3 = 0, '{written}', '{other}')), \
                     toDateTime(1700000000 + intDiv(number, 2) * {step}), c, if(h % 17 = 0, c / 2, if(h % 31 = 0, NULL, c + 1)), \
                     c / 3, c, h, '{interval}' FROM (SELECT number, cityHash64(number, {seed}, '{interval}') % 1000 AS h, \
                     if(h % 41 = 0, 0, 1 + h / 7) AS c FROM numbers({})) WHERE h % 5 > 0 AND NOT (h % 2 = 0 AND intDiv(number, 5000) % 2 = 1)",
                    count * 2
                ),
            );
        }
        let manifest = "[tables.candles]\nsource = 'warehouse'\ntable = 'deck_test.candles'\ncolumns = { timestamp = 'at' }\n";
        let two = format!("{TOKENS}{other},WETH,Wrapped,eth,\n");
        let api = |more: &str| {
            let data = with(&format!("{manifest}{more}"));
            data.write("tokens.csv", &two);
            let dataset = load(&data, &url, 1_000);
            assert!(
                dataset.table("candles").unwrap().loaded(),
                "{:?}",
                dataset.table("candles").unwrap().state
            );
            (api_over(data.path(), dataset), data)
        };
        let ((brought, _a), (there, _b)) = (api(""), api("read = 'in place'\n"));
        for question in QUESTIONS
            .iter()
            .flat_map(|question| [(*question).to_owned(), question.replace(UNI, other)])
        {
            let expected = ask(&brought, &question);
            assert_eq!(
                (expected.0, &expected),
                (200, &ask(&there, &question)),
                "{seed}: {question}"
            );
        }
    }
}
