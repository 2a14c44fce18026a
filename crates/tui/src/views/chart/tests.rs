//! The Chart view on synthetic candles: patterns drawn, listed and stepped through; invalid candles tolerated.

mod candles;

use super::*;
use crate::views::fixture::{Stage, address, mouse_at, table};
use analysis::patterns::{Family, PatternName};
use load::Dataset;
use model::{
    annotations::{self, Annotation, UserLevel},
    time::DAY_MS,
};
use query::queries::track_record;

/// Vertices as (candle, price): two double bottoms and between them a double top.
const CORNERS: &[(usize, f64)] = &[
    (0, 3.0),
    (20, 3.4),
    (34, 1.6),
    (44, 2.4),
    (54, 1.62),
    (70, 3.2),
    (90, 2.3),
    (104, 4.0),
    (114, 3.1),
    (124, 3.97),
    (140, 2.2),
    (156, 2.9),
    (170, 1.5),
    (180, 2.3),
    (190, 1.52),
    (204, 2.75),
];

/// A price through the vertices with a small deterministic oscillation.
fn level(at: usize) -> f64 {
    let pair = CORNERS
        .windows(2)
        .find(|pair| at <= pair[1].0)
        .unwrap_or(&CORNERS[CORNERS.len() - 2..]);
    let share = (at.min(pair[1].0) - pair[0].0) as f64 / (pair[1].0 - pair[0].0) as f64;
    pair[0].1 + (pair[1].1 - pair[0].1) * share + 0.02 * (at as f64 * 2.3).sin()
}

fn candle(i: usize, [open, high, low, close]: [f64; 4]) -> Json {
    json!({
        "token_address": address(1).to_string(), "interval": "1d", "timestamp": (20_000 + i as i64) * DAY_MS,
        "open": open, "high": high, "low": low, "close": close, "volume": 1_000.0 + (i % 7) as f64 * 100.0,
    })
}

fn stage(candles: &[Json]) -> Stage {
    let tokens =
        [(1, "DBL"), (2, "NEW")].map(|(i, symbol)| json!({ "token_address": address(i).to_string(), "symbol": symbol, "chain": ["eth"] }));
    Stage::new(Some(Dataset::new(vec![
        table("tokens", &tokens),
        table("candles", candles),
    ])))
}

fn shape_candles() -> Vec<Json> {
    let shape = |i: usize| {
        let (open, close) = (level(i.max(1) - 1), level(i));
        candle(
            i,
            [open, open.max(close) + 0.03, open.min(close) - 0.03, close],
        )
    };
    (0..205).map(shape).collect()
}

fn shapes() -> Stage {
    stage(&shape_candles())
}

#[test]
fn screens_look_as_they_did() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    insta::assert_snapshot!("chart_patterns", stage.screen(&mut view));
    stage.act(&mut view, Action::NextPattern);
    insta::assert_snapshot!("chart_pattern_chosen", stage.screens(&mut view));
    stage.act(&mut view, Action::Open);
    insta::assert_snapshot!("chart_pattern_explained", stage.screens(&mut view));
}

#[test]
fn keys_step_through_the_patterns_and_back_again() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    stage.draw(&mut view, 140, 38);
    let all: Vec<(PatternName, usize)> = view
        .patterns
        .drawn()
        .map(|pattern| (pattern.name, pattern.end_index))
        .collect();
    assert!(
        all.len() >= 2
            && all
                .iter()
                .any(|(name, _)| *name == PatternName::DoubleBottom),
        "{all:?}"
    );
    let chosen = |view: &ChartView| {
        view.patterns
            .chosen()
            .map(|pattern| (pattern.name, pattern.end_index))
            .expect("a chosen pattern")
    };
    let mut seen = Vec::new();
    for _ in 0..=all.len() {
        assert_eq!(stage.act(&mut view, Action::NextPattern), Effect::Redraw);
        stage.draw(&mut view, 140, 38);
        seen.push(chosen(&view));
        // The whole pattern is on screen.
        let (pattern, right) = (
            view.patterns.chosen().expect("a chosen pattern"),
            view.sheet.len() - view.offset,
        );
        let shown = right - view.sheet.shown(view.zoom).min(right)..right;
        assert!(
            shown.contains(&pattern.start_index) && shown.contains(&pattern.end_index),
            "{:?} in {shown:?}",
            pattern.name
        );
    }
    // The first pattern is chosen initially, so the first key leaves it; stepping past the last wraps around.
    assert_eq!(
        (&seen[..all.len() - 1], &seen[all.len() - 1..]),
        (&all[1..], &all[..2])
    );
    for before in [all[0], all[all.len() - 1]] {
        stage.act(&mut view, Action::PreviousPattern);
        assert_eq!(chosen(&view), before);
    }
    assert!(
        view.request(&stage.context())
            .expect("a request")
            .target
            .contains("/patterns?timeframe=1d&explain=true")
    );
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!((view.offset, view.patterns.zoomed()), (0, false));
    assert!(
        view.request(&stage.context())
            .expect("a request")
            .target
            .contains("/trendline?")
    );
}

