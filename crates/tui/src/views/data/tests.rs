//! The display and the actions of the Data view.

use polars::prelude::{IntoColumn, NamedFrom, Series};

use super::*;
use crate::views::fixture::{self, SIZES, Stage, mouse_at};

fn view(stage: &Stage) -> DataView {
    let mut view = DataView::default();
    stage.look(|context| view.refresh(context));
    view
}

fn opened(stage: &Stage, table: &str) -> DataView {
    let mut view = DataView {
        reopen: Some(table.to_owned()),
        ..DataView::default()
    };
    stage.look(|context| view.refresh(context));
    view
}

/// Waits for the requested order.
fn settled(stage: &Stage, view: &mut DataView) {
    stage.rest(|context| view.refresh(context));
}

fn select(view: &mut DataView, stage: &Stage, table: &str) {
    let is_it = |place: usize, context: &Context<'_>| {
        context.snapshot.expect("loaded data").dataset.tables[place]
            .schema
            .name
            == table
    };
    assert!(
        stage.look(|context| view.list.point_to(|place| is_it(place, context))),
        "a table of the schema"
    );
}

#[test]
fn every_table_stands_with_its_state_files_and_findings() {
    let stage = Stage::loaded();
    let mut view = view(&stage);
    select(&mut view, &stage, "candles");
    stage.hold("data", &mut view, SIZES);
    select(&mut view, &stage, "holders");
    stage.hold("data-unusable", &mut view, &[(140, 38)]);
    select(&mut view, &stage, "pools");
    stage.hold("data-absent", &mut view, &[(80, 20)]);
    stage.draw_in_odd_sizes(&mut view);
}

#[test]
fn before_anything_is_loaded_the_load_is_seen() {
    let mut stage = Stage::empty();
    let mut view = view(&stage);
    stage.hold("data-nothing", &mut view, &[(80, 20)]);
    stage.load.running = true;
    stage.load.tables = vec![
        ("tokens".to_owned(), 10, 10),
        ("candles".to_owned(), 41, 100),
        ("transfers".to_owned(), 0, 0),
    ];
    stage.hold("data-loading", &mut view, &[(80, 20), (140, 38)]);
    assert_eq!(
        stage.look(|context| view.act(Action::Open, context)),
        Effect::Say("nothing is loaded yet".to_owned())
    );
}

#[test]
fn counting_and_describing_are_offered_in_rows_only() {
    let stage = Stage::loaded();
    let mut tables = view(&stage);
    for action in [Action::CountValues, Action::Describe] {
        assert!(!tables.answers(action) && opened(&stage, "candles").answers(action));
        let said = stage.look(|context| tables.act(action, context));
        assert!(
            matches!(&said, Effect::Say(says) if says.ends_with("first open the rows of this table with Enter")),
            "{said:?}"
        );
    }
}

#[test]
fn findings_are_counted_by_reason_and_listed() {
    let stage = Stage::loaded();
    let mut view = view(&stage);
    select(&mut view, &stage, "candles");
    stage.press(
        &mut view,
        &[Action::Findings, Action::Down, Action::Down, Action::Open],
    );
    stage.hold("data-findings", &mut view, SIZES);
    stage.draw_in_odd_sizes(&mut view);
    let export = stage
        .look(|context| view.export(context))
        .expect("rows to export");
    assert_eq!(
        export.selected.expect("a selected row")[5],
        "expected a number from 0: the cell is left empty"
    );
    assert_eq!(
        stage.look(|context| view.act(Action::CopyValue, context)),
        Effect::Copy("-1".to_owned(), "value")
    );
    stage.press(&mut view, &[Action::Back; 2]);
    assert!(matches!(view.open, Open::Nothing));
    select(&mut view, &stage, "tokens");
    let said = stage.look(|context| view.act(Action::Findings, context));
    assert_eq!(said, Effect::Say("no issues in `tokens`".to_owned()));
}

#[test]
fn rows_are_browsed_cell_by_cell() {
    let stage = Stage::loaded();
    let mut view = opened(&stage, "candles");
    stage.press(&mut view, &[Action::Right; 5]);
    stage.press(&mut view, &[Action::Last]);
    stage.hold("data-rows", &mut view, SIZES);
    stage.draw_in_odd_sizes(&mut view);
    let copied = stage.look(|context| view.act(Action::CopyValue, context));
    assert!(matches!(copied, Effect::Copy(_, "close")), "{copied:?}");
    let export = stage
        .look(|context| view.export(context))
        .expect("rows to export");
    assert_eq!(
        (export.count, export.columns[0].as_str()),
        (Some(4_000), "token_address")
    );
    let (selected, values) = (export.selected.clone(), export.values());
    assert_eq!((values.len(), values.last()), (4_000, selected.as_ref()));
}

