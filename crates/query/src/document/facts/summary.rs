//! The summary of a token's report in five sentences: what it is, the verdict, what moved, which risks were found, and what is not known.

use serde_json::Value;

use super::{
    Extras, chain, day, dollars, list,
    performance::{price_changes, unknown_changes},
    price, sentence_case, tone_of_score, word,
};
use crate::document::{Section, Tone, words};
use model::{
    address::Address,
    format::{self, plural},
};
use security::{
    AnomalyCode, CheckState,
    score::{too_little_known, word_of},
};

/// Maximum risks named; the security section lists all.
const RISKS: usize = 3;
/// The parts of a token's report.
const PARTS: [&str; 6] = [
    "token",
    "trendline",
    "patterns",
    "security",
    "dexes",
    "holders",
];

pub(super) fn section(token: &Value, extras: &Extras) -> Section {
    let mut section = Section::part("Summary", "");
    section.say(identity(token), Tone::Plain);
    let security = &token["security"];
    let score = security["securityScore"].as_i64();
    let tone = score.map_or(Tone::Plain, |score| {
        tone_of_score(score, word(&security["recommendation"]))
    });
    section.say(
        verdict(token),
        if tone == Tone::Quiet {
            Tone::Warning
        } else {
            tone
        },
    );
    section.say(moves(token, extras.stale.as_deref()), Tone::Plain);
    section.say(risks(security), Tone::Plain);
    section.say(unknown(token, extras), Tone::Plain);
    section
}

/// `Uniswap (UNI) is a token on Ethereum, created on 2020-09-14, with a price of $7.92, a market cap of $7.92B and 148,978 holders.`
fn identity(token: &Value) -> String {
    let (of, market) = (&token["token"], &token["market"]);
    let address = word(&token["token_address"]);
    let name = match (of["name"].as_str(), of["symbol"].as_str()) {
        (Some(name), Some(symbol)) if name != symbol => format!("{name} ({symbol})"),
        (Some(name), _) | (None, Some(name)) => name.to_owned(),
        (None, None) => format::short_address(address),
    };
    let is_coin = of["symbol"]
        .as_str()
        .is_some_and(|symbol| Address::coin(symbol).to_string() == address);
    let chains: Vec<String> = list(&market["chains"])
        .iter()
        .filter_map(Value::as_str)
        .map(chain)
        .collect();
    let chains = if chains.is_empty() {
        None
    } else {
        Some(listed(&chains, "and"))
    };
    let what = match (chains, market["created_at"].as_str().map(day)) {
        _ if is_coin => format!("{name} is a coin without a contract"),
        (Some(chains), Some(created)) => {
            format!("{name} is a token on {chains}, created on {created}")
        }
        (Some(chains), None) => format!("{name} is a token on {chains}"),
        (None, Some(created)) => format!("{name} is a token created on {created}"),
        (None, None) => format!("{name} is a token"),
    };
    let values = [
        of["price"]
            .as_f64()
            .map(|_| format!("a price of ${}", price(&of["price"]))),
        of["market_cap"]
            .as_f64()
            .map(|cap| format!("a market cap of {}", dollars(cap))),
        market["holders"]
            .as_u64()
            .map(|count| plural(count, "holder", "holders")),
    ];
    let values: Vec<String> = values.into_iter().flatten().collect();
    if values.is_empty() {
        format!("{what}.")
    } else {
        format!("{what}, with {}.", listed(&values, "and"))
    }
}

fn verdict(token: &Value) -> String {
    let security = &token["security"];
    let recommendation = word(&security["recommendation"]);
    let safety = match security["securityScore"].as_i64() {
        None if security.is_null() => "The security checks have not run yet".to_owned(),
        None => "There is no security verdict".to_owned(),
        Some(_) if too_little_known(recommendation) => {
            "There is not enough data for a security verdict".to_owned()
        }
        Some(score) => format!(
            "The security verdict is {} with a score of {score} out of 100",
            word_of(recommendation)
        ),
    };
    let patterns = &token["patterns"];
    let advice = patterns["advice"]["word"]
        .as_str()
        .or_else(|| patterns["recommendedAction"].as_str());
    let advice = advice.map(|advice| words::shown(advice).to_lowercase());
    match (
        advice,
        patterns["advice"]["text"]
            .as_str()
            .filter(|text| !text.is_empty()),
    ) {
        (Some(advice), Some(reason)) => {
            format!("{safety}, and the chart advice is “{advice}”: {reason}.")
        }
        (Some(advice), None) => format!("{safety}, and the chart advice is “{advice}”."),
        (None, _) => format!("{safety}, and there is no chart advice."),
    }
}

