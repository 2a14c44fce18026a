//! The demo data: byte-identical for a seed, free of findings, and never written over a user's own data.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File},
    path::{Path, PathBuf},
};

use demo::{DemoError, DemoOptions, Format, write};
use load::loader::load;
use model::{address::Address, candles::Interval, chain::Chain, progress::NoProgress};
use polars::prelude::{DataFrame, ParquetReader, SerReader};
use serde_json::Value;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");

fn small() -> DemoOptions {
    DemoOptions {
        tokens: 14,
        days: 60,
        ..DemoOptions::default()
    }
}

/// A small market and its folder, shared by tests that only read it.
pub(crate) fn market() -> (tempfile::TempDir, PathBuf) {
    let folder = written(&DemoOptions {
        tokens: 14,
        days: 200,
        ..DemoOptions::default()
    });
    let path = folder.path().to_owned();
    (folder, path)
}

fn written(options: &DemoOptions) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), options, &mut |_, _, _| true).expect("written");
    folder
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            (
                entry.file_name().into_string().expect("text"),
                fs::read(entry.path()).expect("readable"),
            )
        })
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    files(folder).into_keys().collect()
}

fn parquet(path: &Path) -> DataFrame {
    ParquetReader::new(File::open(path).expect("there"))
        .finish()
        .expect("Parquet")
}

fn floats(frame: &DataFrame, name: &str) -> Vec<f64> {
    frame
        .column(name)
        .expect(name)
        .f64()
        .expect("floats")
        .iter()
        .map(|x| x.expect("a value"))
        .collect()
}

fn texts(frame: &DataFrame, name: &str) -> Vec<String> {
    frame
        .column(name)
        .expect(name)
        .str()
        .expect("texts")
        .iter()
        .map(|x| x.expect("a value").to_owned())
        .collect()
}

fn csv_rows(path: &Path) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("there");
    let rows: Vec<_> = reader
        .deserialize()
        .map(|row| row.expect("a row"))
        .collect();
    assert!(!rows.is_empty(), "{} is empty", path.display());
    rows
}

