//! Aggregations that the engine works out, so that the rows of a table in place need not come: a closed set. Each is SQL here; the tests
//! work out the same over rows in memory.

pub(super) mod chart;
pub(super) mod holders;
mod left_out;
pub(super) mod market;
pub(super) mod page;

use std::sync::{Arc, atomic::Ordering};

use polars::prelude::{DataFrame, DataType};

use super::{
    Columns, EngineQuery, filter,
    rows::SAID_MAX,
    sql::{self, ColumnType, EngineColumn},
};
use crate::{
    dataset::{
        address::Address,
        holding::Apart,
        load::{
            bind::Bound,
            elsewhere::{Pulse, stop_of},
            table::Stop,
        },
        shelf::State,
        source::{arrow_stream, forward::Forward},
        time::DAY_MS,
    },
    wire::Fault,
};

/// An aggregation.
#[derive(Debug, Clone)]
pub(super) enum Sum {
    /// For each token and interval the candles that the market's figures need, of those that start less than `RECENT_DAYS` before the last
    /// one.
    Market,
    /// As `Market`, of all candles of tokens whose last days are not enough.
    WholeMarket(Vec<Address>),
    /// The candles of one token as its charts need them.
    Chart,
    /// How many holders each token has.
    Listed,
    /// The largest balances of one token, and sums of the others.
    Balances(Arc<Apart>),
    /// Number and checksum of one token's rows.
    State(&'static str),
    /// Some rows of one token in the order of the table, from a place among them on.
    Page { table: &'static str, from: u64, count: u64, behind: u64 },
}

/// The checksum of some rows, in any order.
const MARK: &str = "sum(hash)";
/// How many rows the answer has: a column of every aggregation.
const ROWS: &str = "rows";

impl Sum {
    /// The query, over rows as `base` gives them: those of candles, or of holders.
    pub(super) fn sql(&self, base: &str) -> String {
        let sql = match self {
            Self::Market => market::sql(base, None),
            Self::WholeMarket(tokens) => market::sql(base, Some(tokens)),
            Self::Chart => chart::sql(base),
            Self::Listed => holders::listed_sql(base),
            Self::Balances(apart) => holders::balances_sql(base, apart),
            Self::State(table) => {
                // That a holder comes twice was refused when the table was loaded.
                let (again, some) = if *table == "holders" { ("0", "") } else { ("count() - uniqExact(ms, ts)", " WHERE ms > 0") };
                format!("SELECT count() AS listed, {MARK} AS mark, toUInt64({again}) AS again FROM {base}{some}")
            }
            Self::Page { table, from, count, behind } => page::sql(base, table, [*from, *count, *behind]),
        };
        format!("SELECT *, count() OVER () AS {ROWS} FROM ({sql})")
    }

    /// The most rows that are taken.
    fn rows_max(&self) -> u64 {
        match self {
            Self::Market | Self::WholeMarket(_) | Self::Listed => market::ROWS_MAX,
            Self::Chart | Self::Balances(_) => 10_000_000,
            Self::Page { count, .. } => *count,
            Self::State(_) => 1,
        }
    }
}

impl EngineQuery<'_> {
    /// The answer, a frame for each record batch: as many rows as it says, else a fault.
    pub(super) fn sum(&self, sum: &Sum, base: &str, pulse: &Pulse) -> Result<Vec<DataFrame>, Stop> {
        let watch = Arc::clone(&pulse.watch);
        let stopped = move || watch.stopped.load(Ordering::Acquire);
        let refused = |fault: Fault| stop_of(&self.name, fault);
        let stream = self.engine.sum(&sum.sql(base), Arc::new(stopped)).map_err(refused)?;
        let said = stream.said();
        let forward = Arc::new(Forward::new(Box::new(stream)));
        let odd = |reason: String| {
            // A server that fails on the way says why at the end.
            forward.drain(SAID_MAX).ok();
            refused(
                said.fault()
                    .or_else(|| said.last_words())
                    .unwrap_or_else(|| Fault::Unavailable(format!("is answered with sums that cannot be read: the answer {reason}"))),
            )
        };
        let mut batches = arrow_stream(Arc::clone(&forward) as _, &(Arc::new(|_: &str| true) as _)).map_err(odd)?;
        let (mut frames, mut came, mut counted) = (Vec::new(), 0, 0);
        while let Some(batch) = batches.next_batch().map_err(odd)? {
            let frame = DataFrame::new(batch.height, batch.columns).map_err(|error| odd(error.to_string()))?;
            if frame.height() == 0 {
                continue;
            }
            came += frame.height() as u64;
            counted = first(&frame, ROWS).ok_or_else(|| odd("has other columns".to_owned()))?;
            let candles = first(&frame, market::CANDLES).unwrap_or_default();
            for (counted, most, what) in [(counted, sum.rows_max(), "rows"), (candles, market::CANDLES_MAX, "candles")] {
                if counted > most {
                    let [counted, most] = [counted, most].map(super::grouped);
                    return Err(Stop::Unusable(format!(
                        "`{}` cannot stay in place: its sums have {counted} {what}, and {most} are held; name fewer tokens with `where` in \
                         dataset.toml, or say read = \"bring\"",
                        self.name
                    )));
                }
            }
            frames.push(frame);
        }
        match forward.drain(SAID_MAX) {
            Ok(0) if came == counted => Ok(frames),
            Ok(0) => Err(refused(said.last_words().unwrap_or_else(|| super::fewer(came, counted)))),
            _ => Err(odd("goes on behind its end".to_owned())),
        }
    }

    /// The fault of an answer with other columns.
    pub(super) fn unread(&self) -> Stop {
        stop_of(&self.name, Fault::Unavailable("is answered with sums that cannot be read: the answer has other columns".to_owned()))
    }

    /// The columns of these names as expressions over `renamed` rows.
    fn taken<const N: usize>(&self, names: [&str; N], columns: &Columns<'_>) -> Result<[String; N], Stop> {
        let column = |name: &&str| {
            let own = columns.bound.iter().find(|bound| bound.column.name == *name);
            let theirs = theirs_of(name, columns);
            // A volume in USD would need each candle's price.
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

    /// The rows that `conditions` keep, their columns renamed: an alias would hide a column of the same name.
    fn renamed(&self, columns: &Columns<'_>, conditions: &[String]) -> String {
        let columns: Vec<String> =
            columns.picked.iter().enumerate().map(|(nth, column)| format!("{} AS {}", column.sql(), under(nth))).collect();
        format!("(SELECT {} FROM {}{})", columns.join(", "), self.from(), filter(conditions))
    }

    /// All rows of the table in the columns that aggregations take, also those that `base` leaves out. `hash` is a row's content, where that is
    /// `summed`. Volumes and balances below zero are unknown, as the rule `not_negative` has it.
    fn all(&self, columns: &Columns<'_>, conditions: &[String], summed: bool) -> Result<String, Stop> {
        let hash = |content: &str| if summed { format!("cityHash64({content})") } else { "toUInt64(0)".to_owned() };
        let from = self.renamed(columns, conditions);
        if self.schema.name == "holders" {
            let [token, holder, balance] = self.taken(["token_address", "holder_address", "balance"], columns)?;
            let unread = unread(&["balance"], columns);
            return Ok(format!(
                "(SELECT raw, lower(raw) AS token, lower(own) AS holder, if(isFinite(amount) AND amount >= 0, amount, NULL) AS b, unread, {} AS hash FROM \
                 (SELECT {token} AS raw, {holder} AS own, {balance} AS amount, {unread} AS unread FROM {from}))",
                hash("token, holder, ifNull(b, nan)")
            ));
        }
        let names = ["token_address", "interval", "timestamp", "open", "high", "low", "close", "volume"];
        let [token, interval, time, open, high, low, close, volume] = self.taken(names, columns)?;
        let timeless = theirs_of("timestamp", columns).map_or_else(|| "0".to_owned(), |time| format!("isNull({})", time.sql()));
        let unread = unread(&names[3..], columns);
        Ok(format!(
            "(SELECT *, lower(raw) AS token, {LENGTH} AS length, if(length <= {LENGTH_MAX}, length, 0) AS ms, {} AS hash FROM (SELECT \
             {token} AS raw, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, {low} AS l, {close} AS c, if({volume} < 0, nan, {volume}) AS v, \
             {timeless} AS timeless, {unread} AS unread FROM {from}))",
            hash(&format!("token, frame, ts, {}", ["o", "h", "l", "c", "v"].map(roughly).join(", ")))
        ))
    }

    /// The rows that aggregations take: candles without a time or a price are left out.
    pub(super) fn base(&self, columns: &Columns<'_>, conditions: &[String], summed: bool) -> Result<String, Stop> {
        let all = self.all(columns, conditions, summed)?;
        Ok(if self.schema.name == "holders" { all } else { format!("(SELECT * FROM {all} WHERE NOT timeless AND {PRICED})") })
    }

    /// The aggregations cannot read the column: which type it must have there, or why it is not read as it is.
    fn lacks(&self, name: &str, own: Option<&Bound<'_>>) -> Stop {
        let what = match name {
            "timestamp" => "a DateTime or a Date",
            "token_address" | "holder_address" | "interval" => "a text",
            _ => "a number",
        };
        let why = match own {
            Some(own) if !own.is_absent() && (!super::is_plain(own) || own.rule.decimal.is_some()) => {
                format!(
                    "`{name}` is converted here, by its `unit`, `scale`, `format`, `values` or `decimal`, and in place it is read as it is"
                )
            }
            Some(own) if !own.is_absent() => format!("`{name}` must be {what} there, and is of another type"),
            _ if name == "interval" => {
                "`interval` is needed: if all its candles are of one, say which, as in `set = { interval = \"1d\" }`".to_owned()
            }
            _ => format!("`{name}` is needed"),
        };
        Stop::Unusable(format!("`{}` cannot stay in place: {why}; say read = \"bring\", or a `query` that makes it {what}", self.name))
    }
}

/// A number to about a millionth: a `query` that adds up floats gives other last digits each time.
fn roughly(number: &str) -> String {
    format!("bitShiftRight(reinterpretAsUInt64({number}), 32)")
}

/// Whether a candle has all prices.
const PRICED: &str = "isFinite(o) AND isFinite(h) AND isFinite(l) AND isFinite(c)";

/// The length of an interval, as `Interval::parse` reads it; 0 where it reads none. The longest is checked by itself.
const LENGTH: &str = "if(match(frame, '^[0-9]{1,10}[a-zA-Z]*$'), toInt64OrZero(extract(frame, '^[0-9]+')) * \
                      transform(extract(frame, '[a-zA-Z]*$'), ['s', 'S', '', 'm', 'min', 'h', 'H', 'd', 'D', 'w', 'W'], \
                      [1000, 1000, 60000, 60000, 60000, 3600000, 3600000, 86400000, 86400000, 604800000, 604800000], 0), 0)";
const LENGTH_MAX: i64 = 366 * DAY_MS;

/// The name of a column among renamed rows.
fn under(nth: usize) -> String {
    format!("deck_{nth}")
}

/// The column that ours is read from, among renamed rows.
fn theirs_of(name: &str, columns: &Columns<'_>) -> Option<EngineColumn> {
    let nth = columns.picked.iter().position(|column| columns.ours(column).is_some_and(|bound| bound.column.name == name))?;
    Some(EngineColumn { name: under(nth), ..columns.picked[nth].clone() })
}

/// Whether the engine reads a column as the loader would. The engine knows no decimal comma.
fn is_as_it_stands(own: &Bound<'_>, theirs: &EngineColumn) -> bool {
    super::is_plain(own) && (theirs.form != ColumnType::Text || own.rule.decimal.is_none())
}

/// The condition for rows with a text that the engine reads no number from.
fn unread(names: &[&str], columns: &Columns<'_>) -> String {
    let texts = names.iter().filter_map(|name| theirs_of(name, columns)).filter(|theirs| theirs.form == ColumnType::Text);
    let said: Vec<String> =
        texts.map(|theirs| theirs.sql()).map(|text| format!("ifNull(notEmpty({text}) AND isNull(toFloat64OrNull({text})), 0)")).collect();
    if said.is_empty() { "0".to_owned() } else { format!("({})", said.join(" OR ")) }
}

/// The value of a column as aggregations take it.
fn value(name: &str, theirs: &EngineColumn) -> Option<String> {
    let column = theirs.sql();
    // The value behind a NULL is undefined in ClickHouse, so each is given one.
    match (name, theirs.form) {
        ("token_address" | "holder_address", ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word) => {
            Some(format!("ifNull({}, '')", sql::cast(theirs, false)))
        }
        ("interval", ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word) => {
            Some(format!("trimBoth(ifNull({}, ''))", sql::cast(theirs, false)))
        }
        ("timestamp", ColumnType::Time | ColumnType::Day) => {
            Some(format!("assumeNotNull(toUnixTimestamp64Milli({}))", sql::cast(theirs, false)))
        }
        ("token_address" | "holder_address" | "interval" | "timestamp", _) => None,
        // The number is its shortest decimal text.
        (_, ColumnType::Single) => Some(format!("assumeNotNull(ifNull(toFloat64(toString({column})), nan))")),
        (_, ColumnType::Float | ColumnType::Whole) => Some(format!("assumeNotNull(ifNull(toFloat64({column}), nan))")),
        (_, ColumnType::Wide | ColumnType::Text) => Some(format!("assumeNotNull(ifNull(toFloat64OrNull(toString({column})), nan))")),
        _ => None,
    }
}

/// A number that every row of the answer repeats.
fn first(frame: &DataFrame, name: &str) -> Option<u64> {
    frame.column(name).ok()?.cast(&DataType::UInt64).ok()?.u64().ok()?.get(0)
}

/// Some candles of a token come twice: which of the two is right is not known.
#[derive(Debug)]
pub(super) struct Repeated;

impl Repeated {
    /// Looks whether any row of the answer counts some.
    pub(super) fn check(frames: &[DataFrame]) -> Option<Result<(), Self>> {
        for frame in frames {
            let again = frame.column("again").ok()?.cast(&DataType::Int64).ok()?;
            if again.i64().ok()?.iter().any(|again| again != Some(0)) {
                return Some(Err(Self));
            }
        }
        Some(Ok(()))
    }
}

/// The state of the token's rows that an answer is of.
pub(super) fn state(frames: &[DataFrame]) -> Option<State> {
    let frame = frames.first()?;
    Some(State { rows: first(frame, "listed")?, mark: first(frame, "mark")? })
}
