//! The clocks for stale candles: the latest times of the candles of each source, and of all candles. There is no other clock than the data.

use std::collections::HashMap;

use model::{
    candles::Interval,
    time::{DAY_MS, Time},
};

/// Candles are stale if they end earlier than those of their source and interval by more than this many of them.
const STALE_CANDLES: i64 = 3;
/// They are also stale if they end earlier than those of all tokens by more than this, or by as many candles if that is longer.
const STALE_MS: i64 = 3 * DAY_MS;
/// A clock is the latest time that one in this number of tokens, and at least two, have reached; a few rows of one token don't move it.
const ONE_OF: usize = 10;
/// Whatever the others do, candles are stale if they end earlier than the newest of all by more than this.
const OLD_MS: i64 = 7 * DAY_MS;

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

/// The last candle of a series: its start, its interval, and its source if known.
pub(super) type SeriesEnd<'a> = (Time, Interval, Option<&'a str>);

/// How far candles reach.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    alike: HashMap<(String, Interval), Time>,
    all: Option<Time>,
    newest: Option<Time>,
}

impl Clocks {
    pub(super) fn new<'a>(ends: impl Iterator<Item = SeriesEnd<'a>>) -> Self {
        let (mut alike, mut all): (HashMap<_, Vec<Time>>, _) = (HashMap::new(), Vec::new());
        for (start, interval, source) in ends {
            alike
                .entry((exchange(source), interval))
                .or_default()
                .push(start);
            all.push(start);
        }
        let alike = alike
            .into_iter()
            .filter_map(|(key, starts)| Some((key, reached(starts)?)))
            .collect();
        Self {
            alike,
            newest: all.iter().max().copied(),
            all: reached(all),
        }
    }

    /// Latest time that at least 10% of the tokens, and at least two, have reached; a few rows of one token don't move it.
    pub(super) fn all(&self) -> Option<Time> {
        self.all
    }

    /// The lag of a series, if it is stale.
    pub(super) fn lag(&self, (start, interval, source): SeriesEnd<'_>) -> Option<Lag> {
        let candles = interval.0.saturating_mul(STALE_CANDLES);
        let behind = |clock: Option<Time>, most: i64| {
            clock
                .map(|clock| clock.0.saturating_sub(start.0))
                .filter(|by| *by > most)
        };
        let alike = self.alike.get(&(exchange(source), interval)).copied();
        let alike = behind(alike, candles).map(|by| Lag {
            by,
            clock: Clock::Alike,
        });
        let all = || {
            behind(self.all, candles.max(STALE_MS))
                .or_else(|| behind(self.newest, candles.max(OLD_MS)))
        };
        alike.or_else(|| {
            all().map(|by| Lag {
                by,
                clock: Clock::All,
            })
        })
    }
}

/// The exchange of a source that also names the pair: `bybit-perp` of `bybit-perp:UNIUSDT`.
fn exchange(source: Option<&str>) -> String {
    source
        .and_then(|source| source.split(':').next())
        .unwrap_or_default()
        .to_owned()
}

/// How far most reach: the time that one of ten is at or behind.
pub(super) fn reached(mut starts: Vec<Time>) -> Option<Time> {
    starts.sort_unstable_by_key(|start| std::cmp::Reverse(*start));
    let count = starts.len();
    // Of two tokens either may be the one that is behind.
    let nth = count.div_ceil(ONE_OF).max(2.min(count.saturating_sub(1)));
    starts.get(nth.saturating_sub(1)).copied()
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
        let clocks = |others: i64, ahead: i64| {
            Clocks::new((0..others).map(|_| hours(100)).chain([hours(ahead)]))
        };
        let all = |by: i64| {
            Some(Lag {
                by: by * HOUR_MS,
                clock: Clock::All,
            })
        };
        assert_eq!(
            (
                clocks(9, 268).lag(hours(100)),
                clocks(2, 268).lag(hours(100))
            ),
            (None, None),
            "a week ahead"
        );
        assert_eq!(
            clocks(9, 269).lag(hours(100)),
            all(169),
            "what is older than a week is old"
        );
        assert_eq!(
            clocks(1, 104).lag(hours(100)),
            Some(Lag {
                by: 4 * HOUR_MS,
                clock: Clock::Alike
            }),
            "of two tokens one is enough"
        );
        assert_eq!(
            (clocks(9, 268).all(), clocks(2, 268).all()),
            (Some(Time(100 * HOUR_MS)), Some(Time(100 * HOUR_MS))),
            "nor moves an age"
        );
        let days = (Time(268 * HOUR_MS), Interval::DAY, None);
        let mixed = Clocks::new((0..12).map(|_| hours(100)).chain([days]));
        assert_eq!((mixed.lag(hours(100)), mixed.lag(days)), (None, None));
    }

    #[test]
    fn candles_are_judged_by_their_own_interval_and_source() {
        let daily = |hour: i64, source| (Time(hour * HOUR_MS), Interval::DAY, Some(source));
        let ends = [
            hours(100),
            hours(100),
            hours(97),
            hours(96),
            daily(150, "a:X"),
            daily(150, "a:W"),
            daily(78, "a:Y"),
            daily(77, "a:Z"),
        ];
        let ends = [ends.as_slice(), &[daily(77, "b:X")]].concat();
        let clocks = Clocks::new(ends.iter().copied());
        let found: Vec<_> = ends
            .iter()
            .map(|end| clocks.lag(*end).map(|lag| (lag.by / HOUR_MS, lag.clock)))
            .collect();
        let (alike, all) = (|by| Some((by, Clock::Alike)), |by| Some((by, Clock::All)));
        assert_eq!(
            found,
            [
                None,
                None,
                None,
                alike(4),
                None,
                None,
                None,
                alike(73),
                all(73)
            ]
        );
    }
}
