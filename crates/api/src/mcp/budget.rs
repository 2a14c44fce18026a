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
/// Bytes that the notice of a cut may take.
const NOTICE: usize = 200;

/// A nested list with this share of a whole answer is left out before any row is.
const NESTED_SHARE: f64 = 0.25;

/// Cuts the result to this many bytes; its field `cut` lists what was omitted. `None` if it is short enough, not JSON, or has nothing to
/// omit.
pub(super) fn cut(body: &[u8], bytes: usize) -> Option<Vec<u8>> {
    if body.len() <= bytes {
        return None;
    }
    let bytes = bytes.saturating_sub(NOTICE);
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let mut left_out = Vec::new();
    let mut size = body.len();
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
    if left_out.is_empty() {
        return None;
    }
    answer
        .as_object_mut()?
        .insert("cut".to_owned(), json!(left_out));
    serde_json::to_vec(&answer).ok()
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

/// The member of a list's rows that is a list itself and takes most: list, member, bytes.
fn largest_nested(answer: &Value) -> Option<(String, String, usize)> {
    let mut sizes: BTreeMap<(&String, &String), usize> = BTreeMap::new();
    for (list, rows) in lists(answer) {
        for (member, value) in rows
            .iter()
            .filter_map(Value::as_object)
            .flatten()
            .filter(|(_, value)| value.is_array())
        {
            *sizes.entry((list, member)).or_default() += length(value);
        }
    }
    let ((list, member), size) = sizes.into_iter().max_by_key(|(_, size)| *size)?;
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
        assert_eq!(
            cut_to(&json!({ "text": "x".repeat(500) }), 100),
            None,
            "nothing can be left out"
        );
        assert_eq!(cut(b"no json at all", 3), None);
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