fn json_rows(path: &Path) -> Vec<Value> {
    fs::read_to_string(path)
        .expect("there")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn one_seed_writes_one_market_and_another_seed_another() {
    let (first, again) = (written(&small()), written(&small()));
    let other = written(&DemoOptions { seed: 7, ..small() });
    assert_eq!(files(first.path()), files(again.path()));
    let (first, other) = (files(first.path()), files(other.path()));
    for name in [
        "candles.parquet",
        "posts.ndjson",
        "holders.parquet",
        "holder_counts.parquet",
        "pools.csv",
        "yields.ndjson",
        "kols.csv",
        "transfers.parquet",
    ] {
        assert_ne!(first[name], other[name], "{name}");
    }
    assert_eq!(
        first["fee_tiers.csv"], other["fee_tiers.csv"],
        "facts do not depend on the seed"
    );
}

#[test]
fn the_committed_demo_data_are_what_is_written_today() {
    let today = files(written(&DemoOptions::default()).path());
    let committed = files(Path::new(COMMITTED));
    assert_eq!(
        committed.keys().collect::<Vec<_>>(),
        today.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &today {
        assert!(
            committed[name] == *bytes,
            "datasets/{name} differs: write it anew with `tokendeck demo datasets`"
        );
    }
}

#[test]
fn the_committed_demo_data_are_as_large_as_promised() {
    let folder = Path::new(COMMITTED);
    let bytes: usize = files(folder).values().map(Vec::len).sum();
    assert!(bytes <= 8_000_000, "{bytes}");
    let tokens = csv_rows(&folder.join("tokens.csv"));
    assert!(tokens.len() >= 60, "{}", tokens.len());
    let chains: HashSet<&str> = tokens
        .iter()
        .flat_map(|token| token["chain"].split(';'))
        .collect();
    assert!(chains.len() >= 5, "{chains:?}");
    assert!(json_rows(&folder.join("posts.ndjson")).len() >= 3_000);
    let candles = parquet(&folder.join("candles.parquet"));
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    for key in texts(&candles, "token_address")
        .into_iter()
        .zip(texts(&candles, "interval"))
    {
        *counts.entry(key).or_default() += 1;
    }
    assert_eq!(
        counts
            .iter()
            .filter(|((_, interval), count)| interval == "1h" && **count == 9_600)
            .count(),
        10
    );
    assert_eq!(
        counts
            .iter()
            .filter(|((_, interval), count)| interval == "1d" && **count == 400)
            .count(),
        tokens.len() - 10
    );
    let description: toml::Table = fs::read_to_string(folder.join("dataset.toml"))
        .expect("there")
        .parse()
        .expect("TOML");
    assert_eq!(description["synthetic"].as_bool(), Some(true));
}

/// No column is missing or unknown, no key repeated, no required cell empty, no value malformed.
#[test]
fn the_loader_finds_no_fault_in_any_format() {
    for format in [Format::Mixed, Format::Csv, Format::Parquet] {
        let folder = written(&DemoOptions { format, ..small() });
        let dataset = load(folder.path(), &NoProgress).expect("a dataset");
        let loaded = dataset.tables.iter().filter(|table| table.loaded()).count();
        assert_eq!(
            loaded,
            names(folder.path()).len() - 2,
            "{format:?}: all files but README.md and dataset.toml are tables"
        );
        for table in &dataset.tables {
            // Amounts with trailing zeros look like rounded floating-point numbers.
            let faults: Vec<_> = table
                .findings
                .counts()
                .iter()
                .filter(|finding| !finding.reason.contains("is approximate"))
                .collect();
            assert!(faults.is_empty(), "{}: {faults:?}", table.schema.name);
        }
    }
}

#[test]
fn social_figures_of_a_token_are_the_sums_of_its_posts() {
    let folder = written(&small());
    let posts = json_rows(&folder.path().join("posts.ndjson"));
    let mut told = 0;
    for token in csv_rows(&folder.path().join("tokens.csv")) {
        for (column, of_post) in [
            ("impressions", "impressions"),
            ("post_engagement", "engagement"),
            ("smart_engagement", "smart_engagement"),
        ] {
            let of_token = posts
                .iter()
                .filter(|post| post["token_address"] == token["token_address"]);
            let sum: i64 = of_token.filter_map(|post| post[of_post].as_i64()).sum();
            if let Ok(figure) = token[column].parse::<i64>() {
                assert_eq!(figure, sum, "{column} of {}", token["symbol"]);
                told += 1;
            }
        }
    }
    assert!(told > 0);
}

#[test]
fn every_candle_keeps_low_open_close_high_in_order() {
    for options in [
        DemoOptions::default(),
        DemoOptions {
            tokens: 3,
            days: 3,
            ..DemoOptions::default()
        },
        DemoOptions {
            tokens: 90,
            candles: Some(20_001),
            ..DemoOptions::default()
        },
        DemoOptions {
            tokens: 2,
            days: 4_000,
            interval: Interval::parse("1w"),
            ..DemoOptions::default()
        },
        DemoOptions {
            tokens: 2,
            days: 2,
            interval: Interval::parse("1m"),
            ..DemoOptions::default()
        },
    ] {
        let folder = written(&options);
        let frame = parquet(&folder.path().join("candles.parquet"));
        assert!(
            frame.height() > 0
                && options
                    .candles
                    .is_none_or(|rows| frame.height() as u64 == rows),
            "{options:?}: {}",
            frame.height()
        );
        let prices = ["open", "high", "low", "close", "volume"].map(|name| floats(&frame, name));
        for i in 0..frame.height() {
            let [open, high, low, close, volume] = [0, 1, 2, 3, 4].map(|column| prices[column][i]);
            assert!(
                prices.iter().all(|column| column[i].is_finite()) && low > 0.0 && volume >= 0.0,
                "{options:?} {i}"
            );
            assert!(
                high >= open.max(close) && low <= open.min(close),
                "{options:?} {i}: {open} {high} {low} {close}"
            );
        }
    }
}

#[test]
fn candles_end_together_and_the_last_close_is_the_price_of_the_token() {
    let folder = written(&small());
    let frame = parquet(&folder.path().join("candles.parquet"));
    let last: HashMap<String, f64> = texts(&frame, "token_address")
        .into_iter()
        .zip(floats(&frame, "close"))
        .collect();
    for token in csv_rows(&folder.path().join("tokens.csv")) {
        let price: f64 = token["price"].parse().expect("a number");
        assert!(
            (last[&token["token_address"]] / price - 1.0).abs() < 1e-5,
            "{token:?}"
        );
    }
}

#[test]
fn holders_hold_no_more_than_there_is() {
    let folder = Path::new(COMMITTED);
    let holders = parquet(&folder.join("holders.parquet"));
    let mut held: HashMap<String, f64> = HashMap::new();
    for (token, balance) in texts(&holders, "token_address")
        .into_iter()
        .zip(floats(&holders, "balance"))
    {
        *held.entry(token).or_default() += balance;
    }
    for token in csv_rows(&folder.join("tokens.csv")) {
        let supply: f64 = token["total_supply"].parse().expect("a number");
        let share = held[&token["token_address"]] / supply;
        assert!((0.2..=1.0).contains(&share), "{}: {share}", token["symbol"]);
    }
}

/// A quote coin of six decimals has no reserve as of eighteen.
#[test]
fn a_pool_opens_with_half_its_liquidity_in_the_other_token() {
    let folder = Path::new(COMMITTED);
    let tokens: HashMap<String, HashMap<String, String>> = csv_rows(&folder.join("tokens.csv"))
        .into_iter()
        .map(|row| (row["token_address"].clone(), row))
        .collect();
    let events = csv_rows(&folder.join("pool_events.csv"));
    let (number, mut few_decimals) = (|text: &str| -> f64 { text.parse().expect("a number") }, 0);
    for pool in csv_rows(&folder.join("pools.csv")) {
        let Some(mint) = events.iter().find(|event| event["pool"] == pool["address"]) else {
            continue;
        };
        let half = number(&pool["liquidity"]) / 2.0;
        let fits = [("token0", "reserve0"), ("token1", "reserve1")].map(|(token, reserve)| {
            let token = &tokens[&pool[token]];
            let usd = number(&mint[reserve]) / 10_f64.powf(number(&token["decimals"]))
                * number(&token["price"]);
            let fits = (usd / half - 1.0).abs() < 1e-3;
            few_decimals += u8::from(fits && token["decimals"] == "6");
            fits
        });
        assert!(fits.contains(&true), "{pool:?} {mint:?}");
    }
    assert!(few_decimals > 0);
}

#[test]
fn the_last_holder_count_is_that_of_the_token() {
    let folder = Path::new(COMMITTED);
    let counts = parquet(&folder.join("holder_counts.parquet"));
    let holders = counts
        .column("holders")
        .expect("there")
        .i64()
        .expect("whole")
        .iter()
        .flatten();
    let last: HashMap<String, i64> = texts(&counts, "token_address")
        .into_iter()
        .zip(holders)
        .collect();
    for token in csv_rows(&folder.join("tokens.csv")) {
        assert_eq!(
            last[&token["token_address"]].to_string(),
            token["holders"],
            "{}",
            token["symbol"]
        );
    }
}

#[test]
fn most_tokens_have_large_medium_and_small_smart_followers() {
    let folder = Path::new(COMMITTED);
    let holders = parquet(&folder.join("holders.parquet"));
    let keys = texts(&holders, "token_address")
        .into_iter()
        .zip(texts(&holders, "holder_address"));
    let held: HashMap<(String, String), f64> = keys.zip(floats(&holders, "balance")).collect();
    let prices: HashMap<String, f64> = csv_rows(&folder.join("tokens.csv"))
        .into_iter()
        .map(|row| {
            (
                row["token_address"].clone(),
                row["price"].parse().expect("a number"),
            )
        })
        .collect();
    let mut kinds: HashMap<String, HashSet<u8>> = HashMap::new();
    for kol in csv_rows(&folder.join("kols.csv")) {
        let (token, leader) = (kol["token_address"].clone(), kol["kol_address"].clone());
        if let Some(balance) = held.get(&(token.clone(), leader)) {
            let usd = balance * prices[&token];
            let kind = u8::from(usd >= 10_000.0) + u8::from(usd >= 100_000.0);
            kinds.entry(token).or_default().insert(kind);
        }
    }
    let all = kinds.values().filter(|kinds| kinds.len() == 3).count();
    assert!(
        all >= 50,
        "{all} of {} tokens have leaders of all three sizes",
        prices.len()
    );
}

#[test]
fn nobody_sends_what_they_do_not_have() {
    let transfers = parquet(&Path::new(COMMITTED).join("transfers.parquet"));
    let columns = ["token_address", "from_address", "to_address", "value"]
        .map(|name| texts(&transfers, name));
    let status = transfers
        .column("status")
        .expect("there")
        .i64()
        .expect("whole")
        .iter();
    let null = Address::ZERO.to_string();
    let mut balances: HashMap<(String, String), u128> = HashMap::new();
    for (i, _) in status.enumerate().filter(|(_, status)| *status == Some(1)) {
        let [token, from, to, value] = [0, 1, 2, 3].map(|column| columns[column][i].clone());
        let value: u128 = value.parse().expect("a whole number");
        if from != null {
            let balance = balances.get_mut(&(token.clone(), from)).expect("had some");
            *balance = balance.checked_sub(value).expect("had enough");
        }
        *balances.entry((token, to)).or_default() += value;
    }
}

#[test]
fn addresses_are_lower_case_and_chains_known() {
    for token in csv_rows(&Path::new(COMMITTED).join("tokens.csv")) {
        let address = Address::parse(&token["token_address"]).expect("an address");
        assert_eq!(address.to_string(), token["token_address"]);
        assert!(
            token["chain"]
                .split(';')
                .all(|chain| Chain::known(chain).is_some_and(|known| known.as_str() == chain)),
            "{token:?}"
        );
    }
}

#[test]
fn only_new_empty_and_demo_folders_are_written_to() {
    let demo = "title = \"Demo market\"\nsynthetic = true\n";
    for (name, text, allowed) in [
        (None, "", true),
        (Some(".dataset.toml.part"), "title", true),
        (Some("dataset.toml"), demo, true),
        (
            Some("dataset.toml"),
            "title = \"My own simulation\"\nsynthetic = true\n",
            false,
        ),
        (Some("dataset.toml"), "title = \"Demo market\"\n", false),
        (Some("dataset.toml"), "synthetic = true = 3", false),
        (Some("tokens.csv"), "token_address\n", false),
        (Some("notes.txt"), "mine", false),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(name) = name {
            fs::write(folder.path().join(name), text).expect("written");
        }
        let before = files(folder.path());
        let answer = write(folder.path(), &small(), &mut |_, _, _| true);
        assert_eq!(answer.is_ok(), allowed, "{name:?} {text}: {answer:?}");
        if !allowed {
            assert_eq!(files(folder.path()), before, "nothing was touched");
            assert!(
                answer
                    .expect_err("refused")
                    .to_string()
                    .contains("pass an empty folder")
            );
        }
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    assert!(
        write(file.path(), &small(), &mut |_, _, _| true)
            .expect_err("refused")
            .to_string()
            .contains("is a file")
    );
}

#[test]
fn a_cancelled_write_leaves_whole_files_and_can_be_repeated() {
    let whole = files(written(&small()).path());
    for stop in ["tokens", "posts", "candles", "transfers", "gas"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut reports = 0;
        let answer = write(folder.path(), &small(), &mut |table, done, _| {
            reports += usize::from(table == stop);
            !(table == stop && (done > 0 || reports > 1))
        });
        assert!(answer == Err(DemoError::Canceled), "{stop}");
        for (name, bytes) in files(folder.path()) {
            assert_eq!(whole.get(&name), Some(&bytes), "{stop}: {name}");
        }
        assert!(
            !names(folder.path())
                .iter()
                .any(|name| name.starts_with(&format!("{stop}."))),
            "{stop}"
        );
        write(folder.path(), &small(), &mut |_, _, _| true).expect("taken up again");
        assert_eq!(files(folder.path()), whole);
    }
}

#[test]
fn another_format_takes_the_place_of_the_one_before() {
    let folder = written(&small());
    let options = DemoOptions {
        format: Format::Csv,
        ..small()
    };
    write(folder.path(), &options, &mut |_, _, _| true).expect("written");
    assert_eq!(names(folder.path()), names(written(&options).path()));
    assert!(names(folder.path()).contains(&"candles.csv".to_owned()));
}

#[test]
fn csv_and_parquet_hold_the_same_candles() {
    let (csv, parquet_folder) = (
        written(&DemoOptions {
            format: Format::Csv,
            ..small()
        }),
        written(&DemoOptions {
            format: Format::Parquet,
            ..small()
        }),
    );
    let rows = csv_rows(&csv.path().join("candles.csv"));
    let frame = parquet(&parquet_folder.path().join("candles.parquet"));
    assert_eq!(rows.len(), frame.height());
    for name in ["open", "high", "low", "close", "volume"] {
        let from_text: Vec<f64> = rows
            .iter()
            .map(|row| row[name].parse().expect("a number"))
            .collect();
        assert_eq!(from_text, floats(&frame, name), "{name}");
    }
    assert_eq!(rows[0]["timestamp"], "2026-09-16T00:00:00Z");
    assert_eq!(
        rows.last().expect("rows")["timestamp"],
        "2026-11-14T00:00:00Z"
    );
}

#[test]
fn options_out_of_range_are_named() {
    for (options, part) in [
        (
            DemoOptions {
                tokens: 0,
                ..small()
            },
            "tokens `0`",
        ),
        (DemoOptions { days: 0, ..small() }, "days `0`"),
        (
            DemoOptions {
                days: 20_001,
                ..small()
            },
            "days `20001`",
        ),
        (
            DemoOptions {
                candles: Some(2_000_000_000),
                ..small()
            },
            "candles `2000000000`",
        ),
        (
            DemoOptions {
                interval: Some(Interval(1_000)),
                ..small()
            },
            "interval `1s`",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let error = write(folder.path(), &options, &mut |_, _, _| true).expect_err("refused");
        assert!(error.to_string().contains(part), "{error}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn a_larger_market_starts_with_the_tokens_of_a_smaller_one() {
    let addresses = |tokens| -> Vec<String> {
        let folder = written(&DemoOptions {
            tokens,
            days: 5,
            ..DemoOptions::default()
        });
        csv_rows(&folder.path().join("tokens.csv"))
            .into_iter()
            .map(|row| row["token_address"].clone())
            .collect()
    };
    let many = addresses(1_500);
    assert_eq!(many.iter().collect::<HashSet<_>>().len(), 1_500);
    for tokens in [1, 11, 100] {
        assert_eq!(addresses(tokens)[..], many[..tokens as usize]);
    }
}
