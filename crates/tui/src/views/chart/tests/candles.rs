//! The candles on screen: their timeframe, number and age, and what title, axis and crosshair say of them.

use super::*;

#[test]
fn a_frame_finer_than_the_data_says_so() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    stage.act(&mut view, Action::TimeframeBack);
    let text = stage.text(&mut view, 140, 38);
    assert!(
        text.contains("no 4h, 1h candles; showing 1w instead") && text.contains("DBL · 1w"),
        "{text}"
    );
    // Another way round, with nothing to pass over.
    stage.act(&mut view, Action::TimeframeBack);
    assert_eq!(
        (
            view.frame(),
            stage.text(&mut view, 140, 38).contains("instead")
        ),
        ("1d", false)
    );
    // What was chosen at one token stays for those that have it; here it has not.
    view.choices.timeframe = Timeframe::parse("1h").expect("a timeframe");
    view.fitted = false;
    let text = stage.text(&mut view, 140, 38);
    assert!(
        text.contains("no 1h, 4h candles; showing 1d instead"),
        "{text}"
    );
    assert_eq!(
        (view.frame(), view.save()["timeframe"].as_str()),
        ("1d", Some("1h"))
    );
    assert!(
        !view.can_show(&address(2), &stage.context())
            && view.can_show(&address(1), &stage.context())
    );
}

#[test]
fn few_candles_or_a_wide_screen_have_three_columns_each_and_the_zoom_ends_where_all_are_seen_or_too_few()
 {
    let candles = shape_candles();
    // Candles there are, width of the screen; columns of a candle at first.
    for (count, width, columns) in [
        (205, 80, 1),
        (205, 200, 3),
        (59, 80, 3),
        (60, 80, 1),
        (12, 140, 5),
    ] {
        let (mut stage, mut view) = (stage(&candles[..count]), ChartView::default());
        view.patterns.off = true;
        stage.draw(&mut view, width, 24);
        assert_eq!(
            (view.zoom.column_text("1d"), view.zoom.candles(30)),
            (None, 30 / columns),
            "{count} candles on {width} columns"
        );
        for _ in 0..12 {
            stage.act(&mut view, Action::ZoomOut);
            stage.draw(&mut view, width, 24);
        }
        let layout = view.layout.as_ref().expect("a chart");
        let left = layout.plot.x + layout.plot.width / 5;
        assert!(
            view.sheet.shown(view.zoom) == count
                && (width > 80 || (layout.plot.x..left).any(|x| layout.candle_at(x).is_some()))
        );
        for _ in 0..16 {
            stage.act(&mut view, Action::ZoomIn);
            stage.draw(&mut view, width, 24);
        }
        assert!(
            view.sheet.shown(view.zoom) >= 8,
            "{count}: {}",
            view.sheet.shown(view.zoom)
        );
    }
}

/// The synthetic patterns, and a second token whose candles continue for `days` more days.
fn beside_newer(days: usize) -> Stage {
    let mut rows = shape_candles();
    let mut newer = candle(204 + days, [1.0; 4]);
    newer["token_address"] = json!(address(2).to_string());
    rows.push(newer);
    stage(&rows)
}

#[test]
fn a_token_whose_candles_ended_long_ago_says_so() {
    for (days, stale) in [(3, false), (4, true)] {
        let (stage, mut view) = (beside_newer(days), ChartView::default());
        let text = stage.text(&mut view, 80, 20);
        assert_eq!(
            text.contains(
                "stale: the last candle started 2025-04-26, 4d behind the other 1d candles"
            ),
            stale,
            "{text}"
        );
        stage.draw_in_odd_sizes(&mut view);
    }
}

