//! A small invented market in memory, and a stage that shows a view of it, for the tests of the views.

use std::{collections::HashSet, sync::Arc};

use polars::prelude::{Column, DataFrame, NamedFrom, PlSmallStr, Series};
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use crate::{
    analysis::market::{Market, TokenSummary},
    dataset::{
        Dataset, Table, TableState,
        address::Address,
        schema::{self, Kind},
        time::{DAY_MS, Day, Time},
    },
    deck::{Deck, DeckOptions, load::LoadState},
    question::snapshot::Snapshot,
    tui::{
        keymap::Action,
        theme::{Options, Palette, Theme},
        view::{Context, Effect, NoApi, View, Wake, take_filter_off},
    },
};

/// 2026-08-14, the last day of the invented market.
const TODAY: i32 = 20_679;

pub(super) fn address(i: u8) -> Address {
    let mut bytes = [i.wrapping_mul(0x1d).wrapping_add(0x3c); 20];
    bytes[0] = i;
    Address(bytes)
}

/// A table of the dataset from rows of JSON objects.
pub(super) fn table(name: &str, rows: &[Value]) -> Table {
    let schema = schema::table(name).expect("a table of the schema");
    let columns = schema.columns.iter().map(|column| self::column(column.name, column.kind, rows)).collect();
    let frame = DataFrame::new(rows.len(), columns).expect("columns of one length");
    Table { frame, state: TableState::Loaded, ..Table::absent(schema) }
}

fn column(name: &str, kind: Kind, rows: &[Value]) -> Column {
    let title = PlSmallStr::from(name);
    let cells = || rows.iter().map(|row| &row[name]);
    let series = match kind {
        Kind::Integer | Kind::Time => Series::new(title, cells().map(Value::as_i64).collect::<Vec<_>>()),
        Kind::Date => Series::new(title, cells().map(|cell| cell.as_i64().map(|day| day as i32)).collect::<Vec<_>>()),
        Kind::Float => Series::new(title, cells().map(Value::as_f64).collect::<Vec<_>>()),
        Kind::Boolean => Series::new(title, cells().map(Value::as_bool).collect::<Vec<_>>()),
        Kind::Chains | Kind::Addresses => {
            let lists: Vec<Series> = cells()
                .map(|cell| {
                    let texts: Vec<&str> = cell.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                    Series::new(PlSmallStr::EMPTY, texts)
                })
                .collect();
            Series::new(title, lists)
        }
        _ => Series::new(title, cells().map(Value::as_str).collect::<Vec<_>>()),
    };
    series.into()
}

/// (symbol, name, chains, price, supply, drift of the price a day, holders)
type Invented = (&'static str, &'static str, &'static [&'static str], f64, f64, f64, i64);

const TOKENS: &[Invented] = &[
    ("WETH", "Wrapped Ether", &["eth", "arb1", "base", "oeth", "pol"], 2_987.41, 2_816_772.12, 0.004, 812_345),
    ("UNI", "Uniswap", &["eth"], 7.31, 600_000_000.0, 0.006, 381_220),
    ("LINK", "Chainlink", &["eth", "arb1", "base", "pol"], 14.02, 626_000_000.0, 0.003, 742_118),
    ("AAVE", "Aave", &["eth"], 178.55, 15_100_000.0, -0.002, 176_004),
    ("PEPX", "Pepe X (invented)", &["base"], 0.000_002_14, 421_690_000_000.0, -0.031, 2_114),
    ("漢字", "漢字代幣 with a rather long name", &["bnb"], 0.4213, 90_000_000.0, 0.012, 12_345),
    ("שקל", "שקל דיגיטלי", &["pol"], 0.2701, 44_000_000.0, 0.0, 9_120),
    ("🚀🌕", "To the 👩‍💻 moon", &["base", "eth"], 0.013, 1_000_000_000.0, 0.051, 61_002),
    ("DAI", "Dai Stablecoin", &["eth", "base"], 1.0, 3_200_000_000.0, 0.0, 540_000),
];

