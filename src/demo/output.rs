//! Writes the rows of one table to one file, as CSV, NDJSON or Parquet, in bounded memory: to a temporary name first, renamed
//! when it is whole. Knows columns by the schema and nothing of what is in them.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use polars::{
    io::parquet::write::BatchedWriter,
    prelude::{
        BooleanChunkedBuilder, ChunkedBuilder as _, Column, DataFrame, DataType, Float64Type, Int32Type, Int64Type, IntoColumn as _,
        ParquetCompression, ParquetWriter, PrimitiveChunkedBuilder, StringChunkedBuilder, TimeUnit, TimeZone,
    },
};
use serde_json::{Map, Value, json};

use super::{Progress, Written};
use crate::dataset::{
    schema::{self, Kind},
    time::{DAY_MS, Day, HOUR_MS, MINUTE_MS, Time},
};

/// Rows between two reports of progress.
const REPORT_ROWS: u64 = 8_192;
/// Rows of a Parquet row group: what is held in memory.
const GROUP_ROWS: usize = 131_072;

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Csv,
    Ndjson,
    Parquet,
}

impl Encoding {
    pub(super) const ALL: [Self; 3] = [Self::Csv, Self::Ndjson, Self::Parquet];

    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        }
    }
}

/// One value of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Text(&'a str),
    /// Several texts: a JSON array, else joined by `;`.
    Texts(&'a [&'a str]),
    Int(i64),
    Float(f64),
    Bool(bool),
    Time(Time),
    Date(Day),
}

impl From<Option<f64>> for Cell<'_> {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Null, Self::Float)
    }
}

/// A table being written.
pub(super) struct Table<'a> {
    name: &'static str,
    target: PathBuf,
    temporary: PathBuf,
    file: Option<Box<dyn RowFile>>,
    rows: u64,
    total: u64,
    progress: &'a mut Progress<'a>,
}

/// A format that takes rows.
trait RowFile {
    fn row(&mut self, cells: &[Cell]) -> Result<(), String>;
    fn finish(self: Box<Self>) -> Result<(), String>;
}

impl<'a> Table<'a> {
    /// `total`: rows expected, for the progress alone.
    pub(super) fn create(
        folder: &Path,
        name: &'static str,
        columns: &'static [&'static str],
        encoding: Encoding,
        total: u64,
        progress: &'a mut Progress<'a>,
    ) -> Result<Self, String> {
        let file_name = format!("{name}.{}", encoding.extension());
        let (target, temporary) = (folder.join(&file_name), folder.join(format!(".{file_name}.part")));
        let opened = File::create(&temporary).map_err(|error| failed(&temporary, &error))?;
        let buffered = BufWriter::with_capacity(1 << 18, opened);
        let file: Box<dyn RowFile> = match encoding {
            Encoding::Csv => Box::new(CsvFile::new(buffered, columns)?),
            Encoding::Ndjson => Box::new(NdjsonFile { file: buffered, columns }),
            Encoding::Parquet => Box::new(ParquetFile::new(buffered, name, columns)?),
        };
        Ok(Self { name, target, temporary, file: Some(file), rows: 0, total, progress })
    }

    pub(super) fn row(&mut self, cells: &[Cell]) -> Result<(), String> {
        if self.rows.is_multiple_of(REPORT_ROWS) {
            self.report()?;
        }
        self.rows += 1;
        match &mut self.file {
            Some(file) => file.row(cells).map_err(|error| failed(&self.temporary, &error)),
            None => Ok(()),
        }
    }

    fn report(&mut self) -> Result<(), String> {
        if (self.progress)(self.name, self.rows, self.total.max(self.rows)) {
            Ok(())
        } else {
            Err("writing the demo data was cancelled".to_owned())
        }
    }

    /// Gives the file its name.
    pub(super) fn finish(mut self) -> Result<Written, String> {
        self.total = self.rows;
        self.report()?;
        if let Some(file) = self.file.take() {
            file.finish().map_err(|error| failed(&self.temporary, &error))?;
        }
        let bytes = fs::metadata(&self.temporary).map_err(|error| failed(&self.temporary, &error))?.len();
        fs::rename(&self.temporary, &self.target).map_err(|error| failed(&self.target, &error))?;
        let file = self.target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Written { file, rows: self.rows, bytes })
    }
}

