//! Documented layouts of exchanges and data sites, each with the same sixty candles or a few rows: for any column order, names and position
//! of the table, the same values result; missing facts are asked for.

mod mixed;

use load::Dataset;
use model::address::Address;
use serde_json::json;

use super::{Desk, UNI, address, taken};

/// Unix seconds, open, high, low, close, volume; each candle opens at the previous close.
fn candles() -> Vec<[f64; 6]> {
    let (mut price, mut seed) = (2_000.0_f64, 7_u64);
    let mut next = move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f64 / (1_u64 << 24) as f64
    };
    let cents = |figure: f64| (figure * 100.0).round() / 100.0;
    (0..60)
        .map(|i| {
            let open = price;
            let close = cents(open * (1.0 + 0.04 * (next() - 0.5)));
            price = close;
            let (high, low) = (
                cents(open.max(close) * (1.001 + 0.01 * next())),
                cents(open.min(close) * (0.999 - 0.01 * next())),
            );
            [
                1_690_675_200.0 + 3_600.0 * f64::from(i),
                open,
                high,
                low,
                close,
                cents(100.0 + 50.0 * next()),
            ]
        })
        .collect()
}

/// Quote volume of a candle.
fn money(row: &[f64; 6]) -> f64 {
    row[5] * (row[1] + row[4]) / 2.0
}

/// Rows as JSON lists in the given column order (`q`: quote volume), as texts or numbers.
fn lists(order: &str, ms: bool) -> Vec<serde_json::Value> {
    let cell = |row: &[f64; 6], place: char| match place {
        't' if ms => json!((row[0] * 1e3) as u64),
        't' => json!(row[0] as u64),
        'q' => json!(money(row).to_string()),
        'n' => json!(7),
        place => json!(row["tohlcv".find(place).unwrap()].to_string()),
    };
    candles()
        .iter()
        .map(|row| order.chars().map(|place| cell(row, place)).collect())
        .collect()
}

fn csv(header: &str, order: &str, separator: &str) -> String {
    let mut text = header.to_owned();
    for row in lists(order, false) {
        let cells: Vec<String> = row
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell.to_string().replace('"', ""))
            .collect();
        text.push_str(&format!("{}\n", cells.join(separator)));
    }
    text
}

/// Checks prices, and the volume: unchanged, or converted from quote volume by the price.
fn held(name: &str, dataset: &Dataset, in_money: bool) {
    let found = dataset.candles().of(&address(UNI));
    let found = found.series();
    let found = found
        .first()
        .unwrap_or_else(|| panic!("{name}: no candles"))
        .1;
    assert_eq!(found.len(), 60, "{name}");
    for (i, row) in candles().iter().enumerate() {
        assert_eq!(
            [found.open[i], found.high[i], found.low[i], found.close[i]],
            [row[1], row[2], row[3], row[4]],
            "{name}, row {i}"
        );
        let near = if in_money { 0.05 } else { 1e-9 };
        assert!(
            (found.volume[i] - row[5]).abs() <= near * row[5],
            "{name}, row {i}: {} is not {}",
            found.volume[i],
            row[5]
        );
    }
}

