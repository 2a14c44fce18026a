//! Edits `dataset.toml`: adds a path, or marks amounts as approximate, and leaves every other line unchanged. An edit is accepted only if
//! the result parses.

use std::fmt::Write as _;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::error::ImportError;
use load::manifest::{Manifest, TableManifest};

/// The initial text for a dataset without a `dataset.toml`.
pub(super) fn fresh(title: &str) -> String {
    format!(
        "# Describes this dataset; `tokendeck schema --template` shows every key.\ntitle = {}\n",
        quoted(title)
    )
}

/// Sets `path` of the table to `paths`. Errors: how the user can resolve it.
pub(super) fn with_path(
    text: &str,
    table: &'static str,
    paths: &[String],
) -> Result<String, ImportError> {
    let list = format!(
        "[{}]",
        paths
            .iter()
            .map(|path| quoted(path))
            .collect::<Vec<_>>()
            .join(", ")
    );
    with(
        text,
        table,
        vec![replaced(text, table, &list)],
        &format!("path = {list}"),
        |said| said.path = paths.to_vec(),
    )
}

/// Marks a column of the table as approximate, wherever its columns are described.
pub(super) fn with_approximate(
    text: &str,
    table: &'static str,
    column: &'static str,
) -> Result<String, ImportError> {
    let line =
        |below: &str, says: &str| under_header(text, &format!("{table}.columns{below}"), says);
    let tried = vec![
        approximated(text, table, column),
        line("", &format!("{column}.approximate = true")),
        line(&format!(".{column}"), "approximate = true"),
    ];
    with(
        text,
        table,
        tried,
        &format!("columns.{column}.approximate = true"),
        |said| {
            said.columns.entry(column).or_default().approximate = true;
        },
    )
}

/// Tries the texts, then adding a line for the table; returns the first text that parses to the intended manifest and changes nothing else.
fn with(
    text: &str,
    table: &'static str,
    mut tried: Vec<Option<String>>,
    line: &str,
    say: impl FnOnce(&mut TableManifest),
) -> Result<String, ImportError> {
    let mut expected = Manifest::parse(text).map_err(ImportError::Manifest)?;
    let schema = model::schema::table(table).ok_or(ImportError::UnknownTable(table))?;
    say(expected.tables.entry(schema.name).or_default());
    tried.extend([
        under_header(text, table, line),
        Some(appended(text, table, line)),
    ]);
    let good = tried
        .into_iter()
        .flatten()
        .find(|edited| Manifest::parse(edited).is_ok_and(|manifest| manifest == expected));
    good.ok_or_else(|| ImportError::NotDescribed {
        table,
        line: line.to_owned(),
    })
}

/// Replaces the value of an existing `path`.
fn replaced(text: &str, table: &str, list: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let mut tables: &DeTable<'_> = document.get_ref();
    for name in ["tables", table] {
        tables = inner(tables, name)?;
    }
    let span = member(tables, "path")?.span();
    Some(format!(
        "{}{list}{}",
        &text[..span.start],
        &text[span.end..]
    ))
}

/// Marks a column as approximate where it, or all columns of the table, are described on one line.
fn approximated(text: &str, table: &str, column: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let table = inner(inner(document.get_ref(), "tables")?, table)?;
    let (span, adds) = match member(inner(table, "columns")?, column) {
        Some(value) if !matches!(value.get_ref(), DeValue::Table(_)) => {
            let span = value.span();
            let (before, said, after) = (
                text.get(..span.start)?,
                text.get(span.clone())?,
                text.get(span.end..)?,
            );
            return Some(format!(
                "{before}{{ from = {said}, approximate = true }}{after}"
            ));
        }
        Some(value) => (value.span(), "approximate = true".to_owned()),
        None => (
            member(table, "columns")?.span(),
            format!("{column} = {{ approximate = true }}"),
        ),
    };
    let described = text.get(span.clone())?.strip_suffix('}')?.trim_end();
    Some(format!(
        "{}{described}, {adds} }}{}",
        text.get(..span.start)?,
        text.get(span.end..)?
    ))
}

fn inner<'a, 't>(table: &'a DeTable<'t>, name: &str) -> Option<&'a DeTable<'t>> {
    match member(table, name)?.get_ref() {
        DeValue::Table(inner) => Some(inner),
        _ => None,
    }
}

fn member<'a, 't>(table: &'a DeTable<'t>, name: &str) -> Option<&'a Spanned<DeValue<'t>>> {
    table
        .iter()
        .find(|(key, _)| key.get_ref() == name)
        .map(|(_, value)| value)
}

