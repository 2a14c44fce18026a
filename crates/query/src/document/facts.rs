//! The sections of a token in a report: summary, performance, chart, security, holders, liquidity, posts. Taken from the report's JSON;
//! missing parts are reported as such. Renders and computes nothing.

mod levels;
pub(super) mod overview;
mod performance;
mod summary;

use serde_json::Value;

use crate::document::{
    Block, DocumentTable, Level, Section, StyledText, Tone, chart::Chart, words,
};
use analysis::patterns::PatternRecord;
use model::chain::{CHAINS, Chain};
use model::format::{self, MISSING, plural};
use security::{
    AnomalyCode, CheckState, Danger, Group, score::too_little_known, simulation::TRADES,
};

/// Maximum rows shown of a list; the JSON report has more.
const ROWS: usize = 10;
/// Maximum posts shown.
const POSTS: usize = 5;

/// Additions to a token's report, computed from the current data.
#[derive(Debug, Clone, Default)]
pub(super) struct Extras {
    pub(super) chart: Option<Chart>,
    /// Index of the pattern on the trade card: the best open one.
    pub(super) card: Option<usize>,
    /// Track record of that pattern's name.
    pub(super) record: Option<PatternRecord>,
    /// Outcomes of tokens with the same security verdict, as a sentence.
    pub(super) verdict_record: Option<String>,
    /// Why current prices and the chart are missing.
    pub(super) why_plain: Option<&'static str>,
    /// Clause about the lag of the token's candles, if they are stale.
    pub(super) stale: Option<String>,
    /// Why there can be no posts: the table is missing or unusable.
    pub(super) no_posts: Option<String>,
    /// Whether the posts were fetched from services: a report, which is passed on, then links to them instead of quoting them.
    pub(super) are_posts_fetched: bool,
}

/// Returns the sections of one token of a report.
pub(super) fn token(token: &Value, extras: Extras) -> Vec<Section> {
    let either = |section: PartSection| section.unwrap_or_else(|why_not| why_not);
    let warning = warning(&token["security"]);
    let mut sections = vec![
        head(token, warning.as_deref()),
        summary::section(token, &extras),
    ];
    let stale = extras.stale.map(|lag| format!("stale: {lag}"));
    let stale = stale.as_deref();
    sections.push(either(performance::section(token, stale)));
    sections.push(either(levels::trendlines(
        &token["trendline"],
        extras.chart,
        extras.why_plain,
        stale,
    )));
    let card = extras.card.filter(|_| warning.is_none());
    sections.extend(
        card.map(|card| {
            levels::trade_card(&token["patterns"], card, extras.record.as_ref(), stale)
        }),
    );
    sections.extend(
        [
            levels::patterns(&token["patterns"], warning.is_none()),
            security(&token["security"], extras.verdict_record),
        ]
        .map(either),
    );
    sections.extend(simulated(&token["security"]["simulation"]));
    sections.extend([holders(token), liquidity(token)].map(either));
    sections.extend(posts(
        &token["token"],
        extras.no_posts.as_deref(),
        extras.are_posts_fetched,
    ));
    sections
}

/// A report part's section; the error is the section that explains the missing answer.
type PartSection = Result<Section, Section>;

impl Section {
    fn part(title: &str, note: impl Into<String>) -> Self {
        Self {
            title: title.to_owned(),
            note: note.into(),
            ..Self::default()
        }
    }

    fn say(&mut self, text: impl Into<String>, tone: Tone) {
        self.blocks
            .push(Block::Sentence(StyledText::new(text, tone)));
    }

    fn labelled(&mut self, label: &'static str, text: impl Into<String>, tone: Tone) {
        self.blocks
            .push(Block::Labelled(label, StyledText::new(text, tone)));
    }

    /// Adds the rows as a table; without any, the sentence.
    fn table(
        &mut self,
        header: &'static [&'static str],
        rows: Vec<Vec<StyledText>>,
        otherwise: &str,
    ) {
        if rows.is_empty() {
            self.say(otherwise, Tone::Quiet);
        } else {
            self.blocks.push(Block::Table(DocumentTable {
                caption: "",
                header,
                rows,
            }));
        }
    }
}

/// Returns the part's answer. Errors: a section that explains the missing answer.
fn answered<'a>(title: &str, part: &'a Value) -> Result<&'a Value, Section> {
    let (why, tone) = match (part, part["error"]["detail"].as_str()) {
        (Value::Null, _) => ("not analyzed yet", Tone::Quiet),
        (_, Some(detail)) => (detail, Tone::Warning),
        _ => return Ok(part),
    };
    let mut section = Section::part(title, "");
    section.say(why, tone);
    Err(section)
}

