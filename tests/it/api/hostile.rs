//! Malformed requests, slow and idle clients, disconnects, the connection limit, and shutdown.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::Shutdown,
    sync::mpsc,
    time::{Duration, Instant},
};

use api::ApiOptions;
use load::Dataset;
use model::address::Address;
use query::{queries::token::TokenQuery, service::ServiceEvent};

use super::server::{Answer, JSON, KEY, Running, TOKEN, get, request};
use crate::wait::{PATIENCE, wait_until};

#[test]
fn malformed_requests_get_a_4xx_and_the_server_goes_on() {
    let server = Running::start();
    let post =
        format!("POST /yield/optimize HTTP/1.1\r\nHost: localhost\r\nx-api-key: {KEY}\r\n{JSON}");
    let many = "x: y\r\n".repeat(500);
    let refused = [
        b"\x00\xff\x16\x03\x01 nonsense\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /tok\xffens HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/3.7\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\nHost: local\x00host\r\n\r\n".to_vec(),
        format!("{post}Content-Length: 1\r\nContent-Length: 9\r\n\r\n{{").into_bytes(),
        format!("{post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n").into_bytes(),
        format!("{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n").into_bytes(),
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(80_000)).into_bytes(),
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nx: {}\r\n\r\n", "a".repeat(200_000)).into_bytes(),
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n").into_bytes(),
    ];
    for bytes in refused {
        let mut stream = server.connect();
        stream.write_all(&bytes).ok();
        let mut start = [0; 12];
        let answered = stream.read_exact(&mut start).is_ok();
        assert!(
            !answered || start.starts_with(b"HTTP/1.1 4"),
            "{:?} to {:?}",
            String::from_utf8_lossy(&start),
            &bytes[..40]
        );
    }
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn a_page_of_another_origin_changes_nothing() {
    let server = Running::start();
    let body = r#"{"condition":"price>1"}"#;
    let send = |method, path, origin: &str, body: &str| {
        let headers = format!("{JSON}{origin}Content-Length: {}\r\n", body.len());
        server.ask(&request(method, path, &headers, body))
    };
    for (origin, status) in [
        ("", 201),
        ("Origin: http://127.0.0.1\r\n", 201),
        ("Origin: https://evil.example\r\n", 403),
        ("Origin: null\r\n", 403),
    ] {
        let answer = send("POST", "/alerts", origin, body);
        assert_eq!(answer.status, status, "{origin}");
    }
    let evil = "Origin: https://evil.example\r\n";
    send("DELETE", "/alerts/a_1", evil, "").is_problem(403, "foreign_origin", "evil.example");
    assert_eq!(
        send("GET", "/tokens", evil, "").status,
        200,
        "reading needs CORS"
    );
}

#[test]
fn a_body_may_begin_with_a_byte_order_mark() {
    let server = Running::start();
    let marked = "\u{feff}{\"condition\":\"price>1\"}";
    assert_eq!(server.post("/alerts", marked).status, 201);
    server
        .post("/alerts", &format!("\u{feff}{marked}"))
        .is_problem(400, "invalid_json", "a second mark");
}

#[test]
fn a_client_that_has_finished_sending_gets_its_answer() {
    let server = Running::start();
    for _ in 0..20 {
        let mut stream = server.connect();
        stream.write_all(&get("/tokens", "")).expect("sent");
        stream.shutdown(Shutdown::Write).expect("half closed");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        assert_eq!(Answer::parse(&answer).status, 200);
    }
}

