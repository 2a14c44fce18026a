//! Column binding: which column of a file provides each column of the schema. By name only; no cell is read.

use std::{collections::HashSet, fmt::Write as _};

use super::{others, path};
use crate::{
    error::ReadError,
    formats::ColumnFilter,
    manifest::{
        ColumnManifest, TableManifest, Unit,
        columns::{is_amount, power_of_ten},
    },
};
use model::{
    schema::{Column, Kind, Need, TableSchema},
    spelling::meant,
};

/// A column of the schema and its binding in one file.
#[derive(Debug)]
pub struct Bound<'a> {
    pub column: &'static Column,
    /// File column whose values are in the schema's unit.
    pub raw: Option<String>,
    /// File column whose values are in another unit.
    pub units: Option<String>,
    /// That other unit.
    pub unit: Option<Unit>,
    pub constant: Option<&'a str>,
    pub rule: &'a ColumnManifest,
    /// 1-based index of the list element to take.
    pub item: Option<i64>,
    /// Adjacent column that shows a volume to be in USD, if `dataset.toml` gives no unit.
    pub beside: Option<String>,
}

/// Rule of a column that `dataset.toml` does not mention.
static PLAIN: std::sync::LazyLock<ColumnManifest> =
    std::sync::LazyLock::new(ColumnManifest::default);

/// Name of the column with the values of `column` in smallest units.
fn units_name(column: &str) -> String {
    format!("{column}_raw")
}

fn same(a: &str, b: &str) -> bool {
    a.trim().eq_ignore_ascii_case(b.trim())
}

/// Names of a column whose values are in another unit, in lower case.
fn other_names(
    schema: &TableSchema,
    column: &Column,
) -> impl Iterator<Item = (String, Unit)> + use<> {
    let raw = is_amount(schema.name, column.name).then(|| (units_name(column.name), Unit::Raw));
    let usd = (schema.name, column.name) == ("candles", "volume");
    let usd = IN_USD
        .iter()
        .filter(move |_| usd)
        .map(|name| ((*name).to_owned(), Unit::Usd));
    raw.into_iter().chain(usd)
}

/// Names of volumes in USD.
const IN_USD: &[&str] = &["volume_usd", "volumeusd", "usd_volume", "volume usd"];

/// Adjacent columns that show a volume to be in USD, as normalized by `letters`: those of Yahoo and CoinMarketCap.
pub const BESIDE_DOLLARS: &[&str] = &[
    "adjclose",
    "adjustedclose",
    "dividends",
    "stocksplits",
    "marketcap",
    "mktcap",
    "marketcapitalization",
];

/// Normalizes a name: its alphanumeric characters in lower case.
fn letters(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Filter for the columns to read from a file of this table.
pub fn wanted(schema: &TableSchema, manifest: &TableManifest) -> ColumnFilter {
    let mut names: HashSet<String> = HashSet::new();
    // A column that is the same in every row is not read, so that an empty one leaves it out.
    for column in schema
        .columns
        .iter()
        .filter(|column| !manifest.set.contains_key(column.name))
    {
        names.extend(
            column
                .aliases
                .iter()
                .chain([&column.name])
                .map(|name| name.to_lowercase()),
        );
        names.extend(other_names(schema, column).map(|(name, _)| name));
    }
    let said = manifest
        .columns
        .values()
        .filter_map(|column| column.from.as_ref())
        .chain(manifest.filters.iter().map(|(name, _)| name));
    for name in said {
        // A member of an object is read from the object.
        names.extend(path::heads(name).map(str::to_lowercase));
    }
    let all = others::are_kept(schema);
    std::sync::Arc::new(move |name: &str| all || names.contains(&name.trim().to_lowercase()))
}

/// Binds every column of the schema to the `names` of a file; an error makes the table unusable.
pub fn bind<'a>(
    schema: &'static TableSchema,
    manifest: &'a TableManifest,
    names: &[String],
) -> Result<Vec<Bound<'a>>, ReadError> {
    // A list of which other columns take one element each can still be bound as a whole.
    let taken: Vec<&str> = manifest
        .columns
        .values()
        .filter(|column| column.item.is_none())
        .filter_map(|column| column.from.as_deref())
        .collect();
    let free: Vec<&String> = names
        .iter()
        .filter(|name| !taken.iter().any(|taken| same(taken, name)))
        .collect();
    let bound: Result<Vec<Bound<'a>>, ReadError> = schema
        .columns
        .iter()
        .map(|column| bind_column(schema, manifest, column, names, &free))
        .collect();
    bound.map(|bound| with_elements(schema, bound))
}

