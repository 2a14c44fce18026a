//! Parses one column of a batch: which cells provide it, and how they are converted. The caller turns unparsable cells into findings.

use polars::prelude::{Column, StringChunked};

use super::{
    bind::Bound,
    column_formats::{is_number, times_of},
    file::FileRows,
    path,
};
use crate::{
    cells::{
        self, Coerced, Issue, list,
        notation::{DecimalSigns, EpochUnits},
    },
    error::ReadError,
    formats::SourceBatch,
    manifest::Decimal,
};
use frames::{
    decode::guarded,
    raw_cell::{RawCell, cells},
};
use model::schema::Kind;

/// Leading cells of a batch that are searched for a point, as one of them has one where numbers do.
const FEW: usize = 100;

impl FileRows<'_> {
    /// Parses the column; `given` are its cells where they were gathered already.
    pub(super) fn column(
        &mut self,
        batch: &SourceBatch,
        bound: &Bound<'_>,
        others: &[Bound<'_>],
        rows: &[usize],
        every: bool,
        given: Option<Vec<RawCell<'_>>>,
    ) -> Result<Coerced, ReadError> {
        if let Some(column) = whole(batch, bound, rows.len(), every) {
            return Ok(Coerced {
                column,
                issues: Vec::new(),
            });
        }
        let cells = if let Some(texts) = whole_texts(batch, bound, every) {
            Content::Texts(texts)
        } else {
            let mut cells = match given {
                Some(cells) => cells,
                None => gather(batch, bound, rows)?,
            };
            cells::replace(&mut cells, bound.rule);
            take_item(&mut cells, bound);
            Content::Cells(cells)
        };
        let kind = bound.column.kind;
        if let (Kind::Uint256, Content::Cells(cells)) = (kind, &cells)
            && cells.iter().any(cells::number::lost_digits)
        {
            self.state.approximate.insert(bound.column.name.to_owned());
        }
        if matches!(kind, Kind::Time | Kind::Date)
            && bound.rule.format.is_none()
            && bound.constant.is_none()
        {
            self.state
                .formats
                .note_times(bound.column, cells.times(), || cells.first());
        }
        let read = |notation| match &cells {
            Content::Texts(texts) => cells::coerce_texts(bound.column, texts, bound.rule, notation),
            Content::Cells(cells) => cells::coerce(bound.column, cells, bound.rule, notation),
        };
        let notation = self.state.formats.of(bound);
        let coerced = read(notation);
        let is_decimal_known =
            !is_number(kind) || notation.decimal.is_some() || bound.constant.is_some();
        if is_decimal_known || !self.learn_decimal(batch, bound, others, &cells, &coerced.issues)? {
            return Ok(coerced);
        }
        Ok(read(self.state.formats.of(bound)))
    }

    /// Infers the decimal separator of a column with unparsable cells, or in the first batch with ambiguous points; whether it could be.
    fn learn_decimal(
        &mut self,
        batch: &SourceBatch,
        bound: &Bound<'_>,
        others: &[Bound<'_>],
        cells: &Content<'_>,
        issues: &[Issue],
    ) -> Result<bool, ReadError> {
        let has_separators = |value: &str| value.contains(',') || value.matches('.').count() > 1;
        let is_first_batch = self.rows == batch.height as u64;
        let issue = issues
            .iter()
            .find(|issue| issue.odd.is_none() && has_separators(&issue.value));
        if issue.is_none() && !(is_first_batch && cells.may_be_thousands()) {
            return Ok(false);
        }
        let numbers = || {
            others.iter().filter(|other| {
                is_number(other.column.kind) && !std::ptr::eq(other.column, bound.column)
            })
        };
        let all = numbers().fold(DecimalSigns::default(), |all, other| {
            all.and(evidence(batch, other))
        });
        let shown = match issue {
            Some(issue) => issue.value.clone(),
            // Ambiguous points are thousands separators where another column has decimal commas.
            None if all.decimal() == Some(Decimal::Comma) => numbers()
                .find_map(|other| decimal_comma(batch, other))
                .unwrap_or_default(),
            None => return Ok(false),
        };
        self.state
            .formats
            .learn(bound.column, cells.evidence(), all, &shown, is_first_batch)
    }

    /// Records the digits of amounts that are written as text.
    pub(super) fn detect_floats(&mut self, batch: &SourceBatch, bound: &[Bound<'_>]) {
        for one in bound {
            let name = one.column.name;
            if one.column.kind != Kind::Uint256
                && (self.schema.name, name) != ("holders", "balance")
            {
                continue;
            }
            let found = one
                .raw
                .as_ref()
                .or(one.units.as_ref())
                .and_then(|name| find(batch, name));
            if let Some(column) = found.filter(|column| column.str().is_ok()) {
                let detector = self.state.digits.entry(name.to_owned()).or_default();
                detector.note(&cells(&column.head(Some(detector.wanted()))));
            }
        }
    }
}

/// The cells of a column, as one array where all are texts.
enum Content<'a> {
    Texts(&'a StringChunked),
    Cells(Vec<RawCell<'a>>),
}

impl Content<'_> {
    fn times(&self) -> EpochUnits {
        match self {
            Self::Texts(texts) => texts
                .iter()
                .flatten()
                .fold(EpochUnits::default(), |all, text| {
                    all.and(EpochUnits::of_text(text))
                }),
            Self::Cells(cells) => times_of(cells.iter()),
        }
    }

    /// The first non-empty cell, as displayed.
    fn first(&self) -> String {
        match self {
            Self::Texts(texts) => texts
                .iter()
                .flatten()
                .map(str::trim)
                .find(|text| !text.is_empty())
                .unwrap_or_default()
                .to_owned(),
            Self::Cells(cells) => cells
                .iter()
                .find(|cell| !cell.is_null())
                .map(RawCell::shown)
                .unwrap_or_default(),
        }
    }

    /// Whether its points may be thousands separators, judging by its own texts alone.
    fn may_be_thousands(&self) -> bool {
        let pointed = |text: &str| !text.trim().is_empty() && text.contains('.');
        let starts = match self {
            Self::Texts(texts) => texts.iter().flatten().take(FEW).any(pointed),
            Self::Cells(cells) => cells
                .iter()
                .take(FEW)
                .any(|cell| matches!(cell, RawCell::Text(text) if pointed(text))),
        };
        starts && self.evidence() == DecimalSigns::default()
    }

    fn evidence(&self) -> DecimalSigns {
        match self {
            Self::Texts(texts) => DecimalSigns::of(texts.iter().flatten()),
            Self::Cells(cells) => DecimalSigns::of(cells.iter().filter_map(|cell| {
                if let RawCell::Text(text) = cell {
                    Some(&**text)
                } else {
                    None
                }
            })),
        }
    }
}

/// Evidence of the decimal sign in the texts of a column.
fn evidence(batch: &SourceBatch, bound: &Bound<'_>) -> DecimalSigns {
    let texts = bound
        .raw
        .as_ref()
        .and_then(|name| find(batch, name))
        .and_then(|column| column.str().ok());
    texts.map_or_else(DecimalSigns::default, |texts| {
        DecimalSigns::of(texts.iter().flatten())
    })
}

/// A text of the column with a decimal comma.
fn decimal_comma(batch: &SourceBatch, bound: &Bound<'_>) -> Option<String> {
    let texts = bound
        .raw
        .as_ref()
        .and_then(|name| find(batch, name))
        .and_then(|column| column.str().ok())?;
    texts
        .iter()
        .flatten()
        .find(|text| DecimalSigns::of(std::iter::once(*text)).comma)
        .map(str::to_owned)
}

fn find<'b>(batch: &'b SourceBatch, name: &str) -> Option<&'b Column> {
    let named = |column: &&Column| column.name().trim() == name.trim();
    let alike = |column: &&Column| column.name().trim().eq_ignore_ascii_case(name.trim());
    batch
        .columns
        .iter()
        .find(named)
        .or_else(|| batch.columns.iter().find(alike))
}

