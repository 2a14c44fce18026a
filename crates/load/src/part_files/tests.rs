//! Files of rows that grow, written, merged and cut at random, have the rows of a map.

use std::collections::BTreeMap;

use polars::prelude::{IntoColumn as _, NamedFrom as _, Series};
use proptest::{collection::vec, prelude::*};

use super::*;
use model::schema;

fn frame(table: &str, columns: &[(&str, Series)]) -> DataFrame {
    let schema = schema::table(table).expect("a table");
    let height = columns[0].1.len();
    let column = |column: &'static schema::Column| {
        let given = columns
            .iter()
            .find(|(name, _)| *name == column.name)
            .map(|(name, series)| series.clone().with_name((*name).into()).into_column());
        given.unwrap_or_else(|| frames::canonical::empty(column, height))
    };
    DataFrame::new(height, schema.columns.iter().map(column).collect()).expect("a frame")
}

#[test]
fn of_facts_the_last_value_holds_and_of_measurements_the_last_row() {
    let (a, b) = (format!("0x{:040x}", 1), format!("0x{:040x}", 2));
    let texts = |texts: &[&str]| Series::new("".into(), texts);
    let tokens = frame(
        "tokens",
        &[
            ("token_address", texts(&[&a, &b, &a])),
            ("chain", texts(&["eth", "eth", "eth"])),
            ("symbol", texts(&["A", "B", "A"])),
            (
                "price",
                Series::new("".into(), [Some(1.0), Some(2.0), None]),
            ),
            ("holders", Series::new("".into(), [None, None, Some(7i64)])),
        ],
    );
    let newest = newest(schema::table("tokens").expect("a table"), tokens).expect("merged");
    let prices: Vec<_> = newest
        .column("price")
        .expect("prices")
        .f64()
        .expect("numbers")
        .iter()
        .collect();
    let holders: Vec<_> = newest
        .column("holders")
        .expect("holders")
        .i64()
        .expect("numbers")
        .iter()
        .collect();
    assert_eq!(
        (prices, holders),
        (vec![Some(2.0), Some(1.0)], vec![None, Some(7)])
    );
    let counts = frame(
        "holders",
        &[
            ("token_address", texts(&[&a, &a])),
            ("holder_address", texts(&[&b, &b])),
            ("balance", Series::new("".into(), [Some(1.0), None])),
        ],
    );
    let counts = super::newest(schema::table("holders").expect("a table"), counts).expect("merged");
    assert_eq!(
        (
            counts.height(),
            counts.column("balance").expect("balances").null_count()
        ),
        (1, 1)
    );
}

#[test]
fn equal_rows_without_a_key_count_once_as_pages_overlap() {
    let (a, b) = (format!("0x{:040x}", 1), format!("0x{:040x}", 2));
    let texts = |texts: &[&str]| Series::new("".into(), texts);
    let (first, second) = (format!("0x{:064x}", 1), format!("0x{:064x}", 2));
    let transfers = frame(
        "transfers",
        &[
            ("token_address", texts(&[&a, &a, &a, &a])),
            (
                "transaction_hash",
                texts(&[&first, &first, &second, &first]),
            ),
            ("from_address", texts(&[&a, &b, &a, &a])),
            ("value", texts(&["1", "1", "1", "1"])),
        ],
    );
    assert_eq!(
        newest(schema::table("transfers").expect("a table"), transfers)
            .expect("merged")
            .height(),
        3
    );
}

fn address(number: u32) -> Address {
    Address::parse(&format!("0x{number:040x}")).expect("an address")
}

fn candles(days: Range<i64>, close: f64) -> DataFrame {
    let starts = days.clone().map(|day| day * DAY_MS);
    let prices = || Series::new("".into(), vec![close; days.clone().count()]);
    let texts = |text: &str| Series::new("".into(), vec![text; days.clone().count()]);
    let given = [
        ("token_address", texts(&address(1).to_string())),
        ("interval", texts("1d")),
        (
            "timestamp",
            times("", starts).expect("times").take_materialized_series(),
        ),
        ("open", prices()),
        ("high", prices()),
        ("low", prices()),
        ("close", prices()),
    ];
    frame("candles", &given)
}

/// The rows of holders: token, holder, balance.
fn holders(rows: &[(u32, u32, f64)]) -> DataFrame {
    let texts = |of: fn(&(u32, u32, f64)) -> u32| {
        let texts = rows.iter().map(|row| address(of(row)).to_string());
        Series::new("".into(), texts.collect::<Vec<_>>())
    };
    let balances: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let given = [
        ("token_address", texts(|row| row.0)),
        ("holder_address", texts(|row| row.1)),
        ("balance", Series::new("".into(), balances)),
    ];
    frame("holders", &given)
}

