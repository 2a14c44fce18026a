//! Parses a configuration against the table of settings. Each error is one line: file, line, the setting in backquotes, the expected value.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use color_eyre::eyre::{Result, eyre};
use toml::de::DeValue;

use super::{
    Config, GivenSetting, KEYS_SECTION, SECTIONS, SETTINGS, SettingRow, field::SettingValue,
    sources,
};
use model::{
    spelling::{is_near, likeness},
    toml_reader::{TomlDocument, TomlEntry, TomlError, one_or_several},
};
use wire::Source;

/// Wrong names under which users put an API key into `[api]`.
const SECRETS: [&str; 8] = [
    "key",
    "keys",
    "api_key",
    "api_keys",
    "apikey",
    "x_api_key",
    "x-api-key",
    "secret",
];

/// Validated content of a configuration file: the values by (section, key).
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) file: Option<&'a Path>,
    pub(super) keys: toml::Table,
    pub(super) sources: Vec<Source>,
    folder: PathBuf,
    pub(super) said: Vec<GivenSetting>,
    pub(super) said_of_sources: Vec<(String, GivenSetting)>,
    values: HashMap<(&'static str, &'static str), &'a DeValue<'a>>,
}

impl Given<'_> {
    /// Returns the given value, or the default.
    pub(super) fn value<T: SettingValue>(&self, section: &str, key: &str) -> T {
        let row = SETTINGS
            .iter()
            .find(|row| row.section == section && row.key == key)
            .expect("the macro uses only rows of its own table");
        let given = self
            .values
            .get(&(row.section, row.key))
            .and_then(|value| T::read(value, row.expect, &self.folder));
        given.unwrap_or_else(|| by_default(row))
    }
}

/// Parses the default. Its paths are relative to the working directory, wherever the file is.
fn by_default<T: SettingValue>(row: &SettingRow) -> T {
    let value = DeValue::parse(row.default)
        .expect("every default is valid TOML: a test parses all of them");
    T::read(value.get_ref(), row.expect, Path::new(""))
        .expect("every row accepts its default: a test checks all of them")
}

pub(super) fn read(
    file: Option<&Path>,
    text: &str,
    build: impl Fn(&Given<'_>) -> Config,
) -> Result<Config> {
    let tell = |error: &TomlError| {
        let name = file.map_or_else(|| super::FILE.to_owned(), |file| file.display().to_string());
        eyre!("{name}:{}: {}", error.line, error.reason)
    };
    let document = TomlDocument::parse(text)
        .map_err(|error| tell(&error.prefixed("the file is not valid TOML: ")))?;
    let folder = file
        .and_then(Path::parent)
        .map_or_else(PathBuf::new, Path::to_owned);
    let mut given = Given {
        file,
        folder,
        values: HashMap::new(),
        keys: toml::Table::new(),
        sources: Vec::new(),
        said: Vec::new(),
        said_of_sources: Vec::new(),
    };
    let mut errors = Vec::new();
    walk("", document.entries(), &mut given, &mut errors);
    match errors.iter().min() {
        Some(first) => Err(tell(first)),
        None => Ok(build(&given)),
    }
}

/// Reads the settings of the section `prefix` and of its subsections.
fn walk<'a>(
    prefix: &str,
    entries: Vec<TomlEntry<'a>>,
    given: &mut Given<'a>,
    errors: &mut Vec<TomlError>,
) {
    for entry in entries {
        let key = entry.key;
        let full = if prefix.is_empty() {
            key.to_owned()
        } else {
            format!("{prefix}.{key}")
        };
        let not = |expected: &str| {
            entry.error(format!(
                "`{full}` is {}: expected {expected}",
                shown(&entry)
            ))
        };
        let said = |section, key| GivenSetting {
            section,
            key,
            value: entry.written().to_owned(),
            line: entry.line(),
        };
        if prefix == KEYS_SECTION {
            match own_keys(entry.value) {
                Some(keys) => drop(given.keys.insert(key.to_owned(), keys)),
                None => errors.push(not("a key or a list of keys, as in [\"y\", \"F5\"]")),
            }
        } else if let Some(row) = SETTINGS
            .iter()
            .find(|row| row.section == prefix && row.key == key)
        {
            if (row.accepts)(entry.value, row.expect) {
                given.values.insert((row.section, row.key), entry.value);
                given.said.push(said(row.section, row.key));
            } else if row.expect.is_secret() {
                errors.push(entry.error(format!("`{full}`: expected {}", row.expect.sentence())));
            } else {
                errors.push(not(&row.expect.sentence()));
            }
        } else if prefix == sources::SECTION || SECTIONS.iter().any(|section| section.name == full)
        {
            match entry.section() {
                Some(inner) if prefix == sources::SECTION => {
                    let (source, said) = sources::read(&entry, &inner, errors);
                    given.sources.push(source);
                    given
                        .said_of_sources
                        .extend(said.into_iter().map(|said| (key.to_owned(), said)));
                }
                Some(inner) => walk(&full, inner, given, errors),
                None => errors.push(not(&format!("a section, [{full}]"))),
            }
        } else {
            errors.push(entry.error(unknown(prefix, key, &full)));
        }
    }
}

/// Reads a key or a list of keys. The key table validates the names.
fn own_keys(value: &DeValue<'_>) -> Option<toml::Value> {
    let texts = one_or_several(value, |value| {
        value
            .as_str()
            .map(|text| toml::Value::String(text.to_owned()))
    });
    texts.map(toml::Value::Array)
}

fn unknown(prefix: &str, key: &str, full: &str) -> String {
    if prefix == "api" && SECRETS.contains(&key.to_lowercase().as_str()) {
        return format!(
            "`{full}`: keys do not belong in this file; put them in a separate file, one per line, and set `api.keys_file` to its path, \
             or set TOKENDECK_API_KEY"
        );
    }
    let settings = SETTINGS
        .iter()
        .map(|row| format!("{}.{}", row.section, row.key));
    let known = settings.chain(SECTIONS.iter().map(|section| section.name.to_owned()));
    // A setting without its section, or in the wrong one, is compared by its own name.
    let likeness = |name: &str| {
        likeness(full, name).max(0.99 * likeness(key, name.rsplit('.').next().unwrap_or(name)))
    };
    let nearest = known
        .map(|name| (likeness(&name), name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, nearest)) = nearest.filter(|(likeness, _)| is_near(*likeness)) {
        return format!("unknown setting `{full}`: did you mean `{nearest}`?");
    }
    let names: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
    format!("unknown setting `{full}`; sections: {}", names.join(", "))
}

/// The value as written, truncated for a message.
fn shown(entry: &TomlEntry<'_>) -> String {
    if entry.value.is_table() {
        return "a section".to_owned();
    }
    let text = entry
        .written()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if text.chars().count() > 60 {
        text.chars().take(59).chain(['…']).collect()
    } else {
        text
    }
}
