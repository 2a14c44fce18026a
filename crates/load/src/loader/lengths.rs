//! Checks that a token's candles of two lengths agree in price: charts and price changes join them, though they may be from two sources.

use crate::check::across_tables::{Contradiction, name};
use model::{
    candles::{Candles, Interval},
    rows::TokenRow,
    time::Time,
};

/// Maximum ratio between two closes at the same time (the median of `CLOSES` pairs), either way round.
const CLOSES_MAX: f64 = 1.25;
const CLOSES: usize = 5;
/// Maximum ratio between the prices of two successive candles, either way round.
const PRICE_MAX: f64 = 1.5;

/// Checks a token's candles of each length against the finer ones that continue them. Where they overlap, it compares the closes at the end
/// of the longer candles; where one series follows the other, the prices at the join.
pub(super) fn contradiction(
    token: &TokenRow,
    series: &[(Interval, Candles<'_>)],
) -> Option<Contradiction> {
    series.iter().enumerate().find_map(|(nth, (to, longer))| {
        let (from, finer) = series[..nth]
            .iter()
            .rfind(|(from, finer)| from.0 > 0 && to.0 % from.0 == 0 && !finer.is_empty())?;
        let closes = closes_together((*to, longer), (*from, finer));
        let (time, one, other, most) = match closes.get(closes.len() / 2) {
            Some(&(time, one, other)) => (time, one, other, CLOSES_MAX),
            // Between successive candles the price may move.
            None => seam((*to, longer), (*from, finer))
                .map(|(time, one, other)| (time, one, other, PRICE_MAX))?,
        };
        let far = !(1.0 / most..=most).contains(&(one / other));
        far.then(|| {
            (
                "closes_of_lengths",
                None,
                format!(
                    "{}: {one} in {to} candles, {other} in {from} candles, {}",
                    name(token),
                    Time(time)
                ),
            )
        })
    })
}

/// The end of a longer candle, its close, and that of the finer candle with the same end, for the latest such pairs; ordered by the ratio
/// of the closes.
fn closes_together(
    (to, longer): (Interval, &Candles<'_>),
    (from, finer): (Interval, &Candles<'_>),
) -> Vec<(i64, f64, f64)> {
    let last = finer.timestamp.last().copied().unwrap_or_default();
    let until = longer
        .timestamp
        .partition_point(|&time| time.saturating_add(to.0) <= last.saturating_add(from.0));
    let close = |at: usize| {
        let end = longer.timestamp[at].saturating_add(to.0);
        let with = finer
            .timestamp
            .binary_search(&end.saturating_sub(from.0))
            .ok()?;
        (longer.valid(at) && finer.valid(with)).then(|| (end, longer.close[at], finer.close[with]))
    };
    let mut closes: Vec<(i64, f64, f64)> = (0..until)
        .rev()
        .take(2 * CLOSES)
        .filter_map(close)
        .take(CLOSES)
        .collect();
    closes.sort_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
    closes
}

/// The time at which candles of one length follow those of the other, and the prices there, that of the longer candles first.
fn seam(
    (to, longer): (Interval, &Candles<'_>),
    (from, finer): (Interval, &Candles<'_>),
) -> Option<(i64, f64, f64)> {
    let ((first, last), (finer_first, finer_last)) = (
        (*longer.timestamp.first()?, *longer.timestamp.last()?),
        (*finer.timestamp.first()?, *finer.timestamp.last()?),
    );
    let near = |before: i64, length: Interval, after: i64| {
        (0..=to.0).contains(&after.saturating_sub(before.saturating_add(length.0)))
    };
    let (at, with) = (longer.len() - 1, finer.len() - 1);
    if near(last, to, finer_first) && longer.valid(at) && finer.valid(0) {
        return Some((finer_first, longer.close[at], finer.open[0]));
    }
    (near(finer_last, from, first) && longer.valid(0) && finer.valid(with))
        .then(|| (first, longer.open[0], finer.close[with]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn candles_of_two_lengths_have_one_price() {
        let day = |day: i64, close: f64, length: &str| {
            format!(
                "0x1,{},{close},{close},{close},{close},{length}\n",
                day * 86_400
            )
        };
        let hours = |days: std::ops::Range<i64>, close: f64| -> String {
            let hour =
                |hour: i64| format!("0x1,{},{close},{close},{close},{close},1h\n", hour * 3_600);
            (days.start * 24..days.end * 24).map(hour).collect()
        };
        let days = |days: std::ops::Range<i64>, close: f64| -> String {
            days.map(|at| day(at, close, "1d")).collect()
        };
        let told = |rows: String| -> Vec<String> {
            let dataset = sample::dataset(&[
                ("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth"),
                (
                    "candles",
                    &format!("token_address,timestamp,open,high,low,close,interval\n{rows}"),
                ),
            ]);
            let candles = dataset.candles().of(&sample::address("0x1"));
            contradiction(&dataset.tokens()[0].row, &candles.series())
                .into_iter()
                .map(|found| found.2)
                .collect()
        };
        let start = 20_000;
        let (one, other) = (start..start + 30, start + 20..start + 40);
        assert_eq!(
            told(days(one.clone(), 10.0) + &hours(other.clone(), 10.5)),
            Vec::<String>::new()
        );
        assert_eq!(
            told(days(one.clone(), 10.0) + &hours(other, 20.0)),
            ["A: 10 in 1d candles, 20 in 1h candles, 2024-11-01T00:00:00Z"]
        );
        assert_eq!(told(days(one.clone(), 10.0)), Vec::<String>::new());
        // One series after the other: between successive candles a larger difference is allowed.
        let after = start + 30..start + 40;
        assert_eq!(
            told(days(one.clone(), 10.0) + &hours(after.clone(), 13.0)),
            Vec::<String>::new()
        );
        assert_eq!(
            told(days(one.clone(), 10.0) + &hours(after.clone(), 20.0)),
            ["A: 10 in 1d candles, 20 in 1h candles, 2024-11-03T00:00:00Z"]
        );
        assert_eq!(
            told(hours(one.clone(), 10.0) + &days(after, 20.0)),
            ["A: 20 in 1d candles, 10 in 1h candles, 2024-11-03T00:00:00Z"]
        );
        assert_eq!(
            told(days(one, 10.0) + &hours(start + 60..start + 70, 20.0)),
            Vec::<String>::new(),
            "a month later"
        );
    }
}
