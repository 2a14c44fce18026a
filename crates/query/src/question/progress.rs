//! Progress and cancellation of a question: one call reports progress and learns of cancellation.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use model::error::{Code, Problem, Result};

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
    /// The parent question's progress, for a part of it.
    parent: Option<Progress>,
}

impl Progress {
    /// Reports `done` of `total` steps. Errors: canceled.
    pub fn step(&self, done: u64, total: u64) -> Result<()> {
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
