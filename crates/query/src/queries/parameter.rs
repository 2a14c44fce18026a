//! Request parameters: their kinds, ranges and defaults, and their parsing. Each query defines its own table of parameters; no route is
//! known here.

mod values;

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::order::{Order, SORTS_MAX, signed};
use crate::error::TextError;
pub use model::token_names::{NAME_CHARS_MAX, NamedToken, TokenNames, TokenReader, may_be_name};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    spelling::meant,
    time::{SECOND_MS, Time},
    token_names::A_TOKEN,
};
use table::filter::{self, Filter, FilterColumn};

/// A parameter of a query: its documentation and its validation.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: ParameterKind,
    /// User-visible description.
    pub meaning: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum ParameterKind {
    /// A token contract in the path.
    Address,
    /// The address of a holder in the path, who need not be known.
    Holder,
    /// A free identifier in the path.
    Identifier,
    /// A whole number in the query.
    Integer { min: u64, max: u64, default: u64 },
    /// One of some words in the query.
    Word {
        words: &'static [&'static str],
        default: Option<&'static str>,
    },
    /// Any of some words in the query, separated by commas; none when omitted.
    Words(&'static [&'static str]),
    /// Token contracts in the query, separated by commas. With a `min` of 0 it may be omitted, and the endpoint then answers its other
    /// query.
    Addresses { min: usize, max: usize },
    /// Conditions on these columns, in the filter language.
    Where(&'static [FilterColumn]),
    /// Sort columns, separated by commas, `-` before a descending one.
    Sort {
        columns: &'static [FilterColumn],
        default: Option<&'static str>,
    },
    /// Indicators by name in the query, separated by commas.
    Indicators { default: &'static str },
    /// `true` or `false` in the query; false when omitted.
    Flag,
    /// Free text in the query.
    Text,
    /// Text in the query with this maximum number of characters, parsed by the query itself.
    Line(usize),
    /// A column of the table in the path, given in the query; required.
    Column,
    /// A chain's name in the query.
    Chain,
    /// Number of a data snapshot in the query.
    Generation,
    /// An RFC 3339 time, a date or epoch seconds in the query.
    Time,
}

impl ParameterKind {
    pub fn in_path(self) -> bool {
        matches!(self, Self::Address | Self::Holder | Self::Identifier)
    }

    /// Whether a request without it is refused.
    pub fn is_required(self) -> bool {
        self.in_path() || matches!(self, Self::Column | Self::Addresses { min: 1.., .. })
    }

    /// Longest text of the parameter, in characters.
    pub fn chars_max(self) -> usize {
        match self {
            Self::Line(chars) => chars,
            Self::Where(_) | Self::Sort { .. } => filter::TEXT_CHARS_MAX,
            _ => 200,
        }
    }
}

pub const fn parameter(
    name: &'static str,
    kind: ParameterKind,
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        meaning,
    }
}

pub(super) const AN_ADDRESS: &str =
    "expected 0x and 40 hex digits, coin:BTC, or a token symbol in the data";
pub const EXAMPLE_TOKEN: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

/// The token in documented paths: in snake case, and in camel case.
pub const TOKEN: Parameter = parameter("token_address", ParameterKind::Address, A_TOKEN);
pub const CONTRACT: Parameter = parameter("contractAddress", ParameterKind::Address, A_TOKEN);

pub const PAGE: Parameter = parameter(
    "page",
    ParameterKind::Integer {
        min: 1,
        max: 1_000_000_000,
        default: 1,
    },
    "Page number; empty past the end.",
);

/// `explain`, a parameter of every analysis.
pub const EXPLAIN: Parameter = parameter(
    "explain",
    ParameterKind::Flag,
    "Add evidence, where available; with `as_of`, also `asOfUnknown`: tables that show current values.",
);

/// Accepted by every query: rows of later do not exist for the answer.
pub const AS_OF: &str = "as_of";
pub const AS_OF_PARAMETER: Parameter = parameter(
    AS_OF,
    ParameterKind::Text,
    "Use only what was known at the end of this day, or at this time: `2026-08-14`, `2026-08-14T09:30:00Z`. The response names tables \
    without history, which show current values.",
);

/// Accepted by every query: pins the data snapshot.
pub const GENERATION: &str = "generation";
pub const GENERATION_PARAMETER: Parameter = parameter(
    GENERATION,
    ParameterKind::Generation,
    "Use this data snapshot, as returned in `x-data-generation`, so that several responses agree. A snapshot is available for one minute \
    after it is replaced, and for five minutes after its last use.",
);