/// The column that contains the nested member a path names, and the rest of the path.
fn find_inside<'b, 'n>(batch: &'b SourceBatch, name: &'n str) -> Option<(&'b Column, &'n str)> {
    let name = name.trim();
    path::heads(name)
        .skip(1)
        .find_map(|head| find(batch, head).map(|column| (column, &name[head.len() + 1..])))
}

/// The whole column, where it is absent, or every row is kept and no cell needs conversion.
fn whole(batch: &SourceBatch, bound: &Bound<'_>, height: usize, every: bool) -> Option<Column> {
    match (bound.constant, &bound.raw) {
        (None, None) => Some(frames::canonical::empty(bound.column, height)),
        (None, Some(name)) if every && !bound.rule.explode => find(batch, name)
            .filter(|column| column.len() == batch.height)
            .and_then(|raw| cells::if_canonical(bound.column, raw, bound.rule)),
        _ => None,
    }
}

/// The whole column of texts, where every row is kept and no text has to be replaced or split.
fn whole_texts<'b>(
    batch: &'b SourceBatch,
    bound: &Bound<'_>,
    every: bool,
) -> Option<&'b StringChunked> {
    let name = bound.raw.as_ref().filter(|_| {
        bound.constant.is_none() && bound.rule.values.is_empty() && bound.item.is_none()
    })?;
    let texts = find(batch, name)
        .filter(|column| column.len() == batch.height)
        .and_then(|column| column.str().ok());
    texts.filter(|_| every && !bound.rule.explode)
}

