//! Table rows over HTTP: equal for in-memory and cached tables, paged and streamed, with refusals that name what would be right.

mod formats;

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    time::Duration,
};

use api::{ApiOptions, answer_offline};
use frames::cache::CacheOptions;
use query::queries::parameter::encode;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::server::{Answer, Running, TOKEN, get};
use crate::wait::wait_until;

/// More than a scan reads at a time.
const ROWS: usize = 20_000;
/// More than fit into the buffers between client and server.
const ROWS_OF_A_LONG_STREAM: usize = 60_000;

/// Hourly candles of three tokens, with missing volumes and repeated closes.
fn write_dataset(folder: &Path, rows: usize) {
    let tokens = [
        TOKEN,
        "0xdac17f958d2ee523a2206206994597c13d831ec7",
        "0x00000000000000000000000000000000000000aa",
    ];
    let lines: Vec<String> = tokens
        .iter()
        .enumerate()
        .map(|(i, token)| format!("{token},T{i},Token {i},eth,1,rank {i},{i}\n"))
        .collect();
    fs::write(
        folder.join("tokens.csv"),
        format!(
            "token_address,symbol,name,chain,price,note,place\n{}",
            lines.concat()
        ),
    )
    .expect("a written file");
    let mut text = String::from("token_address,timestamp,open,high,low,close,volume\n");
    for i in (0..rows).map(|i| i * 7_919 % rows) {
        let close = 1 + i * 31 % 977;
        let volume = if i % 7 == 0 {
            String::new()
        } else {
            (i * 17 % 4_001).to_string()
        };
        text.push_str(&format!(
            "{},{},{close},{close},{close},{close},{volume}\n",
            tokens[i % 3],
            1_500_000_000 + i / 3 * 3_600
        ));
    }
    fs::write(folder.join("candles.csv"), text).expect("a written file");
}

/// A server over the dataset; with `large` its candles are in the on-disk cache.
fn over(large: bool) -> Running {
    over_rows(ROWS, large, ApiOptions::default())
}

fn over_rows(rows: usize, large: bool, options: ApiOptions) -> Running {
    let cache = if large {
        CacheOptions {
            folder: Some("cache".into()),
            rows_min: 10,
            block_rows: 500,
            ..CacheOptions::default()
        }
    } else {
        CacheOptions::default()
    };
    let running = Running::over(|folder| write_dataset(folder, rows), cache, options);
    running.api.service.load().expect("the dataset loads");
    let snapshot = running.api.service.snapshot().expect("a snapshot");
    assert_eq!(
        snapshot
            .dataset
            .table("candles")
            .is_some_and(|table| table.large().is_some()),
        large
    );
    running
}

fn page(server: &Running, target: &str) -> Value {
    let reply = answer_offline(&server.api, "GET", target, b"");
    assert_eq!(
        reply.status,
        200,
        "{target}: {}",
        String::from_utf8_lossy(&reply.body)
    );
    serde_json::from_slice(&reply.body).expect("JSON")
}

/// A page with its rows as raw JSON.
#[derive(Deserialize)]
struct Page {
    total: Option<usize>,
    next: Option<String>,
    rows: Vec<Box<RawValue>>,
}

fn rows_page(server: &Running, target: &str) -> Page {
    let reply = answer_offline(&server.api, "GET", target, b"");
    serde_json::from_slice(&reply.body).unwrap_or_else(|error| {
        panic!(
            "{target}: {error}: {}",
            String::from_utf8_lossy(&reply.body)
        )
    })
}

/// Rows of all pages, one per line.
fn pages(server: &Running, target: &str) -> String {
    let (mut rows, mut cursor) = (String::new(), None);
    loop {
        let at = cursor.map_or(String::new(), |cursor: String| format!("&cursor={cursor}"));
        let page = rows_page(server, &format!("{target}{at}"));
        for row in page.rows {
            rows.push_str(row.get());
            rows.push('\n');
        }
        match page.next {
            Some(next) => cursor = Some(next),
            None => return rows,
        }
    }
}

/// Streams the target without a server.
fn stream(server: &Running, target: &str) -> Vec<u8> {
    let mut reply = answer_offline(&server.api, "GET", target, b"");
    let rows = reply
        .rows
        .as_mut()
        .unwrap_or_else(|| panic!("{target}: {}", String::from_utf8_lossy(&reply.body)));
    let mut whole = Vec::new();
    while let Some(piece) = rows.next_piece().expect("a stream to its end") {
        whole.extend_from_slice(&piece);
    }
    whole
}

