//! The detail panel of one token: figures, distribution of holders and followers, key opinion leaders and best posts. Adapts to its area:
//! one column or two, all sections or the first ones.

mod sections;

use self::sections::{DetailSection, draw_sections};
use super::list;
use crate::views::prelude::*;
use analysis::{
    growth::{WhaleChange, WhaleTrend},
    market::TokenSummary,
    social::{SocialBound, SocialGap, SocialMetric},
    token::TokenDetail,
};
use model::{annotations::UserLevel, chain::Chain, time::Day};

/// From this width, unless it is tall, the panel has two columns.
const TWO_COLUMNS_WIDTH: u16 = 76;
const TWO_COLUMNS_HEIGHT: u16 = 28;
/// Width of a label.
const LABEL: u16 = 12;
/// Digits of an amount that is still read at a glance, with its commas.
const READABLE: usize = 19;
/// Maximum lines of the user's note.
const NOTE_LINES: usize = 3;

/// The data of the panel.
pub(super) struct DetailContent<'a> {
    pub summary: &'a TokenSummary,
    /// `None` while it is loading.
    pub detail: Option<&'a TokenDetail>,
    pub problem: Option<&'a Problem>,
}

/// Draws the detail; returns the space that it leaves below.
pub(super) fn draw(
    shown: &DetailContent<'_>,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> Rect {
    let summary = shown.summary;
    let title = summary
        .name
        .as_deref()
        .or(summary.symbol.as_deref())
        .unwrap_or("no name");
    let symbol = summary
        .symbol
        .as_deref()
        .map(|symbol| text::truncate(symbol, 12))
        .unwrap_or_default();
    let loading = (shown.detail.is_none() && shown.problem.is_none()).then_some(None);
    // Where one looks for more of the token.
    let more = "P report";
    let roomy = usize::from(area.width)
        > text::width(title) + text::width(&symbol) + text::width(more) + 14;
    let note = if symbol.is_empty() {
        more.to_owned()
    } else if roomy {
        format!("{symbol} · {more}")
    } else {
        symbol.into_owned()
    };
    let rule = Panel {
        note: &note,
        progress: loading,
        ..Panel::new(title)
    };
    let body = inset(rule.render(area, buffer, context.theme));
    if body.width < 20 || body.height == 0 {
        return Rect::default();
    }
    if body.width >= TWO_COLUMNS_WIDTH && body.height < TWO_COLUMNS_HEIGHT {
        let used = draw_identity(summary, buffer, body, context);
        let used = used + draw_annotations(summary, buffer, below(body, used), context);
        let body = below(body, used);
        let left = body.width / 2;
        let columns = [
            Rect {
                width: left - 2,
                ..body
            },
            Rect {
                x: body.x + left,
                width: body.width - left,
                ..body
            },
        ];
        let used = draw_figures(shown, buffer, columns[0], context);
        let under = below(columns[0], used + 1);
        draw_sections(
            shown,
            &[DetailSection::Holders, DetailSection::Flows],
            buffer,
            under,
            context,
        );
        draw_sections(
            shown,
            &[DetailSection::Kols, DetailSection::Posts],
            buffer,
            columns[1],
            context,
        );
        Rect::default()
    } else {
        let used = draw_figures(shown, buffer, body, context);
        let used = used + draw_identity(summary, buffer, below(body, used), context);
        let used = used + draw_annotations(summary, buffer, below(body, used), context);
        let used = used + u16::from(body.height > used + 14);
        let sections = below(body, used);
        let used = draw_sections(
            shown,
            &[
                DetailSection::Holders,
                DetailSection::Kols,
                DetailSection::Posts,
                DetailSection::Flows,
            ],
            buffer,
            sections,
            context,
        );
        below(sections, used + 1)
    }
}

/// A labeled figure: humanized, and in full where it fits.
struct Figure {
    label: &'static str,
    value: String,
    /// Of half a line.
    short: String,
    role: Role,
    /// Texts beside the value, the longest first: the first one that fits is drawn.
    exact: Vec<String>,
    exact_role: Role,
}

impl Figure {
    fn new(label: &'static str, value: String, exact: String) -> Self {
        let role = role_of(&value);
        let exact = if exact == value || exact == MISSING {
            Vec::new()
        } else {
            vec![exact]
        };
        Self {
            label,
            short: value.clone(),
            value,
            role,
            exact,
            exact_role: Role::Dim,
        }
    }

