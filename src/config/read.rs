//! Reads the text of a configuration against the table. Whatever is wrong is said in one line: file, line, the setting in
//! backquotes, what was expected.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use toml::de::{DeTable, DeValue};

use super::{Config, GivenSetting, KEYS_SECTION, SECTIONS, SETTINGS, SettingRow, field::Field, sources};
use crate::wire::{Consent, Source};

/// Names under which people put a key into `[api]`.
const SECRETS: [&str; 8] = ["key", "keys", "api_key", "api_keys", "apikey", "x_api_key", "x-api-key", "secret"];

/// What the file gives: the values by (section, key), each of which its row accepts.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) file: Option<&'a Path>,
    pub(super) keys: toml::Table,
    pub(super) sources: Vec<Source>,
    folder: PathBuf,
    pub(super) said: Vec<GivenSetting>,
    pub(super) said_of_sources: Vec<(String, GivenSetting)>,
    text: &'a str,
    values: HashMap<(&'static str, &'static str), DeValue<'a>>,
}

impl Given<'_> {
    /// The value given, or else the default.
    pub(super) fn value<T: Field>(&self, section: &str, key: &str) -> T {
        let row = SETTINGS.iter().find(|row| row.section == section && row.key == key).expect("the macro names rows of its own table");
        let given = self.values.get(&(row.section, row.key)).and_then(|value| T::field(value, row.expect, &self.folder));
        given.unwrap_or_else(|| by_default(row))
    }
}

/// A default is relative to the working folder, wherever the file lies.
fn by_default<T: Field>(row: &SettingRow) -> T {
    let value = DeValue::parse(row.default).expect("every default is TOML: the test of the defaults reads them all");
    T::field(value.get_ref(), row.expect, Path::new("")).expect("every row accepts its default: the test of the defaults reads them all")
}

/// Something wrong, and where in the text.
type Fault = (usize, String);

pub(super) fn read(file: Option<&Path>, text: &str, build: impl Fn(&Given<'_>) -> Config) -> Result<Config, String> {
    let tell = |(offset, message): Fault| {
        let line = line_of(text, offset);
        let name = file.map_or_else(|| super::FILE.to_owned(), |file| file.display().to_string());
        format!("{name}:{line}: {message}")
    };
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        tell((offset, format!("is not TOML: {}", error.message().replace('\n', ", "))))
    })?;
    let folder = file.and_then(Path::parent).map_or_else(PathBuf::new, Path::to_owned);
    let mut given = Given {
        file,
        folder,
        values: HashMap::new(),
        keys: toml::Table::new(),
        sources: Vec::new(),
        said: Vec::new(),
        said_of_sources: Vec::new(),
        text,
    };
    let mut faults = Vec::new();
    walk("", document.get_ref(), &mut given, &mut faults);
    faults.sort();
    match faults.into_iter().next() {
        Some(fault) => Err(tell(fault)),
        None => Ok(build(&given)),
    }
}

/// The line that the offset is in, the first being 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Takes the settings of the section `prefix` and of those in it.
fn walk<'a>(prefix: &str, table: &DeTable<'a>, given: &mut Given<'a>, faults: &mut Vec<Fault>) {
    for (key, value) in table {
        let (offset, key) = (key.span().start, key.get_ref().as_ref());
        let full = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        let content = value.get_ref();
        if prefix == KEYS_SECTION {
            match own_keys(content) {
                Some(keys) => drop(given.keys.insert(key.to_owned(), keys)),
                None => faults
                    .push((offset, format!("`{full}` is {}: expected a key or a list of keys, as in [\"y\", \"F5\"]", shown(content)))),
            }
        } else if prefix == sources::SECTION {
            match content.as_table() {
                Some(table) => {
                    given.sources.push(sources::read(key, table, offset, faults));
                    for row in sources::SOURCE_SETTINGS {
                        let Some((written, value)) = table.get_key_value(row.key) else { continue };
                        let (value, line) = (given.text.get(value.span()).unwrap_or_default(), line_of(given.text, written.span().start));
                        let setting = GivenSetting { section: sources::SECTION, key: row.key, value: value.to_owned(), line };
                        given.said_of_sources.push((key.to_owned(), setting));
                    }
                }
                None => faults.push((offset, format!("`{full}` is {}: expected a section, [{full}]", shown(content)))),
            }
        } else if let Some(row) = SETTINGS.iter().find(|row| row.section == prefix && row.key == key) {
            if accepts(row, content) {
                given.values.insert((row.section, row.key), content.clone());
                let written = given.text.get(value.span()).unwrap_or_default().to_owned();
                given.said.push(GivenSetting { section: row.section, key: row.key, value: written, line: line_of(given.text, offset) });
            } else {
                faults.push((offset, format!("`{full}` is {}: expected {}", shown(content), row.expect.sentence())));
            }
        } else if SECTIONS.iter().any(|section| section.name == full) {
            match content.as_table() {
                Some(inner) => walk(&full, inner, given, faults),
                None => faults.push((offset, format!("`{full}` is {}: expected a section, [{full}]", shown(content)))),
            }
        } else {
            faults.push((offset, unknown(prefix, key, &full)));
        }
    }
}

