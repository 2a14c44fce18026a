//! Replies: bodies, problem details (RFC 9457), entity tags, conditional requests and the headers common to all responses. No access
//! decisions.

use std::{
    pin::Pin,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Frame, SizeHint},
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LINK,
        RETRY_AFTER, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
    },
};
use serde::Serialize;
use tokio::sync::mpsc;

use super::{
    coding::Coding,
    rows::{RowStream, StreamAborted},
};
use model::{
    error::{Code, Problem, Result},
    time::Time,
};
use query::document::{self, DocumentForm};

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The time of the newest row that an answer is made of.
pub(super) const X_DATA_AS_OF: HeaderName = HeaderName::from_static("x-data-as-of");

/// `Retry-After` of a refused request, in seconds.
const RETRY_SECONDS: u64 = 1;

/// Maximum bytes of the path quoted in a problem.
const INSTANCE_BYTES_MAX: usize = 1_024;

/// A response body.
#[derive(Debug)]
pub(super) enum Body {
    Whole(Bytes),
    /// An endless event stream.
    Stream(mpsc::Receiver<Bytes>),
    /// A finite row stream.
    Rows(RowStream),
}

pub(super) type Reply = Response<Body>;

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = StreamAborted;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, StreamAborted>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Rows(rows) => rows.poll(context),
            Self::Stream(events) => events
                .poll_recv(context)
                .map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Rows(rows) => rows.is_done(),
            Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) | Self::Rows(_) => SizeHint::default(),
        }
    }
}

/// Returns a reply with a body of the given type.
pub(super) fn reply(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = bare(
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        body.into(),
    );
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

pub(super) fn json(status: u16, body: impl Into<Bytes>) -> Reply {
    reply(status, "application/json", body)
}

/// Serializes a value to JSON for this one reply.
pub(super) fn rendered(status: u16, value: &impl Serialize) -> Result<Reply> {
    let body = serde_json::to_vec(value).map_err(|_| {
        Problem::new(
            Code::Defect,
            "Internal error: the response cannot be written as JSON.",
        )
    })?;
    Ok(json(status, body))
}

/// Returns a document; its Content Security Policy forbids scripts and requests.
pub(super) fn page(form: DocumentForm, text: String) -> Reply {
    let kind = match form {
        DocumentForm::Html => "text/html; charset=utf-8",
        DocumentForm::Markdown => "text/markdown; charset=utf-8",
    };
    let mut reply = reply(200, kind, text);
    reply.headers_mut().insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(document::POLICY),
    );
    reply
}

/// Returns a problem. `instance` is the request path, which a 401 omits, so that it reveals nothing.
pub(super) fn problem(problem: &Problem, instance: &str) -> Reply {
    // Every 401 has the same bytes, rendered once, since that is the cost of an attack to the server.
    static UNAUTHORIZED: OnceLock<Bytes> = OnceLock::new();
    // An over-long path is truncated.
    let instance = &instance[..instance.floor_char_boundary(INSTANCE_BYTES_MAX)];
    let render = |instance| Bytes::from(problem.json(instance));
    let body = match problem.code {
        Code::Unauthorized => UNAUTHORIZED.get_or_init(|| render(None)).clone(),
        _ => render(Some(instance)),
    };
    let mut reply = reply(problem.code.status(), "application/problem+json", body);
    match problem.code.status() {
        401 => {
            reply
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey"));
        }
        429 | 503 => {
            reply
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
        }
        _ => {}
    }
    reply
}

/// Returns the answer with its entity tag, or 304 if the client's copy is current.
pub(super) fn tagged(body: &Bytes, etag: &str, if_none_match: IfNoneMatch<'_>) -> Reply {
    let (mut reply, tag) = match if_none_match.matching_tag(etag) {
        Some(tag) => (empty(StatusCode::NOT_MODIFIED), tag),
        None => (json(200, body.clone()), etag.as_bytes()),
    };
    if let Ok(tag) = HeaderValue::from_bytes(tag) {
        reply.headers_mut().insert(ETAG, tag);
    }
    vary(&mut reply);
    reply
}

