//! One test per boundary of the rules.

use polars::prelude::{Column, DataFrame, NamedFrom, Series as Numbers};

use super::*;
use crate::check::in_order::{SeriesChecker, StatisticValue};
use model::rows::TokenRow;

fn floats(name: &str, numbers: &[f64]) -> Column {
    Numbers::new(name.into(), numbers).into_column()
}

#[test]
fn every_use_names_a_rule_of_the_table_and_every_rule_a_column_of_the_schema() {
    let used = "step interval months two_lengths gap gap_between_files closes_of_lengths \
                supply_in_smallest_units supply_of_contract balances_in_smallest_units \
                price_beside_close unit_of_volume turnover traded_in_a_day transfer_within_supply \
                transfer_in_smallest_units balances_within_supply cap_of_supply one_token";
    for name in used.split(' ') {
        assert_eq!(named(name).name, name);
    }
    for rule in RULES {
        for column in rule.columns.iter().chain(rule.needs) {
            let (table, column) = column.split_once('.').expect("table.column");
            assert!(
                model::schema::table(table).is_some_and(|table| table.column(column).is_some()),
                "{}: {table}.{column}",
                rule.name
            );
        }
    }
}

#[test]
fn a_candle_is_told_by_the_first_rule_it_breaks() {
    for (open, high, low, close, expected) in [
        (2.0, 3.0, 1.0, 2.0, None),
        (1.0, 1.0, 1.0, 1.0, None),
        (2.0, 3.0, 0.0, 2.0, Some("price_above_zero")),
        (-1.0, 3.0, 1.0, 2.0, Some("price_above_zero")),
        (1.0, 3.0, 2.0, 2.5, Some("low_is_lowest")),
        (2.0, 1.0, 3.0, 2.0, Some("low_is_lowest")),
        (4.0, 3.0, 1.0, 2.0, Some("high_is_highest")),
        (2.0, 3.0, 1.0, 3.5, Some("high_is_highest")),
    ] {
        assert_eq!(
            candle(open, high, low, close).map(|rule| rule.name),
            expected,
            "{open} {high} {low} {close}"
        );
        assert_eq!(expected.is_none(), is_valid_candle(open, high, low, close));
    }
}

#[test]
fn candles_stay_and_other_figures_that_cannot_be_are_emptied() {
    let mut columns = vec![
        floats("open", &[2.0, 2.0]),
        floats("high", &[3.0, 1.0]),
        floats("low", &[1.0, 3.0]),
        floats("close", &[2.0, 2.0]),
        floats("volume", &[5.0, -5.0]),
    ];
    let breaches = row_breaches("candles", &mut columns);
    let told: Vec<_> = breaches
        .iter()
        .map(|breach| {
            (
                breach.rule.name,
                breach.column,
                breach.rows.clone(),
                breach.values.join(""),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                "low_is_lowest",
                "low",
                vec![1],
                "open 2, high 1, low 3, close 2".to_owned()
            ),
            ("not_negative", "volume", vec![1], "-5".to_owned())
        ]
    );
    let floats = |column: usize| columns[column].f64().expect("floats");
    assert_eq!(floats(2).get(1), Some(3.0));
    assert_eq!((floats(4).get(0), floats(4).get(1)), (Some(5.0), None));
}

#[test]
fn bounds_themselves_are_inside() {
    for (table, column, number, holds) in [
        ("tokens", "market_cap", 0.0, true),
        ("tokens", "market_cap", -1.0, false),
        ("tokens", "price", -5.0, false),
        ("holders", "balance", -3.0, false),
        ("fee_tiers", "fee", 1.0, true),
        ("fee_tiers", "fee", 1.01, false),
        ("pools", "fee", 0.1, true),
        ("pools", "fee", 0.3, false),
        ("yields", "apy", -3.0, true),
    ] {
        assert_eq!(
            row_breaches(table, &mut [floats(column, &[number])]).is_empty(),
            holds,
            "{table}.{column} {number}"
        );
    }
    for (decimals, holds) in [(0, true), (77, true), (78, false), (-1, false)] {
        let mut columns = [Numbers::new("decimals".into(), [i64::from(decimals)]).into_column()];
        assert_eq!(
            row_breaches("tokens", &mut columns).is_empty(),
            holds,
            "{decimals}"
        );
        assert_eq!(
            columns[0].i64().expect("whole numbers").get(0).is_some(),
            holds
        );
    }
    // An Excel serial date read as seconds is a day in 1970.
    for (time, holds) in [
        (45_000_000, false),
        (FIRST, true),
        (FIRST - 1, false),
        (LAST - 1, true),
        (LAST, false),
    ] {
        let times = Numbers::new("timestamp".into(), [time]).into_column();
        assert_eq!(
            row_breaches("candles", &mut [times]).is_empty(),
            holds,
            "{time}"
        );
    }
}

