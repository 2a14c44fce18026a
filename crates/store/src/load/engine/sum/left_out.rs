//! Rows that aggregations exclude, by reason: counted only where some are missing, or where numbers are stored as texts.

use super::{ColumnType, Columns, EngineQuery, PRICED, theirs_of};
use crate::load::{remote::load_error_of, table::TableLoadError};
use wire::Fault;

/// Number of excluded rows by reason.
#[derive(Debug, Default)]
struct LeftOut {
    rows: u64,
    unread: u64,
    timeless: u64,
    unpriced: u64,
    /// Rows without a valid interval.
    without_interval: u64,
}

impl EngineQuery<'_> {
    /// Findings about rows that no aggregation uses: `rows` were counted, `seen` were used. Rows that the loader would read differently are
    /// an error: the table cannot stay in place.
    pub(in super::super) fn left_out(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
        rows: u64,
        seen: u64,
    ) -> Result<Vec<String>, TableLoadError> {
        let changed = || load_error_of(&self.name, Fault::Unavailable("changed while it was counted: load again".to_owned()));
        let is_text = |name: &&str| theirs_of(name, columns).is_some_and(|theirs| theirs.form == ColumnType::Text);
        let holders = self.schema.name == "holders";
        if seen > rows || (holders && seen < rows) {
            return Err(changed());
        }
        // A candle without a price is missing from `seen`; one without a volume, or a holder without a balance, is not.
        if seen == rows && !["volume", "balance"].iter().any(is_text) {
            return Ok(Vec::new());
        }
        let all = self.all(columns, conditions, false)?;
        let counts = if holders {
            "0, 0, 0".to_owned()
        } else {
            format!("countIf(timeless), countIf(NOT timeless AND NOT ({PRICED})), countIf(NOT timeless AND {PRICED} AND ms = 0)")
        };
        let answer = self.ask(&format!("SELECT count(), countIf(unread), {counts} FROM {all}"))?;
        let number = |nth: usize| answer.first()?.get(nth)?.as_ref()?.parse().ok();
        let left = || {
            let [rows, unread, timeless] = [number(0)?, number(1)?, number(2)?];
            Some(LeftOut { rows, unread, timeless, unpriced: number(3)?, without_interval: number(4)? })
        };
        let left = left().ok_or_else(|| self.unread())?;
        if left.rows != rows {
            return Err(changed());
        }
        let [unread, timeless, unpriced, without_interval] =
            [left.unread, left.timeless, left.unpriced, left.without_interval].map(super::super::grouped);
        let why = if left.unread > 0 {
            format!("{unread} of its rows have numbers written in a way that it does not read: a `query` may write them out")
        } else if left.without_interval > 0 {
            format!("{without_interval} of its rows have an interval that is none, as `1h` is one: leave them out with a `query`")
        } else if seen == 0 && rows > 0 {
            format!("none of its {} rows has a token, a time and prices", super::super::grouped(rows))
        } else {
            let mut notes = Vec::new();
            let of_tokens = rows.saturating_sub(seen + left.timeless + left.unpriced);
            for (count, counted, what) in [
                (left.timeless, timeless, "without a time"),
                (left.unpriced, unpriced, "without all of open, high, low and close"),
                (of_tokens, super::super::grouped(of_tokens), "without the address of a token"),
            ] {
                if count > 0 {
                    notes.push(format!("{counted} of its rows are {what}, and are left out"));
                }
            }
            return Ok(notes);
        };
        Err(TableLoadError::Unusable(format!("`{}` cannot stay in place: {why}; or say read = \"bring\"", self.name)))
    }
}
