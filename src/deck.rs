//! The deck: the one door through which questions are asked. It holds the current generation, remembers answers for as long as it
//! lasts, runs questions on a bounded pool of threads and tells listeners what changed. Knows no face.

pub mod known;
pub mod load;
pub mod pending;
pub mod watch;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use quick_cache::sync::Cache;
use tokio::sync::broadcast;

use self::{
    known::{BodyBytes, Known},
    load::LoadState,
    pending::Pending,
};
use crate::{
    error::{Code, Problem, Result},
    question::{
        Question,
        progress::Progress,
        snapshot::{AnswerSettings, Snapshot},
    },
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
}

impl Default for DeckOptions {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(2, usize::from).min(8);
        Self { settings: AnswerSettings::default(), workers, queue: 1_024, memo_bytes: 128 << 20 }
    }
}

/// Something that listeners hear of.
#[derive(Debug, Clone, PartialEq)]
pub enum DeckEvent {
    /// A new generation stands; with its number.
    Reloaded(u64),
    /// A load failed and the generation before it, if any, stays; with the reason for the person.
    LoadFailed(String),
    /// Something done in the background has ended; with what to tell the person.
    Said(String),
    /// A job changed; with its id.
    JobUpdated(String),
}

/// Answers, each remembered under its canonical request.
type Memo = Cache<MemoKey, Arc<dyn Remembered>, BodyBytes>;

/// (generation, canonical request)
type MemoKey = (u64, Box<str>);

/// An answer of any question, as the memo holds it.
pub(crate) trait Remembered: Any + Send + Sync {
    fn bytes(&self) -> u64;
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

pub struct Deck {
    options: DeckOptions,
    current: RwLock<Option<Arc<Snapshot>>>,
    memo: Memo,
    pool: rayon::ThreadPool,
    waiting: AtomicUsize,
    events: broadcast::Sender<DeckEvent>,
    load: Mutex<LoadState>,
    folder: RwLock<PathBuf>,
}

impl std::fmt::Debug for Deck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deck").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Deck {
    /// An empty deck over the dataset in `folder`; nothing is read until `load`.
    pub fn new(folder: &Path, options: DeckOptions) -> std::result::Result<Arc<Self>, String> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.workers.max(1))
            .thread_name(|i| format!("question-{i}"))
            .build()
            .map_err(|error| format!("cannot start {} worker threads: {error}", options.workers))?;
        Ok(Arc::new(Self {
            memo: Cache::with_weighter(10_000, options.memo_bytes, BodyBytes),
            pool,
            current: RwLock::new(None),
            waiting: AtomicUsize::new(0),
            events: broadcast::channel(256).0,
            load: Mutex::new(LoadState::default()),
            folder: RwLock::new(folder.to_owned()),
            options,
        }))
    }

    /// The current generation; a problem while there is none yet.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        let current = self.current.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        current.clone().ok_or_else(|| Problem::new(Code::Loading, "The datasets are still loading: ask again in a moment."))
    }

    /// The remembered answer, if this very question was answered from the current generation.
    pub fn known<Q: Question>(&self, question: &Q) -> Option<Arc<Known<Q::Answer>>> {
        let snapshot = self.snapshot().ok()?;
        self.remembered::<Q>(&(snapshot.generation, question.target().into_boxed_str()))
    }

    /// Answers here and now, on the caller's thread, from memory where it can.
    pub fn answer<Q: Question>(&self, question: &Q, progress: &Progress) -> Result<Arc<Known<Q::Answer>>> {
        let snapshot = self.snapshot()?;
        self.answer_from(&snapshot, question, progress)
    }

    /// As `answer`, from a generation the caller holds, so that several questions see the same data.
    pub fn answer_from<Q: Question>(&self, snapshot: &Snapshot, question: &Q, progress: &Progress) -> Result<Arc<Known<Q::Answer>>> {
        let mut canonical = question.target();
        let target_bytes = canonical.len();
        if let Some(body) = question.body() {
            canonical.push('\n');
            canonical.push_str(&body);
        }
        let key = (snapshot.generation, canonical.into_boxed_str());
        if let Some(known) = self.remembered::<Q>(&key) {
            return Ok(known);
        }
        let etag = snapshot.etag(&key.1[..target_bytes]);
        // A defect in one analysis must not take the program with it.
        let answer = catch_unwind(AssertUnwindSafe(|| question.answer(snapshot, progress)))
            .unwrap_or_else(|_| Err(Problem::new(Code::Defect, format!("The question `{}` met a defect of the program.", Q::NAME))))?;
        let known = Arc::new(Known::new(answer, etag)?);
        self.memo.insert(key, known.clone());
        Ok(known)
    }

    /// Asks on the pool. Drop the result to cancel; `wake` is called once when the answer is there.
    pub fn ask<Q: Question>(self: &Arc<Self>, question: Q, wake: impl FnOnce() + Send + 'static) -> Pending<Q::Answer> {
        let (sender, progress, pending) = Pending::new();
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= self.options.queue {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            let busy = Problem::new(Code::Busy, format!("{} questions are waiting already: ask again in a moment.", self.options.queue));
            sender.send(Err(busy)).ok();
            wake();
            return pending;
        }
        let deck = Arc::clone(self);
        self.pool.spawn(move || {
            let answer = progress.step(0, 0).and_then(|()| deck.answer(&question, &progress));
            deck.waiting.fetch_sub(1, Ordering::AcqRel);
            sender.send(answer).ok();
            wake();
        });
        pending
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
        self.waiting.load(Ordering::Acquire)
    }

    pub fn options(&self) -> &DeckOptions {
        &self.options
    }

    fn remembered<Q: Question>(&self, key: &MemoKey) -> Option<Arc<Known<Q::Answer>>> {
        self.memo.get(key).and_then(|known| known.any().downcast().ok())
    }
}
