//! In-place tables, whose rows stay on the engine: same answers as cached tables, fetched token by token, each once.

use std::{
    fs,
    ops::Deref,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use api::Api;
use model::{error::Code, progress::NoProgress};
use polars::prelude::{DataFrame, DataType, IntoColumn as _, NamedFrom as _, Series};
use store::load::load;
use wire::{Consent, Source, WireOptions};

use super::{
    Bench, MANIFEST, QUESTIONS, TROUBLES, UNI, candles,
    server::{Rows, Server, Trouble},
    sums,
};
use crate::{
    demo::market,
    remote::{Data, api_over, ask, wire_with},
};

/// Switches the candles to in-place reading.
pub(super) fn stay_in_place(bench: &Bench) {
    bench.write("dataset.toml", &format!("{MANIFEST}read = 'in place'\n"));
}

/// A dataset with some of its tables in place on an engine.
pub(crate) struct Stays {
    server: Server,
    data: Data,
}

impl Deref for Stays {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

impl Stays {
    pub(crate) fn of(data: &Path, tables: &[&'static str]) -> Self {
        let stays = Self {
            server: Server::start(),
            data: Data::new(&[]),
        };
        let here = load(data, &NoProgress).unwrap();
        let mut manifest = fs::read_to_string(data.join("dataset.toml")).unwrap_or_default();
        for name in tables {
            stays
                .server
                .put(name, rows_of(here.table(name).unwrap().frame()));
            manifest += &format!(
                "\n[tables.{name}]\nsource = 'warehouse'\ntable = 'market.{name}'\nread = 'in place'\n"
            );
        }
        for file in fs::read_dir(data).unwrap().flatten() {
            let path = file.path();
            if !tables
                .iter()
                .any(|name| path.file_stem().is_some_and(|stem| stem == *name))
            {
                fs::copy(&path, stays.path().join(file.file_name())).unwrap();
            }
        }
        stays.write("dataset.toml", &manifest);
        stays
    }

    /// A `config.toml` that configures the engine, with consent.
    pub(crate) fn config(&self) -> String {
        format!(
            "[remote]\nenabled = true\n[sources.warehouse]\nkind = 'clickhouse'\nurl = '{}'\n",
            self.server.url()
        )
    }

    /// Number of fetches of a token's rows.
    pub(crate) fn fetched(&self) -> usize {
        asked_later(&self.server)
    }
}

/// A table in the engine's representation.
fn rows_of(frame: &DataFrame) -> Rows {
    let column = |name: &'static str| {
        let own = frame.column(name).ok()?;
        Some(match own.dtype() {
            DataType::String => (name, "String"),
            DataType::Datetime(..) => (name, "DateTime"),
            _ => (name, "Float64"),
        })
    };
    let names = [
        "token_address",
        "interval",
        "timestamp",
        "open",
        "high",
        "low",
        "close",
        "volume",
        "holder_address",
        "balance",
    ];
    let columns: Vec<_> = names.into_iter().filter_map(column).collect();
    let times = frame
        .column("timestamp")
        .ok()
        .map(|times| times.cast(&DataType::Int64).unwrap());
    let newest = times.and_then(|times| times.i64().unwrap().iter().flatten().max());
    let frame = frame.select(columns.iter().map(|(name, _)| *name)).unwrap();
    Rows {
        columns,
        frame,
        newest: newest.map(|newest| newest.to_string()).unwrap_or_default(),
    }
}

/// Number of queries caused by questions about a token, not by loading.
fn asked_later(server: &Server) -> usize {
    server
        .queries()
        .iter()
        .filter(|query| query.contains("ArrowStream") && !sums::is_of_all(query))
        .count()
}

fn streams(bench: &Bench) -> usize {
    asked_later(&bench.server)
}

#[test]
fn candles_in_place_give_the_answers_of_candles_in_the_cache() {
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(5_500);
        let brought = api_over(bench.path(), bench.load(&bench.wire(), rows_min));
        stay_in_place(&bench);
        let dataset = bench.load(&bench.wire(), rows_min);
        assert_eq!(
            dataset.table("candles").unwrap().height(),
            5_500,
            "{:?}",
            dataset.table("candles").unwrap().state
        );
        let (there, before) = (api_over(bench.path(), dataset), streams(&bench));
        for question in QUESTIONS {
            let expected = ask(&brought, question);
            assert_eq!(
                (expected.0, &expected),
                (200, &ask(&there, question)),
                "{question}"
            );
        }
        assert_eq!(streams(&bench) - before, 1, "a token is fetched once");
        let (_, body) = ask(&there, "/datasets");
        assert!(
            body.contains("\"rows\":5500")
                && body.contains("the 5,500 rows are queried in place at `warehouse`"),
            "{body}"
        );
        // The candles of all tokens are fetched for sorting.
        assert_eq!(
            ask(&there, "/tokens?sort=trend"),
            ask(&brought, "/tokens?sort=trend")
        );
        // New rows belong to the next generation.
        bench.server.put("candles", candles(6_000));
        assert_eq!(ask(&there, QUESTIONS[2]), ask(&brought, QUESTIONS[2]));
    }
}

#[test]
fn a_failed_query_is_told_and_sent_again_at_the_next_question() {
    let bench = Bench::new(10_000);
    stay_in_place(&bench);
    let api = api_over(bench.path(), bench.load(&bench.wire(), 1_000));
    let hasty = api_over(
        bench.path(),
        bench.load(&bench.wire_for(Trouble::Stall(0)), 1_000),
    );
    let question = format!("/tokens/{UNI}/candles?timeframe=1h");
    for (trouble, says) in TROUBLES {
        bench.server.trouble([*trouble]);
        let stalls = matches!(trouble, Trouble::Stall(_));
        let (status, body) = ask(if stalls { &hasty } else { &api }, &question);
        assert_eq!(
            (
                status,
                body.contains(Code::SourceUnavailable.word()),
                body.contains(says)
            ),
            (503, true, true),
            "{trouble:?}: {body}"
        );
        assert!(
            !body.contains("127.0.0.1") && !body.contains("10.1.2.3"),
            "{body}"
        );
    }
    bench.server.shared.down.store(true, Ordering::Release);
    let (status, body) = ask(&api, &question);
    assert_eq!(
        (status, body.contains("from `warehouse`: ")),
        (503, true),
        "{body}"
    );
    bench.server.shared.down.store(false, Ordering::Release);
    assert_eq!(ask(&api, &question).0, 200);
    // Fetched rows need no query.
    bench.server.shared.down.store(true, Ordering::Release);
    assert_eq!(
        ask(&api, &format!("/technical/{UNI}/patterns?timeframe=1d")).0,
        200
    );
    // Nothing of a later state has been fetched yet.
    bench.server.shared.down.store(false, Ordering::Release);
    bench.server.put("candles", candles(11_000));
    let later = api_over(bench.path(), bench.load(&bench.wire(), 1_000));
    bench.server.shared.down.store(true, Ordering::Release);
    let (status, body) = ask(&later, &question);
    assert_eq!(
        (
            status,
            body.contains("from `warehouse`: `clickhouse://warehouse/market.candles`")
        ),
        (503, true),
        "{body}"
    );
}

#[test]
fn a_table_that_cannot_stay_in_place_says_why() {
    let bench = Bench::new(100);
    for (more, says) in [
        (
            "values = { interval = { '60' = '1h' } }",
            "`interval` would need conversion",
        ),
        (
            "where = { close = { min = 'x' } }",
            "`where` cannot be fully expressed in SQL",
        ),
        (
            "where = { symbol = 'UNI' }",
            "`where` uses `symbol`, which is not a column at the source",
        ),
    ] {
        bench.write(
            "dataset.toml",
            &format!("{MANIFEST}read = 'in place'\n{more}\n"),
        );
        let dataset = bench.load(&bench.wire(), 1_000);
        assert!(
            super::reason(&dataset).contains(says),
            "{}",
            super::reason(&dataset)
        );
    }
    // If the engine fails on the first load, the table is missing with a reason; after a successful load it keeps its last state.
    stay_in_place(&bench);
    bench.server.put("candles", candles(10_000));
    for seen in [false, true] {
        for (trouble, says) in TROUBLES {
            bench.server.trouble([*trouble]);
            let dataset = bench.load(&bench.wire_for(*trouble), 1_000);
            let table = dataset.table("candles").unwrap();
            let told = if seen {
                table.findings.kept()[0].reason.clone()
            } else {
                super::reason(&dataset)
            };
            assert_eq!(
                (told.contains(says), told.starts_with("the rows are from 2")),
                (true, seen),
                "{trouble:?}: {told}"
            );
            assert_eq!(table.height(), if seen { 10_000 } else { 0 }, "{trouble:?}");
        }
        assert_eq!(
            bench
                .load(&bench.wire(), 1_000)
                .table("candles")
                .unwrap()
                .height(),
            10_000
        );
    }
}

#[test]
fn offline_at_the_start_what_was_fetched_before_is_answered() {
    let history = format!("/tokens/{UNI}/candles?timeframe=1h");
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(5_500);
        stay_in_place(&bench);
        let start = || bench.load(&bench.wire(), rows_min);
        let market = ask(&api_over(bench.path(), start()), "/tokens");
        let down = |down| bench.server.shared.down.store(down, Ordering::Release);
        down(true);
        let dataset = start();
        let table = dataset.table("candles").unwrap();
        assert!(
            table
                .remote
                .as_ref()
                .is_some_and(|remote| remote.as_of.is_some()),
            "{:?}",
            table.remote
        );
        assert!(
            dataset
                .stale_tables()
                .is_some_and(|said| said.contains("`candles` from 2")),
            "{:?}",
            dataset.stale_tables()
        );
        let api = api_over(bench.path(), dataset);
        assert_eq!(ask(&api, "/tokens"), market);
        let (_, body) = ask(&api, "/datasets");
        assert!(
            body.contains("\"rows\":5500")
                && body.contains("from 2")
                && body.contains("5,500 rows"),
            "{body}"
        );
        // These rows were never fetched.
        let (status, body) = ask(&api, &history);
        assert_eq!(
            (status, body.contains("from `warehouse`: ")),
            (503, true),
            "{body}"
        );
        // Once the engine is back, the rows are those of that state, whatever was added since.
        down(false);
        bench.server.put("candles", candles(6_000));
        let seen = ask(&api, &history);
        assert_eq!(seen.0, 200, "{}", seen.1);
        down(true);
        let api = api_over(bench.path(), start());
        assert_eq!(
            (ask(&api, "/tokens"), ask(&api, &history)),
            (market, seen),
            "what was fetched is here, of the same state"
        );
        // Another mapping invalidates the fetched rows, and without consent they are not shown.
        let never = super::wire_of(vec![super::source(&bench.server.url())], Consent::Never);
        let refused = super::reason(&bench.load(&never, rows_min));
        assert!(refused.contains("is blocked"), "{refused}");
        bench.write(
            "dataset.toml",
            &format!("{MANIFEST}read = 'in place'\nset = {{ volume = '1' }}\n"),
        );
        assert_eq!(ask(&api_over(bench.path(), start()), "/tokens").0, 503);
    }
}

