//! Maps ClickHouse's error codes to faults, worded for the user. The server's own message is shown if it is about the query, which the user
//! or their dataset wrote; other messages may name other people's hosts and users.

use std::error::Error;

use reqwest::header::HeaderMap;

use crate::{Fault, fault::UNTRUSTED, source::Source};

/// Maximum characters shown of a server's own message.
const SHOWN: usize = 240;

/// Kind of failure of a query.
#[derive(Clone, Copy, PartialEq)]
enum FaultKind {
    /// A retry may succeed.
    Temporary,
    Permanent,
    /// The server's own message is shown.
    PermanentWithMessage,
}

/// Error codes with our messages, in which `{source}` is the name of the source, and `{seconds}` what a query may take.
const CODES: &[(u32, FaultKind, &str)] = &[
    (60, FaultKind::PermanentWithMessage, "does not exist"),
    (
        81,
        FaultKind::PermanentWithMessage,
        "is in a database that does not exist",
    ),
    (47, FaultKind::PermanentWithMessage, "has no such column"),
    (
        62,
        FaultKind::PermanentWithMessage,
        "was queried with invalid SQL",
    ),
    (
        46,
        FaultKind::PermanentWithMessage,
        "was queried with a function that the server does not have",
    ),
    (
        43,
        FaultKind::PermanentWithMessage,
        "was queried with a function that does not accept these values",
    ),
    (
        53,
        FaultKind::PermanentWithMessage,
        "was queried with values of incompatible types",
    ),
    (
        181,
        FaultKind::PermanentWithMessage,
        "has `final = true`, but its table engine does not support FINAL",
    ),
    (
        1,
        FaultKind::PermanentWithMessage,
        "has `final = true`, which its table engine does not support",
    ),
    (
        192,
        FaultKind::Permanent,
        "is not accessible: the server rejected the user or password; check `user` and `password_env` in [sources.{source}] of config.toml",
    ),
    (
        193,
        FaultKind::Permanent,
        "is not accessible: the server rejected the user or password; check `user` and `password_env` in [sources.{source}] of config.toml",
    ),
    (
        194,
        FaultKind::Permanent,
        "requires a password; set `password_env` in [sources.{source}] of config.toml",
    ),
    (
        195,
        FaultKind::Permanent,
        "is not accessible: the server does not allow this user from this machine's IP address",
    ),
    (
        516,
        FaultKind::Permanent,
        "is not accessible: the server rejected the user or password; check `user` and `password_env` in [sources.{source}] of config.toml",
    ),
    (
        497,
        FaultKind::Permanent,
        "is not readable: the user lacks the privilege",
    ),
    (
        291,
        FaultKind::Permanent,
        "is in a database that this user cannot access",
    ),
    (
        164,
        FaultKind::Permanent,
        "is unavailable: the user is read-only, and the query needs more",
    ),
    (
        452,
        FaultKind::Permanent,
        "is unavailable: the query must change a limit that is fixed for this user",
    ),
    (
        115,
        FaultKind::Permanent,
        "was queried with a setting that the server does not have",
    ),
    (
        73,
        FaultKind::Permanent,
        "is unavailable: the server has no output format that tokendeck can read",
    ),
    (
        288,
        FaultKind::Permanent,
        "is distributed over servers that reject subqueries; use GLOBAL IN or GLOBAL JOIN in the query",
    ),
    (
        158,
        FaultKind::Permanent,
        "would read more rows than allowed; check `scan_rows_max` in [sources.{source}] of config.toml, and the user's limits",
    ),
    (
        307,
        FaultKind::Permanent,
        "would read more bytes than the server allows this user",
    ),
    (
        396,
        FaultKind::Temporary,
        "returned more rows than were counted; reload the data",
    ),
    (
        241,
        FaultKind::Temporary,
        "needs more memory than the server allows",
    ),
    (
        159,
        FaultKind::Temporary,
        "timed out after {seconds} s; raise `timeout_seconds` in [sources.{source}] of config.toml",
    ),
    (
        160,
        FaultKind::Temporary,
        "would take longer than the server allows",
    ),
    (
        201,
        FaultKind::Temporary,
        "is unavailable for now: the user's quota is used up",
    ),
    (
        202,
        FaultKind::Temporary,
        "is unavailable for now: the server is running too many queries",
    ),
    (
        209,
        FaultKind::Temporary,
        "is unavailable for now: one of its servers did not respond in time",
    ),
    (
        210,
        FaultKind::Temporary,
        "is unavailable for now: one of its servers is unreachable",
    ),
    (
        279,
        FaultKind::Temporary,
        "is unavailable for now: one of its servers is unreachable",
    ),
    (
        32,
        FaultKind::Temporary,
        "is unavailable for now: one of its servers closed the connection",
    ),
    (
        394,
        FaultKind::Temporary,
        "is unavailable: the query was killed on the server",
    ),
    (
        236,
        FaultKind::Temporary,
        "is unavailable for now: the server is shutting down",
    ),
    (
        242,
        FaultKind::Temporary,
        "is unavailable for now: the table is in read-only mode",
    ),
];

/// Error code in the headers of a response.
pub(super) fn of_headers(headers: &HeaderMap) -> Option<u32> {
    headers
        .get("x-clickhouse-exception-code")?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
        .filter(|code| *code != 0)
}

