//! `tokendeck`: the dashboard with the API beside it.

use std::{
    io::{IsTerminal, stdin, stdout},
    path::Path,
    sync::Arc,
};

use clap::Args;

use super::{
    Place, defect, look,
    outcome::{Failure, Outcome},
    program::Program,
};
use crate::{
    config::{Expect, ThemeChoice},
    state::Dirs,
    tui::{
        self,
        app::{Look, Setup},
        keymap::Keymap,
        memory::Forgetful,
        terminal,
        view::NoApi,
    },
};

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
    let look = look::for_terminal(&program.config.terminal, args.theme.is_some())?;
    show(&program, look)
}

/// The one place where the terminal takes over. It offers demo data where there is no dataset, and runs on without what cannot be
/// had, saying so in its header.
fn show(program: &Program, look: Look) -> Outcome {
    let (keymap, mut warnings) = Keymap::with(&program.config.keys);
    let jobs = program.jobs().map_err(|reason| warnings.push(reason)).ok();
    let demo_folder = Dirs::find().ok().map(|dirs| dirs.data.join("demo"));
    let setup = Setup { deck: program.deck.clone(), jobs, api: Arc::new(NoApi), keymap, look, demo_folder, warnings };
    defect::restore_with(terminal::restore);
    match tui::run::run(setup, &mut Forgetful, program.config.terminal.mouse).map_err(Failure::Bad)? {
        0 => Ok(()),
        code => Err(Failure::Signal(u8::try_from(code).unwrap_or(1))),
    }
}
