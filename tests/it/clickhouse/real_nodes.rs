//! Rows that lie on two real nodes: together they give the answers of one. If one is away, breaks off or changes, that is an error, and never
//! half an answer; a slow one is waited for. Run like `real`.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use load::Dataset;
use model::table_state::TableState;

use super::{
    UNI,
    real::{engine, load, make, other, pair, second, tell, turn, with},
    real_tables::{answer, fill, same, stand},
};

/// What happens to the answers of a node.
const PASS: u64 = 0;
const SLOW: u64 = 1;
const DOWN: u64 = 2;
/// Any other number: the connection is cut after so many bytes.
type Mode = Arc<AtomicU64>;

/// A way to the node at `there` (`host:port`), which may be slow, cut or closed; its port.
fn way_to(there: &str) -> (u16, Mode) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, mode) = (listener.local_addr().unwrap().port(), Mode::default());
    let (there, shared) = (there.to_owned(), Arc::clone(&mode));
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) =
                TcpStream::connect(&there).map_err(|_| drop(near.shutdown(Shutdown::Both)))
            else {
                continue;
            };
            if shared.load(Ordering::Acquire) == DOWN {
                near.shutdown(Shutdown::Both).ok();
                continue;
            }
            let (near_too, far_too, mode) = (
                near.try_clone().unwrap(),
                far.try_clone().unwrap(),
                Arc::clone(&shared),
            );
            thread::spawn(move || pass(near_too, far_too, &Mode::default()));
            thread::spawn(move || pass(far, near, &mode));
        }
    });
    (port, mode)
}

