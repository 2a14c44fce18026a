//! Candles that stay at the engine: the same answers as of candles that were brought, fetched token by token, once.

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use polars::prelude::{DataFrame, DataType, IntoColumn as _, NamedFrom as _, Series};
use tempfile::TempDir;
use tokendeck::{
    api::{self, Api, ApiOptions},
    dataset::{
        Dataset,
        load::{load, load_as},
        progress::Silent,
    },
    deck::{Deck, DeckOptions},
    error::Code,
    state::keys::Keys,
    wire::{Consent, MemoryLedger, Source, Wire, WireOptions},
};

use super::{
    Bench, MANIFEST, TROUBLES, UNI, candles,
    server::{Rows, Server},
    sums,
};
use crate::demo::market;

/// What is asked of a dataset of one token.
pub(super) const QUESTIONS: [&str; 8] = [
    "/tokens",
    "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
    "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/candles?timeframe=4h",
    "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/candles?timeframe=1h&limit=5000",
    "/technical/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/trendline?period=30",
    "/technical/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/patterns?timeframe=1d",
    "/candles?addresses=0x1f9840a85d5af5bf1d1762f925bdaddc4201f984&timeframe=1d",
    "/tokens?fields=trend,best_pattern,recommendedAction,as_of",
];

/// An API over the dataset, as long as it stands.
pub(super) fn standing(folder: &std::path::Path, dataset: Dataset) -> std::sync::Arc<Api> {
    let deck = Deck::new(folder, DeckOptions { workers: 2, ..DeckOptions::default() }).unwrap();
    deck.stand_on(dataset);
    Api::new(deck, None, std::sync::Arc::new(Keys::in_memory().unwrap()), ApiOptions::default())
}

pub(super) fn ask(api: &std::sync::Arc<Api>, path: &str) -> (u16, String) {
    let reply = api::answer_offline(api, "GET", path, b"");
    (reply.status, String::from_utf8(reply.body.to_vec()).unwrap())
}

fn place(bench: &Bench) {
    bench.write("dataset.toml", &format!("{MANIFEST}read = 'in place'\n"));
}

/// The data of a folder, of which some tables stay at an engine.
pub(crate) struct Stays {
    server: Server,
    pub(crate) folder: TempDir,
}

impl Stays {
    pub(crate) fn of(data: &Path, tables: &[&'static str]) -> Self {
        let stays = Self { server: Server::start(), folder: tempfile::tempdir().unwrap() };
        let here = load(data, &Silent).unwrap();
        let mut manifest = fs::read_to_string(data.join("dataset.toml")).unwrap_or_default();
        for name in tables {
            stays.server.put(name, rows_of(&here.table(name).unwrap().frame));
            manifest += &format!("\n[tables.{name}]\nsource = 'warehouse'\ntable = 'market.{name}'\nread = 'in place'\n");
        }
        for file in fs::read_dir(data).unwrap().flatten() {
            let path = file.path();
            if !tables.iter().any(|name| path.file_stem().is_some_and(|stem| stem == *name)) {
                fs::copy(&path, stays.folder.path().join(file.file_name())).unwrap();
            }
        }
        fs::write(stays.folder.path().join("dataset.toml"), manifest).unwrap();
        stays
    }

    /// A `config.toml` that has the engine, and agrees.
    pub(crate) fn config(&self) -> String {
        format!("[remote]\nenabled = true\n[sources.warehouse]\nkind = 'clickhouse'\nurl = '{}'\n", self.server.url())
    }

    /// How often rows of a token were asked for.
    pub(crate) fn fetched(&self) -> usize {
        asked_later(&self.server)
    }
}

/// A table of ours as the engine has it.
fn rows_of(frame: &DataFrame) -> Rows {
    let column = |name: &'static str| {
        let own = frame.column(name).ok()?;
        Some(match own.dtype() {
            DataType::String => (name, "String"),
            DataType::Datetime(..) => (name, "DateTime"),
            _ => (name, "Float64"),
        })
    };
    let names = ["token_address", "interval", "timestamp", "open", "high", "low", "close", "volume", "holder_address", "balance"];
    let columns: Vec<_> = names.into_iter().filter_map(column).collect();
    let times = frame.column("timestamp").ok().map(|times| times.cast(&DataType::Int64).unwrap());
    let newest = times.and_then(|times| times.i64().unwrap().iter().flatten().max());
    let frame = frame.select(columns.iter().map(|(name, _)| *name)).unwrap();
    Rows { columns, frame, newest: newest.map(|newest| newest.to_string()).unwrap_or_default() }
}