/// Changes of the price and the number of holders, and the trend.
fn moves(token: &Value, stale: Option<&str>) -> String {
    let market = &token["market"];
    let changes: Vec<String> = price_changes(market)
        .map(|(period, change)| format!("{} in {period}", signed(change)))
        .collect();
    let changed = match stale {
        Some(lag) => Some(format!("no recent price change is known: {lag}")),
        None if changes.is_empty() => None,
        None => Some(format!("the price changed by {}", listed(&changes, "and"))),
    };
    let growth = market["holders_growth"].as_f64();
    let growth = growth.map(|growth| {
        format!(
            "the number of holders changed by {} in 7 days",
            signed(growth)
        )
    });
    let trend = match token["trendline"]["trend"].as_str() {
        Some("uptrend") => Some("the trend is up".to_owned()),
        Some("downtrend") => Some("the trend is down".to_owned()),
        Some(_) => Some("the trend is sideways".to_owned()),
        None => None,
    };
    let moved: Vec<String> = [changed, growth, trend].into_iter().flatten().collect();
    if moved.is_empty() {
        "No price or holder change is known.".to_owned()
    } else {
        format!("{}.", sentence_case(&moved.join("; ")))
    }
}

/// The risks that the checks found, the heaviest first.
fn risks(security: &Value) -> String {
    let checks = list(&security["checks"]);
    let in_state = |state: CheckState| {
        checks
            .iter()
            .filter(move |check| word(&check["state"]) == state.word())
    };
    let mut found: Vec<AnomalyCode> = in_state(CheckState::Found)
        .filter_map(|check| AnomalyCode::parse(word(&check["code"])))
        .collect();
    found.sort_by(|a, b| {
        b.fatal()
            .cmp(&a.fatal())
            .then(b.weight().total_cmp(&a.weight()))
    });
    // Without the remark after it, as in `sells are taxed; fatal above 50%`.
    let risks: Vec<&str> = found
        .iter()
        .take(RISKS)
        .filter_map(|code| code.meaning().split(';').next())
        .collect();
    let (count, risks) = (
        plural(found.len() as u64, "security check", "security checks"),
        risks.join("; "),
    );
    match found.len() {
        0 if checks.is_empty() => {
            "No security check has run, so no risk could be found.".to_owned()
        }
        0 if in_state(CheckState::NotChecked).next().is_some() => {
            "No security check that could run found a risk.".to_owned()
        }
        0 => "No security check found a risk.".to_owned(),
        1..=RISKS => format!("{count} found a risk: {risks}."),
        _ => format!("{count} found risks, including: {risks}."),
    }
}

/// Values and parts that the data does not cover.
fn unknown(token: &Value, extras: &Extras) -> String {
    if PARTS.iter().any(|part| token[*part].is_null()) {
        return "The analysis is not complete, so parts of this report are missing.".to_owned();
    }
    let (of, market) = (&token["token"], &token["market"]);
    let fails = |part: &str| !token[part]["error"].is_null();
    let is_empty = |part: &str, key: &str| fails(part) || list(&token[part][key]).is_empty();
    let checks = list(&token["security"]["checks"]);
    let unchecked = checks
        .iter()
        .filter(|check| word(&check["state"]) == CheckState::NotChecked.word())
        .count();
    let mut lacks: Vec<String> = Vec::new();
    let mut lack = |is_missing: bool, what: &str| {
        if is_missing {
            lacks.push(what.to_owned());
        }
    };
    lack(of["price"].is_null(), "the price");
    lack(of["market_cap"].is_null(), "the market cap");
    if !fails("market") {
        lack(market["holders"].is_null(), "the number of holders");
        let periods: Vec<String> = unknown_changes(market).map(str::to_owned).collect();
        let some = extras.stale.is_none() && !periods.is_empty();
        lack(
            some,
            &format!("the price change in {}", listed(&periods, "and")),
        );
    }
    lack(fails("security"), "the security of the contract");
    lack(is_empty("holders", "holders"), "the largest holders");
    lack(is_empty("dexes", "dexes"), "the markets where it trades");
    lack(
        !fails("token") && list(&of["top_posts"]).is_empty(),
        "posts about it",
    );
    match (lacks.is_empty(), unchecked) {
        (true, 0) => "The data covers every part of this report.".to_owned(),
        (true, _) => format!(
            "{unchecked} of {} gave no result; see the Security section for the reasons.",
            plural(checks.len() as u64, "security check", "security checks")
        ),
        (false, 0) => format!("The data does not cover {}.", listed(&lacks, "or")),
        (false, _) => {
            let of_all = plural(checks.len() as u64, "security check", "security checks");
            format!(
                "The data does not cover {}, and {unchecked} of {of_all} gave no result.",
                listed(&lacks, "or")
            )
        }
    }
}

/// `a, b and c`.
fn listed(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., end] => format!("{} {last} {end}", before.join(", ")),
    }
}

/// `+4.2%`, `−14.4%`.
pub(super) fn signed(percent: f64) -> String {
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{}%", format::fixed(percent.abs(), 1))
}
