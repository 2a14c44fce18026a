//! Type coercion: converts a raw column of any source type to the canonical type of its kind; each cell becomes a value, null or bad. Only
//! lossless conversions are made. Whether a bad cell rejects its row is the loader's decision.
//!
//! Canonical types: Text, Address, Chain, Uint256, Hex are String; Chains, Addresses List(String); Integer Int64; Float Float64;
//! Time Datetime(ms, UTC); Date Date; Boolean Boolean.

pub mod date_format;
pub mod float_detector;
pub mod list;
pub mod notation;
pub mod number;
mod time;

use std::borrow::{Borrow, Cow};

use polars::prelude::{
    ChunkedArray, Column, IntoColumn, ListBuilderTrait, ListStringChunkedBuilder, NamedFrom,
    PlSmallStr, PolarsNumericType, Series, StringChunked, StringChunkedBuilder,
};

use self::notation::Notation;
pub use self::number::{raw_amount, smallest_units};
use crate::manifest::{ColumnManifest, Decimal};
pub use frames::raw_cell::{Bad, Read};
use frames::{
    canonical::{canonical, cast},
    raw_cell::{RawCell, is_null_word},
    text_runs::rewritten,
};
use model::{
    chain::Chain,
    schema::{Column as SchemaColumn, Kind},
};

/// A bad or odd cell of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue {
    /// Row number in the batch.
    pub row: usize,
    pub value: String,
    /// Why the cell is odd, if its value was kept.
    pub odd: Option<&'static str>,
}

/// A coerced column, and its bad and odd cells.
#[derive(Debug)]
pub struct Coerced {
    pub column: Column,
    pub issues: Vec<Issue>,
}

pub const CHECKSUM: &str = "the letter case does not match the EIP-55 checksum; the address is accepted, but compare it with its source";

/// Coerces the cells to the canonical column `ours`.
pub fn coerce(
    ours: &SchemaColumn,
    cells: &[RawCell<'_>],
    rule: &ColumnManifest,
    notation: Notation,
) -> Coerced {
    coerced(ours, cells.iter(), cells.len(), rule, notation)
}

/// As `coerce`, for a text column that needs no preprocessing; avoids a list of its cells.
pub fn coerce_texts(
    ours: &SchemaColumn,
    texts: &StringChunked,
    rule: &ColumnManifest,
    notation: Notation,
) -> Coerced {
    match ours.kind {
        Kind::Text => texts_alike(ours, texts, |text| {
            Ok((!is_null_word(text)).then(|| CanonicalText::plain(text.trim())))
        }),
        Kind::Address => texts_alike(ours, texts, address),
        Kind::Chain => texts_alike(ours, texts, |text| {
            chain(&text_cell(text)).map(CanonicalText::of)
        }),
        Kind::Uint256 => texts_alike(ours, texts, |text| {
            number::uint256_or_approximate(&text_cell(text), notation.decimal, rule.approximate)
                .map(CanonicalText::of)
        }),
        Kind::Hex => texts_alike(ours, texts, |text| {
            frames::raw_cell::hex(&text_cell(text)).map(CanonicalText::of)
        }),
        _ => coerced(
            ours,
            texts
                .iter()
                .map(|text| text.map_or(RawCell::Null, text_cell)),
            texts.len(),
            rule,
            notation,
        ),
    }
}

fn text_cell(text: &str) -> RawCell<'_> {
    RawCell::Text(Cow::Borrowed(text))
}

/// A text in canonical spelling, and the reason it is odd, if it is.
struct CanonicalText<'a>(Cow<'a, str>, Option<&'static str>);

impl<'a> CanonicalText<'a> {
    fn plain(text: impl Into<Cow<'a, str>>) -> Self {
        Self(text.into(), None)
    }

    fn of(text: Option<String>) -> Option<Self> {
        text.map(Self::plain)
    }
}

/// Maps a text column to a text column run by run: equal consecutive texts are parsed once.
fn texts_alike<'a>(
    ours: &SchemaColumn,
    texts: &'a StringChunked,
    read: impl Fn(&'a str) -> Read<CanonicalText<'a>>,
) -> Coerced {
    let (mut issues, mut oddities) = (Vec::new(), Vec::new());
    let column = rewritten(PlSmallStr::from_static(ours.name), texts, |rows, text| {
        let text = text?;
        let Ok(canonical) = read(text) else {
            issues.extend(rows.map(|row| issue(row, &text_cell(text), None)));
            return None;
        };
        let CanonicalText(canonical, odd) = canonical?;
        if odd.is_some() {
            oddities.extend(rows.map(|row| issue(row, &text_cell(text), odd)));
        }
        Some(canonical)
    });
    issues.extend(oddities);
    Coerced { column, issues }
}

