//! Lengths of a file's candles, and gaps: two lengths in one file are never silently read as one, and candles that are missing from all
//! files are reported.

use super::{Desk, PEPE, TOKENS, UNI, reasons};

const HEADER: &str = "date,open,high,low,close,volume\n";
/// 2024-01-01, in hours since 1970.
const START: i64 = 473_352;

/// Rows of candles at these hours since the start of 2024.
fn candles(hours: impl Iterator<Item = i64>) -> String {
    let row = |hour: i64| format!("{},4,5,3,4.5,{}\n", (START + hour) * 3_600, 10 + hour % 7);
    let rows: Vec<String> = hours.map(row).collect();
    rows.concat()
}

fn days(from: i64, count: i64) -> impl DoubleEndedIterator<Item = i64> {
    (from..from + count).map(|day| day * 24)
}

/// Hours of which a random half is missing.
fn rare(count: i64) -> impl Iterator<Item = i64> {
    let mut state = 7_u64;
    (0..count).filter(move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 63 == 0
    })
}

#[test]
fn two_lengths_in_one_file_are_refused_and_forced_they_stay_told() {
    let hours = |from_day: i64, count: i64| from_day * 24..from_day * 24 + count;
    for (what, text, told) in [
        (
            "days, then hours",
            candles(days(0, 60).chain(hours(60, 48))),
            Some("47 steps of 1h from 2024-03-01 01:00"),
        ),
        (
            "hours, then days",
            candles(hours(0, 48).chain(days(2, 60))),
            Some("among steps of 1d"),
        ),
        (
            "few days, then many hours",
            candles(days(0, 20).chain(hours(20, 500))),
            Some("20 steps of 1d"),
        ),
        (
            "few hours, then many days",
            candles(hours(0, 15).chain(days(1, 90))),
            Some("steps of 1h"),
        ),
        (
            "newest first",
            candles(days(0, 60).chain(hours(60, 48)).rev()),
            Some("47 steps of 1h"),
        ),
        (
            "five days, then two of hours",
            candles(days(0, 5).chain(hours(5, 48))),
            Some("5 steps of 1d"),
        ),
        (
            "a part of four hours",
            candles(hours(0, 40).chain((10..40).map(|nth| nth * 4))),
            Some("steps of 4h"),
        ),
        ("days", candles(days(0, 60)), None),
        ("hours with few trades", candles(rare(3_000)), None),
        (
            "days without weekends",
            candles((0..200).filter(|day| day % 7 < 5).map(|day| day * 24)),
            None,
        ),
    ] {
        let desk = Desk::new();
        desk.write("uni.csv", format!("{HEADER}{text}"));
        let args = ["uni.csv", "--token", UNI];
        let Some(told) = told else {
            desk.imports(&args);
            continue;
        };
        let err = desk.refuses(&args);
        assert!(
            err.contains("contains candles of two lengths")
                && err.contains(told)
                && err.contains("a column `interval`"),
            "{what}: {err}"
        );
        desk.imports(&[&args[..], &["--broken-too"]].concat());
        let dataset = desk.dataset();
        let found = dataset.table("candles").unwrap().findings.counts();
        for part in [
            "imported from `uni.csv`: forced with --broken-too, although it contains candles of two lengths",
            "so candles of two lengths are read as one series",
        ] {
            assert!(
                found.iter().any(|count| count.reason.contains(part)),
                "{what}: {part}: {found:?}"
            );
        }
    }
}

