//! Paths of source files where there is little room: what tells files apart is their end, so the beginning is cut.

use ratatui::layout::Rect;

use crate::tui::{
    text,
    widgets::table::{Column, Hit, Table, TableState},
};

/// The cells of a column other than the first, as the table is about to draw it; none if it is not shown.
pub(super) fn room(columns: &[Column], key: &str, count: usize, area: Rect) -> usize {
    let table = Table::new(columns, count, &|_| Vec::new());
    let state = TableState::default();
    let under = |x: u16| match table.hit(area, x, area.y, &state) {
        Some(Hit::Header(place)) => columns.get(place).map(|column| column.key),
        _ => None,
    };
    let all = (area.x..area.right()).filter(|&x| under(x) == Some(key)).count();
    // A header's place begins with the gap before it; the last one's ends with the scrollbar.
    let last = area.right().checked_sub(1).and_then(under) == Some(key);
    let bar = if last && count > Table::height(area) { 2 } else { 0 };
    all.saturating_sub(GAP + bar)
}

/// Cells between two columns, at most.
const GAP: usize = 2;

/// `…/candles_hourly.parquet`: the last folders and the name that fit, or the end of the name.
pub(super) fn cut(path: &str, cells: usize) -> String {
    let path = text::clean(path);
    if text::width(&path) <= cells {
        return path.into_owned();
    }
    let tails = |at: usize| path.get(at..).filter(|tail| text::width(tail) < cells);
    let folder = path.char_indices().filter(|(_, c)| matches!(c, '/' | '\\')).find_map(|(at, _)| tails(at));
    match folder.or_else(|| path.char_indices().find_map(|(at, _)| tails(at))) {
        Some(tail) if cells > 0 => format!("…{tail}"),
        _ => text::truncate(&path, cells).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_stays() {
        let cases = [
            ("a/b.csv", 20, "a/b.csv"),
            ("market/eth/candles_hourly.parquet", 29, "…/eth/candles_hourly.parquet"),
            ("market/eth/candles_hourly.parquet", 26, "…/candles_hourly.parquet"),
            ("market/eth/candles_hourly.parquet", 12, "…rly.parquet"),
            ("candles_hourly.parquet", 10, "…y.parquet"),
            ("漢字/漢字.csv", 8, "…字.csv"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ];
        for (path, cells, shown) in cases {
            assert_eq!(cut(path, cells), shown, "{path} in {cells}");
            assert!(text::width(&cut(path, cells)) <= cells);
        }
    }

    #[test]
    fn the_room_of_a_column_is_what_the_table_gives_it() {
        const COLUMNS: &[Column] = &[Column::text("name", "name", 6, 6, 255), Column::text("file", "file", 8, 8, 200).grows()];
        let area = Rect::new(3, 2, 40, 5);
        assert_eq!((room(COLUMNS, "file", 4, area), room(COLUMNS, "file", 9, area)), (40 - 6 - GAP, 40 - 6 - GAP - 2));
        assert_eq!(room(COLUMNS, "file", 4, Rect::new(0, 0, 7, 5)), 0);
    }
}
