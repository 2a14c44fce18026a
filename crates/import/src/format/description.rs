//! The descriptions of file formats in `formats.toml`: their names, how their files are recognized, and how the columns are read or which
//! reader reads them. `described` reads described files.

mod saved_answers;

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::IgnoredAny};

use super::{
    super::{
        candles,
        error::ImportError,
        evidence::{CellKind, kind},
        outline::First,
        sheet::RawTable,
        sniff::{FileShape, Sniffed},
    },
    READERS, Reader,
    found::{ColumnNames, Found},
};
use load::{
    manifest::{ColumnManifest, TableManifest, read_tables},
    provider,
};
use model::{
    private_files::read_whole_text,
    toml_reader::{TomlDocument, TomlError},
};

/// User-defined formats: a file of this name next to `config.toml`, and one in a dataset's folder.
const FORMATS_FILE: &str = "formats.toml";
/// The format of files mapped by the user, whose name no other may have.
const MAPPED: &str = "own";
/// Maximum size of user-defined descriptions in bytes.
const OWN_MAX: u64 = 1 << 20;

/// The recognized formats, in the order in which they are tried.
#[derive(Debug)]
pub struct Formats(Vec<FormatRow>);

impl Formats {
    /// The built-in formats only.
    pub fn built_in() -> Self {
        let mut formats = Self::described();
        // A test holds that there is no error.
        formats.add_answers(provider::built_in()).ok();
        formats
    }

    /// Those of the program's own `formats.toml`.
    fn described() -> Self {
        let mut formats = Self(compiled_in());
        for at in 0..formats.0.len() {
            let mut row = std::mem::take(&mut formats.0[at]);
            row.inherit(&formats);
            formats.0[at] = row;
        }
        formats
    }

    /// The formats of a dataset's folder, then those next to config.toml, then those built in: `formats.toml`, and the saved responses that
    /// `providers` define. If two share a name, only the first counts. Errors name the file and the line.
    pub fn of(beside_config: Option<&Path>, dataset: Option<&Path>) -> Result<Self, ImportError> {
        let (mut formats, built_in) = (Self(Vec::new()), Self::described());
        for file in [dataset, beside_config]
            .into_iter()
            .flatten()
            .map(|folder| folder.join(FORMATS_FILE))
        {
            let mut own = match read_own(&file).map(|text| parse(&text)) {
                Ok(Ok(own)) => own,
                Ok(Err(error)) => return Err(ImportError::Formats { file, error }),
                Err(error) => return Err(ImportError::FormatsUnread { file, error }),
            };
            if own.iter().any(|format| format.word == MAPPED) {
                return Err(ImportError::FormatName { file, name: MAPPED });
            }
            for format in &mut own {
                format.inherit(&built_in);
            }
            formats.add(own.into_iter().map(|format| FormatRow {
                file: Some(file.clone()),
                ..format
            }));
        }
        formats.add(built_in.0);
        let providers = provider::all(beside_config, dataset).map_err(ImportError::Providers)?;
        formats.add_answers(&providers)?;
        Ok(formats)
    }

    fn add(&mut self, rows: impl IntoIterator<Item = FormatRow>) {
        for row in rows {
            if !self.0.iter().any(|known| known.word == row.word) {
                self.0.push(row);
            }
        }
    }

    pub fn rows(&self) -> &[FormatRow] {
        &self.0
    }

    /// The first format that recognizes the file.
    pub(crate) fn recognised(&self, sniffed: &Sniffed) -> Option<&FormatRow> {
        let header = sniffed.header();
        self.0
            .iter()
            .find(|format| format.recognises(sniffed, &header))
    }

    /// The format of files mapped by the user.
    pub(crate) fn mapped(&self) -> &FormatRow {
        self.0
            .iter()
            .find(|format| format.word == MAPPED)
            .unwrap_or(&self.0[0])
    }

