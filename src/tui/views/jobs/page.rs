//! A job's report as a page: for each token the verdict, the levels, the checklist, holders, posts and DEXes. Made of the report as
//! the API answers it; what a part lacks is said in its place. Draws nothing.

use serde_json::Value;

use crate::{
    analysis::security::{AnomalyCode, CheckState, Group},
    dataset::chain::Chain,
    tui::{
        format::{self, MISSING},
        text,
        theme::Role,
        views::{
            many,
            parts::{role_of_change, role_of_score, score_text},
            security::check_mark,
        },
        words,
    },
};

/// Rows shown of a list; the JSON has the rest of what the report keeps.
const ROWS: usize = 10;
/// Posts shown.
const POSTS: usize = 5;
/// Of a label, with the gap after it.
const LABEL: usize = 15;
/// Lines that a sentence may take.
const SENTENCE: usize = 6;

/// A line of the page, in pieces of a role each.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Line {
    pub(super) indent: u16,
    pub(super) pieces: Vec<(String, Role)>,
    /// Begins a token or a part of it: one jumps from one to the next.
    pub(super) heading: bool,
}

/// The lines of a report in so many cells.
pub(super) fn lines(report: &Value, cells: u16) -> Vec<Line> {
    let mut page = Page { lines: Vec::new(), cells: usize::from(cells.max(40)) };
    for token in list(&report["tokens"]) {
        page.token(token);
    }
    if page.lines.is_empty() {
        page.say("nothing was found out yet", Role::Dim);
    }
    page.lines
}

struct Page {
    lines: Vec<Line>,
    cells: usize,
}

impl Page {
    fn line(&mut self, indent: u16, pieces: Vec<(String, Role)>) {
        self.lines.push(Line { indent, pieces, heading: false });
    }

    fn heading(&mut self, title: &str, note: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let pieces = vec![(title.to_owned(), Role::Accent), (format!("  {note}"), Role::Dim)];
        self.lines.push(Line { indent: 0, pieces, heading: true });
    }

    fn say(&mut self, sentence: &str, role: Role) {
        for line in text::wrap(sentence, self.cells.saturating_sub(4), SENTENCE) {
            self.line(1, vec![(line, role)]);
        }
    }

