//! Backtest of an alert: price moves after the days on which it would have fired, compared with all days of the same tokens.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    growth::percent,
    numeric::median,
    track_record::errors::{Entries, Evidence, Verdict, set_verdicts},
};

/// Days after a trigger at which the price is compared.
pub const AFTER_DAYS: [usize; 3] = [1, 7, 30];

/// Days on which an alert set on the first day fires: its condition is true, and was false before. Days on which the condition is unknown
/// change nothing.
pub fn firings(states: impl Iterator<Item = Option<bool>>) -> Vec<usize> {
    let mut held = false;
    let fires = |(i, state): (usize, Option<bool>)| {
        let fired = i > 0 && state == Some(true) && !held;
        held = state.unwrap_or(held);
        fired.then_some(i)
    };
    states.enumerate().filter_map(fires).collect()
}

/// Percent change from the close of day `from` to the close `after` days later; `None` if a close is unknown.
pub fn change_after(closes: &[Option<f64>], from: usize, after: usize) -> Option<f64> {
    let base = closes
        .get(from)
        .copied()
        .flatten()
        .filter(|base| *base > 0.0)?;
    let later = closes.get(from + after).copied().flatten()?;
    Some(percent(base, later)).filter(|change| change.is_finite())
}

/// A token's moves over a number of days: after its triggers; and for all days, their number, the number that rose, and their sum.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenMoves {
    /// Days of the triggers with a known move, and the moves.
    after_firings: Vec<(usize, f64)>,
    days: usize,
    rose: usize,
    sum: f64,
    /// Of spans of days: a day in their middle, and their numbers of days and of rises.
    spans: Vec<(i32, usize, usize)>,
}

/// Spans of the baseline in a number of days over which moves are measured.
const SPANS: usize = 3;

impl TokenMoves {
    /// From the daily closes and the days of the triggers.
    pub fn new(closes: &[Option<f64>], fired: &[usize], after: usize) -> Self {
        let mut moves = Self {
            after_firings: fired
                .iter()
                .filter_map(|day| Some((*day, change_after(closes, *day, after)?)))
                .collect(),
            ..Self::default()
        };
        let width = (after / SPANS).max(1);
        for first in (0..closes.len()).step_by(width) {
            let (mut days, mut rose) = (0, 0);
            let span = first..closes.len().min(first + width);
            for change in span.filter_map(|day| change_after(closes, day, after)) {
                days += 1;
                rose += usize::from(change > 0.0);
                moves.sum += change;
            }
            moves.days += days;
            moves.rose += rose;
            if days > 0 && !moves.after_firings.is_empty() {
                moves.spans.push((index(first + width / 2), days, rose));
            }
        }
        moves
    }

    fn any_rose(&self) -> f64 {
        self.rose as f64 / self.days as f64
    }
}

/// A day's place as a day.
fn index(day: usize) -> i32 {
    i32::try_from(day).unwrap_or(i32::MAX)
}

/// The triggers, compared with all days of their tokens.
fn evidence(after: usize, tokens: &[&TokenMoves]) -> Evidence {
    let mut entries = Entries::default();
    for (number, token) in tokens.iter().enumerate() {
        for (day, change) in &token.after_firings {
            entries.add(
                index(*day),
                number,
                *change > 0.0,
                token.any_rose(),
                after as f64,
            );
        }
        let weight = token.after_firings.len() as f64 / token.days as f64;
        for (day, days, rose) in &token.spans {
            let excess = *rose as f64 - *days as f64 * token.any_rose();
            entries.add_baseline(*day, weight * excess);
        }
    }
    // All tokens were searched, also those on which the alert did not fire.
    entries.evidence(tokens.len())
}

/// Moves a number of days after the triggers. `any_`: the same for all days of the tokens that fired, weighted by their triggers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RehearsedOutcome {
    pub days: usize,
    /// Triggers with a known price that many days later.
    pub count: usize,
    /// Percent; null without triggers.
    pub mean_change: Option<f64>,
    /// Percent.
    pub median_change: Option<f64>,
    /// Fraction that rose.
    pub rose: Option<f64>,
    /// Percent.
    pub any_mean_change: Option<f64>,
    pub any_rose: Option<f64>,
    /// `difference` in standard errors, by the width of its interval. Null if there is no interval.
    pub standard_errors: Option<f64>,
    /// Number of days with triggers. Triggers on one day are one event rather than many.
    pub trigger_days: u64,
    /// Number of tokens with triggers.
    pub trigger_tokens: u64,
    /// `rose` minus `any_rose`, in percentage points.
    pub difference: Option<f64>,
    /// Lower end of the 95% interval of `difference`, clustered by day and by token. Null if there are too few triggers or days.
    pub difference_low: Option<f64>,
    /// Upper end of the interval.
    pub difference_high: Option<f64>,
    /// Two-sided p-value of `difference`, before the correction for the number of periods. Null if there is no interval.
    pub p_value: Option<f64>,
    /// Whether prices rose significantly more often (`beats_base_rate`) or less often (`below_base_rate`) after triggers than after all
    /// days, corrected for the number of periods. Null without triggers.
    pub verdict: Option<Verdict>,
}

