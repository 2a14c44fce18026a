//! What is worked out over a table where it lies, so that its rows need not come: a closed set. Each sum is said in SQL here, and in the
//! tests over rows in memory: the two give the same rows.

use super::{
    Asking, filter, ours,
    sql::{self, Form, Theirs},
};
use crate::dataset::{
    address::Address,
    candles::shelf::RECENT_DAYS,
    load::{bind::Bound, table::Stop},
    time::DAY_MS,
};

/// Something that is worked out there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sum {
    /// Of each token and interval the candles that start less than `RECENT_DAYS` before its last: those that the market's figures read.
    Recent,
    /// All candles of some tokens, of which the last days do not tell enough.
    Whole(Vec<Address>),
}

/// The columns of candles that sums are made of, as texts and numbers.
const COLUMNS: [&str; 8] = ["token_address", "interval", "timestamp", "open", "high", "low", "close", "volume"];

/// The names of what a sum of candles gives: those of the candles, whether there are older ones, and how many rows come.
pub(super) const GIVES: [&str; 10] = ["token_address", "interval", "timestamp", "open", "high", "low", "close", "volume", "cut", "rows"];

/// The most candles that a sum gives.
pub(super) const ROWS_MAX: u64 = 5_000_000;

impl Sum {
    /// The query, over candles as `base` gives them.
    pub(super) fn sql(&self, base: &str) -> String {
        let span = RECENT_DAYS * DAY_MS;
        let (some, recent) = match self {
            Self::Recent => (String::new(), format!(" WHERE ts > newest - {span}")),
            Self::Whole(tokens) => {
                let tokens: Vec<String> = tokens.iter().map(|token| sql::text(&token.to_string())).collect();
                (format!(" WHERE token IN ({})", tokens.join(", ")), String::new())
            }
        };
        let base = format!("(SELECT * FROM {base}{some})");
        format!(
            "SELECT token AS token_address, frame AS interval, ts AS timestamp, o AS open, h AS high, l AS low, c AS close, v AS volume, \
             toUInt8(oldest <= newest - {span}) AS cut, count() OVER () AS rows FROM {base} AS b \
             INNER JOIN (SELECT token, frame, max(ts) AS newest, min(ts) AS oldest FROM {base} GROUP BY token, frame) AS g \
             USING (token, frame){recent}"
        )
    }
}

impl Asking<'_> {
    /// The candles as sums take them: in texts, milliseconds and numbers, without those that have none.
    pub(super) fn candles(&self, picked: &[Theirs], bound: &[Bound<'_>], conditions: &[String]) -> Result<String, Stop> {
        let mut columns = Vec::new();
        for name in COLUMNS {
            let constant = bound.iter().find(|bound| bound.column.name == name).and_then(|bound| bound.constant);
            let theirs = picked.iter().find(|column| ours(column, bound).is_some_and(|bound| bound.column.name == name));
            // A volume in another unit needs each candle's price.
            let unknown = name == "volume" && bound.iter().any(|bound| bound.column.name == name && bound.is_absent());
            columns.push(match (constant, theirs) {
                (Some(constant), _) => sql::text(constant),
                _ if unknown => "nan".to_owned(),
                (None, Some(theirs)) if ours(theirs, bound).is_some_and(super::is_plain) => {
                    value(name, theirs).ok_or_else(|| self.lacks(name))?
                }
                _ => return Err(self.lacks(name)),
            });
        }
        let [token, interval, time, open, high, low, close, volume] = &columns[..] else { return Err(self.lacks("close")) };
        Ok(format!(
            "(SELECT * FROM (SELECT {token} AS token, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, {low} AS l, {close} AS c, \
             {volume} AS v FROM {}{}) WHERE isFinite(o) AND isFinite(h) AND isFinite(l) AND isFinite(c))",
            self.from(),
            filter(conditions)
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

/// The value of a column as sums take it.
fn value(name: &str, theirs: &Theirs) -> Option<String> {
    let column = theirs.sql();
    match (name, theirs.form) {
        ("token_address", Form::Text | Form::Fixed(_) | Form::Word) => Some(format!("assumeNotNull(lower({}))", sql::cast(theirs, false))),
        ("interval", Form::Text | Form::Fixed(_) | Form::Word) => Some(format!("assumeNotNull({})", sql::cast(theirs, false))),
        ("timestamp", Form::Time | Form::Day) => Some(format!("assumeNotNull(toUnixTimestamp64Milli({}))", sql::cast(theirs, false))),
        ("token_address" | "interval" | "timestamp", _) => None,
        (_, Form::Float | Form::Whole) => Some(format!("assumeNotNull(ifNull(toFloat64({column}), nan))")),
        (_, Form::Wide | Form::Text) => Some(format!("assumeNotNull(ifNull(toFloat64OrNull(toString({column})), nan))")),
        _ => None,
    }
}