    /// A count in every digit.
    fn whole(label: &'static str, value: Option<i64>) -> Self {
        Self {
            short: format::human(float(value)),
            ..Self::new(label, exact(value), String::new())
        }
    }

    /// Whole USD where they can be read, else in short.
    fn money(label: &'static str, value: Option<f64>) -> Self {
        let whole = value.map_or_else(
            || MISSING.to_owned(),
            |value| format::exact(Some(value.round())),
        );
        Self::new(
            label,
            if whole.len() <= READABLE {
                whole
            } else {
                format::human(value)
            },
            String::new(),
        )
    }

    /// Dim and with its day, if it is older than the others.
    fn dated(self, outdated: Option<Day>) -> Self {
        let Some(day) = outdated else { return self };
        let exact = self.exact.iter().map(|exact| format!("{exact} on {day}"));
        Self {
            role: Role::Dim,
            exact: exact.chain([format!("on {day}")]).collect(),
            ..self
        }
    }

    fn noted(self, notes: Vec<String>, role: Role) -> Self {
        Self {
            exact: notes,
            exact_role: role,
            ..self
        }
    }

    fn draw(&self, buffer: &mut Buffer, area: Rect, y: u16, context: &Context<'_>) {
        let theme = context.theme;
        put(buffer, area, 0, y, self.label, theme.dim());
        let used = put(buffer, area, LABEL, y, &self.value, theme.style(self.role));
        if let Some(exact) = self
            .exact
            .iter()
            .find(|exact| LABEL + used + 2 + text::width(exact) as u16 <= area.width)
        {
            put_right(buffer, area, y, exact, theme.style(self.exact_role));
        }
    }

    /// Draws it in half a line, the value right-aligned.
    fn draw_half(&self, buffer: &mut Buffer, area: Rect, y: u16, context: &Context<'_>) {
        put(buffer, area, 0, y, self.label, context.theme.dim());
        let room = usize::from(area.width).saturating_sub(text::width(self.label) + 1);
        let value = text::longest_that_fits([&self.value, &self.short].map(Clone::clone), room);
        put_right(buffer, area, y, &value, context.theme.style(self.role));
    }
}

/// Draws the metrics, one per line if they fit, otherwise the social ones in pairs; returns the lines used.
fn draw_figures(
    shown: &DetailContent<'_>,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    let roomy = area.height >= 36;
    let mut y = 0;
    for figure in market_figures(shown, context) {
        figure.draw(buffer, area, y, context);
        y += 1;
    }
    if area.height >= 16 && !shown.summary.price_history.is_empty() {
        put(buffer, area, 0, y, "30 days", context.theme.dim());
        let cells = usize::from(area.width.saturating_sub(LABEL));
        let cells = if cells >= 60 { 60 } else { cells.min(30) };
        let mut x = LABEL;
        for (piece, role) in list::history(shown.summary, cells).pieces {
            x += put(buffer, area, x, y, &piece, context.theme.style(role));
        }
        y += 1;
    }
    let whales = whales(shown.detail);
    whales.draw(buffer, area, y, context);
    y += 1 + u16::from(roomy);
    let social = social_figures(shown.detail);
    if roomy {
        for figure in &social {
            figure.draw(buffer, area, y, context);
            y += 1;
        }
    } else {
        let half = area.width.saturating_sub(3) / 2;
        for pair in social.chunks(2) {
            for (side, figure) in pair.iter().enumerate() {
                let x = area.x + side as u16 * (half + 3);
                figure.draw_half(
                    buffer,
                    Rect {
                        x,
                        width: half,
                        ..area
                    },
                    y,
                    context,
                );
            }
            y += 1;
        }
    }
    (y + u16::from(roomy)).min(area.height)
}

