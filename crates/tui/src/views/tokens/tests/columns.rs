//! The columns of the list: which are shown, what is computed for them, and what their cells say.

use super::*;
use analysis::trendlines::Trend;
use query::queries::{fields::FigureValue, track_record};

#[test]
fn optional_columns_are_computed_for_the_rows_on_screen_and_for_all_when_the_order_needs_them() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 10);
    assert!(!stage.text(&mut view, 140, 10).contains("PATTERN"));
    stage.act(&mut view, Action::MoreColumns);
    let shown = settled(&stage, &mut view, 10, |view| {
        known(view, "trend") >= view.list.on_screen().count()
    });
    assert!(
        ["PATTERN", "SCORE", "CHAIN"]
            .iter()
            .all(|title| shown.contains(title)),
        "{shown}"
    );
    assert_eq!(known(&view, "rsi_14"), 0, "no column shows it");
    let (some, all) = (known(&view, "trend"), market().tokens().len());
    assert!(some < all, "{some} of {all}: only what is on screen");
    assert_eq!(stage.act(&mut view, Action::AllFigures), Effect::Redraw);
    settled(&stage, &mut view, 10, |view| {
        known(view, "trend") == all && view.rows.all.is_empty()
    });
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        "/tokens?sort=-market_cap&fields=as_of%2Cvolume_24h%2Cliquidity%2Cprice_change_7d%2Cprice_change_30d%2Ctrend%2Cbest_pattern%2C\
         advice%2CsecurityScore%2Crecommendation&page=1&limit=250"
    );
    let exported = view.export(&stage.context()).expect("rows to export");
    let trend = exported
        .columns
        .iter()
        .position(|column| column == "trend")
        .expect("the trend is written");
    assert!(
        exported
            .columns
            .iter()
            .any(|column| column == "recommendation")
    );
    assert!(exported.values().iter().any(|row| row[trend] == "uptrend"));
}

#[test]
fn a_published_record_takes_no_computed_column_away() {
    let (mut stage, mut view) = stage();
    stage.act(&mut view, Action::MoreColumns);
    settled(&stage, &mut view, 10, |view| {
        known(view, "advice") >= view.list.on_screen().count()
    });
    let some = known(&view, "advice");
    assert!(some > 0);
    let snapshot = stage.snapshot.clone().expect("data");
    let step = |_, _| Ok(());
    let (tokens, digest) = track_record::digest(&snapshot, "1d", &step).expect("candles");
    snapshot.track_records.publish(
        "1d",
        track_record::count(&snapshot, "1d", (&tokens, digest), None, &step),
    );
    view.refresh(&stage.context());
    for name in ["advice", "trend", "securityScore"] {
        assert_eq!(
            known(&view, name),
            some,
            "it stays while it is computed again"
        );
    }
    let is_weighed_anew = |view: &TokensView| {
        let token = |place: usize| view.rows.tokens()[place].token_address;
        let mut places = view.list.on_screen();
        places.all(|place| !view.rows.known.lacks(&token(place), &["advice"], 1))
    };
    assert!(!is_weighed_anew(&view));
    settled(&stage, &mut view, 10, is_weighed_anew);
}

#[test]
fn a_filter_by_an_optional_column_finds_its_tokens_and_esc_stops_the_work() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    view.set_filter("trend:uptrend", &stage.context())
        .expect("a filter that reads");
    let all = market().tokens().len();
    settled(&stage, &mut view, 38, |view| {
        known(view, "trend") == all && view.rows.pending.is_none()
    });
    let trend = |view: &TokensView, place: usize| -> Option<String> {
        let token = view.rows.tokens()[place].token_address;
        let figures = view.rows.known.get(&token)?;
        figures
            .get("trend")
            .and_then(FigureValue::word)
            .map(str::to_owned)
    };
    assert!(!view.list.is_empty() && view.list.len() < all);
    assert!(
        view.list
            .places()
            .all(|place| trend(&view, place).as_deref() == Some(Trend::Uptrend.word()))
    );
    stage.press(&mut view, &[Action::AllFigures, Action::Back]);
    assert!(
        view.rows.pending.is_none() && view.list.filter_text() == "trend:uptrend",
        "the first Esc stops the work"
    );
    stage.act(&mut view, Action::Back);
    stage.draw(&mut view, 140, 38);
    assert_eq!((view.list.filter_text(), view.list.len()), ("", all));
}

#[test]
fn growth_to_an_older_day_is_dated_and_dim() {
    let dataset = sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain,market_cap\n0x01,NEW,New,eth,9\n0x02,OLD,Old,eth,5",
        ),
        (
            "holder_counts",
            "token_address,date,holders\n0x01,2026-01-03,100\n0x01,2026-01-10,110\n0x02,2026-01-01,100\n0x02,2026-01-08,150",
        ),
    ]);
    let (mut stage, mut view) = (Stage::new(Some(dataset)), TokensView::default());
    stage.draw(&mut view, 140, 38);
    let role = |place: usize| {
        let tokens = &stage.context().snapshot.expect("a snapshot").market.tokens;
        let row = ListRow::<TokenFields> {
            given: ListedToken {
                token: &tokens[place],
                figures: None,
                starred: false,
                has_changed: false,
            },
        };
        let look = CellContext {
            cells: 9,
            now: Time(0),
            newest: Time(0),
            zone: crate::zone::DisplayZone::default(),
        };
        let field = TokenFields::FIELDS
            .iter()
            .find(|field| field.column.key == "holders_growth")
            .expect("the column");
        field.show(row, &look).pieces
    };
    assert_eq!(
        (role(0), role(1)),
        (
            vec![("▲ 10.0".into(), Role::Up)],
            vec![("▲ 50.0".into(), Role::Dim)]
        )
    );
    let newest = stage.text(&mut view, 140, 38);
    assert!(
        newest.contains("▲ 10.0%  7d") && !newest.contains(" to 2026"),
        "{newest}"
    );
    stage.act(&mut view, Action::Down);
    let older = stage.text(&mut view, 140, 38);
    assert!(older.contains("▲ 50.0%  7d to 2026-01-08"), "{older}");
}

