//! The configuration while the dashboard runs: when its file changes it is read again, and what can hold at once does. A file that
//! cannot be read leaves the last good one in force, and the person is told what is wrong with it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::{appearance, outcome::Failure};
use crate::{
    config::{Config, KEYS_SECTION},
    deck::Deck,
    tui::{
        keymap::Keymap,
        view::{LiveSettings, NewSettings, Wake},
    },
};

/// How long the file must be at rest before it is read.
const QUIET: Duration = Duration::from_millis(150);
/// How often one looks where the system tells nothing.
const POLL: Duration = Duration::from_secs(2);

pub(super) struct Live {
    inner: Mutex<Inner>,
    /// The system's watch ends with it.
    _watcher: Option<RecommendedWatcher>,
}

#[derive(Default)]
struct Inner {
    news: Option<Result<NewSettings, String>>,
    wake: Option<Wake>,
}

impl LiveSettings for Live {
    fn take(&self) -> Option<Result<NewSettings, String>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).news.take()
    }

    fn listen(&self, wake: Wake) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).wake = Some(wake);
    }
}

impl Live {
    /// Keeps an eye on the file that `config` was read from; none where there is none.
    /// What `said` sets, on the command line, goes before the file each time.
    pub(super) fn watch(
        config: &Config,
        deck: &Arc<Deck>,
        said: impl Fn(&mut Config) -> Vec<&'static str> + Send + 'static,
    ) -> Option<Arc<Self>> {
        let file = std::path::absolute(config.file.as_ref()?).ok()?;
        let (nudge, nudged) = sync_channel(1);
        let watcher = watcher(&file, nudge.clone());
        let blind = watcher.is_none();
        let live = Arc::new(Self { inner: Mutex::default(), _watcher: watcher });
        // The sender stays with the thread, so that it waits where the system tells nothing.
        let watch = Watch {
            live: Arc::downgrade(&live),
            deck: Arc::downgrade(deck),
            config: config.clone(),
            said: Box::new(said),
            file,
            _nudge: nudge,
        };
        thread::Builder::new().name("settings".into()).spawn(move || watch.run(&nudged, blind)).ok()?;
        Some(live)
    }

    fn tell(&self, news: Result<NewSettings, String>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.news = Some(news);
        if let Some(wake) = &inner.wake {
            wake();
        }
    }
}

/// Editors write a new file and rename it, so it is the folder that is watched.
fn watcher(file: &Path, nudge: SyncSender<()>) -> Option<RecommendedWatcher> {
    let name = file.file_name()?.to_owned();
    let hear = move |event: notify::Result<notify::Event>| {
        let about = |event: &notify::Event| event.paths.iter().any(|path| path.file_name() == Some(&name)) && !event.kind.is_access();
        if event.is_ok_and(|event| about(&event)) {
            // One that waits already is enough.
            nudge.try_send(()).ok();
        }
    };
    let mut watcher = notify::recommended_watcher(hear).ok()?;
    watcher.watch(file.parent()?, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

type Said = Box<dyn Fn(&mut Config) -> Vec<&'static str> + Send>;

struct Watch {
    live: Weak<Live>,
    deck: Weak<Deck>,
    /// The last good one.
    config: Config,
    /// Sets what the command line says; the names of those settings.
    said: Said,
    file: PathBuf,
    _nudge: SyncSender<()>,
}

impl Watch {
    fn run(mut self, nudged: &Receiver<()>, blind: bool) {
        let mut seen = std::fs::read_to_string(&self.file).ok();
        loop {
            let heard = if blind { nudged.recv_timeout(POLL) } else { nudged.recv().map_err(|_| RecvTimeoutError::Disconnected) };
            if heard == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            while nudged.recv_timeout(QUIET).is_ok() {}
            let Some(live) = self.live.upgrade() else { return };
            let text = std::fs::read_to_string(&self.file).ok();
            // A file that is gone leaves what it said in force; an editor may be about to put it back.
            if text.is_none() || text == seen {
                continue;
            }
            seen = text;
            match self.read(seen.as_deref().unwrap_or_default()) {
                Ok(Some(news)) => live.tell(Ok(news)),
                Ok(None) => {}
                Err(reason) => live.tell(Err(reason)),
            }
        }
    }

    /// What the file says now, if anything that counts.
    fn read(&mut self, text: &str) -> Result<Option<NewSettings>, String> {
        // Which file it is the person knows, and the line is short.
        let short =
            |reason: String| self.file.parent().map_or(reason.clone(), |folder| reason.replace(&format!("{}/", folder.display()), ""));
        let mut config = Config::parse(self.config.file.as_deref(), text).map_err(short)?;
        let said = (self.said)(&mut config);
        let (overruled, changed): (Vec<String>, Vec<String>) =
            self.config.differs(&config).into_iter().partition(|name| said.contains(&name.as_str()));
        if changed.is_empty() && overruled.is_empty() {
            return Ok(Some(NewSettings { keymap: None, look: None, says: vec!["config.toml read again: nothing changed".to_owned()] }));
        }
        let (keymap, problems) = Keymap::with(&config.keys);
        if let Some(problem) = problems.first() {
            return Err(format!("config.toml: {problem}"));
        }
        let look = appearance::again(&config.terminal).map_err(|failure| match failure {
            Failure::Bad(reason) | Failure::Usage(reason) => reason,
            Failure::Told | Failure::Signal(_) | Failure::Unread => "the theme cannot be had".to_owned(),
        })?;
        let is_look = |name: &String| name.starts_with("terminal.") && *name != KEYS_SECTION && name != "terminal.mouse";
        let is_analysis = |name: &String| name.starts_with("analysis.");
        if changed.iter().any(is_analysis)
            && let Some(deck) = self.deck.upgrade()
        {
            deck.set_answer_settings(config.deck_options().settings);
            deck.load_in_background();
        }
        let later: Vec<&str> =
            changed.iter().filter(|name| !is_look(name) && !is_analysis(name) && **name != KEYS_SECTION).map(String::as_str).collect();
        let now: Vec<&str> = changed.iter().map(String::as_str).filter(|name| !later.contains(name)).collect();
        let mut says = Vec::new();
        if !now.is_empty() {
            says.push(format!("taken in: {}", now.join(", ")));
        }
        if !later.is_empty() {
            says.push(format!("from the next start: {}", later.join(", ")));
        }
        if !overruled.is_empty() {
            says.push(format!("the command line goes before it: {}", overruled.join(", ")));
        }
        let news = NewSettings {
            keymap: changed.iter().any(|name| name == KEYS_SECTION).then_some(keymap),
            look: changed.iter().any(is_look).then_some(look),
            says,
        };
        self.config = config;
        Ok(Some(news))
    }
}