fn market_figures(shown: &DetailContent<'_>, context: &Context<'_>) -> Vec<Figure> {
    let summary = shown.summary;
    let token = context
        .snapshot
        .and_then(|s| s.dataset.token(&summary.token_address));
    let (supply, supply_as_of) = token.map_or((None, None), |token| {
        (token.row.total_supply, token.dates.total_supply)
    });
    let holders_role =
        if summary.holders.is_none() || summary.outdated(summary.holders_as_of).is_some() {
            Role::Dim
        } else {
            Role::Text
        };
    let change = |percent: Option<f64>, days: &str| match percent {
        Some(value) => (
            format!("{}  {days}", format::change(Some(value))),
            Role::of_sign(value),
        ),
        None => (String::new(), Role::Dim),
    };
    let lag = summary
        .last_candle
        .and_then(|last| Some((last.interval, last.behind?)));
    let (day, day_role) = match (
        summary.outdated(summary.price_as_of),
        summary.close_apart,
        lag,
    ) {
        (Some(day), ..) => (vec![format!("on {day}")], Role::Warning),
        (None, Some((start, close)), _) => {
            let close = format::price(Some(close));
            (
                vec![
                    format!("undated; last candle {} {close}", start.day()),
                    format!("undated; last candle {close}"),
                    format!("candle: {close}"),
                ],
                Role::Warning,
            )
        }
        (None, None, Some((interval, lag))) => {
            let behind = format!("stale: {} behind", format::age(lag.by));
            (
                vec![
                    format!("{behind} {}", lag.clock.words(&interval.to_string())),
                    behind,
                ],
                Role::Warning,
            )
        }
        (None, None, None) if summary.price.is_none() => (
            [
                "press : and type import FILE, or add TOKEN to fetch prices",
                ":import FILE or :add TOKEN",
                ":import or :add",
            ]
            .map(str::to_owned)
            .to_vec(),
            Role::Dim,
        ),
        (None, None, None) => {
            let (day, role) = change(summary.price_change_24h, "24h");
            (vec![day], role)
        }
    };
    let (week, week_role) = change(summary.holders_growth, "7d");
    let (week, week_role) = match summary
        .last_count
        .filter(|count| count.old && summary.holders_growth.is_some())
    {
        // Growth up to an older day is never shown without that day.
        Some(count) => {
            let (day, change) = (
                format!("to {}", count.day),
                format::change(summary.holders_growth),
            );
            (
                vec![format!("{week} {day}"), format!("{change} {day}"), day],
                Role::Dim,
            )
        }
        None => (vec![week], week_role),
    };
    // The count has a day of its own: the growth ends with another count, or is not of this week.
    let of_growth = summary
        .holders_growth
        .and(summary.last_count)
        .map(|count| count.day);
    let counted = summary
        .holders_as_of
        .map(Time::day)
        .filter(|day| Some(*day) != of_growth)
        .map(|day| format!("on {day}"));
    let week = match counted {
        Some(of) => week
            .iter()
            .filter(|week| !week.is_empty())
            .map(|week| format!("{of} · {week}"))
            .chain([of.clone()])
            .collect(),
        None => week,
    };
    let usd = |value: Option<f64>, text: String| {
        if value.is_some() {
            format!("{text} USD")
        } else {
            text
        }
    };
    let exact_price = format::exact(summary.price);
    // A short price is shown in full.
    let rounded = format::price(summary.price);
    let price = if (rounded.len()..=14).contains(&exact_price.len()) {
        exact_price
    } else {
        rounded
    };
    vec![
        Figure::new("price", usd(summary.price, price), String::new()).noted(day, day_role),
        Figure::money("market cap", summary.market_cap)
            .dated(summary.outdated(summary.market_cap_as_of)),
        Figure::money("supply", supply).dated(summary.outdated(supply_as_of)),
        Figure {
            role: holders_role,
            ..Figure::new("holders", exact(summary.holders), String::new()).noted(week, week_role)
        },
    ]
}

/// Why a social metric is missing.
fn gap_words(gap: SocialGap) -> &'static str {
    match gap {
        SocialGap::NoAccounts => "no own accounts",
        SocialGap::NoFollowerCounts => "not in accounts",
        SocialGap::NoPosts => "no posts",
        SocialGap::NotPublished => "not published",
        SocialGap::NoFollows => "no followers listed",
        SocialGap::NoReactions => "no reactions listed",
        SocialGap::NoPeople => "no people",
        SocialGap::NoScores => "no scores",
        SocialGap::NoLabels => "no labels",
        SocialGap::NoPrice => "no price",
        SocialGap::NoHolders => "no holders",
        SocialGap::SmallHoldersUnknown => "not all holders listed",
        SocialGap::FollowersUnknown => "followers unknown",
        SocialGap::NoLeaders => "no leaders",
    }
}

