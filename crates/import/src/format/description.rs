//! The descriptions of file formats in `formats.toml`: their names, how a file of each is recognised, and how its columns are read or who
//! reads it. What becomes of a described file is in `described`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
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

/// The formats, in the order they are tried.
pub static FORMATS: LazyLock<Vec<FormatRow>> =
    LazyLock::new(|| parse(include_str!("../../formats.toml")).expect("the formats are compiled in, and a test reads them"));

/// A file format; `formats.toml` says what each key means.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatRow {
    /// Short id.
    #[serde(skip)]
    pub word: String,
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
        let in_header = |name: &String| header.iter().any(|known| known.eq_ignore_ascii_case(name));
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

/// Reads descriptions. Errors name the line.
fn parse(text: &str) -> Result<Vec<FormatRow>, String> {
    let document = TomlDocument::parse(text).map_err(|error| error.to_string())?;
    let one = |entry: model::toml_reader::TomlEntry<'_>| -> Result<FormatRow, TomlError> {
        let mut format = FormatRow { word: entry.key.to_owned(), ..entry.read()? };
        if let Some(tables) = entry.table()?.iter().find(|member| member.key == "tables") {
            format.mappings = read_tables(tables)?;
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
        Ok(format)
    };
    document.entries().into_iter().map(one).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

impl FormatRow {
    /// The first format that recognises the file.
    pub(crate) fn of(sniffed: &Sniffed) -> Option<&'static Self> {
        let header = sniffed.header();
        FORMATS.iter().find(|format| {
            let signed = format.known.is_empty() || format.signs(sniffed, &header).is_some();
            // A documented order needs no rows that prove it.
            signed && format.read_by.is_none_or(|reader| !format.order.is_empty() || (reader.knows)(sniffed))
        })
    }

    /// The format of files mapped by the user.
    pub(crate) fn own() -> &'static Self {
        FORMATS.iter().find(|format| format.word == "own").unwrap_or(&FORMATS[0])
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

/// The formats as a Markdown table.
pub fn formats_table() -> String {
    let row = |format: &FormatRow| format!("| {} | {} | {} |\n", format.title, format.looks, format.tables());
    format!("| format | known by | goes to |\n|---|---|---|\n{}", FORMATS.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;

    #[test]
    fn every_format_goes_to_tables_there_are_and_a_mistake_is_named() {
        for format in &*FORMATS {
            assert!(!format.into.is_empty() && format.into.iter().all(|table| schema::table(table).is_some()), "{}", format.word);
            assert!(!format.title.is_empty() && !format.looks.is_empty(), "{}", format.word);
        }
        for (text, expected) in [
            ("[a]\nreader = 'candels'", "line 1: unknown reader `candels`, did you mean `candles`?"),
            ("[a]\ntitle = 'x'", "line 1: `a` has neither `known` nor a `reader`, so that no file is of it"),
            ("[a]\nreader = 'holders'\n[a.tables.candels]", "line 3: unknown table `candels`, did you mean `candles`?"),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
        let misspelt = parse("[a]\n\nknwon = []").unwrap_err();
        assert!(misspelt.contains("line 3") && misspelt.contains("knwon"), "{misspelt}");
    }
}
