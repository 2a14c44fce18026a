//! The job threads: workers that take jobs from the queue and run their queries, one that announces job changes by any process, and one
//! that checks the alerts.

use std::{
    collections::HashMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    Analysis, Job, JobOptions, Sources, TaskStatus,
    alert_checks::AlertWatch,
    alerts,
    ask::ask,
    notifications::AlertNotifier,
    owner::Owner,
    store::{ClaimedJob, JobStore, TaskKey, task_id},
};
use crate::{
    error::JobsError,
    queries::snapshot::Snapshot,
    service::{QueryService, ServiceEvent},
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    locks::Locked as _,
    progress::Progress,
};

/// Interval for reading other processes' changes from the store.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Debounce: changes closer together are announced once.
const COALESCE: Duration = Duration::from_millis(50);
/// How long dropping waits for the threads.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Wait after a store failure.
const RETRY: Duration = Duration::from_secs(1);
const WORKERS_MAX: usize = 64;

pub(super) struct Shared {
    pub(super) store: JobStore,
    pub(super) service: Arc<QueryService>,
    pub(super) options: JobOptions,
    pub(super) owner: Owner,
    /// Those who tell fired alerts outside the program.
    pub(super) messengers: Vec<Arc<AlertNotifier>>,
    stopping: AtomicBool,
    /// Queued and running jobs.
    open: AtomicUsize,
    /// Cancels the alert check in progress.
    alert_check: Progress,
    /// The last firing delivered to the user before this process started, by dataset.
    delivered_before_start: Mutex<HashMap<String, u64>>,
    /// Current task of each running job.
    running: Mutex<HashMap<String, RunningTask>>,
    /// Number of calls of `notify`.
    notified: Mutex<u64>,
    wake: Condvar,
}

struct RunningTask {
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
        f.debug_struct("Workers")
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

impl Workers {
    pub(super) fn start(
        store: JobStore,
        service: Arc<QueryService>,
        options: JobOptions,
        owner: Owner,
    ) -> std::result::Result<Self, JobsError> {
        let last = store.last_change()?;
        let dataset = alerts::open_dataset(&service);
        if owner.is_owner(&dataset) {
            store.requeue(&dataset, None)?;
        }
        let messengers = options
            .alert_routes
            .messengers(service.options().wire.as_ref());
        let workers = Self::new(store, service, options, owner, messengers, false)?;
        let shared = Arc::clone(&workers.shared);
        workers.spawn("jobs".to_owned(), move || shared.announce_changes(last))?;
        let shared = Arc::clone(&workers.shared);
        workers.spawn("alerts".to_owned(), move || shared.check_alerts())?;
        for messenger in &workers.shared.messengers {
            let (shared, messenger) = (Arc::clone(&workers.shared), Arc::clone(messenger));
            workers.spawn("messages".to_owned(), move || {
                messenger.run(&shared.service, &|| shared.stopping());
            })?;
        }
        for i in 0..workers.shared.options.workers.min(WORKERS_MAX) {
            let shared = Arc::clone(&workers.shared);
            workers.spawn(format!("job-{i}"), move || shared.work())?;
        }
        Ok(workers)
    }

    /// No threads, for a process that only reads the store: as if it were stopping.
    pub(super) fn none(
        store: JobStore,
        service: Arc<QueryService>,
        options: JobOptions,
        owner: Owner,
    ) -> std::result::Result<Self, JobsError> {
        Self::new(store, service, options, owner, Vec::new(), true)
    }

