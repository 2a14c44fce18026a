//! GET /events for one client: replays missed events, then sends each new one, until the client disconnects or the server stops.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use hyper::{
    Response,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

use super::{
    call::{Answered, Call, HandlerStep, stopped},
    reply::Body,
};
use model::error::{Code, Problem, Result};
use query::queries::parameter::clip;

/// Header by which a reconnecting client names the last event it received.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";

/// Interval of keep-alive comments, so that proxies do not close a quiet stream.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Events buffered for a slow client.
const WAITING: usize = 64;
/// Sent at once to flush the headers; sets the client's reconnection delay in milliseconds.
const FIRST: &[u8] = b": listening\nretry: 2000\n\n";

pub(super) fn open(call: &Call<'_>) -> Answered {
    let api = call.api;
    let last = call.headers.map(last_event_id).transpose()?.flatten();
    let Ok(permit) = Arc::clone(&api.event_streams).try_acquire_owned() else {
        let detail = format!(
            "{} clients are already listening to events, the maximum; retry in a moment.",
            api.options.event_streams
        );
        return Err(Problem::new(Code::Busy, detail));
    };
    let (sender, events) = mpsc::channel(WAITING);
    let mut reply = Response::new(if call.head {
        Body::Whole(Bytes::new())
    } else {
        Body::Stream(events)
    });
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    reply
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if call.head {
        return Ok(HandlerStep::Now(reply));
    }
    let (log, newest, mut stopping) = (
        Arc::clone(&api.events),
        api.events.watch(),
        api.stopping.subscribe(),
    );
    let last = last.unwrap_or_else(|| *newest.borrow());
    tokio::spawn(async move {
        let gone = sender.clone();
        tokio::select! {
            () = send_events(&log, newest, last, sender) => {}
            () = gone.closed() => {}
            () = stopped(&mut stopping) => {}
        }
        drop(permit);
    });
    Ok(HandlerStep::Now(reply))
}

/// Returns the last event the client received; `None` on its first connection.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>> {
    let Some(given) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let text = given.to_str().unwrap_or("…");
    text.trim().parse().map(Some).map_err(|_| {
        let detail = format!(
            "`Last-Event-ID` is `{}`; expected the `id` of an event, an integer.",
            clip(text)
        );
        Problem::new(Code::InvalidRequest, detail)
    })
}

/// Returns when the client stops reading.
async fn send_events(
    log: &super::events::EventLog,
    mut newest: watch::Receiver<u64>,
    mut last: u64,
    sender: mpsc::Sender<Bytes>,
) {
    let mut events = vec![Bytes::from_static(FIRST)];
    loop {
        for event in events {
            // A client with this much unread has stopped reading.
            let Ok(Ok(())) = timeout(COMMENT_EVERY * 2, sender.send(event)).await else {
                return;
            };
        }
        newest.mark_unchanged();
        (events, last) = log.after(last, WAITING);
        if events.is_empty() {
            match timeout(COMMENT_EVERY, newest.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => events.push(Bytes::from_static(b": still here\n\n")),
            }
        }
    }
}
