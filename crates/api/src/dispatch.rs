//! From request to reply: guard, routing, body, handler; a panic becomes a 500 that reveals nothing. `finish` adds the common headers and
//! logs the reply. `answer_offline` does the same without a server.

use std::{
    convert::Infallible,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::{
    Method, Request, Response, Uri,
    body::{Body as _, Incoming},
    header::{ALLOW, EXPECT, HeaderValue},
    http::request::Parts,
};
use tokio::time::Instant;

use super::{
    Api, OfflineReply, OfflineRows,
    call::{Awaited, Call, HandlerStep},
    coding,
    connection::{ConnectionState, Phase},
    endpoint::Handler,
    guard,
    log::LogEntry,
    reply::{self, Body, IfNoneMatch, Reply},
    request_snapshot::{ReadRequest, RequestSnapshot, answer, request_snapshot, with_data_headers},
    router::NoRoute,
};
use model::error::{Code, Problem, Result};
use query::queries::{batch::INSTEAD, parameter::Arguments, snapshot::Snapshot};

/// Status logged for a client that disconnected before its answer.
const HUNG_UP: u16 = 499;
/// Time and bytes for which a refused body is still drained, so that the client gets to read the refusal.
const LINGER: (Duration, usize) = (Duration::from_secs(2), 8 << 20);

/// hyper service of one connection.
#[derive(Debug)]
pub(super) struct ConnectionService {
    api: Arc<Api>,
    state: Arc<ConnectionState>,
}

impl ConnectionService {
    pub(super) fn new(api: Arc<Api>, state: Arc<ConnectionState>) -> Self {
        Self { api, state }
    }
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        self.state.enter(Phase::Busy, started);
        let mut position = None;
        let step = catch_unwind(AssertUnwindSafe(|| {
            start(&self.api, &parts, body, &mut position)
        }));
        let step = step.unwrap_or_else(|_| HandlerStep::Now(defect(parts.uri.path())));
        let step = coding::apply(&self.api, &parts.headers, step);
        let exchange = Exchange {
            api: Arc::clone(&self.api),
            state: Arc::clone(&self.state),
            parts,
            position,
            started,
        };
        match step {
            HandlerStep::Now(reply) => Answering {
                now: Some(exchange.finish(reply)),
                later: None,
            },
            HandlerStep::Later(reply) => {
                self.api.metrics.begin();
                Answering {
                    now: None,
                    later: Some((exchange, reply)),
                }
            }
        }
    }
}

/// Guards and routes the request, and starts its answer. `position` becomes its index in the endpoint table, for the metrics.
fn start(
    api: &Arc<Api>,
    parts: &Parts,
    body: Incoming,
    position: &mut Option<usize>,
) -> HandlerStep {
    let path = parts.uri.path();
    if let Err(refusal) = guard::admit(api, parts) {
        return HandlerStep::Now(reply::problem(&refusal, path));
    }
    if let Some(reply) = guard::preflight_reply(api, parts) {
        return HandlerStep::Now(reply);
    }
    let route = match api.router.find(&parts.method, path) {
        Ok(route) => route,
        Err(refusal) => {
            linger(parts, body);
            return HandlerStep::Now(no_route(api, &refusal, path));
        }
    };
    *position = Some(route.position);
    let endpoint = route.endpoint;
    if *api.stopping.borrow() {
        return HandlerStep::Now(reply::problem(
            &Problem::new(
                Code::ShuttingDown,
                "The server is shutting down; retry in a moment.",
            ),
            path,
        ));
    }
    let refused = |refusal: Problem| HandlerStep::Now(reply::problem(&refusal, path));
    let selected = match request_snapshot(api, endpoint, parts.uri.query()) {
        Ok(selected) => request_snapshot,
        Err(refusal) => {
            linger(parts, body);
            return refused(refusal);
        }
    };
    let (Handler::Plain(handler), None) = (endpoint.handler, selected.as_of) else {
        if matches!(endpoint.handler, Handler::Body(_))
            && let Err(refusal) = guard::check_body(&parts.headers, body.size_hint().exact())
        {
            linger(parts, body);
            return refused(refusal);
        }
        return HandlerStep::later(answer_read(
            Arc::clone(api),
            parts.clone(),
            body,
            request_snapshot,
        ));
    };
    let mut values = [("", ""); 4];
    let count = route.arguments.len().min(values.len());
    values
        .iter_mut()
        .zip(route.arguments.iter())
        .for_each(|(value, pair)| *value = pair);
    let step = handler(&Call {
        headers: Some(&parts.headers),
        if_none_match: IfNoneMatch::of(&parts.headers),
        head: parts.method == Method::HEAD,
        snapshot: selected.snapshot.as_ref(),
        ..Call::unconditional(api, &values[..count], &parts.uri, endpoint.parameters)
    });
    match step {
        Ok(HandlerStep::Now(reply)) => {
            HandlerStep::Now(with_data_headers(reply, selected.snapshot.as_deref()))
        }
        Err(refusal) => HandlerStep::Now(with_data_headers(
            reply::problem(&refusal, path),
            selected.snapshot.as_deref(),
        )),
        Ok(HandlerStep::Later(reply)) => {
            let uri = parts.uri.clone();
            HandlerStep::later(async move {
                let reply = reply
                    .await
                    .unwrap_or_else(|refusal| reply::problem(&refusal, uri.path()));
                Ok(with_data_headers(reply, selected.snapshot.as_deref()))
            })
        }
    }
}

