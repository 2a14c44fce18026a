//! Zigzag: turning points of a series of highs and lows. A reversal by the threshold theta confirms the extreme before it; highs and lows
//! strictly alternate; the last extreme, not confirmed yet, is a pivot too. The scales and the further data of a pivot belong to the
//! searches.

/// Requirements on a turning point.
pub(super) trait Extreme: Copy {
    /// Index among the valid candles.
    fn at(&self) -> u32;
    fn price(&self) -> f64;
    /// The same turning point upside down.
    fn mirrored(self) -> Self;
}

/// Maximum number of turns in a pattern.
pub(super) const TURNS_MOST: usize = 10;

/// Turns of a pattern, oldest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns<T> {
    pivots: [T; TURNS_MOST],
    count: usize,
}

impl<T: Extreme + Default> Turns<T> {
    pub(super) fn of(pivots: &[T]) -> Self {
        let mut turns = Self { pivots: [T::default(); TURNS_MOST], count: pivots.len().min(TURNS_MOST) };
        turns.pivots[..turns.count].copy_from_slice(&pivots[..turns.count]);
        turns
    }

    /// Ignored once the maximum number is reached.
    pub(super) fn push(&mut self, pivot: T) {
        if self.count < TURNS_MOST {
            self.pivots[self.count] = pivot;
            self.count += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[T] {
        &self.pivots[..self.count]
    }

    pub(super) fn first(&self) -> T {
        self.pivots[0]
    }

    pub(super) fn last(&self) -> T {
        self.pivots[self.count.max(1) - 1]
    }

    pub(super) fn mirrored(&self) -> Self {
        self.as_slice().iter().map(|turn| turn.mirrored()).collect()
    }
}

impl<T: Extreme + Default> FromIterator<T> for Turns<T> {
    fn from_iter<I: IntoIterator<Item = T>>(pivots: I) -> Self {
        let mut turns = Self { pivots: [T::default(); TURNS_MOST], count: 0 };
        pivots.into_iter().for_each(|pivot| turns.push(pivot));
        turns
    }
}

/// State of a zigzag under construction.
pub(super) struct ZigzagBuilder<T> {
    pivots: Vec<T>,
    /// Highest and lowest extreme since the last confirmed pivot; both matter until the first pivot is confirmed.
    extremes: Option<(T, T)>,
    next: NextPivot,
}

#[derive(Clone, Copy, PartialEq)]
enum NextPivot {
    Either,
    High,
    Low,
}

impl<T: Extreme> ZigzagBuilder<T> {
    pub(super) fn new(room: usize) -> Self {
        Self { pivots: Vec::with_capacity(room), extremes: None, next: NextPivot::Either }
    }

    /// Adds the next candle's high and low, or a finer zigzag's turn as both.
    pub(super) fn push(&mut self, high: T, low: T, theta: f64) {
        let Some((highest, lowest)) = &mut self.extremes else {
            self.extremes = Some((high, low));
            return;
        };
        match self.next {
            NextPivot::High if high.price() > highest.price() => *highest = high,
            NextPivot::High if highest.price() - low.price() >= theta => {
                self.pivots.push(*highest);
                (*lowest, self.next) = (low, NextPivot::Low);
            }
            NextPivot::Low if low.price() < lowest.price() => *lowest = low,
            NextPivot::Low if high.price() - lowest.price() >= theta => {
                self.pivots.push(*lowest);
                (*highest, self.next) = (high, NextPivot::High);
            }
            NextPivot::High | NextPivot::Low => {}
            NextPivot::Either => {
                if high.price() > highest.price() {
                    *highest = high;
                }
                if low.price() < lowest.price() {
                    *lowest = low;
                }
                // The order of high and low within one candle is unknown.
                if highest.price() - lowest.price() < theta || highest.at() == lowest.at() {
                    return;
                }
                let rose = lowest.at() < highest.at();
                self.pivots.push(if rose { *lowest } else { *highest });
                self.next = if rose { NextPivot::High } else { NextPivot::Low };
            }
        }
    }

    /// All pivots, the live extreme last.
    pub(super) fn finish(mut self) -> Vec<T> {
        match (self.next, self.extremes) {
            (NextPivot::High, Some((high, _))) => self.pivots.push(high),
            (NextPivot::Low, Some((_, low))) => self.pivots.push(low),
            (NextPivot::Either, _) | (_, None) => {}
        }
        self.pivots
    }
}
