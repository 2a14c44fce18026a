//! `tokendeck check`: loads a dataset and lists its issues.

use std::path::{Path, PathBuf};

use clap::Args;
use color_eyre::eyre::{Report, Result, eyre};
use serde_json::json;

use super::{
    meter::Meter,
    outcome::{Failure, Outcome, print},
    program::{cache, configuration, own_providers, require_data, wire},
    table::section,
};
use load::{
    Dataset, Table,
    live::{live_tables, provider_errors},
    loader::{load_as, read_manifest},
    manifest::{self, Manifest},
    provider,
};
use model::{
    findings::{Finding, Findings, Severity},
    format::{self, plural},
};
use wire::Consent;

/// Printed values per reason; `--json` prints more.
const PRINTED_PER_REASON: usize = 5;
/// Printed rows of a value.
const ROWS_SHOWN: usize = 3;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Dataset folder (overrides the configuration)
    dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Allow requests to the hosts that the dataset names, without asking
    #[arg(long)]
    remote: bool,
}

pub(super) fn run(args: &CheckArgs) -> Outcome {
    let mut config = configuration(args.config.as_deref())?;
    if args.remote {
        config.remote.enabled = Consent::Always;
    }
    let folder = args.dir.as_ref().unwrap_or(&config.datasets.dir);
    let wire = wire(&config);
    require_data(folder, Some(&wire))?;
    let loaded = {
        let meter = Meter::new("reading");
        meter.beside(
            Some(&wire),
            || {},
            || load_as(folder, &cache(&config), Some(&wire), &meter, None, false),
        )
    };
    let mut dataset =
        loaded.map_err(|error| eyre!("cannot read `{}`: {error}", folder.display()))?;
    for (name, reason) in wrong_providers(folder, own_providers(&config).as_deref())? {
        if let Some(table) = dataset
            .tables
            .iter_mut()
            .find(|table| table.schema.name == name)
        {
            table.findings.add(Finding::new(
                Severity::Error,
                manifest::FILE,
                format!("[tables.{name}] `provider`: {reason}"),
            ));
        }
    }
    let text = if args.json {
        as_json(&dataset)
    } else {
        as_table(&dataset)
    };
    print(text)?;
    if count(&dataset, Severity::Error) > 0 {
        Err(Failure::Reported.into())
    } else {
        Ok(())
    }
}

/// Each live table that names a wrong provider, which no load notices, with the reason. Errors: a provider's description cannot be read.
fn wrong_providers(folder: &Path, own: Option<&Path>) -> Result<Vec<(&'static str, String)>> {
    let text = read_manifest(&folder.join(manifest::FILE))?;
    let manifest = Manifest::parse(&text).map_err(|error| eyre!("{}, {error}", manifest::FILE))?;
    // Without a live table, a wrong description in the user's folder is no issue of the dataset.
    if live_tables(&manifest).is_empty() {
        Ok(Vec::new())
    } else {
        let providers = provider::all(own, Some(folder)).map_err(Report::msg)?;
        Ok(provider_errors(&manifest, &providers))
    }
}

/// Counts the issues of a severity; an unusable table counts as an error.
fn count(dataset: &Dataset, severity: Severity) -> u64 {
    let unusable =
        |table: &Table| u64::from(severity == Severity::Error && unusable_reason(table).is_some());
    dataset
        .tables
        .iter()
        .map(|table| table.findings.count(severity) + unusable(table))
        .sum()
}

/// Returns why the table is unusable, unless one of its issues already reports it.
fn unusable_reason(table: &Table) -> Option<&str> {
    table.state.reason().filter(|reason| {
        !table
            .findings
            .kept()
            .iter()
            .any(|finding| finding.reason == *reason)
    })
}

fn as_table(dataset: &Dataset) -> String {
    let mut rows = Vec::new();
    for table in &dataset.tables {
        if let Some(reason) = unusable_reason(table) {
            rows.push(line(
                Severity::Error,
                file_of(table, reason),
                [None, None, None],
                reason,
            ));
        }
        rows.extend(finding_lines(&table.findings));
    }
    section(&FINDING_HEADER, rows) + &summary(dataset) + "\n"
}

/// Returns the file that made the table unusable: the file at the start of its reason, or its last source, or the table's name.
fn file_of<'a>(table: &'a Table, reason: &'a str) -> &'a str {
    let named = reason
        .strip_prefix('`')
        .and_then(|rest| rest.split_once('`'))
        .filter(|(_, rest)| !rest.starts_with(','))
        .map(|(name, _)| name);
    let source = || table.sources.last().map(|source| source.file.as_str());
    named.or_else(source).unwrap_or(table.schema.name)
}

/// Column headers of `finding_lines`.
pub(super) const FINDING_HEADER: [&str; 6] =
    ["severity", "file", "row", "column", "value", "reason"];

