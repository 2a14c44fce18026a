//! What is worked out where a table leaves it out: amounts from smallest units, candle intervals, ids of yield pools, names of fee
//! tiers. Figures that need other tables are not the loader's.

use std::collections::{HashMap, HashSet};

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom, Series};

use super::Context;
use crate::dataset::{
    address::Address,
    alike::rewritten,
    candles::Interval,
    coerce::{cell::Cell, raw_amount},
    schema::TableSchema,
};

const NO_DECIMALS: &str = "the token's decimals are unknown, so its smallest units cannot be converted; the cell is left empty";
const NOT_RAW: &str = "expected a whole number of smallest units; the cell is left empty";

fn texts<'c>(columns: &'c [Column], name: &str) -> Option<&'c Column> {
    columns.iter().find(|column| column.name() == name)
}

/// An amount that could not be worked out: position, value, reason.
pub(super) type AmountIssue = (usize, String, &'static str);

/// Fills the empty cells of the amount column `at` from `cells`, which are in smallest units.
pub(super) fn amounts(
    context: &Context<'_>,
    schema: &TableSchema,
    columns: &[Column],
    at: usize,
    cells: &[Cell<'_>],
) -> (Column, Vec<AmountIssue>) {
    let column = &columns[at];
    let mut issues = Vec::new();
    let given: Vec<Option<f64>> = column.f64().map_or_else(|_| vec![None; cells.len()], |numbers| numbers.iter().collect());
    let own = texts(columns, "decimals").filter(|_| schema.name == "tokens").and_then(|column| column.i64().ok());
    let tokens = texts(columns, "token_address").and_then(|column| column.str().ok());
    let decimals = |row: usize| match own {
        Some(own) => own.get(row),
        None => tokens
            .and_then(|tokens| tokens.get(row))
            .and_then(Address::parse)
            .and_then(|token| context.decimals.get(&token).copied().flatten()),
    };
    let mut value = |(row, cell): (usize, &Cell<'_>)| {
        if given[row].is_some() || cell.is_null() {
            return given[row];
        }
        let Some(decimals) = decimals(row) else {
            issues.push((row, cell.shown(), NO_DECIMALS));
            return None;
        };
        raw_amount(cell, decimals).unwrap_or_else(|_| {
            issues.push((row, cell.shown(), NOT_RAW));
            None
        })
    };
    let values: Vec<Option<f64>> = cells.iter().enumerate().map(&mut value).collect();
    (Series::new(column.name().clone(), values).into_column(), issues)
}

/// Writes the given intervals in their one spelling; those that are none become empty and are named.
pub(super) fn intervals_read(columns: &mut [Column]) -> (Option<&'static str>, Vec<(usize, String)>) {
    let mut issues = Vec::new();
    let Some(column) = columns.iter_mut().find(|column| column.name() == "interval") else { return (None, issues) };
    let Ok(given) = column.str() else { return (None, issues) };
    *column = rewritten("interval".into(), given, |rows, text| {
        let text = text?;
        let interval = Interval::parse(text).map(|interval| interval.to_string().into());
        if interval.is_none() {
            issues.extend(rows.map(|row| (row, text.to_owned())));
        }
        interval
    });
    (Some("interval"), issues)
}

/// Fills empty intervals of one file's candles: the most frequent step of the token's rows, the finest of several; a day without any.
pub(in crate::dataset) fn intervals(frame: &mut DataFrame) {
    let Some(filled) = filled_intervals(frame) else { return };
    if let Some(at) = frame.get_column_index("interval") {
        // A column of the same name and length always fits.
        let _ = frame.replace_column(at, Series::new("interval".into(), filled).into_column());
    }
}

fn filled_intervals(frame: &DataFrame) -> Option<Vec<Option<String>>> {
    let given = frame.column("interval").ok()?.str().ok()?;
    if given.null_count() == 0 {
        return None;
    }
    let tokens = frame.column("token_address").ok()?.str().ok()?;
    let times = frame.column("timestamp").ok()?.to_physical_repr().cast(&DataType::Int64).ok()?;
    let mut by_token: HashMap<&str, Vec<i64>> = HashMap::new();
    for ((token, time), given) in tokens.iter().zip(times.i64().ok()?.iter()).zip(given.iter()) {
        if let (Some(token), Some(time), None) = (token, time, given) {
            by_token.entry(token).or_default().push(time);
        }
    }
    let steps: HashMap<&str, String> = by_token.into_iter().map(|(token, times)| (token, step(times).to_string())).collect();
    let fill = |(token, given): (Option<&str>, Option<&str>)| given.map(str::to_owned).or_else(|| steps.get(token?).cloned());
    Some(tokens.iter().zip(given.iter()).map(fill).collect())
}

pub(crate) fn step(mut times: Vec<i64>) -> Interval {
    times.sort_unstable();
    times.dedup();
    let mut steps: HashMap<i64, usize> = HashMap::new();
    for pair in times.windows(2) {
        *steps.entry(pair[1] - pair[0]).or_default() += 1;
    }
    let best = steps.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
    // A step longer than any interval there is says nothing.
    best.map(|(step, _)| Interval(step)).filter(|step| Interval::parse(&step.to_string()).is_some()).unwrap_or(Interval::DAY)
}

/// What a whole table is filled with, its rows in input order.
pub(in crate::dataset) fn table(schema: &TableSchema, frame: &mut DataFrame) {
    match schema.name {
        "yields" => yields(frame),
        "fee_tiers" => fee_tiers(frame),
        _ => {}
    }
}

fn column_texts(frame: &DataFrame, name: &str) -> Vec<Option<String>> {
    let texts = frame.column(name).ok().and_then(|column| column.str().ok());
    texts.map_or_else(|| vec![None; frame.height()], |texts| texts.iter().map(|text| text.map(str::to_owned)).collect())
}

fn put(frame: &mut DataFrame, name: &'static str, values: Vec<Option<String>>) {
    if let Some(at) = frame.get_column_index(name) {
        let _ = frame.replace_column(at, Series::new(name.into(), values).into_column());
    }
}

/// A pool without an id is named `protocol:chain:symbol:pool_meta`, with `#2`, `#3` … for repeats; without a category it is a vault.
fn yields(frame: &mut DataFrame) {
    let mut ids = column_texts(frame, "pool");
    let parts: Vec<_> = ["protocol", "chain", "symbol", "pool_meta"].iter().map(|name| column_texts(frame, name)).collect();
    let mut used: HashSet<String> = ids.iter().flatten().cloned().collect();
    let mut repeats: HashMap<String, u32> = HashMap::new();
    for (row, id) in ids.iter_mut().enumerate().filter(|(_, id)| id.is_none()) {
        let words: Vec<&str> = parts.iter().filter_map(|part| part[row].as_deref()).collect();
        let name = words.join(":");
        let count = repeats.entry(name.clone()).or_default();
        let unique = loop {
            *count += 1;
            let candidate = if *count == 1 { name.clone() } else { format!("{name}#{count}") };
            if used.insert(candidate.clone()) {
                break candidate;
            }
        };
        *id = Some(unique);
    }
    put(frame, "pool", ids);
    let categories = column_texts(frame, "category").into_iter().map(|category| category.or_else(|| Some("vault".to_owned()))).collect();
    put(frame, "category", categories);
}

/// A tier without a name is named by its fee in percent: `0.3%`.
fn fee_tiers(frame: &mut DataFrame) {
    let mut tiers = column_texts(frame, "tier");
    if let Some(fees) = frame.column("fee").ok().and_then(|column| column.f64().ok()) {
        for (tier, fee) in tiers.iter_mut().zip(fees.iter()) {
            if let (None, Some(fee)) = (&tier, fee) {
                // To a millionth of a percent: 0.003 × 100 must not read 0.30000000000000004.
                let percent = (fee * 1e8).round() / 1e6;
                *tier = Some(format!("{percent}%"));
            }
        }
    }
    put(frame, "tier", tiers);
}
