//! Web services: GET requests at the pace that each allows, repeated if it is busy. Interpreting the responses belongs to `live`.

mod post;
mod reach;

use std::{
    collections::{HashMap, VecDeque},
    fmt, io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use reqwest::{
    Client, Response, StatusCode, Url,
    header::{
        ACCEPT_ENCODING, AUTHORIZATION, ETAG, HeaderMap, HeaderName, HeaderValue,
        IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    },
    redirect,
};
use tokio::sync::Semaphore;

pub use self::post::{WebhookMessage, WebhookSecret, WebhookUrl};
use super::{
    Fault, RemoteClient, amount,
    client::{BodyFault, Connector, body, retry_after},
    fault::{PRIVATE_ADDRESS, UNTRUSTED},
    locked,
    place::{UrlPattern, is_private_host},
    source::{Source, SourceKind},
};

/// Maximum bytes of an answer: lists of all pools of a chain have 15 MB.
const ANSWER_MAX: u64 = 64 << 20;
/// Longest time for an answer, however slowly it comes.
const ANSWER_TIME: Duration = Duration::from_mins(2);
/// Longest wait that a service may ask for.
const WAIT_MAX: Duration = Duration::from_mins(2);
/// Number of attempts before a busy service counts as failed.
const TRIES_MAX: u32 = 4;
const MINUTE: Duration = Duration::from_mins(1);

/// Limits of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebLimits {
    pub per_minute: u32,
    /// `None`: only the limit per minute applies.
    pub per_second: Option<u32>,
    /// `None`: the limit that the user set for all providers.
    pub per_day: Option<u32>,
    pub in_flight: u32,
}

/// A GET request.
#[derive(Clone)]
pub struct WebRequest {
    /// Id of the provider, whose limits all its requests share.
    pub provider: String,
    pub limits: WebLimits,
    /// URL without its parameters and without a key.
    pub url: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    /// How to send a key, and whether one is required.
    pub key: Option<WebKey>,
    /// Version of the last response: an unchanged one is not sent again.
    pub known: WebVersion,
    /// Whether the service may be a machine in the user's own network, because the user wrote its description.
    pub own: bool,
    /// Whether to use the user's key and limits of that provider: not for a description that is part of a dataset.
    pub settings: bool,
}

/// How to send a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebKey {
    /// Name of the header or parameter.
    pub name: String,
    pub in_query: bool,
    /// Text before the key, such as `Bearer `.
    pub before: String,
    pub optional: bool,
}

/// Version of a response, as its server names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct WebVersion {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// Without the parameters, which may contain a key of another person's description.
impl fmt::Debug for WebRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebRequest")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebAnswer {
    Body {
        bytes: Vec<u8>,
        version: WebVersion,
    },
    /// The response has not changed.
    Unchanged,
    /// The service does not know the item: status 404, or 400 or 422 for items that it may not know.
    Unknown,
}

/// What is known of the services of this program.
#[derive(Default)]
pub(super) struct KnownServices {
    clients: Mutex<HashMap<(String, bool), Client>>,
    paces: Mutex<HashMap<String, Arc<Pace>>>,
}

/// The requests of a provider in the last minute, and how many run.
struct Pace {
    sent: Mutex<VecDeque<Instant>>,
    places: Semaphore,
}

impl Pace {
    /// How long until the next request may be sent; zero: it counts as sent.
    fn wait(&self, limits: WebLimits, now: Instant) -> Duration {
        let mut sent = locked(&self.sent);
        while sent
            .front()
            .is_some_and(|first| now.duration_since(*first) >= MINUTE)
        {
            sent.pop_front();
        }
        let after = |count: u32, span: Duration| {
            let nth = sent
                .len()
                .checked_sub(count.max(1) as usize)
                .and_then(|at| sent.get(at));
            nth.map_or(Duration::ZERO, |nth| {
                span.saturating_sub(now.duration_since(*nth))
            })
        };
        let second = limits
            .per_second
            .map_or(Duration::ZERO, |count| after(count, Duration::from_secs(1)));
        let wait = after(limits.per_minute, MINUTE).max(second);
        if wait.is_zero() {
            sent.push_back(now);
        }
        wait
    }
}

/// Called before a request waits, with the duration and whether the service requested the wait.
pub type WaitWatch = Arc<dyn Fn(Duration, bool) + Send + Sync>;

