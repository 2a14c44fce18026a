//! A virtualized table: builds only the visible rows, so it handles twenty million rows and any rectangle. When narrow, columns are dropped
//! by priority. It does not sort or filter.

mod columns;

use std::borrow::Cow;

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use self::columns::GUTTER;
pub use self::columns::{ColumnAlign, GAP, TableColumn};
use crate::widgets::{
    text,
    theme::{Role, Theme},
};

/// A cell: pieces of text with their roles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    pub pieces: Vec<(Cow<'static, str>, Role)>,
    /// The number, abbreviated to the column's width in all rows if one of them does not fit.
    pub short: Option<f64>,
}

impl Cell {
    pub fn new(text: impl Into<Cow<'static, str>>, role: Role) -> Self {
        Self {
            pieces: vec![(text.into(), role)],
            ..Self::default()
        }
    }

    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(text, Role::Text)
    }

    /// A dim `–`.
    pub fn missing() -> Self {
        Self::new(model::format::MISSING, Role::Dim)
    }

    /// A formatted figure: dim if it is missing.
    pub fn figure(text: String) -> Self {
        let role = if text == model::format::MISSING {
            Role::Dim
        } else {
            Role::Text
        };
        Self::new(text, role)
    }

    /// A number in three digits, with a shorter form for narrow columns.
    pub fn number(value: f64) -> Self {
        Self::figure(model::format::human(Some(value))).or(value)
    }

    /// A change in percent in its color; the sign `%` is in the column's title.
    pub fn change(percent: Option<f64>) -> Self {
        let text = model::format::change(percent)
            .trim_end_matches(['%', ' '])
            .to_owned();
        Self::new(text, percent.map_or(Role::Dim, Role::of_change))
    }

    /// Sets the number that is abbreviated where the figure does not fit.
    #[must_use]
    pub fn or(mut self, number: f64) -> Self {
        self.short = Some(number);
        self
    }

    #[must_use]
    pub fn then(mut self, text: impl Into<Cow<'static, str>>, role: Role) -> Self {
        self.pieces.push((text.into(), role));
        self
    }

    /// Its text without roles.
    pub fn plain(&self) -> Cow<'_, str> {
        match &*self.pieces {
            [(only, _)] => Cow::Borrowed(only),
            pieces => Cow::Owned(pieces.iter().map(|(text, _)| &**text).collect()),
        }
    }
}

/// Selection and scroll offset of a table; owned by the view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableWidgetState {
    pub selected: usize,
    /// Scroll offset: the first row on screen.
    pub offset: usize,
}

impl TableWidgetState {
    /// Moves the selection by `rows`, within the table.
    pub fn step(&mut self, rows: isize, count: usize) {
        self.selected = self
            .selected
            .saturating_add_signed(rows)
            .min(count.saturating_sub(1));
    }

    pub fn select(&mut self, row: usize, count: usize) {
        self.selected = row.min(count.saturating_sub(1));
    }

    /// Scrolls the rows, as the wheel does; the selection stays on screen.
    pub fn scroll(&mut self, rows: isize, count: usize, height: usize) {
        self.offset = self
            .offset
            .saturating_add_signed(rows)
            .min(count.saturating_sub(height));
        self.selected = self
            .selected
            .clamp(
                self.offset,
                (self.offset + height.max(1) - 1).max(self.offset),
            )
            .min(count.saturating_sub(1));
    }

    /// Scrolls the selection into view.
    fn scroll_to_selection(&mut self, count: usize, height: usize) {
        self.selected = self.selected.min(count.saturating_sub(1));
        self.offset = self.offset.min(count.saturating_sub(height));
        if self.selected < self.offset {
            self.offset = self.selected;
        } else if height > 0 && self.selected - self.offset >= height {
            self.offset = self.selected + 1 - height;
        }
    }
}

/// A hit target of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// The index of the column.
    Header(usize),
    Row(usize),
    /// The star of a row.
    Star(usize),
    /// The scrollbar; the row of that position.
    Scrollbar(usize),
}

