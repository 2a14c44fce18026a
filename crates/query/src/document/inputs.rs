//! Gathers the input of a document: a job's report, or a fresh report of one token. Adds explained levels, candles and market values if the
//! data is still the data of the report.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Block, Document, Level, Section, StyledText, Tone,
    chart::{CANDLES_MAX, Chart},
    facts::{self, Extras},
    provenance::Provenance,
    sources,
};
use crate::{
    jobs::{self, Report, Sources, TokenReport},
    queries::{
        Query,
        candles::{CandlesQuery, TokenCandles},
        dexes::DexListQuery,
        fields::{TokenEntry, figures},
        known_token,
        patterns::{Explain, PatternsQuery},
        snapshot::Snapshot,
        token::TokenQuery,
        track_record::TrackRecordQuery,
        trendline::{PERIOD_DEFAULT, TrendlineQuery},
        view::View,
    },
    service::{QueryService, cached::CachedAnswer},
};
use analysis::{
    growth::growth,
    market::price_change,
    patterns::{PatternName, PatternRecord},
};
use model::{address::Address, error::Result, format, progress::Progress, time::Time};
use security::track_record::sentence;

/// Maximum tokens with priced levels and a chart; a report with more tokens shows its own content only.
const EXPLAINED_MAX: usize = 20;

/// Columns of the tokens list that a report shows next to those that every token has.
const FIGURES: &[&str] = &[
    "created_at",
    "as_of",
    "volume_24h",
    "liquidity",
    "price_change_7d",
    "price_change_30d",
    "rsi_14",
    "from_52w_high",
];

/// Renders a job's report as a document.
pub fn of_job(service: &QueryService, report: &Report, progress: &Progress) -> Result<Document> {
    let snapshot = service.snapshot()?;
    let created = jobs::created(&report.job_id);
    let when = created.map_or_else(String::new, |time| {
        format!(" of {} UTC", time.minute_text())
    });
    let note = format!(
        "Deep analysis {}{when}, {}.",
        report.job_id,
        report.status.word()
    );
    // Jobs of older program versions stored no sources: the current files are listed, marking those newer than the job.
    let (sources, before) = match &report.sources {
        Some(sources) => (sources.clone(), None),
        None => (Sources::of(service, &snapshot.dataset), created),
    };
    of_tokens(
        service,
        &snapshot,
        note,
        &sources,
        before,
        &report.tokens,
        progress,
    )
}

/// Renders a report of the token's current data as a document.
pub fn of_token(service: &QueryService, token: Address, progress: &Progress) -> Result<Document> {
    let snapshot = service.complete_snapshot()?;
    known_token(&snapshot, &token)?;
    let report = jobs::token_report(service, &snapshot, token, progress)?;
    let as_of = snapshot
        .market
        .of(&snapshot.dataset, &token)
        .and_then(|token| token.last_candle);
    let mut note = as_of.map_or_else(String::new, |last| {
        format!("Data as of {} UTC (last candle).", last.start.minute_text())
    });
    if let Some(as_of) = &snapshot.dataset.as_of {
        note.push_str(&format!(
            " Point-in-time: {} UTC.",
            as_of.time.minute_text()
        ));
        if !as_of.unknown.is_empty() {
            note.push_str(&format!(
                " Current values, no history: {}.",
                as_of.unknown.join(", ")
            ));
        }
    }
    let document = of_tokens(
        service,
        &snapshot,
        note,
        &Sources::of(service, &snapshot.dataset),
        None,
        &[report],
        progress,
    )?;
    Ok(Document {
        provenance: Some(Provenance::of(&snapshot, token)),
        ..document
    })
}