    /// `label   what is said of it`, wrapped under itself.
    fn labelled(&mut self, label: &str, says: &str, role: Role) {
        let room = self.cells.saturating_sub(LABEL + 4);
        for (i, line) in text::wrap(says, room, SENTENCE).into_iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            self.line(1, vec![(text::fit(label, LABEL, text::Align::Left), Role::Dim), (line, role)]);
        }
    }

    /// The part's answer; without one the heading says why, and nothing more is to be said.
    fn part<'a>(&mut self, title: &str, part: &'a Value) -> Option<&'a Value> {
        let why = match part {
            Value::Null => Some(("not analysed yet".to_owned(), Role::Dim)),
            part => part["error"]["detail"].as_str().map(|detail| (detail.to_owned(), Role::Warning)),
        };
        let Some((why, role)) = why else { return Some(part) };
        self.heading(title, "");
        self.say(&why, role);
        None
    }

    fn token(&mut self, token: &Value) {
        let (of, address) = (&token["token"], word(&token["token_address"]));
        let symbol = of["symbol"].as_str().or_else(|| of["name"].as_str()).unwrap_or("token");
        self.heading(&text::truncate(symbol, 24), address);
        if let Some(name) = of["name"].as_str() {
            let figures = format!(
                "{} · price {} USD · market cap {} USD · whales {}",
                text::truncate(name, 40),
                format::price(of["price"].as_f64()),
                format::human(of["market_cap"].as_f64()),
                of["whale_accumulation_trend"].as_str().unwrap_or(MISSING),
            );
            self.say(&figures, Role::Text);
        }
        self.verdict(token);
        self.levels(token);
        self.checklist(token);
        self.holders(token);
        self.posts(token);
        self.dexes(token);
    }

    fn verdict(&mut self, token: &Value) {
        self.heading("verdict", "");
        let security = &token["security"];
        if let Some(score) = security["securityScore"].as_i64() {
            let recommendation = word(&security["recommendation"]);
            let says = format!("{} of 100 · {recommendation}", score_text(score, recommendation));
            self.labelled("security", &says, role_of_score(score, recommendation));
            let parts = [("code", "codePatterns"), ("transfers", "transactionPatterns"), ("holders", "holderDistribution")];
            let risk = parts.map(|(name, key)| format!("{name} {}", number(&security["anomalyDetection"][key]["score"], 1)));
            self.labelled("risk, 0–100", &risk.join(" · "), Role::Text);
        } else {
            self.labelled("security", word_or(&security["error"]["detail"], "not analysed yet"), Role::Dim);
        }
        let trendline = &token["trendline"];
        if let Some(trend) = trendline["trend"].as_str() {
            self.labelled("trend", &format!("{trend}, confidence {}", number(&trendline["confidence"], 2)), Role::Text);
        }
        if let Some(action) = token["patterns"]["recommendedAction"].as_str() {
            self.labelled("chart patterns", &words::told(action), Role::Text);
        }
    }

    /// Trendlines with their prices, patterns with their targets.
    fn levels(&mut self, token: &Value) {
        self.trendlines(&token["trendline"]);
        let Some(patterns) = self.part("chart patterns", &token["patterns"]) else { return };
        let found = list(&patterns["patterns"]);
        self.heading("chart patterns", &shown_of(found.len(), ROWS));
        for pattern in found.iter().take(ROWS) {
            let name = text::fit(&words::told(word(&pattern["name"])), 27, text::Align::Left);
            let sure = format!("{}  ", number(&pattern["confidence"], 2));
            let of_change = |member: &str| pattern[member].as_f64().map_or(Role::Dim, role_of_change);
            let mut pieces = vec![(name, Role::Text), (sure, Role::Dim)];
            if let Some(status) = pattern["status"].as_str() {
                pieces.push((text::fit(&words::told(status), 12, text::Align::Left), Role::Dim));
                let aim = format!("target {}", price(&pattern["targetPrice"]));
                // What is over has no way to go to its target, and no stop.
                if matches!(status, "forming" | "confirmed") {
                    pieces.push((format!("{aim} {}", change(&pattern["distanceToTarget"])), of_change("distanceToTarget")));
                    self.stop(pattern, &mut pieces);
                } else {
                    pieces.push((aim, Role::Dim));
                }
            } else {
                let complete = format!("{} % complete  ", number(&pattern["completionPercent"], 0));
                pieces.push((complete, Role::Dim));
                pieces.push((
                    format!("measured move from breakout {}", change(&pattern["projectedMovement"])),
                    of_change("projectedMovement"),
                ));
            }
            self.line(1, pieces);
        }
        if found.is_empty() {
            self.say("no pattern in these candles", Role::Dim);
        }
    }

    /// The stop behind the target; under it where the line is full.
    fn stop(&mut self, pattern: &Value, pieces: &mut Vec<(String, Role)>) {
        let ratio = pattern["rewardRisk"].as_f64().map_or_else(String::new, |ratio| format!("  {ratio:.2}:1"));
        let stop = format!("  stop {} {}{ratio}", price(&pattern["stopPrice"]), change(&pattern["distanceToStop"]));
        let used: usize = pieces.iter().map(|(piece, _)| text::width(piece)).sum();
        if used + text::width(&stop) + 2 <= self.cells {
            return pieces.push((stop, Role::Dim));
        }
        let before_aim = used - pieces.last().map_or(0, |(aim, _)| text::width(aim));
        self.line(1, std::mem::take(pieces));
        pieces.push((" ".repeat(before_aim) + stop.trim_start(), Role::Dim));
    }

    fn trendlines(&mut self, part: &Value) {
        let Some(answer) = self.part("trendlines", part) else { return };
        let lines = list(&answer["trendlines"]);
        self.heading("trendlines", &answer["asOf"].as_str().map_or_else(String::new, |time| format!("as of {}", day(time))));
        for line in lines {
            let kind = text::fit(word(&line["type"]), LABEL, text::Align::Left);
            let now = match line["endPrice"].as_f64() {
                // A straight line through a fall ends where no price is.
                Some(at) if at <= 0.0 => "below zero now".to_owned(),
                Some(at) => format!("{} now", format::price(Some(at))),
                None => format!("{} at its start", price(&line["intercept"])),
            };
            let slope = line["slope"].as_f64().map_or_else(String::new, |slope| {
                let sign = if slope < 0.0 { "−" } else { "+" };
                format!("{sign}{} a candle", format::price(Some(slope.abs())))
            });
            let touches = line["touches"].as_array().filter(|touches| !touches.is_empty());
            let touches = touches.map_or_else(String::new, |touches| format!("  {}", many(touches.len() as u64, "touch", "touches")));
            let mut says = format!("{}  {slope}{touches}", word(&line["strength"]));
            if LABEL + 26 + text::width(&says) > self.cells {
                says = format!("{}{touches}", word(&line["strength"]));
            }
            self.line(1, vec![(kind, Role::Dim), (text::fit(&now, 24, text::Align::Left), Role::Text), (says, Role::Dim)]);
        }
        if lines.is_empty() {
            self.say("too few candles for a line", Role::Dim);
        }
    }

    /// What was found, then what could not be checked, under the questions; what passed is counted.
    fn checklist(&mut self, token: &Value) {
        let Some(security) = self.part("checklist", &token["security"]) else { return };
        let checks = list(&security["checks"]);
        let count = |state: CheckState| checks.iter().filter(|check| word(&check["state"]) == state.word()).count();
        let counted = CheckState::ALL.map(|state| (count(state), state)).into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counted.map(|(count, state)| format!("{count} {}", said(state))).collect();
        self.heading("checklist", &counts.join(" · "));
        for group in Group::ALL {
            let open = |check: &&&Value| {
                word(&check["group"]) == group.title().to_lowercase().replace(' ', "_")
                    && word(&check["state"]) != CheckState::Passed.word()
            };
            let open: Vec<&Value> = checks.iter().filter(|check| open(&check)).collect();
            if open.is_empty() {
                continue;
            }
            self.line(1, vec![(group.title().to_owned(), Role::Dim)]);
            for check in open {
                self.check(check);
            }
        }
    }

    fn check(&mut self, check: &Value) {
        let state = CheckState::ALL.into_iter().find(|state| state.word() == word(&check["state"])).unwrap_or(CheckState::NotChecked);
        let role = if state == CheckState::Found { Role::Warning } else { Role::Dim };
        let code = word(&check["code"]);
        let meaning = AnomalyCode::ALL.iter().find(|known| known.word() == code).map_or("", |known| known.meaning());
        let told = check["evidence"].as_str().or_else(|| check["missing"].as_str()).unwrap_or(meaning);
        let room = self.cells.saturating_sub(4 + 2 + 22);
        for (i, line) in text::wrap(told, room, 3).into_iter().enumerate() {
            let (mark, code) = if i == 0 { (check_mark(state), code) } else { (" ", "") };
            let code = text::fit(code, 22, text::Align::Left);
            let text_role = if state == CheckState::Found { Role::Text } else { Role::Dim };
            self.line(2, vec![(format!("{mark} "), role), (code, text_role), (line, text_role)]);
        }
    }

    fn holders(&mut self, token: &Value) {
        let Some(part) = self.part("holders", &token["holders"]) else { return };
        let held = list(&part["holders"]);
        let total = part["total"].as_u64().unwrap_or(held.len() as u64);
        let shares = &token["token"]["holders_distribution"];
        // The rows of a table are no count of all who hold it.
        let mut note = format!("{} listed; Growth (6) counts all", format::count(total));
        for (name, key) in [("top 10", "top_10_holders"), ("top 50", "top_50_holders")] {
            if let Some(share) = shares[key].as_f64() {
                note += &format!(" · {name} {}", format::share(Some(share)));
            }
        }
        self.heading("holders", &note);
        for holder in held.iter().take(ROWS) {
            let labels: Vec<&str> = list(&holder["labels"]).iter().filter_map(Value::as_str).collect();
            let balance = text::fit(&format::human(holder["balance"].as_f64()), 9, text::Align::Right);
            let pieces = vec![
                (balance, Role::Text),
                (format!("  {}", word(&holder["holder_address"])), Role::Dim),
                (format!("  {}", labels.join(", ")), Role::Text),
            ];
            self.line(1, pieces);
        }
        if held.is_empty() {
            self.say(word_or(&part["missing"], "no holder is known"), Role::Dim);
        }
    }

    fn posts(&mut self, token: &Value) {
        let posts = list(&token["token"]["top_posts"]);
        if token["token"].is_null() || !token["token"]["error"].is_null() {
            return;
        }
        self.heading("top posts", &shown_of(posts.len(), POSTS));
        for post in posts.iter().take(POSTS) {
            let title = text::truncate(word(&post["title"]), self.cells.saturating_sub(38).max(20)).into_owned();
            let engagement = format!("  engagement {}", format::human(post["engagement"].as_f64()));
            self.line(
                1,
                vec![(format!("{}  ", day(word(&post["published_at"]))), Role::Dim), (title, Role::Text), (engagement, Role::Dim)],
            );
        }
        if posts.is_empty() {
            self.say("no post is known", Role::Dim);
        }
    }

    fn dexes(&mut self, token: &Value) {
        let Some(part) = self.part("DEXes", &token["dexes"]) else { return };
        let dexes = list(&part["dexes"]);
        self.heading("DEXes", &shown_of(dexes.len(), ROWS));
        for dex in dexes.iter().take(ROWS) {
            let best = &dex["bestPool"];
            let pools = many(dex["poolCount"].as_u64().unwrap_or_default(), "pool", "pools");
            let chain = dex["chainId"]
                .as_str()
                .map_or_else(String::new, |id| Chain::known(id).map_or_else(|| id.to_owned(), |chain| chain.to_string()));
            let pieces = vec![
                (text::fit(word(&dex["name"]), 20, text::Align::Left), Role::Text),
                (text::fit(&chain, 13, text::Align::Left), Role::Dim),
                (text::fit(&text::truncate(word(&best["pair"]), 18), 19, text::Align::Left), Role::Text),
                (format!("liquidity {}", format::human(best["liquidity"].as_f64())), Role::Text),
                (format!("  24h {}  {pools}", format::human(dex["volume24h"].as_f64())), Role::Dim),
            ];
            self.line(1, pieces);
        }
        if dexes.is_empty() {
            self.say(word_or(&part["missing"], "it is traded nowhere that is known"), Role::Dim);
        }
    }
}

