//! What security keeps for one generation of data: the corpus that tokens are compared with, built when it is first asked for,
//! the traits of scams that were executed to compare, and the scores that were found. No inference here.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use crate::{
    analysis::security::{corpus::Corpus, resemblance::Traits},
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
    traits: Mutex<HashMap<Address, Traits>>,
    /// Of the tokens that were asked about: lists of tokens show it.
    scores: Mutex<HashMap<Address, i64>>,
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

    pub fn score(&self, token: &Address) -> Option<i64> {
        self.scores.lock().unwrap_or_else(PoisonError::into_inner).get(token).copied()
    }

    /// Keeps a token's score; there are no more than tokens.
    pub fn keep_score(&self, token: Address, score: i64) {
        self.scores.lock().unwrap_or_else(PoisonError::into_inner).insert(token, score);
    }

    /// The traits of a known scam, executed at most once unless the asker gives up.
    pub fn traits(&self, scam: &Address, progress: &Progress, execute: impl FnOnce() -> Traits) -> Traits {
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
