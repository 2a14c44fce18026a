//! Benchmarks behind the performance claims: loading, the market, one answer of each kind, trendlines by length, and a frame of every view.
//! `cargo bench --bench speed [FILTER]`. The API under load is measured externally, by any HTTP load generator.

use std::{hint::black_box, path::Path, sync::Arc, time::Duration};

use analysis::{
    market::Market,
    patterns::patterns,
    timeframes::{CandleVec, resample},
    trendlines::trendlines,
    yields::plan,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use demo::{
    DemoOptions, Format,
    contracts::{ContractCode, Identity, contracts},
};
use frames::cache::CacheOptions;
use frames::rows::Frames as _;
use load::{
    Dataset,
    loader::{load, load_with},
};
use model::{
    address::Address,
    candles::Interval,
    progress::{NoProgress, Progress},
    time::{DAY_MS, HOUR_MS},
};
use query::{
    queries::{
        Query,
        growth::GrowthQuery,
        parameter::Arguments,
        posts::TokenPostsQuery,
        request::Request as _,
        snapshot::{AnswerSettings, Snapshot},
        token::TokenQuery,
        tokens::TokensQuery,
        trendline::TrendlineQuery,
        view::View,
        yields::{RiskLevel, YieldQuery},
    },
    service::{QueryService, ServiceOptions},
};
use ratatui::{buffer::Buffer, layout::Rect};
use security::code::{Budget, CodeInput, inspect};
use table::{RowSelection, sort_rows, top_rows};
use tui::{
    app::Setup,
    run::picture,
    views::keymap::{Action, VIEWS, ViewId},
    widgets::{
        pixels::{
            plot::{CellPixels, PlotScene},
            png::png,
            sixel::sixel,
        },
        theme::{Appearance, Depth, Options, Palette, Theme},
    },
};

#[path = "../tests/generator/yields.rs"]
mod generator;
#[path = "../tests/generator/random.rs"]
mod random;

use random::Random;

const SEED: u64 = 20_261_121;
const LENGTHS: [usize; 4] = [200, 1_000, 10_000, 1_000_000];
const SIZES: [(u16, u16); 2] = [(140, 42), (220, 60)];

/// The dataset shipped with the program.
fn datasets() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets"))
}

fn loaded(folder: &Path) -> Dataset {
    load(folder, &NoProgress).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

/// A folder with a generated market.
fn written(options: &DemoOptions) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder for the data");
    demo::write(folder.path(), options, &mut |_, _, _| true).expect("the data can be written");
    folder
}

fn service(dataset: Dataset, memo_bytes: u64) -> Arc<QueryService> {
    let service = QueryService::new(
        datasets(),
        ServiceOptions {
            memo_bytes,
            ..ServiceOptions::default()
        },
    )
    .expect("a query service");
    service.publish(dataset);
    service
}

/// The token with the most posts, and so the largest answers.
fn busiest(dataset: &Dataset) -> Address {
    let busiest = dataset
        .tokens()
        .iter()
        .max_by_key(|token| dataset.posts_of(&token.row.token_address).len());
    busiest.expect("the demo has tokens").row.token_address
}

fn loading(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(6));
    group.bench_function("demo", |b| b.iter(|| loaded(datasets())));
    let million = written(&DemoOptions {
        candles: Some(1_000_000),
        format: Format::Parquet,
        ..DemoOptions::default()
    });
    group
        .sample_size(10)
        .throughput(Throughput::Elements(1_000_000));
    group.bench_function("1 M candles", |b| b.iter(|| loaded(million.path())));
    group.finish();
}

fn snapshots(c: &mut Criterion) {
    let mut group = c.benchmark_group("snapshot");
    group.sample_size(20);
    for (name, tokens) in [("64 tokens", 64), ("10,000 tokens", 10_000)] {
        let folder = written(&DemoOptions {
            tokens,
            days: 40,
            format: Format::Parquet,
            ..DemoOptions::default()
        });
        let dataset = loaded(folder.path());
        group.bench_function(BenchmarkId::new("market", name), |b| {
            b.iter(|| Market::new(&dataset));
        });
        let snapshot = Snapshot::new(1, dataset, AnswerSettings::default());
        let growth = GrowthQuery {
            limit: 10,
            window: 7,
            explain: false,
        };
        group.bench_function(BenchmarkId::new("holders-growth", name), |b| {
            b.iter(|| growth.answer(&View::new(&snapshot), &Progress::default()));
        });
    }
    group.finish();
}

