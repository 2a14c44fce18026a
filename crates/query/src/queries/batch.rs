//! Batch queries about many tokens: GET /tokens?addresses=, GET /candles and GET /security. Each token has the result or the error of its
//! own endpoint, in the order requested, including duplicates.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Dated, Query,
    candles::{CandlesQuery, TokenCandles},
    parallel,
    parameter::{EXPLAIN, Parameter, ParameterKind, parameter},
    request::request,
    security::SecurityQuery,
    snapshot::Snapshot,
    timeframes::{FROM, TIMEFRAME, TO},
    token::TokenQuery,
    view::View,
};
use analysis::token::TokenDetail;
use model::{
    address::Address,
    error::{Code, Problem, ProblemBody, Result},
    progress::Progress,
    time::Time,
};
use security::SecurityInference;

/// Maximum number of tokens of one request.
pub const ADDRESSES_MAX: usize = 100;
/// Maximum number of candles of one answer.
pub const CANDLES_MAX: usize = 100_000;

const ADDRESSES: Parameter = addresses(1, "Up to 100 token contracts, comma-separated.");

/// Makes GET /tokens answer these tokens instead of a list.
pub const INSTEAD: Parameter = addresses(
    0,
    "Up to 100 token contracts, comma-separated: returns their details instead of a list.",
);

const fn addresses(min: usize, meaning: &'static str) -> Parameter {
    parameter(
        "addresses",
        ParameterKind::Addresses {
            min,
            max: ADDRESSES_MAX,
        },
        meaning,
    )
}

request! {
    /// The details of many tokens.
    TokenBatchQuery at "/tokens" {
        addresses: Vec<Address> = INSTEAD,
    }
}

request! {
    /// The candles of many tokens.
    CandleBatchQuery at "/candles" {
        addresses: Vec<Address> = ADDRESSES,
        timeframe: &'static str = TIMEFRAME,
        from: Option<Time> = FROM,
        to: Option<Time> = TO,
    }
}

request! {
    /// The security inferences of many tokens.
    SecurityBatchQuery at "/security" {
        addresses: Vec<Address> = ADDRESSES,
        explain: bool = EXPLAIN,
    }
}

/// One result per token, in the order requested.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "{A}Batch")]
pub struct Batch<A> {
    pub tokens: Vec<BatchPart<A>>,
}

impl<A> Batch<A> {
    /// The newest time of the parts that are answers.
    fn newest(&self, of: impl Fn(&A) -> Option<Time>) -> Option<Time> {
        let of_part = |part: &BatchPart<A>| {
            if let BatchPart::Answer(answer) = part {
                of(answer)
            } else {
                None
            }
        };
        self.tokens.iter().filter_map(of_part).max()
    }
}

/// The result or the error of the token's own endpoint.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum BatchPart<A> {
    Answer(A),
    Refused(RefusedToken),
}

/// A token without a result, and the error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RefusedToken {
    pub token_address: Address,
    pub error: ProblemBody,
}

/// A security assessment and its token.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TokenSecurity {
    pub token_address: Address,
    #[serde(flatten)]
    pub inference: SecurityInference,
    #[serde(skip)]
    as_of: Option<Time>,
}

impl<A> BatchPart<A> {
    /// Wraps a result or its error. Errors: the request was canceled, which is not an error of the token.
    pub fn of(token_address: Address, answer: Result<A>) -> Result<Self> {
        match answer {
            Ok(answer) => Ok(Self::Answer(answer)),
            Err(problem) if problem.code == Code::Cancelled => Err(problem),
            Err(problem) => Ok(Self::Refused(RefusedToken {
                token_address,
                error: problem.body(None),
            })),
        }
    }
}

