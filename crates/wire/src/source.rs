//! The sources of `config.toml`: a store or server, and where its keys are found.

use std::time::Duration;

use super::{
    fault::Fault,
    place::{Scheme, UrlPattern},
};

/// A source as configured in `[sources.NAME]` of `config.toml`. It contains no credentials, only where to find them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub kind: SourceKind,
    /// Buckets or containers that its keys may be sent to.
    pub buckets: Vec<String>,
    pub region: String,
    /// For stores other than the cloud's own.
    pub endpoint: String,
    /// Profile of `~/.aws`; empty for the default one.
    pub profile: String,
    /// Storage account of Azure.
    pub account: String,
    /// For HTTPS: the prefix of its URLs; for ClickHouse: its HTTP interface; for a node: its JSON-RPC.
    pub url: String,
    /// For a node: environment variable with the URL, for a URL whose path contains a key.
    pub url_env: String,
    /// For a node: short name of its chain.
    pub chain: String,
    /// Environment variable with a bearer token.
    pub token_env: String,
    /// Whether it is accessed without credentials.
    pub anonymous: bool,
    /// Whether unencrypted HTTP to other machines is allowed.
    pub insecure: bool,
    /// For ClickHouse: the database of tables that name none.
    pub database: String,
    pub user: String,
    /// Environment variable, or file, with the user's password.
    pub password_env: String,
    pub password_file: String,
    /// For ClickHouse and nodes: timeout of a response; 0 for the default.
    pub timeout_seconds: u32,
    /// Maximum rows that a query may read there; 0 for the default.
    pub scan_rows_max: u64,
    /// Maximum concurrent queries; 0 for the default.
    pub queries_max: u32,
    /// Minimum age of a block in minutes; none for the default.
    pub lag_minutes: Option<u32>,
    /// For a provider: requests per minute; 0 for the limit in its description.
    pub per_minute: u32,
    /// For a provider: requests per day; 0 for the limit in its description.
    pub per_day: u32,
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
    /// A node of a chain, by JSON-RPC over HTTP.
    Node,
    /// The user's key and limits at a provider of the same name.
    Provider,
}

impl SourceKind {
    pub const WORDS: [(&'static str, Self); 7] = [
        ("s3", Self::S3),
        ("gcs", Self::Gcs),
        ("azure", Self::Azure),
        ("https", Self::Https),
        ("clickhouse", Self::ClickHouse),
        ("node", Self::Node),
        ("provider", Self::Provider),
    ];
}

impl Source {
    /// Timeout of a response.
    pub fn timeout(&self) -> Duration {
        let usual = if self.kind == SourceKind::Node {
            20
        } else {
            60
        };
        Duration::from_secs(if self.timeout_seconds == 0 {
            usual
        } else {
            self.timeout_seconds.into()
        })
    }

    /// Maximum rows that a query may read.
    pub fn scan_rows_max(&self) -> u64 {
        if self.scan_rows_max == 0 {
            5_000_000_000
        } else {
            self.scan_rows_max
        }
    }

    pub(super) fn queries(&self) -> usize {
        if self.queries_max == 0 {
            2
        } else {
            self.queries_max as usize
        }
    }

    /// Minimum age of a block in minutes, because a chain reorganization may revert the newest ones.
    pub fn lag(&self) -> u32 {
        self.lag_minutes.unwrap_or(15)
    }

    /// Whether the source covers the place.
    pub(super) fn has(&self, place: &UrlPattern) -> bool {
        let bucket = || self.buckets.contains(&place.root);
        match (self.kind, place.scheme) {
            (SourceKind::S3, Scheme::S3)
            | (SourceKind::Gcs, Scheme::Gs)
            | (SourceKind::Azure, Scheme::Az) => bucket(),
            (SourceKind::Https, Scheme::Https | Scheme::Http) => {
                let own = UrlPattern::parse(&format!("{}/x", self.url.trim_end_matches('/')));
                let folder = |own: &UrlPattern| {
                    own.path
                        .strip_suffix('x')
                        .is_some_and(|folder| place.path.starts_with(folder))
                };
                own.is_ok_and(|own| {
                    own.scheme == place.scheme && own.root == place.root && folder(&own)
                })
            }
            _ => false,
        }
    }