/// Each query through the service, cold and from the answer cache.
fn answers(c: &mut Criterion) {
    let dataset = loaded(datasets());
    let token = busiest(&dataset);
    // A cache of capacity 0 disables caching.
    let (cold, warm) = (service(dataset, 0), service(loaded(datasets()), 128 << 20));
    let mut group = c.benchmark_group("answer");
    let mut measure = |name: &str, ask: &dyn Fn(&QueryService)| {
        group.bench_function(BenchmarkId::new(name, "first time"), |b| {
            b.iter(|| ask(&cold));
        });
        group.bench_function(BenchmarkId::new(name, "again"), |b| b.iter(|| ask(&warm)));
    };
    measure("token", &|service| {
        asked(
            service,
            &TokenQuery {
                token_address: token,
                explain: false,
            },
        );
    });
    measure("posts", &|service| {
        asked(
            service,
            &TokenPostsQuery {
                token_address: token,
                page: 1,
                limit: 10,
                explain: false,
            },
        );
    });
    let arguments =
        Arguments::new(TokensQuery::PARAMETERS, &[], "query=wr&limit=50").expect("parameters");
    let search = TokensQuery::parse(&arguments).expect("a question");
    measure("search", &|service| asked(service, &search));
    measure("holders-growth", &|service| {
        asked(
            service,
            &GrowthQuery {
                limit: 10,
                window: 7,
                explain: false,
            },
        );
    });
    let trendline = TrendlineQuery {
        contract_address: token,
        period: 200,
        timeframe: None,
        explain: false,
    };
    measure("trendline", &|service| asked(service, &trendline));
    group.finish();
}

fn asked<Q: Query>(service: &QueryService, question: &Q) {
    let known = service.answer(question, &Progress::default());
    assert!(black_box(known).is_ok(), "{} is answered", Q::NAME);
}

/// Hourly candles of a seeded random walk.
fn walk(length: usize) -> CandleVec {
    let mut random = Random(SEED);
    let mut step = || random.unit() - 0.5;
    let mut walk = CandleVec::default();
    let mut price = 100.0;
    for i in 0..length {
        let open = price;
        price *= 1.0 + step() * 0.02;
        walk.timestamp.push(i as i64 * HOUR_MS);
        walk.open.push(open);
        walk.high
            .push(f64::max(open, price) * (1.0 + step().abs() * 0.01));
        walk.low
            .push(f64::min(open, price) * (1.0 - step().abs() * 0.01));
        walk.close.push(price);
        walk.volume.push(1_000.0 * (1.0 + step()));
    }
    walk
}

fn candles(c: &mut Criterion) {
    let mut group = c.benchmark_group("trendline");
    for length in LENGTHS {
        let walk = walk(length);
        group
            .sample_size(if length > 100_000 { 10 } else { 50 })
            .throughput(Throughput::Elements(length as u64));
        group.bench_function(BenchmarkId::from_parameter(length), |b| {
            b.iter(|| trendlines(&walk.as_candles(), length, false));
        });
    }
    group.finish();
    let mut group = c.benchmark_group("patterns");
    for length in [1_000, 100_000, 1_000_000] {
        let walk = walk(length);
        group
            .sample_size(if length > 1_000 { 10 } else { 50 })
            .throughput(Throughput::Elements(length as u64));
        group.bench_function(BenchmarkId::from_parameter(length), |b| {
            b.iter(|| patterns(&walk.as_candles(), false));
        });
    }
    group.finish();
    let mut group = c.benchmark_group("resample");
    for length in [10_000, 1_000_000] {
        let walk = walk(length);
        group
            .sample_size(20)
            .throughput(Throughput::Elements(length as u64));
        group.bench_function(BenchmarkId::new("1h to 1d", length), |b| {
            b.iter(|| resample(&walk.as_candles(), Interval(HOUR_MS), Interval(DAY_MS)));
        });
    }
    group.finish();
}