fn of_tokens(
    service: &QueryService,
    snapshot: &Snapshot,
    mut note: String,
    sources: &Sources,
    before: Option<Time>,
    tokens: &[TokenReport],
    progress: &Progress,
) -> Result<Document> {
    let mut sections = Vec::new();
    let mut names = Vec::new();
    let mut values = Vec::new();
    for (index, report) in tokens.iter().enumerate() {
        progress.step(index as u64, tokens.len() as u64)?;
        let mut value = serde_json::to_value(report).unwrap_or_default();
        let mut extras = if index < EXPLAINED_MAX {
            add_explanations(
                service,
                snapshot,
                report.token_address,
                &mut value,
                progress,
            )?
        } else {
            value["market"] = missing("Performance is shown for the first 20 tokens only.");
            Extras {
                why_plain: Some("Charts are drawn for the first 20 tokens only."),
                ..Extras::default()
            }
        };
        extras.stale = stale(snapshot, &report.token_address);
        let verdicts = snapshot.track_records.want_security().record;
        extras.verdict_record = verdicts
            .zip(value["security"]["recommendation"].as_str())
            .and_then(|(record, word)| sentence(&record.records, word));
        extras.no_posts = snapshot.dataset.absence_reason("posts");
        extras.are_posts_fetched = sources.has_fetched("posts");
        names.extend(value["token"]["symbol"].as_str().map(str::to_owned));
        sections.extend(facts::token(&value, extras));
        values.push(value);
    }
    if values.len() > 1 {
        sections.insert(0, facts::overview::section(&values));
    }
    if tokens.is_empty() {
        let nothing = Block::Sentence(StyledText::new("No results yet.", Tone::Quiet));
        sections.push(Section {
            level: Level::Token,
            title: "Tokens".to_owned(),
            blocks: vec![nothing],
            ..Section::default()
        });
    }
    sections.push(sources::section(sources, before));
    if sources.synthetic {
        note.push_str(if note.is_empty() {
            "Synthetic data."
        } else {
            " Synthetic data."
        });
    }
    let title = match (names.as_slice(), tokens) {
        ([name], [_]) => format!("Report on {name}"),
        (_, [token]) => format!("Report on {}", token.token_address),
        (_, tokens) => format!("Report on {} tokens", tokens.len()),
    };
    Ok(Document {
        title,
        note,
        sections,
        provenance: None,
    })
}

/// Replaces plain levels by explained ones if they agree, and adds the market values. After a change of the data they would differ.
fn add_explanations(
    service: &QueryService,
    snapshot: &Snapshot,
    token: Address,
    report: &mut Value,
    progress: &Progress,
) -> Result<Extras> {
    let contract_address = token;
    let lines = TrendlineQuery {
        contract_address,
        period: PERIOD_DEFAULT,
        timeframe: None,
        explain: true,
    };
    let patterns = PatternsQuery {
        contract_address,
        timeframe: "1d",
        explain: Explain::Levels,
        include: "all",
    };
    let answered = |part: &Value| part.is_object() && part["error"].is_null();
    report["market"] = if !answered(&report["token"]) {
        report["token"].clone()
    } else if let Some((_, dated)) = explained(
        service,
        snapshot,
        &TokenQuery {
            token_address: token,
            explain: true,
        },
        progress,
    ) && extends(&dated, &report["token"])
    {
        report["token"] = dated;
        market(snapshot, token, progress).unwrap_or_else(|problem| missing(&problem.detail))
    } else {
        missing("The data changed after this analysis, so no performance is shown.")
    };
    progress.step(0, 0)?;
    // Explained, an empty list says why it is empty.
    if answered(&report["dexes"])
        && let Some((_, reasoned)) = explained(
            service,
            snapshot,
            &DexListQuery {
                contract_address,
                explain: true,
            },
            progress,
        )
        && extends(&reasoned, &report["dexes"])
    {
        report["dexes"] = reasoned;
    }
    if !answered(&report["trendline"]) && !answered(&report["patterns"]) {
        return Ok(Extras::default());
    }
    let (lines, patterns) = (
        explained(service, snapshot, &lines, progress),
        explained(service, snapshot, &patterns, progress),
    );
    progress.step(0, 0)?;
    let same = |part: &Value, fuller: &Value| !answered(part) || extends(fuller, part);
    let (Some((lines, explained_lines)), Some((patterns, mut explained_patterns))) =
        (lines, patterns)
    else {
        return Ok(Extras {
            why_plain: Some(CHANGED),
            ..Extras::default()
        });
    };
    leave_out_unfollowed(&mut explained_patterns);
    // The advice changes with the track record of all tokens, on the same data: the current advice is shown.
    if answered(&report["patterns"]) {
        report["patterns"]["recommendedAction"] = explained_patterns["recommendedAction"].clone();
    }
    if !same(&report["trendline"], &explained_lines)
        || !same(&report["patterns"], &explained_patterns)
    {
        return Ok(Extras {
            why_plain: Some(CHANGED),
            ..Extras::default()
        });
    }
    if answered(&report["trendline"]) {
        report["trendline"] = explained_lines;
    }
    let card = if answered(&report["patterns"]) {
        report["patterns"] = explained_patterns;
        patterns.answer.best_active()
    } else {
        None
    };
    // No target is drawn beside a warning.
    let card = card.filter(|_| facts::warning(&report["security"]).is_none());
    let pattern = card.map(|card| &patterns.answer.patterns[card]);
    let record =
        pattern.and_then(|pattern| record(service, snapshot, token, pattern.name, progress));
    progress.step(0, 0)?;
    let chart = chart_candles(service, snapshot, token, progress)
        .and_then(|candles| Chart::new(&candles.answer, &lines.answer, pattern));
    Ok(Extras {
        chart,
        card,
        record,
        ..Extras::default()
    })
}

