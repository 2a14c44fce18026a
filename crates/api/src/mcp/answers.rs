//! Schemas of the tools' answers: those of the endpoints, cut to what a model reads: the members of the answer and of the rows of its lists. A
//! cut answer keeps to them too, so none of their members is required.

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::endpoint::{Content, Endpoint};

/// Objects within objects that are described.
const DEPTH: usize = 2;

/// Schema of the endpoint's answers: an object.
pub(super) fn schema(endpoint: &Endpoint) -> JsonObject {
    let mut properties = Map::new();
    if let Content::Json(shape) = endpoint.content {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = shape(&mut settings.for_serialize().into_generator());
        // Of an endpoint with two answers the members of both.
        let choices =
            schema.get("anyOf").and_then(Value::as_array).map_or_else(|| vec![schema.as_value()], |choices| choices.iter().collect());
        for members in choices.into_iter().filter_map(|choice| choice.get("properties")?.as_object()) {
            for (name, member) in members {
                let lean = lean(member, DEPTH);
                let known = properties.insert(name.clone(), lean.clone());
                // Where the two differ, either is right.
                if known.is_some_and(|known| known != lean) {
                    properties.insert(name.clone(), json!({}));
                }
            }
        }
    }
    let left_out =
        json!({ "type": "array", "items": { "type": "string" }, "description": "What was left out, as the answer would be too long." });
    properties.insert("cut".to_owned(), left_out);
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema
}

/// The type and the meaning of a value, of objects the members.
fn lean(schema: &Value, depth: usize) -> Value {
    let mut lean = Map::new();
    if let Some(kind) = schema.get("type") {
        lean.insert("type".to_owned(), kind.clone());
    }
    if let Some(meaning) = schema.get("description").filter(|_| depth > 0) {
        lean.insert("description".to_owned(), meaning.clone());
    }
    if let Some(Value::Object(members)) = schema.get("properties").filter(|_| depth > 0) {
        lean.insert("properties".to_owned(), members.iter().map(|(name, member)| (name.clone(), self::lean(member, depth - 1))).collect());
    }
    if let Some(items) = schema.get("items") {
        lean.insert("items".to_owned(), self::lean(items, depth));
    }
    Value::Object(lean)
}