/// Yield plans from prepared pools to whole units, and a full request among 20,000 pools.
fn yields(c: &mut Criterion) {
    let mut group = c.benchmark_group("yield");
    group.sample_size(30);
    for (pools, tokens, wallet) in [
        (200, 5, 1e6),
        (20_000, 1, 1e6),
        (20_000, 5, 1e6),
        (20_000, 50, 1e8),
    ] {
        let instance = generator::instance(7, pools, tokens, wallet);
        let prepared = instance.pools();
        group.bench_function(
            BenchmarkId::new("plan", format!("{pools} pools, {tokens} tokens, ${wallet}")),
            |b| {
                b.iter(|| {
                    plan(&prepared, &instance.holdings, instance.wish, &mut |_, _| {
                        true
                    })
                });
            },
        );
    }
    let instance = generator::instance(7, 20_000, 5, 1e6);
    let folder = tempfile::tempdir().expect("a folder for the data");
    instance.write(folder.path());
    let cold = service(loaded(folder.path()), 0);
    let tokens = instance
        .holdings
        .iter()
        .map(|holding| (holding.address, holding.amount))
        .collect();
    let question = YieldQuery {
        tokens,
        risk_level: RiskLevel::Medium,
        chains: Vec::new(),
        min_apy: 0.0,
        max_lock_days: None,
        exit_within_days: None,
        explain: true,
    };
    group.bench_function("request, 20,000 pools, 5 tokens", |b| {
        b.iter(|| asked(&cold, &question));
    });
    group.finish();
}

/// One frame of each view, fully drawn into memory once its answers are ready.
fn frames(c: &mut Criterion) {
    let service = service(loaded(datasets()), 128 << 20);
    let options = Options {
        depth: Depth::True,
        ..Options::default()
    };
    let mut group = c.benchmark_group("frame");
    group
        .sample_size(30)
        .measurement_time(Duration::from_secs(2));
    for view in VIEWS {
        for (columns, rows) in SIZES {
            let look = Appearance {
                theme: Theme::new(&Palette::dark(), options),
                ascii: false,
                bell: false,
                zone: tui::zone::DisplayZone::default(),
                options,
                fixed: true,
            };
            let setup = Setup::still(Arc::clone(&service), look);
            let (mut buffer, mut app): (Buffer, _) =
                picture(setup, view.id, (columns, rows), |_| {});
            let area = Rect::new(0, 0, columns, rows);
            group.bench_function(
                BenchmarkId::new(view.word, format!("{columns}x{rows}")),
                |b| {
                    b.iter(|| {
                        buffer.reset();
                        app.draw_into(&mut buffer, area);
                    });
                },
            );
        }
    }
    group.finish();
}

