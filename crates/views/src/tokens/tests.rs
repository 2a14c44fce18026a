//! The Tokens view on the synthetic market.

use std::time::Instant;

use super::*;
use crate::fixture::{PATIENCE, Stage, address, market, mouse_at};
use analysis::trendlines::Trend;
use query::question::{
    compare::PERIODS,
    fields::{self, FigureValue},
    parameter::Arguments,
    progress::Progress,
    request::Request as _,
    security::SecurityQuestion,
    track_record,
};
use store::{Dataset, sample};

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
    let tables = market().tables.iter().filter(|table| table.schema.name != "kols").cloned().collect();
    let (stage, mut view) = (Stage::new(Some(Dataset::new(tables))), TokensView { detail_open: true, ..TokensView::default() });
    let mut seen = [0, 0];
    for (width, height) in (8..=22).map(|height| (80, height)).chain([(140, 38)]) {
        let text = stage.text(&mut view, width, height);
        let (whole, short) = (text.contains("for leaders"), text.contains("no `kols` table (Data, 9)"));
        assert!(whole != short || !text.contains("`kols`"), "{width}x{height}: {text}");
        seen = [seen[0] + u32::from(whole), seen[1] + u32::from(short)];
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn moving_selects_the_token_and_enter_opens_its_chart() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    assert_eq!(stage.act(&mut view, Action::First), Effect::Select(address(3)));
    let Effect::Select(second) = stage.act(&mut view, Action::Down) else { panic!("no token selected") };
    assert_eq!(stage.act(&mut view, Action::Open), Effect::Open(second, ViewId::Chart));
    assert_eq!(stage.act(&mut view, Action::CopyValue), Effect::Copy(second.to_string(), "address"));
    assert_eq!(stage.act(&mut view, Action::Detail), Effect::Redraw);
    stage.draw(&mut view, 140, 38);
    assert_eq!(stage.act(&mut view, Action::Open), Effect::Redraw);
}

#[test]
fn where_it_is_narrow_enter_opens_the_detail_and_esc_closes_it() {
    let (mut stage, mut view) = stage();
    let table = stage.text(&mut view, 80, 20);
    assert_eq!(stage.act(&mut view, Action::Open), Effect::Redraw);
    assert!(stage.text(&mut view, 80, 20).contains(&address(1).to_string()));
    assert_eq!(view.request(&stage.context()).expect("a request").target, format!("/tokens/{}?explain=true", address(1)));
    assert!(matches!(stage.act(&mut view, Action::Open), Effect::Open(..)));
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!(stage.text(&mut view, 80, 20), table);
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Pass);
}

#[test]
fn a_filter_leaves_what_holds_and_esc_takes_it_off() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    view.set_filter("chain:base cap>1m", &stage.context()).expect("a filter that reads");
    let text = stage.text(&mut view, 140, 38);
    assert!(text.contains("4 of 10") && text.contains("DAI") && !text.contains("UNI "), "{text}");
    assert!(view.set_filter("capp>1m", &stage.context()).is_err());
    assert_eq!(view.filter(), Some("chain:base cap>1m"));
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        "/tokens?where=chain%3Abase%20cap%3E1m&sort=-market_cap&fields=as_of%2Cvolume_24h%2Cliquidity%2Cprice_change_7d%2Cprice_change_30d&page=1&limit=250"
    );
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert_eq!(view.export(&stage.context()).expect("rows to export").values().len(), 10);
}

