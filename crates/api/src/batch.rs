//! Batch requests: GET /tokens with `addresses`, and GET /security, which can stream its inferences as NDJSON, each line as soon as it is
//! ready.

use std::{
    collections::HashMap,
    sync::{Arc, mpsc::channel},
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    Response,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde::Serialize;

use super::{
    call::{Answered, Call, HandlerStep},
    format::{AnswerFormat, WithFormat},
    handlers::{ask, list},
    reply::{self, Body},
    rows::{self, RowSender},
};
use frames::export::ExportError;
use model::{
    address::Address,
    error::{Code, Problem, Result},
};
use query::{
    queries::{
        Query,
        batch::{BatchPart, INSTEAD, SecurityBatchQuery, TokenBatchQuery},
        parameter::{Parameter, ParameterKind, decode, parameter},
        request::Request,
        security::SecurityQuery,
        snapshot::Snapshot,
        tokens::TokensQuery,
    },
    service::{QueryService, cached::CachedAnswer, pending::PendingAnswer},
};

const NDJSON: &str = "application/x-ndjson";

/// `format` of GET /security.
pub(super) const FORMAT: Parameter = parameter(
    "format",
    ParameterKind::Word {
        words: &["json", "ndjson"],
        default: None,
    },
    "`ndjson`: one line per token as it finishes. Default: the `Accept` header, then json.",
);

/// The parameters of GET /tokens without `addresses`.
const SEARCH_PARAMETERS: &[Parameter] = WithFormat::<TokensQuery>::PARAMETERS;

/// Tokens of one request analyzed concurrently.
const AT_ONCE: usize = 4;
/// Poll interval for noticing that the client has disconnected.
const CLIENT_CHECK: Duration = Duration::from_millis(100);

/// GET /tokens: the token list, or the details of the tokens in `addresses`.
pub(super) fn tokens(call: &Call<'_>) -> Answered {
    let named = |pair: &str| {
        decode(pair.split('=').next().unwrap_or_default()).is_some_and(|name| name == INSTEAD.name)
    };
    if call.query.split('&').any(named) {
        let arguments = Call {
            parameters: SEARCH_PARAMETERS,
            ..*call
        }
        .arguments()?;
        if let Some(word) = arguments.word(FORMAT.name)?.filter(|word| *word != "json") {
            return Err(Problem::new(
                Code::InvalidParameter,
                format!("`format` is `{word}`, but with `addresses` only json is available."),
            ));
        }
        // Refused instead of ignored: an ignored filter would make the answer look filtered.
        let of_the_list = |name: &str| {
            name != FORMAT.name
                && TokenBatchQuery::PARAMETERS
                    .iter()
                    .all(|own| own.name != name)
        };
        if let Some(other) = SEARCH_PARAMETERS
            .iter()
            .find(|other| of_the_list(other.name) && arguments.is_chosen(other.name))
        {
            let detail = format!(
                "`{}` applies to the list, not to `addresses`; remove one of them.",
                other.name
            );
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        ask::<TokenBatchQuery>(&Call {
            parameters: TokenBatchQuery::PARAMETERS,
            ..*call
        })
    } else {
        list::<TokensQuery>(&Call {
            parameters: SEARCH_PARAMETERS,
            ..*call
        })
    }
}

/// GET /security: one JSON answer, or an NDJSON line per token.
pub(super) fn security(call: &Call<'_>) -> Answered {
    let arguments = call.arguments()?;
    let lines = AnswerFormat::negotiated(&arguments, call.headers)?.word == "ndjson";
    if !lines {
        return ask::<SecurityBatchQuery>(call);
    }
    let question = SecurityBatchQuery::parse(&arguments)?;
    let api = call.api;
    let snapshot = call.ready::<SecurityBatchQuery>()?;
    let body = if call.head {
        Body::Whole(Bytes::new())
    } else {
        let service = Arc::clone(&api.service);
        Body::Rows(rows::spawn_writer(
            rows::write_timeout(call),
            rows::permit(api)?,
            move |sender| ask_each(&service, &snapshot, &question, sender),
        )?)
    };
    let mut reply = Response::new(body);
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    reply::vary(&mut reply);
    Ok(HandlerStep::Now(reply))
}

/// Asks about each distinct token once, `AT_ONCE` concurrently, and sends its line as soon as it is answered: once for each time the
/// request names it.
fn ask_each(
    service: &Arc<QueryService>,
    snapshot: &Arc<Snapshot>,
    question: &SecurityBatchQuery,
    sender: &RowSender,
) -> std::result::Result<(), ExportError> {
    let mut times: HashMap<Address, usize> = HashMap::new();
    let mut left: Vec<Address> = Vec::new();
    for address in &question.addresses {
        let count = times.entry(*address).or_default();
        *count += 1;
        if *count == 1 {
            left.push(*address);
        }
    }
    let mut left = left.into_iter();
    let (answered, answers) = channel();
    let mut asked: HashMap<Address, PendingAnswer<_>> = HashMap::new();
    loop {
        while asked.len() < AT_ONCE
            && let Some(contract_address) = left.next()
        {
            let answered = answered.clone();
            let wake = move || answered.send(contract_address).unwrap_or_default();
            asked.insert(
                contract_address,
                service.ask_of(
                    Arc::clone(snapshot),
                    SecurityQuery {
                        contract_address,
                        explain: question.explain,
                    },
                    wake,
                ),
            );
        }
        if asked.is_empty() {
            return Ok(());
        }
        let Ok(address) = answers.recv_timeout(CLIENT_CHECK) else {
            // Returning drops the pending answers, which cancels them.
            if sender.is_closed() {
                return Err(ExportError::Stopped);
            }
            continue;
        };
        let Some(outcome) = asked
            .remove(&address)
            .and_then(|mut pending| pending.poll_now())
        else {
            continue;
        };
        let line = line(address, outcome).ok_or(ExportError::Stopped)?;
        for _ in 0..times.get(&address).copied().unwrap_or(1) {
            sender
                .data(line.clone())
                .map_err(|_| ExportError::Stopped)?;
        }
    }
}

/// Returns a token's NDJSON line; `None` if the query was canceled.
fn line(
    token_address: Address,
    outcome: Result<Arc<CachedAnswer<<SecurityQuery as Query>::Answer>>>,
) -> Option<Bytes> {
    /// Same JSON shape as `TokenSecurity`.
    #[derive(Serialize)]
    struct Line<'a, A> {
        token_address: Address,
        #[serde(flatten)]
        inference: &'a A,
    }
    let part = BatchPart::of(token_address, outcome).ok()?;
    let mut text = match &part {
        BatchPart::Answer(cached) => serde_json::to_vec(&Line {
            token_address,
            inference: &cached.answer,
        }),
        BatchPart::Refused(refused) => serde_json::to_vec(refused),
    }
    .ok()?;
    text.push(b'\n');
    Some(text.into())
}
