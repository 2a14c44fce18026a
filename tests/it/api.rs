//! The HTTP contract of a running server: statuses and codes, order of checks, entity tags, methods, request ids.

mod commands;
mod dates;
mod docs;
mod document;
mod examples;
mod generations;
mod hostile;
mod lists;
mod named;
mod notebooks;
mod python_readers;
mod reference;
mod server;
mod tables;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    sync::Arc,
};

use api::{ApiOptions, answer_offline};
use serde_json::Value;

use self::server::{JSON, KEY, Running, TOKEN, UNKNOWN, get};
use crate::wait::wait_until;

#[test]
fn every_refusal_has_its_status_and_code() {
    let server = Running::start();
    let long = "a".repeat(9_000);
    for (path, status, code) in [
        ("/tokens/0x12", 400, "invalid_address"),
        ("/tokens/%00", 400, "invalid_address"),
        ("/tokens/%zz", 400, "invalid_address"),
        ("/tokens/..%2f..%2fetc%2fpasswd", 400, "invalid_address"),
        ("/0x12/dexes", 400, "invalid_address"),
        (&format!("/{}/dexes", &long[..300]), 400, "invalid_address"),
        ("/dexes/dexes", 400, "invalid_address"),
        (
            &format!("/tokens/{TOKEN}/posts?page=0"),
            400,
            "invalid_parameter",
        ),
        (
            &format!("/tokens/{TOKEN}/posts?page=1&page=2"),
            400,
            "invalid_parameter",
        ),
        (
            &format!("/tokens/{TOKEN}/posts?page=%ff"),
            400,
            "invalid_request",
        ),
        (
            &format!("/technical/{TOKEN}/patterns?timeframe=2h"),
            400,
            "invalid_parameter",
        ),
        ("/nothing", 404, "route_not_found"),
        ("/", 404, "route_not_found"),
        ("//", 404, "route_not_found"),
        ("/tokens/", 404, "route_not_found"),
        ("/tokens/x/y/z", 404, "route_not_found"),
        (&format!("/tokens/{TOKEN}/"), 404, "route_not_found"),
        (&format!("/tokens/{UNKNOWN}"), 404, "token_not_found"),
        (&format!("/{UNKNOWN}/dexes"), 404, "token_not_found"),
        (&format!("/{TOKEN}/dexes/none"), 404, "dex_not_found"),
        (&format!("/technical/{TOKEN}/trendline"), 404, "no_candles"),
        (&format!("/tokens/{long}"), 414, "target_too_long"),
        ("/deep-analysis/jobs/none", 404, "job_not_found"),
        ("/deep_analysis/jobs/none", 404, "job_not_found"),
    ] {
        let answer = server.get(path);
        answer.is_problem(status, code, path);
        let instance = path.split('?').next().unwrap_or_default();
        assert_eq!(
            answer.json()["instance"],
            instance[..instance.len().min(1_024)],
            "{path}"
        );
    }
    assert_eq!(
        server.get("/tokens/").json()["detail"],
        "No such route; use `/tokens` without the slash at the end."
    );
}

#[test]
fn checks_run_in_the_settled_order() {
    let server = Running::start();
    let long = format!("/{}", "a".repeat(9_000));
    let big = format!("x-big: {}\r\n", "b".repeat(33_000));
    let request = |method: &str, path: &str, host: &str, headers: &str| {
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")
            .into_bytes()
    };
    let key = format!("x-api-key: {KEY}\r\n");
    for (name, bytes, status, code) in [
        (
            "size before host",
            request("GET", &long, "evil.example", ""),
            414,
            "target_too_long",
        ),
        (
            "headers before host",
            request("GET", "/healthz", "evil.example", &big),
            431,
            "headers_too_large",
        ),
        (
            "host before key",
            request("GET", "/nothing", "evil.example", ""),
            421,
            "misdirected_host",
        ),
        (
            "host on open paths",
            request("GET", "/healthz", "evil.example", ""),
            421,
            "misdirected_host",
        ),
        (
            "key before route",
            request("GET", "/nothing", "localhost", ""),
            401,
            "unauthorized",
        ),
        (
            "key before method",
            request("PUT", "/tokens", "localhost", ""),
            401,
            "unauthorized",
        ),
        (
            "open path, wrong method",
            request("POST", "/healthz", "localhost", ""),
            405,
            "method_not_allowed",
        ),
        (
            "unknown path, any method",
            request("BREW", "/nothing", "localhost", &key),
            404,
            "route_not_found",
        ),
        (
            "own method",
            request("BREW", "/tokens", "localhost", &key),
            405,
            "method_not_allowed",
        ),
        (
            "length before type",
            request(
                "POST",
                "/yield/optimize",
                "localhost",
                &format!("{key}Content-Length: 9999999\r\n"),
            ),
            413,
            "body_too_large",
        ),
        (
            "type",
            request(
                "POST",
                "/yield/optimize",
                "localhost",
                &format!("{key}Content-Length: 0\r\n"),
            ),
            415,
            "unsupported_media_type",
        ),
    ] {
        server.ask(&bytes).is_problem(status, code, name);
    }
}

