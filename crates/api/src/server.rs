//! The server: accepts connections up to a limit, serves each with hyper, and shuts down gracefully. At the limit it closes the connection
//! that has waited longest for its client. Knows no route.

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
    connection::{ConnectionState, WatchedStream},
    dispatch::ConnectionService,
    events,
};

/// Listen backlog, which the system may cap. A burst of clients overflows the usual 128, and they retry only after a second.
const BACKLOG: i32 = 4_096;
/// Graceful shutdown: how long requests in flight may take.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// hyper's limit for a request head; the guard's limits are lower and answer with a problem.
const HEAD_BYTES: usize = 96 << 10;
/// First and longest wait after a failed accept, as when the process is out of file descriptors.
const ACCEPT_WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// At the limit, a client that sends no request keeps its connection for the head timeout divided by this.
const HEAD_GRACE_DIVISOR: u32 = 10;
/// At the limit, a client that received a response keeps its connection this long, because it may send another request.
const IDLE_GRACE: Duration = Duration::from_millis(20);
/// Connections closed together.
const DISMISSED_AT_ONCE: usize = 16;
/// At the limit, interval of the check for a connection to close.
const RECHECK: Duration = Duration::from_millis(20);

/// Serves `listener` until `shutdown` completes, then drains the requests in flight.
pub async fn serve(listener: TcpListener, api: Arc<Api>, shutdown: impl Future<Output = ()>) {
    api.stopping.send_replace(false);
    if let Err(error) = SockRef::from(&listener).listen(BACKLOG) {
        tracing::warn!("cannot listen with a backlog of {BACKLOG} clients: {error}");
    }
    let writing = tokio::spawn(events::record(Arc::clone(&api), api.service.listen()));
    let slots = Arc::new(Semaphore::new(
        api.options.connections.clamp(1, Semaphore::MAX_PERMITS),
    ));
    let mut clients = JoinSet::new();
    let mut connections = OpenConnections {
        open: Vec::new(),
        head_grace: api.options.header_time / HEAD_GRACE_DIVISOR,
    };
    // An accepted connection that has no slot yet.
    let mut waiting = None;
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            stream = accept(&listener), if waiting.is_none() => waiting = Some(stream),
            slot = connections.acquire_slot(&slots), if waiting.is_some() => {
                if let Some(stream) = waiting.take() {
                    clients.spawn(serve_client(stream, connections.add(), Arc::clone(&api), slot));
                }
            }
            Some(_) = clients.join_next() => {}
        }
    }
    // First, so that where the port is closed no request is taken on any more.
    api.stopping.send_replace(true);
    drop(listener);
    writing.abort();
    let drained = async { while clients.join_next().await.is_some() {} };
    if timeout(DRAIN_TIME, drained).await.is_err() {
        tracing::warn!(
            "requests were still in progress after {} s and were dropped",
            DRAIN_TIME.as_secs()
        );
        clients.shutdown().await;
    }
}

/// The open connections.
#[derive(Debug)]
struct OpenConnections {
    open: Vec<Weak<ConnectionState>>,
    head_grace: Duration,
}

impl OpenConnections {
    fn add(&mut self) -> Arc<ConnectionState> {
        // Drops ended connections before the list would reallocate.
        if self.open.len() == self.open.capacity() {
            self.open.retain(|state| state.strong_count() > 0);
        }
        let state = ConnectionState::new();
        self.open.push(Arc::downgrade(&state));
        state
    }

    /// Waits for a slot for one more connection; may close another one for it.
    async fn acquire_slot(&self, slots: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        loop {
            if let Ok(slot) = Arc::clone(slots).try_acquire_owned() {
                return slot;
            }
            self.dismiss();
            if let Ok(Ok(slot)) = timeout(RECHECK, Arc::clone(slots).acquire_owned()).await {
                return slot;
            }
        }
    }

    /// Closes connections, unless one is closing already: those that sent no request for too long, several together since such clients come
    /// in crowds; failing those, the longest idle one.
    fn dismiss(&self) {
        let open: Vec<Arc<ConnectionState>> = self.open.iter().filter_map(Weak::upgrade).collect();
        if open.iter().any(|state| state.is_dismissed()) {
            return;
        }
        let now = Instant::now();
        let awaiting_head = open.iter().filter(|state| {
            state
                .awaiting_head_since()
                .is_some_and(|since| now.duration_since(since) >= self.head_grace)
        });
        let dismissed = awaiting_head
            .take(DISMISSED_AT_ONCE)
            .map(|state| state.dismiss())
            .count();
        if dismissed == 0 {
            // While a new client may still send its request, an answered client keeps its connection as long as that one may take.
            let newcomers = open
                .iter()
                .any(|state| state.awaiting_head_since().is_some());
            let grace = if newcomers {
                self.head_grace
            } else {
                IDLE_GRACE
            };
            let idle = open
                .iter()
                .filter_map(|state| Some((state.idle_since()?, state)));
            if let Some((_, state)) = idle
                .filter(|(since, _)| now.duration_since(*since) >= grace)
                .min_by_key(|(since, _)| *since)
            {
                state.dismiss();
            }
        }
    }
}

/// Accepts the next client.
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

/// Serves one client until it disconnects or the server stops.
async fn serve_client(
    stream: TcpStream,
    state: Arc<ConnectionState>,
    api: Arc<Api>,
    slot: OwnedSemaphorePermit,
) {
    stream.set_nodelay(true).ok();
    let watched = WatchedStream::new(
        stream,
        Arc::clone(&state),
        api.options.header_time,
        api.options.idle_time,
    );
    let mut stopping = api.stopping.subscribe();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // hyper's own timeout does not distinguish a slow head from an idle connection, as `WatchedStream` does.
        .header_read_timeout(None)
        // The header count limit stays hyper's default, 100: with another it would allocate on every request.
        .max_buf_size(HEAD_BYTES)
        .serve_connection(
            TokioIo::new(watched),
            ConnectionService::new(api, Arc::clone(&state)),
        );
    let mut connection = pin!(connection);
    loop {
        tokio::select! {
            _ = &mut connection => break,
            // Polled once more, the connection closes if its client still owes a request or is idle.
            () = state.dismissal() => {}
            () = stopped(&mut stopping) => {
                connection.as_mut().graceful_shutdown();
                connection.await.ok();
                break;
            }
        }
    }
    drop(slot);
}
