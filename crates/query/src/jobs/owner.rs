//! Ownership of the job queue: the process that holds the lock on the lock file runs the jobs. The system releases the lock when the
//! process ends, however it ends.

use std::{
    fs::{File, TryLockError},
    io::ErrorKind,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

#[derive(Debug)]
pub(super) struct Owner {
    file: Mutex<Option<File>>,
    owner: AtomicBool,
}

impl Owner {
    pub(super) fn new(state_dir: &Path) -> Result<Self, String> {
        let path = state_dir.join("jobs.lock");
        let file = ::store::private_files::open_private(&path).map_err(|error| {
            format!("cannot write `{}`: {error}: make the state directory writable, or set XDG_STATE_HOME to one that is", path.display())
        })?;
        let owner = Self { file: Mutex::new(Some(file)), owner: AtomicBool::new(false) };
        owner.try_take();
        Ok(owner)
    }

    pub(super) fn is_owner(&self) -> bool {
        self.owner.load(Ordering::Acquire)
    }

    /// Tries to acquire ownership; true if this call acquired it.
    pub(super) fn try_take(&self) -> bool {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = file.as_ref().filter(|_| !self.is_owner()) else { return false };
        let taken = match file.try_lock() {
            Ok(()) => true,
            // Some network file systems have no locks; a single process is more likely there than several.
            Err(TryLockError::Error(error)) => error.kind() == ErrorKind::Unsupported,
            Err(TryLockError::WouldBlock) => false,
        };
        self.owner.store(taken, Ordering::Release);
        taken
    }

    /// Releases ownership to another process; to be called once no job runs here any more.
    pub(super) fn release(&self) {
        self.owner.store(false, Ordering::Release);
        drop(self.file.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
