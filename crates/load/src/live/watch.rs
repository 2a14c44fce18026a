//! The observer of a refresh or search: receives its progress and its waits, and may stop it.

use std::time::Duration;

/// Observer of a refresh. Called from several threads.
pub trait RefreshWatch: Send + Sync {
    /// `done` of `total` things of the table were asked for.
    fn step(&self, _table: &str, _provider: &str, _done: usize, _total: usize) {}
    /// The next request waits: for the provider's limit, or because it says so.
    fn waits(&self, _provider: &str, _wait: Duration, _asked: bool) {}
    /// Whether it shall end.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// An observer that never stops the refresh.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl RefreshWatch for Unwatched {}
