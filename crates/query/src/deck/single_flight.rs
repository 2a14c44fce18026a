//! Single flight: concurrent identical requests are computed once, and later ones wait for that result. Results and their cache belong to
//! the query service.

use std::{
    collections::HashSet,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::MemoKey;
use crate::question::progress::Progress;
use model::{
    error::{Code, Problem, Result},
    locks::Locked as _,
};

/// Interval at which a waiter checks for cancellation of its own request.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The requests being computed.
#[derive(Debug, Default)]
pub(super) struct SingleFlight {
    running: Mutex<HashSet<MemoKey>>,
    finished: Condvar,
}

/// Exclusive right to compute one request, released on drop: also after failure, cancellation or panic.
pub(super) struct InFlightGuard<'a> {
    single_flight: &'a SingleFlight,
    key: MemoKey,
}

impl SingleFlight {
    /// Waits until no other thread computes this request. No deadlock: only computing threads wait here, so they wait for a running one,
    /// never for one queued behind them; and no query runs another query of the service.
    pub(super) fn take(&self, key: &MemoKey, progress: &Progress) -> Result<InFlightGuard<'_>> {
        let mut running = self.running();
        while running.contains(key) {
            if progress.cancelled() {
                return Err(Problem::new(Code::Cancelled, "The query was canceled."));
            }
            running = self
                .finished
                .wait_timeout(running, POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        running.insert(key.clone());
        Ok(InFlightGuard {
            single_flight: self,
            key: key.clone(),
        })
    }

    fn running(&self) -> MutexGuard<'_, HashSet<MemoKey>> {
        self.running.locked()
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.single_flight.running().remove(&self.key);
        self.single_flight.finished.notify_all();
    }
}
