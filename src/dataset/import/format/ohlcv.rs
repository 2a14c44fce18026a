//! Candles as lists or tables of a time, open, high, low, close and volume: Bybit, CryptoCompare, freqtrade and any other source. What
//! all formats of candles share is here too.

use std::collections::{BTreeSet, HashMap};

use serde_json::value::RawValue;

use super::{
    super::{
        look::{Looked, Shape},
        outline::elements,
        pair,
        rows::{Edited, Made, mend, plain_number, stroke_format, texts},
        tokens::Found,
    },
    Asked, Plan, Take, has,
};
use crate::dataset::source::{Layout, RowSource};

const PRICES: &[&str] = &["open", "high", "low", "close"];
/// What the time may be called; the first that is there serves.
const TIMES: &[&str] = &["timestamp", "time", "datetime", "date", "unix", "ts", "open_time", "time_period_start"];
/// Symbols of one file.
const MAX_SYMBOLS: usize = 50_000;

pub(super) fn is_bybit(looked: &Looked) -> bool {
    is(looked) && has(&looked.header(), &["timestamp", "turnover"])
}

pub(super) fn is_cryptocompare(looked: &Looked) -> bool {
    is(looked) && has(&looked.header(), &["unit", "instrument", "market"])
}

pub(super) fn is_feather(looked: &Looked) -> bool {
    matches!(looked.shape, Shape::Columns(_)) && looked.header() == ["date", "open", "high", "low", "close", "volume"]
}

pub(super) fn is_lists(looked: &Looked) -> bool {
    looked.outline().is_some_and(|outline| outline.lists_of("", 6))
}

pub(super) fn is(looked: &Looked) -> bool {
    let header = looked.header();
    has(&header, PRICES) && TIMES.iter().any(|name| has(&header, &[name]))
}

pub(super) fn open(asked: &Asked<'_>) -> Result<Plan, String> {
    let token = asked.traded(None)?;
    let header = asked.looked.header();
    let time = TIMES.iter().find(|name| has(&header, &[name])).ok_or("has no time")?;
    let mut rows = asked.looked.rows(&Layout::default())?;
    if matches!(asked.looked.shape, Shape::Rows(_)) {
        rows = Edited::over(rows, &[], |batch| {
            for name in PRICES.iter().chain(&["volume"]) {
                if texts(batch, name).iter().flatten().any(|text| text.contains([',', '$'])) {
                    mend(batch, name, plain_number);
                }
            }
        });
    }
    let mut take = Take::into("candles", rows).columns(&[("timestamp", time)]).of(&token);
    let strokes = stroke_format(&asked.looked.first_cells(time));
    take.rule("timestamp").format = strokes.map(str::to_owned);
    let plan = Plan::of(vec![take]).about(token);
    Ok(match strokes {
        Some(format) if format.starts_with("%m") => plan.saying("its dates are read as month/day/year"),
        Some(_) => plan.saying("its dates are read as day/month/year"),
        None => plan,
    })
}

pub(super) fn cryptocompare(asked: &Asked<'_>) -> Result<Plan, String> {
    let layout = Layout::default();
    let take = Take::into("candles", asked.looked.rows(&layout)?);
    by_symbol(asked, take, "INSTRUMENT", &layout)
}

pub(super) fn lists(asked: &Asked<'_>) -> Result<Plan, String> {
    let token = asked.traded(None)?;
    let rows = json_lists(asked, &["timestamp", "open", "high", "low", "close", "volume"])?;
    Ok(Plan::of(vec![Take::into("candles", rows).of(&token)]).about(token))
}

/// A JSON list of lists as rows with these columns.
pub(super) fn json_lists(asked: &Asked<'_>, names: &[&str]) -> Result<Box<dyn RowSource>, String> {
    let Shape::Json { text, .. } = &asked.looked.shape else { return Err("is not JSON".to_owned()) };
    let lists: Vec<Box<RawValue>> = elements(text, "")?.into_iter().map(ToOwned::to_owned).collect();
    let mut lists = lists.into_iter();
    Ok(Made::over(names, asked.looked.bytes, move || lists.next().map(|list| cells(&list))))
}

/// The elements of a JSON list as texts.
pub(super) fn cells(list: &RawValue) -> Result<Vec<Option<String>>, &'static str> {
    let elements: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| "expected a list of numbers; the row is set aside")?;
    let text = |value: &&RawValue| match value.get() {
        "null" => None,
        text => Some(text.trim_matches('"').to_owned()),
    };
    Ok(elements.iter().map(text).collect())
}

/// The most frequent step between times, in their unit; the shortest of several.
pub(super) fn step(times: impl Iterator<Item = i64>) -> Option<i64> {
    let mut times: Vec<i64> = times.collect();
    times.sort_unstable();
    times.dedup();
    let mut steps: HashMap<i64, usize> = HashMap::new();
    for two in times.windows(2) {
        *steps.entry(two[1] - two[0]).or_default() += 1;
    }
    steps.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0))).map(|(step, _)| step)
}

/// Candles whose symbol stands in a column, of one token or of several.
pub(super) fn by_symbol(asked: &Asked<'_>, mut take: Take, column: &str, layout: &Layout) -> Result<Plan, String> {
    let symbols = symbols(asked.looked.rows(layout)?, column)?;
    if let (Some(address), [_, _, ..]) = (pair::address(&asked.looked.name).or(asked.said.token), &symbols[..]) {
        return Err(format!(
            "is of {} symbols (`{}`, `{}`, …), and {address} is one token: import it without --token",
            symbols.len(),
            symbols[0],
            symbols[1]
        ));
    }
    if let [symbol] = &symbols[..] {
        let token = asked.traded(Some(symbol))?;
        return Ok(Plan::of(vec![take.of(&token)]).about(token));
    }
    let (mut says, mut unknown) = (Vec::new(), Vec::new());
    for symbol in &symbols {
        match asked.traded(Some(symbol)) {
            Ok(Found { address, pack: 1.0, .. }) => {
                says.push(format!("`{symbol}` is token {address}"));
                take.rule("token_address").values.insert(symbol.clone(), address.to_string());
            }
            Ok(_) => unknown.push(format!("`{symbol}` is priced by the thousand: import it by itself")),
            Err(reason) => unknown.push(reason),
        }
    }
    if says.is_empty() {
        return Err(unknown.into_iter().next().unwrap_or_else(|| "has no rows".to_owned()));
    }
    take.rule("token_address").from = Some(column.to_owned());
    let more = says.len().saturating_sub(20);
    says.truncate(20);
    if more > 0 {
        says.push(format!("and {more} more"));
    }
    if !unknown.is_empty() {
        says.push(format!("rows of {} symbols are set aside: the first {}", unknown.len(), unknown[0]));
    }
    Ok(Plan { says, ..Plan::of(vec![take]) })
}

/// The different texts of a column, from the whole file: a wrong token is worse than a second reading.
fn symbols(mut rows: Box<dyn RowSource>, column: &str) -> Result<Vec<String>, String> {
    let mut symbols = BTreeSet::new();
    while let Some(batch) = rows.next_batch()? {
        let mut last = None;
        for text in texts(&batch, column).into_iter().flatten().map(str::trim).filter(|text| !text.is_empty()) {
            if last != Some(text) {
                symbols.insert(text.to_owned());
                last = Some(text);
            }
        }
        if symbols.len() > MAX_SYMBOLS {
            return Err(format!("has more than {MAX_SYMBOLS} symbols in `{column}`"));
        }
    }
    Ok(symbols.into_iter().collect())
}
