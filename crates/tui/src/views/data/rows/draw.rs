//! Draws the rows of a table: the list, the selected cell below it, the pane beside it, pending progress.

use super::{RowsPane, cells, rows};
use crate::views::prelude::*;
use model::schema::Column;
use table::TableRows;

/// From this width the inspector is drawn beside the rows, else instead of them.
const BESIDE: u16 = 120;

impl RowsPane {
    pub(in crate::views::data) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        context: &Context<'_>,
    ) {
        if let Some(groups) = &mut self.groups {
            return groups.draw(self.schema.name, buffer, area, context);
        }
        let opened = self.column_pane.is_some() || self.inspector.is_some();
        let (left, right) = match opened.then_some(()) {
            Some(()) if area.width >= BESIDE => beside(area, (area.width * 38 / 100).clamp(64, 90)),
            Some(()) => (Rect::default(), area),
            None => (area, Rect::default()),
        };
        if !left.is_empty() {
            self.draw_table(buffer, left, context);
        }
        if let Some(pane) = &self.column_pane {
            return pane.draw(buffer, right, context);
        }
        let selected = self
            .selected()
            .and_then(|(row, column)| Some((self.in_grid(row)?, column.name)));
        if let (Some(inspector), Some((row, field))) = (&mut self.inspector, selected) {
            let inspected = InspectedRow {
                grid: &self.grid,
                columns: &self.columns,
                row,
                field,
                table: self.schema.name,
            };
            inspector.draw(buffer, right, &inspected, context);
        }
    }

    /// Draws the first rows without a selection.
    pub(in crate::views::data) fn draw_first_rows(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        context: &Context<'_>,
    ) {
        let panel = Panel {
            note: "Enter opens them",
            ..Panel::new("first rows")
        };
        let body = inset(panel.render(area, buffer, context.theme));
        self.list.draw(
            buffer,
            ListFrame::new(body, "the table has no rows").to_read(),
            context,
            rows(&self.grid, None, &self.columns, &self.order.places),
        );
    }

    fn draw_table(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let title = self.list.titled(self.schema.name);
        let progress = self
            .pending
            .as_ref()
            .map(|(pending, _)| progress::share(pending.progress()));
        let note = if progress.is_some() {
            "Esc cancels".to_owned()
        } else {
            self.note(area.width)
        };
        let panel = Panel {
            note: &note,
            focused: true,
            progress,
            ..Panel::new(&title)
        };
        let body = inset(panel.render(area, buffer, context.theme));
        // The full selected cell, under the rows.
        let line = u16::from(body.height > 4);
        let mut table_area = Rect {
            height: body.height - line,
            ..body
        };
        if let Some(problem) = &self.problem {
            panel::failure(Rect { height: 1, ..body }, buffer, context.theme, problem);
            table_area = Rect {
                y: table_area.y + 1,
                height: table_area.height.saturating_sub(1),
                ..table_area
            };
        }
        let empty = if self.shown_filter.is_empty() {
            "the table has no rows"
        } else {
            "no row matches the filter; press / to change it"
        };
        let frame = ListFrame {
            sort: Some(&self.shown.sort),
            ..ListFrame::new(table_area, empty)
        };
        self.list.draw(
            buffer,
            frame,
            context,
            rows(
                &self.grid,
                self.remote.as_ref(),
                &self.columns,
                &self.order.places,
            ),
        );
        self.fetch_on_screen(context);
        if line > 0 {
            self.draw_line(
                buffer,
                Rect {
                    y: body.bottom() - 1,
                    height: 1,
                    ..body
                },
                context,
            );
        }
    }

    /// Draws the selected cell, `close  2,987.4100012  last price, USD`, and the column's position.
    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let Some((row, column)) = self.selected() else {
            return;
        };
        let shown: Vec<_> = self
            .list
            .columns()
            .into_iter()
            .filter(|(.., shown)| *shown)
            .map(|(key, ..)| key)
            .collect();
        let nth = shown
            .iter()
            .position(|key| *key == column.name)
            .map_or(0, |nth| nth + 1);
        let place = format!(
            "column {nth} of {} · row {}",
            shown.len(),
            format::count(row as u64 + 1)
        );
        let value = self.value(column.name, row);
        let room = area.width.saturating_sub(text::width(&place) as u16 + 2);
        let left = Rect {
            width: room,
            ..area
        };
        let mut x = put(buffer, left, 0, 0, column.name, theme.accent());
        let left_over = usize::from(room.saturating_sub(x + 2));
        let short = || {
            let number = cells::cell(&value, column.kind).short?;
            Some(format::brief(number, left_over))
        };
        let exact = Some(cells::exact(&value))
            .filter(|exact| text::width(exact) + usize::from(x) + 2 <= usize::from(room));
        let value = exact.or_else(short).unwrap_or_else(|| cells::exact(&value));
        x += 2 + put(buffer, left, x + 2, 0, &value, theme.text());
        if x + 6 < room {
            put(
                buffer,
                left,
                x + 2,
                0,
                column.meaning,
                theme.style(Role::Dim),
            );
        }
        put(buffer, area, room + 2, 0, &place, theme.dim());
    }
}

