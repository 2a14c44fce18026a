//! Raw cells: the few shapes that all polars types are reduced to. Parses texts, addresses, bytes and booleans.

use std::borrow::Cow;

use polars::prelude::{AnyValue, Column, TimeUnit};

use model::address::Address;

/// Error of a cell that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad;

pub type Read<T> = Result<Option<T>, Bad>;

/// Characters of a value that a finding shows.
const SHOWN: usize = 80;

/// A cell of any source type, before coercion.
#[derive(Debug, Clone, PartialEq)]
pub enum RawCell<'a> {
    Null,
    Text(Cow<'a, str>),
    Int(i128),
    Float(f64),
    Bool(bool),
    /// Days since 1970.
    Day(i32),
    /// Milliseconds since 1970 UTC.
    Time(i64),
    Bytes(Cow<'a, [u8]>),
    List(Vec<RawCell<'static>>),
    /// Unsupported types: structs, durations.
    Other,
}

/// The cells of a raw column, which must have one chunk.
pub fn cells(column: &Column) -> Vec<RawCell<'_>> {
    let series = column.as_materialized_series();
    // Fast paths for the two most common types, without an `AnyValue` per cell.
    if let Ok(texts) = series.str() {
        texts
            .iter()
            .map(|text| text.map_or(RawCell::Null, |text| RawCell::Text(Cow::Borrowed(text))))
            .collect()
    } else if let Ok(numbers) = series.f64() {
        numbers
            .iter()
            .map(|number| number.map_or(RawCell::Null, RawCell::Float))
            .collect()
    } else {
        series.iter().map(from_any).collect()
    }
}

fn from_any(value: AnyValue<'_>) -> RawCell<'_> {
    match value {
        AnyValue::Null => RawCell::Null,
        AnyValue::Boolean(truth) => RawCell::Bool(truth),
        AnyValue::String(text) => RawCell::Text(Cow::Borrowed(text)),
        AnyValue::UInt32(n) => RawCell::Int(n.into()),
        AnyValue::UInt64(n) => RawCell::Int(n.into()),
        AnyValue::Int32(n) => RawCell::Int(n.into()),
        AnyValue::Int64(n) => RawCell::Int(n.into()),
        AnyValue::Int128(n) => RawCell::Int(n),
        // An f32 is widened through its shortest text: 0.1, not 0.10000000149.
        AnyValue::Float32(n) => n.to_string().parse().map_or(RawCell::Null, RawCell::Float),
        AnyValue::Float64(n) => RawCell::Float(n),
        AnyValue::Date(day) => RawCell::Day(day),
        AnyValue::Datetime(time, unit, _) | AnyValue::DatetimeOwned(time, unit, _) => {
            RawCell::Time(milliseconds(time, unit))
        }
        AnyValue::Decimal(unscaled, _, scale) => {
            RawCell::Text(Cow::Owned(decimal(unscaled, scale)))
        }
        AnyValue::Binary(bytes) => RawCell::Bytes(Cow::Borrowed(bytes)),
        AnyValue::BinaryOwned(bytes) => RawCell::Bytes(Cow::Owned(bytes)),
        AnyValue::List(series) => {
            let series = series.rechunk();
            RawCell::List(
                series
                    .iter()
                    .map(|value| from_any(value).into_owned())
                    .collect(),
            )
        }
        other => match other.get_str() {
            Some(text) => RawCell::Text(Cow::Owned(text.to_owned())),
            None => RawCell::Other,
        },
    }
}

/// A time in a column's own unit as milliseconds.
pub fn milliseconds(ticks: i64, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Milliseconds => ticks,
        TimeUnit::Microseconds => ticks.div_euclid(1_000),
        TimeUnit::Nanoseconds => ticks.div_euclid(1_000_000),
    }
}

/// Decimal text of a fixed-point number, without trailing zeros.
fn decimal(unscaled: i128, scale: usize) -> String {
    with_point(&unscaled.to_string(), scale)
}

/// The digits of a whole number with a decimal point before the last `scale`, without trailing zeros.
pub fn with_point(unscaled: &str, scale: usize) -> String {
    let (sign, digits) = unscaled
        .strip_prefix('-')
        .map_or(("", unscaled), |digits| ("-", digits));
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

impl RawCell<'_> {
    pub fn into_owned(self) -> RawCell<'static> {
        match self {
            RawCell::Null => RawCell::Null,
            RawCell::Text(text) => RawCell::Text(Cow::Owned(text.into_owned())),
            RawCell::Int(n) => RawCell::Int(n),
            RawCell::Float(n) => RawCell::Float(n),
            RawCell::Bool(truth) => RawCell::Bool(truth),
            RawCell::Day(day) => RawCell::Day(day),
            RawCell::Time(time) => RawCell::Time(time),
            RawCell::Bytes(bytes) => RawCell::Bytes(Cow::Owned(bytes.into_owned())),
            RawCell::List(list) => RawCell::List(list),
            RawCell::Other => RawCell::Other,
        }
    }

    pub fn is_null(&self) -> bool {
        match self {
            RawCell::Null => true,
            RawCell::Text(text) => is_null_word(text),
            _ => false,
        }
    }

    /// The cell as text; `None` if its type has no text form; a null is `""`.
    pub fn to_text(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            RawCell::Null => Cow::Borrowed(""),
            RawCell::Text(text) => Cow::Borrowed(text.trim()),
            RawCell::Int(n) => Cow::Owned(n.to_string()),
            RawCell::Float(n) => Cow::Owned(n.to_string()),
            RawCell::Bool(truth) => Cow::Owned(truth.to_string()),
            RawCell::Day(day) => Cow::Owned(model::time::Day(*day).to_string()),
            RawCell::Time(time) => Cow::Owned(model::time::Time(*time).to_string()),
            RawCell::Bytes(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).ok()?),
            RawCell::List(_) | RawCell::Other => return None,
        })
    }

    /// The cell as a finding shows it, truncated.
    pub fn shown(&self) -> String {
        let text = match self {
            RawCell::Bytes(bytes) => {
                Cow::Owned(const_hex::encode_prefixed(&bytes[..bytes.len().min(SHOWN)]))
            }
            RawCell::List(list) => {
                let texts: Vec<_> = list.iter().take(SHOWN).map(RawCell::shown).collect();
                Cow::Owned(format!("[{}]", texts.join(", ")))
            }
            _ => self
                .to_text()
                .unwrap_or(Cow::Borrowed("a value of another type")),
        };
        if text.chars().count() <= SHOWN {
            text.into_owned()
        } else {
            text.chars().take(SHOWN).chain(['…']).collect()
        }
    }
}

