//! Reads a folder of tables into a dataset.

use std::path::Path;

use super::{Dataset, progress::Progress};

/// Why a folder is no dataset, in one line for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError(pub String);

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

pub fn load(folder: &Path, _: &dyn Progress) -> Result<Dataset, LoadError> {
    Err(LoadError(format!("`{}` cannot be read yet", folder.display())))
}