/// The picture of a chart: painting it, and its coding for each protocol. The bytes that are sent are printed beside.
fn pictures(c: &mut Criterion) {
    let uni = Address::parse("0x1f9840a85d5af5bf1d1762f925bdaddc4201f984").expect("an address");
    let cell = CellPixels::new(10, 20).expect("a cell");
    let mut group = c.benchmark_group("picture");
    group
        .sample_size(30)
        .measurement_time(Duration::from_secs(2));
    for (data, folder) in [("demo", "datasets"), ("recorded", "tests/real")] {
        let service = service(
            loaded(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)),
            128 << 20,
        );
        for (zoom, actions) in [
            ("near", &[Action::ZoomIn, Action::ZoomIn][..]),
            ("usual", &[]),
            ("far", &[Action::ZoomOut, Action::ZoomOut]),
        ] {
            let options = Options {
                depth: Depth::True,
                ..Options::default()
            };
            let look = Appearance {
                theme: Theme::new(&Palette::dark(), options),
                ascii: false,
                bell: false,
                zone: tui::zone::DisplayZone::default(),
                options,
                fixed: true,
            };
            let (mut buffer, mut app): (Buffer, _) = picture(
                Setup::still(Arc::clone(&service), look),
                ViewId::Chart,
                (220, 42),
                |app| {
                    app.allow_pictures(true);
                    app.select(uni);
                },
            );
            for action in actions {
                app.act(*action);
            }
            app.draw_into(&mut buffer, Rect::new(0, 0, 220, 42));
            let Some(scene): Option<PlotScene> = app.take_picture() else {
                continue;
            };
            let canvas = scene.paint(cell);
            let sent = png(&canvas, 6).len().div_ceil(3) * 4;
            let (width, height, colors) = (canvas.width(), canvas.height(), canvas.palette().len());
            println!(
                "{data} {zoom}: {width}x{height}, {colors} colours, kitty {sent} bytes, sixel {} bytes",
                sixel(&canvas).len()
            );
            let name = format!("{data}-{zoom}");
            group.bench_function(BenchmarkId::new("paint", &name), |b| {
                b.iter(|| black_box(&scene).paint(cell));
            });
            group.bench_function(BenchmarkId::new("png", &name), |b| {
                b.iter(|| png(black_box(&canvas), 6));
            });
            group.bench_function(BenchmarkId::new("sixel", &name), |b| {
                b.iter(|| sixel(black_box(&canvas)));
            });
        }
    }
    group.finish();
}

/// Cost of executing one contract, for planted contracts of different cost.
fn security(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("security");
    for contract in contracts().take(6) {
        let ContractCode { runtime, creation } = contract.code(&Identity::default());
        group.bench_function(BenchmarkId::new("inspect", contract.name), |bencher| {
            let input = CodeInput {
                runtime: &runtime,
                creation: Some(&creation),
                has_source: true,
                ..CodeInput::default()
            };
            bencher.iter(|| black_box(inspect(black_box(&input), &Budget::default(), &|| false)));
        });
    }
    group.finish();
}

/// Reads of a cached table: one token's rows, the first page of a sort order, the whole order. TOKENDECK_SCALE names a dataset with more
/// candles than the million generated here.
fn large(c: &mut Criterion) {
    let made = std::env::var_os("TOKENDECK_SCALE").map_or_else(
        || {
            Err(written(&DemoOptions {
                candles: Some(1_000_000),
                format: Format::Parquet,
                ..DemoOptions::default()
            }))
        },
        |folder| Ok(std::path::PathBuf::from(folder)),
    );
    let folder = made
        .as_ref()
        .map_or_else(tempfile::TempDir::path, |path| path.as_path());
    let cache = tempfile::tempdir().expect("a folder for the cache");
    let options = CacheOptions {
        folder: Some(cache.path().to_owned()),
        ..CacheOptions::default()
    };
    let dataset = load_with(folder, &options, &NoProgress).expect("the data load");
    let table = dataset
        .table("candles")
        .and_then(|table| table.large().cloned())
        .expect("a large table");
    let tokens: Vec<Address> = table.tokens().collect();
    let mut group = c.benchmark_group(format!("large/{}", table.height()));
    group.sample_size(10);
    let mut next = tokens.iter().cycle();
    group.bench_function("slice", |b| {
        b.iter(|| dataset.candles().of(next.next().expect("it never ends")));
    });
    group.bench_function("read", |b| {
        b.iter(|| {
            dataset
                .candles()
                .of(next.next().expect("it never ends"))
                .series()
                .iter()
                .map(|(_, candles)| candles.close.iter().sum::<f64>())
                .sum::<f64>()
        });
    });
    let all = RowSelection::Run(0..table.height());
    let go_on = |_, _| Ok::<_, std::io::Error>(());
    group.bench_function("first page by volume", |b| {
        b.iter(|| top_rows(&table, ("volume", true), &all, 1_000, go_on));
    });
    group.bench_function("order by volume", |b| {
        b.iter(|| sort_rows(&table, ("volume", true), &all, go_on));
    });
    let end = table.height();
    group.bench_function("last page", |b| b.iter(|| table.slice(end - 50..end, None)));
    group.finish();
}

criterion_group!(
    speed, loading, snapshots, answers, candles, yields, frames, pictures, security, large
);
criterion_main!(speed);
