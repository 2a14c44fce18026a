//! How many rows there are, up to which block or time, and what they are known by: the table goes on growing while its rows are read, and
//! what is read is the table as it was counted.

use super::{
    Asking, Columns, filter,
    sql::{self, Form, Theirs},
};
use crate::{
    dataset::{
        load::{elsewhere::said, table::Stop},
        time::Time,
    },
    wire::Fault,
};

/// Tables to which rows are added at the end, and the columns that tell where that is.
const GROW: &[(&str, &[&str])] = &[
    ("transfers", &["block_number", "timestamp"]),
    ("pool_events", &["block_number", "timestamp"]),
    ("blocks", &["block_number", "timestamp"]),
    ("candles", &["timestamp"]),
    ("funding", &["timestamp"]),
    ("posts", &["published_at"]),
    ("holder_counts", &["date"]),
];

/// Up to so many rows their content is summed up too, wherever rows are added: a few seconds of work there.
const SUMMED_MAX: u64 = 50_000_000;

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) rows: u64,
    /// Of the content; `0` where the end tells enough, and where sums tell it later.
    pub(super) checksum: String,
    /// The end does not tell enough: the content is to be summed up.
    pub(super) summed: bool,
    /// What keeps the rows that were counted.
    pub(super) conditions: Vec<String>,
    pub(super) as_of: Option<String>,
    /// What a person has to know of what is not looked at.
    pub(super) notes: Vec<String>,
}

impl Asking<'_> {
    pub(super) fn count(&self, columns: &Columns<'_>, conditions: &[String]) -> Result<Counted, Stop> {
        let mut counted = Counted { summed: true, conditions: conditions.to_vec(), ..Counted::default() };
        if let Some(looked) = self.context.looked {
            // The state of the generation, whatever there is by now.
            counted.conditions.extend(looked.until.iter().cloned());
            counted.as_of.clone_from(&looked.as_of);
            return self.counted(counted, columns);
        }
        self.estimate(columns, conditions)?;
        if let Some(end) = self.end_of(columns) {
            let mut settled = conditions.to_vec();
            match self.settled(end, columns) {
                Some(condition) => settled.push(condition),
                None if is_block(end, columns) && self.engine.source().lag() > 0 => counted.notes.push(
                    "`lag_minutes` is not held, as no time stands beside the blocks: the newest, which may be taken back, are among the rows"
                        .to_owned(),
                ),
                None => {}
            }
            let newest = newest(end, self.old);
            let first = self.ask(&format!("SELECT count(), {newest} FROM {}{}", self.from(), filter(&settled)))?;
            let (rows, value) = first.first().map_or((0, None), |row| (number(row.first()), row.get(1).cloned().flatten()));
            if let (Some((condition, as_of)), true) = (value.and_then(|value| up_to(end, &value, self.old)), rows > 0) {
                counted.conditions.push(if end.nullable { format!("({condition} OR isNull({}))", end.sql()) } else { condition });
                counted.as_of = Some(as_of);
                // Of a row that is written anew only the content tells.
                counted.summed = self.asked.last || rows <= SUMMED_MAX;
                if !counted.summed {
                    counted.notes.push(format!(
                        "has {} rows, too many to compare at each load: a row that is corrected there is seen once rows are added, or with \
                         `final = true`",
                        super::grouped(rows)
                    ));
                }
            }
        }
        self.counted(counted, columns)
    }

    /// Counts the rows that are kept, and sums up their content if that is wanted; of what stays in place the sums over it do.
    fn counted(&self, mut counted: Counted, columns: &Columns<'_>) -> Result<Counted, Stop> {
        let sum = if counted.summed && !self.asked.in_place { sql::checksum(&columns.picked) } else { "0".to_owned() };
        let whole = self.ask(&format!("SELECT count(), {sum} FROM {}{}", self.from(), filter(&counted.conditions)))?;
        let row = whole.first().ok_or_else(|| said(&self.name, Fault::Unavailable("does not say how many rows it has".to_owned())))?;
        counted.rows = number(row.first());
        counted.checksum = row.get(1).cloned().flatten().unwrap_or_default();
        Ok(counted)
    }

    /// Refuses what would cost too much there, where the engine can tell before.
    fn estimate(&self, columns: &Columns<'_>, conditions: &[String]) -> Result<(), Stop> {
        if self.old {
            return Ok(());
        }
        let names: Vec<String> = columns.picked.iter().map(Theirs::sql).collect();
        let sql = format!("EXPLAIN ESTIMATE SELECT {} FROM {}{}", names.join(", "), self.from(), filter(conditions));
        let parts = match self.engine.ask(&sql, &|| self.stopped()) {
            Ok(parts) => parts,
            // What is no table of its own it cannot tell of.
            Err(Fault::Refused(_)) => return Ok(()),
            Err(Fault::Unavailable(reason)) if reason.contains("with code") => return Ok(()),
            Err(fault) => return Err(said(&self.name, fault)),
        };
        let rows: u64 = parts.iter().map(|part| number(part.get(3))).sum();
        let most = self.engine.source().scan_rows_max();
        if rows <= most {
            return Ok(());
        }
        let [rows, most] = [rows, most].map(super::grouped);
        let reason = format!(
            "would read {rows} rows there, and {most} may be: narrow it with `where` in dataset.toml, or raise `scan_rows_max` of its source \
             in config.toml"
        );
        Err(said(&self.name, Fault::Refused(reason)))
    }

    /// The column that tells where the table ends, if rows are added there.
    fn end_of<'c>(&self, columns: &'c Columns<'_>) -> Option<&'c Theirs> {
        let (_, names) = GROW.iter().find(|(table, _)| *table == self.schema.name)?;
        let tells = |column: &&Theirs| matches!(column.form, Form::Whole | Form::Time | Form::Day);
        names.iter().filter_map(|name| columns.serving(name)).find(tells)
    }

    /// What leaves out blocks that may be taken back.
    fn settled(&self, end: &Theirs, columns: &Columns<'_>) -> Option<String> {
        let lag = self.engine.source().lag();
        let time = columns.serving("timestamp").filter(|_| is_block(end, columns) && lag > 0)?;
        older(time, lag)
    }
}

