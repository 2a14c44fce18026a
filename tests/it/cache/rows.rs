//! Row access of a large table: sorted by any column, filtered by zone maps, and read by external programs.

use std::fs;

use frames::rows::Frames as _;
use polars::prelude::{Column, DataFrame, DataType, IpcReader, SerReader, StringChunked};
use table::{Extent, RowSelection, sort_rows, top_rows};

use super::{TABLES, bench};

const GO_ON: fn(u64, u64) -> std::io::Result<()> = |_, _| Ok(());

#[test]
fn a_tables_order_by_any_column_is_the_sorted_one() {
    let bench = bench(1_500);
    let cached = bench.load();
    let sorts = [
        ("transfers", "block_number", false),
        ("transfers", "block_number", true),
        ("transfers", "transaction_hash", true),
        ("transfers", "value", false),
        ("transfers", "timestamp", true),
        ("candles", "volume", true),
        ("candles", "volume", false),
        ("candles", "open", true),
        ("candles", "timestamp", false),
        // With many ties.
        ("candles", "timestamp", true),
        ("transfers", "log_index", false),
        ("transfers", "log_index", true),
        ("holders", "balance", true),
        ("holder_counts", "holders", true),
        ("holder_counts", "date", true),
        ("posts", "impressions", true),
    ];
    for (table, column, falls) in sorts {
        let large = cached.table(table).unwrap().large().unwrap().clone();
        let frame = large.slice(0..large.height(), None);
        let all = RowSelection::Run(0..large.height());
        let ranked = sort_rows(&large, (column, falls), &all, GO_ON).unwrap();
        let options = polars::prelude::SortOptions {
            descending: falls,
            nulls_last: true,
            maintain_order: true,
            ..Default::default()
        };
        let sorted = |frame: &DataFrame| -> Vec<u32> {
            let cells = frame.column(column).unwrap();
            // Numbers stored as decimal digits.
            let padded = |cells: &StringChunked| {
                cells
                    .iter()
                    .map(|cell| cell.map(|digits| format!("{digits:0>78}")))
                    .collect::<Vec<_>>()
            };
            let numbers = (column == "value")
                .then(|| Column::new("value".into(), padded(cells.str().unwrap())));
            numbers
                .as_ref()
                .unwrap_or(cells)
                .arg_sort(options)
                .iter()
                .flatten()
                .collect()
        };
        let expected = sorted(&frame);
        let found: Vec<u32> = ranked.iter().map(|place| place as u32).collect();
        assert_eq!(found, expected, "{table}.{column} {falls}");
        for count in [0, 1, 10, 700] {
            let top = top_rows(&large, (column, falls), &all, count, GO_ON).unwrap();
            assert_eq!(top, expected[..count], "{table}.{column} {falls} {count}");
        }
        // A range that begins and ends inside blocks.
        let rows = 77..large.height() / 2;
        let part = sorted(&frame.slice(77, rows.len()));
        let among = RowSelection::Run(rows);
        let top = top_rows(&large, (column, falls), &among, 30, GO_ON).unwrap();
        assert_eq!(
            top,
            part[..30].iter().map(|row| row + 77).collect::<Vec<_>>(),
            "{table}.{column} {falls} in the middle"
        );
    }
}

#[test]
fn the_first_candles_by_interval_are_those_of_the_order_of_all() {
    let bench = bench(1_500);
    let large = bench
        .load()
        .table("candles")
        .unwrap()
        .large()
        .unwrap()
        .clone();
    for among in [
        RowSelection::Run(0..large.height()),
        RowSelection::Run(77..large.height() / 2),
    ] {
        for falls in [false, true] {
            let ranked = sort_rows(&large, ("interval", falls), &among, GO_ON).unwrap();
            let expected: Vec<u32> = ranked.iter().take(200).map(|place| place as u32).collect();
            let top = top_rows(&large, ("interval", falls), &among, 200, GO_ON).unwrap();
            assert_eq!(top, expected, "{falls}");
        }
    }
}

#[test]
fn the_bounds_of_rows_hold_all_of_their_values() {
    let bench = bench(1_000);
    let cached = bench.load();
    for (table, column) in [
        ("candles", "volume"),
        ("candles", "timestamp"),
        ("transfers", "log_index"),
        ("holder_counts", "date"),
        ("holders", "balance"),
    ] {
        let large = cached.table(table).unwrap().large().unwrap().clone();
        let mut tight = 0;
        for rows in (0..large.height())
            .step_by(60)
            .map(|start| start..(start + 60).min(large.height()))
        {
            let frame = large.slice(rows.clone(), Some(&[column]));
            let cells = frame
                .column(column)
                .unwrap()
                .to_physical_repr()
                .cast(&polars::prelude::DataType::Float64)
                .unwrap();
            let cells = cells.f64().unwrap();
            let low = cells.iter().flatten().reduce(f64::min);
            let high = cells.iter().flatten().reduce(f64::max);
            let (from, to) = match large.extent(column, rows).unwrap() {
                Extent::Empty => (None, None),
                Extent::Float(low, high) => (Some(low), Some(high)),
                Extent::Whole(low, high) => (Some(low as f64), Some(high as f64)),
            };
            assert!(
                low.is_none_or(|low| from <= Some(low) && from.is_some()) && high <= to,
                "{table}.{column}: {from:?}..{to:?}, {low:?}..{high:?}"
            );
            tight += usize::from((from, to) == (low, high));
        }
        assert!(tight > 0, "{table}.{column}");
        assert_eq!(large.extent("token_address", 0..1), None);
        assert_eq!(large.extent(column, 5..5), Some(Extent::Empty));
    }
}

#[test]
fn the_file_of_rows_opens_in_polars() {
    let bench = bench(500);
    let cached = bench.load();
    for table in TABLES {
        let large = cached.table(table).unwrap().large().unwrap().clone();
        let file = fs::File::open(bench.entry(table).join("rows.arrow")).unwrap();
        let theirs = IpcReader::new(file).finish().unwrap();
        let ours = large.slice(0..large.height(), None);
        assert_eq!(theirs.height(), ours.height(), "{table}");
        assert!(theirs.width() >= 2, "{table}");
        for column in theirs.columns() {
            let known = ours.column(column.name()).unwrap();
            assert_eq!(
                column.null_count(),
                known.null_count(),
                "{table}.{}",
                column.name()
            );
            // Addresses and hashes are bytes there, and text here.
            let same = match column.binary() {
                Ok(bytes) => bytes
                    .iter()
                    .zip(known.str().unwrap().iter())
                    .all(|(bytes, text)| {
                        text == bytes
                            .map(|bytes| {
                                bytes
                                    .iter()
                                    .fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
                            })
                            .as_deref()
                    }),
                // A day is a number there.
                Err(_) if known.dtype() == &DataType::Date => {
                    column.equals_missing(&known.to_physical_repr().cast(&DataType::Int64).unwrap())
                }
                Err(_) => column.equals_missing(known),
            };
            assert!(same, "{table}.{}: {column:?} {known:?}", column.name());
        }
    }
}
