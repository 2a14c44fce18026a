//! The token that a person sees first: one whose chart has something to say.

use super::{
    fields::{FigureValue, figures},
    snapshot::Snapshot,
    view::View,
};
use analysis::{market::TokenSummary, numeric::descending, patterns::Status};
use model::{address::Address, progress::Progress};
use security::own_pools::is_stablecoin;

/// How many charts are looked at, 10 ms each at most: the first screen waits for the answer.
const LOOKED_AT: usize = 3;

/// Of the most traded tokens that have candles and are no stablecoins the first whose leading pattern is still open; without such a pattern
/// the most traded of them, without such tokens the one with the largest market cap.
pub fn opening_token(snapshot: &Snapshot) -> Option<Address> {
    let mut tokens: Vec<&TokenSummary> = snapshot.market.tokens.iter().collect();
    tokens.sort_by(|a, b| descending(a.market_cap, b.market_cap));
    let largest = tokens.first().map(|token| token.token_address);
    tokens.retain(|token| token.last_candle.is_some() && token.volume_24h.is_some());
    tokens.sort_by(|a, b| descending(a.volume_24h, b.volume_24h));
    let moving: Vec<Address> = tokens
        .iter()
        .map(|token| token.token_address)
        .filter(|token| !is_stablecoin(&snapshot.dataset, token))
        .take(LOOKED_AT)
        .collect();
    let says = |token: &&Address| has_open_pattern(snapshot, **token);
    moving
        .iter()
        .find(says)
        .or(moving.first())
        .copied()
        .or(largest)
}

fn has_open_pattern(snapshot: &Snapshot, token: Address) -> bool {
    let (view, progress) = (View::new(snapshot), Progress::default());
    let Ok(figures) = figures(&view, token, &["best_pattern"], &progress) else {
        return false;
    };
    matches!(
        figures.get("best_pattern"),
        Some(FigureValue::Pattern(
            _,
            Some(Status::Forming | Status::Confirmed)
        ))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests::snapshot;
    use load::sample::address;

    /// Candles of `days` days whose closes are `close(day)`, each with this volume.
    fn candles(token: &str, days: u32, volume: u32, close: impl Fn(f64) -> f64) -> String {
        let row = |day: u32| {
            let (open, close) = (close(f64::from(day) - 1.0), close(f64::from(day)));
            let (low, high) = (open.min(close) * 0.999, open.max(close) * 1.001);
            let month = ["01", "02", "03"][(day / 28) as usize];
            format!(
                "{token},2026-{month}-{:02},{open},{high},{low},{close},{volume},1d\n",
                day % 28 + 1
            )
        };
        (1..=days).map(row).collect()
    }

    /// Swings between two levels, each touched several times: a rectangle that no close has left.
    fn swings(day: f64) -> f64 {
        100.0 + 10.0 * (day * std::f64::consts::TAU / 12.0).sin()
    }

    #[test]
    fn the_first_token_is_one_whose_chart_says_something() {
        let tokens = "token_address,symbol,name,chain,listed,market_cap
0x1,USDT,Tether USD,eth,true,9000
0x2,CALM,Calm,eth,,800
0x3,BOX,Box,eth,,70";
        let pegged = candles("0x1", 80, 900_000_000, |_| 1.0);
        let rising = candles("0x2", 80, 80_000, |day| 10.0 * 1.01f64.powf(day));
        let boxed = candles("0x3", 80, 700, swings);
        for (what, rows, first) in [
            (
                "a leading pattern that is open goes first",
                format!("{pegged}{rising}{boxed}"),
                "0x3",
            ),
            (
                "without any the most traded that is no stablecoin",
                format!("{pegged}{rising}"),
                "0x2",
            ),
            (
                "without candles of others the largest",
                pegged.clone(),
                "0x1",
            ),
            ("without candles the largest", String::new(), "0x1"),
        ] {
            let candles =
                format!("token_address,timestamp,open,high,low,close,volume,interval\n{rows}");
            let snapshot = snapshot(&[("tokens", tokens), ("candles", &candles)]);
            assert_eq!(opening_token(&snapshot), Some(address(first)), "{what}");
        }
    }
}
