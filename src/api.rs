//! The API. (A stand-in.)

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::net::TcpListener;

use crate::{
    deck::Deck,
    error::{Code, Problem},
    jobs::Jobs,
    state::keys::Keys,
};

#[derive(Debug, Clone)]
pub struct ApiOptions {
    pub hosts: Vec<String>,
    pub cors_origins: Vec<String>,
    pub rate_per_second: Option<u32>,
    pub connections: usize,
    pub event_streams: usize,
    pub header_time: Duration,
    pub body_time: Duration,
    pub idle_time: Duration,
}

#[derive(Debug)]
pub struct Api;

pub struct OfflineReply {
    pub status: u16,
    pub body: Bytes,
}

impl Api {
    pub fn new(_: Arc<Deck>, _: Option<Arc<Jobs>>, _: Arc<Keys>, _: ApiOptions) -> Arc<Self> {
        Arc::new(Self)
    }
}

pub async fn serve(listener: TcpListener, _: Arc<Api>, shutdown: impl Future<Output = ()>) {
    shutdown.await;
    drop(listener);
}

pub fn answer_offline(_: &Api, _: &str, target: &str, _: Bytes) -> OfflineReply {
    let problem = Problem::new(Code::RouteNotFound, format!("No route `{target}`."));
    OfflineReply { status: 404, body: serde_json::to_vec(&problem.body(Some(target))).unwrap_or_default().into() }
}
