//! Services as sources: their rows arrive in the dataset whatever faults occur on the way, and known rows are not requested again.

#[path = "service/consent.rs"]
mod consent;
#[path = "service/day.rs"]
mod day;
#[path = "service/series.rs"]
mod series;
#[path = "service/server.rs"]
mod server;
#[path = "service/snapshots.rs"]
mod snapshots;
#[path = "service/social.rs"]
mod social;

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use model::{
    address::Address,
    candles::{ChartCandles, Interval},
    chain::Chain,
    time::{DAY_MS, Time},
};
use tokendeck_load::live::{
    LiveMarket, LiveToken, RefreshContext, RefreshError, RefreshReport, RefreshState, RefreshWatch,
    Unwatched, hosts, refresh,
};
use tokendeck_load::{Dataset, loader::load};
use tokendeck_load::{
    manifest::Manifest,
    provider::{Provider, ProviderOrigin, Providers},
};
use wire::{Consent, MemoryLedger, RemoteClient, Source, TimeoutsAndRetries, WireOptions};

use self::server::{Service, ServiceReply, Trouble};

const TOKEN: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const OTHER: &str = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const POOL: &str = "0xcccccccccccccccccccccccccccccccccccccccc";
/// A day at noon.
const NOW: Time = Time(20_000 * DAY_MS + DAY_MS / 2);

const MARKET: &str = r#"
    name = "Market"
    home = "HOME"
    per_minute = 10000
    chains = { eth = "ethereum" }
    [[request]]
    name = "ohlcv"
    fills = "candles"
    each = "pool"
    path = "/{chain}/{pool}/{interval.unit}"
    query = { before = "{before}" }
    rows = "data.list"
    columns = { timestamp = 1, open = 2, high = 3, low = 4, close = 5, volume = 6 }
    set = { interval = "{interval}" }
    next = { before = "oldest timestamp" }
    errors = { "error.code" = { say = "error.text" } }
    [[request]]
    name = "pools"
    fills = "pools"
    each = "token"
    path = "/{chain}/tokens/{token}/pools"
    rows = "data"
    columns = { address = "id", dex_id = "dex", token0 = "base", token1 = "quote", liquidity = "usd" }
    [[request]]
    name = "holders"
    fills = "holders"
    each = "token"
    path = "/{chain}/tokens/{token}/holders"
    rows = "items"
    columns = { holder_address = "address", balance = "amount" }
    next = { cursor = "next_page" }
    [[request]]
    name = "yields"
    fills = "yields"
    path = "/yields"
    rows = "data"
"#;

/// A dataset with the token, and the provider of the service.
struct Setup {
    folder: tempfile::TempDir,
    providers: Providers,
    wire: Arc<RemoteClient>,
    now: Time,
    watch: Arc<dyn RefreshWatch>,
}

fn wire(consent: Consent, sources: Vec<Source>) -> Arc<RemoteClient> {
    let ms = Duration::from_millis;
    let timeouts = TimeoutsAndRetries {
        connect_timeout: ms(500),
        read_timeout: ms(800),
        retries: 2,
        backoff: ms(1),
        backoff_max: ms(4),
    };
    RemoteClient::new(
        WireOptions {
            consent,
            sources,
            timeouts,
            ..WireOptions::default()
        },
        Arc::new(MemoryLedger::default()),
    )
}

fn provider(id: &str, text: &str, url: &str, origin: ProviderOrigin) -> Provider {
    Provider::parse(id, &text.replace("HOME", url), origin).expect("a description")
}

