//! Trend and chart patterns of candles from a file, without the rest of tokendeck:
//!
//! ```text
//! cargo run --release -p tokendeck-analysis --example patterns < candles.csv
//! ```
//!
//! The file has lines of `timestamp,open,high,low,close,volume`, oldest first, times in milliseconds; other lines are skipped.

use std::io::{self, Write};

use tokendeck_analysis::{patterns::patterns, timeframes::CandleVec, trendlines::trendlines};

fn main() -> io::Result<()> {
    let mut candles = CandleVec::default();
    for line in io::stdin().lines() {
        let line = line?;
        let cells: Vec<f64> = line
            .split(',')
            .map_while(|cell| cell.trim().parse().ok())
            .collect();
        let [time, open, high, low, close, volume] = cells[..] else {
            continue;
        };
        candles.timestamp.push(time as i64);
        candles.open.push(open);
        candles.high.push(high);
        candles.low.push(low);
        candles.close.push(close);
        candles.volume.push(volume);
    }
    let candles = candles.as_candles();
    let mut out = io::stdout().lock();
    let trend = trendlines(&candles, candles.len(), false);
    writeln!(
        out,
        "{} candles, {} with confidence {:.2}",
        candles.len(),
        trend.trend.word(),
        trend.confidence
    )?;
    for pattern in patterns(&candles, false).patterns {
        let (name, share) = (pattern.name.word(), pattern.confidence);
        writeln!(
            out,
            "{name} from candle {} to {}, confidence {share:.2}",
            pattern.start_index, pattern.end_index
        )?;
    }
    Ok(())
}
