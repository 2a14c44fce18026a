//! Resampling of candles to a coarser interval, and the candle series an analysis runs on. Buckets are in UTC, weeks start on Monday, empty
//! buckets have no candle, and invalid candles are skipped.

use std::ops::Range;

use model::{
    candles::{Candles, Interval},
    time::DAY_MS,
};

/// Owned candle columns, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CandleVec {
    pub timestamp: Vec<i64>,
    pub open: Vec<f64>,
    pub high: Vec<f64>,
    pub low: Vec<f64>,
    pub close: Vec<f64>,
    pub volume: Vec<f64>,
}

impl CandleVec {
    pub fn as_candles(&self) -> Candles<'_> {
        Candles {
            timestamp: &self.timestamp,
            open: &self.open,
            high: &self.high,
            low: &self.low,
            close: &self.close,
            volume: &self.volume,
            volume_usd: &[],
        }
    }

    /// Returns the valid candles only.
    pub fn sound(candles: &Candles<'_>) -> Self {
        let kept = || (0..candles.len()).filter(|&i| candles.valid(i));
        let of = |values: &[f64]| kept().map(|i| values[i]).collect();
        Self {
            timestamp: kept().map(|i| candles.timestamp[i]).collect(),
            open: of(candles.open),
            high: of(candles.high),
            low: of(candles.low),
            close: of(candles.close),
            volume: of(candles.volume),
        }
    }

    /// Opens a bucket that starts at `timestamp` with its first candle.
    fn start(&mut self, timestamp: i64, candles: &Candles, i: usize) {
        self.timestamp.push(timestamp);
        self.open.push(candles.open[i]);
        self.high.push(candles.high[i]);
        self.low.push(candles.low[i]);
        self.close.push(candles.close[i]);
        self.volume.push(candles.volume[i]);
    }

    /// Adds a candle to the last bucket. Unknown volumes count as zero; if all are unknown, so is the sum.
    fn add(&mut self, candles: &Candles, i: usize) {
        let last = self.timestamp.len() - 1;
        self.high[last] = self.high[last].max(candles.high[i]);
        self.low[last] = self.low[last].min(candles.low[i]);
        self.close[last] = candles.close[i];
        let (known, more) = (self.volume[last], candles.volume[i]);
        if known.is_nan() {
            self.volume[last] = more;
        } else if !more.is_nan() {
            self.volume[last] = known + more;
        }
    }

    fn extend(&mut self, candles: &Candles) {
        self.timestamp.extend_from_slice(candles.timestamp);
        self.open.extend_from_slice(candles.open);
        self.high.extend_from_slice(candles.high);
        self.low.extend_from_slice(candles.low);
        self.close.extend_from_slice(candles.close);
        self.volume.extend_from_slice(candles.volume);
    }
}

/// Candles of one interval: stored, or resampled from a finer interval.
#[derive(Debug, Clone)]
pub enum Frame<'a> {
    Own(Candles<'a>),
    Made(CandleVec),
    /// Stored candles in the range `own`; before and after them, candles resampled from `from`.
    Joined {
        candles: CandleVec,
        own: Range<usize>,
        from: Interval,
    },
}

impl Frame<'_> {
    pub fn as_candles(&self) -> Candles<'_> {
        match self {
            Self::Own(candles) => *candles,
            Self::Made(candles) | Self::Joined { candles, .. } => candles.as_candles(),
        }
    }

    /// The stored intervals that the candles at interval `to` are from, as `frame` chose them out of `series`; the last candle is of the
    /// last of them.
    pub fn intervals(&self, series: &[(Interval, Candles<'_>)], to: Interval) -> Vec<Interval> {
        match self {
            Self::Own(_) => vec![to],
            Self::Made(_) => finer(series, to)
                .map(|(interval, _)| interval)
                .into_iter()
                .collect(),
            Self::Joined { candles, own, from } => {
                if own.end == candles.timestamp.len() {
                    vec![*from, to]
                } else {
                    vec![to, *from]
                }
            }
        }
    }

    /// Number of resampled candles in the range, and the interval they are resampled from; `None` unless the range holds both resampled and
    /// stored candles.
    pub fn made_beside_own(&self, places: Range<usize>) -> Option<(usize, Interval)> {
        let Self::Joined { own, from, .. } = self else {
            return None;
        };
        let own = own.start.max(places.start)..own.end.min(places.end);
        let made = places.len() - own.len();
        (made > 0 && !own.is_empty()).then_some((made, *from))
    }
}

/// Returns the token's candles at interval `to`: the stored ones, extended before their first and after their last candle (or replaced, if
/// there are none) by resampling the coarsest finer interval that divides `to`. Returns `None` if there are neither.
pub fn frame<'a>(series: &[(Interval, Candles<'a>)], to: Interval) -> Option<Frame<'a>> {
    let stored = || series.iter().filter(|(_, candles)| !candles.is_empty());
    let own = stored()
        .find(|(interval, _)| *interval == to)
        .map(|(_, candles)| *candles);
    match (own, finer(series, to)) {
        (None, None) => None,
        (Some(own), None) => Some(Frame::Own(own)),
        (None, Some((from, candles))) => Some(Frame::Made(resample(&candles, from, to))),
        (Some(own), Some((from, candles))) => Some(complete(own, &candles, from, to)),
    }
}

