//! From a file's times to those at which its candles begin: times of ends, times some seconds off, and the point of the moment of asking,
//! which many services add behind the last whole candle.

use super::super::{
    evidence::when::{length_of_ends, start_of_end},
    sheet::{ROWS, RawTable},
};
use model::{
    interval::Interval,
    time::{DAY_MS, HOUR_MS, MINUTE_MS},
};

/// Added column that marks the rows of whole candles.
pub(crate) const WHOLE: &str = "whole";
/// Why the other rows are left out.
pub(crate) const PART: &str = "lie between full candles, like the price at the time of the request";
pub(crate) const ENDS: &str =
    "its times are the ends of the candles, so each candle is moved to its start";
pub(crate) const TOO_FEW: &str = "has too few candles to determine their length; fetch more days";

/// At most one in this number of rows may be off the grid, and one row of any file.
const ONE_OF: usize = 20;

/// How near to midnight the times of days and weeks may be that mean midnight, as 23:58 does of closes.
const NEAR_MIDNIGHT: i64 = 15 * MINUTE_MS;

/// How times become the open times of candles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CandleTimes {
    /// The candles' length, if their times are their ends.
    pub ended: Option<i64>,
    grid: Option<Grid>,
    /// Whether some sample rows are off the grid.
    is_off: bool,
}

/// The times that candles of one length have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    step: i64,
    phase: i64,
    /// Whether most times are exactly on it.
    exact: bool,
    /// How far from it a time may be that is meant to be on it.
    near: i64,
    /// The furthest that one of the sample is.
    furthest: i64,
    /// A row nearer than this to a whole candle is of a part of one; 0 if there are too few to tell.
    least: i64,
}

/// What is known of a table's rows up to one of them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowsSeen {
    rows: usize,
    parts: usize,
    /// The time of the last whole candle.
    whole: Option<i64>,
}

/// Whether the table may have rows behind its sample that must be judged. Typed times are not read for that.
pub(crate) fn has_more(sheet: &RawTable) -> bool {
    sheet.first.len() >= ROWS && !sheet.floats.contains(&true)
}

/// The most frequent of sorted numbers, and its count.
fn most_frequent(mut numbers: Vec<i64>) -> (i64, usize) {
    numbers.sort_unstable();
    numbers
        .chunk_by(|a, b| a == b)
        .max_by_key(|same| same.len())
        .map_or((0, 0), |same| (same[0], same.len()))
}

impl Grid {
    /// The grid of nearly all of these times, for candles of a `length` or as far apart as most times are.
    fn of(times: &[Option<i64>], length: Option<Interval>) -> Option<Self> {
        let mut known: Vec<i64> = times.iter().flatten().copied().collect();
        known.sort_unstable();
        known.dedup();
        let step = length.unwrap_or_else(|| Interval::between(known.clone())).0;
        if known.len() < 2 || step < MINUTE_MS {
            return None;
        }
        let (phase, count) = most_frequent(known.iter().map(|ms| ms.rem_euclid(step)).collect());
        // Minutes from midnight are noise; a second before it is the end of a candle, which is told elsewhere.
        let over = phase.rem_euclid(DAY_MS);
        let near_midnight = (1..NEAR_MIDNIGHT).contains(&over)
            || (DAY_MS - NEAR_MIDNIGHT + 1..DAY_MS - 1_000).contains(&over);
        let exact = count > 1 && count * 2 >= known.len() && !(step % DAY_MS == 0 && near_midnight);
        // Times that are all some seconds off are meant to be on full hours or days.
        let unit = if step > DAY_MS {
            DAY_MS
        } else {
            step.min(HOUR_MS)
        };
        let rounded = |ms: &i64| ((ms + unit / 2).div_euclid(unit) * unit).rem_euclid(step);
        let phase = if exact {
            phase
        } else {
            most_frequent(known.iter().map(rounded).collect()).0
        };
        let near = (step / if exact { 20 } else { 4 }).min(unit / 2);
        let grid = Self {
            step,
            phase,
            exact,
            near,
            furthest: 0,
            least: 0,
        };
        let on: Vec<i64> = known
            .iter()
            .copied()
            .filter(|ms| grid.off(*ms) <= near)
            .collect();
        let mut places: Vec<i64> = on.iter().map(|ms| grid.place(*ms)).collect();
        places.dedup();
        if places.len() < 2 || known.len() - places.len() > (known.len() / ONE_OF).max(1) {
            return None;
        }
        // Rare trades may leave a few candles that look like a coarser series.
        let tells = places.len()
            >= if step >= DAY_MS {
                2
            } else if step >= HOUR_MS {
                4
            } else {
                10
            };
        // The last step may be that to the moment of asking.
        let mut steps: Vec<i64> = known[..known.len() - 1]
            .windows(2)
            .map(|two| two[1] - two[0])
            .collect();
        steps.sort_unstable();
        let shortest = steps
            .get(steps.len() / 50)
            .copied()
            .unwrap_or(step)
            .min(step);
        let least = if exact {
            step - near
        } else {
            shortest - step / 20
        };
        let furthest = on.iter().map(|ms| grid.off(*ms)).max().unwrap_or_default();
        Some(Self {
            least: if tells { least } else { 0 },
            furthest,
            ..grid
        })
    }

