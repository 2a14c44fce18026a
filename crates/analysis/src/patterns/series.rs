//! The valid candles as log prices, with indexes for fast range queries, and their mirror image. Patterns are unknown here.

use std::rc::Rc;

use crate::numeric::power_of_two;
use model::candles::Candles;

/// Number of candles in the average true range.
const AVERAGED_CANDLES: usize = 30;

/// The valid candles, oldest first. All columns have the same length.
pub(super) struct CandleSeries {
    /// Index of each candle in the timeframe.
    pub(super) slot: Vec<u32>,
    pub(super) upright: LogPrices,
    /// The mirror image: negated logarithms, highs and lows exchanged.
    pub(super) mirror: LogPrices,
    /// Median true range of the candles that moved; the median is robust against a single flash wick.
    pub(super) middle: f64,
    /// ln of the power of two that prices are divided by.
    shift: f64,
}

/// Input of the searches: the candles, upright or upside down. Natural logarithms of prices divided by a power of two, so that scaling all
/// prices by a power of two gives identical digits.
pub(super) struct LogPrices {
    pub(super) open: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) close: Vec<f64>,
    /// Mean true range (Wilder 1978) of the last 30 candles; at the start, blended with that of the first 30.
    pub(super) range: Rc<[f64]>,
    closes: Sums,
    ranges: Rc<Sums>,
    steps: Rc<Sums>,
    /// Range maxima of the highs; `bottoms`: of the negated lows, which are the highs of the mirrored prices.
    tops: Rc<Extremes>,
    bottoms: Rc<Extremes>,
    /// For each candle, the number of candles since the price was as high; `since_low`: as low.
    since_high: Rc<[u32]>,
    since_low: Rc<[u32]>,
}

