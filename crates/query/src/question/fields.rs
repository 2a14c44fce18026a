//! The figures that `fields` of GET /tokens adds to each token: short forms of the answers of the token's own endpoints.

use serde_json::{Map, Value};

use super::{
    Question,
    progress::Progress,
    security::SecurityQuestion,
    snapshot::Snapshot,
    timeframes::candles_of,
    trendline::{PERIOD_DEFAULT, TrendlineQuestion},
};
use analysis::{
    frames::{self, CandleVec},
    indicators::{Indicator, from_52w_high},
    market::{Added, Figures, TokenSummary},
    patterns::{PatternsAnswer, patterns_and_status},
};
use model::{
    address::Address,
    candles::{ChartCandles, Interval},
    error::{Code, Result},
    time::DAY_MS,
};

/// All values of `fields`, in the order of the answer.
pub const FIELDS: &[&str] = &[
    "created_at",
    "age",
    "as_of",
    "volume_24h",
    "liquidity",
    "price_change_1h",
    "price_change_7d",
    "price_change_30d",
    "own",
    "trend",
    "best_pattern",
    "recommendedAction",
    "securityScore",
    "recommendation",
    "rsi_14",
    "from_52w_high",
];

/// The figures that are computed on request; the others are precomputed.
pub const COMPUTED: &[&str] = FIELDS.split_at(9).1;

/// The figures computed from a token's candles.
pub const CHARTED: &[&str] = &["trend", "best_pattern", "recommendedAction", "rsi_14", "from_52w_high"];

/// The figures that come from security inference.
pub const INFERRED: &[&str] = &["securityScore", "recommendation"];

/// Computes the figures named by `fields` (of `FIELDS`) for one token.
pub fn figures(snapshot: &Snapshot, token: Address, fields: &[&str], progress: &Progress) -> Result<Figures> {
    let mut figures = Figures::default();
    let is_named = |field: &str| fields.contains(&field);
    if let Some(token) = snapshot.market.of(&snapshot.dataset, &token) {
        figures = precomputed(token, fields);
        figures.own = is_named("own").then(|| Added(own(snapshot, token)));
    }
    if is_named("trend") {
        let question = TrendlineQuestion { contract_address: token, period: PERIOD_DEFAULT, timeframe: None, explain: false };
        figures.trend = Some(Added(none_without_data(question.answer(snapshot, progress))?.map(|answer| answer.trend)));
    }
    let by_patterns = is_named("best_pattern") || is_named("recommendedAction");
    let by_indicators = is_named("rsi_14") || is_named("from_52w_high");
    let candles = if by_patterns || by_indicators { none_without_data(candles_of(snapshot, &token))? } else { None };
    let series = candles.as_ref().map(ChartCandles::series);
    let frame = series.as_ref().and_then(|series| frames::frame(series, Interval::DAY));
    if by_indicators {
        // No signals from a chart that ended long ago.
        let live =
            snapshot.market.of(&snapshot.dataset, &token).is_none_or(|token| token.last_candle.is_none_or(|last| last.behind.is_none()));
        let daily = frame.as_ref().filter(|_| live).map(|frame| CandleVec::sound(&frame.as_candles())).unwrap_or_default();
        let daily = daily.as_candles();
        let last = daily.len().saturating_sub(1)..daily.len();
        let rsi = || Indicator::Rsi(14).values(&daily, last).into_iter().flatten().next().flatten();
        figures.rsi_14 = is_named("rsi_14").then(|| Added(rsi()));
        figures.from_52w_high = is_named("from_52w_high").then(|| Added(from_52w_high(&daily, Interval::DAY.0)));
    }
    if by_patterns {
        let (daily, status) = frame.map(|frame| patterns_and_status(&frame.as_candles())).unzip();
        if is_named("best_pattern") {
            figures.best_pattern_status = status.flatten();
            figures.best_pattern = Some(Added(daily.as_ref().and_then(PatternsAnswer::best).cloned()));
        }
        if is_named("recommendedAction") {
            figures.recommended_action = Some(Added(daily.map(|answer| answer.recommended_action)));
        }
    }
    if INFERRED.iter().any(|field| is_named(field)) {
        let summary = none_without_data(SecurityQuestion::summary(snapshot, token, progress))?;
        figures.security_score = is_named("securityScore").then_some(Added(summary.map(|summary| summary.score)));
        figures.recommendation = is_named("recommendation").then_some(Added(summary.map(|summary| summary.recommendation)));
    }
    Ok(figures)
}

/// The named figures that are precomputed in the token's summary.
pub fn precomputed(token: &TokenSummary, fields: &[&str]) -> Figures {
    let is_named = |field: &str| fields.contains(&field);
    let number = |field: &str, value: Option<f64>| is_named(field).then_some(Added(value));
    Figures {
        created_at: is_named("created_at").then_some(Added(token.created_at)),
        age: number("age", token.age.map(|age| age as f64 / DAY_MS as f64)),
        as_of: is_named("as_of").then(|| Added(token.last_candle.map(|last| last.start))),
        volume_24h: number("volume_24h", token.volume_24h),
        liquidity: number("liquidity", token.liquidity),
        price_change_1h: number("price_change_1h", token.price_change_1h),
        price_change_7d: number("price_change_7d", token.price_change_7d),
        price_change_30d: number("price_change_30d", token.price_change_30d),
        ..Figures::default()
    }
}

