//! The lines of the anomalies of each part, and behind an opened one what proves it: the calls with what they changed, the rows.

use std::collections::HashSet;

use super::{
    pane::{Entry, Line},
    score::{PARTS, name},
};
use crate::{
    analysis::security::{Anomaly, Evidence, EvidenceRow, Explanation, Part, SecurityInference},
    tui::{
        format::{self, MISSING},
        text,
        theme::Role,
        views::{many, thin_bar},
    },
};

/// The widest code and a gap.
const CODE: u16 = 21;
const LEFT: u16 = 3;
/// Where proofs and their rows begin.
const PROOF: u16 = 5;
const ROW: u16 = 7;
/// From these widths on: a bar of how much an anomaly weighs, whole hashes.
const BAR_WIDTH: u16 = 96;
const HASH_WIDTH: u16 = 150;
const SENTENCE_LINES: usize = 4;

/// What is opened, and how it is drawn.
pub(super) struct Look<'a> {
    pub(super) open: &'a HashSet<Entry>,
    pub(super) width: u16,
    pub(super) ascii: bool,
}

/// The three parts with their anomalies.
pub(super) fn lines(answer: &SecurityInference, look: &Look<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for part in PARTS {
        let found = answer.anomaly_detection.part(part);
        let note = found.score.map_or_else(|| "no data".to_owned(), |score| format!("{} of 100", format::fixed(score, 1)));
        lines.push(Line::rule(name(part), note));
        if found.anomalies.is_empty() {
            let says = if found.score.is_some() { "nothing found" } else { "not looked at: see what is missing" };
            lines.push(Line::default().at(LEFT, says, Role::Dim));
        }
        for (i, anomaly) in found.evidence.iter().flatten().enumerate() {
            push_anomaly(anomaly, (part, i), look, &mut lines);
        }
        if part == Part::Code {
            lines.extend(answer.explanation.as_ref().map(|explanation| execution(explanation, look)).unwrap_or_default());
        }
        lines.push(Line::default());
    }
    lines
}

/// What executing the contract took, and what was left undone.
fn execution(explanation: &Explanation, look: &Look<'_>) -> Vec<Line> {
    let Some(execution) = &explanation.execution else { return Vec::new() };
    let mut says = format!("executed: {}, {} gas", many(execution.calls, "call", "calls"), format::human(Some(execution.gas as f64)));
    for (word, value) in [("stands by", &execution.deployed_by), ("trading", &execution.trading)] {
        if let Some(value) = value {
            says += &format!(" · {word} {value}");
        }
    }
    let room = usize::from(look.width.saturating_sub(LEFT + 1));
    let mut lines: Vec<Line> = text::wrap(&says, room, 2).into_iter().map(|says| Line::default().at(LEFT, says, Role::Dim)).collect();
    for undone in &execution.unfinished {
        let wrapped = text::wrap(&format!("not finished: {undone}"), room, 3);
        lines.extend(wrapped.into_iter().map(|says| Line::default().at(LEFT, says, Role::Warning)));
    }
    lines
}

fn push_anomaly(anomaly: &Anomaly, (part, i): (Part, usize), look: &Look<'_>, lines: &mut Vec<Line>) {
    let entry = Entry::Anomaly(part, i);
    let open = look.open.contains(&entry);
    let role = match anomaly.weighed() {
        _ if anomaly.fatal => Role::Down,
        weighed if weighed >= 0.15 => Role::Warning,
        _ => Role::Text,
    };
    let figure = format!("{}{}", if anomaly.fatal { "fatal " } else { "" }, format::fixed(anomaly.weighed(), 2));
    let with_bar = look.width >= BAR_WIDTH;
    // A bar of eight cells, and a gap on either side of it.
    let right = if with_bar { 11 + 10 } else { 12 };
    let room = look.width.saturating_sub(LEFT + CODE + right + 1);
    // Where the code leaves no room beside it, the sentence stands under it.
    let (x, room, beside) = if room >= 24 { (LEFT + CODE, room, true) } else { (PROOF, look.width.saturating_sub(PROOF + 1), false) };
    let sentence = text::wrap(&anomaly.sentence, usize::from(room), SENTENCE_LINES);
    let mut first = Line::of(entry)
        .at(1, if open { "▾" } else { "▸" }, Role::Dim)
        .at(LEFT, anomaly.code.word(), role)
        .right(figure, if anomaly.fatal { Role::Down } else { Role::Text });
    if with_bar {
        let [filled, track] = thin_bar(anomaly.weighed(), 8, look.ascii);
        let bar = look.width - 1 - 11 - 9;
        first = first.at(bar, filled, role).then(bar, 0, track, Role::Grid);
    }
    let mut sentence = sentence.into_iter();
    if beside {
        first = first.at(x, sentence.next().unwrap_or_default(), Role::Text);
    }
    lines.push(first);
    lines.extend(sentence.map(|line| Line::of(entry).at(x, line, Role::Text)));
    if open {
        push_proofs(anomaly, (part, i), look, lines);
    }
}

