//! Reads the JSON response of a service: the rows at a path, the signs of a refusal, and the parameters of the next page. Interpreting rows
//! belongs to `live::rows`.

use std::{borrow::Cow, collections::BTreeMap, io::Cursor};

use serde_json::value::RawValue;

use super::{RefusalAction, RefusalSign};
use crate::formats::{ProviderError, text};
use model::untrusted::is_invisible;

/// Maximum rows of an answer.
const ROWS_MAX: usize = 2_000_000;
/// Maximum bytes of a compressed answer once it is unpacked.
const UNPACKED_MAX: u64 = 256 << 20;
/// Characters of a service's words that are shown.
const SAID_MAX: usize = 200;

/// A value in an answer, and the members passed by each `*` on the way to it.
struct Found<'a> {
    value: &'a RawValue,
    passed: Vec<String>,
}

/// The members of an object; none where the text is no object.
fn members(text: &str) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    text.starts_with('{')
        .then(|| serde_json::from_str(text).ok())?
}

/// The elements of a list; none where the text is no list.
fn elements(text: &str) -> Option<Vec<&RawValue>> {
    text.starts_with('[')
        .then(|| serde_json::from_str(text).ok())?
}

/// The values at a place: members and elements (the first is 1) joined by dots, `*` for every one.
fn at<'a>(value: &'a RawValue, place: &str) -> Vec<Found<'a>> {
    let mut found = vec![Found {
        value,
        passed: Vec::new(),
    }];
    for step in place.split('.').filter(|step| !step.is_empty()) {
        let mut next = Vec::new();
        for Found { value, passed } in found {
            let through = |name: String, value: &'a RawValue| {
                let passed = passed.iter().cloned().chain([name]).collect();
                Found { value, passed }
            };
            let text = value.get();
            if let Some(mut members) = members(text) {
                if step == "*" {
                    next.extend(
                        members
                            .into_iter()
                            .map(|(name, value)| through(name.into_owned(), value)),
                    );
                } else if let Some(value) = members.remove(step) {
                    next.push(Found { value, passed });
                }
            } else if let Some(elements) = elements(text) {
                if step == "*" {
                    next.extend(
                        elements
                            .into_iter()
                            .enumerate()
                            .map(|(at, value)| through((at + 1).to_string(), value)),
                    );
                } else if let Some(value) = step
                    .parse::<usize>()
                    .ok()
                    .and_then(|step| elements.get(step.checked_sub(1)?).copied())
                {
                    next.push(Found { value, passed });
                }
            }
        }
        found = next;
    }
    found
}

/// A response of a service.
pub struct JsonAnswer {
    text: Box<RawValue>,
}

impl JsonAnswer {
    /// Parses a response body. Fails if it is not JSON.
    pub fn read(bytes: &[u8]) -> Result<Self, ProviderError> {
        // Some services compress unasked, or write a byte order mark.
        let head = &bytes[..bytes.len().min(4)];
        let unpacked = (text::is_packed(head) || head.starts_with(&[0xef, 0xbb, 0xbf]))
            .then(|| text::Input::new(Cursor::new(bytes.to_vec()), head)?.whole(UNPACKED_MAX))
            .transpose()
            .map_err(ProviderError::Packed)?;
        let bytes = unpacked.as_deref().unwrap_or(bytes);
        let text = serde_json::from_slice(bytes).map_err(|_| {
            let begins = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
            ProviderError::NotJson {
                begins: shown(&begins),
            }
        })?;
        Ok(Self { text })
    }

    /// The kind of refusal and the service's message, if the response is one.
    pub fn refusal(&self, signs: &[RefusalSign]) -> Option<(RefusalAction, String)> {
        signs.iter().find_map(|sign| {
            let text = text_of(at(&self.text, &sign.place).first()?.value)?;
            let holds = match &sign.is {
                Some(is) => text.to_lowercase().starts_with(&is.to_lowercase()),
                None => !matches!(text.as_str(), "" | "false" | "0"),
            };
            let said = sign
                .say
                .as_ref()
                .and_then(|place| text_of(at(&self.text, place).first()?.value));
            holds.then(|| (sign.then, shown(&said.unwrap_or(text))))
        })
    }