/// The coarsest finer candles that divide `to`.
fn finer<'a>(series: &[(Interval, Candles<'a>)], to: Interval) -> Option<(Interval, Candles<'a>)> {
    let stored = series.iter().filter(|(_, candles)| !candles.is_empty());
    stored
        .filter(|(interval, _)| *interval < to && divides(*interval, to))
        .max_by_key(|(interval, _)| *interval)
        .copied()
}

/// Default series of a trendline: daily candles, or the finest coarser interval, or the coarsest stored interval.
pub fn base<'a>(series: &[(Interval, Candles<'a>)]) -> Option<(Interval, Frame<'a>)> {
    if let Some(daily) = frame(series, Interval::DAY) {
        return Some((Interval::DAY, daily));
    }
    let stored = || series.iter().filter(|(_, candles)| !candles.is_empty());
    let coarser = stored()
        .filter(|(interval, _)| *interval > Interval::DAY)
        .min_by_key(|(interval, _)| *interval);
    let (interval, candles) = coarser.or_else(|| stored().max_by_key(|(interval, _)| *interval))?;
    Some((*interval, Frame::Own(*candles)))
}

/// Resamples to one candle per bucket of length `to` that holds a valid candle: first open, highest high, lowest low, last close, summed
/// volume. Returns nothing if `from`, the interval of the candles, does not divide `to`.
pub fn resample(candles: &Candles, from: Interval, to: Interval) -> CandleVec {
    let mut made = CandleVec::default();
    if !divides(from, to) {
        return made;
    }
    for i in (0..candles.len()).filter(|&i| candles.valid(i)) {
        let start = bucket(candles.timestamp[i], to);
        if made.timestamp.last() == Some(&start) {
            made.add(candles, i);
        } else {
            made.start(start, candles, i);
        }
    }
    made
}

/// Stored candles, plus resampled ones for the whole buckets before the first and after the last of them.
fn complete<'a>(own: Candles<'a>, finer: &Candles, from: Interval, to: Interval) -> Frame<'a> {
    let (Some(&first), Some(&last)) = (own.timestamp.first(), own.timestamp.last()) else {
        return Frame::Made(resample(finer, from, to));
    };
    // Stored candles need not be aligned to buckets, so a bucket that overlaps one of them is left out.
    let end = bucket(first, to);
    let begin = bucket(last.saturating_add(to.0).saturating_add(to.0 - 1), to);
    let before = finer.timestamp.partition_point(|&t| t < end);
    let after = finer.timestamp.partition_point(|&t| t < begin).max(before);
    let mut made = resample(&finer.part(0..before), from, to);
    let tail = resample(&finer.part(after..finer.len()), from, to);
    if made.timestamp.is_empty() && tail.timestamp.is_empty() {
        return Frame::Own(own);
    }
    let before = made.timestamp.len();
    made.extend(&own);
    made.extend(&tail.as_candles());
    Frame::Joined {
        candles: made,
        own: before..before + own.len(),
        from,
    }
}

fn divides(from: Interval, to: Interval) -> bool {
    from.0 > 0 && to.0 >= from.0 && to.0 % from.0 == 0
}

/// Start of the bucket that holds this time. Day 0 is a Thursday, so the first Monday is day 4.
fn bucket(timestamp: i64, to: Interval) -> i64 {
    let origin = if to.0 % Interval::WEEK.0 == 0 {
        4 * DAY_MS
    } else {
        0
    };
    timestamp
        .saturating_sub(origin)
        .div_euclid(to.0)
        .saturating_mul(to.0)
        .saturating_add(origin)
}

#[cfg(test)]
pub(super) mod tests {
    use super::CandleVec;

    /// Flat candles (open = high = low = close) at these times.
    pub(crate) fn level(closes: impl IntoIterator<Item = (i64, f64)>, volume: f64) -> CandleVec {
        let (timestamp, prices): (Vec<i64>, Vec<f64>) = closes.into_iter().unzip();
        let volume = vec![volume; prices.len()];
        CandleVec {
            timestamp,
            open: prices.clone(),
            high: prices.clone(),
            low: prices.clone(),
            close: prices,
            volume,
        }
    }
}