pub(super) fn market() -> Dataset {
    let mut tokens: Vec<Value> = TOKENS
        .iter()
        .enumerate()
        .map(|(i, &(symbol, name, chains, price, supply, ..))| {
            json!({
                "token_address": address(i as u8 + 1).to_string(), "symbol": symbol, "name": name, "chain": chains, "price": price,
                "total_supply": supply, "followers": 1_210_311 / (i as i64 + 1), "smart_followers": 3_412 / (i as i64 + 1),
                "smart_reach": 2_020_114 / (i as i64 + 1),
            })
        })
        .collect();
    // One of which next to nothing is known.
    tokens.push(json!({ "token_address": address(200).to_string(), "chain": ["eth"] }));
    let mut dataset = Dataset::new(vec![
        table("tokens", &tokens),
        table("candles", &candles()),
        table("holder_counts", &holder_counts()),
        table("posts", &posts()),
        table("kols", &kols()),
        table("holders", &holders()),
        table("dexes", &dexes()),
        table("fee_tiers", &fee_tiers()),
        table("pools", &pools()),
    ]);
    (dataset.title, dataset.synthetic) = (Some("invented market".to_owned()), true);
    dataset
}

/// A token of which nothing is known.
pub(super) fn token() -> TokenSummary {
    Market::new(&market()).tokens.remove(9)
}

/// A view on the invented market, as it stands once it has been drawn.
pub(super) fn shown<V: View + Default>() -> (Stage, V) {
    let (stage, mut view) = (Stage::new(Some(market())), V::default());
    stage.draw(&mut view, 140, 38);
    (stage, view)
}

/// Draws the view in odd sizes before anything is loaded, without a table, and on the invented market.
pub(super) fn draw_whatever_there_is<V: View + Default>(then: impl Fn(&Stage, &mut V)) {
    for dataset in [None, Some(Dataset::default()), Some(market())] {
        let (stage, mut view) = (Stage::new(dataset), V::default());
        stage.draw(&mut view, 80, 20);
        stage.draw_in_odd_sizes(&mut view);
        then(&stage, &mut view);
    }
}

fn candles() -> Vec<Value> {
    let mut rows = Vec::new();
    for (i, &(.., price, _, drift, _)) in TOKENS.iter().enumerate() {
        for day in 0..40 {
            // The last close is the price; what was before drifts and sways, the same in every run.
            let back = f64::from(39 - day);
            let sway = 1.0 + 0.03 * (f64::from(day) * 0.7 + i as f64).sin() * (back / 39.0);
            let close = price * (1.0 + drift).powf(-back) * sway;
            rows.push(json!({
                "token_address": address(i as u8 + 1).to_string(), "interval": "1d", "timestamp": i64::from(TODAY - 39 + day) * DAY_MS,
                "open": close * 0.99, "high": close * 1.02, "low": close * 0.98, "close": close, "volume": 1_000.0 + f64::from(day),
            }));
        }
    }
    rows
}

fn holder_counts() -> Vec<Value> {
    let mut rows = Vec::new();
    for (i, &(.., drift, holders)) in TOKENS.iter().enumerate() {
        for day in 0..35 {
            let back = f64::from(34 - day);
            let count = (holders as f64 * (1.0 + drift / 4.0).powf(-back)).round() as i64;
            rows.push(json!({
                "token_address": address(i as u8 + 1).to_string(), "date": TODAY - 34 + day, "holders": count,
                "whale_balance": 1_000_000.0 * (1.0 + drift).powf(-back),
            }));
        }
    }
    rows
}

const TITLES: &[Option<&str>] = &[
    Some("Staking queue halves overnight"),
    Some("Why I am still holding, a thread in eleven parts about fees, flows, and what the chart does not tell you"),
    Some("漢字漢字: 市場觀察"),
    None,
    Some("Line\nbreak, \u{202e}turned around\u{202c} and \u{1b}[31mred"),
    Some("שבוע טוב לשוק"),
    Some("🚀 new high 🚀"),
];

