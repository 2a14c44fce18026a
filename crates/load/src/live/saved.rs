//! Reads a saved response of a provider as if it had just arrived. Sends no request.

use std::collections::HashSet;

use polars::prelude::DataFrame;

use super::LiveError;
use crate::{
    live::{
        ask::{Ask, RequestTarget},
        rows::{self, Known},
    },
    provider::{JsonAnswer, Provider, ProviderRequest, RefusalAction},
};
use model::{address::Address, chain::Chain, interval::Interval, rows::AccountRow};

/// A saved response, and the request it belongs to.
#[derive(Debug)]
pub struct SavedAnswer<'a> {
    pub provider: &'a Provider,
    pub request: &'a ProviderRequest,
    pub token: Option<Address>,
    pub chain: Option<Chain>,
    pub symbol: Option<String>,
    pub decimals: Option<i64>,
    pub interval: Option<Interval>,
    /// One of the token's accounts.
    pub account: Option<AccountRow>,
    pub body: &'a [u8],
}

/// Contents of a response.
#[derive(Debug)]
pub enum SavedRows {
    /// Rows by table, with notes about odd ones.
    Rows(Vec<(&'static str, DataFrame)>, Vec<String>),
    /// A refusal: its consequence, and the service's message.
    Refusal(RefusalAction, String),
}

/// Reads the response. An error, worded to continue the provider's name, means that the response does not match the provider's description.
pub fn read(saved: &SavedAnswer<'_>) -> Result<SavedRows, LiveError> {
    let about = RequestTarget {
        token: saved.token,
        symbol: saved.symbol.clone(),
        chain: saved.chain.clone(),
        account: saved.account.clone(),
        ..RequestTarget::default()
    };
    let ask = Ask {
        provider: saved.provider,
        request: saved.request,
        about,
        interval: saved.interval,
        span: None,
        present: None,
    };
    let answer = JsonAnswer::read(saved.body)?;
    if let Some((then, said)) = answer.refusal(&saved.request.refusals) {
        return Ok(SavedRows::Refusal(then, said));
    }
    let tokens: HashSet<Address> = saved.token.into_iter().collect();
    let known = Known {
        decimals: saved
            .token
            .into_iter()
            .map(|token| (token, saved.decimals))
            .collect(),
        tokens,
        matcher: None,
    };
    let (mut frames, mut notes) = (Vec::new(), Vec::new());
    for (table, _, rows) in rows::of_answer(&ask, &answer, saved.body.len() as u64, &known)? {
        notes.extend(rows.notes);
        frames.extend(rows.frame.map(|frame| (table, frame)));
    }
    Ok(SavedRows::Rows(frames, notes))
}
