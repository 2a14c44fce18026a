//! Yields: infers whether figures are percentages, as the schema's, or fractions, from the file itself, or the user must say.

use super::{
    super::{
        evidence::number::NumberStyle,
        names::{Names, plain},
        refusal::{Refusal, UNIT},
        rows::{Edited, cells, put},
        sheet::RawTable,
        written::is_percent,
    },
    FileToImport, ImportPlan, ImportedTable,
};
use crate::AmountUnit;
use load::{formats::SourceBatch, loader::bind::bind};
use model::schema::{self, TableSchema};
use std::collections::HashMap;

/// Schema columns in percent a year.
pub(super) const PERCENT: &[&str] = &["apy", "apy_base", "apy_reward", "apy_mean_30d"];
/// Schema columns that may be missing: pools are then listed without the values, and plans that need these skip them.
pub(super) const MAY_LACK: &[&str] = &["tokens", "tvl", "apy_base", "apy_reward"];
/// Median that tells percentages from fractions: more than half of all pools pay more than this many percent a year, and almost none more
/// than this many times the deposit.
const PERCENT_MEDIAN: f64 = 1.0;

/// Minimum number of pools whose yields may all be too small for percentages.
const POOLS_TELL: usize = 5;

/// Words in names of rates that may be per period, or annualised at that time.
const TIMES: &str = "daily weekly monthly";

/// Whether the name leaves the rate's period ambiguous.
pub(super) fn may_be_of_a_period(name: &str) -> bool {
    TIMES.split(' ').any(|word| plain(name).contains(word))
}

/// The unit of a yield column, if its name or cells show it.
pub(super) fn unit_shown(sheet: &RawTable, at: usize) -> Option<AmountUnit> {
    let name = plain(&sheet.names[at]);
    if ["percent", "pct"].iter().any(|word| name.contains(word)) || sheet.names[at].contains('%') {
        return Some(AmountUnit::Percent);
    }
    if sheet.column(at).any(|cell| cell.trim().ends_with('%')) {
        return Some(AmountUnit::Percent);
    }
    let style = NumberStyle::of(sheet.column(at), sheet.semicolons)?;
    let mut figures: Vec<f64> = sheet
        .column(at)
        .filter_map(|cell| style.plain(cell)?.parse().ok())
        .filter(|figure: &f64| *figure > 0.0)
        .collect();
    figures.sort_by(f64::total_cmp);
    figures
        .get(figures.len() / 2)
        .filter(|median| **median > PERCENT_MEDIAN)
        .map(|_| AmountUnit::Percent)
}

/// A cell to quote, not 0 if possible, as 0 shows no unit.
fn example_cell(sheet: &RawTable, at: usize) -> &str {
    let filled = || sheet.column(at).filter(|cell| !cell.is_empty());
    filled()
        .find(|cell| cell.parse() != Ok(0.0))
        .or_else(|| filled().next())
        .unwrap_or_default()
}

/// Names of columns with the time of a row.
const TIMES_OF_ROWS: &str =
    "timestamp time datetime date day unix asof snapshot snapshotdate createdat dt 日期 时间";
/// Added column that marks the newest row of each pool.
const NEWEST: &str = "newest of its pool";
/// Columns that tell pools apart where none has their ids.
const POOL_NAME: [&str; 4] = ["protocol", "chain", "symbol", "pool_meta"];
/// Maximum number of pools in a history.
const POOLS_MAX: usize = 1_000_000;

/// Keeps the newest row of each pool, if the file holds their history; the table has one row per pool. Rows of the newest time all stay, as
/// several pools may have one name.
pub(super) fn newest(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    schema: &'static TableSchema,
    take: ImportedTable,
) -> Result<(ImportedTable, Option<String>), Refusal> {
    let bound = bind(schema, &take.manifest, &sheet.names)?;
    let raw = |ours: &str| {
        bound
            .iter()
            .find(|bound| bound.column.name == ours)
            .and_then(|bound| bound.raw.clone())
    };
    let times = Names::of(&sheet.names)
        .in_order(TIMES_OF_ROWS)
        .find_map(|at| {
            let read = sheet
                .when(&sheet.column(at).collect::<Vec<_>>())
                .ok()
                .flatten();
            Some((
                sheet.names[at].clone(),
                read.filter(|_| {
                    bound
                        .iter()
                        .all(|bound| bound.raw.as_ref() != Some(&sheet.names[at]))
                })?,
            ))
        });
    let Some((time, when)) = times.filter(|_| sheet.named) else {
        return Ok((take, None));
    };
    let (id, used) = (raw("pool"), time.clone());
    let names: Vec<String> = id.clone().map_or_else(
        || POOL_NAME.iter().filter_map(|ours| raw(ours)).collect(),
        |id| vec![id],
    );
    let keyed = move |batch: &SourceBatch| -> Vec<(String, Option<i64>)> {
        let parts: Vec<Vec<Option<String>>> = names.iter().map(|name| cells(batch, name)).collect();
        let key = |row: usize| {
            parts
                .iter()
                .map(|part| part[row].as_deref().unwrap_or_default())
                .collect::<Vec<_>>()
                .join("\n")
        };
        let ms = |cell: Option<String>| cell.and_then(|cell| when.ms(&cell));
        cells(batch, &time)
            .into_iter()
            .enumerate()
            .map(|(row, cell)| (key(row), ms(cell)))
            .collect()
    };
    let (mut last, mut rows, mut older) = (HashMap::<String, i64>::new(), 0, false);
    let mut again = sheet.rows(file.sniffed)?;
    while let Some(batch) = again.next_batch()? {
        for (key, ms) in keyed(&batch) {
            let Some(ms) = ms else { continue };
            rows += 1;
            let known = last.entry(key).or_insert(ms);
            older |= *known != ms;
            *known = ms.max(*known);
        }
        if last.len() > POOLS_MAX {
            return Ok((take, None));
        }
    }
    // A few rows of one name and other times may be pools that were measured one after the other.
    if !older || id.is_none() && rows * 2 < last.len() * 3 {
        return Ok((take, None));
    }
    let rows = Edited::over(take.rows, [NEWEST], move |batch| {
        let is_newest = |(key, ms): (String, Option<i64>)| {
            Some(
                if last.get(&key).copied() == ms {
                    "yes"
                } else {
                    "no"
                }
                .to_owned(),
            )
        };
        let marks: Vec<Option<String>> = keyed(batch).into_iter().map(is_newest).collect();
        put(batch, NEWEST, marks);
    });
    let says = "assumed: its rows are the history of pools, as several rows have the same protocol, chain, symbol and pool_meta but different \
                times; only the newest row of each pool is imported";
    let mut take =
        ImportedTable { rows, ..take }.keep(NEWEST, &["yes"], "are earlier rows of the same pool");
    take.worked_out.push(used);
    Ok((take, id.is_none().then(|| says.to_owned())))
}

