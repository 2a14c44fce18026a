//! The MCP tools, generated from the endpoint table: the JSON Schema of each tool's arguments, and the API request of a call.

use std::sync::{Arc, OnceLock};

use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{
    budget::BUDGET,
    descriptions::{CONDITIONS, LEAN, NAMED, SHORT, description},
};
use crate::{endpoint::Endpoint, openapi};
use model::{
    error::{Code, Problem, Result},
    spelling::nearest,
};
use query::queries::parameter::{
    AS_OF, AS_OF_PARAMETER, Arguments, GENERATION, GENERATION_PARAMETER, Parameter, ParameterKind,
    clip, encode,
};
use table::filter::{ColumnKind, FilterColumn};

/// Words of a schema that bound its values.
const BOUNDS: &[&str] = &[
    "pattern",
    "format",
    "propertyNames",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "default",
    "examples",
    "minimum",
    "maximum",
];
/// Parameters that make an answer shorter.
const NARROWING: &[&str] = &[
    "only",
    "fields",
    "columns",
    "where",
    "limit",
    "from",
    "to",
    "period",
    "timeframe",
    "days",
];

/// The tools, in endpoint order.
pub(super) fn tools(endpoints: &'static [Endpoint]) -> &'static [Tool] {
    static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
    TOOLS.get_or_init(|| {
        endpoints
            .iter()
            .filter(|endpoint| endpoint.tool)
            .map(Tool::new)
            .collect()
    })
}

/// A query as an MCP tool.
#[derive(Debug)]
pub(super) struct Tool {
    endpoint: &'static Endpoint,
    /// Schemas of the request body's members; empty if the endpoint reads no body.
    body: Map<String, Value>,
    schema: Arc<JsonObject>,
}

/// An API request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ApiRequest {
    pub method: &'static str,
    pub target: String,
    pub body: Vec<u8>,
    /// What the answer may be long, in bytes.
    pub budget: usize,
}

