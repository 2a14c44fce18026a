//! The deck: the one door through which questions are asked. It holds the current generation, remembers answers for as long as it
//! lasts, runs questions on a bounded pool of threads and tells listeners what changed. Knows neither the API nor the terminal.

mod fetch;
mod flight;
pub mod known;
pub mod load;
pub mod pending;
pub mod watch;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, RwLock, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use quick_cache::{Equivalent, sync::Cache};
use tokio::sync::broadcast;

pub use self::fetch::{TableSlice, fetch};
use self::{
    flight::Flights,
    known::{BodyBytes, Known},
    load::LoadState,
    pending::{Coming, Pending},
};
use crate::{
    dataset::cache::{CacheOptions, give_back},
    error::{Code, Problem, Result},
    question::{
        Find, Question,
        progress::Progress,
        snapshot::{AnswerSettings, Snapshot},
    },
    wire::Wire,
};

/// How the deck is sized.
#[derive(Debug, Clone)]
pub struct DeckOptions {
    pub settings: AnswerSettings,
    /// Threads that answer questions.
    pub workers: usize,
    /// Questions that may wait or run at once; one more is refused as busy.
    pub queue: usize,
    /// Bytes of answers kept.
    pub memo_bytes: u64,
    /// Where large tables are cached.
    pub cache: CacheOptions,
    /// Who asks for files elsewhere; without it only files here are read.
    pub wire: Option<Arc<Wire>>,
}

impl Default for DeckOptions {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(2, usize::from).min(8);
        Self {
            settings: AnswerSettings::default(),
            workers,
            queue: 1_024,
            memo_bytes: 48 << 20,
            cache: CacheOptions::default(),
            wire: None,
        }
    }
}

/// Something that listeners hear of.
#[derive(Debug, Clone, PartialEq)]
pub enum DeckEvent {
    /// A new generation is current; with its number.
    Reloaded(u64),
    /// A load failed and the generation before it, if any, stays; with the reason for the person.
    LoadFailed(String),
    /// Something done in the background has ended; with what to tell the person.
    Said(String),
    /// A job changed; with its id.
    JobUpdated(String),
    /// Alerts fired, or events were missed; `Jobs::news` knows which.
    AlertsFired,
}

/// Answers, each remembered under its canonical request.
type Memo = Cache<MemoKey, Arc<dyn Remembered>, BodyBytes>;

/// A generation and a canonical request.
type MemoKey = (u64, Box<str>);

/// A key that is looked for: it hashes and compares as a `MemoKey`, and borrows its request.
#[derive(Hash)]
struct Sought<'a>(u64, &'a str);

impl Equivalent<MemoKey> for Sought<'_> {
    fn equivalent(&self, (generation, target): &MemoKey) -> bool {
        self.0 == *generation && *self.1 == **target
    }
}

/// An answer of any question, as the memo holds it.
pub(crate) trait Remembered: Any + Send + Sync {
    fn bytes(&self) -> u64;
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

pub struct Deck {
    this: Weak<Deck>,
    options: DeckOptions,
    current: RwLock<Option<Arc<Snapshot>>>,
    memo: Memo,
    flights: Flights,
    quick: Lane,
    /// For questions that take long: they have fewer threads, and quick ones never wait behind them.
    heavy: Lane,
    events: broadcast::Sender<DeckEvent>,
    load: Mutex<LoadState>,
    folder: RwLock<PathBuf>,
    /// What the next generation is answered by.
    settings: RwLock<AnswerSettings>,
    /// When free memory was given back to the system last.
    tidied: Mutex<Instant>,
}

/// Answers leave free memory scattered over the heaps of many threads; it is given back to the system no more often than this.
const TIDY_EVERY: Duration = Duration::from_secs(5);

/// Threads for questions of one kind.
struct Lane {
    pool: rayon::ThreadPool,
    /// Questions that wait or run.
    waiting: AtomicUsize,
    /// How many of them there may be.
    places: usize,
}

impl Lane {
    fn new(name: &'static str, workers: usize, places: usize) -> std::result::Result<Self, String> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers.max(1))
            .thread_name(move |i| format!("{name}-{i}"))
            .build()
            .map_err(|error| format!("cannot start {workers} worker threads: {error}"))?;
        Ok(Self { pool, waiting: AtomicUsize::new(0), places })
    }

    /// Takes a place; false when none is left.
    fn enter(&self) -> bool {
        let full = self.waiting.fetch_add(1, Ordering::AcqRel) >= self.places;
        if full {
            self.leave();
        }
        !full
    }

