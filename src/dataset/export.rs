//! Writing a table that someone wants to keep: CSV, JSON, NDJSON or Parquet by the file's ending, stretch by stretch, so that it may have any
//! number of rows; whole or not at all, and never over a file that is there.

mod cells;

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, ErrorKind, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Series};
use serde_json::Value;

use self::cells::Cells;

/// Rows written between two looks at whether the file is still wanted.
const STRETCH: usize = 8_192;
/// Rows of a row group of a Parquet file.
const GROUP: usize = 8 * STRETCH;
/// Stretches after which what was written is brought to the disk, so that the end does not wait for all of it.
const STRETCHES_SYNCED: u64 = 128;

/// The rows of a table.
pub enum Rows {
    /// At hand: one JSON value a cell.
    Values(Vec<Vec<Value>>),
    /// Made as they are wanted.
    Frames(Box<dyn Frames>),
}

/// Rows that are made a stretch at a time, of typed columns in the order they are written.
pub trait Frames: Send {
    fn count(&self) -> usize;
    /// Some of the rows; the error says why they cannot be had.
    fn frame(&self, rows: Range<usize>) -> Result<DataFrame, String>;
}

/// Why no file was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritten {
    /// It was not wanted any more.
    Stopped,
    /// For the person: what to do.
    Failed(String),
}

/// Hears how many rows are written; false ends it.
pub type Step<'a> = &'a mut dyn FnMut(u64) -> bool;

impl Rows {
    pub fn count(&self) -> usize {
        match self {
            Self::Values(rows) => rows.len(),
            Self::Frames(frames) => frames.count(),
        }
    }

    /// Every cell, as it stands in JSON.
    #[cfg(test)]
    pub(crate) fn values(&self, columns: usize) -> Vec<Vec<Value>> {
        let mut values = Vec::new();
        let all = 0..self.count();
        let made = self.cells(columns, all.clone(), |cells| {
            values.extend(all.map(|row| {
                let cell = |cells: &Cells<'_>| {
                    let mut text = Vec::new();
                    cells.json(row, &mut text);
                    serde_json::from_slice::<Value>(&text).expect("a cell is written as JSON")
                };
                cells.iter().map(cell).collect()
            }));
            Ok(())
        });
        made.expect("rows that can be had");
        values
    }

    /// Hands over the cells of these rows.
    fn cells(&self, columns: usize, rows: Range<usize>, work: impl FnOnce(&[Cells<'_>]) -> std::io::Result<()>) -> Result<(), Unwritten> {
        let done = match self {
            Self::Values(all) => work(&(0..columns).map(|column| Cells::Values(&all[rows.clone()], column)).collect::<Vec<_>>()),
            Self::Frames(frames) => work(&cells::of(&frames.frame(rows).map_err(Unwritten::Failed)?)),
        };
        done.map_err(failed)
    }
}

/// Whether a table can be written there, as far as is seen without writing; what decides is `write`.
pub fn check(path: &Path) -> Result<(), Unwritten> {
    filler(path).map(drop)
}

/// What writes a file of that name.
fn filler(path: &Path) -> Result<Fill, Unwritten> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    let Some((_, fill)) = FORMATS.iter().find(|(format, _)| *format == ending) else {
        let endings: Vec<String> = FORMATS.iter().map(|(format, _)| format!(".{format}")).collect();
        return Err(Unwritten::Failed(format!("`{}`: expected a file ending in {}", path.display(), endings.join(", "))));
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        return Err(Unwritten::Failed(format!("the folder `{}` does not exist", folder.display())));
    }
    // Seen early, so that nothing large is written in vain; what decides is `place`.
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    Ok(*fill)
}

/// Writes the rows under `columns` into `path`, which must not exist. Gives back how many there are.
pub fn write(path: &Path, columns: &[String], rows: &Rows, step: Step<'_>) -> Result<u64, Unwritten> {
    let fill = filler(path)?;
    let named = |reason: &dyn std::fmt::Display| Unwritten::Failed(format!("`{}`: {reason}", path.display()));
    let (part, file) = Part::beside(path).map_err(|error| named(&error))?;
    let written = fill(&file, columns, rows, step).and_then(|()| file.sync_all().map_err(failed));
    written.map_err(|unwritten| match unwritten {
        Unwritten::Failed(reason) => named(&reason),
        Unwritten::Stopped => Unwritten::Stopped,
    })?;
    let count = rows.count() as u64;
    // The last look, as bringing it to the disk may take a while.
    if step(count) { place(&part.0, path).map(|()| count) } else { Err(Unwritten::Stopped) }
}

