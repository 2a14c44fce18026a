//! `tokendeck cache`: lists and clears the on-disk cache of large tables, which can be rebuilt from the dataset at any time.

use std::{
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use clap::{Args, Subcommand};
use color_eyre::eyre::eyre;

use super::{
    outcome::{Outcome, print},
    program::{cache, configuration},
    table::section,
};
use frames::cache::{Entry, list};
use load::formats::downloads;
use model::{format::plural, time::Time};

#[derive(Debug, Args)]
pub(super) struct CacheArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Configuration file
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List cached tables with rows, size and last use
    List,
    /// Delete cached tables, except those being built
    Clear,
}

pub(super) fn run(args: &CacheArgs) -> Outcome {
    let config = configuration(args.config.as_deref())?;
    let folder = cache(&config)
        .folder
        .ok_or_else(|| eyre!("no cache folder; set HOME or cache.dir"))?;
    match args.command {
        None | Some(Command::List) => print(listed(&folder, &list(&folder))),
        Some(Command::Clear) => clear(&folder),
    }
}

fn listed(folder: &Path, entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        let table = if entry.part {
            "(unfinished)"
        } else {
            entry.table.as_str()
        };
        let used = entry
            .used
            .and_then(|used| used.duration_since(UNIX_EPOCH).ok());
        let used = used.map_or_else(String::new, |used| {
            Time(used.as_millis() as i64).minute_text()
        });
        vec![
            table.to_owned(),
            entry.rows.to_string(),
            megabytes(entry.bytes),
            used,
            entry.name.clone(),
        ]
    };
    let table = section(
        &["table", "rows", "MB", "used", "name"],
        entries.iter().map(row),
    );
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    let kept = downloads::bytes(folder);
    let kept = if kept == 0 {
        String::new()
    } else {
        format!("; plus {} MB of remote files", megabytes(kept))
    };
    format!(
        "{table}{} in `{}`: {} MB{kept}\n",
        tables(entries.len()),
        folder.display(),
        megabytes(bytes)
    )
}

fn clear(folder: &Path) -> Outcome {
    let entries = list(folder);
    let (removed, kept): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.remove());
    let bytes = removed.iter().map(|entry| entry.bytes).sum::<u64>() + downloads::clear(folder);
    let rest = if kept.is_empty() {
        String::new()
    } else {
        format!("; {} still being built", tables(kept.len()))
    };
    print(format!(
        "removed {}, {} MB{rest}\n",
        tables(removed.len()),
        megabytes(bytes)
    ))
}

fn tables(count: usize) -> String {
    plural(count as u64, "table", "tables")
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}
