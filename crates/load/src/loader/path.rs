//! Paths into nested columns: `platforms.ethereum` of objects, `prices.1` of lists, in Parquet as in JSON.

use std::{borrow::Cow, collections::HashMap};

use polars::prelude::{Column, DataType, IntoColumn};
use serde_json::value::RawValue;

use frames::raw_cell::{RawCell, cells};

/// Prefixes of a path that may be a column's name, longest first.
pub(super) fn heads(name: &str) -> impl Iterator<Item = &str> {
    let name = name.trim();
    std::iter::successors(Some(name), |name| {
        name.rsplit_once('.').map(|(head, _)| head)
    })
    .filter(|head| !head.is_empty())
}

/// Cells at the end of the path in the column.
pub(super) fn inside<'a>(column: &'a Column, way: &str) -> Vec<RawCell<'a>> {
    let mut column = Cow::Borrowed(column);
    let mut steps = way.split('.').peekable();
    while let (DataType::Struct(_), Some(step)) = (column.dtype(), steps.peek()) {
        let member = column.struct_().ok().and_then(|members| {
            let names: Vec<String> = members
                .fields_as_series()
                .iter()
                .map(|series| series.name().to_string())
                .collect();
            let place = names.iter().position(|name| name == step).or_else(|| {
                names
                    .iter()
                    .position(|name| name.eq_ignore_ascii_case(step))
            })?;
            members.fields_as_series().into_iter().nth(place)
        });
        let Some(member) = member else {
            return vec![RawCell::Null; column.len()];
        };
        column = Cow::Owned(member.rechunk().into_column());
        steps.next();
    }
    let rest: Vec<&str> = steps.collect();
    cells(&column)
        .into_iter()
        .map(|cell| step(cell.into_owned(), &rest))
        .collect()
}

/// The member at the end of the steps from a cell; null where there is none.
fn step(cell: RawCell<'static>, steps: &[&str]) -> RawCell<'static> {
    let Some((first, rest)) = steps.split_first() else {
        return cell;
    };
    match cell {
        RawCell::List(mut list) => match nth(first).filter(|nth| *nth < list.len()) {
            Some(nth) => step(list.swap_remove(nth), rest),
            None => RawCell::Null,
        },
        RawCell::Text(text) => json(&text, steps).unwrap_or(RawCell::Null),
        _ => RawCell::Null,
    }
}

/// Index of the list element that a step names, counting from 1.
fn nth(step: &str) -> Option<usize> {
    step.parse::<usize>().ok()?.checked_sub(1)
}

fn json(text: &str, steps: &[&str]) -> Option<RawCell<'static>> {
    let text = text.trim();
    let Some((first, rest)) = steps.split_first() else {
        return Some(match text.as_bytes().first()? {
            b'n' => RawCell::Null,
            b'"' => RawCell::Text(serde_json::from_str::<String>(text).ok()?.into()),
            _ => RawCell::Text(text.to_owned().into()),
        });
    };
    if text.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return json(list.get(nth(first)?)?.get(), rest);
    }
    let members: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text).ok()?;
    let member = members.get(*first).or_else(|| {
        members
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(first))
            .map(|(_, member)| member)
    });
    json(member?.get(), rest)
}

/// Whether the path from a JSON object ends in a field, or at a missing value: a null, or an element that a list does not have.
pub fn is_in(object: &str, path: &str) -> bool {
    heads(path).any(|head| match json(object, &[head]) {
        None => false,
        Some(RawCell::Text(member)) => path[head.len()..]
            .strip_prefix('.')
            .is_none_or(|way| says(&member, way)),
        Some(_) => true,
    })
}

fn says(text: &str, way: &str) -> bool {
    let (first, rest) = way.split_once('.').unwrap_or((way, ""));
    match json(text, &[first]) {
        _ if text.trim_start().starts_with('[') && nth(first).is_none() => false,
        None => text.trim_start().starts_with('['),
        Some(RawCell::Text(member)) if !rest.is_empty() => says(&member, rest),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{DataFrame, IntoSeries, NamedFrom, Series};

    use super::*;

    #[test]
    fn a_member_that_nobody_has_is_told_from_one_that_says_nothing() {
        for (object, path, expected) in [
            (r#"{"a": 1}"#, "a", true),
            (r#"{"a": null}"#, "a", true),
            (r#"{"b": 1}"#, "a", false),
            (r#"{"a": {"b": 1}}"#, "a.b", true),
            (r#"{"a": {"B": 1}}"#, "a.b", true),
            (r#"{"a": {"b": null}}"#, "a.b", true),
            (r#"{"a": null}"#, "a.b", true),
            (r#"{"a": {"c": 1}}"#, "a.b", false),
            (r#"{"a": {}}"#, "a.b", false),
            (r#"{"a": 1}"#, "a.b", false),
            (r#"{"a.b": 1}"#, "a.b", true),
            (r#"{"a": {"b": {"c": 1}}}"#, "a.b.c", true),
            (r#"{"a": {"b": {"d": 1}}}"#, "a.b.c", false),
            (r#"{"a": [5]}"#, "a.1", true),
            (r#"{"a": []}"#, "a.1", true),
            (r#"{"a": [{"b": 1}]}"#, "a.1.c", false),
            (r#"{"a": [5]}"#, "a.b", false),
        ] {
            assert_eq!(is_in(object, path), expected, "{object} {path}");
        }
    }

    #[test]
    fn paths_lead_into_objects_and_lists_of_json() {
        let text = |text: &str| Series::new("x".into(), [text]).into_column();
        for (cell, way, expected) in [
            (
                r#"{"ethereum": "0xaa", "base": ""}"#,
                "ethereum",
                Some("0xaa"),
            ),
            (r#"{"Ethereum": "0xaa"}"#, "ethereum", Some("0xaa")),
            (r#"{"a": {"b": [1.50, 2]}}"#, "a.b.1", Some("1.50")),
            (r#"[["x", 2]]"#, "1.2", Some("2")),
            (r#"{"a": 1}"#, "b", None),
            (r#"{"a": 1}"#, "a.b", None),
            ("[1]", "0", None),
            ("no json", "a", None),
        ] {
            let expected = expected.map_or(RawCell::Null, |text| RawCell::Text(text.into()));
            assert_eq!(inside(&text(cell), way), [expected], "{cell} {way}");
        }
    }

    #[test]
    fn paths_lead_into_structs() {
        let frame = DataFrame::new(2, vec![Series::new("low".into(), [1.5, 2.5]).into_column()])
            .expect("a frame");
        let column = frame
            .into_struct("price".into())
            .into_series()
            .into_column();
        assert_eq!(
            inside(&column, "Low"),
            [RawCell::Float(1.5), RawCell::Float(2.5)]
        );
        assert_eq!(inside(&column, "high"), [RawCell::Null, RawCell::Null]);
    }

    #[test]
    fn a_name_may_hold_points_itself() {
        assert_eq!(heads(" a.b.c ").collect::<Vec<_>>(), ["a.b.c", "a.b", "a"]);
    }
}
