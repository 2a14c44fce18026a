//! `where` of `dataset.toml`: the row filter, and partition pruning.

use std::collections::HashSet;

use super::{
    bind::Bound,
    column::{gather, gather_named},
    file::FileRows,
};
use crate::{
    cells::{list, measure},
    error::ReadError,
    formats::SourceBatch,
    manifest::RowFilter,
};
use frames::raw_cell::RawCell;
use model::{address::Address, chain::Chain, schema::Kind};

impl FileRows<'_> {
    /// Positions of the well-formed rows that `where` keeps.
    pub(super) fn kept_rows(
        &mut self,
        batch: &SourceBatch,
        bound: &[Bound<'_>],
    ) -> Result<Vec<usize>, ReadError> {
        let malformed: HashSet<usize> = batch.malformed.iter().map(|(row, _)| *row).collect();
        let mut rows: Vec<usize> = (0..batch.height)
            .filter(|row| !malformed.contains(row))
            .collect();
        for (name, filter) in &self.manifest.filters {
            let ours = bound
                .iter()
                .find(|bound| bound.column.name == name && !bound.is_absent());
            let cells = match ours {
                Some(bound) => gather(batch, bound, &rows)?,
                None => gather_named(batch, name, &rows)?,
            };
            let kind = ours.map_or(Kind::Text, |bound| bound.column.kind);
            let before = rows.len();
            let kept: Vec<bool> = match filter {
                RowFilter::OneOf(values) => {
                    let values: HashSet<String> = values
                        .iter()
                        .flat_map(|value| comparable(&RawCell::Text(value.as_str().into()), kind))
                        .collect();
                    cells
                        .iter()
                        .map(|cell| {
                            comparable(cell, kind)
                                .iter()
                                .any(|text| values.contains(text))
                        })
                        .collect()
                }
                RowFilter::Between { min, max } => {
                    let bound = |text: &Option<String>| {
                        let Some(text) = text else { return Ok(None) };
                        measure(&RawCell::Text(text.as_str().into()), kind)
                            .map(Some)
                            .ok_or_else(|| ReadError::FilterBound(text.clone()))
                    };
                    let (min, max) = (bound(min)?, bound(max)?);
                    let inside = |value: f64| {
                        min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max)
                    };
                    cells
                        .iter()
                        .map(|cell| measure(cell, kind).is_some_and(inside))
                        .collect()
                }
                RowFilter::Tokens => {
                    let ours = |cell: &RawCell<'_>| {
                        cell.to_text().and_then(|text| Address::or_coin(&text))
                    };
                    cells
                        .iter()
                        .map(|cell| {
                            ours(cell).is_some_and(|address| self.context.tokens.contains(&address))
                        })
                        .collect()
                }
            };
            rows = rows
                .iter()
                .zip(kept)
                .filter(|(_, kept)| *kept)
                .map(|(row, _)| *row)
                .collect();
            self.left_out += (before - rows.len()) as u64;
        }
        Ok(rows)
    }
}

/// Whether a partition, all of whose rows have this value in the column, may contain rows that the rule keeps.
pub(super) fn may_hold(rule: &RowFilter, value: &str, kind: Option<Kind>) -> bool {
    let kind = kind.unwrap_or(Kind::Text);
    let cell = if value.is_empty() {
        RawCell::Null
    } else {
        RawCell::Text(value.into())
    };
    match rule {
        RowFilter::OneOf(values) => {
            let texts = comparable(&cell, kind);
            values
                .iter()
                .flat_map(|value| comparable(&RawCell::Text(value.as_str().into()), kind))
                .any(|kept| texts.contains(&kept))
        }
        RowFilter::Between { min, max } => {
            let bound = |text: &String| measure(&RawCell::Text(text.as_str().into()), kind);
            // An invalid bound is reported where rows are filtered.
            let (min, max) = (min.as_ref().map(bound), max.as_ref().map(bound));
            if [min, max].contains(&Some(None)) {
                return true;
            }
            let (min, max) = (min.flatten(), max.flatten());
            measure(&cell, kind).is_some_and(|value| {
                min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max)
            })
        }
        // The tokens are known only as rows are read.
        RowFilter::Tokens => true,
    }
}

/// Normalized texts by which a cell and a value of `where` are compared.
fn comparable(cell: &RawCell<'_>, kind: Kind) -> Vec<String> {
    let chain = |cell: &RawCell<'_>| {
        cell.to_text()
            .and_then(|text| Chain::parse(&text))
            .map(|chain| chain.to_string())
    };
    match kind {
        _ if cell.is_null() => vec![String::new()],
        Kind::Chain => chain(cell).into_iter().collect(),
        Kind::Chains => list::elements(cell, None, false)
            .unwrap_or_default()
            .iter()
            .filter_map(chain)
            .collect(),
        Kind::Address | Kind::Hex => cell
            .to_text()
            .map(|text| text.to_ascii_lowercase())
            .into_iter()
            .collect(),
        _ => cell
            .to_text()
            .map(std::borrow::Cow::into_owned)
            .into_iter()
            .collect(),
    }
}
