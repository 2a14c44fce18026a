//! A row on its way into the cache: a head of fixed length, the cells of fixed length, then the others. Written from a canonical frame,
//! read back cell by cell. A record may also hold many rows at once, see `stretch`.

use std::ops::Range;

use polars::prelude::{DataFrame, Float64Chunked, Int64Chunked, PolarsResult, StringChunked};

use super::{Form, Kept};
use crate::dataset::address::Address;

/// Length, token, file, row, place in the input, empty cells, interval.
pub(super) const HEAD: usize = 28;

/// Where the cells of a record stand.
pub(super) struct Layout {
    pub(super) columns: Vec<Kept>,
    /// For each column of fixed length its place; for the others their number among themselves.
    places: Vec<usize>,
    fixed: usize,
}

impl Layout {
    pub(super) fn new(columns: &[Kept]) -> Self {
        let (mut fixed, mut others) = (HEAD, 0);
        let mut place = |(_, form): &Kept| {
            if let Some(width) = form.width() {
                fixed += width;
                fixed - width
            } else {
                others += 1;
                others - 1
            }
        };
        let places = columns.iter().map(&mut place).collect();
        Self { columns: columns.to_vec(), places, fixed }
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|(column, _)| column.name == name)
    }
}

/// Set beside the interval of a record that is a stretch.
const STRETCH: u32 = 1 << 31;

/// What a record tells of its row beside the cells; of a stretch, of its first row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head {
    pub(super) token: u32,
    pub(super) file: u32,
    pub(super) row: u32,
    /// Its place in the input, all files together.
    pub(super) place: u32,
    /// The number of the interval, from 1; 0 while it is unknown.
    pub(super) interval: u32,
}

enum Cells<'a> {
    Float(&'a Float64Chunked),
    Whole(&'a Int64Chunked),
    Address(&'a StringChunked),
    Hex(&'a StringChunked),
    Text(&'a StringChunked),
}

/// The columns of a frame, to write records from.
pub(super) struct Rows<'a>(Vec<Cells<'a>>);

impl<'a> Rows<'a> {
    /// Over a frame whose columns are of one chunk.
    pub(super) fn new(layout: &Layout, frame: &'a DataFrame) -> PolarsResult<Self> {
        let cells = |(column, form): &Kept| {
            let cells = frame.column(column.name)?;
            Ok(match form {
                Form::Float => Cells::Float(cells.f64()?),
                Form::Integer => Cells::Whole(cells.i64()?),
                Form::Time => Cells::Whole(cells.datetime()?.physical()),
                Form::Address => Cells::Address(cells.str()?),
                Form::Hex => Cells::Hex(cells.str()?),
                Form::Text => Cells::Text(cells.str()?),
            })
        };
        layout.columns.iter().map(cells).collect::<PolarsResult<Vec<_>>>().map(Self)
    }

    /// Appends the row; gives back the bytes of each cell without a fixed length.
    pub(super) fn write(&self, row: usize, head: Head, out: &mut Vec<u8>, lengths: &mut [u64]) {
        let start = out.len();
        let mut nulls = 0u32;
        out.extend_from_slice(&[0; HEAD]);
        for (i, cells) in self.0.iter().enumerate() {
            let missing = match cells {
                Cells::Float(numbers) => {
                    let number = numbers.get(row);
                    // Under an empty cell stands NaN, so that the values can be read as they are.
                    out.extend_from_slice(&number.unwrap_or(f64::NAN).to_le_bytes());
                    number.is_none()
                }
                Cells::Whole(numbers) => {
                    let number = numbers.get(row);
                    out.extend_from_slice(&number.unwrap_or_default().to_le_bytes());
                    number.is_none()
                }
                Cells::Address(texts) => {
                    let address = texts.get(row).and_then(Address::parse);
                    out.extend_from_slice(&address.unwrap_or_default().0);
                    address.is_none()
                }
                Cells::Hex(_) | Cells::Text(_) => continue,
            };
            nulls |= u32::from(missing) << i;
        }
        let mut others = 0;
        for (i, cells) in self.0.iter().enumerate() {
            let (Cells::Hex(texts) | Cells::Text(texts)) = cells else { continue };
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            match texts.get(row) {
                Some(text) if matches!(cells, Cells::Hex(_)) => out.extend(bytes_of_hex(text)),
                Some(text) => out.extend_from_slice(text.as_bytes()),
                None => nulls |= 1 << i,
            }
            let length = out.len() - at - 4;
            out[at..at + 4].copy_from_slice(&(length as u32).to_le_bytes());
            lengths[others] += length as u64;
            others += 1;
        }
        put_head(&mut out[start..], head, nulls);
    }

    /// Appends many rows as a stretch: of a table whose rows may go so, see `stretch::ordered_by`.
    pub(super) fn write_stretch(&self, rows: Range<usize>, head: Head, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        for cells in &self.0 {
            match cells {
                Cells::Float(numbers) => match numbers.cont_slice() {
                    Ok(numbers) => out.extend_from_slice(bytemuck::cast_slice(&numbers[rows.clone()])),
                    Err(_) => rows.clone().for_each(|row| out.extend_from_slice(&numbers.get(row).unwrap_or(f64::NAN).to_le_bytes())),
                },
                Cells::Whole(numbers) => match numbers.cont_slice() {
                    Ok(numbers) => out.extend_from_slice(bytemuck::cast_slice(&numbers[rows.clone()])),
                    Err(_) => rows.clone().for_each(|row| out.extend_from_slice(&numbers.get(row).unwrap_or_default().to_le_bytes())),
                },
                Cells::Address(_) | Cells::Hex(_) | Cells::Text(_) => {}
            }
        }
        put_head(&mut out[start..], Head { interval: head.interval | STRETCH, ..head }, 0);
    }

    /// The numbers of a column of whole numbers without an empty cell.
    pub(super) fn whole(&self, column: usize) -> Option<&'a [i64]> {
        match self.0.get(column) {
            Some(Cells::Whole(numbers)) => numbers.cont_slice().ok(),
            _ => None,
        }
    }
}

/// Writes the head of a record that is complete otherwise.
pub(super) fn put_head(record: &mut [u8], head: Head, nulls: u32) {
    let words = [record.len() as u32, head.token, head.file, head.row, head.place, nulls, head.interval];
    for (word, slot) in words.iter().zip(record.chunks_exact_mut(4)) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
}

/// The bytes behind `0x` and an even number of hex digits.
fn bytes_of_hex(text: &str) -> impl Iterator<Item = u8> {
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a' - 10) & 0x0f,
    };
    text.as_bytes().get(2..).unwrap_or_default().chunks_exact(2).map(move |pair| nibble(pair[0]) << 4 | nibble(pair[1]))
}

/// A record that was written before. What is missing reads as nothing.
#[derive(Clone, Copy)]
pub(super) struct Record<'a>(pub(super) &'a [u8]);

