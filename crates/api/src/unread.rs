//! The answer to a request whose head cannot be read. hyper refuses it by a bare status before any service sees it; the client gets a problem
//! like every other.

use bytes::Bytes;

use model::error::{Code, Problem};

/// What is wrong with a head, by the status that hyper answers.
const REFUSALS: &[(&str, Code, &str)] = &[
    (
        "400",
        Code::InvalidRequest,
        "The request line or a header cannot be read. Expected a line such as `GET /tokens?limit=3 HTTP/1.1`, with `>`, `<`, quotes and \
        spaces in the target written as `%3E`, `%3C`, `%22` and `%20`; with curl, use `-G --data-urlencode 'where=price>10'`.",
    ),
    (
        "414",
        Code::TargetTooLong,
        "The request target is too long.",
    ),
    (
        "431",
        Code::HeadersTooLarge,
        "The request has more than 100 headers, or they are too large.",
    ),
    (
        "505",
        Code::InvalidRequest,
        "This version of HTTP is not supported; use HTTP/1.1.",
    ),
];

/// The whole response in place of the bare one that begins with these bytes; `None` if that is no refusal.
pub(super) fn response(bare: &[u8]) -> Option<Bytes> {
    let status = bare
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| bare.strip_prefix(b"HTTP/1.0 "))?;
    let (_, code, detail) = REFUSALS
        .iter()
        .find(|(known, ..)| status.starts_with(known.as_bytes()))?;
    let body = Problem::new(*code, *detail).json(None);
    let row = code.row();
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\n\r\n",
        row.status,
        row.title,
        body.len()
    );
    Some([head.as_bytes(), &body].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_refusal_gets_the_body_of_a_problem() {
        for (bare, code) in [
            ("HTTP/1.1 400 Bad Request\r\n", Some("invalid_request")),
            (
                "HTTP/1.1 431 Request Header Fields Too Large\r\n",
                Some("headers_too_large"),
            ),
            ("HTTP/1.1 414 URI Too Long\r\n", Some("target_too_long")),
            ("HTTP/1.1 200 OK\r\n", None),
            ("HTTP/1.1 100 Continue\r\n", None),
            ("", None),
        ] {
            let response = response(bare.as_bytes())
                .map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"));
            let found = response
                .as_deref()
                .map(|response| response.split_once("\r\n\r\n").expect("a head and a body"));
            assert_eq!(found.is_some(), code.is_some(), "{bare}");
            if let (Some((head, body)), Some(code)) = (found, code) {
                assert!(
                    head.contains(&format!("content-length: {}\r\n", body.len()))
                        && body.contains(code),
                    "{head} {body}"
                );
            }
        }
    }
}
