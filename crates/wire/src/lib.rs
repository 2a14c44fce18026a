//! The only place that opens outgoing connections: object stores (S3, Google Cloud Storage, Azure), web servers, the Hugging Face hub,
//! ClickHouse, nodes of chains, and services that `providers` describe. It lists files, fetches byte ranges of them, runs queries and reads
//! state. Using and storing the bytes belongs to the dataset.
//!
//! Nothing here runs before the first request: no thread, no certificate, no connection.

pub mod clickhouse;
mod client;
mod consent;
mod fault;
mod fetch;
mod hub;
mod keys;
pub mod node;
mod place;
mod source;
mod store;
pub mod web;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    future::Future,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{runtime::Runtime, sync::Semaphore};

pub use self::{
    client::TimeoutsAndRetries,
    consent::{Ledger, MemoryLedger},
    fault::{Fault, UrlError},
    fetch::{ByteSink, PartFetch},
    place::{Scheme, UrlPattern},
    source::{Source, SourceKind},
};

/// Concurrent requests.
const REQUESTS_MAX: usize = 6;
/// Poll interval for cancellation while waiting for an answer.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Bytes received between two writes to the ledger: a killed program may leave this many out.
const SPEND_EVERY: u64 = 16 << 20;

/// Whether requests may be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Consent {
    /// After the user's consent, for each dataset and origin.
    #[default]
    Ask,
    Always,
    Never,
}

/// Options of outgoing connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireOptions {
    pub consent: Consent,
    /// Daily budget in bytes.
    pub budget: u64,
    /// Requests per day to one provider, unless its description or the user's configuration sets another limit.
    pub requests_per_day: u32,
    pub sources: Vec<Source>,
    pub timeouts: TimeoutsAndRetries,
}

impl Default for WireOptions {
    fn default() -> Self {
        Self {
            consent: Consent::Ask,
            budget: 200_000_000_000,
            requests_per_day: 100_000,
            sources: Vec::new(),
            timeouts: TimeoutsAndRetries::default(),
        }
    }
}

/// A remote file as listed: equal objects mean equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    pub url: String,
    /// Name of its source.
    pub source: String,
    pub bytes: u64,
    /// Its ETag, or its modification time without one; `None` if the source returns neither.
    #[serde(rename = "mark")]
    pub version_tag: Option<String>,
    /// Milliseconds since 1970.
    pub modified: Option<i64>,
    /// Whether its URL names a fixed revision, so that requests need no `If-Match`.
    pinned: bool,
}

/// Requests sent and bytes received since the program began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    pub requests: u64,
    pub bytes: u64,
}

/// Sends requests to sources. Cheap until the first one.
pub struct RemoteClient {
    options: WireOptions,
    ledger: Arc<dyn Ledger>,
    runtime: OnceLock<Runtime>,
    stores: Mutex<HashMap<String, Arc<store::Store>>>,
    engines: Mutex<HashMap<String, Arc<clickhouse::Server>>>,
    nodes: node::KnownNodes,
    services: web::KnownServices,
    places: Arc<Semaphore>,
    requests: AtomicU64,
    bytes: AtomicU64,
    /// Bytes written to the ledger.
    bytes_in_ledger: AtomicU64,
    /// Requests to each provider that are not in the ledger yet.
    provider_requests: Mutex<BTreeMap<String, u64>>,
    pending: Mutex<Vec<String>>,
}

impl fmt::Debug for RemoteClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("figures", &self.figures())
            .finish_non_exhaustive()
    }
}

impl Drop for RemoteClient {
    fn drop(&mut self) {
        self.settle();
        if let Some(runtime) = self.runtime.take() {
            // Pending requests are dropped, without waiting for them.
            runtime.shutdown_background();
        }
    }
}

impl RemoteClient {
    pub fn new(options: WireOptions, ledger: Arc<dyn Ledger>) -> Arc<Self> {
        Arc::new(Self {
            options,
            ledger,
            runtime: OnceLock::new(),
            stores: Mutex::default(),
            engines: Mutex::default(),
            nodes: node::KnownNodes::default(),
            services: web::KnownServices::default(),
            places: Arc::new(Semaphore::new(REQUESTS_MAX)),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bytes_in_ledger: AtomicU64::new(0),
            provider_requests: Mutex::default(),
            pending: Mutex::default(),
        })
    }