impl<'a> Record<'a> {
    /// The record that begins at `at`.
    pub(super) fn at(bytes: &'a [u8], at: usize) -> Option<Self> {
        let length = word(bytes, at)? as usize;
        bytes.get(at..at.checked_add(length.max(HEAD))?).map(Self)
    }

    pub(super) fn length(self) -> usize {
        self.0.len()
    }

    fn word(self, nth: usize) -> u32 {
        word(self.0, nth * 4).unwrap_or_default()
    }

    pub(super) fn head(self) -> Head {
        Head { token: self.word(1), file: self.word(2), row: self.word(3), place: self.word(4), interval: self.interval() }
    }

    pub(super) fn token(self) -> u32 {
        self.word(1)
    }

    pub(super) fn place(self) -> u32 {
        self.word(4)
    }

    pub(super) fn interval(self) -> u32 {
        self.word(6) & !STRETCH
    }

    pub(super) fn is_stretch(self) -> bool {
        self.word(6) & STRETCH != 0
    }

    pub(super) fn is_null(self, column: usize) -> bool {
        self.word(5) >> column & 1 == 1
    }

    /// The cell's bytes, whatever its form; those under an empty cell too.
    pub(super) fn bytes(self, layout: &Layout, column: usize) -> &'a [u8] {
        match layout.columns[column].1.width() {
            Some(width) => self.0.get(layout.places[column]..layout.places[column] + width).unwrap_or_default(),
            None => self.others(layout).nth(layout.places[column]).unwrap_or_default(),
        }
    }

    /// The cells without a fixed length, in order.
    pub(super) fn others(self, layout: &Layout) -> impl Iterator<Item = &'a [u8]> {
        let mut at = layout.fixed;
        std::iter::from_fn(move || {
            let length = word(self.0, at)? as usize;
            let cell = self.0.get(at + 4..at + 4 + length)?;
            at += 4 + length;
            Some(cell)
        })
    }

    pub(super) fn whole(self, layout: &Layout, column: usize) -> i64 {
        self.bytes(layout, column).first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Every record of a stretch of bytes with where it begins.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = (usize, Record<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let record = Record::at(bytes, at)?;
        at += record.length();
        Some((at - record.length(), record))
    })
}
