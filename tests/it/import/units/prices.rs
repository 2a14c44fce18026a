//! Prices: in another currency, of a pool, or as whole numbers whose decimals the file states.

use super::{Desk, HEADER, UNI, first, rows};

#[test]
fn prices_that_the_file_says_are_in_another_currency_are_refused() {
    let plain = |i: u32| format!("2024-01-{i:02},{i},{},{i},{i}.5,7.25\n", i + 1);
    let signed = |before: &str, after: &str| {
        let row = |i: u32| {
            format!(
                "2024-01-{i:02},{before}{i}{after},{before}{}{after},{before}{i}{after},{before}{i}.5{after},7.25\n",
                i + 1
            )
        };
        format!("{HEADER}{}", rows(row))
    };
    let with = |name: &str, value: &str| {
        format!(
            "{name},date,open,high,low,close,volume\n{}",
            rows(|i| format!("{value},{}", plain(i)))
        )
    };
    let json = |member: &str, row: &str| {
        let cell = |i: u32| {
            format!(
                "{{{row}\"timestamp\":\"2024-01-{i:02}T00:00:00Z\",\"open\":{i},\"high\":{},\"low\":{i},\"close\":{i}.5}}",
                i + 1
            )
        };
        let cells: Vec<String> = (1..=20).map(cell).collect();
        format!("{{{member}\"result\":[{}]}}", cells.join(","))
    };
    let points: Vec<String> = (1..=20)
        .map(|i| format!("[{},{i}.5]", 1_700_006_400_000_i64 + i * 86_400_000))
        .collect();
    for (name, text, currency) in [
        ("a.csv", signed("€", ""), Some("EUR (`€1` in `open`)")),
        ("a.csv", signed("", " €"), Some("EUR (`1 €` in `open`)")),
        ("a.csv", signed("R$ ", ""), Some("BRL")),
        ("a.csv", signed("₿", ""), Some("BTC")),
        ("UNI-USD.csv", signed("£", ""), Some("GBP")),
        ("a.csv", signed("$", ""), None),
        ("a.csv", signed("", " USD"), None),
        (
            "a.csv",
            with("currency", "EUR"),
            Some("EUR (`eur` in `currency`)"),
        ),
        ("a.csv", with("ccy", "eur"), Some("EUR")),
        ("a.csv", with("unit", "EUR"), Some("EUR")),
        ("a.csv", with("price_currency", "BTC"), Some("BTC")),
        ("a.csv", with("counter", "EUR"), Some("EUR")),
        ("a.csv", with("ccy", "USD"), None),
        (
            "a.csv",
            format!(
                "\"Prices of UNI, all prices in EUR\"\n{HEADER}{}",
                rows(plain)
            ),
            Some("EUR (stated in"),
        ),
        (
            "a.csv",
            format!(
                "# Source: Bitvavo\n# Currency: EUR\n{HEADER}{}",
                rows(plain)
            ),
            Some("EUR"),
        ),
        (
            "a.csv",
            format!("# prices in USD, fees in EUR\n{HEADER}{}", rows(plain)),
            None,
        ),
        (
            "a.json",
            json("\"currency\":\"native\",", ""),
            Some("the chain's native coin (`native` next to its table)"),
        ),
        (
            "a.json",
            json("", "\"currency\":\"native\","),
            Some("the chain's native coin (`native` in `currency`)"),
        ),
        ("a.json", json("\"currency\":\"usd\",", ""), None),
        (
            "a.json",
            format!(
                "{{\"id\":\"uniswap\",\"vs_currency\":\"eur\",\"prices\":[{}]}}",
                points.join(",")
            ),
            Some("EUR (`eur` next to"),
        ),
    ] {
        let desk = Desk::new();
        desk.write(name, &text);
        let args = [name, "--token", UNI];
        let start = &text[..text.len().min(80)];
        if let Some(currency) = currency {
            let err = desk.refuses(&args);
            assert!(
                err.contains(&format!("has prices in {currency}")) && err.contains("--as-usd"),
                "{start}: {err}"
            );
            desk.imports(&[&args[..], &["--as-usd"]].concat());
        } else {
            let says = desk.imports(&args)["files"][0]["says"].to_string();
            // A note about fees does not name the currency of the prices.
            assert_eq!(
                says.contains("the file names no currency"),
                text.contains("fees"),
                "{start}: {says}"
            );
        }
    }
    let desk = Desk::new();
    desk.write(
        "wei.csv",
        format!(
            "{HEADER}{}",
            rows(|i| format!("2024-01-{i:02},{i}0000000000000000,{}0000000000000000,{i}0000000000000000,{i}5000000000000000,7\n", i + 1))
        ),
    );
    let err = desk.refuses(&["wei.csv", "--token", UNI]);
    assert!(
        err.contains("too high for any token in USD") && err.contains("scale = 1e-18"),
        "{err}"
    );
}