impl Drop for Table<'_> {
    /// What was not finished leaves nothing behind; after a rename there is nothing to remove.
    fn drop(&mut self) {
        self.file = None;
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Writes `text` whole, by the same way.
pub(super) fn write_text(folder: &Path, name: &str, text: &str) -> Result<Written, String> {
    let (target, temporary) = (folder.join(name), folder.join(format!(".{name}.part")));
    fs::write(&temporary, text).map_err(|error| failed(&temporary, &error))?;
    fs::rename(&temporary, &target).map_err(|error| failed(&target, &error))?;
    Ok(Written { file: name.to_owned(), rows: 0, bytes: text.len() as u64 })
}

pub(super) fn failed(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("could not write `{}`: {error}", path.display())
}

struct CsvFile {
    file: csv::Writer<BufWriter<File>>,
    text: String,
    /// The day written last and its text: most rows have the day of the row before.
    day: (Day, String),
}

impl CsvFile {
    fn new(file: BufWriter<File>, columns: &[&str]) -> Result<Self, String> {
        let mut file = csv::Writer::from_writer(file);
        file.write_record(columns).map_err(|error| error.to_string())?;
        Ok(Self { file, text: String::new(), day: (Day(0), Day(0).to_string()) })
    }

    fn time(&mut self, time: Time) {
        if self.day.0 != time.day() {
            self.day = (time.day(), time.day().to_string());
        }
        let inside = time.0.rem_euclid(DAY_MS);
        let (hour, minute, second) = (inside / HOUR_MS, inside % HOUR_MS / MINUTE_MS, inside % MINUTE_MS / 1000);
        let _ = write!(self.text, "{}T{hour:02}:{minute:02}:{second:02}Z", self.day.1);
    }
}

impl RowFile for CsvFile {
    fn row(&mut self, cells: &[Cell]) -> Result<(), String> {
        for cell in cells {
            self.text.clear();
            // Writing into a String cannot fail.
            let _ = match cell {
                Cell::Null => Ok(()),
                Cell::Text(text) => self.text.write_str(text),
                Cell::Texts(texts) => self.text.write_str(&texts.join(";")),
                Cell::Int(number) => write!(self.text, "{number}"),
                Cell::Float(number) => write!(self.text, "{number}"),
                Cell::Bool(truth) => write!(self.text, "{truth}"),
                Cell::Date(day) => write!(self.text, "{day}"),
                Cell::Time(time) => {
                    self.time(*time);
                    Ok(())
                }
            };
            self.file.write_field(&self.text).map_err(|error| error.to_string())?;
        }
        self.file.write_record(None::<&[u8]>).map_err(|error| error.to_string())
    }

    fn finish(mut self: Box<Self>) -> Result<(), String> {
        self.file.flush().map_err(|error| error.to_string())
    }
}

struct NdjsonFile {
    file: BufWriter<File>,
    columns: &'static [&'static str],
}

impl RowFile for NdjsonFile {
    fn row(&mut self, cells: &[Cell]) -> Result<(), String> {
        let value = |cell: &Cell| match cell {
            Cell::Null => Value::Null,
            Cell::Text(text) => json!(text),
            Cell::Texts(texts) => json!(texts),
            Cell::Int(number) => json!(number),
            Cell::Float(number) => json!(number),
            Cell::Bool(truth) => json!(truth),
            Cell::Date(day) => json!(day.to_string()),
            Cell::Time(time) => json!(time.to_string()),
        };
        let object: Map<String, Value> = self.columns.iter().zip(cells).map(|(name, cell)| ((*name).to_owned(), value(cell))).collect();
        writeln!(self.file, "{}", Value::Object(object)).map_err(|error| error.to_string())
    }

    fn finish(mut self: Box<Self>) -> Result<(), String> {
        self.file.flush().map_err(|error| error.to_string())
    }
}

enum Builder {
    Text(StringChunkedBuilder),
    Int(PrimitiveChunkedBuilder<Int64Type>),
    Float(PrimitiveChunkedBuilder<Float64Type>),
    Bool(BooleanChunkedBuilder),
    Time(PrimitiveChunkedBuilder<Int64Type>),
    Date(PrimitiveChunkedBuilder<Int32Type>),
}

