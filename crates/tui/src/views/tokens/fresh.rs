//! Which prices on screen changed with the newest snapshot; they are marked for a moment.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use crate::views::prelude::*;
use analysis::market::TokenSummary;

/// How long a price is marked.
pub const MARKED_FOR: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct FreshPrices {
    /// Prices of the last frame.
    shown: HashMap<Address, Option<f64>>,
    changed: HashSet<Address>,
    since: Option<Instant>,
}

impl FreshPrices {
    /// Records the prices on screen.
    pub(super) fn note<'a>(&mut self, shown: impl Iterator<Item = &'a TokenSummary>) {
        self.shown = shown
            .map(|token| (token.token_address, token.price))
            .collect();
    }

    /// Finds the prices on screen that changed with a new snapshot.
    pub(super) fn compare<'a>(
        &mut self,
        token: impl Fn(&Address) -> Option<&'a TokenSummary>,
        now: Instant,
    ) {
        let is_new = |shown: &(&Address, &Option<f64>)| {
            token(shown.0).is_some_and(|token| token.price != *shown.1)
        };
        let changed = self.shown.iter().filter(is_new);
        self.changed = changed.map(|(token, _)| *token).collect();
        self.since = Some(now);
    }

    /// Forgets all prices, as when another point in time is shown.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The tokens whose price is marked.
    pub(super) fn marked(&self, now: Instant) -> Option<&HashSet<Address>> {
        self.since
            .filter(|since| now.duration_since(*since) < MARKED_FOR)
            .map(|_| &self.changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::market::Market;
    use load::sample;

    fn tokens(prices: &[&str]) -> Vec<TokenSummary> {
        let rows: Vec<String> = prices
            .iter()
            .enumerate()
            .map(|(i, price)| format!("0x{},T,Token,eth,{price}\n", i + 1))
            .collect();
        Market::new(&sample::dataset(&[(
            "tokens",
            &format!("token_address,symbol,name,chain,price\n{}", rows.concat()),
        )]))
        .tokens
    }

    #[test]
    fn prices_that_changed_on_screen_are_marked_for_a_second() {
        let (start, mut fresh) = (Instant::now(), FreshPrices::default());
        assert_eq!(fresh.marked(start), None);
        let before = tokens(&["1", "2", "3", ""]);
        fresh.note(before.iter().take(3));
        let after = tokens(&["1", "2.5", "", "4"]);
        let found = |token: &Address| after.iter().find(|after| after.token_address == *token);
        fresh.compare(found, start);
        let marked: HashSet<Address> = [sample::address("0x2"), sample::address("0x3")].into();
        assert_eq!(
            fresh.marked(start + Duration::from_millis(900)),
            Some(&marked)
        );
        assert_eq!(fresh.marked(start + MARKED_FOR), None);
        fresh.clear();
        assert_eq!(fresh.marked(start), None);
    }
}
