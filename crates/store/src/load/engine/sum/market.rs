//! Candles for the market metrics, by token and interval. They include all valid candles of the last day, the last candle per day, and the
//! two around each time that the last price is compared with.

use std::collections::{BTreeMap, HashMap, HashSet};

use polars::prelude::{
    Column, DataFrame, DataType, Float64Type, Int64Type, IntoColumn, ListBuilderTrait as _,
    ListPrimitiveChunkedBuilder,
};

use super::{super::sql, CHECKSUM, counts, holders::mixed_case, lists, texts, whole};
use crate::load::task::TableLoadError;
use model::{
    address::Address,
    candles::{CHANGES, HISTORY_DAYS, Interval, RECENT_DAYS},
    format::plural,
    holding::ListedBalances,
    time::DAY_MS,
};

/// Column with the number of candles in the whole result, and its maximum.
pub(super) const CANDLES: &str = "candles";
pub(super) const CANDLES_MAX: u64 = 5_000_000;

/// Maximum number of result rows: tokens times intervals.
pub(in super::super) const ROWS_MAX: u64 = 1_000_000;

/// A time after all others; negated, before all others.
pub(in super::super) const NEVER: i64 = 4_000_000_000_000_000;

/// SQL over candles in `base`: those of the recent days of all tokens, or all of some tokens. Per token and interval: times of the first and
/// the last candle in the span, whether there are older ones, the candles as three lists, mixed-case spellings of the token; the number of
/// candles, their checksum, and the number of duplicate times in the span. The volume is that which makes what was paid, where it is known.
pub(super) fn sql(base: &str, tokens: Option<&[Address]>) -> String {
    let span = RECENT_DAYS * DAY_MS;
    let (some, recent) = match tokens {
        None => (String::new(), format!(" WHERE ts > hi - {span}")),
        Some(tokens) => {
            let tokens: Vec<String> = tokens
                .iter()
                .map(|token| sql::text(&token.to_string()))
                .collect();
            (
                format!(" AND token IN ({})", tokens.join(", ")),
                String::new(),
            )
        }
    };
    let (base, sound) = (
        format!("(SELECT * FROM {base} WHERE ms > 0{some})"),
        super::sound(),
    );
    let series = format!(
        "SELECT token, ms, any(frame) AS word, any(hi) AS newest, any(lo) AS oldest, any(n) AS count, any(content) AS mark, min(ts) AS first, \
         count() - uniqExact(ts) AS again, \
         groupUniqArrayIf(3)(raw, raw != token) AS written, \
         arraySort(x -> x.1, groupArrayIf((ts, c, if(isFinite(u), u / c, v)), {sound})) AS k FROM {base} AS b \
         INNER JOIN (SELECT token, ms, max(ts) AS hi, min(ts) AS lo, count() AS n, {CHECKSUM} AS content FROM {base} GROUP BY token, ms) AS g \
         USING (token, ms){recent} GROUP BY token, ms"
    );
    // The price is the last close of the series that ends last; of two, the finer.
    let ends = format!(
        "SELECT *, argMax(tuple(if(empty(k), -{NEVER}, tupleElement(k[-1], 1)) + ms), tuple(newest, -ms)) OVER (PARTITION BY token) AS own \
         FROM ({series})"
    );
    let marks = CHANGES.map(|span| {
        let (at, mark) = (
            |time: &str| format!("{time} + ms"),
            format!("own.1 - {span}"),
        );
        let [this, before, after] = ["x.1", "p", "n"].map(at);
        format!(
            "({this} < {mark} AND {after} >= {mark}) OR ({this} >= {mark} AND {before} < {mark})"
        )
    });
    let kept = format!(
        "arrayFilter((x, p, n) -> x.1 >= newest + ms - {DAY_MS} OR intDiv(x.1, {DAY_MS}) != intDiv(n, {DAY_MS}) OR {}, k, \
         arrayResize(arrayPushFront(arrayMap(x -> x.1, arrayPopBack(k)), toInt64(-{NEVER})), length(k)), \
         arrayResize(arrayPushBack(arrayMap(x -> x.1, arrayPopFront(k)), toInt64({NEVER})), length(k)))",
        marks.join(" OR ")
    );
    format!(
        "SELECT token AS token_address, word AS interval, first, newest, toUInt8(oldest <= newest - {span}) AS cut, \
         arrayMap(x -> x.1, kept) AS timestamp, arrayMap(x -> x.2, kept) AS close, arrayMap(x -> x.3, kept) AS volume, written, \
         count, mark, again, sum(length(kept)) OVER () AS {CANDLES} FROM (SELECT *, {kept} AS kept FROM ({ends}))"
    )
}

/// Time, close and volume.
type Candle = (i64, f64, f64);