    /// The formats as a Markdown table.
    pub fn table(&self) -> String {
        let row = |format: &FormatRow| {
            format!(
                "| {} | {} | {} |\n",
                format.title,
                format.looks,
                format.tables()
            )
        };
        format!(
            "| format | recognized by | table |\n|---|---|---|\n{}",
            self.0.iter().map(row).collect::<String>()
        )
    }
}

fn compiled_in() -> Vec<FormatRow> {
    parse(include_str!("../../formats.toml"))
        .expect("the formats are compiled in, and a test reads them")
}

/// The text of user-defined descriptions; empty if there is no such file.
fn read_own(file: &Path) -> io::Result<String> {
    match read_whole_text(file, OWN_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// A file format; `formats.toml` explains each key.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatRow {
    /// Short id.
    #[serde(skip)]
    pub word: String,
    /// The file that describes it, if it is user-defined.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    pub title: String,
    /// How to recognize it, for the user.
    pub looks: String,
    /// The tables it fills.
    pub into: Vec<String>,
    known: Vec<Signs>,
    reader: Option<String>,
    #[serde(skip)]
    read_by: Option<&'static Reader>,
    #[serde(rename = "tables")]
    _tables: IgnoredAny,
    /// How its columns are read, by table.
    #[serde(skip)]
    pub(super) mappings: Vec<(&'static str, TableManifest)>,
    #[serde(rename = "names")]
    _names: IgnoredAny,
    /// The names of columns elsewhere, by table.
    #[serde(skip)]
    names: Vec<ColumnNames>,
    pub(super) token: Option<TokenFrom>,
    pub(super) chain: Option<ChainFrom>,
    pub(super) first_of: BTreeMap<String, Vec<String>>,
    pub(super) bracketed: Option<String>,
    pub(super) filled: HashMap<String, String>,
    pub(super) left_out: HashMap<String, String>,
    pub(super) otherwise: String,
    pub(super) refused: Option<String>,
    pub(super) says: Vec<String>,
    /// Of its rows, only the last by this column.
    pub(super) latest: Option<String>,
    /// The place of a table's rows in JSON, if another than that by which the format is known.
    rows: HashMap<String, String>,
    pub(crate) ends: bool,
    pub(crate) token_at: Option<String>,
    pub(crate) symbol_at: Option<String>,
}

/// Where the token of a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TokenFrom {
    Named,
    Priced,
}

/// Where the chain of a file without one comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ChainFrom {
    Asked,
    Assumed,
}

/// Signs of a format, all of which must hold.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Signs {
    header: Vec<String>,
    any: Vec<String>,
    without: Vec<String>,
    exactly: Vec<String>,
    columns: Vec<String>,
    text: bool,
    named: Option<bool>,
    width: Option<(usize, usize)>,
    cells: BTreeMap<String, CellSign>,
    mentions: Option<String>,
    list: Option<String>,
    of: Option<usize>,
    objects: Vec<String>,
    members: Vec<String>,
    texts: Vec<String>,
}

/// What the first cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CellSign {
    Seconds,
    Milliseconds,
    Whole,
    /// Some have decimals.
    Decimals,
    /// Whole, and as large as amounts in wei.
    Wei,
    End,
    /// 32 bytes as hex.
    Hashes,
    /// Some are lists of objects, in JSON.
    Objects,
    /// Some are not empty.
    Given,
}

/// Amounts in wei reach at least this.
const WEI_LEAST: u128 = 10_000_000;

impl CellSign {
    fn holds(self, sheet: &RawTable, at: usize) -> bool {
        let cells = || sheet.column(at).take(50);
        let epochs = |digits: usize| {
            kind(cells()) == CellKind::Number && cells().all(|cell| cell.len() == digits)
        };
        match self {
            Self::Seconds => epochs(10),
            Self::Milliseconds => epochs(13),
            Self::Whole => cells().all(|cell| cell.parse::<u64>().is_ok()),
            Self::Decimals => {
                kind(cells()) == CellKind::Number && cells().any(|cell| cell.contains('.'))
            }
            Self::Wei => {
                let whole = |cell: &str| cell.parse::<u128>().ok();
                cells().all(|cell| whole(cell).is_some())
                    && sheet
                        .column(at)
                        .filter_map(whole)
                        .any(|amount| amount >= WEI_LEAST)
            }
            Self::Hashes => kind(cells()) == CellKind::Hash,
            Self::Objects => cells().any(|cell| cell.starts_with("[{")),
            Self::End => candles::has_close_times(sheet),
            Self::Given => sheet.column(at).any(|cell| !cell.trim().is_empty()),
        }
    }
}

