//! The Data view of a remote table: the rows on screen are fetched wherever the user scrolls.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use polars::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

use super::*;
use crate::views::fixture::Stage;
use model::{fetch_key::FetchKey, holding::ListedBalances, progress::LoadProgress, schema};
use query::question::progress::Progress;
use store::{
    Dataset, Storage, Table,
    candle_table::HeldCandles,
    in_place::{Fetch, FetchError, Fetched, InPlaceCache, RowsVersion},
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

impl Fetch for Pages {
    fn fetch(&self, key: &FetchKey, _: RowsVersion, _: &dyn LoadProgress) -> Result<Fetched, FetchError> {
        self.asked.fetch_add(1, Ordering::AcqRel);
        let FetchKey::Page { token, from, count: most, rows_after, .. } = key else { return Err(FetchError::Cancelled) };
        if self.fails {
            return Err(FetchError::Unavailable("nobody answers".to_owned()));
        }
        let all = count(token.0[0]);
        assert_eq!(from + most + rows_after, all);
        let holders: Vec<String> = (*from..from + most).map(|nth| format!("0x{:040x}", nth + 1)).collect();
        let balances: Vec<f64> = (*from..from + most).map(|nth| (all - nth) as f64).collect();
        let columns = vec![
            Series::new("token_address".into(), vec![token.to_string(); holders.len()]).into_column(),
            Series::new("holder_address".into(), holders).into_column(),
            Series::new("balance".into(), balances).into_column(),
        ];
        let rows = DataFrame::new(*most as usize, columns).map_err(|error| FetchError::Unavailable(error.to_string()))?;
        Ok(Fetched::Page(rows))
    }
}

fn bench(pages: Pages) -> (Stage, DataView) {
    let schema = schema::table("holders").expect("a table");
    let listed = |token: u8| (Address([token; 20]), ListedBalances { rows: count(token), held: count(token), checksum: 0 });
    let known = ((1..=TOKENS).map(listed).collect::<HashMap<_, _>>(), HeldCandles::default());
    let in_place = InPlaceCache::new(40_950, "warehouse".to_owned(), known, Box::new(pages));
    let table = Table::stored(schema, Storage::InPlace(in_place.into()));
    let stage = Stage::new(Some(Dataset::new(vec![table])));
    let mut view = DataView { reopen: Some("holders".to_owned()), ..DataView::default() };
    stage.look(|context| view.refresh(context));
    (stage, view)
}

/// The screen once no fetch is pending.
fn seen(stage: &Stage, view: &mut DataView) -> String {
    loop {
        let text = stage.text(view, 140, 20);
        let Open::Rows(rows) = &view.open else { panic!("the rows are open") };
        if !rows.is_under_way() {
            return text;
        }
        stage.wait();
        stage.look(|context| view.refresh(context));
    }
}

#[test]
fn rows_that_stay_elsewhere_are_fetched_where_the_person_looks() {
    let pages = Pages::default();
    let asked = Arc::clone(&pages.asked);
    let (mut stage, mut view) = bench(pages);
    let first = seen(&stage, &mut view);
    assert!(first.contains("40,950 rows") && first.contains("0x0000…0001"), "{first}");
    let before = asked.load(Ordering::Acquire);
    assert_eq!(stage.act(&mut view, Action::Down), Effect::Redraw);
    seen(&stage, &mut view);
    assert_eq!(asked.load(Ordering::Acquire), before, "what is here is not asked for again");
    // Jumping to the end fetches no row in between.
    stage.act(&mut view, Action::Last);
    let last = seen(&stage, &mut view);
    assert!(last.contains("0x0000…0384") && !last.contains(" … "), "{last}");
    assert!(asked.load(Ordering::Acquire) - before <= 2, "{}", asked.load(Ordering::Acquire));
    stage.act(&mut view, Action::First);
    assert!(seen(&stage, &mut view).contains("0x0000…0001"));
    // Sorting all rows is refused, with the alternative.
    stage.act(&mut view, Action::SortReverse);
    stage.act(&mut view, Action::Sort);
    stage.wait();
    stage.look(|context| view.refresh(context));
    let text = seen(&stage, &mut view);
    assert!(text.contains("stay at `warehouse`"), "{text}");
    let export = stage.look(|context| view.export(context)).expect("a table to export");
    assert_eq!((export.rows)(&Progress::default()).err().expect("a refusal").code, model::error::Code::SourceUnavailable);
}

#[test]
fn rows_that_cannot_be_fetched_say_why_and_are_not_asked_for_over_and_over() {
    let pages = Pages { fails: true, ..Pages::default() };
    let asked = Arc::clone(&pages.asked);
    let (stage, mut view) = bench(pages);
    for _ in 0..5 {
        let text = seen(&stage, &mut view);
        assert!(text.contains("nobody answers") || text.contains("cannot be had from `warehouse`"), "{text}");
    }
    assert_eq!(asked.load(Ordering::Acquire), 1);
}
