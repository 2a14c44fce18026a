//! The user's consents to remote origins, and today's use of the budget: one file, replaced atomically.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use color_eyre::eyre::{Report, Result};
use serde::{Deserialize, Serialize};

use model::private_files::{KeptState, exclusively, read_state, write_atomic};
use wire::{Fault, Ledger};

const FILE: &str = "remote.json";
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Maximum number of consents, more than a user gives; the oldest are dropped first.
const AGREED_MAX: usize = 10_000;
/// Days stored in addition to the last one.
const DAYS_MAX: usize = 31;

/// Content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Notes {
    agreed: Vec<Agreement>,
    #[serde(flatten)]
    last: SpentOnDay,
    /// Earlier days, and later days if the clock was set back: no day gets its budget twice.
    days: Vec<SpentOnDay>,
}

/// Use of the budget on one day.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
struct SpentOnDay {
    /// Days since 1970, UTC, and the bytes and requests to each provider of that day.
    day: u64,
    bytes: u64,
    requests: BTreeMap<String, u64>,
    /// The use is unknown because the file was damaged: the budget counts as used.
    unknown: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Agreement {
    dataset: PathBuf,
    origin: String,
}

impl Notes {
    /// Notes of a day whose budget counts as used.
    fn unknown(day: u64) -> Self {
        Self {
            last: SpentOnDay {
                day,
                unknown: true,
                ..SpentOnDay::default()
            },
            ..Self::default()
        }
    }

    /// With that day as the last.
    fn of(mut self, day: u64) -> Self {
        if self.last.day != day {
            let known = self
                .days
                .iter()
                .position(|known| known.day == day)
                .map(|at| self.days.remove(at));
            let before = std::mem::replace(
                &mut self.last,
                known.unwrap_or(SpentOnDay {
                    day,
                    ..SpentOnDay::default()
                }),
            );
            self.days.push(before);
            let over = self.days.len().saturating_sub(DAYS_MAX);
            self.days.drain(..over);
        }
        self
    }
}

/// The user's ledger, in their state directory.
#[derive(Debug)]
pub struct Remote {
    folder: PathBuf,
}

impl Remote {
    pub fn new(state_dir: &Path) -> Self {
        Self {
            folder: state_dir.to_owned(),
        }
    }

    /// An unreadable file contains no consent, so the user has to agree again, and no budget.
    fn read(&self) -> Notes {
        self.kept().unwrap_or_else(|reason| {
            tracing::warn!("{reason}");
            Notes::unknown(today())
        })
    }

    fn kept(&self) -> Result<Notes> {
        let path = self.folder.join(FILE);
        let parsed = |text: &str| {
            serde_json::from_str(text).map_err(|error| {
                let path = path.display();
                format!("{error}; today's budget for remote data counts as used until midnight UTC, or until you delete the new `{path}`")
            })
        };
        Ok(
            match read_state(&path, FILE_BYTES_MAX, parsed).map_err(Report::msg)? {
                KeptState::Read(notes) => notes,
                KeptState::Missing => Notes::default(),
                KeptState::SetAside(_) => {
                    let notes = Notes::unknown(today());
                    self.write(&notes)?;
                    notes
                }
            },
        )
    }

    fn write(&self, notes: &Notes) -> Result<()> {
        let text = serde_json::to_vec_pretty(notes)?;
        write_atomic(&self.folder.join(FILE), &text).map_err(Report::msg)
    }

    fn change(&self, change: impl FnOnce(&mut Notes)) -> Result<()> {
        exclusively(&self.folder, || {
            let mut notes = self.kept()?;
            change(&mut notes);
            self.write(&notes)
        })
    }
}

fn today() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() / 86_400)
}

impl Ledger for Remote {
    fn agreed(&self, dataset: &Path, origin: &str) -> bool {
        self.read()
            .agreed
            .iter()
            .any(|agreed| agreed.dataset == dataset && agreed.origin == origin)
    }