impl Signs {
    /// The signs in words, for the list of formats.
    fn in_words(&self) -> String {
        let mut parts = Vec::new();
        let names: Vec<&str> = [&self.header, &self.any, &self.exactly, &self.columns]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        if !names.is_empty() {
            parts.push(format!(
                "{} {}",
                if names.len() == 1 {
                    "column"
                } else {
                    "columns"
                },
                names.join(", ")
            ));
        }
        if let Some(list) = &self.list {
            let place = if list.is_empty() {
                "a list".to_owned()
            } else {
                format!("{list}, a list")
            };
            let of = self.of.map_or_else(String::new, |length| {
                format!(" of lists with {length} elements")
            });
            let objects = if self.objects.is_empty() {
                String::new()
            } else {
                format!(" of objects with {}", self.objects.join(", "))
            };
            parts.push(format!("JSON: {place}{of}{objects}"));
        }
        if let Some((least, most)) = self.width {
            let width = if least == most {
                least.to_string()
            } else {
                format!("{least}–{most}")
            };
            parts.push(format!(
                "{width} columns{}",
                if self.named == Some(false) {
                    " without names"
                } else {
                    ""
                }
            ));
        }
        parts.extend(
            self.mentions
                .as_ref()
                .filter(|_| self.list.is_none())
                .map(|word| format!("`{word}` above its rows")),
        );
        if parts.is_empty() {
            parts.push(format!(
                "JSON: {}",
                [self.members.as_slice(), &self.texts].concat().join(", ")
            ));
        }
        parts.join(", ")
    }

    fn hold(&self, sniffed: &Sniffed, header: &[String]) -> bool {
        let (sheet, outline) = (sniffed.sheet.as_ref(), sniffed.outline());
        let names = sheet.map_or(&[][..], |sheet| &sheet.names);
        let in_header = |name: &String| header.contains(&name.to_lowercase());
        let cells = |(column, sign): (&String, &CellSign)| {
            let numbered = || {
                column
                    .parse::<usize>()
                    .ok()
                    .and_then(|number| number.checked_sub(1))
            };
            let at = names
                .iter()
                .position(|name| name.eq_ignore_ascii_case(column))
                .or_else(numbered);
            sheet
                .zip(at)
                .is_some_and(|(sheet, at)| sign.holds(sheet, at))
        };
        let list = |place: &String| {
            let first = outline.and_then(|outline| outline.list(place));
            first.is_some_and(|first| self.of.is_none_or(|length| *first == First::List(length)))
                && (self.objects.is_empty()
                    || outline.is_some_and(|outline| outline.objects(place, &self.objects)))
        };
        self.header.iter().all(in_header)
            && (self.any.is_empty() || self.any.iter().any(in_header))
            && !self.without.iter().any(in_header)
            && (self.exactly.is_empty()
                || matches!(sniffed.shape, FileShape::Columns(_)) && header == self.exactly)
            && self.columns.iter().all(|name| names.contains(name))
            && (!self.text || matches!(sniffed.shape, FileShape::Rows(_)))
            && self
                .named
                .is_none_or(|named| sheet.is_some_and(|sheet| sheet.named == named))
            && self
                .width
                .is_none_or(|(least, most)| (least..=most).contains(&names.len()))
            && self
                .mentions
                .as_ref()
                .is_none_or(|word| sheet.is_some_and(|sheet| sheet.mentions(word)))
            && self.list.as_ref().is_none_or(list)
            && self
                .members
                .iter()
                .all(|place| outline.is_some_and(|outline| outline.node(place).is_some()))
            && self
                .texts
                .iter()
                .all(|place| outline.is_some_and(|outline| outline.text(place).is_some()))
            && self.cells.iter().all(cells)
    }
}

