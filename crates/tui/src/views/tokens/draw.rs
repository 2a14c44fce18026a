//! Draws the token list, the line above it, and the detail of the selected token.

use std::time::Instant;

use super::{TokensView, detail};
use crate::views::{prelude::*, token_list::TokenList};
use model::time::DAY_MS;

/// The newest candle is old if it ended longer ago by the wall clock: where all are equally old, none is behind another.
const OLD_MS: i64 = 3 * DAY_MS;

impl TokensView {
    pub(super) fn draw_both(
        &mut self,
        buffer: &mut Buffer,
        (list, detail): (Rect, Rect),
        context: &Context<'_>,
    ) {
        self.draw_list(buffer, list, context);
        self.draw_detail(buffer, detail, context);
    }

    pub(super) fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let tokens = self.rows.tokens();
        self.draw_line(buffer, area, context, tokens.len());
        let area = below(area, 1);
        if tokens.is_empty() {
            let sentence = missing_table(context, "tokens", "any view")
                .unwrap_or_else(|| "the `tokens` table is empty".to_owned());
            say(buffer, below(area, 1), context, &sentence);
            return;
        }
        let empty = if self.watched_only && self.list.filter().is_empty() {
            "the watchlist is empty; press w on a token to add it, W to show all tokens"
        } else if self.rows.is_computing() {
            "no token matches so far; values are still being computed, Esc stops"
        } else {
            &words::no_match("token")
        };
        let changed = self.fresh.marked(Instant::now());
        let row = self.rows.listed(changed, context);
        let marked = |place: usize| {
            self.compare
                .row_mark(&tokens.get(place)?.token_address, context)
        };
        let frame = ListFrame {
            marked: Some(&marked),
            ..ListFrame::new(area, empty)
        };
        self.list.draw(buffer, frame, context, row);
        self.fresh
            .note(self.list.on_screen().filter_map(|place| tokens.get(place)));
    }

    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>, total: usize) {
        let mut notes = Vec::new();
        if self.watched_only {
            notes.push(("★ watchlist".to_owned(), Role::Dim));
        }
        notes.extend(self.rows.note().map(|note| (note, Role::Dim)));
        let is_present = context
            .snapshot
            .is_some_and(|snapshot| !snapshot.dataset.synthetic)
            && context.as_of().is_none();
        let newest = context
            .snapshot
            .and_then(|snapshot| snapshot.token_facts.newest_candle);
        notes.extend(
            newest
                .filter(|_| is_present)
                .and_then(|end| old(end, context.now))
                .map(|note| (note, Role::Warning)),
        );
        draw_list_line(
            &self.list,
            &notes,
            (total as u64, ["token", "tokens"]),
            buffer,
            area,
            context,
        );
    }

    pub(super) fn draw_detail(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(summary) = self
            .token(context)
            .and_then(|token| summary(context, &token))
        else {
            return;
        };
        let known = self
            .detail
            .answer()
            .filter(|detail| detail.token_address == summary.token_address);
        let shown = detail::DetailContent {
            summary,
            detail: known,
            problem: self.detail.problem.as_ref(),
        };
        let rest = detail::draw(&shown, buffer, area, context);
        self.price.draw(buffer, rest, context);
    }
}

/// `candles to 2025-11-13, 12mo old`; none of a candle that is not old.
fn old(end: Time, now: Time) -> Option<String> {
    let age = now.0.saturating_sub(end.0);
    // The day on which it began.
    let day = Time(end.0.saturating_sub(1)).day();
    (age > OLD_MS).then(|| format!("candles to {day}, {} old", format::age(age)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::market::{Market, TokenSummary};
    use query::queries::tokens::TokenFacts;

    #[test]
    fn candles_that_are_all_old_are_called_so_with_their_day() {
        let now = Time(20_500 * DAY_MS);
        assert_eq!(
            [3, -1].map(|days| old(Time((20_500 - days) * DAY_MS), now)),
            [None, None]
        );
        assert_eq!(
            old(Time(20_496 * DAY_MS), now).as_deref(),
            Some("candles to 2026-02-11, 4d old")
        );
        let newest = |tokens: &[TokenSummary]| TokenFacts::new(tokens).newest_candle;
        assert_eq!(newest(&[crate::views::fixture::token()]), None);
        let end = newest(&Market::new(&crate::views::fixture::market()).tokens).expect("candles");
        assert_eq!(
            old(end, Time(end.0 + 4 * DAY_MS)).as_deref(),
            Some("candles to 2026-08-14, 4d old")
        );
    }
}
