//! The coins that a token may be a wrapped or staked form of: those whose symbol is part of its own. Its candles decide whether it follows
//! one.

use super::{caches::SymbolOrder, snapshot::Snapshot, view::View};
use analysis::{
    market::TokenSummary,
    peg::Coin,
    timeframes::{self, Frame},
};
use model::{
    address::Address,
    candles::{ChartCandles, Interval},
    error::Result,
    progress::Progress,
};

/// Shortest symbol of a coin that is looked for in others: shorter ones are in many names.
const LETTERS_LEAST: usize = 3;
/// Longest symbol that is looked at: its parts are many.
const SYMBOL_MOST: usize = 24;
/// Most coins whose candles are looked at.
const COINS_MOST: usize = 8;

/// The coins that a token may follow, and their candles, for charts of one interval.
pub(super) struct Coins<'a> {
    interval: Interval,
    known: Vec<(&'a TokenSummary, ChartCandles<'a>)>,
}

impl<'a> Coins<'a> {
    /// Those of a token, the longest symbol first: `wstETH` is staked `stETH` before it is `ETH`. Then the tokens of the same symbol that are
    /// larger, or as large and stand before it: of one coin on several chains the one with the largest market cap is the coin. Days and longer
    /// candles are always here; shorter ones are brought.
    pub(super) fn of(
        view: &'a View<'_>,
        token: &Address,
        interval: Interval,
        progress: &Progress,
    ) -> Result<Self> {
        let mut coins = Self::here(view, token, interval);
        if interval < Interval::DAY {
            for (coin, candles) in &mut coins.known {
                view.bring("candles", &[coin.token_address], progress)?;
                *candles = view.dataset.candles().of(&coin.token_address);
            }
        }
        Ok(coins)
    }

    /// The same with the candles that are here without asking: all, or of an engine days and longer ones.
    pub(super) fn here(snapshot: &'a Snapshot, token: &Address, interval: Interval) -> Self {
        let candles = |coin: &TokenSummary| snapshot.dataset.candles().loaded(&coin.token_address);
        let known = coins_of(snapshot, token)
            .into_iter()
            .map(|coin| (coin, candles(coin)))
            .collect();
        Self { interval, known }
    }

    /// Their candles.
    pub(super) fn frames(&'a self) -> CoinFrames<'a> {
        let frame = |(coin, candles): &'a (&TokenSummary, ChartCandles<'a>)| {
            Some((
                coin.token_address,
                coin.symbol.as_deref()?,
                timeframes::frame(&candles.series(), self.interval)?,
            ))
        };
        CoinFrames(self.known.iter().filter_map(frame).collect())
    }
}

/// The tokens that may be the coin of a token.
fn coins_of<'a>(snapshot: &'a Snapshot, token: &Address) -> Vec<&'a TokenSummary> {
    let (tokens, place) = (
        &snapshot.market.tokens,
        snapshot.dataset.token_position(token),
    );
    let Some(own) = place.and_then(|place| tokens.get(place)) else {
        return Vec::new();
    };
    let symbol = own.symbol.as_deref().unwrap_or_default();
    let symbol = symbol.trim().to_lowercase();
    let size = |token: &TokenSummary| token.market_cap.unwrap_or_default();
    let before = |other: &(usize, &TokenSummary)| {
        let is_first = size(other.1)
            .total_cmp(&size(own))
            .reverse()
            .then(Some(other.0).cmp(&place))
            .is_lt();
        is_first && other.1.last_candle.is_some() && !symbol.is_empty()
    };
    let namesakes = snapshot.symbols.of(tokens, &symbol).into_iter();
    let namesakes = namesakes.filter(before).take(COINS_MOST);
    let mut coins = named_in(&symbol, &snapshot.symbols, tokens);
    coins.extend(namesakes.map(|(_, coin)| coin));
    coins
}

/// The candles of one length of coins.
pub(super) struct CoinFrames<'a>(Vec<(Address, &'a str, Frame<'a>)>);

impl CoinFrames<'_> {
    pub(super) fn coins(&self) -> Vec<Coin<'_>> {
        self.0
            .iter()
            .map(|(address, symbol, frame)| Coin {
                contract_address: *address,
                symbol,
                candles: frame.as_candles(),
            })
            .collect()
    }
}

