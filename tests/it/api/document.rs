//! The OpenAPI document: complete in endpoints and codes, and readable by client generators.

use api::{
    events::EVENTS,
    routes::{Content, ENDPOINTS},
};
use model::error::CODES;
use serde_json::Value;

use super::server::Running;

fn document() -> Value {
    Running::start().ask(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").json()
}

#[test]
fn the_document_has_every_endpoint_and_every_code() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    for endpoint in ENDPOINTS {
        let operation = &document["paths"][endpoint.path][endpoint.verb.method().to_lowercase()];
        assert_eq!(operation["operationId"], endpoint.name);
        let parameters = operation["parameters"].as_array().expect("parameters");
        let in_address = parameters.iter().filter(|parameter| parameter["in"] != "header").count();
        // Every endpoint takes `strict`; a question about the data `generation` and `as_of` too.
        assert_eq!(in_address, endpoint.parameters.len() + if endpoint.as_of { 3 } else { 1 }, "{}", endpoint.path);
        let placeholders = endpoint.path.matches('{').count();
        let in_path = endpoint.parameters.iter().filter(|parameter| parameter.kind.in_path()).count();
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
    let names: std::collections::BTreeSet<_> = ENDPOINTS.iter().map(|endpoint| endpoint.name).collect();
    assert_eq!(names.len(), ENDPOINTS.len(), "operation ids are unique");
    let told = serde_json::to_string(&document["paths"]).expect("text");
    for row in CODES {
        assert!(told.contains(&format!("`{}`", row.word)), "no operation tells of {}", row.word);
        let response = &document["components"]["responses"][row.status.to_string()];
        assert!(response["description"].as_str().is_some_and(|words| words.contains(row.word)), "{}", row.word);
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    for reference in references {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference} leads nowhere");
    }
}

fn collect_references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            into.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect_references(member, into));
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
                        properties.iter().for_each(|(name, schema)| look(&format!("{place}/{name}"), schema));
                    }
                    ("schema" | "items", schema) => look(&place, schema),
                    ("anyOf" | "oneOf" | "allOf", Value::Array(choices)) => choices.iter().for_each(|schema| look(&place, schema)),
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
        let told = ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "properties"].iter().any(|key| schema.get(key).is_some());
        if !told {
            faults.push(format!("{place}: {schema} has no type"));
        }
        if schema.get("const").is_some() {
            faults.push(format!("{place}: {schema} is a word alone: expected one `enum` of all words"));
        }
    });
    let names = document["components"]["schemas"].as_object().expect("schemas");
    faults.extend(names.keys().filter(|name| name.ends_with(|c: char| c.is_ascii_digit())).map(|name| format!("`{name}` is no name")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let report = &document["components"]["schemas"]["TokenReport"]["properties"]["security"]["anyOf"];
    assert_eq!(report[0]["$ref"], "#/components/schemas/SecurityInference", "{report}");
}

#[test]
fn every_operation_has_its_tag_its_headers_and_its_304() {
    let document = document();
    let groups: Vec<_> = document["tags"].as_array().expect("tags").iter().map(|tag| &tag["name"]).collect();
    for endpoint in ENDPOINTS {
        let operation = &document["paths"][endpoint.path][endpoint.verb.method().to_lowercase()];
        assert!(groups.contains(&&operation["tags"][0]), "{}", endpoint.path);
        assert_eq!(operation["responses"].get("304").is_some(), endpoint.tagged, "{}", endpoint.path);
        if matches!(endpoint.content, Content::Json(_)) {
            let content = &operation["responses"][endpoint.status.to_string()]["content"]["application/json"];
            assert!(content["example"].is_object() || content["example"].is_array(), "{} has no example", endpoint.path);
        }
        let headers = &operation["responses"][endpoint.status.to_string()]["headers"];
        assert!(headers.get("x-request-id").is_some(), "{}", endpoint.path);
        assert_eq!(headers.get("etag").is_some(), endpoint.tagged, "{}", endpoint.path);
    }
}
