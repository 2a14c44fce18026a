//! The API. (A stand-in.)

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::net::TcpListener;

use crate::{
    deck::Deck,
    error::{Code, Problem},
    jobs::Jobs,
    question::{Question, parameter::Arguments, progress::Progress, search::SearchQuestion},
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
pub struct Api(Arc<Deck>);

pub struct OfflineReply {
    pub status: u16,
    pub body: Bytes,
}

impl Api {
    pub fn new(deck: Arc<Deck>, _: Option<Arc<Jobs>>, _: Arc<Keys>, _: ApiOptions) -> Arc<Self> {
        Arc::new(Self(deck))
    }
}

pub async fn serve(listener: TcpListener, _: Arc<Api>, shutdown: impl Future<Output = ()>) {
    shutdown.await;
    drop(listener);
}

pub fn answer_offline(api: &Api, method: &str, target: &str, _: Bytes) -> OfflineReply {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let answer = match (method, path) {
        ("GET", "/healthz") => Ok(Bytes::from(format!("{{\"status\":\"ok\",\"version\":\"{}\"}}", env!("CARGO_PKG_VERSION")))),
        ("GET", "/tokens") => Arguments::new(SearchQuestion::PARAMETERS, &[], query)
            .and_then(|arguments| SearchQuestion::parse(&arguments))
            .and_then(|search| api.0.answer(&search, &Progress::default()))
            .map(|known| known.json.clone()),
        _ => Err(Problem::new(Code::RouteNotFound, format!("No route `{path}`."))),
    };
    match answer {
        Ok(body) => OfflineReply { status: 200, body },
        Err(problem) => {
            let body = serde_json::to_vec(&problem.body(Some(path))).unwrap_or_default().into();
            OfflineReply { status: problem.code.status(), body }
        }
    }
}
