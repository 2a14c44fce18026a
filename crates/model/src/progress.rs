//! Progress and cancellation of a query and of a long load: one call reports progress and learns of cancellation. Uses no clock and no terminal.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::error::{self, Code, Problem};

/// Shared by the asking and the answering thread.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
    /// Whether a part of the answer is missing that may be there the next time.
    partial: AtomicBool,
    /// The parent query's progress, for a part of it.
    parent: Option<Progress>,
}

impl Progress {
    /// Reports `done` of `total` steps. Errors: canceled.
    pub fn step(&self, done: u64, total: u64) -> error::Result<()> {
        self.0.done.store(done, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
        if self.cancelled() {
            Err(Problem::new(Code::Cancelled, "The query was canceled."))
        } else {
            Ok(())
        }
    }

    /// Progress for a part of the query: canceled with the parent, its own steps are not reported.
    #[must_use]
    pub fn quiet(&self) -> Self {
        Self(Arc::new(Inner {
            parent: Some(self.clone()),
            ..Inner::default()
        }))
    }

    /// (done, total); total 0 while unknown.
    pub fn state(&self) -> (u64, u64) {
        (
            self.0.done.load(Ordering::Relaxed),
            self.0.total.load(Ordering::Relaxed),
        )
    }

    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// A part of the result is missing but may be available next time, so the result is not cached.
    pub fn note_partial(&self) {
        self.0.partial.store(true, Ordering::Relaxed);
        if let Some(parent) = &self.0.parent {
            parent.note_partial();
        }
    }

    pub fn is_partial(&self) -> bool {
        self.0.partial.load(Ordering::Relaxed)
    }

    pub fn cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
            || self.0.parent.as_ref().is_some_and(Self::cancelled)
    }
}

/// Observer of a load. Called from several threads, once per batch.
pub trait LoadProgress: Sync {
    /// `done` of `total` bytes of the table are read; `total` 0 if unknown. An error cancels the load.
    fn step(&self, table: &str, done: u64, total: u64) -> Result<(), Cancelled>;
    /// Whether the user requested a refresh, so that state from nodes is read again.
    fn renews(&self) -> bool {
        false
    }
    /// Announces a coming download, for the user.
    fn fetching(&self, _says: &str) {}
}

/// The user canceled the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// An observer that ignores progress and never cancels.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl LoadProgress for NoProgress {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Cancelled> {
        Ok(())
    }
}
