//! The chart facts of a report: trendlines, trade card, patterns.

use serde_json::Value;

use super::{PartSection, ROWS, answered, change, day, list, number, price, shown_of, word};
use crate::document::{Block, Section, StyledText, Tone, chart::Chart, words};
use analysis::patterns::PatternRecord;
use model::format::{self, MISSING, many};

/// Fewest ended patterns of which a share is told: of less it is chance.
const COUNT_LEAST: u64 = 10;
/// How the patterns of a record were found.
const AS_THEY_FORMED: &str = "day by day as they formed";

pub(super) fn trendlines(part: &Value, chart: Option<Chart>, why_plain: Option<&'static str>, stale: Option<&str>) -> PartSection {
    let answer = answered("trendlines", part)?;
    let as_of = answer["asOf"].as_str().map_or_else(String::new, |time| format!("as of {}", day(time)));
    let as_of = [as_of.as_str(), stale.unwrap_or_default()].into_iter().filter(|says| !says.is_empty()).collect::<Vec<_>>().join(" · ");
    let mut section = Section::part("trendlines", as_of);
    section.blocks.extend(chart.map(|chart| Block::Chart(Box::new(chart))));
    let row = |line: &Value| {
        let now = match line["endPrice"].as_f64() {
            // A falling straight line can end below zero.
            Some(at) if at <= 0.0 => "below zero now".to_owned(),
            Some(at) => format!("{} now", format::price(Some(at))),
            None => format!("{} at its start", price(&line["intercept"])),
        };
        let slope = line["slope"].as_f64().map_or_else(String::new, |slope| {
            let sign = if slope < 0.0 { "−" } else { "+" };
            format!("{sign}{} a candle", format::price(Some(slope.abs())))
        });
        let touches = line["touches"].as_array().filter(|touches| !touches.is_empty());
        let touches = touches.map_or_else(String::new, |touches| many(touches.len() as u64, "touch", "touches"));
        vec![
            StyledText::quiet(word(&line["type"])),
            StyledText::plain(now),
            StyledText::quiet(word(&line["strength"])),
            StyledText::quiet(slope),
            StyledText::quiet(touches),
        ]
    };
    let rows = list(&answer["trendlines"]).iter().map(row).collect();
    section.table(&["line", "price", "strength", "slope", "touches"], rows, "too few candles for a line");
    if let Some(why) = why_plain {
        section.say(why, Tone::Quiet);
    }
    Ok(section)
}

/// Trade card of a pattern: breakout, target and stop-loss.
pub(super) fn trade_card(part: &Value, card: usize, record: Option<&PatternRecord>, stale: Option<&str>) -> Section {
    let pattern = &part["patterns"][card];
    let mut section = Section::part("trade card", words::shown(word(&pattern["name"])));
    if let Some(stale) = stale {
        section.say(stale, Tone::Warning);
    }
    let away = |at: &str, way: &str| format!("{} · {} from the last close", price(&pattern[at]), change(&pattern[way]));
    section.labelled("shape match", format!("{}, not the chance of profit", number(&pattern["confidence"], 2)), Tone::Plain);
    let complete = format!("{} · {} % complete", words::shown(word(&pattern["status"])), number(&pattern["completionPercent"], 0));
    section.labelled("status", complete, Tone::Plain);
    let direction = word(&pattern["direction"]);
    let direction = match pattern["directionBy"].as_str() {
        Some("prior_trend") => format!("out of either side; {direction} if the trend before goes on"),
        _ => direction.to_owned(),
    };
    section.labelled("breakout", format!("{} {direction}", price(&pattern["breakoutPrice"])), Tone::Plain);
    section.labelled("target", away("targetPrice", "distanceToTarget"), move_tone(&pattern["distanceToTarget"]));
    section.labelled("stop", away("stopPrice", "distanceToStop"), move_tone(&pattern["distanceToStop"]));
    section.labelled("reward:risk", reward_risk(pattern), Tone::Plain);
    section.labelled("height", height(pattern), Tone::Plain);
    let span = format!("{} to {}", day(word(&pattern["startTime"])), day(word(&pattern["endTime"])));
    section.labelled("candles", span, Tone::Plain);
    if let Some(record) = record {
        section.labelled("record", hit_rate(record), Tone::Plain);
    }
    section
}

/// The height, and how the target follows from it.
fn height(pattern: &Value) -> String {
    let height = price(&pattern["height"]);
    if pattern["targetByLog"] == true {
        return format!("{height}, more than half of the breakout price: the target is measured on a logarithmic scale");
    }
    format!("{height} measured from the breakout")
}

