//! `where` and `sort` as the document shows them: patterns made from the columns. Nothing is parsed by them.

use serde_json::{Value, json};

use crate::{
    analysis::indicators::{INDICATORS_MAX, KINDS},
    question::{
        filter::{ColumnKind, FilterColumn, TEXT_BYTES_MAX},
        list::SORTS_MAX,
        parameter::{ADDRESS_PATTERN, EXAMPLE_TOKEN},
    },
};

/// Up to so many addresses.
pub(super) fn addresses(max: usize) -> Value {
    let address = ADDRESS_PATTERN.trim_start_matches('^').trim_end_matches('$');
    let others = max - 1;
    json!({ "type": "string", "pattern": format!("^{address}(,{address}){{0,{others}}}$"), "examples": [EXAMPLE_TOKEN] })
}

/// A filter over these columns.
pub(super) fn conditions(columns: &[FilterColumn]) -> Value {
    json!({ "type": "string", "maxLength": TEXT_BYTES_MAX, "pattern": pattern(columns), "examples": [example(columns)] })
}

/// An order by these columns.
pub(super) fn sort(columns: &[FilterColumn], default: Option<&'static str>) -> Value {
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let column = format!("[+-]?({})", names.join("|"));
    let pattern = format!("^{column}(,{column}){{0,{}}}$", SORTS_MAX - 1);
    let mut schema = json!({ "type": "string", "pattern": pattern, "examples": [format!("-{}", names[0])] });
    if let Some(default) = default {
        schema["default"] = default.into();
    }
    schema
}

/// Indicators by name: their words, and numbers behind each.
pub(super) fn indicators(default: &'static str) -> Value {
    let number = r"(_\d{1,3}(\.\d{1,3})?)";
    let names: Vec<String> = KINDS.iter().map(|kind| format!("{}{number}{{{}}}", kind.word, kind.usual.matches('_').count())).collect();
    let name = format!("({})", names.join("|"));
    json!({ "type": "string", "pattern": format!("^{name}(,{name}){{0,{}}}$", INDICATORS_MAX - 1), "default": default })
}

/// What conditions look like; the values that a column takes are those that it can be compared with.
fn pattern(columns: &[FilterColumn]) -> String {
    const ANY: &str = ":|=|!=|>=|<=|>|<";
    const WORD: &str = "[^\\s\":=<>!][^\\s\"]*|\"[^\"]*\"";
    const DAY: &str = "[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?";
    let of_kind = |kinds: &[ColumnKind], signs: &str, value: &str| {
        let named = columns.iter().filter(|column| kinds.contains(&column.kind));
        let names: Vec<&str> = named.flat_map(|column| std::iter::once(&*column.name).chain(column.aliases.iter().copied())).collect();
        (!names.is_empty()).then(|| format!("({}) *({signs}) *({value})", names.join("|")))
    };
    let kinds = [
        of_kind(&[ColumnKind::Number], ANY, "-?[0-9]{1,15}(\\.[0-9]{1,9})?[kmbt]?%?"),
        of_kind(&[ColumnKind::Text, ColumnKind::List, ColumnKind::Chain], ":|=|!=", WORD),
        of_kind(&[ColumnKind::Flag], ":|=|!=", "yes|no|true|false|1|0"),
        of_kind(&[ColumnKind::Time], "=|!=|>=|<=|>|<", DAY),
        of_kind(&[ColumnKind::Duration], ANY, "[0-9]{1,5}(s|min|h|d|w|mo|y)"),
    ];
    let condition = kinds.into_iter().flatten().collect::<Vec<_>>().join("|");
    format!("^ *({condition})( +({condition})){{0,31}} *$")
}

fn example(columns: &[FilterColumn]) -> String {
    let of_kind =
        |kind: ColumnKind, rest: &str| columns.iter().find(|column| column.kind == kind).map(|column| format!("{}{rest}", column.name));
    let examples = [of_kind(ColumnKind::Chain, ":base"), of_kind(ColumnKind::Number, ">1m"), of_kind(ColumnKind::Time, ">=2026-08")];
    examples.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
