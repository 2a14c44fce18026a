//! What security keeps for one generation of data: the corpus that tokens are compared with, built when it is first asked for,
//! the traits of scams that were executed to compare, and the answers in short. No inference here.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use crate::{
    analysis::security::{SecurityInference, corpus::Corpus, resemblance::CodeTraits, score::word_of},
    dataset::{Dataset, address::Address},
    error::Result,
    question::progress::Progress,
};

/// Scams whose traits are kept.
const TRAITS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct SecurityMemory {
    corpus: OnceLock<Corpus>,
    /// Held by the one who builds the corpus; the others wait for it rather than build it too.
    building: Mutex<()>,
    traits: Mutex<HashMap<Address, CodeTraits>>,
    /// Of the tokens that were asked about: lists of tokens show it.
    told: Mutex<HashMap<Address, InShort>>,
}

/// An answer in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InShort {
    pub score: i64,
    /// What the recommendation begins with.
    pub word: &'static str,
}

impl InShort {
    pub(in crate::question) fn of(answer: &SecurityInference) -> Self {
        Self { score: answer.security_score, word: word_of(&answer.recommendation) }
    }
}

impl SecurityMemory {
    /// The corpus of the generation. Who gives up while building it leaves it to the next.
    pub fn corpus(&self, dataset: &Dataset, progress: &Progress) -> Result<&Corpus> {
        if let Some(corpus) = self.corpus.get() {
            return Ok(corpus);
        }
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(corpus) = self.corpus.get() {
            return Ok(corpus);
        }
        let corpus = Corpus::new(dataset, &|done, total| progress.step(done, total))?;
        Ok(self.corpus.get_or_init(|| corpus))
    }

    pub fn in_short(&self, token: &Address) -> Option<InShort> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).get(token).copied()
    }

    /// Keeps a token's answer in short; there are no more than tokens.
    pub fn keep(&self, token: Address, told: InShort) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(token, told);
    }

    /// The traits of a known scam, executed at most once unless the asker gives up.
    pub fn traits(&self, scam: &Address, progress: &Progress, execute: impl FnOnce() -> CodeTraits) -> CodeTraits {
        let lock = || self.traits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(scam) {
            return known.clone();
        }
        let traits = execute();
        let mut known = lock();
        if !progress.cancelled() && known.len() < TRAITS_MAX {
            known.insert(*scam, traits.clone());
        }
        traits
    }
}
