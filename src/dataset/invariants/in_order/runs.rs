//! The steps from one candle to the next, and runs of equal ones: a run of another step than the interval tells where candles of two lengths
//! stand in one series, as the days of one download before the hours of another.

use serde::{Deserialize, Serialize};

use super::Step;
use crate::dataset::time::DAY_MS;

/// Different steps that are counted of a token and interval.
const STEPS_MAX: usize = 64;
/// The share of steps of two intervals at most, where some intervals have no candle for want of trades: where every second one has none.
const SHARE: f64 = 0.25;
/// Steps that a run must have at least.
const RUN_MIN: u64 = 5;
/// How many runs as long as one chance may make before the run tells nothing.
const BY_CHANCE: f64 = 1e-3;

/// Equal steps one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StepRun {
    pub steps: u64,
    /// Row and time after the first of them.
    pub first: (u64, i64),
}

/// The different steps of a token's candles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Steps {
    all: Vec<Step>,
    /// The place of the last step, and the run that it is in.
    last: Option<(usize, StepRun)>,
}

impl Steps {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Step> {
        self.all.iter()
    }

    /// Counts a step that ends at a row and time.
    pub(super) fn add(&mut self, length: i64, at: (u64, i64)) {
        if let Some((place, run)) = &mut self.last
            && let Some(step) = self.all.get_mut(*place).filter(|step| step.length == length)
        {
            step.count += 1;
            run.steps += 1;
            if run.steps > step.run.steps {
                step.run = *run;
            }
            return;
        }
        let run = StepRun { steps: 1, first: at };
        let new = Step { length, count: 1, first: at, run };
        if let Some(known) = self.all.iter_mut().find(|known| known.length == length) {
            known.count += 1;
        } else if self.all.len() < STEPS_MAX {
            self.all.push(new);
        } else if let Some(longest) =
            self.all.iter_mut().max_by_key(|known| known.length).filter(|known| known.length > length && known.count == 1)
        {
            // A breach is a short step, so long ones make room.
            *longest = new;
        }
        self.last = self.all.iter().position(|known| known.length == length).map(|place| (place, run));
    }

    /// Whether all steps are of months, which are not all as long.
    pub(super) fn are_months(&self) -> bool {
        self.all.len() > 1 && self.all.iter().all(|step| step.length % DAY_MS == 0 && (28..=31).contains(&(step.length / DAY_MS)))
    }

    /// The step that is not the interval and has a run of its own, longer than candles without trades make by chance; `all` are the steps
    /// there are.
    pub(super) fn other(&self, interval: i64, all: u64) -> Option<&Step> {
        let tells = |step: &&Step| {
            let outside = (step.count - step.run.steps) as f64 / (all - step.run.steps).max(1) as f64;
            let chance = all as f64 * outside.max(share(step.length, interval)).powf(step.run.steps as f64);
            step.run.steps >= RUN_MIN && chance < BY_CHANCE
        };
        self.all.iter().filter(|step| step.length != interval).filter(tells).max_by_key(|step| step.run.steps)
    }
}

/// The share of steps of that length at most, whatever share of the intervals has a candle: with a candle in every `n`th interval, most are of
/// `n` intervals.
fn share(length: i64, interval: i64) -> f64 {
    if length <= interval || length % interval != 0 {
        return SHARE;
    }
    let n = (length / interval) as f64;
    (1.0 - 1.0 / n).powf(n - 1.0) / n
}