/// Accepted by every endpoint: unknown parameters are refused instead of ignored.
pub const STRICT: &str = "strict";
pub const STRICT_PARAMETER: Parameter =
    parameter(STRICT, ParameterKind::Flag, "Reject unknown parameters.");

/// The arguments of one request, read by the query's parameter table.
#[derive(Debug)]
pub struct Arguments<'a> {
    parameters: &'static [Parameter],
    path: Vec<(&'a str, Cow<'a, str>)>,
    query: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    tokens: TokenReader<'a>,
}

impl<'a> Arguments<'a> {
    /// `path`: the percent-encoded values of the route's placeholders; `query`: the part behind `?`.
    pub fn new(
        parameters: &'static [Parameter],
        path: &[(&'a str, &'a str)],
        query: &'a str,
    ) -> Result<Self> {
        let mut arguments = Self {
            parameters,
            path: Vec::with_capacity(path.len()),
            query: Vec::new(),
            tokens: TokenReader::default(),
        };
        for (name, value) in path {
            // An address that cannot be decoded is reported as an invalid address.
            let value = decode(value).unwrap_or(Cow::Borrowed(*value));
            arguments.path.push((name, value));
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            arguments
                .query
                .push((decode_query(name)?, decode_query(value)?));
        }
        if arguments.flag(STRICT)? {
            arguments.refuse_unknown()?;
        }
        Ok(arguments)
    }

    /// Accepts symbols in place of addresses.
    #[must_use]
    pub fn with_names(self, names: &'a dyn TokenNames) -> Self {
        Self {
            tokens: TokenReader::of(names),
            ..self
        }
    }

    /// How the body of the request names tokens, too.
    pub fn tokens(&self) -> TokenReader<'a> {
        self.tokens
    }

    /// Errors: a parameter that is not in the table.
    pub fn refuse_unknown(&self) -> Result<()> {
        let known = || {
            self.parameters
                .iter()
                .filter(|parameter| !parameter.kind.in_path())
                .map(|parameter| parameter.name)
        };
        let Some((name, _)) = self.query.iter().find(|(name, _)| {
            ![STRICT, AS_OF, GENERATION].contains(&name.as_ref())
                && known().all(|known| known != name)
        }) else {
            return Ok(());
        };
        let names: Vec<&str> = known().collect();
        let expected = if names.is_empty() {
            "this endpoint has no parameters".to_owned()
        } else {
            format!("this endpoint accepts {}", names.join(", "))
        };
        Err(invalid(format!(
            "Unknown parameter `{}`; {expected}.",
            clip(name)
        )))
    }

    pub fn address(&self, name: &str) -> Result<Address> {
        let text = self.path_value(name);
        self.tokens.read(text)?.ok_or_else(|| {
            let detail = format!(
                "Invalid address `{}`: {AN_ADDRESS}.{}",
                clip(text),
                self.tokens.proposal(text)
            );
            Problem::new(Code::InvalidAddress, detail)
        })
    }

    /// An address that cannot be given as a symbol.
    pub fn holder(&self, name: &str) -> Result<Address> {
        let text = self.path_value(name);
        Address::parse(text).ok_or_else(|| {
            let expected = "expected 0x and 40 hex digits. GET /tokens/{token_address}/holders lists a token's holders";
            Problem::new(Code::InvalidAddress, format!("Invalid holder address `{}`: {expected}.", clip(text)))
        })
    }

    pub fn identifier(&self, name: &str) -> &str {
        self.path_value(name)
    }

    /// The value of a parameter that is none of the endpoint's; `None` where it is one, or is not given.
    pub fn foreign(&self, parameter: &Parameter) -> Option<&str> {
        let is_foreign = self.parameters.iter().all(|own| own.name != parameter.name);
        self.single_value(parameter.name)
            .ok()
            .flatten()
            .filter(|_| is_foreign)
    }

    /// Whether the request has the parameter.
    pub fn given(&self, name: &str) -> bool {
        self.query.iter().any(|(known, _)| known == name)
    }

    /// Whether the value differs from the default, which generated clients send along.
    pub fn is_chosen(&self, name: &str) -> bool {
        let default = match self.kind(name) {
            ParameterKind::Integer { default, .. } => default.to_string(),
            ParameterKind::Word { default, .. } | ParameterKind::Sort { default, .. } => {
                default.unwrap_or_default().to_owned()
            }
            ParameterKind::Indicators { default } => default.to_owned(),
            ParameterKind::Flag => "false".to_owned(),
            _ => String::new(),
        };
        self.query
            .iter()
            .any(|(known, value)| known == name && !value.trim().is_empty() && *value != default)
    }

    fn kind(&self, name: &str) -> ParameterKind {
        self.parameters
            .iter()
            .find(|p| p.name == name)
            .map_or(ParameterKind::Text, |p| p.kind)
    }

    fn path_value(&self, name: &str) -> &str {
        self.path
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, value)| value)
    }

    /// The value of a query parameter. Errors: given twice.
    fn single_value(&self, name: &str) -> Result<Option<&str>> {
        let mut values = self
            .query
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.as_ref());
        let first = values.next();
        match values.next() {
            Some(_) => Err(invalid(format!("`{name}` is set more than once."))),
            None => Ok(first),
        }
    }
}