/// A part without a result, for this reason.
fn missing(detail: &str) -> Value {
    json!({"error": {"detail": detail}})
}

/// The token's row in the tokens list, with its price and holder changes over longer periods.
fn market(snapshot: &Snapshot, token: Address, progress: &Progress) -> Result<Value> {
    let Some(summary) = snapshot.market.of(&snapshot.dataset, &token) else {
        return Ok(Value::Null);
    };
    let view = View::new(snapshot);
    let entry = TokenEntry {
        summary: summary.clone(),
        figures: figures(&view, token, FIGURES, progress)?,
    };
    let mut market = serde_json::to_value(entry).unwrap_or_default();
    view.bring("candles", &[token], progress)?;
    let candles = snapshot.dataset.candles().of(&token);
    market["price_change_90d"] = json!(price_change(&candles, 90).filter(|_| !summary.is_stale()));
    for days in [30, 90] {
        let grown = growth(snapshot.dataset.holder_counts_of(&token), days);
        market[format!("holders_growth_{days}d")] = json!(grown.map(|grown| grown.percent));
    }
    market["holders_as_of"] = json!(summary.holders_as_of);
    market["close_apart"] = json!(
        summary
            .close_apart
            .map(|(time, close)| json!({"time": time, "close": close}))
    );
    Ok(market)
}

/// Of a pegged token the patterns come with `explain` alone: that the plain answer has none is no change, and none is worth following.
fn leave_out_unfollowed(patterns: &mut Value) {
    if patterns["peg"].is_object() {
        patterns["patterns"] = Value::Array(Vec::new());
    }
}

/// `the last candle started 2026-10-09 23:00, 5w behind the other 1h candles`; `None` unless the token is stale.
fn stale(snapshot: &Snapshot, token: &Address) -> Option<String> {
    let last = snapshot.market.of(&snapshot.dataset, token)?.last_candle?;
    let lag = last.behind?;
    let (start, age, clock) = (
        format::candle_time(last.start),
        format::age(lag.by),
        lag.clock.words(&last.interval.to_string()),
    );
    Some(format!(
        "the last candle started {start}, {age} behind {clock}"
    ))
}

/// Track record of the token's earlier patterns of this name.
fn record(
    service: &QueryService,
    snapshot: &Snapshot,
    token: Address,
    name: PatternName,
    progress: &Progress,
) -> Option<PatternRecord> {
    let question = TrackRecordQuery {
        contract_address: token,
        timeframe: "1d",
        scope: "token",
    };
    let cached = service
        .answer_from(snapshot, &question, &progress.quiet())
        .ok()?;
    let of_name = cached
        .answer
        .patterns
        .iter()
        .find(|record| record.name == name);
    // A name without earlier patterns gets an empty record.
    Some(
        of_name
            .cloned()
            .unwrap_or_else(|| PatternRecord::none(name)),
    )
}

const CHANGED: &str = "The data changed after this analysis, so its original levels are shown, without current prices or a chart.";

/// An answer, and its JSON parsed again.
type Explained<A> = (Arc<CachedAnswer<A>>, Value);

fn explained<Q: Query>(
    service: &QueryService,
    snapshot: &Snapshot,
    question: &Q,
    progress: &Progress,
) -> Option<Explained<Q::Answer>> {
    let cached = service.answer_from(snapshot, question, progress).ok()?;
    let value = serde_json::from_slice(&cached.json).ok()?;
    Some((cached, value))
}

/// Daily candles, or weekly ones if there are no finer data.
fn chart_candles(
    service: &QueryService,
    snapshot: &Snapshot,
    token: Address,
    progress: &Progress,
) -> Option<Arc<CachedAnswer<TokenCandles>>> {
    let of = |timeframe| {
        let question = CandlesQuery {
            token_address: token,
            timeframe,
            from: None,
            to: None,
            limit: CANDLES_MAX as u64,
        };
        service
            .answer_from(snapshot, &question, progress)
            .ok()
            .filter(|cached| !cached.answer.candles.is_empty())
    };
    of("1d").or_else(|| of("1w"))
}

