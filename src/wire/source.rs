//! The sources of `config.toml`: a store or server, and where its keys are found.

use std::time::Duration;

use super::place::{Scheme, UrlPattern};

/// A source as `[sources.NAME]` of `config.toml` describes it. It holds no key, only where keys are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub kind: SourceKind,
    /// The buckets or containers its keys may be sent to.
    pub buckets: Vec<String>,
    pub region: String,
    /// Of stores that are not the cloud's own.
    pub endpoint: String,
    /// Of `~/.aws`; empty for the default one.
    pub profile: String,
    /// Of Azure.
    pub account: String,
    /// Of HTTPS: what URLs begin with; of ClickHouse: where it answers.
    pub url: String,
    /// The environment variable that holds a bearer token.
    pub token_env: String,
    /// Keys are not looked for.
    pub anonymous: bool,
    /// HTTP without encryption to other machines too.
    pub insecure: bool,
    /// Of ClickHouse: the database of tables that name none.
    pub database: String,
    pub user: String,
    /// The environment variable, or the file, that holds the user's password.
    pub password_env: String,
    pub password_file: String,
    /// Of ClickHouse: how long an answer may take to come; 0 for the usual time.
    pub timeout_seconds: u32,
    /// Rows one query may read there; 0 for the usual number.
    pub scan_rows_max: u64,
    /// Queries at once; 0 for the usual number.
    pub queries_max: u32,
    /// Minutes a block has to be old to be taken; none for the usual time.
    pub lag_minutes: Option<u32>,
}

/// The protocol of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SourceKind {
    #[default]
    S3,
    Gcs,
    Azure,
    Https,
    ClickHouse,
}

impl SourceKind {
    pub const WORDS: [(&'static str, Self); 5] =
        [("s3", Self::S3), ("gcs", Self::Gcs), ("azure", Self::Azure), ("https", Self::Https), ("clickhouse", Self::ClickHouse)];
}

impl Source {
    /// How long an answer may take to come.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(if self.timeout_seconds == 0 { 60 } else { self.timeout_seconds.into() })
    }

    /// Rows one query may read.
    pub fn scan_rows_max(&self) -> u64 {
        if self.scan_rows_max == 0 { 5_000_000_000 } else { self.scan_rows_max }
    }

    pub(super) fn queries(&self) -> usize {
        if self.queries_max == 0 { 2 } else { self.queries_max as usize }
    }

    /// Minutes a block has to be old to be read, as a reorganisation may take back the newest ones.
    pub fn lag(&self) -> u32 {
        self.lag_minutes.unwrap_or(15)
    }

    /// Whether the place is one of the source's.
    pub(super) fn has(&self, place: &UrlPattern) -> bool {
        let bucket = || self.buckets.contains(&place.root);
        match (self.kind, place.scheme) {
            (SourceKind::S3, Scheme::S3) | (SourceKind::Gcs, Scheme::Gs) | (SourceKind::Azure, Scheme::Az) => bucket(),
            (SourceKind::Https, Scheme::Https | Scheme::Http) => {
                let own = UrlPattern::parse(&format!("{}/x", self.url.trim_end_matches('/')));
                let folder = |own: &UrlPattern| own.path.strip_suffix('x').is_some_and(|folder| place.path.starts_with(folder));
                own.is_ok_and(|own| own.scheme == place.scheme && own.root == place.root && folder(&own))
            }
            _ => false,
        }
    }

    /// Why the source cannot be used as it is written. Continues "`sources.NAME` …".
    pub fn fault(&self) -> Option<String> {
        let lacks = match self.kind {
            SourceKind::Https if self.url.is_empty() => "has no `url`: what its URLs begin with",
            SourceKind::ClickHouse if self.url.is_empty() => "has no `url`: that of ClickHouse's HTTP interface, as https://host:8443",
            SourceKind::ClickHouse if !self.password_env.is_empty() && !self.password_file.is_empty() => {
                "has `password_env` and `password_file`: keep one"
            }
            SourceKind::S3 | SourceKind::Gcs | SourceKind::Azure if self.buckets.is_empty() => {
                "has no `buckets`: those its keys may be sent to"
            }
            SourceKind::Azure if self.account.is_empty() => "has no `account`: that of the storage",
            _ => "",
        };
        if !lacks.is_empty() {
            return Some(lacks.to_owned());
        }
        let address = if matches!(self.kind, SourceKind::Https | SourceKind::ClickHouse) { &self.url } else { &self.endpoint };
        if address.is_empty() {
            return None;
        }
        match UrlPattern::parse(&format!("{}/x", address.trim_end_matches('/'))) {
            Ok(place) if place.scheme == Scheme::Https || self.insecure => None,
            Ok(place) if place.scheme == Scheme::Http && place.host().is_some_and(is_loopback) => None,
            Ok(place) if place.scheme == Scheme::Http => {
                Some(format!("sends keys and data to `{address}` unencrypted: use https://, or say insecure = true"))
            }
            Ok(_) => Some(format!("has `{address}`: expected a URL that begins with https://")),
            Err(reason) => Some(format!("has `{address}`, which {reason}")),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
