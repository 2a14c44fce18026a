//! A page of a token's rows, in table order.

use polars::prelude::{DataFrame, Float64Chunked, IntoColumn as _};

use super::{CHECKSUM, Repeated, first, floats, texts, transfers::UNKNOWN, whole};
use crate::{coerce, order};
use model::schema::{Kind, TableSchema};

/// SQL: an interval as `Interval` prints it.
const WORD: &str = "multiIf(ms % 604800000 = 0, concat(toString(intDiv(ms, 604800000)), 'w'), ms % 86400000 = 0, \
                    concat(toString(intDiv(ms, 86400000)), 'd'), ms % 3600000 = 0, concat(toString(intDiv(ms, 3600000)), 'h'), \
                    ms % 60000 = 0, concat(toString(intDiv(ms, 60000)), 'm'), concat(toString(intDiv(ms, 1000)), 's'))";

/// SQL over rows of one token in `base`: `count` of them, with `from` before and `rows_after` after them. A page nearer to the end is
/// sorted from there. `listed` and `mark` are number and checksum of all rows, so that pages of two versions are not mixed.
pub(super) fn sql(base: &str, table: &str, [from, count, rows_after]: [u64; 3]) -> String {
    let (rows, order, reversed) = if table == "transfers" {
        let known = |name: &str, column: &str| format!("nullIf({name}, {UNKNOWN}) AS {column}");
        let all = format!(
            "SELECT token AS token_address, {}, {}, if(startsWith(h, '0x'), h, concat('0x', h)) AS transaction_hash, nullIf(fa, '') AS from_address, \
             nullIf(oa, '') AS to_address, nullIf(va, '') AS value, {}, {}, t, k, g, count() OVER () AS listed, {CHECKSUM} OVER () AS mark FROM {base}",
            known("t", "timestamp"),
            known("k", "block_number"),
            known("g", "log_index"),
            known("st", "status")
        );
        (all, "t, k, g, transaction_hash", "t DESC, k DESC, g DESC, transaction_hash DESC")
    } else if table == "holders" {
        let all = format!(
            "SELECT token AS token_address, holder AS holder_address, b AS balance, count() OVER () AS listed, {CHECKSUM} OVER () AS mark FROM {base}"
        );
        (all, "isNull(balance), balance DESC, holder_address", "isNull(balance) DESC, balance, holder_address DESC")
    } else {
        let all = format!(
            "SELECT token AS token_address, {WORD} AS interval, ts AS timestamp, o AS open, h AS high, l AS low, c AS close, v AS volume, u AS volume_usd, nullIf(s, '') AS source, \
             count() OVER () AS listed, {CHECKSUM} OVER () AS mark, count() OVER () - uniqExact(ms, ts) OVER () AS again FROM {base} WHERE ms > 0"
        );
        (all, "interval, timestamp", "interval DESC, timestamp DESC")
    };
    if rows_after < from {
        return format!("SELECT * FROM (SELECT * FROM ({rows}) ORDER BY {reversed} LIMIT {count} OFFSET {rows_after}) ORDER BY {order}");
    }
    format!("SELECT * FROM ({rows}) ORDER BY {order} LIMIT {count} OFFSET {from}")
}

/// Decodes the rows of a result to canonical columns; duplicates are refused, as it is unknown which of the two is right.
pub(in super::super) fn read(frames: &[DataFrame], schema: &'static TableSchema) -> Option<Result<DataFrame, Repeated>> {
    let all = order::whole(frames.iter().cloned()).ok()??;
    if all.column("again").is_ok() && first(&all, "again")? > 0 {
        return Some(Err(Repeated));
    }
    let columns = schema.columns.iter().filter_map(|column| {
        match column.name {
            // Most tables lack these.
            "volume_usd" | "source" if all.column(column.name).is_err() => Some(coerce::empty(column, all.height())),
            _ if matches!(column.kind, Kind::Time | Kind::Integer) => {
                whole(&all, column.name)?.into_column().cast(&coerce::canonical(column.kind)).ok()
            }
            // NaN is an unknown figure: null.
            _ if column.kind == Kind::Float => {
                let figures = floats(&all, column.name)?;
                let known = figures.iter().map(|value| value.filter(|value| value.is_finite()));
                Some(known.collect::<Float64Chunked>().with_name(column.name.into()).into_column())
            }
            _ => Some(texts(&all, column.name)?.into_column()),
        }
    });
    let columns: Vec<_> = columns.collect();
    DataFrame::new(all.height(), columns).ok().map(Ok)
}
