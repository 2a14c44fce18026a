//! The command line: argument parsing, dispatch to a command and its exit code. Each command has its own file; to add one, add the file, a
//! variant of `Command` and a line in `run`.

mod add;
mod alert;
mod appearance;
mod cache;
mod check;
mod completions;
mod config;
mod dashboard;
pub mod defect;
mod demo;
mod desk;
mod dispute;
mod doctor;
mod feed;
mod flatten;
mod forget;
mod get;
mod health;
mod import;
mod jobs;
mod key;
mod live;
mod log;
mod mcp;
mod memory;
mod meter;
mod new;
mod outcome;
mod program;
mod providers;
mod refresh;
mod report;
mod schema;
mod serve;
mod shot;
mod signals;
mod table;
mod token;
mod verify;
mod version;

use std::{ffi::OsString, ops::RangeInclusive, path::PathBuf};

use clap::{
    Args, CommandFactory, Parser, Subcommand,
    error::{ContextKind, ErrorKind},
};
use color_eyre::eyre::{Result, eyre};

use self::outcome::{Outcome, say_more};
pub use self::{dashboard::OpenMemory, outcome::finish};
use crate::config::Config;
use ::table::set_mmap_threshold;
use model::{format::count, time::Time};
use wire::Consent;

/// A terminal dashboard and local HTTP JSON API for your crypto-token datasets.
///
/// Without a command, tokendeck opens the dashboard and starts the API.
#[derive(Debug, Parser)]
#[command(name = "tokendeck", version, disable_version_flag = true, args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct CommandLine {
    #[command(flatten)]
    dashboard: dashboard::DashboardArgs,
    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,
    /// With --version: also print the commit and on-disk format versions
    #[arg(long, requires = "version")]
    verbose: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "\
Configuration file: the first of --config FILE, $TOKENDECK_CONFIG, ./config.toml, $XDG_CONFIG_HOME/tokendeck/config.toml.
Exit codes: 0 success, 1 bad data or a failed request, 2 wrong usage.
No data yet? Run `tokendeck demo datasets`.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run only the API and log to stderr, until SIGTERM or Ctrl-C
    Serve(serve::ServeArgs),
    /// Check whether a server responds
    Health(health::HealthArgs),
    /// Print an API response from the dataset, without a server
    Get(get::GetArgs),
    /// Serve every query as a Model Context Protocol tool on stdin and stdout
    Mcp(mcp::McpArgs),
    /// Write a token report as one HTML or Markdown file
    Report(report::ReportArgs),
    /// Recompute a report and list the differences
    Verify(verify::VerifyArgs),
    /// List dataset issues with file, row, column, value and expectation
    Check(check::CheckArgs),
    /// Create a dataset with live tables
    New(new::NewArgs),
    /// Add tokens to a live dataset and fetch their rows
    Add(add::AddArgs),
    /// Fetch missing rows of live tables, then exit
    Refresh(refresh::RefreshArgs),
    /// Remove a person's posts and handle from live tables, permanently
    Forget(forget::ForgetArgs),
    /// List data providers with their limits and terms
    Providers(providers::ProvidersArgs),
    /// Import third-party files into a dataset
    Import(import::ImportArgs),
    /// Write a synthetic dataset; the same seed gives the same data
    Demo(demo::DemoArgs),
    /// Describe the tables and columns of a dataset
    Schema(schema::SchemaArgs),
    /// List or clear the on-disk cache of large tables
    Cache(cache::CacheArgs),
    /// List or delete stored deep analyses
    Jobs(jobs::JobsArgs),
    /// Manage alerts: conditions on tokens, checked whenever the data changes
    Alert(alert::AlertArgs),
    /// Dispute a security finding: it stays visible but no longer affects the score
    Dispute(dispute::DisputeArgs),
    /// Check terminal, fonts, clock, folders, port, keys and sources, and suggest fixes
    Doctor(doctor::DoctorArgs),
    /// Print every effective setting and its origin
    Config(config::ConfigArgs),
    /// Manage API keys
    Key(key::KeyArgs),
    /// Render a view to a file, without a terminal
    Shot(shot::ShotArgs),
    /// Print a shell completion script
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man,
}

impl CommandLine {
    /// Replaces the storage of the dashboard's session, by default the user's state folder.
    #[must_use]
    pub fn with_memory(mut self, memory: OpenMemory) -> Self {
        self.dashboard.memory = memory;
        self
    }
}

/// Arguments that locate the configuration and the data.
#[derive(Debug, Clone, Args)]
struct LocationArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Dataset folder (overrides the configuration)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Allow requests to the hosts that the dataset names, without asking
    #[arg(long)]
    remote: bool,
    /// Point-in-time mode, see `AsOfArgs`
    #[arg(skip)]
    as_of: Option<Time>,
}

