//! The OpenAPI document: complete in endpoints and codes, and readable by client generators.

use api::{
    events::EVENTS,
    routes::{Content, ENDPOINTS},
};
use model::{address::Address, error::CODES};
use query::queries::parameter::EXAMPLE_TOKEN;
use serde_json::{Value, json};

use super::server::Running;

pub(super) fn document() -> Value {
    Running::start()
        .ask(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .json()
}

#[test]
fn the_document_has_every_endpoint_and_every_code() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    for endpoint in ENDPOINTS {
        let operation = &document["paths"][endpoint.path][endpoint.verb.method().to_lowercase()];
        assert_eq!(operation["operationId"], endpoint.name);
        let parameters = operation["parameters"].as_array().expect("parameters");
        let in_address = parameters
            .iter()
            .filter(|parameter| parameter["in"] != "header")
            .count();
        // Every endpoint takes `strict`; a question about the data `generation` and `as_of` too.
        assert_eq!(
            in_address,
            endpoint.parameters.len() + if endpoint.as_of { 3 } else { 1 },
            "{}",
            endpoint.path
        );
        let placeholders = endpoint.path.matches('{').count();
        let in_path = endpoint
            .parameters
            .iter()
            .filter(|parameter| parameter.kind.in_path())
            .count();
        assert_eq!(placeholders, in_path, "{}", endpoint.path);
    }
    let stream = &document["paths"]["/events"]["get"];
    assert_eq!(stream["parameters"][0]["name"], "last-event-id");
    for kind in EVENTS {
        assert!(
            stream["responses"]["200"]["content"]["text/event-stream"]["x-events"][kind.name]["data"]["$ref"].is_string(),
            "{}",
            kind.name
        );
    }
    let names: std::collections::BTreeSet<_> =
        ENDPOINTS.iter().map(|endpoint| endpoint.name).collect();
    assert_eq!(names.len(), ENDPOINTS.len(), "operation ids are unique");
    let told = serde_json::to_string(&document["paths"]).expect("text");
    for row in CODES {
        assert!(
            told.contains(&format!("`{}`", row.word)),
            "no operation tells of {}",
            row.word
        );
        let response = &document["components"]["responses"][row.status.to_string()];
        assert!(
            response["description"]
                .as_str()
                .is_some_and(|words| words.contains(row.word)),
            "{}",
            row.word
        );
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    for reference in references {
        assert!(
            document
                .pointer(reference.trim_start_matches('#'))
                .is_some(),
            "{reference} leads nowhere"
        );
    }
}

fn collect_references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            into.extend(
                members
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            members
                .values()
                .for_each(|member| collect_references(member, into));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, into)),
        _ => {}
    }
}

/// Calls `look` with every schema of the document and its location.
fn schemas(value: &Value, at: &str, look: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let place = format!("{at}/{name}");
                match (name.as_str(), member) {
                    ("properties", Value::Object(properties)) => {
                        properties
                            .iter()
                            .for_each(|(name, schema)| look(&format!("{place}/{name}"), schema));
                    }
                    ("schema" | "items", schema) => look(&place, schema),
                    ("anyOf" | "oneOf" | "allOf", Value::Array(choices)) => {
                        for schema in choices {
                            look(&place, schema);
                        }
                    }
                    _ => {}
                }
                schemas(member, &place, look);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| schemas(item, at, look)),
        _ => {}
    }
}

