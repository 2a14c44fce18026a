//! Units of the cells of an Excel workbook: a cell holds a bare number, and only its number format, such as `[$€-407] #,##0.00` or `0.00%`,
//! has the currency or the percent sign.

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

/// The unit that a number format shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormatUnit {
    Currency(String),
    /// The cell shows its number times 100.
    Percent,
    /// The cell shows its number, with a percent sign that is mere text.
    PercentSign,
}

/// The formats `0%` and `0.00%`, which workbooks do not spell out.
const PERCENTS: [&str; 2] = ["9", "10"];

/// Returns the unit of each of a workbook's cell styles, dollars left out; empty if its styles cannot be read, which the reader of its
/// cells reports.
pub(super) fn of(path: &Path) -> Vec<Option<FormatUnit>> {
    let open = || {
        let parts = archive::parts(path).ok()?;
        let part = parts.iter().find(|part| part.name == "styles.xml")?;
        Some(Reader::from_reader(BufReader::new(part.open(path).ok()?)))
    };
    open().map(styles).unwrap_or_default()
}

/// For each cell style, the unit of its number format; `None` for dollars or no unit.
fn styles(reader: Reader<impl BufRead>) -> Vec<Option<FormatUnit>> {
    let (mut formats, mut styles, mut of_cells) =
        (HashMap::<String, String>::new(), Vec::new(), false);
    each(reader, |tag| match tag.local_name().into_inner() {
        "numFmt" => {
            if let (Some(id), Some(code)) = (value(tag, "numFmtId"), value(tag, "formatCode")) {
                formats.insert(id, code);
            }
        }
        "cellXfs" => of_cells = true,
        "cellStyles" | "dxfs" => of_cells = false,
        "xf" if of_cells => styles.push(value(tag, "numFmtId").and_then(|id| {
            match formats.get(&id) {
                Some(code) => unit(code),
                None => PERCENTS
                    .contains(&id.as_str())
                    .then_some(FormatUnit::Percent),
            }
        })),
        _ => {}
    });
    styles
}

/// The unit of a number format; `None` for dollars or no unit.
fn unit(code: &str) -> Option<FormatUnit> {
    let mut signs: Vec<String> = Vec::new();
    let mut plain = String::new();
    let mut rest = code.chars();
    while let Some(c) = rest.next() {
        match c {
            // `[$€-407]`; other brackets are colours and conditions.
            '[' => {
                let inner: String = rest.by_ref().take_while(|c| *c != ']').collect();
                signs.extend(
                    inner
                        .strip_prefix('$')
                        .map(|sign| sign.split('-').next().unwrap_or_default().to_owned()),
                );
            }
            '"' => signs.push(rest.by_ref().take_while(|c| *c != '"').collect()),
            // `\` shows the next character literally; `_` and `*` use it only as padding.
            '\\' => plain.extend(rest.next()),
            '_' | '*' => drop(rest.next()),
            // What follows are the formats of negative numbers, zero and text.
            ';' => break,
            '%' => return Some(FormatUnit::Percent),
            c => plain.push(c),
        }
    }
    let figure = |c: char| "#0?.,/ ".contains(c);
    signs.push(plain.replace(figure, ""));
    if signs.iter().any(|sign| sign.trim() == "%") {
        return Some(FormatUnit::PercentSign);
    }
    signs.iter().map(|sign| sign.trim()).find_map(|sign| {
        let of_sign = || currency::of_cell(&format!("{sign}1")).map(str::to_owned);
        let of_code = || Some(sign.to_uppercase()).filter(|code| pair::is_quote(code));
        of_sign()
            .or_else(of_code)
            .filter(|currency| !pair::is_dollar(currency))
            .map(FormatUnit::Currency)
    })
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
    let attribute = tag
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.local_name().into_inner() == name)?;
    attribute
        .normalized_value(XmlVersion::Implicit1_0)
        .ok()
        .map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_format_tells_its_unit() {
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
            assert_eq!(
                unit(code),
                expected.map(|currency| FormatUnit::Currency(currency.to_owned())),
                "{code}"
            );
        }
        for (code, expected) in [
            ("0.00%", FormatUnit::Percent),
            ("[Red]0.0 %;-0.0 %", FormatUnit::Percent),
            ("0.00\"%\"", FormatUnit::PercentSign),
            ("0.00\\ \\%", FormatUnit::PercentSign),
        ] {
            assert_eq!(unit(code), Some(expected), "{code}");
        }
    }
}
