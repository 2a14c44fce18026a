//! Tests: clusters, limits and corrections on entries with a known result, and error rates on simulated markets.

use proptest::prelude::*;

use super::*;
use crate::{
    timeframes::CandleVec,
    track_record::{TradeOutcome, TradeSetup, apart, fractions},
};

/// Entries of (day, token, whether it was right), each with a base rate of 1/2, decided within a day.
fn evidence(entries: &[(i32, usize, bool)], tokens: usize) -> Evidence {
    let mut all = Entries::default();
    for &(day, token, is_right) in entries {
        all.add(day, token, is_right, 0.5, 0.5);
    }
    all.evidence(tokens)
}

fn half(evidence: &Evidence) -> Option<f64> {
    Some((evidence.difference_high? - evidence.difference_low?) / 2.0)
}

#[test]
fn independent_entries_have_the_error_of_a_fraction() {
    // Of 400 entries, each on another day and of another token, three in five are right.
    let entries: Vec<_> = (0..400).map(|n| (n, n as usize, n % 5 < 3)).collect();
    let found = evidence(&entries, 400);
    // 1.966 × √(1/4 / 400) of a t distribution with 399 degrees of freedom.
    assert!(
        half(&found).is_some_and(|half| (half - 4.915).abs() < 0.01),
        "{found:?}"
    );
    assert_eq!((found.days, found.tokens), (400, 400));
    assert!(
        found
            .difference
            .is_some_and(|points| (points - 10.0).abs() < 1e-9)
    );
}

#[test]
fn too_few_entries_days_or_tokens_prove_nothing() {
    // All entries are right. Each row misses one limit by one, except those of the last column.
    for (count, days, tokens, tried, verdict) in [
        (20, 10, 3, 9, Verdict::BeatsBaseRate),
        (19, 10, 3, 9, Verdict::TooFew),
        (20, 9, 3, 9, Verdict::TooFew),
        (20, 10, 2, 9, Verdict::TooFew),
        (20, 10, 2, 2, Verdict::BeatsBaseRate),
        (20, 10, 1, 1, Verdict::BeatsBaseRate),
    ] {
        let entries: Vec<_> = (0..count)
            .map(|n| (50 * (n % days), (n % tokens) as usize, true))
            .collect();
        let mut found = evidence(&entries, tried);
        set_verdicts([&mut found]);
        assert_eq!(
            found.verdict,
            Some(verdict),
            "{count} {days} {tokens} of {tried}: {found:?}"
        );
    }
}

#[test]
fn entries_of_one_block_are_one_event() {
    // Twenty days in a row within one trade of a hundred days: no second event shows how much the first one varies.
    let mut entries = Entries::default();
    for day in 0..20 {
        entries.add(day, day as usize, true, 0.5, 100.0);
    }
    assert_eq!(entries.evidence(20).p_value, None);
}

#[test]
fn a_name_must_be_better_than_the_luck_of_all_names_tried() {
    use Verdict::{BeatsBaseRate, BelowBaseRate, NoEdge, TooFew};
    let named = |p_value: Option<f64>, difference: f64, half: f64| Evidence {
        difference: Some(difference),
        difference_low: Some(difference - half),
        difference_high: Some(difference + half),
        p_value,
        ..Evidence::default()
    };
    let of = |p_values: &[f64]| {
        let mut table: Vec<Evidence> = p_values.iter().map(|p| named(Some(*p), 8.0, 5.0)).collect();
        // A name without a p-value is not tried.
        table.push(named(None, 8.0, 12.0));
        set_verdicts(&mut table);
        table
            .iter()
            .filter_map(|name| name.verdict)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&[0.05]), [BeatsBaseRate, TooFew]);
    // +3 to +13 points exclude no edge of 10.
    assert_eq!(of(&[0.05, 0.06]), [TooFew, TooFew, TooFew]);
    assert_eq!(of(&[0.025, 0.06]), [BeatsBaseRate, TooFew, TooFew]);
    // The second p-value is above 5% × 2 / 4; the third carries it, at 5% × 3 / 4.
    assert_eq!(
        of(&[0.012, 0.03, 0.0375, 0.9]),
        [BeatsBaseRate, BeatsBaseRate, BeatsBaseRate, TooFew, TooFew]
    );
    let mut table = [
        named(Some(0.001), -8.0, 5.0),
        named(Some(0.5), 1.0, 8.9),
        named(Some(0.5), 1.0, 9.0),
    ];
    set_verdicts(&mut table);
    let verdicts = table.map(|name| name.verdict);
    assert_eq!(verdicts, [BelowBaseRate, NoEdge, TooFew].map(Some));
    // A label without a direction has no verdict.
    let mut neutral = Evidence::default();
    set_verdicts([&mut neutral]);
    assert_eq!(neutral.verdict, None);
}

