//! Fills in values missing from a table: intervals of candles, ids of yield pools, names of fee tiers, engagement of posts. Values that need other tables are
//! derived by analyses.

use std::collections::{HashMap, HashSet};

use polars::prelude::{Column, DataFrame};

use frames::{
    frame_rows::{column, integers, parsed},
    text_runs::rewritten,
};
use model::{candles::Interval, schema::TableSchema};

/// Normalizes the given intervals; invalid ones become null and are returned.
pub(super) fn intervals_read(
    columns: &mut [Column],
) -> (Option<&'static str>, Vec<(usize, String)>) {
    let mut issues = Vec::new();
    let Some(column) = columns
        .iter_mut()
        .find(|column| column.name() == "interval")
    else {
        return (None, issues);
    };
    let Ok(given) = column.str() else {
        return (None, issues);
    };
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

/// Fills in missing intervals of one file's candles: the most frequent step between the token's rows (the smallest if several are equally
/// frequent), or a day if there is no step.
pub fn intervals(frame: &mut DataFrame) {
    let Some(filled) = filled_intervals(frame) else {
        return;
    };
    put(frame, "interval", filled);
}

fn filled_intervals(frame: &DataFrame) -> Option<Vec<Option<String>>> {
    let given = frame.column("interval").ok()?.str().ok()?;
    if given.null_count() == 0 {
        return None;
    }
    let tokens = frame.column("token_address").ok()?.str().ok()?;
    let times = integers(frame, "timestamp");
    let mut by_token: HashMap<&str, Vec<i64>> = HashMap::new();
    for ((token, time), given) in tokens.iter().zip(times).zip(given.iter()) {
        if let (Some(token), Some(time), None) = (token, time, given) {
            by_token.entry(token).or_default().push(time);
        }
    }
    let steps: HashMap<&str, String> = by_token
        .into_iter()
        .map(|(token, times)| (token, Interval::between(times).to_string()))
        .collect();
    let fill = |(token, given): (Option<&str>, Option<&str>)| {
        given
            .map(str::to_owned)
            .or_else(|| steps.get(token?).cloned())
    };
    Some(tokens.iter().zip(given.iter()).map(fill).collect())
}

/// Fills in the columns of a whole table, its rows in input order.
pub fn table(schema: &TableSchema, frame: &mut DataFrame) {
    match schema.name {
        "yields" => yields(frame),
        "fee_tiers" => fee_tiers(frame),
        "posts" => engagement(frame),
        _ => {}
    }
}

fn column_texts(frame: &DataFrame, name: &str) -> Vec<Option<String>> {
    parsed(frame, name, |text| Some(text.to_owned()))
}

fn put(frame: &mut DataFrame, name: &'static str, values: Vec<Option<String>>) {
    // A column of the same length always fits.
    frame.replace(name, column(name, values)).ok();
}

/// Names a pool without an id `protocol:chain:symbol:pool_meta`, with `#2`, `#3` … for repeats; without a category it is a vault.
fn yields(frame: &mut DataFrame) {
    let mut ids = column_texts(frame, "pool");
    let parts: Vec<_> = ["protocol", "chain", "symbol", "pool_meta"]
        .iter()
        .map(|name| column_texts(frame, name))
        .collect();
    let mut used: HashSet<String> = ids.iter().flatten().cloned().collect();
    let mut repeats: HashMap<String, u32> = HashMap::new();
    for (row, id) in ids.iter_mut().enumerate().filter(|(_, id)| id.is_none()) {
        let words: Vec<&str> = parts
            .iter()
            .filter_map(|part| part[row].as_deref())
            .collect();
        let name = words.join(":");
        let count = repeats.entry(name.clone()).or_default();
        let unique = loop {
            *count += 1;
            let candidate = if *count == 1 {
                name.clone()
            } else {
                format!("{name}#{count}")
            };
            if used.insert(candidate.clone()) {
                break candidate;
            }
        };
        *id = Some(unique);
    }
    put(frame, "pool", ids);
    let categories = column_texts(frame, "category")
        .into_iter()
        .map(|category| category.or_else(|| Some("vault".to_owned())))
        .collect();
    put(frame, "category", categories);
}

/// The engagement of a post without one is the sum of its likes, reposts and replies, as far as they are known.
fn engagement(frame: &mut DataFrame) {
    let parts: Vec<_> = ["likes", "reposts", "replies"]
        .iter()
        .filter(|name| {
            frame
                .column(name)
                .is_ok_and(|cells| cells.null_count() < frame.height())
        })
        .map(|name| integers(frame, name))
        .collect();
    if parts.is_empty() {
        return;
    }
    let sum = |row: usize| {
        let known = parts.iter().filter_map(|part| part[row]);
        known.reduce(i64::saturating_add)
    };
    let given = integers(frame, "engagement").into_iter().enumerate();
    let filled = given.map(|(row, given)| given.or_else(|| sum(row)));
    frame
        .replace("engagement", column("engagement", filled))
        .ok();
}

/// Names a tier without a name by its fee in percent: `0.3%`.
fn fee_tiers(frame: &mut DataFrame) {
    let mut tiers = column_texts(frame, "tier");
    if let Some(fees) = frame
        .column("fee")
        .ok()
        .and_then(|column| column.f64().ok())
    {
        for (tier, fee) in tiers.iter_mut().zip(fees.iter()) {
            if let (None, Some(fee)) = (&tier, fee) {
                // Rounded to a millionth of a percent: 0.003 × 100 must not read 0.30000000000000004.
                let percent = (fee * 1e8).round() / 1e6;
                *tier = Some(format!("{percent}%"));
            }
        }
    }
    put(frame, "tier", tiers);
}
