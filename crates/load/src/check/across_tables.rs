//! Rules across tables: amounts against supply, and turnover against market cap, with the token values from `tokens`. Also across the files
//! of one table: missing candles between them.

use std::collections::BTreeMap;

use super::in_order::{MISSING_MIN, StatisticValue, TokenStatistic};
use model::{interval::Interval, rows::TokenRow, time::Time, token::are_apart};

/// Maximum ratio of the median turnover of a candle to the market cap: rarely does the whole market cap trade in a day.
const TURNOVER_MAX: f64 = 20.0;
/// Maximum ratio of a transfer to the supply: supplies shrink, and tokens are burnt.
const TRANSFER_MAX: f64 = 1_000.0;
/// Transfers required to infer the unit from their size.
const TRANSFERS_MIN: u64 = 20;
/// Maximum ratio between a token's price and its latest close, either way round.
const PRICE_MAX: f64 = 1.5;
/// Range of supplies that must be in smallest units: in whole tokens the largest are about 10^17, in smallest units most are in this range.
/// Larger ones are unlimited supplies, up to 2^256.
const SMALLEST_UNITS: std::ops::Range<f64> = 1e20..1e40;
/// Minimum number of missing candles for a gap between two files if a step inside one of them is as long; otherwise, `MISSING_MIN` applies.
const MISSING_MANY: i64 = 24;
/// Tolerance for rounding and for the time between two exports.
const SLACK: f64 = 1e-3;

/// The broken rule, the row number if there is one, and the values to show.
pub type Contradiction = (&'static str, Option<u64>, String);

/// The token's name in findings: its symbol, or its address if it has none.
pub fn name(token: &TokenRow) -> String {
    token
        .symbol
        .clone()
        .unwrap_or_else(|| token.token_address.to_string())
}

/// Checks a statistic of a token's rows against the token's row in `tokens`.
pub fn statistic(token: &TokenRow, statistic: &TokenStatistic) -> Option<Contradiction> {
    let name = name(token);
    match &statistic.value {
        StatisticValue::Turnover(median) => {
            let product = || {
                if are_apart(token.price_as_of, token.stats_as_of) {
                    None
                } else {
                    Some(token.price? * token.total_supply?)
                }
            };
            let cap = token.market_cap.or_else(product).filter(|cap| *cap > 0.0)?;
            let over = *median > TURNOVER_MAX * cap;
            over.then(|| {
                (
                    "turnover",
                    None,
                    format!("{name}: {median:.3e} USD per candle, market cap {cap:.3e}"),
                )
            })
        }
        StatisticValue::Transfer {
            largest,
            row,
            count,
        } => {
            let decimals = token.decimals?;
            let largest: f64 = format!("{largest}e-{decimals}").parse().ok()?;
            if let Some(supply) = token.total_supply.filter(|supply| *supply > 0.0)
                && largest > TRANSFER_MAX * supply
            {
                return Some((
                    "transfer_within_supply",
                    Some(*row),
                    format!("{name}: {largest:.3e} of {supply:.3e}"),
                ));
            }
            let tiny = *count >= TRANSFERS_MIN && decimals >= 6 && largest > 0.0 && largest < 1e-6;
            tiny.then(|| {
                (
                    "transfer_in_smallest_units",
                    Some(*row),
                    format!("{name}: up to {largest:.3e} in {count} transfers"),
                )
            })
        }
        StatisticValue::Span { .. } => None,
    }
}

/// Checks the sum of a token's balances against its supply or, if that is unknown, against any plausible supply.
pub fn balances(token: &TokenRow, sum: f64) -> Option<Contradiction> {
    let name = name(token);
    let Some(supply) = token.total_supply.filter(|supply| *supply > 0.0) else {
        return SMALLEST_UNITS.contains(&sum).then(|| {
            (
                "balances_in_smallest_units",
                None,
                format!("{name}: {}", figure(sum)),
            )
        });
    };
    (sum > supply * (1.0 + SLACK)).then(|| {
        (
            "balances_within_supply",
            None,
            format!("{name}: {} of {}", figure(sum), figure(supply)),
        )
    })
}

/// Formats a number to be read at a glance.
fn figure(number: f64) -> String {
    if number.abs() >= 1e15 {
        format!("{number:.3e}")
    } else {
        number.to_string()
    }
}

/// Checks a token's price against the close of its latest candle; the move of one day is not a contradiction.
pub fn price(token: &TokenRow, close: f64) -> Option<Contradiction> {
    let price = token.price.filter(|price| *price > 0.0)?;
    let name = name(token);
    let far = close > 0.0 && !(1.0 / PRICE_MAX..=PRICE_MAX).contains(&(price / close));
    far.then(|| {
        (
            "price_beside_close",
            None,
            format!("{name}: price {price}, latest close {close}"),
        )
    })
}

/// Checks a token's values against each other or, without a price or market cap, its supply against any plausible one. The supply of a
/// contract is in the unit given by its decimals.
pub fn figures(token: &TokenRow, is_of_contract: bool) -> Option<Contradiction> {
    let supply = token.total_supply?;
    let name = name(token);
    let rule = |of_file| {
        if is_of_contract {
            "supply_of_contract"
        } else {
            of_file
        }
    };
    let (Some(price), Some(cap)) = (token.price, token.market_cap) else {
        return SMALLEST_UNITS.contains(&supply).then(|| {
            (
                rule("supply_in_smallest_units"),
                None,
                format!("{name}: {}", figure(supply)),
            )
        });
    };
    let off = price * supply / cap;
    let as_smallest = token
        .decimals
        .filter(|decimals| *decimals >= 3)
        .and_then(|decimals| format!("1e{decimals}").parse::<f64>().ok());
    let is_smallest = as_smallest.is_some_and(|one| (0.2..=5.0).contains(&(off / one)));
    (off.is_finite()
        && price > 0.0
        && supply > 0.0
        && (is_smallest || !(1e-6..=1e6).contains(&off)))
    .then(|| {
        (
            rule("cap_of_supply"),
            None,
            format!("{name}: price {price}, supply {supply}, market cap {cap}"),
        )
    })
}

/// A gap: candles that are missing between two files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGap {
    /// The file that ends before the gap, and the one that begins after it.
    pub files: (String, String),
    /// The missing candles of the first token, as text.
    pub what: String,
    /// The first token, and the number of further ones.
    pub token: String,
    pub more: u64,
}