#[test]
fn every_schema_can_be_read_by_client_generators() {
    let document = document();
    let mut faults = Vec::new();
    schemas(&document, "", &mut |place, schema| {
        let told = [
            "type",
            "$ref",
            "anyOf",
            "oneOf",
            "allOf",
            "enum",
            "properties",
        ]
        .iter()
        .any(|key| schema.get(key).is_some());
        if !told {
            faults.push(format!("{place}: {schema} has no type"));
        }
        if schema.get("const").is_some() {
            faults.push(format!(
                "{place}: {schema} is a word alone: expected one `enum` of all words"
            ));
        }
    });
    let names = document["components"]["schemas"]
        .as_object()
        .expect("schemas");
    faults.extend(
        names
            .keys()
            .filter(|name| name.ends_with(|c: char| c.is_ascii_digit()))
            .map(|name| format!("`{name}` is no name")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let report =
        &document["components"]["schemas"]["TokenReport"]["properties"]["security"]["anyOf"];
    assert_eq!(
        report[0]["$ref"], "#/components/schemas/SecurityInference",
        "{report}"
    );
}

#[test]
fn every_operation_has_its_tag_its_headers_and_its_304() {
    let document = document();
    let groups: Vec<_> = document["tags"]
        .as_array()
        .expect("tags")
        .iter()
        .map(|tag| &tag["name"])
        .collect();
    for endpoint in ENDPOINTS {
        let operation = &document["paths"][endpoint.path][endpoint.verb.method().to_lowercase()];
        assert!(groups.contains(&&operation["tags"][0]), "{}", endpoint.path);
        assert_eq!(
            operation["responses"].get("304").is_some(),
            endpoint.tagged,
            "{}",
            endpoint.path
        );
        if matches!(endpoint.content, Content::Json(_)) {
            let content =
                &operation["responses"][endpoint.status.to_string()]["content"]["application/json"];
            assert!(
                content["example"].is_object() || content["example"].is_array(),
                "{} has no example",
                endpoint.path
            );
        }
        let headers = &operation["responses"][endpoint.status.to_string()]["headers"];
        assert!(headers.get("x-request-id").is_some(), "{}", endpoint.path);
        assert_eq!(
            headers.get("etag").is_some(),
            endpoint.tagged,
            "{}",
            endpoint.path
        );
    }
}

/// The patterns of answers and bodies, and what keeps to them.
type Keeps = fn(&str) -> bool;
const PATTERNS: &[(&str, Keeps)] = &[
    ("^0x[0-9a-f]{40}$", |text| {
        Address::parse(text).is_some_and(|address| address.to_string() == text)
    }),
    ("^[0-9]+$", |text| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
    }),
    (r"[^\s_]", |text| {
        text.chars()
            .any(|sign| !sign.is_whitespace() && sign != '_')
    }),
];

/// Whether the value keeps to the schema, as far as the document's schemas go; what it breaks is noted.
fn check(document: &Value, schema: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        check(
            document,
            document
                .pointer(reference.trim_start_matches('#'))
                .expect(reference),
            value,
            place,
            faults,
        );
    }
    let keeps_to = |choice: &Value| {
        let mut found = Vec::new();
        check(document, choice, value, place, &mut found);
        found.is_empty()
    };
    let mut fault = |what: &str| faults.push(format!("{place}: {value} {what}"));
    let is_of = |kind: &str| match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{place}: the type {other}"),
    };
    match &schema["type"] {
        Value::String(kind) if !is_of(kind) => fault(&format!("is no {kind}")),
        Value::Array(kinds) if !kinds.iter().filter_map(Value::as_str).any(is_of) => {
            fault(&format!("is none of {kinds:?}"));
        }
        _ => {}
    }
    if schema["enum"]
        .as_array()
        .is_some_and(|words| !words.contains(value))
    {
        fault("is none of the words");
    }
    for (name, holds) in [("minimum", 1.0), ("maximum", -1.0)] {
        if let (Some(bound), Some(number)) = (schema[name].as_f64(), value.as_f64())
            && (number - bound) * holds < 0.0
        {
            fault(&format!("is beyond the {name}"));
        }
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        // Those of parameters are held against their readers elsewhere.
        let known = PATTERNS
            .iter()
            .find(|(known, _)| *known == pattern)
            .map(|(_, keeps)| keeps);
        if !known.map_or_else(|| place.contains("/parameters"), |keeps| keeps(text)) {
            fault(&format!("does not keep to {pattern}"));
        }
    }
    if let (Some(most), Some(text)) = (schema["maxLength"].as_u64(), value.as_str())
        && text.chars().count() as u64 > most
    {
        fault(&format!("is longer than {most}"));
    }
    for (name, keep) in [("anyOf", 1), ("oneOf", 1), ("allOf", usize::MAX)] {
        let Some(choices) = schema[name].as_array() else {
            continue;
        };
        if choices.iter().filter(|choice| keeps_to(choice)).count() < keep.min(choices.len()) {
            fault(&format!("keeps to too few of {name}"));
        }
    }
    for required in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if value.is_object() && value.get(required).is_none() {
            fault(&format!("lacks {required}"));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let place = format!("{place}/{name}");
        if schema["propertyNames"].is_object() {
            check(
                document,
                &schema["propertyNames"],
                &json!(name),
                &place,
                faults,
            );
        }
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => {
                faults.push(format!("{place} is described nowhere"));
            }
            (Value::Null, Value::Null) if schema["properties"].is_object() => {
                faults.push(format!("{place} is described nowhere"));
            }
            (Value::Null, others) => check(document, others, member, &place, faults),
            (own, _) => check(document, own, member, &place, faults),
        }
    }
    for item in value
        .as_array()
        .into_iter()
        .flatten()
        .filter(|_| schema["items"].is_object())
    {
        check(
            document,
            &schema["items"],
            item,
            &format!("{place}[]"),
            faults,
        );
    }
}

