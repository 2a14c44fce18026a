//! Whose series a file holds, and in what currency: parts of one container, words of names, texts beside the rows, pools.

use super::{Desk, PEPE, address, malformed::zip, rows};
use crate::shared::shared;

const USDC: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";

fn candles(desk: &Desk) -> usize {
    desk.dataset()
        .table("candles")
        .map_or(0, |table| table.frame().height())
}

#[test]
fn parts_of_one_file_are_told_apart() {
    let Some(folder) = shared("data/reports/cases/61") else {
        return;
    };
    for (name, kept, refused) in [
        ("prices.xlsx", 60, "is about `ETH` (from its name)"),
        ("portfolio.xlsx", 60, "is about `ETH` (from its name)"),
        ("btc_eth.xlsx", 60, "is about `ETH` (from its name)"),
        ("btc_eth_later.xlsx", 60, "is about `ETH` (from its name)"),
        ("two_tokens.zip", 60, "is about `ETH` (from its name)"),
        (
            "backup.xlsx",
            60,
            "`backup.xlsx/backup 2023` and `backup.xlsx/data` are not one series",
        ),
    ] {
        let desk = Desk::empty();
        let (_, _, err) = desk.run(&[&format!("{folder}/{name}"), "--coin", "BTC"]);
        assert!(err.contains(refused), "{name}: {err}");
        assert_eq!(candles(&desk), kept, "{name}");
    }
}

#[test]
fn parts_without_a_ticker_are_told_apart_by_their_candles() {
    let part = |month: u32, price: f64| {
        let row = |day: u32| {
            format!(
                "2024-{month:02}-{day:02},{price},{},{price},{price},7\n",
                price * 1.1
            )
        };
        format!("date,open,high,low,close,volume\n{}", rows(row))
    };
    for (first, second, refused) in [
        (part(1, 5.0), part(1, 5.0), None),
        (part(1, 5.0), part(2, 5.5), None),
        (
            part(1, 5.0),
            part(1, 5.2),
            Some(
                "contains 20 candles, out of 20, at the same times as `two.zip/one.csv` but with different values",
            ),
        ),
    ] {
        let desk = Desk::new();
        desk.write(
            "two.zip",
            zip(&[
                ("one.csv", first.as_bytes()),
                ("two.csv", second.as_bytes()),
            ]),
        );
        let (_, _, err) = desk.run(&["two.zip", "--token", PEPE]);
        assert_eq!(err.is_empty(), refused.is_none(), "{err}");
        assert!(err.contains(refused.unwrap_or_default()), "{err}");
        desk.imports(&["two.zip", "--token", PEPE, "--broken-too"]);
    }
}

#[test]
fn texts_beside_the_rows_and_words_of_a_name_are_no_symbols() {
    let new = "0x1111111111111111111111111111111111111111";
    for (name, symbol, assumed) in [
        ("60/nohead_true.csv", None, true),
        ("60/nohead_btc.csv", None, true),
        ("60/nohead_closed.json", None, true),
        ("60/c_name.csv", None, true),
        ("60/c_closed.csv", None, true),
        ("60/c_asset.csv", Some("PEPE"), true),
        ("60/c_ticker.csv", Some("PEPE"), false),
        ("62/all_btc.csv", None, true),
        ("62/backtest_one_usdt.csv", None, true),
        ("62/btc_eth.csv", None, true),
        ("62/data_brl.csv", None, true),
        ("62/dataset_sol_2024.csv", None, true),
        ("62/my_eth_data.csv", None, true),
        ("62/report_try.csv", None, true),
        ("62/uni_eth_pool.csv", None, true),
    ] {
        let Some(path) = shared(&format!("data/reports/cases/{name}")) else {
            return;
        };
        let desk = Desk::empty();
        let says = desk.imports(&[&path, "--token", new])["files"][0].to_string();
        // Money in the name is said; a coin there may be the token itself.
        let money = ["data_brl", "report_try"]
            .iter()
            .any(|money| name.contains(money));
        assert!(
            !money || says.contains("in the file name is not used as the price currency"),
            "{name}: {says}"
        );
        let found = desk
            .dataset()
            .token(&address(new))
            .unwrap()
            .row
            .symbol
            .clone();
        assert_eq!(found.as_deref(), symbol, "{name}");
        assert_eq!(
            says.contains("assumed: prices are in USD"),
            assumed,
            "{name}: {says}"
        );
    }
}

