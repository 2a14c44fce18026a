//! The MCP tools, generated from the endpoint table: the JSON Schema of each tool's arguments, and the API request of a call.

use std::sync::{Arc, OnceLock};

use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    arguments::{BODY_TOKENS, TOKEN, TOKENS, shown},
    budget::BUDGET,
    descriptions::{CONDITIONS, LEAN, NAMED, SHORT, description},
};
use crate::{
    endpoint::{Content, Endpoint, Shape, Verb},
    openapi,
};
use model::{
    error::{Code, Problem, Result},
    schema::{Column, Kind, TABLES},
    spelling::nearest,
};
use query::queries::parameter::{
    AS_OF, AS_OF_PARAMETER, Arguments, CONTRACT, GENERATION, GENERATION_PARAMETER, Parameter,
    ParameterKind, clip, encode,
};
use query::queries::{
    Query as _,
    request::Request as _,
    tables::TableQuery,
    tokens::TokensQuery,
    track_record::{TrackRecordQuery, WholeRecordQuery},
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
/// Tables whose columns are told only by `tables`.
const SELDOM_ASKED: &[&str] = &[
    "accounts",
    "people",
    "follows",
    "reactions",
    "blocks",
    "disputes",
    "pool_events",
];
/// Larger bounds say nothing.
const BOUND_MAX: u64 = 1_000_000;
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
    /// The members of the answer.
    output: Option<Arc<JsonObject>>,
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
            .map(|parameter| {
                let name = shown(parameter.name, parameter.kind);
                (name.to_owned(), property(endpoint, parameter))
            })
            .collect();
        let mut required: Vec<Value> = parameters(endpoint)
            .filter(|parameter| parameter.kind.is_required() && !is_for_one(endpoint, parameter))
            .map(|parameter| shown(parameter.name, parameter.kind).into())
            .collect();
        for (_, name, value) in lean(endpoint) {
            let Some(property) = properties.get_mut(*name) else {
                continue;
            };
            // The description of the tool says what `only` leaves out.
            if let Ok(number) = value.parse::<u64>() {
                property["default"] = json!(number);
            } else if property["type"] == "boolean" {
                property["default"] = json!(*value == "true");
            } else if property.get("default").is_some() {
                property["default"] = json!(value);
            }
        }
        let mut body = Map::new();
        if let Some(shape) = endpoint.body {
            let schema = inline(shape, Contract::Deserialize);
            // Of several forms of a body, the last takes most.
            let form = schema
                .pointer("/anyOf")
                .and_then(|forms| forms.as_array()?.last())
                .unwrap_or(&schema);
            if let Some(Value::Object(members)) = form.get("properties") {
                body.clone_from(members);
            }
            let needed = form.get("required").and_then(Value::as_array);
            for (name, member) in &body {
                // Tokens are named in a text, as in every tool.
                let (name, mut member) = if name == BODY_TOKENS {
                    (TOKENS, json!({ "type": "string" }))
                } else {
                    (name.as_str(), member.clone())
                };
                without_bounds(&mut member);
                describe(&mut member, short(endpoint, name));
                properties.insert(name.to_owned(), member);
            }
            required.extend(needed.into_iter().flatten().map(|name| {
                if name == BODY_TOKENS {
                    TOKENS.into()
                } else {
                    name.clone()
                }
            }));
        }
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), properties.into());
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        schema.insert("additionalProperties".into(), false.into());
        Self {
            endpoint,
            body,
            schema: Arc::new(schema),
            output: output(endpoint).map(Arc::new),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.endpoint.name
    }

    /// The names of the arguments, as in the API.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        parameters(self.endpoint)
            .map(|parameter| parameter.name)
            .chain(self.body.keys().map(String::as_str))
    }

    /// The member of the body that is an object with a member of this name.
    pub(super) fn object_with(&self, name: &str) -> Option<&str> {
        let has = |schema: &Value| {
            schema
                .pointer("/properties")
                .and_then(|own| own.get(name))
                .is_some()
        };
        self.body
            .iter()
            .find(|(_, schema)| has(schema))
            .map(|(own, _)| own.as_str())
    }

    /// The kind of an argument; `None` for a member of the body.
    pub(super) fn kind(&self, name: &str) -> Option<ParameterKind> {
        parameters(self.endpoint)
            .find(|parameter| parameter.name == name)
            .map(|parameter| parameter.kind)
    }

    /// Returns the tool's definition for clients.
    pub(super) fn described(&self) -> Described {
        // A query only reads; what starts a job or an alert adds it. All of it is here: nothing is looked up elsewhere.
        let reads = self.endpoint.verb == Verb::Get || self.endpoint.as_of;
        let mut hints = ToolAnnotations::new().read_only(reads).open_world(false);
        hints.destructive_hint = (!reads).then_some(false);
        let name = self.endpoint.name;
        let told = description(name).unwrap_or(self.endpoint.summary);
        let mut described = Described::new(name, told, Arc::clone(&self.schema));
        described.title = Some(title(name));
        described.output_schema.clone_from(&self.output);
        described.with_annotations(hints)
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
        let is_chosen = |name: &str| {
            given(name)
                || (self.endpoint.name == TokensQuery::NAME && given(TOKENS))
                || (name == "only" && given("flows"))
        };
        for (_, name, value) in lean(self.endpoint).filter(|(_, name, _)| !is_chosen(name)) {
            let asked = if *name == "only" {
                self.named_columns(arguments)
            } else {
                Vec::new()
            };
            let also = asked
                .into_iter()
                .filter(|asked| value.split(',').all(|known| known != *asked));
            let value = std::iter::once(*value).chain(also).collect::<Vec<_>>();
            query.push(format!("{name}={}", value.join(",")));
        }
        // Without a token it is about all of them.
        if self.endpoint.name == TrackRecordQuery::NAME && path.contains('{') {
            WholeRecordQuery::PATH.clone_into(&mut path);
            query.retain(|pair| !pair.starts_with("scope="));
        }
        if let Some(left) = path
            .split('{')
            .nth(1)
            .and_then(|rest| rest.split('}').next())
        {
            return Err(missing(if left == CONTRACT.name { TOKEN } else { left }));
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

    /// The columns of `only` that the call adds, sorts by or sets conditions on: who asks for them wants to see them.
    fn named_columns(&self, arguments: &JsonObject) -> Vec<&'static str> {
        let words = self
            .endpoint
            .parameters
            .iter()
            .find_map(|own| match own.kind {
                ParameterKind::Words(words) if own.name == "only" => Some(words),
                _ => None,
            });
        let given: Vec<String> = ["fields", "sort", "where"]
            .iter()
            .filter_map(|name| arguments.get(*name).map(Value::to_string))
            .collect();
        let is_named = |word: &&&str| {
            let is_sign = |sign: char| !(sign.is_alphanumeric() || sign == '_');
            given
                .iter()
                .any(|text| text.split(is_sign).any(|part| part == **word))
        };
        words
            .unwrap_or_default()
            .iter()
            .filter(is_named)
            .copied()
            .collect()
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
            let own = parameters(self.endpoint).map(|own| shown(own.name, own.kind));
            let body = self.body.keys().map(|name| {
                if name == BODY_TOKENS {
                    TOKENS
                } else {
                    name.as_str()
                }
            });
            own.chain(body)
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

/// JSON Schema of an argument: its type, its words and bounds, what stands where it is left out, and what it means.
fn property(endpoint: &'static Endpoint, parameter: &Parameter) -> Value {
    let mut schema = openapi::value_of(parameter.kind);
    let mut meaning = short(endpoint, parameter.name)
        .unwrap_or(parameter.meaning)
        .to_owned();
    match parameter.kind {
        ParameterKind::Address if !is_for_one(endpoint, parameter) => {
            NAMED.clone_into(&mut meaning);
        }
        ParameterKind::Where(columns) => meaning = format!("{CONDITIONS} {}", by_kind(columns)),
        // Their columns stand with `where`.
        ParameterKind::Sort { .. } => {
            "Columns of `where`; `-` for descending.".clone_into(&mut meaning);
        }
        ParameterKind::Words(words) if conditions_of(endpoint).is_some() => {
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
        // A first page, no flag and a day are what anybody would expect; from 1 and up to very much need no words.
        let is_bound = parameter.name != BUDGET.name
            && matches!(parameter.kind, ParameterKind::Integer { max, .. } if max <= BOUND_MAX);
        schema.retain(|key, value| match key.as_str() {
            "type" | "enum" => true,
            "default" => value.is_string() && *value != "1d",
            "maximum" => is_bound,
            "minimum" => is_bound && *value != 1,
            _ => false,
        });
        // The other tools of a table refer to this one.
        if endpoint.name == TableQuery::NAME && parameter.name == "table" {
            let names = TABLES.iter().map(|table| table.name).collect();
            schema.insert("enum".into(), names);
            meaning = columns_of_tables();
        }
    }
    describe(&mut schema, Some(&meaning));
    schema
}

/// Whether the parameter may be left out, though the endpoint needs it: another one answers for all tokens.
fn is_for_one(endpoint: &Endpoint, parameter: &Parameter) -> bool {
    endpoint.name == TrackRecordQuery::NAME && matches!(parameter.kind, ParameterKind::Address)
}

/// The columns of each table that other tools do not ask better. The `tokens` of pools are mostly empty: `token0` and `token1` have
/// them.
fn columns_of_tables() -> String {
    let told = TABLES
        .iter()
        .filter(|table| !SELDOM_ASKED.contains(&table.name))
        .map(|table| {
            let column = |column: &Column| match column.kind {
                Kind::Uint256 => format!("{} (base units)", column.name),
                _ => column.name.to_owned(),
            };
            let is_told = |column: &&Column| (table.name, column.name) != ("pools", "tokens");
            let columns: Vec<String> = table.columns.iter().filter(is_told).map(column).collect();
            format!("{}: {}.", table.name, columns.join(", "))
        });
    told.collect::<Vec<_>>().join(" ")
}

/// A schema without references, of what is read or of what is written.
fn inline(shape: Shape, contract: Contract) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.contract = contract;
    });
    shape(&mut settings.into_generator()).to_value()
}

