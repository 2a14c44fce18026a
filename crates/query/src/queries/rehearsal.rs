//! The query behind POST `/alerts/rehearse`: when an alert would have fired over the history, and what followed. Each day is evaluated at
//! its end, with what was known then: the values are those of a query with `as_of` of that day.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    BodyQuery, Dated, Query,
    alert_body::AlertBody,
    fields::{is_by_patterns, is_computed, is_of_candles, of_candles},
    known_token, parallel,
    parameter::{Arguments, Parameter, ParameterKind, parameter},
    request::{ParameterValue as _, Request, target},
    snapshot::Snapshot,
    tokens::{
        condition::{filter, is_met},
        row::{TokenRow, own_columns},
    },
    view::View,
};
pub use analysis::rehearsal::RehearsedOutcome;
use analysis::{
    market::past::{AllCandles, PastMarket},
    rehearsal::{AFTER_DAYS, TokenMoves, change_after, firings, outcomes},
    track_record::errors::{Verdict, interval_text},
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    format,
    progress::Progress,
    time::{Day, Time},
};
use table::filter::Filter;

const DAYS_DEFAULT: u64 = 365;
const DAYS: Parameter = parameter(
    "days",
    ParameterKind::Integer {
        min: 2,
        max: 3_650,
        default: DAYS_DEFAULT,
    },
    "Number of latest days to test, as far as the data reaches.",
);
/// Firings in the answer, the latest.
const FIRINGS_MAX: usize = 100;
/// Days of tokens on which patterns are looked for: some minutes of work.
const PATTERN_DAYS_MAX: usize = 30_000;

/// What a condition may name whose rows have no time: the column and the table.
const OF_TODAY: &[(&str, &str)] = &[
    ("liquidity", "pools"),
    ("volume_24h", "pools"),
    ("holders", "holders"),
    ("engagement_7d", "posts"),
];

/// An alert that is not set yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RehearsalQuery {
    pub alert: AlertBody,
    pub days: u64,
}

/// A backtest of an alert: when it would have fired, and what followed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Rehearsal {
    pub token_address: Option<Address>,
    pub condition: String,
    /// First and last day tested, each at its end; null without candles.
    pub from: Option<Day>,
    pub to: Option<Day>,
    pub days: u64,
    /// Number of tokens tested.
    pub tokens: u64,
    /// Days on which the condition was true or false for at least one token.
    pub known_days: u64,
    /// Days on which the condition was true, summed over the tokens.
    pub held_days: u64,
    /// Days on which a required value was unknown, summed over the tokens.
    pub unknown_days: u64,
    /// Number of triggers: days on which the condition became true.
    pub fired: u64,
    /// Number of tokens for which it fired.
    pub fired_tokens: u64,
    /// Over the known days; null if there are none.
    pub fired_a_week: Option<f64>,
    /// Price moves 1, 7 and 30 days after the triggers, from the close of their day.
    pub outcomes: Vec<RehearsedOutcome>,
    /// The latest 100, newest first.
    pub firings: Vec<RehearsedFiring>,
    /// Tables without history that the condition uses; they show current values.
    pub as_of_unknown: Vec<&'static str>,
}

/// A day on which the condition became true for a token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RehearsedFiring {
    pub date: Day,
    pub token_address: Address,
    pub symbol: Option<String>,
    /// Last close of the day, in USD.
    pub price: Option<f64>,
    /// Percent change to the close that many days later; null if unknown, or not yet known.
    pub change_after_1d: Option<f64>,
    pub change_after_7d: Option<f64>,
    pub change_after_30d: Option<f64>,
}

impl Request for RehearsalQuery {
    const PATH: &'static str = "/alerts/rehearse";
    const PARAMETERS: &'static [Parameter] = &[DAYS];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Self::parse_request(arguments, b"")
    }

    fn target(&self) -> String {
        target(Self::PATH, &[(DAYS, self.days.written())])
    }
}

impl BodyQuery for RehearsalQuery {
    fn parse_request(arguments: &Arguments<'_>, body: &[u8]) -> Result<Self> {
        let days = arguments.integer(DAYS.name)?;
        Ok(Self {
            alert: AlertBody::parse(body, arguments.tokens())?,
            days,
        })
    }

    fn refused(problem: Problem) -> Problem {
        AlertBody::refused(problem)
    }
}

