//! Parity of the Model Context Protocol: every tool gives its endpoint's answer, over HTTP and over stdio, as called by rmcp's own client.

use std::{
    collections::{BTreeSet, HashMap},
    io::{BufRead as _, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use api::keys::Keys;
use api::{
    Api, ApiOptions,
    routes::{ENDPOINTS, Endpoint},
};
use futures_util::stream::BoxStream;
use model::address::Address;
use query::{
    deck::Deck,
    question::{parameter::ParameterKind, track_record::TrackRecordQuestion},
};
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, CallToolResult, ClientJsonRpcMessage, ClientRequest, JsonObject, Request, Tool},
    service::{PeerRequestOptions, RunningService, ServiceError},
    transport::{
        StreamableHttpClientTransport,
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use serde_json::{Value, json};
use tokio::{net::unix::pipe, runtime::Runtime};
use ureq::http::{HeaderName, HeaderValue};

use super::{CASES, FrontEnds, WETH, arguments};
use crate::wait::wait_until;

/// HTTP transport over the client that the other tests use.
#[derive(Clone)]
struct Posts {
    agent: ureq::Agent,
    key: Option<String>,
    origin: Option<&'static str>,
}

type HttpError = StreamableHttpError<ureq::Error>;

impl StreamableHttpClient for Posts {
    type Error = ureq::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        assert_eq!(session_id, None, "there are no sessions");
        let this = self.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let mut request =
                this.agent.post(&*uri).content_type("application/json").header("accept", "application/json, text/event-stream");
            for (name, value) in headers {
                request = request.header(name, value);
            }
            for (name, value) in [("x-api-key", this.key.as_deref()), ("origin", this.origin)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let mut response = request.send(serde_json::to_vec(&message).unwrap()).map_err(HttpError::Client)?;
            let body = response.body_mut().with_config().limit(64 << 20).read_to_vec().map_err(HttpError::Client)?;
            Ok::<_, HttpError>((response.status().as_u16(), body))
        });
        match asked.await?? {
            (202, body) => {
                assert!(body.is_empty());
                Ok(StreamableHttpPostResponse::Accepted)
            }
            (200, body) => Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(&body)?, None)),
            (status, body) => Err(HttpError::UnexpectedServerResponse(format!("{status} {}", String::from_utf8_lossy(&body)).into())),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        _: Arc<str>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        Err(HttpError::ServerDoesNotSupportDeleteSession)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<sse_stream::Sse, SseError>>, HttpError> {
        Err(HttpError::ServerDoesNotSupportSse)
    }
}

/// An MCP client, with the child process if one was started for it.
pub(super) struct Client {
    runtime: Runtime,
    service: RunningService<RoleClient, ()>,
    program: Option<Child>,
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

impl Client {
    pub(super) fn over_http(front_ends: &FrontEnds) -> Self {
        Self::posting(front_ends, Some(front_ends.key.clone()), None).map_err(|error| error.to_string()).unwrap()
    }

    fn posting(front_ends: &FrontEnds, key: Option<String>, origin: Option<&'static str>) -> Result<Self, Box<dyn std::error::Error>> {
        let runtime = runtime();
        let posts = Posts { agent: front_ends.agent.clone(), key, origin };
        let config = StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", front_ends.base));
        let service = runtime.block_on(async { ().serve(StreamableHttpClientTransport::with_client(posts, config)).await })?;
        Ok(Self { runtime, service, program: None })
    }

    fn over_stdio(front_ends: &FrontEnds) -> Self {
        let runtime = runtime();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
        command.arg("mcp").arg("--data").arg(&front_ends.data).arg("--config").arg(&front_ends.config);
        command.env_clear().env("HOME", front_ends.home.path()).current_dir(front_ends.home.path());
        let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sent, answered) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
        let service = runtime.block_on(async {
            let pipes = (pipe::Receiver::from_owned_fd(answered.into()).unwrap(), pipe::Sender::from_owned_fd(sent.into()).unwrap());
            ().serve(pipes).await.unwrap()
        });
        Self { runtime, service, program: Some(program) }
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        self.runtime.block_on(self.service.list_all_tools()).unwrap()
    }

    pub(super) fn call(&self, tool: &str, arguments: JsonObject) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.runtime.block_on(self.service.call_tool(params))
    }

    /// Disconnects; returns the child's stderr, if one was started.
    fn leave(self) -> String {
        self.runtime.block_on(self.service.cancel()).unwrap();
        let mut said = String::new();
        if let Some(mut program) = self.program {
            program.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert!(program.wait().unwrap().success(), "{said}");
        }
        said
    }
}

