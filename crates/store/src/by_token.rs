//! Rows of a table by token: in memory, or in a large table of the cache, read on demand.

use std::{borrow::Cow, collections::HashMap, ops::Range, sync::Arc};

use crate::{cache::LargeTable, frame_rows::FromFrame};
use model::{
    address::Address,
    rows::{HolderRow, Post, PostFigures, PostTitle},
};

/// Rows read from a large table at a time.
const CHUNK_ROWS: usize = 4_096;

/// Rows ordered by token: typed in memory with the row range of each token, or in the large table.
#[derive(Debug)]
pub(super) struct ByToken<T> {
    rows: Vec<T>,
    index: HashMap<Address, Range<usize>>,
    large: Option<Arc<LargeTable>>,
}

impl<T> Default for ByToken<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), index: HashMap::new(), large: None }
    }
}

impl<T: FromFrame> ByToken<T> {
    pub(super) fn new(rows: Vec<T>, token: impl Fn(&T) -> Address) -> Self {
        let (mut index, mut start) = (HashMap::new(), 0);
        for own in rows.chunk_by(|a, b| token(a) == token(b)) {
            index.insert(token(&own[0]), start..start + own.len());
            start += own.len();
        }
        Self { rows, index, large: None }
    }

    pub(super) fn large(table: Arc<LargeTable>) -> Self {
        Self { large: Some(table), ..Self::default() }
    }

    pub(super) fn of(&self, token: &Address) -> RowsOf<'_, T> {
        let large = self.large.as_deref().map(|table| (table, table.rows_of(token)));
        RowsOf { memory: self.slice(token), large }
    }

    /// Row range of the token.
    pub(super) fn rows_of(&self, token: &Address) -> Range<usize> {
        let here = || self.index.get(token).cloned().unwrap_or_default();
        self.large.as_ref().map_or_else(here, |table| table.rows_of(token))
    }

    pub(super) fn all(&self) -> RowsOf<'_, T> {
        RowsOf { memory: &self.rows, large: self.large.as_deref().map(|table| (table, 0..table.height())) }
    }

    /// The token's rows in memory: all, of a table that is never large.
    pub(super) fn slice(&self, token: &Address) -> &[T] {
        self.index.get(token).map_or(&[], |range| &self.rows[range.clone()])
    }
}

/// Consecutive rows of a table, those of one token or all: in memory, or of a large table. One of the two is empty.
#[derive(Debug, Clone)]
pub struct RowsOf<'a, T> {
    pub(super) memory: &'a [T],
    pub(super) large: Option<(&'a LargeTable, Range<usize>)>,
}

impl<'a, T> RowsOf<'a, T> {
    /// Rows in memory.
    pub fn over(memory: &'a [T]) -> Self {
        Self { memory, large: None }
    }

    /// Rows of the large table, read in chunks.
    fn chunks<R: FromFrame>(&self) -> impl Iterator<Item = R> + use<'a, T, R> {
        self.large.clone().into_iter().flat_map(|(table, rows)| {
            let end = rows.end;
            rows.step_by(CHUNK_ROWS).flat_map(move |start| read(table, start..(start + CHUNK_ROWS).min(end)))
        })
    }
}

impl<'a, T: FromFrame + Clone> RowsOf<'a, T> {
    pub fn len(&self) -> usize {
        self.large.as_ref().map_or(self.memory.len(), |(_, rows)| rows.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of the range, clamped to the length.
    pub fn part(&self, places: Range<usize>) -> Vec<T> {
        let places = places.start.min(self.len())..places.end.min(self.len());
        match &self.large {
            _ if places.is_empty() => Vec::new(),
            None => self.memory[places].to_vec(),
            Some((table, rows)) => read(table, rows.start + places.start..rows.start + places.end),
        }
    }

    pub fn get(&self, place: usize) -> Option<T> {
        self.part(place..place.saturating_add(1)).pop()
    }

    /// Iterates over the rows, reading a large table in chunks.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'a, T>> + use<'a, T> {
        self.memory.iter().map(Cow::Borrowed).chain(self.chunks().map(Cow::Owned))
    }
}

impl<'a> RowsOf<'a, Post> {
    /// The figures only, cheaper than whole posts.
    pub fn figures(&self) -> impl Iterator<Item = PostFigures> + use<'a> {
        let figures = |post: &Post| PostFigures {
            published_at: post.published_at,
            impressions: post.impressions,
            engagement: post.engagement,
            smart_engagement: post.smart_engagement,
        };
        self.memory.iter().map(figures).chain(self.chunks())
    }

    /// The titles only.
    pub fn titles(&self) -> impl Iterator<Item = Option<String>> + use<'a> {
        self.memory.iter().map(|post| post.title.clone()).chain(self.chunks::<PostTitle>().map(|post| post.title))
    }
}

impl<'a> RowsOf<'a, HolderRow> {
    /// Holder and balance of each row; other columns are not read.
    pub fn balances(&self) -> impl Iterator<Item = (Address, Option<f64>)> + use<'a> {
        let addresses = self.large.as_ref().and_then(|(table, rows)| table.addresses("holder_address", rows.clone()));
        let balances = self.large.as_ref().and_then(|(table, rows)| table.floats("balance", rows.clone()));
        let large = addresses.unwrap_or_default().iter().zip(balances.unwrap_or_default());
        let held = self.memory.iter().map(|row| (row.holder_address, row.balance));
        held.chain(large.map(|(address, balance)| (Address(*address), Some(*balance).filter(|balance| balance.is_finite()))))
    }
}

fn read<T: FromFrame>(table: &LargeTable, rows: Range<usize>) -> Vec<T> {
    T::rows(&table.slice(rows, Some(T::COLUMNS)))
}