/// The error code in a text, if it is an error message: `Code: 395, e.displayText() = …`, `Code: 395. DB::Exception: …`.
pub(super) fn in_text(text: &str) -> Option<u32> {
    text.match_indices("Code: ").find_map(|(at, _)| {
        let rest = &text[at + "Code: ".len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = rest.get(digits..)?;
        let failure = after.starts_with(", e.") || after.starts_with(". DB::");
        rest[..digits].parse().ok().filter(|_| failure)
    })
}

/// Fault for a response of the source.
pub(super) fn of_answer(source: &Source, status: u16, code: Option<u32>, text: &str) -> Fault {
    let name = &source.name;
    let Some(code) = code else {
        if status == 503 {
            return Fault::Busy;
        }
        return Fault::Unavailable(match status {
            200 => "sent an unreadable response".to_owned(),
            300..=399 => format!(
                "redirects to another address; set `url` in [sources.{name}] of config.toml to that address"
            ),
            401 | 403 => format!(
                "is not accessible: the server rejected the user or password; check `user` and `password_env` in [sources.{name}] of config.toml"
            ),
            status => {
                format!(
                    "returned {status}; check that `url` in [sources.{name}] of config.toml is ClickHouse's HTTP interface"
                )
            }
        });
    };
    let known = CODES
        .iter()
        .find(|(known, ..)| *known == code)
        .map(|(_, kind, words)| {
            (
                kind,
                words
                    .replace("{source}", name)
                    .replace("{seconds}", &source.timeout().as_secs().to_string()),
            )
        });
    match known {
        Some((FaultKind::Temporary, words)) => Fault::Unavailable(format!("{words} (code {code})")),
        Some((FaultKind::Permanent, words)) => Fault::Refused(format!("{words} (code {code})")),
        Some((FaultKind::PermanentWithMessage, words)) => {
            Fault::Refused(format!("{words} (code {code}): {}", shown(text)))
        }
        None => Fault::UnknownCode(code),
    }
}

/// A server's own message, shortened to its first sentence.
fn shown(text: &str) -> String {
    let start = ["DB::Exception: ", "Exception: "]
        .iter()
        .find_map(|mark| Some(text.find(mark)? + mark.len()))
        .unwrap_or(0);
    let said = text[start..].split(", e.what()").next().unwrap_or_default();
    // Of a query that is not understood the place, and not what the program wrote around it on lines of its own.
    let place = said
        .strip_prefix("Syntax error: ")
        .and_then(|rest| rest.split_once("): "))
        .map(|(_, place)| place);
    let place = place
        .and_then(|place| place.lines().next())
        .map(|line| line.split(". Expected").next().unwrap_or(line));
    let place = place.map(str::trim).filter(|place| !place.is_empty());
    let shortened = place.map(|place| {
        if place.starts_with(')') {
            "at its end".to_owned()
        } else {
            format!("at \"{place}\"")
        }
    });
    let said = shortened.as_deref().unwrap_or(said);
    let said: String = said
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(SHOWN)
        .collect();
    said.split(" (version ")
        .next()
        .unwrap_or_default()
        .trim()
        .trim_end_matches('.')
        .to_owned()
}

/// Fault for a request to the source without a response.
pub(super) fn of_request(source: &Source, error: &reqwest::Error) -> Fault {
    let name = &source.name;
    let chain = || {
        std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| {
            error.source()
        })
    };
    let says = |words: &str| chain().any(|error| error.to_string().contains(words));
    Fault::Unavailable(if says("certificate") {
        UNTRUSTED.to_owned()
    } else if error.is_timeout() || says("timed out") {
        let seconds = source.timeout().as_secs();
        format!(
            "timed out after {seconds} s; raise `timeout_seconds` in [sources.{name}] of config.toml"
        )
    } else if error.is_connect() {
        format!("is unreachable; check the `url` of [sources.{name}] in config.toml")
    } else if says("headers") && says("too large") {
        "sent a response with headers that are too long".to_owned()
    } else {
        return Fault::CutOff;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_code_is_found_in_a_text() {
        for (text, code) in [
            (
                "Code: 395, e.displayText() = DB::Exception: Value passed to 'throwIf' function is non zero, e.what() = DB::Exception",
                Some(395),
            ),
            (
                "1\n2\nCode: 241. DB::Exception: Memory limit exceeded",
                Some(241),
            ),
            ("Code: 7 is a good number", None),
            ("Code: ", None),
            ("", None),
        ] {
            assert_eq!(in_text(text), code, "{text}");
        }
    }

    #[test]
    fn a_servers_own_message_is_shown_of_faults_in_the_query_alone() {
        let source = Source {
            name: "x".to_owned(),
            timeout_seconds: 7,
            ..Source::default()
        };
        let told = |code, text: &str| of_answer(&source, 500, Some(code), text).to_string();
        let text = "Code: 47. DB::Exception: Unknown identifier `amout`. (UNKNOWN_IDENTIFIER) (version 26.9.2.1)";
        assert_eq!(
            told(47, text),
            "has no such column (code 47): Unknown identifier `amout`. (UNKNOWN_IDENTIFIER)"
        );
        let text = "Code: 62. DB::Exception: Syntax error: failed at position 31 (x) (line 1, col 31): x\n) LIMIT 0. Expected one of: token, Comma";
        assert_eq!(
            told(62, text),
            "was queried with invalid SQL (code 62): at \"x\""
        );
        let hosts = "Code: 279. DB::NetException: All connection tries failed. Log: 10.0.0.7:9000";
        assert!(
            !told(279, hosts).contains("10.0.0.7") && told(279, hosts).contains("is unreachable")
        );
        assert!(!told(9_999, hosts).contains("10.0.0.7"));
        assert!(told(62, &"é".repeat(1_000)).chars().count() < 400);
        assert_eq!(
            told(159, ""),
            "timed out after 7 s; raise `timeout_seconds` in [sources.x] of config.toml (code 159)"
        );
        assert_eq!(of_answer(&source, 503, None, ""), Fault::Busy);
    }
}
