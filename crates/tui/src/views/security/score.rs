//! The head of the Security view: the score in large digits, the recommendation, and a bar for each part.

use ratatui::style::Modifier;

use super::gaps;
use crate::{views::prelude::*, widgets::gauge};
use security::{AnomalyCode, CheckState, Part, SecurityInference, Taxes, percent, score::formula};

/// From this size the digits are huge and the parts are stacked.
const LARGE: (u16, u16) = (110, 30);
/// Maximum number of lines of the reasons, and of rows for one of them beside the smaller digits.
const REASON_LINES: usize = 5;
const ROWS_FOR_A_LINE: usize = 4;
/// Width of the longest part name and a gap.
const NAME: u16 = 18;
/// Gap between the parts on one line.
const GAP: u16 = 2;

const PARTS: [Part; 3] = [Part::Code, Part::Transactions, Part::Holders];

/// Parts measure risk, opposite to the score: 0 is no risk, 100 the highest.
fn name(part: Part) -> &'static str {
    match part {
        Part::Code => "code risk",
        Part::Transactions => "transfer risk",
        Part::Holders => "holder risk",
    }
}

/// Splits the recommendation into its word and its reasons.
fn split_recommendation(recommendation: &str) -> (&str, &str) {
    recommendation
        .split_once(':')
        .map_or((recommendation, ""), |(word, reasons)| {
            (word, reasons.trim_start())
        })
}

/// The role of a part's risk.
fn role_of_part(score: f64) -> Role {
    match score {
        score if score >= 50.0 => Role::Down,
        score if score >= 15.0 => Role::Warning,
        _ => Role::Up,
    }
}

/// Draws the head; returns the lines used, including an empty one at the end.
pub(super) fn draw(
    answer: &SecurityInference,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    if area.width >= LARGE.0 && area.height >= LARGE.1 {
        draw_large(answer, buffer, area, context)
    } else {
        draw_small(answer, buffer, area, context)
    }
}

/// The cap on the score, if any: `capped at 59: the contract code is unknown; 87 without the cap`.
fn cap_text(answer: &SecurityInference, cells: usize) -> Option<String> {
    let explanation = answer.explanation.as_ref()?;
    let cap = explanation
        .caps
        .first()
        .filter(|cap| cap.score < explanation.uncapped_score)?;
    let short = format!("capped at {}: {}", cap.score, cap.reason);
    Some(text::longest_that_fits(
        [
            format!("{short}; {} without the cap", explanation.uncapped_score),
            short,
        ],
        cells,
    ))
}

fn draw_large(
    answer: &SecurityInference,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    const DIGITS: u16 = 22;
    const LEFT: u16 = 32;
    let theme = context.theme;
    let role = role_of_score(answer.security_score, &answer.recommendation);
    let used = gauge::huge(
        Rect {
            x: area.x + 2,
            width: DIGITS,
            ..area
        },
        buffer,
        &score_text(answer.security_score, &answer.recommendation),
        theme.style(role),
        context.ascii,
    );
    put(
        buffer,
        area,
        2 + used + 1,
        gauge::HUGE_ROWS - 1,
        "/ 100",
        theme.dim(),
    );
    let (word, reasons) = split_recommendation(&answer.recommendation);
    let body = Rect {
        x: area.x + LEFT,
        width: area.width - LEFT - 1,
        ..area
    };
    put(
        buffer,
        body,
        0,
        0,
        word,
        theme.style(role).add_modifier(Modifier::BOLD),
    );
    let beside = Rect {
        x: body.x + 22,
        width: body.width - 22,
        ..body
    };
    if let Some(capped) = cap_text(answer, usize::from(beside.width)) {
        put_right(buffer, beside, 0, &capped, theme.dim());
    } else if text::width(&formula()) <= usize::from(beside.width) {
        put_right(buffer, beside, 0, &formula(), theme.dim());
    }
    let top = 1 + put_wrapped(buffer, body, 0, 1, reasons, REASON_LINES, theme.text()).max(1);
    for (y, part) in PARTS.into_iter().enumerate() {
        let y = top + y as u16;
        let found = answer.anomaly_detection.part(part);
        put(buffer, body, 0, y, name(part), theme.dim());
        let width = body.width.saturating_sub(NAME + 32).min(60);
        part_bar(
            found.score,
            buffer,
            Rect {
                x: body.x + NAME,
                y: body.y + y,
                width: width + 8,
                height: 1,
            },
            context,
        );
        let fatal = found
            .evidence
            .iter()
            .flatten()
            .filter(|anomaly| anomaly.fatal)
            .count();
        let x = NAME + width + 10;
        let note = match (found.score, found.anomalies.len()) {
            (None, _) => "no data".to_owned(),
            (Some(_), 0) => "nothing found".to_owned(),
            (Some(_), count) => plural(count as u64, "finding", "findings"),
        };
        let x = x + put(buffer, body, x, y, &note, theme.dim());
        if fatal > 0 {
            put(
                buffer,
                body,
                x,
                y,
                &format!(" · {fatal} fatal"),
                theme.style(Role::Down),
            );
        }
    }
    draw_taxes(
        answer,
        buffer,
        Rect {
            y: body.y + top + 3,
            height: 1,
            ..body
        },
        context,
    );
    gauge::HUGE_ROWS.max(top + 4) + 1
}

/// From here a tax is a warning, and from here it is bad.
const TAX_NOTABLE: f64 = 0.005;
const TAX_BAD: f64 = 0.1;
/// From this width the title is in full.
const TAX_WORDS: u16 = 60;

