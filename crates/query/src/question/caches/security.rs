//! Caches of security inference for one data snapshot: the corpus of contracts to compare with, built on first use, the traits of executed
//! scam contracts, and security summaries. No inference here.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock},
};

use load::Dataset;
use model::{
    address::Address, error::Result, flight::Flights, locks::Locked as _, progress::Progress,
};
use security::{
    Danger, SecurityInference,
    changes::Scan,
    corpus::Corpus,
    resemblance::CodeTraits,
    score::{too_little_known, word_of},
};

/// Maximum number of scams with cached traits.
const TRAITS_MAX: usize = 10_000;

/// Number of earlier scans stored per token: the last one may be of the same files.
const SCANS_MAX: usize = 2;

#[derive(Debug, Default)]
pub struct SecurityCache {
    corpus: OnceLock<Corpus>,
    /// The one building of the corpus.
    building: Flights<(), ()>,
    traits: Mutex<HashMap<Address, CodeTraits>>,
    /// The security summaries by token, shown in token lists.
    summaries: Mutex<HashMap<Address, SecuritySummary>>,
    /// The scan of each token, and those of earlier snapshots, newest first.
    scans: Mutex<HashMap<Address, Scan>>,
    earlier: Mutex<HashMap<Address, Vec<Scan>>>,
}

/// Summary of a token's security result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecuritySummary {
    pub score: i64,
    /// The first word of the recommendation.
    pub recommendation: &'static str,
    pub danger: Danger,
    /// Whether the scan differs from the previous one, of the chain or of the files.
    pub changed: bool,
}

impl SecuritySummary {
    /// The score; `None` if it is only an upper limit because of missing data.
    pub fn known_score(&self) -> Option<i64> {
        Some(self.score).filter(|_| !too_little_known(self.recommendation))
    }

    pub(in crate::question) fn of(answer: &SecurityInference) -> Self {
        Self {
            score: answer.security_score,
            recommendation: word_of(&answer.recommendation),
            danger: answer.danger,
            changed: answer
                .changed
                .as_ref()
                .is_some_and(|changed| !changed.changes.is_empty()),
        }
    }
}

impl SecurityCache {
    /// The corpus of the snapshot, built on first use. After a canceled build, the next caller builds it.
    pub fn corpus(&self, dataset: &Dataset, progress: &Progress) -> Result<&Corpus> {
        if let Some(corpus) = self.corpus.get() {
            return Ok(corpus);
        }
        let _building = self.building.wait(&(), || progress.step(0, 0))?;
        if let Some(corpus) = self.corpus.get() {
            return Ok(corpus);
        }
        let corpus = Corpus::new(dataset, &|done, total| progress.step(done, total))?;
        Ok(self.corpus.get_or_init(|| corpus))
    }

    /// The scans of earlier snapshots, newest first.
    pub fn earlier(&self, token: &Address) -> Vec<Scan> {
        self.earlier
            .locked()
            .get(token)
            .cloned()
            .unwrap_or_default()
    }

    pub fn keep_scan(&self, token: Address, scan: Scan) {
        self.scans.locked().insert(token, scan);
    }

    /// Takes over the scans of an earlier snapshot, and those before it; of an incomplete snapshot, only the latter.
    pub fn inherit(&self, before: &Self, is_whole: bool) {
        let mut earlier = before.earlier.locked().clone();
        for (token, scan) in before.scans.locked().iter().filter(|_| is_whole) {
            let known = earlier.entry(*token).or_default();
            if known.first() != Some(scan) {
                known.insert(0, scan.clone());
                known.truncate(SCANS_MAX);
            }
        }
        *self.earlier.locked() = earlier;
    }

    pub fn summary(&self, token: &Address) -> Option<SecuritySummary> {
        self.summaries.locked().get(token).copied()
    }

    /// Caches a token's summary; needs no eviction: there is at most one for each token.
    pub fn insert(&self, token: Address, summary: SecuritySummary) {
        self.summaries.locked().insert(token, summary);
    }

    /// The traits of a known scam, which is executed at most once unless the caller cancels.
    pub fn traits(
        &self,
        scam: &Address,
        progress: &Progress,
        execute: impl FnOnce() -> CodeTraits,
    ) -> CodeTraits {
        let lock = || self.traits.locked();
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
