//! `tokendeck`: the dashboard with the API beside it.

use std::{
    io::{IsTerminal, stdin, stdout},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
};

use clap::Args;

use super::{
    Place, appearance, defect,
    desk::ApiControl,
    live::Live,
    memory::Kept,
    outcome::{Failure, Outcome},
    program::Program,
};
use crate::{
    config::{Config, Expect, ThemeChoice},
    jobs::Jobs,
    state::{Dirs, keys::Keys},
    tui::{
        self,
        app::{Appearance, Setup, wall_clock},
        keymap::Keymap,
        memory::{Forgetful, Memory},
        terminal,
        view::{ApiDesk, LiveSettings, NoApi},
    },
};

#[derive(Debug, Clone, Args)]
pub(super) struct DashboardArgs {
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
    #[arg(skip = kept as OpenMemory)]
    pub(super) memory: OpenMemory,
}

/// Opens what the dashboard remembers from one run to the next, below the user's folders where there are any.
pub type OpenMemory = fn(Option<&Dirs>) -> Box<dyn Memory>;

fn kept(dirs: Option<&Dirs>) -> Box<dyn Memory> {
    match dirs {
        Some(dirs) => Box::new(Kept::open(dirs.state.clone())),
        None => Box::new(Forgetful),
    }
}

pub(super) fn theme(text: &str) -> Result<ThemeChoice, String> {
    ThemeChoice::parse(text, Path::new("")).ok_or_else(|| format!("expected {}", Expect::Theme.sentence()))
}

impl DashboardArgs {
    /// What was said on the command line goes before the file, for as long as the program runs; the settings it says.
    fn overrule(&self, config: &mut Config) -> Vec<&'static str> {
        let mut said = self.place.overrule(config);
        if self.no_api {
            config.api.enabled = false;
            said.push("api.enabled");
        }
        if self.no_mouse {
            config.terminal.mouse = false;
            said.push("terminal.mouse");
        }
        if let Some(theme) = &self.theme {
            config.terminal.theme.clone_from(theme);
            said.push("terminal.theme");
        }
        said
    }
}

pub(super) fn run(args: &DashboardArgs) -> Outcome {
    let mut program = Program::open(&args.place)?;
    if !stdout().is_terminal() || !stdin().is_terminal() {
        return Err(Failure::Usage(
            "the dashboard needs a terminal: use `tokendeck serve` for the API, `tokendeck get PATH` for one answer, or `tokendeck shot` for a picture"
                .to_owned(),
        ));
    }
    args.overrule(&mut program.config);
    let look = appearance::for_terminal(&program.config.terminal, args.theme.is_some())?;
    show(&program, look, args)
}

/// The one place where the terminal takes over. It offers demo data where there is no dataset, and runs on without what cannot be
/// had, saying so in its header.
fn show(program: &Program, look: Appearance, args: &DashboardArgs) -> Outcome {
    let (keymap, mut warnings) = Keymap::with(&program.config.keys);
    let jobs = program.jobs().map_err(|reason| warnings.push(reason)).ok();
    warnings.extend(jobs.as_ref().and_then(|jobs| jobs.notice().map(str::to_owned)));
    warnings.extend(program.watch().err());
    let dirs = Dirs::find().ok();
    let api = desk(program, jobs.clone(), &mut warnings);
    let mut memory = (args.memory)(dirs.as_ref());
    let setup = Setup {
        deck: program.deck.clone(),
        jobs: jobs.clone(),
        api: Arc::clone(&api),
        start_api: program.config.api.enabled,
        keymap,
        look,
        clock: wall_clock,
        demo_folder: dirs.map(|dirs| dirs.data.join("demo")),
        warnings,
    };
    defect::restore_with(terminal::restore);
    let args = args.clone();
    let said = move |config: &mut Config| args.overrule(config);
    let live = Live::watch(&program.config, &program.deck, said).map(|live| live as Arc<dyn LiveSettings>);
    let outcome = tui::run::run(setup, memory.as_mut(), program.config.terminal.mouse, live).map_err(Failure::Bad);
    api.stop();
    if let Some(jobs) = jobs {
        jobs.stop();
    }
    match outcome? {
        0 => Ok(()),
        code => Err(Failure::Signal(u8::try_from(code).unwrap_or(1))),
    }
}

/// The API beside the dashboard. Without a place for keys it has one for this run alone.
fn desk(program: &Program, jobs: Option<Arc<Jobs>>, warnings: &mut Vec<String>) -> Arc<dyn ApiDesk> {
    let keys = program.keys().or_else(|reason| {
        warnings.push(reason);
        Keys::in_memory()
    });
    let listen = &program.config.api.listen;
    let address = listen.parse::<SocketAddr>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip());
    match keys.and_then(|keys| keys.refused_on(address).map_or(Ok(keys), Err)) {
        Ok(keys) => {
            warnings.extend(keys.warnings());
            ApiControl::new(program.api(keys, jobs, address), listen)
        }
        Err(reason) => {
            warnings.push(reason);
            Arc::new(NoApi)
        }
    }
}
