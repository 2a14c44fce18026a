//! The Posts view: the selected token's posts, or all posts, in one table, and the full text of the selected one beside or below it.

mod list;
mod record;
mod window;

use std::sync::Arc;

use self::{
    list::{ListedPost, PostFields},
    record::AuthorsPane,
    window::Window,
};
use super::price::Price;
use crate::views::prelude::*;
use frames::{export, ordered::Ordered};
use model::rows::Post;
use query::queries::{
    posts::{PostsQuery, TokenPostsQuery},
    posts_record::PostsRecordQuery,
};

/// Page sizes of requests: the maximum of each query.
const TOKEN_PAGE: u64 = 100;
const PAGE: u64 = 250;
/// From this width the full post is drawn beside the table, else below it.
const BESIDE_WIDTH: u16 = 120;
/// From this width it is beside the table without taking room from the titles; from this height below it.
const ROOMY_WIDTH: u16 = 180;
const ROOMY_HEIGHT: u16 = 34;

#[derive(Default)]
pub struct PostsView {
    list: List<PostFields>,
    /// All tokens' posts, not just the selected one's.
    all: bool,
    /// The full post is shown.
    open: bool,
    /// The token of the displayed posts, if only one.
    token: Option<Address>,
    window: Window,
    record: AuthorsPane,
    /// The candles of the post's token, where the post leaves space.
    price: Price,
}

impl View for PostsView {
    fn refresh(&mut self, context: &Context<'_>) {
        self.record
            .refresh(PostsRecordQuery {}, record::rows, context);
        let token = self.post().map(|post| post.token_address);
        self.price.refresh(token, context);
        if self.token != context.token {
            self.token = context.token;
            if !self.all {
                self.list.cursor.select(0);
                self.open = false;
            }
        }
        self.list.show(list::TOKEN, self.all);
        let Some(question) = self.question(context.newest_post()) else {
            return;
        };
        self.window
            .refresh(&question, self.list.cursor.state.selected, context);
        let any = |is_known: fn(&Post) -> bool| self.window.posts().iter().any(is_known);
        self.list
            .show(list::AUTHOR, any(|post| post.author.is_some()));
        self.list
            .show(list::MATCHED, any(|post| post.matched_by.is_some()));
        self.list.set_count(self.window.total());
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.record.is_open() || action == Action::PostsRecord {
            let effect = self.record.act(action, Action::PostsRecord);
            self.refresh(context);
            return effect;
        }
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
            Action::Star => {
                return self
                    .post()
                    .map_or(Effect::Pass, |post| Effect::Star(post.token_address));
            }
            Action::AllPosts => {
                self.all = !self.all;
                self.list.cursor.select(0);
            }
            _ => return Effect::Pass,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        !self.record.is_open() || !matches!(action, Action::OpenLink | Action::Star)
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if self.record.is_open() {
            return self.record.mouse(mouse);
        }
        if self.list.mouse(mouse) == ListEvent::Nothing {
            return Effect::Nothing;
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        if self.record.is_open() {
            return record::draw(&mut self.record, buffer, area, context);
        }
        // Where there is room the post is read without being opened.
        let is_beside = area.width >= if self.open { BESIDE_WIDTH } else { ROOMY_WIDTH };
        let has_room = is_beside || (area.width >= BESIDE_WIDTH && area.height >= ROOMY_HEIGHT);
        let post = if self.open || has_room {
            self.post().cloned()
        } else {
            None
        };
        let Some(post) = post else {
            return self.draw_list(buffer, area, context);
        };
        let (list, sheet) = if is_beside {
            beside(area, (area.width / 3).clamp(44, 70))
        } else {
            stacked(area, area.height - POST_HEIGHT.min(area.height / 2))
        };
        self.draw_list(buffer, list, context);
        let rest = draw_post(&post, buffer, sheet, context);
        self.price.draw(buffer, rest, context);
    }

    fn listing(&self) -> Option<&dyn Listing> {
        Some(if self.record.is_open() {
            &self.record.list
        } else {
            &self.list
        })
    }

    fn listing_mut(&mut self) -> Option<&mut dyn Listing> {
        Some(if self.record.is_open() {
            &mut self.record.list
        } else {
            &mut self.list
        })
    }

    fn relist(&mut self, context: &Context<'_>) {
        if self.record.is_open() {
            return self.record.arrange();
        }
        self.list.cursor.select(0);
        self.refresh(context);
    }

    fn undated(&self) -> &'static [&'static str] {
        &["posts"]
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(TokenPostsQuery::NEEDS)
    }

