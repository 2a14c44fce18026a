//! The inputs of one token's key metrics, and their derivation: the same for the present and for a past day.

use super::{LastCandle, LastCount, TokenSummary, daily_closes, finite, latest_series, moves};
use crate::{
    growth::{self, WINDOW_DAYS_DEFAULT},
    numeric::known_sum,
};
use model::{
    candles::{Candles, HISTORY_DAYS, Interval},
    data::Data,
    day_counts::DayCounts,
    rows::PoolRow,
    time::{DAY_MS, HOUR_MS, Time},
    token::{Token, are_apart},
};

/// A given price may be rounded, or a little newer than the close: it is still that of the changes if it differs by no more of it.
const PRICE_APART: f64 = 0.005;

/// A figure, and when it was so.
type Dated<T> = (T, Option<Time>);

/// The figures that the `tokens` file gives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GivenFigures {
    price: Option<Dated<f64>>,
    market_cap: Option<Dated<f64>>,
    total_supply: Option<Dated<f64>>,
    holders: Option<Dated<i64>>,
}

impl GivenFigures {
    pub(super) fn of(token: &Token) -> Self {
        let (row, dates) = (&token.row, &token.dates);
        Self {
            price: row.price.map(|price| (price, dates.price)),
            market_cap: row.market_cap.map(|cap| (cap, dates.market_cap)),
            total_supply: row.total_supply.map(|supply| (supply, dates.total_supply)),
            holders: row.holders.map(|count| (count, dates.holders)),
        }
    }

    /// The price, unless a candle is known to be newer; otherwise the close of the latest.
    pub(super) fn price(&self, latest_close: Option<(Time, f64)>) -> Option<Dated<f64>> {
        let is_newer = |given: Option<Time>| {
            given
                .zip(latest_close)
                .is_some_and(|(given, (close, _))| close > given)
        };
        self.price
            .filter(|(_, given)| !is_newer(*given))
            .or_else(|| latest_close.map(|(time, close)| (close, Some(time))))
    }

    /// The values from before this time: a value without a date is current.
    pub(super) fn before(self, end: Time) -> Self {
        fn dated<T>(figure: Option<Dated<T>>, end: Time) -> Option<Dated<T>> {
            figure.filter(|(_, at)| at.is_some_and(|at| at < end))
        }
        Self {
            price: dated(self.price, end),
            market_cap: dated(self.market_cap, end),
            total_supply: dated(self.total_supply, end),
            holders: dated(self.holders, end),
        }
    }
}

/// A token's rows, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenRows<'a> {
    pub(super) given: GivenFigures,
    /// By interval, the finest first.
    pub(super) series: &'a [(Interval, Candles<'a>)],
    /// The latest valid candle's start and close.
    pub(super) latest_close: Option<(Time, f64)>,
    /// Oldest first.
    pub(super) counts: DayCounts<'a>,
    pub(super) created_at: Option<Time>,
    /// Of its pools.
    pub(super) volume: Option<f64>,
    pub(super) liquidity: Option<f64>,
    /// Rows of `holders` with a balance.
    pub(super) held: u64,
}

impl<'a> TokenRows<'a> {
    /// A token's rows without its candles and given figures. What has no time is not known as of a day.
    pub(super) fn without_candles(dataset: &'a dyn Data, token: &Token) -> Self {
        let address = &token.row.token_address;
        let in_pools = |column: fn(&PoolRow) -> Option<f64>| {
            if dataset.lacks_history("pools") {
                None
            } else {
                known_sum(dataset.pools_of(address).map(column))
            }
        };
        Self {
            given: GivenFigures::default(),
            series: &[],
            latest_close: None,
            counts: dataset.holder_counts_of(address),
            created_at: dataset.created_at(address),
            volume: in_pools(|pool| pool.volume24h),
            liquidity: in_pools(|pool| pool.liquidity),
            held: if dataset.lacks_history("holders") {
                0
            } else {
                dataset.holders_held(address)
            },
        }
    }