/// Concatenates a whole stream.
pub(super) fn streamed(api: &Arc<Api>, path: &str) -> String {
    let mut reply = api::answer_offline(api, "GET", path, b"");
    let rows = reply
        .rows
        .as_mut()
        .unwrap_or_else(|| panic!("{path}: {}", String::from_utf8_lossy(&reply.body)));
    let mut whole = Vec::new();
    while let Some(piece) = rows.next_piece().unwrap() {
        whole.extend_from_slice(&piece);
    }
    String::from_utf8(whole).unwrap()
}

/// Rows of all pages, and the number of pages; `each` is called after every page.
fn pages(api: &Arc<Api>, path: &str, mut each: impl FnMut()) -> (String, usize) {
    let (mut all, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let (status, body) = ask(api, &format!("{path}{cursor}"));
        assert_eq!(status, 200, "{body}");
        each();
        all.extend(Some(rows(&body).to_owned()).filter(|rows| !rows.is_empty()));
        pages += 1;
        match next(&body) {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (all.join(","), pages),
        }
    }
}

/// The `next` cursor of a page.
pub(super) fn next(body: &str) -> Option<String> {
    let text = body.split("\"next\":\"").nth(1)?;
    text.split('"').next().map(str::to_owned)
}

/// The rows of a page, as raw JSON.
fn rows(body: &str) -> &str {
    let text = body.split("\"rows\":[").nth(1).unwrap();
    text.rsplit_once(']').unwrap().0
}

