//! The rows of a table at an engine in the schema's columns, as the loader would fill them, in SQL; and reading the results of queries over
//! them. Columns that the loader would convert are refused: the engine reads values as they stand.

use std::sync::{Arc, atomic::Ordering};

use polars::prelude::{
    Column, DataFrame, DataType, Float64Chunked, Int64Chunked, ListChunked, StringChunked,
    UInt64Chunked,
};

use super::{
    Columns, EngineQuery, filter,
    rows::DRAIN_MAX,
    sql::{self, ColumnType, EngineColumn},
};
use crate::{
    formats::{arrow_stream, forward::BufferedStream},
    loader::{bind::Bound, remote::Pulse, task::TableLoadError},
};
use model::{candles::VALID_CANDLE, time::DAY_MS};
use wire::Fault;

/// Column with the number of rows of the result, part of every query.
const ROWS: &str = "rows";
/// The largest number, which stands for an unknown time, block, place in the log or status: unknown ones are last in the table's order.
pub(super) const UNKNOWN: i64 = i64::MAX;

/// The query, with the number of its rows in each. Its order is lost: above a window function blocks of one row or many come in any order.
pub(super) fn counted(sql: &str) -> String {
    format!("SELECT *, count() OVER () AS {ROWS} FROM ({sql})")
}

/// The same in the order of the query, by the place that each row had in it.
pub(super) fn counted_in_order(sql: &str) -> String {
    counted(&format!(
        "SELECT *, rowNumberInAllBlocks() AS place FROM ({sql})"
    )) + " ORDER BY place"
}