fn coerced<'a, C: Borrow<RawCell<'a>>>(
    ours: &SchemaColumn,
    cells: impl Iterator<Item = C>,
    height: usize,
    rule: &ColumnManifest,
    notation: Notation,
) -> Coerced {
    let (mut issues, mut odd) = (Vec::new(), Vec::new());
    let cells = Cells {
        name: PlSmallStr::from_static(ours.name),
        rows: cells,
        height,
        issues: &mut issues,
    };
    let (split, format) = (rule.split.as_deref(), rule.format.as_deref());
    let column = match ours.kind {
        Kind::Text => cells.texts(frames::raw_cell::text),
        Kind::Address => {
            let read = |cell: &RawCell<'a>| {
                Ok(frames::raw_cell::address(cell)?
                    .map(|(address, broken)| (address.to_string(), broken)))
            };
            cells.texts(checked(&mut odd, read))
        }
        Kind::Chain => cells.texts(chain),
        Kind::Uint256 => cells
            .texts(|cell| number::uint256_or_approximate(cell, notation.decimal, rule.approximate)),
        Kind::Hex => cells.texts(frames::raw_cell::hex),
        Kind::Chains => cells.lists(|cell| list::chains(cell, split)),
        Kind::Addresses => cells.lists(checked(&mut odd, |cell| list::addresses(cell, split))),
        Kind::Integer => cells.numbers(|cell| number::integer(cell, rule.scale, notation.decimal)),
        Kind::Float => cells.numbers(|cell| number::float(cell, rule.scale, notation.decimal)),
        Kind::Boolean => cells.numbers(frames::raw_cell::boolean),
        Kind::Time => cast(
            &cells.numbers(|cell| time::time(cell, format, notation.days)),
            &canonical(Kind::Time),
        ),
        Kind::Date => cast(
            &cells.numbers(|cell| time::date(cell, format, notation.days)),
            &canonical(Kind::Date),
        ),
    };
    issues.append(&mut odd);
    Coerced { column, issues }
}

/// Wraps `read` to drop its checksum flag: an address with a broken checksum keeps its value and is recorded in `odd`.
fn checked<'a, T>(
    odd: &mut Vec<Issue>,
    mut read: impl FnMut(&RawCell<'a>) -> Read<(T, bool)>,
) -> impl FnMut(&RawCell<'a>) -> Read<T> {
    let mut rows = 0..;
    move |cell| {
        let row = rows.next().unwrap_or_default();
        let value = read(cell)?;
        if let Some((_, true)) = value {
            odd.push(issue(row, cell, Some(CHECKSUM)));
        }
        Ok(value.map(|(value, _)| value))
    }
}

/// A number by which to compare cells: times in milliseconds, numbers unchanged.
pub fn measure(cell: &RawCell<'_>, kind: Kind) -> Option<f64> {
    let time = || {
        time::time(cell, None, false)
            .ok()
            .flatten()
            .map(|time| time as f64)
    };
    match kind {
        Kind::Time | Kind::Date => time(),
        _ => number::float(cell, None, None).ok().flatten().or_else(time),
    }
}

/// Parses a number in the given notation; with a decimal point if the notation is unknown.
pub fn plain_float(cell: &RawCell<'_>, notation: Notation) -> Read<f64> {
    number::float(cell, None, notation.decimal.or(Some(Decimal::Point)))
}

/// Fast path: the column unchanged, if its type is canonical and every value is within bounds. For other columns `coerce` gives the same
/// result, only slower.
pub fn if_canonical(ours: &SchemaColumn, raw: &Column, rule: &ColumnManifest) -> Option<Column> {
    if raw.dtype() != &canonical(ours.kind)
        || rule.scale.is_some()
        || rule.item.is_some()
        || !rule.values.is_empty()
    {
        return None;
    }
    let usable = match ours.kind {
        Kind::Boolean => true,
        Kind::Integer => all(raw.i64().ok()?, |number| number != i64::MIN),
        Kind::Float => all(raw.f64().ok()?, f64::is_finite),
        Kind::Time => all(raw.datetime().ok()?.physical(), time::in_bounds),
        _ => false,
    };
    usable.then(|| raw.clone().with_name(PlSmallStr::from_static(ours.name)))
}