/// Sets the reply's entity tag.
pub(super) fn tag(reply: &mut Reply, etag: &str) {
    if let Ok(etag) = HeaderValue::from_str(etag) {
        reply.headers_mut().insert(ETAG, etag);
    }
    vary(reply);
}

/// Adds the `Vary` header: the request headers that the answer depends on.
pub(super) fn vary(reply: &mut Reply) {
    reply
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
}

/// Adds the `Link` header to the neighboring pages.
pub(super) fn link(reply: &mut Reply, links: &str) {
    if let Ok(links) = HeaderValue::from_str(links) {
        reply.headers_mut().insert(LINK, links);
    }
}

/// Says in a header from when the newest row is that the answer is made of.
pub(super) fn date(reply: &mut Reply, as_of: Option<Time>) {
    if let Some(as_of) = as_of.and_then(|as_of| HeaderValue::from_str(&as_of.to_string()).ok()) {
        reply.headers_mut().insert(X_DATA_AS_OF, as_of);
    }
}

/// Turns the answer into a 304, for `If-None-Match: *`, which every answer matches.
pub(super) fn into_not_modified(reply: &Reply) -> Reply {
    let mut not_modified = empty(StatusCode::NOT_MODIFIED);
    for name in [ETAG, X_DATA_AS_OF] {
        if let Some(value) = reply.headers().get(&name) {
            not_modified.headers_mut().insert(name, value.clone());
        }
    }
    vary(&mut not_modified);
    not_modified
}

/// Returns a reply without a body.
pub(super) fn empty(status: StatusCode) -> Reply {
    bare(status, Bytes::new())
}

/// Reserves capacity for the headers that most replies have.
fn bare(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(Body::Whole(body));
    *reply.status_mut() = status;
    *reply.headers_mut() = HeaderMap::with_capacity(6);
    reply
}

/// `If-None-Match` of a request; absent by default.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IfNoneMatch<'a>(Option<&'a HeaderMap>);

impl<'a> IfNoneMatch<'a> {
    pub(super) fn of(headers: &'a HeaderMap) -> Self {
        Self(
            headers
                .contains_key(hyper::header::IF_NONE_MATCH)
                .then_some(headers),
        )
    }

    pub(super) fn given(self) -> bool {
        self.0.is_some()
    }

    /// Whether a tag in the list is `etag` or that of one of its content codings, by weak comparison (RFC 9110 13.1.2), or is `*`.
    pub(super) fn matches(self, etag: &str) -> bool {
        self.lists(etag) || self.values().any(|value| value.trim_ascii() == b"*")
    }

    /// Like `matches`, ignoring `*`.
    pub(super) fn lists(self, etag: &str) -> bool {
        self.listed_tag(etag).is_some()
    }

    /// Returns the matching entity tag of `If-None-Match`; `etag` for `*`.
    fn matching_tag<'e>(self, etag: &'e str) -> Option<&'e [u8]>
    where
        'a: 'e,
    {
        self.listed_tag(etag)
            .or_else(|| self.matches(etag).then_some(etag.as_bytes()))
    }

    fn listed_tag(self, etag: &str) -> Option<&'a [u8]> {
        self.values()
            .find_map(|value| find_tag(value, etag.as_bytes()))
    }

    fn values(self) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .into_iter()
            .flat_map(|headers| headers.get_all(hyper::header::IF_NONE_MATCH))
            .map(HeaderValue::as_bytes)
    }
}