/// One line for each value with an issue, up to `PRINTED_PER_REASON` per reason, with the first affected rows.
pub(super) fn finding_lines(findings: &Findings) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for count in findings.counts() {
        let said = |finding: &&Finding| {
            (&finding.file, &finding.column, &finding.reason)
                == (&count.file, &count.column, &count.reason)
        };
        let mut values: Vec<(Option<&str>, Vec<u64>, u64)> = Vec::new();
        for finding in findings.kept().iter().filter(said) {
            let known = values
                .iter()
                .position(|(value, ..)| *value == finding.value.as_deref());
            let place = known.unwrap_or_else(|| {
                values.push((finding.value.as_deref(), Vec::new(), 0));
                values.len() - 1
            });
            values[place].1.extend(finding.row);
            values[place].2 += 1;
        }
        if let [(None, _, all)] = &mut values[..] {
            // Those that are only counted have none either.
            *all = count.count;
        }
        let mut left = count.count;
        for (value, rows, all) in values.into_iter().take(PRINTED_PER_REASON) {
            left -= all;
            let shown: Vec<String> = rows
                .iter()
                .take(ROWS_SHOWN)
                .map(ToString::to_string)
                .collect();
            let more = all - shown.len() as u64;
            let row = shown.join(", ")
                + &if more > 0 && !shown.is_empty() {
                    format!(" and {more} more")
                } else {
                    String::new()
                };
            let times = if shown.is_empty() && all > 1 {
                format!("{all} times: ")
            } else {
                String::new()
            };
            lines.push(line(
                count.severity,
                &count.file,
                [Some(&row), count.column.as_deref(), value],
                &(times + &count.reason),
            ));
        }
        if left > 0 {
            let more = format!("and {left} more: {}", count.reason);
            lines.push(line(
                count.severity,
                &count.file,
                [None, count.column.as_deref(), None],
                &more,
            ));
        }
    }
    lines
}

fn line(
    severity: Severity,
    file: &str,
    [row, column, value]: [Option<&str>; 3],
    reason: &str,
) -> Vec<String> {
    [
        word(severity),
        file,
        row.unwrap_or(""),
        column.unwrap_or(""),
        value.unwrap_or(""),
        reason,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn summary(dataset: &Dataset) -> String {
    let loaded: Vec<&Table> = dataset
        .tables
        .iter()
        .filter(|table| table.loaded())
        .collect();
    let rows: usize = loaded.iter().map(|table| table.height()).sum();
    let rejected: u64 = dataset.tables.iter().map(|table| table.rows_bad).sum();
    format!(
        "{} of {} tables, {} ({} rejected): {}, {}, {}",
        loaded.len(),
        dataset.tables.len(),
        plural(rows as u64, "row", "rows"),
        format::count(rejected),
        plural(count(dataset, Severity::Error), "error", "errors"),
        plural(count(dataset, Severity::Warning), "warning", "warnings"),
        plural(count(dataset, Severity::Note), "note", "notes"),
    )
}

fn as_json(dataset: &Dataset) -> String {
    let table = |table: &Table| {
        json!({
            "name": table.schema.name, "state": table.state.word(), "reason": table.state.reason(),
            "rows": table.height(), "rows_bad": table.rows_bad,
            "sources": table.sources.iter().map(|source| &source.file).collect::<Vec<_>>(),
            "findings": table.findings.kept(), "counts": table.findings.counts(),
        })
    };
    let report = json!({
        "title": dataset.title, "synthetic": dataset.synthetic,
        "errors": count(dataset, Severity::Error), "warnings": count(dataset, Severity::Warning), "notes": count(dataset, Severity::Note),
        "tables": dataset.tables.iter().map(table).collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{schema, table_state::TableState};

    #[test]
    fn findings_line_up_and_are_summed() {
        let mut findings = Findings::default();
        for row in 1..=102 {
            findings.add(Finding {
                severity: Severity::Error,
                file: "tokens.csv".into(),
                row: Some(row),
                column: Some("token_address".into()),
                value: Some("0x12".into()),
                reason: "expected an address".into(),
            });
        }
        let tokens = Table {
            findings,
            rows_bad: 102,
            ..Table::absent(schema::table("tokens").expect("a table"))
        };
        let posts = Table {
            state: TableState::Unusable("is damaged".into()),
            ..Table::absent(schema::table("posts").expect("a table"))
        };
        for (reason, named) in [
            ("`posts.csv.gz` is cut off", "posts.csv.gz"),
            ("several files match the table: `a`, `b`", "posts"),
            ("is gone", "posts"),
        ] {
            assert_eq!(file_of(&posts, reason), named);
        }
        let text = as_table(&Dataset::new(vec![tokens, posts]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "severity  file        row                  column         value  reason"
        );
        assert_eq!(
            lines[1],
            "error     tokens.csv  1, 2, 3 and 97 more  token_address  0x12   expected an address"
        );
        assert_eq!(
            lines[2],
            "error     tokens.csv                       token_address         and 2 more: expected an address"
        );
        assert_eq!(
            lines[3],
            "error     posts                                                  is damaged"
        );
        let total = schema::TABLES.len();
        assert_eq!(
            lines[5],
            format!("0 of {total} tables, 0 rows (102 rejected): 103 errors, 0 warnings, 0 notes")
        );
    }
}