#[test]
fn every_wrong_key_gets_the_same_bytes() {
    let server = Running::start();
    let mut bodies = std::collections::BTreeSet::new();
    for path in [
        &format!("/tokens/{TOKEN}"),
        "/tokens/0x12",
        "/metrics",
        "/nothing",
        "/events",
    ] {
        for key in [
            "",
            "x-api-key:\r\n",
            "x-api-key: wrong\r\n",
            &format!("x-api-key: {KEY}x\r\n"),
            &format!("x-api-key: {KEY}\r\nx-api-key: {KEY}\r\n"),
            &format!("x-api-key: {KEY}\r\nAuthorization: Bearer {KEY}\r\n"),
            &format!("Authorization: Basic {KEY}\r\n"),
            "Authorization: Bearer wrong\r\n",
        ] {
            let answer = server.ask(
                format!("GET {path} HTTP/1.1\r\nHost: [::1]:1\r\nConnection: close\r\n{key}\r\n")
                    .as_bytes(),
            );
            answer.is_problem(401, "unauthorized", path);
            assert_eq!(answer.header("www-authenticate"), Some("ApiKey"));
            bodies.insert(answer.body);
        }
    }
    assert_eq!(bodies.len(), 1);
    assert!(!String::from_utf8_lossy(bodies.first().expect("one")).contains("instance"));
    // Most clients know this header.
    for scheme in ["Bearer", "bearer"] {
        let key = format!("Authorization: {scheme} {KEY}\r\n");
        let answer = server.ask(
            format!(
                "GET /tokens/{TOKEN} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{key}\r\n"
            )
            .as_bytes(),
        );
        assert_eq!(answer.status, 200, "{scheme}");
    }
}

