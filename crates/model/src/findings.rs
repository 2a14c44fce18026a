//! Findings: issues in the loaded data, worded for the user who can fix them: file, row, column, value, expectation. All are counted; only
//! the first are stored.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table_state::TableState;

/// Findings stored for each file, column and reason; all are counted.
pub const KEPT_PER_REASON: u64 = 100;
/// The same limit for notes.
const NOTES_KEPT_PER_REASON: u64 = 1;

fn kept_of(severity: Severity) -> u64 {
    if severity == Severity::Note {
        NOTES_KEPT_PER_REASON
    } else {
        KEPT_PER_REASON
    }
}

impl TableState {
    /// The severity's word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Absent => "absent",
            Self::Unusable(_) => "unusable",
        }
    }

    /// Why the table is unusable.
    pub fn reason(&self) -> Option<&str> {
        if let Self::Unusable(reason) = self {
            Some(reason)
        } else {
            None
        }
    }
}

/// Severity of a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Data was dropped: a rejected row, an unusable table.
    Error,
    /// Data was altered: a cell set to null, or the earlier of two rows dropped.
    Warning,
    /// Informational: an ignored column.
    Note,
}

/// An issue in the loaded data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub severity: Severity,
    /// Relative to the dataset's folder if it is inside.
    pub file: String,
    /// Row number in the file, counting data rows from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// The schema column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The offending value, truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is wrong, what was expected and what was done.
    pub reason: String,
}

impl Finding {
    /// A finding about a whole file; `at`, `column` and `value` narrow it down.
    pub fn new(severity: Severity, file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            severity,
            file: file.into(),
            row: None,
            column: None,
            value: None,
            reason: reason.into(),
        }
    }

    #[must_use]
    pub fn at(self, row: impl Into<Option<u64>>) -> Self {
        Self {
            row: row.into(),
            ..self
        }
    }

    #[must_use]
    pub fn column(self, name: &str) -> Self {
        Self {
            column: Some(name.to_owned()),
            ..self
        }
    }

    #[must_use]
    pub fn value(self, shown: impl Into<String>) -> Self {
        Self {
            value: Some(shown.into()),
            ..self
        }
    }
}

/// Occurrences of one reason in one column of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingCount {
    pub severity: Severity,
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    pub reason: String,
    pub count: u64,
}

/// The findings of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Findings {
    kept: Vec<Finding>,
    counts: Vec<FindingCount>,
    #[serde(skip)]
    positions: HashMap<Reason, usize>,
}

/// File, column, reason.
type Reason = (String, Option<String>, String);

/// Serialised form of `Findings`.
#[derive(Deserialize)]
struct Written {
    kept: Vec<Finding>,
    counts: Vec<FindingCount>,
}

impl From<Written> for Findings {
    fn from(Written { kept, counts }: Written) -> Self {
        let reason = |count: &FindingCount| {
            (
                count.file.clone(),
                count.column.clone(),
                count.reason.clone(),
            )
        };
        let positions = counts
            .iter()
            .enumerate()
            .map(|(i, count)| (reason(count), i))
            .collect();
        Self {
            kept,
            counts,
            positions,
        }
    }
}

impl Findings {
    pub fn add(&mut self, finding: Finding) {
        let key = (
            finding.file.clone(),
            finding.column.clone(),
            finding.reason.clone(),
        );
        let position = *self.positions.entry(key).or_insert_with(|| {
            self.counts.push(FindingCount {
                severity: finding.severity,
                file: finding.file.clone(),
                column: finding.column.clone(),
                reason: finding.reason.clone(),
                count: 0,
            });
            self.counts.len() - 1
        });
        self.counts[position].count += 1;
        if self.counts[position].count <= kept_of(finding.severity) {
            self.kept.push(finding);
        }
    }

    /// Adds to the count of a known reason without storing findings.
    pub fn count_more(&mut self, file: &str, column: Option<&str>, reason: &str, more: u64) {
        let same = |count: &&mut FindingCount| {
            count.file == file && count.column.as_deref() == column && count.reason == reason
        };
        if let Some(count) = self.counts.iter_mut().find(same) {
            count.count += more;
        }
    }

    /// If a reason occurred in every one of `rows` rows, replaces its findings with a single one about the column, with the text `all`.
    pub fn tell_once(&mut self, file: &str, column: &str, reason: &str, rows: u64, all: String) {
        let key = (file.to_owned(), Some(column.to_owned()), reason.to_owned());
        let Some(&position) = self
            .positions
            .get(&key)
            .filter(|position| rows > 1 && self.counts[**position].count == rows)
        else {
            return;
        };
        let same = |finding: &Finding| {
            finding.file == file
                && finding.column.as_deref() == Some(column)
                && finding.reason == reason
        };
        if let Some(at) = self.kept.iter().position(same) {
            (self.kept[at].row, self.kept[at].reason) = (None, all.clone());
        }
        self.kept.retain(|finding| !same(finding));
        self.positions.remove(&key);
        self.positions.insert((key.0, key.1, all.clone()), position);
        (self.counts[position].count, self.counts[position].reason) = (1, all);
    }

    /// Merges other findings into this list.
    pub fn absorb(&mut self, others: &Self) {
        others
            .kept
            .iter()
            .for_each(|finding| self.add(finding.clone()));
        for count in &others.counts {
            let kept = count.count.min(kept_of(count.severity));
            self.count_more(
                &count.file,
                count.column.as_deref(),
                &count.reason,
                count.count - kept,
            );
        }
    }

    /// The stored findings, in order of occurrence.
    pub fn kept(&self) -> &[Finding] {
        &self.kept
    }

    /// Every reason, with its exact count.
    pub fn counts(&self) -> &[FindingCount] {
        &self.counts
    }

    pub fn count(&self, severity: Severity) -> u64 {
        self.counts
            .iter()
            .filter(|count| count.severity == severity)
            .map(|count| count.count)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_hundred_of_a_reason_are_kept() {
        let mut findings = Findings::default();
        for row in 1..=250 {
            findings.add(
                Finding::new(Severity::Error, "candles.csv", "expected a number")
                    .at(row)
                    .column("open")
                    .value("x"),
            );
        }
        assert_eq!((findings.kept().len(), findings.counts().len()), (100, 1));
        assert_eq!(
            (
                findings.count(Severity::Error),
                findings.count(Severity::Warning)
            ),
            (250, 0)
        );
        assert_eq!(findings.kept()[99].row, Some(100));
    }
}
