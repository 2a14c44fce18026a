//! Sensitivity of the track record to its lookback, on the real data: it detects patterns in the 500 candles up to each day; the
//! alternative is the whole history up to it. Also: returns after trend words and growth ranks.

use std::path::Path;

use analysis::{
    patterns::{breakouts, market::Model},
    timeframes::{CandleVec, frame},
    track_record::{
        REPLAYED, SEEN, edge,
        returns::{
            RankedToken, ReturnRecord, after_growth, after_trends, growth_records, trend_records,
        },
    },
};
use load::{Dataset, loader::load};
use model::{address::Address, candles::Interval, progress::NoProgress};

/// Sampling stride in candles.
const EVERY: usize = 8;

pub(super) fn report() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real");
    let Ok(dataset) = load(&folder, &NoProgress) else {
        println!("record: no dataset in {}", folder.display());
        return;
    };
    words(&dataset);
    let model = Model::built_in();
    let (mut candles, mut days, mut told, mut same, mut alike) = (0, 0, 0, 0, 0);
    for (_, sound) in daily(&dataset) {
        let all = sound.as_candles();
        // Up to there both windows cover the same candles.
        for at in (all.len().saturating_sub(REPLAYED).max(SEEN)..all.len()).step_by(EVERY) {
            let names = |from: usize| -> Vec<_> {
                let mut found: Vec<_> = breakouts(&all.part(from..at + 1), model)
                    .into_iter()
                    .map(|it| it.name.word())
                    .collect();
                found.sort_unstable();
                found
            };
            let (near, whole) = (names(at + 1 - SEEN), names(0));
            candles += 1;
            if near.is_empty() && whole.is_empty() {
                continue;
            }
            days += 1;
            alike += usize::from(near == whole);
            told += near.len();
            same += near.iter().filter(|name| whole.contains(name)).count();
        }
    }
    println!(
        "record: {candles} candles with more than {SEEN} up to them, every {EVERY}th of each token's last {REPLAYED}"
    );
    println!(
        "a pattern breaks out on {days}; the same names from the whole history on {alike}; of {told} names told, {same} are there too"
    );
}

/// Valid daily candles of each token that has any.
fn daily(dataset: &Dataset) -> impl Iterator<Item = (Address, CandleVec)> + '_ {
    dataset.tokens().iter().filter_map(|token| {
        let address = token.row.token_address;
        let series = dataset.candles().of(&address);
        let series = series.series();
        Some((
            address,
            CandleVec::sound(&frame(&series, Interval::DAY)?.as_candles()),
        ))
    })
}

fn words(dataset: &Dataset) {
    let daily: Vec<(Address, CandleVec)> = daily(dataset).collect();
    let trends: Vec<_> = daily
        .iter()
        .flat_map(|(_, candles)| after_trends(&candles.as_candles()))
        .collect();
    // Like the answer: holder counts of tokens without candles also determine the last week.
    let none = CandleVec::default();
    let counted = dataset.tokens().iter().map(|token| {
        let address = token.row.token_address;
        let days = daily
            .iter()
            .find(|(token, _)| *token == address)
            .map_or(&none, |(_, days)| days);
        RankedToken {
            counts: dataset.holder_counts_of(&address),
            days: days.as_candles(),
        }
    });
    let held: Vec<RankedToken> = counted.filter(|held| !held.counts.is_empty()).collect();
    println!(
        "record: {} tokens with daily candles, {} with counts of holders",
        daily.len(),
        held.len()
    );
    println!(
        "| word | times | mean % | median % | rose | any entry: mean % | rose | points | std errors |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for record in trend_records(&trends)
        .iter()
        .chain(&growth_records(&after_growth(&held)))
    {
        let ReturnRecord {
            word,
            count,
            mean_return,
            median_return,
            rose,
            random_mean_return,
            random_rose,
        } = record;
        let [mean, median, any] = [mean_return, median_return, random_mean_return]
            .map(|percent| percent.unwrap_or(f64::NAN));
        let [rose, any_rose] = [rose, random_rose].map(|fraction| fraction.unwrap_or(f64::NAN));
        let (points, errors) = edge(Some(rose), Some(any_rose), *count)
            .map_or((0.0, 0.0), |edge| (edge.points, edge.errors));
        println!(
            "| {word} | {count} | {mean:.2} | {median:.2} | {rose:.3} | {any:.2} | {any_rose:.3} | {points:+.1} | {errors:+.1} |"
        );
    }
}