impl Query for RehearsalQuery {
    type Answer = Rehearsal;
    const NAME: &'static str = "rehearse_alert";
    const SUMMARY: &'static str = "Backtest an alert.";
    const NEEDS: &'static [&'static str] = &["candles", "holders"];
    const HEAVY: bool = true;
    const DATED: Dated = Dated::Always;

    fn body(&self) -> Option<String> {
        serde_json::to_string(&self.alert).ok()
    }

    fn as_of(&self, _: &Snapshot, answer: &Rehearsal) -> Option<Time> {
        answer.to.map(Day::start)
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Rehearsal> {
        let conditions = filter(&self.alert.condition, view)?;
        check_columns(&conditions, view)?;
        if let Some(token) = &self.alert.token_address {
            known_token(view, token)?;
        }
        let candles = AllCandles::new(&view.dataset);
        let go_on =
            &mut |done: usize, total: usize| progress.step(done as u64, total as u64).is_ok();
        let days = usize::try_from(self.days).unwrap_or(usize::MAX);
        let Some(past) = PastMarket::new(&candles, days, go_on) else {
            return Err(cancelled());
        };
        let places = match &self.alert.token_address {
            Some(token) => view.dataset.token_position(token).into_iter().collect(),
            None => (0..view.dataset.tokens().len()).collect::<Vec<_>>(),
        };
        let mut tokens: Vec<RehearsedToken> = places.into_iter().map(RehearsedToken::new).collect();
        let (quick, slow) = conditions.split(|column| !is_computed(column));
        let known = past.days().iter().map(|_| AtomicBool::new(false)).collect();
        let judge = PastJudge {
            snapshot: view,
            past: &past,
            progress,
            quick,
            slow,
            pattern_days: AtomicUsize::new(0),
            known,
        };
        parallel::each(&mut tokens, progress, |token| judge.rehearse(token))?;
        let known_days = judge
            .known
            .iter()
            .filter(|known| known.load(Ordering::Relaxed))
            .count();
        Ok(self.summed_up(
            view,
            &past,
            &tokens,
            known_days,
            of_today(&conditions, view),
        ))
    }
}

fn cancelled() -> Problem {
    Problem::new(Code::Cancelled, "The backtest was canceled.")
}

/// Errors: a column whose value on a past day is not computed here.
fn check_columns(conditions: &Filter, snapshot: &Snapshot) -> Result<()> {
    snapshot.require(&["candles"])?;
    match conditions
        .columns()
        .find(|column| is_computed(column) && !is_of_candles(column))
    {
        None => Ok(()),
        Some(column) => {
            let detail = format!(
                "`condition`: `{column}` cannot be backtested, because it would have to be computed from all tables for each day; remove \
                it, or query single days with `as_of`."
            );
            Err(Problem::new(Code::InvalidParameter, detail))
        }
    }
}

/// A token, and what was found of it.
struct RehearsedToken {
    place: usize,
    fired: Vec<usize>,
    held: usize,
    unknown: usize,
    closes: Vec<Option<f64>>,
    moves: [TokenMoves; AFTER_DAYS.len()],
}

impl RehearsedToken {
    fn new(place: usize) -> Self {
        Self {
            place,
            fired: Vec::new(),
            held: 0,
            unknown: 0,
            closes: Vec::new(),
            moves: Default::default(),
        }
    }
}

/// Judges the days of the past.
struct PastJudge<'a> {
    snapshot: &'a Snapshot,
    past: &'a PastMarket<'a>,
    progress: &'a Progress,
    quick: Filter,
    slow: Filter,
    /// Days of tokens on which patterns were looked for.
    pattern_days: AtomicUsize,
    /// Of each day, whether it is known of a token at least.
    known: Vec<AtomicBool>,
}

impl PastJudge<'_> {
    fn rehearse(&self, token: &mut RehearsedToken) -> Result<()> {
        let states = (0..self.past.days().len())
            .map(|day| self.holds(token.place, day))
            .collect::<Result<Vec<_>>>()?;
        for (known, _) in self
            .known
            .iter()
            .zip(&states)
            .filter(|(_, state)| state.is_some())
        {
            known.store(true, Ordering::Relaxed);
        }
        token.held = states.iter().filter(|state| **state == Some(true)).count();
        token.unknown = states.iter().filter(|state| state.is_none()).count();
        token.fired = firings(states.into_iter());
        // Most tokens of a market never fire.
        if !token.fired.is_empty() {
            token.closes = self.past.closes(token.place);
            token.moves =
                AFTER_DAYS.map(|after| TokenMoves::new(&token.closes, &token.fired, after));
        }
        Ok(())
    }

    /// Whether the condition held at the end of that day; `None` where a value was not known that it depends on.
    fn holds(&self, place: usize, day: usize) -> Result<Option<bool>> {
        if self.progress.cancelled() {
            return Err(cancelled());
        }
        let series = self.past.series(place, day);
        let Some(summary) = self.past.summary(place, day, &series) else {
            return Ok(None);
        };
        let mut row = TokenRow::plain(&summary);
        let quick = is_met(&self.quick, &row);
        if quick != Some(true) || self.slow.is_empty() {
            return Ok(quick);
        }
        let needed: Vec<&str> = self.slow.columns().collect();
        if needed.iter().any(|column| is_by_patterns(column))
            && self.pattern_days.fetch_add(1, Ordering::Relaxed) >= PATTERN_DAYS_MAX
        {
            let detail = format!(
                "`condition`: patterns are detected on at most {PATTERN_DAYS_MAX} token-days; choose one token, fewer `days`, or more \
                conditions."
            );
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let figures = of_candles(
            self.snapshot,
            &summary.token_address,
            &needed,
            &series,
            summary.is_stale(),
        )?;
        row.figures = Some(&figures);
        Ok(is_met(&self.slow, &row))
    }
}

