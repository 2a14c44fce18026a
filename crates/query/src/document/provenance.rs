//! The inputs of a report, stored in its file, so that it can be recomputed and compared. This module compares; it computes and prints
//! nothing.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::queries::snapshot::Snapshot;
use load::{Dataset, Table};
use model::{
    address::Address,
    format::{count, plural},
    table_state::TableState,
    time::Time,
};

/// Start and end of its line: a comment in HTML and in Markdown.
const BEGIN: &str = "<!-- tokendeck report ";
const END: &str = " -->";
/// Maximum number of differing lines shown.
const LINES_MAX: usize = 20;

/// The inputs of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of tokendeck.
    pub version: String,
    pub token: String,
    /// Point in time of the data, in Unix milliseconds; `None` for the present.
    pub as_of: Option<i64>,
    /// Hash of the settings that influence results.
    pub settings: String,
    /// Hash of the track records of all tokens, which weigh the advice and are quoted; `None` if none was computed yet.
    #[serde(default)]
    pub record: Option<String>,
    pub tables: Vec<TableProvenance>,
    /// Tables that cannot be read, with the reason; not stored in the report.
    #[serde(skip)]
    pub unread: Vec<(String, String)>,
}

/// The rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableProvenance {
    pub name: String,
    pub rows: u64,
    /// Hash of all rows; for a cached table, or one queried in place, the hash of its files.
    pub hash: String,
}

impl Provenance {
    pub(super) fn of(snapshot: &Snapshot, token: Address) -> Self {
        let dataset: &Dataset = &snapshot.dataset;
        let loaded = dataset.tables.iter().filter(|table| table.loaded());
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: token.to_string(),
            as_of: dataset.as_of.as_ref().map(|as_of| as_of.time.0),
            settings: short(Sha256::digest(format!("{:?}", snapshot.settings)).as_slice()),
            record: record(snapshot),
            tables: loaded
                .map(|table| TableProvenance {
                    name: table.schema.name.to_owned(),
                    rows: table.height() as u64,
                    hash: short(&table.rows_hash()),
                })
                .collect(),
            unread: dataset.tables.iter().filter_map(unread).collect(),
        }
    }

    /// The point in time of the report.
    pub fn as_of(&self) -> Option<Time> {
        self.as_of.map(Time)
    }

    /// Its line in the report.
    pub(super) fn line(&self) -> String {
        format!(
            "{BEGIN}{}{END}\n",
            serde_json::to_string(self).unwrap_or_default()
        )
    }

    /// Reads it from a report; `None` if there is none, or it cannot be read.
    pub fn read(report: &str) -> Option<Self> {
        let (_, rest) = report.rsplit_once(BEGIN)?;
        serde_json::from_str(rest.split_once(END)?.0).ok()
    }

    /// The inputs needed to recompute the report, in words.
    pub fn needs(&self) -> String {
        let tables: Vec<String> = self
            .tables
            .iter()
            .map(|table| format!("{} ({})", table.name, plural(table.rows, "row", "rows")))
            .collect();
        let when = self
            .as_of()
            .map_or_else(String::new, |time| format!(" as of {}", time.minute_text()));
        format!(
            "the dataset with {}{when}, and tokendeck {}",
            tables.join(", "),
            self.version
        )
    }

    /// Differences between the inputs then and now, in words.
    pub fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if self.version != now.version {
            changes.push(format!(
                "created by tokendeck {}; this is {}",
                self.version, now.version
            ));
        }
        if self.settings != now.settings {
            changes.push(
                "created with different settings ([analysis] in config.toml, exchanges.toml)"
                    .to_owned(),
            );
        }
        if self.record != now.record {
            let then = if self.record.is_some() {
                "created with a different track record of all tokens"
            } else {
                "created before the track record of all tokens was computed"
            };
            changes.push(then.to_owned());
        }
        for table in &self.tables {
            match now.tables.iter().find(|now| now.name == table.name) {
                None => changes.push(
                    match now.unread.iter().find(|(name, _)| *name == table.name) {
                        Some((name, reason)) => format!("table `{name}` cannot be read: {reason}"),
                        None => format!("table `{}` was removed", table.name),
                    },
                ),
                Some(now) if now.rows != table.rows => {
                    changes.push(format!(
                        "table `{}` had {}, now {}",
                        table.name,
                        plural(table.rows, "row", "rows"),
                        count(now.rows)
                    ));
                }
                Some(now) if now.hash != table.hash => changes.push(format!(
                    "rows of table `{}` have different values",
                    table.name
                )),
                Some(_) => {}
            }
        }
        let new = now
            .tables
            .iter()
            .filter(|now| self.tables.iter().all(|table| table.name != now.name));
        changes.extend(new.map(|table| format!("table `{}` is new", table.name)));
        changes
    }
}

