//! Number notation of columns whose own cells are ambiguous, resolved from the whole file: `62.000` beside `2.986.300` is sixty-two
//! thousand. If nothing in the file resolves it, a point is the decimal separator, with a note if the comma is plausible.

use super::{evidence::number::NumberStyle, sheet::RawTable};
use load::manifest::Decimal;

/// Ambiguous cells from which three digits after every point may be thousands.
const CELLS_TELL: usize = 4;

/// The notation of these columns; `None` if some cells prove a decimal comma and others a decimal point.
pub(super) fn style(sheet: &RawTable, columns: &[usize]) -> Option<NumberStyle> {
    let style = NumberStyle::of(cells(sheet, columns), sheet.semicolons)?;
    if !sheet.is_text() || !is_open(sheet, columns) {
        return Some(style);
    }
    Some(match shown_elsewhere(sheet, columns) {
        Some(Decimal::Comma) => NumberStyle {
            comma: true,
            needs_rewrite: true,
        },
        Some(Decimal::Point) => NumberStyle {
            comma: false,
            ..style
        },
        None => style,
    })
}

/// As `style`, but ambiguous columns follow related ones, whose decimal separator (`comma`) is known.
pub(super) fn style_beside(
    sheet: &RawTable,
    columns: &[usize],
    comma: bool,
) -> Option<NumberStyle> {
    let style = style(sheet, columns)?;
    let written = || sheet.is_text() || cells(sheet, columns).any(|cell| cell.contains(','));
    let as_beside = comma && !style.comma && is_open(sheet, columns) && written();
    Some(if as_beside {
        NumberStyle {
            comma: true,
            needs_rewrite: true,
        }
    } else {
        style
    })
}

/// The note on columns in a semicolon-delimited file in which every point could be a thousands separator.
pub(super) fn assumed(sheet: &RawTable, columns: &[usize], style: NumberStyle) -> Option<String> {
    if style.comma
        || !sheet.semicolons
        || !is_open(sheet, columns)
        || shown_elsewhere(sheet, columns).is_some()
    {
        return None;
    }
    let mut pointed = cells(sheet, columns).filter(|cell| cell.contains('.'));
    let first = pointed.next()?;
    (pointed.count() + 1 >= CELLS_TELL).then(|| {
        format!(
            "assumed: the point in `{}` is a decimal point (as in `{first}`), because nothing in the file shows that it separates \
             thousands; if it does, remove the points first",
            columns.first().map_or("", |at| sheet.names[*at].as_str())
        )
    })
}

/// The decimal separator that the file's other columns prove.
fn shown_elsewhere(sheet: &RawTable, columns: &[usize]) -> Option<Decimal> {
    let others = (0..sheet.names.len())
        .filter(|at| !columns.contains(at))
        .flat_map(|at| sheet.column(at));
    NumberStyle::signs(others).decimal()
}

fn cells<'s>(sheet: &'s RawTable, columns: &'s [usize]) -> impl Iterator<Item = &'s str> {
    columns.iter().flat_map(move |&at| sheet.column(at))
}

/// Whether these cells have points or commas, but none that proves which one is the decimal separator.
fn is_open(sheet: &RawTable, columns: &[usize]) -> bool {
    let shown = NumberStyle::signs(cells(sheet, columns));
    !shown.point && !shown.comma && cells(sheet, columns).any(|cell| cell.contains(['.', ',']))
}
