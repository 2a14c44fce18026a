//! The Tokens view on the synthetic market.

mod columns;
mod compared;

use std::time::Instant;

use super::*;
use crate::views::fixture::{PATIENCE, Stage, address, market, mouse_at};
use analysis::market::TokenSummary;
use load::{Dataset, sample};
use model::progress::Progress;
use query::queries::{parameter::Arguments, request::Request as _};

fn stage() -> (Stage, TokensView) {
    (Stage::new(Some(market())), TokensView::default())
}

fn click(column: u16, row: u16) -> MouseEvent {
    mouse_at(MouseEventKind::Down, column, row)
}

#[test]
fn screens_look_as_they_did() {
    let (stage, mut view) = stage();
    insta::assert_snapshot!("tokens", stage.screen(&mut view));
    view.detail_open = true;
    insta::assert_snapshot!("tokens_detail_narrow", stage.text(&mut view, 80, 20));
    insta::assert_snapshot!("tokens_detail_below", stage.text(&mut view, 90, 50));
}

#[test]
fn why_a_section_is_empty_is_shown_whole_or_in_short() {
    let tables = market()
        .tables
        .iter()
        .filter(|table| table.schema.name != "kols")
        .cloned()
        .collect();
    let (stage, mut view) = (
        Stage::new(Some(Dataset::new(tables))),
        TokensView {
            detail_open: true,
            ..TokensView::default()
        },
    );
    let mut seen = [0, 0];
    for (width, height) in (8..=22).map(|height| (80, height)).chain([(140, 38)]) {
        let text = stage.text(&mut view, width, height);
        let (whole, short) = (
            text.contains("for leaders"),
            text.contains("no `kols` table (Data, 9)"),
        );
        assert!(
            whole != short || !text.contains("`kols`"),
            "{width}x{height}: {text}"
        );
        seen = [seen[0] + u32::from(whole), seen[1] + u32::from(short)];
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn moving_selects_the_token_and_enter_opens_its_chart() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    assert_eq!(
        stage.act(&mut view, Action::First),
        Effect::Select(address(3))
    );
    let Effect::Select(second) = stage.act(&mut view, Action::Down) else {
        panic!("no token selected")
    };
    assert_eq!(
        stage.act(&mut view, Action::Open),
        Effect::Open(second, ViewId::Chart)
    );
    assert_eq!(
        stage.act(&mut view, Action::CopyValue),
        Effect::Copy(second.to_string(), "address")
    );
    assert_eq!(stage.act(&mut view, Action::Detail), Effect::Redraw);
    stage.draw(&mut view, 140, 38);
    assert_eq!(stage.act(&mut view, Action::Open), Effect::Redraw);
}

#[test]
fn where_it_is_narrow_enter_opens_the_detail_and_esc_closes_it() {
    let (mut stage, mut view) = stage();
    let table = stage.text(&mut view, 80, 20);
    assert_eq!(stage.act(&mut view, Action::Open), Effect::Redraw);
    assert!(
        stage
            .text(&mut view, 80, 20)
            .contains(&address(1).to_string())
    );
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        format!("/tokens/{}?explain=true", address(1))
    );
    assert!(matches!(
        stage.act(&mut view, Action::Open),
        Effect::Open(..)
    ));
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!(stage.text(&mut view, 80, 20), table);
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Pass);
}

#[test]
fn a_filter_leaves_what_holds_and_esc_takes_it_off() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    view.set_filter("chain:base cap>1m", &stage.context())
        .expect("a filter that reads");
    let text = stage.text(&mut view, 140, 38);
    assert!(
        text.contains("4 of 10") && text.contains("DAI") && !text.contains("UNI "),
        "{text}"
    );
    assert!(view.set_filter("capp>1m", &stage.context()).is_err());
    assert_eq!(view.filter(), Some("chain:base cap>1m"));
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        "/tokens?where=chain%3Abase%20cap%3E1m&sort=-market_cap&fields=as_of%2Cvolume_24h%2Cliquidity%2Cprice_change_7d%2Cprice_change_30d&page=1&limit=250"
    );
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    stage.draw(&mut view, 140, 38);
    assert_eq!(
        view.export(&stage.context())
            .expect("rows to export")
            .values()
            .len(),
        10
    );
}