/// Candles of one token from (hour, volume) rows; every close is 10,000.
fn candles_frame(interval: Option<&str>, rows: &[(i64, f64)]) -> DataFrame {
    let times: Vec<i64> = rows.iter().map(|(hour, _)| hour * 3_600_000).collect();
    let volumes: Vec<f64> = rows.iter().map(|row| row.1).collect();
    DataFrame::new(
        rows.len(),
        vec![
            Numbers::new("token_address".into(), vec!["0xaa"; rows.len()]).into_column(),
            Numbers::new("interval".into(), vec![interval; rows.len()]).into_column(),
            Numbers::new("timestamp".into(), times).into_column(),
            floats("close", &vec![10_000.0; rows.len()]),
            floats("volume", &volumes),
        ],
    )
    .expect("columns of one height")
}

fn odd(interval: Option<&str>, rows: &[(i64, f64)]) -> Vec<(String, Option<u64>, u64)> {
    let numbers: Vec<u32> = (1..=rows.len() as u32).collect();
    let mut series = SeriesChecker::default();
    series.add("candles", &candles_frame(interval, rows), &numbers);
    series
        .end("file")
        .0
        .into_iter()
        .map(|odd| (odd.rule, odd.row, odd.count))
        .collect()
}

#[test]
fn a_long_gap_among_candles_that_lie_an_interval_apart_is_told() {
    let without = |missing: std::ops::Range<i64>| -> Vec<(i64, f64)> {
        (0..140)
            .filter(|hour| !missing.contains(hour))
            .map(|hour| (hour, 1.0))
            .collect()
    };
    assert_eq!(
        odd(Some("1h"), &without(70..94)),
        [("gap".to_owned(), Some(71), 0)]
    );
    assert_eq!(
        odd(None, &without(70..94)),
        [("gap".to_owned(), Some(71), 0)]
    );
    let less = |missing: std::ops::Range<i64>| {
        without(missing)
            .into_iter()
            .filter(|(hour, _)| *hour != 20)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        odd(Some("1h"), &less(70..94)),
        [("gap".to_owned(), Some(70), 0)]
    );
    assert_eq!(
        odd(Some("1h"), &less(70..93)),
        [],
        "23 candles, and another is missing"
    );
    assert_eq!(
        odd(Some("1h"), &without(70..73)),
        [("gap".to_owned(), Some(71), 0)],
        "the only gap"
    );
    assert_eq!(odd(Some("1h"), &without(70..72)), [], "2 candles");
    let latest_first: Vec<(i64, f64)> = without(70..94).into_iter().rev().collect();
    assert_eq!(
        odd(Some("1h"), &latest_first),
        [("gap".to_owned(), Some(47), 0)]
    );
    assert_eq!(odd(Some("1h"), &without(8..132)), [], "too few to tell");
    // Two pages, the later one first.
    let pages: Vec<(i64, f64)> = (70..140).chain(0..70).map(|hour| (hour, 1.0)).collect();
    assert_eq!(odd(Some("1h"), &pages), []);
    // Candles that exist only when there are trades.
    let rare: Vec<(i64, f64)> = (0..140).map(|nth| (nth * nth, 1.0)).collect();
    assert_eq!(odd(Some("1h"), &rare), []);
}

