//! Many rows on their way into the cache as one: of one token and interval, out of one file, one right after the other there and each
//! later than the one before. They are written column by column behind a single head, so that rows which come in order, as nearly all
//! candles do, are copied and never looked at one by one.

use std::ops::Range;

use super::{
    Form, in_index,
    record::{HEAD, Head, Layout, Record, put_head},
    repeats::Keys,
};
use crate::dataset::schema::TableSchema;

/// The most rows of a stretch: with six columns less than the chunk of a spill.
pub(super) const ROWS_MAX: usize = 1 << 10;
/// From here on a stretch is worth its while.
pub(super) const ROWS_MIN: usize = 16;
/// Bytes of a cell; all have as many.
const WIDTH: usize = 8;

/// The column by which alone the rows of a token and interval are ordered, and told apart, if the table's rows may go as stretches: all
/// other columns are floats, whose empty cells stand as NaN.
pub(super) fn ordered_by(schema: &TableSchema, layout: &Layout) -> Option<usize> {
    let mut order = schema.order.iter().filter(|column| !in_index(schema, column));
    let by = order.next().and_then(|column| layout.position(column))?;
    let fits = |(i, form): (usize, Form)| form == if i == by { Form::Time } else { Form::Float };
    let forms = layout.columns.iter().map(|(_, form)| *form).enumerate();
    (order.next().is_none() && Keys::side_by_side(schema) && forms.into_iter().all(fits)).then_some(by)
}

/// The rows from the first of `rows` on that can go as one stretch.
pub(super) fn first(rows: Range<usize>, times: &[i64], numbers: &[u32]) -> Range<usize> {
    let rows = rows.start..rows.end.min(rows.start + ROWS_MAX);
    let follows = |row: usize| times[row] > times[row - 1] && numbers[row] == numbers[row - 1].wrapping_add(1);
    rows.start..(rows.start + 1..rows.end).find(|row| !follows(*row)).unwrap_or(rows.end)
}

/// A stretch that was written before.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    record: Record<'a>,
    columns: usize,
    rows: usize,
}

impl<'a> Stretch<'a> {
    /// The record as a stretch, if it is one.
    pub(super) fn of(record: Record<'a>, layout: &Layout) -> Option<Self> {
        let columns = layout.columns.len();
        let rows = (record.length() - HEAD) / (columns * WIDTH).max(1);
        record.is_stretch().then_some(Self { record, columns, rows })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The cells of a column, one after the other.
    pub(super) fn column(&self, column: usize) -> &'a [[u8; WIDTH]] {
        let bytes = self.rows * WIDTH;
        let start = HEAD + column * bytes;
        self.record.0.get(start..start + bytes).unwrap_or_default().as_chunks().0
    }

    /// Appends a row of it as a record of its own.
    pub(super) fn put_row(&self, row: usize, layout: &Layout, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        let mut nulls = 0;
        for column in 0..self.columns {
            let cell = self.column(column).get(row).copied().unwrap_or_default();
            let empty = layout.columns[column].1 == Form::Float && f64::from_le_bytes(cell).is_nan();
            nulls |= u32::from(empty) << column;
            out.extend_from_slice(&cell);
        }
        let head = self.record.head();
        let row = row as u32;
        put_head(&mut out[start..], Head { row: head.row + row, place: head.place + row, ..head }, nulls);
    }
}

/// Appends what the record stands for, row by row.
pub(super) fn put_rows(record: Record<'_>, layout: &Layout, out: &mut Vec<u8>) {
    match Stretch::of(record, layout) {
        Some(stretch) => (0..stretch.rows()).for_each(|row| stretch.put_row(row, layout, out)),
        None => out.extend_from_slice(record.0),
    }
}
