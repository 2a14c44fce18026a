//! Loading and reloading: the next generation is built beside the current one and swapped in atomically; an unusable one is discarded.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{QueryService, ServiceEvent};
use crate::{error::ServiceError, queries::snapshot::Snapshot};
use load::{
    Dataset, SourcePosition,
    loader::{LoadError, load_as, origins_to_agree},
    watch::{Ends, FileStamps},
};
use model::{
    locks::{Locked as _, SharedLock as _},
    progress::{Cancelled, LoadProgress},
    table_state::TableState,
    time::Time,
    wall_clock::now,
};
use wire::Traffic;

/// State of the loader, for the API and the terminal.
#[derive(Debug, Clone, Default)]
pub struct LoadState {
    pub running: bool,
    requested: RequestedLoad,
    /// Tables being loaded: (name, done, total); total 0 while unknown.
    pub tables: Vec<(String, u64, u64)>,
    /// Why the last load failed.
    pub failure: Option<LoadFailure>,
    /// End time of the last load.
    pub ended: Option<Time>,
    pub watching: Watching,
    /// Remote sources being contacted.
    pub contacting: Vec<String>,
    /// Origins that the dataset contacts without the user's consent so far.
    pub unconsented: Vec<String>,
    /// The same, of social platforms.
    pub unconsented_social: Vec<String>,
    generation: u64,
    cancelled: bool,
    /// File stamps of the last load, and digests of the files' beginnings and ends.
    stamps: Option<FileStamps>,
    ends: Ends,
    /// Duration of the last load if it read only appended rows: a full load takes far longer.
    took: Duration,
}

/// A load that was requested and has not begun.
#[derive(Debug, Clone, Copy, Default)]
struct RequestedLoad {
    /// A thread was started for it.
    starting: bool,
    /// It was requested during another load, which may have read its files already, and follows it.
    repeat: bool,
}

/// How file changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watching {
    #[default]
    Off,
    /// The operating system reports changes.
    Notified,
    /// The files are polled.
    Polling,
}

/// A failed load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadFailure {
    /// One line for the user.
    pub reason: String,
    /// Location in the files, if there is a single one.
    pub position: Option<SourcePosition>,
    /// Time of the first failure since the last successful load.
    pub since: Time,
    /// The dataset folder.
    pub folder: PathBuf,
}

/// Outcome of a reload after file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reload {
    /// Swapped in, or listeners were told why not.
    Done,
    /// The files changed during the load: discarded, to be repeated.
    FilesChanged,
}

/// Cause of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadCause {
    Request,
    /// Changed files, which may be changing still. With `growing`, those being appended to are loaded up to their current end.
    FileChange {
        growing: bool,
    },
}

impl QueryService {
    /// Loads the next snapshot on this thread and swaps it in. Listeners are notified of failures too.
    pub fn load(self: &Arc<Self>) -> Result<Arc<Snapshot>, LoadError> {
        self.load_because(LoadCause::Request)
    }

    /// Like `load`, after file changes: the current generation stays if the files are still changing, or if one of its tables can no longer
    /// be read.
    pub(super) fn reload(self: &Arc<Self>, growing: bool) -> Reload {
        match self.load_because(LoadCause::FileChange { growing }) {
            Err(LoadError::ChangedDuringRead) => Reload::FilesChanged,
            _ => Reload::Done,
        }
    }