#[test]
fn families_and_all_patterns_can_be_switched_off_and_it_is_kept() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    let shown = stage.text(&mut view, 140, 38);
    assert!(
        shown.contains("Double bottom") && shown.contains("◆"),
        "{shown}"
    );
    stage.act(&mut view, Action::Reversals);
    let without = stage.text(&mut view, 140, 38);
    let listed = without
        .lines()
        .filter(|line| line.contains("Double "))
        .collect::<Vec<_>>();
    assert!(without.contains("patterns · no reversals"), "{without}");
    assert!(
        matches!(listed[..], [advice] if advice.contains("Watch: ▲ Double bottom 0.99 · no track record yet: R")),
        "the advice alone tells of it\n{without}"
    );
    let mut again = ChartView::default();
    again.restore(&view.save());
    assert_eq!(again.save(), view.save());
    assert_eq!(stage.text(&mut again, 140, 38), without);
    stage.act(&mut view, Action::Reversals);
    assert_eq!(stage.text(&mut view, 140, 38), shown);
    stage.act(&mut view, Action::NextPattern);
    for _ in 0..view.patterns.drawn().count() {
        if view
            .patterns
            .chosen()
            .is_some_and(|pattern| pattern.name.family() != Family::Reversal)
        {
            stage.act(&mut view, Action::NextPattern);
        }
    }
    let chosen = view.patterns.chosen().cloned();
    stage.act(&mut view, Action::Reversals);
    assert_ne!(view.patterns.chosen().cloned(), chosen);
    stage.act(&mut view, Action::Reversals);
    assert_eq!(
        view.patterns.chosen().cloned(),
        chosen,
        "it is chosen again once its family is back"
    );
    stage.act(&mut view, Action::Back);
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Patterns);
    let off = stage.text(&mut view, 140, 38);
    assert!(!off.contains("patterns") && !off.contains("◆"), "{off}");
    for strange in [
        json!(null),
        json!({"patterns": {"shown": 3, "hidden": "flags"}}),
        json!({"patterns": {"hidden": [1, "nope"]}}),
    ] {
        again.restore(&strange);
    }
}

#[test]
fn a_click_on_the_list_chooses_and_zooms() {
    let (stage, mut view) = (shapes(), ChartView::default());
    let text = stage.text(&mut view, 140, 38);
    let row = text
        .lines()
        .position(|line| line.contains("PATTERN"))
        .expect("the list's header") as u16
        + 2;
    assert_eq!(
        view.mouse(mouse_at(MouseEventKind::Down, 100, row), &stage.context()),
        Effect::Redraw
    );
    stage.draw(&mut view, 140, 38);
    assert!(view.patterns.zoomed() && view.patterns.chosen() == view.patterns.drawn().nth(1));
    assert_eq!(view.sought, None);
    // Sorting by a header click keeps the chosen pattern.
    let chosen = view.patterns.chosen().cloned();
    let header = text
        .lines()
        .nth(usize::from(row) - 2)
        .expect("the list's header");
    let column = header[..header.find("FIT").expect("a column")]
        .chars()
        .count() as u16;
    for kind in [MouseEventKind::Down, MouseEventKind::Up] {
        view.mouse(mouse_at(kind, column, row - 2), &stage.context());
    }
    let confidences: Vec<f64> = view
        .patterns
        .drawn()
        .map(|pattern| pattern.confidence)
        .collect();
    assert!(
        confidences.len() > 1 && confidences.is_sorted_by(|a, b| a >= b),
        "{confidences:?}"
    );
    assert_eq!(view.patterns.chosen(), chosen.as_ref());
}