/// Binds one column; `free` are the names that `dataset.toml` gives to no column.
fn bind_column<'a>(
    schema: &'static TableSchema,
    manifest: &'a TableManifest,
    column: &'static Column,
    names: &[String],
    free: &[&String],
) -> Result<Bound<'a>, ReadError> {
    let rule = manifest.columns.get(column.name).unwrap_or(&PLAIN);
    let constant = manifest.set.get(column.name).map(String::as_str);
    let mut bound = Bound {
        column,
        raw: None,
        units: None,
        unit: None,
        constant,
        rule,
        item: rule.item,
        beside: None,
    };
    if bound.constant.is_some() {
        return Ok(bound);
    }
    let named = named_in_manifest(column, rule, names)?;
    bound.raw = if named.is_some() {
        named
    } else {
        claim_by_name(schema, column, free)?
    };
    for (name, unit) in other_names(schema, column) {
        if bound.units.is_none() && (bound.raw.is_none() || unit == Unit::Raw) {
            bound.units = claim(
                column,
                free.iter().copied().filter(|other| same(other, &name)),
            )?;
            bound.unit = bound.units.as_ref().map(|_| unit);
        }
    }
    // Without `unit`, a volume in USD must not be mistaken for one in tokens.
    if (schema.name, column.name) == ("candles", "volume")
        && rule.unit.is_none()
        && bound.raw.is_some()
    {
        bound.beside = names
            .iter()
            .find(|name| BESIDE_DOLLARS.contains(&&*letters(name)))
            .cloned();
        if bound.beside.is_some() {
            (bound.units, bound.unit) = (bound.raw.take(), Some(Unit::Usd));
        }
    }
    if let Some(unit) = other_unit(rule, column).filter(|_| bound.raw.is_some()) {
        (bound.units, bound.unit) = (bound.raw.take(), Some(unit));
    }
    Ok(bound)
}

/// The file's column that `dataset.toml` names, or the path into a nested one.
fn named_in_manifest(
    column: &Column,
    rule: &ColumnManifest,
    names: &[String],
) -> Result<Option<String>, ReadError> {
    let Some(from) = rule.from.as_deref() else {
        return Ok(None);
    };
    let named = claim(column, names.iter().filter(|name| same(name, from)))?;
    let is_nested = || {
        path::heads(from)
            .skip(1)
            .any(|head| names.iter().any(|name| same(name, head)))
    };
    Ok(named.or_else(|| is_nested().then(|| from.to_owned())))
}

/// The file's column with a name of this one.
fn claim_by_name(
    schema: &TableSchema,
    column: &Column,
    free: &[&String],
) -> Result<Option<String>, ReadError> {
    let is_ours = |name: &&String| schema.ours_first && same(column.name, name);
    match claim(column, free.iter().copied().filter(is_ours))? {
        None => claim(
            column,
            free.iter().copied().filter(|name| answers(column, name)),
        ),
        ours => Ok(ours),
    }
}

/// Columns that are elements of a list where a file has only the list: table, column, list, element.
const ELEMENTS: &[(&str, &str, &str, i64)] = &[
    ("pools", "token0", "tokens", 1),
    ("pools", "token1", "tokens", 2),
];

