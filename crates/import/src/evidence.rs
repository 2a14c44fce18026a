//! Type inference of a column from its cells, regardless of its name. The notation of numbers and times, the order of prices and the unit
//! of volumes have modules of their own. Knows no file formats.

pub(super) mod currency;
pub(super) mod number;
pub(super) mod ohlc;
pub(super) mod volume;
pub(super) mod when;

use model::address::Address;
use source::coerce::cell::is_null_word;

/// Cell types that can be told apart without a column name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Empty,
    /// 20 bytes as hex.
    Address,
    /// 32 bytes as hex: a transaction or block hash.
    Hash,
    /// Any other bytes as hex.
    Hex,
    Number,
    /// A formatted time, not just a number.
    Time,
    Text,
}

pub(super) fn kind_of(cell: &str) -> CellKind {
    let cell = cell.trim();
    if is_null_word(cell) {
        return CellKind::Empty;
    }
    if cell.starts_with("0x") || cell.starts_with("0X") {
        let digits = &cell[2..];
        return match digits.len() {
            _ if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => CellKind::Text,
            40 => CellKind::Address,
            64 => CellKind::Hash,
            _ => CellKind::Hex,
        };
    }
    if number::plain(cell, false).is_some() || number::plain(cell, true).is_some() {
        return CellKind::Number;
    }
    if when::is_written_out(cell) { CellKind::Time } else { CellKind::Text }
}

/// The type of nearly all cells of a column; empty ones are ignored.
pub(super) fn kind<'a>(cells: impl Iterator<Item = &'a str>) -> CellKind {
    const KINDS: [CellKind; 6] = [CellKind::Address, CellKind::Hash, CellKind::Hex, CellKind::Number, CellKind::Time, CellKind::Text];
    let mut counts = [0_usize; KINDS.len()];
    let mut all = 0;
    for cell in cells {
        let found = kind_of(cell);
        if let Some(at) = KINDS.iter().position(|kind| *kind == found) {
            counts[at] += 1;
            all += 1;
        }
    }
    let most = counts.iter().enumerate().max_by_key(|(_, count)| **count);
    match most {
        Some((at, count)) if all > 0 && count * 10 >= all * 8 => KINDS[at],
        _ if all > 0 => CellKind::Text,
        _ => CellKind::Empty,
    }
}

/// The share of non-empty cells that are addresses.
pub(super) fn addresses<'a>(cells: impl Iterator<Item = &'a str>) -> f64 {
    let (mut all, mut addresses) = (0.0, 0.0);
    for cell in cells.filter(|cell| !is_null_word(cell)) {
        all += 1.0;
        addresses += if Address::parse(cell.trim()).is_some() { 1.0 } else { 0.0 };
    }
    if all == 0.0 { 0.0 } else { addresses / all }
}
