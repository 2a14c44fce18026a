//! Results within a language model's context: a result that is too long is cut where it loses least, and lists what was omitted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use query::queries::parameter::{Parameter, ParameterKind, parameter};

/// What a tool's answer may be long.
pub(super) const BUDGET: Parameter = parameter(
    "budget_kb",
    ParameterKind::Integer {
        min: 1,
        max: 4_096,
        default: 32,
    },
    "Maximum size of the result in kilobytes; a larger one is cut and lists what was omitted.",
);

/// Members that say a row's time.
const TIMES: &[&str] = &["timestamp", "date"];
/// Bytes that the notices of a cut may take.
const NOTICE: usize = 400;
/// Notices that are told one by one.
const NOTICES_MAX: usize = 4;
/// A nested list with no more elements is not a series.
const FEW: usize = 8;
/// Share of its rows from which such a list is what the rows are about.
const FIGURES_SHARE: f64 = 0.8;
/// Characters of a text that are kept before any row is left out.
const LONG_TEXT: usize = 300;
/// Characters that a shortened text keeps at least.
const TEXT_CHARS_MIN: usize = 40;

/// A nested list with this share of a whole answer is left out before any row is.
const NESTED_SHARE: f64 = 0.25;

/// Cuts the result to this many bytes; its field `cut` lists what was omitted: first nested lists and rows, then parts of what else is
/// largest. `None` if it is short enough, no object, or has nothing to omit.
pub(super) fn cut(body: &[u8], bytes: usize) -> Option<Vec<u8>> {
    if body.len() <= bytes {
        return None;
    }
    let bytes = bytes.saturating_sub(NOTICE);
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let mut left_out = Vec::new();
    let mut size = length(&answer);
    while size > bytes
        && let Some((rows, member, _)) = largest_nested(&answer)
            .filter(|(.., nested)| *nested as f64 >= NESTED_SHARE * size as f64)
    {
        for row in rows_of(&mut answer, &rows) {
            row.as_object_mut().and_then(|row| row.remove(&member));
        }
        left_out.push(format!("`{member}` of each row in `{rows}`"));
        size = length(&answer);
    }
    // A row with the code of a contract is still a row.
    if size > bytes && shorten_texts(&mut answer) {
        left_out.push(format!("texts beyond {LONG_TEXT} characters"));
        size = length(&answer);
    }
    // Of each list how many rows it has, and whether they are oldest first, before it is cut.
    let mut lists_cut: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    while size > bytes {
        let Some((list, rows)) = longest_list(&answer) else {
            break;
        };
        let (_, is_oldest_first) = *lists_cut
            .entry(list.clone())
            .or_insert_with(|| (rows.len(), is_oldest_first(rows)));
        // By what is too much, in few steps.
        let (own, over) = (rows.iter().map(length).sum::<usize>(), size - bytes);
        let kept = rows.len() * own.saturating_sub(over) / own.max(1);
        let kept = kept.clamp(rows.len() / 4, rows.len() - 1);
        let gone = if is_oldest_first {
            0..rows.len() - kept
        } else {
            kept..rows.len()
        };
        if let Some(rows) = answer.get_mut(&list).and_then(Value::as_array_mut) {
            rows.drain(gone);
        }
        size = length(&answer);
    }
    for (list, (all, is_oldest_first)) in lists_cut {
        let kept = answer
            .get(&list)
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let which = if is_oldest_first {
            "the oldest"
        } else {
            "the last"
        };
        left_out.push(format!("{which} {} of {all} in `{list}`", all - kept));
    }
    // Each step takes at least a part of something, so this ends.
    while size > bytes
        && let Some(told) = shorten_largest(&mut answer)
    {
        if !left_out.contains(&told) {
            left_out.push(told);
        }
        size = length(&answer);
    }
    if left_out.is_empty() {
        return None;
    }
    if left_out.len() > NOTICES_MAX {
        left_out.truncate(NOTICES_MAX);
        left_out.push("and more".to_owned());
    }
    let members = answer.as_object_mut()?;
    // An answer can say by itself that it is not all.
    if let Some(Value::String(own)) = members.get("cut") {
        left_out.insert(0, own.clone());
    }
    members.insert("cut".to_owned(), json!(left_out));
    serde_json::to_vec(&answer).ok()
}

