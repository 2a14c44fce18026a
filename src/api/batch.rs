//! Many tokens in one request: which question GET /tokens is, and the security inferences as lines that come as they are done. What
//! an answer is stands with its question.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use hyper::{
    Response,
    header::{CONNECTION, CONTENT_TYPE, HeaderValue},
};
use serde::Serialize;
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    call::{Answered, Call, Step, stopped},
    format::Format,
    handlers::{ask_with, list_with},
    reply::{self, Body, Reply},
    routes::SEARCH_PARAMETERS,
};
use crate::{
    dataset::address::Address,
    deck::{Deck, known::Known},
    error::{Code, Problem, Result},
    question::{
        Question,
        batch::{INSTEAD, Part, SecurityBatchQuestion, TokenBatchQuestion},
        parameter::{Arguments, Parameter, ParameterKind, decode, parameter},
        request::Request,
        search::SearchQuestion,
        security::SecurityQuestion,
    },
};

pub(super) const NDJSON: &str = "application/x-ndjson";

/// How GET /security is answered.
pub(super) const FORMAT: Parameter = parameter(
    "format",
    ParameterKind::Word { words: &["json", "ndjson"], default: None },
    "`ndjson`: a line for each token, as they are done; else as `Accept` says, else json.",
);

/// Tokens that are asked about at once for one client.
const AT_ONCE: usize = 4;

/// GET /tokens: the list, or with `addresses` the details of those.
pub(super) fn tokens(call: &Call<'_>) -> Answered {
    let named = |pair: &str| decode(pair.split('=').next().unwrap_or_default()).is_some_and(|name| name == INSTEAD.name);
    if call.query.split('&').any(named) {
        let format = Arguments::new(SEARCH_PARAMETERS, call.path, call.query)?.word(FORMAT.name)?;
        if let Some(word) = format.filter(|word| *word != "json") {
            return Err(Problem::new(Code::InvalidParameter, format!("`format` is `{word}`: with `addresses` expected json.")));
        }
        ask_with::<TokenBatchQuestion>(call, TokenBatchQuestion::PARAMETERS)
    } else {
        list_with::<SearchQuestion>(call, SEARCH_PARAMETERS)
    }
}

/// GET /security: the whole answer, or its lines.
pub(super) fn security(call: &Call<'_>) -> Answered {
    let arguments = Arguments::new(call.parameters, call.path, call.query)?;
    let lines = Format::chosen(&arguments, call.headers)?.word == "ndjson";
    let vary = |mut reply: Reply| {
        reply::vary(&mut reply);
        reply
    };
    if lines {
        return send_lines(call, SecurityBatchQuestion::parse(&arguments)?).map(vary).map(Step::Now);
    }
    Ok(match ask_with::<SecurityBatchQuestion>(call, call.parameters)? {
        Step::Now(reply) => Step::Now(vary(reply)),
        Step::Later(reply) => Step::later(async move { reply.await.map(vary) }),
    })
}

fn send_lines(call: &Call<'_>, question: SecurityBatchQuestion) -> Result<Reply> {
    let api = call.api;
    api.deck.ready::<SecurityBatchQuestion>()?;
    let (sender, pieces) = mpsc::channel(AT_ONCE);
    let mut reply = Response::new(if call.head { Body::Whole(Bytes::new()) } else { Body::Stream(pieces) });
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    if call.head {
        return Ok(reply);
    }
    // The connection is not told when a stream has ended, so it ends too.
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    let (deck, mut stopping) = (Arc::clone(&api.deck), api.stopping.subscribe());
    tokio::spawn(async move {
        let gone = sender.clone();
        tokio::select! {
            () = ask_each(&deck, &question, &sender) => {}
            () = gone.closed() => {}
            () = stopped(&mut stopping) => {}
        }
    });
    Ok(reply)
}

/// Asks about each token once, some at a time, and sends its lines when it is answered: as many as it was asked for.
async fn ask_each(deck: &Arc<Deck>, question: &SecurityBatchQuestion, lines: &mpsc::Sender<Bytes>) {
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
    let mut asked = JoinSet::new();
    loop {
        while asked.len() < AT_ONCE
            && let Some(contract_address) = left.next()
        {
            let pending = deck.ask(SecurityQuestion { contract_address, explain: question.explain }, || {});
            asked.spawn(async move { (contract_address, pending.await) });
        }
        let Some(answered) = asked.join_next().await else { return };
        let Ok((address, outcome)) = answered else { continue };
        let Some(line) = line(address, outcome) else { return };
        for _ in 0..times.get(&address).copied().unwrap_or(1) {
            if lines.send(line.clone()).await.is_err() {
                return;
            }
        }
    }
}

/// A token's line; none once nobody waits.
fn line(token_address: Address, outcome: Result<Arc<Known<<SecurityQuestion as Question>::Answer>>>) -> Option<Bytes> {
    /// As `TokenSecurity` is written.
    #[derive(Serialize)]
    struct Line<'a, A> {
        token_address: Address,
        #[serde(flatten)]
        inference: &'a A,
    }
    let part = Part::of(token_address, outcome).ok()?;
    let mut text = match &part {
        Part::Answer(known) => serde_json::to_vec(&Line { token_address, inference: &known.answer }),
        Part::Refused(refused) => serde_json::to_vec(refused),
    }
    .ok()?;
    text.push(b'\n');
    Some(text.into())
}
