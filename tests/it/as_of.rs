//! Answers as of a time: what is later does not exist, whatever is asked. The truth is the same dataset with its files cut at that time.

use std::{fs, path::Path, sync::Arc};

use api::{Api, ApiOptions, answer_offline, keys::Keys};
use load::loader::load;
use model::{progress::NoProgress, time::Time};
use query::service::{QueryService, ServiceOptions};
use serde_json::Value;

const TOKENS: &str = "token_address,symbol,name,chain,decimals,price,price_as_of,market_cap,holders,stats_as_of
0x00000000000000000000000000000000000000a1,AAA,First,eth,18,2,2026-03-01T00:00:00Z,1000,50,2026-03-01T00:00:00Z
0x00000000000000000000000000000000000000a2,BBB,Second,eth,18,3,2026-01-10T00:00:00Z,2000,60,2026-01-10T00:00:00Z
0x00000000000000000000000000000000000000a3,CCC,Third,eth,18,4,,3000,70,
";
const FIRST: &str = "0x00000000000000000000000000000000000000a1";
/// The day up to which everything is known.
const DAY: &str = "2026-01-31";

/// A day's number from 2026-01-01 as a date.
fn date(day: usize) -> String {
    Time(Time(1_767_225_600_000).0 + day as i64 * 86_400_000).to_string()[..10].to_owned()
}

/// Rows of the days, those of later left out with `cut`.
fn rows(days: usize, cut: bool, row: impl Fn(usize, &str) -> Option<String>) -> String {
    (0..days)
        .filter(|day| !cut || date(*day).as_str() <= DAY)
        .filter_map(|day| row(day, &date(day)))
        .collect()
}

/// A dataset of 60 days from 2026-01-01; cut at the day's end, with the figures of the tokens that are later taken out.
fn write(folder: &Path, cut: bool) {
    let put = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let tokens = if cut {
        TOKENS
            .replace(
                ",2,2026-03-01T00:00:00Z,1000,50,2026-03-01T00:00:00Z",
                ",,,,,",
            )
            .replace(",4,,3000,70,", ",,,,,")
    } else {
        TOKENS.to_owned()
    };
    put("tokens.csv", tokens);
    let mut candles = "token_address,interval,timestamp,open,high,low,close,volume\n".to_owned();
    for (token, digit) in [
        (FIRST, 1.0),
        ("0x00000000000000000000000000000000000000a2", 2.0),
    ] {
        candles += &rows(60, cut, |day, date| {
            let price = digit + (day as f64 * 0.7).sin() * 0.3 + day as f64 * 0.01;
            Some(format!(
                "{token},1d,{date}T00:00:00Z,{price},{},{},{},{}\n",
                price * 1.05,
                price * 0.94,
                price * 1.01,
                1000 + day
            ))
        });
        // A week's candle is known once the week is over: that of 2026-01-26 ends on 2026-02-02.
        candles += &rows(60, cut, |day, date| {
            let known = !cut || day + 7 <= 31;
            (day % 7 == 4 && known).then(|| {
                format!(
                    "{token},1w,{date}T00:00:00Z,{digit},{},{},{digit},7000\n",
                    digit * 2.0,
                    digit / 2.0
                )
            })
        });
    }
    put("candles.csv", candles);
    let posts = rows(60, cut, |day, date| {
        Some(format!(
            "{{\"post_id\":\"p{day}\",\"token_address\":\"{FIRST}\",\"title\":\"post {day}\",\"published_at\":\"{date}T10:00:00Z\",\"impressions\":{day}}}\n"
        ))
    });
    put("posts.ndjson", posts);
    put(
        "holder_counts.csv",
        "token_address,date,holders\n".to_owned()
            + &rows(60, cut, |day, date| {
                Some(format!("{FIRST},{date},{}\n", 100 + day * day))
            }),
    );
    put(
        "transfers.csv",
        "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index\n".to_owned()
            + &rows(60, cut, |day, date| {
                Some(format!(
                    "{FIRST},{date}T12:00:00Z,{},0x{day:064x},0x{:040x},0x{:040x},{day}000000000000000000,1\n",
                    100 + day,
                    day,
                    day + 1
                ))
            }),
    );
}

