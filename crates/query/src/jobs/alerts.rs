//! Alerts: conditions evaluated on each new data snapshot. An alert fires for a token when its condition becomes true. A check and its
//! triggers are one transaction, so that none is lost or duplicated, however the program ends.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use super::{
    Jobs, OfflineJobs,
    alert::{Alert, AlertList, FIRED_ID_MAX, FiredAlert},
    store::{JobStore, NewAlert},
};
use crate::{
    queries::{
        alert_body::AlertBody,
        parameter::clip,
        snapshot::Snapshot,
        tokens::condition::{self, ConditionMatch, MatchedTokens},
    },
    service::QueryService,
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    progress::Progress,
    wall_clock::now,
};

/// Maximum number of tokens that may meet an alert's condition: beyond it the condition is meaningless.
pub(super) const HOLDING_MAX: usize = 5_000;

/// A listener's read position per dataset: the last firing received. A new listener starts at the last one delivered to the user before the
/// program started.
#[derive(Debug, Default)]
pub struct AlertCursor(HashMap<String, u64>);

impl Jobs {
    /// Adds an alert; on return it is on disk. Blocks on data and disk, so must not be called on a drawing or serving thread.
    pub fn add_alert(&self, request: &AlertBody, progress: &Progress) -> Result<Alert> {
        let shared = self.workers.shared();
        add(&shared.store, &shared.service, request, progress)
    }

    pub fn remove_alert(&self, id: &str) -> Result<()> {
        Ok(self.workers.shared().store.remove_alert(id)?)
    }

    /// Returns the open dataset's alerts, and the `limit` latest firings before this `fired_id`.
    pub fn alerts(&self, limit: u64, before: u64) -> Result<AlertList> {
        Ok(self
            .workers
            .shared()
            .store
            .alerts(&self.dataset(), limit, before)?)
    }

    /// Calls `deliver` with each firing of the open dataset that `cursor` has not received, oldest first, and marks them as delivered: no
    /// process announces them again after a restart.
    pub fn deliver_fired(
        &self,
        cursor: &mut AlertCursor,
        mut deliver: impl FnMut(FiredAlert),
    ) -> Result<()> {
        let shared = self.workers.shared();
        // A trigger that is taken now might never be shown: the next process announces it.
        if shared.stopping() {
            return Ok(());
        }
        let dataset = self.dataset();
        let mut last = match cursor.0.get(&dataset) {
            Some(last) => *last,
            None => shared.delivered_before_start(&dataset)?,
        };
        loop {
            let page = shared.store.fired_after(&dataset, last)?;
            let Some(newest) = page.last().map(|fired| fired.fired_id) else {
                return Ok(());
            };
            page.into_iter().for_each(&mut deliver);
            last = newest;
            cursor.0.insert(dataset.clone(), last);
            shared.store.set_last_delivered(&dataset, last)?;
        }
    }

    /// The `limit` latest firings of the open dataset that were delivered before the program started, oldest first.
    pub fn delivered(&self, limit: u64) -> Result<Vec<FiredAlert>> {
        let shared = self.workers.shared();
        let dataset = self.dataset();
        let last = shared.delivered_before_start(&dataset)?;
        let mut fired = shared
            .store
            .alerts(&dataset, limit, last.saturating_add(1))?
            .fired;
        fired.reverse();
        Ok(fired)
    }

    pub(super) fn dataset(&self) -> String {
        open_dataset(&self.workers.shared().service)
    }
}

/// Identity of the open dataset.
pub(super) fn open_dataset(service: &QueryService) -> String {
    dataset(&service.snapshot().map_or_else(
        |_| service.folder(),
        |snapshot| snapshot.dataset.folder.clone(),
    ))
}

impl OfflineJobs {
    /// Like `Jobs::add_alert`, on the loaded data.
    pub fn add_alert(&self, service: &QueryService, request: &AlertBody) -> Result<Alert> {
        add(&self.0, service, request, &Progress::default())
    }

    pub fn remove_alert(&self, id: &str) -> Result<()> {
        Ok(self.0.remove_alert(id)?)
    }

    pub fn alerts(&self, folder: &Path, limit: u64) -> Result<AlertList> {
        Ok(self.0.alerts(&dataset(folder), limit, FIRED_ID_MAX)?)
    }
}

/// Adds an alert to the store. Tokens that already meet the condition do not fire until they have stopped meeting it.
fn add(
    store: &JobStore,
    service: &QueryService,
    request: &AlertBody,
    progress: &Progress,
) -> Result<Alert> {
    let snapshot = service.complete_snapshot()?;
    let matched = matched_tokens(service, &snapshot, request, false, progress)?;
    let symbol = request
        .token_address
        .and_then(|token| symbol(&snapshot, &token));
    let (condition, token) = (request.condition.clone(), request.token_address);
    let dataset = dataset(&snapshot.dataset.folder);
    let waits = condition::is_weighed(&condition, &snapshot)
        && snapshot.track_records.want("1d").record.is_none();
    let digest = if waits {
        Vec::new()
    } else {
        snapshot.digest().to_vec()
    };
    Ok(store.add_alert(&NewAlert {
        dataset,
        token,
        symbol,
        condition,
        held: matched.holds,
        digest,
        at: now(),
    })?)
}

/// Returns the tokens that currently meet the condition, perhaps `relaxed` by its hysteresis, and those without a value for it.
pub(super) fn matched_tokens(
    service: &QueryService,
    snapshot: &Snapshot,
    request: &AlertBody,
    relaxed: bool,
    progress: &Progress,
) -> Result<MatchedTokens> {
    let wanted = ConditionMatch {
        condition: request.condition.clone(),
        token: request.token_address,
        relaxed,
    };
    let found = service.find_in(snapshot, &wanted, progress)?;
    let count = found.holds.len();
    if count > HOLDING_MAX {
        let detail = format!(
            "`condition` is true for {count} tokens, too many to be useful; narrow it to at most {HOLDING_MAX}."
        );
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    Ok(found)
}

pub(super) fn symbol(snapshot: &Snapshot, token: &Address) -> Option<String> {
    snapshot
        .dataset
        .token(token)?
        .row
        .symbol
        .as_deref()
        .map(clip)
}

/// Returns the absolute path that identifies a dataset for its jobs and alerts. Links are not resolved and the disk is not read, so that a
/// redirected link, or a temporarily missing folder, stays the same dataset.
pub(super) fn dataset(folder: &Path) -> String {
    let mut whole = PathBuf::new();
    for part in std::path::absolute(folder)
        .unwrap_or_else(|_| folder.to_owned())
        .components()
    {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_is_named_by_its_absolute_folder() {
        let here = std::env::current_dir().expect("a folder");
        for (given, whole) in [
            ("/data/current", "/data/current"),
            ("/data/current/", "/data/current"),
            ("/data/./x/../current", "/data/current"),
        ] {
            assert_eq!(dataset(Path::new(given)), whole);
        }
        assert_eq!(
            dataset(Path::new("market")),
            here.join("market").to_string_lossy()
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_another_folder_is_the_same_dataset() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("current");
        for day in ["monday", "tuesday"] {
            std::fs::create_dir(folder.path().join(day)).expect("a folder");
            std::fs::remove_file(&link).ok();
            std::os::unix::fs::symlink(folder.path().join(day), &link).expect("a link");
            assert_eq!(dataset(&link), link.to_string_lossy());
        }
    }
}
