//! The queries over the rows of a table at an engine, one function each: what is counted when it is loaded, the days of all tokens, a
//! token's candles for its chart, and its largest holders or newest transfers. `base` is the table in canonical columns (`columns`);
//! `pages` has the queries of `/tables`.

use model::time::{DAY_MS, HOUR_MS};

/// Days before a token's newest candle in which its hours come with the table.
const HOURS_DAYS: i64 = 8;
/// Days of each token that come with the table where all would be more than `DAYS_MAX`.
pub(super) const DAYS_OF_MANY: i64 = 400;
/// Most days of all tokens that come with the table.
pub(super) const DAYS_MAX: u64 = 5_000_000;

/// Candles that are looked through together for two of one time.
const TOGETHER: i64 = 1_024;

/// What is counted of each token, as it is written. `listed`: rows that are used; `held` and `balance`: holders with a balance above zero
/// and their sum; `days`: an upper bound of the number of days; `again`: rows that repeat another; `written`: spellings in mixed case; the others: rows
/// that are not used, by reason.
pub(super) fn counts(table: &str, base: &str) -> String {
    let written = "groupUniqArrayIf(3)(raw, raw != token) AS written";
    match table {
        "candles" => {
            let part = format!("if({DIVIDES}, {DAY_MS}, greatest(ms, 1) * {TOGETHER})");
            let series = format!(
                "SELECT any(raw) AS spelled, token, ms, countIf(used) AS n, uniqExactIf(ts, used) AS times, sum(unread) AS strange, \
                 countIf(timeless) AS a, countIf(NOT timeless AND NOT priced) AS b, countIf(NOT timeless AND priced AND ms = 0) AS c \
                 FROM (SELECT *, {USED} AS used FROM {base}) GROUP BY token, ms, if(used, intDiv(ts, {part}), 0), raw != token"
            );
            format!(
                "SELECT token AS token_address, sum(n) AS listed, toUInt64(0) AS held, toFloat64(0) AS balance, sum(if({DIVIDES}, n > 0, n)) AS days, \
                 sum(n - times) AS again, groupUniqArrayIf(3)(spelled, spelled != token) AS written, sum(strange) AS strange, [sum(a), sum(b), sum(c)] AS lost FROM ({series}) GROUP BY token"
            )
        }
        "holders" => format!(
            "SELECT token AS token_address, count() AS listed, countIf(b > 0) AS held, sumKahanIf(ifNull(b, 0), b > 0) AS balance, \
             toUInt64(0) AS days, count() - uniqExact(holder) AS again, {written}, sum(unread) AS strange, {} AS lost FROM {base} GROUP BY token",
            lost(&["NOT match(holder, '^0x[0-9a-f]{40}$')", "0", "0"])
        ),
        _ => format!(
            "SELECT token AS token_address, countIf(notEmpty(h)) AS listed, toUInt64(0) AS held, toFloat64(0) AS balance, toUInt64(0) AS days, \
             toUInt64(0) AS again, {written}, toUInt64(0) AS strange, {} AS lost FROM {base} GROUP BY token",
            lost(&["empty(h)", "0", "0"])
        ),
    }
}

fn lost(why: &[&str; 3]) -> String {
    let counts = why.map(|why| format!("countIf({why})"));
    format!("[{}]", counts.join(", "))
}

/// SQL: whether a candle is used.
pub(super) const USED: &str = "NOT timeless AND priced AND ms > 0";
/// SQL: whether the interval of a candle is shorter than a day and divides it; than an hour.
const DIVIDES: &str = "(ms > 0 AND ms < 86400000 AND 86400000 % greatest(ms, 1) = 0)";
const IN_HOURS: &str = "(ms > 0 AND ms < 3600000 AND 3600000 % greatest(ms, 1) = 0)";

/// The columns of candles that templates make, with their types.
pub(super) const CANDLE_COLUMNS: [(&str, &str); 10] = [
    ("token_address", "String"),
    ("interval", "String"),
    ("timestamp", "DateTime64(3, 'UTC')"),
    ("open", "Float64"),
    ("high", "Float64"),
    ("low", "Float64"),
    ("close", "Float64"),
    ("volume", "Nullable(Float64)"),
    ("volume_usd", "Nullable(Float64)"),
    ("source", "Nullable(String)"),
];

