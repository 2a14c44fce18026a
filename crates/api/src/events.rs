//! The event log behind GET /events: one numbered sequence whose latest events are stored for clients that reconnect. `stream` sends them
//! to one client.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use tokio::sync::{
    broadcast::{Receiver, error::RecvError},
    watch,
};

use super::{Api, datasets::Stale, endpoint::Shape};
use model::{locks::Locked as _, wall_clock::now};
use query::{
    jobs::{AlertCursor, FiredAlert, Job},
    service::ServiceEvent,
};

/// Events kept for clients that reconnect.
const EVENTS_KEPT: usize = 1_000;
/// Triggers of an earlier run that are kept for them too.
const STORED_KEPT: u64 = 200;
/// Longest time, in milliseconds, between a trigger and its event. The ids of an earlier run are not stored, so the triggers of this time
/// before the last event that a client received are sent again.
const EVENT_AFTER: u64 = 60_000;

/// An event type.
#[derive(Debug, Clone, Copy)]
pub struct EventKind {
    pub name: &'static str,
    pub meaning: &'static str,
    /// Schema of its data.
    pub data: Shape,
}

/// THE table of event types, which the OpenAPI document lists.
pub const EVENTS: &[EventKind] = &[
    EventKind {
        name: RELOADED,
        meaning: "A new data snapshot is in use.",
        data: SchemaGenerator::subschema_for::<Reloaded>,
    },
    EventKind {
        name: FAILED,
        meaning: "A load failed; the previous snapshot stays in use.",
        data: SchemaGenerator::subschema_for::<Stale>,
    },
    EventKind {
        name: FEED,
        meaning: "Rows of a live table were fetched.",
        data: SchemaGenerator::subschema_for::<FeedRefreshed>,
    },
    EventKind {
        name: FEED_FAILED,
        meaning: "Some or all rows of a live table could not be fetched; the previous rows remain.",
        data: SchemaGenerator::subschema_for::<FeedFailed>,
    },
    EventKind {
        name: FIRED,
        meaning: "An alert fired for a token.",
        data: SchemaGenerator::subschema_for::<FiredAlert>,
    },
    EventKind {
        name: JOB,
        meaning: "A deep analysis progressed or ended.",
        data: SchemaGenerator::subschema_for::<Job>,
    },
    EventKind {
        name: MISSED,
        meaning: "Events after `Last-Event-ID` are no longer stored, or the server restarted; fetch the resources you follow again. Alerts that fired \
            before the restart follow without an id, those of the last minute perhaps once more: `fired_id` tells them apart. This event has no id.",
        data: SchemaGenerator::subschema_for::<Missed>,
    },
];
const RELOADED: &str = "dataset.reloaded";
const FAILED: &str = "dataset.failed";
const FEED: &str = "feed.refreshed";
const FEED_FAILED: &str = "feed.failed";
const JOB: &str = "job.updated";
const FIRED: &str = "alert.fired";
const MISSED: &str = "events.missed";

