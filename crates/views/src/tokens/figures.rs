//! The figures of optional columns: computed off the drawing thread for the rows on screen, and for every token on request or where sorting
//! and filtering need them. Valid for one snapshot.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::list::{LISTED, ListedToken, TokenFields};
use crate::prelude::*;
use analysis::{market::TokenSummary, patterns::Status};
use query::{
    deck::pending::PendingResult,
    question::{
        fields::{FigureValue, Figures},
        search::FiguresOf,
        track_record::is_weighed,
    },
};
use security::score::{NOT_ENOUGH_DATA, too_little_known};

// The optional columns, each named as its field of GET /tokens. First sort: highest confidence, strongest advice.
type F = Field<TokenFields>;

pub(super) const TREND: F = F::text("trend", "trend", [9, 9], 187, LISTED)
    .cell(|row, _| worded(*row, "trend"))
    .largest_first()
    .optional();

/// From this column width a pattern shows its confidence.
const CONFIDENCE_FROM: usize = 26;

pub(super) const PATTERN: F = F::text("best_pattern", "pattern", [20, 33], 195, LISTED)
    .cell(|row, look| {
        figure(*row, "best_pattern", |figures| {
            let Some(FigureValue::Pattern(pattern, status)) = figures.get("best_pattern") else {
                return None;
            };
            let (moves, arrow) = (
                pattern.projected_movement,
                format::direction(pattern.projected_movement),
            );
            let (confidence, name) = (
                format!("{:.2} ", pattern.confidence),
                format!("{arrow} {}", words::shown(pattern.name.word())),
            );
            // A completed pattern has no target any more.
            let over = match status {
                Some(Status::Failed) => ", failed",
                Some(Status::Reached) if look.cells >= CONFIDENCE_FROM => ", target hit",
                Some(Status::Reached) => ", hit",
                Some(Status::Forming | Status::Confirmed) | None => "",
            };
            let whole = look.cells >= CONFIDENCE_FROM;
            let room = look
                .cells
                .saturating_sub(text::width(over) + if whole { confidence.len() } else { 0 });
            // The name takes precedence over the confidence; the longest names are abbreviated.
            let name = if text::width(&name) <= room {
                name
            } else {
                name.replace("ead and shoulders", "ead & sh.")
                    .replace("ymmetrical", "ymm.")
            };
            let cell = if whole {
                Cell::new(confidence, Role::Dim)
            } else {
                Cell::default()
            };
            let name = text::truncate(&name, room).into_owned();
            Some(if over.is_empty() {
                cell.then(name, by_sign(moves))
            } else {
                cell.then(format!("{name}{over}"), Role::Dim)
            })
        })
    })
    .largest_first()
    .optional();

/// The recommended action, no stronger than its track record allows.
pub(super) const ADVICE: F = F::text("advice", "advice", [11, 11], 186, LISTED)
    .cell(|row, _| worded(*row, "advice"))
    .largest_first()
    .optional();

pub(super) const SCORE: F = F::figure("securityScore", "score", 5, 191, LISTED)
    .cell(|row, _| {
        figure(*row, "securityScore", |figures| {
            let (score, word) = match figures.get("securityScore")? {
                FigureValue::Value(Scalar::Whole(score)) => (*score, ""),
                FigureValue::Unknown => (0, NOT_ENOUGH_DATA),
                _ => return None,
            };
            Some(Cell::new(
                score_text(score, word),
                role_of_score(score, word),
            ))
        })
    })
    .optional();

/// The recommendation's first word, the verdict behind the score.
pub(super) const RISK: F = F::text("recommendation", "risk", [13, 19], 130, LISTED)
    // `NO MAJOR RISK FOUND`
    .widths(&[(130, [19, 19])])
    .cell(|row, _| {
        figure(*row, "recommendation", |figures| {
            let word = figures.get("recommendation")?.word()?;
            let role = if too_little_known(word) {
                Role::Dim
            } else {
                Role::Text
            };
            Some(Cell::new(word.to_owned(), role))
        })
    })
    .optional();

/// Wilder's levels: above 70 overbought, under 30 oversold.
pub(super) const RSI: F = F::figure("rsi_14", "RSI 14", 6, 125, LISTED)
    .cell(|row, _| {
        figure(*row, "rsi_14", |figures| {
            let rsi = number(figures, "rsi_14")?;
            Some(Cell::new(
                format::fixed(rsi, 1),
                if (30.0..=70.0).contains(&rsi) {
                    Role::Text
                } else {
                    Role::Warning
                },
            ))
        })
    })
    .decimal()
    .optional()
    .recent();

pub(super) const FROM_HIGH: F = F::figure("from_52w_high", "52w high", 8, 124, LISTED)
    .cell(|row, _| {
        figure(*row, "from_52w_high", |figures| {
            Some(Cell::change(Some(number(figures, "from_52w_high")?)))
        })
    })
    .unit("%")
    .decimal()
    .optional()
    .recent();

/// The columns of `m`; other computed columns are chosen individually.
pub(super) const MORE: &[&str] = &[
    "trend",
    "best_pattern",
    "advice",
    "securityScore",
    "recommendation",
];

