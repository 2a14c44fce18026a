//! The ledger: the user's consents, and how much was fetched today. `state` implements the trait on disk.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::Mutex,
};

use super::{Fault, locked};

/// Consents and the daily budget, which outlive the program.
pub trait Ledger: Send + Sync {
    /// Whether the user consented that this dataset accesses this origin.
    fn agreed(&self, dataset: &Path, origin: &str) -> bool;
    fn agree(&self, dataset: &Path, origin: &str) -> Result<(), Fault>;
    /// Bytes fetched today, by all programs of this user.
    fn spent(&self) -> u64;
    /// Requests that the provider got today, from all programs of this user.
    fn requests(&self, provider: &str) -> u64;
    /// Adds bytes, and requests by provider; false if that cannot be kept.
    fn spend(&self, bytes: u64, requests: &BTreeMap<String, u64>) -> bool;
}

/// A ledger that lasts as long as the program.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    agreed: Mutex<HashSet<(PathBuf, String)>>,
    spent: Mutex<u64>,
    requests: Mutex<BTreeMap<String, u64>>,
}

impl Ledger for MemoryLedger {
    fn agreed(&self, dataset: &Path, origin: &str) -> bool {
        locked(&self.agreed).contains(&(dataset.to_owned(), origin.to_owned()))
    }

    fn agree(&self, dataset: &Path, origin: &str) -> Result<(), Fault> {
        locked(&self.agreed).insert((dataset.to_owned(), origin.to_owned()));
        Ok(())
    }

    fn spent(&self) -> u64 {
        *locked(&self.spent)
    }

    fn requests(&self, provider: &str) -> u64 {
        locked(&self.requests)
            .get(provider)
            .copied()
            .unwrap_or_default()
    }

    fn spend(&self, bytes: u64, requests: &BTreeMap<String, u64>) -> bool {
        *locked(&self.spent) += bytes;
        let mut known = locked(&self.requests);
        for (provider, count) in requests {
            *known.entry(provider.clone()).or_default() += count;
        }
        true
    }
}