fn posts() -> Vec<Value> {
    let mut rows = Vec::new();
    for token in 1..=4_u8 {
        for i in 0..(if token == 1 { 130_i64 } else { 5 }) {
            let title = TITLES[(i as usize + usize::from(token)) % TITLES.len()];
            rows.push(json!({
                "post_id": format!("post-{token}-{i:03}"), "token_address": address(token).to_string(), "title": title,
                "link": format!("https://posts.example/{token}/{i}"), "published_at": i64::from(TODAY) * DAY_MS - i * 5 * 3_600_000,
                "impressions": (i % 3 != 2).then_some(41_200 * (i + 1) % 97_331), "engagement": 1_204 * (i + 2) % 8_011,
                "smart_engagement": 61 * (i + 3) % 977,
            }));
        }
    }
    rows
}

fn kols() -> Vec<Value> {
    let known =
        [("@onchain_ada", 812_000, 0.041), ("@blockmaru", 540_210, 0.037), ("@漢字_trader", 90_100, 0.11), ("@quietlpwhale", 12_034, 0.2)];
    let kol = |(i, (handle, followers, rate)): (usize, (&str, i64, f64))| {
        json!({
            "token_address": address(1).to_string(), "kol_address": address(100 + i as u8).to_string(), "handle": handle,
            "followers": followers, "engagement_rate": rate,
        })
    };
    known.into_iter().enumerate().map(kol).collect()
}

fn holders() -> Vec<Value> {
    let holder = |i: u8| {
        json!({
            "token_address": address(1).to_string(), "holder_address": address(100 + i).to_string(),
            "balance": 400_000.0 * 0.85_f64.powi(i32::from(i)),
        })
    };
    (0..60).map(holder).collect()
}

fn dexes() -> Vec<Value> {
    [
        ("uniswap-v3", "Uniswap", "eth", "v3", 1.507e9),
        ("uniswap-v3", "Uniswap", "base", "v3", 2.1e8),
        ("curve", "Curve", "eth", "v1", 9.9e8),
    ]
    .into_iter()
    .enumerate()
    .map(|(i, (dex, name, chain, version, locked))| {
        json!({
            "dex_id": dex, "name": name, "chain": chain, "version": version, "router": address(150 + i as u8).to_string(),
            "factory": address(160 + i as u8).to_string(), "total_value_locked": locked,
        })
    })
    .collect()
}

fn fee_tiers() -> Vec<Value> {
    [("uniswap-v3", "0.01%", 0.0001), ("uniswap-v3", "0.05%", 0.0005), ("uniswap-v3", "0.3%", 0.003), ("uniswap-v3", "1%", 0.01)]
        .into_iter()
        .map(|(dex, tier, fee)| json!({ "dex_id": dex, "chain": null, "tier": tier, "fee": fee }))
        .collect()
}

fn pools() -> Vec<Value> {
    type Pool = (&'static str, &'static str, u8, Option<f64>, Option<f64>);
    let pool = |(i, (dex, chain, other, liquidity, volume)): (usize, Pool)| {
        json!({
            "address": address(180 + i as u8).to_string(), "dex_id": dex, "chain": chain, "token0": address(1).to_string(),
            "token1": address(other).to_string(), "liquidity": liquidity, "volume24h": volume,
        })
    };
    [
        ("uniswap-v3", "eth", 9, Some(19_025_000.0), Some(1_332_060.0)),
        ("uniswap-v3", "eth", 2, Some(8_110_000.0), Some(402_100.0)),
        ("uniswap-v3", "eth", 6, Some(41_000.0), None),
        ("uniswap-v3", "base", 9, Some(4_002_000.0), Some(910_044.0)),
        ("curve", "eth", 9, Some(2_400_000.0), Some(88_010.0)),
    ]
    .into_iter()
    .enumerate()
    .map(pool)
    .collect()
}

/// A deck that stands on a dataset, and everything a view looks at beside it.
pub(super) struct Stage {
    deck: Arc<Deck>,
    snapshot: Option<Arc<Snapshot>>,
    load: LoadState,
    pub(super) token: Option<Address>,
    pub(super) watchlist: HashSet<Address>,
    pub(super) theme: Theme,
    pub(super) ascii: bool,
    wake: Wake,
}

