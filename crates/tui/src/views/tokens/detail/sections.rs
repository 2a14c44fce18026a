//! The sections of a token's detail panel: distribution of holders, key opinion leaders and best posts, in the room that there is.

use super::DetailContent;
use crate::views::{prelude::*, waiting};
use analysis::{
    flows::groups::{FlowGroup, GroupFlow},
    token::{Kol, TokenDetail},
};
use model::rows::Post;
use query::queries::token::TokenQuery;

/// Maximum lines of the reason why a section is empty.
const EMPTY_LINES: usize = 5;
/// Table of a section, and what it is for.
const KOLS: (&str, &str) = ("kols", "leaders");
const POSTS: (&str, &str) = ("posts", "posts");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetailSection {
    Holders,
    Kols,
    Posts,
    /// Net flows by group; only of tokens with transfers.
    Flows,
}

/// The groups whose flows are shown.
const FLOWS: [(FlowGroup, &str); 6] = [
    (FlowGroup::Whales, "whales"),
    (FlowGroup::Fresh, "new wallets"),
    (FlowGroup::Exchanges, "exchanges"),
    (FlowGroup::Creator, "creator"),
    (FlowGroup::Top10, "top 10"),
    (FlowGroup::Top100, "top 100"),
];

impl DetailSection {
    /// Lines below its rule: minimum and ideal.
    fn lines(self, detail: &TokenDetail, width: u16, context: &Context<'_>) -> (u16, u16) {
        let (rows, table) = match self {
            Self::Holders => return (3, 3),
            Self::Flows => return (3, 1 + FLOWS.len() as u16),
            Self::Kols => (detail.top_kols.len(), KOLS),
            Self::Posts => (detail.top_posts.len(), POSTS),
        };
        let most = if rows == 0 {
            text::wrap(&why_empty(table, context), width.into(), EMPTY_LINES).len()
        } else {
            rows
        } as u16;
        (rows.clamp(1, 2) as u16, most.max(1))
    }
}

/// Draws stacked sections, each with at least its minimum lines; stops at the first that does not fit.
/// Returns the lines used.
pub(super) fn draw_sections(
    shown: &DetailContent<'_>,
    sections: &[DetailSection],
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    let theme = context.theme;
    let Some(detail) = shown.detail else {
        match shown.problem {
            Some(problem) => panel::failure(below(area, 1), buffer, theme, &problem.detail),
            None if waiting::draw(TokenQuery::NEEDS, buffer, below(area, 1), context) => {}
            None => progress::skeleton(below(area, 1), buffer, theme),
        }
        return area.height;
    };
    let is_shown = |section: &&DetailSection| {
        !matches!(section, DetailSection::Flows) || detail.flows.is_some()
    };
    let sections: Vec<DetailSection> = sections.iter().filter(is_shown).copied().collect();
    let mut heights: Vec<u16> = Vec::new();
    let mut spare = area.height;
    for section in &sections {
        let least = 1 + section.lines(detail, area.width, context).0;
        if least > spare {
            break;
        }
        spare -= least;
        heights.push(least);
    }
    let gaps = heights.len().saturating_sub(1) as u16;
    let gap = u16::from(spare >= gaps);
    spare -= gap * gaps;
    // Spare space goes to the last sections first: posts are the most informative.
    for (section, height) in sections.iter().zip(&mut heights).rev() {
        let (least, best) = section.lines(detail, area.width, context);
        let more = (best - least).min(spare);
        *height += more;
        spare -= more;
    }
    let mut y = 0;
    for (place, (section, height)) in sections.iter().zip(heights).enumerate() {
        y += if place > 0 { gap } else { 0 };
        let place = Rect {
            height,
            ..below(area, y)
        };
        match section {
            DetailSection::Holders => draw_holders(detail, buffer, place, context),
            DetailSection::Flows => {
                draw_flows(
                    detail.flows.as_deref().unwrap_or_default(),
                    buffer,
                    place,
                    context,
                );
            }
            DetailSection::Kols => draw_kols(&detail.top_kols, buffer, place, context),
            DetailSection::Posts => draw_posts(&detail.top_posts, buffer, place, context),
        }
        y += height;
    }
    y
}

fn draw_holders(detail: &TokenDetail, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let area = Panel {
        note: &with_today("", &["holders"], context).0,
        warns: true,
        ..Panel::new("holders")
    }
    .render(area, buffer, theme);
    let spread = &detail.holders_distribution;
    for (y, (label, share, role)) in [
        ("top 10", spread.top_10_holders, Role::Accent),
        ("top 50", spread.top_50_holders, Role::AccentSoft),
    ]
    .into_iter()
    .enumerate()
    {
        let figure = format::share(share);
        put(buffer, area, 0, y as u16, label, theme.dim());
        put_right(
            buffer,
            area,
            y as u16,
            &figure,
            theme.style(role_of(&figure)),
        );
        if let Some(share) = share {
            let cells = usize::from(area.width.saturating_sub(8 + 9));
            put(
                buffer,
                area,
                8,
                y as u16,
                &low_bar(share, cells),
                theme.style(role),
            );
        }
    }
    let followers = &detail.smart_follower_distribution;
    let wide = area.width >= 52;
    let mut x = 2 + put(
        buffer,
        area,
        0,
        2,
        if wide { "smart followers" } else { "smart" },
        theme.dim(),
    );
    let whales = if followers.whale_holders == Some(1) {
        "whale"
    } else {
        "whales"
    };
    let parts = [
        (whales, followers.whale_holders),
        ("medium", followers.medium_holders),
        ("small", followers.small_holders),
    ];
    if parts.iter().all(|(_, count)| count.is_none()) {
        put(buffer, area, x, 2, MISSING, theme.dim());
        return;
    }
    for (place, (word, count)) in parts.into_iter().enumerate() {
        if place > 0 {
            x += put(buffer, area, x, 2, " · ", theme.style(Role::Grid));
        }
        x += put(buffer, area, x, 2, &exact(count), theme.text());
        x += 1 + put(buffer, area, x + 1, 2, word, theme.dim());
    }
}

