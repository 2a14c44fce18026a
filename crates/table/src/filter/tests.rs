//! Which rows the conditions of a filter keep.

use super::*;
use model::time::{DAY_MS, Day, HOUR_MS, Time};

pub(super) const COLUMNS: &[FilterColumn] = &[
    FilterColumn::new("symbol", ColumnKind::Text, &[]).searched(),
    FilterColumn::new("name", ColumnKind::Text, &[]).searched(),
    FilterColumn::new("chain", ColumnKind::Chain, &["chains"]),
    FilterColumn::new("market_cap", ColumnKind::Number, &["cap", "mcap"]),
    FilterColumn::new("price_change_24h", ColumnKind::Number, &["24h", "change"]),
    FilterColumn::new("labels", ColumnKind::List, &[]),
    FilterColumn::new("starred", ColumnKind::Flag, &[]),
    FilterColumn::new("recommendedAction", ColumnKind::Text, &["action"]),
    FilterColumn::new("counted_at", ColumnKind::Time, &["counted"]),
    FilterColumn::new("date", ColumnKind::Time, &[]),
    FilterColumn::new("age", ColumnKind::Duration, &[]),
];

fn usd_coin(column: &str) -> Scalar<'static> {
    match column {
        "symbol" => Scalar::text("USDC"),
        "name" => Scalar::text("USD Coin"),
        "chain" => Scalar::list(["eth", "base"]),
        "market_cap" => Scalar::Float(4.1e9),
        "price_change_24h" => Scalar::Float(-0.5),
        "starred" => Scalar::Flag(true),
        // 2026-01-31T10:30:15Z and its day.
        "counted_at" => Scalar::Time(Time(1_769_855_415_000)),
        "date" => Scalar::Day(Day(20_484)),
        "age" => Scalar::Duration(89 * DAY_MS + 3 * HOUR_MS),
        _ => Scalar::Missing,
    }
}

