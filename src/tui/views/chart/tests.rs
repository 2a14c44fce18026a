//! The Chart view on made-up candles: patterns drawn, listed, stepped through; bad candles survived.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use serde_json::{Value, json};

use super::*;
use crate::{
    analysis::patterns::{Family, PatternName},
    dataset::{Dataset, time::DAY_MS},
    tui::views::fixture::{Stage, address, table},
};

/// Corners of (candle, level): two double bottoms and between them a double top.
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

/// A price through the corners that sways a little, the same in every run.
fn level(at: usize) -> f64 {
    let pair = CORNERS.windows(2).find(|pair| at <= pair[1].0).unwrap_or(&CORNERS[CORNERS.len() - 2..]);
    let share = (at.min(pair[1].0) - pair[0].0) as f64 / (pair[1].0 - pair[0].0) as f64;
    pair[0].1 + (pair[1].1 - pair[0].1) * share + 0.02 * (at as f64 * 2.3).sin()
}

fn candle(i: usize, [open, high, low, close]: [f64; 4]) -> Value {
    json!({
        "token_address": address(1).to_string(), "interval": "1d", "timestamp": (20_000 + i as i64) * DAY_MS,
        "open": open, "high": high, "low": low, "close": close, "volume": 1_000.0 + (i % 7) as f64 * 100.0,
    })
}

fn stage(candles: &[Value]) -> Stage {
    let tokens = [json!({ "token_address": address(1).to_string(), "symbol": "DBL", "chain": ["eth"] })];
    Stage::new(Some(Dataset::new(vec![table("tokens", &tokens), table("candles", candles)])))
}

fn shapes() -> Stage {
    let rows: Vec<Value> = (0..205)
        .map(|i| {
            let (open, close) = (level(i.max(1) - 1), level(i));
            candle(i, [open, open.max(close) + 0.03, open.min(close) - 0.03, close])
        })
        .collect();
    stage(&rows)
}

#[test]
fn screens_look_as_they_did() {
    let (mut stage, mut view) = (shapes(), Chart::default());
    insta::assert_snapshot!("chart_patterns", stage.screens(&mut view));
    stage.act(&mut view, Action::NextPattern);
    insta::assert_snapshot!("chart_pattern_chosen", stage.screens(&mut view));
}

#[test]
fn themes_differ_in_styles_alone() {
    let (mut stage, mut view) = (shapes(), Chart::default());
    stage.assert_themes_share_the_text(&mut view);
}

#[test]
fn keys_step_through_the_patterns_and_back_again() {
    let (mut stage, mut view) = (shapes(), Chart::default());
    stage.draw(&mut view, 140, 38);
    let all: Vec<(PatternName, usize)> = view.finds.drawn().map(|pattern| (pattern.name, pattern.end_index)).collect();
    assert!(all.len() >= 2 && all.iter().any(|(name, _)| *name == PatternName::DoubleBottom), "{all:?}");
    let chosen = |view: &Chart| view.finds.chosen().map(|pattern| (pattern.name, pattern.end_index)).expect("a chosen pattern");
    let mut seen = Vec::new();
    for _ in 0..=all.len() {
        assert_eq!(stage.act(&mut view, Action::NextPattern), Effect::Redraw);
        stage.draw(&mut view, 140, 38);
        seen.push(chosen(&view));
        // The whole of it is on screen.
        let (pattern, right) = (view.finds.chosen().expect("a chosen pattern"), view.sheet.len() - view.offset);
        let shown = right - view.sheet.shown(view.zoom).min(right)..right;
        assert!(shown.contains(&pattern.start_index) && shown.contains(&pattern.end_index), "{:?} in {shown:?}", pattern.name);
    }
    // The first key shows the one that is chosen already; past the last comes the first.
    assert_eq!((&seen[..all.len()], seen[all.len()]), (&all[..], all[0]));
    stage.act(&mut view, Action::PreviousPattern);
    assert_eq!(chosen(&view), all[all.len() - 1]);
    assert!(view.request(&stage.context()).expect("a request").target.contains("/patterns?timeframe=1d&explain=true"));
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!((view.offset, view.finds.zoomed), (0, false));
    assert!(view.request(&stage.context()).expect("a request").target.contains("/trendline?"));
}

