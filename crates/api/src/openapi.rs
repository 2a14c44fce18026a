//! The OpenAPI 3.1 document, generated from the endpoint table, the queries' parameters, the answers' schemas and the table of error
//! codes, so that it matches the implementation.

mod lists;

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use bytes::Bytes;
use schemars::{Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{
    call::{Answered, Call, HandlerStep},
    endpoint::{Content, DEEP_ANALYSIS, Endpoint, Shape, TAGS, Verb},
    events::EVENTS,
    format::{REPORT_FORMATS, ROW_FORMATS},
    reply,
    stream::LAST_EVENT_ID,
};
use model::error::{CODES, Code, ProblemBody};
use query::queries::{
    Dated, Query,
    parameter::{
        AS_OF, AS_OF_PARAMETER, EXAMPLE_TOKEN, EXPLAIN, GENERATION_PARAMETER, NamedToken,
        Parameter, ParameterKind, STRICT_PARAMETER,
    },
};

/// The document with its entity tag; constant for the process.
static DOCUMENT: OnceLock<(Bytes, String)> = OnceLock::new();

/// Returns the entity tag of bytes that are constant for the process.
pub(super) fn etag(bytes: &[u8]) -> String {
    format!("\"{}\"", const_hex::encode(&Sha256::digest(bytes)[..8]))
}

/// An example answer per endpoint name. A test checks them against the demo data.
static EXAMPLES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

#[expect(
    clippy::unnecessary_wraps,
    reason = "all handlers have the same return type"
)]
pub(super) fn answer(call: &Call<'_>) -> Answered {
    let (text, etag) = DOCUMENT.get_or_init(|| {
        let text = serde_json::to_vec(&document(call.api.router.endpoints)).unwrap_or_default();
        let etag = etag(&text);
        (text.into(), etag)
    });
    Ok(HandlerStep::Now(reply::tagged(
        text,
        etag,
        call.if_none_match,
    )))
}