/// The numbers of a column by the numbers of some others.
fn by_key<K: Ord>(frame: &DataFrame, keys: Vec<K>, value: &str) -> BTreeMap<K, i64> {
    let values = frame.column(value).expect("values").f64().expect("numbers");
    let values = values.iter().map(|value| value.expect("a number") as i64);
    let height = keys.len();
    let map: BTreeMap<K, i64> = keys.into_iter().zip(values).collect();
    assert_eq!((map.len(), frame.height()), (height, height), "each once");
    map
}

fn balances(frame: &DataFrame) -> BTreeMap<(Address, Address), i64> {
    let addresses = |name| parsed(frame, name, Address::parse).into_iter().flatten();
    let keys = addresses("token_address").zip(addresses("holder_address"));
    by_key(frame, keys.collect(), "balance")
}

/// The newest rows of these files.
fn found(schema: &TableSchema, files: &[PathBuf]) -> DataFrame {
    let rows = |file: &PathBuf| read(file).expect("read").expect("there");
    let whole = order::whole(files.iter().map(rows)).expect("joined");
    merged(schema, whole.expect("some")).expect("merged")
}

/// The files of a folder as they are now; called again, those that were removed since are there again, and one that was half written:
/// the program ended while it brought parts together.
fn killed(folder: &Path, files: &[PathBuf]) -> impl FnOnce() + use<> {
    let bytes = |path: &PathBuf| (path.clone(), fs::read(path).expect("read"));
    let (before, folder): (Vec<_>, _) = (files.iter().map(bytes).collect(), folder.to_owned());
    move || {
        for (path, bytes) in before.into_iter().filter(|(path, _)| !path.exists()) {
            fs::write(path, bytes).expect("written");
        }
        fs::write(folder.join(".tokendeck-x.tmp"), "PAR1").expect("written");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_are_the_rows_of_a_map_wherever_a_program_ends_and_whatever_the_clock_does(
        appended in vec((0i64..40, 1i64..6, -5i64..4, 0u8..4), 20..50),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let schema = schema::table("candles").expect("a table");
        let parts = Parts { dataset: folder.path(), schema };
        let (mut map, mut clock, mut most) = (BTreeMap::new(), 1_000, 0);
        for (close, (from, days, passed, ended)) in appended.into_iter().enumerate() {
            clock += passed;
            let undo = killed(&parts_folder(folder.path(), "candles"), &parts.list());
            parts.append(candles(from..from + days, close as f64), Time(clock)).expect("kept");
            map.extend((from..from + days).map(|day| (day * DAY_MS, close as i64)));
            most = most.max(parts.list().len());
            if ended == 0 {
                undo();
            }
            let found = found(schema, &parts.list());
            let starts = integers(&found, "timestamp").into_iter().flatten();
            prop_assert_eq!(by_key(&found, starts.collect(), "close"), map.clone());
        }
        prop_assert!(most <= 2 * PARTS_MAX, "{} files", most);
    }

    #[test]
    fn a_state_and_its_past_are_the_maps_of_their_times(
        fetched in vec((vec((0u32..4, 0u32..4, 0u8..5), 0..6), 0u8..4, 0u8..4), 40..70),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let schema = schema::table("holders").expect("a table");
        let parts = Parts { dataset: folder.path(), schema };
        let (mut map, mut past) = (BTreeMap::new(), Vec::new());
        for (now, (rows, scope, ended)) in fetched.into_iter().enumerate() {
            let tokens: HashSet<Address> = rows.iter().map(|row| address(row.0)).collect();
            let scope = match scope {
                0 => ReplaceScope::All,
                1 => ReplaceScope::Keys,
                _ => ReplaceScope::Tokens(tokens),
            };
            map.retain(|(token, _), _| match &scope {
                ReplaceScope::All => false,
                ReplaceScope::Keys => true,
                ReplaceScope::Tokens(tokens) => !tokens.contains(token),
            });
            map.extend(rows.iter().map(|row| ((address(row.0), address(row.1)), row.2.into())));
            let rows: Vec<_> = rows.iter().map(|row| (row.0, row.1, row.2.into())).collect();
            let snapshots = || history_files(folder.path(), "holders");
            let undo = killed(&history_folder(folder.path(), "holders"), &snapshots());
            parts.replace(&holders(&rows), &scope, Time(now as i64)).expect("kept");
            if ended == 0 && !snapshots().is_empty() {
                undo();
            }
            past.push(map.clone());
            prop_assert_eq!(balances(&found(schema, &parts.list())), map.clone());
        }
        let history = history_files(folder.path(), "holders");
        prop_assert!(history.len() <= 2 * SNAPSHOTS_MAX);
        let rows = |file: &PathBuf| read(file).expect("read").expect("there");
        let whole = order::whole(history.iter().map(rows)).expect("joined").unwrap_or_default();
        for (time, map) in past.into_iter().enumerate().filter(|(_, map)| !map.is_empty()) {
            let seen = integers(&whole, OBSERVED_AT).into_iter();
            let whole = filtered(&whole, seen.map(|seen| seen <= Some(time as i64))).expect("cut");
            let newest = newest(schema, whole).expect("merged");
            let gone = newest.column(GONE).expect("gone").bool().expect("flags").iter();
            let there = filtered(&newest, gone.map(|gone| gone != Some(true))).expect("cut");
            prop_assert_eq!(balances(&there), map);
        }
    }
}

#[test]
fn parts_of_a_clock_that_stands_still_stay_in_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let schema = schema::table("candles").expect("a table");
    let parts = Parts {
        dataset: folder.path(),
        schema,
    };
    for close in 0..40 {
        parts
            .append(candles(0..1, f64::from(close)), Time(1_000))
            .expect("kept");
        let closes = found(schema, &parts.list());
        let closes = closes
            .column("close")
            .expect("closes")
            .f64()
            .expect("numbers");
        assert_eq!(closes.get(0), Some(f64::from(close)));
        assert!(parts.list().len() <= PARTS_MAX);
    }
}

