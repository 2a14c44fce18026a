//! The descriptions of file formats in `formats.toml`: their names, how a file of each is recognised, and how its columns are read or who
//! reads it. What becomes of a described file is in `described`.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::IgnoredAny};

use super::{
    super::{
        candles,
        evidence::{CellKind, kind},
        outline::First,
        sheet::Sheet,
        sniff::{FileShape, Sniffed},
    },
    READERS, Reader,
};
use model::toml_reader::{TomlDocument, TomlError};
use store::manifest::{TableManifest, read_tables};

/// A person's own formats: a file of this name beside `config.toml`, and one in a dataset's folder.
pub const FORMATS_FILE: &str = "formats.toml";
/// The format of files mapped by the user, whose name no other may have.
const MAPPED: &str = "own";
/// Bytes of a person's own descriptions.
const OWN_MAX: u64 = 1 << 20;

/// The formats that are known, in the order in which they are tried.
#[derive(Debug)]
pub struct Formats(Vec<FormatRow>);

impl Formats {
    pub fn built_in() -> Self {
        Self(parse(include_str!("../../formats.toml")).expect("the formats are compiled in, and a test reads them"))
    }

    /// A person's own before those built in, those of the first file first; of two of one name, only the first. A file that is not there
    /// describes none. Errors name file and line.
    pub fn with_own(files: &[PathBuf]) -> Result<Self, String> {
        let mut formats = Self(Vec::new());
        for file in files {
            let text = read_own(file)?;
            let own = parse(&text).map_err(|reason| format!("`{}`, {reason}", file.display()))?;
            if own.iter().any(|format| format.word == MAPPED) {
                return Err(format!(
                    "`{}` describes `{MAPPED}`, which is the name of tables in our own columns: take another",
                    file.display()
                ));
            }
            formats.add(own.into_iter().map(|format| FormatRow { file: Some(file.clone()), ..format }));
        }
        formats.add(Self::built_in().0);
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

    /// The first format that recognises the file.
    pub(crate) fn of(&self, sniffed: &Sniffed) -> Option<&FormatRow> {
        let header = sniffed.header();
        self.0.iter().find(|format| format.recognises(sniffed, &header))
    }

    /// The format of files mapped by the user.
    pub(crate) fn mapped(&self) -> &FormatRow {
        self.0.iter().find(|format| format.word == MAPPED).unwrap_or(&self.0[0])
    }

    /// The formats as a Markdown table.
    pub fn table(&self) -> String {
        let row = |format: &FormatRow| format!("| {} | {} | {} |\n", format.title, format.looks, format.tables());
        format!("| format | known by | goes to |\n|---|---|---|\n{}", self.0.iter().map(row).collect::<String>())
    }
}

/// The text of a person's own descriptions; empty if there is no such file.
fn read_own(file: &Path) -> Result<String, String> {
    let unread = |reason: String| format!("`{}` cannot be read: {reason}", file.display());
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(unread(error.to_string())),
    };
    let mut text = String::new();
    opened.take(OWN_MAX + 1).read_to_string(&mut text).map_err(|error| unread(error.to_string()))?;
    if text.len() as u64 > OWN_MAX { Err(unread(format!("it has more than {} KiB", OWN_MAX >> 10))) } else { Ok(text) }
}

/// A file format; `formats.toml` says what each key means.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatRow {
    /// Short id.
    #[serde(skip)]
    pub word: String,
    /// The file that describes it, if it is a person's own.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    pub title: String,
    /// How to recognise it, for the user.
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
    pub(super) token: Option<TokenFrom>,
    pub(super) chain: Option<ChainFrom>,
    pub(super) first_of: BTreeMap<String, Vec<String>>,
    pub(super) bracketed: Option<String>,
    pub(super) filled: HashMap<String, String>,
    pub(super) left_out: HashMap<String, String>,
    pub(super) otherwise: String,
    pub(super) refused: Option<String>,
    pub(super) says: Vec<String>,
    pub(crate) order: Vec<String>,
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
#[derive(Debug, Default, Deserialize)]
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
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CellSign {
    Seconds,
    Milliseconds,
    Whole,
    End,
}

impl CellSign {
    fn holds(self, sheet: &Sheet, at: usize) -> bool {
        let cells = || sheet.column(at).take(50);
        let epochs = |digits: usize| kind(cells()) == CellKind::Number && cells().all(|cell| cell.len() == digits);
        match self {
            Self::Seconds => epochs(10),
            Self::Milliseconds => epochs(13),
            Self::Whole => cells().all(|cell| cell.parse::<u64>().is_ok()),
            Self::End => candles::has_close_times(sheet),
        }
    }
}

