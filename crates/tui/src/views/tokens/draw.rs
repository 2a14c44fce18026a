//! Draws the token list, the line above it, and the detail of the selected token.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{TokensView, detail, rows};
use crate::{
    list::{ListFrame, Listing},
    view::Context,
    views::{
        parts::{ListLine, missing_table, say, summary},
        token_list::TokenList,
    },
    words,
};
use query::question::fields::is_computed;

impl TokensView {
    pub(super) fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        let tokens = &snapshot.market.tokens;
        self.draw_line(buffer, area, context, tokens.len());
        let area = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if tokens.is_empty() {
            let sentence =
                missing_table(context, "tokens", "anything to be shown").unwrap_or_else(|| "the `tokens` table is empty".to_owned());
            say(buffer, Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }, context, &sentence);
            return;
        }
        let empty = if self.choices.watched_only && self.list.filter().is_empty() {
            "the watchlist is empty: w stars a token, W shows every token"
        } else if self.figures.is_computing(tokens) {
            "no token matches so far: its figures are still being computed, Esc stops"
        } else {
            &words::no_match("token")
        };
        let row = rows(tokens, &self.figures.known, context);
        let marked = |place: usize| self.compare.row_mark(&tokens.get(place)?.token_address, context);
        let frame = ListFrame { marked: Some(&marked), ..ListFrame::new(area, empty) };
        self.list.draw(buffer, frame, context, row);
    }

    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>, total: usize) {
        let mut notes = Vec::new();
        if self.choices.watched_only {
            notes.push("★ watchlist".to_owned());
        }
        let judged: Vec<&str> = self.list.filter().columns().filter(|column| is_computed(column)).collect();
        notes.extend(self.figures.note(context.snapshot.map_or(&[][..], |snapshot| &snapshot.market.tokens), &judged));
        let line = ListLine {
            filter: self.list.filter_text(),
            notes: &notes,
            shown: self.list.len() as u64,
            total: total as u64,
            left_out: self.list.left_out(),
            nouns: ["token", "tokens"],
        };
        line.draw(buffer, area, context);
    }

    pub(super) fn draw_detail(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(summary) = self.token(context).and_then(|token| summary(context, &token)) else { return };
        let known = self.detail.answer().filter(|detail| detail.token_address == summary.token_address);
        let shown = detail::DetailContent { summary, detail: known, problem: self.detail.problem.as_ref() };
        detail::draw(&shown, buffer, area, context);
    }
}
