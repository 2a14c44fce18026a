//! `tokendeck config`: every effective setting, with its origin.

use std::path::PathBuf;

use clap::Args;

use super::{
    outcome::{Outcome, print},
    program::configuration,
};

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: &ConfigArgs) -> Outcome {
    let config = configuration(args.config.as_deref())?;
    print(config.in_force(|name| std::env::var(name).ok()))
}
