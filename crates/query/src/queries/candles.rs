//! The query behind GET /tokens/{token_address}/candles.

use std::{ops::Range, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Dated, Query,
    paging::Paging,
    parameter::{ParameterKind, TOKEN, parameter},
    request::request,
    snapshot::Snapshot,
    tabular::{Tabled, Tabular},
    timeframes::{FROM, TIMEFRAME, TO, candles_of, frame_of, interval},
    view::View,
};
use analysis::{growth::percent, market::Lag};
use model::{
    address::Address,
    candles::{Candles, Interval},
    error::Result,
    progress::Progress,
    time::Time,
};

request! {
    CandlesQuery at "/tokens/{token_address}/candles" {
        token_address: Address = TOKEN,
        timeframe: &'static str = TIMEFRAME,
        from: Option<Time> = FROM,
        to: Option<Time> = TO,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 5_000, default: 500 }, "Number of latest candles to return."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenCandles {
    pub token_address: Address,
    pub timeframe: &'static str,
    /// The latest candles within `limit`, oldest first.
    pub candles: Vec<Candle>,
    /// Of all candles within `from` and `to`, also those beyond `limit`; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<PriceRange>,
    /// Whether `limit` excluded earlier candles.
    #[serde(skip)]
    pub cut: bool,
    /// Number of these that are resampled, and the interval they are resampled from; `None` unless the other candles are stored ones.
    #[serde(skip)]
    pub made: Option<(usize, Interval)>,
    /// If stale: start of the last candle of this timeframe, even if not among these, and its lag.
    #[serde(skip)]
    pub stale: Option<(Time, Lag)>,
    /// Providers of the candles, each once, as named in the file.
    #[serde(skip)]
    pub sources: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Candle {
    /// Start of the candle.
    pub timestamp: Time,
    /// USD; null if the data has no finite number.
    pub open: Option<f64>,
    pub high: Option<f64>,
    pub low: Option<f64>,
    pub close: Option<f64>,
    /// Whole tokens traded; null if unknown.
    pub volume: Option<f64>,
}

/// How the price moved over candles.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PriceRange {
    /// Number of candles.
    pub candles: u64,
    pub from: Time,
    pub to: Time,
    /// Percent from the first candle's open to the last one's close.
    pub percent: Option<f64>,
    pub highest_close: Option<PriceAt>,
    pub lowest_close: Option<PriceAt>,
    /// Within a candle, not its close.
    pub highest: Option<PriceAt>,
    pub lowest: Option<PriceAt>,
}

/// A price, and the start of the first candle that has it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PriceAt {
    pub timestamp: Time,
    pub price: f64,
}

impl PriceRange {
    fn of(candles: &Candles<'_>) -> Option<Self> {
        let from = Time(*candles.timestamp.first()?);
        let to = Time(*candles.timestamp.last()?);
        let valid = || (0..candles.len()).filter(|&i| candles.valid(i));
        let most = |prices: &[f64], is_more: fn(f64, f64) -> bool| {
            let at = valid().reduce(|best, i| {
                if is_more(prices[i], prices[best]) {
                    i
                } else {
                    best
                }
            })?;
            Some(PriceAt {
                timestamp: Time(candles.timestamp[at]),
                price: prices[at],
            })
        };
        let change = valid()
            .next()
            .zip(valid().next_back())
            .map(|(first, last)| percent(candles.open[first], candles.close[last]));
        Some(Self {
            candles: candles.len() as u64,
            from,
            to,
            percent: change.filter(|change| change.is_finite()),
            highest_close: most(candles.close, |a, b| a > b),
            lowest_close: most(candles.close, |a, b| a < b),
            highest: most(candles.high, |a, b| a > b),
            lowest: most(candles.low, |a, b| a < b),
        })
    }
}

/// The range of the last `limit` timestamps within `from..=to`, and whether earlier ones were cut off.
pub(super) fn latest(
    timestamps: &[i64],
    from: Option<Time>,
    to: Option<Time>,
    limit: u64,
) -> (Range<usize>, bool) {
    let first = from.map_or(0, |from| timestamps.partition_point(|&time| time < from.0));
    let end = to
        .map_or(timestamps.len(), |to| {
            timestamps.partition_point(|&time| time <= to.0)
        })
        .max(first);
    let start = first.max(end.saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX)));
    (start..end, start > first)
}