fn with_elements<'a>(schema: &TableSchema, mut bound: Vec<Bound<'a>>) -> Vec<Bound<'a>> {
    for (_, name, list, item) in ELEMENTS.iter().filter(|(table, ..)| *table == schema.name) {
        let whole = bound.iter().find(|bound| {
            bound.column.name == *list && bound.item.is_none() && !bound.rule.explode
        });
        let Some((Some(raw), rule)) = whole.map(|whole| (whole.raw.clone(), whole.rule)) else {
            continue;
        };
        let lacking = bound.iter_mut().find(|bound| {
            bound.column.name == *name && bound.is_absent() && bound.rule.from.is_none()
        });
        if let Some(lacking) = lacking {
            (lacking.raw, lacking.rule, lacking.item) = (Some(raw), rule, Some(*item));
        }
    }
    bound
}

/// Unit to convert from, where `dataset.toml` names one other than the schema's.
fn other_unit(rule: &ColumnManifest, column: &Column) -> Option<Unit> {
    let smallest = column.kind == Kind::Uint256;
    match rule.unit {
        // A scale of a power of ten: whole tokens with that many decimals.
        None if smallest && rule.scale.and_then(power_of_ten).is_some() => Some(Unit::Whole),
        Some(Unit::Whole) if smallest => Some(Unit::Whole),
        Some(Unit::Raw) if !smallest => Some(Unit::Raw),
        Some(Unit::Usd) if column.name == "volume" => Some(Unit::Usd),
        Some(Unit::Token) if column.name == "market_cap" => Some(Unit::Token),
        _ => None,
    }
}

/// Whether a file's column name is a name or alias of the column.
pub fn answers(column: &Column, name: &str) -> bool {
    column
        .aliases
        .iter()
        .chain([&column.name])
        .any(|known| same(known, name))
}

/// Returns the only matching column; an error where several match.
fn claim<'n>(
    column: &Column,
    mut claims: impl Iterator<Item = &'n String>,
) -> Result<Option<String>, ReadError> {
    let Some(first) = claims.next() else {
        return Ok(None);
    };
    let Some(second) = claims.next() else {
        return Ok(Some(first.clone()));
    };
    Err(if same(first, second) {
        ReadError::SameName(first.trim().to_owned())
    } else {
        ReadError::TwoMatches {
            column: column.name,
            first: first.clone(),
            second: second.clone(),
        }
    })
}

impl Bound<'_> {
    pub fn is_absent(&self) -> bool {
        self.raw.is_none() && self.units.is_none() && self.constant.is_none()
    }
}

/// Columns that are derived where a table lacks them.
const DERIVED: &[(&str, &str)] = &[("fee_tiers", "tier")];

/// Columns of `tokens` that a node says where there is one.
const BY_NODE: [&str; 2] = ["symbol", "name"];

/// The error for a required column that the file lacks; `None` if all are bound.
pub fn missing(
    schema: &TableSchema,
    manifest: &TableManifest,
    bound: &[Bound<'_>],
    names: &[String],
) -> Option<String> {
    // A misspelt name must not fall back to another column. Of several files each may have its own names.
    let slip = bound
        .iter()
        .filter(|bound| bound.constant.is_none())
        .find_map(|bound| {
            let from = bound.rule.from.as_ref()?;
            let there = path::heads(from).any(|head| names.iter().any(|name| same(name, head)));
            let other = manifest.path.len() > 1 && !bound.is_absent();
            (!there && !other).then_some((bound.column.name, from))
        });
    if let Some((name, from)) = slip {
        let near = meant(from, names.iter().map(String::as_str))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Some(format!(
            "has no column `{from}`, which dataset.toml maps to `{name}`; it has {}{near}",
            listed(names)
        ));
    }
    let by_node =
        |bound: &&Bound<'_>| manifest.named_by_node && BY_NODE.contains(&bound.column.name);
    let all: Vec<&Bound<'_>> = lacking(schema, bound)
        .filter(|bound| !by_node(bound))
        .collect();
    let lacking = all.first()?;
    let (table, name) = (schema.name, lacking.column.name);
    let free = names
        .iter()
        .filter(|name| !bound.iter().any(|bound| bound.raw.as_ref() == Some(name)));
    let (likely, near) = match likely(lacking.column, free) {
        Some(near) => (near, format!("; the nearest is `{near}`")),
        None => ("NAME", String::new()),
    };
    let shown = |bound: &Bound<'_>| format!("`{}` ({})", bound.column.name, bound.column.meaning);
    let absent: Vec<String> = all.iter().map(|bound| shown(bound)).collect();
    let mut reason = match absent.split_last()? {
        (last, []) => format!("lacks the column {last}"),
        (last, before) => format!("lacks the columns {} and {last}", before.join(", ")),
    };
    write!(
        reason,
        "; it has {}{near}; if the column has another name, add to dataset.toml: [tables.{table}.columns] {name} = \"{likely}\"",
        listed(names)
    )
    .ok();
    if let Some(example) = example(lacking.column.kind) {
        write!(reason, "; if the value is the same in every row, add: [tables.{table}.set] {name} = \"{example}\"").ok();
    }
    Some(reason)
}

/// Required columns that the file does not provide.
pub fn lacking<'b, 'a>(
    schema: &TableSchema,
    bound: &'b [Bound<'a>],
) -> impl Iterator<Item = &'b Bound<'a>> {
    bound.iter().filter(|bound| {
        let required = bound.column.need != Need::Optional
            && !DERIVED.contains(&(schema.name, bound.column.name));
        bound.is_absent() && (required || bound.rule.from.is_some())
    })
}

