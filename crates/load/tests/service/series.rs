//! A series has the candles of one market, and every gap in it is known.

use super::*;

#[test]
fn a_series_stays_that_of_the_provider_which_gave_it() {
    let (first, second) = (Service::new(market(20_000)), Service::new(market(20_050)));
    let mut setup = Setup::new(
        &first,
        &CANDLES.replace("provider = 'market'", "provider = ['market', 'second']"),
    );
    setup.providers.insert(
        "second".to_owned(),
        provider("second", MARKET, &second.url, ProviderOrigin::Own),
    );
    let hosts = setup.with(|context| hosts(context, &[]));
    assert!(
        hosts.contains_key(&second.url),
        "whoever may be asked is agreed to beforehand: {hosts:?}"
    );
    setup.refresh();
    let before = setup.candles();
    first.now(|_| ServiceReply::status(503));
    setup.now = Time(NOW.0 + DAY_MS);
    let report = setup.refresh();
    assert!(
        report
            .failures()
            .next()
            .is_some_and(|failure| failure.contains("busy or broken"))
    );
    assert_eq!(
        setup.candles(),
        before,
        "another market is not mixed in while the first one is away"
    );
    assert!(
        second
            .asked()
            .iter()
            .all(|target| target.contains("/pools"))
    );
}

#[test]
fn an_answer_without_rows_is_not_knowing_the_token() {
    let first = Service::new(|_| ServiceReply::ok(r#"{"data":[]}"#));
    let second = Service::new(market(20_000));
    let mut setup = Setup::new(&first, "[tables.pools]\nprovider = ['market', 'second']\n");
    setup.providers.insert(
        "second".to_owned(),
        provider("second", MARKET, &second.url, ProviderOrigin::Own),
    );
    let report = setup.refresh();
    assert_eq!((report.failures().next(), report.tables[0].rows), (None, 1));
    assert!(report.tables[0].providers.iter().eq(["second"]));
    first.now(|_| pools());
    setup.now = Time(NOW.0 + 1);
    assert!(setup.refresh().tables[0].providers.iter().eq(["market"]));
    let gave = RefreshState::read(setup.folder.path()).tables["pools"]
        .providers
        .clone();
    assert!(
        gave.iter().eq(["market", "second"]),
        "rows of both may be there, and the credit of both is due"
    );
}

#[test]
fn a_gap_after_a_failure_is_fetched_later() {
    let service = Service::new(market(20_000));
    let mut setup = Setup::new(&service, CANDLES);
    setup.refresh();
    // Half a year later the first page comes, and the next one does not.
    setup.now = Time(NOW.0 + 180 * DAY_MS);
    let mut all = market(20_180);
    service.now(move |request| {
        if request.target.contains("before=") {
            ServiceReply::status(403)
        } else {
            all(request)
        }
    });
    assert!(setup.refresh().failures().next().is_some());
    service.now(market(20_180));
    assert_eq!(setup.refresh().failures().next(), None);
    let days: Vec<i64> = setup
        .candles()
        .into_iter()
        .map(|(day, _)| day)
        .filter(|day| *day > 19_900)
        .collect();
    assert_eq!(
        days,
        (19_901..=20_180).collect::<Vec<_>>(),
        "no day is missing"
    );
}

#[test]
fn rows_that_were_taken_away_come_again_though_the_answer_is_the_same() {
    let service = Service::new(|request| {
        if request.head.contains("if-none-match") {
            ServiceReply::status(304)
        } else {
            pools().with("etag", "\"one\"")
        }
    });
    let setup = Setup::new(&service, "[tables.pools]\nprovider = 'market'\n");
    setup.refresh();
    fs::remove_file(setup.folder.path().join("live/pools.parquet")).expect("there");
    setup.refresh();
    assert_eq!(setup.dataset().pools().len(), 1);
}

#[test]
fn a_service_that_stays_away_is_not_asked_at_once_each_time() {
    let service = Service::new(|_| ServiceReply::status(503));
    let mut setup = Setup::new(&service, CANDLES);
    for minutes in [0, 20, 40] {
        setup.now = Time(NOW.0 + minutes * 60_000);
        assert!(setup.refresh().failures().next().is_some());
        let due = RefreshState::read(setup.folder.path()).due("candles", 300_000, setup.now);
        assert_eq!(
            due,
            Time(setup.now.0 + 300_000),
            "however long it has been failing"
        );
    }
}