    /// How far a time is from the grid.
    fn off(&self, ms: i64) -> i64 {
        let over = (ms - self.phase).rem_euclid(self.step);
        over.min(self.step - over)
    }

    /// The place on the grid of a time near it; other times stay.
    fn place(&self, ms: i64) -> i64 {
        let place =
            (ms - self.phase + self.step / 2).div_euclid(self.step) * self.step + self.phase;
        if (ms - place).abs() <= self.near {
            place
        } else {
            ms
        }
    }

    /// Whether nearly all of these times lie shortly before midnight, as those of closes of days and weeks do.
    fn are_closes(&self, times: &[Option<i64>]) -> bool {
        let before = |ms: i64| self.place(ms) - ms;
        let on: Vec<i64> = times
            .iter()
            .flatten()
            .copied()
            .filter(|ms| self.off(*ms) <= self.near)
            .collect();
        let closes = on
            .iter()
            .filter(|ms| (1..NEAR_MIDNIGHT).contains(&before(**ms)))
            .count();
        self.step % DAY_MS == 0 && self.phase % DAY_MS == 0 && closes * 10 >= on.len() * 9
    }

    /// Whether a row is of a part of a candle, given the time of a whole one.
    fn is_part(&self, ms: i64, whole: i64) -> bool {
        let apart = (ms - whole).abs();
        // The day on which summer time begins has 23 hours.
        let is_clock_change =
            self.step >= DAY_MS && apart % HOUR_MS == 0 && apart >= self.step - HOUR_MS;
        (1..self.least).contains(&apart) && !is_clock_change && !(self.exact && self.off(ms) == 0)
    }
}

impl CandleTimes {
    /// Judges the times of sample rows: whether they are `ends`, and on which grid. Where the file says the candles' `length`, that counts.
    pub(crate) fn of(times: &[Option<i64>], ends: bool, length: Option<Interval>) -> Self {
        let grid = Grid::of(times, length);
        let found = Self {
            grid,
            ..Self::default()
        };
        let kept = found.whole(times, &mut RowsSeen::default());
        let is_off = kept.contains(&false) || grid.is_some_and(|grid| grid.furthest > 0);
        // Ends that are on no grid are taken as they are, to the minute.
        let minute = |ms: i64| if ends { start_of_end(ms, 0) } else { ms };
        let whole = times
            .iter()
            .zip(kept)
            .filter_map(|(ms, kept)| ms.filter(|_| kept).map(|ms| minute(found.start(ms))))
            .collect();
        let ended = length
            .map(|length| length.0)
            .filter(|_| ends)
            .or_else(|| length_of_ends(whole, ends));
        let ended = ended.or_else(|| {
            grid.filter(|grid| grid.are_closes(times))
                .map(|grid| grid.step)
        });
        Self {
            ended,
            is_off,
            ..found
        }
    }

