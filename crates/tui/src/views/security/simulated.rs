//! The lines about the trades simulated on the on-chain state: the pool, the block, and the result of each trade.

use super::{
    checklist::{ChecklistStyle, LEFT},
    pane::PaneLine,
};
use crate::views::prelude::*;
use query::document::check_mark;
use security::{AnomalyCode, CheckState, SecurityInference, Simulation, percent};

/// Column of a trade's result, and the minimum width to place it next to the name.
const OUTCOME: u16 = 30;
const BESIDE_MIN: u16 = 60;
/// Maximum number of lines of a reason.
const REASON_LINES: usize = 2;

/// The section of simulated trades and of changes; the trades only if the dataset has a node.
pub(super) fn lines(answer: &SecurityInference, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let Some(simulation) = &answer.simulation else {
        let changed = changed(answer, look);
        let rule = (!changed.is_empty()).then(|| PaneLine::rule("previous scan", String::new()));
        let end = rule.is_some().then(PaneLine::default);
        return rule.into_iter().chain(changed).chain(end).collect();
    };
    let mut lines = vec![PaneLine::rule(
        "simulated trades",
        where_and_when(simulation),
    )];
    if simulation.pool.is_none() {
        lines.push(PaneLine::default().at(
            LEFT,
            "no known pool, so no trade was simulated",
            Role::Warning,
        ));
    }
    for (what, trade) in simulation.trades.tried() {
        let (mark, role) = if trade.ok {
            (CheckState::Passed, Role::Up)
        } else {
            (CheckState::Found, Role::Down)
        };
        let mut outcome = trade.outcome();
        outcome.extend(
            trade
                .of_quote
                .map(|share| format!(" · {} of the pool's quote", percent(share))),
        );
        let line =
            PaneLine::default()
                .at(1, check_mark(mark, false), role)
                .at(LEFT, what, Role::Text);
        let said = if trade.ok { Role::Dim } else { role };
        if look.width < BESIDE_MIN {
            lines.push(line);
            lines.extend(PaneLine::wrapped(
                None,
                LEFT + 2,
                &outcome,
                look.width,
                REASON_LINES,
                said,
            ));
            continue;
        }
        let mut rest = text::wrap(
            &outcome,
            usize::from(look.width.saturating_sub(OUTCOME + 1)),
            REASON_LINES,
        )
        .into_iter();
        lines.push(line.at(OUTCOME, rest.next().unwrap_or_default(), said));
        lines.extend(rest.map(|more| PaneLine::default().at(OUTCOME, more, said)));
    }
    let notes = [
        simulation
            .trades
            .buy_reason
            .as_ref()
            .map(|reason| (format!("buying fails: {reason}"), Role::Down)),
        simulation.trades.largest_share.map(|share| {
            (
                format!(
                    "up to {} of the pool could be bought and sold per transaction",
                    percent(share)
                ),
                Role::Dim,
            )
        }),
    ];
    for (note, role) in notes.into_iter().flatten() {
        lines.extend(PaneLine::wrapped(
            None,
            LEFT,
            &note,
            look.width,
            REASON_LINES,
            role,
        ));
    }
    lines.extend(changed(answer, look));
    lines.push(PaneLine::default());
    lines
}

/// The differences from the previous scan.
fn changed(answer: &SecurityInference, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let Some(changed) = &answer.changed else {
        return Vec::new();
    };
    let since = match (changed.since_block, changed.since) {
        (Some(block), Some(time)) => format!(
            "since block {} · {}",
            format::count(block),
            time.minute_text()
        ),
        _ => "since the files were last loaded".to_owned(),
    };
    if changed.changes.is_empty() {
        return PaneLine::wrapped(
            None,
            LEFT,
            &format!("no changes {since}"),
            look.width,
            1,
            Role::Dim,
        )
        .collect();
    }
    let mut lines: Vec<_> = PaneLine::wrapped(
        None,
        LEFT,
        &format!("changed {since}"),
        look.width,
        1,
        Role::Warning,
    )
    .collect();
    for change in &changed.changes {
        let what = match change.what.as_str() {
            "sale" => "sell",
            code => AnomalyCode::parse(code).map_or(code, |known| known.title()),
        };
        let told = format!("{what}: {} → {}", change.before, change.after);
        lines.extend(PaneLine::wrapped(
            None,
            LEFT + 2,
            &told,
            look.width,
            REASON_LINES,
            Role::Warning,
        ));
    }
    lines
}

/// `uniswap-v2 · block 21,345,678 · 2025-10-09 08:53`.
fn where_and_when(simulation: &Simulation) -> String {
    let dex = simulation
        .dex
        .as_ref()
        .map_or_else(String::new, |dex| format!("{dex} · "));
    format!(
        "{dex}block {} · {}",
        format::count(simulation.block),
        simulation.timestamp.minute_text()
    )
}