// The row inspector: every column of the selected row in full, with name, value and meaning.

/// Maximum number of lines of a long value.
const VALUE_LINES: usize = 6;

#[derive(Debug, Default)]
pub(super) struct Inspector {
    /// Scroll offset.
    top: usize,
}

/// The inspected row and its selected column.
pub(super) struct InspectedRow<'a> {
    pub(super) grid: &'a TableRows,
    pub(super) columns: &'a [Column],
    pub(super) row: usize,
    /// The selected column.
    pub(super) field: &'a str,
    pub(super) table: &'a str,
}

impl Inspector {
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        inspected: &InspectedRow<'_>,
        context: &Context<'_>,
    ) {
        let theme = context.theme;
        let title = format!(
            "{} · row {}",
            inspected.table,
            format::count(inspected.row as u64 + 1)
        );
        let body = Panel {
            note: "← → column  y copy  Esc close",
            ..Panel::new(&title)
        }
        .render(area, buffer, theme);
        let names = inspected
            .columns
            .iter()
            .map(|column| column.name.len())
            .max()
            .unwrap_or(0) as u16;
        let room = usize::from(body.width.saturating_sub(names + 3)).max(1);
        let mut lines: Vec<(&str, String, String, Role)> = Vec::new();
        let mut selected = 0..0;
        for column in inspected.columns {
            let value = inspected.grid.cell(column.name, inspected.row);
            let role = if value == Scalar::Missing {
                Role::Dim
            } else {
                Role::Text
            };
            let start = lines.len();
            let mut parts = text::wrap(&cells::exact(&value), room, VALUE_LINES);
            if parts.is_empty() {
                parts.push(String::new());
            }
            for (nth, part) in parts.into_iter().enumerate() {
                lines.push((
                    column.name,
                    if nth == 0 {
                        column.name.to_owned()
                    } else {
                        String::new()
                    },
                    part,
                    role,
                ));
            }
            if column.name == inspected.field {
                for part in text::wrap(column.meaning, room, 2) {
                    lines.push((column.name, String::new(), part, Role::Dim));
                }
                selected = start..lines.len();
            }
        }
        let height = usize::from(body.height);
        if selected.start < self.top {
            self.top = selected.start;
        } else if selected.end > self.top + height {
            self.top = selected.end - height;
        }
        self.top = self.top.min(lines.len().saturating_sub(height));
        for (y, (column, name, value, role)) in lines.iter().skip(self.top).take(height).enumerate()
        {
            let y = y as u16;
            let chosen = *column == inspected.field;
            put(
                buffer,
                body,
                1,
                y,
                name,
                if chosen { theme.accent() } else { theme.dim() },
            );
            put(buffer, body, names + 3, y, value, theme.style(*role));
            if chosen {
                buffer.set_style(
                    Rect {
                        y: body.y + y,
                        height: 1,
                        ..body
                    }
                    .intersection(buffer.area),
                    theme.style(Role::Selection),
                );
            }
        }
    }
}
