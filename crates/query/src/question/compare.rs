//! The question behind GET /compare: percent change of several tokens from a common start, and the correlations of their daily returns.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question,
    missing::MissingRows,
    parameter::{ParameterKind, parameter},
    progress::Progress,
    request::request,
    snapshot::Snapshot,
    timeframes::{FROM, TIMEFRAME, TO, candles_of, interval},
};
use analysis::{
    compare::{Points, correlation, points, side_by_side},
    frames,
};
use model::{
    address::Address,
    candles::Interval,
    error::{Code, Problem, Result},
    time::Time,
};

/// Maximum number of tokens of one comparison: more lines cannot be told apart.
pub const TOKENS_MAX: usize = 12;
/// Maximum number of rows (timestamps) of one answer.
const ROWS_MAX: usize = 10_000;

request! {
    CompareQuestion at "/compare" {
        /// Without duplicates, in the order given.
        addresses: Vec<Address> = parameter(
            "addresses",
            ParameterKind::Addresses { min: 2, max: TOKENS_MAX },
            "2 to 12 token contracts, separated by commas.",
        ),
        timeframe: &'static str = TIMEFRAME,
        from: Option<Time> = FROM,
        to: Option<Time> = TO,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    pub timeframe: &'static str,
    /// The first time at which all of the tokens have a close: the common start, 0 percent.
    pub from: Time,
    /// The earliest of the tokens' last candle times.
    pub to: Time,
    /// In the order asked, without duplicates.
    pub tokens: Vec<Compared>,
    /// Every time in the span at which at least one token has a close, oldest first.
    pub rows: Vec<ComparedRow>,
    /// One for every pair of tokens.
    pub correlations: Vec<Correlation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    pub token_address: Address,
    pub symbol: Option<String>,
    /// Percent from the common start to the token's last close in the span.
    pub percent: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRow {
    /// Start of the candle.
    pub timestamp: Time,
    /// Percent from the common start, one for each of `tokens`; null where the token has no close at this time.
    pub percent: Vec<Option<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Correlation {
    pub token_address: Address,
    pub other_address: Address,
    /// Days on which both have a return.
    pub n: u64,
    /// Pearson correlation of daily log returns over the common span, −1 to 1; null with fewer than three days, or where a price never
    /// moves.
    pub correlation: Option<f64>,
}

impl Question for CompareQuestion {
    type Answer = Comparison;
    const NAME: &'static str = "compare";
    const SUMMARY: &'static str = "Some tokens in percent from a common start, and the correlations of their daily returns.";
    const NEEDS: &'static [&'static str] = &["candles"];

    fn heavy(&self) -> bool {
        true
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Comparison> {
        let mut addresses: Vec<Address> = Vec::new();
        for address in &self.addresses {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        if addresses.len() < 2 {
            return Err(Problem::new(Code::InvalidParameter, "`addresses` names one token: name two or more to be compared."));
        }
        let mut missing = MissingRows::default();
        let found: Vec<_> = addresses.iter().filter_map(|address| missing.take(candles_of(snapshot, address))).collect();
        missing.check()?;
        let (mut series, mut daily): (Vec<Points>, Vec<Points>) = Default::default();
        for (i, candles) in found.into_iter().enumerate() {
            progress.step(i as u64, addresses.len() as u64)?;
            let candles = candles?;
            let stored = candles.series();
            let frame = |to: Interval, from: Option<Time>, until: Option<Time>| {
                let frame = frames::frame(&stored, to);
                frame.map_or_else(Vec::new, |frame| points(&frame.as_candles(), from.map(|time| time.0), until.map(|time| time.0)))
            };
            series.push(frame(interval(self.timeframe), self.from, self.to));
            daily.push(frame(Interval::DAY, None, None));
        }
        let side = side_by_side(&series).ok_or_else(|| self.apart(snapshot, &addresses, &series))?;
        let (Some(&start), Some(&end)) = (side.times.first(), side.times.last()) else {
            return Err(self.apart(snapshot, &addresses, &series));
        };
        if side.times.len() > ROWS_MAX {
            let detail = format!(
                "There are {} times to compare, {ROWS_MAX} are answered: ask for a longer `timeframe`, or for less time between `from` and `to`.",
                side.times.len()
            );
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let tokens = addresses.iter().zip(&side.percent).map(|(address, percent)| Compared {
            token_address: *address,
            symbol: snapshot.dataset.token(address).and_then(|token| token.row.symbol.clone()),
            percent: percent.iter().rev().find_map(|value| *value),
        });
        let row = |(i, time): (usize, &i64)| ComparedRow {
            timestamp: Time(*time),
            percent: side.percent.iter().map(|values| values.get(i).copied().flatten()).collect(),
        };
        let pairs = (0..addresses.len()).flat_map(|a| (a + 1..addresses.len()).map(move |b| (a, b)));
        let correlations = pairs.map(|(a, b)| {
            let alike = correlation(&daily[a], &daily[b], start, end);
            Correlation { token_address: addresses[a], other_address: addresses[b], n: alike.n as u64, correlation: alike.correlation }
        });
        Ok(Comparison {
            timeframe: self.timeframe,
            from: Time(start),
            to: Time(end),
            correlations: correlations.collect(),
            rows: side.times.iter().enumerate().map(row).collect(),
            tokens: tokens.collect(),
        })
    }
}

impl CompareQuestion {
    /// The error of an empty comparison: which tokens have no candles of this timeframe, or that their spans do not overlap.
    fn apart(&self, snapshot: &Snapshot, addresses: &[Address], series: &[Points]) -> Problem {
        let name = |address: &Address| {
            snapshot.dataset.token(address).and_then(|token| token.row.symbol.clone()).unwrap_or_else(|| address.short())
        };
        let empty = addresses.iter().zip(series).find(|(_, points)| points.is_empty());
        let detail = match empty {
            Some((address, _)) => format!("{} has no {} candles in this time: choose another `timeframe`.", name(address), self.timeframe),
            None => "The tokens have no candle at the same time: choose others, or another time.".to_owned(),
        };
        Problem::new(Code::NoCandles, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::{addresses, answered, snapshot};

    fn ask(query: &str) -> Result<Comparison> {
        let candles = |token: u8, days: std::ops::RangeInclusive<u8>, close: fn(u8) -> u32| -> String {
            let row = |(day, close): (u8, u32)| format!("0x{token},2026-01-{day:02},{close},{close},{close},{close},1d\n");
            days.map(|day| row((day, close(day)))).collect::<Vec<_>>().concat()
        };
        let rows =
            [candles(1, 1..=20, |day| u32::from(day) * 10), candles(2, 5..=25, |day| u32::from(day) + 95), candles(3, 26..=28, |_| 1)];
        let snapshot = snapshot(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth\n0x4,D,D,eth"),
            ("candles", &format!("token_address,timestamp,open,high,low,close,interval\n{}", rows.concat())),
        ]);
        answered::<CompareQuestion>(&snapshot, &[], query)
    }

    #[test]
    fn tokens_start_together_and_end_with_the_first_that_ends() {
        let answer = ask(&format!("addresses={}", addresses("121"))).expect("an answer");
        assert_eq!((answer.from.to_string().get(..10), answer.to.to_string().get(..10)), (Some("2026-01-05"), Some("2026-01-20")));
        assert_eq!(answer.tokens.iter().map(|token| token.percent).collect::<Vec<_>>(), [Some(300.0), Some(15.0)]);
        assert_eq!((answer.rows.len(), &answer.rows[1].percent), (16, &vec![Some(20.0), Some(1.0)]));
        assert_eq!((answer.correlations.len(), answer.correlations[0].n), (1, 15));
        assert!(answer.correlations[0].correlation.is_some_and(|found| found > 0.9));
        let short = ask(&format!("addresses={}&from=2026-01-10&to=2026-01-12", addresses("12"))).expect("an answer");
        assert_eq!((short.rows.len(), short.correlations[0].n, short.correlations[0].correlation), (3, 2, None));
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        for (query, code, says) in [
            (addresses("1"), Code::InvalidParameter, "names one token"),
            (addresses("11"), Code::InvalidParameter, "names one token"),
            (addresses("13"), Code::NoCandles, "no candle at the same time"),
            (addresses("14"), Code::NoCandles, ""),
            (addresses("15"), Code::TokenNotFound, ""),
            (format!("{}&timeframe=1h", addresses("12")), Code::NoCandles, "A has no 1h candles"),
        ] {
            let refused = ask(&format!("addresses={query}")).expect_err("a problem");
            assert!(refused.code == code && refused.detail.contains(says), "{query}: {refused}");
        }
    }
}
