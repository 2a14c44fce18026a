//! Deep-analysis jobs.

/// The jobs of this user.
#[derive(Debug)]
pub struct Jobs;

impl Jobs {
    pub fn open_count(&self) -> usize {
        0
    }
}
