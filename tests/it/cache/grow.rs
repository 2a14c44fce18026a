//! Incremental import of appended rows: the extended table equals a full import.

use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use frames::cache::{CacheOptions, list};
use load::{
    Dataset,
    loader::{load, load_as, load_with},
};
use model::progress::NoProgress;
use query::service::{QueryService, ServiceOptions, load::Watching};

use super::{TABLES, assert_same_rows, bench, noise, options, token, write};
use crate::wait::wait_until;

fn append(path: &Path, text: &str) {
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// Appends rows, some with existing keys, some of new tokens, intervals and times.
fn append_all(folder: &Path, turn: u64, rows: u64) {
    let lines = |line: &dyn Fn(u64) -> String| -> String {
        (0..rows).map(|i| line(noise(turn * 1_000 + i))).collect()
    };
    let candle = |n: u64| {
        let interval = ["1h", "1d", "15m", "4h"][(n % 4) as usize];
        format!(
            "{},{},7.5,2000,0.5,7,{},{interval}\n",
            any_token(n),
            1_700_006_400 + n % 2_400 * 3_600,
            n % 5
        )
    };
    append(&folder.join("candles/2.csv"), &lines(&candle));
    let post = |n: u64| {
        format!(
            "p{},{},again {turn},,{},5,5,5\n",
            n % 700,
            any_token(n),
            1_700_000_000 + n % 600
        )
    };
    append(&folder.join("posts.csv"), &lines(&post));
    let path = folder.join("transfers.csv");
    let text = fs::read_to_string(&path).unwrap();
    let unique = unique_transfers(&text);
    append(
        &path,
        &lines(&|n| {
            if n.is_multiple_of(3) {
                transfer_again(&unique, n)
            } else {
                transfer(n)
            }
        }),
    );
    let event = |n: u64| {
        format!(
            "0x{:040x},{},{},swap,{n},,,,\n",
            n % 9,
            1_700_000_000 + n % 60,
            n % 3
        )
    };
    append(&folder.join("pool_events.csv"), &lines(&event));
}

/// A third of the rows are of one token.
fn any_token(n: u64) -> String {
    token(if noise(n).is_multiple_of(3) {
        2
    } else {
        noise(n) % 16
    })
}

/// Lines of transfers whose key (transaction and log index) no other line has: a log entry belongs to one token.
fn unique_transfers(text: &str) -> Vec<&str> {
    let key = |line: &str| {
        line.split(',')
            .skip(3)
            .step_by(4)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let mut keys: HashMap<Vec<String>, u32> = HashMap::new();
    text.lines()
        .for_each(|line| *keys.entry(key(line)).or_default() += 1);
    text.lines()
        .skip(1)
        .filter(|line| keys[&key(line)] == 1)
        .collect()
}

/// A line with an existing key, another time and another value.
fn transfer_again(unique: &[&str], n: u64) -> String {
    let mut cells: Vec<String> = unique[n as usize % unique.len()]
        .split(',')
        .map(str::to_owned)
        .collect();
    (cells[1], cells[6]) = (transfer_time(n).to_string(), n.to_string());
    cells.join(",") + "\n"
}

fn transfer(n: u64) -> String {
    let log = if n.is_multiple_of(4) {
        String::new()
    } else {
        (n % 2).to_string()
    };
    format!(
        "{},{},{},0x{:064x},0x{:040x},,{n},{log}\n",
        any_token(n),
        transfer_time(n),
        n % 60,
        n,
        n % 31
    )
}

fn transfer_time(n: u64) -> u64 {
    1_700_000_000 + n % 1_100
}

/// Compares row by row; repeated keys are reported by both, though not each with its row.
fn assert_rows(plain: &Dataset, grown: &Dataset, when: &str) {
    for (a, b) in plain
        .tables
        .iter()
        .zip(&grown.tables)
        .filter(|(a, _)| TABLES.contains(&a.schema.name))
    {
        let (name, large) = (a.schema.name, b.large().unwrap());
        let rows = |sources: &[load::TableFile]| {
            sources
                .iter()
                .map(|source| (source.bytes, source.rows))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (rows(&a.sources), a.rows_bad, a.height()),
            (rows(&b.sources), b.rows_bad, b.height()),
            "{name} {when}"
        );
        assert_same_rows(a, large, when);
        let others = |counts: &[model::findings::FindingCount]| {
            let mut counts: Vec<_> = counts
                .iter()
                .filter(|count| !count.reason.contains("a later row"))
                .cloned()
                .collect();
            counts.sort_by_key(|count| {
                (
                    count.file.clone(),
                    count.column.clone(),
                    count.reason.clone(),
                )
            });
            counts
        };
        assert_eq!(
            others(a.findings.counts()),
            others(b.findings.counts()),
            "{name} {when}"
        );
    }
}

/// Number of cached versions of a table: an extended one keeps its predecessor.
fn kept(cache: &Path, table: &str) -> usize {
    list(cache)
        .iter()
        .filter(|entry| entry.table == table)
        .count()
}

#[test]
fn what_is_added_to_a_table_makes_the_one_that_an_import_of_all_would() {
    for rows in [300, 1_500] {
        let bench = bench(rows);
        drop(bench.load());
        for turn in 0..5 {
            append_all(
                bench.data.path(),
                turn + rows,
                [1, 40, 300][turn as usize % 3],
            );
            assert_rows(
                &load(bench.data.path(), &NoProgress).unwrap(),
                &bench.load(),
                &format!("{rows} rows, turn {turn}"),
            );
        }
        for table in ["candles", "posts", "transfers", "pool_events"] {
            assert_eq!(kept(bench.cache.path(), table), 2, "{table} grew");
        }
        assert!(!list(bench.cache.path()).iter().any(|entry| entry.part));
    }
}

#[test]
fn a_file_beside_the_others_and_one_in_the_middle_are_added_where_that_is_sure() {
    let bench = bench(400);
    drop(bench.load());
    let header = "token_address,timestamp,open,high,low,close,volume,interval\n";
    fs::write(
        bench.data.path().join("candles/3.csv"),
        format!("{header}{},1900000000,1,2,0.5,1,7,\n", token(77)),
    )
    .unwrap();
    append(
        &bench.data.path().join("candles/1.csv"),
        &format!("{},1900003600,1,2,0.5,1,7,1h\n", token(3)),
    );
    assert_rows(
        &load(bench.data.path(), &NoProgress).unwrap(),
        &bench.load(),
        "a new file and one in the middle",
    );
    // A key of another file: the table does not record which of the two comes last.
    let other = fs::read_to_string(bench.data.path().join("candles/2.csv")).unwrap();
    let line = other.lines().find(|line| line.ends_with(",15m")).unwrap();
    append(
        &bench.data.path().join("candles/0.csv"),
        &format!("{line}\n"),
    );
    assert_rows(
        &load(bench.data.path(), &NoProgress).unwrap(),
        &bench.load(),
        "a key of a later file",
    );
}

#[test]
fn a_file_written_anew_is_brought_in_whole() {
    let bench = bench(300);
    drop(bench.load());
    let path = bench.data.path().join("transfers.csv");
    let text = fs::read_to_string(&path).unwrap();
    // Longer, with an additional row at its beginning.
    let (header, rest) = text.split_once('\n').unwrap();
    let row = rest
        .lines()
        .find(|line| line.starts_with("0x"))
        .unwrap()
        .to_owned();
    fs::write(
        &path,
        format!("{header}\n{}\n{rest}", row.replace(",0x", ",0x1")),
    )
    .unwrap();
    assert_rows(
        &load(bench.data.path(), &NoProgress).unwrap(),
        &bench.load(),
        "written anew",
    );
}

#[test]
fn a_line_that_is_not_whole_is_a_row_once_it_is() {
    let bench = bench(300);
    drop(bench.load());
    let path = bench.data.path().join("candles/2.csv");
    let growing = || {
        load_as(
            bench.data.path(),
            &options(bench.cache.path()),
            None,
            &NoProgress,
            None,
            true,
        )
        .unwrap()
    };
    let before = growing().table("candles").unwrap().height();
    append(&path, &format!("{},1900000000,1,2,0.5,1,", token(3)));
    assert_eq!(growing().table("candles").unwrap().height(), before);
    append(&path, "7,1h");
    assert_eq!(growing().table("candles").unwrap().height(), before);
    // In a file at rest the last line counts, with or without a line end.
    assert_rows(
        &load(bench.data.path(), &NoProgress).unwrap(),
        &bench.load(),
        "at rest",
    );
    assert_eq!(bench.load().table("candles").unwrap().height(), before + 1);
    append(&path, "\n");
    assert_rows(
        &load(bench.data.path(), &NoProgress).unwrap(),
        &bench.load(),
        "with its line end",
    );
}

#[test]
fn a_large_table_that_is_appended_to_without_a_pause_is_taken_in() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(data.path(), 400);
    let options = ServiceOptions {
        workers: 1,
        cache: options(cache.path()),
        ..ServiceOptions::default()
    };
    let service = QueryService::new(data.path(), options).unwrap();
    service.load().unwrap();
    service.watch().unwrap();
    let last = |service: &Arc<QueryService>| {
        let snapshot = service.snapshot().unwrap();
        let table = snapshot.dataset.table("transfers").unwrap();
        assert!(table.large().is_some() && table.loaded() && !table.changed_during_read);
        table.sources[0].rows
    };
    wait_until("it is watched", || {
        service.load_state().watching != Watching::Off
    });
    let (begun, start) = (last(&service), Instant::now());
    let mut seen = begun;
    // Reloaded three times while the writer does not pause.
    let (mut times, mut written) = (0, begun);
    while times < 3 {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "taken in {times} times: {:?}",
            service.load_state()
        );
        written += 1;
        append(
            &data.path().join("transfers.csv"),
            &format!("{},1900000000,{written},0x{written:064x},,,1,0\n", token(3)),
        );
        thread::sleep(Duration::from_millis(100));
        let now = last(&service);
        assert!(now <= written);
        if now > seen {
            (seen, times) = (now, times + 1);
        }
    }
    drop(service);
}

#[test]
fn a_large_table_that_is_appended_to_while_it_is_first_read_is_taken_as_far_as_it_came() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(data.path(), 4_000);
    let path = data.path().join("transfers.csv");
    let (sender, stop) = std::sync::mpsc::channel::<()>();
    let writer = thread::spawn(move || {
        let mut n = 0;
        while stop.recv_timeout(Duration::from_micros(300)).is_err() && n < 100_000 {
            n += 1;
            append(
                &path,
                &format!("{},1900000000,{n},0x{n:064x},,,1,0\n", token(3)),
            );
        }
    });
    let dataset = load_with(
        data.path(),
        &CacheOptions {
            folder: Some(cache.path().to_owned()),
            ..options(cache.path())
        },
        &NoProgress,
    )
    .unwrap();
    drop(sender);
    writer.join().unwrap();
    let table = dataset.table("transfers").unwrap();
    assert!(table.loaded(), "{:?}", table.state);
    assert!(table.sources[0].rows >= 4_000);
}
