//! What the cells of a column say whatever table they are for: percent signs, and times whose notation must be reported.

use super::{
    edits::with_places,
    evidence::when::TimeStyle,
    format::{ImportPlan, ImportedTable},
    notation,
    rows::{Edited, cells, put},
    sheet::RawTable,
};
use load::loader::bind::bind;
use model::schema::{self, Column, Kind};

/// Whether the cell is a percentage, as `3.12%`.
pub(super) fn is_percent(cell: &str) -> bool {
    cell.trim_end().ends_with('%')
}

/// The plan with percentages in the units of their columns, and with notes on the notation of its times.
pub(super) fn as_written(sheet: &RawTable, mut plan: ImportPlan) -> ImportPlan {
    for mut take in std::mem::take(&mut plan.takes) {
        for (column, at) in columns(sheet, &take) {
            match column.kind {
                Kind::Time | Kind::Date => {
                    let Ok(Some(when)) = sheet.when(&sheet.column(at).collect::<Vec<_>>()) else {
                        continue;
                    };
                    plan.notes.extend(
                        when.assumed(&sheet.names[at])
                            .filter(|note| !plan.notes.contains(note)),
                    );
                    let says = when.says().filter(|says| {
                        matches!(when, TimeStyle::Local(..)) && !plan.says.contains(says)
                    });
                    plan.says.extend(says);
                }
                Kind::Float if sheet.column(at).any(is_percent) => {
                    take = in_unit(sheet, take, column, at);
                }
                _ => {}
            }
        }
        plan.takes.push(take);
    }
    if sheet.zone.is_some() && !plan.says.iter().any(|says| says.contains("--timezone")) {
        plan.says.push(
            "--timezone is ignored, as the file contains no time of day without a time zone"
                .to_owned(),
        );
    }
    plan
}

/// The schema columns of a table, and the file's columns that are read into them.
fn columns(sheet: &RawTable, take: &ImportedTable) -> Vec<(&'static Column, usize)> {
    let bound = schema::table(take.table)
        .and_then(|schema| bind(schema, &take.manifest, take.rows.columns()).ok());
    let place = |name: &String| sheet.names.iter().position(|known| known == name);
    bound
        .into_iter()
        .flatten()
        .filter_map(|bound| Some((bound.column, place(bound.raw.as_ref()?)?)))
        .collect()
}

/// The rows with percentages as the column needs them: without their sign, or as fractions. Those in columns of other units stay unreadable.
fn in_unit(
    sheet: &RawTable,
    mut take: ImportedTable,
    column: &'static Column,
    at: usize,
) -> ImportedTable {
    let places = match column {
        column if column.fraction => 2,
        column if column.meaning.contains("percent") => 0,
        _ => return take,
    };
    let Some(style) = notation::style(sheet, &[at]) else {
        return take;
    };
    take.rule(column.name).scale = None;
    let (name, none) = (sheet.names[at].clone(), std::iter::empty::<String>());
    let rows = Edited::over(take.rows, none, move |batch| {
        let read = |cell: String| {
            let number = cell
                .trim_end()
                .strip_suffix('%')
                .and_then(|number| with_places(style.plain(number)?, places));
            number.unwrap_or(cell)
        };
        let cells = cells(batch, &name);
        if cells.iter().flatten().any(|cell| is_percent(cell)) {
            put(
                batch,
                &name,
                cells.into_iter().map(|cell| cell.map(&read)).collect(),
            );
        }
    });
    ImportedTable { rows, ..take }
}
