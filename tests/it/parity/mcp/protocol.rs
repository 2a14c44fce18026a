//! The protocol around the tools: what is refused, and calls that wait for the data or are stopped.

use std::{
    io::{BufRead as _, BufReader, Write},
    net::TcpStream,
    process::{Command, Stdio},
    sync::Arc,
};

use api::keys::Keys;
use api::{Api, ApiOptions};
use model::address::Address;
use query::{queries::track_record::TrackRecordQuery, service::QueryService};
use rmcp::{
    ServiceExt,
    model::{CallToolRequestParams, ClientRequest, JsonObject, Request},
    service::PeerRequestOptions,
};
use serde_json::{Value, json};
use ureq::http::HeaderValue;

use super::{Client, FrontEnds, WETH, runtime, text};
use crate::wait::wait_until;

#[test]
fn what_is_no_tool_or_no_argument_is_refused_by_its_name() {
    let front_ends = FrontEnds::new();
    for client in [
        Client::over_http(&front_ends),
        Client::over_stdio(&front_ends),
    ] {
        let refused = |tool: &str, given: Value| {
            let result = client
                .call(tool, given.as_object().unwrap().clone())
                .unwrap();
            assert_eq!(result.is_error, Some(true));
            let problem = result.structured_content.clone().unwrap();
            (
                problem["code"].as_str().unwrap().to_owned(),
                problem["detail"].as_str().unwrap().to_owned(),
            )
        };
        for (tool, given, code, says) in [
            (
                "token",
                json!({}),
                "invalid_parameter",
                "`token_address` is required",
            ),
            (
                "token",
                json!({ "token_address": null }),
                "invalid_parameter",
                "`token_address` is required",
            ),
            (
                "token",
                json!({ "token_address": "" }),
                "invalid_parameter",
                "`token_address` is required",
            ),
            (
                "token",
                json!({ "token_address": "0x12" }),
                "invalid_address",
                "Invalid address `0x12`",
            ),
            (
                "token",
                json!({ "token_address": "../metrics" }),
                "invalid_address",
                "Invalid address `../metrics`",
            ),
            (
                "token",
                json!({ "adress": WETH }),
                "invalid_parameter",
                "Did you mean `token_address`?",
            ),
            (
                "tables",
                json!({ "table": "tokens" }),
                "invalid_parameter",
                "which takes as_of, generation, budget_kb.",
            ),
            (
                "tokens",
                json!({ "limit": { "of": 3 } }),
                "invalid_parameter",
                "`limit` is `{\"of\":3}`",
            ),
            (
                "tokens",
                json!({ "limit": 1.5 }),
                "invalid_parameter",
                "expected an integer",
            ),
            (
                "tokens",
                json!({ "format": "csv" }),
                "invalid_parameter",
                "`format` is not an argument",
            ),
            (
                "tokens",
                json!({ "limit": 3, "strict": true }),
                "invalid_parameter",
                "`strict` is not an argument",
            ),
            (
                "yield",
                json!({ "tokenz": {} }),
                "invalid_parameter",
                "Did you mean `tokens`?",
            ),
            (
                "yield",
                json!({ "tokens": {} }),
                "invalid_value",
                "`/tokens`",
            ),
            (
                "yield",
                json!({ "tokens": { "UNO": "1" } }),
                "invalid_value",
                "`UNO` is not an address",
            ),
            (
                "yield",
                json!({ "tokens": { "WETH": "1", WETH: "1" } }),
                "duplicate_token",
                "is set twice",
            ),
            (
                "rehearse_alert",
                json!({ "token_address": "UNO", "condition": "24h<-2" }),
                "invalid_value",
                "`\"UNO\"` is not an address",
            ),
        ] {
            let (found, detail) = refused(tool, given);
            assert!(
                found == code && detail.contains(says),
                "{tool}: {found} {detail}"
            );
        }
        // An integer may be sent as a float, a list as a JSON array.
        let list = json!({ "limit": 2.0, "sort": ["-market_cap", "symbol"], "only": ["symbol"] });
        let listed = client
            .call("tokens", list.as_object().unwrap().clone())
            .unwrap();
        assert_eq!(
            text(&listed).as_bytes(),
            front_ends
                .over_http("/tokens?limit=2&sort=-market_cap,symbol&only=symbol", None)
                .1
        );
        let unknown = client
            .call("tokns", JsonObject::new())
            .unwrap_err()
            .to_string();
        assert!(
            unknown.contains("-32602") && unknown.contains("did you mean `tokens`?"),
            "{unknown}"
        );
        client.leave();
    }
}