/// The warning that precedes everything else about the token.
pub(super) fn warning(security: &Value) -> Option<String> {
    let found = list(&security["checks"])
        .iter()
        .filter(|check| check["state"] == CheckState::Found.word());
    let codes = found.filter_map(|check| {
        AnomalyCode::ALL
            .iter()
            .find(|code| check["code"] == code.word())
            .copied()
    });
    let recommendation = security["recommendation"].as_str().unwrap_or_default();
    words::warning(
        Danger::new(recommendation, codes),
        security["securityScore"].as_i64().unwrap_or_default(),
    )
}

fn head(token: &Value, warning: Option<&str>) -> Section {
    let of = &token["token"];
    let symbol = of["symbol"]
        .as_str()
        .or_else(|| of["name"].as_str())
        .unwrap_or("Token");
    let mut head = Section {
        level: Level::Token,
        ..Section::part(symbol, word(&token["token_address"]))
    };
    if let Some(warning) = warning {
        head.say(warning, Tone::Bad);
    }
    if let Some(detail) = of["error"]["detail"].as_str() {
        head.say(detail, Tone::Warning);
    }
    head
}

/// Tone of a security score; neutral if too little is known for a verdict.
pub fn tone_of_score(score: i64, recommendation: &str) -> Tone {
    match score {
        _ if too_little_known(recommendation) => Tone::Quiet,
        ..40 => Tone::Bad,
        40..60 => Tone::Warning,
        _ => Tone::Good,
    }
}

/// The score; a query mark if too little is known.
pub fn score_text(score: i64, recommendation: &str) -> String {
    if too_little_known(recommendation) {
        "?".to_owned()
    } else {
        score.to_string()
    }
}

/// Symbol of a check's state; a passed check with a remark has no tick. Terminals without Unicode map it through their own table.
pub fn check_mark(state: CheckState, remarkable: bool) -> &'static str {
    match state {
        CheckState::Passed if remarkable => "i",
        CheckState::Found => "✗",
        CheckState::Unheld => "~",
        CheckState::NotChecked => "?",
        CheckState::Passed => "✓",
    }
}

fn state_text(state: CheckState) -> &'static str {
    match state {
        CheckState::Found => "found",
        CheckState::Unheld => "renounced",
        CheckState::NotChecked => "not checked",
        CheckState::Passed => "passed",
    }
}

/// The verdict; then findings, unavailable checks and remarks under their questions. Other passed checks are counted.
fn security(part: &Value, record: Option<String>) -> PartSection {
    let security = answered("Security", part)?;
    let checks = list(&security["checks"]);
    let is = |check: &Value, state: CheckState| word(&check["state"]) == state.word();
    let count = |state: CheckState| checks.iter().filter(|check| is(check, state)).count();
    let counted = CheckState::ALL
        .map(|state| (count(state), state))
        .into_iter()
        .filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counted
        .map(|(count, state)| format!("{count} {}", state_text(state)))
        .collect();
    let mut section = Section::part("Security", counts.join(" · "));
    if let Some(score) = security["securityScore"].as_i64() {
        let recommendation = word(&security["recommendation"]);
        let text = format!(
            "{}/100 · {recommendation}",
            score_text(score, recommendation)
        );
        section.labelled("Score", text, tone_of_score(score, recommendation));
        let parts = [
            ("code", "codePatterns"),
            ("transfers", "transactionPatterns"),
            ("holders", "holderDistribution"),
        ];
        let risk = parts.map(|(name, key)| {
            format!(
                "{name} {}",
                number(&security["anomalyDetection"][key]["score"], 1)
            )
        });
        section.labelled("Risk, 0–100", risk.join(" · "), Tone::Plain);
        if let Some(record) = record {
            section.labelled("Track record", record, Tone::Plain);
        }
    }
    let before = section.blocks.len();
    for group in Group::ALL {
        let quiet = |check: &&Value| is(check, CheckState::Passed) && check["remarkable"] != true;
        let open = checks
            .iter()
            .filter(|check| word(&check["group"]) == group.word() && !quiet(check));
        let rows: Vec<_> = open.flat_map(check_rows).collect();
        if !rows.is_empty() {
            section.blocks.push(Block::Table(DocumentTable {
                caption: group.title(),
                header: &[],
                rows,
            }));
        }
    }
    if section.blocks.len() == before {
        section.say(
            if checks.is_empty() {
                "no checks"
            } else {
                "all checks passed"
            },
            Tone::Quiet,
        );
    }
    Ok(section)
}