/// `0.94`, or `not entered: above 0.8926, then 0.94`.
fn reward_risk(pattern: &Value) -> String {
    let ratio = number(&pattern["rewardRisk"], 2);
    if pattern["status"] != "forming" {
        return ratio;
    }
    let side = if pattern["direction"] == "up" { "above" } else { "below" };
    format!("not entered: {side} {}, then {ratio}", price(&pattern["breakoutPrice"]))
}

/// Hit rate of earlier patterns, against random entries with the same targets. They were looked for day by day, with the candles that there
/// were: others than those in the list, which is made with all of them.
fn hit_rate(record: &PatternRecord) -> String {
    let percent = |fraction: f64| format!("{:.0} %", 100.0 * fraction);
    let Some(target) = record.target else { return format!("of those of this token found {AS_THEY_FORMED} none has ended yet") };
    if record.count < COUNT_LEAST {
        return format!("too few: {} of this token found {AS_THEY_FORMED} have ended", format::count(record.count));
    }
    let any = record.random_target.map_or_else(String::new, |any| format!("; of any entry with the same aims {}", percent(any)));
    let count = format::count(record.count);
    format!("{} of the {count} of this token that were found {AS_THEY_FORMED} and ended met their target{any}", percent(target))
}

/// Patterns with their targets, unless a warning stands before them; for unexplained answers with their projected move.
pub(super) fn patterns(part: &Value, targets: bool) -> PartSection {
    let answer = answered("chart patterns", part)?;
    let found = list(&answer["patterns"]);
    if answer["peg"].is_object() {
        let mut section = Section::part("chart patterns", "");
        section.say("it holds its peg: no pattern is worth following", Tone::Quiet);
        return Ok(section);
    }
    let in_hindsight = if found.is_empty() { "" } else { ", found in hindsight: with all candles up to now" };
    let mut section = Section::part("chart patterns", format!("{}{in_hindsight}", shown_of(found.len(), ROWS, "pattern", "patterns")));
    let explained = found.first().is_some_and(|pattern| pattern["status"].is_string());
    let shown = found.iter().take(ROWS);
    let otherwise = "no pattern in these candles";
    if !targets {
        section.table(&["pattern", "shape match", "status"], shown.map(bare_row).collect(), otherwise);
    } else if explained {
        let header = &["pattern", "shape match", "status", "target", "stop", "reward:risk"];
        section.table(header, shown.map(explained_row).collect(), otherwise);
    } else {
        section.table(&["pattern", "shape match", "complete", "measured move from breakout"], shown.map(plain_row).collect(), otherwise);
    }
    Ok(section)
}

fn name(pattern: &Value) -> Vec<StyledText> {
    vec![StyledText::plain(words::shown(word(&pattern["name"]))), StyledText::quiet(number(&pattern["confidence"], 2))]
}

fn move_tone(moves: &Value) -> Tone {
    if moves.as_f64().is_some_and(|moves| moves < 0.0) { Tone::Bad } else { Tone::Good }
}

fn explained_row(pattern: &Value) -> Vec<StyledText> {
    let status = word(&pattern["status"]);
    let target = price(&pattern["targetPrice"]);
    // A pattern that has ended has neither a remaining distance to its target nor a stop.
    let (target, stop, ratio) = if matches!(status, "forming" | "confirmed") {
        let target = StyledText::new(format!("{target} {}", change(&pattern["distanceToTarget"])), move_tone(&pattern["distanceToTarget"]));
        let stop = format!("{} {}", price(&pattern["stopPrice"]), change(&pattern["distanceToStop"]));
        (target, stop, reward_risk(pattern))
    } else {
        (StyledText::quiet(target), MISSING.to_owned(), MISSING.to_owned())
    };
    let mut row = name(pattern);
    row.extend([StyledText::quiet(words::shown(status)), target]);
    row.extend([StyledText::quiet(stop), StyledText::quiet(ratio)]);
    row
}

fn bare_row(pattern: &Value) -> Vec<StyledText> {
    let mut row = name(pattern);
    row.push(StyledText::quiet(words::shown(word(&pattern["status"]))));
    row
}

fn plain_row(pattern: &Value) -> Vec<StyledText> {
    let moves = &pattern["projectedMovement"];
    let mut row = name(pattern);
    row.push(StyledText::quiet(format!("{} %", number(&pattern["completionPercent"], 0))));
    row.push(StyledText::new(change(moves), move_tone(moves)));
    row
}
