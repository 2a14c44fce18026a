//! Which services are asked, and who gets a key: only with consent, only as the person said, and no more often than allowed.

use tokendeck_load::live::hosts_without_consent;
use wire::SourceKind;

use super::*;

#[test]
fn nothing_is_asked_without_consent_and_a_dataset_reaches_no_private_address() {
    let service = Service::new(market(20_000));
    for consent in [Consent::Ask, Consent::Never] {
        let setup = Setup {
            wire: wire(consent, Vec::new()),
            ..Setup::new(&service, CANDLES)
        };
        assert!(setup.failure().contains("is blocked"), "{consent:?}");
    }
    let mut setup = Setup::new(&service, CANDLES);
    setup.providers.insert(
        "market".to_owned(),
        provider("market", MARKET, &service.url, ProviderOrigin::Dataset),
    );
    assert!(
        setup
            .failure()
            .contains("has a private address (this machine or its network)")
    );
    assert_eq!(service.asked(), Vec::<String>::new());
    // Nor does it get the address or the key that the person set for a provider of that name.
    let own = Source {
        name: "market".into(),
        kind: SourceKind::Provider,
        url: service.url.clone(),
        token_env: "CARGO_PKG_NAME".into(),
        ..Source::default()
    };
    setup.wire = wire(Consent::Always, vec![own.clone()]);
    assert!(
        setup
            .failure()
            .contains("has a private address (this machine or its network)")
    );
    assert_eq!(service.asked(), Vec::<String>::new());
    // One of the person's own does.
    setup.providers.insert(
        "market".to_owned(),
        provider(
            "market",
            MARKET,
            "https://far.example.org",
            ProviderOrigin::Own,
        ),
    );
    assert_eq!(setup.refresh().failures().next(), None);
}

#[test]
fn a_table_waits_for_consent_to_its_own_hosts_alone() {
    let (service, other) = (Service::new(market(20_000)), Service::new(market(20_000)));
    let mut setup = Setup::new(
        &service,
        "[tables.pools]\nprovider = 'market'\n[tables.yields]\nprovider = 'other'\n",
    );
    setup.wire = wire(Consent::Ask, Vec::new());
    setup.providers.insert(
        "other".to_owned(),
        provider("other", MARKET, &other.url, ProviderOrigin::Own),
    );
    let open =
        |setup: &Setup, table: &str| setup.with(|context| hosts_without_consent(context, table));
    assert_eq!(
        (open(&setup, "pools"), open(&setup, "yields")),
        (vec![service.url.clone()], vec![other.url.clone()])
    );
    setup
        .wire
        .agree(setup.folder.path(), &other.url)
        .expect("noted");
    assert_eq!(
        (open(&setup, "pools"), open(&setup, "yields")),
        (vec![service.url.clone()], Vec::new())
    );
}

#[test]
fn a_key_goes_to_its_service_and_nowhere_else() {
    let service = Service::new(market(20_000));
    let text = MARKET.replace("per_minute", "key = { query = 'apikey' }\nper_minute");
    let mut setup = Setup::new(&service, CANDLES);
    setup.providers.insert(
        "market".to_owned(),
        provider("market", &text, &service.url, ProviderOrigin::Own),
    );
    assert!(
        setup
            .failure()
            .contains("requires a key; put it into an environment variable")
    );
    // A variable that is set wherever tests run.
    let own = |variable: &str| Source {
        name: "market".into(),
        kind: SourceKind::Provider,
        token_env: variable.into(),
        ..Source::default()
    };
    setup.wire = wire(Consent::Always, vec![own("TOKENDECK_NO_SUCH_KEY")]);
    assert!(
        setup
            .failure()
            .contains("needs a key from the variable `TOKENDECK_NO_SUCH_KEY`, which is not set")
    );
    setup.wire = wire(Consent::Always, vec![own("CARGO_PKG_NAME")]);
    let report = setup.refresh();
    assert_eq!(report.failures().next(), None);
    assert!(
        service
            .asked()
            .iter()
            .all(|target| target.contains("apikey=tokendeck-load"))
    );
    let mut kept = String::new();
    for file in ["refresh.json", "asked.json", "pools.parquet"] {
        kept.push_str(&String::from_utf8_lossy(
            &fs::read(setup.folder.path().join("live").join(file)).expect("a file"),
        ));
    }
    assert!(!kept.contains("tokendeck-load") && !format!("{report:?}").contains("tokendeck-load"));
}

#[test]
fn a_provider_gets_no_more_requests_than_its_day_allows() {
    let service = Service::new(market(20_000));
    let mut setup = Setup::new(&service, CANDLES);
    let described = MARKET.replace("per_minute", "per_day = 3\nper_minute");
    setup.providers = [(
        "market".to_owned(),
        provider("market", &described, &service.url, ProviderOrigin::Own),
    )]
    .into();
    let failure = setup.failure();
    assert!(
        failure.contains("has reached its limit of 3 requests for today (UTC)"),
        "{failure}"
    );
    assert_eq!(service.asked().len(), 3);
    assert_eq!(setup.candles().len(), 200, "the pages that came are kept");
}

#[test]
fn a_url_of_the_dataset_is_a_source() {
    let service = Service::new(|request| {
        assert!(
            request.target.starts_with("/posts?of=0xaaaa"),
            "{}",
            request.target
        );
        ServiceReply::ok(r#"[{"id":5,"headline":"hello","when":"2024-01-01T00:00:00Z"}]"#)
    });
    let manifest = format!(
        "[tables.posts]\nurl = '{}/posts?of={{token}}'\ncolumns = {{ post_id = 'id', title = 'headline', published_at = 'when' }}\n",
        service.url
    );
    let mut setup = Setup::new(&service, &manifest);
    assert!(
        setup.failure().contains("private"),
        "a dataset's URL reaches no private address"
    );
    let own = Source {
        name: "feed".into(),
        kind: SourceKind::Https,
        url: service.url.clone(),
        token_env: "CARGO_PKG_NAME".into(),
        ..Source::default()
    };
    setup.wire = wire(Consent::Always, vec![own]);
    assert_eq!(setup.refresh().failures().next(), None);
    let posts = setup
        .dataset()
        .posts_of(&Address::parse(TOKEN).expect("an address"))
        .len();
    assert_eq!(posts, 1);
    let requests = service.requests.lock().expect("no panic");
    assert!(
        requests[0]
            .head
            .contains("authorization: bearer tokendeck-load"),
        "{requests:?}"
    );
}
