//! Whether a token is pegged to the dollar, or to a coin that it is a wrapped or staked form of, by its candles alone. The consequences are in
//! `patterns` and `trendlines`.

use schemars::JsonSchema;
use serde::Serialize;

use super::numeric::{finite, median, quantile};
use model::{address::Address, candles::Candles, time::DAY_MS};

/// Value of a stablecoin in USD.
const DOLLAR: f64 = 1.0;
/// Maximum distance of the median close from the dollar, as a fraction.
const OFF_MOST: f64 = 0.02;
/// Maximum distance of a usual close from the median: a token that merely pauses at a price moves more.
const MOVES_MOST: f64 = 0.01;
/// As `MOVES_MOST`, of a price in coins: the closes of two tokens are not of the same second. Of `stETH` in `ETH` (daily reference rates of Coin
/// Metrics) single days of December 2021 are off by 3%, of September to December 2023 none by more than 0.4%.
const COIN_MOVES_MOST: f64 = 0.02;
/// Share of usual closes: a stablecoin remains one after a few days of panic.
const USUAL: f64 = 0.95;
/// Days before the last candle that count.
const DAYS: i64 = 90;
/// Minimum known days and candles of these: 90 days are 13 weeks.
const DAYS_LEAST: i64 = 30;
const CANDLES_LEAST: usize = 12;

/// The peg of a token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Peg {
    /// Pegged value in USD at the last candle.
    pub price: f64,
    /// 95% of the closes of the last 90 days are within this percentage of the peg.
    pub within_percent: f64,
    /// The coin of which it is a wrapped or staked form. Omitted for a peg to the dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coin: Option<PeggedCoin>,
}

/// The coin that a wrapped or staked token follows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PeggedCoin {
    pub contract_address: Address,
    pub symbol: String,
    /// Value of one token in coins: the median of the last 90 days.
    pub ratio: f64,
}

/// A coin that a token may follow, with candles of the token's timeframe.
#[derive(Debug, Clone, Copy)]
pub struct Coin<'a> {
    pub contract_address: Address,
    pub symbol: &'a str,
    pub candles: Candles<'a>,
}

/// The token's peg: to the dollar, or to the first of the coins that it follows. `None` without a peg, or with fewer than 30 known days.
pub fn peg(candles: &Candles<'_>, coins: &[Coin<'_>]) -> Option<Peg> {
    to_dollar(candles).or_else(|| coins.iter().find_map(|coin| to_coin(candles, coin)))
}

fn to_dollar(candles: &Candles<'_>) -> Option<Peg> {
    let mut closes: Vec<f64> = recent(candles)?.map(|at| candles.close[at]).collect();
    let holds = held(&mut closes, MOVES_MOST)
        .is_some_and(|middle| (middle / DOLLAR - 1.0).abs() <= OFF_MOST);
    holds.then(|| Peg {
        price: DOLLAR,
        within_percent: finite(100.0 * usual(&closes, DOLLAR)),
        coin: None,
    })
}

fn to_coin(candles: &Candles<'_>, coin: &Coin<'_>) -> Option<Peg> {
    let theirs = |at: usize| {
        let place = coin
            .candles
            .timestamp
            .binary_search(&candles.timestamp[at])
            .ok()?;
        is_price(coin.candles.close[place]).then(|| coin.candles.close[place])
    };
    let both: Vec<(usize, f64)> = recent(candles)?
        .filter_map(|at| Some((at, theirs(at)?)))
        .collect();
    let ((first, _), (last, price)) = (*both.first()?, *both.last()?);
    if candles.timestamp[last] - candles.timestamp[first] < DAYS_LEAST * DAY_MS {
        return None;
    }
    let mut ratios: Vec<f64> = both
        .iter()
        .map(|(at, coin)| candles.close[*at] / coin)
        .collect();
    let ratio = held(&mut ratios, COIN_MOVES_MOST)?;
    let pegged = PeggedCoin {
        contract_address: coin.contract_address,
        symbol: coin.symbol.to_owned(),
        ratio,
    };
    Some(Peg {
        price: finite(ratio * price),
        within_percent: finite(100.0 * usual(&ratios, ratio)),
        coin: Some(pegged),
    })
}

