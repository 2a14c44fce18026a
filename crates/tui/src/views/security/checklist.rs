//! The lines of the checklist: every check under its query, with its title, code and result.

use std::collections::{HashMap, HashSet};

use super::{
    pane::{PaneEntry, PaneLine},
    proof,
};
use crate::views::prelude::*;
use query::document::check_mark;
use security::{Anomaly, AnomalyCode, Check, CheckState, Group, SecurityInference};

/// Widths of the longest title and of the longest code, each with a gap.
const TITLE: u16 = 26;
const CODE: u16 = 21;
pub(super) const LEFT: u16 = 3;
/// Column of the lines under a check.
pub(super) const PROOF: u16 = 5;
/// From this width a bar shows a finding's weight.
const BAR_WIDTH: u16 = 96;
const BAR: usize = 8;
/// Width of the points at the right and a gap: `adds 41 of 95`.
const FIGURE: u16 = 15;
/// Width of the points of a check without a finding: `0 of 95`.
const WEIGHT: u16 = 9;
/// Maximum number of lines of a sentence, of a passed check's sentence, and the minimum width to place it next to the code.
const SENTENCE_LINES: usize = 6;
const PASSED_LINES: usize = 2;
const SENTENCE_MIN: u16 = 24;
/// From this weight a finding has the color of a warning.
const NOTABLE: f64 = 0.15;

/// Display state: expanded entries, width and glyphs.
pub(super) struct ChecklistStyle<'a> {
    pub(super) open: &'a HashSet<PaneEntry>,
    pub(super) width: u16,
}

/// The finding of a check.
pub(super) fn anomaly(answer: &SecurityInference, code: AnomalyCode) -> Option<&Anomaly> {
    answer
        .anomaly_detection
        .part(code.part())
        .evidence
        .as_ref()?
        .iter()
        .find(|anomaly| anomaly.code == code)
}

/// All checks by query; those with findings come first.
pub(super) fn lines(answer: &SecurityInference, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let checks = answer.checks.as_deref().unwrap_or_default();
    let mut lines = Vec::new();
    let own = |group: Group| checks.iter().filter(move |check| check.group == group);
    let mut groups: Vec<(Group, Vec<&Check>)> = Group::ALL
        .into_iter()
        .map(|group| (group, own(group).collect()))
        .filter(|(_, own): &(_, Vec<_>)| !own.is_empty())
        .collect();
    groups.sort_by_key(|(_, own)| !own.iter().any(|check| check.state == CheckState::Found));
    // A gap shared by several checks is written out once.
    let mut lacks: HashMap<&str, AnomalyCode> = HashMap::new();
    for (group, own) in groups {
        lines.push(PaneLine::rule(group.title(), counts(&own)));
        for check in own {
            let missing = check
                .missing
                .as_deref()
                .filter(|_| check.state == CheckState::NotChecked);
            let first = missing
                .map(|missing| *lacks.entry(missing).or_insert(check.code))
                .filter(|first| *first != check.code);
            push(check, anomaly(answer, check.code), first, look, &mut lines);
        }
        lines.push(PaneLine::default());
    }
    lines
}

