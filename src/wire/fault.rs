//! Why something that lies elsewhere could not be had, in words for the person: never a key, a signature or what a server sent.

use std::{error::Error, fmt};

use object_store::client::{HttpError, HttpErrorKind};

use super::client::NEAR;

/// What a server says that gives files whole.
pub(super) const NO_PARTS: &str = "non-partial response";

/// Why there are no bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nobody waits for them any more.
    Stopped,
    /// What is there is not what was listed.
    Changed,
    /// Whoever holds them cannot be reached, or does not give them. Continues "`URL` …".
    Unavailable(String),
    /// They may not be asked for. Continues "`URL` …".
    Refused(String),
    /// They could not be kept. Continues "`URL` …".
    Failed(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("is no longer waited for"),
            Self::Changed => f.write_str("changed while it was read: load again"),
            Self::Unavailable(reason) | Self::Refused(reason) | Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl Error for Fault {}

impl From<object_store::Error> for Fault {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as E;
        match &error {
            E::NotFound { .. } => Self::Unavailable("is not there".to_owned()),
            E::PermissionDenied { .. } => {
                Self::Unavailable("may not be read with these keys, or not without any: see `[sources]` in config.toml".to_owned())
            }
            E::Unauthenticated { .. } => {
                Self::Unavailable("is given only to those with keys: name its bucket in `[sources]` of config.toml".to_owned())
            }
            E::Precondition { .. } | E::NotModified { .. } => Self::Changed,
            _ => of_chain(&error),
        }
    }
}

/// How often a status is told of what was asked for again and again.
const AGAIN: &str = "time and again";

/// The fault, from the chain of errors. A server's own words stay out: they may repeat what it was sent.
fn of_chain(error: &(dyn Error + 'static)) -> Fault {
    let chain = || std::iter::successors(Some(error), |&error| error.source());
    let says = |words: &str| chain().any(|error| error.to_string().contains(words));
    let unavailable = |reason: &str| Fault::Unavailable(reason.to_owned());
    if says("certificate") {
        return unavailable("has a certificate that is not trusted here");
    }
    if says(NEAR) {
        return Fault::Refused(format!("lies at {NEAR}: name it in `[sources]` of config.toml"));
    }
    let status = chain().find_map(|error| {
        let text = error.to_string();
        let after = text.split_once(" status ")?.1;
        after.get(..3).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit())).map(str::to_owned)
    });
    if let Some(status) = status {
        return match status.as_str() {
            "401" | "403" => unavailable("may not be read with these keys, or not without any: see `[sources]` in config.toml"),
            "301" | "307" => unavailable("lies in another region: say which in `[sources]` of config.toml"),
            "412" | "416" => Fault::Changed,
            status => Fault::Unavailable(format!("is answered with {status}, {AGAIN}")),
        };
    }
    if says(NO_PARTS) || says("Range Requests") {
        return unavailable(NO_PARTS);
    }
    // Around the one that tells may stand one that says no more than that it is the last.
    let kinds = || chain().filter_map(|error| error.downcast_ref::<HttpError>()).map(HttpError::kind);
    let kind = kinds().find(|kind| *kind != HttpErrorKind::Unknown);
    match kind {
        Some(HttpErrorKind::Connect) => unavailable("cannot be reached: nobody answers there"),
        Some(HttpErrorKind::Timeout) => unavailable("cannot be reached in time"),
        Some(HttpErrorKind::Interrupted | HttpErrorKind::Request | HttpErrorKind::Decode) => {
            Fault::Unavailable(format!("was cut off, {AGAIN}"))
        }
        _ if says("timed out") => unavailable("cannot be reached in time"),
        _ => unavailable("cannot be read from where it lies"),
    }
}
