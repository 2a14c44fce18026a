//! GET /technical/{address}/patterns and its columns in token lists, end to end from files to bytes: shape, order, explanation, refusals,
//! bad candles.

use std::{fmt::Write as _, fs, sync::Arc};

use analysis::patterns::PatternName;
use api::keys::Keys;
use api::{Api, ApiOptions, answer_offline};
use query::service::QueryService;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokendeck::config::Config;

use crate::{
    pattern_generator::{DEVELOPMENT, Kind, case},
    random::Random,
};

const TOKEN: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
const OTHER: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";

/// An API over a folder with these daily candles of `TOKEN`; without rows the table is absent.
fn api(rows: &[[f64; 5]]) -> (TempDir, Arc<Api>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("tokens.csv"),
        format!(
            "token_address,symbol,name,chain\n{TOKEN},UNI,Uniswap,eth\n{OTHER},WETH,Ether,eth\n"
        ),
    )
    .unwrap();
    let mut csv = "token_address,timestamp,open,high,low,close,volume,interval\n".to_owned();
    for (i, [open, high, low, close, volume]) in rows.iter().enumerate() {
        let time = (20_000 + i as i64) * 86_400;
        writeln!(
            csv,
            "{TOKEN},{time},{open},{high},{low},{close},{volume},1d"
        )
        .unwrap();
    }
    if !rows.is_empty() {
        fs::write(folder.path().join("candles.csv"), csv).unwrap();
    }
    let service = QueryService::new(
        folder.path(),
        Config::parse(None, "[deck]\nrecords = false")
            .unwrap()
            .deck_options(),
    )
    .unwrap();
    service.load().unwrap();
    let api = Api::new(
        service,
        None,
        Arc::new(Keys::in_memory().unwrap()),
        ApiOptions::default(),
    );
    (folder, api)
}

