//! Exports a table to a file: CSV, JSON, NDJSON or Parquet by file extension, in chunks, so that the row count is unlimited. The write is
//! atomic, and an existing file is replaced only on request. `writers` encodes the rows.

pub mod writers;

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Write},
    ops::Range,
    path::Path,
};

use polars::prelude::DataFrame;
use serde_json::Value;
use tempfile::NamedTempFile;

use self::writers::{ExportFormat, RowChunk, typed};
use crate::error::FrameError;

/// Chunks between syncs to disk, so that the final sync does not have to write everything.
const CHUNKS_SYNCED: u64 = 128;
/// Bytes of the file's write buffer.
const BUFFER: usize = 1 << 18;

/// The rows to export.
pub enum ExportRows {
    /// In memory: one JSON value per cell.
    Values(Vec<Vec<Value>>),
    /// Read while they are written.
    Batches(Box<dyn RowBatches>),
}

/// A table read in batches: typed columns, in output order.
pub trait RowBatches: Send {
    fn count(&self) -> usize;
    /// Reads a range of rows. Errors: why they cannot be read.
    fn frame(&self, rows: Range<usize>) -> Result<DataFrame, FrameError>;
}

/// Why no file was written.
#[derive(Debug)]
pub enum ExportError {
    /// The user canceled the export.
    Stopped,
    Failed(FrameError),
}

impl From<FrameError> for ExportError {
    fn from(error: FrameError) -> Self {
        Self::Failed(error)
    }
}

/// Progress callback with the rows written so far; false cancels.
pub type ExportStep<'a> = &'a mut dyn FnMut(u64) -> bool;

impl ExportRows {
    pub fn count(&self) -> usize {
        match self {
            Self::Values(rows) => rows.len(),
            Self::Batches(batches) => batches.count(),
        }
    }

    /// Every cell as a JSON value.
    pub fn values(&self, columns: usize) -> Result<Vec<Vec<Value>>, FrameError> {
        let all = self.chunk(0..self.count())?;
        let cells = all.cells(columns);
        let cell = |row: usize, cells: &writers::Cells<'_>| {
            let mut text = Vec::new();
            cells.json(row, &mut text);
            Ok(serde_json::from_slice(&text)?)
        };
        (0..self.count())
            .map(|row| cells.iter().map(|cells| cell(row, cells)).collect())
            .collect()
    }

    fn chunk(&self, rows: Range<usize>) -> Result<RowChunk<'_>, FrameError> {
        match self {
            Self::Values(all) => Ok(RowChunk::Values(&all[rows])),
            Self::Batches(batches) => batches.frame(rows).map(RowChunk::Frame),
        }
    }
}

impl RowBatches for DataFrame {
    fn count(&self) -> usize {
        self.height()
    }

    fn frame(&self, rows: Range<usize>) -> Result<DataFrame, FrameError> {
        Ok(self.slice(rows.start as i64, rows.len()))
    }
}

/// Checks whether the file can be written, without writing rows; `write` checks again.
pub fn check(path: &Path, replace: bool) -> Result<(), ExportError> {
    format_of(path, replace)?;
    check_text(path, replace)
}

/// Like `check`, for a text file with any extension.
pub fn check_text(path: &Path, replace: bool) -> Result<(), ExportError> {
    if is_taken(path) && !(replace && path.is_file()) {
        return Err(exists(path));
    }
    temporary_beside(path)
        .map(drop)
        .map_err(|error| at(path, error))
}

/// Writes a text, such as a report, atomically. Returns its length in bytes.
pub fn write_text(path: &Path, text: &str, replace: bool) -> Result<u64, ExportError> {
    check_text(path, replace)?;
    let refused = |error: io::Error| at(path, error);
    let mut part = temporary_beside(path).map_err(refused)?;
    part.write_all(text.as_bytes()).map_err(refused)?;
    publish(part, path, replace)?;
    Ok(text.len() as u64)
}

