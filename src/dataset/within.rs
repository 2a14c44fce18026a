//! Names of files in answers: relative to the dataset's folder, so that no answer tells where that is.

use std::path::Path;

use super::Dataset;

impl Dataset {
    /// The file of a source or a finding within the dataset's folder; one that lies elsewhere by its name alone.
    pub fn name_of(&self, file: &str) -> String {
        file_in(&self.folder, file)
    }
}

/// As `Dataset::name_of`, of a dataset that could not be read.
pub fn file_in(folder: &Path, file: &str) -> String {
    let path = Path::new(file);
    match path.strip_prefix(folder) {
        Ok(inside) if !folder.as_os_str().is_empty() => inside.to_string_lossy().into_owned(),
        _ if path.is_absolute() => path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        _ => file.to_owned(),
    }
}
