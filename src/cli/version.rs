//! `tokendeck --version`: the version; with `--verbose` also the commit and the on-disk format versions.

use super::outcome::{Outcome, print_line};
use frames::cache::CACHE_VERSION;
use load::{chain::TRANSFERS_VERSION, schema_hash};
use model::schema::TABLES;
use query::jobs::JOBS_VERSION;

/// Set by `.ci/release`. Other builds have none: a build that asked git would be rebuilt at every commit.
const COMMIT: Option<&str> = option_env!("TOKENDECK_COMMIT");

pub(super) fn run(is_verbose: bool) -> Outcome {
    print_line(concat!("tokendeck ", env!("CARGO_PKG_VERSION")))?;
    if is_verbose {
        details().iter().try_for_each(|line| print_line(line))
    } else {
        Ok(())
    }
}

fn details() -> Vec<String> {
    let columns: usize = TABLES.iter().map(|table| table.columns.len()).sum();
    let rows = [
        (
            "commit",
            COMMIT
                .filter(|commit| !commit.is_empty())
                .unwrap_or("unknown (not a release build)")
                .to_owned(),
        ),
        (
            "system",
            format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        ),
        ("features", "all (none are optional)".to_owned()),
        (
            "dataset",
            format!(
                "schema {}: {} tables, {columns} columns",
                schema_hash(),
                TABLES.len()
            ),
        ),
        ("cache", format!("version {CACHE_VERSION}")),
        ("jobs", format!("version {JOBS_VERSION}")),
        ("transfers", format!("version {TRANSFERS_VERSION}")),
    ];
    rows.iter()
        .map(|(name, text)| format!("{name:<10} {text}"))
        .collect()
}
