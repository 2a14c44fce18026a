//! Alerts under failures: of the store, of a listener that lags behind the events, of a process with stale data.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use api::{Api, ApiOptions, keys::Keys};
use model::{error::Code, progress::Progress};
use query::{
    jobs::{AlertCursor, JobOptions, Jobs},
    service::{QueryService, ServiceEvent, ServiceOptions},
};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{A, Bench, ROUND, delivered, request, write};
use crate::wait::{stays, wait_for, wait_until};

#[test]
fn a_store_that_fails_loses_nothing_and_fires_nothing_twice() {
    let bench = Bench::new(&[(A, "A", 10.0)]);
    let mut events = bench.service.listen();
    let id = bench
        .jobs
        .add_alert(&request(None, "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    // The check's transaction fails halfway.
    let beside = rusqlite::Connection::open(bench.state.path().join("jobs.sqlite")).unwrap();
    let fail = |table: &str| {
        format!(
            "CREATE TRIGGER no_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        )
    };
    beside
        .execute_batch(&format!("{};{}", fail("fired"), fail("alert")))
        .unwrap();
    write(bench.data.path(), &[(A, "A", 30.0)]);
    bench.service.load().unwrap();
    let said = wait_for("it is said", || match events.try_recv() {
        Ok(ServiceEvent::Notice(said)) => Some(said),
        _ => None,
    });
    assert_eq!(
        said,
        "cannot check alerts: The job store is unavailable; check that its disk has free space and is writable, then retry."
    );
    // The previous check remains valid and readable.
    assert_eq!(
        (
            bench.alert(&id).holds,
            bench.alert(&id).fired,
            bench.list().fired.len()
        ),
        (0, 0, 0)
    );
    let refused = bench
        .jobs
        .add_alert(&request(None, "price>5"), &Progress::default())
        .unwrap_err();
    assert!(
        refused.code == Code::Busy && refused.detail.contains("its disk has free space"),
        "{refused:?}"
    );
    assert_eq!(bench.list().alerts.len(), 1);
    beside
        .execute_batch("DROP TRIGGER no_fired; DROP TRIGGER no_alert")
        .unwrap();
    wait_until("it fires", || bench.alert(&id).fired == 1);
    wait_until("it is told", || {
        events.try_recv() == Ok(ServiceEvent::AlertsFired)
    });
    stays("it fired once", ROUND, || {
        (bench.alert(&id).holds, bench.list().fired.len()) == (1, 1)
    });
    assert_eq!(
        delivered(&bench.jobs, &mut AlertCursor::default()),
        ["A: price>20"]
    );
}

#[test]
fn a_program_with_outdated_data_does_not_check_alerts() {
    let bench = Bench::new(&[(A, "A", 10.0)]);
    let id = bench
        .jobs
        .add_alert(&request(None, "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    write(bench.data.path(), &[(A, "A", 11.0)]);
    let late = QueryService::new(
        bench.data.path(),
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    late.load().unwrap();
    assert_eq!(bench.load(&[(A, "A", 30.0)], &id).fired, 1);
    // Its first check comes only now, on the old data.
    let jobs = Jobs::open(bench.state.path(), Arc::clone(&late), JobOptions::default()).unwrap();
    let once = || (bench.alert(&id).holds, bench.alert(&id).fired) == (1, 1);
    stays("what was true before changes nothing", ROUND, once);
    late.load().unwrap();
    stays("it fired once", ROUND, once);
    // Once its data are current, it checks alerts like the other.
    write(bench.data.path(), &[(A, "A", 12.0)]);
    late.load().unwrap();
    wait_until("it is looked at", || bench.alert(&id).holds == 0);
    drop(jobs);
}

/// Reads `alert.fired` events in order, until `count` have come and the reload is announced; signals its start.
fn follow(address: SocketAddr, key: &str, count: usize, begun: oneshot::Sender<()>) -> Vec<u64> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(
        stream,
        "GET /events HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key}\r\n\r\n"
    )
    .unwrap();
    let (mut ids, mut kind, mut after) = (Vec::new(), String::new(), false);
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "HTTP/1.1 200 OK");
    begun.send(()).unwrap();
    for line in lines {
        let line = line.unwrap();
        if let Some(name) = line.strip_prefix("event: ") {
            name.clone_into(&mut kind);
            after |= ids.len() >= count && name == "dataset.reloaded";
        } else if let (Some(data), "alert.fired") = (line.strip_prefix("data: "), kind.as_str()) {
            ids.push(
                serde_json::from_str::<Value>(data).unwrap()["fired_id"]
                    .as_u64()
                    .unwrap(),
            );
        }
        if after {
            return ids;
        }
    }
    panic!("the stream ended after {} of {count}", ids.len())
}

#[test]
fn firings_are_told_after_their_event_was_lost_in_a_lag() {
    const TOKENS: usize = 400;
    let tokens: Vec<String> = (1..=TOKENS).map(|i| format!("0x{i:040x}")).collect();
    let put = |folder: &std::path::Path, price: f64| {
        write(
            folder,
            &tokens
                .iter()
                .map(|address| (address.as_str(), "T", price))
                .collect::<Vec<_>>(),
        );
    };
    let bench = Bench::new(&[(A, "A", 10.0)]);
    put(bench.data.path(), 10.0);
    bench.service.load().unwrap();
    bench
        .jobs
        .add_alert(&request(None, "price>20"), &Progress::default())
        .unwrap();
    let keys = Keys::in_memory().unwrap();
    let key = keys.show().unwrap().reveal().to_owned();
    let api = Api::new(
        Arc::clone(&bench.service),
        Some(Arc::clone(&bench.jobs)),
        Arc::new(keys),
        ApiOptions::default(),
    );
    // All on one thread: the server receives no event until this test waits.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ids = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(api::serve(listener, api, std::future::pending()));
        let (begun, begins) = oneshot::channel();
        let following = tokio::task::spawn_blocking(move || follow(address, &key, TOKENS, begun));
        begins.await.unwrap();
        let mut events = bench.service.listen();
        put(bench.data.path(), 30.0);
        bench.service.load().unwrap();
        wait_until("they fire", || {
            events.try_recv() == Ok(ServiceEvent::AlertsFired)
        });
        for nth in 0..300 {
            bench.service.notify(ServiceEvent::Notice(format!("{nth}")));
        }
        following.await.unwrap()
    });
    assert_eq!(
        (ids.len(), ids.iter().collect::<BTreeSet<_>>().len()),
        (TOKENS, TOKENS),
        "each once"
    );
    assert!(ids.is_sorted());
}