#[test]
fn bad_candles_and_few_of_them_are_shown_without_a_pattern() {
    let flat = |i: usize| candle(i, [2.0; 4]);
    let series: Vec<(&str, Vec<Json>)> = vec![
        ("none", Vec::new()),
        ("one", vec![flat(0)]),
        ("two", (0..2).map(flat).collect()),
        ("three", (0..3).map(flat).collect()),
        ("flat", (0..80).map(flat).collect()),
        (
            "upside down",
            (0..80).map(|i| candle(i, [2.0, 1.0, 3.0, 2.0])).collect(),
        ),
        (
            "not finite",
            (0..80)
                .map(|i| candle(i, [f64::NAN, f64::INFINITY, -1.0, 0.0]))
                .collect(),
        ),
    ];
    for (name, rows) in series {
        let (mut stage, mut view) = (stage(&rows), ChartView::default());
        for action in [
            Action::NextPattern,
            Action::PreviousPattern,
            Action::Flags,
            Action::LogScale,
            Action::Timeframe,
            Action::Open,
        ] {
            stage.text(&mut view, 140, 38);
            stage.act(&mut view, action);
        }
        view.choices.timeframe = Timeframe::default();
        let text = stage.text(&mut view, 140, 38);
        let says = if rows.is_empty() {
            "No candles of token"
        } else {
            "no pattern in these candles"
        };
        assert!(text.contains(says), "{name}:\n{text}");
        stage.draw_in_odd_sizes(&mut view);
    }
}

#[test]
fn own_levels_are_drawn_and_stand_with_the_note_beside_the_patterns() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    for remark in [
        Annotation::Level(UserLevel::new("entry", 2.5).expect("a level")),
        Annotation::Level(UserLevel::new("moon", 250.0).expect("a level")),
        Annotation::Note("sell before the unlock".to_owned()),
    ] {
        annotations::apply(&mut stage.annotations, address(1), &remark).expect("set down");
    }
    let text = stage.text(&mut view, 140, 38);
    for says in [
        "entry◂ 2.50",
        "▲ moon 250.00",
        "sell before the unlock",
        "from 52w high",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    assert_eq!(
        view.pointed_price().map(|price| format!("{price:.2}")),
        Some("2.73".to_owned())
    );
}

#[test]
fn open_patterns_stand_first_and_the_first_one_is_chosen() {
    // The price has been at the target of one of them.
    let (stage, mut view) = (shapes(), ChartView::default());
    stage.draw(&mut view, 140, 38);
    let over: Vec<bool> = view
        .patterns
        .drawn()
        .map(|pattern| {
            pattern
                .detail
                .as_ref()
                .is_some_and(|detail| detail.status.is_over())
        })
        .collect();
    assert!(
        over.is_sorted() && over.contains(&true) && over.contains(&false),
        "{over:?}"
    );
    assert_eq!(view.patterns.chosen(), view.patterns.drawn().next());
}

#[test]
fn any_size_can_be_drawn() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    stage.draw_in_odd_sizes(&mut view);
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::NextPattern);
    stage.draw_in_odd_sizes(&mut view);
}

#[test]
fn enter_says_why_and_says_it_no_more() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    for (width, height) in [(80, 20), (140, 38)] {
        stage.draw(&mut view, width, height);
        stage.act(&mut view, Action::Open);
        let text = stage.text(&mut view, width, height);
        for part in [
            "target",
            "stop",
            "reward:risk",
            "raised or lowered the fit",
            "why uptrend",
            "net move",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        stage.act(&mut view, Action::Open);
        assert!(!stage.text(&mut view, width, height).contains("net move"));
        stage.act(&mut view, Action::Open);
        stage.act(&mut view, Action::Back);
        assert!(!view.patterns.explained() && view.patterns.zoomed());
        stage.act(&mut view, Action::Back);
    }
}

