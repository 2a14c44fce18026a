//! Rows of a large table in the order of a column: the first ones at once, all of them as places in a file of their own. Memory is
//! that of one part; the rows themselves are never copied.

use std::{
    fs, io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    Form,
    group::rising,
    places::{LIST_MAX, Places, PlacesWriter},
    spill::Spill,
    table::{CellsOf, LargeTable},
};

/// Rows that are sorted in memory at a time, as a rule.
const PART: usize = LIST_MAX / 4;
/// Rows between two looks at whether the order is still wanted.
const STRETCH: usize = 65_536;

/// What rows are ordered by.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    pub column: &'a str,
    pub falls: bool,
    /// A column that rises among equals, which otherwise stay as they stand.
    pub ties: Option<&'a str>,
}

impl<'a> From<(&'a str, bool)> for By<'a> {
    fn from((column, falls): (&'a str, bool)) -> Self {
        Self { column, falls, ties: None }
    }
}

/// A row that is sorted: its key, and where it stands among the others.
type Keyed = (u64, u32);

/// How rows compare: by a number of eight bytes, then by the rest of the cell, then by which came first. Empty cells come last either
/// way. A row is named by where it stands among those that are sorted.
struct Sorter<'a> {
    keys: Keys<'a>,
    ties: Option<CellsOf<'a>>,
    falls: bool,
    among: &'a Places,
}

enum Keys<'a> {
    Cells(CellsOf<'a>),
    /// Of candles, by their length.
    Intervals(&'a LargeTable),
}

impl Sorter<'_> {
    fn cell(&self, nth: usize) -> Option<&[u8]> {
        match &self.keys {
            Keys::Cells(cells) => cells.bytes(self.among.get(nth)?),
            Keys::Intervals(_) => None,
        }
    }

    fn key(&self, nth: usize) -> u64 {
        self.rising(nth).map_or(u64::MAX, |rising| if self.falls { !rising } else { rising })
    }

    fn rising(&self, nth: usize) -> Option<u64> {
        let form = match &self.keys {
            Keys::Cells(cells) => cells.form,
            Keys::Intervals(table) => return table.interval_at(self.among.get(nth)?).map(|interval| interval.0 as u64 ^ 1 << 63),
        };
        let bytes = self.cell(nth)?;
        let number = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Some(match form {
            Form::Float => rising(f64::from_bits(number)),
            Form::Integer | Form::Time => number ^ 1 << 63,
            Form::Address | Form::Hex | Form::Text => {
                let mut first = [0; 8];
                first.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte);
                u64::from_be_bytes(first)
            }
        })
    }

    fn compare(&self, a: Keyed, b: Keyed) -> std::cmp::Ordering {
        let whole = match &self.keys {
            Keys::Cells(cells) => matches!(cells.form, Form::Float | Form::Integer | Form::Time),
            Keys::Intervals(_) => true,
        };
        let rest = || {
            let (a, b) = (self.cell(a.1 as usize), self.cell(b.1 as usize));
            let order = if self.falls { b.cmp(&a) } else { a.cmp(&b) };
            // An empty cell is last, whichever way the others go.
            a.is_none().cmp(&b.is_none()).then(order)
        };
        let tie = |nth: u32| self.ties.as_ref().and_then(|ties| ties.bytes(self.among.get(nth as usize)?));
        let ties = || if self.ties.is_some() { tie(a.1).cmp(&tie(b.1)) } else { std::cmp::Ordering::Equal };
        let rest = || if whole || a.1 == b.1 { std::cmp::Ordering::Equal } else { rest() };
        a.0.cmp(&b.0).then_with(rest).then_with(ties).then(a.1.cmp(&b.1))
    }

    /// The place in the table.
    fn place(&self, (_, nth): Keyed) -> u32 {
        self.among.get(nth as usize).unwrap_or_default() as u32
    }
}

