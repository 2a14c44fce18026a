//! Counts the rows of an engine's table up to its newest block or time, with a checksum: the table keeps growing while its rows are read,
//! and the rows read are those that were counted.

use super::{
    Columns, EngineQuery, filter,
    sql::{self, ColumnType, EngineColumn},
};
use crate::loader::task::TableLoadError;
use model::{
    schema::{Known, RowTime},
    time::Time,
};
use wire::Fault;

/// Append-only tables of up to this many rows get a checksum too: a few seconds of work for the server.
const SUMMED_MAX: u64 = 50_000_000;

/// Result of counting a table.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) rows: u64,
    /// Checksum of the content; `0` where the end is enough, and for tables in place.
    pub(super) checksum: String,
    /// Whether the end is not enough to detect changes: the content needs a checksum.
    summed: bool,
    /// SQL conditions that keep the counted rows.
    pub(super) conditions: Vec<String>,
    pub(super) as_of: Option<String>,
    /// Findings for the user, about checks that were not made.
    pub(super) notes: Vec<String>,
}

impl EngineQuery<'_> {
    pub(super) fn count(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
    ) -> Result<Counted, TableLoadError> {
        let mut counted = Counted {
            summed: true,
            conditions: conditions.to_vec(),
            ..Counted::default()
        };
        if let Some(snapshot) = self.load.context.snapshot {
            // The rows of the generation, whatever was appended since.
            counted.conditions.extend(snapshot.until.iter().cloned());
            counted.as_of.clone_from(&snapshot.as_of);
            return self.counted(counted, columns);
        }
        self.estimate(columns, conditions)?;
        if let Some(end) = self.end_of(columns) {
            let mut settled = conditions.to_vec();
            match self.settled(end, columns) {
                Some(condition) => {
                    settled.push(condition);
                    counted.notes.push(format!(
                        "blocks from the last {} minutes are excluded, because they may still be reorganized; `lag_minutes` of `{}` in config.toml sets this time",
                        self.engine.source().lag(),
                        self.asked.source
                    ));
                }
                None if is_block(end, columns) && self.engine.source().lag() > 0 => counted.notes.push(
                    "`lag_minutes` has no effect, because the blocks have no time; the newest ones, which may still be reorganized, are included"
                        .to_owned(),
                ),
                None => {}
            }
            let newest = newest(end, self.old);
            let first = self.ask(&format!(
                "SELECT count(), {newest} FROM {}{}",
                self.from(),
                filter(&settled)
            ))?;
            let (rows, value) = first.first().map_or((0, None), |row| {
                (number(row.first()), row.get(1).cloned().flatten())
            });
            if let (Some((condition, as_of)), true) = (
                value.and_then(|value| up_to(end, &value, self.old)),
                rows > 0,
            ) {
                counted.conditions.push(if end.nullable {
                    format!("({condition} OR isNull({}))", end.sql())
                } else {
                    condition
                });
                counted.as_of = Some(as_of);
                // Only the content shows that a row was rewritten.
                counted.summed = self.asked.last || rows <= SUMMED_MAX;
                if !counted.summed {
                    counted.notes.push(format!(
                        "the table has {} rows, too many to compare at each load; corrected rows appear only when rows are added, or with `final = true`",
                        super::grouped(rows)
                    ));
                }
            }
        }
        self.counted(counted, columns)
    }

    /// Counts the rows that are kept, with a checksum if one is needed and the table is not in place.
    fn counted(
        &self,
        mut counted: Counted,
        columns: &Columns<'_>,
    ) -> Result<Counted, TableLoadError> {
        let sum = if counted.summed && !self.asked.in_place {
            sql::checksum(&columns.picked)
        } else {
            "0".to_owned()
        };
        let whole = self.ask(&format!(
            "SELECT count(), {sum} FROM {}{}",
            self.from(),
            filter(&counted.conditions)
        ))?;
        let row = whole.first().ok_or_else(|| {
            self.fault(Fault::Unavailable(
                "does not return its number of rows".to_owned(),
            ))
        })?;
        counted.rows = number(row.first());
        counted.checksum = row.get(1).cloned().flatten().unwrap_or_default();
        Ok(counted)
    }

    /// Refuses a query over `scan_rows_max`, where EXPLAIN ESTIMATE can tell.
    fn estimate(&self, columns: &Columns<'_>, conditions: &[String]) -> Result<(), TableLoadError> {
        if self.old {
            return Ok(());
        }
        let names: Vec<String> = columns.picked.iter().map(EngineColumn::sql).collect();
        let sql = format!(
            "EXPLAIN ESTIMATE SELECT {} FROM {}{}",
            names.join(", "),
            self.from(),
            filter(conditions)
        );
        let parts = match self.engine.ask(&sql, &|| self.load.is_stopped()) {
            Ok(parts) => parts,
            // It cannot estimate views and queries.
            Err(Fault::Refused(_) | Fault::UnknownCode(_)) => return Ok(()),
            Err(fault) => return Err(self.fault(fault)),
        };
        let rows: u64 = parts.iter().map(|part| number(part.get(3))).sum();
        let most = self.engine.source().scan_rows_max();
        if rows <= most {
            return Ok(());
        }
        let [rows, most] = [rows, most].map(super::grouped);
        let reason = format!(
            "would scan {rows} rows, more than the limit of {most}; narrow it with `where` in dataset.toml, or raise `scan_rows_max` of its source in config.toml"
        );
        Err(self.fault(Fault::Refused(reason)))
    }

    /// Column that marks the end of an append-only table: one whose rows are known from their time on, by its blocks or that time.
    fn end_of<'c>(&self, columns: &'c Columns<'_>) -> Option<&'c EngineColumn> {
        let time = match self.load.schema.known {
            Known::Dated(time) if !matches!(time, RowTime::Since(_)) => time.column(),
            Known::Dated(_) | Known::Figures(_) | Known::Always | Known::Unknown => return None,
        };
        let tells = |column: &&EngineColumn| {
            matches!(
                column.form,
                ColumnType::Whole | ColumnType::Time | ColumnType::Day
            )
        };
        ["block_number", time]
            .iter()
            .filter_map(|name| columns.serving(name))
            .find(tells)
    }

    /// Condition that excludes blocks that a chain reorganisation may revert.
    fn settled(&self, end: &EngineColumn, columns: &Columns<'_>) -> Option<String> {
        let lag = self.engine.source().lag();
        let time = columns
            .serving("timestamp")
            .filter(|_| is_block(end, columns) && lag > 0)?;
        older(time, lag)
    }
}