proptest! {
    #[test]
    fn entries_of_many_tokens_on_one_day_are_one_event(days in proptest::collection::vec(any::<bool>(), 30..80)) {
        prop_assume!(days.iter().any(|day| *day != days[0]));
        let of = |tokens: usize| {
            let entries: Vec<_> = (0..).zip(&days).flat_map(|(day, is_right)| (0..tokens).map(move |token| (day, token, *is_right))).collect();
            half(&evidence(&entries, tokens))
        };
        let (few, many) = (of(3), of(30));
        prop_assert!(few.zip(many).is_some_and(|(few, many)| many > 0.999 * few), "{:?} {:?}", few, many);
    }

    #[test]
    fn blocks_are_the_mean_over_all_ways_to_cut_the_days(
        mut values in proptest::collection::vec((0..40_i32, -1.0..1.0_f64), 0..60),
        length in 1..12_i32,
    ) {
        values.sort_by_key(|(day, _)| *day);
        let cut = |offset: i32| -> f64 {
            let block = |(day, _): &(i32, f64)| (day + offset).div_euclid(length);
            values.chunk_by(|a, b| block(a) == block(b)).map(|block| block.iter().map(|(_, value)| value).sum::<f64>().powi(2)).sum()
        };
        let expected = (0..length).map(cut).sum::<f64>() / f64::from(length);
        prop_assert!((blocked(values.iter().copied(), f64::from(length)) - expected).abs() < 1e-9);
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().max(f64::MIN_POSITIVE).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Of a t distribution with four degrees of freedom, with a variance of 1: as fat tails as those of daily returns.
    fn shock(&mut self) -> f64 {
        let squares: f64 = (0..4).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 4.0).sqrt() / 2.0_f64.sqrt()
    }
}

/// Random walks with a share of their variance in common.
struct Markets {
    count: usize,
    tokens: usize,
    days: usize,
    common: f64,
    /// The edge planted in the first of the 24 names, in its hit rate.
    edge: f64,
}

/// A way to enter, as of a pattern: at a new high or low of so many days, with target and stop in standard deviations of as many days.
#[derive(Clone, Copy)]
struct Rule {
    days: usize,
    at_high: bool,
    up: bool,
    target: f64,
    stop: f64,
}

fn rules() -> Vec<Rule> {
    let shapes = [
        (5, 1.0, 1.0),
        (10, 1.0, 0.5),
        (20, 1.0, 0.5),
        (20, 2.0, 1.0),
        (40, 1.0, 1.0),
        (40, 1.5, 0.7),
    ];
    let sides = [(true, true), (true, false), (false, true), (false, false)];
    let of_shape = |(days, target, stop)| {
        sides.map(|(at_high, up)| Rule {
            days,
            at_high,
            up,
            target,
            stop,
        })
    };
    shapes.into_iter().flat_map(of_shape).collect()
}

impl Rule {
    /// One entry within each of its spans of days, and only some of them.
    fn entries(self, close: &[f64], share: f64, random: &mut Random) -> Vec<usize> {
        let (mut found, mut next) = (Vec::new(), self.days);
        for at in self.days..close.len() {
            let before = &close[at - self.days..at];
            let is_new = before.iter().all(|other| {
                if self.at_high {
                    *other < close[at]
                } else {
                    *other > close[at]
                }
            });
            if at >= next && is_new {
                next = at + self.days;
                if random.uniform() < share {
                    found.push(at);
                }
            }
        }
        found
    }

    fn setup(self, daily: f64) -> TradeSetup {
        let span = daily * (self.days as f64).sqrt();
        let sign = if self.up { 1.0 } else { -1.0 };
        TradeSetup {
            up: self.up,
            target: (sign * self.target * span).exp(),
            stop: (-sign * self.stop * span).exp(),
        }
    }

