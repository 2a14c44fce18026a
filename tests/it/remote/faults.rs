//! Fault injection: 1,000 random failure sequences end in correct bytes or a stated reason, never in wrong bytes; a dataset on such a
//! server is correct, or states why not.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    time::{Duration, Instant},
};

use load::loader::LoadError;
use model::{
    progress::{Cancelled, LoadProgress, NoProgress},
    table_state::TableState,
};
use wire::{
    ByteSink, Fault, Object, PartFetch, RemoteClient, TimeoutsAndRetries, UrlPattern, WireOptions,
};

use super::{
    Bench, TOKENS, candles, hasty, options, patient,
    server::{Server, Trouble},
    wire, wire_with,
};
use crate::{random::Random, wait::PATIENCE};

fn below(random: &mut Random, end: u64) -> u64 {
    random.whole(0, end as usize - 1) as u64
}

fn trouble(random: &mut Random, size: u64) -> Trouble {
    let at = below(random, size) as usize;
    match below(random, 14) {
        0 | 1 => Trouble::Status([500, 503, 429][at % 3]),
        2 | 3 => Trouble::Cut(at),
        4 => Trouble::Stall(at),
        5 | 6 => Trouble::Reset,
        7 => Trouble::Change,
        8 => Trouble::Shift,
        9 => Trouble::Status([403, 404, 412][at % 3]),
        _ => Trouble::None,
    }
}

struct Buffer {
    bytes: Mutex<Vec<Option<u8>>>,
    ended: Mutex<Sender<Result<(), Fault>>>,
}

impl ByteSink for Buffer {
    fn take(&self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        let mut held = self.bytes.lock().unwrap();
        for (nth, byte) in bytes.iter().enumerate() {
            held[at as usize + nth] = Some(*byte);
        }
        Ok(())
    }

    fn end(&self, _: Range<u64>, outcome: Result<(), Fault>) {
        // One failed part is enough to stop waiting.
        self.ended.lock().unwrap().send(outcome).ok();
    }
}

/// Fetches the object in parts; returns its bytes, or the first failure.
fn fetch(wire: &Arc<RemoteClient>, object: &Object, part: u64) -> Result<Vec<u8>, Fault> {
    let (sender, ends) = channel();
    let sink = Arc::new(Buffer {
        bytes: Mutex::new(vec![None; object.bytes as usize]),
        ended: Mutex::new(sender),
    });
    let starts = (0..object.bytes).step_by(part as usize);
    let fetches: Result<Vec<PartFetch>, Fault> = starts
        .map(|at| {
            wire.fetch(
                object,
                at..(at + part).min(object.bytes),
                Arc::clone(&sink) as _,
            )
        })
        .collect();
    for _ in &fetches? {
        ends.recv_timeout(PATIENCE).expect("every part ends")?;
    }
    let bytes = sink.bytes.lock().unwrap();
    Ok(bytes
        .iter()
        .map(|byte| byte.expect("every byte of a fetched part came"))
        .collect())
}

const SEQUENCES: u64 = 1_000;