#[test]
fn only_who_has_the_key_and_comes_from_here_is_answered() {
    let front_ends = FrontEnds::new();
    let key = || Some(front_ends.key.clone());
    let refused = |key: Option<String>, origin| {
        Client::posting(&front_ends, key, origin)
            .err()
            .map(|error| error.to_string())
    };
    assert!(refused(None, None).unwrap().contains("401"));
    assert!(
        refused(Some("wrong".to_owned()), None)
            .unwrap()
            .contains("401")
    );
    let foreign = refused(key(), Some("http://evil.example")).unwrap();
    assert!(
        foreign.contains("403") && foreign.contains("foreign_origin"),
        "{foreign}"
    );
    assert!(refused(key(), Some("null")).unwrap().contains("403"));
    assert_eq!(refused(key(), None), None);
    let own: &'static str = front_ends.base.clone().leak();
    assert_eq!(refused(key(), Some(own)), None, "the server's own page");
    for method in ["GET", "DELETE"] {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/mcp", front_ends.base))
            .header("x-api-key", &front_ends.key);
        let response = front_ends.agent.run(request.body(()).unwrap()).unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["allow"]),
            (405, &HeaderValue::from_static("POST")),
            "{method}"
        );
    }
}

#[test]
fn what_is_no_message_is_refused_in_the_protocols_words() {
    let front_ends = FrontEnds::new();
    let ping = |version: &str| {
        json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": { "v": version } })
            .to_string()
    };
    for (body, status, code) in [
        ("{", 400, -32_700),
        ("", 400, -32_700),
        ("[]", 400, -32_600),
        (
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            400,
            -32_600,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}",
            200,
            -32_601,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tokens\",\"arguments\":\"{\"}}",
            200,
            -32_602,
        ),
    ] {
        let (answered, sent) = front_ends.over_http("/mcp", Some(body));
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        assert_eq!(
            (answered, &sent["jsonrpc"], &sent["error"]["code"]),
            (status, &json!("2.0"), &json!(code)),
            "{body}: {sent}"
        );
    }
    let (status, sent) = front_ends.over_http("/mcp", Some(&ping("")));
    assert_eq!(
        (status, serde_json::from_slice::<Value>(&sent).unwrap()),
        (200, json!({ "jsonrpc": "2.0", "id": 7, "result": {} }))
    );
    let call = |arguments: Value| {
        let params = json!({ "name": "tokens", "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
    };
    let answer = |body: &str| front_ends.over_http("/mcp", Some(body)).1;
    assert_eq!(
        answer(&call(json!("{\"limit\":1}"))),
        answer(&call(json!({ "limit": 1 }))),
        "arguments in a text"
    );
    // Only version 2025-03-26 has batches; who names no version may be of it.
    let batch = format!(
        "[{},\n{},{}]",
        ping("1"),
        call(json!({ "limit": 1 })),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
    );
    let answers: Vec<Value> = serde_json::from_slice(&answer(&batch)).unwrap();
    assert_eq!(
        answers[0],
        json!({ "jsonrpc": "2.0", "id": 7, "result": {} })
    );
    assert_eq!(
        (answers.len(), &answers[1]["result"]["isError"]),
        (2, &json!(false))
    );
    let large = format!("\"{}\"", "a".repeat(2 << 20));
    assert_eq!(front_ends.over_http("/mcp", Some(&large)).0, 413);
}

#[test]
fn the_version_is_the_clients_if_it_is_known() {
    let front_ends = FrontEnds::new();
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let client = json!({ "name": "a", "version": "1" });
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": client });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let (_, sent) = front_ends.over_http("/mcp", Some(&body.to_string()));
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        assert_eq!(
            sent["result"]["protocolVersion"], answered,
            "{asked}: {sent}"
        );
    }
}