/// Draws the net flows of groups; where there is room, also what the largest holders paid per token.
fn draw_flows(flows: &[GroupFlow], buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let area = Panel {
        note: "net tokens",
        ..Panel::new("flows")
    }
    .render(area, buffer, theme);
    // group, three spans, average cost
    let costs = area.width >= 12 + 4 * 10;
    let ends: &[u16] = if costs {
        &[21, 31, 41, 52]
    } else {
        &[20, 28, 36]
    };
    let column = |end: u16| Rect {
        width: end.min(area.width),
        ..area
    };
    for (end, head) in ends.iter().zip(["1d", "7d", "30d", "paid"]) {
        put_right(buffer, column(*end), 0, head, theme.dim());
    }
    let rows = FLOWS.iter().zip(1..area.height);
    for ((group, name), y) in rows {
        let Some(flow) = flows.iter().find(|flow| flow.group == *group) else {
            continue;
        };
        put(buffer, area, 0, y, name, theme.dim());
        let nets = [flow.net_1d, flow.net_7d, flow.net_30d].map(|net| net.tokens);
        let nets = nets.map(|net| (format::human(net), net.map_or(Role::Dim, Role::of_sign)));
        let cost = flow.average_cost.map(|cost| format::price(Some(cost)));
        let cost = (cost.unwrap_or_default(), Role::Text);
        for (end, (text, role)) in ends.iter().zip(nets.into_iter().chain([cost])) {
            put_right(buffer, column(*end), y, &text, theme.style(role));
        }
    }
}

fn draw_kols(kols: &[Kol], buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let area = Panel {
        note: &with_today("", &["kols"], context).0,
        warns: true,
        ..Panel::new("key opinion leaders")
    }
    .render(area, buffer, theme);
    if kols.is_empty() {
        return draw_empty(KOLS, buffer, area, context);
    }
    // handle, followers, rate, address
    let addressed = area.width >= 42;
    let right = if addressed { 13 } else { 0 };
    let handle = area.width.saturating_sub(right + 16);
    for (y, kol) in kols.iter().take(usize::from(area.height)).enumerate() {
        let y = y as u16;
        let name = kol
            .handle
            .clone()
            .unwrap_or_else(|| kol.kol_address.short());
        put(
            buffer,
            Rect {
                width: handle,
                ..area
            },
            0,
            y,
            &name,
            theme.text(),
        );
        let (followers, rate) = (
            format::human(float(kol.followers)),
            format::share(kol.engagement_rate),
        );
        put_right(
            buffer,
            Rect {
                width: handle + 7,
                ..area
            },
            y,
            &followers,
            theme.style(role_of(&followers)),
        );
        put_right(
            buffer,
            Rect {
                width: handle + 16,
                ..area
            },
            y,
            &rate,
            theme.style(role_of(&rate)),
        );
        if addressed {
            put_right(buffer, area, y, &kol.kol_address.short(), theme.dim());
        }
    }
}

/// Why the section of the table has no rows.
fn why_empty((table, for_what): (&str, &str), context: &Context<'_>) -> String {
    missing_table(context, table, for_what)
        .unwrap_or_else(|| "none known for this token".to_owned())
}

/// Draws why a section is empty: the whole sentence where it fits, else its first clause and the view that shows the rest.
fn draw_empty(table: (&str, &str), buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let (why, height) = (why_empty(table, context), usize::from(area.height));
    let fits = text::wrap(&why, area.width.into(), height + 1).len() <= height;
    let short = || format!("{} (Data, 9)", why.split(": ").next().unwrap_or_default());
    put_wrapped(
        buffer,
        area,
        0,
        0,
        &if fits { why.clone() } else { short() },
        height,
        context.theme.dim(),
    );
}

fn draw_posts(posts: &[Post], buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let area = Panel {
        note: "by smart engagement",
        ..Panel::new("top posts")
    }
    .render(area, buffer, theme);
    if posts.is_empty() {
        return draw_empty(POSTS, buffer, area, context);
    }
    for (y, post) in posts.iter().take(usize::from(area.height)).enumerate() {
        let y = y as u16;
        let mark = "◆";
        let smart = format::human(float(post.smart_engagement));
        let engagement = format::human(float(post.engagement));
        let age = format::age(context.newest_post().0.saturating_sub(post.published_at.0));
        put_right(
            buffer,
            Rect {
                width: 4.min(area.width),
                ..area
            },
            y,
            &age,
            theme.dim(),
        );
        let title = Rect {
            width: area.width.saturating_sub(17),
            ..area
        };
        match &post.title {
            Some(words) => put(buffer, title, 6, y, words, theme.text()),
            None => put(buffer, title, 6, y, MISSING, theme.dim()),
        };
        put_right(
            buffer,
            Rect {
                width: area.width.saturating_sub(9),
                ..area
            },
            y,
            &engagement,
            theme.style(role_of(&engagement)),
        );
        put(
            buffer,
            area,
            area.width.saturating_sub(7),
            y,
            mark,
            theme.style(Role::AccentSoft),
        );
        put_right(buffer, area, y, &smart, theme.style(role_of(&smart)));
    }
}
