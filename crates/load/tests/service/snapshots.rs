//! Lists without a time: the newest state is the table, and its changes are stored as a history.

use std::fs;

use super::{
    NOW, Setup, TOKEN,
    server::{Service, ServiceReply},
};
use model::time::{DAY_MS, Time};

#[test]
fn a_list_is_the_newest_one_and_an_unchanged_one_is_not_sent_again() {
    let row = |pool: &str, apy: f64| {
        format!(
            r#"{{"pool":"{pool}","project":"p","chain":"Ethereum","symbol":"A","tvlUsd":1e6,"apyBase":{apy},"apyReward":null,"underlyingTokens":["{TOKEN}"]}}"#
        )
    };
    let list = |rows: &[String]| {
        ServiceReply::ok(format!(r#"{{"data":[{}]}}"#, rows.join(","))).with("etag", "\"one\"")
    };
    let first = list(&[row("a", 1.0), row("b", 2.0)]);
    let service = Service::new(move |_| first.clone());
    let mut setup = Setup::new(&service, "[tables.yields]\nprovider = 'market'\n");
    let pools = |setup: &Setup| setup.dataset().yields().len();
    assert_eq!(setup.refresh().tables[0].rows, 2);
    assert_eq!(pools(&setup), 2);
    service.now(|request| {
        if request.head.contains("if-none-match: \"one\"") {
            ServiceReply::status(304)
        } else {
            ServiceReply::status(500)
        }
    });
    setup.now = Time(NOW.0 + 1_000);
    assert_eq!(
        (setup.refresh().failures().next(), pools(&setup)),
        (None, 2)
    );
    let second = list(&[row("b", 3.0)]);
    service.now(move |_| second.clone());
    setup.now = Time(NOW.0 + 2_000);
    setup.refresh();
    assert_eq!(pools(&setup), 1, "a pool that is gone is gone");
    // As of a moment, what was seen by then: a pool that went later is there.
    let known = |at: i64| {
        setup
            .dataset()
            .known_at(Time(NOW.0 + at))
            .expect("cut")
            .yields()
            .iter()
            .map(|row| row.pool.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (known(1_000), known(2_000)),
        (vec!["a".to_owned(), "b".to_owned()], vec!["b".to_owned()])
    );
    assert!(
        setup
            .dataset()
            .known_at(Time(NOW.0 - 1_000))
            .is_err_and(|error| error.to_string().starts_with("The data starts on "))
    );
    let history = fs::read_dir(setup.folder.path().join("live/history/yields"))
        .expect("a folder")
        .count();
    assert_eq!(history, 2);
}

#[test]
fn what_a_pool_paid_is_known_by_day_and_the_last_of_a_day_holds() {
    let list = |apy: f64| {
        ServiceReply::ok(format!(
            r#"{{"data":[{{"pool":"a","project":"p","chain":"Ethereum","symbol":"A","tvlUsd":1e6,"apyBase":{apy},"apyReward":1,"underlyingTokens":["{TOKEN}"]}}]}}"#
        ))
    };
    let service = Service::new(move |_| list(0.0));
    let mut setup = Setup::new(&service, "[tables.yields]\nprovider = 'market'\n");
    for half_day in 0..80 {
        setup.now = Time(NOW.0 + (half_day - 1) * DAY_MS / 2);
        service.now(move |_| list(half_day as f64));
        assert_eq!(setup.refresh().failures().next(), None);
    }
    let dataset = setup.dataset();
    let days: Vec<f64> = dataset
        .yield_days_of("a")
        .iter()
        .map(|day| day.apy)
        .collect();
    assert_eq!(
        days,
        (0..40)
            .map(|day| f64::from(day * 2 + 2))
            .collect::<Vec<_>>(),
        "joined and thinned snapshots tell the same"
    );
    let history = setup.folder.path().join("live/history/yields");
    fs::write(history.join("000000000000001-000.parquet"), "PAR1").expect("written");
    let reasons: Vec<String> = setup
        .dataset()
        .table("yields")
        .expect("there")
        .findings
        .kept()
        .iter()
        .map(|finding| finding.reason.clone())
        .collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.starts_with("the yield history lacks this file")),
        "{reasons:?}"
    );
}
