//! What the server tells those who listen: one sequence of numbered events, the last of which are kept, so that a client that comes
//! back is told what it missed. How one client is told is `stream`.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use tokio::sync::{
    broadcast::{Receiver, error::RecvError},
    watch,
};

use super::{Api, datasets::Stale, routes::Shape};
use crate::{
    dataset::wall_clock::now,
    deck::DeckEvent,
    jobs::{FiredAlert, Heard, Job},
};

/// Events that are kept for clients that come back.
const KEPT: usize = 1_000;

/// One kind of event.
#[derive(Debug, Clone, Copy)]
pub struct EventKind {
    pub name: &'static str,
    pub meaning: &'static str,
    /// The shape of its data.
    pub data: Shape,
}

/// THE table of events: the OpenAPI document tells it.
pub const EVENTS: &[EventKind] = &[
    EventKind {
        name: RELOADED,
        meaning: "Another generation of the data is answered from.",
        data: SchemaGenerator::subschema_for::<Reloaded>,
    },
    EventKind {
        name: FAILED,
        meaning: "A load failed; what stood before is still answered from.",
        data: SchemaGenerator::subschema_for::<Stale>,
    },
    EventKind { name: FIRED, meaning: "An alert fired for a token.", data: SchemaGenerator::subschema_for::<FiredAlert> },
    EventKind { name: JOB, meaning: "A deep analysis has gone on or has ended.", data: SchemaGenerator::subschema_for::<Job> },
    EventKind {
        name: MISSED,
        meaning: "Events after `Last-Event-ID` are no longer kept: look at what you follow again. It has no id of its own.",
        data: SchemaGenerator::subschema_for::<Missed>,
    },
];
const RELOADED: &str = "dataset.reloaded";
const FAILED: &str = "dataset.failed";
const JOB: &str = "job.updated";
const FIRED: &str = "alert.fired";
const MISSED: &str = "events.missed";

#[derive(Debug, Serialize, JsonSchema)]
struct Reloaded {
    /// The one that stands now; counts up with every load.
    generation: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Missed {
    /// The id the client named.
    last_event_id: u64,
    /// The oldest event that is still kept; null where none is.
    oldest: Option<u64>,
}

/// The events so far, each with its id, as they are sent.
#[derive(Debug)]
pub(super) struct EventLog {
    kept: Mutex<Kept>,
    newest: watch::Sender<u64>,
}

#[derive(Debug)]
struct Kept {
    /// What came after this id is all here.
    whole_after: u64,
    pieces: VecDeque<(u64, Bytes)>,
}

impl EventLog {
    /// Ids are times in milliseconds, so they count up over restarts too.
    pub(super) fn new() -> Self {
        let now = now().0.unsigned_abs();
        Self { kept: Mutex::new(Kept { whole_after: now, pieces: VecDeque::new() }), newest: watch::Sender::new(now) }
    }

    /// Tells of every event from now on, newest id first known.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// At most `limit` pieces for a client that has had everything up to `id`, and the id it has had everything up to then.
    pub(super) fn after(&self, id: u64, limit: usize) -> (Vec<Bytes>, u64) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = *self.newest.borrow();
        let (mut pieces, mut had) = (Vec::new(), id);
        if id < kept.whole_after || id > newest {
            let missed = Missed { last_event_id: id, oldest: kept.pieces.front().map(|(id, _)| *id) };
            pieces.push(piece(None, MISSED, &missed));
            had = kept.whole_after;
        }
        let from = kept.pieces.partition_point(|(id, _)| *id <= had);
        for (id, piece) in kept.pieces.iter().skip(from).take(limit) {
            pieces.push(piece.clone());
            had = *id;
        }
        (pieces, had)
    }

    fn add(&self, kind: &str, data: &impl Serialize) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let id = now().0.unsigned_abs().max(*self.newest.borrow() + 1);
        kept.pieces.push_back((id, piece(Some(id), kind, data)));
        if kept.pieces.len() > KEPT
            && let Some((gone, _)) = kept.pieces.pop_front()
        {
            kept.whole_after = gone;
        }
        self.newest.send_replace(id);
    }
}