impl EngineQuery<'_> {
    /// Runs a query with at most `rows_max` rows, whose number is in a column of its own.
    pub(super) fn frames(
        &self,
        sql: &str,
        rows_max: u64,
        pulse: &Pulse,
    ) -> Result<Vec<DataFrame>, TableLoadError> {
        let watch = Arc::clone(&pulse.watch);
        let stopped = move || watch.stopped.load(Ordering::Acquire);
        let stream = self
            .engine
            .sum(sql, Arc::new(stopped))
            .map_err(|fault| self.fault(fault))?;
        let stream_end = stream.outcome();
        let forward = Arc::new(BufferedStream::new(Box::new(stream)));
        let unreadable = |reason: String| {
            // A server that fails midway gives the reason at the end.
            forward.drain(DRAIN_MAX).ok();
            let unread =
                || Fault::Unavailable(format!("sent unreadable figures: the response {reason}"));
            self.fault(
                stream_end
                    .fault()
                    .or_else(|| stream_end.error_in_tail())
                    .unwrap_or_else(unread),
            )
        };
        let mut batches = arrow_stream(Arc::clone(&forward) as _, &(Arc::new(|_: &str| true) as _))
            .map_err(|error| unreadable(error.to_string()))?;
        let (mut frames, mut came, mut counted) = (Vec::new(), 0, 0);
        while let Some(batch) = batches
            .next_batch()
            .map_err(|error| unreadable(error.to_string()))?
        {
            let frame = DataFrame::new(batch.height, batch.columns)
                .map_err(|error| unreadable(error.to_string()))?;
            if frame.height() == 0 {
                continue;
            }
            came += frame.height() as u64;
            counted = first(&frame, ROWS)
                .ok_or_else(|| unreadable("does not have the expected columns".to_owned()))?;
            if counted > rows_max {
                let [counted, most] = [counted, rows_max].map(super::grouped);
                return Err(self.cannot_stay(format!(
                    "a result has {counted} rows, more than the limit of {most}; select fewer tokens with `where` in dataset.toml, or set read = \"bring\""
                )));
            }
            frames.push(frame);
        }
        match forward.drain(DRAIN_MAX) {
            Ok(0) if came == counted => Ok(frames),
            Ok(0) => Err(self.fault(
                stream_end
                    .error_in_tail()
                    .unwrap_or_else(|| super::wrong_count(came, counted)),
            )),
            _ => Err(unreadable("continues after its end".to_owned())),
        }
    }

    /// Fault for a result with other columns.
    pub(super) fn unread(&self) -> TableLoadError {
        self.fault(Fault::Unavailable(
            "sent unreadable figures: the response does not have the expected columns".to_owned(),
        ))
    }

    /// SQL expressions of these schema columns over `renamed` rows.
    fn taken<const N: usize>(
        &self,
        names: [&str; N],
        columns: &Columns<'_>,
    ) -> Result<[String; N], TableLoadError> {
        let column = |name: &&str| {
            let own = columns
                .bound
                .iter()
                .find(|bound| bound.column.name == *name);
            let theirs = source_column_of(name, columns);
            // Converting a volume in USD would need each candle's price.
            let unknown = *name == "volume" && own.is_some_and(Bound::is_absent);
            match (own.and_then(|own| own.constant), theirs) {
                (Some(constant), _) => Ok(sql::text(constant)),
                _ if unknown => Ok("nan".to_owned()),
                (None, Some(theirs)) if own.is_some_and(|own| is_as_it_stands(own, &theirs)) => {
                    value(name, &theirs).ok_or_else(|| self.lacks(name, own))
                }
                _ => Err(self.lacks(name, own)),
            }
        };
        let taken: Vec<String> = names.iter().map(column).collect::<Result<_, _>>()?;
        taken.try_into().map_err(|_| self.unread())
    }

    /// SQL expression of a schema column that most tables lack; `none` where it has no such column, or not one that is read as it is.
    fn optional(name: &str, none: &str, columns: &Columns<'_>) -> String {
        let own = columns.bound.iter().find(|bound| bound.column.name == name);
        let theirs = || {
            source_column_of(name, columns)
                .filter(|theirs| own.is_some_and(|own| is_as_it_stands(own, theirs)))
        };
        let constant = own.and_then(|own| own.constant).map(sql::text);
        constant
            .or_else(|| value(name, &theirs()?))
            .unwrap_or_else(|| none.to_owned())
    }

    /// Subquery of the rows that `conditions` keep, with renamed columns: an alias would hide a column of the same name.
    fn renamed(&self, columns: &Columns<'_>, conditions: &[String]) -> String {
        let columns: Vec<String> = columns
            .picked
            .iter()
            .enumerate()
            .map(|(nth, column)| format!("{} AS {}", column.sql(), under(nth)))
            .collect();
        format!(
            "(SELECT {} FROM {}{})",
            columns.join(", "),
            self.from(),
            filter(conditions)
        )
    }

    /// Subquery of the table's rows in canonical columns: `raw` is the token as it is written, `token` in lower case. `unread` marks texts
    /// that the engine cannot read as numbers. Negative volumes and balances are unknown, as by the rule `not_negative`.
    pub(super) fn base(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
    ) -> Result<String, TableLoadError> {
        match self.load.schema.name {
            "transfers" => self.transfers(columns, conditions),
            "holders" => self.holders(columns, conditions),
            _ => self.candles(columns, conditions),
        }
    }

    fn holders(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
    ) -> Result<String, TableLoadError> {
        let [token, holder, balance] =
            self.taken(["token_address", "holder_address", "balance"], columns)?;
        let (unread, from) = (
            unread(&["balance"], columns),
            self.renamed(columns, conditions),
        );
        Ok(format!(
            "(SELECT raw, lower(raw) AS token, lower(own) AS holder, if(isFinite(amount) AND amount >= 0, amount, NULL) AS b, unread FROM \
             (SELECT {token} AS raw, {holder} AS own, {balance} AS amount, {unread} AS unread FROM {from}))"
        ))
    }

    /// `ms` is the length of the interval `frame`, or 0; `ts` the time; `u` the volume in USD; `priced` marks candles with all prices.
    fn candles(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
    ) -> Result<String, TableLoadError> {
        let names = [
            "token_address",
            "interval",
            "timestamp",
            "open",
            "high",
            "low",
            "close",
            "volume",
        ];
        let [token, interval, time, open, high, low, close, volume] = self.taken(names, columns)?;
        let (usd, source) = (
            Self::optional("volume_usd", "nan", columns),
            Self::optional("source", "''", columns),
        );
        let timeless = source_column_of("timestamp", columns)
            .map_or_else(|| "0".to_owned(), |time| format!("isNull({})", time.sql()));
        let (unread, from) = (
            unread(&names[3..], columns),
            self.renamed(columns, conditions),
        );
        Ok(format!(
            "(SELECT *, lower(raw) AS token, {LENGTH} AS length, if(length <= {LENGTH_MAX}, length, 0) AS ms, {PRICED} AS priced FROM (SELECT \
             {token} AS raw, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, {low} AS l, {close} AS c, if({volume} < 0, nan, {volume}) AS v, \
             if({usd} < 0, nan, {usd}) AS u, {source} AS s, {timeless} AS timeless, {unread} AS unread FROM {from}))"
        ))
    }

    /// `h` is the hash, `fa`, `oa` and `va` the ends and the amount as texts, `amount` the amount as a number; `t`, `k`, `g` and `st` the
    /// time, block, place in the log and status.
    fn transfers(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
    ) -> Result<String, TableLoadError> {
        if !self.load.context.blocks.files.is_empty() {
            return Err(
                self.cannot_stay("its block times are in the local table `blocks`; join them in a `query`, or set read = \"bring\"")
            );
        }
        let column = |name: &'static str| -> Result<Option<String>, TableLoadError> {
            let own = columns.bound.iter().find(|bound| bound.column.name == name);
            let Some(theirs) = source_column_of(name, columns) else {
                let is_absent = own.is_none_or(|own| own.is_absent() && own.constant.is_none());
                return if is_absent && MAY_LACK.contains(&name) {
                    Ok(None)
                } else {
                    Err(self.lacks(name, own))
                };
            };
            let plain = own.is_some_and(|own| is_as_it_stands(own, &theirs));
            of_transfer(name, &theirs)
                .filter(|_| plain)
                .map(Some)
                .ok_or_else(|| self.lacks(name, own))
        };
        let must = |name| column(name).map(Option::unwrap_or_default);
        let may =
            |name| column(name).map(|read| read.unwrap_or_else(|| format!("toInt64({UNKNOWN})")));
        let raw = source_column_of("token_address", columns)
            .map_or_else(|| "''".to_owned(), |theirs| sql::cast(&theirs, false));
        let (token, hash, from, to) = (
            must("token_address")?,
            must("transaction_hash")?,
            must("from_address")?,
            must("to_address")?,
        );
        let (value, time, block, place, status) = (
            must("value")?,
            may("timestamp")?,
            may("block_number")?,
            may("log_index")?,
            may("status")?,
        );
        let rows = self.renamed(columns, conditions);
        Ok(format!(
            "(SELECT ifNull({raw}, '') AS raw, {token} AS token, {hash} AS h, {from} AS fa, {to} AS oa, {value} AS va, {time} AS t, {block} AS k, \
             {place} AS g, {status} AS st, toFloat64OrNull(va) AS amount FROM {rows})"
        ))
    }

    /// Order of the rows as they stand at the engine, in which the largest holders or the newest transfers come first.
    pub(super) fn first_of(&self, columns: &Columns<'_>) -> Vec<String> {
        let theirs = |name: &str| columns.serving(name);
        if self.load.schema.name == "holders" {
            let balance = theirs("balance").and_then(|theirs| value("balance", theirs));
            let holder = theirs("holder_address").map(EngineColumn::sql);
            return balance
                .map(|balance| format!("if(isFinite({balance}), {balance}, -1) DESC"))
                .into_iter()
                .chain(holder)
                .collect();
        }
        let keys = ["timestamp", "block_number", "log_index"]
            .into_iter()
            .filter_map(|name| of_transfer(name, theirs(name)?));
        keys.map(|key| format!("{key} DESC")).collect()
    }

    /// Error for a column that aggregations cannot read: the type it must have there, or why it is not read as it is.
    fn lacks(&self, name: &str, own: Option<&Bound<'_>>) -> TableLoadError {
        let what = match name {
            "timestamp" => "a DateTime or a Date",
            "value" => "a whole number of base units, such as UInt256, or its digits as text",
            "token_address" | "holder_address" | "interval" => "text",
            _ => "a number",
        };
        let why = match own {
            Some(own) if !own.is_absent() && (!super::is_plain(own) || own.rule.decimal.is_some()) => {
                format!(
                    "`{name}` would need conversion (by its `unit`, `scale`, `format`, `values` or `decimal`), but values queried in \
                        place are not converted"
                )
            }
            Some(own) if !own.is_absent() => format!("`{name}` must be {what} at the source, but has another type"),
            _ if name == "interval" => {
                "`interval` is required; if all its candles have the same interval, set it, as in `set = { interval = \"1h\" }`".to_owned()
            }
            _ => format!("`{name}` is required"),
        };
        self.cannot_stay(format!(
            "{why}; set read = \"bring\", or use a `query` that returns {what}"
        ))
    }
}

