//! Figures of tokens: their history, staleness, days, and what is given or derived.

use super::{moves::tests::candles, *};
use load::sample;
use model::time::HOUR_MS;

#[test]
fn thirty_one_daily_closes_are_read_whatever_they_are_made_of() {
    let daily = candles(
        &(0..40)
            .map(|day| (24 * day, day as f64 + 1.0))
            .collect::<Vec<_>>(),
    );
    let closes: Vec<f64> = (10..=40).map(f64::from).collect();
    assert_eq!(
        daily_closes(&[(Interval::DAY, daily.as_candles())], false),
        closes
    );
    // Hourly candles of the last days neither shorten the history nor count twice, and they extend it where the daily ones end.
    let hourly = candles(
        &(38 * 24..41 * 24 - 6)
            .map(|hour| (hour, 1000.0 + hour as f64))
            .collect::<Vec<_>>(),
    );
    let both = [
        (Interval::HOUR, hourly.as_candles()),
        (Interval::DAY, daily.as_candles()),
    ];
    let expected: Vec<f64> = closes[1..]
        .iter()
        .copied()
        .chain([1000.0 + f64::from(41 * 24 - 7)])
        .collect();
    assert_eq!(daily_closes(&both, false), expected);
    assert_eq!(
        daily_closes(&both[..1], false),
        [1000.0 + 935.0, 1000.0 + 959.0, 1000.0 + 977.0]
    );
    // Intervals coarser than a day have no daily closes.
    assert_eq!(
        daily_closes(&[(Interval::WEEK, daily.as_candles())], false),
        [0.0; 0]
    );
}

#[test]
fn a_token_is_stale_when_its_last_candle_is_more_than_three_of_them_behind() {
    let dataset = sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain\n0x01,A,A,eth\n0x02,B,B,eth\n0x03,C,C,eth\n0x04,D,D,eth\n0x05,E,E,eth",
        ),
        (
            "candles",
            "token_address,timestamp,open,high,low,close,interval
             0x01,2026-01-09T06:00:00Z,1,1,1,1,1h
             0x02,2026-01-09T05:00:00Z,1,1,1,1,1h
             0x03,2026-01-09T01:00:00Z,1,1,1,1,1h
             0x04,2026-01-07,1,1,1,1,1d
             0x04,2026-01-02T00:00:00Z,1,1,1,1,1h",
        ),
    ]);
    let behind = |token: &TokenSummary| {
        token
            .last_candle
            .map(|last| last.behind.map(|lag| lag.by / HOUR_MS))
    };
    let found: Vec<_> = Market::new(&dataset).tokens.iter().map(behind).collect();
    assert_eq!(
        found,
        [Some(None), Some(None), Some(Some(4)), Some(None), None]
    );
}

#[test]
fn a_count_of_holders_is_old_once_others_or_the_candles_are_a_week_ahead() {
    let old = |counts: &str, candles: &str| -> Vec<Option<bool>> {
        let dataset = sample::dataset(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x01,A,A,eth\n0x02,B,B,eth\n0x03,C,C,eth",
            ),
            (
                "holder_counts",
                &format!("token_address,date,holders\n{counts}"),
            ),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{candles}"),
            ),
        ]);
        Market::new(&dataset)
            .tokens
            .iter()
            .map(|token| token.last_count.map(|count| count.old))
            .collect()
    };
    let counts = "0x01,2026-01-09,5\n0x01,2026-01-10,\n0x02,2026-01-08,5";
    assert_eq!(
        old(counts, ""),
        [Some(false), Some(true), None],
        "a count without a number is none"
    );
    let candle = |day: u32| format!("0x01,2026-01-{day:02},1,1,1,1,1d");
    assert_eq!(
        old("0x01,2026-01-09,5", &candle(16)),
        [Some(false), None, None]
    );
    assert_eq!(
        old("0x01,2026-01-09,5", &candle(17)),
        [Some(true), None, None]
    );
}

#[test]
fn a_figure_has_the_day_of_its_row_and_figures_of_different_times_are_not_multiplied() {
    let dataset = sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain,price,price_as_of,market_cap,total_supply,holders,stats_as_of
             0x01,A,A,eth,2,2025-11-13,7,10,353636,2023-06-18
             0x02,B,B,eth,2,2025-11-13,,10,80,2022-01-22
             0x03,C,C,eth,,,,10,,2025-11-06
             0x04,D,D,eth,,,,10,9,2025-11-05
             0x05,E,E,eth,2,,,10,50,",
        ),
        ("candles", "token_address,timestamp,open,high,low,close,interval\n0x03,2025-11-13,3,3,3,3,1d\n0x04,2025-11-13,3,3,3,3,1d"),
        ("holder_counts", "token_address,date,holders\n0x01,2022-01-23,299234\n0x02,2022-01-23,70\n0x05,2026-01-01,70"),
    ]);
    let day = |time: Option<Time>| time.map(|time| time.day().to_string()).unwrap_or_default();
    let market = Market::new(&dataset);
    let found: Vec<_> = market
        .tokens
        .iter()
        .map(|token| {
            let [price, cap, holders] = [
                token.price_as_of,
                token.market_cap_as_of,
                token.holders_as_of,
            ];
            let cap = (token.market_cap, day(cap), token.outdated(cap).is_some());
            (
                day(price),
                cap,
                token.holders,
                day(holders),
                token.outdated(holders).is_some(),
            )
        })
        .collect();
    let cap = |cap, day: &str, outdated| (cap, day.to_owned(), outdated);
    let expected = [
        (
            "2025-11-13",
            cap(Some(7.0), "2023-06-18", true),
            Some(353_636),
            "2023-06-18",
            true,
        ),
        // The count of a later day than the row's; price and supply are years apart.
        (
            "2025-11-13",
            cap(None, "", false),
            Some(70),
            "2022-01-23",
            true,
        ),
        // Seven days are near enough, eight are not.
        (
            "2025-11-13",
            cap(Some(30.0), "2025-11-06", false),
            None,
            "",
            false,
        ),
        (
            "2025-11-13",
            cap(None, "", false),
            Some(9),
            "2025-11-05",
            true,
        ),
        ("", cap(Some(20.0), "", false), Some(50), "", false),
    ];
    assert_eq!(
        found,
        expected.map(|(price, cap, count, day, old)| (
            price.to_owned(),
            cap,
            count,
            day.to_owned(),
            old
        ))
    );
}

