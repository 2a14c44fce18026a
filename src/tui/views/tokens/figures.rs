//! The optional columns' figures: computed off the drawing thread for the rows on screen, and for every token when that is asked for
//! or sorting and filtering need it. They hold for one generation of the data.

use std::{collections::HashMap, sync::Arc};

use super::list::{TokenRow, Tokens};
use crate::{
    analysis::{
        market::{Added, Figures},
        patterns::{Action as Advice, Pattern},
        security::score::too_little_known,
        trendlines::Trend,
    },
    dataset::address::Address,
    error::Result,
    question::{fields, snapshot::Snapshot},
    tui::{
        format,
        list::{Field, List, Look},
        task::{self, Task},
        theme::Role,
        view::Context,
        widgets::table::Cell,
    },
};

// The optional columns, each named as the field of GET /tokens that it shows. Most wanted first: the surest pattern, the strongest
// advice.
type F = Field<Tokens>;

pub(super) const TREND: F = F::text("trend", "trend", [9, 9], 190, |row| trend(row.figures).map(|(word, _)| word).into())
    .rank(|row| trend(row.figures).map(|(_, rank)| rank))
    .cell(|row, look| figure(*row, look, |figures| trend(Some(figures)).map(|(word, rank)| Cell::new(word, by_sign(rank)))))
    .largest_first()
    .optional();

pub(super) const PATTERN: F =
    F::text("best_pattern", "pattern", [16, 32], 195, |row| row.figures.and_then(pattern).map(|pattern| pattern.name.word()).into())
        .rank(|row| Some(pattern(row.figures?)?.confidence))
        .cell(|row, look| {
            figure(*row, look, |figures| {
                let pattern = pattern(figures)?;
                let (moves, arrow) = (pattern.projected_movement, format::direction(pattern.projected_movement, look.ascii));
                let confidence = Cell::new(format!("{:.2} ", pattern.confidence), Role::Dim);
                Some(confidence.then(format!("{arrow} {}", pattern.name.word()), by_sign(moves)))
            })
        })
        .aliases(&["pattern"])
        .largest_first()
        .optional();

pub(super) const ACTION: F = F::text("recommendedAction", "action", [11, 11], 192, |row| advice(row.figures).map(|(word, _)| word).into())
    .rank(|row| advice(row.figures).map(|(_, rank)| rank))
    .cell(|row, look| figure(*row, look, |figures| advice(Some(figures)).map(|(word, rank)| Cell::new(word, by_sign(rank)))))
    .aliases(&["action"])
    .largest_first()
    .optional();

pub(super) const SCORE: F = F::figure("securityScore", "score", 5, 191, |row| row.figures.and_then(score).into())
    .cell(|row, look| {
        figure(*row, look, |figures| {
            let score = score(figures)?;
            let unknown = figures.recommendation.as_ref().and_then(|added| added.0).is_some_and(too_little_known);
            let known = || Cell::new(score.to_string(), if score < SCORE_LOW { Role::Warning } else { Role::Text });
            Some(if unknown { Cell::new(format!("{score}?"), Role::Dim) } else { known() })
        })
    })
    .aliases(&["score"])
    .optional();

/// Scores below are `HIGH RISK` or `AVOID`.
const SCORE_LOW: i64 = 40;

/// Tokens of one piece of work, so that figures are seen soon and stopping is quick.
const BATCH: usize = 64;

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
                    let names: Vec<&str> = List::<Tokens>::optional().chain(["recommendation"]).collect();
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

/// A figure's cell: a dim `…` while it is not computed.
fn figure(row: TokenRow<'_>, look: &Look, cell: impl FnOnce(&Figures) -> Option<Cell>) -> Cell {
    let waiting = || Cell::new(if look.ascii { "..." } else { "…" }, Role::Dim);
    row.figures.map_or_else(waiting, |figures| cell(figures).unwrap_or_else(Cell::missing))
}