#[test]
fn candles_of_every_order_and_nesting_are_the_same() {
    let objects = |rename: &[(&str, char)]| -> Vec<serde_json::Value> {
        let value = |row: &[f64; 6], place: char| match place {
            't' => json!(row[0] as u64),
            'q' => json!(money(row)),
            place => json!(row["tohlcv".find(place).unwrap()]),
        };
        candles()
            .iter()
            .map(|row| {
                rename
                    .iter()
                    .map(|(name, place)| ((*name).to_owned(), value(row, *place)))
                    .collect()
            })
            .collect()
    };
    let side_by_side: serde_json::Map<String, serde_json::Value> = ["t", "o", "h", "l", "c", "v"]
        .iter()
        .enumerate()
        .map(|(at, name)| {
            (
                (*name).to_owned(),
                candles().iter().map(|row| row[at]).collect(),
            )
        })
        .collect();
    let files: Vec<(&str, String, bool)> = vec![
        ("kucoin.json", json!({"code": "200000", "data": lists("tochlvq", false)}).to_string(), false),
        ("gate.json", json!(lists("tqchlov", false)).to_string(), false),
        ("okx.json", json!({"code": "0", "msg": "", "data": lists("tohlcvqqn", true)}).to_string(), false),
        ("bitfinex.json", json!(lists("tochlv", true)).to_string(), false),
        ("coinbase.json", json!(lists("tlhocv", false)).to_string(), false),
        ("bitget.json", json!({"code": "00000", "data": lists("tohlcvqq", true)}).to_string(), false),
        ("bybit.json", json!({"retCode": 0, "result": {"symbol": "UNIUSDT", "list": lists("tohlcvq", true)}}).to_string(), false),
        (
            "htx.json",
            json!({"status": "ok", "data": objects(&[("id", 't'), ("open", 'o'), ("close", 'c'), ("low", 'l'), ("high", 'h'), ("amount", 'v'), ("vol", 'q')])}).to_string(),
            false,
        ),
        (
            "poloniex.json",
            json!(objects(&[("date", 't'), ("high", 'h'), ("low", 'l'), ("open", 'o'), ("close", 'c'), ("volume", 'q'), ("quoteVolume", 'v')])).to_string(),
            false,
        ),
        (
            "cryptocompare.json",
            json!({"Data": {"Data": objects(&[("time", 't'), ("high", 'h'), ("low", 'l'), ("open", 'o'), ("volumefrom", 'v'), ("volumeto", 'q'), ("close", 'c')])}}).to_string(),
            false,
        ),
        ("tradingview.json", serde_json::Value::Object(side_by_side).to_string(), false),
        ("kraken_60.csv", csv("", "tohlcvn", ","), false),
        ("permuted.csv", csv("", "tchlov", ","), false),
        ("numbered.csv", csv("0,1,2,3,4,5\n", "tohlcv", ","), false),
        ("misnamed.csv", csv("time,open,low,high,close,volume\n", "tohlcv", ","), false),
        ("kaggle.csv", csv("Timestamp,Open,High,Low,Close,Volume_(BTC),Volume_(Currency)\n", "tohlcvq", ","), false),
        ("preamble.csv", csv("Timestamps are UTC,https://www.CryptoDataDownload.com\nUnix,Open,High,Low,Close,Volume USD,Volume UNI\n", "tohlcqv", ","), false),
        (
            "twins.json",
            json!(objects(&[("t", 't'), ("T", 'q'), ("o", 'o'), ("h", 'h'), ("l", 'l'), ("c", 'c'), ("v", 'v')])).to_string(),
            false,
        ),
        ("coinmarketcap.csv", csv("timeOpen;open;high;low;close;volume;marketCap\n", "tohlcqq", ";"), true),
    ];
    for (name, text, in_money) in files {
        let desk = Desk::new();
        desk.write(name, text);
        let report = desk.imports(&[name, "--token", UNI]);
        assert_eq!(taken(&report, 0, "candles")[0], 60, "{name}: {report:#}");
        held(name, &desk.dataset(), in_money);
    }
}