/// Shortens every long text within; whether there is one.
fn shorten_texts(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let end = text.char_indices().nth(LONG_TEXT).map(|(end, _)| end);
            if let Some(end) = end {
                text.truncate(end);
                text.push('…');
            }
            end.is_some()
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| shorten_texts(item) | any),
        Value::Object(members) => members
            .values_mut()
            .fold(false, |any, member| shorten_texts(member) | any),
        _ => false,
    }
}

/// Something within an answer that can be made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// An object goes as a whole, when nothing else can be shortened.
    Object,
    Text,
    List,
}

/// Takes half of the largest list within the answer; where there is none, half of the largest text, or the largest object. Returns its name.
fn shorten_largest(answer: &mut Value) -> Option<String> {
    let mut found = None;
    largest_part(answer, &mut String::new(), &mut found);
    let (part, _, path) = found?;
    let value = answer.pointer_mut(&path)?;
    let name = path.trim_start_matches('/').replace('/', ".");
    match (part, value) {
        (Part::List, Value::Array(items)) => {
            items.truncate(items.len() / 2);
            Some(format!("the end of `{name}`"))
        }
        (Part::Object, value) => {
            *value = Value::Null;
            Some(format!("`{name}`"))
        }
        (Part::Text, Value::String(text)) => {
            let kept = text.chars().count() / 2;
            let kept: String = text.chars().take(kept.max(TEXT_CHARS_MIN)).collect();
            *text = kept.trim_end_matches('…').to_owned() + "…";
            Some(format!("the end of `{name}`"))
        }
        _ => None,
    }
}

/// Finds it: lists before texts before objects, then the most bytes.
fn largest_part(value: &Value, path: &mut String, found: &mut Option<(Part, usize, String)>) {
    let part = match value {
        Value::Array(items) if !items.is_empty() => Some(Part::List),
        Value::Object(members) if !members.is_empty() && !path.is_empty() => Some(Part::Object),
        Value::String(text) if text.chars().count() > TEXT_CHARS_MIN + 1 => Some(Part::Text),
        _ => None,
    };
    if let Some(part) = part {
        let size = length(value);
        if found
            .as_ref()
            .is_none_or(|(best, most, _)| (part, size) > (*best, *most))
        {
            *found = Some((part, size, path.clone()));
        }
    }
    let mut within = |key: &str, value: &Value| {
        let length = path.len();
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        largest_part(value, path, found);
        path.truncate(length);
    };
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(nth, item)| within(&nth.to_string(), item)),
        Value::Object(members) => members.iter().for_each(|(key, value)| within(key, value)),
        _ => {}
    }
}

/// Whether the rows' times rise: of such a list the newest rows are wanted.
fn is_oldest_first(rows: &[Value]) -> bool {
    let time = |row: &Value| {
        TIMES
            .iter()
            .find_map(|name| row.get(*name)?.as_str().map(str::to_owned))
    };
    let times: Vec<Option<String>> = rows.iter().map(time).collect();
    // Those of a table of many tokens rise for each of them alone.
    times.iter().all(Option::is_some) && times.is_sorted() && times.first() < times.last()
}

fn length(value: &Value) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}

fn lists(answer: &Value) -> impl Iterator<Item = (&String, &Vec<Value>)> {
    answer
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name, value.as_array()?)))
}

fn rows_of<'a>(answer: &'a mut Value, list: &str) -> &'a mut [Value] {
    answer
        .get_mut(list)
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}

/// The member of a list's rows that is a list itself and takes most: list, member, bytes. A short one that is nearly the whole row is the
/// row's figures, not something beside them.
fn largest_nested(answer: &Value) -> Option<(String, String, usize)> {
    let mut sizes: BTreeMap<(&String, &String), (usize, bool)> = BTreeMap::new();
    for (list, rows) in lists(answer) {
        for (member, value) in rows.iter().filter_map(Value::as_object).flatten() {
            if let Value::Array(items) = value {
                let (size, is_long) = sizes.entry((list, member)).or_default();
                *size += length(value);
                *is_long |= items.len() > FEW;
            }
        }
    }
    let is_beside = |(list, _): &(&String, &String), (size, is_long): &(usize, bool)| {
        let rows = answer.get(list.as_str()).map_or(0, length);
        *is_long || (*size as f64) < FIGURES_SHARE * rows as f64
    };
    let ((list, member), (size, _)) = sizes
        .into_iter()
        .filter(|(named, found)| is_beside(named, found))
        .max_by_key(|(_, (size, _))| *size)?;
    Some((list.clone(), member.clone(), size))
}