fn by_sign(value: f64) -> Role {
    match value {
        value if value > 0.0 => Role::Up,
        value if value < 0.0 => Role::Down,
        _ => Role::Dim,
    }
}

fn added<T>(figure: Option<&Added<T>>) -> Option<&T> {
    figure?.0.as_ref()
}

fn score(figures: &Figures) -> Option<i64> {
    added(figures.security_score.as_ref()).copied()
}

fn pattern(figures: &Figures) -> Option<&Pattern> {
    added(figures.best_pattern.as_ref())
}

/// The word, and what rows are ordered by.
fn trend(figures: Option<&Figures>) -> Option<(&'static str, f64)> {
    Some(match added(figures?.trend.as_ref())? {
        Trend::Uptrend => ("uptrend", 1.0),
        Trend::Sideways => ("sideways", 0.0),
        Trend::Downtrend => ("downtrend", -1.0),
    })
}

fn advice(figures: Option<&Figures>) -> Option<(&'static str, f64)> {
    Some(match added(figures?.recommended_action.as_ref())? {
        Advice::StrongBuy => ("strong_buy", 2.0),
        Advice::Buy => ("buy", 1.0),
        Advice::Hold => ("hold", 0.0),
        Advice::Sell => ("sell", -1.0),
        Advice::StrongSell => ("strong_sell", -2.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::patterns::PatternName,
        tui::list::{Row, Value},
    };

    #[test]
    fn words_are_those_of_the_api_and_every_column_has_its_field() {
        let pattern = Pattern {
            name: PatternName::DoubleBottom,
            confidence: 0.81,
            completion_percent: 100.0,
            projected_movement: 14.2,
            start_index: 3,
            end_index: 40,
            detail: None,
        };
        let token = &crate::tui::views::fixture::token();
        for (trend, advice) in [
            (Trend::Uptrend, Advice::StrongBuy),
            (Trend::Sideways, Advice::Buy),
            (Trend::Downtrend, Advice::Hold),
            (Trend::Uptrend, Advice::Sell),
            (Trend::Uptrend, Advice::StrongSell),
        ] {
            let figures = Figures {
                trend: Some(Added(Some(trend))),
                best_pattern: Some(Added(Some(pattern.clone()))),
                recommended_action: Some(Added(Some(advice))),
                security_score: Some(Added(Some(21))),
                recommendation: Some(Added(Some("HIGH RISK"))),
            };
            let json = serde_json::to_value(&figures).unwrap();
            let row = Row::<Tokens> { given: TokenRow { token, figures: Some(&figures), starred: false } };
            let word = |field: &F| (field.value)(row);
            for (field, expected) in
                [(TREND, &json["trend"]), (PATTERN, &json["best_pattern"]["name"]), (ACTION, &json["recommendedAction"])]
            {
                assert_eq!(word(&field), Value::from(expected.as_str()));
            }
            assert_eq!(word(&SCORE), Value::Number(21.0));
        }
        assert!(List::<Tokens>::optional().count() == 4 && List::<Tokens>::optional().all(|key| fields::FIELDS.contains(&key)));
        let cell = |field: F, figures: Figures| {
            field.show(
                Row { given: TokenRow { token, figures: Some(&figures), starred: false } },
                &Look { cells: 9, ascii: false, now: crate::dataset::time::Time(0) },
            )
        };
        assert_eq!(cell(TREND, Figures::default()), Cell::missing());
        assert_eq!(cell(SCORE, Figures::default()), Cell::missing());
        let scored = Figures { security_score: Some(Added(Some(21))), ..Figures::default() };
        assert_eq!(cell(SCORE, scored.clone()), Cell::new("21", Role::Warning));
        let unknown = Figures { recommendation: Some(Added(Some("NOT ENOUGH DATA"))), ..scored };
        assert_eq!(cell(SCORE, unknown), Cell::new("21?", Role::Dim));
    }
}