#[test]
fn families_and_all_patterns_can_be_switched_off_and_it_is_kept() {
    let (mut stage, mut view) = (shapes(), Chart::default());
    let shown = stage.text(&mut view, 140, 38);
    assert!(shown.contains("double_bottom") && shown.contains("◆"), "{shown}");
    stage.act(&mut view, Action::Reversals);
    let without = stage.text(&mut view, 140, 38);
    assert!(!without.contains("double_") && without.contains("patterns · no reversals"), "{without}");
    let mut again = Chart::default();
    again.restore(&view.save());
    assert_eq!(again.save(), view.save());
    assert_eq!(stage.text(&mut again, 140, 38), without);
    stage.act(&mut view, Action::Reversals);
    assert_eq!(stage.text(&mut view, 140, 38), shown);
    stage.act(&mut view, Action::NextPattern);
    for _ in 0..view.finds.drawn().count() {
        if view.finds.chosen().is_some_and(|pattern| pattern.name.family() != Family::Reversal) {
            stage.act(&mut view, Action::NextPattern);
        }
    }
    let chosen = view.finds.chosen().cloned();
    stage.act(&mut view, Action::Reversals);
    assert_ne!(view.finds.chosen().cloned(), chosen);
    stage.act(&mut view, Action::Reversals);
    assert_eq!(view.finds.chosen().cloned(), chosen, "it is chosen again once its family is back");
    stage.act(&mut view, Action::Back);
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Patterns);
    let off = stage.text(&mut view, 140, 38);
    assert!(!off.contains("patterns") && !off.contains("◆"), "{off}");
    for strange in [json!(null), json!({"patterns": {"shown": 3, "hidden": "flags"}}), json!({"patterns": {"hidden": [1, "nope"]}})] {
        again.restore(&strange);
    }
}

#[test]
fn a_click_on_the_list_chooses_and_zooms() {
    let (stage, mut view) = (shapes(), Chart::default());
    let text = stage.text(&mut view, 140, 38);
    let row = text.lines().position(|line| line.contains("PATTERN")).expect("the list's header") as u16 + 2;
    let click = MouseEvent { kind: MouseEventKind::Down(MouseButton::Left), column: 100, row, modifiers: KeyModifiers::NONE };
    assert_eq!(view.mouse(click, &stage.context()), Effect::Redraw);
    stage.draw(&mut view, 140, 38);
    assert!(view.finds.zoomed && view.finds.chosen() == view.finds.drawn().nth(1));
    assert_eq!(view.sought, None);
}

#[test]
fn bad_candles_and_few_of_them_are_shown_without_a_pattern() {
    let flat = |i: usize| candle(i, [2.0; 4]);
    let series: Vec<(&str, Vec<Value>)> = vec![
        ("none", Vec::new()),
        ("one", vec![flat(0)]),
        ("two", (0..2).map(flat).collect()),
        ("three", (0..3).map(flat).collect()),
        ("flat", (0..80).map(flat).collect()),
        ("upside down", (0..80).map(|i| candle(i, [2.0, 1.0, 3.0, 2.0])).collect()),
        ("not finite", (0..80).map(|i| candle(i, [f64::NAN, f64::INFINITY, -1.0, 0.0])).collect()),
    ];
    for (name, rows) in series {
        let (mut stage, mut view) = (stage(&rows), Chart::default());
        for action in [Action::NextPattern, Action::PreviousPattern, Action::Flags, Action::LogScale, Action::Timeframe, Action::Open] {
            stage.text(&mut view, 140, 38);
            stage.act(&mut view, action);
        }
        view.choices.timeframe = TIMEFRAME_DEFAULT;
        let text = stage.text(&mut view, 140, 38);
        let says = if rows.is_empty() { "hold no candles" } else { "no pattern in these candles" };
        assert!(text.contains(says), "{name}:\n{text}");
        stage.draw_in_odd_sizes(&mut view);
    }
}

#[test]
fn a_frame_finer_than_the_data_says_so() {
    let (mut stage, mut view) = (shapes(), Chart::default());
    stage.act(&mut view, Action::TimeframeBack);
    let text = stage.text(&mut view, 140, 38);
    assert!(text.contains("the data are coarser"), "{text}");
}

#[test]
fn any_size_can_be_drawn() {
    let (mut stage, mut view) = (shapes(), Chart::default());
    stage.draw_in_odd_sizes(&mut view);
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::NextPattern);
    stage.draw_in_odd_sizes(&mut view);
}
