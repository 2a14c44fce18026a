//! The optional columns' figures: computed off the drawing thread for the rows on screen, and for every token when that is asked for
//! or sorting and filtering need it. They hold for one generation of the data.

use std::{collections::HashMap, sync::Arc};

use super::list::{LISTED, Shown, Tokens};
use crate::{
    analysis::{market::Figures, security::score::too_little_known},
    dataset::address::Address,
    error::Result,
    question::{
        fields,
        search::row::{rank, word},
        snapshot::Snapshot,
    },
    tui::{
        format,
        list::{Field, List, Look},
        task::{self, Task},
        text,
        theme::Role,
        view::Context,
        views::parts::{role_of_score, score_text},
        widgets::table::Cell,
        words,
    },
};

// The optional columns, each named as the field of GET /tokens that it shows. Most wanted first: the surest pattern, the strongest
// advice.
type F = Field<Tokens>;

pub(super) const TREND: F =
    F::text("trend", "trend", [9, 9], 187, LISTED).cell(|row, look| worded(*row, look, "trend")).largest_first().optional();

/// From this width of the column on its confidence stands before a pattern.
const CONFIDENCE_FROM: usize = 26;

pub(super) const PATTERN: F = F::text("best_pattern", "pattern", [20, 33], 195, LISTED)
    .cell(|row, look| {
        figure(*row, look, |figures| {
            let pattern = figures.best_pattern.as_ref()?.0.as_ref()?;
            let (moves, arrow) = (pattern.projected_movement, format::direction(pattern.projected_movement, look.ascii));
            let (confidence, name) = (format!("{:.2} ", pattern.confidence), format!("{arrow} {}", words::shown(pattern.name.word())));
            // The name is worth more than how sure it is; the longest of them is cut at a word.
            let fits = |text: &str| text::width(text) <= look.cells;
            let name = if fits(&name) { name } else { name.replace("ead and shoulders", "ead & sh.").replace("ymmetrical", "ymm.") };
            let whole = look.cells >= CONFIDENCE_FROM;
            let cell = if whole { Cell::new(confidence, Role::Dim) } else { Cell::default() };
            Some(cell.then(name, by_sign(moves)))
        })
    })
    .largest_first()
    .optional();

pub(super) const ACTION: F = F::text("recommendedAction", "action", [11, 11], 186, LISTED)
    .cell(|row, look| worded(*row, look, "recommendedAction"))
    .largest_first()
    .optional();

pub(super) const SCORE: F = F::figure("securityScore", "score", 5, 191, LISTED)
    .cell(|row, look| {
        figure(*row, look, |figures| {
            let score = figures.security_score.as_ref()?.0?;
            let word = figures.recommendation.as_ref().and_then(|added| added.0).unwrap_or_default();
            Some(Cell::new(score_text(score, word), role_of_score(score, word)))
        })
    })
    .optional();

/// The state of the score: the word that the recommendation begins with.
pub(super) const RISK: F = F::text("recommendation", "risk", [13, 19], 130, LISTED)
    .cell(|row, look| {
        figure(*row, look, |figures| {
            let word = figures.recommendation.as_ref()?.0?;
            let role = if too_little_known(word) { Role::Dim } else { Role::Text };
            Some(Cell::new(word, role))
        })
    })
    .optional();

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
                    let names: Vec<&str> = List::<Tokens>::optional().collect();
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
fn figure(row: Shown<'_>, look: &Look, cell: impl FnOnce(&Figures) -> Option<Cell>) -> Cell {
    let waiting = || Cell::new(if look.ascii { "..." } else { "…" }, Role::Dim);
    row.figures.map_or_else(waiting, |figures| cell(figures).unwrap_or_else(Cell::missing))
}

/// A figure that is a word.
fn worded(row: Shown<'_>, look: &Look, key: &str) -> Cell {
    figure(row, look, |figures| Some(Cell::new(words::shown(word(figures, key)?), by_sign(rank(figures, key).unwrap_or_default()))))
}

fn by_sign(value: f64) -> Role {
    match value {
        value if value > 0.0 => Role::Up,
        value if value < 0.0 => Role::Down,
        _ => Role::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::{
            market::Added,
            patterns::{Action as Advice, Pattern, PatternName},
            trendlines::Trend,
        },
        dataset::time::Time,
        tui::{
            list::{Fields, Row, Value},
            views::fixture,
        },
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
        let token = &fixture::token();
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
                ..Figures::default()
            };
            let json = serde_json::to_value(&figures).unwrap();
            let row = Row::<Tokens> { given: Shown { token, figures: Some(&figures), starred: false } };
            let words = [&json["trend"], &json["best_pattern"]["name"], &json["recommendedAction"]];
            for (field, expected) in [TREND, PATTERN, ACTION].iter().zip(words) {
                assert_eq!(Tokens::value(row, field.column.key), Value::from(expected.as_str()));
                assert!(Tokens::sort_key(row, field.column.key).is_some());
            }
            assert_eq!(Tokens::value(row, SCORE.column.key), Value::from(21.0));
        }
        assert!(List::<Tokens>::optional().count() == 5 && List::<Tokens>::optional().all(|key| fields::FIELDS.contains(&key)));
        let look = Look { cells: 9, ascii: false, now: Time(0) };
        let cell = |field: F, figures: Figures| field.show(Row { given: Shown { token, figures: Some(&figures), starred: false } }, &look);
        assert_eq!(cell(TREND, Figures::default()), Cell::missing());
        assert_eq!(cell(SCORE, Figures::default()), Cell::missing());
        let scored = Figures { security_score: Some(Added(Some(21))), ..Figures::default() };
        assert_eq!(cell(SCORE, scored.clone()), Cell::new("21", Role::Down));
        let unknown = Figures { recommendation: Some(Added(Some("NOT ENOUGH DATA"))), ..scored };
        assert_eq!(cell(SCORE, unknown), Cell::new("21?", Role::Dim));
    }
}