    fn leave(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for Deck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deck").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Deck {
    /// An empty deck over the dataset in `folder`; nothing is read until `load`.
    pub fn new(folder: &Path, options: DeckOptions) -> std::result::Result<Arc<Self>, String> {
        let quick = Lane::new("question", options.workers, options.queue)?;
        let heavy = Lane::new("inference", options.workers.saturating_sub(1), options.queue)?;
        Ok(Arc::new_cyclic(|this| Self {
            this: this.clone(),
            memo: Cache::with_weighter(10_000, options.memo_bytes, BodyBytes),
            flights: Flights::default(),
            quick,
            heavy,
            current: RwLock::new(None),
            events: broadcast::channel(256).0,
            load: Mutex::new(LoadState::default()),
            folder: RwLock::new(folder.to_owned()),
            settings: RwLock::new(options.settings.clone()),
            tidied: Mutex::new(Instant::now()),
            options,
        }))
    }

    /// The current generation; a problem while there is none yet.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        let current = self.current.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        current.clone().ok_or_else(|| Problem::new(Code::Loading, "The datasets are still loading: ask again in a moment."))
    }

    /// The current generation, if it has all the tables of this kind of question: large ones may still be on their way.
    pub fn ready<Q: Question>(&self) -> Result<Arc<Snapshot>> {
        let snapshot = self.snapshot()?;
        snapshot.require(Q::NEEDS)?;
        Ok(snapshot)
    }

    /// The current generation once it is whole.
    pub fn whole_snapshot(&self) -> Result<Arc<Snapshot>> {
        let whole = |snapshot: &Arc<Snapshot>| snapshot.dataset.importing.is_empty();
        let waits = || Problem::new(Code::Loading, "Large tables are still being brought in: ask again in a moment.");
        self.snapshot().and_then(|snapshot| if whole(&snapshot) { Ok(snapshot) } else { Err(waits()) })
    }

    /// The remembered answer, if this very question was answered from the current generation.
    pub fn known<Q: Question>(&self, question: &Q) -> Option<Arc<Known<Q::Answer>>> {
        self.known_by_key::<Q>(self.snapshot().ok()?.generation, &question.key())
    }

    /// As `known`, from the generation of this number, of the question whose key this is; the key of one without a body is its canonical
    /// request.
    pub fn known_by_key<Q: Question>(&self, generation: u64, key: &str) -> Option<Arc<Known<Q::Answer>>> {
        self.memo.get(&Sought(generation, key)).and_then(|known| known.any().downcast().ok())
    }

    /// Answers here and now, on the caller's thread, from memory where it can.
    pub fn answer<Q: Question>(&self, question: &Q, progress: &Progress) -> Result<Arc<Known<Q::Answer>>> {
        let snapshot = self.snapshot()?;
        self.answer_from(&snapshot, question, progress)
    }

    /// As `answer`, from a generation the caller holds, so that several questions see the same data.
    pub fn answer_from<Q: Question>(&self, snapshot: &Snapshot, question: &Q, progress: &Progress) -> Result<Arc<Known<Q::Answer>>> {
        let key = (snapshot.generation, question.key().into_boxed_str());
        if let Some(known) = self.known_by_key::<Q>(key.0, &key.1) {
            return Ok(known);
        }
        // What takes long is not done twice at once.
        let _flight = if question.heavy() { Some(self.flights.take(&key, progress)?) } else { None };
        if let Some(known) = self.known_by_key::<Q>(key.0, &key.1) {
            return Ok(known);
        }
        let _here = fetch(snapshot, &question.wants(snapshot), progress)?;
        let etag = snapshot.etag(&question.target());
        // A defect in one analysis must not take the program with it.
        let answer = catch_unwind(AssertUnwindSafe(|| question.answer(snapshot, progress)))
            .unwrap_or_else(|_| Err(Problem::new(Code::Defect, format!("The question `{}` met a defect of the program.", Q::NAME))));
        self.check(snapshot)?;
        let answer = answer?;
        let links = question.paging(&answer).and_then(|paging| paging.links(&question.target()));
        let known = Arc::new(Known::new(answer, etag, links)?);
        self.memo.insert(key, known.clone());
        Ok(known)
    }

    /// Asks on the pool. Drop the result to cancel; `wake` is called once when the answer is there.
    pub fn ask<Q: Question>(self: &Arc<Self>, question: Q, wake: impl FnOnce() + Send + 'static) -> Pending<Q::Answer> {
        // What has to be fetched first is waited for beside the quick ones.
        let heavy = question.heavy() || self.snapshot().is_ok_and(|snapshot| question.waits(&snapshot));
        self.spawn(heavy, move |deck, progress| deck.answer(&question, progress), wake)
    }

