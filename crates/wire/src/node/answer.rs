//! Reads a node's responses: the results of a batch by id, and the meaning of its errors. Sends no requests.

use serde_json::Value;

/// Maximum characters shown of a node's own message.
const SHOWN: usize = 200;

/// A call that the node refused, such as one that reverts.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRefusal {
    pub code: i64,
    /// The node's own message, shortened.
    pub message: String,
    /// Whether it requests more than the node returns at once: a narrower call may succeed.
    pub is_too_much: bool,
}

impl CallRefusal {
    /// An answer that is too large for the node.
    pub(super) fn too_large() -> Self {
        Self {
            code: 0,
            message: "the answer is too large".to_owned(),
            is_too_much: true,
        }
    }
}

/// Outcome of one call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallOutcome {
    Value(Value),
    Refused(CallRefusal),
    /// The node no longer, or not yet, has the state of the block.
    NoState(String),
    /// Too many requests; to be repeated later.
    Busy,
    /// The batch was too large, and this call was omitted from it.
    LeftOut,
}

/// A node's answer to a batch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BatchAnswer {
    /// Outcomes by id, in the node's order; some may be missing.
    Calls(Vec<(usize, CallOutcome)>),
    /// One error for the whole batch.
    Whole(CallOutcome),
    /// The response ended early.
    Broken,
    NotJson,
}

/// Words by which nodes say that the state of a block is not there.
const NO_STATE: [&str; 9] = [
    "missing trie node",
    "header not found",
    "state is not available",
    "state not available",
    "historical state",
    "state already discarded",
    "old data not available",
    "unknown block",
    "block not found",
];
/// Words by which they say that they were asked too often.
const BUSY: [&str; 7] = [
    "rate limit",
    "too many requests",
    "limit exceeded",
    "request limit",
    "compute units",
    "capacity exceeded",
    "try again later",
];
/// Words by which they say that a batch, or its answer, is too large.
const TOO_LARGE: [&str; 7] = [
    "batch size",
    "batch too large",
    "batch limit",
    "too many batch",
    "batch is too large",
    "response too large",
    "response size",
];

/// Words by which they say that a call asks for too many blocks, addresses or events, or takes too long.
const TOO_MUCH: [&str; 15] = [
    "query returned more than",
    "block range",
    "range is too",
    "range too",
    "limited to a",
    "too many blocks",
    "number of requested blocks",
    "too many results",
    "result set too large",
    "exceeds max",
    "exceeds the range",
    "max addresses",
    "too many addresses",
    "timed out",
    "timeout",
];

/// Reads the answer to a batch.
pub(super) fn read(bytes: &[u8]) -> BatchAnswer {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Array(replies)) => {
            BatchAnswer::Calls(replies.into_iter().filter_map(reply).collect())
        }
        Ok(single @ Value::Object(_)) => match single.get("id").and_then(id) {
            Some(_) => BatchAnswer::Calls(reply(single).into_iter().collect()),
            None if single.get("error").is_some() => BatchAnswer::Whole(outcome(single)),
            None => BatchAnswer::NotJson,
        },
        Err(error) if error.is_eof() && !bytes.is_empty() => BatchAnswer::Broken,
        Ok(_) | Err(_) => BatchAnswer::NotJson,
    }
}

fn reply(reply: Value) -> Option<(usize, CallOutcome)> {
    Some((id(reply.get("id")?)?, outcome(reply)))
}

fn id(value: &Value) -> Option<usize> {
    // Some servers write it back as text.
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .and_then(|id| usize::try_from(id).ok())
}

fn outcome(mut reply: Value) -> CallOutcome {
    let Some(error) = reply
        .get_mut("error")
        .map(Value::take)
        .filter(|error| !error.is_null())
    else {
        return reply
            .get_mut("result")
            .map_or(CallOutcome::LeftOut, |result| {
                CallOutcome::Value(result.take())
            });
    };
    let code = error
        .get("code")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let said = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let small = said.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let message: String = said
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(SHOWN)
        .collect();
    if says(&NO_STATE) {
        CallOutcome::NoState(message)
    } else if says(&TOO_LARGE) {
        CallOutcome::LeftOut
    } else if says(&TOO_MUCH) {
        CallOutcome::Refused(CallRefusal {
            code,
            message,
            is_too_much: true,
        })
    } else if code == 429 || code == -32_005 || says(&BUSY) {
        CallOutcome::Busy
    } else {
        CallOutcome::Refused(CallRefusal {
            code,
            message,
            is_too_much: false,
        })
    }
}