fn document(endpoints: &[Endpoint]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings
            .transforms
            .push(Box::new(RecursiveTransform(words_as_enum)));
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    // Request schemas may omit members that answer schemas require.
    let mut bodies = settings.clone().for_deserialize().into_generator();
    let mut schemas = settings.for_serialize().into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints {
        let operation = operation(endpoint, &mut schemas, &mut bodies);
        if let Value::Object(item) = paths.entry(endpoint.path).or_insert_with(|| json!({})) {
            item.insert(endpoint.verb.method().to_lowercase(), operation);
        }
    }
    schemas.subschema_for::<ProblemBody>();
    let mut components = schemas.take_definitions(true);
    components.extend(bodies.take_definitions(true));
    if let Some(code) = components
        .get_mut("ProblemBody")
        .and_then(|schema| schema.pointer_mut("/properties/code"))
    {
        code["enum"] = CODES.iter().map(|row| row.word).collect();
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "tokendeck",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT", "identifier": "MIT" },
            "summary": "Token analytics and yield optimization over your own datasets.",
            "description": format!(
                "Addresses are case-insensitive in requests and lower case in responses. Money is USD, APY percent, fractions 0–1. `{}` \
                is an alias of `{}`. Unknown query parameters are ignored, or rejected with `strict=true`. HEAD works wherever GET does.",
                DEEP_ANALYSIS[1].trim_matches('/'), DEEP_ANALYSIS[0].trim_matches('/'),
            ),
        },
        "servers": [{ "url": "/" }],
        "tags": TAGS.iter().map(|(name, meaning)| json!({ "name": name, "description": meaning })).collect::<Vec<_>>(),
        "security": [{ "apiKey": [] }, { "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": components,
            "parameters": SHARED.iter().map(|parameter| (parameter.name.to_owned(), described(parameter))).collect::<Map<_, _>>(),
            "responses": responses(),
            "securitySchemes": { "apiKey": { "type": "apiKey", "in": "header", "name": "x-api-key" }, "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// Rewrites a `oneOf` of `const`, as generated for documented enums, to one `enum` with the meanings in its description: client generators
/// cannot read the former.
fn words_as_enum(schema: &mut Schema) {
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let mut words = Vec::new();
    let mut meanings: Vec<String> = schema
        .get("description")
        .and_then(Value::as_str)
        .map(str::to_owned)
        .into_iter()
        .collect();
    for choice in choices {
        let given = choice.get("const").map(std::slice::from_ref).or_else(|| {
            choice
                .get("enum")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
        });
        let Some(given) = given.filter(|given| given.iter().all(Value::is_string)) else {
            return;
        };
        if let (Some(word), Some(meaning)) = (
            given[0].as_str(),
            choice.get("description").and_then(Value::as_str),
        ) {
            meanings.push(format!("`{word}`: {meaning}"));
        }
        words.extend(given.iter().cloned());
    }
    schema.remove("oneOf");
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), words.into());
    if !meanings.is_empty() {
        schema.insert("description".into(), meanings.join(" ").into());
    }
}

/// Parameters that many endpoints take: `strict` every one.
const SHARED: &[Parameter] = &[STRICT_PARAMETER, GENERATION_PARAMETER, AS_OF_PARAMETER];

fn operation(
    endpoint: &Endpoint,
    schemas: &mut SchemaGenerator,
    bodies: &mut SchemaGenerator,
) -> Value {
    let mut parameters: Vec<Value> = endpoint.parameters.iter().map(described).collect();
    if let Content::Files(files) = endpoint.content {
        // They are named in the path.
        parameters[0]["schema"]["enum"] = files.iter().map(|file| file.name).collect();
    }
    if matches!(endpoint.content, Content::Events) {
        parameters.push(json!({
            "name": LAST_EVENT_ID,
            "in": "header",
            "required": false,
            "description": "`id` of the last event received; the events after it are sent first.",
            "schema": { "type": "integer", "minimum": 0 },
        }));
    }
    let shared = SHARED
        .iter()
        .filter(|parameter| endpoint.as_of || parameter.name == STRICT_PARAMETER.name);
    parameters.extend(
        shared.map(
            |parameter| json!({ "$ref": format!("#/components/parameters/{}", parameter.name) }),
        ),
    );
    let mut operation = json!({
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "parameters": parameters,
        "responses": answers(endpoint, schemas),
    });
    if endpoint.open {
        operation["security"] = json!([]);
    }
    if let Some(shape) = endpoint.body {
        operation["requestBody"] = request_body(shape, bodies);
    }
    operation
}

/// Returns the responses of an endpoint by status.
fn answers(endpoint: &Endpoint, schemas: &mut SchemaGenerator) -> Map<String, Value> {
    let mut headers = json!({ "x-request-id": text_header("The request id that the client sent, or a new one.") });
    let mut answers = Map::new();
    if endpoint.tagged {
        headers["etag"] =
            text_header("Identifies this response; does not change until the data changes.");
        let unchanged = json!({ "description": "Not modified: `If-None-Match` matches the response.", "headers": headers.clone() });
        answers.insert("304".into(), unchanged);
    }
    if endpoint.as_of {
        headers["x-data-generation"] = json!({
            "description": "Data snapshot of the response; pass it as `generation` to use it again.",
            "schema": { "type": "integer", "minimum": 1 },
        });
    }
    if endpoint.as_of {
        let meaning = "Time of the newest row that the response is based on; absent if its rows have no times, and in streams.";
        headers["x-data-as-of"] = text_header(meaning);
    }
    if endpoint.paged() {
        headers["link"] = text_header(
            "RFC 8288 links to other pages, such as `next`; for candles, to earlier candles.",
        );
    }
    if endpoint.status == 202 {
        headers["location"] = text_header("The job's path.");
    }
    if let Some(meaning) = endpoint.no_content {
        answers.insert(
            "204".into(),
            json!({ "description": meaning, "headers": headers.clone() }),
        );
    }
    let mut success = json!({ "description": endpoint.summary, "headers": headers });
    if let Some(content) = content_of(endpoint, schemas) {
        success["content"] = content;
    }
    answers.insert(endpoint.status.to_string(), success);
    if endpoint.path == "/mcp" {
        let meaning = "A notification was received; it has no answer.";
        answers.insert(
            "202".into(),
            json!({ "description": meaning, "headers": headers.clone() }),
        );
    }
    for (status, codes) in by_status(&codes_of(endpoint)) {
        let words: Vec<_> = codes
            .iter()
            .map(|code| format!("`{}`", code.word()))
            .collect();
        answers.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{status}"), "description": words.join(", ") }));
    }
    answers
}

/// Returns the success body by media type; `None` without a body.
fn content_of(endpoint: &Endpoint, schemas: &mut SchemaGenerator) -> Option<Value> {
    let mut content = match endpoint.content {
        Content::Json(shape) => {
            json!({ "application/json": { "schema": shape(schemas), "example": EXAMPLES.get(endpoint.name) } })
        }
        Content::Document => json!({ "application/json": { "schema": { "type": "object" } } }),
        Content::Events => {
            let kinds = EVENTS.iter().map(|kind| {
                (
                    kind.name.to_owned(),
                    json!({ "description": kind.meaning, "data": (kind.data)(schemas) }),
                )
            });
            json!({ "text/event-stream": { "schema": { "type": "string" }, "x-events": kinds.collect::<Map<_, _>>() } })
        }
        Content::Text(kind) => json!({ kind: { "schema": { "type": "string" } } }),
        Content::Files(files) => files
            .iter()
            .map(|file| {
                let bytes = if file.kind.starts_with("text/") {
                    json!({ "type": "string" })
                } else {
                    json!({ "type": "string", "format": "binary" })
                };
                (file.kind.to_owned(), json!({ "schema": bytes }))
            })
            .collect(),
        Content::Nothing => return None,
    };
    if let Some(words) = endpoint.formats() {
        for row in ROW_FORMATS
            .iter()
            .chain(REPORT_FORMATS)
            .filter(|row| row.word != ROW_FORMATS[0].word && words.contains(&row.word))
        {
            let bytes = if row.text {
                json!({ "type": "string" })
            } else {
                json!({ "type": "string", "format": "binary" })
            };
            content[row.media[0]] = json!({ "schema": bytes });
        }
    }
    Some(content)
}

/// Schema of what an explained answer as of a time has beside its own members.
/// Schema of a query's answer, with what its body says of the answer's time.
pub(super) fn answer_schema<Q: Query>(schemas: &mut SchemaGenerator) -> Schema {
    let schema = schemas.subschema_for::<Q::Answer>();
    let name = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.rsplit('/').next())
        .unwrap_or_default();
    let explains = Q::PARAMETERS
        .iter()
        .any(|parameter| parameter.name == EXPLAIN.name);
    if let Some(Value::Object(members)) = schemas
        .definitions_mut()
        .get_mut(name)
        .and_then(|schema| schema.get_mut("properties"))
    {
        if Q::DATED == Dated::Always || Q::DATED == Dated::Explained && explains {
            let description = match Q::DATED {
                Dated::Explained => {
                    "Only with `explain`: time of the newest row that the response is based on. Absent if no row has a \
                    time."
                }
                _ => {
                    "Time of the newest row that the response is based on. Absent if no row has a time."
                }
            };
            members.insert(
                "asOf".into(),
                json!({ "type": "string", "format": "date-time", "description": description }),
            );
        }
        if explains {
            let description = "Only with `explain` and `as_of`: tables without history, which show current values.";
            members.insert("asOfUnknown".into(), json!({ "type": "array", "items": { "type": "string" }, "description": description }));
        }
    }
    schema
}

fn text_header(meaning: &str) -> Value {
    json!({ "description": meaning, "schema": { "type": "string" } })
}

/// Returns the error codes that the endpoint may answer with.
fn codes_of(endpoint: &Endpoint) -> Vec<Code> {
    let mut codes = vec![
        Code::InvalidRequest,
        Code::RouteNotFound,
        Code::MethodNotAllowed,
        Code::TargetTooLong,
        Code::HeadersTooLarge,
        Code::MisdirectedHost,
        Code::Defect,
        Code::ShuttingDown,
    ];
    if !endpoint.open {
        codes.extend([Code::Unauthorized, Code::TooManyRequests, Code::Busy]);
    }
    if endpoint.verb != Verb::Get {
        codes.push(Code::ForeignOrigin);
    }
    if endpoint.needs_data() {
        codes.extend([Code::Loading, Code::SourceUnavailable, Code::Cancelled]);
    }
    if endpoint.as_of {
        codes.extend([Code::GenerationGone, Code::InvalidParameter]);
    }
    for parameter in endpoint.parameters {
        codes.extend(match parameter.kind {
            ParameterKind::Address => &[
                Code::InvalidAddress,
                Code::TokenNotFound,
                Code::AmbiguousToken,
            ][..],
            ParameterKind::Holder => &[Code::InvalidAddress],
            ParameterKind::Addresses { .. } => &[
                Code::InvalidAddress,
                Code::InvalidParameter,
                Code::AmbiguousToken,
            ],
            ParameterKind::Identifier => &[],
            _ => &[Code::InvalidParameter],
        });
    }
    if endpoint.body.is_some() {
        codes.extend([
            Code::InvalidJson,
            Code::InvalidValue,
            Code::BodyTooLarge,
            Code::UnsupportedMediaType,
            Code::UnsupportedEncoding,
            Code::RequestTimeout,
        ]);
    }
    codes.extend(endpoint.codes);
    codes.sort_by_key(|code| *code as usize);
    codes.dedup();
    codes
}

fn by_status(codes: &[Code]) -> BTreeMap<u16, Vec<Code>> {
    let mut statuses: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        statuses.entry(code.status()).or_default().push(*code);
    }
    statuses
}

