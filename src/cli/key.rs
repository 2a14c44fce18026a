//! `tokendeck key`: manages API keys. A key is revoked by its id, so that no key appears in the process list.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use color_eyre::eyre::{Report, eyre};

use super::{
    outcome::{Outcome, print},
    program::{configuration, open_keys, warn},
};

#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Configuration file
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List keys with id and creation time
    Show,
    /// Create a key and print it; running servers accept it within a second
    New,
    /// Revoke a key; running servers reject it within a second
    Revoke {
        /// Key id (see `tokendeck key show`)
        id: String,
    },
}

pub(super) fn run(args: &KeyArgs) -> Outcome {
    let config = configuration(args.config.as_deref())?;
    let keys = open_keys(&config)?;
    keys.warnings().iter().for_each(|warning| warn(warning));
    match &args.command {
        None => {
            let key = keys
                .show()
                .ok_or_else(|| eyre!("no key yet; create one with `tokendeck key new`"))?;
            print(format!("{}\n", key.reveal()))
        }
        Some(Command::Show) => {
            let lines: String = keys
                .list()
                .iter()
                .flat_map(|key| {
                    [
                        &key.id,
                        "  ",
                        key.reveal(),
                        "  ",
                        key.created.as_deref().unwrap_or("-"),
                        "\n",
                    ]
                    .map(str::to_owned)
                })
                .collect();
            print(lines)
        }
        Some(Command::New) => {
            let key = keys.new_key().map_err(Report::msg)?;
            print(format!("{}\n", key.reveal()))
        }
        Some(Command::Revoke { id }) => {
            let key = keys.revoke(id).map_err(Report::msg)?;
            print(format!("revoked {}\n", key.id))
        }
    }
}
