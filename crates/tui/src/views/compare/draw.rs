//! Draws a comparison: lines, letters, crosshair, legend and correlations.

use ratatui::{
    symbols::Marker,
    widgets::{
        Widget,
        canvas::{Canvas, Line},
    },
};

use super::ROLES;
use crate::views::prelude::*;
use analysis::market::TokenSummary;
use model::chain::Chain;
use query::question::compare::{Comparison, Correlation};
use widgets::candles::{Scale, decimals};

/// From this width the legend is drawn beside the chart, else below it.
const BESIDE: u16 = 100;
const LEGEND_WIDTH: u16 = 44;
/// Figures beside a token in the legend, and their widths in cells.
const FIGURES: [(&str, u16); 3] = [("cap", 7), ("vol", 8), ("score", 7)];
/// Total width of the figures in cells.
const FIGURES_WIDTH: u16 = 22;
/// The figures of more than `FEW` tokens are drawn beside the legend from this width on, else below it.
const WIDE: u16 = 140;
const FEW: usize = 6;
/// Minimum number of rows of the chart above the legend, if available.
const CHART_ROWS: u16 = 5;
/// Width of the axis at the left, and of the letters at the right.
const AXIS: u16 = 9;
const LETTERS: u16 = 2;

fn letter(nth: usize) -> char {
    char::from(b'A' + u8::try_from(nth % 26).unwrap_or_default())
}

fn role(nth: usize) -> Role {
    ROLES[nth % ROLES.len()]
}

