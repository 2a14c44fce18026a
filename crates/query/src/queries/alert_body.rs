//! The body of a request to create or backtest an alert: its shape, and how it is parsed.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{
    json::{invalid, members, pointer, text, token, well_formed},
    parameter::{EXAMPLE_TOKEN, NamedToken, TokenReader, clip},
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
};
use table::filter::TEXT_CHARS_MAX;

/// Body of POST /alerts and POST `/alerts/rehearse`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, example = json!({ "token_address": EXAMPLE_TOKEN, "condition": "price>20" }))]
pub struct AlertBody {
    /// Token that the alert applies to. Default: every token.
    #[schemars(default, with = "Option<NamedToken>")]
    pub token_address: Option<Address>,
    /// Condition in the syntax of the tokens' `where`: `price>20`, `score<40`, `pattern:bull_flag`; or a crossing in either direction:
    /// `price crosses 20`. Options may follow: `cooldown 6h`, `hysteresis 2%`, `until 2026-12-31`.
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub condition: String,
}

impl AlertBody {
    /// Parses the body. Errors: 400 if malformed, then 422 for each invalid value, by JSON pointer. The condition is parsed later, with the
    /// data.
    pub fn parse(body: &[u8], tokens: TokenReader<'_>) -> Result<Self> {
        let (mut token_address, mut condition) = (None, None);
        for (name, value) in members("", well_formed(body)?)? {
            let at = pointer("", &name);
            match &*name {
                "token_address" if value.get() == "null" => {}
                "token_address" => token_address = Some(token(&at, value, tokens)?),
                "condition" => {
                    let wrong = || {
                        invalid(
                            &at,
                            &format!(
                                "expected text such as `price>20`, not `{}`",
                                clip(value.get())
                            ),
                        )
                    };
                    condition = Some(text(value).ok_or_else(wrong)?);
                }
                _ => {
                    return Err(invalid(
                        &at,
                        "unknown field; expected `condition`, and `token_address` for one token",
                    ));
                }
            }
        }
        let condition = condition.ok_or_else(|| {
            invalid(
                "/condition",
                "the field is missing; expected text such as `price>20`",
            )
        })?;
        Ok(Self {
            token_address,
            condition: condition.trim().to_owned(),
        })
    }

    /// Maps a problem with a body's alert to the field's JSON pointer.
    pub fn refused(problem: Problem) -> Problem {
        match problem.code {
            Code::InvalidParameter => invalid(
                "/condition",
                problem
                    .detail
                    .trim_start_matches("`condition`: ")
                    .trim_end_matches('.'),
            ),
            Code::TokenNotFound => invalid("/token_address", problem.detail.trim_end_matches('.')),
            _ => problem,
        }
    }
}