    /// The objects at the path, one for each row; `None` if the path does not exist. Lists become objects whose keys are the positions.
    pub fn rows(&self, place: &str) -> Result<Option<Vec<Box<RawValue>>>, ProviderError> {
        let found = at(&self.text, place);
        if found.is_empty() {
            // An object without members has no rows, and nothing was renamed.
            let parent = place
                .split_once('*')
                .map(|(before, _)| before.trim_end_matches('.'));
            let there = parent.is_some_and(|parent| {
                at(&self.text, parent)
                    .iter()
                    .any(|found| found.value.get().starts_with(['{', '[']))
            });
            return Ok(there.then(Vec::new));
        }
        let mut rows = Vec::new();
        for Found { value, passed } in found {
            match elements(value.get()) {
                // A list at the place has the rows; a row of a list of lists is itself one.
                Some(elements)
                    if passed.is_empty()
                        || elements
                            .iter()
                            .all(|element| element.get().starts_with(['{', '['])) =>
                {
                    rows.extend(
                        elements
                            .into_iter()
                            .filter_map(|element| row(element, &passed)),
                    );
                }
                Some(_) | None => rows.extend(row(value, &passed)),
            }
            if rows.len() > ROWS_MAX {
                return Err(ProviderError::TooManyRows { max: ROWS_MAX });
            }
        }
        Ok(Some(rows))
    }

    /// The text at the path.
    pub fn text(&self, place: &str) -> Option<String> {
        text_of(at(&self.text, place).first()?.value)
    }

    /// The fields of the object at the path, as texts.
    pub fn members(&self, place: &str) -> Option<Vec<(String, String)>> {
        let members = members(at(&self.text, place).first()?.value.get())?;
        Some(
            members
                .into_iter()
                .filter_map(|(name, value)| Some((name.into_owned(), text_of(value)?)))
                .collect(),
        )
    }
}

/// A value as an object, with the members passed on the way as `*1`, `*2`; none where it is neither an object nor a list.
fn row(value: &RawValue, passed: &[String]) -> Option<Box<RawValue>> {
    let text = value.get();
    let name = |name: &str| serde_json::Value::String(name.to_owned()).to_string();
    let mut parts: Vec<String> = passed
        .iter()
        .enumerate()
        .map(|(at, passed)| format!("\"*{}\":{}", at + 1, name(passed)))
        .collect();
    if let Some(elements) = elements(text) {
        parts.extend(
            elements
                .iter()
                .enumerate()
                .map(|(at, element)| format!("\"{}\":{}", at + 1, element.get())),
        );
    } else {
        let inside = text.strip_prefix('{')?.strip_suffix('}')?.trim();
        if passed.is_empty() {
            return Some(value.to_owned());
        }
        parts.extend((!inside.is_empty()).then(|| inside.to_owned()));
    }
    RawValue::from_string(format!("{{{}}}", parts.join(","))).ok()
}

/// The texts at a path of a row; a list counts as its elements.
pub(crate) fn texts_at(row: &RawValue, place: &str) -> Vec<String> {
    let texts = |found: Found<'_>| match elements(found.value.get()) {
        Some(elements) => elements.into_iter().filter_map(text_of).collect(),
        None => text_of(found.value).into_iter().collect::<Vec<_>>(),
    };
    at(row, place).into_iter().flat_map(texts).collect()
}

/// A value as text; none for null.
fn text_of(value: &RawValue) -> Option<String> {
    match value.get() {
        "null" => None,
        text if text.starts_with('"') => serde_json::from_str(text).ok(),
        text => Some(text.to_owned()),
    }
}

