//! The parts of the program, put together from the configuration: the deck, and beside it the keys, the jobs and the API.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    Place,
    outcome::{Failure, say},
};
use crate::{
    api::{Api, ApiOptions},
    config::{self, Config},
    dataset::{cache::CacheOptions, load::asks, manifest},
    deck::{Deck, DeckOptions},
    jobs::{JobOptions, Jobs, KeptJobs},
    state::{Dirs, keys::Keys, remote::Remote},
    wire::{Ledger, MemoryLedger, Wire},
};

pub(super) struct Program {
    pub(super) config: Config,
    pub(super) deck: Arc<Deck>,
}

/// The configuration in force for this process.
pub(super) fn configuration(file: Option<&Path>) -> Result<Config, Failure> {
    let variable = std::env::var_os(config::VARIABLE).map(PathBuf::from);
    // Without a home there is no such file, and the defaults do.
    let home = Dirs::find().ok().map(|dirs| dirs.config);
    // A named file that is not there, or one that is wrong, is for the person to mend before anything starts.
    Config::find(file, variable.as_deref(), home.as_deref()).map_err(Failure::Usage)
}

impl Program {
    pub(super) fn open(place: &Place) -> Result<Self, Failure> {
        let mut config = configuration(place.config.as_deref())?;
        place.overrule(&mut config);
        let options = DeckOptions { cache: cache(&config), wire: Some(wire(&config)), ..config.deck_options() };
        let deck = Deck::new(&config.datasets.dir, options).map_err(Failure::Bad)?;
        Ok(Self { config, deck })
    }

    /// Keeps the deck on its files, unless that is turned off; the error is no reason to stop.
    pub(super) fn watch(&self) -> Result<(), String> {
        if self.config.datasets.watch { self.deck.watch() } else { Ok(()) }
    }

    /// Refuses to go on where there is no folder to read.
    pub(super) fn require_dataset(&self) -> Result<(), Failure> {
        let folder = &self.config.datasets.dir;
        if folder.is_dir() { Ok(()) } else { Err(no_dataset(folder, "it is not a folder")) }
    }

    /// Refuses to go on where the dataset asks for files elsewhere and nobody can be asked whether it may.
    pub(super) fn require_consent(&self) -> Result<(), Failure> {
        self.deck.options().wire.as_ref().map_or(Ok(()), |wire| require_consent(&self.config.datasets.dir, wire))
    }

    pub(super) fn keys(&self) -> Result<Keys, String> {
        open_keys(&self.config)
    }

    /// The jobs as they were left; none, and why, where no state can be kept.
    pub(super) fn jobs(&self) -> Result<Arc<Jobs>, String> {
        let folder = Dirs::find()?.state;
        Jobs::open(&folder, Arc::clone(&self.deck), job_options(&self.config))
    }

    /// The API over the deck, for a server that listens on `address`.
    pub(super) fn api(&self, keys: Keys, jobs: Option<Arc<Jobs>>, address: IpAddr) -> Arc<Api> {
        let settings = &self.config.api;
        let seconds = |count: u32| Duration::from_secs(count.into());
        let options = ApiOptions {
            hosts: settings.hosts.clone(),
            cors_origins: settings.cors_origins.clone(),
            rate_per_second: settings.rate(address),
            connections: settings.connections as usize,
            event_streams: settings.event_streams as usize,
            row_streams: settings.row_streams as usize,
            docs: settings.docs,
            header_time: seconds(settings.header_seconds),
            body_time: seconds(settings.body_seconds),
            idle_time: seconds(settings.idle_seconds),
        };
        Api::new(Arc::clone(&self.deck), jobs, Arc::new(keys), options)
    }
}

/// Where large tables are kept; nowhere without a home.
pub(super) fn cache(config: &Config) -> CacheOptions {
    config.cache_options(Dirs::find().ok().map(|dirs| dirs.cache).as_deref())
}

/// Who asks for files elsewhere; what the person agreed to is kept in their state, if they have one.
pub(super) fn wire(config: &Config) -> Arc<Wire> {
    let ledger: Arc<dyn Ledger> = match Dirs::find() {
        Ok(dirs) => Arc::new(Remote::new(&dirs.state)),
        Err(_) => Arc::new(MemoryLedger::default()),
    };
    Wire::new(config.wire_options(), ledger)
}

/// Refuses to go on where the dataset asks for files elsewhere and nobody can be asked whether it may.
pub(super) fn require_consent(folder: &Path, wire: &Wire) -> Result<(), Failure> {
    let asks = asks(folder, wire);
    if asks.is_empty() {
        return Ok(());
    }
    let origins = asks.iter().map(|origin| format!("`{origin}`")).collect::<Vec<_>>().join(", ");
    Err(Failure::Bad(format!(
        "the dataset `{}` asks for data at {origins}: agree with --remote, or once for good in the dashboard, or with remote.enabled = true \
         in config.toml",
        folder.display()
    )))
}

pub(super) fn job_options(config: &Config) -> JobOptions {
    let jobs = &config.jobs;
    let (workers, queue) = (jobs.workers as usize, jobs.queue as usize);
    JobOptions { workers, queue, keep_days: jobs.keep_days.into(), keep_count: jobs.keep_count.into() }
}

/// The kept jobs of this user; none is run.
pub(super) fn kept_jobs(config: &Config) -> Result<KeptJobs, String> {
    KeptJobs::open(&Dirs::find()?.state, &job_options(config))
}

pub(super) fn open_keys(config: &Config) -> Result<Keys, String> {
    Keys::open(&Dirs::find()?.state, config.api.keys_file.as_deref())
}

/// What to do about a folder that is no dataset.
pub(super) fn no_dataset(folder: &Path, reason: &str) -> Failure {
    let shown = folder.display();
    // Nobody's own dataset is to be written over.
    let demo =
        if folder.join(manifest::FILE).exists() { String::new() } else { format!(", or write demo data with `tokendeck demo {shown}`") };
    Failure::Bad(format!("no dataset in `{shown}`: {reason}; name another folder with --data DIR{demo}"))
}

/// Something that does not stop the program, said once.
pub(super) fn warn(message: &str) {
    say(&format!("warning: {message}"));
}
