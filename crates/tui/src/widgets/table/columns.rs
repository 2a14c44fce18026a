//! Column widths of a table: when narrow, columns of the lowest priority are dropped and the rest share the space.

use crate::widgets::text::{self, Align};

/// Cells between columns.
pub const GAP: u16 = 2;
/// Width of the star gutter.
pub(super) const GUTTER: u16 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnAlign {
    Left,
    Right,
    /// Right-aligned at the decimal points.
    Decimal,
}

impl ColumnAlign {
    pub(super) fn plain(self) -> Align {
        if self == Self::Left {
            Align::Left
        } else {
            Align::Right
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableColumn {
    /// The dataset's column name, also used by filters.
    pub key: &'static str,
    /// Shown in capitals.
    pub title: &'static str,
    /// After the title, once for all rows: `%`, `USD`.
    pub unit: &'static str,
    pub min: u16,
    pub ideal: u16,
    /// When narrow, the lowest is dropped first; 255 always stays.
    pub priority: u8,
    pub align: ColumnAlign,
    /// Takes the spare width once every column has its ideal.
    pub grows: bool,
    /// Filter words are highlighted in it.
    pub matched: bool,
}

impl TableColumn {
    /// A text column of the given priority and widths.
    pub const fn text(
        key: &'static str,
        title: &'static str,
        min: u16,
        ideal: u16,
        priority: u8,
    ) -> Self {
        Self {
            key,
            title,
            unit: "",
            min,
            ideal,
            priority,
            align: ColumnAlign::Left,
            grows: false,
            matched: true,
        }
    }

    /// A right-aligned figure column.
    pub const fn figure(key: &'static str, title: &'static str, width: u16, priority: u8) -> Self {
        Self {
            key,
            title,
            unit: "",
            min: width,
            ideal: width,
            priority,
            align: ColumnAlign::Right,
            grows: false,
            matched: false,
        }
    }

    /// Widens the column, or narrows it by a negative number.
    #[must_use]
    pub fn widened(mut self, cells: i16) -> Self {
        if cells != 0 {
            (self.min, self.ideal) = (
                self.min.saturating_add_signed(cells).max(3),
                self.ideal.saturating_add_signed(cells).max(3),
            );
        }
        self
    }
}

/// The position of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColumnPlace {
    /// The index of the column.
    pub(super) column: usize,
    /// Offset from the left of the table.
    pub(super) x: u16,
    pub(super) width: u16,
}

impl TableColumn {
    /// The minimum width; the title is never cut.
    pub fn min_width(&self) -> u16 {
        self.min.max(self.title_width())
    }

    /// Width of the title with its unit.
    pub fn title_width(&self) -> u16 {
        let unit = if self.unit.is_empty() {
            0
        } else {
            1 + text::width(self.unit)
        };
        (text::width(self.title) + unit) as u16
    }
}

pub(super) fn places(columns: &[TableColumn], width: u16) -> Vec<ColumnPlace> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let total = |kept: &[usize], size: fn(&TableColumn) -> u16| -> u32 {
        kept.iter()
            .map(|&i| u32::from(size(&columns[i])))
            .sum::<u32>()
            + u32::from(GAP) * kept.len().saturating_sub(1) as u32
    };
    while kept.len() > 1 && total(&kept, TableColumn::min_width) > u32::from(width) {
        // With equal priority, the rightmost is dropped.
        let Some(dropped) = (0..kept.len())
            .rev()
            .min_by_key(|&k| columns[kept[k]].priority)
        else {
            break;
        };
        kept.remove(dropped);
    }
    let mut widths: Vec<u16> = kept
        .iter()
        .map(|&i| columns[i].min_width().min(width))
        .collect();
    let mut spare = u32::from(width).saturating_sub(total(&kept, TableColumn::min_width)) as u16;
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(columns[kept[k]].priority));
    for k in order {
        let more = columns[kept[k]].ideal.saturating_sub(widths[k]).min(spare);
        widths[k] += more;
        spare -= more;
    }
    let growing: Vec<usize> = (0..kept.len())
        .filter(|&k| columns[kept[k]].grows)
        .collect();
    for (nth, &k) in growing.iter().enumerate() {
        let share = spare / (growing.len() - nth) as u16;
        widths[k] += share;
        spare -= share;
    }
    let mut x = 0;
    kept.into_iter()
        .zip(widths)
        .map(|(column, width)| {
            let place = ColumnPlace { column, x, width };
            x += width + GAP;
            place
        })
        .collect()
}