/// Candles made of those of `rows`, which have a column `at`, the time of the one that they become a part of, and `word`, its interval;
/// `plain` marks those that stay as they are. As by `frames::resample`: of valid candles, unknown volumes count as nothing.
fn made(rows: &str, sound: &str) -> String {
    let sum = |column: &str| {
        format!(
            "if(countIf(ok AND isFinite({column})) = 0, NULL, sumKahanIf({column}, ok AND isFinite({column})))"
        )
    };
    let marked = format!("SELECT *, plain OR ({sound}) AS ok FROM ({rows})");
    format!(
        "SELECT token AS token_address, word AS interval, fromUnixTimestamp64Milli(at, 'UTC') AS timestamp, argMinIf(o, ts, ok) AS open, \
         maxIf(h, ok) AS high, minIf(l, ok) AS low, argMaxIf(c, ts, ok) AS close, {} AS volume, {} AS volume_usd, \
         nullIf(argMaxIf(s, ts, ok), '') AS source FROM ({marked}) GROUP BY token, word, at HAVING countIf(ok) > 0",
        sum("v"),
        sum("u")
    )
}

/// The candles of a token for its chart: no chart is finer than an hour, so that those of intervals that divide an hour become hours; all
/// others are as they are.
pub(super) fn chart(base: &str, sound: &str) -> String {
    made(
        &format!(
            "SELECT *, frame AS word, NOT {IN_HOURS} AS plain, toInt64(if(plain, ts, {})) AS at FROM {base} WHERE {USED}",
            floor(HOUR_MS)
        ),
        sound,
    )
}

/// All days of all tokens (or the last of each), and what is longer; and the candles of the last days as in a chart. The days are the
/// table's own and, before and after them, those made of its longest candles that divide a day.
pub(super) fn days(base: &str, sound: &str, last: bool) -> String {
    let rows = format!("(SELECT * FROM {base} WHERE {USED})");
    let extents = format!(
        "SELECT token, minIf(ts, ms = {DAY_MS}) AS own_first, maxIf(ts, ms = {DAY_MS}) AS own_last, countIf(ms = {DAY_MS}) AS own_days, \
         maxIf(ms, {DIVIDES}) AS finer, max(ts) AS newest FROM {rows} GROUP BY token"
    );
    let all = format!("SELECT * FROM {rows} AS r INNER JOIN ({extents}) AS e USING token");
    let since = if last {
        format!("ts >= newest - {}", DAYS_OF_MANY * DAY_MS)
    } else {
        "1".to_owned()
    };
    let own = format!(
        "SELECT *, frame AS word, true AS plain, ts AS at FROM ({all}) WHERE NOT {DIVIDES} AND {since}"
    );
    let day = floor(DAY_MS);
    let whole = format!(
        "SELECT *, '1d' AS word, false AS plain, {day} AS at FROM ({all}) WHERE {DIVIDES} AND ms = finer AND {since} AND (own_days = 0 OR \
         {day} < intDiv(own_first, {DAY_MS}) * {DAY_MS} OR ts >= intDiv(own_last + {}, {DAY_MS}) * {DAY_MS})",
        2 * DAY_MS - 1
    );
    // Of each series its own last days: which of them days would be made of depends on which there are.
    let ends = format!("SELECT token, ms, max(ts) AS ended FROM {rows} GROUP BY token, ms");
    let hours = format!(
        "SELECT *, frame AS word, NOT {IN_HOURS} AS plain, toInt64(if(plain, ts, {})) AS at FROM {rows} AS r INNER JOIN ({ends}) AS e \
         USING (token, ms) WHERE {DIVIDES} AND ts > ended - {}",
        floor(HOUR_MS),
        HOURS_DAYS * DAY_MS
    );
    [own, whole, hours]
        .map(|rows| made(&rows, sound))
        .join(" UNION ALL ")
}

fn floor(span: i64) -> String {
    format!("toInt64(floor(ts / {span}) * {span})")
}

/// Of `rows`, as they stand at the engine, the first in this order; all where there are no more.
pub(super) fn first(rows: &str, order: &[String], most: u64, listed: u64) -> String {
    if listed <= most || order.is_empty() {
        rows.to_owned()
    } else {
        format!("{rows} ORDER BY {} LIMIT {most}", order.join(", "))
    }
}