/// Queries that come when somebody looks at a token.
fn asked_later(server: &Server) -> usize {
    server.queries().iter().filter(|query| query.contains("ArrowStream") && !sums::is_of_all(query)).count()
}

fn streams(bench: &Bench) -> usize {
    asked_later(&bench.server)
}

#[test]
fn what_stays_there_gives_the_answers_of_what_was_brought() {
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(5_500);
        let brought = standing(bench.folder.path(), bench.load(&bench.wire(), rows_min).unwrap());
        place(&bench);
        let dataset = bench.load(&bench.wire(), rows_min).unwrap();
        assert_eq!(dataset.table("candles").unwrap().height(), 5_500, "{:?}", dataset.table("candles").unwrap().state);
        let (there, before) = (standing(bench.folder.path(), dataset), streams(&bench));
        for question in QUESTIONS {
            let expected = ask(&brought, question);
            assert_eq!((expected.0, &expected), (200, &ask(&there, question)), "{question}");
        }
        assert_eq!(streams(&bench) - before, 1, "a token is fetched once");
        let (status, body) = ask(&there, "/tables/candles/counts?column=interval");
        assert!((status, body.contains("stay at `warehouse`")) == (503, true), "{body}");
        let (_, body) = ask(&there, "/datasets");
        assert!(body.contains("\"rows\":5500") && body.contains("its 5,500 rows stay at `warehouse`"), "{body}");
        // Each would be wanted to put them in order.
        assert_eq!(ask(&standing(bench.folder.path(), bench.load(&bench.wire(), rows_min).unwrap()), "/tokens?sort=trend").0, 503);
        // More rows there are of the next generation.
        bench.server.put("candles", candles(6_000));
        assert_eq!(ask(&there, QUESTIONS[2]), ask(&brought, QUESTIONS[2]));
    }
}

#[test]
fn what_cannot_be_fetched_is_said_and_asked_for_again() {
    let bench = Bench::new(10_000);
    place(&bench);
    let api = standing(bench.folder.path(), bench.load(&bench.wire(), 1_000).unwrap());
    let question = format!("/tokens/{UNI}/candles?timeframe=1h");
    for (trouble, says) in TROUBLES {
        bench.server.trouble([*trouble]);
        let (status, body) = ask(&api, &question);
        assert_eq!((status, body.contains(Code::SourceUnavailable.word()), body.contains(says)), (503, true, true), "{trouble:?}: {body}");
        assert!(!body.contains("127.0.0.1") && !body.contains("10.1.2.3"), "{body}");
    }
    bench.server.shared.down.store(true, Ordering::Release);
    let (status, body) = ask(&api, &question);
    assert_eq!((status, body.contains("cannot be had from `warehouse`")), (503, true), "{body}");
    bench.server.shared.down.store(false, Ordering::Release);
    assert_eq!(ask(&api, &question).0, 200);
    // Nobody is asked for what is here.
    bench.server.shared.down.store(true, Ordering::Release);
    assert_eq!(ask(&api, &format!("/technical/{UNI}/patterns?timeframe=1d")).0, 200);
    // Of a later state nothing is here yet.
    bench.server.shared.down.store(false, Ordering::Release);
    bench.server.put("candles", candles(11_000));
    let later = standing(bench.folder.path(), bench.load(&bench.wire(), 1_000).unwrap());
    bench.server.shared.down.store(true, Ordering::Release);
    let (status, body) = ask(&later, &question);
    assert_eq!((status, body.contains("cannot be had from `warehouse`: `clickhouse://warehouse/market.candles`")), (503, true), "{body}");
}

#[test]
fn what_cannot_stay_there_says_why() {
    let bench = Bench::new(100);
    for (more, says) in [
        ("values = { interval = { '60' = '1h' } }", "`interval` is not there as it is needed"),
        ("where = { close = { min = 'x' } }", "not all of `where` can be said there"),
    ] {
        bench.write("dataset.toml", &format!("{MANIFEST}read = 'in place'\n{more}\n"));
        let dataset = bench.load(&bench.wire(), 1_000).unwrap();
        assert!(super::reason(&dataset).contains(says), "{}", super::reason(&dataset));
    }
    // What is broken when the generation is made leaves the table out, and says so; once it was seen whole, it is what it was then.
    place(&bench);
    bench.server.put("candles", candles(10_000));
    for seen in [false, true] {
        for (trouble, says) in TROUBLES {
            bench.server.trouble([*trouble]);
            let dataset = bench.load(&bench.wire(), 1_000).unwrap();
            let table = dataset.table("candles").unwrap();
            let told = if seen { table.findings.kept()[0].reason.clone() } else { super::reason(&dataset) };
            assert_eq!((told.contains(says), told.starts_with("is what it was at 2")), (true, seen), "{trouble:?}: {told}");
            assert_eq!(table.height(), if seen { 10_000 } else { 0 }, "{trouble:?}");
        }
        assert_eq!(bench.load(&bench.wire(), 1_000).unwrap().table("candles").unwrap().height(), 10_000);
    }
}

