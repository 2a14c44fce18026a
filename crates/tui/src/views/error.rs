//! Why the user's input line or key binding is rejected.

use std::fmt;

use crate::views::yields::{MAX_LOCK, MINIMUM, MINIMUM_MAX};
use model::error::Problem;
use query::queries::compare::TOKENS_MAX;
use table::filter::FilterError;

/// Why an input line (a filter, a wallet, a grouping, an amount) or a filter by a cell is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputError {
    /// A filter, and its text.
    Filter(FilterError, String),
    /// A filter names a column that only the list of tokens has.
    TokensColumn(FilterError, String),
    FilterTooLong {
        max: usize,
    },
    AgeOperator,
    /// The query service rejects a request in JSON, or a grouping.
    Query(Problem),
    NoGroupColumn,
    TableRemoved,
    SellAmount(String),
    MinimumApy(String),
    TermDays(String),
    WalletEntry(String),
    /// A comparison of this number of tokens.
    ComparedTokens(usize),
    WalletSum(String),
    UnknownToken(String),
    /// A symbol of several tokens, none with a market cap; `example` names one of them.
    AmbiguousToken {
        name: String,
        count: usize,
        example: String,
    },
    UnknownDecimals(String),
    TokenAmount {
        amount: String,
        token: String,
        decimals: u32,
    },
    NoCell,
    NoRow,
    UnfilteredColumn(&'static str),
    EmptyCell(&'static str),
    UnwritableValue(&'static str),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(error, text) => f.write_str(&error.in_text(text)),
            Self::TokensColumn(error, name) => f.write_str(&error.message.replacen(
                &format!("unknown column `{name}`"),
                &format!("`{name}` is a column of Tokens, not of this list"),
                1,
            )),
            Self::FilterTooLong { max } => {
                write!(f, "the filter is longer than {max} characters")
            }
            Self::AgeOperator => f.write_str("`age` takes `<` or `>`, as in `age<7d`"),
            Self::Query(problem) => problem.fmt(f),
            Self::NoGroupColumn => f.write_str(
                "no column to group by; write one, as in `by chain count sum:volume24h`",
            ),
            Self::TableRemoved => f.write_str("the table was removed"),
            Self::SellAmount(text) => {
                write!(f, "`{text}` is not an amount; type USD, as in `sell 50k`")
            }
            Self::MinimumApy(part) => write!(
                f,
                "`{part}`: expected a percentage from 0 to {MINIMUM_MAX}, as in {MINIMUM} 2.5%"
            ),
            Self::TermDays(part) => write!(
                f,
                "`{part}`: expected a number of days, as in {MAX_LOCK} 30 d"
            ),
            Self::ComparedTokens(count) => write!(
                f,
                "a comparison needs 2 to {TOKENS_MAX} tokens, not {count}; type compare uni,aave vs weth 90d"
            ),
            Self::WalletEntry(part) => write!(
                f,
                "`{part}`: expected an amount and a token, as in 1.5 WETH"
            ),
            Self::WalletSum(part) => {
                write!(f, "`{part}`: the amount exceeds 2^256-1 base units")
            }
            Self::UnknownToken(name) => write!(
                f,
                "`{name}` is not a token in the data; write a symbol, SYMBOL@chain or an address"
            ),
            Self::AmbiguousToken {
                name,
                count,
                example,
            } => write!(
                f,
                "`{name}` is the symbol of {count} tokens, none with a known market cap; write {example}, or an address"
            ),
            Self::UnknownDecimals(name) => write!(
                f,
                "the decimals of `{name}` are unknown; add them to the tokens table"
            ),
            Self::TokenAmount {
                amount,
                token,
                decimals,
            } => write!(
                f,
                "`{amount}` is not an amount of {token}; write digits, with at most {decimals} after the decimal point"
            ),
            Self::NoCell => f.write_str("no cell is selected; select one with ← and →"),
            Self::NoRow => f.write_str("no row is selected"),
            Self::UnfilteredColumn(key) => write!(f, "`{key}` cannot be filtered"),
            Self::EmptyCell(key) => write!(
                f,
                "the cell has no value, so there is nothing to compare `{key}` with"
            ),
            Self::UnwritableValue(key) => {
                write!(f, "this `{key}` value cannot be written in a filter")
            }
        }
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for String {
    fn from(error: InputError) -> Self {
        error.to_string()
    }
}

/// Why an entry of the user's keys is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingError {
    /// The value of an action, as it is written.
    NotText {
        action: String,
        value: String,
    },
    NotAKey {
        action: String,
        text: String,
    },
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText { action, value } => write!(
                f,
                "the keys of `{action}` must be strings such as \"Ctrl-P\", not {value}"
            ),
            Self::NotAKey { action, text } => write!(
                f,
                "`{text}` is not a key for `{action}`; write keys such as \"g\", \"G\", \"Ctrl-P\", \"PageUp\", \"F5\""
            ),
        }
    }
}

impl std::error::Error for BindingError {}
