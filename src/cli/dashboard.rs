//! `tokendeck` without a command: the dashboard and the API server.

use std::{
    io::{IsTerminal, stdin, stdout},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use color_eyre::eyre::{Report, Result, bail, eyre};

use super::{
    LocationArgs, appearance, defect,
    desk::ApiControl,
    live::Live,
    memory::StateFolder,
    outcome::{Failure, Outcome},
    program::{Program, config_folder, open_keys, warn},
};
use crate::{
    config::{Config, Expect, ThemeChoice},
    state::Dirs,
};
use api::keys::Keys;
use model::private_files;
use query::jobs::Jobs;
use tui::{
    self,
    app::{Setup, wall_clock},
    graphics::Graphics,
    memory::{Memory, NoStorage},
    terminal,
    views::{
        keymap::Keymap,
        view::{ApiServerHandle, LiveSettings, NoApi},
    },
    widgets::theme::Appearance,
};

#[derive(Debug, Clone, Args)]
pub(super) struct DashboardArgs {
    #[command(flatten)]
    location: LocationArgs,
    /// Don't start the API
    #[arg(long)]
    no_api: bool,
    /// auto, dark, light, high-contrast, or a theme file
    #[arg(long, value_parser = theme)]
    theme: Option<ThemeChoice>,
    /// Draw charts in pixels: auto, kitty, iterm, sixel or off
    #[arg(long, value_parser = graphics)]
    graphics: Option<Graphics>,
    /// Disable mouse support
    #[arg(long)]
    no_mouse: bool,
    #[arg(skip = user_memory as OpenMemory)]
    pub(super) memory: OpenMemory,
    /// Whether it starts with the tour
    #[arg(skip)]
    tour: bool,
}

/// Opens the storage of the dashboard's session; by default the user's folders, if any.
pub type OpenMemory = fn(Option<&Dirs>) -> Box<dyn Memory>;

fn user_memory(dirs: Option<&Dirs>) -> Box<dyn Memory> {
    match dirs {
        Some(dirs) => Box::new(StateFolder::open(dirs.state.clone())),
        None => Box::new(NoStorage),
    }
}

pub(super) fn theme(text: &str) -> Result<ThemeChoice> {
    ThemeChoice::parse(text, Path::new(""))
        .ok_or_else(|| eyre!("expected {}", Expect::Theme.sentence()))
}

fn graphics(text: &str) -> Result<Graphics> {
    Graphics::parse(text).ok_or_else(|| eyre!("expected {}", Expect::Graphics.sentence()))
}

impl DashboardArgs {
    /// The dashboard on a dataset, with the tour.
    pub(super) fn toured(data: PathBuf) -> Self {
        let location = LocationArgs {
            config: None,
            data: Some(data),
            remote: false,
            as_of: None,
        };
        Self {
            location,
            no_api: false,
            theme: None,
            graphics: None,
            no_mouse: false,
            memory: user_memory,
            tour: true,
        }
    }

    /// Applies the command-line overrides to the configuration of this run; returns the names of the overridden settings.
    fn apply_overrides(&self, config: &mut Config) -> Vec<&'static str> {
        let mut overridden = self.location.apply_overrides(config);
        if self.no_api {
            config.api.enabled = false;
            overridden.push("api.enabled");
        }
        if self.no_mouse {
            config.terminal.mouse = false;
            overridden.push("terminal.mouse");
        }
        if let Some(theme) = &self.theme {
            config.terminal.theme.clone_from(theme);
            overridden.push("terminal.theme");
        }
        if let Some(graphics) = self.graphics {
            config.terminal.graphics = graphics;
            overridden.push("terminal.graphics");
        }
        overridden
    }
}

pub(super) fn require_terminal() -> Outcome {
    if stdout().is_terminal() && stdin().is_terminal() {
        return Ok(());
    }
    bail!(Failure::Usage(eyre!(
        "the dashboard needs a terminal; use `tokendeck serve` for the API, `tokendeck get PATH` for one response, or `tokendeck shot` for a picture"
    )))
}

pub(super) fn run(args: &DashboardArgs) -> Outcome {
    let mut program = Program::open(&args.location)?;
    require_terminal()?;
    args.apply_overrides(&mut program.config);
    let look = appearance::for_terminal(&program.config.terminal, args.theme.is_some())?;
    show(&program, look, args)
}

/// Runs the dashboard, which offers demo data if there is no dataset. If jobs, keys or file watching are unavailable it runs without them
/// and warns in its header.
fn show(program: &Program, look: Appearance, args: &DashboardArgs) -> Outcome {
    let (keymap, mut warnings) = Keymap::with(&program.config.keys);
    let jobs = program
        .jobs()
        .map_err(|reason| warnings.push(reason.to_string()))
        .ok();
    warnings.extend(
        jobs.as_ref()
            .and_then(|jobs| jobs.notice().map(str::to_owned)),
    );
    warnings.extend(program.watch().err().map(|reason| reason.to_string()));
    let dirs = Dirs::find().ok();
    let api = desk(program, jobs.clone(), &mut warnings);
    let mut memory = (args.memory)(dirs.as_ref());
    warnings.extend(private_files::take_notices());
    let setup = Setup {
        service: program.service.clone(),
        jobs: jobs.clone(),
        api: Arc::clone(&api),
        start_api: program.config.api.enabled,
        keymap,
        look,
        graphics: program.config.terminal.graphics,
        clock: wall_clock,
        config_folder: config_folder(&program.config),
        data_folder: dirs.map(|dirs| dirs.data),
        warnings,
        tour: args.tour,
    };
    defect::restore_with(terminal::restore);
    let args = args.clone();
    let apply_overrides = move |config: &mut Config| args.apply_overrides(config);
    let live = Live::watch(&program.config, &program.service, apply_overrides)
        .map(|live| live as Arc<dyn LiveSettings>);
    program.service.start_feed();
    let outcome = tui::run::run(setup, memory.as_mut(), program.config.terminal.mouse, live)
        .map_err(Report::msg);
    api.stop();
    if let Some(jobs) = jobs {
        jobs.stop();
    }
    let exit = outcome?;
    if let Some(reason) = exit.unsaved {
        warn(&reason);
    }
    match exit.code {
        0 => Ok(()),
        code => Err(Failure::Signal(u8::try_from(code).unwrap_or(1)).into()),
    }
}

/// The dashboard's API server. Without a state folder its key is valid for this run only.
fn desk(
    program: &Program,
    jobs: Option<Arc<Jobs>>,
    warnings: &mut Vec<String>,
) -> Arc<dyn ApiServerHandle> {
    let keys = open_keys(&program.config).or_else(|reason| {
        warnings.push(reason.to_string());
        Keys::in_memory().map_err(Report::msg)
    });
    let listen = &program.config.api.listen;
    let address = listen
        .parse::<SocketAddr>()
        .map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip());
    match keys.and_then(|keys| {
        keys.refused_on(address)
            .map_or(Ok(keys), |reason| Err(Report::msg(reason)))
    }) {
        Ok(keys) => {
            warnings.extend(keys.warnings());
            ApiControl::new(program.api(keys, jobs, address), listen)
        }
        Err(reason) => {
            warnings.push(reason.to_string());
            Arc::new(NoApi)
        }
    }
}