/// Words of a service, for people: short, and without signs that are not seen.
fn shown(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .filter(|letter| !is_invisible(*letter))
        .collect();
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() > SAID_MAX {
        words.chars().take(SAID_MAX - 1).chain(['…']).collect()
    } else {
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> JsonAnswer {
        JsonAnswer::read(text.as_bytes()).expect("JSON")
    }

    #[test]
    fn rows_are_found_at_their_place() {
        for (text, place, expected) in [
            (
                r#"{"data":{"list":[[1,2],[3,4]]}}"#,
                "data.list",
                vec![r#"{"1":1,"2":2}"#, r#"{"1":3,"2":4}"#],
            ),
            (r#"[{"a":1}]"#, "", vec![r#"{"a":1}"#]),
            (r#"{"a":1}"#, "", vec![r#"{"a":1}"#]),
            (
                r#"{"coins":{"eth:0xa":{"price":1},"eth:0xb":{}}}"#,
                "coins.*",
                vec![r#"{"*1":"eth:0xa","price":1}"#, r#"{"*1":"eth:0xb"}"#],
            ),
            (
                r#"{"result":{"XXBTZUSD":[[1,"2"]],"last":5}}"#,
                "result.*",
                vec![r#"{"*1":"XXBTZUSD","1":1,"2":"2"}"#],
            ),
            (
                r#"{"tags":{"x":[1,2]}}"#,
                "tags.*",
                vec![r#"{"*1":"x","1":1,"2":2}"#],
            ),
            (r#"{"data":[]}"#, "data", vec![]),
            (r#"{"coins":{}}"#, "coins.*", vec![]),
            (
                r#"{"pools":[{"chain":{"x":[{"b":2}]}}]}"#,
                "pools.1.chain.x",
                vec![r#"{"b":2}"#],
            ),
        ] {
            let rows = answer(text).rows(place).expect("few").expect(text);
            assert_eq!(
                rows.iter().map(|row| row.get()).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
        assert!(answer(r#"{"data":1}"#).rows("rows").expect("few").is_none());
        assert!(JsonAnswer::read(b"<html>").is_err());
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, br#"{"a":1}"#).expect("packed");
        let packed = packed.finish().expect("packed");
        for body in [&packed[..], b"\xef\xbb\xbf{\"a\":1}"] {
            assert_eq!(
                JsonAnswer::read(body).expect("JSON").text("a").as_deref(),
                Some("1")
            );
        }
        assert!(JsonAnswer::read(&packed[..packed.len() - 9]).is_err());
    }

    #[test]
    fn a_refusal_inside_an_answer_is_noticed() {
        let sign = |place: &str, is: Option<&str>, say: Option<&str>, then| RefusalSign {
            place: place.to_owned(),
            is: is.map(str::to_owned),
            say: say.map(str::to_owned),
            then,
        };
        let signs = [
            sign(
                "message",
                Some("No transactions"),
                None,
                RefusalAction::NoRows,
            ),
            sign(
                "message",
                Some("NOTOK"),
                Some("result"),
                RefusalAction::Wait,
            ),
            sign(
                "status.error_code",
                None,
                Some("status.error_message"),
                RefusalAction::Say,
            ),
        ];
        for (text, expected) in [
            (
                r#"{"message":"No transactions found","result":[]}"#,
                Some((RefusalAction::NoRows, "No transactions found")),
            ),
            (
                r#"{"message":"NOTOK","result":"Max rate limit reached"}"#,
                Some((RefusalAction::Wait, "Max rate limit reached")),
            ),
            (
                r#"{"status":{"error_code":1008,"error_message":"slow\u202e  down\n"}}"#,
                Some((RefusalAction::Say, "slow down")),
            ),
            (r#"{"status":{"error_code":0}}"#, None),
            (r#"{"status":{"error_code":null}}"#, None),
            (r#"{"message":"OK"}"#, None),
        ] {
            assert_eq!(
                answer(text).refusal(&signs),
                expected.map(|(then, words)| (then, words.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn the_next_page_is_read_from_the_answer() {
        let answer =
            answer(r#"{"next_page_params":{"id":5,"hash":"0x1","none":null},"cursor":"abc"}"#);
        assert_eq!(answer.text("cursor").as_deref(), Some("abc"));
        let expected = [
            ("hash".to_owned(), "0x1".to_owned()),
            ("id".to_owned(), "5".to_owned()),
        ];
        assert_eq!(
            answer.members("next_page_params").as_deref(),
            Some(&expected[..])
        );
        assert!(answer.members("cursor").is_none() && answer.text("missing").is_none());
    }
}