#[derive(Debug, Serialize, JsonSchema)]
struct Reloaded {
    /// Increases with every load.
    generation: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FeedRefreshed {
    table: String,
    /// Number of rows fetched, new or not.
    rows: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FeedFailed {
    table: String,
    /// Reason of the failure.
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Missed {
    /// The `Last-Event-ID` that the client sent.
    last_event_id: u64,
    /// Id of the oldest event still stored; null if there is none.
    oldest: Option<u64>,
}

/// The latest events by id, already encoded.
#[derive(Debug)]
pub(super) struct EventLog {
    recent: Mutex<RecentEvents>,
    newest: watch::Sender<u64>,
}

#[derive(Debug)]
struct RecentEvents {
    /// Every event with a greater id is kept.
    complete_after: u64,
    events: VecDeque<(u64, Bytes)>,
    /// Triggers of an earlier run by their time, oldest first.
    before: Vec<(u64, Bytes)>,
}

impl EventLog {
    /// Ids start at the current time in milliseconds, so that they increase across restarts.
    pub(super) fn new() -> Self {
        let now = now().0.unsigned_abs();
        Self {
            recent: Mutex::new(RecentEvents {
                complete_after: now,
                events: VecDeque::new(),
                before: Vec::new(),
            }),
            newest: watch::Sender::new(now),
        }
    }

    /// Subscribes to the newest id.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Keeps the triggers of an earlier run, oldest first.
    fn restore(&self, fired: &[FiredAlert]) {
        let encode = |fired: &FiredAlert| {
            let time = fired.fired_at.0.unsigned_abs();
            (time, encoded(None, FIRED, fired))
        };
        self.recent.locked().before = fired.iter().map(encode).collect();
    }

    /// Returns at most `limit` events after `id` and the id of the last one. If earlier ones are gone, a `MISSED` event comes first, and then
    /// the triggers of an earlier run.
    pub(super) fn after(&self, id: u64, limit: usize) -> (Vec<Bytes>, u64) {
        let recent = self.recent.locked();
        let newest = *self.newest.borrow();
        let (mut events, mut received) = (Vec::new(), id);
        if id < recent.complete_after || id > newest {
            let missed = Missed {
                last_event_id: id,
                oldest: recent.events.front().map(|(id, _)| *id),
            };
            events.push(encoded(None, MISSED, &missed));
            let since = id.saturating_sub(EVENT_AFTER);
            let stored = recent.before.iter().filter(|(time, _)| *time >= since);
            events.extend(stored.map(|(_, event)| event.clone()));
            received = recent.complete_after;
        }
        let from = recent.events.partition_point(|(id, _)| *id <= received);
        for (id, event) in recent.events.iter().skip(from).take(limit) {
            events.push(event.clone());
            received = *id;
        }
        (events, received)
    }

    fn add(&self, kind: &str, data: &impl Serialize) {
        let mut recent = self.recent.locked();
        let id = now().0.unsigned_abs().max(*self.newest.borrow() + 1);
        recent.events.push_back((id, encoded(Some(id), kind, data)));
        if recent.events.len() > EVENTS_KEPT
            && let Some((gone, _)) = recent.events.pop_front()
        {
            recent.complete_after = gone;
        }
        self.newest.send_replace(id);
    }
}

/// Appends the query service's events to the log until the service or the server stops.
pub(super) async fn record(api: Arc<Api>, mut events: Receiver<ServiceEvent>) {
    restore_alerts(&api).await;
    // Then the alerts that fired right before the last shutdown.
    let cursor = Arc::default();
    record_alerts(&api, &cursor).await;
    let mut last_states = HashMap::new();
    loop {
        match events.recv().await {
            Ok(ServiceEvent::Reloaded(generation)) => {
                api.events.add(RELOADED, &Reloaded { generation });
            }
            Ok(ServiceEvent::LoadFailed(_)) => {
                if let Some(failure) = api.service.stale() {
                    api.events.add(FAILED, &Stale::of(failure));
                }
            }
            Ok(ServiceEvent::JobUpdated(id)) => {
                let Some(jobs) = api.jobs.as_ref().map(Arc::clone) else {
                    continue;
                };
                if let Ok(Ok(job)) = tokio::task::spawn_blocking(move || jobs.job(&id)).await
                    && is_new_state(&mut last_states, &job)
                {
                    api.events.add(JOB, &job);
                }
            }
            Ok(ServiceEvent::AlertsFired) => record_alerts(&api, &cursor).await,
            Ok(ServiceEvent::FeedRefreshed { table, rows }) => {
                api.events.add(FEED, &FeedRefreshed { table, rows });
            }
            Ok(ServiceEvent::FeedFailed { table, reason }) => {
                api.events.add(FEED_FAILED, &FeedFailed { table, reason });
            }
            Ok(
                ServiceEvent::Notice(_)
                | ServiceEvent::FeedRunning
                | ServiceEvent::RecordCounted(_),
            ) => {}
            // The channel dropped events: a reload may be among them, and the store still has the alerts that fired.
            Err(RecvError::Lagged(_)) => {
                record_alerts(&api, &cursor).await;
                if let Ok(snapshot) = api.service.snapshot() {
                    api.events.add(
                        RELOADED,
                        &Reloaded {
                            generation: snapshot.generation,
                        },
                    );
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Whether this is not the state that was last sent of the job: several updates may be read when all have happened.
fn is_new_state(last_states: &mut HashMap<String, Job>, job: &Job) -> bool {
    if last_states.get(&job.job_id) == Some(job) {
        return false;
    }
    if last_states.len() >= EVENTS_KEPT {
        last_states.clear();
    }
    last_states.insert(job.job_id.clone(), job.clone());
    true
}

/// Restores the alerts that were sent before the program started, for clients that reconnect.
async fn restore_alerts(api: &Arc<Api>) {
    let api = Arc::clone(api);
    let restore = move || {
        let Some(jobs) = &api.jobs else { return };
        match jobs.delivered(STORED_KEPT) {
            Ok(fired) => api.events.restore(&fired),
            Err(problem) => {
                tracing::warn!("cannot read the triggers of alerts: {}", problem.detail);
            }
        }
    };
    tokio::task::spawn_blocking(restore).await.ok();
}

/// Appends the alerts that fired since the last call.
async fn record_alerts(api: &Arc<Api>, cursor: &Arc<Mutex<AlertCursor>>) {
    let (api, cursor) = (Arc::clone(api), Arc::clone(cursor));
    let record = move || {
        let Some(jobs) = &api.jobs else { return };
        let mut cursor = cursor.locked();
        let recorded = jobs.deliver_fired(&mut cursor, |fired| {
            tracing::info!("alert: {}", fired.says());
            api.events.add(FIRED, &fired);
        });
        if let Err(problem) = recorded {
            tracing::warn!("cannot read the triggers of alerts: {}", problem.detail);
        }
    };
    tokio::task::spawn_blocking(record).await.ok();
}

/// Encodes a server-sent event. serde_json writes no line breaks, so `data` is one line.
fn encoded(id: Option<u64>, kind: &str, data: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    format!("{id}event: {kind}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{address::Address, time::Time};
    use query::jobs::JobStatus;

    fn generations(events: &[Bytes]) -> Vec<String> {
        let text = |event: &Bytes| String::from_utf8_lossy(event).into_owned();
        events
            .iter()
            .map(|event| {
                text(event)
                    .lines()
                    .filter(|line| !line.starts_with("id: ") && !line.is_empty())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    }

    #[test]
    fn a_client_that_reconnects_gets_the_events_it_missed_in_order() {
        let log = EventLog::new();
        let start = *log.watch().borrow();
        assert_eq!(log.after(start, 10), (vec![], start));
        for generation in 1..=3 {
            log.add(RELOADED, &Reloaded { generation });
        }
        let (events, first) = log.after(start, 1);
        assert_eq!(
            generations(&events),
            [r#"event: dataset.reloaded data: {"generation":1}"#]
        );
        let (events, last) = log.after(first, 10);
        assert_eq!(
            generations(&events),
            [
                r#"event: dataset.reloaded data: {"generation":2}"#,
                r#"event: dataset.reloaded data: {"generation":3}"#
            ]
        );
        assert!(start < first && first < last && last == *log.watch().borrow());
        assert_eq!(log.after(last, 10), (vec![], last));
    }

    #[test]
    fn a_client_of_an_earlier_run_gets_the_triggers_that_it_missed() {
        let log = EventLog::new();
        let start = *log.watch().borrow();
        let fired = |fired_id: u64, before: u64| FiredAlert {
            fired_id,
            alert_id: "a".to_owned(),
            token_address: Address([1; 20]),
            symbol: None,
            condition: "price>20".to_owned(),
            fired_at: Time((start - before) as i64),
        };
        log.restore(&[fired(1, 400_000), fired(2, 200_000), fired(3, 1_000)]);
        log.add(RELOADED, &Reloaded { generation: 1 });
        let kinds = |id: u64| {
            let (events, last) = log.after(id, 10);
            assert_eq!(last, *log.watch().borrow());
            let text = generations(&events).join("\n");
            let fired = (1..=3).filter(|n| text.contains(&format!("\"fired_id\":{n},")));
            let fired: Vec<u64> = fired.collect();
            (text.contains("events.missed"), fired, events.len())
        };
        assert_eq!(kinds(start - 300_000), (true, vec![2, 3], 4));
        assert_eq!(
            kinds(start - 190_000),
            (true, vec![2, 3], 4),
            "perhaps again"
        );
        assert_eq!(kinds(start - 100_000), (true, vec![3], 3));
        assert_eq!(kinds(start), (false, vec![], 1), "of this run");
    }

    #[test]
    fn a_state_of_a_job_is_sent_once() {
        let job = |status| Job {
            job_id: "j_1".to_owned(),
            status,
            tokens_used: 1,
            tasks: Vec::new(),
        };
        let mut last = HashMap::new();
        let sent = [
            JobStatus::Running,
            JobStatus::Completed,
            JobStatus::Completed,
        ]
        .map(|status| is_new_state(&mut last, &job(status)));
        assert_eq!(sent, [true, true, false]);
    }

    #[test]
    fn a_client_whose_last_event_is_unknown_gets_one_event_that_says_so() {
        let log = EventLog::new();
        let start = *log.watch().borrow();
        for generation in 1..=EVENTS_KEPT as u64 {
            log.add(RELOADED, &Reloaded { generation });
        }
        assert_eq!(
            log.after(start, 2_000).0.len(),
            EVENTS_KEPT,
            "the last {EVENTS_KEPT} are all kept"
        );
        log.add(RELOADED, &Reloaded { generation: 0 });
        for unknown in [start, 0, u64::MAX] {
            let (events, had) = log.after(unknown, 2_000);
            assert_eq!(
                (events.len(), had),
                (EVENTS_KEPT + 1, *log.watch().borrow()),
                "{unknown}"
            );
            let told = String::from_utf8_lossy(&events[0]);
            assert!(
                told.starts_with(&format!(
                    "event: events.missed\ndata: {{\"last_event_id\":{unknown},\"oldest\":"
                )),
                "{told}"
            );
            assert_eq!(log.after(had, 10), (vec![], had), "told once");
        }
    }
}