/// A key or a list of keys. Which keys there are is the key table's to say.
fn own_keys(value: &DeValue<'_>) -> Option<toml::Value> {
    if let Some(key) = value.as_str() {
        return Some(toml::Value::String(key.to_owned()));
    }
    let texts = value.as_array()?.iter().map(|item| Some(toml::Value::String(item.get_ref().as_str()?.to_owned())));
    texts.collect::<Option<Vec<_>>>().map(toml::Value::Array)
}

fn accepts(row: &SettingRow, value: &DeValue<'_>) -> bool {
    use super::field::{Expect, ThemeChoice};
    let (expect, folder) = (row.expect, Path::new(""));
    match expect {
        Expect::Switch => bool::field(value, expect, folder).is_some(),
        Expect::Path => PathBuf::field(value, expect, folder).is_some(),
        Expect::OptionalPath => Option::<PathBuf>::field(value, expect, folder).is_some(),
        Expect::Listen => String::field(value, expect, folder).is_some(),
        Expect::Hosts | Expect::Origins => Vec::<String>::field(value, expect, folder).is_some(),
        Expect::Consent => Consent::field(value, expect, folder).is_some(),
        Expect::Theme => ThemeChoice::field(value, expect, folder).is_some(),
        Expect::Whole(..) => u32::field(value, expect, folder).is_some(),
        Expect::Number(..) => f64::field(value, expect, folder).is_some(),
    }
}

fn unknown(prefix: &str, key: &str, full: &str) -> String {
    if prefix == "api" && SECRETS.contains(&key.to_lowercase().as_str()) {
        return format!(
            "`{full}`: keys do not belong in this file: put them into a file of their own, one a line, and name it with `api.keys_file`, \
             or set TOKENDECK_API_KEY"
        );
    }
    let settings = SETTINGS.iter().map(|row| format!("{}.{}", row.section, row.key));
    let mut known: Vec<String> = settings.chain(SECTIONS.iter().map(|section| section.name.to_owned())).collect();
    // A setting without its section, or in another one, is judged by its own name.
    let likeness = |name: &str| {
        let own = name.rsplit('.').next().unwrap_or(name);
        strsim::jaro_winkler(full, name).max(0.99 * strsim::jaro_winkler(key, own))
    };
    known.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    if let Some(nearest) = known.first().filter(|name| likeness(name) > 0.7) {
        return format!("unknown setting `{full}`: did you mean `{nearest}`?");
    }
    let names: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
    format!("unknown setting `{full}`: there are the sections {}", names.join(", "))
}

/// The value as a person wrote it, shortened.
fn shown(value: &DeValue<'_>) -> String {
    let text = match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(integer) => integer.as_str().to_owned(),
        DeValue::Float(float) => float.as_str().to_owned(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().take(4).map(|item| shown(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(_) => "a section".to_owned(),
    };
    if text.chars().count() > 60 { text.chars().take(59).chain(['…']).collect() } else { text }
}
