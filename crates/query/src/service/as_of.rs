//! Point-in-time services: the same dataset as it could have been known at some time. They make no network requests, watch nothing and run
//! no jobs.

use std::{collections::HashSet, sync::Arc};

use super::{QueryService, ServiceOptions, pending::PendingResult, refresh::FeedOptions};
use crate::queries::snapshot::Snapshot;
use model::{
    error::{Code, Problem, Result},
    locks::Locked as _,
    time::Time,
};

/// Maximum number of retained services: enough to go back and forth between a few days.
const KEPT: usize = 3;
/// Bytes of answers that each keeps.
const MEMO_BYTES: u64 = 8 << 20;

/// Numbers of generations that services of the past begin apart: whoever keeps what was answered by its generation must not take the past for
/// the present. People count `Snapshot::reading`.
const GENERATIONS_APART: u64 = 1 << 32;

/// The retained point-in-time services.
#[derive(Debug, Default)]
pub(super) struct PointInTimeServices {
    /// The one that was asked for last is the last.
    kept: Vec<ServiceAsOf>,
    /// How many were made in all.
    made: u64,
}

#[derive(Debug)]
struct ServiceAsOf {
    /// The generation that it was cut from.
    generation: u64,
    time: Time,
    service: Arc<QueryService>,
}

impl QueryService {
    /// The service of the current snapshot as it could have been known then. Errors: large tables are still loading, or one has no
    /// point-in-time mode.
    pub fn as_of(&self, time: Time) -> Result<Arc<Self>> {
        self.as_of_in(&*self.snapshot()?, time)
    }

    /// The service of that snapshot as it could have been known then; created once for each, which takes as long as reading all rows.
    pub fn as_of_in(&self, snapshot: &Snapshot, time: Time) -> Result<Arc<Self>> {
        snapshot.require_complete()?;
        // A service of the past knows nothing of what came after.
        let time = self.options.as_of.map_or(time, |own| own.min(time));
        // One is made at a time, so that none is made twice.
        let mut services = self.as_of.locked();
        let place = services
            .kept
            .iter()
            .position(|of| of.time == time && of.generation == snapshot.generation);
        let known = place.map(|place| services.kept.remove(place).service);
        let service = if let Some(service) = known {
            service
        } else {
            self.made_as_of(time, snapshot, &mut services.made)?
        };
        let over = (services.kept.len() + 1).saturating_sub(KEPT);
        services.kept.drain(..over);
        services.kept.push(ServiceAsOf {
            generation: snapshot.generation,
            time,
            service: Arc::clone(&service),
        });
        Ok(service)
    }

    /// Like `as_of_in`, on the slow lane; who asks for the same time meanwhile takes no thread of it.
    pub fn ask_as_of(
        self: &Arc<Self>,
        snapshot: Arc<Snapshot>,
        time: Time,
    ) -> PendingResult<Arc<Self>> {
        let key = format!("as of {time}").into_boxed_str();
        self.spawn(
            true,
            Some((snapshot.generation, 0, key)),
            move |service, _| service.as_of_in(&snapshot, time),
            || (),
        )
    }

    /// The service of that time if it was already created for this data.
    pub fn kept_as_of(&self, snapshot: &Snapshot, time: Time) -> Option<Arc<Self>> {
        // While another is made there is no telling.
        let services = self.as_of.try_lock().ok()?;
        let kept = services
            .kept
            .iter()
            .find(|of| of.time == time && of.generation == snapshot.generation)?;
        Some(Arc::clone(&kept.service))
    }

    /// Drops the services of expired snapshots; returns the generations of the remaining ones.
    pub(super) fn forget_as_of(&self) -> HashSet<u64> {
        // While one is made: the next time.
        let Ok(mut services) = self.as_of.try_lock() else {
            return HashSet::new();
        };
        services.kept.retain(|of| self.answers_from(of.generation));
        services
            .kept
            .iter()
            .filter_map(|of| Some(of.service.snapshot().ok()?.generation))
            .collect()
    }

    fn made_as_of(&self, time: Time, snapshot: &Snapshot, made: &mut u64) -> Result<Arc<Self>> {
        let cut = snapshot
            .dataset
            .known_at(time)
            .map_err(|reason| Problem::new(Code::InvalidParameter, reason.to_string()))?;
        let options = ServiceOptions {
            settings: self.answer_settings(),
            memo_bytes: MEMO_BYTES,
            wire: None,
            feed: FeedOptions::default(),
            as_of: Some(time),
            ..self.options.clone()
        };
        let service = Self::with_lanes(
            &self.folder(),
            options,
            Arc::clone(&self.quick),
            Arc::clone(&self.heavy),
            Arc::clone(&self.counting),
        );
        *made += 1;
        let generation = *made * GENERATIONS_APART + snapshot.generation;
        service.replace(
            Snapshot::new(generation, cut, service.answer_settings()).by_number(snapshot.number),
        );
        Ok(service)
    }
}
