//! Parses the value of a condition by its column's kind. A value that could never match is refused here, with the expected form; this is
//! the only such check, shared by all views.

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

use super::{
    AddressOf, ColumnKind, ColumnValues, FilterColumn, Operator, compare_text,
    number::ConditionNumber,
};
use model::{
    address::Address,
    chain::Chain,
    error::Code,
    spelling::meant,
    time::{DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, Time},
    token_names::{TokenReader, is_part_of_address},
};

/// The right-hand side of a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionValue {
    Number(ConditionNumber),
    Text(String),
    /// Matched as a whole name.
    Name(String),
    Flag(bool),
    /// A year, month, day, hour, minute or second: its start, and the end (exclusive).
    Period {
        start: Time,
        end: Time,
    },
    /// A duration in milliseconds and the unit it was given in: `3d` matches from three days up to, not including, four.
    Duration {
        length: i64,
        unit: i64,
    },
}

/// Error texts by column kind: the kind's name, examples (`{}` is column and operator), and examples for an operator that the kind does not
/// support.
const KINDS: &[(ColumnKind, &str, &str, &str)] = &[
    (
        ColumnKind::Number,
        "a number",
        "`{}1000`, `{}2.5m` or `{}5%`",
        "",
    ),
    (
        ColumnKind::Time,
        "a time",
        "`{}2026-01`, `{}2026-01-31` or `{}2026-01-31T10:30`",
        "",
    ),
    (
        ColumnKind::Text,
        "text",
        "",
        "`{}:abc` for text that contains abc, or `{}=abc` for exactly abc",
    ),
    (
        ColumnKind::List,
        "a list of names",
        "",
        "`{}:abc` for lists that contain abc",
    ),
    (
        ColumnKind::Chain,
        "a chain",
        "",
        "`{}:base` for rows on base",
    ),
    (
        ColumnKind::Duration,
        "a duration",
        "`{}90d`, `{}12h` or `{}2w`",
        "",
    ),
    (
        ColumnKind::Flag,
        "yes or no",
        "`{}yes` or `{}no`",
        "`{}:yes` or `{}:no`",
    ),
];

/// Why a value is refused, for people, and the code of the problem.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub message: String,
    pub code: Code,
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self {
            message,
            code: Code::InvalidParameter,
        }
    }
}

/// Parses the value of `column operator text`.
pub(super) fn read(
    column: &FilterColumn,
    named: &str,
    (sign, operator): (&str, Operator),
    text: &str,
    tokens: TokenReader<'_>,
) -> Result<ConditionValue, Refused> {
    let ordered = matches!(
        operator,
        Operator::Greater | Operator::Less | Operator::AtLeast | Operator::AtMost
    );
    let (_, kind, as_in, unordered) = KINDS
        .iter()
        .find(|row| row.0 == column.kind)
        .copied()
        .unwrap_or(KINDS[0]);
    if ordered && !unordered.is_empty() {
        return Err(format!(
            "`{named}` is {kind}, which cannot be compared with `{sign}`; write {}",
            unordered.replace("{}", named)
        )
        .into());
    }
    could_match(column, named, operator, text)?;
    if let ColumnValues::Addresses(of) = column.values {
        // Of a list, `:` asks for a whole member.
        let takes_part = column.kind == ColumnKind::Text && operator.without_not() == Operator::Has;
        return address(of, takes_part, named, text, tokens).map(ConditionValue::Text);
    }
    let percentage = text.ends_with('%') && number(text).is_some();
    if column.kind == ColumnKind::Number && percentage && !column.takes_percentages() {
        return Err(format!(
            "`{text}` is a percentage, but `{named}` is neither a percentage nor a fraction; write {}",
            plain_numbers(named, sign)
        )
        .into());
    }
    let wanted = match column.kind {
        ColumnKind::Number if column.fraction && percentage => {
            ConditionNumber::times_ten_to(text, -2).map(ConditionValue::Number)
        }
        ColumnKind::Number => ConditionNumber::times_ten_to(text, 0).map(ConditionValue::Number),
        ColumnKind::Flag => flag(text).map(ConditionValue::Flag),
        ColumnKind::Text | ColumnKind::List => Some(ConditionValue::Text(text.to_owned())),
        ColumnKind::Chain => Some(ConditionValue::Name(
            Chain::known(text).map_or_else(|| text.to_owned(), |chain| chain.to_string()),
        )),
        ColumnKind::Duration => length(text),
        // A part of a written time, such as `10:30`.
        ColumnKind::Time if operator.without_not() == Operator::Has => {
            is_part_of_time(text).then(|| ConditionValue::Text(text.replace(' ', "T")))
        }
        ColumnKind::Time => period(text).map(|(start, end)| ConditionValue::Period { start, end }),
    };
    wanted.ok_or_else(|| {
        let examples = match column.kind {
            ColumnKind::Number if !column.takes_percentages() => plain_numbers(named, sign),
            _ => as_in.replace("{}", &format!("{named}{sign}")),
        };
        format!("`{text}` is not {kind}; write {examples}").into()
    })
}

