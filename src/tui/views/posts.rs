//! The Posts view: the selected token's posts, or all, in one table; the whole of the selected one beside or below it.

mod list;
mod pages;
mod sheet;

use std::sync::Arc;

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use self::pages::{Pages, Source};
use super::{
    parts::{ListLine, absent, say, symbol_of},
    rows::{Click, Rows, Sorting},
};
use crate::{
    dataset::{
        address::Address,
        export,
        grid::{Grid, Ordered},
        rows::Post,
    },
    question::{Question, posts::TokenPostsQuestion, search::Order},
    tui::{
        keymap::{Action, ViewId},
        view::{Context, Effect, Export, Request, View},
        widgets::{panel, progress, table::Table},
    },
};

/// From this width on the whole post stands beside the table, else below it.
const BESIDE_WIDTH: u16 = 120;

pub struct PostsView {
    rows: Rows,
    /// Every token's posts, not the selected one's alone.
    all: bool,
    filter: String,
    sorting: Sorting,
    /// The whole post is shown.
    open: bool,
    /// The token of the posts shown, when it is one.
    token: Option<Address>,
    pages: Pages,
}

impl Default for PostsView {
    fn default() -> Self {
        Self {
            rows: Rows::default(),
            all: false,
            filter: String::new(),
            sorting: Sorting { key: "published_at", descending: true },
            open: false,
            token: None,
            pages: Pages::default(),
        }
    }
}

impl View for PostsView {
    fn id(&self) -> ViewId {
        ViewId::Posts
    }

