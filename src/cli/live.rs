//! Live reload of the configuration while the dashboard runs: a changed file is re-read and the settings that can change at run time are
//! applied. If the file is invalid, the last valid configuration stays in effect and the error is shown.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use color_eyre::eyre::{Report, Result, bail};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::appearance;
use crate::config::{Config, KEYS_SECTION};
use model::locks::Locked as _;
use query::service::QueryService;
use tui::views::{
    keymap::Keymap,
    task::Wake,
    view::{LiveSettings, NewSettings, ProgramError},
};

/// Debounce: how long the file must stay unchanged before it is read.
const QUIET: Duration = Duration::from_millis(150);
/// Polling interval where the system reports no file changes.
const POLL: Duration = Duration::from_secs(2);

pub(super) struct Live {
    inner: Mutex<Inner>,
    /// Dropping it stops file watching.
    _watcher: Option<RecommendedWatcher>,
}

#[derive(Default)]
struct Inner {
    changes: Option<Result<NewSettings>>,
    wake: Option<Wake>,
}

impl LiveSettings for Live {
    fn take(&self) -> Option<Result<NewSettings, ProgramError>> {
        let changes = self.inner.locked().changes.take()?;
        Some(changes.map_err(ProgramError::from))
    }

    fn listen(&self, wake: Wake) {
        self.inner.locked().wake = Some(wake);
    }
}

impl Live {
    /// Watches the configuration file; `None` without a file. `apply_overrides` reapplies the command-line overrides and names them.
    pub(super) fn watch(
        config: &Config,
        service: &Arc<QueryService>,
        apply_overrides: impl Fn(&mut Config) -> Vec<&'static str> + Send + 'static,
    ) -> Option<Arc<Self>> {
        let file = std::path::absolute(config.file.as_ref()?).ok()?;
        let (sender, wakes) = sync_channel(1);
        let watcher = watcher(&file, sender.clone());
        let polls = watcher.is_none();
        let live = Arc::new(Self {
            inner: Mutex::default(),
            _watcher: watcher,
        });
        // The thread owns a sender too: without a watcher the channel would close and the thread end.
        let watch = Watch {
            live: Arc::downgrade(&live),
            service: Arc::downgrade(service),
            config: config.clone(),
            apply_overrides: Box::new(apply_overrides),
            file,
            _sender: sender,
        };
        thread::Builder::new()
            .name("settings".into())
            .spawn(move || watch.run(&wakes, polls))
            .ok()?;
        Some(live)
    }

    fn publish(&self, changes: Result<NewSettings>) {
        let mut inner = self.inner.locked();
        inner.changes = Some(changes);
        if let Some(wake) = &inner.wake {
            wake();
        }
    }
}

/// Watches the folder, since editors write a new file and rename it.
fn watcher(file: &Path, sender: SyncSender<()>) -> Option<RecommendedWatcher> {
    let name = file.file_name()?.to_owned();
    let on_change = move |event: notify::Result<notify::Event>| {
        let about = |event: &notify::Event| {
            event
                .paths
                .iter()
                .any(|path| path.file_name() == Some(&name))
                && !event.kind.is_access()
        };
        if event.is_ok_and(|event| about(&event)) {
            // A full channel already holds a wake-up.
            sender.try_send(()).ok();
        }
    };
    let mut watcher = notify::recommended_watcher(on_change).ok()?;
    watcher
        .watch(file.parent()?, RecursiveMode::NonRecursive)
        .ok()?;
    Some(watcher)
}

type ApplyOverrides = Box<dyn Fn(&mut Config) -> Vec<&'static str> + Send>;

struct Watch {
    live: Weak<Live>,
    service: Weak<QueryService>,
    /// The last valid configuration.
    config: Config,
    apply_overrides: ApplyOverrides,
    file: PathBuf,
    _sender: SyncSender<()>,
}

impl Watch {
    fn run(mut self, wakes: &Receiver<()>, polls: bool) {
        let mut seen = std::fs::read_to_string(&self.file).ok();
        loop {
            let woken = if polls {
                wakes.recv_timeout(POLL)
            } else {
                wakes.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            if woken == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            while wakes.recv_timeout(QUIET).is_ok() {}
            let Some(live) = self.live.upgrade() else {
                return;
            };
            let text = std::fs::read_to_string(&self.file).ok();
            // A missing file leaves its settings in force: an editor may be about to restore it.
            if text.is_none() || text == seen {
                continue;
            }
            seen = text;
            live.publish(self.read(seen.as_deref().unwrap_or_default()));
        }
    }

    /// Returns the settings that the new text changes.
    fn read(&mut self, text: &str) -> Result<NewSettings> {
        // Without the folder, which the user knows, so that the message fits into a line.
        let short = |reason: Report| match self.file.parent() {
            Some(folder) => Report::msg(
                reason
                    .to_string()
                    .replace(&format!("{}/", folder.display()), ""),
            ),
            None => reason,
        };
        let mut config = Config::parse(self.config.file.as_deref(), text).map_err(short)?;
        let set = (self.apply_overrides)(&mut config);
        let (overridden, changed): (Vec<String>, Vec<String>) = self
            .config
            .differs(&config)
            .into_iter()
            .partition(|name| set.contains(&name.as_str()));
        if changed.is_empty() && overridden.is_empty() {
            return Ok(NewSettings {
                keymap: None,
                look: None,
                says: vec!["config.toml reloaded: nothing changed".to_owned()],
            });
        }
        let (keymap, problems) = Keymap::with(&config.keys);
        if let Some(problem) = problems.first() {
            bail!("config.toml: {problem}");
        }
        let look = appearance::again(&config.terminal)?;
        let is_look = |name: &String| {
            name.starts_with("terminal.")
                && *name != KEYS_SECTION
                && !["terminal.mouse", "terminal.graphics"].contains(&&**name)
        };
        let is_analysis = |name: &String| name.starts_with("analysis.");
        if changed.iter().any(is_analysis)
            && let Some(service) = self.service.upgrade()
        {
            service.set_answer_settings(config.deck_options().settings);
            service.load_in_background();
        }
        let later: Vec<&str> = changed
            .iter()
            .filter(|name| !is_look(name) && !is_analysis(name) && **name != KEYS_SECTION)
            .map(String::as_str)
            .collect();
        let now: Vec<&str> = changed
            .iter()
            .map(String::as_str)
            .filter(|name| !later.contains(name))
            .collect();
        let mut says = Vec::new();
        if !now.is_empty() {
            says.push(format!("applied: {}", now.join(", ")));
        }
        if !later.is_empty() {
            says.push(format!("effective at the next start: {}", later.join(", ")));
        }
        if !overridden.is_empty() {
            says.push(format!(
                "overridden by the command line: {}",
                overridden.join(", ")
            ));
        }
        let changes = NewSettings {
            keymap: changed
                .iter()
                .any(|name| name == KEYS_SECTION)
                .then_some(keymap),
            look: changed.iter().any(is_look).then_some(look),
            says,
        };
        self.config = config;
        Ok(changes)
    }
}
