//! The row inspector: every column of the selected row in full, with name, value and meaning.

use super::cells;
use crate::views::prelude::*;
use model::schema::Column;
use table::TableRows;

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