#[test]
fn with_nobody_there_at_the_start_what_was_seen_is_answered() {
    let history = format!("/tokens/{UNI}/candles?timeframe=1h");
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(5_500);
        place(&bench);
        let start = || bench.load(&bench.wire(), rows_min).unwrap();
        let market = ask(&standing(bench.folder.path(), start()), "/tokens");
        let down = |down| bench.server.shared.down.store(down, Ordering::Release);
        down(true);
        let dataset = start();
        let table = dataset.table("candles").unwrap();
        assert!(table.elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.as_of.is_some()), "{:?}", table.elsewhere);
        let api = standing(bench.folder.path(), dataset);
        assert_eq!(ask(&api, "/tokens"), market);
        let (_, body) = ask(&api, "/datasets");
        assert!(body.contains("\"rows\":5500") && body.contains("is what it was at 2") && body.contains("its 5,500 rows stay"), "{body}");
        // Nobody has fetched these.
        let (status, body) = ask(&api, &history);
        assert_eq!((status, body.contains("cannot be had from `warehouse`")), (503, true), "{body}");
        // Once it is there again they are those of that state, whatever has come since.
        down(false);
        bench.server.put("candles", candles(6_000));
        let seen = ask(&api, &history);
        assert_eq!(seen.0, 200, "{}", seen.1);
        down(true);
        let api = standing(bench.folder.path(), start());
        assert_eq!((ask(&api, "/tokens"), ask(&api, &history)), (market, seen), "what was fetched is here, of the same state");
        // Under another mapping nothing is known of it, and what nobody agrees to is not shown.
        let never = super::wire_of(vec![super::source(&bench.server.url())], Consent::Never);
        let refused = super::reason(&bench.load(&never, rows_min).unwrap());
        assert!(refused.contains("is not asked"), "{refused}");
        bench.write("dataset.toml", &format!("{MANIFEST}read = 'in place'\nset = {{ volume = '1' }}\n"));
        assert_eq!(ask(&standing(bench.folder.path(), start()), "/tokens").0, 503);
    }
}

/// All pieces of a stream.
fn streamed(api: &Arc<Api>, path: &str) -> String {
    let mut reply = api::answer_offline(api, "GET", path, b"");
    let rows = reply.rows.as_mut().unwrap_or_else(|| panic!("{path}: {}", String::from_utf8_lossy(&reply.body)));
    let mut whole = Vec::new();
    while let Some(piece) = rows.next_piece().unwrap() {
        whole.extend_from_slice(&piece);
    }
    String::from_utf8(whole).unwrap()
}

/// The `next` of a page.
fn next(body: &str) -> Option<String> {
    let text = body.split("\"next\":\"").nth(1)?;
    text.split('"').next().map(str::to_owned)
}

/// The rows of a page, as they are written.
fn rows(body: &str) -> &str {
    let text = body.split("\"rows\":[").nth(1).unwrap();
    text.rsplit_once("]}").unwrap().0
}

