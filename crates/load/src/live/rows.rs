//! Converts the rows of a response to rows of a schema table, in the same way as the loader reads files: units, notations, rules. A column
//! that is missing from every row is reported, because the service may have renamed it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use polars::prelude::{DataFrame, DataType, PolarsResult};
use serde_json::value::RawValue;

use super::{ExcludedPosts, LiveError};
use crate::{
    formats::json_objects,
    live::{ask::Ask, matching::Matcher, screen::screen},
    loader::{LoadContext, bind::wanted, file::FileRows, fill, path},
    manifest::{Manifest, TableManifest},
    provider::JsonAnswer,
};
use frames::{
    cache::CacheOptions,
    frame_rows::{filtered, integers, parsed, times},
    order,
};
use model::{
    address::Address,
    chain::Chain,
    findings::{Findings, Severity},
    format::plural,
    interval::Interval,
    progress::NoProgress,
    scalar::Scalar,
    schema::{self, Need, TableSchema},
    time::{DAY_MS, MINUTE_MS},
};

/// Time by which clocks may differ.
const CLOCKS_DIFFER_MS: i64 = 10 * MINUTE_MS;

/// Our rows of one answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerRows {
    pub(crate) frame: Option<DataFrame>,
    /// What is odd about them, for people.
    pub(crate) notes: Vec<String>,
    /// Posts that were left out.
    pub(crate) excluded: ExcludedPosts,
}

/// What is known of the dataset while rows are read.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Decimals of each token.
    pub(crate) decimals: HashMap<Address, Option<i64>>,
    /// The tokens of the dataset.
    pub(crate) tokens: HashSet<Address>,
    /// Decides which posts are about a token; `None`: all of them are.
    pub(crate) matcher: Option<Arc<Matcher>>,
}

/// The rows of an answer by table, with the number of those that it gives. Errors, which continue the name of a provider: it is not as the
/// provider is described.
pub(crate) fn of_answer(
    ask: &Ask<'_>,
    answer: &JsonAnswer,
    bytes: u64,
    known: &Known,
) -> Result<Vec<(&'static str, usize, AnswerRows)>, LiveError> {
    // A condition on tokens is one on the token that was asked for.
    let about = ask.about.token.map_or_else(
        || known.clone(),
        |token| Known {
            decimals: known
                .decimals
                .get(&token)
                .map(|decimals| (token, *decimals))
                .into_iter()
                .collect(),
            tokens: [token].into(),
            matcher: known.matcher.clone(),
        },
    );
    let mut tables = Vec::new();
    for (number, filled) in ask.request.tables.iter().enumerate() {
        let Some(schema) = schema::table(filled.table) else {
            continue;
        };
        let Some(elements) = answer.rows(&filled.rows)? else {
            // A table that comes along may be missing in some answers.
            if number > 0 {
                continue;
            }
            return Err(LiveError::LacksRows(filled.rows.clone()));
        };
        let given = elements.len();
        let mut mapping = ask.mapping(filled);
        let screened = screen(
            ask,
            filled,
            &mut mapping,
            elements,
            known.matcher.as_deref(),
        );
        let mut rows = read(
            schema,
            &mapping,
            screened.rows,
            bytes,
            &ask.provider.id,
            &about,
            filled.lenient,
        )?;
        rows.notes.extend(screened.notes);
        rows.excluded = screened.excluded;
        if let Some(interval) = ask.interval.filter(|_| ask.request.ends) {
            rows.frame = rows
                .frame
                .map(|frame| earlier(frame, interval.0))
                .transpose()?;
        }
        if let Some(frame) = rows.frame.take() {
            let frame = of_grid(
                of_chains(frame, &ask.about.chains)?,
                filled.table,
                ask.interval,
            )?;
            rows.frame = Some(until(frame, filled.table, ask.present, &mut rows.notes)?);
        }
        tables.push((filled.table, given, rows));
    }
    only_authors(&mut tables)?;
    Ok(tables)
}

