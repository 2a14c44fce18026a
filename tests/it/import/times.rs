//! Ambiguous time columns: time zones, candle ends instead of starts, interchangeable day and month, digits rounded away by a spreadsheet,
//! events reverted by the chain.

use model::time::HOUR_MS;

use super::{Desk, UNI, address, taken};
use crate::shared::shared;

/// Hourly candles from 2024-03-01, with the time column named `header`.
fn hourly(header: &str, time: impl Fn(i64) -> String) -> String {
    let row = |i: i64| {
        let price = 100 + i;
        format!("{},{price},{},{},{},5.5", time(i), price + 2, price - 2, price + 1)
    };
    format!("{header},open,high,low,close,volume\n") + &(0..30).map(row).collect::<Vec<_>>().join("\n")
}

fn clock(i: i64) -> String {
    format!("2024-03-{:02} {:02}:00", 1 + i / 24, i % 24)
}

#[test]
fn local_times_are_refused_by_the_name_of_their_zone() {
    let with_column = |zone: &str| hourly("time", clock).lines().map(|line| format!("{line},{zone}")).collect::<Vec<_>>().join("\n");
    let named = |zone| with_column(zone).replacen(&format!("volume,{zone}"), "volume,tz", 1);
    for (file, zone) in
        [(hourly("Date (CET)", clock), "CET"), (hourly("timestamp_utc8", clock), "utc8"), (named("Asia/Shanghai"), "Asia/Shanghai")]
    {
        let desk = Desk::new();
        desk.write("a.csv", file);
        let refused = desk.refuses(&["a.csv", "--token", UNI]);
        assert!(refused.contains(&format!("its times are of the zone `{zone}`")) && refused.contains("give them in UTC"), "{refused}");
    }
    // With an offset, in UTC, or as dates, the times are unambiguous.
    for file in [
        hourly("Date (CET)", |i| clock(i) + "+01:00"),
        hourly("Date (UTC)", clock),
        named("UTC"),
        hourly("Date (CET)", |i| format!("2024-03-{:02}", i + 1)),
    ] {
        let desk = Desk::new();
        desk.write("a.csv", file);
        assert_eq!(taken(&desk.imports(&["a.csv", "--token", UNI]), 0, "candles")[0], 30);
    }
}

#[test]
fn ends_of_candles_are_put_where_the_candles_begin() {
    let first = 1_709_251_200_000;
    for (header, begins) in [("close time", first - HOUR_MS), ("period_end", first - HOUR_MS), ("open time", first), ("time", first)] {
        let desk = Desk::new();
        desk.write("a.csv", hourly(header, clock));
        desk.imports(&["a.csv", "--token", UNI]);
        let dataset = desk.clean();
        let candles = dataset.candles().of(&address(UNI));
        assert_eq!(candles.series().first().map(|(_, candles)| candles.timestamp[0]), Some(begins), "{header}");
    }
}

#[test]
fn times_that_a_spreadsheet_rounded_are_refused() {
    let desk = Desk::new();
    desk.write("a.csv", hourly("time", |i| format!("{:.5E}", (1_709_251_200_000 + i * 7 * 24 * HOUR_MS) as f64).replace('E', "E+")));
    let refused = desk.refuses(&["a.csv", "--token", UNI]);
    assert!(refused.contains("has lost its last digits"), "{refused}");
}

#[test]
fn transfers_whose_days_and_months_could_change_places_are_asked_for() {
    let row = |i: usize, day: &str| {
        format!("0x{i:064x},0x{:040x},0x{:040x},{UNI},{},{day}", i + 7, i + 8, 1_000_000_000_000_000_000_u64 * (i as u64 + 1))
    };
    let days = ["3/1/2024 12:30", "4/2/2024 08:00", "5/3/2024 09:15"];
    let desk = Desk::new();
    desk.write(
        "t.csv",
        "transaction_hash,from_address,to_address,token_address,value,block_timestamp\n".to_owned()
            + &days.iter().enumerate().map(|(i, day)| row(i + 1, day)).collect::<Vec<_>>().join("\n"),
    );
    let refused = desk.refuses(&["t.csv"]);
    assert!(refused.contains("could be day/month or month/day") && refused.contains("--dates"), "{refused}");
    assert_eq!(taken(&desk.imports(&["t.csv", "--dates", "month"]), 0, "transfers")[0], 3);
}

#[test]
fn events_that_the_chain_took_back_are_left_out() {
    let word = |number: u64| format!("0x{number:064x}");
    let event = |i: u64, removed: bool| {
        serde_json::json!({
            "address": UNI, "blockNumber": format!("0x{:x}", 19_000_000 + i), "transactionHash": word(i), "logIndex": "0x1", "removed": removed,
            "data": word(1_000_000_000_000_000_000 * i), "topics": [
                "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", word(7 + i), word(8 + i)
            ]
        })
    };
    let desk = Desk::new();
    let events: Vec<_> = (1..=5).map(|i| event(i, i == 3)).collect();
    desk.write("logs.json", serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": events}).to_string());
    let report = desk.imports(&["logs.json"]);
    assert_eq!(taken(&report, 0, "transfers")[0], 4, "{report:#}");
    assert!(report.to_string().contains("removed by a reorganisation × 1"), "{report:#}");
}

#[test]
fn recorded_tables_keep_their_times_and_tokens_under_other_names() {
    for (name, table, rows) in [("transfers.parquet", "transfers", 21_000), ("holder_counts.parquet", "holder_counts", 1_000)] {
        let Some(file) = shared(&format!("data/real/{name}")) else { return };
        let desk = Desk::empty();
        let report = desk.imports(&[&file, "--unit", "raw"]);
        assert!(taken(&report, 0, table)[0] > rows, "{report:#}");
        let says = report.to_string();
        assert!(!says.contains("has no times") && !says.contains("assumed: the chain"), "{report:#}");
    }
}
