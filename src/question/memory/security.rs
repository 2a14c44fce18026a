//! Caches of security inference for one generation: the corpus of contracts to compare with, built on first use, the traits of executed
//! scam contracts, and short answers. No inference here.

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

/// Maximum number of scams with cached traits.
const TRAITS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct SecurityMemory {
    corpus: OnceLock<Corpus>,
    /// Held while the corpus is built, so that concurrent requests wait instead of building it twice.
    building: Mutex<()>,
    traits: Mutex<HashMap<Address, CodeTraits>>,
    /// The short answers by token, shown in token lists.
    told: Mutex<HashMap<Address, InShort>>,
}

/// The short form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InShort {
    pub score: i64,
    /// The first word of the recommendation.
    pub word: &'static str,
}

impl InShort {
    pub(in crate::question) fn of(answer: &SecurityInference) -> Self {
        Self { score: answer.security_score, word: word_of(&answer.recommendation) }
    }
}

impl SecurityMemory {
    /// The corpus of the generation, built on first use. A cancelled build is left to the next caller.
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

    /// Caches a token's short answer; needs no eviction: there is at most one for each token.
    pub fn keep(&self, token: Address, told: InShort) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(token, told);
    }

    /// The traits of a known scam, executed at most once unless the caller cancels.
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
