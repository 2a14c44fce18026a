//! Aggregations over rows in memory: figures of a market, a chart and a token's holders equal those of all rows.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, NamedFrom as _, Series as Values};

mod balances;
mod chart;
mod near;

use super::{
    Aggregation, InPlaceCache,
    in_place::Prefetched,
    market::{NEVER, Row, coin, frame, short, versions},
};
use crate::{
    analysis::market::Market,
    dataset::{
        Dataset, Table, TableState,
        address::Address,
        candles::{CHANGES, HeldCandles, Interval, RECENT_DAYS, is_valid_candle},
        in_place::{Fetch, FetchError, FetchKey, Fetched, RowsVersion},
        load::table,
        progress::LoadProgress,
        sample,
        schema::{self, TableSchema},
        time::{DAY_MS, HOUR_MS},
    },
};

/// Time, open, high, low, close.
type Candle = (i64, [f64; 4]);
type Series = BTreeMap<(Address, i64), Vec<Candle>>;

/// In-memory equivalent of `Aggregation::sql`.
fn local(aggregation: &Aggregation, all: &Series) -> Vec<Row> {
    let span = RECENT_DAYS * DAY_MS;
    let mut rows = Vec::new();
    for ((token, interval), candles) in all {
        if let Aggregation::WholeMarket(tokens) = aggregation
            && !tokens.contains(token)
        {
            continue;
        }
        let (Some(oldest), Some(newest)) = (candles.iter().map(|row| row.0).min(), candles.iter().map(|row| row.0).max()) else { continue };
        let there: Vec<&Candle> =
            candles.iter().filter(|candle| !matches!(aggregation, Aggregation::Market) || candle.0 > newest - span).collect();
        let sounds: Vec<(i64, f64, f64)> = there
            .iter()
            .filter(|(_, [open, high, low, close])| is_valid_candle(*open, *high, *low, *close))
            .map(|(time, prices)| (*time, prices[3], 1.5))
            .collect();
        let first = there.iter().map(|candle| candle.0).min().unwrap_or(newest);
        rows.push(Row {
            token: *token,
            interval: Interval(*interval),
            first,
            newest,
            cut: oldest <= newest - span,
            candles: sounds,
            count: candles.len() as u64,
            checksum: candles.len() as u64,
            duplicates: 0,
            mixed_case: false,
        });
    }
    let ends: Vec<(Address, i64)> = rows
        .iter()
        .map(|row| {
            let series = rows.iter().filter(|other| other.token == row.token);
            let own = series.max_by_key(|other| (other.newest, -other.interval.0)).unwrap_or(row);
            (row.token, own.candles.last().map_or(i64::MIN / 2, |last| last.0 + own.interval.0))
        })
        .collect();
    for (row, (_, end)) in rows.iter_mut().zip(ends) {
        let (interval, newest, open_copy) = (row.interval.0, row.newest, row.candles.clone());
        let time = |place: Option<usize>, never: i64| place.and_then(|place| open_copy.get(place)).map_or(never, |candle| candle.0);
        let mut place = 0_usize;
        row.candles.retain(|(this, ..)| {
            let (before, after) = (time(place.checked_sub(1), -NEVER), time(Some(place + 1), NEVER));
            place += 1;
            let at_mark = CHANGES.iter().any(|span| {
                let mark = end - span;
                let [this, before, after] = [*this, before, after].map(|time| time + interval);
                (this < mark && after >= mark) || (this >= mark && before < mark)
            });
            *this >= newest + interval - DAY_MS || this.div_euclid(DAY_MS) != after.div_euclid(DAY_MS) || at_mark
        });
    }
    rows
}

#[derive(Debug)]
struct Nobody;

impl Fetch for Nobody {
    fn fetch(&self, _: &FetchKey, _: RowsVersion, _: &dyn LoadProgress) -> Result<Fetched, FetchError> {
        Err(FetchError::Unavailable("nobody is there".to_owned()))
    }
}