/// Tool arguments equivalent to a target; `None` if a tool cannot express it: tools answer JSON only, and take each argument once.
fn arguments_of(endpoint: &Endpoint, target: &str) -> Option<JsonObject> {
    let (path, query) = arguments(endpoint.path, target);
    let mut given = JsonObject::new();
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    for (name, value) in path.into_iter().chain(pairs) {
        let value = query::question::parameter::decode(value)?.into_owned();
        match name {
            "format" if value == "json" => {}
            "format" => return None,
            // The type that a client derives from the schema.
            _ => {
                let value = value
                    .parse::<u64>()
                    .map(Value::from)
                    .ok()
                    .or_else(|| value.parse::<bool>().ok().map(Value::from))
                    .unwrap_or(value.into());
                assert!(given.insert(name.to_owned(), value).is_none(), "{target}");
            }
        }
    }
    Some(given)
}

pub(super) fn text(result: &CallToolResult) -> &str {
    // The answer, that it was cut, which tables are of today, how to get the next part, and how old the data are.
    assert!(result.content.len() <= 5);
    &result.content[0].as_text().unwrap().text
}

/// Asserts that the tool's answer, where nothing is cut, equals the endpoint's, byte for byte; of a refusal the code.
fn compare(client: &Client, tool: &str, mut given: JsonObject, (status, sent): &(u16, Vec<u8>)) {
    given.insert("budget_kb".into(), 4_096.into());
    // A tool asks for less than its endpoint answers where nothing is said.
    let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.name == tool).unwrap();
    if ["tokens", "candles", "indicators", "posts", "table"].contains(&tool) && !given.contains_key("addresses") {
        let limit = endpoint.parameters.iter().find(|parameter| parameter.name == "limit").unwrap();
        let ParameterKind::Integer { default, .. } = limit.kind else { panic!("{tool} has no limit") };
        given.entry("limit").or_insert(default.into());
    }
    if tool == "patterns" {
        given.entry("include").or_insert("all".into());
    }
    if tool == "tokens" && !given.contains_key("addresses") {
        given.entry("only").or_insert("".into());
    }
    let what = format!("{tool} {given:?}");
    let result = client.call(tool, given).unwrap();
    assert_eq!(result.is_error, Some(*status >= 400), "{what}");
    if *status >= 400 {
        let (said, problem): (Value, Value) = (serde_json::from_str(text(&result)).unwrap(), serde_json::from_slice(sent).unwrap());
        assert_eq!((said.as_object().unwrap().len(), &said["code"]), (2, &problem["code"]), "{what}");
        assert!(!said["detail"].as_str().unwrap().contains("GET /"), "{said}");
        assert_eq!(result.structured_content, Some(said), "{what}");
        return;
    }
    assert_eq!(text(&result).as_bytes(), sent.as_slice(), "{what}");
    assert_eq!(result.structured_content, serde_json::from_slice(sent).ok(), "{what}");
}

#[test]
fn every_tool_says_what_its_endpoint_says() {
    let front_ends = FrontEnds::new();
    let clients = [Client::over_http(&front_ends), Client::over_stdio(&front_ends)];
    let wallet = json!({ "tokens": { WETH: "1000000000000000000" }, "settings": { "riskLevel": "low" } });
    for client in clients {
        let mut answered = BTreeSet::new();
        for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.tool && endpoint.body.is_none()) {
            let (_, _, targets) = CASES.iter().find(|(name, ..)| *name == endpoint.name).unwrap();
            for target in *targets {
                let target = front_ends.filled(target);
                let Some(given) = arguments_of(endpoint, &target) else { continue };
                // A program that is started loads by itself, and keeps jobs and alerts of its own.
                if client.program.is_some() && ["datasets", "jobs", "job_report", "alerts"].contains(&endpoint.name) {
                    client.call(endpoint.name, given).unwrap();
                    answered.insert(endpoint.name);
                    continue;
                }
                let mut sent = front_ends.over_http(&target, None);
                // Answers computed over several requests are retried until complete.
                while sent.0 == 503 {
                    sent = front_ends.over_http(&target, None);
                }
                let ask_on = || text(&client.call(endpoint.name, given.clone()).unwrap()).contains("\"code\":\"loading\"");
                while sent.0 == 200 && ask_on() {}
                compare(&client, endpoint.name, given.clone(), &sent);
                if sent.0 == 200 {
                    answered.insert(endpoint.name);
                }
            }
        }
        compare(&client, "yield", wallet.as_object().unwrap().clone(), &front_ends.over_http("/yield/optimize", Some(&wallet.to_string())));
        let named = json!({ "tokens": { "WETH": "1000000000000000000" }, "settings": { "riskLevel": "low" } });
        compare(&client, "yield", named.as_object().unwrap().clone(), &front_ends.over_http("/yield/optimize", Some(&wallet.to_string())));
        compare(&client, "yield", JsonObject::new(), &front_ends.over_http("/yield/optimize", Some("{}")));
        let alert = json!({ "condition": "24h<-2" });
        let rehearsed = front_ends.over_http("/alerts/rehearse", Some(&alert.to_string()));
        compare(&client, "rehearse_alert", alert.as_object().unwrap().clone(), &rehearsed);
        answered.extend(["yield", "rehearse_alert"]);
        let tools = client.tools();
        let names: BTreeSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ENDPOINTS.iter().filter(|endpoint| endpoint.tool).map(|endpoint| endpoint.name).collect());
        assert_eq!(names, answered, "every tool gave an answer");
        client.leave();
    }
}

