//! Rows of a table by token: in memory, or in a large table of the cache, read on demand.

use std::{borrow::Cow, collections::HashMap, ops::Range, sync::Arc};

use crate::{Table, cache::LargeTable, frame_rows::FromFrame};
use model::{
    address::Address,
    rows::{HolderRow, Post, PostFigures, PostTitle},
};

/// Rows read from a large table at a time.
const CHUNK_ROWS: usize = 4_096;

/// Rows ordered by token: typed in memory with the row range of each token, or in the large table.
#[derive(Debug)]
pub(super) enum ByToken<T> {
    Memory {
        rows: Vec<T>,
        index: HashMap<Address, Range<usize>>,
    },
    Large(Arc<LargeTable>),
}

impl<T> Default for ByToken<T> {
    fn default() -> Self {
        Self::Memory {
            rows: Vec::new(),
            index: HashMap::new(),
        }
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

    /// The table's rows, in memory or in the cache.
    pub(super) fn of_table(table: &Table, token: impl Fn(&T) -> Address) -> Self {
        table.large().map_or_else(
            || Self::new(T::rows(table.frame()), token),
            |large| Self::Large(Arc::clone(large)),
        )
    }

    pub(super) fn of(&self, token: &Address) -> RowsOf<'_, T> {
        match self {
            Self::Memory { .. } => RowsOf::Memory(self.slice(token)),
            Self::Large(table) => RowsOf::Large(table, table.rows_of(token)),
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
            Self::Memory { rows, .. } => RowsOf::Memory(rows),
            Self::Large(table) => RowsOf::Large(table, 0..table.height()),
        }
    }

    /// The token's rows in memory: all, of a table that is never large.
    pub(super) fn slice(&self, token: &Address) -> &[T] {
        match self {
            Self::Memory { rows, index } => {
                index.get(token).map_or(&[], |range| &rows[range.clone()])
            }
            Self::Large(_) => &[],
        }
    }
}

/// Consecutive rows of a table, those of one token or all.
#[derive(Debug, Clone)]
pub enum RowsOf<'a, T> {
    Memory(&'a [T]),
    Large(&'a LargeTable, Range<usize>),
}

impl<'a, T> RowsOf<'a, T> {
    /// The rows in memory, each by `held`, or those of a large table, read in chunks.
    fn each<R: FromFrame, O, H: Fn(&'a T) -> O, L: Fn(R) -> O>(
        &self,
        held: H,
        large: L,
    ) -> impl Iterator<Item = O> + use<'a, T, R, O, H, L> {
        let (memory, in_cache) = match self {
            Self::Memory(rows) => (*rows, None),
            Self::Large(table, rows) => (&[][..], Some((*table, rows.clone()))),
        };
        let chunks = in_cache.into_iter().flat_map(|(table, rows)| {
            let end = rows.end;
            rows.step_by(CHUNK_ROWS)
                .flat_map(move |start| read(table, start..(start + CHUNK_ROWS).min(end)))
        });
        memory.iter().map(held).chain(chunks.map(large))
    }
}

impl<'a, T: FromFrame + Clone> RowsOf<'a, T> {
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(rows) => rows.len(),
            Self::Large(_, rows) => rows.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of the range, clamped to the length.
    pub fn part(&self, places: Range<usize>) -> Vec<T> {
        let places = places.start.min(self.len())..places.end.min(self.len());
        match self {
            _ if places.is_empty() => Vec::new(),
            Self::Memory(rows) => rows[places].to_vec(),
            Self::Large(table, rows) => {
                read(table, rows.start + places.start..rows.start + places.end)
            }
        }
    }

    pub fn get(&self, place: usize) -> Option<T> {
        self.part(place..place.saturating_add(1)).pop()
    }

    /// Iterates over the rows, reading a large table in chunks.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'a, T>> + use<'a, T> {
        self.each(Cow::Borrowed, Cow::Owned)
    }
}

impl<'a> RowsOf<'a, Post> {
    /// The metrics only; cheaper than reading whole posts.
    pub fn figures(&self) -> impl Iterator<Item = PostFigures> + use<'a> {
        let figures = |post: &Post| PostFigures {
            published_at: post.published_at,
            impressions: post.impressions,
            engagement: post.engagement,
            smart_engagement: post.smart_engagement,
        };
        self.each(figures, |read| read)
    }

    /// The titles only.
    pub fn titles(&self) -> impl Iterator<Item = Option<String>> + use<'a> {
        self.each(|post| post.title.clone(), |read: PostTitle| read.title)
    }
}

impl<'a> RowsOf<'a, HolderRow> {
    /// Holder and balance of each row; other columns are not read.
    pub fn balances(&self) -> impl Iterator<Item = (Address, Option<f64>)> + use<'a> {
        let (memory, addresses, balances) = match self {
            Self::Memory(rows) => (*rows, None, None),
            Self::Large(table, rows) => (
                &[][..],
                table.addresses("holder_address", rows.clone()),
                table.floats("balance", rows.clone()),
            ),
        };
        let large = addresses
            .unwrap_or_default()
            .iter()
            .zip(balances.unwrap_or_default());
        let held = memory.iter().map(|row| (row.holder_address, row.balance));
        held.chain(large.map(|(address, balance)| {
            (
                Address(*address),
                Some(*balance).filter(|balance| balance.is_finite()),
            )
        }))
    }
}

fn read<T: FromFrame>(table: &LargeTable, rows: Range<usize>) -> Vec<T> {
    T::rows(&table.slice(rows, Some(T::COLUMNS)))
}