#[test]
fn only_neighbours_are_brought_together() {
    let most = JOINED_ROWS_MAX;
    for (rows, expected) in [
        (&[Some(1), Some(1), Some(1)][..], 0..3),
        (
            &[
                Some(1),
                Some(most + 1),
                Some(1),
                Some(1),
                Some(1),
                Some(most),
                Some(1),
            ],
            2..5,
        ),
        (&[Some(most / 2), Some(most / 2), Some(1)], 0..2),
        (&[Some(most), Some(most), Some(0)], 1..3),
        (&[Some(most), Some(1), Some(most)], 0..0),
        (&[Some(1), None, Some(1), Some(1)], 2..4),
        (&[], 0..0),
    ] {
        assert_eq!(longest_run(rows), expected, "{rows:?}");
    }
}

#[test]
fn a_snapshot_replaces_what_it_speaks_of_and_its_changes_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let schema = schema::table("holders").expect("a table");
    let kept = Parts {
        dataset: folder.path(),
        schema,
    };
    kept.replace(
        &holders(&[(1, 5, 10.0), (1, 6, 1.0)]),
        &ReplaceScope::Tokens([address(1)].into()),
        Time(1),
    )
    .expect("kept");
    kept.replace(
        &holders(&[(2, 5, 2.0)]),
        &ReplaceScope::Tokens([address(2)].into()),
        Time(2),
    )
    .expect("kept");
    kept.replace(
        &holders(&[(1, 5, 10.0)]),
        &ReplaceScope::Tokens([address(1)].into()),
        Time(3),
    )
    .expect("kept");
    let now = read(&file(folder.path(), "holders"))
        .expect("read")
        .expect("there");
    assert_eq!(
        now.height(),
        2,
        "the holder that is gone is gone, and the other token's stays"
    );
    let history = fs::read_dir(history_folder(folder.path(), "holders"))
        .expect("a folder")
        .count();
    assert_eq!(history, 3, "that a holder is gone is seen too");
    for time in 4..80 {
        kept.replace(
            &holders(&[(1, 5, f64::from(time))]),
            &ReplaceScope::Tokens([address(1)].into()),
            Time(time.into()),
        )
        .expect("kept");
    }
    let snapshots: Vec<_> = fs::read_dir(history_folder(folder.path(), "holders"))
        .expect("a folder")
        .flatten()
        .collect();
    assert!(snapshots.len() < SNAPSHOTS_MAX + 1);
    let rows: usize = snapshots
        .iter()
        .map(|entry| read(&entry.path()).expect("read").expect("there").height())
        .sum();
    assert_eq!(rows, 4 + 76);
}