#[test]
fn a_long_answer_is_cut_and_says_what_was_left_out() {
    let front_ends = FrontEnds::new();
    let client = Client::over_http(&front_ends);
    for (tool, given, left_out, says) in [
        ("table", json!({ "table": "candles", "limit": 10_000 }), "the last ", "Request less with `columns`, `where`, `limit`."),
        ("tokens", json!({ "budget_kb": 3, "only": "" }), "`price_history` of each row in `tokens`", "`budget_kb` returns more"),
    ] {
        let kilobytes = given["budget_kb"].as_u64().unwrap_or(32) as usize;
        let result = client.call(tool, given.as_object().unwrap().clone()).unwrap();
        let [answer, note] = [0, 1].map(|nth| result.content[nth].as_text().unwrap().text.clone());
        assert!(answer.len() <= kilobytes * 1_024 && answer.len() > kilobytes * 512, "{tool}: {}", answer.len());
        assert!(note.starts_with("The result was cut; ") && note.contains(says), "{note}");
        assert!(serde_json::from_str::<Value>(&answer).unwrap()["cut"].to_string().contains(left_out), "{tool}");
        assert_eq!(result.structured_content, Some(serde_json::from_str(&answer).unwrap()));
    }
}

#[test]
fn a_tool_tells_what_it_takes() {
    let front_ends = FrontEnds::new();
    let client = Client::over_http(&front_ends);
    for tool in client.tools() {
        let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.name == tool.name).unwrap();
        assert_eq!(tool.annotations.unwrap().read_only_hint, Some(true));
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object");
        let properties = schema["properties"].as_object().unwrap();
        for parameter in endpoint.parameters.iter().filter(|parameter| parameter.name != "format") {
            let property = &properties[parameter.name];
            assert!(property["type"].is_string(), "{property}");
            let known = properties.values().map(|property| property["description"].to_string()).collect::<String>();
            match parameter.kind {
                ParameterKind::Where(columns) => {
                    assert!(columns.iter().all(|column| known.contains(column.name)), "{}", tool.name);
                }
                ParameterKind::Sort { columns, .. } => {
                    assert!(columns.iter().all(|column| known.contains(column.name)), "{}", tool.name);
                }
                ParameterKind::Words(words) => assert!(words.iter().all(|word| known.contains(word)), "{}", tool.name),
                ParameterKind::Word { words, .. } => assert_eq!(property["enum"], json!(words), "{}", tool.name),
                _ => {}
            }
            let required = schema["required"].as_array().is_some_and(|required| required.contains(&parameter.name.into()));
            assert_eq!(required, parameter.kind.is_required(), "{} {}", tool.name, parameter.name);
        }
        assert!(
            !properties.contains_key("format") && properties.contains_key("budget_kb") && schema.to_string().len() < 2_500,
            "{} {}",
            tool.name,
            schema.to_string().len()
        );
        assert!(!schema.to_string().contains("$ref"), "what it refers to is not sent");
    }
    let wallet = client.tools().into_iter().find(|tool| tool.name == "yield").unwrap();
    assert!(wallet.input_schema["properties"]["tokens"].is_object() && wallet.input_schema["required"] == json!(["tokens"]));
}