impl RemoteClient {
    /// The user's settings of that provider.
    pub fn provider_source(&self, id: &str) -> Option<&Source> {
        self.options
            .sources
            .iter()
            .find(|source| source.kind == SourceKind::Provider && source.name == id)
    }

    /// The user's source of files that covers the URL.
    fn web_source(&self, url: &str) -> Option<&Source> {
        let place = UrlPattern::parse(url.split('?').next().unwrap_or(url)).ok()?;
        self.options
            .sources
            .iter()
            .find(|source| source.has(&place))
    }

    /// Whether a key for that provider is available.
    pub fn has_provider_key(&self, id: &str) -> bool {
        self.provider_source(id)
            .is_some_and(|source| key_of(source).is_ok_and(|key| key.is_some()))
    }

    /// Sends the request at the pace that its provider allows. Fails without a response, and with one that contains no data.
    pub fn get(
        self: &Arc<Self>,
        request: WebRequest,
        waits: WaitWatch,
        stopped: &dyn Fn() -> bool,
    ) -> Result<WebAnswer, Fault> {
        let wire = Arc::clone(self);
        self.wait(
            stopped,
            async move { wire.answer_of(&request, &waits).await },
        )
    }

    async fn answer_of(&self, request: &WebRequest, waits: &WaitWatch) -> Result<WebAnswer, Fault> {
        let source = self
            .provider_source(&request.provider)
            .filter(|_| request.settings)
            .or_else(|| self.web_source(&request.url));
        let key = source.map_or(Ok(None), key_of)?;
        let limits = WebLimits {
            per_minute: source
                .map(|source| source.per_minute)
                .filter(|count| *count > 0)
                .unwrap_or(request.limits.per_minute),
            per_day: source
                .map(|source| source.per_day)
                .filter(|count| *count > 0)
                .or(request.limits.per_day),
            ..request.limits
        };
        let bearer = source.is_some_and(|source| source.kind == SourceKind::Https);
        if let (Some(place), None) = (&request.key, &key)
            && !place.optional
        {
            return Err(Fault::Refused(format!(
                "requires a key; put it into an environment variable NAME, and add [sources.{}] with kind = \"provider\" and token_env = \"NAME\" to config.toml",
                request.provider
            )));
        }
        self.afford(1 << 10)?;
        let client =
            self.web_client(request, source.is_some_and(|source| !source.url.is_empty()))?;
        let pace = self.pace(request);
        let mut tries = 0;
        loop {
            let _place = pace.places.acquire().await;
            loop {
                let wait = pace.wait(limits, Instant::now());
                if wait.is_zero() {
                    break;
                }
                waits(wait, false);
                tokio::time::sleep(wait).await;
            }
            self.count_request(
                &request.provider,
                limits.per_day.unwrap_or(self.options.requests_per_day),
            )?;
            let (fault, after) = match self.send(&client, request, key.as_deref(), bearer).await {
                Ok(answer) => return Ok(answer),
                Err(WebFault::Final(fault)) => return Err(fault),
                Err(WebFault::Later(fault, after)) => (fault, after),
            };
            tries += 1;
            if tries >= TRIES_MAX {
                return Err(fault);
            }
            let timeouts = &self.options.timeouts;
            let backoff = (timeouts.backoff * 2u32.pow(tries)).min(timeouts.backoff_max);
            // The jitter keeps programs that were refused together from coming back together.
            let jitter = backoff.mul_f64(f64::from(random_byte()) / 256.0);
            let wait = after.unwrap_or_default().max(backoff) + jitter;
            waits(wait, true);
            tokio::time::sleep(wait).await;
        }
    }

    fn pace(&self, request: &WebRequest) -> Arc<Pace> {
        let made = || Pace {
            sent: Mutex::default(),
            places: Semaphore::new(request.limits.in_flight.max(1) as usize),
        };
        Arc::clone(
            locked(&self.services.paces)
                .entry(request.provider.clone())
                .or_insert_with(|| Arc::new(made())),
        )
    }

