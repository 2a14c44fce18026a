//! The clocks that tell whether candles are stale: how far the candles of each source reach, and those of all. The data are the only clock
//! there is.

use std::collections::HashMap;

use model::{
    candles::Interval,
    time::{DAY_MS, Time},
};

/// Candles are stale if they end earlier than those of their source and interval by more than this many of them.
const STALE_CANDLES: i64 = 3;
/// They are also stale if they end earlier than those of all tokens by more than this, or by as many candles if that is longer.
const STALE_MS: i64 = 3 * DAY_MS;
/// A clock is the time that one token of so many has reached, so that a few rows added for one of many do not move it.
const ONE_OF: usize = 10;

/// Lag of candles behind a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// In milliseconds.
    pub by: i64,
    pub clock: Clock,
}

/// What candles are behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The candles of the same interval and source.
    Alike,
    /// The candles of all tokens.
    All,
}

impl Clock {
    /// As in `3d behind the other 1h candles`.
    pub fn words(self, interval: &str) -> String {
        match self {
            Self::Alike => format!("the other {interval} candles"),
            Self::All => "the candles of the dataset".to_owned(),
        }
    }
}

/// The last candle of a series: its start, its interval and its source, if the data say one.
pub(super) type SeriesEnd<'a> = (Time, Interval, Option<&'a str>);

/// How far candles reach.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    alike: HashMap<(String, Interval), Time>,
    all: Option<Time>,
}

impl Clocks {
    pub(super) fn new<'a>(ends: impl Iterator<Item = SeriesEnd<'a>>) -> Self {
        let (mut alike, mut all): (HashMap<_, Vec<Time>>, _) = (HashMap::new(), Vec::new());
        for (start, interval, source) in ends {
            alike.entry((exchange(source), interval)).or_default().push(start);
            all.push(start);
        }
        let alike = alike.into_iter().filter_map(|(key, starts)| Some((key, reached(starts)?))).collect();
        Self { alike, all: reached(all) }
    }

    /// The lag of a series, if it is stale.
    pub(super) fn lag(&self, (start, interval, source): SeriesEnd<'_>) -> Option<Lag> {
        let candles = interval.0.saturating_mul(STALE_CANDLES);
        let behind = |clock: Option<Time>, most: i64| clock.map(|clock| clock.0.saturating_sub(start.0)).filter(|by| *by > most);
        let alike = self.alike.get(&(exchange(source), interval)).copied();
        let alike = behind(alike, candles).map(|by| Lag { by, clock: Clock::Alike });
        alike.or_else(|| behind(self.all, candles.max(STALE_MS)).map(|by| Lag { by, clock: Clock::All }))
    }
}

/// The exchange of a source that also names the pair: `bybit-perp` of `bybit-perp:UNIUSDT`.
fn exchange(source: Option<&str>) -> String {
    source.and_then(|source| source.split(':').next()).unwrap_or_default().to_owned()
}

fn reached(mut starts: Vec<Time>) -> Option<Time> {
    starts.sort_unstable_by_key(|start| std::cmp::Reverse(*start));
    starts.get(starts.len().div_ceil(ONE_OF).saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::HOUR_MS;

    fn hours(hour: i64) -> SeriesEnd<'static> {
        (Time(hour * HOUR_MS), Interval::HOUR, None)
    }

    #[test]
    fn a_few_new_candles_of_one_token_make_no_other_stale() {
        let clocks = |others: i64, ahead: i64| Clocks::new((0..others).map(|_| hours(100)).chain([hours(ahead)]));
        assert_eq!(clocks(10, 900).lag(hours(100)), None, "one of eleven");
        assert_eq!(clocks(9, 900).lag(hours(100)), Some(Lag { by: 800 * HOUR_MS, clock: Clock::Alike }), "one of ten");
        let days = (Time(900 * HOUR_MS), Interval::DAY, None);
        let mixed = Clocks::new((0..12).map(|_| hours(100)).chain([days]));
        assert_eq!((mixed.lag(hours(100)), mixed.lag(days)), (None, None));
    }

    #[test]
    fn candles_are_judged_by_their_own_interval_and_source() {
        let daily = |hour: i64, source| (Time(hour * HOUR_MS), Interval::DAY, Some(source));
        let ends = [hours(100), hours(97), hours(96), daily(150, "a:X"), daily(78, "a:Y"), daily(77, "a:Z"), daily(77, "b:X")];
        let clocks = Clocks::new(ends.into_iter());
        let found = ends.map(|end| clocks.lag(end).map(|lag| (lag.by / HOUR_MS, lag.clock)));
        let (alike, all) = (|by| Some((by, Clock::Alike)), |by| Some((by, Clock::All)));
        assert_eq!(found, [None, None, alike(4), None, None, alike(73), all(73)]);
    }
}
