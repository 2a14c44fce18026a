//! Writer of one demo table: rows, typed by the schema, go through `frames::export` to a temporary file, renamed once complete. Knows
//! nothing of their contents.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use polars::prelude::{
    AnyValue, Column, DataFrame, DataType, NamedFrom, Series, TimeUnit, TimeZone,
};

use super::{
    DemoFile, DemoProgress,
    error::{DemoError, FileAction},
};
use frames::export::writers::{CHUNK_ROWS, ExportFormat, RowChunk, TableSink};
use model::{
    address::Address,
    schema::{self, Kind},
    time::{Day, Time},
};

/// A cell of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum DemoCell<'a> {
    Null,
    Text(&'a str),
    Address(Address),
    /// Multiple texts: a list in NDJSON, joined by `;` in other formats.
    Texts(&'a [&'a str]),
    Int(i64),
    Float(f64),
    Bool(bool),
    Time(Time),
    Date(Day),
}

macro_rules! cells {
    ($($cell:ident from $type:ty;)*) => {$(
        impl<'a> From<$type> for DemoCell<'a> {
            fn from(value: $type) -> Self {
                Self::$cell(value)
            }
        }
    )*};
}

cells! {
    Text from &'a str;
    Text from &'a String;
    Address from Address;
    Texts from &'a [&'a str];
    Texts from &'a Vec<&'a str>;
    Int from i64;
    Float from f64;
    Bool from bool;
    Time from Time;
    Date from Day;
}

impl<'a, T: Into<DemoCell<'a>>> From<Option<T>> for DemoCell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Appends a row to the table, its cells in column order.
macro_rules! row {
    ($table:expr, $($cell:expr),* $(,)?) => {
        $table.row(&[$($crate::output::DemoCell::from($cell)),*])
    };
}
pub(super) use row;

/// A table being written.
pub(super) struct DemoTable<'a> {
    name: &'static str,
    target: PathBuf,
    temporary: PathBuf,
    sink: Option<Box<dyn TableSink>>,
    columns: Vec<ColumnBuffer>,
    rows: u64,
    total: u64,
    progress: &'a mut DemoProgress<'a>,
}

/// Buffered cells of one column.
struct ColumnBuffer {
    name: &'static str,
    dtype: DataType,
    cells: Vec<AnyValue<'static>>,
}