/// A number written as `0x1f`.
pub fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// Bytes written as `0x60806040`.
pub fn bytes(value: &Value) -> Option<Vec<u8>> {
    const_hex::decode(value.as_str()?.strip_prefix("0x")?).ok()
}

/// A number or hash of up to 32 bytes, with or without its leading zeros.
pub fn word(value: &Value) -> Option<[u8; 32]> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    if digits.len() > 64 {
        return None;
    }
    let mut word = [0; 32];
    const_hex::decode_to_slice(format!("{digits:0>64}"), &mut word).ok()?;
    Some(word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replies_are_matched_by_id_and_errors_by_what_they_mean() {
        let said = |code, message: &str, is_too_much| {
            CallOutcome::Refused(CallRefusal {
                code,
                message: message.to_owned(),
                is_too_much,
            })
        };
        let refused = |code, message: &str| said(code, message, false);
        let error = |code: i64, message: &str| json!({"id": 0, "error": {"code": code, "message": message}});
        for (reply, expected) in [
            (
                json!({"id": 0, "result": "0x1"}),
                CallOutcome::Value(json!("0x1")),
            ),
            (
                json!({"id": 0, "result": null}),
                CallOutcome::Value(Value::Null),
            ),
            (
                json!({"id": "0", "result": "0x1", "error": null}),
                CallOutcome::Value(json!("0x1")),
            ),
            (json!({"id": 0}), CallOutcome::LeftOut),
            (
                error(-32_000, "missing trie node d2"),
                CallOutcome::NoState("missing trie node d2".to_owned()),
            ),
            (
                error(-32_000, "header not found"),
                CallOutcome::NoState("header not found".to_owned()),
            ),
            (
                error(-32_005, "daily request count exceeded"),
                CallOutcome::Busy,
            ),
            (error(-32_003, "response too large"), CallOutcome::LeftOut),
            (
                error(-32_005, "query returned more than 10000 results"),
                said(-32_005, "query returned more than 10000 results", true),
            ),
            (
                error(-32_000, "block range is too wide"),
                said(-32_000, "block range is too wide", true),
            ),
            (
                error(-32_602, "Log response size exceeded."),
                CallOutcome::LeftOut,
            ),
            (
                error(3, "execution reverted"),
                refused(3, "execution reverted"),
            ),
            (
                error(-32_601, "the method does not exist"),
                refused(-32_601, "the method does not exist"),
            ),
        ] {
            let bytes = serde_json::to_vec(&json!([reply])).unwrap();
            assert_eq!(
                read(&bytes),
                BatchAnswer::Calls(vec![(0, expected)]),
                "{reply}"
            );
        }
        let mixed = read(br#"[{"id":2,"result":"c"},{"id":0,"result":"a"},{"result":"lost"},7]"#);
        assert_eq!(
            mixed,
            BatchAnswer::Calls(vec![
                (2, CallOutcome::Value(json!("c"))),
                (0, CallOutcome::Value(json!("a")))
            ])
        );
        assert_eq!(
            read(br#"{"id":null,"error":{"code":-32600,"message":"batch too large"}}"#),
            BatchAnswer::Whole(CallOutcome::LeftOut)
        );
        assert_eq!(read(br#"[{"id":0,"resu"#), BatchAnswer::Broken);
        for not in ["<html>busy</html>", "", "7", "{}"] {
            assert_eq!(read(not.as_bytes()), BatchAnswer::NotJson, "{not}");
        }
    }

    #[test]
    fn numbers_and_bytes_are_read_as_nodes_write_them() {
        assert_eq!(
            (
                number(&json!("0x1f")),
                number(&json!("31")),
                number(&json!("0x1ffffffffffffffff"))
            ),
            (Some(31), None, None)
        );
        assert_eq!(
            (
                bytes(&json!("0x")),
                bytes(&json!("0x60ff")),
                bytes(&json!("0x6"))
            ),
            (Some(vec![]), Some(vec![0x60, 0xff]), None)
        );
        let mut one = [0; 32];
        one[31] = 1;
        assert_eq!(
            (word(&json!("0x1")), word(&json!("0x0001")), word(&json!(1))),
            (Some(one), Some(one), None)
        );
        assert_eq!(
            (
                word(&json!("0x")),
                word(&json!(format!("0x{}", "0".repeat(65))))
            ),
            (Some([0; 32]), None)
        );
    }
}
