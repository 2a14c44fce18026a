//! Reads the state of a token from a node: everything that is missing, in one batch, pinned to one block. Storing it belongs to `chain`.

use std::sync::Arc;

use serde_json::Value;

use super::token_state::TokenState;
use model::{
    address::Address,
    chain_state::{
        BlockHead, ChainAccount, ChainEvent, ChainEvents, EventFilter, MissingState, Word,
    },
};
use wire::{
    Fault,
    node::{self, CallRefusal, ChainNode, NodeAnswers, NodeBlock, NodeCall},
};

/// Bytes of a contract's code: several times what the chains allow.
const CODE_MAX: usize = 256 << 10;

/// Reads the missing state at the block of `before`, or at the newest block without it. If that block is no longer on the chain, or the
/// node no longer has its state, everything is read again at the newest block, once. `anew`: the block that other tokens were read at a
/// moment ago is too old.
pub(super) fn read(
    node: &ChainNode,
    before: &TokenState,
    missing: &MissingState,
    anew: bool,
    stopped: &dyn Fn() -> bool,
) -> Result<TokenState, Fault> {
    let mut requests = before.requests;
    if let Some(block) = before.block {
        match at(node, before, block, missing, &mut requests, stopped) {
            Ok(Some(state)) => return Ok(state),
            Ok(None) | Err(Fault::NoState(_)) => {}
            Err(fault) => return Err(fault),
        }
    }
    let all = before.all_and(missing);
    for again in [anew || before.block.is_some(), true] {
        let (
            NodeBlock {
                number,
                timestamp,
                hash,
                base_fee,
                parent_hash,
                coinbase,
                gas_limit,
            },
            trips,
        ) = node.newest(again, stopped)?;
        requests += trips;
        let block = BlockHead {
            number,
            timestamp,
            hash,
            base_fee,
            parent_hash,
            coinbase: Address(coinbase),
            gas_limit,
        };
        match at(
            node,
            &TokenState::default(),
            block,
            &all,
            &mut requests,
            stopped,
        ) {
            Ok(Some(state)) => return Ok(state),
            Ok(None) => {}
            // The block may have been pinned a minute ago, and its state be gone.
            Err(Fault::NoState(_)) if !again => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(Fault::Unavailable(
        "kept reorganizing blocks while they were read; retry when the chain is stable".to_owned(),
    ))
}

/// Reads what is missing at this block, in one batch; `None` where the block is not the chain's afterwards.
fn at(
    node: &ChainNode,
    before: &TokenState,
    block: BlockHead,
    missing: &MissingState,
    requests: &mut u32,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<TokenState>, Fault> {
    let number = block.number;
    let mut calls = calls(missing, number);
    // The block comes last: a node answers a batch in order.
    calls.push(NodeCall::block(number));
    let NodeAnswers { mut answers, trips } = node.ask(calls, stopped)?;
    *requests += trips;
    let said = answers.pop().and_then(Result::ok).unwrap_or_default();
    if NodeBlock::read(&said).is_none_or(|now| now.hash != block.hash) {
        return Ok(None);
    }
    let events = events(node, number, missing, requests, stopped)?;
    let mut state = TokenState {
        block: Some(block),
        requests: *requests,
        rounds: before.rounds + 1,
        ..before.clone()
    };
    state.events.extend(events);
    let mut answers = answers.into_iter();
    let mut next = || understood(answers.next());
    for address in &missing.accounts {
        let (code, balance) = (
            code_of(&next()?)?,
            node::word(&next()?).ok_or_else(misunderstood)?,
        );
        state
            .accounts
            .insert(*address, ChainAccount { balance, code });
    }
    for slot in &missing.slots {
        let value: Word = node::word(&next()?).ok_or_else(misunderstood)?;
        state.slots.insert(*slot, value);
    }
    Ok(Some(state))
}

/// Maximum number of events that are kept of a filter.
const EVENTS_MAX: usize = 1_000;

/// The events, apart from the rest: a node that refuses to search the whole chain must not spoil the batch.
fn events(
    node: &ChainNode,
    block: u64,
    missing: &MissingState,
    requests: &mut u32,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<(EventFilter, ChainEvents)>, Fault> {
    if missing.events.is_empty() {
        return Ok(Vec::new());
    }
    let calls = missing
        .events
        .iter()
        .map(|filter| NodeCall::logs(&[filter.address.0], &filter.topics, filter.since, block))
        .collect();
    let answers = match node.ask(calls, stopped) {
        Ok(NodeAnswers { answers, trips }) => {
            *requests += trips;
            answers
        }
        Err(Fault::Stopped) => return Err(Fault::Stopped),
        Err(_) => Vec::new(),
    };
    let mut answers = answers.into_iter();
    let read = |filter: &EventFilter| {
        (
            *filter,
            answers
                .next()
                .and_then(Result::ok)
                .and_then(|said| event_list(&said))
                .unwrap_or_default(),
        )
    };
    Ok(missing.events.iter().map(read).collect())
}

/// The events in an answer; `None` if it is no list of them.
pub(super) fn event_list(said: &Value) -> Option<ChainEvents> {
    let list = said.as_array()?;
    let event = |log: &Value| {
        let topics = log
            .get("topics")?
            .as_array()?
            .iter()
            .map(node::word)
            .collect::<Option<_>>()?;
        Some(ChainEvent {
            topics,
            data: node::bytes(log.get("data")?)?,
        })
    };
    let events = list
        .iter()
        .take(EVENTS_MAX)
        .map(event)
        .collect::<Option<_>>()?;
    Some(ChainEvents {
        events,
        whole: list.len() <= EVENTS_MAX,
    })
}

fn calls(missing: &MissingState, block: u64) -> Vec<NodeCall> {
    let accounts = missing.accounts.iter().flat_map(|address| {
        [
            NodeCall::code(&address.0, block),
            NodeCall::balance(&address.0, block),
        ]
    });
    accounts
        .chain(
            missing
                .slots
                .iter()
                .map(|(address, slot)| NodeCall::slot(&address.0, slot, block)),
        )
        .collect()
}

/// The code in an answer.
fn code_of(answer: &Value) -> Result<Arc<[u8]>, Fault> {
    let code = node::bytes(answer).ok_or_else(misunderstood)?;
    if code.len() > CODE_MAX {
        let reason = format!(
            "returned contract code of {} bytes; no chain allows more than {CODE_MAX}",
            code.len()
        );
        return Err(Fault::Unavailable(reason));
    }
    Ok(Arc::from(code))
}

fn understood(answer: Option<Result<Value, CallRefusal>>) -> Result<Value, Fault> {
    match answer {
        Some(Ok(value)) => Ok(value),
        Some(Err(CallRefusal { code, message, .. })) => Err(Fault::Unavailable(format!(
            "rejected the request for an account or a slot (code {code}): {message}"
        ))),
        None => Err(misunderstood()),
    }
}

fn misunderstood() -> Fault {
    Fault::Unavailable("returned an unreadable account or slot".to_owned())
}
