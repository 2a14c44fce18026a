//! What is worked out over a table where it lies, so that its rows need not come: a closed set. Each sum is said in SQL here, and in the
//! tests over rows in memory: the two give the same rows.

pub(super) mod chart;
pub(super) mod holders;
mod left_out;
pub(super) mod market;
pub(super) mod page;

use std::sync::{Arc, atomic::Ordering};

use polars::prelude::{DataFrame, DataType};

use super::{
    Asking, Columns, filter,
    rows::SAID_MAX,
    sql::{self, Form, Theirs},
};
use crate::{
    dataset::{
        address::Address,
        holding::Apart,
        load::{
            bind::Bound,
            elsewhere::{Pulse, said},
            table::Stop,
        },
        shelf::State,
        source::{arrow_stream, forward::Forward},
        time::DAY_MS,
    },
    wire::Fault,
};

/// Something that is worked out there.
#[derive(Debug, Clone)]
pub(super) enum Sum {
    /// Of each token and interval the candles that the market's figures are made of, among those that start less than `RECENT_DAYS` before
    /// the last of their token and interval.
    Market,
    /// As `Market`, among all there are, of some tokens, of which the last days do not tell enough.
    WholeMarket(Vec<Address>),
    /// The candles of one token as its charts need them.
    Chart,
    /// How many holders each token has.
    Listed,
    /// What all balances of one token come to.
    Balances(Arc<Apart>),
    /// What the rows of one token are known by.
    State(&'static str),
    /// Some rows of one token in the order of the table, from a place among them on.
    Page { table: &'static str, from: u64, count: u64, behind: u64 },
}

/// What some rows are known by: the same for the same rows in any order.
const MARK: &str = "sum(hash)";
/// How many rows come: a column of every sum.
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
                let some = if *table == "holders" { "" } else { " WHERE ms > 0" };
                format!("SELECT count() AS listed, {MARK} AS mark FROM {base}{some}")
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

impl Asking<'_> {
    /// Asks for a sum: a frame for each part of the answer that comes, all of them checked.
    pub(super) fn sum(&self, sum: &Sum, base: &str, pulse: &Pulse) -> Result<Vec<DataFrame>, Stop> {
        let watch = Arc::clone(&pulse.watch);
        let stopped = move || watch.stopped.load(Ordering::Acquire);
        let refused = |fault: Fault| said(&self.name, fault);
        let stream = self.engine.sum(&sum.sql(base), Arc::new(stopped)).map_err(refused)?;
        let said = stream.said();
        let forward = Arc::new(Forward::new(Box::new(stream)));
        let odd = |reason: String| {
            // The server may say why at the end.
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
                        "`{}` cannot stay in place: {counted} {what} tell of it, and {most} are held; name fewer tokens with `where` in \
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

    /// The answer was not what it should be.
    pub(super) fn unread(&self) -> Stop {
        said(&self.name, Fault::Unavailable("is answered with sums that cannot be read: the answer has other columns".to_owned()))
    }

    /// The columns as sums take them, each as an expression over `renamed` rows, in the order of the names.
    fn taken<const N: usize>(&self, names: [&str; N], columns: &Columns<'_>) -> Result<[String; N], Stop> {
        let column = |name: &&str| {
            let own = columns.bound.iter().find(|bound| bound.column.name == *name);
            let theirs = theirs_of(name, columns);
            // A volume in another unit needs each candle's price.
            let unknown = *name == "volume" && own.is_some_and(Bound::is_absent);
            match (own.and_then(|own| own.constant), theirs) {
                (Some(constant), _) => Ok(sql::text(constant)),
                _ if unknown => Ok("nan".to_owned()),
                (None, Some(theirs)) if own.is_some_and(|own| is_as_it_stands(own, &theirs)) => {
                    value(name, &theirs).ok_or_else(|| self.lacks(name))
                }
                _ => Err(self.lacks(name)),
            }
        };
        let taken: Vec<String> = names.iter().map(column).collect::<Result<_, _>>()?;
        taken.try_into().map_err(|_| self.unread())
    }

    /// Rows that `conditions` keep, their columns under names of ours: an alias would stand for a column of theirs that is called so.
    fn renamed(&self, columns: &Columns<'_>, conditions: &[String]) -> String {
        let columns: Vec<String> =
            columns.picked.iter().enumerate().map(|(nth, column)| format!("{} AS {}", column.sql(), under(nth))).collect();
        format!("(SELECT {} FROM {}{})", columns.join(", "), self.from(), filter(conditions))
    }

    /// All rows of the table as sums take them, those among them that are none: see `base`. `hash` tells a row's content where the
    /// contents are `summed`.
    fn all(&self, columns: &Columns<'_>, conditions: &[String], summed: bool) -> Result<String, Stop> {
        let hash = |content: &str| if summed { format!("cityHash64({content})") } else { "toUInt64(0)".to_owned() };
        let from = self.renamed(columns, conditions);
        if self.schema.name == "holders" {
            let [token, holder, balance] = self.taken(["token_address", "holder_address", "balance"], columns)?;
            let unread = unread(&["balance"], columns);
            return Ok(format!(
                "(SELECT raw, lower(raw) AS token, lower(own) AS holder, if(isFinite(amount), amount, NULL) AS b, unread, {} AS hash FROM \
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
             {token} AS raw, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, {low} AS l, {close} AS c, {volume} AS v, \
             {timeless} AS timeless, {unread} AS unread FROM {from}))",
            hash(&format!("token, frame, ts, {}", ["o", "h", "l", "c", "v"].map(roughly).join(", ")))
        ))
    }

    /// Rows of the table as sums take them: candles without a time or a price are none.
    pub(super) fn base(&self, columns: &Columns<'_>, conditions: &[String], summed: bool) -> Result<String, Stop> {
        let all = self.all(columns, conditions, summed)?;
        Ok(if self.schema.name == "holders" { all } else { format!("(SELECT * FROM {all} WHERE NOT timeless AND {PRICED})") })
    }

    fn lacks(&self, name: &str) -> Stop {
        Stop::Unusable(format!(
            "`{}` cannot stay in place: `{name}` is not there as it is needed (a text, a DateTime or a number, read without `values`, `format`, \
             `scale` or `unit`); say read = \"bring\", or a `query` that makes it so",
            self.name
        ))
    }
}

/// A number to about a millionth: where a query adds numbers up, they are others in the last digits each time.
fn roughly(number: &str) -> String {
    format!("bitShiftRight(reinterpretAsUInt64({number}), 32)")
}

/// What a candle needs.
const PRICED: &str = "isFinite(o) AND isFinite(h) AND isFinite(l) AND isFinite(c)";

/// The length of an interval, as `Interval::parse` reads it; 0 where it reads none. The longest is checked by itself.
const LENGTH: &str = "if(match(frame, '^[0-9]{1,10}[a-zA-Z]*$'), toInt64OrZero(extract(frame, '^[0-9]+')) * \
                      transform(extract(frame, '[a-zA-Z]*$'), ['s', 'S', '', 'm', 'min', 'h', 'H', 'd', 'D', 'w', 'W'], \
                      [1000, 1000, 60000, 60000, 60000, 3600000, 3600000, 86400000, 86400000, 604800000, 604800000], 0), 0)";
const LENGTH_MAX: i64 = 366 * DAY_MS;

/// The name of a column of theirs among rows that are renamed.
fn under(nth: usize) -> String {
    format!("deck_{nth}")
}

/// The column of theirs that ours is read from, as it is called among rows that are renamed.
fn theirs_of(name: &str, columns: &Columns<'_>) -> Option<Theirs> {
    let nth = columns.picked.iter().position(|column| columns.ours(column).is_some_and(|bound| bound.column.name == name))?;
    Some(Theirs { name: under(nth), ..columns.picked[nth].clone() })
}

/// Whether a column is read here as it stands there. Of texts a decimal sign is read here alone.
fn is_as_it_stands(own: &Bound<'_>, theirs: &Theirs) -> bool {
    super::is_plain(own) && (theirs.form != Form::Text || own.rule.decimal.is_none())
}

/// Whether one of these numbers is a text that the engine reads no number from.
fn unread(names: &[&str], columns: &Columns<'_>) -> String {
    let texts = names.iter().filter_map(|name| theirs_of(name, columns)).filter(|theirs| theirs.form == Form::Text);
    let said: Vec<String> =
        texts.map(|theirs| theirs.sql()).map(|text| format!("ifNull(notEmpty({text}) AND isNull(toFloat64OrNull({text})), 0)")).collect();
    if said.is_empty() { "0".to_owned() } else { format!("({})", said.join(" OR ")) }
}

/// The value of a column as sums take it.
fn value(name: &str, theirs: &Theirs) -> Option<String> {
    let column = theirs.sql();
    // What stands behind a NULL is anything: it is said what it is here, or its row is none.
    match (name, theirs.form) {
        ("token_address" | "holder_address", Form::Text | Form::Fixed(_) | Form::Word) => {
            Some(format!("ifNull({}, '')", sql::cast(theirs, false)))
        }
        ("interval", Form::Text | Form::Fixed(_) | Form::Word) => Some(format!("trimBoth(ifNull({}, ''))", sql::cast(theirs, false))),
        ("timestamp", Form::Time | Form::Day) => Some(format!("assumeNotNull(toUnixTimestamp64Milli({}))", sql::cast(theirs, false))),
        ("token_address" | "holder_address" | "interval" | "timestamp", _) => None,
        // As what its shortest text says.
        (_, Form::Single) => Some(format!("assumeNotNull(ifNull(toFloat64(toString({column})), nan))")),
        (_, Form::Float | Form::Whole) => Some(format!("assumeNotNull(ifNull(toFloat64({column}), nan))")),
        (_, Form::Wide | Form::Text) => Some(format!("assumeNotNull(ifNull(toFloat64OrNull(toString({column})), nan))")),
        _ => None,
    }
}

/// A number that each row says.
fn first(frame: &DataFrame, name: &str) -> Option<u64> {
    frame.column(name).ok()?.cast(&DataType::UInt64).ok()?.u64().ok()?.get(0)
}

/// What the token's rows are known by that an answer is of.
pub(super) fn state(frames: &[DataFrame]) -> Option<State> {
    let frame = frames.first()?;
    Some(State { rows: first(frame, "listed")?, mark: first(frame, "mark")? })
}