/// The list of the answer that takes most.
fn longest_list(answer: &Value) -> Option<(String, &Vec<Value>)> {
    let lists = lists(answer).filter(|(_, rows)| !rows.is_empty());
    lists
        .max_by_key(|(_, rows)| rows.iter().map(length).sum::<usize>())
        .map(|(name, rows)| (name.clone(), rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(count: usize, history: usize) -> Value {
        let row =
            |i: usize| json!({ "symbol": format!("T{i}"), "price_history": vec![1.5; history] });
        json!({ "total": count, "tokens": (0..count).map(row).collect::<Vec<_>>() })
    }

    fn cut_to(answer: &Value, bytes: usize) -> Option<(Value, Vec<String>)> {
        let cut = cut(&serde_json::to_vec(answer).expect("JSON"), bytes)?;
        let answer: Value = serde_json::from_slice(&cut).expect("JSON");
        let left_out = serde_json::from_value(answer["cut"].clone()).expect("texts");
        Some((answer, left_out))
    }

    #[test]
    fn nested_lists_go_first_then_the_last_rows() {
        let (answer, left_out) = cut_to(&tokens(20, 30), 1_000).expect("cut");
        assert_eq!(
            (answer["tokens"].as_array().map(Vec::len), left_out),
            (
                Some(20),
                vec!["`price_history` of each row in `tokens`".to_owned()]
            )
        );
        let (answer, left_out) = cut_to(&tokens(200, 30), 1_000).expect("cut");
        let kept = answer["tokens"].as_array().map_or(0, Vec::len);
        assert!(
            (30..200).contains(&kept) && answer["tokens"][0]["symbol"] == "T0",
            "{kept}"
        );
        assert_eq!(
            left_out[1],
            format!("the last {} of 200 in `tokens`", 200 - kept)
        );
        let days: Vec<Value> = (10..99)
            .map(|day| json!({ "date": format!("20{day}"), "holders": day }))
            .collect();
        let (answer, left_out) = cut_to(&json!({ "rows": days }), 1_000).expect("cut");
        assert!(
            answer["rows"]
                .as_array()
                .and_then(|rows| rows.last())
                .is_some_and(|row| row["holders"] == 98),
            "{answer}"
        );
        assert!(left_out[0].starts_with("the oldest "), "{left_out:?}");
        assert_eq!(cut_to(&tokens(2, 3), 10_000), None, "it is short enough");
        assert_eq!(cut(b"no json at all", 3), None);
    }

    #[test]
    fn figures_of_a_row_stay_with_it() {
        let record = json!({ "rate": 0.5, "verdict": "too_few" });
        let row = |i: usize| json!({ "author": i, "records": vec![record.clone(); 3] });
        let all = json!({ "authors": (0..100).map(row).collect::<Vec<_>>() });
        let (answer, left_out) = cut_to(&all, 3_000).expect("cut");
        let authors = answer["authors"].as_array().expect("authors");
        assert!(
            authors.len() > 15 && authors.iter().all(|author| author["records"].is_array()),
            "{answer}"
        );
        assert_eq!(
            left_out,
            [format!(
                "the last {} of 100 in `authors`",
                100 - authors.len()
            )]
        );
    }

    #[test]
    fn what_has_no_rows_is_shortened_where_it_is_largest() {
        for (answer, cut) in [
            (
                json!({ "text": "x".repeat(5_000) }),
                json!(["texts beyond 300 characters"]),
            ),
            (
                json!({ "a": { "b": vec!["x"; 2_000] }, "c": 1 }),
                json!(["the end of `a.b`"]),
            ),
            (
                json!({ "a": { "0": (0..1_000).map(|i| (i.to_string(), json!(i))).collect::<serde_json::Map<_, _>>() } }),
                json!(["`a`"]),
            ),
        ] {
            let (short, left_out) = cut_to(&answer, 1_000).expect("cut");
            assert!(length(&short) <= 1_000, "{short}");
            assert_eq!(json!(left_out), cut);
        }
    }

    proptest! {
        #[test]
        fn what_has_rows_is_never_longer_than_asked(count in 1_usize..400, history in 0_usize..40, bytes in 300_usize..20_000) {
            let whole = tokens(count, history);
            let length = |value: &Value| serde_json::to_vec(value).expect("JSON").len();
            match cut_to(&whole, bytes) {
                Some((answer, _)) => prop_assert!(length(&answer) <= bytes),
                None => prop_assert!(length(&whole) <= bytes),
            }
        }
    }
}