/// Writes down what the deck tells, until the deck or the server is gone.
pub(super) async fn write_down(api: Arc<Api>, mut told: Receiver<DeckEvent>) {
    // What fired right before the program ended last time is told first.
    let heard = Arc::default();
    write_down_alerts(&api, &heard).await;
    loop {
        match told.recv().await {
            Ok(DeckEvent::Reloaded(generation)) => api.events.add(RELOADED, &Reloaded { generation }),
            Ok(DeckEvent::LoadFailed(_)) => {
                if let Some(failure) = api.deck.stale() {
                    api.events.add(FAILED, &Stale::of(failure));
                }
            }
            Ok(DeckEvent::JobUpdated(id)) => {
                let Some(jobs) = api.jobs.as_ref().map(Arc::clone) else { continue };
                if let Ok(Ok(job)) = tokio::task::spawn_blocking(move || jobs.job(&id)).await {
                    api.events.add(JOB, &job);
                }
            }
            Ok(DeckEvent::AlertsFired) => write_down_alerts(&api, &heard).await,
            Ok(DeckEvent::Said(_)) => {}
            // What was missed cannot be told any more; that the data may have changed can, and the store has what fired.
            Err(RecvError::Lagged(_)) => {
                write_down_alerts(&api, &heard).await;
                if let Ok(snapshot) = api.deck.snapshot() {
                    api.events.add(RELOADED, &Reloaded { generation: snapshot.generation });
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// What fired and was not written down yet.
async fn write_down_alerts(api: &Arc<Api>, heard: &Arc<Mutex<Heard>>) {
    let (api, heard) = (Arc::clone(api), Arc::clone(heard));
    let write = move || {
        let Some(jobs) = &api.jobs else { return };
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let told = jobs.news(&mut heard, |fired| {
            tracing::info!("alert: {}", fired.says());
            api.events.add(FIRED, &fired);
        });
        if let Err(problem) = told {
            tracing::warn!("what fired cannot be told: {}", problem.detail);
        }
    };
    tokio::task::spawn_blocking(write).await.ok();
}

/// JSON has no line breaks of its own, so `data` is one line.
fn piece(id: Option<u64>, kind: &str, data: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    format!("{id}event: {kind}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generations(pieces: &[Bytes]) -> Vec<String> {
        let text = |piece: &Bytes| String::from_utf8_lossy(piece).into_owned();
        pieces
            .iter()
            .map(|piece| text(piece).lines().filter(|line| !line.starts_with("id: ") && !line.is_empty()).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn a_client_that_comes_back_is_told_what_it_missed_in_order() {
        let log = EventLog::new();
        let start = *log.watch().borrow();
        assert_eq!(log.after(start, 10), (vec![], start));
        for generation in 1..=3 {
            log.add(RELOADED, &Reloaded { generation });
        }
        let (pieces, first) = log.after(start, 1);
        assert_eq!(generations(&pieces), [r#"event: dataset.reloaded data: {"generation":1}"#]);
        let (pieces, last) = log.after(first, 10);
        assert_eq!(
            generations(&pieces),
            [r#"event: dataset.reloaded data: {"generation":2}"#, r#"event: dataset.reloaded data: {"generation":3}"#]
        );
        assert!(start < first && first < last && last == *log.watch().borrow());
        assert_eq!(log.after(last, 10), (vec![], last));
    }

    #[test]
    fn what_is_no_longer_kept_is_said_to_be_missed() {
        let log = EventLog::new();
        let start = *log.watch().borrow();
        for generation in 1..=KEPT as u64 {
            log.add(RELOADED, &Reloaded { generation });
        }
        assert_eq!(log.after(start, 2_000).0.len(), KEPT, "the last {KEPT} are all kept");
        log.add(RELOADED, &Reloaded { generation: 0 });
        for unknown in [start, 0, u64::MAX] {
            let (pieces, had) = log.after(unknown, 2_000);
            assert_eq!((pieces.len(), had), (KEPT + 1, *log.watch().borrow()), "{unknown}");
            let told = String::from_utf8_lossy(&pieces[0]);
            assert!(told.starts_with(&format!("event: events.missed\ndata: {{\"last_event_id\":{unknown},\"oldest\":")), "{told}");
            assert_eq!(log.after(had, 10), (vec![], had), "told once");
        }
    }
}
