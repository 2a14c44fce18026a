//! `tokendeck`: the dashboard with the API beside it.

use std::{
    io::{IsTerminal, stdin, stdout},
    path::Path,
};

use clap::Args;

use super::{
    Place,
    outcome::{Failure, Outcome},
    program::Program,
};
use crate::config::{Expect, ThemeChoice};

#[derive(Debug, Args)]
pub(super) struct Dashboard {
    #[command(flatten)]
    place: Place,
    /// Do not answer the API beside the dashboard
    #[arg(long)]
    no_api: bool,
    /// auto, dark, light, high-contrast, or a theme file
    #[arg(long, value_parser = theme)]
    theme: Option<ThemeChoice>,
    /// Leave the mouse to the terminal
    #[arg(long)]
    no_mouse: bool,
}

pub(super) fn theme(text: &str) -> Result<ThemeChoice, String> {
    ThemeChoice::parse(text, Path::new("")).ok_or_else(|| format!("expected {}", Expect::Theme.sentence()))
}

pub(super) fn run(args: &Dashboard) -> Outcome {
    let mut program = Program::open(&args.place)?;
    if !stdout().is_terminal() || !stdin().is_terminal() {
        return Err(Failure::Usage(
            "the dashboard needs a terminal: use `tokendeck serve` for the API, `tokendeck get PATH` for one answer, or `tokendeck shot` for a picture"
                .to_owned(),
        ));
    }
    let config = &mut program.config;
    config.api.enabled &= !args.no_api;
    config.terminal.mouse &= !args.no_mouse;
    if let Some(theme) = &args.theme {
        config.terminal.theme = theme.clone();
    }
    show(&program)
}

/// The one place where the terminal takes over. It offers demo data where there is no dataset, and runs on without the API, the
/// keys or the jobs where they cannot be had, saying so in its header.
fn show(program: &Program) -> Outcome {
    program.deck.load_in_background();
    Err(Failure::Bad("the dashboard is not built yet: use `tokendeck serve`".to_owned()))
}