/// The address that a text means, or with `takes_part` the part of one: an address or a coin, which has one, in its one spelling, or the token
/// that has the name. Errors: no address can be or hold it, or several tokens have the name.
fn address(
    of: AddressOf,
    takes_part: bool,
    named: &str,
    text: &str,
    tokens: TokenReader<'_>,
) -> Result<String, Refused> {
    let begins = |start: &str| {
        text.get(..start.len())
            .is_some_and(|begun| begun.eq_ignore_ascii_case(start))
    };
    let is_part = takes_part
        && (is_part_of_address(text) || text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_part && Address::asked(text).is_none() && (of == AddressOf::Anyone || begins("0x")) {
        return Ok(text.to_lowercase());
    }
    match tokens.read(text) {
        Ok(Some(address)) => Ok(address.to_string()),
        Err(problem) => Err(Refused { message: problem.detail, code: problem.code }),
        // Without data any text may be a symbol.
        Ok(None) if is_part || (takes_part && !tokens.knows_names()) => Ok(text.to_lowercase()),
        Ok(None) if !takes_part && is_part_of_address(text) => {
            Err(format!("`{text}` is not an address; expected 0x and 40 hex digits, or write `{named}:{text}` to match part of an address")
                .into())
        }
        Ok(None) => {
            let proposal = tokens.proposal(text);
            Err(format!(
                "`{text}` is neither an address nor the symbol or name of a token in the data; expected 0x and 40 hex digits, or \
                a symbol.{proposal}"
            )
            .into())
        }
    }
}

/// Examples for a column of which a percentage means nothing.
fn plain_numbers(named: &str, sign: &str) -> String {
    format!("`{named}{sign}1000` or `{named}{sign}2.5m`")
}

/// Errors: a word that no value of the column can hold, with the nearest that can. A word still being typed is not refused.
fn could_match(
    column: &FilterColumn,
    named: &str,
    operator: Operator,
    text: &str,
) -> Result<(), Refused> {
    match &column.values {
        ColumnValues::Open | ColumnValues::Addresses(_) => Ok(()),
        ColumnValues::Words(words) => {
            let words = words();
            if words
                .iter()
                .any(|word| compare_text(word, operator.without_not(), text))
            {
                return Ok(());
            }
            let near = meant(text, words.iter().copied());
            let instead = near.map_or_else(
                || format!("expected one of {}", words.join(", ")),
                |near| format!("the closest is `{near}`"),
            );
            Err(format!("`{text}` is not a value of `{named}`; {instead}").into())
        }
        ColumnValues::Chains(own) => {
            let is_own = own.iter().any(|chain| chain.eq_ignore_ascii_case(text));
            if is_own || text.is_empty() || Chain::known(text).is_some() || Chain::begins(text) {
                return Ok(());
            }
            Err(format!(
                "unknown chain `{}`; the closest are {}",
                text,
                Chain::nearest(text).join(", ")
            )
            .into())
        }
    }
}

fn flag(text: &str) -> Option<bool> {
    const WORDS: &[(&str, bool)] = &[
        ("true", true),
        ("yes", true),
        ("1", true),
        ("false", false),
        ("no", false),
        ("0", false),
    ];
    WORDS
        .iter()
        .find(|(word, _)| text.eq_ignore_ascii_case(word))
        .map(|(_, flag)| *flag)
}

/// `1000`, `1,000`, `1e6`, `1k`, `2.5m`, `4b`, `1t`, `5%`: a percentage is its plain number, as percent columns store it.
pub fn number(text: &str) -> Option<f64> {
    ConditionNumber::times_ten_to(text, 0).map(|number| number.float)
}

/// Units of a duration. Months and years are calendar means: 365.25 days a year.
const UNITS: &[(&[&str], i64)] = &[
    (&["s", "sec"], SECOND_MS),
    (&["min"], MINUTE_MS),
    (&["h", "hour", "hours"], HOUR_MS),
    (&["d", "day", "days"], DAY_MS),
    (&["w", "week", "weeks"], 7 * DAY_MS),
    (&["mo", "month", "months"], 365 * DAY_MS / 12 + DAY_MS / 48),
    (&["y", "year", "years"], 365 * DAY_MS + DAY_MS / 4),
];

/// `90d`, `12h`, `1.5y` in milliseconds.
pub fn duration(text: &str) -> Option<i64> {
    match length(text)? {
        ConditionValue::Duration { length, .. } => Some(length),
        _ => None,
    }
}

/// `90d`, `12h`, `1.5y`.
fn length(text: &str) -> Option<ConditionValue> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (count, name) = text.split_at(split);
    let (_, unit) = UNITS
        .iter()
        .find(|(names, _)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))?;
    let plain = count.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    let count = count
        .parse::<f64>()
        .ok()
        .filter(|count| plain && *count <= 1e6)?;
    Some(ConditionValue::Duration {
        length: (count * *unit as f64).round() as i64,
        unit: *unit,
    })
}

