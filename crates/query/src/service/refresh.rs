//! Keeps live tables fresh while the program runs: a thread sleeps until one is due, refreshes it, and loads the fetched rows. What is
//! fetched, and how, belongs to `load::live`.

pub mod add;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use super::{QueryService, ServiceEvent};
use crate::error::ServiceError;
use load::{
    live::{
        LiveMarket, RefreshContext, RefreshError, RefreshReport, RefreshState, RefreshWatch, hosts,
        hosts_without_consent, live_tables, refresh, social_hosts,
    },
    loader,
    manifest::{Every, FILE, LiveSource, Manifest},
    provider::{self, Providers},
};
use model::{
    address::Address,
    locks::Locked as _,
    time::{MINUTE_MS, Time},
    wall_clock::now,
};
use wire::RemoteClient;

/// Longest sleep: by then dataset.toml may say otherwise.
const SLEEP_MAX: Duration = Duration::from_mins(1);
/// How long what is on disk counts as read.
const SHOWN_FOR: Duration = Duration::from_secs(5);
/// Shortest time between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// Settings of the refreshes.
#[derive(Clone, Default)]
pub struct FeedOptions {
    /// Folder with a person's own descriptions of providers.
    pub own_providers: Option<PathBuf>,
    /// The starred tokens.
    pub watchlist: Option<Arc<dyn Fn() -> Vec<Address> + Send + Sync>>,
}

impl fmt::Debug for FeedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedOptions")
            .field("own_providers", &self.own_providers)
            .finish_non_exhaustive()
    }
}

/// A live table, for people and tools.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedTable {
    pub table: String,
    /// Display names of the providers that supplied the rows, or that will be requested.
    pub providers: Vec<String>,
    /// Attribution that must be shown with the data.
    pub credit: Vec<String>,
    /// Refresh interval in milliseconds; `None` if it is refreshed only on demand.
    pub every: Option<i64>,
    pub last: Option<Time>,
    pub next: Option<Time>,
    /// Whether it is older than twice the time after which it should come.
    pub is_stale: bool,
    /// Requests done of all, while it is fetched.
    pub progress: Option<(usize, usize)>,
    /// Until when the next request waits, and for whom.
    pub waiting: Option<(Time, String)>,
    pub failure: Option<String>,
    pub notes: Vec<String>,
}

/// State of the feed.
#[derive(Default)]
pub(super) struct RefreshController {
    state: Mutex<FeedState>,
    woken: Condvar,
}

