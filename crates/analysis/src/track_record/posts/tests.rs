//! Tests: planted effects, boundaries, and what later rows may change.

use std::collections::BTreeSet;

use super::*;

const HOUR: Horizon = HORIZONS[0];
const DAY: Horizon = HORIZONS[1];
const WEEK: Horizon = HORIZONS[2];
const DAYS: usize = 800;

/// Closes on consecutive slots from 0.
fn closes(prices: Vec<f64>) -> Closes {
    Closes {
        first: 0,
        close: prices,
    }
}

fn normal(state: &mut u64) -> f64 {
    let mut uniform = || {
        *state += 1;
        (mixed(*state) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let radius = (-2.0 * uniform().max(f64::MIN_POSITIVE).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform()).cos()
}

/// Daily returns of some tokens, with a common part; `momentum` of a day's return continues on the next.
fn returns(seed: u64, tokens: usize, momentum: f64) -> Vec<Vec<f64>> {
    let mut state = seed << 32;
    let mut shocks = || -> Vec<f64> { (0..DAYS).map(|_| normal(&mut state)).collect() };
    let common = shocks();
    let token = |own: Vec<f64>| {
        let mut last = 0.0;
        let shock = own
            .iter()
            .zip(&common)
            .map(|(own, common)| 0.03 * own + 0.02 * common);
        let next = shock.map(|shock| {
            last = momentum * last + shock;
            last
        });
        next.collect()
    };
    (0..tokens).map(|_| token(shocks())).collect()
}

fn prices(returns: &[Vec<f64>]) -> Vec<Closes> {
    let walk = |returns: &Vec<f64>| {
        let prices = returns.iter().scan(100.0, |price, change| {
            *price *= f64::exp(*change);
            Some(*price)
        });
        closes(prices.collect())
    };
    returns.iter().map(walk).collect()
}

/// Posts of the author 0 at noon of each day.
fn posts(days: &[(i64, usize)]) -> Vec<Mention> {
    let post = |&(day, token): &(i64, usize)| Mention {
        author: 0,
        token,
        time: Time(day * DAY_MS + DAY_MS / 2),
    };
    days.iter().map(post).collect()
}

fn named(posts: &[Mention]) -> impl Fn(i64, usize) -> bool + use<> {
    let day = |post: &Mention| (i64::from(post.time.day().0), post.token);
    let days: BTreeSet<(i64, usize)> = posts.iter().map(day).collect();
    move |day, token| days.contains(&(day, token))
}

/// The records at one day and a week, with their verdicts.
fn judged(tokens: &[Closes], posts: &[Mention]) -> Vec<PostsRecord> {
    let (named, authors) = (named(posts), ["farcaster:anna".to_owned()]);
    let mut found: Vec<PostsRecord> = [DAY, WEEK]
        .into_iter()
        .flat_map(|horizon| {
            let found = records(
                horizon,
                (tokens, &named),
                (&authors, posts),
                &Progress::default(),
            );
            found.expect("not canceled")
        })
        .collect();
    set_verdicts(&mut found);
    found
}

/// Adds a return to the candle after each entry: a post on day d enters at the close of d + 1.
fn plant(returns: &mut [Vec<f64>], days: &[(i64, usize)], by: f64) {
    for &(day, token) in days {
        returns[token][day as usize + 2] += by;
    }
}

#[test]
fn a_planted_effect_is_found_on_many_days_and_not_on_two() {
    let many: Vec<(i64, usize)> = (0..40)
        .map(|nth| (400 + 9 * nth, nth as usize % 5))
        .collect();
    let two: Vec<(i64, usize)> = (0..40)
        .map(|nth| (500 + 90 * (nth / 20), nth as usize % 20))
        .collect();
    for (days, by, expected) in [
        (&many, 0.03, PostsVerdict::Better),
        (&many, -0.03, PostsVerdict::Worse),
        (&many, 0.0, PostsVerdict::NoDifference),
        (&two, 0.03, PostsVerdict::TooFew),
    ] {
        let mut market = returns(7, 50, 0.0);
        plant(&mut market, days, by);
        let found = &judged(&prices(&market), &posts(days))[0];
        assert_eq!((found.verdict, found.events), (expected, 40), "{found:?}");
        // What is planted is 100·(e^by − 1) percent, within two standard errors of 0.6.
        let excess = found.mean_excess.expect("events");
        assert!((excess - 100.0 * by).abs() < 1.5, "{found:?}");
        let outside = found
            .placebo
            .map(|[low, high]| excess < low || high < excess);
        assert_eq!(
            outside,
            (expected != PostsVerdict::TooFew).then_some(by != 0.0),
            "{found:?}"
        );
    }
}

#[test]
fn posts_that_follow_rises_in_a_market_with_momentum_show_no_difference() {
    let mut differ = 0;
    for seed in 0..100 {
        let market = returns(1_000 + seed, 30, 0.2);
        // Every tenth day on which one of five tokens rose by more than 3%, from the second year on.
        let rose = (400..DAYS as i64 - 10)
            .flat_map(|day| (0..5).map(move |token| (day, token)))
            .filter(|&(day, token)| market[token][day as usize] > 0.03);
        let days: Vec<(i64, usize)> = rose.step_by(10).collect();
        let found = judged(&prices(&market), &posts(&days));
        assert!(found[0].clusters > 30, "{found:?}");
        // The market without momentum of its own rises less.
        differ += usize::from(
            found
                .iter()
                .any(|row| row.verdict != PostsVerdict::NoDifference),
        );
    }
    assert!(differ <= 5, "{differ} of 100 seeds");
}

#[test]
fn what_comes_later_changes_no_earlier_event() {
    let days: Vec<(i64, usize)> = (0..60)
        .map(|nth| (380 + 6 * nth, nth as usize % 3))
        .collect();
    let market = returns(3, 30, 0.1);
    let events = |market: &[Vec<f64>], days: &[(i64, usize)], horizon: Horizon, until: i64| {
        let (tokens, posts) = (prices(market), posts(days));
        let named = named(&posts);
        let mut market = Market::new(horizon, &tokens, &named);
        let events = posts.iter().filter_map(|post| market.event(post));
        let before = events.filter(|event| event.slot + horizon.ahead < until);
        before.collect::<Vec<_>>()
    };
    for horizon in [DAY, WEEK] {
        let until = 600;
        let whole = events(&market, &days, horizon, until);
        assert!(whole.len() > 30);
        let mut later = market.clone();
        for token in &mut later {
            token[until as usize..]
                .iter_mut()
                .for_each(|change| *change += 0.5);
        }
        let mut more = days.clone();
        more.retain(|(day, _)| *day < until || day % 4 == 0);
        more.extend((until..700).map(|day| (day, 7)));
        assert_eq!(events(&later, &days, horizon, until), whole);
        assert_eq!(events(&market, &more, horizon, until), whole);
        // The same change one candle earlier counts.
        for token in &mut later {
            token[until as usize - 8..]
                .iter_mut()
                .for_each(|change| *change += 0.5);
        }
        assert_ne!(events(&later, &days, horizon, until), whole);
    }
}

#[test]
fn the_entry_is_the_close_of_the_first_candle_that_begins_after_the_post() {
    // Each hour doubles the price from hour 100 on.
    let price = |hour: i32| 2.0_f64.powi((hour - 100).max(0));
    let tokens = [closes((0..150).map(price).collect())];
    let named = |_, _| false;
    let mut market = Market::new(HOUR, &tokens, &named);
    market.excesses.insert(0, vec![Some([1.0, 0.0]); 150]);
    for (time, slot) in [(HOUR_MS, 2), (HOUR_MS - 1, 1), (HOUR_MS + 1, 2)] {
        let post = Mention {
            author: 0,
            token: 0,
            time: Time(98 * HOUR_MS + time),
        };
        let event = market.event(&post).expect("an event");
        assert_eq!(event.slot, 98 + slot);
        assert!((event.percent - if slot == 2 { 100.0 } else { 0.0 }).abs() < 1e-9);
    }
}

#[test]
fn a_token_whose_candles_end_is_counted_and_one_that_waits_is_not() {
    for (length, post, ended) in [
        (500, 498, 1),
        (500, 490, 0),
        (800, 797, 0),
        (800, 799, 0),
        (0, 600, 0),
    ] {
        let mut tokens = prices(&returns(5, 2, 0.0));
        tokens[0].close.truncate(length);
        let found = &judged(&tokens, &posts(&[(post, 0)]))[0];
        assert_eq!(found.ended, ended, "{length} {post}");
    }
}

#[test]
fn each_limit_withholds_the_word_and_one_more_gives_it() {
    for (clusters, unnamed, candles, expected) in [
        (10, 20, 90, PostsVerdict::Better),
        (9, 20, 90, PostsVerdict::TooFew),
        (10, 19, 90, PostsVerdict::TooFew),
        (10, 20, 89, PostsVerdict::TooFew),
    ] {
        // The start of the first week of entries, before which this many returns are known.
        let first = 7 * 20;
        let days: Vec<(i64, usize)> = (0..clusters).map(|nth| (first + 8 * nth, 0)).collect();
        let mut market = returns(11, unnamed + 1, 0.0);
        plant(&mut market, &days, 0.3);
        let mut tokens = prices(&market);
        // A return needs the close before, the entry and the exit.
        let from = first as usize - candles - 2;
        tokens[0].close[..from].fill(f64::NAN);
        let days = if candles < 90 { &days[..1] } else { &days[..] };
        let found = &judged(&tokens, &posts(days))[0];
        assert_eq!(
            found.verdict, expected,
            "{clusters} {unnamed} {candles} {found:?}"
        );
        assert_eq!(found.events, if candles < 90 { 0 } else { clusters as u64 });
        assert_eq!(found.low.is_some(), clusters == 10 && candles == 90);
        assert_eq!(
            found.excess_market.is_some(),
            clusters == 10 && unnamed == 20 && candles == 90
        );
    }
}

#[test]
fn one_author_posts_on_a_token_once_a_day() {
    let twice: Vec<Mention> = posts(&[(500, 0), (500, 1), (501, 0)])
        .into_iter()
        .flat_map(|post| {
            let later = Time(post.time.0 + HOUR_MS);
            [
                Mention {
                    time: later,
                    ..post
                },
                post,
            ]
        })
        .collect();
    let found = judged(&prices(&returns(9, 30, 0.0)), &twice);
    assert_eq!((found[0].events, found[0].clusters), (3, 2));
    assert_eq!(found[1].clusters, 1, "both days are of one week");
}

#[test]
fn holm_is_stricter_for_the_smallest() {
    for (p_values, largest) in [
        (vec![], None),
        (vec![0.05], Some(0.05)),
        (vec![0.06], None),
        (vec![0.05, 0.025], Some(0.05)),
        (vec![0.04, 0.026], None),
        (vec![0.04, 0.01, 0.02], Some(0.04)),
        (vec![0.04, 0.01, 0.026], Some(0.01)),
    ] {
        assert_eq!(holm(p_values.clone()), largest, "{p_values:?}");
    }
}

#[test]
fn a_canceled_query_ends() {
    let progress = Progress::default();
    progress.cancel();
    let (tokens, named) = (prices(&returns(9, 2, 0.0)), |_, _| false);
    let (authors, posts) = (["a".to_owned()], posts(&[(500, 0)]));
    assert!(records(DAY, (&tokens, &named), (&authors, &posts), &progress).is_err());
}