impl Stage {
    pub(super) fn new(dataset: Option<Dataset>) -> Self {
        let deck = Deck::new(std::path::Path::new(""), DeckOptions { workers: 1, ..DeckOptions::default() }).expect("a deck");
        let snapshot = dataset.map(|dataset| deck.stand_on(dataset));
        Self {
            deck,
            snapshot,
            load: LoadState::default(),
            token: Some(address(1)),
            watchlist: HashSet::from([address(1), address(8)]),
            theme: Theme::default(),
            ascii: false,
            wake: Arc::new(|| {}),
        }
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            deck: &self.deck,
            jobs: None,
            api: &NoApi,
            snapshot: self.snapshot.as_ref(),
            load: &self.load,
            token: self.token,
            watchlist: &self.watchlist,
            theme: &self.theme,
            ascii: self.ascii,
            now: Time(Day(TODAY).start().0 + 9 * 3_600_000),
            wake: &self.wake,
        }
    }

    /// Carries out the action as the program would, as far as the stage has what it takes.
    pub(super) fn act(&mut self, view: &mut dyn View, action: Action) -> Effect {
        let mut effect = view.act(action, &self.context());
        if (action, &effect) == (Action::Back, &Effect::Pass) && take_filter_off(view, &self.context()) {
            effect = Effect::Redraw;
        }
        match effect {
            Effect::Select(token) | Effect::Open(token, _) => self.token = Some(token),
            Effect::Star(token) if !self.watchlist.remove(&token) => drop(self.watchlist.insert(token)),
            _ => {}
        }
        view.refresh(&self.context());
        effect
    }

    /// The body of the view once every answer is there.
    pub(super) fn draw(&self, view: &mut dyn View, width: u16, height: u16) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut last = Buffer::empty(area);
        // Answers come from another thread; a screen that stays the same for a while with none on its way is complete.
        let mut still = 0;
        for _ in 0..5_000 {
            view.refresh(&self.context());
            let mut buffer = Buffer::empty(area);
            view.draw(&mut buffer, area, &self.context());
            still = if buffer == last && self.deck.waiting() == 0 { still + 1 } else { 0 };
            last = buffer;
            if still > 8 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        last
    }

    pub(super) fn text(&self, view: &mut dyn View, width: u16, height: u16) -> String {
        crate::tui::picture::text(&self.draw(view, width, height))
    }

    /// The three sizes of every snapshot, each under a rule with its size.
    pub(super) fn screens(&self, view: &mut dyn View) -> String {
        let screen = |(width, height): (u16, u16)| format!("== {width}x{height}\n{}", self.text(view, width, height - 4));
        [(80, 24), (140, 42), (220, 60)].map(screen).concat()
    }

    /// The text is the same in every theme, and each theme has its own styles in it.
    pub(super) fn assert_themes_share_the_text(&mut self, view: &mut dyn View) {
        let mut seen: Vec<Buffer> = Vec::new();
        for palette in [Palette::dark(), Palette::light(), Palette::high_contrast()] {
            self.theme = Theme::new(&palette, Options::default());
            let buffer = self.draw(view, 140, 38);
            for earlier in &seen {
                assert_eq!(crate::tui::picture::text(earlier), crate::tui::picture::text(&buffer));
                assert_ne!(earlier, &buffer);
            }
            seen.push(buffer);
        }
    }

    /// Draws in every small and odd size; what matters is that nothing panics.
    pub(super) fn draw_in_odd_sizes(&self, view: &mut dyn View) {
        for width in [0, 1, 2, 5, 12, 19, 40, 59, 60, 76, 109, 110, 111] {
            for height in [0, 1, 2, 3, 10, 16, 35, 36] {
                let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
                view.draw(&mut buffer, Rect::new(0, 0, width, height), &self.context());
                // An area beyond the screen, as between a resize and the next frame.
                view.draw(&mut buffer, Rect::new(3, 2, width + 9, height + 9), &self.context());
            }
        }
    }
}