/// The last second that counts: of a day its last one.
pub fn as_of(text: &str) -> std::result::Result<Time, TextError> {
    if let Ok(date) = text.parse::<chrono::NaiveDate>()
        && let Some(next) = date.succ_opt()
    {
        return Ok(Time(
            (next.and_time(chrono::NaiveTime::MIN).and_utc().timestamp() - 1) * SECOND_MS,
        ));
    }
    let parsed = chrono::DateTime::parse_from_rfc3339(text)
        .ok()
        .map(|time| Time(time.timestamp() * SECOND_MS));
    parsed.ok_or(TextError::NotTime)
}

fn invalid(detail: String) -> Problem {
    Problem::new(Code::InvalidParameter, detail)
}

/// The comma-separated parts, trimmed, without empty ones.
pub(super) fn parts_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// Parses the parameter `name` as conditions on these columns.
pub(super) fn conditions(
    name: &str,
    text: &str,
    columns: &[FilterColumn],
    tokens: TokenReader<'_>,
) -> Result<Filter> {
    filter::conditions_with(text, columns, tokens).map_err(|error| {
        let says = error.in_text(text);
        let stop = if says.ends_with(['.', '?']) { "" } else { "." };
        Problem::new(error.code, format!("`{name}`: {says}{stop}"))
    })
}

/// Parses the parameter `name` as sort columns.
pub(super) fn orders(name: &str, text: &str, columns: &[FilterColumn]) -> Result<Vec<Order>> {
    let refused = |why: String| {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let names = names.join(", ");
        invalid(format!(
            "`{name}` {why} Expected up to {SORTS_MAX} of {names}, comma-separated, `-` for descending."
        ))
    };
    let mut orders: Vec<Order> = Vec::new();
    for part in parts_of(text) {
        let (column, descending) = signed(part);
        let known = filter::column(column, columns)
            .map(|column| column.name)
            .ok_or_else(|| {
                let near = meant(column, filter::names(columns)).map_or_else(
                    || ".".to_owned(),
                    |near| format!("; did you mean `{near}`?"),
                );
                refused(format!("names the unknown column `{}`{near}", clip(column)))
            })?;
        // A repeated column has no effect.
        if !orders.iter().any(|order| order.column == known) {
            orders.push(Order {
                column: known,
                descending,
            });
        }
    }
    if orders.len() > SORTS_MAX {
        return Err(refused(format!("has {} columns.", orders.len())));
    }
    Ok(orders)
}

/// Percent-decodes; `None` for a broken escape or invalid UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        bytes.push(if byte == b'%' {
            (digit(rest.next())? << 4 | digit(rest.next())?) as u8
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// As `decode`, with `+` for a space.
fn decode_query(text: &str) -> Result<Cow<'_, str>> {
    let spaced = if text.contains('+') {
        Cow::Owned(text.replace('+', " "))
    } else {
        Cow::Borrowed(text)
    };
    let decoded = match &spaced {
        Cow::Borrowed(text) => decode(text),
        Cow::Owned(text) => decode(text).map(|decoded| Cow::Owned(decoded.into_owned())),
    };
    decoded.ok_or_else(|| {
        Problem::new(
            Code::InvalidRequest,
            format!(
                "`{}` in the query is not valid percent-encoded UTF-8; write `%` as `%25`.",
                clip(text)
            ),
        )
    })
}

/// Every ASCII character but the unreserved ones of RFC 3986 2.3.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Percent-encodes all but unreserved characters.
pub fn encode(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, ESCAPED).into()
}

/// At most 80 characters for error texts: control characters replaced, `…` where cut.
pub fn clip(text: &str) -> String {
    let mut clipped: String = text
        .chars()
        .take(80)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(80).is_some() {
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests;
