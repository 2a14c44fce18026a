//! Fuzzing: for any file content, loading terminates without a panic. Seeded, so that failures are reproducible.

use std::{
    fmt::Write as _,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use load::loader::load;
use model::progress::NoProgress;
use polars::prelude::{
    Categories, DataFrame, DataType, IntoColumn, IpcCompression, IpcWriter, NamedFrom,
    ParquetCompression, ParquetWriter, SerWriter, Series, df,
};

use super::{TOKENS, UNI, folder, gzip, hush_decoders, ipc, ipc_stream, parquet};
use crate::random::Random;

fn frame() -> DataFrame {
    df!(
        "token_address" => [UNI; 20],
        "date" => (0..20).map(|day| format!("2024-01-{:02}", day + 1)).collect::<Vec<_>>(),
        "holders" => (0..20i64).collect::<Vec<_>>(),
        "whale_balance" => (0..20).map(f64::from).collect::<Vec<_>>()
    )
    .expect("one length")
}

/// Types with decoder paths of their own: categories, lists, times with fractions.
fn odd_frame() -> DataFrame {
    let mut frame = frame();
    let categories = DataType::from_categories(Categories::global());
    let tokens = frame
        .column("token_address")
        .and_then(|column| column.cast(&categories))
        .expect("cast");
    let list = |n: i64| Series::new("".into(), [n, n + 1]);
    let holders = Series::new("holders".into(), (0..20).map(list).collect::<Vec<_>>());
    frame.with_column(tokens).expect("one length");
    frame
        .with_column(holders.into_column())
        .expect("one length");
    frame
}

fn packed_ipc(frame: &DataFrame, compression: IpcCompression) -> Vec<u8> {
    let mut bytes = Vec::new();
    IpcWriter::new(&mut bytes)
        .with_compression(Some(compression))
        .finish(&mut frame.clone())
        .expect("written");
    bytes
}

/// A valid file of each format.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut csv = "token_address,date,holders,whale_balance\n".to_owned();
    let mut lines = String::new();
    for day in 1..=20 {
        let _ = writeln!(csv, "{UNI},2024-01-{day:02},\"{day}\",{day}.5");
        let _ = writeln!(
            lines,
            "{{\"token_address\":\"{UNI}\",\"date\":\"2024-01-{day:02}\",\"holders\":{day},\"whale_balance\":{day}.5}}"
        );
    }
    let array = format!("[{}]", lines.trim_end().replace('\n', ","));
    vec![
        ("holder_counts.csv.gz", gzip(csv.as_bytes())),
        (
            "holder_counts.csv.zst",
            zstd::encode_all(csv.as_bytes(), 1).expect("packed"),
        ),
        ("holder_counts.csv", csv.into_bytes()),
        ("holder_counts.ndjson", lines.into_bytes()),
        ("holder_counts.json", array.into_bytes()),
        ("holder_counts.parquet", parquet(&frame())),
        ("holder_counts.arrow", ipc(&frame())),
        ("holder_counts.ipc", ipc_stream(&frame())),
        ("holder_counts.parquet", parquet(&odd_frame())),
        ("holder_counts.parquet", plain_parquet(&odd_frame())),
        ("holder_counts.arrow", ipc(&odd_frame())),
        ("holder_counts.ipc", ipc_stream(&odd_frame())),
        (
            "holder_counts.arrow",
            packed_ipc(&odd_frame(), IpcCompression::LZ4),
        ),
        (
            "holder_counts.feather",
            packed_ipc(&frame(), IpcCompression::default()),
        ),
        // Uncompressed, so that noise reaches the values and not only the compression's checks.
        ("holder_counts.parquet", plain_parquet(&frame())),
    ]
}

fn plain_parquet(frame: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    let writer = ParquetWriter::new(&mut bytes).with_compression(ParquetCompression::Uncompressed);
    writer.finish(&mut frame.clone()).expect("written");
    bytes
}

fn spoil(random: &mut Random, seed: &[u8], round: usize) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    match round % 4 {
        0 => bytes.truncate(random.whole(0, seed.len() - 1)),
        1 => {
            // Keeps the first bytes, which select the reader.
            for byte in bytes.iter_mut().skip(8) {
                *byte = random.whole(0, 255) as u8;
            }
        }
        _ => {
            let at = random.whole(0, bytes.len() - 1);
            bytes[at] = random.whole(0, 255) as u8;
        }
    }
    bytes
}

/// Rounds per seed file. `TOKENDECK_TEST_ROUNDS=400 cargo test --release noise` runs more.
const ROUNDS: usize = 100;

#[test]
fn no_noise_makes_loading_panic_or_hang() {
    hush_decoders();
    let rounds = std::env::var("TOKENDECK_TEST_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(ROUNDS);
    let folder = folder(&[("tokens.csv", TOKENS.as_bytes())]);
    let start = Instant::now();
    for (at, (name, seed)) in seeds().into_iter().enumerate() {
        let path = folder.path().join(name);
        let mut random = Random(at as u64);
        for round in 0..rounds {
            let bytes = spoil(&mut random, &seed, round);
            fs::write(&path, &bytes).expect("written");
            let loaded = catch_unwind(AssertUnwindSafe(|| load(folder.path(), &NoProgress)));
            let dataset = loaded
                .unwrap_or_else(|_| panic!("{name}, round {round}: a panic"))
                .expect("the tokens are fine");
            assert_eq!(dataset.tokens().len(), 2);
        }
        fs::remove_file(&path).expect("removed");
    }
    // Generous enough for a busy machine, yet exposes a hang.
    assert!(
        start.elapsed() < Duration::from_mins(5) || rounds > ROUNDS,
        "took {:?}",
        start.elapsed()
    );
}

#[test]
fn quotes_that_go_astray_do_not_make_reading_slow() {
    let mut text = "token_address,date,holders\n".to_owned();
    for i in 0..60_000 {
        text += if i % 3 == 0 {
            "\"\"\"a,b\n"
        } else {
            "x\"\",\"y\"\"\n"
        };
    }
    let start = Instant::now();
    let folder = folder(&[
        ("tokens.csv", TOKENS.as_bytes()),
        ("holder_counts.csv", text.as_bytes()),
    ]);
    load(folder.path(), &NoProgress).expect("the tokens are fine");
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "took {:?}",
        start.elapsed()
    );
}