/// Whether `rows` (positions, ascending unless a list was exploded) are all of `height`.
pub(super) fn every_row(rows: &[usize], height: usize) -> bool {
    rows.len() == height && rows.iter().enumerate().all(|(i, row)| i == *row)
}

/// Cells of the given rows for a column of the schema; all null where the batch lacks it.
pub(super) fn gather<'b>(
    batch: &'b SourceBatch,
    bound: &Bound<'_>,
    rows: &[usize],
) -> Result<Vec<RawCell<'b>>, ReadError> {
    match (bound.constant, &bound.raw) {
        (Some(constant), _) => Ok(vec![RawCell::Text(constant.to_owned().into()); rows.len()]),
        (None, Some(name)) => gather_named(batch, name, rows),
        (None, None) => Ok(vec![RawCell::Null; rows.len()]),
    }
}

pub(super) fn gather_named<'b>(
    batch: &'b SourceBatch,
    name: &str,
    rows: &[usize],
) -> Result<Vec<RawCell<'b>>, ReadError> {
    let cells = if let Some(column) = find(batch, name) {
        guarded("column", || Ok(cells(column)))?
    } else {
        let Some((column, way)) = find_inside(batch, name) else {
            return Ok(vec![RawCell::Null; rows.len()]);
        };
        guarded("column", || Ok(path::inside(column, way)))?
    };
    if rows.len() == cells.len() && rows.last().is_none_or(|last| last + 1 == cells.len()) {
        return Ok(cells);
    }
    Ok(rows
        .iter()
        .map(|&row| cells.get(row).cloned().unwrap_or(RawCell::Null))
        .collect())
}

/// Takes the list element that `dataset.toml` selects; null where the list is too short, or the cell is no list.
fn take_item(cells: &mut [RawCell<'_>], bound: &Bound<'_>) {
    let Some(item) = bound.item else { return };
    for cell in cells {
        let elements = list::elements(cell, bound.rule.split.as_deref(), true).unwrap_or_default();
        let from_end = usize::try_from(-item).map(|back| elements.len().checked_sub(back));
        let place = if item < 0 {
            from_end.ok().flatten()
        } else {
            usize::try_from(item - 1).ok()
        };
        *cell = place
            .and_then(|place| elements.into_iter().nth(place))
            .unwrap_or(RawCell::Null);
    }
}