/// A check's title; below it, its code with the evidence or the missing data.
fn check_rows(check: &Value) -> [Vec<StyledText>; 2] {
    let state = CheckState::ALL
        .into_iter()
        .find(|state| state.word() == word(&check["state"]))
        .unwrap_or(CheckState::NotChecked);
    let (mark, tone) = if state == CheckState::Found {
        (Tone::Warning, Tone::Plain)
    } else {
        (Tone::Quiet, Tone::Quiet)
    };
    let known = AnomalyCode::parse(word(&check["code"]));
    let title = known.map_or("Unknown check", AnomalyCode::title);
    let title = match state {
        CheckState::Found => title.to_owned(),
        CheckState::Unheld => format!("{title} (renounced)"),
        CheckState::NotChecked => format!("{title} (not checked)"),
        CheckState::Passed => format!("{title} (passed)"),
    };
    let meaning = known.map_or(MISSING, AnomalyCode::meaning);
    let detail = check["evidence"]
        .as_str()
        .or_else(|| check["missing"].as_str())
        .unwrap_or(meaning);
    let detail = format!("{} · {detail}", word(&check["code"]));
    [
        vec![
            StyledText::new(check_mark(state, check["remarkable"] == true), mark),
            StyledText::new(title, tone),
        ],
        vec![StyledText::default(), StyledText::quiet(detail)],
    ]
}

/// Simulated trades on the chain's state, if the dataset names a node.
fn simulated(simulation: &Value) -> Option<Section> {
    let block = simulation["block"].as_u64()?;
    let (dex, time) = (
        word_or(&simulation["dex"], "no known pool"),
        word(&simulation["timestamp"]),
    );
    let note = format!("{dex} · block {} · {time}", format::count(block));
    let mut section = Section::part("Simulated trades", note);
    let row = |name: &str, trade: &Value| {
        let trade = trade.as_object()?;
        let ok = trade["ok"].as_bool()?;
        let (mark, tone) = if ok {
            (CheckState::Passed, Tone::Plain)
        } else {
            (CheckState::Found, Tone::Bad)
        };
        let percent = |key: &str| {
            trade
                .get(key)
                .and_then(Value::as_f64)
                .map_or_else(|| MISSING.to_owned(), |share| format::share(Some(share)))
        };
        let reason = trade
            .get("reason")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let cells = [
            check_mark(mark, false),
            name,
            &percent("tax"),
            &percent("ofQuote"),
            reason,
        ]
        .map(|cell| StyledText::new(cell, tone));
        Some(cells.into())
    };
    let usual = TRADES
        .into_iter()
        .filter_map(|(key, name)| row(name, &simulation[key]));
    let further = list(&simulation["trials"])
        .iter()
        .filter_map(|trial| row(word(&trial["name"]), trial));
    let rows = usual.chain(further).collect();
    section.table(
        &["", "Trade", "Tax", "Of quote", "Reason"],
        rows,
        "no known pool, so no trade was simulated",
    );
    if let Some(reason) = simulation["buyReason"].as_str() {
        section.say(format!("Buying fails: {reason}"), Tone::Bad);
    }
    Some(section)
}