    fn web_client(&self, request: &WebRequest, named: bool) -> Result<Client, Fault> {
        let url = parsed(&request.url)?;
        let named = named || request.own;
        let host = url.host_str().unwrap_or_default();
        if !named && is_private_host(host) {
            return Err(Fault::Refused(format!(
                "has {PRIVATE_ADDRESS}, which a dataset may not use; describe the service next to config.toml instead"
            )));
        }
        if url.scheme() != "https" && !is_private_host(host) {
            return Err(Fault::Refused(
                "is not encrypted; use https:// (http:// is allowed only on this machine or in its network)".to_owned(),
            ));
        }
        let key = (url.origin().ascii_serialization(), named);
        if let Some(client) = locked(&self.services.clients).get(&key) {
            return Ok(client.clone());
        }
        let connector = Connector {
            timeouts: self.options.timeouts.clone(),
            named,
            plain: url.scheme() == "http",
            headers: HeaderMap::new(),
        };
        // A redirect must not send a key elsewhere, nor lead into the person's network.
        let policy = redirect::Policy::custom(|attempt| {
            let first = attempt.previous().first().map(|url| {
                (
                    url.scheme().to_owned(),
                    url.host_str().map(str::to_owned),
                    url.port(),
                )
            });
            let same = first
                == Some((
                    attempt.url().scheme().to_owned(),
                    attempt.url().host_str().map(str::to_owned),
                    attempt.url().port(),
                ));
            match (same, attempt.previous().len() > 4) {
                (true, false) => attempt.follow(),
                (true, true) => attempt.error(io::Error::other(TOO_OFTEN)),
                (false, _) => attempt.error(io::Error::other(ELSEWHERE)),
            }
        });
        let client = connector
            .builder()
            .redirect(policy)
            .timeout(ANSWER_TIME)
            .build();
        let client = client.map_err(|_| Fault::Failed("cannot be contacted".to_owned()))?;
        locked(&self.services.clients).insert(key, client.clone());
        Ok(client)
    }

    async fn send(
        &self,
        client: &Client,
        request: &WebRequest,
        key: Option<&str>,
        bearer: bool,
    ) -> Result<WebAnswer, WebFault> {
        let mut url = parsed(&request.url).map_err(WebFault::Final)?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        // The reader of answers unpacks them.
        let mut headers =
            HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        for (name, value) in &request.headers {
            headers.insert(
                header(name)?,
                HeaderValue::from_str(value).map_err(|_| odd_header(name))?,
            );
        }
        for (name, value) in [
            (IF_NONE_MATCH, &request.known.etag),
            (IF_MODIFIED_SINCE, &request.known.modified),
        ] {
            if let Some(value) = value
                .as_ref()
                .and_then(|value| HeaderValue::from_str(value).ok())
            {
                headers.insert(name, value);
            }
        }
        if let (Some(place), Some(key)) = (&request.key, key) {
            if place.in_query {
                url.query_pairs_mut().append_pair(&place.name, key);
            } else {
                let mut value = HeaderValue::from_str(&format!("{}{key}", place.before))
                    .map_err(|_| odd_header(&place.name))?;
                value.set_sensitive(true);
                headers.insert(header(&place.name)?, value);
            }
        }
        if let (true, Some(key)) = (bearer, key) {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| odd_header("authorization"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let _asking = self.ask(&request.provider);
        let response = client
            .get(url)
            .headers(headers)
            .send()
            .await
            .map_err(|error| request_fault(&error))?;
        match response.status() {
            StatusCode::NOT_MODIFIED => Ok(WebAnswer::Unchanged),
            status if status.is_success() => {
                let text = |name| {
                    response
                        .headers()
                        .get(&name)
                        .and_then(|value: &HeaderValue| value.to_str().ok())
                        .map(str::to_owned)
                };
                let version = WebVersion {
                    etag: text(ETAG),
                    modified: text(LAST_MODIFIED),
                };
                Ok(WebAnswer::Body {
                    bytes: self.web_body(response).await?,
                    version,
                })
            }
            StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                Ok(WebAnswer::Unknown)
            }
            status => Err(status_fault(status, &response, &request.provider)),
        }
    }

    async fn web_body(&self, response: Response) -> Result<Vec<u8>, WebFault> {
        body(response, ANSWER_MAX, |bytes| self.count(bytes))
            .await
            .map_err(|fault| match fault {
                BodyFault::TooLarge => WebFault::Final(Fault::Unavailable(format!(
                    "sent more than {}, the largest response accepted",
                    amount(ANSWER_MAX)
                ))),
                BodyFault::Broken(error) => request_fault(&error),
            })
    }
}

const ELSEWHERE: &str = "it leads to another server";
const TOO_OFTEN: &str = "it redirects too often";

/// Why there is no answer.
enum WebFault {
    /// A retry may succeed: after this long, if the service gave a time.
    Later(Fault, Option<Duration>),
    Final(Fault),
}

fn parsed(url: &str) -> Result<Url, Fault> {
    let parsed = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "https" | "http") && url.username().is_empty());
    parsed.ok_or_else(|| Fault::Refused("is not a URL that can be requested".to_owned()))
}