/// The alert state of a token, shown in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertMark {
    /// An alert is active.
    Up,
    /// An alert fired and was not seen yet.
    Fired,
}

/// The mark beside a row's star.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowMark {
    /// Marked for comparison.
    Compared,
    Alert(AlertMark),
}

/// A table to draw.
pub struct TableWidget<'a> {
    pub columns: &'a [TableColumn],
    pub count: usize,
    /// Builds row `i`: one cell for each column. Called only for visible rows.
    pub row: &'a dyn Fn(usize) -> Vec<Cell>,
    /// The sort columns, the most significant first, and whether each is descending.
    pub sort: Vec<(usize, bool)>,
    /// Highlighted where they occur in columns with `matched`.
    pub words: &'a [&'a str],
    /// Adds a gutter with ★ before the rows for which it returns true.
    pub star: Option<&'a dyn Fn(usize) -> bool>,
    /// The mark beside a row's star.
    pub marked: Option<&'a dyn Fn(usize) -> Option<RowMark>>,
    /// Whether the table has the focus; if not, the selection is muted.
    pub focused: bool,
    /// Whether the selected row is marked; not in a table that only shows rows.
    pub selects: bool,
    /// The placeholder of an empty table: one line with the reason and how to proceed.
    pub empty: &'a str,
}

impl<'a> TableWidget<'a> {
    pub fn new(
        columns: &'a [TableColumn],
        count: usize,
        row: &'a dyn Fn(usize) -> Vec<Cell>,
    ) -> Self {
        Self {
            columns,
            count,
            row,
            sort: Vec::new(),
            words: &[],
            star: None,
            marked: None,
            focused: true,
            selects: true,
            empty: "",
        }
    }

    /// Rows that fit in the area, for page keys.
    pub fn height(area: Rect) -> usize {
        usize::from(area.height.saturating_sub(1))
    }

    pub fn render(
        &self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        state: &mut TableWidgetState,
    ) {
        let area = area.intersection(buf.area);
        let height = Self::height(area);
        state.scroll_to_selection(self.count, height);
        if area.is_empty() {
            return;
        }
        let places = self.places(area);
        self.header(area, buf, theme, &places);
        if self.count == 0 {
            super::put(buf, area, self.gutter(), 1, self.empty, theme.dim());
            return;
        }
        let window = state.offset..(state.offset + height).min(self.count);
        let mut rows: Vec<Vec<Cell>> = window.clone().map(|i| (self.row)(i)).collect();
        Self::shorten(&mut rows, &places);
        self.align_decimals(&mut rows, &places);
        for (line, (index, cells)) in window.zip(&rows).enumerate() {
            let y = 1 + line as u16;
            self.body_row(area, buf, theme, &places, y, cells);
            if self.star.is_some_and(|star| star(index)) {
                super::put(buf, area, 0, y, "★", theme.style(Role::Warning));
            }
            if let Some(mark) = self.marked.and_then(|marked| marked(index)) {
                let (sign, role) = match mark {
                    RowMark::Compared => ("◆", Role::Accent),
                    RowMark::Alert(AlertMark::Up) => ("◦", Role::Dim),
                    RowMark::Alert(AlertMark::Fired) => ("!", Role::Warning),
                };
                super::put(buf, area, 1, y, sign, theme.style(role));
            }
            if self.selects && index == state.selected {
                let row = Rect {
                    y: area.y + y,
                    height: 1,
                    ..area
                };
                let style = theme.style(Role::Selection);
                buf.set_style(row, style);
                if self.focused {
                    buf.set_style(
                        row,
                        Style::new().add_modifier(ratatui::style::Modifier::BOLD),
                    );
                }
            }
        }
        self.scrollbar(area, buf, theme, state.offset);
    }