fn service(folder: &Path) -> Arc<Api> {
    let service = QueryService::new(
        folder,
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.publish(load(folder, &NoProgress).unwrap());
    Api::new(
        service,
        None,
        Arc::new(Keys::in_memory().unwrap()),
        ApiOptions::default(),
    )
}

/// The answer without what tells one dataset from another.
fn answer(api: &Arc<Api>, target: &str) -> Value {
    let reply = answer_offline(api, "GET", target, &[]);
    let mut body: Value = serde_json::from_slice(&reply.body)
        .unwrap_or_else(|_| panic!("{target}: {} {:?}", reply.status, reply.body));
    if let Some(object) = body.as_object_mut() {
        object.remove("requestId");
        object.remove("instance");
    }
    body
}

#[test]
fn every_answer_is_that_of_the_files_cut_at_the_day() {
    let (whole, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(whole.path(), false);
    write(cut.path(), true);
    let (now, then) = (service(whole.path()), service(cut.path()));
    let mut differ_from_today = 0;
    for target in [
        "/tokens?limit=10",
        "/tokens?limit=10&fields=trend,pattern,rsi14,from_high,age,holders,holders_growth",
        "/tokens?where=price>1.1&sort=-price_change_7d",
        &format!("/tokens/{FIRST}?explain=true"),
        &format!("/technical/{FIRST}/trendline?explain=true"),
        &format!("/technical/{FIRST}/patterns?explain=true"),
        &format!("/technical/{FIRST}/indicators?indicators=sma(5),rsi(14)"),
        &format!("/tokens/{FIRST}/candles?timeframe=1d"),
        &format!("/tokens/{FIRST}/candles?timeframe=1w"),
        &format!("/tokens/{FIRST}/posts"),
        &format!("/tokens/{FIRST}/holder-counts"),
        "/compare?addresses=0x00000000000000000000000000000000000000a1,0x00000000000000000000000000000000000000a2&period=7d",
        &format!("/tokens/{FIRST}/holders?flows=true"),
        "/tables/transfers?by=token_address&agg=count,max:timestamp,sum:value",
        &format!("/security/{FIRST}?explain=true"),
        "/analytics/tokens/holders-growth?explain=true",
        "/tables/candles?limit=500",
        "/tables/transfers?limit=500",
        "/tables/posts/describe",
        "/tables/holder_counts/counts?column=holders",
    ] {
        let joint = if target.contains('?') { '&' } else { '?' };
        let as_of = answer(&now, &format!("{target}{joint}as_of={DAY}"));
        // Of a table that is still there cursors and counts are those of the cut one.
        assert_eq!(
            strip(as_of.clone()),
            strip(answer(&then, target)),
            "{target}"
        );
        differ_from_today += usize::from(as_of != answer(&now, target));
    }
    assert!(
        differ_from_today >= 10,
        "{differ_from_today} answers of then differ from today's"
    );
}

/// Without cursors, which name the dataset, and what is said of the past alone.
fn strip(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|name, _| !["cursor", "next", "asOfUnknown"].contains(&name.as_str()));
    }
    value
}

#[test]
fn a_day_before_the_data_is_refused_with_the_first_day() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), false);
    // What is there before the market was written down does not count.
    fs::write(
        folder.path().join("contracts.csv"),
        format!("address,chain,created_at\n{FIRST},eth,2020-05-05\n"),
    )
    .unwrap();
    let api = service(folder.path());
    for (day, status) in [
        ("2019-12-31", 400),
        ("2025-12-31", 400),
        ("2026-01-01T09:59:59Z", 400),
        ("2026-01-01T10:00:00Z", 200),
        ("2026-01-01", 200),
    ] {
        for target in [
            "/tokens",
            "/dexes",
            "/datasets",
            &format!("/tokens/{FIRST}/candles?timeframe=1d"),
        ] {
            let joint = if target.contains('?') { '&' } else { '?' };
            let reply = answer_offline(&api, "GET", &format!("{target}{joint}as_of={day}"), &[]);
            // On the first day there are posts, and no candle has ended in its first hours.
            let is_answered = status == 200 || reply.status == 400;
            assert!(is_answered, "{target} {day}: {}", reply.status);
            if status == 400 {
                let body: Value = serde_json::from_slice(&reply.body).unwrap();
                let says = "The data starts on 2026-01-01. Choose that day or later.";
                assert_eq!(
                    (body["code"].as_str(), body["detail"].as_str()),
                    (Some("invalid_parameter"), Some(says)),
                    "{body}"
                );
            } else {
                assert!(
                    reply.status < 500 && reply.status != 400,
                    "{target} {day}: {}",
                    reply.status
                );
            }
        }
    }
}

