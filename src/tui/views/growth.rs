//! The Growth view: tokens ranked by how fast their holders multiply, with bars, holder sparklines and the days that were compared.

mod list;

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use super::{
    parts::{ListLine, absent, say},
    rows::{Click, Rows, Sorting},
};
use crate::{
    analysis::growth::WINDOW_DAYS_DEFAULT,
    dataset::address::Address,
    question::{
        Question,
        filter::{self, Filter},
        growth::{GrowthEntry, GrowthQuestion, WINDOWS},
    },
    tui::{
        format,
        keymap::{Action, ViewId},
        text,
        view::{Asked, Context, Effect, Export, Request, View},
        widgets::{panel, progress, put, table::Table},
    },
};

/// As many as the question gives.
const LIMIT: u64 = 1_000;

pub struct GrowthView {
    rows: Rows,
    /// The entries shown, as places in the ranking.
    order: Vec<u32>,
    window: u64,
    filter_text: String,
    filter: Filter,
    sorting: Sorting,
    followed: Option<Address>,
    ranking: Asked<GrowthQuestion>,
}

impl Default for GrowthView {
    fn default() -> Self {
        Self {
            rows: Rows::default(),
            order: Vec::new(),
            window: WINDOW_DAYS_DEFAULT,
            filter_text: String::new(),
            filter: Filter::default(),
            sorting: Sorting { key: "holders_growth", descending: true },
            followed: None,
            ranking: Asked::default(),
        }
    }
}

impl View for GrowthView {
    fn id(&self) -> ViewId {
        ViewId::Growth
    }