impl Signs {
    fn hold(&self, sniffed: &Sniffed, header: &[String]) -> bool {
        let (sheet, outline) = (sniffed.sheet.as_ref(), sniffed.outline());
        let names = sheet.map_or(&[][..], |sheet| &sheet.names);
        let in_header = |name: &String| header.contains(&name.to_lowercase());
        let cells = |(number, sign): (&String, &CellSign)| {
            let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            sheet.zip(at).is_some_and(|(sheet, at)| sign.holds(sheet, at))
        };
        let list = |place: &String| {
            let first = outline.and_then(|outline| outline.list(place));
            first.is_some_and(|first| self.of.is_none_or(|length| *first == First::List(length)))
                && (self.objects.is_empty() || outline.is_some_and(|outline| outline.objects(place, &self.objects)))
        };
        self.header.iter().all(in_header)
            && (self.any.is_empty() || self.any.iter().any(in_header))
            && !self.without.iter().any(in_header)
            && (self.exactly.is_empty() || matches!(sniffed.shape, FileShape::Columns(_)) && header == self.exactly)
            && self.columns.iter().all(|name| names.contains(name))
            && (!self.text || matches!(sniffed.shape, FileShape::Rows(_)))
            && self.named.is_none_or(|named| sheet.is_some_and(|sheet| sheet.named == named))
            && self.width.is_none_or(|(least, most)| (least..=most).contains(&names.len()))
            && self.mentions.as_ref().is_none_or(|word| sheet.is_some_and(|sheet| sheet.mentions(word)))
            && self.list.as_ref().is_none_or(list)
            && self.members.iter().all(|place| outline.is_some_and(|outline| outline.node(place).is_some()))
            && self.texts.iter().all(|place| outline.is_some_and(|outline| outline.text(place).is_some()))
            && self.cells.iter().all(cells)
    }
}

/// Whether the mapping has keys that only fit `dataset.toml`.
fn says_where(manifest: &TableManifest) -> bool {
    !manifest.path.is_empty() || manifest.engine.is_some() || manifest.node.is_some() || manifest.headless || manifest.skip > 0
}

/// Reads descriptions. Errors name the line.
fn parse(text: &str) -> Result<Vec<FormatRow>, String> {
    let document = TomlDocument::parse(text).map_err(|error| error.to_string())?;
    let one = |entry: model::toml_reader::TomlEntry<'_>| -> Result<FormatRow, TomlError> {
        let mut format = FormatRow { word: entry.key.to_owned(), ..entry.read()? };
        if let Some(tables) = entry.table()?.iter().find(|member| member.key == "tables") {
            format.mappings = read_tables(tables)?;
            for (table, _) in format.mappings.iter().filter(|(_, manifest)| says_where(manifest)) {
                return Err(tables
                    .error(format!("`{table}` says where its rows are (`path`, `source`, `header`, `skip`), which a format does not")));
            }
        }
        if let Some(reader) = &format.reader {
            let names: Vec<&str> = READERS.iter().map(|reader| reader.word).collect();
            let known = READERS.iter().find(|known| known.word == reader);
            format.read_by = Some(known.ok_or_else(|| entry.unknown_name("reader", reader, &names))?);
        }
        if format.into.is_empty() {
            let mapped = format.mappings.iter().map(|(table, _)| *table);
            format.into = format
                .read_by
                .map_or_else(|| mapped.map(str::to_owned).collect(), |reader| reader.into.split(' ').map(str::to_owned).collect());
        }
        if format.known.is_empty() && format.read_by.is_none() {
            return Err(entry.wrong("has neither `known` nor a `reader`, so that no file is of it"));
        }
        if format.into.is_empty() {
            return Err(entry.wrong("has neither `tables` nor a `reader`, so that nothing is read from it"));
        }
        if format.title.is_empty() {
            format.title.clone_from(&format.word);
        }
        Ok(format)
    };
    document.entries().into_iter().map(one).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

impl FormatRow {
    fn recognises(&self, sniffed: &Sniffed, header: &[String]) -> bool {
        let signed = self.known.is_empty() || self.signs(sniffed, header).is_some();
        // A documented order needs no rows that prove it.
        signed && self.read_by.is_none_or(|reader| !self.order.is_empty() || (reader.knows)(sniffed))
    }

    pub(super) fn reader(&self) -> Option<&'static Reader> {
        self.read_by
    }

    fn signs(&self, sniffed: &Sniffed, header: &[String]) -> Option<&Signs> {
        self.known.iter().find(|signs| signs.hold(sniffed, header))
    }

    /// The place of its rows in a JSON text, if it names one.
    pub(super) fn place(&self, sniffed: &Sniffed) -> Option<&str> {
        self.signs(sniffed, &sniffed.header())?.list.as_deref()
    }

    /// Its tables, for people: "any table" if they are many.
    pub fn tables(&self) -> String {
        if self.into.len() > 3 { "any table".to_owned() } else { self.into.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;

    #[test]
    fn every_format_goes_to_tables_there_are_and_a_mistake_is_named() {
        for format in Formats::built_in().rows() {
            assert!(!format.into.is_empty() && format.into.iter().all(|table| schema::table(table).is_some()), "{}", format.word);
            assert!(!format.title.is_empty() && !format.looks.is_empty(), "{}", format.word);
        }
        for (text, expected) in [
            ("[a]\nreader = 'candels'", "line 1: unknown reader `candels`, did you mean `candles`?"),
            ("[a]\ntitle = 'x'", "line 1: `a` has neither `known` nor a `reader`, so that no file is of it"),
            ("[a]\nknown = [{ header = ['x'] }]", "line 1: `a` has neither `tables` nor a `reader`, so that nothing is read from it"),
            ("[a]\nreader = 'holders'\n[a.tables.candels]", "line 3: unknown table `candels`, did you mean `candles`?"),
            (
                "[a]\nreader = 'holders'\n[a.tables.holders]\nskip = 1",
                "line 3: `holders` says where its rows are (`path`, `source`, `header`, `skip`), which a format does not",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
        let misspelt = parse("[a]\n\nknwon = []").unwrap_err();
        assert!(misspelt.contains("line 3") && misspelt.contains("knwon"), "{misspelt}");
    }
}
