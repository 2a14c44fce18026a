//! The Posts view: the selected token's posts, or all posts, in one table, and the full text of the selected one beside or below it.

mod list;
mod pages;
mod sheet;

use std::sync::Arc;

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use self::list::{ListedPost, PostFields};
use self::pages::{Pages, PostsRequest};
use super::{
    listing,
    parts::{ListLine, missing_table, say, symbol_of},
};
use crate::{
    keymap::Action,
    list::{List, ListEvent, ListFrame, Listing},
    view::{Context, Effect, Export, HttpRequest, View},
    words,
};
use model::{address::Address, rows::Post};
use query::question::{Question, posts::TokenPostsQuestion};
use store::{
    export,
    grid::{Grid, Ordered},
};
use widgets::{panel, progress};

/// From this width the full post is drawn beside the table, else below it.
const BESIDE_WIDTH: u16 = 120;

#[derive(Default)]
pub struct PostsView {
    list: List<PostFields>,
    /// All tokens' posts, not just the selected one's.
    all: bool,
    /// The full post is shown.
    open: bool,
    /// The token of the displayed posts, if only one.
    token: Option<Address>,
    pages: Pages,
}

impl View for PostsView {
    fn refresh(&mut self, context: &Context<'_>) {
        if self.token != context.token {
            self.token = context.token;
            if !self.all {
                self.list.cursor.select(0);
                self.open = false;
            }
        }
        self.list.show(list::TOKEN, self.all);
        let Some(source) = self.source() else { return };
        self.pages.refresh(&source, self.list.cursor.state.selected, context);
        self.list.show(list::AUTHOR, self.pages.any(|post| post.author.is_some()));
        self.list.set_count(self.pages.total());
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.list.act(action) != ListEvent::Nothing {
            self.refresh(context);
            return Effect::Redraw;
        }
        match action {
            Action::Open => {
                self.open = self.post().is_some();
                return Effect::Redraw;
            }
            Action::Back if self.open => self.open = false,
            Action::OpenLink => return self.with_link(Effect::OpenLink),
            Action::CopyValue => return self.with_link(|link| Effect::Copy(link, "link")),
            Action::Star => return self.post().map_or(Effect::Pass, |post| Effect::Star(post.token_address)),
            Action::AllPosts => {
                self.all = !self.all;
                self.list.cursor.select(0);
            }
            _ => return Effect::Pass,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if self.list.mouse(mouse) == ListEvent::Nothing {
            return Effect::Nothing;
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

    listing!(list);

    fn relist(&mut self, context: &Context<'_>) {
        self.list.cursor.select(0);
        self.refresh(context);
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(TokenPostsQuestion::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        self.source().map(|source| source.request(self.list.selected().unwrap_or(0), self.pages.total()))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        let snapshot = Arc::clone(context.snapshot?);
        let question = self.pages.source()?.question(1);
        let grid = Grid::of(snapshot.dataset.table("posts")?);
        let columns: Vec<&'static str> = self.list.members().into_iter().filter(|column| grid.has(column)).collect();
        Some(Export {
            name: "posts".to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: Some(self.pages.total()),
            selected: self.post().map(|post| List::<PostFields>::written(ListedPost { post, context }, &columns)),
            rows: Box::new(move |progress| {
                let (places, _) = question.places(&snapshot, None, progress)?;
                Ok(export::ExportRows::Batches(Box::new(Ordered::new(grid, places, columns))))
            }),
        })
    }

    fn save(&self) -> Value {
        self.list.save(json!({ "all": self.all }))
    }

    fn restore(&mut self, kept: &Value) {
        self.all = kept["all"].as_bool().unwrap_or(self.all);
        self.list.restore(kept);
    }
}

impl PostsView {
    /// The query for the chosen posts.
    fn source(&self) -> Option<PostsRequest> {
        let filter = self.list.filter();
        let query = Some(filter.words().collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty());
        let token = if self.all { None } else { Some(self.token?) };
        Some(PostsRequest { token, query, filter: filter.without_words(), sort: self.list.sorting.keys().to_vec() })
    }

    fn post(&self) -> Option<&Post> {
        self.pages.post(self.list.selected()?)
    }

    fn with_link(&self, effect: impl FnOnce(String) -> Effect) -> Effect {
        match self.post().map(|post| &post.link) {
            Some(Some(link)) => effect(link.clone()),
            Some(None) => Effect::Say("this post has no link".to_owned()),
            None => Effect::Pass,
        }
    }

    fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        self.draw_line(buffer, area, context);
        let area = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 1, height: area.height - 1 };
        if let Some(sentence) = missing_table(context, "posts", "posts") {
            let below = Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area };
            return say(buffer, below, context, &sentence);
        }
        if let Some(problem) = self.pages.problem() {
            return panel::failure(area, buffer, context.theme, &problem.detail);
        }
        if !self.pages.answered() {
            return progress::skeleton(area, buffer, context.theme);
        }
        let nothing = if self.all { "no post" } else { "no post of this token; a shows every token's" };
        let empty = if self.list.filter().is_empty() { nothing } else { &words::no_match("post") };
        self.list.draw(buffer, ListFrame::new(area, empty), context, |place| Some(ListedPost { post: self.pages.post(place)?, context }));
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
        let line = ListLine {
            filter: self.list.filter_text(),
            notes: &[whose],
            shown,
            total,
            left_out: self.list.left_out(),
            nouns: ["post", "posts"],
        };
        line.draw(buffer, area, context);
    }
}

#[cfg(test)]
mod tests;
