//! A small invented dataset, an API that answers from a list, and a screen to draw views on: what the tests of the panes look at.

use std::{collections::HashSet, path::Path, sync::Arc};

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom, Series, TimeUnit, TimeZone};
use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    dataset::{
        Dataset, Source, Table, TableState,
        address::Address,
        findings::{Finding, Findings, Severity},
        schema,
        time::Time,
    },
    deck::{Deck, DeckOptions, load::LoadState},
    jobs::Jobs,
    question::snapshot::Snapshot,
    tui::{
        picture,
        theme::{Role, Theme},
        view::{ApiDesk, ApiState, Context, NoApi, RequestLine, View, Wake},
    },
};

/// 2026-08-14T09:30:00Z, the hour of every picture.
pub(super) const NOW: Time = Time(1_786_699_800_000);
pub(super) const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
pub(super) const LINK: &str = "0x514910771af9ca656af840dff83e8264ecf986ca";

/// Everything a `Context` borrows.
pub(super) struct Stage {
    pub(super) deck: Arc<Deck>,
    pub(super) snapshot: Option<Arc<Snapshot>>,
    pub(super) load: LoadState,
    pub(super) api: Box<dyn ApiDesk>,
    pub(super) wake: Wake,
    pub(super) jobs: Option<Arc<Jobs>>,
    woken: std::sync::mpsc::Receiver<()>,
    watchlist: HashSet<Address>,
    theme: Theme,
}

impl Stage {
    pub(super) fn empty() -> Self {
        let (sender, woken) = std::sync::mpsc::channel();
        let wake: Wake = Arc::new(move || sender.send(()).unwrap_or_default());
        let options = DeckOptions { workers: 1, ..DeckOptions::default() };
        Self {
            deck: Deck::new(Path::new("/data/market"), options).expect("a deck"),
            snapshot: None,
            load: LoadState::default(),
            api: Box::new(NoApi),
            wake,
            jobs: None,
            woken,
            watchlist: HashSet::new(),
            theme: Theme::default(),
        }
    }

    pub(super) fn loaded() -> Self {
        let mut stage = Self::empty();
        stage.snapshot = Some(stage.deck.stand_on(dataset()));
        stage
    }

    pub(super) fn look<T>(&self, work: impl FnOnce(&Context<'_>) -> T) -> T {
        work(&Context {
            deck: &self.deck,
            jobs: self.jobs.as_ref(),
            api: self.api.as_ref(),
            snapshot: self.snapshot.as_ref(),
            load: &self.load,
            token: Address::parse(UNI),
            watchlist: &self.watchlist,
            theme: &self.theme,
            ascii: false,
            now: NOW,
            wake: &self.wake,
        })
    }

    /// Waits until something has woken the program.
    pub(super) fn wait(&self) {
        self.woken.recv_timeout(std::time::Duration::from_secs(20)).expect("news in time");
    }

    pub(super) fn draw(&self, view: &mut dyn View, width: u16, height: u16) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        buffer.set_style(area, self.theme.text().patch(self.theme.style(Role::Background)));
        self.look(|context| view.draw(&mut buffer, area, context));
        buffer
    }

    /// The screen as text, held against the snapshot of that name; with `TOKENDECK_SHOTS` it is also left there in colour.
    pub(super) fn hold(&self, name: &str, view: &mut dyn View, sizes: &[(u16, u16)]) {
        for &(width, height) in sizes {
            let buffer = self.draw(view, width, height);
            if let Some(folder) = std::env::var_os("TOKENDECK_SHOTS") {
                std::fs::write(Path::new(&folder).join(format!("{name}-{width}x{height}.ansi")), picture::ansi(&buffer))
                    .expect("a folder that can be written");
            }
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), picture::text(&buffer));
        }
    }

    /// Any size is drawn without a panic.
    pub(super) fn squeeze(&self, view: &mut dyn View) {
        for width in (0..40).chain([60, 79, 100, 131, 160, 300]) {
            for height in (0..14).chain([24, 60]) {
                self.draw(view, width, height);
            }
        }
    }
}

pub(super) const SIZES: &[(u16, u16)] = &[(80, 20), (140, 38), (220, 56)];

/// An API with a list of requests.
pub(super) struct FakeApi {
    pub(super) state: ApiState,
    pub(super) requests: Vec<RequestLine>,
}

impl ApiDesk for FakeApi {
    fn state(&self) -> ApiState {
        self.state.clone()
    }

    fn key(&self) -> Option<String> {
        Some("td_5f0c1a9e77b2".to_owned())
    }

    fn requests(&self, limit: usize) -> Vec<RequestLine> {
        self.requests.iter().take(limit).cloned().collect()
    }

    fn histogram(&self) -> Vec<(u64, u64)> {
        if self.requests.is_empty() {
            return Vec::new();
        }
        let counts = [0, 3, 41, 180, 402, 251, 96, 44, 12, 7, 0, 1, 0, 0];
        counts.into_iter().enumerate().map(|(i, count)| (25_u64 << i, count)).chain([(u64::MAX, 0)]).collect()
    }

    fn start(&self) -> Result<(), String> {
        Err("port 8787 is in use; name another in the configuration".to_owned())
    }

    fn stop(&self) {}
}

fn text(name: &str, cells: Vec<Option<String>>) -> Column {
    Series::new(name.into(), cells).into_column()
}

fn some<T: ToString>(cells: impl IntoIterator<Item = T>) -> Vec<Option<String>> {
    cells.into_iter().map(|cell| Some(cell.to_string())).collect()
}