#[test]
fn a_currency_is_read_wherever_every_row_says_it() {
    let days = rows(|day| {
        format!(
            "2024-01-{day:02},{day},{}.5,{}.75,{},700.25,CELL\n",
            day + 1,
            day - 1,
            day + 1
        )
    });
    let header = |name: &str| format!("date,open,high,low,close,volume,{name}\n");
    for (head, cell, refused) in [
        (String::new(), "EUR", true),
        (header("cur"), "EUR", true),
        (header("asset"), "EUR", true),
        (header("settlement"), "TRY", true),
        (header("fee_asset"), "EUR", false),
        (header("base"), "EUR", false),
        (header("cur"), "USD", false),
        (String::new(), "USDT", false),
        (header("state"), "closed", false),
    ] {
        let desk = Desk::empty();
        desk.write("a.csv", format!("{head}{}", days.replace("CELL", cell)));
        if refused {
            let err = desk.refuses(&["a.csv", "--token", PEPE]);
            assert!(
                err.contains(&format!(
                    "has prices in {cell} (`{}` in",
                    cell.to_lowercase()
                )),
                "{head}{cell}: {err}"
            );
        } else {
            desk.imports(&["a.csv", "--token", PEPE]);
        }
    }
}

#[test]
fn prices_in_another_token_are_seen_in_the_quote() {
    let row = |day: u32, cells: &str| {
        format!("2024-01-{day:02},{day},{}.5,{day},{day}{cells}\n", day + 1)
    };
    for (header, cells, refused) in [
        (
            "date,open,high,low,close,quote_symbol",
            ",WETH",
            Some("`WETH` in `quote_symbol`"),
        ),
        (
            "date,open,high,low,close,quote_currency",
            ",ETH",
            Some("`ETH` in `quote_currency`"),
        ),
        (
            "date,open,high,low,close,quoteCurrency.symbol",
            ",WBNB",
            Some("`WBNB` in `quoteCurrency.symbol`"),
        ),
        (
            "date,open,high,low,close,counter",
            ",BTC",
            Some("(`btc` in `counter`)"),
        ),
        (
            "date,open_usd,high_usd,low_usd,close_usd,quote_symbol",
            ",WETH",
            None,
        ),
        (
            "date,open,high,low,close,vs_currency,quote_symbol",
            ",usd,WETH",
            None,
        ),
        ("date,open,high,low,close,quote_symbol", ",USDC", None),
        ("date,open,high,low,close,quote_symbol", ",USDe", None),
        ("date,open,high,low,close,quote_volume", ",5", None),
    ] {
        let desk = Desk::empty();
        desk.write(
            "d.csv",
            format!("{header}\n{}", rows(|day| row(day, cells))),
        );
        if let Some(part) = refused {
            let err = desk.refuses(&["d.csv", "--token", PEPE]);
            assert!(
                err.contains("has prices in") && err.contains(part),
                "{header}: {err}"
            );
        }
        let as_usd = if refused.is_some() {
            "--as-usd"
        } else {
            "--dry-run"
        };
        desk.imports(&["d.csv", "--token", PEPE, as_usd]);
    }
    // The address of the quote is not that of the token.
    let day = |day: u32| {
        serde_json::json!({"time": format!("2024-01-{day:02}"), "open": day, "high": day + 1, "low": day, "close": day,
            "quoteCurrency": {"address": USDC, "symbol": "USDC"}})
    };
    let desk = Desk::empty();
    desk.write(
        "d.json",
        serde_json::json!({"data": (1..=20).map(day).collect::<Vec<_>>()}).to_string(),
    );
    desk.imports(&["d.json", "--token", PEPE]);
    let dataset = desk.dataset();
    assert!(dataset.token(&address(PEPE)).is_some() && dataset.token(&address(USDC)).is_none());
}

#[test]
fn prices_of_a_pool_are_of_the_token_that_its_rows_show() {
    let Some(path) = shared("data/reports/cases/21/poolDayDatas.json") else {
        return;
    };
    let desk = Desk::empty();
    for token in [&[][..], &["--token", USDC], &["--token", PEPE]] {
        let err = desk.refuses(&[&[path.as_str()], token].concat());
        assert!(
            err.contains("has prices of WETH in USDC") && err.contains(&format!("--token {WETH}")),
            "{token:?}: {err}"
        );
    }
    // Without the prices of both tokens, the list's name tells.
    let day = |day: u32| {
        let pool = serde_json::json!({"token0": {"id": USDC, "symbol": "USDC"}, "token1": {"id": WETH, "symbol": "WETH"}});
        serde_json::json!({"date": 1_709_251_200 + day * 86_400, "open": 100 + day, "high": 103 + day, "low": 99 + day, "close": 101 + day, "pool": pool})
    };
    desk.write(
        "days.json",
        serde_json::json!({"data": {"poolDayDatas": (0..30).map(day).collect::<Vec<_>>()}})
            .to_string(),
    );
    assert!(
        desk.refuses(&["days.json", "--token", USDC])
            .contains("has prices of WETH in USDC")
    );
    desk.imports(&["days.json", "--token", WETH, "--dry-run"]);
    let report = desk.imports(&[&path, "--token", WETH]);
    let columns = report["files"][0]["previews"][0]["columns"].to_string();
    assert!(
        columns.contains("`volumeToken1`") && !columns.contains("volumeToken0"),
        "{columns}"
    );
}
