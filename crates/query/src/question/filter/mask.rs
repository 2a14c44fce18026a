//! Rows of a block, a bit for each.

use std::ops::Range;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mask(Vec<u64>);

impl Mask {
    pub(super) fn none(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(WORD)])
    }

    pub(super) fn all(rows: usize) -> Self {
        let mut all = Self::none(rows);
        all.fill(0..rows);
        all
    }

    /// The rows whose value meets the test.
    pub(super) fn of<T: Copy>(values: &[T], meets: impl Fn(T) -> bool) -> Self {
        let word = |values: &[T]| {
            let bits = values.iter().rev();
            bits.fold(0, |word, value| word << 1 | u64::from(meets(*value)))
        };
        Self(values.chunks(WORD).map(word).collect())
    }

    pub(super) fn fill(&mut self, rows: Range<usize>) {
        for at in rows.start / WORD..rows.end.div_ceil(WORD) {
            let (start, end) = (rows.start.max(at * WORD), rows.end.min(at * WORD + WORD));
            if let Some(word) = self.0.get_mut(at).filter(|_| start < end) {
                *word |= u64::MAX >> (WORD - (end - start)) << (start - at * WORD);
            }
        }
    }

    pub(super) fn and(&mut self, other: &Self) {
        self.combine(other, |word, other| word & other);
    }

    pub(super) fn or(&mut self, other: &Self) {
        self.combine(other, |word, other| word | other);
    }

    pub(super) fn without(&mut self, other: &Self) {
        self.combine(other, |word, other| word & !other);
    }

    fn combine(&mut self, other: &Self, by: impl Fn(u64, u64) -> u64) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word = by(*word, *other);
        }
    }

    /// Keeps the rows that meet the test.
    pub(super) fn retain(&mut self, meets: impl Fn(usize) -> bool) {
        let mut gone = Self::none(self.0.len() * WORD);
        self.rows()
            .filter(|row| !meets(*row))
            .for_each(|row| gone.fill(row..row + 1));
        self.without(&gone);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The rows in it, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.checked_sub(1)?;
                Some(at * WORD + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_that_were_filled() {
        for (rows, filled) in [
            (0, 0..0),
            (1, 0..1),
            (64, 0..64),
            (130, 63..65),
            (130, 64..128),
            (130, 5..130),
            (130, 70..70),
        ] {
            let mut mask = Mask::none(rows);
            mask.fill(filled.clone());
            assert!(mask.rows().eq(filled.clone()), "{filled:?}");
            assert_eq!(mask.count(), filled.len() as u64, "{filled:?}");
            let numbers: Vec<usize> = (0..rows).collect();
            assert_eq!(mask, Mask::of(&numbers, |row| filled.contains(&row)));
            let mut others = Mask::all(rows);
            others.without(&mask);
            assert_eq!(others.count(), (rows - filled.len()) as u64, "{filled:?}");
            others.retain(|row| row > 64);
            assert!(
                others
                    .rows()
                    .all(|row| row > 64 && others.has(row) && !mask.has(row))
            );
        }
    }
}
