//! Downsampling of candles by count, for screens with fewer columns than candles. Resampling by time is in `timeframes`.

use super::timeframes::CandleVec;
use model::candles::Candles;

/// Merges every `per` candles into one: first open, highest high, lowest low, last close, summed volume of the valid candles. Groups are
/// counted from the end, so the latest group is always full. A group without a valid candle yields an invalid candle.
pub fn condense(candles: &Candles<'_>, per: usize) -> CandleVec {
    let per = per.max(1);
    let mut made = CandleVec::default();
    let mut start = 0;
    let mut end = candles.len() % per;
    if end == 0 {
        end = per;
    }
    while start < candles.len() {
        push(&mut made, candles, start, end.min(candles.len()));
        (start, end) = (end, end + per);
    }
    made
}

fn push(made: &mut CandleVec, candles: &Candles<'_>, start: usize, end: usize) {
    let valid = || (start..end).filter(|&i| candles.valid(i));
    let known = || {
        valid()
            .map(|i| candles.volume[i])
            .filter(|volume| volume.is_finite())
    };
    made.timestamp.push(candles.timestamp[start]);
    made.open
        .push(valid().next().map_or(f64::NAN, |i| candles.open[i]));
    made.close
        .push(valid().next_back().map_or(f64::NAN, |i| candles.close[i]));
    made.high
        .push(valid().map(|i| candles.high[i]).fold(f64::NAN, f64::max));
    made.low
        .push(valid().map(|i| candles.low[i]).fold(f64::NAN, f64::min));
    made.volume
        .push(known().reduce(|a, b| a + b).unwrap_or(f64::NAN));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_whole_at_the_end_and_keep_their_extremes() {
        let prices = [3.0, 1.0, 5.0, 2.0, 4.0];
        let candles = CandleVec {
            timestamp: vec![0, 1, 2, 3, 4],
            open: prices.to_vec(),
            high: prices.iter().map(|p| p + 1.0).collect(),
            low: prices.iter().map(|p| p - 0.5).collect(),
            close: prices.to_vec(),
            volume: vec![1.0, f64::NAN, 2.0, 4.0, 8.0],
        };
        let made = condense(&candles.as_candles(), 2);
        assert_eq!(made.timestamp, [0, 1, 3]);
        assert_eq!(
            (made.open.as_slice(), made.close.as_slice()),
            (&[3.0, 1.0, 2.0][..], &[3.0, 5.0, 4.0][..])
        );
        assert_eq!(
            (made.high.as_slice(), made.low.as_slice()),
            (&[4.0, 6.0, 5.0][..], &[2.5, 0.5, 1.5][..])
        );
        assert_eq!(made.volume, [1.0, 2.0, 12.0]);
        assert_eq!(condense(&candles.as_candles(), 0).timestamp.len(), 5);
        assert!(condense(&Candles::default(), 3).timestamp.is_empty());
    }
}
