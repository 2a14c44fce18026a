//! What addresses paid for a token, by the average cost method, from its transfers and candles. Pure.
//!
//! A transfer does not contain a price: tokens that an address receives count as bought at the close of their day, and tokens that it sends
//! as sold at that close. A gift, an airdrop or a move between two wallets of one owner counts as a trade too. Tokens received on a day
//! without a close have an unknown cost; they are in no cost, profit or average.
//!
//! For `q` tokens received at close `p`: `cost += q · p`, `priced += q`. For `q` tokens sent, the fraction `f = min(1, q / balance)` of the
//! priced tokens goes: `profit += f · (priced · p − cost)`, then `priced` and `cost` shrink by `f`. The average cost is `cost / priced`
//! (the moving weighted average of IAS 2, paragraphs 25–27).

use std::collections::{BTreeMap, HashMap};

use super::{NoFlows, is_void, unit_of};
use crate::{
    roles::{AddressRole, Roles},
    timeframes::frame,
};
use model::{
    address::Address,
    candles::{Candles, Interval},
    data::Data,
    time::{Day, Time},
};

/// Days that a close may be older than the transfer that it values.
const CLOSE_DAYS: i32 = 7;

/// The close of each day, as in the daily chart; of a token with longer candles only, of the days on which they end.
#[derive(Debug, Default)]
pub struct DayCloses(BTreeMap<Day, f64>);

impl DayCloses {
    pub fn new(dataset: &dyn Data, token: &Address) -> Self {
        let candles = dataset.candles_of(token);
        let series = candles.series();
        let mut closes = BTreeMap::new();
        let mut add = |interval: Interval, candles: &Candles<'_>| {
            for i in (0..candles.len()).filter(|&i| candles.valid(i)) {
                let end = candles.timestamp[i].saturating_add(interval.0);
                closes.insert(Time(end - 1).day(), candles.close[i]);
            }
        };
        if let Some(days) = frame(&series, Interval::DAY) {
            add(Interval::DAY, &days.as_candles());
        } else {
            for (interval, candles) in &series {
                add(*interval, candles);
            }
        }
        Self(closes)
    }

    /// The close of the day, or the last one of the seven days before.
    pub fn at(&self, time: Time) -> Option<f64> {
        let day = time.day();
        let days = Day(day.0.saturating_sub(CLOSE_DAYS))..=day;
        self.0.range(days).next_back().map(|(_, close)| *close)
    }
}

/// An address's tokens as its transfers so far give them. Amounts are whole tokens, money is USD; NaN after a transfer of unknown value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    balance: f64,
    /// The part of the balance with a known cost, and that cost.
    priced: f64,
    paid: f64,
    /// Profit of the tokens sent, and how many of them had a known cost.
    profit: f64,
    sold: f64,
    /// Its first transfer from a pool, router or exchange.
    pub first_purchase: Option<Time>,
}

impl Cost {
    pub(super) fn receive(&mut self, amount: f64, close: Option<f64>) {
        self.balance += amount;
        if let Some(close) = close {
            self.priced += amount;
            self.paid += amount * close;
        } else if amount.is_nan() {
            self.priced = f64::NAN;
        }
    }

    pub(super) fn send(&mut self, amount: f64, close: Option<f64>) {
        if amount.is_nan() {
            (self.priced, self.balance) = (f64::NAN, f64::NAN);
            return;
        }
        // Not a difference of floats: where all is sent, nothing remains. NaN stays.
        let is_part = amount < self.balance;
        let rest = if is_part {
            1.0 - amount / self.balance
        } else {
            0.0
        };
        let [sold, cost] = [self.priced, self.paid].map(|whole| whole * (1.0 - rest));
        if sold != 0.0 {
            self.profit += close.map_or(f64::NAN, |close| sold * close - cost);
            self.sold += sold;
        }
        self.balance = if is_part { self.balance - amount } else { 0.0 };
        (self.priced, self.paid) = (self.priced * rest, self.paid * rest);
    }

    /// Profit of the tokens sent, USD; `None` where none of them had a known cost, or a day had no close.
    pub fn realized_profit(&self) -> Option<f64> {
        Some(self.profit).filter(|profit| self.sold != 0.0 && profit.is_finite())
    }

