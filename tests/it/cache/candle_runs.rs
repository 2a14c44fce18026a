//! Ordered runs of candles are imported in bulk, all others row by row: for any mixture, the cached table equals a load into memory,
//! findings included.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use frames::cache::CacheOptions;
use load::loader::{load, load_with};
use model::progress::{Cancelled, LoadProgress, NoProgress};
use proptest::{
    collection::vec,
    prelude::{Just, ProptestConfig, Strategy, any, prop_oneof},
    proptest,
};

use super::{assert_same, token};

/// Consecutive rows of one token and interval.
#[derive(Debug, Clone)]
struct Part {
    token: u64,
    interval: &'static str,
    start: i64,
    rows: i64,
    kind: Kind,
    /// Whether they have a volume in USD and a source, which most files lack: a column without any takes no room in the cache.
    told: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Rising,
    Falling,
    /// Each time occurs twice.
    Twice,
    /// Some volumes are empty.
    Holes,
    /// Some rows are unparsable.
    Bad,
}

fn part() -> impl Strategy<Value = Part> {
    let kind = prop_oneof![4 => Just(Kind::Rising), 1 => Just(Kind::Falling), 1 => Just(Kind::Twice), 2 => Just(Kind::Holes), 1 => Just(Kind::Bad)];
    let rows = prop_oneof![1i64..40, 1i64..400, 1_000i64..3_000];
    let interval = prop_oneof![Just("1h"), Just("1d"), Just("15m"), Just("")];
    // Both disjoint and overlapping parts.
    let start = prop_oneof![(0i64..50).prop_map(|n| n * 5_000), 0i64..600];
    let told = prop_oneof![3 => Just(false), 1 => Just(true)];
    (0u64..5, interval, start, rows, kind, told).prop_map(
        |(token, interval, start, rows, kind, told)| Part {
            token,
            interval,
            start,
            rows,
            kind,
            told,
        },
    )
}

fn lines(part: &Part) -> String {
    let line = |i: i64| {
        let place = match part.kind {
            Kind::Falling => part.rows - i,
            Kind::Twice => i / 2,
            _ => i,
        };
        let time = 1_500_000_000 + (part.start + place) * 3_600;
        let open = if part.kind == Kind::Bad && i % 37 == 36 {
            "x".to_owned()
        } else {
            format!("{}.5", i % 1_000)
        };
        let volume = if part.kind == Kind::Holes && i % 5 == 0 {
            String::new()
        } else {
            (i + part.start).to_string()
        };
        let told = if part.told && i % 3 != 0 {
            format!("{i}.25,venue:{}", i % 7)
        } else {
            ",".to_owned()
        };
        format!(
            "{},{time},{open},2000,0.5,7,{volume},{},{told}\n",
            token(part.token),
            part.interval
        )
    };
    (0..part.rows).map(line).collect()
}

fn write(folder: &Path, files: &[Vec<Part>], intervals: bool) {
    let line = |i| format!("{},T{i},Token {i},eth\n", token(i));
    let tokens: String = (0..5).map(line).collect();
    fs::write(
        folder.join("tokens.csv"),
        format!("token_address,symbol,name,chain\n{tokens}"),
    )
    .unwrap();
    fs::create_dir(folder.join("candles")).unwrap();
    for (i, parts) in files.iter().enumerate() {
        let last = if intervals { "interval" } else { "something" };
        let text: String = parts.iter().map(lines).collect();
        let header = format!(
            "token_address,timestamp,open,high,low,close,volume,{last},volume_usd,source\n"
        );
        fs::write(folder.join(format!("candles/{i}.csv")), header + &text).unwrap();
    }
}

/// Cancels after a number of progress calls.
struct Patience(AtomicU64);

impl LoadProgress for Patience {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Cancelled> {
        let left = self
            .0
            .load(Ordering::Relaxed)
            .checked_sub(1)
            .ok_or(Cancelled)?;
        self.0.store(left, Ordering::Relaxed);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn rows_in_order_and_others_make_the_table_that_memory_makes(
        files in vec(vec(part(), 1..7), 1..4), intervals in any::<bool>(), patience in 0u64..40, group in 13u32..26,
    ) {
        let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(data.path(), &files, intervals);
        let plain = load(data.path(), &NoProgress).unwrap();
        let folder = Some(cache.path().to_owned());
        let options = CacheOptions { folder, rows_min: 1, group_max: 1 << group, ..CacheOptions::default() };
        // Cancelled at any point, then resumed.
        load_with(data.path(), &options, &Patience(AtomicU64::new(patience))).ok();
        assert_same(&plain, &load_with(data.path(), &options, &NoProgress).unwrap(), "gone on with");
    }
}

/// A column that no file has takes no room; once one has it, the rows before it are empty in it.
#[test]
fn columns_that_most_files_lack_take_no_room_until_a_file_has_them() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(
        data.path().join("tokens.csv"),
        format!("token_address,symbol,name,chain\n{},A,A,eth\n", token(1)),
    )
    .unwrap();
    fs::create_dir(data.path().join("candles")).unwrap();
    let rows = |from: i64, more: &str| -> String {
        (from..from + 20_000)
            .map(|i| {
                format!(
                    "{},{},1,2,0.5,1,7,1h{more}\n",
                    token(1),
                    1_500_000_000 + i * 3_600
                )
            })
            .collect::<Vec<_>>()
            .concat()
    };
    let header = "token_address,timestamp,open,high,low,close,volume,interval";
    fs::write(
        data.path().join("candles/0.csv"),
        format!("{header}\n{}", rows(20_000, "")),
    )
    .unwrap();
    let options = CacheOptions {
        folder: Some(cache.path().to_owned()),
        rows_min: 1,
        ..CacheOptions::default()
    };
    let large = || load_with(data.path(), &options, &NoProgress).unwrap();
    let same = |when: &str| assert_same(&load(data.path(), &NoProgress).unwrap(), &large(), when);
    same("without them");
    let (dataset, interval) = (large(), model::candles::Interval::HOUR);
    let table = dataset.table("candles").unwrap().large().unwrap();
    let written = |column: &str| table.floats(column, 0..table.height()).is_some();
    assert_eq!(
        (
            written("volume"),
            written("volume_usd"),
            table.is_hollow("source")
        ),
        (true, false, true)
    );
    let address = model::address::Address::parse(&token(1)).unwrap();
    assert_eq!(dataset.candles().source(&address, interval), None);
    // Rows before and after those without them, added to the table that is there.
    fs::write(
        data.path().join("candles/1.csv"),
        format!("{header},volume_usd,source\n{}", rows(0, ",6.5,b:X")),
    )
    .unwrap();
    fs::write(
        data.path().join("candles/2.csv"),
        format!("{header},volume_usd,source\n{}", rows(40_000, ",7.5,a:X")),
    )
    .unwrap();
    same("with them, added");
    let grown = large();
    assert_eq!(grown.candles().sources(&address, interval), ["b:X", "a:X"]);
    let usd = grown
        .table("candles")
        .unwrap()
        .large()
        .unwrap()
        .floats("volume_usd", 19_999..40_001)
        .unwrap()
        .to_vec();
    assert!(usd[0] == 6.5 && usd[1..20_001].iter().all(|usd| usd.is_nan()) && usd[20_001] == 7.5);
    // And a table that has them grows by rows without.
    fs::write(
        data.path().join("candles/3.csv"),
        format!("{header}\n{}", rows(60_000, "")),
    )
    .unwrap();
    same("without them again");
}
