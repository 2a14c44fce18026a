//! `docs/api-reference.md`: every endpoint with its parameters, written from the OpenAPI document. `TOKENDECK_BLESS=1` rewrites it.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::Value;

use super::document::document;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/api-reference.md");

/// Longest list of values shown; longer lists are only in the document.
const WORDS_MAX: usize = 12;

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// What a value must be: `integer 1 to 100, default 20`.
fn expected(schema: &Value) -> String {
    let words = schema["enum"]
        .as_array()
        .or_else(|| schema["items"]["enum"].as_array());
    let mut says = match words {
        Some(words) if words.len() <= WORDS_MAX => words
            .iter()
            .map(|word| {
                format!(
                    "`{}`",
                    word.as_str()
                        .map_or_else(|| word.to_string(), str::to_owned)
                )
            })
            .collect::<Vec<_>>()
            .join(", "),
        _ => schema["type"].as_str().unwrap_or("string").to_owned(),
    };
    match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(least), Some(most)) if most < 1 << 53 => write!(says, " {least} to {most}").unwrap(),
        (Some(least), _) => write!(says, " from {least}").unwrap(),
        _ => {}
    }
    if let Some(default) = schema
        .get("default")
        .filter(|default| default.as_i64().is_none_or(|number| number < (1 << 53) - 1))
    {
        write!(
            says,
            ", default `{}`",
            default
                .as_str()
                .map_or_else(|| default.to_string(), str::to_owned)
        )
        .unwrap();
    }
    says
}

/// One cell of a Markdown table.
fn cell(says: &str) -> String {
    says.replace('|', "\\|").replace('\n', " ")
}

/// The media types of the response.
fn formats(operation: &Value) -> Vec<&str> {
    let good = operation["responses"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(status, _)| status.starts_with('2'));
    let content = good.and_then(|(_, answer)| answer["content"].as_object());
    content.map_or_else(Vec::new, |content| {
        content.keys().map(String::as_str).collect()
    })
}

fn page(document: &Value) -> String {
    let mut page = String::from(
        "# Every endpoint\n\n\
         This page is generated from the OpenAPI document, which `GET /openapi.json` and `/docs` show with schemas and examples. For an\n\
         introduction, see [the API](api.md). Every request needs the header `x-api-key`, except `/docs`, `/healthz` and `/openapi.json`.\n\n\
         Shared parameters:\n\n| parameter | expected | meaning |\n|---|---|---|\n",
    );
    let row = |page: &mut String, parameter: &Value| {
        let required = if parameter["required"] == true {
            ""
        } else {
            "optional "
        };
        let (name, place) = (text(parameter, "name"), text(parameter, "in"));
        let says = cell(text(parameter, "description"));
        writeln!(
            page,
            "| `{name}` | {required}in the {place}: {} | {says} |",
            cell(&expected(&parameter["schema"]))
        )
        .unwrap();
    };
    for parameter in document["components"]["parameters"]
        .as_object()
        .unwrap()
        .values()
    {
        row(&mut page, parameter);
    }
    for tag in document["tags"].as_array().unwrap() {
        writeln!(
            page,
            "\n## {}\n\n{}",
            text(tag, "name"),
            text(tag, "description")
        )
        .unwrap();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                if operation["tags"][0] != tag["name"] {
                    continue;
                }
                writeln!(
                    page,
                    "\n### `{} {path}`\n\n{}",
                    method.to_uppercase(),
                    text(operation, "summary")
                )
                .unwrap();
                let own: Vec<&Value> = operation["parameters"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|parameter| parameter["name"].is_string())
                    .collect();
                if !own.is_empty() {
                    page.push_str("\n| parameter | expected | meaning |\n|---|---|---|\n");
                    for parameter in own {
                        row(&mut page, parameter);
                    }
                }
                let body = operation["requestBody"]["content"]["application/json"].get("example");
                if let Some(body) = body {
                    writeln!(page, "\nThe body is JSON, for example:\n\n    {body}").unwrap();
                }
                let formats: Vec<String> = formats(operation)
                    .iter()
                    .map(|format| format!("`{format}`"))
                    .collect();
                if !formats.is_empty() {
                    writeln!(page, "\nResponse: {}.", formats.join(", ")).unwrap();
                }
            }
        }
    }
    page
}

#[test]
fn the_reference_is_as_the_document_says() {
    let expected = page(&document());
    if std::env::var_os("TOKENDECK_BLESS").is_some() {
        fs::write(PAGE, &expected).unwrap();
    }
    let found = fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    assert!(
        found == expected,
        "docs/api-reference.md differs from the document; run the tests with TOKENDECK_BLESS=1 and review the changes"
    );
    assert!(expected.matches("\n### ").count() > 40);
}
