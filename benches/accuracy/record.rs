//! Sensitivity of the track record to its lookback, on the real data: it detects patterns in the 500 candles up to each day; the
//! alternative is the whole history up to it. Also: the whole table of names with their errors, see `cargo bench --bench accuracy -- record`.

use std::path::Path;

use analysis::{
    patterns::{breakouts, market::Model},
    timeframes::{CandleVec, frame},
    track_record::{
        REPLAYED, Replay, SEEN,
        errors::{Evidence, Verdict, interval_text, set_verdicts},
        records, replay,
        returns::{
            RankedToken, SignalReturn, after_growth, after_trends, growth_records, trend_records,
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
    table(&dataset);
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

/// The table of all names, as the track record of all tokens. Unlike it, coins on several chains are not merged, as this data has none.
fn table(dataset: &Dataset) {
    let daily: Vec<(Address, CandleVec)> = daily(dataset).collect();
    let replays: Vec<Replay> = daily
        .iter()
        .filter_map(|(_, candles)| {
            replay(&candles.as_candles(), Model::built_in(), &mut |_, _| true)
        })
        .collect();
    let trends: Vec<Vec<SignalReturn>> = daily
        .iter()
        .map(|(_, candles)| after_trends(&candles.as_candles()))
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
    let ranks = after_growth(&held);
    let ranked = || ranks.iter().filter(|ranks| !ranks.is_empty());
    let mut patterns = records(&replays.iter().collect::<Vec<_>>());
    let mut trends = trend_records(&trends.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut growth = growth_records(&ranked().map(Vec::as_slice).collect::<Vec<_>>());
    let words = trends.iter_mut().chain(&mut growth);
    let of_patterns = patterns.iter_mut().map(|record| &mut record.evidence);
    set_verdicts(of_patterns.chain(words.map(|record| &mut record.evidence)));
    println!(
        "| name | times | days | tokens | right | base rate | points | 95% interval | p | independent error | verdict |\n\
        |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    );
    for record in &patterns {
        let word = record.name.word();
        let rates = [record.target, record.random_target];
        print(word, record.count, rates, &record.evidence);
    }
    for record in trends.iter().chain(&growth) {
        let rates = [record.rose, record.random_rose].map(|rose| record.right(rose));
        print(record.word, record.count, rates, &record.evidence);
    }
}

fn print(word: &str, count: u64, rates: [Option<f64>; 2], evidence: &Evidence) {
    let [right, any] = rates.map(|rate| rate.unwrap_or(f64::NAN));
    let interval =
        interval_text(evidence.difference_low, evidence.difference_high).unwrap_or_default();
    let independent = 100.0 * (any * (1.0 - any) / count as f64).sqrt();
    println!(
        "| {word} | {count} | {} | {} | {right:.3} | {any:.3} | {:+.1} | {interval} | {:.4} | {independent:.1} | {} |",
        evidence.days,
        evidence.tokens,
        evidence.difference.unwrap_or(f64::NAN),
        evidence.p_value.unwrap_or(f64::NAN),
        evidence.verdict.map_or("", Verdict::text)
    );
}