impl Rehearsal {
    /// The price moves after the triggers, and the triggers, as text tables: each with header and rows.
    pub fn tables(&self) -> [RehearsalTable; 2] {
        let outcome = |outcome: &RehearsedOutcome| {
            let [rose, any_rose] = [outcome.rose, outcome.any_rose].map(format::share);
            let [mean, any_mean] =
                [outcome.mean_change, outcome.any_mean_change].map(format::change);
            let after = format::plural(outcome.days as u64, "day", "days");
            let interval = interval_text(outcome.difference_low, outcome.difference_high)
                .unwrap_or_else(|| format::MISSING.to_owned());
            vec![
                after,
                format::count(outcome.count as u64),
                format::count(outcome.trigger_days),
                rose,
                any_rose,
                interval,
                outcome
                    .verdict
                    .map_or(format::MISSING, rises_text)
                    .to_owned(),
                mean,
                any_mean,
            ]
        };
        let firing = |firing: &RehearsedFiring| {
            let token = firing
                .symbol
                .clone()
                .unwrap_or_else(|| firing.token_address.short());
            let after = [
                firing.change_after_1d,
                firing.change_after_7d,
                firing.change_after_30d,
            ]
            .map(format::change);
            [
                vec![firing.date.to_string(), token, format::price(firing.price)],
                after.to_vec(),
            ]
            .concat()
        };
        let outcomes = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.count > 0)
            .map(outcome)
            .collect();
        [
            (
                &[
                    "after",
                    "triggers",
                    "days",
                    "rose",
                    "any day",
                    "95% points",
                    "rises",
                    "mean",
                    "any day",
                ],
                outcomes,
            ),
            (
                &[
                    "fired",
                    "token",
                    "price",
                    "1 day after",
                    "7 days",
                    "30 days",
                ],
                self.firings.iter().map(firing).collect(),
            ),
        ]
    }
}

/// Whether prices rose more often after triggers than after any day, for the table.
fn rises_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::BeatsBaseRate => "more",
        Verdict::BelowBaseRate => "less",
        Verdict::NoEdge => "no edge",
        Verdict::TooFew => "too few",
    }
}

/// The header and the rows.
pub type RehearsalTable = (&'static [&'static str], Vec<Vec<String>>);

impl RehearsalQuery {
    pub fn of_last_year(alert: AlertBody) -> Self {
        Self {
            alert,
            days: DAYS_DEFAULT,
        }
    }

    fn summed_up(
        &self,
        snapshot: &Snapshot,
        past: &PastMarket<'_>,
        tokens: &[RehearsedToken],
        known_days: usize,
        as_of_unknown: Vec<&'static str>,
    ) -> Rehearsal {
        let (days, sum) = (past.days(), |of: fn(&RehearsedToken) -> usize| {
            tokens.iter().map(of).sum::<usize>() as u64
        });
        let fired = sum(|token| token.fired.len());
        let mut latest: Vec<(usize, &RehearsedToken)> = tokens
            .iter()
            .flat_map(|token| token.fired.iter().map(move |day| (*day, token)))
            .collect();
        latest.sort_by_key(|(day, token)| (std::cmp::Reverse(*day), token.place));
        latest.truncate(FIRINGS_MAX);
        let firing = |(day, token): (usize, &RehearsedToken)| {
            let row = &snapshot.dataset.tokens()[token.place].row;
            let after = AFTER_DAYS.map(|after| change_after(&token.closes, day, after));
            RehearsedFiring {
                date: days[day],
                token_address: row.token_address,
                symbol: row.symbol.clone(),
                price: token.closes.get(day).copied().flatten(),
                change_after_1d: after[0],
                change_after_7d: after[1],
                change_after_30d: after[2],
            }
        };
        let moves = |nth: usize| {
            tokens
                .iter()
                .map(|token| &token.moves[nth])
                .collect::<Vec<&TokenMoves>>()
        };
        let moves = AFTER_DAYS
            .iter()
            .enumerate()
            .map(|(nth, after)| (*after, moves(nth)));
        Rehearsal {
            token_address: self.alert.token_address,
            condition: self.alert.condition.clone(),
            from: days.first().copied(),
            to: days.last().copied(),
            days: days.len() as u64,
            tokens: tokens.len() as u64,
            known_days: known_days as u64,
            held_days: sum(|token| token.held),
            unknown_days: sum(|token| token.unknown),
            fired,
            fired_tokens: tokens
                .iter()
                .filter(|token| !token.fired.is_empty())
                .count() as u64,
            fired_a_week: (known_days > 0).then(|| fired as f64 * 7.0 / known_days as f64),
            outcomes: outcomes(moves),
            firings: latest.into_iter().map(firing).collect(),
            as_of_unknown,
        }
    }
}

/// The tables without history that the conditions use.
fn of_today(conditions: &Filter, snapshot: &Snapshot) -> Vec<&'static str> {
    let own = own_columns(&snapshot.dataset);
    let of_today = OF_TODAY
        .iter()
        .copied()
        .chain(own.iter().map(|column| (column.name, "tokens")));
    let named =
        of_today.filter(|(column, table)| conditions.names(column) && snapshot.dataset.has(table));
    named
        .map(|(_, table)| table)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}