/// Reads the body, where one is expected, and answers.
async fn answer_read(
    api: Arc<Api>,
    parts: Parts,
    body: Incoming,
    selected: RequestSnapshot,
) -> Result<Reply> {
    let has_body = parts.method == Method::POST;
    let body = if has_body {
        read(body, api.options.body_time).await?
    } else {
        Bytes::new()
    };
    let request = ReadRequest {
        method: parts.method,
        uri: parts.uri,
        headers: Some(parts.headers),
        body,
    };
    Ok(answer(api, request, selected).await.0)
}

fn no_route(api: &Api, refusal: &NoRoute, path: &str) -> Reply {
    let mut reply = reply::problem(&refusal.problem, path);
    if let Some(allow) = &refusal.allow {
        let cors = if api.options.cors_origins.is_empty() {
            ""
        } else {
            ", OPTIONS"
        };
        if let Ok(allow) = HeaderValue::from_str(&format!("{allow}{cors}")) {
            reply.headers_mut().insert(ALLOW, allow);
        }
    }
    reply
}

fn defect(path: &str) -> Reply {
    reply::problem(
        &Problem::new(Code::Defect, "Internal error while handling the request."),
        path,
    )
}

/// Reads the whole body, within its size and time limits.
async fn read(mut body: Incoming, time: Duration) -> Result<Bytes> {
    let reading = async {
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| {
                Problem::new(
                    Code::InvalidRequest,
                    "The body ended early or is not valid HTTP/1.1.",
                )
            })?;
            if let Ok(data) = frame.into_data() {
                if whole.len() + data.len() > guard::BODY_BYTES_MAX {
                    return Err(guard::too_large());
                }
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole.freeze())
    };
    let late = || {
        Problem::new(
            Code::RequestTimeout,
            format!(
                "The body did not arrive within {} s; send it faster.",
                time.as_secs()
            ),
        )
    };
    tokio::time::timeout(time, reading)
        .await
        .unwrap_or_else(|_| Err(late()))
}

/// Drains the rest of a refused request: if the connection closed meanwhile, the refusal would be lost too.
fn linger(parts: &Parts, mut body: Incoming) {
    if body.is_end_stream() || parts.headers.contains_key(EXPECT) {
        return;
    }
    tokio::spawn(async move {
        let reading = async {
            let mut left = LINGER.1;
            while let Some(Ok(frame)) = body.frame().await {
                left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
                if left == 0 {
                    break;
                }
            }
        };
        tokio::time::timeout(LINGER.0, reading).await.ok();
    });
}

