//! Brought rows are shared, held and found, and what nobody brought is noted.

use std::sync::atomic::AtomicUsize;

use polars::prelude::{IntoColumn as _, NamedFrom as _, Series};

use super::*;
use frames::rows::Frames as _;
use model::{progress::NoProgress, schema};
use table::TableRows;

fn address(nth: u8) -> Address {
    Address([nth; 20])
}

/// Holders with this many rows each, counted as they are asked for. Token 9 fails once.
#[derive(Debug, Default)]
struct Counting {
    asked: AtomicUsize,
    rows: usize,
}

impl Fetch for Counting {
    fn rows(&self, token: &Address, _: &dyn LoadProgress) -> Result<Table, FetchError> {
        std::thread::sleep(Duration::from_millis(5));
        let nth = self.asked.fetch_add(1, Ordering::Relaxed);
        if *token == address(9) && nth == 0 {
            return Err(FetchError::Unavailable("away".to_owned()));
        }
        let column = |name: &str, text: String| {
            Series::new(name.into(), vec![text; self.rows]).into_column()
        };
        let frame = DataFrame::new(
            self.rows,
            vec![
                column("token_address", token.to_string()),
                column("holder_address", token.to_string()),
                Series::new("balance".into(), vec![1.0; self.rows]).into_column(),
            ],
        );
        let holders = schema::table("holders").expect("the table");
        let rows = TableRows::in_memory(holders, &frame.expect("a frame")).expect("rows");
        Ok(Table::stored(holders, rows))
    }

    fn page(
        &self,
        _: &Arc<SourceQuery>,
        _: &dyn LoadProgress,
    ) -> Result<(DataFrame, Option<u64>), FetchError> {
        Err(FetchError::Cancelled)
    }

    fn stream(self: Arc<Self>, _: Arc<SourceQuery>, _: Vec<&'static str>) -> Box<dyn RowBatches> {
        unreachable!("no stream is asked for")
    }
}

fn rows(each: usize) -> (Arc<Counting>, EngineRows) {
    let fetch = Arc::new(Counting {
        rows: each,
        ..Counting::default()
    });
    let one = |nth| {
        let listed = Listed {
            rows: each as u64,
            ..Listed::default()
        };
        (address(nth), listed)
    };
    let listed = [1, 2, 9].map(one).into_iter().collect();
    let engine = EngineRows::new(0, "warehouse".to_owned(), listed, Arc::clone(&fetch) as _);
    (fetch, engine)
}

#[test]
fn rows_are_brought_once_for_all_who_ask_at_once() {
    let (fetch, engine) = rows(3);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let brought = engine
                    .fetch(&address(1), &NoProgress)
                    .expect("rows")
                    .expect("some");
                assert_eq!(brought.table().height(), 3);
            });
        }
    });
    assert_eq!(fetch.asked.load(Ordering::Relaxed), 1);
    assert_eq!(
        engine
            .fetch(&address(7), &NoProgress)
            .map(|rows| rows.is_none()),
        Ok(true)
    );
}

#[test]
fn rows_larger_than_the_cache_are_found_while_an_answer_holds_them() {
    let (fetch, engine) = rows(1_000_000);
    let held = engine.fetch(&address(1), &NoProgress).expect("rows");
    assert!(engine.get(&address(1)).is_some());
    assert_eq!(
        (engine.missed(), fetch.asked.load(Ordering::Relaxed)),
        (0, 1)
    );
    drop(held);
    assert!(engine.get(&address(1)).is_none());
    // Of a token without rows nothing is missed.
    assert!(engine.get(&address(7)).is_none());
    assert_eq!(engine.missed(), 1);
}

#[test]
fn after_a_failure_the_next_asks_again() {
    let (fetch, engine) = rows(1);
    let away = FetchError::Unavailable("away".to_owned());
    assert_eq!(engine.fetch(&address(9), &NoProgress).map(drop), Err(away));
    assert_eq!(engine.fetch(&address(9), &NoProgress).map(drop), Ok(()));
    assert_eq!(fetch.asked.load(Ordering::Relaxed), 2);
}
