//! Every format and content coding reads back as the table or list.

use std::io::{Cursor, Read};

use polars::prelude::{
    DataFrame, DataType, IpcStreamReader, ParquetReader, SerReader, TimeUnit, TimeZone,
};

use super::{ROWS, Running, TOKEN, get, lines, over, page, stream};

/// Fetches the target as Arrow and as Parquet; `target` ends with `?` or `&`.
fn frames(server: &Running, target: &str) -> (DataFrame, DataFrame) {
    let bytes = |format: &str| Cursor::new(stream(server, &format!("{target}format={format}")));
    (
        IpcStreamReader::new(bytes("arrow"))
            .finish()
            .expect("Arrow"),
        ParquetReader::new(bytes("parquet"))
            .finish()
            .expect("Parquet"),
    )
}

fn column_types(frame: &DataFrame) -> Vec<(String, DataType)> {
    frame
        .columns()
        .iter()
        .map(|column| (column.name().to_string(), column.dtype().clone()))
        .collect()
}

#[test]
fn every_format_reads_back_as_the_table() {
    for large in [false, true] {
        let server = over(large);
        let target = "/tables/candles?where=close%3E300&sort=-close,timestamp";
        let expected = lines(&stream(&server, &format!("{target}&format=ndjson")));
        let (arrow, parquet) = frames(&server, &format!("{target}&"));
        assert!(arrow.equals_missing(&parquet));
        let time = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
        let kinds = |names: &[&str], kind: &DataType| {
            names
                .iter()
                .map(|name| ((*name).to_owned(), kind.clone()))
                .collect::<Vec<_>>()
        };
        let types = [
            kinds(&["token_address"], &DataType::String),
            kinds(&["timestamp"], &time),
            kinds(
                &["open", "high", "low", "close", "volume"],
                &DataType::Float64,
            ),
            kinds(&["interval"], &DataType::String),
            kinds(&["volume_usd"], &DataType::Float64),
            kinds(&["source"], &DataType::String),
        ];
        assert_eq!(column_types(&arrow), types.concat());
        let closes: Vec<Option<f64>> = arrow
            .column("close")
            .and_then(|column| column.f64())
            .expect("closes")
            .iter()
            .collect();
        let volumes: Vec<Option<f64>> = arrow
            .column("volume")
            .and_then(|column| column.f64())
            .expect("volumes")
            .iter()
            .collect();
        assert!(expected.iter().map(|row| row["close"].as_f64()).eq(closes));
        assert!(
            expected
                .iter()
                .map(|row| row["volume"].as_f64())
                .eq(volumes)
        );
        let csv =
            String::from_utf8(stream(&server, &format!("{target}&format=csv"))).expect("text");
        assert_eq!(csv.lines().count(), expected.len() + 1);
        assert!(csv.starts_with(
            "token_address,timestamp,open,high,low,close,volume,interval,volume_usd,source\n"
        ));
        // Without rows the columns are still there.
        let none = "/tables/candles?where=close%3C0";
        let (arrow, parquet) = frames(&server, &format!("{none}&"));
        assert_eq!(
            (arrow.height(), column_types(&arrow), column_types(&parquet)),
            (0, types.concat(), types.concat())
        );
    }
}

#[test]
fn our_own_lists_are_answered_in_every_format_and_documented_ones_in_json() {
    let server = Running::start();
    for (target, list) in [
        ("/tokens", "tokens"),
        ("/tokens?only=symbol,price", "tokens"),
        ("/posts", "posts"),
        ("/posts?only=title,post_id", "posts"),
        (&format!("/tokens/{TOKEN}/holders"), "holders"),
        (&format!("/tokens/{TOKEN}/holder-counts"), "holder_counts"),
        ("/dexes", "dexes"),
    ] {
        let separator = if target.contains('?') { "&" } else { "?" };
        let rows = page(&server, target)[list]
            .as_array()
            .expect("rows")
            .clone();
        let target = format!("{target}{separator}");
        assert_eq!(
            lines(&stream(&server, &format!("{target}format=ndjson"))),
            rows,
            "{target}"
        );
        let (arrow, parquet) = frames(&server, &target);
        assert_eq!(
            (arrow.height(), column_types(&arrow)),
            (rows.len(), column_types(&parquet)),
            "{target}"
        );
        if let Some(row) = rows.first() {
            let members: Vec<&String> = row.as_object().expect("a row").keys().collect();
            assert!(
                arrow
                    .get_column_names()
                    .iter()
                    .map(|name| name.as_str())
                    .eq(members),
                "{target}"
            );
        }
    }
    // The documented lists answer JSON whatever `Accept` says, and refuse another `format`, as everything does that has one form alone.
    for target in [
        format!("/tokens/{TOKEN}"),
        format!("/tokens/{TOKEN}/posts"),
        "/analytics/tokens/holders-growth".to_owned(),
    ] {
        let answer = server.ask(&get(
            &format!("{target}?format=json"),
            "Accept: text/csv\r\n",
        ));
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{target}"
        );
    }
    for target in [
        "/tokens/UNI?",
        "/candles?addresses=UNI&",
        "/tables/candles/counts?column=close&",
        "/tables?",
        "/datasets?",
        "/tokens?addresses=UNI&",
    ] {
        let answer = server.get(&format!("{target}format=csv"));
        answer.is_problem(400, "invalid_parameter", target);
        assert!(
            answer.json()["detail"]
                .as_str()
                .is_some_and(|detail| detail.starts_with("`format` is `csv`, but ")),
            "{target}"
        );
    }
}