    /// The key figures, without the custom columns and what other tokens tell.
    pub(super) fn summary(&self, token: &Token) -> TokenSummary {
        let series = self.series;
        let (price, price_as_of) = self.price().unzip();
        let price_as_of = price_as_of.flatten();
        let (market_cap, market_cap_as_of) = self.market_cap(price, price_as_of).unzip();
        let (holders, holders_as_of) = self.holders().unzip();
        let start = |(interval, candles): (Interval, Candles<'_>)| {
            Some(LastCandle {
                start: Time(*candles.timestamp.last()?),
                interval,
                behind: None,
            })
        };
        let counted = moves::volume_24h(series);
        let mut price_history = daily_closes(series, false);
        let price_before_history =
            (price_history.len() > HISTORY_DAYS).then(|| price_history.remove(0));
        TokenSummary {
            token_address: token.row.token_address,
            symbol: token.row.symbol.clone(),
            name: token.row.name.clone(),
            chains: token.chains.clone(),
            price,
            market_cap,
            price_change_24h: moves::change(series, DAY_MS),
            price_change_1h: moves::change(series, HOUR_MS),
            price_change_7d: moves::change(series, 7 * DAY_MS),
            price_change_30d: moves::change(series, 30 * DAY_MS),
            volume_24h: counted.or(self.volume),
            volume_of_candles: counted.is_some(),
            liquidity: self.liquidity,
            mentions: None,
            engagement_7d: None,
            decimals: token.row.decimals,
            holders,
            price_as_of,
            close_apart: self.close_apart(),
            market_cap_as_of: market_cap_as_of.flatten(),
            holders_as_of: holders_as_of.flatten(),
            holders_growth: growth::growth(self.counts, WINDOW_DAYS_DEFAULT)
                .map(|growth| growth.percent),
            price_before_history,
            price_history,
            last_candle: latest_series(series).and_then(start),
            last_count: self.last_count(),
            created_at: self.created_at,
            age: None,
            own: Vec::new(),
        }
    }

    fn price(&self) -> Option<Dated<f64>> {
        self.given.price(self.latest_close)
    }

    /// The last close where the given price has no date and is not that close.
    fn close_apart(&self) -> Option<(Time, f64)> {
        let (price, _) = self.given.price.filter(|(_, at)| at.is_none())?;
        self.latest_close
            .filter(|(_, close)| (price - close).abs() > close * PRICE_APART)
    }

    /// The market cap given in the data, else price times supply, unless these are of different times.
    fn market_cap(&self, price: Option<f64>, price_as_of: Option<Time>) -> Option<Dated<f64>> {
        let product = || {
            let (supply, supply_as_of) = self.given.total_supply?;
            let product =
                finite(price? * supply).filter(|_| !are_apart(price_as_of, supply_as_of))?;
            Some((
                product,
                [price_as_of, supply_as_of].into_iter().flatten().min(),
            ))
        };
        self.given.market_cap.or_else(product)
    }

    /// The holder count given in the data, unless the latest daily count is known to be newer; then that count; then the number of `holders`
    /// rows with a balance.
    fn holders(&self) -> Option<Dated<i64>> {
        let counted = self
            .counts
            .iter()
            .rev()
            .find_map(|row| Some((row.holders?, Some(row.date.start()))));
        let is_newer = |(_, given): &Dated<i64>| {
            given.is_some_and(|given| counted.is_some_and(|(_, counted)| counted > Some(given)))
        };
        self.given
            .holders
            .filter(|given| !is_newer(given))
            .or(counted)
            .or_else(|| {
                let count = i64::try_from(self.held);
                count
                    .ok()
                    .filter(|count| *count > 0)
                    .map(|count| (count, None))
            })
    }

    fn last_count(&self) -> Option<LastCount> {
        let last = self
            .counts
            .iter()
            .rev()
            .find(|count| count.holders.is_some());
        last.map(|count| LastCount {
            day: count.date,
            old: false,
        })
    }
}
