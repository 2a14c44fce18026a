//! The Growth view: tokens ranked by how fast their holders multiply, with bars, holder sparklines and the days that were compared.

mod list;

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use self::list::{Ranked, Ranking};
use super::{
    compare::Compare,
    many,
    parts::{ListLine, absent, say, summary, token_texts},
};
use crate::{
    analysis::growth::WINDOW_DAYS_DEFAULT,
    dataset::{address::Address, time::Day},
    question::{
        Question,
        growth::{GrowthEntry, GrowthQuestion, WINDOWS},
    },
    tui::{
        format,
        keymap::{Action, ViewId},
        list::{Did, Frame, Layout, List},
        text,
        view::{Asked, ColumnChoice, Context, Effect, Export, Request, View},
        widgets::{panel, progress, put},
        words,
    },
};

/// As many as the question gives.
const LIMIT: u64 = 1_000;

pub struct GrowthView {
    /// Places are those in the ranking.
    list: List<Ranking>,
    window: u64,
    followed: Option<Address>,
    compare: Compare,
    ranking: Asked<GrowthQuestion>,
}

impl Default for GrowthView {
    fn default() -> Self {
        Self { list: List::default(), window: WINDOW_DAYS_DEFAULT, followed: None, compare: Compare::default(), ranking: Asked::default() }
    }
}

impl View for GrowthView {
    fn id(&self) -> ViewId {
        ViewId::Growth
    }