fn sorter<'a>(table: &'a LargeTable, by: By<'_>, among: &'a Places) -> io::Result<Sorter<'a>> {
    let keys = match table.cells(by.column) {
        Some(cells) => Keys::Cells(cells),
        None if by.column == "interval" => Keys::Intervals(table),
        None => return Err(io::Error::other(format!("`{}` cannot be sorted by", by.column))),
    };
    Ok(Sorter { keys, ties: by.ties.and_then(|column| table.cells(column)), falls: by.falls, among })
}

/// The first `count` of some rows in the order of the column; equals stay as they stand among them. `step` hears (done, of) rows and ends
/// it with an error.
pub fn first<'a, E: From<io::Error>>(
    table: &LargeTable,
    by: impl Into<By<'a>>,
    among: &Places,
    count: usize,
    mut step: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let sorter = sorter(table, by.into(), among)?;
    let rows = among.len();
    // The best so far and some that came after them; what is not before the last of the best is passed over, mostly by its key alone.
    let (mut best, mut last): (Vec<Keyed>, Option<Keyed>) = (Vec::new(), None);
    let keep = |best: &mut Vec<Keyed>| {
        best.sort_unstable_by(|a, b| sorter.compare(*a, *b));
        best.truncate(count);
    };
    for row in 0..rows {
        if row % STRETCH == 0 {
            step(row as u64, rows as u64)?;
        }
        let row = (sorter.key(row), row as u32);
        if last.is_none_or(|last| row.0 < last.0 || row.0 == last.0 && sorter.compare(row, last).is_lt()) {
            best.push(row);
            if best.len() > 2 * count {
                keep(&mut best);
                last = best.last().copied().or(Some((0, 0)));
            }
        }
    }
    keep(&mut best);
    Ok(best.into_iter().map(|row| sorter.place(row)).collect())
}

/// All of some rows in the order of the column. As `first` hears of it.
pub fn rank<'a, E: From<io::Error>>(
    table: &LargeTable,
    by: impl Into<By<'a>>,
    among: &Places,
    mut step: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<Places, E> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let sorter = sorter(table, by.into(), among)?;
    let spread = table.folder().join(format!("sort-{}-{}.parts", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed)));
    let ranked = sort(table.folder(), &sorter, &spread, &mut step);
    fs::remove_file(&spread).ok();
    ranked
}

fn sort<E: From<io::Error>>(
    folder: &Path,
    sorter: &Sorter<'_>,
    spread: &Path,
    step: &mut impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<Places, E> {
    let rows = sorter.among.len();
    let parts = rows / PART + 1;
    // Keys of rows from all over the table tell where to part them.
    let sample = parts * 256;
    let mut keys: Vec<u64> = (0..sample).map(|nth| sorter.key((rows as u128 * nth as u128 / sample as u128) as usize)).collect();
    keys.sort_unstable();
    let bounds: Vec<u64> = (1..parts).map(|part| keys[part * 256]).collect();
    let mut spill = Spill::create(spread, parts)?;
    for row in 0..rows {
        if row % STRETCH == 0 {
            step(row as u64, 2 * rows as u64)?;
        }
        let key = sorter.key(row);
        let part = bounds.partition_point(|bound| *bound <= key);
        let out = spill.buffer(part);
        out.extend_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&(row as u32).to_le_bytes());
        spill.settle(part)?;
    }
    spill.close()?;
    let mut sorted = PlacesWriter::new(Some(folder));
    let (mut bytes, mut order, mut done) = (Vec::new(), Vec::new(), 0);
    for part in 0..parts {
        bytes.clear();
        let mut nth = 0;
        while spill.chunk(part, nth, &mut bytes)? {
            nth += 1;
        }
        order.clear();
        order.extend(bytes.as_chunks::<12>().0.iter().map(|record| {
            let [a, b, c, d, e, f, g, h, i, j, k, l] = *record;
            (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u32::from_le_bytes([i, j, k, l]))
        }));
        step((rows + done) as u64, 2 * rows as u64)?;
        order.sort_unstable_by(|a, b| sorter.compare(*a, *b));
        for row in &order {
            sorted.push(sorter.place(*row))?;
        }
        done += order.len();
    }
    Ok(sorted.finish()?)
}
