//! HTTP clients of the stores. For URLs that only a dataset names, the client connects to public addresses only; for the user's sources, to
//! any. Certificates are those of the system, read at the first use.

use std::{fmt, io, sync::Arc, time::Duration};

use async_trait::async_trait;
use object_store::{
    ClientOptions, RetryConfig,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    },
};
use reqwest::{
    StatusCode,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{CONTENT_RANGE, HeaderMap, RANGE, RETRY_AFTER},
    redirect,
};

use super::{
    fault::{NO_PARTS, PRIVATE_ADDRESS},
    place::{is_private_host, is_public},
};

const REDIRECTS_MAX: usize = 5;

/// Why a body is not read whole.
pub(super) enum BodyFault {
    TooLarge,
    Broken(reqwest::Error),
}

/// Reads a body of at most `most` bytes; calls `count` for each part.
pub(super) async fn body(
    mut response: reqwest::Response,
    most: u64,
    count: impl Fn(u64),
) -> Result<Vec<u8>, BodyFault> {
    if response
        .content_length()
        .is_some_and(|length| length > most)
    {
        return Err(BodyFault::TooLarge);
    }
    let mut bytes = Vec::new();
    while let Some(part) = response.chunk().await.map_err(BodyFault::Broken)? {
        count(part.len() as u64);
        bytes.extend_from_slice(&part);
        if bytes.len() as u64 > most {
            return Err(BodyFault::TooLarge);
        }
    }
    Ok(bytes)
}

/// Seconds of `Retry-After`; a date there is not read, and the usual wait holds.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
        .map(Duration::from_secs)
}

/// Timeouts and retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeoutsAndRetries {
    pub connect_timeout: Duration,
    /// Maximum time between two parts of a response.
    pub read_timeout: Duration,
    pub retries: usize,
    /// Delay before the first retry; it grows with each.
    pub backoff: Duration,
    pub backoff_max: Duration,
}

impl Default for TimeoutsAndRetries {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(15),
            retries: 4,
            backoff: Duration::from_millis(200),
            backoff_max: Duration::from_secs(5),
        }
    }
}

impl TimeoutsAndRetries {
    pub(super) fn retry(&self) -> RetryConfig {
        let mut config = RetryConfig {
            max_retries: self.retries,
            retry_timeout: Duration::from_secs(90),
            ..RetryConfig::default()
        };
        (config.backoff.init_backoff, config.backoff.max_backoff) =
            (self.backoff, self.backoff_max);
        config
    }
}

/// Builds clients, also for stores.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) timeouts: TimeoutsAndRetries,
    /// Whether the user configured the source: it may be in their own network.
    pub(super) named: bool,
    /// Whether requests are unencrypted: to this machine only, unless the user says otherwise.
    pub(super) plain: bool,
    /// Sent with every request.
    pub(super) headers: HeaderMap,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("named", &self.named)
            .finish_non_exhaustive()
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = self
            .client()
            .map_err(|error| object_store::Error::Generic {
                store: "HTTP",
                source: Box::new(error),
            })?;
        Ok(HttpClient::new(Checked(client)))
    }
}

/// A client that checks `Content-Range` of every response. The store checks that of the first only, and not of those with which it resumes
/// a body that was cut off.
#[derive(Debug)]
struct Checked(reqwest::Client);

#[async_trait]
impl HttpService for Checked {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let asked = request
            .headers()
            .get(RANGE)
            .and_then(|range| range.to_str().ok())
            .and_then(bounds);
        // After an error of an unknown kind the store does not retry.
        let answer = self.0.call(request).await.map_err(|error| {
            if is_unreachable(&error) {
                HttpError::new(HttpErrorKind::Unknown, error)
            } else {
                error
            }
        })?;
        let Some((start, end)) = asked.filter(|_| answer.status().is_success()) else {
            return Ok(answer);
        };
        let given = answer
            .headers()
            .get(CONTENT_RANGE)
            .and_then(|range| range.to_str().ok());
        let given = given.and_then(|range| bounds(range.split_once('/')?.0));
        match (answer.status(), given) {
            (StatusCode::PARTIAL_CONTENT, Some(given)) if given == (start, end) => Ok(answer),
            (StatusCode::PARTIAL_CONTENT, _) => Err(HttpError::new(
                HttpErrorKind::Interrupted,
                io::Error::other("the server did not send the requested byte range"),
            )),
            _ => Err(HttpError::new(
                HttpErrorKind::Unknown,
                io::Error::other(NO_PARTS),
            )),
        }
    }
}