    pub fn figures(&self) -> Traffic {
        Traffic {
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Names of the sources with pending requests, each once.
    pub fn pending_sources(&self) -> Vec<String> {
        let mut names = locked(&self.pending).clone();
        names.sort();
        names.dedup();
        names
    }

    /// Name of the place's source or, without one, its bucket or host.
    pub fn name_of(&self, place: &UrlPattern) -> String {
        self.options
            .sources
            .iter()
            .find(|source| source.has(place))
            .map_or_else(|| place.root.clone(), |source| source.name.clone())
    }

    /// Checks that the user consented to the dataset's access to the origin. The error continues "`URL` …".
    pub fn may_ask(&self, dataset: &Path, origin: &str) -> Result<(), Fault> {
        match self.options.consent {
            Consent::Always => Ok(()),
            Consent::Never => Err(Fault::Refused(
                "is blocked: remote.enabled is false in config.toml".to_owned(),
            )),
            Consent::Ask if self.ledger.agreed(dataset, origin) => Ok(()),
            Consent::Ask => Err(Fault::Refused(format!(
                "is blocked until you allow this dataset to contact `{origin}`"
            ))),
        }
    }

    /// Records the user's consent to the dataset's access to the origin.
    pub fn agree(&self, dataset: &Path, origin: &str) -> Result<(), Fault> {
        self.ledger.agree(dataset, origin)
    }

    /// Whether the user can be asked for consent.
    pub fn asks_first(&self) -> bool {
        self.options.consent == Consent::Ask
    }

    /// Checks that the daily budget allows this many bytes. The error continues "`URL` …".
    pub fn afford(&self, bytes: u64) -> Result<(), Fault> {
        let (spent, budget) = (self.spent(), self.options.budget);
        if spent.saturating_add(bytes) <= budget {
            return Ok(());
        }
        Err(Fault::Refused(format!(
            "exceeds the daily budget: {} to download, {} of {} used; raise remote.budget_gb_per_day in config.toml, or narrow `path` or `where` in dataset.toml",
            amount(bytes),
            amount(spent),
            amount(budget)
        )))
    }

    fn spent(&self) -> u64 {
        let unrecorded = self
            .bytes
            .load(Ordering::Relaxed)
            .saturating_sub(self.bytes_in_ledger.load(Ordering::Relaxed));
        self.ledger.spent().saturating_add(unrecorded)
    }

    /// Counts a request to the provider, if its budget of the day allows one. The error continues the name of the provider.
    fn count_request(&self, provider: &str, per_day: u32) -> Result<(), Fault> {
        let mut counted = locked(&self.provider_requests);
        let count = counted.entry(provider.to_owned()).or_default();
        if self.ledger.requests(provider).saturating_add(*count) >= u64::from(per_day) {
            return Err(Fault::Refused(format!(
                "has reached its limit of {per_day} requests for today (UTC); increase `every` in dataset.toml, or per_day under [sources.{provider}] (kind = \"provider\") in config.toml"
            )));
        }
        *count += 1;
        Ok(())
    }

    /// Writes the bytes received and the requests to the ledger.
    pub fn settle(&self) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let before = self.bytes_in_ledger.swap(bytes, Ordering::Relaxed);
        let requests = std::mem::take(&mut *locked(&self.provider_requests));
        if (bytes > before || !requests.is_empty())
            && !self.ledger.spend(bytes.saturating_sub(before), &requests)
        {
            // For this program they count all the same.
            self.bytes_in_ledger
                .fetch_sub(bytes.saturating_sub(before), Ordering::Relaxed);
            let mut counted = locked(&self.provider_requests);
            for (provider, count) in requests {
                *counted.entry(provider).or_default() += count;
            }
        }
    }

    /// Lists the files at a place: one, or the candidates for a pattern or a folder, up to `most`, including hidden ones. Unordered.
    pub fn find(
        self: &Arc<Self>,
        place: &UrlPattern,
        most: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<Object>, Fault> {
        let (wire, place) = (Arc::clone(self), place.clone());
        self.wait(stopped, async move {
            if place.scheme == Scheme::Hf {
                wire.in_hub(&place, most).await
            } else {
                wire.in_store(&place, most).await
            }
        })
    }

    /// Waits for the result of `work`, or until `stopped`.
    fn wait<T: Send + 'static>(
        &self,
        stopped: &dyn Fn() -> bool,
        work: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> Result<T, Fault> {
        let (sender, answer) = sync_channel(1);
        let task = self
            .runtime()?
            .spawn(async move { sender.send(work.await).unwrap_or_default() });
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if stopped() => {
                    task.abort();
                    return Err(Fault::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Fault::Failed("failed: internal error".to_owned()));
                }
            }
        }
    }

