//! Rehearsed alerts: what a condition did on each day of the past is what the dataset as of that day says of it.

use std::{collections::BTreeSet, fs, sync::Arc};

use api::{Api, ApiOptions, answer_offline, keys::Keys};
use load::loader::load;
use model::{
    address::Address,
    progress::{NoProgress, Progress},
    time::{DAY_MS, Day, Time},
};
use query::{
    queries::{
        Query as _,
        alert_body::AlertBody,
        rehearsal::{Rehearsal, RehearsalQuery},
        tokens::condition::{ConditionMatch, MatchedTokens},
        view::View,
    },
    service::{QueryService, ServiceOptions},
};
use serde_json::{Value, json};

use crate::demo::market;

const DAYS: u64 = 12;

/// Conditions of every kind of column that is rehearsed, some of which depend on missing values.
const CONDITIONS: &[&str] = &[
    "price>1",
    "24h<-2",
    "7d>3 or 30d<-10",
    "1h>0.2",
    "vol>1m",
    "cap>10m",
    "holders>10000 growth>0",
    "rsi<45",
    "52w<-20",
    "trend:uptrend",
    "pattern:bull_flag or pattern:rectangle",
    "signal=buy price>0.5",
    "age<300d 24h>0",
    "symbol:a",
    "rating>1 or price<2",
];