/// Draws the comparison; returns the plot area.
pub(super) fn comparison(answer: &Comparison, at: Option<usize>, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> Rect {
    let (chart, legend) = if area.width >= BESIDE {
        let wide = area.width >= WIDE && answer.tokens.len() > FEW;
        beside(area, LEGEND_WIDTH + if wide { FIGURES_WIDTH } else { 0 })
    } else {
        // Time, tokens, an empty line, the title of the correlations and one line of them.
        let height = (answer.tokens.len() as u16 + 4).min(area.height.saturating_sub(CHART_ROWS).max(area.height / 2));
        stacked(area, area.height - height)
    };
    let shown = at.unwrap_or(answer.rows.len().saturating_sub(1));
    let plot = lines(answer, shown, at.is_some(), buffer, chart, context);
    let below = tokens(answer, shown, buffer, legend, context);
    correlations(answer, buffer, Rect { y: legend.y + below, height: legend.height.saturating_sub(below), ..legend }, context);
    plot
}

/// The range of the values, including zero, with a margin.
fn bounds(answer: &Comparison) -> (f64, f64) {
    let values = answer.rows.iter().flat_map(|row| row.percent.iter().flatten().copied());
    let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let air = ((high - low) * 0.04).max(0.5);
    (low - air, high + air)
}

fn lines(answer: &Comparison, at: usize, crosshair: bool, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> Rect {
    if area.width < AXIS + LETTERS + 8 || area.height < 4 {
        return Rect::default();
    }
    let theme = context.theme;
    let plot = Rect { x: area.x + AXIS, width: area.width - AXIS - LETTERS, height: area.height - 1, ..area };
    let (low, high) = bounds(answer);
    let last = answer.rows.len().saturating_sub(1).max(1) as f64;
    let color = |role: Role| theme.style(role).fg.unwrap_or_default();
    let marker = if context.ascii { Marker::Dot } else { Marker::Braille };
    let ground = theme.style(Role::Background).bg.unwrap_or_default();
    let canvas = Canvas::default().background_color(ground).marker(marker).x_bounds([0.0, last]).y_bounds([low, high]).paint(|paint| {
        paint.draw(&Line { x1: 0.0, y1: 0.0, x2: last, y2: 0.0, color: color(Role::Grid) });
        for nth in 0..answer.tokens.len() {
            let mut before: Option<(f64, f64)> = None;
            for (x, row) in answer.rows.iter().enumerate() {
                let Some(value) = row.percent.get(nth).copied().flatten() else { continue };
                let here = (x as f64, value);
                let (x1, y1) = before.unwrap_or(here);
                paint.draw(&Line { x1, y1, x2: here.0, y2: here.1, color: color(role(nth)) });
                before = Some(here);
            }
        }
    });
    canvas.render(plot, buffer);
    let y_of = |value: f64| plot.y + row_of(value, (low, high), plot, context.ascii);
    // The letters at the right end, without overlaps.
    let mut taken: Vec<u16> = Vec::new();
    for (nth, token) in answer.tokens.iter().enumerate() {
        let Some(percent) = token.percent else { continue };
        let near = (0..plot.height).flat_map(|far| [y_of(percent).checked_sub(far), Some(y_of(percent) + far)]).flatten();
        if let Some(y) = near.into_iter().find(|y| (plot.y..plot.bottom()).contains(y) && !taken.contains(y)) {
            taken.push(y);
            put(buffer, area, area.width - 1, y - area.y, &letter(nth).to_string(), theme.style(role(nth)));
        }
    }
    axis(answer, (low, high), buffer, area, plot, context);
    if crosshair {
        let x = plot.x + (at as f64 / last * f64::from(plot.width.saturating_sub(1))).round() as u16;
        for y in plot.y..plot.bottom() {
            let cell = &mut buffer[(x, y)];
            if cell.symbol() == " " || cell.symbol() == "\u{2800}" {
                cell.set_symbol(if context.ascii { "|" } else { "│" }).set_style(theme.style(Role::Grid));
            }
        }
    }
    plot
}

/// Draws the percent axis at the left, and the first and last day below.
fn axis(answer: &Comparison, (low, high): (f64, f64), buffer: &mut Buffer, area: Rect, plot: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let ticks = Scale::new(low, high, false).ticks(usize::from(plot.height / 4).clamp(1, 8));
    let digits = ticks.windows(2).next().map_or(1, |pair| decimals(pair[1] - pair[0]));
    for value in ticks {
        let slot = Rect { width: AXIS - 1, ..area };
        put_right(buffer, slot, row_of(value, (low, high), plot, context.ascii), &format!("{} %", signed(value, digits)), theme.dim());
    }
    put(buffer, area, AXIS, area.height - 1, &format::candle_time(answer.from), theme.dim());
    put_right(buffer, Rect { width: area.width - LETTERS, ..area }, area.height - 1, &format::candle_time(answer.to), theme.dim());
}

/// The row of a value in the plot: that of its Braille dot; a cell has four rows of dots.
fn row_of(value: f64, (low, high): (f64, f64), plot: Rect, ascii: bool) -> u16 {
    let in_cell = if ascii { 1.0 } else { 4.0 };
    let last = f64::from(plot.height) * in_cell - 1.0;
    let point = (((high - value) / (high - low)).clamp(0.0, 1.0) * last).round();
    ((point / in_cell) as u16).min(plot.height.saturating_sub(1))
}

fn signed(value: f64, digits: usize) -> String {
    let text = format!("{value:+.digits$}");
    if text.trim_start_matches(['+', '-']).chars().all(|c| matches!(c, '0' | '.')) { "0".to_owned() } else { text }
}

/// Draws the legend: each token's letter, symbol and percent at the crosshair; returns the rows used.
fn tokens(answer: &Comparison, at: usize, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> u16 {
    let theme = context.theme;
    let Some(row) = answer.rows.get(at) else { return 0 };
    put(buffer, area, 0, 0, &format::candle_time(row.timestamp), theme.dim());
    for (nth, token) in answer.tokens.iter().enumerate() {
        let y = nth as u16 + 1;
        if y >= area.height {
            break;
        }
        let style = theme.style(role(nth));
        put(buffer, area, 0, y, &letter(nth).to_string(), style);
        let name = token.symbol.clone().unwrap_or_else(|| token.token_address.short());
        put(buffer, area, 2, y, &text::truncate(&name, 14), style);
        let change = format::change(row.percent.get(nth).copied().flatten());
        let slot = Rect { width: area.width.min(LEGEND_WIDTH), ..area };
        put_right(buffer, slot, y, &change, theme.text());
        // Tokens of equal symbol also get their chain and address.
        let chain =
            summary(context, &token.token_address).and_then(|token| token.chains.first()).map_or_else(String::new, Chain::to_string);
        let short = token.token_address.short();
        let from = text::width(&text::truncate(&name, 14)) as u16 + 4;
        let room = usize::from(slot.width.saturating_sub(from + text::width(&change) as u16 + 1));
        let which = [format!("{chain} {short}"), chain].into_iter().find(|which| text::width(which) <= room).unwrap_or_default();
        put(buffer, area, from, y, &which, theme.dim());
    }
    let rows = answer.tokens.len() as u16 + 2;
    // Beside the legend, else below it with the letters again.
    let used = if area.width >= LEGEND_WIDTH + FIGURES_WIDTH {
        figures(answer, buffer, Rect { x: area.x + LEGEND_WIDTH, width: FIGURES_WIDTH, ..area }, context);
        rows
    } else if area.height < 2 * rows + 2 {
        // The correlations come first.
        rows
    } else {
        let below = below(area, rows);
        for nth in 0..answer.tokens.len() {
            put(buffer, below, 0, nth as u16 + 1, &letter(nth).to_string(), theme.style(role(nth)));
        }
        figures(answer, buffer, below, context);
        2 * rows
    };
    used.min(area.height)
}

/// Draws each token's market cap, volume and security score, as in the Tokens view; the score only if it was already computed.
fn figures(answer: &Comparison, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let right_of = |nth: usize| Rect { width: FIGURES[..=nth].iter().map(|(_, width)| width).sum::<u16>().min(area.width), ..area };
    for (nth, (title, _)) in FIGURES.iter().enumerate() {
        put_right(buffer, right_of(nth), 0, &title.to_uppercase(), theme.dim());
    }
    for (y, token) in (1..area.height).zip(&answer.tokens) {
        let summary = summary(context, &token.token_address);
        let money = |value: Option<f64>| {
            let text = format::human(value);
            let role = if summary.is_some_and(TokenSummary::is_stale) { Role::Dim } else { role_of(&text) };
            (text, role)
        };
        let told = context.snapshot.and_then(|snapshot| snapshot.security.summary(&token.token_address));
        let score = told.map_or_else(
            || (format::MISSING.to_owned(), Role::Dim),
            |told| (score_text(told.score, told.recommendation), role_of_score(told.score, told.recommendation)),
        );
        let mut cap = money(summary.and_then(|token| token.market_cap));
        if summary.is_some_and(|token| token.outdated(token.market_cap_as_of).is_some()) {
            cap.1 = Role::Dim;
        }
        let all = [cap, money(summary.and_then(|token| token.volume_24h)), score];
        for (nth, (text, role)) in all.into_iter().enumerate() {
            put_right(buffer, right_of(nth), y, &text, theme.style(role));
        }
    }
}

fn correlations(answer: &Comparison, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    if area.height == 0 {
        return;
    }
    let counts = answer.correlations.iter().map(|pair| pair.n);
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let days = if least == most { format!("n {least} days") } else { format!("n {least} to {most} days") };
    // Daily correlations end on the week's first day, while the week's percent includes its last.
    let what = match answer.timeframe {
        "1w" => format!("daily correlation to {}", answer.to.day()),
        _ => "correlation of daily log returns".to_owned(),
    };
    put(buffer, area, 0, 0, &format!("{what}, {days}"), theme.dim());
    let count = answer.tokens.len();
    let figure = |pair: &Correlation| pair.correlation.map_or_else(|| format::MISSING.to_owned(), |value| format!("{value:.2}"));
    let strength = |pair: &Correlation| match pair.correlation {
        Some(value) if value >= 0.5 => Role::Up,
        Some(value) if value <= -0.5 => Role::Down,
        _ => Role::Text,
    };
    // As a matrix where it fits: the columns are letters.
    if usize::from(area.width) >= 4 + 6 * count && usize::from(area.height) > count {
        for nth in 0..count {
            put(buffer, area, 4 + 6 * nth as u16 + 3, 1, &letter(nth).to_string(), theme.style(role(nth)));
        }
        for a in 0..count.saturating_sub(1) {
            let y = a as u16 + 2;
            put(buffer, area, 0, y, &letter(a).to_string(), theme.style(role(a)));
            for b in a + 1..count {
                let tokens = (answer.tokens[a].token_address, answer.tokens[b].token_address);
                let pair = answer.correlations.iter().find(|pair| (pair.token_address, pair.other_address) == tokens);
                if let Some(pair) = pair {
                    let slot = Rect { x: area.x + 4 + 6 * b as u16, width: 5, ..area };
                    put_right(buffer, slot, y, &figure(pair), theme.style(strength(pair)));
                }
            }
        }
        return;
    }
    let letter_of = |address| answer.tokens.iter().position(|token| token.token_address == address).map_or('?', letter);
    let pairs = answer.correlations.iter();
    let texts =
        pairs.map(|pair| (format!("{}–{} {}", letter_of(pair.token_address), letter_of(pair.other_address), figure(pair)), strength(pair)));
    let (mut x, mut y) = (0, 1);
    for (says, role) in texts {
        let width = text::width(&says) as u16;
        if x + width > area.width {
            (x, y) = (0, y + 1);
        }
        if y >= area.height {
            break;
        }
        x += put(buffer, area, x, y, &says, theme.style(role)) + 3;
    }
}