impl Tool {
    fn new(endpoint: &'static Endpoint) -> Self {
        let mut properties: JsonObject = parameters(endpoint)
            .map(|parameter| (parameter.name.to_owned(), property(endpoint, parameter)))
            .collect();
        let mut required: Vec<Value> = parameters(endpoint)
            .filter(|parameter| parameter.kind.is_required())
            .map(|parameter| parameter.name.into())
            .collect();
        for (_, name, value) in lean(endpoint) {
            let Some(property) = properties.get_mut(*name) else {
                continue;
            };
            // The description of the tool says what `only` leaves out.
            if let Ok(number) = value.parse::<u64>() {
                property["default"] = json!(number);
            } else if property.get("default").is_some() {
                property["default"] = json!(value);
            }
        }
        let mut body = Map::new();
        if let Some(shape) = endpoint.body {
            let settings =
                SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
            let schema = shape(&mut settings.for_deserialize().into_generator());
            if let Some(Value::Object(members)) = schema.get("properties") {
                body.clone_from(members);
            }
            required.extend(
                schema
                    .get("required")
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default(),
            );
            for (name, member) in &body {
                let mut shown = member.clone();
                without_bounds(&mut shown);
                describe(&mut shown, short(endpoint, name));
                properties.insert(name.clone(), shown);
            }
        }
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), properties.into());
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        Self {
            endpoint,
            body,
            schema: Arc::new(schema),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.endpoint.name
    }

    /// The kind of an argument; `None` for a member of the body.
    pub(super) fn kind(&self, name: &str) -> Option<ParameterKind> {
        parameters(self.endpoint)
            .find(|parameter| parameter.name == name)
            .map(|parameter| parameter.kind)
    }

    /// Returns the tool's definition for clients.
    pub(super) fn described(&self) -> Described {
        // Tools only read the loaded data.
        let hints = ToolAnnotations::new().read_only(true);
        let told = description(self.endpoint.name).unwrap_or(self.endpoint.summary);
        Described::new(self.endpoint.name, told, Arc::clone(&self.schema)).with_annotations(hints)
    }

    /// Builds the API request of a call. Checks only that names are known and values fit into a request; the endpoint validates the rest.
    pub(super) fn request(&self, arguments: &JsonObject) -> Result<ApiRequest> {
        let mut path = self.endpoint.path.to_owned();
        let (mut query, mut body) = (Vec::new(), Map::new());
        let mut budget = String::new();
        for (name, value) in arguments {
            if self.body.contains_key(name) {
                body.insert(name.clone(), value.clone());
                continue;
            }
            let parameter = parameters(self.endpoint)
                .find(|parameter| parameter.name == name)
                .ok_or_else(|| self.unknown(name))?;
            let Some(text) = text(parameter, value)? else {
                continue;
            };
            if parameter.name == BUDGET.name {
                budget = format!("{name}={}", encode(&text));
            } else if parameter.kind.in_path() {
                path = path.replace(&format!("{{{name}}}"), &encode(&text));
            } else {
                query.push(format!("{name}={}", encode(&text)));
            }
        }
        // What was asked for in other words is not narrowed.
        let given = |name: &str| arguments.contains_key(name);
        let is_chosen =
            |name: &str| given(name) || given("addresses") || (name == "only" && given("fields"));
        for (_, name, value) in lean(self.endpoint).filter(|(_, name, _)| !is_chosen(name)) {
            query.push(format!("{name}={value}"));
        }
        if let Some(left) = path
            .split('{')
            .nth(1)
            .and_then(|rest| rest.split('}').next())
        {
            return Err(missing(left));
        }
        let target = if query.is_empty() {
            path
        } else {
            format!("{path}?{}", query.join("&"))
        };
        let body = if self.endpoint.body.is_some() {
            Value::Object(body).to_string().into_bytes()
        } else {
            Vec::new()
        };
        let kilobytes = Arguments::new(&[BUDGET], &[], &budget)?.integer(BUDGET.name)?;
        Ok(ApiRequest {
            method: self.endpoint.verb.method(),
            target,
            body,
            budget: kilobytes as usize * 1_024,
        })
    }

    /// The sentence that says how to ask for less, or for all.
    pub(super) fn narrowing(&self) -> String {
        let takes = |name: &&&str| {
            self.endpoint
                .parameters
                .iter()
                .any(|own| own.name == **name)
        };
        let narrowing: Vec<String> = NARROWING
            .iter()
            .filter(takes)
            .map(|name| format!("`{name}`"))
            .collect();
        let less = if narrowing.is_empty() {
            String::new()
        } else {
            format!("Request less with {}. ", narrowing.join(", "))
        };
        format!("{less}A larger `{}` returns more.", BUDGET.name)
    }

    fn unknown(&self, name: &str) -> Problem {
        let known = || {
            parameters(self.endpoint)
                .map(|parameter| parameter.name)
                .chain(self.body.keys().map(String::as_str))
        };
        // What every tool takes is seldom meant.
        let near = nearest(
            name,
            known().filter(|known| ![AS_OF, GENERATION, BUDGET.name].contains(known)),
        )
        .map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
        let all: Vec<&str> = known().collect();
        let detail = format!(
            "`{}` is not an argument of `{}`, which takes {}.{near}",
            clip(name),
            self.name(),
            all.join(", ")
        );
        Problem::new(Code::InvalidParameter, detail)
    }
}

/// What the tool asks for where the client says nothing.
fn lean(
    endpoint: &'static Endpoint,
) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    LEAN.iter().filter(|(tool, ..)| *tool == endpoint.name)
}

/// The endpoint's parameters with `as_of`, `generation` and the budget, without `format`, since a tool answers JSON.
fn parameters(endpoint: &'static Endpoint) -> impl Iterator<Item = &'static Parameter> {
    let of_data: &[Parameter] = if endpoint.as_of {
        &[AS_OF_PARAMETER, GENERATION_PARAMETER]
    } else {
        &[]
    };
    endpoint
        .parameters
        .iter()
        .filter(|parameter| parameter.name != "format")
        .chain(of_data)
        .chain([&BUDGET])
}

fn missing(name: &str) -> Problem {
    Problem::new(Code::InvalidParameter, format!("`{name}` is required."))
}

/// Separator of a parameter's multiple values in a request; `None` for single-valued parameters.
fn separator(kind: ParameterKind) -> Option<&'static str> {
    match kind {
        ParameterKind::Where(_) => Some(" "),
        ParameterKind::Words(_)
        | ParameterKind::Sort { .. }
        | ParameterKind::Addresses { .. }
        | ParameterKind::Indicators { .. }
        | ParameterKind::Line(_) => Some(","),
        _ => None,
    }
}

