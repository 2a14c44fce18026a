//! Ownership of a dataset's queue: the process that owns the lock on the dataset's lock file runs its jobs. The system releases the lock
//! when the process ends, however it ends.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
};

use crate::error::JobsError;
use model::{
    locks::Locked as _,
    private_files::{is_ours, open_private},
};
use sha2::{Digest as _, Sha256};

#[derive(Debug)]
pub(super) struct Owner {
    state_dir: PathBuf,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// The dataset whose lock file is open, whether this process has its lock, and the file.
    dataset: Option<(String, bool, File)>,
    released: bool,
}

/// Takes the lock of the first process on the store; `None` where another has it.
pub(super) fn first(state_dir: &Path) -> Result<Option<File>, JobsError> {
    let path = state_dir.join("jobs.lock");
    let file = opened(&path)?;
    Ok(is_ours(file.try_lock(), &path).then_some(file))
}

fn opened(path: &Path) -> Result<File, JobsError> {
    open_private(path).map_err(|error| JobsError::LockFile {
        path: path.to_owned(),
        error,
    })
}

impl Owner {
    /// Errors: the lock file of `dataset` cannot be opened.
    pub(super) fn new(state_dir: &Path, dataset: &str) -> Result<Self, JobsError> {
        let owner = Self {
            state_dir: state_dir.to_owned(),
            held: Mutex::default(),
        };
        owner.lock().open(state_dir, dataset)?;
        owner.try_take(dataset, true);
        Ok(owner)
    }

    /// Owns no queue, and never takes one.
    pub(super) fn none(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            held: Mutex::new(Held {
                dataset: None,
                released: true,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.locked()
    }

    pub(super) fn is_owner(&self, dataset: &str) -> bool {
        self.lock()
            .dataset
            .as_ref()
            .is_some_and(|(held, taken, _)| *taken && held == dataset)
    }

    /// Tries to acquire ownership of the dataset's queue; true if this call acquired it. That of another dataset is released, once the
    /// process is `idle`.
    pub(super) fn try_take(&self, dataset: &str, idle: bool) -> bool {
        let mut held = self.lock();
        if held.released {
            return false;
        }
        let is_other = held
            .dataset
            .as_ref()
            .is_none_or(|(held, ..)| held != dataset);
        if is_other && (!idle || held.open(&self.state_dir, dataset).is_err()) {
            return false;
        }
        let Some((_, taken, file)) = held.dataset.as_mut().filter(|(_, taken, _)| !*taken) else {
            return false;
        };
        *taken = is_ours(file.try_lock(), &self.state_dir);
        *taken
    }

    /// Releases ownership to another process; to be called once no job runs here any more.
    pub(super) fn release(&self) {
        *self.lock() = Held {
            dataset: None,
            released: true,
        };
    }
}

impl Held {
    /// Opens the dataset's lock file in place of another's.
    fn open(&mut self, state_dir: &Path, dataset: &str) -> Result<(), JobsError> {
        let name = const_hex::encode(&Sha256::digest(dataset)[..8]);
        self.dataset = Some((
            dataset.to_owned(),
            false,
            opened(&state_dir.join(format!("jobs-{name}.lock")))?,
        ));
        Ok(())
    }
}
