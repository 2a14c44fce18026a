//! SQLite databases are refused, with a list of their tables and the command that exports one of them as CSV.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// The refusal of a database: its tables, and the command that exports one of them.
pub(super) fn refusal(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tables = tables(path).unwrap_or_default();
    let shown: Vec<String> = tables.iter().take(8).map(|(table, columns)| format!("{table} ({})", columns.join(", "))).collect();
    let more = if tables.len() > shown.len() { " and more" } else { "" };
    let first = tables.first().map_or("TABLE", |(table, _)| table.as_str());
    let holds = if shown.is_empty() { "no table that can be read".to_owned() } else { format!("{}{more}", shown.join("; ")) };
    format!(
        "is an SQLite database, and which of its tables is meant must be said: it holds {holds}. Write the one you mean as CSV and import that: \
         sqlite3 -header -csv '{name}' 'SELECT * FROM \"{first}\"' > {first}.csv"
    )
}

fn tables(path: &Path) -> Option<Vec<(String, Vec<String>)>> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX).ok()?;
    let mut names =
        database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name").ok()?;
    let names: Vec<String> = names.query_map([], |row| row.get(0)).ok()?.filter_map(Result::ok).take(100).collect();
    let columns = |table: &String| -> Option<Vec<String>> {
        let mut read = database.prepare("SELECT name FROM pragma_table_info(?1)").ok()?;
        let columns = read.query_map([table], |row| row.get(0)).ok()?;
        Some(columns.filter_map(Result::ok).take(10).collect())
    };
    Some(names.iter().map(|table| (table.clone(), columns(table).unwrap_or_default())).collect())
}