#[test]
fn rows_in_place_are_paged_as_those_of_files() {
    let (_market, data) = market();
    let (stays, here) = (
        Stays::of(&data, &["candles"]),
        api_over(&data, load(&data, &NoProgress).unwrap()),
    );
    // With a timeout as long as a user's: so many candles take a busy machine a while.
    let source = Source {
        timeout_seconds: 60,
        ..super::source(&stays.server.url())
    };
    let wire = wire_with(WireOptions {
        consent: Consent::Always,
        sources: vec![source],
        ..WireOptions::default()
    });
    let dataset = stays.load(Some(&wire), 200_000).unwrap();
    let tokens = dataset.in_place("candles").unwrap().tokens().to_vec();
    assert!(tokens.len() > 2, "of one token nobody sees where pages end");
    let there = api_over(stays.data.path(), dataset);
    for (more, limit) in [
        ("", 10_000),
        ("", 777),
        ("&columns=token_address,close", 777),
    ] {
        let mut fetched = stays.fetched();
        let one_query = || {
            assert!(stays.fetched() <= fetched + 1, "a page is one query");
            fetched = stays.fetched();
        };
        let question = format!("/tables/candles?limit={limit}{more}");
        let there = pages(&there, &question, one_query);
        assert!(
            there == pages(&here, &question, || {}),
            "{question}: {}",
            there.1
        );
    }
    // Of a single token its rows alone are asked for.
    let one = format!("where=token_address={}", tokens[1]);
    for question in [
        format!("/tables/candles?{one}&limit=3"),
        "/tables/candles?where=token_address=0x00000000000000000000000000000000000000aa".to_owned(),
    ] {
        let plain = |(status, body): (u16, String)| {
            (
                status,
                body.split("\"next\"").next().unwrap().to_owned(),
                rows(&body).to_owned(),
            )
        };
        assert_eq!(
            plain(ask(&there, &question)),
            plain(ask(&here, &question)),
            "{question}"
        );
    }
    // A stream has all rows of the token; from a cursor, the remaining ones.
    for question in [
        format!("/tables/candles?{one}"),
        "/tables/candles?".to_owned(),
    ] {
        let after = |api| {
            next(&ask(api, &format!("{question}&limit=3")).1)
                .map(|next| format!("&cursor={next}"))
                .unwrap()
        };
        let whole = streamed(&here, &format!("{question}&format=csv"));
        assert_eq!(
            streamed(&there, &format!("{question}&format=csv")),
            whole,
            "{question}"
        );
        assert!(whole.lines().count() > 100, "{question}");
        let rest = [&there, &here]
            .map(|api| streamed(api, &format!("{question}&format=csv{}", after(api))));
        assert_eq!(
            (&rest[0], rest[0].lines().count() + 3),
            (&rest[1], whole.lines().count()),
            "{question}"
        );
    }
    // Figures of all tokens need their candles, which one query brings.
    for (question, queries) in [
        ("/tokens?fields=trend,rsi_14,best_pattern&limit=250", 1),
        ("/tokens?where=rsi_14%3E20&sort=-rsi_14", 0),
    ] {
        let fetched = stays.fetched();
        assert_eq!(ask(&there, question), ask(&here, question), "{question}");
        assert_eq!(stays.fetched() - fetched, queries, "{question}");
    }
    // What cannot be said to the engine is refused with a remedy; no row is fetched.
    let fetched = stays.fetched();
    let (status, body) = ask(&there, "/tables/candles?where=source:%C3%A9&sort=close");
    assert_eq!(
        (status, body.contains("from `warehouse`: ")),
        (503, true),
        "{body}"
    );
    assert_eq!(stays.fetched(), fetched + 1);
}