impl Query for CandlesQuery {
    type Answer = TokenCandles;
    const NAME: &'static str = "candles";
    const SUMMARY: &'static str = "Get a token's candles, stored or resampled from finer ones.";
    const NEEDS: &'static [&'static str] = &["candles"];
    const DATED: Dated = Dated::Always;

    fn paging(&self, answer: &TokenCandles) -> Option<Paging> {
        answer
            .candles
            .first()
            .filter(|_| answer.cut)
            .map(|first| Paging::Before(first.timestamp))
    }

    fn as_of(&self, _: &Snapshot, answer: &TokenCandles) -> Option<Time> {
        answer.candles.last().map(|candle| candle.timestamp)
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TokenCandles> {
        let candles = candles_of(view, &self.token_address, progress)?;
        let series = candles.series();
        let frame = frame_of(&series, &self.token_address, self.timeframe)?;
        let all = frame.as_candles();
        let (range, cut) = latest(all.timestamp, self.from, self.to, self.limit);
        let (whole, _) = latest(all.timestamp, self.from, self.to, u64::MAX);
        let moved = PriceRange::of(&all.part(whole));
        let made = frame.made_beside_own(range.clone());
        let stored = frame.intervals(&series, interval(self.timeframe));
        let source_of = |from: &Interval| view.dataset.candles().source(&self.token_address, *from);
        let mut sources = Vec::new();
        for source in stored
            .iter()
            .flat_map(|from| view.dataset.candles().sources(&self.token_address, *from))
        {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let source = stored.last().and_then(source_of);
        let last = all.timestamp.last().map(|last| Time(*last));
        let stale = last.and_then(|last| {
            Some((
                last,
                view.market
                    .behind(last, interval(self.timeframe), source.as_deref())?,
            ))
        });
        let finite = |number: f64| number.is_finite().then_some(number);
        let candle = |i: usize| Candle {
            timestamp: Time(all.timestamp[i]),
            open: finite(all.open[i]),
            high: finite(all.high[i]),
            low: finite(all.low[i]),
            close: finite(all.close[i]),
            volume: finite(all.volume[i]),
        };
        let candles = range.map(candle).collect();
        Ok(TokenCandles {
            token_address: self.token_address,
            timeframe: self.timeframe,
            candles,
            range: moved,
            cut,
            made,
            stale,
            sources,
        })
    }
}

impl Tabular for CandlesQuery {
    fn tabled(
        &self,
        view: &View<'_>,
        _: &Arc<Snapshot>,
        whole: bool,
        progress: &Progress,
    ) -> Result<Tabled> {
        let limit = if whole { u64::MAX } else { self.limit };
        let answer = Self {
            limit,
            ..self.clone()
        }
        .answer(view, progress)?;
        Tabled::of(
            &answer.candles,
            &["timestamp", "open", "high", "low", "close", "volume"],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests::{answered, snapshot};
    use load::sample;

    #[test]
    fn the_range_is_of_all_candles_between_the_times() {
        let rows = [(1, 10, 4, 8), (2, 30, 7, 20), (3, 25, 1, 5), (4, 9, 6, 8)]
            .into_iter()
            .map(|(day, high, low, close)| {
                format!("0x1,2026-01-{day:02},8,{high},{low},{close},1d\n")
            })
            .collect::<Vec<_>>()
            .concat();
        let snapshot = snapshot(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth"),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{rows}"),
            ),
        ]);
        let range = |query: &str| {
            let address = sample::address("0x1").to_string();
            answered::<CandlesQuery>(&snapshot, &[("token_address", &address)], query)
                .expect("candles")
                .range
        };
        let at = |price: Option<PriceAt>| {
            price.map(|at| (at.timestamp.to_string()[8..10].to_owned(), at.price))
        };
        let of = |query: &str| {
            let range = range(query).expect("candles");
            let PriceRange {
                highest_close,
                lowest_close,
                highest,
                lowest,
                ..
            } = range;
            (
                range.candles,
                range.percent,
                [highest_close, lowest_close, highest, lowest].map(at),
            )
        };
        let day = |day: &str, price: f64| Some((day.to_owned(), price));
        assert_eq!(
            of("limit=1"),
            (
                4,
                Some(0.0),
                [
                    day("02", 20.0),
                    day("03", 5.0),
                    day("02", 30.0),
                    day("03", 1.0)
                ]
            ),
            "`limit` leaves none out, and the first of equal ones counts"
        );
        assert_eq!(
            of("from=2026-01-03&to=2026-01-04"),
            (
                2,
                Some(0.0),
                [
                    day("04", 8.0),
                    day("03", 5.0),
                    day("03", 25.0),
                    day("03", 1.0)
                ]
            )
        );
        assert_eq!(of("to=2026-01-02").1, Some(150.0));
        assert_eq!(range("from=2027-01-01"), None);
    }

    #[test]
    fn candles_of_two_lengths_are_told() {
        let candle = |day: u32, hour: u32, length: &str| {
            format!("0x1,2026-01-{day:02}T{hour:02}:00:00Z,1,1,1,1,{length}\n")
        };
        let days: String = (3..=8).map(|day| candle(day, 0, "1d")).collect();
        let hours: String = [1, 2, 8, 9, 10]
            .into_iter()
            .flat_map(|day| (0..24).map(move |hour| candle(day, hour, "1h")))
            .collect();
        let snapshot = snapshot(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth"),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{days}{hours}"),
            ),
        ]);
        let made = |query: &str| {
            let address = sample::address("0x1").to_string();
            let answer = answered::<CandlesQuery>(&snapshot, &[("token_address", &address)], query)
                .expect("candles");
            (
                answer.candles.len(),
                answer.made.map(|(made, from)| (made, from.to_string())),
            )
        };
        let of_hours = |made| Some((made, "1h".to_owned()));
        assert_eq!(made("timeframe=1d"), (10, of_hours(4)));
        assert_eq!(made("timeframe=1d&limit=5"), (5, of_hours(2)));
        assert_eq!(
            made("timeframe=1d&from=2026-01-03T00:00:00Z&to=2026-01-08T00:00:00Z"),
            (6, None),
            "the token's own alone"
        );
        assert_eq!(
            made("timeframe=1d&limit=2"),
            (2, None),
            "made of hours alone"
        );
        assert_eq!(
            (made("timeframe=1h").1, made("timeframe=4h").1),
            (None, None)
        );
    }
}
