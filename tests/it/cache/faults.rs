//! Kills, a second program, damage and a full disk: no row is lost, and nothing half made is used.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use frames::{cache::list, rows::Frames as _};
use load::loader::load_with;
use model::progress::{Cancelled, LoadProgress, NoProgress};

use super::{Bench, TABLES, assert_same, bench, noise, options};
use crate::shared::skipped;

/// Environment variable that passes dataset and cache to the child process to be killed.
const CHILD: &str = "TOKENDECK_TEST_CACHE_CHILD";

/// Child process to be killed: imports the dataset into the cache.
#[test]
fn child_that_is_killed() {
    let Some(paths) = std::env::var_os(CHILD) else {
        return;
    };
    let paths = paths.into_string().unwrap();
    let (data, cache) = paths.split_once('|').unwrap();
    load_with(Path::new(data), &options(Path::new(cache)), &NoProgress).unwrap();
}

fn child(bench: &Bench) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "cache::faults::child_that_is_killed",
            "--nocapture",
        ])
        .env(
            CHILD,
            format!(
                "{}|{}",
                bench.data.path().display(),
                bench.cache.path().display()
            ),
        )
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_kill_at_any_moment_costs_no_row() {
    let bench = bench(2_500);
    let (mut killed, mut resumed) = (0, 0);
    // Time window of the kills: the duration of an import on this machine, reduced if later ones are faster.
    let begun = Instant::now();
    assert!(child(&bench).wait().unwrap().success());
    let mut whole = begun.elapsed().as_micros() as u64;
    for turn in 0..400u64 {
        if killed % 5 == 0 {
            // Sometimes from scratch, else resuming from the last kill.
            fs::remove_dir_all(bench.cache.path().join("tables")).ok();
        }
        let mut child = child(&bench);
        std::thread::sleep(Duration::from_micros(noise(turn) % whole));
        child.kill().unwrap();
        if child.wait().unwrap().code().is_some() {
            whole = (whole * 9 / 10).max(5_000);
            continue;
        }
        killed += 1;
        resumed += list(bench.cache.path())
            .iter()
            .filter(|entry| entry.part)
            .count();
        if killed % 5 == 4 {
            assert_same(&bench.plain, &bench.load(), &format!("after kill {turn}"));
        }
        if killed == 50 {
            break;
        }
    }
    // Timing decides how many kills hit an import; with none, nothing would have been tested.
    assert!(
        killed == 50 && resumed > 0,
        "{killed} were killed, {resumed} imports were left half made"
    );
}

/// Cancels once more than this number of bytes of the candles is read, and records how many were read at first.
struct CancelAfterBytes(u64, OnceLock<u64>);

impl LoadProgress for CancelAfterBytes {
    fn step(&self, table: &str, done: u64, total: u64) -> Result<(), Cancelled> {
        if table != "candles" || total == 0 {
            return Ok(());
        }
        self.1.get_or_init(|| done);
        if done > self.0 {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

#[test]
fn an_interrupted_import_restarts_the_file_it_was_reading() {
    let bench = bench(3_000);
    let bytes = |file: &str| {
        let path = bench.data.path().join("candles").join(file);
        fs::metadata(path).unwrap().len()
    };
    let two = bytes("0.csv") + bytes("1.csv");
    // Within the third file, and within the first one.
    for (cancelled, read) in [(two, two), (0, 0)] {
        let load = |cancelled: u64| {
            let progress = CancelAfterBytes(cancelled, OnceLock::new());
            let loaded = load_with(bench.data.path(), &options(bench.cache.path()), &progress);
            (loaded, progress.1.into_inner())
        };
        assert!(load(cancelled).0.is_err());
        let (dataset, first) = load(u64::MAX);
        assert_eq!(first, Some(read));
        assert_same(&bench.plain, &dataset.unwrap(), "restarted");
        fs::remove_dir_all(bench.cache.path().join("tables")).unwrap();
    }
}

#[test]
fn two_programs_at_once_make_one_table() {
    let bench = bench(4_000);
    let mut children: Vec<_> = (0..3).map(|_| child(&bench)).collect();
    assert_same(&bench.plain, &bench.load(), "beside three others");
    assert!(
        children
            .iter_mut()
            .all(|child| child.wait().unwrap().success())
    );
    assert_eq!(list(bench.cache.path()).len(), TABLES.len());
    assert_same(&bench.plain, &bench.load(), "after all of them");
}

#[test]
fn damage_anywhere_is_noticed_and_mended() {
    let bench = bench(400);
    drop(bench.load());
    for (table, file) in [
        ("candles", "rows.arrow"),
        ("candles", "index"),
        ("transfers", "rows.arrow"),
        ("posts", "index"),
    ] {
        let path = bench.entry(table).join(file);
        let length = fs::metadata(&path).unwrap().len();
        let places = [
            0,
            9,
            length / 7,
            length / 3,
            length / 2,
            length * 5 / 6,
            length - 30,
            length - 1,
        ];
        for place in places {
            let path = bench.entry(table).join(file);
            // Replaced, not changed in place, since it may be memory-mapped.
            let mut bytes = fs::read(&path).unwrap();
            // A rebuilt index may be some bytes shorter: it contains its build time.
            let place = (place as usize).min(bytes.len() - 1);
            bytes[place] ^= 0x10;
            replace(&path, &bytes);
            mended(&bench, &format!("{table}/{file} with byte {place} changed"));
        }
        for length in [0, 1, length / 2, length - 1] {
            let path = bench.entry(table).join(file);
            let mut bytes = fs::read(&path).unwrap();
            bytes.truncate(length as usize);
            replace(&path, &bytes);
            mended(&bench, &format!("{table}/{file} cut to {length}"));
        }
        let path = bench.entry(table).join(file);
        fs::remove_file(&path).unwrap();
        mended(&bench, &format!("{table}/{file} gone"));
    }
}

fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("changed");
    fs::write(&beside, bytes).unwrap();
    fs::rename(beside, path).unwrap();
}

/// The load or the first access detects the damage and yields no rows; the next load is complete.
fn mended(bench: &Bench, when: &str) {
    let dataset = bench.load();
    for table in &dataset.tables {
        if let Some(large) = table.large() {
            let frame = large.slice(0..large.height(), None);
            if !large.is_damaged() {
                assert!(
                    frame.equals_missing(&bench.plain.table(table.schema.name).unwrap().frame()),
                    "{when}"
                );
            }
        }
    }
    let dataset = if dataset.is_damaged() {
        bench.load()
    } else {
        dataset
    };
    assert_same(&bench.plain, &dataset, when);
}

#[test]
fn a_full_disk_leaves_the_table_out_and_nothing_behind() {
    let mount = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
        .arg(mount.path())
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        skipped("only root can make a small disk");
        return;
    }
    let bench = bench(6_000);
    let dataset = load_with(bench.data.path(), &options(mount.path()), &NoProgress);
    let left = list(mount.path());
    let free = fs::File::create(mount.path().join("probe"))
        .and_then(|file| file.write_all_at(&[1; 4096], 0));
    Command::new("umount").arg(mount.path()).status().unwrap();
    let dataset = dataset.unwrap();
    let reasons: Vec<String> = dataset
        .tables
        .iter()
        .map(|table| format!("{:?}", table.state))
        .filter(|state| state.contains("cache"))
        .collect();
    assert!(
        !reasons.is_empty()
            && reasons
                .iter()
                .all(|reason| reason.contains("No space left") && reason.contains("[cache] dir")),
        "{reasons:?}"
    );
    assert!(!left.iter().any(|entry| entry.part), "{left:?}");
    free.unwrap();
}