/// A result row: one token and interval.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Row {
    pub(in super::super) token: Address,
    pub(in super::super) interval: Interval,
    /// Times of the first and the last candle in the span, sound or not.
    pub(in super::super) first: i64,
    pub(in super::super) newest: i64,
    /// Whether there are candles older than the span.
    pub(in super::super) cut: bool,
    /// Sound candles, by time.
    pub(in super::super) candles: Vec<Candle>,
    /// Number of candles, and their checksum.
    pub(in super::super) count: u64,
    pub(in super::super) checksum: u64,
    /// Number of duplicate times in the span.
    pub(in super::super) duplicates: u64,
    /// Whether the token is written in mixed case, by which its rows would not be found.
    pub(in super::super) mixed_case: bool,
}

impl Row {
    /// Takes in a row of the same token and interval, which was spelled in two ways, and says whether it is that.
    fn absorbed(&mut self, other: &mut Self) -> bool {
        let same = (self.token, self.interval) == (other.token, other.interval);
        if same {
            (self.first, self.newest) =
                (self.first.min(other.first), self.newest.max(other.newest));
            self.count += other.count;
            self.checksum = self.checksum.wrapping_add(other.checksum);
            self.candles.append(&mut other.candles);
            self.candles.sort_by_key(|(time, ..)| *time);
            self.candles.dedup_by_key(|(time, ..)| *time);
        }
        same
    }
}

/// Finds a coin without a contract among the tokens.
pub(in super::super) fn coin(frame: &DataFrame) -> Option<String> {
    let is_coin = |token: &&str| {
        Address::parse(token.trim()).is_none() && Address::or_coin(token.trim()).is_some()
    };
    texts(frame, "token_address")?
        .iter()
        .flatten()
        .find(is_coin)
        .map(str::to_owned)
}

/// Decodes the rows of a result.
pub(in super::super) fn read(frame: &DataFrame) -> Option<Vec<Row>> {
    let (tokens, intervals) = (texts(frame, "token_address")?, texts(frame, "interval")?);
    let (first, newest, cut) = (
        whole(frame, "first")?,
        whole(frame, "newest")?,
        whole(frame, "cut")?,
    );
    let (count, checksum, duplicates) = (
        counts(frame, COUNT)?,
        counts(frame, SERIES_CHECKSUM)?,
        counts(frame, "again")?,
    );
    let (times, mixed_case) = (
        lists(frame, "timestamp", DataType::Int64)?,
        mixed_case(frame)?,
    );
    let (closes, volumes) = (
        lists(frame, "close", DataType::Float64)?,
        lists(frame, "volume", DataType::Float64)?,
    );
    let row = |i: usize| {
        let (token, interval) = (tokens.get(i)?, Interval::parse(intervals.get(i)?.trim()));
        // A row without a token or an interval is dropped here as in the loader; one with blanks around its token would be found by no query.
        let Some((token, interval)) = Address::or_coin(token).zip(interval) else {
            return Some(None);
        };
        let [times, closes, volumes] =
            [&times, &closes, &volumes].map(|lists| lists.get_as_series(i));
        let (times, closes, volumes) = (times?, closes?, volumes?);
        if times.len() != closes.len() || times.len() != volumes.len() || times.null_count() > 0 {
            return None;
        }
        let figures = closes
            .f64()
            .ok()?
            .iter()
            .zip(volumes.f64().ok()?.iter())
            .map(|(close, volume)| (close.unwrap_or(f64::NAN), volume.unwrap_or(f64::NAN)));
        let candles: Vec<Candle> = times
            .i64()
            .ok()?
            .iter()
            .flatten()
            .zip(figures)
            .map(|(time, (close, volume))| (time, close, volume))
            .collect();
        candles.is_sorted_by_key(|(time, ..)| *time).then_some(())?;
        Some(Some(Row {
            token,
            interval,
            first: first.get(i)?,
            newest: newest.get(i)?,
            cut: cut.get(i)? == 1,
            candles,
            count: count.get(i)?,
            checksum: checksum.get(i)?,
            duplicates: duplicates.get(i)?,
            mixed_case: mixed_case[i],
        }))
    };
    let rows: Option<Vec<Option<Row>>> = (0..frame.height()).map(row).collect();
    Some(rows?.into_iter().flatten().collect())
}

