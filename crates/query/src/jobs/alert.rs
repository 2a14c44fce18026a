//! Alerts as people write and read them: the body that asks for one, the alert, and its firings. Shapes and words; `alerts` adds and
//! lists them, `watch` checks them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::request::address;
use crate::question::{
    filter::TEXT_CHARS_MAX,
    json::{invalid, members, pointer, text, well_formed},
    parameter::{EXAMPLE_TOKEN, clip},
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    time::Time,
};

/// Maximum number of alerts per dataset.
pub const ALERTS_MAX: usize = 1_000;

/// A condition that is evaluated on each new generation of the data.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alert {
    pub alert_id: String,
    /// The token it applies to; null if it applies to every token.
    pub token_address: Option<Address>,
    /// The token's symbol when the alert was created.
    pub symbol: Option<String>,
    /// The condition, in the syntax of `where` of GET /tokens.
    pub condition: String,
    pub created_at: Time,
    /// Number of tokens that met the condition at the last check.
    pub holds: u64,
    /// Time of the last check.
    pub checked_at: Time,
    /// Why the last check failed, in which case `holds` is that of the previous check; null if it succeeded.
    pub problem: Option<String>,
    /// Number of firings.
    pub fired: u64,
    pub last_fired_at: Option<Time>,
}

/// A firing of an alert for a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FiredAlert {
    /// Increases with every firing.
    pub fired_id: u64,
    pub alert_id: String,
    pub token_address: Address,
    pub symbol: Option<String>,
    pub condition: String,
    /// Time of the check.
    pub fired_at: Time,
}

impl Alert {
    /// Subject of the alert: the token's symbol, else its short address, else `any token`.
    pub fn about(&self) -> String {
        about(self.symbol.as_deref(), self.token_address.as_ref())
    }
}

impl FiredAlert {
    /// Subject of the firing: the token's symbol, else its short address.
    pub fn about(&self) -> String {
        about(self.symbol.as_deref(), Some(&self.token_address))
    }

    /// Message for the user: token and condition.
    pub fn says(&self) -> String {
        format!("{}: {}", self.about(), self.condition)
    }
}

fn about(symbol: Option<&str>, token: Option<&Address>) -> String {
    symbol.map(str::to_owned).or_else(|| token.map(Address::short)).unwrap_or_else(|| "any token".to_owned())
}

/// A `fired_id` greater than any real one: the largest integer that every JSON reader represents exactly.
pub const FIRED_ID_MAX: u64 = (1 << 53) - 1;

/// The dataset's alerts and their firings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AlertList {
    /// Newest first.
    pub alerts: Vec<Alert>,
    /// The latest firings, newest first, including those of removed alerts.
    pub fired: Vec<FiredAlert>,
}

/// The body of POST /alerts.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, example = json!({ "token_address": EXAMPLE_TOKEN, "condition": "price>20" }))]
pub struct AlertBody {
    /// The token it applies to; without it, every token.
    #[schemars(default)]
    pub token_address: Option<Address>,
    /// In the syntax of `where` of GET /tokens: `price>20`, `score<40`, `pattern:bull_flag`.
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub condition: String,
}

impl AlertBody {
    /// Parses the body. Errors: 400 if malformed, then 422 for each invalid value, by JSON pointer. The condition is parsed later, with the
    /// data.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let (mut token_address, mut condition) = (None, None);
        for (name, value) in members("", well_formed(body)?)? {
            let at = pointer("", &name);
            match name.as_str() {
                "token_address" if value.get() == "null" => {}
                "token_address" => token_address = Some(address(&at, value)?),
                "condition" => {
                    let wrong = || invalid(&at, &format!("`{}`: expected a text as in `price>20`", clip(value.get())));
                    condition = Some(text(value).ok_or_else(wrong)?);
                }
                _ => return Err(invalid(&at, "no such member: expected `condition`, and `token_address` for one token")),
            }
        }
        let condition = condition.ok_or_else(|| invalid("/condition", "it is missing: expected a text as in `price>20`"))?;
        Ok(Self { token_address, condition: condition.trim().to_owned() })
    }

    /// Maps a problem with a body's alert to the member's JSON pointer.
    pub fn refused(problem: Problem) -> Problem {
        match problem.code {
            Code::InvalidParameter => invalid("/condition", problem.detail.trim_start_matches("`condition`: ").trim_end_matches('.')),
            Code::TokenNotFound => invalid("/token_address", problem.detail.trim_end_matches('.')),
            _ => problem,
        }
    }
}

/// The problem `alert_not_found`.
pub(super) fn no_alert(id: &str) -> Problem {
    Problem::new(Code::AlertNotFound, format!("No alert `{}`: GET /alerts lists the alerts there are.", clip(id)))
}
