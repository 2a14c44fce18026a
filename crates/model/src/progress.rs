//! Progress and cancellation of a long load. Uses no clock and no terminal.

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
