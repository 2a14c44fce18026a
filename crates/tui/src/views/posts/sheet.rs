//! One post in full: its wrapped title, the link, exact time and figures.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    view::Context,
    views::parts::{exact, role_of, symbol_of},
};
use model::{
    format::{self, MISSING},
    rows::Post,
};
use widgets::{panel::Panel, put, put_wrapped};

/// Rows of the sheet below a table.
pub(super) const HEIGHT: u16 = 13;
const LABEL: u16 = 13;
const TITLE_LINES: usize = 8;

pub(super) fn draw(post: &Post, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let symbol = symbol_of(context, &post.token_address);
    let rule = Panel { note: &symbol, ..Panel::new("post") };
    let body = rule.render(area, buffer, theme);
    let body = Rect { x: body.x + 1, width: body.width.saturating_sub(2), ..body };
    let facts = facts(post, context);
    // The facts keep their space; the title is cut.
    let lines = usize::from(body.height).saturating_sub(facts.len() + 1).clamp(1, TITLE_LINES);
    let title = post.title.as_deref().unwrap_or("no title");
    let mut y = put_wrapped(buffer, body, 0, 0, title, lines, if post.title.is_some() { theme.strong() } else { theme.dim() });
    y += u16::from(usize::from(body.height) > usize::from(y) + facts.len());
    let link = post.link.as_deref().unwrap_or(MISSING);
    y += put_wrapped(buffer, body, 0, y, link, 2, if post.link.is_some() { theme.accent() } else { theme.dim() });
    put(buffer, body, 0, y, &post.token_address.to_string(), theme.dim());
    y += 1;
    for (label, value) in facts {
        put(buffer, body, 0, y, label, theme.dim());
        put(buffer, body, LABEL, y, &value, theme.style(role_of(&value)));
        y += 1;
    }
}

fn facts(post: &Post, context: &Context<'_>) -> [(&'static str, String); 7] {
    let age = format::age(context.now.0.saturating_sub(post.published_at.0));
    [
        ("published", format!("{}, {age} ago", format::moment(post.published_at))),
        ("author", post.author.clone().unwrap_or_else(|| MISSING.to_owned())),
        ("platform", post.place().unwrap_or(MISSING).to_owned()),
        ("impressions", exact(post.impressions)),
        ("engagement", exact(post.engagement)),
        ("smart", exact(post.smart_engagement)),
        ("id", post.post_id.clone()),
    ]
}
