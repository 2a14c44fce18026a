//! `tokendeck import`: converts third-party files into dataset tables, and reports the outcome per file.

use std::{
    fmt::Write as _,
    io::{IsTerminal, Write as _, stderr, stdin, stdout},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::Args;
use color_eyre::eyre::{Report, Result, bail, eyre};

use super::{
    LocationArgs,
    check::{FINDING_HEADER, finding_lines},
    meter::Meter,
    outcome::{Failure, Outcome, print, printable, say, say_more},
    program::{config_folder, configuration},
    signals::stop_flag,
    table::{aligned, aligned_to_the_end},
    token::TokenName,
};
use import::{
    AmountUnit, Dates, FileReport, FormatRow, Formats, ImportError, ImportOptions, ImportReport,
    PLACEHOLDERS, Preview, Taken, VolumeUnit, Zone, assignment, chain, decimals, import,
    table_name,
};
use model::{
    address::Address,
    chain::Chain,
    command_line::shell_word,
    format::{count, plural},
    progress::{Cancelled, LoadProgress},
};

/// Parses the token; a placeholder of a suggested command is not a token.
fn token(text: &str) -> Result<TokenName> {
    match import::token(text) {
        Err(reason) if PLACEHOLDERS.iter().any(|(word, _)| *word == text) => {
            Err(Report::msg(reason))
        }
        _ => super::token::token(text),
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Formats are detected from the content; .gz, .zst and .zip are unpacked. Pass --formats to list the formats. Define \
        your own in formats.toml, next to config.toml or in the dataset's folder."
)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a command-line switch"
)]
pub(super) struct ImportArgs {
    /// Files to import; - reads stdin
    #[arg(required_unless_present = "formats", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Dataset folder, created if missing
    #[arg(long, value_name = "DIR", required_unless_present = "formats")]
    into: Option<PathBuf>,
    /// Token of a file that doesn't name one: address, or unique symbol in the dataset
    #[arg(long, value_name = "TOKEN", value_parser = token)]
    token: Option<TokenName>,
    /// Coin without a contract, such as BTC
    #[arg(long, value_name = "SYMBOL", conflicts_with = "token")]
    coin: Option<String>,
    /// Chain of tokens and labels that don't name one
    #[arg(long, value_name = "CHAIN", value_parser = chain)]
    chain: Option<Chain>,
    /// Label for a list of labeled accounts
    #[arg(long)]
    label: Option<String>,
    /// Import only rows with this column value, such as symbol=ETH/USDT
    #[arg(long, value_name = "COLUMN=VALUE", value_parser = assignment)]
    pick: Vec<(String, String)>,
    /// Map a file column to a tokendeck column, such as close=Price
    #[arg(long, value_name = "TARGET=COLUMN", value_parser = assignment)]
    map: Vec<(String, String)>,
    /// Set a tokendeck column to one value, such as dex_id=uniswap-v3
    #[arg(long, value_name = "TARGET=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Table for --map and --set
    #[arg(long = "as", value_name = "TABLE", value_parser = table_name)]
    table: Option<String>,
    /// Unit of amounts (raw, whole), of yields (percent, fraction) or of fees (also millionths)
    #[arg(long, value_name = "raw|whole|percent|fraction|millionths", value_parser = str::parse::<AmountUnit>)]
    unit: Option<AmountUnit>,
    /// Unit of volumes, if the file doesn't say
    #[arg(long, value_name = "usd|token", value_parser = str::parse::<VolumeUnit>)]
    volume: Option<VolumeUnit>,
    /// Decimals of a token that the dataset doesn't know
    #[arg(long, value_name = "N", value_parser = decimals)]
    decimals: Option<u32>,
    /// Order of ambiguous dates: day or month first
    #[arg(long, value_name = "day|month", value_parser = str::parse::<Dates>)]
    dates: Option<Dates>,
    /// Time zone of times without one, such as Europe/Berlin, EST or +05:30
    #[arg(long, value_name = "ZONE", value_parser = str::parse::<Zone>, allow_hyphen_values = true)]
    timezone: Option<Zone>,
    /// Import even if more than 1% of rows are invalid
    #[arg(long)]
    broken_too: bool,
    /// Write without asking (never asks without a terminal)
    #[arg(long, short)]
    yes: bool,
    /// Treat prices as USD, whatever the file says
    #[arg(long)]
    as_usd: bool,
    /// Show what would happen, write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// List known formats
    #[arg(long)]
    formats: bool,
}

/// Shows progress, and cancels after a signal.
struct Watch {
    meter: Meter,
    stop: Arc<AtomicBool>,
}

