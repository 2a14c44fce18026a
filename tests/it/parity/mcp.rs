//! Parity of the Model Context Protocol: every tool gives its endpoint's answer, over HTTP and over stdio, as called by rmcp's own client.

mod budget;
mod figures;
mod protocol;

use std::{
    collections::{BTreeSet, HashMap},
    io::Read,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use api::routes::{ENDPOINTS, Endpoint};
use futures_util::stream::BoxStream;
use query::queries::parameter::ParameterKind;
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, CallToolResult, ClientJsonRpcMessage, JsonObject, Tool},
    service::{RunningService, ServiceError},
    transport::{
        StreamableHttpClientTransport,
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpClientTransportConfig,
            StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use serde_json::{Value, json};
use tokio::{net::unix::pipe, runtime::Runtime};
use ureq::http::{HeaderName, HeaderValue};

use super::{CASES, FrontEnds, WETH, arguments};

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
            let mut request = this
                .agent
                .post(&*uri)
                .content_type("application/json")
                .header("accept", "application/json, text/event-stream");
            for (name, value) in headers {
                request = request.header(name, value);
            }
            for (name, value) in [("x-api-key", this.key.as_deref()), ("origin", this.origin)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let mut response = request
                .send(serde_json::to_vec(&message).unwrap())
                .map_err(HttpError::Client)?;
            let body = response
                .body_mut()
                .with_config()
                .limit(64 << 20)
                .read_to_vec()
                .map_err(HttpError::Client)?;
            Ok::<_, HttpError>((response.status().as_u16(), body))
        });
        match asked.await?? {
            (202, body) => {
                assert!(body.is_empty());
                Ok(StreamableHttpPostResponse::Accepted)
            }
            (200, body) => Ok(StreamableHttpPostResponse::Json(
                serde_json::from_slice(&body)?,
                None,
            )),
            (status, body) => Err(HttpError::UnexpectedServerResponse(
                format!("{status} {}", String::from_utf8_lossy(&body)).into(),
            )),
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
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

impl Client {
    pub(super) fn over_http(front_ends: &FrontEnds) -> Self {
        Self::posting(front_ends, Some(front_ends.key.clone()), None)
            .map_err(|error| error.to_string())
            .unwrap()
    }

    fn posting(
        front_ends: &FrontEnds,
        key: Option<String>,
        origin: Option<&'static str>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let runtime = runtime();
        let posts = Posts {
            agent: front_ends.agent.clone(),
            key,
            origin,
        };
        let config =
            StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", front_ends.base));
        let service = runtime.block_on(async {
            ().serve(StreamableHttpClientTransport::with_client(posts, config))
                .await
        })?;
        Ok(Self {
            runtime,
            service,
            program: None,
        })
    }

    fn over_stdio(front_ends: &FrontEnds) -> Self {
        let runtime = runtime();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
        command
            .arg("mcp")
            .arg("--data")
            .arg(&front_ends.data)
            .arg("--config")
            .arg(&front_ends.config);
        command
            .env_clear()
            .env("HOME", front_ends.home.path())
            .current_dir(front_ends.home.path());
        let mut program = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sent, answered) = (
            program.stdin.take().unwrap(),
            program.stdout.take().unwrap(),
        );
        let service = runtime.block_on(async {
            let pipes = (
                pipe::Receiver::from_owned_fd(answered.into()).unwrap(),
                pipe::Sender::from_owned_fd(sent.into()).unwrap(),
            );
            ().serve(pipes).await.unwrap()
        });
        Self {
            runtime,
            service,
            program: Some(program),
        }
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        self.runtime
            .block_on(self.service.list_all_tools())
            .unwrap()
    }

    pub(super) fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.runtime.block_on(self.service.call_tool(params))
    }

    /// Disconnects; returns the child's stderr, if one was started.
    fn leave(self) -> String {
        self.runtime.block_on(self.service.cancel()).unwrap();
        let mut said = String::new();
        if let Some(mut program) = self.program {
            program
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut said)
                .unwrap();
            assert!(program.wait().unwrap().success(), "{said}");
        }
        said
    }
}

