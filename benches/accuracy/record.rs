//! How often the patterns told on their day, found in the 500 candles up to it, differ from those found in all candles up to it: the
//! track record counts the first, and the whole history is the other way to tell it. On the real data.

use std::path::Path;

use tokendeck::{
    analysis::{
        frames::{CandleVec, frame},
        patterns::{breakouts, market::Model},
        track_record::{REPLAYED, SEEN},
    },
    dataset::{candles::Interval, load::load, progress::Silent},
};

/// Every so manyth candle is looked at.
const EVERY: usize = 8;

pub(super) fn report() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real");
    let Ok(dataset) = load(&folder, &Silent) else {
        println!("record: no dataset in {}", folder.display());
        return;
    };
    let model = Model::built_in();
    let (mut candles, mut days, mut told, mut same, mut alike) = (0, 0, 0, 0, 0);
    for token in dataset.tokens() {
        let series = dataset.candles().of(&token.row.token_address);
        let Some(frame) = frame(&series, Interval::DAY) else { continue };
        let sound = CandleVec::sound(&frame.as_candles());
        let all = sound.as_candles();
        // Up to there both ways look at the same candles.
        for at in (all.len().saturating_sub(REPLAYED).max(SEEN)..all.len()).step_by(EVERY) {
            let names = |from: usize| -> Vec<_> {
                let mut found: Vec<_> = breakouts(&all.part(from..at + 1), &model).into_iter().map(|it| it.name.word()).collect();
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
    println!("record: {candles} candles with more than {SEEN} up to them, every {EVERY}th of each token's last {REPLAYED}");
    println!(
        "a pattern breaks out on {days}; the same names from the whole history on {alike}; of {told} names told, {same} are there too"
    );
}
