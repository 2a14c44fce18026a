//! The point-in-time metrics of every token at the end of each of several days, from the rows known then: the same as in a dataset cut at that
//! day, without cutting it hundreds of times. Rows without a time, such as pools, are not known.

use super::{
    TokenSummary,
    clock::{Clocks, SeriesEnd, reached},
    latest_series, mark_age, mark_stale,
    rows::{GivenFigures, TokenRows},
    series_end,
};
use crate::social::recent;
use model::{
    candles::{Candles, ChartCandles, Interval, latest_close},
    data::Data,
    rows::PostFigures,
    time::{DAY_MS, Day, Time},
    token::Token,
};

/// A token's candles by interval, the finest first.
pub type Series<'a> = Vec<(Interval, Candles<'a>)>;

/// Every token's candles.
#[derive(Debug)]
pub struct AllCandles<'a> {
    dataset: &'a dyn Data,
    held: Vec<ChartCandles<'a>>,
}

/// The market at the end of each day.
#[derive(Debug)]
pub struct PastMarket<'a> {
    dataset: &'a dyn Data,
    tokens: Vec<PastToken<'a>>,
    days: Vec<Day>,
    /// For each day: the clocks, the newest known time, and that of a post.
    clocks: Vec<Clocks>,
    newest: Vec<Option<Time>>,
    newest_posts: Vec<Option<Time>>,
}

/// The values of a token that are the same on each day, and its candles of all days.
#[derive(Debug)]
struct PastToken<'a> {
    rows: TokenRows<'a>,
    given: GivenFigures,
    series: Series<'a>,
    /// Source of the candles of each interval.
    sources: Vec<Option<String>>,
    /// Newest first.
    posts: Vec<PostFigures>,
}

impl<'a> AllCandles<'a> {
    pub fn new(dataset: &'a dyn Data) -> Self {
        Self {
            dataset,
            held: dataset
                .tokens()
                .iter()
                .map(|token| dataset.candles_of(&token.row.token_address))
                .collect(),
        }
    }
}

impl<'a> PastMarket<'a> {
    /// The last `days` whole days that candles reach, fewer where they begin later. `go_on` is called with (done, total) and cancels by
    /// returning false.
    pub fn new(
        all: &'a AllCandles<'_>,
        days: usize,
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<Self> {
        let dataset = all.dataset;
        let tokens: Vec<PastToken<'a>> = dataset
            .tokens()
            .iter()
            .zip(&all.held)
            .map(|(token, candles)| PastToken::new(dataset, token, candles))
            .collect();
        let days = whole_days(tokens.iter().filter_map(|token| span(&token.series)), days);
        let (mut clocks, mut newest) = (
            Vec::with_capacity(days.len()),
            Vec::with_capacity(days.len()),
        );
        for (i, day) in days.iter().enumerate() {
            if !go_on(i, days.len()) {
                return None;
            }
            let end = end_of(*day);
            let ends: Vec<_> = tokens.iter().map(|token| token.series_end(end)).collect();
            let created = tokens
                .iter()
                .filter_map(|token| token.rows.created_at.filter(|at| *at < end));
            let reached = Clocks::new(ends.into_iter().flatten());
            newest.push(created.max().max(reached.all()));
            clocks.push(reached);
        }
        let newest_post = |day: &Day| {
            let newest =
                |token: &PastToken<'_>| Some(token.posts(end_of(*day)).next()?.published_at);
            tokens.iter().filter_map(newest).max()
        };
        Some(Self {
            dataset,
            newest_posts: days.iter().map(newest_post).collect(),
            tokens,
            days,
            clocks,
            newest,
        })
    }

    /// The days, oldest first.
    pub fn days(&self) -> &[Day] {
        &self.days
    }

    /// The candles that had ended with day `i` of the token at index `place` of the dataset's tokens.
    pub fn series(&self, place: usize, i: usize) -> Series<'_> {
        self.tokens.get(place).map_or_else(Vec::new, |token| {
            token.known(end_of(self.days[i])).collect()
        })
    }

