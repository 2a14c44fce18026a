//! OpenDocument spreadsheets, read as a stream: a cell or row that is repeated a thousand million times takes a line of XML.

use std::{
    collections::HashSet,
    io::{BufReader, Read},
    path::Path,
};

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesRef, BytesStart, Event},
};

use super::{
    super::{archive, error::WorkbookError, pair},
    Found,
    bounds::{DEPTH_MAX, Limited},
    grid::SheetGrid,
    percent, unreadable,
};

/// Maximum number of styles that hide a sheet, and of blanks in a row in a cell.
const HIDDEN_MAX: usize = 10_000;
const BLANKS_MAX: usize = 1_000;

/// A cell until its end.
struct OpenCell {
    text: String,
    repeated: usize,
    currency: Option<String>,
    /// Whether its paragraphs are its value.
    is_text: bool,
}

pub(super) fn read(path: &Path, found: &mut Found) -> Result<(), WorkbookError> {
    let parts = archive::parts(path)?;
    let content = parts
        .iter()
        .find(|part| part.path == "content.xml")
        .ok_or_else(|| unreadable("it has no content"))?;
    let mut packed = content.open(path)?;
    let mut start = [0; 1];
    packed.read_exact(&mut start).map_err(unreadable)?;
    if start != *b"<" && start != [0xef] {
        return Err(WorkbookError::Encrypted);
    }
    let mut reader =
        Reader::from_reader(Limited::new(BufReader::new(start.as_slice().chain(packed))));
    reader.config_mut().expand_empty_elements = true;
    let (mut hiding, mut style) = (HashSet::<String>::new(), String::new());
    let mut sheet: Option<(String, bool, SheetGrid)> = None;
    let (mut row, mut rows, mut column, mut depth, mut inner_tables) =
        (0_usize, 1_usize, 0_usize, 0_usize, 0_usize);
    let (mut cell, mut in_note) = (None::<OpenCell>, false);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        if cell.is_none() {
            reader.get_mut().next_item();
        }
        match reader.read_event_into(&mut buffer).map_err(unreadable)? {
            Event::Eof => return Ok(()),
            Event::Start(tag) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(WorkbookError::Damaged);
                }
                match (tag.name().into_inner(), &mut cell, &mut sheet) {
                    ("office:annotation", ..) => in_note = true,
                    ("style:style", ..) => style = value(&tag, "style:name").unwrap_or_default(),
                    ("style:table-properties", ..)
                        if value(&tag, "table:display").as_deref() == Some("false")
                            && hiding.len() < HIDDEN_MAX =>
                    {
                        hiding.insert(style.clone());
                    }
                    ("table:table", _, Some(_)) => inner_tables += 1,
                    ("table:table", _, sheet) => {
                        let is_hidden = value(&tag, "table:style-name")
                            .is_some_and(|style| hiding.contains(&style));
                        *sheet = Some((
                            value(&tag, "table:name").unwrap_or_default(),
                            is_hidden,
                            SheetGrid::default(),
                        ));
                        row = 0;
                    }
                    ("table:table-row", ..) if inner_tables == 0 => {
                        (rows, column) = (count(&tag, "table:number-rows-repeated"), 0);
                    }
                    ("table:table-cell" | "table:covered-table-cell", open, Some(_))
                        if inner_tables == 0 =>
                    {
                        *open = Some(opened(&tag));
                    }
                    ("text:p", Some(open), _)
                        if open.is_text && !in_note && !open.text.is_empty() =>
                    {
                        open.text.push('\n');
                    }
                    ("text:s", Some(open), _) if open.is_text && !in_note => {
                        open.text
                            .push_str(&" ".repeat(count(&tag, "text:c").min(BLANKS_MAX)));
                    }
                    ("text:tab" | "text:line-break", Some(open), _) if open.is_text && !in_note => {
                        open.text.push(' ');
                    }
                    _ => {}
                }
            }
            Event::Text(text) => {
                if let Some(open) = cell.as_mut().filter(|open| open.is_text && !in_note) {
                    open.text.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(open) = cell.as_mut().filter(|open| open.is_text && !in_note) {
                    open.text.extend(referred(&reference));
                }
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                match (tag.name().into_inner(), &mut sheet) {
                    ("office:annotation", _) => in_note = false,
                    ("table:table", _) if inner_tables > 0 => inner_tables -= 1,
                    ("table:table", sheet) => {
                        if let Some((name, is_hidden, grid)) = sheet.take() {
                            found.add(name, is_hidden, grid);
                        }
                    }
                    ("table:table-row", _) if inner_tables == 0 => row = row.saturating_add(rows),
                    ("table:table-cell" | "table:covered-table-cell", Some((.., grid)))
                        if inner_tables == 0 =>
                    {
                        let Some(open) = cell.take() else { continue };
                        let text = match open.currency {
                            Some(currency) => format!("{} {currency}", open.text),
                            None => open.text.trim().to_owned(),
                        };
                        found.room.stores(text.len() as u64);
                        let repeated = if text.is_empty() { 0 } else { rows };
                        for down in 0..repeated {
                            for right in 0..open.repeated {
                                let place =
                                    (row.saturating_add(down), column.saturating_add(right));
                                grid.put(place, text.clone(), &mut found.room)?;
                                reader.get_mut().more();
                            }
                        }
                        column = column.saturating_add(open.repeated);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// The cell that the tag opens, with the value that its attributes say; of texts it stands in the paragraphs.
fn opened(tag: &BytesStart<'_>) -> OpenCell {
    let kind = value(tag, "office:value-type");
    let is = |name: &str| kind.as_deref() == Some(name);
    let is_error = value(tag, "calcext:value-type").as_deref() == Some("error");
    let shown = |number: f64| {
        if is("percentage") {
            percent(number)
        } else {
            number.to_string()
        }
    };
    let number = || value(tag, "office:value").map(|text| text.parse::<f64>().map_or(text, shown));
    let said = number().or_else(|| {
        let truth = || value(tag, "office:boolean-value").map(|truth| truth.to_lowercase());
        [
            "office:date-value",
            "office:time-value",
            "office:string-value",
        ]
        .into_iter()
        .find_map(|name| value(tag, name))
        .or_else(truth)
    });
    let currency = value(tag, "office:currency")
        .filter(|currency| is("currency") && !pair::is_dollar(currency));
    OpenCell {
        is_text: said.is_none() && is("string") && !is_error,
        currency: currency.filter(|_| said.is_some()),
        text: if is_error {
            String::new()
        } else {
            said.unwrap_or_default()
        },
        repeated: count(tag, "table:number-columns-repeated"),
    }
}

fn count(tag: &BytesStart<'_>, name: &str) -> usize {
    value(tag, name)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

/// The value of the attribute, by its whole name: `office:value-type` and `calcext:value-type` differ.
fn value(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.into_inner() == name)?;
    attribute
        .normalized_value(XmlVersion::Implicit1_0)
        .ok()
        .map(std::borrow::Cow::into_owned)
}

/// The letter that `&amp;` or `&#38;` stands for.
fn referred(reference: &BytesRef<'_>) -> Option<char> {
    let named = || match &*reference.xml10_content() {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    };
    reference.resolve_char_ref().ok().flatten().or_else(named)
}
