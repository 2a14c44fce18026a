//! Column layout of a list: when it is narrow, the columns of lowest priority are dropped, or columns scroll horizontally with the selected
//! one in view.

use std::ops::Range;

use ratatui::layout::Rect;

use super::{CellContext, Field, Fields, List, ListRow, cells::BAR};
use crate::{
    views::view::Context,
    widgets::{
        table::{Cell, ColumnAlign, GAP, TableColumn, TableWidget},
        text,
    },
};
use model::format::align_decimals;

/// Width of the sort mark after a title.
const MARK: u16 = 2;

/// From this width, columns take their ideal widths first.
const ROOMY: u16 = 110;

/// Extra priority of columns that are hidden by default and were turned on, and of those that the filter names.
const ASKED_FOR: u8 = 50;

impl<L: Fields> List<L> {
    /// The drawn columns, without those scrolled out of view.
    pub(super) fn on_screen_columns(&mut self, width: u16) -> (Vec<Field<L>>, Vec<TableColumn>) {
        let columns = self.screen_columns(width);
        let mut both: Vec<(Field<L>, TableColumn)> = self
            .drawn_fields()
            .into_iter()
            .copied()
            .zip(columns)
            .collect();
        if L::SCROLLS {
            self.scroll(&mut both, width);
        }
        both.into_iter().unzip()
    }

