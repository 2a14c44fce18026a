//! Rows of a remote table: those around the viewport are fetched off the drawing thread; other rows are not kept.

use std::{ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use super::RowsPane;
use crate::views::prelude::*;
use frames::rows::Frames as _;
use load::Table;
use query::{queries::tables::remote::TableSlice, service::pending::PendingResult};
use table::TableRows;

/// Rows fetched before and after those on screen.
const AROUND: usize = 200;

/// A window of the rows of the displayed query, held in the view's grid.
#[derive(Debug, Default)]
pub(super) struct RemoteRows {
    /// Number of rows in the table, and of those that meet the filter.
    all: usize,
    total: usize,
    /// Index of the grid's first row.
    start: usize,
    pending: Option<PendingResult<DataFrame>>,
    /// The rows being fetched, or that failed to be.
    asked: Range<usize>,
}

impl RemoteRows {
    pub(super) fn of(table: &Table) -> Option<Self> {
        let total = usize::try_from(table.engine_rows()?.total()).unwrap_or(usize::MAX);
        Some(Self {
            all: total,
            total,
            ..Self::default()
        })
    }

    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Restarts for another query with `total` rows.
    pub(super) fn restart(&mut self, total: usize) {
        *self = Self {
            all: self.all,
            total,
            ..Self::default()
        };
    }

    /// The grid index of a table row; `None` while it is not fetched.
    pub(super) fn in_grid(remote: Option<&Self>, grid: &TableRows, row: usize) -> Option<usize> {
        match remote {
            Some(remote) => row
                .checked_sub(remote.start)
                .filter(|row| *row < grid.height()),
            None => Some(row),
        }
    }

    #[cfg(test)]
    pub(super) fn is_under_way(&self) -> bool {
        self.pending.is_some()
    }
}

impl RowsPane {
    /// Number of rows of the table, fetched or not.
    pub(super) fn height(&self) -> usize {
        self.remote
            .as_ref()
            .map_or_else(|| self.grid.height(), RemoteRows::all)
    }

    /// The grid index of a table row; `None` while it is not fetched.
    pub(super) fn in_grid(&self, row: usize) -> Option<usize> {
        RemoteRows::in_grid(self.remote.as_ref(), &self.grid, row)
    }

    /// Fetches the rows on screen that are missing.
    pub(super) fn fetch_on_screen(&mut self, context: &Context<'_>) {
        let (screen, here) = (self.list.cursor.on_screen(), self.grid.height());
        let Some(remote) = &mut self.remote else {
            return;
        };
        let is_here = screen.start >= remote.start && screen.end <= remote.start + here;
        let is_asked = screen.start >= remote.asked.start && screen.end <= remote.asked.end;
        if screen.is_empty() || is_here || is_asked {
            return;
        }
        // Replaces, and so cancels, an earlier fetch.
        let rows = screen.start.saturating_sub(AROUND)
            ..screen.end.saturating_add(AROUND).min(remote.total);
        let wanted = TableSlice {
            query: self.shown.clone(),
            rows: rows.start as u64..rows.end as u64,
            total: remote.total as u64,
        };
        remote.pending = Some(context.find(&self.snapshot, wanted));
        remote.asked = rows;
    }

    /// Takes fetched rows.
    pub(super) fn take_rows(&mut self) {
        let Some(remote) = &mut self.remote else {
            return;
        };
        let Some(outcome) = remote.pending.as_mut().and_then(PendingResult::poll_now) else {
            return;
        };
        remote.pending = None;
        match outcome {
            Ok(frame) => {
                remote.start = remote.asked.start;
                remote.asked = 0..0;
                let rows = TableRows::in_memory(self.grid.schema(), &frame);
                self.problem = rows.as_ref().err().map(ToString::to_string);
                self.grid = Arc::new(rows.unwrap_or_default());
            }
            // Fetched again after scrolling elsewhere.
            Err(problem) => self.problem = Some(problem.detail),
        }
    }
}
