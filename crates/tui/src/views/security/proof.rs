//! The lines under an expanded check: its query, its measurement, and its evidence: calls with their effects, and dataset rows.

use super::{
    checklist::{ChecklistStyle, PROOF},
    pane::{PaneEntry, PaneLine},
};
use crate::views::prelude::*;
use security::{Anomaly, Check, CheckState, Evidence, EvidenceRow};

/// Screen column of the evidence rows.
const ROW: u16 = 7;
/// From this width hashes and addresses are shown in full.
const FULL_WIDTH: u16 = 190;
/// Maximum number of lines of a sentence.
const SENTENCE_LINES: usize = 4;

/// The evidence of a check: of its finding, or of its passing.
pub(super) fn proofs<'a>(check: &'a Check, anomaly: Option<&'a Anomaly>) -> &'a [Evidence] {
    anomaly
        .map(|anomaly| &anomaly.evidence[..])
        .filter(|evidence| !evidence.is_empty())
        .unwrap_or(&check.proof)
}

/// Adds the lines under an expanded check. `anomaly` is its finding.
pub(super) fn push(
    check: &Check,
    anomaly: Option<&Anomaly>,
    look: &ChecklistStyle<'_>,
    lines: &mut Vec<PaneLine>,
) {
    let entry = PaneEntry::Check(check.code);
    let mut say = |says: &str, role| {
        lines.extend(PaneLine::wrapped(
            Some(entry),
            PROOF,
            says,
            look.width,
            SENTENCE_LINES,
            role,
        ));
    };
    if let Some(told) = check.evidence.as_ref().or(check.missing.as_ref()) {
        say(told, Role::Text);
    }
    let mut asks = format!(
        "found if {} · weight {}",
        check.code.meaning(),
        format::fixed(check.weight, 2)
    );
    if let Some(anomaly) = anomaly {
        asks += &format!(
            " × strength {} = {} risk",
            format::fixed(anomaly.strength, 2),
            format::fixed(anomaly.weighed(), 2)
        );
        for figure in &anomaly.figures {
            asks += &format!(" · {} {}", figure.name, format::human(Some(figure.value)));
        }
    }
    say(&asks, Role::Dim);
    let proofs = proofs(check, anomaly);
    if proofs.is_empty() && check.state == CheckState::Passed {
        say("the check ran and found nothing", Role::Dim);
    }
    for (j, evidence) in proofs.iter().enumerate() {
        push_proof(evidence, PaneEntry::Proof(check.code, j), look, lines);
        let columns = EvidenceColumns::of(&evidence.rows, look.width);
        for (k, row) in evidence.rows.iter().enumerate() {
            lines.push(columns.line(row, PaneEntry::Row(check.code, j, k)));
        }
    }
}

/// Display text of a caller: the wire has a word for each.
fn caller_text(caller: &str) -> &str {
    match caller {
        "stranger" => "any caller",
        "address it obeys" => "an authorized address",
        "whoever meets its conditions" => "a caller that meets its conditions",
        other => other,
    }
}

