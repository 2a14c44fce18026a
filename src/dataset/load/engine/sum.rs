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
    /// Of each token and interval, of the last days alone: of each day the last candle, the last that can be believed and, of few, the
    /// first; and the candles beside the moment a day before the last of all. They tell what all candles tell of the market.
    Market,
    /// As `Market`, of some tokens, over all days.
    MarketOf(Vec<Address>),
}

/// The columns of candles that sums are made of, as texts and numbers.
const COLUMNS: [&str; 7] = ["token_address", "interval", "timestamp", "open", "high", "low", "close"];

/// The names of what a sum of candles gives.
pub(super) const GIVES: [&str; 7] = ["token_address", "interval", "timestamp", "close", "valid", "cut", "rows"];

impl Sum {
    /// The query, over candles as `base` gives them.
    pub(super) fn sql(&self, base: &str) -> String {
        let (day, span) = (DAY_MS, RECENT_DAYS * DAY_MS);
        let (some, recent) = match self {
            Self::Market => (String::new(), format!(" WHERE ts > newest - {span}")),
            Self::MarketOf(tokens) => {
                let tokens: Vec<String> = tokens.iter().map(|token| sql::text(&token.to_string())).collect();
                (format!(" WHERE token IN ({})", tokens.join(", ")), String::new())
            }
        };
        let base = format!("(SELECT * FROM {base}{some})");
        let valid = "l > 0 AND h < inf AND l <= o AND l <= c AND o <= h AND c <= h";
        // Candles of each day, joined with what is known of all days; each row says how many there are.
        format!(
            "SELECT token AS token_address, frame AS interval, r.1 AS timestamp, r.2 AS close, r.3 AS valid, \
             toUInt8(oldest <= newest - {span}) AS cut, count() OVER () AS rows FROM (SELECT token, frame, newest, oldest, \
             arrayJoin(arrayDistinct(arrayConcat([last_row], if(good > 0, [good_row], []), if(of_day <= 2, [first_row], []), \
             if(earlier > 0, [mark_row], []), if(later > 0, [next_row], [])))) AS r FROM (SELECT token, frame, newest, oldest, \
             intDiv(ts, {day}) AS at_day, count() AS of_day, countIf(v = 1) AS good, countIf(ts < newest - {day}) AS earlier, \
             countIf(ts >= newest - {day}) AS later, argMax((ts, c, v), ts) AS last_row, argMin((ts, c, v), ts) AS first_row, \
             argMaxIf((ts, c, v), ts, v = 1) AS good_row, argMaxIf((ts, c, v), ts, ts < newest - {day}) AS mark_row, \
             argMinIf((ts, c, v), ts, ts >= newest - {day}) AS next_row FROM (SELECT token, frame, ts, c, toUInt8({valid}) AS v, newest, \
             oldest FROM {base} AS b INNER JOIN (SELECT token, frame, max(ts) AS newest, min(ts) AS oldest FROM {base} GROUP BY token, frame) \
             AS g USING (token, frame)){recent} GROUP BY token, frame, newest, oldest, at_day))"
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
            columns.push(match (constant, theirs) {
                (Some(constant), _) => sql::text(constant),
                (None, Some(theirs)) if self.is_plain(theirs, bound) => value(name, theirs).ok_or_else(|| self.lacks(name))?,
                _ => return Err(self.lacks(name)),
            });
        }
        let [token, interval, time, open, high, low, close] = &columns[..] else { return Err(self.lacks("close")) };
        Ok(format!(
            "(SELECT * FROM (SELECT {token} AS token, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, {low} AS l, {close} AS c \
             FROM {}{}) WHERE isFinite(o) AND isFinite(h) AND isFinite(l) AND isFinite(c))",
            self.from(),
            filter(conditions)
        ))
    }

    /// Whether the column is read as it stands.
    fn is_plain(&self, theirs: &Theirs, bound: &[Bound<'_>]) -> bool {
        ours(theirs, bound).is_some_and(super::is_plain)
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
