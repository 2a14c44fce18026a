//! SQL for ClickHouse: identifiers, literals, lossless casts of each type, and `where` as conditions. Nothing here sends a query.

use std::{collections::HashSet, fmt::Write as _};

use serde::{Deserialize, Serialize};

use crate::{cells::measure, manifest::RowFilter};
use frames::raw_cell::RawCell;
use model::{address::Address, schema::Kind};

/// Type of an engine's column, as far as the loader distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ColumnType {
    /// An integer of up to 64 bits.
    Whole,
    /// A wider integer, or a decimal: exact only as text.
    Wide,
    Float,
    /// A 32-bit float: the number is its shortest decimal text.
    Single,
    Text,
    /// A text of a fixed number of bytes.
    Fixed(usize),
    Time,
    Day,
    /// An enum, a LowCardinality text, a UUID or an IP address, read as text.
    Word,
    /// A boolean, a list, an object: read as it is.
    Other,
    /// The state of an aggregate function, which cannot be read.
    State,
}

/// Spelling of addresses or hashes in a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum HexSpelling {
    /// `0x` and digits, or anything that the loader validates.
    #[default]
    Plain,
    /// As bytes.
    Bytes,
    /// Digits without `0x`.
    NoPrefix,
    /// Some in mixed case other than that of EIP-55: compared in lower case, for which no index of the table can be used.
    MixedCase,
}

/// A column of an engine's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EngineColumn {
    pub(super) name: String,
    pub(super) form: ColumnType,
    pub(super) nullable: bool,
    pub(super) spelling: HexSpelling,
}

impl EngineColumn {
    pub(super) fn new(name: &str, kind: &str) -> Self {
        let (form, nullable) = form_of(kind);
        Self {
            name: name.to_owned(),
            form,
            nullable,
            spelling: HexSpelling::Plain,
        }
    }

    pub(super) fn sql(&self) -> String {
        identifier(&self.name)
    }
}

/// The argument of the type `NAME(…)`.
fn inside<'a>(kind: &'a str, name: &str) -> Option<&'a str> {
    kind.strip_prefix(name)?
        .strip_prefix('(')?
        .strip_suffix(')')
}

fn form_of(kind: &str) -> (ColumnType, bool) {
    let kind = kind.trim();
    if let Some(inner) = inside(kind, "Nullable") {
        return (form_of(inner).0, true);
    }
    if let Some(inner) = inside(kind, "LowCardinality") {
        let (form, nullable) = form_of(inner);
        // Queried as text, not as a dictionary.
        return (
            if form == ColumnType::Text {
                ColumnType::Word
            } else {
                form
            },
            nullable,
        );
    }
    if let Some(inner) = inside(kind, "SimpleAggregateFunction") {
        return form_of(inner.split_once(',').map_or("", |(_, inner)| inner));
    }
    if let Some(length) = inside(kind, "FixedString") {
        return (
            length
                .trim()
                .parse()
                .map_or(ColumnType::State, ColumnType::Fixed),
            false,
        );
    }
    let name = kind.split('(').next().unwrap_or(kind);
    let form = match name {
        "UInt8" | "UInt16" | "UInt32" | "UInt64" | "Int8" | "Int16" | "Int32" | "Int64" => {
            ColumnType::Whole
        }
        "UInt128" | "UInt256" | "Int128" | "Int256" | "Decimal" | "Decimal32" | "Decimal64"
        | "Decimal128" | "Decimal256" => ColumnType::Wide,
        "Float32" => ColumnType::Single,
        "Float64" => ColumnType::Float,
        "String" => ColumnType::Text,
        "DateTime" | "DateTime32" | "DateTime64" => ColumnType::Time,
        "Date" | "Date32" => ColumnType::Day,
        "Enum8" | "Enum16" | "UUID" | "IPv4" | "IPv6" => ColumnType::Word,
        "AggregateFunction" | "Nothing" => ColumnType::State,
        _ => ColumnType::Other,
    };
    (form, false)
}