    /// Tokens with a known cost and that cost, of at most `balance` tokens; `None` after a transfer of unknown value.
    pub(super) fn priced_of(&self, balance: f64) -> Option<(f64, f64)> {
        let part = if self.priced > balance.max(0.0) {
            balance.max(0.0) / self.priced
        } else {
            1.0
        };
        let known = (self.priced * part, self.paid * part);
        Some(known).filter(|(priced, cost)| priced.is_finite() && cost.is_finite())
    }
}

/// The costs of these addresses; none where the token's first transfers are not here. A transfer from a pool, router or exchange is a purchase.
/// `go_on` as in `flows`.
pub fn costs(
    dataset: &dyn Data,
    token: &Address,
    addresses: &[Address],
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<HashMap<Address, Cost>, NoFlows> {
    let unit = unit_of(dataset, token)?;
    let (closes, roles) = (DayCloses::new(dataset, token), Roles::new(dataset, token));
    let is_market = |address: &Address| {
        use AddressRole::{Exchange, Pool, Router};
        matches!(roles.role(address), Pool | Router | Exchange)
    };
    let mut costs: HashMap<Address, Cost> =
        addresses.iter().map(|a| (*a, Cost::default())).collect();
    let (total, mut done) = (dataset.transfers().count(token), 0);
    for chunk in dataset.transfers().chunks(token) {
        for transfer in chunk.iter().filter(|transfer| !is_void(transfer)) {
            let amount = transfer.value.map_or(f64::NAN, |value| value.0 / unit);
            let close = || closes.at(transfer.timestamp?);
            let [from, to] = [transfer.from_address, transfer.to_address];
            if let Some(cost) = to.and_then(|to| costs.get_mut(&to)) {
                cost.receive(amount, close());
                if from.is_some_and(|from| is_market(&from)) {
                    cost.first_purchase = cost.first_purchase.or(transfer.timestamp);
                }
            }
            if let Some(cost) = from.and_then(|from| costs.get_mut(&from)) {
                cost.send(amount, close());
            }
        }
        done += chunk.len();
        if !go_on(done, total) {
            return Err(NoFlows::Canceled);
        }
    }
    // Tokens from before the first transfer here have an unknown cost, and so does what was paid for those sent.
    let is_part = dataset.transfers_left_out(token) > 0;
    Ok(if is_part { HashMap::new() } else { costs })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;

    #[test]
    fn the_average_cost_moves_with_what_is_received_and_the_profit_with_what_is_sent() {
        let mut cost = Cost::default();
        cost.receive(10.0, Some(2.0));
        cost.receive(30.0, Some(4.0));
        // 140 USD for 40: 3.50 each.
        assert_eq!(cost.priced_of(40.0), Some((40.0, 140.0)));
        assert_eq!(cost.realized_profit(), None);
        cost.send(10.0, Some(5.0));
        assert_eq!(cost.realized_profit(), Some(15.0));
        assert_eq!(cost.priced_of(30.0), Some((30.0, 105.0)));
        // The table of holders has fewer: only these.
        assert_eq!(cost.priced_of(15.0), Some((15.0, 52.5)));
        assert_eq!(cost.priced_of(-1.0), Some((0.0, 0.0)));
        // More than the transfers gave: all of it goes.
        cost.send(99.0, Some(1.5));
        assert_eq!(cost.realized_profit(), Some(-45.0));
        assert_eq!(cost.priced_of(5.0), Some((0.0, 0.0)));
    }

    #[test]
    fn tokens_without_a_close_are_in_no_cost_and_in_no_profit() {
        let mut cost = Cost::default();
        cost.receive(30.0, None);
        cost.send(10.0, Some(9.0));
        assert_eq!((cost.realized_profit(), cost.balance), (None, 20.0));
        cost.receive(20.0, Some(1.0));
        // Half of the 40 have a cost: of 20 sent, 10 do.
        cost.send(20.0, Some(3.0));
        assert_eq!(cost.realized_profit(), Some(20.0));
        assert_eq!(cost.priced_of(20.0), Some((10.0, 10.0)));
        cost.send(4.0, None);
        assert_eq!(cost.realized_profit(), None);
    }

    #[test]
    fn after_a_transfer_of_unknown_value_nothing_is_known() {
        for first in [true, false] {
            let mut cost = Cost::default();
            cost.receive(10.0, Some(1.0));
            if first {
                cost.receive(NAN, Some(1.0));
            } else {
                cost.send(NAN, None);
            }
            cost.send(50.0, Some(1.0));
            cost.receive(10.0, Some(1.0));
            assert_eq!((cost.priced_of(10.0), cost.realized_profit()), (None, None));
        }
    }
}
