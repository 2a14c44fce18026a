//! Several JSON-RPC messages in one array, which version 2025-03-26 of the protocol requires a server to receive. Later versions have none.

use std::future::Future;

use bytes::Bytes;
use futures_util::future::join_all;
use hyper::HeaderMap;
use serde_json::value::RawValue;

use crate::reply::{self, Body, Reply};
use model::error::Result;

/// Clients of later versions name theirs in this header.
const VERSION: &str = "mcp-protocol-version";
/// The version with batches, assumed of a client that names none.
const WITH_BATCHES: &str = "2025-03-26";
/// Most messages of one batch.
const MESSAGES_MAX: usize = 50;

/// The messages of a batch. `None` if the text is none, an empty or a very long one, which are refused as what is no message.
pub(super) fn messages(body: &[u8]) -> Option<Vec<Bytes>> {
    let messages: Vec<Box<RawValue>> = serde_json::from_slice(body).ok()?;
    (1..=MESSAGES_MAX).contains(&messages.len()).then(|| {
        messages
            .into_iter()
            .map(|message| Bytes::copy_from_slice(message.get().as_bytes()))
            .collect()
    })
}

/// Whether the client may send batches.
pub(super) fn is_taken(headers: &HeaderMap) -> bool {
    headers
        .get(VERSION)
        .is_none_or(|version| version == WITH_BATCHES)
}

/// Answers each message; the answer is the array of those that have one.
pub(super) async fn answer<A: Future<Output = Result<Reply>>>(
    messages: Vec<Bytes>,
    exchange: impl Fn(Bytes) -> A,
) -> Result<Reply> {
    let mut answers = Vec::new();
    let mut refused = 202;
    for reply in join_all(messages.into_iter().map(exchange)).await {
        let reply = reply?;
        let status = reply.status();
        if let Body::Whole(body) = reply.into_body()
            && let Ok(answer) = serde_json::from_slice::<Box<RawValue>>(&body)
        {
            answers.push(answer);
        } else if !status.is_success() {
            refused = status.as_u16();
        }
    }
    if answers.is_empty() {
        let status = hyper::StatusCode::from_u16(refused).unwrap_or(hyper::StatusCode::ACCEPTED);
        return Ok(reply::empty(status));
    }
    reply::rendered(200, &answers)
}
