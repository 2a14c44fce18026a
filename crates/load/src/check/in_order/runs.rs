//! Steps between consecutive candles, and runs of equal steps: a run of steps other than the interval reveals candles of two lengths in one
//! series, such as days from one download before hours from another.

use serde::{Deserialize, Serialize};

use super::Step;
use model::time::DAY_MS;

/// Maximum number of distinct steps counted per series.
const STEPS_MAX: usize = 64;
/// Maximum share of steps of two intervals that missing trades cause: that of a series in which every other candle is missing. Also assumed
/// for steps that are no multiple of the interval.
const SHARE: f64 = 0.25;
/// Minimum number of steps in a run.
const RUN_MIN: u64 = 5;
/// A run is significant if fewer runs of its length than this are expected by chance.
const BY_CHANCE: f64 = 1e-3;

/// A run: consecutive equal steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StepRun {
    pub steps: u64,
    /// Row and time at the end of its first step.
    pub first: (u64, i64),
}

/// The distinct steps of a series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Steps {
    all: Vec<Step>,
    /// Index of the last step in `all`, and its current run.
    last: Option<(usize, StepRun)>,
}

impl Steps {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Step> {
        self.all.iter()
    }

    /// Counts a step that ends at this row and time.
    pub(super) fn add(&mut self, length: i64, at: (u64, i64)) {
        if let Some((place, run)) = &mut self.last
            && let Some(step) = self
                .all
                .get_mut(*place)
                .filter(|step| step.length == length)
        {
            step.count += 1;
            run.steps += 1;
            if run.steps > step.run.steps {
                step.run = *run;
            }
            return;
        }
        let run = StepRun {
            steps: 1,
            first: at,
        };
        let new = Step {
            length,
            count: 1,
            first: at,
            run,
        };
        if let Some(known) = self.all.iter_mut().find(|known| known.length == length) {
            known.count += 1;
        } else if self.all.len() < STEPS_MAX {
            self.all.push(new);
        } else if let Some(longest) = self
            .all
            .iter_mut()
            .max_by_key(|known| known.length)
            .filter(|known| known.length > length && known.count == 1)
        {
            // Breaches are short steps, so a longer one that occurred only once is evicted.
            *longest = new;
        }
        self.last = self
            .all
            .iter()
            .position(|known| known.length == length)
            .map(|place| (place, run));
    }

    /// Whether all steps are months, which differ in length.
    pub(super) fn are_months(&self) -> bool {
        self.all.len() > 1
            && self.all.iter().all(|step| {
                step.length % DAY_MS == 0 && (28..=31).contains(&(step.length / DAY_MS))
            })
    }

    /// The step other than the interval with the longest run, if that run is too long to be caused by missing trades. `all` is the total
    /// number of steps.
    pub(super) fn other(&self, interval: i64, all: u64) -> Option<&Step> {
        let tells = |step: &&Step| {
            let outside =
                (step.count - step.run.steps) as f64 / (all - step.run.steps).max(1) as f64;
            let chance = all as f64
                * outside
                    .max(share(step.length, interval))
                    .powf(step.run.steps as f64);
            step.run.steps >= RUN_MIN && chance < BY_CHANCE
        };
        self.all
            .iter()
            .filter(|step| step.length != interval)
            .filter(tells)
            .max_by_key(|step| step.run.steps)
    }
}

/// Maximum share of steps of this length, whatever the share of intervals with a candle: steps of `n` intervals are most frequent if one in
/// `n` intervals has a candle.
fn share(length: i64, interval: i64) -> f64 {
    if length <= interval || length % interval != 0 {
        return SHARE;
    }
    let n = (length / interval) as f64;
    (1.0 - 1.0 / n).powf(n - 1.0) / n
}
