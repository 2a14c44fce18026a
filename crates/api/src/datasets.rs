//! The response of GET /datasets: the loaded data, its sources and issues. Files are named relative to the dataset, never by an absolute
//! path of this machine.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use load::{Dataset, Table, TableFile, file_names::file_in};
use model::{findings::FindingCount, time::Time};
use query::{
    queries::snapshot::Snapshot,
    service::{load::LoadFailure, refresh::FeedTable},
};

/// The loaded data.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Datasets {
    title: Option<String>,
    license: Option<String>,
    /// Whether the data is synthetic: invented, not real.
    synthetic: bool,
    /// Increases with every load.
    generation: u64,
    /// Time of the point-in-time view; null for the present.
    as_of: Option<Time>,
    /// Tables without history; with `as_of` they show current values.
    as_of_unknown: Vec<&'static str>,
    /// The last load if it failed, so that the data is older than its files; null if it is up to date.
    stale: Option<Stale>,
    /// One entry per table of the schema.
    tables: Vec<DatasetTable>,
    /// The live tables.
    feeds: Vec<DatasetFeed>,
}

/// A live table.
#[derive(Debug, Serialize, JsonSchema)]
struct DatasetFeed {
    table: String,
    /// Provider that supplied the rows, or that will be requested.
    providers: Vec<String>,
    /// Attribution that must be shown with the data.
    credit: Vec<String>,
    /// Refresh interval in seconds; null if the table is refreshed only on demand.
    every_seconds: Option<i64>,
    /// Time when rows were last fetched.
    last: Option<Time>,
    /// Time of the next refresh.
    next: Option<Time>,
    /// Whether it is older than twice its refresh interval.
    stale: bool,
    /// Whether it is being fetched.
    fetching: bool,
    /// Reason why the last fetch failed.
    failure: Option<String>,
    /// Warnings about its rows.
    notes: Vec<String>,
}

impl From<FeedTable> for DatasetFeed {
    fn from(feed: FeedTable) -> Self {
        Self {
            every_seconds: feed.every.map(|every| every / 1_000),
            fetching: feed.progress.is_some(),
            stale: feed.is_stale,
            table: feed.table,
            providers: feed.providers,
            credit: feed.credit,
            last: feed.last,
            next: feed.next,
            failure: feed.failure,
            notes: feed.notes,
        }
    }
}

/// A failed load; the data of the previous load stays in use.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Stale {
    /// Time of the first failed load since the last successful one.
    since: Time,
    /// Reason why the last load failed.
    reason: String,
    /// Faulty file, if there is exactly one.
    file: Option<String>,
    /// Row in that file, counting data rows from 1; in `dataset.toml`, the line.
    row: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DatasetTable {
    name: &'static str,
    /// `loaded`, `absent` or `unusable`.
    state: &'static str,
    /// Reason why it is unusable.
    reason: Option<String>,
    rows: u64,
    /// Number of rejected rows.
    rows_bad: u64,
    /// Load time in milliseconds.
    load_ms: u64,
    /// Remote sources of its files.
    remote_sources: Vec<String>,
    /// Time of the last successful read of the remote sources, if they have been unreachable since; otherwise null.
    as_of: Option<Time>,
    sources: Vec<DatasetSource>,
    /// Number of issues by kind.
    findings: Vec<FindingCount>,
}

/// A source file of a table.
#[derive(Debug, Serialize, JsonSchema)]
struct DatasetSource {
    file: String,
    bytes: u64,
    modified: Option<Time>,
    rows: u64,
}

impl Stale {
    pub(super) fn of(failure: LoadFailure) -> Self {
        let folder = &failure.folder;
        let mut reason = without_folder(folder, &failure.reason);
        let Some(position) = failure.position else {
            return Self {
                since: failure.since,
                reason,
                file: None,
                row: None,
            };
        };
        let file = file_in(folder, &position.file);
        reason = reason.replace(&position.file, &file);
        Self {
            since: failure.since,
            reason,
            file: Some(file),
            row: position.row,
        }
    }
}