/// Whether the server is unreachable: no DNS name, no route, connection refused. Retries within seconds do not help, and the user waits for
/// the rows of the last load meanwhile.
fn is_unreachable(error: &HttpError) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        let unreachable = [
            io::ErrorKind::ConnectionRefused,
            io::ErrorKind::NetworkUnreachable,
            io::ErrorKind::HostUnreachable,
        ];
        if kind.is_some_and(|kind| unreachable.contains(&kind)) || error.to_string() == "dns error"
        {
            return true;
        }
        source = error.source();
    }
    false
}

/// First and last byte of `bytes=0-7` and `bytes 0-7`.
fn bounds(range: &str) -> Option<(u64, u64)> {
    let (start, end) = range
        .strip_prefix("bytes")?
        .trim_start_matches(['=', ' '])
        .split_once('-')?;
    Some((start.trim().parse().ok()?, end.trim().parse().ok()?))
}

impl Connector {
    pub(super) fn client(&self) -> reqwest::Result<reqwest::Client> {
        self.builder().build()
    }

    pub(super) fn builder(&self) -> reqwest::ClientBuilder {
        let (named, plain) = (self.named, self.plain);
        let policy = redirect::Policy::custom(move |attempt| {
            if attempt.previous().len() > REDIRECTS_MAX {
                return attempt.error(io::Error::other("too many redirects"));
            }
            // An encrypted request stays encrypted, and a public server must not redirect into the user's network.
            let encrypted = plain || attempt.url().scheme() == "https";
            let is_private = !named && attempt.url().host_str().is_none_or(is_private_host);
            match (encrypted, is_private) {
                (true, false) => attempt.follow(),
                (_, true) => attempt.error(io::Error::other(PRIVATE_ADDRESS)),
                (false, _) => attempt.error(io::Error::other("redirect to an unencrypted address")),
            }
        });
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("tokendeck/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.timeouts.connect_timeout)
            .read_timeout(self.timeouts.read_timeout)
            .default_headers(self.headers.clone())
            .http1_only()
            .redirect(policy);
        if !named {
            builder = builder.dns_resolver(Arc::new(PublicOnly {
                proxies: proxies(|name| std::env::var(name).ok()),
            }));
        }
        builder
    }
}

/// Environment variables that name a proxy; the client reads them too.
const PROXIES: [&str; 6] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// Hosts of the user's own proxies.
fn proxies(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let host = |value: String| {
        let url = if value.contains("://") {
            value
        } else {
            format!("http://{value}")
        };
        reqwest::Url::parse(&url)
            .ok()?
            .host_str()
            .map(str::to_ascii_lowercase)
    };
    PROXIES
        .into_iter()
        .filter_map(variable)
        .filter_map(host)
        .collect()
}

/// DNS resolver that returns public addresses only. A proxy may have a private one: the user named it.
struct PublicOnly {
    proxies: Vec<String>,
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let is_proxy = self
            .proxies
            .iter()
            .any(|host| host.eq_ignore_ascii_case(name.as_str()));
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if is_proxy {
                let all: Addrs = Box::new(found.into_iter());
                return Ok(all);
            }
            if !found.is_empty() && found.iter().all(|address| !is_public(address.ip())) {
                return Err(io::Error::other(PRIVATE_ADDRESS).into());
            }
            let public: Addrs =
                Box::new(found.into_iter().filter(|address| is_public(address.ip())));
            Ok(public)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_proxy_is_read_from_any_spelling() {
        let hosts = |value: &str| proxies(|name| (name == "https_proxy").then(|| value.to_owned()));
        for written in [
            "http://Proxy.corp:3128",
            "proxy.corp:3128",
            "http://me:secret@proxy.corp/",
        ] {
            assert_eq!(hosts(written), ["proxy.corp"], "{written}");
        }
        assert!(hosts("").is_empty());
    }

    #[tokio::test]
    async fn only_a_proxy_may_have_a_private_address() {
        let resolver = PublicOnly {
            proxies: vec!["localhost".to_owned()],
        };
        assert!(
            resolver
                .resolve("localhost".parse().expect("a name"))
                .await
                .is_ok_and(|found| found.count() > 0)
        );
        let stranger = PublicOnly {
            proxies: Vec::new(),
        };
        let refused = stranger.resolve("localhost".parse().expect("a name")).await;
        assert!(refused.is_err_and(|error| error.to_string().contains(PRIVATE_ADDRESS)));
    }
}
