//! Sorting the rows of a grid: those in memory by polars, those of a large table by its sort index (`cache::sort_rows`).

use polars::prelude::{
    AnyValue, Column, DataFrame, IdxCa, IntoColumn, NamedFrom, PolarsResult, SortMultipleOptions,
};

use super::Grid;
use crate::cache::{RowSelection, SortBy, sort_rows, top_rows};
use model::{
    error::{Code, Problem, Result},
    interval::Interval,
    schema::{Kind, TableSchema},
};

/// Rows in sort order.
#[derive(Debug)]
pub enum SortedRows {
    All(RowSelection),
    /// Only the first rows, because the complete sort is slow.
    First(RowSelection),
}

impl Grid {
    /// The rows of `among` in sort order: all rows or, with `count`, only the first if a complete sort is slow. Missing values are last in
    /// both directions, and the sort is stable. `step` receives (done, total), and its error aborts the sort.
    pub fn sorted(
        &self,
        schema: &TableSchema,
        by: SortBy<'_>,
        among: &RowSelection,
        count: Option<usize>,
        mut step: impl FnMut(u64, u64) -> Result<()>,
    ) -> Result<SortedRows> {
        match self {
            Self::Memory(frame) => {
                // Polars cannot be cancelled midway; the total is unknown.
                step(0, 0)?;
                let rows = sorted_in_memory(frame, schema, by, among).map_err(|error| {
                    tracing::warn!("cannot sort {}: {error}", schema.name);
                    Problem::new(
                        Code::Defect,
                        "The rows cannot be sorted by this column; choose another one.",
                    )
                })?;
                Ok(SortedRows::All(RowSelection::from(rows)))
            }
            // The large table is stored in this order.
            Self::Large(_) if by.ties.is_empty() && schema.order.first() == Some(&by.column) => {
                Ok(SortedRows::All(if by.descending {
                    RowSelection::Reversed(Box::new(among.clone()))
                } else {
                    among.clone()
                }))
            }
            Self::Large(table) => match count.filter(|_| among.len() > table.sorting().at_once) {
                None => sort_rows(table, by, among, step).map(SortedRows::All),
                Some(count) => Ok(SortedRows::First(RowSelection::from(top_rows(
                    table, by, among, count, step,
                )?))),
            },
        }
    }
}

fn sorted_in_memory(
    frame: &DataFrame,
    schema: &TableSchema,
    by: SortBy<'_>,
    among: &RowSelection,
) -> PolarsResult<Vec<u32>> {
    let rows: Vec<u32> = among.iter().map(|place| place as u32).collect();
    let places = IdxCa::new("rows".into(), &rows);
    let (mut keys, mut descending) = (Vec::new(), Vec::new());
    for (nth, (name, falls)) in std::iter::once((by.column, by.descending))
        .chain(by.ties.iter().copied())
        .enumerate()
    {
        let column = frame.column(name)?.take(&places)?;
        keys.push(
            comparable(column, schema.column(name).map(|column| column.kind))
                .with_name(nth.to_string().into()),
        );
        descending.push(falls);
    }
    let names: Vec<String> = (0..keys.len()).map(|nth| nth.to_string()).collect();
    let options = SortMultipleOptions::default()
        .with_nulls_last_multi(descending.iter().map(|_| true))
        .with_order_descending_multi(descending)
        .with_maintain_order(true);
    let mut keyed = DataFrame::new(rows.len(), keys)?;
    keyed.with_column(places.into_column())?;
    Ok(keyed
        .sort(names, options)?
        .column("rows")?
        .idx()?
        .iter()
        .flatten()
        .collect())
}

/// The column in a comparable form.
fn comparable(column: Column, kind: Option<Kind>) -> Column {
    let name = column.name().clone();
    let Ok(texts) = column.str() else {
        if column.dtype().is_list() {
            // Lists compare by their displayed text.
            return Column::new(
                name,
                (0..column.len())
                    .map(|row| list_text(&column, row))
                    .collect::<Vec<_>>(),
            );
        }
        return column;
    };
    match kind {
        // Padded with zeros, so that text order is numeric order.
        Some(Kind::Uint256) => Column::new(
            name,
            texts
                .iter()
                .map(|cell| cell.map(|digits| format!("{digits:0>78}")))
                .collect::<Vec<_>>(),
        ),
        Some(Kind::Text) if name == "interval" => Column::new(
            name,
            texts
                .iter()
                .map(|cell| cell.and_then(Interval::parse).map(|interval| interval.0))
                .collect::<Vec<_>>(),
        ),
        _ => column,
    }
}

fn list_text(column: &Column, row: usize) -> Option<String> {
    let Ok(AnyValue::List(members)) = column.get(row) else {
        return None;
    };
    Some(
        members
            .iter()
            .map(|member| member.get_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
            .join(", "),
    )
}
