//! Puts what an import made in its place: each file is whole before it is renamed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{ImportError, describe, spool, table_index};
use crate::dataset::manifest::FILE;

/// A table that changed: where its file is and where it belongs.
pub(super) struct Finished {
    pub table: &'static str,
    pub from: PathBuf,
    pub to: PathBuf,
    pub paths: Option<Vec<String>>,
    /// Columns that came from floating-point numbers, which the dataset does not say yet.
    pub approximate: Vec<&'static str>,
}

/// Gives the finished files their places: each is whole before, so whatever ends the program meanwhile leaves whole tables. Tokens come
/// first, as the other tables' rows are of them.
pub(super) fn place(into: &Path, text: &str, finished: &[Finished]) -> Result<(), ImportError> {
    let mut described = text.to_owned();
    for finished in finished {
        if let Some(paths) = &finished.paths {
            described = describe::with_path(&described, finished.table, paths)?;
        }
        for column in &finished.approximate {
            described = describe::with_approximate(&described, finished.table, column)?;
        }
    }
    if text.is_empty() && !finished.is_empty() {
        let name = into.canonicalize().ok().and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
        described.insert_str(0, &describe::fresh(&name.unwrap_or_else(|| "dataset".to_owned())));
    }
    let failed = |path: &Path, error: std::io::Error| ImportError::Failed(spool::failed(path, &error));
    for finished in finished {
        if let Some(folder) = finished.to.parent() {
            fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        }
    }
    let mut order: Vec<&Finished> = finished.iter().collect();
    order.sort_by_key(|finished| table_index(finished.table));
    for finished in order {
        fs::rename(&finished.from, &finished.to).map_err(|error| failed(&finished.to, error))?;
    }
    if described != text {
        let (from, to) = (into.join(".import").join(FILE), into.join(FILE));
        fs::write(&from, &described).and_then(|()| fs::File::open(&from)?.sync_all()).map_err(|error| failed(&to, error))?;
        fs::rename(&from, &to).map_err(|error| failed(&to, error))?;
    }
    // The renames themselves last; where a folder cannot be synced, they do so in time.
    fs::File::open(into).and_then(|folder| folder.sync_all()).ok();
    Ok(())
}
