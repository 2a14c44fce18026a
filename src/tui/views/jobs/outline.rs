//! JSON as an outline that is pleasant to read: members under each other with their values aligned, short lists in one line, no
//! braces. What is copied is the JSON itself.

use serde_json::{Map, Value};

use crate::{
    analysis::security::CheckState,
    tui::{
        format, text,
        theme::Role,
        views::{many, security::check_mark},
    },
};

/// More lines are read better elsewhere.
const LINES_MAX: usize = 100_000;
const KEY_MAX: usize = 28;
/// Cells that a list may take to stand in one line.
const INLINE_MAX: usize = 96;
/// Of the longest name of a part.
const PART_WIDTH: usize = 9;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) indent: u16,
    pub(super) key: String,
    /// The value, in pieces of a role each.
    pub(super) value: Vec<(String, Role)>,
    /// Begins a part: one jumps from one to the next.
    pub(super) heading: bool,
}

/// The lines of a report: each token, each of its parts.
pub(super) fn lines(report: &Value) -> Vec<Line> {
    let mut out = Vec::new();
    for (key, value) in report.as_object().into_iter().flatten().filter(|(_, value)| !value.is_array()) {
        out.push(Line { indent: 0, key: format!("{key:<13}"), value: vec![scalar(value)], heading: false });
    }
    for token in report["tokens"].as_array().into_iter().flatten() {
        let address = token["token_address"].as_str().unwrap_or_default().to_owned();
        let symbol = token["token"]["symbol"].as_str().or_else(|| token["token"]["name"].as_str()).unwrap_or("token");
        blank(&mut out);
        out.push(Line { indent: 0, key: text::truncate(symbol, 24).into_owned(), value: vec![(address, Role::Dim)], heading: true });
        for (part, value) in token.as_object().into_iter().flatten().filter(|(part, _)| *part != "token_address") {
            member(part, PART_WIDTH, value, 1, &mut out);
        }
    }
    if out.len() >= LINES_MAX {
        let value = format!("… cut after {} lines; c copies the curl that gives the rest", format::count(LINES_MAX as u64));
        out.push(Line { indent: 0, key: String::new(), value: vec![(value, Role::Warning)], heading: false });
    }
    out
}

fn blank(out: &mut Vec<Line>) {
    if !out.is_empty() {
        out.push(Line { indent: 0, key: String::new(), value: Vec::new(), heading: false });
    }
}

/// One member of an object; `width` is that of the keys beside it.
fn member(key: &str, width: usize, value: &Value, indent: u16, out: &mut Vec<Line>) {
    if out.len() >= LINES_MAX {
        return;
    }
    let line = |value: String, role| Line {
        indent,
        key: text::fit(key, width.max(text::width(key).min(KEY_MAX)), text::Align::Left),
        value: vec![(value, role)],
        heading: false,
    };
    match value {
        Value::Object(members) if members.is_empty() => out.push(line("nothing".to_owned(), Role::Dim)),
        Value::Object(members) => {
            if let Some(problem) = problem(members) {
                out.push(line(format!("! {problem}"), Role::Warning));
                return;
            }
            out.push(Line { value: Vec::new(), ..line(String::new(), Role::Dim) });
            object(members, indent + 1, out);
        }
        Value::Array(items) if items.is_empty() => out.push(line("none".to_owned(), Role::Dim)),
        Value::Array(items) => {
            if let Some(joined) = inline(items) {
                out.push(line(joined, Role::Text));
            } else if items.iter().all(|item| check(item).is_some()) {
                out.push(line(many(items.len() as u64, "check", "checks"), Role::Dim));
                out.extend(items.iter().filter_map(check).map(|value| Line {
                    indent: indent + 1,
                    key: String::new(),
                    value,
                    heading: false,
                }));
            } else {
                out.push(line(many(items.len() as u64, "entry", "entries"), Role::Dim));
                list(items, indent + 1, out);
            }
        }
        value => {
            let (value, role) = scalar(value);
            out.push(line(value, role));
        }
    }
}

fn object(members: &Map<String, Value>, indent: u16, out: &mut Vec<Line>) {
    let width = members.keys().map(|key| text::width(key)).max().unwrap_or(0).min(KEY_MAX);
    for (key, value) in members {
        member(key, width, value, indent, out);
    }
}