#[test]
fn rows_that_stay_there_come_page_by_page_token_by_token() {
    let (_market, data) = market();
    let (stays, here) = (Stays::of(&data, &["candles"]), standing(&data, load(&data, &Silent).unwrap()));
    // Which waits as long as a person's does: so many candles take a busy machine a while.
    let source = Source { timeout_seconds: 60, ..super::source(&stays.server.url()) };
    let options = WireOptions { consent: Consent::Always, sources: vec![source], ..WireOptions::default() };
    let (wire, bench) = (Wire::new(options, Arc::new(MemoryLedger::default())), Bench::new(1));
    let dataset = load_as(stays.folder.path(), &bench.options(200_000), Some(&wire), &Silent, None, false).unwrap();
    let tokens = dataset.shelf("candles").unwrap().tokens().to_vec();
    assert!(tokens.len() > 2, "of one token nobody sees where pages end");
    let there = standing(stays.folder.path(), dataset);
    for (more, limit) in [("", 10_000), ("", 777), ("&where=close%3E1%20interval=1d&columns=token_address,close", 100)] {
        let (mut all, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let fetched = stays.fetched();
            let (status, body) = ask(&there, &format!("/tables/candles?limit={limit}{more}{cursor}"));
            assert_eq!(status, 200, "{body}");
            assert!(stays.fetched() <= fetched + 1, "a page is of one token");
            all.extend(Some(rows(&body).to_owned()).filter(|rows| !rows.is_empty()));
            pages += 1;
            match next(&body) {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert!(pages >= tokens.len(), "{pages}");
        let (mut expected, mut cursor) = (Vec::new(), String::new());
        loop {
            let (_, body) = ask(&here, &format!("/tables/candles?limit=10000{more}{cursor}"));
            expected.extend(Some(rows(&body).to_owned()).filter(|rows| !rows.is_empty()));
            match next(&body) {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(all.join(","), expected.join(","), "{more}");
    }
    // Of one token all that is asked of a table can be had.
    let one = format!("where=token_address={}", tokens[1]);
    for question in [
        format!("/tables/candles?{one}&sort=-close,timestamp&limit=50"),
        format!("/tables/candles?{one}&limit=3"),
        "/tables/candles?where=token_address=0x00000000000000000000000000000000000000aa".to_owned(),
    ] {
        let plain = |(status, body): (u16, String)| (status, body.split("\"next\"").next().unwrap().to_owned(), rows(&body).to_owned());
        assert_eq!(plain(ask(&there, &question)), plain(ask(&here, &question)), "{question}");
    }
    // As a stream come all of its rows, from a page's end on the others.
    for question in [format!("/tables/candles?{one}"), format!("/tables/candles?{one}%20interval=1h")] {
        let after = |api| next(&ask(api, &format!("{question}&limit=3")).1).map(|next| format!("&cursor={next}")).unwrap();
        let whole = streamed(&here, &format!("{question}&format=csv"));
        assert_eq!(streamed(&there, &format!("{question}&format=csv")), whole, "{question}");
        assert!(whole.lines().count() > 100, "{question}");
        let rest = [&there, &here].map(|api| streamed(api, &format!("{question}&format=csv{}", after(api))));
        assert_eq!((&rest[0], rest[0].lines().count() + 3), (&rest[1], whole.lines().count()), "{question}");
    }
    // Of all at once nothing can, and it says what to do; no row is asked for.
    let fetched = stays.fetched();
    for question in ["/tables/candles?sort=-close", "/tables/candles/counts?column=interval"] {
        let (status, body) = ask(&there, question);
        assert_eq!((status, body.contains("stay at `warehouse`"), body.contains("where=token_address=")), (503, true, true), "{body}");
    }
    assert_eq!(stays.fetched(), fetched);
}

#[test]
fn rows_of_another_state_are_refused_and_not_kept() {
    let bench = Bench::new(5_500);
    place(&bench);
    let start = || standing(bench.folder.path(), bench.load(&bench.wire(), 200_000).unwrap());
    let api = start();
    let whole = candles(5_500);
    let history = format!("/tokens/{UNI}/candles?timeframe=1h");
    let rows = format!("/tables/candles?where=token_address={UNI}&limit=10");
    let sorted = format!("{rows}&sort=-close");
    // An old row is gone, or another one is written anew: neither the newest nor, of the second, their number tells.
    let gone = whole.frame.slice(1, 5_500);
    let mut anew = whole.frame.clone();
    let mut closes: Vec<f64> = whole.frame.column("close").unwrap().f64().unwrap().iter().flatten().collect();
    closes[7] += 1.0;
    anew.with_column(Series::new("close".into(), closes).into_column()).unwrap();
    for frame in [gone, anew] {
        bench.server.put("candles", Rows { frame, ..whole.clone() });
        for question in [&history, &rows, &sorted] {
            let (status, body) = ask(&api, question);
            assert_eq!((status, body.contains("has changed since the data were loaded")), (503, true), "{question}: {body}");
        }
    }
    bench.server.put("candles", whole);
    for api in [&api, &start()] {
        for question in [&history, &rows, &sorted] {
            assert_eq!(ask(api, question).0, 200, "{question}");
        }
    }
}