    fn agree(&self, dataset: &Path, origin: &str) -> Result<(), Fault> {
        let agreement = Agreement {
            dataset: dataset.to_owned(),
            origin: origin.to_owned(),
        };
        self.change(|notes| {
            if !notes.agreed.contains(&agreement) {
                notes.agreed.push(agreement);
            }
            let over = notes.agreed.len().saturating_sub(AGREED_MAX);
            notes.agreed.drain(..over);
        })
        .map_err(|reason| Fault::Failed(reason.to_string()))
    }

    fn spent(&self) -> u64 {
        let today = self.read().of(today()).last;
        if today.unknown { u64::MAX } else { today.bytes }
    }

    fn requests(&self, provider: &str) -> u64 {
        let today = self.read().of(today()).last;
        if today.unknown {
            u64::MAX
        } else {
            today.requests.get(provider).copied().unwrap_or_default()
        }
    }

    fn spend(&self, bytes: u64, requests: &BTreeMap<String, u64>) -> bool {
        let noted = self.change(|notes| {
            *notes = std::mem::take(notes).of(today());
            let today = &mut notes.last;
            today.bytes = today.bytes.saturating_add(bytes);
            for (provider, count) in requests {
                let counted = today.requests.entry(provider.clone()).or_default();
                *counted = counted.saturating_add(*count);
            }
        });
        if let Err(reason) = &noted {
            tracing::warn!("cannot record today's downloads: {reason}");
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
        assert_eq!(
            (first.requests("kraken"), first.requests("binance")),
            (3, 0)
        );
        assert!(second.agreed(here, "s3://b") && !second.agreed(here, "s3://c"));
        assert_eq!((second.spent(), second.read().agreed.len()), (12, 1));
        first.change(|notes| notes.last.day -= 1).expect("kept");
        assert_eq!((second.spent(), second.requests("kraken")), (0, 0));
        // As after a clock that was a day ahead and was set back: the day before is remembered.
        first.spend(3, &requests(1));
        first
            .change(|notes| *notes = std::mem::take(notes).of(today() - 1))
            .expect("kept");
        assert_eq!(
            (
                first.read().last.bytes,
                second.spent(),
                second.requests("kraken")
            ),
            (12, 3, 1)
        );
    }

    #[test]
    fn a_damaged_file_gives_no_budget_anew_and_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (remote, path) = (Remote::new(folder.path()), folder.path().join(FILE));
        remote.agree(Path::new("/here"), "s3://b").expect("kept");
        remote.spend(5, &BTreeMap::new());
        let whole = std::fs::read_to_string(&path).expect("the file");
        std::fs::write(&path, format!("\u{feff}{whole}")).expect("written");
        assert_eq!(
            (remote.spent(), remote.agreed(Path::new("/here"), "s3://b")),
            (5, true),
            "a mark is no damage"
        );
        // As an earlier version wrote it.
        std::fs::write(
            &path,
            format!(
                r#"{{"agreed":[],"day":{},"bytes":7,"requests":{{"k":1}}}}"#,
                today()
            ),
        )
        .expect("written");
        assert_eq!((remote.spent(), remote.requests("k")), (7, 1));
        let cut = &whole[..whole.len() - 1];
        std::fs::write(&path, cut).expect("written");
        assert_eq!(
            (
                remote.spent(),
                remote.requests("k"),
                remote.agreed(Path::new("/here"), "s3://b")
            ),
            (u64::MAX, u64::MAX, false)
        );
        assert_eq!(
            Remote::new(folder.path()).spent(),
            u64::MAX,
            "nor is it given to the next program"
        );
        assert!(remote.spend(1, &BTreeMap::new()) && remote.spent() == u64::MAX);
        let aside = std::fs::read_dir(folder.path())
            .expect("the folder")
            .flatten()
            .find(|file| {
                file.file_name()
                    .to_string_lossy()
                    .contains("remote.json.damaged-")
            });
        assert_eq!(
            std::fs::read_to_string(aside.expect("kept aside").path()).expect("text"),
            cut
        );
        remote.change(|notes| notes.last.day -= 1).expect("kept");
        assert_eq!(remote.spent(), 0, "another day");
    }
}
