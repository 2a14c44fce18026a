//! Single flight: a request that is being answered already is not worked out twice; later askers wait for that answer. What the answer is
//! and where it is kept is the deck's.

use std::{
    collections::HashSet,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::MemoKey;
use crate::{
    error::{Code, Problem, Result},
    question::progress::Progress,
};

/// How often a waiter checks whether its own request was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// The requests that are being answered.
#[derive(Debug, Default)]
pub(super) struct Flights {
    running: Mutex<HashSet<MemoKey>>,
    landed: Condvar,
}

/// The right to answer one request, given back when dropped: also when the answer failed, was cancelled or panicked.
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    key: MemoKey,
}

impl Flights {
    /// Waits until nobody answers this request. Only threads that answer wait here, so they wait for one that runs and not for one that
    /// stands in the queue behind them; and no answer asks another question of the deck.
    pub(super) fn take(&self, key: &MemoKey, progress: &Progress) -> Result<Flight<'_>> {
        let mut running = self.running();
        while running.contains(key) {
            if progress.cancelled() {
                return Err(Problem::new(Code::Cancelled, "The question was cancelled."));
            }
            running = self.landed.wait_timeout(running, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        running.insert(key.clone());
        Ok(Flight { flights: self, key: key.clone() })
    }

    fn running(&self) -> MutexGuard<'_, HashSet<MemoKey>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.flights.running().remove(&self.key);
        self.flights.landed.notify_all();
    }
}
