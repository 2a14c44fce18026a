//! Which data a request uses: the newest, that of a snapshot, or a point in time. The response headers state which.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Uri,
    header::{HeaderName, HeaderValue},
};

use super::{
    Api,
    call::{Call, HandlerStep},
    endpoint::{Endpoint, Handler},
    format::FORMAT,
    reply::{self, IfNoneMatch, Reply},
};
use model::{
    error::{Code, Problem, Result},
    time::{DAY_MS, Time},
    wall_clock::now,
};
use query::queries::{
    parameter::{AS_OF, Arguments, GENERATION, STRICT, clip},
    snapshot::Snapshot,
    tables::{CURSOR, generation_of},
};

/// The number of the generation that an answer is from.
pub(super) const X_DATA_GENERATION: HeaderName = HeaderName::from_static("x-data-generation");
/// The time that an answer is as of.
const X_AS_OF: HeaderName = HeaderName::from_static("x-as-of");
/// Tables of which only today's rows are known.
pub(super) const X_AS_OF_UNKNOWN: HeaderName = HeaderName::from_static("x-as-of-unknown");

/// Names of parameters that are looked at before the endpoint reads its own.
const LOOKED_AT: [&str; 5] = [AS_OF, GENERATION, CURSOR.name, FORMAT.name, STRICT];

/// The data of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestSnapshot {
    /// `None` where nothing is loaded, or the answer is of no data.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// The time that they are still to be cut at.
    pub(super) as_of: Option<Time>,
}

/// The data of the request. Errors: it is unavailable, or the endpoint does not have the requested format.
pub(super) fn request_snapshot(
    api: &Api,
    endpoint: &Endpoint,
    query: Option<&str>,
) -> Result<RequestSnapshot> {
    let newest = || {
        if endpoint.as_of {
            api.service.snapshot().ok()
        } else {
            None
        }
    };
    // A name may be encoded.
    let looked_at =
        |query: &&str| query.contains('%') || LOOKED_AT.iter().any(|name| query.contains(name));
    let Some(query) = query.filter(looked_at) else {
        return Ok(RequestSnapshot {
            snapshot: newest(),
            as_of: None,
        });
    };
    let arguments = Arguments::new(endpoint.parameters, &[], query)?;
    if let Some(word) = arguments.foreign(&FORMAT).filter(|word| *word != "json") {
        let detail = format!(
            "`{}` is `{}`, but {} {} returns only json.",
            FORMAT.name,
            clip(word),
            endpoint.verb.method(),
            endpoint.path
        );
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    let (as_of, generation) = (arguments.as_of()?, arguments.generation()?);
    // A day ends in the future on that day.
    if as_of.is_some_and(|time| time.0 > now().0 + DAY_MS) {
        let detail = format!("`{AS_OF}` is in the future; expected a past day or time.");
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    for (name, given) in [(AS_OF, as_of.is_some()), (GENERATION, generation.is_some())] {
        if given && !endpoint.as_of {
            let detail = format!(
                "`{name}` is not available here: {} {} always uses current data.",
                endpoint.verb.method(),
                endpoint.path
            );
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
    }
    let of_cursor = || {
        let cursor = arguments.text(CURSOR.name).ok().flatten().filter(|_| {
            endpoint
                .parameters
                .iter()
                .any(|own| own.name == CURSOR.name)
        });
        // Where it is not kept, the query refuses the cursor, unless its data are still the same.
        api.service.generation(generation_of(&cursor?)?).ok()
    };
    let snapshot = match generation {
        Some(generation) => Some(api.service.generation(generation)?),
        None => of_cursor().or_else(newest),
    };
    Ok(RequestSnapshot { snapshot, as_of })
}

/// A request whose body was read.
pub(super) struct ReadRequest {
    pub(super) method: Method,
    pub(super) uri: Uri,
    /// `None` for calls made without a server.
    pub(super) headers: Option<HeaderMap>,
    pub(super) body: Bytes,
}

/// Answers the request from the data it chooses, and says which they are.
pub(super) async fn answer(
    api: Arc<Api>,
    request: ReadRequest,
    selected: RequestSnapshot,
) -> (Reply, Option<Arc<Snapshot>>) {
    let snapshot = match cut(&api, selected).await {
        Ok(snapshot) => snapshot,
        Err(refusal) => return (reply::problem(&refusal, request.uri.path()), None),
    };
    let reply = match step(&api, &request, snapshot.as_ref()) {
        Ok(step) => step.resolve().await,
        Err(refusal) => Err(refusal),
    };
    let reply = reply.unwrap_or_else(|refusal| reply::problem(&refusal, request.uri.path()));
    (with_data_headers(reply, snapshot.as_deref()), snapshot)
}

/// The chosen data, cut at the time.
async fn cut(api: &Arc<Api>, selected: RequestSnapshot) -> Result<Option<Arc<Snapshot>>> {
    let (Some(snapshot), Some(time)) = (&selected.snapshot, selected.as_of) else {
        return Ok(selected.snapshot);
    };
    let service = if let Some(service) = api.service.kept_as_of(snapshot, time) {
        service
    } else {
        api.service.ask_as_of(Arc::clone(snapshot), time).await?
    };
    service.snapshot().map(Some)
}

fn step(
    api: &Arc<Api>,
    request: &ReadRequest,
    snapshot: Option<&Arc<Snapshot>>,
) -> Result<HandlerStep> {
    let route = api
        .router
        .find(&request.method, request.uri.path())
        .map_err(|refusal| refusal.problem)?;
    let values: Vec<(&str, &str)> = route.arguments.iter().collect();
    let call = Call {
        headers: request.headers.as_ref(),
        if_none_match: request
            .headers
            .as_ref()
            .map(IfNoneMatch::of)
            .unwrap_or_default(),
        head: request.method == Method::HEAD,
        snapshot,
        ..Call::unconditional(api, &values, &request.uri, route.endpoint.parameters)
    };
    match route.endpoint.handler {
        Handler::Plain(handler) => handler(&call),
        Handler::Body(handler) => handler(&call, &request.body),
    }
}

/// The reply with what it is from, in its headers.
pub(super) fn with_data_headers(mut reply: Reply, snapshot: Option<&Snapshot>) -> Reply {
    let Some(snapshot) = snapshot else {
        return reply;
    };
    let headers = reply.headers_mut();
    headers.insert(X_DATA_GENERATION, HeaderValue::from(snapshot.number));
    if let Some(as_of) = &snapshot.dataset.as_of {
        let mut insert = |name: HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(name, value);
            }
        };
        insert(X_AS_OF, &as_of.time.to_string());
        if !as_of.unknown.is_empty() {
            insert(X_AS_OF_UNKNOWN, &as_of.unknown.join(", "));
        }
    }
    reply
}
