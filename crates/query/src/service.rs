//! The query service: the single entry point for queries. Holds the current snapshot, caches its results, runs queries on bounded thread
//! pools and notifies listeners of changes. Knows neither the API nor the terminal.

pub mod as_of;
pub mod cached;
mod generations;
pub mod load;
pub mod pending;
pub mod refresh;
mod track_records;
pub mod watch;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, RwLock, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use quick_cache::sync::Cache;
use tokio::sync::{broadcast, oneshot};

use self::{
    as_of::PointInTimeServices,
    cached::{AnswerWeighter, BodyDates, CachedAnswer},
    generations::SnapshotRetention,
    load::LoadState,
    pending::{PendingAnswer, PendingResult},
    refresh::{FeedOptions, RefreshController},
};
use crate::{
    error::ServiceError,
    queries::{
        Dated, Find, Query,
        caches::RecordName,
        parameter::TokenNames,
        snapshot::{AnswerSettings, Snapshot},
        view::View,
    },
};
use frames::cache::CacheOptions;
use model::{
    address::Address,
    error::{Code, Problem, Result},
    flight::Flights,
    locks::{Locked as _, SharedLock as _},
    progress::Progress,
    time::Time,
};
use table::trim_heap;
use wire::RemoteClient;

/// Sizes and settings of the query service.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    pub settings: AnswerSettings,
    /// Worker threads of the quick lane; the heavy lane has one fewer, but at least one.
    pub workers: usize,
    /// Maximum number of queued and running queries; one more is refused as busy.
    pub queue: usize,
    /// Capacity of the answer cache in bytes.
    pub memo_bytes: u64,
    /// The on-disk cache of large tables.
    pub cache: CacheOptions,
    /// Client for remote files; `None` restricts the service to local ones.
    pub wire: Option<Arc<RemoteClient>>,
    /// Live tables.
    pub feed: FeedOptions,
    /// What is later is not known; none: the present.
    pub as_of: Option<Time>,
    /// Whether the track records of all tokens are computed in the background once they are needed.
    pub counts_records: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        let workers = std::thread::available_parallelism()
            .map_or(2, usize::from)
            .min(8);
        Self {
            settings: AnswerSettings::default(),
            workers,
            queue: 1_024,
            memo_bytes: 48 << 20,
            cache: CacheOptions::default(),
            wire: None,
            feed: FeedOptions::default(),
            as_of: None,
            counts_records: false,
        }
    }
}

/// A notification to listeners.
#[derive(Debug, Clone, PartialEq)]
pub enum ServiceEvent {
    /// A new generation is current; carries its number.
    Reloaded(u64),
    /// A load failed and the previous generation, if any, stays; carries the reason for the user.
    LoadFailed(String),
    /// A background task ended; carries the message for the user.
    Notice(String),
    /// Rows of a live table were fetched.
    FeedRefreshed { table: String, rows: u64 },
    /// It did not, or not all of it; carries the reason for the user.
    FeedFailed { table: String, reason: String },
    /// A fetch began, goes on or waits: `QueryService::feed_tables` says how far it is.
    FeedRunning,
    /// A record of all tokens was counted, or cannot be.
    RecordCounted(RecordName),
    /// A job changed; carries its id.
    JobUpdated(String),
    /// Alerts fired, or events were lost; `Jobs::deliver_fired` lists the firings.
    AlertsFired,
}

/// Answer cache, keyed by canonical request: the bytes of the JSON, and the answer.
type Memo = Cache<MemoKey, (u64, Shared), AnswerWeighter>;

/// A result of any type.
type Shared = Arc<dyn Any + Send + Sync>;

/// Generation number, version of its track records, and canonical request.
type MemoKey = (u64, u64, Box<str>);

fn memo_key(snapshot: &Snapshot, key: &str) -> MemoKey {
    let version = snapshot.track_records.version();
    (snapshot.generation, version, key.into())
}

