//! The tokens of a report side by side: one row each, with price, changes, trend, advice and security. Only in reports on several tokens.

use serde_json::Value;

use super::{
    change, dollars, levels::move_tone, list, number, price, score_text, tone_of_score, word,
    word_or,
};
use crate::document::{Block, DocumentTable, Level, Section, StyledText, Tone, words};
use model::format;

const HEADER: &[&str] = &[
    "Token",
    "Price",
    "24 hours",
    "7 days",
    "30 days",
    "Market cap",
    "Holders",
    "Trend",
    "Score",
    "Verdict",
];

/// A row of each token; `tokens`: their reports with market values.
pub(in crate::document) fn section(tokens: &[Value]) -> Section {
    Section {
        level: Level::Token,
        title: "Overview".to_owned(),
        note: format::plural(tokens.len() as u64, "token", "tokens"),
        blocks: vec![Block::Table(DocumentTable {
            caption: "",
            header: HEADER,
            rows: tokens.iter().map(row).collect(),
        })],
    }
}

fn row(token: &Value) -> Vec<StyledText> {
    let (of, market, security) = (&token["token"], &token["market"], &token["security"]);
    let known = |value: &Value, text: &dyn Fn(&Value) -> String, tone: Tone| {
        if value.is_null() {
            StyledText::quiet(format::MISSING)
        } else {
            StyledText::new(text(value), tone)
        }
    };
    let usd = |value: &Value| value.as_f64().map_or_else(String::new, dollars);
    let moves = |key: &str| known(&market[key], &change, move_tone(&market[key]));
    let address = word(&token["token_address"]);
    let chain = list(&market["chains"])
        .first()
        .map_or("", |chain| word(chain));
    let symbol = word_or(&of["symbol"], address);
    let name = if chain.is_empty() {
        symbol.to_owned()
    } else {
        format!("{symbol} ({chain})")
    };
    let verdict = word(&security["recommendation"]);
    let verdict = verdict.split(':').next().unwrap_or_default();
    let score = security["securityScore"].as_i64();
    let tone = score.map_or(Tone::Quiet, |score| tone_of_score(score, verdict));
    let score = score.map_or_else(
        || format::MISSING.to_owned(),
        |score| score_text(score, verdict),
    );
    vec![
        StyledText::plain(name),
        known(
            &of["price"],
            &|value| format!("${}", price(value)),
            Tone::Plain,
        ),
        moves("price_change_24h"),
        moves("price_change_7d"),
        moves("price_change_30d"),
        known(&of["market_cap"], &usd, Tone::Plain),
        known(&market["holders"], &|value| number(value, 0), Tone::Plain),
        known(
            &token["trendline"]["trend"],
            &|value| words::shown(word(value)).to_lowercase(),
            Tone::Plain,
        ),
        StyledText::new(score, tone),
        StyledText::new(
            if verdict.is_empty() {
                format::MISSING
            } else {
                verdict
            },
            tone,
        ),
    ]
}
