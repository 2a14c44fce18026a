//! Writing a table that someone wants to keep: CSV, JSON or Parquet by the file's ending, whole or not at all.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Series};
use serde_json::{Map, Value};

/// Writes the rows (one JSON value a cell) under `columns` into `path`. The error says what to do.
pub fn write(path: &Path, columns: &[String], rows: &[Vec<Value>]) -> Result<(), String> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    let part = path.with_extension(format!("{ending}.part"));
    let say = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let file = File::create(&part).map_err(|error| say(&error))?;
    let written = match ending.as_str() {
        "csv" => write_csv(&file, columns, rows),
        "json" => write_json(&file, columns, rows),
        "parquet" => write_parquet(&file, columns, rows),
        _ => Err("expected a file ending in .csv, .json or .parquet".to_owned()),
    };
    let kept = written.and_then(|()| file.sync_all().and_then(|()| std::fs::rename(&part, path)).map_err(|error| error.to_string()));
    kept.map_err(|error| {
        std::fs::remove_file(&part).ok();
        say(&error)
    })
}

fn write_csv(file: &File, columns: &[String], rows: &[Vec<Value>]) -> Result<(), String> {
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    let mut lines = || -> csv::Result<()> {
        writer.write_record(columns)?;
        for row in rows {
            writer.write_record(row.iter().map(cell))?;
        }
        Ok(writer.flush()?)
    };
    lines().map_err(|error| error.to_string())
}

/// A cell as text: null is empty, lists and objects are JSON.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn write_json(file: &File, columns: &[String], rows: &[Vec<Value>]) -> Result<(), String> {
    let mut writer = BufWriter::new(file);
    let objects: Vec<Map<String, Value>> = rows.iter().map(|row| columns.iter().cloned().zip(row.iter().cloned()).collect()).collect();
    serde_json::to_writer_pretty(&mut writer, &objects).map_err(|error| error.to_string())?;
    writer.write_all(b"\n").and_then(|()| writer.flush()).map_err(|error| error.to_string())
}

fn write_parquet(file: &File, columns: &[String], rows: &[Vec<Value>]) -> Result<(), String> {
    let series = columns.iter().enumerate().map(|(i, name)| {
        let cells = || rows.iter().map(|row| row.get(i).unwrap_or(&Value::Null));
        let numbers = cells().all(|value| value.is_number() || value.is_null()) && cells().any(Value::is_number);
        let whole = numbers && cells().all(|value| value.is_i64() || value.is_null());
        Column::from(if whole {
            Series::new(name.into(), cells().map(Value::as_i64).collect::<Vec<_>>())
        } else if numbers {
            Series::new(name.into(), cells().map(Value::as_f64).collect::<Vec<_>>())
        } else {
            Series::new(name.into(), cells().map(|value| (!value.is_null()).then(|| cell(value))).collect::<Vec<_>>())
        })
    });
    let mut frame = DataFrame::new(rows.len(), series.collect()).map_err(|error| error.to_string())?;
    ParquetWriter::new(BufWriter::new(file)).finish(&mut frame).map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_written_as_its_file_ends_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let columns = ["symbol".to_owned(), "price".to_owned(), "chains".to_owned()];
        let rows = [vec![json!("A,B"), json!(1.5), json!(["eth"])], vec![Value::Null, Value::Null, json!([])]];
        for (name, holds) in [("t.csv", "\"A,B\",1.5"), ("t.json", "\"price\": 1.5"), ("t.parquet", "PAR1")] {
            let path = folder.path().join(name);
            write(&path, &columns, &rows).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            assert!(String::from_utf8_lossy(&bytes).contains(holds), "{name}");
        }
        let error = write(&folder.path().join("t.xlsx"), &columns, &rows).unwrap_err();
        assert!(error.contains("expected a file ending in .csv"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