#[test]
fn steps_shorter_than_the_interval_are_told_and_short_gaps_are_not() {
    let every = |step: i64, count: i64| -> Vec<(i64, f64)> {
        (0..count).map(|i| (i * step, 1.0)).collect()
    };
    assert_eq!(odd(Some("1h"), &every(1, 20)), []);
    assert_eq!(odd(None, &every(4, 20)), []);
    // Newest first.
    assert_eq!(
        odd(
            Some("1h"),
            &every(1, 20).into_iter().rev().collect::<Vec<_>>()
        ),
        []
    );
    let mut gap = every(1, 20);
    gap.remove(7);
    assert_eq!(odd(Some("1h"), &gap), []);
    // Days before hours; runs of fewer than five steps do not count.
    let days: Vec<(i64, f64)> = (0..12)
        .map(|day| (day * 24, 1.0))
        .chain((288..310).map(|hour| (hour, 1.0)))
        .collect();
    assert_eq!(odd(None, &days), [("two_lengths".to_owned(), Some(2), 12)]);
    assert_eq!(
        odd(Some("1h"), &days),
        [("two_lengths".to_owned(), Some(2), 12)]
    );
    let few: Vec<(i64, f64)> = (0..4)
        .map(|day| (day * 24, 1.0))
        .chain((96..160).map(|hour| (hour, 1.0)))
        .collect();
    assert_eq!(odd(None, &few), [], "too few to tell");
    let months: Vec<(i64, f64)> = [0, 31, 59, 90, 120].map(|day| (day * 24, 1.0)).to_vec();
    assert_eq!(odd(None, &months), [("months".to_owned(), Some(3), 2)]);
    // Hourly rows labelled daily, and vice versa.
    assert_eq!(
        odd(Some("1d"), &every(1, 20)),
        [
            ("interval".to_owned(), Some(2), 1),
            ("step".to_owned(), Some(2), 19)
        ]
    );
    assert_eq!(
        odd(Some("1h"), &every(24, 20)),
        [("interval".to_owned(), Some(2), 1)]
    );
    let mut close = every(4, 20);
    close.insert(6, (21, 1.0));
    assert_eq!(odd(None, &close), [("step".to_owned(), Some(7), 2)]);
}

#[test]
fn days_among_hours_are_told_where_no_column_tells_them_apart() {
    let mixed = |days: i64, hours: i64| -> Vec<(i64, f64)> {
        (0..days)
            .map(|day| day * 24)
            .chain((0..hours).map(|hour| days * 24 + hour))
            .map(|hour| (hour, 1.0))
            .collect()
    };
    assert_eq!(
        odd(None, &mixed(20, 100)),
        [("two_lengths".to_owned(), Some(2), 20)]
    );
    assert_eq!(
        odd(Some("1h"), &mixed(20, 100)),
        [("two_lengths".to_owned(), Some(2), 20)]
    );
    assert_eq!(
        odd(None, &mixed(5, 100)),
        [("two_lengths".to_owned(), Some(2), 5)],
        "six candles a day apart"
    );
    assert_eq!(odd(None, &mixed(4, 100)), [], "too few to tell");
    let weeks_and_hours: Vec<(i64, f64)> = (0..6)
        .map(|week| week * 168)
        .chain((0..200).map(|hour| 1_008 + hour))
        .map(|hour| (hour, 1.0))
        .collect();
    assert_eq!(
        odd(None, &weeks_and_hours),
        [("two_lengths".to_owned(), Some(2), 6)],
        "and no gap"
    );
    // Markets that close at weekends, and candles that exist only when there are trades.
    let weeks: Vec<(i64, f64)> = (0..100)
        .filter(|day| day % 7 < 5)
        .map(|day| (day * 24, 1.0))
        .collect();
    assert_eq!(odd(None, &weeks), []);
    let rare: Vec<(i64, f64)> = (0..100).map(|nth| (nth + 3 * (nth / 2), 1.0)).collect();
    assert_eq!(odd(None, &rare), []);
}

