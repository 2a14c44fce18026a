//! A cached answer with its JSON and its entity tag.

use std::{any::Any, sync::Arc};

use bytes::Bytes;
use quick_cache::Weighter;
use serde::Serialize;

use super::{ErasedAnswer, MemoKey};
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
    /// `Link` header to the neighbouring pages.
    pub links: Option<Box<str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainedAsOf<'a, A> {
    #[serde(flatten)]
    answer: &'a A,
    as_of_unknown: &'a [&'a str],
}

impl<A: Serialize> CachedAnswer<A> {
    /// `unknown`: the tables of today of an explained answer that is as of a time.
    pub(super) fn new(answer: A, as_of: Option<Time>, etag: String, links: Option<String>, unknown: Option<&[&str]>) -> Result<Self> {
        let json = unknown
            .map_or_else(
                || serde_json::to_vec(&answer),
                |as_of_unknown| serde_json::to_vec(&ExplainedAsOf { answer: &answer, as_of_unknown }),
            )
            .map_err(|_| Problem::new(Code::Defect, "The answer cannot be written as JSON: a defect of the program."))?;
        Ok(Self { answer, as_of, json: json.into(), etag: etag.into_boxed_str(), links: links.map(String::into_boxed_str) })
    }
}

impl<A: Send + Sync + 'static> ErasedAnswer for CachedAnswer<A> {
    fn bytes(&self) -> u64 {
        self.json.len() as u64
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Cache weight of an answer: its JSON, about as much again for the typed form, and its key.
#[derive(Debug, Clone)]
pub(super) struct AnswerWeighter;

impl Weighter<MemoKey, Arc<dyn ErasedAnswer>> for AnswerWeighter {
    fn weight(&self, key: &MemoKey, cached: &Arc<dyn ErasedAnswer>) -> u64 {
        cached.bytes() * 2 + key.2.len() as u64 + 200
    }
}