/// Finds `etag`, or a coding of it, in the list. Parses tag by tag, since a quoted tag may contain a comma.
fn find_tag<'a>(mut list: &'a [u8], etag: &[u8]) -> Option<&'a [u8]> {
    // Fast path: the one tag that the client was given.
    if list == etag {
        return Some(list);
    }
    loop {
        list = list.trim_ascii_start();
        let tag = list.strip_prefix(b"W/").unwrap_or(list);
        let length = tag
            .strip_prefix(b"\"")
            .and_then(|rest| rest.iter().position(|&byte| byte == b'"'))?;
        let (tag, rest) = tag.split_at(length + 2);
        if tag == etag
            || Coding::without_coding(tag).is_some_and(|tag| etag.strip_suffix(b"\"") == Some(tag))
        {
            return Some(tag);
        }
        list = rest.trim_ascii_start().strip_prefix(b",")?;
    }
}

/// Adds the headers common to all responses.
pub(super) fn finish(reply: &mut Reply, request_id: HeaderValue) {
    let headers = reply.headers_mut();
    headers.insert(REQUEST_ID, request_id);
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("private, no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Generates request ids: random bytes of the process, and a counter.
#[derive(Debug)]
pub(super) struct RequestIds {
    start: [u8; 4],
    count: AtomicU64,
}

impl RequestIds {
    pub(super) fn new() -> Self {
        let mut start = [0; 4];
        // Without randomness they are still unique within the process.
        getrandom::fill(&mut start).ok();
        Self {
            start,
            count: AtomicU64::new(1),
        }
    }

    /// Returns the client's own id if it is a plain word, else a new one.
    pub(super) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let mut given = headers.get_all(REQUEST_ID).into_iter();
        match (given.next(), given.next()) {
            (Some(id), None) if plain(id.as_bytes()) => id.clone(),
            _ => self.next(),
        }
    }

    fn next(&self) -> HeaderValue {
        let mut text = [b'-'; 21];
        let count = self.count.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        // The slices have the right length; six bytes count more requests than any process answers.
        const_hex::encode_to_slice(self.start, &mut text[..8]).ok();
        const_hex::encode_to_slice(&count[2..], &mut text[9..]).ok();
        HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("0"))
    }
}

fn plain(id: &[u8]) -> bool {
    (1..=64).contains(&id.len())
        && id
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_any_form_of_the_list() {
        for (list, found) in [
            (r#""a""#, true),
            (r#"W/"a""#, true),
            (r#""x", "a""#, true),
            (r#""x,y" , W/"a" , "z""#, true),
            (r#""x","#, false),
            (r#""ab""#, false),
            (r#""x, "a""#, false),
            (r#""x", "a-gzip""#, true),
            (r#"W/"a-zstd""#, true),
            (r#""a-rar""#, false),
            (r#""-gzip""#, false),
            ("a", false),
            ("", false),
            (r#"w/"a""#, false),
            (r#"""#, false),
        ] {
            assert_eq!(
                find_tag(list.as_bytes(), b"\"a\"").is_some(),
                found,
                "{list}"
            );
        }
    }

    #[test]
    fn a_star_matches_every_tag_but_names_none() {
        let mut headers = HeaderMap::new();
        assert!(!IfNoneMatch::of(&headers).matches("\"a\""));
        headers.insert(
            hyper::header::IF_NONE_MATCH,
            HeaderValue::from_static(" * "),
        );
        assert!(
            IfNoneMatch::of(&headers).matches("\"a\"") && !IfNoneMatch::of(&headers).lists("\"a\"")
        );
    }

    #[test]
    fn only_plain_request_ids_are_echoed() {
        let ids = RequestIds::new();
        let echoed = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(
                    REQUEST_ID,
                    HeaderValue::from_str(value).expect("a header value"),
                );
            }
            let id = ids.of(&headers);
            assert!(plain(id.as_bytes()), "{id:?}");
            values.iter().any(|value| *value == id)
        };
        assert!(echoed(&["Ab_9-"]) && echoed(&["a".repeat(64).as_str()]));
        for refused in [
            &[][..],
            &[""],
            &["a b"],
            &["é"],
            &[&"a".repeat(65)],
            &["a", "b"],
        ] {
            assert!(!echoed(refused), "{refused:?}");
        }
        assert_ne!(ids.next(), ids.next());
    }
}