/// Writes the rows into a file that is new and empty.
type Fill = fn(&File, &[String], &Rows, Step<'_>) -> Result<(), Unwritten>;

/// What a table can be written as: the ending of the file.
const FORMATS: &[(&str, Fill)] = &[("csv", write_csv), ("json", write_json), ("ndjson", write_lines), ("parquet", write_parquet)];

fn failed(error: impl std::fmt::Display) -> Unwritten {
    Unwritten::Failed(error.to_string())
}

fn exists(path: &Path) -> Unwritten {
    Unwritten::Failed(format!("`{}` exists already: choose another name", path.display()))
}

/// A new file beside the one to be, under a name that no other export has; it goes with this.
struct Part(PathBuf);

impl Part {
    fn beside(path: &Path) -> std::io::Result<(Self, File)> {
        static PARTS: AtomicU32 = AtomicU32::new(0);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{}.part", std::process::id(), PARTS.fetch_add(1, Ordering::Relaxed)));
        let part = path.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
        Ok((Self(part), file))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Gives the finished `part` its name, unless that is taken.
fn place(part: &Path, path: &Path) -> Result<(), Unwritten> {
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => failed(format!("`{}`: {error}", path.display())),
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

/// Goes over the rows a stretch at a time.
fn stretches(
    file: &File,
    count: usize,
    step: Step<'_>,
    mut work: impl FnMut(Range<usize>) -> Result<(), Unwritten>,
) -> Result<(), Unwritten> {
    for (nth, start) in (0..count).step_by(STRETCH).enumerate() {
        if !step(start as u64) {
            return Err(Unwritten::Stopped);
        }
        work(start..(start + STRETCH).min(count))?;
        if (nth as u64 + 1).is_multiple_of(STRETCHES_SYNCED) {
            file.sync_data().map_err(failed)?;
        }
    }
    Ok(())
}

fn write_csv(file: &File, columns: &[String], rows: &Rows, step: Step<'_>) -> Result<(), Unwritten> {
    let mut writer = csv::Writer::from_writer(BufWriter::with_capacity(1 << 18, file));
    writer.write_record(columns).map_err(failed)?;
    let mut text = Vec::new();
    stretches(file, rows.count(), step, |stretch| {
        rows.cells(columns.len(), stretch.clone(), |cells| {
            for row in 0..stretch.len() {
                for column in cells {
                    text.clear();
                    column.text(row, &mut text);
                    writer.write_field(&text)?;
                }
                writer.write_record(None::<&[u8]>)?;
            }
            Ok(())
        })
    })?;
    writer.flush().map_err(failed)
}

/// One object a line, in a list.
fn write_json(file: &File, columns: &[String], rows: &Rows, step: Step<'_>) -> Result<(), Unwritten> {
    write_objects(file, columns, rows, step, ["[\n", ",\n", "\n]\n"])
}

/// One object a line.
fn write_lines(file: &File, columns: &[String], rows: &Rows, step: Step<'_>) -> Result<(), Unwritten> {
    write_objects(file, columns, rows, step, ["", "\n", "\n"])
}

fn write_objects(file: &File, columns: &[String], rows: &Rows, step: Step<'_>, around: [&str; 3]) -> Result<(), Unwritten> {
    let [open, between, close] = around;
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    let names: Vec<String> = columns.iter().map(|name| format!("{}: ", Value::from(name.as_str()))).collect();
    writer.write_all(open.as_bytes()).map_err(failed)?;
    let mut text = Vec::new();
    stretches(file, rows.count(), step, |stretch| {
        rows.cells(columns.len(), stretch.clone(), |cells| {
            for row in 0..stretch.len() {
                text.clear();
                text.extend_from_slice(if stretch.start + row > 0 { between } else { "" }.as_bytes());
                for (nth, (column, name)) in cells.iter().zip(&names).enumerate() {
                    text.extend_from_slice(if nth == 0 { b"{" } else { b", " });
                    text.extend_from_slice(name.as_bytes());
                    column.json(row, &mut text);
                }
                text.push(b'}');
                writer.write_all(&text)?;
            }
            Ok(())
        })
    })?;
    if rows.count() > 0 || !open.is_empty() {
        writer.write_all(close.as_bytes()).map_err(failed)?;
    }
    writer.flush().map_err(failed)
}

fn write_parquet(file: &File, columns: &[String], rows: &Rows, step: Step<'_>) -> Result<(), Unwritten> {
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let frames = match rows {
        Rows::Values(values) => {
            let frame = typed(columns, values).map_err(failed)?;
            let mut writer = ParquetWriter::new(&mut out).batched(frame.schema()).map_err(failed)?;
            writer.write_batch(&frame).map_err(failed)?;
            writer.finish().map_err(failed)?;
            return out.flush().map_err(failed);
        }
        Rows::Frames(frames) => frames,
    };
    let mut group = frames.frame(0..0).map_err(Unwritten::Failed)?;
    let mut writer = ParquetWriter::new(&mut out).batched(group.schema()).map_err(failed)?;
    stretches(file, frames.count(), step, |stretch| {
        let last = stretch.end == frames.count();
        group.vstack_mut(&frames.frame(stretch).map_err(Unwritten::Failed)?).map_err(failed)?;
        if group.height() >= GROUP || last {
            group.rechunk_mut();
            writer.write_batch(&group).map_err(failed)?;
            group = group.clear();
        }
        Ok(())
    })?;
    writer.finish().map_err(failed)?;
    drop(writer);
    out.flush().map_err(failed)
}

/// Rows at hand as a frame: numbers where every cell of a column is one, else text.
fn typed(columns: &[String], rows: &[Vec<Value>]) -> polars::prelude::PolarsResult<DataFrame> {
    let series = columns.iter().enumerate().map(|(i, name)| {
        let cells = || rows.iter().map(|row| row.get(i).unwrap_or(&Value::Null));
        let numbers = cells().all(|value| value.is_number() || value.is_null()) && cells().any(Value::is_number);
        let whole = numbers && cells().all(|value| value.is_i64() || value.is_null());
        let texts = Cells::Values(rows, i);
        let text = |row: usize, value: &Value| {
            let mut text = Vec::new();
            texts.text(row, &mut text);
            (!value.is_null()).then(|| String::from_utf8_lossy(&text).into_owned())
        };
        Column::from(if whole {
            Series::new(name.into(), cells().map(Value::as_i64).collect::<Vec<_>>())
        } else if numbers {
            Series::new(name.into(), cells().map(Value::as_f64).collect::<Vec<_>>())
        } else {
            Series::new(name.into(), cells().enumerate().map(|(row, value)| text(row, value)).collect::<Vec<_>>())
        })
    });
    DataFrame::new(rows.len(), series.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GO_ON: fn(u64) -> bool = |_| true;

    fn go(path: &Path, columns: &[&str], rows: &Rows) -> Result<u64, Unwritten> {
        let columns: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
        write(path, &columns, rows, &mut { GO_ON })
    }

    fn values() -> Rows {
        Rows::Values(vec![vec![json!("A,B"), json!(1.5), json!(["eth"])], vec![Value::Null, Value::Null, json!([])]])
    }

    /// Numbers and texts, over the end of stretches and row groups.
    struct Numbers(usize);

    impl Frames for Numbers {
        fn count(&self) -> usize {
            self.0
        }

        fn frame(&self, rows: Range<usize>) -> Result<DataFrame, String> {
            let texts: Vec<Option<String>> = rows.clone().map(|row| (row % 3 > 0).then(|| format!("row \"{row}\""))).collect();
            let halves: Vec<f64> = rows.clone().map(|row| row as f64 / 3.0).collect();
            let columns = [Series::new("text".into(), texts), Series::new("number".into(), halves)];
            DataFrame::new(rows.len(), columns.into_iter().map(Column::from).collect()).map_err(|error| error.to_string())
        }
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_table_is_written_as_its_file_ends_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        for (name, holds) in [
            ("t.csv", "symbol,price,chains\n\"A,B\",1.5,\"[\"\"eth\"\"]\"\n,,[]\n"),
            ("t.json", "[\n{\"symbol\": \"A,B\", \"price\": 1.5, \"chains\": [\"eth\"]},\n{\"symbol\": null, "),
            ("t.ndjson", "{\"symbol\": \"A,B\", \"price\": 1.5, \"chains\": [\"eth\"]}\n{"),
            ("t.parquet", "PAR1"),
        ] {
            let path = folder.path().join(name);
            assert_eq!(go(&path, &["symbol", "price", "chains"], &values()), Ok(2));
            let bytes = fs::read(&path).unwrap();
            assert!(String::from_utf8_lossy(&bytes).starts_with(holds), "{name}: {}", String::from_utf8_lossy(&bytes));
        }
        let list: Vec<serde_json::Value> = serde_json::from_slice(&fs::read(folder.path().join("t.json")).unwrap()).unwrap();
        assert_eq!((list.len(), &list[1]["chains"]), (2, &json!([])));
        let error = go(&folder.path().join("t.xlsx"), &[], &values()).unwrap_err();
        assert_eq!(
            error,
            Unwritten::Failed(format!(
                "`{}`: expected a file ending in .csv, .json, .ndjson, .parquet",
                folder.path().join("t.xlsx").display()
            ))
        );
        assert_eq!(names(folder.path()), 4);
    }

    #[test]
    fn many_rows_are_written_stretch_by_stretch_and_come_back_the_same() {
        use polars::prelude::{ParquetReader, SerReader};
        let folder = tempfile::tempdir().unwrap();
        let rows = Rows::Frames(Box::new(Numbers(GROUP + STRETCH + 5)));
        let whole = Numbers(0).frame(0..rows.count()).unwrap();
        let path = |ending: &str| folder.path().join(format!("t.{ending}"));
        for (ending, _) in FORMATS {
            assert_eq!(go(&path(ending), &["text", "number"], &rows), Ok(rows.count() as u64), "{ending}");
        }
        let parquet = ParquetReader::new(File::open(path("parquet")).unwrap()).finish().unwrap();
        assert!(parquet.equals_missing(&whole));
        let text = fs::read_to_string(path("csv")).unwrap();
        let expected = |row: usize| {
            let text = if row.is_multiple_of(3) { String::new() } else { format!("\"row \"\"{row}\"\"\"") };
            let number = json!(row as f64 / 3.0);
            format!("{text},{number}")
        };
        assert!(text.lines().skip(1).enumerate().all(|(row, line)| line == expected(row)));
        assert_eq!(text.lines().count(), rows.count() + 1);
        // As text, since reading a number back may move its last bit.
        let lines = fs::read_to_string(path("ndjson")).unwrap();
        let expected = |row: usize| {
            let text = if row.is_multiple_of(3) { Value::Null } else { json!(format!("row \"{row}\"")) };
            format!("{{\"text\": {text}, \"number\": {}}}", json!(row as f64 / 3.0))
        };
        assert!(lines.lines().enumerate().all(|(row, line)| line == expected(row)));
        assert_eq!(lines.lines().count(), rows.count());
        let list = fs::read_to_string(path("json")).unwrap();
        assert_eq!(list, format!("[\n{}\n]\n", lines.trim_end().replace('\n', ",\n")));
    }

    #[test]
    fn an_export_that_is_stopped_or_fails_leaves_nothing() {
        struct Broken;
        impl Frames for Broken {
            fn count(&self) -> usize {
                2 * STRETCH
            }

            fn frame(&self, rows: Range<usize>) -> Result<DataFrame, String> {
                if rows.start < STRETCH { Numbers(0).frame(rows) } else { Err("the table is damaged".to_owned()) }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let columns = ["text".to_owned(), "number".to_owned()];
        for (ending, fill) in FORMATS {
            let path = folder.path().join(format!("t.{ending}"));
            // At once, in the middle, and when all is written but has no name yet.
            for stop_at in [0, STRETCH as u64, 2 * STRETCH as u64] {
                let rows = Rows::Frames(Box::new(Numbers(2 * STRETCH)));
                assert_eq!(write(&path, &columns, &rows, &mut |done| done < stop_at), Err(Unwritten::Stopped), "{ending} {stop_at}");
            }
            let damaged = write(&path, &columns, &Rows::Frames(Box::new(Broken)), &mut |_| true);
            assert_eq!(damaged, Err(Unwritten::Failed(format!("`{}`: the table is damaged", path.display()))));
            if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
                let rows = Rows::Frames(Box::new(Numbers(STRETCH)));
                let outcome = fill(&full, &columns, &rows, &mut |_| true);
                assert!(matches!(&outcome, Err(Unwritten::Failed(reason)) if reason.contains("No space left")), "{ending}: {outcome:?}");
            }
        }
        assert_eq!(names(folder.path()), 0);
    }

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (path, part) = (folder.path().join("t.csv"), folder.path().join("part"));
        fs::write(&path, "mine").unwrap();
        fs::write(&part, "theirs").unwrap();
        let expected = Unwritten::Failed(format!("`{}` exists already: choose another name", path.display()));
        assert_eq!(go(&path, &["symbol"], &values()), Err(expected.clone()));
        assert_eq!(place(&part, &path), Err(expected), "even if it came while the table was written");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(names(folder.path()), 2);
        let away = folder.path().join("away");
        let error = go(&away.join("t.csv"), &[], &values()).unwrap_err();
        assert_eq!(error, Unwritten::Failed(format!("the folder `{}` does not exist", away.display())));
        // What is no folder cannot be written into, as one that is not ours.
        let error = go(&path.join("t.csv"), &[], &values()).unwrap_err();
        assert!(matches!(&error, Unwritten::Failed(reason) if reason.contains("Not a directory")), "{error:?}");
    }
}