#[test]
fn columns_scroll_with_the_first_one_frozen() {
    let stage = Stage::loaded();
    let mut view = opened(&stage, "tokens");
    let header = |view: &mut DataView| {
        stage
            .text_now(view, 80, 20)
            .lines()
            .nth(2)
            .expect("a line")
            .trim_start()
            .to_owned()
    };
    assert!(
        header(&mut view).starts_with("TOKEN_ADDRESS") && !header(&mut view).contains("LISTED")
    );
    stage.press(&mut view, &[Action::Right; 20]);
    let scrolled = header(&mut view);
    assert!(
        scrolled.starts_with("TOKEN_ADDRESS")
            && scrolled.contains("LISTED")
            && !scrolled.contains("SYMBOL"),
        "{scrolled}"
    );
    stage.hold("data-rows-scrolled", &mut view, &[(80, 20)]);
}

#[test]
fn rows_are_filtered_and_sorted_off_the_drawing_thread() {
    let stage = Stage::loaded();
    let mut view = opened(&stage, "tokens");
    stage
        .look(|context| view.set_filter("chain:eth", context))
        .expect("a filter that reads");
    settled(&stage, &mut view);
    stage.press(&mut view, &[Action::Right; 5]);
    stage.press(&mut view, &[Action::Sort]);
    settled(&stage, &mut view);
    let shown = stage.text_now(&mut view, 140, 38);
    let place = |symbol: &str| {
        shown
            .find(symbol)
            .unwrap_or_else(|| panic!("{symbol} in {shown}"))
    };
    assert!(
        place("LINK") < place("UNI ") && place("UNI ") < place("USDC") && !shown.contains("PEPX"),
        "{shown}"
    );
    assert!(shown.contains("3 of 5 rows"), "{shown}");
    // The next run restores the choices.
    let mut other = DataView::default();
    other.restore(&view.save());
    stage.look(|context| other.refresh(context));
    settled(&stage, &mut other);
    assert_eq!(
        stage.text_now(&mut other, 140, 38).lines().nth(3),
        shown.lines().nth(3)
    );
    assert!(
        stage
            .look(|context| view.set_filter("nope:1", context))
            .is_err()
    );
}

#[test]
fn another_generation_keeps_what_was_chosen() {
    let mut stage = Stage::loaded();
    let mut view = opened(&stage, "tokens");
    stage
        .look(|context| view.set_filter("uni", context))
        .expect("a filter that reads");
    settled(&stage, &mut view);
    stage.snapshot = Some(stage.service.publish(fixture::dataset()));
    stage.look(|context| view.refresh(context));
    settled(&stage, &mut view);
    assert!(stage.text_now(&mut view, 80, 20).contains("1 of 5 rows"));
    stage.snapshot = Some(stage.service.publish(load::Dataset::new(Vec::new())));
    stage.look(|context| view.refresh(context));
    assert!(matches!(view.open, Open::Nothing));
}

#[test]
fn a_row_is_inspected_whole() {
    let stage = Stage::loaded();
    let mut view = opened(&stage, "tokens");
    stage.press(
        &mut view,
        &[
            Action::Down,
            Action::Down,
            Action::Right,
            Action::Right,
            Action::Open,
        ],
    );
    stage.hold("data-inspect", &mut view, SIZES);
    stage.draw_in_odd_sizes(&mut view);
    stage.look(|context| {
        assert_eq!(view.act(Action::Back, context), Effect::Redraw);
        assert_eq!(view.act(Action::Back, context), Effect::Redraw);
        assert_eq!(view.act(Action::Back, context), Effect::Pass);
    });
}

#[test]
fn the_mouse_selects_opens_and_sorts() {
    let stage = Stage::loaded();
    let mut view = view(&stage);
    stage.draw_now(&mut view, 140, 38);
    let click = |column, row| mouse_at(MouseEventKind::Down, column, row);
    let drag = |column, row| mouse_at(MouseEventKind::Drag, column, row);
    let release = |column, row| mouse_at(MouseEventKind::Up, column, row);
    let before: Vec<usize> = view.list.places().collect();
    stage.look(|context| {
        view.mouse(click(36, 2), context);
        view.mouse(release(36, 2), context)
    });
    assert_eq!(view.list.sorting.save(), json!(["-rows"]));
    assert_ne!(view.list.places().collect::<Vec<_>>(), before);
    stage.look(|context| {
        view.mouse(click(3, 4), context);
        view.mouse(click(3, 4), context);
    });
    assert!(matches!(&view.open, Open::Rows(rows) if rows.schema.name == "tokens"));
    stage.draw_now(&mut view, 140, 38);
    stage.look(|context| {
        view.mouse(click(1, 2), context);
        view.mouse(release(1, 2), context)
    });
    settled(&stage, &mut view);
    let Open::Rows(rows) = &view.open else {
        panic!("closed")
    };
    assert_eq!(rows.list.sorting.save(), json!(["token_address"]));
    stage.look(|context| {
        view.mouse(click(1, 2), context);
        view.mouse(drag(7, 3), context);
        view.mouse(release(7, 3), context)
    });
    let kept = view.save();
    assert_eq!(
        kept["rows"]["tokens"]["columns"]["wider"],
        json!([["token_address", 6]])
    );
    let mut again = DataView::default();
    again.restore(&kept);
    assert_eq!(again.save()["rows"], kept["rows"], "kept between runs");
}