    /// Does what takes long and is more than one question, in the lane of those that do. Drop the result to cancel.
    pub fn work<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Self, &Progress) -> Result<T> + Send + 'static) -> Coming<T> {
        self.spawn(true, work, || ())
    }

    /// Does the work on a thread of its lane, or refuses it where the lane is full.
    fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        heavy: bool,
        work: impl FnOnce(&Self, &Progress) -> Result<T> + Send + 'static,
        wake: impl FnOnce() + Send + 'static,
    ) -> Coming<T> {
        let (sender, progress, coming) = Coming::new();
        if !self.lane(heavy).enter() {
            let detail = format!("{} questions are waiting already: ask again in a moment.", self.options.queue);
            sender.send(Err(Problem::new(Code::Busy, detail))).ok();
            wake();
            return coming;
        }
        let deck = Arc::clone(self);
        self.lane(heavy).pool.spawn(move || {
            let work = || progress.step(0, 0).and_then(|()| work(&deck, &progress));
            let done = if heavy { off_the_pool(work) } else { work() };
            deck.lane(heavy).leave();
            sender.send(done).ok();
            wake();
            deck.tidy();
        });
        coming
    }

    /// Gives free memory back to the system, unless that was done a moment ago.
    fn tidy(&self) {
        let mut tidied = self.tidied.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if tidied.elapsed() >= TIDY_EVERY {
            *tidied = Instant::now();
            drop(tidied);
            give_back();
        }
    }

    /// Finds rows in a generation the caller holds, here and now.
    pub fn find_in<F: Find>(&self, snapshot: &Snapshot, wanted: &F, progress: &Progress) -> Result<F::Found> {
        let found = catch_unwind(AssertUnwindSafe(|| wanted.find(snapshot, progress)))
            .unwrap_or_else(|_| Err(Problem::new(Code::Defect, "Finding the rows met a defect of the program.")));
        self.check(snapshot).and(found)
    }

    /// The problem that a large table of the generation turned out damaged: nothing is answered from it, and a load reads it anew.
    pub fn check(&self, snapshot: &Snapshot) -> Result<()> {
        if !snapshot.dataset.is_damaged() {
            return Ok(());
        }
        if let Some(deck) = self.this.upgrade()
            && !self.is_loading()
        {
            deck.load_in_background();
        }
        Err(Problem::new(Code::Loading, "A table kept on disk was damaged and is being read anew: ask again in a moment."))
    }

    /// As `find_in`, on a thread of its own that all processors may help. Drop the result to cancel; `wake` is called once when they
    /// are there.
    pub fn find<F: Find>(self: &Arc<Self>, snapshot: &Arc<Snapshot>, wanted: F, wake: impl FnOnce() + Send + 'static) -> Coming<F::Found> {
        let (sender, progress, coming) = Coming::new();
        let (deck, snapshot) = (Arc::clone(self), Arc::clone(snapshot));
        let run = move || {
            sender.send(deck.find_in(&snapshot, &wanted, &progress)).ok();
            wake();
            deck.tidy();
        };
        // Where no thread can be had the sender goes, and the outcome says so.
        std::thread::Builder::new().name("find".into()).spawn(run).ok();
        coming
    }

    fn lane(&self, heavy: bool) -> &Lane {
        if heavy { &self.heavy } else { &self.quick }
    }

    /// Hears of every change from now on; a listener that lags too far loses the oldest.
    pub fn listen(&self) -> broadcast::Receiver<DeckEvent> {
        self.events.subscribe()
    }

    pub fn tell(&self, event: DeckEvent) {
        // No listener is no error.
        self.events.send(event).ok();
    }

    /// Questions that wait or run.
    pub fn waiting(&self) -> usize {
        self.quick.waiting.load(Ordering::Acquire) + self.heavy.waiting.load(Ordering::Acquire)
    }

    /// The settings that the next generation will be answered by.
    pub fn answer_settings(&self) -> AnswerSettings {
        self.settings.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// From the next generation on, answers are shaped by these.
    pub fn set_answer_settings(&self, settings: AnswerSettings) {
        *self.settings.write().unwrap_or_else(std::sync::PoisonError::into_inner) = settings;
    }

    pub fn options(&self) -> &DeckOptions {
        &self.options
    }
}

/// Works on a thread of its own. A thread of the pool that waits for its share of a sort would begin another question meanwhile; were
/// that the same question, it would wait for itself.
fn off_the_pool<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let working = std::thread::Builder::new().name("heavy".into()).spawn_scoped(scope, work);
        let defect = || Problem::new(Code::Defect, "A question met a defect of the program.");
        match working {
            Ok(working) => working.join().unwrap_or_else(|_| Err(defect())),
            Err(_) => Err(Problem::new(Code::Busy, "No thread can be had to answer: ask again in a moment.")),
        }
    })
}
