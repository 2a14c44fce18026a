//! Writing a table that someone wants to keep: CSV, JSON or Parquet by the file's ending, whole or not at all, and never over a file
//! that is there.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Series};
use serde_json::{Map, Value};

/// Writes the rows (one JSON value a cell) under `columns` into `path`, which must not exist. The error says what to do.
pub fn write(path: &Path, columns: &[String], rows: &[Vec<Value>]) -> Result<(), String> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    let say = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let write = match ending.as_str() {
        "csv" => write_csv,
        "json" => write_json,
        "parquet" => write_parquet,
        _ => return Err(say(&"expected a file ending in .csv, .json or .parquet")),
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        return Err(format!("the folder `{}` does not exist", folder.display()));
    }
    // Seen early, so that nothing large is written in vain; what decides is `place`.
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    let (part, file) = part_beside(path).map_err(|error| say(&error))?;
    let written = write(&file, columns, rows).and_then(|()| file.sync_all().map_err(|error| error.to_string()));
    let kept = written.map_err(|error| say(&error)).and_then(|()| place(&part, path));
    fs::remove_file(&part).ok();
    kept
}

fn exists(path: &Path) -> String {
    format!("`{}` exists already: choose another name", path.display())
}

/// A new file beside `path`, under a name that no other export has.
fn part_beside(path: &Path) -> std::io::Result<(PathBuf, File)> {
    static PARTS: AtomicU32 = AtomicU32::new(0);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{}.part", std::process::id(), PARTS.fetch_add(1, Ordering::Relaxed)));
    let part = path.with_file_name(name);
    let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
    Ok((part, file))
}

/// Gives the finished `part` its name, unless that is taken.
fn place(part: &Path, path: &Path) -> Result<(), String> {
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => format!("`{}`: {error}", path.display()),
    };
    match fs::hard_link(part, path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(fail(error)),
        Err(_) => {}
    }
    // Some file systems have no links: there the name is claimed by an empty file of ours, which the part then replaces.
    OpenOptions::new().write(true).create_new(true).open(path).map_err(fail)?;
    fs::rename(part, path).map_err(|error| {
        fs::remove_file(path).ok();
        fail(error)
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

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (path, part) = (folder.path().join("t.csv"), folder.path().join("part"));
        std::fs::write(&path, "mine").unwrap();
        std::fs::write(&part, "theirs").unwrap();
        let expected = format!("`{}` exists already: choose another name", path.display());
        assert_eq!(write(&path, &["symbol".to_owned()], &[vec![json!("A")]]), Err(expected.clone()));
        assert_eq!(place(&part, &path), Err(expected), "even if it came while the table was written");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        let away = folder.path().join("away");
        let error = write(&away.join("t.csv"), &[], &[]).unwrap_err();
        assert_eq!(error, format!("the folder `{}` does not exist", away.display()));
    }
}
