//! The Data view of a large table: display and export equal the source, in any order.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use super::*;
use crate::views::fixture::{PATIENCE, Stage};
use frames::{
    cache::CacheOptions,
    export::{self, ExportError},
};
use load::loader::load_with;
use model::progress::{NoProgress, Progress};
use table::SortLimits;

const ROWS: usize = 12_000;

/// Token, time, close, volume.
type Row = (String, String, f64, Option<f64>);
/// A filter and an order; the expected row predicate and comparison.
type Case = (
    &'static str,
    Option<(&'static str, bool)>,
    fn(&Row) -> bool,
    fn(&Row, &Row) -> Ordering,
);

/// A candle of the source: minutes of three tokens, with repeated closes and empty volumes.
fn candle(i: usize) -> (String, i64, f64, Option<f64>) {
    let mixed = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let close = 1.0 + (mixed % 4_001) as f64 / 3.0;
    (
        format!("0x{:040x}", 1 + i % 3),
        1_700_000_000_000 + (i / 3) as i64 * 60_000,
        close,
        (!mixed.is_multiple_of(7)).then_some(mixed as f64 / 7.0),
    )
}

struct Bench {
    stage: Stage,
    view: DataView,
    _folders: [tempfile::TempDir; 2],
}

fn bench() -> Bench {
    let folders = [
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    ];
    let [data, cache] = &folders;
    let tokens = (1..=3).fold(String::new(), |tokens, i| {
        format!("{tokens}0x{i:040x},T{i},Token {i},eth\n")
    });
    fs::write(
        data.path().join("tokens.csv"),
        format!("token_address,symbol,name,chain\n{tokens}"),
    )
    .expect("a written file");
    let mut text = String::from("token_address,timestamp,open,high,low,close,volume\n");
    // Not in storage order.
    for i in (0..ROWS).map(|i| i * 7_919 % ROWS) {
        let (token, time, close, volume) = candle(i);
        let volume = volume.map_or_else(String::new, |volume| volume.to_string());
        writeln!(
            text,
            "{token},{time},{close},{close},{close},{close},{volume}"
        )
        .expect("writing to a string cannot fail");
    }
    fs::write(data.path().join("candles.csv"), text).expect("a written file");
    // Sort indexes are spilled to files already for few rows, and the first rows come before the others.
    let sorting = SortLimits {
        in_memory: 1 << 10,
        at_once: 5_000,
    };
    let options = CacheOptions {
        folder: Some(cache.path().to_owned()),
        rows_min: 10,
        block_rows: 300,
        sorting,
        ..CacheOptions::default()
    };
    let mut stage = Stage::empty();
    stage.snapshot = Some(
        stage
            .service
            .publish(load_with(data.path(), &options, &NoProgress).expect("a dataset")),
    );
    let mut view = DataView {
        reopen: Some("candles".to_owned()),
        ..DataView::default()
    };
    stage.look(|context| view.refresh(context));
    assert!(stage.look(|context| {
        context
            .snapshot
            .expect("a snapshot")
            .dataset
            .table("candles")
            .expect("candles")
            .large()
            .is_some()
    }));
    Bench {
        stage,
        view,
        _folders: folders,
    }
}

impl Bench {
    fn rows(&mut self) -> &mut RowsPane {
        let Open::Rows(rows) = &mut self.view.open else {
            panic!("the rows are open")
        };
        rows
    }

    /// Requests the rows in this filter and order.
    fn ask(&mut self, filter: &str, sort: Option<(&'static str, bool)>) {
        let Self { stage, view, .. } = self;
        let Open::Rows(rows) = &mut view.open else {
            panic!("the rows are open")
        };
        let sort = sort.map(|(column, descending)| Order { column, descending }.to_string());
        for kept in [
            json!({"filter": "", "sort": []}),
            json!({"filter": filter, "sort": sort.as_slice()}),
        ] {
            stage.look(|context| rows.restore(&kept, context));
        }
    }

    /// Shows the rows in this filter and order; `whole` waits for the complete order.
    fn show(&mut self, filter: &str, sort: Option<(&'static str, bool)>, whole: bool) {
        self.ask(filter, sort);
        let begun = Instant::now();
        while self.rows().is_under_way() && (whole || self.rows().order.unsorted.is_none()) {
            assert!(begun.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(1));
            self.stage.look(|context| self.view.refresh(context));
        }
    }

    /// The exported rows.
    fn exported(&self, path: &Path) -> Vec<Row> {
        let table = self
            .stage
            .look(|context| self.view.export(context))
            .expect("a table to export");
        let count = table.count;
        let rows = (table.rows)(&Progress::default()).expect("rows");
        assert!(count.is_none_or(|count| count == rows.count()));
        let written = export::write(path, &table.columns, &rows, false, &mut |_| true);
        assert_eq!(written.expect("a file"), rows.count() as u64);
        let mut reader = csv::Reader::from_path(path).expect("an exported file");
        fs::remove_file(path).expect("a file to remove");
        let records = reader.deserialize().map(|record| {
            let row: BTreeMap<String, String> = record.expect("a row");
            assert_eq!(row["interval"], "1m");
            (
                row["token_address"].clone(),
                row["timestamp"].clone(),
                row["close"].parse().expect("a number"),
                row["volume"].parse().ok(),
            )
        });
        records.collect()
    }
}

/// In storage order: by token and time.
fn source() -> Vec<Row> {
    let mut rows: Vec<_> = (0..ROWS).map(candle).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
    rows.into_iter()
        .map(|(token, time, close, volume)| {
            (token, model::time::Time(time).to_string(), close, volume)
        })
        .collect()
}

/// Missing values last in either direction; stable.
fn by_volume(a: Option<f64>, b: Option<f64>, falls: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if falls => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

#[test]
fn every_row_is_exported_as_the_source_has_it_filtered_and_sorted() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("candles.csv");
    let unsorted: fn(&Row, &Row) -> Ordering = |_, _| Ordering::Equal;
    let cases: [Case; 8] = [
        ("", None, |_| true, unsorted),
        (
            "",
            Some(("volume", true)),
            |_| true,
            |a, b| by_volume(a.3, b.3, true),
        ),
        ("close>700", None, |row| row.2 > 700.0, unsorted),
        (
            "close>700",
            Some(("volume", false)),
            |row| row.2 > 700.0,
            |a, b| by_volume(a.3, b.3, false),
        ),
        (
            "close>200",
            Some(("close", true)),
            |row| row.2 > 200.0,
            |a, b| b.2.total_cmp(&a.2),
        ),
        (
            "timestamp>=2023-11-15 close<1000",
            Some(("timestamp", false)),
            |row| *row.1 >= *"2023-11-15" && row.2 < 1_000.0,
            |a, b| a.1.cmp(&b.1),
        ),
        (
            "close>1200",
            Some(("token_address", false)),
            |row| row.2 > 1_200.0,
            unsorted,
        ),
        ("close<0", Some(("close", false)), |_| false, unsorted),
    ];
    for (filter, sort, keeps, order) in cases {
        let mut expected: Vec<Row> = source().into_iter().filter(keeps).collect();
        expected.sort_by(order);
        bench.show(filter, sort, true);
        assert_eq!(bench.rows().list.len(), expected.len(), "{filter} {sort:?}");
        assert!(bench.exported(&path) == expected, "{filter} {sort:?}");
        // While only the first rows are sorted on screen, all rows are exported.
        bench.show(filter, sort, false);
        assert!(bench.exported(&path) == expected, "{filter} {sort:?}");
        // An export does not wait for the screen either.
        bench.ask(filter, sort);
        assert!(bench.exported(&path) == expected, "{filter} {sort:?}");
    }
    let mut expected = source();
    expected.reverse();
    bench.show("", Some(("token_address", true)), true);
    assert!(bench.exported(&path) == expected, "backwards");
}

#[test]
fn rows_without_a_value_are_counted_where_all_of_them_were_read() {
    let mut bench = bench();
    let missing = source().iter().filter(|row| row.3.is_none()).count() as u64;
    let cases = [
        ("volume>0", missing),
        ("volume>0 close<0", 0),
        ("close>200", 0),
        ("volume>999999999", 0),
    ];
    for (filter, expected) in cases {
        for sort in [None, Some(("close", true)), Some(("token_address", true))] {
            bench.show(filter, sort, true);
            assert_eq!(
                bench.rows().order.left_out.rows(),
                expected,
                "{filter} {sort:?}"
            );
        }
    }
    bench.show("volume>0", None, true);
    let shown = bench.stage.text_now(&mut bench.view, 120, 20);
    assert!(
        shown.contains(&format!(
            " · {} have no volume",
            model::format::count(missing)
        )),
        "{shown}"
    );
}

#[test]
fn an_export_can_be_stopped_while_the_order_is_made_and_while_it_is_written() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("candles.csv");
    bench.show("", Some(("volume", true)), false);
    let table = bench
        .stage
        .look(|context| bench.view.export(context))
        .expect("a table to export");
    let stopped = Progress::default();
    stopped.cancel();
    assert_eq!(
        (table.rows)(&stopped).err().expect("a stop").code,
        model::error::Code::Cancelled
    );
    let table = bench
        .stage
        .look(|context| bench.view.export(context))
        .expect("a table to export");
    let rows = (table.rows)(&Progress::default()).expect("rows");
    assert!(matches!(
        export::write(&path, &table.columns, &rows, false, &mut |done| done == 0),
        Err(ExportError::Stopped)
    ));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