    /// Reason why the source is invalid as configured. Continues "`sources.NAME` …".
    pub fn fault(&self) -> Option<String> {
        let lacks = match self.kind {
            SourceKind::Https if self.url.is_empty() => {
                "has no `url`; set it to the prefix of its URLs"
            }
            SourceKind::ClickHouse if self.url.is_empty() => {
                "has no `url`; set it to ClickHouse's HTTP interface, such as https://host:8443"
            }
            SourceKind::ClickHouse
                if !self.password_env.is_empty() && !self.password_file.is_empty() =>
            {
                "has both `password_env` and `password_file`; keep one"
            }
            SourceKind::S3 | SourceKind::Gcs | SourceKind::Azure if self.buckets.is_empty() => {
                "has no `buckets`; list the buckets that its keys may be sent to"
            }
            SourceKind::Azure if self.account.is_empty() => {
                "has no `account`; set it to the storage account"
            }
            SourceKind::Node if self.url.is_empty() && self.url_env.is_empty() => {
                "has no `url`; set it to a node's JSON-RPC endpoint, such as http://127.0.0.1:8545, or set `url_env` to a variable that contains it"
            }
            SourceKind::Node if !self.url.is_empty() && !self.url_env.is_empty() => {
                "has both `url` and `url_env`; keep one"
            }
            SourceKind::Node if self.chain.is_empty() => {
                "has no `chain`; set it to the node's chain, such as \"eth\""
            }
            _ => "",
        };
        if !lacks.is_empty() {
            return Some(lacks.to_owned());
        }
        let by_url = !matches!(
            self.kind,
            SourceKind::S3 | SourceKind::Gcs | SourceKind::Azure
        );
        let address = if by_url { &self.url } else { &self.endpoint };
        if address.is_empty() {
            None
        } else {
            self.url_fault(address)
        }
    }

    /// Reason why its URL is not asked. Continues "`sources.NAME` …".
    fn url_fault(&self, address: &str) -> Option<String> {
        let shown = if UrlPattern::is_url(address) {
            UrlPattern::without_secrets(address)
        } else {
            address.to_owned()
        };
        match UrlPattern::parse(&format!("{}/x", address.trim_end_matches('/'))) {
            Ok(place) if place.scheme == Scheme::Https || self.insecure => None,
            Ok(place) if place.scheme == Scheme::Http && place.host().is_some_and(is_loopback) => {
                None
            }
            Ok(place) if place.scheme == Scheme::Http => Some(format!(
                "would send keys and data to `{shown}` unencrypted; use https://, or set insecure = true"
            )),
            Ok(_) => Some(format!(
                "has the URL `{shown}`, which does not begin with https://"
            )),
            Err(reason) => Some(format!("has the URL `{shown}`, which {reason}")),
        }
    }
}

/// URL and bearer token of a node, from the configuration or the environment.
pub(super) fn node_address(source: &Source) -> Result<(String, Option<String>), Fault> {
    let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let lacks = |what: &str, name: &str| {
        Fault::Refused(format!(
            "needs {what} from the variable `{name}`, which is not set"
        ))
    };
    let url = match source.url_env.as_str() {
        "" => source.url.clone(),
        name => {
            let url = of(name).ok_or_else(|| lacks("the URL", name))?;
            if source.url_fault(&url).is_some() {
                // The URL may have a key, so it is not shown.
                return Err(Fault::Refused(format!(
                    "needs a URL that begins with https:// in the variable `{name}`; http:// is allowed only to this machine, or with insecure = true"
                )));
            }
            url
        }
    };
    let token = match source.token_env.as_str() {
        "" => None,
        name => Some(of(name).ok_or_else(|| lacks("the token", name))?),
    };
    Ok((url, token))
}

pub(super) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