fn decoded(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut read = Vec::new();
    match coding {
        "gzip" => flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut read),
        "br" => brotli::Decompressor::new(bytes, 4_096).read_to_end(&mut read),
        "zstd" => zstd::Decoder::new(bytes)
            .expect("a decoder")
            .read_to_end(&mut read),
        _ => panic!("{coding}"),
    }
    .expect("what was coded");
    read
}

#[test]
fn every_coding_decodes_to_the_answer_and_has_its_own_tag() {
    let server = over(false);
    let plain = server.get("/tables/candles");
    assert_eq!(
        (plain.header("content-encoding"), plain.header("vary")),
        (None, Some("Accept, Accept-Encoding"))
    );
    let mut tags = vec![plain.header("etag").expect("a tag").to_owned()];
    for coding in ["gzip", "br", "zstd"] {
        for _ in 0..2 {
            let answer = server.ask(&get(
                "/tables/candles",
                &format!("Accept-Encoding: {coding}\r\n"),
            ));
            assert_eq!(answer.header("content-encoding"), Some(coding));
            assert!(
                decoded(coding, &answer.body) == plain.body
                    && answer.body.len() < plain.body.len() / 2,
                "{coding}"
            );
            let etag = answer.header("etag").expect("a tag").to_owned();
            let again = server.ask(&get(
                "/tables/candles",
                &format!("Accept-Encoding: {coding}\r\nIf-None-Match: {etag}\r\n"),
            ));
            assert_eq!(
                (again.status, again.header("etag")),
                (304, Some(&*etag)),
                "{coding}"
            );
            tags.push(etag);
        }
        // A text stream is compressed too.
        let answer = server.ask(&get(
            "/tables/candles?format=csv&columns=close",
            &format!("Accept-Encoding: {coding}\r\n"),
        ));
        assert_eq!(answer.header("content-encoding"), Some(coding));
        let text = decoded(coding, &answer.chunks().expect("a whole stream"));
        assert_eq!(String::from_utf8_lossy(&text).lines().count(), ROWS + 1);
        tags.push(answer.header("etag").expect("a tag").to_owned());
        let answer = server.ask(&get(
            "/tables/candles?format=arrow",
            &format!("Accept-Encoding: {coding}\r\n"),
        ));
        assert_eq!(
            (answer.header("content-encoding"), answer.header("vary")),
            (None, Some("Accept, Accept-Encoding"))
        );
        let small = server.ask(&get(
            &format!("/tokens/{TOKEN}"),
            &format!("Accept-Encoding: {coding}\r\n"),
        ));
        assert_eq!(small.header("content-encoding"), None);
    }
    let head = server.ask(b"HEAD /tables/candles HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept-Encoding: gzip\r\nx-api-key: 0123456789abcdef0123456789abcdef\r\n\r\n");
    assert_eq!(
        (
            head.status,
            head.header("content-encoding"),
            head.body.len()
        ),
        (200, Some("gzip"), 0)
    );
    for (format, kind) in [
        ("text/csv", "text/csv"),
        ("application/x-ndjson", "application/x-ndjson"),
    ] {
        let answer = server.ask(&get(
            "/tables/candles?limit=2",
            &format!("Accept: {format}\r\n"),
        ));
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some(kind))
        );
        assert!(
            answer
                .header("link")
                .is_some_and(|link| link.contains("cursor=2.1-") && link.ends_with("rel=\"next\""))
        );
        tags.push(answer.header("etag").expect("a tag").to_owned());
    }
    let several = tags.len();
    tags.sort_unstable();
    tags.dedup();
    // Each coding was requested twice.
    assert_eq!(tags.len(), several - 3);
}
