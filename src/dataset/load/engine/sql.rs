//! What is said to a ClickHouse: names, literals, how a column of its types is asked for so that it comes without loss, and what of `where`
//! is left out there already. Nothing here asks anybody anything.

use std::{collections::HashSet, fmt::Write as _};

use serde::{Deserialize, Serialize};

use crate::dataset::{
    address::Address,
    coerce::{cell::RawCell, measure},
    manifest::Keep,
    schema::Kind,
};

/// What a column of theirs holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Form {
    /// A whole number of up to 64 bits.
    Whole,
    /// A number that comes exactly as text alone: of more bits, or decimal.
    Wide,
    Float,
    /// A number of 32 bits, which is what its shortest text says.
    Single,
    Text,
    /// A text of so many bytes.
    Fixed(usize),
    Time,
    Day,
    /// A word or an address of the internet, which comes as text.
    Word,
    /// Something that is taken as it comes: a truth value, a list, an object.
    Other,
    /// Nothing that can be read: the state of a sum.
    State,
}

/// How the texts of a column are written, where they are addresses or hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Spelt {
    /// As they should be, or otherwise in a way that is for the reader to judge.
    #[default]
    Plain,
    /// The bytes themselves.
    Bytes,
    /// Digits without `0x`.
    Bare,
    /// With capitals elsewhere than EIP-55 has them: found by its letters in small alone, which the table's order does not serve.
    Odd,
}

/// A column of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Theirs {
    pub(super) name: String,
    pub(super) form: Form,
    pub(super) nullable: bool,
    pub(super) spelt: Spelt,
}

impl Theirs {
    pub(super) fn new(name: &str, kind: &str) -> Self {
        let (form, nullable) = form_of(kind);
        Self { name: name.to_owned(), form, nullable, spelt: Spelt::Plain }
    }

    pub(super) fn sql(&self) -> String {
        identifier(&self.name)
    }
}

/// What stands inside `NAME(…)`.
fn inside<'a>(kind: &'a str, name: &str) -> Option<&'a str> {
    kind.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')
}

fn form_of(kind: &str) -> (Form, bool) {
    let kind = kind.trim();
    if let Some(inner) = inside(kind, "Nullable") {
        return (form_of(inner).0, true);
    }
    if let Some(inner) = inside(kind, "LowCardinality") {
        let (form, nullable) = form_of(inner);
        // Its dictionary is of no use here.
        return (if form == Form::Text { Form::Word } else { form }, nullable);
    }
    if let Some(inner) = inside(kind, "SimpleAggregateFunction") {
        return form_of(inner.split_once(',').map_or("", |(_, inner)| inner));
    }
    if let Some(length) = inside(kind, "FixedString") {
        return (length.trim().parse().map_or(Form::State, Form::Fixed), false);
    }
    let name = kind.split('(').next().unwrap_or(kind);
    let form = match name {
        "UInt8" | "UInt16" | "UInt32" | "UInt64" | "Int8" | "Int16" | "Int32" | "Int64" => Form::Whole,
        "UInt128" | "UInt256" | "Int128" | "Int256" | "Decimal" | "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => Form::Wide,
        "Float32" => Form::Single,
        "Float64" => Form::Float,
        "String" => Form::Text,
        "DateTime" | "DateTime32" | "DateTime64" => Form::Time,
        "Date" | "Date32" => Form::Day,
        "Enum8" | "Enum16" | "UUID" | "IPv4" | "IPv6" => Form::Word,
        "AggregateFunction" | "Nothing" => Form::State,
        _ => Form::Other,
    };
    (form, false)
}

pub(super) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// The name of a table, perhaps with its database.
pub(super) fn table(name: &str) -> String {
    name.splitn(2, '.').map(identifier).collect::<Vec<_>>().join(".")
}

