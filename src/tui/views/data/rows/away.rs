//! Rows that stay at their source: those around what is on screen are fetched, off the drawing thread, and the others are on their way.

use std::ops::Range;

use polars::prelude::DataFrame;

use super::{RowsPane, Wake};
use crate::{
    dataset::{Table, grid::Grid},
    deck::{TableSlice, pending::Coming},
    tui::view::Context,
};

/// Rows that are fetched on either side of those on screen.
const AROUND: usize = 200;

/// A table of which only some rows are here: those of the view's grid.
#[derive(Debug)]
pub(super) struct Away {
    /// Rows that there are.
    total: usize,
    /// The place of the grid's first row among all.
    start: usize,
    coming: Option<Coming<(u64, DataFrame)>>,
    /// The places that are on their way, or could not be had.
    asked: Range<usize>,
}

impl Away {
    pub(super) fn of(table: &Table) -> Option<Self> {
        let total = usize::try_from(table.shelf.as_ref()?.total()).unwrap_or(usize::MAX);
        Some(Self { total, start: 0, coming: None, asked: 0..0 })
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Where in the grid a row of the table is; none while it is on its way.
    pub(super) fn in_grid(away: Option<&Self>, grid: &Grid, row: usize) -> Option<usize> {
        match away {
            Some(away) => row.checked_sub(away.start).filter(|row| *row < grid.height()),
            None => Some(row),
        }
    }

    #[cfg(test)]
    pub(super) fn is_under_way(&self) -> bool {
        self.coming.is_some()
    }
}

impl RowsPane {
    /// Rows that there are, wherever.
    pub(super) fn height(&self) -> usize {
        self.away.as_ref().map_or_else(|| self.grid.height(), Away::total)
    }

    /// Where in the grid a row of the table is; none while it is on its way.
    pub(super) fn in_grid(&self, row: usize) -> Option<usize> {
        Away::in_grid(self.away.as_ref(), &self.grid, row)
    }

    /// Asks for the rows on screen that are not here.
    pub(super) fn look_further(&mut self, context: &Context<'_>) {
        let (screen, here) = (self.list.cursor.on_screen(), self.grid.height());
        let Some(away) = &mut self.away else { return };
        let is_here = screen.start >= away.start && screen.end <= away.start + here;
        let is_asked = screen.start >= away.asked.start && screen.end <= away.asked.end;
        if screen.is_empty() || is_here || is_asked {
            return;
        }
        // What was wanted before is not waited for.
        let rows = screen.start.saturating_sub(AROUND)..screen.end.saturating_add(AROUND).min(away.total);
        let wake = Wake::clone(context.wake);
        let wanted = TableSlice { table: self.schema.name, rows: rows.start as u64..rows.end as u64, first: screen.start as u64 };
        away.coming = Some(context.deck.find(&self.snapshot, wanted, move || wake()));
        away.asked = rows;
    }

    /// Takes the rows that have come.
    pub(super) fn take_rows(&mut self) {
        let Some(away) = &mut self.away else { return };
        let Some(outcome) = away.coming.as_mut().and_then(Coming::poll_now) else { return };
        away.coming = None;
        match outcome {
            Ok((start, frame)) => {
                away.start = start as usize;
                self.grid = Grid::Memory(frame);
                away.asked = 0..0;
                self.problem = None;
            }
            // Asked for again once something else was on screen.
            Err(problem) => self.problem = Some(problem.detail),
        }
    }
}
