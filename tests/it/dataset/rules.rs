//! Impossible values: each is a finding with file, row and value, for in-memory and for cached tables.

use std::fmt::Write as _;

use frames::cache::CacheOptions;
use load::{Dataset, loader::load_with};
use model::{address::Address, progress::NoProgress};

use super::{TOKENS, UNI, findings, folder, load_files, load_texts, table};

/// Sixty hourly candles; three of them broken, each differently.
fn candles() -> String {
    let mut text = "token_address,timestamp,open,high,low,close,volume,interval\n".to_owned();
    for hour in 0..60_i64 {
        let time = 1_700_000_400 / 3_600 * 3_600 + hour * 3_600;
        let prices = match hour {
            10 => "2,1,3,2",
            20 => "0,3,0,2",
            30 => "2,3,1,4",
            _ => "2,3,1,2",
        };
        let volume = if hour == 40 { -5 } else { 5 };
        writeln!(text, "{UNI},{time},{prices},{volume},1h").unwrap();
    }
    text
}

const EXPECTED: [&str; 4] = [
    "Warning candles.csv:11 low `open 2, high 1, low 3, close 2`: the low must not be above the open, the close or the high; the candle is kept but excluded from analyses",
    "Warning candles.csv:21 open `0`: a price must be positive; the candle is kept but excluded from analyses",
    "Warning candles.csv:31 high `open 2, high 3, low 1, close 4`: the high must not be below the open, the close or the low; the candle is kept but excluded from analyses",
    "Warning candles.csv:41 volume `-5`: the value is negative; the cell is cleared",
];

fn judged(dataset: &Dataset, what: &str) {
    let candles = table(dataset, "candles");
    let mut found = findings(candles);
    found.sort();
    assert_eq!(found, EXPECTED, "{what}");
    assert_eq!((candles.height(), candles.rows_bad), (60, 0), "{what}");
    let token = Address::parse(UNI).unwrap();
    let series = dataset.candles().of(&token);
    let series = series.series();
    let valid: Vec<usize> = (0..60).filter(|i| !series[0].1.valid(*i)).collect();
    assert_eq!(valid, [10, 20, 30], "{what}");
    assert!(series[0].1.volume[40].is_nan(), "{what}");
}

#[test]
fn candles_that_cannot_be_are_told_wherever_the_table_is() {
    let files: [(&str, &[u8]); 2] = [
        ("tokens.csv", TOKENS.as_bytes()),
        ("candles.csv", candles().leak().as_bytes()),
    ];
    judged(&load_files(&files).expect("loads"), "in memory");
    let (folder, cache) = (folder(&files), tempfile::tempdir().unwrap());
    let options = CacheOptions {
        folder: Some(cache.path().to_owned()),
        rows_min: 20,
        ..CacheOptions::default()
    };
    for what in ["cannot be cached", "from the cache"] {
        let dataset = load_with(folder.path(), &options, &NoProgress).expect("loads");
        assert!(table(&dataset, "candles").large().is_some());
        judged(&dataset, what);
    }
}

#[test]
fn the_latest_price_is_of_a_candle_that_can_be() {
    let text = format!(
        "token_address,timestamp,open,high,low,close\n{UNI},2024-01-01,2,3,1,2\n{UNI},2024-01-02,2,3,1,9\n"
    );
    let dataset = load_texts(&[("candles.csv", &text)]).expect("loads");
    assert_eq!(
        dataset
            .candles()
            .latest_close(&Address::parse(UNI).unwrap())
            .map(|(_, close)| close),
        Some(2.0)
    );
}

#[test]
fn tokens_and_what_is_held_of_them_are_judged_together() {
    let tokens = format!(
        "token_address,symbol,name,chain,decimals,price,market_cap,total_supply\n{UNI},UNI,Uniswap,eth,18,-5,-1,1000\n\
         0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2,WETH,Wrapped,eth,99,2,2000,1000\n"
    );
    let holders = format!(
        "token_address,holder_address,balance\n{UNI},0x{},900\n{UNI},0x{},200\n{UNI},0x{},-3\n",
        "11".repeat(20),
        "22".repeat(20),
        "33".repeat(20)
    );
    let dataset = load_texts(&[("tokens.csv", &tokens), ("holders.csv", &holders)]).expect("loads");
    let mut found = findings(table(&dataset, "tokens"));
    found.sort();
    assert_eq!(
        found,
        [
            "Warning tokens.csv:1 market_cap `-1`: the value is negative; the cell is cleared",
            "Warning tokens.csv:1 price `-5`: the value is negative; the cell is cleared",
            "Warning tokens.csv:2 decimals `99`: a token has 0 to 77 decimals, because 10^78 exceeds 2^256; the cell is cleared",
        ]
    );
    let found = findings(table(&dataset, "holders"));
    assert_eq!(
        found[0],
        "Warning holders.csv:3 balance `-3`: the value is negative; the cell is cleared"
    );
    assert!(
        found[1].starts_with("Warning holders.csv balance `UNI: 1100 of 1000`: the balances add up to more than the supply"),
        "{found:?}"
    );
}