/// The tokens with candles whose symbol begins or ends this longer one, or does with a `w` before it: `stETH` may follow `WETH`.
fn named_in<'a>(
    symbol: &str,
    order: &SymbolOrder,
    tokens: &'a [TokenSummary],
) -> Vec<&'a TokenSummary> {
    let mut found = Vec::new();
    if symbol.len() > SYMBOL_MOST {
        return Vec::new();
    }
    let cuts = (LETTERS_LEAST..symbol.len()).rev();
    let parts = cuts
        .flat_map(|letters| [symbol.get(symbol.len() - letters..), symbol.get(..letters)])
        .flatten();
    for name in parts
        .flat_map(|part| [part.to_owned(), format!("w{part}")])
        .filter(|name| name != symbol)
    {
        found.extend(
            order
                .of(tokens, &name)
                .into_iter()
                .map(|(_, token)| token)
                .filter(|token| token.last_candle.is_some()),
        );
    }
    found.truncate(COINS_MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::{
        Query as _,
        fields::figures,
        patterns::PatternsQuery,
        tests::{addresses, parsed, snapshot},
    };
    use analysis::patterns::TradeAction;
    use model::time::{DAY_MS, Time};

    #[test]
    fn a_coin_is_named_in_the_symbol_of_what_follows_it() {
        let symbols = [
            "ETH",
            "WETH",
            "stETH",
            "wstETH",
            "ETHx",
            "ANETHUM",
            "OP",
            "STOP",
            "1000PEPE",
            "PEPE",
            "USDC.e",
            "USDC",
            "ABCDEFGHIJKLMNOPQRSTUETH",
            "ABCDEFGHIJKLMNOPQRSTUVETH",
        ];
        let token = |(at, symbol): (usize, &&str)| format!("0x{:x},{symbol},A,eth\n", at + 1);
        let candle = |at: usize| format!("0x{:x},2026-01-01,5,5,5,5,1d\n", at + 1);
        let tokens: String = symbols.iter().enumerate().map(token).collect();
        let candles: String = (0..symbols.len()).map(candle).collect();
        let snapshot = snapshot(&[
            (
                "tokens",
                &format!("token_address,symbol,name,chain\n{tokens}"),
            ),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{candles}"),
            ),
        ]);
        for (symbol, expected) in [
            ("ETH", &[][..]),
            ("WETH", &["ETH"]),
            ("stETH", &["ETH", "WETH"]),
            ("wstETH", &["stETH", "ETH", "WETH"]),
            ("ETHx", &["ETH", "WETH"]),
            ("ANETHUM", &[]),
            ("STOP", &[]),
            ("1000PEPE", &["PEPE"]),
            ("USDC.e", &["USDC"]),
            ("ABCDEFGHIJKLMNOPQRSTUETH", &["ETH", "WETH"]),
            ("ABCDEFGHIJKLMNOPQRSTUVETH", &[]),
        ] {
            let at = symbols
                .iter()
                .position(|one| *one == symbol)
                .map_or(0, |at| at + 1);
            let address = Address::parse(&format!("0x{at:0>40x}")).expect("an address");
            let found: Vec<&str> = coins_of(&snapshot, &address)
                .iter()
                .filter_map(|coin| coin.symbol.as_deref())
                .collect();
            assert_eq!(found, expected, "{symbol}");
        }
    }

    #[test]
    fn a_staked_coin_has_no_signal_of_its_own_in_answer_and_list() {
        let wave = |day: u32| {
            2_000.0 * (1.0 + 0.1 * (f64::from(day) / 4.0).sin() + 0.02 * f64::from(day % 3))
        };
        let rows = |token: u8, by: f64| {
            let row = |day: u32| {
                let (open, close) = (by * wave(day.max(1) - 1), by * wave(day));
                let date = Time(i64::from(day) * DAY_MS + 1_767_225_600_000);
                format!(
                    "0x{token},{date},{open},{},{},{close},1d\n",
                    open.max(close),
                    open.min(close)
                )
            };
            (0..120).map(row).collect::<String>()
        };
        let snapshot = |symbol: &str| {
            snapshot(&[
                (
                    "tokens",
                    &format!("token_address,symbol,name,chain\n0x1,ETH,A,eth\n0x2,{symbol},B,eth"),
                ),
                (
                    "candles",
                    &format!(
                        "token_address,timestamp,open,high,low,close,interval\n{}{}",
                        rows(1, 1.0),
                        rows(2, 1.2)
                    ),
                ),
            ])
        };
        let progress = Progress::default();
        let found = |snapshot: &Snapshot, query: &str| {
            let question = parsed::<PatternsQuery>(&[("contractAddress", &addresses("2"))], query)
                .expect("a question");
            question
                .answer(&View::new(snapshot), &progress)
                .expect("an answer")
        };
        let listed = |snapshot: &Snapshot| {
            let token = Address::parse(&addresses("2")).expect("an address");
            figures(&View::new(snapshot), token, &["best_pattern"], &progress)
                .expect("figures")
                .get("best_pattern")
                .is_some()
        };
        let (staked, other) = (snapshot("stETH"), snapshot("UNI"));
        let (explained, plain) = (found(&staked, "explain=true"), found(&staked, ""));
        let coin = explained
            .peg
            .and_then(|peg| peg.coin)
            .expect("it follows the coin");
        assert_eq!(
            (coin.symbol.as_str(), (coin.ratio * 1e6).round() / 1e6),
            ("ETH", 1.2)
        );
        let text = explained
            .advice
            .map(|advice| advice.text)
            .unwrap_or_default();
        assert_eq!(
            text,
            "95% of closes are within 0.00% of 1.2000 ETH; see the chart of ETH"
        );
        assert_eq!(
            (
                plain.patterns.len(),
                plain.recommended_action,
                listed(&staked)
            ),
            (0, TradeAction::Hold, false)
        );
        assert!(
            !explained.patterns.is_empty(),
            "they are still there to see"
        );
        let same = found(&other, "");
        assert_eq!(
            (same.patterns.len(), listed(&other)),
            (explained.patterns.len(), true),
            "the same candles under another name"
        );
    }
}
