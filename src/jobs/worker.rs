//! The threads behind the jobs: workers that take jobs from the queue and ask the deck, and one that tells what changed, whoever
//! changed it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    Analysis, Job, JobOptions, Sources, TaskStatus,
    ask::ask,
    owner::Owner,
    store::{Claimed, JobStore, TaskPlace, task_id},
    watch::AlertWatch,
};
use crate::{
    dataset::address::Address,
    deck::{Deck, DeckEvent},
    error::Result,
    question::{progress::Progress, snapshot::Snapshot},
};

/// How often the store is looked at for what other programs wrote.
const LOOK: Duration = Duration::from_millis(500);
/// Changes closer together are told once.
const COALESCE: Duration = Duration::from_millis(50);
/// After the store failed.
const RETRY: Duration = Duration::from_secs(1);
/// The most workers there are threads for.
const WORKERS_MAX: usize = 64;

pub(super) struct Shared {
    pub(super) store: JobStore,
    pub(super) deck: Arc<Deck>,
    pub(super) options: JobOptions,
    pub(super) owner: Owner,
    stopping: AtomicBool,
    /// Jobs that wait or run.
    open: AtomicUsize,
    /// Ends a look at the alerts.
    looking: Progress,
    /// What people were told of what fired before the program began, by dataset.
    told_before: Mutex<HashMap<String, u64>>,
    /// The task each running job is at.
    live: Mutex<HashMap<String, Live>>,
    /// How often `ring` was called.
    bell: Mutex<u64>,
    rung: Condvar,
}

struct Live {
    progress: Progress,
    task_id: String,
}