#[test]
fn a_filter_tells_how_many_tokens_have_no_value() {
    let (stage, mut view) = stage();
    let tokens = &stage.context().snapshot.expect("a snapshot").market.tokens;
    let without = tokens.iter().filter(|token| token.price_change_24h.is_none()).count();
    assert_eq!(without, 1);
    for (filter, says) in [("24h>-1000", Some(" · 1 has no 24h".to_owned())), ("24h>-1000 address:0xfff", None), ("address:0x", None)] {
        view.set_filter(filter, &stage.context()).expect("a filter that reads");
        let text = stage.text(&mut view, 80, 20);
        assert!(says.as_ref().map_or(!text.contains(" has no "), |says| text.contains(says)), "{filter}: {says:?}\n{text}");
    }
    // A figure still to be computed is not missing; tokens without a trend have none.
    view.set_filter("trend:uptrend", &stage.context()).expect("a filter that reads");
    assert_eq!(view.list.left_out.rows(), 0);
    assert!(stage.text_now(&mut view, 120, 20).contains("computed 0 of 10, Esc stops"));
    settled(&stage, &mut view, 20, |view| view.figures.all.is_empty());
    let text = stage.text(&mut view, 120, 20);
    assert!(view.list.left_out.rows() > 0 && text.contains(" no trend"), "{text}");
    stage.look(|context| view.figures.refresh(context.snapshot.expect("a snapshot"), &[], [vec![], vec![]], context));
    view.figures.known.clear();
    assert!(stage.text_now(&mut view, 120, 20).contains("10 not computed"), "what was stopped is told");
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
        assert_eq!((view.list.cursor.state.selected, view.list.cursor.state.offset, view.token(&stage.context())), (0, 0, stage.token));
        // As when the figures of the order arrive.
        view.list.sorting.reverse();
        view.relist(&stage.context());
        assert!(view.list.cursor.selected() == Some(0) && view.token(&stage.context()) != stage.token);
    }
    stage.act(&mut view, Action::Down);
    view.list.sorting.reverse();
    view.relist(&stage.context());
    assert_eq!(view.token(&stage.context()), stage.token, "once the selection has moved");
    stage.token = Some(address(5));
    view.refresh(&stage.context());
    assert_eq!(view.token(&stage.context()), Some(address(5)));
}

#[test]
fn the_watchlist_shows_starred_tokens_alone() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Watchlist);
    assert_eq!(view.list.len(), 2);
    stage.act(&mut view, Action::Star);
    stage.act(&mut view, Action::Star);
    assert!(stage.text(&mut view, 140, 38).contains("the watchlist is empty"));
}