fn said(state: CheckState) -> &'static str {
    match state {
        CheckState::Found => "found",
        CheckState::Unheld => "nobody's",
        CheckState::NotChecked => "not checked: data missing",
        CheckState::Passed => "passed",
    }
}

/// `12`, or `10 of 12`.
fn shown_of(count: usize, most: usize) -> String {
    if count > most { format!("{most} of {count}") } else { count.to_string() }
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
    value.as_f64().map_or_else(|| MISSING.to_owned(), |number| format::fixed(number, digits))
}

fn price(value: &Value) -> String {
    format::price(value.as_f64())
}

fn change(value: &Value) -> String {
    format::change(value.as_f64(), false)
}

fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

/// Whether all of `plain` stands in `fuller`: the same answer, told in more words.
pub(super) fn tells_more(fuller: &Value, plain: &Value) -> bool {
    match (fuller, plain) {
        (Value::Object(fuller), Value::Object(plain)) => {
            plain.iter().all(|(key, value)| fuller.get(key).is_some_and(|more| tells_more(more, value)))
        }
        (Value::Array(fuller), Value::Array(plain)) => {
            fuller.len() == plain.len() && fuller.iter().zip(plain).all(|(fuller, plain)| tells_more(fuller, plain))
        }
        (fuller, plain) => fuller == plain,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(report: &Value, cells: u16) -> Vec<String> {
        let line = |line: &Line| line.pieces.iter().map(|(piece, _)| piece.as_str()).collect::<String>().trim_end().to_owned();
        lines(report, cells).iter().map(line).collect()
    }

    #[test]
    fn a_report_reads_as_a_page_and_says_what_it_lacks() {
        let report = json!({"tokens": [{
            "token_address": "0x1f98",
            "token": {"symbol": "UNI", "name": "Uniswap", "price": 7.31, "market_cap": 4.4e9, "top_posts": [
                {"published_at": "2026-10-31T07:05:41Z", "title": "Audit report", "engagement": 7729}]},
            "trendline": {"trend": "sideways", "confidence": 0.5, "trendlines": [
                {"type": "support", "strength": "weak", "slope": -0.01, "intercept": 7.0, "endPrice": 6.87, "touches": [1, 2]},
                {"type": "regression", "strength": "weak", "slope": -0.5, "intercept": 7.0, "endPrice": -0.25}]},
            "patterns": {"recommendedAction": "strong_sell", "patterns": [
                {"name": "head_and_shoulders", "confidence": 0.66, "completionPercent": 100.0, "projectedMovement": -12.5},
                {"name": "rectangle", "confidence": 0.6, "status": "reached", "targetPrice": 5.0, "distanceToTarget": 46.2},
                {"name": "rectangle", "confidence": 0.5, "status": "confirmed", "targetPrice": 5.0, "distanceToTarget": -46.2}]},
            "security": {"securityScore": 12, "recommendation": "AVOID: sells fail", "anomalyDetection": {"codePatterns": {"score": 95.0}},
                "checks": [
                    {"code": "SELL_TAX", "group": "can_i_sell", "state": "found", "evidence": "10 % is lost"},
                    {"code": "PROXY", "group": "who_can_change_it", "state": "not_checked", "missing": "no code"},
                    {"code": "OWNER_MINT", "group": "who_can_change_it", "state": "passed"}]},
            "dexes": {"error": {"detail": "No pools."}},
            "holders": {"total": 414, "holders": []},
        }, {"token_address": "0x1f99", "holders": null}]});
        let page = shown(&report, 100).join("\n");
        for says in [
            "UNI  0x1f98",
            "security       12 of 100 · AVOID: sells fail",
            "risk, 0–100    code 95.0 · transfers – · holders –",
            "trend          sideways, confidence 0.50",
            "support        6.8700 now              weak  −0.0100 a candle  2 touches",
            "Head and shoulders         0.66  100 % complete  measured move from breakout ▼ 12.5 %",
            "checklist  1 found · 1 not checked: data missing · 1 passed",
            "regression     below zero now          weak  −0.5000 a candle",
            "target 5.0000\n",
            "target 5.0000 ▼ 46.2 %",
            "holders  414 listed; Growth (6) counts all",
            "✗ SELL_TAX              10 % is lost",
            "? PROXY                 no code",
            "2026-10-31  Audit report  engagement 7,729",
            "No pools.",
            "not analysed yet",
        ] {
            assert!(page.contains(says), "{says}\n{page}");
        }
        assert!(!page.contains("OWNER_MINT"));
        for cells in [0, 20, 40, 300] {
            assert!(!shown(&report, cells).is_empty());
        }
        for odd in [json!({}), json!({"tokens": [{}]}), json!({"tokens": [7, null, {"security": 3, "holders": {"holders": {}}}]})] {
            assert!(!shown(&odd, 80).is_empty(), "{odd}");
        }
    }

    #[test]
    fn a_fuller_answer_stands_for_the_same_one_alone() {
        let plain = json!({"trend": "uptrend", "trendlines": [{"slope": 1.0}]});
        assert!(tells_more(&json!({"trend": "uptrend", "trendlines": [{"slope": 1.0, "endPrice": 3.0}], "why": 1}), &plain));
        assert!(!tells_more(&json!({"trend": "uptrend", "trendlines": [{"slope": 1.1}]}), &plain));
        assert!(!tells_more(&json!({"trend": "uptrend"}), &plain));
    }
}