/// A request in flight, with the context to finish its reply.
#[derive(Debug, Clone)]
struct Exchange {
    api: Arc<Api>,
    state: Arc<ConnectionState>,
    parts: Parts,
    position: Option<usize>,
    started: Instant,
}

impl Exchange {
    /// Adds the common headers and logs the reply.
    fn finish(&self, mut reply: Reply) -> Reply {
        let bytes = match reply.body() {
            Body::Whole(bytes) if self.parts.method != Method::HEAD => bytes.len() as u64,
            _ => 0,
        };
        reply::finish(&mut reply, self.api.ids.of(&self.parts.headers));
        guard::allow_origin(&self.api, &self.parts, &mut reply);
        let status = reply.status().as_u16();
        match reply.body_mut() {
            Body::Whole(_) => {
                let now = Instant::now();
                self.state.enter(Phase::Answered, now);
                self.note(status, bytes, now);
            }
            // Logged at its start, since an event stream has no end.
            Body::Stream(_) => self.note(status, bytes, Instant::now()),
            Body::Rows(rows) => {
                let exchange = self.clone();
                rows.on_end = Some(Box::new(move |bytes, complete| {
                    let now = Instant::now();
                    exchange.state.enter(Phase::Answered, now);
                    exchange.note(if complete { status } else { HUNG_UP }, bytes, now);
                }));
            }
        }
        reply
    }

    fn note(&self, status: u16, bytes: u64, now: Instant) {
        let took = now.saturating_duration_since(self.started);
        let (method, path) = (self.parts.method.as_str(), self.parts.uri.path());
        self.api.metrics.count(self.position, status, took);
        self.api.log.add(&LogEntry {
            method,
            path,
            status,
            took,
            bytes,
        });
    }
}

/// Future of a reply, polled by hyper.
pub(super) struct Answering {
    now: Option<Reply>,
    later: Option<(Exchange, Awaited)>,
}

impl Future for Answering {
    type Output = std::result::Result<Reply, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(reply) = self.now.take() {
            return Poll::Ready(Ok(reply));
        }
        let Some((exchange, reply)) = &mut self.later else {
            return Poll::Pending;
        };
        let polled = catch_unwind(AssertUnwindSafe(|| reply.as_mut().poll(context)));
        let path = exchange.parts.uri.path();
        let reply = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(reply))) => reply,
            Ok(Poll::Ready(Err(refusal))) => reply::problem(&refusal, path),
            Err(_) => defect(path),
        };
        let reply = exchange.finish(reply);
        exchange.api.metrics.end();
        self.later = None;
        Poll::Ready(Ok(reply))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some((exchange, _)) = &self.later {
            exchange.api.metrics.end();
            exchange.note(HUNG_UP, 0, Instant::now());
        }
    }
}

/// Names the request's parameter that the endpoint does not know, and so ignores.
pub fn unknown_parameter(api: &Api, method: &str, target: &str) -> Option<String> {
    let (uri, method) = (
        target.parse::<Uri>().ok()?,
        Method::from_bytes(method.as_bytes()).ok()?,
    );
    let route = api.router.find(&method, uri.path()).ok()?;
    let arguments = Arguments::new(route.endpoint.parameters, &[], uri.query()?).ok()?;
    arguments
        .refuse_unknown()
        .err()
        .map(|problem| problem.detail)
}

/// Whether the request's rows are available as CSV, and none of its parameters sets their format.
pub fn writes_csv(api: &Api, method: &str, target: &str) -> bool {
    let (Ok(uri), Ok(method)) = (target.parse::<Uri>(), Method::from_bytes(method.as_bytes()))
    else {
        return false;
    };
    let Ok(route) = api.router.find(&method, uri.path()) else {
        return false;
    };
    let given = Arguments::new(
        route.endpoint.parameters,
        &[],
        uri.query().unwrap_or_default(),
    );
    let is_free = given.is_ok_and(|given| {
        !["format", INSTEAD.name]
            .iter()
            .any(|name| given.given(name))
    });
    is_free
        && route
            .endpoint
            .formats()
            .is_some_and(|words| words.contains(&"csv"))
}

