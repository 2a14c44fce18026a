//! Rows that sums leave out, and why: asked only where some are missing, or where numbers are texts.

use super::{Asking, Columns, Form, PRICED, theirs_of};
use crate::{
    dataset::load::{elsewhere::said, table::Stop},
    wire::Fault,
};

/// A row that is counted, and told for what.
#[derive(Debug, Default)]
struct LeftOut {
    rows: u64,
    unread: u64,
    timeless: u64,
    unpriced: u64,
    /// Of no interval, where all else is there.
    endless: u64,
}

impl Asking<'_> {
    /// What a person has to know of rows that no sum counts: `rows` were counted, and `seen` are in sums. What would be read otherwise
    /// here stands in the way.
    pub(in super::super) fn left_out(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
        rows: u64,
        seen: u64,
    ) -> Result<Vec<String>, Stop> {
        let changed = || said(&self.name, Fault::Unavailable("changed while it was counted: load again".to_owned()));
        let is_text = |name: &&str| theirs_of(name, columns).is_some_and(|theirs| theirs.form == Form::Text);
        let holders = self.schema.name == "holders";
        if seen > rows || (holders && seen < rows) {
            return Err(changed());
        }
        // A price that cannot be read makes a candle none, a volume or a balance that cannot be read is nobody's to miss.
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
            Some(LeftOut { rows, unread, timeless, unpriced: number(3)?, endless: number(4)? })
        };
        let left = left().ok_or_else(|| self.unread())?;
        if left.rows != rows {
            return Err(changed());
        }
        let [unread, timeless, unpriced, endless] = [left.unread, left.timeless, left.unpriced, left.endless].map(super::super::grouped);
        let why = if left.unread > 0 {
            format!("{unread} of its rows have numbers written in a way that it does not read: a `query` may write them out")
        } else if left.endless > 0 {
            format!("{endless} of its rows have an interval that is none, as `1h` is one: leave them out with a `query`")
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
        Err(Stop::Unusable(format!("`{}` cannot stay in place: {why}; or say read = \"bring\"", self.name)))
    }
}