pub struct QueryService {
    this: Weak<QueryService>,
    options: ServiceOptions,
    current: RwLock<Option<Arc<Snapshot>>>,
    /// Those before it that are still answered from.
    before: Mutex<SnapshotRetention>,
    memo: Memo,
    /// The slow queries being answered: who asks one of them gets that answer, and takes no thread meanwhile.
    flights: Flights<MemoKey, Shared>,
    quick: Arc<Lane>,
    /// Lane for slow queries: fewer threads, so that quick queries never queue behind them.
    heavy: Arc<Lane>,
    events: broadcast::Sender<ServiceEvent>,
    load: Mutex<LoadState>,
    folder: RwLock<PathBuf>,
    /// Settings for answers from the next generation on.
    settings: RwLock<AnswerSettings>,
    /// Time of the last malloc trim.
    trimmed: Mutex<Instant>,
    feed: Arc<RefreshController>,
    /// Decks of the same data as of some times.
    as_of: Mutex<PointInTimeServices>,
    /// Whether a thread counts records, of this service or of one as of a time.
    counting: Arc<AtomicBool>,
}

/// Minimum interval between malloc trims: answers leave free memory scattered over the heaps of many threads.
const TRIM_INTERVAL: Duration = Duration::from_secs(5);

/// Computes an answer.
type Work<T> = Box<dyn FnMut(&QueryService, &Progress) -> Result<T> + Send>;

/// Work for a lane, and who waits for it.
struct Task<T> {
    /// Equal for equal work, which is done once for all who ask for it at once on the heavy lane.
    key: Option<MemoKey>,
    work: Work<T>,
    sender: oneshot::Sender<Result<T>>,
    progress: Progress,
    wake: Box<dyn FnOnce() + Send>,
}

impl<T> Task<T> {
    fn end(self, outcome: Result<T>) {
        self.sender.send(outcome).ok();
        (self.wake)();
    }
}

/// A thread pool with a bounded queue, for queries of one kind.
struct Lane {
    pool: rayon::ThreadPool,
    /// Queued and running queries.
    waiting: AtomicUsize,
    /// Maximum of `waiting`.
    capacity: usize,
}

impl Lane {
    fn new(
        name: &'static str,
        workers: usize,
        capacity: usize,
    ) -> std::result::Result<Self, ServiceError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers.max(1))
            .thread_name(move |i| format!("{name}-{i}"))
            .build()
            .map_err(|error| ServiceError::Workers {
                count: workers,
                error,
            })?;
        Ok(Self {
            pool,
            waiting: AtomicUsize::new(0),
            capacity,
        })
    }

    /// Reserves a place in the queue; false if it is full.
    fn enter(&self) -> bool {
        let full = self.waiting.fetch_add(1, Ordering::AcqRel) >= self.capacity;
        if full {
            self.leave();
        }
        !full
    }

    fn leave(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for QueryService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deck")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl TokenNames for QueryService {
    fn token_named(&self, name: &str) -> Result<Option<Address>> {
        self.snapshot()?.token_named(name)
    }

    fn tokens_named(&self, name: &str) -> Vec<Address> {
        self.snapshot()
            .map_or_else(|_| Vec::new(), |snapshot| snapshot.tokens_named(name))
    }

    fn nearest_name(&self, name: &str) -> Option<String> {
        self.snapshot().ok()?.nearest_name(name)
    }
}

impl QueryService {
    /// Creates a query service over the dataset in `folder`; nothing is read until `load`.
    pub fn new(
        folder: &Path,
        options: ServiceOptions,
    ) -> std::result::Result<Arc<Self>, ServiceError> {
        let quick = Lane::new("question", options.workers, options.queue)?;
        let heavy = Lane::new(
            "inference",
            options.workers.saturating_sub(1),
            options.queue,
        )?;
        Ok(Self::with_lanes(
            folder,
            options,
            Arc::new(quick),
            Arc::new(heavy),
            Arc::default(),
        ))
    }

