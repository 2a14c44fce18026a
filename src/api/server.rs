//! The server: accepts connections up to a bound, hands each to hyper with its limits, and stops gracefully. At the bound the
//! connection whose client is waited for longest gives its place to the next one. Knows no route.

use std::{
    future::Future,
    io,
    pin::pin,
    sync::{Arc, Weak},
    time::Duration,
};

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    Api,
    call::stopped,
    connection::{ConnectionPulse, WatchedStream},
    events,
    service::Face,
};

/// How many clients may wait to be accepted, which the system may bound further. The usual 128 are full at once when a crowd comes, and
/// then a client tries again only after a second.
const WAITING_CLIENTS: i32 = 4_096;
/// How long requests under way may take once the server is told to stop.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// The longest head hyper reads before it refuses; the guard's own limits are narrower and answer with a body.
const HEAD_BYTES: usize = 96 << 10;
/// The first and the longest wait after an accept that failed, as when the process is out of file descriptors.
const ACCEPT_WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A place that is wanted is left to a client that owes a request for this part of the time that its head may take.
const HEAD_GRACE: u32 = 10;
/// And so long to one that was answered: it may be about to ask again.
const IDLE_GRACE: Duration = Duration::from_millis(20);
const DISMISSED_AT_ONCE: usize = 16;
/// At the bound, how often one looks for a connection that has become idle.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Answers on `listener` until `shutdown` is ready, then finishes what is under way.
pub async fn serve(listener: TcpListener, api: Arc<Api>, shutdown: impl Future<Output = ()>) {
    api.stopping.send_replace(false);
    if let Err(error) = SockRef::from(&listener).listen(WAITING_CLIENTS) {
        tracing::warn!("no room for {WAITING_CLIENTS} waiting clients: {error}");
    }
    let writing = tokio::spawn(events::write_down(Arc::clone(&api), api.deck.listen()));
    let places = Arc::new(Semaphore::new(api.options.connections.clamp(1, Semaphore::MAX_PERMITS)));
    let mut clients = JoinSet::new();
    let mut pulses = Pulses { standing: Vec::new(), head_grace: api.options.header_time / HEAD_GRACE };
    // Accepted, without a place so far.
    let mut waiting = None;
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            stream = accept(&listener), if waiting.is_none() => waiting = Some(stream),
            place = pulses.place(&places), if waiting.is_some() => {
                if let Some(stream) = waiting.take() {
                    clients.spawn(attend(stream, pulses.begin(), Arc::clone(&api), place));
                }
            }
            Some(_) = clients.join_next() => {}
        }
    }
    drop(listener);
    writing.abort();
    api.stopping.send_replace(true);
    let drained = async { while clients.join_next().await.is_some() {} };
    if timeout(DRAIN_TIME, drained).await.is_err() {
        tracing::warn!("requests were still under way after {} s and are dropped", DRAIN_TIME.as_secs());
        clients.shutdown().await;
    }
}

/// The pulses of the connections that stand.
#[derive(Debug)]
struct Pulses {
    standing: Vec<Weak<ConnectionPulse>>,
    head_grace: Duration,
}

impl Pulses {
    fn begin(&mut self) -> Arc<ConnectionPulse> {
        // Now and then, those that ended are forgotten.
        if self.standing.len() == self.standing.capacity() {
            self.standing.retain(|pulse| pulse.strong_count() > 0);
        }
        let pulse = ConnectionPulse::new();
        self.standing.push(Arc::downgrade(&pulse));
        pulse
    }

    /// A place for one more connection, for which an idle one may have to leave.
    async fn place(&self, places: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        loop {
            if let Ok(place) = Arc::clone(places).try_acquire_owned() {
                return place;
            }
            self.dismiss();
            if let Ok(Ok(place)) = timeout(LOOK_AGAIN, Arc::clone(places).acquire_owned()).await {
                return place;
            }
        }
    }

    /// Makes places free, unless one is becoming so: those that owe a request for too long leave, some at once, as those who keep a
    /// server busy this way come in crowds; without any, the one that is idle longest does.
    fn dismiss(&self) {
        let standing: Vec<Arc<ConnectionPulse>> = self.standing.iter().filter_map(Weak::upgrade).collect();
        if standing.iter().any(|pulse| pulse.is_dismissed()) {
            return;
        }
        let now = Instant::now();
        let owing = standing.iter().filter(|pulse| pulse.owes_since().is_some_and(|since| now.duration_since(since) >= self.head_grace));
        let dismissed = owing.take(DISMISSED_AT_ONCE).map(|pulse| pulse.dismiss()).count();
        if dismissed == 0 {
            // While newcomers may still ask, none of those who asked goes for them too soon.
            let newcomers = standing.iter().any(|pulse| pulse.owes_since().is_some());
            let grace = if newcomers { self.head_grace } else { IDLE_GRACE };
            let idle = standing.iter().filter_map(|pulse| Some((pulse.idle_since()?, pulse)));
            if let Some((_, pulse)) = idle.filter(|(since, _)| now.duration_since(*since) >= grace).min_by_key(|(since, _)| *since) {
                pulse.dismiss();
            }
        }
    }
}

/// The next client.
async fn accept(listener: &TcpListener) -> TcpStream {
    let mut wait = ACCEPT_WAIT.0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(ACCEPT_WAIT.1);
            }
        }
    }
}

/// Serves one client until it leaves or the server stops.
async fn attend(stream: TcpStream, pulse: Arc<ConnectionPulse>, api: Arc<Api>, place: OwnedSemaphorePermit) {
    stream.set_nodelay(true).ok();
    let watched = WatchedStream::new(stream, Arc::clone(&pulse), api.options.header_time, api.options.idle_time);
    let mut stopping = api.stopping.subscribe();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // `WatchedStream` tells a slow head from an idle connection, which hyper's own timeout does not.
        .header_read_timeout(None)
        // At most 100 headers, which is hyper's own bound: with another it would allocate room for them at every request.
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(watched), Face::new(api, Arc::clone(&pulse)));
    let mut connection = pin!(connection);
    loop {
        tokio::select! {
            _ = &mut connection => break,
            // Polled once more, the connection leaves if it still may.
            () = pulse.dismissal() => {}
            () = stopped(&mut stopping) => {
                connection.as_mut().graceful_shutdown();
                connection.await.ok();
                break;
            }
        }
    }
    drop(place);
}