fn tokens() -> DataFrame {
    type Row = (&'static str, &'static str, &'static str, &'static [&'static str], Option<f64>, Option<i64>);
    let rows: [Row; 5] = [
        (LINK, "LINK", "Chainlink", &["eth", "base"], Some(14.02), Some(742_113)),
        (UNI, "UNI", "Uniswap", &["eth"], Some(7.309_412), Some(381_440)),
        (
            "0x5e1100000000000000000000000000000000077a",
            "PEPX",
            "Pepe X 👩\u{200d}💻 (invented)",
            &["base"],
            Some(0.000_002_14),
            Some(2_114),
        ),
        ("0x7c1100000000000000000000000000000000a901", "漢字幣", "全角の名前トークン", &["bsc"], None, None),
        ("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "USDC", "USD Coin", &["eth", "base", "polygon"], Some(0.9998), Some(2_400_113)),
    ];
    let chains: Vec<Series> = rows.iter().map(|row| Series::new("".into(), row.3)).collect();
    let columns = vec![
        text("token_address", some(rows.iter().map(|row| row.0))),
        text("symbol", some(rows.iter().map(|row| row.1))),
        text("name", some(rows.iter().map(|row| row.2))),
        Series::new("chain".into(), chains).into_column(),
        Series::new("decimals".into(), [18_i64, 18, 18, 8, 6]).into_column(),
        Series::new("price".into(), rows.iter().map(|row| row.4).collect::<Vec<_>>()).into_column(),
        Series::new("market_cap".into(), rows.iter().map(|row| row.4.map(|price| price * 6.01e8)).collect::<Vec<_>>()).into_column(),
        Series::new("holders".into(), rows.iter().map(|row| row.5).collect::<Vec<_>>()).into_column(),
        Series::new("listed".into(), [Some(true), Some(true), Some(false), None, Some(true)]).into_column(),
    ];
    DataFrame::new(rows.len(), columns).expect("columns of one length")
}

fn candles(count: usize) -> DataFrame {
    let address = |i: usize| if i < count / 2 { UNI } else { LINK };
    let price = |i: usize| 7.0 + (i as f64 / 9.0).sin() + i as f64 * 0.002;
    let times: Vec<i64> = (0..count).map(|i| 1_750_000_000_000 + (i % (count / 2)) as i64 * 3_600_000).collect();
    let times =
        Series::new("timestamp".into(), times).cast(&DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC))).expect("times");
    let floats = |name: &str, shift: f64| {
        let cells: Vec<f64> = (0..count).map(|i| ((price(i) + shift) * 1e6).round() / 1e6).collect();
        Series::new(name.into(), cells).into_column()
    };
    let columns = vec![
        text("token_address", some((0..count).map(address))),
        times.into_column(),
        floats("open", 0.0),
        floats("high", 0.31),
        floats("low", -0.28),
        floats("close", 0.05),
        floats("volume", 120_400.0),
        text("interval", some((0..count).map(|_| "1h"))),
    ];
    DataFrame::new(count, columns).expect("columns of one length")
}

fn table(name: &str, frame: DataFrame, files: &[(&str, u64)], load_ms: u64) -> Table {
    let rows = frame.height() as u64;
    let source = |(i, (file, bytes)): (usize, &(&str, u64))| Source {
        file: (*file).to_owned(),
        bytes: *bytes,
        modified: Some(Time(NOW.0 - 86_400_000 * (i as i64 + 1))),
        rows: rows / files.len() as u64,
    };
    let sources = files.iter().enumerate().map(source).collect();
    Table { frame, state: TableState::Loaded, sources, load_ms, ..Table::absent(schema::table(name).expect("a table of the schema")) }
}

fn candle_findings() -> Findings {
    let mut findings = Findings::default();
    let mut add = |severity, row: Option<u64>, column: &str, value: &str, reason: &str| {
        findings.add(Finding {
            severity,
            file: "candles_hourly.parquet".to_owned(),
            row,
            column: (!column.is_empty()).then(|| column.to_owned()),
            value: (!value.is_empty()).then(|| value.to_owned()),
            reason: reason.to_owned(),
        });
    };
    for row in 0..140 {
        add(Severity::Warning, Some(row * 17 + 3), "volume", "-1", "expected a number from 0: the cell is left empty");
    }
    for row in [12, 871, 9_004] {
        add(Severity::Error, Some(row), "open", "n/a€", "expected a number, as in `7.31`: the row is set aside");
    }
    add(Severity::Error, Some(44), "timestamp", "31/31/2026", "expected a time, ISO 8601 or epoch: the row is set aside");
    add(Severity::Note, None, "vwap", "", "the column is not one of ours: it is ignored");
    findings
}

pub(super) fn dataset() -> Dataset {
    let candles = Table {
        findings: candle_findings(),
        rows_bad: 4,
        ..table("candles", candles(4_000), &[("candles_hourly.parquet", 12_400_113), ("candles_daily.parquet", 804_113)], 212)
    };
    let reason = "`holders.csv` has no column `balance`: expected token_address, holder_address, balance; rename it in dataset.toml";
    let holders = Table {
        state: TableState::Unusable(reason.to_owned()),
        sources: vec![Source { file: "holders.csv".to_owned(), bytes: 40_113, modified: Some(Time(NOW.0 - 7_200_000)), rows: 812 }],
        ..Table::absent(schema::table("holders").expect("a table of the schema"))
    };
    let mut dataset = Dataset::new(vec![table("tokens", tokens(), &[("tokens.csv", 2_113)], 3), candles, holders]);
    dataset.title = Some("Demo market".to_owned());
    dataset.license = Some("MIT".to_owned());
    dataset.synthetic = true;
    dataset.folder = "/data/market".into();
    dataset
}
