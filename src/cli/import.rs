//! `tokendeck import`: takes files as researchers get them into a dataset's own columns, and says what became of each.

use std::{
    fmt::Write as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::Args;

use super::{
    check::{finding_line, line},
    demo::shell_word,
    meter::Meter,
    outcome::{Failure, Outcome, print, printable, say},
    table::{aligned, aligned_to_the_end},
};
use crate::dataset::{
    address::Address,
    chain::Chain,
    import::{FORMATS, FileReport, ImportError, ImportOptions, Report, Taken, import},
    progress::{Cancelled, Progress},
};

/// Findings of one reason that are printed; all are counted, and `--json` has more.
const PRINTED_PER_REASON: usize = 5;

#[derive(Debug, Args)]
#[command(after_help = "Formats are told by what a file holds, packed as .gz, .zst or .zip too; --formats lists them.")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Import {
    /// The files to take
    #[arg(required_unless_present = "formats", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder of the dataset, made if it is not there
    #[arg(long, value_name = "DIR", required_unless_present = "formats")]
    into: Option<PathBuf>,
    /// The token of a file that does not say which it is of
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    token: Option<Address>,
    /// The chain of tokens and labels that do not say theirs
    #[arg(long, value_name = "CHAIN", default_value = "eth", value_parser = chain)]
    chain: Chain,
    /// The label of a dump of labelled accounts, instead of the word its name ends with
    #[arg(long)]
    label: Option<String>,
    /// Take prices as USD whatever the file's name says
    #[arg(long)]
    as_usd: bool,
    /// Say what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// The report as JSON
    #[arg(long)]
    json: bool,
    /// List the formats that are known, and how each looks
    #[arg(long)]
    formats: bool,
}

fn address(text: &str) -> Result<Address, String> {
    Address::parse(text).ok_or_else(|| "expected an address: 0x and 40 hex digits".to_owned())
}

fn chain(text: &str) -> Result<Chain, String> {
    Chain::known(text).ok_or_else(|| format!("no such chain is known: did you mean {}?", Chain::nearest(text).join(", ")))
}

/// Shows how far it is, and ends when the person no longer wants it.
struct Watch {
    meter: Meter,
    stop: Arc<AtomicBool>,
}

impl Progress for Watch {
    fn step(&self, name: &str, done: u64, total: u64) -> Result<(), Cancelled> {
        self.meter.show(name, done, total);
        if self.stop.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}

pub(super) fn run(args: &Import) -> Outcome {
    let Some(into) = args.into.as_ref().filter(|_| !args.formats) else { return print(formats().as_bytes()) };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // A second one ends the program at once; nothing half-written is left by that either.
        let outcome = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)));
        outcome.map_err(|error| Failure::Bad(format!("signals cannot be heard: {error}")))?;
    }
    let options = ImportOptions {
        token: args.token,
        chain: args.chain.clone(),
        label: args.label.clone(),
        as_usd: args.as_usd,
        dry_run: args.dry_run,
    };
    let outcome = {
        let watch = Watch { meter: Meter::new("importing"), stop };
        import(&args.files, into, &options, &watch)
    };
    let report = match outcome {
        Ok(report) => report,
        Err(ImportError::Cancelled) => {
            say("the import was cancelled: nothing was changed");
            return Err(Failure::Signal(130));
        }
        Err(ImportError::Failed(reason)) => return Err(Failure::Bad(reason)),
    };
    let text = if args.json {
        format!("{:#}\n", serde_json::to_value(&report).unwrap_or_default())
    } else {
        let mut text = as_text(&report, args.dry_run);
        if report.tables.iter().any(|table| table.written) {
            writeln!(text, "open it with: tokendeck --data {}", shell_word(&into.to_string_lossy())).ok();
        }
        text
    };
    print(text.as_bytes())?;
    let mut refused = report.files.iter().filter_map(|file| file.refused.as_ref().map(|reason| (file, reason))).peekable();
    if refused.peek().is_none() {
        return Ok(());
    }
    for (file, reason) in refused {
        say(&format!("`{}` {reason}", file.file));
    }
    Err(Failure::Told)
}

fn formats() -> String {
    let rows: Vec<Vec<String>> = FORMATS
        .iter()
        .map(|format| {
            let tables = if format.tables.len() > 3 { "any table".to_owned() } else { format.tables.join(", ") };
            vec![format.word.to_owned(), tables, format!("{}: {}", format.title, format.looks)]
        })
        .collect();
    aligned_to_the_end(&["format", "into", "how it looks"], &rows)
}

fn as_text(report: &Report, dry_run: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for file in report.files.iter().filter(|file| file.refused.is_none()) {
        let tables: Vec<&str> = file.taken.iter().map(|taken| taken.table).collect();
        writeln!(text, "{}: {} → {}", printable(&file.file), file.title.unwrap_or_default(), tables.join(", ")).ok();
        for says in &file.says {
            writeln!(text, "  {}", printable(says)).ok();
        }
        for taken in &file.taken {
            writeln!(text, "  {}", taken_line(taken, file.taken.len() > 1)).ok();
        }
        let lines = finding_lines(file);
        if !lines.is_empty() {
            let table = aligned_to_the_end(&["severity", "file", "row", "column", "value", "reason"], &lines);
            for line in table.lines() {
                writeln!(text, "  {line}").ok();
            }
        }
    }
    for note in &report.notes {
        writeln!(text, "{}", printable(note)).ok();
    }
    if !report.tables.is_empty() {
        let row = |table: &crate::dataset::import::TableReport| {
            let state = match (table.written, dry_run) {
                (true, _) => "written",
                (false, true) => "not written: a dry run",
                (false, false) => "unchanged",
            };
            vec![table.table.to_owned(), table.file.clone(), table.rows.to_string(), state.to_owned()]
        };
        text.push_str(&aligned(&["table", "file", "rows", "state"], &report.tables.iter().map(row).collect::<Vec<_>>()));
    }
    text
}

/// `1,344 rows: 1,340 new, 4 repeated`; what there is none of is not said.
fn taken_line(taken: &Taken, several: bool) -> String {
    let counts = [
        (taken.new, "new"),
        (taken.changed, "in place of others"),
        (taken.same, "there already"),
        (taken.repeated, "repeated"),
        (taken.set_aside, "set aside"),
    ];
    let mut parts: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if taken.left_out > 0 {
        parts.push(format!("{} left out as they {}", taken.left_out, taken.left_out_why));
    }
    let table = if several { format!("{}: ", taken.table) } else { String::new() };
    let rows = if taken.rows == 1 { "row" } else { "rows" };
    format!("{table}{} {rows}: {}", taken.rows, if parts.is_empty() { "none taken".to_owned() } else { parts.join(", ") })
}

fn finding_lines(file: &FileReport) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for count in file.findings.counts() {
        let same = file.findings.kept().iter().filter(|finding| (&finding.column, &finding.reason) == (&count.column, &count.reason));
        let mut printed = 0;
        for finding in same.take(PRINTED_PER_REASON) {
            lines.push(finding_line(finding));
            printed += 1;
        }
        if count.count > printed {
            let more = format!("and {} more: {}", count.count - printed, count.reason);
            lines.push(line(count.severity, &count.file, [None, count.column.as_deref(), None], &more));
        }
    }
    lines
}
