//! Aggregations computed by the engine, so that the rows of a table in place need not be transferred: a closed set, each in SQL. The
//! ignored tests run them on a real engine and compare them with the loader's own values for the same rows.

pub(super) mod asked;
pub(super) mod chart;
pub(super) mod holders;
mod left_out;
pub(super) mod market;
pub(super) mod transfers;

use std::sync::{Arc, atomic::Ordering};

use polars::prelude::{
    Column, DataFrame, DataType, Float64Chunked, Int64Chunked, ListChunked, StringChunked,
    UInt64Chunked,
};

use self::asked::AskedRows;
use super::{
    Columns, EngineQuery, filter,
    rows::DRAIN_MAX,
    sql::{self, ColumnType, EngineColumn},
};
use crate::{
    in_place::RowsVersion,
    load::{bind::Bound, remote::Pulse, task::TableLoadError},
    order,
};
use model::{
    address::Address, candles::VALID_CANDLE, holding::IndividualHolders, table_ask::AskKind,
    time::DAY_MS,
};
use source::{arrow_stream, forward::BufferedStream};
use wire::Fault;

/// An aggregation.
#[derive(Debug, Clone)]
pub(super) enum Aggregation {
    /// The candles of each token and interval that the market metrics need: those that start less than `RECENT_DAYS` before the last one.
    Market,
    /// Like `Market`, over all candles of tokens whose recent days are not enough.
    WholeMarket(Vec<Address>),
    /// The candles of some tokens for their charts.
    Chart,
    /// The number of rows per token, of holders or transfers.
    Listed(&'static str),
    /// The largest balances of one token, and sums of the others.
    Balances(Arc<IndividualHolders>),
    /// Number and checksum of one token's rows.
    RowsVersion(&'static str),
    /// A query of the table.
    Asked(AskedRows),
    /// Number and checksum of these rows; `true`: also how many occur twice.
    AskedVersion(AskedRows, bool),
    /// Their number only.
    AskedCount(AskedRows),
}

/// Checksum of rows, independent of their order.
const CHECKSUM: &str = "sum(hash)";
/// Column with the number of rows of the result, part of every aggregation.
const ROWS: &str = "rows";

impl Aggregation {
    /// The query over the rows of `base`: candles or holders.
    pub(super) fn sql(&self, base: &str) -> String {
        let sql = match self {
            Self::Market => market::sql(base, None),
            Self::WholeMarket(tokens) => market::sql(base, Some(tokens)),
            Self::Chart => chart::sql(base),
            Self::Listed("transfers") => transfers::listed_sql(base),
            Self::Listed(_) => holders::listed_sql(base),
            Self::Balances(individual) => holders::balances_sql(base, individual),
            Self::RowsVersion(table) => {
                // Duplicate holders were refused when the table was loaded, and duplicate transfers when they were summed.
                let (duplicates, some) = if *table == "candles" {
                    ("count() - uniqExact(ms, ts)", " WHERE ms > 0")
                } else {
                    ("0", "")
                };
                format!(
                    "SELECT count() AS listed, {CHECKSUM} AS mark, toUInt64({duplicates}) AS again FROM {base}{some}"
                )
            }
            Self::Asked(of) => asked::asked_sql(base, of),
            Self::AskedVersion(of, unique) => asked::version_sql(base, of, *unique),
            Self::AskedCount(of) => asked::count_sql(base, of),
        };
        match self {
            Self::Chart => counted(&sql) + " ORDER BY token, ms, timestamp",
            Self::Asked(of) => match of.ask.wanted {
                AskKind::Values { is_text: false, .. } => counted(&sql) + " ORDER BY item",
                AskKind::Groups { .. } => counted(&sql) + " ORDER BY at",
                AskKind::Values { .. } | AskKind::Page(_) | AskKind::Count => {
                    counted_in_order(&sql)
                }
            },
            _ => counted(&sql),
        }
    }

    /// Maximum number of result rows.
    fn rows_max(&self) -> u64 {
        match self {
            Self::Market | Self::WholeMarket(_) | Self::Listed(_) => market::ROWS_MAX,
            Self::Chart | Self::Balances(_) | Self::Asked(..) => 10_000_000,
            Self::RowsVersion(_) | Self::AskedVersion(..) | Self::AskedCount(_) => 1,
        }
    }
}

/// The query, with the number of its rows in each. Its order is lost: above a window function blocks of one row or many come in any order.
fn counted(sql: &str) -> String {
    format!("SELECT *, count() OVER () AS {ROWS} FROM ({sql})")
}

/// The same in the order of the query, by the place that each row had in it.
fn counted_in_order(sql: &str) -> String {
    counted(&format!(
        "SELECT *, rowNumberInAllBlocks() AS place FROM ({sql})"
    )) + " ORDER BY place"
}

impl EngineQuery<'_> {
    /// The result of a query, as one frame in its order, with at most `rows_max` rows; an empty frame if there are none.
    pub(super) fn frame(
        &self,
        sql: &str,
        rows_max: u64,
        pulse: &Pulse,
    ) -> Result<DataFrame, TableLoadError> {
        let frames = self.frames(&counted_in_order(sql), rows_max, pulse)?;
        Ok(order::whole(frames)
            .map_err(|_| self.unread())?
            .unwrap_or_default())
    }

    /// Runs the aggregation; returns a frame per record batch. A row count other than the one in the result is a fault.
    pub(super) fn sum(
        &self,
        aggregation: &Aggregation,
        base: &str,
        pulse: &Pulse,
    ) -> Result<Vec<DataFrame>, TableLoadError> {
        self.frames(&aggregation.sql(base), aggregation.rows_max(), pulse)
    }

    /// Runs a query with at most `rows_max` rows, whose number is in a column of its own.
    fn frames(
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
                || Fault::Unavailable(format!("sent unreadable sums: the response {reason}"));
            self.fault(
                stream_end
                    .fault()
                    .or_else(|| stream_end.error_in_tail())
                    .unwrap_or_else(unread),
            )
        };
        let mut batches = arrow_stream(Arc::clone(&forward) as _, &(Arc::new(|_: &str| true) as _))
            .map_err(unreadable)?;
        let (mut frames, mut came, mut counted) = (Vec::new(), 0, 0);
        while let Some(batch) = batches.next_batch().map_err(unreadable)? {
            let frame = DataFrame::new(batch.height, batch.columns)
                .map_err(|error| unreadable(error.to_string()))?;
            if frame.height() == 0 {
                continue;
            }
            came += frame.height() as u64;
            counted = first(&frame, ROWS)
                .ok_or_else(|| unreadable("does not have the expected columns".to_owned()))?;
            let candles = first(&frame, market::CANDLES).unwrap_or_default();
            for (counted, most, what) in [
                (counted, rows_max, "rows"),
                (candles, market::CANDLES_MAX, "candles"),
            ] {
                if counted > most {
                    let [counted, most] = [counted, most].map(super::grouped);
                    return Err(self.cannot_stay(format!(
                        "its sums have {counted} {what}, more than the limit of {most}; select fewer tokens with `where` in dataset.toml, or set read = \"bring\""
                    )));
                }
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
            "sent unreadable sums: the response does not have the expected columns".to_owned(),
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

    /// Subquery of all rows in the columns that aggregations read, including those that `base` excludes. `hash` is the hash of a row's
    /// content if `summed`. Negative volumes and balances are unknown, as by the rule `not_negative`.
    fn all(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
        summed: bool,
    ) -> Result<String, TableLoadError> {
        let hash = |content: &str| {
            if summed {
                format!("cityHash64({content})")
            } else {
                "toUInt64(0)".to_owned()
            }
        };
        let from = self.renamed(columns, conditions);
        if self.load.schema.name == "transfers" {
            return self.transfers(columns, conditions, summed, transfers::HASHED);
        }
        if self.load.schema.name == "holders" {
            let [token, holder, balance] =
                self.taken(["token_address", "holder_address", "balance"], columns)?;
            let unread = unread(&["balance"], columns);
            return Ok(format!(
                "(SELECT raw, lower(raw) AS token, lower(own) AS holder, if(isFinite(amount) AND amount >= 0, amount, NULL) AS b, unread, {} AS hash FROM \
                 (SELECT {token} AS raw, {holder} AS own, {balance} AS amount, {unread} AS unread FROM {from}))",
                hash("token, holder, ifNull(b, nan)")
            ));
        }
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
        let unread = unread(&names[3..], columns);
        Ok(format!(
            "(SELECT *, lower(raw) AS token, {LENGTH} AS length, if(length <= {LENGTH_MAX}, length, 0) AS ms, {} AS hash FROM (SELECT \
             {token} AS raw, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, {low} AS l, {close} AS c, if({volume} < 0, nan, {volume}) AS v, \
             if({usd} < 0, nan, {usd}) AS u, {source} AS s, \
             {timeless} AS timeless, {unread} AS unread FROM {from}))",
            hash(&format!(
                "token, frame, ts, {}",
                ["o", "h", "l", "c", "v"].map(roughly).join(", ")
            ))
        ))
    }

    /// Subquery of the rows that aggregations use: candles without a time or a price are excluded, unless it is known that there are none.
    pub(super) fn base(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
        summed: bool,
        whole: bool,
    ) -> Result<String, TableLoadError> {
        let all = self.all(columns, conditions, summed)?;
        Ok(if self.load.schema.name == "candles" && !whole {
            format!("(SELECT * FROM {all} WHERE NOT timeless AND {PRICED})")
        } else {
            all
        })
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

/// A number to about a millionth: a `query` that sums floats gives other last digits each time.
fn roughly(number: &str) -> String {
    format!("bitShiftRight(reinterpretAsUInt64({number}), 32)")
}

/// SQL: whether a candle, which has all prices, is valid: the comparisons of `is_valid_candle`.
fn sound() -> String {
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

fn lists(frame: &DataFrame, name: &str, kind: DataType) -> Option<ListChunked> {
    cast(frame, name, &DataType::List(Box::new(kind)))?
        .list()
        .ok()
        .cloned()
}

/// A number that every row of the result repeats.
pub(super) fn first(frame: &DataFrame, name: &str) -> Option<u64> {
    counts(frame, name)?.get(0)
}

/// A token has duplicate candles: which of the two is right is unknown.
#[derive(Debug)]
pub(super) struct Repeated;

impl Repeated {
    /// Checks whether any row of the result counts duplicates.
    pub(super) fn check(frames: &[DataFrame]) -> Option<Result<(), Self>> {
        for frame in frames {
            if whole(frame, "again")?.iter().any(|count| count != Some(0)) {
                return Some(Err(Self));
            }
        }
        Some(Ok(()))
    }
}

/// Version of the token's rows that the result was computed from.
pub(super) fn rows_version(frames: &[DataFrame]) -> Option<RowsVersion> {
    let frame = frames.first()?;
    Some(RowsVersion {
        rows: first(frame, "listed")?,
        checksum: first(frame, "mark")?,
    })
}

#[cfg(test)]
mod tests {
    use polars::prelude::{NamedFrom as _, Series};

    use super::*;
    use crate::invariants;

    #[test]
    fn the_engine_holds_to_the_rules_of_the_table() {
        assert_eq!(sound(), "l > 0 AND l <= o AND l <= c AND o <= h AND c <= h");
        // `all` empties these below zero, and no others.
        for (table, column) in [("candles", "volume"), ("holders", "balance")] {
            let mut columns = [Column::from(Series::new(
                column.into(),
                [-1e-9, 0.0, 1e300],
            ))];
            let breaches = invariants::judge(table, &mut columns);
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
                (invariants::Consequence::PoolDrain, 1)
            );
        }
        let known = holders::IS_BURN_ADDRESS
            .split('\'')
            .filter(|text| text.starts_with("0x"))
            .map(str::to_owned);
        let of_transfers = transfers::BURNS
            .split('\'')
            .skip(1)
            .step_by(2)
            .map(|text| format!("0x{}", text.to_lowercase()));
        for text in known.chain(of_transfers) {
            assert!(
                Address::parse(&format!("{text:0<42}"))
                    .is_some_and(|address| address.is_burn_address()),
                "{text}"
            );
        }
    }
}
