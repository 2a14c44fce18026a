//! JSON inside JavaScript: the argument of a call (JSONP, Google's visualization API), the value of a variable, or behind a prefix that keeps
//! scripts from loading it. Google's table of `cols` and `rows` becomes a list of objects.

use serde_json::{Map, Value};

use super::error::FileError;

/// What stands before JSON so that no script can load it.
const GUARDS: [&str; 3] = [")]}'", "while(1);", "for(;;);"];

/// Where the JSON begins, if it is behind a guard, a call or an assignment.
pub(super) fn json_in(text: &[u8]) -> Option<usize> {
    let is_json = |rest: &[u8]| rest.starts_with(b"{") || rest.starts_with(b"[");
    let mut rest = text.trim_ascii_start();
    while let Some(comment) = rest.strip_prefix(b"/*") {
        let end = comment.windows(2).position(|two| two == b"*/")?;
        rest = comment[end + 2..].trim_ascii_start();
    }
    for guard in GUARDS {
        rest = rest
            .strip_prefix(guard.as_bytes())
            .unwrap_or(rest)
            .trim_ascii_start();
    }
    for word in ["var ", "let ", "const ", "window."] {
        rest = rest
            .strip_prefix(word.as_bytes())
            .unwrap_or(rest)
            .trim_ascii_start();
    }
    if !is_json(rest) {
        let name = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(byte))
            .count();
        let behind = rest[name..].trim_ascii_start();
        // `typeof f === 'function' && f({…})` and the like are left to a person.
        let inner = behind
            .strip_prefix(b"(")
            .or_else(|| behind.strip_prefix(b"="))?;
        rest = inner.trim_ascii_start();
        if name == 0 || !is_json(rest) {
            return None;
        }
    }
    let at = text.len() - rest.len();
    (at > text.len() - text.trim_ascii_start().len()).then_some(at)
}

/// The JSON in such a text.
pub(super) fn json_of(mut text: Vec<u8>) -> Result<Vec<u8>, FileError> {
    let at = json_in(&text).ok_or(FileError::Script)?;
    text.drain(..at);
    let end = text
        .iter()
        .rposition(|byte| !byte.is_ascii_whitespace() && !b");".contains(byte))
        .map_or(0, |last| last + 1);
    text.truncate(end);
    let Ok(value) = serde_json::from_slice::<Value>(&text) else {
        return Ok(text);
    };
    Ok(of_google(&value).map_or(text, |table| table.to_string().into_bytes()))
}

/// The rows of Google's table as objects, named by the labels of its columns.
fn of_google(value: &Value) -> Option<Value> {
    let table = value.get("table").unwrap_or(value);
    let (columns, rows) = (
        table.get("cols")?.as_array()?,
        table.get("rows")?.as_array()?,
    );
    let text = |column: &Value, name: &str| {
        column
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    };
    let mut names: Vec<String> = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let name = text(column, "label")
            .or_else(|| text(column, "id"))
            .filter(|name| !names.contains(name));
        names.push(name.unwrap_or_else(|| format!("column {}", at + 1)));
    }
    let object = |row: &Value| {
        let cells = row.get("c")?.as_array()?;
        let cell = |cell: &Value| match cell.get("v") {
            Some(Value::String(text)) => Value::String(time(text).unwrap_or_else(|| text.clone())),
            other => other.cloned().unwrap_or(Value::Null),
        };
        Some(Value::Object(
            names
                .iter()
                .cloned()
                .zip(cells.iter().map(cell))
                .collect::<Map<_, _>>(),
        ))
    };
    Some(Value::Array(rows.iter().filter_map(object).collect()))
}

/// The time of `Date(2024,0,31,12,30,0)`, whose months count from 0.
pub(super) fn time(text: &str) -> Option<String> {
    let inner = text.strip_prefix("Date(")?.strip_suffix(')')?;
    let parts: Vec<u32> = inner
        .split(',')
        .map(|part| part.trim().parse().ok())
        .collect::<Option<_>>()?;
    let part = |at: usize| parts.get(at).copied().unwrap_or_default();
    let day = chrono::NaiveDate::from_ymd_opt(
        i32::try_from(*parts.first()?).ok()?,
        parts.get(1)?.checked_add(1)?,
        part(2).max(1),
    )?;
    let time = day.and_hms_opt(part(3), part(4), part(5))?;
    Some(if parts.len() > 3 {
        time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
    } else {
        day.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_taken_out_of_a_script() {
        for (text, expected) in [
            ("/*O_o*/\nf.g({\"a\":1});\n", Some("{\"a\":1}")),
            ("callback([1]);", Some("[1]")),
            ("var x = [1];", Some("[1]")),
            (")]}'\n{\"a\":1}", Some("{\"a\":1}")),
            ("Value(USD),b\n1,2\n", None),
            ("{\"a\":1}", None),
            ("\n[1]", None),
            ("a=b,c\n", None),
        ] {
            let found =
                json_in(text.as_bytes()).map(|_| json_of(text.as_bytes().to_vec()).unwrap());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{text}");
        }
        let table = r#"f({"table":{"cols":[{"id":"A","label":"Date"},{"id":"B","label":""}],"rows":[{"c":[{"v":"Date(2024,0,31)"},{"v":1.5}]}]}})"#;
        assert_eq!(
            json_of(table.as_bytes().to_vec()).unwrap(),
            br#"[{"Date":"2024-01-31","B":1.5}]"#
        );
        assert_eq!(
            time("Date(2024,11,1,9,30,0)").as_deref(),
            Some("2024-12-01T09:30:00Z")
        );
        assert_eq!(time("Date(2024,12,1)"), None);
    }
}