fn is_block(end: &Theirs, columns: &Columns<'_>) -> bool {
    columns.ours(end).is_some_and(|bound| bound.column.name == "block_number")
}

/// What keeps rows of an age, by a time or a number that is one.
fn older(time: &Theirs, minutes: u32) -> Option<String> {
    let name = time.sql();
    match time.form {
        Form::Time => Some(format!("{name} <= now() - INTERVAL {minutes} MINUTE")),
        // In the unit that its size tells, as numbers are read here.
        Form::Whole => Some(format!(
            "multiIf({name} < 100000000000, {name}, {name} < 100000000000000, intDiv({name}, 1000), {name} < 100000000000000000, \
             intDiv({name}, 1000000), intDiv({name}, 1000000000)) <= toUnixTimestamp(now()) - {}",
            minutes * 60
        )),
        _ => None,
    }
}

fn number(cell: Option<&Option<String>>) -> u64 {
    cell.and_then(Option::as_ref).and_then(|cell| cell.parse().ok()).unwrap_or(0)
}

/// What asks for the newest value.
fn newest(end: &Theirs, old: bool) -> String {
    let newest = format!("max({})", end.sql());
    match end.form {
        Form::Time if old => format!("toString(toUInt32({newest}))"),
        Form::Time => format!("toString(toUnixTimestamp64Milli(toDateTime64({newest}, 3, 'UTC')))"),
        _ => format!("toString({newest})"),
    }
}

/// What keeps the rows up to the newest value, and how that is told.
fn up_to(end: &Theirs, value: &str, old: bool) -> Option<(String, String)> {
    let name = end.sql();
    match end.form {
        Form::Time if old => {
            let seconds: i64 = value.parse().ok()?;
            Some((format!("{name} <= toDateTime({seconds})"), Time(seconds * 1_000).to_string()))
        }
        // What is finer than a millisecond was cut off.
        Form::Time => {
            let milliseconds: i64 = value.parse().ok()?;
            Some((format!("{name} < {}", sql::time(milliseconds + 1)), Time(milliseconds).to_string()))
        }
        Form::Day => Some((format!("{name} <= toDate({})", sql::text(value)), value.to_owned())),
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
    fn an_age_is_told_of_times_and_of_numbers() {
        let said = |kind: &str| older(&Theirs::new("x", kind), 15);
        assert_eq!(said("DateTime64(3)").as_deref(), Some("`x` <= now() - INTERVAL 15 MINUTE"));
        let number = said("UInt64").expect("said");
        assert!(number.contains("intDiv(`x`, 1000)") && number.ends_with("<= toUnixTimestamp(now()) - 900"), "{number}");
        assert_eq!((said("String"), said("Date")), (None, None));
    }

    #[test]
    fn the_newest_row_is_among_those_that_are_read() {
        for (kind, value, old, condition, as_of) in [
            ("UInt64", "23000000", false, "`x` <= 23000000", "23000000"),
            (
                "DateTime64(6)",
                "1704067200123",
                false,
                "`x` < fromUnixTimestamp64Milli(toInt64(1704067200124), 'UTC')",
                "2024-01-01T00:00:00Z",
            ),
            ("DateTime", "1704067200", true, "`x` <= toDateTime(1704067200)", "2024-01-01T00:00:00Z"),
            ("Date", "2024-01-01", false, "`x` <= toDate('2024-01-01')", "2024-01-01"),
        ] {
            let (said, told) = up_to(&Theirs::new("x", kind), value, old).expect(kind);
            assert_eq!((said.as_str(), &told[..10.min(told.len())]), (condition, &as_of[..10.min(as_of.len())]), "{kind}");
        }
        assert_eq!(up_to(&Theirs::new("x", "UInt64"), "'; DROP", false), None);
    }
}
