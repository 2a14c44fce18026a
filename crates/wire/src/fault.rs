//! Faults: why a request failed, worded for the user. They never contain a key, a signature or text that a server sent.

use std::{error::Error, fmt};

use object_store::client::{HttpError, HttpErrorKind};

use super::place::{SCHEMES, Scheme, URL_MAX};

/// Error text for an address that a dataset may not name.
pub(super) const PRIVATE_ADDRESS: &str = "a private address (this machine or its network)";
/// Error text for a server that sends files whole, without range support.
pub(super) const NO_PARTS: &str = "non-partial response";

/// Reason why there are no bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The user canceled the load.
    Stopped,
    /// The object changed since it was listed.
    Changed,
    /// The connection was closed before the response.
    CutOff,
    /// The server answered 503.
    Busy,
    /// The server sends only whole files, without range support.
    NoParts,
    /// The node does not have the state of the block: it deleted it, or has not received it yet. Continues "`URL` …".
    NoState(String),
    /// The response is too large or takes too long: a narrower request may succeed. Continues "`URL` …".
    TooMuch(String),
    /// The engine failed with an error code that tokendeck has no message for.
    UnknownCode(u32),
    /// The source is unreachable, or does not send the bytes. Continues "`URL` …".
    Unavailable(String),
    /// The request may not be sent. Continues "`URL` …".
    Refused(String),
    /// Failure on this machine, such as storing the bytes. Continues "`URL` …".
    Failed(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("was canceled"),
            Self::Changed => f.write_str("changed while being read; reload the data"),
            Self::CutOff => f.write_str("closed the connection early"),
            Self::Busy => f.write_str("returned 503: the server is busy"),
            Self::NoParts => f.write_str(
                "is unreadable: the server sends neither byte ranges nor the whole file",
            ),
            Self::UnknownCode(code) => {
                write!(f, "is unavailable: the server failed with code {code}")
            }
            Self::NoState(reason)
            | Self::TooMuch(reason)
            | Self::Unavailable(reason)
            | Self::Refused(reason)
            | Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl Error for Fault {}

/// Reason why a text is not a URL of data. Continues "`URL` …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlError {
    NotAUrl,
    TooLong,
    UnknownScheme,
    UserName,
    Query,
    /// No host, bucket or data set that this scheme has.
    Root(Scheme),
    NoDataset,
    NoPath,
    /// A web server lists no files.
    Unlisted,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAUrl => "is not a URL",
            Self::TooLong => return write!(f, "is longer than {URL_MAX} bytes; shorten it"),
            Self::UnknownScheme => {
                let known = SCHEMES.map(|(name, _)| format!("{name}://")).join(", ");
                return write!(f, "does not begin with one of {known}");
            }
            Self::UserName => {
                "contains a user name; remove it, and put keys into the environment or ~/.aws"
            }
            Self::Query => "has a query, which may contain a key; remove the query",
            Self::Root(scheme) => {
                let expected = match scheme {
                    Scheme::Https | Scheme::Http => {
                        "a host, as in https://example.org/candles.parquet"
                    }
                    Scheme::Hf => "a dataset, as in hf://datasets/OWNER/NAME/candles.parquet",
                    _ => "a bucket, as in s3://bucket/candles/*.parquet",
                };
                return write!(f, "has no valid host or bucket; expected {expected}");
            }
            Self::NoDataset => {
                "has no dataset name; expected hf://datasets/OWNER/NAME/candles.parquet"
            }
            Self::NoPath => "has no file path; add one, as in s3://bucket/candles/*.parquet",
            Self::Unlisted => {
                "is a glob or a folder, but web servers don't list files; give each file's URL"
            }
        })
    }
}

impl Error for UrlError {}