#[test]
fn the_mouse_selects_rows_sorts_by_headers_and_stars() {
    let (stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    let context = stage.context();
    assert!(matches!(view.mouse(click(5, 4), &context), Effect::Select(_)));
    assert!(matches!(view.mouse(click(0, 4), &context), Effect::Star(_)));
    let header = |kind: fn(MouseButton) -> MouseEventKind, column| mouse_at(kind, column, 1);
    let (down, drag, up) = (MouseEventKind::Down, MouseEventKind::Drag, MouseEventKind::Up);
    // A header sorts when the button is released.
    view.mouse(header(down, 3), &context);
    assert_eq!(view.list.sorting.save(), json!(null));
    view.mouse(header(up, 3), &context);
    assert_eq!(view.list.sorting.save(), json!(["symbol"]));
    // Dragging widens the column without sorting; the pointer may leave the line.
    let width = |view: &TokensView| view.save()["columns"]["wider"].clone();
    view.mouse(header(down, 3), &context);
    view.mouse(header(drag, 6), &context);
    assert_ne!(view.mouse(MouseEvent { row: 20, ..header(drag, 8) }, &context), Effect::Nothing);
    view.mouse(header(up, 8), &context);
    assert_eq!((view.list.sorting.save(), width(&view)), (json!(["symbol"]), json!([["symbol", 5]])));
    view.mouse(header(drag, 12), &context);
    assert_eq!(width(&view), json!([["symbol", 5]]), "the button is not held any more");
    assert_eq!(view.mouse(click(138, 30), &context), Effect::Nothing);
}

#[test]
fn choices_are_kept_between_runs() {
    let (mut stage, mut view) = stage();
    view.set_filter("usd", &stage.context()).expect("a filter that reads");
    stage.act(&mut view, Action::Sort);
    stage.act(&mut view, Action::Detail);
    let mut again = TokensView::default();
    again.restore(&view.save());
    assert_eq!(again.save(), view.save());
    assert_eq!(again.filter(), Some("usd"));
    for strange in [json!(null), json!({"filter": "capp>1", "sort": 3, "detail": "x"}), json!([])] {
        let mut fresh = TokensView::default();
        fresh.restore(&strange);
        assert_eq!(fresh.save(), TokensView::default().save());
    }
}

#[test]
fn a_dataset_without_tokens_says_what_to_do() {
    let stage = Stage::new(Some(Dataset::default()));
    let text = stage.text(&mut TokensView::default(), 80, 20);
    assert!(text.contains("no `tokens` table:") && text.contains("tokens.csv"), "{text}");
}

#[test]
fn optional_columns_are_computed_for_the_rows_on_screen_and_for_all_when_the_order_needs_them() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 10);
    assert!(!stage.text(&mut view, 140, 10).contains("PATTERN"));
    stage.act(&mut view, Action::MoreColumns);
    let shown = settled(&stage, &mut view, 10, |view| view.figures.known.len() >= view.list.on_screen().count());
    assert!(["PATTERN", "SCORE", "CHAIN"].iter().all(|title| shown.contains(title)), "{shown}");
    let (known, all) = (view.figures.known.len(), market().tokens().len());
    assert!(view.figures.known.values().all(|figures| !figures.has("rsi_14")), "what no column shows is not worked out");
    assert!(known < all, "{known} of {all}: only what is on screen");
    assert_eq!(stage.act(&mut view, Action::AllFigures), Effect::Redraw);
    settled(&stage, &mut view, 10, |view| view.figures.known.len() == all && view.figures.all.is_empty());
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        "/tokens?sort=-market_cap&fields=as_of%2Cvolume_24h%2Cliquidity%2Cprice_change_7d%2Cprice_change_30d%2Ctrend%2Cbest_pattern%2C\
         advice%2CsecurityScore%2Crecommendation&page=1&limit=250"
    );
    let exported = view.export(&stage.context()).expect("rows to export");
    let trend = exported.columns.iter().position(|column| column == "trend").expect("the trend is written");
    assert!(exported.columns.iter().any(|column| column == "recommendation"));
    assert!(exported.values().iter().any(|row| row[trend] == "uptrend"));
}

#[test]
fn a_published_record_takes_no_computed_column_away() {
    let (mut stage, mut view) = stage();
    stage.act(&mut view, Action::MoreColumns);
    settled(&stage, &mut view, 10, |view| view.figures.known.len() >= view.list.on_screen().count());
    let known = view.figures.known.clone();
    let has = |view: &TokensView, name: &str| known.keys().all(|token| view.figures.known[token].has(name));
    assert!(!known.is_empty() && has(&view, "advice"));
    let snapshot = stage.snapshot.clone().expect("data");
    let step = |_, _| Ok(());
    let (tokens, digest) = track_record::digest(&snapshot, "1d", &step).expect("candles");
    snapshot.track_records.publish("1d", track_record::count(&snapshot, "1d", (&tokens, digest), None, &step));
    view.refresh(&stage.context());
    assert!(["advice", "trend", "securityScore"].iter().all(|name| has(&view, name)), "all stay while the advice is computed again");
    settled(&stage, &mut view, 10, |view| view.figures.weighed_anew.is_empty() && has(view, "advice"));
}

