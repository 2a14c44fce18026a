//! Tests of the cache of rows in place.

use std::sync::atomic::{AtomicUsize, Ordering};

use polars::prelude::{NamedFrom as _, Series};

use super::*;
use model::{beside_key::IgnoredInKey, holding::IndividualHolders, progress::NoProgress};

/// Returns a kilobyte per token and counts the fetches.
#[derive(Debug, Default)]
struct Kilobytes(Arc<AtomicUsize>);

impl Fetch for Kilobytes {
    fn fetch(
        &self,
        key: &FetchKey,
        _: RowsVersion,
        _: &dyn LoadProgress,
    ) -> Result<Fetched, FetchError> {
        self.0.fetch_add(1, Ordering::AcqRel);
        let balances =
            vec![(key.tokens()[0], Some(1.0)); 1_024 / size_of::<(Address, Option<f64>)>()];
        if let FetchKey::Balances { .. } = key {
            return Ok(Fetched::Balances(Arc::new(Balances {
                rows: balances,
                ..Balances::default()
            })));
        }
        let column = Series::new("balance".into(), vec![1.0; 128]);
        let rows = DataFrame::new(128, vec![column.into()])
            .map_err(|error| FetchError::Unavailable(error.to_string()))?;
        Ok(Fetched::Answer(rows, 0))
    }

    fn charts(
        &self,
        tokens: &[Address],
        _: RowsVersion,
        _: &dyn LoadProgress,
    ) -> Result<Charts, FetchError> {
        self.0.fetch_add(1, Ordering::AcqRel);
        Ok(tokens
            .iter()
            .map(|token| (*token, HeldCandles::default()))
            .collect())
    }

    fn rows(
        self: Arc<Self>,
        _: Arc<SourceQuery>,
        _: RowsVersion,
        _: Vec<&'static str>,
    ) -> Box<dyn RowBatches> {
        Box::new(DataFrame::default())
    }
}

fn address(nth: u8) -> Address {
    Address([nth; 20])
}

fn cache(bytes_max: u64) -> (InPlaceCache, Arc<AtomicUsize>) {
    let fetch = Kilobytes::default();
    let count = Arc::clone(&fetch.0);
    let listed = (0..100)
        .map(|nth| (address(nth), ListedBalances::default()))
        .collect();
    let cache = InPlaceCache::new(
        100,
        "there".to_owned(),
        (listed, HeldCandles::default()),
        Arc::new(fetch),
    );
    (InPlaceCache { bytes_max, ..cache }, count)
}

fn key(nth: u8) -> FetchKey {
    FetchKey::balances(address(nth), address(nth))
}

#[test]
fn the_cache_keeps_to_its_memory_and_evicts_the_least_recently_used() {
    let (cache, count) = cache(4 << 10);
    for nth in 0..100 {
        cache.fetch(&key(nth), &NoProgress).expect("fetched");
        // The first entry is used all the time.
        assert!(cache.get(&key(0)).is_some(), "{nth}");
        assert!(cache.lock().bytes <= 4 << 10);
    }
    assert_eq!(count.load(Ordering::Acquire), 100);
    let here = |nth: &u8| cache.get(&key(*nth)).is_some();
    assert_eq!((0..100).filter(here).collect::<Vec<u8>>(), [0, 97, 98, 99]);
    cache.fetch(&key(50), &NoProgress).expect("fetched");
    cache.fetch(&key(50), &NoProgress).expect("here");
    assert_eq!(
        (count.load(Ordering::Acquire), here(&0), here(&98)),
        (101, false, true)
    );
}

