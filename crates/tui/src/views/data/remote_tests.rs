//! The Data view of a remote table: the rows on screen are fetched wherever the user scrolls.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use polars::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

use super::*;
use crate::views::fixture::Stage;
use frames::export::RowBatches;
use load::{
    Dataset, Table,
    engine_rows::{EngineRows, Fetch, FetchError},
};
use model::{
    holding::Listed,
    progress::{LoadProgress, Progress},
    schema,
    table_ask::{AskKind, SourceQuery},
    table_state::TableState,
};

const TOKENS: u8 = 90;

/// Each token has ten times as many holders as its number, with descending balances.
fn count(token: u8) -> u64 {
    u64::from(token) * 10
}

#[derive(Debug, Default)]
struct Pages {
    asked: Arc<AtomicUsize>,
    fails: bool,
}

/// The rows of these tokens, in table order.
fn all_of(tokens: &[Address]) -> DataFrame {
    let rows = || {
        tokens
            .iter()
            .flat_map(|token| (0..count(token.0[0])).map(move |nth| (token, nth)))
    };
    let columns = vec![
        Series::new(
            "token_address".into(),
            rows()
                .map(|(token, _)| token.to_string())
                .collect::<Vec<_>>(),
        )
        .into_column(),
        Series::new(
            "holder_address".into(),
            rows()
                .map(|(_, nth)| format!("0x{:040x}", nth + 1))
                .collect::<Vec<_>>(),
        )
        .into_column(),
        Series::new(
            "balance".into(),
            rows()
                .map(|(token, nth)| (count(token.0[0]) - nth) as f64)
                .collect::<Vec<_>>(),
        )
        .into_column(),
    ];
    DataFrame::new(rows().count(), columns).expect("a frame")
}

impl Fetch for Pages {
    fn rows(&self, _: &Address, _: &dyn LoadProgress) -> Result<Table, FetchError> {
        Err(FetchError::Cancelled)
    }

    fn page(
        &self,
        ask: &Arc<SourceQuery>,
        _: &dyn LoadProgress,
    ) -> Result<(DataFrame, Option<u64>), FetchError> {
        self.asked.fetch_add(1, Ordering::AcqRel);
        let AskKind::Page(page) = &ask.wanted else {
            return Err(FetchError::Cancelled);
        };
        if self.fails {
            return Err(FetchError::Unavailable("connection refused".to_owned()));
        }
        // In an order of its own: the largest balance is in the first row.
        let by_balance = matches!(page.sort[..], [("balance", true)]);
        let rows = if by_balance {
            all_of(&[Address([TOKENS; 20])])
        } else {
            all_of(&ask.tokens)
        };
        let start = if page.from_end {
            rows.height() as u64 - page.skip - page.count
        } else {
            page.skip
        };
        Ok((rows.slice(start as i64, page.count as usize), None))
    }

    fn stream(self: Arc<Self>, ask: Arc<SourceQuery>, _: Vec<&'static str>) -> Box<dyn RowBatches> {
        Box::new(all_of(&ask.tokens))
    }
}

fn bench(pages: Pages) -> (Stage, DataView) {
    let schema = schema::table("holders").expect("a table");
    let listed = |token: u8| {
        let rows = count(token);
        let listed = Listed {
            rows,
            held: rows,
            balance: 0.0,
        };
        (Address([token; 20]), listed)
    };
    let listed = (1..=TOKENS).map(listed).collect();
    let source = "warehouse".to_owned();
    let engine = EngineRows::new(40_950, source, listed, Arc::new(pages));
    let table = Table {
        engine: Some(engine.into()),
        state: TableState::Loaded,
        ..Table::absent(schema)
    };
    let stage = Stage::new(Some(Dataset::new(vec![table])));
    let mut view = DataView {
        reopen: Some("holders".to_owned()),
        ..DataView::default()
    };
    stage.look(|context| view.refresh(context));
    (stage, view)
}

/// The screen once no fetch is pending.
fn seen(stage: &Stage, view: &mut DataView) -> String {
    let text = stage.text(view, 140, 20);
    let Open::Rows(rows) = &view.open else {
        panic!("the rows are open")
    };
    assert!(!rows.is_under_way());
    text
}

#[test]
fn rows_that_stay_elsewhere_are_fetched_where_the_person_looks() {
    let pages = Pages::default();
    let asked = Arc::clone(&pages.asked);
    let (mut stage, mut view) = bench(pages);
    let first = seen(&stage, &mut view);
    assert!(
        first.contains("40,950 rows") && first.contains("0x0000…0001"),
        "{first}"
    );
    let before = asked.load(Ordering::Acquire);
    assert_eq!(stage.act(&mut view, Action::Down), Effect::Redraw);
    seen(&stage, &mut view);
    assert_eq!(
        asked.load(Ordering::Acquire),
        before,
        "rows already fetched are not requested again"
    );
    // Jumping to the end fetches no row in between.
    stage.act(&mut view, Action::Last);
    let last = seen(&stage, &mut view);
    assert!(
        last.contains("0x0000…0384") && !last.contains(" … "),
        "{last}"
    );
    assert!(
        asked.load(Ordering::Acquire) - before <= 2,
        "{}",
        asked.load(Ordering::Acquire)
    );
    stage.act(&mut view, Action::First);
    assert!(seen(&stage, &mut view).contains("0x0000…0001"));
    // The engine sorts, and is asked for the rows on screen alone.
    let before = asked.load(Ordering::Acquire);
    let Open::Rows(rows) = &mut view.open else {
        panic!("the rows are open")
    };
    rows.list
        .sorting
        .set([query::queries::order::Order::falling("balance")]);
    stage.look(|context| {
        if let Open::Rows(rows) = &mut view.open {
            rows.ask(context);
        }
    });
    stage.rest(|context| view.refresh(context));
    let text = seen(&stage, &mut view);
    assert!(
        text.contains("40,950 rows") && text.contains("900"),
        "{text}"
    );
    assert_eq!(asked.load(Ordering::Acquire), before + 1);
    let export = stage
        .look(|context| view.export(context))
        .expect("a table to export");
    assert!((export.rows)(&Progress::default()).is_ok());
}

#[test]
fn rows_that_cannot_be_fetched_say_why_and_are_not_asked_for_over_and_over() {
    let pages = Pages {
        fails: true,
        ..Pages::default()
    };
    let asked = Arc::clone(&pages.asked);
    let (stage, mut view) = bench(pages);
    for _ in 0..5 {
        let text = seen(&stage, &mut view);
        assert!(
            text.contains("connection refused") || text.contains("`warehouse`"),
            "{text}"
        );
    }
    assert_eq!(asked.load(Ordering::Acquire), 1);
}