fn push_proofs(anomaly: &Anomaly, (part, i): (Part, usize), look: &Look<'_>, lines: &mut Vec<Line>) {
    let entry = Entry::Anomaly(part, i);
    let room = usize::from(look.width.saturating_sub(PROOF + 1));
    let mut weighs = format!(
        "{} · weighs {} × strength {}",
        anomaly.code.meaning(),
        format::fixed(anomaly.weight, 2),
        format::fixed(anomaly.strength, 2)
    );
    for figure in &anomaly.figures {
        weighs += &format!(" · {} {}", figure.name, format::human(Some(figure.value)));
    }
    lines.extend(text::wrap(&weighs, room, 3).into_iter().map(|line| Line::of(entry).at(PROOF, line, Role::Dim)));
    for (j, evidence) in anomaly.evidence.iter().enumerate() {
        push_proof(evidence, Entry::Proof(part, i, j), look, lines);
        let columns = Columns::of(&evidence.rows, look.width);
        for (k, row) in evidence.rows.iter().enumerate() {
            lines.push(columns.line(row, Entry::Row(part, i, j, k)));
        }
    }
    if anomaly.evidence.is_empty() {
        lines.push(Line::of(entry).at(PROOF, "no further evidence", Role::Dim));
    }
}

/// `setFee(99)  by owner  0x69fe0e2d   received 950 → received 10`, in one line or in two.
fn push_proof(evidence: &Evidence, entry: Entry, look: &Look<'_>, lines: &mut Vec<Line>) {
    let room = usize::from(look.width.saturating_sub(PROOF + 1));
    let mut line = Line::of(entry).at(PROOF, text::truncate(&evidence.what, room).into_owned(), Role::Text);
    if let Some(caller) = &evidence.caller {
        line = line.then(PROOF, 2, format!("by {caller}"), Role::Dim);
    }
    if let Some(selector) = &evidence.selector {
        line = line.then(PROOF, 2, selector.clone(), Role::Accent);
    }
    let shown = |value: &Option<String>| value.clone().unwrap_or_default();
    let (before, after) = (shown(&evidence.before), shown(&evidence.after));
    if before.is_empty() && after.is_empty() {
        lines.push(line);
        return;
    }
    // `→ fails` where there was nothing to change from.
    let after = if after.is_empty() { MISSING.to_owned() } else { after };
    let arrow = if before.is_empty() { "→ " } else { " → " };
    let length = text::width(&before) + text::width(&after) + 3;
    if usize::from(line.end()) + 3 + length < usize::from(look.width) {
        lines.push(line.then(PROOF, 3, before, Role::Dim).then(PROOF, 0, arrow, Role::Dim).then(PROOF, 0, after, Role::Warning));
        return;
    }
    lines.push(line);
    if usize::from(ROW) + length < usize::from(look.width) {
        lines.push(Line::of(entry).at(ROW, before, Role::Dim).then(ROW, 0, arrow, Role::Dim).then(ROW, 0, after, Role::Warning));
        return;
    }
    for (label, value, role) in [("before", before, Role::Dim), ("after", after, Role::Warning)] {
        for (i, part) in text::wrap(&value, usize::from(look.width.saturating_sub(ROW + 8)), 3).into_iter().enumerate() {
            let line = Line::of(entry).at(ROW, if i == 0 { label } else { "" }, Role::Dim);
            lines.push(line.at(ROW + 7, part, role));
        }
    }
}