/// SQL: whether a candle, which has all prices, is valid: the comparisons of `is_valid_candle`.
pub(super) fn sound() -> String {
    let column = |name: &'static str| match name {
        "0.0" => "0",
        price => &price[..1],
    };
    let said = VALID_CANDLE
        .iter()
        .map(|[left, sign, right]| format!("{} {sign} {}", column(left), column(right)));
    said.collect::<Vec<_>>().join(" AND ")
}

/// SQL: whether a candle has all prices.
const PRICED: &str = "isFinite(o) AND isFinite(h) AND isFinite(l) AND isFinite(c)";

/// SQL: length of an interval, as `Interval::parse` reads it; 0 where it is invalid. The maximum is checked separately.
const LENGTH: &str = "if(match(frame, '^[0-9]{1,10}[a-zA-Z]*$'), toInt64OrZero(extract(frame, '^[0-9]+')) * \
                      transform(extract(frame, '[a-zA-Z]*$'), ['s', 'S', '', 'm', 'min', 'h', 'H', 'd', 'D', 'w', 'W'], \
                      [1000, 1000, 60000, 60000, 60000, 3600000, 3600000, 86400000, 86400000, 604800000, 604800000], 0), 0)";
const LENGTH_MAX: i64 = 366 * DAY_MS;

