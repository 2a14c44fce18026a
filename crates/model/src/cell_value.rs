//! The value of a single cell. Formatting does not belong here.

use serde_json::{Value, json};

use super::time::{Day, Time};

/// A cell, in the few types that canonical columns have.
#[derive(Debug, Clone, PartialEq)]
pub enum CellValue {
    Missing,
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    Time(Time),
    Day(Day),
    List(Vec<String>),
}

impl CellValue {
    /// The cell as JSON; null if missing.
    pub fn json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Text(text) => json!(text),
            Self::Integer(number) => json!(number),
            Self::Float(number) => json!(number),
            Self::Flag(flag) => json!(flag),
            Self::Time(time) => json!(time),
            Self::Day(day) => json!(day),
            Self::List(members) => json!(members),
        }
    }

    /// The cell as text, numbers without separators; `None` if missing.
    pub fn text(&self) -> Option<String> {
        Some(match self {
            Self::Missing => return None,
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Time(time) => time.to_string(),
            Self::Day(day) => day.to_string(),
            Self::List(members) => members.join(", "),
        })
    }
}