impl<'a> DemoTable<'a> {
    /// `total`: expected number of rows, for progress only.
    pub(super) fn create(
        folder: &Path,
        name: &'static str,
        columns: &'static str,
        form: ExportFormat,
        total: u64,
        progress: &'a mut DemoProgress<'a>,
    ) -> Result<Self, DemoError> {
        let file_name = format!("{name}.{}", form.ending());
        let (target, temporary) = (
            folder.join(&file_name),
            folder.join(format!(".{file_name}.part")),
        );
        let table = schema::table(name).ok_or(DemoError::NoTable(name))?;
        let buffer = |name: &'static str| {
            let kind = table.column(name).map_or(Kind::Text, |column| column.kind);
            ColumnBuffer {
                name,
                dtype: dtype(kind, form),
                cells: Vec::new(),
            }
        };
        let columns: Vec<ColumnBuffer> = columns.split(' ').map(buffer).collect();
        let file = File::create(&temporary).map_err(|error| failed(&temporary, &error))?;
        let names: Vec<String> = columns
            .iter()
            .map(|column| column.name.to_owned())
            .collect();
        let sink = form
            .over_dataset(file, &names)
            .map_err(|error| failed(&temporary, &error))?;
        Ok(Self {
            name,
            target,
            temporary,
            sink: Some(sink),
            columns,
            rows: 0,
            total,
            progress,
        })
    }

    pub(super) fn row(&mut self, cells: &[DemoCell]) -> Result<(), DemoError> {
        if self.rows.is_multiple_of(CHUNK_ROWS as u64) {
            self.write()?;
        }
        self.rows += 1;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let value = cell.value(&column.dtype);
            column.cells.push(value);
        }
        Ok(())
    }

    /// Writes the buffered rows, and reports progress.
    fn write(&mut self) -> Result<(), DemoError> {
        let height = self.columns.first().map_or(0, |column| column.cells.len());
        let columns = self.columns.iter_mut().map(|column| {
            let cells = std::mem::take(&mut column.cells);
            Series::from_any_values_and_dtype(column.name.into(), &cells, &column.dtype, true)
                .map(Column::from)
        });
        let frame = columns
            .collect::<Result<Vec<_>, _>>()
            .and_then(|columns| DataFrame::new(height, columns));
        let frame = frame.map_err(|error| failed(&self.temporary, &error))?;
        if let Some(sink) = &mut self.sink {
            sink.rows(&RowChunk::Frame(frame))
                .map_err(|error| failed(&self.temporary, &error))?;
        }
        if (self.progress)(self.name, self.rows, self.total.max(self.rows)) {
            Ok(())
        } else {
            Err(DemoError::Canceled)
        }
    }

    /// Flushes the rows and renames the temporary file.
    pub(super) fn finish(mut self) -> Result<DemoFile, DemoError> {
        self.total = self.rows;
        self.write()?;
        if let Some(sink) = self.sink.take() {
            sink.finish()
                .map_err(|error| failed(&self.temporary, &error))?;
        }
        let bytes = fs::metadata(&self.temporary)
            .map_err(|error| failed(&self.temporary, &error))?
            .len();
        fs::rename(&self.temporary, &self.target).map_err(|error| failed(&self.target, &error))?;
        let file = self
            .target
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(DemoFile {
            file,
            rows: self.rows,
            bytes,
        })
    }
}

impl Drop for DemoTable<'_> {
    /// Removes an unfinished temporary file; after the rename there is none.
    fn drop(&mut self) {
        self.sink = None;
        let _ = fs::remove_file(&self.temporary);
    }
}

fn dtype(kind: Kind, form: ExportFormat) -> DataType {
    match kind {
        Kind::Integer => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Time => DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC)),
        Kind::Date => DataType::Date,
        Kind::Chains | Kind::Addresses if form == ExportFormat::Ndjson => {
            DataType::List(Box::new(DataType::String))
        }
        _ => DataType::String,
    }
}

impl DemoCell<'_> {
    fn value(&self, dtype: &DataType) -> AnyValue<'static> {
        match *self {
            Self::Null => AnyValue::Null,
            Self::Text(text) => AnyValue::StringOwned(text.into()),
            Self::Address(address) => AnyValue::StringOwned(address.to_string().into()),
            Self::Texts(texts) if dtype.is_list() => AnyValue::List(Series::new("".into(), texts)),
            Self::Texts(texts) => AnyValue::StringOwned(texts.join(";").into()),
            Self::Int(number) => AnyValue::Int64(number),
            Self::Float(number) => AnyValue::Float64(number),
            Self::Bool(truth) => AnyValue::Boolean(truth),
            Self::Time(time) => AnyValue::DatetimeOwned(
                time.0,
                TimeUnit::Milliseconds,
                Some(std::sync::Arc::new(TimeZone::UTC)),
            ),
            Self::Date(day) => AnyValue::Date(day.0),
        }
    }
}

/// Writes a text file atomically, through a temporary file.
pub(super) fn write_text(folder: &Path, name: &str, text: &str) -> Result<DemoFile, DemoError> {
    let (target, temporary) = (folder.join(name), folder.join(format!(".{name}.part")));
    fs::write(&temporary, text).map_err(|error| failed(&temporary, &error))?;
    fs::rename(&temporary, &target).map_err(|error| failed(&target, &error))?;
    Ok(DemoFile {
        file: name.to_owned(),
        rows: 0,
        bytes: text.len() as u64,
    })
}

pub(super) fn failed(path: &Path, error: &dyn std::fmt::Display) -> DemoError {
    FileAction::Write.failed(path, error)
}