/// The entries of a list: flat objects as a line each, others under their number.
fn list(items: &[Value], indent: u16, out: &mut Vec<Line>) {
    let digits = items.len().to_string().len();
    for (i, item) in items.iter().enumerate() {
        let key = format!("{:>digits$}", i + 1);
        let flat = item.as_object().filter(|members| members.values().all(|value| !value.is_object() && !value.is_array()));
        match flat {
            Some(members) => {
                let pairs = members.iter().flat_map(|(name, value)| {
                    let (value, role) = scalar(value);
                    [(format!("{name} "), Role::Dim), (format!("{value}  "), role)]
                });
                out.push(Line { indent, key, value: pairs.collect(), heading: false });
            }
            None => member(&key, 0, item, indent, out),
        }
        if out.len() >= LINES_MAX {
            return;
        }
    }
}

/// A line of the security checklist: its sign, the code, and what was found or is missing.
fn check(item: &Value) -> Option<Vec<(String, Role)>> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let state = CheckState::ALL.into_iter().find(|state| Some(state.word()) == text("state"))?;
    let role = match state {
        CheckState::Found => Role::Warning,
        CheckState::Passed => Role::Up,
        CheckState::Unheld | CheckState::NotChecked => Role::Dim,
    };
    let told = text("evidence").or_else(|| text("missing")).unwrap_or_default();
    let code = format!("{:<20}", text("code")?);
    Some(vec![(check_mark(state).to_owned(), role), (format!(" {code} "), Role::Text), (told.to_owned(), Role::Dim)])
}

/// `{"error": problem}`, as a part that has no answer stands in a report.
fn problem(members: &Map<String, Value>) -> Option<&str> {
    members.get("error").filter(|_| members.len() == 1)?.get("detail")?.as_str()
}

fn inline(items: &[Value]) -> Option<String> {
    let mut joined = String::new();
    for item in items {
        if item.is_object() || item.is_array() {
            return None;
        }
        if !joined.is_empty() {
            joined.push_str(", ");
        }
        joined.push_str(&scalar(item).0);
        if joined.len() > INLINE_MAX {
            return None;
        }
    }
    Some(joined)
}

fn scalar(value: &Value) -> (String, Role) {
    match value {
        Value::Null => (format::MISSING.to_owned(), Role::Dim),
        Value::String(text) => (text.clone(), Role::Text),
        Value::Number(number) => {
            let grouped = |number: f64| format::exact(Some(number));
            // Beyond 2^53 a float would show other digits than the answer's.
            let text = match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) => format::count(whole),
                (None, Some(number)) => grouped(number),
                (None, None) => number.to_string(),
            };
            (text, Role::Text)
        }
        Value::Bool(flag) => (flag.to_string(), Role::Text),
        Value::Array(_) | Value::Object(_) => (value.to_string(), Role::Text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_reads_as_an_outline() {
        let report = json!({"job_id": "j_1", "status": "completed", "tokens": [{
            "token_address": "0x1f98",
            "token": {"symbol": "UNI", "price": 7.31, "chains": ["eth", "base"]},
            "trendline": {"error": {"detail": "No candles of this token."}},
            "patterns": null,
            "security": {"checks": [
                {"code": "SELL_TAX", "group": "what_does_it_cost", "state": "passed", "weight": 0.9, "evidence": "0.0 %", "missing": null},
                {"code": "PROXY", "group": "who_can_change_it", "state": "not_checked", "weight": 0.15, "evidence": null, "missing": "no code"},
            ]},
            "dexes": {"pools": [{"pair": "UNI/WETH", "volume24h": 12}], "best": {"fee": 0.003}, "none": []},
        }]});
        let shown: Vec<String> = lines(&report)
            .iter()
            .map(|line| {
                let value: String = line.value.iter().map(|(piece, _)| piece.as_str()).collect();
                format!("{}{} {value}", "  ".repeat(usize::from(line.indent)), line.key).trim_end().to_owned()
            })
            .collect();
        let expected = [
            "job_id        j_1",
            "status        completed",
            "",
            "UNI 0x1f98",
            "  token",
            "    symbol UNI",
            "    price  7.31",
            "    chains eth, base",
            "  trendline ! No candles of this token.",
            "  patterns  –",
            "  security",
            "    checks 2 checks",
            "       ✓ SELL_TAX             0.0 %",
            "       ? PROXY                no code",
            "  dexes",
            "    pools 1 entry",
            "      1 pair UNI/WETH  volume24h 12",
            "    best",
            "      fee 0.003",
            "    none  none",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_report_without_end_is_cut_and_says_so() {
        let many: Vec<Value> = (0..LINES_MAX + 5).map(|i| json!({"i": i, "inside": {"deep": [i]}})).collect();
        let lines = lines(&json!({"tokens": [{"token_address": "0x1", "holders": many}]}));
        assert!(lines.len() < LINES_MAX + 10);
        assert!(lines.last().unwrap().value[0].0.contains("cut after 100,000 lines"));
    }
}