/// `1 found · 3 not checked · 4 passed`.
fn counts(checks: &[&Check]) -> String {
    let words = [
        (CheckState::Found, "found"),
        (CheckState::Unheld, "renounced"),
        (CheckState::NotChecked, "not checked"),
        (CheckState::Passed, "passed"),
    ];
    let count = |state| checks.iter().filter(|check| check.state == state).count() as u64;
    let said: Vec<String> = words
        .into_iter()
        .map(|(state, word)| (count(state), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| plural(count, word, word))
        .collect();
    said.join(" · ")
}

/// Adds a check's lines; `first` is an earlier check with the same gap.
fn push(
    check: &Check,
    anomaly: Option<&Anomaly>,
    first: Option<AnomalyCode>,
    look: &ChecklistStyle<'_>,
    lines: &mut Vec<PaneLine>,
) {
    let entry = PaneEntry::Check(check.code);
    let open = look.open.contains(&entry);
    let found = anomaly.filter(|_| check.state == CheckState::Found);
    let (sign, word, says) = match (check.state, found) {
        (CheckState::Found, Some(anomaly)) if anomaly.disputed.is_some() => {
            (Role::Dim, Role::Dim, Role::Dim)
        }
        (CheckState::Found, Some(anomaly)) if anomaly.fatal => (Role::Down, Role::Down, Role::Text),
        (CheckState::Found, Some(anomaly)) if anomaly.weighed() < NOTABLE => {
            (Role::Warning, Role::Text, Role::Text)
        }
        (CheckState::Found, _) => (Role::Warning, Role::Warning, Role::Text),
        (CheckState::Passed, _) if check.remarkable => (Role::Accent, Role::Text, Role::Text),
        // Titles name the fault, which a tick must not seem to confirm: the sentence says what was found instead.
        (CheckState::Passed, _) => (Role::Up, Role::Dim, Role::Text),
        (CheckState::Unheld | CheckState::NotChecked, _) => (Role::Dim, Role::Dim, Role::Dim),
    };
    // Risk points of its part, which is worst at 100.
    let points = |share: f64| format::fixed(100.0 * share, 0);
    let weight = points(check.weight);
    let figure = match found {
        Some(anomaly) if anomaly.disputed.is_some() => "disputed".to_owned(),
        Some(anomaly) if anomaly.fatal => format!("fatal, of {weight}"),
        Some(anomaly) => format!("adds {} of {weight}", points(anomaly.weighed())),
        None if check.weight == 0.0 => String::new(),
        None if check.state == CheckState::NotChecked => format!("? of {weight}"),
        None => format!("0 of {weight}"),
    };
    let with_bar = look.width >= BAR_WIDTH && found.is_some();
    let right = match found {
        Some(_) => FIGURE + if with_bar { BAR as u16 + 2 } else { 0 },
        None => WEIGHT,
    };
    let mut line = PaneLine::of(entry)
        .at(1, check_mark(check.state, check.remarkable), sign)
        .at(LEFT, check.code.title(), word);
    if look.width > LEFT + TITLE + CODE + right {
        line = line.at(LEFT + TITLE, check.code.word(), Role::Dim);
    }
    line = line.right(figure, word);
    if let Some(anomaly) = found.filter(|_| with_bar) {
        let [filled, track] = thin_bar(anomaly.weighed(), BAR);
        let bar = look.width - 1 - right;
        line = line.at(bar, filled, sign).then(bar, 0, track, Role::Grid);
    }
    // When expanded, the full sentence is under the title.
    let told = check
        .evidence
        .as_ref()
        .or(check.missing.as_ref())
        .map_or("", String::as_str);
    let as_first = first
        .map(|first| format!("see {} (same missing data)", first.title()))
        .filter(|_| !open);
    let told = as_first.as_deref().unwrap_or(told);
    if open {
        lines.push(line);
        return proof::push(check, anomaly, look, lines);
    }
    // In full, except for an unremarkable pass.
    let most = if check.state == CheckState::Passed && !check.remarkable {
        PASSED_LINES
    } else {
        SENTENCE_LINES
    };
    let beside = look.width.saturating_sub(LEFT + TITLE + CODE + right + 1);
    if beside < SENTENCE_MIN {
        lines.push(line);
        return lines.extend(PaneLine::wrapped(
            Some(entry),
            PROOF,
            told,
            look.width,
            most,
            says,
        ));
    }
    let mut sentence = text::wrap(told, usize::from(beside), most).into_iter();
    lines.push(line.at(
        LEFT + TITLE + CODE,
        sentence.next().unwrap_or_default(),
        says,
    ));
    lines.extend(sentence.map(|line| PaneLine::of(entry).at(LEFT + TITLE + CODE, line, says)));
}