/// Sums up the moves of all tokens, for each number of days.
pub fn outcomes<'a>(
    moves: impl IntoIterator<Item = (usize, Vec<&'a TokenMoves>)>,
) -> Vec<RehearsedOutcome> {
    let (mut outcomes, mut evidences): (Vec<RehearsedOutcome>, Vec<Evidence>) = moves
        .into_iter()
        .map(|(days, tokens)| {
            let evidence = evidence(days, &tokens);
            (outcome(days, &tokens, &evidence), evidence)
        })
        .unzip();
    set_verdicts(&mut evidences);
    for (outcome, evidence) in outcomes.iter_mut().zip(evidences) {
        outcome.verdict = evidence.verdict;
    }
    outcomes
}

fn outcome(days: usize, tokens: &[&TokenMoves], evidence: &Evidence) -> RehearsedOutcome {
    let mut changes: Vec<f64> = tokens
        .iter()
        .flat_map(|token| token.after_firings.iter().map(|(_, change)| *change))
        .collect();
    let count = changes.len();
    let mean = |sum: f64| (count > 0).then(|| sum / count as f64);
    let any = |of: fn(&TokenMoves) -> f64| {
        let weighed =
            |token: &TokenMoves| token.after_firings.len() as f64 * of(token) / token.days as f64;
        mean(
            tokens
                .iter()
                .filter(|token| token.days > 0)
                .map(|token| weighed(token))
                .sum(),
        )
    };
    let (rose, any_rose) = (
        mean(changes.iter().filter(|change| **change > 0.0).count() as f64),
        any(|token| token.rose as f64),
    );
    RehearsedOutcome {
        days,
        count,
        mean_change: mean(changes.iter().sum()),
        median_change: (count > 0).then(|| median(&mut changes)),
        rose,
        any_mean_change: any(|token| token.sum),
        any_rose,
        standard_errors: evidence.errors(),
        trigger_days: evidence.days,
        trigger_tokens: evidence.tokens,
        difference: evidence.difference,
        difference_low: evidence.difference_low,
        difference_high: evidence.difference_high,
        p_value: evidence.p_value,
        verdict: evidence.verdict,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(days: usize, tokens: &[&TokenMoves]) -> RehearsedOutcome {
        outcomes([(days, tokens.to_vec())]).remove(0)
    }

    #[test]
    fn an_alert_fires_where_its_condition_comes_to_hold() {
        let states = |text: &str| {
            text.chars()
                .map(|c| match c {
                    'x' => Some(true),
                    '.' => Some(false),
                    _ => None,
                })
                .collect::<Vec<_>>()
        };
        for (days, expected) in [
            ("..xx.x", &[2, 5][..]),
            ("xx.x", &[3]),
            // What is unknown is neither an end nor a beginning.
            (".x?x", &[1]),
            (".??x", &[3]),
            // A token that is new, or whose value comes to be known.
            ("??xx", &[2]),
            ("x??x", &[]),
            ("", &[]),
        ] {
            assert_eq!(firings(states(days).into_iter()), expected, "{days}");
        }
    }

    #[test]
    fn what_came_after_stands_beside_any_day_of_the_same_tokens() {
        let closes = |text: &str| {
            text.split(' ')
                .map(|close| close.parse().ok())
                .collect::<Vec<Option<f64>>>()
        };
        let rises = closes("10 11 - 10 20 10");
        assert_eq!(change_after(&rises, 0, 1).map(f64::round), Some(10.0));
        assert_eq!(
            (
                change_after(&rises, 1, 1),
                change_after(&rises, 2, 1),
                change_after(&rises, 5, 1)
            ),
            (None, None, None)
        );
        // Of its three moves two rose: +10, +100, -50.
        let token = TokenMoves::new(&rises, &[3, 5], 1);
        let still = TokenMoves::new(&closes("5 5 5"), &[], 1);
        let found = after(1, &[&token, &still]);
        assert_eq!(
            (
                found.count,
                found.mean_change,
                found.median_change,
                found.rose
            ),
            (1, Some(100.0), Some(100.0), Some(1.0))
        );
        let near = |value: Option<f64>, expected: f64| {
            value.is_some_and(|value| (value - expected).abs() < 1e-9)
        };
        assert!(
            near(found.any_mean_change, 20.0) && near(found.any_rose, 2.0 / 3.0),
            "{found:?}"
        );
        assert!(near(found.difference, 100.0 / 3.0), "{found:?}");
        assert_eq!(
            (found.trigger_days, found.trigger_tokens, found.verdict),
            (1, 1, Some(Verdict::TooFew))
        );
        let none = after(7, &[]);
        assert_eq!(
            (
                none.count,
                none.mean_change,
                none.rose,
                none.any_rose,
                none.standard_errors
            ),
            (0, None, None, None, None)
        );
    }

    proptest! {
        #[test]
        fn an_alert_that_fires_every_day_is_as_good_as_any_day(closes in proptest::collection::vec(proptest::option::of(0.01_f64..100.0), 0..60)) {
            let every: Vec<usize> = (0..closes.len()).collect();
            let found = after(7, &[&TokenMoves::new(&closes, &every, 7)]);
            let near = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(a == b, |(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()));
            prop_assert!(found.difference.is_none_or(|points| points.abs() < 1e-9), "{:?}", found);
            prop_assert!(near(found.rose, found.any_rose) && near(found.mean_change, found.any_mean_change), "{:?}", found);
        }
    }
}