/// A client that says everything at once: the call waits for the first load, and a line that is no JSON is answered between them.
#[test]
fn the_first_call_waits_for_the_data_and_every_line_is_answered() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
    command
        .args([
            "mcp",
            "--data",
            concat!(env!("CARGO_MANIFEST_DIR"), "/datasets"),
        ])
        .env_clear()
        .env("HOME", home.path());
    let mut program = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"#,
        r"7",
        r#"[{"jsonrpc":"2.0","id":4,"method":"ping"},{"jsonrpc":"2.0","id":5,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"tokens","arguments":{"query":"UNI","limit":1}}}"#,
    ];
    program
        .stdin
        .as_mut()
        .unwrap()
        .write_all((lines.join("\n") + "\n").as_bytes())
        .unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    let mut answers: Vec<Value> = (0..6)
        .map(|_| serde_json::from_str(&said.next().unwrap().unwrap()).unwrap())
        .collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(
        (&answers[0]["id"], &answers[0]["error"]["code"]),
        (&Value::Null, &json!(-32700)),
        "{answers:?}"
    );
    assert_eq!(
        (&answers[1]["id"], &answers[1]["error"]["code"]),
        (&Value::Null, &json!(-32600)),
        "{answers:?}"
    );
    assert_eq!(answers[2]["id"], 1);
    assert_eq!(
        (&answers[3]["id"], &answers[3]["result"]["isError"]),
        (&json!(3), &json!(false)),
        "{answers:?}"
    );
    for (answer, id) in answers[4..].iter().zip([4, 5]) {
        assert_eq!(
            (&answer["id"], &answer["result"]),
            (&json!(id), &json!({})),
            "each message of a batch"
        );
    }
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
}

/// A slow question, and the tool call for it.
fn long_one() -> (TrackRecordQuery, CallToolRequestParams) {
    let question = TrackRecordQuery {
        contract_address: Address::parse(WETH).unwrap(),
        timeframe: "1h",
        scope: "token",
    };
    let given = json!({ "contractAddress": WETH, "timeframe": "1h" });
    (
        question,
        CallToolRequestParams::new("track_record")
            .with_arguments(given.as_object().unwrap().clone()),
    )
}

/// Asserts that the question ends unanswered.
fn ends_unanswered(service: &QueryService) {
    wait_until("the question ends", || service.waiting() == 0);
    assert!(
        service.cached(&long_one().0).is_none(),
        "it was worked out to its end"
    );
}

fn begins(service: &QueryService) {
    wait_until("the question begins", || service.waiting() > 0);
}

#[test]
fn who_closes_the_connection_stops_the_work() {
    let front_ends = FrontEnds::new();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": long_one().1 })
        .to_string();
    let mut stream = TcpStream::connect(front_ends.base.trim_start_matches("http://")).unwrap();
    let (key, length) = (&front_ends.key, body.len());
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key}\r\nContent-Type: application/json\r\nContent-Length: {length}"
    );
    write!(stream, "{head}\r\n\r\n{body}").unwrap();
    begins(&front_ends.served);
    drop(stream);
    ends_unanswered(&front_ends.served);
}

#[test]
fn a_request_that_is_cancelled_stops_the_work() {
    let front_ends = FrontEnds::new();
    let api = Api::new(
        Arc::clone(&front_ends.served),
        None,
        Arc::new(Keys::in_memory().unwrap()),
        ApiOptions::default(),
    );
    let runtime = runtime();
    runtime.block_on(async {
        let ((ours, theirs), (to_us, to_them)) =
            (tokio::io::simplex(1 << 16), tokio::io::simplex(1 << 16));
        tokio::spawn(api::mcp::serve_between(api, to_us, theirs));
        let client = ().serve((ours, to_them)).await.unwrap();
        let request = ClientRequest::CallToolRequest(Request::new(long_one().1));
        let asked = client
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await
            .unwrap();
        tokio::task::spawn_blocking({
            let service = Arc::clone(&front_ends.served);
            move || begins(&service)
        })
        .await
        .unwrap();
        asked.cancel(None).await.unwrap();
        let service = Arc::clone(&front_ends.served);
        tokio::task::spawn_blocking(move || ends_unanswered(&service))
            .await
            .unwrap();
        client.cancel().await.unwrap();
    });
}