#[test]
fn what_is_no_tool_or_no_argument_is_refused_by_its_name() {
    let front_ends = FrontEnds::new();
    for client in [Client::over_http(&front_ends), Client::over_stdio(&front_ends)] {
        let refused = |tool: &str, given: Value| {
            let result = client.call(tool, given.as_object().unwrap().clone()).unwrap();
            assert_eq!(result.is_error, Some(true));
            let problem = result.structured_content.clone().unwrap();
            (problem["code"].as_str().unwrap().to_owned(), problem["detail"].as_str().unwrap().to_owned())
        };
        for (tool, given, code, says) in [
            ("token", json!({}), "invalid_parameter", "`token_address` is required"),
            ("token", json!({ "token_address": null }), "invalid_parameter", "`token_address` is required"),
            ("token", json!({ "token_address": "" }), "invalid_parameter", "`token_address` is required"),
            ("token", json!({ "token_address": "0x12" }), "invalid_address", "Invalid address `0x12`"),
            ("token", json!({ "token_address": "../metrics" }), "invalid_address", "Invalid address `../metrics`"),
            ("token", json!({ "address": WETH }), "invalid_parameter", "Did you mean `token_address`?"),
            ("tables", json!({ "table": "tokens" }), "invalid_parameter", "which takes as_of, generation, budget_kb."),
            ("tokens", json!({ "limit": { "of": 3 } }), "invalid_parameter", "`limit` is `{\"of\":3}`"),
            ("tokens", json!({ "limit": 1.5 }), "invalid_parameter", "expected an integer"),
            ("tokens", json!({ "format": "csv" }), "invalid_parameter", "`format` is not an argument"),
            ("tokens", json!({ "limit": 3, "strict": true }), "invalid_parameter", "`strict` is not an argument"),
            ("yield", json!({ "tokenz": {} }), "invalid_parameter", "Did you mean `tokens`?"),
            ("yield", json!({ "tokens": {} }), "invalid_value", "`/tokens`"),
            ("yield", json!({ "tokens": { "UNO": "1" } }), "invalid_value", "`UNO` is not an address"),
            ("yield", json!({ "tokens": { "WETH": "1", WETH: "1" } }), "invalid_value", "is set twice"),
            ("rehearse_alert", json!({ "token_address": "UNO", "condition": "24h<-2" }), "invalid_value", "`\"UNO\"` is not an address"),
        ] {
            let (found, detail) = refused(tool, given);
            assert!(found == code && detail.contains(says), "{tool}: {found} {detail}");
        }
        // An integer may be sent as a float, a list as a JSON array.
        let list = json!({ "limit": 2.0, "sort": ["-market_cap", "symbol"], "only": ["symbol"] });
        let listed = client.call("tokens", list.as_object().unwrap().clone()).unwrap();
        assert_eq!(text(&listed).as_bytes(), front_ends.over_http("/tokens?limit=2&sort=-market_cap,symbol&only=symbol", None).1);
        let unknown = client.call("tokns", JsonObject::new()).unwrap_err().to_string();
        assert!(unknown.contains("-32602") && unknown.contains("did you mean `tokens`?"), "{unknown}");
        client.leave();
    }
}

#[test]
fn only_who_has_the_key_and_comes_from_here_is_answered() {
    let front_ends = FrontEnds::new();
    let key = || Some(front_ends.key.clone());
    let refused = |key: Option<String>, origin| Client::posting(&front_ends, key, origin).err().map(|error| error.to_string());
    assert!(refused(None, None).unwrap().contains("401"));
    assert!(refused(Some("wrong".to_owned()), None).unwrap().contains("401"));
    let foreign = refused(key(), Some("http://evil.example")).unwrap();
    assert!(foreign.contains("403") && foreign.contains("foreign_origin"), "{foreign}");
    assert!(refused(key(), Some("null")).unwrap().contains("403"));
    assert_eq!(refused(key(), None), None);
    let own: &'static str = front_ends.base.clone().leak();
    assert_eq!(refused(key(), Some(own)), None, "the server's own page");
    for method in ["GET", "DELETE"] {
        let request =
            ureq::http::Request::builder().method(method).uri(format!("{}/mcp", front_ends.base)).header("x-api-key", &front_ends.key);
        let response = front_ends.agent.run(request.body(()).unwrap()).unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["allow"]), (405, &HeaderValue::from_static("POST")), "{method}");
    }
}

