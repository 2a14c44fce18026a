//! The sell by whose cost the pools are sorted: the typed amount, its query, and the cheapest pool.

use crate::views::prelude::*;
use analysis::dex::sale::{SplitSale, TokenPool};
use query::queries::{
    list::Listed as _,
    pools::{AMOUNT_DEFAULT, AMOUNT_MAX, PoolsQuery, TokenPools},
};
use security::Danger;
use table::filter::{self, Filter};

/// The word before the input line of an amount.
pub(super) const SELL: &str = "sell";
/// The most pools of an answer.
const POOLS_MAX: u64 = 250;

/// Below this height the sale takes one line.
const LOW: u16 = 10;

/// The sell size in USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SoldAmount(u64);

impl Default for SoldAmount {
    fn default() -> Self {
        Self(AMOUNT_DEFAULT)
    }
}

impl SoldAmount {
    /// Reads `50k`.
    pub(super) fn read(text: &str) -> Result<Self, InputError> {
        let typed = text.trim();
        let amount = filter::number(typed)
            .filter(|_| !typed.ends_with('%'))
            .map(f64::round);
        let amount = amount.filter(|amount| (1.0..=AMOUNT_MAX as f64).contains(amount));
        amount
            .map(|amount| Self(amount as u64))
            .ok_or_else(|| InputError::SellAmount(typed.to_owned()))
    }
}

impl std::fmt::Display for SoldAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

pub(super) fn question(token: Address, SoldAmount(amount): SoldAmount) -> PoolsQuery {
    let sort = vec![Order::rising("loss_min"), Order::falling("liquidity")];
    PoolsQuery {
        token_address: token,
        amount,
        filter: Filter::default(),
        sort,
        only: Vec::new(),
        page: 1,
        limit: POOLS_MAX,
    }
}

/// The same query for one DEX.
pub(super) fn of_dex(question: &PoolsQuery, dex_id: &str) -> PoolsQuery {
    let filter = filter::parse(&format!("dex_id={dex_id}"), TokenPool::COLUMNS).unwrap_or_default();
    PoolsQuery {
        filter,
        ..question.clone()
    }
}

/// The security warning, or a finding that the cost of a sell does not include: `Security (4) found SELL_TAX: …`.
pub(super) fn against(danger: Danger, score: i64) -> Option<String> {
    let found = || {
        danger
            .against_sale()
            .map(|code| format!("Security (4) found {}: {}", code.word(), code.meaning()))
    };
    words::warning(danger, score).or_else(found)
}

/// `sell $50,000: cost 0.42%, receive $49,790, best: UNI/WETH on uniswap-v2`, in whole numbers only, and above it the
/// warning against selling; returns the lines used.
pub(super) fn draw(
    answer: &TokenPools,
    against: Option<&str>,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    let selling = format!("sell ${}:", format::count(answer.amount));
    let says = match &answer.best {
        Some(best) => {
            let about = if best.is_estimate() { "≈ " } else { "" };
            let brings = best.proceeds.map_or_else(
                || format::human(None),
                |usd| format::count(usd.round() as u64),
            );
            let lost = format!("cost {about}{}", format::share(best.loss));
            let whole = format!(
                "{selling} {lost}, receive ${brings}, best: {} on {}",
                best.pair, best.dex_id
            );
            let short = format!(
                "{selling} {lost}, receive ${brings}: {}, {}",
                best.pair, best.dex_id
            );
            if area.height < LOW {
                text::longest_that_fits([whole, short], usize::from(area.width))
            } else {
                whole
            }
        }
        None => format!("{selling} the data has no pool with both a fee and liquidity"),
    };
    let hint = "x amount  a all DEXes";
    let split = answer.split.as_ref().map(split_words);
    // In a low pane the pools need the room.
    let lines = if area.height < LOW { 1 } else { 2 };
    let mut used = 0;
    if let Some(against) = against {
        used += put_wrapped(
            buffer,
            area,
            0,
            used,
            against,
            lines,
            context.theme.style(Role::Warning),
        );
    }
    let at = used;
    used += put_wrapped(buffer, area, 0, at, &says, lines, context.theme.text());
    if text::width(&says) + text::width(hint) + 2 <= usize::from(area.width) {
        put_right(buffer, area, at, hint, context.theme.dim());
    }
    if let Some(split) = split {
        used += put_wrapped(buffer, area, 0, used, &split, lines, context.theme.text());
    }
    if lines == 1 {
        return used;
    }
    let notes = [
        (
            answer.pools.iter().any(TokenPool::is_estimate),
            "≈ estimate for a constant-product pool (x·y = k) with half the liquidity; concentrated pools (v3, v4) differ",
        ),
        (
            answer
                .pools
                .iter()
                .any(|pool| pool.loss.is_none() && pool.loss_min.is_some()),
            "≥ the fee is not in the data: the lowest possible cost",
        ),
    ];
    for (_, note) in notes.into_iter().filter(|(is_needed, _)| *is_needed) {
        used += put_wrapped(buffer, area, 0, used, note, lines, context.theme.dim());
    }
    used
}

/// `split over two pools: cost 3.02%, receive $48,490: 62% in UNI/USDC on uniswap-v3, 38% in UNI/WETH on uniswap-v2`.
fn split_words(split: &SplitSale) -> String {
    let about = if split.is_estimate() { "≈ " } else { "" };
    let parts: Vec<String> = split
        .parts
        .iter()
        .map(|part| {
            let share = format::share(Some(part.share));
            format!("{share} in {} on {}", part.pair, part.dex_id)
        })
        .collect();
    format!(
        "split over two pools: cost {about}{}, receive ${}: {}",
        format::share(Some(split.loss)),
        format::count(split.proceeds.round() as u64),
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_typed_as_people_write_them() {
        for (text, expected) in [
            ("50000", Some(50_000)),
            ("50k", Some(50_000)),
            ("$1,250,000", Some(1_250_000)),
            ("2.5m", Some(2_500_000)),
            ("1B", Some(1_000_000_000)),
            ("0", None),
            ("much", None),
            ("50%", None),
            ("2000b", None),
        ] {
            assert_eq!(
                SoldAmount::read(text).ok().map(|amount| amount.0),
                expected,
                "{text}"
            );
        }
    }
}