impl Setup {
    fn new(service: &Service, manifest: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(
            folder.path().join("tokens.csv"),
            format!("token_address,symbol,name,chain\n{TOKEN},A,A,eth\n"),
        )
        .expect("written");
        fs::write(folder.path().join("dataset.toml"), manifest).expect("written");
        let market = provider("market", MARKET, &service.url, ProviderOrigin::Own);
        Self {
            folder,
            providers: [("market".to_owned(), market)].into(),
            wire: wire(Consent::Always, Vec::new()),
            now: NOW,
            watch: Arc::new(Unwatched),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&RefreshContext<'_>) -> T) -> T {
        let manifest = Manifest::parse(
            &fs::read_to_string(self.folder.path().join("dataset.toml")).expect("text"),
        )
        .expect("valid");
        let token = LiveToken {
            address: Address::parse(TOKEN).expect("an address"),
            symbol: Some("A".to_owned()),
            name: None,
            listed: false,
            chains: Chain::parse("eth").into_iter().collect(),
        };
        let market = LiveMarket {
            tokens: vec![token],
            ..LiveMarket::default()
        };
        work(&RefreshContext {
            dataset: self.folder.path(),
            manifest: &manifest,
            providers: &self.providers,
            wire: &self.wire,
            market: &market,
            rows: None,
            by_hand: false,
            watchlist: &[],
            now: self.now,
            watch: Arc::clone(&self.watch),
        })
    }

    fn refresh(&self) -> RefreshReport {
        self.with(|context| refresh(context, &[]))
            .expect("a refresh")
    }

    fn failure(&self) -> String {
        self.refresh().failures().next().expect("a failure")
    }

    fn dataset(&self) -> Dataset {
        load(self.folder.path(), &model::progress::NoProgress).expect("a dataset")
    }

    /// Days and closes of the token's candles.
    fn candles(&self) -> Vec<(i64, f64)> {
        let dataset = self.dataset();
        let chart = dataset
            .candles()
            .of(&Address::parse(TOKEN).expect("an address"));
        let ChartCandles::Here(series) = chart else {
            panic!("they are here")
        };
        let days = series
            .into_iter()
            .find(|(interval, _)| *interval == Interval::DAY);
        days.map(|(_, days)| {
            days.timestamp
                .iter()
                .zip(days.close)
                .map(|(time, close)| (time / DAY_MS, *close))
                .collect()
        })
        .unwrap_or_default()
    }
}

/// Candles of some days, newest first, as the service writes them.
fn candles(days: impl DoubleEndedIterator<Item = i64>, close: f64) -> String {
    let rows: Vec<String> = days
        .rev()
        .map(|day| format!("[{},1,\"9\",\"0.5\",{close},3]", day * 86_400))
        .collect();
    format!(r#"{{"data":{{"list":[{}]}}}}"#, rows.join(","))
}

fn pools() -> ServiceReply {
    ServiceReply::ok(format!(
        r#"{{"data":[{{"id":"{POOL}","dex":"uniswap","base":"{TOKEN}","quote":"{OTHER}","usd":"5000.5"}}]}}"#
    ))
}

/// The market with candles of each day up to the newest; pages of 100.
fn market(newest: i64) -> impl FnMut(&server::ServiceRequest) -> ServiceReply + Send {
    move |request| {
        if request.target.contains("/pools") {
            return pools();
        }
        let before = request
            .target
            .split("before=")
            .nth(1)
            .map_or(newest + 1, |seconds| {
                seconds
                    .split('&')
                    .next()
                    .unwrap_or_default()
                    .parse::<i64>()
                    .expect("a number")
                    / 86_400
            });
        ServiceReply::ok(candles(
            (before - 100).max(19_000)..before,
            (newest - 20_000) as f64 + 2.0,
        ))
    }
}

const CANDLES: &str = "[tables.candles]\nprovider = 'market'\nhistory = '250d'\n[tables.pools]\nprovider = 'market'\n";

#[test]
fn candles_come_page_by_page_and_then_only_what_is_missing() {
    let service = Service::new(market(20_000));
    let mut setup = Setup::new(&service, CANDLES);
    let asks = setup.with(|context| hosts(context, &[]));
    assert_eq!(asks.values().sum::<u64>(), 3, "{asks:?}");
    let report = setup.refresh();
    assert_eq!(report.failures().next(), None);
    let asked = service.asked();
    assert_eq!(
        asked.len(),
        4,
        "the pools, and three pages of candles: {asked:?}"
    );
    let days = setup.candles();
    assert_eq!((days.len(), days[299]), (300, (20_000, 2.0)));
    assert_eq!(setup.dataset().pools()[0].liquidity, Some(5000.5));

    service.now(market(20_002));
    setup.now = Time(NOW.0 + 2 * DAY_MS);
    setup.refresh();
    let asked = service.asked();
    assert_eq!(asked.len(), 2, "one page of candles: {asked:?}");
    let days = setup.candles();
    assert_eq!(
        (days.len(), days[299], days[301]),
        (302, (20_000, 4.0), (20_002, 4.0)),
        "the candle that was forming is replaced"
    );

    // A longer history asks for the older part alone.
    fs::write(
        setup.folder.path().join("dataset.toml"),
        CANDLES.replace("250d", "350d"),
    )
    .expect("written");
    setup.refresh();
    let asked = service.asked();
    assert!(
        asked.len() == 3 && asked.iter().any(|target| target.contains("before=")),
        "{asked:?}"
    );
    assert_eq!(setup.candles()[0].0, 19_601);
}

#[test]
fn what_fails_is_said_in_words_and_what_was_there_stays() {
    let service = Service::new(market(20_000));
    let mut setup = Setup::new(&service, CANDLES);
    setup.refresh();
    let before = setup.candles();
    setup.now = Time(NOW.0 + DAY_MS);
    let list = candles(19_990..20_001, 7.0);
    let troubles: [(&str, ServiceReply, &str); 9] = [
        (
            "busy",
            ServiceReply::status(503),
            "Market returned 503 on every try: it is busy or broken",
        ),
        (
            "too often",
            ServiceReply::status(429).with("retry-after", "500"),
            "Market returned 429 and asks you to wait 500 s",
        ),
        (
            "no key",
            ServiceReply::status(401),
            "Market requires a valid key; check `token_env` in [sources.market] (kind = \"provider\") of config.toml",
        ),
        (
            "cut off",
            ServiceReply::ok(list.clone()).but(Trouble::CutOff),
            "Market was interrupted on every try",
        ),
        (
            "a gigabyte",
            ServiceReply::ok(list.clone()).but(Trouble::Huge),
            "Market sent more than 67.1 MB, the largest response accepted",
        ),
        (
            "no JSON",
            ServiceReply::ok("<html>"),
            "Market sent a response that is not JSON; it begins with `<html>`",
        ),
        (
            "a renamed member",
            ServiceReply::ok(list.replace("list", "rows")),
            "Market sent a response without `data.list`, the path of its rows; the field may have been renamed",
        ),
        (
            "an error inside",
            ServiceReply::ok(r#"{"error":{"code":7,"text":"no\u0007 more"}}"#),
            "Market rejected the request: `no more`",
        ),
        (
            "elsewhere",
            ServiceReply::status(302).with("location", "http://localhost:1/x"),
            "Market redirects to another server, which tokendeck does not contact",
        ),
    ];
    for (what, reply, expected) in troubles {
        service.now(move |request| {
            if request.target.contains("/pools") {
                pools()
            } else {
                reply.clone()
            }
        });
        assert_eq!(setup.failure(), format!("`candles`: {expected}"), "{what}");
        assert_eq!(setup.candles(), before, "{what}");
        let state = RefreshState::read(setup.folder.path());
        assert!(state.tables["candles"].failure.is_some(), "{what}");
    }
    service.now(|request| {
        if request.target.contains("/pools") {
            pools()
        } else {
            ServiceReply::ok(r#"{"data":{"list":[["x",1,2,3,4,5]]}}"#)
        }
    });
    let failure = setup.failure();
    assert!(
        failure.starts_with(
            "`candles`: Market sent rows that cannot be read: `timestamp` expected a time"
        ),
        "{failure}"
    );
    // And well again.
    service.now(market(20_001));
    assert_eq!(
        (setup.refresh().failures().next(), setup.candles().len()),
        (None, 301)
    );
    assert_eq!(
        RefreshState::read(setup.folder.path()).tables["candles"].failure,
        None
    );
}

#[test]
fn a_service_that_asks_for_patience_gets_it() {
    let mut times = 0;
    let mut market = market(20_000);
    let service = Service::new(move |request| {
        times += 1;
        if times < 3 {
            ServiceReply::status(429).with("retry-after", "1")
        } else {
            market(request)
        }
    });
    let setup = Setup::new(&service, CANDLES);
    let start = Instant::now();
    assert_eq!(setup.refresh().failures().next(), None);
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "it waited as long as it was told to"
    );
}

#[test]
fn a_renamed_member_of_a_row_is_told_with_its_name() {
    let service = Service::new(|_| {
        ServiceReply::ok(format!(
            r#"{{"data":[{{"id":"{POOL}","dex":"x","base":"{TOKEN}","quote":"{OTHER}","liq":1}}]}}"#
        ))
    });
    let setup = Setup::new(&service, "[tables.pools]\nprovider = 'market'\n");
    let report = setup.refresh();
    assert_eq!(
        report.tables[0].notes,
        ["no row has `usd`, the field for `liquidity`; it may have been renamed"]
    );
    assert_eq!(report.tables[0].rows, 1);
    service.now(|_| ServiceReply::ok(format!(r#"{{"data":[{{"pool":"{POOL}","dex":"x","base":"{TOKEN}","quote":"{OTHER}","usd":1}}]}}"#)));
    let failure = setup.failure();
    assert!(
        failure.contains("`id`") && failure.contains("renamed"),
        "{failure}"
    );
    assert_eq!(setup.dataset().pools().len(), 1, "the old row stays");
}

struct Stops(AtomicBool);

impl RefreshWatch for Stops {
    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_slow_answer_is_not_waited_for_once_it_is_stopped() {
    let service = Service::new(|_| pools().but(Trouble::Drips));
    let stops = Arc::new(Stops(AtomicBool::new(false)));
    let setup = Setup {
        watch: Arc::clone(&stops) as _,
        ..Setup::new(&service, CANDLES)
    };
    let start = Instant::now();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            stops.0.store(true, Ordering::Relaxed);
        });
        setup.with(|context| refresh(context, &[]))
    });
    assert!(matches!(outcome, Err(RefreshError::Stopped)));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn what_one_provider_does_not_know_the_next_one_is_asked_for() {
    let (first, second) = (
        Service::new(|_| ServiceReply::status(404)),
        Service::new(market(20_000)),
    );
    let mut setup = Setup::new(
        &first,
        &CANDLES.replace("provider = 'market'", "provider = ['market', 'second']"),
    );
    setup.providers.insert(
        "second".to_owned(),
        provider("second", MARKET, &second.url, ProviderOrigin::Own),
    );
    let report = setup.refresh();
    assert_eq!(
        (report.failures().next(), setup.candles().len()),
        (None, 300)
    );
    assert!(
        report
            .tables
            .iter()
            .all(|table| table.providers.iter().eq(["second"]))
    );
    assert!(!first.asked().is_empty());
    setup.now = Time(NOW.0 + DAY_MS / 2);
    setup.refresh();
    assert_eq!(
        first.asked(),
        Vec::<String>::new(),
        "for a day it counts as not knowing it"
    );
    let nobody = Setup::new(&first, CANDLES);
    let report = nobody.refresh();
    assert_eq!(
        (
            report.failures().next(),
            report.tables[1].unknown.len(),
            report.tables[1].rows
        ),
        (None, 1, 0)
    );
}

#[test]
fn candles_of_the_future_are_left_out_and_told() {
    let service = Service::new(|request| {
        if request.target.contains("/pools") {
            pools()
        } else {
            ServiceReply::ok(candles(19_995..20_003, 2.0))
        }
    });
    let setup = Setup::new(&service, CANDLES);
    let report = setup.refresh();
    assert_eq!(setup.candles().last(), Some(&(20_000, 2.0)));
    let notes: Vec<&String> = report
        .tables
        .iter()
        .flat_map(|table| &table.notes)
        .collect();
    assert!(
        notes.iter().any(|note| *note
            == "excluded 2 candles dated in the future, according to this machine's clock"),
        "{notes:?}"
    );
}

#[test]
fn pages_are_followed_by_what_the_answer_says_and_those_that_overlap_count_once() {
    let holder = |number: u32| format!(r#"{{"address":"0x{number:040x}","amount":"{number}"}}"#);
    let page = move |from: u32, next: &str| {
        ServiceReply::ok(format!(
            r#"{{"items":[{}],"next_page":{next}}}"#,
            (from..from + 3).map(holder).collect::<Vec<_>>().join(",")
        ))
    };
    let service = Service::new(move |request| match request.target.split_once('?') {
        None => page(1, r#"{"id":7,"after":"x y"}"#),
        Some((_, "after=x+y&id=7")) => page(3, r#"{"id":9}"#),
        Some(_) => page(5, "null"),
    });
    let setup = Setup::new(&service, "[tables.holders]\nprovider = 'market'\n");
    assert_eq!(setup.refresh().failures().next(), None);
    assert_eq!(service.asked().len(), 3);
    let holders = setup
        .dataset()
        .holders_of(&Address::parse(TOKEN).expect("an address"))
        .len();
    assert_eq!(holders, 7);
}

#[test]
fn one_program_fetches_and_a_damaged_file_is_named() {
    let service = Service::new(market(20_000));
    let setup = Setup::new(&service, CANDLES);
    setup.refresh();
    let held = fs::File::open(setup.folder.path().join("live/refresh.lock")).expect("a lock");
    held.lock().expect("locked");
    assert!(matches!(
        setup.with(|context| refresh(context, &[])),
        Err(RefreshError::Busy)
    ));
    drop(held);
    fs::write(setup.folder.path().join("live/pools.parquet"), "half").expect("written");
    let Err(RefreshError::Failed(reason)) = setup.with(|context| refresh(context, &["pools"]))
    else {
        panic!("it cannot be read")
    };
    let reason = reason.to_string();
    assert!(
        reason.contains("cannot read `")
            && reason.contains("live/pools.parquet`")
            && reason.contains("move it away"),
        "{reason}"
    );
}
