//! Tests of the token that a file is resolved to, by its name, its content and the options.

use polars::prelude::{IntoColumn, NamedFrom, Series};

use super::*;
use model::schema;

fn frame(rows: &[(&str, &str, &str, bool)]) -> DataFrame {
    let table = schema::table("tokens").expect("a table");
    let text = |name: &str, of: fn(&(&str, &str, &str, bool)) -> String| {
        Series::new(name.into(), rows.iter().map(of).collect::<Vec<_>>()).into_column()
    };
    let columns = table.columns.iter().map(|column| match column.name {
        "token_address" => text("token_address", |row| row.0.to_owned()),
        "symbol" => text("symbol", |row| row.1.to_owned()),
        "chain" => {
            let lists: Vec<Series> = rows
                .iter()
                .map(|row| Series::new("".into(), [row.2]))
                .collect();
            Series::new("chain".into(), lists).into_column()
        }
        "listed" => Series::new(
            "listed".into(),
            rows.iter().map(|row| row.3).collect::<Vec<_>>(),
        )
        .into_column(),
        _ => frames::canonical::empty(column, rows.len()),
    });
    DataFrame::new(rows.len(), columns.collect()).expect("valid")
}

#[allow(clippy::too_many_lines, reason = "one table of cases")]
#[test]
fn a_file_finds_its_token_or_says_what_is_needed() {
    let [uni, pepe, other, scam] =
        ["1", "2", "3", "4"].map(|digit| format!("0x{}", digit.repeat(40)));
    let mut tokens = KnownTokens::default();
    tokens.add(&frame(&[
        (&uni, "UNI", "eth", false),
        (&pepe, "PEPE", "eth", true),
        (&scam, "PEPE", "eth", false),
        (&other, "UNI", "base", false),
    ]));
    let chain = Chain::parse("eth").expect("a chain");
    let hints = |token: Option<&str>, as_usd| TokenHints {
        token: token.and_then(Address::parse),
        coin: None,
        contract: false,
        chain: &chain,
        as_usd,
        forced: false,
    };
    let text = |found: Result<TokenMatch, Refusal>| {
        found.map(|found| (found.address.to_string(), found.multiplier))
    };
    for (name, content, token, expected) in [
        ("UNIUSDT-1d.csv", None, None, Ok((uni.as_str(), 1.0))),
        ("1000PEPEUSDT.csv", None, None, Ok((pepe.as_str(), 1e3))),
        ("export.csv", Some("UNI/USD"), None, Ok((uni.as_str(), 1.0))),
        ("coinmetrics_uni.csv", None, None, Ok((uni.as_str(), 1.0))),
        (
            "candles.csv",
            None,
            Some(other.as_str()),
            Ok((other.as_str(), 1.0)),
        ),
        (
            "XRPUSDT.csv",
            None,
            None,
            Err(
                "is about `XRP`, which is not in the dataset; pass --coin XRP for the coin itself, or --token ADDRESS",
            ),
        ),
        (
            "eth_hourly.csv",
            None,
            None,
            Err(
                "does not name its token; pass --coin ETH for the coin itself, or --token ADDRESS for a token",
            ),
        ),
        (
            "candles.csv",
            None,
            None,
            Err("does not name its token; pass --token ADDRESS, or --coin SYMBOL"),
        ),
        (
            "UNI_BTC.csv",
            None,
            None,
            Err("has prices of UNI in BTC, but candles must be in USD"),
        ),
        (
            "UNI_BTC.csv",
            None,
            Some(uni.as_str()),
            Err("has prices of UNI in BTC, but candles must be in USD"),
        ),
        (
            "btceur.csv",
            None,
            Some(uni.as_str()),
            Err("has prices of BTC in EUR, but candles must be in USD"),
        ),
        (
            "btc_eth.csv",
            None,
            None,
            Err("has prices of BTC in ETH, but candles must be in USD"),
        ),
        (
            "btc_eth.csv",
            None,
            Some(uni.as_str()),
            Ok((uni.as_str(), 1.0)),
        ),
        (
            "uni_eth_pool.csv",
            None,
            Some(uni.as_str()),
            Ok((uni.as_str(), 1.0)),
        ),
        (
            "uni-pepe.csv",
            None,
            Some(uni.as_str()),
            Ok((uni.as_str(), 1.0)),
        ),
        (
            "my_eth_data.csv",
            None,
            Some(uni.as_str()),
            Ok((uni.as_str(), 1.0)),
        ),
        (
            "report_try.csv",
            None,
            None,
            Err("does not name its token; pass --token ADDRESS"),
        ),
        (
            "uni-pepe.csv",
            None,
            None,
            Err("has a name that fits several tokens (`UNI`, `PEPE`)"),
        ),
        (
            "XRPUSDT.csv",
            None,
            Some(uni.as_str()),
            Ok((uni.as_str(), 1.0)),
        ),
    ] {
        match (
            text(tokens.find_traded(name, content, hints(token, false))),
            expected,
        ) {
            (Ok((address, multiplier)), Ok(expected)) => {
                assert_eq!((address.as_str(), multiplier), expected, "{name}");
            }
            (Err(refusal), Err(expected)) => {
                assert!(refusal.reason.starts_with(expected), "{name}: {refusal:?}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
    assert!(
        tokens
            .find_traded("UNI_BTC.csv", None, hints(None, true))
            .is_ok()
    );
    let new = format!("0x{}", "5".repeat(40));
    for name in [
        "prices_usd_eur.csv",
        "backtest_one_usdt.csv",
        "btc_eth.csv",
        "report_try.csv",
        "final_try2.csv",
    ] {
        let found = tokens
            .find_traded(name, None, hints(Some(&new), false))
            .expect("valid");
        assert_eq!(
            (found.symbol, found.quoted),
            (None, false),
            "{name}: no word of it is the symbol, nor tells the currency"
        );
    }
    let others = |parts: &[&str], said: &str, coin: Option<&'static str>| {
        let hints = TokenHints {
            coin,
            ..hints(Some(said), false)
        };
        tokens
            .of_others(parts, hints)
            .into_iter()
            .map(|(part, refusal)| (part, refusal.say))
            .collect::<Vec<_>>()
    };
    let btc = Address::coin("BTC").to_string();
    assert_eq!(
        others(&["p.xlsx/BTC", "p.xlsx/ETH"], &btc, Some("btc")),
        [("p.xlsx/ETH".to_owned(), vec![("coin", "ETH".to_owned())])]
    );
    assert_eq!(
        others(&["p.xlsx/UNI", "p.xlsx/SHIB"], &uni, None),
        [(
            "p.xlsx/SHIB".to_owned(),
            vec![("token", ADDRESS.to_owned())]
        )]
    );
    assert_eq!(
        others(&["p.xlsx/AAVE", "p.xlsx/SHIB"], &uni, None).len(),
        2,
        "none of them is of the token"
    );
    for parts in [
        &["p.xlsx/BTC 2023", "p.xlsx/BTC 2024"][..],
        &["p.zip/BTCUSDT-2023.csv", "p.zip/BTCUSDT-2024.csv"],
        &["p.xlsx/data", "p.xlsx/Notes"],
    ] {
        assert!(others(parts, &btc, Some("BTC")).is_empty(), "{parts:?}");
    }
    let named = format!("export-{pepe}.csv");
    assert!(
        tokens
            .find(&named, None, hints(Some(&uni), false))
            .unwrap_err()
            .reason
            .contains("but --token is")
    );
    let named = format!("export-0x{}.csv", "9".repeat(40));
    let found = tokens
        .find(&named, None, hints(Some(&uni), false))
        .expect("valid");
    assert!(
        found.address.to_string() == uni && found.says.contains("warning: its name contains 0x9"),
        "{found:?}"
    );
}