/// Calls `look` with every schema that has examples beside it or within it, and each of them.
fn examples<'a>(value: &'a Value, place: &str, look: &mut impl FnMut(&str, &'a Value, &'a Value)) {
    match value {
        Value::Object(members) => {
            if let (Some(schema), Some(example)) = (members.get("schema"), members.get("example")) {
                look(place, schema, example);
            }
            for name in ["examples", "default"] {
                let own = members.get(name).filter(|_| members.contains_key("type"));
                let own = own.map(|own| {
                    own.as_array()
                        .map_or_else(|| vec![own], |own| own.iter().collect())
                });
                own.into_iter()
                    .flatten()
                    .for_each(|example| look(place, value, example));
            }
            for (name, member) in members
                .iter()
                .filter(|(name, _)| *name != "example" && *name != "examples")
            {
                examples(member, &format!("{place}/{name}"), look);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| examples(item, place, look)),
        _ => {}
    }
}

#[test]
fn every_example_keeps_to_its_schema() {
    let document = document();
    let (mut faults, mut checked) = (Vec::new(), 0);
    examples(&document, "", &mut |place, schema, example| {
        checked += 1;
        check(&document, schema, example, place, &mut faults);
    });
    assert!(checked > 150, "{checked} examples");
    assert!(
        faults.is_empty(),
        "{} of {checked}:\n{}",
        faults.len(),
        faults.join("\n")
    );
    let mut found = Vec::new();
    let plan = json!({ "$ref": "#/components/schemas/YieldBody" });
    check(
        &document,
        &plan,
        &json!({ "tokens": { "0x1": 5 }, "settings": { "riskLevel": "wild" } }),
        "",
        &mut found,
    );
    assert!(found.len() >= 2, "what is wrong is found: {found:?}");
}

#[test]
fn bodies_name_tokens_by_their_symbols_too() {
    let document = document();
    let long = "U".repeat(65);
    for (name, admitted) in [
        ("UNI", true),
        ("USDC@base", true),
        ("coin:BTC", true),
        (EXAMPLE_TOKEN, true),
        (&long, false),
    ] {
        for (schema, body) in [
            ("YieldBody", json!({ "tokens": { name: "5" } })),
            ("JobBody", json!({ "token_address": name })),
            ("JobBody", json!({ "token_addresses": [name] })),
            (
                "AlertBody",
                json!({ "token_address": name, "condition": "price>2" }),
            ),
        ] {
            let mut faults = Vec::new();
            check(
                &document,
                &json!({ "$ref": format!("#/components/schemas/{schema}") }),
                &body,
                schema,
                &mut faults,
            );
            assert_eq!(faults.is_empty(), admitted, "{body}: {faults:?}");
        }
    }
}

#[test]
fn what_many_operations_share_stands_once() {
    let document = document();
    let written = serde_json::to_string(&document["paths"]).expect("text");
    for name in ["strict", "generation", "as_of"] {
        assert!(
            document["components"]["parameters"][name]["schema"]["type"].is_string(),
            "{name}"
        );
        assert!(
            !written.contains(&format!("\"name\":\"{name}\"")),
            "{name} stands in an operation of its own"
        );
    }
    for response in document["components"]["responses"]
        .as_object()
        .expect("responses")
        .values()
    {
        let schema = &response["content"]["application/problem+json"]["schema"];
        assert_eq!(
            *schema,
            json!({ "$ref": "#/components/schemas/ProblemBody" })
        );
    }
    let explained = ENDPOINTS.iter().filter(|endpoint| {
        endpoint
            .parameters
            .iter()
            .any(|parameter| parameter.name == "explain")
    });
    for endpoint in explained {
        let success = &document["paths"][endpoint.path][endpoint.verb.method().to_lowercase()]["responses"]
            ["200"];
        let schema = success["content"]["application/json"]["schema"]["$ref"]
            .as_str()
            .expect(endpoint.path);
        let members = &document
            .pointer(schema.trim_start_matches('#'))
            .expect(schema)["properties"];
        assert!(
            members["asOfUnknown"]["items"].is_object() && members["asOf"].is_object(),
            "{}",
            endpoint.path
        );
    }
    let file = &document["paths"]["/docs/{file}"]["get"];
    assert!(
        file["parameters"][0]["schema"]["enum"]
            .as_array()
            .is_some_and(|names| names.contains(&"page.js".into())),
        "{file}"
    );
    assert!(
        file["responses"]["200"]["content"]
            .get("image/png")
            .is_some()
            && file["responses"]["200"]["content"].get("*/*").is_none()
    );
}