#[test]
fn lengths_are_told_by_token_and_by_the_column_that_says_them() {
    let desk = Desk::new();
    let of = |token: &str, text: String| {
        text.lines()
            .map(|line| format!("{token},{line}\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let text = of(UNI, candles(days(0, 60))) + &of(PEPE, candles(0..48));
    desk.write("both.csv", format!("token_address,{HEADER}{text}"));
    desk.imports(&["both.csv"]);
    desk.clean();
    let desk = Desk::new();
    let of = |interval: &str, text: String| {
        text.lines()
            .map(|line| format!("{interval},{line}\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let text = of("1d", candles(days(0, 60))) + &of("1h", candles(1_440..1_488));
    desk.write("uni.csv", format!("interval,{HEADER}{text}"));
    desk.imports(&["uni.csv", "--token", UNI]);
    desk.clean();
}

#[test]
fn months_are_no_length_of_candles() {
    let desk = Desk::new();
    let rows: Vec<String> = (0..30)
        .map(|month| {
            format!(
                "{}-{:02}-01,4,5,3,4.5,7\n",
                2022 + month / 12,
                month % 12 + 1
            )
        })
        .collect();
    desk.write("uni.csv", format!("{HEADER}{}", rows.concat()));
    desk.write(
        "own.csv",
        format!(
            "token_address,{HEADER}{}",
            rows.iter()
                .map(|row| format!("{UNI},{row}"))
                .collect::<Vec<_>>()
                .concat()
        ),
    );
    for args in [&["uni.csv", "--token", UNI][..], &["own.csv"]] {
        let err = desk.refuses(args);
        assert!(
            err.contains("contains monthly candles") && err.contains("use daily or weekly candles"),
            "{err}"
        );
    }
}

#[test]
fn candles_that_no_file_has_are_told_with_the_files_beside_them() {
    for (what, first, second, told) in [
        (
            "two months",
            days(0, 90),
            days(152, 90),
            Some("62 candles of 1d are missing between 2024-03-30 00:00, where `"),
        ),
        (
            "February",
            days(0, 31),
            days(60, 200),
            Some("29 candles of 1d are missing between 2024-01-31 00:00"),
        ),
        (
            "four days",
            days(0, 31),
            days(35, 31),
            Some("4 candles of 1d"),
        ),
        ("nothing", days(0, 31), days(31, 31), None),
        ("nothing, as they overlap", days(0, 31), days(20, 31), None),
        ("two days", days(0, 31), days(33, 31), None),
    ] {
        let desk = Desk::new();
        let (first, second) = (candles(first), candles(second));
        for (name, text) in [
            ("a/1.csv", &first),
            ("a/2.csv", &second),
            ("data/klines/1.csv", &first),
            ("data/klines/2.csv", &second),
        ] {
            desk.write(name, format!("{HEADER}{text}"));
        }
        let notes = desk.imports(&["a/1.csv", "a/2.csv", "--token", UNI])["notes"].to_string();
        assert_eq!(
            told.is_some_and(|told| notes.contains(told)),
            told.is_some(),
            "{what}: {notes}"
        );
        assert_eq!(
            notes.contains("are missing between"),
            told.is_some(),
            "{what}: {notes}"
        );
        // One after the other they are the same, and then one file.
        let later = Desk::new();
        let notes = ["1.csv", "2.csv"].map(|name| {
            later.write(
                name,
                format!("{HEADER}{}", if name == "1.csv" { &first } else { &second }),
            );
            later.imports(&[name, "--token", UNI])["notes"].to_string()
        });
        let one_gap = |notes: &String| {
            notes.contains("are missing between") && notes.contains("`candles.parquet` ends")
        };
        assert_eq!(
            notes.each_ref().map(one_gap),
            [false, told.is_some()],
            "{what}: {notes:?}"
        );
        let dataset = later.dataset();
        let found = dataset.table("candles").unwrap().findings.kept();
        assert_eq!(
            found
                .iter()
                .any(|finding| finding.reason.contains("candles are missing")),
            told.is_some(),
            "{what}: {found:?}"
        );
        std::fs::remove_file(desk.data().join("candles.parquet")).unwrap();
        let says = format!(
            "path = \"klines/*.csv\"\nset = {{ token_address = \"{UNI}\" }}\ncolumns = {{ timestamp = \"date\" }}"
        );
        desk.write("data/dataset.toml", format!("[tables.candles]\n{says}\n"));
        let dataset = desk.dataset();
        let found = dataset.table("candles").unwrap().findings.kept();
        let gap = found
            .iter()
            .find(|finding| finding.reason.contains("are missing between"));
        assert_eq!(gap.is_some(), told.is_some(), "{what}: {found:?}");
        if let (Some(gap), Some(told)) = (gap, told) {
            assert!(
                gap.reason.contains(told) && gap.reason.contains("`klines/1.csv` ends"),
                "{what}: {gap:?}"
            );
            assert_eq!(
                (gap.file.as_str(), gap.value.as_deref()),
                ("klines/2.csv", Some("UNI")),
                "{what}"
            );
        }
    }
}

#[test]
fn a_month_that_one_file_lacks_is_told() {
    let desk = Desk::empty();
    desk.write("data/tokens.csv", TOKENS);
    desk.write(
        "uni.csv",
        format!("{HEADER}{}", candles(days(0, 31).chain(days(60, 100)))),
    );
    let report = desk.imports(&["uni.csv", "--token", UNI]);
    assert!(
        reasons(&report, 0)
            .iter()
            .any(|(reason, _)| reason.starts_with("candles are missing")),
        "{report:#}"
    );
    let dataset = desk.dataset();
    let found = dataset.table("candles").unwrap().findings.kept();
    let told = found
        .iter()
        .filter_map(|finding| finding.value.as_deref())
        .find(|value| value.contains("candles of 1d"));
    assert_eq!(
        told,
        Some(format!("29 candles of 1d from 2024-02-01 00:00 to 2024-02-29 00:00: {UNI}").as_str()),
        "{found:?}"
    );
}

#[test]
fn rows_without_prices_show_how_long_candles_are() {
    let text = |step: i64, empty: &str, is_priced: &dyn Fn(i64) -> bool| {
        let row = |nth: i64| {
            let cells = if is_priced(nth) {
                "4,5,3,4.5,10"
            } else {
                empty
            };
            format!("{},{cells}\n", START * 3_600 + nth * step)
        };
        format!("{HEADER}{}", (0..300).map(row).collect::<String>())
    };
    let (nan, zero) = ("NaN,NaN,NaN,NaN,NaN", "0,0,0,0,0");
    let rare = |nth: i64| nth % 7 == 0 || nth % 9 == 0;
    let rule = "assumed: its candles are 1m long, like the steps between its rows";
    for (what, text, interval, assumed, asked) in [
        ("rare trades", text(60, nan, &rare), 60_000, true, None),
        (
            "rare trades, with zeros",
            text(60, zero, &rare),
            60_000,
            true,
            None,
        ),
        (
            "every ninth minute",
            text(60, nan, &|nth| nth % 9 == 0),
            60_000,
            true,
            None,
        ),
        (
            "most minutes",
            text(60, nan, &|nth| nth % 10 != 3),
            60_000,
            false,
            None,
        ),
        (
            "days without weekends",
            text(86_400, nan, &|nth| nth % 7 < 5),
            86_400_000,
            false,
            None,
        ),
        (
            "every fifth minute",
            text(60, nan, &|nth| nth % 5 == 0),
            300_000,
            false,
            Some(("1m", "5m")),
        ),
        (
            "weeks among days",
            text(86_400, nan, &|nth| nth % 7 == 0),
            604_800_000,
            false,
            Some(("1d", "1w")),
        ),
    ] {
        let desk = Desk::new();
        desk.write("uni.csv", text);
        let args = ["uni.csv", "--token", UNI];
        let set = asked.map(|(_, longer)| format!("interval={longer}"));
        if let Some((short, longer)) = asked {
            let err = desk.refuses(&args);
            assert!(
                err.contains(&format!(
                    "has a row every {short} and prices every {longer}"
                )),
                "{what}: {err}"
            );
        }
        let more: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        let says = desk.imports(&[&args[..], &more].concat())["files"][0]["says"].to_string();
        assert_eq!(says.contains(rule), assumed, "{what}: {says}");
        let dataset = desk.dataset();
        let candles = dataset.candles().of(&super::address(UNI));
        assert_eq!(candles.series()[0].0.0, interval, "{what}");
    }
}
