//! Parity of the front ends: the API's answer, the output of `tokendeck get` and a view's data are the same bytes. Every GET endpoint needs
//! cases here, or the test fails.

mod mcp;
mod mcp_words;

use std::{
    collections::BTreeSet,
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use api::{
    Api, ApiOptions,
    keys::Keys,
    routes::{Content, ENDPOINTS, Verb},
};
use model::{address::Address, error::Result, progress::Progress};
use query::{
    jobs::{JobBody, JobOptions, Jobs},
    queries::{
        Query,
        alert_body::AlertBody,
        batch::{CandleBatchQuery, SecurityBatchQuery, TokenBatchQuery},
        candles::CandlesQuery,
        clusters::ClustersQuery,
        compare::CompareQuery,
        dexes::{AllDexesQuery, DexDetailQuery, DexListQuery},
        flows::TokenFlowsQuery,
        growth::GrowthQuery,
        held::HeldTokensQuery,
        holders::{HolderCountsQuery, HoldersQuery},
        indicators::IndicatorsQuery,
        parameter::{Arguments, TokenReader},
        patterns::PatternsQuery,
        pools::PoolsQuery,
        posts::{PostsQuery, TokenPostsQuery},
        posts_record::PostsRecordQuery,
        request::Request,
        security::SecurityQuery,
        security_record::SecurityRecordQuery,
        tables::{
            TableQuery, TablesQuery,
            column::{CountsQuery, DescribeQuery},
        },
        token::TokenQuery,
        tokens::TokensQuery,
        track_record::{TrackRecordQuery, WholeRecordQuery},
        trendline::TrendlineQuery,
        yields::YieldQuery,
    },
    service::QueryService,
};
use serde_json::Value;
use tempfile::TempDir;
use tokendeck::config::Config;
use wire::{MemoryLedger, RemoteClient};

use crate::{demo::market, remote::Bench, wait::wait_until};

const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
const NOBODY: &str = "0x00000000000000000000000000000000000000ff";

/// A view's equivalent of a request; returns its bytes, and the canonical request.
type Held = fn(&QueryService, &[(&str, &str)], &str) -> Result<(Vec<u8>, String)>;

macro_rules! cases {
    ($($name:literal $held:expr => [$($request:literal),* $(,)?];)*) => { &[$(($name, $held, &[$($request),*])),*] };
}

/// Cases by endpoint, with placeholders for addresses and jobs: `{weth}`, `{uni}`, `{nobody}`, `{job}`.
const CASES: &[(&str, Option<Held>, &[&str])] = cases! {
    "token" Some(held::<TokenQuery>) => ["/tokens/{weth}", "/tokens/{UNI}", "/tokens/{nobody}", "/tokens/0x12"];
    "token_posts" Some(held::<TokenPostsQuery>) => [
        "/tokens/{weth}/posts",
        "/tokens/{uni}/posts?page=2&limit=3",
        "/tokens/{nobody}/posts",
    ];
    "trendline" Some(held::<TrendlineQuery>) => [
        "/technical/{weth}/trendline",
        "/technical/{uni}/trendline?timeframe=4h&period=50",
        "/technical/{weth}/trendline?explain=true&timeframe=1w",
        "/technical/{weth}/trendline?timeframe=2d",
    ];
    "security" Some(held::<SecurityQuery>) => ["/{weth}/security/inference", "/{uni}/security/inference?explain=true"];
    "patterns" Some(held::<PatternsQuery>) => [
        "/technical/{weth}/patterns",
        "/technical/{uni}/patterns?timeframe=1h&explain=true",
        "/technical/{uni}/patterns?timeframe=1w&explain=record",
        "/technical/{nobody}/patterns",
    ];
    "indicators" Some(held::<IndicatorsQuery>) => [
        "/technical/{weth}/indicators",
        "/technical/{uni}/indicators?names=macd_12_26_9,bollinger_20_2.5,obv&timeframe=4h&limit=5",
        "/technical/{uni}/indicators?names=mentions",
        "/technical/{nobody}/indicators",
        "/technical/{weth}/indicators?names=sma",
    ];
    "track_record" Some(held::<TrackRecordQuery>) => [
        "/technical/{weth}/track-record?timeframe=1w",
        "/technical/{uni}/track-record?timeframe=1w&scope=all",
        "/technical/{nobody}/track-record",
        "/technical/{weth}/track-record?scope=mine",
    ];
    // Of configurations that count no record: when one comes, no two programs agree on.
    "track_record_of_all" Some(held::<WholeRecordQuery>) => ["/technical/track-record", "/technical/track-record?timeframe=2h"];
    "security_track_record" Some(held::<SecurityRecordQuery>) => ["/security/track-record"];
    "posts_track_record" Some(held::<PostsRecordQuery>) => ["/posts/track-record"];
    "dexes" Some(held::<DexListQuery>) => ["/{weth}/dexes", "/{uni}/dexes", "/{nobody}/dexes"];
    "dex" Some(held::<DexDetailQuery>) => ["/{weth}/dexes/uniswap-v3", "/{uni}/dexes/Uniswap-V3", "/{weth}/dexes/nowhere"];
    "holders_growth" Some(held::<GrowthQuery>) => [
        "/analytics/tokens/holders-growth",
        "/analytics/tokens/holders-growth?limit=64&window=30",
        "/analytics/tokens/holders-growth?limit=0",
    ];
    "api_holders_growth" Some(held::<GrowthQuery>) => ["/api/analytics/tokens/holders-growth?window=1"];
    "tokens" Some(held_tokens) => [
        "/tokens",
        "/tokens?limit=250&sort=symbol",
        "/tokens?query=uniswap&chain=base",
        "/tokens?query=usd&sort=-price&limit=5&page=2",
        "/tokens?fields=trend,best_pattern,recommendedAction",
        "/tokens?where=cap%3E10m%20chain:ethereum%20age%3C900d&sort=-holders,symbol,%2Bname&only=symbol,holders,created_at",
        "/tokens?where=pattern:double%20score%3E=20&sort=-score&only=symbol,best_pattern,securityScore&limit=5",
        "/tokens?where=capp%3E1",
        "/tokens?addresses={weth},{nobody},{UNI},{weth}",
        "/tokens?addresses={weth},0x12",
    ];
    "candles" Some(held::<CandlesQuery>) => [
        "/tokens/{weth}/candles",
        "/tokens/{uni}/candles?timeframe=1h&limit=5000",
        "/tokens/{weth}/candles?from=2026-08-01&to=2026-08-14T00:00:00Z",
    ];
    "holders" Some(held::<HoldersQuery>) => [
        "/tokens/{weth}/holders",
        "/tokens/{uni}/holders?limit=7&page=2",
        "/tokens/{uni}/holders?where=balance%3E1k%20labels!=burn&sort=labels,-balance&only=holder_address",
    ];
    "clusters" Some(held::<ClustersQuery>) => [
        "/tokens/{weth}/clusters",
        "/tokens/{uni}/clusters?limit=3",
    ];
    "holder_counts" Some(held::<HolderCountsQuery>) => [
        "/tokens/{weth}/holder-counts",
        "/tokens/{uni}/holder-counts",
        "/tokens/{uni}/holder-counts?where=date%3E=2026-08&sort=holders&only=date",
    ];
    "posts" Some(held::<PostsQuery>) => [
        "/posts",
        "/posts?query=uni&limit=5",
        "/posts?sort=published_at&limit=250",
        "/posts?where=impressions%3E10k%20title:a&sort=-engagement,title&only=title,link&limit=9",
    ];
    "all_dexes" Some(held::<AllDexesQuery>) => [
        "/dexes",
        "/dexes?limit=3&page=2",
        "/dexes?where=chain:ethereum%20tvl%3E1m&sort=-tvl&only=dex_id,chain",
    ];
    "token_flows" Some(held::<TokenFlowsQuery>) => ["/tokens/{weth}/flows", "/tokens/{uni}/flows?days=true", "/tokens/{nobody}/flows"];
    "held_tokens" Some(held::<HeldTokensQuery>) => ["/addresses/{nobody}/tokens?where=value%3E1&sort=-share&only=symbol&limit=2"];
    "pools" Some(held::<PoolsQuery>) => [
        "/tokens/{weth}/pools?amount=50000&where=chain:eth&sort=-volume24h&only=pair,loss&limit=3&page=2",
        "/tokens/{nobody}/pools",
    ];
    "compare" Some(held::<CompareQuery>) => [
        "/compare?addresses={weth},{uni}",
        "/compare?addresses={weth},{uni}&timeframe=1h&from=2026-08-01",
        "/compare?addresses={weth},{uni}&period=30d&base={uni}",
        "/compare?addresses={weth}",
        "/compare",
    ];
    "table_counts" Some(held::<CountsQuery>) => [
        "/tables/tokens/counts?column=chain",
        "/tables/candles/counts?column=interval&where=close%3E1",
        "/tables/tokens/counts",
    ];
    "table_describe" Some(held::<DescribeQuery>) => [
        "/tables/candles/describe?column=close",
        "/tables/tokens/describe?column=name",
        "/tables/nothing/describe?column=name",
    ];
    "tables" Some(held::<TablesQuery>) => ["/tables"];
    "table" Some(held::<TableQuery>) => [
        "/tables/candles?limit=3",
        "/tables/candles?where=close%3E100&sort=-close,timestamp&columns=close,timestamp",
        "/tables/nowhere",
        "/tables/tokens?where=usd",
        "/tables/tokens?by=chain&agg=count,sum:market_cap&where=price%3E1&sort=-sum_market_cap&limit=2",
    ];
    "candle_batch" Some(held::<CandleBatchQuery>) => [
        "/candles?addresses={weth},{nobody},{uni}&timeframe=4h&from=2026-08-01",
        "/candles",
        "/candles?addresses={weth}&timeframe=2d",
    ];
    "security_batch" Some(held::<SecurityBatchQuery>) => [
        "/security?addresses={uni},{nobody}&explain=true",
        "/security?addresses={uni},{uni}&format=json",
        "/security?addresses=",
    ];
    "jobs" None => [
        "/deep-analysis/jobs",
        "/deep_analysis/jobs?limit=1",
        "/deep-analysis/jobs?where=status:completed%20tokens:{weth}&sort=-created&only=job_id,status",
    ];
    "job" None => ["/deep-analysis/jobs/{job}", "/deep-analysis/jobs/none"];
    "job_report" None => [
        "/deep-analysis/jobs/{job}/report",
        "/deep-analysis/jobs/{job}/report?format=html",
        "/deep-analysis/jobs/{job}/report?format=md",
        "/deep-analysis/jobs/{job}/report?format=pdf",
    ];
    "alerts" None => ["/alerts", "/alerts?limit=1", "/alerts?limit=0"];
    // A stream has no end; the API's own tests cover it.
    "events" None => [];
    "datasets" None => ["/datasets"];
    "healthz" None => ["/healthz"];
    "openapi" None => ["/openapi.json"];
    "docs" None => ["/docs"];
    "docs_file" None => ["/docs/page.js", "/docs/swagger-ui.css", "/docs/none"];
    "metrics" None => ["/metrics"];
};

fn held<Q: Query>(
    service: &QueryService,
    path: &[(&str, &str)],
    query: &str,
) -> Result<(Vec<u8>, String)> {
    let question = Q::parse(&Arguments::new(Q::PARAMETERS, path, query)?)?;
    keep(service, &question).map(|bytes| (bytes, question.target()))
}

fn held_tokens(
    service: &QueryService,
    path: &[(&str, &str)],
    query: &str,
) -> Result<(Vec<u8>, String)> {
    let of = if query.starts_with("addresses=") {
        held::<TokenBatchQuery>
    } else {
        held::<TokensQuery>
    };
    of(service, path, query)
}

fn keep<Q: Query>(service: &QueryService, question: &Q) -> Result<Vec<u8>> {
    let known = service.answer(question, &Progress::default())?;
    // The typed answer, which views draw, must serialize to the same bytes; the body may say besides of what time they are.
    let typed = serde_json::to_string(&known.answer).unwrap();
    let body = std::str::from_utf8(&known.json).unwrap();
    let dated = body
        .strip_prefix(&typed[..typed.len() - 1])
        .is_some_and(|rest| rest.starts_with(",\"asOf"));
    assert!(typed == body || dated, "{}: {typed}\n{body}", Q::NAME);
    Ok(known.json.to_vec())
}

/// A server on a free port over its own service, a second service for the views' data, and a home for the command line.
struct FrontEnds {
    home: TempDir,
    _market: Option<TempDir>,
    base: String,
    key: String,
    job: String,
    data: PathBuf,
    /// Configuration shared by all three.
    config: PathBuf,
    served: Arc<QueryService>,
    view: Arc<QueryService>,
    agent: ureq::Agent,
    _runtime: tokio::runtime::Runtime,
}

fn service(data: &Path, config: &str, cache: PathBuf) -> Arc<QueryService> {
    let config = Config::parse(None, config).unwrap();
    let mut options = config.deck_options();
    options.cache.folder = Some(cache);
    options.wire = Some(RemoteClient::new(
        config.wire_options(),
        Arc::new(MemoryLedger::default()),
    ));
    let service = QueryService::new(data, options).unwrap();
    service.load().unwrap();
    service
}

impl FrontEnds {
    fn new() -> Self {
        let (market, data) = market();
        Self {
            _market: Some(market),
            ..Self::over(&data, "")
        }
    }

    fn over(data: &Path, config: &str) -> Self {
        let config = &format!("[deck]\nrecords = false\n{config}");
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("state/tokendeck");
        let (served, view) = (
            service(data, config, home.path().join("served")),
            service(data, config, home.path().join("view")),
        );
        let written = home.path().join("config.toml");
        fs::write(&written, config).unwrap();
        let jobs = Jobs::open(
            &state,
            Arc::clone(&served),
            JobOptions {
                queue: 8,
                ..JobOptions::default()
            },
        )
        .unwrap();
        let job = jobs
            .create(&JobBody::One {
                token_address: Address::parse(UNI).unwrap(),
            })
            .unwrap()
            .job_id
            .clone();
        wait_until("the job ends", || jobs.open_count() == 0);
        jobs.add_alert(
            &AlertBody {
                token_address: Address::parse(UNI),
                condition: "price>20".to_owned(),
            },
            &Progress::default(),
        )
        .unwrap();
        let keys = Keys::in_memory().unwrap();
        let key = keys.show().unwrap().reveal().to_owned();
        let api = Api::new(
            Arc::clone(&served),
            Some(jobs),
            Arc::new(keys),
            ApiOptions::default(),
        );
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(api::serve(listener, api, std::future::pending()));
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        Self {
            home,
            _market: None,
            base,
            key,
            job,
            data: data.to_owned(),
            config: written,
            served,
            view,
            agent,
            _runtime: runtime,
        }
    }

    /// Status and body over HTTP.
    fn over_http(&self, target: &str, body: Option<&str>) -> (u16, Vec<u8>) {
        let url = format!("{}{target}", self.base);
        let response = match body {
            None => self.agent.get(&url).header("x-api-key", &self.key).call(),
            Some(body) => self
                .agent
                .post(&url)
                .header("x-api-key", &self.key)
                .header("content-type", "application/json")
                .send(body),
        };
        let mut response = response.unwrap();
        (
            response.status().as_u16(),
            response.body_mut().read_to_vec().unwrap(),
        )
    }

    /// Exit code, stdout and stderr of `tokendeck get`.
    fn by_command(&self, target: &str, body: Option<&str>) -> (i32, Vec<u8>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
        command
            .args(["get", target])
            .arg("--data")
            .arg(&self.data)
            .arg("--config")
            .arg(&self.config);
        command
            .env_clear()
            .env("HOME", self.home.path())
            .current_dir(self.home.path());
        command.env("XDG_STATE_HOME", self.home.path().join("state"));
        if let Some(body) = body {
            fs::write(self.home.path().join("body.json"), body).unwrap();
            command.args(["--body", "body.json"]);
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        // The estimated cost of remote fetches, and how long a busy machine has waited for them, are printed beside the answer.
        let said = String::from_utf8(output.stderr).unwrap();
        let beside = [
            " remote file",
            " rows from `warehouse`, about ",
            "waiting for `warehouse`",
        ];
        let said = said
            .split_inclusive('\n')
            .filter(|line| !beside.iter().any(|text| line.contains(text)))
            .collect();
        (output.status.code().unwrap_or(-1), output.stdout, said)
    }

    fn filled(&self, target: &str) -> String {
        let upper = format!("0x{}", UNI[2..].to_uppercase());
        let places = [
            ("{weth}", WETH),
            ("{uni}", UNI),
            ("{UNI}", &upper),
            ("{nobody}", NOBODY),
            ("{job}", &self.job),
        ];
        places
            .iter()
            .fold(target.to_owned(), |target, (name, value)| {
                target.replace(name, value)
            })
    }

    /// Asserts that the command line gives the API's answer.
    fn compare(&self, target: &str, body: Option<&str>) -> (u16, Vec<u8>) {
        let (status, sent) = self.over_http(target, body);
        let (code, printed, said) = self.by_command(target, body);
        if status < 400 {
            let printed = printed.strip_suffix(b"\n").unwrap_or(&printed);
            assert_eq!((code, said.as_str()), (0, ""), "{target}");
            assert_eq!(lasting(target, printed), lasting(target, &sent), "{target}");
        } else {
            let problem: Value = serde_json::from_slice(&sent).unwrap();
            // Its advice names a command where the API's names a request.
            let detail = problem["detail"].as_str().unwrap();
            let detail = detail.split_once("GET /").map_or_else(
                || detail.to_owned(),
                |(before, after)| {
                    let target = after
                        .split([' ', ',', ';', ')'])
                        .next()
                        .unwrap_or_default()
                        .trim_end_matches(['.', ':']);
                    let word = model::command_line::shell_word(&format!("/{target}"));
                    format!("{before}`tokendeck get {word}`{}", &after[target.len()..])
                },
            );
            let expected = format!(
                "tokendeck: {status} {}: {detail}\n",
                problem["code"].as_str().unwrap()
            );
            assert_eq!(
                (code, printed.as_slice(), said),
                (1, &b""[..], expected),
                "{target}"
            );
        }
        (status, sent)
    }
}

/// The reproducible part of an answer: without load times and process metrics.
fn lasting(target: &str, body: &[u8]) -> String {
    let text = String::from_utf8(body.to_vec()).unwrap();
    match target {
        "/datasets" => {
            let mut value: Value = serde_json::from_str(&text).unwrap();
            for table in value["tables"].as_array_mut().unwrap() {
                assert!(table["load_ms"].take().is_u64());
            }
            value.to_string()
        }
        "/metrics" => text
            .lines()
            .filter(|line| line.starts_with("# TYPE"))
            .fold(String::new(), |all, line| all + line + "\n"),
        _ => text,
    }
}

/// Values of the route's placeholders in a target, and its query.
fn arguments<'a>(route: &'a str, target: &'a str) -> (Vec<(&'a str, &'a str)>, &'a str) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = route.split('/').zip(path.split('/'));
    (
        pairs
            .filter_map(|(name, value)| Some((name.strip_prefix('{')?.strip_suffix('}')?, value)))
            .collect(),
        query,
    )
}