    fn request(&self, context: &Context<'_>) -> Option<HttpRequest> {
        if self.record.is_open() {
            return self.record.request();
        }
        let question = self.question(context.newest_post())?;
        let (row, total) = (
            self.list.selected().unwrap_or(0) as u64,
            self.window.total() as u64,
        );
        // One token's newest posts have a query of their own.
        let is_plain = self.list.filter().is_empty()
            && self.list.sorting.keys() == [Order::falling("published_at")];
        let Some(token_address) = self.token.filter(|_| is_plain && !self.all) else {
            let page = row / PAGE + 1;
            let question = PostsQuery { page, ..question };
            return Some(HttpRequest::of(&question).of_page(page, PAGE, total));
        };
        let page = row / TOKEN_PAGE + 1;
        let question = TokenPostsQuery {
            token_address,
            page,
            limit: TOKEN_PAGE,
            explain: false,
        };
        Some(HttpRequest::of(&question).of_page(page, TOKEN_PAGE, total))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        if self.record.is_open() {
            return Some(self.record.export("posts-track-record"));
        }
        let snapshot = Arc::clone(context.snapshot?);
        let question = self.window.question()?.clone();
        let grid = Arc::clone(&snapshot.dataset.table("posts")?.rows);
        let columns: Vec<&'static str> = self
            .list
            .members()
            .into_iter()
            .filter(|column| grid.column_named(column).is_some())
            .collect();
        Some(Export {
            name: "posts".to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: Some(self.window.total()),
            selected: self
                .post()
                .map(|post| List::<PostFields>::written(ListedPost { post, context }, &columns)),
            rows: Box::new(move |progress| {
                let (places, _) = question.places(&snapshot, None, progress)?;
                Ok(export::ExportRows::Batches(Box::new(Ordered::new(
                    grid, places, columns,
                ))))
            }),
        })
    }

    fn save(&self) -> Json {
        self.list.save(json!({ "all": self.all }))
    }

    fn restore(&mut self, kept: &Json) {
        self.all = kept["all"].as_bool().unwrap_or(self.all);
        self.list.restore(kept);
    }
}

impl PostsView {
    /// The query for the chosen posts.
    fn question(&self, newest: Time) -> Option<PostsQuery> {
        let filter = self
            .list
            .filter()
            .with_times(list::AGE, "published_at", newest);
        let token = if self.all {
            None
        } else {
            Some(self.token?.to_string())
        };
        let words: Vec<&str> = token.as_deref().into_iter().chain(filter.words()).collect();
        Some(PostsQuery {
            query: (!words.is_empty()).then(|| words.join(" ")),
            filter: filter.without_words(),
            sort: self.list.sorting.keys().to_vec(),
            only: Vec::new(),
            page: 1,
            limit: PAGE,
        })
    }

