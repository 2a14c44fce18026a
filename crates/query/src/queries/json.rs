//! Strict JSON body parsing: syntax first (400), then each value, with its JSON pointer in the error (422). Knows no query.

use std::{borrow::Cow, collections::HashSet};

use serde_json::value::RawValue;

use super::parameter::{AN_ADDRESS, TokenReader, clip};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    json_members::JsonMembers,
};

/// The members of a JSON object as source text, in order, so that duplicate keys and number literals can be checked as sent.
type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// What some editors and shells put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses the body as JSON, without checking values.
pub fn well_formed(body: &[u8]) -> Result<&RawValue> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    serde_json::from_slice(body).map_err(|error| {
        Problem::new(
            Code::InvalidJson,
            format!("The body is not valid JSON: {error}."),
        )
    })
}

pub fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// The elements of an array, as source text.
pub fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// The fields of the object at the pointer `at`. Errors: not an object, or a duplicate field.
pub fn members<'a>(at: &str, value: &'a RawValue) -> Result<Members<'a>> {
    distinct_members(at, value, Code::InvalidValue)
}

/// The same, with the error code of a duplicate field.
pub fn distinct_members<'a>(at: &str, value: &'a RawValue, duplicate: Code) -> Result<Members<'a>> {
    let object: JsonMembers<'a> = serde_json::from_str(value.get()).map_err(|_| {
        invalid(
            at,
            &format!("expected an object, not `{}`", clip(value.get())),
        )
    })?;
    let mut seen = HashSet::new();
    for (name, _) in &object.0 {
        if !seen.insert(name) {
            let problem = invalid(&pointer(at, name), "set more than once");
            return Err(Problem::new(duplicate, problem.detail));
        }
    }
    Ok(object.0)
}

/// The error of the value at `pointer`.
pub fn invalid(pointer: &str, detail: &str) -> Problem {
    let place = if pointer.is_empty() {
        "The body".to_owned()
    } else {
        format!("`{}`", clip(pointer))
    };
    let stop = if detail.ends_with(['.', '?']) {
        ""
    } else {
        "."
    };
    Problem::new(Code::InvalidValue, format!("{place}: {detail}{stop}"))
}

/// Parses the token that a field of a body names.
pub fn token(at: &str, value: &RawValue, tokens: TokenReader<'_>) -> Result<Address> {
    let named = text(value).map_or(Ok(None), |text| tokens.read(&text))?;
    let near = || text(value).map_or_else(String::new, |text| tokens.proposal(&text));
    named.ok_or_else(|| {
        invalid(
            at,
            &format!(
                "`{}` is not an address; {AN_ADDRESS}.{}",
                clip(value.get()),
                near()
            ),
        )
    })
}

/// Appends a field to a JSON pointer, escaping `~` and `/` (RFC 6901).
pub fn pointer(parent: &str, name: &str) -> String {
    format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
}
