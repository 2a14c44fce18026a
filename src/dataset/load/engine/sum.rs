//! What is worked out over a table where it lies, so that its rows need not come: a closed set. Each sum is said in SQL here, and in the
//! tests over rows in memory: the two give the same rows.

use super::{
    Asking, filter, ours,
    sql::{self, Form, Theirs},
};
use crate::dataset::{
    address::Address,
    candles::shelf::{CHANGES, RECENT_DAYS},
    load::{bind::Bound, table::Stop},
    time::DAY_MS,
};

/// Something that is worked out there: of each token and interval the candles that the market's figures are made of, and no others. These
/// are, of those that can be believed, all of the last day, the last of each day, and those on either side of the marks that the last price
/// is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sum {
    /// Among those that start less than `RECENT_DAYS` before the last of their token and interval.
    Recent,
    /// Among all there are, of some tokens, of which the last days do not tell enough.
    Whole(Vec<Address>),
}

/// The columns of candles that sums are made of, as texts and numbers.
const COLUMNS: [&str; 8] = ["token_address", "interval", "timestamp", "open", "high", "low", "close", "volume"];

/// The names of what a sum gives of each token and interval: when the first and the last of its candles start that were looked at, whether
/// there are older ones, the candles as three lists, how the token is written where not in small letters, and how many rows come.
pub(super) const GIVES: [&str; 10] =
    ["token_address", "interval", "first", "newest", "cut", "timestamp", "close", "volume", "written", "rows"];

/// The most tokens and intervals that a sum gives.
pub(super) const ROWS_MAX: u64 = 1_000_000;

/// Before and behind every time there is.
pub(super) const NEVER: i64 = 4_000_000_000_000_000;

impl Sum {
    /// The query, over candles as `base` gives them.
    pub(super) fn sql(&self, base: &str) -> String {
        let span = RECENT_DAYS * DAY_MS;
        let (some, recent) = match self {
            Self::Recent => (String::new(), format!(" WHERE ts > hi - {span}")),
            Self::Whole(tokens) => {
                let tokens: Vec<String> = tokens.iter().map(|token| sql::text(&token.to_string())).collect();
                (format!(" WHERE token IN ({})", tokens.join(", ")), String::new())
            }
        };
        let base = format!("(SELECT * FROM {base}{some})");
        // As `Interval::parse` reads it; 0 where it reads none.
        let length = "toInt64OrZero(extract(frame, '^[0-9]+')) * transform(extract(frame, '[a-zA-Z]*$'), \
                      ['s', 'S', '', 'm', 'min', 'h', 'H', 'd', 'D', 'w', 'W'], \
                      [1000, 1000, 60000, 60000, 60000, 3600000, 3600000, 86400000, 86400000, 604800000, 604800000], 0)";
        let series = format!(
            "SELECT token, frame, {length} AS ms, any(hi) AS newest, any(lo) AS oldest, min(ts) AS first, \
             groupUniqArrayIf(3)(raw, raw != token) AS written, \
             arraySort(x -> x.1, groupArrayIf((ts, c, v), l > 0 AND l <= o AND l <= c AND o <= h AND c <= h)) AS k FROM {base} AS b \
             INNER JOIN (SELECT token, frame, max(ts) AS hi, min(ts) AS lo FROM {base} GROUP BY token, frame) AS g \
             USING (token, frame){recent} GROUP BY token, frame"
        );
        // The price is the last close of the series that ends last, of two the finer.
        let ends = format!(
            "SELECT *, argMax(tuple(if(empty(k), -{NEVER}, tupleElement(k[-1], 1)) + ms), tuple(newest, -ms)) OVER (PARTITION BY token) AS own \
             FROM ({series}) WHERE ms > 0"
        );
        let marks = CHANGES.map(|span| {
            let (at, mark) = (|time: &str| format!("{time} + ms"), format!("own.1 - {span}"));
            let [this, before, after] = ["x.1", "p", "n"].map(at);
            format!("({this} < {mark} AND {after} >= {mark}) OR ({this} >= {mark} AND {before} < {mark})")
        });
        let kept = format!(
            "arrayFilter((x, p, n) -> x.1 >= newest + ms - {DAY_MS} OR intDiv(x.1, {DAY_MS}) != intDiv(n, {DAY_MS}) OR {}, k, \
             arrayResize(arrayPushFront(arrayMap(x -> x.1, arrayPopBack(k)), toInt64(-{NEVER})), length(k)), \
             arrayResize(arrayPushBack(arrayMap(x -> x.1, arrayPopFront(k)), toInt64({NEVER})), length(k)))",
            marks.join(" OR ")
        );
        format!(
            "SELECT token AS token_address, frame AS interval, first, newest, toUInt8(oldest <= newest - {span}) AS cut, \
             arrayMap(x -> x.1, kept) AS timestamp, arrayMap(x -> x.2, kept) AS close, arrayMap(x -> x.3, kept) AS volume, written, \
             count() OVER () AS rows FROM (SELECT *, {kept} AS kept FROM ({ends}))"
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
            "(SELECT *, lower(raw) AS token FROM (SELECT {token} AS raw, {interval} AS frame, {time} AS ts, {open} AS o, {high} AS h, {low} AS l, {close} AS c, \
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
        ("token_address", Form::Text | Form::Fixed(_) | Form::Word) => Some(format!("assumeNotNull({})", sql::cast(theirs, false))),
        ("interval", Form::Text | Form::Fixed(_) | Form::Word) => Some(format!("trimBoth(assumeNotNull({}))", sql::cast(theirs, false))),
        ("timestamp", Form::Time | Form::Day) => Some(format!("assumeNotNull(toUnixTimestamp64Milli({}))", sql::cast(theirs, false))),
        ("token_address" | "interval" | "timestamp", _) => None,
        (_, Form::Float | Form::Whole) => Some(format!("assumeNotNull(ifNull(toFloat64({column}), nan))")),
        (_, Form::Wide | Form::Text) => Some(format!("assumeNotNull(ifNull(toFloat64OrNull(toString({column})), nan))")),
        _ => None,
    }
}
