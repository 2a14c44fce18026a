//! Candles of tokens for their charts. No chart is finer than an hour: candles of intervals that divide an hour are resampled to hours by
//! the engine, as by `frames::resample`; all others are unchanged.

use std::ops::Range;

use polars::prelude::{DataFrame, IntoColumn as _, NamedFrom as _, Series};

use super::{CHECKSUM, Repeated, floats, texts, whole};
use crate::candle_table::HeldCandles;
use model::{address::Address, candles::Interval, time::HOUR_MS};

/// Value columns of a candle.
const PRICES: [&str; 5] = ["open", "high", "low", "close", "volume"];

/// SQL over the candles in `base`, by token. `ok` marks valid candles; unknown volumes count as nothing.
pub(super) fn sql(base: &str) -> String {
    let marked = format!(
        "SELECT token, ms, ts, o, h, l, c, v, hash, ms < {HOUR_MS} AND {HOUR_MS} % ms = 0 AS fine, \
         toInt64(if(fine, floor(ts / {HOUR_MS}) * {HOUR_MS}, ts)) AS at, \
         NOT fine OR ({}) AS ok FROM {base} WHERE ms > 0",
        super::sound()
    );
    let made = format!(
        "SELECT token, ms, at AS timestamp, argMinIf(o, ts, ok) AS open, maxIf(h, ok) AS high, minIf(l, ok) AS low, argMaxIf(c, ts, ok) AS close, \
         if(countIf(ok AND isFinite(v)) = 0, nan, sumKahanIf(v, ok AND isFinite(v))) AS volume, count() - uniqExact(ts) AS again, \
         count() AS seen, {CHECKSUM} AS hashes FROM ({marked}) GROUP BY token, ms, at"
    );
    format!(
        "SELECT token, ms, timestamp, {}, again, sum(seen) OVER () AS listed, sum(hashes) OVER () AS mark FROM ({made})",
        PRICES.join(", ")
    )
}

/// Decodes the candles of a result, by token; duplicates are refused, as it is unknown which of the two is right.
pub(in super::super) fn read(
    frames: &[DataFrame],
) -> Option<Result<Vec<(Address, HeldCandles)>, Repeated>> {
    let mut runs: Vec<(Address, Range<usize>)> = Vec::new();
    let mut times: Vec<i64> = Vec::new();
    let mut lengths: Vec<i64> = Vec::new();
    let mut prices: [Vec<f64>; 5] = Default::default();
    if let Err(repeated) = Repeated::check(frames)? {
        return Some(Err(repeated));
    }
    for frame in frames {
        let tokens = texts(frame, "token")?;
        let mut last: Option<&str> = None;
        for token in tokens.iter() {
            // Mostly it is that of the row before.
            if runs.is_empty() || last != token {
                let address = Address::parse(token?)?;
                let end = runs.last().map_or(0, |(_, rows)| rows.end);
                if runs.last().is_none_or(|(known, _)| *known != address) {
                    runs.push((address, end..end));
                }
                last = token;
            }
            runs.last_mut()?.1.end += 1;
        }
        lengths.extend(whole(frame, "ms")?.iter().flatten());
        times.extend(whole(frame, "timestamp")?.iter().flatten());
        for (name, values) in PRICES.iter().zip(&mut prices) {
            values.extend(
                floats(frame, name)?
                    .iter()
                    .map(|value| value.unwrap_or(f64::NAN)),
            );
        }
    }
    let count = runs.last().map_or(0, |(_, rows)| rows.end);
    if times.len() != count
        || lengths.len() != count
        || prices.iter().any(|values| values.len() != count)
    {
        return None;
    }
    let held = |(token, rows): (Address, Range<usize>)| {
        let (lengths, times) = (&lengths[rows.clone()], &times[rows.clone()]);
        if !lengths.iter().zip(times).is_sorted() {
            return None;
        }
        let intervals: Vec<String> = lengths
            .iter()
            .map(|length| Interval(*length).to_string())
            .collect();
        let mut columns = vec![
            Series::new("token_address".into(), vec![token.to_string(); rows.len()]).into_column(),
            Series::new("interval".into(), intervals).into_column(),
            Series::new("timestamp".into(), times).into_column(),
        ];
        columns.extend(PRICES.iter().zip(&prices).map(|(name, values)| {
            Series::new((*name).into(), &values[rows.clone()]).into_column()
        }));
        let frame = DataFrame::new(rows.len(), columns).ok()?;
        Some((token, HeldCandles::new(&frame)))
    };
    // A token whose rows come apart would lose some of them.
    let apart = runs.windows(2).any(|pair| pair[0].0 >= pair[1].0);
    if apart {
        None
    } else {
        runs.into_iter()
            .map(held)
            .collect::<Option<Vec<_>>>()
            .map(Ok)
    }
}