pub(super) fn describe(
    snapshot: &Snapshot,
    stale: Option<LoadFailure>,
    feeds: Vec<FeedTable>,
) -> Datasets {
    let dataset = &snapshot.dataset;
    Datasets {
        title: dataset.title.clone(),
        license: dataset.license.clone(),
        synthetic: dataset.synthetic,
        generation: snapshot.number,
        as_of: dataset.as_of.as_ref().map(|as_of| as_of.time),
        as_of_unknown: dataset
            .as_of
            .as_ref()
            .map_or_else(Vec::new, |as_of| as_of.unknown.clone()),
        stale: stale.map(Stale::of),
        tables: dataset
            .tables
            .iter()
            .map(|table| describe_table(dataset, table))
            .collect(),
        feeds: feeds.into_iter().map(DatasetFeed::from).collect(),
    }
}

fn describe_table(dataset: &Dataset, table: &Table) -> DatasetTable {
    let findings = table.findings.counts().iter().map(|count| FindingCount {
        file: dataset.name_of(&count.file),
        reason: without_folder(&dataset.folder, &count.reason),
        ..count.clone()
    });
    let source = |source: &TableFile| DatasetSource {
        file: dataset.name_of(&source.file),
        bytes: source.bytes,
        modified: source.modified,
        rows: source.rows,
    };
    DatasetTable {
        name: table.schema.name,
        state: table.state.word(),
        reason: table
            .state
            .reason()
            .map(|reason| without_folder(&dataset.folder, reason)),
        rows: table.height() as u64,
        rows_bad: table.rows_bad,
        load_ms: table.load_ms,
        remote_sources: table
            .remote
            .as_ref()
            .map(|remote| remote.sources.clone())
            .unwrap_or_default(),
        as_of: table.remote.as_ref().and_then(|remote| remote.as_of),
        sources: table.sources.iter().map(source).collect(),
        findings: findings.collect(),
    }
}

fn without_folder(folder: &Path, text: &str) -> String {
    match folder.to_str() {
        Some(folder) if folder.len() > 1 => {
            let inside = format!("{}/", folder.trim_end_matches('/'));
            replaced(
                &replaced(text, &inside, "", |_| true),
                folder,
                "the dataset",
                |next| !is_part_of_a_name(next),
            )
        }
        _ => text.to_owned(),
    }
}

fn is_part_of_a_name(sign: char) -> bool {
    sign.is_alphanumeric() || "-_./".contains(sign)
}

/// Replaces `from` by `to` unless a longer name ends in it; `ends` decides which characters may follow.
fn replaced(text: &str, from: &str, to: &str, ends: impl Fn(char) -> bool) -> String {
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let begins = all
            .chars()
            .chain(before.chars())
            .next_back()
            .is_none_or(|before| !is_part_of_a_name(before));
        all.push_str(before);
        all.push_str(if begins && after.chars().next().is_none_or(&ends) {
            to
        } else {
            from
        });
        rest = after;
    }
    all + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::SourcePosition;

    #[test]
    fn files_are_named_relative_to_the_dataset() {
        let folder = Path::new("/data/mine");
        for (file, shown) in [
            ("tokens.csv", "tokens.csv"),
            ("more/tokens.csv", "more/tokens.csv"),
            ("/data/mine/more/tokens.csv", "more/tokens.csv"),
            ("/mnt/tokens.csv", "tokens.csv"),
        ] {
            assert_eq!(file_in(folder, file), shown);
        }
        assert_eq!(
            without_folder(folder, "`/data/mine/a.csv` in /data/mine"),
            "`a.csv` in the dataset"
        );
        assert_eq!(
            without_folder(
                Path::new("my"),
                "`my/a.csv`, `s3://my-bucket/my/b.csv`, my: my"
            ),
            "`a.csv`, `s3://my-bucket/my/b.csv`, the dataset: the dataset"
        );
    }

    #[test]
    fn a_failed_load_names_its_file_relative_to_the_dataset() {
        let failure = |file: &str| LoadFailure {
            reason: format!("the table `labels` can no longer be read: `{file}` is empty"),
            position: Some(SourcePosition {
                file: file.to_owned(),
                row: Some(7),
            }),
            since: Time(0),
            folder: "/data/mine".into(),
        };
        for (file, shown) in [
            ("labels.csv", "labels.csv"),
            ("/data/mine/a/labels.csv", "a/labels.csv"),
            ("/mnt/labels.csv", "labels.csv"),
        ] {
            let stale = Stale::of(failure(file));
            assert_eq!((stale.file.as_deref(), stale.row), (Some(shown), Some(7)));
            assert_eq!(
                stale.reason,
                format!("the table `labels` can no longer be read: `{shown}` is empty")
            );
        }
    }
}