    /// The hit target at screen position (`x`, `y`).
    pub fn hit(&self, area: Rect, x: u16, y: u16, state: &TableWidgetState) -> Option<Hit> {
        if !area.contains((x, y).into()) {
            return None;
        }
        let (column, line) = (x - area.x, usize::from(y - area.y));
        if line == 0 {
            let places = self.places(area);
            return places
                .iter()
                .rfind(|place| place.x <= column.saturating_add(GAP))
                .map(|place| Hit::Header(place.column));
        }
        if self.scrolls(area) && x == area.right() - 1 {
            let height = Self::height(area);
            let row = (line - 1) as u128 * self.count as u128 / height.max(1) as u128;
            return Some(Hit::Scrollbar(row as usize));
        }
        let row = state
            .offset
            .checked_add(line - 1)
            .filter(|row| *row < self.count)?;
        Some(if column < self.gutter() {
            Hit::Star(row)
        } else {
            Hit::Row(row)
        })
    }

    /// The width of every column in the area; 0 for one that does not fit.
    pub fn widths(&self, area: Rect) -> Vec<usize> {
        let places = self.places(area);
        let width = |column| {
            places
                .iter()
                .find(|place| place.column == column)
                .map_or(0, |place| usize::from(place.width))
        };
        (0..self.columns.len()).map(width).collect()
    }

    fn gutter(&self) -> u16 {
        if self.star.is_some() { GUTTER } else { 0 }
    }

    fn scrolls(&self, area: Rect) -> bool {
        self.count > Self::height(area) && area.width > 4
    }

    fn places(&self, area: Rect) -> Vec<columns::ColumnPlace> {
        let bar = if self.scrolls(area) { 2 } else { 0 };
        let width = area.width.saturating_sub(self.gutter() + bar);
        let mut places = columns::places(self.columns, width);
        for place in &mut places {
            place.x += self.gutter();
        }
        places
    }

    fn header(&self, area: Rect, buf: &mut Buffer, theme: &Theme, places: &[columns::ColumnPlace]) {
        for place in places {
            let column = &self.columns[place.column];
            let mut title = column.title.to_uppercase();
            if !column.unit.is_empty() {
                title = format!("{title} {}", column.unit);
            }
            let sorted = self
                .sort
                .iter()
                .position(|(sorted, _)| *sorted == place.column);
            let style = if sorted.is_some() {
                theme.accent()
            } else {
                theme.dim()
            };
            let mark = sorted.map_or_else(String::new, |nth| {
                let arrow = if self.sort[nth].1 { "▾" } else { "▴" };
                // Secondary sort marks are numbered.
                if nth == 0 {
                    format!(" {arrow}")
                } else {
                    format!(" {arrow}{}", nth + 1)
                }
            });
            let cells = usize::from(place.width);
            // The title is cut before the sort mark.
            let title = text::truncate(&title, cells.saturating_sub(mark.chars().count()))
                .into_owned()
                + &mark;
            let slot = Rect {
                x: area.x + place.x,
                y: area.y,
                width: place.width,
                height: 1,
            };
            super::put(
                buf,
                slot,
                0,
                0,
                &text::fit(&title, cells, column.align.plain()),
                style,
            );
        }
    }

    fn body_row(
        &self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        places: &[columns::ColumnPlace],
        y: u16,
        cells: &[Cell],
    ) {
        for place in places {
            let (column, missing) = (&self.columns[place.column], Cell::missing());
            let cell = cells.get(place.column).unwrap_or(&missing);
            let slot = Rect {
                x: area.x.saturating_add(place.x),
                y: area.y + y,
                width: place.width,
                height: 1,
            };
            let cells = usize::from(place.width);
            let used = text::width(&cell.plain());
            if used > cells && column.align.plain() == text::Align::Right {
                let style = cell
                    .pieces
                    .first()
                    .map_or_else(|| theme.text(), |(_, role)| theme.style(*role));
                super::put_right(buf, slot, 0, &cell.plain(), style);
                continue;
            }
            let used = used.min(cells) as u16;
            let mut x = if column.align.plain() == text::Align::Right {
                place.width - used
            } else {
                0
            };
            for (piece, role) in &cell.pieces {
                x += super::put(buf, slot, x, 0, piece, theme.style(*role));
            }
            if column.matched {
                self.mark(
                    slot,
                    buf,
                    theme,
                    &cell.plain(),
                    place.width - used,
                    column.align.plain(),
                );
            }
        }
    }