    /// Its key figures at the end of day `i`, from these candles of it.
    pub fn summary(
        &self,
        place: usize,
        i: usize,
        series: &[(Interval, Candles<'_>)],
    ) -> Option<TokenSummary> {
        let (token, past) = (self.dataset.tokens().get(place)?, self.tokens.get(place)?);
        let (day, end) = (self.days[i], end_of(self.days[i]));
        let rows = TokenRows {
            given: past.given.before(end),
            series,
            latest_close: latest_close(series),
            counts: past.rows.counts.until(day),
            created_at: past.rows.created_at.filter(|at| *at < end),
            ..past.rows
        };
        let mut summary = TokenSummary {
            own: self.dataset.own_cells(place),
            ..rows.summary(token)
        };
        let source = summary
            .last_candle
            .and_then(|last| past.source(last.interval));
        let lag = series_end(&summary, source).and_then(|end| self.clocks[i].lag(end));
        mark_stale(&mut summary, lag);
        mark_age(&mut summary, self.newest[i]);
        (summary.mentions, summary.engagement_7d) = recent(past.posts(end), self.newest_posts[i]);
        Some(summary)
    }

    /// The token's last close of each day; none where no candle ended on it.
    pub fn closes(&self, place: usize) -> Vec<Option<f64>> {
        let of = |day: &Day| {
            let end = end_of(*day).0;
            let ended = self
                .tokens
                .get(place)?
                .series
                .iter()
                .map(|(interval, candles)| {
                    let until = |end: i64| {
                        candles
                            .timestamp
                            .partition_point(|start| start.saturating_add(interval.0) <= end)
                    };
                    (*interval, candles.part(until(end - DAY_MS)..until(end)))
                });
            latest_close(&ended.collect::<Vec<_>>()).map(|(_, close)| close)
        };
        self.days.iter().map(of).collect()
    }
}

impl<'a> PastToken<'a> {
    fn new(dataset: &'a dyn Data, token: &Token, candles: &'a ChartCandles<'_>) -> Self {
        let series = candles.series();
        let source =
            |interval: &Interval| dataset.candle_source(&token.row.token_address, *interval);
        Self {
            // Pools and holders have no time.
            rows: TokenRows {
                volume: None,
                liquidity: None,
                held: 0,
                ..TokenRows::without_candles(dataset, token)
            },
            given: GivenFigures::of(token),
            sources: series
                .iter()
                .map(|(interval, _)| source(interval))
                .collect(),
            series,
            posts: dataset
                .posts_of(&token.row.token_address)
                .figures()
                .collect(),
        }
    }

    /// The posts that were published by then; one that was deleted later still counts.
    fn posts(&self, end: Time) -> impl Iterator<Item = PostFigures> {
        let later = self.posts.partition_point(|post| post.published_at >= end);
        self.posts.iter().skip(later).map(move |post| PostFigures {
            gone_at: post.gone_at.filter(|at| *at < end),
            ..*post
        })
    }

    /// The candles that had ended by then.
    fn known(&self, end: Time) -> impl Iterator<Item = (Interval, Candles<'a>)> {
        self.series.iter().filter_map(move |(interval, candles)| {
            let count = candles
                .timestamp
                .partition_point(|start| start.saturating_add(interval.0) <= end.0);
            (count > 0).then(|| (*interval, candles.part(0..count)))
        })
    }

    fn series_end(&self, end: Time) -> Option<SeriesEnd<'_>> {
        let known: Vec<_> = self.known(end).collect();
        let (interval, candles) = latest_series(&known)?;
        Some((
            Time(*candles.timestamp.last()?),
            interval,
            self.source(interval),
        ))
    }

    fn source(&self, interval: Interval) -> Option<&str> {
        let place = self.series.iter().position(|(of, _)| *of == interval)?;
        self.sources.get(place)?.as_deref()
    }
}

/// The first moment after the day.
fn end_of(day: Day) -> Time {
    Time(day.start().0 + DAY_MS)
}

/// When a token's first candle ends, and its last.
fn span(series: &[(Interval, Candles<'_>)]) -> Option<(Time, Time)> {
    let spans = series.iter().filter_map(|(interval, candles)| {
        let end = |start: &i64| Time(start.saturating_add(interval.0));
        Some((
            end(candles.timestamp.first()?),
            end(candles.timestamp.last()?),
        ))
    });
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The last `most` days that are over where the candles of the tokens end, as staleness has it, none before the end of the first.
fn whole_days(spans: impl Iterator<Item = (Time, Time)>, most: usize) -> Vec<Day> {
    let (firsts, lasts): (Vec<Time>, Vec<Time>) = spans.unzip();
    let (Some(first), Some(last)) = (firsts.into_iter().min(), reached(lasts)) else {
        return Vec::new();
    };
    // A day is over at its end: what ends at midnight is of the day before.
    let (first, last) = (Time(first.0 - 1).day().0, last.day().0 - 1);
    let most = i32::try_from(most).unwrap_or(i32::MAX);
    (first.max(last.saturating_sub(most).saturating_add(1))..=last)
        .map(Day)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{market::Market, timeframes::tests::level};
    use load::sample;

    #[test]
    fn a_day_is_whole_once_its_last_candle_has_ended() {
        let hour = |hours: &[i64]| level(hours.iter().map(|hour| (hour * 3_600_000, 1.0)), 1.0);
        for (hours, most, expected) in [
            (&[0_i64, 23][..], 9, &[0][..]),
            (&[0, 22], 9, &[]),
            (&[0, 24, 50], 9, &[0, 1]),
            (&[30, 100], 9, &[1, 2, 3]),
            (&[30, 100], 2, &[2, 3]),
            (&[], 9, &[]),
        ] {
            let candles = hour(hours);
            let days = whole_days(
                span(&[(Interval::HOUR, candles.as_candles())]).into_iter(),
                most,
            );
            assert_eq!(
                days.iter().map(|day| day.0).collect::<Vec<_>>(),
                expected,
                "{hours:?}"
            );
        }
        // One token of many that is ahead does not move the days of all.
        let day = |day: i64| Time(day * DAY_MS);
        let days = whole_days(
            (0..9).map(|_| (day(1), day(4))).chain([(day(1), day(400))]),
            9,
        );
        assert_eq!(days, [Day(0), Day(1), Day(2), Day(3)]);
    }

    /// Two exchanges, gaps, a token whose candles stop, counts, deployments, and figures with a date, without one, and of later.
    const TABLES: &[(&str, &str)] = &[
        (
            "tokens",
            "token_address,symbol,name,chain,price,price_as_of,market_cap,total_supply,holders,stats_as_of
             0x01,A,A,eth,2,2026-01-05T10:00:00Z,7,10,353636,2026-01-03
             0x02,B,B,eth,2,,,10,80,2026-01-08
             0x03,C,C,eth,,,,10,,2026-01-02
             0x04,D,D,eth,,,,10,9,",
        ),
        ("contracts", "address,chain,created_at\n0x01,eth,2026-01-04T09:00:00Z\n0x03,eth,2025-12-01"),
        ("holder_counts", "token_address,date,holders\n0x01,2026-01-01,5\n0x01,2026-01-09,7\n0x03,2026-01-02,10\n0x03,2026-01-09,20"),
        ("pools", "address,dex_id,chain,token0,token1,liquidity,volume24h\n0xa,x,eth,0x4,0x2,100,7"),
        (
            "posts",
            "token_address,post_id,published_at,engagement,dropped,gone_at
             0x01,a,2026-01-01,5,,\n0x01,b,2026-01-02T23:59:59Z,,,\n0x01,c,2026-01-09,7,bot,\n0x02,d,2026-01-03,1,,\n0x02,e,2026-01-08T12:00:00Z,2,,
             0x02,f,2026-01-02,3,,2026-01-06",
        ),
    ];

    #[test]
    fn a_day_of_the_past_is_what_a_dataset_cut_there_says() {
        let mut candles =
            "token_address,timestamp,open,high,low,close,volume,interval\n".to_owned();
        for day in 1..=10 {
            for token in 1..=3_i64 {
                // The second token's candles stop, the third has none on one day.
                if (token == 2 && day > 4) || (token == 3 && day == 6) {
                    continue;
                }
                let close = (day * 7 + token * 3) % 11 + 1;
                candles.push_str(&format!(
                    "0x0{token},2026-01-{day:02},{close},{close},{close},{close},{day},1d\n"
                ));
            }
            for hour in [0, 7, 22, 23] {
                candles.push_str(&format!(
                    "0x01,2026-01-{day:02}T{hour:02}:00:00Z,{hour}.5,30,0.1,{hour}.25,2,1h\n"
                ));
            }
        }
        let tables: Vec<(&str, &str)> = TABLES
            .iter()
            .copied()
            .chain([("candles", candles.as_str())])
            .collect();
        let dataset = sample::dataset(&tables);
        let all = AllCandles::new(&dataset);
        let past = PastMarket::new(&all, 30, &mut |_, _| true).expect("not canceled");
        assert_eq!(past.days().len(), 10);
        for (i, day) in past.days().iter().enumerate() {
            let cut = dataset
                .known_at(Time(day.start().0 + DAY_MS - 1))
                .expect("a cut");
            let mut market = Market::new(&cut);
            for (place, expected) in market.tokens.iter_mut().enumerate() {
                let series = past.series(place, i);
                let mut found = past.summary(place, i, &series).expect("a token");
                // How old a count is beside others is told on the dataset of then alone.
                for count in [&mut found.last_count, &mut expected.last_count]
                    .into_iter()
                    .flatten()
                {
                    count.old = false;
                }
                assert_eq!(&found, expected, "{day} {place}");
            }
        }
        assert_eq!(
            past.closes(0)[0],
            Some(23.25),
            "of two that end together, the one that starts later"
        );
        assert_eq!(
            past.closes(1)[3..6]
                .iter()
                .map(Option::is_some)
                .collect::<Vec<_>>(),
            [true, false, false]
        );
        assert!(PastMarket::new(&all, 30, &mut |done, _| done < 3).is_none());
    }
}