/// Whether a file or folder exists at the path.
pub fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The export format of a file name, by its extension.
fn format_of(path: &Path, replace: bool) -> Result<ExportFormat, ExportError> {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
        .to_lowercase();
    let Some(format) = ExportFormat::FILES
        .into_iter()
        .find(|format| format.ending() == ending)
    else {
        return Err(at(path, FrameError::UnknownEnding));
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
    {
        return Err(failed(FrameError::NoFolder(folder.to_owned())));
    }
    // Checked early to fail before writing anything large; `publish` decides in the end.
    if is_taken(path) && !(replace && path.is_file()) {
        return Err(exists(path));
    }
    Ok(format)
}

/// Writes the rows under `columns` to `path`; an existing file is replaced only if `replace` is set. Returns the row count.
pub fn write(
    path: &Path,
    columns: &[String],
    rows: &ExportRows,
    replace: bool,
    step: ExportStep<'_>,
) -> Result<u64, ExportError> {
    let format = format_of(path, replace)?;
    let part = temporary_beside(path).map_err(|error| at(path, error))?;
    let written = fill_file(part.as_file(), format, columns, rows, step)
        .and_then(|()| part.as_file().sync_all().map_err(failed));
    written.map_err(|error| match error {
        ExportError::Failed(reason) => at(path, reason),
        ExportError::Stopped => ExportError::Stopped,
    })?;
    let count = rows.count() as u64;
    // Last cancellation check, as syncing may have taken a while.
    if step(count) {
        publish(part, path, replace).map(|()| count)
    } else {
        Err(ExportError::Stopped)
    }
}

/// Writes the rows to a new, empty file.
fn fill_file(
    file: &File,
    format: ExportFormat,
    columns: &[String],
    rows: &ExportRows,
    step: ExportStep<'_>,
) -> Result<(), ExportError> {
    let out = BufWriter::with_capacity(BUFFER, file.try_clone().map_err(failed)?);
    let (mut chunks, mut full) = (0, None);
    let mut synced = |done: u64| {
        chunks += 1;
        if chunks % CHUNKS_SYNCED == 0 {
            full = file.sync_data().err();
        }
        full.is_none() && step(done)
    };
    let written = write_to(out, format, columns, rows, &mut synced);
    full.map_or(written, |error| Err(failed(error)))
}

/// Writes all rows to `out`, in chunks.
pub fn write_to<W: Write + Send + 'static>(
    out: W,
    format: ExportFormat,
    columns: &[String],
    rows: &ExportRows,
    step: ExportStep<'_>,
) -> Result<(), ExportError> {
    // Column types of JSON values are inferred from all rows.
    let whole;
    let rows = match rows {
        ExportRows::Values(values) if format.is_typed() => {
            whole = ExportRows::Batches(Box::new(typed(columns, values).map_err(failed)?));
            &whole
        }
        rows => rows,
    };
    let mut sink = format.over(out, columns)?;
    // A table without rows still has column types.
    sink.rows(&rows.chunk(0..0)?)?;
    for start in (0..rows.count()).step_by(format.chunk_rows()) {
        if !step(start as u64) {
            return Err(ExportError::Stopped);
        }
        sink.rows(&rows.chunk(start..(start + format.chunk_rows()).min(rows.count()))?)?;
    }
    Ok(sink.finish()?)
}