/// The words of a name.
fn title(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

/// The members of the answer with their types, without those of its rows: what a program needs to read an answer, in few bytes. None is
/// required, since a budget may cut any of them.
fn output(endpoint: &'static Endpoint) -> Option<JsonObject> {
    let Content::Json(shape) = endpoint.content else {
        return None;
    };
    let schema = inline(shape, Contract::Serialize);
    let forms = schema
        .get("anyOf")
        .and_then(Value::as_array)
        .map_or_else(|| vec![&schema], |forms| forms.iter().collect());
    let mut members = Map::new();
    for (name, member) in forms
        .into_iter()
        .filter_map(|form| form.get("properties")?.as_object())
        .flatten()
    {
        members.insert(name.clone(), of_type(member));
    }
    // An answer can have such a member itself.
    members
        .entry("cut")
        .and_modify(|own| *own = json!({}))
        .or_insert_with(|| json!({ "type": "array" }));
    let mut output = Map::new();
    output.insert("type".into(), "object".into());
    output.insert("properties".into(), members.into());
    Some(output)
}

/// The types of a value, without what they contain.
fn of_type(schema: &Value) -> Value {
    let types = schema.get("type").cloned().or_else(|| {
        let forms = schema
            .get("anyOf")
            .or_else(|| schema.get("oneOf"))?
            .as_array()?;
        forms
            .iter()
            .map(|form| form.get("type").filter(|of| of.is_string()).cloned())
            .collect()
    });
    types.map_or_else(|| json!({}), |types| json!({ "type": types }))
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

fn conditions_of(endpoint: &'static Endpoint) -> Option<&'static [FilterColumn]> {
    endpoint.parameters.iter().find_map(|own| match own.kind {
        ParameterKind::Where(columns) => Some(columns),
        _ => None,
    })
}

fn names_column(endpoint: &'static Endpoint, word: &str) -> bool {
    conditions_of(endpoint).is_some_and(|columns| columns.iter().any(|column| column.name == word))
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