#[test]
fn a_volume_that_changes_between_tokens_and_usd_is_told_where_it_does() {
    let rows = |factor: f64| -> Vec<(i64, f64)> {
        (0..40)
            .map(|i| {
                (
                    i,
                    if i < 20 { factor } else { 1.0 } * (5.0 + (i % 3) as f64),
                )
            })
            .collect()
    };
    assert_eq!(
        odd(Some("1h"), &rows(10_000.0)),
        [("unit_of_volume".to_owned(), Some(21), 1)]
    );
    assert_eq!(
        odd(Some("1h"), &rows(1.0 / 10_000.0)),
        [("unit_of_volume".to_owned(), Some(21), 1)]
    );
    // A jump that differs from the price.
    assert_eq!(odd(Some("1h"), &rows(100.0)), []);
}

#[test]
fn what_is_noted_of_a_token_is_judged_beside_its_figures() {
    let noted = |value: StatisticValue| in_order::TokenStatistic {
        token: "0xaa".into(),
        file: "file".into(),
        value,
    };
    let transfer = |largest: &str, count: u64| {
        noted(StatisticValue::Transfer {
            largest: largest.into(),
            row: 4,
            count,
        })
    };
    let tokens =
        "token_address,symbol,name,chain,decimals,price,total_supply\n0x1,A,A,eth,18,2,1000";
    let token = crate::sample::dataset(&[("tokens", tokens)]).tokens()[0]
        .row
        .clone();
    let told = |statistic: &in_order::TokenStatistic| {
        across_tables::statistic(&token, statistic).map(|found| found.0)
    };
    assert_eq!(told(&noted(StatisticValue::Turnover(30_000.0))), None);
    assert_eq!(
        told(&noted(StatisticValue::Turnover(50_000.0))),
        Some("turnover")
    );
    assert_eq!(told(&transfer("5000000000000000000", 30)), None);
    assert_eq!(
        told(&transfer("5000", 30)),
        Some("transfer_in_smallest_units")
    );
    assert_eq!(told(&transfer("5000", 3)), None);
    assert_eq!(
        told(&transfer("2000000000000000000000000", 3)),
        Some("transfer_within_supply")
    );
    assert_eq!(across_tables::balances(&token, 1_000.5), None);
    assert_eq!(
        across_tables::balances(&token, 1_002.0).map(|found| found.0),
        Some("balances_within_supply")
    );
    let without = |supply: Option<f64>| TokenRow {
        total_supply: supply,
        price: None,
        ..token.clone()
    };
    assert_eq!(
        across_tables::balances(&without(None), 1e27).map(|found| found.0),
        Some("balances_in_smallest_units")
    );
    assert_eq!(across_tables::balances(&without(None), 4.2e17), None);
    assert_eq!(
        across_tables::figures(&without(Some(1e27)), false).map(|found| found.0),
        Some("supply_in_smallest_units")
    );
    assert_eq!(across_tables::figures(&without(Some(4.2e17)), false), None);
    assert_eq!(
        across_tables::figures(&without(Some(1e27)), true).map(|found| found.0),
        Some("supply_of_contract")
    );
    for (close, told) in [
        (2.0, false),
        (3.0, false),
        (3.1, true),
        (1.4, false),
        (1.3, true),
        (0.0, false),
        (f64::NAN, false),
    ] {
        assert_eq!(
            across_tables::price(&token, close).map(|found| found.0),
            told.then_some("price_beside_close"),
            "{close}"
        );
    }
    assert_eq!(
        across_tables::figures(
            &TokenRow {
                market_cap: Some(1_500.0),
                ..token.clone()
            },
            false
        ),
        None
    );
    let six = |supply: f64| TokenRow {
        decimals: Some(6),
        market_cap: Some(1_500.0),
        total_supply: Some(supply),
        ..token.clone()
    };
    assert_eq!(
        (
            across_tables::figures(&six(1e9), false).map(|found| found.0),
            across_tables::figures(&six(1e7), false)
        ),
        (Some("cap_of_supply"), None)
    );
    assert_eq!(
        across_tables::figures(
            &TokenRow {
                market_cap: Some(1_500.0),
                total_supply: Some(1e21),
                ..token
            },
            false
        )
        .map(|found| found.0),
        Some("cap_of_supply")
    );
}