#[test]
fn text_of_sixteen_bits_and_times_that_are_ends_arrive_as_they_are_meant() {
    let text = csv("Date\tOpen\tHigh\tLow\tClose\tVolume\n", "tohlcv", "\t");
    let wide: Vec<u8> = format!("\u{feff}{text}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let ends: String = csv("", "tohlcv", ",")
        .lines()
        .map(|line| {
            line.split_once(',')
                .map(|(time, rest)| format!("{},{rest}\n", time.parse::<u64>().unwrap() + 3_599))
                .unwrap()
        })
        .collect();
    for (name, bytes) in [
        ("wide.txt", wide),
        (
            "ends.csv",
            format!("time,open,high,low,close,volume\n{ends}").into_bytes(),
        ),
    ] {
        let desk = Desk::new();
        desk.write(name, bytes);
        desk.imports(&[name, "--token", UNI]);
        held(name, &desk.dataset(), false);
        assert_eq!(
            desk.dataset().candles().of(&address(UNI)).series()[0]
                .1
                .timestamp[0],
            1_690_675_200_000,
            "{name}"
        );
    }
}

#[test]
fn events_of_transfers_are_transfers() {
    const EVENT: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let at = |i: u64| format!("{:040x}", u128::pow(10, 30) + u128::from(i));
    let word = |digits: &str| format!("0x{digits:0>64}");
    let hash = |i: u64| word(&format!("{:x}", 1_000 + i));
    let answer = |event: &str, timed: bool| {
        let log = |i: u64| {
            let mut log = json!({"address": UNI, "topics": [event, word(&at(i)), word(&at(i + 1))], "data": word("ff"),
                "blockNumber": "0x10", "transactionHash": hash(i), "logIndex": format!("{i:#x}")});
            if timed {
                log["timeStamp"] = json!("0x64c5d000");
            }
            log
        };
        json!({"result": (0..20).map(log).collect::<Vec<_>>()}).to_string()
    };
    let rows = |row: &dyn Fn(u64) -> String| (0..20).map(|i| row(i) + "\n").collect::<String>();
    let four = format!(
        "block_time,block_number,tx_hash,index,contract_address,topic0,topic1,topic2,topic3,data\n{}",
        rows(&|i| format!(
            "1690685440,16,{},{i},{UNI},{EVENT},{},{},,{}",
            hash(i),
            word(&at(i)),
            word(&at(i + 1)),
            word("ff")
        ))
    );
    let one = format!(
        "log_index,transaction_hash,block_number,block_timestamp,address,data,topics\n{}",
        rows(&|i| format!(
            "{i},{},16,1690685440,{UNI},{},\"{EVENT},{},{}\"",
            hash(i),
            word("ff"),
            word(&at(i)),
            word(&at(i + 1))
        ))
    );
    for (name, text, timed) in [
        ("logs.json", answer(EVENT, true), true),
        ("bare.json", answer(EVENT, false), false),
        ("four.csv", four, true),
        ("one.csv", one, true),
    ] {
        let desk = Desk::new();
        desk.write(name, text);
        let report = desk.imports(&[name]);
        assert_eq!(taken(&report, 0, "transfers")[0], 20, "{name}: {report:#}");
        let dataset = desk.dataset();
        let frame = dataset.table("transfers").unwrap().frame();
        let text = |column: &str| {
            frame
                .column(column)
                .unwrap()
                .str()
                .unwrap()
                .get(0)
                .map(str::to_owned)
        };
        assert_eq!(
            (text("value").as_deref(), text("from_address")),
            (Some("255"), Some(format!("0x{}", at(0)))),
            "{name}"
        );
        assert_eq!(
            frame.column("timestamp").unwrap().null_count(),
            if timed { 0 } else { 20 },
            "{name}"
        );
    }
    let desk = Desk::new();
    desk.write("approvals.json", answer(&word("8c5b"), true));
    let reason = desk.refuses(&["approvals.json"]);
    assert!(
        reason.contains("none of its events is Transfer(address,address,uint256)"),
        "{reason}"
    );
    desk.write("logs.json", answer(EVENT, true));
    let reason = desk.refuses(&["logs.json", "--token", &format!("0x{}", at(7))]);
    assert!(
        reason.contains("has no row that can be imported"),
        "{reason}"
    );
}

#[test]
fn tables_of_other_sources_arrive_and_what_is_not_said_is_asked() {
    let at = |i: u64| format!("0x{:040x}", u128::pow(10, 30) + u128::from(i) * 7_919);
    let hash = |i: u64| format!("0x{:064x}", u128::pow(10, 30) + u128::from(i) * 7_919);
    let rows = |row: &dyn Fn(u64) -> String| (0..30).map(|i| row(i) + "\n").collect::<String>();
    let pairs: Vec<_> = (0..30)
        .map(|i| {
            json!({"chainId": "ethereum", "dexId": "uniswap", "pairAddress": at(i), "baseToken": {"address": at(i + 40), "symbol": "a"},
            "quoteToken": {"address": at(i + 80), "symbol": "b"}, "volume": {"h24": 5.5}, "liquidity": {"usd": 9.5}})
        })
        .collect();
    let logs: Vec<_> = (0..30)
        .map(|i| json!({"hash": hash(i), "from": at(i), "to": at(i + 1), "value": 1.5, "tokenId": null, "blockNum": "0x10",
            "rawContract": {"value": "0x14d1120d7b160000", "address": UNI, "decimal": "0x12"}, "metadata": {"blockTimestamp": "2023-07-30T00:00:00.000Z"}}))
        .collect();
    let raw = format!(
        "holder,balance\n{}",
        rows(&|i| format!(
            "{},{}",
            at(i),
            1_000_000_000_000_000_000_000 + u128::from(i)
        ))
    );
    let transfers = format!(
        "Txhash,Blockno,UnixTimestamp,From,To,Quantity\n{}",
        rows(&|i| format!(
            "{},{i},1690675200,{},{},\"1,234.5\"",
            hash(i),
            at(i),
            at(i + 1)
        ))
    );
    let tags = format!(
        "address,type,family\n{}",
        rows(&|i| format!("{},account,kraken", at(i)))
    );
    let list = format!(
        "address,symbol,name,decimals\n{}",
        rows(&|i| format!("{},S{i},N{i},18", at(i)))
    );
    let bare = rows(&|i| format!("{},{}", at(i), 1_000_000_000_000_000_000_u64 + i));
    for (name, text, asked, said, table) in [
        (
            "dexscreener.json",
            json!({"pairs": pairs}).to_string(),
            "",
            &[][..],
            "pools",
        ),
        (
            "alchemy.json",
            json!({"result": {"transfers": logs}}).to_string(),
            "",
            &[],
            "transfers",
        ),
        (
            "raw.csv",
            raw,
            "--unit raw",
            &["--token", UNI, "--unit", "raw", "--decimals", "18"],
            "holders",
        ),
        (
            "transfers.csv",
            transfers,
            "--decimals 18",
            &["--token", UNI, "--decimals", "18"],
            "transfers",
        ),
        (
            "tags.csv",
            tags,
            "--map label=type",
            &["--map", "label=family"],
            "labels",
        ),
        ("list.csv", list, "--chain", &["--chain", "base"], "tokens"),
        (
            "bare.csv",
            bare,
            "--as holders",
            &[
                "--token",
                UNI,
                "--as",
                "holders",
                "--map",
                "holder_address=1",
                "--map",
                "balance=2",
                "--unit",
                "raw",
            ],
            "holders",
        ),
    ] {
        let desk = Desk::empty();
        desk.write(name, text);
        if !asked.is_empty() {
            let first: &[&str] = if said.first() == Some(&"--token") {
                &said[..2]
            } else {
                &[]
            };
            let reason = desk.refuses(&[&[name], first].concat());
            assert!(
                reason.contains(asked) && reason.contains("n dataset.toml: "),
                "{name}: {reason}"
            );
            assert!(!desk.data().exists(), "{name}");
        }
        let said: Vec<&str> = if name == "bare.csv" {
            [said, &["--decimals", "18"]].concat()
        } else {
            said.to_vec()
        };
        let report = desk.imports(&[&[name], &said[..]].concat());
        assert_eq!(taken(&report, 0, table)[0], 30, "{name}: {report:#}");
        let dataset = desk.dataset();
        let frame = dataset.table(table).unwrap().frame();
        match name {
            "transfers.csv" => assert_eq!(
                frame.column("value").unwrap().str().unwrap().get(0),
                Some("1234500000000000000000")
            ),
            "alchemy.json" => assert_eq!(
                frame.column("value").unwrap().str().unwrap().get(0),
                Some("1500000000000000000")
            ),
            "raw.csv" => assert_eq!(
                dataset
                    .holders_of(&address(UNI))
                    .get(0)
                    .and_then(|row| row.balance),
                Some(1_000.0)
            ),
            "bare.csv" => assert_eq!(
                dataset
                    .holders_of(&address(UNI))
                    .get(0)
                    .and_then(|row| row.balance),
                Some(1.0)
            ),
            _ => {}
        }
    }
}

#[test]
fn a_coin_without_a_contract_has_an_address_of_its_own() {
    let desk = Desk::empty();
    desk.write(
        "BTCUSDT.csv",
        csv("time,open,high,low,close,volume\n", "tohlcv", ","),
    );
    let report = desk.imports(&["BTCUSDT.csv", "--coin", "BTC"]);
    assert_eq!(taken(&report, 0, "candles")[0], 60);
    let dataset = desk.dataset();
    let token = dataset.token(&Address::coin("btc")).unwrap();
    assert_eq!(
        (
            token.row.symbol.as_deref(),
            token.chains[0].as_str(),
            token.chains[0].id()
        ),
        (Some("BTC"), "btc", None)
    );
    let desk = Desk::empty();
    desk.write(
        "ETHUSDT.csv",
        csv("time,open,high,low,close,volume\n", "tohlcv", ","),
    );
    desk.imports(&["ETHUSDT.csv", "--coin", "eth"]);
    let dataset = desk.dataset();
    let token = dataset.token(&Address::coin("ETH")).unwrap();
    assert_eq!(
        (token.chains[0].as_str(), token.chains[0].id()),
        ("coin-eth", None),
        "the coin is not a token on Ethereum"
    );
}

#[test]
fn one_pool_without_an_address_among_five_is_named_and_the_others_are_taken() {
    let at = |i: u32| format!("0x{i:040x}");
    let pair = |i: u32| {
        let pool = if i == 5 { "0xnope".to_owned() } else { at(i) };
        json!({"chainId": "ethereum", "dexId": "uniswap", "pairAddress": pool, "baseToken": {"address": at(i + 40), "symbol": "a", "name": "A"},
               "quoteToken": {"address": at(90), "symbol": "b", "name": "B"}, "priceUsd": "1.5", "liquidity": {"usd": 5000.5}})
    };
    let desk = Desk::empty();
    desk.write(
        "dexscreener.ndjson",
        (1..=5)
            .map(|i| pair(i).to_string())
            .collect::<Vec<_>>()
            .join("\n"),
    );
    let report = desk.imports(&["dexscreener.ndjson"]);
    assert!(
        taken(&report, 0, "pools") == [4, 0, 0, 0, 1, 0] && report.to_string().contains("0xnope"),
        "{report:#}"
    );
}