pub(super) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// A table name, optionally with its database, as quoted identifiers.
pub(super) fn table(name: &str) -> String {
    name.splitn(2, '.')
        .map(identifier)
        .collect::<Vec<_>>()
        .join(".")
}

pub(super) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// SQL expression that reads a column without loss. `old`: from a server that sends CSV.
pub(super) fn cast(theirs: &EngineColumn, old: bool) -> String {
    let name = theirs.sql();
    let cast = match (theirs.form, theirs.spelling) {
        (ColumnType::Text | ColumnType::Fixed(_), HexSpelling::Bytes) => {
            format!("concat('0x', lower(hex({name})))")
        }
        // A LowCardinality text of bytes or digits is written out like a plain one.
        (ColumnType::Word, HexSpelling::Bytes) => {
            format!("concat('0x', lower(hex(toString({name}))))")
        }
        (ColumnType::Word, HexSpelling::NoPrefix) => format!("concat('0x', toString({name}))"),
        (ColumnType::Text, HexSpelling::NoPrefix) => format!("concat('0x', {name})"),
        (ColumnType::Fixed(_), HexSpelling::NoPrefix) => {
            format!("concat('0x', toStringCutToZero({name}))")
        }
        (ColumnType::Fixed(_), HexSpelling::Plain | HexSpelling::MixedCase) => {
            format!("toStringCutToZero({name})")
        }
        (ColumnType::Wide | ColumnType::Word, _) => format!("toString({name})"),
        // As a number it would have no unit.
        (ColumnType::Time, _) if old => format!("toString({name}, 'UTC')"),
        (ColumnType::Day, _) if old => format!("toString({name})"),
        (ColumnType::Time | ColumnType::Day, _) => format!("toDateTime64({name}, 3, 'UTC')"),
        _ => name,
    };
    if old && theirs.nullable {
        format!("ifNull(toString({cast}), '')")
    } else {
        cast
    }
}

/// SQL expression for a checksum that is independent of row order.
pub(super) fn checksum(columns: &[EngineColumn]) -> String {
    format!("sum({})", hash(columns))
}

