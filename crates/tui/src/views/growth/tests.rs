//! The Growth view on the synthetic market.

use super::*;
use crate::views::fixture::{Stage, address, market, shown};
use load::{Dataset, sample};

#[test]
fn screens_look_as_they_did() {
    let (stage, mut view) = shown::<GrowthView>();
    insta::assert_snapshot!("growth", stage.screen(&mut view));
}

#[test]
fn the_programs_token_is_selected_where_it_has_a_row() {
    for (token, selected) in [
        (address(1), address(1)),
        (address(3), address(3)),
        (Address([0xee; 20]), address(8)),
    ] {
        let mut stage = Stage::new(Some(market()));
        stage.token = Some(token);
        let mut view = GrowthView::default();
        stage.draw(&mut view, 140, 38);
        assert_eq!(view.token(&stage.context()), Some(selected), "{token}");
        // Another that is chosen elsewhere is followed; a new order starts at its top.
        stage.token = Some(address(2));
        stage.draw(&mut view, 140, 38);
        assert_eq!(view.token(&stage.context()), Some(address(2)));
        stage.act(&mut view, Action::SortReverse);
        assert_eq!(view.list.cursor.selected(), Some(0));
    }
}

#[test]
fn windows_turn_and_are_asked_for() {
    let (mut stage, mut view) = shown::<GrowthView>();
    for days in [30, 1, 7] {
        stage.act(&mut view, Action::Window);
        stage.draw(&mut view, 140, 38);
        let target = view.request(&stage.context()).expect("a request").target;
        assert_eq!(
            target,
            format!("/analytics/tokens/holders-growth?limit=1000&window={days}&explain=true")
        );
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
    assert_eq!(
        stage.act(&mut view, Action::Open),
        Effect::Open(fastest, ViewId::Chart)
    );
    assert_eq!(
        stage.act(&mut view, Action::CopyValue),
        Effect::Copy(fastest.to_string(), "address")
    );
    view.set_filter("growth<0", &stage.context())
        .expect("a filter that reads");
    assert_eq!(
        view.export(&stage.context())
            .expect("rows to export")
            .values()
            .len(),
        2
    );
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!(view.list.len(), 9);
}

#[test]
fn what_is_missing_is_said_and_choices_are_kept() {
    let stage = Stage::new(Some(Dataset::default()));
    assert!(
        stage
            .text(&mut GrowthView::default(), 80, 20)
            .contains("no `holder_counts` table: add")
    );
    let mut view = GrowthView {
        window: Window(30),
        ..GrowthView::default()
    };
    view.list.act(Action::Sort);
    let mut again = GrowthView::default();
    again.restore(&view.save());
    assert_eq!(again.save(), view.save());
    again.restore(&json!({ "window": 8, "filter": "a>" }));
    assert_eq!(again.save(), view.save());
}

#[test]
fn columns_of_the_tokens_file_are_shown_filtered_and_ordered_by_under_names_that_the_list_leaves_free()
 {
    let mut stage = Stage::new(Some(sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain,rating,rank\n0x1,A,A,eth,3,9\n0x2,B,B,eth,5,8",
        ),
        (
            "holder_counts",
            "token_address,date,holders\n0x1,2026-01-01,100\n0x1,2026-01-08,150\n0x2,2026-01-01,100\n0x2,2026-01-08,120",
        ),
    ])));
    let mut view = GrowthView::default();
    view.restore(&json!({ "sort": ["-rating"] }));
    stage.draw(&mut view, 220, 20);
    assert!(
        ["RATING", "OWN_RANK"]
            .iter()
            .all(|title| stage.text(&mut view, 220, 20).contains(title))
    );
    assert_eq!(
        view.list.places().collect::<Vec<_>>(),
        [1, 0],
        "the order that was kept"
    );
    let exported = view.export(&stage.context()).expect("rows to export");
    let at = |name: &str| {
        exported
            .columns
            .iter()
            .position(|column| column == name)
            .expect("a column")
    };
    let (rating, rank) = (at("rating"), at("own_rank"));
    assert_eq!(
        exported
            .values()
            .iter()
            .map(|row| [row[rating].clone(), row[rank].clone()])
            .collect::<Vec<_>>(),
        [[json!(5), json!(8)], [json!(3), json!(9)]]
    );
    for (filter, left) in [("rating>4", 1), ("own_rank:9", 1), ("rating>9", 0)] {
        view.set_filter(filter, &stage.context())
            .expect("a filter that reads");
        assert_eq!(view.list.len(), left, "{filter}");
    }
    stage.act(&mut view, Action::Back);
}

#[test]
fn a_ranking_that_ends_at_its_limit_says_so() {
    for (tokens, says) in [(LIMIT - 1, false), (LIMIT + 1, true)] {
        let rows = |row: &dyn Fn(u64) -> String| (1..=tokens).map(row).collect::<String>();
        let list = rows(&|i| format!("0x{i:x},T{i},T{i},eth\n"));
        let counts = rows(&|i| format!("0x{i:x},2026-01-01,100\n0x{i:x},2026-01-08,{}\n", 100 + i));
        let stage = Stage::new(Some(sample::dataset(&[
            (
                "tokens",
                &format!("token_address,symbol,name,chain\n{list}"),
            ),
            (
                "holder_counts",
                &format!("token_address,date,holders\n{counts}"),
            ),
        ])));
        let mut view = GrowthView::default();
        stage.draw(&mut view, 140, 20);
        let text = stage.text(&mut view, 140, 20);
        assert_eq!(
            text.contains("only the first 1,000 are listed"),
            says,
            "{tokens}: {text}"
        );
    }
}