    fn new(
        store: JobStore,
        service: Arc<QueryService>,
        options: JobOptions,
        owner: Owner,
        messengers: Vec<Arc<AlertNotifier>>,
        stopping: bool,
    ) -> std::result::Result<Self, JobsError> {
        let open = store.open_count(&alerts::open_dataset(&service))?;
        let shared = Arc::new(Shared {
            open: AtomicUsize::new(open),
            store,
            service,
            owner,
            messengers,
            stopping: AtomicBool::new(stopping),
            alert_check: Progress::default(),
            delivered_before_start: Mutex::default(),
            running: Mutex::default(),
            notified: Mutex::default(),
            wake: Condvar::new(),
            options,
        });
        Ok(Self {
            shared,
            threads: Mutex::default(),
        })
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn spawn(
        &self,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> std::result::Result<(), JobsError> {
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(work)
            .map_err(JobsError::Thread)?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Stops the threads, waiting up to `timeout`. A job that has not stopped by then stays `running` in the store, owned by this process:
    /// the next start requeues it.
    pub(super) fn stop(&self, timeout: Duration) {
        let shared = &self.shared;
        shared.stopping.store(true, Ordering::SeqCst);
        shared.alert_check.cancel();
        lock(&shared.running)
            .values()
            .for_each(|task| task.progress.cancel());
        shared.notify();
        shared
            .messengers
            .iter()
            .for_each(|messenger| messenger.wake());
        let end = Instant::now() + timeout;
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
        self.stop(STOP_TIMEOUT);
    }
}

impl Shared {
    pub(super) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(super) fn open_count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Wakes every thread to check for changes.
    pub(super) fn notify(&self) {
        *lock(&self.notified) += 1;
        self.wake.notify_all();
    }

    /// Cancels the job's current task, if it runs here.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(task) = lock(&self.running).get(id) {
            task.progress.cancel();
        }
    }

    /// Returns the job's current task, if it runs here, with (done, total).
    pub(super) fn running_task(&self, id: &str) -> Option<(String, (u64, u64))> {
        lock(&self.running)
            .get(id)
            .map(|task| (task.task_id.clone(), task.progress.state()))
    }

    /// Appends the running task's progress to its description.
    pub(super) fn describe_progress(&self, job: &mut Job) {
        let Some((task_id, (done, total))) = self
            .running_task(&job.job_id)
            .filter(|(_, (_, total))| *total > 0)
        else {
            return;
        };
        if let Some(task) = job
            .tasks
            .iter_mut()
            .find(|task| task.status == TaskStatus::Running && task.task_id == task_id)
        {
            task.description = format!("{}: {done} of {total}", task.description);
        }
    }

    /// Waits until `notify` has been called more than `seen` times, or for `timeout`.
    fn wait(&self, seen: u64, timeout: Duration) {
        let waited = self
            .wake
            .wait_timeout_while(lock(&self.notified), timeout, |count| {
                *count == seen && !self.stopping()
            });
        drop(waited);
    }

    /// Announces jobs that changed after the change number `last`, and takes over the queue when its owner is gone.
    fn announce_changes(&self, mut last: i64) {
        let mut counted = self.dataset();
        loop {
            let seen = *lock(&self.notified);
            let stopping = self.stopping();
            let dataset = self.dataset();
            let idle = lock(&self.running).is_empty();
            if !stopping && self.owner.try_take(&dataset, idle) {
                // On failure the workers retry it.
                self.store.requeue(&dataset, None).ok();
            }
            let changes = self.store.changes(&dataset, last).unwrap_or_default();
            if (!changes.is_empty() || dataset != counted)
                && let Ok(open) = self.store.open_count(&dataset)
            {
                self.open.store(open, Ordering::Relaxed);
                counted = dataset;
            }
            for (change, id) in changes {
                last = last.max(change);
                self.service.notify(ServiceEvent::JobUpdated(id));
            }
            if stopping {
                return;
            }
            self.cancel_what_others_ended();
            std::thread::sleep(COALESCE);
            self.wait(seen, POLL_INTERVAL);
        }
    }

    /// Checks the alerts, and announces firings.
    fn check_alerts(&self) {
        let mut watch = AlertWatch::default();
        while !self.stopping() {
            let seen = *lock(&self.notified);
            watch.run_round(self, &self.alert_check);
            self.wait(seen, POLL_INTERVAL);
        }
    }

    /// Returns the dataset's last delivered firing as of this process's first call. All its listeners start there, even after a later
    /// delivery to one of them.
    pub(super) fn delivered_before_start(&self, dataset: &str) -> Result<u64> {
        let mut before = lock(&self.delivered_before_start);
        if let Some(delivered) = before.get(dataset) {
            return Ok(*delivered);
        }
        let delivered = self.store.last_delivered(dataset)?;
        before.insert(dataset.to_owned(), delivered);
        Ok(delivered)
    }

    fn cancel_what_others_ended(&self) {
        let ids: Vec<String> = lock(&self.running).keys().cloned().collect();
        for id in ids {
            if self
                .store
                .status(&id)
                .is_ok_and(|status| status.is_none_or(super::JobStatus::ended))
            {
                self.cancel(&id);
            }
        }
    }

    fn work(&self) {
        while !self.stopping() {
            let seen = *lock(&self.notified);
            match self.next() {
                Ok(Some(job)) => self.run(&job),
                Ok(None) => self.wait(seen, POLL_INTERVAL),
                Err(_) => self.wait(seen, RETRY),
            }
        }
    }

    /// Identity of the open dataset.
    pub(super) fn dataset(&self) -> String {
        alerts::open_dataset(&self.service)
    }

    /// Claims the open dataset's next queued job, if this process owns its queue and the data is loaded.
    fn next(&self) -> Result<Option<ClaimedJob>> {
        let dataset = self.dataset();
        if !self.owner.is_owner(&dataset)
            || self.service.complete_snapshot().is_err()
            || !self.store.any_queued(&dataset)?
        {
            return Ok(None);
        }
        let claimed = self.store.claim(&dataset)?;
        self.notify();
        Ok(claimed)
    }

    /// Runs the job to its end; on failure it returns to the queue.
    fn run(&self, job: &ClaimedJob) {
        let mut outcome = self.run_tasks(job);
        lock(&self.running).remove(&job.id);
        while outcome.is_err() {
            outcome = self
                .store
                .requeue(&job.dataset, Some(&job.id))
                .map_err(Problem::from);
            if outcome.is_err() && self.stopping() {
                break;
            }
            // A store that fails now (a full disk) must not leave the job `running` while nobody runs it.
            if outcome.is_err() {
                std::thread::sleep(RETRY);
            }
        }
        self.notify();
    }

    /// Errors: the store fails, another dataset was opened, or the program stops before the job's end.
    fn run_tasks(&self, job: &ClaimedJob) -> Result<()> {
        let mut tokens_used = 0;
        for (position, address) in job.tokens.iter().enumerate() {
            // All answers about a token come from one generation.
            let snapshot = self.service.complete_snapshot()?;
            if alerts::dataset(&snapshot.dataset.folder) != job.dataset {
                return Err(Problem::new(
                    Code::Loading,
                    "Another dataset was opened; the job waits until its own dataset is open again.",
                ));
            }
            self.store.save_sources(
                &job.id,
                &Sources::of(&self.service, &snapshot.dataset),
                position == 0,
            )?;
            tokens_used += u64::from(snapshot.dataset.token(address).is_some());
            for analysis in Analysis::ALL {
                let key = TaskKey {
                    job: &job.id,
                    position,
                    analysis,
                };
                if !self.run_task(&snapshot, key, address, tokens_used)? {
                    return Ok(());
                }
            }
        }
        Ok(self.store.finish(&job.id)?)
    }

    /// False if the job was terminated or deleted meanwhile.
    fn run_task(
        &self,
        snapshot: &Snapshot,
        key: TaskKey<'_>,
        address: &Address,
        tokens_used: u64,
    ) -> Result<bool> {
        let interrupted = || Problem::new(Code::ShuttingDown, "tokendeck is shutting down.");
        let progress = Progress::default();
        let task = RunningTask {
            progress: progress.clone(),
            task_id: task_id(key.analysis, address),
        };
        // Registered before asking the store, so that a concurrent stop or termination finds it.
        lock(&self.running).insert(key.job.to_owned(), task);
        if self.stopping() {
            return Err(interrupted());
        }
        if !self.store.begin_task(key, tokens_used)? {
            return Ok(false);
        }
        self.notify();
        let ending = ask(&self.service, snapshot, key.analysis, *address, &progress);
        if progress.cancelled() && self.stopping() {
            return Err(interrupted());
        }
        let still_runs = self.store.end_task(key, &ending)?;
        if still_runs {
            self.notify();
        }
        Ok(still_runs)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
}