/// The running threads.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl Workers {
    pub(super) fn start(store: JobStore, deck: Arc<Deck>, options: JobOptions, owner: Owner) -> std::result::Result<Self, String> {
        let last = store.last_change().map_err(|problem| problem.detail)?;
        if owner.is_owner() {
            store.requeue(None).map_err(|problem| problem.detail)?;
        }
        let open = AtomicUsize::new(store.open_count().map_err(|problem| problem.detail)?);
        let shared = Arc::new(Shared {
            open,
            store,
            deck,
            owner,
            stopping: AtomicBool::new(false),
            looking: Progress::default(),
            told_before: Mutex::default(),
            live: Mutex::default(),
            bell: Mutex::default(),
            rung: Condvar::new(),
            options,
        });
        let workers = Self { shared: Arc::clone(&shared), threads: Mutex::default() };
        workers.spawn("jobs".to_owned(), move || shared.tell(last))?;
        let shared = Arc::clone(&workers.shared);
        workers.spawn("alerts".to_owned(), move || shared.watch())?;
        for i in 0..workers.shared.options.workers.min(WORKERS_MAX) {
            let shared = Arc::clone(&workers.shared);
            workers.spawn(format!("job-{i}"), move || shared.work())?;
        }
        Ok(workers)
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn spawn(&self, name: String, work: impl FnOnce() + Send + 'static) -> std::result::Result<(), String> {
        let thread =
            std::thread::Builder::new().name(name).spawn(work).map_err(|error| format!("cannot start a thread for jobs: {error}"))?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Ends the threads, waiting up to `patience`. A job that does not let go in time stays running in the store, and this program
    /// its owner: the next start queues it again.
    pub(super) fn stop(&self, patience: Duration) {
        let shared = &self.shared;
        shared.stopping.store(true, Ordering::SeqCst);
        shared.looking.cancel();
        lock(&shared.live).values().for_each(|live| live.progress.cancel());
        shared.ring();
        let end = Instant::now() + patience;
        let mut threads = lock(&self.threads);
        while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        threads.retain(|thread| !thread.is_finished());
        if threads.is_empty() {
            shared.owner.release();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop(RETRY);
    }
}

/// Why a job was left before its end.
enum Left {
    /// It is terminated, or gone.
    Ended,
    /// The program stops.
    Stopping,
}

impl Shared {
    pub(super) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(super) fn open_count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Wakes every thread to look for what changed.
    pub(super) fn ring(&self) {
        *lock(&self.bell) += 1;
        self.rung.notify_all();
    }

    /// Cancels what the job is at, if it runs here.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(live) = lock(&self.live).get(id) {
            live.progress.cancel();
        }
    }

    /// The task the job is at here, with (done, total).
    pub(super) fn live_task(&self, id: &str) -> Option<(String, (u64, u64))> {
        lock(&self.live).get(id).map(|live| (live.task_id.clone(), live.progress.state()))
    }

    /// Says how far the running task has come.
    pub(super) fn describe(&self, job: &mut Job) {
        let Some((task_id, (done, total))) = self.live_task(&job.job_id).filter(|(_, (_, total))| *total > 0) else { return };
        if let Some(task) = job.tasks.iter_mut().find(|task| task.status == TaskStatus::Running && task.task_id == task_id) {
            task.description = format!("{}: {done} of {total}", task.description);
        }
    }

    /// Waits until the bell has rung more than `seen` times, or `patience` is over.
    fn wait(&self, seen: u64, patience: Duration) {
        let waited = self.rung.wait_timeout_while(lock(&self.bell), patience, |rung| *rung == seen && !self.stopping());
        drop(waited);
    }

    /// Tells listeners of changed jobs, and takes over when the program that ran the jobs is gone.
    fn tell(&self, mut last: i64) {
        loop {
            let seen = *lock(&self.bell);
            let stopping = self.stopping();
            if !stopping && self.owner.try_take() {
                // Here the store is only wrong for a moment; what fails is tried again by the workers.
                self.store.requeue(None).ok();
            }
            let changes = self.store.changes(last).unwrap_or_default();
            if !changes.is_empty() {
                self.open.store(self.store.open_count().unwrap_or_default(), Ordering::Relaxed);
            }
            for (change, id) in changes {
                last = last.max(change);
                self.deck.tell(DeckEvent::JobUpdated(id));
            }
            if stopping {
                return;
            }
            self.cancel_what_others_ended();
            std::thread::sleep(COALESCE);
            self.wait(seen, LOOK);
        }
    }

    /// Looks at the alerts, and tells listeners of what fired.
    fn watch(&self) {
        let mut watch = AlertWatch::default();
        while !self.stopping() {
            let seen = *lock(&self.bell);
            watch.turn(self, &self.looking);
            self.wait(seen, LOOK);
        }
    }

    /// Up to which one people were told of what fired on the dataset when this program first asked. All its listeners begin there,
    /// whichever of them is the first to be told more.
    pub(super) fn told_before(&self, dataset: &str) -> Result<u64> {
        let mut before = lock(&self.told_before);
        if let Some(told) = before.get(dataset) {
            return Ok(*told);
        }
        let told = self.store.told(dataset)?;
        before.insert(dataset.to_owned(), told);
        Ok(told)
    }

    fn cancel_what_others_ended(&self) {
        let ids: Vec<String> = lock(&self.live).keys().cloned().collect();
        for id in ids {
            if self.store.status(&id).is_ok_and(|status| status.is_none_or(super::JobStatus::ended)) {
                self.cancel(&id);
            }
        }
    }

    fn work(&self) {
        while !self.stopping() {
            let seen = *lock(&self.bell);
            match self.next() {
                Ok(Some(job)) => self.run(&job),
                Ok(None) => self.wait(seen, LOOK),
                Err(_) => self.wait(seen, RETRY),
            }
        }
    }

    /// The next job, once this program may run it and there is data to ask.
    fn next(&self) -> Result<Option<Claimed>> {
        if !self.owner.is_owner() || self.deck.whole_snapshot().is_err() || !self.store.any_queued()? {
            return Ok(None);
        }
        let claimed = self.store.claim()?;
        self.ring();
        Ok(claimed)
    }

    fn run(&self, job: &Claimed) {
        let mut outcome = self.run_tasks(job);
        lock(&self.live).remove(&job.id);
        // A store that fails now (a full disk) must not leave the job running with nobody at it.
        while !matches!(outcome, Ok(Ok(()) | Err(Left::Ended))) {
            outcome = self.store.requeue(Some(&job.id)).map(Ok);
            if outcome.is_err() && self.stopping() {
                break;
            }
            if outcome.is_err() {
                std::thread::sleep(RETRY);
            }
        }
        self.ring();
    }

    fn run_tasks(&self, job: &Claimed) -> Result<std::result::Result<(), Left>> {
        let mut tokens_used = 0;
        for (position, address) in job.tokens.iter().enumerate() {
            // All answers about a token come from one generation.
            let snapshot = self.deck.whole_snapshot()?;
            self.store.asks(&job.id, &Sources::of(&snapshot.dataset), position == 0)?;
            tokens_used += u64::from(snapshot.dataset.token(address).is_some());
            for &analysis in Analysis::ALL {
                let place = TaskPlace { job: &job.id, position, analysis };
                if let Err(left) = self.run_task(&snapshot, place, address, tokens_used)? {
                    return Ok(Err(left));
                }
            }
        }
        self.store.finish(&job.id)?;
        Ok(Ok(()))
    }

    fn run_task(
        &self,
        snapshot: &Snapshot,
        place: TaskPlace<'_>,
        address: &Address,
        tokens_used: u64,
    ) -> Result<std::result::Result<(), Left>> {
        let progress = Progress::default();
        let live = Live { progress: progress.clone(), task_id: task_id(place.analysis, address) };
        // Listed before the store is asked: whoever stops or terminates after that finds it here.
        lock(&self.live).insert(place.job.to_owned(), live);
        if self.stopping() {
            return Ok(Err(Left::Stopping));
        }
        if !self.store.begin_task(place, tokens_used)? {
            return Ok(Err(Left::Ended));
        }
        self.ring();
        let ending = ask(&self.deck, snapshot, place.analysis, *address, &progress);
        if progress.cancelled() && self.stopping() {
            return Ok(Err(Left::Stopping));
        }
        if !self.store.end_task(place, &ending)? {
            return Ok(Err(Left::Ended));
        }
        self.ring();
        Ok(Ok(()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