/// The note on pools without a category, which the loader counts as vaults.
pub(super) fn category_assumed(
    take: &ImportedTable,
    sheet: &RawTable,
    schema: &'static TableSchema,
) -> Result<Option<String>, Refusal> {
    let says = "assumed: its pools have the category `vault`, as the file names none; to change it, pass --set category=lending";
    Ok((!take.served(sheet, schema)?.contains(&"category")).then(|| says.to_owned()))
}

/// Whether all pools pay so little that their yields may be fractions, though their source states percent.
fn are_small(sheet: &RawTable, columns: &[(&'static str, usize)]) -> bool {
    let most = |row: &Vec<String>| {
        columns
            .iter()
            .filter_map(|(_, at)| row[*at].trim().parse::<f64>().ok())
            .reduce(f64::max)
    };
    let mut paid: Vec<f64> = sheet
        .first
        .iter()
        .filter_map(most)
        .filter(|most| *most > 0.0)
        .collect();
    paid.sort_by(f64::total_cmp);
    let (median, largest) = (paid.get(paid.len() / 2), paid.last());
    paid.len() >= POOLS_TELL
        && median.is_some_and(|median| *median < 0.5)
        && largest.is_some_and(|largest| *largest < 1.0)
}

/// Completes the plan with yields converted to percent; asks the user if the unit is unclear. `stated`: the format states percent.
pub(super) fn in_percent(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    take: &mut ImportedTable,
    plan: ImportPlan,
    stated: bool,
) -> Result<ImportPlan, Refusal> {
    let Some(schema) = schema::table("yields") else {
        return Ok(plan);
    };
    let bound = bind(schema, &take.manifest, &sheet.names)?;
    let columns: Vec<(&'static str, usize)> = bound
        .iter()
        .filter(|bound| PERCENT.contains(&bound.column.name) && bound.rule.scale.is_none())
        .filter_map(|bound| {
            Some((
                bound.column.name,
                sheet
                    .names
                    .iter()
                    .position(|name| Some(name) == bound.raw.as_ref())?,
            ))
        })
        .collect();
    let Some((_, first)) = columns.first() else {
        return Ok(plan);
    };
    let fractions = match file.options.unit {
        Some(AmountUnit::Fraction) => !columns
            .iter()
            .any(|(_, at)| sheet.column(*at).any(is_percent)),
        Some(AmountUnit::Percent) => false,
        _ if stated => {
            let says = "assumed: its yields are in percent, as is usual for its source, though all of them are below 1; pass --unit \
                fraction if 0.05 means 5%";
            let is_assumed = are_small(sheet, &columns);
            return Ok(plan.noting(is_assumed.then(|| says.to_owned())));
        }
        _ if let Some((_, at)) = columns
            .iter()
            .find(|(_, at)| may_be_of_a_period(&sheet.names[*at])) =>
        {
            return Err(Refusal::new(format!(
                "looks like yields, but `{}` in `{}` may be an annual rate or the rate of a single period, and tokendeck needs annual \
                    rates; pass --unit percent if it is annual and in percent, or --unit fraction if it is annual and a fraction of 1. \
                    Otherwise, use a file with annual rates",
                example_cell(sheet, *at),
                sheet.names[*at]
            ))
            .say("unit", UNIT));
        }
        // One conclusive column decides for all, as a file has one notation.
        _ if columns
            .iter()
            .any(|(_, at)| unit_shown(sheet, *at).is_some()) =>
        {
            false
        }
        _ => {
            let (name, cell) = (&sheet.names[*first], example_cell(sheet, *first));
            return Err(Refusal::new(format!(
                "looks like yields, but `{cell}` in `{name}` may be a percentage or a fraction; pass --unit percent if 0.05 means \
                 0.05%, or --unit fraction if it means 5%"
            ))
            .say("unit", UNIT));
        }
    };
    if !fractions {
        return Ok(plan);
    }
    for (ours, _) in columns {
        take.rule(ours).scale = Some(100.0);
    }
    Ok(plan.saying("its yields are fractions, so they are multiplied by 100"))
}