/// Whether the mapping has keys that only fit `dataset.toml`.
fn says_where(manifest: &TableManifest) -> bool {
    !manifest.path.is_empty()
        || manifest.engine.is_some()
        || manifest.node.is_some()
        || manifest.headless
        || manifest.skip > 0
}

/// Reads descriptions. Errors name the line.
fn parse(text: &str) -> Result<Vec<FormatRow>, TomlError> {
    let document = TomlDocument::parse(text)?;
    let one = |entry: model::toml_reader::TomlEntry<'_>| -> Result<FormatRow, TomlError> {
        let mut format = FormatRow {
            word: entry.key.to_owned(),
            ..entry.read()?
        };
        if let Some(tables) = entry.table()?.iter().find(|member| member.key == "tables") {
            format.mappings = read_tables(tables)?;
            if let Some((table, _)) = format
                .mappings
                .iter()
                .find(|(_, manifest)| says_where(manifest))
            {
                let must = "sets where its rows are (`path`, `source`, `header`, `skip`), which a format cannot do";
                return Err(tables.error(format!("`{table}` {must}")));
            }
        }
        if let Some(names) = entry.table()?.iter().find(|member| member.key == "names") {
            format.names = ColumnNames::read(names)?;
        }
        if let Some(reader) = &format.reader {
            let names: Vec<&str> = READERS.iter().map(|reader| reader.word).collect();
            let known = READERS.iter().find(|known| known.word == reader);
            format.read_by =
                Some(known.ok_or_else(|| entry.unknown_name("reader", reader, &names))?);
        }
        if format.into.is_empty() {
            let described = || {
                format
                    .tables_described()
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            };
            format.into = format.read_by.map_or_else(described, |reader| {
                reader.into.split(' ').map(str::to_owned).collect()
            });
        }
        if format.known.is_empty() && format.names.is_empty() && format.read_by.is_none() {
            return Err(entry.wrong("has neither `known` nor a `reader`, so it matches no file"));
        }
        if format.into.is_empty() {
            return Err(
                entry.wrong("has neither `tables` nor a `reader`, so nothing is read from it")
            );
        }
        if format.title.is_empty() {
            format.title.clone_from(&format.word);
        }
        format.look();
        Ok(format)
    };
    document.entries().into_iter().map(one).collect()
}

impl FormatRow {
    /// Says how a file of it looks by its signs, where its description does not.
    fn look(&mut self) {
        if self.looks.is_empty() {
            self.looks = self
                .known
                .iter()
                .map(Signs::in_words)
                .collect::<Vec<_>>()
                .join("; ");
        }
    }

    /// Takes the names of columns from the format that describes them for its reader.
    fn inherit(&mut self, from: &Formats) {
        let reader = self.reader.as_ref().filter(|_| self.names.is_empty());
        if let Some(known) = from.0.iter().find(|known| {
            reader.is_some() && known.reader.as_ref() == reader && !known.names.is_empty()
        }) {
            self.names.clone_from(&known.names);
        }
    }

    pub(super) fn recognises(&self, sniffed: &Sniffed, header: &[String]) -> bool {
        let signed = self.known.is_empty() || self.signs(sniffed, header).is_some();
        let found = |names: &ColumnNames| {
            sniffed
                .sheet
                .as_ref()
                .is_some_and(|sheet| names.find(sheet).is_some())
        };
        signed
            && self.names.iter().all(found)
            && self
                .read_by
                .is_none_or(|reader| (reader.knows)(self, sniffed))
    }

    /// Whether it is the reader's format for files without signs of their own.
    pub(super) fn is_of_any_source(&self, reader: &str) -> bool {
        self.known.is_empty() && self.read_by.is_some_and(|read_by| read_by.word == reader)
    }

