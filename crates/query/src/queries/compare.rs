//! The query behind GET /compare: percent change of several tokens from a common start, their drawdown and volatility, and the
//! correlations of their daily returns.

use schemars::JsonSchema;
use serde::Serialize;

mod alike;

use super::{
    Dated, Find as _, Query,
    parameter::{Parameter, ParameterKind, parameter},
    request::request,
    security::{SecurityWarning, WarningsOf},
    snapshot::Snapshot,
    timeframes::{FROM, TIMEFRAME, TO, candles_of, interval},
    view::View,
};
use analysis::{
    compare::{
        Points, against, correlation, days_of, is_steady, maximum_drawdown, points, side_by_side,
        volatility,
    },
    timeframes,
};
use model::{
    address::Address,
    candles::{Candles, Interval},
    error::{Code, Problem, Result},
    progress::Progress,
    time::{DAY_MS, Time},
};

/// Maximum number of tokens of one comparison: more lines cannot be distinguished.
pub const TOKENS_MAX: usize = 12;
/// The lists of an answer.
const LISTS: &[&str] = &["tokens", "rows", "correlations"];
/// Maximum number of rows (timestamps) of one answer.
const ROWS_MAX: usize = 10_000;

/// How far back a comparison goes.
pub const PERIODS: &[&str] = &["7d", "30d", "90d", "365d", "all"];
const PERIOD: Parameter = parameter(
    "period",
    ParameterKind::Word {
        words: PERIODS,
        default: Some("all"),
    },
    "Period to compare: the latest days of the span in which all tokens have candles.",
);