/// `setFee(99)  by owner  0x69fe0e2d   received 950 → received 10`, on one line or two.
fn push_proof(
    evidence: &Evidence,
    entry: PaneEntry,
    look: &ChecklistStyle<'_>,
    lines: &mut Vec<PaneLine>,
) {
    let room = usize::from(look.width.saturating_sub(PROOF + 1));
    let mut line = PaneLine::of(entry).at(
        PROOF,
        text::truncate(&evidence.what, room).into_owned(),
        Role::Text,
    );
    if let Some(caller) = &evidence.caller {
        line = line.then(PROOF, 2, format!("by {}", caller_text(caller)), Role::Dim);
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
    // `→ fails` if there is no earlier value.
    let mut after = if after.is_empty() {
        MISSING.to_owned()
    } else {
        after
    };
    if let Some(change) = &evidence.change {
        after += &format!(" ({change})");
    }
    let arrow = if before.is_empty() { "→ " } else { " → " };
    let length = text::width(&before) + text::width(&after) + 3;
    if usize::from(line.end()) + 3 + length < usize::from(look.width) {
        lines.push(
            line.then(PROOF, 3, before, Role::Dim)
                .then(PROOF, 0, arrow, Role::Dim)
                .then(PROOF, 0, after, Role::Warning),
        );
        return;
    }
    lines.push(line);
    if usize::from(ROW) + length < usize::from(look.width) {
        lines.push(
            PaneLine::of(entry)
                .at(ROW, before, Role::Dim)
                .then(ROW, 0, arrow, Role::Dim)
                .then(ROW, 0, after, Role::Warning),
        );
        return;
    }
    for (label, value, role) in [
        ("before", before, Role::Dim),
        ("after", after, Role::Warning),
    ] {
        for (i, part) in text::wrap(&value, usize::from(look.width.saturating_sub(ROW + 8)), 3)
            .into_iter()
            .enumerate()
        {
            let line = PaneLine::of(entry).at(ROW, if i == 0 { label } else { "" }, Role::Dim);
            lines.push(line.at(ROW + 7, part, role));
        }
    }
}

/// Role and alignment of each column: time, block, sender, recipient, amount, share, transaction, note.
const COLUMNS: [(Role, text::Align); 8] = [
    (Role::Dim, text::Align::Left),
    (Role::Dim, text::Align::Left),
    (Role::Accent, text::Align::Left),
    (Role::Accent, text::Align::Left),
    (Role::Text, text::Align::Right),
    (Role::Text, text::Align::Right),
    (Role::Accent, text::Align::Left),
    (Role::Text, text::Align::Left),
];
const BLOCK: usize = 1;
const TRANSACTION: usize = 6;

/// Dataset rows as a small table: the columns used by any row, as wide as their widest cell.
struct EvidenceColumns {
    widths: Vec<usize>,
    in_full: bool,
}

impl EvidenceColumns {
    /// The row's cells, in the order of `COLUMNS`.
    fn cells(row: &EvidenceRow, in_full: bool) -> [String; COLUMNS.len()] {
        let parties = |address: Option<model::address::Address>| {
            address.map_or_else(String::new, |address| {
                if in_full {
                    address.to_string()
                } else {
                    address.short()
                }
            })
        };
        let hash = row
            .transaction_hash
            .as_deref()
            .map_or_else(String::new, |hash| {
                if in_full {
                    hash.to_owned()
                } else {
                    format::short_address(hash)
                }
            });
        let to = parties(row.to_address);
        [
            row.timestamp
                .map_or_else(|| row.table.to_owned(), model::time::Time::minute_text),
            row.block_number.map_or_else(String::new, |block| {
                format!("block {}", format::count(block.unsigned_abs()))
            }),
            parties(row.address),
            if to.is_empty() {
                to
            } else {
                format!("→ {to}")
            },
            row.amount
                .map_or_else(String::new, |amount| format::human(Some(amount))),
            row.share
                .map_or_else(String::new, |share| format::share(Some(share))),
            hash,
            row.note.clone().unwrap_or_default(),
        ]
    }

    fn of(rows: &[EvidenceRow], width: u16) -> Self {
        let in_full = width >= FULL_WIDTH;
        let mut widths = vec![0; COLUMNS.len()];
        for row in rows {
            for (column, cell) in widths.iter_mut().zip(Self::cells(row, in_full)) {
                *column = (*column).max(text::width(&cell));
            }
        }
        // Drops the block first, as the time implies it, then the transaction hash.
        for dropped in [BLOCK, TRANSACTION] {
            if usize::from(ROW)
                + widths
                    .iter()
                    .map(|width| width + 2 * usize::from(*width > 0))
                    .sum::<usize>()
                > usize::from(width)
            {
                widths[dropped] = 0;
            }
        }
        Self { widths, in_full }
    }

    fn line(&self, row: &EvidenceRow, entry: PaneEntry) -> PaneLine {
        let mut line = PaneLine::of(entry);
        let mut x = ROW;
        for ((cell, width), (role, align)) in Self::cells(row, self.in_full)
            .into_iter()
            .zip(&self.widths)
            .zip(COLUMNS)
        {
            if *width == 0 {
                continue;
            }
            line = line.at(x, text::fit(&cell, *width, align), role);
            x += *width as u16 + 2;
        }
        line
    }
}