    /// Judges only whether they are ends: rows of several lengths are on no one grid.
    pub(crate) fn of_lengths(times: &[Option<i64>], ends: bool) -> Self {
        Self {
            ended: length_of_ends(times.iter().flatten().copied().collect(), ends),
            ..Self::default()
        }
    }

    /// The open time of the candle with this time.
    pub(crate) fn start(&self, ms: i64) -> i64 {
        let ms = self.grid.map_or(ms, |grid| grid.place(ms));
        self.ended.map_or(ms, |step| start_of_end(ms, step))
    }

    /// Which of these rows, which follow those seen, are whole candles. If many are not, the file is of another kind, and all are kept.
    pub(crate) fn whole(&self, times: &[Option<i64>], seen: &mut RowsSeen) -> Vec<bool> {
        let Some(grid) = self.grid else {
            return vec![true; times.len()];
        };
        let is_on = |ms: &i64| grid.off(*ms) <= grid.near;
        let one = |(row, ms): (usize, &Option<i64>)| {
            seen.rows += 1;
            let Some(ms) = *ms else { return true };
            // The first row of a file that begins with its newest has its neighbor behind it.
            let beside = seen
                .whole
                .or_else(|| times[row + 1..].iter().flatten().copied().find(is_on));
            if seen.parts <= seen.rows / ONE_OF
                && beside.is_some_and(|whole| grid.is_part(ms, whole))
            {
                seen.parts += 1;
                return false;
            }
            if is_on(&ms) {
                seen.whole = Some(ms);
            }
            true
        };
        times.iter().enumerate().map(one).collect()
    }

    /// Whether rows must be moved or left out, or, if there are more than the sample, might have to be.
    pub(crate) fn marks(&self, has_more: bool) -> bool {
        self.grid.is_some() && (self.is_off || has_more)
    }