fn header(name: &str) -> Result<HeaderName, WebFault> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| odd_header(name))
}

fn odd_header(name: &str) -> WebFault {
    WebFault::Final(Fault::Refused(format!("needs a valid header `{name}`")))
}

/// The user's key, from the environment.
fn key_of(source: &Source) -> Result<Option<String>, Fault> {
    if source.token_env.is_empty() {
        return Ok(None);
    }
    let value = std::env::var(&source.token_env)
        .ok()
        .filter(|value| !value.is_empty());
    value.map(Some).ok_or_else(|| {
        Fault::Refused(format!(
            "needs a key from the variable `{}`, which is not set",
            source.token_env
        ))
    })
}

fn status_fault(status: StatusCode, response: &Response, provider: &str) -> WebFault {
    let is_final = |words: String| WebFault::Final(Fault::Unavailable(words));
    match status.as_u16() {
        418 | 429 | 500.. => {
            let after = retry_after(response.headers());
            let number = status.as_u16();
            match after.filter(|after| *after > WAIT_MAX) {
                Some(after) => is_final(format!(
                    "returned {number} and asks you to wait {} s",
                    after.as_secs()
                )),
                None if number == 429 => WebFault::Later(
                    Fault::Unavailable(
                        "rejected the request because its rate limit was exceeded; retry later, or lower `per_minute`".to_owned(),
                    ),
                    after,
                ),
                None => WebFault::Later(
                    Fault::Unavailable(format!(
                        "returned {number} on every try: it is busy or broken"
                    )),
                    after,
                ),
            }
        }
        401..=403 => is_final(format!(
            "requires a valid key; check `token_env` in [sources.{provider}] (kind = \"provider\") of config.toml"
        )),
        number => is_final(format!("returned {number}")),
    }
}

/// Fault for a request without a response.
fn request_fault(error: &reqwest::Error) -> WebFault {
    let chain = || {
        std::iter::successors(
            Some(error as &(dyn std::error::Error + 'static)),
            |&error| error.source(),
        )
    };
    let says = |words: &str| chain().any(|error| error.to_string().contains(words));
    let unavailable = |words: &str| Fault::Unavailable(words.to_owned());
    if says("certificate") {
        WebFault::Final(unavailable(UNTRUSTED))
    } else if says(PRIVATE_ADDRESS) {
        WebFault::Final(Fault::Refused(format!(
            "has {PRIVATE_ADDRESS}, which a dataset may not use; describe the service next to config.toml instead"
        )))
    } else if says(ELSEWHERE) {
        WebFault::Final(Fault::Refused(
            "redirects to another server, which tokendeck does not contact".to_owned(),
        ))
    } else if says(TOO_OFTEN) {
        WebFault::Final(unavailable("redirects too many times"))
    } else if error.is_connect() {
        WebFault::Final(unavailable("is unreachable"))
    } else if error.is_timeout() {
        WebFault::Later(unavailable("did not respond in time"), None)
    } else {
        WebFault::Later(unavailable("was interrupted on every try"), None)
    }
}

fn random_byte() -> u8 {
    let mut byte = [0];
    getrandom::fill(&mut byte).map_or(128, |()| byte[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_asked_no_more_often_than_it_allows() {
        let pace = Pace {
            sent: Mutex::default(),
            places: Semaphore::new(1),
        };
        let limits = WebLimits {
            per_minute: 3,
            per_second: Some(2),
            per_day: None,
            in_flight: 1,
        };
        let start = Instant::now();
        let at = |milliseconds: u64| start + Duration::from_millis(milliseconds);
        assert_eq!(pace.wait(limits, at(0)), Duration::ZERO);
        assert_eq!(pace.wait(limits, at(100)), Duration::ZERO);
        assert_eq!(
            pace.wait(limits, at(200)),
            Duration::from_millis(800),
            "two in a second"
        );
        assert_eq!(pace.wait(limits, at(1_000)), Duration::ZERO);
        assert_eq!(
            pace.wait(limits, at(3_000)),
            Duration::from_secs(57),
            "three in a minute"
        );
        assert_eq!(pace.wait(limits, at(60_000)), Duration::ZERO);
    }
}
