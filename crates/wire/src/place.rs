//! URLs of remote data as `dataset.toml` spells them, parsed and validated. Nothing here sends a request.

use std::net::IpAddr;

use super::UrlError;

/// The protocol of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    S3,
    Gs,
    Az,
    Https,
    Http,
    /// A data set of the Hugging Face hub.
    Hf,
}

pub(super) const SCHEMES: [(&str, Scheme); 6] = [
    ("s3", Scheme::S3),
    ("gs", Scheme::Gs),
    ("az", Scheme::Az),
    ("https", Scheme::Https),
    ("http", Scheme::Http),
    ("hf", Scheme::Hf),
];

const WILDCARDS: [char; 3] = ['*', '?', '['];
/// Maximum length of a URL in bytes. A longer one is no request that a server accepts, and stores panic on one above 64 KB.
pub(super) const URL_MAX: usize = 8_192;

/// A URL, perhaps with wildcards in its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    pub scheme: Scheme,
    /// Bucket or container; for HTTPS the host with its port; for the hub `datasets/OWNER/NAME`.
    pub root: String,
    /// Path after the root, without the first slash.
    pub path: String,
}

impl UrlPattern {
    /// Whether the text is a URL rather than a path.
    pub fn is_url(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }

    /// Text of a refused URL, for display: without its user and its query, both of which may contain a key.
    pub fn without_secrets(text: &str) -> String {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (root, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let root = root
            .rsplit_once('@')
            .map_or_else(|| root.to_owned(), |(_, host)| format!("…@{host}"));
        let path = path
            .split_once('?')
            .map_or_else(|| path.to_owned(), |(path, _)| format!("{path}?…"));
        format!("{scheme}://{root}{path}")
    }

    /// Parses a URL. The error continues "`URL` …".
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::NotAUrl)?;
        if text.len() > URL_MAX {
            return Err(UrlError::TooLong);
        }
        let scheme = SCHEMES
            .iter()
            .find(|(name, _)| scheme.eq_ignore_ascii_case(name))
            .map(|(_, scheme)| *scheme);
        let scheme = scheme.ok_or(UrlError::UnknownScheme)?;
        let parts = if scheme == Scheme::Hf { 3 } else { 1 };
        let at = rest.match_indices('/').nth(parts - 1).map(|(at, _)| at);
        let (root, path) = at.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
        if root.contains('@') {
            return Err(UrlError::UserName);
        }
        let web = matches!(scheme, Scheme::Https | Scheme::Http);
        if web && path.contains(['?', '#']) {
            return Err(UrlError::Query);
        }
        let good = |c: char| {
            c.is_ascii_alphanumeric()
                || "-._".contains(c)
                || (web && ":[]".contains(c))
                || (parts == 3 && c == '/')
        };
        let is_host = || reqwest::Url::parse(&format!("https://{root}/")).is_ok();
        if root.is_empty() || !root.chars().all(good) || (web && !is_host()) {
            return Err(UrlError::Root(scheme));
        }
        if scheme == Scheme::Hf && (!root.starts_with("datasets/") || root.split('/').count() != 3)
        {
            return Err(UrlError::NoDataset);
        }
        if path.is_empty() || path.split('/').any(|part| part == ".." || part == ".") {
            return Err(UrlError::NoPath);
        }
        let place = Self {
            scheme,
            root: if web {
                root.to_lowercase()
            } else {
                root.to_owned()
            },
            path: path.to_owned(),
        };
        if web && (place.is_pattern() || path.ends_with('/')) {
            return Err(UrlError::Unlisted);
        }
        Ok(place)
    }

    /// Origin for consent: everything below the root.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme_name(), self.root)
    }

    /// The URL of a file at the same root.
    pub fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.origin())
    }

    fn scheme_name(&self) -> &'static str {
        SCHEMES
            .iter()
            .find(|(_, scheme)| *scheme == self.scheme)
            .map_or("", |(name, _)| name)
    }

    pub fn is_pattern(&self) -> bool {
        self.path.contains(WILDCARDS)
    }

    /// Fixed prefix: the folders before the first wildcard, or the whole path of a folder; ends with a slash unless it is empty.
    pub fn fixed(&self) -> &str {
        let end = self.path.find(WILDCARDS).unwrap_or(self.path.len());
        self.path[..end]
            .rfind('/')
            .map_or("", |at| &self.path[..=at])
    }

    /// Host without its port; none for buckets.
    pub fn host(&self) -> Option<&str> {
        if !matches!(self.scheme, Scheme::Https | Scheme::Http) {
            return None;
        }
        match self.root.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map(|(host, _)| host),
            None => Some(
                self.root
                    .split_once(':')
                    .map_or(self.root.as_str(), |(host, _)| host),
            ),
        }
    }
}