#[test]
fn a_filter_tells_how_many_tokens_have_no_value() {
    let (stage, mut view) = stage();
    let tokens = &stage.context().snapshot.expect("a snapshot").market.tokens;
    let without = tokens
        .iter()
        .filter(|token| token.price_change_24h.is_none())
        .count();
    assert_eq!(without, 1);
    for (filter, says) in [
        ("24h>-1000", Some(" · 1 has no 24h".to_owned())),
        ("24h>-1000 address:0xfff", None),
        ("address:0x", None),
    ] {
        view.set_filter(filter, &stage.context())
            .expect("a filter that reads");
        let text = stage.text(&mut view, 80, 20);
        assert!(
            says.as_ref()
                .map_or(!text.contains(" has no "), |says| text.contains(says)),
            "{filter}: {says:?}\n{text}"
        );
    }
    // A figure still to be computed is not missing; tokens without a trend have none.
    let (stage, mut view) = computing("trend:uptrend");
    assert_eq!(view.list.left_out.rows(), 0);
    // Drawing takes nothing that has arrived.
    let (begun, says) = (Instant::now(), "of 10, Esc stops");
    while !stage.text_now(&mut view, 120, 20).contains(says) {
        assert!(begun.elapsed() < PATIENCE, "never {says}");
    }
    let text = stage.text(&mut view, 120, 20);
    assert!(
        view.list.left_out.rows() > 0 && text.contains(" no trend"),
        "{text}"
    );
    let (stage, mut view) = computing("score>0");
    let shown = view.list.len();
    stage.press(&mut view, &[Action::Back]);
    for text in [
        stage.text_now(&mut view, 120, 20),
        stage.text(&mut view, 120, 20),
    ] {
        assert!(
            text.contains("10 not computed") && view.list.len() == shown,
            "what was stopped is told: {text}"
        );
    }
}

/// A list whose filter is being computed: a machine that is fast or busy may have the rows before the view looks, so this asks until one
/// has not.
fn computing(filter: &str) -> (Stage, TokensView) {
    let begun = Instant::now();
    loop {
        let (stage, mut view) = stage();
        stage.text(&mut view, 120, 20);
        view.set_filter(filter, &stage.context())
            .expect("a filter that reads");
        if view.rows.is_computing() {
            return (stage, view);
        }
        assert!(begun.elapsed() < PATIENCE, "never seen computing {filter}");
    }
}

#[test]
fn a_new_order_is_looked_at_from_its_first_row_and_else_the_selection_stays_on_its_token() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 8);
    for action in [Action::Sort, Action::SortReverse] {
        stage.act(&mut view, Action::Last);
        stage.draw(&mut view, 140, 8);
        stage.act(&mut view, action);
        stage.draw(&mut view, 140, 8);
        let state = view.list.cursor.state;
        assert_eq!((state.selected, state.offset), (0, 0));
        // The application takes the token over.
        stage.token = view.selected_token(&stage.context());
        // As when the figures of the order arrive.
        view.list.sorting.reverse();
        view.relist(&stage.context());
        stage.draw(&mut view, 140, 8);
        assert!(
            view.list.cursor.selected() == Some(0) && view.token(&stage.context()) != stage.token
        );
    }
    stage.act(&mut view, Action::Down);
    view.list.sorting.reverse();
    view.relist(&stage.context());
    stage.draw(&mut view, 140, 8);
    assert_eq!(
        view.token(&stage.context()),
        stage.token,
        "once the selection has moved"
    );
    stage.token = Some(address(5));
    view.refresh(&stage.context());
    assert_eq!(view.token(&stage.context()), Some(address(5)));
}

#[test]
fn the_watchlist_shows_starred_tokens_alone() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    for (action, watched) in [(Action::Watchlist, 2), (Action::Star, 1), (Action::Star, 0)] {
        stage.act(&mut view, action);
        stage.draw(&mut view, 140, 38);
        assert_eq!(view.list.len(), watched);
    }
    assert!(
        stage
            .text(&mut view, 140, 38)
            .contains("the watchlist is empty")
    );
}

