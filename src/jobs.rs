//! Deep-analysis jobs.

/// The jobs of this user.
#[derive(Debug)]
pub struct Jobs;
