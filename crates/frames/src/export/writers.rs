//! Table writers for CSV, JSON, NDJSON, Parquet and Arrow IPC streams. They write rows in chunks, with bounded memory, to any destination.

use std::io::Write;

use polars::{
    io::parquet::write::{BatchedWriter, KeyValueMetadata},
    prelude::{
        AnyValue, ArrowSchema, BooleanChunked, Column, CompatLevel, DataFrame, DataType,
        Float64Chunked, Int64Chunked, NamedFrom, ParquetWriter, PolarsResult, Series,
        StringChunked, TimeUnit,
    },
};
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};
use polars_parquet::write::schema_to_metadata_key;
use serde::Serialize;
use serde_json::Value;

use crate::{error::FrameError, raw_cell::milliseconds};
use model::time::{Day, Time};

/// Rows of a chunk.
pub const CHUNK_ROWS: usize = 8_192;
/// Rows per Parquet row group, which is held in memory.
pub(super) const GROUP: usize = 16 * CHUNK_ROWS;
/// Rows of a record batch of an Arrow stream.
const BATCH: usize = 4 * CHUNK_ROWS;

/// An export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Csv,
    /// A list with one object per line.
    Json,
    /// One object per line.
    Ndjson,
    Parquet,
    /// The Arrow IPC stream format.
    Arrow,
}

/// A chunk of rows with the columns that the sink was created with.
#[derive(Debug)]
pub enum RowChunk<'a> {
    /// One JSON value per cell.
    Values(&'a [Vec<Value>]),
    Frame(DataFrame),
}

/// An open table writer.
pub trait TableSink {
    /// Appends rows; an empty chunk still sets the column types.
    fn rows(&mut self, chunk: &RowChunk<'_>) -> Result<(), FrameError>;
    /// Finishes the table and flushes it.
    fn finish(self: Box<Self>) -> Result<(), FrameError>;
}

impl ExportFormat {
    /// The formats of files.
    pub const FILES: [Self; 4] = [Self::Csv, Self::Json, Self::Ndjson, Self::Parquet];

    /// The file extension, without the dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// Preferred rows per chunk.
    pub(super) fn chunk_rows(self) -> usize {
        if self == Self::Arrow {
            BATCH
        } else {
            CHUNK_ROWS
        }
    }

    /// Whether each column must have a single type.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }

    /// Starts a table in an empty output; no spreadsheet runs its texts as formulas. Buffer slow outputs: writes are small.
    pub fn over<W: Write + Send + 'static>(
        self,
        out: W,
        columns: &[String],
    ) -> Result<Box<dyn TableSink>, FrameError> {
        self.start(out, columns, true)
    }

    /// As `over`, for the files of a dataset, which are read as they are.
    pub fn over_dataset<W: Write + Send + 'static>(
        self,
        out: W,
        columns: &[String],
    ) -> Result<Box<dyn TableSink>, FrameError> {
        self.start(out, columns, false)
    }

    fn start<W: Write + Send + 'static>(
        self,
        out: W,
        columns: &[String],
        marks_formulas: bool,
    ) -> Result<Box<dyn TableSink>, FrameError> {
        Ok(match self {
            Self::Csv => Box::new(CsvFile::new(out, columns, marks_formulas)?),
            Self::Json => Box::new(Objects::new(out, columns, ["[\n", ",\n", "\n]\n"])?),
            Self::Ndjson => Box::new(Objects::new(out, columns, ["", "\n", "\n"])?),
            Self::Parquet => Box::new(ParquetFile {
                out: Some(out),
                begun: None,
            }),
            Self::Arrow => Box::new(ArrowStream {
                out: StreamWriter::new(out, WriteOptions { compression: None }),
                begun: false,
            }),
        })
    }
}

