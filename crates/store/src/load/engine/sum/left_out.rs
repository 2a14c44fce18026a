//! Rows that aggregations exclude, by reason: counted only where some are missing, or where numbers are stored as texts.

use super::{super::grouped, ColumnType, Columns, EngineQuery, PRICED, source_column_of};
use crate::load::task::TableLoadError;
use model::format::plural;
use wire::Fault;

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
        let changed = || {
            self.fault(Fault::Unavailable(
                "changed while it was counted; reload the data".to_owned(),
            ))
        };
        let is_text = |name: &&str| {
            source_column_of(name, columns).is_some_and(|theirs| theirs.form == ColumnType::Text)
        };
        let holders = self.load.schema.name == "holders";
        if seen > rows || (holders && seen < rows) {
            return Err(changed());
        }
        if self.load.schema.name == "transfers" && seen < rows {
            let all = self.transfers(columns, conditions, false, "empty(h)")?;
            let examples =
                self.ask(&format!("SELECT concat(fa, ' to ', oa) FROM {all} LIMIT 3"))?;
            let examples: Vec<String> = examples.into_iter().flatten().flatten().collect();
            return Ok(vec![format!(
                "{} no transaction hash, such as {}",
                plural(
                    rows - seen,
                    "of the rows is excluded because it has",
                    "of the rows are excluded because they have"
                ),
                examples.join(", ")
            )]);
        }
        // A candle without a price is missing from `seen`; one without a volume, or a holder without a balance, is not.
        if seen == rows && !["volume", "balance"].iter().any(is_text) {
            return Ok(Vec::new());
        }
        let all = self.all(columns, conditions, false)?;
        let counts = if holders {
            "0, 0, 0".to_owned()
        } else {
            format!(
                "countIf(timeless), countIf(NOT timeless AND NOT ({PRICED})), countIf(NOT timeless AND {PRICED} AND ms = 0)"
            )
        };
        let answer = self.ask(&format!(
            "SELECT count(), countIf(unread), {counts} FROM {all}"
        ))?;
        let number = |nth: usize| answer.first()?.get(nth)?.as_ref()?.parse::<u64>().ok();
        let left = || Some([number(0)?, number(1)?, number(2)?, number(3)?, number(4)?]);
        let [all_rows, unread, timeless, unpriced, without_interval] =
            left().ok_or_else(|| self.unread())?;
        if all_rows != rows {
            return Err(changed());
        }
        let why = if unread > 0 {
            let rows = plural(unread, "of its rows has", "of its rows have");
            format!(
                "{rows} numbers in a notation that the server does not read; convert them with a `query`"
            )
        } else if without_interval > 0 {
            let rows = plural(without_interval, "of its rows has", "of its rows have");
            format!(
                "{rows} an invalid interval (a valid one is `1h`); exclude such rows with a `query`"
            )
        } else if seen == 0 && rows > 0 {
            format!(
                "none of its {} rows has a token, a time and prices; correct them with a `query`",
                grouped(rows)
            )
        } else {
            let mut notes = Vec::new();
            for (count, one, more) in [
                (timeless, "it has no time", "they have no time"),
                (
                    unpriced,
                    "it lacks an open, high, low or close",
                    "they lack an open, high, low or close",
                ),
                (
                    rows.saturating_sub(seen + timeless + unpriced),
                    "it has no token address",
                    "they have no token address",
                ),
            ] {
                if count > 0 {
                    let excluded = plural(
                        count,
                        "of the rows is excluded because",
                        "of the rows are excluded because",
                    );
                    notes.push(format!(
                        "{excluded} {}",
                        if count == 1 { one } else { more }
                    ));
                }
            }
            return Ok(notes);
        };
        Err(self.cannot_stay(format!("{why}, or set read = \"bring\"")))
    }
}