fn is_block(end: &EngineColumn, columns: &Columns<'_>) -> bool {
    columns
        .ours(end)
        .is_some_and(|bound| bound.column.name == "block_number")
}

/// Condition for rows of a minimum age, by a time or a Unix epoch.
fn older(time: &EngineColumn, minutes: u32) -> Option<String> {
    let name = time.sql();
    match time.form {
        ColumnType::Time => Some(format!("{name} <= now() - INTERVAL {minutes} MINUTE")),
        // Seconds, milliseconds, microseconds or nanoseconds, told apart by magnitude as in `coerce::time`.
        ColumnType::Whole => Some(format!(
            "multiIf({name} < 100000000000, {name}, {name} < 100000000000000, intDiv({name}, 1000), {name} < 100000000000000000, \
             intDiv({name}, 1000000), intDiv({name}, 1000000000)) <= toUnixTimestamp(now()) - {}",
            minutes * 60
        )),
        _ => None,
    }
}

fn number(cell: Option<&Option<String>>) -> u64 {
    cell.and_then(Option::as_ref)
        .and_then(|cell| cell.parse().ok())
        .unwrap_or(0)
}

/// SQL expression for the newest value.
fn newest(end: &EngineColumn, old: bool) -> String {
    let newest = format!("max({})", end.sql());
    match end.form {
        ColumnType::Time if old => format!("toString(toUInt32({newest}))"),
        ColumnType::Time => {
            format!("toString(toUnixTimestamp64Milli(toDateTime64({newest}, 3, 'UTC')))")
        }
        _ => format!("toString({newest})"),
    }
}

/// Condition for rows up to the newest value, and that value for display.
fn up_to(end: &EngineColumn, value: &str, old: bool) -> Option<(String, String)> {
    let name = end.sql();
    match end.form {
        ColumnType::Time if old => {
            let seconds: i64 = value.parse().ok()?;
            Some((
                format!("{name} <= toDateTime({seconds})"),
                Time(seconds * 1_000).to_string(),
            ))
        }
        // The value was truncated to the millisecond.
        ColumnType::Time => {
            let milliseconds: i64 = value.parse().ok()?;
            Some((
                format!("{name} < {}", sql::time(milliseconds + 1)),
                Time(milliseconds).to_string(),
            ))
        }
        ColumnType::Day => Some((
            format!("{name} <= toDate({})", sql::text(value)),
            value.to_owned(),
        )),
        _ => {
            let number: i128 = value.parse().ok()?;
            Some((format!("{name} <= {number}"), number.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_an_age_are_kept_by_times_and_by_epochs() {
        let said = |kind: &str| older(&EngineColumn::new("x", kind), 15);
        assert_eq!(
            said("DateTime64(3)").as_deref(),
            Some("`x` <= now() - INTERVAL 15 MINUTE")
        );
        let number = said("UInt64").expect("said");
        assert!(
            number.contains("intDiv(`x`, 1000)")
                && number.ends_with("<= toUnixTimestamp(now()) - 900"),
            "{number}"
        );
        assert_eq!((said("String"), said("Date")), (None, None));
    }

    #[test]
    fn the_condition_keeps_the_newest_row() {
        for (kind, value, old, condition, as_of) in [
            ("UInt64", "23000000", false, "`x` <= 23000000", "23000000"),
            (
                "DateTime64(6)",
                "1704067200123",
                false,
                "`x` < fromUnixTimestamp64Milli(toInt64(1704067200124), 'UTC')",
                "2024-01-01T00:00:00Z",
            ),
            (
                "DateTime",
                "1704067200",
                true,
                "`x` <= toDateTime(1704067200)",
                "2024-01-01T00:00:00Z",
            ),
            (
                "Date",
                "2024-01-01",
                false,
                "`x` <= toDate('2024-01-01')",
                "2024-01-01",
            ),
        ] {
            let (said, told) = up_to(&EngineColumn::new("x", kind), value, old).expect(kind);
            assert_eq!(
                (said.as_str(), &told[..10.min(told.len())]),
                (condition, &as_of[..10.min(as_of.len())]),
                "{kind}"
            );
        }
        assert_eq!(
            up_to(&EngineColumn::new("x", "UInt64"), "'; DROP", false),
            None
        );
    }
}
