//! Alerts as people read them: the alert, and its firings. Shapes and words; `alerts` adds and lists them, `watch` checks them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::queries::parameter::clip;
use model::{
    address::Address,
    error::{Code, Problem},
    time::Time,
    untrusted::visible,
};

/// Maximum number of alerts per dataset.
pub const ALERTS_MAX: usize = 1_000;

/// A condition that is evaluated on each new data snapshot.
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
    /// Number of tokens for which the condition was true at the last check.
    pub holds: u64,
    /// Time of the last check.
    pub checked_at: Time,
    /// Reason why the last check failed, in which case `holds` is that of the previous check; null if it succeeded.
    pub problem: Option<String>,
    /// Number of triggers.
    pub fired: u64,
    pub last_fired_at: Option<Time>,
}

/// A trigger of an alert for a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FiredAlert {
    /// Increases with every trigger.
    pub fired_id: u64,
    pub alert_id: String,
    pub token_address: Address,
    pub symbol: Option<String>,
    pub condition: String,
    /// Time of the check.
    pub fired_at: Time,
}

impl Alert {
    /// Subject of the alert: the token's symbol, its short address, or `any token`.
    pub fn about(&self) -> String {
        about(self.symbol.as_deref(), self.token_address.as_ref())
    }
}

impl FiredAlert {
    /// Subject of the trigger: the token's symbol, or its short address.
    pub fn about(&self) -> String {
        about(self.symbol.as_deref(), Some(&self.token_address))
    }

    /// Message for the user: token and condition, as they may leave the program.
    pub fn says(&self) -> String {
        visible(&format!("{}: {}", self.about(), self.condition))
    }
}

fn about(symbol: Option<&str>, token: Option<&Address>) -> String {
    symbol
        .map(str::to_owned)
        .or_else(|| token.map(Address::short))
        .unwrap_or_else(|| "any token".to_owned())
}

/// A `fired_id` greater than any real one: the largest integer that every JSON reader represents exactly.
pub const FIRED_ID_MAX: u64 = (1 << 53) - 1;

/// The dataset's alerts and their triggers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AlertList {
    /// Newest first.
    pub alerts: Vec<Alert>,
    /// The latest triggers, newest first, including those of deleted alerts.
    pub fired: Vec<FiredAlert>,
}

/// The problem `alert_not_found`.
pub(super) fn no_alert(id: &str) -> Problem {
    Problem::new(
        Code::AlertNotFound,
        format!("No alert `{}`. GET /alerts lists all alerts.", clip(id)),
    )
}