#[test]
fn what_is_no_message_is_refused_in_the_protocols_words() {
    let front_ends = FrontEnds::new();
    let ping = |version: &str| json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": { "v": version } }).to_string();
    for (body, status, code) in [
        ("{", 400, -32_700),
        ("", 400, -32_700),
        ("[]", 400, -32_600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, -32_600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", 200, -32_601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tokens\",\"arguments\":\"{}\"}}", 200, -32_602),
    ] {
        let (answered, sent) = front_ends.over_http("/mcp", Some(body));
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        assert_eq!((answered, &sent["jsonrpc"], &sent["error"]["code"]), (status, &json!("2.0"), &json!(code)), "{body}: {sent}");
    }
    let (status, sent) = front_ends.over_http("/mcp", Some(&ping("")));
    assert_eq!((status, serde_json::from_slice::<Value>(&sent).unwrap()), (200, json!({ "jsonrpc": "2.0", "id": 7, "result": {} })));
    let large = format!("\"{}\"", "a".repeat(2 << 20));
    assert_eq!(front_ends.over_http("/mcp", Some(&large)).0, 413);
}

/// A client that says everything at once: the call waits for the first load, and a line that is no JSON is answered between them.
#[test]
fn the_first_call_waits_for_the_data_and_every_line_is_answered() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
    command.args(["mcp", "--data", concat!(env!("CARGO_MANIFEST_DIR"), "/datasets")]).env_clear().env("HOME", home.path());
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"tokens","arguments":{"query":"UNI","limit":1}}}"#,
    ];
    program.stdin.as_mut().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    let mut answers: Vec<Value> = (0..3).map(|_| serde_json::from_str(&said.next().unwrap().unwrap()).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&Value::Null, &json!(-32700)), "{answers:?}");
    assert_eq!(answers[1]["id"], 1);
    assert_eq!((&answers[2]["id"], &answers[2]["result"]["isError"]), (&json!(3), &json!(false)), "{answers:?}");
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
}

/// A slow question, and the tool call for it.
fn long_one() -> (TrackRecordQuestion, CallToolRequestParams) {
    let question = TrackRecordQuestion { contract_address: Address::parse(WETH).unwrap(), timeframe: "1h", scope: "token" };
    let given = json!({ "contractAddress": WETH, "timeframe": "1h" });
    (question, CallToolRequestParams::new("track_record").with_arguments(given.as_object().unwrap().clone()))
}

/// Asserts that the question ends unanswered.
fn ends_unanswered(deck: &Deck) {
    wait_until("the question ends", || deck.waiting() == 0);
    assert!(deck.cached(&long_one().0).is_none(), "it was worked out to its end");
}

fn begins(deck: &Deck) {
    wait_until("the question begins", || deck.waiting() > 0);
}

#[test]
fn who_closes_the_connection_stops_the_work() {
    let front_ends = FrontEnds::new();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": long_one().1 }).to_string();
    let mut stream = TcpStream::connect(front_ends.base.trim_start_matches("http://")).unwrap();
    let (key, length) = (&front_ends.key, body.len());
    let head =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key}\r\nContent-Type: application/json\r\nContent-Length: {length}");
    write!(stream, "{head}\r\n\r\n{body}").unwrap();
    begins(&front_ends.served);
    drop(stream);
    ends_unanswered(&front_ends.served);
}

#[test]
fn a_request_that_is_cancelled_stops_the_work() {
    let front_ends = FrontEnds::new();
    let api = Api::new(Arc::clone(&front_ends.served), None, Arc::new(Keys::in_memory().unwrap()), ApiOptions::default());
    let runtime = runtime();
    runtime.block_on(async {
        let ((ours, theirs), (to_us, to_them)) = (tokio::io::simplex(1 << 16), tokio::io::simplex(1 << 16));
        tokio::spawn(api::mcp::serve_between(api, to_us, theirs));
        let client = ().serve((ours, to_them)).await.unwrap();
        let request = ClientRequest::CallToolRequest(Request::new(long_one().1));
        let asked = client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
        tokio::task::spawn_blocking({
            let deck = Arc::clone(&front_ends.served);
            move || begins(&deck)
        })
        .await
        .unwrap();
        asked.cancel(None).await.unwrap();
        let deck = Arc::clone(&front_ends.served);
        tokio::task::spawn_blocking(move || ends_unanswered(&deck)).await.unwrap();
        client.cancel().await.unwrap();
    });
}
