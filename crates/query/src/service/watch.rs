//! Reloads the dataset when its files change: after a debounce, the next generation is loaded beside the current one. A generation that
//! lacks a table of the current one, because a file is half written or broken, is discarded.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use tokio::sync::broadcast::error::RecvError;

use super::{
    QueryService, ServiceEvent,
    load::{Reload, Watching},
};
use crate::error::ServiceError;
use load::watch::{FileStamps, FileWatcher};

/// Debounce: how long files must be unchanged before they are read.
const QUIET: Duration = Duration::from_millis(150);
/// How long a missing file may take to reappear: editors and copies rewrite the files they replace.
const GRACE: Duration = Duration::from_millis(1_500);
/// How long to wait for a pause in files that are continuously appended to.
const PATIENCE: Duration = Duration::from_secs(1);
/// Polling interval where the system reports no changes.
const POLL: Duration = Duration::from_secs(2);

impl QueryService {
    /// Starts reloading on file changes, on a thread that ends with the query service.
    pub fn watch(self: &Arc<Self>) -> Result<(), ServiceError> {
        let (wake, wakes) = sync_channel(1);
        let waker = wake.clone();
        let watcher = FileWatcher::open(move || {
            // One pending wake-up is enough.
            waker.try_send(()).ok();
        });
        self.watch_with(watcher, wake, wakes)
    }

    /// Like `watch`, by polling, as where the system reports no changes.
    pub fn watch_by_polling(self: &Arc<Self>, reason: &str) -> Result<(), ServiceError> {
        let (wake, wakes) = sync_channel(1);
        self.watch_with(FileWatcher::polling(reason), wake, wakes)
    }

    fn watch_with(
        self: &Arc<Self>,
        watcher: FileWatcher,
        wake: SyncSender<()>,
        wakes: Receiver<()>,
    ) -> Result<(), ServiceError> {
        let mut events = self.listen();
        // Any load, of another folder too, is a reason to check where the files are now.
        let bridge = move || {
            loop {
                match events.blocking_recv() {
                    Ok(ServiceEvent::Reloaded(_) | ServiceEvent::LoadFailed(_))
                    | Err(RecvError::Lagged(_)) => {
                        wake.try_send(()).ok();
                    }
                    Ok(_) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        };
        let service = Arc::downgrade(self);
        std::thread::Builder::new()
            .name("watch-loads".into())
            .spawn(bridge)
            .map_err(ServiceError::Watch)?;
        std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || {
                Watch {
                    service,
                    watcher,
                    wakes,
                    warned: false,
                }
                .run();
            })
            .map_err(ServiceError::Watch)?;
        Ok(())
    }
}

struct Watch {
    service: Weak<QueryService>,
    watcher: FileWatcher,
    wakes: Receiver<()>,
    /// Whether the user was told that the files are polled.
    warned: bool,
}

impl Watch {
    fn run(mut self) {
        if let Some(service) = self.service.upgrade() {
            // From this check on the system reports changes, if it can.
            self.watcher.look(&service.folder());
            service.set_watching(if self.watcher.polling_because().is_some() {
                Watching::Polling
            } else {
                Watching::Notified
            });
        }
        while let Some(service) = self.service.upgrade() {
            self.warn(&service);
            let more = self.keep_up(&service);
            drop(service);
            if !more && !self.wait() {
                return;
            }
        }
    }

    /// Blocks until the next check is due; false when there is nothing left to watch.
    fn wait(&self) -> bool {
        if self.watcher.polling_because().is_some() {
            return self.wakes.recv_timeout(POLL) != Err(RecvTimeoutError::Disconnected);
        }
        self.wakes.recv().is_ok()
    }

    fn warn(&mut self, service: &QueryService) {
        if let (Some(reason), false) = (self.watcher.polling_because(), self.warned) {
            self.warned = true;
            service.set_watching(Watching::Polling);
            service.notify(ServiceEvent::Notice(format!(
                "{reason}; checking the dataset for changes every {} s instead",
                POLL.as_secs()
            )));
        }
    }

    /// Reloads if the files differ from the last load; true if they must be checked again at once.
    fn keep_up(&mut self, service: &Arc<QueryService>) -> bool {
        let folder = service.folder();
        let stamps = self.watcher.look(&folder);
        let Some(last) = service.loaded_stamps() else {
            return false;
        };
        if stamps == last || service.load_state().running {
            return false;
        }
        let Some((stamps, growing)) = self.at_rest(service, &folder, stamps, &last) else {
            return true;
        };
        if stamps == last {
            return false;
        }
        match service.reload(growing) {
            // More has probably been appended meanwhile.
            Reload::Done if growing => true,
            Reload::Done => false,
            Reload::FilesChanged => {
                std::thread::sleep(QUIET);
                true
            }
        }
    }

    /// Waits until the files have been unchanged for a while, or appended to for long; the flag is true in the latter case. `None` if
    /// another folder was opened meanwhile.
    fn at_rest(
        &mut self,
        service: &QueryService,
        folder: &PathBuf,
        mut stamps: FileStamps,
        last: &FileStamps,
    ) -> Option<(FileStamps, bool)> {
        let begun = Instant::now();
        let mut since = begun;
        let (mut ends, took) = service.loaded_ends();
        let mut before = last.clone();
        // After a load that the files' change broke off, nothing is loaded that they could have been appended to: they are from now on.
        if before == FileStamps::default() {
            (before, ends) = (stamps.clone(), stamps.ends());
        }
        // At most half of the time is spent loading.
        let patience = PATIENCE.max(took);
        loop {
            let quiet = if stamps.lacks_what(last) {
                GRACE
            } else {
                QUIET
            };
            let left = quiet.saturating_sub(since.elapsed());
            if left.is_zero() {
                return Some((stamps, false));
            }
            if begun.elapsed() >= patience && stamps.appends_to(&before, &ends) {
                return Some((stamps, true));
            }
            self.wakes.recv_timeout(left).ok();
            if service.folder() != *folder {
                return None;
            }
            let next = self.watcher.look(Path::new(folder));
            if next != stamps {
                (stamps, since) = (next, Instant::now());
            }
        }
    }
}