#[test]
fn every_endpoint_that_is_read_has_its_cases() {
    let names = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<BTreeSet<&str>>();
    let there = names(
        &mut ENDPOINTS
            .iter()
            .filter(|endpoint| endpoint.verb == Verb::Get)
            .map(|endpoint| endpoint.name),
    );
    assert_eq!(names(&mut CASES.iter().map(|(name, ..)| *name)), there);
    for (name, _, targets) in CASES {
        let endpoint = ENDPOINTS
            .iter()
            .find(|endpoint| endpoint.name == *name)
            .unwrap();
        let stream = matches!(endpoint.content, Content::Events);
        assert_eq!(targets.is_empty(), stream, "{name}");
    }
}

#[test]
fn the_api_the_command_line_and_the_views_say_the_same() {
    let answered = walk(&FrontEnds::new(), |_| usize::MAX);
    let silent: Vec<&str> = CASES
        .iter()
        .map(|(name, ..)| *name)
        .filter(|name| !answered.contains(name))
        .collect();
    // The stream has no cases.
    assert_eq!(silent, ["events"]);
}

#[test]
fn files_in_object_storage_are_answered_the_same_everywhere() {
    let (_market, data) = market();
    let bench = Bench::of(&data);
    let front_ends = FrontEnds::over(bench.folder.path(), &bench.config());
    let answered = walk(&front_ends, |_| 1);
    assert_eq!(answered.len(), CASES.len() - 1);
    let (_, metrics) = front_ends.over_http("/metrics", None);
    let metrics = String::from_utf8(metrics).unwrap();
    let fetched = metrics
        .lines()
        .find_map(|line| line.strip_prefix("tokendeck_remote_bytes_total "));
    let there: u64 = fs::read_dir(&data)
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(
        fetched.is_some_and(|bytes| (1.0..there as f64).contains(&bytes.parse().unwrap())),
        "{metrics}"
    );
}

