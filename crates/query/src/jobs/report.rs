//! A job's report: six parts per token, each the exact answer of its endpoint, security with `explain=true`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Analysis, JobStatus, Sources};
use crate::question::holders::Holders;
use analysis::{
    dex::DexList, patterns::PatternsAnswer, token::TokenDetail, trendlines::TrendlineAnswer,
};
use model::{address::Address, error::ProblemBody};
use security::SecurityInference;

/// A job's results so far; partial while it runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    pub job_id: String,
    pub status: JobStatus,
    /// In request order.
    pub tokens: Vec<TokenReport>,
    /// Files used for the report; none before the first task, and for jobs of older program versions.
    #[serde(skip)]
    pub sources: Option<Sources>,
}

/// Each part is the response of its endpoint, `{"error": problem}` if that failed, or null if its task has not run yet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TokenReport {
    pub token_address: Address,
    #[schemars(with = "Part<TokenDetail>")]
    pub token: Option<Box<RawValue>>,
    #[schemars(with = "Part<TrendlineAnswer>")]
    pub trendline: Option<Box<RawValue>>,
    #[schemars(with = "Part<PatternsAnswer>")]
    pub patterns: Option<Box<RawValue>>,
    #[schemars(with = "Part<SecurityInference>")]
    pub security: Option<Box<RawValue>>,
    #[schemars(with = "Part<DexList>")]
    pub dexes: Option<Box<RawValue>>,
    #[schemars(with = "Part<Holders>")]
    pub holders: Option<Box<RawValue>>,
}

/// The endpoint's response, its problem if it failed, or null if the task has not run yet.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(
    dead_code,
    reason = "only a shape for the OpenAPI document: each part is stored as the text of its response"
)]
enum Part<A> {
    Answer(A),
    Failed { error: ProblemBody },
    Unasked,
}

impl TokenReport {
    pub(super) fn empty(token_address: Address) -> Self {
        Self {
            token_address,
            token: None,
            trendline: None,
            patterns: None,
            security: None,
            dexes: None,
            holders: None,
        }
    }

    pub(super) fn part_mut(&mut self, analysis: Analysis) -> &mut Option<Box<RawValue>> {
        match analysis {
            Analysis::Market => &mut self.token,
            Analysis::Trendline => &mut self.trendline,
            Analysis::Patterns => &mut self.patterns,
            Analysis::Security => &mut self.security,
            Analysis::Dex => &mut self.dexes,
            Analysis::Holders => &mut self.holders,
        }
    }
}