impl LoadProgress for Watch {
    fn step(&self, name: &str, done: u64, total: u64) -> Result<(), Cancelled> {
        self.meter.show(name, done, total);
        if self.stop.load(Ordering::Relaxed) {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

pub(super) fn run(args: &ImportArgs) -> Outcome {
    if let Some(into) = args
        .into
        .as_ref()
        .filter(|into| into.exists() && !into.is_dir())
    {
        bail!(
            "`{}` is not a folder; choose a folder to import into",
            into.display()
        );
    }
    let formats = own_and_known(args.into.as_deref())?;
    let Some(into) = args.into.as_ref().filter(|_| !args.formats) else {
        return print(listed(&formats));
    };
    let location = LocationArgs {
        config: None,
        data: Some(into.clone()),
        remote: false,
        as_of: None,
    };
    if let (Some(TokenName::Symbol(symbol)), false) = (&args.token, into.is_dir()) {
        let folder = into.display();
        let reason = eyre!(
            "`--token {symbol}`: `{folder}` has no dataset yet in which to look up the symbol; pass the address"
        );
        bail!(Failure::Usage(reason));
    }
    let token = args
        .token
        .as_ref()
        .map(|token| token.find_in(&location))
        .transpose()?;
    let stop = stop_flag()?;
    let options = ImportOptions {
        token: token.or_else(|| args.coin.as_deref().map(Address::coin)),
        coin: args.coin.clone(),
        chain: args.chain.clone(),
        label: args.label.clone(),
        as_usd: args.as_usd,
        dry_run: args.dry_run,
        table: args.table.clone(),
        map: args.map.clone(),
        set: args.set.clone(),
        pick: args.pick.clone(),
        unit: args.unit,
        volume: args.volume,
        decimals: args.decimals,
        dates: args.dates,
        timezone: args.timezone,
        broken_too: args.broken_too,
    };
    let asks =
        !args.yes && !args.dry_run && !args.json && stdin().is_terminal() && stdout().is_terminal();
    if asks && !agreed(args, into, &formats, &options, &stop)? {
        say("import canceled; nothing was changed");
        bail!(Failure::Reported);
    }
    let report = take(args, into, &formats, &options, &stop)?;
    let text = if args.json {
        format!("{:#}\n", serde_json::to_value(&report).unwrap_or_default())
    } else {
        let mut text = as_text(&report, args.dry_run);
        if report.tables.iter().any(|table| table.written) {
            writeln!(
                text,
                "open it with: tokendeck --data {}",
                shell_word(&into.to_string_lossy())
            )
            .ok();
        }
        text
    };
    print(text)?;
    report_refused(&report, into)
}

/// Prints every refused file with a command that may accept it.
fn report_refused(report: &ImportReport, into: &Path) -> Outcome {
    let mut outcome = Ok(());
    for file in &report.files {
        let Some(reason) = &file.refused else {
            continue;
        };
        say(&format!("`{}` {reason}", file.file));
        if !file.try_with.is_empty() {
            say_more(&try_line(file, into));
        }
        outcome = Err(Failure::Reported.into());
    }
    outcome
}

/// Suggests a command that would accept the file, or gets closer to it.
fn try_line(file: &FileReport, into: &Path) -> String {
    let (path, into) = (file.path.to_string_lossy(), into.to_string_lossy());
    let words = ["tokendeck", "import", &path, "--into", &into]
        .into_iter()
        .chain(file.try_with.iter().map(String::as_str));
    let line = words.map(shell_word).collect::<Vec<_>>().join(" ");
    let is_in = |word: &str| {
        file.try_with
            .iter()
            .any(|said| said.split('=').any(|part| part == word))
    };
    let yours: Vec<String> = PLACEHOLDERS
        .iter()
        .filter(|(word, _)| is_in(word))
        .map(|(word, what)| format!("{word} stands for {what}"))
        .collect();
    let yours = if yours.is_empty() {
        String::new()
    } else {
        format!("   # {}", yours.join(", "))
    };
    format!("  try: {line}{yours}")
}

/// Imports the files, showing progress.
fn take(
    args: &ImportArgs,
    into: &Path,
    formats: &Formats,
    options: &ImportOptions,
    stop: &Arc<AtomicBool>,
) -> Result<ImportReport> {
    let watch = Watch {
        meter: Meter::new("importing"),
        stop: Arc::clone(stop),
    };
    let outcome = import(&args.files, into, formats, options, &watch);
    drop(watch);
    match outcome {
        Ok(report) => Ok(report),
        Err(ImportError::Cancelled) => {
            say("import canceled; nothing was changed");
            Err(Failure::Signal(130).into())
        }
        Err(error) => Err(Report::msg(error)),
    }
}

/// Prints a preview and asks for confirmation; true if no question is needed.
fn agreed(
    args: &ImportArgs,
    into: &Path,
    formats: &Formats,
    options: &ImportOptions,
    stop: &Arc<AtomicBool>,
) -> Result<bool> {
    if args.files.iter().any(|file| file == Path::new("-")) {
        // Piped input cannot be read twice.
        return Ok(true);
    }
    let report = take(
        args,
        into,
        formats,
        &ImportOptions {
            dry_run: true,
            ..options.clone()
        },
        stop,
    )?;
    if report.files.iter().all(|file| file.refused.is_some()) {
        return Ok(true);
    }
    print(as_text(&report, true))?;
    write!(stderr(), "write this to {}? [y/N] ", into.display()).ok();
    let mut answer = String::new();
    stdin()
        .read_line(&mut answer)
        .map_err(|error| eyre!("cannot read your answer: {error}"))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The formats of the dataset's folder and of the user, before the built-in ones.
fn own_and_known(into: Option<&Path>) -> Result<Formats> {
    Formats::of(config_folder(&configuration(None)?).as_deref(), into).map_err(Report::msg)
}

fn listed(formats: &Formats) -> String {
    let row = |format: &FormatRow| {
        let own = format.file.as_ref().map_or_else(String::new, |file| {
            format!(" (user-defined, {})", file.display())
        });
        vec![
            format.word.clone(),
            format.tables(),
            format!("{}: {}{own}", format.title, format.looks),
        ]
    };
    aligned_to_the_end(
        &["format", "tables", "description"],
        &formats.rows().iter().map(row).collect::<Vec<_>>(),
    )
}

fn as_text(report: &ImportReport, dry_run: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for file in report.files.iter().filter(|file| file.refused.is_none()) {
        let tables: Vec<&str> = file.taken.iter().map(|taken| taken.table).collect();
        writeln!(
            text,
            "{}: {} → {}",
            printable(&file.file),
            file.title.as_deref().unwrap_or_default(),
            tables.join(", ")
        )
        .ok();
        for says in &file.says {
            writeln!(text, "  {}", printable(says)).ok();
        }
        for preview in &file.previews {
            text.push_str(&preview_lines(preview));
        }
        for taken in &file.taken {
            writeln!(text, "  {}", taken_line(taken, file.taken.len() > 1)).ok();
        }
        let lines = finding_lines(&file.findings);
        if !lines.is_empty() {
            let table = aligned_to_the_end(&FINDING_HEADER, &lines);
            for line in table.lines() {
                writeln!(text, "  {line}").ok();
            }
        }
    }
    for note in &report.notes {
        writeln!(text, "{}", printable(note)).ok();
    }
    if !report.tables.is_empty() {
        let row = |table: &import::TableReport| {
            let state = match (table.written, dry_run) {
                (true, _) => "written",
                (false, true) => "dry run; nothing was written",
                (false, false) => "unchanged",
            };
            vec![
                table.table.to_owned(),
                table.file.clone(),
                count(table.rows),
                state.to_owned(),
            ]
        };
        text.push_str(&aligned(
            &["table", "file", "rows", "state"],
            &report.tables.iter().map(row).collect::<Vec<_>>(),
        ));
    }
    text
}

/// Renders each column's source and reason, with the first converted rows.
fn preview_lines(preview: &Preview) -> String {
    let rows: Vec<Vec<String>> = preview
        .columns
        .iter()
        .enumerate()
        .map(|(i, guess)| {
            let first = preview
                .rows
                .iter()
                .take(2)
                .map(|row| row.get(i).map_or("", String::as_str).to_owned());
            [
                guess.column.to_owned(),
                guess.from.clone(),
                guess.why.to_owned(),
            ]
            .into_iter()
            .chain(first)
            .collect()
        })
        .collect();
    let mut text = String::new();
    for line in aligned(
        &[preview.table, "from", "why", "first row", "second row"],
        &rows,
    )
    .lines()
    {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// `1,344 rows: 1,340 new, 4 repeated`, omitting zero counts.
fn taken_line(taken: &Taken, several: bool) -> String {
    let counts = [
        (taken.new, "new"),
        (taken.changed, "replacing existing rows"),
        (taken.same, "already present"),
        (taken.repeated, "repeated"),
        (taken.set_aside, "rejected"),
    ];
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(rows, _)| *rows > 0)
        .map(|(rows, what)| format!("{} {what}", count(*rows)))
        .collect();
    if taken.left_out > 0 {
        parts.push(format!(
            "{} excluded: rows that {}",
            count(taken.left_out),
            taken.left_out_why
        ));
    }
    let table = if several {
        format!("{}: ", taken.table)
    } else {
        String::new()
    };
    let rows = plural(taken.rows, "row", "rows");
    format!(
        "{table}{rows}: {}",
        if parts.is_empty() {
            "none imported".to_owned()
        } else {
            parts.join(", ")
        }
    )
}