impl CandleSeries {
    /// Returns `None` with fewer than `least` valid candles, or if no price ever moves.
    pub(super) fn of(candles: &Candles<'_>, least: usize) -> Option<Self> {
        let slots: Vec<usize> = (0..candles.len()).filter(|&i| candles.valid(i)).collect();
        if slots.len() < least {
            return None;
        }
        let unit = power_of_two(candles.close[slots[0]]);
        let column = |prices: &[f64]| -> Vec<f64> {
            slots.iter().map(|&i| logarithm(prices[i], unit)).collect()
        };
        let upright = LogPrices::of(
            column(candles.open),
            column(candles.high),
            column(candles.low),
            column(candles.close),
        )?;
        let mirror = upright.mirrored();
        let middle = upright.median_range()?;
        Some(Self {
            slot: slots.iter().map(|&i| i as u32).collect(),
            upright,
            mirror,
            middle,
            shift: unit.ln(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.slot.len()
    }

    pub(super) fn price(&self, logarithm: f64) -> f64 {
        (logarithm + self.shift).exp()
    }

    /// The prices on which patterns of this orientation are found.
    pub(super) fn oriented(&self, flipped: bool) -> &LogPrices {
        if flipped { &self.mirror } else { &self.upright }
    }
}

impl LogPrices {
    fn of(open: Vec<f64>, high: Vec<f64>, low: Vec<f64>, close: Vec<f64>) -> Option<Self> {
        let count = close.len();
        let true_range = |i: usize| {
            if i == 0 {
                high[0] - low[0]
            } else {
                high[i].max(close[i - 1]) - low[i].min(close[i - 1])
            }
        };
        let ranges = Sums::of((0..count).map(true_range));
        let all = ranges.over(0, count - 1);
        if all <= 0.0 {
            return None;
        }
        // Lower bound of the true range for periods without trades.
        let floor = 0.1 * all / count as f64;
        let first =
            ranges.over(0, AVERAGED_CANDLES.min(count) - 1) / AVERAGED_CANDLES.min(count) as f64;
        let range = (0..count)
            .map(|i| {
                let from = (i + 1).saturating_sub(AVERAGED_CANDLES);
                let seen = (i + 1 - from) as f64;
                let share = seen / AVERAGED_CANDLES as f64;
                let mean = ranges.over(from, i) / seen;
                (share * mean + (1.0 - share) * first).max(floor)
            })
            .collect();
        let lows: Vec<f64> = negated(&low);
        Some(Self {
            closes: Sums::of(close.iter().copied()),
            steps: Rc::new(Sums::of((0..count).map(|i| {
                if i == 0 {
                    0.0
                } else {
                    (close[i] - close[i - 1]).abs()
                }
            }))),
            ranges: Rc::new(ranges),
            tops: Rc::new(Extremes::of(&high)),
            bottoms: Rc::new(Extremes::of(&lows)),
            since_high: since(&high),
            since_low: since(&lows),
            range,
            open,
            high,
            low,
            close,
        })
    }

    fn mirrored(&self) -> Self {
        let close = negated(&self.close);
        Self {
            open: negated(&self.open),
            high: negated(&self.low),
            low: negated(&self.high),
            closes: Sums::of(close.iter().copied()),
            close,
            steps: Rc::clone(&self.steps),
            ranges: Rc::clone(&self.ranges),
            tops: Rc::clone(&self.bottoms),
            bottoms: Rc::clone(&self.tops),
            since_high: Rc::clone(&self.since_low),
            since_low: Rc::clone(&self.since_high),
            range: Rc::clone(&self.range),
        }
    }

    /// Candles without movement are ignored: a thinly traded token stands still most hours, which says nothing about its moves.
    fn median_range(&self) -> Option<f64> {
        let range =
            |i: usize| self.high[i].max(self.close[i - 1]) - self.low[i].min(self.close[i - 1]);
        let mut ranges: Vec<f64> = (1..self.close.len())
            .map(range)
            .filter(|range| *range > 0.0)
            .collect();
        let middle = ranges.len() / 2;
        (!ranges.is_empty()).then(|| *ranges.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    pub(super) fn len(&self) -> usize {
        self.close.len()
    }

    /// Highest high of candles `a..=b`.
    pub(super) fn top(&self, a: usize, b: usize) -> f64 {
        self.tops.within(a, b)
    }

    /// Lowest low of candles `a..=b`.
    pub(super) fn bottom(&self, a: usize, b: usize) -> f64 {
        -self.bottoms.within(a, b)
    }

    /// Number of candles since the price was as extreme; `u32::MAX` if it never was.
    pub(super) fn since(&self, at: usize, high: bool) -> u32 {
        if high {
            self.since_high[at]
        } else {
            self.since_low[at]
        }
    }

    pub(super) fn mean_close(&self, a: usize, b: usize) -> f64 {
        self.closes.over(a, b) / (b - a + 1) as f64
    }

    pub(super) fn mean_range(&self, a: usize, b: usize) -> f64 {
        self.ranges.over(a, b) / (b - a + 1) as f64
    }

    /// Sum of the absolute changes of the close after candle `a` up to `b`.
    pub(super) fn walked(&self, a: usize, b: usize) -> f64 {
        self.steps.over(a + 1, b)
    }
}

/// Prefix sums.
struct Sums(Vec<f64>);

impl Sums {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let mut sums = vec![0.0];
        sums.extend(numbers.map(|number| {
            sum += number;
            sum
        }));
        Self(sums)
    }

    fn over(&self, a: usize, b: usize) -> f64 {
        if b < a {
            0.0
        } else {
            self.0[b + 1] - self.0[a]
        }
    }
}

/// Sparse table for range maxima: the maxima of 1, 2, 4… numbers from each index on.
struct Extremes {
    levels: Vec<Vec<f64>>,
}

impl Extremes {
    /// Enough for ranges of 256 candles; longer ones take more steps.
    const LEVELS: usize = 8;

    fn of(numbers: &[f64]) -> Self {
        let mut levels = vec![numbers.to_vec()];
        for level in 1..Self::LEVELS {
            let (below, far) = (&levels[level - 1], 1 << (level - 1));
            if below.len() <= far {
                break;
            }
            let next = below
                .iter()
                .zip(&below[far..])
                .map(|(a, b)| larger(*a, *b))
                .collect();
            levels.push(next);
        }
        Self { levels }
    }

    fn within(&self, a: usize, b: usize) -> f64 {
        // Two overlapping blocks cover it.
        let level = ((b + 1 - a).ilog2() as usize).min(self.levels.len() - 1);
        let (numbers, step) = (&self.levels[level], 1 << level);
        let last = b + 1 - step;
        let (mut found, mut at) = (larger(numbers[a], numbers[last]), a + step);
        while at < last {
            found = larger(found, numbers[at]);
            at += step;
        }
        found
    }
}

/// As `f64::max`, without its handling of NaN.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// For each index, the distance back to the last number that is no smaller.
fn since(numbers: &[f64]) -> Rc<[u32]> {
    // Monotonic stack: indices whose numbers exceed all later ones so far.
    let mut standing: Vec<usize> = Vec::new();
    let mut far = |(at, number): (usize, &f64)| {
        while standing
            .last()
            .is_some_and(|place| numbers[*place] < *number)
        {
            standing.pop();
        }
        let far = standing
            .last()
            .map_or(u32::MAX, |place| (at - place) as u32);
        standing.push(at);
        far
    };
    numbers.iter().enumerate().map(&mut far).collect()
}

fn negated(column: &[f64]) -> Vec<f64> {
    column.iter().map(|level| -level).collect()
}

fn logarithm(price: f64, unit: f64) -> f64 {
    // The division is exact unless it leaves the range of a double; then the difference of the logarithms is used.
    let ratio = price / unit;
    if ratio.is_normal() {
        ratio.ln()
    } else {
        price.ln() - unit.ln()
    }
}