/// Rows of a dataset as a small table: the columns that any of them has, each as wide as its widest cell.
struct Columns {
    widths: Vec<usize>,
    whole: bool,
}

impl Columns {
    /// When, the block, whose, to whom, how much, which share, the transaction: the last goes first where there is no room.
    fn cells(row: &EvidenceRow, whole: bool) -> [String; 7] {
        let parties = |address: Option<crate::dataset::address::Address>| {
            address.map_or_else(String::new, |address| if whole { address.to_string() } else { address.short() })
        };
        let hash = row
            .transaction_hash
            .as_deref()
            .map_or_else(String::new, |hash| if whole { hash.to_owned() } else { format::short_address(hash) });
        let to = parties(row.to_address);
        [
            row.timestamp.map_or_else(|| row.table.to_owned(), crate::dataset::time::Time::minute_text),
            row.block_number.map_or_else(String::new, |block| format!("block {}", format::count(block.unsigned_abs()))),
            parties(row.address),
            if to.is_empty() { to } else { format!("→ {to}") },
            row.amount.map_or_else(String::new, |amount| format::human(Some(amount))),
            row.share.map_or_else(String::new, |share| format::share(Some(share))),
            hash,
        ]
    }

    fn of(rows: &[EvidenceRow], width: u16) -> Self {
        let whole = width >= HASH_WIDTH + 40;
        let mut widths = vec![0; 7];
        for row in rows {
            for (column, cell) in widths.iter_mut().zip(Self::cells(row, whole)) {
                *column = (*column).max(text::width(&cell));
            }
        }
        // The block says least beside the time, then the transaction's hash.
        for dropped in [1, 6] {
            if usize::from(ROW) + widths.iter().map(|width| width + 2 * usize::from(*width > 0)).sum::<usize>() > usize::from(width) {
                widths[dropped] = 0;
            }
        }
        Self { widths, whole }
    }

    fn line(&self, row: &EvidenceRow, entry: Entry) -> Line {
        let mut line = Line::of(entry);
        let mut x = ROW;
        for (column, (cell, width)) in Self::cells(row, self.whole).into_iter().zip(&self.widths).enumerate() {
            if *width == 0 {
                continue;
            }
            let figure = column == 4 || column == 5;
            let role = match column {
                0 | 1 => Role::Dim,
                2 | 3 | 6 => Role::Accent,
                _ => Role::Text,
            };
            line = line.at(x, text::fit(&cell, *width, if figure { text::Align::Right } else { text::Align::Left }), role);
            x += *width as u16 + 2;
        }
        line
    }
}

/// What could not be looked at, and how to supply it.
pub(super) fn missing(answer: &SecurityInference, look: &Look<'_>) -> Vec<Line> {
    let missing = answer.explanation.as_ref().map_or(&[][..], |explanation| &explanation.missing);
    if missing.is_empty() {
        return Vec::new();
    }
    let room = usize::from(look.width.saturating_sub(LEFT + 1));
    let mut lines = vec![Line::rule("not looked at", many(missing.len() as u64, "gap", "gaps"))];
    for (i, gap) in missing.iter().enumerate() {
        let entry = Entry::Missing(i);
        let codes: Vec<&str> = gap.codes.iter().map(|code| code.word()).collect();
        let skipped = match codes.len() {
            0 => String::new(),
            1..=4 => codes.join(", "),
            count => format!("{} and {} more", codes[..3].join(", "), count - 3),
        };
        let mut first = Line::of(entry).at(1, "?", Role::Warning).at(LEFT, gap.what.clone(), Role::Text);
        if usize::from(first.end()) + 2 + text::width(&skipped) < usize::from(look.width) {
            first = first.then(LEFT, 2, skipped.clone(), Role::Dim);
            lines.push(first);
        } else {
            lines.push(first);
            lines
                .extend(text::wrap(&skipped, room.saturating_sub(2), 2).into_iter().map(|line| Line::of(entry).at(PROOF, line, Role::Dim)));
        }
        lines.extend(text::wrap(&gap.supply, room.saturating_sub(2), 3).into_iter().map(|line| Line::of(entry).at(PROOF, line, Role::Dim)));
    }
    lines.push(Line::default());
    lines
}
