//! Draws a comparison: lines, letters, crosshair, the tokens and their correlations.

use ratatui::{
    symbols::Marker,
    widgets::{
        Widget,
        canvas::{Canvas, Line},
    },
};

use super::{
    ROLES,
    legend::{self, LegendFields, LegendRow},
};
use crate::{
    views::prelude::*,
    widgets::candles::{Scale, decimals},
};
use query::queries::compare::{Comparison, Correlation};

/// From this width the correlations are drawn beside the tokens, if they fit, else below.
const TOKENS_WIDTH: u16 = 96;
/// Minimum width of the correlations: that of their title.
const CORRELATIONS_WIDTH: u16 = 40;
/// Minimum number of rows of the chart above the legend, if available.
const CHART_ROWS: u16 = 5;
/// Width of the axis at the left, and of the letters at the right, apart from the lines and from the edge.
const AXIS: u16 = 9;
const LETTERS: u16 = 3;

pub(super) fn letter(nth: usize) -> char {
    char::from(b'A' + u8::try_from(nth % 26).unwrap_or_default())
}

pub(super) fn role(nth: usize) -> Role {
    ROLES[nth % ROLES.len()]
}

/// Draws the comparison; returns the plot area.
pub(super) fn comparison(
    answer: &Comparison,
    at: Option<usize>,
    legend: &mut List<LegendFields>,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> Rect {
    let count = answer.tokens.len() as u16;
    // The span, the header and the tokens; below them the correlations: a title, and a matrix or at least one line.
    let tokens = count + 2;
    let aside = area.width >= TOKENS_WIDTH + matrix_width(count).max(CORRELATIONS_WIDTH);
    let most = area.height.saturating_sub(CHART_ROWS).max(area.height / 2);
    let correlated = if aside {
        0
    } else {
        [count + 1, 2]
            .into_iter()
            .find(|rows| tokens + rows <= most / 2 + 2)
            .unwrap_or(2)
    };
    let (chart, below) = stacked(area, area.height - (tokens + correlated).min(most));
    let shown = at.unwrap_or(answer.rows.len().saturating_sub(1));
    let plot = lines(answer, shown, at.is_some(), buffer, chart, context);
    let below = inset(below);
    let (named, alike) = if aside {
        beside(below, matrix_width(count).max(CORRELATIONS_WIDTH))
    } else {
        stacked(below, tokens.min(below.height))
    };
    draw_tokens(answer, shown, legend, buffer, named, context);
    correlations(answer, buffer, alike, context);
    plot
}

/// Width of the correlations as a matrix, whose columns are letters.
fn matrix_width(count: u16) -> u16 {
    4 + 6 * count
}

/// The range of the values, including zero, with a margin.
fn bounds(answer: &Comparison) -> (f64, f64) {
    let values = answer
        .rows
        .iter()
        .flat_map(|row| row.percent.iter().flatten().copied());
    let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let air = ((high - low) * 0.04).max(0.5);
    (low - air, high + air)
}

fn lines(
    answer: &Comparison,
    at: usize,
    crosshair: bool,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> Rect {
    if area.width < AXIS + LETTERS + 8 || area.height < 4 {
        return Rect::default();
    }
    let theme = context.theme;
    let plot = Rect {
        x: area.x + AXIS,
        width: area.width - AXIS - LETTERS,
        height: area.height - 1,
        ..area
    };
    let (low, high) = bounds(answer);
    let last = answer.rows.len().saturating_sub(1).max(1) as f64;
    let color = |role: Role| theme.style(role).fg.unwrap_or_default();
    let marker = if context.ascii {
        Marker::Dot
    } else {
        Marker::Braille
    };
    let ground = theme.style(Role::Background).bg.unwrap_or_default();
    let canvas = Canvas::default()
        .background_color(ground)
        .marker(marker)
        .x_bounds([0.0, last])
        .y_bounds([low, high])
        .paint(|paint| {
            paint.draw(&Line {
                x1: 0.0,
                y1: 0.0,
                x2: last,
                y2: 0.0,
                color: color(Role::Grid),
            });
            for nth in 0..answer.tokens.len() {
                let mut before: Option<(f64, f64)> = None;
                for (x, row) in answer.rows.iter().enumerate() {
                    let Some(value) = row.percent.get(nth).copied().flatten() else {
                        continue;
                    };
                    let here = (x as f64, value);
                    let (x1, y1) = before.unwrap_or(here);
                    paint.draw(&Line {
                        x1,
                        y1,
                        x2: here.0,
                        y2: here.1,
                        color: color(role(nth)),
                    });
                    before = Some(here);
                }
            }
        });
    canvas.render(plot, buffer);
    let y_of = |value: f64| plot.y + row_of(value, (low, high), plot, context.ascii);
    // The letters at the right end, without overlaps.
    let mut taken: Vec<u16> = Vec::new();
    for (nth, token) in answer.tokens.iter().enumerate() {
        let Some(percent) = token.percent else {
            continue;
        };
        let near = (0..plot.height)
            .flat_map(|far| [y_of(percent).checked_sub(far), Some(y_of(percent) + far)])
            .flatten();
        if let Some(y) = near
            .into_iter()
            .find(|y| (plot.y..plot.bottom()).contains(y) && !taken.contains(y))
        {
            taken.push(y);
            put(
                buffer,
                area,
                area.width - 2,
                y - area.y,
                &letter(nth).to_string(),
                theme.style(role(nth)),
            );
        }
    }
    axis(answer, (low, high), buffer, area, plot, context);
    if crosshair {
        let x =
            plot.x + (at as f64 / last * f64::from(plot.width.saturating_sub(1))).round() as u16;
        for y in plot.y..plot.bottom() {
            let cell = &mut buffer[(x, y)];
            if cell.symbol() == " " || cell.symbol() == "\u{2800}" {
                cell.set_symbol(if context.ascii { "|" } else { "│" })
                    .set_style(theme.style(Role::Grid));
            }
        }
    }
    plot
}

/// Draws the percent axis at the left, and the first and last day below.
fn axis(
    answer: &Comparison,
    (low, high): (f64, f64),
    buffer: &mut Buffer,
    area: Rect,
    plot: Rect,
    context: &Context<'_>,
) {
    let theme = context.theme;
    let ticks = Scale::new(low, high, false).ticks(usize::from(plot.height / 4).clamp(1, 8));
    let digits = ticks
        .windows(2)
        .next()
        .map_or(1, |pair| decimals(pair[1] - pair[0]));
    for value in ticks {
        let slot = Rect {
            width: AXIS - 1,
            ..area
        };
        put_right(
            buffer,
            slot,
            row_of(value, (low, high), plot, context.ascii),
            &format!("{}%", signed(value, digits)),
            theme.dim(),
        );
    }
    put(
        buffer,
        area,
        AXIS,
        area.height - 1,
        &format::candle_time(answer.from),
        theme.dim(),
    );
    put_right(
        buffer,
        Rect {
            width: area.width - LETTERS,
            ..area
        },
        area.height - 1,
        &format::candle_time(answer.to),
        theme.dim(),
    );
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
    if text
        .trim_start_matches(['+', '-'])
        .chars()
        .all(|c| matches!(c, '0' | '.'))
    {
        "0".to_owned()
    } else {
        text
    }
}

/// The time at the crosshair, the span, and each token's figures over it; its return is that at the crosshair.
fn draw_tokens(
    answer: &Comparison,
    at: usize,
    legend: &mut List<LegendFields>,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) {
    let Some(row) = answer.rows.get(at) else {
        return;
    };
    let warned = |token: &Address| answer.warnings.iter().find(|of| of.token_address == *token);
    let warnings: Vec<String> = (answer.tokens.iter())
        .filter_map(|token| {
            Some(format!(
                "{}: {}",
                token.symbol.as_deref().unwrap_or_default(),
                warned(&token.token_address)?.warning
            ))
        })
        .collect();
    let used = match warnings.as_slice() {
        [] => 0,
        warnings => put_wrapped(
            buffer,
            area,
            0,
            0,
            &warnings.join(" "),
            2,
            context.theme.style(Role::Warning),
        ),
    };
    let area = below(area, used);
    let percent = format!("percent to {}", format::candle_time(row.timestamp));
    let all: Vec<String> = [span(answer), percent]
        .into_iter()
        .chain(answer.beta_missing.clone())
        .collect();
    put(
        buffer,
        area,
        0,
        0,
        &text::truncate(&all.join(" · "), usize::from(area.width)),
        context.theme.dim(),
    );
    let rows: Vec<LegendRow<'_>> = legend::rows(answer, row, context);
    legend.empty_columns = if rows.iter().any(|row| row.score.is_some()) {
        Vec::new()
    } else {
        vec!["score"]
    };
    legend.draw(
        buffer,
        ListFrame::new(below(area, 1), "no tokens"),
        context,
        |place| rows.get(place),
    );
}

/// `2026-08-16 to 2026-11-14`, and where that is less than the period asked for: `61 of 90 days`.
fn span(answer: &Comparison) -> String {
    let days = match answer.days() {
        (days, Some(asked)) => format!("{days} of {asked} days"),
        (days, None) => plural(days, "day", "days"),
    };
    // A week's close is six days after the day that names it.
    let closes = if answer.timeframe == "1w" {
        "closes of the weeks from "
    } else {
        ""
    };
    format!(
        "{closes}{} to {}, {days}",
        format::candle_time(answer.from),
        format::candle_time(answer.to)
    )
}

fn correlations(answer: &Comparison, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    if area.height == 0 {
        return;
    }
    let counts = answer.correlations.iter().map(|pair| pair.n);
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let days = if least == most {
        plural(least, "day", "days")
    } else {
        format!("{least}–{most} days")
    };
    // Daily correlations end on the week's first day, while the week's percent includes its last.
    let what = match answer.timeframe {
        "1w" => format!("correlation to {}", answer.to.day()),
        _ => "correlation of daily returns".to_owned(),
    };
    put(buffer, area, 0, 0, &format!("{what}, {days}"), theme.dim());
    let count = answer.tokens.len();
    let figure = |pair: &Correlation| {
        pair.correlation
            .map_or_else(|| format::MISSING.to_owned(), |value| format!("{value:.2}"))
    };
    let strength = |pair: &Correlation| match pair.correlation {
        Some(value) if value >= 0.5 => Role::Up,
        Some(value) if value <= -0.5 => Role::Down,
        _ => Role::Text,
    };
    // As a matrix where it fits: the columns are letters.
    if area.width >= matrix_width(count as u16) && usize::from(area.height) > count {
        for nth in 0..count {
            put(
                buffer,
                area,
                4 + 6 * nth as u16 + 3,
                1,
                &letter(nth).to_string(),
                theme.style(role(nth)),
            );
        }
        for a in 0..count.saturating_sub(1) {
            let y = a as u16 + 2;
            put(
                buffer,
                area,
                0,
                y,
                &letter(a).to_string(),
                theme.style(role(a)),
            );
            for b in a + 1..count {
                let tokens = (
                    answer.tokens[a].token_address,
                    answer.tokens[b].token_address,
                );
                let pair = answer
                    .correlations
                    .iter()
                    .find(|pair| (pair.token_address, pair.other_address) == tokens);
                if let Some(pair) = pair {
                    let slot = Rect {
                        x: area.x + 4 + 6 * b as u16,
                        width: 5,
                        ..area
                    };
                    put_right(buffer, slot, y, &figure(pair), theme.style(strength(pair)));
                }
            }
        }
        return;
    }
    let letter_of = |address| {
        answer
            .tokens
            .iter()
            .position(|token| token.token_address == address)
            .map_or('?', letter)
    };
    let pairs = answer.correlations.iter();
    let texts = pairs.map(|pair| {
        (
            format!(
                "{}–{} {}",
                letter_of(pair.token_address),
                letter_of(pair.other_address),
                figure(pair)
            ),
            strength(pair),
        )
    });
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
