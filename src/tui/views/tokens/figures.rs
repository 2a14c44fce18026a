//! The optional columns' figures: computed off the drawing thread for the rows on screen, and for every token when that is asked for
//! or sorting and filtering need it. They hold for one generation of the data.

use std::{collections::HashMap, sync::Arc};

use crate::{
    analysis::{
        market::{Figures, TokenSummary},
        security::score::too_little_known,
    },
    dataset::address::Address,
    error::Result,
    question::{
        fields,
        search::row::{rank, word},
        snapshot::Snapshot,
    },
    tui::{
        format,
        task::{self, Task},
        theme::Role,
        view::Context,
        views::rows::SortColumn,
        widgets::table::{Cell, Column},
    },
};

/// The optional columns, each named as the field of GET /tokens that it shows.
pub(super) const COLUMNS: &[Column] = &[
    Column::text("trend", "trend", 9, 9, 190),
    Column::text("best_pattern", "pattern", 16, 32, 195),
    Column::text("recommendedAction", "action", 11, 11, 192),
    Column::figure("securityScore", "score", 5, 191),
];

/// Most wanted first: the surest pattern, the strongest advice.
pub(super) const SORTS: &[SortColumn] = &[("trend", true), ("best_pattern", true), ("recommendedAction", true), ("securityScore", true)];

/// Tokens of one piece of work, so that figures are seen soon and stopping is quick.
const BATCH: usize = 64;

pub(super) fn is_optional(key: &str) -> bool {
    COLUMNS.iter().any(|column| column.key == key)
}

/// The figures known so far.
pub(super) type Known = HashMap<Address, Figures>;

type Batch = Vec<(Address, Figures)>;

#[derive(Default)]
pub(super) struct Store {
    generation: u64,
    pub(super) known: Known,
    task: Option<Task<Batch>>,
    /// Every token is wanted, not only those on screen.
    pub(super) all: bool,
    /// Why the last piece of work failed; nothing more is begun until the data change or all are asked for again.
    pub(super) problem: Option<String>,
}

impl Store {
    /// Takes what has been computed and begins the next piece of work: first the rows on screen, then the rest if all are wanted.
    /// With new data it begins afresh, with all tokens if `needs_all`. True when something came.
    pub(super) fn refresh(&mut self, snapshot: &Arc<Snapshot>, screen: &[Address], needs_all: bool, context: &Context<'_>) -> bool {
        if self.generation != snapshot.generation {
            *self = Self { generation: snapshot.generation, all: self.all || needs_all, ..Self::default() };
        }
        let outcome = task::take(&mut self.task);
        let came = outcome.is_some();
        match outcome {
            Some(Ok(batch)) => self.known.extend(batch),
            Some(Err(problem)) => (self.problem, self.all) = (Some(problem.detail), false),
            None => {}
        }
        if self.task.is_none() && self.problem.is_none() {
            let mut wanted: Vec<Address> = screen.iter().copied().filter(|token| !self.known.contains_key(token)).collect();
            if self.all && wanted.is_empty() {
                let missing =
                    snapshot.market.tokens.iter().map(|token| token.token_address).filter(|token| !self.known.contains_key(token));
                wanted = missing.take(BATCH.max(self.known.len() / 4)).collect();
                self.all = !wanted.is_empty();
            }
            if !wanted.is_empty() {
                let snapshot = Arc::clone(snapshot);
                self.task = Some(Task::start(context.wake, move |progress| {
                    // With the score its word: a score of what was hardly looked at must not look like one.
                    let names = [field_names(), vec!["recommendation"]].concat();
                    let figures = |token: Address| Ok((token, fields::figures(&snapshot, token, &names, progress)?));
                    wanted.into_iter().map(figures).collect::<Result<Batch>>()
                }));
            }
        }
        came
    }

    pub(super) fn want_all(&mut self) {
        (self.all, self.problem) = (true, None);
    }

    /// Leaves the rest uncomputed.
    pub(super) fn stop(&mut self) {
        (self.all, self.task) = (false, None);
    }

    /// What stands beside the filter: how far it is, or why it stopped.
    pub(super) fn note(&self, total: usize) -> Option<String> {
        let so_far = || format!("computed {} of {}, Esc stops", format::count(self.known.len() as u64), format::count(total as u64));
        self.problem.as_ref().map(|problem| format!("! {problem}")).or_else(|| self.all.then(so_far))
    }
}

