//! The Tokens view: every token in one table, and the selected one's detail beside it, below it or over it.

mod detail;
mod figures;
mod list;

use std::{collections::HashSet, sync::Arc};

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use super::{
    parts::{ListLine, absent, say, summary},
    rows::{Click, Rows, Sorting},
};
use crate::{
    dataset::{address::Address, export},
    question::{filter::Filter, list::Order, search::SearchQuestion, snapshot::Snapshot, token::TokenQuestion},
    tui::{
        keymap::{Action, ViewId},
        view::{Asked, Context, Effect, Export, Request, View},
        widgets::table::Table,
    },
};

/// From this width on the detail stands beside the table.
const BESIDE_WIDTH: u16 = 110;
/// From this height on it stands below, where it is narrower.
const BELOW_HEIGHT: u16 = 36;

#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own: they hold in any combination")]
pub struct TokensView {
    rows: Rows,
    /// The tokens shown, as places in the market's list.
    order: Vec<u32>,
    /// The generation and the watchlist that `order` was made from.
    made: Option<(u64, HashSet<Address>)>,
    /// The filter or the sorting changed since.
    stale: bool,
    filter_text: String,
    filter: Filter,
    sorting: Sorting,
    choices: Choices,
    /// Over the table, where there is no room for it elsewhere.
    detail_open: bool,
    /// The optional columns' figures.
    figures: figures::Store,
    /// The program's token when this view last looked.
    followed: Option<Address>,
    place: Place,
    detail: Asked<TokenQuestion>,
}

/// What the person switched on; kept between runs.
struct Choices {
    watched_only: bool,
    /// The detail, beside or below the table.
    detail_shown: bool,
    /// The optional columns.
    more: bool,
}

/// Where the detail goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Beside,
    Below,
    Over,
}

impl Default for TokensView {
    fn default() -> Self {
        Self {
            rows: Rows::default(),
            order: Vec::new(),
            made: None,
            stale: true,
            filter_text: String::new(),
            filter: Filter::default(),
            sorting: Sorting { key: "market_cap", descending: true },
            choices: Choices { watched_only: false, detail_shown: true, more: false },
            detail_open: false,
            figures: figures::Store::default(),
            followed: None,
            place: Place::Over,
            detail: Asked::default(),
        }
    }
}

impl View for TokensView {
    fn id(&self) -> ViewId {
        ViewId::Tokens
    }

