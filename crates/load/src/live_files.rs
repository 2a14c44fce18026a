//! The files of live rows: where they are in the dataset's folder. `part_files` decides which version of a row wins, and `live` fetches
//! the rows.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Name of the folder in the dataset's folder.
pub const FOLDER: &str = "live";
/// Maximum bytes of a history file that is read.
pub const HISTORY_BYTES_MAX: u64 = 2 << 30;
/// Folder in `FOLDER` with the history of tables whose rows have no time.
pub const HISTORY: &str = "history";

/// The file with the rows of a table.
pub fn file(dataset: &Path, table: &str) -> PathBuf {
    dataset.join(FOLDER).join(format!("{table}.parquet"))
}

/// Folder with the parts that were fetched since the file was written; a later name is newer.
pub fn parts_folder(dataset: &Path, table: &str) -> PathBuf {
    dataset.join(FOLDER).join(table)
}

/// Folder with the history of a table.
pub fn history_folder(dataset: &Path, table: &str) -> PathBuf {
    dataset.join(FOLDER).join(HISTORY).join(table)
}

/// The Parquet files of a folder, by name.
fn parquet_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.retain(|file| {
        file.extension().is_some_and(|ending| ending == "parquet") && file.is_file()
    });
    files.sort();
    files
}

/// The history files of a table, oldest first.
pub fn history_files(dataset: &Path, table: &str) -> Vec<PathBuf> {
    parquet_in(&history_folder(dataset, table))
}

/// The table's file and its parts, oldest first, as far as they exist.
pub fn files(dataset: &Path, table: &str) -> Vec<PathBuf> {
    let parts = parquet_in(&parts_folder(dataset, table));
    let file = file(dataset, table);
    file.is_file()
        .then_some(file)
        .into_iter()
        .chain(parts)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_after_the_file_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(files(folder.path(), "candles").is_empty());
        fs::create_dir_all(parts_folder(folder.path(), "candles")).expect("a folder");
        for name in [
            "candles/2.parquet",
            "candles/10.parquet",
            "candles.parquet",
            "candles/.x.tmp",
        ] {
            fs::write(folder.path().join(FOLDER).join(name), "x").expect("written");
        }
        let names: Vec<_> = files(folder.path(), "candles")
            .iter()
            .map(|file| file.file_name().expect("a name").to_owned())
            .collect();
        assert_eq!(names, ["candles.parquet", "10.parquet", "2.parquet"]);
    }
}