fn pass(mut from: TcpStream, mut to: TcpStream, mode: &Mode) {
    let (mut buffer, mut sent) = ([0; 4_096], 0);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        sent += count as u64;
        match mode.load(Ordering::Acquire) {
            PASS => {}
            SLOW => thread::sleep(Duration::from_millis(4)),
            cut if sent <= cut && cut != DOWN => {}
            _ => break,
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
    from.shutdown(Shutdown::Both).ok();
}

/// Of a table that both nodes have, each keeps its half, by these columns; on the first `split_KIND` is both. The way to the second is at the port.
fn split([near, far]: [&str; 2], port: u16, (whole, kind): (&str, &str), columns: &str) {
    for (node, name, part) in [(near, "near", 0), (far, "far", 1)] {
        tell(
            node,
            &format!("DROP TABLE IF EXISTS deck_test.{name}_{kind}"),
        );
        tell(
            node,
            &format!(
                "CREATE TABLE deck_test.{name}_{kind} ENGINE = MergeTree ORDER BY token_address AS SELECT * FROM deck_test.{whole}_{kind} WHERE \
                 cityHash64({columns}) % 2 = {part}"
            ),
        );
    }
    let types = tell(
        near,
        &format!(
            "SELECT arrayStringConcat(groupArray(concat(name, ' ', type)), ', ') FROM system.columns WHERE database = 'deck_test' AND table = \
             '{whole}_{kind}'"
        ),
    );
    let types = types.trim().replace("\\'", "'").replace('\'', "\\'");
    let there = format!(
        "http://127.0.0.1:{port}/?query=SELECT%20*%20FROM%20deck_test.far_{kind}&default_format=Native"
    );
    tell(
        near,
        &format!("DROP TABLE IF EXISTS deck_test.split_{kind}"),
    );
    tell(
        near,
        &format!(
            "CREATE VIEW deck_test.split_{kind} AS SELECT * FROM deck_test.near_{kind} UNION ALL SELECT * FROM url('{there}', 'Native', '{types}')"
        ),
    );
}

const QUESTIONS: [&str; 8] = [
    "/tables/candles?sort=-volume,close&limit=30",
    "/tables/candles?where=close%3E100%20or%20interval:1d&sort=timestamp&limit=7",
    "/tables/candles?by=interval&agg=count,sum:volume,mean:close&sort=-count",
    "/tables/candles/describe?column=volume",
    "/tables/candles/counts?column=source",
    "/tables/holders?where=balance%3E10&sort=-balance&limit=50",
    "/tables/holders?by=token_address&agg=sum:balance,count",
    "/tables/holders?limit=500",
];

#[test]
#[ignore = "needs two real engines"]
fn a_table_over_two_nodes_gives_the_answers_of_one_or_none() {
    let (_turn, url, far) = (turn(), engine(), other());
    let (port, mode) = way_to(far.trim_start_matches("http://"));
    for node in [&url, &far] {
        fill(node);
    }
    for (kind, of) in [
        ("candles", "token_address, toUnixTimestamp(timestamp)"),
        ("holders", "holder_address"),
        ("transfers", "transaction_hash"),
    ] {
        split([&url, &far], port, ("asked", kind), of);
    }
    // Both there, one of them slow.
    for way in [PASS, SLOW] {
        mode.store(way, Ordering::Release);
        let apis = stand(&url, "split");
        for question in QUESTIONS {
            assert!(same(&apis, question, 2), "{question}");
        }
    }
    let apis = stand(&url, "split");
    // Last, as the engine tries for a minute to reach a node that is away.
    mode.store(DOWN, Ordering::Release);
    let (status, body) = answer(&apis[1].0, QUESTIONS[6]);
    assert!(
        status == 503 && body.contains("from `warehouse`: "),
        "{status} {}",
        &body[..body.len().min(300)]
    );
}

/// The number of candles, or why there are none.
fn candles(dataset: &Dataset) -> Result<usize, String> {
    let table = dataset.table("candles").unwrap();
    if let TableState::Unusable(reason) = &table.state {
        Err(reason.clone())
    } else {
        Ok(table.height())
    }
}

#[test]
#[ignore = "needs real engines"]
fn two_old_nodes_give_all_their_rows_or_none() {
    const ROWS: usize = 30_000;
    let (_turn, urls) = (turn(), [pair(), second()]);
    // Old nodes send each other the name `interval` as it is, and take it for the word of the language.
    let columns = "token_address String, timestamp DateTime, span String, open Float64, high Float64, low Float64, close Float64, volume Float64";
    let some = |from: usize, rows: usize| {
        format!(
            "SELECT '{UNI}', toDateTime(1600000000 + (number + {from}) * 3600), '1h', 2, 3, 1, 2, toFloat64(number) FROM (SELECT number FROM \
             system.numbers LIMIT {rows})"
        )
    };
    for (nth, url) in urls.iter().enumerate() {
        make(
            url,
            "shard",
            columns,
            "MergeTree ORDER BY (token_address, timestamp)",
        );
        tell(
            url,
            &format!(
                "INSERT INTO deck_test.shard {}",
                some(nth * ROWS / 2, ROWS / 2)
            ),
        );
        // The second replica has not got the newest rows yet.
        make(
            url,
            "replica",
            columns,
            "MergeTree ORDER BY (token_address, timestamp)",
        );
        tell(
            url,
            &format!("INSERT INTO deck_test.replica {}", some(0, ROWS - nth * 10)),
        );
    }
    let (port, mode) = way_to("127.0.0.1:19002");
    let ask = |hosts: &str, table: &str| {
        let query = format!("query = \"SELECT * FROM remote('{hosts}', deck_test.{table})\"");
        candles(&load(
            &with(&format!(
                "[tables.candles]\nsource = 'warehouse'\n{query}\ncolumns = {{ interval = 'span' }}\n"
            )),
            &urls[0],
            1_000,
        ))
    };
    let shards = format!("127.0.0.1:19001,127.0.0.1:{port}");
    for way in [PASS, SLOW] {
        mode.store(way, Ordering::Release);
        assert_eq!(ask(&shards, "shard"), Ok(ROWS));
    }
    for way in [DOWN, 2_000, 20_000] {
        mode.store(way, Ordering::Release);
        let why = ask(&shards, "shard").expect_err(&format!("the way is {way}"));
        assert!(why.contains("warehouse"), "{why}");
    }
    // Which of the replicas answers is the node's choice: the rows are those of one of them, or none.
    let mut seen = Vec::new();
    for _ in 0..12 {
        match ask("127.0.0.1:19001|127.0.0.1:19002", "replica") {
            Ok(rows) => {
                assert!([ROWS, ROWS - 10].contains(&rows), "{rows}");
                seen.push(rows);
            }
            Err(why) => assert!(
                why.contains("rows where") || why.contains("were counted"),
                "{why}"
            ),
        }
    }
}