/// Returns the value in request syntax; `None` if omitted (null).
fn text(parameter: &Parameter, value: &Value) -> Result<Option<String>> {
    let wrong = || {
        let shown = clip(&value.to_string());
        let detail = format!(
            "`{}` is `{shown}`; expected text, a number, true or false, or a list of these.",
            parameter.name
        );
        Problem::new(Code::InvalidParameter, detail)
    };
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        // In JSON Schema 5.0 is an integer.
        Value::Number(number) => Some(
            number
                .as_f64()
                .filter(|n| n.fract() == 0.0 && n.abs() < 1e15)
                .map_or_else(|| number.to_string(), |n| format!("{n:.0}")),
        ),
        _ => None,
    };
    let text = match value {
        Value::Null => return Ok(None),
        Value::Array(items) => {
            let between = separator(parameter.kind).ok_or_else(wrong)?;
            items
                .iter()
                .map(one)
                .collect::<Option<Vec<_>>>()
                .map(|items| items.join(between))
        }
        value => one(value),
    };
    let text = text.ok_or_else(wrong)?;
    if text.is_empty() && parameter.kind.in_path() {
        Err(missing(parameter.name))
    } else {
        Ok(Some(text))
    }
}

/// JSON Schema of an argument: its type, its words, what stands where it is left out, and what it means. Bounds are left out, as a refusal
/// says them.
fn property(endpoint: &'static Endpoint, parameter: &Parameter) -> Value {
    let mut schema = openapi::value_of(parameter.kind);
    let mut meaning = short(endpoint, parameter.name)
        .unwrap_or(parameter.meaning)
        .to_owned();
    match parameter.kind {
        ParameterKind::Address => NAMED.clone_into(&mut meaning),
        ParameterKind::Where(columns) => meaning = format!("{CONDITIONS} {}", by_kind(columns)),
        // Their columns stand with `where`.
        ParameterKind::Sort { .. } => {
            "Columns of `where`; `-` for descending.".clone_into(&mut meaning);
        }
        ParameterKind::Words(words) => {
            let others = words
                .iter()
                .filter(|word| !names_column(endpoint, word))
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>();
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(", and {}", others.join(", "))
            };
            meaning = format!("{meaning} columns of `where`{more}.");
        }
        _ => {}
    }
    if let Value::Object(schema) = &mut schema {
        // A first page, no flag and a day are what anybody would expect.
        schema.retain(|key, value| {
            ["type", "enum"].contains(&key.as_str())
                || key == "default" && value.is_string() && *value != "1d"
        });
    }
    describe(&mut schema, Some(&meaning));
    schema
}

/// Sets the description, or takes it off where there is nothing to say.
fn describe(schema: &mut Value, meaning: Option<&str>) {
    match (schema, meaning) {
        (Value::Object(schema), Some("")) => drop(schema.remove("description")),
        (Value::Object(schema), Some(meaning)) => {
            drop(schema.insert("description".into(), json!(meaning)));
        }
        _ => {}
    }
}

/// The short words for an argument.
fn short(endpoint: &Endpoint, argument: &str) -> Option<&'static str> {
    let known = SHORT
        .iter()
        .find(|(tool, name, _)| *name == argument && [endpoint.name, ""].contains(tool));
    known.map(|(.., short)| *short)
}

fn names_column(endpoint: &'static Endpoint, word: &str) -> bool {
    let conditions = endpoint.parameters.iter().find_map(|own| {
        if let ParameterKind::Where(columns) = own.kind {
            Some(columns)
        } else {
            None
        }
    });
    conditions.is_some_and(|columns| columns.iter().any(|column| column.name == word))
}

/// A schema of a body without bounds and patterns; what has words needs no description, nor have items.
fn without_bounds(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let has_words = members.contains_key("enum");
            let is_said = |key: &str| BOUNDS.contains(&key) || (has_words && key == "description");
            members.retain(|key, value| !is_said(key) && *value != false);
            if let Some(Value::Object(items)) = members.get_mut("items") {
                items.remove("description");
            }
            members.values_mut().for_each(without_bounds);
        }
        Value::Array(items) => items.iter_mut().for_each(without_bounds),
        _ => {}
    }
}

/// Lists the filterable columns by kind, with an example comparison for each.
fn by_kind(columns: &[FilterColumn]) -> String {
    let groups = [
        ("Numbers (`>10m`)", &[ColumnKind::Number][..]),
        ("Texts (`:uni`)", &[ColumnKind::Text, ColumnKind::List]),
        ("Chains (`:base`)", &[ColumnKind::Chain]),
        ("Flags (`:yes`)", &[ColumnKind::Flag]),
        ("Times (`>=2026-08`)", &[ColumnKind::Time]),
        ("Ages (`<90d`)", &[ColumnKind::Duration]),
    ];
    let told = groups.iter().filter_map(|(what, kinds)| {
        let names: Vec<&str> = columns
            .iter()
            .filter(|column| kinds.contains(&column.kind))
            .map(|column| column.name)
            .collect();
        (!names.is_empty()).then(|| format!("{what}: {}.", names.join(", ")))
    });
    told.collect::<Vec<_>>().join(" ")
}
