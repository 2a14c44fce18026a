//! Remote files: a dataset on an object server equals the same files on disk; every server failure yields correct bytes or a stated reason;
//! no credential leaks; no server is contacted without consent.

mod faults;
mod guarantees;
mod real;
pub(crate) mod server;
mod stale_rows;

use std::{
    collections::BTreeSet,
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use api::{Api, ApiOptions, keys::Keys};
use frames::{cache::CacheOptions, rows::Frames as _};
use load::{
    Dataset, Table,
    loader::{LoadError, load, load_as, load_with},
};
use model::progress::{LoadProgress, NoProgress};
use query::service::{QueryService, ServiceOptions};
use table::TableRows;
use tempfile::TempDir;
use wire::{
    Consent, MemoryLedger, RemoteClient, Source, SourceKind, TimeoutsAndRetries, WireOptions,
};

use self::server::Server;
use crate::wait::PATIENCE;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");

/// No server that answers is given up, however busy the machine; retries follow at once.
fn patient() -> TimeoutsAndRetries {
    let ms = Duration::from_millis;
    TimeoutsAndRetries {
        connect_timeout: PATIENCE,
        read_timeout: PATIENCE,
        retries: 2,
        backoff: ms(1),
        backoff_max: ms(4),
    }
}

/// The server as a bucket, and as a web server.
fn sources(server: &Server) -> Vec<Source> {
    let bucket = Source {
        name: "lake".into(),
        kind: SourceKind::S3,
        buckets: vec!["bucket".into()],
        endpoint: server.url(),
        region: "us-east-1".into(),
        anonymous: true,
        ..Source::default()
    };
    vec![
        bucket,
        Source {
            name: "web".into(),
            kind: SourceKind::Https,
            url: server.url(),
            ..Source::default()
        },
    ]
}

/// The server as configured by the user.
fn options(server: &Server) -> WireOptions {
    WireOptions {
        consent: Consent::Always,
        sources: sources(server),
        timeouts: patient(),
        ..WireOptions::default()
    }
}

/// A client for a server whose answers stall, each of which must be waited for.
fn hasty(server: &Server) -> Arc<RemoteClient> {
    let timeouts = TimeoutsAndRetries {
        read_timeout: Duration::from_millis(200),
        ..patient()
    };
    wire_with(WireOptions {
        timeouts,
        ..options(server)
    })
}

/// A client without persisted consent and budget.
pub(crate) fn wire_with(options: WireOptions) -> Arc<RemoteClient> {
    RemoteClient::new(options, Arc::new(MemoryLedger::default()))
}

fn wire(server: &Server) -> Arc<RemoteClient> {
    wire_with(options(server))
}

/// A dataset's folder and cache.
pub(crate) struct Data {
    pub(crate) folder: TempDir,
    pub(crate) cache: TempDir,
}

impl Data {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let data = Self {
            folder: tempfile::tempdir().unwrap(),
            cache: tempfile::tempdir().unwrap(),
        };
        for (name, text) in files {
            data.write(name, text);
        }
        data
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Tables from `rows_min` rows on are cached on disk.
    pub(crate) fn options(&self, rows_min: u64) -> CacheOptions {
        CacheOptions {
            folder: Some(self.cache.path().to_owned()),
            rows_min,
            ..CacheOptions::default()
        }
    }

    pub(crate) fn load(
        &self,
        wire: Option<&Arc<RemoteClient>>,
        rows_min: u64,
    ) -> Result<Dataset, LoadError> {
        load_as(
            self.path(),
            &self.options(rows_min),
            wire,
            &NoProgress,
            None,
            false,
        )
    }

    /// Empties the cache.
    pub(crate) fn clear_cache(&self) {
        fs::remove_dir_all(self.cache.path()).ok();
    }

    /// The API's answer to a request.
    pub(crate) fn ask(&self, dataset: Dataset, path: &str) -> (u16, String) {
        ask(&api_over(self.path(), dataset), path)
    }
}

/// All files below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    below
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// An API over this dataset, which is never reloaded.
pub(crate) fn api_over(folder: &Path, dataset: Dataset) -> Arc<Api> {
    let service = QueryService::new(
        folder,
        ServiceOptions {
            workers: 2,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.publish(dataset);
    Api::new(
        service,
        None,
        Arc::new(Keys::in_memory().unwrap()),
        ApiOptions::default(),
    )
}

pub(crate) fn ask(api: &Arc<Api>, path: &str) -> (u16, String) {
    let reply = api::answer_offline(api, "GET", path, b"");
    (
        reply.status,
        String::from_utf8(reply.body.to_vec()).unwrap(),
    )
}

/// Asserts that both have the same rows, in memory or cached.
pub(crate) fn same_rows(a: &Table, b: &Table) {
    assert_eq!(
        (a.height(), a.rows_bad),
        (b.height(), b.rows_bad),
        "{}: {:?} {:?}",
        a.schema.name,
        b.state,
        b.findings.kept()
    );
    let own = |table: &Table| {
        let names: Vec<&str> = table.own_columns().map(|column| column.name).collect();
        table.rows.slice(0..table.rows.height(), Some(&names))
    };
    assert!(
        a.frame().equals_missing(&b.frame()) && own(a).equals_missing(&own(b)),
        "{}: {:?}\n{:?}",
        a.schema.name,
        a.frame(),
        b.frame()
    );
    if let (Some(a), Some(b)) = (a.large(), b.large()) {
        let all = |table: &TableRows| table.slice(0..table.height(), None);
        assert!(all(a).equals_missing(&all(b)), "{}", a.schema().name);
    }
}

/// A dataset whose tables are on a server.
pub(crate) struct Bench {
    server: Server,
    data: Data,
}

impl Deref for Bench {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

/// Files of the demo data, by table.
fn files(data: &Path) -> Vec<(String, PathBuf)> {
    let known: BTreeSet<&str> = model::schema::TABLES
        .iter()
        .map(|schema| schema.name)
        .collect();
    let mut files: Vec<_> = fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .filter(|(table, _)| known.contains(table.as_str()))
        .collect();
    files.sort();
    files
}

impl Bench {
    /// The data of a folder, each table under its own URL.
    pub(crate) fn of(data: &Path) -> Self {
        let bench = Self {
            server: Server::start(),
            data: Data::new(&[]),
        };
        let mut manifest = fs::read_to_string(data.join("dataset.toml")).unwrap_or_default();
        for (nth, (table, path)) in files(data).into_iter().enumerate() {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            bench
                .server
                .put(&format!("d/{name}"), fs::read(&path).unwrap());
            let web = format!("{}/bucket/d/{name}", bench.server.url());
            let url = if nth % 2 == 0 {
                format!("s3://bucket/d/{name}")
            } else {
                web
            };
            manifest.push_str(&format!("\n[tables.{table}]\npath = \"{url}\"\n"));
        }
        bench.write("dataset.toml", &manifest);
        bench
    }

    /// A dataset with this `dataset.toml`, in which `WEB` stands for the server's address.
    fn with(manifest: &str) -> Self {
        let bench = Self {
            server: Server::start(),
            data: Data::new(&[]),
        };
        bench.write(
            "dataset.toml",
            &manifest.replace("WEB", &bench.server.url()),
        );
        bench
    }

    /// A `config.toml` that configures the server as bucket and as web server, with consent.
    pub(crate) fn config(&self) -> String {
        let url = self.server.url();
        format!(
            "[remote]\nenabled = true\n[sources.lake]\nkind = 's3'\nbuckets = ['bucket']\nendpoint = '{url}'\nregion = 'us-east-1'\n\
             anonymous = true\n[sources.web]\nkind = 'https'\nurl = '{url}'\n"
        )
    }

    fn load(&self, wire: &Arc<RemoteClient>) -> Result<Dataset, LoadError> {
        self.load_with(wire, 200_000, &NoProgress)
    }

    /// Loads with frequent checkpoints, as tests of interruption need.
    fn load_with(
        &self,
        wire: &Arc<RemoteClient>,
        rows_min: u64,
        progress: &dyn LoadProgress,
    ) -> Result<Dataset, LoadError> {
        let options = CacheOptions {
            group_max: 32 << 10,
            ..self.options(rows_min)
        };
        load_as(self.path(), &options, Some(wire), progress, None, false)
    }
}

/// Everything reported about a table, with files reduced to their base names.
fn told(table: &Table) -> String {
    let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let findings: Vec<_> = table
        .findings
        .kept()
        .iter()
        .map(|f| {
            (
                f.severity,
                last(&f.file),
                f.row,
                f.column.clone(),
                f.value.clone(),
                f.reason.clone(),
            )
        })
        .collect();
    let counts: Vec<_> = table
        .findings
        .counts()
        .iter()
        .map(|c| {
            (
                c.severity,
                last(&c.file),
                c.column.clone(),
                c.reason.clone(),
                c.count,
            )
        })
        .collect();
    let sources: Vec<_> = table
        .sources
        .iter()
        .map(|source| (last(&source.file), source.bytes, source.rows))
        .collect();
    format!(
        "{:?} {} {} {findings:?} {counts:?} {sources:?}",
        table.state,
        table.height(),
        table.rows_bad
    )
}

fn assert_same(here: &Dataset, there: &Dataset) {
    for (a, b) in here.tables.iter().zip(&there.tables) {
        let name = a.schema.name;
        assert_eq!(told(a), told(b), "{name}");
        same_rows(a, b);
        assert_eq!(b.remote.is_some(), b.loaded(), "{name}");
    }
}

const QUESTIONS: &[&str] = &[
    "/tokens?limit=50",
    "/tokens/0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
    "/tokens/0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2/candles?timeframe=4h",
    "/0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2/security/inference?explain=true",
    "/tokens/0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2/holders",
    "/posts?limit=20",
    "/dexes",
    "/analytics/tokens/holders-growth",
];

#[test]
fn a_dataset_elsewhere_is_the_dataset_of_the_same_files_here() {
    for rows_min in [200_000, 1_000] {
        let bench = Bench::of(Path::new(DEMO));
        let wire = wire(&bench.server);
        let files = Data::new(&[]);
        let here = load_with(Path::new(DEMO), &files.options(rows_min), &NoProgress).unwrap();
        let there = bench.load_with(&wire, rows_min, &NoProgress).unwrap();
        assert_same(&here, &there);
        let fetched = wire.figures().bytes;
        // A second load fetches nothing again.
        let again = bench.load_with(&wire, rows_min, &NoProgress).unwrap();
        assert_same(&here, &again);
        assert_eq!(wire.figures().bytes, fetched);
        assert_eq!(there.identity, again.identity);
        let (here, there) = (
            api_over(Path::new(DEMO), here),
            api_over(bench.path(), there),
        );
        for question in QUESTIONS {
            let expected = ask(&here, question);
            assert_eq!(
                (expected.0, &expected),
                (200, &ask(&there, question)),
                "{question}"
            );
        }
    }
}

/// Candle rows including every kind of defect.
fn candles(first: u64, rows: u64) -> String {
    let token = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
    let row = |i: u64| {
        format!(
            "{token},{},1.5,2,1,{},7,1h\n",
            1_700_006_400 + i * 3_600,
            if i.is_multiple_of(50) { "x" } else { "1.7" }
        )
    };
    let rows: String = (first..first + rows).map(row).collect();
    format!("token_address,timestamp,open,high,low,close,volume,interval\n{rows}")
}

const TOKENS: &str = "token_address,symbol,name,chain,price\n0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,eth,5\n";

#[test]
fn patterns_and_folders_are_listed_page_by_page() {
    let bench = Bench::with(
        "[tables.tokens]\npath = 's3://bucket/tokens.csv'\n[tables.candles]\npath = ['s3://bucket/c/**/*.csv', 's3://bucket/more']\n",
    );
    bench
        .server
        .shared
        .page
        .store(2, std::sync::atomic::Ordering::Relaxed);
    bench.server.put("tokens.csv", TOKENS);
    let disk = Data::new(&[("tokens.csv", TOKENS)]);
    let named = [
        ("c/interval=1h/a.csv", 0),
        ("c/interval=1h/b%20c.csv", 100),
        ("c/x/y/z.csv", 200),
        ("more/a.csv", 300),
        ("more/deep/b.csv", 400),
    ];
    for (key, first) in named {
        bench.server.put(key, candles(first, 100));
        let path = disk.path().join("candles").join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, candles(first, 100)).unwrap();
    }
    for left in [
        "c/notes.txt",
        "c/.hidden/a.csv",
        "more/_tmp/a.csv",
        "c/empty.csv",
    ] {
        bench
            .server
            .put(left, if left == "c/empty.csv" { "" } else { "x" });
    }
    let there = bench.load(&wire(&bench.server)).unwrap();
    let here = load(disk.path(), &NoProgress).unwrap();
    assert_same(&here, &there);
    assert_eq!(there.table("candles").unwrap().sources.len(), 5);
}

#[test]
fn folders_that_where_leaves_out_are_not_fetched() {
    let manifest = "[tables.tokens]\npath = 's3://bucket/t.csv'\n[tables.candles]\npath = 's3://bucket/c/*/*.csv'\n\
                    where = { day = { min = \"2024-01-02\", max = \"2024-01-03\" } }\n";
    let bench = Bench::with(manifest);
    bench.server.put("t.csv", TOKENS);
    for day in 1..=4 {
        bench.server.put(
            &format!("c/day=2024-01-0{day}/x.csv"),
            candles(day * 100, 100),
        );
    }
    let dataset = bench.load(&wire(&bench.server)).unwrap();
    let table = dataset.table("candles").unwrap();
    assert_eq!(
        (table.height(), table.sources.len()),
        (196, 2),
        "{:?}",
        table.findings.kept()
    );
    assert!(
        table
            .findings
            .kept()
            .iter()
            .any(|finding| finding.reason == "`where` excludes 2 files by their folder names")
    );
    let asked = bench.server.shared.requests.lock().unwrap().join("");
    assert!(
        asked.contains("2024-01-02")
            && !asked.contains("2024-01-01/x")
            && !asked.contains("2024-01-04/x")
    );
}
