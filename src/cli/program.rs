//! Wires the program together from its configuration: service with data, keys, jobs and API.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use color_eyre::eyre::{Report, Result, bail, eyre};

use super::{
    LocationArgs,
    meter::Meter,
    outcome::{Failure, Outcome, say},
};
use crate::{
    config::{self, Config},
    state::{Dirs, remote::Remote, watchlist},
};
use api::{Api, ApiOptions, keys::Keys};
use frames::cache::CacheOptions;
use load::loader::origins_to_agree;
use model::{address::Address, private_files};
use query::{
    jobs::{JobOptions, Jobs, OfflineJobs},
    service::{QueryService, ServiceEvent, ServiceOptions},
};
use wire::{Ledger, MemoryLedger, RemoteClient};

pub(super) struct Program {
    pub(super) config: Config,
    pub(super) service: Arc<QueryService>,
}

/// Loads the configuration of this process.
pub(super) fn configuration(file: Option<&Path>) -> Result<Config> {
    let variable = std::env::var_os(config::VARIABLE).map(PathBuf::from);
    // Without a home folder there is no such file, and the defaults apply.
    let home = Dirs::find().ok().map(|dirs| dirs.config);
    // A named file that is missing or wrong stops the program: the user has to fix it.
    Config::find(file, variable.as_deref(), home.as_deref())
        .map_err(|reason| Failure::Usage(reason).into())
}

/// The folder of the user's own descriptions: the configuration's folder, or the default one.
pub(super) fn config_folder(config: &Config) -> Option<PathBuf> {
    let beside = config.file.as_ref().map(|file| file.with_file_name(""));
    beside.or_else(|| Dirs::find().ok().map(|dirs| dirs.config))
}

impl Program {
    pub(super) fn open(location: &LocationArgs) -> Result<Self> {
        let mut config = configuration(location.config.as_deref())?;
        location.apply_overrides(&mut config);
        let state = Dirs::find().ok().map(|dirs| dirs.state);
        if let Some(state) = &state {
            private_files::clean(state);
        }
        let watchlist = state.map(|state| {
            Arc::new(move || watchlist::addresses(&state))
                as Arc<dyn Fn() -> Vec<Address> + Send + Sync>
        });
        let mut options = ServiceOptions {
            cache: cache(&config),
            wire: Some(wire(&config)),
            as_of: location.as_of,
            ..config.deck_options()
        };
        options.feed.watchlist = watchlist;
        options.feed.own_providers = own_providers(&config);
        let service = QueryService::new(&config.datasets.dir, options)?;
        Ok(Self { config, service })
    }

    /// Like `open`, for a command that needs data and cannot prompt. Errors: there is no dataset, or it names remote files without the
    /// user's consent.
    pub(super) fn open_with_data(location: &LocationArgs) -> Result<Self> {
        let program = Self::open(location)?;
        require_data(
            &program.config.datasets.dir,
            program.service.options().wire.as_ref(),
        )?;
        Ok(program)
    }

    /// Like `open_with_data`, with the data loaded.
    pub(super) fn open_loaded(location: &LocationArgs) -> Result<Self> {
        let program = Self::open_with_data(location)?;
        program.load()?;
        Ok(program)
    }

    /// Loads the data, showing progress.
    pub(super) fn load(&self) -> Outcome {
        let meter = Meter::new("loading");
        let mut events = self.service.listen();
        let look = || {
            for (table, read, total) in self
                .service
                .load_state()
                .tables
                .iter()
                .filter(|(_, read, total)| read < total)
            {
                meter.show(table, *read, *total);
            }
            while let Ok(event) = events.try_recv() {
                if let ServiceEvent::Notice(text) = event {
                    say(&text);
                }
            }
        };
        let outcome = meter.beside(self.wire(), look, || self.service.load());
        outcome
            .map(drop)
            .map_err(|reason| match self.service.options().as_of {
                // There are data, and the reason is why there were none then.
                Some(_) => reason.into(),
                None => no_dataset(&self.service.folder(), &reason.to_string()),
            })
    }

    /// The client for remote sources, if there is one.
    pub(super) fn wire(&self) -> Option<&RemoteClient> {
        self.service.options().wire.as_deref()
    }

    /// Starts reloading on file changes, if configured. Errors: the files cannot be watched; the program continues without watching.
    pub(super) fn watch(&self) -> Result<()> {
        if self.config.datasets.watch {
            self.service.watch()?;
        }
        Ok(())
    }