#[test]
fn a_volume_in_usd_and_transfers_in_whole_tokens_are_told() {
    let tokens = format!(
        "token_address,symbol,name,chain,decimals,price,market_cap,total_supply\n{UNI},UNI,Uniswap,eth,18,2,2000,1000\n"
    );
    let mut candles = "token_address,timestamp,open,high,low,close,volume\n".to_owned();
    let mut transfers = "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index\n".to_owned();
    for day in 0..30 {
        writeln!(
            candles,
            "{UNI},{},2,3,1,2,900000",
            1_700_006_400 + day * 86_400
        )
        .unwrap();
        writeln!(
            transfers,
            "{UNI},{},{day},0x{:064x},{UNI},{UNI},{},0",
            1_700_006_400 + day * 86_400,
            day,
            day + 1
        )
        .unwrap();
    }
    // One candle with a volume of a few digits too many.
    let slipped = candles.replacen("900000", "900000000000000", 1);
    let dataset = load_texts(&[("tokens.csv", &tokens), ("candles.csv", &slipped)]).expect("loads");
    let found = findings(table(&dataset, "candles"));
    assert!(
        found[0].starts_with(
            "Warning candles.csv:1 volume `900000000000000 at 2`: volume times price exceeds"
        ),
        "{found:?}"
    );
    let files: [(&str, &[u8]); 3] = [
        ("tokens.csv", tokens.as_bytes()),
        ("candles.csv", candles.as_bytes()),
        ("transfers.csv", transfers.as_bytes()),
    ];
    let dataset = load_files(&files).expect("loads");
    let found = findings(table(&dataset, "candles"));
    assert!(found[0].contains("volume `UNI: 1.800e6 USD per candle, market cap 2.000e3`: the median of volume times price"), "{found:?}");
    let found = findings(table(&dataset, "transfers"));
    assert!(found[0].contains(":30 value `UNI: up to 3.000e-17 in 30 transfers`: every transfer moves less than a millionth"), "{found:?}");
}

#[test]
fn supplies_and_balances_in_smallest_units_are_told_with_the_line_that_mends_them() {
    const USDC: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
    let raw = "1000000000000000000000000000";
    for (columns, uni, usdc, told) in [
        (
            "total_supply",
            raw.to_owned(),
            "28000000000000000".to_owned(),
            Some("UNI: 1.000e27"),
        ),
        (
            "total_supply,price,market_cap",
            format!("{raw},7,7e9"),
            "28000000000000000,1,2.8e10".to_owned(),
            Some("UNI: price 7"),
        ),
        (
            "total_supply,price,market_cap",
            "1e9,7,7e9".to_owned(),
            "28000000000000000,1,2.8e10".to_owned(),
            Some("USDC: price 1"),
        ),
        (
            "total_supply,price,market_cap",
            "1e9,7,6e9".to_owned(),
            "28000000000,1,2.8e10".to_owned(),
            None,
        ),
        (
            "total_supply",
            "420690000000000000".to_owned(),
            "28000000000".to_owned(),
            None,
        ),
    ] {
        let tokens = format!(
            "token_address,symbol,name,chain,decimals,{columns}\n{UNI},UNI,Uniswap,eth,18,{uni}\n{USDC},USDC,USD Coin,eth,6,{usdc}\n"
        );
        let dataset = load_texts(&[("tokens.csv", &tokens)]).expect("loads");
        let found = findings(table(&dataset, "tokens"));
        let line = "add to dataset.toml: [tables.tokens.columns] total_supply = { unit = \"raw\" }";
        assert_eq!(
            found
                .iter()
                .any(|found| told.is_some_and(|told| found.contains(told)) && found.contains(line)),
            told.is_some(),
            "{found:?}"
        );
        assert!(told.is_some() || found.is_empty(), "{found:?}");
    }
    let mut holders = "token_address,holder_address,balance\n".to_owned();
    for i in 1..=5 {
        writeln!(holders, "{UNI},0x{i:040x},{i}{}", "0".repeat(24)).unwrap();
    }
    let dataset = load_texts(&[("tokens.csv", TOKENS), ("holders.csv", &holders)]);
    let found = findings(table(&dataset.expect("loads"), "holders"));
    assert!(
        found
            .iter()
            .any(|found| found.contains("[tables.holders.columns] balance = { unit = \"raw\" }")),
        "{found:?}"
    );
}

#[test]
fn candles_of_two_lengths_are_told_wherever_the_table_is() {
    let mut text = "token_address,timestamp,open,high,low,close\n".to_owned();
    let days = (0..60).map(|day| day * 24);
    for hour in days.chain(1_440..1_510) {
        writeln!(text, "{UNI},{},2,3,1,2", (473_352 + hour) * 3_600).unwrap();
    }
    let files: [(&str, &[u8]); 2] = [
        ("tokens.csv", TOKENS.as_bytes()),
        ("candles.csv", text.as_bytes()),
    ];
    let (folder, cache) = (folder(&files), tempfile::tempdir().unwrap());
    for rows_min in [1_000, 20] {
        let options = CacheOptions {
            folder: Some(cache.path().to_owned()),
            rows_min,
            ..CacheOptions::default()
        };
        let dataset = load_with(folder.path(), &options, &NoProgress).expect("loads");
        let found = findings(table(&dataset, "candles"));
        let told = &format!(
            "Warning candles.csv:2 interval `{UNI}: 60 steps of 1d from 2024-01-02 00:00 on, among steps of 1h"
        );
        assert!(
            found.iter().any(|found| found.starts_with(&**told)),
            "{rows_min}: {found:?}"
        );
    }
}