#[test]
fn a_kept_choice_of_columns_hides_those_that_are_new_since() {
    let shown = |kept: Json| {
        let mut view = TokensView::default();
        view.restore(&kept);
        view.list
            .columns()
            .into_iter()
            .filter(|(.., shown)| *shown)
            .map(|(key, ..)| key)
            .collect::<Vec<_>>()
    };
    // A session saved before known columns were included: two columns are newer.
    let before =
        shown(json!({"columns": {"order": [], "hidden": ["name"], "wider": [], "frozen": 0}}));
    assert!(
        ["trend", "securityScore", "price"]
            .iter()
            .all(|key| before.contains(key)),
        "{before:?}"
    );
    assert!(
        !["rsi_14", "from_52w_high", "name"]
            .iter()
            .any(|key| before.contains(key)),
        "{before:?}"
    );
    let now = shown(
        json!({"columns": {"hidden": ["name"], "known": ["symbol", "name", "price", "rsi_14"]}}),
    );
    assert_eq!(now, ["symbol", "price", "rsi_14"]);
    // The choice is restored unchanged.
    let mut view = TokensView::default();
    view.list.show("rsi_14", true);
    assert_eq!(
        shown(view.save()),
        view.list
            .columns()
            .into_iter()
            .filter(|(.., shown)| *shown)
            .map(|(key, ..)| key)
            .collect::<Vec<_>>()
    );
    assert!(shown(view.save()).contains(&"rsi_14"));
    assert_eq!(shown(json!({})), shown(TokensView::default().save()));
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
    assert!(
        wide.contains("3.43B 2023-06-18") && wide.contains("354k 2023-06-18"),
        "{wide}"
    );
    assert!(
        !wide.contains("5.00B 2025"),
        "seven days are no other time: {wide}"
    );
    stage.act(&mut view, Action::Down);
    let detail = stage.text(&mut view, 140, 38);
    assert!(
        detail.contains("market cap  3,430,000,000") && detail.contains("353,636"),
        "{detail}"
    );
    assert!(
        detail.matches("2023-06-18").count() >= 3,
        "cap, supply and holders: {detail}"
    );
}

#[test]
fn columns_that_are_asked_for_are_seen_and_the_detail_gives_way() {
    let (mut stage, mut view) = stage();
    // Beside the list.
    let detail = |text: &str| {
        text.lines()
            .next()
            .is_some_and(|line| line.contains("Wrapped Ether"))
    };
    assert!(detail(&stage.text(&mut view, 140, 30)));
    stage.act(&mut view, Action::MoreColumns);
    let more = stage.text(&mut view, 140, 30);
    for title in ["CHAIN", "24H", "CAP", "TREND", "PATTERN", "ADVICE", "SCORE"] {
        assert!(more.contains(title), "{title}: {more}");
    }
    assert!(!detail(&more), "{more}");
    let narrow = stage.text(&mut view, 80, 24);
    assert!(
        ["TREND", "PATTERN", "ADVICE", "SCORE"]
            .iter()
            .all(|title| narrow.contains(title)),
        "{narrow}"
    );
    // What has no room is told; what the filter names is a column for as long.
    stage.text(&mut view, 80, 24);
    let no_room = view.list.choice().expect("columns to choose from").no_room;
    assert!(
        no_room.contains(&"holders") && !no_room.contains(&"trend"),
        "{no_room:?}"
    );
    stage.act(&mut view, Action::MoreColumns);
    assert!(!stage.text(&mut view, 140, 30).contains("SCORE"));
    view.set_filter("score>=0 holders>0", &stage.context())
        .expect("a filter");
    let filtered = stage.text(&mut view, 140, 30);
    assert!(
        filtered.contains("SCORE") && filtered.contains(" HOLDERS  "),
        "{filtered}"
    );
}

#[test]
fn s_passes_over_columns_without_data() {
    let (mut stage, mut view) = (
        Stage::new(Some(sample::dataset(&[(
            "tokens",
            "token_address,symbol,name,chain,price\n0x01,A,A,eth,1",
        )]))),
        TokensView::default(),
    );
    stage.draw(&mut view, 140, 38);
    let mut sorted = Vec::new();
    for _ in 0..8 {
        stage.act(&mut view, Action::Sort);
        sorted.extend(view.list.sorting.first().map(|order| order.column));
    }
    assert!(
        sorted.contains(&"price")
            && !sorted
                .iter()
                .any(|key| ["liquidity", "age", "volume_24h"].contains(key)),
        "{sorted:?}"
    );
}
