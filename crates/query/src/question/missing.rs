//! The rows missing for the parts of one result. The query service fetches them.

use model::error::{Problem, Result};

/// Collects what the parts of one answer miss, so that all of it is fetched at once.
#[derive(Debug, Default)]
pub struct MissingRows(Option<Problem>);

impl MissingRows {
    /// Takes over the missing rows of a part; any other outcome is returned.
    pub fn take<T>(&mut self, part: Result<T>) -> Option<Result<T>> {
        match part {
            Err(problem) if problem.is_missing_rows() => {
                match &mut self.0 {
                    Some(first) => first.missing.extend(problem.missing),
                    None => self.0 = Some(problem),
                }
                None
            }
            part => Some(part),
        }
    }

    /// Errors: rows are missing.
    pub fn check(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
