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
    /// The configuration file
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every key with its id and when it was made, one a line
    Show,
    /// Make a further key and print it; running servers take it within a second
    New,
    /// Revoke a key; running servers refuse it within a second
    Revoke {
        /// The key's id, as `tokendeck key show` prints it
        id: String,
    },
}

pub(super) fn run(args: &KeyArgs) -> Outcome {
    let config = configuration(args.config.as_deref())?;
    let keys = open_keys(&config).map_err(Failure::Bad)?;
    keys.warnings().iter().for_each(|warning| warn(warning));
    match &args.command {
        None => {
            let key = keys.show().ok_or_else(|| Failure::Bad("there is no key: make one with `tokendeck key new`".to_owned()))?;
            print(format!("{}\n", key.reveal()))
        }
        Some(Command::Show) => {
            let lines: String = keys
                .list()
                .iter()
                .flat_map(|key| [&key.id, "  ", key.reveal(), "  ", key.created.as_deref().unwrap_or("-"), "\n"].map(str::to_owned))
                .collect();
            print(lines)
        }
        Some(Command::New) => {
            let key = keys.new_key().map_err(Failure::Bad)?;
            print(format!("{}\n", key.reveal()))
        }
        Some(Command::Revoke { id }) => {
            let key = keys.revoke(id).map_err(Failure::Bad)?;
            print(format!("revoked {}\n", key.id))
        }
    }
}
