//! Draws the token list, the line above it, and the detail of the selected token.

use std::time::Instant;

use super::{TokensView, detail, rows};
use crate::{prelude::*, token_list::TokenList};
use query::question::fields::is_computed;

impl TokensView {
    pub(super) fn draw_both(&mut self, buffer: &mut Buffer, (list, detail): (Rect, Rect), context: &Context<'_>) {
        self.draw_list(buffer, list, context);
        self.draw_detail(buffer, detail, context);
    }

    pub(super) fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        let tokens = &snapshot.market.tokens;
        self.draw_line(buffer, area, context, tokens.len());
        let area = below(area, 1);
        if tokens.is_empty() {
            let sentence =
                missing_table(context, "tokens", "anything to be shown").unwrap_or_else(|| "the `tokens` table is empty".to_owned());
            say(buffer, below(area, 1), context, &sentence);
            return;
        }
        let empty = if self.watched_only && self.list.filter().is_empty() {
            "the watchlist is empty: w stars a token, W shows every token"
        } else if self.figures.is_computing(tokens) {
            "no token matches so far: its figures are still being computed, Esc stops"
        } else {
            &words::no_match("token")
        };
        let row = rows(tokens, &self.figures.known, self.fresh.marked(Instant::now()), context);
        let marked = |place: usize| self.compare.row_mark(&tokens.get(place)?.token_address, context);
        let frame = ListFrame { marked: Some(&marked), ..ListFrame::new(area, empty) };
        self.list.draw(buffer, frame, context, row);
        self.fresh.note(self.list.on_screen().filter_map(|place| tokens.get(place)));
    }

    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>, total: usize) {
        let mut notes = Vec::new();
        if self.watched_only {
            notes.push("★ watchlist".to_owned());
        }
        let judged: Vec<&str> = self.list.filter().columns().filter(|column| is_computed(column)).collect();
        notes.extend(self.figures.note(context.snapshot.map_or(&[][..], |snapshot| &snapshot.market.tokens), &judged));
        draw_list_line(&self.list, &notes, (total as u64, ["token", "tokens"]), buffer, area, context);
    }

    pub(super) fn draw_detail(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(summary) = self.token(context).and_then(|token| summary(context, &token)) else { return };
        let known = self.detail.answer().filter(|detail| detail.token_address == summary.token_address);
        let shown = detail::DetailContent { summary, detail: known, problem: self.detail.problem.as_ref() };
        detail::draw(&shown, buffer, area, context);
    }
}
