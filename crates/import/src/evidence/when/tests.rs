//! Tests of times in every notation, of the order of day and month, and of dates that a spreadsheet exchanged.

use super::*;

const NOON: i64 = 1_690_718_400_000;
const DAY: i64 = 1_690_675_200_000;

#[test]
fn a_time_is_read_however_it_is_written() {
    for (text, when, ms) in [
        ("1690718400", TimeStyle::Epoch, NOON),
        ("1690718400.0", TimeStyle::Epoch, NOON),
        ("1690718400000", TimeStyle::Epoch, NOON),
        ("1690718400000000", TimeStyle::Epoch, NOON),
        ("1690718400000000000", TimeStyle::Epoch, NOON),
        ("1.6907184e9", TimeStyle::Epoch, NOON),
        ("20230730", TimeStyle::Digits, DAY),
        ("202307301200", TimeStyle::Digits, NOON),
        ("20230730 120000", TimeStyle::Digits, NOON),
        ("20230730 12:00:00.000", TimeStyle::Digits, NOON),
        ("20230730T120000Z", TimeStyle::Digits, NOON),
        ("20230730T140000+0200", TimeStyle::Digits, NOON),
        ("20230730-1200", TimeStyle::Digits, NOON),
        ("20230730T", TimeStyle::Digits, DAY),
        ("45137", TimeStyle::Excel, DAY),
        ("45137.5", TimeStyle::Excel, NOON),
        ("2023-07-30", TimeStyle::YearFirst, DAY),
        ("2023/07/30 12:00", TimeStyle::YearFirst, NOON),
        ("2023-07-30T12:00:00.000Z", TimeStyle::YearFirst, NOON),
        ("2023-07-30 12:00:00.000 UTC", TimeStyle::YearFirst, NOON),
        ("2023-07-30 12:00:00+00:00", TimeStyle::YearFirst, NOON),
        ("2023-07-30 14:00:00+0200", TimeStyle::YearFirst, NOON),
        ("2023-07-30 12-PM", TimeStyle::YearFirst, NOON),
        ("2023-07-30 12-AM", TimeStyle::YearFirst, DAY),
        ("2023年7月30日", TimeStyle::YearFirst, DAY),
        ("Jul 30, 2023", TimeStyle::YearFirst, DAY),
        ("30 July 2023", TimeStyle::YearFirst, DAY),
        ("30-Jul-23", TimeStyle::YearFirst, DAY),
        ("Jul-30-2023 12:00:00 PM +UTC", TimeStyle::YearFirst, NOON),
        ("Sun, 30 Jul 2023 12:00:00 GMT", TimeStyle::YearFirst, NOON),
        (
            "Sun Jul 30 2023 12:00:00 GMT+0000",
            TimeStyle::YearFirst,
            NOON,
        ),
        (
            "Sun Jul 30 2023 14:00:00 GMT+0200 (Central European Summer Time)",
            TimeStyle::YearFirst,
            NOON,
        ),
        (
            "Sun Jul 30 2023 12:00:00 GMT+0000 (UTC)",
            TimeStyle::YearFirst,
            NOON,
        ),
        ("2023-07-30 20:00:00 UTC+8", TimeStyle::YearFirst, NOON),
        ("Sun Jul 30 12:00:00 UTC 2023", TimeStyle::YearFirst, NOON),
        ("Sun Jul 30 12:00:00 +0000 2023", TimeStyle::YearFirst, NOON),
        ("07-30-2023", TimeStyle::MonthFirst, DAY),
        ("7/30/2023 12:00", TimeStyle::MonthFirst, NOON),
        ("7/30/2023 12:00:00 AM", TimeStyle::MonthFirst, DAY),
        ("30.07.2023", TimeStyle::DayFirst, DAY),
    ] {
        assert_eq!(
            (TimeStyle::of(&[text]), when.ms(text)),
            (Ok(Some(when)), Some(ms)),
            "{text}"
        );
    }
    for text in [
        "1234",
        "0.5",
        "hello",
        "13:00",
        "1.5",
        "2023",
        "2023-13-40",
        "EST 2023-01-01 10:00 EST",
        "20230730 1",
        "20230730T25",
        "2023073T",
        "20230732 120000",
        "20230730 250000",
        "17000000-0001",
        "2023-07-30 10:00 (CET)",
        "2023-07-30 10:00 GMT+1 hour",
        "Sun Jul 30 12:00:00 EST 2023",
    ] {
        assert_eq!(TimeStyle::of(&[text]), Ok(None), "{text}");
    }
}