impl FileGap {
    /// The tokens whose candles are missing: `UNI and 2 more`.
    pub fn tokens(&self) -> String {
        let more = if self.more > 0 {
            format!(" and {} more", self.more)
        } else {
            String::new()
        };
        format!("{}{more}", self.token)
    }
}

/// The candles that one file has of a token and interval: first and last time, longest step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileSpan<'a> {
    first: i64,
    last: i64,
    longest: i64,
    file: &'a str,
}

/// Finds gaps between files with dense series: one gap for each pair of files, whatever the number of tokens. `symbol` returns a token's
/// symbol.
pub fn gaps<'a>(
    all: impl Iterator<Item = &'a TokenStatistic>,
    symbol: impl Fn(&str) -> Option<String>,
) -> Vec<FileGap> {
    let mut spans: BTreeMap<(&str, i64), Vec<FileSpan<'_>>> = BTreeMap::new();
    for statistic in all {
        if let StatisticValue::Span {
            interval,
            first,
            last,
            longest,
        } = statistic.value
        {
            spans
                .entry((&statistic.token, interval))
                .or_default()
                .push(FileSpan {
                    first,
                    last,
                    longest,
                    file: &statistic.file,
                });
        }
    }
    let mut gaps: Vec<FileGap> = Vec::new();
    for ((token, interval), mut files) in spans {
        files.sort_unstable();
        // The latest end so far, with the longest step and the name of its file.
        let mut before: Option<(i64, i64, &str)> = None;
        for FileSpan {
            first,
            last,
            longest,
            file,
        } in files
        {
            if let Some((end, usual, earlier)) = before {
                let missing = (first - end) / interval - 1;
                if missing >= MISSING_MIN
                    && (missing >= MISSING_MANY || first - end > usual.max(longest))
                    && earlier != file
                {
                    let files = (earlier.to_owned(), file.to_owned());
                    match gaps.iter_mut().find(|gap| gap.files == files) {
                        Some(gap) => gap.more += 1,
                        None => gaps.push(FileGap {
                            what: format!(
                                "{missing} candles of {} are missing between {}, where `{earlier}` ends, and {}, where `{file}` begins",
                                Interval(interval),
                                Time(end).minute_text(),
                                Time(first).minute_text()
                            ),
                            token: symbol(token).unwrap_or_else(|| token.to_owned()),
                            files,
                            more: 0,
                        }),
                    }
                }
            }
            if before.is_none_or(|(end, ..)| last > end) {
                before = Some((last, longest, file));
            }
        }
    }
    gaps
}