/// Asks every front end up to `most` cases per endpoint; returns the endpoints that answered.
fn walk(front_ends: &FrontEnds, most: impl Fn(&str) -> usize) -> BTreeSet<&'static str> {
    let mut answered = BTreeSet::new();
    for (name, held, targets) in CASES {
        let endpoint = ENDPOINTS
            .iter()
            .find(|endpoint| endpoint.name == *name)
            .unwrap();
        for target in targets.iter().take(most(name)) {
            let target = front_ends.filled(target);
            let (status, sent) = front_ends.compare(&target, None);
            if status < 400 {
                answered.insert(*name);
            }
            let Some(held) = held else { continue };
            let (path, query) = arguments(endpoint.path, &target);
            match held(&front_ends.view, &path, query) {
                Ok((bytes, canonical)) => {
                    assert_eq!((status, &bytes), (200, &sent), "{target}");
                    assert_eq!(
                        front_ends.over_http(&canonical, None),
                        (200, sent),
                        "{target} as {canonical}"
                    );
                }
                Err(problem) => {
                    let body: Value = serde_json::from_slice(&sent).unwrap();
                    assert!(
                        status >= 400 && body["detail"] == problem.detail,
                        "{target}: {problem:?} is not {body}"
                    );
                }
            }
        }
    }
    answered
}

#[test]
fn a_question_with_a_body_is_answered_the_same() {
    let front_ends = FrontEnds::new();
    let good = format!(
        "{{\"tokens\": {{\"{WETH}\": \"1000000000000000000\"}}, \"settings\": {{\"riskLevel\": \"low\", \"chains\": [\"eth\"], \"minApy\": 1}}}}"
    );
    let mut answered = 0;
    for body in [
        good.as_str(),
        "{\"tokens\": {\"0x12\": \"1\"}}",
        "{\"tokens\": ",
        "{}",
    ] {
        let (status, sent) = front_ends.compare(YieldQuery::PATH, Some(body));
        match YieldQuery::parse_body(body.as_bytes(), TokenReader::default())
            .and_then(|question| keep(&front_ends.view, &question))
        {
            Ok(bytes) => {
                assert_eq!((status, bytes), (200, sent), "{body}");
                answered += 1;
            }
            Err(problem) => {
                let told: Value = serde_json::from_slice(&sent).unwrap();
                assert!(
                    status >= 400 && told["detail"] == problem.detail,
                    "{body}: {problem:?} is not {told}"
                );
            }
        }
    }
    assert_eq!(answered, 1);
}
