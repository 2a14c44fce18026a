//! The HTTP API: the endpoints of `routes`, answered by the query service. hyper is used only here; this crate
//! does no market arithmetic. `routes` holds the endpoint table, `guard` the checks that every request must pass.

mod batch;
mod call;
mod coding;
mod connection;
mod datasets;
mod dispatch;
mod docs;
mod endpoint;
mod error;
pub mod events;
mod format;
mod guard;
mod handlers;
pub mod keys;
pub mod log;
pub mod mcp;
pub mod metrics;
mod openapi;
mod rate;
mod reply;
mod request_snapshot;
mod router;
pub mod routes;
mod rows;
mod server;
mod stream;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::{Semaphore, watch};

use self::{
    coding::CodedMemo, events::EventLog, log::RequestLog, metrics::Metrics, rate::Rate,
    reply::RequestIds, router::Router, routes::ENDPOINTS,
};
pub use self::{
    dispatch::{answer_offline, unknown_parameter, writes_csv},
    rows::StreamAborted,
    server::serve,
};
use crate::keys::Keys;
use query::{jobs::Jobs, service::QueryService};

/// Settings of the API server.
#[derive(Debug, Clone)]
pub struct ApiOptions {
    /// Accepted `Host` names besides loopback.
    pub hosts: Vec<String>,
    /// CORS: allowed origins; empty disallows all.
    pub cors_origins: Vec<String>,
    /// Rate limit in requests per second and key; `None`: unlimited.
    pub rate_per_second: Option<u32>,
    /// Maximum number of open connections. At the limit, a new one replaces one that has sent no request for long, then the longest idle
    /// one; otherwise it waits.
    pub connections: usize,
    /// Maximum concurrent event streams (GET /events).
    pub event_streams: usize,
    /// Maximum concurrent row streams.
    pub row_streams: usize,
    /// Whether /docs is served.
    pub docs: bool,
    /// Timeout for receiving a request head.
    pub header_time: Duration,
    /// Timeout for receiving a request body.
    pub body_time: Duration,
    /// Keep-alive timeout of an idle connection.
    pub idle_time: Duration,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            cors_origins: Vec::new(),
            rate_per_second: None,
            connections: 1_024,
            event_streams: 64,
            row_streams: 16,
            docs: true,
            header_time: Duration::from_secs(5),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(75),
        }
    }
}

/// Components and state of the API, shared by all requests.
#[derive(Debug)]
pub struct Api {
    pub service: Arc<QueryService>,
    /// `None` without a state folder to store jobs in.
    pub jobs: Option<Arc<Jobs>>,
    pub keys: Arc<Keys>,
    pub options: ApiOptions,
    pub log: RequestLog,
    pub metrics: Metrics,
    router: Router,
    rate: Option<Rate>,
    ids: RequestIds,
    /// Event log behind GET /events.
    events: Arc<EventLog>,
    /// One permit per event stream.
    event_streams: Arc<Semaphore>,
    /// One permit per row stream.
    row_streams: Arc<Semaphore>,
    coded: CodedMemo,
    /// Whether the server is shutting down.
    stopping: watch::Sender<bool>,
}

impl Api {
    pub fn new(
        service: Arc<QueryService>,
        jobs: Option<Arc<Jobs>>,
        keys: Arc<Keys>,
        options: ApiOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            service,
            jobs,
            keys,
            log: RequestLog::default(),
            metrics: Metrics::of(ENDPOINTS),
            router: Router::of(ENDPOINTS),
            rate: options.rate_per_second.map(Rate::new),
            ids: RequestIds::new(),
            events: Arc::new(EventLog::new()),
            event_streams: Arc::new(Semaphore::new(options.event_streams)),
            row_streams: Arc::new(Semaphore::new(options.row_streams)),
            coded: CodedMemo::default(),
            stopping: watch::Sender::new(false),
            options,
        })
    }
}

/// A reply produced in process, without a server.
#[derive(Debug)]
pub struct OfflineReply {
    pub status: u16,
    /// Empty if `rows` carries the body.
    pub body: Bytes,
    pub rows: Option<OfflineRows>,
}

/// A row stream for blocking readers; must not be read on an async runtime's thread.
#[derive(Debug)]
pub struct OfflineRows(rows::RowStream);

impl OfflineRows {
    /// Returns the next chunk, `None` at the end. Errors: the stream ended before its last row.
    pub fn next_piece(&mut self) -> std::result::Result<Option<Bytes>, StreamAborted> {
        self.0.wait()
    }
}
