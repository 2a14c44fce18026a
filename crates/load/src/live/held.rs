//! Fetched rows that are waiting to be written, and the records to write after them.

use std::collections::{BTreeMap, HashSet};

use polars::prelude::DataFrame;

use crate::live::{
    ask::Ask, pages::FetchedRows, report::TableRefreshReport, state::RequestHistory,
};
use model::{address::Address, time::Time};

/// Rows that wait to be written, and what is known once they are.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) frames: BTreeMap<&'static str, Vec<DataFrame>>,
    pub(crate) tokens: HashSet<Address>,
    pub(crate) whole: bool,
    pub(crate) asked: Vec<(String, RequestHistory)>,
    pub(crate) rows: usize,
}

/// Joins two adjacent spans. If there is a gap between them, the earlier one is returned, so that the gap is requested again.
fn joined(earlier: Option<(i64, i64)>, new: Option<(i64, i64)>, step: i64) -> Option<(i64, i64)> {
    match (earlier, new) {
        (Some((a, b)), Some((c, d))) if c <= b + step && a <= d + step => {
            Some((a.min(c), b.max(d)))
        }
        (earlier, new) => earlier.or(new),
    }
}

impl Held {
    /// Adds what was fetched.
    pub(crate) fn take(
        &mut self,
        ask: &Ask<'_>,
        before: &RequestHistory,
        fetched: FetchedRows,
        report: &mut TableRefreshReport,
        now: Time,
    ) {
        let (key, token) = (ask.key(), ask.about.token);
        let mut gave = before.gave;
        for (table, frame) in fetched.frames {
            self.rows += frame.height();
            if table == report.table {
                report.rows += frame.height() as u64;
                gave |= frame.height() > 0;
            }
            self.frames.entry(table).or_default().push(frame);
        }
        report.notes.extend(
            fetched
                .notes
                .into_iter()
                .filter(|note| !report.notes.contains(note))
                .collect::<Vec<_>>(),
        );
        self.whole |= token.is_none();
        self.tokens.extend(token);
        let last = self
            .asked
            .iter()
            .rev()
            .find(|(other, _)| *other == key)
            .map(|(_, asked)| asked);
        gave |= last.is_some_and(|asked| asked.gave);
        let earlier = last.and_then(|asked| asked.covered).or(before.covered);
        let covered = joined(earlier, fetched.covered, ask.step());
        self.asked.push((
            key,
            RequestHistory {
                at: now.0,
                covered,
                unknown: false,
                gave,
                version: fetched.version,
            },
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_joined_where_they_touch_and_a_gap_is_asked_for_again() {
        for (earlier, new, expected) in [
            (None, Some((5, 9)), Some((5, 9))),
            (Some((5, 9)), None, Some((5, 9))),
            (Some((5, 9)), Some((10, 12)), Some((5, 12))),
            (Some((5, 9)), Some((11, 12)), Some((5, 9))),
            (Some((5, 9)), Some((1, 4)), Some((1, 9))),
            (Some((5, 9)), Some((1, 3)), Some((5, 9))),
        ] {
            assert_eq!(joined(earlier, new, 1), expected, "{earlier:?} {new:?}");
        }
    }
}