#[test]
fn a_filter_by_an_optional_column_finds_its_tokens_and_esc_stops_the_work() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    view.set_filter("trend:uptrend", &stage.context()).expect("a filter that reads");
    let all = market().tokens().len();
    settled(&stage, &mut view, 38, |view| view.figures.known.len() == all && view.figures.all.is_empty());
    let trend = |view: &TokensView, place: usize| -> Option<String> {
        let token = &stage.context().snapshot.expect("loaded data").market.tokens[place];
        view.figures.known[&token.token_address].get("trend").and_then(FigureValue::word).map(str::to_owned)
    };
    assert!(!view.list.is_empty() && view.list.len() < all);
    assert!(view.list.places().all(|place| trend(&view, place).as_deref() == Some(Trend::Uptrend.word())));
    view.figures.want_all(fields::COMPUTED.to_vec());
    stage.act(&mut view, Action::Back);
    assert!(view.figures.all.is_empty() && view.list.filter_text() == "trend:uptrend", "the first Esc stops the work");
    stage.act(&mut view, Action::Back);
    assert_eq!((view.list.filter_text(), view.list.len()), ("", all));
}

/// The screen at rest, once it is `done`: on a busy machine it may rest before the next batch is requested.
fn settled(stage: &Stage, view: &mut TokensView, height: u16, done: impl Fn(&TokensView) -> bool) -> String {
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
        view.set_filter(filter, &stage.context()).expect("a filter that reads");
        let target = view.question().target();
        let (_, query) = target.split_once('?').expect("a query");
        let arguments = Arguments::new(SearchQuestion::PARAMETERS, &[], query).expect("parameters");
        let asked = SearchQuestion::parse(&arguments).expect("a question");
        assert_eq!(asked, view.question(), "{filter}");
        let answer = asked.answer(&snapshot, &Progress::default()).expect("an answer");
        let answered: Vec<_> = answer.tokens.iter().map(|token| token.token_address).collect();
        let shown: Vec<_> = view.list.places().map(|place| snapshot.market.tokens[place].token_address).collect();
        assert_eq!(answered, shown, "{filter}");
    }
}

#[test]
fn the_request_is_for_the_page_with_the_selected_token() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Last);
    let context = stage.context();
    let snapshot = context.snapshot.expect("loaded data");
    for limit in [1, 3, 250] {
        let question = SearchQuestion { limit, ..view.question() };
        for token in market().tokens() {
            let (page, total) = question.page_of(&token.row.token_address, snapshot).expect("a token of the list");
            let answer = SearchQuestion { page, ..question.clone() }.answer(snapshot, &Progress::default()).expect("an answer");
            assert!(answer.tokens.iter().any(|found| found.token_address == token.row.token_address), "{limit} {page}");
            assert_eq!(total, 10);
        }
        assert_eq!(question.page_of(&address(99), snapshot), None);
    }
    let request = HttpRequest::get("/tokens").of_page(2, 250, 501);
    assert_eq!((request.page, HttpRequest::get("/tokens").of_page(1, 250, 250).page), (Some((2, 3)), None));
}

#[test]
fn compared_tokens_have_an_even_axis_and_a_crosshair_for_the_mouse() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Mark);
    stage.act(&mut view, Action::Down);
    stage.act(&mut view, Action::CompareTokens);
    let shown = stage.text(&mut view, 140, 38);
    // The row of each label, and its figure.
    let label = |line: &str| line.chars().take(10).collect::<String>().trim().strip_suffix("%")?.parse::<f64>().ok();
    let labels: Vec<(usize, f64)> = shown.lines().enumerate().filter_map(|(row, line)| Some((row, label(line)?))).collect();
    assert!(labels.len() >= 3, "{shown}");
    let steps: Vec<(usize, f64)> = labels.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[0].1 - pair[1].1)).collect();
    let even = |step: &(usize, f64)| step.0.abs_diff(steps[0].0) <= 1 && (step.1 - steps[0].1).abs() < 1e-9 && step.1 > 0.0;
    assert!(steps.iter().all(even), "{labels:?}\n{shown}");
    // A press inside the plot sets the crosshair, a drag moves it.
    let legend = |shown: &str| shown.lines().find(|line| line.contains("percent to ")).map(str::to_owned);
    let context = stage.context();
    assert_eq!(view.mouse(click(50, 10), &context), Effect::Redraw);
    let middle = legend(&stage.text(&mut view, 140, 38));
    assert_eq!(view.mouse(mouse_at(MouseEventKind::Drag, 20, 10), &context), Effect::Redraw);
    let dragged = legend(&stage.text(&mut view, 140, 38));
    assert!(middle != legend(&shown) && dragged < middle, "{middle:?} {dragged:?}");
    assert_eq!(view.mouse(click(138, 36), &context), Effect::Nothing, "beside the lines");
    let narrow = stage.text(&mut view, 80, 18);
    assert!(narrow.contains("correlation of daily"), "{narrow}");
    // No line of dots touches the right edge: a letter stands there, and nothing.
    assert!(shown.lines().all(|line| line.chars().nth(139).is_none_or(|last| matches!(last, ' ' | '─'))), "{shown}");
}