#[test]
fn a_query_brings_the_charts_of_as_many_tokens_as_their_rows_allow() {
    for (rows, tokens, queries) in [
        (1, 100, 1),
        (QUERY_ROWS_MAX / 2, 5, 3),
        (QUERY_ROWS_MAX, 3, 3),
        (10 * QUERY_ROWS_MAX, 2, 2),
    ] {
        let (_, count) = cache(0);
        let fetch = Arc::new(Kilobytes(Arc::clone(&count)));
        let listed = (0..tokens)
            .map(|nth| {
                (
                    address(nth),
                    ListedBalances {
                        rows,
                        ..ListedBalances::default()
                    },
                )
            })
            .collect();
        let cache = InPlaceCache::new(
            100,
            "there".to_owned(),
            (listed, HeldCandles::default()),
            fetch,
        );
        let mut left: Vec<Address> = (0..=tokens).map(address).collect();
        let mut held = Vec::new();
        while !left.is_empty() {
            held.extend(cache.fetch_charts(&mut left, &NoProgress).expect("fetched"));
        }
        assert_eq!(
            (held.len(), count.load(Ordering::Acquire)),
            (usize::from(tokens), queries),
            "{rows}: one token has no rows"
        );
        let mut again: Vec<Address> = (0..tokens).map(address).collect();
        assert_eq!(
            cache
                .fetch_charts(&mut again, &NoProgress)
                .map(|held| held.len())
                .ok(),
            Some(usize::from(tokens))
        );
        assert_eq!(
            (again.len(), count.load(Ordering::Acquire)),
            (0, queries),
            "they are here"
        );
    }
}

/// Tells that it was asked, which is done while others fetch.
struct Waits(std::sync::mpsc::SyncSender<()>);

impl LoadProgress for Waits {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), model::progress::Cancelled> {
        self.0.try_send(()).ok();
        Ok(())
    }
}

#[test]
fn charts_that_others_fetch_are_waited_for() {
    let (cache, count) = cache(4 << 10);
    let (sender, waits) = std::sync::mpsc::sync_channel(1);
    let others = FetchGuard::of(&cache.fetching, &FetchKey::Chart(address(1))).expect("free");
    let held = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            cache
                .fetch_charts(&mut vec![address(1)], &Waits(sender))
                .expect("fetched")
                .len()
        });
        waits.recv().expect("it waits");
        drop(others);
        fetching.join().expect("ended")
    });
    assert_eq!(
        (held, count.load(Ordering::Acquire)),
        (1, 1),
        "an answer without them would be given up"
    );
}

#[test]
fn holders_counted_apart_are_not_kept_with_the_balances() {
    let (cache, _) = cache(4 << 10);
    let individual = Arc::new(IndividualHolders {
        named: vec![address(9); 1_000],
        ..IndividualHolders::default()
    });
    let wide = FetchKey::Balances {
        token: address(1),
        about: address(1),
        individual: IgnoredInKey(Arc::clone(&individual)),
    };
    cache.fetch(&wide, &NoProgress).expect("fetched");
    drop(wide);
    assert!(cache.get(&key(1)).is_some());
    assert_eq!(
        Arc::strong_count(&individual),
        1,
        "it takes memory that nobody counts"
    );
}

#[test]
fn what_a_question_holds_stays_until_it_ends_and_pages_are_not_cached() {
    let (cache, count) = cache(2 << 10);
    let fetched: Vec<_> = (0..20)
        .map(|nth| cache.fetch(&key(nth), &NoProgress).expect("fetched"))
        .collect();
    assert!(
        (0..20).all(|nth| cache.get(&key(nth)).is_some()),
        "a question that needs them all has them all"
    );
    drop(fetched);
    assert_eq!(
        (0..20)
            .filter(|nth| cache.get(&key(*nth)).is_some())
            .count(),
        2
    );
    for from in 0..50 {
        let page = FetchKey::page("holders", address(1), from, 128, false);
        let held = cache.fetch(&page, &NoProgress).expect("fetched");
        assert!(cache.get(&page).is_some());
        drop(held);
        assert!(cache.get(&page).is_none(), "{from}");
    }
    assert_eq!(
        (
            count.load(Ordering::Acquire),
            cache.lock().entries.len() < 25
        ),
        (70, true)
    );
    // Larger than the cache's capacity: available only while the caller holds it.
    let (cache, _) = self::cache(100);
    let held = cache.fetch(&key(1), &NoProgress).expect("fetched");
    assert!(cache.get(&key(1)).is_some());
    drop(held);
    assert_eq!(
        (cache.get(&key(1)).is_none(), cache.lock().bytes),
        (true, 0)
    );
    // No fetch for a token without rows.
    assert!(
        cache
            .fetch(&key(200), &NoProgress)
            .expect("nothing")
            .is_none()
    );
}
