//! Answers as of a time: the same endpoints over a deck that knows nothing of later. What they are as of stands in their headers.

use std::{fmt::Write as _, sync::Arc};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Uri,
    header::{HeaderName, HeaderValue, LINK},
};

use super::{
    Api,
    call::{Call, HandlerStep},
    endpoint::{Endpoint, Handler},
    reply::{Body, IfNoneMatch, Reply},
};
use model::{
    error::{Code, Problem, Result},
    locks::Locked as _,
    time::Time,
};
use query::question::parameter::{AS_OF, Arguments, EXPLAIN};
use store::AsOf;

/// The time that an answer is as of.
const X_AS_OF: HeaderName = HeaderName::from_static("x-as-of");
/// Tables of which only today's rows are known.
pub(super) const X_AS_OF_UNKNOWN: HeaderName = HeaderName::from_static("x-as-of-unknown");

/// The time that the request asks for. Errors: it is none, or the endpoint's answers are of the present alone.
pub(super) fn asked(endpoint: &Endpoint, query: Option<&str>) -> Result<Option<Time>> {
    // Its name may be encoded.
    let Some(query) = query.filter(|query| query.contains(AS_OF) || query.contains('%')) else { return Ok(None) };
    let time = Arguments::new(endpoint.parameters, &[], query)?.as_of()?;
    if time.is_some() && !endpoint.as_of {
        let detail = format!("`{AS_OF}` is not taken here: {} {} answers about the present.", endpoint.verb.method(), endpoint.path);
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    Ok(time)
}

/// What is left of a request once its body was read.
pub(super) struct TimedRequest {
    pub(super) method: Method,
    pub(super) uri: Uri,
    /// `None` for calls made without a server.
    pub(super) headers: Option<HeaderMap>,
    pub(super) body: Bytes,
}

/// Answers the request as of the time.
pub(super) async fn answer(api: Arc<Api>, request: TimedRequest, time: Time) -> Result<Reply> {
    let deck = match api.deck.kept_as_of(time) {
        Some(deck) => deck,
        None => api.deck.work(move |deck, _| deck.as_of(time)).await?,
    };
    let as_of = deck.snapshot()?.dataset.as_of.clone().unwrap_or_default();
    let api = api.over(deck);
    let route = api.router.find(&request.method, request.uri.path()).map_err(|refusal| refusal.problem)?;
    let values: Vec<(&str, &str)> = route.arguments.iter().collect();
    let call = Call {
        headers: request.headers.as_ref(),
        if_none_match: request.headers.as_ref().map(IfNoneMatch::of).unwrap_or_default(),
        head: request.method == Method::HEAD,
        ..Call::unconditional(&api, &values, &request.uri, route.endpoint.parameters)
    };
    let step: HandlerStep = match route.endpoint.handler {
        Handler::Plain(handler) => handler(&call)?,
        Handler::Body(handler) => handler(&call, &request.body)?,
    };
    let explained =
        route.endpoint.parameters.iter().any(|parameter| parameter.name == EXPLAIN.name) && call.arguments()?.flag(EXPLAIN.name)?;
    let mut reply = step.resolve().await?;
    tell(&mut reply, &as_of);
    Ok(if explained { reply.map(|body| with_unknown(body, &as_of.unknown)) } else { reply })
}

/// Adds the tables of today to an explained answer, which is an object.
fn with_unknown(body: Body, unknown: &[&str]) -> Body {
    let Body::Whole(bytes) = &body else { return body };
    let Some(inside) = bytes.strip_suffix(b"}").filter(|inside| inside.len() > 1) else { return body };
    let unknown = serde_json::to_vec(unknown).unwrap_or_default();
    Body::Whole([inside, b",\"asOfUnknown\":", &unknown, b"}"].concat().into())
}

/// Says what the reply is as of, in its headers and in its links to other pages.
fn tell(reply: &mut Reply, as_of: &AsOf) {
    let headers = reply.headers_mut();
    let mut insert = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    insert(X_AS_OF, &as_of.time.to_string());
    if !as_of.unknown.is_empty() {
        insert(X_AS_OF_UNKNOWN, &as_of.unknown.join(", "));
    }
    let links = headers.get(LINK).and_then(|links| links.to_str().ok()).map(|links| linked(links, as_of.time));
    if let Some(links) = links.and_then(|links| HeaderValue::from_str(&links).ok()) {
        headers.insert(LINK, links);
    }
}

/// The links, each as of the time.
fn linked(links: &str, time: Time) -> String {
    let mut all = String::with_capacity(links.len() + 64);
    for (place, part) in links.split('>').enumerate() {
        if place > 0 {
            all.push('>');
        }
        all.push_str(part);
        // A part that holds a `<` ends with a target.
        if let Some((_, target)) = part.split_once('<') {
            let joint = if target.contains('?') { '&' } else { '?' };
            let _ = write!(all, "{joint}{AS_OF}={time}");
        }
    }
    all
}

impl Api {
    /// The same service over another deck; kept as long as that deck is the newest.
    fn over(&self, deck: Arc<query::deck::Deck>) -> Arc<Self> {
        let mut kept = self.as_of.locked();
        if let Some(known) = kept.as_ref().filter(|known| Arc::ptr_eq(&known.deck, &deck)) {
            return Arc::clone(known);
        }
        let over = Arc::new(Self {
            event_streams: Arc::clone(&self.event_streams),
            row_streams: Arc::clone(&self.row_streams),
            stopping: self.stopping.clone(),
            ..Self::made(deck, self.jobs.clone(), Arc::clone(&self.keys), self.options.clone())
        });
        *kept = Some(Arc::clone(&over));
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_other_pages_are_as_of_the_same_time() {
        let links = "</tokens?page=2>; rel=\"next\", </dexes>; rel=\"first\"";
        let expected = "</tokens?page=2&as_of=1970-01-01T00:00:00Z>; rel=\"next\", </dexes?as_of=1970-01-01T00:00:00Z>; rel=\"first\"";
        assert_eq!(linked(links, Time(0)), expected);
    }
}