/// Answers each distinct token once, several in parallel. Errors: canceled; rows cannot be fetched from their source; the state of several
/// tokens was to be read, and that of none could be.
fn batch<A: Clone + Send>(
    addresses: &[Address],
    view: &View<'_>,
    progress: &Progress,
    answer: impl Fn(Address, &View<'_>) -> Result<A> + Sync,
) -> Result<Batch<A>> {
    let mut once: Vec<(Address, Option<BatchPart<A>>)> =
        addresses.iter().map(|address| (*address, None)).collect();
    once.sort_by_key(|(address, _)| *address);
    once.dedup_by_key(|(address, _)| *address);
    parallel::each(&mut once, progress, |(address, part)| {
        let answer = answer(*address, &view.part(addresses.len()));
        let answer = view.unless_it_ends(address, answer)?;
        *part = Some(BatchPart::of(*address, answer)?);
        Ok(())
    })?;
    view.check_states()?;
    let parts: HashMap<Address, Option<BatchPart<A>>> = once.into_iter().collect();
    Ok(Batch {
        tokens: addresses
            .iter()
            .filter_map(|address| parts.get(address).cloned().flatten())
            .collect(),
    })
}

impl Query for TokenBatchQuery {
    type Answer = Batch<TokenDetail>;
    const NAME: &'static str = "token_batch";
    const SUMMARY: &'static str = "Get details of several tokens.";
    const NEEDS: &'static [&'static str] = TokenQuery::NEEDS;
    const DATED: Dated = Dated::Always;

    fn as_of(&self, snapshot: &Snapshot, answer: &Self::Answer) -> Option<Time> {
        answer.newest(|detail| {
            snapshot
                .market
                .of(&snapshot.dataset, &detail.token_address)?
                .newest()
        })
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Answer> {
        batch(&self.addresses, view, progress, |token_address, view| {
            TokenQuery {
                token_address,
                explain: false,
            }
            .answer(view, &progress.quiet())
        })
    }
}

impl Query for CandleBatchQuery {
    type Answer = Batch<TokenCandles>;
    const NAME: &'static str = "candle_batch";
    const SUMMARY: &'static str = "Get candles of several tokens (up to 100,000).";
    const NEEDS: &'static [&'static str] = CandlesQuery::NEEDS;
    /// Slow when it covers the candles of a whole market.
    const HEAVY: bool = true;
    const DATED: Dated = Dated::Always;

    fn as_of(&self, _: &Snapshot, answer: &Self::Answer) -> Option<Time> {
        answer.newest(|candles| candles.candles.last().map(|candle| candle.timestamp))
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Answer> {
        let Self {
            addresses,
            timeframe,
            from,
            to,
        } = self;
        let total = addresses.len() as u64;
        let (mut tokens, mut count) = (Vec::with_capacity(addresses.len()), 0);
        for (i, &token_address) in addresses.iter().enumerate() {
            progress.step(i as u64, total)?;
            // Asking for one candle above the limit tells when the limit is exceeded.
            let limit = (CANDLES_MAX + 1 - count) as u64;
            let answer = CandlesQuery {
                token_address,
                timeframe,
                from: *from,
                to: *to,
                limit,
            }
            .answer(&view.part(addresses.len()), progress);
            count += answer.as_ref().map_or(0, |answer| answer.candles.len());
            if count > CANDLES_MAX {
                let detail = format!(
                    "`addresses` have more than {CANDLES_MAX} candles; request fewer tokens, a longer `timeframe`, or a shorter period \
                    with `from` and `to`."
                );
                return Err(Problem::new(Code::InvalidParameter, detail));
            }
            let answer = view.unless_it_ends(&token_address, answer)?;
            tokens.push(BatchPart::of(token_address, answer)?);
        }
        Ok(Batch { tokens })
    }
}

impl Query for SecurityBatchQuery {
    type Answer = Batch<TokenSecurity>;
    const NAME: &'static str = "security_batch";
    const SUMMARY: &'static str =
        "Assess several tokens; NDJSON streams one line per token as it finishes.";
    const NEEDS: &'static [&'static str] = SecurityQuery::NEEDS;
    const HEAVY: bool = true;
    const DATED: Dated = Dated::Always;

    fn as_of(&self, _: &Snapshot, answer: &Self::Answer) -> Option<Time> {
        answer.newest(|part| part.as_of)
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Answer> {
        batch(&self.addresses, view, progress, |token_address, view| {
            let question = SecurityQuery {
                contract_address: token_address,
                explain: self.explain,
            };
            let inference = question.answer(view, &progress.quiet())?;
            Ok(TokenSecurity {
                token_address,
                as_of: question.as_of(view, &inference),
                inference,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::{
        fields::tests::snapshot,
        tests::{addresses, parsed},
    };

    fn ask<Q: Query>(query: &str) -> Result<serde_json::Value> {
        let question: Q = parsed(&[], query)?;
        let target = question.target();
        let (_, written) = target.split_once('?').expect("a query");
        assert_eq!(parsed::<Q>(&[], written)?.target(), target);
        Ok(
            serde_json::to_value(question.answer(&View::new(&snapshot()), &Progress::default())?)
                .expect("JSON"),
        )
    }

    #[test]
    fn tokens_come_in_the_order_asked_with_duplicates_and_each_with_its_own_problem() {
        let asked = addresses("2131");
        let details = ask::<TokenBatchQuery>(&format!("addresses={asked}")).unwrap();
        let rows = details["tokens"].as_array().unwrap();
        assert_eq!(
            rows.iter()
                .map(|row| row["symbol"].as_str().unwrap_or("-"))
                .collect::<Vec<_>>(),
            ["NONE", "UP", "-", "UP"]
        );
        assert_eq!(
            (&rows[2]["token_address"], &rows[2]["error"]["code"]),
            (&addresses("3").into(), &"token_not_found".into())
        );
        let candles =
            ask::<CandleBatchQuery>(&format!("addresses={asked}&from=2026-01-19")).unwrap();
        let counts: Vec<_> = candles["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["candles"].as_array().map(Vec::len))
            .collect();
        assert_eq!(counts, [None, Some(2), None, Some(2)]);
        assert_eq!(candles["tokens"][0]["error"]["code"], "no_candles");
        let security = ask::<SecurityBatchQuery>(&format!("addresses={asked}")).unwrap();
        assert!(
            security["tokens"]
                .as_array()
                .unwrap()
                .iter()
                .all(|row| row["error"]["status"] == 404),
            "{security}"
        );
    }

    #[test]
    fn a_batch_takes_up_to_a_hundred_valid_addresses() {
        for (query, says) in [
            (String::new(), "`addresses` is required"),
            ("addresses=".into(), "`addresses` is required"),
            ("addresses=,".into(), "`addresses` is required"),
            (
                format!("addresses={},0x12", addresses("1")),
                "`addresses` has the invalid address `0x12` in position 2",
            ),
            (
                format!("addresses={}", addresses(&"1".repeat(101))),
                "`addresses` has 101 addresses; at most 100 are allowed",
            ),
        ] {
            let refused = ask::<CandleBatchQuery>(&query).unwrap_err();
            assert!(
                refused.code.status() == 400 && refused.detail.starts_with(says),
                "{query}: {refused}"
            );
        }
        assert!(
            ask::<TokenBatchQuery>(&format!("addresses={}", addresses(&"1".repeat(100)))).is_ok()
        );
    }
}