/// Whether the text is a null marker; MySQL and PostgreSQL write `\N`.
pub fn is_null_word(text: &str) -> bool {
    matches!(
        text.trim(),
        "" | "null" | "NULL" | "\\N" | "NA" | "NaN" | "nan" | "-"
    )
}

pub fn text(cell: &RawCell<'_>) -> Read<String> {
    if cell.is_null() {
        return Ok(None);
    }
    cell.to_text()
        .map(|text| Some(text.into_owned()))
        .ok_or(Bad)
}

/// Parses an address, with whether its EIP-55 checksum is wrong.
pub fn address(cell: &RawCell<'_>) -> Read<(Address, bool)> {
    match cell {
        _ if cell.is_null() => Ok(None),
        RawCell::Text(text) => {
            let text = text.trim();
            let address = Address::or_coin(text).ok_or(Bad)?;
            Ok(Some((address, Address::checksum_broken(text))))
        }
        RawCell::Bytes(bytes) => match <[u8; 20]>::try_from(&bytes[..]) {
            Ok(bytes) => Ok(Some((Address(bytes), false))),
            // Text stored in a binary column.
            Err(_) => address(&RawCell::Text(Cow::Borrowed(
                std::str::from_utf8(bytes).map_err(|_| Bad)?,
            ))),
        },
        _ => Err(Bad),
    }
}

pub fn hex(cell: &RawCell<'_>) -> Read<String> {
    match cell {
        _ if cell.is_null() => Ok(None),
        RawCell::Text(text) => {
            let text = text.trim();
            let digits = text
                .strip_prefix("0x")
                .or_else(|| text.strip_prefix("0X"))
                .unwrap_or(text);
            let readable =
                digits.len() % 2 == 0 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            if readable {
                Ok(Some(format!("0x{}", digits.to_ascii_lowercase())))
            } else {
                Err(Bad)
            }
        }
        RawCell::Bytes(bytes) => Ok(Some(const_hex::encode_prefixed(bytes))),
        _ => Err(Bad),
    }
}

pub fn boolean(cell: &RawCell<'_>) -> Read<bool> {
    match cell {
        _ if cell.is_null() => Ok(None),
        RawCell::Bool(truth) => Ok(Some(*truth)),
        RawCell::Int(0) => Ok(Some(false)),
        RawCell::Int(1) => Ok(Some(true)),
        RawCell::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Ok(Some(true)),
            "false" | "f" | "no" | "n" | "0" => Ok(Some(false)),
            _ => Err(Bad),
        },
        _ => Err(Bad),
    }
}