#[test]
fn a_body_is_checked_for_form_before_values_and_has_a_size_limit() {
    let server = Running::start();
    for (path, body, status, code) in [
        ("/yield/optimize", "{", 400, "invalid_json"),
        ("/yield/optimize", "", 400, "invalid_json"),
        ("/yield/optimize", "{}", 422, "invalid_value"),
        ("/deep-analysis/jobs", "[", 400, "invalid_json"),
        ("/deep-analysis/jobs", "{}", 422, "invalid_value"),
        (
            "/deep-analysis/jobs",
            r#"{"token_address":"0x12"}"#,
            422,
            "invalid_value",
        ),
    ] {
        server.post(path, body).is_problem(status, code, path);
    }
    server
        .post("/yield/optimize", &format!("\"{}\"", "a".repeat(2 << 20)))
        .is_problem(413, "body_too_large", "declared");
    let mut chunked =
        format!("POST /yield/optimize HTTP/1.1\r\nHost: localhost\r\nx-api-key: {KEY}\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n")
            .into_bytes();
    for _ in 0..40 {
        chunked.extend_from_slice(b"8000\r\n");
        chunked.extend(std::iter::repeat_n(b' ', 0x8000));
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    server
        .ask(&chunked)
        .is_problem(413, "body_too_large", "undeclared");
}

#[test]
fn a_post_reads_its_query_parameters() {
    let server = Running::start();
    let wallet = format!(r#"{{"tokens":{{"{TOKEN}":"1000000000000000000"}}}}"#);
    let plan = |query: &str| {
        let target = format!("/yield/optimize{query}");
        let (online, offline) = (
            server.post(&target, &wallet),
            answer_offline(&server.api, "POST", &target, wallet.as_bytes()),
        );
        assert_eq!(
            (online.status, &online.body[..]),
            (offline.status, &offline.body[..]),
            "{target}"
        );
        online
    };
    let (plain, explained) = (plan(""), plan("?explain=true"));
    assert_eq!((plain.status, explained.status), (200, 200));
    assert_eq!(
        (plain.json().get("unplaced"), plan("?explain=false").body),
        (None, plain.body.clone())
    );
    assert!(
        explained.json()["unplaced"].is_array(),
        "{}",
        explained.json()
    );
    for (query, code) in [
        ("?explain=x", "invalid_parameter"),
        ("?explain", "invalid_parameter"),
        ("?explain=true&explain=true", "invalid_parameter"),
        ("?explain=%ff", "invalid_request"),
    ] {
        plan(query).is_problem(400, code, query);
    }
    let job = format!(r#"{{"token_address":"{TOKEN}"}}"#);
    server
        .post("/deep-analysis/jobs?a=%ff", &job)
        .is_problem(400, "invalid_request", "a job");
    assert_eq!(server.post("/deep-analysis/jobs?other=x", &job).status, 202);
}

#[test]
fn a_405_names_the_allowed_methods() {
    let server = Running::start();
    let ask = |method: &str, path: &str| server.ask(&server::request(method, path, "", ""));
    for (method, path, allow) in [
        ("POST", "/tokens", "GET, HEAD"),
        ("TRACE", "/metrics", "GET, HEAD"),
        ("OPTIONS", "/tokens", "GET, HEAD"),
        ("GET", "/yield/optimize", "POST"),
        ("HEAD", "/yield/optimize", "POST"),
        ("PUT", "/deep-analysis/jobs", "GET, HEAD, POST"),
        ("POST", "/deep_analysis/jobs/x", "GET, HEAD, DELETE"),
    ] {
        let answer = ask(method, path);
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some(allow)),
            "{method} {path}"
        );
    }
}

#[test]
fn a_matching_entity_tag_gets_304_and_head_no_body() {
    let server = Running::start();
    let path = format!("/tokens/{TOKEN}");
    let whole = server.get(&path);
    let etag = whole.header("etag").expect("a tag").to_owned();
    assert!(
        whole.status == 200
            && etag.starts_with('"')
            && whole.header("cache-control") == Some("private, no-cache")
    );
    let head = server.ask(&server::request("HEAD", &path, "", ""));
    let length = whole.body.len().to_string();
    assert_eq!(
        (
            head.status,
            head.body.len(),
            head.header("content-length"),
            head.header("etag")
        ),
        (200, 0, Some(length.as_str()), Some(etag.as_str()))
    );
    for (list, status) in [
        (etag.clone(), 304),
        (format!("W/{etag}"), 304),
        (format!("\"a\", {etag}"), 304),
        ("*".to_owned(), 304),
        ("\"x\"".to_owned(), 200),
        (etag.trim_matches('"').to_owned(), 200),
    ] {
        let answer = server.ask(&get(&path, &format!("If-None-Match: {list}\r\n")));
        assert_eq!(
            (answer.status, answer.header("etag")),
            (status, Some(etag.as_str())),
            "{list}"
        );
        assert_eq!(answer.body.is_empty(), status == 304);
        assert!(answer.header("x-request-id").is_some());
    }
    let upper = server.get(&format!("/tokens/0x{}?other=1", TOKEN[2..].to_uppercase()));
    assert_eq!(
        (upper.header("etag"), &upper.body),
        (Some(etag.as_str()), &whole.body),
        "one question, one tag"
    );
    assert_eq!(
        server
            .ask(&get(&format!("/tokens/{UNKNOWN}"), "If-None-Match: *\r\n"))
            .status,
        404
    );
    // Also on a server that has not answered it before.
    assert_eq!(
        Running::start()
            .ask(&get(&path, "If-None-Match: *\r\n"))
            .status,
        304
    );
    for untagged in ["/healthz", "/metrics", "/datasets", "/deep-analysis/jobs"] {
        assert_eq!(server.get(untagged).header("etag"), None, "{untagged}");
    }
}

#[test]
fn plain_request_ids_are_echoed_and_others_replaced() {
    let server = Running::start();
    let id = |headers: &str| {
        server
            .ask(&get("/healthz", headers))
            .header("x-request-id")
            .expect("an id")
            .to_owned()
    };
    assert_eq!(id("x-request-id: mine_7-\r\n"), "mine_7-");
    assert_ne!(id(""), id(""));
    assert_ne!(id("x-request-id: <b>\r\n"), "<b>");
}

#[test]
fn without_data_a_request_gets_503_after_its_parameters_are_checked() {
    let server = Running::loading();
    let path = format!("/tokens/{TOKEN}");
    let answer = server.get(&path);
    answer.is_problem(503, "loading", &path);
    assert_eq!(answer.header("retry-after"), Some("1"));
    server
        .get("/tokens/0x12")
        .is_problem(400, "invalid_address", "parameters are checked first");
    server
        .get("/datasets")
        .is_problem(503, "loading", "datasets");
    let health =
        server.ask(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(
        (health.status, &health.json()["status"]),
        (200, &Value::from("loading"))
    );
}

#[test]
fn a_failed_load_is_reported_until_one_succeeds() {
    let server = Running::start();
    let service = &server.api.service;
    let (folder, health) = (service.folder(), || server.get("/healthz").json());
    let stale = || server.get("/datasets").json()["stale"].clone();
    assert_eq!((stale(), health().get("stale")), (Value::Null, None));
    let mut stream = server.connect();
    stream.write_all(&get("/events", "")).expect("sent");
    let mut lines = BufReader::new(stream)
        .lines()
        .map(|line| line.expect("readable"));
    assert!(lines.any(|line| line == ": listening"));
    let mut since = None;
    for (file, bytes, says, row) in [
        (
            "tokens.csv",
            b"something else\n1\n".to_vec(),
            "lacks the column",
            None,
        ),
        (
            "dataset.toml",
            b"\n\ntitel = 'x'\n".to_vec(),
            "unknown key `titel`",
            Some(3),
        ),
        (
            "tokens.csv.gz",
            cut_off(&fs::read(folder.join("tokens.csv")).expect("readable")),
            "is truncated",
            Some(2),
        ),
    ] {
        let tokens = fs::read(folder.join("tokens.csv")).expect("readable");
        if file == "tokens.csv.gz" {
            fs::remove_file(folder.join("tokens.csv")).expect("removed");
        }
        fs::write(folder.join(file), bytes).expect("written");
        service.load().expect_err("it cannot be used");
        let told = stale();
        assert_eq!(
            (&told["file"], &told["row"]),
            (&Value::from(file), &Value::from(row)),
            "{told}"
        );
        let reason = told["reason"].as_str().expect("a reason");
        assert!(
            reason.contains(says) && !reason.contains(&folder.display().to_string()),
            "{reason}"
        );
        assert!(
            told["since"].is_string()
                && since.get_or_insert_with(|| told["since"].clone()) == &told["since"],
            "{told}"
        );
        assert_eq!(
            (&health()["stale"], &health()["status"]),
            (&Value::from(true), &Value::from("ok"))
        );
        assert_eq!(
            server.get(&format!("/tokens/{TOKEN}")).status,
            200,
            "the data before stay"
        );
        assert!(lines.any(|line| line == "event: dataset.failed"));
        assert_eq!(lines.next().expect("data"), format!("data: {told}"));
        fs::remove_file(folder.join(file)).expect("removed");
        fs::write(folder.join("tokens.csv"), tokens).expect("written");
    }
    service.load().expect("whole again");
    assert_eq!((stale(), health().get("stale")), (Value::Null, None));
    assert!(lines.any(|line| line == "event: dataset.reloaded"));
}

/// A gzip stream without its trailer.
fn cut_off(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed
        .write_all(text)
        .and_then(|()| packed.flush())
        .expect("packed");
    let mut packed = packed.finish().expect("packed");
    packed.truncate(packed.len() - 20);
    packed
}

#[test]
fn over_the_rate_is_429() {
    let server = Running::with(ApiOptions {
        rate_per_second: Some(2),
        ..ApiOptions::default()
    });
    let answers: Vec<_> = (0..8).map(|_| server.get("/tokens")).collect();
    assert_eq!(answers[0].status, 200);
    let refused = answers
        .iter()
        .find(|answer| answer.status == 429)
        .expect("one too many");
    refused.is_problem(429, "too_many_requests", "rate");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn browsers_read_answers_only_for_configured_pages() {
    let page = "Origin: https://desk.example\r\n";
    let wish = "Access-Control-Request-Method: GET\r\n";
    let closed = Running::start();
    assert_eq!(
        closed
            .ask(&get("/healthz", page))
            .header("access-control-allow-origin"),
        None
    );
    let open = Running::with(ApiOptions {
        cors_origins: vec!["https://desk.example".into()],
        hosts: vec!["deck.example".into()],
        ..ApiOptions::default()
    });
    let preflight = |headers: &str| {
        open.ask(format!("OPTIONS /tokens HTTP/1.1\r\nHost: deck.example\r\nConnection: close\r\n{headers}\r\n").as_bytes())
    };
    let allowed = preflight(&format!("{page}{wish}"));
    assert_eq!(
        (
            allowed.status,
            allowed.header("access-control-allow-origin")
        ),
        (204, Some("https://desk.example"))
    );
    let other = preflight(&format!("Origin: https://evil.example\r\n{wish}"));
    assert_eq!(
        (other.status, other.header("access-control-allow-origin")),
        (401, None)
    );
    assert_eq!(
        open.ask(&get("/tokens", page))
            .header("access-control-allow-origin"),
        Some("https://desk.example")
    );
}

#[test]
fn a_job_can_be_started_listed_and_read() {
    let server = Running::start();
    let created = server.post(
        "/deep-analysis/jobs",
        &format!(r#"{{"token_address":"{TOKEN}"}}"#),
    );
    let id = created.json()["job_id"].as_str().expect("an id").to_owned();
    assert_eq!(
        (created.status, created.header("location")),
        (202, Some(format!("/deep-analysis/jobs/{id}").as_str()))
    );
    assert_eq!(server.get("/deep_analysis/jobs").json()["total"], 1);
    assert_eq!(
        server
            .get(&format!("/deep-analysis/jobs/{id}/report"))
            .status,
        200
    );
    wait_until("the job ends", || {
        server.get(&format!("/deep-analysis/jobs/{id}")).json()["status"] == "completed"
    });
    let gone = server.ask(&server::request(
        "DELETE",
        &format!("/deep-analysis/jobs/{id}"),
        "",
        "",
    ));
    gone.is_problem(409, "job_ended", "ended");
    let purge = server::request(
        "DELETE",
        &format!("/deep-analysis/jobs/{id}?purge=true"),
        "",
        "",
    );
    let purged = server.ask(&purge);
    assert_eq!((purged.status, purged.body.len()), (204, 0));
    server
        .ask(&purge)
        .is_problem(404, "job_not_found", "purged");
}

#[test]
fn an_answer_without_a_server_has_the_same_bytes() {
    let server = Running::start();
    let api = Arc::clone(&server.api);
    for target in [
        format!("/tokens/{TOKEN}"),
        "/tokens?limit=2".into(),
        "/nothing".into(),
        "/datasets".into(),
        format!("/{TOKEN}/dexes/none"),
    ] {
        let offline = answer_offline(&api, "GET", &target, b"");
        let online = server.get(&target);
        assert_eq!(
            (offline.status, &offline.body[..]),
            (online.status, &online.body[..]),
            "{target}"
        );
    }
    assert_eq!(answer_offline(&api, "GET", "/events", b"").status, 200);
    assert_eq!(answer_offline(&api, "GET", "no target\n", b"").status, 400);
    assert_eq!(
        answer_offline(&api, "POST", "/yield/optimize", b"{").status,
        400
    );
}

#[test]
fn requests_are_logged_and_counted_without_their_query() {
    let server = Running::start();
    server.get("/tokens?api_key=secret");
    let logged = &server.api.log.recent(1)[0];
    assert_eq!(
        (logged.method.as_str(), logged.path.as_str(), logged.status),
        ("GET", "/tokens", 200)
    );
    assert!(logged.bytes > 0 && server.api.metrics.latency().count() == 1);
    let figures = String::from_utf8(server.get("/metrics").body).expect("text");
    for line in [
        "tokendeck_requests_total{route=\"tokens\",status=\"200\"} 1",
        "tokendeck_dataset_rows{table=\"tokens\"} 2",
        "tokendeck_dataset_generation 1",
    ] {
        assert!(
            figures.lines().any(|found| found == line),
            "{line} in {figures}"
        );
    }
}
