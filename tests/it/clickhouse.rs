//! ClickHouse tables: a dataset over the engine equals one over the same rows in a file, and every engine failure yields correct rows or a
//! stated reason. The engine here is a test server with fault injection; `real` uses real ones.

mod histories;
mod in_place;
mod near;
mod real;
mod real_faults;
mod real_nodes;
mod real_sums;
mod real_tables;
mod real_transfers;
mod recorded;
mod refused;
mod server;
mod stale_rows;

use std::{
    ops::Deref,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use load::{
    Dataset,
    loader::{LoadError, load_as, origins_to_agree},
};
use model::{
    error::Code,
    progress::{Cancelled, LoadProgress},
    table_state::TableState,
};
use polars::prelude::{
    Column, DataFrame, DataType, IntoColumn as _, NamedFrom as _, Series, TimeUnit, TimeZone,
};
use wire::{Consent, RemoteClient, Source, SourceKind, TimeoutsAndRetries, WireOptions};

use self::server::{Rows, Server, Trouble};
use crate::{
    random::Random,
    remote::{Data, same_rows, wire_with},
    wait::{PATIENCE, wait_until},
};

const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
const TOKENS: &str = "token_address,symbol,name,chain,price\n0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,eth,5\n";
const MANIFEST: &str = "[tables.candles]\nsource = 'warehouse'\ntable = 'market.candles'\ncolumns = { timestamp = 'ts' }\n";

fn timeouts() -> TimeoutsAndRetries {
    let ms = Duration::from_millis;
    TimeoutsAndRetries {
        connect_timeout: PATIENCE,
        read_timeout: PATIENCE,
        retries: 1,
        backoff: ms(1),
        backoff_max: ms(4),
    }
}

/// No engine that answers is given up, however busy the machine.
fn source(url: &str) -> Source {
    let timeout_seconds = PATIENCE.as_secs() as u32;
    Source {
        name: "warehouse".into(),
        kind: SourceKind::ClickHouse,
        url: url.into(),
        timeout_seconds,
        ..Source::default()
    }
}

fn wire_of(sources: Vec<Source>, consent: Consent) -> Arc<RemoteClient> {
    wire_with(WireOptions {
        consent,
        sources,
        timeouts: timeouts(),
        ..WireOptions::default()
    })
}

/// Hourly candles of one token.
fn candles(rows: u64) -> Rows {
    let times: Vec<i64> = (0..rows as i64)
        .map(|i| (1_700_006_400 + i * 3_600) * 1_000)
        .collect();
    let column = |name: &str, value: &dyn Fn(u64) -> f64| {
        Series::new(name.into(), (0..rows).map(value).collect::<Vec<_>>()).into_column()
    };
    let texts = |name: &str, value: &str| {
        Series::new(name.into(), vec![value; rows as usize]).into_column()
    };
    let newest = times.last().copied().unwrap_or_default().to_string();
    let time = DataType::Datetime(
        TimeUnit::Milliseconds,
        TimeZone::opt_try_new(Some("UTC")).unwrap(),
    );
    let columns: Vec<Column> = vec![
        texts("token_address", UNI),
        Series::new("ts".into(), times)
            .cast(&time)
            .unwrap()
            .into_column(),
        column("open", &|i| 1.5 + (i % 7) as f64 / 3.0),
        column("high", &|_| 9.0),
        column("low", &|_| 1.0),
        column("close", &|i| 1.7 + (i % 11) as f64 / 7.0),
        column("volume", &|i| i as f64),
        texts("interval", "1h"),
        texts("note", "of no use"),
    ];
    let columns_of = [
        ("token_address", "String"),
        ("ts", "DateTime"),
        ("open", "Float64"),
        ("high", "Float64"),
        ("low", "Float64"),
        ("close", "Float64"),
        ("volume", "Float64"),
        ("interval", "LowCardinality(String)"),
        ("note", "String"),
    ];
    let whole = DataFrame::new(rows as usize, columns).unwrap();
    // In several batches, as an engine sends them.
    let mut frame = whole.slice(0, 1_000);
    for start in (1_000..rows as i64).step_by(1_000) {
        frame.vstack_mut(&whole.slice(start, 1_000)).unwrap();
    }
    Rows {
        columns: columns_of.to_vec(),
        frame,
        newest,
    }
}

/// The same rows as CSV.
fn csv(rows: &Rows) -> String {
    let names: Vec<&str> = rows.columns.iter().map(|(name, _)| *name).collect();
    let mut text = names.join(",") + "\n";
    let frame = rows.frame.clone();
    for row in 0..frame.height() {
        let cells: Vec<String> = names
            .iter()
            .map(|name| match frame.column(name).unwrap().get(row).unwrap() {
                polars::prelude::AnyValue::String(text) => text.to_owned(),
                polars::prelude::AnyValue::Float64(number) => format!("{number:?}"),
                polars::prelude::AnyValue::Datetime(time, ..) => (time / 1_000).to_string(),
                other => other.to_string(),
            })
            .collect();
        text.push_str(&(cells.join(",") + "\n"));
    }
    text
}

/// A dataset whose candles are on an engine.
struct Bench {
    server: Server,
    data: Data,
}

impl Deref for Bench {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

impl Bench {
    fn new(rows: u64) -> Self {
        let bench = Self {
            server: Server::start(),
            data: Data::new(&[("dataset.toml", MANIFEST), ("tokens.csv", TOKENS)]),
        };
        bench.server.put("candles", candles(rows));
        bench
    }

    fn wire(&self) -> Arc<RemoteClient> {
        wire_of(vec![source(&self.server.url())], Consent::Always)
    }

    /// The client to meet this trouble with: only an answer that stalls is given up, after a second.
    fn wire_for(&self, trouble: Trouble) -> Arc<RemoteClient> {
        let timeout_seconds = if let Trouble::Stall(_) = trouble {
            1
        } else {
            PATIENCE.as_secs() as u32
        };
        wire_of(
            vec![Source {
                timeout_seconds,
                ..source(&self.server.url())
            }],
            Consent::Always,
        )
    }

    fn load(&self, wire: &Arc<RemoteClient>, rows_min: u64) -> Dataset {
        self.data.load(Some(wire), rows_min).unwrap()
    }
}

/// Why the candles are unusable.
fn reason(dataset: &Dataset) -> String {
    match &dataset.table("candles").unwrap().state {
        TableState::Unusable(reason) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

fn same_candles(a: &Dataset, b: &Dataset) {
    same_rows(a.table("candles").unwrap(), b.table("candles").unwrap());
}

/// Questions about the one token.
const QUESTIONS: [&str; 8] = [
    "/tokens",
    "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
    "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/candles?timeframe=4h",
    "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/candles?timeframe=1h&limit=5000",
    "/technical/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/trendline?period=30",
    "/technical/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/patterns?timeframe=1d",
    "/candles?addresses=0x1f9840a85d5af5bf1d1762f925bdaddc4201f984&timeframe=1d",
    "/tokens?fields=trend,best_pattern,recommendedAction,as_of",
];

#[test]
fn rows_of_an_engine_are_the_rows_of_a_file() {
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(5_500);
        let manifest = "[tables.candles]\npath = 'c.csv'\ncolumns = { timestamp = 'ts' }\n";
        let disk = Data::new(&[
            ("tokens.csv", TOKENS),
            ("dataset.toml", manifest),
            ("c.csv", &csv(&candles(5_500))),
        ]);
        let here = disk.load(None, rows_min).unwrap();
        let wire = bench.wire();
        let there = bench.load(&wire, rows_min);
        same_candles(&here, &there);
        assert_eq!(
            there.table("candles").unwrap().large().is_some(),
            rows_min == 1_000
        );
        let fetched = wire.figures().bytes;
        let again = bench.load(&wire, rows_min);
        same_candles(&here, &again);
        assert_eq!(
            (there.identity, wire.figures().bytes - fetched < 2_000),
            (again.identity, true),
            "what is here is not fetched again"
        );
        let queries = bench.server.queries().join("\n");
        assert!(
            !queries.contains("`note`"),
            "a column of no use is not fetched: {queries}"
        );
        let table = "/tables/candles?limit=20&sort=-volume&where=volume%3E5485";
        for question in QUESTIONS.into_iter().chain([table]) {
            let here = disk.ask(disk.load(None, rows_min).unwrap(), question);
            let there = bench.ask(bench.load(&wire, rows_min), question);
            assert_eq!((here.0, here), (200, there), "{question}");
        }
        // More rows on the engine make another dataset.
        bench.server.put("candles", candles(6_000));
        let more = bench.load(&wire, rows_min);
        assert_eq!(more.table("candles").unwrap().height(), 6_000);
        assert_ne!(more.identity, again.identity);
    }
}

/// Engine failures, and the message for the user.
const TROUBLES: &[(Trouble, &str)] = &[
    (Trouble::Said, "failed with code 395"),
    (
        Trouble::Fewer(2_900),
        "returned 2,900 rows, but 10,000 were counted",
    ),
    (Trouble::Broken(2_900), "closed the connection early"),
    (Trouble::Behind(10_000), "failed with code 395"),
    (Trouble::Behind(2_900), "failed with code 395"),
    (Trouble::Cut(0), "unreadable "),
    (Trouble::Cut(100_000), "unreadable "),
    (Trouble::Stall(50_000), "timed out after 1 s"),
    (Trouble::Noise, "unreadable "),
    (Trouble::Fails(500, 201), "quota is used up"),
    (Trouble::Fails(500, 241), "needs more memory"),
    (Trouble::Fails(500, 279), "is unreachable"),
    (Trouble::Fails(500, 210), "is unreachable"),
    (Trouble::Fails(500, 288), "GLOBAL IN"),
    (Trouble::Fails(500, 396), "more rows than were counted"),
    (Trouble::Fails(403, 516), "is not accessible"),
];

#[test]
fn a_failing_engine_gives_no_wrong_rows() {
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(10_000);
        let wire = bench.wire();
        for (trouble, says) in TROUBLES {
            bench.server.trouble([*trouble]);
            let dataset = bench.load(&bench.wire_for(*trouble), rows_min);
            let reason = reason(&dataset);
            assert!(
                reason.starts_with("`clickhouse://warehouse/market.candles` ")
                    && reason.contains(says),
                "{trouble:?}: {reason}"
            );
            assert!(
                !reason.contains("10.1.2.3") && !reason.contains("127.0.0.1"),
                "{reason}"
            );
            let (status, body) = bench.ask(
                dataset,
                "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/candles",
            );
            assert!([503, 422, 404].contains(&status), "{status} {body}");
            assert!(!body.contains("127.0.0.1"), "{body}");
        }
        // The engine has recovered.
        let whole = bench.load(&wire, rows_min);
        assert_eq!(whole.table("candles").unwrap().height(), 10_000);
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_never_taken_for_whole() {
    let bench = Bench::new(3_000);
    let wire = bench.wire();
    let whole = bench.load(&wire, 1_000);
    let mut random = Random(7);
    for nth in 0..40 {
        let at = random.whole(0, 250_000);
        let trouble = if nth % 2 == 0 {
            Trouble::Cut(at)
        } else {
            Trouble::Broken(at % 3_000)
        };
        let rows = if nth % 3 == 0 { 1_000 } else { 200_000 };
        bench.clear_cache();
        bench.server.trouble([trouble]);
        let dataset = bench.load(&wire, rows);
        match &dataset.table("candles").unwrap().state {
            TableState::Loaded => assert_eq!(
                dataset.table("candles").unwrap().height(),
                whole.table("candles").unwrap().height()
            ),
            TableState::Unusable(reason) => {
                assert!(reason.contains("clickhouse://warehouse"), "{reason}");
            }
            TableState::Absent => panic!("{trouble:?}"),
        }
    }
}

#[test]
fn without_the_engine_the_rows_of_the_last_load_stay_and_say_so() {
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(3_000);
        let first = bench.load(&bench.wire(), rows_min);
        bench.server.shared.down.store(true, Ordering::Release);
        let later = bench.load(&bench.wire(), rows_min);
        same_candles(&first, &later);
        assert_eq!(first.identity, later.identity);
        let table = later.table("candles").unwrap();
        assert!(
            table
                .remote
                .as_ref()
                .is_some_and(|remote| remote.as_of.is_some() && remote.sources == ["warehouse"])
        );
        assert!(
            table
                .findings
                .kept()
                .iter()
                .any(|finding| finding.reason.starts_with("the rows are from 2"))
        );
        // A partial transfer of new rows is rejected.
        bench.server.shared.down.store(false, Ordering::Release);
        bench.server.put("candles", candles(4_000));
        bench.server.trouble([Trouble::Fewer(3_500)]);
        assert_eq!(
            bench
                .load(&bench.wire(), rows_min)
                .table("candles")
                .unwrap()
                .height(),
            3_000
        );
    }
    let bench = Bench::new(3_000);
    bench.server.shared.down.store(true, Ordering::Release);
    let dataset = bench.load(&bench.wire(), 1_000);
    let (status, body) = bench.ask(
        dataset,
        "/tokens/0x1f9840a85d5af5bf1d1762f925bdaddc4201f984/candles",
    );
    assert_eq!(
        (
            status,
            body.contains(Code::SourceUnavailable.word()),
            body.contains("`warehouse`")
        ),
        (503, true, true),
        "{body}"
    );
}

#[test]
fn settings_are_sent_where_the_user_may_change_them() {
    let bench = Bench::new(100);
    for (readonly, sent) in [(0, true), (1, false), (2, true)] {
        bench
            .server
            .shared
            .readonly
            .store(readonly, Ordering::Release);
        bench.server.shared.queries.lock().unwrap().clear();
        let dataset = bench.load(&bench.wire(), 1_000);
        let table = dataset.table("candles").unwrap();
        if readonly == 0 {
            assert_eq!(table.height(), 100);
        }
        let asked = bench.server.queries();
        let rows: Vec<&String> = asked
            .iter()
            .filter(|query| query.contains("LIMIT 1000"))
            .collect();
        assert!(!rows.is_empty());
        for query in rows {
            assert_eq!(
                query.contains("skip_unavailable_shards=0"),
                sent,
                "{readonly}: {query}"
            );
            assert_eq!(
                query.contains("readonly=2"),
                readonly == 0,
                "{readonly}: {query}"
            );
        }
    }
}

#[test]
fn no_query_is_sent_before_the_person_agrees() {
    let bench = Bench::new(100);
    for consent in [Consent::Never, Consent::Ask] {
        let wire = wire_of(vec![source(&bench.server.url())], consent);
        let dataset = bench.load(&wire, 1_000);
        assert!(
            reason(&dataset).contains("is blocked"),
            "{}",
            reason(&dataset)
        );
        let open = origins_to_agree(bench.path(), &wire);
        assert_eq!(
            open,
            if consent == Consent::Ask {
                vec!["clickhouse://warehouse"]
            } else {
                Vec::new()
            }
        );
    }
    // A dataset cannot name a server, only a source from the configuration.
    let wire = wire_of(Vec::new(), Consent::Always);
    assert!(
        reason(&bench.load(&wire, 1_000))
            .contains("add [sources.warehouse] with kind = \"clickhouse\"")
    );
    assert!(reason(&bench.data.load(None, 1_000).unwrap()).contains("only local files are read"));
    assert_eq!(bench.server.queries(), Vec::<String>::new());
}

#[test]
fn a_query_over_a_limit_is_not_sent() {
    let bench = Bench::new(100);
    bench.server.shared.estimate.store(6_000, Ordering::Release);
    let wire = wire_of(
        vec![Source {
            scan_rows_max: 5_999,
            ..source(&bench.server.url())
        }],
        Consent::Always,
    );
    let dataset = bench.load(&wire, 1_000);
    assert!(
        reason(&dataset).contains("would scan 6,000 rows, more than the limit of 5,999"),
        "{}",
        reason(&dataset)
    );
    let sources = vec![source(&bench.server.url())];
    let options = WireOptions {
        consent: Consent::Always,
        sources,
        timeouts: timeouts(),
        budget: 1_000,
        ..WireOptions::default()
    };
    let dataset = bench.load(&wire_with(options), 1_000);
    assert!(
        reason(&dataset).contains("remote.budget_gb_per_day"),
        "{}",
        reason(&dataset)
    );
    assert!(
        !bench
            .server
            .queries()
            .iter()
            .any(|query| query.contains("ArrowStream"))
    );
}

/// Cancels the load at a given progress step of `candles`, counted from the first rows.
struct CancelAt(std::sync::atomic::AtomicU64, u64);

impl LoadProgress for CancelAt {
    fn step(&self, table: &str, _: u64, total: u64) -> Result<(), Cancelled> {
        let waits = table == "candles" && total > 0;
        if waits && self.0.fetch_add(1, Ordering::AcqRel) >= self.1 {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_cancelled_load_kills_its_query() {
    for rows_min in [1_000, 200_000] {
        let bench = Bench::new(10_000);
        let wire = wire_of(
            vec![Source {
                timeout_seconds: 600,
                ..source(&bench.server.url())
            }],
            Consent::Always,
        );
        bench.server.trouble([Trouble::Stall(600_000)]);
        let (start, progress) = (Instant::now(), CancelAt(0.into(), 3));
        let outcome = load_as(
            bench.path(),
            &bench.options(rows_min),
            Some(&wire),
            &progress,
            None,
            false,
        );
        assert_eq!(outcome.map(drop), Err(LoadError::Cancelled));
        // The server would stay silent for ten minutes.
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        let asked = |query: &String| {
            query
                .split("query_id=")
                .nth(1)
                .and_then(|rest| rest.split('&').next())
                .map(str::to_owned)
        };
        let rows = bench
            .server
            .queries()
            .iter()
            .find(|query| query.contains("ArrowStream"))
            .and_then(asked)
            .unwrap();
        let killed =
            || {
                bench.server.queries().iter().any(|query| {
                    query.contains(&format!("KILL QUERY WHERE query_id = '{rows}' ASYNC"))
                })
            };
        wait_until("the query is ended", killed);
        // Partial results are not taken for complete by the next load.
        bench.server.trouble([]);
        assert_eq!(
            bench
                .load(&wire, rows_min)
                .table("candles")
                .unwrap()
                .height(),
            10_000
        );
    }
}

#[test]
fn a_silent_engine_is_given_up_in_time() {
    let bench = Bench::new(100);
    *bench.server.shared.short.lock().unwrap() = Some(Trouble::Stall(0));
    let reason = reason(&bench.load(&bench.wire_for(Trouble::Stall(0)), 1_000));
    assert!(reason.contains("timed out after 1 s"), "{reason}");
}