fn unread(table: &Table) -> Option<(String, String)> {
    match &table.state {
        TableState::Unusable(reason) => Some((table.schema.name.to_owned(), reason.clone())),
        TableState::Loaded | TableState::Absent => None,
    }
}

/// The report without its sources: file times differ if the files were copied, and the hashes compare their rows.
pub fn figures_of(report: &str) -> &str {
    let end = ["\n## Sources\n", "<h2>Sources", "<h2>sources"]
        .iter()
        .find_map(|heading| report.rfind(heading));
    end.map_or(report, |end| &report[..end])
}

/// Lines in only one of the reports: `- ` in the first, `+ ` in the second. Up to 20, then the number of further lines.
pub fn differing_lines(before: &str, now: &str) -> Vec<String> {
    let only = |of: &str, other: &str, sign: char| -> Vec<String> {
        let known: std::collections::HashSet<&str> = other.lines().collect();
        let lines = of.lines().filter(|line| !known.contains(line));
        lines
            .map(|line| format!("{sign} {}", line.trim()))
            .collect()
    };
    let mut lines = only(before, now, '-');
    lines.extend(only(now, before, '+'));
    let more = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    if more > 0 {
        lines.push(format!(
            "… and {} more",
            plural(more as u64, "line", "lines")
        ));
    }
    lines
}

/// The first half of a hash.
fn record(snapshot: &Snapshot) -> Option<String> {
    let records = &snapshot.track_records;
    let patterns = records.known("1d").map(|record| record.digest);
    let Some(verdicts) = records.known_security() else {
        return patterns.map(|digest| short(&digest));
    };
    let both = [patterns.unwrap_or_default(), verdicts.digest].concat();
    Some(short(&Sha256::digest(both)))
}

fn short(hash: &[u8]) -> String {
    const_hex::encode(&hash[..hash.len().min(16)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_files_are_written_makes_no_difference() {
        assert_eq!(figures_of("# A\n\n## Sources\n\nx"), "# A\n");
        for heading in ["<h2>Sources", "<h2>sources"] {
            assert_eq!(
                figures_of(&format!("<h1>A</h1>{heading} <small>x")),
                "<h1>A</h1>"
            );
        }
        assert_eq!(figures_of("# A"), "# A");
    }

    fn provenance() -> Provenance {
        let table = |name: &str, rows, hash: &str| TableProvenance {
            name: name.to_owned(),
            rows,
            hash: hash.to_owned(),
        };
        Provenance {
            version: "1.0.0".to_owned(),
            token: "0x01".to_owned(),
            as_of: Some(0),
            settings: "s".to_owned(),
            record: None,
            tables: vec![table("candles", 2, "a"), table("posts", 1, "b")],
            unread: Vec::new(),
        }
    }

    #[test]
    fn it_is_read_back_from_the_report_and_names_its_inputs() {
        let made = provenance();
        let report = format!("# A report\n\n{}", made.line());
        assert_eq!(Provenance::read(&report), Some(made.clone()));
        assert_eq!(Provenance::read("# Another"), None);
        assert_eq!(
            made.needs(),
            "the dataset with candles (2 rows), posts (1 row) as of 1970-01-01 00:00, and tokendeck 1.0.0"
        );
    }

    #[test]
    fn what_changed_is_named() {
        let (made, mut now) = (provenance(), provenance());
        assert_eq!(made.changes(&now), Vec::<String>::new());
        now.version = "2.0.0".to_owned();
        now.settings = "t".to_owned();
        now.record = Some("r".to_owned());
        now.tables[0].rows = 3;
        now.tables[1].hash = "c".to_owned();
        now.tables.push(TableProvenance {
            name: "pools".to_owned(),
            rows: 1,
            hash: String::new(),
        });
        assert_eq!(
            made.changes(&now),
            [
                "created by tokendeck 1.0.0; this is 2.0.0",
                "created with different settings ([analysis] in config.toml, exchanges.toml)",
                "created before the track record of all tokens was computed",
                "table `candles` had 2 rows, now 3",
                "rows of table `posts` have different values",
                "table `pools` is new",
            ]
        );
        let mut damaged = made.clone();
        assert_eq!(
            now.changes(&damaged).last().map(String::as_str),
            Some("table `pools` was removed")
        );
        damaged.unread = vec![("pools".to_owned(), "line 3 has no end".to_owned())];
        assert_eq!(
            now.changes(&damaged).last().map(String::as_str),
            Some("table `pools` cannot be read: line 3 has no end")
        );
        assert_eq!(differing_lines("a\nb\n", "a\nc\n"), ["- b", "+ c"]);
    }
}
