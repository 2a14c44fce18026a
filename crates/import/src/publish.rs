//! Puts the files of an import in place by rename, each only once it is complete.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use super::{describe, error::ImportError, table_index};
use load::manifest::FILE;

/// A changed table: its staged file and its destination.
pub(super) struct Finished {
    pub table: &'static str,
    pub from: PathBuf,
    pub to: PathBuf,
    pub paths: Option<Vec<String>>,
    /// Columns from floating-point numbers that `dataset.toml` does not yet mark as approximate.
    pub approximate: Vec<&'static str>,
}

/// Renames the finished files into place. Each is complete before that, so an interruption leaves only complete tables. Tokens go first, as
/// the other tables' rows refer to them.
pub(super) fn publish(into: &Path, text: &str, finished: &[Finished]) -> Result<(), ImportError> {
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
        let name = into.canonicalize().ok().and_then(|path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        });
        described.insert_str(
            0,
            &describe::fresh(&name.unwrap_or_else(|| "dataset".to_owned())),
        );
    }
    for finished in finished {
        if let Some(folder) = finished.to.parent() {
            fs::create_dir_all(folder).map_err(|error| ImportError::not_written(folder, error))?;
        }
    }
    let mut order: Vec<&Finished> = finished.iter().collect();
    order.sort_by_key(|finished| table_index(finished.table));
    for finished in order {
        fs::rename(&finished.from, &finished.to)
            .map_err(|error| ImportError::not_written(&finished.to, error))?;
    }
    if described != text {
        let (from, to) = (into.join(".import").join(FILE), into.join(FILE));
        let written = fs::File::create(&from).and_then(|mut file| {
            file.write_all(described.as_bytes())
                .and_then(|()| file.sync_all())
        });
        written
            .and_then(|()| fs::rename(&from, &to))
            .map_err(|error| ImportError::not_written(&to, error))?;
    }
    // Makes the renames durable; if a folder cannot be synced, the system does so later.
    fs::File::open(into)
        .and_then(|folder| folder.sync_all())
        .ok();
    Ok(())
}