#[test]
fn a_thousand_sequences_of_trouble_end_in_right_bytes_or_a_named_reason() {
    let next = AtomicUsize::new(0);
    let (right, named) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let server = Server::start();
                let wire = hasty(&server);
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed) as u64;
                    if nth >= SEQUENCES {
                        return;
                    }
                    let mut random = Random(nth);
                    let size = 1 + below(&mut random, 4_000);
                    let bytes: Vec<u8> = (0..size).map(|_| below(&mut random, 256) as u8).collect();
                    server.put("x.bin", bytes.clone());
                    let url = if nth.is_multiple_of(2) {
                        "s3://bucket/x.bin".to_owned()
                    } else {
                        format!("{}/bucket/x.bin", server.url())
                    };
                    server.shared.whole.store(nth % 10 == 9, Ordering::Release);
                    let count = below(&mut random, 9);
                    server.trouble((0..count).map(|_| trouble(&mut random, size)));
                    let place = UrlPattern::parse(&url).unwrap();
                    let found = wire.find(&place, 10, &|| false);
                    let outcome = found.and_then(|found| {
                        fetch(&wire, &found[0], 1 + below(&mut random, size))
                            .map(|got| (found[0].clone(), got))
                    });
                    match outcome {
                        Ok((object, got)) => {
                            // The bytes of the listed version: its entity tag names it.
                            let mark = object
                                .version_tag
                                .as_deref()
                                .unwrap()
                                .trim_matches('"')
                                .trim_start_matches("state-")
                                .parse::<u64>()
                                .unwrap();
                            let now = server.shared.objects.lock().unwrap()["x.bin"].clone();
                            let expected: Vec<u8> = now
                                .bytes
                                .iter()
                                .map(|byte| byte.wrapping_sub((now.state - mark) as u8))
                                .collect();
                            assert!(
                                got == expected,
                                "sequence {nth}: {} wrong bytes",
                                got.iter().zip(&expected).filter(|(a, b)| a != b).count()
                            );
                            right.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(fault) => {
                            let says = fault.to_string();
                            assert!(
                                !says.is_empty()
                                    && !says.contains("http")
                                    && !says.contains("Sent"),
                                "sequence {nth}: {says}"
                            );
                            assert!(
                                matches!(fault, Fault::Unavailable(_) | Fault::Changed),
                                "sequence {nth}: {fault:?}"
                            );
                            named.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    // Both outcomes are frequent, or nothing was tested.
    let (right, named) = (right.into_inner(), named.into_inner());
    assert!(
        right > 300 && named > 50 && right + named == SEQUENCES as usize,
        "{right} right, {named} named"
    );
}

const TABLES: &str =
    "[tables.tokens]\npath = 's3://bucket/t.csv'\n[tables.candles]\npath = 's3://bucket/c/*.csv'\n";

#[test]
fn a_dataset_over_a_bad_server_is_right_or_says_why() {
    let bench = Bench::with(TABLES);
    bench.server.put("t.csv", TOKENS);
    for part in 0..3 {
        bench
            .server
            .put(&format!("c/{part}.csv"), candles(part * 100, 100));
    }
    let right = bench.load(&wire(&bench.server)).unwrap();
    let wire = hasty(&bench.server);
    let (mut loaded, mut named) = (0, 0);
    for nth in 0..60 {
        let mut random = Random(nth + 77);
        // Cleared, so that everything is fetched again.
        bench.clear_cache();
        let troubles: Vec<Trouble> = (0..below(&mut random, 8))
            .map(|_| trouble(&mut random, 3_000))
            .filter(|trouble| *trouble != Trouble::Change)
            .collect();
        bench.server.trouble(troubles);
        match bench.load_with(&wire, if nth % 2 == 0 { 1 } else { 200_000 }, &NoProgress) {
            Ok(dataset) => {
                let table = dataset.table("candles").unwrap();
                match &table.state {
                    TableState::Loaded => {
                        assert_eq!(
                            (table.height(), dataset.identity),
                            (right.table("candles").unwrap().height(), right.identity),
                            "{nth}"
                        );
                        loaded += 1;
                    }
                    state => {
                        assert!(
                            matches!(state, TableState::Unusable(reason) if reason.contains("s3://bucket/c/")),
                            "{nth}: {state:?}"
                        );
                        named += 1;
                    }
                }
            }
            Err(LoadError::Unusable(why)) => {
                assert!(
                    why.reason.contains("s3://bucket/t.csv"),
                    "{nth}: {}",
                    why.reason
                );
                named += 1;
            }
            Err(error) => {
                assert_eq!(error, LoadError::ChangedDuringRead, "{nth}");
                named += 1;
            }
        }
    }
    assert!(loaded > 15 && named > 5, "{loaded} {named}");
}

/// Cancels the load after a number of steps.
struct CancelAfter(AtomicUsize);

impl LoadProgress for CancelAfter {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Cancelled> {
        let left = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
                left.checked_sub(1)
            });
        left.map(drop).map_err(|_| Cancelled)
    }
}

/// Cancels the load 400 ms after it started.
struct CancelLate(Instant);

impl LoadProgress for CancelLate {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Cancelled> {
        if self.0.elapsed() > Duration::from_millis(400) {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_load_that_waits_for_a_silent_server_is_cancelled_at_once() {
    let bench = Bench::with(TABLES);
    bench.server.put("t.csv", TOKENS);
    bench.server.put("c/0.csv", candles(0, 100));
    let timeouts = TimeoutsAndRetries {
        read_timeout: 10 * PATIENCE,
        ..patient()
    };
    let wire = wire_with(WireOptions {
        timeouts,
        ..options(&bench.server)
    });
    bench.load(&wire).unwrap();
    bench.clear_cache();
    // The listings arrive; the first file never does.
    for silent in [1, 2] {
        bench.server.trouble(
            (0..silent)
                .map(|_| Trouble::None)
                .chain(std::iter::repeat_n(Trouble::Stall(0), 20)),
        );
        let begun = Instant::now();
        let outcome = bench
            .load_with(&wire, 200_000, &CancelLate(begun))
            .map(drop);
        let took = begun.elapsed();
        assert_eq!(outcome, Err(LoadError::Cancelled), "{silent}");
        assert!(took < PATIENCE, "it waited on: {took:?}");
    }
}

#[test]
fn a_cancelled_load_resumes_where_it_was_cut_off() {
    for rows_min in [1, 200_000] {
        let bench = Bench::with(TABLES);
        bench.server.put("t.csv", TOKENS);
        for part in 0..4 {
            bench
                .server
                .put(&format!("c/{part}.csv"), candles(part * 2_000, 2_000));
        }
        let wire = wire(&bench.server);
        let whole: usize = bench
            .server
            .shared
            .objects
            .lock()
            .unwrap()
            .values()
            .map(|held| held.bytes.len())
            .sum();
        *bench.server.shared.latency.lock().unwrap() = Duration::from_millis(5);
        let mut cut = 0;
        let dataset = loop {
            match bench.load_with(&wire, rows_min, &CancelAfter(AtomicUsize::new(4 + cut))) {
                Ok(dataset) => break dataset,
                Err(error) => assert_eq!(error, LoadError::Cancelled),
            }
            cut += 1;
            assert!(cut < 500, "it never ends");
        };
        assert_eq!(
            dataset.table("candles").unwrap().height(),
            8_000 - 160,
            "{rows_min}"
        );
        assert!(cut > 2, "it was never cut off");
        // Fetched parts are not fetched again, except those in flight at the interruption.
        let fetched = bench.server.shared.sent.load(Ordering::Relaxed);
        assert!(
            fetched < 2 * whole as u64 + 40_000 * cut as u64,
            "{fetched} of {whole} in {cut}"
        );
    }
}