/// Whether `fuller` contains every field of `plain` with the same value.
fn extends(fuller: &Value, plain: &Value) -> bool {
    match (fuller, plain) {
        (Value::Object(fuller), Value::Object(plain)) => plain
            .iter()
            .all(|(key, value)| fuller.get(key).is_some_and(|more| extends(more, value))),
        (Value::Array(fuller), Value::Array(plain)) => {
            fuller.len() == plain.len()
                && fuller
                    .iter()
                    .zip(plain)
                    .all(|(fuller, plain)| extends(fuller, plain))
        }
        (fuller, plain) => fuller == plain,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::{document::DocumentForm, service::ServiceOptions};
    use load::sample;
    use model::time::DAY_MS;

    /// The report on `0x1` of these tables.
    fn report(tables: &[(&str, &str)]) -> String {
        let service = QueryService::new(
            Path::new("/data/market"),
            ServiceOptions {
                workers: 1,
                ..ServiceOptions::default()
            },
        )
        .expect("a query service");
        service.publish(sample::dataset(tables));
        of_token(&service, sample::address("0x1"), &Progress::default())
            .expect("a report")
            .write(DocumentForm::Markdown)
    }

    /// 120 daily candles of a price that swings by a fraction about 1.
    fn candles(token: &str, last_day: i64, swing: f64) -> String {
        let line = |back: i64| {
            let day = last_day - back;
            let close = 1.0 + swing * ((day as f64 * 0.45).sin() + 0.4 * (day as f64 * 0.11).sin());
            let (high, low, time) = (
                close * (1.0 + swing / 9.0),
                close * (1.0 - swing / 9.0),
                Time(day * DAY_MS),
            );
            format!("{token},1d,{time},{close},{high},{low},{close},1000\n")
        };
        (0..120).rev().map(line).collect()
    }

    const TOKENS: &str = "token_address,symbol,name,chain,price\n0x1,A,Alpha,eth,1\n0x2,B,Beta,eth,1\n0x3,C,Gamma,eth,1";
    const CANDLES: &str = "token_address,interval,timestamp,open,high,low,close,volume\n";

    #[test]
    fn a_pegged_token_is_reported_as_one_and_not_as_changed_data() {
        let text = report(&[
            ("tokens", TOKENS),
            (
                "candles",
                &format!("{CANDLES}{}", candles("0x1", 20_000, 0.001)),
            ),
        ]);
        assert!(
            text.contains("pegged token: patterns are not tradable signals"),
            "{text}"
        );
        assert!(text.contains("Hold: 95% of closes are within"), "{text}");
        assert!(
            !text.contains("data changed")
                && !text.contains("Trade card")
                && text.contains(" now |"),
            "{text}"
        );
        let mut explained = json!({"peg": {"price": 1.0}, "patterns": [{"name": "rectangle"}]});
        leave_out_unfollowed(&mut explained);
        assert!(extends(&explained, &json!({"patterns": []})));
        let mut followed = json!({"patterns": [{"name": "rectangle"}]});
        leave_out_unfollowed(&mut followed);
        assert!(
            !extends(&followed, &json!({"patterns": []})),
            "a change is one"
        );
    }

    #[test]
    fn a_token_whose_candles_end_before_others_is_called_stale() {
        let told = |last: i64| {
            let all = [("0x1", last), ("0x2", 20_000), ("0x3", 20_000)]
                .map(|(token, day)| candles(token, day, 0.1));
            report(&[
                ("tokens", TOKENS),
                ("candles", &format!("{CANDLES}{}", all.concat())),
            ])
        };
        let stale = told(19_960);
        let clause = "the last candle started 2024-08-25, 5w behind the other 1d candles";
        assert!(
            stale.contains(&format!("\n\nNo recent price change is known: {clause}")),
            "{stale}"
        );
        assert!(
            stale.contains(&format!("as of 2024-08-25 · stale: {clause}\n")),
            "{stale}"
        );
        let fresh = told(20_000);
        assert!(
            !fresh.contains("stale")
                && fresh.contains("The price changed by ")
                && fresh.contains(" in 90 days"),
            "{fresh}"
        );
    }

    #[test]
    fn what_a_table_is_missing_for_is_not_told_as_none() {
        let text = report(&[("tokens", TOKENS)]);
        for table in ["posts", "pools", "holders"] {
            assert!(
                text.contains(&format!("no \\`{table}\\` table")),
                "{table}: {text}"
            );
        }
        for none in [
            "no known posts",
            "no known market",
            "0 DEXes",
            "0 posts",
            "0 holders",
        ] {
            assert!(!text.contains(none), "{none}: {text}");
        }
        let posts =
            "post_id,token_address,author,title,published_at\n1,0x2,x,T,2026-01-01T00:00:00Z";
        let text = report(&[("tokens", TOKENS), ("posts", posts)]);
        assert!(text.contains("no known posts"), "{text}");
    }

    #[test]
    fn an_answer_that_only_adds_members_says_the_same() {
        let plain = json!({"trend": "uptrend", "trendlines": [{"slope": 1.0}]});
        assert!(extends(
            &json!({"trend": "uptrend", "trendlines": [{"slope": 1.0, "endPrice": 3.0}], "why": 1}),
            &plain
        ));
        assert!(!extends(
            &json!({"trend": "uptrend", "trendlines": [{"slope": 1.1}]}),
            &plain
        ));
        assert!(!extends(&json!({"trend": "uptrend"}), &plain));
    }
}