/// Every custom column of the `tokens` file, null where the token has no value; `None` where the file has no custom columns.
fn own(snapshot: &Snapshot, token: &TokenSummary) -> Option<Map<String, Value>> {
    let value = |name: &str| token.own.iter().find(|(known, _)| *known == name).map_or(Value::Null, |(_, value)| value.json());
    let columns = snapshot.dataset.own_columns();
    (!columns.is_empty()).then(|| columns.iter().map(|column| (column.name.to_owned(), value(column.name))).collect())
}

/// Turns the error of missing data into `None`.
fn none_without_data<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(problem) if matches!(problem.code, Code::NoCandles | Code::NoSecurityData) => Ok(None),
        Err(problem) => Err(problem),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::question::{search::SearchQuestion, tests};
    use analysis::{
        patterns::{Pattern, PatternName, TradeAction},
        trendlines::Trend,
    };

    /// A token that rises for twenty days, and one without any data.
    pub(in crate::question) fn snapshot() -> Snapshot {
        let candles = (1..=20).map(|day| format!("0x1,2026-01-{day:02},{day},{day},{day},{day},1d\n")).collect::<Vec<_>>().concat();
        tests::snapshot(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,UP,Up,eth\n0x2,NONE,None,eth"),
            ("candles", &format!("token_address,timestamp,open,high,low,close,interval\n{candles}")),
        ])
    }

    fn found(snapshot: &Snapshot, query: &str) -> Result<Value> {
        Ok(serde_json::to_value(tests::answered::<SearchQuestion>(snapshot, &[], query)?.tokens).unwrap())
    }

    fn ask(query: &str) -> Result<Value> {
        found(&snapshot(), query)
    }

    #[test]
    fn figures_are_added_where_they_are_asked_for_and_null_without_candles() {
        let figures = ask("fields=recommendedAction,trend,best_pattern,trend").unwrap();
        let of = |i: usize| ["trend", "best_pattern", "recommendedAction"].map(|field| figures[i].get(field).cloned());
        assert_eq!(of(0), [Some(json!(Trend::Uptrend)), Some(Value::Null), Some(json!(TradeAction::Hold))]);
        assert_eq!(of(1), [Some(Value::Null), Some(Value::Null), Some(Value::Null)]);
        assert_eq!(ask("only=symbol,trend").unwrap()[0], json!({ "symbol": "UP", "trend": "uptrend" }));
        assert_eq!(ask("only=symbol&fields=trend").unwrap()[0], json!({ "symbol": "UP" }));
        let bare = ask("fields=").unwrap();
        assert!(FIELDS.iter().all(|field| bare[0].get(field).is_none()));
        let refused = ask("fields=tend").unwrap_err();
        assert!(refused.code == Code::InvalidParameter && refused.detail.contains("did you mean `trend`?"), "{refused}");
    }

    #[test]
    fn tokens_are_kept_and_ordered_by_figures_that_are_worked_out_for_that() {
        let symbols = |query: &str| ask(&format!("only=symbol&{query}")).map(|tokens| tokens.as_array().map_or(0, Vec::len));
        assert_eq!(symbols("where=trend:uptrend"), Ok(1));
        assert_eq!(symbols("where=trend!=uptrend"), Ok(0), "a token without candles has no trend");
        assert_eq!(symbols("where=trend:uptrend%20chain:ethereum%20action=hold"), Ok(1));
        assert_eq!(symbols("where=trend:downtrend"), Ok(0));
        for (sort, first) in [("trend", "UP"), ("-trend,symbol", "UP"), ("symbol", "NONE"), ("-name,price", "UP"), ("price,-symbol", "UP")]
        {
            assert_eq!(ask(&format!("only=symbol&sort={sort}")).unwrap()[0], json!({ "symbol": first }), "{sort}");
        }
        for (query, says) in [
            ("where=pric>1", "`where`: no column `pric`, did you mean `price`? Columns: symbol, name, "),
            ("where=price>x", "`where`: `x` is not a number: write `price>1000`, "),
            ("where=usd", "`where`: `usd` is no condition: write a column, a sign and a value, as in `symbol:usd`."),
            ("sort=pric", "`sort` names `pric`, which is no column here: the nearest is `price`. Expected up to 4 of symbol, "),
            ("sort=price,name,symbol,age,holders", "`sort` has 5 columns. Expected up to 4 of "),
            ("only=pric", "`only` names `pric`: did you mean `price`? Expected some of token_address, "),
        ] {
            let refused = ask(query).unwrap_err();
            assert!(refused.code == Code::InvalidParameter && refused.detail.starts_with(says), "{query}: {refused}");
        }
    }

    /// A token of 400 days that ends ten percent under the high it had 100 days ago, one of 30 days, and one whose candles ended long ago.
    fn ask_levels(query: &str) -> Value {
        let day = |token: u8, day: i64, close: f64| {
            let time = model::time::Time(day * DAY_MS);
            format!("0x{token},{time},{close},{close},{close},{close},1d\n")
        };
        let old = |at: i64| if at == 299 { 20.0 } else { 17.0 + (at % 2) as f64 };
        let rows: String =
            (0..400).map(|at| day(1, 20_000 + at, old(at))).chain((370..400).map(|at| day(2, 20_000 + at, at as f64))).collect();
        let gone: String = (0..400).map(|at| day(3, 19_000 + at, old(at))).collect();
        let snapshot = tests::snapshot(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth"),
            ("candles", &format!("token_address,timestamp,open,high,low,close,interval\n{rows}{gone}")),
        ]);
        found(&snapshot, query).expect("an answer")
    }

    #[test]
    fn the_strength_of_a_token_and_how_far_it_is_from_its_high_are_asked_for_by_name() {
        let rows = ask_levels("fields=rsi_14,from_52w_high&sort=symbol");
        let of = |nth: usize| ["rsi_14", "from_52w_high"].map(|field| rows[nth][field].as_f64());
        let [rsi, high] = of(0);
        assert!(rsi.is_some_and(|rsi| (40.0..60.0).contains(&rsi)), "{rsi:?}");
        assert!(high.is_some_and(|high| (high + 10.0).abs() < 1e-9), "{high:?}");
        assert_eq!(of(1), [Some(100.0), None], "it only rose, and is not 52 weeks old");
        assert_eq!(of(2), [None, None], "what it did long ago is no news");
        for (query, expected) in
            [("where=rsi<60", "A"), ("where=52w_high>-11", "A"), ("where=rsi>=99", "B"), ("sort=-rsi", "BAC"), ("sort=52w", "ABC")]
        {
            let rows = ask_levels(&format!("only=symbol&{query}"));
            let symbols: String = rows.as_array().into_iter().flatten().filter_map(|row| row["symbol"].as_str()).collect();
            assert_eq!(symbols, expected, "{query}");
        }
    }

    /// A `tokens` file with a custom `rating` column, and a custom column whose name collides with a built-in one.
    fn ask_own(query: &str) -> Result<Value> {
        let snapshot = tests::snapshot(&[
            ("tokens", "token_address,symbol,name,chain,rating,age\n0x1,A,A,eth,3,old\n0x2,B,B,eth,5,new\n0x3,C,C,eth,,"),
            ("pools", "address,dex_id,chain,token0,token1,liquidity,volume24h\n0xa,x,eth,0x1,0x2,100,7\n0xb,x,eth,0x1,0x3,50,"),
        ]);
        found(&snapshot, query)
    }

    #[test]
    fn columns_of_the_file_that_are_not_ours_are_shown_filtered_and_ordered_by() {
        let symbols = |query: &str| {
            let rows = ask_own(&format!("only=symbol&{query}")).unwrap();
            rows.as_array().unwrap().iter().filter_map(|row| row["symbol"].as_str()).collect::<String>()
        };
        assert_eq!(
            (symbols("where=rating>3"), symbols("where=rating>=3&sort=-rating"), symbols("sort=rating")),
            ("B".into(), "BA".into(), "ABC".into())
        );
        // A colliding name takes the `own_` prefix.
        assert_eq!((symbols("where=own_age:old"), symbols("where=age<90d")), ("A".into(), String::new()));
        let shown = ask_own("fields=own,liquidity,volume_24h&sort=symbol").unwrap();
        assert_eq!(shown[0]["own"], json!({ "rating": 3, "age": "old" }));
        assert_eq!(shown[2]["own"], json!({ "rating": null, "age": null }));
        assert_eq!((&shown[0]["liquidity"], &shown[0]["volume_24h"]), (&json!(150.0), &json!(7.0)));
        assert_eq!((&shown[2]["liquidity"], &shown[2]["volume_24h"]), (&json!(50.0), &Value::Null));
        assert_eq!(symbols("where=liq>60%20vol>5"), "AB");
        let refused = ask_own("where=ratng>3").unwrap_err();
        assert!(refused.detail.contains("did you mean `rating`?"), "{refused}");
        assert!(ask_own("sort=nothing").is_err());
    }

    #[test]
    fn an_old_pattern_gives_way_to_a_fresh_one_that_is_less_sure() {
        let pattern = |name, confidence, end_index| Pattern {
            name,
            confidence,
            completion_percent: 100.0,
            projected_movement: 1.0,
            start_index: 0,
            end_index,
            detail: None,
        };
        let (old, fresh) = (pattern(PatternName::DoubleTop, 0.9, 50), pattern(PatternName::Rectangle, 0.5, 95));
        let answer = |patterns: &[&Pattern]| PatternsAnswer {
            patterns: patterns.iter().copied().cloned().collect(),
            recommended_action: TradeAction::Hold,
            as_of: None,
            track_record: None,
        };
        assert_eq!(answer(&[&fresh, &old]).best(), Some(&fresh));
        assert_eq!(answer(&[&old]).best(), Some(&old));
        assert_eq!(answer(&[]).best(), None);
        assert_eq!(answer(&[&fresh]).best_open(), None, "a plain answer does not tell which are open");
    }
}
