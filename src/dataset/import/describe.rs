//! Adds a path to `dataset.toml` without touching anything else in it: its text is edited, never written anew, and what comes out is
//! read again before it counts.

use std::fmt::Write as _;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::dataset::manifest::{FILE, Manifest};

/// The text for a dataset that has none yet.
pub(super) fn fresh(title: &str) -> String {
    format!("# Describes this dataset; `tokendeck schema --template` shows all that can be said here.\ntitle = {}\n", quoted(title))
}

/// The text with `path` of the table being `paths`. An error says what the person can do.
pub(super) fn with_path(text: &str, table: &str, paths: &[String]) -> Result<String, String> {
    let manifest = Manifest::parse(text)?;
    let mut expected = manifest.clone();
    let schema = crate::dataset::schema::table(table).ok_or_else(|| format!("no table `{table}`"))?;
    expected.tables.entry(schema.name).or_default().path = paths.to_vec();
    let list = format!("[{}]", paths.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(", "));
    let edited = [replaced(text, table, &list), under_header(text, table, &list), Some(appended(text, table, &list))];
    let good = edited.into_iter().flatten().find(|edited| Manifest::parse(edited).is_ok_and(|manifest| manifest == expected));
    good.ok_or_else(|| {
        format!("{FILE} speaks of `{table}` in a way that cannot be added to: write path = {list} there, under [tables.{table}]")
    })
}

/// The text with the value of `path` in place of the old one.
fn replaced(text: &str, table: &str, list: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let mut tables: &DeTable<'_> = document.get_ref();
    for name in ["tables", table] {
        match member(tables, name)?.get_ref() {
            DeValue::Table(inner) => tables = inner,
            _ => return None,
        }
    }
    let span = member(tables, "path")?.span();
    Some(format!("{}{list}{}", &text[..span.start], &text[span.end..]))
}

fn member<'a, 't>(table: &'a DeTable<'t>, name: &str) -> Option<&'a Spanned<DeValue<'t>>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}

/// The text with a line under the header `[tables.NAME]`.
fn under_header(text: &str, table: &str, list: &str) -> Option<String> {
    let header = format!("[tables.{table}]");
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let plain = line.split('#').next().unwrap_or_default().replace([' ', '\t', '"', '\''], "");
        if plain.trim_end() == header {
            let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
            let before = if line.ends_with('\n') { "" } else { end };
            return Some(format!("{}{before}path = {list}{end}{}", &text[..at], &text[at..]));
        }
    }
    None
}

/// The text with a section more at its end.
fn appended(text: &str, table: &str, list: &str) -> String {
    let mut edited = text.to_owned();
    if !edited.is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    // Writing to a String cannot fail.
    write!(edited, "\n[tables.{table}]\npath = {list}\n").ok();
    edited
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_added_and_every_other_line_stays() {
        let paths = ["a.csv".to_owned(), "imported/candles.parquet".to_owned()];
        let list = r#"["a.csv", "imported/candles.parquet"]"#;
        for (text, expected) in [
            ("", format!("\n[tables.candles]\npath = {list}\n")),
            ("# mine\ntitle = 'x'", format!("# mine\ntitle = 'x'\n\n[tables.candles]\npath = {list}\n")),
            (
                "[tables.candles] # daily\npath = \"a.csv\" # from me\ncolumns = { open = 'o' }\n[tables.posts]\npath='p.csv'\n",
                format!("[tables.candles] # daily\npath = {list} # from me\ncolumns = {{ open = 'o' }}\n[tables.posts]\npath='p.csv'\n"),
            ),
            (
                "[tables.candles]\r\ncolumns = { open = 'o' }\r\n",
                format!("[tables.candles]\r\npath = {list}\r\ncolumns = {{ open = 'o' }}\r\n"),
            ),
            (
                "[tables.candles.columns]\nopen = 'o'\n",
                format!("[tables.candles.columns]\nopen = 'o'\n\n[tables.candles]\npath = {list}\n"),
            ),
            ("[tables]\ncandles = { path = 'a.csv' }\n", format!("[tables]\ncandles = {{ path = {list} }}\n")),
        ] {
            assert_eq!(with_path(text, "candles", &paths).expect(text), expected, "{text}");
        }
        let inline = "tables = { candles = { columns = { open = 'o' } } }\n";
        assert!(with_path(inline, "candles", &paths).unwrap_err().contains("in a way that cannot be added to"));
    }

    #[test]
    fn a_fresh_one_can_be_read() {
        let manifest = Manifest::parse(&fresh("my \"data\" 漢字")).unwrap();
        assert_eq!(manifest.title.as_deref(), Some("my \"data\" 漢字"));
    }
}