/// Example of a constant, where one makes sense: no price, amount or time is the same in every row.
fn example(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Address | Kind::Addresses => Some("0x…"),
        Kind::Chain | Kind::Chains => Some("eth"),
        Kind::Date => Some("2024-12-31"),
        Kind::Integer => Some("0"),
        Kind::Boolean => Some("true"),
        Kind::Text | Kind::Hex => Some("…"),
        Kind::Time | Kind::Float | Kind::Uint256 => None,
    }
}

/// The file's column that is almost certainly meant, as a person copies a suggestion unread: its name is spelt almost the same, or one of
/// the two names ends with the other (`Contract Address`, `address`), as the last word is the noun.
fn likely<'n>(column: &Column, names: impl Iterator<Item = &'n String>) -> Option<&'n str> {
    // A token's address is that of its contract; other addresses of a row (of a pool, of a holder) are not.
    let contract = (column.name == "token_address").then_some("contract address");
    let known: Vec<String> = column
        .aliases
        .iter()
        .copied()
        .chain([column.name])
        .chain(contract)
        .map(plain)
        .collect();
    let likeness = |name: &str| {
        let name = plain(name);
        let ends = |long: &str, short: &str| {
            !short.is_empty()
                && long
                    .strip_suffix(short)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
        };
        let like = |known: &String| {
            if ends(&name, known) || ends(known, &name) {
                1.0
            } else {
                strsim::jaro(&name, known)
            }
        };
        known.iter().map(like).fold(0.0, f64::max)
    };
    let ranked = names
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN);
    ranked
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, name)| name.as_str())
}

/// Jaro similarity from which two names are spellings of one: `token_adress` has 0.97, `Token Name` 0.79.
const LIKENESS_MIN: f64 = 0.9;

/// The words of a name in lower case, separated by spaces.
fn plain(name: &str) -> String {
    let words = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The first few names, for a message.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(12)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    if shown.is_empty() {
        "no columns".to_owned()
    } else {
        format!("{}{more}", shown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;

    #[test]
    fn only_a_column_that_surely_is_meant_is_proposed() {
        let table = schema::table("tokens").unwrap();
        let column = table
            .columns
            .iter()
            .find(|column| column.name == "token_address")
            .unwrap();
        for (names, expected) in [
            (&["Token Name", "Symbol"][..], None),
            (&["Token Name", "token_adress"], Some("token_adress")),
            (&["Symbol", "Token-Address"], Some("Token-Address")),
            (
                &["Name", "Smart Contract Address"],
                Some("Smart Contract Address"),
            ),
            (&["Pool Address", "漢字", ""], None),
        ] {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(likely(column, names.iter()), expected, "{names:?}");
        }
    }
}