impl Builder {
    fn new(name: &str, kind: Kind, rows: usize) -> Self {
        match kind {
            Kind::Integer => Self::Int(PrimitiveChunkedBuilder::new(name.into(), rows)),
            Kind::Float => Self::Float(PrimitiveChunkedBuilder::new(name.into(), rows)),
            Kind::Boolean => Self::Bool(BooleanChunkedBuilder::new(name.into(), rows)),
            Kind::Time => Self::Time(PrimitiveChunkedBuilder::new(name.into(), rows)),
            Kind::Date => Self::Date(PrimitiveChunkedBuilder::new(name.into(), rows)),
            _ => Self::Text(StringChunkedBuilder::new(name.into(), rows)),
        }
    }

    fn push(&mut self, cell: &Cell) {
        match (self, cell) {
            (Self::Text(column), Cell::Text(text)) => column.append_value(text),
            (Self::Text(column), Cell::Texts(texts)) => column.append_value(texts.join(";")),
            (Self::Int(column), Cell::Int(number)) => column.append_value(*number),
            (Self::Float(column), Cell::Float(number)) => column.append_value(*number),
            (Self::Bool(column), Cell::Bool(truth)) => column.append_value(*truth),
            (Self::Time(column), Cell::Time(time)) => column.append_value(time.0),
            (Self::Date(column), Cell::Date(day)) => column.append_value(day.0),
            (Self::Text(column), _) => column.append_null(),
            (Self::Int(column) | Self::Time(column), _) => column.append_null(),
            (Self::Float(column), _) => column.append_null(),
            (Self::Bool(column), _) => column.append_null(),
            (Self::Date(column), _) => column.append_null(),
        }
    }

    fn finish(self) -> Result<Column, String> {
        let cast = |column: Column, kind: &DataType| column.cast(kind).map_err(|error| error.to_string());
        Ok(match self {
            Self::Text(column) => column.finish().into_column(),
            Self::Int(column) => column.finish().into_column(),
            Self::Float(column) => column.finish().into_column(),
            Self::Bool(column) => column.finish().into_column(),
            Self::Time(column) => cast(column.finish().into_column(), &DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC)))?,
            Self::Date(column) => cast(column.finish().into_column(), &DataType::Date)?,
        })
    }
}

struct ParquetFile {
    writer: BatchedWriter<BufWriter<File>>,
    kinds: Vec<(&'static str, Kind)>,
    builders: Vec<Builder>,
    rows: usize,
}

impl ParquetFile {
    fn new(file: BufWriter<File>, table: &str, columns: &'static [&'static str]) -> Result<Self, String> {
        let table = schema::table(table).ok_or_else(|| format!("no table `{table}` in the schema"))?;
        let kinds: Vec<_> = columns.iter().map(|name| (*name, table.column(name).map_or(Kind::Text, |column| column.kind))).collect();
        let builders = |rows| kinds.iter().map(|(name, kind)| Builder::new(name, *kind, rows)).collect::<Vec<_>>();
        let empty = frame(builders(0), 0)?;
        let writer = ParquetWriter::new(file)
            .with_compression(ParquetCompression::Zstd(None))
            .batched(empty.schema())
            .map_err(|error| error.to_string())?;
        let builders = builders(0);
        Ok(Self { writer, kinds, builders, rows: 0 })
    }

    fn write_group(&mut self) -> Result<(), String> {
        let next = self.kinds.iter().map(|(name, kind)| Builder::new(name, *kind, self.rows)).collect();
        let frame = frame(std::mem::replace(&mut self.builders, next), self.rows)?;
        self.rows = 0;
        self.writer.write_batch(&frame).map_err(|error| error.to_string())
    }
}

fn frame(builders: Vec<Builder>, rows: usize) -> Result<DataFrame, String> {
    let columns: Vec<Column> = builders.into_iter().map(Builder::finish).collect::<Result<_, _>>()?;
    DataFrame::new(rows, columns).map_err(|error| error.to_string())
}

impl RowFile for ParquetFile {
    fn row(&mut self, cells: &[Cell]) -> Result<(), String> {
        for (builder, cell) in self.builders.iter_mut().zip(cells) {
            builder.push(cell);
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), String> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.finish().map(|_| ()).map_err(|error| error.to_string())
    }
}