    /// Names the tables without history, which show current values in point-in-time mode.
    pub(super) fn of_today(&self) -> Option<String> {
        let snapshot = self.service.snapshot().ok()?;
        let unknown = &snapshot.dataset.as_of.as_ref()?.unknown;
        (!unknown.is_empty()).then(|| format!("current values, no history: {}", unknown.join(", ")))
    }

    /// Opens the job store and resumes its queue. Errors: no state folder, or it cannot be opened.
    pub(super) fn jobs(&self) -> Result<Arc<Jobs>> {
        if self.service.options().as_of.is_some() {
            bail!("jobs and alerts have no point-in-time mode; remove --as-of");
        }
        let folder = Dirs::find()?.state;
        let options = job_options(&self.config);
        Ok(Jobs::open(&folder, Arc::clone(&self.service), options)?)
    }

    /// Opens the job store without running anything. Errors: as for `jobs`.
    pub(super) fn jobs_to_read(&self) -> Result<Arc<Jobs>> {
        let (folder, options) = (Dirs::find()?.state, job_options(&self.config));
        Ok(Jobs::open_to_read(
            &folder,
            Arc::clone(&self.service),
            options,
        )?)
    }

    /// The API over the query service, for a server that listens on `address`.
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
        Api::new(Arc::clone(&self.service), jobs, Arc::new(keys), options)
    }
}

/// Location and limits of the cache of large tables; disabled without a home folder.
pub(super) fn cache(config: &Config) -> CacheOptions {
    config.cache_options(Dirs::find().ok().map(|dirs| dirs.cache).as_deref())
}

/// Folder of the user's own provider descriptions: the configuration's folder, or the default one.
pub(super) fn own_providers(config: &Config) -> Option<PathBuf> {
    config
        .folder()
        .or_else(|| Dirs::find().ok().map(|dirs| dirs.config))
}

/// The client for remote files. Consent is stored in the user's state folder, if there is one.
pub(super) fn wire(config: &Config) -> Arc<RemoteClient> {
    let ledger: Arc<dyn Ledger> = match Dirs::find() {
        Ok(dirs) => Arc::new(Remote::new(&dirs.state)),
        Err(_) => Arc::new(MemoryLedger::default()),
    };
    RemoteClient::new(config.wire_options(), ledger)
}

/// Errors: the folder is missing, or the dataset names remote files without the user's consent.
pub(super) fn require_data(folder: &Path, wire: Option<&Arc<RemoteClient>>) -> Result<()> {
    require_folder(folder)?;
    let origins = wire
        .map(|wire| origins_to_agree(folder, wire))
        .unwrap_or_default();
    if origins.is_empty() {
        return Ok(());
    }
    let origins = origins
        .iter()
        .map(|origin| format!("`{origin}`"))
        .collect::<Vec<_>>()
        .join(", ");
    Err(eyre!(
        "dataset `{}` needs data from {origins}; allow it once with --remote, or permanently in the dashboard or with remote.enabled = true \
         in config.toml",
        folder.display()
    ))
}

pub(super) fn job_options(config: &Config) -> JobOptions {
    let jobs = &config.jobs;
    let (workers, queue) = (jobs.workers as usize, jobs.queue as usize);
    let alert_routes = config.alerts.routes();
    JobOptions {
        workers,
        queue,
        keep_days: jobs.keep_days.into(),
        keep_count: jobs.keep_count.into(),
        alert_routes,
    }
}

/// Opens this user's stored jobs without running any.
pub(super) fn offline_jobs(config: &Config) -> Result<OfflineJobs> {
    Ok(OfflineJobs::open(
        &Dirs::find()?.state,
        &job_options(config),
    )?)
}

pub(super) fn open_keys(config: &Config) -> Result<Keys> {
    Keys::open(&Dirs::find()?.state, config.api.keys_file.as_deref()).map_err(Report::msg)
}

pub(super) fn require_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if folder.exists() {
        bail!(
            "`{}` is not a folder; pass a dataset folder with --data",
            folder.display()
        );
    }
    Err(no_dataset(folder, "the folder does not exist"))
}

/// Error message for a folder whose dataset cannot be loaded, with the remedies.
pub(super) fn no_dataset(folder: &Path, reason: &str) -> Report {
    let shown = folder.display();
    // The reason has its own remedies.
    if folder.is_dir() {
        let is_empty = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        let what = if is_empty {
            "no dataset in"
        } else {
            "cannot read the dataset in"
        };
        return eyre!("{what} `{shown}`: {reason}");
    }
    eyre!(
        "no dataset in `{shown}`: {reason}; pass another folder with --data, or create demo data with `tokendeck demo {shown}`"
    )
}

/// Prints a warning; the program continues.
pub(super) fn warn(message: &str) {
    say(&format!("warning: {message}"));
}