fn is_part_of_time(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 'Z' | ' '))
}

/// `2026`, `2026-01`, `2026-01-31`, and with a `T` or a blank `10`, `10:30`, `10:30:15` after it, in UTC.
fn period(text: &str) -> Option<(Time, Time)> {
    let (day, clock) = text
        .split_once(['T', 't', ' '])
        .map_or((text, None), |(day, clock)| (day, Some(clock)));
    let part = |text: Option<&str>, digits: usize| -> Option<u32> {
        let text =
            text.filter(|text| text.len() == digits && text.bytes().all(|c| c.is_ascii_digit()))?;
        text.parse().ok()
    };
    let mut days = day.split('-');
    let year = part(days.next(), 4)? as i32;
    let (month, of_month) = (days.next(), days.next());
    if days.next().is_some() {
        return None;
    }
    let date = |month, day| NaiveDate::from_ymd_opt(year, month, day);
    let at =
        |date: NaiveDate, seconds: i64| date.and_time(NaiveTime::MIN) + TimeDelta::seconds(seconds);
    let (start, end) = match (month, of_month, clock) {
        (None, _, None) => (
            at(date(1, 1)?, 0),
            at(NaiveDate::from_ymd_opt(year + 1, 1, 1)?, 0),
        ),
        (month, None, None) => {
            let first = date(part(month, 2)?, 1)?;
            (
                at(first, 0),
                at(
                    first
                        .checked_add_months(chrono::Months::new(1))?
                        .with_day(1)?,
                    0,
                ),
            )
        }
        (month, day, None) => {
            let day = date(part(month, 2)?, part(day, 2)?)?;
            (at(day, 0), at(day.succ_opt()?, 0))
        }
        (month, day, Some(clock)) => {
            let day = date(part(month, 2)?, part(day, 2)?)?;
            let mut fields = clock.strip_suffix(['Z', 'z']).unwrap_or(clock).split(':');
            let hour = part(fields.next(), 2).filter(|hour| *hour < 24)?;
            let sixty = |field: &str| part(Some(field), 2).filter(|number| *number < 60);
            let (minute, second) = (fields.next().map(sixty), fields.next().map(sixty));
            if fields.next().is_some() || minute == Some(None) || second == Some(None) {
                return None;
            }
            let length = if second.is_some() {
                1
            } else if minute.is_some() {
                60
            } else {
                3_600
            };
            let start = i64::from(
                hour * 3_600 + minute.flatten().unwrap_or(0) * 60 + second.flatten().unwrap_or(0),
            );
            (at(day, start), at(day, start + length))
        }
    };
    let time = |time: NaiveDateTime| Time(time.and_utc().timestamp_millis());
    Some((time(start), time(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_suffixes() {
        let cases = [
            ("1m", Some(1e6)),
            ("2.5K", Some(2_500.0)),
            ("4b", Some(4e9)),
            ("1t", Some(1e12)),
            ("5%", Some(5.0)),
            ("1,000", Some(1_000.0)),
            ("-3", Some(-3.0)),
            ("$2", Some(2.0)),
            ("1e6", Some(1e6)),
            ("2.5E-3", Some(0.0025)),
            ("1e", None),
            ("e6", None),
            ("1e6k", None),
            ("1e2e3", None),
            ("inf", None),
            ("k", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn a_percentage_is_a_hundredth_where_the_column_is_of_fractions() {
        for (table, name, text, expected) in [
            ("pools", "fee", "5%", 0.05),
            ("pools", "fee", "0.3%", 0.003),
            ("pools", "fee", "0.05", 0.05),
            ("kols", "engagement_rate", "-1%", -0.01),
            ("yields", "apy", "5%", 5.0),
            ("yields", "sigma", "10%", 10.0),
        ] {
            let column = super::super::of_table(model::schema::table(table).unwrap())
                .into_iter()
                .find(|column| column.name == name)
                .unwrap();
            let Ok(ConditionValue::Number(found)) = read(
                &column,
                name,
                (">", Operator::Greater),
                text,
                TokenReader::default(),
            ) else {
                panic!("{name} {text}")
            };
            assert_eq!(Some(found.float), Some(expected), "{name} {text}");
        }
    }

    #[test]
    fn a_percentage_of_what_is_none_is_refused() {
        for (table, name, text) in [
            ("yields", "tvl", "10%"),
            ("candles", "close", "-5%"),
            ("transfers", "value", "5%"),
            ("transfers", "value", "1,000.5%"),
        ] {
            let column = super::super::of_table(model::schema::table(table).unwrap())
                .into_iter()
                .find(|column| column.name == name)
                .unwrap();
            let expected = format!(
                "`{text}` is a percentage, but `{name}` is neither a percentage nor a fraction; write `{name}<1000` or `{name}<2.5m`"
            );
            assert_eq!(
                read(
                    &column,
                    name,
                    ("<", Operator::Less),
                    text,
                    TokenReader::default()
                ),
                Err(expected.into())
            );
        }
        for (name, text, taken) in [
            ("market_cap", "5%", false),
            ("volume_24h", "5%", false),
            ("price_change_24h", "5%", true),
            ("volatility", "5%", true),
        ] {
            let column = FilterColumn::new(name, ColumnKind::Number, &[]);
            assert_eq!(
                read(
                    &column,
                    name,
                    ("<", Operator::Less),
                    text,
                    TokenReader::default()
                )
                .is_ok(),
                taken,
                "{name}"
            );
        }
    }

    #[test]
    fn an_address_is_whole_where_it_is_to_be_equal() {
        let whole = "0x514910771af9ca656af840dff83e8264ecf986ca";
        let column = super::super::of_table(model::schema::table("transfers").unwrap());
        let column = column
            .into_iter()
            .find(|column| column.name == "from_address")
            .unwrap();
        for (sign, operator, text, expected) in [
            (
                "=",
                Operator::Equal,
                "0x514910771AF9Ca656af840dff83E8264EcF986CA",
                Ok(whole),
            ),
            ("!=", Operator::Differs, whole, Ok(whole)),
            (":", Operator::Has, "0x5149", Ok("0x5149")),
            (
                "=",
                Operator::Equal,
                "0x12",
                Err(
                    "`0x12` is not an address; expected 0x and 40 hex digits, or write `from:0x12` to match part of an address",
                ),
            ),
        ] {
            let expected = expected
                .map(|text| ConditionValue::Text(text.to_owned()))
                .map_err(|says: &str| Refused::from(says.to_owned()));
            assert_eq!(
                read(
                    &column,
                    "from",
                    (sign, operator),
                    text,
                    TokenReader::default()
                ),
                expected,
                "{sign}{text}"
            );
        }
    }

    #[test]
    fn a_time_given_in_part_means_the_whole_span_it_names() {
        let cases = [
            (
                "2026",
                Some(("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")),
            ),
            (
                "2026-12",
                Some(("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z")),
            ),
            (
                "2024-02-29",
                Some(("2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z")),
            ),
            (
                "2026-01-31 10",
                Some(("2026-01-31T10:00:00Z", "2026-01-31T11:00:00Z")),
            ),
            (
                "2026-01-31T23:59",
                Some(("2026-01-31T23:59:00Z", "2026-02-01T00:00:00Z")),
            ),
            (
                "2026-01-31T10:30:15Z",
                Some(("2026-01-31T10:30:15Z", "2026-01-31T10:30:16Z")),
            ),
            ("2026-02-29", None),
            ("2026-1", None),
            ("2026-01-31-01", None),
            ("2026 10:30", None),
            ("2026-01 10:30", None),
            ("2026-01-31T24:00", None),
            ("2026-01-31T10:60", None),
            ("2026-01-31T", None),
            ("20260131", None),
            ("5", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let found = period(text).map(|(start, end)| (start.to_string(), end.to_string()));
            assert_eq!(
                found,
                expected.map(|(start, end)| (start.to_owned(), end.to_owned())),
                "{text}"
            );
        }
    }
}
