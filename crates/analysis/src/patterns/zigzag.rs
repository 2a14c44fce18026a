//! Zigzag: turning points of a series of highs and lows. A reversal by the threshold theta confirms the extreme before it; highs and lows
//! strictly alternate; the last extreme, not confirmed yet, is a pivot too. The scales belong to the searches.

/// A turning point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pivot {
    /// Index among the valid candles.
    pub(super) at: u32,
    /// The x coordinate of lines: the index in the timeframe; in `market`, whose lines are converted at last, the index among the valid
    /// candles.
    pub(super) slot: u32,
    pub(super) price: f64,
    pub(super) high: bool,
    /// In `textbook`, whether the leg to the next pivot is absent at the next finer scale, so that patterns across it have not been examined
    /// yet.
    pub(super) fresh: bool,
}

impl Pivot {
    /// A pivot whose x coordinate is its index among the valid candles.
    pub(super) fn new(at: usize, price: f64, high: bool) -> Self {
        Self {
            at: at as u32,
            slot: at as u32,
            price,
            high,
            fresh: false,
        }
    }

    /// The same turning point upside down.
    pub(super) fn mirrored(self) -> Self {
        Self {
            price: -self.price,
            high: !self.high,
            ..self
        }
    }

    /// Number of bars from `origin`.
    pub(super) fn x(self, origin: u32) -> f64 {
        f64::from(self.slot) - f64::from(origin)
    }
}

/// Maximum number of turns in a pattern.
pub(super) const TURNS_MOST: usize = 10;

/// Turns of a pattern, oldest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns {
    pivots: [Pivot; TURNS_MOST],
    count: usize,
}

impl Turns {
    pub(super) fn of(pivots: &[Pivot]) -> Self {
        let mut turns = Self {
            pivots: [Pivot::default(); TURNS_MOST],
            count: pivots.len().min(TURNS_MOST),
        };
        turns.pivots[..turns.count].copy_from_slice(&pivots[..turns.count]);
        turns
    }

    /// Ignored once the maximum number is reached.
    pub(super) fn push(&mut self, pivot: Pivot) {
        if self.count < TURNS_MOST {
            self.pivots[self.count] = pivot;
            self.count += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[Pivot] {
        &self.pivots[..self.count]
    }

    pub(super) fn first(&self) -> Pivot {
        self.pivots[0]
    }

    pub(super) fn last(&self) -> Pivot {
        self.pivots[self.count.max(1) - 1]
    }

    pub(super) fn mirrored(&self) -> Self {
        let mut turns = *self;
        turns.pivots[..self.count]
            .iter_mut()
            .for_each(|turn| *turn = turn.mirrored());
        turns
    }
}

impl FromIterator<Pivot> for Turns {
    fn from_iter<I: IntoIterator<Item = Pivot>>(pivots: I) -> Self {
        let mut turns = Self {
            pivots: [Pivot::default(); TURNS_MOST],
            count: 0,
        };
        pivots.into_iter().for_each(|pivot| turns.push(pivot));
        turns
    }
}

/// State of a zigzag under construction.
pub(super) struct ZigzagBuilder {
    pivots: Vec<Pivot>,
    /// Highest and lowest extreme since the last confirmed pivot; both matter until the first pivot is confirmed.
    extremes: Option<(Pivot, Pivot)>,
    next: NextPivot,
}

#[derive(Clone, Copy, PartialEq)]
enum NextPivot {
    Either,
    High,
    Low,
}

impl ZigzagBuilder {
    pub(super) fn new(room: usize) -> Self {
        Self {
            pivots: Vec::with_capacity(room),
            extremes: None,
            next: NextPivot::Either,
        }
    }

    /// Adds the next candle's high and low, or a finer zigzag's turn as both.
    pub(super) fn push(&mut self, high: Pivot, low: Pivot, theta: f64) {
        let Some((highest, lowest)) = &mut self.extremes else {
            self.extremes = Some((high, low));
            return;
        };
        match self.next {
            NextPivot::High if high.price > highest.price => *highest = high,
            NextPivot::High if highest.price - low.price >= theta => {
                self.pivots.push(*highest);
                (*lowest, self.next) = (low, NextPivot::Low);
            }
            NextPivot::Low if low.price < lowest.price => *lowest = low,
            NextPivot::Low if high.price - lowest.price >= theta => {
                self.pivots.push(*lowest);
                (*highest, self.next) = (high, NextPivot::High);
            }
            NextPivot::High | NextPivot::Low => {}
            NextPivot::Either => {
                if high.price > highest.price {
                    *highest = high;
                }
                if low.price < lowest.price {
                    *lowest = low;
                }
                // The order of high and low within one candle is unknown.
                if highest.price - lowest.price < theta || highest.at == lowest.at {
                    return;
                }
                let rose = lowest.at < highest.at;
                self.pivots.push(if rose { *lowest } else { *highest });
                self.next = if rose {
                    NextPivot::High
                } else {
                    NextPivot::Low
                };
            }
        }
    }

    /// All pivots, the live extreme last.
    pub(super) fn finish(mut self) -> Vec<Pivot> {
        match (self.next, self.extremes) {
            (NextPivot::High, Some((high, _))) => self.pivots.push(high),
            (NextPivot::Low, Some((_, low))) => self.pivots.push(low),
            (NextPivot::Either, _) | (_, None) => {}
        }
        self.pivots
    }
}