/// Minimum number of tokens of one background task, so that first figures appear soon and cancelling is quick.
const BATCH: usize = 64;

/// The figures computed so far.
pub(super) type KnownFigures = HashMap<Address, Figures>;

type Batch = Vec<(Address, Figures)>;

#[derive(Default)]
pub(super) struct FigureStore {
    /// The generation of the figures.
    generation: u64,
    /// How often the record of all tokens, by which advice is weighed, was published when they were asked for.
    records: u64,
    /// The tokens whose advice must be computed again; the current one stays until then.
    pub(super) weighed_anew: Vec<Address>,
    pub(super) known: KnownFigures,
    task: Option<PendingResult<Batch>>,
    /// The figures to compute for every token, not only those on screen.
    pub(super) all: Vec<&'static str>,
    /// Why the last task failed; no new one starts until the data changes or all figures are requested again.
    pub(super) problem: Option<String>,
}

impl FigureStore {
    /// Takes computed figures and starts the next task: first the figures `shown` of the rows on screen, then those requested for every
    /// token. A new generation restarts, with the `judged` figures for all tokens. Returns whether a task ended.
    pub(super) fn refresh(
        &mut self,
        snapshot: &Arc<Snapshot>,
        screen: &[Address],
        [shown, judged]: [Vec<&'static str>; 2],
        context: &Context<'_>,
    ) -> bool {
        let records = snapshot.track_records.version();
        if self.generation != snapshot.generation {
            let mut all = std::mem::take(&mut self.all);
            all.extend(judged);
            *self = Self {
                generation: snapshot.generation,
                records,
                all,
                ..Self::default()
            };
        }
        if self.records != records {
            self.records = records;
            let has_advice = |figures: &Figures| figures.names().any(is_weighed);
            self.weighed_anew = self
                .known
                .iter()
                .filter(|(_, figures)| has_advice(figures))
                .map(|(token, _)| *token)
                .collect();
        }
        let outcome = self.task.as_mut().and_then(PendingResult::poll_now);
        if outcome.is_some() {
            self.task = None;
        }
        let came = outcome.is_some();
        match outcome {
            Some(Ok(batch)) => {
                for (token, figures) in batch {
                    self.known.entry(token).or_default().take(figures);
                }
            }
            Some(Err(problem)) => {
                self.problem = Some(problem.detail);
                self.all.clear();
            }
            None => {}
        }
        if self.task.is_none() && self.problem.is_none() && !self.weighed_anew.is_empty() {
            let tokens = self
                .weighed_anew
                .split_off(self.weighed_anew.len().saturating_sub(BATCH));
            let known = tokens
                .iter()
                .filter_map(|token| self.known.get(token))
                .flat_map(Figures::names);
            let names: BTreeSet<&'static str> = known.filter(|name| is_weighed(name)).collect();
            self.ask(
                snapshot,
                FiguresOf {
                    tokens,
                    names: names.into_iter().collect(),
                },
                context,
            );
        }
        if self.task.is_none() && self.problem.is_none() {
            let mut names = shown;
            let mut wanted: Vec<Address> = screen
                .iter()
                .copied()
                .filter(|token| self.lacks(token, &names))
                .collect();
            if wanted.is_empty() && !self.all.is_empty() {
                names.clone_from(&self.all);
                let tokens = &snapshot.market.tokens;
                let missing = tokens
                    .iter()
                    .map(|token| token.token_address)
                    .filter(|token| self.lacks(token, &names));
                wanted = missing
                    .take(BATCH.max((tokens.len() - self.missing(tokens)) / 4))
                    .collect();
                if wanted.is_empty() {
                    self.all.clear();
                }
            }
            if !wanted.is_empty() {
                self.ask(
                    snapshot,
                    FiguresOf {
                        tokens: wanted,
                        names,
                    },
                    context,
                );
            }
        }
        came
    }

    fn ask(&mut self, snapshot: &Arc<Snapshot>, wanted: FiguresOf, context: &Context<'_>) {
        let wake = Arc::clone(context.wake);
        self.task = Some(context.deck.find(snapshot, wanted, move || wake()));
    }

    fn lacks(&self, token: &Address, names: &[&str]) -> bool {
        self.known.get(token).map_or(!names.is_empty(), |known| {
            names.iter().any(|name| !known.has(name))
        })
    }

    /// Number of tokens that lack a figure requested for all.
    fn missing(&self, tokens: &[TokenSummary]) -> usize {
        tokens
            .iter()
            .filter(|token| self.lacks(&token.token_address, &self.all))
            .count()
    }

    /// Whether figures requested for all tokens are still being computed.
    pub(super) fn is_computing(&self, tokens: &[TokenSummary]) -> bool {
        self.problem.is_none() && !self.all.is_empty() && self.missing(tokens) > 0
    }

    /// Requests these figures for every token.
    pub(super) fn want_all(&mut self, names: Vec<&'static str>) {
        (self.all, self.problem) = (names, None);
    }

    /// Cancels the computation.
    pub(super) fn stop(&mut self) {
        self.all.clear();
        self.task = None;
    }

    /// The note beside the filter: the error or the progress; once stopped, the number of tokens for which a filter on the `judged` figures
    /// is undecided.
    pub(super) fn note(&self, tokens: &[TokenSummary], judged: &[&str]) -> Option<String> {
        let so_far = || {
            let done = tokens.len() - self.missing(tokens);
            format!(
                "computed {} of {}, Esc stops",
                format::count(done as u64),
                format::count(tokens.len() as u64)
            )
        };
        let stopped = || {
            let unknown = tokens
                .iter()
                .filter(|token| self.lacks(&token.token_address, judged))
                .count();
            (unknown > 0).then(|| format!("{} not computed", format::count(unknown as u64)))
        };
        let going = || {
            if self.all.is_empty() {
                stopped()
            } else {
                Some(so_far())
            }
        };
        self.problem
            .as_ref()
            .map(|problem| format!("! {problem}"))
            .or_else(going)
    }
}

/// A figure's cell: a dim `…` until it is computed.
fn figure(row: ListedToken<'_>, key: &str, cell: impl FnOnce(&Figures) -> Option<Cell>) -> Cell {
    let waiting = || Cell::new("…", Role::Dim);
    row.figures
        .filter(|figures| figures.has(key))
        .map_or_else(waiting, |figures| {
            cell(figures).unwrap_or_else(Cell::missing)
        })
}

/// A figure that is a word.
fn worded(row: ListedToken<'_>, key: &str) -> Cell {
    figure(row, key, |figures| {
        let rank = number(figures, key).unwrap_or_default();
        Some(Cell::new(
            words::shown(figures.get(key)?.word()?).to_owned(),
            by_sign(rank),
        ))
    })
}

/// The number that a figure is, or sorts by.
fn number(figures: &Figures, key: &str) -> Option<f64> {
    match figures.get(key)?.rank() {
        Scalar::Float(number) => Some(number),
        Scalar::Whole(number) => Some(number as f64),
        _ => None,
    }
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
    use crate::fixture;
    use analysis::{
        patterns::{AdviceWord as Advice, Pattern, PatternName},
        trendlines::Trend,
    };

    fn given(figures: &[(&'static str, Option<FigureValue>)]) -> Figures {
        let mut all = Figures::default();
        figures
            .iter()
            .cloned()
            .for_each(|(name, figure)| all.set(name, figure));
        all
    }

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
            (Trend::Downtrend, Advice::Watch),
            (Trend::Uptrend, Advice::Sell),
            (Trend::Uptrend, Advice::StrongSell),
        ] {
            let figures = given(&[
                ("trend", Some(trend.into())),
                (
                    "best_pattern",
                    Some(FigureValue::Pattern(Box::new(pattern.clone()), None)),
                ),
                ("advice", Some(advice.into())),
                ("securityScore", Some(FigureValue::Value(Scalar::Whole(21)))),
                (
                    "recommendation",
                    Some(FigureValue::Value(Scalar::text("HIGH RISK"))),
                ),
            ]);
            let json = serde_json::to_value(&figures).unwrap();
            let row = ListRow::<TokenFields> {
                given: ListedToken {
                    token,
                    figures: Some(&figures),
                    starred: false,
                    has_changed: false,
                },
            };
            let words = [
                &json["trend"],
                &json["best_pattern"]["name"],
                &json["advice"],
            ];
            for (field, expected) in [TREND, PATTERN, ADVICE].iter().zip(words) {
                assert_eq!(
                    TokenFields::value(row, field.column.key),
                    Scalar::from(expected.as_str())
                );
                assert!(TokenFields::sort_key(row, field.column.key).is_some());
            }
            assert_eq!(TokenFields::value(row, SCORE.column.key), Scalar::Whole(21));
        }
        assert!(
            List::<TokenFields>::optional().count() == 7
                && List::<TokenFields>::optional()
                    .all(|key| query::question::fields::FIELDS.contains(&key))
        );
        let look = CellContext {
            cells: 9,
            now: Time(0),
            newest: Time(0),
        };
        let cell = |field: F, figures: Figures| {
            field.show(
                ListRow {
                    given: ListedToken {
                        token,
                        figures: Some(&figures),
                        starred: false,
                        has_changed: false,
                    },
                },
                &look,
            )
        };
        assert_eq!(cell(TREND, given(&[("trend", None)])), Cell::missing());
        let failed = given(&[(
            "best_pattern",
            Some(FigureValue::Pattern(
                Box::new(pattern),
                Some(Status::Failed),
            )),
        )]);
        assert_eq!(
            cell(PATTERN, failed),
            Cell::default().then("…, failed", Role::Dim),
            "how it stands is never cut"
        );
        assert_eq!(
            cell(SCORE, Figures::default()),
            Cell::new("…", Role::Dim),
            "not worked out yet"
        );
        let scored = ("securityScore", Some(FigureValue::Value(Scalar::Whole(21))));
        assert_eq!(cell(SCORE, given(&[scored])), Cell::new("21", Role::Down));
        let unknown = given(&[("securityScore", Some(FigureValue::Unknown))]);
        assert_eq!(cell(SCORE, unknown), Cell::new("?", Role::Dim));
    }
}