    /// Highlights the matched words in the cell's text.
    fn mark(
        &self,
        slot: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        plain: &str,
        spare: u16,
        align: text::Align,
    ) {
        let clean = text::clean(plain);
        let lower = clean.to_lowercase();
        if lower.len() != clean.len() {
            return;
        }
        for word in self.words.iter().filter(|word| !word.is_empty()) {
            let Some(found) = lower.find(word) else {
                continue;
            };
            let (Some(before), Some(inside)) =
                (clean.get(..found), clean.get(found..found + word.len()))
            else {
                continue;
            };
            let start = text::width(before) as u16
                + if align == text::Align::Right {
                    spare
                } else {
                    0
                };
            let width = (text::width(inside) as u16).min(slot.width.saturating_sub(start));
            if start < slot.width {
                buf.set_style(
                    Rect {
                        x: slot.x + start,
                        width,
                        ..slot
                    }
                    .intersection(buf.area),
                    theme.matched(),
                );
            }
        }
    }

    /// Switches a column's figures to their shorter form where one does not fit, for one style in all of it.
    fn shorten(rows: &mut [Vec<Cell>], places: &[columns::ColumnPlace]) {
        for place in places {
            let too_long = |cell: &Cell| {
                cell.short.is_some() && text::width(&cell.plain()) > usize::from(place.width)
            };
            if !rows
                .iter()
                .any(|cells| cells.get(place.column).is_some_and(too_long))
            {
                continue;
            }
            for cell in rows
                .iter_mut()
                .filter_map(|cells| cells.get_mut(place.column))
            {
                if let (Some(number), Some((text, _))) =
                    (cell.short.take(), cell.pieces.first_mut())
                {
                    *text = Cow::Owned(model::format::brief(number, usize::from(place.width)));
                }
            }
        }
    }

    fn align_decimals(&self, rows: &mut [Vec<Cell>], places: &[columns::ColumnPlace]) {
        for place in places
            .iter()
            .filter(|place| self.columns[place.column].align == ColumnAlign::Decimal)
        {
            let mut texts: Vec<String> = rows
                .iter()
                .map(|cells| {
                    cells
                        .get(place.column)
                        .map_or_else(String::new, |cell| cell.plain().into_owned())
                })
                .collect();
            let before: Vec<usize> = texts.iter().map(String::len).collect();
            model::format::align_decimals(&mut texts);
            // Alignment must not cost digits: if it does not fit, right alignment is enough.
            if texts
                .iter()
                .any(|text| text::width(text) > usize::from(place.width))
            {
                continue;
            }
            for ((cells, text), before) in rows.iter_mut().zip(texts).zip(before) {
                if let (Some(cell), true) = (cells.get_mut(place.column), text.len() > before) {
                    cell.pieces
                        .push((Cow::Owned(text[before..].to_owned()), Role::Text));
                }
            }
        }
    }

    fn scrollbar(&self, area: Rect, buf: &mut Buffer, theme: &Theme, offset: usize) {
        if !self.scrolls(area) {
            return;
        }
        let height = Self::height(area);
        let thumb = (height as u128 * height as u128 / self.count.max(1) as u128).max(1) as usize;
        let range = self.count - height.min(self.count);
        let top = if range == 0 {
            0
        } else {
            (offset as u128 * (height - thumb.min(height)) as u128 / range as u128) as usize
        };
        for line in top..(top + thumb).min(height) {
            super::put(
                buf,
                area,
                area.width - 1,
                1 + line as u16,
                "▐",
                theme.style(Role::Grid),
            );
        }
    }
}

#[cfg(test)]
mod tests;
