//! The queries of a job about a token: the endpoints' with their default parameters; security with `explain=true`.

use serde_json::value::RawValue;

use super::{Analysis, TaskStatus, TokenReport, store::TaskEnding};
use crate::{
    queries::{
        Query,
        dexes::DexListQuery,
        holders::HoldersQuery,
        patterns::{Explain, PatternsQuery},
        security::SecurityQuery,
        snapshot::Snapshot,
        token::TokenQuery,
        trendline::{PERIOD_DEFAULT, TrendlineQuery},
    },
    service::QueryService,
};
use model::{
    address::Address,
    error::{Code, Result},
    progress::Progress,
};

/// Problems of a token without such data, which make its task `skipped`, not `failed`.
const SKIPS: &[Code] = &[Code::NoCandles, Code::NoSecurityData];

/// Runs all analyses of one token without a job, and returns its report.
pub fn token_report(
    service: &QueryService,
    snapshot: &Snapshot,
    address: Address,
    progress: &Progress,
) -> Result<TokenReport> {
    let mut report = TokenReport::empty(address);
    for (done, &analysis) in Analysis::ALL.iter().enumerate() {
        progress.step(done as u64, Analysis::ALL.len() as u64)?;
        let ending = ask(service, snapshot, analysis, address, &progress.quiet());
        *report.part_mut(analysis) = RawValue::from_string(ending.part).ok();
    }
    progress.step(1, 1)?;
    Ok(report)
}

pub(super) fn ask(
    service: &QueryService,
    snapshot: &Snapshot,
    analysis: Analysis,
    address: Address,
    progress: &Progress,
) -> TaskEnding {
    let (token_address, contract_address, explain) = (address, address, false);
    match analysis {
        Analysis::Market => ending(
            service,
            snapshot,
            &TokenQuery {
                token_address,
                explain,
            },
            progress,
        ),
        Analysis::Trendline => {
            let question = TrendlineQuery {
                contract_address,
                period: PERIOD_DEFAULT,
                timeframe: None,
                explain,
            };
            ending(service, snapshot, &question, progress)
        }
        Analysis::Patterns => ending(
            service,
            snapshot,
            &PatternsQuery {
                contract_address,
                timeframe: "1d",
                explain: Explain::Plain,
                include: "all",
            },
            progress,
        ),
        Analysis::Security => ending(
            service,
            snapshot,
            &SecurityQuery {
                contract_address,
                explain: true,
            },
            progress,
        ),
        Analysis::Dex => {
            let empty = snapshot.dataset.pools_of(&address).next().is_none();
            ending(
                service,
                snapshot,
                &DexListQuery {
                    contract_address,
                    explain: false,
                },
                progress,
            )
            .without(empty, "pool")
        }
        Analysis::Holders => {
            let empty = snapshot.dataset.holders_listed(&address) == 0;
            ending(
                service,
                snapshot,
                &HoldersQuery::first(token_address),
                progress,
            )
            .without(empty, "holder")
        }
    }
}

fn ending<Q: Query>(
    service: &QueryService,
    snapshot: &Snapshot,
    question: &Q,
    progress: &Progress,
) -> TaskEnding {
    let problem = match service.answer_from(snapshot, question, progress) {
        // The answer was written by serde_json, which writes UTF-8.
        Ok(cached) => {
            let part = String::from_utf8_lossy(&cached.json).into_owned();
            return TaskEnding {
                status: TaskStatus::Completed,
                reason: None,
                part,
            };
        }
        Err(problem) => problem,
    };
    let status = if SKIPS.contains(&problem.code) {
        TaskStatus::Skipped
    } else {
        TaskStatus::Failed
    };
    let target = question.target();
    let path = target.split('?').next();
    let part = serde_json::json!({ "error": problem.body(path) }).to_string();
    TaskEnding {
        status,
        reason: Some(problem.detail),
        part,
    }
}

impl TaskEnding {
    /// Turns an empty list into `skipped`, since the dataset has no such rows; the report keeps the list.
    fn without(self, empty: bool, what: &str) -> Self {
        if !empty || self.status != TaskStatus::Completed {
            return self;
        }
        Self {
            status: TaskStatus::Skipped,
            reason: Some(format!("The dataset has no {what} of this token.")),
            ..self
        }
    }
}
