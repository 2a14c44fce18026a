//! SQLite databases: a table is read directly, and nothing is written. Where there are several, the one that is meant must be named behind the
//! file, as in `wallet.db/transfers`.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, types::ValueRef};

use super::{
    error::DatabaseError,
    workbook::{CELLS_MAX, NamedSheet},
};

/// Maximum number of tables that are looked at.
const TABLES_MAX: usize = 1_000;
/// Maximum size of a value in bytes; larger ones are no cells of a table.
const VALUE_MAX: usize = 1 << 20;

type Columns = Vec<String>;

/// The rows of the table that is `wanted`, or of the only one, below a row with the names of its columns. `file` is its name for the user.
pub(super) fn table(
    path: &Path,
    file: &str,
    wanted: Option<&str>,
) -> Result<NamedSheet, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let database =
        Connection::open_with_flags(address(path), flags).map_err(DatabaseError::Unread)?;
    let mut tables = tables(&database).map_err(DatabaseError::Unread)?;
    let chosen = match wanted {
        Some(wanted) => tables
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case(wanted)),
        None => Some(0).filter(|_| tables.len() == 1),
    };
    let Some(chosen) = chosen else {
        return Err(DatabaseError::WhichTable {
            file: file.to_owned(),
            tables,
            wanted: wanted.map(str::to_owned),
        });
    };
    let (name, columns) = tables.swap_remove(chosen);
    let rows = rows(&database, &name, &columns)?;
    Ok((name, rows))
}

/// The file as SQLite opens it without writing anything next to it: a database in WAL mode is read as unchangeable, unless rows wait in its log.
/// Only absolute paths of Unix are written as such an address.
fn address(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let log = path.with_file_name(format!(
        "{}-wal",
        path.file_name().unwrap_or_default().to_string_lossy()
    ));
    let waits = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    match path.to_str().filter(|path| path.starts_with('/') && !waits) {
        Some(text) => PathBuf::from(format!(
            "file:{}?immutable=1",
            text.replace('%', "%25")
                .replace('?', "%3f")
                .replace('#', "%23")
        )),
        None => path,
    }
}

/// The tables with their columns, without those that are computed.
fn tables(database: &Connection) -> rusqlite::Result<Vec<(String, Columns)>> {
    // What the file itself says to be computed is not.
    database.execute_batch("PRAGMA trusted_schema = 0")?;
    let mut names =
        database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")?;
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))?
        .filter_map(Result::ok)
        .take(TABLES_MAX)
        .collect();
    let columns = |table: String| -> rusqlite::Result<(String, Columns)> {
        let mut read = database.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns = read
            .query_map([&table], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        Ok((table, columns))
    };
    names.into_iter().map(columns).collect()
}

fn rows(
    database: &Connection,
    table: &str,
    columns: &[String],
) -> Result<Vec<Vec<String>>, DatabaseError> {
    let broken = |error| DatabaseError::UnreadTable {
        table: table.to_owned(),
        error,
    };
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    let mut read = database
        .prepare(&format!(
            "SELECT {} FROM {}",
            names.join(", "),
            quoted(table)
        ))
        .map_err(broken)?;
    let (mut read, mut rows) = (read.query([]).map_err(broken)?, vec![columns.to_vec()]);
    while let Some(row) = read.next().map_err(broken)? {
        if rows.len() * columns.len() >= CELLS_MAX {
            return Err(DatabaseError::TooManyValues {
                table: table.to_owned(),
                max: CELLS_MAX,
            });
        }
        let cell = |at: usize| row.get_ref(at).map(cell).map_err(broken);
        rows.push((0..columns.len()).map(cell).collect::<Result<_, _>>()?);
    }
    Ok(rows)
}

fn cell(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() > VALUE_MAX => String::new(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).trim().to_owned(),
        // Addresses and hashes.
        ValueRef::Blob(bytes) => bytes.iter().fold("0x".to_owned(), |mut text, byte| {
            write!(text, "{byte:02x}").ok();
            text
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::command_line::shell_word;

    #[test]
    fn a_table_is_read_and_one_of_several_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let database = Connection::open(&path).unwrap();
        database
            .execute_batch(
                "CREATE TABLE \"$(touch x) \"\"'\" (a, \"b c\", z AS (zeroblob(1000000000)));
                 INSERT INTO \"$(touch x) \"\"'\" VALUES (1, x'00ff'), (2.5, NULL), (' t ', '');",
            )
            .unwrap();
        let odd = "$(touch x) \"'";
        let rows = [["a", "b c"], ["1", "0x00ff"], ["2.5", ""], ["t", ""]]
            .map(|row| row.map(str::to_owned).to_vec())
            .to_vec();
        let read = |wanted| table(&path, "a.db", wanted).map_err(|error| error.to_string());
        assert_eq!(read(None), Ok((odd.to_owned(), rows.clone())));
        database.execute_batch("CREATE TABLE other (x)").unwrap();
        let asked = read(None).unwrap_err();
        assert!(
            asked.contains("(a, b c); other (x)")
                && asked.ends_with(&shell_word(&format!("a.db/{odd}"))),
            "{asked}"
        );
        assert!(
            read(Some("none"))
                .unwrap_err()
                .contains("without a table `none`")
        );
        assert_eq!(read(Some(odd)), Ok((odd.to_owned(), rows)));
        assert_eq!(
            read(Some("OTHER")),
            Ok(("other".to_owned(), vec![vec!["x".to_owned()]]))
        );
    }
    #[test]
    fn nothing_is_written_beside_a_database_and_rows_in_its_log_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a?b#c%.db");
        let database = Connection::open(&path).unwrap();
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)",
            )
            .unwrap();
        let read = || table(&path, "a.db", None).unwrap().1.len();
        assert_eq!(read(), 2, "the row is in the log");
        database.close().unwrap();
        assert_eq!(read(), 2);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "only the database"
        );
    }
}
