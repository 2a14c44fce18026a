//! A day of refreshes from a service that fails now and then.

use super::*;

/// The minute candles of a market that moves: what a fetch at that time sees, the last one forming.
fn minute(time: i64, now: i64) -> f64 {
    let forming = if time / 60 == now / 60 { 0.5 } else { 0.0 };
    10.0 + ((time / 60) % 97) as f64 + forming
}

#[test]
fn a_day_of_refreshes_with_faults_and_a_dead_network_gives_the_rows_of_the_market() {
    let clock = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let (time, mut number) = (Arc::clone(&clock), 0u32);
    let service = Service::new(move |request| {
        if request.target.contains("/pools") {
            return pools();
        }
        number += 1;
        let now = time.load(Ordering::Relaxed);
        let end = request
            .target
            .split("before=")
            .nth(1)
            .map_or(now / 60 * 60 + 60, |before| {
                before.parse().expect("a number")
            });
        let rows: Vec<String> = (1..=120)
            .map(|back| end - back * 60)
            .map(|at| format!("[{at},{c},{c},{c},{c},1]", c = minute(at, now)))
            .collect();
        let reply = ServiceReply::ok(format!(r#"{{"data":{{"list":[{}]}}}}"#, rows.join(",")));
        match number % 13 {
            3 => ServiceReply::status(502),
            7 => reply.but(Trouble::CutOff),
            // For hours nobody answers.
            _ if (60..100).contains(&number) => ServiceReply::status(503),
            _ => reply,
        }
    });
    let manifest = CANDLES
        .replace("250d", "1d")
        .replace("[tables.pools]", "interval = '1m'\n[tables.pools]");
    let mut setup = Setup::new(&service, &manifest);
    let start = NOW.0 / 60_000 * 60_000;
    for step in 0..96 {
        setup.now = Time(start + step * 900_000);
        clock.store(setup.now.0 / 1_000, Ordering::Relaxed);
        setup.refresh();
    }
    service.now(market(20_000));
    let dataset = setup.dataset();
    let ChartCandles::Here(series) = dataset
        .candles()
        .of(&Address::parse(TOKEN).expect("an address"))
    else {
        panic!("they are here")
    };
    let (_, candles) = series[0];
    let last = setup.now.0 / 60_000 * 60_000;
    let minutes = (last - (start - DAY_MS)) / 60_000;
    let times = (0..=minutes).map(|back| last - back * 60_000);
    let expected: Vec<(i64, f64)> = times
        .map(|at| (at, minute(at / 1_000, setup.now.0 / 1_000)))
        .collect();
    let got: Vec<(i64, f64)> = candles
        .timestamp
        .iter()
        .zip(candles.close)
        .map(|(at, close)| (*at, *close))
        .rev()
        .take(expected.len())
        .collect();
    assert_eq!(
        got, expected,
        "every minute of two days is there, and none twice"
    );
    let files = fs::read_dir(setup.folder.path().join("live/candles"))
        .expect("a folder")
        .count();
    assert!(files < 20, "{files} parts");
}
