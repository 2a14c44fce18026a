//! Rows of a mapped table are filtered as those in memory, and both as single rows.

use std::fmt::Write as _;

use frames::cache::CacheOptions;
use model::progress::{NoProgress, Progress};
use table::{
    TableRows,
    filter::{ExcludedRows, of_table, parse},
};
use tokendeck_load::loader::load_with;

fn address(last: u8) -> String {
    format!("0x{last:040x}")
}

/// Candles of two tokens and intervals, some without a volume.
fn candles() -> String {
    let mut text = "token_address,interval,timestamp,open,high,low,close,volume\n".to_owned();
    for i in 0..400_u64 {
        let (mixed, at) = (1 + i * 7 % 31, 1_767_225_600 + i / 4 * 86_400);
        let volume = if mixed % 3 == 0 {
            String::new()
        } else {
            mixed.to_string()
        };
        let interval = ["1h", "1d"][(i / 2 % 2) as usize];
        writeln!(
            text,
            "{},{interval},{at},{mixed},40,1,{mixed},{volume}",
            address(1 + (i % 2) as u8)
        )
        .expect("a text");
    }
    text
}

#[test]
fn rows_of_a_mapped_table_are_judged_as_those_in_memory() {
    let (data, cache) = (tempfile::tempdir(), tempfile::tempdir());
    let (data, cache) = (data.expect("a folder"), cache.expect("a folder"));
    let tokens = format!(
        "token_address,symbol,name,chain\n{},A,A,eth\n{},B,B,eth\n",
        address(1),
        address(2)
    );
    for (name, text) in [("tokens.csv", tokens), ("candles.csv", candles())] {
        std::fs::write(data.path().join(name), text).expect("a file");
    }
    let mapped = CacheOptions {
        folder: Some(cache.path().to_owned()),
        rows_min: 10,
        block_rows: 50,
        ..CacheOptions::default()
    };
    let [mapped, held] = [mapped, CacheOptions::default()].map(|options| {
        let dataset = load_with(data.path(), &options, &NoProgress).expect("a dataset");
        dataset.table("candles").expect("candles").rows.clone()
    });
    assert_eq!(
        (mapped.is_held(), held.is_held(), held.height()),
        (false, true, 400)
    );
    let columns = of_table(held.schema());
    for (text, is_skipped) in [
        ("close>5", false),
        ("volume!=5", false),
        ("volume>5 close<20", false),
        ("volume>5 or close<3", false),
        ("interval=1d volume<=7", false),
        ("not (interval=1d or volume>7)", false),
        ("timestamp>=2026-02-01 volume>1", false),
        ("timestamp=2026-01-05", false),
        ("timestamp:03 close in (1, 2, 3)", false),
        ("volume>30 close>1e9", true),
        ("volume>1e9", true),
        ("token_address:0x0000 volume<5", false),
        ("1h volume<5", false),
    ] {
        let filter = parse(text, &columns).expect("a filter");
        let progress = Progress::default();
        let of = |rows: &TableRows| {
            let (rows, left_out) = filter
                .select(rows, 0..rows.height(), usize::MAX, &progress)
                .expect("rows");
            (rows.iter().collect::<Vec<_>>(), left_out)
        };
        let (of_mapped, of_held) = (of(&mapped), of(&held));
        assert_eq!(of_mapped.0, of_held.0, "{text}");
        let matching =
            (0..held.height()).filter(|row| filter.matches(|column| held.cell(column, *row)));
        assert_eq!(of_held.0, matching.collect::<Vec<_>>(), "{text}");
        let counted = if is_skipped {
            ExcludedRows::default()
        } else {
            of_held.1
        };
        assert_eq!(of_mapped.1, counted, "{text}");
    }
}