    fn with_lanes(
        folder: &Path,
        options: ServiceOptions,
        quick: Arc<Lane>,
        heavy: Arc<Lane>,
        counting: Arc<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            memo: Cache::with_weighter(10_000, options.memo_bytes, AnswerWeighter),
            flights: Flights::default(),
            quick,
            heavy,
            current: RwLock::new(None),
            before: Mutex::default(),
            events: broadcast::channel(256).0,
            load: Mutex::new(LoadState::default()),
            folder: RwLock::new(folder.to_owned()),
            settings: RwLock::new(options.settings.clone()),
            trimmed: Mutex::new(Instant::now()),
            feed: Arc::default(),
            as_of: Mutex::default(),
            counting,
            options,
        })
    }

    /// Returns the current generation. Errors: nothing is loaded yet.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        let current = self.current.reading();
        current.clone().ok_or_else(|| {
            Problem::new(
                Code::Loading,
                "The dataset is still loading; retry in a moment.",
            )
        })
    }

    /// Returns the current generation once all its tables are loaded.
    pub fn complete_snapshot(&self) -> Result<Arc<Snapshot>> {
        let snapshot = self.snapshot()?;
        snapshot.require_complete().map(|()| snapshot)
    }

    /// Returns the cached answer to this query for the current generation.
    pub fn cached<Q: Query>(&self, question: &Q) -> Option<Arc<CachedAnswer<Q::Answer>>> {
        self.cached_by_key::<Q>(&*self.snapshot().ok()?, &question.key())
    }

    /// Like `cached`, by generation and query key; without a request body, the key is the canonical request.
    pub fn cached_by_key<Q: Query>(
        &self,
        snapshot: &Snapshot,
        key: &str,
    ) -> Option<Arc<CachedAnswer<Q::Answer>>> {
        let (_, cached) = self.memo.get(&memo_key(snapshot, key))?;
        cached.downcast().ok()
    }

    /// Answers on the calling thread, from the cache if possible.
    pub fn answer<Q: Query>(
        &self,
        question: &Q,
        progress: &Progress,
    ) -> Result<Arc<CachedAnswer<Q::Answer>>> {
        let snapshot = self.snapshot()?;
        self.answer_from(&snapshot, question, progress)
    }

    /// Like `answer`, from a given generation, so that several queries see the same data.
    pub fn answer_from<Q: Query>(
        &self,
        snapshot: &Snapshot,
        question: &Q,
        progress: &Progress,
    ) -> Result<Arc<CachedAnswer<Q::Answer>>> {
        if !question.waits(snapshot) {
            return self.answered(snapshot, question, progress);
        }
        let key = memo_key(snapshot, &question.key());
        match self.flights.wait(&key, || progress.step(0, 0))? {
            Err(flight) => {
                let answer = self.answered(snapshot, question, progress)?;
                flight.land(Arc::new(Arc::clone(&answer)));
                Ok(answer)
            }
            Ok(answer) => match answer.downcast_ref::<Arc<_>>() {
                Some(answer) => Ok(Arc::clone(answer)),
                None => self.answered(snapshot, question, progress),
            },
        }
    }

    fn answered<Q: Query>(
        &self,
        snapshot: &Snapshot,
        question: &Q,
        progress: &Progress,
    ) -> Result<Arc<CachedAnswer<Q::Answer>>> {
        let key = memo_key(snapshot, &question.key());
        if let Some(cached) = self.cached_by_key::<Q>(snapshot, &key.2) {
            return Ok(cached);
        }
        let etag = question.etag(snapshot);
        // A defect in one analysis must not take the program with it.
        let view = View::new(snapshot);
        let answer = catch_unwind(AssertUnwindSafe(|| question.answer(&view, progress)))
            .unwrap_or_else(|_| {
                Err(Problem::new(
                    Code::Defect,
                    format!("Internal error in the query `{}`.", Q::NAME),
                ))
            });
        self.count_wanted();
        self.check_undamaged(snapshot)?;
        let answer = answer?;
        let links = question
            .paging(&answer)
            .and_then(|paging| paging.links(&snapshot.named_in(&question.target())));
        let unknown = snapshot
            .dataset
            .as_of
            .as_ref()
            .filter(|_| question.explains())
            .map(|as_of| as_of.unknown.as_slice());
        let as_of = question.as_of(snapshot, &answer);
        view.check_brought()?;
        let says_when =
            Q::DATED == Dated::Always || Q::DATED == Dated::Explained && question.explains();
        let dates = BodyDates {
            as_of: as_of.filter(|_| says_when),
            as_of_unknown: unknown,
        };
        let cached = Arc::new(CachedAnswer::new(answer, as_of, etag, links, dates)?);
        // A record published meanwhile may have been a part of it or not.
        if !progress.is_partial() && snapshot.track_records.version() == key.1 {
            let bytes = cached.json.len() as u64;
            self.memo.insert(key, (bytes, Arc::clone(&cached) as _));
        }
        Ok(cached)
    }

    /// Runs a query on a thread pool. Dropping the result cancels it; `wake` is called once, when the result is ready.
    pub fn ask<Q: Query>(
        self: &Arc<Self>,
        question: Q,
        wake: impl FnOnce() + Send + 'static,
    ) -> PendingAnswer<Q::Answer> {
        match self.snapshot() {
            Ok(snapshot) => self.ask_of(snapshot, question, wake),
            Err(problem) => self.spawn(false, None, move |_, _| Err(problem.clone()), wake),
        }
    }

    /// Like `ask`, of a given generation.
    pub fn ask_of<Q: Query>(
        self: &Arc<Self>,
        snapshot: Arc<Snapshot>,
        question: Q,
        wake: impl FnOnce() + Send + 'static,
    ) -> PendingAnswer<Q::Answer> {
        self.spawn(
            question.waits(&snapshot),
            Some(memo_key(&snapshot, &question.key())),
            move |service, progress| service.answered(&snapshot, &question, progress),
            wake,
        )
    }

    /// Runs slow work beyond a single query in the slow lane. Dropping the result cancels.
    pub fn work<T: Clone + Send + Sync + 'static>(
        self: &Arc<Self>,
        work: impl Fn(&Self, &Progress) -> Result<T> + Send + 'static,
    ) -> PendingResult<T> {
        self.spawn(true, None, work, || ())
    }

    /// Runs the work on its lane. Errors: the lane is full.
    fn spawn<T: Clone + Send + Sync + 'static>(
        self: &Arc<Self>,
        heavy: bool,
        key: Option<MemoKey>,
        work: impl Fn(&Self, &Progress) -> Result<T> + Send + 'static,
        wake: impl FnOnce() + Send + 'static,
    ) -> PendingResult<T> {
        let (sender, progress, pending) = PendingResult::new();
        self.enqueue(
            heavy,
            Task {
                key,
                work: Box::new(work),
                sender,
                progress,
                wake: Box::new(wake),
            },
        );
        pending
    }

    fn enqueue<T: Clone + Send + Sync + 'static>(self: &Arc<Self>, heavy: bool, task: Task<T>) {
        if self.lane(heavy).enter() {
            return self.run(heavy, task);
        }
        let detail = format!(
            "{} queries are already queued; retry in a moment.",
            self.options.queue
        );
        task.end(Err(Problem::new(Code::Busy, detail)));
    }

    /// Runs the task in its place on the lane, or has it wait for another asker's run: then it takes neither a thread nor a place, and runs
    /// after all if that run has no result, as when its asker left.
    fn run<T: Clone + Send + Sync + 'static>(self: &Arc<Self>, heavy: bool, task: Task<T>) {
        let service = Arc::clone(self);
        self.lane(heavy).pool.spawn(move || {
            let (flight, mut task) = if let (true, Some(key)) = (heavy, task.key.clone()) {
                let again = Arc::clone(&service);
                let done = move |task: Task<T>, value: Option<Shared>| {
                    if let Some(value) = value.as_deref().and_then(|value| value.downcast_ref()) {
                        return task.end(Ok(T::clone(value)));
                    }
                    again.lane(heavy).waiting.fetch_add(1, Ordering::AcqRel);
                    again.run(heavy, task);
                };
                let Some((flight, task)) = service.flights.join(&key, task, done) else {
                    return service.lane(heavy).leave();
                };
                (Some(flight), task)
            } else {
                (None, task)
            };
            let mut work = || {
                task.progress
                    .step(0, 0)
                    .and_then(|()| (task.work)(&service, &task.progress))
            };
            let done = if heavy { on_own_thread(work) } else { work() };
            service.lane(heavy).leave();
            if let (Some(flight), Ok(value)) = (flight, &done) {
                flight.land(Arc::new(value.clone()));
            }
            task.end(done);
            service.trim();
        });
    }

    /// Trims malloc's free memory, at most every `TRIM_INTERVAL`.
    fn trim(&self) {
        let mut trimmed = self.trimmed.locked();
        if trimmed.elapsed() >= TRIM_INTERVAL {
            *trimmed = Instant::now();
            drop(trimmed);
            trim_heap();
        }
    }

    /// Selects rows of a given generation, on the calling thread.
    pub fn find_in<F: Find>(
        &self,
        snapshot: &Snapshot,
        wanted: &F,
        progress: &Progress,
    ) -> Result<F::Found> {
        let view = View::new(snapshot);
        let found =
            catch_unwind(AssertUnwindSafe(|| wanted.find(&view, progress))).unwrap_or_else(|_| {
                Err(Problem::new(
                    Code::Defect,
                    "Internal error while selecting the rows.",
                ))
            });
        self.count_wanted();
        self.check_undamaged(snapshot)
            .and_then(|()| view.check_brought())
            .and(found)
    }

    /// Errors: a large table of the generation turned out damaged. It answers nothing more, and a reload reads the table again.
    pub fn check_undamaged(&self, snapshot: &Snapshot) -> Result<()> {
        if !snapshot.dataset.is_damaged() {
            return Ok(());
        }
        if let Some(service) = self.this.upgrade()
            && !self.is_loading()
            && self
                .snapshot()
                .is_ok_and(|newest| newest.generation == snapshot.generation)
        {
            service.load_in_background();
        }
        Err(Problem::new(
            Code::Loading,
            "A cached table was damaged and is being rebuilt; retry in a moment.",
        ))
    }

    /// Like `find_in`, on its own thread, parallelised over all processors. Dropping the result cancels; `wake` is called once, when the
    /// rows are ready.
    pub fn find<F: Find>(
        self: &Arc<Self>,
        snapshot: &Arc<Snapshot>,
        wanted: F,
        wake: impl FnOnce() + Send + 'static,
    ) -> PendingResult<F::Found> {
        let (sender, progress, pending) = PendingResult::new();
        let (service, snapshot) = (Arc::clone(self), Arc::clone(snapshot));
        let run = move || {
            sender
                .send(service.find_in(&snapshot, &wanted, &progress))
                .ok();
            wake();
            service.trim();
        };
        // If no thread can be started, the sender is dropped, which the outcome reports.
        std::thread::Builder::new()
            .name("find".into())
            .spawn(run)
            .ok();
        pending
    }

    fn lane(&self, heavy: bool) -> &Lane {
        if heavy { &self.heavy } else { &self.quick }
    }

    /// Subscribes to all later events; a listener that lags too far loses the oldest.
    pub fn listen(&self) -> broadcast::Receiver<ServiceEvent> {
        self.events.subscribe()
    }

    pub fn notify(&self, event: ServiceEvent) {
        // Having no listener is no error.
        self.events.send(event).ok();
    }

    /// Queued and running queries.
    pub fn waiting(&self) -> usize {
        self.quick.waiting.load(Ordering::Acquire) + self.heavy.waiting.load(Ordering::Acquire)
    }

    /// The answer settings of the next generation.
    pub fn answer_settings(&self) -> AnswerSettings {
        self.settings.reading().clone()
    }

    /// Sets the answer settings, effective from the next generation.
    pub fn set_answer_settings(&self, settings: AnswerSettings) {
        *self.settings.writing() = settings;
    }

    pub fn options(&self) -> &ServiceOptions {
        &self.options
    }
}

/// Runs the work on its own thread. A pool thread that waits for its share of a parallel sort would start another query meanwhile; if
/// that were the same query, it would deadlock on itself.
fn on_own_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let working = std::thread::Builder::new()
            .name("heavy".into())
            .spawn_scoped(scope, work);
        let defect = || Problem::new(Code::Defect, "Internal error in a query.");
        match working {
            Ok(working) => working.join().unwrap_or_else(|_| Err(defect())),
            Err(_) => Err(Problem::new(
                Code::Busy,
                "Cannot start a thread for this query; retry in a moment.",
            )),
        }
    })
}
