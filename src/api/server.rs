//! The server: accepts connections up to a bound, hands each to hyper with its limits, and stops gracefully. Knows no route.

use std::{future::Future, io, pin::pin, sync::Arc, time::Duration};

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::timeout,
};

use super::{
    Api,
    connection::{Pulse, Watched},
    service::Face,
};

/// How long requests under way may take once the server is told to stop.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// The longest head hyper reads before it refuses; the guard's own limits are narrower and answer with a body.
const HEAD_BYTES: usize = 96 << 10;
/// The first and the longest wait after an accept that failed, as when the process is out of file descriptors.
const ACCEPT_WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Answers on `listener` until `shutdown` is ready, then finishes what is under way.
pub async fn serve(listener: TcpListener, api: Arc<Api>, shutdown: impl Future<Output = ()>) {
    api.stopping.send_replace(false);
    let places = Arc::new(Semaphore::new(api.options.connections.clamp(1, Semaphore::MAX_PERMITS)));
    let mut clients = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            (place, stream) = next(&listener, &places) => {
                clients.spawn(attend(stream, Arc::clone(&api), place));
            }
            Some(_) = clients.join_next() => {}
        }
    }
    drop(listener);
    api.stopping.send_replace(true);
    let drained = async { while clients.join_next().await.is_some() {} };
    if timeout(DRAIN_TIME, drained).await.is_err() {
        tracing::warn!("requests were still under way after {} s and are dropped", DRAIN_TIME.as_secs());
        clients.shutdown().await;
    }
}

/// The next client, once there is a place for it.
async fn next(listener: &TcpListener, places: &Arc<Semaphore>) -> (OwnedSemaphorePermit, TcpStream) {
    let place = match Arc::clone(places).acquire_owned().await {
        Ok(place) => place,
        // The semaphore is never closed.
        Err(_) => std::future::pending().await,
    };
    let mut wait = ACCEPT_WAIT.0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (place, stream),
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
async fn attend(stream: TcpStream, api: Arc<Api>, place: OwnedSemaphorePermit) {
    stream.set_nodelay(true).ok();
    let pulse = Pulse::new();
    let watched = Watched::new(stream, Arc::clone(&pulse), api.options.header_time, api.options.idle_time);
    let mut stopping = api.stopping.subscribe();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // `Watched` tells a slow head from an idle connection, which hyper's own timeout does not.
        .header_read_timeout(None)
        // At most 100 headers, which is hyper's own bound: with another it would allocate room for them at every request.
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(watched), Face::new(api, pulse));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = &mut connection => {}
        () = stopped(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await.ok();
        }
    }
    drop(place);
}

/// Ready once the server stops.
pub(super) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender lives as long as the API; were it gone, that would be a stop too.
    stopping.wait_for(|stopping| *stopping).await.ok();
}