fn holders(token: &Value) -> PartSection {
    let part = answered("Holders", &token["holders"])?;
    let held = list(&part["holders"]);
    let (total, missing) = (
        part["total"].as_u64().unwrap_or(held.len() as u64),
        part["missing"].as_str(),
    );
    let shares = &token["token"]["holders_distribution"];
    // The table's rows are only a part of all holders; a missing or unreadable table has no count.
    let mut listed = if missing.is_some() {
        Vec::new()
    } else {
        vec![format!("{} listed", plural(total, "holder", "holders"))]
    };
    for (name, key) in [("top 10", "top_10_holders"), ("top 50", "top_50_holders")] {
        if let Some(share) = shares[key].as_f64() {
            listed.push(format!("{name} {}", format::share(Some(share))));
        }
    }
    // Clusters count as one owner.
    let owners = &token["security"]["explanation"]["holders"]["top10Owners"];
    if let Some(share) = owners.as_f64() {
        listed.push(format!("top 10 owners {}", format::share(Some(share))));
    }
    let mut section = Section::part("Holders", listed.join(" · "));
    let row = |holder: &Value| {
        let labels: Vec<&str> = list(&holder["labels"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        vec![
            StyledText::plain(format::human(holder["balance"].as_f64())),
            StyledText::quiet(word(&holder["holder_address"])),
            StyledText::plain(labels.join(", ")),
        ]
    };
    let rows = held.iter().take(ROWS).map(row).collect();
    section.table(
        &["Balance", "Address", "Labels"],
        rows,
        missing.unwrap_or("no known holders"),
    );
    let flows = list(&token["token"]["flows"]);
    if !flows.is_empty() {
        section.table(
            &[
                "Net tokens of",
                "1 day",
                "7 days",
                "30 days",
                "Average cost",
                "Unrealized profit",
            ],
            flows.iter().map(flow_cells).collect(),
            "",
        );
    }
    Ok(section)
}

/// The row of a group's net flows.
fn flow_cells(flow: &Value) -> Vec<StyledText> {
    let name = word(&flow["group"]).replace('_', " ");
    let net = |span: &str| format::human(flow[span]["tokens"].as_f64());
    let cost = flow["average_cost"].as_f64();
    let profit = flow["unrealized_profit"].as_f64();
    let cells = [name, net("net_1d"), net("net_7d"), net("net_30d")];
    let money = [
        cost.map_or_else(String::new, |cost| {
            format!("${}", format::price(Some(cost)))
        }),
        profit.map_or_else(String::new, |profit| {
            format!("${}", format::human(Some(profit)))
        }),
    ];
    cells
        .into_iter()
        .chain(money)
        .map(StyledText::plain)
        .collect()
}

fn posts(token: &Value, missing: Option<&str>, are_fetched: bool) -> Option<Section> {
    if token.is_null() || !token["error"].is_null() {
        return None;
    }
    let posts = list(&token["top_posts"]);
    let missing = missing.filter(|_| posts.is_empty());
    let counted = format!(
        "{}, by smart engagement",
        shown_of(posts.len(), POSTS, "post", "posts")
    );
    let mut section = Section::part(
        "Top posts",
        if missing.is_some() {
            String::new()
        } else {
            counted
        },
    );
    let (header, shown): (&[&str], _) = if are_fetched {
        (&["Date", "Smart", "Engagement", "Link"], "link")
    } else {
        (&["Date", "Smart", "Engagement", "Title"], "title")
    };
    let row = |post: &Value| {
        vec![
            StyledText::quiet(day(word(&post["published_at"]))),
            StyledText::quiet(format::human(post["smart_engagement"].as_f64())),
            StyledText::quiet(format::human(post["engagement"].as_f64())),
            StyledText::plain(word(&post[shown])),
        ]
    };
    section.table(
        header,
        posts.iter().take(POSTS).map(row).collect(),
        missing.unwrap_or("no known posts"),
    );
    Some(section)
}

fn liquidity(token: &Value) -> PartSection {
    let part = answered("Liquidity", &token["dexes"])?;
    let dexes = list(&part["dexes"]);
    let missing = part["missing"].as_str();
    let counted = if missing.is_some() {
        String::new()
    } else {
        shown_of(dexes.len(), ROWS, "DEX", "DEXes")
    };
    let mut section = Section::part("Liquidity", counted);
    if let Some(total) = token["market"]["liquidity"].as_f64() {
        section.labelled("All pools", dollars(total), Tone::Plain);
    }
    let row = |dex: &Value| {
        let best = &dex["bestPool"];
        vec![
            StyledText::plain(words::versioned(word(&dex["name"]), word(&dex["dexId"]))),
            StyledText::quiet(
                dex["chainId"]
                    .as_str()
                    .map_or_else(|| MISSING.to_owned(), chain),
            ),
            StyledText::plain(format::human(best["liquidity"].as_f64())),
            StyledText::quiet(format::human(dex["volume24h"].as_f64())),
            StyledText::quiet(
                dex["poolCount"]
                    .as_u64()
                    .map_or_else(|| MISSING.to_owned(), format::count),
            ),
            StyledText::plain(word(&best["pair"])),
        ]
    };
    let header = &[
        "DEX",
        "Chain",
        "Best pool's liquidity, USD",
        "24h volume, USD",
        "Pools",
        "Best pool",
    ];
    let otherwise = missing.unwrap_or("no known market");
    section.table(
        header,
        dexes.iter().take(ROWS).map(row).collect(),
        otherwise,
    );
    Ok(section)
}

/// `12 patterns`, or `10 of 12 patterns`.
fn shown_of(count: usize, most: usize, one: &str, more: &str) -> String {
    let all = plural(count as u64, one, more);
    if count > most {
        format!("{most} of {all}")
    } else {
        all
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    word_or(value, MISSING)
}

fn word_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value.as_str().unwrap_or(otherwise)
}

fn number(value: &Value, digits: usize) -> String {
    value.as_f64().map_or_else(
        || MISSING.to_owned(),
        |number| format::fixed(number, digits),
    )
}

fn price(value: &Value) -> String {
    format::price(value.as_f64())
}

fn change(value: &Value) -> String {
    format::change(value.as_f64())
}

/// `$7.92B`.
fn dollars(value: f64) -> String {
    format!("${}", format::human(Some(value)))
}

/// The chain's name; its id if it is not in the list of chains.
fn chain(id: &str) -> String {
    let known = Chain::known(id)
        .and_then(|chain| CHAINS.iter().find(|row| row.short_name == chain.as_str()));
    known.map_or(id, |row| row.name).to_owned()
}

fn sentence_case(text: &str) -> String {
    let mut rest = text.chars();
    rest.next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(rest)
        .collect()
}

fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

#[cfg(test)]
mod tests;
