//! `tokendeck key`: the API keys. A key is named by its beginning, so that no whole key stands in the list of processes.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    outcome::{Failure, Outcome, print},
    program::{configuration, open_keys},
};

/// Letters of a key that tell it from another.
const START_MIN: usize = 6;
/// More of a key than this has no business on a command line.
const START_MAX: usize = 16;

#[derive(Debug, Args)]
pub(super) struct Key {
    #[command(subcommand)]
    command: Option<Command>,
    /// The configuration file
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every key, one a line
    Show,
    /// Make a further key and print it
    New,
    /// Make a key worthless
    Revoke {
        /// The first letters of the key, 6 to 16 of them
        #[arg(value_name = "START", value_parser = start)]
        start: String,
    },
}

fn start(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    if (START_MIN..=START_MAX).contains(&length) {
        Ok(text.to_owned())
    } else {
        Err(format!("expected the first {START_MIN} to {START_MAX} letters of the key"))
    }
}

pub(super) fn run(args: &Key) -> Outcome {
    let config = configuration(args.config.as_deref())?;
    let mut keys = open_keys(&config).map_err(Failure::Bad)?;
    match &args.command {
        None => {
            let first = keys.list().into_iter().next();
            let first = first.ok_or_else(|| Failure::Bad("there is no key: make one with `tokendeck key new`".to_owned()))?;
            print(format!("{first}\n").as_bytes())
        }
        Some(Command::Show) => print((keys.list().join("\n") + "\n").as_bytes()),
        Some(Command::New) => {
            let key = keys.add().map_err(Failure::Bad)?;
            print(format!("{key}\n").as_bytes())
        }
        Some(Command::Revoke { start }) => revoke(&mut keys, start),
    }
}

fn revoke(keys: &mut crate::state::keys::Keys, start: &str) -> Outcome {
    match keys.list().iter().filter(|key| key.starts_with(start)).count() {
        0 => Err(Failure::Bad(format!("no key begins with `{start}`: `tokendeck key show` lists them"))),
        1 => {
            keys.revoke(start).map_err(Failure::Bad)?;
            print(format!("revoked the key that begins with {start}\n").as_bytes())
        }
        several => Err(Failure::Bad(format!("{several} keys begin with `{start}`: give more letters of the one to revoke"))),
    }
}
