//! The Growth view on the invented market.

use super::*;
use crate::{
    dataset::Dataset,
    tui::views::fixture::{Stage, address, draw_whatever_there_is, shown},
};

#[test]
fn screens_look_as_they_did() {
    let (stage, mut view) = shown::<GrowthView>();
    insta::assert_snapshot!("growth", stage.screens(&mut view));
}

#[test]
fn themes_differ_in_styles_alone() {
    let (mut stage, mut view) = shown::<GrowthView>();
    stage.assert_themes_share_the_text(&mut view);
}

#[test]
fn any_size_can_be_drawn() {
    draw_whatever_there_is::<GrowthView>(|_, _| {});
}

#[test]
fn windows_turn_and_are_asked_for() {
    let (mut stage, mut view) = shown::<GrowthView>();
    for days in [30, 1, 7] {
        stage.act(&mut view, Action::Window);
        stage.draw(&mut view, 140, 38);
        let target = view.request(&stage.context()).expect("a request").target;
        assert_eq!(target, format!("/analytics/tokens/holders-growth?limit=1000&window={days}&explain=true"));
        assert!(!view.list.is_empty());
    }
}

#[test]
fn a_row_selects_its_token_and_opens_its_chart() {
    let (mut stage, mut view) = shown::<GrowthView>();
    stage.act(&mut view, Action::First);
    let fastest = view.token(&stage.context()).expect("a selected token");
    assert_eq!(fastest, address(8));
    assert_eq!(stage.token, Some(fastest));
    assert_eq!(stage.act(&mut view, Action::Open), Effect::Open(fastest, ViewId::Chart));
    assert_eq!(stage.act(&mut view, Action::CopyValue), Effect::Copy(fastest.to_string(), "address"));
    view.set_filter("growth<0", &stage.context()).expect("a filter that reads");
    assert_eq!(view.export(&stage.context()).expect("rows to export").values().len(), 2);
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!(view.list.len(), 9);
}

#[test]
fn what_is_missing_is_said_and_choices_are_kept() {
    let stage = Stage::new(Some(Dataset::default()));
    assert!(stage.text(&mut GrowthView::default(), 80, 20).contains("no `holder_counts` table in this dataset"));
    let mut view = GrowthView { window: 30, ..GrowthView::default() };
    view.list.act(Action::Sort);
    let mut again = GrowthView::default();
    again.restore(&view.save());
    assert_eq!(again.save(), view.save());
    again.restore(&json!({ "window": 8, "filter": "a>" }));
    assert_eq!(again.save(), view.save());
}