    fn refresh(&mut self, context: &Context<'_>) {
        self.compare.refresh(context);
        if self.ranking.refresh(self.question(), context) {
            self.arrange(context);
        }
        // A ranking starts at its top; after that it follows the program's token.
        if self.followed != context.token {
            if self.followed.is_some() {
                self.point_to(context.token);
            }
            self.followed = context.token;
        }
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.compare.is_open() {
            return self.compare.act(action, context);
        }
        match action {
            Action::Mark => {
                return self.entry().map(|entry| entry.token_address).map_or(Effect::Pass, |token| self.compare.mark(token, context));
            }
            Action::CompareTokens => return self.compare.open(self.entry().map(|entry| entry.token_address), context),
            _ => {}
        }
        let did = self.list.act(action);
        if did != Did::Nothing {
            return self.did(did, context);
        }
        let token = self.entry().map(|entry| entry.token_address);
        match action {
            Action::Open => return token.map_or(Effect::Pass, |token| Effect::Open(token, ViewId::Chart)),
            Action::Star => return token.map_or(Effect::Pass, Effect::Star),
            Action::CopyValue => return self.copy_value(context),
            Action::FilterLike | Action::FilterUnlike => return self.filter_like(action == Action::FilterLike, context),
            Action::Window => {
                let at = WINDOWS.iter().position(|days| days.parse() == Ok(self.window)).unwrap_or(0);
                self.window = WINDOWS[(at + 1) % WINDOWS.len()].parse().unwrap_or(WINDOW_DAYS_DEFAULT);
                self.list.cursor.select(0);
                self.refresh(context);
            }
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        self.compare.answers(action) && action != Action::OpenLink
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if self.compare.is_open() {
            return self.compare.mouse(mouse, context);
        }
        let did = self.list.mouse(mouse);
        self.did(did, context)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        if self.compare.is_open() {
            return self.compare.draw(buffer, area, context);
        }
        let ranking = self.ranking.answer.as_ref().map_or(&[][..], |known| &known.answer.tokens);
        let days = many(self.window, "day", "days");
        let days = counted(ranking).map_or_else(|| format!("over {days}"), |counted| format!("over {days} {counted}"));
        let line = ListLine {
            filter: self.list.filter_text(),
            notes: &[days],
            shown: self.list.len() as u64,
            total: ranking.len() as u64,
            nouns: ["token ranked", "tokens ranked"],
        };
        line.draw(buffer, area, context);
        let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if let Some(sentence) = absent(context, "holder_counts", "the growth of holders") {
            let below = Rect { y: below.y + 1.min(below.height), height: below.height.saturating_sub(1), ..below };
            return say(buffer, below, context, &sentence);
        }
        if let Some(problem) = &self.ranking.problem {
            return panel::failure(below, buffer, context.theme, &problem.detail);
        }
        if self.ranking.answer.is_none() {
            return progress::skeleton(below, buffer, context.theme, context.ascii);
        }
        let table = Rect { height: below.height.saturating_sub(1), ..below };
        self.draw_table(buffer, table, context);
        self.draw_exact(buffer, Rect { y: table.bottom(), height: below.height.min(1), ..below }, context);
    }

    fn filter(&self) -> Option<&str> {
        Some(self.list.filter_text())
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        self.list.set_filter(text)?;
        self.arrange(context);
        Ok(())
    }

    fn beside(&mut self, token: Option<Address>, forward: bool, _: &Context<'_>) -> Option<(Address, usize, usize)> {
        let ranking = self.ranking.answer.as_ref().map_or(&[][..], |known| &known.answer.tokens);
        let is_it = |place: usize| ranking.get(place).map(|entry| entry.token_address) == token;
        let (place, row, count) = self.list.step_from(is_it, forward)?;
        Some((ranking.get(place)?.token_address, row, count))
    }

    fn completions(&self, text: &str, context: &Context<'_>) -> Vec<(String, String)> {
        self.list.completions(text, |column| token_texts(column, context))
    }

    fn columns(&self) -> Option<ColumnChoice> {
        Some(self.list.choice())
    }

    fn choose_columns(&mut self, layout: Option<Layout>, context: &Context<'_>) {
        self.list.set_layout(layout);
        self.arrange(context);
    }

    fn selected_token(&self, _: &Context<'_>) -> Option<Address> {
        self.entry().map(|entry| entry.token_address)
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(GrowthQuestion::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<Request> {
        if self.compare.is_open() {
            return Some(self.compare.request());
        }
        Some(Request::of(&self.question()))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        if self.compare.is_open() {
            return self.compare.export();
        }
        let ranking = &self.ranking.answer.as_ref()?.answer.tokens;
        Some(self.list.export(format!("holders-growth-{}d", self.window), rows(ranking, 0.0, context)))
    }

    fn save(&self) -> Value {
        self.list.save(json!({ "window": self.window }))
    }

    fn restore(&mut self, kept: &Value) {
        let known = |days: &u64| WINDOWS.iter().any(|word| word.parse() == Ok(*days));
        self.window = kept["window"].as_u64().filter(known).unwrap_or(self.window);
        self.list.restore(kept);
    }
}

impl GrowthView {
    fn question(&self) -> GrowthQuestion {
        GrowthQuestion { limit: LIMIT, window: self.window, explain: true }
    }

    fn ranking(&self) -> &[GrowthEntry] {
        self.ranking.answer.as_ref().map_or(&[], |known| &known.answer.tokens)
    }

    fn entry(&self) -> Option<&GrowthEntry> {
        self.ranking().get(self.list.selected()?)
    }

    fn shown<'a>(&'a self, context: &'a Context<'_>) -> Option<Ranked<'a>> {
        rows(self.ranking(), 0.0, context)(self.list.selected()?)
    }

    fn filter_like(&mut self, like: bool, context: &Context<'_>) -> Effect {
        let text = self.list.filter_like(self.shown(context), like);
        match text.and_then(|text| self.set_filter(&text, context)) {
            Ok(()) => self.selected(context),
            Err(problem) => Effect::Say(problem),
        }
    }

    /// The selected cell; of a whole row the address.
    fn copy_value(&self, context: &Context<'_>) -> Effect {
        let Some(row) = self.shown(context) else { return Effect::Pass };
        match self.list.column().and_then(|key| Some((List::<Ranking>::plain(row, key)?, key))) {
            Some((text, key)) => Effect::Copy(text, key),
            None => Effect::Copy(row.entry.token_address.to_string(), "address"),
        }
    }

    /// Orders the ranking afresh; the selection stays on its token, unless it is at the top.
    fn arrange(&mut self, context: &Context<'_>) {
        // Who has moved has made the row's token the program's.
        let before = self.followed.filter(|_| self.list.cursor.selected() > Some(0));
        let ranking = self.ranking.answer.as_ref().map_or(&[][..], |known| &known.answer.tokens);
        self.list.arrange(0..ranking.len(), rows(ranking, 0.0, context));
        self.list.cursor.select(0);
        self.point_to(before);
    }

    fn point_to(&mut self, token: Option<Address>) {
        let ranking = self.ranking.answer.as_ref().map_or(&[][..], |known| &known.answer.tokens);
        self.list.point_to(|place| ranking.get(place).map(|entry| entry.token_address) == token);
    }

    fn did(&mut self, did: Did, context: &Context<'_>) -> Effect {
        match did {
            Did::Moved | Did::Again => self.selected(context),
            Did::Star => self.entry().map_or(Effect::Nothing, |entry| Effect::Star(entry.token_address)),
            Did::Sorted => {
                self.arrange(context);
                Effect::Redraw
            }
            Did::Nothing | Did::Header(_) | Did::Dragged(..) => Effect::Nothing,
        }
    }

    fn selected(&mut self, context: &Context<'_>) -> Effect {
        match self.entry() {
            Some(entry) if context.token != Some(entry.token_address) => Effect::Select(entry.token_address),
            _ => Effect::Redraw,
        }
    }

    fn draw_table(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let ranking = self.ranking.answer.as_ref().map_or(&[][..], |known| &known.answer.tokens);
        let grown = |place: usize| ranking.get(place).map(|entry| entry.holders_growth.abs());
        let most = self.list.places().filter_map(grown).fold(0.0, f64::max);
        let empty = if self.list.filter().is_empty() {
            "no token has two counts this far apart: t tries another window"
        } else {
            &words::no_match("token")
        };
        let marked = |place: usize| ranking.get(place).is_some_and(|entry| self.compare.is_marked(&entry.token_address));
        let frame = Frame { marked: Some(&marked), ..Frame::new(area, empty) };
        self.list.draw(buffer, frame, context, rows(ranking, most, context));
    }

    /// The selected token's exact figures in one line.
    fn draw_exact(&self, buffer: &mut Buffer, row: Rect, context: &Context<'_>) {
        let (Some(entry), theme) = (self.entry(), context.theme) else { return };
        let day = |day: Option<Day>| day.map_or_else(|| format::MISSING.to_owned(), |day| day.to_string());
        let mut x = 1 + put(buffer, row, 1, 0, &entry.token_address.to_string(), theme.accent());
        let growth = format!("{} %", format::fixed(entry.holders_growth, 4));
        let days = format!("{} → {}", day(entry.base_counted), day(entry.last_counted));
        for (word, value) in [("growth", growth), ("counted", days), ("cap", format::exact(entry.market_cap))] {
            if x + 4 + text::width(word) as u16 + text::width(&value) as u16 > row.width {
                continue;
            }
            x += 3 + put(buffer, row, x + 3, 0, word, theme.dim());
            x += 1 + put(buffer, row, x + 1, 0, &value, theme.text());
        }
    }
}

/// The latest day that any token of the ranking was counted on.
fn newest(ranking: &[GrowthEntry]) -> Option<Day> {
    ranking.iter().filter_map(|entry| entry.last_counted).max()
}

/// `to 2024-03-01; 12 counted earlier, from 2018-05-01 on`: growth of other weeks is not that of this one.
fn counted(ranking: &[GrowthEntry]) -> Option<String> {
    let newest = newest(ranking)?;
    let earlier = || ranking.iter().filter_map(|entry| entry.last_counted).filter(|day| *day < newest);
    let oldest = earlier().min().map(|oldest| format!("; {} counted earlier, from {oldest} on", format::count(earlier().count() as u64)));
    Some(format!("to {newest}{}", oldest.unwrap_or_default()))
}

/// The rows of the list, by their places.
fn rows<'a>(ranking: &'a [GrowthEntry], most: f64, context: &'a Context<'_>) -> impl Fn(usize) -> Option<Ranked<'a>> {
    let newest = newest(ranking);
    move |place| {
        let entry = ranking.get(place)?;
        let token = &entry.token_address;
        let counts = context.snapshot.map_or(&[][..], |snapshot| snapshot.dataset.holder_counts_of(token));
        Some(Ranked { entry, place, most, token: summary(context, token), newest, counts, starred: context.watchlist.contains(token) })
    }
}

#[cfg(test)]
mod tests;