/// Whether a spreadsheet would run the text as a formula, with or without apostrophes before it. In CSV it gets an apostrophe, which our
/// import takes away again.
pub fn begins_formula(text: &str) -> bool {
    let text = text.trim_start_matches('\'');
    text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

/// Each row as a JSON object.
pub fn objects(frame: &DataFrame) -> impl Iterator<Item = String> {
    let names: Vec<String> = frame
        .get_column_names()
        .iter()
        .map(|name| writers::member(name))
        .collect();
    let cells = writers::cells_of(frame);
    (0..frame.height()).map(move |row| {
        let mut text = Vec::new();
        writers::object(&names, &cells, row, &mut text);
        String::from_utf8(text).unwrap_or_default()
    })
}

fn failed(error: impl Into<FrameError>) -> ExportError {
    ExportError::Failed(error.into())
}

/// A failure that is told with the file's name.
fn at(path: &Path, error: impl Into<FrameError>) -> ExportError {
    failed(FrameError::At {
        path: path.to_owned(),
        reason: Box::new(error.into()),
    })
}

fn exists(path: &Path) -> ExportError {
    failed(FrameError::Taken(path.to_owned()))
}

/// Writes the whole file atomically: if the disk is full, the old content stays.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = temporary_beside(path)?;
    io::Write::write_all(&mut part, bytes)?;
    part.persist(path).map(drop).map_err(|error| error.error)
}

/// A temporary file in the same folder, deleted unless it is renamed.
fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut part = tempfile::Builder::new();
    part.prefix(".tokendeck-").suffix(".part");
    #[cfg(unix)]
    part.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    part.tempfile_in(folder)
}

