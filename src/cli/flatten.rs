//! Converts a JSON response to rows, as CSV for spreadsheets or as a text table. As CSV, an object with one list is that list, any other
//! object one row; as a table, an object is its values followed by each of its lists.

use serde_json::Value;

use super::table::aligned;
use frames::export::begins_formula;

type Rows<'a> = Vec<&'a Value>;

/// Renders the response as CSV with a header. Nested objects become columns `outer.inner`, lists become JSON text, null an empty cell.
pub(super) fn csv(answer: &Value) -> Vec<u8> {
    let rows = match lists(answer).as_slice() {
        [(_, rows)] => rows.clone(),
        _ => vec![answer],
    };
    let (header, mut cells) = grid(&rows);
    for cell in cells.iter_mut().flatten() {
        if begins_formula(cell) {
            cell.insert(0, '\'');
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    if header.is_empty() {
        return Vec::new();
    }
    let written = writer
        .write_record(&header)
        .and_then(|()| cells.iter().try_for_each(|row| writer.write_record(row)));
    written.expect("every row is as long as the header, and writing to memory cannot fail");
    writer.into_inner().expect("flushing to memory cannot fail")
}

/// A sentence on the parts of the response that its CSV lacks; `None` if it has all of them.
pub(super) fn left_out(answer: &Value) -> Option<String> {
    let lists = lists(answer);
    let [(list, _)] = lists.as_slice() else {
        return None;
    };
    let members = answer.as_object().into_iter().flatten();
    let others: Vec<String> = members
        .filter(|(name, _)| name != list)
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "The CSV has the rows of `{list}`. It leaves out {}; `--format json` shows them.",
            others.join(", ")
        )
    })
}

/// Renders the response as text tables.
pub(super) fn table(answer: &Value) -> String {
    let lists = lists(answer);
    let mut parts = Vec::new();
    if let Value::Object(members) = answer {
        let mut others = members.clone();
        others.retain(|name, _| !lists.iter().any(|(list, _)| list == name));
        let others = Value::Object(others);
        let (names, cells) = grid(&[&others]);
        let width = names.iter().map(String::len).max().unwrap_or(0);
        let values = cells.into_iter().flatten();
        let lines: String = names
            .iter()
            .zip(values)
            .map(|(name, value)| {
                format!("{name:width$}  {}", super::outcome::printable(&value))
                    .trim_end()
                    .to_owned()
                    + "\n"
            })
            .collect();
        parts.push(lines);
    }
    for (name, rows) in &lists {
        let (header, cells) = grid(rows);
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let body = if cells.is_empty() {
            "(none)\n".to_owned()
        } else {
            aligned(&header, &cells)
        };
        parts.push(if name.is_empty() {
            body
        } else {
            format!("{name}\n{body}")
        });
    }
    if !matches!(answer, Value::Object(_) | Value::Array(_)) {
        parts.push(text(answer) + "\n");
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Returns the response's lists by name: arrays of objects, or empty ones. A top-level list has an empty name.
fn lists(answer: &Value) -> Vec<(&str, Rows<'_>)> {
    let objects = |items: &&Vec<Value>| items.iter().all(Value::is_object);
    match answer {
        Value::Array(items) => vec![("", items.iter().collect())],
        Value::Object(members) => members
            .iter()
            .filter_map(|(name, value)| {
                Some((
                    name.as_str(),
                    value.as_array().filter(objects)?.iter().collect(),
                ))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns header and cells; every row has a cell for each column, in order of first appearance.
fn grid(rows: &[&Value]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut header: Vec<String> = Vec::new();
    let mut columns = std::collections::HashMap::new();
    let mut cells = Vec::with_capacity(rows.len());
    for row in rows {
        let mut flat = Vec::new();
        flatten("", row, &mut flat);
        let mut line = vec![String::new(); header.len()];
        for (name, value) in flat {
            let column = *columns.entry(name.clone()).or_insert_with(|| {
                header.push(name);
                line.push(String::new());
                header.len() - 1
            });
            line[column] = value;
        }
        cells.push(line);
    }
    for line in &mut cells {
        line.resize(header.len(), String::new());
    }
    (header, cells)
}

/// Appends the flattened columns of `value`, prefixed with `name`.
fn flatten(name: &str, value: &Value, flat: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, inner) in members {
                flatten(
                    &if name.is_empty() {
                        key.clone()
                    } else {
                        format!("{name}.{key}")
                    },
                    inner,
                    flat,
                );
            }
        }
        Value::Object(_) if name.is_empty() => {}
        _ => flat.push((
            if name.is_empty() {
                "value".to_owned()
            } else {
                name.to_owned()
            },
            text(value),
        )),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_with_one_list_is_its_rows_and_any_other_one_row() {
        let cases = [
            (
                json!({"page": 1, "total": 2, "tokens": [{"a": 1, "b": {"c": "x,y"}}, {"a": null, "d": [1, 2]}]}),
                "a,b.c,d\n1,\"x,y\",\n,,\"[1,2]\"\n",
            ),
            (json!([{"a": 1}, {"a": 2}]), "a\n1\n2\n"),
            (
                json!({"a": 1, "x": [{"b": 2}], "y": []}),
                "a,x,y\n1,\"[{\"\"b\"\":2}]\",[]\n",
            ),
            (
                json!({"trend": "uptrend", "lines": [{"slope": 1.5}]}),
                "slope\n1.5\n",
            ),
            (json!({"page": 1, "tokens": []}), ""),
            (json!([1, 2]), "value\n1\n2\n"),
        ];
        for (answer, expected) in cases {
            assert_eq!(String::from_utf8_lossy(&csv(&answer)), expected, "{answer}");
        }
    }

    #[test]
    fn what_csv_leaves_out_is_said_and_no_cell_is_a_formula() {
        let answer = json!({"page": 1, "tokens": [{"a": "=1+1", "b": -2.5, "c": "@uni"}]});
        assert_eq!(
            left_out(&answer).as_deref(),
            Some(
                "The CSV has the rows of `tokens`. It leaves out `page`; `--format json` shows them."
            )
        );
        assert_eq!(csv(&answer), b"a,b,c\n'=1+1,-2.5,'@uni\n");
        assert_eq!(left_out(&json!({"tokens": [{"a": 1}]})), None);
        assert_eq!(left_out(&json!({"a": 1, "b": 2})), None);
    }

    #[test]
    fn a_table_is_the_values_followed_by_each_list() {
        let answer = json!({"trend": "up", "deep": {"x": 1.5}, "rows": [{"n": 10, "t": "a"}, {"n": 9}], "none": []});
        assert_eq!(
            table(&answer),
            "trend   up\ndeep.x  1.5\n\nrows\n n  t\n10  a\n 9\n\nnone\n(none)\n"
        );
        assert_eq!(table(&json!([{"a": 1}])), "a\n1\n");
    }
}
