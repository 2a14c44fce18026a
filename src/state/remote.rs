//! The user's consents to remote origins, and the bytes fetched today: one file, replaced atomically.

use std::{
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
    /// Days since 1970, UTC, and the bytes fetched on that day.
    day: u64,
    bytes: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Agreement {
    dataset: PathBuf,
    origin: String,
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
        let notes = self.read();
        if notes.day == today() { notes.bytes } else { 0 }
    }

    fn spend(&self, bytes: u64) {
        let day = today();
        let noted = self.change(|notes| {
            notes.bytes = if notes.day == day { notes.bytes.saturating_add(bytes) } else { bytes };
            notes.day = day;
        });
        if let Err(reason) = noted {
            tracing::warn!("today's fetched bytes are not counted: {reason}");
        }
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
        first.spend(5);
        second.spend(7);
        assert!(second.agreed(here, "s3://b") && !second.agreed(here, "s3://c"));
        assert_eq!((second.spent(), second.read().agreed.len()), (12, 1));
        first.change(|notes| notes.day -= 1).expect("kept");
        assert_eq!(second.spent(), 0);
    }
}