#[test]
fn prices_of_a_pool_are_not_of_the_pools_address() {
    let row = |day: u32| {
        let price = f64::from(100 + day);
        serde_json::json!({"date": 1_709_251_200 + day * 86_400, "open": price.to_string(), "high": (price + 2.0).to_string(), "low": (price - 2.0).to_string(),
               "close": (price + 1.0).to_string(), "volumeUSD": "5000.5", "pool": {"id": "0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640",
               "token0": {"id": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"}, "token1": {"id": "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"}}})
    };
    let desk = Desk::new();
    let days: Vec<_> = (0..30).map(row).collect();
    desk.write(
        "days.json",
        serde_json::json!({"data": {"poolDayDatas": days}}).to_string(),
    );
    let err = desk.refuses(&["days.json"]);
    assert!(err.contains("--token") && !err.contains("0x88e6"), "{err}");
}

#[test]
fn whole_prices_have_the_decimals_that_the_file_states() {
    let json = |beside: &str, price: u64, end: &str| {
        let cell = |i: u32| {
            let open = price + u64::from(i) * price / 1_000;
            let (high, close) = (open + price / 500, open + price / 1_000);
            let time = format!("2024-01-{i:02}T00:00:00Z");
            format!(
                "{{\"time\":\"{time}\",\"open\":\"{open}{end}\",\"high\":\"{high}\",\"low\":\"{open}{end}\",\"close\":\"{close}\",\"volume\":7.5}}"
            )
        };
        format!(
            "{{\"market\":{{{beside}\"candles\":[{}]}}}}",
            (1..=20).map(cell).collect::<Vec<_>>().join(",")
        )
    };
    let places = "\"decimalPlaces\":5,";
    for (what, text, args, expected) in [
        (
            "too high",
            json(places, 2_000_000_000, ""),
            "",
            Ok((20_020.0, true)),
        ),
        (
            "too high, as Pyth says it",
            json("\"expo\":-8,", 4_300_000_000_000, ""),
            "",
            Ok((43_043.0, true)),
        ),
        (
            "too high, as TradingView says it",
            json("\"pricescale\":100000,", 2_000_000_000, ""),
            "",
            Ok((20_020.0, true)),
        ),
        (
            "either",
            json(places, 250_000, ""),
            "",
            Err(
                "`decimalPlaces` next to its table is 5, so the last 5 digits of each may be decimals",
            ),
        ),
        (
            "said to be decimals",
            json(places, 250_000, ""),
            "--unit raw",
            Ok((2.5025, false)),
        ),
        (
            "said to be USD",
            json(places, 250_000, ""),
            "--unit whole",
            Ok((250_250.0, false)),
        ),
        (
            "nothing stated",
            json("", 43_000, ""),
            "",
            Ok((43_043.0, false)),
        ),
        (
            "of a token's amounts",
            json("\"token\":{\"decimalPlaces\":18},", 43_000, ""),
            "",
            Ok((43_043.0, false)),
        ),
        (
            "prices with a point",
            json("\"pricePrecision\":2,", 43_000, ".5"),
            "",
            Ok((43_043.5, false)),
        ),
        (
            "too high, and nothing stated",
            json("", 2_000_000_000, ""),
            "",
            Err("too high for any token in USD"),
        ),
    ] {
        let desk = Desk::new();
        desk.write("a.json", text);
        let more: Vec<&str> = args.split_whitespace().collect();
        let all = [&["a.json", "--token", UNI][..], &more].concat();
        match expected {
            Err(says) => {
                let err = desk.refuses(&all);
                assert!(err.contains(says), "{what}: {err}");
            }
            Ok((open, assumed)) => {
                let says = desk.imports(&[&all[..], &["--dry-run"]].concat())["files"][0]["says"]
                    .to_string();
                assert_eq!(
                    says.contains("digits of its prices"),
                    assumed,
                    "{what}: {says}"
                );
                assert_eq!(first(&desk, "a.json", &more)[0], open, "{what}");
            }
        }
    }
}
