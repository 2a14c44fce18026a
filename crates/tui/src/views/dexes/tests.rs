//! The DEXes view on the synthetic market.

use super::*;
use crate::views::fixture::{Stage, address, shown};
use load::Dataset;

#[test]
fn screens_look_as_they_did() {
    let (stage, mut view) = shown::<DexesView>();
    insta::assert_snapshot!("dexes", stage.screen(&mut view));
}

#[test]
fn the_addresses_of_a_dex_are_copied_one_after_the_other() {
    let (mut stage, mut view) = shown::<DexesView>();
    let expected = [
        (150, "router address"),
        (160, "factory address"),
        (180, "best pool's address"),
        (150, "router address"),
    ];
    for (number, what) in expected {
        assert_eq!(
            stage.act(&mut view, Action::CopyValue),
            Effect::Copy(address(number).to_string(), what)
        );
    }
    stage.act(&mut view, Action::Down);
    stage.draw(&mut view, 140, 38);
    assert_eq!(
        stage.act(&mut view, Action::CopyValue),
        Effect::Copy(address(151).to_string(), "router address")
    );
}

#[test]
fn enter_goes_into_the_pools_and_esc_comes_back() {
    let (mut stage, mut view) = shown::<DexesView>();
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        format!("/{}/dexes?explain=true", address(1))
    );
    assert_eq!(stage.act(&mut view, Action::Open), Effect::Redraw);
    stage.act(&mut view, Action::Down);
    assert_eq!(
        stage.act(&mut view, Action::CopyValue),
        Effect::Copy(address(181).to_string(), "pool address")
    );
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        format!(
            "/tokens/{}/pools?amount=10000&where=dex_id%3Duniswap-v3-eth&sort=loss_min%2C-liquidity&page=1&limit=250",
            address(1)
        )
    );
    assert_eq!(
        view.export(&stage.context())
            .map(|export| (export.count, export.selected.is_some())),
        Some((Some(3), true))
    );
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Pass);
    assert_eq!(
        view.export(&stage.context())
            .map(|export| export.values().len()),
        Some(3)
    );
}

#[test]
fn dexes_are_sorted_and_looked_at_from_the_first() {
    let (mut stage, mut view) = shown::<DexesView>();
    for _ in view.dexes.sort_columns() {
        stage.act(&mut view, Action::Down);
        stage.act(&mut view, Action::Sort);
        assert_eq!(view.dexes.cursor.selected(), Some(0));
    }
    let mut again = DexesView::default();
    again.restore(&view.save());
    assert_eq!(again.dexes.sorting, view.dexes.sorting);
}

#[test]
fn a_filter_leaves_the_dexes_that_meet_it_until_esc() {
    let (mut stage, mut view) = shown::<DexesView>();
    let all = view.dexes.len();
    let cases = [
        ("", all),
        ("uni", 2),
        ("chain:eth", 2),
        ("chain:1", 2),
        ("pools>1 uni", 1),
        ("vol>1t", 0),
    ];
    for (text, left) in cases {
        view.set_filter(text, &stage.context())
            .expect("a filter that reads");
        assert_eq!(view.dexes.len(), left, "{text}");
        stage.draw(&mut view, 80, 20);
    }
    let refused = view
        .set_filter("volum>1", &stage.context())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("`volume`"), "{refused}");
    assert_eq!(view.filter(), Some("vol>1t"), "the last good filter stands");
    let mut again = DexesView::default();
    again.restore(&view.save());
    assert_eq!(again.filter(), Some("vol>1t"));
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!((view.dexes.len(), view.filter()), (all, Some("")));
}

#[test]
fn a_token_without_pools_says_so() {
    let (mut stage, mut view) = shown::<DexesView>();
    stage.token = Some(address(5));
    assert!(
        stage
            .text(&mut view, 80, 20)
            .contains("no pool of this token")
    );
    let empty = Stage::new(Some(Dataset::default()));
    let said = empty.text(&mut DexesView::default(), 80, 20);
    assert!(said.contains("no `pools` table: add pools.csv"), "{said}");
}

#[test]
fn the_amount_is_typed_and_every_pool_is_shown_with_its_loss() {
    let (mut stage, mut view) = shown::<DexesView>();
    view.set_filter("uni", &stage.context()).expect("a filter");
    assert_eq!(
        stage.act(&mut view, Action::SellAmount),
        Effect::Edit(EditedLine::Own("sell"), String::new())
    );
    for typed in ["", "5", "50", "50k"] {
        view.set_own_line("sell", typed, &stage.context())
            .expect("an amount");
    }
    assert!(view.set_own_line("sell", "x", &stage.context()).is_err());
    assert_eq!(view.own_line("sell"), "50000", "what Esc restores");
    assert_eq!(view.filter(), Some("uni"), "the filter stays");
    let one = stage.text(&mut view, 80, 24);
    assert!(one.contains("sell $50,000"), "{one}");
    let wide = stage.text(&mut view, 140, 38);
    assert!(
        wide.contains("PROCEEDS") && wide.contains("IMPACT"),
        "{wide}"
    );
    stage.act(&mut view, Action::EveryPool);
    let all = stage.text(&mut view, 140, 38);
    assert!(
        all.contains("pools of ") && all.contains("DEX  ") && all.contains("IMPACT"),
        "{all}"
    );
    let target = view.request(&stage.context()).expect("a request").target;
    assert_eq!(
        target,
        format!(
            "/tokens/{}/pools?amount=50000&sort=loss_min%2C-liquidity&page=1&limit=250",
            address(1)
        )
    );
}