impl RowChunk<'_> {
    fn height(&self) -> usize {
        match self {
            Self::Values(rows) => rows.len(),
            Self::Frame(frame) => frame.height(),
        }
    }

    fn typed(&self) -> Result<&DataFrame, FrameError> {
        match self {
            Self::Frame(frame) => Ok(frame),
            Self::Values(_) => Err(FrameError::Untyped),
        }
    }

    pub(super) fn cells(&self, columns: usize) -> Vec<Cells<'_>> {
        match self {
            Self::Values(rows) => (0..columns)
                .map(|column| Cells::Values(rows, column))
                .collect(),
            Self::Frame(frame) => cells_of(frame),
        }
    }
}

struct CsvFile<W: Write> {
    writer: csv::Writer<W>,
    columns: usize,
    text: Vec<u8>,
    marks_formulas: bool,
}

impl<W: Write> CsvFile<W> {
    fn new(out: W, columns: &[String], marks_formulas: bool) -> csv::Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(columns)?;
        Ok(Self {
            writer,
            columns: columns.len(),
            text: Vec::new(),
            marks_formulas,
        })
    }
}

impl<W: Write> TableSink for CsvFile<W> {
    fn rows(&mut self, chunk: &RowChunk<'_>) -> Result<(), FrameError> {
        let cells = chunk.cells(self.columns);
        for row in 0..chunk.height() {
            for column in &cells {
                self.text.clear();
                column.text(row, &mut self.text);
                if self.marks_formulas
                    && std::str::from_utf8(&self.text).is_ok_and(super::begins_formula)
                {
                    self.text.insert(0, b'\'');
                }
                self.writer.write_field(&self.text)?;
            }
            self.writer.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), FrameError> {
        Ok(self.writer.flush()?)
    }
}

struct Objects<W> {
    writer: W,
    /// The column names as JSON keys: `"name":`.
    names: Vec<String>,
    between: &'static str,
    close: &'static str,
    text: Vec<u8>,
    any: bool,
    /// Whether the opening bracket is written even without rows.
    opened: bool,
}

impl<W: Write> Objects<W> {
    fn new(
        mut writer: W,
        columns: &[String],
        [open, between, close]: [&'static str; 3],
    ) -> std::io::Result<Self> {
        writer.write_all(open.as_bytes())?;
        let names = columns.iter().map(|name| member(name)).collect();
        Ok(Self {
            writer,
            names,
            between,
            close,
            text: Vec::new(),
            any: false,
            opened: !open.is_empty(),
        })
    }
}

impl<W: Write> TableSink for Objects<W> {
    fn rows(&mut self, chunk: &RowChunk<'_>) -> Result<(), FrameError> {
        let cells = chunk.cells(self.names.len());
        for row in 0..chunk.height() {
            self.text.clear();
            self.text
                .extend_from_slice(if self.any { self.between } else { "" }.as_bytes());
            self.any = true;
            object(&self.names, &cells, row, &mut self.text);
            self.writer.write_all(&self.text)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), FrameError> {
        if self.any || self.opened {
            self.writer.write_all(self.close.as_bytes())?;
        }
        Ok(self.writer.flush()?)
    }
}

/// A JSON member name, quoted, with its colon.
pub(super) fn member(name: &str) -> String {
    format!("{}:", Value::from(name))
}

/// Appends the row as a JSON object.
pub(super) fn object(names: &[String], cells: &[Cells<'_>], row: usize, text: &mut Vec<u8>) {
    text.push(b'{');
    for (nth, (column, name)) in cells.iter().zip(names).enumerate() {
        if nth > 0 {
            text.push(b',');
        }
        text.extend_from_slice(name.as_bytes());
        column.json(row, text);
    }
    text.push(b'}');
}

struct ParquetFile<W: Write> {
    /// Present until the first chunk sets the types.
    out: Option<W>,
    /// The writer, and the rows of the unfinished row group.
    begun: Option<(BatchedWriter<W>, DataFrame)>,
}

impl<W: Write> TableSink for ParquetFile<W> {
    fn rows(&mut self, chunk: &RowChunk<'_>) -> Result<(), FrameError> {
        let frame = chunk.typed()?;
        if let Some(out) = self.out.take() {
            // A Parquet file carries the schema for its readers.
            let schema = schema_to_metadata_key(&arrow_schema(frame));
            let metadata =
                KeyValueMetadata::from_static(vec![(schema.key, schema.value.unwrap_or_default())]);
            let writer = ParquetWriter::new(out).with_key_value_metadata(Some(metadata));
            self.begun = Some((writer.batched(frame.schema())?, frame.clear()));
        }
        let Some((writer, group)) = &mut self.begun else {
            return Err(FrameError::NotStarted);
        };
        let mut at = 0;
        while at < frame.height() {
            let part = frame.slice(at as i64, GROUP - group.height());
            group.vstack_mut(&part)?;
            at += part.height();
            if group.height() == GROUP {
                write_group(writer, group)?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), FrameError> {
        let Some((mut writer, mut group)) = self.begun else {
            return Ok(());
        };
        if group.height() > 0 {
            write_group(&mut writer, &mut group)?;
        }
        writer.finish()?;
        Ok(())
    }
}

/// Strings with 64-bit offsets, which every Arrow reader supports.
const LEVEL: fn() -> CompatLevel = CompatLevel::oldest;

/// The Arrow schema of what is written. polars would name the views it keeps in memory, and pandas reads no list of views.
fn arrow_schema(frame: &DataFrame) -> ArrowSchema {
    frame
        .columns()
        .iter()
        .map(|column| column.field().to_arrow(LEVEL()))
        .map(|field| (field.name.clone(), field))
        .collect()
}

struct ArrowStream<W: Write> {
    out: StreamWriter<W>,
    begun: bool,
}

impl<W: Write> TableSink for ArrowStream<W> {
    fn rows(&mut self, chunk: &RowChunk<'_>) -> Result<(), FrameError> {
        let frame = chunk.typed()?;
        if !std::mem::replace(&mut self.begun, true) {
            self.out.start(&arrow_schema(frame), None)?;
        }
        if frame.height() == 0 {
            return Ok(());
        }
        let mut whole = frame.clone();
        whole.rechunk_mut();
        for batch in whole.iter_chunks(LEVEL(), false) {
            self.out.write(&batch, None)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), FrameError> {
        self.out.finish()?;
        Ok(self.out.into_inner().flush()?)
    }
}

fn write_group<W: Write>(
    writer: &mut BatchedWriter<W>,
    group: &mut DataFrame,
) -> Result<(), FrameError> {
    group.rechunk_mut();
    writer.write_batch(group)?;
    *group = group.clear();
    Ok(())
}

/// JSON rows as a frame: a column is numeric if all of its cells are numbers, else text.
pub(super) fn typed(columns: &[String], rows: &[Vec<Value>]) -> PolarsResult<DataFrame> {
    let series = columns.iter().enumerate().map(|(i, name)| {
        let cells = || rows.iter().map(|row| row.get(i).unwrap_or(&Value::Null));
        let numbers = cells().all(|value| value.is_number() || value.is_null())
            && cells().any(Value::is_number);
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
            Series::new(
                name.into(),
                cells()
                    .enumerate()
                    .map(|(row, value)| text(row, value))
                    .collect::<Vec<_>>(),
            )
        })
    });
    DataFrame::new(rows.len(), series.collect())
}

// Formats the cells of an exported table as text or JSON, straight from typed columns and without loss of digits.

/// One column of a batch.
pub(super) enum Cells<'a> {
    /// Column at an index of rows held as JSON.
    Values(&'a [Vec<Value>], usize),
    Text(&'a StringChunked),
    Float(&'a Float64Chunked),
    Flag(&'a BooleanChunked),
    Integer(Int64Chunked),
    /// Ticks in the column's time unit.
    Time(Int64Chunked, TimeUnit),
    Day(Int64Chunked),
    /// Lists and any other type.
    Other(&'a Column),
}

/// The columns of a frame.
pub(super) fn cells_of(frame: &DataFrame) -> Vec<Cells<'_>> {
    frame.columns().iter().map(cells_of_column).collect()
}

fn cells_of_column(column: &Column) -> Cells<'_> {
    let integers = || {
        column
            .to_physical_repr()
            .cast(&DataType::Int64)
            .ok()
            .and_then(|column| column.i64().ok().cloned())
    };
    let cells = match column.dtype() {
        DataType::String => column.str().ok().map(Cells::Text),
        DataType::Float64 => column.f64().ok().map(Cells::Float),
        DataType::Boolean => column.bool().ok().map(Cells::Flag),
        DataType::Date => integers().map(Cells::Day),
        DataType::Datetime(unit, _) => integers().map(|ticks| Cells::Time(ticks, *unit)),
        dtype if dtype.is_integer() && *dtype != DataType::UInt64 => integers().map(Cells::Integer),
        _ => None,
    };
    cells.unwrap_or(Cells::Other(column))
}

impl Cells<'_> {
    /// Appends the cell as unquoted text: nothing for null, JSON for lists and objects.
    pub(super) fn text(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Text(cells) => {
                out.extend_from_slice(cells.get(row).unwrap_or_default().as_bytes());
            }
            Self::Time(cells, unit) => append_shown(
                out,
                cells.get(row).map(|ticks| Time(milliseconds(ticks, *unit))),
            ),
            Self::Day(cells) => append_shown(out, cells.get(row).map(|day| Day(day as i32))),
            Self::Values(rows, column) => match rows[row].get(*column) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => out.extend_from_slice(text.as_bytes()),
                Some(Value::Number(number)) if number.is_f64() => {
                    append_shown(out, number.as_f64());
                }
                Some(value) => append_shown(out, Some(value)),
            },
            Self::Other(cells) => match json_of_cell(cells, row) {
                Value::Null => {}
                Value::String(text) => out.extend_from_slice(text.as_bytes()),
                value => append_shown(out, Some(value)),
            },
            // Spreadsheet style: a whole number has no `.0`.
            Self::Float(cells) => {
                append_shown(out, cells.get(row).filter(|number| number.is_finite()));
            }
            Self::Flag(cells) => append_shown(out, cells.get(row)),
            Self::Integer(cells) => append_shown(out, cells.get(row)),
        }
    }

    /// Appends the cell as JSON.
    pub(super) fn json(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Text(cells) => json(out, &cells.get(row)),
            // JSON has no NaN or infinity: these become null.
            Self::Float(cells) => json(out, &cells.get(row).filter(|number| number.is_finite())),
            Self::Flag(cells) => json(out, &cells.get(row)),
            Self::Integer(cells) => json(out, &cells.get(row)),
            Self::Time(cells, unit) => json(
                out,
                &cells.get(row).map(|ticks| Time(milliseconds(ticks, *unit))),
            ),
            Self::Day(cells) => json(out, &cells.get(row).map(|day| Day(day as i32))),
            Self::Values(rows, column) => json(out, rows[row].get(*column).unwrap_or(&Value::Null)),
            Self::Other(cells) => json(out, &json_of_cell(cells, row)),
        }
    }
}

/// Cannot fail: writing to memory does not, and no cell is a map with non-string keys.
fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).ok();
}

fn append_shown(out: &mut Vec<u8>, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        write!(out, "{value}").ok();
    }
}

fn json_of_cell(column: &Column, row: usize) -> Value {
    column
        .get(row)
        .map_or(Value::Null, |value| value_of(&value))
}

fn value_of(value: &AnyValue<'_>) -> Value {
    match value {
        AnyValue::Null => Value::Null,
        AnyValue::Boolean(flag) => Value::from(*flag),
        AnyValue::String(text) => Value::from(*text),
        AnyValue::Float32(number) => Value::from(*number),
        AnyValue::Float64(number) => Value::from(*number),
        AnyValue::UInt64(number) => Value::from(*number),
        AnyValue::List(members) => members.iter().map(|member| value_of(&member)).collect(),
        other => other
            .extract::<i64>()
            .map_or_else(|| Value::from(other.to_string()), Value::from),
    }
}