#[test]
fn columns_of_somebodys_own_are_counted_sorted_and_filtered_as_ours_are() {
    let mut dataset = fixture::dataset();
    let tokens = dataset
        .tables
        .iter_mut()
        .find(|table| table.schema.name == "tokens")
        .expect("a table of tokens");
    let ratings: Vec<i64> = (0..tokens.frame().height() as i64)
        .map(|row| row % 3)
        .collect();
    let rating = Series::new("desk_rating".into(), ratings).into_column();
    let mut frame = tokens.frame();
    frame.with_column(rating).expect("a column");
    *tokens = tokens.clone().with_rows(&frame).expect("rows");
    let stage = Stage::new(Some(dataset));
    let mut view = opened(&stage, "tokens");
    stage.draw_now(&mut view, 140, 38);
    stage.press(&mut view, &[Action::Right; 40]);
    assert!(stage.text_now(&mut view, 140, 38).contains("DESK_RATING"));
    stage.press(&mut view, &[Action::CountValues]);
    assert!(stage.text(&mut view, 140, 38).contains("3 distinct"));
    stage.press(&mut view, &[Action::Describe]);
    let described = stage.text(&mut view, 140, 38);
    assert!(
        described.contains("description of desk_rating") && described.contains("median"),
        "{described}"
    );
    stage
        .look(|context| view.set_filter("desk_rating>=1", context))
        .expect("a column that can be named");
    stage.press(&mut view, &[Action::Sort]);
    stage.draw(&mut view, 140, 38);
    let Open::Rows(rows) = &view.open else {
        panic!("closed")
    };
    assert_eq!(rows.list.sorting.save(), json!(["-desk_rating"]));
    assert!(
        !rows.list.is_empty()
            && rows.list.len()
                < stage.look(|context| context
                    .snapshot
                    .expect("loaded data")
                    .dataset
                    .tokens()
                    .len()),
        "{}",
        rows.list.len()
    );
    assert!(view.export(&stage.context()).is_some_and(|export| {
        export
            .columns
            .last()
            .is_some_and(|column| column == "desk_rating")
    }));
}

#[test]
fn rows_are_grouped_by_a_line_and_a_group_leads_to_its_rows() {
    let stage = Stage::loaded();
    let mut view = opened(&stage, "candles");
    let edits = stage.look(|context| view.act(Action::GroupBy, context));
    let Effect::Edit(EditedLine::Own("by"), line) = edits else {
        panic!("{edits:?}")
    };
    assert!(line.ends_with(" count "), "{line}");
    let group = |view: &mut DataView, text: &str| {
        stage.look(|context| view.set_own_line("by", text, context))
    };
    assert!(
        group(&mut view, "nothing")
            .unwrap_err()
            .to_string()
            .contains("unknown column")
    );
    assert!(
        group(&mut view, "interval sum:interval")
            .unwrap_err()
            .to_string()
            .contains("sum needs numbers")
    );
    for (typed, whole, word) in [
        ("interval sum:cl", "interval sum:close", "sum:close"),
        ("interv", "interval", "interval"),
    ] {
        assert_eq!(
            view.own_completions("by", typed),
            [(whole.to_owned(), word.to_owned())]
        );
    }
    group(&mut view, "interval count max:close").expect("a grouping");
    assert_eq!(
        (view.own_line("by").as_str(), view.filter()),
        ("interval count max:close", Some("")),
        "the filter is another line"
    );
    settled(&stage, &mut view);
    let shown = stage.text(&mut view, 80, 20);
    assert!(
        shown.contains("candles by interval count max:close") && shown.contains("MAX_CLOSE"),
        "{shown}"
    );
    group(&mut view, "interval count, ").expect("a grouping");
    settled(&stage, &mut view);
    let shown = stage.text(&mut view, 80, 20);
    assert!(shown.contains("candles by interval count ─"), "{shown}");
    group(&mut view, "interval count max:close").expect("a grouping");
    settled(&stage, &mut view);
    let target = stage
        .look(|context| view.request(context))
        .expect("a request")
        .target;
    assert_eq!(
        target,
        "/tables/candles?by=interval&agg=count%2Cmax%3Aclose&limit=10000"
    );
    stage.press(&mut view, &[Action::Open]);
    settled(&stage, &mut view);
    assert!(
        view.filter()
            .is_some_and(|filter| filter.starts_with("interval=")),
        "{:?}",
        view.filter()
    );
    // Esc goes back to the groups, and from there to all rows.
    stage.press(&mut view, &[Action::Back]);
    assert_eq!(
        (view.own_line("by").as_str(), view.filter()),
        ("interval count max:close", Some(""))
    );
    stage.press(&mut view, &[Action::Back]);
    assert_eq!(
        (
            view.own_line("by").as_str(),
            matches!(view.open, Open::Rows(_))
        ),
        ("", true)
    );
}
