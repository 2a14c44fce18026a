//! Alerts as people read them: the alert, and its firings. Shapes and words; `alerts` adds and lists them, `watch` checks them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::question::parameter::clip;
use model::{
    address::Address,
    error::{Code, Problem},
    time::Time,
    untrusted::visible,
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

    /// Message for the user: token and condition, as they may leave the program.
    pub fn says(&self) -> String {
        visible(&format!("{}: {}", self.about(), self.condition))
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

/// The problem `alert_not_found`.
pub(super) fn no_alert(id: &str) -> Problem {
    Problem::new(Code::AlertNotFound, format!("No alert `{}`. GET /alerts lists all alerts.", clip(id)))
}
