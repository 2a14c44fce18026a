//! Rows of a table by token: in memory, or in a large table of the cache, read on demand.

use std::{borrow::Cow, collections::HashMap, ops::Range, sync::Arc};

use crate::{cache::LargeTable, frame_rows::FromFrame};
use model::{
    address::Address,
    rows::{HolderRow, Post, PostFigures, PostTitle},
};

/// Rows read from a large table at a time.
const CHUNK_ROWS: usize = 4_096;

/// Rows ordered by token, with the row range of each token.
#[derive(Debug)]
pub(super) enum ByToken<T> {
    Memory { rows: Vec<T>, index: HashMap<Address, Range<usize>> },
    Large(Arc<LargeTable>),
}

impl<T> Default for ByToken<T> {
    fn default() -> Self {
        Self::Memory { rows: Vec::new(), index: HashMap::new() }
    }
}

impl<T: FromFrame> ByToken<T> {
    pub(super) fn new(rows: Vec<T>, token: impl Fn(&T) -> Address) -> Self {
        let (mut index, mut start) = (HashMap::new(), 0);
        for own in rows.chunk_by(|a, b| token(a) == token(b)) {
            index.insert(token(&own[0]), start..start + own.len());
            start += own.len();
        }
        Self::Memory { rows, index }
    }

    pub(super) fn of(&self, token: &Address) -> RowsOf<'_, T> {
        match self {
            Self::Memory { .. } => RowsOf(Held::Memory(self.slice(token))),
            Self::Large(table) => RowsOf(Held::Large(table, table.rows_of(token))),
        }
    }

    /// Row range of the token.
    pub(super) fn rows_of(&self, token: &Address) -> Range<usize> {
        match self {
            Self::Memory { index, .. } => index.get(token).cloned().unwrap_or_default(),
            Self::Large(table) => table.rows_of(token),
        }
    }

    pub(super) fn all(&self) -> RowsOf<'_, T> {
        match self {
            Self::Memory { rows, .. } => RowsOf(Held::Memory(rows)),
            Self::Large(table) => RowsOf(Held::Large(table, 0..table.height())),
        }
    }

    /// The token's rows, of a table that is always in memory.
    pub(super) fn slice(&self, token: &Address) -> &[T] {
        match self {
            Self::Memory { rows, index } => index.get(token).map_or(&[], |range| &rows[range.clone()]),
            Self::Large(_) => &[],
        }
    }
}

/// Consecutive rows of a table: those of one token, or all.
#[derive(Debug, Clone)]
pub struct RowsOf<'a, T>(Held<'a, T>);

#[derive(Debug, Clone)]
enum Held<'a, T> {
    Memory(&'a [T]),
    Large(&'a LargeTable, Range<usize>),
}

impl<'a, T> RowsOf<'a, T> {
    /// Rows in memory.
    pub fn over(rows: &'a [T]) -> Self {
        Self(Held::Memory(rows))
    }

    /// The rows in memory, and an iterator over those of the large table, read in chunks: one of the two is empty.
    fn parts<R: FromFrame>(&self) -> (&'a [T], impl Iterator<Item = R> + use<'a, T, R>) {
        let (memory, large) = match &self.0 {
            Held::Memory(rows) => (*rows, None),
            Held::Large(table, rows) => (&[][..], Some((*table, rows.clone()))),
        };
        (memory, large.into_iter().flat_map(|(table, rows)| chunks(table, rows)))
    }
}

impl<'a, T: FromFrame + Clone> RowsOf<'a, T> {
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Memory(rows) => rows.len(),
            Held::Large(_, rows) => rows.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of the range, clamped to the length.
    pub fn part(&self, places: Range<usize>) -> Vec<T> {
        let places = places.start.min(self.len())..places.end.min(self.len());
        match &self.0 {
            _ if places.is_empty() => Vec::new(),
            Held::Memory(rows) => rows[places].to_vec(),
            Held::Large(table, rows) => read(table, rows.start + places.start..rows.start + places.end),
        }
    }

    pub fn get(&self, place: usize) -> Option<T> {
        self.part(place..place.saturating_add(1)).pop()
    }

    /// Iterates over the rows, reading a large table in chunks.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'a, T>> + use<'a, T> {
        let (memory, large) = self.parts();
        memory.iter().map(Cow::Borrowed).chain(large.map(Cow::Owned))
    }
}

impl<'a> RowsOf<'a, Post> {
    /// The figures only, cheaper than whole posts.
    pub fn figures(&self) -> impl Iterator<Item = PostFigures> + use<'a> {
        let (memory, large) = self.parts();
        let figures = |post: &Post| PostFigures {
            published_at: post.published_at,
            impressions: post.impressions,
            engagement: post.engagement,
            smart_engagement: post.smart_engagement,
        };
        memory.iter().map(figures).chain(large)
    }

    /// The titles only.
    pub fn titles(&self) -> impl Iterator<Item = Option<String>> + use<'a> {
        let (memory, large) = self.parts::<PostTitle>();
        memory.iter().map(|post| post.title.clone()).chain(large.map(|post| post.title))
    }
}

impl<'a> RowsOf<'a, HolderRow> {
    /// Holder and balance of each row; other columns are not read.
    pub fn balances(&self) -> impl Iterator<Item = (Address, Option<f64>)> + use<'a> {
        let (memory, addresses, balances) = match &self.0 {
            Held::Memory(rows) => (*rows, None, None),
            Held::Large(table, rows) => (&[][..], table.addresses("holder_address", rows.clone()), table.floats("balance", rows.clone())),
        };
        let large = addresses.unwrap_or_default().iter().zip(balances.unwrap_or_default());
        let held = memory.iter().map(|row| (row.holder_address, row.balance));
        held.chain(large.map(|(address, balance)| (Address(*address), Some(*balance).filter(|balance| balance.is_finite()))))
    }
}

fn read<T: FromFrame>(table: &LargeTable, rows: Range<usize>) -> Vec<T> {
    T::rows(&table.slice(rows, Some(T::COLUMNS)))
}

fn chunks<T: FromFrame>(table: &LargeTable, rows: Range<usize>) -> impl Iterator<Item = T> {
    let end = rows.end;
    rows.step_by(CHUNK_ROWS).flat_map(move |start| read(table, start..(start + CHUNK_ROWS).min(end)))
}