fn loaded(schema: &'static TableSchema) -> Table {
    Table { state: TableState::Loaded, ..Table::absent(schema) }
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Random candles of some tokens: with gaps, with days without sound candles, short and long, with or without daily candles beside finer
/// ones.
fn market(chance: &mut Chance) -> Series {
    let mut all = Series::new();
    for token in 0..=chance.below(3) {
        let token = Address([token as u8 + 1; 20]);
        for interval in [HOUR_MS, 4 * HOUR_MS, 5 * HOUR_MS, DAY_MS, 7 * DAY_MS] {
            if chance.below(2) == 0 {
                continue;
            }
            let days = [3_i64, 20, 45, 90][chance.below(4) as usize];
            let (end, gaps) = (20_000 * DAY_MS + chance.below(100) as i64 * HOUR_MS, 1 + chance.below(6));
            let spread = 1 + chance.below(8);
            let shift = if chance.below(3) == 0 { 5 * HOUR_MS } else { 0 };
            let mut candles = Vec::new();
            let mut time = end - days * DAY_MS + shift;
            while time <= end {
                if chance.below(10) >= gaps {
                    let close = 1.0 + chance.below(1_000) as f64 / 100.0;
                    candles.push((
                        time,
                        match chance.below(10 * spread) {
                            0 => [close, close / 2.0, close, close],
                            1 => [0.0, close, 0.0, 0.0],
                            2 => [close, close, -1.0, close],
                            _ => [close, close + 1.0, close / 2.0, close],
                        },
                    ));
                } else if chance.below(20) == 0 {
                    time += 9 * DAY_MS;
                }
                time += interval;
            }
            if !candles.is_empty() {
                all.insert((token, interval), candles);
            }
        }
    }
    all
}

fn figures(dataset: &Dataset) -> String {
    format!("{:?}", Market::new(dataset).tokens)
}

#[test]
fn sums_tell_of_a_market_what_its_candles_tell() {
    let (schema, tokens) = (schema::table("candles").expect("a table"), schema::table("tokens").expect("a table"));
    let mut chance = Chance(1);
    let (mut long, mut shorter) = (0, 0);
    for nth in 0..600 {
        let all = market(&mut chance);
        let text = |(token, interval): &(Address, i64), (time, [o, h, l, c]): &Candle| {
            format!("{token},{},{time},{o:?},{h:?},{l:?},{c:?},1.5", Interval(*interval))
        };
        let lines: Vec<String> = all.iter().flat_map(|(key, rows)| rows.iter().map(move |row| text(key, row))).collect();
        let names: std::collections::BTreeSet<Address> = all.keys().map(|(token, _)| *token).collect();
        let names: Vec<String> = names.iter().map(|token| format!("{token},X,X,eth")).collect();
        if lines.is_empty() {
            continue;
        }
        let tokens_of = format!("token_address,symbol,name,chain\n{}", names.join("\n"));
        let candles_of = format!("token_address,interval,timestamp,open,high,low,close,volume\n{}", lines.join("\n"));
        let open_copy = sample::dataset(&[("tokens", &tokens_of), ("candles", &candles_of)]);
        let mut sums = local(&Aggregation::Market, &all);
        let few = short(&sums);
        long += usize::from(!few.is_empty());
        shorter += usize::from(few.is_empty());
        sums.retain(|row| !few.contains(&row.token));
        sums.extend(local(&Aggregation::WholeMarket(few), &all));
        let Ok(recent) = frame(sums) else { panic!("no frame") };
        let versions = versions(&recent).expect("versions");
        let sum = |number: fn(&RowsVersion) -> u64| versions.values().map(number).sum::<u64>();
        assert_eq!([sum(|version| version.rows), sum(|version| version.checksum)], [lines.len() as u64; 2]);
        let known = Prefetched::Candles(Box::new(HeldCandles::new(&recent)), versions);
        let in_place = InPlaceCache::new(lines.len() as u64, "there".to_owned(), known, Box::new(Nobody));
        let Ok(empty) = table::empty(schema) else { panic!("no frame") };
        let candles = Table { in_place: Some(in_place.into()), frame: empty, ..loaded(schema) };
        let known = Table { frame: open_copy.table("tokens").expect("tokens").frame.clone(), ..loaded(tokens) };
        let there = Dataset::new(vec![known, candles]);
        assert_eq!(figures(&open_copy), figures(&there), "{nth}");
        assert_eq!(there.table("candles").map(Table::height), Some(lines.len()));
    }
    assert!(long > 50 && shorter > 50, "both ways are gone: {long} {shorter}");
}

#[test]
fn coins_without_a_contract_are_seen_among_the_tokens() {
    let uni = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
    for (tokens, expected) in
        [(vec![uni, "coin:BTC"], Some("coin:BTC")), (vec![" coin:btc"], Some(" coin:btc")), (vec![uni, "", "what"], None), (vec![], None)]
    {
        let frame = DataFrame::new(tokens.len(), vec![Values::new("token_address".into(), &tokens).into()]).expect("a frame");
        assert_eq!(coin(&frame).as_deref(), expected, "{tokens:?}");
    }
}