    fn refresh(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        self.compute(snapshot, context);
        self.arrange(context);
        if self.followed != context.token {
            self.followed = context.token;
            self.point_to(context.token, snapshot);
        }
        if let Some(token) = self.token(context) {
            self.detail.refresh(TokenQuestion { token_address: token }, context);
        }
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.rows.act(action) {
            return self.selected(context);
        }
        match action {
            Action::Open => return self.open(context),
            Action::Back => return self.back(context),
            Action::Star => return self.token(context).map_or(Effect::Pass, Effect::Star),
            Action::CopyValue => {
                return self.token(context).map_or(Effect::Pass, |token| Effect::Copy(token.to_string(), "address"));
            }
            Action::MoreColumns => return self.toggle_more(context),
            Action::AllFigures => {
                self.choices.more = true;
                self.figures.want_all();
                self.refresh(context);
            }
            Action::Sort => return self.sort(self.sorting.next(&list::sorts(self.choices.more)), context),
            Action::SortReverse => return self.sort(self.sorting.reversed(), context),
            Action::Detail if self.place == Place::Over => self.detail_open = !self.detail_open,
            Action::Detail => self.choices.detail_shown = !self.choices.detail_shown,
            Action::Watchlist => {
                self.choices.watched_only = !self.choices.watched_only;
                self.stale = true;
                self.refresh(context);
                return self.selected(context);
            }
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        match self.rows.mouse(mouse) {
            Some(Click::Row) => self.selected(context),
            Some(Click::Star) => self.token(context).map_or(Effect::Nothing, Effect::Star),
            Some(Click::Header(key)) => match self.sorting.clicked(key, &list::sorts(self.choices.more)) {
                Some(sorting) => self.sort(sorting, context),
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
        if context.snapshot.is_none() {
            return;
        }
        self.arrange(context);
        self.place = match area {
            Rect { width: BESIDE_WIDTH.., .. } => Place::Beside,
            Rect { height: BELOW_HEIGHT.., .. } => Place::Below,
            _ => Place::Over,
        };
        match self.place {
            _ if self.order.is_empty() => self.draw_list(buffer, area, context),
            Place::Over if self.detail_open => self.draw_detail(buffer, area, context),
            Place::Beside if self.choices.detail_shown => {
                // Inside it a whole address fits.
                let width = (area.width * 3 / 10).clamp(44, 66);
                self.draw_list(buffer, Rect { width: area.width - width - 2, ..area }, context);
                self.draw_detail(buffer, Rect { x: area.right() - width, width, ..area }, context);
            }
            Place::Below if self.choices.detail_shown => {
                // The table leaves it what a short list does not need.
                let spare = usize::from(area.height).saturating_sub(self.order.len() + 3) as u16;
                let height = (area.height * 9 / 20).clamp(16, 24).max(spare);
                self.draw_list(buffer, Rect { height: area.height - height, ..area }, context);
                self.draw_detail(buffer, Rect { y: area.bottom() - height, height, ..area }, context);
            }
            _ => self.draw_list(buffer, area, context),
        }
    }

    fn filter(&self) -> Option<&str> {
        Some(&self.filter_text)
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        self.filter = list::parse(text)?;
        text.clone_into(&mut self.filter_text);
        self.stale = true;
        if list::needs_more(&self.filter) {
            self.figures.want_all();
        }
        self.refresh(context);
        Ok(())
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn reveal(&mut self, token: Address, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        self.arrange(context);
        if !self.point_to(Some(token), snapshot) {
            (self.filter_text, self.filter) = Default::default();
            self.choices.watched_only = false;
            self.stale = true;
            self.refresh(context);
        }
    }

    fn selected_token(&self, context: &Context<'_>) -> Option<Address> {
        self.token(context)
    }

    fn request(&self, context: &Context<'_>) -> Option<Request> {
        if self.place == Place::Over && self.detail_open {
            return self.token(context).map(|token| Request::of(&TokenQuestion { token_address: token }));
        }
        let question = self.question();
        // The page with the selected token, wherever the API has it.
        let on = if self.needs_all() {
            // Its rows stand in the same order, and to make that anew would take long.
            self.rows.selected().map(|row| (row as u64 / question.limit + 1, self.order.len() as u64))
        } else {
            self.token(context).and_then(|token| question.page_of(&token, context.snapshot?))
        };
        let (page, total) = on.unwrap_or((1, 0));
        let question = SearchQuestion { page, ..question };
        Some(Request::of(&question).of_page(page, question.limit, total))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        let snapshot = Arc::clone(context.snapshot?);
        let more = self.fields();
        let (order, known) = (self.order.clone(), if more.is_empty() { figures::Known::new() } else { self.figures.known.clone() });
        let row = |snapshot: &Snapshot, place: u32, more: &[&str], known: &figures::Known| {
            snapshot.market.tokens.get(place as usize).map(|token| list::exported(token, more, known))
        };
        let selected = self.rows.selected().and_then(|selected| self.order.get(selected));
        Some(Export {
            name: "tokens".to_owned(),
            columns: list::EXPORTED.iter().chain(&more).map(|&column| column.to_owned()).collect(),
            count: Some(order.len()),
            selected: selected.and_then(|&place| row(&snapshot, place, &more, &known)),
            rows: Box::new(move |_| {
                Ok(export::Rows::Values(order.iter().filter_map(|&place| row(&snapshot, place, &more, &known)).collect()))
            }),
        })
    }

    fn save(&self) -> Value {
        let Choices { watched_only, detail_shown, more } = self.choices;
        let sort = self.sorting.save();
        json!({ "sort": sort, "filter": self.filter_text, "watchlist": watched_only, "detail": detail_shown, "more": more })
    }

    fn restore(&mut self, kept: &Value) {
        self.choices.more = kept["more"].as_bool().unwrap_or(self.choices.more);
        self.sorting = self.sorting.restore(&kept["sort"], &list::sorts(self.choices.more));
        self.choices.watched_only = kept["watchlist"].as_bool().unwrap_or(self.choices.watched_only);
        self.choices.detail_shown = kept["detail"].as_bool().unwrap_or(self.choices.detail_shown);
        if let Some(text) = kept["filter"].as_str()
            && let Ok(filter) = list::parse(text)
        {
            (self.filter_text, self.filter) = (text.to_owned(), filter);
        }
        self.stale = true;
    }
}

impl TokensView {
    /// The token under the selection.
    fn token(&self, context: &Context<'_>) -> Option<Address> {
        let place = *self.order.get(self.rows.selected()?)?;
        context.snapshot?.market.tokens.get(place as usize).map(|token| token.token_address)
    }

    /// Whether the rows depend on an optional column, so that every token's figures are needed.
    fn needs_all(&self) -> bool {
        figures::is_optional(self.sorting.key) || list::needs_more(&self.filter)
    }

    /// Has the figures computed that the rows on screen, or the order of all, want.
    fn compute(&mut self, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        if !self.choices.more && !self.needs_all() {
            return;
        }
        let tokens = &snapshot.market.tokens;
        let rows = self.order.get(self.rows.on_screen()).unwrap_or_default();
        let screen: Vec<Address> = rows.iter().filter_map(|&i| tokens.get(i as usize)).map(|token| token.token_address).collect();
        let needs_all = self.needs_all();
        if self.figures.refresh(snapshot, &screen, needs_all, context) && needs_all {
            self.made = None;
        }
    }

    /// Shows the optional columns or hides them; an order by one of them goes with it.
    fn toggle_more(&mut self, context: &Context<'_>) -> Effect {
        self.choices.more = !self.choices.more;
        if !self.choices.more && figures::is_optional(self.sorting.key) {
            self.sorting = Self::default().sorting;
            self.stale = true;
        }
        self.refresh(context);
        self.selected(context)
    }

    /// What `fields` of the request names.
    fn fields(&self) -> Vec<&'static str> {
        if self.choices.more { figures::field_names() } else { Vec::new() }
    }

    /// Orders the tokens afresh if anything they depend on changed; the selection stays on the program's token.
    fn arrange(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        let same_rows = self.made.as_ref().is_some_and(|(generation, _)| *generation == snapshot.generation);
        let same_stars = self.made.as_ref().is_some_and(|(_, watchlist)| watchlist == context.watchlist);
        if same_rows && same_stars && !self.stale {
            return;
        }
        let (tokens, known) = (&snapshot.market.tokens, &self.figures.known);
        self.order = list::order(tokens, &self.filter, self.sorting, context.watchlist, self.choices.watched_only, known);
        self.rows.set_count(self.order.len());
        self.made = Some((snapshot.generation, context.watchlist.clone()));
        // A row that a star took away leaves the selection where it is; rows that a filter left start at the best.
        if !self.point_to(context.token, snapshot) && std::mem::take(&mut self.stale) {
            self.rows.select(0);
        }
        self.stale = false;
    }

    /// Puts the selection on the token; false when it is not among the rows.
    fn point_to(&mut self, token: Option<Address>, snapshot: &Arc<Snapshot>) -> bool {
        let tokens = &snapshot.market.tokens;
        let place =
            token.and_then(|token| self.order.iter().position(|&i| tokens.get(i as usize).is_some_and(|t| t.token_address == token)));
        place.map(|place| self.rows.select(place)).is_some()
    }

    fn selected(&mut self, context: &Context<'_>) -> Effect {
        match self.token(context) {
            Some(token) if context.token != Some(token) => Effect::Select(token),
            _ => {
                self.refresh(context);
                Effect::Redraw
            }
        }
    }

    /// The selection stays on its token, unless it is at the top: who looks at the top wants the new one.
    fn sort(&mut self, sorting: Sorting, context: &Context<'_>) -> Effect {
        let top = self.rows.selected() == Some(0);
        self.sorting = sorting;
        self.stale = true;
        if figures::is_optional(sorting.key) {
            self.figures.want_all();
        }
        self.refresh(context);
        if top {
            self.rows.select(0);
        }
        self.selected(context)
    }

    /// First the detail where it is hidden, then the chart.
    fn open(&mut self, context: &Context<'_>) -> Effect {
        let Some(token) = self.token(context) else { return Effect::Pass };
        let hidden = if self.place == Place::Over { &mut self.detail_open } else { &mut self.choices.detail_shown };
        if !std::mem::replace(hidden, true) {
            return Effect::Redraw;
        }
        Effect::Open(token, ViewId::Chart)
    }

    /// Closes the detail, then takes the filter and the watchlist off.
    fn back(&mut self, context: &Context<'_>) -> Effect {
        if self.place == Place::Over && self.detail_open {
            self.detail_open = false;
        } else if self.figures.all {
            self.figures.stop();
        } else if !self.filter_text.is_empty() {
            (self.filter_text, self.filter) = Default::default();
        } else if self.choices.watched_only {
            self.choices.watched_only = false;
        } else {
            return Effect::Pass;
        }
        self.stale = true;
        self.refresh(context);
        self.selected(context)
    }

    /// What the API is asked for the same list; it knows no watchlist.
    fn question(&self) -> SearchQuestion {
        let words: Vec<&str> = self.filter.words().collect();
        let Sorting { key, descending } = self.sorting;
        SearchQuestion {
            query: (!words.is_empty()).then(|| words.join(" ")),
            chain: None,
            filter: self.filter.split(|column| column != "starred").0,
            sort: vec![Order { column: key, descending }],
            fields: self.fields(),
            only: Vec::new(),
            page: 1,
            limit: 250,
        }
    }

    fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        let tokens = &snapshot.market.tokens;
        self.draw_line(buffer, area, context, tokens.len());
        let area = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if tokens.is_empty() {
            let sentence = absent(context, "tokens", "anything to be shown").unwrap_or_else(|| "the `tokens` table is empty".to_owned());
            say(buffer, Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }, context, &sentence);
            return;
        }
        let (columns, spark) = list::columns(area.width, self.choices.more);
        let order = &self.order;
        let token = |row: usize| order.get(row).and_then(|&i| tokens.get(i as usize));
        let cells = |token| {
            let mut cells = list::cells(token, spark, context.ascii);
            if self.choices.more {
                cells.extend(figures::cells(token, &self.figures.known, context.ascii));
            }
            cells
        };
        let row = |row: usize| token(row).map_or_else(Vec::new, cells);
        let star = |row: usize| token(row).is_some_and(|token| context.watchlist.contains(&token.token_address));
        let words: Vec<&str> = self.filter.words().collect();
        let table = Table {
            sort: self.sorting.place(&columns),
            words: &words,
            star: Some(&star),
            empty: if self.choices.watched_only && self.filter.is_empty() {
                "the watchlist is empty: w stars a token, W shows every token"
            } else {
                "no token matches: Esc takes the filter off"
            },
            ascii: context.ascii,
            ..Table::new(&columns, order.len(), &row)
        };
        self.rows.draw(&table, buffer, area, context.theme);
    }

    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>, total: usize) {
        let mut notes = Vec::new();
        if self.choices.watched_only {
            notes.push(if context.ascii { "* watchlist" } else { "★ watchlist" }.to_owned());
        }
        notes.extend(self.figures.note(total));
        let line = ListLine {
            filter: &self.filter_text,
            notes: &notes,
            shown: self.order.len() as u64,
            total: total as u64,
            nouns: ["token", "tokens"],
        };
        line.draw(buffer, area, context);
    }

    fn draw_detail(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(summary) = self.token(context).and_then(|token| summary(context, &token)) else { return };
        let known = self.detail.answer.as_ref().map(|known| &known.answer).filter(|detail| detail.token_address == summary.token_address);
        let shown = detail::Shown { summary, detail: known, problem: self.detail.problem.as_ref() };
        detail::draw(&shown, buffer, area, context);
    }
}

#[cfg(test)]
mod tests;
