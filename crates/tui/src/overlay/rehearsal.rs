//! The backtest of an alert, drawn in the alert dialog.

use super::{alerts::times, prelude::*};
use query::queries::rehearsal::Rehearsal;

/// The state of a backtest in the dialog.
#[derive(Debug, Default)]
pub(super) enum RehearsalState {
    #[default]
    None,
    /// (done, total); total 0 while unknown.
    Running(u64, u64),
    Done(Box<Rehearsal>),
}

/// Column widths of the tables of outcomes and of triggers; the first column is left-aligned, the rest right-aligned.
const OUTCOMES: &[usize] = &[8, 9, 5, 7, 8, 12, 8, 8, 8];
const FIRINGS: &[usize] = &[11, 10, 12, 13, 12, 12];

impl RehearsalState {
    /// Draws it in place of the alerts; false if there is none.
    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) -> bool {
        let base = theme.style(Role::Panel);
        let (dim, plain) = (theme.dim().patch(base), theme.text().patch(base));
        match self {
            Self::None => return false,
            Self::Running(done, total) => {
                let share = done
                    .saturating_mul(100)
                    .checked_div(*total)
                    .map(|share| format!(" {share}%"))
                    .unwrap_or_default();
                put(
                    buffer,
                    area,
                    0,
                    0,
                    &format!("backtesting each past day…{share}"),
                    dim,
                );
            }
            Self::Done(rehearsal) => {
                let mut row = put_wrapped(buffer, area, 0, 0, &summary(rehearsal), 3, plain) + 1;
                for (widths, (header, rows)) in [OUTCOMES, FIRINGS]
                    .into_iter()
                    .zip(rehearsal.tables())
                    .filter(|(_, (_, rows))| !rows.is_empty())
                {
                    put(buffer, area, 0, row, &line(widths, header), dim);
                    for (below, cells) in (1..).zip(&rows) {
                        put(buffer, area, 0, row + below, &line(widths, cells), plain);
                    }
                    row += rows.len() as u16 + 2;
                }
            }
        }
        true
    }
}

fn line(widths: &[usize], cells: &[impl AsRef<str>]) -> String {
    let align = |nth: usize| {
        if nth == 0 {
            text::Align::Left
        } else {
            text::Align::Right
        }
    };
    cells
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(nth, (cell, width))| text::fit(cell.as_ref(), *width, align(nth)))
        .collect()
}

/// `in the 365 days to 2026-11-14, it would have fired 12 times (0.2 per week) for 3 of 64 tokens; true on 40 token-days`
fn summary(rehearsal: &Rehearsal) -> String {
    let Some(to) = rehearsal.to else {
        return "no candles to backtest on".to_owned();
    };
    let Some(a_week) = rehearsal.fired_a_week else {
        return format!(
            "in the {} to {to}, a required value is unknown on every day",
            plural(rehearsal.days, "day", "days")
        );
    };
    let who = match rehearsal.token_address {
        Some(_) => String::new(),
        None => format!(
            " for {} of {}",
            format::count(rehearsal.fired_tokens),
            plural(rehearsal.tokens, "token", "tokens")
        ),
    };
    let days = if rehearsal.token_address.is_some() {
        ["day", "days"]
    } else {
        ["token-day", "token-days"]
    };
    let span = plural(rehearsal.days, "day", "days");
    let fires = match rehearsal.fired {
        0 => "never have fired".to_owned(),
        fired => format!(
            "have fired {} ({} per week){who}",
            times(fired),
            format::fixed(a_week, 1)
        ),
    };
    let held = plural(rehearsal.held_days, days[0], days[1]);
    let mut says = format!("in the {span} to {to}, it would {fires}; true on {held}");
    if rehearsal.unknown_days > 0 {
        says.push_str(&format!(
            "; unknown on {}",
            format::count(rehearsal.unknown_days)
        ));
    }
    if !rehearsal.as_of_unknown.is_empty() {
        says.push_str(&format!(
            "; current values, no history: {}",
            rehearsal.as_of_unknown.join(", ")
        ));
    }
    says
}