fn social_figures(detail: Option<&TokenDetail>) -> [Figure; 6] {
    let metrics = detail
        .and_then(|detail| detail.social.as_ref())
        .map(|social| social.metrics)
        .unwrap_or_default();
    let figure = |label, metric: SocialMetric| {
        let figure = Figure::whole(label, metric.value);
        if let (None, Some(gap)) = (metric.value, metric.gap) {
            return figure.noted(vec![gap_words(gap).to_owned()], Role::Dim);
        }
        let Some(bound) = metric.bound else {
            return figure;
        };
        let sign = match bound {
            SocialBound::AtLeast => "≥",
            SocialBound::AtMost => "≤",
        };
        Figure {
            value: format!("{sign} {}", figure.value),
            short: format!("{sign}{}", figure.short),
            ..figure
        }
    };
    [
        figure("followers", metrics.followers),
        figure("smart", metrics.smart_followers),
        figure("impressions", metrics.impressions),
        figure("reach", metrics.smart_reach),
        figure("engagement", metrics.post_engagement),
        figure("smart eng.", metrics.smart_engagement),
    ]
}

fn whales(detail: Option<&TokenDetail>) -> Figure {
    let (word, role) = match detail.and_then(|detail| detail.whale_accumulation_trend) {
        Some(WhaleTrend::Accumulating) => ("▲ accumulating", Role::Up),
        Some(WhaleTrend::Distributing) => ("▼ distributing", Role::Down),
        Some(WhaleTrend::Stable) => ("stable", Role::Text),
        None => (MISSING, Role::Dim),
    };
    let notes = detail
        .and_then(|detail| detail.whale_change)
        .map_or_else(Vec::new, |change| whale_notes(&change));
    Figure {
        role,
        ..Figure::new("whales", word.to_owned(), String::new()).noted(notes, Role::Dim)
    }
}

/// The figures behind the whales' trend, the longest text first: `-1.8% of supply in 7 days, 9 of 40 whales`.
fn whale_notes(change: &WhaleChange) -> Vec<String> {
    let days = change.to.0 - change.from.0;
    if let (Some(moves), Some(movers)) = (change.moves, change.movers()) {
        let percent = |of: &str| {
            moves
                .share
                .map_or_else(String::new, |share| format!("{:+.1}%{of} ", share * 100.0))
        };
        let (whales, sure) = (moves.whales, format::share(moves.confidence));
        let of_supply = percent(" of supply in");
        let long = format!("{of_supply}{days} days, {movers} of {whales} whales");
        return vec![
            format!("{long} to {} · confidence {sure}", change.to),
            format!("{long} · confidence {sure}"),
            long,
            format!("{}{days}d, {movers} of {whales}", percent("")),
            format!("{}{days}d", percent("")),
        ];
    }
    let percent = change
        .percent
        .map_or_else(String::new, |percent| format!("{percent:+.1}% "));
    vec![
        format!(
            "{percent}from {} to {} (holder_counts)",
            change.from, change.to
        ),
        format!("{percent}to {} (holder_counts)", change.to),
        format!("{percent}{days}d"),
    ]
}

/// Draws the full address, and the chains behind or below it; returns the lines used.
fn draw_identity(
    summary: &TokenSummary,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    let address = summary.token_address.to_string();
    let chains: Vec<&str> = summary.chains.iter().map(Chain::as_str).collect();
    let chains = chains.join(" ");
    let used = put_wrapped(buffer, area, 0, 0, &address, 3, context.theme.accent());
    if used == 1 && address.len() + 2 + text::width(&chains) <= usize::from(area.width) {
        put_right(buffer, area, 0, &chains, context.theme.text());
        return used;
    }
    put(buffer, area, 0, used, "chains", context.theme.dim());
    put(
        buffer,
        area,
        LABEL,
        used,
        if chains.is_empty() { MISSING } else { &chains },
        context.theme.text(),
    );
    used + 1
}

/// Draws the user's levels and note, if any; returns the lines used.
fn draw_annotations(
    summary: &TokenSummary,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    let Some(own) = context.annotations.get(&summary.token_address) else {
        return 0;
    };
    let named = |level: &UserLevel| format!("{} {}", level.name, format::price(Some(level.price)));
    let levels = own.levels.iter().map(named).collect::<Vec<_>>().join(" · ");
    let column = Rect {
        x: area.x + LABEL.min(area.width),
        width: area.width.saturating_sub(LABEL),
        ..area
    };
    let mut y = 0;
    for (label, says, lines) in [("levels", &levels, 2), ("note", &own.note, NOTE_LINES)] {
        if !says.is_empty() && y < area.height {
            put(buffer, area, 0, y, label, context.theme.dim());
            y += put_wrapped(buffer, column, 0, y, says, lines, context.theme.text());
        }
    }
    y.min(area.height)
}
