//! Several series, lists or tokens in one file: never mixed, and never one of them in silence.

use model::data::AddressRows as _;
use serde_json::json;

use super::{super::PEPE, Desk, UNI, address, candles, taken};

#[test]
fn rows_of_several_series_are_never_mixed() {
    let both = |last: &str| {
        let mut text = format!("date,{last},open,high,low,close\n");
        for row in candles() {
            for (name, times) in [("UNI", 1.0), ("PEPE", 3.0)] {
                text.push_str(&format!(
                    "{},{name},{},{},{},{}\n",
                    row[0],
                    row[1] * times,
                    row[2] * times,
                    row[3] * times,
                    row[4] * times
                ));
            }
        }
        text
    };
    let desk = Desk::new();
    desk.write("both.csv", both("symbol"));
    assert_eq!(taken(&desk.imports(&["both.csv"]), 0, "candles")[0], 120);
    assert_eq!(
        desk.dataset().candles().of(&address(UNI)).series()[0]
            .1
            .close[0],
        candles()[0][4]
    );
    let desk = Desk::empty();
    desk.write("both.csv", both("exchange"));
    let reason = desk.refuses(&["both.csv", "--token", UNI]);
    assert!(
        reason.contains("`exchange` has `PEPE`, `UNI`") && reason.contains("--pick exchange="),
        "{reason}"
    );
    assert_eq!(
        taken(
            &desk.imports(&["both.csv", "--token", UNI, "--pick", "exchange=UNI"]),
            0,
            "candles"
        )[0],
        60
    );
    let desk = Desk::empty();
    desk.write(
        "hidden.csv",
        both("note")
            .lines()
            .map(|line| {
                line.replacen(",UNI,", ",", 1)
                    .replacen(",PEPE,", ",", 1)
                    .replacen("note,", "", 1)
                    + "\n"
            })
            .collect::<String>(),
    );
    assert!(
        desk.refuses(&["hidden.csv", "--token", UNI])
            .contains("it contains several series")
    );
}

#[test]
fn a_series_that_appears_late_in_a_file_refuses_that_file_alone() {
    let hourly = |from: u64, count: u64, price: f64| -> String {
        let row = |i: u64| {
            format!(
                "{},{price},{},{},{price},7\n",
                from + i * 3_600,
                price + 1.0,
                price - 1.0
            )
        };
        (0..count).map(row).collect()
    };
    let header = "timestamp,open,high,low,close,volume\n";
    let desk = Desk::new();
    // Beyond the sampled rows, the same times recur with other prices.
    desk.write(
        "late.csv",
        format!(
            "{header}{}{}",
            hourly(1_700_006_400, 3_000, 40.0),
            hourly(1_700_006_400, 500, 3_000.0)
        ),
    );
    desk.write(
        "fine.csv",
        format!("{header}{}", hourly(1_600_002_000, 300, 5.0)),
    );
    let (code, report, err) = desk.run(&["late.csv", "fine.csv", "--token", UNI]);
    assert_eq!(code, 1, "{report:#}");
    let file = |name: &str| {
        report["files"]
            .as_array()
            .unwrap()
            .iter()
            .find(|file| file["file"] == name)
            .unwrap()
            .clone()
    };
    let refused = file("late.csv")["refused"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        refused.contains("several series") && err.contains("late.csv"),
        "{refused}: {err}"
    );
    assert!(file("fine.csv")["refused"].is_null(), "{report:#}");
    let dataset = desk.dataset();
    let candles = dataset.candles().of(&address(UNI));
    let candles = candles.series();
    assert_eq!(
        (
            candles.len(),
            candles[0].1.close.len(),
            candles[0].1.close[0]
        ),
        (1, 300, 5.0),
        "no row of the other is there"
    );
}

