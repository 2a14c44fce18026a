//! The columns of `rows.arrow` as they are written: each has its region of the file, sized by the most that may come, and grows in it.
//! What is left of a region is a hole that takes no disk.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{
    Form, Kept,
    arrow::{self, BODY_AT, Node},
    record::{Layout, Record},
    stretch::Stretch,
};

/// What each buffer begins at a multiple of, as Arrow recommends.
const ALIGN: u64 = 64;
/// Bytes of a column that are gathered before they are written.
const GATHERED: usize = 1 << 20;

/// Where a column lies in the file: place and length in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) nulls: u64,
    /// A bit a row, 1 where it has a value; of length 0 where all have.
    pub(super) validity: (u64, u64),
    /// The values, or where each text ends.
    pub(super) values: (u64, u64),
    /// The bytes of texts.
    pub(super) data: (u64, u64),
}

struct Sink {
    form: Form,
    region: Region,
    values: Vec<u8>,
    data: Vec<u8>,
    bits: Vec<u8>,
}

pub(super) struct Columns {
    file: File,
    kept: Vec<Kept>,
    sinks: Vec<Sink>,
    rows: u64,
    end: u64,
}

fn aligned(at: u64) -> u64 {
    at.next_multiple_of(ALIGN)
}

impl Columns {
    /// A new file for at most `rows` rows, whose texts have at most `data` bytes a column.
    pub(super) fn create(path: &Path, kept: &[Kept], rows: u64, data: &[u64]) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        let mut end = BODY_AT;
        let mut take = |bytes: u64| {
            end += aligned(bytes);
            end - aligned(bytes)
        };
        let mut data = data.iter();
        let mut sinks = Vec::with_capacity(kept.len());
        for (column, form) in kept {
            let validity = (take(rows.div_ceil(8)), 0);
            let (values, data, first) = match form.width() {
                Some(width) => ((take(rows * width as u64), 0), (0, 0), Vec::new()),
                None => ((take((rows + 1) * 8), 0), (take(data.next().copied().unwrap_or_default()), 0), vec![0; 8]),
            };
            let region = Region { name: column.name.to_owned(), nulls: 0, validity, values, data };
            sinks.push(Sink { form: *form, region, values: first, data: Vec::new(), bits: Vec::new() });
        }
        Ok(Self { file, kept: kept.to_vec(), sinks, rows: 0, end })
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn push(&mut self, layout: &Layout, record: Record<'_>) -> io::Result<()> {
        let mut others = record.others(layout);
        for (i, sink) in self.sinks.iter_mut().enumerate() {
            if sink.form.width().is_some() {
                sink.values.extend_from_slice(record.bytes(layout, i));
            } else {
                sink.data.extend_from_slice(others.next().unwrap_or_default());
                let end = sink.region.data.1 + sink.data.len() as u64;
                sink.values.extend_from_slice(&end.to_le_bytes());
                if sink.data.len() >= GATHERED {
                    write(&self.file, &mut sink.region.data, &mut sink.data)?;
                }
            }
            if sink.values.len() >= GATHERED {
                write(&self.file, &mut sink.region.values, &mut sink.values)?;
            }
            if record.is_null(i) {
                sink.mark(self.rows);
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// As `push`, of many rows at once.
    pub(super) fn push_stretch(&mut self, stretch: &Stretch<'_>) -> io::Result<()> {
        for (i, sink) in self.sinks.iter_mut().enumerate() {
            let cells = stretch.column(i);
            sink.values.extend_from_slice(cells.as_flattened());
            if sink.values.len() >= GATHERED {
                write(&self.file, &mut sink.region.values, &mut sink.values)?;
            }
            let empty = |cell: &[u8; 8]| f64::from_le_bytes(*cell).is_nan();
            if sink.form == Form::Float && cells.iter().fold(false, |any, cell| any | empty(cell)) {
                (self.rows..).zip(cells).filter(|(_, cell)| empty(cell)).for_each(|(row, _)| sink.mark(row));
            }
        }
        self.rows += stretch.rows() as u64;
        Ok(())
    }

    /// Writes what is left and all around it; gives back where the columns lie, and the length of the file.
    pub(super) fn finish(mut self) -> io::Result<(Vec<Region>, u64)> {
        let rows = self.rows;
        for sink in &mut self.sinks {
            write(&self.file, &mut sink.region.values, &mut sink.values)?;
            write(&self.file, &mut sink.region.data, &mut sink.data)?;
            if sink.region.nulls > 0 {
                // Marked are those without a value; Arrow marks those with one.
                sink.bits.resize(rows.div_ceil(8) as usize, 0);
                sink.bits.iter_mut().for_each(|bits| *bits = !*bits);
                write(&self.file, &mut sink.region.validity, &mut sink.bits)?;
            }
        }
        let body = self.end - BODY_AT;
        let nodes: Vec<Node> = self.sinks.iter().map(Sink::node).collect();
        let head = arrow::head(&self.kept, rows, body, &nodes).map_err(io::Error::other)?;
        self.file.write_all_at(&head, 0)?;
        let tail = arrow::tail(&self.kept, body);
        self.file.write_all_at(&tail, self.end)?;
        self.file.sync_all()?;
        Ok((self.sinks.into_iter().map(|sink| sink.region).collect(), self.end + tail.len() as u64))
    }
}

/// Appends the bytes to the buffer in the file.
fn write(file: &File, buffer: &mut (u64, u64), bytes: &mut Vec<u8>) -> io::Result<()> {
    file.write_all_at(bytes, buffer.0 + buffer.1)?;
    buffer.1 += bytes.len() as u64;
    bytes.clear();
    Ok(())
}

impl Sink {
    /// The row has no value.
    fn mark(&mut self, row: u64) {
        let at = (row / 8) as usize;
        if self.bits.len() <= at {
            self.bits.resize(at + 1, 0);
        }
        self.bits[at] |= 1 << (row % 8);
        self.region.nulls += 1;
    }

    fn node(&self) -> Node {
        let place = |(at, length): (u64, u64)| (at.saturating_sub(BODY_AT), length);
        let mut buffers = vec![place(self.region.validity), place(self.region.values)];
        if self.form.width().is_none() {
            buffers.push(place(self.region.data));
        }
        Node { nulls: self.region.nulls, buffers }
    }
}
