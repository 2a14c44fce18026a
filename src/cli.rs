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

use std::path::PathBuf;

use clap::{
    Args, Parser, Subcommand,
    error::{ContextKind, ErrorKind},
};

use self::outcome::{Outcome, say_more};
pub use self::{dashboard::OpenMemory, outcome::finish};
use crate::config::Config;
use model::time::Time;
use store::cache::set_mmap_threshold;
use wire::Consent;

/// A dashboard and a local HTTP JSON API over your own crypto-token datasets.
///
/// Without a command the dashboard opens, with the API beside it.
#[derive(Debug, Parser)]
#[command(name = "tokendeck", version, disable_version_flag = true, args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct CommandLine {
    #[command(flatten)]
    dashboard: dashboard::DashboardArgs,
    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,
    /// With --version: also the commit, and the formats of what is kept on disk
    #[arg(long, requires = "version")]
    verbose: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "\
Configuration: --config FILE, $TOKENDECK_CONFIG, ./config.toml, $XDG_CONFIG_HOME/tokendeck/config.toml, the first found.
Exit codes: 0 done, 1 the data or the answer is bad, 2 wrong usage.
No data yet? `tokendeck demo datasets` writes some.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer the API alone, logging to stderr, until SIGTERM or Ctrl-C
    Serve(serve::ServeArgs),
    /// Ask a running server whether it lives
    Health(health::HealthArgs),
    /// Print what the API would answer, straight from the dataset, without a server
    Get(get::GetArgs),
    /// Speak the Model Context Protocol on stdin and stdout: every question is a tool
    Mcp(mcp::McpArgs),
    /// Write a report on a token: one HTML or Markdown file
    Report(report::ReportArgs),
    /// Compute a report again from the data, and say what differs
    Verify(verify::VerifyArgs),
    /// Check a dataset: every finding with file, row, column, value and what was expected
    Check(check::CheckArgs),
    /// Make a dataset whose tables come by themselves
    New(new::NewArgs),
    /// Put tokens into such a dataset, and fetch their rows
    Add(add::AddArgs),
    /// Fetch what is missing in the tables that come by themselves, and end
    Refresh(refresh::RefreshArgs),
    /// List the services that can be asked, with their limits and terms
    Providers(providers::ProvidersArgs),
    /// Import third-party files into a dataset's own columns
    Import(import::ImportArgs),
    /// Write a synthetic dataset, the same for the same seed
    Demo(demo::DemoArgs),
    /// Describe the tables and columns of a dataset
    Schema(schema::SchemaArgs),
    /// List or clear the large tables that are cached on disk
    Cache(cache::CacheArgs),
    /// List or remove the deep analyses that are kept
    Jobs(jobs::JobsArgs),
    /// List, add or remove alerts: conditions on tokens that are checked whenever the data change
    Alert(alert::AlertArgs),
    /// Object to a security finding: it stays visible with the reason, and no longer counts
    Dispute(dispute::DisputeArgs),
    /// Look at terminal, fonts, clock, folders, port, keys and sources, and say what mends each
    Doctor(doctor::DoctorArgs),
    /// Print every setting in force and where it comes from
    Config(config::ConfigArgs),
    /// Show, make and revoke API keys
    Key(key::KeyArgs),
    /// Draw a view into a file, without a terminal
    Shot(shot::ShotArgs),
    /// Print a script that completes arguments in a shell
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
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of the dataset, instead of the configured one
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Fetch the remote files that the dataset names
    #[arg(long)]
    remote: bool,
    /// What is later is not known, see `AsOfArgs`
    #[arg(skip)]
    as_of: Option<Time>,
}

/// For commands whose answers can be as of a time.
#[derive(Debug, Clone, Args)]
struct AsOfArgs {
    /// As it could have been known then: 2026-08-14 (the end of that day) or 2026-08-14T09:30:00Z
    #[arg(long, value_name = "TIME", value_parser = query::question::parameter::as_of)]
    as_of: Option<Time>,
    #[command(flatten)]
    location: LocationArgs,
}

impl AsOfArgs {
    fn location(&self) -> LocationArgs {
        LocationArgs { as_of: self.as_of, ..self.location.clone() }
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

/// Parses this process's arguments. Prints help, or exits with code 2 on invalid ones.
pub fn arguments() -> CommandLine {
    CommandLine::try_parse().unwrap_or_else(|error| {
        error.print().ok();
        if error.kind() == ErrorKind::ArgumentConflict && error.get(ContextKind::InvalidSubcommand).is_some() {
            say_more("A command's options stand after it, as in `tokendeck get /tokens --data DIR`.");
        }
        std::process::exit(error.exit_code())
    })
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn clap_finds_no_fault_in_the_arguments() {
        CommandLine::command().debug_assert();
    }
}