pub(super) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// How a column is asked for so that each of its values comes whole, and as what it is. `old`: of a server that sends texts alone.
pub(super) fn cast(theirs: &Theirs, old: bool) -> String {
    let name = theirs.sql();
    let cast = match (theirs.form, theirs.spelt) {
        (Form::Text | Form::Fixed(_), Spelt::Bytes) => format!("concat('0x', lower(hex({name})))"),
        (Form::Text, Spelt::Bare) => format!("concat('0x', {name})"),
        (Form::Fixed(_), Spelt::Bare) => format!("concat('0x', toStringCutToZero({name}))"),
        (Form::Fixed(_), Spelt::Plain | Spelt::Odd) => format!("toStringCutToZero({name})"),
        (Form::Wide | Form::Word, _) => format!("toString({name})"),
        // As a time a number would have to be guessed the unit of.
        (Form::Time, _) if old => format!("toString({name}, 'UTC')"),
        (Form::Day, _) if old => format!("toString({name})"),
        (Form::Time | Form::Day, _) => format!("toDateTime64({name}, 3, 'UTC')"),
        _ => name,
    };
    if old && theirs.nullable { format!("ifNull(toString({cast}), '')") } else { cast }
}

/// A number that is the same for the same values, whatever their order.
pub(super) fn checksum(columns: &[Theirs]) -> String {
    let value = |theirs: &Theirs| {
        let (name, text) = (theirs.sql(), format!("toString({})", theirs.sql()));
        match theirs.form {
            _ if theirs.nullable => format!("ifNull({text}, '\\\\N')"),
            // As they are, which costs a tenth of writing them out.
            Form::Whole | Form::Float | Form::Single | Form::Text | Form::Fixed(_) | Form::Time | Form::Day => name,
            _ => text,
        }
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("sum(cityHash64('', {}))", if values.is_empty() { "''".to_owned() } else { values.join(", ") })
}

/// The values of an address as the column has it, in the spellings there are: small, large, and the mixed one of EIP-55.
fn spellings(address: &Address, theirs: &Theirs) -> Vec<String> {
    let small = address.to_string();
    let digits = &small[2..];
    if theirs.spelt == Spelt::Bytes {
        let bytes = format!("unhex('{digits}')");
        return vec![if let Form::Fixed(length) = theirs.form { format!("toFixedString({bytes}, {length})") } else { bytes }];
    }
    if theirs.spelt == Spelt::Odd {
        return vec![text(&small)];
    }
    let mixed = address.checksummed();
    let mut all = vec![digits.to_owned(), mixed[2..].to_owned(), digits.to_ascii_uppercase()];
    all.dedup();
    let start = if theirs.spelt == Spelt::Bare { "" } else { "0x" };
    all.iter().map(|digits| text(&format!("{start}{digits}"))).collect()
}

/// The most values that are sent along.
const VALUES_MAX: usize = 60_000;

/// What keeps, of the rows of this column, all that `keep` keeps, and as few others as can be said; nothing where that is not sure. It
/// compares the column itself, so that the table's order serves. `kind` is that of our column, if one is read from it.
pub(super) fn condition(keep: &Keep, theirs: &Theirs, kind: Option<Kind>, tokens: &HashSet<Address>, old: bool) -> Option<String> {
    let odd = theirs.spelt == Spelt::Odd;
    let name = if odd { format!("lower({})", cast(theirs, false)) } else { theirs.sql() };
    let one_of = |values: Vec<String>| {
        let fits = !values.is_empty() && values.len() <= VALUES_MAX;
        fits.then(|| format!("{name} IN ({})", values.join(", ")))
    };
    let is_text = matches!(theirs.form, Form::Text | Form::Fixed(_) | Form::Word);
    match keep {
        Keep::Tokens if is_text => {
            let mut tokens: Vec<&Address> = tokens.iter().collect();
            tokens.sort();
            let known = one_of(tokens.into_iter().flat_map(|token| spellings(token, theirs)).collect())?;
            // A coin is written by its name.
            let coins = || ["coin:", "COIN:", "Coin:"].map(|word| format!("startsWith({name}, '{word}')")).join(" OR ");
            Some(if matches!(theirs.spelt, Spelt::Plain | Spelt::Odd) && matches!(theirs.form, Form::Text | Form::Word) {
                format!("({known} OR {})", coins())
            } else {
                known
            })
        }
        Keep::OneOf(values) if values.iter().any(|value| value.trim().is_empty()) => None,
        Keep::OneOf(values) if theirs.form == Form::Whole => {
            let numbers: Option<Vec<String>> = values.iter().map(|value| value.parse::<i64>().ok().map(|n| n.to_string())).collect();
            one_of(numbers?)
        }
        Keep::OneOf(values) if is_text && kind == Some(Kind::Address) => {
            let addresses: Option<Vec<Address>> = values.iter().map(|value| Address::parse(value)).collect();
            one_of(addresses?.iter().flat_map(|address| spellings(address, theirs)).collect())
        }
        Keep::OneOf(values) if is_text && kind.is_none_or(|kind| kind == Kind::Text) && theirs.spelt == Spelt::Plain => {
            one_of(values.iter().map(|value| text(value)).collect())
        }
        // Of a number that is a time it is not known whether it counts seconds, or what else.
        Keep::Between { .. } if matches!(kind, Some(Kind::Time | Kind::Date)) && !matches!(theirs.form, Form::Time | Form::Day) => None,
        Keep::Between { min, max } => {
            let said = [(min, ">=", Side::Least), (max, "<=", Side::Most)];
            let mut all = String::new();
            for (bound, sign, side) in said {
                let Some(bound) = bound else { continue };
                let value = measure(&RawCell::Text(bound.as_str().into()), kind.unwrap_or(Kind::Text))?;
                let literal = literal(value, theirs.form, side, old)?;
                write!(all, "{}{name} {sign} {literal}", if all.is_empty() { "" } else { " AND " }).ok();
            }
            Some(all).filter(|all| !all.is_empty())
        }
        _ => None,
    }
}

/// Whether `condition` keeps no other rows than `keep` does: a bound may lie between two values that the column has.
pub(super) fn is_exact(keep: &Keep, theirs: &Theirs, kind: Option<Kind>) -> bool {
    let Keep::Between { min, max } = keep else { return true };
    let step = if theirs.form == Form::Day { 86_400_000.0 } else { 1.0 };
    let lies_on =
        |bound: &String| measure(&RawCell::Text(bound.as_str().into()), kind.unwrap_or(Kind::Text)).is_some_and(|v| v % step == 0.0);
    theirs.form == Form::Float || [min, max].into_iter().flatten().all(lies_on)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Least,
    Most,
}

/// A bound as the column's own type has it, rounded away from what is kept.
fn literal(value: f64, form: Form, side: Side, old: bool) -> Option<String> {
    let whole = |value: f64| if side == Side::Least { value.floor() } else { value.ceil() };
    match form {
        Form::Whole if value.abs() < 9e15 => Some(format!("{}", whole(value) as i64)),
        Form::Float => Some(format!("{value:?}")),
        Form::Time if old => Some(format!("toDateTime({})", (whole(value / 1_000.0) as i64).clamp(0, 4_294_967_295))),
        Form::Time => Some(time(whole(value) as i64)),
        Form::Day => Some(format!("toDate({})", text(&crate::dataset::time::Day(whole(value / 86_400_000.0) as i32).to_string()))),
        _ => None,
    }
}

/// A time in milliseconds since 1970.
pub(super) fn time(milliseconds: i64) -> String {
    format!("fromUnixTimestamp64Milli(toInt64({milliseconds}), 'UTC')")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: &str) -> Theirs {
        Theirs::new("a`b", kind)
    }

    #[test]
    fn every_type_comes_as_what_it_is() {
        for (kind, cast_new, cast_old) in [
            ("UInt64", "`a\\`b`", "`a\\`b`"),
            ("Nullable(UInt256)", "toString(`a\\`b`)", "ifNull(toString(toString(`a\\`b`)), '')"),
            ("Decimal(38, 18)", "toString(`a\\`b`)", "toString(`a\\`b`)"),
            ("LowCardinality(Nullable(String))", "toString(`a\\`b`)", "ifNull(toString(toString(`a\\`b`)), '')"),
            ("DateTime", "toDateTime64(`a\\`b`, 3, 'UTC')", "toString(`a\\`b`, 'UTC')"),
            ("DateTime64(6, 'Asia/Tokyo')", "toDateTime64(`a\\`b`, 3, 'UTC')", "toString(`a\\`b`, 'UTC')"),
            ("Date32", "toDateTime64(`a\\`b`, 3, 'UTC')", "toString(`a\\`b`)"),
            ("FixedString(42)", "toStringCutToZero(`a\\`b`)", "toStringCutToZero(`a\\`b`)"),
            ("Enum8('1h' = 1)", "toString(`a\\`b`)", "toString(`a\\`b`)"),
            ("Array(String)", "`a\\`b`", "`a\\`b`"),
            ("SimpleAggregateFunction(sum, UInt256)", "toString(`a\\`b`)", "toString(`a\\`b`)"),
        ] {
            let theirs = column(kind);
            assert_eq!((cast(&theirs, false).as_str(), cast(&theirs, true).as_str()), (cast_new, cast_old), "{kind}");
        }
        assert_eq!(column("AggregateFunction(sum, UInt64)").form, Form::State);
        assert_eq!((table("eth.a.b"), text("it's \\")), ("`eth`.`a.b`".to_owned(), "'it\\'s \\\\'".to_owned()));
    }

    #[test]
    fn what_is_left_out_there_is_left_out_here() {
        let tokens: HashSet<Address> = Address::parse("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed").into_iter().collect();
        let said = |keep: &Keep, kind: &str, ours: Option<Kind>| condition(keep, &Theirs::new("x", kind), ours, &tokens, false);
        let one = |values: &[&str]| Keep::OneOf(values.iter().map(|value| (*value).to_owned()).collect());
        let between = |min: Option<&str>, max: Option<&str>| Keep::Between { min: min.map(str::to_owned), max: max.map(str::to_owned) };
        let spelt = said(&Keep::Tokens, "FixedString(42)", Some(Kind::Address)).expect("said");
        assert!(
            spelt.contains("'0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0x5AAEB"),
            "{spelt}"
        );
        for (keep, kind, ours, expected) in [
            (one(&["1h", "1d"]), "String", Some(Kind::Text), Some("`x` IN ('1h', '1d')")),
            (one(&["1h", ""]), "String", Some(Kind::Text), None),
            (one(&["eth"]), "String", Some(Kind::Chain), None),
            (one(&["7"]), "UInt8", None, Some("`x` IN (7)")),
            (one(&["7.5"]), "UInt8", None, None),
            (one(&["7"]), "Float64", None, None),
            (between(Some("10.5"), Some("20.5")), "UInt32", None, Some("`x` >= 10 AND `x` <= 21")),
            (between(Some("1"), None), "UInt256", None, None),
            // 0.1 as it is stored is more than 0.1.
            (between(None, Some("0.1")), "Float32", Some(Kind::Float), None),
            (between(None, Some("2024-01-02T12:00:00Z")), "Date", Some(Kind::Time), Some("`x` <= toDate('2024-01-03')")),
            (
                between(Some("2024-01-02"), None),
                "DateTime",
                Some(Kind::Time),
                Some("`x` >= fromUnixTimestamp64Milli(toInt64(1704153600000), 'UTC')"),
            ),
            (between(Some("never"), None), "DateTime", Some(Kind::Time), None),
            (between(Some("2024-01-02"), None), "UInt32", Some(Kind::Time), None),
            (between(Some("2024-01-02"), None), "Float64", Some(Kind::Time), None),
        ] {
            assert_eq!(said(&keep, kind, ours).as_deref(), expected, "{keep:?} {kind}");
        }
    }

    #[test]
    fn a_bound_between_two_values_is_seen() {
        let exact = |max: &str, form: &str, ours: Kind| {
            let keep = Keep::Between { min: None, max: Some(max.to_owned()) };
            is_exact(&keep, &Theirs::new("x", form), Some(ours))
        };
        assert!(exact("20", "UInt32", Kind::Float) && exact("20.5", "Float64", Kind::Float) && exact("2024-01-02", "Date", Kind::Time));
        assert!(exact("2024-01-02T12:00:00Z", "DateTime", Kind::Time));
        assert!(!exact("20.5", "UInt32", Kind::Float) && !exact("2024-01-02T12:00:00Z", "Date", Kind::Time));
    }
}
