//! Problems: why a query has no result, with the table of stable codes and their HTTP statuses. Independent of any HTTP library, terminal
//! or file.

use schemars::JsonSchema;
use serde::Serialize;

/// Reason why a query has no result. `detail` is a message for the user: it names the invalid value and the valid ones, and nothing
/// internal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    pub detail: String,
}

pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
        }
    }

    /// The RFC 9457 body; `instance` is the requested path, without the query.
    pub fn body(&self, instance: Option<&str>) -> ProblemBody {
        let row = self.code.row();
        ProblemBody {
            kind: "about:blank",
            title: row.title,
            status: row.status,
            code: row.word,
            detail: self.detail.clone(),
            instance: instance.map(str::to_owned),
        }
    }

    /// `body` as JSON, without a serializer: clients that query missing tokens query many, and each error should cost no more than a cached
    /// response.
    pub fn json(&self, instance: Option<&str>) -> Vec<u8> {
        let row = self.code.row();
        let room = 128 + self.detail.len() + instance.map_or(0, str::len);
        let mut json = Vec::with_capacity(room);
        // The words of the table need no escaping.
        json.extend_from_slice(b"{\"type\":\"about:blank\",\"title\":\"");
        json.extend_from_slice(row.title.as_bytes());
        json.extend_from_slice(b"\",\"status\":");
        let digit = |power: u16| b'0' + (row.status / power % 10) as u8;
        json.extend([digit(100), digit(10), digit(1)]);
        json.extend_from_slice(b",\"code\":\"");
        json.extend_from_slice(row.word.as_bytes());
        json.extend_from_slice(b"\",\"detail\":");
        push_text(&mut json, &self.detail);
        if let Some(instance) = instance {
            json.extend_from_slice(b",\"instance\":");
            push_text(&mut json, instance);
        }
        json.push(b'}');
        json
    }
}

/// Appends the text as a JSON string. Most texts need no escaping, which is checked first.
fn push_text(json: &mut Vec<u8>, text: &str) {
    let escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    // A fold, unlike `any`, has no early exit, so it is vectorised.
    if text.bytes().fold(false, |any, byte| any | escaped(byte)) {
        json.extend(serde_json::to_vec(text).unwrap_or_default());
    } else {
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}

/// For cache files that an answer needs, such as a sort index.
impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        tracing::warn!("cache file: {error}");
        Self::new(
            Code::Defect,
            format!("Cannot read or write a cache file: {error}. Check `[cache] dir`."),
        )
    }
}

/// The body of every error (RFC 9457, `application/problem+json`).
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProblemBody {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The stable code of the problem.
    pub code: &'static str,
    /// What is wrong, and what was expected.
    pub detail: String,
    /// The requested path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}

/// A row of the table of codes.
#[derive(Debug, Clone, Copy)]
pub struct CodeRow {
    pub code: Code,
    /// Its stable text in JSON.
    pub word: &'static str,
    pub status: u16,
    /// The reason phrase of the status.
    pub title: &'static str,
}

macro_rules! codes {
    ($($name:ident $word:literal $status:literal $title:literal;)*) => {
        /// Every kind of problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($name),* }

        /// The table of codes, in the order of the enum.
        pub const CODES: &[CodeRow] = &[$(CodeRow { code: Code::$name, word: $word, status: $status, title: $title }),*];
    };
}

codes! {
    InvalidAddress "invalid_address" 400 "Bad Request";
    InvalidParameter "invalid_parameter" 400 "Bad Request";
    InvalidRequest "invalid_request" 400 "Bad Request";
    InvalidJson "invalid_json" 400 "Bad Request";
    Unauthorized "unauthorized" 401 "Unauthorized";
    ForeignOrigin "foreign_origin" 403 "Forbidden";
    RouteNotFound "route_not_found" 404 "Not Found";
    TokenNotFound "token_not_found" 404 "Not Found";
    TableNotFound "table_not_found" 404 "Not Found";
    DexNotFound "dex_not_found" 404 "Not Found";
    JobNotFound "job_not_found" 404 "Not Found";
    AlertNotFound "alert_not_found" 404 "Not Found";
    NoCandles "no_candles" 404 "Not Found";
    NoSecurityData "no_security_data" 404 "Not Found";
    MethodNotAllowed "method_not_allowed" 405 "Method Not Allowed";
    RequestTimeout "request_timeout" 408 "Request Timeout";
    AmbiguousToken "ambiguous_token" 409 "Conflict";
    JobEnded "job_ended" 409 "Conflict";
    GenerationGone "generation_gone" 410 "Gone";
    BodyTooLarge "body_too_large" 413 "Content Too Large";
    TargetTooLong "target_too_long" 414 "URI Too Long";
    UnsupportedMediaType "unsupported_media_type" 415 "Unsupported Media Type";
    UnsupportedEncoding "unsupported_encoding" 415 "Unsupported Media Type";
    MisdirectedHost "misdirected_host" 421 "Misdirected Request";
    InvalidValue "invalid_value" 422 "Unprocessable Content";
    DuplicateToken "duplicate_token" 422 "Unprocessable Content";
    TooManyRequests "too_many_requests" 429 "Too Many Requests";
    HeadersTooLarge "headers_too_large" 431 "Request Header Fields Too Large";
    Defect "internal_error" 500 "Internal Server Error";
    Loading "loading" 503 "Service Unavailable";
    Busy "busy" 503 "Service Unavailable";
    SourceUnavailable "source_unavailable" 503 "Service Unavailable";
    ShuttingDown "shutting_down" 503 "Service Unavailable";
    Cancelled "cancelled" 503 "Service Unavailable";
}

impl Code {
    pub fn row(self) -> &'static CodeRow {
        &CODES[self as usize]
    }

    pub fn word(self) -> &'static str {
        self.row().word
    }

    pub fn status(self) -> u16 {
        self.row().status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_the_json_of_its_body() {
        for row in CODES {
            for text in [
                "No token `0x1`: GET /tokens?query=… finds them.",
                "",
                "a \"quoted\" \\ text\n\u{1}\u{7f}é漢",
            ] {
                for instance in [None, Some("/tokens/0x1"), Some("/\"")] {
                    let problem = Problem::new(row.code, text);
                    let body = serde_json::to_vec(&problem.body(instance)).unwrap();
                    assert_eq!(
                        String::from_utf8_lossy(&problem.json(instance)),
                        String::from_utf8_lossy(&body)
                    );
                }
            }
        }
    }
}