    /// Sets the minimum width of each figure column to its widest figure, so that none is cut; for lists short enough to scan.
    pub fn fit_figures(&mut self, rows: &[L::Row<'_>], context: &Context<'_>) {
        let figures = |field: &Field<L>| {
            let look = CellContext {
                cells: usize::from(field.column.ideal),
                now: context.now,
                newest: context.newest(),
                zone: context.zone,
            };
            let cells = rows
                .iter()
                .map(|&row| field.show(ListRow { given: row }, &look));
            // Figures with a short form need no extra room.
            let mut texts: Vec<String> = cells
                .filter(|cell| cell.short.is_none())
                .map(|cell: Cell| cell.plain().into_owned())
                .collect();
            if field.column.align == ColumnAlign::Decimal {
                align_decimals(&mut texts);
            }
            texts
                .iter()
                .map(|text| text::width(text) as u16)
                .max()
                .unwrap_or(0)
        };
        let fields = L::FIELDS
            .iter()
            .filter(|field| field.shown && field.column.align != ColumnAlign::Left);
        self.min_widths = fields
            .map(|field| (field.column.key, figures(field)))
            .collect();
    }

    fn is_asked_for(&self, field: &Field<L>) -> bool {
        field.optional || self.filter.names(field.column.key)
    }

    /// Number of chosen columns that have no room at this width next to columns of higher priority.
    pub fn without_room(&self, width: u16) -> usize {
        let fields = self.drawn_fields();
        let mut columns = self.screen_columns(width);
        for (column, field) in columns
            .iter_mut()
            .zip(&fields)
            .filter(|(_, field)| self.is_asked_for(field))
        {
            column.priority = column.priority.min(field.column.priority);
        }
        let nothing: &dyn Fn(usize) -> Vec<Cell> = &|_| Vec::new();
        let star = |_: usize| false;
        let table = TableWidget {
            star: L::STARS.then_some(&star),
            ..TableWidget::new(&columns, self.len(), nothing)
        };
        // One row: whether there is a scrollbar depends on the height, which may change.
        let widths = table.widths(Rect {
            width: width.saturating_sub(BAR),
            ..Rect::new(0, 0, 0, 2)
        });
        fields
            .iter()
            .zip(widths)
            .filter(|(field, width)| *width == 0 && self.is_asked_for(field))
            .count()
    }

    /// Number of frozen columns, which stay at any width.
    fn frozen(&self) -> usize {
        self.layout.frozen.max(usize::from(L::SCROLLS))
    }

    /// Column priorities when narrow: frozen columns, the selected cell's column, the user's sort columns, then the rest.
    fn screen_columns(&self, width: u16) -> Vec<TableColumn> {
        let fields = self.drawn_fields();
        let selected = self
            .column()
            .and_then(|key| fields.iter().position(|field| field.column.key == key));
        let sorted = |key: &str| {
            self.sorting.is_chosen() && self.sorting.keys().iter().any(|order| order.column == key)
        };
        let fitted = |(nth, field): (usize, &&Field<L>)| {
            let mut column = field.column_in(width);
            if let Some((_, min_width)) = self.min_widths.iter().find(|(key, _)| *key == column.key)
            {
                (column.min, column.ideal) =
                    (column.min.max(*min_width), column.ideal.max(*min_width));
            }
            if let Some((_, ideal)) = self.ideal_widths.iter().find(|(key, _)| *key == column.key) {
                column.ideal = column.ideal.max(*ideal);
                // The day of an older figure is worth more than another column.
                column.min = if width >= ROOMY {
                    column.ideal
                } else {
                    column.min
                };
            }
            if self
                .sorting
                .keys()
                .iter()
                .any(|order| order.column == column.key)
            {
                // The sort mark must not cut the title.
                column.min = column.min.max(column.title_width() + MARK);
            }
            column = column.widened(self.layout.wider_by(column.key));
            if self.is_asked_for(field) {
                column.priority = column.priority.saturating_add(ASKED_FOR).min(252);
            }
            // With horizontal scrolling the selected column is on screen already, and no width may change while moving.
            if selected == Some(nth) && !L::SCROLLS {
                column.priority = 254;
            }
            if nth < self.frozen() {
                column.priority = 255;
            } else if sorted(column.key) {
                column.priority = column.priority.max(253);
            }
            column
        };
        fields.iter().enumerate().map(fitted).collect()
    }

    /// Drops the columns scrolled out of view.
    fn scroll(&mut self, columns: &mut Vec<(Field<L>, TableColumn)>, width: u16) {
        let min_widths: Vec<u16> = columns
            .iter()
            .map(|(_, column)| column.min_width())
            .collect();
        let selected = self
            .column()
            .and_then(|key| {
                columns
                    .iter()
                    .position(|(field, _)| field.column.key == key)
            })
            .unwrap_or(0);
        let frozen = self.frozen().min(columns.len());
        let window = window(&min_widths, frozen, selected, self.first_scrolled, width);
        self.first_scrolled = window.start;
        let mut nth = 0..;
        columns.retain(|_| {
            nth.next()
                .is_some_and(|nth| nth < frozen || window.contains(&nth))
        });
        // Without a growing column, the figures would be far from their titles: a text column at the end grows.
        if !columns.iter().any(|(_, column)| column.grows)
            && let Some((_, last)) = columns.last_mut()
        {
            last.grows = last.align == ColumnAlign::Left;
        }
    }
}

/// The range of columns visible beside the `frozen` ones, from their minimum widths and the previous scroll offset `first`.
fn window(
    min_widths: &[u16],
    frozen: usize,
    selected: usize,
    first: usize,
    width: u16,
) -> Range<usize> {
    let count = min_widths.len();
    let stay = min_widths[..frozen]
        .iter()
        .fold(BAR, |used, min_width| used.saturating_add(min_width + GAP));
    let room = width.saturating_sub(stay.saturating_sub(GAP));
    let fitting = |first: usize| {
        let mut used = 0_u16;
        let fits = |min_width: &&u16| {
            used = used.saturating_add(**min_width + GAP);
            used <= room
        };
        min_widths[first..].iter().take_while(fits).count()
    };
    let mut first = first.min(selected).min(count.saturating_sub(1)).max(frozen);
    while first < count && selected >= first + fitting(first).max(1) {
        first += 1;
    }
    // No empty space at the right while columns are scrolled out at the left.
    while first > frozen && first - 1 + fitting(first - 1) >= count {
        first -= 1;
    }
    let shown = fitting(first).max(usize::from(selected >= frozen));
    first..(first + shown).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_column_is_on_screen_and_no_room_is_left_while_columns_are_hidden() {
        // Six columns of 8 cells and their gap; the scrollbar takes two more.
        let min_widths = [8; 6];
        for (frozen, selected, first, width, expected) in [
            (1, 0, 1, 40, 1..4),
            (1, 3, 1, 40, 1..4),
            (1, 5, 1, 40, 3..6),
            (1, 0, 5, 40, 1..4),
            (1, 2, 4, 40, 2..5),
            (2, 5, 0, 40, 4..6),
            (1, 4, 0, 200, 1..6),
            (1, 4, 0, 5, 4..5),
            (1, 0, 0, 5, 1..1),
            (6, 2, 0, 40, 6..6),
        ] {
            assert_eq!(
                window(&min_widths, frozen, selected, first, width),
                expected,
                "{frozen} {selected} {first} {width}"
            );
        }
        assert_eq!(window(&[], 0, 0, 0, 40), 0..0);
    }
}