#[test]
fn a_condition_more_holds_beside_all_others() {
    for (text, longer) in [
        ("", "cap>1m"),
        (" usd age<9d ", "usd age<9d cap>1m"),
        ("cap>1m usd", "cap>1m usd"),
        ("age<9d or cap>1m", "(age<9d or cap>1m) cap>1m"),
        (
            "(age<9d or cap>1m or chain:eth)",
            "(age<9d or cap>1m or chain:eth) cap>1m",
        ),
        ("usd (age<9d or cap>1m)", "usd (age<9d or cap>1m) cap>1m"),
    ] {
        assert_eq!(
            parse(text, COLUMNS).map(|filter| filter.with(text, "cap>1m")),
            Ok(longer.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn conditions_keep_the_rows_that_meet_them() {
    let cases = [
        ("", true),
        ("usd", true),
        ("USD coin", true),
        ("usd tether", false),
        ("chain:base", true),
        ("chain:bas", false),
        ("chain!=bsc", true),
        ("chain != eth", false),
        ("cap>1m", true),
        ("cap > 4.1b", false),
        ("cap>=4.1b", true),
        ("MCAP<5,000m", true),
        ("change<-0.4%", true),
        ("24h:-0.5", true),
        ("name:coin", true),
        ("name=coin", false),
        ("name=\"usd coin\"", true),
        ("\"sd co\"", true),
        ("\"sdco\"", false),
        ("starred:yes", true),
        ("starred=no", false),
        ("starred!=yes", false),
        ("counted>2026-01", false),
        ("counted>=2026-01", true),
        ("counted<=2026-01", true),
        ("counted<2026-01", false),
        ("counted>2025", true),
        ("counted>2026", false),
        ("counted<=2026", true),
        ("counted>2025-12", true),
        ("counted<=2025-12", false),
        ("counted>2026-01-30", true),
        ("counted<=2026-01-30", false),
        ("counted>2026-01-31", false),
        ("counted<=2026-01-31", true),
        ("counted>2026-01-31T10", false),
        ("counted<=2026-01-31T10", true),
        ("counted>2026-01-31T10:30:14", true),
        ("counted>2026-02", false),
        ("counted<2026-01-31T10:31", true),
        ("counted=2026", true),
        ("counted=2026-01-31", true),
        ("counted!=2026-01-30", true),
        ("counted:10:30", true),
        ("counted:\"31 10\"", true),
        ("counted:11:30", false),
        ("date>=2026-01-31", true),
        ("date>2026-01-31", false),
        ("date<=2026-01-31", true),
        ("date=2026-01", true),
        ("date:01-31", true),
        ("date:00:00", false),
        ("action:BUY", false),
        ("action!=BUY", false),
        ("chain:BASE", true),
        ("chain:ethereum", true),
        ("chain=8453", true),
        ("chain!=polygon", true),
        ("chain!=ethereum", false),
        ("age<90d", true),
        ("age<89d", false),
        ("age>=89d", true),
        ("age:89d", true),
        ("age=12w", true),
        ("age!=13w", true),
        ("age>2min", true),
        ("age<3mo", true),
        ("age>1.5y", false),
        ("age<=1y", true),
        ("chain:base cap>1m usd", true),
        ("chain:base cap<1m usd", false),
        ("cap<1m or chain:base", true),
        ("cap<1m or chain:bsc or age<90d", true),
        ("cap<1m or chain:base age>1y", false),
        ("(cap<1m or chain:base) age>1y", false),
        ("usd (cap<1m or age<90d) chain:eth", true),
        ("tether (cap<1m or age<90d)", false),
        // A missing value beside one that is enough.
        ("labels:burn or chain:base", true),
        ("labels:burn or chain:bsc", false),
        ("labels:burn or labels!=burn", false),
    ];
    for (text, expected) in cases {
        let filter = parse(text, COLUMNS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(filter.matches(usd_coin), expected, "{text}");
    }
}

/// Of `<`, `=` and `>` one holds of every date and number, `<=` is `<` or `=`, and `>=` is `>` or `=`.
#[test]
fn the_signs_of_a_span_exclude_each_other() {
    let start = 1_769_817_600_000; // 2026-01-31T00:00:00Z
    let times = (-30..60).map(|hour| Scalar::Time(Time(start + hour * HOUR_MS + HOUR_MS / 2)));
    let days = (20_470..20_500).map(|day| Scalar::Day(Day(day)));
    let numbers = [
        "0",
        "1",
        "999999999999999999",
        "1000000000000000000",
        "1000000000000000001",
    ]
    .map(|digits| Scalar::Digits(digits.into()));
    let cases: [(&str, &[&str], Vec<Scalar<'_>>); 3] = [
        (
            "counted",
            &[
                "2026",
                "2026-01",
                "2026-01-31",
                "2026-01-31T10",
                "2026-01-31T10:30",
                "2026-02-01T00:30:00",
            ],
            times.collect(),
        ),
        (
            "date",
            &["2026", "2026-01", "2026-01-31", "2026-01-31T10"],
            days.collect(),
        ),
        (
            "cap",
            &["0.5", "1e18", "1000000000000000001", "-1", "1.5"],
            numbers.to_vec(),
        ),
    ];
    for (column, wanted, values) in cases {
        for (wanted, value) in wanted
            .iter()
            .flat_map(|wanted| values.iter().map(move |value| (wanted, value)))
        {
            let holds = |sign: &str| {
                let condition = format!("{column}{sign}{wanted}");
                parse(&condition, COLUMNS).is_ok_and(|filter| filter.matches(|_| value.clone()))
            };
            let [less, equal, greater] = ["<", "=", ">"].map(holds);
            assert_eq!(
                usize::from(less) + usize::from(equal) + usize::from(greater),
                1,
                "{column} {wanted} {value:?}"
            );
            assert_eq!(
                (holds("<="), holds(">=")),
                (less || equal, greater || equal),
                "{column} {wanted} {value:?}"
            );
            assert_eq!(holds("!="), !equal, "{column} {wanted} {value:?}");
        }
    }
}