    /// The entries of this name in a market.
    fn tried(self, walks: &[(CandleVec, f64)], edge: f64, random: &mut Random) -> Entries {
        let share = if edge > 0.0 { 1.0 } else { random.uniform() };
        let mut decided = Vec::new();
        let mut found: Vec<SimulatedEntry> = Vec::new();
        for (token, (candles, daily)) in walks.iter().enumerate() {
            let anywhere = self.setup(*daily).anywhere(&candles.as_candles(), 0);
            let mean = fractions(&anywhere).0;
            for at in self.entries(&candles.close, share, random) {
                if let Ok(place) = anywhere.binary_search_by_key(&at, |(day, _)| *day) {
                    let outcome = anywhere[place].1;
                    let formed = at - self.days..at;
                    let base = fractions(&apart(&anywhere, &candles.as_candles(), &formed)).0;
                    found.push(SimulatedEntry {
                        token,
                        at,
                        outcome,
                        base,
                    });
                }
            }
            decided.push((anywhere, mean));
        }
        if edge > 0.0 {
            plant(&mut found, edge, random);
        }
        let mut entries = Entries::default();
        for (token, (anywhere, mean)) in decided.iter().enumerate() {
            let of_token = || found.iter().filter(|entry| entry.token == token);
            for SimulatedEntry {
                at, outcome, base, ..
            } in of_token()
            {
                let is_right = outcome.is_target();
                entries.add(*at as i32, token, is_right, *base, outcome.days());
            }
            let weight = of_token().count() as f64 / anywhere.len() as f64;
            for (at, outcome) in anywhere {
                let excess = f64::from(u8::from(outcome.is_target())) - mean;
                entries.add_baseline(*at as i32, weight * excess);
            }
        }
        entries
    }
}

/// Names tried in all markets, those that beat and those that are below their base rate, and the intervals that contain the true edge.
#[derive(Debug, Default)]
struct Tally {
    tried: usize,
    beat: usize,
    below: usize,
    covered: usize,
    /// Of entries that follow the move before them, and of those against it: their number, and their mean difference times it.
    follow: (f64, f64),
    against: (f64, f64),
}

impl Tally {
    fn share(&self, of: fn(&Self) -> usize) -> f64 {
        of(self) as f64 / self.tried as f64
    }
}

impl Markets {
    fn walks(&self, random: &mut Random) -> Vec<(CandleVec, f64)> {
        let common: Vec<f64> = (0..self.days).map(|_| random.shock()).collect();
        let mut walk = || {
            let (daily, mut close) = (0.03 + 0.04 * random.uniform(), 0.0_f64);
            let mut candles = CandleVec::default();
            for (day, shared) in (0..).zip(&common) {
                let open = close;
                close += daily
                    * (self.common.sqrt() * shared + (1.0 - self.common).sqrt() * random.shock());
                let mut wick = || 0.3 * daily * random.normal().abs();
                let (high, low) = (open.max(close) + wick(), open.min(close) - wick());
                candles.timestamp.push(day * DAY_MS);
                candles.open.push(open.exp());
                candles.high.push(high.exp());
                candles.low.push(low.exp());
                candles.close.push(close.exp());
                candles.volume.push(1.0);
            }
            (candles, daily)
        };
        (0..self.tokens).map(|_| walk()).collect()
    }

    /// Tallies of the names without an edge, and of those with one.
    fn tally(&self, seed: u64) -> [Tally; 2] {
        let (mut random, mut tallies) = (Random(seed), [Tally::default(), Tally::default()]);
        for _ in 0..self.count {
            let walks = self.walks(&mut random);
            let edge = |name: usize| if name == 0 { self.edge } else { 0.0 };
            let mut table: Vec<Evidence> = rules()
                .into_iter()
                .enumerate()
                .map(|(name, rule)| {
                    rule.tried(&walks, edge(name), &mut random)
                        .evidence(self.tokens)
                })
                .collect();
            set_verdicts(&mut table);
            for (name, found) in table.iter().enumerate().filter(|it| it.1.p_value.is_some()) {
                let truth = 100.0 * edge(name);
                let tally = &mut tallies[usize::from(truth > 0.0)];
                let is_in = |low: f64, high: f64| low <= truth && truth <= high;
                tally.tried += 1;
                let rule = rules()[name];
                let side = if rule.at_high == rule.up {
                    &mut tally.follow
                } else {
                    &mut tally.against
                };
                side.0 += 1.0;
                side.1 += found.difference.unwrap_or_default();
                tally.beat += usize::from(found.verdict == Some(Verdict::BeatsBaseRate));
                tally.below += usize::from(found.verdict == Some(Verdict::BelowBaseRate));
                tally.covered += usize::from(
                    found
                        .difference_low
                        .zip(found.difference_high)
                        .is_some_and(|(low, high)| is_in(low, high)),
                );
            }
        }
        tallies
    }
}

