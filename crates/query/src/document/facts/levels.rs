//! The chart sections of a report: trendlines, trade card, patterns.

use serde_json::Value;

use super::{PartSection, ROWS, answered, change, day, list, number, price, shown_of, word};
use crate::document::{Block, Section, StyledText, Tone, chart::Chart, words};
use analysis::{patterns::PatternRecord, track_record::errors::Verdict};
use model::format::{self, MISSING, plural};

/// Fewest completed patterns for a hit rate; of fewer it is chance.
const COUNT_LEAST: u64 = 10;

pub(super) fn trendlines(
    part: &Value,
    chart: Option<Chart>,
    why_plain: Option<&'static str>,
    stale: Option<&str>,
) -> PartSection {
    let answer = answered("Chart", part)?;
    let as_of = answer["asOf"]
        .as_str()
        .map_or_else(String::new, |time| format!("as of {}", day(time)));
    let as_of = [as_of.as_str(), stale.unwrap_or_default()]
        .into_iter()
        .filter(|says| !says.is_empty())
        .collect::<Vec<_>>()
        .join(" · ");
    let mut section = Section::part("Chart", as_of);
    if let Some(trend) = answer["trend"].as_str() {
        let text = format!(
            "{}, confidence {}",
            words::shown(trend).to_lowercase(),
            number(&answer["confidence"], 2)
        );
        section.labelled("Trend", text, Tone::Plain);
    }
    section
        .blocks
        .extend(chart.map(|chart| Block::Chart(Box::new(chart))));
    let row = |line: &Value| {
        let now = match line["endPrice"].as_f64() {
            // A falling straight line can end below zero.
            Some(at) if at <= 0.0 => "below zero now".to_owned(),
            Some(at) => format!("{} now", format::price(Some(at))),
            None => format!("{} at its start", price(&line["intercept"])),
        };
        let slope = line["slope"].as_f64().map_or_else(String::new, |slope| {
            let sign = if slope < 0.0 { "−" } else { "+" };
            format!("{sign}{} per candle", format::price(Some(slope.abs())))
        });
        let touches = line["touches"]
            .as_array()
            .filter(|touches| !touches.is_empty());
        let touches = touches.map_or_else(String::new, |touches| {
            plural(touches.len() as u64, "touch", "touches")
        });
        vec![
            StyledText::quiet(word(&line["type"])),
            StyledText::plain(now),
            StyledText::quiet(word(&line["strength"])),
            StyledText::quiet(slope),
            StyledText::quiet(touches),
        ]
    };
    let rows = list(&answer["trendlines"]).iter().map(row).collect();
    section.table(
        &["Trendline", "Price", "Strength", "Slope", "Touches"],
        rows,
        "too few candles for a line",
    );
    if let Some(why) = why_plain {
        section.say(why, Tone::Quiet);
    }
    Ok(section)
}

/// Trade card of a pattern: breakout, target and stop-loss.
pub(super) fn trade_card(
    part: &Value,
    card: usize,
    record: Option<&PatternRecord>,
    stale: Option<&str>,
) -> Section {
    let pattern = &part["patterns"][card];
    let mut section = Section::part("Trade card", words::shown(word(&pattern["name"])));
    if let Some(stale) = stale {
        section.say(stale, Tone::Warning);
    }
    let away = |at: &str, way: &str| {
        format!(
            "{} · {} from the last close",
            price(&pattern[at]),
            change(&pattern[way])
        )
    };
    section.labelled(
        "Pattern fit",
        format!("{} (not a win rate)", fit(pattern)),
        Tone::Plain,
    );
    let complete = format!(
        "{} · {}% complete",
        words::shown(word(&pattern["status"])),
        number(&pattern["completionPercent"], 0)
    );
    section.labelled("Status", complete, Tone::Plain);
    let direction = word(&pattern["direction"]);
    let direction = match pattern["directionBy"].as_str() {
        Some("prior_trend") => format!("either side; {direction} if the prior trend continues"),
        _ => direction.to_owned(),
    };
    section.labelled(
        "Breakout",
        format!("{} {direction}", price(&pattern["breakoutPrice"])),
        Tone::Plain,
    );
    section.labelled(
        "Target",
        away("targetPrice", "distanceToTarget"),
        move_tone(&pattern["distanceToTarget"]),
    );
    section.labelled(
        "Stop",
        away("stopPrice", "distanceToStop"),
        move_tone(&pattern["distanceToStop"]),
    );
    section.labelled("Reward:risk", reward_risk(pattern), Tone::Plain);
    section.labelled("Height", height(pattern), Tone::Plain);
    let span = format!(
        "{} to {}",
        day(word(&pattern["startTime"])),
        day(word(&pattern["endTime"]))
    );
    section.labelled("Candles", span, Tone::Plain);
    if let Some(record) = record {
        section.labelled("Track record", hit_rate(record), Tone::Plain);
    }
    section
}

/// The height, and how the target follows from it.
fn height(pattern: &Value) -> String {
    let height = price(&pattern["height"]);
    if pattern["targetByLog"] == true {
        return format!(
            "{height}, more than half of the breakout price, so the target uses a logarithmic scale"
        );
    }
    format!("{height}, measured from the breakout")
}