/// The fields of GET /tokens that the columns show.
pub(super) fn field_names() -> Vec<&'static str> {
    COLUMNS.iter().map(|column| column.key).collect()
}

/// The column of numbers; a low score is a warning.
const SCORE: &str = "securityScore";
/// Scores below are `HIGH RISK` or `AVOID`.
const SCORE_LOW: f64 = 40.0;

/// One cell for each of `COLUMNS`; a dim `…` while it is not computed.
pub(super) fn cells(token: &TokenSummary, known: &Known, ascii: bool) -> Vec<Cell> {
    let figures = known.get(&token.token_address);
    COLUMNS.iter().map(|column| figures.map_or_else(|| waiting(ascii), |figures| cell(figures, column.key, ascii))).collect()
}

fn waiting(ascii: bool) -> Cell {
    Cell::new(if ascii { "..." } else { "…" }, Role::Dim)
}

fn cell(figures: &Figures, key: &str, ascii: bool) -> Cell {
    if let (SCORE, Some(score)) = (key, rank(figures, key)) {
        let unknown = figures.recommendation.as_ref().and_then(|added| added.0).is_some_and(too_little_known);
        return if unknown {
            Cell::new(format!("{score}?"), Role::Dim)
        } else {
            Cell::new(format!("{score}"), if score < SCORE_LOW { Role::Warning } else { Role::Text })
        };
    }
    let Some(word) = word(figures, key) else { return Cell::missing() };
    let by_sign = |sign: f64| match sign {
        sign if sign > 0.0 => Role::Up,
        sign if sign < 0.0 => Role::Down,
        _ => Role::Dim,
    };
    match (key, figures.best_pattern.as_ref().and_then(|added| added.0.as_ref())) {
        ("best_pattern", Some(pattern)) => {
            let arrow = format::direction(pattern.projected_movement, ascii);
            Cell::new(format!("{:.2} ", pattern.confidence), Role::Dim).then(format!("{arrow} {word}"), by_sign(pattern.projected_movement))
        }
        _ => Cell::new(word, by_sign(rank(figures, key).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{
        market::Added,
        patterns::{Action as Advice, Pattern, PatternName},
        trendlines::Trend,
    };

    #[test]
    fn words_are_those_of_the_api_and_every_column_has_word_rank_and_sort() {
        let pattern = Pattern {
            name: PatternName::DoubleBottom,
            confidence: 0.81,
            completion_percent: 100.0,
            projected_movement: 14.2,
            start_index: 3,
            end_index: 40,
            detail: None,
        };
        for (trend, advice) in [
            (Trend::Uptrend, Advice::StrongBuy),
            (Trend::Sideways, Advice::Buy),
            (Trend::Downtrend, Advice::Hold),
            (Trend::Uptrend, Advice::Sell),
            (Trend::Uptrend, Advice::StrongSell),
        ] {
            let figures = Figures {
                created_at: None,
                trend: Some(Added(Some(trend))),
                best_pattern: Some(Added(Some(pattern.clone()))),
                recommended_action: Some(Added(Some(advice))),
                security_score: Some(Added(Some(21))),
                recommendation: Some(Added(Some("HIGH RISK"))),
            };
            let json = serde_json::to_value(&figures).unwrap();
            assert_eq!(word(&figures, "trend"), json["trend"].as_str());
            assert_eq!(word(&figures, "best_pattern"), json["best_pattern"]["name"].as_str());
            assert_eq!(word(&figures, "recommendedAction"), json["recommendedAction"].as_str());
            assert!(COLUMNS.iter().all(|column| rank(&figures, column.key).is_some()));
        }
        assert_eq!(SORTS.iter().map(|(key, _)| *key).collect::<Vec<_>>(), field_names());
        assert!(COLUMNS.iter().all(|column| fields::FIELDS.contains(&column.key)));
        assert_eq!(cell(&Figures::default(), "trend", false), Cell::missing());
        assert_eq!(cell(&Figures::default(), SCORE, false), Cell::missing());
        let scored = Figures { security_score: Some(Added(Some(21))), ..Figures::default() };
        assert_eq!(cell(&scored, SCORE, false), Cell::new("21", Role::Warning));
        let unknown = Figures { recommendation: Some(Added(Some("NOT ENOUGH DATA"))), ..scored.clone() };
        assert_eq!(cell(&unknown, SCORE, false), Cell::new("21?", Role::Dim));
    }
}