/// Answers a request in process: no server, no key, no limits, but the same endpoint table. Blocks, so must not run on an async runtime's
/// thread.
pub fn answer_offline(api: &Arc<Api>, method: &str, target: &str, body: &[u8]) -> OfflineReply {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let reply = match runtime {
        Ok(runtime) => runtime.block_on(answer_inside(api, method, target, body)).0,
        Err(error) => reply::problem(
            &Problem::new(Code::Busy, format!("Cannot start the request: {error}.")),
            target,
        ),
    };
    let status = reply.status().as_u16();
    match reply.into_body() {
        Body::Whole(body) => OfflineReply {
            status,
            body,
            rows: None,
        },
        Body::Stream(_) => OfflineReply {
            status,
            body: Bytes::new(),
            rows: None,
        },
        Body::Rows(rows) => OfflineReply {
            status,
            body: Bytes::new(),
            rows: Some(OfflineRows(rows)),
        },
    }
}

/// Like `answer_offline`, on a runtime; with the data that the answer is of. Dropping the future cancels the work.
pub(super) async fn answer_inside(
    api: &Arc<Api>,
    method: &str,
    target: &str,
    body: &[u8],
) -> (Reply, Option<Arc<Snapshot>>) {
    let begun = begin(api, method, target, body);
    match begun {
        Ok((request, selected)) => answer(Arc::clone(api), request, selected).await,
        Err(refusal) => (
            reply::problem(
                &refusal,
                target.split(['?', '#']).next().unwrap_or_default(),
            ),
            None,
        ),
    }
}

fn begin(
    api: &Api,
    method: &str,
    target: &str,
    body: &[u8],
) -> Result<(ReadRequest, RequestSnapshot)> {
    let malformed = || {
        Problem::new(
            Code::InvalidRequest,
            "Expected a method and a target such as `/tokens?limit=3`.",
        )
    };
    let uri: Uri = target.parse().map_err(|_| malformed())?;
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| malformed())?;
    let route = api
        .router
        .find(&method, uri.path())
        .map_err(|refusal| refusal.problem)?;
    let selected = request_snapshot(api, route.endpoint, uri.query())?;
    Ok((
        ReadRequest {
            method,
            uri: uri.clone(),
            headers: None,
            body: Bytes::copy_from_slice(body),
        },
        request_snapshot,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiOptions;
    use crate::keys::Keys;
    use query::service::QueryService;

    #[test]
    fn a_panic_becomes_a_500_that_reveals_nothing() {
        let service = QueryService::new(
            std::path::Path::new("nowhere"),
            query::service::ServiceOptions::default(),
        )
        .expect("a query service");
        let api = Api::new(
            service,
            None,
            Arc::new(Keys::in_memory().expect("a key")),
            ApiOptions::default(),
        );
        let (parts, ()) = Request::builder()
            .uri("/tokens?x=1")
            .body(())
            .expect("a request")
            .into_parts();
        let exchange = Exchange {
            api: Arc::clone(&api),
            state: ConnectionState::new(),
            parts,
            position: None,
            started: Instant::now(),
        };
        api.metrics.begin();
        let mut answering = Answering {
            now: None,
            later: Some((
                exchange,
                Box::pin(async { panic!("the secret of the house") }),
            )),
        };
        let polled =
            Pin::new(&mut answering).poll(&mut Context::from_waker(std::task::Waker::noop()));
        let Poll::Ready(Ok(reply)) = polled else {
            panic!("not answered")
        };
        let Body::Whole(body) = reply.body() else {
            panic!("not whole")
        };
        let body = String::from_utf8_lossy(body);
        assert!(
            reply.status() == 500
                && body.contains("internal_error")
                && body.contains("\"/tokens\"")
                && !body.contains("secret"),
            "{body}"
        );
        assert_eq!(
            (api.metrics.in_flight(), api.log.recent(1)[0].status),
            (0, 500)
        );
    }
}