    fn runtime(&self) -> Result<&Runtime, Fault> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let made = builder
            .worker_threads(1)
            .max_blocking_threads(4)
            .thread_name("wire")
            .enable_all()
            .build();
        let made = made.map_err(|error| {
            Fault::Failed(format!(
                "cannot be contacted: no thread can be started ({error})"
            ))
        })?;
        if let Err(second) = self.runtime.set(made) {
            second.shutdown_background();
        }
        self.runtime
            .get()
            .ok_or_else(|| Fault::Failed("cannot be contacted".to_owned()))
    }

    async fn store(&self, place: &UrlPattern) -> Result<Arc<store::Store>, Fault> {
        // A source may cover part of an origin, such as a folder of a web server: it has a store of its own.
        let named = self
            .options
            .sources
            .iter()
            .find(|source| source.has(place))
            .map_or("", |source| &source.name);
        let key = format!("{} {named}", place.origin());
        if let Some(store) = locked(&self.stores).get(&key) {
            return Ok(Arc::clone(store));
        }
        let store =
            Arc::new(store::open(place, &self.options.sources, &self.options.timeouts).await?);
        locked(&self.stores).insert(key, Arc::clone(&store));
        Ok(store)
    }

    /// Counts a request, and lists its source as pending until the guard is dropped.
    fn ask(&self, name: &str) -> PendingRequest<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        locked(&self.pending).push(name.to_owned());
        PendingRequest {
            wire: self,
            name: name.to_owned(),
        }
    }

    fn count(&self, bytes: u64) {
        let all = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if all.saturating_sub(self.bytes_in_ledger.load(Ordering::Relaxed)) >= SPEND_EVERY {
            self.settle();
        }
    }
}

struct PendingRequest<'a> {
    wire: &'a RemoteClient,
    name: String,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let mut pending = locked(&self.wire.pending);
        if let Some(at) = pending.iter().position(|name| *name == self.name) {
            pending.swap_remove(at);
        }
    }
}

/// Locks the mutex, even after a thread that held it panicked: every change under a lock is a single step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Formats a number of bytes: `3.2 GB`.
pub fn amount(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1_000.0;
        unit += 1;
    }
    if unit == 0 || value >= 99.5 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_before_the_first_request() {
        let wire = RemoteClient::new(WireOptions::default(), Arc::new(MemoryLedger::default()));
        assert!(wire.runtime.get().is_none() && wire.figures() == Traffic::default());
    }

    #[test]
    fn an_origin_is_asked_once_the_person_consented() {
        let wire = |consent| {
            RemoteClient::new(
                WireOptions {
                    consent,
                    ..WireOptions::default()
                },
                Arc::new(MemoryLedger::default()),
            )
        };
        let (here, origin) = (Path::new("here"), "s3://bucket");
        let asks = wire(Consent::Ask);
        assert!(matches!(asks.may_ask(here, origin), Err(Fault::Refused(_))));
        asks.agree(here, origin).expect("kept");
        assert_eq!(asks.may_ask(here, origin), Ok(()));
        assert!(
            asks.may_ask(here, "s3://other").is_err()
                && asks.may_ask(Path::new("there"), origin).is_err()
        );
        assert!(
            wire(Consent::Always).may_ask(here, origin).is_ok()
                && wire(Consent::Never).may_ask(here, origin).is_err()
        );
    }

    #[test]
    fn bytes_over_the_budget_of_the_day_are_refused() {
        let ledger = Arc::new(MemoryLedger::default());
        let wire = RemoteClient::new(
            WireOptions {
                budget: 1_000,
                ..WireOptions::default()
            },
            ledger.clone(),
        );
        assert!(wire.afford(1_000).is_ok() && wire.afford(1_001).is_err());
        wire.count(600);
        assert!(wire.afford(401).is_err());
        wire.settle();
        wire.settle();
        assert_eq!((ledger.spent(), wire.afford(400).is_ok()), (600, true));
    }

    #[test]
    fn amounts_are_short() {
        let all = [0, 999, 1_000, 99_400, 999_400, 999_600, 2_100_000_000].map(amount);
        assert_eq!(
            all,
            [
                "0 B", "999 B", "1.0 kB", "99.4 kB", "999 kB", "1.0 MB", "2.1 GB"
            ]
        );
    }
}
