//! Computes the track records of all tokens in the background, on one thread: those that results of the current snapshot need. Results are
//! stored in the cache folder by the digest of their inputs. `queries::track_record` and `queries::security_record` define the records.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{QueryService, ServiceEvent};
use crate::queries::{
    caches::{Counted, RecordName},
    security_record::VerdictRecords,
    snapshot::Snapshot,
    track_record::PatternRecords,
};
use model::{
    error::{Code, Problem, Result},
    kept_texts::{keep_text, kept_text},
};

/// Folder of the cache for the records.
const KEPT_IN: &str = "records";
/// Interval at which a waiting program looks.
const LOOK: Duration = Duration::from_millis(5);

impl QueryService {
    /// Starts to count a record that answers of this generation want, unless one is being counted.
    pub(crate) fn count_wanted(&self) {
        let is_due = || {
            self.snapshot()
                .is_ok_and(|newest| newest.track_records.due().is_some())
        };
        if self.options.counts_records && is_due() && !self.counting.swap(true, Ordering::AcqRel) {
            let (service, counting) = (self.this.clone(), Arc::clone(&self.counting));
            let spawned = std::thread::Builder::new()
                .name("records".into())
                .spawn(move || count_all(&service, &counting));
            if spawned.is_err() {
                self.counting.store(false, Ordering::Release);
            }
        }
    }

    /// For a program that runs one query: waits until every track record that its first result needs is there, or is known not to be
    /// stored. Returns whether one was added, so that the same query has another result.
    pub fn wait_for_kept_records(&self) -> bool {
        let Ok(snapshot) = self.snapshot() else {
            return false;
        };
        while self.counting.load(Ordering::Acquire)
            && snapshot
                .track_records
                .due()
                .is_some_and(|due| snapshot.track_records.progress(due).1 == 0)
        {
            std::thread::sleep(LOOK);
        }
        snapshot.track_records.version() > 0
    }

    fn is_newest(&self, snapshot: &Snapshot) -> bool {
        self.snapshot()
            .is_ok_and(|newest| newest.generation == snapshot.generation)
    }
}

/// Frees the place of the thread that counts, which services as of a time share, however it ends.
struct Place<'a>(&'a AtomicBool);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Computes until no record is wanted, or the query service is dropped.
fn count_all(service: &Weak<QueryService>, counting: &AtomicBool) {
    let is_due = || {
        service
            .upgrade()
            .and_then(|service| service.snapshot().ok())
            .is_some_and(|newest| newest.track_records.due().is_some())
    };
    loop {
        count_newest(service, &Place(counting));
        // What was asked for since the last look found this thread counting.
        if !is_due() || counting.swap(true, Ordering::AcqRel) {
            return;
        }
    }
}

/// Counts what is wanted of the newest generation, until another one is.
fn count_newest(service: &Weak<QueryService>, _: &Place<'_>) {
    let newest = service.upgrade().and_then(|service| {
        Some((
            service.snapshot().ok()?,
            service.options.cache.folder.clone(),
        ))
    });
    let Some((snapshot, cache)) = newest else {
        return;
    };
    while let Some(name) = snapshot.track_records.due() {
        let (cache, records) = (cache.as_deref(), &snapshot.track_records);
        let is_newest = || {
            service
                .upgrade()
                .filter(|service| service.is_newest(&snapshot))
        };
        let published = match name {
            RecordName::Patterns(timeframe) => {
                let counted = caught(|| one(service, &snapshot, &PatternRecords(timeframe), cache));
                is_newest().inspect(|_| records.publish(timeframe, counted))
            }
            RecordName::Security => {
                let counted = caught(|| one(service, &snapshot, &VerdictRecords, cache));
                is_newest().inspect(|_| records.publish_security(counted))
            }
        };
        let Some(service) = published else {
            return;
        };
        service.notify(ServiceEvent::RecordCounted(name));
    }
}

fn caught<R>(count: impl FnOnce() -> Result<R>) -> Result<R> {
    let defect = |_| {
        Err(Problem::new(
            Code::Defect,
            "Internal error while computing the track record of all tokens.",
        ))
    };
    catch_unwind(AssertUnwindSafe(count)).unwrap_or_else(defect)
}

/// Errors: the record cannot be computed; canceled, because the snapshot was replaced.
fn one<C: Counted>(
    service: &Weak<QueryService>,
    snapshot: &Arc<Snapshot>,
    counted: &C,
    cache: Option<&Path>,
) -> Result<C::Record> {
    let is_wanted = || {
        service
            .upgrade()
            .is_some_and(|service| service.is_newest(snapshot))
    };
    let step = |_, _| {
        if is_wanted() {
            Ok(())
        } else {
            Err(Problem::new(Code::Cancelled, "The data was reloaded."))
        }
    };
    let (inputs, digest) = counted.inputs(snapshot, &step)?;
    let known =
        cache.and_then(|cache| serde_json::from_str(&kept_text(cache, KEPT_IN, &digest)?).ok());
    let is_new = known.is_none();
    let counting = |done, total| {
        if is_new && total > 0 {
            snapshot.track_records.report(counted.name(), (done, total));
        }
        step(done, total)
    };
    let (record, kept) = counted.count(snapshot, (inputs, digest), known, &counting)?;
    if let (true, Some(cache), Ok(text)) = (is_new, cache, serde_json::to_string(&kept)) {
        keep_text(cache, KEPT_IN, &digest, &text);
    }
    Ok(record)
}