/// Of a response with posts and people, the people who wrote one of the posts that remain: others are not stored.
fn only_authors(tables: &mut [(&'static str, usize, AnswerRows)]) -> PolarsResult<()> {
    let id = |frame: &DataFrame| parsed(frame, "author_id", |id| Some(id.to_owned()));
    if !tables.iter().any(|(name, ..)| *name == "posts") {
        return Ok(());
    }
    let posts = tables.iter().filter(|(name, ..)| *name == "posts");
    let frames = posts.filter_map(|(.., rows)| rows.frame.as_ref());
    let authors: HashSet<String> = frames.flat_map(id).flatten().collect();
    for (_, _, rows) in tables.iter_mut().filter(|(name, ..)| *name == "people") {
        if let Some(frame) = rows.frame.take() {
            let is_author = id(&frame)
                .into_iter()
                .map(|id| id.is_some_and(|id| authors.contains(&id)));
            rows.frame = Some(filtered(&frame, is_author)?);
        }
    }
    Ok(())
}

/// Reads the rows. Errors, which continue the name of a provider: none of them can be read, or a column that every row needs is missing.
fn read(
    schema: &'static TableSchema,
    mapping: &TableManifest,
    elements: Vec<Box<RawValue>>,
    bytes: u64,
    name: &str,
    known: &Known,
    lenient: bool,
) -> Result<AnswerRows, LiveError> {
    if elements.is_empty() {
        return Ok(AnswerRows::default());
    }
    let (manifest, cache) = (Manifest::default(), CacheOptions::default());
    let folder = std::path::Path::new("");
    let context = LoadContext {
        decimals: known.decimals.clone(),
        tokens: known.tokens.clone(),
        ..LoadContext::new(folder, &manifest, &NoProgress, &cache)
    };
    let count = elements.len() as u64;
    // Looked up here: a reader takes a member that is not there for an empty one.
    let is_nowhere = |from: &str| {
        from.contains('.')
            && !elements
                .iter()
                .any(|element| path::is_in(element.get(), from))
    };
    let nowhere: Vec<String> = mapping
        .columns
        .values()
        .filter_map(|column| column.from.clone())
        .filter(|from| is_nowhere(from))
        .collect();
    let mut source = json_objects(elements, bytes, wanted(schema, mapping));
    let mut rows = FileRows::new(&context, schema, mapping, name);
    let mut frames = Vec::new();
    while let Some(batch) = source.next_batch()? {
        missing(schema, mapping, source.columns(), &nowhere, lenient)?;
        rows.add(batch, source.columns())?;
        frames.append(&mut rows.frames);
    }
    rows.end();
    let mut notes = missing(schema, mapping, source.columns(), &nowhere, lenient)?;
    notes.extend(odd(&rows.findings, rows.rows_bad));
    let (bad, left_out) = (rows.rows_bad, rows.left_out);
    if bad > 0 && bad + left_out >= count && !lenient {
        let first = rows
            .findings
            .kept()
            .iter()
            .find(|finding| finding.severity == Severity::Error);
        return Err(LiveError::UnreadableRows(first.cloned().map(Box::new)));
    }
    let Some(mut frame) = order::whole(frames)? else {
        return Ok(AnswerRows {
            notes,
            ..AnswerRows::default()
        });
    };
    fill::table(schema, &mut frame);
    Ok(AnswerRows {
        frame: Some(frame),
        notes,
        ..AnswerRows::default()
    })
}

/// Columns that the description reads, and the answer has in no row; `nowhere` are the paths into members that no row has. Errors: every
/// row needs it.
fn missing(
    schema: &TableSchema,
    mapping: &TableManifest,
    names: &[String],
    nowhere: &[String],
    lenient: bool,
) -> Result<Vec<String>, LiveError> {
    let mut missing = Vec::new();
    for column in schema.columns {
        let Some(from) = mapping
            .columns
            .get(column.name)
            .and_then(|column| column.from.as_deref())
        else {
            continue;
        };
        let head = from.split('.').next().unwrap_or(from);
        let has_head = names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(from) || name.eq_ignore_ascii_case(head));
        if has_head && !nowhere.iter().any(|path| path == from) {
            continue;
        }
        // Rows that lack a part of a member are left out one by one where that is usual.
        if column.need == Need::Cell && !(has_head && lenient) {
            return Err(LiveError::LacksField {
                from: from.to_owned(),
                column: column.name,
            });
        }
        missing.push(format!(
            "no row has `{from}`, the field for `{}`; it may have been renamed",
            column.name
        ));
    }
    Ok(missing)
}

/// Rows that are written in our own columns.
pub(crate) fn own(
    schema: &'static TableSchema,
    elements: Vec<Box<RawValue>>,
) -> Result<Option<DataFrame>, LiveError> {
    read(
        schema,
        &TableManifest::default(),
        elements,
        0,
        "",
        &Known::default(),
        false,
    )
    .map(|rows| rows.frame)
}

/// Rows that were left out, and the first reason.
fn odd(findings: &Findings, bad: u64) -> Option<String> {
    let first = findings
        .kept()
        .iter()
        .find(|finding| finding.severity == Severity::Error)
        .filter(|_| bad > 0)?;
    let column = first
        .column
        .as_ref()
        .map_or_else(String::new, |column| format!(" `{column}`"));
    let value = first
        .value
        .as_ref()
        .map_or_else(String::new, |value| format!(" (`{value}`)"));
    Some(format!(
        "excluded {}; the first:{column} {}{value}",
        plural(bad, "row", "rows"),
        first.reason
    ))
}

/// The least and the greatest value of a column, times in milliseconds; none where it has none.
pub(crate) fn bounds(frame: &DataFrame, column: &str) -> Option<(i64, i64)> {
    let days = frame.column(column).ok()?.dtype() == &DataType::Date;
    let scale = if days { DAY_MS } else { 1 };
    let numbers = integers(frame, column);
    let (least, most) = (
        numbers.iter().flatten().min()?,
        numbers.iter().flatten().max()?,
    );
    Some((least * scale, most * scale))
}

/// The rows of these chains, of tables that name them: a token's address may be another token's on another chain.
fn of_chains(frame: DataFrame, chains: &[Chain]) -> PolarsResult<DataFrame> {
    if chains.is_empty() || frame.column("chain").is_err() {
        return Ok(frame);
    }
    let names: Vec<String> = chains.iter().map(Chain::to_string).collect();
    let is_kept = |row: usize| match frames::cell::in_frame(&frame, "chain", row) {
        Scalar::Text(chain) => names.iter().any(|name| *name == chain),
        Scalar::List(chains) => chains
            .iter()
            .any(|chain| names.iter().any(|name| name == chain)),
        _ => true,
    };
    filtered(&frame, (0..frame.height()).map(is_kept))
}

/// The candles with a start that `is_kept`.
fn by_start(frame: &DataFrame, is_kept: impl Fn(i64) -> bool) -> PolarsResult<DataFrame> {
    let starts = integers(frame, "timestamp").into_iter();
    filtered(frame, starts.map(|start| start.is_some_and(&is_kept)))
}

/// The candles that begin where candles of their length begin: some services end a list with the price of the moment.
fn of_grid(frame: DataFrame, table: &str, interval: Option<Interval>) -> PolarsResult<DataFrame> {
    let Some(interval) = interval.filter(|interval| table == "candles" && DAY_MS % interval.0 == 0)
    else {
        return Ok(frame);
    };
    by_start(&frame, |start| start % interval.0 == 0)
}

/// The candles that have begun. Those of the future are told: a service has other units, or this machine another time.
fn until(
    frame: DataFrame,
    table: &str,
    present: Option<i64>,
    notes: &mut Vec<String>,
) -> PolarsResult<DataFrame> {
    let Some(present) = present.filter(|_| table == "candles") else {
        return Ok(frame);
    };
    let begun = by_start(&frame, |start| start <= present + CLOCKS_DIFFER_MS)?;
    let future = (frame.height() - begun.height()) as u64;
    if future > 0 {
        notes.push(format!(
            "excluded {} dated in the future, according to this machine's clock",
            plural(future, "candle", "candles")
        ));
    }
    Ok(begun)
}

/// The rows with their times moved back by `by` milliseconds: to the starts of candles that are dated at their ends.
fn earlier(mut frame: DataFrame, by: i64) -> PolarsResult<DataFrame> {
    let ends = integers(&frame, "timestamp").into_iter();
    let starts = times("timestamp", ends.map(|end| end.map(|end| end - by)))?;
    frame.replace("timestamp", starts)?;
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_inside_another_that_no_row_has_is_told() {
        let manifest = Manifest::parse(
            "[tables.pools]\ncolumns = { address = 'id', dex_id = 'dex', token0 = 'a', token1 = 'b', liquidity = 'liquidity.usd', chain = 'c' }",
        )
        .expect("a description");
        let renamed =
            "no row has `liquidity.usd`, the field for `liquidity`; it may have been renamed";
        for (liquidity, notes) in [
            (r#"{"usd":5}"#, &[][..]),
            (r#"{"usd":null}"#, &[]),
            ("null", &[]),
            (r#"{"in_usd":5}"#, &[renamed]),
            ("{}", &[renamed]),
        ] {
            let address = |digit: &str| format!("0x{}", digit.repeat(40));
            let [id, a, b] = ["1", "2", "3"].map(address);
            let row = format!(
                r#"{{"id":"{id}","dex":"x","a":"{a}","b":"{b}","c":"eth","liquidity":{liquidity}}}"#
            );
            let schema = schema::table("pools").expect("a table");
            let elements = vec![RawValue::from_string(row).expect("JSON")];
            let read = read(
                schema,
                &manifest.tables["pools"],
                elements,
                0,
                "market",
                &Known::default(),
                true,
            )
            .expect("rows");
            assert_eq!(read.notes, notes, "{liquidity}");
        }
    }
}
