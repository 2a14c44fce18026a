//! File names in responses: relative to the dataset's folder, so that no response reveals its location.

use std::path::Path;

use super::Dataset;

impl Dataset {
    /// Path of a source file or of a finding's file, relative to the dataset's folder; only the name for a file outside it.
    pub fn name_of(&self, file: &str) -> String {
        file_in(&self.folder, file)
    }
}

/// Like `Dataset::name_of`, for a dataset that could not be loaded.
pub fn file_in(folder: &Path, file: &str) -> String {
    let path = Path::new(file);
    match path.strip_prefix(folder) {
        Ok(inside) if !folder.as_os_str().is_empty() => inside.to_string_lossy().into_owned(),
        _ if path.is_absolute() => path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        _ => file.to_owned(),
    }
}
