//! Loading, exporting and loading again gives the same data, in every format.

use std::fmt::Write as _;

use load::Table;
use polars::prelude::{AnyValue, DataFrame};
use proptest::{collection::vec, option, prelude::*};

use super::{UNI, ipc, ipc_stream, load_files, parquet, table};

/// Times, 256-bit amounts, integers and addresses: a row of `transfers`.
type Row = (i64, i64, [u8; 32], Option<[u8; 20]>, [u8; 32], Option<i64>);

fn row() -> impl Strategy<Value = Row> {
    // Epoch milliseconds, from the smallest that are distinguished from seconds.
    (
        100_000_000_000..4_000_000_000_000i64,
        0..i64::MAX,
        any::<[u8; 32]>(),
        option::of(any::<[u8; 20]>()),
        any::<[u8; 32]>(),
        option::of(0..9_999i64),
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn csv_of(rows: &[Row]) -> String {
    let mut text = "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index\n".to_owned();
    for (time, block, hash, from, value, log) in rows {
        let from = from.map(|from| hex(&from)).unwrap_or_default();
        let log = log.map(|log| log.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "{UNI},{time},{block},{},{from},{UNI},{},{log}",
            hex(hash),
            hex(value)
        );
    }
    text
}

fn text_of(value: &AnyValue<'_>) -> Option<String> {
    match value {
        AnyValue::Null => None,
        AnyValue::Datetime(time, ..) => Some(time.to_string()),
        other => Some(
            other
                .get_str()
                .map_or_else(|| other.to_string(), str::to_owned),
        ),
    }
}

/// The canonical frame as CSV and as NDJSON.
fn texts(frame: &DataFrame) -> (String, String) {
    let names: Vec<&str> = frame
        .columns()
        .iter()
        .map(|column| column.name().as_str())
        .collect();
    let (mut csv, mut json) = (names.join(",") + "\n", String::new());
    for row in 0..frame.height() {
        let cells: Vec<_> = frame
            .columns()
            .iter()
            .map(|column| text_of(&column.get(row).expect("in the frame")))
            .collect();
        let _ = writeln!(
            csv,
            "{}",
            cells
                .iter()
                .map(|cell| cell.clone().unwrap_or_default())
                .collect::<Vec<_>>()
                .join(",")
        );
        let member = |(name, cell): (&&str, &Option<String>)| {
            format!(
                "\"{name}\": {}",
                cell.as_ref()
                    .map_or("null".to_owned(), |cell| format!("\"{cell}\""))
            )
        };
        let _ = writeln!(
            json,
            "{{{}}}",
            names
                .iter()
                .zip(&cells)
                .map(member)
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    (csv, json)
}

fn loaded(name: &str, bytes: &[u8]) -> Table {
    let dataset = load_files(&[(name, bytes)]).expect("the tokens are fine");
    let table = table(&dataset, "transfers").clone();
    assert!(table.loaded(), "{name}: {:?}", table.state);
    table
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_table_written_in_any_format_loads_as_it_was(rows in vec(row(), 1..30)) {
        let first = loaded("transfers.csv", csv_of(&rows).as_bytes());
        prop_assert_eq!(first.rows_bad, 0);
        prop_assert_eq!(first.frame().height(), rows.len());
        let (csv, json) = texts(&first.frame());
        for (name, bytes) in [
            ("transfers.csv", csv.into_bytes()),
            ("transfers.ndjson", json.into_bytes()),
            ("transfers.parquet", parquet(&first.frame())),
            ("transfers.arrow", ipc(&first.frame())),
            ("transfers.ipc", ipc_stream(&first.frame())),
        ] {
            let again = loaded(name, &bytes);
            prop_assert_eq!(again.rows_bad, 0, "{}", name);
            prop_assert!(again.frame().equals_missing(&first.frame()), "{}", name);
            prop_assert_eq!(again.frame().dtypes(), first.frame().dtypes(), "{}", name);
        }
    }
}
