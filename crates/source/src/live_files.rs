//! The files of the rows that came by themselves: where they lie in the dataset's folder. Which of several versions of a row holds belongs
//! to `store`, fetching them to `live`.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folder in the dataset's.
pub const FOLDER: &str = "live";
/// Bytes of a file of the history that is read.
pub const HISTORY_BYTES_MAX: u64 = 2 << 30;
/// Folder below it with the snapshots of tables without a time.
pub const HISTORY: &str = "history";

/// The file with the rows of a table.
pub fn file(dataset: &Path, table: &str) -> PathBuf {
    dataset.join(FOLDER).join(format!("{table}.parquet"))
}

/// Folder with the parts that were fetched since the file was written, and are newer in the order of their names.
pub fn parts_folder(dataset: &Path, table: &str) -> PathBuf {
    dataset.join(FOLDER).join(table)
}

/// Folder with the snapshots of a table.
pub fn history_folder(dataset: &Path, table: &str) -> PathBuf {
    dataset.join(FOLDER).join(HISTORY).join(table)
}

/// The Parquet files of a folder, by name.
fn parquet_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "parquet") && file.is_file());
    files.sort();
    files
}

/// The snapshots of a table, oldest first.
pub fn history_files(dataset: &Path, table: &str) -> Vec<PathBuf> {
    parquet_in(&history_folder(dataset, table))
}

/// The table's file and its parts, oldest first; those there are.
pub fn files(dataset: &Path, table: &str) -> Vec<PathBuf> {
    let parts = parquet_in(&parts_folder(dataset, table));
    let file = file(dataset, table);
    file.is_file().then_some(file).into_iter().chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_after_the_file_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(files(folder.path(), "candles").is_empty());
        fs::create_dir_all(parts_folder(folder.path(), "candles")).expect("a folder");
        for name in ["candles/2.parquet", "candles/10.parquet", "candles.parquet", "candles/.x.tmp"] {
            fs::write(folder.path().join(FOLDER).join(name), "x").expect("written");
        }
        let names: Vec<_> = files(folder.path(), "candles").iter().map(|file| file.file_name().expect("a name").to_owned()).collect();
        assert_eq!(names, ["candles.parquet", "10.parquet", "2.parquet"]);
    }
}
