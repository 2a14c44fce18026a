//! How a long load tells where it stands and learns that it is no longer wanted. No clock, no terminal.

/// Watches a load. Called from several threads, once a batch.
pub trait LoadProgress: Sync {
    /// `done` of `total` bytes of the table are read. An error ends the load.
    fn step(&self, table: &str, done: u64, total: u64) -> Result<(), Cancelled>;
    /// What is about to be fetched from elsewhere, for the person.
    fn fetching(&self, _says: &str) {}
}

/// The load is no longer wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl LoadProgress for Silent {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Cancelled> {
        Ok(())
    }
}