#[test]
fn day_and_month_are_told_by_what_cannot_be_one_or_by_even_steps() {
    for (cells, expected) in [
        (
            &["01/02/2023", "13/02/2023"][..],
            Ok(Some(TimeStyle::DayFirst)),
        ),
        (
            &["01/02/2023", "01/13/2023"],
            Ok(Some(TimeStyle::MonthFirst)),
        ),
        // Four days of January, or the first of four months.
        (
            &["01/02/2023", "01/03/2023", "01/04/2023", "01/05/2023"],
            Err(AmbiguousDate),
        ),
        (
            &["02/02/2023", "02/03/2023", "02/04/2023", "02/05/2023"],
            Ok(Some(TimeStyle::MonthFirst)),
        ),
        (
            &[
                "03/04/2023 22:00",
                "03/04/2023 23:00",
                "04/04/2023 00:00",
                "04/04/2023 01:00",
            ],
            Ok(Some(TimeStyle::DayFirst)),
        ),
        (&["03.04.2023", "07.09.2023"], Ok(Some(TimeStyle::DayFirst))),
        (
            &["01/02/2023", "02/02/2023", "03/02/2023", "04/02/2023"],
            Ok(Some(TimeStyle::DayFirst)),
        ),
        (&["01/02/2023", "05/03/2023"], Err(AmbiguousDate)),
    ] {
        assert_eq!(TimeStyle::of(cells), expected, "{cells:?}");
    }
}

#[test]
fn days_and_months_that_a_spreadsheet_exchanged_are_exchanged_back() {
    let days: Vec<(u32, u32)> = (1..=2)
        .flat_map(|month| (1..=29).map(move |day| (month, day)))
        .collect();
    let of = |date: &dyn Fn(u32, u32) -> String| {
        days.iter()
            .map(|(month, day)| date(*month, *day))
            .collect::<Vec<_>>()
    };
    let read = |month: u32, day: u32| format!("2024-{month:02}-{day:02}T00:00:00");
    let day_first = |month: u32, day: u32| format!("{day:02}/{month:02}/2024");
    for (what, cells, expected) in [
        (
            "exchanged",
            of(&|month, day| {
                if day < 13 {
                    read(day, month)
                } else {
                    day_first(month, day)
                }
            }),
            TimeStyle::DayFirstExchanged,
        ),
        (
            "exchanged, months first",
            of(&|month, day| {
                if day < 13 {
                    read(day, month)
                } else {
                    format!("{month}/{day}/2024")
                }
            }),
            TimeStyle::MonthFirstExchanged,
        ),
        (
            "dates and texts",
            of(&|month, day| {
                if day < 13 {
                    read(month, day)
                } else {
                    day_first(month, day)
                }
            }),
            TimeStyle::DayFirst,
        ),
        (
            "texts, then dates",
            of(&|month, day| {
                if month == 1 {
                    day_first(month, day)
                } else {
                    read(month, day)
                }
            }),
            TimeStyle::DayFirst,
        ),
        ("dates", of(&read), TimeStyle::YearFirst),
    ] {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        assert_eq!(TimeStyle::of(&cells), Ok(Some(expected)), "{what}");
        let right = days
            .iter()
            .map(|(month, day)| TimeStyle::YearFirst.ms(&read(*month, *day)));
        assert!(
            cells.iter().map(|cell| expected.ms(cell)).eq(right),
            "{what}"
        );
        assert_eq!(
            expected.assumed("x").is_some(),
            what.starts_with("exchanged"),
            "{what}"
        );
    }
}

#[test]
fn seconds_and_milliseconds_may_stand_in_one_column() {
    let cells = ["1690675200", "1690675200000"];
    assert_eq!(TimeStyle::of(&cells), Ok(Some(TimeStyle::Epoch)));
    assert_eq!(cells.map(|cell| TimeStyle::Epoch.ms(cell)), [Some(DAY); 2]);
}
