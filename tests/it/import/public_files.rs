//! Real files of public repositories, imported as a user would: first as they are, then with the token that the message asks for. The
//! result is compared with expected rows; a refused file must leave no row and state its reason.

use std::{fs, path::Path};

use polars::prelude::{AnyValue, DataFrame, ParquetReader, SerReader};
use serde_json::Value;

use super::Desk;
use crate::shared::shared;

/// Columns that identify an expected row.
const KEYS: &[&str] = &[
    "timestamp",
    "holder_address",
    "transaction_hash",
    "address",
    "pool",
    "token_address",
    "protocol",
    "symbol",
];
/// Expected properties that are not compared as plain values.
const SKIPPED: &[&str] = &[
    "bytecode_starts",
    "bytecode_chars",
    "creation_bytecode_starts",
    "creation_bytecode_chars",
    "volume_usd",
    "interval",
    "chain",
    "pool_name",
];

#[test]
fn real_files_arrive_right_or_are_refused() {
    let Some(folder) = shared("data/wild") else {
        return;
    };
    let lines = fs::read_to_string(format!("{folder}/expected.jsonl")).expect("the right answers");
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let want: Value = serde_json::from_str(line).unwrap();
        if let Err(reason) = judged(&folder, &want) {
            wrong.push(format!("{}: {reason}", want["file"].as_str().unwrap()));
        }
    }
    assert!(lines.lines().count() > 50);
    assert!(
        wrong.is_empty(),
        "{} files:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Imports a file and checks the outcome.
fn judged(folder: &str, want: &Value) -> Result<(), String> {
    let desk = Desk::empty();
    let path = format!("{folder}/files/{}", want["file"].as_str().unwrap());
    let route = want["route"].as_str().unwrap();
    let (mut code, _, mut err) = desk.run(&[&path]);
    if code != 0 && (route == "token" || err.contains("--token")) {
        let token = want["token"]
            .as_str()
            .unwrap_or("0x1111111111111111111111111111111111111111");
        let (again, _, said) = desk.run(&[&path, "--token", token]);
        (code, err) = (again, said);
    }
    match (route, code) {
        ("refuse" | "mapping", 0) => Err("is taken in silence".to_owned()),
        ("refuse" | "mapping", _) if desk.data().exists() => {
            Err("is refused and leaves something behind".to_owned())
        }
        ("refuse" | "mapping", _) if err.contains('`') => Ok(()),
        ("refuse" | "mapping", _) => Err(format!("says too little: {err}")),
        (_, 0) => arrived(&desk.data(), want),
        _ => Err(format!("is refused: {err}")),
    }
}

/// Compares the imported rows with the expected ones.
fn arrived(folder: &Path, want: &Value) -> Result<(), String> {
    let table = want["table"].as_str().unwrap();
    let file = fs::File::open(folder.join(format!("{table}.parquet")))
        .map_err(|error| format!("no {table}: {error}"))?;
    let frame = ParquetReader::new(file)
        .finish()
        .map_err(|error| error.to_string())?;
    let also = want["rows_also"].as_array().into_iter().flatten();
    let fair: Vec<u64> = also
        .chain([&want["rows"]])
        .filter_map(Value::as_u64)
        .collect();
    if !fair.contains(&(frame.height() as u64)) {
        return Err(format!("{} rows, not {fair:?}", frame.height()));
    }
    for expected in want["values"].as_array().into_iter().flatten() {
        let expected = expected.as_object().unwrap();
        let keys: Vec<&str> = KEYS
            .iter()
            .copied()
            .filter(|key| expected.contains_key(*key))
            .collect();
        let at = |row: usize, keys: &[&str]| {
            keys.iter()
                .all(|key| same(&frame, row, key, &expected[*key]))
        };
        let row = (0..frame.height())
            .find(|&row| at(row, &keys))
            .ok_or_else(|| format!("no row with {keys:?} of {expected:?}"))?;
        for (column, value) in expected
            .iter()
            .filter(|(column, _)| !SKIPPED.contains(&column.as_str()))
        {
            let unmeasured = column == "volume" && value.is_null();
            if !unmeasured && !same(&frame, row, column, value) {
                return Err(format!(
                    "{column} is {:?}, not {value}",
                    cell(&frame, row, column)
                ));
            }
            if unmeasured && let Some(tokens) = number(&frame, row, "volume") {
                let usd = expected
                    .get("volume_usd")
                    .and_then(Value::as_f64)
                    .unwrap_or(f64::NAN);
                let (low, high) = (
                    number(&frame, row, "low").unwrap_or_default(),
                    number(&frame, row, "high").unwrap_or_default(),
                );
                if !(usd / high * 0.999..=usd / low * 1.001).contains(&tokens) {
                    return Err(format!("volume is {tokens}, and {usd} USD were traded"));
                }
            }
        }
        for (column, starts, length) in [
            ("bytecode", "bytecode_starts", "bytecode_chars"),
            (
                "creation_bytecode",
                "creation_bytecode_starts",
                "creation_bytecode_chars",
            ),
        ] {
            let Some(starts) = expected.get(starts).and_then(Value::as_str) else {
                continue;
            };
            let code = cell(&frame, row, column).unwrap_or_default();
            if !code.starts_with(starts) || expected[length].as_u64() != Some(code.len() as u64) {
                return Err(format!(
                    "{column} is {} characters from {:?}",
                    code.len(),
                    code.get(..42)
                ));
            }
        }
    }
    Ok(())
}

fn cell(frame: &DataFrame, row: usize, column: &str) -> Option<String> {
    match frame.column(column).ok()?.get(row).ok()? {
        AnyValue::Null => None,
        AnyValue::String(text) => Some(text.to_lowercase()),
        AnyValue::StringOwned(text) => Some(text.to_lowercase()),
        AnyValue::List(list) => list.str().ok()?.get(0).map(str::to_lowercase),
        AnyValue::Datetime(ms, ..) | AnyValue::DatetimeOwned(ms, ..) => Some(ms.to_string()),
        other => Some(other.to_string()),
    }
}

fn number(frame: &DataFrame, row: usize, column: &str) -> Option<f64> {
    frame.column(column).ok()?.f64().ok()?.get(row)
}

fn same(frame: &DataFrame, row: usize, column: &str, value: &Value) -> bool {
    let Some(found) = cell(frame, row, column) else {
        return value.is_null() || value.as_str() == Some("");
    };
    match value {
        Value::Number(expected) => {
            let (expected, found) = (
                expected.as_f64().unwrap(),
                number(frame, row, column)
                    .or_else(|| found.parse().ok())
                    .unwrap_or(f64::NAN),
            );
            (found - expected).abs() <= 1e-6 * expected.abs().max(1e-300)
        }
        Value::String(text) if column == "timestamp" => {
            let time = chrono::DateTime::parse_from_rfc3339(text)
                .unwrap()
                .timestamp_millis();
            found == time.to_string()
        }
        Value::String(text) => found == text.to_lowercase(),
        _ => false,
    }
}