/// `0.94`, or `0.94 if entered above 0.8926`.
fn reward_risk(pattern: &Value) -> String {
    let ratio = number(&pattern["rewardRisk"], 2);
    if pattern["status"] != "forming" {
        return ratio;
    }
    let side = if pattern["direction"] == "up" {
        "above"
    } else {
        "below"
    };
    format!(
        "{ratio} if entered {side} {}",
        price(&pattern["breakoutPrice"])
    )
}

/// Hit rate of earlier patterns, next to the base rate of random entries with the same targets and stops. They were detected in real time, so
/// they differ from those in the list, which is made with all candles.
fn hit_rate(record: &PatternRecord) -> String {
    let Some(target) = record.target else {
        return "no earlier pattern of this name has completed".to_owned();
    };
    let count = format::count(record.count);
    if record.count < COUNT_LEAST {
        let completed = plural(record.count, "completed pattern", "completed patterns");
        return format!(
            "only {completed} of this name; at least {COUNT_LEAST} are needed for a hit rate"
        );
    }
    let percent = |fraction: f64| format!("{:.0}%", 100.0 * fraction);
    let verdict = record.evidence.verdict.unwrap_or(Verdict::TooFew);
    let any = record.random_target.map_or_else(String::new, |any| {
        format!("; base rate {} (random entries)", percent(any))
    });
    format!(
        "{} of this token's {count} completed patterns of this name (detected in real time) on {} hit their target{any}: {}",
        percent(target),
        plural(record.evidence.days, "day", "days"),
        verdict_text(verdict)
    )
}

/// The verdict with its reason.
fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::BeatsBaseRate => "significantly more often",
        Verdict::BelowBaseRate => "significantly less often",
        Verdict::NoEdge => "no edge",
        Verdict::TooFew => "too few to detect an edge of 10 percentage points",
    }
}

/// The advice, and patterns with their targets unless a warning precedes them; with their projected move if the answer is not explained.
pub(super) fn patterns(part: &Value, targets: bool) -> PartSection {
    let answer = answered("Chart patterns", part)?;
    let found = list(&answer["patterns"]);
    let is_pegged = answer["peg"].is_object();
    let in_hindsight = if found.is_empty() {
        ""
    } else {
        ", detected in hindsight (with all candles)"
    };
    let note = format!(
        "{}{in_hindsight}",
        shown_of(found.len(), ROWS, "pattern", "patterns")
    );
    let mut section = Section::part(
        "Chart patterns",
        if is_pegged { String::new() } else { note },
    );
    if let Some(advice) = answer["advice"]["word"].as_str() {
        section.labelled(
            "Advice",
            format!(
                "{}: {}",
                words::shown(advice),
                word(&answer["advice"]["text"])
            ),
            Tone::Plain,
        );
    } else if let Some(action) = answer["recommendedAction"].as_str() {
        section.labelled("Advice", words::shown(action), Tone::Plain);
    }
    if is_pegged {
        section.say(
            "pegged token: patterns are not tradable signals",
            Tone::Quiet,
        );
        return Ok(section);
    }
    let explained = found
        .first()
        .is_some_and(|pattern| pattern["status"].is_string());
    let shown = found.iter().take(ROWS);
    let otherwise = "no patterns in these candles";
    if !targets {
        section.table(
            &["Pattern", "Fit", "Status"],
            shown.map(bare_row).collect(),
            otherwise,
        );
    } else if explained {
        let header = &["Pattern", "Fit", "Status", "Target", "Stop", "Reward:risk"];
        section.table(header, shown.map(explained_row).collect(), otherwise);
    } else {
        section.table(
            &["Pattern", "Fit", "Complete", "Measured move from breakout"],
            shown.map(plain_row).collect(),
            otherwise,
        );
    }
    Ok(section)
}

fn name(pattern: &Value) -> Vec<StyledText> {
    vec![
        StyledText::plain(words::shown(word(&pattern["name"]))),
        StyledText::quiet(fit(pattern)),
    ]
}

/// `85%`: how well the candles fit the pattern.
fn fit(pattern: &Value) -> String {
    pattern["confidence"]
        .as_f64()
        .map_or_else(|| MISSING.to_owned(), |fit| format!("{:.0}%", 100.0 * fit))
}

pub(super) fn move_tone(moves: &Value) -> Tone {
    if moves.as_f64().is_some_and(|moves| moves < 0.0) {
        Tone::Bad
    } else {
        Tone::Good
    }
}

fn explained_row(pattern: &Value) -> Vec<StyledText> {
    let status = word(&pattern["status"]);
    let target = price(&pattern["targetPrice"]);
    // A completed pattern has neither a remaining distance to its target nor a stop.
    let (target, stop, ratio) = if matches!(status, "forming" | "confirmed") {
        let target = StyledText::new(
            format!("{target} {}", change(&pattern["distanceToTarget"])),
            move_tone(&pattern["distanceToTarget"]),
        );
        let stop = format!(
            "{} {}",
            price(&pattern["stopPrice"]),
            change(&pattern["distanceToStop"])
        );
        (target, stop, reward_risk(pattern))
    } else {
        (
            StyledText::quiet(target),
            MISSING.to_owned(),
            MISSING.to_owned(),
        )
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
    row.push(StyledText::quiet(format!(
        "{}%",
        number(&pattern["completionPercent"], 0)
    )));
    row.push(StyledText::new(change(moves), move_tone(moves)));
    row
}