#[test]
fn rows_of_another_state_of_the_table_are_refused_and_not_kept() {
    let bench = Bench::new(5_500);
    stay_in_place(&bench);
    let start = || api_over(bench.path(), bench.load(&bench.wire(), 200_000));
    let api = start();
    let whole = candles(5_500);
    let history = format!("/tokens/{UNI}/candles?timeframe=1h");
    let rows = format!("/tables/candles?where=token_address={UNI}&limit=10");
    // An old row deleted, or one modified: neither the newest time nor, for the second, the row count reveals it.
    let gone = whole.frame.slice(1, 5_500);
    let mut anew = whole.frame.clone();
    let mut closes: Vec<f64> = whole
        .frame
        .column("close")
        .unwrap()
        .f64()
        .unwrap()
        .iter()
        .flatten()
        .collect();
    closes[7] += 1.0;
    anew.with_column(Series::new("close".into(), closes).into_column())
        .unwrap();
    for frame in [gone, anew] {
        bench.server.put(
            "candles",
            Rows {
                frame,
                ..whole.clone()
            },
        );
        for question in [&history, &rows] {
            let (status, body) = ask(&api, question);
            assert_eq!(
                (
                    status,
                    body.contains("has changed since the data was loaded")
                ),
                (503, true),
                "{question}: {body}"
            );
        }
    }
    bench.server.put("candles", whole);
    for api in [&api, &start()] {
        for question in [&history, &rows] {
            assert_eq!(ask(api, question).0, 200, "{question}");
        }
    }
}