#[test]
fn the_mouse_selects_rows_sorts_by_headers_and_stars() {
    let (stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    let context = stage.context();
    assert!(matches!(
        view.mouse(click(5, 4), &context),
        Effect::Select(_)
    ));
    assert!(matches!(view.mouse(click(0, 4), &context), Effect::Star(_)));
    let header = |kind: fn(MouseButton) -> MouseEventKind, column| mouse_at(kind, column, 1);
    let (down, drag, up) = (
        MouseEventKind::Down,
        MouseEventKind::Drag,
        MouseEventKind::Up,
    );
    // A header sorts when the button is released.
    view.mouse(header(down, 3), &context);
    assert_eq!(view.list.sorting.save(), json!(null));
    view.mouse(header(up, 3), &context);
    assert_eq!(view.list.sorting.save(), json!(["symbol"]));
    // Dragging widens the column without sorting; the pointer may leave the line.
    let width = |view: &TokensView| view.save()["columns"]["wider"].clone();
    view.mouse(header(down, 3), &context);
    view.mouse(header(drag, 6), &context);
    assert_ne!(
        view.mouse(
            MouseEvent {
                row: 20,
                ..header(drag, 8)
            },
            &context
        ),
        Effect::Nothing
    );
    view.mouse(header(up, 8), &context);
    assert_eq!(
        (view.list.sorting.save(), width(&view)),
        (json!(["symbol"]), json!([["symbol", 5]]))
    );
    view.mouse(header(drag, 12), &context);
    assert_eq!(
        width(&view),
        json!([["symbol", 5]]),
        "the button is not held any more"
    );
    assert_eq!(view.mouse(click(138, 30), &context), Effect::Nothing);
}

#[test]
fn choices_are_kept_between_runs() {
    let (mut stage, mut view) = stage();
    view.set_filter("usd", &stage.context())
        .expect("a filter that reads");
    stage.act(&mut view, Action::Sort);
    stage.act(&mut view, Action::Detail);
    let mut again = TokensView::default();
    again.restore(&view.save());
    assert_eq!(again.save(), view.save());
    assert_eq!(again.filter(), Some("usd"));
    for strange in [
        json!(null),
        json!({"filter": "capp>1", "sort": 3, "detail": "x"}),
        json!([]),
    ] {
        let mut fresh = TokensView::default();
        fresh.restore(&strange);
        assert_eq!(fresh.save(), TokensView::default().save());
    }
}

#[test]
fn a_dataset_without_tokens_says_what_to_do() {
    let stage = Stage::new(Some(Dataset::default()));
    let text = stage.text(&mut TokensView::default(), 80, 20);
    assert!(
        text.contains("no `tokens` table:") && text.contains("tokens.csv"),
        "{text}"
    );
}

/// The number of tokens whose figure of this name is known.
fn known(view: &TokensView, name: &str) -> usize {
    let figures = |token: &TokenSummary| view.rows.known.get(&token.token_address);
    let has = |token: &&TokenSummary| figures(token).is_some_and(|figures| figures.has(name));
    view.rows.tokens().iter().filter(has).count()
}

/// The screen at rest, once it is `done`: on a busy machine it may rest before figures are requested.
fn settled(
    stage: &Stage,
    view: &mut TokensView,
    height: u16,
    done: impl Fn(&TokensView) -> bool,
) -> String {
    let begun = Instant::now();
    loop {
        let text = stage.text(view, 140, height);
        if done(view) {
            return text;
        }
        assert!(begun.elapsed() < PATIENCE, "not done:\n{text}");
    }
}

#[test]
fn the_conditions_of_a_request_keep_the_rows_that_the_filter_keeps() {
    let (stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    let snapshot = Arc::clone(stage.context().snapshot.expect("loaded data"));
    for filter in [
        "",
        "cap>1m",
        "chain:base",
        "chain!=ethereum",
        "price<=1 holders>10",
        "name:coin",
        "change<0",
        "age<900d",
        "created>2025",
        "7d!=0",
        "cap>1b or (chain:base and price<=1)",
        "usd (price>2 or holders>10)",
    ] {
        view.set_filter(filter, &stage.context())
            .expect("a filter that reads");
        stage.draw(&mut view, 140, 38);
        let target = view.question().target();
        let (_, query) = target.split_once('?').expect("a query");
        let arguments = Arguments::new(TokensQuery::PARAMETERS, &[], query).expect("parameters");
        let asked = TokensQuery::parse(&arguments).expect("a question");
        assert_eq!(asked, view.question(), "{filter}");
        let answer = asked
            .answer(
                &query::queries::view::View::new(&snapshot),
                &Progress::default(),
            )
            .expect("an answer");
        let answered: Vec<_> = answer
            .tokens
            .iter()
            .map(|token| token.token_address)
            .collect();
        let shown: Vec<_> = view
            .list
            .places()
            .map(|place| snapshot.market.tokens[place].token_address)
            .collect();
        assert_eq!(answered, shown, "{filter}");
    }
}

#[test]
fn rows_are_filtered_and_sorted_elsewhere_and_stay_until_others_have_come() {
    const TOKENS: usize = 200_000;
    let row = |i: usize| {
        format!(
            "0x{0:x},T{i},Token,eth,{0},{1}\n",
            i + 1,
            i * 7_919 % TOKENS
        )
    };
    let dataset = sample::dataset(&[(
        "tokens",
        &format!(
            "token_address,symbol,name,chain,price,market_cap\n{}",
            (0..TOKENS).map(row).collect::<String>()
        ),
    )]);
    let (stage, mut view) = (Stage::new(Some(dataset)), TokensView::default());
    let first = |view: &TokensView| view.list.places().take(3).collect::<Vec<_>>();
    stage.look(|context| view.refresh(context));
    stage.draw_now(&mut view, 140, 38);
    assert!(
        view.list.is_empty() && view.is_arranging(),
        "not on the drawing thread"
    );
    stage.draw(&mut view, 140, 38);
    let by_cap = first(&view);
    assert_eq!((view.list.len(), view.is_arranging()), (TOKENS, false));
    view.set_filter("price<=1000", &stage.context())
        .expect("a filter that reads");
    stage.draw_now(&mut view, 140, 38);
    assert_eq!((view.list.len(), first(&view)), (TOKENS, by_cap));
    assert_eq!(view.selected_token(&stage.context()), None, "it may move");
    stage.draw(&mut view, 140, 38);
    let kept = first(&view);
    assert_eq!(view.list.len(), 1_000);
    view.list.sorting.set([Order::rising("price")]);
    view.relist(&stage.context());
    stage.draw_now(&mut view, 140, 38);
    assert!(first(&view) == kept && view.is_arranging());
    stage.draw(&mut view, 140, 38);
    assert_eq!(first(&view), [0, 1, 2]);
    // The choice on screen needs no rows, and what was asked for before it does not come.
    stage.look(|context| {
        view.set_filter("price<5", context).expect("a filter");
        view.set_filter("price<=1000", context).expect("a filter");
    });
    assert!(!view.is_arranging());
    stage.draw(&mut view, 140, 38);
    assert_eq!(view.list.len(), 1_000);
    // The request is for the page with the selected row.
    view.list.cursor.select(300);
    let request = view.request(&stage.context()).expect("a request");
    assert!(request.target.ends_with("page=2&limit=250") && request.page == Some((2, 4)));
    let one_page = HttpRequest::get("/tokens").of_page(1, 250, 250);
    assert_eq!(one_page.page, None);
}

#[test]
fn where_most_tokens_have_no_price_the_others_are_shown_first_and_counted() {
    let sample = |priced: &[&str]| {
        let row = |i: usize| {
            format!(
                "0x0{},T{i},Token,eth,{}\n",
                i + 1,
                priced.get(i).copied().unwrap_or_default()
            )
        };
        sample::dataset(&[(
            "tokens",
            &format!(
                "token_address,symbol,name,chain,price\n{}",
                (0..5).map(row).collect::<String>()
            ),
        )])
    };
    for (priced, line) in [
        (&["1", "2"][..], "2 of 5 · 3 have no price"),
        (&["1", "2", "3"], "5 tokens"),
        (&[], "5 tokens"),
    ] {
        assert!(
            Stage::new(Some(sample(priced)))
                .text(&mut TokensView::default(), 140, 38)
                .contains(line),
            "{line}"
        );
    }
    // It is of that dataset, and not of the next.
    let (mut stage, mut view) = (Stage::new(Some(sample(&["1", "2"]))), TokensView::default());
    assert!(stage.text(&mut view, 140, 38).contains("2 of 5") && view.save()["filter"].is_null());
    let mut other = sample(&["1", "2", "3"]);
    other.folder = "other".into();
    stage.snapshot = Some(stage.service.publish(other));
    assert!(stage.text(&mut view, 140, 38).contains("5 tokens"));
    // A filter that was taken off stays off.
    view.restore(&json!({ "filter": "" }));
    assert!(
        Stage::new(Some(sample(&["1", "2"])))
            .text(&mut view, 140, 38)
            .contains("5 tokens")
    );
}
