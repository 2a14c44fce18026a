//! Server-sent events: what the deck tells its listeners, to each client that listens. A stream ends with its client or the server.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use hyper::{
    Response,
    header::{CONTENT_TYPE, HeaderValue},
};
use tokio::sync::{
    broadcast::{Receiver, error::RecvError},
    mpsc,
};

use super::{
    Api,
    call::stopped,
    datasets::Stale,
    reply::{Body, Reply},
};
use crate::{
    deck::{Deck, DeckEvent},
    error::{Code, Problem, Result},
    jobs::Jobs,
};

/// A comment as often keeps proxies from closing a quiet stream.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Events that may wait for a client that reads slowly.
const WAITING: usize = 64;

/// A stream of events from now on.
pub(super) fn open(api: &Api, head: bool) -> Result<Reply> {
    let Ok(permit) = Arc::clone(&api.streams).try_acquire_owned() else {
        let detail = format!("{} clients listen to events already: ask again in a moment.", api.options.event_streams);
        return Err(Problem::new(Code::Busy, detail));
    };
    let (sender, pieces) = mpsc::channel(WAITING);
    let mut reply = Response::new(if head { Body::Whole(Bytes::new()) } else { Body::Stream(pieces) });
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    if head {
        return Ok(reply);
    }
    let stream = Stream { deck: Arc::clone(&api.deck), jobs: api.jobs.clone(), sender, last_id: 0 };
    let (events, mut stopping) = (api.deck.listen(), api.stopping.subscribe());
    tokio::spawn(async move {
        let gone = stream.sender.clone();
        tokio::select! {
            () = stream.run(events) => {}
            () = gone.closed() => {}
            () = stopped(&mut stopping) => {}
        }
        drop(permit);
    });
    Ok(reply)
}

struct Stream {
    deck: Arc<Deck>,
    jobs: Option<Arc<Jobs>>,
    sender: mpsc::Sender<Bytes>,
    last_id: u64,
}

impl Stream {
    /// Ends when the client reads no more.
    async fn run(mut self, mut events: Receiver<DeckEvent>) {
        // The first piece sends the headers on their way.
        let mut piece = Some(Bytes::from_static(b": listening\n\n"));
        loop {
            if let Some(piece) = piece.take() {
                // A client that leaves so much unread has gone to sleep.
                let Ok(Ok(())) = tokio::time::timeout(COMMENT_EVERY * 2, self.sender.send(piece)).await else { return };
            }
            piece = match tokio::time::timeout(COMMENT_EVERY, events.recv()).await {
                Err(_) => Some(Bytes::from_static(b": still here\n\n")),
                Ok(Ok(event)) => self.event(event).await,
                // What was missed cannot be told any more; that the data may have changed can.
                Ok(Err(RecvError::Lagged(_))) => self.deck.snapshot().ok().map(|snapshot| self.reloaded(snapshot.generation)),
                Ok(Err(RecvError::Closed)) => return,
            };
        }
    }

    async fn event(&mut self, event: DeckEvent) -> Option<Bytes> {
        match event {
            DeckEvent::Reloaded(generation) => Some(self.reloaded(generation)),
            DeckEvent::LoadFailed(_) => {
                let data = serde_json::to_string(&Stale::of(self.deck.stale()?)).ok()?;
                Some(self.piece("dataset.failed", &data))
            }
            DeckEvent::Said(_) => None,
            DeckEvent::JobUpdated(id) => {
                let jobs = Arc::clone(self.jobs.as_ref()?);
                let job = tokio::task::spawn_blocking(move || jobs.job(&id)).await.ok()?.ok()?;
                let data = serde_json::to_string(&job).ok()?;
                Some(self.piece("job.updated", &data))
            }
        }
    }

    fn reloaded(&mut self, generation: u64) -> Bytes {
        self.piece("dataset.reloaded", &format!("{{\"generation\":{generation}}}"))
    }

    /// JSON has no line breaks of its own, so `data` is one line. Ids are times, so they count up over restarts too.
    fn piece(&mut self, event: &str, data: &str) -> Bytes {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        self.last_id = now.max(self.last_id + 1);
        format!("id: {}\nevent: {event}\ndata: {data}\n\n", self.last_id).into()
    }
}
