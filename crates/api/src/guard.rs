//! The checks that every request must pass, in order: size of target and headers, Host, key, origin, rate limit. Routing, bodies and parameters are
//! checked later; nothing here reads a body.

use std::{net::Ipv4Addr, time::Instant};

use hyper::{
    HeaderMap, Method, StatusCode, Uri, Version,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
        AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN, VARY,
    },
    http::request::Parts,
};

use super::{
    Api,
    reply::{Reply, empty},
};
use model::error::{Code, Problem, Result};
use query::queries::parameter::clip;

pub(super) const TARGET_BYTES_MAX: usize = 8 << 10;
pub(super) const HEADERS_BYTES_MAX: usize = 32 << 10;
pub(super) const BODY_BYTES_MAX: usize = 1 << 20;

pub(super) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// What stands before a key in `Authorization`.
const BEARER: &[u8] = b"Bearer ";

/// Admits the request. Errors: the first check that it fails.
pub(super) fn admit(api: &Api, parts: &Parts) -> Result<()> {
    check_sizes(&parts.uri, &parts.headers)?;
    check_host(&api.options.hosts, parts)?;
    if api.router.is_open(parts.uri.path()) || is_preflight(api, parts) {
        return Ok(());
    }
    let key = check_key(api, &parts.headers)?;
    if !parts.method.is_safe() {
        check_origin(api, &parts.headers)?;
    }
    api.rate
        .as_ref()
        .map_or(Ok(()), |rate| rate.take(key, Instant::now()))
}

fn check_sizes(uri: &Uri, headers: &HeaderMap) -> Result<()> {
    let target = uri
        .authority()
        .map_or(0, |authority| authority.as_str().len())
        + uri.path_and_query().map_or(0, |p| p.as_str().len());
    if target > TARGET_BYTES_MAX {
        let detail = format!(
            "The request target has {target} bytes; at most {TARGET_BYTES_MAX} are allowed."
        );
        return Err(Problem::new(Code::TargetTooLong, detail));
    }
    // Size on the wire: name, colon, space, value, CRLF.
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if size > HEADERS_BYTES_MAX {
        let detail = format!(
            "The request headers have {size} bytes; at most {HEADERS_BYTES_MAX} are allowed."
        );
        return Err(Problem::new(Code::HeadersTooLarge, detail));
    }
    Ok(())
}

/// Refuses foreign host names, since a web page can have any name resolve to this machine (DNS rebinding).
fn check_host(configured: &[String], parts: &Parts) -> Result<()> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Some(host.as_bytes()),
        (None, _) if parts.version < Version::HTTP_11 => None,
        _ => {
            return Err(Problem::new(
                Code::InvalidRequest,
                "Set exactly one `Host` header.",
            ));
        }
    };
    let authority = parts
        .uri
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    for name in [host, authority].into_iter().flatten() {
        if !is_own_host(name, configured) {
            let name = clip(&String::from_utf8_lossy(name));
            let detail = format!(
                "Host `{name}` is not allowed. Use 127.0.0.1 or localhost, or add it to `api.hosts`."
            );
            return Err(Problem::new(Code::MisdirectedHost, detail));
        }
    }
    Ok(())
}

/// Whether the host is loopback with any port, or configured: `name` for any port, `name:port` for that one.
fn is_own_host(host: &[u8], configured: &[String]) -> bool {
    let name = match host.iter().rposition(|&byte| byte == b':') {
        // The last colon belongs to an IPv6 address unless its bracket closes before it.
        Some(colon)
            if host[colon + 1..].iter().all(u8::is_ascii_digit)
                && (host[0] != b'[' || host[colon - 1] == b']') =>
        {
            &host[..colon]
        }
        _ => host,
    };
    let is_loopback = || {
        let address = std::str::from_utf8(name).ok()?.parse::<Ipv4Addr>().ok()?;
        Some(address.is_loopback())
    };
    // A page can give a name any address, but not an address another one.
    [&b"localhost"[..], b"[::1]"]
        .iter()
        .any(|loopback| name.eq_ignore_ascii_case(loopback))
        || is_loopback() == Some(true)
        || configured.iter().any(|known| {
            name.eq_ignore_ascii_case(known.as_bytes())
                || host.eq_ignore_ascii_case(known.as_bytes())
        })
}

/// Returns the accepted key. All refusals are identical, so that they reveal nothing.
fn check_key<'a>(api: &Api, headers: &'a HeaderMap) -> Result<&'a [u8]> {
    let own = headers.get_all(API_KEY).iter().map(HeaderValue::as_bytes);
    let mut keys = own.chain(
        headers
            .get_all(AUTHORIZATION)
            .iter()
            .map(|value| bearer(value.as_bytes())),
    );
    match (keys.next(), keys.next()) {
        (Some(key), None) if !key.is_empty() && api.keys.accepts(key) => Ok(key),
        _ => Err(Problem::new(
            Code::Unauthorized,
            "Missing or invalid API key in the `x-api-key` header. `tokendeck key` prints your key.",
        )),
    }
}

/// The key in `Authorization: Bearer KEY`; empty for another scheme.
fn bearer(value: &[u8]) -> &[u8] {
    match value.split_at_checked(BEARER.len()) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(BEARER) => key,
        _ => b"",
    }
}

