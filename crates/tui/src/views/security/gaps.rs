//! The lines about missing data and how to add it, and about the execution of the contract.

use super::{
    checklist::{ChecklistStyle, LEFT, PROOF},
    pane::{PaneEntry, PaneLine},
};
use crate::views::prelude::*;
use security::SecurityInference;

/// The execution section: how the contract was executed, and incomplete steps.
pub(super) fn execution(answer: &SecurityInference, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let Some(execution) = answer
        .explanation
        .as_ref()
        .and_then(|explanation| explanation.execution.as_ref())
    else {
        return Vec::new();
    };
    let functions = plural(execution.selectors.len() as u64, "function", "functions");
    let calls = plural(execution.calls, "call", "calls");
    let mut says = format!(
        "{functions}, {calls}, {} gas",
        format::human(Some(execution.gas as f64))
    );
    says.extend(
        execution
            .deployed_by
            .iter()
            .map(|word| format!(" · {}", standing(word))),
    );
    says.extend(
        execution
            .trading
            .iter()
            .map(|word| format!(" · trading: {}", trading(word))),
    );
    let mut lines = vec![PaneLine::rule("execution", String::new())];
    lines.extend(PaneLine::wrapped(
        None,
        LEFT,
        &says,
        look.width,
        2,
        Role::Dim,
    ));
    for undone in &execution.unfinished {
        lines.extend(PaneLine::wrapped(
            None,
            LEFT,
            &format!("incomplete: {undone}"),
            look.width,
            3,
            Role::Warning,
        ));
    }
    lines.push(PaneLine::default());
    lines
}

/// Describes how the contract's state was set up.
pub(super) fn standing(word: &str) -> &str {
    match word {
        "constructor" => "constructor state",
        "runtime code" => "runtime code only",
        "snapshot" => "dataset storage",
        "chain" => "on-chain state",
        other => other,
    }
}

/// Describes the condition that opened trading.
pub(super) fn trading(opening: &str) -> &str {
    match opening {
        "wait" => "opens after some blocks",
        "owner" => "owner must enable it",
        "outside" => "another contract must allow it",
        "flip" => "no call enables it",
        other => other,
    }
}

/// The section of missing data, and how to add it.
pub(super) fn missing(answer: &SecurityInference, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let missing = answer
        .explanation
        .as_ref()
        .map_or(&[][..], |explanation| &explanation.missing);
    if missing.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![PaneLine::rule(
        "not checked: missing data",
        missing.len().to_string(),
    )];
    for (i, gap) in missing.iter().enumerate() {
        let entry = PaneEntry::Missing(i);
        let codes: Vec<&str> = gap.codes.iter().map(|code| code.title()).collect();
        let skipped = match codes.len() {
            0 => String::new(),
            1..=4 => codes.join(", "),
            count => format!("{} and {} more", codes[..3].join(", "), count - 3),
        };
        let first =
            PaneLine::of(entry)
                .at(1, "?", Role::Warning)
                .at(LEFT, gap.what.clone(), Role::Text);
        if usize::from(first.end()) + 2 + text::width(&skipped) < usize::from(look.width) {
            lines.push(first.then(LEFT, 2, skipped, Role::Dim));
        } else {
            lines.push(first);
            lines.extend(PaneLine::wrapped(
                Some(entry),
                PROOF,
                &skipped,
                look.width,
                2,
                Role::Dim,
            ));
        }
        lines.extend(PaneLine::wrapped(
            Some(entry),
            PROOF,
            &gap.supply,
            look.width,
            3,
            Role::Dim,
        ));
    }
    lines.push(PaneLine::default());
    lines
}
