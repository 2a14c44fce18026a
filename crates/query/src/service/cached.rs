//! A cached answer with its JSON and its entity tag.

use bytes::Bytes;
use quick_cache::Weighter;
use serde::Serialize;

use super::{MemoKey, Shared};
use model::{
    error::{Code, Problem, Result},
    time::Time,
};

/// A computed answer: typed for the terminal, rendered for the API.
#[derive(Debug)]
pub struct CachedAnswer<A> {
    pub answer: A,
    /// The time of the newest row that it is made of.
    pub as_of: Option<Time>,
    /// JSON of the answer, shared by all replies.
    pub json: Bytes,
    /// Strong entity tag, including quotes.
    pub etag: Box<str>,
    /// `Link` header to the neighboring pages.
    pub links: Option<Box<str>>,
}

/// Time fields in the body of a result.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BodyDates<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) as_of: Option<Time>,
    /// The tables without history of an explained point-in-time result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) as_of_unknown: Option<&'a [&'a str]>,
}

#[derive(Serialize)]
struct DatedAnswer<'a, A> {
    #[serde(flatten)]
    answer: &'a A,
    #[serde(flatten)]
    dates: BodyDates<'a>,
}

impl<A: Serialize> CachedAnswer<A> {
    /// `as_of`: the time of the newest row; `dates`: the time fields of the body.
    pub(super) fn new(
        answer: A,
        as_of: Option<Time>,
        etag: String,
        links: Option<String>,
        dates: BodyDates<'_>,
    ) -> Result<Self> {
        let plain = dates.as_of.is_none() && dates.as_of_unknown.is_none();
        let json = if plain {
            serde_json::to_vec(&answer)
        } else {
            serde_json::to_vec(&DatedAnswer {
                answer: &answer,
                dates,
            })
        }
        .map_err(|_| {
            Problem::new(
                Code::Defect,
                "Internal error: the response cannot be written as JSON.",
            )
        })?;
        Ok(Self {
            answer,
            as_of,
            json: json.into(),
            etag: etag.into_boxed_str(),
            links: links.map(String::into_boxed_str),
        })
    }
}

/// Cache weight of an answer: its JSON, about as much again for the typed form, and its key.
#[derive(Debug, Clone)]
pub(super) struct AnswerWeighter;

impl Weighter<MemoKey, (u64, Shared)> for AnswerWeighter {
    fn weight(&self, key: &MemoKey, (bytes, _): &(u64, Shared)) -> u64 {
        bytes * 2 + key.2.len() as u64 + 200
    }
}
