//! Fired alerts outside the program: a real command, and a webhook of a server on this machine.

use std::{
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use model::progress::Progress;
use query::{
    jobs::{AlertCommand, AlertRoutes, FIRED_ID_MAX, JobOptions, Jobs},
    service::ServiceEvent,
};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use wire::web::{WebhookSecret, WebhookUrl};

use super::{A, B, Bench, ROUND, request, write};
use crate::wait::{stays, wait_for, wait_until};

fn command(words: &[&str]) -> AlertRoutes {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    AlertRoutes {
        command: Some(AlertCommand::parse(&words).unwrap()),
        ..AlertRoutes::default()
    }
}

/// A command that writes its arguments into a file, one line a run.
fn writing(
    folder: &tempfile::TempDir,
    arguments: &[&str],
) -> (AlertRoutes, impl Fn() -> Vec<String> + use<>) {
    let (script, written) = (folder.path().join("tell.sh"), folder.path().join("told"));
    fs::write(
        &script,
        format!("(IFS='|'; echo \"$*\") >> '{}'\n", written.display()),
    )
    .unwrap();
    let words = [&["sh", script.to_str().unwrap()], arguments].concat();
    let lines = move || {
        fs::read_to_string(&written)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    };
    (command(&words), lines)
}

fn notice(events: &mut broadcast::Receiver<ServiceEvent>) -> String {
    wait_for("it is said", || match events.try_recv() {
        Ok(ServiceEvent::Notice(said)) => Some(said),
        _ => None,
    })
}

#[test]
fn a_command_is_told_once_by_one_of_several_programs() {
    let folder = tempfile::tempdir().unwrap();
    let (routes, lines) = writing(
        &folder,
        &[
            "{symbol}",
            "{token_address}",
            "{condition}",
            "it is {value}",
            "{name}",
        ],
    );
    let bench = Bench::telling(&[(A, "$(id)", 10.0), (B, "B", 10.0)], routes.clone());
    let options = JobOptions {
        alert_routes: routes,
        ..JobOptions::default()
    };
    let _other = Jobs::open(bench.state.path(), Arc::clone(&bench.service), options).unwrap();
    let id = bench
        .jobs
        .add_alert(&request(Some(A), "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    assert_eq!(
        bench.load(&[(A, "$(id)", 30.5), (B, "B", 30.0)], &id).fired,
        1
    );
    let once = [format!("$(id)|{A}|price>20|it is 30.5|$(id)")];
    wait_until("it is told", || lines() == once);
    stays("it is told once", 2 * ROUND, || lines() == once);
}

#[test]
fn a_command_that_fails_is_a_notice_once() {
    let bench = Bench::telling(
        &[(A, "A", 10.0), (B, "B", 10.0)],
        command(&["no-such-program-here", "{symbol}"]),
    );
    let mut events = bench.service.listen();
    let id = bench
        .jobs
        .add_alert(&request(None, "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    assert_eq!(bench.load(&[(A, "A", 30.0), (B, "B", 30.0)], &id).fired, 2);
    assert_eq!(
        notice(&mut events),
        "`alerts.command`: `no-such-program-here` was not found; set its full path"
    );
    stays("it is said once", Duration::from_secs(2), || {
        !matches!(events.try_recv(), Ok(ServiceEvent::Notice(_)))
    });
}

#[test]
fn of_a_hundred_alerts_at_once_few_are_told_and_the_rest_is_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let (routes, lines) = writing(&folder, &["{symbol}"]);
    let addresses: Vec<String> = (1..=100).map(|i| format!("0x{i:040x}")).collect();
    let prices = |price: f64| {
        addresses
            .iter()
            .map(|address| (address.as_str(), "T", price))
            .collect::<Vec<_>>()
    };
    let bench = Bench::telling(&prices(10.0), routes);
    let mut events = bench.service.listen();
    bench
        .jobs
        .add_alert(&request(None, "price>20"), &Progress::default())
        .unwrap();
    let begun = Instant::now();
    write(bench.data.path(), &prices(30.0));
    bench.service.load().unwrap();
    let said = notice(&mut events);
    assert_eq!(
        said,
        "`alerts.command`: `sh` receives at most 20 alerts per minute; 80 fired alerts were not sent, see the list of alerts"
    );
    let told = lines().len();
    assert!(
        told as u64 <= begun.elapsed().as_secs() + 1 && told < 20,
        "{told}"
    );
    assert_eq!(
        bench.jobs.alerts(1_000, FIRED_ID_MAX).unwrap().fired.len(),
        100,
        "all are in the list"
    );
}

/// A server that answers its requests with these heads, and tells their first lines, followed by those of a signature, and bodies.
fn server(heads: &'static [&'static str]) -> (AlertRoutes, String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    thread::spawn(move || {
        for head in heads {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut first, mut length) = (String::new(), 0);
            reader.read_line(&mut first).unwrap();
            for line in reader
                .by_ref()
                .lines()
                .map(Result::unwrap)
                .take_while(|line| !line.is_empty())
            {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.starts_with("webhook-") {
                    first += &line;
                    first.push('\n');
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            write!(
                stream,
                "HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
            .unwrap();
            sender
                .send((
                    first.trim().to_owned(),
                    serde_json::from_slice(&body).unwrap(),
                ))
                .unwrap();
        }
    });
    let webhook = WebhookUrl::parse(&format!("{origin}/hook/verysecret"));
    assert!(webhook.is_some());
    (
        AlertRoutes {
            webhook,
            webhook_text: "text".to_owned(),
            ..AlertRoutes::default()
        },
        origin,
        requests,
    )
}

#[test]
fn a_webhook_is_posted_what_fired_and_once_more_where_the_server_fails() {
    let (routes, _, requests) = server(&["500 Broken", "200 OK"]);
    let bench = Bench::telling(&[(A, "A", 10.0)], routes);
    let id = bench
        .jobs
        .add_alert(&request(Some(A), "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    assert_eq!(bench.load(&[(A, "A", 30.0)], &id).fired, 1);
    let (first, body) = requests.recv_timeout(crate::wait::PATIENCE).unwrap();
    let mut expected = serde_json::to_value(&bench.list().fired[0]).unwrap();
    expected["text"] = json!("A: price>20");
    assert_eq!(
        (first.as_str(), &body),
        ("POST /hook/verysecret HTTP/1.1", &expected)
    );
    assert_eq!(
        requests.recv_timeout(crate::wait::PATIENCE).unwrap(),
        (first, body),
        "the same once more"
    );
}

#[test]
fn a_webhook_with_a_secret_is_posted_a_signature() {
    let (mut routes, _, requests) = server(&["200 OK"]);
    routes.webhook_secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let bench = Bench::telling(&[(A, "A", 10.0)], routes);
    let id = bench
        .jobs
        .add_alert(&request(Some(A), "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    bench.load(&[(A, "A", 30.0)], &id);
    let (head, _) = requests.recv_timeout(crate::wait::PATIENCE).unwrap();
    let fired_id = bench.list().fired[0].fired_id;
    assert!(
        head.contains(&format!("webhook-id: fired_{fired_id}\n")),
        "{head}"
    );
    assert!(head.contains("webhook-timestamp: 1") && head.contains("webhook-signature: v1,"));
}

#[test]
fn a_webhook_that_leads_elsewhere_is_not_followed_and_its_token_not_said() {
    let (routes, origin, requests) = server(&["307 Elsewhere\r\nlocation: /other", "200 OK"]);
    let bench = Bench::telling(&[(A, "A", 10.0)], routes);
    let mut events = bench.service.listen();
    let id = bench
        .jobs
        .add_alert(&request(Some(A), "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    assert_eq!(bench.load(&[(A, "A", 30.0)], &id).fired, 1);
    let said = notice(&mut events);
    assert_eq!(
        said,
        format!(
            "`alerts.webhook`: `{origin}` redirects to another address; use that address instead"
        )
    );
    assert!(requests.recv_timeout(crate::wait::PATIENCE).is_ok());
    stays("it is not followed", ROUND, || requests.try_recv().is_err());
}