/// Renames the finished `part` to `path`, unless that exists and must not be replaced.
fn publish(part: NamedTempFile, path: &Path, replace: bool) -> Result<(), ExportError> {
    let placed = if replace {
        part.persist(path)
    } else {
        part.persist_noclobber(path)
    };
    placed.map(drop).map_err(|error| match error.error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => at(path, error.error),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use serde_json::json;

    use polars::prelude::{Column, NamedFrom, Series};

    use super::{
        writers::{CHUNK_ROWS, GROUP},
        *,
    };

    const GO_ON: fn(u64) -> bool = |_| true;

    /// The words of a failure.
    fn told<T: std::fmt::Debug>(outcome: Result<T, ExportError>) -> String {
        match outcome.expect_err("a failure") {
            ExportError::Stopped => "stopped".to_owned(),
            ExportError::Failed(reason) => reason.to_string(),
        }
    }

    fn go(path: &Path, columns: &[&str], rows: &ExportRows) -> Result<u64, ExportError> {
        let columns: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
        write(path, &columns, rows, false, &mut { GO_ON })
    }

    #[test]
    fn a_text_that_a_spreadsheet_would_run_gets_an_apostrophe_and_numbers_are_written_one_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.csv");
        let cells = [
            json!("=1+1"),
            json!("@uni"),
            json!("+x"),
            json!("-"),
            json!("\t=1"),
            json!("-5"),
            json!("a=b"),
            json!("'=1"),
            json!(-1e-7),
            json!(5.0),
        ];
        let rows = ExportRows::Values(cells.into_iter().map(|cell| vec![cell]).collect());
        go(&path, &["x"], &rows).expect("written");
        assert_eq!(
            fs::read_to_string(path).expect("the file"),
            "x\n'=1+1\n'@uni\n'+x\n'-\n'\t=1\n-5\na=b\n''=1\n-0.0000001\n5\n"
        );
    }

    fn values() -> ExportRows {
        ExportRows::Values(vec![
            vec![json!("A,B"), json!(1.5), json!(["eth"])],
            vec![Value::Null, Value::Null, json!([])],
        ])
    }

    /// Numbers and texts, across chunk and row-group boundaries.
    struct Numbers(usize);

    impl RowBatches for Numbers {
        fn count(&self) -> usize {
            self.0
        }

        fn frame(&self, rows: Range<usize>) -> Result<DataFrame, FrameError> {
            let texts: Vec<Option<String>> = rows
                .clone()
                .map(|row| (row % 3 > 0).then(|| format!("row \"{row}\"")))
                .collect();
            let halves: Vec<f64> = rows.clone().map(|row| row as f64 / 3.0).collect();
            let columns = [
                Series::new("text".into(), texts),
                Series::new("number".into(), halves),
            ];
            Ok(DataFrame::new(
                rows.len(),
                columns.into_iter().map(Column::from).collect(),
            )?)
        }
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_table_is_written_as_its_file_ends_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        for (name, holds) in [
            (
                "t.csv",
                "symbol,price,chains\n\"A,B\",1.5,\"[\"\"eth\"\"]\"\n,,[]\n",
            ),
            (
                "t.json",
                "[\n{\"symbol\":\"A,B\",\"price\":1.5,\"chains\":[\"eth\"]},\n{\"symbol\":null,",
            ),
            (
                "t.ndjson",
                "{\"symbol\":\"A,B\",\"price\":1.5,\"chains\":[\"eth\"]}\n{",
            ),
            ("t.parquet", "PAR1"),
        ] {
            let path = folder.path().join(name);
            let count = go(&path, &["symbol", "price", "chains"], &values());
            assert_eq!(count.expect("written"), 2);
            let bytes = fs::read(&path).unwrap();
            assert!(
                String::from_utf8_lossy(&bytes).starts_with(holds),
                "{name}: {}",
                String::from_utf8_lossy(&bytes)
            );
        }
        let list: Vec<serde_json::Value> =
            serde_json::from_slice(&fs::read(folder.path().join("t.json")).unwrap()).unwrap();
        assert_eq!((list.len(), &list[1]["chains"]), (2, &json!([])));
        let error = told(go(&folder.path().join("t.xlsx"), &[], &values()));
        assert_eq!(
            error,
            format!(
                "`{}`: expected a file ending in .csv, .json, .ndjson, .parquet",
                folder.path().join("t.xlsx").display()
            )
        );
        assert_eq!(names(folder.path()), 4);
    }

    #[test]
    fn many_rows_are_written_in_chunks_and_come_back_the_same() {
        use polars::prelude::{IpcStreamReader, ParquetReader, SerReader};
        let folder = tempfile::tempdir().unwrap();
        let rows = ExportRows::Batches(Box::new(Numbers(GROUP + CHUNK_ROWS + 5)));
        let whole = Numbers(0).frame(0..rows.count()).unwrap();
        let path = |ending: &str| folder.path().join(format!("t.{ending}"));
        for ending in ExportFormat::FILES.map(ExportFormat::ending) {
            let count = go(&path(ending), &["text", "number"], &rows);
            assert_eq!(count.expect(ending), rows.count() as u64);
        }
        let parquet = ParquetReader::new(File::open(path("parquet")).unwrap())
            .finish()
            .unwrap();
        assert!(parquet.equals_missing(&whole));
        let stream = File::create(path("arrow")).unwrap();
        write_to(stream, ExportFormat::Arrow, &[], &rows, &mut { GO_ON }).expect("written");
        let arrow = IpcStreamReader::new(File::open(path("arrow")).unwrap())
            .finish()
            .unwrap();
        assert!(arrow.equals_missing(&whole));
        let text = fs::read_to_string(path("csv")).unwrap();
        let expected = |row: usize| {
            let text = if row.is_multiple_of(3) {
                String::new()
            } else {
                format!("\"row \"\"{row}\"\"\"")
            };
            format!("{text},{}", row as f64 / 3.0)
        };
        assert!(
            text.lines()
                .skip(1)
                .enumerate()
                .all(|(row, line)| line == expected(row))
        );
        assert_eq!(text.lines().count(), rows.count() + 1);
        // Compared as text, since parsing a number back may change its last bit.
        let lines = fs::read_to_string(path("ndjson")).unwrap();
        let expected = |row: usize| {
            let text = if row.is_multiple_of(3) {
                Value::Null
            } else {
                json!(format!("row \"{row}\""))
            };
            format!("{{\"text\":{text},\"number\":{}}}", json!(row as f64 / 3.0))
        };
        assert!(
            lines
                .lines()
                .enumerate()
                .all(|(row, line)| line == expected(row))
        );
        assert_eq!(lines.lines().count(), rows.count());
        let list = fs::read_to_string(path("json")).unwrap();
        assert_eq!(
            list,
            format!("[\n{}\n]\n", lines.trim_end().replace('\n', ",\n"))
        );
    }

    #[test]
    fn an_export_that_is_stopped_or_fails_leaves_nothing() {
        struct Broken;
        impl RowBatches for Broken {
            fn count(&self) -> usize {
                2 * CHUNK_ROWS
            }

            fn frame(&self, rows: Range<usize>) -> Result<DataFrame, FrameError> {
                if rows.start < CHUNK_ROWS {
                    Numbers(0).frame(rows)
                } else {
                    Err(FrameError::DamagedTable)
                }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let columns = ["text".to_owned(), "number".to_owned()];
        for format in ExportFormat::FILES {
            let ending = format.ending();
            let path = folder.path().join(format!("t.{ending}"));
            // At the start, midway, and after the last row but before the rename.
            for stop_at in [0, CHUNK_ROWS as u64, 2 * CHUNK_ROWS as u64] {
                let rows = ExportRows::Batches(Box::new(Numbers(2 * CHUNK_ROWS)));
                let outcome = write(&path, &columns, &rows, false, &mut |done| done < stop_at);
                assert!(
                    matches!(outcome, Err(ExportError::Stopped)),
                    "{ending} {stop_at}"
                );
            }
            let damaged = write(
                &path,
                &columns,
                &ExportRows::Batches(Box::new(Broken)),
                false,
                &mut |_| true,
            );
            assert_eq!(
                told(damaged),
                format!("`{}`: {}", path.display(), FrameError::DamagedTable)
            );
            if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
                let rows = ExportRows::Batches(Box::new(Numbers(CHUNK_ROWS)));
                let outcome = told(fill_file(&full, format, &columns, &rows, &mut |_| true));
                assert!(outcome.contains("No space left"), "{ending}: {outcome}");
            }
        }
        assert_eq!(names(folder.path()), 0);
    }

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, "mine").unwrap();
        let expected = format!("`{}` already exists; choose another name", path.display());
        assert_eq!(told(go(&path, &["symbol"], &values())), expected);
        assert_eq!(
            told(publish(temporary_beside(&path).unwrap(), &path, false)),
            expected,
            "even if it came while the table was written"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(names(folder.path()), 1);
        let away = folder.path().join("away");
        let error = told(go(&away.join("t.csv"), &[], &values()));
        assert_eq!(
            error,
            format!("the folder `{}` does not exist", away.display())
        );
        // A file as the parent folder fails, as a folder without write permission does.
        let error = told(go(&path.join("t.csv"), &[], &values()));
        assert!(error.contains("Not a directory"), "{error}");
    }

    /// pandas reads no list of views, so the schema that a file carries names none.
    #[test]
    fn a_parquet_file_carries_plain_texts_and_lists() {
        use polars::prelude::{ParquetReader, SerReader as _};
        use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
        use polars_parquet::write::schema_to_metadata_key;

        let columns: [Column; 2] = [
            Series::new("symbol".into(), ["UNI"]).into(),
            Series::new("chain".into(), [Series::new("".into(), ["eth", "base"])]).into(),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.parquet");
        let rows = ExportRows::Batches(Box::new(
            DataFrame::new(1, columns.to_vec()).expect("a frame"),
        ));
        go(&path, &["symbol", "chain"], &rows).expect("a written file");
        let text = ArrowDataType::LargeUtf8;
        let list =
            ArrowDataType::LargeList(Box::new(Field::new("item".into(), text.clone(), true)));
        let plain: ArrowSchema = [("symbol", text), ("chain", list)]
            .into_iter()
            .map(|(name, kind)| (name.into(), Field::new(name.into(), kind, true)))
            .collect();
        let mut reader = ParquetReader::new(fs::File::open(&path).expect("the file"));
        let metadata = reader.get_metadata().expect("its metadata");
        let carried = metadata
            .key_value_metadata()
            .iter()
            .flatten()
            .find(|pair| pair.key == "ARROW:schema")
            .and_then(|pair| pair.value.clone());
        assert_eq!(carried, schema_to_metadata_key(&plain).value);
    }
}
