//! Price and holder changes of a token in a report, with its market values.

use serde_json::Value;

use super::{
    PartSection, answered, change, day, dollars, levels::move_tone, number, price, summary::signed,
    word,
};
use crate::document::{Block, DocumentTable, Section, StyledText, Tone};
use model::format;

/// Fields of the changes: of the price, and of the number of holders.
const PRICE: [&str; 4] = [
    "price_change_24h",
    "price_change_7d",
    "price_change_30d",
    "price_change_90d",
];
const HOLDERS: [&str; 4] = [
    "",
    "holders_growth",
    "holders_growth_30d",
    "holders_growth_90d",
];
/// Their periods.
const PERIODS: [&str; 4] = ["24 hours", "7 days", "30 days", "90 days"];
const HEADER: &[&str] = &["Change in", PERIODS[0], PERIODS[1], PERIODS[2], PERIODS[3]];

/// Each known price change, with its period.
pub(super) fn price_changes(market: &Value) -> impl Iterator<Item = (&'static str, f64)> {
    PERIODS
        .into_iter()
        .zip(PRICE)
        .filter_map(|(period, key)| Some((period, market[key].as_f64()?)))
}

/// The periods without a price change.
pub(super) fn unknown_changes(market: &Value) -> impl Iterator<Item = &'static str> {
    PERIODS
        .into_iter()
        .zip(PRICE)
        .filter_map(|(period, key)| market[key].is_null().then_some(period))
}

pub(super) fn section(token: &Value, stale: Option<&str>) -> PartSection {
    let market = answered("Performance", &token["market"])?;
    let last = market["as_of"].as_str().map_or_else(
        || "no candles".to_owned(),
        |time| format!("last candle {}", day(time)),
    );
    let mut section = Section::part("Performance", stale.unwrap_or(&last));
    let row = |name: &str, keys: [&str; 4]| {
        let cell = |key: &str| match &market[key] {
            Value::Null => StyledText::quiet(format::MISSING),
            value => StyledText::new(change(value), move_tone(value)),
        };
        let known = keys.iter().any(|key| !market[*key].is_null());
        known.then(|| {
            std::iter::once(StyledText::plain(name))
                .chain(keys.map(cell))
                .collect::<Vec<_>>()
        })
    };
    let rows: Vec<_> = [row("Price", PRICE), row("Holders", HOLDERS)]
        .into_iter()
        .flatten()
        .collect();
    if rows.is_empty() {
        section.say("no price or holder change is known", Tone::Quiet);
    } else {
        section.blocks.push(Block::Table(DocumentTable {
            caption: "",
            header: HEADER,
            rows,
        }));
    }
    // A value has the day of the row that it comes from.
    let of_day = |as_of: &Value| {
        as_of
            .as_str()
            .map_or_else(String::new, |time| format!(" ({})", day(time)))
    };
    let of = &token["token"];
    let mut known = |label: &'static str, value: Option<String>| {
        if let Some(value) = value {
            section.labelled(label, value, Tone::Plain);
        }
    };
    let usd = |value: &Value| value.as_f64().map(dollars);
    known(
        "Price",
        of["price"]
            .as_f64()
            .map(|_| format!("${}{}", price(&of["price"]), of_day(&of["price_as_of"]))),
    );
    known(
        "Market cap",
        usd(&of["market_cap"]).map(|cap| format!("{cap}{}", of_day(&of["market_cap_as_of"]))),
    );
    known("24h volume", usd(&market["volume_24h"]));
    known(
        "RSI (14 days)",
        market["rsi_14"].as_f64().map(|_| {
            format!(
                "{}; below 30 is oversold, above 70 overbought",
                number(&market["rsi_14"], 1)
            )
        }),
    );
    known(
        "From 52-week high",
        market["from_52w_high"]
            .as_f64()
            .map(|_| change(&market["from_52w_high"])),
    );
    known(
        "Holders",
        market["holders"].as_u64().map(|count| {
            format!(
                "{}{}",
                format::count(count),
                of_day(&market["holders_as_of"])
            )
        }),
    );
    known(
        "Whales",
        of["whale_accumulation_trend"]
            .as_str()
            .map(|trend| format!("{trend}{}", whales(&of["whale_change"]))),
    );
    if let Some(time) = market["close_apart"]["time"].as_str() {
        let close = price(&market["close_apart"]["close"]);
        let text = format!(
            "The price has no date and differs from the last close, ${close} on {}; the changes end at that close.",
            day(time)
        );
        section.say(text, Tone::Quiet);
    }
    Ok(section)
}

/// `; −1.8% of supply from 2026-01-01 to 2026-01-08, 9 of 40 whales sold, confidence 97.0%`, or without transfers
/// `; their balance changed by +0.1% from 2026-01-01 to 2026-01-08`.
fn whales(change: &Value) -> String {
    let moves = &change["moves"];
    if let Some(count) = moves["whales"].as_u64() {
        let share = moves["share"].as_f64();
        let share = share.map_or_else(
            || "their balance changed".to_owned(),
            |share| format!("{} of supply", signed(share * 100.0)),
        );
        let confidence = moves["confidence"]
            .as_f64()
            .map_or_else(String::new, |sure| {
                format!(", confidence {}", format::share(Some(sure)))
            });
        return format!(
            "; {share} from {} to {}: {} of {} sold and {} bought{confidence}",
            word(&change["from"]),
            word(&change["to"]),
            moves["sellers"],
            format::plural(count, "whale", "whales"),
            moves["buyers"]
        );
    }
    let percent = change["percent"]
        .as_f64()
        .map(|percent| format!("; their balance changed by {}", signed(percent)));
    percent.map_or_else(String::new, |text| {
        format!(
            "{text} from {} to {}",
            word(&change["from"]),
            word(&change["to"])
        )
    })
}