#[test]
fn a_timeframe_whose_candles_ended_long_ago_says_so() {
    let day = |i: usize| candle(i, [level(i), level(i) + 0.03, level(i) - 0.03, level(i)]);
    let hours = (0..48).map(|i| {
        let mut hour = day(10 + i / 24);
        (hour["interval"], hour["timestamp"]) =
            (json!("1h"), json!((20_010 * 24 + i as i64) * DAY_MS / 24));
        hour
    });
    let rows: Vec<Json> = (0..30).map(day).chain(hours).collect();
    let (mut stage, mut view) = (stage(&rows), ChartView::default());
    let mut told = Vec::new();
    for _ in 0..4 {
        let text = stage.text(&mut view, 100, 20);
        let line = text
            .lines()
            .find(|line| line.contains("stale:"))
            .map(|line| line.trim().to_owned());
        told.push((view.frame(), line));
        stage.act(&mut view, Action::Timeframe);
    }
    let says = |frame: &str, time: &str, age: &str| {
        Some(format!(
            "stale: the last {frame} candle started 2024-10-{time}, {age} behind the candles of the dataset"
        ))
    };
    let expected = [
        ("1d", None),
        ("1w", None),
        ("1h", says("1h", "15 23:00", "2w")),
        ("4h", says("4h", "15 20:00", "2w")),
    ];
    assert_eq!(told, expected);
}

#[test]
fn candles_of_two_lengths_are_named_in_the_title() {
    let day = |i: usize| candle(i, [level(i), level(i) + 0.03, level(i) - 0.03, level(i)]);
    let hour = |i: usize| {
        let mut hour = day(i / 24);
        (hour["interval"], hour["timestamp"]) =
            (json!("1h"), json!(20_000 * DAY_MS + i as i64 * DAY_MS / 24));
        hour
    };
    let hours = |days: std::ops::Range<usize>| (days.start * 24..days.end * 24).map(hour);
    for (rows, mixed) in [
        (
            (0..30).map(day).chain(hours(28..35)).collect::<Vec<_>>(),
            true,
        ),
        ((0..30).map(day).chain(hours(10..30)).collect(), false),
        (hours(0..35).collect(), false),
    ] {
        let (stage, mut view) = (stage(&rows), ChartView::default());
        for (width, says) in [
            (140, "DBL · 1d+1h · 35 candles, 5 built from 1h ─ "),
            (80, "DBL · 1d+1h ─ "),
        ] {
            // With the pattern list hidden, the title has enough room.
            view.patterns.off = true;
            let text = stage.text(&mut view, width, 30);
            assert_eq!(text.contains(says), mixed, "{text}");
            assert_eq!(text.contains("1d+1h"), mixed, "{text}");
        }
    }
}

#[test]
fn title_axis_and_crosshair_name_one_candle() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    stage.draw(&mut view, 100, 20);
    let title = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    // The last column, then after moving the crosshair, then with several candles in a column.
    for keys in [
        &[Action::Crosshair][..],
        &[Action::Left; 9],
        &[Action::ZoomOut; 2],
        &[Action::Left; 9],
        &[Action::Right],
    ] {
        for key in keys {
            stage.act(&mut view, *key);
            stage.draw(&mut view, 100, 20);
        }
        let text = stage.text(&mut view, 100, 20);
        let column = view.pointed().expect("a column");
        let day = column
            .time
            .minute_text()
            .trim_end_matches(" 00:00")
            .to_owned();
        assert!(
            title(&text).contains(&day)
                && text.lines().rev().take(4).any(|line| line.contains(&day)),
            "{day}\n{text}"
        );
        let price = model::format::price(Some(column.close));
        assert!(
            text.contains('┈') && text.contains(&format!("◂ {price}")),
            "{price}\n{text}"
        );
        assert!(title(&text).contains(&format!("c {price}")), "{text}");
    }
    assert!(title(&stage.text(&mut view, 100, 20)).contains("3d/column"));
}

#[test]
fn the_last_price_keeps_its_tag_when_panned() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    stage.draw(&mut view, 80, 20);
    view.patterns.off = true;
    let tag = |text: &str| {
        let (_, after) = text.split_once(['◂', '▴', '▾'])?;
        after.split_whitespace().next().map(str::to_owned)
    };
    let last = tag(&stage.text(&mut view, 80, 20));
    assert_eq!(last.as_deref(), Some("2.7322"));
    for _ in 0..3 {
        stage.act(&mut view, Action::PageUp);
        assert_eq!(tag(&stage.text(&mut view, 80, 20)), last);
    }
}