/// For commands with a point-in-time mode.
#[derive(Debug, Clone, Args)]
struct AsOfArgs {
    /// Point-in-time: use only what was known then, such as 2026-08-14 (end of that day) or 2026-08-14T09:30:00Z
    #[arg(long, value_name = "TIME", value_parser = query::queries::parameter::as_of)]
    as_of: Option<Time>,
    #[command(flatten)]
    location: LocationArgs,
}

impl AsOfArgs {
    fn location(&self) -> LocationArgs {
        LocationArgs {
            as_of: self.as_of,
            ..self.location.clone()
        }
    }
}

impl LocationArgs {
    /// Applies the command-line overrides to the configuration; returns the names of the overridden settings.
    fn apply_overrides(&self, config: &mut Config) -> Vec<&'static str> {
        let mut overridden = Vec::new();
        if let Some(data) = &self.data {
            config.datasets.dir.clone_from(data);
            overridden.push("datasets.dir");
        }
        if self.remote {
            config.remote.enabled = Consent::Always;
            overridden.push("remote.enabled");
        }
        overridden
    }
}

/// Parser of an option that is a whole number in the range.
fn whole_number<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T> + Clone {
    move |text| {
        let number = text
            .parse::<u64>()
            .ok()
            .filter(|number| range.contains(number))
            .and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| {
            eyre!(
                "expected a whole number from {} to {}",
                count(*range.start()),
                count(*range.end())
            )
        })
    }
}

/// Parses this process's arguments. Prints help, or exits with code 2 on invalid ones.
pub fn arguments() -> CommandLine {
    CommandLine::try_parse_from(location_last(std::env::args_os())).unwrap_or_else(|error| {
        error.print().ok();
        if error.kind() == ErrorKind::ArgumentConflict
            && error.get(ContextKind::InvalidSubcommand).is_some()
        {
            say_more("Put options after the command, as in `tokendeck get /tokens --data DIR`.");
        }
        std::process::exit(error.exit_code())
    })
}

/// Moves options that locate the data from before a command behind its arguments: `--data DIR get …` means `get … --data DIR`.
fn location_last(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.into_iter().collect();
    let mut end = 1;
    while let Some(text) = all.get(end).and_then(|argument| argument.to_str()) {
        end += match text {
            "--data" | "--config" | "--as-of" => 2,
            "--remote" => 1,
            _ if ["--data=", "--config=", "--as-of="]
                .iter()
                .any(|option| text.starts_with(option)) =>
            {
                1
            }
            _ => break,
        };
    }
    let is_command = |name: &OsString| {
        let name = name.to_str().unwrap_or_default();
        CommandLine::command().find_subcommand(name).is_some()
    };
    if end > 1 && all.get(end).is_some_and(is_command) {
        let options: Vec<OsString> = all.drain(1..end).collect();
        let last = all
            .iter()
            .position(|argument| argument == "--")
            .unwrap_or(all.len());
        all.splice(last..last, options);
    }
    all
}

pub fn run(arguments: CommandLine) -> Outcome {
    set_mmap_threshold();
    match arguments.command {
        None if arguments.version => version::run(arguments.verbose),
        None => dashboard::run(&arguments.dashboard),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Health(args)) => health::run(&args),
        Some(Command::Get(args)) => get::run(&args),
        Some(Command::Mcp(args)) => mcp::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Verify(args)) => verify::run(&args),
        Some(Command::New(args)) => new::run(&args),
        Some(Command::Add(args)) => add::run(&args),
        Some(Command::Refresh(args)) => refresh::run(&args),
        Some(Command::Forget(args)) => forget::run(&args),
        Some(Command::Providers(args)) => providers::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Schema(args)) => schema::run(&args),
        Some(Command::Cache(args)) => cache::run(&args),
        Some(Command::Jobs(args)) => jobs::run(&args),
        Some(Command::Alert(args)) => alert::run(&args),
        Some(Command::Dispute(args)) => dispute::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Config(args)) => config::run(&args),
        Some(Command::Key(args)) => key::run(&args),
        Some(Command::Shot(args)) => shot::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man) => completions::man(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_no_fault_in_the_arguments() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn the_data_may_be_named_before_the_command() {
        for (given, read) in [
            ("--data D get /tokens", "get /tokens --data D"),
            (
                "--config=C --data D --remote alert list",
                "alert list --config=C --data D --remote",
            ),
            ("--data D get -- /tokens", "get --data D -- /tokens"),
            ("--data get", "--data get"),
            ("--data D", "--data D"),
            ("--ascii get /tokens", "--ascii get /tokens"),
            ("get /tokens", "get /tokens"),
            ("", ""),
        ] {
            let words = |text: &str| -> Vec<OsString> {
                let words = text.split_whitespace().map(OsString::from);
                std::iter::once(OsString::from("tokendeck"))
                    .chain(words)
                    .collect()
            };
            assert_eq!(location_last(words(given)), words(read), "{given}");
        }
    }
}
