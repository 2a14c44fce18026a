//! What is worked out over a table where it lies, so that its rows need not come: a closed set. Each sum is said in SQL here, and in the
//! tests over rows in memory: the two give the same rows.

pub(super) mod chart;
pub(super) mod holders;
pub(super) mod market;
pub(super) mod page;

use std::sync::{Arc, atomic::Ordering};

use polars::prelude::{DataFrame, DataType};

use super::{
    Asking, filter, ours,
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
        source::{arrow_stream, forward::Forward},
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
    /// Some rows of one token in the order of the table, from a place among them on.
    Page { table: &'static str, from: u64, count: u64, behind: u64 },
}

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
            counted = total(&frame).ok_or_else(|| odd("has other columns".to_owned()))?;
            if counted > sum.rows_max() {
                let [counted, most] = [counted, sum.rows_max()].map(super::grouped);
                return Err(Stop::Unusable(format!(
                    "`{}` cannot stay in place: {counted} rows tell of it, and {most} are held; name fewer tokens with `where` in \
                     dataset.toml, or say read = \"bring\"",
                    self.name
                )));
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

    /// The table as sums take it: each column of it as an expression, in the order of the names; rows that `conditions` keep.
    fn taken(&self, names: &[&str], picked: &[Theirs], bound: &[Bound<'_>]) -> Result<Vec<String>, Stop> {
        let column = |name: &&str| {
            let own = bound.iter().find(|bound| bound.column.name == *name);
            let theirs = picked.iter().find(|column| ours(column, bound).is_some_and(|bound| bound.column.name == *name));
            // A volume in another unit needs each candle's price.
            let unknown = *name == "volume" && own.is_some_and(Bound::is_absent);
            match (own.and_then(|own| own.constant), theirs) {
                (Some(constant), _) => Ok(sql::text(constant)),
                _ if unknown => Ok("nan".to_owned()),
                (None, Some(theirs)) if ours(theirs, bound).is_some_and(super::is_plain) => {
                    value(name, theirs).ok_or_else(|| self.lacks(name))
                }
                _ => Err(self.lacks(name)),
            }
        };
        names.iter().map(column).collect()
    }

    /// Rows of the table as sums take them.
    pub(super) fn base(&self, picked: &[Theirs], bound: &[Bound<'_>], conditions: &[String]) -> Result<String, Stop> {
        let (from, filter) = (self.from(), filter(conditions));
        if self.schema.name == "holders" {
            let columns = self.taken(&["token_address", "holder_address", "balance"], picked, bound)?;
            let [token, holder, balance] = &columns[..] else { return Err(self.lacks("balance")) };
            return Ok(format!(
                "(SELECT raw, lower(raw) AS token, lower(own) AS holder, if(isFinite(amount), amount, NULL) AS b FROM \
                 (SELECT {token} AS raw, {holder} AS own, {balance} AS amount FROM {from}{filter}))"
            ));
        }
        let names = ["token_address", "interval", "timestamp", "open", "high", "low", "close", "volume"];
        let columns = self.taken(&names, picked, bound)?;
        let [token, interval, time, open, high, low, close, volume] = &columns[..] else { return Err(self.lacks("close")) };
        // Those without a price are none.
        Ok(format!(
            "(SELECT *, lower(raw) AS token, {} AS ms FROM (SELECT {token} AS raw, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, \
             {low} AS l, {close} AS c, {volume} AS v FROM {from}{filter}) WHERE isFinite(o) AND isFinite(h) AND isFinite(l) AND isFinite(c))",
            LENGTH
        ))
    }

    fn lacks(&self, name: &str) -> Stop {
        Stop::Unusable(format!(
            "`{}` cannot stay in place: `{name}` is not there as it is needed (a text, a DateTime or a number, read without `values`, `format`, \
             `scale` or `unit`); say read = \"bring\", or a `query` that makes it so",
            self.name
        ))
    }
}

/// The length of an interval, as `Interval::parse` reads it; 0 where it reads none.
const LENGTH: &str = "toInt64OrZero(extract(frame, '^[0-9]+')) * transform(extract(frame, '[a-zA-Z]*$'), \
                      ['s', 'S', '', 'm', 'min', 'h', 'H', 'd', 'D', 'w', 'W'], \
                      [1000, 1000, 60000, 60000, 60000, 3600000, 3600000, 86400000, 86400000, 604800000, 604800000], 0)";

/// The value of a column as sums take it.
fn value(name: &str, theirs: &Theirs) -> Option<String> {
    let column = theirs.sql();
    match (name, theirs.form) {
        ("token_address" | "holder_address", Form::Text | Form::Fixed(_) | Form::Word) => {
            Some(format!("assumeNotNull({})", sql::cast(theirs, false)))
        }
        ("interval", Form::Text | Form::Fixed(_) | Form::Word) => Some(format!("trimBoth(assumeNotNull({}))", sql::cast(theirs, false))),
        ("timestamp", Form::Time | Form::Day) => Some(format!("assumeNotNull(toUnixTimestamp64Milli({}))", sql::cast(theirs, false))),
        ("token_address" | "holder_address" | "interval" | "timestamp", _) => None,
        (_, Form::Float | Form::Whole) => Some(format!("assumeNotNull(ifNull(toFloat64({column}), nan))")),
        (_, Form::Wide | Form::Text) => Some(format!("assumeNotNull(ifNull(toFloat64OrNull(toString({column})), nan))")),
        _ => None,
    }
}

/// How many rows there are in all, as each of them says.
fn total(frame: &DataFrame) -> Option<u64> {
    frame.column(ROWS).ok()?.cast(&DataType::UInt64).ok()?.u64().ok()?.get(0)
}