#[test]
fn an_explained_answer_names_the_tables_that_are_of_today() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), false);
    fs::write(
        folder.path().join("holders.csv"),
        format!(
            "token_address,holder_address,balance\n{FIRST},0x{:040x},5\n",
            7
        ),
    )
    .unwrap();
    let api = service(folder.path());
    let unknown = |target: &str| answer(&api, target).get("asOfUnknown").cloned();
    let patterns = format!("/technical/{FIRST}/patterns");
    assert_eq!(
        unknown(&format!("{patterns}?explain=true&as_of={DAY}")),
        Some(serde_json::json!(["posts", "holders"]))
    );
    for target in [
        "?explain=false&as_of=2026-01-31",
        "?as_of=2026-01-31",
        "?explain=true",
    ] {
        assert_eq!(unknown(&format!("{patterns}{target}")), None, "{target}");
    }
}

#[test]
fn a_time_that_is_none_and_an_endpoint_of_the_present_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), false);
    let api = service(folder.path());
    for (target, says) in [
        (
            "/tokens?as_of=yesterday",
            "`as_of` is `yesterday`; expected a day such as 2026-08-14, or a time such as 2026-08-14T09:30:00Z.",
        ),
        (
            "/tokens?as%5Fof=yesterday",
            "`as_of` is `yesterday`; expected a day such as 2026-08-14, or a time such as 2026-08-14T09:30:00Z.",
        ),
        (
            "/tokens?as_of=9999-01-31",
            "`as_of` is in the future; expected a past day or time.",
        ),
        (
            "/tokens?as_of=2026-01-31&strict=true&nosuch=1",
            "Unknown parameter `nosuch`; this endpoint accepts ",
        ),
        (
            "/metrics?as_of=2026-01-31",
            "`as_of` is not available here: GET /metrics always uses current data.",
        ),
    ] {
        let body = answer(&api, target);
        let detail = body["detail"].as_str().unwrap_or_default();
        assert!(
            body["status"] == 400 && detail.starts_with(says),
            "{target}: {body}"
        );
    }
    assert_eq!(
        answer(&api, "/tokens?limit=2&as_of=2026-01-31&strict=true")["limit"],
        2
    );
    assert_eq!(
        answer(&api, "/tokens?limit=2&strict=true&fields=price_as_of")["limit"],
        2
    );
    // A day counts to its end, a time to itself.
    let posts = |as_of: &str| {
        answer(&api, &format!("/tokens/{FIRST}/posts?as_of={as_of}"))["total"].clone()
    };
    assert_eq!(
        (
            posts("2026-01-05"),
            posts("2026-01-05T10:00:00Z"),
            posts("2026-01-05T09:59:59Z")
        ),
        (5.into(), 5.into(), 4.into())
    );
    let candles = |as_of: &str| answer(&api, &format!("/tokens/{FIRST}/candles?as_of={as_of}"));
    assert_eq!(
        candles("2026-01-05"),
        candles("2026-01-05T23:59:59Z"),
        "links to other pages have the time so"
    );
    assert_ne!(
        candles("2026-01-05"),
        candles("2026-01-05T23:59:58Z"),
        "a candle is known once it has ended"
    );
    let datasets = answer(&api, "/datasets?as_of=2026-01-31");
    assert_eq!(datasets["as_of"], "2026-01-31T23:59:59Z");
    assert_eq!(
        datasets["as_of_unknown"],
        serde_json::json!(["posts"]),
        "how often a post was seen is of today"
    );
    assert_eq!(answer(&api, "/datasets")["as_of"], Value::Null);
}
