//! `tokendeck key`: manages API keys. A key is revoked by its id, so that no key appears in the process list.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    outcome::{Failure, Outcome, print},
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
    let keys = open_keys(&config).map_err(Failure::Bad)?;
    keys.warnings().iter().for_each(|warning| warn(warning));
    match &args.command {
        None => {
            let key = keys.show().ok_or_else(|| {
                Failure::Bad("no key yet; create one with `tokendeck key new`".to_owned())
            })?;
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
            let key = keys.new_key().map_err(|error| Failure::Bad(error.into()))?;
            print(format!("{}\n", key.reveal()))
        }
        Some(Command::Revoke { id }) => {
            let key = keys
                .revoke(id)
                .map_err(|error| Failure::Bad(error.into()))?;
            print(format!("revoked {}\n", key.id))
        }
    }
}