fn lines(text: &[u8]) -> Vec<Value> {
    String::from_utf8_lossy(text)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[test]
fn cached_and_plain_tables_give_the_same_rows_by_page_and_as_a_stream() {
    let servers = [over(false), over(true)];
    for (conditions, sort, count) in [
        ("", "", Some(ROWS)),
        ("close>900", "", None),
        ("close>900 volume<100", "-volume,timestamp", None),
        (
            "timestamp>=2018",
            "-close,+volume,-timestamp,token_address",
            None,
        ),
        ("", "token_address", Some(ROWS)),
        ("close>10000", "close", Some(0)),
        ("token_address:00aa close=5", "interval,-timestamp", None),
    ] {
        let query = format!("where={}&sort={}", encode(conditions), encode(sort));
        let whole = |server| {
            String::from_utf8(stream(
                server,
                &format!("/tables/candles?{query}&format=ndjson"),
            ))
            .expect("text")
        };
        let [small, large] = [0, 1].map(|i| whole(&servers[i]));
        let rows = small.lines().count();
        assert!(
            small == large,
            "{query}: {rows} and {} rows",
            large.lines().count()
        );
        assert!(
            count.is_none_or(|count| count == rows) && (count == Some(0)) == small.is_empty(),
            "{query}"
        );
        for server in &servers {
            let size = (rows / 3).clamp(1, 9_000);
            assert!(
                pages(server, &format!("/tables/candles?{query}&limit={size}")) == small,
                "{query} by page"
            );
            let total = rows_page(server, &format!("/tables/candles?{query}&limit=10000")).total;
            assert!(
                total == Some(rows) || (total.is_none() && rows > 10_000),
                "{query}: {total:?}"
            );
        }
    }
}

#[test]
fn the_columns_asked_for_may_be_ones_that_only_the_file_has() {
    let server = over(false);
    let answer = page(
        &server,
        "/tables/tokens?columns=note,symbol,place&where=place%3E=1&sort=-note",
    );
    assert_eq!(
        answer,
        json!({ "table": "tokens", "limit": 100, "total": 2, "next": null, "rows": [
            { "note": "rank 2", "symbol": "T2", "place": 2 }, { "note": "rank 1", "symbol": "T1", "place": 1 },
        ] })
    );
    let tables = page(&server, "/tables");
    let names: Vec<&str> = tables["tables"]
        .as_array()
        .expect("tables")
        .iter()
        .filter_map(|table| table["name"].as_str())
        .collect();
    assert_eq!(names, ["tokens", "candles"]);
    assert_eq!(
        (&tables["tables"][1]["rows"], &tables["tables"][1]["large"]),
        (&json!(ROWS), &json!(false))
    );
    assert_eq!(
        tables["tables"][1]["columns"][1],
        json!({ "name": "timestamp", "type": "time", "meaning": "start of the interval" })
    );
}

#[test]
fn a_refused_table_request_names_what_would_be_right() {
    let server = over(false);
    let next = page(&server, "/tables/candles?limit=5")["next"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    for (target, status, code, says) in [
        ("/tables/candels", 404, "table_not_found", "`candles`"),
        ("/tables/holders", 404, "table_not_found", "holders.csv"),
        (
            "/tables/candles?columns=cloze",
            400,
            "invalid_parameter",
            "`close`",
        ),
        (
            "/tables/candles?sort=-clos",
            400,
            "invalid_parameter",
            "`close`",
        ),
        (
            "/tables/candles?sort=open,high,low,close,volume",
            400,
            "invalid_parameter",
            "up to 4",
        ),
        (
            "/tables/candles?where=usd",
            400,
            "invalid_parameter",
            "`usd`",
        ),
        (
            "/tables/candles?where=close%3Eabc",
            400,
            "invalid_parameter",
            "a number",
        ),
        (
            &format!("/tables/candles?where=close%3E1{}", "0".repeat(600)),
            400,
            "invalid_parameter",
            "500",
        ),
        ("/tables/candles?limit=0", 400, "invalid_parameter", "10000"),
        (
            "/tables/candles?limit=10001&format=csv",
            400,
            "invalid_parameter",
            "10000",
        ),
        (
            "/tables/candles?format=xml",
            400,
            "invalid_parameter",
            "parquet",
        ),
        (
            "/tables/candles?cursor=x",
            400,
            "invalid_parameter",
            "`next`",
        ),
        (
            &format!("/tables/candles?cursor={next}&sort=close"),
            400,
            "invalid_parameter",
            "a different table",
        ),
        (
            &format!("/tables/tokens?cursor={next}"),
            400,
            "invalid_parameter",
            "a different table",
        ),
        (
            "/tables/candles?strict=true&page=2",
            400,
            "invalid_parameter",
            "cursor",
        ),
    ] {
        for target in [
            target.to_owned(),
            format!(
                "{target}{}format=ndjson",
                if target.contains('?') { "&" } else { "?" }
            ),
        ] {
            if target.matches("format").count() > 1 {
                continue;
            }
            let answer = server.get(&target);
            answer.is_problem(status, code, &target);
            assert!(
                answer.json()["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.contains(says)),
                "{target}: {}",
                answer.json()
            );
        }
    }
    // A reload of the same data leaves cursors valid; other data do not.
    server.api.service.load().expect("a dataset");
    assert_eq!(
        server
            .get(&format!("/tables/candles?limit=5&cursor={next}"))
            .status,
        200
    );
    fs::write(
        server.folders()[0].join("candles.csv"),
        format!("token_address,timestamp,open,high,low,close\n{TOKEN},0,1,1,1,1\n"),
    )
    .expect("a written file");
    server.api.service.load().expect("a dataset");
    let answer = server.get(&format!("/tables/candles?limit=5&cursor={next}"));
    assert_eq!(
        (answer.status, answer.header("x-data-generation")),
        (200, Some("1")),
        "the generation that the cursor is of is kept"
    );
}

/// Finds the file of this name below the folder.
fn found(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let here = entries.iter().find(|path| path.ends_with(name)).cloned();
    here.or_else(|| entries.iter().find_map(|path| found(path, name)))
}

#[test]
fn a_stream_that_breaks_off_does_not_look_whole() {
    let server = over_rows(ROWS_OF_A_LONG_STREAM, true, ApiOptions::default());
    let rows = found(&server.folders()[1].join("cache"), "rows.arrow").expect("a large table");
    let mut bytes = fs::read(&rows).expect("its rows");
    // Blocks already read are not verified again, so much of the file is damaged.
    let (from, to) = (bytes.len() / 3, bytes.len() - 8_192);
    bytes[from..to]
        .iter_mut()
        .step_by(1_000)
        .for_each(|byte| *byte ^= 1);
    // In place, since the file is memory-mapped.
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open(&rows)
        .expect("its file");
    file.write_all(&bytes).expect("a written file");
    for format in ["ndjson", "csv", "arrow", "parquet"] {
        let raw = server.raw(&get(&format!("/tables/candles?format={format}"), ""));
        let text = String::from_utf8_lossy(&raw[..raw.len().min(400)]).into_owned();
        // It may break off before its head is sent, which no client takes for a complete answer either.
        if text.is_empty() {
            return;
        }
        // Once damage is detected, 503 until a load rebuilds the file.
        if !text.starts_with("HTTP/1.1 200") {
            assert!(text.starts_with("HTTP/1.1 503"), "{text}");
            continue;
        }
        assert!(Answer::parse(&raw).chunks().is_none(), "{format}");
        return;
    }
    panic!("no stream was begun");
}

/// Occupies the server's only stream: a client that has read its beginning.
fn begin_stream(server: &Running) -> TcpStream {
    let mut client = server.connect();
    client
        .write_all(&get("/tables/candles?format=ndjson", ""))
        .expect("sent");
    client
        .read_exact(&mut [0; 1_000])
        .expect("the stream begins");
    client
}

fn wait_for_a_free_stream(server: &Running) {
    wait_until("a stream is free", || {
        server
            .get("/tables/candles?format=csv&columns=close")
            .status
            == 200
    });
}

#[test]
fn streams_of_rows_are_limited_in_number_and_end_with_their_client() {
    let server = over_rows(
        ROWS_OF_A_LONG_STREAM,
        true,
        ApiOptions {
            row_streams: 1,
            ..ApiOptions::default()
        },
    );
    let client = begin_stream(&server);
    let busy = server.get("/tables/candles?format=csv");
    busy.is_problem(503, "busy", "one stream at a time");
    assert_eq!(busy.header("retry-after"), Some("1"));
    assert_eq!(
        server.get("/tables/candles?limit=3").status,
        200,
        "a page is no stream"
    );
    drop(client);
    wait_for_a_free_stream(&server);
}

#[test]
fn a_client_that_reads_nothing_loses_its_stream() {
    let idle_time = Duration::from_millis(300);
    let server = over_rows(
        ROWS_OF_A_LONG_STREAM,
        true,
        ApiOptions {
            row_streams: 1,
            idle_time,
            ..ApiOptions::default()
        },
    );
    let _stays_connected = begin_stream(&server);
    wait_for_a_free_stream(&server);
}

#[test]
fn a_connection_can_be_used_again_after_a_stream() {
    let server = Running::start();
    let mut kept = server.connect();
    let request = String::from_utf8(get("/tokens?format=csv", ""))
        .expect("text")
        .replace("Connection: close\r\n", "");
    for _ in 0..2 {
        kept.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"0\r\n\r\n") {
            let mut byte = [0];
            kept.read_exact(&mut byte).expect("an answer");
            answer.push(byte[0]);
        }
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
}
