//! The tokens that moved most like one: a comparison that names a single token is with these.

use super::{CompareQuery, Points, TOKENS_MAX, daily_points, days_of_period};
use crate::queries::{timeframes::candles_of, view::View};
use analysis::{
    compare::{correlation, side_by_side},
    market::TokenSummary,
    numeric::descending,
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    progress::Progress,
};

/// Tokens, the largest first, among which they are searched.
const SEARCHED_MAX: usize = 2_000;

impl CompareQuery {
    /// The tokens whose daily returns in the period correlate most with this one's, the highest correlation first, without those of the same
    /// symbol. Those with returns on less than half of its days are left out: a few days correlate by chance.
    pub(super) fn most_alike(
        &self,
        view: &View<'_>,
        token: &Address,
        progress: &Progress,
    ) -> Result<Vec<Address>> {
        let own = daily_points(&candles_of(view, token, progress)?.series());
        let [from, to] = [self.from, self.to].map(|time| time.map(|time| time.0));
        let within: Points = own
            .iter()
            .filter(|(day, _)| {
                from.is_none_or(|from| *day >= from) && to.is_none_or(|to| *day <= to)
            })
            .copied()
            .collect();
        let days = days_of_period(self.period);
        let Some((start, end)) = side_by_side(&[within], days)
            .and_then(|span| Some((*span.times.first()?, *span.times.last()?)))
        else {
            return Err(self.apart(view, &[*token], &[Points::new()]));
        };
        let returns = correlation(&own, &own, start, end).n;
        let mut others: Vec<_> = view.market.tokens.iter().collect();
        others.sort_by(|a, b| {
            descending(a.market_cap, b.market_cap)
                .then_with(|| a.token_address.cmp(&b.token_address))
        });
        let lower = |token: &TokenSummary| token.symbol.as_deref().map(str::to_lowercase);
        let symbol = view.market.of(&view.dataset, token).and_then(lower);
        let mut found: Vec<(f64, Address)> = Vec::new();
        for (place, other) in others.into_iter().take(SEARCHED_MAX).enumerate() {
            progress.step(place as u64, SEARCHED_MAX as u64)?;
            let address = other.token_address;
            // The same token on another chain moves like it, of course.
            if address == *token || (symbol.is_some() && symbol == lower(other)) {
                continue;
            }
            let points = daily_points(&view.dataset.candles().of(&address).series());
            let alike = correlation(&points, &own, start, end);
            found.extend(
                alike
                    .correlation
                    .filter(|_| alike.n * 2 >= returns)
                    .map(|correlation| (correlation, address)),
            );
        }
        found.sort_by(|(a, _), (b, _)| descending(Some(*a), Some(*b)));
        let found: Vec<Address> = found
            .into_iter()
            .take(TOKENS_MAX - 1)
            .map(|(_, address)| address)
            .collect();
        if found.is_empty() {
            let detail = "No other token has daily candles in this period; name a second token or choose another period.";
            return Err(Problem::new(Code::NoCandles, detail));
        }
        Ok(found)
    }
}
