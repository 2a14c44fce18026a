//! Columns that are computed from several fields of a response: a sum, a text put together, a text cut short. `live::screen` computes
//! them before the rows are read.

use serde_json::value::RawValue;

use super::{
    answer::texts_at,
    request::{Placeholder, Template},
};
use model::{
    toml_reader::{TomlEntry, TomlError},
    untrusted::visible,
};

/// Longest text that `cut` may keep, in characters.
const CUT_MAX: i64 = 10_000;
/// Bytes of a text that are read.
const TEXT_MAX: usize = 64 << 10;

/// How a column is computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Computed {
    /// The sum of the fields at these paths. A missing field counts as 0; if all are missing, the cell is empty.
    Sum(Vec<String>),
    /// A text with `{path}` for fields, or `{path/-1}` for the last part of a field with slashes. The cell is empty if one is missing.
    Text(Template),
    /// The first line of a field, with at most `cut` characters; if `plain`, without HTML.
    Cut {
        from: String,
        cut: Option<usize>,
        plain: bool,
    },
}

impl Computed {
    /// Reads the keys of a column: `sum`, `text`, or `from` with `cut` or `plain`; `None` if it has none of these.
    pub(crate) fn read(members: &[TomlEntry<'_>]) -> Result<Option<Self>, TomlError> {
        let find = |key: &str| members.iter().find(|member| member.key == key);
        let computed = if let Some(sum) = find("sum") {
            Self::Sum(sum.texts()?)
        } else if let Some(text) = find("text") {
            let template = Template::parse(&text.text()?)
                .ok_or_else(|| text.wrong("has a `{` without its `}`"))?;
            Self::Text(template)
        } else if find("cut").is_some() || find("plain").is_some() {
            let Some(from) = find("from") else {
                let entry = find("cut").or(find("plain")).unwrap_or(&members[0]);
                return Err(entry.wrong("needs `from`, the path of the text"));
            };
            let cut = find("cut").map(|cut| cut.integer(1, CUT_MAX)).transpose()?;
            Self::Cut {
                from: from.text()?,
                cut: cut.map(|cut| cut as usize),
                plain: find("plain").map_or(Ok(false), TomlEntry::boolean)?,
            }
        } else {
            return Ok(None);
        };
        let odd = members.iter().find(|member| match computed {
            Self::Sum(_) => member.key != "sum",
            Self::Text(_) => member.key != "text",
            Self::Cut { .. } => !["from", "cut", "plain"].contains(&member.key),
        });
        odd.map_or(Ok(Some(computed)), |odd| {
            Err(odd.wrong("cannot be combined with `sum`, `text` or `cut`"))
        })
    }

    /// The paths of the fields that it reads, for messages.
    pub(crate) fn fields(&self) -> Vec<String> {
        match self {
            Self::Sum(paths) => paths.clone(),
            Self::Text(template) => template.holes().map(path_of).collect(),
            Self::Cut { from, .. } => vec![from.clone()],
        }
    }

    /// The value of a row, as JSON.
    pub(crate) fn of(&self, row: &RawValue) -> Option<String> {
        let text = match self {
            Self::Sum(paths) => return sum(row, paths),
            Self::Text(template) => template.fill(&|hole| part(row, &path_of(hole)))?,
            Self::Cut { from, cut, plain } => {
                let text = field(row, from)?;
                let text = if *plain { without_html(&text) } else { text };
                first_line(&text, *cut)?
            }
        };
        Some(serde_json::Value::String(text).to_string())
    }
}

/// The path in a placeholder; a dot separates its name and part, as in a path.
fn path_of(hole: &Placeholder) -> String {
    match &hole.part {
        Some(part) => format!("{}.{part}", hole.name),
        None => hole.name.clone(),
    }
}

/// The text at a path; `path/2` is the second part of a text with slashes, and `path/-1` the last.
fn part(row: &RawValue, path: &str) -> Option<String> {
    let Some((path, number)) = path.split_once('/') else {
        return field(row, path);
    };
    let (text, number) = (field(row, path)?, number.parse::<i64>().ok()?);
    let parts: Vec<&str> = text.split('/').collect();
    let place = if number < 0 {
        parts.len() as i64 + number
    } else {
        number - 1
    };
    let part = parts.get(usize::try_from(place).ok()?)?;
    (!part.is_empty()).then(|| (*part).to_owned())
}

fn field(row: &RawValue, path: &str) -> Option<String> {
    texts_at(row, path)
        .into_iter()
        .next()
        .filter(|text| !text.is_empty())
}

/// Whole numbers stay exact; a result beyond 64 bits has no value.
fn sum(row: &RawValue, paths: &[String]) -> Option<String> {
    let values = paths.iter().filter_map(|path| field(row, path));
    let numbers = values.filter_map(|text| text.trim().parse::<i64>().ok());
    let sum = numbers.map(Some).reduce(|a, b| a?.checked_add(b?))??;
    Some(sum.to_string())
}

/// The first line that has a letter or digit, or else the first that is not empty.
fn first_line(text: &str, cut: Option<usize>) -> Option<String> {
    let lines = || {
        text.lines()
            .map(|line| visible(line).trim().to_owned())
            .filter(|line| !line.is_empty())
    };
    let line = lines()
        .find(|line| line.chars().any(char::is_alphanumeric))
        .or_else(|| lines().next())?;
    let Some(cut) = cut.filter(|cut| line.chars().count() > *cut) else {
        return Some(line);
    };
    let cut: String = line.chars().take(cut.saturating_sub(1)).collect();
    Some(format!("{}…", cut.trim_end()))
}

/// The text of HTML: without tags, a new line for each paragraph, and with the common entities replaced.
fn without_html(html: &str) -> String {
    let mut end = html.len().min(TEXT_MAX);
    while !html.is_char_boundary(end) {
        end -= 1;
    }
    let (mut text, mut rest) = (String::new(), &html[..end]);
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        let mark = &rest[at..];
        if let Some(tag) = mark.strip_prefix('<') {
            let Some((name, after)) = tag.split_once('>') else {
                return text;
            };
            let name = name.trim_start_matches('/').to_ascii_lowercase();
            if ["br", "p", "div", "li"]
                .iter()
                .any(|block| name.split([' ', '/']).next() == Some(*block))
            {
                text.push('\n');
            }
            rest = after;
            continue;
        }
        let entity = mark[1..]
            .split_once(';')
            .filter(|(name, _)| name.len() <= 8);
        let known = entity.and_then(|(name, after)| Some((letter(name)?, after)));
        let (letter, after) = known.unwrap_or(('&', &mark[1..]));
        text.push(letter);
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The character of an HTML entity.
fn letter(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(computed: &Computed, row: &str) -> Option<String> {
        let row = RawValue::from_string(row.to_owned()).expect("JSON");
        computed.of(&row)
    }

    #[test]
    fn a_sum_counts_missing_fields_as_zero_unless_all_are_missing() {
        let sum = Computed::Sum(
            ["likes", "recasts", "replies.count"]
                .map(str::to_owned)
                .into(),
        );
        for (row, expected) in [
            (
                r#"{"likes":3,"recasts":null,"replies":{"count":1}}"#,
                Some("4"),
            ),
            (r#"{"likes":"3"}"#, Some("3")),
            (r#"{"likes":0}"#, Some("0")),
            (r#"{"likes":null,"replies":{}}"#, None),
            (r#"{"likes":9223372036854775807,"recasts":1}"#, None),
        ] {
            assert_eq!(of(&sum, row).as_deref(), expected, "{row}");
        }
    }

    #[test]
    fn a_text_is_put_together_if_all_its_fields_are_there() {
        let template = Template::parse("https://x.org/{author.username}/{hash}").expect("valid");
        let link = Computed::Text(template);
        assert_eq!(
            of(&link, r#"{"author":{"username":"a"},"hash":"0x1"}"#).as_deref(),
            Some("\"https://x.org/a/0x1\"")
        );
        assert_eq!(of(&link, r#"{"author":{},"hash":"0x1"}"#), None);
        for (number, expected) in [("-1", Some("\"z\"")), ("3", Some("\"x\"")), ("9", None)] {
            let template = Template::parse(&format!("{{uri/{number}}}")).expect("valid");
            let found = of(&Computed::Text(template), r#"{"uri":"at://x/y/z"}"#);
            assert_eq!(found.as_deref(), expected, "{number}");
        }
    }

    #[test]
    fn a_title_is_the_first_line_without_html_and_signs_that_are_not_seen() {
        let cut = |cut: usize| Computed::Cut {
            from: "text".to_owned(),
            cut: Some(cut),
            plain: true,
        };
        for (text, length, expected) in [
            ("one\\ntwo", 280, Some("one")),
            ("\\n\\n  one  ", 280, Some("one")),
            ("🚀\\nto the moon", 280, Some("to the moon")),
            ("🚀", 280, Some("🚀")),
            ("abcdef", 6, Some("abcdef")),
            ("abcdefg", 6, Some("abcde…")),
            ("<p>a &amp; b<br>c</p>", 280, Some("a & b")),
            ("1 < 2", 280, Some("1")),
            ("&#x41;&#66;&bogus;", 280, Some("AB&bogus;")),
            ("a\\u001b[31m\\u202eb", 280, Some("a [31mb")),
            ("   ", 280, None),
        ] {
            let row = format!(r#"{{"text":"{text}"}}"#);
            let expected = expected.map(|text| format!("\"{text}\""));
            assert_eq!(of(&cut(length), &row), expected, "{text}");
        }
    }
}