    fn post(&self) -> Option<&Post> {
        self.window.post(self.list.selected()?)
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
        let area = Rect {
            x: area.x + 1,
            y: area.y + 1,
            width: area.width - 1,
            height: area.height - 1,
        };
        if let Some(sentence) = missing_table(context, "posts", "posts") {
            let below = below(area, 1);
            return say(buffer, below, context, &sentence);
        }
        if let Some(problem) = self.window.problem() {
            return panel::failure(area, buffer, context.theme, &problem.detail);
        }
        if !self.window.answered() {
            return progress::skeleton(area, buffer, context.theme);
        }
        let nothing = if self.all {
            "no posts"
        } else {
            "no posts about this token; press a for all tokens"
        };
        let empty = if self.list.filter().is_empty() {
            nothing
        } else {
            &words::no_match("post")
        };
        self.list
            .draw(buffer, ListFrame::new(area, empty), context, |place| {
                Some(ListedPost {
                    post: self.window.post(place)?,
                    context,
                })
            });
    }

    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let whose = match (self.all, self.token) {
            (true, _) => "of all tokens".to_owned(),
            (false, Some(token)) => format!("of {}", symbol_of(context, &token)),
            (false, None) => "no token selected".to_owned(),
        };
        let posts = context.snapshot.map(|snapshot| match self.token {
            Some(token) if !self.all => snapshot.dataset.posts_of(&token).len(),
            _ => snapshot.dataset.posts().len(),
        });
        let total = posts.unwrap_or(self.window.total()) as u64;
        let age = format!("ages as of {}", context.zone.minute(context.newest_post()));
        draw_list_line(
            &self.list,
            &[(whose, Role::Dim), (age, Role::Dim)],
            (total, ["post", "posts"]),
            buffer,
            area,
            context,
        );
    }
}

/// Rows of the sheet below a table.
const POST_HEIGHT: u16 = 13;
const LABEL: u16 = 13;
const TITLE_LINES: usize = 8;

/// Draws the post; returns the space that it leaves below.
fn draw_post(post: &Post, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> Rect {
    let theme = context.theme;
    let symbol = symbol_of(context, &post.token_address);
    let rule = Panel {
        note: &symbol,
        ..Panel::new("post")
    };
    let body = inset(rule.render(area, buffer, theme));
    let facts = facts(post, context);
    // The facts keep their space; the title is cut.
    let lines = usize::from(body.height)
        .saturating_sub(facts.len() + 1)
        .clamp(1, TITLE_LINES);
    let title = post.title.as_deref().unwrap_or("no title");
    let mut y = put_wrapped(
        buffer,
        body,
        0,
        0,
        title,
        lines,
        if post.title.is_some() {
            theme.strong()
        } else {
            theme.dim()
        },
    );
    y += u16::from(usize::from(body.height) > usize::from(y) + facts.len());
    let link = post.link.as_deref().unwrap_or(MISSING);
    y += put_wrapped(
        buffer,
        body,
        0,
        y,
        link,
        2,
        if post.link.is_some() {
            theme.accent()
        } else {
            theme.dim()
        },
    );
    put(
        buffer,
        body,
        0,
        y,
        &post.token_address.to_string(),
        theme.dim(),
    );
    y += 1;
    for (label, value) in facts {
        put(buffer, body, 0, y, label, theme.dim());
        put(buffer, body, LABEL, y, &value, theme.style(role_of(&value)));
        y += 1;
    }
    below(body, y + 1)
}

fn facts(post: &Post, context: &Context<'_>) -> Vec<(&'static str, String)> {
    let until = if context.as_of().is_some() {
        "the end of the day"
    } else {
        "the newest post"
    };
    let age = match format::age(context.newest_post().0.saturating_sub(post.published_at.0)) {
        age if age == "now" => until.to_owned(),
        age => format!("{age} before {until}"),
    };
    let matched = post.matched_by.clone().map(|why| ("matched by", why));
    let facts = [
        (
            "published",
            format!("{}, {age}", context.zone.moment(post.published_at)),
        ),
        (
            "author",
            post.author.clone().unwrap_or_else(|| MISSING.to_owned()),
        ),
        ("platform", post.place().unwrap_or(MISSING).to_owned()),
        ("impressions", exact(post.impressions)),
        ("engagement", exact(post.engagement)),
        ("smart", exact(post.smart_engagement)),
        ("id", post.post_id.clone()),
    ];
    facts.into_iter().chain(matched).collect()
}

#[cfg(test)]
mod tests;