#[test]
fn a_price_and_its_changes_are_of_one_time() {
    let dataset = sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain,price,price_as_of
             0x01,A,A,eth,2,2026-01-01
             0x02,B,B,eth,2,2026-01-03
             0x03,C,C,eth,2,
             0x04,D,D,eth,8.04,
             0x05,E,E,eth,7.95,
             0x06,F,F,eth,2,
             0x07,G,G,eth,2,",
        ),
        (
            "candles",
            &format!(
                "token_address,timestamp,open,high,low,close,interval\n{}\n0x07,2025-12-01,8,8,8,8,1d",
                [1, 2, 3, 4, 5]
                    .map(|token| format!(
                        "0x0{token},2026-01-01,5,5,5,5,1d\n0x0{token},2026-01-02,7,8,7,8,1d"
                    ))
                    .join("\n")
            ),
        ),
    ]);
    let day = |time: Option<Time>| time.map_or_else(String::new, |time| time.day().to_string());
    let found: Vec<_> = Market::new(&dataset)
        .tokens
        .iter()
        .map(|token| {
            (
                token.price,
                day(token.price_as_of),
                token
                    .close_apart
                    .map(|(start, close)| (start.day().to_string(), close)),
            )
        })
        .collect();
    let expected = [
        (8.0, "2026-01-02", None),
        (2.0, "2026-01-03", None),
        (2.0, "", Some(8.0)),
        // Half a percent is near enough, and no more.
        (8.04, "", None),
        (7.95, "", Some(8.0)),
        // Without candles, and without changes as they are stale.
        (2.0, "", None),
        (2.0, "", None),
    ];
    let expected = expected.map(|(price, day, apart)| {
        (
            Some(price),
            day.to_owned(),
            apart.map(|close| ("2026-01-02".to_owned(), close)),
        )
    });
    assert_eq!(found, expected);
}

#[test]
fn what_has_no_time_is_not_known_as_of_a_day() {
    let dataset = sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain,price\n0x01,A,A,eth,2",
        ),
        (
            "candles",
            "token_address,timestamp,open,high,low,close,interval\n0x01,2026-01-01,8,8,8,8,1d\n0x01,2026-01-02,9,9,9,9,1d",
        ),
        (
            "pools",
            "address,dex_id,chain,token0,token1,liquidity,volume24h\n0xa,x,eth,0x1,0x2,100,7",
        ),
        (
            "holders",
            "token_address,holder_address,balance\n0x01,0xa1,5",
        ),
    ]);
    let figures = |dataset: &load::Dataset| {
        let token = Market::new(dataset).tokens.remove(0);
        (
            token.price,
            token.liquidity,
            token.volume_24h,
            token.holders,
        )
    };
    // Seconds before the end of 2026-01-01.
    let at = |seconds: i64| dataset.known_at(Time(20_455 * DAY_MS - seconds * 1_000));
    assert_eq!(
        figures(&dataset),
        (Some(2.0), Some(100.0), Some(7.0), Some(1))
    );
    assert_eq!(
        figures(&at(1).expect("a cut")),
        (Some(8.0), None, None, None)
    );
    let refused = at(2).expect_err("before the end of the first candle");
    assert_eq!(
        refused.to_string(),
        "The data starts on 2026-01-01. Choose that day or later."
    );
}

#[test]
fn a_given_figure_stands_and_the_others_are_derived() {
    let dataset = sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain,price,market_cap,total_supply,holders
             0x01,A,A,eth,2,,10,
             0x02,B,B,eth,2,7,10,0
             0x03,C,C,eth,,,10,
             0x04,D,D,eth,,,10,
             0x05,E,E,eth,2,,,
             0x06,F,F,eth,1e300,,1e300,",
        ),
        (
            "candles",
            "token_address,timestamp,open,high,low,close,interval
             0x01,2026-01-01,9,9,9,9,1d
             0x03,2026-01-01,3,3,3,3,1d
             0x03,2026-01-01T00:00:00Z,4,4,4,4,1h
             0x03,2026-01-01T05:00:00Z,5,5,5,5,1h",
        ),
        (
            "holder_counts",
            "token_address,date,holders\n0x01,2026-01-01,70\n0x01,2026-01-02,80\n0x01,2026-01-03,",
        ),
        (
            "holders",
            "token_address,holder_address,balance
             0x01,0xa1,5
             0x03,0xa1,5
             0x03,0xa2,0
             0x03,0xa3,
             0x04,0xa1,0",
        ),
    ]);
    let market = Market::new(&dataset);
    let found: Vec<_> = market
        .tokens
        .iter()
        .map(|token| (token.price, token.market_cap, token.holders))
        .collect();
    assert_eq!(
        found,
        [
            (Some(2.0), Some(20.0), Some(80)),
            (Some(2.0), Some(7.0), Some(0)),
            // Price: the latest candle in any interval. Holders: only rows with a balance.
            (Some(5.0), Some(50.0), Some(1)),
            (None, None, None),
            (Some(2.0), None, None),
            (Some(1e300), None, None),
        ]
    );
}