/// Indexes of the closes of the last 90 days; `None` if they reach back fewer than 30.
fn recent<'a>(candles: &'a Candles<'_>) -> Option<impl Iterator<Item = usize> + use<'a>> {
    let last = *candles.timestamp.last()?;
    let from = candles
        .timestamp
        .partition_point(|time| *time <= last - DAYS * DAY_MS);
    let sound = |at: &usize| is_price(candles.close[*at]);
    let first = (from..candles.len()).find(sound)?;
    (last - candles.timestamp[first] >= DAYS_LEAST * DAY_MS)
        .then(|| (first..candles.len()).filter(sound))
}

/// The median of the prices, if the usual prices are within that fraction of it, and the last within twice that: a lost peg is none, however
/// long it lasted.
fn held(prices: &mut [f64], moves_most: f64) -> Option<f64> {
    let last = *prices.last().filter(|_| prices.len() >= CANDLES_LEAST)?;
    let middle = median(prices);
    let holds_still = (last / middle - 1.0).abs() <= 2.0 * moves_most;
    (holds_still && usual(prices, middle) <= moves_most).then_some(middle)
}

/// Distance of a usual price, as a fraction.
fn usual(prices: &[f64], about: f64) -> f64 {
    quantile(
        &mut prices
            .iter()
            .map(|price| (price / about - 1.0).abs())
            .collect::<Vec<_>>(),
        USUAL,
    )
}

