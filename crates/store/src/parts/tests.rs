use polars::prelude::{DataType, IntoColumn as _, NamedFrom as _, Series, TimeUnit, TimeZone};

use super::*;
use model::schema;
use source::coerce;

fn frame(table: &str, columns: &[(&str, Series)]) -> DataFrame {
    let schema = schema::table(table).expect("a table");
    let height = columns[0].1.len();
    let column = |column: &'static schema::Column| {
        let given = columns
            .iter()
            .find(|(name, _)| *name == column.name)
            .map(|(name, series)| series.clone().with_name((*name).into()).into_column());
        given.unwrap_or_else(|| coerce::empty(column, height))
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

fn candles(from: i64, to: i64, close: f64) -> DataFrame {
    let schema = schema::table("candles").expect("a table");
    let rows = (to - from) as usize;
    let column = |column: &'static schema::Column| match column.name {
        "token_address" => {
            Series::new("token_address".into(), vec![format!("0x{:040x}", 1); rows]).into_column()
        }
        "interval" => Series::new("interval".into(), vec!["1d"; rows]).into_column(),
        "timestamp" => {
            let kind = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
            Series::new(
                "timestamp".into(),
                (from..to).map(|day| day * 86_400_000).collect::<Vec<_>>(),
            )
            .cast(&kind)
            .expect("times")
            .into_column()
        }
        "volume" => coerce::empty(column, rows),
        name => Series::new(name.into(), vec![close; rows]).into_column(),
    };
    DataFrame::new(rows, schema.columns.iter().map(column).collect()).expect("a frame")
}

fn rows(dataset: &Path) -> Vec<f64> {
    let schema = schema::table("candles").expect("a table");
    let frames: Vec<DataFrame> = files(dataset, "candles")
        .iter()
        .map(|path| read(path).expect("read").expect("there"))
        .collect();
    let whole =
        newest(schema, order::whole(frames).expect("joined").expect("some")).expect("merged");
    let whole = order::sorted(schema.order, whole).expect("sorted");
    whole
        .column("close")
        .expect("closes")
        .f64()
        .expect("numbers")
        .iter()
        .flatten()
        .collect()
}

#[test]
fn parts_are_brought_together_and_no_row_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Parts {
        dataset: folder.path(),
        schema: schema::table("candles").expect("a table"),
    };
    let mut most = 0;
    for part in 0..40 {
        // Each part replaces the last candle of the one before, which was forming.
        kept.append(
            candles(part * 3, part * 3 + 4, part as f64),
            Time(1_000 + part),
        )
        .expect("kept");
        most = most.max(files(folder.path(), "candles").len());
    }
    let closes = rows(folder.path());
    assert_eq!(closes.len(), 121);
    assert!(
        (0..40).all(|part| closes[part * 3] == part as f64),
        "the newer candle holds"
    );
    assert!(most <= PARTS_MAX + 1, "{most} files");
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
    let holders = |token: u32, holders: &[(u32, f64)]| {
        let column = |column: &'static schema::Column| match column.name {
            "token_address" => Series::new(
                "token_address".into(),
                vec![format!("0x{token:040x}"); holders.len()],
            )
            .into_column(),
            "holder_address" => Series::new(
                "holder_address".into(),
                holders
                    .iter()
                    .map(|(holder, _)| format!("0x{holder:040x}"))
                    .collect::<Vec<_>>(),
            )
            .into_column(),
            _ => Series::new(
                "balance".into(),
                holders
                    .iter()
                    .map(|(_, balance)| *balance)
                    .collect::<Vec<_>>(),
            )
            .into_column(),
        };
        DataFrame::new(holders.len(), schema.columns.iter().map(column).collect()).expect("a frame")
    };
    let token = |number: u32| Address::parse(&format!("0x{number:040x}")).expect("an address");
    kept.replace(
        &holders(1, &[(5, 10.0), (6, 1.0)]),
        &ReplaceScope::Tokens([token(1)].into()),
        Time(1),
    )
    .expect("kept");
    kept.replace(
        &holders(2, &[(5, 2.0)]),
        &ReplaceScope::Tokens([token(2)].into()),
        Time(2),
    )
    .expect("kept");
    kept.replace(
        &holders(1, &[(5, 10.0)]),
        &ReplaceScope::Tokens([token(1)].into()),
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
            &holders(1, &[(5, f64::from(time))]),
            &ReplaceScope::Tokens([token(1)].into()),
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