#[derive(Default)]
struct FeedState {
    runs: bool,
    /// A request to refresh all tables, or to check what is due.
    asked: FeedAsked,
    /// The dataset, and those of its tables that were fetched at this start.
    started: (PathBuf, BTreeSet<&'static str>),
    running: BTreeMap<String, (usize, usize)>,
    waiting: Option<(Time, String)>,
    stopped: bool,
    /// What was shown last, of which folder, and when it was read.
    shown: Option<(Instant, PathBuf, Vec<FeedTable>)>,
}

/// What must be said beside figures of the tables that `wanted` names, each once.
fn credit(tables: &[FeedTable], wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let said = tables
        .iter()
        .filter(|table| wanted(&table.table))
        .flat_map(|table| &table.credit);
    let each: BTreeSet<String> = said.cloned().collect();
    each.into_iter().collect()
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FeedAsked {
    #[default]
    Nothing,
    Look,
    All,
}

/// What the thread reads of the dataset.
struct Feeds {
    folder: PathBuf,
    manifest: Manifest,
    providers: Providers,
}

impl QueryService {
    /// Starts refreshing live tables; once per query service.
    pub fn start_feed(self: &Arc<Self>) {
        if std::mem::replace(&mut self.feed.state.locked().runs, true) {
            return;
        }
        let (service, desk) = (Arc::downgrade(self), Arc::clone(&self.feed));
        let run = move || {
            // While it sleeps it holds no service, which ends when everybody else has left it.
            while let Some(sleep) = service.upgrade().map(|service| service.feed_once()) {
                desk.wait(sleep);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("feed".into()).spawn(run) {
            self.notify(ServiceEvent::Notice(format!(
                "live tables are off: cannot start a thread: {error}"
            )));
        }
    }

    /// Refreshes every live table.
    pub fn refresh_feed(&self) {
        self.feed.wake(FeedAsked::All);
    }

    /// Has the feed look whether something is due, as after a load or a consent.
    pub(super) fn look_at_feed(&self) {
        self.feed.wake(FeedAsked::Look);
    }

    /// Stops the running fetch, if there is one; rows fetched by then are stored.
    pub fn stop_feed(&self) -> bool {
        let mut state = self.feed.state.locked();
        state.stopped = !state.running.is_empty();
        state.stopped
    }

    /// Hosts of the dataset's tables that the user has not allowed yet: those of markets, and those of social platforms.
    pub(super) fn feed_hosts(&self) -> (Vec<String>, Vec<String>) {
        let wire = self.options.wire.as_ref().filter(|wire| wire.asks_first());
        let (Some(wire), Some(service), Ok(Some(feeds))) =
            (wire, self.this.upgrade(), self.feeds())
        else {
            return (Vec::new(), Vec::new());
        };
        service.with_context(wire, &feeds, true, |context| {
            let social = social_hosts(context);
            let hosts = hosts(context, &[]).into_keys();
            let open = hosts.filter(|origin| wire.may_ask(&feeds.folder, origin).is_err());
            open.partition(|origin| !social.contains(origin))
        })
    }

    /// The live tables. Cheap: the disk is read again only after a while.
    pub fn feed_tables(&self) -> Vec<FeedTable> {
        let folder = self.folder();
        let known = self.feed.state.locked().shown.clone();
        let known = known.filter(|(read, of, _)| read.elapsed() < SHOWN_FOR && *of == folder);
        // Read without the lock, which the thread of the feed needs.
        let shown = known.unwrap_or_else(|| (Instant::now(), folder, self.read_feed_tables()));
        let mut state = self.feed.state.locked();
        state.shown = Some(shown.clone());
        let mut tables = shown.2;
        for table in &mut tables {
            table.progress = state.running.get(&table.table).copied();
            table.waiting = state
                .waiting
                .clone()
                .filter(|(until, _)| *until > now() && table.progress.is_some());
        }
        tables
    }

    /// Attribution that must be shown with data of live tables.
    pub fn credit(&self) -> Vec<String> {
        credit(&self.feed_tables(), |_| true)
    }

    /// The same beside candles, as far as it was read already: nothing is read here.
    pub fn credit_of_candles(&self) -> Vec<String> {
        let (folder, state) = (self.folder(), self.feed.state.locked());
        let shown = state.shown.as_ref().filter(|(_, of, _)| *of == folder);
        shown.map_or_else(Vec::new, |(.., tables)| {
            credit(tables, |table| table == "candles")
        })
    }

    fn read_feed_tables(&self) -> Vec<FeedTable> {
        let Ok(Some(feeds)) = self.feeds() else {
            return Vec::new();
        };
        let (kept, now) = (RefreshState::read_tables(&feeds.folder), now());
        let asks = self
            .options
            .wire
            .as_ref()
            .filter(|wire| wire.asks_first())
            .zip(self.this.upgrade());
        let open: BTreeMap<&str, Vec<String>> = asks
            .map(|(wire, service)| {
                service.with_context(wire, &feeds, true, |context| {
                    live_tables(&feeds.manifest)
                        .into_iter()
                        .map(|(schema, _)| {
                            (schema.name, hosts_without_consent(context, schema.name))
                        })
                        .collect()
                })
            })
            .unwrap_or_default();
        let consent = |table: &str| {
            let waits_for = open
                .get(table)
                .filter(|hosts| !hosts.is_empty())?
                .join(" and ");
            Some(format!("waiting for your consent to contact {waits_for}"))
        };
        let table = |(schema, live): (
            &'static model::schema::TableSchema,
            &load::manifest::LiveTable,
        )| {
            let known = kept.tables.get(schema.name).cloned().unwrap_or_default();
            let asked = match &live.from {
                LiveSource::Providers(ids) => ids.clone(),
                LiveSource::Url(_) => vec!["url".to_owned()],
            };
            let ids = if known.providers.is_empty() {
                asked
            } else {
                known.providers.into_iter().collect()
            };
            let of = |id: &String| feeds.providers.get(id);
            let every = if let Every::Span(every) = live.every {
                Some(every)
            } else {
                None
            };
            let last = known.last.map(Time);
            FeedTable {
                table: schema.name.to_owned(),
                providers: ids
                    .iter()
                    .map(|id| of(id).map_or_else(|| id.clone(), |provider| provider.name.clone()))
                    .collect(),
                credit: ids.iter().filter_map(|id| of(id)?.credit.clone()).collect(),
                every,
                last,
                next: every.map(|every| kept.due(schema.name, every, now)),
                is_stale: every
                    .zip(last)
                    .is_some_and(|(every, last)| now.0 - last.0 > 2 * every + MINUTE_MS),
                progress: None,
                waiting: None,
                failure: known.failure,
                notes: consent(schema.name)
                    .into_iter()
                    .chain(known.notes)
                    .collect(),
            }
        };
        live_tables(&feeds.manifest)
            .into_iter()
            .map(table)
            .collect()
    }

    /// Reads the live tables with their providers; `None` if there are none.
    fn feeds(&self) -> Result<Option<Feeds>, ServiceError> {
        let folder = self.folder();
        let folder = folder.canonicalize().unwrap_or(folder);
        let text = loader::read_manifest(&folder.join(FILE)).map_err(ServiceError::Manifest)?;
        let manifest = Manifest::parse(&text).unwrap_or_default();
        if live_tables(&manifest).is_empty() {
            return Ok(None);
        }
        let providers = provider::all(self.options.feed.own_providers.as_deref(), Some(&folder))
            .map_err(ServiceError::Providers)?;
        Ok(Some(Feeds {
            folder,
            manifest,
            providers,
        }))
    }

    fn with_context<T>(
        self: &Arc<Self>,
        wire: &Arc<RemoteClient>,
        feeds: &Feeds,
        by_hand: bool,
        work: impl FnOnce(&RefreshContext<'_>) -> T,
    ) -> T {
        let snapshot = self.snapshot().ok();
        let rows = snapshot.as_ref().map(|snapshot| &snapshot.dataset);
        let market = rows.map_or_else(LiveMarket::default, LiveMarket::of);
        work(&RefreshContext {
            dataset: &feeds.folder,
            manifest: &feeds.manifest,
            providers: &feeds.providers,
            wire,
            market: &market,
            rows,
            by_hand,
            watchlist: &self
                .options
                .feed
                .watchlist
                .as_ref()
                .map_or_else(Vec::new, |watchlist| watchlist()),
            now: now(),
            watch: Arc::new(FeedWatch(Arc::clone(self), self.folder())),
        })
    }

    /// Refreshes what is due; returns how long nothing will be.
    fn feed_once(self: &Arc<Self>) -> Duration {
        let asked = std::mem::take(&mut self.feed.state.locked().asked);
        let Some(wire) = &self.options.wire else {
            return SLEEP_MAX;
        };
        // The first load comes first: without tokens nothing is known to be missing.
        if self.is_loading() {
            if asked == FeedAsked::All {
                self.feed.wake(FeedAsked::All);
            }
            return LOOK;
        }
        let feeds = match self.feeds() {
            Ok(Some(feeds)) => feeds,
            Ok(None) => return SLEEP_MAX,
            Err(error) => {
                self.notify(ServiceEvent::Notice(error.to_string()));
                return SLEEP_MAX;
            }
        };
        // For those who draw, who read nothing themselves.
        self.feed_tables();
        let (kept, now) = (RefreshState::read_tables(&feeds.folder), now());
        let mut started = {
            let state = self.feed.state.locked();
            if state.started.0 == feeds.folder {
                state.started.1.clone()
            } else {
                BTreeSet::new()
            }
        };
        let (mut due, mut next): (Vec<&'static str>, i64) =
            (Vec::new(), SLEEP_MAX.as_millis() as i64);
        for (schema, live) in live_tables(&feeds.manifest) {
            let wait = match live.every {
                Every::Span(every) => kept.due(schema.name, every, now).0 - now.0,
                Every::Start if !started.contains(schema.name) => 0,
                Every::Start | Every::Request => i64::MAX,
            };
            if asked == FeedAsked::All || wait <= 0 {
                due.push(schema.name);
            } else {
                next = next.min(wait);
            }
        }
        // A table whose hosts nobody agreed to waits, and the others do not wait for it: the dashboard asks the person.
        if !due.is_empty() {
            self.with_context(wire, &feeds, asked == FeedAsked::All, |context| {
                due.retain(|table| hosts_without_consent(context, table).is_empty());
            });
        }
        if due.is_empty() {
            return Duration::from_millis(next.max(1) as u64);
        }
        started.extend(&due);
        self.feed.state.locked().started = (feeds.folder.clone(), started);
        if self.run_feed(wire, &feeds, &due, asked == FeedAsked::All) {
            Duration::ZERO
        } else {
            SLEEP_MAX
        }
    }

    /// Whether it ended by itself: after a failure, or while another program fetches, it is not tried at once.
    fn run_feed(
        self: &Arc<Self>,
        wire: &Arc<RemoteClient>,
        feeds: &Feeds,
        due: &[&str],
        by_hand: bool,
    ) -> bool {
        {
            let mut state = self.feed.state.locked();
            state.stopped = false;
            state.running = due
                .iter()
                .map(|table| ((*table).to_owned(), (0, 0)))
                .collect();
        }
        self.notify(ServiceEvent::FeedRunning);
        let outcome = self.with_context(wire, feeds, by_hand, |context| refresh(context, due));
        {
            let mut state = self.feed.state.locked();
            (state.running, state.waiting, state.shown) = (BTreeMap::new(), None, None);
        }
        let came = match &outcome {
            Ok(report) => {
                self.tell_feed(report);
                report.tables.iter().any(|table| table.rows > 0)
            }
            // What came before it was stopped is kept.
            Err(RefreshError::Stopped) => true,
            Err(RefreshError::Busy) => false,
            Err(RefreshError::Failed(error)) => {
                self.notify(ServiceEvent::FeedFailed {
                    table: due.first().copied().unwrap_or_default().to_owned(),
                    reason: error.to_string(),
                });
                false
            }
        };
        if came
            && self
                .folder()
                .canonicalize()
                .is_ok_and(|folder| folder == feeds.folder)
        {
            self.reload(false);
        }
        outcome.is_ok()
    }

    fn tell_feed(&self, report: &RefreshReport) {
        for table in &report.tables {
            self.notify(match &table.failure {
                Some(reason) => ServiceEvent::FeedFailed {
                    table: table.table.clone(),
                    reason: reason.clone(),
                },
                None => ServiceEvent::FeedRefreshed {
                    table: table.table.clone(),
                    rows: table.rows,
                },
            });
        }
    }
}

impl RefreshController {
    fn wake(&self, asked: FeedAsked) {
        let mut state = self.state.locked();
        if state.asked != FeedAsked::All {
            state.asked = asked;
        }
        drop(state);
        self.woken.notify_all();
    }

    fn wait(&self, sleep: Duration) {
        let state = self.state.locked();
        if state.asked == FeedAsked::Nothing {
            drop(self.woken.wait_timeout(state, sleep.max(LOOK)));
        } else {
            drop(state);
            std::thread::sleep(LOOK);
        }
    }
}

/// Reports a refresh, and stops it if the user asks or the dataset is closed.
struct FeedWatch(Arc<QueryService>, PathBuf);

impl RefreshWatch for FeedWatch {
    fn step(&self, table: &str, _: &str, done: usize, total: usize) {
        let mut state = self.0.feed.state.locked();
        state.waiting = None;
        let fresh = state
            .running
            .insert(table.to_owned(), (done, total))
            .is_none_or(|(before, _)| before != done);
        drop(state);
        if fresh {
            self.0.notify(ServiceEvent::FeedRunning);
        }
    }

    fn waits(&self, provider: &str, wait: Duration, _: bool) {
        let until = Time(now().0 + wait.as_millis() as i64);
        self.0.feed.state.locked().waiting = Some((until, provider.to_owned()));
        self.0.notify(ServiceEvent::FeedRunning);
    }

    fn is_stopped(&self) -> bool {
        self.0.feed.state.locked().stopped || self.0.folder() != self.1
    }
}