/// Tokens whose span lacks daily closes that older candles may have.
pub(in super::super) fn short(rows: &[Row]) -> Vec<Address> {
    let mut days: HashMap<Address, HashMap<i64, usize>> = HashMap::new();
    let mut cut: Vec<Address> = rows
        .iter()
        .filter(|row| row.cut)
        .map(|row| row.token)
        .collect();
    cut.sort_unstable();
    cut.dedup();
    for row in rows {
        let own: HashSet<i64> = row
            .candles
            .iter()
            .map(|(time, ..)| time.div_euclid(DAY_MS))
            .collect();
        // Two spellings of an interval count as one.
        let days = days
            .entry(row.token)
            .or_default()
            .entry(row.interval.0)
            .or_default();
        *days = own.len().max(*days);
    }
    let enough = |token: &Address| {
        let own: Vec<(i64, usize)> = days
            .get(token)
            .into_iter()
            .flatten()
            .map(|(interval, days)| (*interval, *days))
            .collect();
        let daily = own.iter().find(|(interval, _)| *interval == DAY_MS);
        let finer = own
            .iter()
            .filter(|(interval, _)| (1..DAY_MS).contains(interval) && DAY_MS % interval == 0)
            .max();
        daily
            .or(finer)
            .is_some_and(|(_, days)| *days >= HISTORY_DAYS)
    };
    cut.retain(|token| !enough(token));
    cut
}

/// Finding about tokens without a sound candle: they have no price, and nothing else would say why.
pub(in super::super) fn without_price(rows: &[Row]) -> Option<String> {
    let mut sound: BTreeMap<Address, bool> = BTreeMap::new();
    for row in rows {
        *sound.entry(row.token).or_default() |= !row.candles.is_empty();
    }
    let mut without = sound
        .iter()
        .filter(|(_, sound)| !**sound)
        .map(|(token, _)| token);
    let (first, more) = (without.next()?, without.count());
    let others = if more == 0 {
        String::new()
    } else {
        format!(" and {}", plural(more as u64, "more token", "more tokens"))
    };
    Some(format!(
        "no candle of `{first}`{others} is valid: prices must be positive, the low the lowest and the high the highest; check which columns open, high, low, close and volume are read from"
    ))
}

/// Steps of a series that are shorter than its interval, from which the interval must be wrong.
const SHORT_STEPS_MIN: usize = 8;

/// Finding about candles closer together than their interval: figures of days would be those of hours. All candles of the last day are in a row.
pub(in super::super) fn too_close(rows: &[Row]) -> Option<String> {
    let apart = |row: &Row| {
        let mut short: BTreeMap<i64, usize> = BTreeMap::new();
        for step in row
            .candles
            .windows(2)
            .map(|pair| pair[1].0 - pair[0].0)
            .filter(|step| *step < row.interval.0)
        {
            *short.entry(step).or_default() += 1;
        }
        (short.values().sum::<usize>() >= SHORT_STEPS_MIN).then(|| Interval::frequent(short))
    };
    let mut wrong = rows.iter().filter_map(|row| Some((row, apart(row)?)));
    let (first, step) = wrong.next()?;
    let others = match wrong.count() {
        0 => String::new(),
        more => format!(
            " (and in {} more series)",
            super::super::grouped(more as u64)
        ),
    };
    Some(format!(
        "the candles of `{}` are {step} apart, but their interval is {}{others}, so all metrics over a number of candles cover the wrong \
            period; add `set = {{ interval = \"{step}\" }}`, or give each row its own interval",
        first.token, first.interval
    ))
}

/// Columns with the number and the checksum of the candles of a token and interval.
const COUNT: &str = "count";
const SERIES_CHECKSUM: &str = "mark";

/// Number and checksum of each token's candles, from a frame made by `frame`.
pub(in super::super) fn listed(frame: &DataFrame) -> Option<HashMap<Address, ListedBalances>> {
    let (tokens, counts, checksums) = (
        texts(frame, "token_address")?,
        counts(frame, COUNT)?,
        counts(frame, SERIES_CHECKSUM)?,
    );
    let mut listed: HashMap<Address, ListedBalances> = HashMap::new();
    for ((token, rows), checksum) in tokens.iter().zip(counts.iter()).zip(checksums.iter()) {
        let of_token = listed.entry(Address::parse(token?)?).or_default();
        of_token.rows += rows?;
        of_token.checksum = of_token.checksum.wrapping_add(checksum?);
    }
    Some(listed)
}