/// Draws the taxes of a buy, a sell and a transfer, as measured by execution.
fn draw_taxes(answer: &SecurityInference, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let (area, theme) = (area.intersection(buffer.area), context.theme);
    let execution = answer
        .explanation
        .as_ref()
        .and_then(|explanation| explanation.execution.as_ref());
    let taxes = execution
        .and_then(|execution| execution.taxes)
        .unwrap_or_default();
    let Taxes {
        buy,
        sell,
        transfer,
    } = taxes;
    // A simulation of the bare code does not measure the on-chain tax while a check reports that as unknown.
    let open = |code: AnomalyCode| code == AnomalyCode::SellBlocked || code == AnomalyCode::SellTax;
    let not_known =
        |check: &security::Check| open(check.code) && check.state == CheckState::NotChecked;
    let trial = sell.is_some() && answer.checks.iter().flatten().any(not_known);
    let title = match (trial, area.width < TAX_WORDS) {
        (true, true) => "sim. tax",
        (true, false) => "simulated tax",
        (false, true) => "tax",
        (false, false) => "measured tax",
    };
    let mut x = put(buffer, area, 0, 0, title, theme.dim()) + 2;
    for (name, tax) in [("buy", buy), ("sell", sell), ("transfer", transfer)] {
        let role = match tax {
            None => Role::Dim,
            Some(tax) if tax >= TAX_BAD => Role::Down,
            Some(tax) if tax >= TAX_NOTABLE => Role::Warning,
            Some(_) => Role::Text,
        };
        x += put(buffer, area, x, 0, name, theme.dim()) + 1;
        let text = tax.map_or_else(|| MISSING.to_owned(), percent);
        x += put(buffer, area, x, 0, &text, theme.style(role)) + 2;
    }
    let note = match execution.map(|execution| {
        (
            execution.deployed_by.as_deref(),
            execution.trading.as_deref(),
        )
    }) {
        None => "no code to execute".to_owned(),
        Some((Some(_), Some(word))) if trial => format!(
            "trading: {} in the simulation; on-chain state unknown",
            gaps::trading(word)
        ),
        Some((Some(stands), Some(word))) => format!(
            "trading: {}; {}",
            gaps::trading(word),
            gaps::standing(stands)
        ),
        Some(_) => "no trade was simulated".to_owned(),
    };
    let room = usize::from(area.width.saturating_sub(x));
    let brief = note.split_once(';').map_or("", |(brief, _)| brief);
    put(
        buffer,
        area,
        x,
        0,
        &text::longest_that_fits([note.clone(), brief.to_owned(), String::new()], room),
        theme.dim(),
    );
}

/// A part's bar with its risk at the right, out of 100.
fn part_bar(score: Option<f64>, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let (area, theme) = (area.intersection(buffer.area), context.theme);
    let Some(score) = score else {
        put_right(buffer, area, 0, MISSING, theme.dim());
        return;
    };
    let role = role_of_part(score);
    let cells = usize::from(area.width.saturating_sub(6));
    put(
        buffer,
        area,
        0,
        0,
        &"─".repeat(cells),
        theme.style(Role::Grid),
    );
    // Below full height, so that stacked bars stay separate.
    put(
        buffer,
        area,
        0,
        0,
        &low_bar(score / 100.0, cells),
        theme.style(role),
    );
    put_right(
        buffer,
        area,
        0,
        &format::fixed(score, 1),
        theme.style(if score > 0.0 { role } else { Role::Text }),
    );
}

fn draw_small(
    answer: &SecurityInference,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) -> u16 {
    let theme = context.theme;
    let role = role_of_score(answer.security_score, &answer.recommendation);
    let digits = gauge::render(
        Rect {
            x: area.x + 1,
            width: 16.min(area.width),
            ..area
        },
        buffer,
        &score_text(answer.security_score, &answer.recommendation),
        theme.style(role),
        context.ascii,
    );
    let left = digits + 3;
    if area.width <= left + 12 {
        return gauge::ROWS + 1;
    }
    let body = Rect {
        x: area.x + left,
        width: area.width - left - 1,
        ..area
    };
    let (word, reasons) = split_recommendation(&answer.recommendation);
    let room = usize::from(body.width).saturating_sub(8);
    let lines = text::wrap(
        &format!("{word}: {reasons}"),
        room,
        REASON_LINES
            .min(usize::from(area.height) / ROWS_FOR_A_LINE)
            .max(1),
    );
    for (y, line) in lines.iter().enumerate() {
        put(buffer, body, 0, y as u16, line, theme.text());
    }
    put(
        buffer,
        body,
        0,
        0,
        word,
        theme.style(role).add_modifier(Modifier::BOLD),
    );
    put_right(buffer, body, 0, "of 100", theme.dim());
    let y = (lines.len() as u16).max(2);
    let labels: u16 = PARTS
        .iter()
        .map(|part| text::width(name(*part)) as u16 + 1)
        .sum();
    let bar = body.width.saturating_sub(labels + 2 * GAP) / 3;
    let mut x = body.x;
    for part in PARTS {
        let row = Rect {
            x,
            y: body.y + y,
            width: body.right().saturating_sub(x),
            height: 1,
        };
        let used = put(buffer, row, 0, 0, name(part), theme.dim()) + 1;
        let room = Rect {
            x: x + used,
            width: bar.min(row.width.saturating_sub(used)),
            ..row
        };
        part_bar(
            answer.anomaly_detection.part(part).score,
            buffer,
            room,
            context,
        );
        x = room.right() + GAP;
    }
    draw_taxes(
        answer,
        buffer,
        Rect {
            y: body.y + y + 1,
            height: 1,
            ..body
        },
        context,
    );
    (y + 2).max(gauge::ROWS) + u16::from(area.height > 18)
}