#[test]
fn a_comparison_has_a_period_and_a_base() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Mark);
    stage.act(&mut view, Action::Down);
    stage.act(&mut view, Action::CompareTokens);
    let all = stage.text(&mut view, 140, 38);
    assert!(all.contains("all days · 1d candles"), "{all}");
    // The rows of the legend, the base marked.
    let based = |shown: &str| shown.lines().filter(|line| line.contains(" base ")).map(|line| line[..4].to_owned()).collect::<Vec<_>>();
    assert_eq!(based(&all).last().map(String::as_str), Some(" A  "), "{all}");
    for action in [Action::Window, Action::Down, Action::CompareBase] {
        stage.act(&mut view, action);
    }
    let week = stage.text(&mut view, 140, 38);
    assert!(
        week.contains(" · 7d · 1d candles") && week.contains("daily returns, 7 days") && week.contains(", 7 days · percent to"),
        "{week}"
    );
    assert_eq!(based(&week).last().map(String::as_str), Some(" B  "), "{week}");
    let asked = view.request(&stage.context()).expect("a request").target;
    assert!(asked.contains("period=7d") && asked.contains("base=0x"), "{asked}");
    for _ in 1..PERIODS.len() {
        stage.act(&mut view, Action::Window);
    }
    assert!(stage.text(&mut view, 140, 38).contains("all days · 1d candles"));
    stage.act(&mut view, Action::CompareTimeframe);
    let weekly = stage.text(&mut view, 140, 38);
    assert!(weekly.contains("· 1w candles"), "{weekly}");
}

#[test]
fn growth_to_an_older_day_is_dated_and_dim() {
    let dataset = sample::dataset(&[
        ("tokens", "token_address,symbol,name,chain,market_cap\n0x01,NEW,New,eth,9\n0x02,OLD,Old,eth,5"),
        ("holder_counts", "token_address,date,holders\n0x01,2026-01-03,100\n0x01,2026-01-10,110\n0x02,2026-01-01,100\n0x02,2026-01-08,150"),
    ]);
    let (mut stage, mut view) = (Stage::new(Some(dataset)), TokensView::default());
    stage.draw(&mut view, 140, 38);
    let role = |place: usize| {
        let tokens = &stage.context().snapshot.expect("a snapshot").market.tokens;
        let row =
            ListRow::<TokenFields> { given: ListedToken { token: &tokens[place], figures: None, starred: false, has_changed: false } };
        let look = CellContext { cells: 9, now: Time(0), newest: Time(0) };
        let field = TokenFields::FIELDS.iter().find(|field| field.column.key == "holders_growth").expect("the column");
        field.show(row, &look).pieces
    };
    assert_eq!((role(0), role(1)), (vec![("▲ 10.0".into(), Role::Up)], vec![("▲ 50.0".into(), Role::Dim)]));
    let newest = stage.text(&mut view, 140, 38);
    assert!(newest.contains("▲ 10.0%  7d") && !newest.contains(" to 2026"), "{newest}");
    stage.act(&mut view, Action::Down);
    let older = stage.text(&mut view, 140, 38);
    assert!(older.contains("▲ 50.0%  7d to 2026-01-08"), "{older}");
}

