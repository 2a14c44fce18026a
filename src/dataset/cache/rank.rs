//! The rows of a large table in the order of a column: the first ones at once, all of them as a column of places in a file of its own.
//! Memory is that of one part; the rows themselves are never copied.

use std::{
    collections::BinaryHeap,
    fs,
    io::{self, BufWriter, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    Form,
    group::rising,
    map::Map,
    spill::Spill,
    table::{CellsOf, LargeTable},
};

/// Rows that are sorted in memory at a time, as a rule.
const PART: usize = 1 << 20;
/// Rows between two looks at whether the order is still wanted.
const STRETCH: usize = 65_536;

/// Places of rows in an order.
#[derive(Debug)]
pub struct Rank(Map);

impl Rank {
    pub fn len(&self) -> usize {
        self.0.bytes().len() / 4
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, nth: usize) -> Option<u32> {
        self.0.bytes().get(nth * 4..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }
}

/// How rows compare: by a number of eight bytes, then by the rest of the cell, then by place. Empty cells come last either way.
struct Sorter<'a> {
    cells: CellsOf<'a>,
    falls: bool,
}

impl Sorter<'_> {
    fn key(&self, row: usize) -> u64 {
        let Some(bytes) = self.cells.bytes(row) else { return u64::MAX };
        let number = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let rising = match self.cells.form {
            Form::Float => rising(f64::from_bits(number)),
            Form::Integer | Form::Time => number ^ 1 << 63,
            Form::Address | Form::Hex | Form::Text => {
                let mut first = [0; 8];
                first.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte);
                u64::from_be_bytes(first)
            }
        };
        if self.falls { !rising } else { rising }
    }

    fn compare(&self, a: (u64, u32), b: (u64, u32)) -> std::cmp::Ordering {
        let whole = matches!(self.cells.form, Form::Float | Form::Integer | Form::Time);
        let rest = || {
            let (a, b) = (self.cells.bytes(a.1 as usize), self.cells.bytes(b.1 as usize));
            let order = if self.falls { b.cmp(&a) } else { a.cmp(&b) };
            // An empty cell is last, whichever way the others go.
            a.is_none().cmp(&b.is_none()).then(order)
        };
        a.0.cmp(&b.0).then_with(|| if whole || a.1 == b.1 { std::cmp::Ordering::Equal } else { rest() }).then(a.1.cmp(&b.1))
    }
}

fn sorter<'a>(table: &'a LargeTable, column: &str, falls: bool) -> io::Result<Sorter<'a>> {
    let cells = table.cells(column).ok_or_else(|| io::Error::other(format!("`{column}` cannot be sorted by")))?;
    Ok(Sorter { cells, falls })
}

/// The first `count` rows in the order of the column. `step` hears (done, of) rows and ends it with an error.
pub fn first<E: From<io::Error>>(
    table: &LargeTable,
    column: &str,
    falls: bool,
    count: usize,
    mut step: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let sorter = sorter(table, column, falls)?;
    let rows = table.height();
    let mut best: BinaryHeap<(u64, u32)> = BinaryHeap::new();
    for row in 0..rows {
        if row % STRETCH == 0 {
            step(row as u64, rows as u64)?;
        }
        let key = sorter.key(row);
        if best.len() < count || best.peek().is_some_and(|last| key < last.0) {
            best.push((key, row as u32));
            if best.len() > count {
                best.pop();
            }
        }
    }
    let mut best = best.into_vec();
    best.sort_unstable_by(|a, b| sorter.compare(*a, *b));
    Ok(best.into_iter().map(|(_, row)| row).collect())
}

/// Every row in the order of the column. As `first` hears of it.
pub fn rank<E: From<io::Error>>(
    table: &LargeTable,
    column: &str,
    falls: bool,
    mut step: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<Rank, E> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let name = format!("sort-{}-{}", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
    let (spread, sorted) = (table.folder().join(format!("{name}.parts")), table.folder().join(name));
    let ranked = sort(table, &sorter(table, column, falls)?, &spread, &sorted, &mut step);
    // What is mapped stays without a name, and goes with the program.
    fs::remove_file(&spread).ok();
    fs::remove_file(&sorted).ok();
    ranked
}

fn sort<E: From<io::Error>>(
    table: &LargeTable,
    sorter: &Sorter<'_>,
    spread: &Path,
    sorted: &Path,
    step: &mut impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<Rank, E> {
    let rows = table.height();
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
    let mut file = BufWriter::with_capacity(1 << 20, fs::File::create(sorted)?);
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
        for (_, row) in &order {
            file.write_all(&row.to_le_bytes())?;
        }
        done += order.len();
    }
    file.flush()?;
    drop(file);
    Ok(Rank(Map::open(sorted)?))
}