fn is_price(close: f64) -> bool {
    close.is_finite() && close > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeframes::CandleVec;

    /// Daily candles with these closes.
    fn candles(closes: impl IntoIterator<Item = f64>) -> CandleVec {
        let mut candles = CandleVec::default();
        for (day, close) in closes.into_iter().enumerate() {
            candles.timestamp.push(day as i64 * DAY_MS);
            candles.open.push(close);
            candles.high.push(close);
            candles.low.push(close);
            candles.close.push(close);
            candles.volume.push(1.0);
        }
        candles
    }

    fn wave(about: f64, height: f64, days: usize) -> Vec<f64> {
        (0..days)
            .map(|day| about * (1.0 + height * (day as f64).sin()))
            .collect()
    }

    #[test]
    fn a_dollar_that_hardly_moves_is_a_peg() {
        let fear = |days: usize| {
            wave(1.0, 0.001, 90)
                .into_iter()
                .enumerate()
                .map(|(at, close)| if at < days { 0.88 } else { close })
                .collect()
        };
        let missing = wave(1.0, 0.001, 60)
            .into_iter()
            .enumerate()
            .map(|(at, close)| if at % 2 == 0 { f64::NAN } else { close })
            .collect();
        let cases: Vec<(&str, Vec<f64>, Option<f64>)> = vec![
            ("holds", wave(1.0, 0.001, 90), Some(0.1)),
            ("holds a little lower", wave(0.99, 0.001, 90), Some(1.1)),
            ("not at a dollar", wave(0.97, 0.001, 90), None),
            ("moves", wave(1.0, 0.012, 90), None),
            ("four days of fear", fear(4), Some(0.1)),
            ("ten days of fear", fear(10), None),
            (
                "lost today",
                [wave(1.0, 0.001, 90), vec![0.97]].concat(),
                None,
            ),
            (
                "lost four days ago",
                [wave(1.0, 0.001, 90), vec![0.5, 0.4, 0.3, 0.2]].concat(),
                None,
            ),
            (
                "a little off today",
                [wave(1.0, 0.001, 90), vec![0.985]].concat(),
                Some(0.1),
            ),
            (
                "the fear of last year",
                [vec![0.5; 200], wave(1.0, 0.001, 91)].concat(),
                Some(0.1),
            ),
            ("thirty days", wave(1.0, 0.001, 31), Some(0.1)),
            ("too short", wave(1.0, 0.001, 30), None),
            ("every second close", missing, Some(0.1)),
            ("nothing", Vec::new(), None),
        ];
        for (case, closes, within) in cases {
            let found = peg(&candles(closes).as_candles(), &[]).map(|peg| peg.within_percent);
            assert_eq!(
                found.map(|percent| (percent * 10.0).round() / 10.0),
                within,
                "{case}: {found:?}"
            );
        }
    }

    #[test]
    fn weeks_tell_it_as_days_do() {
        let mut weeks = candles(wave(1.0, 0.001, 40));
        weeks.timestamp.iter_mut().for_each(|time| *time *= 7);
        assert!(peg(&weeks.as_candles(), &[]).is_some());
    }

    #[test]
    fn a_wrapped_or_staked_coin_follows_its_coin() {
        let coin: Vec<f64> = (0..91)
            .map(|day| 2_000.0 * (1.0 + 0.3 * (f64::from(day) / 9.0).sin()))
            .collect();
        let times = |ratio: &dyn Fn(usize) -> f64| {
            coin.iter()
                .enumerate()
                .map(|(day, close)| close * ratio(day))
                .collect::<Vec<_>>()
        };
        let late = |from: usize| times(&|day| if day < from { f64::NAN } else { 1.0 });
        let cases = [
            (
                "wrapped",
                times(&|day| 1.0 + 0.002 * (day as f64).sin()),
                Some((1.0, 0.2)),
            ),
            (
                "staked: a little more each day",
                times(&|day| 1.2 * 1.000_1_f64.powi(day as i32)),
                Some((1.205, 0.4)),
            ),
            (
                "more than a coin gains in a year",
                times(&|day| 1.001_f64.powi(day as i32)),
                None,
            ),
            (
                "four days of fear",
                times(&|day| if day < 4 { 0.93 } else { 1.0 }),
                Some((1.0, 0.0)),
            ),
            (
                "ten days of fear",
                times(&|day| if day < 10 { 0.93 } else { 1.0 }),
                None,
            ),
            (
                "lost today",
                times(&|day| if day < 90 { 1.0 } else { 0.93 }),
                None,
            ),
            ("of 30 days", late(60), Some((1.0, 0.0))),
            ("of 29 days", late(61), None),
            ("its own way", wave(2_000.0, 0.05, 91), None),
        ];
        let coin = candles(coin.clone());
        for (case, closes, expected) in cases {
            let coin = Coin {
                contract_address: Address::parse("0x1").unwrap_or_default(),
                symbol: "ETH",
                candles: coin.as_candles(),
            };
            let found = peg(&candles(closes).as_candles(), &[coin]);
            let round = |number: f64, by: f64| (number * by).round() / by;
            let told = found.as_ref().and_then(|peg| {
                Some((
                    round(peg.coin.as_ref()?.ratio, 1e3),
                    round(peg.within_percent, 10.0),
                ))
            });
            assert_eq!(told, expected, "{case}: {found:?}");
        }
    }

    #[test]
    fn a_dollar_goes_before_a_coin_and_its_price_is_the_coins() {
        let flat = candles(wave(1.0, 0.001, 91));
        let coin = Coin {
            contract_address: Address::default(),
            symbol: "USD",
            candles: flat.as_candles(),
        };
        assert_eq!(
            peg(&flat.as_candles(), &[coin]).and_then(|peg| peg.coin),
            None
        );
        let (eth, wrapped) = (
            candles(wave(2_000.0, 0.1, 91)),
            candles(wave(3_000.0, 0.1, 91)),
        );
        let coins = [
            coin,
            Coin {
                symbol: "ETH",
                candles: eth.as_candles(),
                ..coin
            },
        ];
        let found = peg(&wrapped.as_candles(), &coins).expect("it follows the second");
        assert!(
            (found.price - wrapped.close[90]).abs() < 1e-6
                && found.coin.is_some_and(|coin| coin.symbol == "ETH")
        );
    }
}