/// Returns one response per status, with its codes and an example.
fn responses() -> Value {
    let all: Vec<Code> = CODES.iter().map(|row| row.code).collect();
    let responses = by_status(&all).into_iter().map(|(status, codes)| {
        let (title, words) = (codes[0].row().title, codes.iter().map(|code| code.word()).collect::<Vec<_>>());
        let example = json!({ "type": "about:blank", "title": title, "status": status, "code": words[0], "detail": "…" });
        let mut response = json!({
            "description": format!("{title}: {}.", words.join(", ")),
            "content": { "application/problem+json": {
                "schema": { "$ref": "#/components/schemas/ProblemBody" },
                "example": example,
            } },
        });
        let header = match status {
            401 => Some("WWW-Authenticate"),
            405 => Some("Allow"),
            429 | 503 => Some("Retry-After"),
            _ => None,
        };
        if let Some(header) = header {
            response["headers"] = json!({ header: { "schema": { "type": "string" } } });
        }
        (status.to_string(), response)
    });
    Value::Object(responses.collect())
}

fn described(parameter: &Parameter) -> Value {
    let mut described = json!({
        "name": parameter.name,
        "in": if parameter.kind.in_path() { "path" } else { "query" },
        "required": parameter.kind.is_required(),
        "description": parameter.meaning,
        "schema": value_of(parameter.kind),
    });
    if parameter.name == AS_OF {
        described["schema"] = lists::as_of();
    }
    if matches!(parameter.kind, ParameterKind::Address) {
        described["example"] = EXAMPLE_TOKEN.into();
    }
    described
}