/// SQL expression for the hash of a row.
pub(super) fn hash(columns: &[EngineColumn]) -> String {
    let value = |theirs: &EngineColumn| {
        let (name, text) = (theirs.sql(), format!("toString({})", theirs.sql()));
        match theirs.form {
            _ if theirs.nullable => format!("ifNull({text}, '\\\\N')"),
            // Hashing the values themselves costs a tenth of hashing their text.
            ColumnType::Whole
            | ColumnType::Float
            | ColumnType::Single
            | ColumnType::Text
            | ColumnType::Fixed(_)
            | ColumnType::Time
            | ColumnType::Day => name,
            _ => text,
        }
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!(
        "cityHash64('', {})",
        if values.is_empty() {
            "''".to_owned()
        } else {
            values.join(", ")
        }
    )
}

/// Literals of an address for the column: in lower case, in upper case, and in the case of EIP-55.
fn spellings(address: &Address, theirs: &EngineColumn) -> Vec<String> {
    let small = address.to_string();
    let digits = &small[2..];
    if theirs.spelling == HexSpelling::Bytes {
        let bytes = format!("unhex('{digits}')");
        return vec![if let ColumnType::Fixed(length) = theirs.form {
            format!("toFixedString({bytes}, {length})")
        } else {
            bytes
        }];
    }
    if theirs.spelling == HexSpelling::MixedCase {
        return vec![text(&small)];
    }
    let mixed = address.checksummed();
    let mut all = vec![
        digits.to_owned(),
        mixed[2..].to_owned(),
        digits.to_ascii_uppercase(),
    ];
    all.dedup();
    let start = if theirs.spelling == HexSpelling::NoPrefix {
        ""
    } else {
        "0x"
    };
    all.iter()
        .map(|digits| text(&format!("{start}{digits}")))
        .collect()
}

/// Maximum number of values in one condition.
const VALUES_MAX: usize = 60_000;

/// SQL condition that keeps all rows that `filter` keeps, and as few others as SQL can express; none where a row might be lost. It compares
/// the bare column, so that the table's primary key is used. `kind` is that of the schema column, if one is bound to it.
pub(super) fn condition(
    filter: &RowFilter,
    theirs: &EngineColumn,
    kind: Option<Kind>,
    tokens: &HashSet<Address>,
    old: bool,
) -> Option<String> {
    let mixed_case = theirs.spelling == HexSpelling::MixedCase;
    let name = if mixed_case {
        format!("lower({})", cast(theirs, false))
    } else {
        theirs.sql()
    };
    let one_of = |values: Vec<String>| {
        let fits = !values.is_empty() && values.len() <= VALUES_MAX;
        fits.then(|| format!("{name} IN ({})", values.join(", ")))
    };
    let is_text = matches!(
        theirs.form,
        ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word
    );
    match filter {
        RowFilter::Tokens if is_text => {
            let mut tokens: Vec<&Address> = tokens.iter().collect();
            tokens.sort();
            let known = one_of(
                tokens
                    .into_iter()
                    .flat_map(|token| spellings(token, theirs))
                    .collect(),
            )?;
            // A coin without a contract: `coin:BTC`.
            let coins = || {
                ["coin:", "COIN:", "Coin:"]
                    .map(|word| format!("startsWith({name}, '{word}')"))
                    .join(" OR ")
            };
            Some(
                if matches!(theirs.spelling, HexSpelling::Plain | HexSpelling::MixedCase)
                    && matches!(theirs.form, ColumnType::Text | ColumnType::Word)
                {
                    format!("({known} OR {})", coins())
                } else {
                    known
                },
            )
        }
        RowFilter::OneOf(values) if values.iter().any(|value| value.trim().is_empty()) => None,
        RowFilter::OneOf(values) if theirs.form == ColumnType::Whole => {
            let numbers: Option<Vec<String>> = values
                .iter()
                .map(|value| value.parse::<i64>().ok().map(|n| n.to_string()))
                .collect();
            one_of(numbers?)
        }
        RowFilter::OneOf(values) if is_text && kind == Some(Kind::Address) => {
            let addresses: Option<Vec<Address>> =
                values.iter().map(|value| Address::parse(value)).collect();
            one_of(
                addresses?
                    .iter()
                    .flat_map(|address| spellings(address, theirs))
                    .collect(),
            )
        }
        RowFilter::OneOf(values)
            if is_text
                && kind.is_none_or(|kind| kind == Kind::Text)
                && theirs.spelling == HexSpelling::Plain =>
        {
            one_of(values.iter().map(|value| text(value)).collect())
        }
        // The unit of a Unix epoch is unknown here.
        RowFilter::Between { .. }
            if matches!(kind, Some(Kind::Time | Kind::Date))
                && !matches!(theirs.form, ColumnType::Time | ColumnType::Day) =>
        {
            None
        }
        RowFilter::Between { min, max } => {
            let said = [(min, ">=", Side::Least), (max, "<=", Side::Most)];
            let mut all = String::new();
            for (bound, sign, side) in said {
                let Some(bound) = bound else { continue };
                let value = measure(
                    &RawCell::Text(bound.as_str().into()),
                    kind.unwrap_or(Kind::Text),
                )?;
                let literal = literal(value, theirs.form, side, old)?;
                write!(
                    all,
                    "{}{name} {sign} {literal}",
                    if all.is_empty() { "" } else { " AND " }
                )
                .ok();
            }
            Some(all).filter(|all| !all.is_empty())
        }
        _ => None,
    }
}

/// Whether `condition` keeps no other rows than `filter` does: a bound may lie between two values of the column's type.
pub(super) fn is_exact(filter: &RowFilter, theirs: &EngineColumn, kind: Option<Kind>) -> bool {
    let RowFilter::Between { min, max } = filter else {
        return true;
    };
    let step = if theirs.form == ColumnType::Day {
        86_400_000.0
    } else {
        1.0
    };
    let lies_on = |bound: &String| {
        measure(
            &RawCell::Text(bound.as_str().into()),
            kind.unwrap_or(Kind::Text),
        )
        .is_some_and(|v| v % step == 0.0)
    };
    theirs.form == ColumnType::Float || [min, max].into_iter().flatten().all(lies_on)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Least,
    Most,
}

/// A bound as a literal of the column's type, rounded away from the kept range.
fn literal(value: f64, form: ColumnType, side: Side, old: bool) -> Option<String> {
    let whole = |value: f64| {
        if side == Side::Least {
            value.floor()
        } else {
            value.ceil()
        }
    };
    match form {
        ColumnType::Whole if value.abs() < 9e15 => Some(format!("{}", whole(value) as i64)),
        ColumnType::Float => Some(format!("{value:?}")),
        ColumnType::Time if old => Some(format!(
            "toDateTime({})",
            (whole(value / 1_000.0) as i64).clamp(0, 4_294_967_295)
        )),
        ColumnType::Time => Some(time(whole(value) as i64)),
        ColumnType::Day => Some(format!(
            "toDate({})",
            text(&model::time::Day(whole(value / 86_400_000.0) as i32).to_string())
        )),
        _ => None,
    }
}

/// SQL literal of a time in milliseconds since 1970.
pub(super) fn time(milliseconds: i64) -> String {
    format!("fromUnixTimestamp64Milli(toInt64({milliseconds}), 'UTC')")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: &str) -> EngineColumn {
        EngineColumn::new("a`b", kind)
    }

    #[test]
    fn every_type_comes_without_loss() {
        for (kind, cast_new, cast_old) in [
            ("UInt64", "`a\\`b`", "`a\\`b`"),
            (
                "Nullable(UInt256)",
                "toString(`a\\`b`)",
                "ifNull(toString(toString(`a\\`b`)), '')",
            ),
            ("Decimal(38, 18)", "toString(`a\\`b`)", "toString(`a\\`b`)"),
            (
                "LowCardinality(Nullable(String))",
                "toString(`a\\`b`)",
                "ifNull(toString(toString(`a\\`b`)), '')",
            ),
            (
                "DateTime",
                "toDateTime64(`a\\`b`, 3, 'UTC')",
                "toString(`a\\`b`, 'UTC')",
            ),
            (
                "DateTime64(6, 'Asia/Tokyo')",
                "toDateTime64(`a\\`b`, 3, 'UTC')",
                "toString(`a\\`b`, 'UTC')",
            ),
            (
                "Date32",
                "toDateTime64(`a\\`b`, 3, 'UTC')",
                "toString(`a\\`b`)",
            ),
            (
                "FixedString(42)",
                "toStringCutToZero(`a\\`b`)",
                "toStringCutToZero(`a\\`b`)",
            ),
            ("Enum8('1h' = 1)", "toString(`a\\`b`)", "toString(`a\\`b`)"),
            ("Array(String)", "`a\\`b`", "`a\\`b`"),
            (
                "SimpleAggregateFunction(sum, UInt256)",
                "toString(`a\\`b`)",
                "toString(`a\\`b`)",
            ),
        ] {
            let theirs = column(kind);
            assert_eq!(
                (cast(&theirs, false).as_str(), cast(&theirs, true).as_str()),
                (cast_new, cast_old),
                "{kind}"
            );
        }
        for (spelling, expected) in [
            (
                HexSpelling::Bytes,
                "concat('0x', lower(hex(toString(`a\\`b`))))",
            ),
            (HexSpelling::NoPrefix, "concat('0x', toString(`a\\`b`))"),
            (HexSpelling::MixedCase, "toString(`a\\`b`)"),
        ] {
            assert_eq!(
                cast(
                    &EngineColumn {
                        spelling,
                        ..column("LowCardinality(String)")
                    },
                    false
                ),
                expected,
                "{spelling:?}"
            );
        }
        assert_eq!(
            column("AggregateFunction(sum, UInt64)").form,
            ColumnType::State
        );
        assert_eq!(
            (table("eth.a.b"), text("it's \\")),
            ("`eth`.`a.b`".to_owned(), "'it\\'s \\\\'".to_owned())
        );
    }

    #[test]
    fn a_condition_is_said_only_where_it_loses_no_row() {
        let tokens: HashSet<Address> = Address::parse("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed")
            .into_iter()
            .collect();
        let said = |filter: &RowFilter, kind: &str, ours: Option<Kind>| {
            condition(filter, &EngineColumn::new("x", kind), ours, &tokens, false)
        };
        let one = |values: &[&str]| {
            RowFilter::OneOf(values.iter().map(|value| (*value).to_owned()).collect())
        };
        let between = |min: Option<&str>, max: Option<&str>| RowFilter::Between {
            min: min.map(str::to_owned),
            max: max.map(str::to_owned),
        };
        let spelt = said(&RowFilter::Tokens, "FixedString(42)", Some(Kind::Address)).expect("said");
        assert!(
            spelt.contains("'0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0x5AAEB"),
            "{spelt}"
        );
        for (filter, kind, ours, expected) in [
            (
                one(&["1h", "1d"]),
                "String",
                Some(Kind::Text),
                Some("`x` IN ('1h', '1d')"),
            ),
            (one(&["1h", ""]), "String", Some(Kind::Text), None),
            (one(&["eth"]), "String", Some(Kind::Chain), None),
            (one(&["7"]), "UInt8", None, Some("`x` IN (7)")),
            (one(&["7.5"]), "UInt8", None, None),
            (one(&["7"]), "Float64", None, None),
            (
                between(Some("10.5"), Some("20.5")),
                "UInt32",
                None,
                Some("`x` >= 10 AND `x` <= 21"),
            ),
            (between(Some("1"), None), "UInt256", None, None),
            // 0.1 as stored in 32 bits is more than 0.1.
            (
                between(None, Some("0.1")),
                "Float32",
                Some(Kind::Float),
                None,
            ),
            (
                between(None, Some("2024-01-02T12:00:00Z")),
                "Date",
                Some(Kind::Time),
                Some("`x` <= toDate('2024-01-03')"),
            ),
            (
                between(Some("2024-01-02"), None),
                "DateTime",
                Some(Kind::Time),
                Some("`x` >= fromUnixTimestamp64Milli(toInt64(1704153600000), 'UTC')"),
            ),
            (
                between(Some("never"), None),
                "DateTime",
                Some(Kind::Time),
                None,
            ),
            (
                between(Some("2024-01-02"), None),
                "UInt32",
                Some(Kind::Time),
                None,
            ),
            (
                between(Some("2024-01-02"), None),
                "Float64",
                Some(Kind::Time),
                None,
            ),
        ] {
            assert_eq!(
                said(&filter, kind, ours).as_deref(),
                expected,
                "{filter:?} {kind}"
            );
        }
    }

    #[test]
    fn a_bound_between_two_values_of_the_column_is_not_exact() {
        let exact = |max: &str, form: &str, ours: Kind| {
            let filter = RowFilter::Between {
                min: None,
                max: Some(max.to_owned()),
            };
            is_exact(&filter, &EngineColumn::new("x", form), Some(ours))
        };
        assert!(
            exact("20", "UInt32", Kind::Float)
                && exact("20.5", "Float64", Kind::Float)
                && exact("2024-01-02", "Date", Kind::Time)
        );
        assert!(exact("2024-01-02T12:00:00Z", "DateTime", Kind::Time));
        assert!(
            !exact("20.5", "UInt32", Kind::Float)
                && !exact("2024-01-02T12:00:00Z", "Date", Kind::Time)
        );
    }
}
