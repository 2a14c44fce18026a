//! Ambiguous time columns: time zones, candle ends instead of starts, interchangeable day and month, digits rounded away by a spreadsheet,
//! events reverted by the chain.

use model::time::HOUR_MS;

use super::{Desk, PEPE, UNI, address, taken};
use crate::shared::shared;

/// Hourly candles from 2024-03-01, with the time column named `header`.
fn hourly(header: &str, time: impl Fn(i64) -> String) -> String {
    let row = |i: i64| {
        let price = 100 + i;
        format!(
            "{},{price},{},{},{},5.5",
            time(i),
            price + 2,
            price - 2,
            price + 1
        )
    };
    format!("{header},open,high,low,close,volume\n")
        + &(0..30).map(row).collect::<Vec<_>>().join("\n")
}

fn clock(i: i64) -> String {
    format!("2024-03-{:02} {:02}:00", 1 + i / 24, i % 24)
}

#[test]
fn local_times_are_refused_by_the_name_of_their_zone() {
    let with_column = |zone: &str| {
        hourly("time", clock)
            .lines()
            .map(|line| format!("{line},{zone}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let named = |zone| with_column(zone).replacen(&format!("volume,{zone}"), "volume,tz", 1);
    for (file, zone) in [
        (hourly("Date (CET)", clock), "CET"),
        (hourly("timestamp_utc8", clock), "utc8"),
        (named("Asia/Shanghai"), "Asia/Shanghai"),
    ] {
        let desk = Desk::new();
        desk.write("a.csv", file);
        let refused = desk.refuses(&["a.csv", "--token", UNI]);
        assert!(
            refused.contains(&format!("its times are in the time zone `{zone}`"))
                && refused.contains("convert them to UTC"),
            "{refused}"
        );
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
        assert_eq!(
            taken(&desk.imports(&["a.csv", "--token", UNI]), 0, "candles")[0],
            30
        );
    }
}

#[test]
fn ends_of_candles_are_put_where_the_candles_begin() {
    let first = 1_709_251_200_000;
    for (header, begins) in [
        ("close time", first - HOUR_MS),
        ("period_end", first - HOUR_MS),
        ("open time", first),
        ("time", first),
    ] {
        let desk = Desk::new();
        desk.write("a.csv", hourly(header, clock));
        desk.imports(&["a.csv", "--token", UNI]);
        let dataset = desk.clean();
        let candles = dataset.candles().of(&address(UNI));
        assert_eq!(
            candles
                .series()
                .first()
                .map(|(_, candles)| candles.timestamp[0]),
            Some(begins),
            "{header}"
        );
    }
}

/// Times and closes of the only series that the files give, imported one after another.
fn closes(desk: &Desk, files: &[&str], said: &[&str]) -> Vec<(i64, f64)> {
    for file in files {
        desk.imports(&[&[*file], said].concat());
    }
    let dataset = desk.dataset();
    let frame = dataset.table("candles").unwrap().frame();
    let token = frame
        .column("token_address")
        .unwrap()
        .str()
        .unwrap()
        .get(0)
        .unwrap()
        .to_owned();
    let held = dataset.candles().of(&address(&token));
    let series = held.series();
    assert_eq!(
        (series.len(), series[0].1.len()),
        (1, frame.height()),
        "{files:?}"
    );
    series[0]
        .1
        .timestamp
        .iter()
        .copied()
        .zip(series[0].1.close.iter().copied())
        .collect()
}

#[test]
fn one_coin_of_two_sources_has_the_same_closes_at_the_same_times() {
    let case = |name: &str| shared(&format!("data/reports/cases/{name}"));
    let [
        Some(klines),
        Some(chart),
        Some(snapped),
        Some(other_klines),
        Some(metrics),
    ] = [
        "66/ETHUSDT-1d.csv",
        "66/market_chart.json",
        "66/snapped.csv",
        "67/binance.csv",
        "67/pepe.csv",
    ]
    .map(case)
    else {
        return;
    };
    let text = std::fs::read_to_string(&metrics).unwrap();
    let without_price = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{},{},{}\n", cells[0], cells[1], cells[4])
    };
    let all_empty = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        format!(
            "{},{},{}\n",
            cells[0],
            if cells[2] == "PriceUSD" { cells[2] } else { "" },
            cells[3]
        )
    };
    let rates = Desk::new();
    rates.write(
        "rates.csv",
        text.lines().map(without_price).collect::<String>(),
    );
    rates.write("empty.csv", text.lines().map(all_empty).collect::<String>());
    for (one, other) in [
        (&klines, chart.as_str()),
        (&klines, &snapped),
        (&other_klines, &metrics),
        (
            &other_klines,
            &rates.path("rates.csv").display().to_string(),
        ),
        (
            &other_klines,
            &rates.path("empty.csv").display().to_string(),
        ),
    ] {
        let [one, of_other] =
            [one.as_str(), other].map(|file| closes(&Desk::new(), &[file], &["--token", PEPE]));
        assert_eq!(one.last().unwrap().0, of_other.last().unwrap().0, "{other}");
        let shared: Vec<(f64, f64)> = one
            .iter()
            .filter_map(|(ms, close)| Some((*close, of_other.iter().find(|(of, _)| of == ms)?.1)))
            .collect();
        assert!(
            shared.len() + 1 >= one.len(),
            "{other}: {} of {}",
            shared.len(),
            one.len()
        );
        assert!(
            shared.iter().all(|(a, b)| (a - b).abs() < 1e-4 * a),
            "{other}: {shared:?}"
        );
    }
    // The holders of a day are of that day, whenever its price is.
    rates.imports(&["rates.csv", "--token", PEPE]);
    let dataset = rates.dataset();
    let counts = dataset.table("holder_counts").unwrap().frame();
    let first = counts
        .column("date")
        .unwrap()
        .to_physical_repr()
        .i32()
        .unwrap()
        .get(0);
    assert_eq!(first, Some(19_723), "2024-01-01: {counts:?}");
}

#[test]
fn the_point_of_now_is_no_candle_and_seconds_do_not_change_the_length() {
    let case = |name: &str| shared(&format!("data/reports/cases/{name}"));
    let Some(days) = (0..6)
        .map(|day| case(&format!("19/day{day}.json")))
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    let of_pepe = ["--token", PEPE];
    for (count, files) in [(90, &days[..1]), (95, &days), (95, &days[5..])] {
        let found = closes(&Desk::new(), files, &of_pepe);
        assert_eq!(found.len(), count, "{files:?}");
        assert!(
            found.iter().all(|(ms, _)| ms % (24 * HOUR_MS) == 0),
            "{files:?}"
        );
    }
    let (Some(live), Some(hours), Some(cut)) = (
        case("18/BTC-USD.csv"),
        case("69/real_steps.json"),
        case("27/mangled_time.csv"),
    ) else {
        return;
    };
    assert_eq!(closes(&Desk::new(), &[&live], &["--coin", "BTC"]).len(), 60);
    let desk = Desk::new();
    let found = closes(&desk, &[&hours], &of_pepe);
    assert!(
        found.len() == 201 && found.windows(2).all(|two| two[1].0 - two[0].0 == HOUR_MS),
        "{found:?}"
    );
    let noted = desk
        .dataset()
        .table("candles")
        .unwrap()
        .findings
        .kept()
        .iter()
        .any(|finding| finding.reason.contains("assumed: its candles are 1h apart"));
    assert!(noted, "each load reports what was assumed");
    let refused = Desk::new().refuses(&[&cut, "--token", PEPE]);
    assert!(refused.contains("has lost its last digits"), "{refused}");
}

#[test]
fn rows_that_are_as_they_should_be_stay_where_they_are() {
    for (what, minutes) in [
        ("hours", (0..40).map(|nth| nth * 60).collect::<Vec<i64>>()),
        ("weeks", (0..40).map(|nth| nth * 7 * 1_440).collect()),
        (
            "four hours from 2:00",
            (0..40).map(|nth| nth * 240 + 120).collect(),
        ),
        (
            "days with gaps",
            (0..40)
                .filter(|nth| nth % 9 > 1)
                .map(|nth| nth * 1_440)
                .collect(),
        ),
        ("rare minutes", vec![0, 5, 10, 12, 17]),
        ("few minutes", vec![0, 1, 3]),
    ] {
        let desk = Desk::new();
        let row = |minute: &i64| format!("{},4,5,3,4.5,7\n", 1_709_251_200 + minute * 60);
        desk.write(
            "uni.csv",
            format!(
                "time,open,high,low,close,volume\n{}",
                minutes.iter().map(row).collect::<String>()
            ),
        );
        let found = closes(&desk, &["uni.csv"], &["--token", UNI]);
        let expected: Vec<i64> = minutes
            .iter()
            .map(|minute| 1_709_251_200_000 + minute * 60_000)
            .collect();
        assert_eq!(
            found.into_iter().map(|(ms, _)| ms).collect::<Vec<_>>(),
            expected,
            "{what}"
        );
    }
}

#[test]
fn times_that_a_spreadsheet_rounded_are_refused() {
    let desk = Desk::new();
    desk.write(
        "a.csv",
        hourly("time", |i| {
            format!("{:.5E}", (1_709_251_200_000 + i * 7 * 24 * HOUR_MS) as f64).replace('E', "E+")
        }),
    );
    let refused = desk.refuses(&["a.csv", "--token", UNI]);
    assert!(refused.contains("has lost its last digits"), "{refused}");
}

#[test]
fn transfers_whose_days_and_months_could_change_places_are_asked_for() {
    let row = |i: usize, day: &str| {
        format!(
            "0x{i:064x},0x{:040x},0x{:040x},{UNI},{},{day}",
            i + 7,
            i + 8,
            1_000_000_000_000_000_000_u64 * (i as u64 + 1)
        )
    };
    let days = ["3/1/2024 12:30", "4/2/2024 08:00", "5/3/2024 09:15"];
    let desk = Desk::new();
    desk.write(
        "t.csv",
        "transaction_hash,from_address,to_address,token_address,value,block_timestamp\n".to_owned()
            + &days
                .iter()
                .enumerate()
                .map(|(i, day)| row(i + 1, day))
                .collect::<Vec<_>>()
                .join("\n"),
    );
    let refused = desk.refuses(&["t.csv"]);
    assert!(
        refused.contains("could be day/month or month/day") && refused.contains("--dates"),
        "{refused}"
    );
    assert_eq!(
        taken(
            &desk.imports(&["t.csv", "--dates", "month"]),
            0,
            "transfers"
        )[0],
        3
    );
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
    desk.write(
        "logs.json",
        serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": events}).to_string(),
    );
    let report = desk.imports(&["logs.json"]);
    assert_eq!(taken(&report, 0, "transfers")[0], 4, "{report:#}");
    assert!(
        report
            .to_string()
            .contains("removed by a reorganization × 1"),
        "{report:#}"
    );
}

#[test]
fn recorded_tables_keep_their_times_and_tokens_under_other_names() {
    for (name, table, rows) in [
        ("transfers.parquet", "transfers", 21_000),
        ("holder_counts.parquet", "holder_counts", 1_000),
    ] {
        let Some(file) = shared(&format!("data/real/{name}")) else {
            return;
        };
        let desk = Desk::empty();
        let report = desk.imports(&[&file, "--unit", "raw"]);
        assert!(taken(&report, 0, table)[0] > rows, "{report:#}");
        let says = report.to_string();
        assert!(
            !says.contains("has no times") && !says.contains("assumed: the chain"),
            "{report:#}"
        );
    }
}

#[test]
fn times_of_common_programs_are_read() {
    let day = 24 * HOUR_MS;
    let first = 1_709_251_200_000;
    for (what, name, time, step, begins, says) in [
        (
            "HistData",
            "DAT_ASCII_UNIUSD_M1_202403.csv",
            "202403{d} {h}0000",
            HOUR_MS,
            first,
            "assumed: its times are in UTC; files with such names are usually from HistData",
        ),
        (
            "ISO 8601, short",
            "a.csv",
            "202403{d}T{h}0000Z",
            HOUR_MS,
            first,
            "",
        ),
        (
            "JavaScript",
            "a.csv",
            "Fri Mar {d} 2024 {h}:00:00 GMT+0100 (Central European Standard Time)",
            HOUR_MS,
            first - HOUR_MS,
            "",
        ),
        (
            "closes of days",
            "a.csv",
            "2024-03-{n} 23:58:00",
            day,
            first,
            "the ends of the candles",
        ),
    ] {
        let desk = Desk::new();
        let text = hourly("time", |i| {
            let (d, h, n) = (
                format!("{:02}", 1 + i / 24),
                format!("{:02}", i % 24),
                format!("{:02}", 1 + i),
            );
            time.replace("{d}", &d)
                .replace("{h}", &h)
                .replace("{n}", &n)
        });
        desk.write(name, text);
        let report = desk.imports(&[name, "--token", UNI, "--dry-run"]);
        let told = report["files"][0]["says"].to_string();
        assert!(
            told.contains(says) && told.contains("HistData") == says.contains("HistData"),
            "{what}: {told}"
        );
        let found = closes(&desk, &[name], &["--token", UNI]);
        assert_eq!(
            (found[0].0, found[1].0 - found[0].0, found.len()),
            (begins, step, 30),
            "{what}"
        );
    }
    let desk = Desk::new();
    desk.write(
        "a.csv",
        hourly("Date (CET)", |i| {
            format!("202403{:02} {:02}0000", 1 + i / 24, i % 24)
        }),
    );
    assert!(
        desk.refuses(&["a.csv", "--token", UNI])
            .contains("its times are in the time zone `CET`")
    );
}

#[test]
fn of_two_columns_in_two_time_zones_the_universal_one_is_taken() {
    let epoch = |i: i64| (1_709_251_200 + i * 3_600).to_string();
    // Five hours ahead of UTC.
    let local = |i: i64| format!("2024-03-{:02} {:02}:00:00", 1 + (i + 5) / 24, (i + 5) % 24);
    let universal = |i: i64| format!("2024-03-{:02} {:02}:00:00", 1 + i / 24, i % 24);
    let two = |one: &dyn Fn(i64) -> String, other: &dyn Fn(i64) -> String| {
        hourly("", |i| format!("{},{}", one(i), other(i)))
            .split_once('\n')
            .unwrap()
            .1
            .to_owned()
    };
    for (what, header, text, is_told) in [
        (
            "local first",
            "open_time_iso,open_time_unix",
            two(&local, &epoch),
            true,
        ),
        ("named UTC", "date,date_utc", two(&local, &universal), true),
        (
            "with an offset",
            "time,utc_time",
            two(&local, &|i| universal(i) + "+00:00"),
            true,
        ),
        ("the same time", "time,unix", two(&universal, &epoch), false),
        (
            "start and end",
            "open_time,close_time",
            two(&universal, &|i| epoch(i + 1)),
            false,
        ),
    ] {
        let desk = Desk::new();
        desk.write(
            "a.csv",
            format!("{header},open,high,low,close,volume\n{text}"),
        );
        let says =
            desk.imports(&["a.csv", "--token", UNI, "--dry-run"])["files"][0]["says"].to_string();
        assert_eq!(
            says.contains("in another time zone"),
            is_told,
            "{what}: {says}"
        );
        assert_eq!(
            closes(&desk, &["a.csv"], &["--token", UNI])[0].0,
            1_709_251_200_000,
            "{what}"
        );
    }
}

#[test]
fn times_without_a_zone_are_said_to_be_in_utc_or_read_in_the_stated_one() {
    const FIRST: i64 = 1_709_251_200_000;
    const NOTE: &str = "assumed: its times are in UTC";
    let day = |clock: &'static str| move |i: i64| format!("2024-03-{:02}{clock}", 1 + i);
    let half = |i: i64| clock(i).replace(":00", ":30");
    for (what, header, time, zone, begins, says) in [
        (
            "days of India",
            "date",
            &day(" 05:30") as &dyn Fn(i64) -> String,
            "",
            FIRST + 330 * 60_000,
            "its candles begin at 05:30",
        ),
        (
            "hours of India",
            "date",
            &half,
            "",
            FIRST + HOUR_MS / 2,
            "its candles begin at 00:30",
        ),
        (
            "said",
            "date",
            &day(" 05:30"),
            "Asia/Kolkata",
            FIRST,
            "in the time zone Asia/Kolkata, from --timezone",
        ),
        (
            "as an offset",
            "date",
            &half,
            "+05:30",
            FIRST - 5 * HOUR_MS,
            "in the time zone +05:30",
        ),
        (
            "an offset west",
            "date",
            &clock,
            "-05:00",
            FIRST + 5 * HOUR_MS,
            "in the time zone -05:00",
        ),
        (
            "named by the header",
            "Date (CET)",
            &clock,
            "CET",
            FIRST - HOUR_MS,
            "in the time zone CET",
        ),
        ("midnights", "date", &day(" 00:00"), "", FIRST, ""),
        ("hours", "date", &clock, "", FIRST, ""),
        (
            "UTC",
            "date_utc",
            &day(" 05:30"),
            "",
            FIRST + 330 * 60_000,
            "",
        ),
        (
            "with an offset",
            "date",
            &day(" 05:30+05:30"),
            "Europe/Berlin",
            FIRST,
            "--timezone is ignored",
        ),
        (
            "days are days",
            "date",
            &day(""),
            "Europe/Berlin",
            FIRST,
            "--timezone is ignored",
        ),
        (
            "since 1970",
            "date",
            &|i: i64| (1_709_271_000 + i * 86_400).to_string(),
            "",
            FIRST + 330 * 60_000,
            "",
        ),
    ] {
        let desk = Desk::new();
        desk.write("a.csv", hourly(header, time));
        let zone: Vec<&str> = if zone.is_empty() {
            Vec::new()
        } else {
            vec!["--timezone", zone]
        };
        let args = [&["a.csv", "--token", UNI][..], &zone].concat();
        let told =
            desk.imports(&[&args[..], &["--dry-run"]].concat())["files"][0]["says"].to_string();
        assert!(
            told.contains(says) && told.contains(NOTE) == says.contains("candles begin"),
            "{what}: {told}"
        );
        assert_eq!(closes(&desk, &["a.csv"], &args[1..])[0].0, begins, "{what}");
    }
}

#[test]
fn days_since_1970_and_scripts_dates_are_read_and_times_of_1970_are_refused() {
    let first = 1_704_067_200_000;
    for (header, time, says) in [
        (
            "date",
            &(|i: i64| (19_723 + i).to_string()) as &dyn Fn(i64) -> String,
            "assumed: the numbers in `date` are days since 1970-01-01",
        ),
        (
            "date",
            &|i: i64| (45_292 + i).to_string(),
            "Excel day numbers",
        ),
        (
            "date",
            &|i: i64| format!("\"new Date(2024,0,{})\"", 1 + i),
            "",
        ),
    ] {
        let desk = Desk::new();
        desk.write("a.csv", hourly(header, time));
        let told =
            desk.imports(&["a.csv", "--token", UNI, "--dry-run"])["files"][0]["says"].to_string();
        assert!(
            told.contains(says) && told.contains("since 1970") == says.contains("since 1970"),
            "{told}"
        );
        let found = closes(&desk, &["a.csv"], &["--token", UNI]);
        assert_eq!(
            (found[0].0, found[1].0 - found[0].0),
            (first, 24 * HOUR_MS),
            "{says}"
        );
    }
    for (header, time, says) in [
        (
            "Date",
            &(|i: i64| format!("1970-01-20 17:{:02}:07", 21 + i)) as &dyn Fn(i64) -> String,
            "is in 1970, before any token traded; seconds since",
        ),
        (
            "Date",
            &|i: i64| format!("1990-03-{:02}", 1 + i),
            "is in 1990, before any token traded; remove",
        ),
        ("id", &|i: i64| (19_723 + i).to_string(), "unknown format"),
        (
            "block",
            &|i: i64| (19_723 + i).to_string(),
            "unknown format",
        ),
    ] {
        let desk = Desk::new();
        desk.write("a.csv", hourly(header, time));
        let refused = desk.refuses(&["a.csv", "--token", UNI]);
        assert!(refused.contains(says), "{refused}");
    }
}