/// The rows as a table with one row for each token and interval, its candles as lists, for `HeldCandles::of_series`. The first and the last
/// candle are included even if unsound: they give the extent of a series.
pub(in super::super) fn frame(mut rows: Vec<Row>) -> Result<DataFrame, TableLoadError> {
    rows.sort_by_key(|row| (row.token, row.interval));
    rows.dedup_by(|next, row| row.absorbed(next));
    let candles = rows.iter().map(|row| row.candles.len() + 2).sum();
    let floats = |name: &str| {
        ListPrimitiveChunkedBuilder::<Float64Type>::new(
            name.into(),
            rows.len(),
            candles,
            DataType::Float64,
        )
    };
    let (mut closes, mut volumes) = (floats("close"), floats("volume"));
    let mut times = ListPrimitiveChunkedBuilder::<Int64Type>::new(
        "timestamp".into(),
        rows.len(),
        candles,
        DataType::Int64,
    );
    let numbers = |name: &str, number: fn(&Row) -> u64| {
        Column::new(name.into(), rows.iter().map(number).collect::<Vec<_>>())
    };
    let words = |name: &str, word: fn(&Row) -> String| {
        Column::new(name.into(), rows.iter().map(word).collect::<Vec<_>>())
    };
    let mut columns = vec![
        words("token_address", |row| row.token.to_string()),
        words("interval", |row| row.interval.to_string()),
        numbers(COUNT, |row| row.count),
        numbers(SERIES_CHECKSUM, |row| row.checksum),
    ];
    let height = rows.len();
    for Row {
        first,
        newest,
        mut candles,
        ..
    } in rows
    {
        for end in [first, newest] {
            if let Err(place) = candles.binary_search_by_key(&end, |(time, ..)| *time) {
                candles.insert(place, (end, 0.0, f64::NAN));
            }
        }
        times.append_values_iter(candles.iter().map(|(time, ..)| *time));
        closes.append_values_iter(candles.iter().map(|(_, close, _)| *close));
        volumes.append_values_iter(candles.iter().map(|(.., volume)| *volume));
    }
    columns
        .extend([times.finish(), closes.finish(), volumes.finish()].map(IntoColumn::into_column));
    DataFrame::new(height, columns).map_err(|error| TableLoadError::Unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candle_table::HeldCandles;
    use model::time::HOUR_MS;

    #[test]
    fn candles_closer_than_their_interval_are_told() {
        // As of a load: the candles of the last day, and the last one of each day before.
        let series = |step: i64, interval: i64| {
            let days = (0..30).map(|day| day * DAY_MS - step);
            // And one at an odd minute.
            let last =
                (0..DAY_MS / step).flat_map(|nth| [29 * DAY_MS + nth * step, 29 * DAY_MS + 60_000]);
            let times: std::collections::BTreeSet<i64> = days.chain(last).collect();
            let candles = times.into_iter().map(|time| (time, 1.0, 1.0)).collect();
            Row {
                token: Address([1; 20]),
                interval: Interval(interval),
                first: -step,
                newest: 30 * DAY_MS - step,
                cut: true,
                candles,
                count: 720,
                checksum: 0,
                duplicates: 0,
                mixed_case: false,
            }
        };
        for (step, interval, told) in [
            (HOUR_MS, DAY_MS, true),
            (HOUR_MS, 4 * HOUR_MS, true),
            (HOUR_MS, HOUR_MS, false),
            (DAY_MS, DAY_MS, false),
        ] {
            let found = too_close(&[series(step, interval)]);
            assert_eq!(
                found.is_some_and(|said| said.contains("are 1h apart, but their interval is")),
                told,
                "{step} {interval}"
            );
        }
        let both = too_close(&[series(HOUR_MS, DAY_MS), series(HOUR_MS, DAY_MS)]).expect("told");
        assert!(both.contains("and in 1 more series"), "{both}");
    }

    #[test]
    fn two_spellings_of_an_interval_are_one_series() {
        let spelled = |times: &[i64], count: u64| Row {
            token: Address([1; 20]),
            interval: Interval(HOUR_MS),
            first: times[0] * HOUR_MS,
            newest: times[times.len() - 1] * HOUR_MS,
            cut: false,
            // The last candle is not sound, and still ends the series.
            candles: times[..times.len() - 1]
                .iter()
                .map(|time| (time * HOUR_MS, *time as f64, 1.0))
                .collect(),
            count,
            checksum: u64::MAX,
            duplicates: 0,
            mixed_case: false,
        };
        let Ok(frame) = frame(vec![spelled(&[2, 3, 9], 3), spelled(&[1, 4, 5], 4)]) else {
            panic!("no frame")
        };
        let held = HeldCandles::of_series(&frame).expect("held");
        let [(interval, candles)] = &held.series()[..] else {
            panic!("{:?}", held.series())
        };
        let hours: Vec<i64> = candles
            .timestamp
            .iter()
            .map(|time| time / HOUR_MS)
            .collect();
        assert_eq!(
            (*interval, hours.as_slice(), candles.close),
            (
                Interval(HOUR_MS),
                &[1, 2, 3, 4, 9][..],
                &[1.0, 2.0, 3.0, 4.0, 0.0][..]
            )
        );
        let one = &listed(&frame).expect("listed")[&Address([1; 20])];
        assert_eq!((one.rows, one.checksum), (7, u64::MAX - 1));
    }
}
