//! `tokendeck refresh`: fetches missing rows of live tables, then exits.

use clap::Args;
use color_eyre::eyre::{Report, bail};

use super::{
    LocationArgs,
    feed::Feed,
    outcome::{Failure, Outcome, print, say},
    program::require_folder,
};
use load::live::{RefreshReport, live_tables, refresh};
use model::format::plural;

#[derive(Debug, Args)]
pub(super) struct RefreshArgs {
    /// Refresh only these tables
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    location: LocationArgs,
}

pub(super) fn run(args: &RefreshArgs) -> Outcome {
    let feed = Feed::open(&args.location)?;
    require_folder(&feed.folder)?;
    let manifest = feed.manifest()?;
    let live: Vec<&str> = live_tables(&manifest)
        .iter()
        .map(|(schema, _)| schema.name)
        .collect();
    if live.is_empty() {
        bail!(
            "`{}` has no live tables; set `provider` or `url` for a table in its dataset.toml, or create a live dataset with `tokendeck new`",
            feed.folder.display()
        );
    }
    if let Some(other) = args
        .tables
        .iter()
        .find(|table| !live.contains(&table.as_str()))
    {
        bail!(
            "`{other}` is not a live table; live tables: {}",
            live.join(", ")
        );
    }
    let only: Vec<&str> = args.tables.iter().map(String::as_str).collect();
    feed.with(None, !args.tables.is_empty(), |context| {
        let tables = feed.agreed_tables(context, &only)?;
        let report = refresh(context, &tables).map_err(Report::msg)?;
        tell(&report)
    })
}

/// Prints the fetched rows per table. Errors: a table failed.
pub(super) fn tell(report: &RefreshReport) -> Outcome {
    let mut text = String::new();
    for table in &report.tables {
        let from: Vec<&str> = table.providers.iter().map(String::as_str).collect();
        let from = if from.is_empty() {
            String::new()
        } else {
            format!(" from {}", from.join(", "))
        };
        let (rows, requests) = (
            plural(table.rows, "row", "rows"),
            plural(table.requests, "request", "requests"),
        );
        text.push_str(&format!("{}: {rows}{from}, {requests}\n", table.table));
        if !table.unknown.is_empty() {
            let tokens = plural(table.unknown.len() as u64, "token", "tokens");
            text.push_str(&if table.requests == 0 && table.rows == 0 {
                format!("  not requested for {tokens}: no provider of this table serves them\n")
            } else {
                format!("  unknown to all providers: {tokens}\n")
            });
        }
        for note in &table.notes {
            text.push_str(&format!("  {note}\n"));
        }
    }
    print(text)?;
    let failures: Vec<String> = report.failures().collect();
    if failures.is_empty() {
        return Ok(());
    }
    for failure in &failures {
        say(failure);
    }
    Err(Failure::Reported.into())
}