/// Columns that a table of transfers may lack.
const MAY_LACK: [&str; 4] = ["timestamp", "block_number", "log_index", "status"];

/// SQL expression for a column's value of a transfer.
fn of_transfer(name: &str, theirs: &EngineColumn) -> Option<String> {
    let written = sql::cast(theirs, false);
    match (name, theirs.form) {
        ("timestamp", ColumnType::Time | ColumnType::Day) => Some(format!(
            "ifNull(toUnixTimestamp64Milli({written}), {UNKNOWN})"
        )),
        ("block_number" | "log_index" | "status", ColumnType::Whole) => {
            Some(format!("ifNull(toInt64({written}), {UNKNOWN})"))
        }
        ("block_number" | "log_index" | "status", ColumnType::Wide) => {
            Some(format!("ifNull(toInt64OrNull({written}), {UNKNOWN})"))
        }
        ("value", ColumnType::Whole | ColumnType::Wide | ColumnType::Text) => {
            Some(format!("ifNull(toString({written}), '')"))
        }
        (
            "token_address" | "transaction_hash" | "from_address" | "to_address",
            ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word,
        ) => Some(format!("lower(ifNull({written}, ''))")),
        _ => None,
    }
}

/// Name of the `nth` column among renamed rows.
fn under(nth: usize) -> String {
    format!("deck_{nth}")
}

/// The engine column that provides a schema column, among renamed rows.
fn source_column_of(name: &str, columns: &Columns<'_>) -> Option<EngineColumn> {
    let nth = columns.picked.iter().position(|column| {
        columns
            .ours(column)
            .is_some_and(|bound| bound.column.name == name)
    })?;
    Some(EngineColumn {
        name: under(nth),
        ..columns.picked[nth].clone()
    })
}

/// Whether the engine reads the column as the loader would. The engine knows no decimal comma.
fn is_as_it_stands(own: &Bound<'_>, theirs: &EngineColumn) -> bool {
    super::is_plain(own) && (theirs.form != ColumnType::Text || own.rule.decimal.is_none())
}