    fn refresh(&mut self, context: &Context<'_>) {
        if self.token != context.token {
            self.token = context.token;
            if !self.all {
                self.rows.select(0);
                self.open = false;
            }
        }
        let Some(source) = self.source() else { return };
        self.pages.refresh(&source, self.rows.state.selected, context);
        self.rows.set_count(self.pages.total());
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.rows.act(action) {
            self.refresh(context);
            return Effect::Redraw;
        }
        match action {
            Action::Open => {
                self.open = self.post().is_some();
                return Effect::Redraw;
            }
            Action::Back => return self.back(context),
            Action::OpenLink => return self.with_link(Effect::OpenLink),
            Action::CopyValue => return self.with_link(|link| Effect::Copy(link, "link")),
            Action::Star => return self.post().map_or(Effect::Pass, |post| Effect::Star(post.token_address)),
            Action::AllPosts => {
                self.all = !self.all;
                self.rows.select(0);
            }
            Action::Sort => self.sorting = self.sorting.next(list::SORTS),
            Action::SortReverse => self.sorting = self.sorting.reversed(),
            _ => return Effect::Pass,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        match self.rows.mouse(mouse) {
            Some(Click::Header(key)) => match self.sorting.clicked(key, list::SORTS) {
                Some(sorting) => self.sorting = sorting,
                None => return Effect::Nothing,
            },
            Some(_) => {}
            None => return Effect::Nothing,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let post = if self.open { self.post().cloned() } else { None };
        let Some(post) = post else { return self.draw_list(buffer, area, context) };
        if area.width >= BESIDE_WIDTH {
            let width = (area.width / 3).clamp(44, 70);
            self.draw_list(buffer, Rect { width: area.width - width - 2, ..area }, context);
            sheet::draw(&post, buffer, Rect { x: area.right() - width, width, ..area }, context);
        } else {
            let height = sheet::HEIGHT.min(area.height / 2);
            self.draw_list(buffer, Rect { height: area.height - height, ..area }, context);
            sheet::draw(&post, buffer, Rect { y: area.bottom() - height, height, ..area }, context);
        }
    }

    fn filter(&self) -> Option<&str> {
        Some(&self.filter)
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        list::check(text)?;
        text.clone_into(&mut self.filter);
        self.rows.select(0);
        self.refresh(context);
        Ok(())
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(TokenPostsQuestion::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<Request> {
        self.source().map(|source| source.request(self.rows.selected().unwrap_or(0), self.pages.total()))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        let snapshot = Arc::clone(context.snapshot?);
        let question = self.pages.source()?.question(1);
        let grid = Grid::of(snapshot.dataset.table("posts")?);
        let columns: Vec<&'static str> = list::EXPORTED.iter().copied().filter(|column| grid.has(column)).collect();
        Some(Export {
            name: "posts".to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: Some(self.pages.total()),
            selected: self.post().map(|post| list::exported(post, &columns)),
            rows: Box::new(move |progress| {
                let (places, _) = question.places(&snapshot, None, progress)?;
                Ok(export::Rows::Frames(Box::new(Ordered { grid, places, columns })))
            }),
        })
    }

    fn save(&self) -> Value {
        json!({ "all": self.all, "sort": self.sorting.save(), "filter": self.filter })
    }

    fn restore(&mut self, kept: &Value) {
        self.all = kept["all"].as_bool().unwrap_or(self.all);
        self.sorting = self.sorting.restore(&kept["sort"], list::SORTS);
        if let Some(text) = kept["filter"].as_str().filter(|text| list::check(text).is_ok()) {
            text.clone_into(&mut self.filter);
        }
    }
}

impl PostsView {
    /// Which posts are wanted.
    fn source(&self) -> Option<Source> {
        let query = Some(self.filter.trim().to_owned()).filter(|words| !words.is_empty());
        let sort = Order { column: self.sorting.key, descending: self.sorting.descending };
        let token = if self.all { None } else { Some(self.token?) };
        Some(Source { token, query, sort })
    }

    fn post(&self) -> Option<&Post> {
        self.pages.post(self.rows.selected()?)
    }

    fn with_link(&self, effect: impl FnOnce(String) -> Effect) -> Effect {
        match self.post().map(|post| &post.link) {
            Some(Some(link)) => effect(link.clone()),
            Some(None) => Effect::Say("this post has no link".to_owned()),
            None => Effect::Pass,
        }
    }

    fn back(&mut self, context: &Context<'_>) -> Effect {
        if self.open {
            self.open = false;
        } else if !self.filter.is_empty() {
            self.filter.clear();
        } else {
            return Effect::Pass;
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        self.draw_line(buffer, area, context);
        let area = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 1, height: area.height - 1 };
        if let Some(sentence) = absent(context, "posts", "posts") {
            let below = Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area };
            return say(buffer, below, context, &sentence);
        }
        if let Some(problem) = self.pages.problem() {
            return panel::failure(area, buffer, context.theme, &problem.detail);
        }
        if !self.pages.answered() {
            return progress::skeleton(area, buffer, context.theme, context.ascii);
        }
        let columns = list::columns(self.all);
        let pages = &self.pages;
        let symbol = |token: &Address| symbol_of(context, token);
        let row = |row: usize| pages.post(row).map_or_else(Vec::new, |post| list::cells(post, self.all.then_some(&symbol), context.now));
        let lower = self.filter.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let nothing = if self.all { "no post" } else { "no post of this token; a shows every token's" };
        let empty = if self.filter.is_empty() { nothing } else { "no title has these words: Esc takes the filter off" };
        let table = Table {
            sort: self.sorting.place(&columns).into_iter().collect(),
            words: &words,
            empty,
            ascii: context.ascii,
            ..Table::new(&columns, pages.total(), &row)
        };
        self.rows.draw(&table, buffer, area, context.theme);
    }

    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let whose = match (self.all, self.token) {
            (true, _) => "of every token".to_owned(),
            (false, Some(token)) => format!("of {}", symbol_of(context, &token)),
            (false, None) => "no token selected".to_owned(),
        };
        let posts = context.snapshot.map(|snapshot| match self.token {
            Some(token) if !self.all => snapshot.dataset.posts_of(&token).len(),
            _ => snapshot.dataset.posts().len(),
        });
        let shown = self.pages.total() as u64;
        let total = posts.map_or(shown, |posts| posts as u64);
        let line = ListLine { filter: &self.filter, notes: &[whose], shown, total, nouns: ["post", "posts"] };
        line.draw(buffer, area, context);
    }
}

#[cfg(test)]
mod tests;
