//! The values of a column, as far as its counts and statistics need them, of rows that are here or at an engine.

use super::TEXTS_MAX;
use analysis::column::Sorted;
use model::error::{Code, Problem};

/// Numbers, or texts; large integers as both.
pub(super) struct CountedValues {
    pub(super) rows: u64,
    pub(super) numbers: Option<Sorted>,
    pub(super) texts: Option<TextValues>,
}

/// How many texts there are, the most frequent with their counts, the first and the last.
#[derive(Default)]
pub(super) struct TextValues {
    pub(super) present: u64,
    pub(super) distinct: u64,
    pub(super) counts: Vec<(String, u64)>,
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
}

/// The most frequent first.
pub(super) fn ordered_counts(mut counts: Vec<(String, u64)>) -> Vec<(String, u64)> {
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

pub(super) fn too_many_texts() -> Problem {
    let detail = format!(
        "The column has more than {TEXTS_MAX} distinct text values; narrow the rows with `where`."
    );
    Problem::new(Code::InvalidParameter, detail)
}
