//! The cells of a sheet as rows. A sheet costs what its cells cost: all sheets of a workbook share a room for filled cells and for the empty
//! ones between them, and what does not fit is refused before it is allocated.

use super::super::{error::WorkbookError, sniff::COLUMNS_MAX};

/// Maximum number of filled cells in a workbook: a full sheet of 11 columns.
pub(in super::super) const CELLS_MAX: usize = 12_000_000;
/// Maximum number of rows, as in Excel.
const ROWS_MAX: usize = 1 << 20;
/// Empty cells that there may be, and those that each filled one may bring.
const EMPTY_MAX: usize = 4_000_000;
const EMPTY_PER_CELL: usize = 4;
/// Bytes that the texts of all cells may take beyond those that the workbook stores: cells may share a text, and each holds a copy.
const REPEATED_MAX: u64 = 96 << 20;

/// The cells of a workbook that are held so far.
#[derive(Debug, Default)]
pub(super) struct Room {
    filled: usize,
    empty: usize,
    /// Bytes of their texts, and of the texts that the workbook stores.
    text: u64,
    stored: u64,
}

impl Room {
    /// The workbook stores these bytes of text, at most.
    pub(super) fn stores(&mut self, bytes: u64) {
        self.stored = self.stored.saturating_add(bytes);
    }

    fn fits(&self, empty: usize) -> bool {
        self.empty.saturating_add(empty) <= EMPTY_MAX + EMPTY_PER_CELL * self.filled
    }
}

/// Rows, each to its last filled cell.
#[derive(Debug, Default)]
pub(super) struct SheetGrid {
    rows: Vec<Vec<String>>,
    /// Width of the row last written to: the next one is likely as wide.
    width: usize,
}

impl SheetGrid {
    pub(super) fn put(
        &mut self,
        (row, column): (usize, usize),
        text: String,
        room: &mut Room,
    ) -> Result<(), WorkbookError> {
        if text.is_empty() {
            return Ok(());
        }
        if column >= COLUMNS_MAX || row >= ROWS_MAX {
            return Err(WorkbookError::FarCell {
                row: row + 1,
                column: column + 1,
                columns: COLUMNS_MAX,
                rows: ROWS_MAX,
            });
        }
        room.filled += 1;
        if room.filled > CELLS_MAX {
            return Err(WorkbookError::TooManyCells { max: CELLS_MAX });
        }
        room.text = room.text.saturating_add(text.len() as u64);
        if room.text > room.stored.saturating_add(REPEATED_MAX) {
            return Err(WorkbookError::RepeatedTexts {
                mib: REPEATED_MAX >> 20,
            });
        }
        let known = self.rows.get(row).map_or(0, Vec::len);
        let empty = (row + 1).saturating_sub(self.rows.len()) + column.saturating_sub(known);
        if !room.fits(empty) {
            return Err(WorkbookError::Sparse);
        }
        room.empty += empty;
        if row >= self.rows.len() {
            self.rows.resize_with(row + 1, Vec::new);
        }
        let Some(cells) = self.rows.get_mut(row) else {
            return Ok(());
        };
        if cells.is_empty() {
            cells.reserve_exact(self.width.max(column + 1));
        }
        if column >= cells.len() {
            cells.resize(column + 1, String::new());
        }
        if let Some(cell) = cells.get_mut(column) {
            *cell = text;
        }
        self.width = cells.len();
        Ok(())
    }

    /// The rows from the first filled one on, without the empty columns before them, all of the same width where that takes little room.
    pub(super) fn rows(mut self, room: &mut Room) -> Vec<Vec<String>> {
        let is_filled = |row: &&mut Vec<String>| !row.is_empty();
        let top = self
            .rows
            .iter()
            .position(|row| !row.is_empty())
            .unwrap_or_default();
        self.rows.drain(..top);
        let left = self
            .rows
            .iter()
            .filter_map(|row| row.iter().position(|cell| !cell.is_empty()))
            .min()
            .unwrap_or_default();
        if left > 0 {
            self.rows
                .iter_mut()
                .filter(is_filled)
                .for_each(|row| drop(row.drain(..left)));
        }
        let width = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let missing = self
            .rows
            .iter()
            .filter(|row| !row.is_empty())
            .map(|row| width - row.len())
            .sum();
        if room.fits(missing) {
            room.empty += missing;
            self.rows
                .iter_mut()
                .filter(is_filled)
                .for_each(|row| row.resize(width, String::new()));
        }
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(
        cells: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Vec<Vec<String>>, WorkbookError> {
        let (mut grid, mut room) = (SheetGrid::default(), Room::default());
        cells
            .into_iter()
            .try_for_each(|at| grid.put(at, "x".to_owned(), &mut room))?;
        Ok(grid.rows(&mut room))
    }

    #[test]
    fn a_sparse_sheet_costs_what_its_cells_cost() {
        let sizes = |rows: Vec<Vec<String>>| {
            (
                rows.len(),
                rows.iter().map(Vec::len).max().unwrap_or_default(),
            )
        };
        for (name, cells, expected) in [
            (
                "a table away from the corner",
                vec![(2, 3), (2, 4), (3, 3)],
                (2, 2),
            ),
            (
                "a stray cell below",
                vec![(0, 0), (0, 1), (ROWS_MAX - 1, 0)],
                (ROWS_MAX, 2),
            ),
            (
                "a stray cell beside",
                vec![(0, 0), (1, 0), (1, COLUMNS_MAX - 1)],
                (2, COLUMNS_MAX),
            ),
        ] {
            assert_eq!(grid(cells).map(sizes).expect(name), expected, "{name}");
        }
        for (name, cells, reason) in [
            (
                "too far right",
                vec![(0, 0), (0, COLUMNS_MAX)],
                "column 10001",
            ),
            ("too far down", vec![(ROWS_MAX, 0)], "row 1048577"),
            (
                "a diagonal",
                (0..COLUMNS_MAX).map(|at| (at, at)).collect(),
                "far apart",
            ),
        ] {
            assert!(
                grid(cells).is_err_and(|error| error.to_string().contains(reason)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_text_that_many_cells_share_is_copied_up_to_a_limit() {
        let text = "x".repeat(1 << 20);
        for (name, cells, stored, fits) in [
            ("repeated", 97, 0, false),
            ("repeated a little", 96, 0, true),
            ("stored in the file", 110, 20 << 20, true),
        ] {
            let (mut grid, mut room) = (SheetGrid::default(), Room::default());
            room.stores(stored);
            let put = (0..cells).try_for_each(|row| grid.put((row, 0), text.clone(), &mut room));
            assert!(
                put.as_ref().map_or_else(
                    |error| !fits && matches!(error, WorkbookError::RepeatedTexts { .. }),
                    |()| fits
                ),
                "{name}: {put:?}"
            );
        }
    }
}