/// Tool arguments equivalent to a target; `None` if a tool cannot express it: tools answer JSON only, and take each argument once.
fn arguments_of(endpoint: &Endpoint, target: &str) -> Option<JsonObject> {
    let (path, query) = arguments(endpoint.path, target);
    let mut given = JsonObject::new();
    let pairs = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    for (name, value) in path.into_iter().chain(pairs) {
        let value = query::queries::parameter::decode(value)?.into_owned();
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
    let endpoint = ENDPOINTS
        .iter()
        .find(|endpoint| endpoint.name == tool)
        .unwrap();
    if [
        "tokens",
        "candles",
        "holders",
        "indicators",
        "posts",
        "table",
    ]
    .contains(&tool)
        && !given.contains_key("addresses")
    {
        let limit = endpoint
            .parameters
            .iter()
            .find(|parameter| parameter.name == "limit")
            .unwrap();
        let ParameterKind::Integer { default, .. } = limit.kind else {
            panic!("{tool} has no limit")
        };
        given.entry("limit").or_insert(default.into());
    }
    if tool == "patterns" {
        given.entry("include").or_insert("all".into());
        given.entry("explain").or_insert("false".into());
    }
    if tool == "trendline" {
        given.entry("explain").or_insert(false.into());
    }
    let is_batch = tool == "tokens" && given.contains_key("addresses");
    if ["tokens", "holders", "compare"].contains(&tool) && !is_batch {
        given.entry("only").or_insert("".into());
    }
    let what = format!("{tool} {given:?}");
    let result = client.call(tool, given).unwrap();
    assert_eq!(result.is_error, Some(*status >= 400), "{what}");
    if *status >= 400 {
        let (said, problem): (Value, Value) = (
            serde_json::from_str(text(&result)).unwrap(),
            serde_json::from_slice(sent).unwrap(),
        );
        assert_eq!(
            (said.as_object().unwrap().len(), &said["code"]),
            (2, &problem["code"]),
            "{what}"
        );
        assert!(
            !said["detail"].as_str().unwrap().contains("GET /"),
            "{said}"
        );
        assert_eq!(result.structured_content, Some(said), "{what}");
        return;
    }
    assert_eq!(text(&result).as_bytes(), sent.as_slice(), "{what}");
    assert_eq!(
        result.structured_content,
        serde_json::from_slice(sent).ok(),
        "{what}"
    );
}

pub(super) fn of(given: &Value) -> JsonObject {
    given.as_object().unwrap().clone()
}

#[test]
fn every_tool_says_what_its_endpoint_says() {
    let front_ends = FrontEnds::new();
    let clients = [
        Client::over_http(&front_ends),
        Client::over_stdio(&front_ends),
    ];
    let wallet =
        json!({ "tokens": { WETH: "1000000000000000000" }, "settings": { "riskLevel": "low" } });
    for client in clients {
        let mut answered = BTreeSet::new();
        for endpoint in ENDPOINTS
            .iter()
            .filter(|endpoint| endpoint.tool && endpoint.body.is_none())
        {
            let (_, _, targets) = CASES
                .iter()
                .find(|(name, ..)| *name == endpoint.name)
                .unwrap();
            for target in *targets {
                let target = front_ends.filled(target);
                let Some(given) = arguments_of(endpoint, &target) else {
                    continue;
                };
                // A tool takes an indicator without its periods.
                if target.contains("names=sma&") || target.ends_with("names=sma") {
                    let result = client.call(endpoint.name, given).unwrap();
                    assert_eq!(result.is_error, Some(false));
                    continue;
                }
                // A program that is started loads by itself, and keeps jobs and alerts of its own.
                if client.program.is_some()
                    && ["datasets", "jobs", "job_report", "alerts"].contains(&endpoint.name)
                {
                    client.call(endpoint.name, given).unwrap();
                    answered.insert(endpoint.name);
                    continue;
                }
                let mut sent = front_ends.over_http(&target, None);
                // Answers computed over several requests are retried until complete.
                while sent.0 == 503 {
                    sent = front_ends.over_http(&target, None);
                }
                let ask_on = || {
                    text(&client.call(endpoint.name, given.clone()).unwrap())
                        .contains("\"code\":\"loading\"")
                };
                while sent.0 == 200 && ask_on() {}
                compare(&client, endpoint.name, given.clone(), &sent);
                if sent.0 == 200 {
                    answered.insert(endpoint.name);
                }
            }
        }
        compare(
            &client,
            "yield",
            wallet.as_object().unwrap().clone(),
            &front_ends.over_http("/yield/optimize", Some(&wallet.to_string())),
        );
        let named = json!({ "tokens": { "WETH": "1000000000000000000" }, "settings": { "riskLevel": "low" } });
        compare(
            &client,
            "yield",
            named.as_object().unwrap().clone(),
            &front_ends.over_http("/yield/optimize", Some(&wallet.to_string())),
        );
        compare(
            &client,
            "yield",
            JsonObject::new(),
            &front_ends.over_http("/yield/optimize", Some("{}")),
        );
        let alert = json!({ "condition": "24h<-2" });
        let rehearsed = front_ends.over_http("/alerts/rehearse", Some(&alert.to_string()));
        compare(
            &client,
            "rehearse_alert",
            alert.as_object().unwrap().clone(),
            &rehearsed,
        );
        let added = [
            client.call("create_job", of(&json!({ "token_address": "WETH" }))),
            client.call("create_job", of(&json!({ "addresses": "WETH, UNI" }))),
            client.call("add_alert", of(&json!({ "condition": "24h<-2" }))),
        ];
        for result in added {
            let result = result.unwrap();
            assert_eq!(result.is_error, Some(false), "{result:?}");
        }
        answered.extend(["yield", "rehearse_alert", "create_job", "add_alert"]);
        let tools = client.tools();
        let names: BTreeSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(
            names,
            ENDPOINTS
                .iter()
                .filter(|endpoint| endpoint.tool)
                .map(|endpoint| endpoint.name)
                .collect()
        );
        assert_eq!(names, answered, "every tool gave an answer");
        client.leave();
    }
}

/// Tools that add something.
const ADDING: &[&str] = &["add_alert", "create_job"];

#[test]
fn a_tool_tells_what_it_takes() {
    let front_ends = FrontEnds::new();
    let client = Client::over_http(&front_ends);
    for tool in client.tools() {
        let endpoint = ENDPOINTS
            .iter()
            .find(|endpoint| endpoint.name == tool.name)
            .unwrap();
        let hints = tool.annotations.unwrap();
        let adds = ADDING.contains(&&*tool.name);
        assert_eq!(
            (
                hints.read_only_hint,
                hints.destructive_hint,
                hints.open_world_hint
            ),
            (Some(!adds), adds.then_some(false), Some(false)),
            "{}",
            tool.name
        );
        assert!(
            tool.title
                .is_some_and(|title| title.starts_with(char::is_uppercase))
        );
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object");
        let properties = schema["properties"].as_object().unwrap();
        for parameter in endpoint
            .parameters
            .iter()
            .filter(|parameter| parameter.name != "format")
        {
            // A token has one name in every tool.
            let name = match parameter.kind {
                ParameterKind::Address => "token_address",
                _ => parameter.name,
            };
            let property = &properties[name];
            assert!(property["type"].is_string(), "{property}");
            let known = properties
                .values()
                .map(|property| property["description"].to_string())
                .collect::<String>();
            match parameter.kind {
                ParameterKind::Where(columns) => {
                    assert!(
                        columns.iter().all(|column| known.contains(column.name)),
                        "{}",
                        tool.name
                    );
                }
                ParameterKind::Sort { columns, .. } => {
                    assert!(
                        columns.iter().all(|column| known.contains(column.name)),
                        "{}",
                        tool.name
                    );
                }
                ParameterKind::Words(words) => assert!(
                    words.iter().all(|word| known.contains(word)),
                    "{}",
                    tool.name
                ),
                ParameterKind::Integer { min, max, .. } if max <= 1_000_000 => {
                    assert_eq!(
                        (
                            property.get("maximum"),
                            property
                                .get("minimum")
                                .map_or(1, |min| min.as_u64().unwrap())
                        ),
                        (Some(&json!(max)), min),
                        "{} {name}",
                        tool.name
                    );
                }
                ParameterKind::Word { words, .. } => {
                    assert_eq!(property["enum"], json!(words), "{}", tool.name);
                }
                _ => {}
            }
            let required = schema["required"]
                .as_array()
                .is_some_and(|required| required.contains(&name.into()));
            assert_eq!(
                required,
                // Without a token, the record is that of all tokens.
                parameter.kind.is_required()
                    && (name, &*tool.name) != ("token_address", "track_record"),
                "{} {}",
                tool.name,
                parameter.name
            );
        }
        assert!(
            !properties.contains_key("format")
                && properties.contains_key("budget_kb")
                && schema["additionalProperties"] == false
                && schema.to_string().len() < if tool.name == "table" { 4_000 } else { 2_500 },
            "{} {}",
            tool.name,
            schema.to_string().len()
        );
        assert!(
            !schema.to_string().contains("$ref"),
            "what it refers to is not sent"
        );
    }
    let wallet = client
        .tools()
        .into_iter()
        .find(|tool| tool.name == "yield")
        .unwrap();
    assert!(
        wallet.input_schema["properties"]["tokens"].is_object()
            && wallet.input_schema["required"] == json!(["tokens"])
    );
}