struct SimulatedEntry {
    token: usize,
    at: usize,
    outcome: TradeOutcome,
    base: f64,
}

/// Leaves out misses until the hit rate exceeds the base rate by the edge, then entries, until about 600 on 300 days are left.
fn plant(found: &mut Vec<SimulatedEntry>, edge: f64, random: &mut Random) {
    let count = found.len() as f64;
    let hits = found.iter().filter(|it| it.outcome.is_target()).count() as f64 / count;
    let wanted = edge + found.iter().map(|it| it.base).sum::<f64>() / count;
    let misses = hits * (1.0 - wanted) / wanted / (1.0 - hits);
    found.retain(|it| it.outcome.is_target() || random.uniform() < misses);
    let mut days: Vec<usize> = found.iter().map(|it| it.at).collect();
    days.sort_unstable();
    days.dedup();
    while days.len() > 300 {
        days.remove((random.uniform() * days.len() as f64) as usize);
    }
    found.retain(|it| days.binary_search(&it.at).is_ok());
    let share = 600.0 / found.len() as f64;
    found.retain(|_| random.uniform() < share);
}

#[test]
fn luck_beats_nothing_and_an_edge_is_found() {
    let luck = |count, tokens, days, common| Markets {
        count,
        tokens,
        days,
        common,
        edge: 0.0,
    };
    // The last markets are as crowded and as short as they get: nearly all entries of a name are a few events.
    for (markets, seed) in [(luck(200, 8, 400, 0.3), 1), (luck(15, 40, 300, 0.7), 2)] {
        let [tally, _] = markets.tally(seed);
        assert!(tally.tried > 10 * markets.count, "{tally:?}");
        assert!(tally.share(|it| it.beat) <= 0.05, "{tally:?}");
        assert!(tally.share(|it| it.below) <= 0.05, "{tally:?}");
        assert!(tally.share(|it| it.covered) >= 0.93, "{tally:?}");
        // Neither side gains by the move that is part of its entry.
        for (count, sum) in [tally.follow, tally.against] {
            assert!((sum / count).abs() < 1.5, "{tally:?}");
        }
    }

    let planted = Markets {
        count: 25,
        tokens: 20,
        days: 1_500,
        common: 0.3,
        edge: 0.1,
    };
    let [others, tally] = planted.tally(3);
    assert_eq!(tally.tried, planted.count);
    assert!(tally.share(|it| it.beat) >= 0.8, "{tally:?}");
    assert!(tally.share(|it| it.covered) >= 0.9, "{tally:?}");
    assert!(others.share(|it| it.beat) <= 0.05, "{others:?}");
}

/// One outcome for all tokens of a day, as in a crash: nine days of ten are right at a base rate of 90%, and none or one in 15 shows another.
#[test]
fn days_that_nearly_all_have_one_outcome_are_no_evidence() {
    for wrong in [0, 1] {
        let mut entries = Entries::default();
        for day in 0..15 {
            for token in 0..20 {
                entries.add(3 * day, token, day >= wrong, 0.9, 1.0);
            }
        }
        let evidence = entries.evidence(20);
        assert!(
            evidence.p_value.is_some_and(|p| p > 0.05),
            "{wrong}: {evidence:?}"
        );
    }
    // The same days are evidence against a base rate of a half.
    let mut entries = Entries::default();
    for day in 0..15 {
        for token in 0..20 {
            entries.add(3 * day, token, true, 0.5, 1.0);
        }
    }
    assert!(entries.evidence(20).p_value.is_some_and(|p| p < 0.01));
}