/// Condition for rows with a text that the engine cannot parse as a number.
fn unread(names: &[&str], columns: &Columns<'_>) -> String {
    let texts = names
        .iter()
        .filter_map(|name| source_column_of(name, columns))
        .filter(|theirs| theirs.form == ColumnType::Text);
    let said: Vec<String> = texts
        .map(|theirs| theirs.sql())
        .map(|text| format!("ifNull(notEmpty({text}) AND isNull(toFloat64OrNull({text})), 0)"))
        .collect();
    if said.is_empty() {
        "0".to_owned()
    } else {
        format!("({})", said.join(" OR "))
    }
}

/// SQL expression for a column's value in aggregations.
fn value(name: &str, theirs: &EngineColumn) -> Option<String> {
    let column = theirs.sql();
    // The value behind a NULL is undefined in ClickHouse, so NULLs are replaced.
    match (name, theirs.form) {
        (
            "token_address" | "holder_address",
            ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word,
        ) => Some(format!("ifNull({}, '')", sql::cast(theirs, false))),
        ("interval" | "source", ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word) => {
            Some(format!(
                "trimBoth(ifNull({}, ''))",
                sql::cast(theirs, false)
            ))
        }
        ("timestamp", ColumnType::Time | ColumnType::Day) => Some(format!(
            "assumeNotNull(toUnixTimestamp64Milli({}))",
            sql::cast(theirs, false)
        )),
        ("token_address" | "holder_address" | "interval" | "source" | "timestamp", _) => None,
        // The number is its shortest decimal text.
        (_, ColumnType::Single) => Some(format!(
            "assumeNotNull(ifNull(toFloat64(toString({column})), nan))"
        )),
        (_, ColumnType::Float | ColumnType::Whole) => {
            Some(format!("assumeNotNull(ifNull(toFloat64({column}), nan))"))
        }
        (_, ColumnType::Wide | ColumnType::Text) => Some(format!(
            "assumeNotNull(ifNull(toFloat64OrNull(toString({column})), nan))"
        )),
        _ => None,
    }
}

fn cast(frame: &DataFrame, name: &str, kind: &DataType) -> Option<Column> {
    frame.column(name).ok()?.cast(kind).ok()
}

/// A column of a result, in the type it is read as.
pub(super) fn texts(frame: &DataFrame, name: &str) -> Option<StringChunked> {
    cast(frame, name, &DataType::String)?.str().ok().cloned()
}

pub(super) fn whole(frame: &DataFrame, name: &str) -> Option<Int64Chunked> {
    cast(frame, name, &DataType::Int64)?.i64().ok().cloned()
}

pub(super) fn counts(frame: &DataFrame, name: &str) -> Option<UInt64Chunked> {
    cast(frame, name, &DataType::UInt64)?.u64().ok().cloned()
}

pub(super) fn floats(frame: &DataFrame, name: &str) -> Option<Float64Chunked> {
    cast(frame, name, &DataType::Float64)?.f64().ok().cloned()
}

pub(super) fn lists(frame: &DataFrame, name: &str, kind: DataType) -> Option<ListChunked> {
    cast(frame, name, &DataType::List(Box::new(kind)))?
        .list()
        .ok()
        .cloned()
}

/// A number that every row of the result repeats.
pub(super) fn first(frame: &DataFrame, name: &str) -> Option<u64> {
    counts(frame, name)?.get(0)
}

#[cfg(test)]
mod tests {
    use polars::prelude::{NamedFrom as _, Series};

    use super::*;
    use crate::check;

    #[test]
    fn the_engine_holds_to_the_rules_of_the_table() {
        assert_eq!(sound(), "l > 0 AND l <= o AND l <= c AND o <= h AND c <= h");
        // `all` empties these below zero, and no others.
        for (table, column) in [("candles", "volume"), ("holders", "balance")] {
            let mut columns = [Column::from(Series::new(
                column.into(),
                [-1e-9, 0.0, 1e300],
            ))];
            let breaches = check::row_breaches(table, &mut columns);
            assert_eq!(
                breaches
                    .iter()
                    .map(|breach| breach.rows.clone())
                    .collect::<Vec<_>>(),
                [[0]],
                "{table}.{column}"
            );
            assert_eq!(
                (breaches[0].rule.outcome, columns[0].null_count()),
                (check::Consequence::Cleared, 1)
            );
        }
    }
}