/// Whether all values satisfy `such`. Without nulls there is no early exit, so that the loop vectorises.
fn all<T: PolarsNumericType>(values: &ChunkedArray<T>, such: impl Fn(T::Native) -> bool) -> bool {
    match values.cont_slice() {
        Ok(values) => values.iter().fold(true, |all, value| all & such(*value)),
        Err(_) => values.iter().flatten().all(such),
    }
}

/// Replaces texts with those that `dataset.toml` maps them to; `""` makes the cell null.
pub fn replace(cells: &mut [RawCell<'_>], rule: &ColumnManifest) {
    if rule.values.is_empty() {
        return;
    }
    for cell in cells {
        let replacement = match &*cell {
            RawCell::Text(text) => rule.values.get(text.trim()),
            other => other
                .to_text()
                .and_then(|text| rule.values.get(text.as_ref())),
        };
        if let Some(text) = replacement {
            *cell = if text.is_empty() {
                RawCell::Null
            } else {
                RawCell::Text(text.clone().into())
            };
        }
    }
}

fn issue(row: usize, cell: &RawCell<'_>, odd: Option<&'static str>) -> Issue {
    Issue {
        row,
        value: cell.shown(),
        odd,
    }
}

/// The cells of a column under its canonical name. Bad ones become null and are added to `issues`.
struct Cells<'i, I> {
    name: PlSmallStr,
    rows: I,
    height: usize,
    issues: &'i mut Vec<Issue>,
}

impl<'a, C: Borrow<RawCell<'a>>, I: Iterator<Item = C>> Cells<'_, I> {
    fn each<T>(
        self,
        mut read: impl FnMut(&RawCell<'a>) -> Read<T>,
        mut put: impl FnMut(Option<T>),
    ) {
        for (row, cell) in self.rows.enumerate() {
            let cell = cell.borrow();
            if let Ok(value) = read(cell) {
                put(value);
            } else {
                self.issues.push(issue(row, cell, None));
                put(None);
            }
        }
    }

    fn texts(self, read: impl FnMut(&RawCell<'a>) -> Read<String>) -> Column {
        let mut builder = StringChunkedBuilder::new(self.name.clone(), self.height);
        self.each(read, |value| builder.append_option(value));
        builder.finish().into_column()
    }

    fn numbers<T>(self, read: impl FnMut(&RawCell<'a>) -> Read<T>) -> Column
    where
        Series: NamedFrom<Vec<Option<T>>, [Option<T>]>,
    {
        let (name, mut values) = (self.name.clone(), Vec::with_capacity(self.height));
        self.each(read, |value| values.push(value));
        Series::new(name, values).into_column()
    }

    fn lists(self, read: impl FnMut(&RawCell<'a>) -> Read<Vec<String>>) -> Column {
        let mut builder =
            ListStringChunkedBuilder::new(self.name.clone(), self.height, self.height);
        self.each(read, |value| match value {
            Some(list) => builder.append_values_iter(list.iter().map(String::as_str)),
            None => builder.append_null(),
        });
        builder.finish().into_column()
    }
}

/// Parses an address; borrows the text if it is already in lower case.
fn address(text: &str) -> Read<CanonicalText<'_>> {
    let read = frames::raw_cell::address(&text_cell(text))?;
    Ok(read.map(|(address, broken)| {
        let text = text.trim();
        let lower = text.starts_with("0x") && text.bytes().all(|byte| !byte.is_ascii_uppercase());
        CanonicalText(
            if lower {
                text.into()
            } else {
                address.to_string().into()
            },
            broken.then_some(CHECKSUM),
        )
    }))
}

fn chain(cell: &RawCell<'_>) -> Read<String> {
    let text = match cell {
        RawCell::Text(text) if is_null_word(text) => return Ok(None),
        RawCell::Text(text) => Chain::parse(text),
        RawCell::Int(id) => Chain::parse(&id.to_string()),
        RawCell::Null => return Ok(None),
        _ => None,
    };
    text.map(|chain| Some(chain.to_string())).ok_or(Bad)
}
