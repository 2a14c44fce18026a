//! Currencies of the cells of an Excel workbook: a cell holds a bare number, and only its number format, such as `[$€-407] #,##0.00`, has
//! the currency.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    path::Path,
};

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::super::{archive, evidence::currency, pair};

/// Currencies other than dollars, by sheet and by the cell's row and column (from 0).
pub(super) type SheetCurrencies = HashMap<String, HashMap<(u32, u32), String>>;

/// Returns the currencies of a workbook's cells; empty if it is no zip archive or cannot be read, which the reader of its cells reports.
pub(super) fn of(path: &Path) -> SheetCurrencies {
    read(path).unwrap_or_default()
}

fn read(path: &Path) -> Option<SheetCurrencies> {
    let members = archive::members(path).ok()?;
    let open = |name: &str| {
        let member = members.iter().find(|member| member.name == name)?;
        Some(Reader::from_reader(BufReader::new(member.open(path).ok()?)))
    };
    let styles = styles(open("styles.xml")?);
    if styles.iter().all(Option::is_none) {
        return None;
    }
    let mut files: HashMap<String, String> = HashMap::new();
    each(open("workbook.xml.rels")?, |tag| {
        if let (Some(id), Some(target)) = (value(tag, "Id"), value(tag, "Target")) {
            files.insert(id, target.rsplit('/').next().unwrap_or_default().to_owned());
        }
    });
    let mut sheets: Vec<(String, String)> = Vec::new();
    each(open("workbook.xml")?, |tag| {
        if tag.local_name().into_inner() == "sheet"
            && let (Some(name), Some(id)) = (value(tag, "name"), value(tag, "id"))
        {
            sheets.push((name, id));
        }
    });
    let mut all = SheetCurrencies::new();
    for (name, id) in sheets {
        let Some(reader) = files.get(&id).and_then(|file| open(file)) else { continue };
        all.insert(name, cells(reader, &styles));
    }
    Some(all)
}

/// Cells of a sheet whose style has a currency.
fn cells(reader: Reader<impl BufRead>, styles: &[Option<String>]) -> HashMap<(u32, u32), String> {
    let mut found = HashMap::new();
    each(reader, |tag| {
        if tag.local_name().into_inner() != "c" {
            return;
        }
        let style = value(tag, "s").and_then(|style| styles.get(style.parse::<usize>().ok()?)?.clone());
        if let (Some(currency), Some(at)) = (style, value(tag, "r").and_then(|at| place(&at))) {
            found.insert(at, currency);
        }
    });
    found
}

/// For each cell style, the currency of its number format; `None` for dollars or no currency.
fn styles(reader: Reader<impl BufRead>) -> Vec<Option<String>> {
    let (mut formats, mut styles, mut of_cells) = (HashMap::<String, String>::new(), Vec::new(), false);
    each(reader, |tag| match tag.local_name().into_inner() {
        "numFmt" => {
            if let (Some(id), Some(code)) = (value(tag, "numFmtId"), value(tag, "formatCode")) {
                formats.insert(id, code);
            }
        }
        "cellXfs" => of_cells = true,
        "cellStyles" | "dxfs" => of_cells = false,
        "xf" if of_cells => styles.push(value(tag, "numFmtId").and_then(|id| foreign(formats.get(&id)?))),
        _ => {}
    });
    styles
}

/// The currency of a number format; `None` for dollars or no currency.
fn foreign(code: &str) -> Option<String> {
    let mut signs: Vec<String> = Vec::new();
    let mut plain = String::new();
    let mut rest = code.chars();
    while let Some(c) = rest.next() {
        match c {
            // `[$€-407]`; other brackets are colours and conditions.
            '[' => {
                let inner: String = rest.by_ref().take_while(|c| *c != ']').collect();
                signs.extend(inner.strip_prefix('$').map(|sign| sign.split('-').next().unwrap_or_default().to_owned()));
            }
            '"' => signs.push(rest.by_ref().take_while(|c| *c != '"').collect()),
            // `\` shows the next character literally; `_` and `*` use it only as padding.
            '\\' => plain.extend(rest.next()),
            '_' | '*' => drop(rest.next()),
            // What follows are the formats of negative numbers, zero and text.
            ';' => break,
            c => plain.push(c),
        }
    }
    let figure = |c: char| "#0?.,%/ ".contains(c);
    signs.push(plain.replace(figure, ""));
    signs.iter().map(|sign| sign.trim()).find_map(|sign| {
        let of_sign = || currency::of_cell(&format!("{sign}1")).map(str::to_owned);
        let of_code = || Some(sign.to_uppercase()).filter(|code| pair::is_quote(code));
        of_sign().or_else(of_code).filter(|currency| !pair::is_dollar(currency))
    })
}

/// Row and column of `B12`, from 0.
fn place(text: &str) -> Option<(u32, u32)> {
    let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let column = text.bytes().take(letters).fold(0_u32, |sum, letter| sum.saturating_mul(26).saturating_add(u32::from(letter - b'A') + 1));
    let row: u32 = text[letters..].parse().ok()?;
    Some((row.checked_sub(1)?, column.checked_sub(1)?))
}

/// Calls `tell` with every start tag and every empty-element tag.
fn each(mut reader: Reader<impl BufRead>, mut tell: impl FnMut(&BytesStart<'_>)) {
    let mut buffer = Vec::new();
    loop {
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag) | Event::Empty(tag)) => tell(&tag),
            Ok(Event::Eof) | Err(_) => return,
            Ok(_) => {}
        }
        buffer.clear();
    }
}

fn value(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.attributes().flatten().find(|attribute| attribute.key.local_name().into_inner() == name)?;
    attribute.normalized_value(XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_format_tells_its_currency() {
        for (code, expected) in [
            ("[$€-407] #,##0.00", Some("EUR")),
            ("#,##0.00 [$€-407];[Red]-#,##0.00 [$€-407]", Some("EUR")),
            ("#,##0.00\\ \"€\"", Some("EUR")),
            ("_-* #,##0.00\\ €_-", Some("EUR")),
            ("[$£-809]#,##0.00", Some("GBP")),
            ("[$CHF] #,##0.00", Some("CHF")),
            ("\"EUR\" 0.00", Some("EUR")),
            ("#,##0.00 \"CZK\"", Some("CZK")),
            ("[$$-409]#,##0.00", None),
            ("\"$\"#,##0.00", None),
            ("#,##0.00 [$USD]", None),
            ("#,##0.00", None),
            ("0.00E+00", None),
            ("yyyy-mm-dd", None),
            ("[>=100]0;0.00", None),
            ("#,##0 \"tokens\"", None),
        ] {
            assert_eq!(foreign(code).as_deref(), expected, "{code}");
        }
        assert_eq!(
            (place("A1"), place("B12"), place("AA3"), place("A"), place("12")),
            (Some((0, 0)), Some((11, 1)), Some((2, 26)), None, None)
        );
    }
}
