//! Which columns are on screen where a list scrolls sideways: the frozen ones, then as many of the others as fit with the selected among them.

use std::ops::Range;

use super::{Field, Fields, List, cells::BAR};
use crate::tui::widgets::table::{Column, ColumnAlign, GAP};

impl<L: Fields> List<L> {
    /// Leaves out those that are scrolled past.
    pub(super) fn scroll(&mut self, columns: &mut Vec<(Field<L>, Column)>, width: u16) {
        let least: Vec<u16> = columns.iter().map(|(_, column)| column.least()).collect();
        let selected = self.column().and_then(|key| columns.iter().position(|(field, _)| field.column.key == key)).unwrap_or(0);
        let frozen = self.frozen().min(columns.len());
        let window = window(&least, frozen, selected, self.first, width);
        self.first = window.start;
        let mut nth = 0..;
        columns.retain(|_| nth.next().is_some_and(|nth| nth < frozen || window.contains(&nth)));
        // Where none takes what is left, the figures would stand far from their titles: the last text does.
        if !columns.iter().any(|(_, column)| column.grows)
            && let Some((_, last)) = columns.last_mut()
        {
            last.grows = last.align == ColumnAlign::Left;
        }
    }
}

/// The places of the columns that are shown beside the `frozen` ones, given the least width of each, and the first one before.
fn window(least: &[u16], frozen: usize, selected: usize, first: usize, width: u16) -> Range<usize> {
    let count = least.len();
    let stay = least[..frozen].iter().fold(BAR, |used, least| used.saturating_add(least + GAP));
    let room = width.saturating_sub(stay.saturating_sub(GAP));
    let fitting = |first: usize| {
        let mut used = 0_u16;
        let fits = |least: &&u16| {
            used = used.saturating_add(**least + GAP);
            used <= room
        };
        least[first..].iter().take_while(fits).count()
    };
    let mut first = first.min(selected).min(count.saturating_sub(1)).max(frozen);
    while first < count && selected >= first + fitting(first).max(1) {
        first += 1;
    }
    // Nothing is left empty at the right while there is something to the left.
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
        // Six columns of 8 cells and their gap; the bar takes two more.
        let least = [8; 6];
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
            assert_eq!(window(&least, frozen, selected, first, width), expected, "{frozen} {selected} {first} {width}");
        }
        assert_eq!(window(&[], 0, 0, 0, 40), 0..0);
    }
}