    fn refresh(&mut self, context: &Context<'_>) {
        if self.ranking.refresh(self.question(), context) {
            self.arrange();
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
        if self.rows.act(action) {
            return self.selected(context);
        }
        let token = self.entry().map(|entry| entry.token_address);
        match action {
            Action::Open => return token.map_or(Effect::Pass, |token| Effect::Open(token, ViewId::Chart)),
            Action::Star => return token.map_or(Effect::Pass, Effect::Star),
            Action::CopyValue => return token.map_or(Effect::Pass, |token| Effect::Copy(token.to_string(), "address")),
            Action::Window => {
                let at = WINDOWS.iter().position(|days| days.parse() == Ok(self.window)).unwrap_or(0);
                self.window = WINDOWS[(at + 1) % WINDOWS.len()].parse().unwrap_or(WINDOW_DAYS_DEFAULT);
                self.rows.select(0);
                self.refresh(context);
            }
            Action::Sort => self.sort(self.sorting.next(list::SORTS)),
            Action::SortReverse => self.sort(self.sorting.reversed()),
            Action::Back if !self.filter_text.is_empty() => {
                (self.filter_text, self.filter) = Default::default();
                self.arrange();
            }
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        match self.rows.mouse(mouse) {
            Some(Click::Row) => self.selected(context),
            Some(Click::Star) => self.entry().map_or(Effect::Nothing, |entry| Effect::Star(entry.token_address)),
            Some(Click::Header(key)) => match self.sorting.clicked(key, list::SORTS) {
                Some(sorting) => {
                    self.sort(sorting);
                    Effect::Redraw
                }
                None => Effect::Nothing,
            },
            None => Effect::Nothing,
        }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let ranking = self.ranking.answer.as_ref().map_or(&[][..], |known| &known.answer.tokens);
        let days = if self.window == 1 { "over 1 day" } else { &format!("over {} days", self.window) };
        let line = ListLine {
            filter: &self.filter_text,
            notes: &[days.to_owned()],
            shown: self.order.len() as u64,
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
        Some(&self.filter_text)
    }

    fn set_filter(&mut self, text: &str, _: &Context<'_>) -> Result<(), String> {
        self.filter = filter::parse(text, list::FILTERS).map_err(|error| error.to_string())?;
        text.clone_into(&mut self.filter_text);
        self.arrange();
        Ok(())
    }

    fn selected_token(&self, _: &Context<'_>) -> Option<Address> {
        self.entry().map(|entry| entry.token_address)
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(GrowthQuestion::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<Request> {
        Some(Request::of(&self.question()))
    }

    fn export(&self, _: &Context<'_>) -> Option<Export> {
        let ranking = &self.ranking.answer.as_ref()?.answer.tokens;
        let rows = self.order.iter().filter_map(|&i| ranking.get(i as usize)).map(list::exported);
        Some(Export::of(format!("holders-growth-{}d", self.window), list::EXPORTED, rows.collect(), self.rows.selected()))
    }

    fn save(&self) -> Value {
        json!({ "window": self.window, "sort": self.sorting.save(), "filter": self.filter_text })
    }

    fn restore(&mut self, kept: &Value) {
        let known = |days: &u64| WINDOWS.iter().any(|word| word.parse() == Ok(*days));
        self.window = kept["window"].as_u64().filter(known).unwrap_or(self.window);
        self.sorting = self.sorting.restore(&kept["sort"], list::SORTS);
        if let Some(text) = kept["filter"].as_str()
            && let Ok(filter) = filter::parse(text, list::FILTERS)
        {
            (self.filter_text, self.filter) = (text.to_owned(), filter);
        }
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
        let place = *self.order.get(self.rows.selected()?)?;
        self.ranking().get(place as usize)
    }

    /// Orders the ranking afresh; the selection stays on its token, unless it is at the top.
    fn arrange(&mut self) {
        // Who has moved has made the row's token the program's.
        let before = self.followed.filter(|_| self.rows.state.selected > 0);
        self.order = list::order(self.ranking(), &self.filter, self.sorting);
        self.rows.set_count(self.order.len());
        self.rows.select(0);
        self.point_to(before);
    }

    fn point_to(&mut self, token: Option<Address>) {
        let ranking = self.ranking();
        let at = |i: &u32| ranking.get(*i as usize).is_some_and(|entry| Some(entry.token_address) == token);
        if let Some(place) = self.order.iter().position(at) {
            self.rows.select(place);
        }
    }

    fn sort(&mut self, sorting: Sorting) {
        self.sorting = sorting;
        self.arrange();
    }

    fn selected(&mut self, context: &Context<'_>) -> Effect {
        match self.entry() {
            Some(entry) if context.token != Some(entry.token_address) => Effect::Select(entry.token_address),
            _ => Effect::Redraw,
        }
    }

    fn draw_table(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let layout = list::Layout::of(area.width);
        let ranking = self.ranking.answer.as_ref().map_or(&[][..], |known| &known.answer.tokens);
        let order = &self.order;
        let entry = |row: usize| order.get(row).and_then(|&i| Some((i, ranking.get(i as usize)?)));
        let most = order.iter().filter_map(|&i| ranking.get(i as usize)).map(|entry| entry.holders_growth.abs()).fold(0.0, f64::max);
        let row = |row: usize| entry(row).map_or_else(Vec::new, |(place, entry)| list::cells(entry, place, most, &layout, context));
        let star = |row: usize| entry(row).is_some_and(|(_, entry)| context.watchlist.contains(&entry.token_address));
        let words: Vec<&str> = self.filter.words().collect();
        let table = Table {
            sort: self.sorting.place(&layout.columns).into_iter().collect(),
            words: &words,
            star: Some(&star),
            empty: if self.filter.is_empty() {
                "no token has two counts this far apart: t tries another window"
            } else {
                "no token matches: Esc takes the filter off"
            },
            ascii: context.ascii,
            ..Table::new(&layout.columns, order.len(), &row)
        };
        self.rows.draw(&table, buffer, area, context.theme);
    }

    /// The selected token's exact figures in one line.
    fn draw_exact(&self, buffer: &mut Buffer, row: Rect, context: &Context<'_>) {
        let (Some(entry), theme) = (self.entry(), context.theme) else { return };
        let day = |day: Option<crate::dataset::time::Day>| day.map_or_else(|| format::MISSING.to_owned(), |day| day.to_string());
        let mut x = 1 + put(buffer, row, 1, 0, &entry.token_address.to_string(), theme.accent());
        let growth = format!("{} %", format::exact(Some(entry.holders_growth)));
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

#[cfg(test)]
mod tests;