#[test]
fn compared_tokens_have_the_figures_of_the_list() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    let tokens = [address(3), address(1)];
    let snapshot = Arc::clone(stage.context().snapshot.expect("a snapshot"));
    SecurityQuestion { contract_address: tokens[1], explain: false }.answer(&snapshot, &Progress::default()).expect("a score");
    let score = snapshot.security.summary(&tokens[1]).expect("it is kept");
    for token in tokens {
        stage.look(|context| view.compare.mark(token, context));
    }
    stage.act(&mut view, Action::CompareTokens);
    for (width, height) in [(140, 38), (80, 24)] {
        let shown = stage.text(&mut view, width, height);
        let header = shown.lines().position(|line| line.contains("VOLATILITY %")).unwrap_or_else(|| panic!("{shown}"));
        for (nth, token) in tokens.iter().enumerate() {
            let summary = snapshot.market.of(&snapshot.dataset, token).expect("a token");
            let line = shown.lines().nth(header + 1 + nth).expect("a line");
            assert!(line.contains(&format::human(summary.market_cap)), "{width}\n{shown}");
            if width > 80 {
                let score = if nth == 0 { "–".to_owned() } else { score_text(score.score, score.recommendation) };
                let figures = format!("{}  {score:>5}", format::human(summary.volume_24h));
                assert!(line.contains(&figures), "{figures}\n{shown}");
            }
        }
    }
    insta::assert_snapshot!("compared", stage.text(&mut view, 140, 38) + &stage.text(&mut view, 80, 24));
}

#[test]
fn a_kept_choice_of_columns_hides_those_that_are_new_since() {
    let shown = |kept: Json| {
        let mut view = TokensView::default();
        view.restore(&kept);
        view.list.columns().into_iter().filter(|(.., shown)| *shown).map(|(key, ..)| key).collect::<Vec<_>>()
    };
    // A session saved before known columns were included: two columns are newer.
    let before = shown(json!({"columns": {"order": [], "hidden": ["name"], "wider": [], "frozen": 0}}));
    assert!(["trend", "securityScore", "price"].iter().all(|key| before.contains(key)), "{before:?}");
    assert!(!["rsi_14", "from_52w_high", "name"].iter().any(|key| before.contains(key)), "{before:?}");
    let now = shown(json!({"columns": {"hidden": ["name"], "known": ["symbol", "name", "price", "rsi_14"]}}));
    assert_eq!(now, ["symbol", "price", "rsi_14"]);
    // The choice is restored unchanged.
    let mut view = TokensView::default();
    view.list.show("rsi_14", true);
    assert_eq!(shown(view.save()), view.list.columns().into_iter().filter(|(.., shown)| *shown).map(|(key, ..)| key).collect::<Vec<_>>());
    assert!(shown(view.save()).contains(&"rsi_14"));
    assert_eq!(shown(json!({})), shown(TokensView::default().save()));
}

#[test]
fn where_most_tokens_have_no_price_the_others_are_shown_first_and_counted() {
    let sample = |priced: &[&str]| {
        let row = |i: usize| format!("0x0{},T{i},Token,eth,{}\n", i + 1, priced.get(i).copied().unwrap_or_default());
        sample::dataset(&[("tokens", &format!("token_address,symbol,name,chain,price\n{}", (0..5).map(row).collect::<String>()))])
    };
    for (priced, line) in [(&["1", "2"][..], "2 of 5 · 3 have no price"), (&["1", "2", "3"], "5 tokens"), (&[], "5 tokens")] {
        assert!(Stage::new(Some(sample(priced))).text(&mut TokensView::default(), 140, 38).contains(line), "{line}");
    }
    // It is of that dataset, and not of the next.
    let (mut stage, mut view) = (Stage::new(Some(sample(&["1", "2"]))), TokensView::default());
    assert!(stage.text(&mut view, 140, 38).contains("2 of 5") && view.save()["filter"].is_null());
    let mut other = sample(&["1", "2", "3"]);
    other.folder = "other".into();
    stage.snapshot = Some(stage.deck.publish(other));
    assert!(stage.text(&mut view, 140, 38).contains("5 tokens"));
    // A filter that was taken off stays off.
    view.restore(&json!({ "filter": "" }));
    assert!(Stage::new(Some(sample(&["1", "2"]))).text(&mut view, 140, 38).contains("5 tokens"));
}