/// Refuses a body by its declared length, coding and type, before it is read.
pub(super) fn check_body(headers: &HeaderMap, declared: Option<u64>) -> Result<()> {
    if declared.is_some_and(|length| length > BODY_BYTES_MAX as u64) {
        return Err(too_large());
    }
    if let Some(coding) = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .find(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
    {
        let coding = clip(&String::from_utf8_lossy(coding.as_bytes()));
        let detail = format!(
            "`Content-Encoding: {coding}` is not supported; send the body uncompressed, without this header."
        );
        return Err(Problem::new(Code::UnsupportedEncoding, detail));
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let essence = |value: &HeaderValue| {
        value
            .as_bytes()
            .split(|&byte| byte == b';')
            .next()
            .map(|word| word.trim_ascii().to_ascii_lowercase())
    };
    match (types.next().and_then(essence), types.next()) {
        (Some(word), None) if word == b"application/json" => Ok(()),
        _ => Err(Problem::new(
            Code::UnsupportedMediaType,
            "Set one `Content-Type: application/json` header.",
        )),
    }
}

pub(super) fn too_large() -> Problem {
    Problem::new(
        Code::BodyTooLarge,
        format!("The body is larger than {BODY_BYTES_MAX} bytes, the maximum."),
    )
}

/// Refuses browser requests from an origin that is neither ours nor configured (CSRF). Requests without `Origin` come from no such page.
fn check_origin(api: &Api, headers: &HeaderMap) -> Result<()> {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    let own = |origin: &[u8]| {
        [&b"http://"[..], b"https://"]
            .iter()
            .any(|scheme| origin.strip_prefix(*scheme) == host)
    };
    match headers
        .get_all(ORIGIN)
        .iter()
        .find(|origin| !own(origin.as_bytes()) && !is_allowed(api, origin))
    {
        None => Ok(()),
        Some(origin) => {
            let origin = clip(&String::from_utf8_lossy(origin.as_bytes()));
            let detail = format!(
                "Origin `{origin}` is not allowed. If it is yours, add it to `api.cors_origins`."
            );
            Err(Problem::new(Code::ForeignOrigin, detail))
        }
    }
}

/// Whether this is a CORS preflight of a configured origin; browsers send it without a key.
fn is_preflight(api: &Api, parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        && allowed_origin(api, parts).is_some()
}

/// Returns the answer to a CORS preflight; `None` if the request is not one.
pub(super) fn preflight_reply(api: &Api, parts: &Parts) -> Option<Reply> {
    if !is_preflight(api, parts) {
        return None;
    }
    let mut reply = empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, DELETE"),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "x-api-key, authorization, content-type, if-none-match, last-event-id, x-request-id, mcp-protocol-version, mcp-method, mcp-name",
        ),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    Some(reply)
}

/// Adds the CORS headers that let a configured origin read the answer.
pub(super) fn allow_origin(api: &Api, parts: &Parts, reply: &mut Reply) {
    if api.options.cors_origins.is_empty() {
        return;
    }
    let headers = reply.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = allowed_origin(api, parts) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "etag, link, location, retry-after, x-data-generation, x-data-as-of, x-as-of, x-as-of-unknown, x-request-id",
            ),
        );
    }
}

fn allowed_origin<'a>(api: &Api, parts: &'a Parts) -> Option<&'a HeaderValue> {
    parts
        .headers
        .get(ORIGIN)
        .filter(|origin| is_allowed(api, origin))
}

fn is_allowed(api: &Api, origin: &HeaderValue) -> bool {
    api.options
        .cors_origins
        .iter()
        .any(|known| known == "*" || origin.as_bytes().eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_and_configured_hosts_are_own() {
        let configured = ["deck.example".to_owned(), "other.example:99".to_owned()];
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("127.0.0.1:8787", true),
            ("127.0.0.1:", true),
            ("127.0.0.2:8787", true),
            ("128.0.0.1", false),
            ("127.1", false),
            ("[::1]", true),
            ("[::1]:80", true),
            ("deck.example:8787", true),
            ("other.example:99", true),
            ("other.example:98", false),
            ("other.example", false),
            ("::1", false),
            ("", false),
            (":", false),
            ("[", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:80", false),
            ("localhost:80:80", false),
            ("localhost@evil.example", false),
        ] {
            assert_eq!(
                is_own_host(host.as_bytes(), &configured),
                expected,
                "{host}"
            );
        }
    }

    #[test]
    fn only_one_json_content_type_is_read() {
        for (types, declared, code) in [
            (&["application/json"][..], Some(2), None),
            (&["Application/JSON; charset=utf-8"], None, None),
            (&["application/json"], Some(1 << 20), None),
            (
                &["application/json"],
                Some((1 << 20) + 1),
                Some(Code::BodyTooLarge),
            ),
            (&["text/plain"], Some(u64::MAX), Some(Code::BodyTooLarge)),
            (&["text/plain"], None, Some(Code::UnsupportedMediaType)),
            (
                &["application/jsonp"],
                None,
                Some(Code::UnsupportedMediaType),
            ),
            (
                &["application/json", "application/json"],
                None,
                Some(Code::UnsupportedMediaType),
            ),
            (&[], None, Some(Code::UnsupportedMediaType)),
        ] {
            let mut headers = HeaderMap::new();
            for value in types {
                headers.append(CONTENT_TYPE, HeaderValue::from_static(value));
            }
            for (coding, refused) in [
                ("identity", false),
                ("Identity", false),
                ("gzip", true),
                ("", true),
            ] {
                let mut headers = headers.clone();
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
                let refused = if refused && code != Some(Code::BodyTooLarge) {
                    Some(Code::UnsupportedEncoding)
                } else {
                    code
                };
                assert_eq!(
                    check_body(&headers, declared)
                        .err()
                        .map(|problem| problem.code),
                    refused,
                    "{types:?} {coding}"
                );
            }
            assert_eq!(
                check_body(&headers, declared)
                    .err()
                    .map(|problem| problem.code),
                code,
                "{types:?} {declared:?}"
            );
        }
    }
}
