//! Spans of real candles labelled by two chartists, read from `../shared/data/charts`. Nothing is judged here.

use std::{collections::BTreeMap, fs, path::PathBuf};

use analysis::{
    timeframes::CandleVec,
    trendlines::{Trend, measures, trend::Measures},
};
use model::time::DAY_MS;
use serde::Deserialize;

/// A span that ends at a window's last candle.
pub(super) struct Span {
    /// The token, shared by its windows.
    pub(super) group: String,
    pub(super) length: usize,
    pub(super) measures: Measures,
    /// Each chartist's label.
    pub(super) words: [Trend; 2],
    /// Whether both called it clear.
    pub(super) sure: bool,
}

impl Span {
    /// The label if both agree.
    pub(super) fn both(&self) -> Option<Trend> {
        (self.words[0] == self.words[1]).then_some(self.words[0])
    }
}

#[derive(Deserialize)]
struct Row {
    window: String,
    group: String,
    close: f64,
}

#[derive(Deserialize)]
struct Told {
    window: String,
    #[serde(rename = "150")]
    whole: (String, String),
    #[serde(rename = "60")]
    middle: (String, String),
    #[serde(rename = "30")]
    short: (String, String),
}

/// Reads all spans. Errors: why there are none.
pub(super) fn spans() -> Result<Vec<Span>, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/charts");
    let missing = |error: &dyn std::fmt::Display| format!("`{}`: {error}", folder.display());
    let mut windows: BTreeMap<String, (String, Vec<f64>)> = BTreeMap::new();
    let mut rows =
        csv::Reader::from_path(folder.join("windows.csv")).map_err(|error| missing(&error))?;
    for row in rows.deserialize() {
        let Row {
            window,
            group,
            close,
        } = row.map_err(|error| missing(&error))?;
        windows
            .entry(window)
            .or_insert_with(|| (group, Vec::new()))
            .1
            .push(close);
    }
    let text = fs::read_to_string(folder.join("trends.jsonl")).map_err(|error| missing(&error))?;
    let mut told: BTreeMap<String, Vec<Told>> = BTreeMap::new();
    for line in text.lines() {
        let row: Told = serde_json::from_str(line).map_err(|error| missing(&error))?;
        told.entry(row.window.clone()).or_default().push(row);
    }
    let mut spans = Vec::new();
    for (window, (group, closes)) in &windows {
        let Some([a, b]) = told.get(window).map(Vec::as_slice) else {
            continue;
        };
        for (length, a, b) in [
            (150, &a.whole, &b.whole),
            (60, &a.middle, &b.middle),
            (30, &a.short, &b.short),
        ] {
            let candles = level_candles(closes);
            let Some(measures) = measures(&candles.as_candles(), length) else {
                continue;
            };
            spans.push(Span {
                group: group.clone(),
                length,
                measures,
                words: [word(&a.0)?, word(&b.0)?],
                sure: a.1 == "clear" && b.1 == "clear",
            });
        }
    }
    Ok(spans)
}

fn word(text: &str) -> Result<Trend, String> {
    match text {
        "uptrend" => Ok(Trend::Uptrend),
        "sideways" => Ok(Trend::Sideways),
        "downtrend" => Ok(Trend::Downtrend),
        other => Err(format!("`{other}` is no trend word")),
    }
}

/// Daily candles of which only the close matters.
pub(super) fn level_candles(closes: &[f64]) -> CandleVec {
    CandleVec {
        timestamp: (0..closes.len() as i64).map(|day| day * DAY_MS).collect(),
        open: closes.to_vec(),
        high: closes.to_vec(),
        low: closes.to_vec(),
        close: closes.to_vec(),
        volume: vec![f64::NAN; closes.len()],
    }
}