/// Inserts a line after the header `[tables.NAME]`.
fn under_header(text: &str, table: &str, says: &str) -> Option<String> {
    let header = format!("[tables.{table}]");
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let plain = line
            .split('#')
            .next()
            .unwrap_or_default()
            .replace([' ', '\t', '"', '\''], "");
        if plain.trim_end() == header {
            let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
            let before = if line.ends_with('\n') { "" } else { end };
            return Some(format!("{}{before}{says}{end}{}", &text[..at], &text[at..]));
        }
    }
    None
}

/// Appends a section for the table.
fn appended(text: &str, table: &str, says: &str) -> String {
    let mut edited = text.to_owned();
    if !edited.is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    // Writing to a String cannot fail.
    write!(edited, "\n[tables.{table}]\n{says}\n").ok();
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
            (
                "# mine\ntitle = 'x'",
                format!("# mine\ntitle = 'x'\n\n[tables.candles]\npath = {list}\n"),
            ),
            (
                "[tables.candles] # daily\npath = \"a.csv\" # from me\ncolumns = { open = 'o' }\n[tables.posts]\npath='p.csv'\n",
                format!(
                    "[tables.candles] # daily\npath = {list} # from me\ncolumns = {{ open = 'o' }}\n[tables.posts]\npath='p.csv'\n"
                ),
            ),
            (
                "[tables.candles]\r\ncolumns = { open = 'o' }\r\n",
                format!("[tables.candles]\r\npath = {list}\r\ncolumns = {{ open = 'o' }}\r\n"),
            ),
            (
                "[tables.candles.columns]\nopen = 'o'\n",
                format!(
                    "[tables.candles.columns]\nopen = 'o'\n\n[tables.candles]\npath = {list}\n"
                ),
            ),
            (
                "[tables]\ncandles = { path = 'a.csv' }\n",
                format!("[tables]\ncandles = {{ path = {list} }}\n"),
            ),
        ] {
            assert_eq!(
                with_path(text, "candles", &paths).expect(text),
                expected,
                "{text}"
            );
        }
        let inline = "tables = { candles = { columns = { open = 'o' } } }\n";
        assert!(
            with_path(inline, "candles", &paths)
                .unwrap_err()
                .to_string()
                .contains("in a way that an import cannot extend")
        );
    }

    #[test]
    fn amounts_are_said_to_be_approximate() {
        let says = "columns.value.approximate = true\n";
        for (text, expected) in [
            ("", format!("\n[tables.transfers]\n{says}")),
            (
                "[tables.transfers]\npath = 'a.csv'\n",
                format!("[tables.transfers]\n{says}path = 'a.csv'\n"),
            ),
        ] {
            let edited = with_approximate(text, "transfers", "value").unwrap();
            assert_eq!(edited, expected);
            assert!(
                Manifest::parse(&edited).unwrap().tables["transfers"].columns["value"].approximate
            );
        }
        let header = "[tables.transfers";
        for (columns, expected) in [
            (
                "]\ncolumns = { value = 'v' } # mine\n",
                "]\ncolumns = { value = { from = 'v', approximate = true } } # mine\n",
            ),
            (
                "]\ncolumns = { value = { from = 'v', unit = 'whole' } }\n",
                "]\ncolumns = { value = { from = 'v', unit = 'whole', approximate = true } }\n",
            ),
            (
                "]\ncolumns = { status = 's' }\n",
                "]\ncolumns = { status = 's', value = { approximate = true } }\n",
            ),
            (
                "]\ncolumns.value.from = 'v'\n",
                "]\ncolumns.value.approximate = true\ncolumns.value.from = 'v'\n",
            ),
            (
                ".columns]\nvalue = 'v'\n",
                ".columns]\nvalue = { from = 'v', approximate = true }\n",
            ),
            (
                ".columns]\nstatus = 's'\n",
                ".columns]\nvalue.approximate = true\nstatus = 's'\n",
            ),
            (
                ".columns.value]\nfrom = 'v'\n",
                ".columns.value]\napproximate = true\nfrom = 'v'\n",
            ),
        ] {
            let text = format!("{header}{columns}");
            assert_eq!(
                with_approximate(&text, "transfers", "value").expect(&text),
                format!("{header}{expected}"),
                "{columns}"
            );
        }
    }

    #[test]
    fn a_fresh_dataset_toml_can_be_read() {
        let manifest = Manifest::parse(&fresh("my \"data\" 漢字")).unwrap();
        assert_eq!(manifest.title.as_deref(), Some("my \"data\" 漢字"));
    }
}
