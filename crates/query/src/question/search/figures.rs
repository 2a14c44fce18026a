//! Metrics of many tokens. If their candles are queried in place, they are fetched for some tokens at a time, and the metrics are cached.

use std::sync::Mutex;

use crate::question::{
    Find,
    fields::{self, Figures, is_computed, is_of_candles},
    missing::MissingRows,
    parallel,
    progress::Progress,
    snapshot::Snapshot,
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    fetch_key::FetchKey,
    locks::Locked as _,
};

/// Most tokens of one answer whose balances, transfers or state are fetched: a token takes a query or more.
const FETCHED_MAX: usize = 100;
/// Most tokens of one answer whose candles are fetched: a query brings those of many.
const CANDLES_OF_MAX: usize = 5_000;

/// The named metrics of these tokens.
#[derive(Debug, Clone)]
pub struct FiguresOf {
    pub tokens: Vec<Address>,
    pub names: Vec<&'static str>,
}

impl Find for FiguresOf {
    type Found = Vec<(Address, Figures)>;

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Self::Found> {
        let figures = of_each(self.tokens.clone(), &self.names, snapshot, progress)?;
        Ok(self.tokens.iter().copied().zip(figures).collect())
    }
}

/// The figures of each token. Errors: rows are missing, those of the first tokens that lack any; too many would be.
pub(super) fn of_each(
    tokens: Vec<Address>,
    names: &[&str],
    snapshot: &Snapshot,
    progress: &Progress,
) -> Result<Vec<Figures>> {
    let count = tokens.len();
    // Weighed by what changes while a generation lasts, others are worked out each time.
    let keeps = snapshot.dataset.in_place("candles").is_some()
        && names
            .iter()
            .all(|name| !is_computed(name) || is_of_candles(name));
    let in_steps = |problem: &Problem| {
        keeps
            && problem
                .missing
                .iter()
                .all(|key| matches!(key, FetchKey::Chart(_)))
    };
    let missing = Mutex::new(MissingRows::default());
    let mut found: Vec<(Address, Option<Figures>)> =
        tokens.into_iter().map(|token| (token, None)).collect();
    parallel::each(&mut found, progress, |(token, found)| {
        *found = if keeps {
            snapshot.figures.get(token, names)
        } else {
            None
        };
        if found.is_some() {
            return Ok(());
        }
        let figures =
            fields::figures(snapshot, *token, names, &progress.quiet()).map_err(|problem| {
                let most = if in_steps(&problem) {
                    CANDLES_OF_MAX
                } else {
                    FETCHED_MAX
                };
                if problem.is_missing_rows() && count > most {
                    too_many(count, most, &problem)
                } else {
                    problem
                }
            });
        *found = missing.locked().take(figures).transpose()?;
        if let Some(figures) = found.as_ref().filter(|_| keeps) {
            snapshot.figures.keep(*token, figures);
        }
        Ok(())
    })?;
    let done = found
        .iter()
        .filter(|(_, figures)| figures.is_some())
        .count() as u64;
    std::mem::take(&mut *missing.locked())
        .check()
        .map_err(|problem| {
            let step = in_steps(&problem).then_some((done, count as u64));
            Problem { step, ..problem }
        })?;
    Ok(found
        .into_iter()
        .map(|(_, figures)| figures.unwrap_or_default())
        .collect())
}

fn too_many(count: usize, most: usize, missing: &Problem) -> Problem {
    let detail = if missing.is_missing_state() {
        format!(
            "{count} tokens remain to be checked, but a list reads the on-chain state of at most {most} tokens; add other conditions, or query \
             the tokens one by one."
        )
    } else {
        format!(
            "{count} tokens remain to be checked, but a list fetches the rows of at most {most} tokens from a source queried in place; add other \
             conditions, or query the tokens one by one."
        )
    };
    Problem::new(Code::InvalidParameter, detail)
}