impl From<UrlError> for Fault {
    fn from(error: UrlError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Access with which a source was queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessKind {
    /// No source covers the place: it is accessed without credentials, as any public visitor would.
    Public,
    /// A source with `anonymous`.
    Anonymous,
    Keys,
}

/// The store of a request, for the text of a fault.
#[derive(Debug, Clone)]
pub(super) struct AskedStore {
    /// Name of the source, or of the place if no source covers it.
    pub(super) name: String,
    /// Bucket, container or host.
    pub(super) root: String,
    pub(super) access: AccessKind,
    /// Whether it is a web server, which has no buckets.
    pub(super) web: bool,
    /// Where its credentials are set.
    pub(super) keys: &'static str,
}

/// Fault of an untrusted TLS certificate.
pub(super) const UNTRUSTED: &str =
    "has an untrusted TLS certificate; set SSL_CERT_FILE to the file of its certificate authority";

impl AskedStore {
    /// Fault for an error of the store.
    pub(super) fn fault(&self, error: &object_store::Error) -> Fault {
        use object_store::Error as E;
        match error {
            E::NotFound { .. } if self.web => Fault::Unavailable("does not exist".to_owned()),
            E::NotFound { .. } => Fault::Unavailable(format!(
                "does not exist; check its path, and whether `{}` contains it",
                self.root
            )),
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => self.denied(error),
            E::Precondition { .. } | E::NotModified { .. } => Fault::Changed,
            _ => self.of_chain(error),
        }
    }

    /// Fault for denied permission.
    fn denied(&self, error: &(dyn Error + 'static)) -> Fault {
        let Self { name, root, .. } = self;
        let says = |words: &str| chain(error).any(|error| error.to_string().contains(words));
        Fault::Unavailable(match (self.access, self.web) {
            (AccessKind::Public, true) => {
                format!(
                    "requires authentication; set `{root}` as `url`, and `token_env`, of a source in config.toml"
                )
            }
            (AccessKind::Public, false) => {
                format!(
                    "requires authentication; add `{root}` to `buckets` of a source in config.toml whose keys can read it"
                )
            }
            (AccessKind::Anonymous, false) => {
                format!(
                    "requires keys; remove `anonymous` from [sources.{name}] in config.toml and configure keys"
                )
            }
            (_, true) => {
                format!(
                    "is not accessible with the token of the source `{name}`; check `token_env` in [sources.{name}] of config.toml"
                )
            }
            (AccessKind::Keys, false) => {
                let why = if says("InvalidAccessKeyId") {
                    "the store does not know them".to_owned()
                } else if says("SignatureDoesNotMatch") {
                    "the secret does not match the key".to_owned()
                } else {
                    format!("they are missing, wrong, or not allowed to list and read `{root}`")
                };
                format!(
                    "is not accessible with the keys of the source `{name}`: {why}; check {} in [sources.{name}] of config.toml",
                    self.keys
                )
            }
        })
    }

    /// Text for an unreachable server.
    fn unreached(&self) -> String {
        match self.access {
            AccessKind::Public => "is unreachable".to_owned(),
            _ => format!(
                "is unreachable; check the `{}` of [sources.{}] in config.toml",
                if self.web { "url" } else { "endpoint" },
                self.name
            ),
        }
    }

    /// Fault by the chain of errors. A server's own text is left out: it may repeat the request.
    fn of_chain(&self, error: &(dyn Error + 'static)) -> Fault {
        let says = |words: &str| chain(error).any(|error| error.to_string().contains(words));
        let unavailable = |reason: &str| Fault::Unavailable(reason.to_owned());
        let Self { name, root, .. } = self;
        if says("certificate") {
            return unavailable(UNTRUSTED);
        }
        if says(PRIVATE_ADDRESS) {
            return Fault::Refused(format!(
                "has {PRIVATE_ADDRESS}, which a dataset may not use; add it to `[sources]` in config.toml"
            ));
        }
        // A redirect without a location has no status here.
        let away = says("redirect without LOCATION").then_some(301);
        if let Some(status) = status(error).or(away) {
            return match status {
                401 | 403 => self.denied(error),
                404 if self.access == AccessKind::Public => unavailable("does not exist"),
                404 => Fault::Unavailable(format!(
                    "does not exist: `{name}` has no `{root}`; check the name `{root}` in the URL, and `buckets` and `endpoint` in [sources.{name}] of config.toml"
                )),
                301 | 307 => Fault::Unavailable(format!(
                    "is in another region; set `region` in [sources.{name}] of config.toml"
                )),
                412 | 416 => Fault::Changed,
                429 | 500.. => Fault::Unavailable(format!("returned {status} {AGAIN}")),
                status => Fault::Unavailable(format!("returned {status}")),
            };
        }
        if says(NO_PARTS) || says("Range Requests") {
            return Fault::NoParts;
        }
        // The outermost error of the chain may be of kind `Unknown`.
        let kinds = || {
            chain(error)
                .filter_map(|error| error.downcast_ref::<HttpError>())
                .map(HttpError::kind)
        };
        let kind = kinds().find(|kind| *kind != HttpErrorKind::Unknown);
        match kind {
            Some(HttpErrorKind::Connect) => Fault::Unavailable(self.unreached()),
            Some(HttpErrorKind::Timeout) => unavailable("did not respond in time"),
            Some(HttpErrorKind::Interrupted | HttpErrorKind::Request | HttpErrorKind::Decode) => {
                Fault::Unavailable(format!("was interrupted {AGAIN}"))
            }
            _ if says("timed out") => unavailable("did not respond in time"),
            _ => Fault::Unavailable(format!(
                "is unreadable: `{name}` sent an invalid response; check its `kind` in config.toml"
            )),
        }
    }
}

/// The error and its sources.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Suffix after all retries failed.
const AGAIN: &str = "on every try";

/// HTTP status in the text of the store's error.
fn status(error: &(dyn Error + 'static)) -> Option<u16> {
    let number = |text: &str| {
        let after = ["status code: ", " status "]
            .iter()
            .find_map(|mark| Some(text.split_once(mark)?.1))?;
        after.get(..3)?.parse().ok()
    };
    chain(error).find_map(|error| number(&error.to_string()))
}
