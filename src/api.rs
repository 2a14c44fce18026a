//! The HTTP API: the documented interface and our additions, answered from the deck. hyper is used here and nowhere else; no figure of
//! the market is computed here. `routes` has the table of all endpoints, `guard` the checks that every request must pass.

mod batch;
mod call;
mod coding;
mod connection;
mod datasets;
mod docs;
pub mod events;
mod format;
mod guard;
mod handlers;
pub mod log;
pub mod mcp;
pub mod metrics;
mod openapi;
mod rate;
mod reply;
pub mod routes;
mod rows;
mod server;
mod service;
mod stream;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::{Semaphore, watch};

use self::{coding::CodedMemo, events::EventLog, log::RequestLog, metrics::Metrics, rate::Rate, reply::RequestIds};
pub use self::{server::serve, service::answer_offline};
use crate::{deck::Deck, jobs::Jobs, state::keys::Keys};

/// The settings of the API.
#[derive(Debug, Clone)]
pub struct ApiOptions {
    /// Names besides loopback that a request's `Host` may have.
    pub hosts: Vec<String>,
    /// Origins whose pages may read the answers in a browser (CORS); empty: none.
    pub cors_origins: Vec<String>,
    /// Requests a second for each key; `None`: no limit.
    pub rate_per_second: Option<u32>,
    /// Connections at once. A further one replaces one that owes a request for long, else the one idle longest, else it waits.
    pub connections: usize,
    /// Streams of events at once.
    pub event_streams: usize,
    /// Streams of rows at once.
    pub row_streams: usize,
    /// Whether /docs is answered.
    pub docs: bool,
    /// How long a request's head may take to arrive.
    pub header_time: Duration,
    /// How long a request's body may take to arrive.
    pub body_time: Duration,
    /// How long a connection without a request stays open.
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

/// The API's parts and state, shared by all requests.
#[derive(Debug)]
pub struct Api {
    pub deck: Arc<Deck>,
    /// `None` where there is no state folder to keep jobs in.
    pub jobs: Option<Arc<Jobs>>,
    pub keys: Arc<Keys>,
    pub options: ApiOptions,
    pub log: RequestLog,
    pub metrics: Metrics,
    rate: Option<Rate>,
    ids: RequestIds,
    /// The events that GET /events streams.
    events: Arc<EventLog>,
    /// One permit for each stream of events.
    event_streams: Arc<Semaphore>,
    /// One permit for each stream of rows.
    row_streams: Arc<Semaphore>,
    coded: CodedMemo,
    /// Whether the server is shutting down.
    stopping: watch::Sender<bool>,
}

impl Api {
    pub fn new(deck: Arc<Deck>, jobs: Option<Arc<Jobs>>, keys: Arc<Keys>, options: ApiOptions) -> Arc<Self> {
        Arc::new(Self {
            deck,
            jobs,
            keys,
            log: RequestLog::default(),
            metrics: Metrics::default(),
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

/// An answer without a server.
#[derive(Debug)]
pub struct OfflineReply {
    pub status: u16,
    /// Empty where `rows` has a stream.
    pub body: Bytes,
    pub rows: Option<OfflineRows>,
}

/// A stream of rows. It blocks, so it is not for a thread of a runtime.
#[derive(Debug)]
pub struct OfflineRows(rows::RowStream);

impl OfflineRows {
    /// The next piece; `None` at the end, an error where the stream broke off.
    pub fn next_piece(&mut self) -> std::result::Result<Option<Bytes>, String> {
        self.0.wait().map_err(|broken| broken.to_string())
    }
}