fn service(folder: &std::path::Path) -> Arc<QueryService> {
    let service = QueryService::new(
        folder,
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.publish(load(folder, &NoProgress).unwrap());
    service
}

fn rehearsed(service: &QueryService, condition: &str, days: u64) -> Rehearsal {
    let alert = AlertBody {
        token_address: None,
        condition: condition.to_owned(),
    };
    RehearsalQuery { alert, days }
        .answer(
            &View::new(&service.snapshot().unwrap()),
            &Progress::default(),
        )
        .unwrap_or_else(|problem| panic!("{condition}: {problem}"))
}

#[test]
fn each_day_is_judged_as_the_dataset_as_of_that_day() {
    let (_kept, folder) = market();
    // A column of one's own, figures with a date, and figures of today.
    let extra = |line: (usize, &str)| {
        format!(
            "{},{}\n",
            line.1,
            if line.0 == 0 {
                "rating".to_owned()
            } else {
                (line.0 % 3).to_string()
            }
        )
    };
    let tokens = fs::read_to_string(folder.join("tokens.csv")).unwrap();
    fs::write(
        folder.join("tokens.csv"),
        tokens.lines().enumerate().map(extra).collect::<String>(),
    )
    .unwrap();
    let service = service(&folder);
    let last = rehearsed(&service, "price>0", DAYS).to.expect("days");
    let days: Vec<Day> = (last.0 + 1 - DAYS as i32..=last.0).map(Day).collect();
    let past: Vec<Arc<QueryService>> = days
        .iter()
        .map(|day| service.as_of(Time(day.start().0 + DAY_MS - 1_000)).unwrap())
        .collect();
    let mut fired_at_all = 0;
    for condition in CONDITIONS {
        let wanted = ConditionMatch {
            condition: (*condition).to_owned(),
            token: None,
            relaxed: false,
        };
        let matched: Vec<MatchedTokens> = past
            .iter()
            .map(|service| {
                service
                    .find_in(&service.snapshot().unwrap(), &wanted, &Progress::default())
                    .unwrap()
            })
            .collect();
        let sum = |of: fn(&MatchedTokens) -> usize| matched.iter().map(of).sum::<usize>() as u64;
        let mut expected = BTreeSet::new();
        for token in service.snapshot().unwrap().dataset.tokens() {
            let address = token.row.token_address;
            let mut held = matched[0].holds.contains(&address);
            for (day, matched) in days.iter().zip(&matched).skip(1) {
                let holds = matched.holds.contains(&address);
                if holds && !held {
                    expected.insert((*day, address));
                }
                held = if matched.unknown.contains(&address) {
                    held
                } else {
                    holds
                };
            }
        }
        let found = rehearsed(&service, condition, DAYS);
        let ([(header, outcomes), (_, firings)], happened) = (
            found.tables(),
            found.outcomes.iter().filter(|outcome| outcome.count > 0),
        );
        assert!(
            outcomes.len() == happened.count()
                && outcomes.iter().all(|row| row.len() == header.len()),
            "{outcomes:?}"
        );
        assert_eq!(firings.len(), found.firings.len());
        let fired: BTreeSet<(Day, Address)> = found
            .firings
            .iter()
            .map(|firing| (firing.date, firing.token_address))
            .collect();
        assert_eq!(fired, expected, "{condition}");
        let counts = (found.held_days, found.unknown_days, found.fired);
        assert_eq!(
            counts,
            (
                sum(|day| day.holds.len()),
                sum(|day| day.unknown.len()),
                expected.len() as u64
            ),
            "{condition}"
        );
        fired_at_all += usize::from(found.fired > 0);
    }
    assert!(fired_at_all >= 8, "{fired_at_all} conditions fired");
    assert_eq!(
        rehearsed(&service, "rating>1 liq>5", DAYS).as_of_unknown,
        ["pools", "tokens"]
    );
}

#[test]
fn an_alert_is_rehearsed_over_http_and_refused_with_the_member_that_is_wrong() {
    let (_kept, folder) = market();
    let api = Api::new(
        service(&folder),
        None,
        Arc::new(Keys::in_memory().unwrap()),
        ApiOptions::default(),
    );
    let ask = |query: &str, body: Value| {
        let reply = answer_offline(
            &api,
            "POST",
            &format!("/alerts/rehearse{query}"),
            body.to_string().as_bytes(),
        );
        (
            reply.status,
            serde_json::from_slice::<Value>(&reply.body).unwrap(),
        )
    };
    let (status, all) = ask("", json!({ "condition": "24h<-2" }));
    assert_eq!(
        (status, &all["days"], &all["outcomes"][2]["days"]),
        (200, &json!(200), &json!(30)),
        "{all}"
    );
    let token = &all["firings"][0]["token_address"];
    let (_, one) = ask(
        "?days=30",
        json!({ "condition": "24h<-2", "token_address": token }),
    );
    assert_eq!(
        (&one["tokens"], &one["days"], &one["firings"][0]),
        (&json!(1), &json!(30), &all["firings"][0])
    );
    // As of an earlier day the days end there, and what came after is not known.
    let date = all["firings"][0]["date"].as_str().unwrap();
    let (_, then) = ask(
        &format!("?as_of={date}"),
        json!({ "condition": "24h<-2", "token_address": token }),
    );
    assert_eq!(
        (
            then["to"].as_str(),
            &then["firings"][0]["date"],
            &then["firings"][0]["change_after_1d"]
        ),
        (Some(date), &json!(date), &Value::Null)
    );
    for (query, body, status, says) in [
        (
            "",
            json!({ "condition": "pric>2" }),
            422,
            "did you mean `price`?",
        ),
        ("", json!({ "condition": "" }), 422, "`condition` is empty"),
        (
            "",
            json!({ "condition": "price>2", "x": 1 }),
            422,
            "`/x`: unknown field",
        ),
        (
            "",
            json!({ "condition": "score<40" }),
            422,
            "`securityScore` cannot be backtested",
        ),
        (
            "",
            json!({ "condition": "advice:watch" }),
            422,
            "`advice` cannot be backtested",
        ),
        (
            "",
            json!({ "condition": "price>2", "token_address": format!("0x{:040}", 9) }),
            422,
            "`/token_address`: No token",
        ),
        ("?days=1", json!({ "condition": "price>2" }), 400, "`days`"),
        ("", json!([]), 422, "expected an object"),
    ] {
        let (found, problem) = ask(query, body.clone());
        assert!(
            found == status
                && problem["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.contains(says)),
            "{body}: {found} {problem}"
        );
    }
}