/// Schema of a parameter's value.
pub(super) fn value_of(kind: ParameterKind) -> Value {
    match kind {
        ParameterKind::Address => NamedToken::text().into(),
        ParameterKind::Holder => json!({ "type": "string", "pattern": "^0[xX][0-9a-fA-F]{40}$" }),
        ParameterKind::Identifier => json!({ "type": "string" }),
        ParameterKind::Integer { min, max, default } => {
            json!({ "type": "integer", "minimum": min, "maximum": max, "default": default })
        }
        ParameterKind::Word {
            words,
            default: Some(default),
        } => json!({ "type": "string", "enum": words, "default": default }),
        ParameterKind::Word {
            words,
            default: None,
        } => json!({ "type": "string", "enum": words }),
        ParameterKind::Words(words) => lists::words(words),
        ParameterKind::Addresses { min, max } => lists::addresses(min, max),
        ParameterKind::Where(columns) => lists::conditions(columns),
        ParameterKind::Sort { columns, default } => lists::sort(columns, default),
        ParameterKind::Indicators { default } => lists::indicators(default),
        ParameterKind::Flag => json!({ "type": "boolean", "default": false }),
        ParameterKind::Text | ParameterKind::Line(_) => {
            json!({ "type": "string", "maxLength": kind.chars_max() })
        }
        ParameterKind::Column => {
            json!({ "type": "string", "minLength": 1, "maxLength": kind.chars_max() })
        }
        ParameterKind::Generation => json!({ "type": "integer", "minimum": 1 }),
        ParameterKind::Chain => json!({ "type": "string", "examples": ["eth", "base"] }),
        ParameterKind::Time => lists::time(),
    }
}

/// Schema of a request body, with the shape's example.
fn request_body(shape: Shape, bodies: &mut SchemaGenerator) -> Value {
    let schema = shape(bodies);
    let name = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|path| path.rsplit('/').next())
        .unwrap_or_default();
    let named = bodies
        .definitions()
        .get(name)
        .and_then(|body| body.pointer("/examples/0"));
    let example = named
        .or_else(|| schema.as_value().pointer("/examples/0"))
        .cloned();
    json!({ "required": true, "content": { "application/json": { "schema": schema, "example": example } } })
}
