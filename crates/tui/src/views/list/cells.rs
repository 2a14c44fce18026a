//! Cell selection: the selected cell's column, filtering by its value, and highlighting it.

use crossterm::event::MouseEvent;
use model::scalar::Scalar;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Fields, List, ListRow};
use crate::{
    views::{error::InputError, view::Context},
    widgets::table::{Hit, TableWidget},
};
use model::time::{DAY_MS, HOUR_MS};

/// Width of the scrollbar in cells.
pub(super) const BAR: u16 = 2;

impl<L: Fields> List<L> {
    /// The key of the selected cell's column; `None` while a whole row is selected.
    pub fn column(&self) -> Option<&'static str> {
        let shown = self.drawn_fields();
        let chosen = self
            .column
            .filter(|key| shown.iter().any(|field| field.column.key == *key));
        chosen.or_else(|| {
            shown
                .first()
                .filter(|_| L::SCROLLS)
                .map(|field| field.column.key)
        })
    }

    /// Moves to the neighboring column; false where the list has no selectable cells.
    pub(super) fn step_column(&mut self, right: bool) -> bool {
        if !L::CELLS {
            return false;
        }
        let keys: Vec<&'static str> = self
            .drawn_fields()
            .iter()
            .map(|field| field.column.key)
            .collect();
        let at = self
            .column()
            .and_then(|key| keys.iter().position(|known| *known == key));
        let next = match (at, right) {
            // The first press selects the first column.
            (None, _) => Some(0),
            (Some(at), true) => Some((at + 1).min(keys.len().saturating_sub(1))),
            // Left of the first column, the whole row is selected again.
            (Some(at), false) => at.checked_sub(1),
        };
        self.column = next.and_then(|at| keys.get(at).copied());
        true
    }

    /// Selects the clicked cell.
    pub(super) fn click_column(&mut self, mouse: MouseEvent) {
        let on_bar = matches!(
            self.cursor.hit(mouse.column, mouse.row),
            Some(Hit::Scrollbar(_))
        );
        if L::CELLS && !on_bar {
            self.column = self.cursor.column_at(mouse.column).or(self.column);
        }
    }

    /// The row's value in the column, in full precision.
    pub fn plain(row: L::Row<'_>, key: &str) -> Option<String> {
        match L::value(ListRow { given: row }, key) {
            Scalar::Duration(length) => Some(model::format::age(length)),
            value => value.to_text(),
        }
    }

    /// The filter with one more condition: rows with the selected cell's value (`like`), or without it; for figures, times and ages `>=` or
    /// `<`.
    pub fn filter_like(&self, row: Option<L::Row<'_>>, like: bool) -> Result<String, InputError> {
        let key = self.column().ok_or(InputError::NoCell)?;
        let row = row.ok_or(InputError::NoRow)?;
        let named = self
            .filter_columns()
            .into_iter()
            .find(|column| column.name == key);
        let Some(column) = named else {
            return Err(InputError::UnfilteredColumn(key));
        };
        let value = L::value(ListRow { given: row }, key).given();
        let value = value.ok_or(InputError::EmptyCell(key))?;
        let names = column.aliases.iter().copied().chain([column.name]);
        let name = names.min_by_key(|name| name.len()).unwrap_or(key);
        let term = term(name, &value, like).ok_or(InputError::UnwritableValue(key))?;
        Ok(self.filter.with(&self.filter_text, &term))
    }

    /// Highlights the selected cell and its title in the accent style.
    pub(super) fn mark_cell(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(key) = self.column().filter(|_| self.focused) else {
            return;
        };
        let (area, state) = (area.intersection(buffer.area), self.cursor.state);
        let line = state.selected.saturating_sub(state.offset) as u16 + 1;
        let bar = if self.len() > TableWidget::height(area) {
            BAR
        } else {
            0
        };
        for x in (area.left()..area.right().saturating_sub(bar))
            .filter(|&x| self.cursor.column_at(x) == Some(key))
        {
            for y in [0, line] {
                if y < area.height && (y == 0 || !self.is_empty()) {
                    buffer[(x, area.y + y)].set_style(context.theme.accent());
                }
            }
        }
    }
}

/// The text of a condition: `chain:base`, `cap>=1000000`, `name!="USD Coin"`.
fn term(name: &str, value: &Scalar<'_>, like: bool) -> Option<String> {
    let ordered = if like { ">=" } else { "<" };
    let named = if like { ":" } else { "!=" };
    Some(match value {
        Scalar::Missing => return None,
        Scalar::Float(number) => format!("{name}{ordered}{number}"),
        Scalar::Whole(number) => format!("{name}{ordered}{number}"),
        Scalar::Digits(number) => format!("{name}{ordered}{number}"),
        Scalar::Time(time) => format!("{name}{ordered}{time}"),
        Scalar::Day(day) => format!("{name}{ordered}{day}"),
        // An age of less than a day would be `0d`, which no row is under.
        Scalar::Duration(length) if *length < DAY_MS => {
            format!("{name}{ordered}{}h", length / HOUR_MS)
        }
        Scalar::Duration(length) => format!("{name}{ordered}{}d", length / DAY_MS),
        Scalar::Flag(flag) => format!("{name}:{}", if *flag == like { "yes" } else { "no" }),
        Scalar::List(members) => format!("{name}{named}{}", quoted(members.first()?)?),
        Scalar::Text(text) => format!("{name}{}{}", if like { "=" } else { "!=" }, quoted(text)?),
    })
}

fn quoted(text: &str) -> Option<String> {
    let plain = !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    // The filter language has no escape for a quote inside quotes.
    (!text.contains('"') && !text.is_empty()).then(|| {
        if plain {
            text.to_owned()
        } else {
            format!("\"{text}\"")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::Time;

    #[test]
    fn a_cell_makes_a_condition_that_can_be_read() {
        let texts = Scalar::list(["base", "eth"]);
        for (value, like, unlike) in [
            (Scalar::Float(1_500_000.25), "x>=1500000.25", "x<1500000.25"),
            (Scalar::Float(2.14e-7), "x>=0.000000214", "x<0.000000214"),
            (Scalar::Duration(90 * DAY_MS + 5), "x>=90d", "x<90d"),
            (Scalar::Duration(5 * HOUR_MS + 7), "x>=5h", "x<5h"),
            (Scalar::Flag(true), "x:yes", "x:no"),
            (
                Scalar::Time(Time(0)),
                "x>=1970-01-01T00:00:00Z",
                "x<1970-01-01T00:00:00Z",
            ),
            (texts, "x:base", "x!=base"),
            (
                Scalar::text("USD Coin"),
                "x=\"USD Coin\"",
                "x!=\"USD Coin\"",
            ),
            (Scalar::text("USDC"), "x=USDC", "x!=USDC"),
        ] {
            assert_eq!(
                (
                    term("x", &value, true).as_deref(),
                    term("x", &value, false).as_deref()
                ),
                (Some(like), Some(unlike))
            );
        }
        assert_eq!(term("x", &Scalar::text("a\"b"), true), None);
    }
}