#[test]
fn figures_of_another_time_are_dim_and_have_their_day() {
    let dataset = sample::dataset(&[(
        "tokens",
        "token_address,symbol,name,chain,price,price_as_of,market_cap,total_supply,holders,stats_as_of
         0x01,OLD,Old,eth,2,2025-11-13,3430000000,10,353636,2023-06-18
         0x02,NEW,New,eth,2,2025-11-13,5000000000,10,80,2025-11-10",
    )]);
    let (mut stage, mut view) = (Stage::new(Some(dataset)), TokensView::default());
    let wide = stage.text(&mut view, 220, 38);
    assert!(wide.contains("3.43B 2023-06-18") && wide.contains("354k 2023-06-18"), "{wide}");
    assert!(!wide.contains("5.00B 2025"), "seven days are no other time: {wide}");
    stage.act(&mut view, Action::Down);
    let detail = stage.text(&mut view, 140, 38);
    assert!(detail.contains("market cap  3,430,000,000") && detail.contains("353,636"), "{detail}");
    assert!(detail.matches("2023-06-18").count() >= 3, "cap, supply and holders: {detail}");
}

#[test]
fn columns_that_are_asked_for_are_seen_and_the_detail_gives_way() {
    let (mut stage, mut view) = stage();
    // Beside the list.
    let detail = |text: &str| text.lines().next().is_some_and(|line| line.contains("Wrapped Ether"));
    assert!(detail(&stage.text(&mut view, 140, 30)));
    stage.act(&mut view, Action::MoreColumns);
    let more = stage.text(&mut view, 140, 30);
    for title in ["CHAIN", "24H", "CAP", "TREND", "PATTERN", "ADVICE", "SCORE"] {
        assert!(more.contains(title), "{title}: {more}");
    }
    assert!(!detail(&more), "{more}");
    let narrow = stage.text(&mut view, 80, 24);
    assert!(["TREND", "PATTERN", "ADVICE", "SCORE"].iter().all(|title| narrow.contains(title)), "{narrow}");
    // What has no room is told; what the filter names is a column for as long.
    stage.text(&mut view, 80, 24);
    let no_room = view.list.choice().expect("columns to choose from").no_room;
    assert!(no_room.contains(&"holders") && !no_room.contains(&"trend"), "{no_room:?}");
    stage.act(&mut view, Action::MoreColumns);
    assert!(!stage.text(&mut view, 140, 30).contains("SCORE"));
    view.set_filter("score>=0 holders>0", &stage.context()).expect("a filter");
    let filtered = stage.text(&mut view, 140, 30);
    assert!(filtered.contains("SCORE") && filtered.contains(" HOLDERS  "), "{filtered}");
}

#[test]
fn s_passes_over_columns_without_data() {
    let (mut stage, mut view) =
        (Stage::new(Some(sample::dataset(&[("tokens", "token_address,symbol,name,chain,price\n0x01,A,A,eth,1")]))), TokensView::default());
    stage.draw(&mut view, 140, 38);
    let mut sorted = Vec::new();
    for _ in 0..8 {
        stage.act(&mut view, Action::Sort);
        sorted.extend(view.list.sorting.first().map(|order| order.column));
    }
    assert!(sorted.contains(&"price") && !sorted.iter().any(|key| ["liquidity", "age", "volume_24h"].contains(key)), "{sorted:?}");
}