    fn load_because(self: &Arc<Self>, cause: LoadCause) -> Result<Arc<Snapshot>, LoadError> {
        let (folder, start) = (self.folder(), Instant::now());
        let stamps = FileStamps::of(&folder);
        let ends = stamps.ends();
        self.begin_load(&stamps, &ends, cause)?;
        let growing = cause == LoadCause::FileChange { growing: true };
        // A defect in the loader, or in derived data, must not leave the service waiting for it.
        let renews = cause == LoadCause::Request && self.is_again(&folder);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let dataset = self.read_dataset(&folder, growing, renews)?;
            if let Some(states) = dataset.chain_states().filter(|_| renews) {
                states.forget_all();
            }
            if cause != LoadCause::Request {
                self.check_reloaded(&dataset)?;
                let now = FileStamps::of(&self.folder());
                if now != stamps && !(growing && now.appends_to(&stamps, &ends)) {
                    return Err(LoadError::ChangedDuringRead);
                }
            }
            Ok(self.swap(self.next_generation(), dataset))
        }))
        .unwrap_or_else(|_| Err(LoadError::unusable("internal error while loading", None)));
        let took = if growing {
            start.elapsed()
        } else {
            Duration::ZERO
        };
        // No failure, since the caller retries.
        let retried =
            cause != LoadCause::Request && matches!(&outcome, Err(LoadError::ChangedDuringRead));
        let repeat = self.end_load(folder, outcome.as_ref().err(), retried, took);
        table::trim_heap();
        match &outcome {
            Err(_) if retried => {}
            Ok(snapshot) => self.notify(ServiceEvent::Reloaded(snapshot.generation)),
            Err(error) => self.notify(ServiceEvent::LoadFailed(error.to_string())),
        }
        if repeat {
            self.load_in_background();
        }
        outcome
    }

    /// Whether the user reloads data that is already loaded completely: then a node is queried again; a start uses the cache.
    fn is_again(&self, folder: &Path) -> bool {
        self.snapshot().is_ok_and(|before| {
            before.dataset.folder == folder && before.dataset.importing.is_empty()
        })
    }

    /// Errors: a load is running already; a requested one follows it.
    fn begin_load(
        &self,
        stamps: &FileStamps,
        ends: &Ends,
        cause: LoadCause,
    ) -> Result<(), LoadError> {
        let mut state = self.load_lock();
        state.requested.starting = false;
        if state.running {
            state.requested.repeat |= cause == LoadCause::Request;
            return Err(LoadError::unusable("another load is in progress", None));
        }
        state.running = true;
        state.tables.clear();
        state.cancelled = false;
        state.stamps = Some(stamps.clone());
        state.ends = ends.clone();
        Ok(())
    }

    /// Returns whether another load was requested meanwhile.
    fn end_load(
        &self,
        folder: PathBuf,
        error: Option<&LoadError>,
        retried: bool,
        took: Duration,
    ) -> bool {
        let mut unconsented = self
            .options
            .wire
            .as_ref()
            .map_or_else(Vec::new, |wire| origins_to_agree(&folder, wire));
        let (markets, unconsented_social) = self.feed_hosts();
        unconsented.extend(markets);
        unconsented.sort();
        unconsented.dedup();
        let mut state = self.load_lock();
        state.running = false;
        let repeat = std::mem::take(&mut state.requested.repeat);
        // Nobody finds the service idle between the two.
        state.requested.starting |= repeat;
        state.unconsented = unconsented;
        state.unconsented_social = unconsented_social;
        state.took = took;
        if retried {
            state.stamps = Some(FileStamps::default());
            return repeat;
        }
        let (ended, before) = (
            now(),
            state
                .failure
                .take()
                .filter(|failure| failure.folder == folder),
        );
        state.failure = error.map(|error| LoadFailure {
            reason: error.to_string(),
            position: if let LoadError::Unusable(unusable) = error {
                unusable.position.clone()
            } else {
                None
            },
            since: before.map_or(ended, |before| before.since),
            folder,
        });
        state.ended = Some(ended);
        drop(state);
        self.look_at_feed();
        repeat
    }

    /// Errors: a table changed during the load, or one of the current generation's can no longer be read.
    fn check_reloaded(&self, dataset: &Dataset) -> Result<(), LoadError> {
        let current = self.snapshot().ok();
        let was_readable = |name: &str| {
            current
                .as_ref()
                .is_some_and(|snapshot| snapshot.dataset.has(name))
        };
        for table in &dataset.tables {
            match &table.state {
                TableState::Unusable(_) if table.changed_during_read => {
                    return Err(LoadError::ChangedDuringRead);
                }
                TableState::Unusable(reason) if was_readable(table.schema.name) => {
                    let reason = format!(
                        "table `{}` is no longer readable: {reason}",
                        table.schema.name
                    );
                    return Err(LoadError::unusable(reason, table.error_position.clone()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the folder; a second time if a large table turns out damaged, which rebuilds it.
    fn read_dataset(
        self: &Arc<Self>,
        folder: &Path,
        growing: bool,
        renews: bool,
    ) -> Result<Dataset, LoadError> {
        // On a first load, available tables are published while large ones load; an earlier generation is complete and stays meanwhile.
        let known = |dataset: Dataset| match self.options.as_of {
            Some(time) => dataset
                .known_at(time)
                .map_err(|reason| LoadError::unusable(reason.to_string(), None)),
            None => Ok(dataset),
        };
        let early = |dataset: Dataset| drop(known(dataset).map(|dataset| self.publish(dataset)));
        let first = self.snapshot().is_err();
        let wire = self.options.wire.as_ref();
        let read = || {
            load_as(
                folder,
                &self.options.cache,
                wire,
                &Reporter {
                    service: self,
                    renews,
                },
                first.then_some(&early),
                growing,
            )
        };
        let dataset = read()?;
        if dataset.is_damaged() {
            read()
        } else {
            Ok(dataset)
        }
        .and_then(known)
    }

    /// Makes a ready dataset the current generation, as a load would.
    pub fn publish(self: &Arc<Self>, dataset: Dataset) -> Arc<Snapshot> {
        let generation = self.next_generation();
        let snapshot = self.swap(generation, dataset);
        self.notify(ServiceEvent::Reloaded(generation));
        snapshot
    }

    fn next_generation(&self) -> u64 {
        let mut state = self.load_lock();
        state.generation += 1;
        state.generation
    }

    /// Derives the shared data and replaces the current generation.
    fn swap(&self, generation: u64, dataset: Dataset) -> Arc<Snapshot> {
        self.replace(Snapshot::new(generation, dataset, self.answer_settings()))
    }

    pub(super) fn replace(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        if let Ok(before) = self.snapshot() {
            snapshot.inherit(&before);
        }
        let before = self.current.writing().replace(Arc::clone(&snapshot));
        self.keep(before);
        snapshot
    }

    /// Like `load`, on its own thread.
    pub fn load_in_background(self: &Arc<Self>) {
        let service = Arc::clone(self);
        // Before the thread runs, so that nobody takes the service for one that will never have data.
        self.load_lock().requested.starting = true;
        let spawned = std::thread::Builder::new()
            .name("load".into())
            .spawn(move || service.load().map(drop));
        if let Err(error) = spawned {
            self.load_lock().requested.starting = false;
            self.notify(ServiceEvent::LoadFailed(format!(
                "cannot start a thread for loading: {error}"
            )));
        }
    }

    /// Returns why the current generation is older than its files; `None` if it is up to date or there is none.
    pub fn stale(&self) -> Option<LoadFailure> {
        // A failed load of another folder does not make the current generation stale.
        let snapshot = self.snapshot().ok()?;
        self.load_lock()
            .failure
            .clone()
            .filter(|failure| failure.folder == snapshot.dataset.folder)
    }

    pub fn load_state(&self) -> LoadState {
        let contacting = self
            .options
            .wire
            .as_ref()
            .map_or_else(Vec::new, |wire| wire.pending_sources());
        LoadState {
            contacting,
            ..self.load_lock().clone()
        }
    }

    /// Requests and bytes of remote files since the program started; `None` without a client for them.
    pub fn remote_traffic(&self) -> Option<Traffic> {
        self.options.wire.as_ref().map(|wire| wire.figures())
    }

    /// Records the user's consent to contact these origins, and reloads.
    pub fn agree(self: &Arc<Self>, origins: &[String]) -> Result<(), ServiceError> {
        self.agree_quietly(origins)?;
        self.load_in_background();
        Ok(())
    }

    /// Records the user's consent to contact these origins.
    pub fn agree_quietly(&self, origins: &[String]) -> Result<(), ServiceError> {
        let Some(wire) = &self.options.wire else {
            return Ok(());
        };
        let folder = self.folder();
        let real = folder.canonicalize().unwrap_or(folder);
        origins
            .iter()
            .try_for_each(|origin| wire.agree(&real, origin))
            .map_err(ServiceError::Consent)
    }

    /// Cancels the running load, if any, and the one requested to follow it; the current generation stays.
    pub fn cancel_load(&self) {
        let mut state = self.load_lock();
        (state.cancelled, state.requested.repeat) = (true, false);
    }

    pub(super) fn set_watching(&self, watching: Watching) {
        self.load_lock().watching = watching;
    }

    pub fn is_loading(&self) -> bool {
        let state = self.load_lock();
        state.running || state.requested.starting
    }

    /// Whether this is the newest generation, and its files are unchanged since its load, except for appended rows. Remote files are not
    /// checked.
    pub fn is_current(&self, snapshot: &Snapshot) -> bool {
        if self
            .snapshot()
            .is_ok_and(|newest| newest.generation != snapshot.generation)
        {
            return false;
        }
        let state = self.load_lock();
        if state.running || state.failure.is_some() {
            return false;
        }
        let Some(last) = state.stamps.clone() else {
            return true;
        };
        let ends = state.ends.clone();
        drop(state);
        let now = FileStamps::of(&self.folder());
        now == last || now.appends_to(&last, &ends)
    }

    /// File stamps of the last load; `None` before the first.
    pub(super) fn loaded_stamps(&self) -> Option<FileStamps> {
        self.load_lock().stamps.clone()
    }

    /// Digests of these files' beginnings and ends, and the duration of the last incremental load.
    pub(super) fn loaded_ends(&self) -> (Ends, Duration) {
        let state = self.load_lock();
        (state.ends.clone(), state.took)
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.reading().clone()
    }

    /// Switches to another dataset folder; takes effect with the next load.
    pub fn open(&self, folder: &Path) {
        folder.clone_into(&mut self.folder.writing());
    }

    /// As `open`, of a folder that is still being written: the failure of another folder is no longer of interest.
    pub fn open_soon(&self, folder: &Path) {
        self.open(folder);
        self.load_lock().failure = None;
    }

    fn load_lock(&self) -> std::sync::MutexGuard<'_, LoadState> {
        self.load.locked()
    }
}

struct Reporter<'a> {
    service: &'a QueryService,
    renews: bool,
}

impl LoadProgress for Reporter<'_> {
    fn fetching(&self, says: &str) {
        self.service.notify(ServiceEvent::Notice(says.to_owned()));
    }

    fn renews(&self) -> bool {
        self.renews
    }

    fn step(&self, table: &str, done: u64, total: u64) -> Result<(), Cancelled> {
        let mut state = self.service.load_lock();
        match state.tables.iter_mut().find(|(name, ..)| name == table) {
            Some(row) => (row.1, row.2) = (done, total),
            None => state.tables.push((table.to_owned(), done, total)),
        }
        if state.cancelled {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}
