//! The user's consents to remote origins, and what was fetched today: one file, replaced atomically.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use store::private_files::{exclusively, read_text, write_atomic};
use wire::Ledger;

const FILE: &str = "remote.json";
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Maximum number of consents, more than a person gives; the oldest are dropped first.
const AGREED_MAX: usize = 10_000;

/// Content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Notes {
    agreed: Vec<Agreement>,
    /// Days since 1970, UTC, and the bytes and requests to each provider of that day.
    day: u64,
    bytes: u64,
    requests: BTreeMap<String, u64>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Agreement {
    dataset: PathBuf,
    origin: String,
}

impl Notes {
    /// With what was fetched on that day.
    fn of(self, day: u64) -> Self {
        if self.day == day { self } else { Self { day, bytes: 0, requests: BTreeMap::new(), ..self } }
    }
}

/// The user's ledger, in their state directory.
#[derive(Debug)]
pub struct Remote {
    folder: PathBuf,
}

impl Remote {
    pub fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.to_owned() }
    }

    fn read(&self) -> Notes {
        // An unreadable file contains no consent: the user is asked again.
        read_text(&self.folder.join(FILE), FILE_BYTES_MAX).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(&mut Notes)) -> Result<(), String> {
        exclusively(&self.folder, || {
            let mut notes = self.read();
            change(&mut notes);
            let text = serde_json::to_vec_pretty(&notes).map_err(|error| error.to_string())?;
            write_atomic(&self.folder.join(FILE), &text)
        })
    }
}

fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400)
}

impl Ledger for Remote {
    fn agreed(&self, dataset: &Path, origin: &str) -> bool {
        self.read().agreed.iter().any(|agreed| agreed.dataset == dataset && agreed.origin == origin)
    }

    fn agree(&self, dataset: &Path, origin: &str) -> Result<(), String> {
        let agreement = Agreement { dataset: dataset.to_owned(), origin: origin.to_owned() };
        self.change(|notes| {
            if !notes.agreed.contains(&agreement) {
                notes.agreed.push(agreement);
            }
            let over = notes.agreed.len().saturating_sub(AGREED_MAX);
            notes.agreed.drain(..over);
        })
    }

    fn spent(&self) -> u64 {
        self.read().of(today()).bytes
    }

    fn requests(&self, provider: &str) -> u64 {
        self.read().of(today()).requests.get(provider).copied().unwrap_or_default()
    }

    fn spend(&self, bytes: u64, requests: &BTreeMap<String, u64>) -> bool {
        let noted = self.change(|notes| {
            let today = std::mem::take(notes).of(today());
            *notes = Notes { bytes: today.bytes.saturating_add(bytes), ..today };
            for (provider, count) in requests {
                *notes.requests.entry(provider.clone()).or_default() += count;
            }
        });
        if let Err(reason) = &noted {
            tracing::warn!("what was fetched today is not counted: {reason}");
        }
        noted.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_agreed_and_spent_is_there_for_the_next_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (Remote::new(folder.path()), Remote::new(folder.path()));
        let here = Path::new("/here");
        assert!(!first.agreed(here, "s3://b") && first.spent() == 0);
        first.agree(here, "s3://b").expect("kept");
        first.agree(here, "s3://b").expect("kept");
        let requests = |count| BTreeMap::from([("kraken".to_owned(), count)]);
        first.spend(5, &requests(2));
        second.spend(7, &requests(1));
        assert_eq!((first.requests("kraken"), first.requests("binance")), (3, 0));
        assert!(second.agreed(here, "s3://b") && !second.agreed(here, "s3://c"));
        assert_eq!((second.spent(), second.read().agreed.len()), (12, 1));
        first.change(|notes| notes.day -= 1).expect("kept");
        assert_eq!((second.spent(), second.requests("kraken")), (0, 0));
    }
}