    /// The note on times that are moved to the grid.
    pub(crate) fn assumed(&self) -> Option<String> {
        let Grid { step, furthest, .. } = self.grid.filter(|grid| grid.furthest > 0)?;
        let off = (furthest + 999) / 1_000;
        let seconds = if off == 1 {
            "1 second".to_owned()
        } else {
            format!("{off} seconds")
        };
        Some(format!(
            "assumed: its candles are {} apart; times up to {seconds} off are aligned",
            Interval(step)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_709_251_200_000;

    /// The open times of the rows that are kept.
    fn kept(times: &[i64], ends: bool) -> Vec<i64> {
        let times: Vec<Option<i64>> = times.iter().map(|ms| Some(START + ms)).collect();
        let judged = CandleTimes::of(&times, ends, None);
        let whole = judged.whole(&times, &mut RowsSeen::default());
        times
            .iter()
            .zip(whole)
            .filter_map(|(ms, whole)| ms.filter(|_| whole).map(|ms| judged.start(ms) - START))
            .collect()
    }

    fn every(step: i64, count: i64) -> Vec<i64> {
        (0..count).map(|nth| nth * step).collect()
    }

    #[test]
    fn the_point_of_now_is_left_out_and_no_whole_candle() {
        for (what, times, more) in [
            ("days", every(DAY_MS, 30), Some(13 * HOUR_MS + 1_234)),
            ("three days", every(DAY_MS, 3), Some(HOUR_MS / 2)),
            ("hours", every(HOUR_MS, 6), Some(20 * MINUTE_MS)),
            ("weeks", every(7 * DAY_MS, 8), Some(2 * DAY_MS)),
            ("five minutes", every(5 * MINUTE_MS, 30), Some(70_000)),
            (
                "hours some seconds off",
                (0..30)
                    .map(|nth| nth * HOUR_MS + nth * 7_919 % 60_000)
                    .collect(),
                Some(50 * MINUTE_MS),
            ),
            ("days", every(DAY_MS, 30), None),
            (
                "days with gaps",
                [0, 1, 2, 5, 6, 9].map(|day| day * DAY_MS).to_vec(),
                None,
            ),
            (
                "weekdays",
                (0..60)
                    .filter(|day| day % 7 < 5)
                    .map(|day| day * DAY_MS)
                    .collect(),
                None,
            ),
            ("four hours", every(4 * HOUR_MS, 60), None),
            (
                "four hours from 2:00",
                every(4 * HOUR_MS, 60)
                    .into_iter()
                    .map(|ms| ms + 2 * HOUR_MS)
                    .collect(),
                None,
            ),
            (
                "few minutes with trades",
                [0, 5, 10, 12].map(|minute| minute * MINUTE_MS).to_vec(),
                None,
            ),
            (
                "days, then hours",
                [
                    every(DAY_MS, 20),
                    (0..20).map(|hour| 19 * DAY_MS + hour * HOUR_MS).collect(),
                ]
                .concat(),
                None,
            ),
            (
                "summer time",
                [
                    every(DAY_MS, 100),
                    (100..103).map(|day| day * DAY_MS - HOUR_MS).collect(),
                ]
                .concat(),
                None,
            ),
        ] {
            let last = times[times.len() - 1];
            let all: Vec<i64> = times
                .iter()
                .copied()
                .chain(more.map(|more| last + more))
                .collect();
            assert_eq!(kept(&all, false).len(), times.len(), "{what}");
            let latest_first: Vec<i64> = all.into_iter().rev().collect();
            assert_eq!(
                kept(&latest_first, false).len(),
                times.len(),
                "{what}, the latest first"
            );
        }
    }

    #[test]
    fn seconds_off_the_grid_are_moved_to_it_and_ends_to_where_candles_begin() {
        let off = |step: i64, by: i64| -> Vec<i64> {
            (0..40).map(|nth| nth * step + (nth * 7_919) % by).collect()
        };
        for (step, by) in [
            (HOUR_MS, 1_000),
            (HOUR_MS, 180_000),
            (4 * HOUR_MS, 60_000),
            (DAY_MS, 600_000),
            (7 * DAY_MS, 60_000),
        ] {
            let step_back: Vec<i64> = every(step, 40).into_iter().map(|ms| ms - step).collect();
            // 2024-03-01 is a Friday, and weeks have any first day.
            assert_eq!(kept(&off(step, by), false), every(step, 40), "{step} {by}");
            assert_eq!(kept(&off(step, by), true), step_back, "{step} {by}, ends");
            assert_eq!(
                kept(&every(step, 40), true),
                step_back,
                "{step}, exact ends"
            );
        }
        for (what, step, phase, expected) in [
            ("closes of days at 23:58", DAY_MS, -2 * MINUTE_MS, -DAY_MS),
            (
                "closes of weeks at 23:50",
                7 * DAY_MS,
                -10 * MINUTE_MS,
                -7 * DAY_MS,
            ),
            ("days at 00:02", DAY_MS, 2 * MINUTE_MS, 0),
            ("days at 23:45", DAY_MS, -15 * MINUTE_MS, -15 * MINUTE_MS),
            ("days of New York", DAY_MS, -7 * HOUR_MS, -7 * HOUR_MS),
            ("days of India", DAY_MS, -330 * MINUTE_MS, -330 * MINUTE_MS),
            ("days at 16:00", DAY_MS, 16 * HOUR_MS, 16 * HOUR_MS),
            ("four hours", 4 * HOUR_MS, -2 * MINUTE_MS, -2 * MINUTE_MS),
        ] {
            let moved =
                |by: i64| -> Vec<i64> { every(step, 40).into_iter().map(|ms| ms + by).collect() };
            assert_eq!(kept(&moved(phase), false), moved(expected), "{what}");
        }
        let late: Vec<i64> = (1..40)
            .map(|nth| nth * DAY_MS - 30_000 - nth * 7_919 % 60_000)
            .collect();
        assert_eq!(
            kept(&late, false),
            every(DAY_MS, 39),
            "closes some seconds before midnight"
        );
        let uneven: Vec<i64> = (1..40).map(|nth| nth * nth * 61_000).collect();
        assert_eq!(kept(&uneven, false), uneven, "no candles of one length");
    }
}