request! {
    CompareQuery at "/compare" {
        /// Without duplicates, in the order given.
        addresses: Vec<Address> = parameter(
            "addresses",
            ParameterKind::Addresses { min: 1, max: TOKENS_MAX },
            "1 to 12 token contracts, comma-separated. One is compared with the 11 tokens that moved most like it: the highest correlation \
            of daily returns in the period, among the 2,000 largest tokens.",
        ),
        timeframe: &'static str = TIMEFRAME,
        period: &'static str = PERIOD,
        base: Option<Address> = parameter(
            "base",
            ParameterKind::Addresses { min: 0, max: 1 },
            "Benchmark token, one of `addresses`. Default: the first.",
        ),
        from: Option<Time> = FROM,
        to: Option<Time> = TO,
        /// Lists in the answer; empty: all.
        only: Vec<&'static str> = parameter("only", ParameterKind::Words(LISTS), "Lists to return, comma-separated. Default: all."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    pub timeframe: &'static str,
    pub period: &'static str,
    /// The benchmark token.
    pub base_address: Address,
    /// First time in the period at which all tokens have a close: the common start, 0 percent. Later than the period's start if their
    /// candles begin later.
    pub from: Time,
    /// The earliest of the tokens' last candle times.
    pub to: Time,
    /// In the order requested, without duplicates; behind a single one those that moved most like it, the most alike first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Compared>,
    /// Tokens that security says to avoid, or that cannot be sold.
    pub warnings: Vec<SecurityWarning>,
    /// Every time in the span at which at least one token has a close, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<ComparedRow>,
    /// Reason why no token has a beta: the benchmark's price hardly moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta_missing: Option<String>,
    /// One entry per pair of tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub correlations: Vec<Correlation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    pub token_address: Address,
    pub symbol: Option<String>,
    /// Percent from the common start to the token's last close in the span.
    pub percent: Option<f64>,
    /// Percent change of its price in units of the benchmark token, from the common start to the last closes of both.
    pub percent_against_base: Option<f64>,
    /// Largest fall from a close to a later one in the span, in percent, 0 or below.
    pub maximum_drawdown: Option<f64>,
    /// Annualized, in percent: the standard deviation of the daily log returns of the days that end in the span, times √365; null with
    /// fewer than three days.
    pub volatility: Option<f64>,
    /// Pearson correlation of its daily log returns with those of the benchmark token, −1 to 1; null as in `correlations`, and for the
    /// benchmark itself.
    pub correlation: Option<f64>,
    /// Change of its daily log return per percent of the benchmark token's: covariance / variance of the benchmark; null if `correlation`
    /// is null, or if the benchmark hardly moves (see `beta_missing`).
    pub beta: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRow {
    /// Start of the candle.
    pub timestamp: Time,
    /// Percent from the common start, one value for each of `tokens`; null if the token has no close at this time.
    pub percent: Vec<Option<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Correlation {
    pub token_address: Address,
    pub other_address: Address,
    /// Days on which both tokens have a return.
    pub n: u64,
    /// Pearson correlation of daily log returns over the common span, −1 to 1; null with fewer than three days, or if a price never moves.
    pub correlation: Option<f64>,
}

/// Days of the period; `None` for all.
fn days_of_period(period: &str) -> Option<i64> {
    period.strip_suffix('d').and_then(|days| days.parse().ok())
}

impl Comparison {
    /// Whole days from its first time to its last, and the days of the period where these are fewer by more than a candle.
    pub fn days(&self) -> (u64, Option<u64>) {
        let days = (self.to.0 - self.from.0) / DAY_MS;
        let lacking = |asked: &i64| days < asked - interval(self.timeframe).0 / DAY_MS;
        (
            days.unsigned_abs(),
            days_of_period(self.period)
                .filter(lacking)
                .map(i64::unsigned_abs),
        )
    }
}

impl Query for CompareQuery {
    type Answer = Comparison;
    const NAME: &'static str = "compare";
    const SUMMARY: &'static str =
        "Compare tokens: return, drawdown, volatility and correlation of daily returns.";
    const NEEDS: &'static [&'static str] = &["candles"];
    const HEAVY: bool = true;
    const DATED: Dated = Dated::Always;

    fn as_of(&self, _: &Snapshot, answer: &Comparison) -> Option<Time> {
        Some(answer.to)
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Comparison> {
        let mut addresses: Vec<Address> = Vec::new();
        for address in &self.addresses {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        if let [one] = addresses[..] {
            addresses.extend(self.most_alike(view, &one, progress)?);
        }
        let base = self.base.unwrap_or(addresses[0]);
        let base = addresses
            .iter()
            .position(|address| *address == base)
            .ok_or_else(|| {
                Problem::new(
                    Code::InvalidParameter,
                    format!("`base` is `{base}`, which is not in `addresses`."),
                )
            })?;
        let (mut series, mut daily): (Vec<Points>, Vec<Points>) = Default::default();
        for (i, address) in addresses.iter().enumerate() {
            progress.step(i as u64, addresses.len() as u64)?;
            let candles = candles_of(view, address, progress)?;
            let stored = candles.series();
            let frame = |to: Interval, from: Option<Time>, until: Option<Time>| {
                let frame = timeframes::frame(&stored, to);
                frame.map_or_else(Vec::new, |frame| {
                    points(
                        &frame.as_candles(),
                        from.map(|time| time.0),
                        until.map(|time| time.0),
                    )
                })
            };
            series.push(frame(interval(self.timeframe), self.from, self.to));
            daily.push(daily_points(&stored));
        }
        let days = days_of_period(self.period);
        let side =
            side_by_side(&series, days).ok_or_else(|| self.apart(view, &addresses, &series))?;
        let (Some(&start), Some(&end)) = (side.times.first(), side.times.last()) else {
            return Err(self.apart(view, &addresses, &series));
        };
        if side.times.len() > ROWS_MAX {
            let detail = format!(
                "The comparison has {} rows, more than the maximum of {ROWS_MAX}; choose a longer `timeframe`, or a shorter period with \
                `from` and `to`.",
                side.times.len()
            );
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let (first_day, last_day) = days_of(start, end, interval(self.timeframe).0);
        let returned = |nth: usize| {
            side.percent
                .get(nth)
                .and_then(|percent| percent.iter().rev().find_map(|value| *value))
        };
        let volatility_of = |nth: usize| volatility(&daily[nth], first_day, last_day);
        let base_is_steady = is_steady(volatility_of(base));
        let compared = |nth: usize| {
            let alike =
                (nth != base).then(|| correlation(&daily[nth], &daily[base], first_day, last_day));
            Compared {
                token_address: addresses[nth],
                symbol: view
                    .dataset
                    .token(&addresses[nth])
                    .and_then(|token| token.row.symbol.clone()),
                percent: returned(nth),
                percent_against_base: returned(nth)
                    .zip(returned(base))
                    .and_then(|(own, base)| against(own, base)),
                maximum_drawdown: maximum_drawdown(&series[nth], start, end),
                volatility: volatility_of(nth),
                correlation: alike.and_then(|alike| alike.correlation),
                beta: alike
                    .and_then(|alike| alike.beta)
                    .filter(|_| !base_is_steady),
            }
        };
        let row = |(i, time): (usize, &i64)| ComparedRow {
            timestamp: Time(*time),
            percent: side
                .percent
                .iter()
                .map(|values| values.get(i).copied().flatten())
                .collect(),
        };
        let pairs =
            (0..addresses.len()).flat_map(|a| (a + 1..addresses.len()).map(move |b| (a, b)));
        let correlations = pairs.map(|(a, b)| {
            let alike = correlation(&daily[a], &daily[b], first_day, last_day);
            Correlation {
                token_address: addresses[a],
                other_address: addresses[b],
                n: alike.n as u64,
                correlation: alike.correlation,
            }
        });
        let tokens: Vec<Compared> = (0..addresses.len()).map(compared).collect();
        let is_asked = |list: &str| self.only.is_empty() || self.only.contains(&list);
        let beta_missing = base_is_steady.then(|| no_beta(&tokens[base]));
        Ok(Comparison {
            timeframe: self.timeframe,
            period: self.period,
            base_address: addresses[base],
            from: Time(start),
            to: Time(end),
            correlations: correlations.filter(|_| is_asked("correlations")).collect(),
            rows: side
                .times
                .iter()
                .enumerate()
                .filter(|_| is_asked("rows"))
                .map(row)
                .collect(),
            beta_missing,
            warnings: WarningsOf(addresses.clone()).find(view, progress)?,
            tokens: if is_asked("tokens") {
                tokens
            } else {
                Vec::new()
            },
        })
    }
}

/// The closes of the daily candles.
fn daily_points(stored: &[(Interval, Candles<'_>)]) -> Points {
    timeframes::frame(stored, Interval::DAY)
        .map_or_else(Points::new, |frame| points(&frame.as_candles(), None, None))
}

/// Why nothing has a beta against the token.
fn no_beta(base: &Compared) -> String {
    let name = base
        .symbol
        .clone()
        .unwrap_or_else(|| base.token_address.short());
    format!("no beta: {name} hardly moves")
}

impl CompareQuery {
    /// The error of an empty comparison: which tokens have no candles of this timeframe, or that their spans do not overlap.
    fn apart(&self, snapshot: &Snapshot, addresses: &[Address], series: &[Points]) -> Problem {
        let name = |address: &Address| {
            snapshot
                .dataset
                .token(address)
                .and_then(|token| token.row.symbol.clone())
                .unwrap_or_else(|| address.short())
        };
        let empty = addresses
            .iter()
            .zip(series)
            .find(|(_, points)| points.is_empty());
        let detail = match empty {
            Some((address, _)) => {
                format!("{} has no {} candles in this period; choose another `timeframe` or period.", name(address), self.timeframe)
            }
            None => "These tokens have no candle times in common; choose other tokens or another period.".to_owned(),
        };
        Problem::new(Code::NoCandles, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests::{addresses, answered, snapshot};

    fn ask(query: &str) -> Result<Comparison> {
        let candles =
            |token: u8, days: std::ops::RangeInclusive<u8>, close: fn(u8) -> u32| -> String {
                let row = |(day, close): (u8, u32)| {
                    format!("0x{token},2026-01-{day:02},{close},{close},{close},{close},1d\n")
                };
                days.map(|day| row((day, close(day))))
                    .collect::<Vec<_>>()
                    .concat()
            };
        let rows = [
            candles(1, 1..=20, |day| u32::from(day) * 10),
            candles(2, 5..=25, |day| u32::from(day) + 95),
            candles(3, 26..=28, |_| 1),
        ];
        let snapshot = snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth\n0x4,D,D,eth",
            ),
            (
                "candles",
                &format!(
                    "token_address,timestamp,open,high,low,close,interval\n{}",
                    rows.concat()
                ),
            ),
        ]);
        answered::<CompareQuery>(&snapshot, &[], query)
    }

    #[test]
    fn tokens_start_together_and_end_with_the_first_that_ends() {
        let answer = ask(&format!("addresses={}", addresses("121"))).expect("an answer");
        assert_eq!(
            (
                answer.from.to_string().get(..10),
                answer.to.to_string().get(..10)
            ),
            (Some("2026-01-05"), Some("2026-01-20"))
        );
        assert_eq!(
            answer
                .tokens
                .iter()
                .map(|token| token.percent)
                .collect::<Vec<_>>(),
            [Some(300.0), Some(15.0)]
        );
        assert_eq!(
            (answer.rows.len(), &answer.rows[1].percent),
            (16, &vec![Some(20.0), Some(1.0)])
        );
        assert_eq!(
            (answer.correlations.len(), answer.correlations[0].n),
            (1, 15)
        );
        assert!(
            answer.correlations[0]
                .correlation
                .is_some_and(|found| found > 0.9)
        );
        let short = ask(&format!(
            "addresses={}&from=2026-01-10&to=2026-01-12",
            addresses("12")
        ))
        .expect("an answer");
        assert_eq!(
            (
                short.rows.len(),
                short.correlations[0].n,
                short.correlations[0].correlation
            ),
            (3, 2, None)
        );
    }

    #[test]
    fn a_period_is_the_end_of_the_span_and_the_base_is_any_of_the_tokens() {
        let answer = ask(&format!("addresses={0}&period=7d", addresses("12"))).expect("an answer");
        assert_eq!(
            (
                answer.from.to_string().get(..10),
                answer.rows.len(),
                answer.period
            ),
            (Some("2026-01-13"), 8, "7d")
        );
        assert_eq!(answer.days(), (7, None));
        assert_eq!(answer.correlations[0].n, 7);
        let (first, second) = (&answer.tokens[0], &answer.tokens[1]);
        assert_eq!(
            (
                answer.base_address,
                first.correlation,
                first.percent_against_base
            ),
            (first.token_address, None, Some(0.0))
        );
        assert_eq!(
            (second.correlation, second.maximum_drawdown),
            (answer.correlations[0].correlation, Some(0.0))
        );
        // 20/13 and 115/108 since the 13th: the second fell to 0.6921… of the first.
        let near = |found: Option<f64>, wanted: f64| {
            found.is_some_and(|found| (found - wanted).abs() < 1e-9)
        };
        assert!(near(
            second.percent_against_base,
            (115.0 / 108.0 / (20.0 / 13.0) - 1.0) * 100.0
        ));
        assert!(
            second.volatility.is_some_and(|volatility| volatility < 2.0) && second.beta.is_some()
        );
        let moved = ask(&format!(
            "addresses={0}&period=7d&base={1}",
            addresses("12"),
            addresses("2")
        ))
        .expect("an answer");
        assert_eq!(
            (moved.base_address, moved.tokens[1].beta),
            (second.token_address, None)
        );
        // The second hardly moves, so nothing is held against it.
        assert_eq!(
            (moved.tokens[0].beta, moved.beta_missing.as_deref()),
            (None, Some("no beta: B hardly moves"))
        );
        assert_eq!(answer.beta_missing, None);
        assert_eq!(moved.tokens[0].correlation, second.correlation);
        // The candles of the second begin on the 5th, whatever the period.
        let long = ask(&format!("addresses={0}&period=90d", addresses("12"))).expect("an answer");
        assert_eq!(long.days(), (15, Some(90)), "of the period");
        assert_eq!(long.from.to_string().get(..10), Some("2026-01-05"));
    }

    #[test]
    fn days_are_those_that_end_in_the_span_of_the_candles() {
        // Two tokens that swing daily up to the first of February, and are flat from then on; the second in hours, up to ten on the ninth.
        let close = |day: u32| if day < 7 && day % 2 == 1 { 20 } else { 10 };
        let first = |day: u32| {
            format!(
                "0x1,{},{1},{1},{1},{1},1d\n",
                1_769_385_600 + day * 86_400,
                close(day)
            )
        };
        let second = |hour: u32| {
            format!(
                "0x2,{},{1},{1},{1},{1},1h\n",
                1_769_385_600 + hour * 3_600,
                close(hour / 24)
            )
        };
        let rows = (0..14)
            .map(first)
            .chain((0..14 * 24 + 10).map(second))
            .collect::<String>();
        let snapshot = snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth",
            ),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{rows}"),
            ),
        ]);
        let ask = |query: &str| {
            let query = format!("addresses={}&{query}", addresses("12"));
            answered::<CompareQuery>(&snapshot, &[], &query).expect("an answer")
        };
        // From the first week's close, on the first, to that of the next: flat.
        let weeks = ask("period=7d&timeframe=1w");
        assert_eq!(
            (
                weeks.tokens[0].percent,
                weeks.tokens[0].volatility,
                weeks.correlations[0].n
            ),
            (Some(0.0), Some(0.0), 7)
        );
        // The swings from the first week's Monday on are within no week's close.
        assert!(
            ask("to=2026-02-02").tokens[0]
                .volatility
                .is_some_and(|volatility| volatility > 1_000.0)
        );
    }

    #[test]
    fn no_day_ends_after_the_span() {
        let hour = |token: u8, hour: u32| {
            let close = 10 + hour / 24 * (2 + u32::from(token));
            format!(
                "0x{token},{},{close},{close},{close},{close},1h\n",
                1_769_385_600 + hour * 3_600
            )
        };
        let rows = [1, 2]
            .map(|token| (0..240).map(|at| hour(token, at)).collect::<String>())
            .concat();
        let snapshot = snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth",
            ),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{rows}"),
            ),
        ]);
        for (query, n) in [
            ("period=7d&timeframe=1h", 7),
            // The 30th ends at its last hour, not before.
            ("timeframe=1h&to=2026-01-30T23:00:00Z", 4),
            ("timeframe=1h&to=2026-01-30T22:00:00Z", 3),
            ("timeframe=4h&to=2026-01-30T20:00:00Z", 4),
            ("period=7d&timeframe=1d", 7),
            ("timeframe=1d&to=2026-01-30", 4),
            // From ten on the 27th: that day ends within, and is held against the 26th.
            (
                "timeframe=1h&from=2026-01-27T10:00:00Z&to=2026-01-30T23:00:00Z",
                4,
            ),
        ] {
            let query = format!("addresses={}&{query}", addresses("12"));
            assert_eq!(
                answered::<CompareQuery>(&snapshot, &[], &query)
                    .expect("an answer")
                    .correlations[0]
                    .n,
                n,
                "{query}"
            );
        }
    }

    #[test]
    fn one_token_is_compared_with_those_that_moved_most_like_it() {
        // A swings; B with it, C against it, and D has a fifth of the days.
        let rows: String = (1..=20)
            .map(|day: u32| {
                let swing = 100 + day * 7 % 5;
                let candle = |token: u8, close: u32| {
                    format!("0x{token},2026-01-{day:02},{close},{close},{close},{close},1d\n")
                };
                let rare = if day > 16 {
                    candle(4, swing)
                } else {
                    String::new()
                };
                [
                    candle(1, swing),
                    candle(2, swing * 2),
                    candle(3, 300 - swing),
                    candle(5, swing),
                    rare,
                ]
                .concat()
            })
            .collect();
        let snapshot = snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth\n0x4,D,D,eth\n0x5,a,A,base",
            ),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{rows}"),
            ),
        ]);
        let ask = |query: &str| {
            let query = format!("addresses={}&{query}", addresses("1"));
            answered::<CompareQuery>(&snapshot, &[], &query).expect("an answer")
        };
        let symbols = |answer: &Comparison| {
            let symbols = answer
                .tokens
                .iter()
                .filter_map(|token| token.symbol.clone());
            symbols.collect::<String>()
        };
        assert_eq!(symbols(&ask("period=all")), "ABC");
        assert_eq!(
            symbols(&ask("from=2026-01-17")),
            "ABDC",
            "D has every day of these"
        );
        let lists = |query: &str| {
            let answer = serde_json::to_value(ask(query)).expect("JSON");
            let has = |list: &&str| answer.get(*list).is_some();
            LISTS.iter().copied().filter(has).collect::<Vec<_>>()
        };
        assert_eq!(lists("only="), LISTS);
        assert_eq!(
            lists("only=correlations,tokens"),
            ["tokens", "correlations"]
        );
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        for (query, code, says) in [
            (
                format!("{}&from=2027-01-01", addresses("1")),
                Code::NoCandles,
                "A has no 1d candles in this period",
            ),
            (
                addresses("3"),
                Code::NoCandles,
                "No other token has daily candles in this period",
            ),
            (
                addresses("13"),
                Code::NoCandles,
                "no candle times in common",
            ),
            (addresses("14"), Code::NoCandles, ""),
            (addresses("15"), Code::TokenNotFound, ""),
            (
                format!("{}&base={}", addresses("12"), addresses("3")),
                Code::InvalidParameter,
                "not in `addresses`",
            ),
            (
                format!("{}&period=8d", addresses("12")),
                Code::InvalidParameter,
                "period",
            ),
            (
                format!("{}&timeframe=1h", addresses("12")),
                Code::NoCandles,
                "A has no 1h candles",
            ),
        ] {
            let refused = ask(&format!("addresses={query}")).expect_err("a problem");
            assert!(
                refused.code == code && refused.detail.contains(says),
                "{query}: {refused}"
            );
        }
    }
}