#[test]
fn where_the_reasons_have_no_room_a_second_enter_shows_them_alone() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    // A screen of 60×16, one as narrow but tall, and one wide but low.
    for (width, height) in [(60, 12), (60, 36), (140, 12)] {
        stage.draw(&mut view, width, height);
        let mut see = |wanted: &[&str], unwanted: &str| {
            stage.act(&mut view, Action::Open);
            let text = stage.text(&mut view, width, height);
            assert!(
                wanted.iter().all(|part| text.contains(part)) && !text.contains(unwanted),
                "{width}×{height} {wanted:?}:\n{text}"
            );
        };
        see(&["reward:risk", "Enter: why"], "log odds");
        see(&["raised or lowered the fit", "log odds"], "Enter: why");
        see(&[""], "log odds");
        stage.act(&mut view, Action::Back);
    }
}

#[test]
fn indicators_are_drawn_with_their_values_at_the_crosshair_and_kept_between_runs() {
    let stage = shapes();
    let mut view = ChartView::default();
    let chosen = || {
        ["sma_20", "rsi_14", "macd_12_26_9"]
            .iter()
            .map(|name| Indicator::parse(name).expect("an indicator"))
            .collect()
    };
    view.choose_indicators(chosen(), &stage.context());
    let shown = stage.text(&mut view, 140, 38);
    let last = level(204);
    // The mean of the last twenty closes, computed independently.
    let mean = |end: usize| (end + 1 - 20..=end).map(level).sum::<f64>() / 20.0;
    let says = |end: usize| format!(" SMA 20 {}", format::price(Some(mean(end))));
    assert!(
        shown.contains(&says(204))
            && shown.contains(" RSI 14 ")
            && shown.contains(" MACD 12 26 9 "),
        "{last}: {shown}"
    );
    assert!(
        ["70", "30"]
            .iter()
            .all(|guide| shown.contains(&format!("│ {guide}"))),
        "{shown}"
    );
    view.crosshair = Some(150);
    assert!(stage.text(&mut view, 140, 38).contains(&says(150)));
    view.crosshair = None;
    let low = stage.text(&mut view, 80, 16);
    assert!(low.contains("no room for RSI 14, MACD"), "{low}");
    let mut again = ChartView::default();
    again.restore(&view.save());
    assert_eq!(again.indicators().map(<[_]>::to_vec), Some(chosen()));
    again.restore(&json!({"indicators": ["sma_1", "nothing", 3, "obv"]}));
    assert_eq!(
        again.indicators().map(<[_]>::to_vec),
        Some(vec![Indicator::Obv]),
        "what cannot be read is passed over"
    );
}

#[test]
fn a_file_has_the_indicators_that_are_shown_and_the_curl_line_asks_for_them() {
    let (stage, mut view) = (shapes(), ChartView::default());
    stage.draw(&mut view, 140, 38);
    view.choose_indicators(
        vec![Indicator::Sma(20), Indicator::Rsi(14)],
        &stage.context(),
    );
    settled(&stage, &mut view, |view| {
        view.studies.columns().count() == 2
    });
    let exported = view.export(&stage.context()).expect("rows to export");
    assert_eq!(
        exported.columns,
        [
            "timestamp",
            "open",
            "high",
            "low",
            "close",
            "volume",
            "sma_20",
            "rsi_14"
        ]
    );
    assert!(
        exported
            .selected
            .as_ref()
            .is_some_and(|row| row[6].is_number() && row[7].is_number())
    );
    let rows = exported.values();
    assert!(
        rows.len() == 205
            && rows[18][6].is_null()
            && rows[19][6].is_number()
            && rows.iter().all(|row| row.len() == 8)
    );
    let target = view.request(&stage.context()).expect("a request").target;
    assert!(
        target.contains("/indicators?names=sma_20%2Crsi_14"),
        "{target}"
    );
}