#[test]
fn lists_of_one_shape_in_one_text_are_never_one_of_them_in_silence() {
    let prices = |i: u64, price: f64| {
        [price, price + 2.0, price - 1.0, price + 1.0].map(|price| price + i as f64)
    };
    let list = |price: f64| -> Vec<serde_json::Value> {
        let row = |i: u64| {
            let [open, high, low, close] = prices(i, price);
            json!({"timestamp": 1_708_953_600 + i * 900, "open": open, "high": high, "low": low, "close": close})
        };
        (0..12).map(row).collect()
    };
    let bare = |price: f64| -> Vec<serde_json::Value> {
        let row = |i: u64| {
            let [open, high, low, close] = prices(i, price);
            json!([1_708_953_600 + i * 900, open, high, low, close, 7])
        };
        (0..12).map(row).collect()
    };
    let closes = |price: f64| -> Vec<f64> { (0..12).map(|i| prices(i, price)[3]).collect() };
    // Lists named after known tokens are those tokens' candles.
    for (name, text) in [
        (
            "objects.json",
            json!({"UNIUSDT": list(7.0), "PEPEUSDT": list(3.0)}),
        ),
        (
            "lists.json",
            json!({"UNIUSDT": bare(7.0), "PEPEUSDT": bare(3.0)}),
        ),
    ] {
        let desk = Desk::new();
        desk.write(name, text.to_string());
        assert_eq!(taken(&desk.imports(&[name]), 0, "candles")[0], 24, "{name}");
        let dataset = desk.dataset();
        for (token, price) in [(UNI, 7.0), (PEPE, 3.0)] {
            assert_eq!(
                dataset.candles().of(&address(token)).series()[0].1.close,
                closes(price),
                "{name}"
            );
        }
    }
    // For other lists, the user selects one.
    let desk = Desk::new();
    desk.write(
        "two.json",
        json!({"candles": list(7.0), "extreme": list(3.0)}).to_string(),
    );
    let reason = desk.refuses(&["two.json", "--token", UNI]);
    assert!(
        reason.contains("`list` has `candles`, `extreme`") && reason.contains("--pick list="),
        "{reason}"
    );
    assert_eq!(
        taken(
            &desk.imports(&["two.json", "--token", UNI, "--pick", "list=extreme"]),
            0,
            "candles"
        )[0],
        12
    );
    assert_eq!(
        desk.dataset().candles().of(&address(UNI)).series()[0]
            .1
            .close,
        closes(3.0)
    );
    let token = |digit: &str| json!([{"chainId": 1, "address": format!("0x{}", digit.repeat(40)), "symbol": "A", "name": "A", "decimals": 18}]);
    desk.write(
        "tokens.json",
        json!({"name": "x", "tokens": token("5"), "removed": token("6")}).to_string(),
    );
    let reason = desk.refuses(&["tokens.json"]);
    assert!(
        reason.contains("several lists of the same shape: `tokens`, `removed`"),
        "{reason}"
    );
    desk.imports(&["tokens.json", "--pick", "list=tokens"]);
    assert!(
        desk.dataset()
            .token(&address(&format!("0x{}", "5".repeat(40))))
            .is_some()
    );
    assert!(
        desk.dataset()
            .token(&address(&format!("0x{}", "6".repeat(40))))
            .is_none()
    );
}

#[test]
fn a_column_of_addresses_that_is_called_token_tells_the_token_of_each_row() {
    let desk = Desk::new();
    let rows = format!(
        "When,Wallet,Balance,Symbol,USD Balance,Network,Address,Token\n\
         2025-04-26,Fund,70.25,UNI,500,Ethereum,0x{0},{UNI}\n2025-04-26,Fund,3.5,PEPE,1,Ethereum,0x{0},{PEPE}\n\
         2025-04-26,Other,1.25,UNI,9,Ethereum,0x{1},{UNI}\n",
        "7".repeat(40),
        "8".repeat(40)
    );
    desk.write("treasury.csv", rows);
    assert_eq!(taken(&desk.imports(&["treasury.csv"]), 0, "holders")[0], 3);
    let dataset = desk.dataset();
    let held = |token: &str| {
        dataset
            .holders_of(&address(token))
            .balances()
            .map(|(_, balance)| balance)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (held(UNI), held(PEPE)),
        (vec![Some(70.25), Some(1.25)], vec![Some(3.5)])
    );
}

#[test]
fn decimals_that_are_said_are_of_one_token_and_no_amount_is_lost_for_the_lack_of_others() {
    let rows = |tokens: &[&str]| -> String {
        let row = |(i, token): (usize, &&str)| {
            format!(
                "0x{:064x},{},2025-04-26,0x{},0x{},{}.5,{token}\n",
                i,
                100 + i,
                "7".repeat(40),
                "8".repeat(40),
                i
            )
        };
        let rows: String = tokens.iter().enumerate().map(row).collect();
        format!("hash,block,date,from,to,amount,token_address\n{rows}")
    };
    let desk = Desk::empty();
    desk.write("one.csv", rows(&[UNI; 6]));
    assert!(
        desk.refuses(&["one.csv"])
            .contains("pass them, as in --decimals 18")
    );
    assert_eq!(
        taken(
            &desk.imports(&["one.csv", "--decimals", "6"]),
            0,
            "transfers"
        )[0],
        6
    );
    let values: Vec<Option<f64>> = desk
        .dataset()
        .transfers()
        .chunks(&address(UNI))
        .flatten()
        .map(|row| row.value.map(|value| value.0))
        .collect();
    assert_eq!(values[1], Some(1.5e6));
    let desk = Desk::empty();
    desk.write("two.csv", rows(&[UNI, PEPE, UNI, PEPE, UNI, PEPE]));
    for args in [&["two.csv"][..], &["two.csv", "--decimals", "18"]] {
        let reason = desk.refuses(args);
        assert!(
            reason.contains(UNI)
                && reason.contains(PEPE)
                && reason.contains("token_address, symbol, name, chain, decimals"),
            "{reason}"
        );
    }
    // A token that appears only beyond the sampled rows.
    let late: Vec<&str> = std::iter::repeat_n(UNI, 2_500)
        .chain(std::iter::repeat_n(PEPE, 200))
        .collect();
    desk.write("late.csv", rows(&late));
    let reason = desk.refuses(&["late.csv", "--decimals", "18"]);
    assert!(
        reason.contains("200 rows, out of 2700, whose amounts are left empty"),
        "{reason}"
    );
}