/// Whether the host is this machine or in a private network, judging by its name.
pub(super) fn is_private_host(host: &str) -> bool {
    let host = host
        .trim_end_matches('.')
        .trim_start_matches('[')
        .trim_end_matches(']');
    let named = |name: &str| {
        host.eq_ignore_ascii_case(name) || host.to_ascii_lowercase().ends_with(&format!(".{name}"))
    };
    // Numbers in any notation that systems read as an address: 127.1, 0x7f000001, 2130706433.
    let numeric = || {
        let last = host.rsplit('.').next().unwrap_or_default();
        !last.is_empty()
            && (last.bytes().all(|byte| byte.is_ascii_digit())
                || last.to_ascii_lowercase().starts_with("0x"))
    };
    match host.parse::<IpAddr>() {
        Ok(address) => !is_public(address),
        Err(_) => {
            numeric()
                || ["localhost", "local", "internal", "home.arpa"]
                    .into_iter()
                    .any(named)
                || !host.contains('.')
        }
    }
}

/// Whether the address is on the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            let shared = a == 100 && (64..128).contains(&b);
            let special = a == 0
                || a >= 240
                || (a == 192 && b == 0 && c == 0)
                || (a == 198 && (b == 18 || b == 19));
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_documentation()
                || shared
                || special)
        }
        IpAddr::V6(v6) => {
            // IPv6 forms of an IPv4 address: mapped, NAT64, 6to4.
            let segments = v6.segments();
            let inside = match segments {
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                    let [a, b] = high.to_be_bytes();
                    let [c, d] = low.to_be_bytes();
                    Some([a, b, c, d].into())
                }
                _ => v6.to_ipv4(),
            };
            inside.map_or((segments[0] & 0xe000) == 0x2000, |v4| {
                is_public(IpAddr::V4(v4))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        for (text, origin, path, fixed) in [
            (
                "s3://bucket/a/b.parquet",
                "s3://bucket",
                "a/b.parquet",
                "a/",
            ),
            (
                "s3://bucket/a/date=*/x-?.csv",
                "s3://bucket",
                "a/date=*/x-?.csv",
                "a/",
            ),
            ("S3://bucket/**/*.csv", "s3://bucket", "**/*.csv", ""),
            ("gs://b.c/x/", "gs://b.c", "x/", "x/"),
            ("az://box/x.csv", "az://box", "x.csv", ""),
            (
                "https://Example.org:8443/d/x%20y.csv",
                "https://example.org:8443",
                "d/x%20y.csv",
                "d/",
            ),
            (
                "hf://datasets/me/set/d/*.parquet",
                "hf://datasets/me/set",
                "d/*.parquet",
                "d/",
            ),
        ] {
            let place = UrlPattern::parse(text).expect(text);
            assert_eq!(
                (place.origin().as_str(), place.path.as_str(), place.fixed()),
                (origin, path, fixed),
                "{text}"
            );
        }
        for (text, says) in [
            ("ftp://x/y", "does not begin with one of"),
            ("s3://key:secret@bucket/x", "contains a user name"),
            ("https://h/x?X-Amz-Signature=1", "has a query"),
            ("https://h/*.csv", "don't list files"),
            ("https://h/", "has no file path"),
            ("s3:///x", "has no valid host or bucket"),
            ("s3://b/../x", "has no file path"),
            ("s3://a b/x", "has no valid host or bucket"),
            ("https://[::1/x", "has no valid host or bucket"),
            ("https://example.org:99999/x", "has no valid host or bucket"),
            (&format!("s3://b/{}", "x".repeat(URL_MAX)), "is longer than"),
            ("hf://models/me/set/x", "has no dataset name"),
            ("hf://datasets/me/x.csv", "has no file path"),
        ] {
            let error = UrlPattern::parse(text).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn a_url_is_shown_without_what_may_be_a_key() {
        for (text, shown) in [
            ("s3://key:secret@bucket/x.csv", "s3://…@bucket/x.csv"),
            ("s3://key:sec@ret@bucket", "s3://…@bucket"),
            ("https://h/x?X-Amz-Signature=1", "https://h/x?…"),
            ("ftp://x/y@z", "ftp://x/y@z"),
        ] {
            assert_eq!(UrlPattern::without_secrets(text), shown);
        }
    }

    #[test]
    fn a_path_is_no_url() {
        for path in ["candles.csv", "/a/b.parquet", "a/b://c", "C:/x", "://x"] {
            assert!(!UrlPattern::is_url(path), "{path}");
        }
        assert!(UrlPattern::is_url("s3://b/x") && UrlPattern::is_url("ftp://b/x"));
    }

    #[test]
    fn private_hosts_are_told_from_public_ones() {
        let private = "localhost LOCALHOST. a.localhost nas nas.local metadata.google.internal 127.0.0.1 127.1 10.0.0.1 192.168.1.1 \
             172.16.0.1 169.254.169.254 100.64.0.1 0.0.0.0 ::1 [::1] fe80::1 fc00::1 2130706433 0x7f000001 ::ffff:10.0.0.1 \
             64:ff9b::a00:1 2002:7f00:1:: 255.255.255.255 198.18.0.1 224.0.0.1";
        for host in private.split(' ') {
            assert!(is_private_host(host), "{host}");
        }
        for far in [
            "example.org",
            "1.1.1.1",
            "2606:4700::1111",
            "localhost.example.org",
            "8.8.8.8",
            "a.b.c",
        ] {
            assert!(!is_private_host(far), "{far}");
        }
    }
}