#[test]
fn the_track_record_of_every_signal_stands_in_one_table() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::TrackRecord);
    let waits = stage.text(&mut view, 140, 38);
    assert!(waits.contains("evaluating every pattern"), "{waits}");
    // As the service counts it in the background.
    let snapshot = stage.snapshot.clone().expect("data");
    let step = |_, _| Ok(());
    let (tokens, digest) = track_record::digest(&snapshot, "1d", &step).expect("candles");
    snapshot.track_records.publish(
        "1d",
        track_record::count(&snapshot, "1d", (&tokens, digest), None, &step),
    );
    let text = settled(&stage, &mut view, |view| {
        view.record.export("track-record").count > Some(0)
    });
    for says in [
        "TRACK RECORD",
        "Uptrend",
        "SIGNAL",
        "RIGHT",
        "BASE RATE",
        "95% INTERVAL",
        "VERDICT",
        "corrected for all names",
    ] {
        assert!(
            text.to_uppercase().contains(&says.to_uppercase()),
            "{says}: {text}"
        );
    }
    let exported = view.export(&stage.context()).expect("rows to export");
    assert!(
        exported
            .columns
            .starts_with(&["signal", "of", "count", "days"].map(str::to_owned)),
        "{:?}",
        exported.columns
    );
    assert!(
        view.request(&stage.context())
            .expect("a request")
            .target
            .ends_with("/technical/track-record?timeframe=1d")
    );
    stage.act(&mut view, Action::Back);
    assert!(!stage.text(&mut view, 140, 38).contains("VERDICT"));
    // With the record there, the advice is weighed by it.
    let weighed = settled(&stage, &mut view, |view| {
        let advice = view
            .patterns
            .asked
            .answer()
            .and_then(|answer| answer.advice.as_ref());
        advice.is_some_and(|advice| advice.reason != analysis::patterns::AdviceReason::NoRecord)
    });
    assert!(!weighed.contains("no track record yet"), "{weighed}");
}

#[test]
fn the_card_says_what_became_of_the_tokens_earlier_patterns_of_that_name() {
    let (mut stage, mut view) = (shapes(), ChartView::default());
    stage.draw(&mut view, 140, 38);
    assert!(
        stage
            .text(&mut view, 140, 38)
            .contains("Enter: earlier patterns")
    );
    stage.act(&mut view, Action::Open);
    let text = settled(&stage, &mut view, |view| {
        view.patterns.record.answer().is_some()
    });
    assert!(
        text.contains("hit target")
            || text.contains("hit the target")
            || text.contains("completed (detected in real time)"),
        "{text}"
    );
}

#[test]
fn mentions_are_bars_under_the_chart_of_a_token_with_posts() {
    let candles: Vec<Json> = (0..205).map(|i| candle(i, [2.0, 2.5, 1.5, 2.0])).collect();
    let tokens =
        [(1, "DBL"), (2, "NEW")].map(|(i, symbol)| json!({ "token_address": address(i).to_string(), "symbol": symbol, "chain": ["eth"] }));
    // One on the last day, three on the day before, and a dropped one.
    let posts: Vec<Json> = [204.5, 203.0, 203.5, 203.9, 204.1]
        .iter()
        .enumerate()
        .map(|(nth, day)| {
            json!({
                "post_id": nth.to_string(), "token_address": address(1).to_string(),
                "published_at": ((20_000.0 + day) * DAY_MS as f64) as i64, "dropped": (nth == 4).then_some("bot"),
            })
        })
        .collect();
    let mut stage = Stage::new(Some(Dataset::new(vec![
        table("tokens", &tokens),
        table("candles", &candles),
        table("posts", &posts),
    ])));
    let mut view = ChartView::default();
    assert!(!stage.text(&mut view, 140, 38).contains("Mentions"));
    view.choose_indicators(vec![Indicator::Mentions], &stage.context());
    let text = stage.text(&mut view, 140, 38);
    assert!(text.contains(" Mentions 1 "), "{text}");
    stage.act(&mut view, Action::Crosshair);
    stage.act(&mut view, Action::Left);
    let text = stage.text(&mut view, 140, 38);
    assert!(text.contains(" Mentions 3 "), "{text}");
    stage.token = Some(address(2));
    assert!(!stage.text(&mut view, 140, 38).contains("Mentions"));
}

/// The screen at rest, which must be `done`.
fn settled(stage: &Stage, view: &mut ChartView, done: impl Fn(&ChartView) -> bool) -> String {
    let text = stage.text(view, 140, 38);
    assert!(done(view), "nothing came:\n{text}");
    text
}
