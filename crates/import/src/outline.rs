//! The outline of a JSON text: the paths of its members, and the first element of each list. Used to recognize formats and to locate their
//! rows.

use std::fmt;

use serde_json::value::RawValue;

use super::{
    error::FileError,
    sheet::json::{self, members},
};

/// Maximum depth of objects entered, and of members visited per object.
const DEPTH: usize = 4;
const MEMBERS: usize = 64;

/// The first element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum First {
    Nothing,
    /// An object with these member names.
    Object(Vec<String>),
    /// A list of this length.
    List(usize),
    Other,
}

/// The value at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutlineNode {
    /// An object with this many members; one with more than `MEMBERS` is not entered.
    Object(usize),
    List(First),
    Text(String),
    Other,
}

/// Paths of the form `a.b.c` and their values; the root's path is "".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outline(Vec<(String, OutlineNode)>);

impl Outline {
    pub(super) fn of(text: &[u8]) -> Result<Self, FileError> {
        let whole: &RawValue = serde_json::from_slice(text).map_err(|error| {
            // Python's dictionaries and lists, in which texts have single quotes.
            let first = text
                .iter()
                .find(|byte| !byte.is_ascii_whitespace() && !b"[{(".contains(byte));
            if first == Some(&b'\'') {
                FileError::PythonLiterals
            } else {
                FileError::Json(error)
            }
        })?;
        let mut nodes = Vec::new();
        describe(whole, "", 0, &mut nodes);
        Ok(Self(nodes))
    }

    /// All paths.
    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(place, _)| place.as_str())
    }

    pub(super) fn node(&self, place: &str) -> Option<&OutlineNode> {
        self.0
            .iter()
            .find(|(known, _)| known == place)
            .map(|(_, node)| node)
    }

    /// The first element of the list at the path.
    pub(super) fn list(&self, place: &str) -> Option<&First> {
        match self.node(place)? {
            OutlineNode::List(first) => Some(first),
            _ => None,
        }
    }

    /// Whether the list at the path has objects with all these members.
    pub(super) fn objects(&self, place: &str, members: &[String]) -> bool {
        let has = |keys: &Vec<String>| {
            members
                .iter()
                .all(|member| keys.iter().any(|key| key == member))
        };
        matches!(self.list(place), Some(First::Object(keys)) if has(keys))
    }

    pub(super) fn text(&self, place: &str) -> Option<&str> {
        match self.node(place)? {
            OutlineNode::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON: ")?;
        match &self.0.first().map(|(_, node)| node) {
            Some(OutlineNode::Object(members)) if *members > MEMBERS => {
                write!(f, "an object with {members} fields")
            }
            Some(OutlineNode::Object(_)) => {
                let names: Vec<String> = self
                    .0
                    .iter()
                    .skip(1)
                    .filter(|(place, _)| !place.contains('.'))
                    .take(12)
                    .map(|(place, _)| format!("`{place}`"))
                    .collect();
                write!(
                    f,
                    "an object with {}",
                    if names.is_empty() {
                        "nothing".to_owned()
                    } else {
                        names.join(", ")
                    }
                )
            }
            Some(OutlineNode::List(First::Object(keys))) => {
                let names: Vec<String> =
                    keys.iter().take(12).map(|key| format!("`{key}`")).collect();
                write!(f, "a list of objects with {}", names.join(", "))
            }
            Some(OutlineNode::List(First::List(length))) => {
                write!(f, "a list of lists with {length} elements")
            }
            Some(OutlineNode::List(First::Nothing)) => f.write_str("an empty list"),
            Some(OutlineNode::List(First::Other)) => f.write_str("a list of single values"),
            _ => f.write_str("a single value"),
        }
    }
}

fn describe(value: &RawValue, place: &str, depth: usize, nodes: &mut Vec<(String, OutlineNode)>) {
    let node = match value.get().as_bytes().first() {
        Some(b'{') => {
            let mut members = members(value);
            nodes.push((place.to_owned(), OutlineNode::Object(members.len())));
            if depth < DEPTH && members.len() <= MEMBERS {
                members.sort_by(|a, b| a.0.cmp(&b.0));
                for (name, value) in members {
                    let place = if place.is_empty() {
                        name.into_owned()
                    } else {
                        format!("{place}.{name}")
                    };
                    describe(value, &place, depth + 1, nodes);
                }
            }
            return;
        }
        Some(b'[') => OutlineNode::List(
            json::elements(value)
                .first()
                .map_or(First::Nothing, |value| first(value)),
        ),
        Some(b'"') => OutlineNode::Text(serde_json::from_str(value.get()).unwrap_or_default()),
        _ => OutlineNode::Other,
    };
    nodes.push((place.to_owned(), node));
}

fn first(value: &RawValue) -> First {
    match value.get().as_bytes().first() {
        Some(b'{') => First::Object(
            members(value)
                .into_iter()
                .map(|(name, _)| name.into_owned())
                .collect(),
        ),
        Some(b'[') => First::List(json::elements(value).len()),
        _ => First::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_first_elements_are_known() {
        let text = br#"{"data":{"attributes":{"list":[[1,2,3]]},"id":"x"},"tokens":[{"chainId":1,"name":"A"}],"none":[]}"#;
        let outline = Outline::of(text).unwrap();
        assert!(
            outline.list("data.attributes.list") == Some(&First::List(3))
                && outline.objects("tokens", &["chainId".to_owned(), "name".to_owned()])
        );
        assert_eq!(
            (outline.text("data.id"), outline.list("none")),
            (Some("x"), Some(&First::Nothing))
        );
        assert_eq!(
            outline.to_string(),
            "JSON: an object with `data`, `none`, `tokens`"
        );
        let many: Vec<String> = (0..65).map(|i| format!("\"{i}\":1")).collect();
        assert_eq!(
            Outline::of(format!("{{{}}}", many.join(",")).as_bytes())
                .unwrap()
                .to_string(),
            "JSON: an object with 65 fields"
        );
        for (text, expected) in [
            ("[[1,2],[3,", "is not complete JSON: "),
            ("[{\"a\":\"it's", "is not complete JSON: "),
            (" [{'a': None}]", "has strings in single quotes"),
            ("[('0x1', True)]", "has strings in single quotes"),
        ] {
            assert!(
                Outline::of(text.as_bytes())
                    .unwrap_err()
                    .to_string()
                    .starts_with(expected),
                "{text}"
            );
        }
    }
}