#[test]
fn a_head_that_cannot_be_read_is_refused_with_a_problem() {
    let server = Running::start();
    let many = "x: y\r\n".repeat(500);
    for (head, code) in [
        (
            format!(
                "GET /tokens?where=price>10 HTTP/1.1\r\nHost: localhost\r\nx-api-key: {KEY}\r\n\r\n"
            ),
            "invalid_request",
        ),
        ("nonsense\r\n\r\n".to_owned(), "invalid_request"),
        (
            format!(
                "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "a".repeat(80_000)
            ),
            "target_too_long",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
            "headers_too_large",
        ),
    ] {
        let mut stream = server.connect();
        // The second request of a connection is refused like the first, in one packet with it too.
        let both = server.raw(
            &[
                b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                head.as_bytes(),
            ]
            .concat(),
        );
        let both = String::from_utf8_lossy(&both).into_owned();
        assert!(
            both.starts_with("HTTP/1.1 200") && both.contains(&format!("\"code\":\"{code}\"")),
            "{code}: {both}"
        );
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .expect("sent");
        let mut first = BufReader::new(stream.try_clone().expect("a stream"));
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            first.read_line(&mut line).expect("a line");
        }
        first.read_until(b'}', &mut Vec::new()).expect("a body");
        stream.write_all(head.as_bytes()).ok();
        let mut answer = String::new();
        first.read_to_string(&mut answer).ok();
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("{code}: {answer:?}"));
        assert!(head.contains("application/problem+json"), "{head}");
        let problem: serde_json::Value =
            serde_json::from_str(body).unwrap_or_else(|_| panic!("{body}"));
        assert_eq!(problem["code"], code, "{problem}");
    }
}

#[test]
fn slow_and_idle_clients_are_disconnected() {
    let millis = Duration::from_millis;
    let server = Running::with(ApiOptions {
        header_time: millis(200),
        idle_time: millis(500),
        body_time: millis(200),
        ..ApiOptions::default()
    });
    let closed_after = |first: &[u8], reads: bool| {
        let mut stream = server.connect();
        stream.write_all(first).expect("sent");
        let start = Instant::now();
        let mut seen = Vec::new();
        // Else it is not closed, and the read times out.
        assert!(
            stream
                .read_to_end(&mut seen)
                .map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true)
        );
        assert_eq!(
            !seen.is_empty(),
            reads,
            "{}",
            String::from_utf8_lossy(&seen)
        );
        (start.elapsed(), seen)
    };
    for first in [
        &b""[..],
        b"GET",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nx: ",
    ] {
        let (took, _) = closed_after(first, false);
        assert!(took >= millis(150), "{took:?}");
    }
    let (took, _) = closed_after(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
    assert!(
        took >= millis(450),
        "an idle connection is kept, then closed: {took:?}"
    );
    let body = format!(
        "POST /yield/optimize HTTP/1.1\r\nHost: localhost\r\nx-api-key: {KEY}\r\n{JSON}Content-Length: 5\r\n\r\n{{"
    );
    let (_, seen) = closed_after(body.as_bytes(), true);
    Answer::parse(&seen).is_problem(408, "request_timeout", "a body that does not come");
}

/// A small reproducible generator (xorshift, Marsaglia 2003).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }
}

#[test]
fn ten_thousand_random_requests_meet_no_defect() {
    const SEGMENTS: &str = "tokens posts technical trendline patterns security inference dexes analytics holders-growth api deep-analysis \
        deep_analysis jobs report yield optimize holders holder-counts candles datasets metrics 0x %00 % %E2%82%AC .. . a%20b {x} * ~ ; '\"";
    const QUERIES: &str = "page=0 page=1 limit=99999999999999999999 limit=5 period=2 period=-1 timeframe=1h timeframe=% explain=true \
        explain=yes query=%27%22%3Cscript%3E query=uni sort=-name chain=eth chain=nochain from=2026-01-01 to=99999999999999 \
        from=-9223372036854775808 window=30 page=1000000000&limit=100 &&&=&= %=% a=b=c";
    const METHODS: &[&str] = &[
        "GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH",
    ];
    let segments: Vec<&str> = SEGMENTS.split(' ').chain([TOKEN, ""]).collect();
    let queries: Vec<&str> = QUERIES.split(' ').chain([""]).collect();
    let server = Running::start();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut stream, mut statuses) = (
        BufReader::new(server.connect()),
        std::collections::BTreeMap::new(),
    );
    for i in 0..10_000 {
        let mut path = String::new();
        for _ in 0..=dice.roll(4) {
            path.push('/');
            path.push_str(dice.pick(&segments));
        }
        let (method, query) = (dice.pick(METHODS), dice.pick(&queries));
        let body = if method == "POST" {
            dice.pick(&["", "{}", "[", "{\"tokens\":{\"0x\":\"1\"}}", "\u{0}"])
        } else {
            ""
        };
        let sent = format!(
            "{method} {path}?{query} HTTP/1.1\r\nHost: localhost\r\nx-api-key: {KEY}\r\n{JSON}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.get_mut().write_all(sent.as_bytes()).expect("sent");
        let (status, closes) = read_answer(&mut stream, method == "HEAD")
            .unwrap_or_else(|| panic!("no answer to {i}: {sent}"));
        assert!(status < 500, "{status} to {sent}");
        *statuses.entry(status).or_insert(0) += 1;
        if closes {
            stream = BufReader::new(server.connect());
        }
    }
    assert_eq!(server.get("/healthz").status, 200);
    for status in [200, 400, 404, 405] {
        assert!(
            statuses.contains_key(&status),
            "the dice are loaded: {statuses:?}"
        );
    }
}