fn ask(api: &Arc<Api>, target: &str) -> (u16, Value) {
    let reply = answer_offline(api, "GET", target, b"");
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

fn patterns(api: &Arc<Api>, query: &str) -> Value {
    let (status, body) = ask(api, &format!("/technical/{TOKEN}/patterns{query}"));
    assert_eq!(status, 200, "{query}: {body}");
    body
}

/// Candles with one easy instance of each pattern, concatenated.
fn shapes(names: &[&'static str]) -> Vec<[f64; 5]> {
    let mut random = Random(DEVELOPMENT ^ 0x51ab);
    let mut rows: Vec<[f64; 5]> = Vec::new();
    for name in names {
        let bars = case(&mut random, name, Kind::Easy).bars;
        // Each begins at the previous close.
        let scale = rows.last().map_or(1.0, |last| last[3] / bars.open[0]);
        rows.extend((0..bars.len()).map(|i| {
            [
                bars.open[i] * scale,
                bars.high[i] * scale,
                bars.low[i] * scale,
                bars.close[i] * scale,
                7.0,
            ]
        }));
    }
    rows
}

#[test]
fn the_answer_has_its_shape_and_its_order() {
    let rows = shapes(&[
        "double_bottom",
        "head_and_shoulders",
        "ascending_channel",
        "cup_and_handle",
    ]);
    let (_folder, api) = api(&rows);
    let answer = patterns(&api, "");
    let members = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(members(&answer), ["patterns", "recommendedAction"]);
    let actions = ["strong_buy", "buy", "hold", "sell", "strong_sell"];
    assert!(
        actions.contains(&answer["recommendedAction"].as_str().unwrap()),
        "{answer}"
    );
    let found = answer["patterns"].as_array().unwrap();
    assert!(found.len() >= 3, "{answer}");
    for pattern in found {
        assert_eq!(
            members(pattern),
            [
                "name",
                "confidence",
                "completionPercent",
                "projectedMovement",
                "startIndex",
                "endIndex"
            ],
            "{pattern}"
        );
        assert!(
            PatternName::ALL
                .iter()
                .any(|name| pattern["name"] == name.word()),
            "{pattern}"
        );
        let number = |member: &str| pattern[member].as_f64().unwrap();
        assert!(
            (0.0..=1.0).contains(&number("confidence"))
                && (0.0..=100.0).contains(&number("completionPercent")),
            "{pattern}"
        );
        assert!(
            number("projectedMovement") >= -99.9 && number("projectedMovement") < 100.0,
            "{pattern}"
        );
        let (start, end) = (
            pattern["startIndex"].as_u64().unwrap(),
            pattern["endIndex"].as_u64().unwrap(),
        );
        assert!(start < end && end < rows.len() as u64, "{pattern}");
    }
    let place = |pattern: &Value| {
        (
            pattern["endIndex"].as_u64().unwrap(),
            pattern["confidence"].as_f64().unwrap(),
        )
    };
    assert!(
        found
            .windows(2)
            .all(|pair| place(&pair[0]) >= place(&pair[1])),
        "the latest first, of these the surest: {answer}"
    );
    assert_eq!(
        answer,
        patterns(&api, "?timeframe=1d"),
        "a day is the default"
    );
}

#[test]
fn an_explanation_adds_what_the_pattern_rests_on() {
    let rows = shapes(&["double_bottom", "rising_wedge"]);
    let (_folder, api) = api(&rows);
    let (bare, explained) = (patterns(&api, ""), patterns(&api, "?explain=true"));
    assert_eq!(bare["recommendedAction"], explained["recommendedAction"]);
    let (bare, explained) = (
        bare["patterns"].as_array().unwrap(),
        explained["patterns"].as_array().unwrap(),
    );
    assert!(!bare.is_empty() && bare.len() == explained.len());
    for (bare, full) in bare.iter().zip(explained) {
        assert!(
            bare.as_object()
                .unwrap()
                .iter()
                .all(|(member, value)| full[member] == *value),
            "{full}"
        );
        let day = |index: &Value| (20_000 + index.as_i64().unwrap()) * 86_400;
        let seconds = |time: &Value| chrono_seconds(time.as_str().unwrap());
        assert_eq!(
            (seconds(&full["startTime"]), seconds(&full["endTime"])),
            (day(&full["startIndex"]), day(&full["endIndex"]))
        );
        assert!(
            ["up", "down"].iter().any(|word| full["direction"] == *word),
            "{full}"
        );
        assert_eq!(
            full["direction"] == "up",
            full["projectedMovement"].as_f64().unwrap() > 0.0,
            "{full}"
        );
        assert!(
            ["forming", "confirmed", "reached", "failed"]
                .iter()
                .any(|word| full["status"] == *word),
            "{full}"
        );
        assert_eq!(
            full["status"] == "forming",
            full["breakoutIndex"].is_null() && full["completionPercent"].as_f64() < Some(100.0),
            "{full}"
        );
        let anchors = full["anchors"].as_array().unwrap();
        assert!(
            anchors.len() >= 3
                && anchors
                    .windows(2)
                    .all(|pair| pair[0]["index"].as_u64() < pair[1]["index"].as_u64()),
            "{full}"
        );
        for anchor in anchors {
            let candle = rows[anchor["index"].as_u64().unwrap() as usize];
            let price = anchor["price"].as_f64().unwrap();
            assert!(
                [candle[1], candle[2]]
                    .iter()
                    .any(|extreme| (extreme / price - 1.0).abs() < 1e-9),
                "{anchor} of {candle:?}"
            );
            assert_eq!(seconds(&anchor["timestamp"]), day(&anchor["index"]));
        }
        assert!(
            !full["boundary"].as_array().unwrap().is_empty()
                && full["targetPrice"].as_f64().unwrap() > 0.0,
            "{full}"
        );
    }
}

#[test]
fn an_explanation_tells_the_record_of_the_names_it_found() {
    let (_folder, api) = api(&shapes(&["double_bottom", "rising_wedge"]));
    let (levels, whole) = (
        patterns(&api, "?explain=true"),
        patterns(&api, "?explain=record"),
    );
    let (status, all) = ask(&api, &format!("/technical/{TOKEN}/track-record"));
    assert_eq!(status, 200, "{all}");
    let found = |record: &&Value| {
        levels["patterns"]
            .as_array()
            .unwrap()
            .iter()
            .any(|pattern| pattern["name"] == record["name"])
    };
    let expected: Vec<&Value> = all["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .filter(found)
        .collect();
    assert!(
        !expected.is_empty() && whole["trackRecord"] == json!(expected),
        "{whole} is not {all}"
    );
    let mut plain = whole.clone();
    plain.as_object_mut().unwrap().shift_remove("trackRecord");
    assert_eq!(plain, levels, "the rest is the same");
}

/// Unix seconds of `2026-08-14T00:00:00Z`.
fn chrono_seconds(text: &str) -> i64 {
    chrono::DateTime::parse_from_rfc3339(text)
        .unwrap_or_else(|error| panic!("`{text}`: {error}"))
        .timestamp()
}

#[test]
fn refusals_say_what_is_wrong() {
    let (_folder, with) = api(&shapes(&["double_top"]));
    let (_other, without) = api(&[]);
    let unknown = "0x00000000000000000000000000000000000000ff";
    for (api, target, status, code) in [
        (
            &with,
            format!("/technical/{OTHER}/patterns"),
            404,
            "no_candles",
        ),
        (
            &without,
            format!("/technical/{TOKEN}/patterns"),
            404,
            "no_candles",
        ),
        (
            &with,
            format!("/technical/{unknown}/patterns"),
            404,
            "token_not_found",
        ),
        (
            &with,
            "/technical/0x12/patterns".to_owned(),
            400,
            "invalid_address",
        ),
        (
            &with,
            format!("/technical/{TOKEN}/patterns?timeframe=2h"),
            400,
            "invalid_parameter",
        ),
        (
            &with,
            format!("/technical/{TOKEN}/patterns?timeframe="),
            400,
            "invalid_parameter",
        ),
        (
            &with,
            format!("/technical/{TOKEN}/patterns?timeframe=1d&timeframe=1w"),
            400,
            "invalid_parameter",
        ),
        (
            &with,
            format!("/technical/{TOKEN}/patterns?explain=yes"),
            400,
            "invalid_parameter",
        ),
    ] {
        let (got, body) = ask(api, &target);
        assert_eq!(
            (got, body["code"].as_str()),
            (status, Some(code)),
            "{target}: {body}"
        );
    }
}

#[test]
fn a_timeframe_finer_than_the_data_is_refused_with_those_that_there_are() {
    let (_folder, api) = api(&shapes(&[
        "double_bottom",
        "rectangle",
        "rounding_top",
        "inverse_head_and_shoulders",
    ]));
    for path in ["patterns", "trendline", "indicators", "track-record"] {
        let names = if path == "indicators" {
            "names=rsi_14&"
        } else {
            ""
        };
        for (timeframe, expected) in [("1h", 404), ("4h", 404), ("1d", 200), ("1w", 200)] {
            let (status, answer) = ask(
                &api,
                &format!("/technical/{TOKEN}/{path}?{names}timeframe={timeframe}"),
            );
            assert_eq!(status, expected, "{path} {timeframe}: {answer}");
            let says = answer["detail"].as_str().unwrap_or_default();
            assert!(
                status == 200
                    || says.ends_with(&format!(
                        "has no `{timeframe}` candles; available: `1d`, `1w`."
                    )),
                "{path}: {says}"
            );
        }
    }
    assert_eq!(
        ask(&api, &format!("/technical/{TOKEN}/trendline")).0,
        200,
        "without a timeframe it takes the coarsest"
    );
    // In lists it is an element with an error, and the others are answered.
    let (status, list) = ask(
        &api,
        &format!("/candles?addresses={TOKEN},{OTHER}&timeframe=4h"),
    );
    assert_eq!(
        (status, list["tokens"][0]["error"]["code"].as_str()),
        (200, Some("no_candles")),
        "{list}"
    );
}

#[test]
fn the_active_patterns_are_those_of_now() {
    let (_folder, api) = api(&shapes(&[
        "double_bottom",
        "head_and_shoulders",
        "ascending_channel",
        "cup_and_handle",
        "double_top",
    ]));
    let (all, active) = (
        patterns(&api, "?explain=true"),
        patterns(&api, "?explain=true&include=active"),
    );
    let is_active = |pattern: &&Value| pattern["active"] == true;
    let of = |answer: &Value| answer["patterns"].as_array().unwrap().clone();
    let expected: Vec<Value> = of(&all).iter().filter(is_active).cloned().collect();
    assert_eq!(of(&active), expected);
    assert!(
        expected.len() < of(&all).len() && !expected.is_empty(),
        "{all}"
    );
    assert!(expected.iter().all(|pattern| {
        ["forming", "confirmed"]
            .iter()
            .any(|word| pattern["status"] == *word)
    }));
    assert_eq!(active["signal"], all["signal"], "the signal is that of all");
}

#[test]
fn bad_candles_are_passed_over_and_few_say_hold() {
    let flat = |n: usize| vec![[2.0, 2.0, 2.0, 2.0, 1.0]; n];
    let good = shapes(&["double_bottom"]);
    // Every seventh candle is invalid; the pattern is in the others.
    let spoilt = |bad: [f64; 5]| -> Vec<[f64; 5]> {
        good.iter()
            .enumerate()
            .map(|(i, row)| if i % 7 == 3 { bad } else { *row })
            .collect()
    };
    let cases = [
        ("one", flat(1), true),
        ("three", flat(3), true),
        ("flat", flat(300), true),
        ("nineteen", good[good.len() - 19..].to_vec(), true),
        ("upside down", vec![[2.0, 1.0, 3.0, 2.0, 1.0]; 200], true),
        ("zero", vec![[0.0; 5]; 200], true),
        (
            "spoilt by negatives",
            spoilt([-1.0, -1.0, -1.0, -1.0, 0.0]),
            false,
        ),
        (
            "spoilt by extremes",
            spoilt([1e308, 1e308, 1e-308, 1.0, f64::MAX]),
            false,
        ),
        (
            "spoilt upside down",
            spoilt([2.0, 1.0, 3.0, 2.0, 1.0]),
            false,
        ),
    ];
    for (name, rows, empty) in cases {
        let (_folder, api) = api(&rows);
        for query in ["", "?explain=true", "?timeframe=1w"] {
            let answer = patterns(&api, query);
            let text = answer.to_string();
            let plain = text
                .replace("\"breakoutIndex\":null", "")
                .replace("\"rewardRisk\":null", "")
                .replace("\"direction\":null", "");
            assert!(!plain.contains("null"), "{name}: {text}");
            if empty {
                assert_eq!(
                    answer["patterns"].as_array().map(Vec::len),
                    Some(0),
                    "{name}"
                );
                assert_eq!(answer["recommendedAction"], "hold", "{name}");
            }
        }
    }
}

#[test]
fn lists_of_tokens_carry_the_best_pattern_and_the_advice() {
    let (_folder, api) = api(&shapes(&["double_bottom"]));
    let (status, list) = ask(
        &api,
        "/tokens?fields=best_pattern,recommendedAction&sort=symbol",
    );
    assert_eq!(status, 200, "{list}");
    let (uni, weth) = (&list["tokens"][0], &list["tokens"][1]);
    let answer = patterns(&api, "");
    assert!(
        answer["patterns"]
            .as_array()
            .unwrap()
            .contains(&uni["best_pattern"]),
        "{uni}"
    );
    assert_eq!(uni["recommendedAction"], answer["recommendedAction"]);
    assert!(uni.get("trend").is_none() && uni.get("securityScore").is_none());
    assert!(
        weth["best_pattern"].is_null()
            && weth["recommendedAction"].is_null()
            && weth.get("best_pattern").is_some()
    );
}
