//! Decides between day-first and month-first dates, and tells dates whose day and month a spreadsheet exchanged.

use chrono::{DateTime, Datelike};

use super::{AmbiguousDate, TimeStyle, day_and_clock};
use model::time::DAY_MS;

/// The date with the year first, with its day and month exchanged; `None` if that is no date.
pub(super) fn exchanged(text: &str) -> Option<String> {
    let (day, rest) = text.split_at_checked(10)?;
    let (year, month) = day.split_once('-')?;
    let (month, day) = month
        .split_once('-')
        .filter(|(month, day)| year.len() == 4 && month.len() == 2 && day.len() == 2)?;
    (day.parse::<u32>().ok()? <= 12).then(|| format!("{year}-{day}-{month}{rest}"))
}

/// Whether all dates with the year first could be exchanged ones, none of the others can be read in the other order, and their times are
/// then at least as even and as sorted.
pub(super) fn are_exchanged(cells: &[&str], plain: TimeStyle, other: TimeStyle) -> bool {
    let (dates, texts): (Vec<&str>, Vec<&str>) = cells
        .iter()
        .copied()
        .partition(|cell| TimeStyle::YearFirst.ms(cell).is_some());
    let opposite = if plain == TimeStyle::DayFirst {
        TimeStyle::MonthFirst
    } else {
        TimeStyle::DayFirst
    };
    let are_unread = texts.iter().all(|text| opposite.ms(text).is_none());
    if dates.is_empty()
        || texts.is_empty()
        || !are_unread
        || !dates.iter().all(|date| exchanged(date.trim()).is_some())
    {
        return false;
    }
    let times =
        |style: TimeStyle| -> Vec<i64> { cells.iter().filter_map(|cell| style.ms(cell)).collect() };
    let fit = |times: &[i64]| {
        let up = times.windows(2).filter(|two| two[1] >= two[0]).count();
        let sorted = up.max(times.len().saturating_sub(up + 1)) as f64 / times.len() as f64;
        evenness(times.to_vec()) + sorted
    };
    let (plain, other) = (times(plain), times(other));
    plain != other && fit(&other) >= fit(&plain)
}

/// Decides between month-first and day-first, where both parse: by the more even steps between times.
pub(super) fn day_or_month_first(cells: &[&str]) -> Result<Option<TimeStyle>, AmbiguousDate> {
    let times =
        |when: TimeStyle| -> Vec<i64> { cells.iter().filter_map(|cell| when.ms(cell)).collect() };
    let (months, days) = (times(TimeStyle::MonthFirst), times(TimeStyle::DayFirst));
    if months == days {
        return Ok(Some(TimeStyle::MonthFirst));
    }
    // All on the first day of a month, or on the first days of one month: only the user knows.
    let firsts = |times: &[i64]| {
        times.len() > 2
            && times
                .iter()
                .all(|ms| DateTime::from_timestamp_millis(*ms).is_some_and(|time| time.day() == 1))
    };
    if firsts(&months) != firsts(&days) && !has_points(cells) {
        return Err(AmbiguousDate);
    }
    let (by_month, by_day) = (evenness(months.clone()), evenness(days.clone()));
    let (over_months, over_days) = (gap(&months), gap(&days));
    match (by_month - by_day).abs() {
        // A few days of an hourly series: one reading leaves gaps of weeks, the other none.
        _ if by_month.min(by_day) > 0.5 && over_months > 7 * DAY_MS && over_days <= 2 * DAY_MS => {
            Ok(Some(TimeStyle::DayFirst))
        }
        _ if by_month.min(by_day) > 0.5 && over_days > 7 * DAY_MS && over_months <= 2 * DAY_MS => {
            Ok(Some(TimeStyle::MonthFirst))
        }
        // Dates written with points have the day first.
        apart if apart < 0.2 && has_points(cells) => Ok(Some(TimeStyle::DayFirst)),
        apart if apart < 0.2 => Err(AmbiguousDate),
        _ if by_month > by_day => Ok(Some(TimeStyle::MonthFirst)),
        _ => Ok(Some(TimeStyle::DayFirst)),
    }
}

/// The share of steps between sorted, distinct times that equal the most frequent step; a tenth of it if that step is longer than a week.
pub(super) fn evenness(mut times: Vec<i64>) -> f64 {
    times.sort_unstable();
    times.dedup();
    if times.len() < 3 {
        return 0.0;
    }
    let mut steps: Vec<i64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    steps.sort_unstable();
    let most = steps
        .chunk_by(|a, b| a == b)
        .max_by_key(|same| same.len())
        .map_or((0, 0), |same| (same[0], same.len()));
    let share = most.1 as f64 / steps.len() as f64;
    if most.0 > 7 * DAY_MS {
        share / 10.0
    } else {
        share
    }
}

/// Whether the dates are written with points.
fn has_points(cells: &[&str]) -> bool {
    cells
        .iter()
        .all(|cell| day_and_clock(cell.trim()).0.matches('.').count() == 2)
}

/// The longest step between the times, in milliseconds.
fn gap(times: &[i64]) -> i64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    times
        .windows(2)
        .map(|two| two[1] - two[0])
        .max()
        .unwrap_or(0)
}