/// Returns the status, and whether the connection closes after it.
fn read_answer(stream: &mut impl BufRead, head: bool) -> Option<(u16, bool)> {
    let (mut status, mut length, mut closes) = (0, 0, false);
    for i in 0.. {
        let mut line = String::new();
        stream
            .read_line(&mut line)
            .ok()
            .filter(|count| *count > 0)?;
        let line = line.trim_end().to_lowercase();
        if i == 0 {
            status = line.split(' ').nth(1)?.parse().ok()?;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        closes |= line == "connection: close";
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; if head { 0 } else { length }];
    stream.read_exact(&mut body).ok()?;
    Some((status, closes))
}

#[test]
fn event_streams_report_reloads_and_jobs_and_are_limited_in_number() {
    let mut server = Running::with(ApiOptions {
        event_streams: 1,
        ..ApiOptions::default()
    });
    let mut stream = server.connect();
    stream.write_all(&get("/events", "")).expect("sent");
    let mut lines = BufReader::new(stream).lines();
    let mut wait_for = |start: &str| loop {
        let line = lines.next().expect("the stream goes on").expect("readable");
        if line.starts_with(start) {
            return line;
        }
    };
    wait_for("content-type: text/event-stream");
    wait_for(": listening");
    server
        .get("/events")
        .is_problem(503, "busy", "a second listener");
    server.api.service.publish(Dataset::new(Vec::new()));
    // The first load's event may arrive only now.
    while wait_for("data: ") != "data: {\"generation\":2}" {}
    server.api.service.load().expect("the dataset loads");
    wait_for("event: dataset.reloaded");
    server.post(
        "/deep-analysis/jobs",
        &format!(r#"{{"token_address":"{TOKEN}"}}"#),
    );
    wait_for("event: job.updated");
    assert!(wait_for("data: ").contains("\"job_id\""));
    let start = Instant::now();
    server.tell_to_stop();
    server.stopped();
    // Requests are waited for for five seconds.
    assert!(
        start.elapsed() < Duration::from_millis(4_500),
        "a stream does not hold the server up"
    );
}

#[test]
fn a_client_that_reconnects_gets_the_events_it_missed() {
    let server = Running::start();
    let listen = |last: Option<&str>| {
        let mut stream = server.connect();
        let header = last
            .map(|id| format!("Last-Event-ID: {id}\r\n"))
            .unwrap_or_default();
        stream.write_all(&get("/events", &header)).expect("sent");
        BufReader::new(stream)
            .lines()
            .map(|line| line.expect("readable"))
    };
    let told = |mut lines: &mut dyn Iterator<Item = String>, start: &str| -> String {
        let line =
            Iterator::find(&mut lines, |line| line.starts_with(start)).expect("the stream goes on");
        line[start.len()..].to_owned()
    };
    let mut first = listen(None);
    told(&mut first, ": listening");
    assert_eq!(told(&mut first, "retry: "), "2000");
    server.api.service.publish(Dataset::new(Vec::new()));
    let id = told(&mut first, "id: ");
    let generation = |data: &str| {
        data.trim_start_matches("{\"generation\":")
            .trim_end_matches('}')
            .parse::<u64>()
            .expect("a number")
    };
    let seen = generation(&told(&mut first, "data: "));
    drop(first);
    server.api.service.publish(Dataset::new(Vec::new()));
    server.api.service.publish(Dataset::new(Vec::new()));
    let mut again = listen(Some(&id));
    for further in 1..=2 {
        assert!(told(&mut again, "id: ") > id);
        assert_eq!(generation(&told(&mut again, "data: ")), seen + further);
    }
    let mut stranger = listen(Some("7"));
    assert_eq!(
        told(&mut stranger, "event: "),
        "events.missed",
        "an id of before this server"
    );
    server
        .ask(&get("/events", "Last-Event-ID: yesterday\r\n"))
        .is_problem(400, "invalid_request", "no number");
}

/// Blocks the service's only worker until the sender is dropped, in the wake call of an answer.
fn hold(server: &Running) -> (mpsc::Sender<()>, impl Sized + use<>) {
    let (release, held) = mpsc::channel::<()>();
    let question = TokenQuery {
        token_address: Address::parse(TOKEN).expect("an address"),
        explain: false,
    };
    (
        release,
        server
            .api
            .service
            .ask(question, move || held.recv().unwrap_or_default()),
    )
}

#[test]
fn a_stopping_server_finishes_what_is_under_way() {
    let mut server = Running::start();
    let (release, _held) = hold(&server);
    let mut stream = server.connect();
    stream.write_all(&get("/tokens", "")).expect("sent");
    wait_until("the request is read", || {
        server.api.metrics.in_flight() == 1
    });
    let mut late = server.connect();
    late.write_all(b"GET /tokens HTTP/1.1\r\n").expect("sent");
    // Time for the server to accept it, which no event reports.
    std::thread::sleep(Duration::from_secs(1));
    server.tell_to_stop();
    wait_until("the port is closed", || {
        std::net::TcpStream::connect(server.address).is_err()
    });
    late.write_all(format!("Host: localhost\r\nx-api-key: {KEY}\r\n\r\n").as_bytes())
        .expect("sent");
    let mut refusal = Vec::new();
    late.read_to_end(&mut refusal).expect("answered");
    Answer::parse(&refusal).is_problem(
        503,
        "shutting_down",
        "a head that ends after the server was told to stop",
    );
    drop(release);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("answered");
    assert_eq!(Answer::parse(&answer).status, 200);
    server.stopped();
    assert!(
        std::net::TcpStream::connect(server.address).is_err(),
        "the port is closed"
    );
}

#[test]
fn a_request_whose_client_left_is_logged_as_499() {
    let server = Running::start();
    let (release, _held) = hold(&server);
    let mut stream = server.connect();
    stream.write_all(&get("/tokens", "")).expect("sent");
    wait_until("the request is read", || {
        server.api.metrics.in_flight() == 1
    });
    drop(stream);
    wait_until("the request is forgotten", || {
        server.api.metrics.in_flight() == 0
    });
    assert_eq!(server.api.log.recent(1)[0].status, 499);
    drop(release);
}

#[test]
fn a_connection_beyond_the_limit_waits() {
    let server = Running::with(ApiOptions {
        connections: 2,
        ..ApiOptions::default()
    });
    let first: Vec<_> = (0..2).map(|_| server.connect()).collect();
    let mut third = server.connect();
    third.write_all(&get("/healthz", "")).expect("sent");
    third
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a timeout");
    assert!(
        third.read(&mut [0; 8]).is_err(),
        "answered although all places were taken"
    );
    drop(first);
    third.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut answer = Vec::new();
    third.read_to_end(&mut answer).expect("answered");
    assert_eq!(Answer::parse(&answer).status, 200);
}

/// Requests over a keep-alive connection; false if the server has closed it.
fn asks(stream: &mut std::io::BufReader<std::net::TcpStream>) -> bool {
    let sent = stream
        .get_mut()
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .is_ok();
    let answered = sent && read_answer(stream, false).is_some_and(|(status, _)| status == 200);
    // Makes idle times differ by at least a millisecond.
    std::thread::sleep(Duration::from_millis(2));
    answered
}

#[test]
fn at_the_limit_the_longest_idle_connection_is_closed() {
    let server = Running::with(ApiOptions {
        connections: 3,
        ..ApiOptions::default()
    });
    let connect = || BufReader::new(server.connect());
    let mut clients: Vec<_> = (0..3).map(|_| connect()).collect();
    assert!(clients.iter_mut().all(asks));
    assert!(
        asks(&mut clients[0]),
        "asked again, it is not the longest idle any more"
    );
    let mut next = connect();
    assert!(asks(&mut next), "locked out");
    assert_eq!(
        clients.iter_mut().map(asks).collect::<Vec<_>>(),
        [true, false, true]
    );
    // All of a crowd of kept-alive clients are answered.
    let mut crowd: Vec<_> = (0..100).map(|_| connect()).collect();
    let answered: Vec<_> = crowd.iter_mut().map(asks).collect();
    assert_eq!(
        answered.iter().position(|answered| !answered),
        None,
        "refused"
    );
}

#[test]
fn at_the_limit_clients_that_never_ask_are_disconnected_first() {
    let server = Running::with(ApiOptions {
        connections: 3,
        header_time: Duration::from_secs(1),
        ..ApiOptions::default()
    });
    let mut slow: Vec<_> = (0..5).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\n")
            .expect("sent");
    }
    // The two that wait for a slot come before this one.
    assert!(asks(&mut BufReader::new(server.connect())), "locked out");
}

#[test]
fn at_the_limit_a_connection_with_a_request_or_a_stream_stays_open() {
    // A request in progress keeps its slot for a tenth of the head timeout.
    let header_time = Duration::from_secs(30);
    let server = Running::with(ApiOptions {
        connections: 3,
        header_time,
        ..ApiOptions::default()
    });
    let (release, _held) = hold(&server);
    let mut listener = BufReader::new(server.connect());
    let request = format!("GET /events HTTP/1.1\r\nHost: localhost\r\nx-api-key: {KEY}\r\n\r\n");
    listener
        .get_mut()
        .write_all(request.as_bytes())
        .expect("sent");
    let mut busy = server.connect();
    busy.write_all(&get("/tokens", "")).expect("sent");
    wait_until("the request is read", || {
        server.api.metrics.in_flight() == 1
    });
    let mut started = server.connect();
    started
        .write_all(b"GET /healthz HTTP/1.1\r\n")
        .expect("sent");
    // Time for the server to read the partial request, which no event reports.
    std::thread::sleep(Duration::from_millis(400));
    // No connection is idle, so the next one waits.
    let mut next = BufReader::new(server.connect());
    next.get_mut()
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    next.get_mut()
        .set_read_timeout(Some(Duration::from_millis(300)))
        .expect("a timeout");
    assert!(
        next.fill_buf().is_err(),
        "answered although no client was idle"
    );
    started.write_all(b"Host: localhost\r\n\r\n").expect("sent");
    next.get_mut()
        .set_read_timeout(Some(PATIENCE))
        .expect("a timeout");
    assert_eq!(
        read_answer(&mut next, false).map(|(status, _)| status),
        Some(200)
    );
    let mut answer = Vec::new();
    started
        .read_to_end(&mut answer)
        .expect("answered, then let go");
    assert_eq!(Answer::parse(&answer).status, 200);
    assert!(
        (0..3)
            .map(|_| BufReader::new(server.connect()))
            .all(|mut stream| asks(&mut stream))
    );
    // The request is answered and the stream continues.
    drop(release);
    let mut answer = Vec::new();
    busy.read_to_end(&mut answer).expect("answered");
    assert_eq!(Answer::parse(&answer).status, 200);
    server.api.service.notify(ServiceEvent::Reloaded(7));
    let heard = listener
        .lines()
        .map_while(std::result::Result::ok)
        .any(|line| line.contains("{\"generation\":7}"));
    assert!(heard, "the stream was closed");
}