    /// The file's columns for a table by their names; `None` if it lacks one.
    pub(super) fn find(&self, table: &str, sheet: &RawTable) -> Option<Found> {
        self.names
            .iter()
            .find(|names| names.table.name == table)?
            .find(sheet)
    }

    /// The tables that it describes, in its order.
    pub(super) fn tables_described(&self) -> Vec<&'static str> {
        let named = self
            .names
            .iter()
            .map(|names| names.table.name)
            .filter(|name| !self.mappings.iter().any(|(table, _)| table == name));
        self.mappings
            .iter()
            .map(|(table, _)| *table)
            .chain(named)
            .collect()
    }

    /// How it says to read a table.
    pub(super) fn manifest(&self, table: &str) -> TableManifest {
        self.mappings
            .iter()
            .find(|(known, _)| *known == table)
            .map_or_else(TableManifest::default, |(_, manifest)| manifest.clone())
    }

    /// How to read a schema column, if the file has the column that the description names.
    pub(crate) fn said(
        &self,
        table: &str,
        ours: &str,
        sheet: &RawTable,
    ) -> Option<&ColumnManifest> {
        let (_, manifest) = self.mappings.iter().find(|(known, _)| *known == table)?;
        let rule = manifest.columns.get(ours)?;
        rule.from
            .as_ref()
            .is_some_and(|from| {
                sheet
                    .names
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(from))
            })
            .then_some(rule)
    }

    /// Whether the description names the column for a schema column.
    pub(super) fn states(&self, table: &str, ours: &str) -> bool {
        self.mappings.iter().any(|(known, manifest)| {
            *known == table
                && manifest
                    .columns
                    .get(ours)
                    .is_some_and(|rule| rule.from.is_some())
        })
    }

    pub(super) fn reader(&self) -> Option<&'static Reader> {
        self.read_by
    }

    fn signs(&self, sniffed: &Sniffed, header: &[String]) -> Option<&Signs> {
        self.known.iter().find(|signs| signs.hold(sniffed, header))
    }

    /// The place of a table's rows in a JSON text, if it names one.
    pub(super) fn place(&self, table: &str, sniffed: &Sniffed) -> Option<&str> {
        let of_sign = || self.signs(sniffed, &sniffed.header())?.list.as_deref();
        self.rows.get(table).map(String::as_str).or_else(of_sign)
    }

    /// Its tables, for people: "any table" if they are many.
    pub fn tables(&self) -> String {
        if self.into.len() > 3 {
            "any table".to_owned()
        } else {
            self.into.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;

    #[test]
    fn every_format_goes_to_tables_there_are_and_a_mistake_is_named() {
        for format in Formats::built_in().rows() {
            assert!(
                !format.into.is_empty()
                    && format
                        .into
                        .iter()
                        .all(|table| schema::table(table).is_some()),
                "{}",
                format.word
            );
            assert!(
                !format.title.is_empty() && !format.looks.is_empty(),
                "{}",
                format.word
            );
        }
        for (text, expected) in [
            (
                "[a]\nreader = 'candels'",
                "line 1: unknown reader `candels`; did you mean `candles`?",
            ),
            (
                "[a]\ntitle = 'x'",
                "line 1: `a` has neither `known` nor a `reader`, so it matches no file",
            ),
            (
                "[a]\nknown = [{ header = ['x'] }]",
                "line 1: `a` has neither `tables` nor a `reader`, so nothing is read from it",
            ),
            (
                "[a]\nreader = 'holders'\n[a.tables.candels]",
                "line 3: unknown table `candels`; did you mean `candles`?",
            ),
            (
                "[a]\nreader = 'holders'\n[a.tables.holders]\nskip = 1",
                "line 3: `holders` sets where its rows are (`path`, `source`, `header`, `skip`), which a format cannot do",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
        let misspelt = parse("[a]\n\nknwon = []").unwrap_err().to_string();
        assert!(
            misspelt.contains("line 3") && misspelt.contains("knwon"),
            "{misspelt}"
        );
    }
}
