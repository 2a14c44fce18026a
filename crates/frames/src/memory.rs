//! Small tables: their rows in memory, in the form that large tables have in the cache.

use std::path::PathBuf;

use polars::prelude::{
    BinaryChunked, Column, DataFrame, DataType, IntoColumn, NewChunkedArray, PolarsResult,
};

use super::{
    cache::CacheOptions,
    columns::{Columns, as_bytes},
};
use crate::text_runs::{pairs, runs_of};
use model::{address::Address, interval::Interval, names, schema::TableSchema};
use table::{
    StorageType, bounds,
    index::{self, Index, RunStarts, TableMetadata},
    map::Image,
    rows::TableRows,
    stored_columns,
};

/// The schema of a table of which every column is its own.
pub(super) static FREE: TableSchema = TableSchema::PLAIN;

/// The rows of a frame in canonical columns, sorted and each key once; columns outside the schema are the table's own.
pub(super) fn build(schema: &'static TableSchema, frame: &DataFrame) -> PolarsResult<TableRows> {
    let is_there = |column: &&model::schema::Column| frame.column(column.name).is_ok();
    let mut stored = stored_columns(schema);
    stored.retain(|(column, _)| is_there(column));
    let own = frame.columns().iter().filter_map(|column| {
        let is_own = schema.column(column.name()).is_none();
        let own = is_own.then(|| names::column(column.name(), kind_of(column)))??;
        Some((own, StorageType::of(own.kind)))
    });
    stored.extend(own);
    let (mut cells, rows) = (Vec::with_capacity(stored.len()), frame.height());
    for (column, storage) in &stored {
        cells.push(encoded(*storage, frame.column(column.name)?)?);
    }
    let lengths = stored.iter().zip(&cells);
    let lengths = lengths.filter(|((_, storage), _)| storage.width().is_none());
    let lengths: PolarsResult<Vec<u64>> = lengths.map(|(_, cells)| byte_length(cells)).collect();
    let mut columns = Columns::in_memory(&stored, rows as u64, &lengths?);
    let mut whole = DataFrame::new(rows, cells)?;
    whole.rechunk_mut();
    columns.push(&whole)?;
    let (regions, bytes) = columns.held()?;
    let block = CacheOptions::default().block_rows;
    let stats = bounds::bounds_of(&bytes, &stored, &regions, rows as u64, block)?;
    let (starts, tokens) = run_starts(schema, frame);
    let metadata = TableMetadata {
        table: schema.name.to_owned(),
        rows: rows as u64,
        regions,
        block,
        bytes: bytes.len() as u64,
        ..TableMetadata::default()
    };
    let index = index::encode(&metadata, &starts, &stats, &tokens)
        .and_then(|index| Index::of(Image::from(index.as_slice())))
        .map_err(|error| polars::prelude::polars_err!(ComputeError: "{error}"))?;
    Ok(TableRows::held(
        schema,
        stored,
        index,
        Image::from(bytes.as_slice()),
        PathBuf::new(),
    ))
}

/// Kind of a column outside the schema, by its data type.
pub fn kind_of(column: &Column) -> model::schema::Kind {
    use model::schema::Kind;
    match column.dtype() {
        DataType::Float64 | DataType::Float32 => Kind::Float,
        DataType::Boolean => Kind::Boolean,
        DataType::Date => Kind::Date,
        DataType::Datetime(..) => Kind::Time,
        dtype if dtype.is_integer() => Kind::Integer,
        _ => Kind::Text,
    }
}

/// The cells as they are stored.
fn encoded(storage: StorageType, cells: &Column) -> PolarsResult<Column> {
    match storage {
        StorageType::Address | StorageType::Hex => as_bytes(storage, cells),
        StorageType::List => {
            let lists = cells.list()?;
            let lists: Vec<Option<Vec<u8>>> = (0..cells.len())
                .map(|row| {
                    let members = lists.get_as_series(row)?;
                    let mut bytes = Vec::new();
                    for member in members.str().ok()?.iter() {
                        bytes.extend_from_slice(member.unwrap_or_default().as_bytes());
                        bytes.push(0);
                    }
                    Some(bytes)
                })
                .collect();
            let name = cells.name().clone();
            Ok(BinaryChunked::from_iter_options(name, lists.into_iter()).into_column())
        }
        StorageType::Float => cells.cast(&DataType::Float64),
        StorageType::Text => cells.cast(&DataType::String),
        StorageType::Time => cells.cast(&crate::canonical::canonical(model::schema::Kind::Time)),
        StorageType::Integer | StorageType::Day | StorageType::Flag => Ok(cells.clone()),
    }
}

fn byte_length(cells: &Column) -> PolarsResult<u64> {
    Ok(match cells.dtype() {
        DataType::String => cells.str()?.iter().flatten().map(str::len).sum::<usize>(),
        _ => cells.binary()?.iter().flatten().map(<[u8]>::len).sum(),
    } as u64)
}

/// First row of each token, and interval of candles.
fn run_starts(schema: &TableSchema, frame: &DataFrame) -> (RunStarts, Vec<Address>) {
    let (mut starts, mut tokens) = (RunStarts::default(), Vec::<Address>::new());
    let owners = frame.column(table::group_column(schema));
    let Some(owners) = owners.ok().and_then(|owners| owners.str().ok()) else {
        return (starts, tokens);
    };
    let intervals = frame.column("interval").ok();
    let intervals = intervals.filter(|_| table::in_index(schema, "interval"));
    let runs: Vec<_> = match intervals.and_then(|intervals| intervals.str().ok()) {
        Some(intervals) => pairs(owners, intervals).collect(),
        None => runs_of(owners)
            .map(|(rows, token)| (rows, token, None))
            .collect(),
    };
    for (rows, token, interval) in runs {
        let token = token.and_then(Address::parse).unwrap_or_default();
        if tokens.last() != Some(&token) {
            tokens.push(token);
        }
        let interval = interval
            .and_then(Interval::parse)
            .map_or(0, |interval| interval.0);
        starts.row(tokens.len() as u32 - 1, interval, rows.start as u64);
    }
    (starts, tokens)
}
